/* Writing eBPF with labels: jumps of any length, nothing that is not reached. */
#ifndef RTAP_PACKET_EBPF_ASM_H
#define RTAP_PACKET_EBPF_ASM_H

#include <linux/bpf.h>
#include <stdbool.h>
#include <stdint.h>

/* What older headers lack. */
#define RTAP_EBPF_GOTOL (BPF_JMP32 | BPF_JA) /* Linux 6.6: the displacement is imm */
#ifndef BPF_JCOND
#define BPF_JCOND 0xe0
#endif
#define RTAP_EBPF_MAY_GOTO (BPF_JMP | BPF_JCOND) /* Linux 6.9: jumps when the program has gone round too often */

#define RTAP_EBPF_MAXINSNS 1000000u /* BPF_COMPLEXITY_LIMIT_INSNS */

struct rtap_ebpf_op;

struct rtap_ebpf { /* all zero is empty */
    struct rtap_ebpf_op *ops;
    uint32_t *labels; /* number of the op that each stands before */
    unsigned count, size, label_count, label_size;
    bool shallow; /* for programs of thousands of jumps: see ebpf_asm.c */
    int error;    /* 0, or the first -errno: it sticks, so that callers look once */
};

uint32_t rtap_ebpf_labels(struct rtap_ebpf *e, unsigned n); /* the first of n new labels */
void rtap_ebpf_place(struct rtap_ebpf *e, uint32_t label);
void rtap_ebpf_op(struct rtap_ebpf *e, unsigned code, unsigned dst, unsigned src, int off, uint32_t imm);
void rtap_ebpf_map(struct rtap_ebpf *e, unsigned dst, int fd); /* dst = the map */
/* To the label if dst <code> src or imm; code is of class BPF_JMP or BPF_JMP32. */
void rtap_ebpf_jump(struct rtap_ebpf *e, unsigned code, unsigned dst, unsigned src, uint32_t imm, uint32_t label);
/* To the label unless; not for BPF_JSET, which has no opposite. */
void rtap_ebpf_unless(struct rtap_ebpf *e, unsigned code, unsigned dst, unsigned src, uint32_t imm, uint32_t label);
void rtap_ebpf_goto(struct rtap_ebpf *e, uint32_t label);
void rtap_ebpf_may_goto(struct rtap_ebpf *e, uint32_t label);

/* Lay it out: *insns is malloc'ed, *count is set in any case (with -E2BIG it says how many there would be). 0, the
 * sticky error, -E2BIG over RTAP_EBPF_MAXINSNS, -ENOMEM. Frees the assembler's memory in any case. */
int rtap_ebpf_finish(struct rtap_ebpf *e, struct bpf_insn **insns, unsigned *count);

#endif
