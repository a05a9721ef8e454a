/* The line printer's link layers (for -e, and for what has nothing above them that could be shown) and ARP. */
#include "line_parts.h"

#include <linux/if_ether.h>

const char *rtap_line_direction(const struct rtap_line_job *job)
{
    static const char *const names[] = {"In", "B", "M", "P", "Out"};
    const struct rtap_layer *l = job->ls.count ? &job->ls.at[0] : NULL;
    uint32_t flags = job->pkt->epb_flags, type = 5;

    if (!rtap_line_get(job, l, LF_SLL_DIRECTION, &type) && !rtap_line_get(job, l, LF_SLL2_DIRECTION, &type)) {
        if ((flags & RTAP_EPB_DIRECTION) == RTAP_EPB_OUTBOUND)
            type = 4;
        else if ((flags & RTAP_EPB_RECEPTION) >= RTAP_EPB_MULTICAST)
            type = (flags & RTAP_EPB_RECEPTION) == RTAP_EPB_MULTICAST   ? 2
                   : (flags & RTAP_EPB_RECEPTION) == RTAP_EPB_BROADCAST ? 1
                                                                        : 3;
        else if ((flags & RTAP_EPB_DIRECTION) == RTAP_EPB_INBOUND)
            type = 0;
    }
    return type < sizeof(names) / sizeof(names[0]) ? names[type] : "?";
}

/* "IPv4 (0x0800)", or with -q the name alone. */
static void put_type(struct rtap_line_job *job, uint16_t type)
{
    static const struct {
        uint16_t type;
        const char *name;
    } names[] = {
        {0x0800, "IPv4"},
        {0x86dd, "IPv6"},
        {0x0806, "ARP"},
        {0x8035, "Reverse ARP"},
        {0x8100, "802.1Q"},
        {0x88a8, "802.1Q-QinQ"},
        {0x9100, "802.1Q-9100"},
        {0x6558, "TEB"},
        {0x8847, "MPLS unicast"},
        {0x8848, "MPLS multicast"},
        {0x8863, "PPPoE D"},
        {0x8864, "PPPoE S"},
        {0x88cc, "LLDP"},
        {0x888e, "EAPOL"},
        {0x88e5, "802.1AE MACsec"},
        {0x88f7, "PTP"},
        {0x8809, "Slow Protocols"},
        {0x9000, "Loopback"},
    };
    const char *name = NULL;

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && name == NULL; i++)
        if (names[i].type == type)
            name = names[i].name;
    if (!job->style->quiet)
        LIT(job, "ethertype ");
    if (name != NULL)
        rtap_out_text(&job->out, name);
    else if (job->style->quiet)
        LIT(job, "Unknown Ethertype");
    else
        LIT(job, "Unknown");
    if (!job->style->quiet || name == NULL) {
        LIT(job, " (0x");
        rtap_out_hex(&job->out, type, 4);
        LIT(job, ")");
    }
}

static void put_length(struct rtap_line_job *job)
{
    LIT(job, ", length ");
    rtap_out_dec(&job->out, job->pkt->len);
}

/* ------------------------------------------------------------------ what follows */

static uint32_t found_number(struct rtap_line_job *job, struct rtap_layer *l, enum rtap_line_name name)
{
    struct rtap_item it = {.decl = NULL};

    rtap_line_find(job, l, name, name, &it);
    return it.decl ? (uint32_t)rtap_item_number(&job->ls, &it) : UINT32_MAX;
}

/* The EtherType in a layer that has one; false: something else is there. */
static bool ethertype(const struct rtap_line_job *job, const struct rtap_layer *l, uint32_t *type)
{
    static const enum rtap_line_field fields[] = {LF_ETH_TYPE, LF_VLAN_TYPE, LF_AD_TYPE,  LF_SLL_TYPE,
                                                  LF_SLL_GRE,  LF_SLL2_TYPE, LF_SLL2_GRE, LF_ETH_NEITHER};

    for (unsigned i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
        if (rtap_line_get(job, l, fields[i], type))
            return true;
    return false;
}

const struct rtap_proto *rtap_line_promised(struct rtap_line_job *job)
{
    const struct rtap_engine *e = job->style->engine;
    const struct rtap_line_fields *f = job->fields;
    struct rtap_layer *l = job->inner > 0 ? &job->ls.at[job->inner - 1] : NULL;
    uint32_t key;

    if (job->ls.count == 0)
        return rtap_engine_lookup(e, e->table_link, job->pkt->linktype);
    if (!l)
        return job->ls.at[0].proto;
    if (ethertype(job, l, &key))
        return rtap_engine_lookup(e, f->ethertype, key);
    if (rtap_line_is(job, l, LP_NULL)) { /* a family; with some hosts an EtherType */
        key = found_number(job, l, LN_NULL_TYPE);
        return key != UINT32_MAX ? rtap_engine_lookup(e, f->ethertype, key)
                                 : rtap_engine_lookup(e, f->null_type, found_number(job, l, LN_NULL_FAMILY));
    }
    if (rtap_line_is(job, l, LP_PPP))
        return rtap_engine_lookup(e, f->ppp_protocol, found_number(job, l, LN_PPP_PROTOCOL));
    return NULL;
}

const char *rtap_line_link_cut(struct rtap_line_job *job)
{
    static const char *const marks[] = {[LP_ETH] = " [|ether]",
                                        [LP_SLL] = " [|sll]",
                                        [LP_SLL2] = " [|sll2]",
                                        [LP_NULL] = " [|null]",
                                        [LP_PPP] = " [|ppp]"};
    const struct rtap_proto *p =
        job->ls.count ? job->ls.at[0].proto
                      : rtap_engine_lookup(job->style->engine, job->style->engine->table_link, job->pkt->linktype);

    struct rtap_layer *l = job->ls.count ? &job->ls.at[0] : NULL;

    if (l &&
        (rtap_line_is(job, l, LP_PPP) ? found_number(job, l, LN_PPP_PROTOCOL) != UINT32_MAX : rtap_line_whole(job, l)))
        return NULL;
    for (unsigned i = 0; p && i < sizeof(marks) / sizeof(marks[0]); i++)
        if (p == job->fields->proto[i])
            return marks[i];
    return NULL;
}

/* ------------------------------------------------------------------ the headers */

static void put_ethernet(struct rtap_line_job *job, const struct rtap_layer *l)
{
    const uint8_t *src = rtap_line_bytes(job, l, LF_ETH_SRC, 6), *dst = rtap_line_bytes(job, l, LF_ETH_DST, 6);
    uint32_t type;

    if (src && dst) {
        rtap_out_mac(&job->out, src, 6);
        LIT(job, " > ");
        rtap_out_mac(&job->out, dst, 6);
        LIT(job, ", ");
    }
    if (!ethertype(job, l, &type)) {
        rtap_line_number(job, "802.3, length ", rtap_line_value(job, l, LF_ETH_LEN));
        return;
    }
    put_type(job, (uint16_t)type);
    put_length(job);
}

static void put_cooked(struct rtap_line_job *job, const struct rtap_layer *l)
{
    bool two = rtap_line_is(job, l, LP_SLL2);
    enum rtap_line_field address = two ? LF_SLL2_SRC : LF_SLL_SRC;
    const uint8_t *src = rtap_line_bytes(job, l, address, 6);
    const char *direction = rtap_line_direction(job);
    uint32_t type;

    if (two) {
        rtap_line_number(job, "ifindex ", rtap_line_value(job, l, LF_SLL2_INDEX));
        LIT(job, " ");
    } else if (!job->style->interface) {
        for (size_t n = strlen(direction); n < 3; n++)
            LIT(job, " ");
        rtap_out_text(&job->out, direction);
        LIT(job, " ");
    }
    if (src && rtap_line_get(job, l, address, &type)) { /* its length is 6 */
        rtap_out_mac(&job->out, src, 6);
        LIT(job, " ");
    }
    if (ethertype(job, l, &type)) {
        put_type(job, (uint16_t)type);
    } else {
        type = rtap_line_value(job, l, two ? LF_SLL2_FAMILY : LF_SLL_FAMILY);
        if (type == 1 || type == 4)
            LIT(job, "802.3");
        else
            put_type(job, (uint16_t)type);
    }
    put_length(job);
}

static void put_loopback(struct rtap_line_job *job, struct rtap_layer *l)
{
    const struct rtap_proto *next = rtap_line_promised(job);
    uint32_t family = found_number(job, l, LN_NULL_FAMILY), type = found_number(job, l, LN_NULL_TYPE);

    if (type != UINT32_MAX && next) {
        put_type(job, (uint16_t)type);
        put_length(job);
        return;
    }
    if (type != UINT32_MAX)
        family = type;
    LIT(job, "AF ");
    rtap_out_text(&job->out, !next                                 ? "Unknown"
                             : next == job->fields->proto[LP_IP]   ? "IPv4"
                             : next == job->fields->proto[LP_IPV6] ? "IPv6"
                                                                   : "Unknown");
    rtap_line_number(job, " (", family == UINT32_MAX ? 0 : family);
    LIT(job, ")");
    put_length(job);
}

static void put_ppp(struct rtap_line_job *job)
{
    const struct rtap_proto *next = rtap_line_promised(job);

    rtap_out_text(&job->out, !next                                 ? "PPP"
                             : next == job->fields->proto[LP_IP]   ? "IP (0x0021)"
                             : next == job->fields->proto[LP_IPV6] ? "IP6 (0x0057)"
                                                                   : "PPP");
    put_length(job);
}

/* false: it is cut off. */
static bool put_tag(struct rtap_line_job *job, struct rtap_layer *l, bool first)
{
    bool ad = rtap_line_is(job, l, LP_AD), typed;
    uint32_t type;

    typed = ethertype(job, l, &type);
    if (!typed && !rtap_line_get(job, l, ad ? LF_AD_LEN : LF_VLAN_LEN, &type))
        return false;
    rtap_line_number(job, first ? ": vlan " : ", vlan ", rtap_line_value(job, l, ad ? LF_AD_ID : LF_VLAN_ID));
    rtap_line_number(job, ", p ", rtap_line_value(job, l, ad ? LF_AD_PRIORITY : LF_VLAN_PRIORITY));
    if (rtap_line_value(job, l, ad ? LF_AD_DEI : LF_VLAN_DEI))
        LIT(job, ", DEI");
    LIT(job, ", ");
    if (typed)
        put_type(job, (uint16_t)type);
    else
        LIT(job, "802.3");
    return true;
}

/* The tags; the last header may promise one more that isn't there. */
static void put_tags(struct rtap_line_job *job)
{
    const struct rtap_proto *next = NULL;

    for (unsigned i = 1; i < job->inner; i++)
        if (!put_tag(job, &job->ls.at[i], i == 1)) {
            CUT(job, "vlan");
            return;
        }
    if (job->inner == job->ls.count)
        next = rtap_line_promised(job);
    if (next && (next == job->fields->proto[LP_VLAN] || next == job->fields->proto[LP_AD]))
        CUT(job, "vlan");
}

void rtap_line_link(struct rtap_line_job *job)
{
    struct rtap_layer *l = job->link ? &job->ls.at[0] : NULL;

    if (l && rtap_line_is(job, l, LP_ETH)) {
        put_ethernet(job, l);
    } else if (l && (rtap_line_is(job, l, LP_SLL) || rtap_line_is(job, l, LP_SLL2))) {
        put_cooked(job, l);
    } else if (l && rtap_line_is(job, l, LP_NULL)) {
        put_loopback(job, l);
    } else if (l && rtap_line_is(job, l, LP_PPP)) {
        put_ppp(job);
    } else {
        rtap_line_number(job, "linktype ", job->pkt->linktype);
        put_length(job);
    }
    if (l)
        put_tags(job);
}

/* ------------------------------------------------------------------ ARP */

enum { OPCODE, HW_SIZE, PROTO_SIZE, SRC_MAC, SRC_AX25, SRC_HW, SRC_IP, DST_MAC, DST_AX25, DST_HW, DST_IP, ARP_FIELDS };

static const uint8_t *hardware(const struct rtap_line_job *job, const struct rtap_item *found, unsigned from,
                               uint32_t *n)
{
    for (unsigned i = from; i < from + 3; i++)
        if (found[i].decl)
            return rtap_item_bytes(&job->ls, &found[i], n);
    *n = 0;
    return NULL;
}

static void put_hardware(struct rtap_line_job *job, const struct rtap_item *found, unsigned from)
{
    uint32_t n;
    const uint8_t *p = hardware(job, found, from, &n);

    if (n > 0)
        rtap_out_mac(&job->out, p, n);
}

static void put_protocol(struct rtap_line_job *job, const struct rtap_item *it)
{
    uint32_t n = 0;
    const uint8_t *p = it->decl ? rtap_item_bytes(&job->ls, it, &n) : NULL;

    if (n == 4)
        rtap_out_ip4(&job->out, p);
}

/* What its addresses are: "Ethernet (len 6), IPv4 (len 4)". */
static void put_formats(struct rtap_line_job *job, struct rtap_layer *l, uint32_t hl, uint32_t pl)
{
    uint32_t hw = rtap_line_value(job, l, LF_ARP_HARDWARE), proto = rtap_line_value(job, l, LF_ARP_PROTOCOL);

    if (hw == 1)
        LIT(job, "Ethernet");
    else
        rtap_line_number(job, "hardware #", hw);
    rtap_line_number(job, " (len ", hl);
    LIT(job, "), ");
    if (proto == ETH_P_IP) {
        LIT(job, "IPv4");
    } else {
        LIT(job, "protocol 0x");
        rtap_out_hex(&job->out, proto, 4);
    }
    rtap_line_number(job, " (len ", pl);
    LIT(job, ")");
}

static bool is_zero(const uint8_t *p, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (p[i])
            return false;
    return true;
}

static void put_operation(struct rtap_line_job *job, const struct rtap_item *found, uint32_t op)
{
    const uint8_t *target;
    uint32_t n;

    switch (op) {
    case 1:
        LIT(job, "Request who-has ");
        put_protocol(job, &found[DST_IP]);
        target = hardware(job, found, DST_MAC, &n);
        if (n > 0 && (n != 6 || !is_zero(target, n))) {
            LIT(job, " (");
            rtap_out_mac(&job->out, target, n);
            LIT(job, ")");
        }
        LIT(job, " tell ");
        put_protocol(job, &found[SRC_IP]);
        break;
    case 2:
        LIT(job, "Reply ");
        put_protocol(job, &found[SRC_IP]);
        LIT(job, " is-at ");
        put_hardware(job, found, SRC_MAC);
        break;
    case 3:
        LIT(job, "Reverse Request who-is ");
        put_hardware(job, found, DST_MAC);
        LIT(job, " tell ");
        put_hardware(job, found, SRC_MAC);
        break;
    case 4:
        LIT(job, "Reverse Reply ");
        put_hardware(job, found, DST_MAC);
        LIT(job, " at ");
        put_protocol(job, &found[DST_IP]);
        break;
    default:
        rtap_line_number(job, "Unknown (", op);
        LIT(job, ")");
        break;
    }
}

void rtap_line_arp(struct rtap_line_job *job, struct rtap_layer *l)
{
    struct rtap_item found[ARP_FIELDS];
    uint32_t hl, pl;
    bool known;

    rtap_line_find(job, l, LN_ARP_OPCODE, LN_ARP_DST_IP, found);
    if (!found[OPCODE].decl || !rtap_line_whole(job, l)) {
        CUT(job, "arp");
        return;
    }
    if (!job->style->link)
        LIT(job, "ARP, ");
    if (!found[HW_SIZE].decl || !found[PROTO_SIZE].decl) { /* ATM has an order of its own */
        rtap_layer_summary(&job->ls, l, &job->out);
        return;
    }
    hl = (uint32_t)rtap_item_number(&job->ls, &found[HW_SIZE]);
    pl = (uint32_t)rtap_item_number(&job->ls, &found[PROTO_SIZE]);
    known = rtap_line_value(job, l, LF_ARP_PROTOCOL) == ETH_P_IP && pl == 4 && hl > 0;
    if (!known || job->style->verbose > 0)
        put_formats(job, l, hl, pl);
    if (known && job->style->verbose > 0)
        LIT(job, ", ");
    if (known)
        put_operation(job, found, (uint32_t)rtap_item_number(&job->ls, &found[OPCODE]));
    rtap_line_number(job, ", length ", job->pkt->len - l->off);
}
