/*
 * AF_XDP: a source, a sink, or both on one packet memory (a port).
 *
 * struct rtap_xdp_pool is the UMEM with an account of its frames: who owns each, and where it is. Ports that share it
 * pass frames to each other without copying. A frame is with the kernel (in a fill ring), in a batch that was received,
 * or on its way out; it goes back to its owner's fill ring (or free list, for a frame that is only sent from) when the
 * last of these lets go of it.
 */
#ifndef RTAP_IO_XDP_H
#define RTAP_IO_XDP_H

#include "sink.h"
#include "source.h"
#include "xdp_program.h"

struct rtap_xdp_port;

/* Queues that were closed here a moment ago: the kernel gives them back late, so that opening one again has to wait. */
struct rtap_xdp_memory {
    struct {
        int64_t closed; /* CLOCK_MONOTONIC, ns */
        int ifindex;
        uint32_t queue;
        uint64_t netns;
    } last[64];
    unsigned next;
};

#define RTAP_XDP_ALL UINT32_MAX
#define RTAP_XDP_MOST_QUEUES 64

struct rtap_xdp_port_config {
    const char *ifname, *netns;
    uint32_t queues[RTAP_XDP_MOST_QUEUES];
    unsigned queue_count;           /* 0: all */
    int64_t ring_size, frame_count; /* 0: default; frame_count: of each queue and direction */
    int64_t frame_size, headroom;   /* bytes; frame_size 0: default */
    int64_t latency;                /* ns; -1: default */
    int64_t busy_poll;              /* us */
    int64_t port_count;             /* ports that will share the UMEM; 0: 1 */
    int mode;                       /* enum rtap_xdp_mode */
    int copy, fragments, metadata;  /* 1, 0, -1: auto */
    bool unaligned, huge_pages, replace, promisc;
    bool hardware_time; /* a packet's time is the device's, where it tells one */
    bool receives, sends;
    const char *program, *map, *pass;
    struct rtap_xdp_port *share; /* NULL: a UMEM of its own */
    struct rtap_xdp_memory *memory;
};

/* Sockets bound and, for one that receives, the program loaded; nothing is caught yet. 0 or -errno with the sentence.
 * The caller has one reference. */
int rtap_xdp_port_open(struct rtap_xdp_port **out, const struct rtap_xdp_port_config *cfg, char *err, size_t errlen);
void rtap_xdp_port_unref(struct rtap_xdp_port *p);

/* The source of a port that receives, once. It has a reference of its own. _start attaches the program with a filter
 * (NULL: none) and begins to receive; after a failed one (text in source->error) the source is to be closed. */
int rtap_xdp_source_new(struct rtap_source **out, struct rtap_xdp_port *p, uint32_t snaplen, char *err, size_t errlen);
int rtap_xdp_source_start(struct rtap_source *s, struct rtap_filter *f);
/* The sink of a port that sends, once, likewise. */
int rtap_xdp_sink_new(struct rtap_sink **out, struct rtap_xdp_port *p, char *err, size_t errlen);

/* How it was opened, for mode(), zerocopy(), queues(). */
struct rtap_xdp_facts {
    enum rtap_xdp_mode mode;
    bool zerocopy, fragments, metadata, attached;
    unsigned queue_count;
    const uint32_t *queues;
    uint32_t ring_size, frame_size, frame_count;
};
bool rtap_xdp_source_facts(struct rtap_source *s, struct rtap_xdp_facts *f); /* false: another kind of source */
bool rtap_xdp_sink_facts(struct rtap_sink *k, struct rtap_xdp_facts *f);
/* Is it a received packet that this sink can send without a copy? */
bool rtap_xdp_sink_has(struct rtap_sink *k, const struct rtap_pkt *pkt);

#endif
