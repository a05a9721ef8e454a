/* Changing bytes where they are. See layout.h. */
#include "layout.h"

#include "checksum.h"

void rtap_layout_find(struct rtap_layers *ls, struct rtap_layout *lo)
{
    lo->count = 0;
    rtap_layers_more(ls, NULL);
    rtap_layers_finish(ls);
    for (unsigned i = ls->count; i-- > 0;) {
        struct rtap_layer *l = &ls->at[i];
        struct rtap_eval ev;

        if (!l->proto->sum.present)
            continue;
        rtap_eval_init(&ev, ls, l, rtap_layer_below(ls, l));
        if (l->proto->needs_walk)
            rtap_walk(ls, l, NULL, NULL, &ev);
        if (rtap_layer_cover(&ev, &lo->sums[lo->count]) == RTAP_SUM_GOOD)
            lo->count++;
    }
}

/* Calls f for each part of [first, last) that c covers, with whether it begins at an odd place of the sum. */
#define FOR_EACH_PART(c, first, last, f)                                    \
    do {                                                                    \
        f(c, first, last, (c)->from, (c)->skip_from, (c)->from);            \
        f(c, first, last, (c)->skip_to, (c)->to, (c)->from);                \
        if ((c)->address) {                                                 \
            f(c, first, last, (c)->src, (c)->src + (c)->address, (c)->src); \
            f(c, first, last, (c)->dst, (c)->dst + (c)->address, (c)->dst); \
        }                                                                   \
    } while (0)

static bool covers(const struct rtap_cover *c, uint32_t first, uint32_t last)
{
    bool yes = false;

#define MEETS(c, first, last, from, to, base) yes = yes || ((first) < (to) && (last) > (from))
    FOR_EACH_PART(c, first, last, MEETS);
#undef MEETS
    return yes;
}

/* What the bytes [first, last) add to the sum, but for its own field. */
static uint64_t part_of_sum(const struct rtap_cover *c, const uint8_t *data, uint32_t first, uint32_t last)
{
    uint64_t sum = 0;

#define ADD(c, first, last, from, to, base)                                             \
    for (uint32_t i = (first) > (from) ? (first) : (from); i < (last) && i < (to); i++) \
        if (i < (c)->at || i >= (c)->at + 2)                                            \
            sum += (i - (base)) & 1 ? data[i] : (uint32_t)data[i] << 8;
    FOR_EACH_PART(c, first, last, ADD);
#undef ADD
    return sum;
}

static bool is_own_field(const struct rtap_cover *c, uint32_t first, uint32_t last)
{
    return first >= c->at && last <= c->at + c->size;
}

bool rtap_place_at(const struct rtap_layout *lo, uint64_t bit, uint32_t bits, struct rtap_place *pl)
{
    memset(pl, 0, sizeof(*pl));
    pl->first = (uint32_t)(bit / 8);
    pl->last = (uint32_t)((bit + bits + 7) / 8);
    pl->bits = bits;
    pl->shift = (uint8_t)(pl->last * 8ull - bit - bits);
    for (unsigned i = 0; i < lo->count; i++) {
        const struct rtap_cover *c = &lo->sums[i];
        bool yes = covers(c, pl->first, pl->last) && !is_own_field(c, pl->first, pl->last);

        for (unsigned k = 0; k < pl->count; k++) /* a checksum that changes is itself covered by others */
            yes = yes || covers(c, lo->sums[pl->sums[k]].at, lo->sums[pl->sums[k]].at + lo->sums[pl->sums[k]].size);
        if (!yes)
            continue;
        if (pl->count == RTAP_PLACE_SUMS)
            return false;
        pl->sums[pl->count++] = (uint8_t)i;
    }
    return true;
}

static uint16_t fold(uint64_t sum)
{
    return (uint16_t)~rtap_csum_fold(sum);
}

static void put_sum(const struct rtap_cover *c, uint8_t *data, uint32_t v)
{
    if (c->size == 4)
        rtap_put_be32(data + c->at, v);
    else
        rtap_put_be16(data + c->at, (uint16_t)v);
}

static uint32_t get_sum(const struct rtap_cover *c, const uint8_t *data)
{
    return c->size == 4 ? rtap_be32(data + c->at) : rtap_be16(data + c->at);
}

/* What the checksum `inner` with the value v adds to a sum that covers it. */
static uint32_t as_part(const struct rtap_cover *c, const struct rtap_cover *inner, uint32_t v)
{
    v = (v >> 16) + (v & 0xffff);
    v = (v >> 16) + (v & 0xffff);
    return (inner->at - c->from) & 1 ? (v << 8 | v >> 8) & 0xffff : v;
}

static uint32_t moved(const struct rtap_cover *c, uint32_t was, uint64_t old, uint64_t new)
{
    uint16_t is = rtap_csum_fold((uint64_t)(uint16_t)~was + (uint16_t)~fold(old) + fold(new));

    return is == 0 && c->zero_is_none ? 0xffff : is;
}

static bool overlaps(const struct rtap_cover *c, const struct rtap_place *pl)
{
    return pl->first < c->at + c->size && pl->last > c->at;
}

/* The sums were `before` without the change; `data` has it. */
static void follow(const struct rtap_layout *lo, const struct rtap_place *pl, uint8_t *data, const uint64_t *before)
{
    uint32_t was[RTAP_PLACE_SUMS];

    for (unsigned k = 0; k < pl->count; k++) {
        const struct rtap_cover *c = &lo->sums[pl->sums[k]];
        uint64_t old = before[k], new = part_of_sum(c, data, pl->first, pl->last);

        was[k] = get_sum(c, data);
        if (c->kind == RTAP_SUM_CRC32C || overlaps(c, pl)) { /* what was written has part of the field in it */
            put_sum(c, data, rtap_cover_wanted(c, data));
            continue;
        }
        if (was[k] == 0 && c->zero_is_none)
            continue;
        for (unsigned j = 0; j < k; j++) {
            const struct rtap_cover *inner = &lo->sums[pl->sums[j]];

            if (covers(c, inner->at, inner->at + inner->size) && !overlaps(inner, pl)) {
                old += as_part(c, inner, was[j]);
                new += as_part(c, inner, get_sum(inner, data));
            }
        }
        put_sum(c, data, moved(c, was[k], old, new));
        if (get_sum(c, data) == 0) /* perhaps all that it covers is 0 now: RFC 1624, 4 */
            put_sum(c, data, rtap_cover_wanted(c, data));
    }
}

static void sums_before(const struct rtap_layout *lo, const struct rtap_place *pl, const uint8_t *data,
                        uint64_t *before)
{
    for (unsigned k = 0; k < pl->count; k++)
        before[k] = part_of_sum(&lo->sums[pl->sums[k]], data, pl->first, pl->last);
}

static uint64_t swapped(uint64_t v, uint32_t bits)
{
    return __builtin_bswap64(v) >> (64 - bits);
}

void rtap_place_put(const struct rtap_layout *lo, const struct rtap_place *pl, uint8_t *data, uint64_t v)
{
    uint64_t before[RTAP_PLACE_SUMS];
    unsigned __int128 value, mask = pl->bits == 64 ? UINT64_MAX : (1ull << pl->bits) - 1;

    sums_before(lo, pl, data, before);
    value = (pl->le ? swapped(v, pl->bits) : v) & mask;
    value <<= pl->shift;
    mask <<= pl->shift;
    for (uint32_t i = pl->last; i-- > pl->first; value >>= 8, mask >>= 8)
        data[i] = (uint8_t)((data[i] & ~(uint8_t)mask) | (uint8_t)value);
    follow(lo, pl, data, before);
}

void rtap_place_put_bytes(const struct rtap_layout *lo, const struct rtap_place *pl, uint8_t *data,
                          const uint8_t *bytes)
{
    uint64_t before[RTAP_PLACE_SUMS];

    sums_before(lo, pl, data, before);
    memcpy(data + pl->first, bytes, pl->last - pl->first);
    follow(lo, pl, data, before);
}

uint64_t rtap_place_get(const struct rtap_place *pl, const uint8_t *data)
{
    unsigned __int128 v = 0;

    for (uint32_t i = pl->first; i < pl->last; i++)
        v = v << 8 | data[i];
    v >>= pl->shift;
    if (pl->bits < 64)
        v &= (1ull << pl->bits) - 1;
    return pl->le ? swapped((uint64_t)v, pl->bits) : (uint64_t)v;
}

static bool same(const struct rtap_cover *a, const struct rtap_cover *b)
{
    return a->at == b->at && a->from == b->from && a->to == b->to && a->skip_from == b->skip_from &&
           a->skip_to == b->skip_to && a->src == b->src && a->dst == b->dst && a->address == b->address &&
           a->rest == b->rest && a->kind == b->kind;
}

static void flip(const struct rtap_place *pl, uint8_t *data)
{
    for (uint32_t i = pl->first; i < pl->last; i++) {
        unsigned mask = 0xff;

        if (i == pl->last - 1)
            mask &= 0xffu << pl->shift;
        if (i == pl->first)
            mask &= 0xffu >> ((pl->last - pl->first) * 8 - pl->shift - pl->bits);
        data[i] ^= (uint8_t)mask;
    }
}

/* Is the packet laid out otherwise with these bytes? */
static bool lies_otherwise(const struct rtap_layers *ls, const struct rtap_layout *lo, const uint8_t *data)
{
    struct rtap_pkt pkt = *ls->pkt;
    struct rtap_layers others;
    struct rtap_layout other;

    pkt.data = data;
    rtap_layers_start(&others, ls->engine, &pkt, NULL);
    rtap_layout_find(&others, &other);
    if (other.count != lo->count)
        return true;
    for (unsigned i = 0; i < lo->count; i++)
        if (!same(&lo->sums[i], &other.sums[i]))
            return true;
    return false;
}

/* All values can't be tried: its opposite, and smaller ones, since a length that is too large is often cut. */
bool rtap_place_is_structural(const struct rtap_layers *ls, const struct rtap_layout *lo, const struct rtap_place *pl,
                              uint8_t *data)
{
    static const struct rtap_layout none = {0};
    struct rtap_place bare = *pl;
    uint64_t was, tries[3];
    bool changes;

    bare.count = 0; /* without the checksums */
    flip(pl, data);
    changes = lies_otherwise(ls, lo, data);
    flip(pl, data);
    if (changes || pl->bits > 64)
        return changes;
    was = rtap_place_get(pl, data);
    tries[0] = was - 1;
    tries[1] = was / 2;
    tries[2] = 0;
    for (unsigned i = 0; i < 3 && !changes; i++) {
        rtap_place_put(&none, &bare, data, tries[i]);
        changes = lies_otherwise(ls, lo, data);
    }
    rtap_place_put(&none, &bare, data, was);
    return changes;
}

void rtap_layout_resize(const struct rtap_layers *ls, uint8_t *data, uint32_t len)
{
    static const struct rtap_layout none = {0};

    for (unsigned i = 0; i < ls->count; i++) {
        const struct rtap_layer *l = &ls->at[i];
        const struct rtap_code *c = l->proto->total < 0 ? NULL : &l->proto->codes[l->proto->total];
        unsigned bits = c ? (unsigned)__builtin_popcount(c->mask) : 0;
        int64_t total = (int64_t)len - l->off;
        struct rtap_place pl;

        if (!c || c->kind != RTAP_CODE_SIMPLE || l->end != ls->pkt->len || total < c->add || c->mul == 0 ||
            l->off + (uint64_t)c->at + 4 > ls->pkt->caplen ||
            rtap_code_bits(c, data + l->off) * c->mul + c->add !=
                l->end - (int64_t)l->off || /* it isn't this that tells */
            !rtap_place_at(&none, (l->off + (uint64_t)c->at) * 8 + 32 - c->shift - bits, bits, &pl) ||
            pl.last > ls->pkt->caplen)
            continue;
        rtap_place_put(&none, &pl, data, (uint64_t)((total - c->add) / c->mul));
    }
}

void rtap_layout_sum(const struct rtap_layout *lo, uint8_t *data)
{
    for (unsigned i = 0; i < lo->count; i++) {
        struct rtap_cover c = lo->sums[i];

        c.value = get_sum(&c, data);
        if (c.value != 0 || !c.zero_is_none)
            put_sum(&c, data, rtap_cover_wanted(&c, data));
    }
}

unsigned rtap_layout_complete(const struct rtap_layout *lo, uint8_t *data)
{
    unsigned n = 0;

    for (unsigned i = 0; i < lo->count; i++) {
        struct rtap_cover c = lo->sums[i];

        c.value = rtap_be16(data + c.at);
        if (c.kind != RTAP_SUM_INET || !c.address || c.value != fold(rtap_cover_pseudo(&c, data)))
            continue;
        rtap_put_be16(data + c.at, 0);
        c.value = 0;
        put_sum(&c, data, rtap_cover_wanted(&c, data));
        n++;
    }
    return n;
}
