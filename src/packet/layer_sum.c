/*
 * The checksum of a layer, as its table describes it: RFC 1071 with or without the pseudo header (RFC 9293 3.1, RFC
 * 8200 8.1), CRC32c (RFC 9260 appendix A), or a function of the table's.
 */
#include "bytes.h"
#include "checksum.h"
#include "engine.h"

static uint32_t crc32c(uint32_t crc, const uint8_t *p, uint32_t n)
{
    static const uint32_t table[16] = {0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3,
                                       0x61c69362, 0x7198540d, 0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9,
                                       0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75};

    while (n--) {
        crc ^= *p++;
        crc = crc >> 4 ^ table[crc & 15];
        crc = crc >> 4 ^ table[crc & 15];
    }
    return crc;
}

struct route {
    const struct rtap_layers *layers;
    uint16_t name;
    uint8_t *last;
};

static int visit_route(void *context, const struct rtap_item *it)
{
    struct route *r = context;
    const uint8_t *p;
    uint32_t n;

    if (it->decl && it->decl->name == r->name) {
        p = rtap_item_bytes(r->layers, it, &n);
        if (n == 4)
            __builtin_memcpy(r->last, p, 4);
    }
    return 0;
}

/* A source route that isn't used up ends with the last destination, which is what checksums cover. */
static void last_destination(const struct rtap_layers *ls, const struct rtap_layer *l, uint8_t *dst)
{
    struct route r = {ls, rtap_engine_find_name(ls->engine, "ip.src_rt"), dst};
    struct rtap_layer *ip = (struct rtap_layer *)l, was = *l;

    rtap_walk(ls, ip, visit_route, &r, NULL);
    *ip = was; /* what the walk has found to be wrong is not for us to tell */
}

/* The addresses of the IP header below, and length and number as RFC 8200 has them; false: there is none. */
static bool pseudo(const struct rtap_eval *ev, uint32_t length, int32_t protocol, uint64_t *sum)
{
    const struct rtap_engine *e = ev->layers->engine;

    for (const struct rtap_layer *l = ev->below; l; l = rtap_layer_below(ev->layers, l)) {
        const uint8_t *h = ev->layers->pkt->data + l->off;

        if (l->proto->id == e->ip && l->header >= 20) {
            uint8_t tail[8] = {0, 0, 0, (uint8_t)(protocol < 0 ? h[9] : protocol)}, addresses[8];

            rtap_put_be32(tail + 4, length);
            __builtin_memcpy(addresses, h + 12, 8);
            if (l->header > 20)
                last_destination(ev->layers, l, addresses + 4);
            *sum = rtap_csum_add(tail, sizeof(tail), rtap_csum_add(addresses, 8, *sum));
            return true;
        }
        if (l->proto->id == e->ipv6 && l->header == 40) {
            uint8_t tail[8] = {0};
            const uint8_t *dst = h + 24;

            rtap_put_be32(tail, length);
            rtap_put_be32(tail + 4, (uint32_t)(protocol < 0 ? h[6] : protocol));
            for (const struct rtap_layer *up = l + 1; up <= ev->below; up++) {
                const uint8_t *r = ev->layers->pkt->data + up->off;

                /* a routing header with segments left: the last address is the destination (types 0 and 2), or the
                 * first in the list (4) */
                if (__builtin_strcmp(up->proto->name, "ipv6.routing") == 0 && up->header >= 24 && r[3] > 0 &&
                    up->off + up->header <= ev->layers->pkt->caplen)
                    dst = r[2] == 4 ? r + 8 : r[2] == 0 || r[2] == 2 ? r + up->header - 16 : dst;
            }
            *sum = rtap_csum_add(tail, sizeof(tail), rtap_csum_add(dst, 16, rtap_csum_add(h + 8, 16, *sum)));
            return true;
        }
    }
    return false;
}

static bool range(const struct rtap_eval *ev, int16_t code, int64_t otherwise, int64_t max, uint32_t *v)
{
    int64_t n = otherwise;

    if (code >= 0 && !rtap_eval(ev, code, &n))
        return false;
    if (n < 0 || n > max)
        return false;
    *v = (uint32_t)n;
    return true;
}

static int sum_inet(const struct rtap_sum *s, uint16_t v, uint64_t sum, uint32_t *wanted)
{
    uint16_t rest = rtap_csum_fold(sum);

    if (wanted) { /* the sum without what the field adds to it */
        *wanted = rtap_csum_fold((uint16_t)~rest + (uint64_t)(uint16_t)~v);
        if (*wanted == 0 && s->zero_is_none)
            *wanted = 0xffff;
    }
    return v == 0 && s->zero_is_none ? RTAP_SUM_NOT_PRESENT : rest == 0;
}

static int sum_crc(const uint8_t *base, uint32_t from, uint32_t at, uint32_t to, uint32_t v, uint32_t *wanted)
{
    static const uint8_t zero[4];
    uint32_t crc = crc32c(0xffffffff, base + from, at - from);

    crc = crc32c(crc, zero, 4);
    crc = __builtin_bswap32(~crc32c(crc, base + at + 4, to - at - 4));
    if (wanted)
        *wanted = crc;
    return v == crc;
}

static int sum(const struct rtap_eval *was, uint32_t *is, uint32_t *wanted)
{
    const struct rtap_sum *s = &was->proto->sum;
    const struct rtap_layer *l = was->layer;
    const struct rtap_decl *d;
    struct rtap_eval ev = *was;
    bool with_pseudo;
    uint32_t length = l->end - l->off, from, to, skip_from = 0, skip_to = 0, pseudo_length, at;
    uint64_t added = 0;
    int64_t v;

    if (!s->present)
        return RTAP_SUM_NOT_PRESENT;
    if (s->when >= 0 && (!rtap_eval(&ev, s->when, &v) || v == 0))
        return RTAP_SUM_NOT_PRESENT;
    with_pseudo = s->pseudo >= 0 && rtap_eval(&ev, s->pseudo, &v) && v != 0;
    d = &ev.proto->decls[s->decl];
    if (d->fixed < 0 || d->fixed % 8 || d->bits % 8 || ((uint32_t)d->fixed + d->bits) / 8 > ev.cap)
        return RTAP_SUM_UNVERIFIED;
    at = (uint32_t)d->fixed / 8;
    v = rtap_decl_number(d, ev.base, at * 8, d->bits);
    if (v == 0 && s->zero_is_none && !wanted)
        return RTAP_SUM_NOT_PRESENT;
    if (!range(&ev, s->from, 0, length, &from) || !range(&ev, s->to, length, length, &to) || from > to ||
        !range(&ev, s->skip_from, 0, length, &skip_from) || !range(&ev, s->skip_to, skip_from, length, &skip_to) ||
        skip_from > skip_to || !range(&ev, s->length, to - from, INT32_MAX, &pseudo_length))
        return RTAP_SUM_UNVERIFIED;
    if (to > ev.cap || l->flags & RTAP_LAYER_FRAGMENT ||
        (with_pseudo && ev.layers->pkt->status & (RTAP_PKT_CSUM_NOT_READY | RTAP_PKT_GSO)))
        return RTAP_SUM_UNVERIFIED;
    if (is)
        *is = (uint32_t)v;
    if (s->kind == RTAP_SUM_CRC32C)
        return at < from || at + 4 > to || d->bits != 32 ? RTAP_SUM_UNVERIFIED
                                                         : sum_crc(ev.base, from, at, to, (uint32_t)v, wanted);
    if (skip_to <= skip_from || skip_from < from || skip_to > to)
        skip_from = skip_to = to;
    if ((with_pseudo && !pseudo(&ev, pseudo_length, s->protocol, &added)) ||
        (skip_to > skip_from && ((skip_from - from) % 2 || (skip_to - skip_from) % 2)))
        return RTAP_SUM_UNVERIFIED;
    added = rtap_csum_add(ev.base + from, skip_from - from, added);
    return sum_inet(s, (uint16_t)v, rtap_csum_add(ev.base + skip_to, to - skip_to, added), wanted);
}

int rtap_layer_sum(const struct rtap_eval *ev)
{
    return sum(ev, NULL, NULL);
}

int rtap_layer_sum_wanted(const struct rtap_eval *ev, uint32_t *is, uint32_t *wanted)
{
    *is = *wanted = 0;
    return sum(ev, is, wanted);
}
