/* The line printer's transports: UDP, IGMP, ESP; others by name and length. */
#include "line_parts.h"

#include <netinet/in.h>

static void no_ports(struct rtap_line_job *job)
{
    rtap_line_names(job, NULL, LF_COUNT, LF_COUNT);
}

/* As tcpdump: on IPv4 only for -vv. Fragments and lengths that can't be have none to check. */
static void put_udp_sum(struct rtap_line_job *job, struct rtap_layer *l, uint32_t length, uint32_t size)
{
    bool v4 = rtap_line_is(job, job->ip, LP_IP);
    uint32_t is, wanted, field;
    int ok;

    if (job->style->quiet || job->style->verbose <= (v4 ? 1 : 0) || l->flags & RTAP_LAYER_FRAGMENT)
        return;
    field = rtap_line_value(job, l, LF_UDP_SUM);
    ok = length > size ? -1 : rtap_line_sum(job, l, &is, &wanted);
    if (ok < 0 && field == 0 && !v4 && length <= size && wanted != 0)
        ok = 0; /* a sum of 0 is none, which IPv6 doesn't have */
    if (ok == 1) {
        LIT(job, "[udp sum ok] ");
    } else if (ok == 0) {
        LIT(job, "[bad udp cksum 0x");
        rtap_out_hex(&job->out, field, 4);
        LIT(job, " -> 0x");
        rtap_out_hex(&job->out, wanted, 4);
        LIT(job, "!] ");
    } else if (field == 0) {
        LIT(job, "[no cksum] ");
    }
}

static void put_udp(struct rtap_line_job *job, struct rtap_line_span s)
{
    uint32_t v, length;
    bool ports = rtap_line_get(job, s.l, LF_UDP_DPORT, &v);

    rtap_line_names(job, s.l, ports ? LF_UDP_SPORT : LF_COUNT, LF_UDP_DPORT);
    if (s.size < 8 && ports) {
        rtap_line_number(job, "truncated-udp ", s.size);
        return;
    }
    if (!rtap_line_get(job, s.l, LF_UDP_SUM, &v) || !rtap_line_get(job, s.l, LF_UDP_LENGTH, &length)) {
        CUT(job, "udp");
        return;
    }
    if (length == 0 && s.size > 0xffff)
        length = s.size;
    if (length < 8) {
        rtap_line_number(job, "truncated-udp length ", length);
        return;
    }
    put_udp_sum(job, s.l, length, s.size);
    if (length > s.size && !(s.l->flags & RTAP_LAYER_FRAGMENT)) {
        rtap_line_number(job, "UDP, bad length ", length - 8);
        rtap_line_number(job, " > ", s.size - 8);
        return;
    }
    if (rtap_line_above(job, rtap_line_index(job, s.l) + 1, ""))
        return;
    LIT(job, "UDP, length ");
    rtap_out_dec(&job->out, length - 8);
}

enum { VERSION, MAX_RESP, GROUP, RECORDS, IGMP_FIELDS };

static void put_igmp_query(struct rtap_line_job *job, const struct rtap_item *found, const uint8_t *group)
{
    uint32_t resp = found[MAX_RESP].decl ? (uint32_t)rtap_item_number(&job->ls, &found[MAX_RESP]) : 0;

    rtap_line_number(job, " query v", (uint64_t)rtap_item_number(&job->ls, &found[VERSION]));
    if (resp != 100 && resp != 0) {
        rtap_line_number(job, " [max resp time ", resp / 10);
        rtap_line_number(job, ".", resp % 10);
        LIT(job, "s]");
    }
    if (rtap_be32(group) != 0) {
        LIT(job, " [gaddr ");
        rtap_out_ip4(&job->out, group);
        LIT(job, "]");
    }
}

static void put_igmp(struct rtap_line_job *job, struct rtap_line_span s)
{
    struct rtap_item found[IGMP_FIELDS];
    const uint8_t *group = NULL;
    uint32_t type, n = 0;

    no_ports(job);
    LIT(job, "igmp");
    if (job->style->quiet)
        return;
    if (!s.l || !rtap_line_get(job, s.l, LF_IGMP_TYPE, &type)) {
        CUT(job, "igmp");
        return;
    }
    rtap_line_find(job, s.l, LN_IGMP_VERSION, LN_IGMP_RECORDS, found);
    if (found[GROUP].decl)
        group = rtap_item_bytes(&job->ls, &found[GROUP], &n);
    if (type == 0x22 && found[RECORDS].decl) {
        rtap_line_number(job, " v3 report, ", (uint64_t)rtap_item_number(&job->ls, &found[RECORDS]));
        LIT(job, " group record(s)");
    } else if (n == 4 && type == 0x11 && found[VERSION].decl) {
        put_igmp_query(job, found, group);
    } else if (n == 4 && (type == 0x12 || type == 0x16 || type == 0x17)) {
        rtap_out_text(&job->out, type == 0x12 ? " v1 report " : type == 0x16 ? " v2 report " : " leave ");
        rtap_out_ip4(&job->out, group);
    } else if (type == 0x11 || type == 0x12 || type == 0x16 || type == 0x17 || type == 0x22) {
        CUT(job, "igmp");
    } else {
        rtap_line_number(job, "-", type);
    }
}

static void put_esp(struct rtap_line_job *job, struct rtap_line_span s)
{
    uint32_t spi, sequence;

    no_ports(job);
    if (!rtap_line_get(job, s.l, LF_ESP_SPI, &spi) || !rtap_line_get(job, s.l, LF_ESP_SEQUENCE, &sequence)) {
        CUT(job, "esp");
        return;
    }
    LIT(job, "ESP(spi=0x");
    rtap_out_hex(&job->out, spi, 8);
    LIT(job, ",seq=0x");
    rtap_out_hex(&job->out, sequence, 1);
    rtap_line_number(job, "), length ", s.size);
}

static void put_other(struct rtap_line_job *job, struct rtap_line_span s)
{
    static const char *const names[256] = {
        [IPPROTO_IPIP] = "IPIP", [IPPROTO_IPV6] = "IPv6", [IPPROTO_RSVP] = "RSVP",        [IPPROTO_GRE] = "GRE",
        [88] = "EIGRP",          [89] = "OSPF",           [IPPROTO_PIM] = "PIM",          [112] = "VRRP",
        [IPPROTO_DCCP] = "DCCP", [IPPROTO_SCTP] = "SCTP", [IPPROTO_UDPLITE] = "UDP-Lite", [IPPROTO_MH] = "mobility"};
    static const enum rtap_line_field ports[] = {LF_SCTP_SPORT, LF_UDPLITE_SPORT, LF_DCCP_SPORT};
    enum rtap_line_field from = LF_COUNT;
    uint32_t v;

    for (unsigned i = 0; i < sizeof(ports) / sizeof(ports[0]); i++)
        if (rtap_line_get(job, s.l, ports[i] + 1, &v))
            from = ports[i];
    rtap_line_names(job, s.l, from, from + 1);
    if (s.l && rtap_line_above(job, rtap_line_index(job, s.l), ""))
        return;
    if (!names[s.number & 255]) {
        rtap_line_number(job, "ip-proto-", s.number);
        rtap_line_number(job, " ", s.size);
        return;
    }
    rtap_out_text(&job->out, names[s.number & 255]);
    if (rtap_line_get(job, s.l, LF_GRE_VERSION, &v))
        rtap_line_number(job, "v", v);
    rtap_line_number(job, ", length ", s.size);
}

void rtap_line_transport(struct rtap_line_job *job, struct rtap_line_span s)
{
    const struct rtap_line_fields *f = job->fields;
    const struct rtap_proto *p = s.l && s.l->proto->id != job->style->engine->data
                                     ? s.l->proto
                                     : rtap_engine_lookup(job->style->engine, f->ip_proto, s.number);

    if (p && p == f->proto[LP_UDP])
        put_udp(job, s);
    else if (p && p == f->proto[LP_TCP])
        rtap_line_tcp(job, s);
    else if (p && p == f->proto[LP_ICMP])
        rtap_line_icmp(job, s);
    else if (p && p == f->proto[LP_ICMPV6])
        rtap_line_icmp6(job, s);
    else if (p && p == f->proto[LP_IGMP])
        put_igmp(job, s);
    else if (p && p == f->proto[LP_ESP])
        put_esp(job, s);
    else
        put_other(job, s);
}
