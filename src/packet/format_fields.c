/*
 * Values of fields as a format: a line of columns as tshark -T fields prints it, or an object of JSON.
 *
 * Functions of protocol tables run in take(), on a copy of the packet (again where the text had no room); write() finds
 * what they gave.
 */
#include "format.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct name { /* the column's, for JSON quoted and with a colon behind it */
    char *text;
    size_t len;
};

struct result { /* of a function; its text is in fields_format.texts */
    enum rtap_result kind;
    size_t off, len;
};

struct fields_format {
    struct rtap_format format;
    struct rtap_fields_style style;
    struct rtap_engine *engine;
    struct rtap_fieldset *fs;
    unsigned count;
    uint16_t *ids;
    struct name *names;
    struct rtap_layers layers;
    unsigned version;     /* of the engine, when `calls` was worked out */
    bool calls;           /* some column may be a function */
    struct rtap_pkt copy; /* where functions run; its bytes, name and comment are in `bytes` */
    uint8_t *bytes;
    size_t bytes_size;
    char *texts;
    size_t texts_size, texts_used;
    struct result *results; /* in the order of the columns and their items */
    unsigned result_count, result_room;
};

/* ------------------------------------------------------------------ what is printed of a column */

struct values {
    const struct rtap_found *found;
    int32_t next;
    unsigned result; /* the next function's */
};

/* Of a packet. */
static inline struct values values(const struct fields_format *f)
{
    return (struct values){.found = rtap_fieldset_at(f->fs, 0), .next = -1};
}

static inline void begin(const struct fields_format *f, struct values *v, unsigned column)
{
    v->next = rtap_fieldset_first(f->fs, column);
    if (f->style.occurrence == RTAP_OCCURRENCE_LAST)
        while (v->next >= 0 && v->found[v->next].next >= 0)
            v->next = v->found[v->next].next;
}

/* The column's next value, NULL: no more. *r is the result if it is a function, else NULL. */
static inline const struct rtap_item *next(const struct fields_format *f, struct values *v, const struct result **r)
{
    while (v->next >= 0) {
        const struct rtap_found *found = &v->found[v->next];

        v->next = found->next;
        *r = f->calls && found->item.decl->flags & RTAP_DECL_FUNC ? &f->results[v->result++] : NULL;
        if (!*r || (*r)->kind != RTAP_RESULT_NONE)
            return &found->item;
    }
    return NULL;
}

/* ------------------------------------------------------------------ functions */

static bool may_call(const struct fields_format *f)
{
    for (unsigned i = 0; i < f->engine->proto_count; i++) {
        const struct rtap_proto *p = f->engine->protos[i];

        for (unsigned d = 0; d < p->decl_count; d++)
            for (unsigned c = 0; p->decls[d].flags & RTAP_DECL_FUNC && c < f->count; c++)
                if (p->decls[d].name == f->ids[c])
                    return true;
    }
    return false;
}

/* Room for `size` bytes and what is in there already; false: no memory. */
static bool grow(void **buf, size_t *room, size_t size)
{
    void *p;

    if (size <= *room)
        return true;
    size += size / 2;
    p = realloc(*buf, size);
    if (!p)
        return false;
    *buf = p;
    *room = size;
    return true;
}

/* A function may do anything, also close the source that the packet lies in. */
static int copy_packet(struct fields_format *f, const struct rtap_pkt *pkt)
{
    size_t name = pkt->ifname ? strlen(pkt->ifname) + 1 : 0, comment = pkt->comment ? pkt->comment_len : 0;
    void *bytes = f->bytes;

    if (!grow(&bytes, &f->bytes_size, pkt->caplen + name + comment + 1))
        return -ENOMEM;
    f->bytes = bytes;
    f->copy = *pkt;
    memcpy(f->bytes, pkt->data, pkt->caplen);
    f->copy.data = f->bytes;
    if (pkt->ifname)
        f->copy.ifname = memcpy(f->bytes + pkt->caplen, pkt->ifname, name);
    if (pkt->comment)
        f->copy.comment = memcpy(f->bytes + pkt->caplen + name, pkt->comment, comment);
    return 0;
}

static int run_function(struct fields_format *f, const struct rtap_item *it)
{
    struct result *r;
    struct rtap_out o;
    size_t room = 4096;
    void *buf;

    if (f->result_count == f->result_room) {
        size_t size = f->result_room * sizeof(*f->results);

        buf = f->results;
        if (!grow(&buf, &size, (f->result_room + 16) * sizeof(*f->results)))
            return -ENOMEM;
        f->results = buf;
        f->result_room = (unsigned)(size / sizeof(*f->results));
    }
    r = &f->results[f->result_count++];
    for (;;) {
        buf = f->texts;
        if (!grow(&buf, &f->texts_size, f->texts_used + room))
            return -ENOMEM;
        f->texts = buf;
        rtap_out_init(&o, f->texts + f->texts_used, f->texts_size - f->texts_used);
        r->kind = rtap_item_call(&f->layers, it, &o);
        r->off = f->texts_used;
        r->len = rtap_out_done(&o, f->texts_size - f->texts_used);
        if (r->len < f->texts_size - f->texts_used)
            break;
        room = r->len + 1; /* rare: it is asked again */
    }
    f->texts_used += r->len;
    return 0;
}

static int run_functions(struct fields_format *f)
{
    f->result_count = 0;
    f->texts_used = 0;
    for (unsigned c = 0; c < f->count; c++) {
        struct values v = values(f);

        for (begin(f, &v, c); v.next >= 0; v.next = v.found[v.next].next) {
            const struct rtap_item *it = &v.found[v.next].item;
            int r = it->decl->flags & RTAP_DECL_FUNC ? run_function(f, it) : 0;

            if (r < 0)
                return r;
        }
    }
    return 0;
}

static int fields_take(struct rtap_format *format, const struct rtap_pkt *pkt, const struct rtap_frame *frame)
{
    struct fields_format *f = (struct fields_format *)format;
    int r;

    if (__builtin_expect(f->version != f->engine->version, 0)) {
        f->calls = may_call(f);
        f->version = f->engine->version;
    }
    if (f->calls) {
        r = copy_packet(f, pkt);
        if (r < 0)
            return r;
        pkt = &f->copy;
    }
    rtap_layers_start(&f->layers, f->engine, pkt, frame);
    r = rtap_fieldset_extract(f->fs, &f->layers);
    return r < 0 || !f->calls ? r : run_functions(f);
}

/* ------------------------------------------------------------------ values */

static void put_result(const struct fields_format *f, const struct rtap_item *it, const struct result *r,
                       struct rtap_out *o)
{
    if (it->decl->type == RTAP_BYTES && r->kind == RTAP_RESULT_TEXT)
        rtap_out_bytes(o, (const uint8_t *)f->texts + r->off, r->len, "");
    else
        rtap_out_escaped(o, f->texts + r->off, r->len);
}

static size_t write_columns(const struct fields_format *f, char *buf, size_t size)
{
    struct values v = values(f);
    struct rtap_out o;

    rtap_out_init(&o, buf, size);
    for (unsigned c = 0; c < f->count; c++) {
        const char *before = f->style.quote ? &f->style.quote : NULL;
        const struct rtap_item *it;
        const struct result *r;

        if (c > 0)
            rtap_out_mem(&o, &f->style.separator, 1);
        begin(f, &v, c);
        while ((it = next(f, &v, &r)) != NULL) {
            if (before)
                rtap_out_mem(&o, before, 1);
            before = &f->style.aggregator;
            if (r)
                put_result(f, it, r, &o);
            else
                rtap_item_text(&f->layers, it, &o);
        }
        if (before == &f->style.aggregator && f->style.quote)
            rtap_out_mem(&o, &f->style.quote, 1);
    }
    return rtap_out_done(&o, size);
}

/* ------------------------------------------------------------------ JSON, RFC 8259 */

static void put_json_text(struct rtap_out *o, const uint8_t *p, size_t n)
{
    static const char letter[128] = {
        ['\b'] = 'b', ['\f'] = 'f', ['\n'] = 'n', ['\r'] = 'r', ['\t'] = 't', ['"'] = '"', ['\\'] = '\\'};
    size_t from = 0;

    rtap_out_mem(o, "\"", 1);
    for (size_t i = 0; i < n;) {
        char tmp[6] = {'\\', 'u', '0', '0', "0123456789abcdef"[p[i] >> 4], "0123456789abcdef"[p[i] & 15]};
        unsigned len = 1;
        bool ok = true;

        if (p[i] >= 0x80)
            len = rtap_utf8(p + i, n - i, &ok);
        if (ok && (p[i] >= 0x80 || (p[i] >= 0x20 && !letter[p[i]]))) {
            i += len;
            continue;
        }
        rtap_out_mem(o, (const char *)p + from, i - from);
        if (!ok)
            rtap_out_mem(o, "\xef\xbf\xbd", 3); /* U+FFFD */
        else if (letter[p[i]])
            rtap_out_mem(o, (tmp[1] = letter[p[i]], tmp), 2);
        else
            rtap_out_mem(o, tmp, 6);
        i += len;
        from = i;
    }
    rtap_out_mem(o, (const char *)p + from, n - from);
    rtap_out_mem(o, "\"", 1);
}

static void put_json_number(struct rtap_out *o, const struct rtap_decl *d, int64_t v)
{
    if (d->type == RTAP_BOOL) {
        rtap_out_text(o, v ? "true" : "false");
    } else if (d->type == RTAP_INT && v < 0) {
        rtap_out_mem(o, "-", 1);
        rtap_out_dec(o, (uint64_t)0 - (uint64_t)v);
    } else {
        rtap_out_dec(o, (uint64_t)v);
    }
}

/* Text that value.c makes: short, the longest is a DNS name or frame.protocols. */
static void put_json_made(struct rtap_out *o, const struct rtap_layers *ls, const struct rtap_item *it)
{
    char text[4096];
    struct rtap_out t;
    size_t n;

    rtap_out_init(&t, text, sizeof(text));
    rtap_item_text(ls, it, &t);
    n = rtap_out_done(&t, sizeof(text));
    if (n >= sizeof(text))
        n = sizeof(text) - 1;
    if ((it->decl->type == RTAP_FLOAT || it->decl->type == RTAP_FIXED) && n > 0 && !strpbrk(text, "in")) /* inf, nan */
        rtap_out_mem(o, text, n);
    else
        put_json_text(o, (const uint8_t *)text, n);
}

static void put_json_result(const struct fields_format *f, const struct rtap_item *it, const struct result *r,
                            struct rtap_out *o)
{
    const char *text = f->texts + r->off;

    if (r->kind == RTAP_RESULT_NUMBER) {
        rtap_out_mem(o, text, r->len);
    } else if (r->kind == RTAP_RESULT_BOOL) {
        rtap_out_text(o, *text == '1' ? "true" : "false");
    } else if (it->decl->type == RTAP_BYTES) {
        rtap_out_mem(o, "\"", 1);
        rtap_out_bytes(o, (const uint8_t *)text, r->len, "");
        rtap_out_mem(o, "\"", 1);
    } else {
        put_json_text(o, (const uint8_t *)text, r->len);
    }
}

static void put_json_value(const struct fields_format *f, const struct rtap_item *it, struct rtap_out *o)
{
    const struct rtap_decl *d = it->decl;
    const struct rtap_pkt *pkt = f->layers.pkt;
    const uint8_t *p, *end;
    uint32_t n;

    if (rtap_decl_is_number(d)) {
        put_json_number(o, d, rtap_item_number(&f->layers, it));
        return;
    }
    switch (d->type) {
    case RTAP_BYTES:
        p = rtap_item_bytes(&f->layers, it, &n);
        rtap_out_mem(o, "\"", 1);
        rtap_out_bytes(o, p, n, "");
        rtap_out_mem(o, "\"", 1);
        break;
    case RTAP_STRING:
    case RTAP_STRINGZ: /* as it is, not as tshark shows it */
        p = rtap_item_bytes(&f->layers, it, &n);
        end = n ? memchr(p, 0, n) : NULL;
        put_json_text(o, p, end ? (size_t)(end - p) : n);
        break;
    case RTAP_FRAME:
        if (d->bits == RTAP_FRAME_COMMENT && pkt->comment)
            put_json_text(o, (const uint8_t *)pkt->comment, strnlen(pkt->comment, pkt->comment_len));
        else if (d->bits == RTAP_FRAME_INTERFACE_NAME && pkt->ifname)
            put_json_text(o, (const uint8_t *)pkt->ifname, strlen(pkt->ifname));
        else
            put_json_made(o, &f->layers, it);
        break;
    default: put_json_made(o, &f->layers, it); break;
    }
}

static void put_json_any(const struct fields_format *f, const struct rtap_item *it, const struct result *r,
                         struct rtap_out *o)
{
    if (r)
        put_json_result(f, it, r, o);
    else
        put_json_value(f, it, o);
}

static size_t write_object(const struct fields_format *f, char *buf, size_t size)
{
    struct values v = values(f);
    struct rtap_out o;
    bool any = false;

    rtap_out_init(&o, buf, size);
    rtap_out_mem(&o, "{", 1);
    for (unsigned c = 0; c < f->count; c++) {
        const struct rtap_item *it, *more;
        const struct result *r, *more_r;

        begin(f, &v, c);
        it = next(f, &v, &r);
        if (!it)
            continue;
        if (any)
            rtap_out_mem(&o, ",", 1);
        any = true;
        rtap_out_mem(&o, f->names[c].text, f->names[c].len);
        more = next(f, &v, &more_r);
        if (!more) {
            put_json_any(f, it, r, &o);
            continue;
        }
        rtap_out_mem(&o, "[", 1);
        put_json_any(f, it, r, &o);
        for (; more; more = next(f, &v, &more_r)) {
            rtap_out_mem(&o, ",", 1);
            put_json_any(f, more, more_r, &o);
        }
        rtap_out_mem(&o, "]", 1);
    }
    rtap_out_mem(&o, "}", 1);
    return rtap_out_done(&o, size);
}

static size_t fields_write(struct rtap_format *format, char *buf, size_t size)
{
    const struct fields_format *f = (const struct fields_format *)format;

    return f->style.json ? write_object(f, buf, size) : write_columns(f, buf, size);
}

/* ------------------------------------------------------------------ begin and end */

static size_t fields_head(struct rtap_format *format, char *buf, size_t size)
{
    const struct fields_format *f = (const struct fields_format *)format;
    struct rtap_out o;

    rtap_out_init(&o, buf, size);
    if (f->style.bom)
        rtap_out_mem(&o, "\xef\xbb\xbf", 3);
    for (unsigned c = 0; f->style.header && c < f->count; c++) {
        if (c > 0)
            rtap_out_mem(&o, &f->style.separator, 1);
        rtap_out_mem(&o, f->names[c].text, f->names[c].len);
    }
    if (f->style.header)
        rtap_out_mem(&o, "\n", 1);
    return rtap_out_done(&o, size);
}

static void fields_free(struct rtap_format *format)
{
    struct fields_format *f = (struct fields_format *)format;

    for (unsigned i = 0; f->names && i < f->count; i++)
        free(f->names[i].text);
    rtap_fieldset_free(f->fs);
    free(f->ids);
    free(f->names);
    free(f->bytes);
    free(f->texts);
    free(f->results);
    free(f);
}

static const struct rtap_format_ops fields_ops = {
    .head = fields_head,
    .take = fields_take,
    .write = fields_write,
    .free = fields_free,
};

/* The key with its colon, or the name for the header. */
static bool keep_name(struct name *to, const char *name, bool json)
{
    size_t n = strlen(name), size = n * 6 + 4;
    struct rtap_out o;

    to->text = malloc(size);
    if (!to->text)
        return false;
    rtap_out_init(&o, to->text, size);
    if (json) {
        put_json_text(&o, (const uint8_t *)name, n);
        rtap_out_mem(&o, ":", 1);
    } else {
        rtap_out_mem(&o, name, n);
    }
    to->len = rtap_out_done(&o, size);
    return true;
}

/* Have the columns before i the same name? */
static bool again(const char *const *names, unsigned i)
{
    for (unsigned k = 0; k < i; k++)
        if (strcmp(names[k], names[i]) == 0)
            return true;
    return false;
}

struct rtap_format *rtap_fields_format(struct rtap_engine *e, const uint16_t *ids, const int *occurrences,
                                       const char *const *names, unsigned count, const struct rtap_fields_style *style)
{
    struct fields_format *f = calloc(1, sizeof(*f));
    int *kept = malloc(count * sizeof(*kept) + 1);
    bool ok;

    if (!f || !kept) {
        free(f);
        free(kept);
        return NULL;
    }
    f->format.ops = &fields_ops;
    f->style = *style;
    f->engine = e;
    f->version = e->version - 1;
    f->ids = malloc(count * sizeof(*f->ids) + 1);
    f->names = calloc(count + 1, sizeof(*f->names));
    ok = f->ids && f->names;
    for (unsigned i = 0; ok && i < count; i++) {
        if (style->json && again(names, i)) /* a key once */
            continue;
        f->ids[f->count] = ids[i];
        kept[f->count] = occurrences[i];
        ok = keep_name(&f->names[f->count++], names[i], style->json);
    }
    if (ok)
        f->fs = rtap_fieldset_new(e, f->ids, kept, f->count,
                                  style->occurrence == RTAP_OCCURRENCE_FIRST ? RTAP_FIELDSET_FIRST : 0);
    free(kept);
    if (!f->fs) {
        fields_free(&f->format);
        return NULL;
    }
    return &f->format;
}
