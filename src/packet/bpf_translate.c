/*
 * Classic BPF to eBPF, one instruction after the other: A and X are registers, scratch slots lie on the stack, loads go
 * straight to the packet.
 *
 * Invariants
 *   - The answers are rtap_bpf_run's: A, X and the slots start as 0, a load outside of the frame and a division by 0
 *     end without a match, a shift by 32 or more gives 0, a loop goes round as often as there are bytes.
 *   - A and X are always zero-extended, and the verifier knows it.
 *   - Each load is behind a test that the verifier understands: the packet's end against the end of the load. Where
 *     every way to an instruction has passed a test of as many bytes, the test is left out.
 *   - The verifier goes through a loop until nothing new is to be seen, so at each step back everything is made unknown
 *     to it (x ^ y ^ y is x, but it doesn't know), and `may_goto` tells it that the loop ends.
 *
 * Called by filter_xdp.c.
 */
#include "bpf_translate.h"
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define HELPER_BUFF_LEN 188 /* bpf_xdp_get_buff_len; both Linux 5.18 */
#define HELPER_LOAD_BYTES 189

#define ALU(op) (BPF_ALU | (op))
#define ALU64(op) (BPF_ALU64 | (op))

#define A RTAP_EBPF_A
#define X RTAP_EBPF_X

struct rtap_translate_far {
    uint32_t start, back, fail;
    uint32_t offset; /* unless it is in r2 */
    unsigned dst, size;
    bool indirect;
};

static unsigned code_of(unsigned size)
{
    return size == 4 ? BPF_W : size == 2 ? BPF_H : BPF_B;
}

static unsigned size_of(uint16_t code)
{
    return BPF_SIZE(code) == BPF_W ? 4 : BPF_SIZE(code) == BPF_H ? 2 : 1;
}

static int slot_at(uint32_t slot)
{
    return RTAP_STACK_SLOTS - 8 * (int)slot;
}

static void put(struct rtap_translate *t, unsigned code, unsigned dst, unsigned src, int off, uint32_t imm)
{
    rtap_ebpf_op(t->out, code, dst, src, off, imm);
}

static void move(struct rtap_translate *t, unsigned dst, unsigned src) /* 64 bits */
{
    put(t, ALU64(BPF_MOV | BPF_X), dst, src, 0, 0);
}

static void set(struct rtap_translate *t, unsigned dst, uint32_t imm)
{
    put(t, ALU(BPF_MOV | BPF_K), dst, 0, 0, imm);
}

static void call(struct rtap_translate *t, uint32_t helper)
{
    put(t, BPF_JMP | BPF_CALL, 0, 0, 0, helper);
}

static void load_edge(struct rtap_translate *t, unsigned dst, int off) /* or another number of struct xdp_md */
{
    put(t, BPF_LDX | BPF_MEM | BPF_W, dst, RTAP_EBPF_CTX, off, 0);
}

void rtap_translate_edges(struct rtap_translate *t)
{
    if (t->frags)
        return;
    load_edge(t, RTAP_EBPF_DATA, offsetof(struct xdp_md, data));
    load_edge(t, RTAP_EBPF_END, offsetof(struct xdp_md, data_end));
}

/* r0 = bytes of the frame */
static void put_length(struct rtap_translate *t)
{
    move(t, BPF_REG_1, RTAP_EBPF_CTX);
    call(t, HELPER_BUFF_LEN);
    put(t, ALU(BPF_MOV | BPF_X), BPF_REG_0, BPF_REG_0, 0, 0);
    if (!t->frags)
        load_edge(t, RTAP_EBPF_END, offsetof(struct xdp_md, data_end));
}

/* --- loads --- */

/* What is known at an instruction, whichever way led there. */
struct facts {
    bool reached;
    bool small_x;   /* X is at most SMALL, and the verifier knows that */
    uint32_t bytes; /* a test for as many has been passed */
};

#define SMALL 0x3fffu

static struct rtap_translate_far *add_far(struct rtap_translate *t)
{
    if (t->far_count == t->far_size) {
        unsigned n = t->far_size ? 2 * t->far_size : 64;
        void *p = realloc(t->fars, n * sizeof(*t->fars));

        if (p == NULL) {
            t->out->error = -ENOMEM;
            return NULL;
        }
        t->fars = p;
        t->far_size = n;
    }
    return &t->fars[t->far_count++];
}

/* dst = the bytes at r2 of the frame, wherever they lie, as they are. */
static void ask_helper(struct rtap_translate *t, unsigned dst, unsigned size, uint32_t fail)
{
    move(t, BPF_REG_1, RTAP_EBPF_CTX);
    move(t, BPF_REG_3, BPF_REG_10);
    put(t, ALU64(BPF_ADD | BPF_K), BPF_REG_3, 0, 0, (uint32_t)RTAP_STACK_BUFFER);
    set(t, BPF_REG_4, size);
    call(t, HELPER_LOAD_BYTES);
    rtap_ebpf_jump(t->out, BPF_JMP | BPF_JNE | BPF_K, BPF_REG_0, 0, 0, fail);
    put(t, BPF_LDX | BPF_MEM | code_of(size), dst, BPF_REG_10, RTAP_STACK_BUFFER, 0);
}

static void to_host_order(struct rtap_translate *t, unsigned dst, unsigned size)
{
    if (size > 1)
        put(t, ALU(BPF_END | BPF_TO_BE), dst, 0, 0, 8 * size);
}

/* dst = the bytes at `at` + off, of which r1 is the end, in host order. With frags the frame may go on elsewhere: for
 * that there is their offset in the frame, if indirect in r2. */
static void put_load(struct rtap_translate *t, unsigned dst, unsigned at, int off, unsigned size, bool test,
                     uint32_t offset, bool indirect, uint32_t fail)
{
    struct rtap_translate_far *far = t->frags ? add_far(t) : NULL;
    unsigned end = t->frags ? BPF_REG_3 : RTAP_EBPF_END;

    if (far != NULL) {
        uint32_t start = rtap_ebpf_labels(t->out, 2);

        *far = (struct rtap_translate_far){start, start + 1, fail, offset, dst, size, indirect};
        fail = start;
    }
    if (test)
        rtap_ebpf_jump(t->out, BPF_JMP | BPF_JGT | BPF_X, BPF_REG_1, end, 0, fail);
    put(t, BPF_LDX | BPF_MEM | code_of(size), dst, at, off, 0);
    if (far != NULL)
        rtap_ebpf_place(t->out, far->back);
    to_host_order(t, dst, size);
}

void rtap_translate_load(struct rtap_translate *t, unsigned dst, uint32_t offset, unsigned size, uint32_t checked,
                         uint32_t fail)
{
    unsigned at = RTAP_EBPF_DATA;
    bool test, far = offset > INT16_MAX; /* more than an instruction's offset can say */

    if (offset > RTAP_TRANSLATE_REACH - size) {
        rtap_ebpf_goto(t->out, fail);
        return;
    }
    if (t->by_call) {
        set(t, BPF_REG_2, offset);
        ask_helper(t, dst, size, fail);
        to_host_order(t, dst, size);
        return;
    }
    if (t->frags) {
        at = BPF_REG_0;
        load_edge(t, BPF_REG_0, offsetof(struct xdp_md, data));
        load_edge(t, BPF_REG_3, offsetof(struct xdp_md, data_end));
    }
    test = t->frags || offset + size > checked;
    if (test || far) {
        move(t, BPF_REG_1, at);
        put(t, ALU64(BPF_ADD | BPF_K), BPF_REG_1, 0, 0, offset + size);
    }
    put_load(t, dst, far ? BPF_REG_1 : at, far ? -(int)size : (int)offset, size, test, offset, false, fail);
}

/* A test that is true of each offset the verifier leaves out, and its time for that grows with the square of their
 * number. It also knows bits of an offset, but not that no number below the reach has them, and then refuses the way
 * that nobody goes. So the offset is made unknown to it, by an unknown number that is put in and out; but for the small
 * X that every header's length gives, which needs no test. */
static void load_indirect(struct rtap_translate *t, uint32_t k, unsigned size, bool small_x)
{
    if (k > RTAP_TRANSLATE_REACH - size) {
        rtap_ebpf_goto(t->out, t->no_match);
        return;
    }
    move(t, BPF_REG_2, X);
    if (k > 0)
        put(t, ALU64(BPF_ADD | BPF_K), BPF_REG_2, 0, 0, k);
    if (!small_x || k > RTAP_TRANSLATE_REACH - size - SMALL) {
        load_edge(t, BPF_REG_0, offsetof(struct xdp_md, rx_queue_index));
        put(t, ALU64(BPF_XOR | BPF_X), BPF_REG_2, BPF_REG_0, 0, 0);
        put(t, ALU64(BPF_XOR | BPF_X), BPF_REG_2, BPF_REG_0, 0, 0);
        rtap_ebpf_jump(t->out, BPF_JMP | BPF_JGT | BPF_K, BPF_REG_2, 0, RTAP_TRANSLATE_REACH - size, t->no_match);
    }
    if (t->by_call) {
        ask_helper(t, A, size, t->no_match);
        to_host_order(t, A, size);
        return;
    }
    if (t->frags) {
        load_edge(t, BPF_REG_0, offsetof(struct xdp_md, data));
        load_edge(t, BPF_REG_3, offsetof(struct xdp_md, data_end));
    } else {
        move(t, BPF_REG_0, RTAP_EBPF_DATA);
    }
    put(t, ALU64(BPF_ADD | BPF_X), BPF_REG_0, BPF_REG_2, 0, 0);
    move(t, BPF_REG_1, BPF_REG_0);
    put(t, ALU64(BPF_ADD | BPF_K), BPF_REG_1, 0, 0, size);
    put_load(t, A, BPF_REG_0, 0, size, true, 0, true, t->no_match);
}

void rtap_translate_finish(struct rtap_translate *t)
{
    for (unsigned i = 0; i < t->far_count && t->out->error == 0; i++) {
        const struct rtap_translate_far *far = &t->fars[i];

        rtap_ebpf_place(t->out, far->start);
        if (!far->indirect)
            set(t, BPF_REG_2, far->offset);
        ask_helper(t, far->dst, far->size, far->fail);
        rtap_ebpf_goto(t->out, far->back);
    }
    free(t->fars);
    t->fars = NULL;
    t->far_count = t->far_size = 0;
}

/* --- one instruction --- */

static void translate_ld(struct rtap_translate *t, const struct rtap_translate_program *program,
                         const struct sock_filter *p, const struct facts *facts)
{
    unsigned dst = BPF_CLASS(p->code) == BPF_LD ? A : X;

    switch (BPF_MODE(p->code)) {
    case BPF_ABS:
        if (program->aux && p->k == (uint32_t)SKF_AD_OFF + SKF_AD_VLAN_TPID)
            put(t, BPF_LDX | BPF_MEM | BPF_W, A, BPF_REG_10, RTAP_STACK_TPID, 0);
        else if (program->aux && p->k == (uint32_t)SKF_AD_OFF + SKF_AD_VLAN_TAG)
            put(t, BPF_LDX | BPF_MEM | BPF_W, A, BPF_REG_10, RTAP_STACK_TCI, 0);
        else
            rtap_translate_load(t, A, p->k, size_of(p->code), facts->bytes, t->no_match);
        break;
    case BPF_MSH:
        rtap_translate_load(t, X, p->k, 1, facts->bytes, t->no_match);
        put(t, ALU(BPF_AND | BPF_K), X, 0, 0, 0xf);
        put(t, ALU(BPF_LSH | BPF_K), X, 0, 0, 2);
        break;
    case BPF_IND: load_indirect(t, p->k, size_of(p->code), facts->small_x); break;
    case BPF_LEN:
        put_length(t);
        move(t, dst, BPF_REG_0);
        break;
    case BPF_MEM: put(t, BPF_LDX | BPF_MEM | BPF_W, dst, BPF_REG_10, slot_at(p->k), 0); break;
    default: /* BPF_IMM */ set(t, dst, p->k); break;
    }
}

static void translate_alu(struct rtap_translate *t, const struct sock_filter *p)
{
    unsigned op = BPF_OP(p->code), src = BPF_SRC(p->code);
    bool by_k = src == BPF_K, shift = op == BPF_LSH || op == BPF_RSH, division = op == BPF_DIV || op == BPF_MOD;

    if (by_k && division && p->k == 0) {
        rtap_ebpf_goto(t->out, t->no_match);
    } else if (by_k && shift && p->k >= 32) {
        set(t, A, 0);
    } else if (op == BPF_NEG) {
        put(t, ALU(BPF_NEG), A, 0, 0, 0);
    } else if (by_k) {
        put(t, ALU(op | BPF_K), A, 0, 0, p->k);
    } else if (shift) {
        uint32_t small = rtap_ebpf_labels(t->out, 2), done = small + 1;

        rtap_ebpf_jump(t->out, BPF_JMP32 | BPF_JLT | BPF_K, X, 0, 32, small);
        set(t, A, 0);
        rtap_ebpf_goto(t->out, done);
        rtap_ebpf_place(t->out, small);
        put(t, ALU(op | BPF_X), A, X, 0, 0);
        rtap_ebpf_place(t->out, done);
    } else {
        if (division)
            rtap_ebpf_jump(t->out, BPF_JMP32 | BPF_JEQ | BPF_K, X, 0, 0, t->no_match);
        put(t, ALU(op | BPF_X), A, X, 0, 0);
    }
}

static bool steps_back(const struct sock_filter *p)
{
    return p->code == (BPF_JMP | BPF_JA) && p->k > INT32_MAX;
}

/* Where a jump to instruction i ends up. */
static uint32_t end_of_way(const struct rtap_translate_program *program, uint32_t i)
{
    while (program->insns[i].code == (BPF_JMP | BPF_JA) && !steps_back(&program->insns[i]))
        i += 1 + program->insns[i].k;
    return i;
}

static void translate_branch(struct rtap_translate *t, const struct rtap_translate_program *program, uint32_t i,
                             uint32_t labels)
{
    const struct sock_filter *p = &program->insns[i];
    uint32_t if_true = end_of_way(program, i + 1 + p->jt), if_false = end_of_way(program, i + 1 + p->jf);
    uint32_t next = i + 1, imm = BPF_SRC(p->code) == BPF_K ? p->k : 0;
    unsigned code = BPF_JMP32 | BPF_OP(p->code) | BPF_SRC(p->code), dst = A, src = BPF_SRC(p->code) == BPF_X ? X : 0;

    while (program->insns[next].code == (BPF_JMP | BPF_JA) && !steps_back(&program->insns[next]))
        next++; /* behind a branch nobody comes here: the ways go past it */
    if (if_true == if_false) {
        rtap_ebpf_goto(t->out, labels + if_true);
        return;
    }
    if (BPF_OP(p->code) == BPF_JSET && (if_true == next || t->out->shallow)) { /* it has no opposite */
        put(t, ALU(BPF_MOV | BPF_X), BPF_REG_0, A, 0, 0);
        put(t, ALU(BPF_AND | BPF_SRC(p->code)), BPF_REG_0, src, 0, imm);
        code = BPF_JMP32 | BPF_JNE | BPF_K;
        dst = BPF_REG_0;
        src = 0;
        imm = 0;
    }
    if (if_true == next) {
        rtap_ebpf_unless(t->out, code, dst, src, imm, labels + if_false);
        rtap_ebpf_goto(t->out, labels + if_true);
    } else {
        rtap_ebpf_jump(t->out, code, dst, src, imm, labels + if_true);
        rtap_ebpf_goto(t->out, labels + if_false);
    }
}

static uint32_t slots_of(const struct rtap_translate_program *program)
{
    uint32_t used = 0;

    for (unsigned i = 0; i < program->count; i++) {
        const struct sock_filter *p = &program->insns[i];

        if ((BPF_CLASS(p->code) == BPF_LD || BPF_CLASS(p->code) == BPF_LDX) && BPF_MODE(p->code) == BPF_MEM)
            used |= 1u << p->k;
    }
    return used;
}

static void step_back(struct rtap_translate *t, uint32_t slots, uint32_t to)
{
    put(t, BPF_LDX | BPF_MEM | BPF_DW, BPF_REG_0, BPF_REG_10, RTAP_STACK_ROUNDS, 0);
    rtap_ebpf_jump(t->out, BPF_JMP | BPF_JEQ | BPF_K, BPF_REG_0, 0, 0, t->no_match);
    for (unsigned i = 0; i < 2; i++) {
        put(t, ALU(BPF_XOR | BPF_X), A, BPF_REG_0, 0, 0);
        put(t, ALU(BPF_XOR | BPF_X), X, BPF_REG_0, 0, 0);
    }
    for (uint32_t k = 0; slots >> k != 0; k++) {
        if ((slots >> k & 1) == 0)
            continue;
        put(t, BPF_LDX | BPF_MEM | BPF_W, BPF_REG_1, BPF_REG_10, slot_at(k), 0);
        put(t, ALU(BPF_XOR | BPF_X), BPF_REG_1, BPF_REG_0, 0, 0);
        put(t, ALU(BPF_XOR | BPF_X), BPF_REG_1, BPF_REG_0, 0, 0);
        put(t, BPF_STX | BPF_MEM | BPF_W, BPF_REG_10, BPF_REG_1, slot_at(k), 0);
    }
    put(t, ALU64(BPF_SUB | BPF_K), BPF_REG_0, 0, 0, 1);
    put(t, BPF_STX | BPF_MEM | BPF_DW, BPF_REG_10, BPF_REG_0, RTAP_STACK_ROUNDS, 0);
    rtap_ebpf_may_goto(t->out, t->no_match);
    put(t, ALU(BPF_MOV | BPF_X), A, A, 0, 0); /* behind it the verifier forgets that they are zero-extended */
    put(t, ALU(BPF_MOV | BPF_X), X, X, 0, 0);
    rtap_ebpf_goto(t->out, to);
}

/* --- the program --- */

static void arrive(struct facts *to, const struct facts *from)
{
    if (!to->reached) {
        *to = *from;
        return;
    }
    to->bytes = from->bytes < to->bytes ? from->bytes : to->bytes;
    to->small_x = to->small_x && from->small_x;
}

/* Tell those that come after instruction i what is known. */
static void pass_on(const struct rtap_translate_program *program, uint32_t i, struct facts *all)
{
    const struct sock_filter *p = &program->insns[i];
    unsigned class = BPF_CLASS(p->code), mode = BPF_MODE(p->code);
    struct facts now = all[i];
    uint32_t end;

    switch (class) {
    case BPF_LD:
    case BPF_LDX:
        end = p->k < RTAP_TRANSLATE_REACH ? p->k + size_of(p->code) : 0;
        if ((mode == BPF_ABS || mode == BPF_MSH) && end > now.bytes)
            now.bytes = end;
        if (class == BPF_LDX)
            now.small_x = mode == BPF_MSH || (mode == BPF_IMM && p->k <= SMALL);
        break;
    case BPF_MISC: now.small_x = now.small_x && BPF_MISCOP(p->code) != BPF_TAX; break;
    case BPF_JMP:
        if (BPF_OP(p->code) == BPF_JA) {
            arrive(&all[i + 1 + p->k], &now);
        } else {
            arrive(&all[i + 1 + p->jt], &now);
            arrive(&all[i + 1 + p->jf], &now);
        }
        return;
    case BPF_RET: return;
    default: break;
    }
    arrive(&all[i + 1], &now);
}

static void translate_one(struct rtap_translate *t, const struct rtap_translate_program *program, uint32_t i,
                          const struct facts *facts, uint32_t slots, uint32_t labels)
{
    const struct sock_filter *p = &program->insns[i];

    switch (BPF_CLASS(p->code)) {
    case BPF_LD:
    case BPF_LDX: translate_ld(t, program, p, facts); break;
    case BPF_ST:
    case BPF_STX:
        if (slots >> p->k & 1) /* somebody reads it */
            put(t, BPF_STX | BPF_MEM | BPF_W, BPF_REG_10, BPF_CLASS(p->code) == BPF_ST ? A : X, slot_at(p->k), 0);
        break;
    case BPF_ALU: translate_alu(t, p); break;
    case BPF_JMP:
        if (BPF_OP(p->code) != BPF_JA)
            translate_branch(t, program, i, labels);
        else if (steps_back(p))
            step_back(t, slots, labels + i + 1 + p->k);
        else
            rtap_ebpf_goto(t->out, labels + i + 1 + p->k);
        break;
    case BPF_RET:
        if (BPF_RVAL(p->code) == BPF_A)
            rtap_ebpf_jump(t->out, BPF_JMP32 | BPF_JEQ | BPF_K, A, 0, 0, t->no_match);
        rtap_ebpf_goto(t->out, BPF_RVAL(p->code) == BPF_A || p->k != 0 ? t->match : t->no_match);
        break;
    default: /* BPF_MISC */
        if (BPF_MISCOP(p->code) == BPF_TAX)
            move(t, X, A);
        else
            move(t, A, X);
        break;
    }
}

void rtap_translate_program(struct rtap_translate *t, const struct rtap_translate_program *program)
{
    bool loops = rtap_bpf_has_loop(program->insns, program->count);
    struct facts *facts = calloc(program->count, sizeof(*facts));
    uint32_t labels = rtap_ebpf_labels(t->out, program->count), slots = slots_of(program);

    if (facts == NULL)
        t->out->error = -ENOMEM;
    if (t->out->error < 0)
        goto out;
    facts[0] = (struct facts){.reached = true, .small_x = !loops};
    if (loops) {
        put_length(t);
        if (program->more_bytes != 0)
            put(t, ALU64(BPF_ADD | BPF_K), BPF_REG_0, 0, 0, (uint32_t)program->more_bytes);
        put(t, BPF_STX | BPF_MEM | BPF_DW, BPF_REG_10, BPF_REG_0, RTAP_STACK_ROUNDS, 0);
    }
    set(t, A, 0);
    set(t, X, 0);
    for (uint32_t k = 0; slots >> k != 0; k++)
        if (slots >> k & 1)
            put(t, BPF_ST | BPF_MEM | BPF_W, BPF_REG_10, 0, slot_at(k), 0);
    for (uint32_t i = 0; i < program->count && t->out->error == 0; i++) {
        rtap_ebpf_place(t->out, labels + i);
        if (loops || facts[i].reached)
            translate_one(t, program, i, &facts[i], slots, labels);
        if (!loops && facts[i].reached)
            pass_on(program, i, facts);
    }
out:
    free(facts);
}
