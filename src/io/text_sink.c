/*
 * The sink that prints. It owns its descriptor, a buffer of text, and a frame for callers that reserve and commit.
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
    struct rtap_line_style style;
    struct rtap_output out; /* its descriptor; nothing else of it is used */
    int failed;             /* 0 or the -errno that ended it */
    bool line_buffered;
    char *buf;
    size_t size, used;
    uint8_t *frame; /* what reserve gave out */
    size_t frame_size;
    uint64_t sent, sent_bytes, queued, queued_bytes;
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

static int text_send(struct rtap_sink *k, const struct rtap_pkt *pkt)
{
    struct text_sink *t = text_sink(k);

    if (t->failed != 0)
        return t->failed;
    for (;;) {
        struct rtap_line_style before = t->style;
        size_t room = t->size - t->used, len = rtap_line(pkt, &t->style, t->buf + t->used, room);
        int r;

        if (len < room) {
            t->used += len;
            t->buf[t->used++] = '\n';
            break;
        }
        /* as if it had not been tried */
        t->style = before;
        if (t->used > 0) {
            r = flush(t);
            if (r < 0)
                return r;
        } else {
            char *buf = malloc(len + 1);

            if (buf == NULL)
                return rtap_sink_fail(k, -ENOMEM, "%s: %s", k->name, strerror(ENOMEM));
            free(t->buf);
            t->buf = buf;
            t->size = len + 1;
        }
    }
    t->queued++;
    t->queued_bytes += pkt->caplen;
    if (t->line_buffered) {
        int r = flush(t);

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

int rtap_text_open(struct rtap_sink **out, int fd, const char *name, const struct rtap_line_style *style,
                   bool line_buffered, char *err, size_t errlen)
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
    t->out.fd = fd;
    t->out.regular = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    t->line_buffered = line_buffered || isatty(fd);
    t->style = *style;
    t->style.first = t->style.previous = t->style.minute = 0;
    t->style.count = 0;
    t->style.started = false;
    t->style.minute_len = 0;
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
