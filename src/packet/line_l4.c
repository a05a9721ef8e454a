/* The line printer's transports: TCP and UDP in full, IGMP, ESP; others by name and length. */
#include "bytes.h"
#include "line_parts.h"

#include <netinet/in.h>

static void put_bytes(struct rtap_line_job *job, const uint8_t *p, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        rtap_out_hex(&job->out, p[i], 2);
}

/* p has `len` bytes, kind and length included. */
static void put_tcp_option(struct rtap_line_job *job, const uint8_t *p, uint32_t len)
{
    struct rtap_out *o = &job->out;

    if (p[0] == 2 && len == 4) {
        LIT(job, "mss ");
        rtap_out_dec(o, rtap_be16(p + 2));
    } else if (p[0] == 3 && len == 3) {
        LIT(job, "wscale ");
        rtap_out_dec(o, p[2]);
    } else if (p[0] == 4 && len == 2) {
        LIT(job, "sackOK");
    } else if (p[0] == 5 && len % 8 == 2) {
        LIT(job, "sack ");
        rtap_out_dec(o, len / 8);
        LIT(job, " ");
        for (uint32_t i = 2; i < len; i += 8) {
            LIT(job, "{");
            rtap_out_dec(o, rtap_be32(p + i));
            LIT(job, ":");
            rtap_out_dec(o, rtap_be32(p + i + 4));
            LIT(job, "}");
        }
    } else if (p[0] == 8 && len == 10) {
        LIT(job, "TS val ");
        rtap_out_dec(o, rtap_be32(p + 2));
        LIT(job, " ecr ");
        rtap_out_dec(o, rtap_be32(p + 6));
    } else {
        if (p[0] == 19)
            LIT(job, "md5");
        else if (p[0] == 29)
            LIT(job, "tcp-ao");
        else if (p[0] == 30)
            LIT(job, "mptcp");
        else if (p[0] == 34)
            LIT(job, "tfo");
        else
            rtap_line_number(job, "unknown-", p[0]);
        if (len > 2) {
            LIT(job, " 0x");
            put_bytes(job, p + 2, len - 2);
        }
    }
}

static void put_tcp_options(struct rtap_line_job *job, const uint8_t *p, uint32_t left, uint32_t size)
{
    LIT(job, ", options [");
    for (uint32_t i = 0; i < size;) {
        uint32_t len = 1;

        if (i > 0)
            LIT(job, ",");
        if (i >= left || (p[i] > 1 && i + 1 >= left && i + 1 < size)) {
            LIT(job, "[|tcp]");
            break;
        }
        if (p[i] == 0) {
            LIT(job, "eol");
            break;
        }
        if (p[i] == 1) {
            LIT(job, "nop");
        } else {
            len = i + 1 < size ? p[i + 1] : 0;
            if (len < 2 || len > size - i) {
                LIT(job, "[bad opt]");
                break;
            }
            if (len > left - i) {
                LIT(job, "[|tcp]");
                break;
            }
            put_tcp_option(job, p + i, len);
        }
        i += len;
    }
    LIT(job, "]");
}

static void put_tcp(struct rtap_line_job *job, struct rtap_line_span s)
{
    const uint8_t *p = s.p;
    struct rtap_out *o = &job->out;
    uint32_t hlen, length;
    uint16_t is, want;

    rtap_line_names(job, s.left >= 4 ? p : NULL);
    if (s.left < 20) {
        if (s.left < 4)
            LIT(job, "[|tcp]");
        else
            CUT(job, "tcp");
        return;
    }
    hlen = (p[12] >> 4) * 4u;
    if (hlen < 20) {
        rtap_line_number(job, "tcp ", s.size - hlen);
        rtap_line_number(job, " [bad hdr length ", hlen);
        LIT(job, " - too short, < 20]");
        return;
    }
    length = hlen > s.size ? 0 : s.size - hlen;
    if (job->style->quiet) {
        rtap_line_number(job, "tcp ", length);
        return;
    }
    LIT(job, "Flags [");
    if (p[13] == 0)
        LIT(job, "none");
    for (unsigned i = 0; i < 8; i++)
        if (p[13] & 1u << i)
            rtap_out_mem(o, &"FSRP.UEW"[i], 1);
    LIT(job, "]");
    if (hlen > s.size) {
        rtap_line_number(job, " [bad hdr length ", hlen);
        rtap_line_number(job, " - too long, > ", s.size);
        LIT(job, "]");
        return;
    }
    if (job->style->verbose > 0) {
        int ok = rtap_look_sum(job->pkt, &job->look, &is, &want);

        if (ok >= 0) {
            LIT(job, ", cksum 0x");
            rtap_out_hex(o, is, 4);
            if (ok) {
                LIT(job, " (correct)");
            } else {
                LIT(job, " (incorrect -> 0x");
                rtap_out_hex(o, want, 4);
                LIT(job, ")");
            }
        }
    }
    if (length > 0 || (p[13] & 7) != 0 || job->style->verbose > 1) {
        LIT(job, ", seq ");
        rtap_out_dec(o, rtap_be32(p + 4));
        if (length > 0) {
            LIT(job, ":");
            rtap_out_dec(o, rtap_be32(p + 4) + length);
        }
    }
    if (p[13] & 0x10) {
        LIT(job, ", ack ");
        rtap_out_dec(o, rtap_be32(p + 8));
    }
    LIT(job, ", win ");
    rtap_out_dec(o, rtap_be16(p + 14));
    if (p[13] & 0x20) {
        LIT(job, ", urg ");
        rtap_out_dec(o, rtap_be16(p + 18));
    }
    if (hlen > 20)
        put_tcp_options(job, p + 20, s.left - 20, hlen - 20);
    LIT(job, ", length ");
    rtap_out_dec(o, length);
    if (length > 0)
        rtap_line_above(job, (uint32_t)job->look.l4 + hlen, ": ");
}

static void put_udp(struct rtap_line_job *job, struct rtap_line_span s)
{
    uint32_t length;

    rtap_line_names(job, s.left >= 4 ? s.p : NULL);
    if (s.size < 8 && s.left >= 4) {
        rtap_line_number(job, "truncated-udp ", s.size);
        return;
    }
    if (s.left < 8) {
        CUT(job, "udp");
        return;
    }
    length = rtap_be16(s.p + 4);
    if (length == 0 && s.size > 0xffff)
        length = s.size;
    if (length < 8) {
        rtap_line_number(job, "truncated-udp length ", length);
        return;
    }
    /* as tcpdump: on IPv4 only for -vv */
    if (!job->style->quiet && job->style->verbose > (job->look.version == 4 ? 1 : 0) && !job->look.fragment) {
        uint16_t is, want;
        int ok = rtap_look_sum(job->pkt, &job->look, &is, &want);

        if (ok == 1) {
            LIT(job, "[udp sum ok] ");
        } else if (ok == 0) {
            LIT(job, "[bad udp cksum 0x");
            rtap_out_hex(&job->out, is, 4);
            LIT(job, " -> 0x");
            rtap_out_hex(&job->out, want, 4);
            LIT(job, "!] ");
        } else if (rtap_be16(s.p + 6) == 0) {
            LIT(job, "[no cksum] ");
        }
    }
    if (length > s.size && !job->look.fragment) {
        rtap_line_number(job, "UDP, bad length ", length - 8);
        rtap_line_number(job, " > ", s.size - 8);
        return;
    }
    if (rtap_line_above(job, (uint32_t)job->look.l4 + 8, ""))
        return;
    LIT(job, "UDP, length ");
    rtap_out_dec(&job->out, length - 8);
}

static void put_igmp(struct rtap_line_job *job, struct rtap_line_span s)
{
    struct rtap_out *o = &job->out;

    rtap_line_names(job, NULL);
    LIT(job, "igmp");
    if (job->style->quiet)
        return;
    if (s.left < 8) {
        CUT(job, "igmp");
        return;
    }
    switch (s.p[0]) {
    case 0x11:
        rtap_out_text(o, s.size >= 12 ? " query v3" : s.p[1] != 0 ? " query v2" : " query v1");
        if (s.p[1] != 100 && s.p[1] != 0) {
            rtap_line_number(job, " [max resp time ", s.p[1] / 10);
            rtap_line_number(job, ".", s.p[1] % 10);
            LIT(job, "s]");
        }
        if (rtap_be32(s.p + 4) != 0) {
            LIT(job, " [gaddr ");
            rtap_out_ip4(o, s.p + 4);
            LIT(job, "]");
        }
        break;
    case 0x12:
    case 0x16:
    case 0x17:
        rtap_out_text(o, s.p[0] == 0x12 ? " v1 report " : s.p[0] == 0x16 ? " v2 report " : " leave ");
        rtap_out_ip4(o, s.p + 4);
        break;
    case 0x22:
        rtap_line_number(job, " v3 report, ", rtap_be16(s.p + 6));
        LIT(job, " group record(s)");
        break;
    default: rtap_line_number(job, "-", s.p[0]); break;
    }
}

static void put_other(struct rtap_line_job *job, struct rtap_line_span s)
{
    static const char *const names[256] = {
        [IPPROTO_IPIP] = "IPIP", [IPPROTO_IPV6] = "IPv6", [IPPROTO_RSVP] = "RSVP",        [IPPROTO_GRE] = "GRE",
        [88] = "EIGRP",          [89] = "OSPF",           [IPPROTO_PIM] = "PIM",          [112] = "VRRP",
        [IPPROTO_DCCP] = "DCCP", [IPPROTO_SCTP] = "SCTP", [IPPROTO_UDPLITE] = "UDP-Lite", [IPPROTO_MH] = "mobility"};
    uint8_t proto = job->look.proto;
    bool ports = proto == IPPROTO_DCCP || proto == IPPROTO_SCTP || proto == IPPROTO_UDPLITE;

    rtap_line_names(job, ports && s.left >= 4 ? s.p : NULL);
    if (s.left > 0 && rtap_line_above(job, (uint32_t)job->look.l4, ""))
        return;
    if (proto == IPPROTO_ESP && s.left >= 8) {
        LIT(job, "ESP(spi=0x");
        rtap_out_hex(&job->out, rtap_be32(s.p), 8);
        LIT(job, ",seq=0x");
        rtap_out_hex(&job->out, rtap_be32(s.p + 4), 1);
        LIT(job, ")");
    } else if (proto == IPPROTO_ESP) {
        CUT(job, "esp");
        return;
    } else if (names[proto] == NULL) {
        rtap_line_number(job, "ip-proto-", proto);
        rtap_line_number(job, " ", s.size);
        return;
    } else {
        rtap_out_text(&job->out, names[proto]);
        if (proto == IPPROTO_GRE && s.left >= 2)
            rtap_line_number(job, "v", s.p[1] & 7u);
    }
    rtap_line_number(job, ", length ", s.size);
}

void rtap_line_transport(struct rtap_line_job *job)
{
    const struct rtap_look *look = &job->look;
    /* with the header cut off altogether p is never read, because left is 0 */
    struct rtap_line_span s = {.p = job->pkt->data};

    if (look->l4 >= 0) {
        s.p += look->l4;
        s.left = rtap_line_left(job, (uint32_t)look->l4);
        s.size = look->l3_end - (uint32_t)look->l4;
    }
    switch (look->proto) {
    case IPPROTO_ICMP: rtap_line_icmp(job, s); break;
    case IPPROTO_IGMP: put_igmp(job, s); break;
    case IPPROTO_TCP: put_tcp(job, s); break;
    case IPPROTO_UDP: put_udp(job, s); break;
    case IPPROTO_ICMPV6: rtap_line_icmp6(job, s); break;
    default: put_other(job, s); break;
    }
}
