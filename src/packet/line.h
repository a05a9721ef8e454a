/*
 * A first look at a packet: where its headers are (look.c), the state of its checksum (look.c), one line of text as
 * tcpdump -n prints it and the hex dump (line.c, line_ip.c). Small on purpose.
 *
 * Nothing here allocates, keeps state outside of the caller's structs, or reads outside [data, data + caplen).
 */
#ifndef RTAP_PACKET_LINE_H
#define RTAP_PACKET_LINE_H

#include "pkt.h"
#include <stddef.h>

/* Every offset is below caplen, but what stands there may be cut off: check against caplen before reading on. */
struct rtap_look {
    int32_t l3;         /* offset of the network header (also of ARP and what isn't known), -1 none */
    int32_t l4;         /* offset of the transport header, -1 none (later fragments too) */
    int32_t payload;    /* offset of the transport payload (<= caplen), -1 none or its header is cut off or absurd */
    int32_t vlan;       /* offset of the first VLAN tag's TCI, -1 none */
    int32_t dst;        /* offset of the address that checksums cover as destination; IP only */
    uint32_t l3_end;    /* where the IP packet ends by its own length (may be past caplen); len if not IP */
    uint16_t ethertype; /* after VLAN tags; 0 unknown and 802.3 */
    uint8_t version;    /* 4, 6 or 0; 0 too when the version isn't what the link layer promises */
    uint8_t proto;      /* IP protocol after extension headers */
    bool fragment;      /* any fragment, but not an IPv6 packet whose only fragment this is */
    bool later_fragment;
    bool length_guessed; /* the IP length was 0 (offload): l3_end is the length on the wire */
    uint8_t tags;        /* VLAN tags seen */
};

void rtap_look_at(const struct rtap_pkt *pkt, struct rtap_look *look);

/* The transport's checksum (UDP, UDP-Lite, TCP, ICMP, ICMPv6, IGMP), and IPv4's own: 1 right, 0 wrong, -1 not to be
 * checked (see above). *is is what the packet has, *want what it should have; both are set unless -1. */
int rtap_look_sum(const struct rtap_pkt *pkt, const struct rtap_look *look, uint16_t *is, uint16_t *want);
int rtap_look_ip_sum(const struct rtap_pkt *pkt, const struct rtap_look *look, uint16_t *is, uint16_t *want);

enum rtap_time_style {                  /* tcpdump's -t ... */
                       RTAP_TIME_CLOCK, /* 12:34:56.789012, local */
                       RTAP_TIME_NONE,  /* -t */
                       RTAP_TIME_EPOCH, /* -tt */
                       RTAP_TIME_DELTA, /* -ttt: since the line before */
                       RTAP_TIME_DATE,  /* -tttt */
                       RTAP_TIME_FIRST, /* -ttttt: since the first line */
};

struct rtap_engine;

struct rtap_line_style {
    struct rtap_engine *engine; /* its tables say what stands above the transport; NULL: nothing is said of that */
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
    bool started; /* first and previous are set */
    /* cache, zeroed likewise: the minute that the last packet was in, up to its ':', because localtime_r costs more
     * than the rest of the line */
    int64_t minute;
    char minute_text[24];
    unsigned minute_len;
};

/* Both write to buf (size bytes, NUL-terminated) and return the length that the whole text has, as snprintf does. A
 * line has no \n at its end, with a dump neither; with -v it may have some in it, as tcpdump's has. */
size_t rtap_line(const struct rtap_pkt *pkt, struct rtap_line_style *style, char *buf, size_t size);
/* Hex dump of data[0..len): offset, 16 bytes, ASCII, as `tcpdump -XX` prints them, each line ended by \n. */
size_t rtap_hex(const uint8_t *data, uint32_t len, bool ascii, char *buf, size_t size);

#endif
