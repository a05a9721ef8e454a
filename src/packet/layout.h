/*
 * Changing bytes of a packet where they are, with the checksums that cover them (RFC 1624, equation 3): a layout is
 * found by decoding once, and then holds for all packets that are laid out alike.
 */
#ifndef RTAP_PACKET_LAYOUT_H
#define RTAP_PACKET_LAYOUT_H

#include "engine.h"

#define RTAP_PLACE_SUMS 8

struct rtap_layout {
    unsigned count;
    struct rtap_cover sums[RTAP_LAYERS_MAX]; /* innermost first */
};

struct rtap_place {       /* where a value is */
    uint32_t first, last; /* its bytes: [first, last) */
    uint32_t bits;        /* of the value */
    uint8_t shift;        /* bits behind it in the last byte */
    bool le;              /* whole bytes, the lowest first */
    bool structural;      /* how the packet is laid out depends on it */
    uint8_t count;        /* of the sums that change with it */
    uint8_t sums[RTAP_PLACE_SUMS];
};

void rtap_layout_find(struct rtap_layers *ls, struct rtap_layout *lo);
/* The bits at `bit` of the packet that ls is of. False: more checksums depend on them than can be followed. */
bool rtap_place_at(const struct rtap_layout *lo, uint64_t bit, uint32_t bits, struct rtap_place *pl);
/* Does the layout change with those bits? `data` are the packet's bytes, which are changed and put back. */
bool rtap_place_is_structural(const struct rtap_layers *ls, const struct rtap_layout *lo, const struct rtap_place *pl,
                              uint8_t *data);
/* Write a number of at most 64 bits, or the place's bytes. */
void rtap_place_put(const struct rtap_layout *lo, const struct rtap_place *pl, uint8_t *data, uint64_t v);
void rtap_place_put_bytes(const struct rtap_layout *lo, const struct rtap_place *pl, uint8_t *data,
                          const uint8_t *bytes);
uint64_t rtap_place_get(const struct rtap_place *pl, const uint8_t *data); /* at most 64 bits */
/* The packet that ls is of, decoded to its end, has `len` bytes from now on: set the lengths in its headers that ended
 * where it did. Its bytes are at `data`. The layout is another then, and its checksums are to be worked out anew. */
void rtap_layout_resize(const struct rtap_layers *ls, uint8_t *data, uint32_t len);
/* Work every checksum out anew, but for those that say that there is none. */
void rtap_layout_sum(const struct rtap_layout *lo, uint8_t *data);
/*
 * Make checksums good that the sender left to the hardware: those whose field is the sum of the pseudo header alone, as
 * the kernel leaves it. How many there were.
 */
unsigned rtap_layout_complete(const struct rtap_layout *lo, uint8_t *data);

#endif
