/*
 * The line printer's transports: TCP and UDP in full, ICMP, ICMPv6 and IGMP by their messages, ESP, GRE and others by
 * name and length.
 */
#include "bytes.h"
#include "line_parts.h"

/* The bytes of the transport that may be read, and that it has by the IP length. */
struct span {
    const uint8_t *p;
    uint32_t left, size;
};

static void put_number(struct rtap_line_job *job, const char *text, uint64_t v)
{
    rtap_out_text(&job->out, text);
    rtap_out_dec(&job->out, v);
}

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
            put_number(job, "unknown-", p[0]);
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

static void put_tcp(struct rtap_line_job *job, struct span s)
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
        put_number(job, "tcp ", s.size - hlen);
        put_number(job, " [bad hdr length ", hlen);
        LIT(job, " - too short, < 20]");
        return;
    }
    length = hlen > s.size ? 0 : s.size - hlen;
    if (job->style->quiet) {
        put_number(job, "tcp ", length);
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
        put_number(job, " [bad hdr length ", hlen);
        put_number(job, " - too long, > ", s.size);
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
}

static void put_udp(struct rtap_line_job *job, struct span s)
{
    uint32_t length;

    rtap_line_names(job, s.left >= 4 ? s.p : NULL);
    if (s.size < 8 && s.left >= 4) {
        put_number(job, "truncated-udp ", s.size);
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
        put_number(job, "truncated-udp length ", length);
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
    if (length > s.size) {
        put_number(job, "UDP, bad length ", length - 8);
        put_number(job, " > ", s.size - 8);
        return;
    }
    LIT(job, "UDP, length ");
    rtap_out_dec(&job->out, length - 8);
}

/*
 * A message's text. '%' and a letter stand for something of the packet; q is the packet that it quotes:
 *   a IPv4 address at 4    c code           d q's destination            e identifier and sequence number
 *   g IPv6 address at 8    h and at 24      m MTU, unless 0              n q's protocol
 *   o byte at 4            p q's port       r 16 bits at 6    s at 4     t type
 *   w 32 bits at 4
 */
struct message {
    int16_t type, code; /* code -1: any */
    const char *text;
};

static const struct message icmp_messages[] = {
    {0, -1, "echo reply%e"},
    {3, 0, "net %d unreachable"},
    {3, 1, "host %d unreachable"},
    {3, 2, "%d protocol %n unreachable"},
    {3, 3, "%d %p unreachable"},
    {3, 4, "%d unreachable - need to frag%m"},
    {3, 5, "%d unreachable - source route failed"},
    {3, 6, "net %d unreachable - unknown"},
    {3, 7, "host %d unreachable - unknown"},
    {3, 8, "%d unreachable - source host isolated"},
    {3, 9, "net %d unreachable - admin prohibited"},
    {3, 10, "host %d unreachable - admin prohibited"},
    {3, 11, "net %d unreachable - tos prohibited"},
    {3, 12, "host %d unreachable - tos prohibited"},
    {3, 13, "host %d unreachable - admin prohibited filter"},
    {3, 14, "host %d unreachable - host precedence violation"},
    {3, 15, "host %d unreachable - precedence cutoff"},
    {3, -1, "%d unreachable - #%c"},
    {4, -1, "source quench"},
    {5, 0, "redirect %d to net %a"},
    {5, 1, "redirect %d to host %a"},
    {5, 2, "redirect-tos %d to net %a"},
    {5, 3, "redirect-tos %d to host %a"},
    {5, -1, "redirect-#%c %d to %a"},
    {8, -1, "echo request%e"},
    {9, -1, "router advertisement"},
    {10, -1, "router solicitation"},
    {11, 0, "time exceeded in-transit"},
    {11, 1, "ip reassembly time exceeded"},
    {11, -1, "time exceeded-#%c"},
    {12, 0, "parameter problem - octet %o"},
    {12, -1, "parameter problem - code %c"},
    {13, -1, "time stamp query%e"},
    {14, -1, "time stamp reply%e"},
    {15, -1, "information request"},
    {16, -1, "information reply"},
    {17, -1, "address mask request"},
    {18, -1, "address mask reply"},
    {-1, -1, "type-#%t"},
};

static const struct message icmp6_messages[] = {
    {1, 0, "destination unreachable, unreachable route %d"},
    {1, 1, "destination unreachable, unreachable prohibited %d"},
    {1, 2, "destination unreachable, beyond scope %d"},
    {1, 3, "destination unreachable, unreachable address %d"},
    {1, 4, "destination unreachable, unreachable port, %d %p"},
    {1, -1, "destination unreachable, unknown unreach code (%c)"},
    {2, -1, "packet too big, mtu %w"},
    {3, 0, "time exceeded in-transit for %d"},
    {3, 1, "time exceeded in-transit (reassembly)"},
    {3, -1, "time exceeded in-transit, unknown code (%c)"},
    {4, 0, "parameter problem, erroneous - octet %w"},
    {4, 1, "parameter problem, next header - octet %w"},
    {4, 2, "parameter problem, option - octet %w"},
    {4, 3, "parameter problem, incomplete header chain - octet %w"},
    {4, -1, "parameter problem, code-#%c"},
    {128, -1, "echo request%e"},
    {129, -1, "echo reply%e"},
    {130, 2, "multicast listener query v2 [gaddr %g]"}, /* the code is ours, see put_icmp6 */
    {130, -1, "multicast listener query max resp delay: %s addr: %g"},
    {131, -1, "multicast listener report max resp delay: %s addr: %g"},
    {132, -1, "multicast listener done max resp delay: %s addr: %g"},
    {133, -1, "router solicitation"},
    {134, -1, "router advertisement"},
    {135, -1, "neighbor solicitation, who has %g"},
    {136, -1, "neighbor advertisement, tgt is %g"},
    {137, -1, "redirect, %h to %g"},
    {143, -1, "multicast listener report v2, %r group record(s)"},
    {155, -1, "RPL"},
    {-1, -1, "unknown icmp6 type (%t)"},
};

/* "udp port 53": of a packet quoted at q, of which n bytes are there. */
static bool put_quoted_port(struct rtap_line_job *job, const uint8_t *q, uint32_t n)
{
    uint32_t off = job->look.version == 4 ? (q[0] & 15) * 4u : 40;
    uint8_t proto = q[job->look.version == 4 ? 9 : 6];

    if (n < off + 4)
        return false;
    if (proto == 6) {
        LIT(job, "tcp");
    } else if (proto == 17) {
        LIT(job, "udp");
    } else {
        put_number(job, "protocol ", proto);
    }
    put_number(job, " port ", rtap_be16(q + off + 2));
    return true;
}

/* One '%' of a message; false when what it wants is cut off. */
static bool put_part(struct rtap_line_job *job, struct span s, char what)
{
    static const uint8_t needs[128] = {['a'] = 8, ['e'] = 8, ['g'] = 24, ['h'] = 40, ['m'] = 8,  ['o'] = 5,
                                       ['r'] = 8, ['s'] = 6, ['w'] = 8,  ['d'] = 28, ['n'] = 28, ['p'] = 28};
    bool v4 = job->look.version == 4;
    const uint8_t *p = s.p;

    if (s.left < needs[(unsigned char)what] || (!v4 && (what == 'd' || what == 'p') && s.left < 48))
        return false;
    switch (what) {
    case 'a':
        rtap_out_ip4(&job->out, p + 4);
        return true;
    case 'c':
        rtap_out_dec(&job->out, p[1]);
        return true;
    case 'd':
        if (v4)
            rtap_out_ip4(&job->out, p + 8 + 16);
        else
            rtap_out_ip6(&job->out, p + 8 + 24);
        return true;
    case 'e':
        put_number(job, ", id ", rtap_be16(p + 4));
        put_number(job, ", seq ", rtap_be16(p + 6));
        return true;
    case 'g':
        rtap_out_ip6(&job->out, p + 8);
        return true;
    case 'h':
        rtap_out_ip6(&job->out, p + 24);
        return true;
    case 'm':
        if (rtap_be16(p + 6) != 0) {
            put_number(job, " (mtu ", rtap_be16(p + 6));
            LIT(job, ")");
        }
        return true;
    case 'n':
        rtap_out_dec(&job->out, p[8 + 9]);
        return true;
    case 'o':
        rtap_out_dec(&job->out, p[4]);
        return true;
    case 'p':
        return put_quoted_port(job, p + 8, s.left - 8);
    case 'r':
        rtap_out_dec(&job->out, rtap_be16(p + 6));
        return true;
    case 's':
        rtap_out_dec(&job->out, rtap_be16(p + 4));
        return true;
    case 't':
        rtap_out_dec(&job->out, p[0]);
        return true;
    default:
        rtap_out_dec(&job->out, rtap_be32(p + 4));
        return true;
    }
}

/* `m` ends with a type of -1, which fits everything. False: cut off. */
static bool put_message(struct rtap_line_job *job, struct span s, const struct message *m, uint8_t code)
{
    while (m->type >= 0 && (m->type != s.p[0] || (m->code >= 0 && m->code != code)))
        m++;
    for (const char *t = m->text; *t != '\0';) {
        size_t n = strcspn(t, "%");

        rtap_out_mem(&job->out, t, n);
        t += n;
        if (*t == '\0')
            break;
        if (!put_part(job, s, t[1]))
            return false;
        t += 2;
    }
    return true;
}

static void put_icmp(struct rtap_line_job *job, struct span s)
{
    uint16_t is, want;

    rtap_line_names(job, NULL);
    if (s.left < 4) {
        CUT(job, "icmp");
        return;
    }
    LIT(job, "ICMP ");
    if (!put_message(job, s, icmp_messages, s.p[1])) {
        CUT(job, "icmp");
        return;
    }
    put_number(job, ", length ", s.size);
    if (job->style->verbose > 0 && rtap_look_sum(job->pkt, &job->look, &is, &want) == 0) {
        LIT(job, " (wrong icmp cksum ");
        rtap_out_hex(&job->out, is, 1);
        LIT(job, " (->");
        rtap_out_hex(&job->out, want, 1);
        LIT(job, ")!)");
    }
}

static void put_icmp6(struct rtap_line_job *job, struct span s)
{
    uint16_t is, want;

    rtap_line_names(job, NULL);
    if (s.left < 4) {
        CUT(job, "icmp6");
        return;
    }
    if (job->style->verbose > 0) {
        int ok = rtap_look_sum(job->pkt, &job->look, &is, &want);

        if (ok == 1) {
            LIT(job, "[icmp6 sum ok] ");
        } else if (ok == 0) {
            LIT(job, "[bad icmp6 cksum 0x");
            rtap_out_hex(&job->out, is, 4);
            LIT(job, " -> 0x");
            rtap_out_hex(&job->out, want, 4);
            LIT(job, "!] ");
        }
    }
    LIT(job, "ICMP6, ");
    /* a listener query is of version 2 by its length */
    if (put_message(job, s, icmp6_messages, s.p[0] == 130 && s.size >= 28 ? 2 : s.p[1]))
        put_number(job, ", length ", s.size);
    else
        CUT(job, "icmp6");
}

static void put_igmp(struct rtap_line_job *job, struct span s)
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
            put_number(job, " [max resp time ", s.p[1] / 10);
            put_number(job, ".", s.p[1] % 10);
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
        put_number(job, " v3 report, ", rtap_be16(s.p + 6));
        LIT(job, " group record(s)");
        break;
    default:
        put_number(job, "-", s.p[0]);
        break;
    }
}

static void put_other(struct rtap_line_job *job, struct span s)
{
    static const char *const names[256] = {
        [4] = "IPIP",  [41] = "IPv6",  [46] = "RSVP", [47] = "GRE",   [88] = "EIGRP",     [89] = "OSPF",
        [103] = "PIM", [112] = "VRRP", [33] = "DCCP", [132] = "SCTP", [136] = "UDP-Lite", [135] = "mobility"};
    uint8_t proto = job->look.proto;
    bool ports = proto == 33 || proto == 132 || proto == 136;

    rtap_line_names(job, ports && s.left >= 4 ? s.p : NULL);
    if (proto == 50 && s.left >= 8) {
        LIT(job, "ESP(spi=0x");
        rtap_out_hex(&job->out, rtap_be32(s.p), 8);
        LIT(job, ",seq=0x");
        rtap_out_hex(&job->out, rtap_be32(s.p + 4), 1);
        LIT(job, ")");
    } else if (proto == 50) {
        CUT(job, "esp");
        return;
    } else if (names[proto] == NULL) {
        put_number(job, "ip-proto-", proto);
        put_number(job, " ", s.size);
        return;
    } else {
        rtap_out_text(&job->out, names[proto]);
        if (proto == 47 && s.left >= 2)
            put_number(job, "v", s.p[1] & 7u);
    }
    put_number(job, ", length ", s.size);
}

void rtap_line_transport(struct rtap_line_job *job)
{
    const struct rtap_look *look = &job->look;
    /* with the header cut off altogether p is never read, because left is 0 */
    struct span s = {.p = job->pkt->data};

    if (look->l4 >= 0) {
        s.p += look->l4;
        s.left = rtap_line_left(job, (uint32_t)look->l4);
        s.size = look->l3_end - (uint32_t)look->l4;
    }
    switch (look->proto) {
    case 1:
        put_icmp(job, s);
        break;
    case 2:
        put_igmp(job, s);
        break;
    case 6:
        put_tcp(job, s);
        break;
    case 17:
        put_udp(job, s);
        break;
    case 58:
        put_icmp6(job, s);
        break;
    default:
        put_other(job, s);
        break;
    }
}
