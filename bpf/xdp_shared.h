/* What the XDP program and src/io share: the layout of its maps, and of what it writes in front of a frame. */
#ifndef RTAP_XDP_SHARED_H
#define RTAP_XDP_SHARED_H

#include <linux/types.h>

#define RTAP_XDP_MAX_QUEUES 256

enum rtap_xdp_slot { RTAP_XDP_SLOT_FILTER, RTAP_XDP_SLOT_REDIRECT, RTAP_XDP_SLOTS }; /* of the map `programs` */

/* In front of each frame that was redirected: written by the program, in the machine's byte order. */
struct rtap_xdp_stamp {
    __u64 time;     /* CLOCK_TAI, ns */
    __u64 hardware; /* the device's receive time, ns; 0: none */
    __u32 hash;     /* the device's receive hash */
    __u16 tci, tpid; /* the tag that the device took out; tpid 0: none */
    __u32 flags;    /* RTAP_XDP_HAS_* */
    __u32 magic;    /* RTAP_XDP_MAGIC: the rest means something */
};

#define RTAP_XDP_MAGIC 0x52544150u
#define RTAP_XDP_HAS_HASH 1u

/* What the device says of the frame that runs now: the one element, per CPU, of the map `current`. */
struct rtap_xdp_current {
    __u64 hardware;
    __u32 hash, flags;
    __u16 tci, tpid;
    __u32 pad;
};

/* Per CPU, the one element of the map `counters`. */
struct rtap_xdp_counters {
    __u64 seen;       /* frames that came to the program */
    __u64 matched;    /* that the filter, or no filter, let through */
    __u64 redirected; /* given to the socket of their queue */
    __u64 passed;     /* matched, and no socket on their queue: to the host */
    __u64 unstamped;  /* redirected without a stamp: the driver has no room for one */
};

#endif
