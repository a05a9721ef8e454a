/* What one layer's summary says, from its table's `line`: text with fields in it, parts of it under conditions. */
#include "engine.h"

#include <stdlib.h>

const char *rtap_decl_value_name(const struct rtap_decl *d, int64_t v)
{
    unsigned from = 0, to = d->value_count;

    while (from < to) {
        unsigned mid = (from + to) / 2;

        if (d->values[mid].key == v)
            return d->values[mid].name;
        if (d->values[mid].key < v)
            from = mid + 1;
        else
            to = mid;
    }
    return NULL;
}

struct summary {
    const struct rtap_layers *layers;
    const struct rtap_line_part *part;
    struct rtap_out *out;
    unsigned count;
};

static int visit(void *context, const struct rtap_item *it)
{
    struct summary *s = context;
    const char *name = NULL;

    if (!it->decl || it->decl->name != s->part->name || it->decl->flags & RTAP_DECL_FUNC)
        return 0;
    if (s->count++)
        rtap_out_text(s->out, ",");
    if (s->part->kind != RTAP_LINE_NUMBER && rtap_decl_is_number(it->decl))
        name = rtap_decl_value_name(it->decl, rtap_item_number(s->layers, it));
    if (name)
        rtap_out_text(s->out, name);
    else
        rtap_item_text(s->layers, it, s->out);
    return s->part->kind != RTAP_LINE_ALL;
}

bool rtap_layer_summary(const struct rtap_layers *ls, struct rtap_layer *l, struct rtap_out *out)
{
    const struct rtap_proto *p = l->proto;
    struct rtap_eval ev;

    if (p->line_count == 0)
        return false;
    rtap_eval_init(&ev, ls, l, rtap_layer_below(ls, l));
    rtap_walk(ls, l, NULL, NULL, &ev);
    for (unsigned i = 0; i < p->line_count; i++) {
        const struct rtap_line_part *part = &p->line[i];
        struct summary s = {ls, part, out, 0};
        int64_t v;

        switch (part->kind) {
        case RTAP_LINE_TEXT: rtap_out_text(out, p->strings[part->string]); break;
        case RTAP_LINE_WHEN:
            if (!rtap_eval(&ev, part->code, &v) || v == 0)
                i += part->skip;
            break;
        case RTAP_LINE_EXPR:
            if (rtap_eval(&ev, part->code, &v))
                rtap_out_dec(out, (uint64_t)v);
            break;
        default: rtap_walk(ls, l, visit, &s, NULL); break;
        }
    }
    if (l->flags & RTAP_LAYER_MALFORMED)
        rtap_out_text(out, " [malformed]");
    return true;
}
