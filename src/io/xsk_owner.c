/* AF_XDP sockets as sock_diag(7) lists them. See xsk_owner.h. */
#include "xsk_owner.h"

#include "netns.h"
#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/xdp_diag.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef AF_XDP
#define AF_XDP 44
#endif

static bool is_bound(const struct nlmsghdr *h, int ifindex, uint32_t queue)
{
    const struct xdp_diag_msg *m = NLMSG_DATA(h);
    const size_t head = NLMSG_ALIGN(sizeof(*m));
    struct rtattr *a = (struct rtattr *)(void *)((uint8_t *)NLMSG_DATA(h) + head);
    int left = (int)NLMSG_PAYLOAD(h, 0) - (int)head;

    for (; RTA_OK(a, left); a = RTA_NEXT(a, left)) {
        struct xdp_diag_info info;

        if (a->rta_type != XDP_DIAG_INFO || RTA_PAYLOAD(a) < sizeof(info))
            continue;
        memcpy(&info, RTA_DATA(a), sizeof(info));
        if (info.ifindex == (uint32_t)ifindex && info.queue_id == queue)
            return true;
    }
    return false;
}

/* 1 yes, 0 no, -errno */
static int look(int fd, int ifindex, uint32_t queue)
{
    struct {
        struct nlmsghdr h;
        struct xdp_diag_req r;
    } ask = {
        .h = {.nlmsg_len = sizeof(ask), .nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
        .r = {.sdiag_family = AF_XDP, .xdiag_show = XDP_SHOW_INFO},
    };
    _Alignas(struct nlmsghdr) char answer[16384];

    if (send(fd, &ask, sizeof(ask), 0) < 0)
        return -errno;
    for (;;) {
        ssize_t n = recv(fd, answer, sizeof(answer), 0);
        const struct nlmsghdr *h = (const void *)answer;
        unsigned left = n > 0 ? (unsigned)n : 0;

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : -EIO;
        for (; NLMSG_OK(h, left); h = NLMSG_NEXT(h, left)) {
            if (h->nlmsg_type == NLMSG_ERROR)
                return -EOPNOTSUPP;
            if (h->nlmsg_type == NLMSG_DONE)
                return 0;
            if (is_bound(h, ifindex, queue))
                return 1;
        }
    }
}

bool rtap_xsk_has_owner(const char *netns, int ifindex, uint32_t queue, bool unknown)
{
    char text[128];
    int fd = rtap_netns_socket(netns, AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG, text, sizeof(text));
    int r = fd < 0 ? fd : look(fd, ifindex, queue);

    if (fd >= 0)
        close(fd);
    return r < 0 ? unknown : r > 0;
}
