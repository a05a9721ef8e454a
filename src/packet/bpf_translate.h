/* Classic BPF, which rtap_bpf_check accepted, as a piece of an XDP program. */
#ifndef RTAP_PACKET_BPF_TRANSLATE_H
#define RTAP_PACKET_BPF_TRANSLATE_H

#include "bpf_run.h"
#include "ebpf_asm.h"

/* The verifier's limit of packet offsets: a load that ends behind it finds nothing. */
#define RTAP_TRANSLATE_REACH 0xffffu

/* Registers. Without frags DATA and END are set from the start of the program on; with them the linear part is asked
 * for at each load, which keeps the verifier's states few. */
enum {
    RTAP_EBPF_END = BPF_REG_5, /* gone after each call */
    RTAP_EBPF_A = BPF_REG_6,
    RTAP_EBPF_X = BPF_REG_7,
    RTAP_EBPF_DATA = BPF_REG_8,
    RTAP_EBPF_CTX = BPF_REG_9,
};

/* The stack: offsets from r10. */
enum {
    RTAP_STACK_BUFFER = -8,  /* 4 bytes: of a load behind the linear part, a map's key */
    RTAP_STACK_ROUNDS = -16, /* 8 bytes: how often a loop may go round yet */
    RTAP_STACK_TPID = -24,   /* 4 bytes each: the tag that the device took out */
    RTAP_STACK_TCI = -20,
    RTAP_STACK_SLOTS = -32, /* 8 bytes for each scratch slot, downwards */
};

struct rtap_translate_far; /* a load's way into the frame's other buffers */

struct rtap_translate {
    struct rtap_ebpf *out;
    bool frags;
    bool by_call;             /* with frags: no load goes straight to the packet, for programs with thousands of them */
    uint32_t match, no_match; /* labels */
    struct rtap_translate_far *fars;
    unsigned far_count, far_size;
};

struct rtap_translate_program {
    const struct sock_filter *insns;
    unsigned count;
    bool aux;           /* SKF_AD_VLAN_TAG and _TPID are what the stack says */
    int32_t more_bytes; /* that the program sees besides those of the frame */
};

/* DATA and END, without frags. */
void rtap_translate_edges(struct rtap_translate *t);
/* dst = the size bytes at `offset`, or to the label `fail`. checked: bytes that are known to be there. */
void rtap_translate_load(struct rtap_translate *t, unsigned dst, uint32_t offset, unsigned size, uint32_t checked,
                         uint32_t fail);
/* The whole program: it ends at the labels match and no_match. Errors stick in t->out. */
void rtap_translate_program(struct rtap_translate *t, const struct rtap_translate_program *program);
/* What the loads left to be written out of line. Once, at the end; frees. */
void rtap_translate_finish(struct rtap_translate *t);

#endif
