/* The line printer's ICMP and ICMPv6: a table of messages, and what their texts take from the packet. */
#include "bytes.h"
#include "line_parts.h"

#include <netinet/in.h>

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
    {130, 2, "multicast listener query v2 [gaddr %g]"}, /* the code is ours, see rtap_line_icmp6 */
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
    if (proto == IPPROTO_TCP) {
        LIT(job, "tcp");
    } else if (proto == IPPROTO_UDP) {
        LIT(job, "udp");
    } else {
        rtap_line_number(job, "protocol ", proto);
    }
    rtap_line_number(job, " port ", rtap_be16(q + off + 2));
    return true;
}

/* One '%' of a message; false when what it wants is cut off. */
static bool put_part(struct rtap_line_job *job, struct rtap_line_span s, char what)
{
    static const uint8_t needs[128] = {['a'] = 8, ['e'] = 8, ['g'] = 24, ['h'] = 40, ['m'] = 8,  ['o'] = 5,
                                       ['r'] = 8, ['s'] = 6, ['w'] = 8,  ['d'] = 28, ['n'] = 28, ['p'] = 28};
    bool v4 = job->look.version == 4;
    const uint8_t *p = s.p;

    if (s.left < needs[(unsigned char)what] || (!v4 && (what == 'd' || what == 'p') && s.left < 48))
        return false;
    switch (what) {
    case 'a': rtap_out_ip4(&job->out, p + 4); return true;
    case 'c': rtap_out_dec(&job->out, p[1]); return true;
    case 'd':
        if (v4)
            rtap_out_ip4(&job->out, p + 8 + 16);
        else
            rtap_out_ip6(&job->out, p + 8 + 24);
        return true;
    case 'e':
        rtap_line_number(job, ", id ", rtap_be16(p + 4));
        rtap_line_number(job, ", seq ", rtap_be16(p + 6));
        return true;
    case 'g': rtap_out_ip6(&job->out, p + 8); return true;
    case 'h': rtap_out_ip6(&job->out, p + 24); return true;
    case 'm':
        if (rtap_be16(p + 6) != 0) {
            rtap_line_number(job, " (mtu ", rtap_be16(p + 6));
            LIT(job, ")");
        }
        return true;
    case 'n': rtap_out_dec(&job->out, p[8 + 9]); return true;
    case 'o': rtap_out_dec(&job->out, p[4]); return true;
    case 'p': return put_quoted_port(job, p + 8, s.left - 8);
    case 'r': rtap_out_dec(&job->out, rtap_be16(p + 6)); return true;
    case 's': rtap_out_dec(&job->out, rtap_be16(p + 4)); return true;
    case 't': rtap_out_dec(&job->out, p[0]); return true;
    default: rtap_out_dec(&job->out, rtap_be32(p + 4)); return true;
    }
}

/* `m` ends with a type of -1, which fits everything. False: cut off. */
static bool put_message(struct rtap_line_job *job, struct rtap_line_span s, const struct message *m, uint8_t code)
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

void rtap_line_icmp(struct rtap_line_job *job, struct rtap_line_span s)
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
    rtap_line_number(job, ", length ", s.size);
    if (job->style->verbose > 0 && rtap_look_sum(job->pkt, &job->look, &is, &want) == 0) {
        LIT(job, " (wrong icmp cksum ");
        rtap_out_hex(&job->out, is, 1);
        LIT(job, " (->");
        rtap_out_hex(&job->out, want, 1);
        LIT(job, ")!)");
    }
}

void rtap_line_icmp6(struct rtap_line_job *job, struct rtap_line_span s)
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
        rtap_line_number(job, ", length ", s.size);
    else
        CUT(job, "icmp6");
}
