/*
 * Encoding of file headers, interface descriptions and statistics, in the machine's own byte order. Called by
 * savefile_write.c, which encodes the packets itself.
 */
#include "savefile_encode.h"

#include <string.h>

#define MAX_OPTION 65532u /* what 16 bits can count, with its padding */

struct encoder {
    uint8_t *p; /* NULL: count only */
    size_t n;
};

static void put(struct encoder *e, const void *data, size_t n)
{
    if (e->p)
        memcpy(e->p + e->n, data, n);
    e->n += n;
}

static void put16(struct encoder *e, unsigned v)
{
    uint16_t w = (uint16_t)v;

    put(e, &w, sizeof(w));
}

static void put32(struct encoder *e, uint32_t v)
{
    put(e, &v, sizeof(v));
}

static void put_option(struct encoder *e, unsigned code, const void *data, size_t n)
{
    static const uint8_t zero[4];

    put16(e, code);
    put16(e, (unsigned)n);
    put(e, data, n);
    put(e, zero, -n & 3);
}

static void put_text(struct encoder *e, unsigned code, const char *text)
{
    if (text && *text)
        put_option(e, code, text, strnlen(text, MAX_OPTION));
}

static void begin_block(struct encoder *e, uint32_t type)
{
    put32(e, type);
    put32(e, 0);
}

static size_t end_block(struct encoder *e)
{
    uint32_t size;

    put32(e, 0); /* opt_endofopt */
    size = (uint32_t)e->n + 4;
    put32(e, size);
    if (e->p)
        memcpy(e->p + 4, &size, sizeof(size));
    return e->n;
}

size_t rtap_encode_pcap(uint8_t *p, bool us, uint32_t snaplen, uint16_t linktype)
{
    struct encoder e = {.p = p};

    put32(&e, us ? 0xa1b2c3d4 : 0xa1b23c4d);
    put16(&e, 2);
    put16(&e, 4);
    put32(&e, 0);
    put32(&e, 0);
    put32(&e, snaplen);
    put32(&e, linktype);
    return e.n;
}

size_t rtap_encode_section(uint8_t *p, const char *comment, const char *hardware, const char *os)
{
    static const int64_t unknown_length = -1;
    struct encoder e = {.p = p};

    begin_block(&e, 0x0a0d0d0a);
    put32(&e, 0x1a2b3c4d);
    put16(&e, 1);
    put16(&e, 0);
    put(&e, &unknown_length, sizeof(unknown_length));
    put_text(&e, 1, comment);
    put_text(&e, 2, hardware);
    put_text(&e, 3, os);
    put_text(&e, 4, "ringtap");
    return end_block(&e);
}

size_t rtap_encode_interface(uint8_t *p, const struct rtap_write_if *wi)
{
    static const uint8_t nanoseconds = 9;
    struct encoder e = {.p = p};

    begin_block(&e, 1);
    put16(&e, wi->linktype);
    put16(&e, 0);
    put32(&e, wi->snaplen);
    put_text(&e, 2, wi->name);
    put_text(&e, 3, wi->description);
    put_option(&e, 9, &nanoseconds, 1);
    if (wi->filter && *wi->filter) {
        static const uint8_t zero[4];
        size_t n = strnlen(wi->filter, MAX_OPTION - 1);

        put16(&e, 11);
        put16(&e, (unsigned)n + 1);
        put(&e, zero, 1); /* 0: the text of the filter follows */
        put(&e, wi->filter, n);
        put(&e, zero, -(n + 1) & 3);
    }
    return end_block(&e);
}

size_t rtap_encode_statistics(uint8_t *p, uint32_t id, int64_t now, uint64_t received, uint64_t dropped)
{
    struct encoder e = {.p = p};

    begin_block(&e, 5);
    put32(&e, id);
    put32(&e, (uint32_t)((uint64_t)now >> 32));
    put32(&e, (uint32_t)now);
    put_option(&e, 4, &received, sizeof(received));
    put_option(&e, 5, &dropped, sizeof(dropped));
    return end_block(&e);
}
