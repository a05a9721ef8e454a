/*
 * Text put together piece by piece into a buffer that may be too small: what doesn't fit is counted, not written. Made
 * for the line printer, where snprintf would cost more than everything else.
 *
 * Invariant: start <= p <= end, and one byte at end is kept for the NUL.
 */
#ifndef RTAP_PACKET_OUT_H
#define RTAP_PACKET_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct rtap_out {
    char *start, *p, *end;
    size_t lost; /* bytes that didn't fit; then p == end, for good */
};

/* size may be 0, buf is not touched then. */
void rtap_out_init(struct rtap_out *o, char *buf, size_t size);
/* Ends the text and returns the length that it would have had. */
size_t rtap_out_done(struct rtap_out *o, size_t size);
void rtap_out_overflow(struct rtap_out *o, const char *s, size_t n);
void rtap_out_ip6(struct rtap_out *o, const uint8_t *a);           /* RFC 5952 */
void rtap_out_mac(struct rtap_out *o, const uint8_t *a, size_t n); /* n bytes, 1..20 */
void rtap_out_printable(struct rtap_out *o, const char *s);        /* what isn't printable becomes '?' */
/* Hex digits, between the bytes nothing ("") or one character (":"). */
void rtap_out_bytes(struct rtap_out *o, const uint8_t *p, size_t n, const char *between);
/* As tshark -T fields writes any text: \b \f \n \r \t as two characters, all else as it is. */
void rtap_out_escaped(struct rtap_out *o, const char *s, size_t n);
/* Length of the character at p in UTF-8 (n > 0 bytes are there); or of what is none and gets one U+FFFD (Unicode 3.9,
 * table 3-8), then *ok is false. */
unsigned rtap_utf8(const uint8_t *p, size_t n, bool *ok);

static inline void rtap_out_mem(struct rtap_out *o, const char *s, size_t n)
{
    if (__builtin_expect(n <= (size_t)(o->end - o->p), 1)) {
        memcpy(o->p, s, n);
        o->p += n;
    } else {
        rtap_out_overflow(o, s, n);
    }
}

static inline void rtap_out_text(struct rtap_out *o, const char *s)
{
    rtap_out_mem(o, s, strlen(s));
}

/* Writes v to the left of end; returns where it begins. 20 bytes are enough. */
static inline char *rtap_out_digits(char *end, uint64_t v)
{
    do
        *--end = (char)('0' + v % 10);
    while ((v /= 10) != 0);
    return end;
}

static inline void rtap_out_dec(struct rtap_out *o, uint64_t v)
{
    char tmp[20], *end = tmp + sizeof(tmp), *p;

    /* 32-bit division is what nearly every number needs, and much cheaper; nearly always there is room */
    if (__builtin_expect(v <= UINT32_MAX && o->end - o->p >= 10, 1)) {
        uint32_t w = (uint32_t)v;
        unsigned n = 1 + (w >= 10) + (w >= 100) + (w >= 1000) + (w >= 10000);

        if (w >= 100000)
            n += 1 + (w >= 1000000) + (w >= 10000000) + (w >= 100000000) + (w >= 1000000000);
        o->p = p = o->p + n;
        do
            *--p = (char)('0' + w % 10);
        while ((w /= 10) != 0);
        return;
    }
    p = rtap_out_digits(end, v);
    rtap_out_mem(o, p, (size_t)(end - p));
}

/* At least `width` (<= 16) characters, filled up with `fill`. */
static inline void rtap_out_pad(struct rtap_out *o, uint64_t v, int width, char fill)
{
    char tmp[36], *end = tmp + sizeof(tmp), *p = rtap_out_digits(end, v);

    while (end - p < width)
        *--p = fill;
    rtap_out_mem(o, p, (size_t)(end - p));
}

/* At least `width` (<= 8) hex digits. */
static inline void rtap_out_hex(struct rtap_out *o, uint32_t v, int width)
{
    char tmp[8], *end = tmp + sizeof(tmp), *p = end;

    do {
        *--p = "0123456789abcdef"[v & 15];
        v >>= 4;
    } while (v != 0 || end - p < width);
    rtap_out_mem(o, p, (size_t)(end - p));
}

extern const char rtap_out_octets[256][4]; /* "0." to "255.", not all of them ended by a NUL */

static inline void rtap_out_ip4(struct rtap_out *o, const uint8_t *a)
{
    bool room = o->end - o->p >= 16;
    char tmp[16], *p = room ? o->p : tmp;

    for (int i = 0; i < 4; i++) {
        memcpy(p, rtap_out_octets[a[i]], 4);
        p += 2 + (a[i] > 9) + (a[i] > 99);
    }
    if (room)
        o->p = p - 1;
    else
        rtap_out_mem(o, tmp, (size_t)(p - 1 - tmp));
}

#endif
