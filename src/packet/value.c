/*
 * Values of items, as numbers, bytes and text. The text is tshark's (-T fields, 4.0): integers in the base of the
 * field, booleans as 1 and 0, addresses, bytes as hex digits, times with nanoseconds.
 */
#include "bytes.h"
#include "engine.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

bool rtap_decl_is_number(const struct rtap_decl *d)
{
    if (d->type == RTAP_FRAME)
        return d->bits == RTAP_FRAME_NUMBER || d->bits == RTAP_FRAME_LEN || d->bits == RTAP_FRAME_CAP_LEN ||
               d->bits == RTAP_FRAME_INTERFACE_ID;
    return (d->type <= RTAP_BOOL || (d->type >= RTAP_DECIMAL && d->type <= RTAP_VARINT)) &&
           !(d->flags & RTAP_DECL_FUNC);
}

bool rtap_is_decimal(const uint8_t *p, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (p[i] < '0' || p[i] > '9')
            return false;
    return n > 0 && n < 19;
}

uint32_t rtap_self_sized(enum rtap_type type, uint8_t first)
{
    if (type == RTAP_VARINT)
        return 1u << (first >> 6);
    return first > 0x80 ? 1 + (first & 0x7fu) : 1;
}

/* What the bytes of an RTAP_BER or RTAP_VARINT say. */
static int64_t self_sized(enum rtap_type type, const uint8_t *p, uint32_t n)
{
    uint64_t v;

    if (n == 0 || n > 9)
        return 0;
    if (type == RTAP_BER && n == 1)
        return p[0] & 0x7f;
    v = type == RTAP_VARINT ? p[0] & 0x3f : 0;
    for (uint32_t i = 1; i < n; i++)
        v = v << 8 | p[i];
    return (int64_t)v;
}

static int64_t decimal(const uint8_t *p, uint32_t n)
{
    int64_t v = 0;

    for (uint32_t i = 0; i < n && rtap_is_decimal(p, n); i++)
        v = v * 10 + p[i] - '0';
    return v;
}

const uint8_t *rtap_item_bytes(const struct rtap_layers *ls, const struct rtap_item *it, uint32_t *n)
{
    if (it->kind != RTAP_ITEM_VALUE && it->bit % 8 == 0 && it->bits % 8 == 0 &&
        it->bit / 8 + it->bits / 8 <= ls->pkt->caplen) {
        *n = it->bits / 8;
        return ls->pkt->data + it->bit / 8;
    }
    *n = 0;
    return ls->pkt->data;
}

int64_t rtap_item_number(const struct rtap_layers *ls, const struct rtap_item *it)
{
    const struct rtap_pkt *pkt = ls->pkt;

    if (it->decl->type == RTAP_FRAME) {
        switch (it->decl->bits) {
        case RTAP_FRAME_NUMBER: return ls->frame ? (int64_t)ls->frame->number : 0;
        case RTAP_FRAME_LEN: return pkt->len;
        case RTAP_FRAME_CAP_LEN: return pkt->caplen;
        case RTAP_FRAME_INTERFACE_ID: return pkt->ifindex;
        default: return 0;
        }
    }
    if (it->kind == RTAP_ITEM_VALUE)
        return it->number;
    if (it->decl->type >= RTAP_DECIMAL && it->decl->type <= RTAP_VARINT) {
        uint32_t n;
        const uint8_t *p = rtap_item_bytes(ls, it, &n);

        return it->decl->type == RTAP_DECIMAL ? decimal(p, n) : self_sized(it->decl->type, p, n);
    }
    if (it->bits > 64 || (uint64_t)it->bit + it->bits > (uint64_t)pkt->caplen * 8)
        return 0;
    return rtap_decl_number(it->decl, pkt->data, it->bit, it->bits);
}

/* ------------------------------------------------------------------ text */

void rtap_number_text(const struct rtap_decl *d, int64_t v, struct rtap_out *o)
{
    char tmp[24], *end = tmp + sizeof(tmp), *p = end;
    uint64_t u = (uint64_t)v;

    if (d->type == RTAP_BOOL) {
        rtap_out_mem(o, v ? "1" : "0", 1);
    } else if (d->base == RTAP_HEX) {
        do
            *--p = "0123456789abcdef"[u & 15];
        while ((u >>= 4) != 0 || end - p < d->digits);
        *--p = 'x';
        *--p = '0';
        rtap_out_mem(o, p, (size_t)(end - p));
    } else if (d->base == RTAP_OCT) {
        do
            *--p = (char)('0' + (u & 7));
        while ((u >>= 3) != 0);
        *--p = '0';
        rtap_out_mem(o, p, (size_t)(end - p));
    } else if (d->type == RTAP_INT && v < 0) {
        rtap_out_mem(o, "-", 1);
        rtap_out_dec(o, (uint64_t)0 - u);
    } else {
        rtap_out_dec(o, u);
    }
}

static void text_string(const uint8_t *p, uint32_t n, bool ascii, struct rtap_out *o)
{
    const uint8_t *end = n ? memchr(p, 0, n) : NULL;
    uint32_t from = 0;

    if (end)
        n = (uint32_t)(end - p);
    for (uint32_t i = 0; i < n;) {
        bool ok;
        unsigned len = rtap_utf8(p + i, n - i, &ok);

        if (ascii && p[i] >= 0x80) {
            ok = false;
            len = 1;
        }
        if (!ok) {
            rtap_out_escaped(o, (const char *)p + from, i - from);
            rtap_out_mem(o, "\xef\xbf\xbd", 3); /* U+FFFD */
            from = i + len;
        }
        i += len;
    }
    rtap_out_escaped(o, (const char *)p + from, n - from);
}

/* Controls, and the commonest of what else has no glyph. */
static bool is_invisible(uint32_t c)
{
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0xad || (c >= 0x200b && c <= 0x200f) ||
           (c >= 0x202a && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) || c == 0xfeff || (c >= 0xfff9 && c <= 0xfffb);
}

/* \a, \001, or for what took several bytes \u0085 */
static void text_code(uint32_t c, bool wide, struct rtap_out *o)
{
    static const char plain[] = "\a\b\t\n\v\f\r", letter[] = "abtnvfr";
    const char *at = c && !wide ? strchr(plain, (int)c) : NULL;
    char tmp[6] = {'\\'};

    if (at) {
        tmp[1] = letter[at - plain];
        rtap_out_mem(o, tmp, 2);
    } else if (!wide) {
        tmp[1] = (char)('0' + (c >> 6));
        tmp[2] = (char)('0' + (c >> 3 & 7));
        tmp[3] = (char)('0' + (c & 7));
        rtap_out_mem(o, tmp, 4);
    } else {
        tmp[1] = 'u';
        for (int i = 0; i < 4; i++)
            tmp[2 + i] = "0123456789ABCDEF"[c >> (12 - 4 * i) & 15];
        rtap_out_mem(o, tmp, 6);
    }
}

/* A label, as Wireshark shows names: lenient about UTF-8, strict about what can be seen. */
static void text_label(const uint8_t *p, uint32_t n, struct rtap_out *o)
{
    for (uint32_t i = 0; i < n;) {
        unsigned more = p[i] < 0x80   ? 0
                        : p[i] < 0xc0 ? 9
                        : p[i] < 0xe0 ? 1
                        : p[i] < 0xf0 ? 2
                        : p[i] < 0xf8 ? 3
                                      : 9,
                 k = 1;
        uint32_t c = more ? p[i] & (0x3fu >> more) : p[i];

        while (more < 9 && k <= more && i + k < n && (p[i + k] & 0xc0) == 0x80)
            c = c << 6 | (p[i + k++] & 0x3f);
        if (k <= more || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
            rtap_out_mem(o, "\xef\xbf\xbd", 3);
        else if (is_invisible(c))
            text_code(c, more > 0, o);
        else
            rtap_out_mem(o, (const char *)p + i, k);
        i += k;
    }
}

void rtap_name_text(const uint8_t *base, uint32_t cap, uint32_t origin, uint32_t at, struct rtap_out *o)
{
    const char *bad = NULL;
    bool first = true;

    if (rtap_name_length(base, cap, origin, at, &bad) == 0 || bad) {
        rtap_out_text(o, bad && strstr(bad, "loop") ? "<Name contains a pointer that loops>" : "<Invalid name>");
        return;
    }
    while (at < cap && base[at]) {
        uint8_t n = base[at];

        if ((n & 0xc0) == 0xc0) { /* checked above: backwards, inside, 255 octets at most */
            at = origin + ((uint32_t)(n & 0x3f) << 8 | base[at + 1]);
            continue;
        }
        if (!first)
            rtap_out_text(o, ".");
        first = false;
        if (n > cap - at - 1)
            return;
        text_label(base + at + 1, n, o);
        at += n + 1u;
    }
    if (first)
        rtap_out_text(o, "<Root>");
}

/* "Nov 14, 2023 23:13:20.001000000 UTC" */
static void text_tm(const struct tm *tm, uint32_t nanoseconds, const char *zone, struct rtap_out *o)
{
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";

    rtap_out_mem(o, months + 3 * tm->tm_mon, 3);
    rtap_out_mem(o, " ", 1);
    rtap_out_pad(o, (uint64_t)tm->tm_mday, 2, ' ');
    rtap_out_mem(o, ", ", 2);
    rtap_out_dec(o, (uint64_t)tm->tm_year + 1900);
    rtap_out_mem(o, " ", 1);
    rtap_out_pad(o, (uint64_t)tm->tm_hour, 2, '0');
    rtap_out_mem(o, ":", 1);
    rtap_out_pad(o, (uint64_t)tm->tm_min, 2, '0');
    rtap_out_mem(o, ":", 1);
    rtap_out_pad(o, (uint64_t)tm->tm_sec, 2, '0');
    rtap_out_mem(o, ".", 1);
    rtap_out_pad(o, nanoseconds, 9, '0');
    rtap_out_mem(o, " ", 1);
    rtap_out_text(o, zone);
}

static void text_when(int64_t seconds, uint32_t nanoseconds, bool local, struct rtap_out *o)
{
    time_t t = (time_t)seconds;
    struct tm tm;

    if (local ? localtime_r(&t, &tm) != NULL : gmtime_r(&t, &tm) != NULL)
        text_tm(&tm, nanoseconds, local ? tm.tm_zone : "UTC", o);
}

static void text_interval(int64_t ns, struct rtap_out *o)
{
    uint64_t v = ns < 0 ? (uint64_t)0 - (uint64_t)ns : (uint64_t)ns;

    if (ns < 0)
        rtap_out_text(o, "-");
    rtap_out_dec(o, v / 1000000000);
    rtap_out_text(o, ".");
    rtap_out_pad(o, v % 1000000000, 9, '0');
}

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

static void text_protocols(const struct rtap_layers *ls, struct rtap_out *o)
{
    const struct rtap_layer *last = NULL;

    for (unsigned i = 0; i < ls->count; i++) {
        const struct rtap_layer *l = last = &ls->at[i];

        if (i && l->proto->once && l[-1].proto == l->proto)
            continue;
        if (i)
            rtap_out_text(o, ":");
        if (l->via) {
            rtap_out_text(o, l->via);
            rtap_out_text(o, ":");
        }
        rtap_out_text(o, l->proto->shown);
    }
}

/* A difference of times; one that 64 bits can't hold wraps. */
static int64_t since(int64_t t, int64_t first)
{
    return (int64_t)((uint64_t)t - (uint64_t)first);
}

static void text_frame(const struct rtap_layers *ls, const struct rtap_item *it, struct rtap_out *o)
{
    const struct rtap_pkt *pkt = ls->pkt;
    int64_t t = pkt->time;

    switch (it->decl->bits) {
    case RTAP_FRAME_TIME:
        text_when(floor_div(t, 1000000000), (uint32_t)(t - floor_div(t, 1000000000) * 1000000000), true, o);
        break;
    case RTAP_FRAME_TIME_EPOCH: text_interval(t, o); break;
    case RTAP_FRAME_TIME_RELATIVE: text_interval(since(t, ls->frame ? ls->frame->first : t), o); break;
    case RTAP_FRAME_TIME_DELTA: text_interval(since(t, ls->frame ? ls->frame->previous : t), o); break;
    case RTAP_FRAME_PROTOCOLS: text_protocols(ls, o); break;
    case RTAP_FRAME_INTERFACE_NAME:
        rtap_out_escaped(o, pkt->ifname ? pkt->ifname : "", pkt->ifname ? strlen(pkt->ifname) : 0);
        break;
    case RTAP_FRAME_COMMENT:
        rtap_out_escaped(o, pkt->comment ? pkt->comment : "",
                         pkt->comment ? strnlen(pkt->comment, pkt->comment_len) : 0);
        break;
    default: rtap_out_dec(o, (uint64_t)rtap_item_number(ls, it)); break;
    }
}

static void text_oid(const uint8_t *p, uint32_t n, struct rtap_out *o)
{
    uint64_t v = 0;
    bool first = true;
    unsigned numbers = 0;

    for (uint32_t i = 0; i < n && numbers < 128; i++) { /* RFC 2578 3.5: at most 128 */
        v = v << 7 | (p[i] & 0x7f);
        if (p[i] & 0x80)
            continue;
        if (first) { /* X.690 8.19.4 */
            uint64_t top = v < 40 ? 0 : v < 80 ? 1 : 2;

            rtap_out_dec(o, top);
            v -= top * 40;
            first = false;
        }
        rtap_out_text(o, ".");
        rtap_out_dec(o, v);
        v = 0;
        numbers++;
    }
}

double rtap_item_double(const struct rtap_layers *ls, const struct rtap_item *it)
{
    const struct rtap_decl *d = it->decl;
    uint64_t raw;
    double v;

    if (d->type == RTAP_FIXED)
        return (double)(uint64_t)rtap_item_number(ls, it) / (double)(1ull << d->digits);
    if (it->kind == RTAP_ITEM_VALUE || (uint64_t)it->bit + it->bits > (uint64_t)ls->pkt->caplen * 8)
        return 0;
    raw = (uint64_t)rtap_decl_number(d, ls->pkt->data, it->bit, it->bits);
    if (d->bits == 32) {
        uint32_t w = (uint32_t)raw;
        float f;

        memcpy(&f, &w, sizeof(f));
        return (double)f;
    }
    memcpy(&v, &raw, sizeof(v));
    return v;
}

static void text_float(const struct rtap_layers *ls, const struct rtap_item *it, struct rtap_out *o)
{
    char tmp[40];

    rtap_out_mem(o, tmp,
                 (size_t)snprintf(tmp, sizeof(tmp), "%.*g",
                                  it->decl->bits == 32 && it->decl->type == RTAP_FLOAT ? 6 : 15,
                                  rtap_item_double(ls, it)));
}

static void text_guid(const uint8_t *p, bool le, struct rtap_out *o)
{
    static const uint8_t parts[] = {4, 2, 2, 2, 6};

    for (unsigned i = 0; i < 5; i++) {
        if (i)
            rtap_out_text(o, "-");
        for (unsigned k = parts[i]; le && i < 3 && k-- > 0;)
            rtap_out_bytes(o, p + k, 1, "");
        if (!le || i >= 3)
            rtap_out_bytes(o, p, parts[i], "");
        p += parts[i];
    }
}

bool rtap_item_call_of(const struct rtap_layers *ls, const struct rtap_item *it, struct rtap_call *call)
{
    const struct rtap_layer *l = &ls->at[it->layer];
    uint32_t stop = l->bound < ls->pkt->caplen ? l->bound : ls->pkt->caplen, at = it->bit / 8;

    if (at < l->off || at + it->bits / 8 > stop)
        return false;
    *call = (struct rtap_call){.decl = it->decl,
                               .layer = ls->pkt->data + l->off,
                               .layer_len = stop - l->off,
                               .at = at - l->off,
                               .len = it->bits / 8,
                               .origin = it->origin > l->off ? it->origin - l->off : 0};
    return true;
}

enum rtap_result rtap_item_call(const struct rtap_layers *ls, const struct rtap_item *it, struct rtap_out *o)
{
    struct rtap_call call;

    if (!ls->engine->call || !rtap_item_call_of(ls, it, &call))
        return RTAP_RESULT_NONE;
    return ls->engine->call(ls->engine->context, &call, o);
}

/* NTP's era 0 begins in 1900, RFC 5905 6. */
static void text_ntp(uint64_t v, struct rtap_out *o)
{
    int64_t seconds = (int64_t)(v >> 32) - 2208988800ll;

    if (v == 0) {
        rtap_out_text(o, "NULL");
        return;
    }
    if (!(v >> 63)) /* era 1, from 2036 on */
        seconds += 1ll << 32;
    text_when(seconds, (uint32_t)(((v & 0xffffffff) * 1000000000) >> 32), false, o);
}

/* The commonest of all: lengths, ports, IPv4 addresses. */
static inline bool common_text(const struct rtap_layers *ls, const struct rtap_item *it, struct rtap_out *o)
{
    const struct rtap_decl *d = it->decl;
    const uint8_t *p = ls->pkt->data + it->bit / 8;

    if (d->type == RTAP_FRAME && d->bits == RTAP_FRAME_LEN) {
        rtap_out_dec(o, ls->pkt->len);
        return true;
    }
    if (d->flags & (RTAP_DECL_LE | RTAP_DECL_FUNC) || it->kind == RTAP_ITEM_VALUE || it->bit % 8 ||
        it->bit / 8 + it->bits / 8 > ls->pkt->caplen)
        return false;
    if (d->type == RTAP_UINT && it->bits == 16 && d->base == RTAP_DEC && d->scale == 1 && d->add == 0)
        rtap_out_dec(o, rtap_be16(p));
    else if (d->type == RTAP_IPV4 && it->bits == 32)
        rtap_out_ip4(o, p);
    else
        return false;
    return true;
}

void rtap_item_text(const struct rtap_layers *ls, const struct rtap_item *it, struct rtap_out *o)
{
    const struct rtap_decl *d = it->decl;
    const uint8_t *p;
    uint32_t n;

    if (common_text(ls, it, o))
        return;
    if (d->flags & RTAP_DECL_FUNC) {
        rtap_item_call(ls, it, o);
        return;
    }
    if (d->type == RTAP_FRAME) {
        text_frame(ls, it, o);
        return;
    }
    if (rtap_decl_is_number(d)) {
        rtap_number_text(d, rtap_item_number(ls, it), o);
        return;
    }
    p = rtap_item_bytes(ls, it, &n);
    if (d->bits && d->type != RTAP_SECONDS && n < d->bits / 8u)
        return; /* not on a byte boundary: no table should say so */
    switch (d->type) {
    case RTAP_IPV4:
    case RTAP_IPV6: {
        uint8_t whole[16] = {0};

        if (n < (d->type == RTAP_IPV4 ? 4 : 16)) { /* of a prefix the last bytes may be left out */
            memcpy(whole, p, n);
            p = whole;
        }
        if (d->type == RTAP_IPV4)
            rtap_out_ip4(o, p);
        else
            rtap_out_ip6(o, p);
        break;
    }
    case RTAP_ETHER:
    case RTAP_EUI64: rtap_out_bytes(o, p, n, ":"); break;
    case RTAP_GUID: text_guid(p, d->flags & RTAP_DECL_LE, o); break;
    case RTAP_BYTES:
        if (n == 0)
            rtap_out_text(o, d->flags & RTAP_DECL_NONE ? "<none>" : "<MISSING>");
        rtap_out_bytes(o, p, n, d->base == RTAP_COLON ? ":" : "");
        break;
    case RTAP_OID: text_oid(p, n, o); break;
    case RTAP_NAME: {
        const struct rtap_layer *l = &ls->at[it->layer];
        uint32_t stop = l->bound < ls->pkt->caplen ? l->bound : ls->pkt->caplen;

        rtap_name_text(ls->pkt->data, stop, it->origin, it->bit / 8, o);
        break;
    }
    case RTAP_TIME: text_when(rtap_item_number(ls, it), 0, false, o); break;
    case RTAP_NTP: text_ntp((uint64_t)rtap_item_number(ls, it), o); break;
    case RTAP_SECONDS:
        rtap_out_dec(o, (uint64_t)rtap_item_number(ls, it));
        rtap_out_text(o, ".000000000");
        break;
    case RTAP_FLOAT:
    case RTAP_FIXED: text_float(ls, it, o); break;
    default: text_string(p, n, d->flags & RTAP_DECL_ASCII, o); break;
    }
}
