/*
 * A filter expression as an XDP program: classic BPF translated to eBPF, with direct packet access. See filter_xdp.c.
 *
 * What the kernel must be: Linux 5.18; 6.6 for programs of more than 32767 instructions; 6.9 for loops (`protochain`).
 * One limit is the verifier's: bytes from 65535 on can't be seen, a load from there finds nothing.
 */
#ifndef RTAP_PACKET_FILTER_XDP_H
#define RTAP_PACKET_FILTER_XDP_H

#include "filter.h"

struct bpf_insn;

struct rtap_xdp_env {
    bool frags;    /* BPF_F_XDP_HAS_FRAGS: a frame may lie in several buffers */
    int programs;  /* a BPF_MAP_TYPE_PROG_ARRAY: a match jumps to its slot `next`; -1: the program stands alone */
    uint32_t next; /* of programs */
    int metadata;  /* a BPF_MAP_TYPE_PERCPU_ARRAY of one element: a struct rtap_xdp_tag at tag_offset says what the
                    * device took out of the frame that runs now; -1: there is none */
    uint32_t tag_offset;
};

struct rtap_xdp_tag {   /* of the element of `metadata` */
    uint16_t tci, tpid; /* host order; tpid 0: no tag was taken out */
};

/* What a program that stands alone returns (enum xdp_action). Otherwise: XDP_PASS when it does not match, or when the
 * slot is empty. */
#define RTAP_XDP_MATCH 3    /* XDP_TX */
#define RTAP_XDP_NO_MATCH 2 /* XDP_PASS */

/* *insns is malloc'ed. f == NULL or blank: everything matches. 0, or -errno with the sentence in err: -EINVAL (the
 * expression has no meaning for Ethernet), -E2BIG, -ENOMEM. */
int rtap_filter_xdp(struct rtap_filter *f, const struct rtap_xdp_env *env, struct bpf_insn **insns, unsigned *count,
                    char *err, size_t errlen);

#endif
