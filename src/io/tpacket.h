/* Receiving from an AF_PACKET socket through a TPACKET_V3 ring. */
#ifndef RTAP_IO_TPACKET_H
#define RTAP_IO_TPACKET_H

#include "source.h"

enum rtap_fanout_mode { /* PACKET_FANOUT_*, in the kernel's order */
                        RTAP_FANOUT_HASH,
                        RTAP_FANOUT_LB,
                        RTAP_FANOUT_CPU,
                        RTAP_FANOUT_ROLLOVER,
                        RTAP_FANOUT_RND,
                        RTAP_FANOUT_QM,
                        RTAP_FANOUT_CBPF,
                        RTAP_FANOUT_EBPF,
                        RTAP_FANOUT_NONE,
};

struct rtap_fanout_config {
    int mode;
    int64_t id; /* -1: the kernel picks one */
    bool defrag, rollover;
    const void *program; /* cbpf: struct sock_filter[] */
    size_t program_size;
    int64_t fd; /* ebpf: of the program */
};

struct rtap_tpacket_config {
    const char *ifname;                         /* "any": all */
    const char *netns;                          /* name as `ip netns` has it, or a path; NULL: here */
    int64_t block_size, block_count, ring_size; /* 0: default */
    int64_t snaplen;
    int64_t retire_timeout; /* ns; 0: the kernel picks; -1: default */
    int latency;            /* 1: low */
    int direction;          /* RTAP_DIR_*; -1: default (both, loopback once) */
    int timestamp;          /* 1: hardware */
    bool promisc, ignore_vlan;
    bool offload; /* PACKET_VNET_HDR: packets keep what is needed to send them on */
    struct rtap_fanout_config fanout;
};

/*
 * Opening goes in two steps because a filter can be compiled only when the link type is known: _new makes the socket
 * (protocol 0: it receives nothing) and the ring, _start attaches the filter, clears the counters, binds and joins the
 * fanout group. f may be NULL. On error _new leaves *out NULL and has the sentence in err; after a failed _start (text
 * in source->error) the source is to be closed.
 */
int rtap_tpacket_new(struct rtap_source **out, const struct rtap_tpacket_config *cfg, char *err, size_t errlen);
int rtap_tpacket_start(struct rtap_source *s, struct rtap_filter *f);

#endif
