/* A walk over items: fields and how long they are, names, values that are worked out, text headers. See walk.h. */
#include "walk.h"

#include <ctype.h>
#include <string.h>

uint32_t rtap_name_length(const uint8_t *base, uint32_t cap, uint32_t origin, uint32_t at, const char **bad)
{
    uint32_t start = at, limit = at, length = 0, octets = 0;
    bool jumped = false;

    for (unsigned labels = 0;; labels++) {
        uint8_t n;

        if (labels > 128) { /* 127 labels, or pointers to pointers */
            *bad = "a name of too many parts";
            return length;
        }
        if (at >= cap)
            return jumped ? (*bad = "a name runs out of the message", length) : 0;
        n = base[at];
        if ((n & 0xc0) == 0xc0) {
            uint32_t to;

            if (at + 2 > cap)
                return jumped ? (*bad = "a name runs out of the message", length) : 0;
            to = origin + ((uint32_t)(n & 0x3f) << 8 | base[at + 1]);
            if (!jumped)
                length = at + 2 - start;
            if (to >= limit) { /* strictly backwards, RFC 1035 4.1.4: "a prior occurrence" */
                *bad = "a name with a pointer loop";
                return length;
            }
            jumped = true;
            at = limit = to;
            continue;
        }
        if (n & 0xc0) {
            *bad = "a name with a label of unknown type"; /* where it ends is not known */
            return jumped ? length : 0;
        }
        octets += n + 1u;
        if (octets > 255 || labels > 127) {
            *bad = "a name longer than 255 octets";
            return jumped ? length : 0;
        }
        if (n == 0)
            return jumped ? length : at + 1 - start;
        at += n + 1u;
    }
}

uint32_t rtap_walk_until(const uint8_t *p, uint32_t n, const char *end, uint32_t *skip)
{
    uint32_t len = (uint32_t)strlen(end), at = 0;
    const uint8_t *found;

    if (strcmp(end, "\r\n") == 0) { /* a line */
        while (at < n && p[at] != '\r' && p[at] != '\n')
            at++;
        *skip = at == n ? 0 : p[at] == '\r' && at + 1 < n && p[at + 1] == '\n' ? 2 : 1;
        return at;
    }
    found = n >= len ? memmem(p, n, end, len) : NULL;
    *skip = found ? len : 0;
    return found ? (uint32_t)(found - p) : n;
}

/* How many bits a field without a width of its own takes; false: the walk has gone elsewhere. */
static bool measure(struct rtap_walk_state *w, const struct rtap_op *op, const struct rtap_decl *d, uint32_t *bits,
                    uint32_t *skip)
{
    struct rtap_eval *ev = w->ev;
    uint32_t stop = ev->region < w->cap ? ev->region : w->cap, at = ev->pos / 8;
    uint32_t rest = stop > ev->pos ? (stop - ev->pos) / 8 : 0;
    const uint8_t *p = ev->base + at;
    const char *bad = NULL;
    int64_t v;

    *skip = 0;
    if (op->c >= 0) {
        if (!rtap_eval(w->ev, op->c, &v)) {
            rtap_walk_truncated(w);
            return false;
        }
        if (v < 0 || v > 0xffffff) {
            rtap_walk_leave(w, "a length that can't be");
            return false;
        }
        *bits = (uint32_t)v * 8;
    } else if (d->until >= 0) {
        *bits = rtap_walk_until(p, rest, d->proto->strings[d->until], skip) * 8;
        *skip *= 8;
    } else if (d->type == RTAP_NAME) {
        *bits = rtap_name_length(ev->base, stop / 8, w->origin, at, &bad) * 8;
        w->budget -= w->budget < 60 ? w->budget : 60; /* up to 128 parts */
        if (bad)
            rtap_walk_malformed(w, bad);
        if (*bits == 0) {
            if (bad)
                rtap_walk_leave(w, bad);
            else if (w->cap < ev->region)
                rtap_walk_truncated(w);
            else
                rtap_walk_leave(w, "a name runs out of the message");
            return false;
        }
    } else if (d->type == RTAP_BER || d->type == RTAP_VARINT) {
        uint32_t n = rest ? rtap_self_sized(d->type, *p) : 1;

        if (n > 9) {
            rtap_walk_leave(w, "a length of more than 8 bytes");
            return false;
        }
        *bits = n * 8;
    } else if (d->type == RTAP_STRINGZ) {
        const uint8_t *end = rest ? memchr(p, 0, rest) : NULL;

        *bits = end ? (uint32_t)(end - p) * 8 : rest * 8;
        *skip = end ? 8 : 0;
    } else {
        *bits = rest * 8;
    }
    if (op->c < 0 && !ev->soft && w->depth > 0 && w->cap < ev->region && !*skip && d->type != RTAP_NAME &&
        ev->pos + *bits >= w->cap) { /* what there is of it would look whole */
        rtap_walk_truncated(w);
        return false;
    }
    return true;
}

/* Of what was just passed: numbers; for the rest their length. */
static int64_t number_of(const struct rtap_walk_state *w, const struct rtap_decl *d)
{
    const uint8_t *p = w->ev->base + (w->item.bit / 8 - w->layer->off);

    if (d->type == RTAP_BER && w->item.bits && *p == 0x80) /* indefinite: what is left */
        return ((int64_t)w->ev->region - w->ev->pos) / 8;
    if (d->type >= RTAP_DECIMAL && d->type <= RTAP_VARINT)
        return rtap_item_number(w->ev->layers, &w->item);
    if (w->item.bits == 0 || w->item.bits > 64)
        return w->item.bits / 8;
    return rtap_decl_number(d, w->ev->base, w->item.bit - w->layer->off * 8, w->item.bits);
}

static void keep(struct rtap_walk_state *w, const struct rtap_decl *d)
{
    if (d->reg < 0)
        return;
    if (w->item.kind == RTAP_ITEM_VALUE)
        w->ev->regs[d->reg] = w->item.number;
    else
        w->ev->regs[d->reg] = number_of(w, d);
}

/* What lies inside of a field that is cut off follows; the field itself isn't shown. */
static void enter_cut(struct rtap_walk_state *w, uint32_t bits)
{
    w->layer->flags |= RTAP_LAYER_TRUNCATED;
    w->item.bit = w->layer->off * 8 + w->ev->pos;
    w->item.bits = bits;
    w->item.kind = RTAP_ITEM_FIELD;
    w->ev->pos += bits;
}

void rtap_walk_field(struct rtap_walk_state *w, const struct rtap_op *op)
{
    struct rtap_eval *ev = w->ev;
    const struct rtap_decl *d = &ev->proto->decls[op->a];
    uint32_t bits = (uint32_t)op->b, skip = 0;

    if (bits == 0 && !measure(w, op, d, &bits, &skip))
        return;
    if ((uint64_t)ev->pos + bits > ev->region) {
        if (ev->pos + (uint64_t)bits > w->cap && w->cap < ev->region)
            rtap_walk_truncated(w);
        else
            rtap_walk_leave(w, "it ends in the middle of a field");
        return;
    }
    if (ev->pos + bits > w->cap) {
        if (ev->partial && ev->proto->ops[w->pc].code == RTAP_OP_SUB)
            enter_cut(w, bits + skip);
        else
            rtap_walk_truncated(w);
        return;
    }
    if ((d->type == RTAP_IPV4 && bits > 32) || (d->type == RTAP_IPV6 && bits > 128)) {
        rtap_walk_leave(w, "a prefix longer than an address");
        return;
    }
    if (d->type <= RTAP_INT && bits > 64) {
        rtap_walk_leave(w, "an integer of more than 8 bytes");
        return;
    }
    w->item.decl = d;
    w->item.bit = w->layer->off * 8 + ev->pos;
    w->item.bits = bits;
    w->item.kind = RTAP_ITEM_FIELD;
    w->item.number = 0;
    w->item.origin = w->layer->off + w->origin;
    ev->pos += bits + skip;
    if (d->type == RTAP_DECIMAL && !rtap_is_decimal(ev->base + (w->item.bit / 8 - w->layer->off), bits / 8))
        return; /* no number: it isn't there */
    keep(w, d);
    rtap_walk_show(w);
}

void rtap_walk_value(struct rtap_walk_state *w, const struct rtap_op *op)
{
    const struct rtap_decl *d = &w->ev->proto->decls[op->a];
    int64_t v = 0;

    if (op->c >= 0 && !rtap_eval(w->ev, op->c, &v))
        return; /* not to be told */
    w->item.decl = d;
    w->item.bit = w->layer->off * 8 + w->ev->pos;
    w->item.bits = 0;
    w->item.kind = RTAP_ITEM_VALUE;
    w->item.origin = w->layer->off + w->origin;
    w->item.number = (int64_t)((uint64_t)v * (uint64_t)d->scale + (uint64_t)d->add);
    keep(w, d);
    rtap_walk_show(w);
}

void rtap_walk_alias(struct rtap_walk_state *w, const struct rtap_op *op)
{
    struct rtap_item was = w->item;

    w->item.decl = &w->ev->proto->decls[op->a];
    if (was.kind == RTAP_ITEM_FIELD)
        w->item.kind = RTAP_ITEM_ALIAS;
    rtap_walk_show(w);
    w->item = was;
}

/* ------------------------------------------------------------------ text headers */

static const struct rtap_header *header_named(const struct rtap_header_map *m, const uint8_t *s, uint32_t n)
{
    for (unsigned i = 0; i < m->count; i++) {
        const char *name = m->entries[i].name;
        uint32_t k = 0;

        while (k < n && name[k] && tolower(s[k]) == (uint8_t)name[k])
            k++;
        if (k == n && !name[k])
            return &m->entries[i];
    }
    return NULL;
}

static void show_text(struct rtap_walk_state *w, const struct rtap_decl *d, uint32_t at, uint32_t n)
{
    w->item.decl = d;
    w->item.bit = (w->layer->off + at) * 8;
    w->item.bits = n * 8;
    w->item.kind = RTAP_ITEM_FIELD;
    w->item.number = 0;
    keep(w, d);
    rtap_walk_show(w);
}

/* The items of a header run over its value; then this operation goes on with the line at `after`. */
static void enter_header(struct rtap_walk_state *w, const struct rtap_header *h, uint32_t from, uint32_t to,
                         uint32_t after)
{
    struct rtap_walk_frame *f = rtap_walk_push(w, RTAP_CALL);

    if (f)
        f->pc = w->pc - 1;
    f = f ? rtap_walk_push(w, RTAP_REGION) : NULL;
    if (!f)
        return;
    f->pc = h->stop;
    f->end = after * 8;
    w->ev->pos = from * 8;
    w->ev->region = to * 8;
    w->pc = h->target;
}

void rtap_walk_headers(struct rtap_walk_state *w, const struct rtap_op *op)
{
    struct rtap_eval *ev = w->ev;
    const struct rtap_header_map *m = &ev->proto->maps[op->a];
    uint32_t stop = (ev->region < w->cap ? ev->region : w->cap) / 8, at = (ev->pos + 7) / 8;

    while (at < stop && w->pc >= 0 && w->budget) {
        uint32_t skip, n = rtap_walk_until(ev->base + at, stop - at, "\r\n", &skip), colon, from, to = at + n;
        const struct rtap_header *h;

        w->budget--;
        if (n == 0) { /* the empty line */
            at += skip;
            break;
        }
        while (op->code == RTAP_OP_FOLDED && at + n + skip < stop && w->budget &&
               (ev->base[at + n + skip] == ' ' || ev->base[at + n + skip] == '\t')) {
            w->budget--;
            n += skip;
            n += rtap_walk_until(ev->base + at + n, stop - at - n, "\r\n", &skip);
            to = at + n;
        }
        if (op->b >= 0)
            show_text(w, &ev->proto->decls[op->b], at, n + skip);
        colon = rtap_walk_until(ev->base + at, n, ":", &from);
        h = from ? header_named(m, ev->base + at, colon) : NULL;
        if (h && w->pc >= 0) {
            from = at + colon + 1;
            while (from < to && (ev->base[from] == ' ' || ev->base[from] == '\t'))
                from++;
            if (h->target >= 0) {
                enter_header(w, h, from, to, at + n + skip);
                return;
            }
            show_text(w, &ev->proto->decls[h->decl], from, to - from);
        }
        at += n + skip;
    }
    ev->pos = at * 8;
}
