/* Shared by tpacket.c (the running source) and tpacket_setup.c (making socket and ring, joining a fanout group). */
#ifndef RTAP_IO_TPACKET_SETUP_H
#define RTAP_IO_TPACKET_SETUP_H

#include "ring.h"
#include "tpacket.h"
#include <net/if.h>

struct known_name {
    struct known_name *next;
    uint32_t ifindex;
    char name[IF_NAMESIZE];
};

struct tpacket {
    struct rtap_source source;
    struct rtap_ring ring;
    int fd;
    int ifindex; /* 0: any */
    uint8_t *map;
    size_t map_size;
    int64_t retire_timeout; /* ns */
    struct rtap_filter_env env;
    const char *engine; /* who runs the expression: "kernel", "user", NULL without one */
    bool bound, promisc, gone, down, draining, drained;
    int64_t last_block_at;  /* when gone or draining: CLOCK_MONOTONIC, by then the last block has come */
    bool uncounted;         /* the kernel rejects, or has rejected, without counting */
    bool recheck;           /* source.filter is only there until the ring has gone round */
    uint64_t recheck_until; /* block sequence number */
    uint64_t accepted, dropped, freezes;
    uint64_t folded_at;
    int fanout_id;
    struct rtap_fanout_config fanout; /* program points into memory that lives until _start returns */
    struct known_name *names, *last_name;
};

extern const struct rtap_source_ops rtap_tpacket_ops;
const char *rtap_tpacket_ifname(struct rtap_source *s, uint32_t ifindex);
int rtap_tpacket_join_fanout(struct tpacket *t);

#endif
