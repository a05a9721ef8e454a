/*
 * One program, other memory: a load map tells where each byte of the frame that a program was written for is found in
 * the memory that it will run on.
 */
#ifndef RTAP_PACKET_BPF_REWRITE_H
#define RTAP_PACKET_BPF_REWRITE_H

#include "bpf_run.h"

enum rtap_load_source {                 /* regions of _AUX and _CONST are at most 4 bytes wide */
                        RTAP_LOAD_DATA, /* the byte at its offset + delta in the data */
                        RTAP_LOAD_AUX,  /* a byte of the big-endian value that the kernel keeps as SKF_AD_<value>; it is
                                           as wide as the  region */
                        RTAP_LOAD_CONST, /* a byte of the big-endian number `value`, likewise */
                        RTAP_LOAD_NONE,  /* nowhere */
};

struct rtap_load_region { /* from `from` up to the next region's; the last one has no end and is RTAP_LOAD_DATA */
    uint32_t from;
    enum rtap_load_source source;
    int32_t delta;
    uint32_t value;
};

struct rtap_load_map {
    const struct rtap_load_region *regions; /* the first one's `from` is 0 */
    unsigned count;
    int32_t len_delta; /* the length that the program sees minus the one that `ld len` gives */
};

struct rtap_rewrite {
    struct rtap_load_map map;
    bool kernel;     /* for the kernel: 16 scratch slots, and its differences from libpcap's interpreter guarded */
    uint32_t accept; /* what accepting returns; 0: what the program says */
};

/* *out is malloc'ed: a program that answers for its memory what the given one (which rtap_bpf_check accepted) answers
 * for the frame. 0, -ENOTSUP (reads what is RTAP_LOAD_NONE, has no scratch slot free, or loops: for the kernel),
 * -ENOMEM. */
int rtap_bpf_rewrite(const struct rtap_rewrite *how, const struct sock_filter *insns, unsigned count,
                     struct sock_filter **out, unsigned *out_count);

#endif
