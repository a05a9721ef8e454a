/* Values that change from frame to frame. See vary.h. */
#include "vary.h"

/* SplitMix64: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014. */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15ull;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
}

/* From 0 to `most`, each as likely: the high word of a product (Lemire, 2019, without its rejection of the last
 * 2^-64). */
static uint64_t up_to(uint64_t *state, uint64_t most)
{
    uint64_t r = next_random(state);

    return most == UINT64_MAX ? r : (uint64_t)((unsigned __int128)r * (most + 1) >> 64);
}

static uint64_t next_in_range(struct rtap_vary *v)
{
    uint64_t now = v->next, size = v->step < 0 ? 0 - (uint64_t)v->step : (uint64_t)v->step;
    uint64_t left = v->step < 0 ? now - v->to : v->to - now;

    v->next = left < size ? v->from : v->step < 0 ? now - size : now + size;
    return now;
}

void rtap_vary_apply(struct rtap_vary *v, const struct rtap_layout *lo, unsigned which, uint8_t *data)
{
    const struct rtap_place *pl = &v->places[which];
    uint32_t at;

    if (pl->bits == 0)
        return;
    switch (v->kind) {
    case RTAP_VARY_RANGE: rtap_place_put(lo, pl, data, next_in_range(v)); return;
    case RTAP_VARY_RANDOM: rtap_place_put(lo, pl, data, v->from + up_to(&v->random, v->to - v->from)); return;
    case RTAP_VARY_LIST:
    case RTAP_VARY_ASK:
        if (v->count == 0)
            return;
        at = v->at;
        v->at = at + 1 == v->count ? 0 : at + 1;
        if (v->size)
            rtap_place_put_bytes(lo, pl, data, v->bytes + (size_t)at * v->size);
        else
            rtap_place_put(lo, pl, data, v->numbers[at]);
        return;
    }
}
