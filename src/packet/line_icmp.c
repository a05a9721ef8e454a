/* The line printer's ICMP and ICMPv6: a table of messages, and what their texts take from the packet. */
#include "line_parts.h"

#include <netinet/in.h>

/*
 * A message's text. '%' and a letter stand for a field; q is the packet that it quotes:
 *   a gateway              c code           d q's destination            e identifier and sequence number
 *   g target or group      h destination    m MTU, unless 0              n q's protocol
 *   o pointer              p q's port       r number of records          s maximum response delay
 *   t type                 w MTU or pointer (of ICMPv6)
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
    {130, 2, "multicast listener query v2 [gaddr %g]"}, /* the code is ours, see
                                                           rtap_line_icmp6 */
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

enum { NAMES = LN_ICMPV6_RECORDS - LN_ICMPV6_CODE + 1 };

struct icmp {
    struct rtap_line_job *job;
    struct rtap_line_span s;
    bool v4;
    uint32_t type, code;
    struct rtap_layer *quoted;     /* IP, or NULL */
    struct rtap_item found[NAMES]; /* by name, from LN_ICMP_CODE or LN_ICMPV6_CODE on */
};

static const struct rtap_item *found(const struct icmp *m, enum rtap_line_name name)
{
    const struct rtap_item *it = &m->found[name - (m->v4 ? LN_ICMP_CODE : LN_ICMPV6_CODE)];

    return it->decl ? it : NULL;
}

/* The number of a field with `before` in front; false: it isn't there. */
static bool put_number(const struct icmp *m, const char *before, enum rtap_line_name name)
{
    const struct rtap_item *it = found(m, name);

    if (it)
        rtap_line_number(m->job, before, (uint64_t)rtap_item_number(&m->job->ls, it));
    return it;
}

static bool put_ip4(struct rtap_line_job *job, const uint8_t *a)
{
    if (a)
        rtap_out_ip4(&job->out, a);
    return a;
}

static bool put_ip6(struct rtap_line_job *job, const uint8_t *a)
{
    if (a)
        rtap_out_ip6(&job->out, a);
    return a;
}

/* An address that is one of the fields first ... last. */
static bool put_address(const struct icmp *m, enum rtap_line_name first, enum rtap_line_name last)
{
    for (enum rtap_line_name name = first; name <= last; name++) {
        const struct rtap_item *it = found(m, name);
        uint32_t n;
        const uint8_t *a = it ? rtap_item_bytes(&m->job->ls, it, &n) : NULL;

        if (a && n == (m->v4 ? 4 : 16))
            return m->v4 ? put_ip4(m->job, a) : put_ip6(m->job, a);
    }
    return false;
}

/* "udp port 53": of the packet that is quoted. */
static bool put_quoted_port(const struct icmp *m)
{
    struct rtap_line_job *job = m->job;
    unsigned next = m->quoted ? rtap_line_index(job, m->quoted) + 1 : job->ls.count;
    const struct rtap_layer *l = next < job->ls.count ? &job->ls.at[next] : NULL;
    uint32_t port;

    if (!rtap_line_get(job, l, LF_TCP_DPORT, &port) && !rtap_line_get(job, l, LF_UDP_DPORT, &port)) {
        if (!rtap_line_read_as(job, l, LF_UDP_DPORT, &port)) /* nearly all have it there */
            return false;
        rtap_line_number(job, "protocol ", rtap_line_value(job, m->quoted, m->v4 ? LF_IP_PROTO : LF_IPV6_NEXT));
    } else if (rtap_line_is(job, l, LP_TCP)) {
        LIT(job, "tcp");
    } else {
        LIT(job, "udp");
    }
    rtap_line_number(job, " port ", port);
    return true;
}

static bool put_mtu(const struct icmp *m)
{
    const struct rtap_item *it = found(m, LN_ICMP_MTU);

    if (it && rtap_item_number(&m->job->ls, it) != 0) {
        put_number(m, " (mtu ", LN_ICMP_MTU);
        LIT(m->job, ")");
    }
    return it;
}

/* One '%' of a message; false when what it wants isn't there. */
static bool put_part(const struct icmp *m, char what)
{
    struct rtap_line_job *job = m->job;
    uint32_t v;

    switch (what) {
    case 'a': return put_address(m, LN_ICMP_GATEWAY, LN_ICMP_GATEWAY);
    case 'c': rtap_out_dec(&job->out, m->code); return true;
    case 'd':
        return m->v4 ? put_ip4(job, rtap_line_bytes(job, m->quoted, LF_IP_DST, 4))
                     : put_ip6(job, rtap_line_bytes(job, m->quoted, LF_IPV6_DST, 16));
    case 'e':
        return found(m, m->v4 ? LN_ICMP_SEQ : LN_ICMPV6_SEQ) &&
               put_number(m, ", id ", m->v4 ? LN_ICMP_IDENT : LN_ICMPV6_IDENT) &&
               put_number(m, ", seq ", m->v4 ? LN_ICMP_SEQ : LN_ICMPV6_SEQ);
    case 'g':
        return put_address(m, LN_ICMPV6_NS_TARGET, LN_ICMPV6_RD_TARGET) ||
               put_address(m, LN_ICMPV6_GROUP, LN_ICMPV6_GROUP);
    case 'h': return put_address(m, LN_ICMPV6_RD_DST, LN_ICMPV6_RD_DST);
    case 'm': return put_mtu(m);
    case 'n':
        if (!rtap_line_get(job, m->quoted, LF_IP_PROTO, &v))
            return false;
        rtap_out_dec(&job->out, v);
        return true;
    case 'o': return put_number(m, "", LN_ICMP_POINTER);
    case 'p': return put_quoted_port(m);
    case 'r': return put_number(m, "", LN_ICMPV6_RECORDS);
    case 's': return put_number(m, "", LN_ICMPV6_DELAY);
    case 't': rtap_out_dec(&job->out, m->type); return true;
    default: return put_number(m, "", LN_ICMPV6_MTU) || put_number(m, "", LN_ICMPV6_POINTER);
    }
}

/* `list` ends with a type of -1, which fits everything. False: cut off. */
static bool put_message(const struct icmp *m, const struct message *list, uint32_t code)
{
    while (list->type >= 0 && ((uint32_t)list->type != m->type || (list->code >= 0 && (uint32_t)list->code != code)))
        list++;
    for (const char *t = list->text; *t != '\0';) {
        size_t n = strcspn(t, "%");

        rtap_out_mem(&m->job->out, t, n);
        t += n;
        if (*t == '\0')
            break;
        if (!put_part(m, t[1]))
            return false;
        t += 2;
    }
    return true;
}

/* False: it is cut off. */
static bool begin(struct icmp *m, struct rtap_line_job *job, struct rtap_line_span s, bool v4)
{
    uint32_t v;
    unsigned next;

    m->job = job;
    m->s = s;
    m->v4 = v4;
    m->quoted = NULL;
    rtap_line_names(job, NULL, LF_COUNT, LF_COUNT);
    if (!rtap_line_get(job, s.l, v4 ? LF_ICMP_TYPE : LF_ICMPV6_TYPE, &m->type) ||
        !rtap_line_get(job, s.l, v4 ? LF_ICMP_SUM : LF_ICMPV6_SUM, &v))
        return false;
    rtap_line_find(job, s.l, v4 ? LN_ICMP_CODE : LN_ICMPV6_CODE, v4 ? LN_ICMP_POINTER : LN_ICMPV6_RECORDS, m->found);
    m->code = m->found[0].decl ? (uint32_t)rtap_item_number(&job->ls, &m->found[0]) : 0;
    next = rtap_line_index(job, s.l) + 1;
    if (next < job->ls.count && rtap_line_is(job, &job->ls.at[next], v4 ? LP_IP : LP_IPV6))
        m->quoted = &job->ls.at[next];
    return true;
}

void rtap_line_icmp(struct rtap_line_job *job, struct rtap_line_span s)
{
    uint32_t is, wanted;
    struct icmp m;

    if (!begin(&m, job, s, true)) {
        CUT(job, "icmp");
        return;
    }
    LIT(job, "ICMP ");
    if (!put_message(&m, icmp_messages, m.code)) {
        CUT(job, "icmp");
        return;
    }
    rtap_line_number(job, ", length ", s.size);
    if (job->style->verbose > 0 && rtap_line_is(job, job->ip, LP_IP) && rtap_line_sum(job, s.l, &is, &wanted) == 0) {
        LIT(job, " (wrong icmp cksum ");
        rtap_out_hex(&job->out, is, 1);
        LIT(job, " (->");
        rtap_out_hex(&job->out, wanted, 1);
        LIT(job, ")!)");
    }
}

static void put_sum6(struct rtap_line_job *job, struct rtap_layer *l)
{
    uint32_t is, wanted;
    int ok = rtap_line_sum(job, l, &is, &wanted);

    if (ok == 1) {
        LIT(job, "[icmp6 sum ok] ");
    } else if (ok == 0) {
        LIT(job, "[bad icmp6 cksum 0x");
        rtap_out_hex(&job->out, is, 4);
        LIT(job, " -> 0x");
        rtap_out_hex(&job->out, wanted, 4);
        LIT(job, "!] ");
    }
}

void rtap_line_icmp6(struct rtap_line_job *job, struct rtap_line_span s)
{
    struct icmp m;

    if (!begin(&m, job, s, false)) {
        CUT(job, "icmp6");
        return;
    }
    if (job->style->verbose > 0 && rtap_line_is(job, job->ip, LP_IPV6))
        put_sum6(job, s.l);
    LIT(job, "ICMP6, ");
    /* a listener query of version 2 has a code for its delay */
    if (put_message(&m, icmp6_messages, m.type == 130 && found(&m, LN_ICMPV6_RESPONSE) ? 2 : m.code))
        rtap_line_number(job, ", length ", s.size);
    else
        CUT(job, "icmp6");
}
