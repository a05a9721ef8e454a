/*
 * The netdev family of generic netlink (Documentation/netlink/specs/netdev.yaml). Headers older than the kernel have
 * none of its numbers, so they are here.
 */
#include "netdev.h"

#include "netns.h"
#include <errno.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CMD_DEV_GET 1
#define A_IFINDEX 1
#define A_XDP_FEATURES 3
#define ACT_BASIC (1u << 0)
#define ACT_XSK_ZEROCOPY (1u << 3)
#define ACT_RX_SG (1u << 5)

union message {
    struct nlmsghdr h;
    uint8_t bytes[4096];
};

static void put(union message *m, uint16_t type, const void *data, size_t len)
{
    struct nlattr *a = (struct nlattr *)(void *)(m->bytes + NLMSG_ALIGN(m->h.nlmsg_len));

    a->nla_type = type;
    a->nla_len = (uint16_t)(NLA_HDRLEN + len);
    memcpy((uint8_t *)a + NLA_HDRLEN, data, len);
    m->h.nlmsg_len = NLMSG_ALIGN(m->h.nlmsg_len) + NLA_ALIGN(a->nla_len);
}

/* A question with one attribute; the answer is in its place. 0 or -errno. */
static int ask(int fd, union message *m, uint16_t family, uint8_t command, uint16_t type, const void *data, size_t len)
{
    struct genlmsghdr *g = NLMSG_DATA(&m->h);
    ssize_t n;

    memset(m, 0, sizeof(*m));
    m->h.nlmsg_len = NLMSG_LENGTH(GENL_HDRLEN);
    m->h.nlmsg_type = family;
    m->h.nlmsg_flags = NLM_F_REQUEST;
    *g = (struct genlmsghdr){.cmd = command, .version = 1};
    put(m, type, data, len);
    if (send(fd, m, m->h.nlmsg_len, 0) < 0)
        return -errno;
    n = recv(fd, m, sizeof(*m), 0);
    if (n < 0)
        return -errno;
    if (!NLMSG_OK(&m->h, (size_t)n))
        return -EBADMSG;
    if (m->h.nlmsg_type == NLMSG_ERROR) {
        const struct nlmsgerr *e = NLMSG_DATA(&m->h);

        return e->error ? e->error : -EBADMSG;
    }
    return 0;
}

/* An attribute of the answer with at least so many bytes; NULL: there is none. */
static const void *find(const union message *m, uint16_t type, size_t least)
{
    size_t at = NLMSG_LENGTH(GENL_HDRLEN), end = m->h.nlmsg_len;

    while (at + NLA_HDRLEN <= end) {
        const struct nlattr *a = (const struct nlattr *)(const void *)(m->bytes + at);

        if (a->nla_len < NLA_HDRLEN || at + a->nla_len > end)
            return NULL;
        if ((a->nla_type & NLA_TYPE_MASK) == type)
            return a->nla_len >= NLA_HDRLEN + least ? m->bytes + at + NLA_HDRLEN : NULL;
        at += NLA_ALIGN(a->nla_len);
    }
    return NULL;
}

static int ask_netdev(int fd, int ifindex, struct rtap_netdev_xdp *x)
{
    const uint32_t index = (uint32_t)ifindex;
    union message m;
    const void *v;
    uint16_t family;
    uint64_t features;
    int r = ask(fd, &m, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, CTRL_ATTR_FAMILY_NAME, "netdev", sizeof("netdev"));

    if (r == -ENOENT)
        return -ENOTSUP;
    if (r < 0)
        return r;
    v = find(&m, CTRL_ATTR_FAMILY_ID, sizeof(family));
    if (!v)
        return -EBADMSG;
    memcpy(&family, v, sizeof(family));
    r = ask(fd, &m, family, CMD_DEV_GET, A_IFINDEX, &index, sizeof(index));
    if (r < 0)
        return r;
    v = find(&m, A_XDP_FEATURES, sizeof(features));
    if (!v)
        return -EBADMSG;
    memcpy(&features, v, sizeof(features));
    x->native = features & ACT_BASIC;
    x->zerocopy = features & ACT_XSK_ZEROCOPY;
    x->fragments = features & ACT_RX_SG;
    return 0;
}

int rtap_netdev_xdp(const char *netns, int ifindex, struct rtap_netdev_xdp *x)
{
    char text[256];
    int fd = rtap_netns_socket(netns, AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC, text, sizeof(text)), r;

    if (fd < 0)
        return fd;
    r = ask_netdev(fd, ifindex, x);
    close(fd);
    return r;
}
