/*
 * How packets become lines of text: what a text sink has behind it. Two of them: the line printer (line.h), and the
 * values of fields (engine.h).
 */
#ifndef RTAP_PACKET_FORMAT_H
#define RTAP_PACKET_FORMAT_H

#include "engine.h"
#include "line.h"
#include <sys/types.h>

struct rtap_format;

struct rtap_format_ops {
    /* What stands before the first line; as write(). NULL: nothing does. */
    size_t (*head)(struct rtap_format *f, char *buf, size_t size);
    /* The packet that is to be written. 0 or -errno. */
    int (*take)(struct rtap_format *f, const struct rtap_pkt *pkt, const struct rtap_frame *frame);
    /* Its line (or lines) without the last newline: as snprintf, what there would be if it fitted. When it doesn't (>=
     * size) it is asked for again, with more room. */
    size_t (*write)(struct rtap_format *f, char *buf, size_t size);
    void (*free)(struct rtap_format *f);
};

struct rtap_format {
    const struct rtap_format_ops *ops;
};

/* All of these: NULL when there is no memory. */

/* The style is copied, with its state set back. */
struct rtap_format *rtap_line_format(const struct rtap_line_style *style);

struct rtap_fields_style {
    bool json;                  /* an object per line; of what follows, only `occurrence` has a meaning then */
    bool header, bom;           /* a line of names; a byte order mark in front */
    char separator, aggregator; /* between columns; between values in one */
    char quote;                 /* around a column's values, 0: none */
    enum { RTAP_OCCURRENCE_ALL, RTAP_OCCURRENCE_FIRST, RTAP_OCCURRENCE_LAST } occurrence;
};

/* tshark's -T fields, or JSON. ids and occurrences as rtap_fieldset_new() takes them; names are copied, for the header
 * and as keys. The engine stays the caller's, and must live as long. */
struct rtap_format *rtap_fields_format(struct rtap_engine *e, const uint16_t *ids, const int *occurrences,
                                       const char *const *names, unsigned count, const struct rtap_fields_style *style);

#endif
