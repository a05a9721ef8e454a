/*
 * The line printer's IPv4 and IPv6: lengths that don't fit, the block that -v asks for, extension headers by name.
 * look.c has found the headers already; what it left out (l4 < 0) is explained here.
 */
#include "bytes.h"
#include "line_parts.h"

#include <linux/if_ether.h>
#include <netinet/in.h>

static const char *protocol_name(uint8_t proto)
{
    static const char *const names[256] = {
        [IPPROTO_HOPOPTS] = "Options",
        [IPPROTO_ICMP] = "ICMP",
        [IPPROTO_IGMP] = "IGMP",
        [IPPROTO_IPIP] = "IPIP",
        [IPPROTO_TCP] = "TCP",
        [IPPROTO_UDP] = "UDP",
        [IPPROTO_DCCP] = "DCCP",
        [IPPROTO_IPV6] = "IPv6",
        [IPPROTO_ROUTING] = "Routing",
        [IPPROTO_FRAGMENT] = "Fragment",
        [IPPROTO_RSVP] = "RSVP",
        [IPPROTO_GRE] = "GRE",
        [IPPROTO_ESP] = "ESP",
        [IPPROTO_AH] = "AH",
        [IPPROTO_ICMPV6] = "ICMPv6",
        [IPPROTO_NONE] = "none",
        [88] = "EIGRP",
        [89] = "OSPF",
        [IPPROTO_PIM] = "PIM",
        [IPPROTO_DSTOPTS] = "Options",
        [112] = "VRRP",
        [IPPROTO_SCTP] = "SCTP",
        [IPPROTO_UDPLITE] = "UDPLite",
        [IPPROTO_MH] = "Mobility",
    };

    return names[proto] != NULL ? names[proto] : "unknown";
}

static void put_address(struct rtap_line_job *job, const uint8_t *a)
{
    if (job->look.version == 4)
        rtap_out_ip4(&job->out, a);
    else
        rtap_out_ip6(&job->out, a);
}

void rtap_line_names(struct rtap_line_job *job, const uint8_t *p)
{
    const uint8_t *ip = job->pkt->data + job->look.l3;
    bool v4 = job->look.version == 4;

    if (!job->named) {
        put_address(job, ip + (v4 ? 12 : 8));
        if (p != NULL) {
            LIT(job, ".");
            rtap_out_dec(&job->out, rtap_be16(p));
        }
        LIT(job, " > ");
        put_address(job, ip + (v4 ? 16 : 24));
        if (p != NULL) {
            LIT(job, ".");
            rtap_out_dec(&job->out, rtap_be16(p + 2));
        }
        LIT(job, ": ");
        job->named = true;
    } else if (p != NULL) { /* behind extension headers */
        rtap_out_dec(&job->out, rtap_be16(p));
        LIT(job, " > ");
        rtap_out_dec(&job->out, rtap_be16(p + 2));
        LIT(job, ": ");
    }
}

/* Names only; one with a length that can't be ends the list. */
static void put_options(struct rtap_line_job *job, const uint8_t *p, uint32_t size)
{
    static const struct {
        uint8_t kind;
        const char *name;
    } names[] = {{0, "EOL"},    {1, "NOP"},   {7, "RR"},     {68, "timestamp"}, {130, "security"},
                 {131, "LSRR"}, {136, "SID"}, {137, "SSRR"}, {148, "RA"}};

    LIT(job, ", options (");
    for (uint32_t i = 0; i < size;) {
        uint32_t len = p[i] < 2 ? 1 : i + 1 < size ? p[i + 1] : 0;
        size_t n;

        for (n = 0; n < sizeof(names) / sizeof(names[0]) && names[n].kind != p[i]; n++)
            ;
        if (i > 0)
            LIT(job, ",");
        if (n < sizeof(names) / sizeof(names[0])) {
            rtap_out_text(&job->out, names[n].name);
        } else {
            LIT(job, "unknown ");
            rtap_out_dec(&job->out, p[i]);
        }
        if (p[i] == 0)
            break;
        if (len == 0 || (p[i] > 1 && len < 2) || len > size - i) {
            LIT(job, " [bad length ");
            rtap_out_dec(&job->out, len);
            LIT(job, "]");
            break;
        }
        i += len;
    }
    LIT(job, ")");
}

static void put_ipv4_block(struct rtap_line_job *job, uint32_t hlen)
{
    static const char *const ecn[] = {"", ",ECT(1)", ",ECT(0)", ",CE"};
    const uint8_t *p = job->pkt->data + job->look.l3;
    struct rtap_out *o = &job->out;
    unsigned flags = p[6] >> 5, shown = 0;
    uint16_t is, want;

    LIT(job, "(tos 0x");
    rtap_out_hex(o, p[1], 1);
    rtap_out_text(o, ecn[p[1] & 3]);
    if (p[8] != 0) {
        LIT(job, ", ttl ");
        rtap_out_dec(o, p[8]);
    }
    LIT(job, ", id ");
    rtap_out_dec(o, rtap_be16(p + 4));
    LIT(job, ", offset ");
    rtap_out_dec(o, (rtap_be16(p + 6) & 0x1fff) * 8u);
    LIT(job, ", flags [");
    for (unsigned i = 0; i < 3; i++)
        if (flags & 1u << i) {
            if (shown++ > 0)
                LIT(job, ", ");
            rtap_out_text(o, i == 0 ? "+" : i == 1 ? "DF" : "rsvd");
        }
    if (shown == 0)
        LIT(job, "none");
    LIT(job, "], proto ");
    rtap_out_text(o, protocol_name(p[9]));
    LIT(job, " (");
    rtap_out_dec(o, p[9]);
    LIT(job, "), length ");
    rtap_out_dec(o, job->look.l3_end - (uint32_t)job->look.l3);
    if (hlen > 20 && rtap_line_left(job, (uint32_t)job->look.l3) >= hlen)
        put_options(job, p + 20, hlen - 20);
    if (rtap_look_ip_sum(job->pkt, &job->look, &is, &want) == 0) {
        LIT(job, ", bad cksum ");
        rtap_out_hex(o, is, 1);
        LIT(job, " (->");
        rtap_out_hex(o, want, 1);
        LIT(job, ")!");
    }
    LIT(job, ")\n    ");
}

static void put_ipv6_block(struct rtap_line_job *job)
{
    const uint8_t *p = job->pkt->data + job->look.l3;
    struct rtap_out *o = &job->out;
    uint32_t word = rtap_be32(p);

    LIT(job, "(");
    if ((word >> 20 & 0xff) != 0) {
        LIT(job, "class 0x");
        rtap_out_hex(o, word >> 20 & 0xff, 2);
        LIT(job, ", ");
    }
    if ((word & 0xfffff) != 0) {
        LIT(job, "flowlabel 0x");
        rtap_out_hex(o, word & 0xfffff, 5);
        LIT(job, ", ");
    }
    LIT(job, "hlim ");
    rtap_out_dec(o, p[7]);
    LIT(job, ", next-header ");
    rtap_out_text(o, protocol_name(p[6]));
    LIT(job, " (");
    rtap_out_dec(o, p[6]);
    LIT(job, ") payload length: ");
    rtap_out_dec(o, rtap_be16(p + 4));
    LIT(job, ") ");
}

static void put_ah(struct rtap_line_job *job, const uint8_t *p)
{
    LIT(job, "AH(spi=0x");
    rtap_out_hex(&job->out, rtap_be32(p + 4), 8);
    LIT(job, "): ");
}

/* The extension headers by name, from `off` to where look.c stopped. False: the line is complete. */
static bool put_extensions(struct rtap_line_job *job, uint32_t off, uint8_t next)
{
    for (int n = 0; job->look.l4 < 0 || off < (uint32_t)job->look.l4; n++) {
        const uint8_t *p = job->pkt->data + off;
        uint32_t left = rtap_line_left(job, off), size = 8;

        if (next == IPPROTO_NONE) {
            rtap_line_names(job, NULL);
            LIT(job, "no next header");
            return false;
        }
        if (next != IPPROTO_AH && (job->look.version == 4 || (next != IPPROTO_HOPOPTS && next != IPPROTO_ROUTING &&
                                                              next != IPPROTO_FRAGMENT && next != IPPROTO_DSTOPTS)))
            return true; /* a transport that is cut off */
        rtap_line_names(job, NULL);
        if (n == 16) { /* where look.c gave up too */
            LIT(job, "[too many headers]");
            return false;
        }
        if (left < 8) {
            rtap_out_text(&job->out, next == IPPROTO_HOPOPTS    ? " [|hbhopt]"
                                     : next == IPPROTO_ROUTING  ? " [|srcrt]"
                                     : next == IPPROTO_FRAGMENT ? " [|frag6]"
                                     : next == IPPROTO_AH       ? " [|ah]"
                                                                : " [|dstopt]");
            return false;
        }
        switch (next) {
        case IPPROTO_HOPOPTS:
            LIT(job, "HBH ");
            size = (p[1] + 1u) * 8;
            break;
        case IPPROTO_DSTOPTS:
            LIT(job, "DSTOPT ");
            size = (p[1] + 1u) * 8;
            break;
        case IPPROTO_ROUTING:
            LIT(job, "RT6 (len=");
            rtap_out_dec(&job->out, p[1]);
            LIT(job, ", type=");
            rtap_out_dec(&job->out, p[2]);
            LIT(job, ", segleft=");
            rtap_out_dec(&job->out, p[3]);
            LIT(job, ") ");
            size = (p[1] + 1u) * 8;
            break;
        case IPPROTO_FRAGMENT: {
            uint32_t end = job->look.l3_end - off;

            LIT(job, "frag (");
            if (job->style->verbose > 0) {
                LIT(job, "0x");
                rtap_out_hex(&job->out, rtap_be32(p + 4), 8);
                LIT(job, ":");
            }
            rtap_out_dec(&job->out, rtap_be16(p + 2) & 0xfff8);
            LIT(job, "|");
            rtap_out_dec(&job->out, end - 8);
            LIT(job, ")");
            if ((rtap_be16(p + 2) & 0xfff8) != 0)
                return false;
            LIT(job, " ");
            break;
        }
        default:
            put_ah(job, p);
            size = (p[1] + 2u) * 4;
            break;
        }
        if (size > left) {
            LIT(job, " [|ext]");
            return false;
        }
        next = p[0];
        off += size;
        if (job->look.l4 < 0 && left == size) /* nothing behind it */
            return true;
    }
    return true;
}

static void put_missing(struct rtap_line_job *job)
{
    if (job->look.l3_end <= job->pkt->len)
        return;
    if (job->look.version == 4)
        LIT(job, "truncated-ip - ");
    else
        LIT(job, "truncated-ip6 - ");
    rtap_out_dec(&job->out, job->look.l3_end - job->pkt->len);
    LIT(job, " bytes missing! ");
}

static void put_ipv4(struct rtap_line_job *job)
{
    const uint8_t *p = job->pkt->data + job->look.l3;
    uint32_t hlen = (p[0] & 15) * 4u, total;

    if (job->look.version == 0) {
        LIT(job, "IP version ");
        rtap_out_dec(&job->out, p[0] >> 4);
        LIT(job, " (invalid)");
        return;
    }
    if (!job->style->link)
        LIT(job, "IP ");
    if (job->pkt->caplen - (uint32_t)job->look.l3 < 20) {
        CUT(job, "ip");
        return;
    }
    total = job->look.l3_end - (uint32_t)job->look.l3;
    if (hlen < 20) {
        LIT(job, "bad-hlen ");
        rtap_out_dec(&job->out, hlen);
        return;
    }
    if (total < hlen) {
        LIT(job, "bad-len ");
        rtap_out_dec(&job->out, total);
        return;
    }
    put_missing(job);
    if (job->style->verbose > 0)
        put_ipv4_block(job, hlen);
    if (job->look.later_fragment) {
        rtap_line_names(job, NULL);
        LIT(job, "ip-proto-");
        rtap_out_dec(&job->out, p[9]);
    } else if (p[9] != IPPROTO_AH || put_extensions(job, (uint32_t)job->look.l3 + hlen, p[9])) {
        rtap_line_transport(job);
    }
}

void rtap_line_ip(struct rtap_line_job *job)
{
    const uint8_t *p = job->pkt->data + job->look.l3;

    if (job->look.ethertype == ETH_P_IP) {
        put_ipv4(job);
        return;
    }
    if (!job->style->link)
        LIT(job, "IP6 ");
    if (job->look.version == 0) {
        LIT(job, "version error: ");
        rtap_out_dec(&job->out, p[0] >> 4);
        LIT(job, " != 6");
        return;
    }
    if (job->pkt->caplen - (uint32_t)job->look.l3 < 40) {
        CUT(job, "ip6");
        return;
    }
    put_missing(job);
    if (job->style->verbose > 0)
        put_ipv6_block(job);
    if (put_extensions(job, (uint32_t)job->look.l3 + 40, p[6]))
        rtap_line_transport(job);
}
