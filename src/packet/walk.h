/* Between the files that walk a layer's items: walk.c (control) and walk_fields.c (fields, names, text headers). */
#ifndef RTAP_PACKET_WALK_H
#define RTAP_PACKET_WALK_H

#include "engine.h"

#define RTAP_WALK_FRAMES 40

struct rtap_walk_frame {
    enum rtap_walk_kind { RTAP_REGION, RTAP_SUB, RTAP_LOOP, RTAP_CALL } kind;
    int32_t pc;          /* RTAP_REGION, RTAP_SUB: of the end; RTAP_CALL: where to go on */
    uint32_t region;     /* to be restored */
    uint32_t start, end; /* its end (RTAP_LOOP: where the round began); RTAP_SUB: the last field's place */
    uint32_t index;      /* RTAP_LOOP: of the loop around it */
    int64_t left;        /* RTAP_LOOP: rounds, -1: to the region's end */
};

struct rtap_walk_state {
    struct rtap_eval *ev;
    struct rtap_layer *layer;
    rtap_visit visit;
    void *context;
    struct rtap_item item; /* the last one */
    struct rtap_walk_frame frames[RTAP_WALK_FRAMES];
    unsigned depth;
    uint32_t cap; /* bits */
    uint32_t origin;
    int pc, stopped;
    unsigned budget;
};

/* What is wrong is kept on the layer, the first one's words. */
void rtap_walk_malformed(struct rtap_walk_state *w, const char *why);
/* Nothing more can be read: the walk is over. A piece of a stream may end anywhere. */
void rtap_walk_truncated(struct rtap_walk_state *w);
/* What stands here can't be right: on with what is behind the innermost region, if there is one. */
void rtap_walk_leave(struct rtap_walk_state *w, const char *why);
/* Hand the last item to whoever walks. */
void rtap_walk_show(struct rtap_walk_state *w);
struct rtap_walk_frame *rtap_walk_push(struct rtap_walk_state *w, enum rtap_walk_kind kind); /* NULL: nested too deep */

/* Bytes before `end`, which is `skip` long; all n where it isn't. "\r\n" is also a lone "\n" or "\r". */
uint32_t rtap_walk_until(const uint8_t *p, uint32_t n, const char *end, uint32_t *skip);
void rtap_walk_field(struct rtap_walk_state *w, const struct rtap_op *op);
void rtap_walk_value(struct rtap_walk_state *w, const struct rtap_op *op);
void rtap_walk_alias(struct rtap_walk_state *w, const struct rtap_op *op);
void rtap_walk_headers(struct rtap_walk_state *w, const struct rtap_op *op);

#endif
