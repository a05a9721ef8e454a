/* Expressions of protocol tables: a small stack machine on 64-bit integers. lua/ringtap/expr.lua writes the code. */
#include "bytes.h"
#include "engine.h"

#include <string.h>

enum {
    E_K = 0,
    E_LOAD = 1,
    E_REG = 2,
    E_VAR = 3,
    E_U8 = 4,
    E_U16 = 5,
    E_U32 = 6,
    E_AT8 = 7,
    E_AT16 = 8,
    E_AT32 = 9,
    E_UNDER = 10,
    E_LE16 = 11,
    E_LE32 = 12,
    E_LINE = RTAP_EXPR_LINE,
    E_ADD = 20,
    E_SUB,
    E_MUL,
    E_DIV,
    E_MOD,
    E_AND,
    E_OR,
    E_XOR,
    E_SHL,
    E_SHR,
    E_EQ,
    E_NE,
    E_LT,
    E_LE,
    E_GT,
    E_GE,
    E_INV,
    E_NOT,
    E_NEG,
    E_JZ = 40,
    E_JMP,
    E_BOOL,
};

enum {
    V_START,
    V_HEADER,
    V_LEN,
    V_CAP,
    V_HERE,
    V_REST,
    V_PAYLOAD,
    V_INDEX,
    V_CHECKSUM,
    V_WIRE,
    V_LINK,
    V_DIRECTION,
    V_PARENT_LEN,
    V_INNER_END,
    V_PASSED,
    V_IP,
    V_END,
};

#define STACK 24

/* 64-bit arithmetic wraps, whatever constants a table has. */
static int64_t plus(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

static int64_t times(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a * (uint64_t)b);
}

uint64_t rtap_load_bits(const uint8_t *base, uint32_t bit, unsigned bits)
{
    const uint8_t *p = base + bit / 8;
    unsigned shift = bit % 8, n = (shift + bits + 7) / 8;
    uint64_t v = 0;

    if (shift == 0) {
        switch (bits) {
        case 8: return *p;
        case 16: return rtap_be16(p);
        case 32: return rtap_be32(p);
        case 64: return rtap_be64(p);
        default: break;
        }
    }
    if (n > 8) { /* 9 bytes hold it */
        v = rtap_be64(p) << shift | p[8] >> (8 - shift);
        return bits == 64 ? v : v >> (64 - bits);
    }
    for (unsigned i = 0; i < n; i++)
        v = v << 8 | p[i];
    v >>= n * 8 - shift - bits;
    return bits == 64 ? v : v & ((1ull << bits) - 1);
}

static uint64_t swap(uint64_t v, unsigned bits)
{
    uint64_t r = 0;

    for (unsigned i = 0; i < bits / 8; i++)
        r = r << 8 | (v >> (8 * i) & 0xff);
    return r;
}

int64_t rtap_decl_number(const struct rtap_decl *d, const uint8_t *base, uint32_t bit, uint32_t bits)
{
    uint64_t v;

    if (bits == 0 || bits > 64)
        return 0;
    v = rtap_load_bits(base, bit, bits);
    if ((d->flags & RTAP_DECL_LE) && bits % 8 == 0)
        v = swap(v, bits);
    if (d->type == RTAP_INT && bits < 64 && v >> (bits - 1) & 1)
        v |= ~0ull << bits;
    return (int64_t)(v * (uint64_t)d->scale + (uint64_t)d->add);
}

static bool load(const struct rtap_eval *ev, unsigned decl, int64_t *v)
{
    const struct rtap_decl *d = &ev->proto->decls[decl];

    if ((uint64_t)(uint32_t)d->fixed + d->bits > (uint64_t)ev->cap * 8)
        return false;
    *v = rtap_decl_number(d, ev->base, (uint32_t)d->fixed, d->bits);
    return true;
}

static bool read_at(const struct rtap_eval *ev, int64_t at, unsigned n, bool little, int64_t *v)
{
    const uint8_t *p;

    if (at < 0 || at > ev->cap || ev->cap - (uint64_t)at < n)
        return false;
    p = ev->base + at;
    *v = n == 1 ? *p : n == 2 ? (little ? rtap_le16(p) : rtap_be16(p)) : (little ? rtap_le32(p) : rtap_be32(p));
    return true;
}

/* Where the first layer above that knows its own length ends; what isn't known ends where the layer ends. A layer above
 * that looks behind what it carries itself (a VLAN tag) leaves nothing there. */
int64_t rtap_eval_inner_end(const struct rtap_eval *ev)
{
    const struct rtap_layer *l = ev->layer, *last = ev->layers->at + ev->layers->count;

    if (l < ev->layers->at || l >= last)
        return 0;
    for (const struct rtap_layer *up = l + 1; up < last; up++) {
        if (up->proto->needs_above)
            return (int64_t)l->bound - l->off;
        if (up->flags & RTAP_LAYER_TOLD)
            return (int64_t)(up->end < l->end ? up->end : l->end) - l->off;
    }
    return (int64_t)l->end - l->off;
}

/* Of the nearest IP header below, 0: there is none. */
static int64_t ip_version(const struct rtap_eval *ev)
{
    const struct rtap_engine *e = ev->layers->engine;

    for (const struct rtap_layer *l = ev->below; l; l = rtap_layer_below(ev->layers, l))
        if (l->proto->id == e->ip || l->proto->id == e->ipv6)
            return l->proto->id == e->ip ? 4 : 6;
    return 0;
}

static int64_t var(const struct rtap_eval *ev, int64_t which)
{
    const struct rtap_layer *l = ev->layer;
    uint32_t direction;

    switch (which) {
    case V_START: return l->off;
    case V_HEADER: return l->header;
    case V_LEN: return (int64_t)l->end - l->off;
    case V_CAP: return ev->cap;
    case V_HERE: return ev->pos / 8;
    case V_REST: return ((int64_t)(ev->soft && ev->region > ev->soft_end ? ev->soft_end : ev->region) - ev->pos) / 8;
    case V_PAYLOAD: return (int64_t)l->end - l->off - l->header;
    case V_INDEX: return ev->index;
    case V_CHECKSUM: ((struct rtap_eval *)ev)->cost += ev->cap / 16 + 1; return rtap_layer_sum(ev);
    case V_WIRE: return (int64_t)l->wire - l->off;
    case V_LINK: return ev->layers->pkt->linktype;
    case V_PARENT_LEN: return ev->below ? (int64_t)ev->below->end - ev->below->off : (int64_t)ev->layers->pkt->len;
    case V_INNER_END: return rtap_eval_inner_end(ev);
    case V_PASSED: return l->passed;
    case V_IP: return ip_version(ev);
    default:
        direction = ev->layers->pkt->epb_flags & RTAP_EPB_DIRECTION;
        return direction == RTAP_EPB_INBOUND ? 1 : direction == RTAP_EPB_OUTBOUND ? 2 : 0;
    }
}

static bool binary(int op, int64_t a, int64_t b, int64_t *v)
{
    uint64_t x = (uint64_t)a, y = (uint64_t)b;

    switch (op) {
    case E_ADD: *v = (int64_t)(x + y); break;
    case E_SUB: *v = (int64_t)(x - y); break;
    case E_MUL: *v = (int64_t)(x * y); break;
    case E_DIV: *v = b == 0 || (a == INT64_MIN && b == -1) ? 0 : a / b; break;
    case E_MOD: *v = b == 0 || (a == INT64_MIN && b == -1) ? 0 : a % b; break;
    case E_AND: *v = a & b; break;
    case E_OR: *v = a | b; break;
    case E_XOR: *v = a ^ b; break;
    case E_SHL: *v = y > 63 ? 0 : (int64_t)(x << y); break;
    case E_SHR: *v = y > 63 ? 0 : (int64_t)(x >> y); break;
    case E_EQ: *v = a == b; break;
    case E_NE: *v = a != b; break;
    case E_LT: *v = a < b; break;
    case E_LE: *v = a <= b; break;
    case E_GT: *v = a > b; break;
    default: *v = a >= b; break;
    }
    return true;
}

static bool first_line_has(const struct rtap_eval *ev, const char *text)
{
    uint32_t n = 0, limit = ev->cap < 1024 ? ev->cap : 1024;

    while (n < limit && ev->base[n] != '\r' && ev->base[n] != '\n')
        n++;
    return n > 0 && memmem(ev->base, n, text, strlen(text)) != NULL;
}

static __attribute__((noinline)) bool general(const struct rtap_eval *ev, const struct rtap_code *c, int64_t *v)
{
    static const uint8_t width[] = {
        [E_U8] = 1, [E_U16] = 2, [E_U32] = 4, [E_AT8] = 1, [E_AT16] = 2, [E_AT32] = 4, [E_LE16] = 2, [E_LE32] = 4};
    int64_t s[STACK];
    unsigned sp = 0;

    s[0] = 0;
    for (unsigned i = 0; i < c->count; i++) {
        const struct rtap_insn *in = &c->insns[i];

        switch (in->op) {
        case E_K: s[sp++] = in->k; break;
        case E_LOAD:
            if (!load(ev, (unsigned)in->k, &s[sp++]))
                return false;
            break;
        case E_REG: s[sp++] = ev->walked ? ev->regs[in->k] : 0; break;
        case E_VAR: s[sp++] = var(ev, in->k); break;
        case E_UNDER: s[sp++] = ev->below && ev->below->proto->id == in->k; break;
        case E_U8:
        case E_U16:
        case E_U32:
        case E_LE16:
        case E_LE32:
            if (!read_at(ev, s[sp - 1], width[in->op], in->op >= E_LE16, &s[sp - 1]))
                return false;
            break;
        case E_AT8:
        case E_AT16:
        case E_AT32:
            if (!read_at(ev, plus(s[sp - 1], ev->pos / 8), width[in->op], false, &s[sp - 1]))
                return false;
            break;
        case E_LINE: s[sp++] = first_line_has(ev, ev->proto->strings[in->k]); break;
        case E_INV: s[sp - 1] = ~s[sp - 1]; break;
        case E_NOT: s[sp - 1] = !s[sp - 1]; break;
        case E_NEG: s[sp - 1] = (int64_t) - (uint64_t)s[sp - 1]; break;
        case E_BOOL: s[sp - 1] = !!s[sp - 1]; break;
        case E_JZ:
            if (!s[--sp])
                i = (unsigned)in->k - 1;
            break;
        case E_JMP: i = (unsigned)in->k - 1; break;
        default:
            sp--;
            binary(in->op, s[sp - 1], s[sp], &s[sp - 1]);
            break;
        }
    }
    *v = s[0];
    return true;
}

/* Four bytes at its place; of those past the end nothing is asked. */
static bool bits(const struct rtap_eval *ev, const struct rtap_code *c, uint32_t *n)
{
    const uint8_t *p = ev->base + c->at;

    if (c->at + c->width > ev->cap)
        return false;
    *n = c->width == 1 ? (uint32_t)*p << 24 : c->width == 2 ? (uint32_t)rtap_be16(p) << 16 : rtap_be32(p);
    *n = *n >> c->shift & c->mask;
    return true;
}

bool rtap_eval_any(const struct rtap_eval *ev, const struct rtap_code *c, int64_t *v)
{
    uint32_t n, other;

    switch (c->kind) {
    case RTAP_CODE_CONSTANT: *v = c->add; return true;
    case RTAP_CODE_MIN:
    case RTAP_CODE_MAX:
        if (c->at + 2 > ev->cap || c->mask + 2 > ev->cap)
            return false;
        n = rtap_be16(ev->base + c->at);
        other = rtap_be16(ev->base + c->mask);
        *v = (n < other) == (c->kind == RTAP_CODE_MIN) ? n : other;
        return true;
    case RTAP_CODE_SIMPLE:
        if (!bits(ev, c, &n))
            return false;
        *v = plus(times(n, c->mul), c->add);
        return true;
    case RTAP_CODE_TEST:
    case RTAP_CODE_AND:
    case RTAP_CODE_OR:
        if (!bits(ev, c, &n))
            return false;
        *v = ((uint64_t)n * (uint64_t)c->mul - (uint64_t)c->add <= c->span) != c->invert;
        return c->kind == RTAP_CODE_TEST || *v == (c->kind == RTAP_CODE_OR) || general(ev, c, v);
    case RTAP_CODE_LINEAR:
        if (!load(ev, c->decl, v))
            return false;
        *v = (int64_t)((uint64_t)*v * (uint64_t)c->mul + (uint64_t)c->add);
        return true;
    case RTAP_CODE_COMPARE: return load(ev, c->decl, v) && binary(c->compare, *v, c->add, v);
    default: return general(ev, c, v);
    }
}

/* --- checking what came from Lua, once, so that running it needs no checks --- */

static int effect(int op, unsigned *needs)
{
    *needs = 0;
    if (op == E_K || op == E_LOAD || op == E_REG || op == E_VAR || op == E_UNDER || op == E_LINE)
        return 1;
    *needs = 1;
    if ((op >= E_U8 && op <= E_AT32) || op == E_LE16 || op == E_LE32 || op == E_INV || op == E_NOT || op == E_NEG ||
        op == E_BOOL)
        return 0;
    if (op == E_JZ)
        return -1;
    if (op == E_JMP) {
        *needs = 0;
        return 0;
    }
    *needs = 2;
    return -1;
}

static bool known(int op)
{
    return (op >= E_K && op <= E_LINE) || (op >= E_ADD && op <= E_NEG) || (op >= E_JZ && op <= E_BOOL);
}

/* Jumps go forward only, every instruction is reached with one stack depth, and one value is left at the end. */
bool rtap_code_check(const struct rtap_proto *p, const struct rtap_code *c)
{
    int8_t depth[1025];
    int now = 0;

    if (c->count == 0 || c->count > 1024)
        return false;
    memset(depth, -1, sizeof(depth));
    for (unsigned i = 0; i < c->count; i++) {
        const struct rtap_insn *in = &c->insns[i];
        unsigned needs;

        if (!known(in->op))
            return false;
        if (depth[i] >= 0 && now >= 0 && depth[i] != now)
            return false;
        if (depth[i] >= 0)
            now = depth[i];
        if (now < 0)
            return false; /* nothing leads here */
        if (in->op == E_LOAD && ((uint64_t)in->k >= p->decl_count || p->decls[in->k].fixed < 0 ||
                                 p->decls[in->k].bits == 0 || p->decls[in->k].bits > 64))
            return false;
        if ((in->op == E_REG && (uint64_t)in->k >= RTAP_REGS_MAX) || (in->op == E_VAR && (uint64_t)in->k >= V_END) ||
            (in->op == E_LINE && (uint64_t)in->k >= p->string_count))
            return false;
        now += effect(in->op, &needs);
        if (now < (int)needs + effect(in->op, &needs) || now < 0 || now > STACK - 1)
            return false;
        if (in->op == E_JZ || in->op == E_JMP) {
            if (in->k <= i || in->k > c->count || (depth[in->k] >= 0 && depth[in->k] != now))
                return false;
            depth[in->k] = (int8_t)now;
            if (in->op == E_JMP)
                now = -1;
        }
    }
    if (depth[c->count] >= 0 && now >= 0 && depth[c->count] != now)
        return false;
    return (now >= 0 ? now : depth[c->count]) == 1;
}

/* One unsigned big-endian field that lies in 1, 2 or 4 bytes: read where it is used. */
static bool is_port(const struct rtap_decl *d)
{
    return d->type == RTAP_UINT && d->bits == 16 && d->fixed % 8 == 0 && !(d->flags & RTAP_DECL_LE) && d->scale == 1 &&
           d->add == 0;
}

/* a < b ? a : b, and what means the same, for two numbers of 16 bits */
static void find_extreme(const struct rtap_proto *p, struct rtap_code *c)
{
    static const uint8_t ops[] = {E_LOAD, E_LOAD, E_LT, E_JZ, E_LOAD, E_JMP, E_LOAD};
    const struct rtap_insn *in = c->insns;
    bool less, same;

    if (c->count != 7 || !is_port(&p->decls[in[0].k]))
        return;
    for (unsigned i = 0; i < 7; i++)
        if (in[i].op != ops[i] && !(i == 2 && in[i].op >= E_LT && in[i].op <= E_GE))
            return;
    same = in[4].k == in[0].k && in[6].k == in[1].k;
    if (in[3].k != 6 || in[5].k != 7 || !is_port(&p->decls[in[1].k]) ||
        (!same && !(in[4].k == in[1].k && in[6].k == in[0].k)))
        return;
    less = in[2].op == E_LT || in[2].op == E_LE;
    c->kind = less == same ? RTAP_CODE_MIN : RTAP_CODE_MAX;
    c->at = (uint32_t)p->decls[in[0].k].fixed / 8;
    c->mask = (uint32_t)p->decls[in[1].k].fixed / 8;
}

/* field OP add: is field * scale in a range? A field is never negative here. */
static void test(struct rtap_code *c, int64_t scale)
{
    bool equal = c->compare == E_EQ || c->compare == E_NE;
    int64_t last = c->compare == E_LT || c->compare == E_GE ? plus(c->add, -1) : c->add;

    c->kind = RTAP_CODE_TEST;
    c->mul = scale;
    c->invert = c->compare == E_NE || c->compare == E_GE || c->compare == E_GT;
    c->span = equal || last < 0 ? 0 : (uint64_t)last;
    if (!equal)
        c->add = last < 0 ? -1 : 0; /* none is -1 */
}

static void simplify(const struct rtap_proto *p, struct rtap_code *c)
{
    const struct rtap_decl *d = &p->decls[c->decl];
    uint32_t first = (uint32_t)d->fixed / 8, last = ((uint32_t)d->fixed + d->bits - 1) / 8, width = last - first + 1;

    if (d->type == RTAP_INT || d->flags & RTAP_DECL_LE || d->bits == 0 || d->bits > 32 || width == 3 || width > 4 ||
        d->scale < 0 || d->scale > 0xffff)
        return;
    c->at = first;
    c->width = (uint8_t)width;
    c->shift = (uint8_t)(32 - (uint32_t)d->fixed % 8 - d->bits);
    c->mask = d->bits == 32 ? 0xffffffffu : (1u << d->bits) - 1;
    if (c->kind == RTAP_CODE_LINEAR && c->mul > 0 && c->mul < 0xffff) {
        c->add = plus(c->add, times(d->add, c->mul));
        c->mul = times(c->mul, d->scale);
        c->kind = RTAP_CODE_SIMPLE;
    } else if (c->kind == RTAP_CODE_COMPARE && d->add == 0 && c->compare >= E_EQ && c->compare <= E_GE) {
        test(c, d->scale);
    }
}

/* $u8(n), $u16(n), $u32(n), with or without a shift to the right: bits at a place, as a field's are. How many
 * instructions that is; 0: it is none. */
static unsigned plain_read(const struct rtap_code *c, struct rtap_code *t)
{
    const struct rtap_insn *in = c->insns;
    unsigned bits;

    if (c->count < 4 || in[0].op != E_K || in[0].k < 0 || in[0].k > 0xffff || in[1].op < E_U8 || in[1].op > E_U32)
        return 0;
    t->at = (uint32_t)in[0].k;
    t->width = (uint8_t)(1u << (in[1].op - E_U8));
    bits = t->width * 8u;
    t->shift = (uint8_t)(32 - bits);
    t->mask = 0xffffffffu >> t->shift;
    if (in[2].op != E_K || in[3].op != E_SHR || in[2].k < 0 || in[2].k >= bits)
        return 2;
    t->shift = (uint8_t)(t->shift + in[2].k);
    t->mask >>= in[2].k;
    return 4;
}

/* Is the value of the whole k when a part of it, put on the stack at `at`, is k? */
static bool decides(const struct rtap_code *c, unsigned at, int64_t k)
{
    const struct rtap_insn *in = c->insns;

    for (;;) {
        if (at >= c->count || in[at].op != E_K || in[at].k != k)
            return false;
        at++;
        while (at < c->count && (in[at].op == E_BOOL || in[at].op == E_JMP))
            at = in[at].op == E_JMP ? (unsigned)in[at].k : at + 1;
        if (at == c->count)
            return true;
        if (k == 1 && in[at].op == E_NOT)
            at++;
        else if (k == 1)
            return false;
        if (at == c->count || in[at].op != E_JZ)
            return false;
        at = (unsigned)in[at].k;
    }
}

/* TEST alone, TEST && more, TEST || more: mostly the test decides. */
static void find_guard(const struct rtap_proto *p, struct rtap_code *c)
{
    const struct rtap_insn *in = c->insns;
    struct rtap_code t = {.kind = RTAP_CODE_COMPARE, .decl = (uint16_t)in[0].k, .mul = 1};
    bool field = in[0].op == E_LOAD, either;
    unsigned n = field ? 1 : plain_read(c, &t);

    if (c->kind != RTAP_CODE_GENERAL || n == 0 || c->count < n + 2 || in[n].op != E_K || in[n + 1].op < E_EQ ||
        in[n + 1].op > E_GE)
        return;
    t.compare = (uint8_t)in[n + 1].op;
    t.add = in[n].k;
    if (field)
        simplify(p, &t);
    else
        test(&t, 1);
    if (t.kind != RTAP_CODE_TEST)
        return;
    t.insns = c->insns;
    t.count = c->count;
    if (c->count > n + 2) {
        either = in[n + 2].op == E_NOT;
        n += 2 + either;
        if (n >= c->count || in[n].op != E_JZ || !decides(c, (unsigned)in[n].k, either))
            return;
        t.kind = either ? RTAP_CODE_OR : RTAP_CODE_AND;
    }
    *c = t;
}

void rtap_code_prepare(struct rtap_proto *p)
{
    for (unsigned i = 0; i < p->op_count; i++)
        p->needs_above |= p->ops[i].code == RTAP_OP_BEHIND;
    for (unsigned i = 0; i < p->code_count; i++) {
        struct rtap_code *c = &p->codes[i];
        const struct rtap_insn *in = c->insns;

        c->kind = RTAP_CODE_GENERAL;
        for (unsigned k = 0; k < c->count; k++)
            p->needs_above |= in[k].op == E_VAR && in[k].k == V_INNER_END;
        c->mul = 1;
        c->add = 0;
        if (c->count == 1 && in[0].op == E_K) {
            c->kind = RTAP_CODE_CONSTANT;
            c->add = in[0].k;
        } else if (in[0].op == E_LOAD) { /* field, then any of: constant, operator */
            unsigned n = 1;

            c->decl = (uint16_t)in[0].k;
            while (n + 1 < c->count && in[n].op == E_K &&
                   (in[n + 1].op == E_ADD || in[n + 1].op == E_SUB || in[n + 1].op == E_MUL)) {
                if (in[n + 1].op == E_MUL) {
                    c->mul = times(c->mul, in[n].k);
                    c->add = times(c->add, in[n].k);
                } else {
                    c->add = plus(c->add, in[n + 1].op == E_ADD ? in[n].k : times(in[n].k, -1));
                }
                n += 2;
            }
            if (n == c->count) {
                c->kind = RTAP_CODE_LINEAR;
            } else if (c->count == 3 && in[1].op == E_K && in[2].op >= E_ADD && in[2].op <= E_GE) {
                c->kind = RTAP_CODE_COMPARE;
                c->add = in[1].k;
                c->compare = (uint8_t)in[2].op;
            }
            if (c->kind != RTAP_CODE_GENERAL) {
                simplify(p, c);
            } else {
                find_extreme(p, c);
                find_guard(p, c);
            }
        } else {
            find_guard(p, c);
        }
    }
}

bool rtap_code_uses_checksum(const struct rtap_code *c)
{
    for (unsigned i = 0; i < c->count; i++)
        if (c->insns[i].op == E_VAR && c->insns[i].k == V_CHECKSUM)
            return true;
    return false;
}
