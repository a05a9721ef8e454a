/* What the kernel says of network interfaces: RTNETLINK for the list, the ethtool ioctls for one of them. */
#ifndef RTAP_IO_NETIF_H
#define RTAP_IO_NETIF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rtap_netif {
    char name[16], kind[16]; /* kind: "veth", "tun", ...; "" for hardware */
    uint8_t address[32];
    unsigned address_len;
    unsigned index, flags; /* flags: IFF_* */
    unsigned mtu, rx_queues, tx_queues;
    uint64_t tx_dropped;
    unsigned short hatype; /* ARPHRD_* */
};

/* All interfaces of a namespace (NULL: here), in the kernel's order: the first `size` of them into list. Returns how
 * many there are, or -errno with the sentence in err. */
int rtap_netif_list(const char *netns, struct rtap_netif *list, unsigned size, char *err, size_t errlen);

/* Packets to be sent that the device has dropped, and that its root queueing discipline has; over the same socket. 0 or
 * -errno (-ENOENT: it has no queueing discipline that counts). */
int rtap_netif_tx_dropped(int fd, int ifindex, uint64_t *dropped);
int rtap_netif_qdisc_drops(int fd, int ifindex, uint64_t *drops);
/* Does the kernel cut super-frames of UDP apart and work out their checksums before the device has them? Else the
 * device does, or hands them on as they are. fd: any socket of its namespace. */
bool rtap_netif_cuts(int fd, const char *name);
/* One of them by its number, over a NETLINK_ROUTE socket of its namespace. 0; -ENODEV: it is gone; -errno. */
int rtap_netif_get(int fd, int ifindex, struct rtap_netif *n);

enum rtap_offload {
    RTAP_OFFLOAD_GRO,
    RTAP_OFFLOAD_LRO,
    RTAP_OFFLOAD_TSO,
    RTAP_OFFLOAD_GSO,
    RTAP_OFFLOAD_RX_CHECKSUM,
    RTAP_OFFLOAD_TX_CHECKSUM,
    RTAP_OFFLOAD_RX_VLAN,
    RTAP_OFFLOAD_TX_VLAN,
    RTAP_OFFLOAD_COUNT,
};

struct rtap_netif_detail {
    char driver[32], bus[32];           /* "" where unknown */
    int8_t link;                        /* 1 there, 0 not there, -1 unknown */
    int8_t offload[RTAP_OFFLOAD_COUNT]; /* 1 on, 0 off, -1 unknown */
    bool has_channels, has_rings, has_timestamping;
    uint32_t rx_channels, tx_channels, rx_channels_max, tx_channels_max; /* combined ones count in both */
    uint32_t rx_ring, tx_ring, rx_ring_max, tx_ring_max;                 /* descriptors of the device */
    uint32_t so_timestamping, rx_filters; /* SOF_TIMESTAMPING_*, 1 << HWTSTAMP_FILTER_* */
    int phc_index;                        /* -1: no clock of its own */
};

/* What the driver of one interface says; what it doesn't say is left unknown. 0 or -errno. */
int rtap_netif_detail(const char *netns, const char *name, struct rtap_netif_detail *d, char *err, size_t errlen);

#endif
