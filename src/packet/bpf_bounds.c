/*
 * What can be told about a classic BPF program without running it: how large its registers can get, and whether it
 * reads scratch slots that it hasn't written.
 *
 * Called by bpf_rewrite.c, and by filter_compile.c, which doesn't believe everything that libpcap's optimizer makes.
 */
#include "bpf_bounds.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static uint32_t saturate(uint64_t v)
{
    return v > UINT32_MAX ? UINT32_MAX : (uint32_t)v;
}

static uint32_t all_ones(uint32_t v) /* the smallest 2^n - 1 that is not less */
{
    return v == 0 ? 0 : UINT32_MAX >> __builtin_clz(v);
}

static uint32_t bound_alu(uint16_t code, uint32_t a, uint32_t x, uint32_t k)
{
    bool by_k = BPF_SRC(code) == BPF_K;
    uint32_t v = by_k ? k : x;

    switch (BPF_OP(code)) {
    case BPF_ADD: return saturate((uint64_t)a + v);
    case BPF_MUL: return saturate((uint64_t)a * v);
    case BPF_DIV: return by_k && k > 0 ? a / k : a;
    case BPF_MOD: return v > 0 && v - 1 < a ? v - 1 : a;
    case BPF_AND: return a < v ? a : v;
    case BPF_OR:
    case BPF_XOR: return all_ones(a | v);
    case BPF_LSH: return by_k && k < 32 ? saturate((uint64_t)a << k) : a == 0 ? 0 : UINT32_MAX;
    case BPF_RSH: return by_k && k < 32 ? a >> k : a;
    default: /* SUB, NEG */ return UINT32_MAX;
    }
}

static uint32_t bound_load(const struct sock_filter *p, const struct rtap_bpf_bounds *b)
{
    switch (BPF_MODE(p->code)) {
    case BPF_IMM: return p->k;
    case BPF_MEM: return b->mem[p->k];
    case BPF_MSH: return 60;
    case BPF_ABS:
    case BPF_IND: return BPF_SIZE(p->code) == BPF_B ? 0xff : BPF_SIZE(p->code) == BPF_H ? 0xffff : UINT32_MAX;
    default: /* LEN */ return UINT32_MAX;
    }
}

static void merge(struct rtap_bpf_bounds *to, const struct rtap_bpf_bounds *from)
{
    if (!to->reached) {
        *to = *from;
        return;
    }
    to->a = to->a > from->a ? to->a : from->a;
    to->x = to->x > from->x ? to->x : from->x;
    for (unsigned i = 0; i < RTAP_BPF_MEMWORDS; i++)
        to->mem[i] = to->mem[i] > from->mem[i] ? to->mem[i] : from->mem[i];
}

/* Jumps go forward, so one pass sees every way to an instruction before the instruction itself. In a program with a
 * loop nothing is known. */
struct rtap_bpf_bounds *rtap_bpf_find_bounds(const struct sock_filter *insns, unsigned count)
{
    struct rtap_bpf_bounds *all = calloc(count, sizeof(*all)), b;

    if (all == NULL)
        return NULL;
    if (rtap_bpf_has_loop(insns, count)) {
        memset(all, 0xff, count * sizeof(*all));
        for (unsigned i = 0; i < count; i++)
            all[i].reached = true;
        return all;
    }
    all[0].reached = true;
    for (unsigned i = 0; i < count; i++) {
        const struct sock_filter *p = &insns[i];

        if (!all[i].reached)
            continue;
        b = all[i];
        switch (BPF_CLASS(p->code)) {
        case BPF_LD: b.a = bound_load(p, &b); break;
        case BPF_LDX: b.x = bound_load(p, &b); break;
        case BPF_ST: b.mem[p->k] = b.a; break;
        case BPF_STX: b.mem[p->k] = b.x; break;
        case BPF_ALU: b.a = bound_alu(p->code, b.a, b.x, p->k); break;
        case BPF_MISC:
            if (BPF_MISCOP(p->code) == BPF_TAX)
                b.x = b.a;
            else
                b.a = b.x;
            break;
        case BPF_JMP:
            if (BPF_OP(p->code) == BPF_JA) {
                merge(&all[i + 1 + p->k], &b);
            } else {
                merge(&all[i + 1 + p->jt], &b);
                merge(&all[i + 1 + p->jf], &b);
            }
            continue;
        default: /* RET */ continue;
        }
        merge(&all[i + 1], &b);
    }
    return all;
}

int rtap_bpf_find_unwritten(const struct sock_filter *insns, unsigned count, const struct rtap_bpf_bounds *bounds,
                            uint32_t *slots)
{
    uint32_t *masks = malloc(count * sizeof(*masks)), written = 0;

    if (masks == NULL)
        return -ENOMEM;
    memset(masks, 0xff, count * sizeof(*masks));
    *slots = 0;
    for (unsigned i = 0; i < count; i++) {
        const struct sock_filter *p = &insns[i];
        unsigned class = BPF_CLASS(p->code);

        if (!bounds[i].reached)
            continue;
        written &= masks[i];
        if (class == BPF_ST || class == BPF_STX) {
            written |= 1u << p->k;
        } else if ((class == BPF_LD || class == BPF_LDX) && BPF_MODE(p->code) == BPF_MEM) {
            *slots |= ~written & 1u << p->k;
        } else if (class == BPF_JMP) {
            if (BPF_OP(p->code) == BPF_JA) {
                masks[i + 1 + p->k] &= written;
            } else {
                masks[i + 1 + p->jt] &= written;
                masks[i + 1 + p->jf] &= written;
            }
            written = UINT32_MAX;
        }
    }
    free(masks);
    return 0;
}
