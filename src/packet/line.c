/*
 * One line per packet as tcpdump -n prints it: this file has the frame of it (number, time, interface), the order of
 * its parts and the hex dump; line_link.c, line_ip.c, line_l4.c, line_tcp.c and line_icmp.c have the rest.
 *
 * The text is made for people and follows tcpdump 4.99 where tcpdump is right; what is above the transport is said by
 * the summaries of the tables. Called for any bytes at all: whatever is read of them is a field of the engine's.
 */
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
    put_padded(job, rtap_line_direction(job), 4);
}

bool rtap_line_above(struct rtap_line_job *job, unsigned from, const char *before)
{
    struct rtap_out *o = &job->out;
    bool any = false;

    if (job->style->quiet)
        return false;
    for (unsigned i = from; i < job->ls.count; i++) {
        struct rtap_out was = *o;
        size_t said;

        if (job->ls.at[i].proto->line_count == 0)
            continue;
        if (!any)
            rtap_out_text(o, before);
        else if (o->lost > 0 || (o->p > o->start && o->p[-1] != ' ')) /* after a blank the next one goes on */
            LIT(job, ": ");
        said = (size_t)(o->p - o->start) + o->lost;
        rtap_layer_summary(&job->ls, &job->ls.at[i], o);
        if ((size_t)(o->p - o->start) + o->lost > said)
            any = true;
        else
            *o = was; /* nothing to say of this one */
    }
    return any;
}

/* The layers, and which of them is the first above link layer and VLAN tags. */
static void decode(struct rtap_line_job *job)
{
    const struct rtap_line_fields *f = job->fields;
    unsigned i = 0;

    job->ls.count = 0;
    rtap_layers_start(&job->ls, job->style->engine, job->pkt, NULL);
    rtap_layers_more(&job->ls, NULL);
    for (unsigned p = LP_ETH; p <= LP_RAW && !job->link && job->ls.count > 0; p++)
        job->link = job->ls.at[0].proto == f->proto[p];
    if (job->link)
        i++;
    while (i > 0 && i < job->ls.count &&
           (rtap_line_is(job, &job->ls.at[i], LP_VLAN) || rtap_line_is(job, &job->ls.at[i], LP_AD)))
        i++;
    job->inner = i;
}

/* Something that is neither IP nor ARP, or the beginning of it. */
static void put_other(struct rtap_line_job *job, const struct rtap_proto *promised, bool shown)
{
    const struct rtap_line_fields *f = job->fields;
    struct rtap_layer *l = job->inner < job->ls.count ? &job->ls.at[job->inner] : NULL;
    bool ip = promised && promised == f->proto[LP_IP], ip6 = promised && promised == f->proto[LP_IPV6];

    if (shown)
        rtap_out_text(&job->out, job->inner > 1 ? ", " : ": ");
    if (l && (ip || ip6))
        rtap_line_ip(job, l, ip6); /* it isn't, by its version */
    else
        rtap_out_text(&job->out, ip ? " [|ip]" : ip6 ? " [|ip6]" : " [|arp]");
}

static void put_inner(struct rtap_line_job *job, struct rtap_layer *l, bool shown)
{
    if (shown)
        rtap_out_text(&job->out, job->inner > 1 ? ", " : ": ");
    if (rtap_line_is(job, l, LP_ARP))
        rtap_line_arp(job, l);
    else
        rtap_line_ip(job, l, rtap_line_is(job, l, LP_IPV6));
}

static void put_packet(struct rtap_line_job *job)
{
    const struct rtap_line_fields *f = job->fields;
    struct rtap_layer *l = job->inner < job->ls.count ? &job->ls.at[job->inner] : NULL;
    const struct rtap_proto *p = l ? l->proto : NULL,
                            *first = job->ls.count ? job->ls.at[0].proto : rtap_line_promised(job);
    bool raw = first &&
               (first == f->proto[LP_RAW] || (!job->link && (first == f->proto[LP_IP] || first == f->proto[LP_IPV6])));
    const char *cut = job->ls.count < 2 ? rtap_line_link_cut(job) : NULL;

    if (cut) {
        rtap_out_text(&job->out, cut);
        return;
    }
    if (raw && job->style->link)
        LIT(job, "ip: ");
    if (p && (p == f->proto[LP_IP] || p == f->proto[LP_IPV6] || p == f->proto[LP_ARP])) {
        if (job->style->link && !raw)
            rtap_line_link(job);
        put_inner(job, l, job->style->link && !raw);
        return;
    }
    p = rtap_line_promised(job);
    if (p && (p == f->proto[LP_IP] || p == f->proto[LP_IPV6] || p == f->proto[LP_ARP])) {
        if (job->style->link && !raw)
            rtap_line_link(job);
        put_other(job, p, job->style->link && !raw);
    } else if (raw) {
        if (!rtap_line_above(job, job->inner, ""))
            LIT(job, "unknown ip version");
    } else {
        rtap_line_link(job);
        rtap_line_above(job, job->inner, ": ");
    }
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

    for (unsigned i = 0; !whole && i < job->inner && i < job->ls.count && job->link; i++)
        off = job->ls.at[i].off + job->ls.at[i].header;
    if (off >= job->pkt->caplen)
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
    struct rtap_line_job job = {.pkt = pkt, .style = style, .fields = rtap_line_fields(style->engine)};

    rtap_out_init(&job.out, buf, size);
    decode(&job);
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
