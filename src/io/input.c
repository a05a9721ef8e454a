/*
 * Reading bytes: see input.h.
 *
 * The raw buffer holds the first bytes until the magic is known, and then compressed bytes. Plain data leaves it behind
 * at once and is read straight into the caller's memory. A decoder's error is kept back until the bytes that it gave
 * before the error are out.
 */
#include "input.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#define RAW_SIZE ((size_t)256 << 10)
#define MAGIC_SIZE 4

struct rtap_inflate {
    z_stream z;
    bool inside;  /* a member has begun and not ended */
    bool another; /* at least one member is complete */
    bool padding; /* zeros after the last member, as tape drives and some uploaders leave them */
};

struct rtap_unzstd {
    ZSTD_DStream *stream;
    bool inside; /* a frame has begun and not ended */
    bool full;   /* the last call filled its output, so more may be waiting inside */
};

static int input_fail(struct rtap_input *in, int err, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

static int input_fail(struct rtap_input *in, int err, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(in->reason, sizeof(in->reason), fmt, ap);
    va_end(ap);
    in->err = err;
    return err;
}

/* One read(): > 0, 0 at the end, -EAGAIN, -errno. */
static ssize_t read_fd(struct rtap_input *in, uint8_t *dst, size_t size)
{
    for (;;) {
        ssize_t n;

        if (!in->regular) {
            /* O_NONBLOCK would be set on the file description, which others may share (a shell's standard input). */
            struct pollfd p = {.fd = in->fd, .events = POLLIN};
            int r = poll(&p, 1, 0);

            if (r == 0)
                return -EAGAIN;
            if (r < 0) {
                if (errno == EINTR)
                    continue;
                return input_fail(in, -errno, "poll: %s", strerror(errno));
            }
        }
        n = read(in->fd, dst, size);
        if (n >= 0)
            return n;
        if (errno == EINTR)
            continue;
        if (errno == EAGAIN || errno == EWOULDBLOCK)
            return -EAGAIN;
        return input_fail(in, -errno, "%s", strerror(errno));
    }
}

/* More bytes behind those in the raw buffer: 1, 0 at the end, -errno. */
static int fill_raw(struct rtap_input *in)
{
    ssize_t n;

    if (in->raw_end)
        return 0;
    if (in->raw_pos == in->raw_len)
        in->raw_pos = in->raw_len = 0;
    n = read_fd(in, in->raw + in->raw_len, in->raw_size - in->raw_len);
    if (n < 0)
        return (int)n;
    if (n == 0) {
        in->raw_end = true;
        return 0;
    }
    in->raw_len += (size_t)n;
    return 1;
}

static int start_gzip(struct rtap_input *in)
{
    in->gzip = calloc(1, sizeof(*in->gzip));
    if (!in->gzip || inflateInit2(&in->gzip->z, 15 + 16) != Z_OK) {
        free(in->gzip);
        in->gzip = NULL;
        return input_fail(in, -ENOMEM, "%s", strerror(ENOMEM));
    }
    in->kind = RTAP_INPUT_GZIP;
    return 0;
}

static int start_zstd(struct rtap_input *in)
{
    in->zstd = calloc(1, sizeof(*in->zstd));
    if (in->zstd)
        in->zstd->stream = ZSTD_createDStream(); /* refuses windows over 128 MiB */
    if (!in->zstd || !in->zstd->stream) {
        free(in->zstd);
        in->zstd = NULL;
        return input_fail(in, -ENOMEM, "%s", strerror(ENOMEM));
    }
    in->kind = RTAP_INPUT_ZSTD;
    return 0;
}

/* Look at the first bytes. 0 when in->kind is known. */
static int detect(struct rtap_input *in)
{
    const uint8_t *p;
    size_t n;

    while (in->raw_len - in->raw_pos < MAGIC_SIZE && !in->raw_end) {
        int r = fill_raw(in);

        if (r < 0)
            return r;
    }
    p = in->raw + in->raw_pos;
    n = in->raw_len - in->raw_pos;
    if (n >= 3 && p[0] == 0x1f && p[1] == 0x8b && p[2] == 8)
        return start_gzip(in);
    /* a zstd frame, or one to be skipped, as pzstd puts in front */
    if (n >= 4 && ((p[0] == 0x28 && p[1] == 0xb5 && p[2] == 0x2f && p[3] == 0xfd) ||
                   ((p[0] & 0xf0) == 0x50 && p[1] == 0x2a && p[2] == 0x4d && p[3] == 0x18)))
        return start_zstd(in);
    in->kind = RTAP_INPUT_PLAIN;
    return 0;
}

static ssize_t read_plain(struct rtap_input *in, uint8_t *dst, size_t size)
{
    size_t n = in->raw_len - in->raw_pos;

    if (n) {
        if (n > size)
            n = size;
        memcpy(dst, in->raw + in->raw_pos, n);
        in->raw_pos += n;
        return (ssize_t)n;
    }
    if (in->raw) {
        free(in->raw);
        in->raw = NULL;
        in->raw_pos = in->raw_len = 0;
    }
    return in->raw_end ? 0 : read_fd(in, dst, size);
}

/* Between members. 1: a member begins in the raw buffer; 0: the end; -errno. */
static int next_member(struct rtap_input *in)
{
    struct rtap_inflate *g = in->gzip;

    for (;;) {
        if (in->raw_pos == in->raw_len) {
            int r = fill_raw(in);

            if (r <= 0)
                return r;
        }
        if (!g->another || in->raw[in->raw_pos] != 0)
            break;
        g->padding = true;
        in->raw_pos++;
    }
    if (g->padding || (g->another && in->raw[in->raw_pos] != 0x1f))
        return input_fail(in, -EBADMSG, "garbage after the gzip data");
    if (g->another)
        inflateReset(&g->z);
    g->inside = true;
    return 1;
}

static ssize_t read_gzip(struct rtap_input *in, uint8_t *dst, size_t size)
{
    struct rtap_inflate *g = in->gzip;
    uInt want = (uInt)(size < 1u << 30 ? size : 1u << 30);

    g->z.next_out = dst;
    g->z.avail_out = want;
    while (g->z.avail_out == want) {
        int r;

        if (!g->inside) {
            r = next_member(in);
            if (r <= 0)
                return r;
        }
        if (in->raw_pos == in->raw_len) {
            r = fill_raw(in);
            if (r < 0)
                return r;
            if (r == 0)
                return input_fail(in, -EBADMSG, "truncated: the gzip data ends in the middle");
        }
        g->z.next_in = in->raw + in->raw_pos;
        g->z.avail_in = (uInt)(in->raw_len - in->raw_pos);
        r = inflate(&g->z, Z_NO_FLUSH);
        in->raw_pos = in->raw_len - g->z.avail_in;
        if (r == Z_STREAM_END) {
            g->inside = false;
            g->another = true;
        } else if (r == Z_MEM_ERROR) {
            input_fail(in, -ENOMEM, "%s", strerror(ENOMEM));
            break;
        } else if (r != Z_OK && r != Z_BUF_ERROR) {
            input_fail(in, -EBADMSG, "damaged gzip data: %s", g->z.msg ? g->z.msg : "needs a dictionary");
            break;
        }
    }
    return want == g->z.avail_out ? in->err : (ssize_t)(want - g->z.avail_out);
}

static ssize_t read_zstd(struct rtap_input *in, uint8_t *dst, size_t size)
{
    struct rtap_unzstd *u = in->zstd;
    ZSTD_outBuffer out = {.dst = dst, .size = size};

    while (out.pos == 0) {
        ZSTD_inBuffer ib;
        size_t left;

        if (in->raw_pos == in->raw_len && !u->full) {
            int r = fill_raw(in);

            if (r < 0)
                return r;
            if (r == 0)
                return u->inside ? input_fail(in, -EBADMSG, "truncated: the zstd data ends in the middle") : 0;
        }
        ib = (ZSTD_inBuffer){.src = in->raw, .size = in->raw_len, .pos = in->raw_pos};
        left = ZSTD_decompressStream(u->stream, &out, &ib);
        in->raw_pos = ib.pos;
        if (ZSTD_isError(left)) {
            input_fail(in, -EBADMSG, "damaged zstd data: %s", ZSTD_getErrorName(left));
            break;
        }
        u->inside = left != 0;
        u->full = left != 0 && out.pos == out.size;
    }
    return out.pos ? (ssize_t)out.pos : in->err;
}

ssize_t rtap_input_read(struct rtap_input *in, uint8_t *dst, size_t size)
{
    if (in->err)
        return in->err;
    if (in->kind == RTAP_INPUT_UNKNOWN) {
        int r = detect(in);

        if (r < 0)
            return r;
    }
    switch (in->kind) {
    case RTAP_INPUT_GZIP: return read_gzip(in, dst, size);
    case RTAP_INPUT_ZSTD: return read_zstd(in, dst, size);
    default: return read_plain(in, dst, size);
    }
}

int rtap_input_open(struct rtap_input *in, const char *path, int fd, const void *prefix, size_t prefix_size)
{
    struct stat st;

    memset(in, 0, sizeof(*in));
    in->fd = fd;
    in->owns_fd = fd >= 0;
    if (fd < 0 && strcmp(path, "-") == 0) {
        in->fd = STDIN_FILENO;
    } else if (fd < 0) {
        in->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
        if (in->fd < 0)
            return input_fail(in, -errno, "%s", strerror(errno));
        in->owns_fd = true;
    }
    if (fstat(in->fd, &st) < 0)
        return input_fail(in, -errno, "%s", strerror(errno));
    in->regular = S_ISREG(st.st_mode) || S_ISBLK(st.st_mode) || S_ISDIR(st.st_mode);
    if (S_ISREG(st.st_mode))
        posix_fadvise(in->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    in->raw_size = RAW_SIZE + prefix_size;
    in->raw = malloc(in->raw_size);
    if (!in->raw)
        return input_fail(in, -ENOMEM, "%s", strerror(ENOMEM));
    if (prefix_size)
        memcpy(in->raw, prefix, prefix_size);
    in->raw_len = prefix_size;
    return 0;
}

void rtap_input_close(struct rtap_input *in)
{
    if (in->gzip)
        inflateEnd(&in->gzip->z);
    if (in->zstd)
        ZSTD_freeDStream(in->zstd->stream);
    free(in->gzip);
    free(in->zstd);
    free(in->raw);
    in->gzip = NULL;
    in->zstd = NULL;
    in->raw = NULL;
    if (in->owns_fd)
        close(in->fd);
    in->owns_fd = false;
    in->fd = -1;
}
