/* Values that change from frame to frame: one after another, at random, from a list. */
#ifndef RTAP_PACKET_VARY_H
#define RTAP_PACKET_VARY_H

#include "layout.h"

enum rtap_vary_kind {
    RTAP_VARY_RANGE,  /* from, from + step, ... up to `to` (step below 0: down to), and again from the start */
    RTAP_VARY_RANDOM, /* from ... to */
    RTAP_VARY_LIST,   /* each in turn */
    RTAP_VARY_ASK,    /* as LIST; the list is made anew for each batch by whoever runs the loop */
};

struct rtap_vary {
    enum rtap_vary_kind kind;
    uint64_t from, to, next;
    int64_t step;
    uint64_t random;   /* state of the generator */
    uint64_t *numbers; /* LIST, ASK: values; */
    uint8_t *bytes;    /* or each of `size` bytes */
    uint32_t size, count, room, at;
    struct rtap_place *places; /* in each of the templates; bits == 0: it isn't in that one */
};

/* The next value goes into a frame that was made from template `which`, whose layout is lo. */
void rtap_vary_apply(struct rtap_vary *v, const struct rtap_layout *lo, unsigned which, uint8_t *data);

#endif
