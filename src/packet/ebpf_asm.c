/*
 * The assembler under the XDP translator.
 *
 * Jumps of eBPF reach 32767 instructions. Where a label is farther away, an unconditional jump becomes a `gotol` and a
 * conditional one jumps to a `gotol` behind it; older kernels don't know that, so it is used only there. What can't be
 * reached is left out, since the verifier refuses it.
 *
 * The verifier goes on behind a conditional jump first and keeps the jump's target for later, at most 8192 of them. A
 * list of thousands of tests that all jump to one place is more than that. With `shallow`, jumps are turned round: the
 * opposite condition jumps over a `goto`, the verifier follows that to its end, and what it keeps is the next test.
 *
 * Called by bpf_translate.c and filter_xdp.c.
 */
#include "ebpf_asm.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NO_LABEL UINT32_MAX

struct rtap_ebpf_op {
    struct bpf_insn insn;
    uint32_t label; /* of jumps */
    bool reached, far;
};

static bool grow(struct rtap_ebpf *e, void **array, unsigned *size, unsigned need, size_t each)
{
    unsigned n = *size ? *size : 64;
    void *p;

    if (e->error < 0)
        return false;
    if (need <= *size)
        return true;
    while (n < need)
        n *= 2;
    p = realloc(*array, n * each);
    if (p == NULL) {
        e->error = -ENOMEM;
        return false;
    }
    *array = p;
    *size = n;
    return true;
}

uint32_t rtap_ebpf_labels(struct rtap_ebpf *e, unsigned n)
{
    uint32_t first = e->label_count;

    if (!grow(e, (void **)&e->labels, &e->label_size, first + n, sizeof(*e->labels)))
        return 0;
    for (unsigned i = 0; i < n; i++)
        e->labels[first + i] = UINT32_MAX;
    e->label_count += n;
    return first;
}

void rtap_ebpf_place(struct rtap_ebpf *e, uint32_t label)
{
    if (e->error == 0)
        e->labels[label] = e->count;
}

static void put(struct rtap_ebpf *e, struct bpf_insn insn, uint32_t label)
{
    if (!grow(e, (void **)&e->ops, &e->size, e->count + 1, sizeof(*e->ops)))
        return;
    e->ops[e->count++] = (struct rtap_ebpf_op){.insn = insn, .label = label};
}

static struct bpf_insn insn_of(unsigned code, unsigned dst, unsigned src, int off, uint32_t imm)
{
    return (struct bpf_insn){
        .code = (uint8_t)code,
        .dst_reg = dst & 0xf,
        .src_reg = src & 0xf,
        .off = (int16_t)off,
        .imm = (int32_t)imm,
    };
}

void rtap_ebpf_op(struct rtap_ebpf *e, unsigned code, unsigned dst, unsigned src, int off, uint32_t imm)
{
    put(e, insn_of(code, dst, src, off, imm), NO_LABEL);
}

void rtap_ebpf_map(struct rtap_ebpf *e, unsigned dst, int fd)
{
    rtap_ebpf_op(e, BPF_LD | BPF_DW | BPF_IMM, dst, BPF_PSEUDO_MAP_FD, 0, (uint32_t)fd);
}

static unsigned opposite(unsigned code)
{
    unsigned rest = code & ~0xf0u;

    switch (BPF_OP(code)) {
    case BPF_JEQ: return rest | BPF_JNE;
    case BPF_JNE: return rest | BPF_JEQ;
    case BPF_JGT: return rest | BPF_JLE;
    case BPF_JLE: return rest | BPF_JGT;
    case BPF_JGE: return rest | BPF_JLT;
    default: /* BPF_JLT */ return rest | BPF_JGE;
    }
}

void rtap_ebpf_goto(struct rtap_ebpf *e, uint32_t label)
{
    put(e, insn_of(BPF_JMP | BPF_JA, 0, 0, 0, 0), label);
}

void rtap_ebpf_may_goto(struct rtap_ebpf *e, uint32_t label)
{
    put(e, insn_of(RTAP_EBPF_MAY_GOTO, 0, 0, 0, 0), label);
}

void rtap_ebpf_jump(struct rtap_ebpf *e, unsigned code, unsigned dst, unsigned src, uint32_t imm, uint32_t label)
{
    if (e->shallow && BPF_OP(code) != BPF_JSET) {
        uint32_t past = rtap_ebpf_labels(e, 1);

        put(e, insn_of(opposite(code), dst, src, 0, imm), past);
        rtap_ebpf_goto(e, label);
        rtap_ebpf_place(e, past);
    } else {
        put(e, insn_of(code, dst, src, 0, imm), label);
    }
}

void rtap_ebpf_unless(struct rtap_ebpf *e, unsigned code, unsigned dst, unsigned src, uint32_t imm, uint32_t label)
{
    rtap_ebpf_jump(e, opposite(code), dst, src, imm, label);
}

static bool is_goto(const struct rtap_ebpf_op *op)
{
    return op->insn.code == (BPF_JMP | BPF_JA);
}

/* Jumps to a `goto` go where that goes. Backwards, so that one step is enough where it is in front. */
static void shorten_ways(struct rtap_ebpf *e)
{
    for (unsigned i = e->count; i-- > 0;) {
        struct rtap_ebpf_op *op = &e->ops[i];

        if (op->label != NO_LABEL && e->labels[op->label] > i && is_goto(&e->ops[e->labels[op->label]]))
            op->label = e->ops[e->labels[op->label]].label;
    }
}

static void mark_reached(struct rtap_ebpf *e)
{
    bool again = true, falls;

    e->ops[0].reached = true;
    while (again) {
        again = false;
        for (unsigned i = 0; i < e->count; i++) {
            struct rtap_ebpf_op *op = &e->ops[i];

            if (!op->reached)
                continue;
            if (op->label != NO_LABEL && !e->ops[e->labels[op->label]].reached) {
                e->ops[e->labels[op->label]].reached = true;
                again = again || e->labels[op->label] < i;
            }
            falls = !is_goto(op) && op->insn.code != (BPF_JMP | BPF_EXIT);
            if (falls && i + 1 < e->count)
                e->ops[i + 1].reached = true;
        }
    }
}

/* Leave out what is not reached, and a `goto` to what comes next. Backwards: what comes next is known by then. */
static void leave_out(struct rtap_ebpf *e)
{
    unsigned next = e->count;

    for (unsigned i = e->count; i-- > 0;) {
        struct rtap_ebpf_op *op = &e->ops[i];
        unsigned to = is_goto(op) && op->reached ? e->labels[op->label] : 0;

        while (to > i && to < next && !e->ops[to].reached)
            to++;
        if (to == next && next < e->count)
            op->reached = false;
        if (op->reached)
            next = i;
    }
}

static unsigned length_of(const struct rtap_ebpf_op *op)
{
    if (!op->reached)
        return 0;
    if (op->insn.code == (BPF_LD | BPF_DW | BPF_IMM))
        return 2;
    return op->far && !is_goto(op) ? 3 : 1;
}

/* Instructions between the one at pos[i] and the label. */
static int64_t distance(const struct rtap_ebpf *e, const uint32_t *pos, unsigned i)
{
    return (int64_t)pos[e->labels[e->ops[i].label]] - pos[i] - 1;
}

static void lay_out(struct rtap_ebpf *e, uint32_t *pos)
{
    bool again;

    do {
        again = false;
        pos[0] = 0;
        for (unsigned i = 0; i < e->count; i++)
            pos[i + 1] = pos[i] + length_of(&e->ops[i]);
        for (unsigned i = 0; i < e->count; i++) {
            struct rtap_ebpf_op *op = &e->ops[i];
            int64_t d = op->reached && op->label != NO_LABEL && !op->far ? distance(e, pos, i) : 0;

            if (d > INT16_MAX || d < INT16_MIN)
                op->far = again = true;
        }
    } while (again);
}

static void write_out(const struct rtap_ebpf *e, const uint32_t *pos, struct bpf_insn *out)
{
    for (unsigned i = 0; i < e->count; i++) {
        const struct rtap_ebpf_op *op = &e->ops[i];
        struct bpf_insn *p = &out[pos[i]];
        int64_t d;

        if (!op->reached)
            continue;
        *p = op->insn;
        if (length_of(op) == 2)
            p[1] = insn_of(0, 0, 0, 0, 0);
        if (op->label == NO_LABEL)
            continue;
        d = distance(e, pos, i);
        if (!op->far) {
            p->off = (int16_t)d;
        } else if (is_goto(op)) {
            *p = insn_of(RTAP_EBPF_GOTOL, 0, 0, 0, (uint32_t)d);
        } else {
            p->off = 1;
            p[1] = insn_of(BPF_JMP | BPF_JA, 0, 0, 1, 0);
            p[2] = insn_of(RTAP_EBPF_GOTOL, 0, 0, 0, (uint32_t)(d - 2));
        }
    }
}

int rtap_ebpf_finish(struct rtap_ebpf *e, struct bpf_insn **insns, unsigned *count)
{
    uint32_t *pos = NULL;
    int r = e->error;

    *insns = NULL;
    *count = 0;
    if (r == 0) {
        r = -ENOMEM;
        pos = malloc((e->count + 1) * sizeof(*pos));
    }
    if (pos != NULL) {
        shorten_ways(e);
        mark_reached(e);
        leave_out(e);
        lay_out(e, pos);
        *count = pos[e->count];
        if (*count > RTAP_EBPF_MAXINSNS)
            r = -E2BIG;
        else
            *insns = malloc(*count * sizeof(**insns));
    }
    if (*insns != NULL) {
        write_out(e, pos, *insns);
        r = 0;
    }
    free(pos);
    free(e->ops);
    free(e->labels);
    *e = (struct rtap_ebpf){.error = r};
    return r;
}
