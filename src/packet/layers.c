/*
 * The walk over a packet's layers. Each step evaluates a handful of expressions of one protocol: how long its header
 * is, how long it says that all of it is, whether it can be right, what follows.
 *
 * Lengths: `bound` is what the layer below left, `end` what the layer itself says. An end past what was captured is no
 * fault of the packet's (truncated); an end past the bound is one (malformed), unless the bound is nothing but the
 * length of the packet on the wire, or the packet is a quotation or a fragment.
 */
#include "engine.h"

#include <string.h>

void rtap_layers_start(struct rtap_layers *ls, const struct rtap_engine *e, const struct rtap_pkt *pkt,
                       const struct rtap_frame *frame)
{
    ls->engine = e;
    ls->pkt = pkt;
    ls->frame = frame;
    ls->count = 0;
    ls->off = 0;
    ls->bound = pkt->len;
    ls->flags = 0;
    ls->wire = true;
    ls->via = NULL;
    ls->passed = 0;
    ls->pending = rtap_engine_lookup(e, e->table_link, pkt->linktype);
    if (ls->pending && !ls->pending->defined)
        ls->pending = NULL;
    ls->open = ls->undecided = false;
}

/* A layer's expressions, and the bytes that nearly all of them are content with. Only for others ev is filled in: when
 * its proto is NULL it isn't yet. */
struct own {
    const struct rtap_code *codes;
    const uint8_t *base;
    uint32_t cap;
    struct rtap_eval *ev;
};

#define NOT_THERE INT64_MIN /* the expression reads what wasn't captured */

static struct own own(const struct rtap_layers *ls, const struct rtap_layer *l, struct rtap_eval *ev)
{
    uint32_t stop = l->bound < ls->pkt->caplen ? l->bound : ls->pkt->caplen;

    return (struct own){l->proto->codes, ls->pkt->data + l->off, stop > l->off ? stop - l->off : 0, ev};
}

static __attribute__((noinline)) int64_t full_number(const struct rtap_layers *ls, const struct rtap_layer *l,
                                                     struct rtap_eval *ev, int code)
{
    int64_t v;

    if (!ev->proto) {
        rtap_eval_init(ev, ls, l, rtap_layer_below(ls, l));
        ev->region = (l->bound > l->off ? l->bound - l->off : 0) * 8; /* whatever its header says meanwhile */
    }
    return rtap_eval_any(ev, &l->proto->codes[code], &v) ? v : NOT_THERE;
}

static inline int64_t number(const struct rtap_layers *ls, const struct rtap_layer *l, struct own o, int code)
{
    const struct rtap_code *c = &o.codes[code];

    if (c->kind == RTAP_CODE_SIMPLE && c->at + 4 <= o.cap)
        return (int64_t)(rtap_code_bits(c, o.base) * (uint64_t)c->mul + (uint64_t)c->add);
    if (c->kind == RTAP_CODE_CONSTANT)
        return c->add;
    if ((c->kind == RTAP_CODE_MIN || c->kind == RTAP_CODE_MAX) && c->at + 2 <= o.cap && c->mask + 2 <= o.cap) {
        uint32_t a = rtap_be16(o.base + c->at), b = rtap_be16(o.base + c->mask);

        return (a < b) == (c->kind == RTAP_CODE_MIN) ? a : b;
    }
    return full_number(ls, l, o.ev, code);
}

/* 1 true, 0 false, -1 it reads what wasn't captured */
static inline int truth(const struct rtap_layers *ls, const struct rtap_layer *l, struct own o, int code)
{
    int is = rtap_code_truth(&o.codes[code], o.base, o.cap);
    int64_t v;

    if (__builtin_expect(is >= 0, 1))
        return is;
    v = full_number(ls, l, o.ev, code);
    return v == NOT_THERE ? -1 : v != 0;
}

static inline bool holds(const struct rtap_layers *ls, const struct rtap_layer *l, struct own o, int code)
{
    return code < 0 || truth(ls, l, o, code) > 0;
}

/* Would p take what follows? Its own expression, on its own bytes. */
static inline bool takes(const struct rtap_layers *ls, const struct rtap_proto *p, int code, uint32_t off,
                         uint32_t bound)
{
    uint32_t stop = bound < ls->pkt->caplen ? bound : ls->pkt->caplen;
    struct rtap_layer l;
    struct rtap_eval ev;
    int64_t v;
    int is;

    if (!p->defined)
        return false;
    if (code < 0)
        return true;
    is = rtap_code_truth(&p->codes[code], ls->pkt->data + off, stop > off ? stop - off : 0);
    if (is >= 0)
        return is;
    l = (struct rtap_layer){.proto = p, .off = off, .end = bound, .bound = bound, .wire = bound};
    rtap_eval_init(&ev, ls, &l, ls->count ? &ls->at[ls->count - 1] : NULL);
    if (p->needs_walk)
        memset(ev.regs, 0, sizeof(ev.regs));
    return rtap_eval(&ev, code, &v) && v != 0;
}

static __attribute__((noinline)) const struct rtap_proto *guess(const struct rtap_layers *ls, uint16_t list,
                                                                uint32_t off, uint32_t bound)
{
    const struct rtap_engine *e = ls->engine;

    for (unsigned i = 0; i < e->guess_count; i++)
        if (e->guesses[i].list == list && takes(ls, e->guesses[i].proto, e->guesses[i].code, off, bound))
            return e->guesses[i].proto;
    return NULL;
}

static void malformed(struct rtap_layer *l, const char *why)
{
    l->flags |= RTAP_LAYER_MALFORMED;
    if (!l->message)
        l->message = why;
}

/* Whom a rule finds that applies. */
static inline const struct rtap_proto *follow(const struct rtap_layers *ls, struct rtap_layer *l, struct own o,
                                              const struct rtap_rule *r, uint32_t off, uint32_t bound)
{
    const struct rtap_proto *p = r->proto;

    if (r->table) {
        int64_t key = number(ls, l, o, r->key);

        if (key < 0 || key > UINT32_MAX)
            return NULL;
        p = rtap_engine_lookup(ls->engine, r->table, (uint32_t)key);
    } else if (!p) {
        return guess(ls, r->list, off, bound);
    }
    if (!p || takes(ls, p, p->accept, off, bound))
        return p;
    if (p->defined && p->refusal >= 0 && off < ls->pkt->caplen)
        malformed(l, p->strings[p->refusal]);
    return NULL;
}

/* Try the rules from ls->rule on, as long as one of them may lead to what is needed (NULL: everything). */
static inline void next_layer(struct rtap_layers *ls, struct rtap_layer *l, struct own o, const uint64_t *need)
{
    const struct rtap_proto *p = l->proto;

    ls->undecided = false;
    for (unsigned i = ls->rule; i < p->rule_count; i++) {
        const struct rtap_rule *r = &p->rules[i];
        uint32_t off = l->off + l->header, bound = l->end;
        const struct rtap_proto *found;
        int64_t v;

        if (need && !rtap_reach_meets(r->reach, need)) {
            ls->undecided = true;
            ls->rule = i;
            return;
        }
        if (!holds(ls, l, o, r->when))
            continue;
        if (r->flags & RTAP_RULE_STOP)
            break;
        if (r->at >= 0) {
            v = number(ls, l, o, r->at);
            if (v < 0 || v > (int64_t)bound - l->off)
                continue;
            off = l->off + (uint32_t)v;
        }
        if (r->size >= 0) {
            v = number(ls, l, o, r->size);
            if (v < 0)
                continue;
            if (v < (int64_t)bound - off)
                bound = off + (uint32_t)v;
        }
        if (off >= bound)
            continue;
        found = follow(ls, l, o, r, off, bound);
        if (!found) {
            if (r->via >= 0)
                ls->via = p->strings[r->via]; /* of what nobody takes */
            continue;
        }
        v = r->pass < 0 ? 0 : number(ls, l, o, r->pass);
        ls->pending = found;
        ls->off = off;
        ls->bound = bound;
        ls->passed = v == NOT_THERE ? 0 : v;
        ls->via = r->via >= 0 ? p->strings[r->via] : NULL;
        ls->flags = (uint8_t)((l->flags & (RTAP_LAYER_QUOTED | RTAP_LAYER_FRAGMENT)) |
                              (r->flags & RTAP_RULE_GUESS || r->list ? RTAP_LAYER_GUESS : 0) |
                              (r->flags & RTAP_RULE_QUOTED ? RTAP_LAYER_QUOTED : 0) |
                              (r->flags & RTAP_RULE_FRAGMENT ? RTAP_LAYER_FRAGMENT : 0));
        return;
    }
    /* nobody takes it */
    if (ls->engine->protos[ls->engine->data]->defined && l->proto->id != ls->engine->data && ls->off < ls->bound) {
        ls->pending = ls->engine->protos[ls->engine->data];
        ls->flags = (uint8_t)(l->flags & (RTAP_LAYER_QUOTED | RTAP_LAYER_FRAGMENT));
    }
}

/* Part of another packet: it ends before what its headers say. */
static bool is_part(const struct rtap_layer *l)
{
    return l->flags & (RTAP_LAYER_QUOTED | RTAP_LAYER_FRAGMENT);
}

static void cut_off(const struct rtap_layers *ls, struct rtap_layer *l)
{
    if (rtap_layer_is_cut(ls, l))
        l->flags |= RTAP_LAYER_TRUNCATED;
}

/* How long the header and the whole are; false: nothing can follow. */
static inline bool lengths(struct rtap_layers *ls, struct rtap_layer *l, struct own o)
{
    const struct rtap_proto *p = l->proto;
    int64_t v = p->header < 0 ? 0 : number(ls, l, o, p->header);

    if (p->header < 0) {
        if (l->flags & RTAP_LAYER_TRUNCATED) { /* what the walk did not come to isn't known */
            l->header = o.cap;
            return false;
        }
        v = o.ev->pos / 8;                                  /* where the walk came to */
        if (o.ev->stream && v > (int64_t)l->bound - l->off) /* what is there of it */
            v = (int64_t)l->bound - l->off;
    } else if (v == NOT_THERE) {
        if (l->bound <= ls->pkt->caplen && !is_part(l))
            malformed(l, "it ends in the middle of its header");
        cut_off(ls, l);
        l->header = o.cap;
        return false;
    }
    if (v < 0 || v > (int64_t)l->bound - l->off) {
        /* a capture that ends early is not the header's fault; but what says that it is longer than all that there was
         * is */
        if (!is_part(l))
            malformed(l, "its header is longer than what there is of it");
        l->header = l->bound - l->off;
        return false;
    }
    l->header = (uint32_t)v;
    if (p->guessed >= 0 && holds(ls, l, o, p->guessed)) {
        l->flags |= RTAP_LAYER_LENGTH_GUESS;
    } else if (p->total >= 0 && (p->untold < 0 || !holds(ls, l, o, p->untold))) {
        v = number(ls, l, o, p->total);
        if (v == NOT_THERE) {
            cut_off(ls, l);
            return false;
        }
        if (v < (int64_t)l->header) {
            malformed(l, "its length is below that of its header");
            l->end = l->off + l->header;
            return false;
        }
        if (v > (int64_t)l->bound - l->off) {
            if (ls->wire || is_part(l)) {
                if (!is_part(l))
                    l->flags |= RTAP_LAYER_TRUNCATED;
                l->end = v > UINT32_MAX / 2 - l->off ? UINT32_MAX / 2 : l->off + (uint32_t)v;
            } else {
                malformed(l, "it says that it is longer than what there is of it");
            }
        } else {
            l->end = l->off + (uint32_t)v;
            l->flags |= RTAP_LAYER_TOLD;
        }
        ls->wire = false;
    }
    if (l->off + l->header > ls->pkt->caplen) {
        cut_off(ls, l);
        return false;
    }
    return true;
}

/* The pending protocol becomes a layer. How long it is and what follows is worked out when somebody wants to know. */
static void place(struct rtap_layers *ls)
{
    struct rtap_layer *l = &ls->at[ls->count];
    const struct rtap_proto *p = ls->pending;

    ls->pending = NULL;
    if (ls->off >= ls->bound)
        return;
    if (ls->off >= ls->pkt->caplen && ls->count) { /* all of it was cut off */
        cut_off(ls, &l[-1]);
        return;
    }
    if (ls->count == RTAP_LAYERS_MAX) {
        malformed(&l[-1], "too many layers");
        return;
    }
    /* Mostly the packet before had the same here. A processor that guesses so needn't wait for where it comes from. */
    if (l->proto != p)
        l->proto = p;
    if (l->off != ls->off)
        l->off = ls->off;
    l->via = ls->via;
    l->message = NULL;
    l->passed = ls->passed;
    l->header = 0;
    l->end = l->bound = ls->bound;
    l->wire = ls->count ? l[-1].wire : ls->pkt->len;
    l->flags = ls->flags;
    ls->count++;
    ls->open = true;
}

/* What follows the last layer was left open: go on where that was, if it matters now. */
static void decide(struct rtap_layers *ls, const uint64_t *need)
{
    struct rtap_layer *l = &ls->at[ls->count - 1];
    struct rtap_eval ev;

    ev.proto = NULL;
    next_layer(ls, l, own(ls, l, &ev), need);
}

static void work_out(struct rtap_layers *ls, struct rtap_layer *l, const uint64_t *need)
{
    const struct rtap_proto *p = l->proto;
    struct rtap_eval ev;
    struct own o = own(ls, l, &ev);
    bool good = true;

    ls->open = false;
    ev.proto = NULL;
    if (p->needs_walk) {
        rtap_eval_init(&ev, ls, l, rtap_layer_below(ls, l));
        rtap_walk(ls, l, NULL, NULL, &ev);
        need = NULL; /* what a walk has found out isn't kept: decide all now */
    }
    for (unsigned i = 0; i < p->check_count; i++) {
        if (truth(ls, l, o, p->checks[i].code) == 0) {
            malformed(l, p->strings[p->checks[i].message]);
            good = false;
        }
    }
    good = lengths(ls, l, o) && good;
    cut_off(ls, l);
    ls->off = l->off + l->header;
    ls->bound = l->end > ls->off ? l->end : ls->off;
    ls->via = NULL;
    ls->rule = 0;
    if (good)
        next_layer(ls, l, o, need);
}

static inline void finish(struct rtap_layers *ls, const uint64_t *need)
{
    if (ls->open)
        work_out(ls, &ls->at[ls->count - 1], need);
    else if (ls->undecided && (!need || rtap_reach_meets(ls->at[ls->count - 1].proto->rules[ls->rule].reach, need)))
        decide(ls, need);
}

void rtap_layers_finish(struct rtap_layers *ls)
{
    static const uint64_t nothing[RTAP_PROTOS_MAX / 64];

    if (ls->open)
        finish(ls, nothing);
}

void rtap_layers_one(struct rtap_layers *ls, const uint64_t *need)
{
    finish(ls, need);
    if (ls->pending && (!need || rtap_reach_meets(ls->pending->reach, need)))
        place(ls);
}

void rtap_layers_more(struct rtap_layers *ls, const uint64_t *need)
{
    finish(ls, need);
    while (ls->pending && (!need || rtap_reach_meets(ls->pending->reach, need))) {
        place(ls);
        finish(ls, need);
    }
}

bool rtap_layer_offset(struct rtap_engine *e, const struct rtap_pkt *pkt, const char *name, uint32_t *off)
{
    const struct rtap_proto *p = rtap_engine_find(e, name);
    uint64_t need[RTAP_PROTOS_MAX / 64] = {0};
    struct rtap_layers ls = {.count = 0};

    if (!p)
        return false;
    need[p->id / 64] = 1ull << p->id % 64;
    rtap_engine_reach(e);
    rtap_layers_start(&ls, e, pkt, NULL);
    for (unsigned done = 0;; done++) {
        rtap_layers_one(&ls, need);
        if (done == ls.count)
            return false;
        if (ls.at[done].proto == p) {
            *off = ls.at[done].off;
            return true;
        }
    }
}

/* As the kernel's flags and the sums say: "not_ready" (the sender left it to the hardware), "ok", "bad", or
 * "unchecked": the outermost header after IP that has a checksum decides, and IP's own. */
const char *rtap_checksum_state(struct rtap_engine *e, const struct rtap_pkt *pkt)
{
    struct rtap_layers ls = {.count = 0};
    int sum = RTAP_SUM_UNVERIFIED;

    if (pkt->status & RTAP_PKT_CSUM_NOT_READY)
        return "not_ready";
    if (pkt->status & RTAP_PKT_CSUM_VALID)
        return "ok";
    rtap_engine_reach(e);
    rtap_layers_start(&ls, e, pkt, NULL);
    for (unsigned i = 0;; i++) {
        struct rtap_layer *l = &ls.at[i];
        struct rtap_eval ev;

        rtap_layers_one(&ls, NULL);
        if (i == ls.count)
            return "unchecked";
        rtap_layers_finish(&ls);
        if (!l->proto->sum.present)
            continue;
        rtap_eval_init(&ev, &ls, l, rtap_layer_below(&ls, l));
        if (l->proto->needs_walk)
            rtap_walk(&ls, l, NULL, NULL, &ev);
        sum = rtap_layer_sum(&ev);
        if (l->proto->id == e->ip && sum != RTAP_SUM_BAD)
            continue;
        return sum == RTAP_SUM_BAD ? "bad" : sum == RTAP_SUM_GOOD ? "ok" : "unchecked";
    }
}
