/*
 * One line per packet as tcpdump -n prints it: this file has the frame of it (number, time, interface) and the hex
 * dump; line_link.c, line_ip.c, line_l4.c and line_icmp.c have the rest.
 *
 * The text is made for people and follows tcpdump 4.99 where tcpdump is right. Nothing here goes by ports: a UDP
 * payload is "UDP, length N". Called for any bytes at all: see look.c for how offsets are checked.
 */
#include "engine.h"
#include "line_parts.h"

#include <linux/if_ether.h>
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
    if (!style->nanoseconds && (style->time == RTAP_TIME_DELTA || style->time == RTAP_TIME_FIRST))
        time -= time % 1000; /* so that the spans shown fit the times shown */
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
    case RTAP_TIME_FIRST: put_span(job, style->first, time); break;
    default: put_clock(job, style, time); break;
    }
    LIT(job, " ");
}

static void put_padded(struct rtap_line_job *job, const char *s, size_t width)
{
    rtap_out_printable(&job->out, s);
    for (size_t n = strlen(s); n < width; n++)
        LIT(job, " ");
}

static void put_interface(struct rtap_line_job *job)
{
    put_padded(job, job->pkt->ifname != NULL ? job->pkt->ifname : "?", 5);
    LIT(job, " ");
    put_padded(job, rtap_line_direction(job->pkt), 4);
}

/* The mark for a link-layer header that isn't all there; NULL when it is. */
static const char *link_cut(const struct rtap_pkt *pkt)
{
    switch (pkt->linktype) {
    case RTAP_LINKTYPE_ETHERNET: return pkt->caplen < 14 ? " [|ether]" : NULL;
    case RTAP_LINKTYPE_LINUX_SLL: return pkt->caplen < 16 ? " [|sll]" : NULL;
    case RTAP_LINKTYPE_LINUX_SLL2: return pkt->caplen < 20 ? " [|sll2]" : NULL;
    case RTAP_LINKTYPE_NULL:
    case RTAP_LINKTYPE_LOOP: return pkt->caplen < 4 ? " [|null]" : NULL;
    case RTAP_LINKTYPE_PPP: return pkt->caplen < 2 ? " [|ppp]" : NULL;
    default: return NULL;
    }
}

static bool is_raw(uint16_t linktype)
{
    return linktype == RTAP_LINKTYPE_RAW || linktype == RTAP_LINKTYPE_IPV4 || linktype == RTAP_LINKTYPE_IPV6 ||
           linktype == 12 || linktype == 14;
}

bool rtap_line_above(struct rtap_line_job *job, uint32_t from, const char *before)
{
    struct rtap_layers ls = {.count = 0};
    bool any = false;

    if (job->style->engine == NULL || job->style->quiet)
        return false;
    rtap_engine_reach(job->style->engine);
    rtap_layers_start(&ls, job->style->engine, job->pkt, NULL);
    rtap_layers_more(&ls, NULL);
    for (unsigned i = 0; i < ls.count; i++) {
        if (ls.at[i].off < from || ls.at[i].proto->line_count == 0)
            continue;
        rtap_out_text(&job->out, any ? ": " : before);
        rtap_layer_summary(&ls, &ls.at[i], &job->out);
        any = true;
    }
    return any;
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
    } else if (job->style->link ||
               (type != ETH_P_IP && type != ETH_P_IPV6 && type != ETH_P_ARP && type != ETH_P_RARP)) {
        rtap_line_link(job);
        shown = true;
    }
    if (type != ETH_P_IP && type != ETH_P_IPV6 && type != ETH_P_ARP && type != ETH_P_RARP) {
        rtap_line_above(job, 1, ": ");
        return;
    }
    if (shown) {
        if (job->look.tags > 0)
            LIT(job, ", ");
        else
            LIT(job, ": ");
    }
    if (job->look.l3 < 0)
        rtap_out_text(&job->out, type == ETH_P_IP ? " [|ip]" : type == ETH_P_IPV6 ? " [|ip6]" : " [|arp]");
    else if (type == ETH_P_IP || type == ETH_P_IPV6)
        rtap_line_ip(job);
    else
        rtap_line_arp(job);
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
