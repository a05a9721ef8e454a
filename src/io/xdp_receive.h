/* Shared by xdp_source.c (opening, filter, counters, end) and xdp_receive.c (taking packets, waiting for them). */
#ifndef RTAP_IO_XDP_RECEIVE_H
#define RTAP_IO_XDP_RECEIVE_H

#include "xdp_port.h"

#define RTAP_XDP_BATCH 64
#define RTAP_XDP_LOOK_EVERY 200000000 /* ns between looks whether the device is still there */

struct rtap_xdp_batch {
    struct rtap_block block;
    struct rtap_xsk *xsk; /* NULL: put together; the bytes follow */
    uint32_t first, count;
    struct rtap_xdp_batch *next; /* free ones */
    _Alignas(8) uint8_t bytes[];
};

struct rtap_xdp_unread {
    uint8_t *data;
    uint32_t len;
};

struct rtap_xdp_source {
    struct rtap_source source;
    struct rtap_xdp_port *port;
    struct rtap_pkt proto;
    struct rtap_xdp_batch *batches, *free;
    struct rtap_xdp_unread unread[RTAP_XDP_BATCH];
    unsigned at, count;
    unsigned turn;         /* the queue that is looked at first */
    uint32_t out;          /* frames in batches */
    uint64_t taken;        /* packets from the RX rings */
    int64_t tai_offset;    /* CLOCK_TAI - CLOCK_REALTIME, ns */
    int64_t batch_time;    /* of packets without a stamp */
    bool flowing;          /* something was taken since the last wait */
    uint64_t waited_taken; /* taken at the last wait */
    int64_t waited_at;
    int64_t next_look;
    int epoll;
    bool gone, draining, started, ended;
    int64_t drained_at;
    bool recheck; /* source.filter is there until what the old one let through is gone */
    uint64_t recheck_until;
    const char *engine;
    struct rtap_xdp_counts counts; /* the last ones of a program that is gone */
    struct xdp_statistics kernel;
    uint64_t hardware_time;
    uint32_t snaplen;
};

static inline struct rtap_xdp_source *rtap_xdp_source_of(struct rtap_source *s)
{
    return (struct rtap_xdp_source *)s;
}

/* Of struct rtap_source_ops. */
int rtap_xdp_next(struct rtap_source *s, struct rtap_pkt *pkt);
void rtap_xdp_release(struct rtap_block *block);
int rtap_xdp_wait(struct rtap_source *s, int64_t timeout);

#endif
