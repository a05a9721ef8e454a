/*
 * A first look at a packet: where its headers are, one line of text as tcpdump -n prints it, the hex dump, and the
 * state of its checksum. Small on purpose.
 */
#ifndef RTAP_PACKET_LINE_H
#define RTAP_PACKET_LINE_H

#include "pkt.h"
#include <stddef.h>

struct rtap_look {
    int32_t l3;         /* offset of the network header, -1 none */
    int32_t l4;         /* offset of the transport header, -1 none (later fragments too) */
    int32_t payload;    /* offset of the transport payload, -1 none */
    uint32_t l3_end;    /* where the IP packet ends by its own length (may be past caplen) */
    uint16_t ethertype; /* after VLAN tags; 0 unknown */
    uint8_t version;    /* 4, 6 or 0 */
    uint8_t proto;      /* IP protocol after extension headers */
    bool fragment;      /* any fragment */
    bool later_fragment;
    uint8_t tags; /* VLAN tags seen */
};

void rtap_look_at(const struct rtap_pkt *pkt, struct rtap_look *look);

/* Offset of a layer by its Wireshark name ("eth", "vlan", "ip", "ipv6", "arp", "udp", "tcp", "icmp", "icmpv6", "data");
 * -1 when the packet has none, -2 when the name is unknown. */
int32_t rtap_look_layer(const struct rtap_pkt *pkt, const char *name);

/* "ok", "bad", "not_ready" or "unchecked" (no checksum to check, a fragment, or cut off). */
const char *rtap_checksum_state(const struct rtap_pkt *pkt);

enum rtap_time_style {                  /* tcpdump's -t ... */
                       RTAP_TIME_CLOCK, /* 12:34:56.789012, local */
                       RTAP_TIME_NONE,  /* -t */
                       RTAP_TIME_EPOCH, /* -tt */
                       RTAP_TIME_DELTA, /* -ttt: since the line before */
                       RTAP_TIME_DATE,  /* -tttt */
                       RTAP_TIME_FIRST, /* -ttttt: since the first line */
};

struct rtap_line_style {
    enum rtap_time_style time;
    bool nanoseconds; /* 9 digits instead of 6 */
    bool number;      /* -#: packet number in front */
    bool link;        /* -e */
    bool quiet;       /* -q */
    unsigned verbose; /* -v, counted */
    bool interface;   /* name and In/Out in front, as for "any" */
    enum { RTAP_HEX_NONE, RTAP_HEX_X, RTAP_HEX_XX, RTAP_ASCII_X, RTAP_ASCII_XX } dump; /* -x -xx -X -XX */
    /* state of the -ttt and -ttttt styles and the counter; zero them before the first line */
    int64_t first, previous;
    uint64_t count;
};

/* Both append to buf (size bytes) and return the length that the whole text has (as snprintf does); NUL-terminated. */
size_t rtap_line(const struct rtap_pkt *pkt, struct rtap_line_style *style, char *buf, size_t size);
/* Hex dump of data[0..len): offset, 16 bytes, ASCII, as `tcpdump -XX` prints them, each line ended by \n. */
size_t rtap_hex(const uint8_t *data, uint32_t len, bool ascii, char *buf, size_t size);

#endif
