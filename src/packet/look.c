/*
 * Where a packet's headers are. Whether its checksums hold is in look_sum.c.
 *
 * Called for any bytes at all. Every offset is checked against caplen before a byte is read, every walk moves by at
 * least eight bytes a step and is bounded besides, and nothing behind the IP packet's own end counts as its payload
 * (Ethernet pads short frames).
 */
#include "bytes.h"
#include "line.h"

#include <linux/if_ether.h>
#include <netinet/in.h>

#define MAX_TAGS 8
#define MAX_EXTENSIONS 16

enum {
    PPP_IPV4 = 0x0021,
    PPP_IPV6 = 0x0057,
    HW_NETLINK = 824, /* ARPHRD_NETLINK: the protocol field of SLL headers is then no EtherType */
};

static bool have(const struct rtap_pkt *pkt, uint32_t off, uint32_t n)
{
    return off <= pkt->caplen && pkt->caplen - off >= n;
}

static uint16_t type_of_version(const struct rtap_pkt *pkt, uint32_t off)
{
    if (!have(pkt, off, 1))
        return 0;
    switch (pkt->data[off] >> 4) {
    case 4: return ETH_P_IP;
    case 6: return ETH_P_IPV6;
    default: return 0;
    }
}

/* BSD's loopback header: an address family in the byte order of the machine that captured, which may be either. */
static uint16_t type_of_family(const uint8_t *p)
{
    uint32_t family = rtap_be32(p) > 0xffff ? rtap_le32(p) : rtap_be32(p);

    switch (family) {
    case 2: return ETH_P_IP;
    case 10: /* Linux */
    case 24: /* NetBSD, OpenBSD */
    case 28: /* FreeBSD */
    case 30: /* macOS */ return ETH_P_IPV6;
    default: return 0;
    }
}

static uint16_t type_of_ppp(const struct rtap_pkt *pkt, uint32_t *off)
{
    const uint8_t *p = pkt->data;
    uint16_t proto;

    if (have(pkt, 0, 2) && p[0] == 0xff && p[1] == 0x03)
        *off = 2;
    if (!have(pkt, *off, 2))
        return 0;
    if (p[*off] & 1) { /* compressed to one byte */
        proto = p[*off];
        *off += 1;
    } else {
        proto = rtap_be16(p + *off);
        *off += 2;
    }
    return proto == PPP_IPV4 ? ETH_P_IP : proto == PPP_IPV6 ? ETH_P_IPV6 : 0;
}

/* Past the VLAN tags, whose number is bounded; *off is behind the EtherType already. */
static uint16_t skip_tags(const struct rtap_pkt *pkt, struct rtap_look *look, uint32_t *off, uint16_t type)
{
    while ((type == 0x8100 || type == 0x88a8 || type == 0x9100) && look->tags < MAX_TAGS && have(pkt, *off, 4)) {
        if (look->tags++ == 0)
            look->vlan = (int32_t)*off;
        type = rtap_be16(pkt->data + *off + 2);
        *off += 4;
    }
    return type;
}

/* The link layer: sets ethertype, tags, vlan and l3. */
static void look_link(const struct rtap_pkt *pkt, struct rtap_look *look)
{
    const uint8_t *p = pkt->data;
    uint32_t off = 0;
    uint16_t type = 0;

    switch (pkt->linktype) {
    case RTAP_LINKTYPE_ETHERNET:
        if (!have(pkt, 0, 14))
            return;
        off = 14;
        type = skip_tags(pkt, look, &off, rtap_be16(p + 12));
        break;
    case RTAP_LINKTYPE_LINUX_SLL:
        if (!have(pkt, 0, 16) || rtap_be16(p + 2) == HW_NETLINK)
            return;
        off = 16;
        type = skip_tags(pkt, look, &off, rtap_be16(p + 14));
        break;
    case RTAP_LINKTYPE_LINUX_SLL2:
        if (!have(pkt, 0, 20) || rtap_be16(p + 8) == HW_NETLINK)
            return;
        off = 20;
        type = skip_tags(pkt, look, &off, rtap_be16(p));
        break;
    case RTAP_LINKTYPE_NULL:
    case RTAP_LINKTYPE_LOOP:
        if (!have(pkt, 0, 4))
            return;
        off = 4;
        type = type_of_family(p);
        break;
    case RTAP_LINKTYPE_PPP: type = type_of_ppp(pkt, &off); break;
    case 12: /* LINKTYPE_RAW's number as DLT_RAW, which some files have by mistake */
    case 14:
    case RTAP_LINKTYPE_RAW: type = type_of_version(pkt, 0); break;
    case RTAP_LINKTYPE_IPV4: type = ETH_P_IP; break;
    case RTAP_LINKTYPE_IPV6: type = ETH_P_IPV6; break;
    default: break;
    }
    if (type < 0x0600) /* an 802.3 length, or neither one nor the other */
        return;
    look->ethertype = type;
    if (off < pkt->caplen)
        look->l3 = (int32_t)off;
}

/* Where the transport's payload starts; -1 when its header is cut off or makes no sense. */
static int32_t find_payload(const struct rtap_pkt *pkt, const struct rtap_look *look)
{
    uint32_t off = (uint32_t)look->l4, limit = pkt->caplen < look->l3_end ? pkt->caplen : look->l3_end, n;

    switch (look->proto) {
    case IPPROTO_UDP:
    case IPPROTO_UDPLITE:
    case IPPROTO_ICMP:
    case IPPROTO_ICMPV6: n = 8; break;
    case IPPROTO_TCP:
        if (limit - off < 20)
            return -1;
        n = (pkt->data[off + 12] >> 4) * 4u;
        if (n < 20)
            return -1;
        break;
    default: return -1;
    }
    return limit - off < n ? -1 : (int32_t)(off + n);
}

/* A routing header moves the last destination of the packet, which is what checksums cover, into itself. */
static void look_routing(const struct rtap_pkt *pkt, struct rtap_look *look, uint32_t off, uint32_t size)
{
    const uint8_t *p = pkt->data + off;

    if (p[3] == 0 || size < 24 || !have(pkt, off, size))
        return;
    if (p[2] == 4) /* segment routing: its list is in reverse order */
        look->dst = (int32_t)(off + 8);
    else if (p[2] == 0 || p[2] == 2)
        look->dst = (int32_t)(off + size - 16);
}

/* From the network header's end over the extension headers to the transport. */
static void look_transport(const struct rtap_pkt *pkt, struct rtap_look *look, uint32_t off, uint8_t next)
{
    uint32_t limit = pkt->caplen < look->l3_end ? pkt->caplen : look->l3_end;
    bool v6 = look->version == 6;

    for (int n = 0; n < MAX_EXTENSIONS; n++) {
        const uint8_t *p = pkt->data + off;
        uint32_t size;

        look->proto = next;
        if (off >= limit || next == IPPROTO_NONE)
            return;
        if (next == IPPROTO_AH) {
            if (limit - off < 8)
                return;
            size = (p[1] + 2u) * 4;
        } else if (!v6 || (next != IPPROTO_HOPOPTS && next != IPPROTO_ROUTING && next != IPPROTO_DSTOPTS &&
                           next != IPPROTO_FRAGMENT)) {
            look->l4 = (int32_t)off;
            look->payload = find_payload(pkt, look);
            return;
        } else if (limit - off < 8) {
            return;
        } else if (next == IPPROTO_FRAGMENT) {
            uint16_t frag = rtap_be16(p + 2);

            look->fragment |= (frag & 0xfff9) != 0;
            look->later_fragment = (frag & 0xfff8) != 0;
            if (look->later_fragment) {
                look->proto = p[0];
                return;
            }
            size = 8;
        } else {
            size = (p[1] + 1u) * 8;
            if (next == IPPROTO_ROUTING)
                look_routing(pkt, look, off, size);
        }
        next = p[0];
        if (size > limit - off) {
            look->proto = next;
            return;
        }
        off += size;
    }
}

/* A source route that isn't used up (LSRR, SSRR) ends with the last destination, which is what checksums cover. */
static void look_source_route(const struct rtap_pkt *pkt, struct rtap_look *look, uint32_t off, uint32_t end)
{
    const uint8_t *p = pkt->data;

    while (have(pkt, off, 3) && off + 3 <= end && p[off] != 0) {
        uint32_t size = p[off] == 1 ? 1 : p[off + 1];

        if (size == 0 || size > end - off || !have(pkt, off, size) || (size < 2 && p[off] != 1))
            return;
        if ((p[off] == 131 || p[off] == 137) && size >= 7 && p[off + 2] <= size - 3)
            look->dst = (int32_t)(off + size - 4);
        off += size;
    }
}

static void look_ipv4(const struct rtap_pkt *pkt, struct rtap_look *look)
{
    uint32_t off = (uint32_t)look->l3, hlen, total;
    const uint8_t *p = pkt->data + off;
    uint16_t frag;

    if (p[0] >> 4 != 4)
        return;
    look->version = 4;
    if (!have(pkt, off, 20))
        return;
    hlen = (p[0] & 15) * 4u;
    total = rtap_be16(p + 2);
    if (total == 0) {
        look->length_guessed = true;
        total = pkt->len - off;
    }
    look->l3_end = off + total;
    look->proto = p[9];
    look->dst = (int32_t)(off + 16);
    frag = rtap_be16(p + 6);
    look->fragment = (frag & 0x3fff) != 0;
    look->later_fragment = (frag & 0x1fff) != 0;
    if (hlen < 20 || hlen > total || look->later_fragment)
        return;
    if (hlen > 20)
        look_source_route(pkt, look, off + 20, off + hlen);
    look_transport(pkt, look, off + hlen, p[9]);
}

/* The Jumbo Payload option (RFC 2675) of a hop-by-hop header; 0 when there is none. */
static uint32_t jumbo_length(const struct rtap_pkt *pkt, uint32_t off)
{
    const uint8_t *p = pkt->data + off;
    uint32_t size, i;

    if (!have(pkt, off, 8))
        return 0;
    size = (p[1] + 1u) * 8;
    if (!have(pkt, off, size))
        size = pkt->caplen - off;
    for (i = 2; i + 1 < size; i += p[i] == 0 ? 1 : p[i + 1] + 2u)
        if (p[i] == 0xc2 && p[i + 1] == 4 && i + 6 <= size)
            return rtap_be32(p + i + 2);
    return 0;
}

static void look_ipv6(const struct rtap_pkt *pkt, struct rtap_look *look)
{
    uint32_t off = (uint32_t)look->l3, size;
    const uint8_t *p = pkt->data + off;

    if (p[0] >> 4 != 6)
        return;
    look->version = 6;
    if (!have(pkt, off, 40))
        return;
    size = rtap_be16(p + 4);
    if (size == 0 && p[6] == IPPROTO_HOPOPTS)
        size = jumbo_length(pkt, off + 40);
    if (size == 0 && p[6] != IPPROTO_NONE) {
        look->length_guessed = true;
        size = pkt->len - off - 40;
    }
    /* A jumbogram's length may say anything. */
    look->l3_end = size > UINT32_MAX - off - 40 ? UINT32_MAX : off + 40 + size;
    look->dst = (int32_t)(off + 24);
    look_transport(pkt, look, off + 40, p[6]);
}

void rtap_look_at(const struct rtap_pkt *pkt, struct rtap_look *look)
{
    *look = (struct rtap_look){.l3 = -1, .l4 = -1, .payload = -1, .vlan = -1, .dst = -1, .l3_end = pkt->len};
    look_link(pkt, look);
    if (look->l3 < 0)
        return;
    if (look->ethertype == ETH_P_IP)
        look_ipv4(pkt, look);
    else if (look->ethertype == ETH_P_IPV6)
        look_ipv6(pkt, look);
}
