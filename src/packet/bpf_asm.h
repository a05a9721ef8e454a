/* Writing classic BPF with labels: jumps of any length. */
#ifndef RTAP_PACKET_BPF_ASM_H
#define RTAP_PACKET_BPF_ASM_H

#include "bpf_run.h"

#define RTAP_ASM_NEXT UINT32_MAX /* the instruction that follows */

struct rtap_asm_op;

struct rtap_asm { /* all zero is empty */
    struct rtap_asm_op *ops;
    uint32_t *labels; /* number of the op that each stands before */
    unsigned count, size, label_count, label_size;
    int error; /* 0, or the first -errno: it sticks, so that callers look once */
};

uint32_t rtap_asm_labels(struct rtap_asm *a, unsigned n); /* the first of n new labels */
void rtap_asm_place(struct rtap_asm *a, uint32_t label);
void rtap_asm_op(struct rtap_asm *a, unsigned code, uint32_t k);
void rtap_asm_jump(struct rtap_asm *a, unsigned code, uint32_t k, uint32_t if_true, uint32_t if_false);
void rtap_asm_goto(struct rtap_asm *a, uint32_t label);
void rtap_asm_append(struct rtap_asm *a, const struct sock_filter *insns, unsigned count); /* a whole program */

/* Lay it out: *insns is malloc'ed. 0, the sticky error, -E2BIG over
 * RTAP_BPF_MAXINSNS. Frees the assembler's memory in any case. */
int rtap_asm_finish(struct rtap_asm *a, struct sock_filter **insns, unsigned *count);
void rtap_asm_drop(struct rtap_asm *a);

#endif
