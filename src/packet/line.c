/*
 * One line per packet as tcpdump -n prints it: this file has the frame of it (number, time, interface, link layer, ARP)
 * and the hex dump; line_ip.c and line_l4.c have the rest.
 *
 * The text is made for people and follows tcpdump 4.99 where tcpdump is right. Nothing here goes by ports: a UDP
 * payload is "UDP, length N". Called for any bytes at all: see look.c for how offsets are checked.
 */
#include "bytes.h"
#include "line_parts.h"

#include <time.h>

static void put_fraction(struct rtap_line_job *job, uint64_t ns)
{
    LIT(job, ".");
    if (job->style->nanoseconds)
        rtap_out_pad(&job->out, ns, 9, '0');
    else
        rtap_out_pad(&job->out, ns / 1000, 6, '0');
}

/* " 00:00:01.000000": a span of time, with a sign. */
static void put_span(struct rtap_line_job *job, int64_t from, int64_t to)
{
    uint64_t ns = to < from ? (uint64_t)from - (uint64_t)to : (uint64_t)to - (uint64_t)from, s = ns / 1000000000;

    if (to < from)
        LIT(job, "-");
    else
        LIT(job, " ");
    rtap_out_pad(&job->out, s / 3600, 2, '0');
    LIT(job, ":");
    rtap_out_pad(&job->out, s / 60 % 60, 2, '0');
    LIT(job, ":");
    rtap_out_pad(&job->out, s % 60, 2, '0');
    put_fraction(job, ns % 1000000000);
}

/* Local time changes by whole minutes, so within one only the seconds need to be written anew. */
static void put_clock(struct rtap_line_job *job, struct rtap_line_style *style, int64_t time)
{
    int64_t s = time / 1000000000, ns = time % 1000000000;

    if (ns < 0) {
        ns += 1000000000;
        s--;
    }
    if (style->minute_len == 0 || s < style->minute || s - style->minute > 59) {
        time_t t = s;
        struct tm tm;

        if (localtime_r(&t, &tm) == NULL)
            memset(&tm, 0, sizeof(tm));
        style->minute = s - tm.tm_sec;
        style->minute_len = (unsigned)strftime(style->minute_text, sizeof(style->minute_text),
                                               style->time == RTAP_TIME_DATE ? "%Y-%m-%d %H:%M:" : "%H:%M:", &tm);
    }
    rtap_out_mem(&job->out, style->minute_text, style->minute_len);
    rtap_out_pad(&job->out, (uint64_t)(s - style->minute), 2, '0');
    put_fraction(job, (uint64_t)ns);
}

static void put_time(struct rtap_line_job *job, struct rtap_line_style *style)
{
    int64_t time = job->pkt->time;

    if (style->time == RTAP_TIME_NONE)
        return;
    if (time == RTAP_NO_TIME) {
        LIT(job, "- ");
        return;
    }
    if (!style->started) {
        style->first = style->previous = time;
        style->started = true;
    }
    switch (style->time) {
    case RTAP_TIME_EPOCH:
        if (time < 0)
            LIT(job, "-");
        time = time < 0 ? -time : time;
        rtap_out_dec(&job->out, (uint64_t)(time / 1000000000));
        put_fraction(job, (uint64_t)(time % 1000000000));
        break;
    case RTAP_TIME_DELTA:
        put_span(job, style->previous, time);
        style->previous = time;
        break;
    case RTAP_TIME_FIRST:
        put_span(job, style->first, time);
        break;
    default:
        put_clock(job, style, time);
        break;
    }
    LIT(job, " ");
}

static const char *direction(const struct rtap_pkt *pkt)
{
    static const char *const sll[] = {"In", "B", "M", "P", "Out"};
    unsigned type = 5;

    if (pkt->linktype == RTAP_LINKTYPE_LINUX_SLL && pkt->caplen >= 2)
        type = rtap_be16(pkt->data);
    else if (pkt->linktype == RTAP_LINKTYPE_LINUX_SLL2 && pkt->caplen >= 11)
        type = pkt->data[10];
    else if ((pkt->epb_flags & RTAP_EPB_DIRECTION) == RTAP_EPB_OUTBOUND)
        type = 4;
    else if ((pkt->epb_flags & RTAP_EPB_RECEPTION) >= RTAP_EPB_MULTICAST)
        switch (pkt->epb_flags & RTAP_EPB_RECEPTION) {
        case RTAP_EPB_MULTICAST:
            type = 2;
            break;
        case RTAP_EPB_BROADCAST:
            type = 1;
            break;
        default:
            type = 3;
            break;
        }
    else if ((pkt->epb_flags & RTAP_EPB_DIRECTION) == RTAP_EPB_INBOUND)
        type = 0;
    return type < sizeof(sll) / sizeof(sll[0]) ? sll[type] : "?";
}

static void put_padded(struct rtap_line_job *job, const char *s, size_t width)
{
    rtap_out_printable(&job->out, s);
    for (size_t n = strlen(s); n < width; n++)
        LIT(job, " ");
}

static void put_interface(struct rtap_line_job *job)
{
    put_padded(job, job->pkt->ifname != NULL ? job->pkt->ifname : "?", 6);
    put_padded(job, direction(job->pkt), 4);
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

/* The link-layer header, for -e and for what has nothing above it that could be shown. */
static void put_link(struct rtap_line_job *job)
{
    const struct rtap_pkt *pkt = job->pkt;
    const uint8_t *p = pkt->data;
    struct rtap_out *o = &job->out;
    uint32_t family;
    uint16_t type;

    switch (pkt->linktype) {
    case RTAP_LINKTYPE_ETHERNET:
        type = rtap_be16(p + 12);
        rtap_out_mac(o, p + 6, 6);
        LIT(job, " > ");
        rtap_out_mac(o, p, 6);
        LIT(job, ", ");
        if (type <= 1500) {
            LIT(job, "802.3, length ");
            rtap_out_dec(o, type);
            return;
        }
        put_type(job, type);
        put_length(job);
        break;
    case RTAP_LINKTYPE_LINUX_SLL:
    case RTAP_LINKTYPE_LINUX_SLL2: {
        bool two = pkt->linktype == RTAP_LINKTYPE_LINUX_SLL2;
        unsigned size = two ? p[11] : rtap_be16(p + 4);

        if (two) {
            LIT(job, "ifindex ");
            rtap_out_dec(o, rtap_be32(p + 4));
            LIT(job, " ");
        } else if (!job->style->interface) {
            for (size_t n = strlen(direction(pkt)); n < 3; n++)
                LIT(job, " ");
            rtap_out_text(o, direction(pkt));
            LIT(job, " ");
        }
        if (size == 6) {
            rtap_out_mac(o, p + (two ? 12 : 6), 6);
            LIT(job, " ");
        }
        type = rtap_be16(p + (two ? 0 : 14));
        if (type == 1 || type == 4)
            LIT(job, "802.3");
        else
            put_type(job, type);
        put_length(job);
        break;
    }
    case RTAP_LINKTYPE_NULL:
    case RTAP_LINKTYPE_LOOP:
        family = rtap_be32(p) > 0xffff ? rtap_le32(p) : rtap_be32(p);
        LIT(job, "AF ");
        rtap_out_text(o, job->look.ethertype == 0x0800 ? "IPv4" : job->look.ethertype != 0 ? "IPv6" : "Unknown");
        LIT(job, " (");
        rtap_out_dec(o, family);
        LIT(job, ")");
        put_length(job);
        break;
    case RTAP_LINKTYPE_PPP:
        rtap_out_text(o, job->look.ethertype == 0x0800   ? "IP (0x0021)"
                         : job->look.ethertype == 0x86dd ? "IP6 (0x0057)"
                                                         : "PPP");
        put_length(job);
        break;
    default:
        LIT(job, "linktype ");
        rtap_out_dec(o, pkt->linktype);
        put_length(job);
        break;
    }
    for (unsigned i = 0; i < job->look.tags; i++) {
        const uint8_t *tag = p + job->look.vlan + 4 * i;
        uint16_t tci = rtap_be16(tag);

        if (i == 0)
            LIT(job, ": vlan ");
        else
            LIT(job, ", vlan ");
        rtap_out_dec(o, tci & 0xfff);
        LIT(job, ", p ");
        rtap_out_dec(o, tci >> 13);
        if (tci & 0x1000)
            LIT(job, ", DEI");
        LIT(job, ", ");
        if (rtap_be16(tag + 2) > 1500)
            put_type(job, rtap_be16(tag + 2));
        else
            LIT(job, "802.3");
    }
}

static void put_arp(struct rtap_line_job *job)
{
    const uint8_t *p = job->pkt->data + job->look.l3, *sha, *spa, *tha, *tpa;
    uint32_t left = rtap_line_left(job, (uint32_t)job->look.l3), hl, pl;
    struct rtap_out *o = &job->out;
    uint16_t op;

    if (left < 8 || left < 8 + 2u * p[4] + 2u * p[5]) {
        CUT(job, "arp");
        return;
    }
    hl = p[4];
    pl = p[5];
    op = rtap_be16(p + 6);
    sha = p + 8;
    spa = sha + hl;
    tha = spa + pl;
    tpa = tha + hl;
    if (!job->style->link)
        LIT(job, "ARP, ");
    if (rtap_be16(p + 2) != 0x0800 || pl != 4 || hl == 0 || job->style->verbose > 0) {
        if (rtap_be16(p) == 1) {
            LIT(job, "Ethernet");
        } else {
            LIT(job, "hardware #");
            rtap_out_dec(o, rtap_be16(p));
        }
        LIT(job, " (len ");
        rtap_out_dec(o, hl);
        LIT(job, "), ");
        if (rtap_be16(p + 2) == 0x0800) {
            LIT(job, "IPv4");
        } else {
            LIT(job, "protocol 0x");
            rtap_out_hex(o, rtap_be16(p + 2), 4);
        }
        LIT(job, " (len ");
        rtap_out_dec(o, pl);
        LIT(job, ")");
        if (rtap_be16(p + 2) == 0x0800 && pl == 4 && hl > 0)
            LIT(job, ", ");
    }
    if (rtap_be16(p + 2) == 0x0800 && pl == 4 && hl > 0)
        switch (op) {
        case 1: {
            static const uint8_t zero[6];

            LIT(job, "Request who-has ");
            rtap_out_ip4(o, tpa);
            if (hl != 6 || memcmp(tha, zero, 6) != 0) {
                LIT(job, " (");
                rtap_out_mac(o, tha, hl);
                LIT(job, ")");
            }
            LIT(job, " tell ");
            rtap_out_ip4(o, spa);
            break;
        }
        case 2:
            LIT(job, "Reply ");
            rtap_out_ip4(o, spa);
            LIT(job, " is-at ");
            rtap_out_mac(o, sha, hl);
            break;
        case 3:
            LIT(job, "Reverse Request who-is ");
            rtap_out_mac(o, tha, hl);
            LIT(job, " tell ");
            rtap_out_mac(o, sha, hl);
            break;
        case 4:
            LIT(job, "Reverse Reply ");
            rtap_out_mac(o, tha, hl);
            LIT(job, " at ");
            rtap_out_ip4(o, tpa);
            break;
        default:
            LIT(job, "Unknown (");
            rtap_out_dec(o, op);
            LIT(job, ")");
            break;
        }
    LIT(job, ", length ");
    rtap_out_dec(o, job->pkt->len - (uint32_t)job->look.l3);
}

/* The mark for a link-layer header that isn't all there; NULL when it is. */
static const char *link_cut(const struct rtap_pkt *pkt)
{
    switch (pkt->linktype) {
    case RTAP_LINKTYPE_ETHERNET:
        return pkt->caplen < 14 ? " [|ether]" : NULL;
    case RTAP_LINKTYPE_LINUX_SLL:
        return pkt->caplen < 16 ? " [|sll]" : NULL;
    case RTAP_LINKTYPE_LINUX_SLL2:
        return pkt->caplen < 20 ? " [|sll2]" : NULL;
    case RTAP_LINKTYPE_NULL:
    case RTAP_LINKTYPE_LOOP:
        return pkt->caplen < 4 ? " [|null]" : NULL;
    case RTAP_LINKTYPE_PPP:
        return pkt->caplen < 2 ? " [|ppp]" : NULL;
    default:
        return NULL;
    }
}

static bool is_raw(uint16_t linktype)
{
    return linktype == RTAP_LINKTYPE_RAW || linktype == RTAP_LINKTYPE_IPV4 || linktype == RTAP_LINKTYPE_IPV6 ||
           linktype == 12 || linktype == 14;
}

static void put_packet(struct rtap_line_job *job)
{
    const char *cut = link_cut(job->pkt);
    uint16_t type = job->look.ethertype;
    bool shown = false;

    if (cut != NULL) {
        rtap_out_text(&job->out, cut);
        return;
    }
    if (is_raw(job->pkt->linktype)) {
        if (job->style->link)
            LIT(job, "ip: ");
        if (type == 0) {
            LIT(job, "unknown ip version");
            return;
        }
    } else if (job->style->link || (type != 0x0800 && type != 0x86dd && type != 0x0806 && type != 0x8035)) {
        put_link(job);
        shown = true;
    }
    if (type != 0x0800 && type != 0x86dd && type != 0x0806 && type != 0x8035)
        return;
    if (shown) {
        if (job->look.tags > 0)
            LIT(job, ", ");
        else
            LIT(job, ": ");
    }
    if (job->look.l3 < 0)
        rtap_out_text(&job->out, type == 0x0800 ? " [|ip]" : type == 0x86dd ? " [|ip6]" : " [|arp]");
    else if (type == 0x0800 || type == 0x86dd)
        rtap_line_ip(job);
    else
        put_arp(job);
}

static void put_hex(struct rtap_out *o, const uint8_t *data, uint32_t len, bool ascii)
{
    static const char digit[] = "0123456789abcdef";

    for (uint32_t i = 0; i < len; i += 16) {
        char row[64], *p = row;
        uint32_t n = len - i < 16 ? len - i : 16;

        rtap_out_mem(o, "\t0x", 3);
        rtap_out_hex(o, i, 4);
        *p++ = ':';
        *p++ = ' ';
        for (uint32_t j = 0; j < n; j++) {
            if (j % 2 == 0)
                *p++ = ' ';
            *p++ = digit[data[i + j] >> 4];
            *p++ = digit[data[i + j] & 15];
        }
        if (ascii) {
            while (p < row + 44)
                *p++ = ' ';
            for (uint32_t j = 0; j < n; j++)
                *p++ = data[i + j] < 0x21 || data[i + j] > 0x7e ? '.' : (char)data[i + j];
        }
        *p++ = '\n';
        rtap_out_mem(o, row, (size_t)(p - row));
    }
}

size_t rtap_hex(const uint8_t *data, uint32_t len, bool ascii, char *buf, size_t size)
{
    struct rtap_out o;

    rtap_out_init(&o, buf, size);
    put_hex(&o, data, len, ascii);
    return rtap_out_done(&o, size);
}

static void put_dump(struct rtap_line_job *job)
{
    bool whole = job->style->dump == RTAP_HEX_XX || job->style->dump == RTAP_ASCII_XX;
    bool ascii = job->style->dump == RTAP_ASCII_X || job->style->dump == RTAP_ASCII_XX;
    uint32_t off = 0;

    if (!whole && job->look.l3 >= 0)
        off = (uint32_t)job->look.l3;
    else if (!whole && job->pkt->linktype == RTAP_LINKTYPE_ETHERNET)
        off = job->pkt->caplen < 14 ? job->pkt->caplen : 14;
    if (off == job->pkt->caplen)
        return;
    LIT(job, "\n");
    put_hex(&job->out, job->pkt->data + off, job->pkt->caplen - off, ascii);
    /* the line's own end is left to the caller */
    if (job->out.lost > 0)
        job->out.lost--;
    else
        job->out.p--;
}

size_t rtap_line(const struct rtap_pkt *pkt, struct rtap_line_style *style, char *buf, size_t size)
{
    struct rtap_line_job job = {.pkt = pkt, .style = style};

    rtap_out_init(&job.out, buf, size);
    rtap_look_at(pkt, &job.look);
    style->count++;
    if (style->number) {
        rtap_out_pad(&job.out, style->count, 5, ' ');
        LIT(&job, "  ");
    }
    put_time(&job, style);
    if (style->interface || pkt->linktype == RTAP_LINKTYPE_LINUX_SLL2)
        put_interface(&job);
    put_packet(&job);
    if (style->dump != RTAP_HEX_NONE)
        put_dump(&job);
    return rtap_out_done(&job.out, size);
}
