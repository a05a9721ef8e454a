/*
 * The assembler under the filter rewriter. Conditional jumps of classic BPF reach 255 instructions; where a label is
 * farther away, the jump goes to an unconditional one right behind it, which reaches everything.
 *
 * Invariant: labels of conditional jumps are placed behind them; rtap_asm_goto may go back. Called by bpf_rewrite.c and
 * filter_kernel.c.
 */
#include "bpf_asm.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct rtap_asm_op {
    uint16_t code;
    bool far_true, far_false;
    uint32_t k, if_true, if_false; /* labels, for jumps */
};

static bool grow(struct rtap_asm *a, void **array, unsigned *size, unsigned need, size_t each)
{
    unsigned n = *size ? *size : 64;
    void *p;

    if (a->error < 0)
        return false;
    if (need <= *size)
        return true;
    while (n < need)
        n *= 2;
    p = realloc(*array, n * each);
    if (p == NULL) {
        a->error = -ENOMEM;
        return false;
    }
    *array = p;
    *size = n;
    return true;
}

uint32_t rtap_asm_labels(struct rtap_asm *a, unsigned n)
{
    uint32_t first = a->label_count;

    if (!grow(a, (void **)&a->labels, &a->label_size, first + n, sizeof(*a->labels)))
        return 0;
    for (unsigned i = 0; i < n; i++)
        a->labels[first + i] = UINT32_MAX;
    a->label_count += n;
    return first;
}

void rtap_asm_place(struct rtap_asm *a, uint32_t label)
{
    if (a->error == 0)
        a->labels[label] = a->count;
}

void rtap_asm_jump(struct rtap_asm *a, unsigned code, uint32_t k, uint32_t if_true, uint32_t if_false)
{
    if (!grow(a, (void **)&a->ops, &a->size, a->count + 1, sizeof(*a->ops)))
        return;
    a->ops[a->count++] = (struct rtap_asm_op){
        .code = (uint16_t)code,
        .k = k,
        .if_true = if_true,
        .if_false = if_false,
    };
}

void rtap_asm_op(struct rtap_asm *a, unsigned code, uint32_t k)
{
    rtap_asm_jump(a, code, k, RTAP_ASM_NEXT, RTAP_ASM_NEXT);
}

void rtap_asm_goto(struct rtap_asm *a, uint32_t label)
{
    rtap_asm_jump(a, BPF_JMP | BPF_JA, 0, label, label);
}

void rtap_asm_append(struct rtap_asm *a, const struct sock_filter *insns, unsigned count)
{
    uint32_t base = rtap_asm_labels(a, count);

    for (unsigned i = 0; i < count && a->error == 0; i++) {
        const struct sock_filter *p = &insns[i];

        rtap_asm_place(a, base + i);
        if (BPF_CLASS(p->code) != BPF_JMP)
            rtap_asm_op(a, p->code, p->k);
        else if (BPF_OP(p->code) == BPF_JA)
            rtap_asm_goto(a, base + i + 1 + p->k);
        else
            rtap_asm_jump(a, p->code, p->k, base + i + 1 + p->jt, base + i + 1 + p->jf);
    }
}

void rtap_asm_drop(struct rtap_asm *a)
{
    free(a->ops);
    free(a->labels);
    *a = (struct rtap_asm){.error = a->error};
}

static bool is_conditional(const struct rtap_asm_op *op)
{
    return BPF_CLASS(op->code) == BPF_JMP && BPF_OP(op->code) != BPF_JA;
}

/* Instructions between the one at pos[i] and the label. */
static uint32_t distance(const struct rtap_asm *a, const uint32_t *pos, unsigned i, uint32_t label)
{
    uint32_t to = label == RTAP_ASM_NEXT ? i + 1 : a->labels[label];

    return pos[to] - pos[i] - 1;
}

/* Lengthen the jumps that don't reach until all do; a longer jump moves what is behind it, so again from the start. */
static void lay_out(struct rtap_asm *a, uint32_t *pos)
{
    bool again;

    do {
        again = false;
        pos[0] = 0;
        for (unsigned i = 0; i < a->count; i++)
            pos[i + 1] = pos[i] + 1u + a->ops[i].far_true + a->ops[i].far_false;
        for (unsigned i = 0; i < a->count; i++) {
            struct rtap_asm_op *op = &a->ops[i];

            if (!is_conditional(op))
                continue;
            if (!op->far_true && distance(a, pos, i, op->if_true) > 255)
                op->far_true = again = true;
            if (!op->far_false && distance(a, pos, i, op->if_false) > 255)
                op->far_false = again = true;
        }
    } while (again);
}

static void write_out(const struct rtap_asm *a, const uint32_t *pos, struct sock_filter *out)
{
    for (unsigned i = 0; i < a->count; i++) {
        const struct rtap_asm_op *op = &a->ops[i];
        struct sock_filter *p = &out[pos[i]];

        *p = (struct sock_filter){.code = op->code, .k = op->k};
        if (BPF_CLASS(op->code) != BPF_JMP)
            continue;
        if (!is_conditional(op)) {
            p->k = distance(a, pos, i, op->if_true);
            continue;
        }
        p->jt = op->far_true ? 0 : (uint8_t)distance(a, pos, i, op->if_true);
        p->jf = op->far_false ? op->far_true : (uint8_t)distance(a, pos, i, op->if_false);
        if (op->far_true)
            p[1] = (struct sock_filter){BPF_JMP | BPF_JA, 0, 0, distance(a, pos, i, op->if_true) - 1};
        if (op->far_false)
            p[1 + op->far_true] =
                (struct sock_filter){BPF_JMP | BPF_JA, 0, 0, distance(a, pos, i, op->if_false) - 1 - op->far_true};
    }
}

int rtap_asm_finish(struct rtap_asm *a, struct sock_filter **insns, unsigned *count)
{
    uint32_t *pos = NULL;
    int r = a->error;

    *insns = NULL;
    if (r == 0) {
        r = -ENOMEM;
        pos = malloc((a->count + 1) * sizeof(*pos));
    }
    if (pos != NULL) {
        lay_out(a, pos);
        *count = pos[a->count];
        if (*count > RTAP_BPF_MAXINSNS)
            r = -E2BIG;
        else
            *insns = malloc(*count * sizeof(**insns));
    }
    if (*insns != NULL) {
        write_out(a, pos, *insns);
        /* A mistake of the caller's ends here, not in the kernel. */
        r = rtap_bpf_check(*insns, *count) ? 0 : -EINVAL;
    }
    if (r < 0) {
        free(*insns);
        *insns = NULL;
    }
    free(pos);
    rtap_asm_drop(a);
    return r;
}
