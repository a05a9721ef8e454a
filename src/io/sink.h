/*
 * struct sink: where packets go. reserve gives room for a frame, commit says that it is filled in and what is known
 * of it, kick passes what was committed to the kernel or the file; reserve takes back what has been sent.
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

/* Why a frame was not sent, or is not sent yet. */
enum rtap_cause {
    RTAP_NO_CAUSE,
    RTAP_FULL,        /* the queue to the kernel, or the socket's buffer */
    RTAP_NO_BUFFER,   /* ENOBUFS: the queueing discipline or the device refuses it for now */
    RTAP_LINK_DOWN,   /* ENETDOWN */
    RTAP_NO_CARRIER,  /* the other end is down or not connected: what is sent vanishes, or has vanished */
    RTAP_TOO_SHORT,   /* no whole link-layer header */
    RTAP_TOO_LONG,    /* longer than the MTU and the header */
    RTAP_INVALID,     /* another link type; the kernel calls it invalid */
    RTAP_DEVICE_GONE, /* ENXIO */
    RTAP_ABANDONED,   /* closed, or given up, before the kernel took it */
    RTAP_CAUSES,
};

struct rtap_sink_stats {
    uint64_t sent;   /* packets that the kernel or the file took for good */
    uint64_t bytes;  /* their captured bytes */
    uint64_t queued; /* committed, not yet taken */
    uint64_t files;  /* a rotating file sink: files begun */
    /* live sinks: sent + queued + all of refused is what was committed */
    uint64_t refused[RTAP_CAUSES];
    uint64_t waits[RTAP_CAUSES];             /* times that the kernel could take nothing more, and why */
    uint64_t calls;                          /* to the kernel, to send */
    const char *method, *reason;             /* how it sends, and why so; NULL: not a live sink */
    uint32_t frame_count, frame_size, limit; /* limit: bytes of the longest frame, without a tag */
    uint64_t super_frames;                   /* method "gso" */
};

struct rtap_sink_ops {
    const char *kind;
    /* Room for `size` bytes: *data points at it until commit or the next reserve. 0, -EAGAIN when full, -errno. */
    int (*reserve)(struct rtap_sink *k, uint32_t size, uint8_t **data);
    /* The reserved frame is filled in. meta->caplen is its size (<= reserved); meta->data is not looked at. A live
     * sink: -EINVAL, -EMSGSIZE when it can't be sent (counted, the reservation stays); what is queued may be kicked. */
    int (*commit)(struct rtap_sink *k, const struct rtap_pkt *meta);
    /* A whole packet at once, for a sink that has no use for a copy of its bytes; 0 or as reserve. May be NULL:
     * rtap_sink_send then copies by reserve and commit. */
    int (*send)(struct rtap_sink *k, const struct rtap_pkt *pkt);
    /* The same for a packet that nobody will write to any more: its memory may be sent from, where the sink can do
     * that, without a copy. NULL: as send. */
    int (*pass)(struct rtap_sink *k, const struct rtap_pkt *pkt);
    /* Pass on what was committed. A file: write it out. A live sink: 0 when the kernel took everything; -EAGAIN: not
     * yet, and `blocked` tells why; -ENXIO: the device is gone. */
    int (*kick)(struct rtap_sink *k);
    /* Live sinks have the rest: */
    /* kick said -EAGAIN: wait until it may get further. 1, 0 timed out, -EINTR. timeout in ns. */
    int (*wait)(struct rtap_sink *k, int64_t timeout);
    /* Forget what is queued: it counts as refused for that reason, with `more` frames that were never queued. */
    void (*drop)(struct rtap_sink *k, enum rtap_cause why, uint64_t more);
    /* What the kernel took and has not finished: frames or bytes, 0: nothing. */
    uint64_t (*pending)(struct rtap_sink *k);
    int (*fd)(struct rtap_sink *k);
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
    bool live;        /* packets go to an interface */
    enum rtap_cause blocked; /* why not all is passed on; RTAP_NO_CAUSE: it is */
    uint64_t refusals;       /* live: all that were refused */
    uint16_t linktype;       /* live: of what it sends */
    /* What is known of the packet that is sent next, as one among all that its source gave; NULL: a sink that wants to
     * know counts what it is sent. */
    const struct rtap_frame *frame;
    char *name;
    char error[512];
};

/* May a packet of that link type be sent by a live sink? */
static inline bool rtap_sink_takes(const struct rtap_sink *k, uint16_t linktype)
{
    return linktype == k->linktype ||
           (k->linktype == RTAP_LINKTYPE_RAW && (linktype == RTAP_LINKTYPE_IPV4 || linktype == RTAP_LINKTYPE_IPV6));
}

/* Give one packet to the sink, which is done with its bytes on return. */
int rtap_sink_send(struct rtap_sink *k, const struct rtap_pkt *pkt);
/* Likewise, without a copy if that can be. */
int rtap_sink_pass(struct rtap_sink *k, const struct rtap_pkt *pkt);
/* The errno that tells people what -EAGAIN of a live sink is about; others as they are. */
int rtap_sink_errno(const struct rtap_sink *k, int err);
extern const char *const rtap_cause_names[RTAP_CAUSES]; /* as stats() has them */
/* A live sink: count frames as refused, and return err. */
int rtap_sink_refuse(struct rtap_sink *k, struct rtap_sink_stats *st, enum rtap_cause cause, int err, uint64_t frames);
/* Nothing more can be sent now, for that reason: -EAGAIN with the sentence. */
int rtap_sink_blocked(struct rtap_sink *k, struct rtap_sink_stats *st, enum rtap_cause why);
/* Can the packet be sent as it is, by its kind and whole? 0, or counted, and -EINVAL with the sentence. */
int rtap_sink_check(struct rtap_sink *k, struct rtap_sink_stats *st, const struct rtap_pkt *pkt);
int rtap_sink_fail(struct rtap_sink *k, int err, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#endif
