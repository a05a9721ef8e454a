/* The parts of the text builder that are too long to be inlined. Called by the line printer. */
#include "out.h"

#include "bytes.h"

#define ONE(n) #n "."
#define TEN(t) \
    ONE(t##0), ONE(t##1), ONE(t##2), ONE(t##3), ONE(t##4), ONE(t##5), ONE(t##6), ONE(t##7), ONE(t##8), ONE(t##9)
#define HUNDRED(h) \
    TEN(h##0), TEN(h##1), TEN(h##2), TEN(h##3), TEN(h##4), TEN(h##5), TEN(h##6), TEN(h##7), TEN(h##8), TEN(h##9)

const char rtap_out_octets[256][4] = {
    ONE(0),  ONE(1),  ONE(2),  ONE(3),   ONE(4),   ONE(5),   ONE(6),   ONE(7),   ONE(8),     ONE(9),  TEN(1),
    TEN(2),  TEN(3),  TEN(4),  TEN(5),   TEN(6),   TEN(7),   TEN(8),   TEN(9),   HUNDRED(1), TEN(20), TEN(21),
    TEN(22), TEN(23), TEN(24), ONE(250), ONE(251), ONE(252), ONE(253), ONE(254), ONE(255),
};

void rtap_out_init(struct rtap_out *o, char *buf, size_t size)
{
    o->start = o->p = buf;
    o->end = size > 0 ? buf + size - 1 : buf;
    o->lost = 0;
}

size_t rtap_out_done(struct rtap_out *o, size_t size)
{
    if (size > 0)
        *o->p = '\0';
    return (size_t)(o->p - o->start) + o->lost;
}

void rtap_out_overflow(struct rtap_out *o, const char *s, size_t n)
{
    size_t room = (size_t)(o->end - o->p);

    if (room > 0)
        memcpy(o->p, s, room);
    o->p = o->end;
    o->lost += n - room;
}

/* One 16-bit group without leading zeros. */
static char *put_group(char *p, unsigned v)
{
    static const char digit[] = "0123456789abcdef";

    if (v >= 0x1000)
        *p++ = digit[v >> 12];
    if (v >= 0x100)
        *p++ = digit[v >> 8 & 15];
    if (v >= 0x10)
        *p++ = digit[v >> 4 & 15];
    *p++ = digit[v & 15];
    return p;
}

void rtap_out_ip6(struct rtap_out *o, const uint8_t *a)
{
    char tmp[48], *p = tmp;
    unsigned group[8];
    int best = -1, best_len = 1, groups = 8;

    for (int i = 0; i < 8; i++)
        group[i] = rtap_be16(a + 2 * i);
    /* the longest run of zero groups, the first of equals, never a single one */
    for (int i = 0; i < 8; i++) {
        int from = i;

        while (i < 8 && group[i] == 0)
            i++;
        if (i - from > best_len) {
            best = from;
            best_len = i - from;
        }
    }
    /* addresses that hold an IPv4 address are shown with it, as inet_ntop and tcpdump do */
    if (best == 0 && (best_len == 6 || (best_len == 5 && group[5] == 0xffff)))
        groups = 6;
    for (int i = 0; i < groups; i++) {
        if (i == best) {
            *p++ = ':';
            if (i == 0)
                *p++ = ':';
            i += best_len - 1;
            continue;
        }
        p = put_group(p, group[i]);
        if (i < 7)
            *p++ = ':';
    }
    rtap_out_mem(o, tmp, (size_t)(p - tmp));
    if (groups == 6)
        rtap_out_ip4(o, a + 12);
}

void rtap_out_mac(struct rtap_out *o, const uint8_t *a, size_t n)
{
    char tmp[60], *p = tmp;

    for (size_t i = 0; i < n && i < sizeof(tmp) / 3; i++) {
        *p++ = "0123456789abcdef"[a[i] >> 4];
        *p++ = "0123456789abcdef"[a[i] & 15];
        *p++ = ':';
    }
    if (p > tmp)
        rtap_out_mem(o, tmp, (size_t)(p - 1 - tmp));
}

void rtap_out_bytes(struct rtap_out *o, const uint8_t *p, size_t n, const char *between)
{
    size_t each = between[0] ? 3 : 2;

    for (size_t i = 0; i < n;) {
        char tmp[3 * 64], *to = tmp;

        for (; i < n && to < tmp + sizeof(tmp) - 2; i++, to += each) {
            to[0] = "0123456789abcdef"[p[i] >> 4];
            to[1] = "0123456789abcdef"[p[i] & 15];
            if (each == 3)
                to[2] = between[0];
        }
        rtap_out_mem(o, tmp, (size_t)(to - tmp) - (i == n && each == 3));
    }
}

void rtap_out_printable(struct rtap_out *o, const char *s)
{
    for (; *s != '\0'; s++) {
        char c = *s < 0x20 || *s > 0x7e ? '?' : *s;

        rtap_out_mem(o, &c, 1);
    }
}

void rtap_out_escaped(struct rtap_out *o, const char *s, size_t n)
{
    static const char letter[32] = {['\b'] = 'b', ['\f'] = 'f', ['\n'] = 'n', ['\r'] = 'r', ['\t'] = 't'};
    size_t from = 0;

    for (size_t i = 0; i < n; i++) {
        uint8_t c = (uint8_t)s[i];
        char tmp[2] = {'\\', c < 32 ? letter[c] : '\0'};

        if (tmp[1]) {
            rtap_out_mem(o, s + from, i - from);
            rtap_out_mem(o, tmp, 2);
            from = i + 1;
        }
    }
    rtap_out_mem(o, s + from, n - from);
}

unsigned rtap_utf8(const uint8_t *p, size_t n, bool *ok)
{
    uint8_t low = 0x80, high = 0xbf; /* of the second byte */
    unsigned len = p[0] < 0x80 ? 1 : p[0] < 0xc2 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : p[0] < 0xf5 ? 4 : 0;

    *ok = false;
    if (len == 0)
        return 1;
    if (p[0] == 0xe0)
        low = 0xa0;
    else if (p[0] == 0xed)
        high = 0x9f;
    else if (p[0] == 0xf0)
        low = 0x90;
    else if (p[0] == 0xf4)
        high = 0x8f;
    for (unsigned i = 1; i < len; i++) {
        if (i == n || p[i] < low || p[i] > high)
            return i;
        low = 0x80;
        high = 0xbf;
    }
    *ok = true;
    return len;
}
