/* The line printer as a format: tcpdump's lines. */
#include "format.h"

#include <stdlib.h>

struct line_format {
    struct rtap_format format;
    struct rtap_line_style style;
    const struct rtap_pkt *pkt;
};

static int line_take(struct rtap_format *f, const struct rtap_pkt *pkt, const struct rtap_frame *frame)
{
    (void)frame;
    ((struct line_format *)f)->pkt = pkt;
    return 0;
}

static size_t line_write(struct rtap_format *f, char *buf, size_t size)
{
    struct line_format *l = (struct line_format *)f;
    struct rtap_line_style before = l->style;
    size_t n = rtap_line(l->pkt, &l->style, buf, size);

    if (n >= size) /* as if it had not been tried */
        l->style = before;
    return n;
}

static void line_free(struct rtap_format *f)
{
    free(f);
}

static const struct rtap_format_ops line_ops = {.take = line_take, .write = line_write, .free = line_free};

struct rtap_format *rtap_line_format(const struct rtap_line_style *style)
{
    struct line_format *l = calloc(1, sizeof(*l));

    if (!l)
        return NULL;
    l->format.ops = &line_ops;
    l->style = *style;
    l->style.first = l->style.previous = l->style.minute = 0;
    l->style.count = 0;
    l->style.started = false;
    l->style.minute_len = 0;
    return &l->format;
}
