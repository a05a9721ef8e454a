/*
 * Asking the kernel about interfaces. Every call makes its own socket, in the namespace that is asked about, and closes
 * it; nothing here needs a privilege.
 */
#include "netif.h"

#include "netns.h"
#include <errno.h>
#include <linux/ethtool.h>
#include <linux/gen_stats.h>
#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* ------------------------------------------------------------------ the list */

static void copy_text(char *to, size_t size, const struct rtattr *a)
{
    size_t n = RTA_PAYLOAD(a);

    if (n > size - 1)
        n = size - 1;
    memcpy(to, RTA_DATA(a), n);
    to[n] = 0;
}

static uint32_t number(const struct rtattr *a)
{
    uint32_t v = 0;

    if (RTA_PAYLOAD(a) >= sizeof(v))
        memcpy(&v, RTA_DATA(a), sizeof(v));
    return v;
}

static void read_link_info(struct rtap_netif *n, struct rtattr *info)
{
    struct rtattr *a = RTA_DATA(info);
    int left = (int)RTA_PAYLOAD(info);

    for (; RTA_OK(a, left); a = RTA_NEXT(a, left))
        if (a->rta_type == IFLA_INFO_KIND)
            copy_text(n->kind, sizeof(n->kind), a);
}

static void read_link(struct rtap_netif *n, const struct nlmsghdr *h)
{
    const struct ifinfomsg *m = NLMSG_DATA(h);
    struct rtattr *a = IFLA_RTA(m);
    int left = (int)IFLA_PAYLOAD(h);

    memset(n, 0, sizeof(*n));
    n->index = (unsigned)m->ifi_index;
    n->flags = m->ifi_flags;
    n->hatype = m->ifi_type;
    for (; RTA_OK(a, left); a = RTA_NEXT(a, left)) {
        switch (a->rta_type & NLA_TYPE_MASK) {
        case IFLA_IFNAME: copy_text(n->name, sizeof(n->name), a); break;
        case IFLA_MTU: n->mtu = number(a); break;
        case IFLA_NUM_RX_QUEUES: n->rx_queues = number(a); break;
        case IFLA_NUM_TX_QUEUES: n->tx_queues = number(a); break;
        case IFLA_ADDRESS:
            n->address_len = (unsigned)RTA_PAYLOAD(a);
            if (n->address_len > sizeof(n->address))
                n->address_len = sizeof(n->address);
            memcpy(n->address, RTA_DATA(a), n->address_len);
            break;
        case IFLA_LINKINFO: read_link_info(n, a); break;
        case IFLA_STATS64:
            if (RTA_PAYLOAD(a) >= offsetof(struct rtnl_link_stats64, tx_dropped) + sizeof(n->tx_dropped))
                memcpy(&n->tx_dropped, (const char *)RTA_DATA(a) + offsetof(struct rtnl_link_stats64, tx_dropped),
                       sizeof(n->tx_dropped));
            break;
        }
    }
}

/* One request and its one answer, which is left in buf. 0 or -errno. */
static int ask_netlink(int fd, const void *request, size_t size, void *buf, size_t room)
{
    const struct nlmsghdr *h = buf;
    ssize_t got;

    if (send(fd, request, size, 0) < 0)
        return -errno;
    got = recv(fd, buf, room, MSG_DONTWAIT); /* the kernel answers before send() returns, or not at all */
    if (got < 0)
        return -errno;
    if (!NLMSG_OK(h, (unsigned)got))
        return -EIO;
    return h->nlmsg_type == NLMSG_ERROR ? ((const struct nlmsgerr *)NLMSG_DATA(h))->error : 0;
}

int rtap_netif_get(int fd, int ifindex, struct rtap_netif *n)
{
    struct {
        struct nlmsghdr h;
        struct ifinfomsg m;
    } request = {
        .h = {.nlmsg_len = sizeof(request), .nlmsg_type = RTM_GETLINK, .nlmsg_flags = NLM_F_REQUEST},
        .m = {.ifi_family = AF_UNSPEC, .ifi_index = ifindex},
    };
    _Alignas(struct nlmsghdr) char buf[32768];
    int r = ask_netlink(fd, &request, sizeof(request), buf, sizeof(buf));

    if (r == 0)
        read_link(n, (struct nlmsghdr *)buf);
    return r;
}

/* The attribute of that type among those from a on, or NULL. */
static const struct rtattr *find_attribute(const struct rtattr *a, int left, unsigned type)
{
    for (; RTA_OK(a, left); a = RTA_NEXT(a, left))
        if ((a->rta_type & NLA_TYPE_MASK) == type)
            return a;
    return NULL;
}

int rtap_netif_tx_dropped(int fd, int ifindex, uint64_t *dropped)
{
    struct {
        struct nlmsghdr h;
        struct if_stats_msg m;
    } request = {
        .h = {.nlmsg_len = sizeof(request), .nlmsg_type = RTM_GETSTATS, .nlmsg_flags = NLM_F_REQUEST},
        .m = {.ifindex = (uint32_t)ifindex, .filter_mask = IFLA_STATS_FILTER_BIT(IFLA_STATS_LINK_64)},
    };
    _Alignas(struct nlmsghdr) char buf[4096];
    const struct nlmsghdr *h = (struct nlmsghdr *)buf;
    int r = ask_netlink(fd, &request, sizeof(request), buf, sizeof(buf));
    const struct rtattr *a;

    if (r < 0)
        return r;
    a = find_attribute((const struct rtattr *)((char *)NLMSG_DATA(h) + NLMSG_ALIGN(sizeof(request.m))),
                       (int)(h->nlmsg_len - NLMSG_SPACE(sizeof(request.m))), IFLA_STATS_LINK_64);
    if (!a || RTA_PAYLOAD(a) < offsetof(struct rtnl_link_stats64, tx_dropped) + sizeof(*dropped))
        return -EIO;
    memcpy(dropped, (const char *)RTA_DATA(a) + offsetof(struct rtnl_link_stats64, tx_dropped), sizeof(*dropped));
    return 0;
}

int rtap_netif_qdisc_drops(int fd, int ifindex, uint64_t *drops)
{
    struct {
        struct nlmsghdr h;
        struct tcmsg m;
    } request = {
        .h = {.nlmsg_len = sizeof(request), .nlmsg_type = RTM_GETQDISC, .nlmsg_flags = NLM_F_REQUEST | NLM_F_ECHO},
        .m = {.tcm_family = AF_UNSPEC, .tcm_ifindex = ifindex, .tcm_parent = TC_H_ROOT},
    };
    _Alignas(struct nlmsghdr) char buf[32768];
    const struct nlmsghdr *h = (struct nlmsghdr *)buf;
    struct gnet_stats_queue queue;
    const struct rtattr *a;

    if (ask_netlink(fd, &request, sizeof(request), buf, sizeof(buf)) < 0 || h->nlmsg_type != RTM_NEWQDISC)
        return -ENOENT;
    a = find_attribute(TCA_RTA((struct tcmsg *)NLMSG_DATA(h)), (int)TCA_PAYLOAD(h), TCA_STATS2);
    if (a)
        a = find_attribute(RTA_DATA(a), (int)RTA_PAYLOAD(a), TCA_STATS_QUEUE);
    if (!a || RTA_PAYLOAD(a) < sizeof(queue))
        return -ENOENT;
    memcpy(&queue, RTA_DATA(a), sizeof(queue));
    *drops = queue.drops;
    return 0;
}

int rtap_netif_list(const char *netns, struct rtap_netif *list, unsigned size, char *err, size_t errlen)
{
    struct {
        struct nlmsghdr h;
        struct ifinfomsg m;
    } request = {
        .h = {.nlmsg_len = sizeof(request), .nlmsg_type = RTM_GETLINK, .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
        .m = {.ifi_family = AF_UNSPEC},
    };
    _Alignas(struct nlmsghdr) char buf[65536];
    int fd = rtap_netns_socket(netns, AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE, err, errlen);
    int count = 0, r = 0;
    bool done = false;

    if (fd < 0)
        return fd;
    if (send(fd, &request, sizeof(request), 0) < 0)
        r = -errno;
    while (r == 0 && !done) {
        ssize_t got = recv(fd, buf, sizeof(buf), 0);
        struct nlmsghdr *h = (struct nlmsghdr *)buf;
        unsigned left = got > 0 ? (unsigned)got : 0;

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            r = got < 0 ? -errno : -EIO;
            break;
        }
        for (; NLMSG_OK(h, left) && r == 0 && !done; h = NLMSG_NEXT(h, left)) {
            if (h->nlmsg_type == NLMSG_DONE) {
                done = true;
            } else if (h->nlmsg_type == NLMSG_ERROR) {
                const struct nlmsgerr *e = NLMSG_DATA(h);

                r = e->error < 0 ? e->error : -EIO;
            } else if (h->nlmsg_type == RTM_NEWLINK) {
                if ((unsigned)count < size)
                    read_link(&list[count], h);
                count++;
            }
        }
    }
    close(fd);
    if (r < 0)
        snprintf(err, errlen, "list of interfaces: %s", strerror(-r));
    return r < 0 ? r : count;
}

/* ------------------------------------------------------------------ one of them */

static int ask(int fd, const char *name, void *what)
{
    struct ifreq ifr = {.ifr_data = what};

    snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", name);
    return ioctl(fd, SIOCETHTOOL, &ifr) < 0 ? -errno : 0;
}

static int8_t ask_value(int fd, const char *name, uint32_t cmd)
{
    struct ethtool_value v = {.cmd = cmd};

    return ask(fd, name, &v) == 0 ? v.data != 0 : -1;
}

/* Is that feature of the device on? -1: unknown. */
static int feature_is_on(int fd, const char *name, const char *feature)
{
    struct {
        struct ethtool_sset_info head;
        uint32_t count;
    } set = {.head = {.cmd = ETHTOOL_GSSET_INFO, .sset_mask = 1ull << ETH_SS_FEATURES}};
    struct ethtool_gstrings *names;
    struct ethtool_gfeatures *features;
    uint32_t count, at = 0;
    int is = -1;

    if (ask(fd, name, &set) < 0 || !set.head.sset_mask)
        return -1;
    count = set.count;
    names = calloc(1, sizeof(*names) + (size_t)count * ETH_GSTRING_LEN);
    features = calloc(1, sizeof(*features) + (count + 31) / 32 * sizeof(features->features[0]));
    if (names && features) {
        names->cmd = ETHTOOL_GSTRINGS;
        names->string_set = ETH_SS_FEATURES;
        names->len = count;
        features->cmd = ETHTOOL_GFEATURES;
        features->size = (count + 31) / 32;
        if (ask(fd, name, names) == 0 && ask(fd, name, features) == 0) {
            while (at < count && strncmp((char *)names->data + (size_t)at * ETH_GSTRING_LEN, feature, ETH_GSTRING_LEN))
                at++;
            if (at < count)
                is = features->features[at / 32].active >> at % 32 & 1;
        }
    }
    free(names);
    free(features);
    return is;
}

bool rtap_netif_cuts(int fd, const char *name)
{
    return feature_is_on(fd, name, "tx-udp-segmentation") == 0 && ask_value(fd, name, ETHTOOL_GTXCSUM) == 0;
}

static void ask_offloads(int fd, const char *name, struct rtap_netif_detail *d)
{
    struct ethtool_value flags = {.cmd = ETHTOOL_GFLAGS};

    d->offload[RTAP_OFFLOAD_GRO] = ask_value(fd, name, ETHTOOL_GGRO);
    d->offload[RTAP_OFFLOAD_TSO] = ask_value(fd, name, ETHTOOL_GTSO);
    d->offload[RTAP_OFFLOAD_GSO] = ask_value(fd, name, ETHTOOL_GGSO);
    d->offload[RTAP_OFFLOAD_RX_CHECKSUM] = ask_value(fd, name, ETHTOOL_GRXCSUM);
    d->offload[RTAP_OFFLOAD_TX_CHECKSUM] = ask_value(fd, name, ETHTOOL_GTXCSUM);
    if (ask(fd, name, &flags) < 0)
        return;
    d->offload[RTAP_OFFLOAD_LRO] = (flags.data & ETH_FLAG_LRO) != 0;
    d->offload[RTAP_OFFLOAD_RX_VLAN] = (flags.data & ETH_FLAG_RXVLAN) != 0;
    d->offload[RTAP_OFFLOAD_TX_VLAN] = (flags.data & ETH_FLAG_TXVLAN) != 0;
}

int rtap_netif_detail(const char *netns, const char *name, struct rtap_netif_detail *d, char *err, size_t errlen)
{
    struct ethtool_drvinfo driver = {.cmd = ETHTOOL_GDRVINFO};
    struct ethtool_channels channels = {.cmd = ETHTOOL_GCHANNELS};
    struct ethtool_ringparam rings = {.cmd = ETHTOOL_GRINGPARAM};
    struct ethtool_ts_info ts = {.cmd = ETHTOOL_GET_TS_INFO};
    struct ifreq ifr = {0};
    char text[256];
    int fd = rtap_netns_socket(netns, AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0, text, sizeof(text)), r = 0;

    if (fd < 0) {
        snprintf(err, errlen, "%s: %s", name, text);
        return fd;
    }
    memset(d, 0, sizeof(*d));
    memset(d->offload, -1, sizeof(d->offload));
    d->phc_index = -1;
    if (strlen(name) >= sizeof(ifr.ifr_name)) {
        r = -ENODEV;
    } else {
        snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", name);
        if (ioctl(fd, SIOCGIFINDEX, &ifr) < 0)
            r = -errno;
    }
    if (r < 0) {
        snprintf(err, errlen, "%s: %s", name, strerror(-r));
        close(fd);
        return r;
    }
    if (ask(fd, name, &driver) == 0) {
        snprintf(d->driver, sizeof(d->driver), "%.31s", driver.driver);
        snprintf(d->bus, sizeof(d->bus), "%.31s", driver.bus_info);
    }
    d->link = ask_value(fd, name, ETHTOOL_GLINK);
    ask_offloads(fd, name, d);
    if (ask(fd, name, &channels) == 0) {
        d->has_channels = true;
        d->rx_channels = channels.rx_count + channels.combined_count;
        d->tx_channels = channels.tx_count + channels.combined_count;
        d->rx_channels_max = channels.max_rx + channels.max_combined;
        d->tx_channels_max = channels.max_tx + channels.max_combined;
    }
    if (ask(fd, name, &rings) == 0) {
        d->has_rings = true;
        d->rx_ring = rings.rx_pending;
        d->tx_ring = rings.tx_pending;
        d->rx_ring_max = rings.rx_max_pending;
        d->tx_ring_max = rings.tx_max_pending;
    }
    if (ask(fd, name, &ts) == 0) {
        d->has_timestamping = true;
        d->so_timestamping = ts.so_timestamping;
        d->rx_filters = ts.rx_filters;
        d->phc_index = ts.phc_index;
    }
    close(fd);
    return 0;
}
