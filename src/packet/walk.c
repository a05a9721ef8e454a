/*
 * One layer's items, in order: a program of fields, regions, loops, switches and calls, with a cursor in bits.
 *
 * Regions and loops are frames on a small stack. What doesn't fit its region leaves it (malformed); what doesn't fit
 * the captured bytes ends the walk (truncated). Every round of a loop moves the cursor or ends the loop, and a walk has
 * a number of steps that it can't exceed.
 */
#include "walk.h"

#include <string.h>

void rtap_walk_malformed(struct rtap_walk_state *w, const char *why)
{
    w->layer->flags |= RTAP_LAYER_MALFORMED;
    if (!w->layer->message)
        w->layer->message = why;
}

void rtap_walk_truncated(struct rtap_walk_state *w)
{
    if (!w->ev->soft || rtap_layer_is_cut(w->ev->layers, w->layer))
        w->layer->flags |= RTAP_LAYER_TRUNCATED;
    w->pc = -1;
}

void rtap_walk_leave(struct rtap_walk_state *w, const char *why)
{
    rtap_walk_malformed(w, why);
    while (w->depth && w->frames[w->depth - 1].kind != RTAP_REGION) {
        if (w->frames[w->depth - 1].kind == RTAP_SUB)
            break;
        if (w->frames[w->depth - 1].kind == RTAP_LOOP)
            w->ev->index = w->frames[w->depth - 1].index;
        w->depth--;
    }
    w->pc = w->depth ? w->frames[w->depth - 1].pc : -1;
}

static void tell(struct rtap_walk_state *w, enum rtap_item_kind kind, int64_t number)
{
    struct rtap_item mark = {
        .kind = kind, .number = number, .bit = w->layer->off * 8 + w->ev->pos, .layer = w->item.layer};

    if (w->visit && w->pc >= 0) {
        w->stopped = w->visit(w->context, &mark);
        if (w->stopped)
            w->pc = -1;
    }
}

void rtap_walk_show(struct rtap_walk_state *w)
{
    if (w->visit) {
        w->stopped = w->visit(w->context, &w->item);
        if (w->stopped)
            w->pc = -1;
    }
}

struct rtap_walk_frame *rtap_walk_push(struct rtap_walk_state *w, enum rtap_walk_kind kind)
{
    struct rtap_walk_frame *f;

    if (w->depth == RTAP_WALK_FRAMES) {
        rtap_walk_malformed(w, "nested too deep");
        w->pc = -1;
        return NULL;
    }
    f = &w->frames[w->depth++];
    f->kind = kind;
    f->region = w->ev->region;
    return f;
}

static bool value_of(struct rtap_walk_state *w, int code, int64_t *v)
{
    return rtap_eval(w->ev, code, v);
}

/* A list ends before the number that was said: it may be malformed or cut off, so it is both. */
static void too_few(struct rtap_walk_state *w)
{
    w->layer->flags |= RTAP_LAYER_TRUNCATED;
    rtap_walk_leave(w, "fewer elements than it says");
}

static void limit(struct rtap_walk_state *w, const struct rtap_op *op)
{
    struct rtap_eval *ev = w->ev;
    struct rtap_walk_frame *f;
    int64_t v;

    if (op->c < 0) { /* up to a text */
        uint32_t stop = (ev->region < w->cap ? ev->region : w->cap) / 8, at = (ev->pos + 7) / 8, n, skip;

        n = stop > at ? rtap_walk_until(ev->base + at, stop - at, ev->proto->strings[op->b], &skip) : (skip = 0);
        f = rtap_walk_push(w, RTAP_REGION);
        if (f) {
            f->pc = op->a;
            ev->pos = at * 8;
            ev->region = (at + n) * 8;
            f->end = (at + n + skip) * 8;
        }
        return;
    }
    if (!value_of(w, op->c, &v)) {
        rtap_walk_truncated(w);
        return;
    }
    if (v < 0 || v > INT32_MAX || v * 8 > (int64_t)ev->region - ev->pos) {
        if (v > 0 && v < 0xffffff && w->cap < ev->region && ev->pos + v * 8 > w->cap) {
            rtap_walk_truncated(w);
            return;
        }
        if (v < 0) {
            rtap_walk_leave(w, "a length below 0");
            return;
        }
        rtap_walk_malformed(w,
                            "a length that leads out of what holds it"); /* what there is of it is read all the same */
        v = ev->region > ev->pos ? (ev->region - ev->pos) / 8 : 0;
    }
    f = rtap_walk_push(w, RTAP_REGION);
    if (!f)
        return;
    f->pc = op->a;
    ev->region = f->end = ev->pos + (uint32_t)v * 8;
}

/* A region from where what is carried ends to where the layer below ends. */
static void behind(struct rtap_walk_state *w, const struct rtap_op *op)
{
    struct rtap_eval *ev = w->ev;
    int64_t from = rtap_eval_inner_end(ev) * 8;
    uint32_t to = (w->layer->bound - w->layer->off) * 8;
    struct rtap_walk_frame *f;

    if (from < (int64_t)w->layer->header * 8 || from >= to || to > w->cap) {
        w->pc = op->a + 1; /* nothing there, or not captured */
        return;
    }
    f = rtap_walk_push(w, RTAP_REGION);
    if (f) {
        f->pc = op->a;
        f->end = ev->pos; /* what is behind is not part of what the items cover */
        ev->pos = (uint32_t)from;
        ev->region = to;
    }
}

/* A region elsewhere in the layer: op->b bytes from its start, op->c long. */
static void at(struct rtap_walk_state *w, const struct rtap_op *op)
{
    struct rtap_eval *ev = w->ev;
    int64_t from, size, stop = (w->cap < ev->region ? w->cap : ev->region) / 8;
    struct rtap_walk_frame *f;

    if (!value_of(w, op->b, &from) || !value_of(w, op->c, &size)) {
        rtap_walk_truncated(w);
        return;
    }
    if (from >= 0 && size >= 0 && from < 0xffffff && size < 0xffffff && w->cap < ev->region &&
        (from + size) * 8 > w->cap && (from + size) * 8 <= ev->region) {
        rtap_walk_truncated(w);
        return;
    }
    if (from < 0 || size < 0 || from > stop || size > stop - from) {
        rtap_walk_leave(w, "a place outside of what holds it");
        return;
    }
    f = rtap_walk_push(w, RTAP_REGION);
    if (f) {
        f->pc = op->a;
        f->end = ev->pos;
        ev->pos = (uint32_t)from * 8;
        ev->region = (uint32_t)(from + size) * 8;
    }
}

static void sub(struct rtap_walk_state *w, const struct rtap_op *op)
{
    struct rtap_eval *ev = w->ev;
    struct rtap_walk_frame *f = rtap_walk_push(w, RTAP_SUB);

    if (!f)
        return;
    tell(w, RTAP_ITEM_SUB, 0);
    f->pc = op->a;
    f->end = ev->pos; /* past what ends it, too */
    f->start = w->item.bit - w->layer->off * 8;
    ev->pos = f->start;
    ev->region = f->start + w->item.bits;
}

static void unlimit(struct rtap_walk_state *w)
{
    struct rtap_eval *ev = w->ev;
    struct rtap_walk_frame *f = w->depth ? &w->frames[w->depth - 1] : NULL;

    if (!f || (f->kind != RTAP_REGION && f->kind != RTAP_SUB)) {
        w->pc = -1;
        return;
    }
    ev->pos = f->end;
    ev->region = f->region;
    w->depth--;
    if (f->kind == RTAP_SUB) {
        w->item.bit = w->layer->off * 8 + f->start; /* for BACK */
        tell(w, RTAP_ITEM_SUB_END, 0);
    }
}

static void loop(struct rtap_walk_state *w, const struct rtap_op *op)
{
    struct rtap_eval *ev = w->ev;
    int64_t left = -1;
    struct rtap_walk_frame *f;

    if (op->c >= 0) {
        if (!value_of(w, op->c, &left)) {
            rtap_walk_truncated(w);
            return;
        }
        if (left <= 0) {
            w->pc = op->a;
            return;
        }
    } else if (ev->pos >= ev->region) {
        w->pc = op->a;
        return;
    }
    if (ev->pos >= w->cap) {
        if (w->cap < ev->region)
            rtap_walk_truncated(w);
        else
            too_few(w);
        return;
    }
    f = rtap_walk_push(w, RTAP_LOOP);
    if (!f)
        return;
    f->left = left;
    f->start = ev->pos;
    f->index = ev->index;
    ev->index = 0;
    tell(w, RTAP_ITEM_LOOP, op->b);
    tell(w, RTAP_ITEM_ROUND, 0);
}

static void next(struct rtap_walk_state *w, const struct rtap_op *op)
{
    struct rtap_eval *ev = w->ev;
    struct rtap_walk_frame *f = w->depth ? &w->frames[w->depth - 1] : NULL;
    int64_t v;
    bool more;

    if (!f || f->kind != RTAP_LOOP) {
        w->pc = -1;
        return;
    }
    ev->index++;
    more = !(op->c >= 0 && value_of(w, op->c, &v) && v != 0);
    if (more && f->left > 0)
        more = --f->left > 0;
    else if (more)
        more = ev->pos < ev->region;
    if (more && ev->pos <= f->start) {
        rtap_walk_malformed(w, "a list that doesn't move");
        more = false;
    }
    if (more && ev->pos >= (ev->region < w->cap ? ev->region : w->cap)) {
        if (w->cap < ev->region) {
            rtap_walk_truncated(w);
        } else {
            ev->index = f->index;
            too_few(w);
        }
        return;
    }
    if (more) {
        f->start = ev->pos;
        w->pc = op->a;
        tell(w, RTAP_ITEM_ROUND, ev->index);
        return;
    }
    ev->index = f->index;
    w->depth--;
    tell(w, RTAP_ITEM_LOOP_END, 0);
}

static int case_of(const struct rtap_switch *s, int64_t key, int otherwise)
{
    unsigned from = 0, to = s->count;

    while (from < to) {
        unsigned mid = (from + to) / 2;

        if (s->cases[mid].key == key)
            return s->cases[mid].target;
        if (s->cases[mid].key < key)
            from = mid + 1;
        else
            to = mid;
    }
    return otherwise;
}

static void call(struct rtap_walk_state *w, const struct rtap_op *op)
{
    struct rtap_walk_frame *f = rtap_walk_push(w, RTAP_CALL);

    if (!f)
        return;
    f->pc = w->pc;
    w->pc = op->a;
}

static void ret(struct rtap_walk_state *w)
{
    while (w->depth && w->frames[w->depth - 1].kind != RTAP_CALL)
        w->depth--;
    if (!w->depth) {
        w->pc = -1;
        return;
    }
    w->pc = w->frames[--w->depth].pc;
}

static void align(struct rtap_walk_state *w, const struct rtap_op *op)
{
    uint64_t n = (uint64_t)op->b * 8, pos = (w->ev->pos + n - 1) / n * n;

    if (pos > w->ev->region)
        rtap_walk_leave(w, "it ends before its alignment");
    else
        w->ev->pos = (uint32_t)pos;
}

static void run(struct rtap_walk_state *w)
{
    const struct rtap_proto *p = w->ev->proto;
    int64_t v;

    while (w->pc >= 0) {
        const struct rtap_op *op = &p->ops[w->pc++];

        if (w->ev->cost) { /* of checksums */
            w->budget -= w->ev->cost < w->budget ? w->ev->cost : w->budget;
            w->ev->cost = 0;
        }

        if (w->budget-- == 0) {
            rtap_walk_malformed(w, "it has more parts than are looked at");
            return;
        }
        switch (op->code) {
        case RTAP_OP_FIELD: rtap_walk_field(w, op); break;
        case RTAP_OP_IF:
            if (!value_of(w, op->c, &v) || v == 0)
                w->pc = op->a;
            break;
        case RTAP_OP_JUMP: w->pc = op->a; break;
        case RTAP_OP_LIMIT: limit(w, op); break;
        case RTAP_OP_UNLIMIT: unlimit(w); break;
        case RTAP_OP_LOOP: loop(w, op); break;
        case RTAP_OP_NEXT: next(w, op); break;
        case RTAP_OP_SWITCH:
            if (value_of(w, op->c, &v))
                w->pc = case_of(&p->switches[op->a], v, op->b);
            else
                w->pc = op->b;
            break;
        case RTAP_OP_CALL: call(w, op); break;
        case RTAP_OP_RET: ret(w); break;
        case RTAP_OP_CHECK:
            if (!value_of(w, op->c, &v))
                rtap_walk_truncated(w);
            else if (v == 0)
                rtap_walk_leave(w, p->strings[op->a]);
            break;
        case RTAP_OP_ALIGN: align(w, op); break;
        case RTAP_OP_HEADERS:
        case RTAP_OP_FOLDED: rtap_walk_headers(w, op); break;
        case RTAP_OP_ORIGIN: w->origin = w->ev->pos / 8; break;
        case RTAP_OP_SUB: sub(w, op); break;
        case RTAP_OP_BEHIND: behind(w, op); break;
        case RTAP_OP_AT: at(w, op); break;
        case RTAP_OP_VALUE: rtap_walk_value(w, op); break;
        case RTAP_OP_BACK: w->ev->pos = w->item.bit - w->layer->off * 8; break;
        case RTAP_OP_ALIAS: rtap_walk_alias(w, op); break;
        default: return; /* END */
        }
    }
}

int rtap_walk(const struct rtap_layers *ls, struct rtap_layer *l, rtap_visit visit, void *context, struct rtap_eval *ev)
{
    struct rtap_eval own;
    struct rtap_walk_state w;
    int64_t stream;

    if (!ev) {
        ev = &own;
        rtap_eval_init(ev, ls, l, rtap_layer_below(ls, l));
    }
    memset(ev->regs, 0, sizeof(ev->regs));
    ev->walked = true;
    ev->cost = 0;
    if (ev->region < l->header * 8) /* what it says of its length can't be: its header is read all the same */
        ev->region = l->header * 8;
    w.cap = ev->cap * 8;
    ev->stream = ev->proto->stream >= 0 && rtap_eval(ev, ev->proto->stream, &stream) && stream != 0;
    ev->soft = ev->stream || l->flags & (RTAP_LAYER_QUOTED | RTAP_LAYER_FRAGMENT);
    if (ev->soft) {
        if (w.cap > ev->region)
            w.cap = ev->region;
        ev->soft_end = w.cap;
        ev->region = INT32_MAX;
    }
    w.ev = ev;
    w.layer = l;
    w.visit = visit;
    w.context = context;
    w.item.layer = (uint32_t)(l - ls->at);
    w.item.bit = l->off * 8;
    w.item.bits = 0;
    w.item.kind = RTAP_ITEM_VALUE;
    w.item.number = 0;
    w.item.origin = l->off;
    w.depth = 0;
    w.origin = 0;
    w.pc = 0;
    w.stopped = 0;
    w.budget = RTAP_WALK_STEPS + 4 * ev->cap;
    run(&w);
    return w.stopped;
}
