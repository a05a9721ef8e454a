/*
 * A byte input: a descriptor read in large pieces, with gzip (several members) and zstd (several frames) undone on the
 * way. Memory is constant whatever the data says.
 *
 * It never waits: a stream with nothing to give says -EAGAIN, a regular file is always ready. Used by the capture file
 * reader only.
 */
#ifndef RTAP_IO_INPUT_H
#define RTAP_IO_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct rtap_inflate;
struct rtap_unzstd;

enum rtap_input_kind { RTAP_INPUT_UNKNOWN, RTAP_INPUT_PLAIN, RTAP_INPUT_GZIP, RTAP_INPUT_ZSTD };

struct rtap_input {
    int fd;
    bool owns_fd;
    bool regular; /* always ready: never polled */
    bool raw_end; /* the descriptor has no more */
    enum rtap_input_kind kind;
    uint8_t *raw; /* bytes as read: [raw_pos, raw_len) are not yet used */
    size_t raw_pos, raw_len, raw_size;
    struct rtap_inflate *gzip;
    struct rtap_unzstd *zstd;
    int err; /* reported once what came before it has been handed out */
    char reason[160];
};

/* fd >= 0 is read, and closed at the end; otherwise path is opened, "-" being standard input (left open). prefix: bytes
 * that somebody read from fd already. On error reason has the words, without the path. */
int rtap_input_open(struct rtap_input *in, const char *path, int fd, const void *prefix, size_t prefix_size);
/* Up to `size` bytes: > 0; 0 at the end; -EAGAIN; -errno with in->reason (again at each later call). */
ssize_t rtap_input_read(struct rtap_input *in, uint8_t *dst, size_t size);
void rtap_input_close(struct rtap_input *in);

#endif
