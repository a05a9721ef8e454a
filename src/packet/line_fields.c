/* The line printer's names, looked up in the engine. */
#include "line_parts.h"

#include <stdlib.h>

#define PROTO_NAME(id, text) text,
#define FIELD_PROTO(id, of, text) LP_##of,
#define FIELD_NAME(id, of, text) text,
static const char *const proto_names[] = {RTAP_LINE_PROTOS(PROTO_NAME)};
static const uint8_t field_protos[] = {RTAP_LINE_FIELDS(FIELD_PROTO)};
static const char *const field_names[] = {RTAP_LINE_FIELDS(FIELD_NAME)};
static const char *const walked_names[] = {RTAP_LINE_NAMES(PROTO_NAME)};

static struct rtap_line_place place_at(const struct rtap_proto *p, const struct rtap_decl *d)
{
    uint32_t first = (uint32_t)d->fixed / 8, end = ((uint32_t)d->fixed + d->bits + 7) / 8, width = end - first;
    struct rtap_line_place at = {.proto = p, .decl = d, .at = first, .end = end};

    if ((d->type != RTAP_UINT && d->type != RTAP_BOOL) || d->flags & RTAP_DECL_LE || d->guard >= 0 || d->add != 0 ||
        d->scale < 1 || d->scale > 0xff || (width != 1 && width != 2 && width != 4))
        return at;
    at.width = (uint8_t)width;
    at.shift = (uint8_t)(end * 8 - (uint32_t)d->fixed - d->bits);
    at.mask = 0xffffffffu >> (32 - d->bits);
    at.scale = (uint32_t)d->scale;
    return at;
}

static struct rtap_line_place place_of(const struct rtap_proto *p, uint16_t name)
{
    for (unsigned i = 0; p && name && i < p->decl_count; i++) {
        const struct rtap_decl *d = &p->decls[i];

        if (d->name == name && d->fixed >= 0 && d->bits && d->type != RTAP_FRAME)
            return place_at(p, d);
    }
    return (struct rtap_line_place){.proto = NULL};
}

/* A field without a fixed place. */
static const struct rtap_decl *decl_of(const struct rtap_proto *p, uint16_t name)
{
    for (unsigned i = 0; p && name && i < p->decl_count; i++)
        if (p->decls[i].name == name && p->decls[i].bits > 0 && p->decls[i].bits <= 64)
            return &p->decls[i];
    return NULL;
}

static void look_up(struct rtap_engine *e, struct rtap_line_fields *f)
{
    for (unsigned i = 0; i < LP_COUNT; i++)
        f->proto[i] = rtap_engine_find(e, proto_names[i]);
    for (unsigned i = 0; i < LF_COUNT; i++)
        f->field[i] = place_of(f->proto[field_protos[i]], rtap_engine_find_name(e, field_names[i]));
    for (unsigned i = 0; i < LN_COUNT; i++)
        f->name[i] = rtap_engine_find_name(e, walked_names[i]);
    f->ip_opt_type = decl_of(f->proto[LP_IP], f->name[LN_IP_OPT_TYPE]);
    f->ip_opt_len = decl_of(f->proto[LP_IP], f->name[LN_IP_OPT_LEN]);
    f->ethertype = rtap_engine_table(e, "ethertype");
    f->ip_proto = rtap_engine_table(e, "ip.proto");
    f->null_type = rtap_engine_table(e, "null.type");
    f->ppp_protocol = rtap_engine_table(e, "ppp.protocol");
    f->version = e->version;
}

const struct rtap_line_fields *rtap_line_fields(struct rtap_engine *e)
{
    static const struct rtap_line_fields none;

    if (!e->line)
        e->line = calloc(1, sizeof(*e->line));
    if (!e->line)
        return &none;
    if (e->line->version != e->version)
        look_up(e, e->line);
    return e->line;
}

/* ------------------------------------------------------------------ reading them */

bool rtap_line_number_any(const struct rtap_line_job *job, const struct rtap_layer *l, const struct rtap_line_place *at,
                          uint32_t *v)
{
    const struct rtap_decl *d = at->decl;
    struct rtap_eval ev;

    if (d->bits > 64)
        return false;
    if (d->guard >= 0) {
        rtap_eval_init(&ev, &job->ls, l, rtap_layer_below(&job->ls, l));
        if (rtap_eval_truth(&ev, d->guard) <= 0)
            return false;
    }
    *v = (uint32_t)rtap_decl_number(d, job->pkt->data + l->off, (uint32_t)d->fixed, d->bits);
    return true;
}

bool rtap_line_read_as(const struct rtap_line_job *job, const struct rtap_layer *l, enum rtap_line_field f, uint32_t *v)
{
    const struct rtap_line_place *at = &job->fields->field[f];

    if (!l || !at->proto || at->end > rtap_line_captured(job, l) || at->decl->bits > 64)
        return false;
    *v = (uint32_t)rtap_decl_number(at->decl, job->pkt->data + l->off, (uint32_t)at->decl->fixed, at->decl->bits);
    return true;
}

struct search {
    const uint16_t *names;
    struct rtap_item *found;
    unsigned count;
};

static int visit(void *context, const struct rtap_item *it)
{
    struct search *s = context;

    if (!it->decl || it->decl->name == 0 || it->decl->flags & RTAP_DECL_FUNC)
        return 0;
    for (unsigned i = 0; i < s->count; i++)
        if (s->names[i] == it->decl->name && !s->found[i].decl)
            s->found[i] = *it;
    return 0;
}

void rtap_line_find(struct rtap_line_job *job, struct rtap_layer *l, enum rtap_line_name first,
                    enum rtap_line_name last, struct rtap_item *found)
{
    struct search s = {&job->fields->name[first], found, last - first + 1};

    for (unsigned i = 0; i < s.count; i++)
        found[i].decl = NULL;
    rtap_walk(&job->ls, l, visit, &s, NULL);
}

bool rtap_line_whole(struct rtap_line_job *job, struct rtap_layer *l)
{
    struct rtap_eval ev;
    int64_t v;

    rtap_eval_init(&ev, &job->ls, l, rtap_layer_below(&job->ls, l));
    if (l->proto->needs_walk)
        rtap_walk(&job->ls, l, NULL, NULL, &ev);
    if (l->proto->header < 0)
        return l->header > 0 && l->header <= ev.cap;
    return rtap_eval(&ev, l->proto->header, &v) && v >= 0 && v <= (int64_t)ev.cap;
}

int rtap_line_sum(struct rtap_line_job *job, struct rtap_layer *l, uint32_t *is, uint32_t *wanted)
{
    struct rtap_eval ev;
    int state;

    rtap_eval_init(&ev, &job->ls, l, rtap_layer_below(&job->ls, l));
    if (l->proto->needs_walk)
        rtap_walk(&job->ls, l, NULL, NULL, &ev);
    state = rtap_layer_sum_wanted(&ev, is, wanted);
    if (state == RTAP_SUM_GOOD)
        return 1;
    /* without a length it never was on a wire: the sum was still to be finished by the hardware */
    return state == RTAP_SUM_BAD && !(job->ip && job->ip->flags & RTAP_LAYER_LENGTH_GUESS && l != job->ip) ? 0 : -1;
}
