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
    uint32_t *last;
};

static int visit_route(void *context, const struct rtap_item *it)
{
    struct route *r = context;

    if (it->decl && it->decl->name == r->name && it->bits == 32 && it->bit % 8 == 0)
        *r->last = it->bit / 8;
    return 0;
}

/* A source route that isn't used up ends with the last destination, which is what checksums cover. */
static void last_destination(const struct rtap_layers *ls, const struct rtap_layer *l, uint32_t *dst)
{
    struct route r = {ls, rtap_engine_find_name(ls->engine, "ip.src_rt"), dst};
    struct rtap_layer *ip = (struct rtap_layer *)l, was = *l;

    rtap_walk(ls, ip, visit_route, &r, NULL);
    *ip = was; /* what the walk has found to be wrong is not for us to tell */
}

/* The addresses of the IP header below, and length and number as RFC 8200 has them; false: there is none. */
static bool pseudo(const struct rtap_eval *ev, uint32_t length, int32_t protocol, struct rtap_cover *c)
{
    const struct rtap_engine *e = ev->layers->engine;
    const uint8_t *data = ev->layers->pkt->data;

    c->rest = (length >> 16) + (length & 0xffff);
    for (const struct rtap_layer *l = ev->below; l; l = rtap_layer_below(ev->layers, l)) {
        const uint8_t *h = data + l->off;

        if (l->proto->id == e->ip && l->header >= 20) {
            c->rest += (uint8_t)(protocol < 0 ? h[9] : protocol);
            c->address = 4;
            c->src = l->off + 12;
            c->dst = l->off + 16;
            if (l->header > 20)
                last_destination(ev->layers, l, &c->dst);
            return true;
        }
        if (l->proto->id == e->ipv6 && l->header == 40) {
            c->rest += (uint32_t)(protocol < 0 ? h[6] : protocol);
            c->address = 16;
            c->src = l->off + 8;
            c->dst = l->off + 24;
            for (const struct rtap_layer *up = l + 1; up <= ev->below; up++) {
                const uint8_t *r = data + up->off;

                /* a routing header with segments left: the last address is the destination (types 0 and 2), or the
                 * first in the list (4) */
                if (__builtin_strcmp(up->proto->name, "ipv6.routing") == 0 && up->header >= 24 && r[3] > 0 &&
                    up->off + up->header <= ev->layers->pkt->caplen)
                    c->dst = r[2] == 4 ? up->off + 8 : r[2] == 0 || r[2] == 2 ? up->off + up->header - 16 : c->dst;
            }
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

int rtap_layer_cover(const struct rtap_eval *was, struct rtap_cover *c)
{
    const struct rtap_sum *s = &was->proto->sum;
    const struct rtap_layer *l = was->layer;
    const struct rtap_decl *d;
    struct rtap_eval ev = *was;
    uint32_t length = l->end - l->off, from, to, skip_from = 0, skip_to = 0, pseudo_length;
    bool with_pseudo;
    int64_t v;

    memset(c, 0, sizeof(*c));
    if (!s->present)
        return RTAP_SUM_NOT_PRESENT;
    if (s->when >= 0 && (!rtap_eval(&ev, s->when, &v) || v == 0))
        return RTAP_SUM_NOT_PRESENT;
    with_pseudo = s->pseudo >= 0 && rtap_eval(&ev, s->pseudo, &v) && v != 0;
    d = &ev.proto->decls[s->decl];
    if (d->fixed < 0 || d->fixed % 8 || d->bits % 8 || ((uint32_t)d->fixed + d->bits) / 8 > ev.cap)
        return RTAP_SUM_UNVERIFIED;
    c->kind = s->kind;
    c->zero_is_none = s->zero_is_none;
    c->at = (uint32_t)d->fixed / 8;
    c->size = d->bits / 8u;
    c->value = (uint32_t)rtap_decl_number(d, ev.base, c->at * 8, d->bits);
    if (!range(&ev, s->from, 0, length, &from) || !range(&ev, s->to, length, length, &to) || from > to ||
        !range(&ev, s->skip_from, 0, length, &skip_from) || !range(&ev, s->skip_to, skip_from, length, &skip_to) ||
        skip_from > skip_to || !range(&ev, s->length, to - from, INT32_MAX, &pseudo_length))
        return RTAP_SUM_UNVERIFIED;
    if (to > ev.cap || l->flags & RTAP_LAYER_FRAGMENT)
        return RTAP_SUM_UNVERIFIED;
    if (s->kind == RTAP_SUM_CRC32C && (c->at < from || c->at + 4 > to || d->bits != 32))
        return RTAP_SUM_UNVERIFIED;
    if (skip_to <= skip_from || skip_from < from || skip_to > to)
        skip_from = skip_to = to;
    if ((with_pseudo && !pseudo(&ev, pseudo_length, s->protocol, c)) ||
        (skip_to > skip_from && ((skip_from - from) % 2 || (skip_to - skip_from) % 2)))
        return RTAP_SUM_UNVERIFIED;
    c->at += l->off;
    c->from = l->off + from;
    c->to = l->off + to;
    c->skip_from = l->off + skip_from;
    c->skip_to = l->off + skip_to;
    return RTAP_SUM_GOOD;
}

uint64_t rtap_cover_pseudo(const struct rtap_cover *c, const uint8_t *data)
{
    return rtap_csum_add(data + c->dst, c->address, rtap_csum_add(data + c->src, c->address, c->rest));
}

/* The bytes [from, to) but for the field, which lies at an even place of the sum. */
static uint64_t add_without(const struct rtap_cover *c, const uint8_t *data, uint32_t from, uint32_t to, uint64_t sum)
{
    if (c->at >= to || c->at < from)
        return rtap_csum_add(data + from, to - from, sum);
    sum = rtap_csum_add(data + from, c->at - from, sum);
    return c->at + 2 < to ? rtap_csum_add(data + c->at + 2, to - c->at - 2, sum) : sum;
}

uint32_t rtap_cover_wanted(const struct rtap_cover *c, const uint8_t *data)
{
    static const uint8_t zero[4];
    uint64_t sum;
    uint32_t crc, wanted;

    if (c->kind == RTAP_SUM_CRC32C) {
        crc = crc32c(0xffffffff, data + c->from, c->at - c->from);
        crc = crc32c(crc, zero, 4);
        return __builtin_bswap32(~crc32c(crc, data + c->at + 4, c->to - c->at - 4));
    }
    sum = add_without(c, data, c->skip_to, c->to,
                      add_without(c, data, c->from, c->skip_from, rtap_cover_pseudo(c, data)));
    wanted = rtap_csum_fold(sum);
    return wanted == 0 && c->zero_is_none ? 0xffff : wanted;
}

static int sum(const struct rtap_eval *ev, uint32_t *is, uint32_t *wanted)
{
    const uint8_t *data = ev->layers->pkt->data;
    struct rtap_cover c;
    uint32_t right;
    int r = rtap_layer_cover(ev, &c);

    /* without a value it is not there, whatever else is wrong */
    if (c.size && c.value == 0 && c.zero_is_none && !wanted)
        return RTAP_SUM_NOT_PRESENT;
    if (r != RTAP_SUM_GOOD)
        return r;
    if (c.address && ev->layers->pkt->status & (RTAP_PKT_CSUM_NOT_READY | RTAP_PKT_GSO))
        return RTAP_SUM_UNVERIFIED;
    right = rtap_cover_wanted(&c, data);
    if (is) {
        *is = c.value;
        *wanted = right;
    }
    if (c.kind == RTAP_SUM_INET && c.value == 0 && c.zero_is_none)
        return RTAP_SUM_NOT_PRESENT;
    /* 0 and 0xffff are the same to an Internet checksum */
    return c.value == right || (c.kind == RTAP_SUM_INET && (c.value ^ right) == 0xffff && right % 0xffff == 0);
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
