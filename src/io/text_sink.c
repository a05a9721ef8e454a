/*
 * The sink that prints. It owns its descriptor, what makes the lines, a buffer of text, and a frame for callers that
 * reserve and commit.
 *
 * Invariants: buf[0..used) is text not yet written; after a hard error nothing is written any more and every call
 * returns that error.
 */
#include "text_sink.h"

#include "savefile_output.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUFFER_SIZE 65536

struct text_sink {
    struct rtap_sink sink;
    struct rtap_format *format;
    struct rtap_output out; /* its descriptor; nothing else of it is used */
    int failed;             /* 0 or the -errno that ended it */
    bool line_buffered;
    char *buf;
    size_t size, used;
    uint8_t *frame; /* what reserve gave out */
    size_t frame_size;
    uint64_t sent, sent_bytes, queued, queued_bytes;
    struct rtap_frame own; /* where nobody else counts */
};

static struct text_sink *text_sink(struct rtap_sink *k)
{
    return (struct text_sink *)((char *)k - offsetof(struct text_sink, sink));
}

/* -EINTR: a signal ended the wait for a slow reader; what is left is still queued. Other errors are final. */
static int flush(struct text_sink *t)
{
    size_t done = 0;
    int r;

    if (t->failed != 0)
        return t->failed;
    r = rtap_output_write(&t->out, t->buf, t->used, &done, t->sink.wake_fd);
    t->used -= done;
    memmove(t->buf, t->buf + done, t->used);
    if (r == -EINTR)
        return r;
    if (r < 0) {
        t->failed = rtap_sink_fail(&t->sink, r, "%s: %s", t->sink.name, strerror(-r));
        t->used = 0;
    } else {
        t->sent += t->queued;
        t->sent_bytes += t->queued_bytes;
    }
    t->queued = t->queued_bytes = 0;
    return r;
}

typedef size_t (*writer)(struct rtap_format *f, char *buf, size_t size);

/* Let it write into the buffer, which is emptied or made larger until it fits. */
static int put(struct text_sink *t, writer write)
{
    for (;;) {
        size_t room = t->size - t->used, len = write(t->format, t->buf + t->used, room);

        if (len < room) {
            t->used += len;
            return 0;
        }
        if (t->used > 0) {
            int r = flush(t);

            if (r < 0)
                return r;
        } else {
            char *buf = malloc(len + 1);

            if (buf == NULL)
                return rtap_sink_fail(&t->sink, -ENOMEM, "%s: %s", t->sink.name, strerror(ENOMEM));
            free(t->buf);
            t->buf = buf;
            t->size = len + 1;
        }
    }
}

static const struct rtap_frame *count(struct text_sink *t, const struct rtap_pkt *pkt)
{
    if (t->own.number == 0)
        t->own.first = t->own.previous = pkt->time == RTAP_NO_TIME ? 0 : pkt->time; /* as rtap_source_time() has it */
    t->own.number++;
    return &t->own;
}

static int text_send(struct rtap_sink *k, const struct rtap_pkt *pkt)
{
    struct text_sink *t = text_sink(k);
    struct rtap_frame before = t->own;
    int64_t time = pkt->time == RTAP_NO_TIME ? 0 : pkt->time;
    uint32_t caplen = pkt->caplen;
    int r;

    if (t->failed != 0)
        return t->failed;
    k->busy = true; /* from here on pkt may be gone */
    r = t->format->ops->take(t->format, pkt, k->frame != NULL ? k->frame : count(t, pkt));
    if (r < 0)
        rtap_sink_fail(k, r, "%s: %s", k->name, strerror(-r));
    else
        r = put(t, t->format->ops->write);
    k->busy = false;
    if (r < 0) {
        t->own = before;
        return r;
    }
    t->own.previous = time;
    t->buf[t->used++] = '\n'; /* what is written is shorter than its room */
    t->queued++;
    t->queued_bytes += caplen;
    if (t->line_buffered) {
        r = flush(t);
        if (r != -EINTR)
            return r;
        k->interrupted = true; /* the line is queued: the next one, or a kick, takes it along */
    }
    return 0;
}

static int text_reserve(struct rtap_sink *k, uint32_t size, uint8_t **data)
{
    struct text_sink *t = text_sink(k);

    if (t->failed != 0)
        return t->failed;
    if (t->frame == NULL || size > t->frame_size) {
        uint8_t *frame = malloc(size > 0 ? size : 1);

        if (frame == NULL)
            return rtap_sink_fail(k, -ENOMEM, "%s: %s", k->name, strerror(ENOMEM));
        free(t->frame);
        t->frame = frame;
        t->frame_size = size;
    }
    *data = t->frame;
    return 0;
}

static int text_commit(struct rtap_sink *k, const struct rtap_pkt *meta)
{
    struct rtap_pkt pkt = *meta;

    pkt.data = text_sink(k)->frame;
    return text_send(k, &pkt);
}

static int text_kick(struct rtap_sink *k)
{
    return flush(text_sink(k));
}

static void text_stats(struct rtap_sink *k, struct rtap_sink_stats *st)
{
    struct text_sink *t = text_sink(k);

    *st = (struct rtap_sink_stats){.sent = t->sent, .bytes = t->sent_bytes, .queued = t->queued};
}

static int text_close(struct rtap_sink *k, char *err, size_t errlen)
{
    struct text_sink *t = text_sink(k);
    int r = flush(t);

    if (r < 0 && errlen > 0)
        snprintf(err, errlen, "%s", k->error);
    close(t->out.fd);
    t->format->ops->free(t->format);
    free(t->frame);
    free(t->buf);
    free(t->sink.name);
    free(t);
    return r;
}

static const struct rtap_sink_ops text_ops = {
    .kind = "text",
    .reserve = text_reserve,
    .commit = text_commit,
    .send = text_send,
    .kick = text_kick,
    .stats = text_stats,
    .close = text_close,
};

int rtap_text_open(struct rtap_sink **out, int fd, const char *name, struct rtap_format *format, bool line_buffered,
                   char *err, size_t errlen)
{
    struct text_sink *t = calloc(1, sizeof(*t));
    struct stat st;

    *out = NULL;
    if (t == NULL)
        goto no_memory;
    t->sink.ops = &text_ops;
    t->sink.wake_fd = -1;
    t->sink.name = strdup(name);
    t->buf = malloc(BUFFER_SIZE);
    if (t->sink.name == NULL || t->buf == NULL)
        goto free_sink;
    t->size = BUFFER_SIZE;
    t->format = format;
    if (format->ops->head != NULL && put(t, format->ops->head) < 0)
        goto free_sink;
    t->out.fd = fd;
    /* what never waits for a reader: files, and devices like /dev/null */
    t->out.regular = fstat(fd, &st) == 0 && (S_ISREG(st.st_mode) || (S_ISCHR(st.st_mode) && !isatty(fd)));
    t->line_buffered = line_buffered || isatty(fd);
    *out = &t->sink;
    return 0;

free_sink:
    free(t->buf);
    free(t->sink.name);
    free(t);
no_memory:
    snprintf(err, errlen, "%s", strerror(ENOMEM));
    return -ENOMEM;
}
