/*
 * The rewriter behind the VLAN rule and the cooked link types: loads are redirected by a load map, everything else is
 * kept.
 *
 * Invariants
 *   - After each rewritten instruction A, X and the program's own scratch slots hold what they would hold after the
 *     original one. At most one scratch slot that the program doesn't use is borrowed, and only within one instruction.
 *   - A load that is out of bounds of the frame ends the program with 0. Bytes of RTAP_LOAD_AUX and RTAP_LOAD_CONST are
 *     always in bounds: the map's owner runs the program only on frames that are long enough for that.
 *   - For the kernel: no offset from 2^31 on reaches it, since it takes those for its ancillary data and headers, where
 *     libpcap's interpreter sees an offset outside of the packet; a shift by 32 or more gives 0 as it does there.
 *
 * What would cost a check at run time is first tried with bounds (bpf_bounds.h). Called by filter.c and
 * filter_kernel.c.
 */
#include "bpf_rewrite.h"
#include "bpf_asm.h"
#include "bpf_bounds.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FAR_AWAY 0x7fff0000u /* no packet is as long; offsets below it stay below 2^31 whatever a map adds */

/* --- loads --- */

struct rewrite {
    const struct rtap_rewrite *how;
    const struct rtap_load_map *map;
    struct rtap_asm out;
    int slot;        /* the borrowed one, or -1 */
    uint32_t reject; /* label */
    bool rejects;    /* somebody jumps there */
    int error;
};

static void put(struct rewrite *w, unsigned code, uint32_t k)
{
    rtap_asm_op(&w->out, code, k);
}

static void put_reject(struct rewrite *w)
{
    put(w, BPF_RET | BPF_K, 0);
}

static uint32_t reject_label(struct rewrite *w)
{
    w->rejects = true;
    return w->reject;
}

static uint32_t borrow_slot(struct rewrite *w)
{
    if (w->slot < 0)
        w->error = -ENOTSUP;
    return w->slot < 0 ? 0 : (uint32_t)w->slot;
}

static unsigned size_of(uint16_t code)
{
    return BPF_SIZE(code) == BPF_W ? 4 : BPF_SIZE(code) == BPF_H ? 2 : 1;
}

static unsigned code_of(unsigned size)
{
    return size == 4 ? BPF_W : size == 2 ? BPF_H : BPF_B;
}

static unsigned region_at(const struct rtap_load_map *map, uint32_t offset)
{
    unsigned r = map->count - 1;

    while (map->regions[r].from > offset)
        r--;
    return r;
}

/* The end of region r; 64 bits, for the last one. */
static uint64_t region_end(const struct rtap_load_map *map, unsigned r)
{
    return r + 1 < map->count ? map->regions[r + 1].from : UINT64_C(1) << 32;
}

/* A = n bytes of the frame from `offset` on, all in one region. X is kept. */
static void put_part(struct rewrite *w, uint32_t offset, unsigned n)
{
    unsigned r = region_at(w->map, offset);
    const struct rtap_load_region *region = &w->map->regions[r];
    unsigned width = (unsigned)(region_end(w->map, r) - region->from), first = offset - region->from;
    unsigned shift = 8 * (width - first - n);
    uint32_t mask = n < 4 ? (1u << 8 * n) - 1 : UINT32_MAX;

    switch (region->source) {
    case RTAP_LOAD_DATA: put(w, BPF_LD | BPF_ABS | code_of(n), offset + (uint32_t)region->delta); break;
    case RTAP_LOAD_AUX:
        put(w, BPF_LD | BPF_ABS | BPF_W, (uint32_t)SKF_AD_OFF + region->value);
        if (shift > 0)
            put(w, BPF_ALU | BPF_RSH | BPF_K, shift);
        if (first > 0)
            put(w, BPF_ALU | BPF_AND | BPF_K, mask);
        break;
    case RTAP_LOAD_CONST: put(w, BPF_LD | BPF_IMM, region->value >> shift & mask); break;
    default: w->error = -ENOTSUP; break;
    }
}

/* A = the `size` bytes from `offset` on. X is kept. */
static void put_abs(struct rewrite *w, uint32_t offset, unsigned size)
{
    unsigned done = 0, n;
    uint32_t slot = 0;

    if (offset > FAR_AWAY) {
        put_reject(w);
        return;
    }
    while (done < size) {
        unsigned r = region_at(w->map, offset + done);
        uint64_t left = region_end(w->map, r) - offset - done;

        n = left < size - done ? (unsigned)left : size - done;
        if (n == 3)
            n = 2;
        if (n == size) {
            put_part(w, offset, n);
            return;
        }
        if (done == 0) {
            slot = borrow_slot(w);
            put(w, BPF_STX, slot);
        }
        put_part(w, offset + done, n);
        done += n;
        if (done < size)
            put(w, BPF_ALU | BPF_LSH | BPF_K, 8 * (size - done));
        if (done > n)
            put(w, BPF_ALU | BPF_OR | BPF_X, 0);
        if (done < size)
            put(w, BPF_MISC | BPF_TAX, 0);
    }
    put(w, BPF_LDX | BPF_MEM, slot);
}

/* The load at X + k, known to be inside region r: its delta is added. A is free. */
static void put_ind(struct rewrite *w, unsigned r, uint32_t k, unsigned size)
{
    int64_t moved = (int64_t)k + w->map->regions[r].delta;
    uint32_t slot;

    if (moved >= 0) {
        put(w, BPF_LD | BPF_IND | code_of(size), (uint32_t)moved);
        return;
    }
    slot = borrow_slot(w);
    put(w, BPF_STX, slot);
    put(w, BPF_MISC | BPF_TXA, 0);
    put(w, BPF_ALU | BPF_SUB | BPF_K, (uint32_t)-moved);
    put(w, BPF_MISC | BPF_TAX, 0);
    put(w, BPF_LD | BPF_IND | code_of(size), 0);
    put(w, BPF_LDX | BPF_MEM, slot);
}

/* ld [x + k]: which region it falls in shows at run time. low and high bound X + k. */
static void put_ind_by_region(struct rewrite *w, uint32_t k, unsigned size, uint64_t low, uint64_t high)
{
    const struct rtap_load_map *map = w->map;
    uint32_t done = rtap_asm_labels(&w->out, 1);

    put(w, BPF_MISC | BPF_TXA, 0);
    put(w, BPF_ALU | BPF_ADD | BPF_K, k);
    for (unsigned r = map->count; r-- > 0;) { /* A, the index, is below the end of region r */
        uint64_t from = map->regions[r].from, end = region_end(map, r), i;
        uint64_t whole = end >= from + size ? end - size + 1 : from; /* the first index that straddles */

        if (from > high || end <= low)
            continue;
        if (map->regions[r].source != RTAP_LOAD_DATA)
            whole = from;
        for (i = r + 1 < map->count ? end : whole; i-- > whole && i >= low;) {
            uint32_t other = rtap_asm_labels(&w->out, 1);

            if (i > high)
                continue;
            rtap_asm_jump(&w->out, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)i, RTAP_ASM_NEXT, other);
            put_abs(w, (uint32_t)i, size);
            rtap_asm_goto(&w->out, done);
            rtap_asm_place(&w->out, other);
        }
        if (whole > from && whole > low) {
            uint32_t other = rtap_asm_labels(&w->out, 1);

            if (from > low)
                rtap_asm_jump(&w->out, BPF_JMP | BPF_JGE | BPF_K, (uint32_t)from, RTAP_ASM_NEXT, other);
            put_ind(w, r, k, size);
            rtap_asm_goto(&w->out, done);
            rtap_asm_place(&w->out, other);
        }
    }
    put_reject(w); /* no index gets here */
    rtap_asm_place(&w->out, done);
}

static void rewrite_ind(struct rewrite *w, const struct sock_filter *p, const struct rtap_bpf_bounds *b)
{
    uint64_t high = (uint64_t)p->k + b->x;
    unsigned size = size_of(p->code), r;
    bool last;

    if (p->k > FAR_AWAY) {
        put_reject(w);
        return;
    }
    r = region_at(w->map, p->k);
    last = r == w->map->count - 1;
    if (high > FAR_AWAY && (w->how->kernel || !last)) {
        high = FAR_AWAY;
        put(w, BPF_MISC | BPF_TXA, 0);
        rtap_asm_jump(&w->out, BPF_JMP | BPF_JGT | BPF_K, FAR_AWAY - p->k, reject_label(w), RTAP_ASM_NEXT);
    }
    if (last || (w->map->regions[r].source == RTAP_LOAD_DATA && high + size <= region_end(w->map, r)))
        put_ind(w, r, p->k, size);
    else
        put_ind_by_region(w, p->k, size, p->k, high);
}

/* ldx 4*([k]&0xf) and ldx len: A is kept. */
static void rewrite_ldx(struct rewrite *w, const struct sock_filter *p)
{
    bool msh = BPF_MODE(p->code) == BPF_MSH;
    const struct rtap_load_region *region = &w->map->regions[region_at(w->map, p->k)];
    uint32_t slot;

    if (msh && p->k > FAR_AWAY) {
        put_reject(w);
        return;
    }
    if (msh && region->source == RTAP_LOAD_DATA) {
        put(w, p->code, p->k + (uint32_t)region->delta);
        return;
    }
    if (!msh && w->map->len_delta == 0) {
        put(w, p->code, 0);
        return;
    }
    slot = borrow_slot(w);
    put(w, BPF_ST, slot);
    if (msh) {
        put_abs(w, p->k, 1);
        put(w, BPF_ALU | BPF_AND | BPF_K, 0xf);
        put(w, BPF_ALU | BPF_LSH | BPF_K, 2);
    } else {
        put(w, BPF_LD | BPF_LEN | BPF_W, 0);
        put(w, BPF_ALU | BPF_ADD | BPF_K, (uint32_t)w->map->len_delta);
    }
    put(w, BPF_MISC | BPF_TAX, 0);
    put(w, BPF_LD | BPF_MEM, slot);
}

/* --- the other instructions --- */

static void rewrite_alu(struct rewrite *w, const struct sock_filter *p, const struct rtap_bpf_bounds *b)
{
    unsigned op = BPF_OP(p->code);
    bool shift = op == BPF_LSH || op == BPF_RSH, by_k = BPF_SRC(p->code) == BPF_K;
    uint32_t slot, small, done;

    if (!w->how->kernel || (by_k ? p->k > 0 && (!shift || p->k < 32) : !shift || b->x < 32)) {
        put(w, p->code, p->k);
    } else if (by_k && (op == BPF_DIV || op == BPF_MOD)) {
        put_reject(w); /* the kernel refuses to load a division by the constant 0 */
    } else if (by_k && shift && p->k >= 32) {
        put(w, BPF_LD | BPF_IMM, 0); /* and this */
    } else if (by_k || !shift) {
        put(w, p->code, p->k);
    } else { /* and looks at five bits of X only */
        slot = borrow_slot(w);
        small = rtap_asm_labels(&w->out, 2);
        done = small + 1;
        put(w, BPF_ST, slot);
        put(w, BPF_MISC | BPF_TXA, 0);
        rtap_asm_jump(&w->out, BPF_JMP | BPF_JGE | BPF_K, 32, RTAP_ASM_NEXT, small);
        put(w, BPF_LD | BPF_IMM, 0);
        rtap_asm_goto(&w->out, done);
        rtap_asm_place(&w->out, small);
        put(w, BPF_LD | BPF_MEM, slot);
        put(w, p->code, 0);
        rtap_asm_place(&w->out, done);
    }
}

static void rewrite_ret(struct rewrite *w, const struct sock_filter *p)
{
    if (w->how->accept == 0 || (BPF_RVAL(p->code) == BPF_K && p->k == 0)) {
        put(w, p->code, p->k);
        return;
    }
    if (BPF_RVAL(p->code) == BPF_A)
        rtap_asm_jump(&w->out, BPF_JMP | BPF_JEQ | BPF_K, 0, reject_label(w), RTAP_ASM_NEXT);
    put(w, BPF_RET | BPF_K, w->how->accept);
}

static void rewrite_ld(struct rewrite *w, const struct sock_filter *p, const struct rtap_bpf_bounds *b)
{
    switch (BPF_MODE(p->code)) {
    case BPF_ABS: put_abs(w, p->k, size_of(p->code)); break;
    case BPF_IND: rewrite_ind(w, p, b); break;
    case BPF_LEN:
        put(w, p->code, 0);
        if (w->map->len_delta != 0)
            put(w, BPF_ALU | BPF_ADD | BPF_K, (uint32_t)w->map->len_delta);
        break;
    default: put(w, p->code, p->k); break;
    }
}

static void rewrite_one(struct rewrite *w, const struct sock_filter *p, const struct rtap_bpf_bounds *b, uint32_t next)
{
    switch (BPF_CLASS(p->code)) {
    case BPF_LD: rewrite_ld(w, p, b); break;
    case BPF_LDX:
        if (BPF_MODE(p->code) == BPF_MSH || BPF_MODE(p->code) == BPF_LEN)
            rewrite_ldx(w, p);
        else
            put(w, p->code, p->k);
        break;
    case BPF_ALU: rewrite_alu(w, p, b); break;
    case BPF_JMP:
        if (BPF_OP(p->code) == BPF_JA)
            rtap_asm_goto(&w->out, next + p->k);
        else
            rtap_asm_jump(&w->out, p->code, p->k, next + p->jt, next + p->jf);
        break;
    case BPF_RET: rewrite_ret(w, p); break;
    default: put(w, p->code, p->k); break;
    }
}

static int free_slot(const struct sock_filter *insns, unsigned count, int words)
{
    uint32_t used = 0;

    for (unsigned i = 0; i < count; i++) {
        unsigned class = BPF_CLASS(insns[i].code);

        if (class == BPF_ST || class == BPF_STX ||
            ((class == BPF_LD || class == BPF_LDX) && BPF_MODE(insns[i].code) == BPF_MEM))
            used |= 1u << insns[i].k;
    }
    while (--words >= 0 && used >> words & 1)
        ;
    return words;
}

/* Set slots that the kernel would refuse to see read to 0, and A, which the program may take for 0 at its start. */
static void clear_unwritten(struct rewrite *w, const struct sock_filter *insns, unsigned count,
                            const struct rtap_bpf_bounds *bounds)
{
    uint32_t slots = 0;

    w->error = rtap_bpf_find_unwritten(insns, count, bounds, &slots);
    for (unsigned k = 0; slots >> k != 0; k++) {
        if (slots >> k & 1) {
            if ((slots & ((1u << k) - 1)) == 0) /* the first one */
                put(w, BPF_LD | BPF_IMM, 0);
            put(w, BPF_ST, k);
        }
    }
}

int rtap_bpf_rewrite(const struct rtap_rewrite *how, const struct sock_filter *insns, unsigned count,
                     struct sock_filter **out, unsigned *out_count)
{
    struct rewrite w = {.how = how, .map = &how->map};
    struct rtap_bpf_bounds *bounds = rtap_bpf_find_bounds(insns, count);
    uint32_t labels;

    *out = NULL;
    if (bounds == NULL)
        return -ENOMEM;
    w.slot = free_slot(insns, count, how->kernel ? BPF_MEMWORDS : RTAP_BPF_MEMWORDS);
    labels = rtap_asm_labels(&w.out, count + 1);
    w.reject = labels + count;
    if (how->kernel && rtap_bpf_has_loop(insns, count))
        w.error = -ENOTSUP;
    else if (how->kernel)
        clear_unwritten(&w, insns, count, bounds);
    for (unsigned i = 0; i < count && w.error == 0 && w.out.error == 0; i++) {
        rtap_asm_place(&w.out, labels + i);
        if (bounds[i].reached)
            rewrite_one(&w, &insns[i], &bounds[i], labels + i + 1);
    }
    free(bounds);
    if (w.error < 0) {
        rtap_asm_drop(&w.out);
        return w.error;
    }
    if (w.rejects) {
        rtap_asm_place(&w.out, w.reject);
        put_reject(&w);
    }
    return rtap_asm_finish(&w.out, out, out_count);
}
