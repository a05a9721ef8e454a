/*
 * The line printer's IPv4 and IPv6: lengths that don't fit, the block that -v asks for, extension headers by name.
 */
#include "line_parts.h"

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

static void put_address(struct rtap_line_job *job, enum rtap_line_field v4, enum rtap_line_field v6)
{
    const uint8_t *a = rtap_line_bytes(job, job->ip, v4, 4);

    if (a) {
        rtap_out_ip4(&job->out, a);
        return;
    }
    a = rtap_line_bytes(job, job->ip, v6, 16);
    if (a)
        rtap_out_ip6(&job->out, a);
}

void rtap_line_names(struct rtap_line_job *job, const struct rtap_layer *l, enum rtap_line_field from,
                     enum rtap_line_field to)
{
    bool ports = from != LF_COUNT, named = job->named;

    if (named && !ports)
        return;
    job->named = true;
    if (!named) {
        put_address(job, LF_IP_SRC, LF_IPV6_SRC);
        if (ports)
            LIT(job, ".");
    }
    if (ports)
        rtap_out_dec(&job->out, rtap_line_value(job, l, from));
    LIT(job, " > ");
    if (!named) {
        put_address(job, LF_IP_DST, LF_IPV6_DST);
        if (ports)
            LIT(job, ".");
    }
    if (ports)
        rtap_out_dec(&job->out, rtap_line_value(job, l, to));
    LIT(job, ": ");
}

static void no_ports(struct rtap_line_job *job)
{
    rtap_line_names(job, NULL, LF_COUNT, LF_COUNT);
}

/* ------------------------------------------------------------------ what -v adds */

struct options {
    struct rtap_line_job *job;
    unsigned count, depth;
    uint32_t start; /* of the option, in bits */
    bool open, complete;
};

static void put_option(struct options *s, uint32_t kind)
{
    static const struct {
        uint8_t kind;
        const char *name;
    } names[] = {{0, "EOL"},    {1, "NOP"},   {7, "RR"},     {68, "timestamp"}, {130, "security"},
                 {131, "LSRR"}, {136, "SID"}, {137, "SSRR"}, {148, "RA"}};

    if (s->count++ > 0)
        LIT(s->job, ",");
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (names[i].kind == kind) {
            rtap_out_text(&s->job->out, names[i].name);
            return;
        }
    rtap_line_number(s->job, "unknown ", kind);
}

static int visit_option(void *context, const struct rtap_item *it)
{
    struct options *s = context;
    const struct rtap_line_fields *f = s->job->fields;

    if (it->kind == RTAP_ITEM_LOOP) {
        s->depth++;
    } else if (it->kind == RTAP_ITEM_LOOP_END) {
        s->complete = --s->depth == 0;
        return s->complete;
    } else if (it->kind == RTAP_ITEM_ROUND && s->depth == 1) {
        s->start = it->bit;
        s->open = false;
    } else if (it->decl && it->decl->name == f->name[LN_IP_OPT_TYPE]) {
        put_option(s, (uint32_t)rtap_item_number(&s->job->ls, it));
        s->open = true;
    }
    return 0;
}

/* A number of the header at `bit` of the packet; 0 when that is behind its end. */
static uint32_t number_at(const struct rtap_line_job *job, const struct rtap_decl *d, uint32_t bit, uint32_t end)
{
    if (!d || bit + d->bits > end)
        return 0;
    return (uint32_t)rtap_decl_number(d, job->pkt->data, bit, d->bits);
}

/* Names only; one with a length that can't be, at which the walk stopped, ends the list. */
static void put_options(struct rtap_line_job *job, uint32_t hlen)
{
    struct options s = {.job = job, .start = job->ip->off * 8};
    const struct rtap_decl *type = job->fields->ip_opt_type, *length = job->fields->ip_opt_len;
    uint32_t end = (job->ip->off + hlen) * 8;

    LIT(job, ", options (");
    rtap_walk(&job->ls, job->ip, visit_option, &s, NULL);
    if (!s.complete) {
        if (!s.open)
            put_option(&s, number_at(job, type, s.start, end));
        rtap_line_number(job, " [bad length ", type ? number_at(job, length, s.start + type->bits, end) : 0);
        LIT(job, "]");
    }
    LIT(job, ")");
}

static void put_flags(struct rtap_line_job *job)
{
    static const struct {
        enum rtap_line_field field;
        const char *name;
    } flags[] = {{LF_IP_MF, "+"}, {LF_IP_DF, "DF"}, {LF_IP_RB, "rsvd"}};
    unsigned shown = 0;

    for (unsigned i = 0; i < 3; i++)
        if (rtap_line_value(job, job->ip, flags[i].field)) {
            if (shown++ > 0)
                LIT(job, ", ");
            rtap_out_text(&job->out, flags[i].name);
        }
    if (shown == 0)
        LIT(job, "none");
}

static void put_ipv4_block(struct rtap_line_job *job, uint32_t hlen, uint32_t total)
{
    static const char *const ecn[] = {"", ",ECT(1)", ",ECT(0)", ",CE"};
    const struct rtap_layer *l = job->ip;
    struct rtap_out *o = &job->out;
    uint32_t proto = rtap_line_value(job, l, LF_IP_PROTO), ttl = rtap_line_value(job, l, LF_IP_TTL), is, wanted;

    LIT(job, "(tos 0x");
    rtap_out_hex(o, rtap_line_value(job, l, LF_IP_TOS), 1);
    rtap_out_text(o, ecn[rtap_line_value(job, l, LF_IP_ECN) & 3]);
    if (ttl != 0)
        rtap_line_number(job, ", ttl ", ttl);
    rtap_line_number(job, ", id ", rtap_line_value(job, l, LF_IP_ID));
    rtap_line_number(job, ", offset ", rtap_line_value(job, l, LF_IP_OFFSET) * 8u);
    LIT(job, ", flags [");
    put_flags(job);
    LIT(job, "], proto ");
    rtap_out_text(o, protocol_name((uint8_t)proto));
    rtap_line_number(job, " (", proto);
    rtap_line_number(job, "), length ", total);
    if (hlen > 20 && rtap_line_captured(job, l) >= hlen)
        put_options(job, hlen);
    if (rtap_line_sum(job, job->ip, &is, &wanted) == 0) {
        LIT(job, ", bad cksum ");
        rtap_out_hex(o, is, 1);
        LIT(job, " (->");
        rtap_out_hex(o, wanted, 1);
        LIT(job, ")!");
    }
    LIT(job, ")\n    ");
}

static void put_ipv6_block(struct rtap_line_job *job)
{
    const struct rtap_layer *l = job->ip;
    struct rtap_out *o = &job->out;
    uint32_t class = rtap_line_value(job, l, LF_IPV6_CLASS), flow = rtap_line_value(job, l, LF_IPV6_FLOW);
    uint32_t next = rtap_line_value(job, l, LF_IPV6_NEXT);

    LIT(job, "(");
    if (class != 0) {
        LIT(job, "class 0x");
        rtap_out_hex(o, class, 2);
        LIT(job, ", ");
    }
    if (flow != 0) {
        LIT(job, "flowlabel 0x");
        rtap_out_hex(o, flow, 5);
        LIT(job, ", ");
    }
    rtap_line_number(job, "hlim ", rtap_line_value(job, l, LF_IPV6_HLIM));
    LIT(job, ", next-header ");
    rtap_out_text(o, protocol_name((uint8_t)next));
    rtap_line_number(job, " (", next);
    rtap_line_number(job, ") payload length: ", rtap_line_value(job, l, LF_IPV6_LEN));
    LIT(job, ") ");
}

/* ------------------------------------------------------------------ what follows */

struct chain {
    struct rtap_layer *l; /* the next layer, NULL: there is none */
    uint32_t number;      /* its protocol */
    uint32_t off, end;    /* where it begins, and where IP says that the packet ends;
                             from there on it may be cut off */
    bool v6;
};

static void step(struct rtap_line_job *job, struct chain *c, const struct rtap_layer *from, uint32_t number)
{
    unsigned next = rtap_line_index(job, from) + 1;

    c->l = next < job->ls.count ? &job->ls.at[next] : NULL;
    c->number = number;
    c->off = from->off + from->header;
}

/* These say whether all of it is there. */
static bool put_routing(struct rtap_line_job *job, struct rtap_layer *l)
{
    bool whole = rtap_line_whole(job, l);
    uint32_t left;

    if (!rtap_line_get(job, l, LF_ROUTING_LEFT, &left)) {
        CUT(job, "rt6");
        return false;
    }
    rtap_line_number(job, "RT6 (len=", rtap_line_value(job, l, LF_ROUTING_LEN));
    rtap_line_number(job, ", type=", rtap_line_value(job, l, LF_ROUTING_TYPE));
    rtap_line_number(job, ", segleft=", left);
    if (whole)
        LIT(job, ") ");
    else
        CUT(job, "rt6");
    return whole;
}

static bool put_ah(struct rtap_line_job *job, struct rtap_layer *l)
{
    bool whole = rtap_line_whole(job, l);
    struct rtap_item spi = {.decl = NULL};

    rtap_line_find(job, l, LN_AH_SPI, LN_AH_SPI, &spi);
    if (!spi.decl) {
        CUT(job, "ah");
        return false;
    }
    LIT(job, "AH(spi=0x");
    rtap_out_hex(&job->out, (uint32_t)rtap_item_number(&job->ls, &spi), 8);
    if (whole)
        LIT(job, "): ");
    else
        LIT(job, ", [|ah]");
    return whole;
}

/* false: it isn't the first one, so nothing follows. */
static bool put_fragment(struct rtap_line_job *job, const struct rtap_layer *l, uint32_t end)
{
    uint32_t offset = rtap_line_value(job, l, LF_FRAGMENT_OFFSET) * 8;

    if (job->style->verbose > 0) {
        LIT(job, "0x");
        rtap_out_hex(&job->out, rtap_line_value(job, l, LF_FRAGMENT_ID), 8);
        LIT(job, ":");
    }
    rtap_out_dec(&job->out, offset);
    rtap_line_number(job, "|", end - (l->off + l->header));
    LIT(job, ")");
    if (offset == 0)
        LIT(job, " ");
    return offset == 0;
}

/* Options: their header's name. */
static bool put_named(struct rtap_line_job *job, struct rtap_layer *l, const char *name, const char *cut)
{
    bool whole = rtap_line_whole(job, l);

    rtap_out_text(&job->out, whole ? name : cut);
    return whole;
}

/* One extension header; false: the line is complete. */
static bool put_extension(struct rtap_line_job *job, struct chain *c, enum rtap_line_proto kind)
{
    static const char *const cut[] = {[LP_HOPOPTS] = " [|hbhopt]",
                                      [LP_ROUTING] = " [|rt6]",
                                      [LP_FRAGMENT] = " [|frag6]",
                                      [LP_DSTOPTS] = " [|dstopt]",
                                      [LP_AH] = " [|ah]"};
    static const enum rtap_line_field next[] = {[LP_HOPOPTS] = LF_HOPOPTS_NEXT,
                                                [LP_ROUTING] = LF_ROUTING_NEXT,
                                                [LP_FRAGMENT] = LF_FRAGMENT_NEXT,
                                                [LP_DSTOPTS] = LF_DSTOPTS_NEXT,
                                                [LP_AH] = LF_AH_NEXT};
    struct rtap_layer *l = c->l;
    bool go_on;

    no_ports(job);
    if (!l || !rtap_line_is(job, l, kind)) {
        rtap_out_text(&job->out, job->ls.count == RTAP_LAYERS_MAX ? "[too many headers]" : cut[kind]);
        return false;
    }
    switch (kind) {
    case LP_HOPOPTS: go_on = put_named(job, l, "HBH ", cut[kind]); break;
    case LP_DSTOPTS: go_on = put_named(job, l, "DSTOPT ", cut[kind]); break;
    case LP_ROUTING: go_on = put_routing(job, l); break;
    case LP_FRAGMENT: go_on = put_named(job, l, "frag (", cut[kind]) && put_fragment(job, l, c->end); break;
    default: go_on = put_ah(job, l); break;
    }
    step(job, c, l, rtap_line_value(job, l, next[kind]));
    return go_on;
}

/* Extension headers by name, then the transport. */
static void put_chain(struct rtap_line_job *job, struct chain *c)
{
    const struct rtap_line_fields *f = job->fields;

    for (;;) {
        const struct rtap_proto *p = rtap_engine_lookup(job->style->engine, f->ip_proto, c->number);
        enum rtap_line_proto kind = LP_COUNT;

        if (c->number == IPPROTO_NONE) {
            no_ports(job);
            LIT(job, "no next header");
            return;
        }
        if (p && p == f->proto[LP_AH])
            kind = LP_AH;
        for (unsigned i = LP_HOPOPTS; p && c->v6 && i <= LP_DSTOPTS; i++)
            if (p == f->proto[i])
                kind = i;
        if (kind == LP_COUNT)
            break;
        if (!put_extension(job, c, kind))
            return;
    }
    rtap_line_transport(job, (struct rtap_line_span){c->l, c->number, c->end > c->off ? c->end - c->off : 0});
}

static void put_missing(struct rtap_line_job *job, const char *text, uint32_t end)
{
    if (end <= job->pkt->len)
        return;
    rtap_line_number(job, text, end - job->pkt->len);
    LIT(job, " bytes missing! ");
}

static void put_ipv4(struct rtap_line_job *job, struct rtap_layer *l)
{
    struct chain c;
    uint32_t hlen, total;

    if (!job->style->link)
        LIT(job, "IP ");
    if (!rtap_line_bytes(job, l, LF_IP_DST, 4)) {
        CUT(job, "ip");
        return;
    }
    hlen = rtap_line_value(job, l, LF_IP_HLEN);
    total = rtap_line_value(job, l, LF_IP_LEN);
    if (total == 0)
        total = job->pkt->len - l->off;
    if (hlen < 20) {
        rtap_line_number(job, "bad-hlen ", hlen);
        return;
    }
    if (total < hlen) {
        rtap_line_number(job, "bad-len ", total);
        return;
    }
    put_missing(job, "truncated-ip - ", l->off + total);
    if (job->style->verbose > 0)
        put_ipv4_block(job, hlen, total);
    if (rtap_line_value(job, l, LF_IP_OFFSET) != 0) {
        no_ports(job);
        rtap_line_number(job, "ip-proto-", rtap_line_value(job, l, LF_IP_PROTO));
        return;
    }
    step(job, &c, l, rtap_line_value(job, l, LF_IP_PROTO));
    c.off = l->off + hlen;
    c.end = l->off + total;
    c.v6 = false;
    put_chain(job, &c);
}

static void put_ipv6(struct rtap_line_job *job, struct rtap_layer *l)
{
    struct chain c;

    if (!job->style->link)
        LIT(job, "IP6 ");
    if (!rtap_line_bytes(job, l, LF_IPV6_DST, 16)) {
        CUT(job, "ip6");
        return;
    }
    step(job, &c, l, rtap_line_value(job, l, LF_IPV6_NEXT));
    c.end = l->end;
    c.v6 = true;
    if (c.l && rtap_line_is(job, c.l, LP_HOPOPTS) && rtap_line_value(job, l, LF_IPV6_LEN) == 0)
        c.end = c.l->end; /* that of a jumbogram */
    put_missing(job, "truncated-ip6 - ", c.end);
    if (job->style->verbose > 0)
        put_ipv6_block(job);
    put_chain(job, &c);
}

void rtap_line_ip(struct rtap_line_job *job, struct rtap_layer *l, bool v6)
{
    enum rtap_line_field field = v6 ? LF_IPV6_VERSION : LF_IP_VERSION;
    uint32_t version;

    if (!rtap_line_get(job, l, field, &version) && !rtap_line_read_as(job, l, field, &version))
        version = v6 ? 6 : 4; /* not even that was captured */
    if (version == (v6 ? 6 : 4)) {
        job->ip = l;
        if (v6)
            put_ipv6(job, l);
        else
            put_ipv4(job, l);
    } else if (v6) {
        if (!job->style->link)
            LIT(job, "IP6 ");
        rtap_line_number(job, "version error: ", version);
        LIT(job, " != 6");
    } else {
        rtap_line_number(job, "IP version ", version);
        LIT(job, " (invalid)");
    }
}
