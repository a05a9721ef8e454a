/*
 * A packet as text: one line as tcpdump -n prints it, and the hex dump. What the headers say comes from the decode
 * engine (engine.h); here are tcpdump's words and their order.
 *
 * Nothing here keeps state outside of the caller's structs and the engine, or reads outside [data, data + caplen).
 * Memory is asked for only when an engine prints its first line.
 */
#ifndef RTAP_PACKET_LINE_H
#define RTAP_PACKET_LINE_H

#include "pkt.h"
#include <stddef.h>

enum rtap_time_style {                  /* tcpdump's -t ... */
                       RTAP_TIME_CLOCK, /* 12:34:56.789012, local */
                       RTAP_TIME_NONE,  /* -t */
                       RTAP_TIME_EPOCH, /* -tt */
                       RTAP_TIME_DELTA, /* -ttt: since the line before */
                       RTAP_TIME_DATE,  /* -tttt */
                       RTAP_TIME_FIRST, /* -ttttt: since the first line */
};

struct rtap_engine;

struct rtap_line_style {
    struct rtap_engine *engine; /* with its tables loaded */
    enum rtap_time_style time;
    bool nanoseconds; /* 9 digits instead of 6 */
    bool number;      /* -#: packet number in front */
    bool link;        /* -e */
    bool quiet;       /* -q */
    unsigned verbose; /* -v, counted */
    bool interface;   /* name and In/Out in front, as for "any" */
    enum { RTAP_HEX_NONE, RTAP_HEX_X, RTAP_HEX_XX, RTAP_ASCII_X, RTAP_ASCII_XX } dump; /* -x -xx -X -XX */
    /* state of the -ttt and -ttttt styles and the counter; zero them before the first line */
    int64_t first, previous;
    uint64_t count;
    bool started; /* first and previous are set */
    /* cache, zeroed likewise: the minute that the last packet was in, up to its ':', because localtime_r costs more
     * than the rest of the line */
    int64_t minute;
    char minute_text[24];
    unsigned minute_len;
};

/* Both write to buf (size bytes, NUL-terminated) and return the length that the whole text has, as snprintf does. A
 * line has no \n at its end, with a dump neither; with -v it may have some in it, as tcpdump's has. */
size_t rtap_line(const struct rtap_pkt *pkt, struct rtap_line_style *style, char *buf, size_t size);
/* Hex dump of data[0..len): offset, 16 bytes, ASCII, as `tcpdump -XX` prints them, each line ended by \n. */
size_t rtap_hex(const uint8_t *data, uint32_t len, bool ascii, char *buf, size_t size);

#endif
