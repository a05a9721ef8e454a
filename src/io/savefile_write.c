/*
 * Writing capture files: struct sink over one large buffer and a struct rtap_output. See savefile_writer.h.
 */
#include "savefile_writer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Measured with 64 KiB .. 1 MiB: all within a few per cent of each other, from 128 KiB on. */
#define BUFFER_SIZE ((uint32_t)256 << 10)
#define MAX_CAPLEN (128u << 20)
/* Besides the packet: its header and trailer, flags and comment, a description of its interface, a file header. */
#define SLACK ((size_t)RTAP_EPB_HEAD + 4 + 3 + 8 + 4 + RTAP_MAX_COMMENT + 3 + 4 + 512 + RTAP_PCAP_HEADER)

static int writer_fail(struct rtap_writer *w, int err)
{
    w->err = err;
    return rtap_sink_fail(&w->sink, err, "%s: %s (%llu packets are in the file)",
                          w->out.path ? w->out.path : w->out.base, strerror(-err),
                          (unsigned long long)w->sent_this_file);
}

/* The record at buf[at]: its size, and whether it is a packet of *caplen bytes. */
static size_t record_size(const struct rtap_writer *w, size_t at, bool *packet, uint32_t *caplen)
{
    uint32_t type, size;

    if (!w->pcapng) {
        *packet = at > 0 || w->out.size > 0;
        memcpy(caplen, w->buf + at + 8, sizeof(*caplen));
        return *packet ? RTAP_PCAP_HEAD + *caplen : RTAP_PCAP_HEADER;
    }
    memcpy(&type, w->buf + at, sizeof(type));
    memcpy(&size, w->buf + at + 4, sizeof(size));
    *packet = type == 6 || type == 3;
    memcpy(caplen, w->buf + at + (type == 6 ? 20 : 8), sizeof(*caplen));
    return size;
}

/*
 * Only buf[0, done) went out. Count the packets in it, and return where the record that is torn begins (done, if none
 * is). *rest is how much of that record is still to be written.
 */
static size_t count_written(struct rtap_writer *w, size_t done, uint64_t size_before, size_t *rest)
{
    uint64_t size_now = w->out.size;
    size_t at = 0, n = w->lead;
    bool packet = w->lead_is_packet;
    uint32_t caplen = 0;

    w->out.size = size_before; /* what record_size() sees */
    if (n == 0)
        n = record_size(w, at, &packet, &caplen);
    while (at + n <= done) {
        at += n;
        if (packet) {
            w->sent++;
            w->sent_this_file++;
            w->queued--;
            w->sent_bytes += caplen;
            w->queued_bytes -= caplen;
        }
        if (at == w->used)
            break;
        n = record_size(w, at, &packet, &caplen);
    }
    w->out.size = size_now;
    *rest = at < done || (at == 0 && w->lead) ? at + n - done : 0;
    w->lead_is_packet = packet;
    return at;
}

/* Write out the buffer. A reserved packet behind it is lost. -EINTR (streams): what is left stays, call again. */
static int flush(struct rtap_writer *w)
{
    uint64_t size_before = w->out.size;
    size_t done, whole, rest;
    int r;

    if (w->used == 0)
        return 0;
    r = rtap_output_write(&w->out, w->buf, w->used, &done, w->sink.wake_fd);
    if (r == 0) {
        w->sent += w->queued;
        w->sent_this_file += w->queued;
        w->sent_bytes += w->queued_bytes;
        w->queued = w->queued_bytes = 0;
        w->used = w->lead = 0;
        return 0;
    }
    whole = count_written(w, done, size_before, &rest);
    if (r == -EINTR) {
        memmove(w->buf, w->buf + done, w->used - done);
        w->used -= done;
        w->lead = rest;
        return r;
    }
    rtap_output_cut(&w->out, done - whole);
    return writer_fail(w, r);
}

/* n bytes behind the used ones. */
static int make_room(struct rtap_writer *w, size_t n)
{
    uint8_t *buf;
    int r;

    if (w->used + n <= w->limit)
        return 0;
    r = flush(w);
    if (r < 0 || n <= w->limit)
        return r;
    buf = realloc(w->buf, n);
    if (!buf)
        return rtap_sink_fail(&w->sink, -ENOMEM, "%s: %s", w->out.path, strerror(ENOMEM));
    w->buf = buf;
    w->limit = n;
    return 0;
}

static int put_interface(struct rtap_writer *w, struct rtap_writer_if *i)
{
    size_t n = rtap_encode_interface(NULL, &i->wi);
    int r = make_room(w, n);

    if (r < 0)
        return r;
    i->snaplen_at = w->out.size + w->used + RTAP_IDB_SNAPLEN_AT;
    w->used += rtap_encode_interface(w->buf + w->used, &i->wi);
    return 0;
}

static int put_pcap_header(struct rtap_writer *w)
{
    int r = make_room(w, RTAP_PCAP_HEADER);

    if (r < 0)
        return r;
    w->used += rtap_encode_pcap(w->buf + w->used, w->us, w->snaplen, w->linktype);
    w->has_header = true;
    return 0;
}

/* What a file begins with, as far as it is known. */
static int begin_file(struct rtap_writer *w)
{
    unsigned i;
    int r;

    w->sent_this_file = 0;
    w->has_header = false;
    if (!w->pcapng)
        return w->has_linktype ? put_pcap_header(w) : 0;
    r = make_room(w, rtap_encode_section(NULL, w->comment, w->hardware, w->os));
    if (r < 0)
        return r;
    w->used += rtap_encode_section(w->buf + w->used, w->comment, w->hardware, w->os);
    for (i = 0; i < w->if_count && r == 0; i++)
        r = put_interface(w, &w->ifs[i]);
    return r;
}

/* What a file ends with; all of it is written. */
static int end_file(struct rtap_writer *w)
{
    struct timespec now;
    unsigned i;
    int r;

    if (!w->pcapng && !w->has_header) { /* no packet: the file shall be readable all the same */
        r = put_pcap_header(w);
        if (r < 0)
            return r;
    }
    if (w->pcapng && w->if_count == 0) { /* likewise: libpcap wants an interface */
        struct rtap_write_if wi = {.linktype = w->linktype};

        r = rtap_writer_add_if(w, &wi, 0);
        if (r == 0)
            r = put_interface(w, &w->ifs[0]);
        if (r < 0)
            return r;
    }
    clock_gettime(CLOCK_REALTIME, &now);
    for (i = 0; w->pcapng && i < w->if_count; i++) {
        const struct rtap_writer_if *wi = &w->ifs[i];

        if (!wi->has_counters)
            continue;
        r = make_room(w, rtap_encode_statistics(NULL, i, 0, 0, 0));
        if (r < 0)
            return r;
        w->used += rtap_encode_statistics(w->buf + w->used, i, now.tv_sec * 1000000000 + now.tv_nsec, wi->received,
                                          wi->dropped);
    }
    return flush(w);
}

static int rotate(struct rtap_writer *w)
{
    int r = end_file(w);

    if (r == 0) {
        r = rtap_output_rotate(&w->out);
        if (r == -EXFULL) {
            w->err = r;
            return rtap_sink_fail(&w->sink, r, "%s: rotation count reached (%llu files)", w->out.path,
                                  (unsigned long long)w->out.files);
        }
        if (r < 0)
            return writer_fail(w, r);
        r = begin_file(w);
    }
    return r;
}

static int writer_reserve(struct rtap_sink *k, uint32_t size, uint8_t **data)
{
    struct rtap_writer *w = (struct rtap_writer *)k;
    int r;

    w->data_at = 0;
    if (w->err)
        return w->err;
    if (size > MAX_CAPLEN)
        return rtap_sink_fail(k, -EMSGSIZE, "%s: a packet of %u bytes, the limit is %u", w->out.path, size, MAX_CAPLEN);
    if ((w->out.rotate_size || w->out.rotate_time) && rtap_output_due(&w->out, w->used)) {
        r = rotate(w);
        if (r < 0)
            return r;
    }
    r = make_room(w, size + SLACK);
    if (r < 0)
        return r;
    w->data_at = w->used + (w->pcapng ? RTAP_EPB_HEAD : RTAP_PCAP_HEAD + (w->has_header ? 0 : RTAP_PCAP_HEADER));
    w->reserved = size;
    *data = w->buf + w->data_at;
    return 0;
}

static char *copy(const char *s, size_t max)
{
    return s ? strndup(s, max) : NULL;
}

static int writer_commit(struct rtap_sink *k, const struct rtap_pkt *meta)
{
    struct rtap_writer *w = (struct rtap_writer *)k;
    int r;

    if (w->err)
        return w->err;
    if (w->data_at == 0 || meta->caplen > w->reserved)
        return rtap_sink_fail(k, -EINVAL, "%s: commit without reserve", w->out.path);
    r = w->pcapng ? rtap_writer_commit_pcapng(w, meta) : rtap_writer_commit_pcap(w, meta);
    w->data_at = 0;
    if (r < 0)
        return r;
    w->queued++;
    w->queued_bytes += (unsigned)r;
    r = 0;
    if (w->unbuffered) {
        r = flush(w);
        if (r == -EINTR) {
            k->interrupted = true;
            r = 0; /* the packet is taken; the rest of it goes out with the next one */
        }
    }
    return r;
}

static int writer_kick(struct rtap_sink *k)
{
    struct rtap_writer *w = (struct rtap_writer *)k;

    w->data_at = 0;
    return w->err ? w->err : flush(w);
}

static void writer_stats(struct rtap_sink *k, struct rtap_sink_stats *st)
{
    struct rtap_writer *w = (struct rtap_writer *)k;

    st->sent = w->sent;
    st->bytes = w->sent_bytes;
    st->queued = w->queued;
    st->files = w->out.files;
}

static int writer_close(struct rtap_sink *k, char *err, size_t errlen)
{
    struct rtap_writer *w = (struct rtap_writer *)k;
    int r = w->err, c;
    unsigned i;

    if (r == 0) {
        r = end_file(w);
        if (r == -EINTR)
            rtap_sink_fail(k, r, "%s: interrupted, %llu packets are not written", w->out.path,
                           (unsigned long long)w->queued);
    } else if (r == -EXFULL) {
        r = 0; /* a planned end, and the file is complete */
    }
    c = rtap_output_close(&w->out);
    if (r == 0 && c < 0)
        r = writer_fail(w, c);
    if (r < 0 && err)
        snprintf(err, errlen, "%s", k->error);
    for (i = 0; i < w->if_count; i++)
        rtap_writer_free_if(&w->ifs[i]);
    free(w->ifs);
    free(w->comment);
    free(w->os);
    free(w->hardware);
    free(w->buf);
    free(w->out.base);
    free(w->out.path);
    free(k->name);
    free(w);
    return r;
}

static const struct rtap_sink_ops writer_ops = {
    .kind = "file",
    .reserve = writer_reserve,
    .commit = writer_commit,
    .kick = writer_kick,
    .stats = writer_stats,
    .close = writer_close,
};

static bool wants_pcap(const char *path)
{
    const char *dot = strrchr(path, '.');

    return dot && (strcmp(dot, ".pcap") == 0 || strcmp(dot, ".cap") == 0);
}

int rtap_write_open(struct rtap_sink **out, const struct rtap_write_config *cfg, char *err, size_t errlen)
{
    struct rtap_writer *w = calloc(1, sizeof(*w));
    const char *name = cfg->path ? cfg->path : "stream";
    bool misplaced;
    int r = -ENOMEM;

    *out = NULL;
    if (!w) {
        if (cfg->fd >= 0)
            close(cfg->fd);
        snprintf(err, errlen, "%s: %s", name, strerror(ENOMEM));
        return r;
    }
    w->sink.ops = &writer_ops;
    w->sink.wake_fd = -1;
    w->sink.name = strdup(name);
    w->out = (struct rtap_output){.fd = cfg->fd,
                                  .owns_fd = cfg->fd >= 0,
                                  .base = strdup(name),
                                  .rotate_size = cfg->rotate_size,
                                  .rotate_time = cfg->rotate_time,
                                  .rotate_count = cfg->rotate_count};
    w->pcapng = cfg->format == RTAP_FORMAT_PCAPNG || (cfg->format == RTAP_FORMAT_AUTO && !wants_pcap(name));
    misplaced = !w->pcapng && (cfg->comment || cfg->os || cfg->hardware);
    w->us = cfg->format == RTAP_FORMAT_PCAP_US;
    w->unbuffered = cfg->unbuffered;
    w->has_linktype = cfg->linktype != 0xffff;
    w->linktype = w->has_linktype ? cfg->linktype : RTAP_LINKTYPE_ETHERNET;
    w->snaplen = cfg->snaplen ? cfg->snaplen : RTAP_DEFAULT_SNAPLEN;
    w->comment = copy(cfg->comment, RTAP_MAX_TEXT);
    w->os = copy(cfg->os, RTAP_MAX_TEXT);
    w->hardware = copy(cfg->hardware, RTAP_MAX_TEXT);
    w->limit = cfg->buffer_size ? cfg->buffer_size : BUFFER_SIZE;
    w->limit += SLACK;
    w->buf = malloc(w->limit);
    if (misplaced) { /* before a file of that name is emptied */
        r = -EINVAL;
    } else if (w->sink.name && w->out.base && w->buf && (!cfg->comment || w->comment) && (!cfg->os || w->os) &&
               (!cfg->hardware || w->hardware)) {
        r = rtap_output_open(&w->out, cfg->fd);
        if (r == 0)
            r = begin_file(w);
        if (r == 0 && w->used)
            r = flush(w); /* who reads along sees a capture file at once; a full disk shows now */
        if (r == -EINTR)
            r = 0; /* a slow reader and a signal: the head goes out later */
    }
    if (r < 0) {
        if (!w->err)
            w->err = r;
        if (r == -ESPIPE)
            snprintf(err, errlen, "%s: a stream can't be rotated", name);
        else if (misplaced)
            snprintf(err, errlen, "%s: a pcap file has no place for comment, os and hardware: write pcapng", name);
        else
            snprintf(err, errlen, "%s: %s", w->out.path ? w->out.path : name, strerror(-r));
        writer_close(&w->sink, NULL, 0);
        return r;
    }
    *out = &w->sink;
    return 0;
}

int rtap_write_interface(struct rtap_sink *k, const struct rtap_write_if *wi)
{
    struct rtap_writer *w = (struct rtap_writer *)k;
    struct rtap_pkt like = {.ifname = wi->name, .ifindex = wi->ifindex, .linktype = wi->linktype};
    unsigned i;
    int r;

    if (w->err)
        return w->err;
    if (!w->pcapng)
        return 0; /* pcap has no place for it */
    for (i = 0; i < w->if_count; i++)
        if (rtap_writer_same_if(&w->ifs[i], &like, false))
            return 0;
    r = rtap_writer_add_if(w, wi, RTAP_MAX_TEXT);
    if (r < 0)
        return rtap_sink_fail(k, r, "%s: %s", w->out.path, strerror(-r));
    w->ifs[w->if_count - 1].declared = true;
    return put_interface(w, &w->ifs[w->if_count - 1]);
}

void rtap_write_counters(struct rtap_sink *k, uint32_t ifindex, uint64_t received, uint64_t dropped)
{
    struct rtap_writer *w = (struct rtap_writer *)k;
    unsigned i;

    for (i = 0; i < w->if_count; i++) {
        if (w->ifs[i].wi.ifindex != ifindex)
            continue;
        w->ifs[i].has_counters = true;
        w->ifs[i].received = received;
        w->ifs[i].dropped = dropped;
        return;
    }
}
