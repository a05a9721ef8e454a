/*
 * Text put together piece by piece into a buffer that may be too small: what doesn't fit is counted, not written. Made
 * for the line printer, where snprintf would cost more than everything else.
 *
 * Invariant: start <= p <= end, and one byte at end is kept for the NUL. Nothing but ASCII is ever written.
 */
#ifndef RTAP_PACKET_OUT_H
#define RTAP_PACKET_OUT_H

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

    /* 32-bit division is what nearly every number needs, and much cheaper */
    if (v <= UINT32_MAX) {
        uint32_t w = (uint32_t)v;

        p = end;
        do
            *--p = (char)('0' + w % 10);
        while ((w /= 10) != 0);
    } else {
        p = rtap_out_digits(end, v);
    }
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

static inline void rtap_out_ip4(struct rtap_out *o, const uint8_t *a)
{
    char tmp[16], *p = tmp;

    for (int i = 0; i < 4; i++) {
        unsigned v = a[i], tens = v / 10;

        if (v >= 100)
            *p++ = (char)('0' + v / 100);
        if (v >= 10)
            *p++ = (char)('0' + tens % 10);
        *p++ = (char)('0' + v - tens * 10);
        *p++ = '.';
    }
    rtap_out_mem(o, tmp, (size_t)(p - 1 - tmp));
}

#endif
