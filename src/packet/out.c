/* The parts of the text builder that are too long to be inlined. Called by the line printer. */
#include "out.h"

#include "bytes.h"

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

void rtap_out_printable(struct rtap_out *o, const char *s)
{
    for (; *s != '\0'; s++) {
        char c = *s < 0x20 || *s > 0x7e ? '?' : *s;

        rtap_out_mem(o, &c, 1);
    }
}
