/*
 * struct source: where packets come from. A new kind of wire is one file that fills in rtap_source_ops.
 *
 * Memory and time of life
 *   Packets point into blocks (a TPACKET_V3 block, a piece of a file). A block is pinned by the source while packets
 *   in it are unread, by a loop while it shows one of them, and by each held packet. When the last pin goes the block
 * is given back (ops->release). A source is counted too: one reference for its owner, one for each pinned block, so its
 *   mappings outlive rtap_source_close() exactly as long as somebody still looks at them.
 *
 * Errors are -errno, with the sentence for people in source->error.
 */
#ifndef RTAP_IO_SOURCE_H
#define RTAP_IO_SOURCE_H

#include "../packet/filter.h"
#include "../packet/pkt.h"
#include <stddef.h>

struct rtap_source;

struct rtap_block {
    unsigned pins;
    struct rtap_source *source;
};

enum rtap_next {
    RTAP_AGAIN = 0,    /* nothing now: wait */
    RTAP_PACKET = 1,   /* *pkt is filled in and points into source->block */
    RTAP_END = 2,      /* no more packets, ever */
    RTAP_REJECTED = 3, /* a block's worth was rejected by the filter: look at the clock, call again */
};

struct rtap_drops { /* one cause, by its name in stats(): "ring_full" ... */
    const char *cause;
    uint64_t count;
};

struct rtap_source_stats {
    uint64_t delivered; /* handed to a loop */
    uint64_t filtered;  /* rejected where it can be counted */
    uint64_t dropped;
    bool knows_filtered; /* false: the kernel rejects uncounted, so `seen` and `filtered` are unknown */
    bool knows_dropped;
    struct rtap_drops drops[8]; /* ends with cause == NULL */
    uint64_t queued;            /* accepted, not yet read */
    uint64_t freezes;
    bool has_queued; /* queued means something */
    bool has_ring;   /* that too, and block_size .. freezes */
    uint64_t block_size, block_count;
    bool has_size; /* position and size mean something: bytes of a regular file, as they lie on the disk */
    uint64_t position, size;
    const char *timestamp_source; /* "software", "hardware", or NULL */
    int fanout_id;                /* -1: none */
    const char *filter_engine;    /* "kernel", "user", or NULL without a filter */
};

/* An interface that packets may come from, as src:interfaces() tells it. */
struct rtap_source_if {
    const char *name, *description, *filter; /* NULL where unknown */
    uint32_t id;                             /* what rtap_pkt.ifindex holds */
    uint32_t snaplen;                        /* 0 = no limit */
    uint16_t linktype;
    bool has_received, has_dropped; /* from an Interface Statistics Block */
    uint64_t received, dropped;
};

struct rtap_source_ops {
    const char *kind;  /* "packet", "file", "memory" */
    bool live;         /* packets come from an interface */
    bool sums_unknown; /* live: packets don't tell whether a checksum was left to the hardware */
    /* Next packet, or RTAP_AGAIN / RTAP_END / -errno. Never blocks for a live source; see source.c for the pin rules.
     */
    int (*next)(struct rtap_source *s, struct rtap_pkt *pkt);
    /* The last pin of a block went. */
    void (*release)(struct rtap_block *b);
    /* Wait until next() may have something: 1 ready, 0 timed out, -EINTR, -errno. timeout in ns, < 0 for ever.
     * NULL: poll ops->fd. */
    int (*wait)(struct rtap_source *s, int64_t timeout);
    /* Descriptor to poll for reading, or -1. */
    int (*fd)(struct rtap_source *s);
    /* Take over `f` (may be NULL: no filter): after it returns, next() gives no packet that f rejects. The source takes
     * its own reference. NULL: match in user space in rtap_source_next. */
    int (*filter)(struct rtap_source *s, struct rtap_filter *f);
    /* Begin again. NULL: it can't. */
    void (*rewind)(struct rtap_source *s);
    /* Take no more from the wire; next() gives what was already accepted, then RTAP_END. NULL: nothing to do. */
    int (*drain)(struct rtap_source *s);
    /* Fill in what is known; the caller has zeroed it and set delivered/filtered. */
    void (*stats)(struct rtap_source *s, struct rtap_source_stats *st);
    /* i-th interface (from 0); false when there is none. */
    bool (*interface)(struct rtap_source *s, unsigned i, struct rtap_source_if *out);
    /* Stop intake at once. Blocks may still be pinned: only what no pin needs may be freed here. May be NULL. */
    void (*close)(struct rtap_source *s);
    /* Nobody refers to it any more: free everything, the struct itself too. */
    void (*destroy)(struct rtap_source *s);
};

struct rtap_source {
    const struct rtap_source_ops *ops;
    struct rtap_block *block;   /* where the cursor is; pinned by the source while it has unread packets */
    struct rtap_filter *filter; /* applied in user space to each packet, or NULL */
    uint64_t delivered, filtered;
    int64_t first, previous, latest; /* times: of the first packet, of the last two; those that were rejected count */
    unsigned refs;
    uint16_t linktype; /* of the source; a pcapng file's packets may differ */
    bool closed;
    int wake_fd; /* when this gets readable a wait ends with -EINTR; -1: none */
    char *name;
    char error[512];
};

/* ppoll on fd and s->wake_fd: 1 readable or in error (*revents if not NULL), 0 timed out, -EINTR, -errno. */
int rtap_source_poll(struct rtap_source *s, int fd, int64_t timeout, short *revents);
/* Set up the common part; `name` is copied. refs is 1. -ENOMEM. */
int rtap_source_init(struct rtap_source *s, const struct rtap_source_ops *ops, const char *name);
/* Free the common part: the last thing that ops->destroy does before freeing its struct. */
void rtap_source_fini(struct rtap_source *s);
/* The owner lets go. Safe in any order with pins. */
void rtap_source_close(struct rtap_source *s);
void rtap_source_unref(struct rtap_source *s);
int rtap_source_wait(struct rtap_source *s, int64_t timeout);
int rtap_source_filter(struct rtap_source *s, struct rtap_filter *f);
void rtap_source_stats(struct rtap_source *s, struct rtap_source_stats *st);
/* printf into s->error; returns err so that `return rtap_source_fail(s, -EIO, ...)` reads well. */
int rtap_source_fail(struct rtap_source *s, int err, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

static inline void rtap_block_pin(struct rtap_block *b)
{
    if (b->pins++ == 0)
        b->source->refs++;
}

static inline void rtap_block_unpin(struct rtap_block *b)
{
    if (--b->pins == 0) {
        struct rtap_source *s = b->source;

        s->ops->release(b);
        rtap_source_unref(s);
    }
}

/* What others count a packet without a time as, as Wireshark does. */
static inline int64_t rtap_source_time(const struct rtap_pkt *pkt)
{
    return pkt->time == RTAP_NO_TIME ? 0 : pkt->time;
}

/* ops->next and the user-space filter. */
static inline int rtap_source_next(struct rtap_source *s, struct rtap_pkt *pkt)
{
    struct rtap_block *before = s->block;

    for (;;) {
        int r = s->ops->next(s, pkt);

        if (r != RTAP_PACKET)
            return r;
        if (__builtin_expect(s->delivered + s->filtered == 0, 0))
            s->first = s->latest = rtap_source_time(pkt);
        s->previous = s->latest;
        s->latest = rtap_source_time(pkt);
        if (__builtin_expect(s->filter != NULL, 0)) {
            int m = rtap_filter_match(s->filter, pkt, s->error, sizeof(s->error));

            if (m < 0) {
                s->filtered++;
                return m;
            }
            if (m == 0) {
                s->filtered++;
                if (s->block != before)
                    return RTAP_REJECTED;
                continue;
            }
        }
        s->delivered++;
        return r;
    }
}

#endif
