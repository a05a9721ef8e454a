/*
 * The send loop: frames made from templates, with values that change, at a rate. Whoever runs it calls step until it
 * says that it is over, and may do between two steps what has to be done meanwhile (signals, hooks, telling progress).
 */
#ifndef RTAP_IO_BLAST_H
#define RTAP_IO_BLAST_H

#include "../packet/vary.h"
#include "pace.h"
#include "sink.h"

#define RTAP_BLAST_MOST 1024 /* frames of a batch */

struct rtap_template {
    struct rtap_pkt pkt; /* its bytes, and their kind */
    struct rtap_layout layout;
};

enum rtap_blast_end { RTAP_BLAST_GOES_ON, RTAP_BLAST_COUNT, RTAP_BLAST_DURATION, RTAP_BLAST_STUCK, RTAP_BLAST_FAILED };

struct rtap_blast {
    struct rtap_sink *sink;
    struct rtap_template **templates; /* taken in turn */
    unsigned template_count;
    struct rtap_vary *varies;
    unsigned vary_count;
    uint64_t count;         /* frames to be made, UINT64_MAX: no limit */
    int64_t duration;       /* ns, INT64_MAX: no limit */
    int64_t patience;       /* ns that it waits while nothing can be sent */
    double packet_interval; /* ns from frame to frame, or 0 */
    double bit_interval;    /* ns for each bit of a frame, or 0; both 0: as fast as it goes */
    unsigned burst;         /* frames that are made at once; 0: as the rate needs */
    bool asks;              /* some value is RTAP_VARY_ASK: */
    void (*ask)(void *context, struct rtap_blast *b, uint64_t first, unsigned n); /* frames first ... first + n - 1 */
    void *context;

    uint64_t made;
    unsigned next;          /* template of the next frame */
    int64_t started, ended; /* CLOCK_MONOTONIC */
    int64_t stuck_since;    /* 0: it isn't */
    double due;             /* of the next frame, ns from the start */
    struct rtap_pacer pacer;
    struct rtap_histogram late;
    double dues[RTAP_BLAST_MOST]; /* of frames that are made and not passed on */
    unsigned waiting;
    enum rtap_blast_end end;
    int error; /* of RTAP_BLAST_FAILED and _STUCK; the sentence is the sink's */
};

/* All that is to be set is set; the rest is zero. */
void rtap_blast_begin(struct rtap_blast *b);
/* One batch, or a wait of 10 ms at most: 1, 0 when it is over, -EINTR. */
int rtap_blast_step(struct rtap_blast *b);
/* Over, whatever the reason: what is still queued counts as refused. Twice is harmless. */
void rtap_blast_end(struct rtap_blast *b);

#endif
