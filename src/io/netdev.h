/* What the kernel says of an interface's XDP, by the netdev family of generic netlink. */
#ifndef RTAP_IO_NETDEV_H
#define RTAP_IO_NETDEV_H

#include <stdbool.h>
#include <stddef.h>

struct rtap_netdev_xdp {
    bool native, zerocopy, fragments; /* of its driver; fragments: a packet may lie in several frames */
};

/* 0; -ENOTSUP before Linux 6.3; or -errno. Needs no privilege. */
int rtap_netdev_xdp(const char *netns, int ifindex, struct rtap_netdev_xdp *x);

#endif
