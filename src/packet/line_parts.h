/* What the files of the line printer share: line.c (the frame of it), line_link.c (link layers and ARP), line_ip.c
 * (IP), line_l4.c (above IP), line_tcp.c, line_icmp.c. */
#ifndef RTAP_PACKET_LINE_PARTS_H
#define RTAP_PACKET_LINE_PARTS_H

#include "engine.h"
#include "line.h"
#include "line_fields.h"
#include "out.h"

struct rtap_line_job {
    struct rtap_out out;
    const struct rtap_pkt *pkt;
    const struct rtap_line_style *style;
    const struct rtap_line_fields *fields;
    struct rtap_layer *ip; /* that the addresses are of */
    unsigned inner;        /* the first layer that is neither link layer nor VLAN tag;
                              may be as large as ls.count */
    bool link;             /* layer 0 is a link layer */
    bool named;            /* the addresses stand in the line already */
    struct rtap_layers ls;
};

/* For string literals: their length is known when compiling. */
#define LIT(job, s) rtap_out_mem(&(job)->out, s, sizeof(s) - 1)

/* tcpdump's mark for "the rest was not captured". */
#define CUT(job, name) LIT(job, " [|" name "]")

/* --- line_fields.c --- */
/* Of a field inside of the captured bytes that may have a condition, odd bits, a scale. False: the condition fails. */
bool rtap_line_number_any(const struct rtap_line_job *job, const struct rtap_layer *l, const struct rtap_line_place *at,
                          uint32_t *v);
/* The first occurrence of names first ... last in a layer, into found[0] ... found[last - first]. */
void rtap_line_find(struct rtap_line_job *job, struct rtap_layer *l, enum rtap_line_name first,
                    enum rtap_line_name last, struct rtap_item *found);
/* A number where the field would be if the layer were of that field's protocol. */
bool rtap_line_read_as(const struct rtap_line_job *job, const struct rtap_layer *l, enum rtap_line_field f,
                       uint32_t *v);
/* Was all of its header captured? */
bool rtap_line_whole(struct rtap_line_job *job, struct rtap_layer *l);
/* A layer's checksum: 1 right, 0 wrong, -1 not to be checked. *is and *wanted as rtap_layer_sum_wanted sets them. */
int rtap_line_sum(struct rtap_line_job *job, struct rtap_layer *l, uint32_t *is, uint32_t *wanted);

/* --- line_link.c --- */
/* "In", "Out", "B", "M", "P" or "?". */
const char *rtap_line_direction(const struct rtap_line_job *job);
/* The mark for a link-layer header that isn't all there; NULL when it is. */
const char *rtap_line_link_cut(struct rtap_line_job *job);
/* The link-layer header; there is one, and it is complete. */
void rtap_line_link(struct rtap_line_job *job);
/* What the innermost of the link layer's headers says that follows; NULL: nothing known. */
const struct rtap_proto *rtap_line_promised(struct rtap_line_job *job);
void rtap_line_arp(struct rtap_line_job *job, struct rtap_layer *l);

/* --- line_ip.c --- */
/* v6: what was promised, whatever the layer says. */
void rtap_line_ip(struct rtap_line_job *job, struct rtap_layer *l, bool v6);
/* "a > b: "; with ports unless `from` is LF_COUNT. */
void rtap_line_names(struct rtap_line_job *job, const struct rtap_layer *l, enum rtap_line_field from,
                     enum rtap_line_field to);

/* --- line_l4.c, line_tcp.c, line_icmp.c --- */
struct rtap_line_span {   /* a transport: its layer, and its number and bytes as
                             IP has them */
    struct rtap_layer *l; /* NULL: all of it was cut off */
    uint32_t number, size;
};

/* With the addresses unless they are there already. */
void rtap_line_transport(struct rtap_line_job *job, struct rtap_line_span s);
void rtap_line_tcp(struct rtap_line_job *job, struct rtap_line_span s);
void rtap_line_icmp(struct rtap_line_job *job, struct rtap_line_span s);
void rtap_line_icmp6(struct rtap_line_job *job, struct rtap_line_span s);

/* --- line.c --- */
/* What the tables' summaries say of layer `from` and those above, with `before` in front; false: nothing. */
bool rtap_line_above(struct rtap_line_job *job, unsigned from, const char *before);

/* --- */
static inline void rtap_line_number(struct rtap_line_job *job, const char *text, uint64_t v)
{
    rtap_out_text(&job->out, text);
    rtap_out_dec(&job->out, v);
}

static inline bool rtap_line_is(const struct rtap_line_job *job, const struct rtap_layer *l, enum rtap_line_proto p)
{
    return l->proto == job->fields->proto[p];
}

static inline unsigned rtap_line_index(const struct rtap_line_job *job, const struct rtap_layer *l)
{
    return (unsigned)(l - job->ls.at);
}

/* A layer's captured bytes. */
static inline uint32_t rtap_line_captured(const struct rtap_line_job *job, const struct rtap_layer *l)
{
    uint32_t stop = l->bound < job->pkt->caplen ? l->bound : job->pkt->caplen;

    return stop > l->off ? stop - l->off : 0;
}

/* Where the field is in its layer, or NULL: it isn't there, or not such a field. */
static inline const uint8_t *rtap_line_at(const struct rtap_line_job *job, const struct rtap_layer *l,
                                          const struct rtap_line_place *at)
{
    if (!l || l->proto != at->proto || at->end > rtap_line_captured(job, l))
        return NULL;
    return job->pkt->data + l->off + at->at;
}

/* The same for an address of n bytes without a condition. */
static inline const uint8_t *rtap_line_bytes(const struct rtap_line_job *job, const struct rtap_layer *l,
                                             enum rtap_line_field f, uint32_t n)
{
    const struct rtap_line_place *at = &job->fields->field[f];

    return at->end - at->at == n ? rtap_line_at(job, l, at) : NULL;
}

static inline bool rtap_line_get(const struct rtap_line_job *job, const struct rtap_layer *l, enum rtap_line_field f,
                                 uint32_t *v)
{
    const struct rtap_line_place *at = &job->fields->field[f];
    const uint8_t *p = rtap_line_at(job, l, at);

    if (!p)
        return false;
    switch (at->width) {
    case 1: *v = *p; break;
    case 2: *v = rtap_be16(p); break;
    case 4: *v = rtap_be32(p); break;
    default: return rtap_line_number_any(job, l, at, v);
    }
    *v = (*v >> at->shift & at->mask) * at->scale;
    return true;
}

/* Likewise, 0 for what isn't there. */
static inline uint32_t rtap_line_value(const struct rtap_line_job *job, const struct rtap_layer *l,
                                       enum rtap_line_field f)
{
    uint32_t v = 0;

    return rtap_line_get(job, l, f, &v) ? v : 0;
}

#endif
