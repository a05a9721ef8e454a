/*
 * The classic BPF interpreter of the user-space data path (files, owned packets, and what the kernel can't filter).
 *
 * Invariant: rtap_bpf_run is only given programs that rtap_bpf_check accepted, so it checks nothing but the packet's
 * bounds: jumps stay inside, every code has an entry in the table. It ends because only `ja` goes back, and that is
 * counted. The results are those of libpcap's bpf_filter() to the bit, which the tests compare. Called by filter.c.
 */
#include "bpf_run.h"
#include "bytes.h"
#include <stddef.h>

/* Every instruction, once: X(label, code). Both functions below are made from this list. */
#define RTAP_BPF_CODES(X)                 \
    X(ret_k, BPF_RET | BPF_K)             \
    X(ret_a, BPF_RET | BPF_A)             \
    X(ld_w_abs, BPF_LD | BPF_W | BPF_ABS) \
    X(ld_h_abs, BPF_LD | BPF_H | BPF_ABS) \
    X(ld_b_abs, BPF_LD | BPF_B | BPF_ABS) \
    X(ld_w_ind, BPF_LD | BPF_W | BPF_IND) \
    X(ld_h_ind, BPF_LD | BPF_H | BPF_IND) \
    X(ld_b_ind, BPF_LD | BPF_B | BPF_IND) \
    X(ld_len, BPF_LD | BPF_W | BPF_LEN)   \
    X(ldx_len, BPF_LDX | BPF_W | BPF_LEN) \
    X(ldx_msh, BPF_LDX | BPF_B | BPF_MSH) \
    X(ld_imm, BPF_LD | BPF_W | BPF_IMM)   \
    X(ldx_imm, BPF_LDX | BPF_W | BPF_IMM) \
    X(ld_mem, BPF_LD | BPF_W | BPF_MEM)   \
    X(ldx_mem, BPF_LDX | BPF_W | BPF_MEM) \
    X(st, BPF_ST)                         \
    X(stx, BPF_STX)                       \
    X(ja, BPF_JMP | BPF_JA)               \
    X(jgt_k, BPF_JMP | BPF_JGT | BPF_K)   \
    X(jge_k, BPF_JMP | BPF_JGE | BPF_K)   \
    X(jeq_k, BPF_JMP | BPF_JEQ | BPF_K)   \
    X(jset_k, BPF_JMP | BPF_JSET | BPF_K) \
    X(jgt_x, BPF_JMP | BPF_JGT | BPF_X)   \
    X(jge_x, BPF_JMP | BPF_JGE | BPF_X)   \
    X(jeq_x, BPF_JMP | BPF_JEQ | BPF_X)   \
    X(jset_x, BPF_JMP | BPF_JSET | BPF_X) \
    X(add_x, BPF_ALU | BPF_ADD | BPF_X)   \
    X(sub_x, BPF_ALU | BPF_SUB | BPF_X)   \
    X(mul_x, BPF_ALU | BPF_MUL | BPF_X)   \
    X(div_x, BPF_ALU | BPF_DIV | BPF_X)   \
    X(mod_x, BPF_ALU | BPF_MOD | BPF_X)   \
    X(and_x, BPF_ALU | BPF_AND | BPF_X)   \
    X(or_x, BPF_ALU | BPF_OR | BPF_X)     \
    X(xor_x, BPF_ALU | BPF_XOR | BPF_X)   \
    X(lsh_x, BPF_ALU | BPF_LSH | BPF_X)   \
    X(rsh_x, BPF_ALU | BPF_RSH | BPF_X)   \
    X(add_k, BPF_ALU | BPF_ADD | BPF_K)   \
    X(sub_k, BPF_ALU | BPF_SUB | BPF_K)   \
    X(mul_k, BPF_ALU | BPF_MUL | BPF_K)   \
    X(div_k, BPF_ALU | BPF_DIV | BPF_K)   \
    X(mod_k, BPF_ALU | BPF_MOD | BPF_K)   \
    X(and_k, BPF_ALU | BPF_AND | BPF_K)   \
    X(or_k, BPF_ALU | BPF_OR | BPF_K)     \
    X(xor_k, BPF_ALU | BPF_XOR | BPF_K)   \
    X(lsh_k, BPF_ALU | BPF_LSH | BPF_K)   \
    X(rsh_k, BPF_ALU | BPF_RSH | BPF_K)   \
    X(neg, BPF_ALU | BPF_NEG)             \
    X(tax, BPF_MISC | BPF_TAX)            \
    X(txa, BPF_MISC | BPF_TXA)

static bool code_known(uint16_t code)
{
#define X(name, value) case value:
    switch (code) {
        RTAP_BPF_CODES(X)
        return true;
    default: return false;
    }
#undef X
}

bool rtap_bpf_check(const struct sock_filter *insns, unsigned count)
{
    if (count == 0 || count > RTAP_BPF_MAXINSNS || BPF_CLASS(insns[count - 1].code) != BPF_RET)
        return false;
    for (unsigned i = 0; i < count; i++) {
        const struct sock_filter *p = &insns[i];
        unsigned left = count - i - 1; /* instructions after this one */

        if (!code_known(p->code))
            return false;
        switch (BPF_CLASS(p->code)) {
        case BPF_JMP:
            /* ja may go back: unsigned arithmetic covers both ways */
            if (BPF_OP(p->code) == BPF_JA ? i + 1 + p->k >= count : p->jt >= left || p->jf >= left)
                return false;
            break;
        case BPF_ST:
        case BPF_STX:
            if (p->k >= RTAP_BPF_MEMWORDS)
                return false;
            break;
        case BPF_LD:
        case BPF_LDX:
            if (BPF_MODE(p->code) == BPF_MEM && p->k >= RTAP_BPF_MEMWORDS)
                return false;
            break;
        default: break;
        }
    }
    return true;
}

bool rtap_bpf_has_loop(const struct sock_filter *insns, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (insns[i].code == (BPF_JMP | BPF_JA) && insns[i].k > INT32_MAX)
            return true;
    return false;
}

/* Each instruction ends with its own indirect jump: the branch predictor then knows which one came before. */
#define NEXT goto *labels[(++p)->code]
#define JUMP(cond)                         \
    do {                                   \
        p += 1 + ((cond) ? p->jt : p->jf); \
        goto *labels[p->code];             \
    } while (0)
/* 64 bits: neither an index near 2^32 nor X + k wraps round to a byte of the packet. */
#define LOAD(to, index, size, value) \
    do {                             \
        uint64_t at = (index);       \
        if (at + (size) > caplen)    \
            return 0;                \
        (to) = (value);              \
    } while (0)

uint32_t rtap_bpf_run(const struct sock_filter *insns, const uint8_t *data, uint32_t caplen, uint32_t len)
{
#define X(name, value) [value] = __extension__ && name,
    static const void *const labels[256] = {RTAP_BPF_CODES(X)};
#undef X
    uint32_t mem[RTAP_BPF_MEMWORDS] = {0};
    uint32_t a = 0, x = 0, loops = caplen;
    const struct sock_filter *p = insns;

    goto *labels[p->code];

ret_k:
    return p->k;
ret_a:
    return a;

ld_w_abs:
    LOAD(a, p->k, 4, rtap_be32(data + at));
    NEXT;
ld_h_abs:
    LOAD(a, p->k, 2, rtap_be16(data + at));
    NEXT;
ld_b_abs:
    LOAD(a, p->k, 1, data[at]);
    NEXT;
ld_w_ind:
    LOAD(a, (uint64_t)x + p->k, 4, rtap_be32(data + at));
    NEXT;
ld_h_ind:
    LOAD(a, (uint64_t)x + p->k, 2, rtap_be16(data + at));
    NEXT;
ld_b_ind:
    LOAD(a, (uint64_t)x + p->k, 1, data[at]);
    NEXT;
ldx_msh:
    LOAD(x, p->k, 1, (data[at] & 0xfu) << 2);
    NEXT;
ld_len:
    a = len;
    NEXT;
ldx_len:
    x = len;
    NEXT;
ld_imm:
    a = p->k;
    NEXT;
ldx_imm:
    x = p->k;
    NEXT;
ld_mem:
    a = mem[p->k];
    NEXT;
ldx_mem:
    x = mem[p->k];
    NEXT;
st:
    mem[p->k] = a;
    NEXT;
stx:
    mem[p->k] = x;
    NEXT;

ja:
    if (p->k > INT32_MAX && loops-- == 0)
        return 0;
    p += (int32_t)p->k;
    NEXT;
jgt_k:
    JUMP(a > p->k);
jge_k:
    JUMP(a >= p->k);
jeq_k:
    JUMP(a == p->k);
jset_k:
    JUMP(a & p->k);
jgt_x:
    JUMP(a > x);
jge_x:
    JUMP(a >= x);
jeq_x:
    JUMP(a == x);
jset_x:
    JUMP(a & x);

add_x:
    a += x;
    NEXT;
sub_x:
    a -= x;
    NEXT;
mul_x:
    a *= x;
    NEXT;
div_x:
    if (x == 0)
        return 0;
    a /= x;
    NEXT;
mod_x:
    if (x == 0)
        return 0;
    a %= x;
    NEXT;
and_x:
    a &= x;
    NEXT;
or_x:
    a |= x;
    NEXT;
xor_x:
    a ^= x;
    NEXT;
lsh_x:
    a = x < 32 ? a << x : 0;
    NEXT;
rsh_x:
    a = x < 32 ? a >> x : 0;
    NEXT;
add_k:
    a += p->k;
    NEXT;
sub_k:
    a -= p->k;
    NEXT;
mul_k:
    a *= p->k;
    NEXT;
div_k:
    if (p->k == 0)
        return 0;
    a /= p->k;
    NEXT;
mod_k:
    if (p->k == 0)
        return 0;
    a %= p->k;
    NEXT;
and_k:
    a &= p->k;
    NEXT;
or_k:
    a |= p->k;
    NEXT;
xor_k:
    a ^= p->k;
    NEXT;
lsh_k:
    a = p->k < 32 ? a << p->k : 0;
    NEXT;
rsh_k:
    a = p->k < 32 ? a >> p->k : 0;
    NEXT;
neg:
    a = 0u - a;
    NEXT;
tax:
    x = a;
    NEXT;
txa:
    a = x;
    NEXT;
}
