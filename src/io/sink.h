/*
 * struct sink: where packets go. reserve gives room for a frame, commit says that it is filled in and what is known
 * of it, kick passes what was committed to the kernel or the file, reap takes back what has been sent.
 *
 * Errors are -errno, with the sentence for people in sink->error.
 */
#ifndef RTAP_IO_SINK_H
#define RTAP_IO_SINK_H

#include "../packet/pkt.h"
#include <stdbool.h>
#include <stddef.h>

struct rtap_sink;
struct rtap_frame; /* packet/engine.h */

struct rtap_sink_stats {
    uint64_t sent;   /* packets that the kernel or the file took for good */
    uint64_t bytes;  /* their captured bytes */
    uint64_t queued; /* committed, not yet taken */
    uint64_t files;  /* a rotating file sink: files begun */
};

struct rtap_sink_ops {
    const char *kind;
    /* Room for `size` bytes: *data points at it until commit or the next reserve. 0, -EAGAIN when full, -errno. */
    int (*reserve)(struct rtap_sink *k, uint32_t size, uint8_t **data);
    /* The reserved frame is filled in. meta->caplen is its size (<= reserved); meta->data is not looked at. */
    int (*commit)(struct rtap_sink *k, const struct rtap_pkt *meta);
    /* A whole packet at once, for a sink that has no use for a copy of its bytes; 0 or as reserve. May be NULL:
     * rtap_sink_send then copies by reserve and commit. */
    int (*send)(struct rtap_sink *k, const struct rtap_pkt *pkt);
    /* Pass on what was committed. A file: write it out. */
    int (*kick)(struct rtap_sink *k);
    /* Take back finished frames; NULL where there is nothing to take back. */
    int (*reap)(struct rtap_sink *k);
    void (*stats)(struct rtap_sink *k, struct rtap_sink_stats *st);
    /* Finish (write what is left, close) and free everything, the struct too. The first error is returned, with its
     * sentence in err. */
    int (*close)(struct rtap_sink *k, char *err, size_t errlen);
};

struct rtap_sink {
    const struct rtap_sink_ops *ops;
    int wake_fd;      /* when this gets readable a write to a stream ends with -EINTR; -1: none */
    bool interrupted; /* a call that had taken its packet was interrupted while it wrote: whoever cares clears it */
    bool busy;        /* a call runs Lua: no other one now */
    /* What is known of the packet that is sent next, as one among all that its source gave; NULL: a sink that wants to
     * know counts what it is sent. */
    const struct rtap_frame *frame;
    char *name;
    char error[512];
};

/* Give one packet to the sink, which is done with its bytes on return. */
int rtap_sink_send(struct rtap_sink *k, const struct rtap_pkt *pkt);
int rtap_sink_fail(struct rtap_sink *k, int err, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#endif
