/*
 * Declared fields of one packet after another: which protocols have them is worked out once, and again when a protocol
 * is added. Fields with a fixed place are read where they stand; for others the layer's items are walked, once for all
 * columns.
 *
 * What was found is kept in one growing array, in the order of the packet, each column's items linked.
 */
#include "engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct column {
    uint16_t name;
    int occurrence;
    int32_t first, last;
    int32_t next_same; /* the next column of the same name, -1: none */
};

struct place { /* one declaration of one column in one protocol */
    const struct rtap_decl *decl;
    uint16_t column;
    uint16_t proto;
    bool fixed;
};

struct range {
    uint16_t from, to; /* in places; the fixed ones come first, up to `walk` */
    uint16_t walk;
};

struct rtap_fieldset {
    struct rtap_engine *engine;
    unsigned count, flags, version;
    unsigned left;                   /* columns without a value, when only the first is wanted */
    bool quick;                      /* one column, one fixed place without a guard */
    bool frame, everything, counted; /* columns of frame; one that all layers decide; any with an occurrence */
    struct column *columns;
    struct place *places;
    unsigned place_count, place_room;
    struct range by_proto[RTAP_PROTOS_MAX];
    int16_t *column_of; /* by name id */
    unsigned column_of_size;
    uint64_t need[RTAP_PROTOS_MAX / 64];
    struct rtap_found *found;
    int32_t found_count, found_room;
    int error;
    uint16_t seen[RTAP_PROTOS_MAX]; /* layers of a protocol so far; used with occurrences */
    int layer_number, layer_from_end;
};

struct rtap_fieldset *rtap_fieldset_new(struct rtap_engine *e, const uint16_t *names, const int *occurrence,
                                        unsigned count, unsigned flags)
{
    struct rtap_fieldset *fs = calloc(1, sizeof(*fs));

    if (!fs)
        return NULL;
    fs->engine = e;
    fs->count = count;
    fs->flags = flags;
    fs->columns = calloc(count ? count : 1, sizeof(*fs->columns));
    if (!fs->columns) {
        rtap_fieldset_free(fs);
        return NULL;
    }
    for (unsigned i = 0; i < count; i++) {
        fs->columns[i].name = names[i];
        fs->columns[i].occurrence = occurrence ? occurrence[i] : 0;
        fs->counted |= fs->columns[i].occurrence != 0;
    }
    return fs;
}

void rtap_fieldset_free(struct rtap_fieldset *fs)
{
    if (!fs)
        return;
    free(fs->columns);
    free(fs->places);
    free(fs->column_of);
    free(fs->found);
    free(fs);
}

static int add_place(struct rtap_fieldset *fs, const struct rtap_decl *d, unsigned column)
{
    if (fs->place_count == fs->place_room) {
        unsigned room = fs->place_room ? fs->place_room * 2 : 32;
        struct place *p = realloc(fs->places, room * sizeof(*p));

        if (!p)
            return -ENOMEM;
        fs->places = p;
        fs->place_room = room;
    }
    if (fs->place_count >= UINT16_MAX)
        return -ENOMEM;
    fs->places[fs->place_count++] = (struct place){d, (uint16_t)column, d->proto->id, d->fixed >= 0};
    return 0;
}

static int add_proto(struct rtap_fieldset *fs, const struct rtap_proto *p)
{
    struct range *r = &fs->by_proto[p->id];

    r->from = (uint16_t)fs->place_count;
    for (int walked = 0; walked < 2; walked++) {
        if (walked)
            r->walk = (uint16_t)fs->place_count;
        for (unsigned i = 0; i < p->decl_count; i++) {
            uint16_t name = p->decls[i].name;

            for (int32_t c = name ? fs->column_of[name] : -1; c >= 0; c = fs->columns[c].next_same) {
                int r2;

                if ((p->decls[i].flags & RTAP_DECL_ALL_FIXED ? 1 : 0) == walked)
                    continue;
                r2 = add_place(fs, &p->decls[i], (unsigned)c);
                if (r2 < 0)
                    return r2;
            }
        }
    }
    r->to = (uint16_t)fs->place_count;
    if (r->to > r->from) {
        fs->need[p->id / 64] |= 1ull << p->id % 64;
        if (p->id == 0)
            fs->frame = true;
        if (p->needs_above && r->to > r->walk)
            fs->everything = true;
    }
    return 0;
}

static int prepare(struct rtap_fieldset *fs)
{
    struct rtap_engine *e = fs->engine;
    int r;

    rtap_engine_reach(e);
    fs->place_count = 0;
    fs->frame = fs->everything = false;
    memset(fs->need, 0, sizeof(fs->need));
    free(fs->column_of);
    fs->column_of_size = e->name_count;
    fs->column_of = malloc(e->name_count * sizeof(*fs->column_of));
    if (!fs->column_of)
        return -ENOMEM;
    memset(fs->column_of, -1, e->name_count * sizeof(*fs->column_of));
    for (unsigned i = fs->count; i-- > 0;) {
        fs->columns[i].next_same = fs->column_of[fs->columns[i].name];
        fs->column_of[fs->columns[i].name] = (int16_t)i;
    }
    for (unsigned i = 0; i < e->proto_count; i++) {
        r = add_proto(fs, e->protos[i]);
        if (r < 0)
            return r;
    }
    for (unsigned i = fs->by_proto[0].from; i < fs->by_proto[0].to; i++)
        if (fs->places[i].decl->bits == RTAP_FRAME_PROTOCOLS)
            fs->everything = true;
    fs->quick = fs->count == 1 && fs->place_count == 1 && fs->places[0].fixed && fs->places[0].decl->guard < 0 &&
                !fs->counted && !fs->frame;
    fs->version = e->version;
    return 0;
}

static bool grow(struct rtap_fieldset *fs)
{
    int32_t room = fs->found_room ? fs->found_room * 2 : 64;
    struct rtap_found *f = realloc(fs->found, (size_t)room * sizeof(*f));

    if (!f) {
        fs->error = -ENOMEM;
        return false;
    }
    fs->found = f;
    fs->found_room = room;
    return true;
}

/* Another item of the column: where it is to be put, or NULL if it isn't wanted. */
static inline struct rtap_item *add(struct rtap_fieldset *fs, unsigned column)
{
    struct column *c = &fs->columns[column];
    int32_t at = fs->found_count;

    if (c->occurrence && c->occurrence != fs->layer_number && c->occurrence != fs->layer_from_end)
        return NULL;
    if (c->first >= 0) {
        if (fs->flags & RTAP_FIELDSET_FIRST)
            return NULL;
        fs->found[c->last].next = at;
    }
    if (__builtin_expect(at == fs->found_room, 0) && !grow(fs)) {
        if (c->first >= 0)
            fs->found[c->last].next = -1;
        return NULL;
    }
    if (c->first < 0) {
        c->first = at;
        fs->left--;
    }
    c->last = at;
    fs->found_count = at + 1;
    fs->found[at].next = -1;
    return &fs->found[at].item;
}

static int visit(void *context, const struct rtap_item *it)
{
    struct rtap_fieldset *fs = context;

    if (!it->decl || it->decl->name == 0 || it->decl->name >= fs->column_of_size ||
        it->decl->flags & RTAP_DECL_ALL_FIXED)
        return 0;
    for (int32_t c = fs->column_of[it->decl->name]; c >= 0; c = fs->columns[c].next_same) {
        struct rtap_item *to = add(fs, (unsigned)c);

        if (to)
            *to = *it;
    }
    return fs->error || (fs->left == 0 && fs->flags & RTAP_FIELDSET_FIRST);
}

/* Is the condition of a field with a fixed place true? */
static bool guarded(struct rtap_layers *ls, unsigned layer, const struct rtap_decl *d)
{
    const struct rtap_layer *l = &ls->at[layer];
    struct rtap_eval ev;
    int64_t v;

    if (layer + 1 == ls->count)
        rtap_layers_finish(ls);
    rtap_eval_init(&ev, ls, l, rtap_layer_below(ls, l));
    return rtap_eval(&ev, d->guard, &v) && v != 0;
}

static inline void read_fixed(struct rtap_fieldset *fs, struct rtap_layers *ls, unsigned layer, const struct range *r)
{
    const struct rtap_layer *l = &ls->at[layer];
    uint32_t stop = l->bound < ls->pkt->caplen ? l->bound : ls->pkt->caplen;

    for (unsigned i = r->from; i < r->walk; i++) {
        const struct rtap_decl *d = fs->places[i].decl;
        uint32_t bit = l->off * 8 + (uint32_t)d->fixed;
        struct rtap_item *it;

        if ((uint64_t)bit + d->bits > (uint64_t)stop * 8 || (d->guard >= 0 && !guarded(ls, layer, d)))
            continue;
        it = add(fs, fs->places[i].column);
        if (it)
            *it = (struct rtap_item){.decl = d, .bit = bit, .bits = d->bits, .layer = layer, .kind = RTAP_ITEM_FIELD};
    }
}

static bool has_frame(const struct rtap_layers *ls, unsigned which)
{
    switch (which) {
    case RTAP_FRAME_NUMBER: return ls->frame && ls->frame->number;
    case RTAP_FRAME_TIME:
    case RTAP_FRAME_TIME_EPOCH: return ls->pkt->time != RTAP_NO_TIME;
    case RTAP_FRAME_TIME_RELATIVE:
        return ls->frame && ls->pkt->time != RTAP_NO_TIME && ls->frame->first != RTAP_NO_TIME;
    case RTAP_FRAME_TIME_DELTA:
        return ls->frame && ls->pkt->time != RTAP_NO_TIME && ls->frame->previous != RTAP_NO_TIME;
    case RTAP_FRAME_INTERFACE_ID: return ls->pkt->status & RTAP_PKT_INTERFACE || ls->pkt->ifname;
    case RTAP_FRAME_INTERFACE_NAME: return ls->pkt->ifname;
    case RTAP_FRAME_COMMENT: return ls->pkt->comment;
    default: return true;
    }
}

static void read_frame(struct rtap_fieldset *fs, const struct rtap_layers *ls)
{
    fs->layer_number = 1;
    fs->layer_from_end = -1;
    for (unsigned i = fs->by_proto[0].from; i < fs->by_proto[0].to; i++) {
        const struct rtap_decl *d = fs->places[i].decl;
        struct rtap_item *it = d->type == RTAP_FRAME && has_frame(ls, d->bits) ? add(fs, fs->places[i].column) : NULL;

        if (it)
            *it = (struct rtap_item){.decl = d, .kind = RTAP_ITEM_VALUE};
    }
}

/* #2 is the second layer of the protocol, #-1 the last. */
static void number_layer(struct rtap_fieldset *fs, const struct rtap_layers *ls, unsigned layer)
{
    const struct rtap_proto *p = ls->at[layer].proto;
    int after = 0;

    for (unsigned i = layer + 1; i < ls->count; i++)
        after += ls->at[i].proto == p;
    fs->layer_number = ++fs->seen[p->id];
    fs->layer_from_end = -1 - after;
}

int rtap_fieldset_extract(struct rtap_fieldset *fs, struct rtap_layers *ls)
{
    unsigned done = 0;

    if (fs->version != fs->engine->version) {
        int r = prepare(fs);

        if (r < 0)
            return r;
    }
    fs->found_count = 0;
    fs->error = 0;
    fs->left = fs->count;
    for (unsigned i = 0; i < fs->count; i++)
        fs->columns[i].first = -1;
    if (fs->everything || fs->counted)
        rtap_layers_more(ls, fs->everything ? NULL : fs->need);
    if (fs->frame)
        read_frame(fs, ls);
    if (fs->counted)
        memset(fs->seen, 0, sizeof(fs->seen));
    for (;;) {
        for (; done < ls->count; done++) {
            const struct range *r = &fs->by_proto[ls->at[done].proto->id];

            if (r->from == r->to)
                continue;
            if (fs->counted)
                number_layer(fs, ls, done);
            read_fixed(fs, ls, done, r);
            if (r->walk < r->to) {
                if (done + 1 == ls->count)
                    rtap_layers_finish(ls);
                rtap_walk(ls, &ls->at[done], visit, fs, NULL);
            }
            if (fs->error)
                return fs->error;
            if (fs->left == 0 && fs->flags & RTAP_FIELDSET_FIRST)
                return 0;
        }
        if (fs->flags & RTAP_FIELDSET_FIRST) /* one more layer, then look again */
            rtap_layers_one(ls, fs->need);
        else
            rtap_layers_more(ls, fs->need);
        if (done == ls->count)
            return 0;
    }
}

int rtap_fieldset_one(struct rtap_fieldset *fs, struct rtap_layers *ls, struct rtap_item *it)
{
    int r;

    if (fs->version == fs->engine->version && fs->quick) {
        const struct rtap_decl *d = fs->places[0].decl;

        for (unsigned i = 0;; i++) {
            const struct rtap_layer *l = &ls->at[i];

            if (i == ls->count) {
                rtap_layers_one(ls, fs->need);
                if (i == ls->count)
                    return 0;
            }
            if (l->proto != d->proto)
                continue;
            *it = (struct rtap_item){.decl = d, .bit = l->off * 8 + (uint32_t)d->fixed, .bits = d->bits, .layer = i};
            if (it->bit + it->bits <= (uint64_t)l->bound * 8 && it->bit + it->bits <= (uint64_t)ls->pkt->caplen * 8)
                return 1;
        }
    }
    r = rtap_fieldset_extract(fs, ls);
    if (r < 0 || fs->columns[0].first < 0)
        return r;
    *it = fs->found[fs->columns[0].first].item;
    return 1;
}

int rtap_fieldset_in_layer(struct rtap_fieldset *fs, struct rtap_layers *ls, unsigned layer, struct rtap_item *it)
{
    const struct range *r;

    if (fs->version != fs->engine->version && prepare(fs) < 0)
        return -1;
    r = &fs->by_proto[ls->at[layer].proto->id];
    if (r->from == r->to)
        return -1;
    fs->found_count = 0;
    fs->error = 0;
    fs->left = 1;
    fs->columns[0].first = -1;
    if (fs->everything)
        rtap_layers_more(ls, NULL);
    read_fixed(fs, ls, layer, r);
    if (r->walk < r->to && fs->left) {
        if (layer + 1 == ls->count)
            rtap_layers_finish(ls);
        rtap_walk(ls, &ls->at[layer], visit, fs, NULL);
    }
    if (fs->columns[0].first < 0)
        return 0;
    *it = fs->found[fs->columns[0].first].item;
    return 1;
}

int32_t rtap_fieldset_first(const struct rtap_fieldset *fs, unsigned column)
{
    return fs->columns[column].first;
}

const struct rtap_found *rtap_fieldset_at(const struct rtap_fieldset *fs, int32_t index)
{
    return &fs->found[index];
}
