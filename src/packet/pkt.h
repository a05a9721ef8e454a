/*
 * What a packet is, below Lua: a view of bytes that somebody else owns, and the facts that came with them.
 *
 * A view is filled by a source (src/io), valid while the block that it points into is pinned, and never written
 * through by anyone but the source that made it.
 */
#ifndef RTAP_PACKET_PKT_H
#define RTAP_PACKET_PKT_H

#include <stdbool.h>
#include <stdint.h>

#define RTAP_NO_TIME INT64_MIN

/* LINKTYPE_ values, https://www.tcpdump.org/linktypes.html: those that the code itself has to know. */
enum rtap_linktype {
    RTAP_LINKTYPE_NULL = 0,
    RTAP_LINKTYPE_ETHERNET = 1,
    RTAP_LINKTYPE_PPP = 9,
    RTAP_LINKTYPE_RAW = 101,
    RTAP_LINKTYPE_IEEE802_11 = 105,
    RTAP_LINKTYPE_LOOP = 108,
    RTAP_LINKTYPE_LINUX_SLL = 113,
    RTAP_LINKTYPE_IEEE802_11_RADIOTAP = 127,
    RTAP_LINKTYPE_IPV4 = 228,
    RTAP_LINKTYPE_IPV6 = 229,
    RTAP_LINKTYPE_NETLINK = 253,
    RTAP_LINKTYPE_LINUX_SLL2 = 276,
};

/* The word that pcapng keeps as epb_flags (draft-ietf-opsawg-pcapng, 4.3.1); live packets are told in it too. */
#define RTAP_EPB_DIRECTION 0x03u
#define RTAP_EPB_INBOUND 0x01u
#define RTAP_EPB_OUTBOUND 0x02u
#define RTAP_EPB_RECEPTION_SHIFT 2
#define RTAP_EPB_RECEPTION 0x1cu
#define RTAP_EPB_UNICAST (1u << 2)
#define RTAP_EPB_MULTICAST (2u << 2)
#define RTAP_EPB_BROADCAST (3u << 2)
#define RTAP_EPB_PROMISCUOUS (4u << 2)
#define RTAP_EPB_FCS_SHIFT 5
#define RTAP_EPB_FCS 0x1e0u

/* Facts in rtap_pkt.status. */
#define RTAP_PKT_CSUM_NOT_READY                                                                                     \
    (1u << 0)                            /* the sender left the L4 checksum to the hardware: TP_STATUS_CSUMNOTREADY \
                                          */
#define RTAP_PKT_CSUM_VALID (1u << 1)    /* the kernel vouches for it: TP_STATUS_CSUM_VALID */
#define RTAP_PKT_GSO (1u << 2)           /* TP_STATUS_GSO_TCP: one frame stands for several on the wire */
#define RTAP_PKT_VLAN_RESTORED (1u << 3) /* the outermost tag had been taken out and was put back here */
#define RTAP_PKT_TS_HARDWARE (1u << 4)
#define RTAP_PKT_TS_SOFTWARE (1u << 5)
#define RTAP_PKT_INTERFACE (1u << 7) /* ifindex means something: not in a pcap file */
#define RTAP_PKT_VNET (1u << 8)
#define RTAP_PKT_LEN_REPAIRED (1u << 6) /* the file said len < caplen; len was raised to caplen */

struct rtap_pkt {
    const uint8_t *data; /* first byte of the link layer */
    uint32_t caplen;     /* bytes at data */
    uint32_t len;        /* bytes on the wire, >= caplen */
    int64_t time;        /* ns since 1970, or RTAP_NO_TIME */
    const char *ifname;  /* NULL where unknown; lives as long as data */
    const char *comment; /* opt_comment, not NUL-terminated; NULL for none */
    uint32_t comment_len;
    uint32_t ifindex; /* live: the kernel's; file: pcapng interface number */
    uint32_t epb_flags;
    uint32_t status;
    uint16_t linktype;
    /* With RTAP_PKT_VNET, what struct virtio_net_hdr told: for sending it on as it was. */
    uint16_t gso_size, csum_start, csum_offset;
    uint8_t gso_type;
};

#endif
