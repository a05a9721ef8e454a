/*
 * A packet becomes a record: the second half of the capture file writer. See savefile_writer.h.
 *
 * The packet's bytes lie already where an enhanced packet block (or a pcap record) wants them. Only what is rare moves
 * them: an interface that is met for the first time, whose description goes in front, and a packet without a time.
 */
#include "savefile_writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SPB_HEAD 12u
#define MAX_IMPLICIT_NAME 255u

static size_t pad4(size_t n)
{
    return (n + 3) & ~(size_t)3;
}

bool rtap_writer_same_if(const struct rtap_writer_if *i, const struct rtap_pkt *m, bool lenient)
{
    if (i->wi.ifindex != m->ifindex || i->wi.linktype != m->linktype)
        return false;
    if (!m->ifname || !i->wi.name)
        return m->ifname == i->wi.name || (lenient && !m->ifname && i->declared);
    return strncmp(m->ifname, i->wi.name, MAX_IMPLICIT_NAME) == 0;
}

static char *copy(const char *s, size_t max)
{
    return s ? strndup(s, max) : NULL;
}

void rtap_writer_free_if(struct rtap_writer_if *i)
{
    free((char *)i->wi.name);
    free((char *)i->wi.description);
    free((char *)i->wi.filter);
}

/* A new entry of the table, not yet in the file. */
int rtap_writer_add_if(struct rtap_writer *w, const struct rtap_write_if *wi, size_t max_name)
{
    struct rtap_writer_if *i;

    if (w->if_count == w->if_room) {
        unsigned room = w->if_room ? w->if_room * 2 : 4;
        struct rtap_writer_if *ifs = realloc(w->ifs, room * sizeof(*ifs));

        if (!ifs)
            return -ENOMEM;
        w->ifs = ifs;
        w->if_room = room;
    }
    i = &w->ifs[w->if_count];
    *i = (struct rtap_writer_if){.wi = *wi};
    i->wi.name = copy(wi->name, max_name);
    i->wi.description = copy(wi->description, RTAP_MAX_TEXT);
    i->wi.filter = copy(wi->filter, RTAP_MAX_TEXT);
    if ((wi->name && !i->wi.name) || (wi->description && !i->wi.description) || (wi->filter && !i->wi.filter)) {
        rtap_writer_free_if(i);
        return -ENOMEM;
    }
    if (i->wi.snaplen == 0)
        i->wi.snaplen = w->snaplen;
    w->if_count++;
    return 0;
}

/* The reserved packet moves `n` bytes to make room for something in front of it. */
static uint8_t *insert_before_packet(struct rtap_writer *w, size_t n)
{
    memmove(w->buf + w->data_at + n, w->buf + w->data_at, w->reserved);
    w->data_at += n;
    w->used += n;
    return w->buf + w->used - n;
}

/* The packet's interface in this file, described now if it is met for the first time. */
static int find_if(struct rtap_writer *w, const struct rtap_pkt *m)
{
    struct rtap_write_if wi = {.name = m->ifname, .ifindex = m->ifindex, .linktype = m->linktype};
    unsigned i, lenient;
    int r;

    if (w->last_if < w->if_count && rtap_writer_same_if(&w->ifs[w->last_if], m, true))
        return (int)w->last_if;
    for (lenient = 0; lenient < 2; lenient++) {
        for (i = 0; i < w->if_count; i++) {
            if (rtap_writer_same_if(&w->ifs[i], m, lenient)) {
                w->last_if = i;
                return (int)i;
            }
        }
    }
    r = rtap_writer_add_if(w, &wi, MAX_IMPLICIT_NAME);
    if (r < 0)
        return rtap_sink_fail(&w->sink, r, "%s: %s", w->out.path, strerror(-r));
    w->last_if = w->if_count - 1;
    w->ifs[w->last_if].snaplen_at = w->out.size + w->used + RTAP_IDB_SNAPLEN_AT;
    rtap_encode_interface(insert_before_packet(w, rtap_encode_interface(NULL, &w->ifs[w->last_if].wi)),
                          &w->ifs[w->last_if].wi);
    return (int)w->last_if;
}

static void patch_snaplen(struct rtap_writer *w, uint64_t at, uint32_t snaplen)
{
    if (at >= w->out.size)
        memcpy(w->buf + (at - w->out.size), &snaplen, sizeof(snaplen));
    else
        rtap_output_patch(&w->out, at, &snaplen, sizeof(snaplen));
}

/* The captured length as written: see savefile.h for the cut. */
static uint32_t fitting_caplen(const struct rtap_pkt *m)
{
    uint32_t max = rtap_linktype_max_caplen(m->linktype);

    return m->caplen < max ? m->caplen : max;
}

/*
 * A packet is larger than its interface's snaplen says: other readers would cut or refuse it. Interfaces with the same
 * snaplen follow, because libpcap refuses a file in which they differ.
 */
static void raise_snaplen(struct rtap_writer *w, uint32_t old, uint32_t caplen)
{
    uint32_t snaplen = caplen > RTAP_DEFAULT_SNAPLEN ? caplen : RTAP_DEFAULT_SNAPLEN;
    unsigned i;

    for (i = 0; i < w->if_count; i++) {
        if (w->ifs[i].wi.snaplen != old)
            continue;
        w->ifs[i].wi.snaplen = snaplen;
        patch_snaplen(w, w->ifs[i].snaplen_at, snaplen);
    }
    if (w->snaplen == old)
        w->snaplen = snaplen; /* for interfaces to come */
}

int rtap_writer_commit_pcapng(struct rtap_writer *w, const struct rtap_pkt *m)
{
    uint32_t caplen = fitting_caplen(m), len = m->len > m->caplen ? m->len : m->caplen,
             comment = m->comment ? m->comment_len : 0;
    uint32_t flags = m->epb_flags;
    size_t size, padding = pad4(caplen) - caplen;
    struct rtap_writer_if *i;
    uint8_t *p, *begin;
    int id;

    if (m->time < 0 && m->time != RTAP_NO_TIME)
        return rtap_sink_fail(&w->sink, -ERANGE, "%s: a packet's time is before 1970, which pcapng can't hold",
                              w->out.path);
    id = find_if(w, m);
    if (id < 0)
        return id;
    i = &w->ifs[id];
    if (caplen > i->wi.snaplen)
        raise_snaplen(w, i->wi.snaplen, caplen);
    if (comment > RTAP_MAX_COMMENT)
        comment = RTAP_MAX_COMMENT;
    begin = p = w->buf + w->used;
    /* A packet without a time has a block of its own, as long as a reader finds the same caplen in it. */
    if (m->time == RTAP_NO_TIME && id == 0 && !comment && !flags &&
        caplen == (len < i->wi.snaplen ? len : i->wi.snaplen)) {
        size = SPB_HEAD + caplen + padding + 4;
        memmove(p + SPB_HEAD, w->buf + w->data_at, caplen);
        p = rtap_encode_u32(p, 3);
        p = rtap_encode_u32(p, (uint32_t)size);
        p = rtap_encode_u32(p, len) + caplen;
        memset(p, 0, padding);
        p += padding;
    } else {
        uint64_t time = m->time == RTAP_NO_TIME ? 0 : (uint64_t)m->time;

        size = RTAP_EPB_HEAD + caplen + padding + 4 + (flags ? 8 : 0) + (comment ? 4 + pad4(comment) : 0) +
               (flags || comment ? 4 : 0);
        p = rtap_encode_u32(p, 6);
        p = rtap_encode_u32(p, (uint32_t)size);
        p = rtap_encode_u32(p, (uint32_t)id);
        p = rtap_encode_u32(p, (uint32_t)(time >> 32));
        p = rtap_encode_u32(p, (uint32_t)time);
        p = rtap_encode_u32(p, caplen);
        p = rtap_encode_u32(p, len) + caplen;
        memset(p, 0, padding);
        p += padding;
        if (comment) {
            p = rtap_encode_option(p, 1, comment);
            memcpy(p, m->comment, comment);
            memset(p + comment, 0, pad4(comment) - comment);
            p += pad4(comment);
        }
        if (flags)
            p = rtap_encode_u32(rtap_encode_option(p, 2, 4), flags);
        if (flags || comment)
            p = rtap_encode_option(p, 0, 0);
    }
    p = rtap_encode_u32(p, (uint32_t)size);
    w->used += (size_t)(p - begin);
    return (int)caplen;
}

int rtap_writer_commit_pcap(struct rtap_writer *w, const struct rtap_pkt *m)
{
    int64_t time = m->time == RTAP_NO_TIME ? 0 : m->time;
    uint32_t caplen = fitting_caplen(m);
    uint8_t *p;

    if (time < 0)
        return rtap_sink_fail(&w->sink, -ERANGE, "%s: a packet's time is before 1970, which pcap can't hold",
                              w->out.path);
    if (time / 1000000000 > UINT32_MAX)
        return rtap_sink_fail(&w->sink, -ERANGE, "%s: a packet's time is after 2106, which pcap can't hold: use pcapng",
                              w->out.path);
    if (w->has_linktype && m->linktype != w->linktype)
        return rtap_sink_fail(&w->sink, -EINVAL,
                              "%s: a packet of link type %u in a pcap file of link type %u: use pcapng", w->out.path,
                              m->linktype, w->linktype);
    if (!w->has_header) {
        w->linktype = m->linktype;
        w->has_linktype = w->has_header = true;
        w->used += rtap_encode_pcap(w->buf + w->used, w->us, w->snaplen, w->linktype);
    }
    if (caplen > w->snaplen) {
        w->snaplen = caplen > RTAP_DEFAULT_SNAPLEN ? caplen : RTAP_DEFAULT_SNAPLEN;
        patch_snaplen(w, RTAP_PCAP_SNAPLEN_AT, w->snaplen);
    }
    p = w->buf + w->used;
    p = rtap_encode_u32(p, (uint32_t)(time / 1000000000));
    p = rtap_encode_u32(p, (uint32_t)(time % 1000000000) / (w->us ? 1000 : 1));
    p = rtap_encode_u32(p, caplen);
    rtap_encode_u32(p, m->len > m->caplen ? m->len : m->caplen);
    w->used += RTAP_PCAP_HEAD + caplen;
    return (int)caplen;
}
