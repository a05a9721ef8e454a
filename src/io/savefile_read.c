/*
 * The capture file reader's buffers, and the source that it is to others. The formats are in pcap_read.c and
 * pcapng_read.c; see savefile_read.h for the invariants.
 *
 * Packets are views into the buffers. While nobody holds packets there are two, used in turn: a loop keeps the previous
 * one pinned until it has a packet of the next one. The part of a record that ends one buffer is moved to the front of
 * the other.
 */
#include "savefile_read.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Measured with 64 KiB .. 1 MiB on plain files: 128 to 512 KiB are alike, both ends 5 to 10 % slower. It is also what a
 * held packet keeps alive. */
#define BUFFER_SIZE ((size_t)256 << 10)
#define PCAPNG_MAGIC 0x0a0d0d0au

static void buffer_release(struct rtap_block *block)
{
    struct rtap_savefile *f = (struct rtap_savefile *)block->source;
    struct rtap_buffer *b = (struct rtap_buffer *)block;

    if (f->free || b->size != BUFFER_SIZE || f->done) {
        free(b);
        return;
    }
    b->next_free = NULL;
    f->free = b;
}

static struct rtap_buffer *buffer_take(struct rtap_savefile *f, size_t size)
{
    struct rtap_buffer *b = f->free;

    if (b && size == BUFFER_SIZE) {
        f->free = NULL;
        return b;
    }
    b = malloc(sizeof(*b) + size);
    if (!b)
        return NULL;
    b->block = (struct rtap_block){.source = &f->source};
    b->size = size;
    return b;
}

static void let_go(struct rtap_savefile *f)
{
    struct rtap_buffer *b = f->cur;

    f->done = true;
    f->cur = NULL;
    f->source.block = NULL;
    if (b)
        rtap_block_unpin(&b->block);
    free(f->free);
    f->free = NULL;
}

/*
 * Room behind the unread bytes, in a buffer that can hold a record of n bytes, or twice what is there of it: a length
 * field alone allocates nothing.
 */
static int make_room(struct rtap_savefile *f, size_t n)
{
    size_t have = f->end - f->pos, size = BUFFER_SIZE;
    struct rtap_buffer *old = f->cur, *b;

    if (old && f->end < old->size && (n <= old->size - f->pos || f->pos == 0))
        return 0;
    if (n > size) {
        size = have * 2 > size ? have * 2 : size;
        size = size < n ? size : n;
    }
    /* Never in place, even where nobody else looks: rtap_source_next() counts on seeing another block now and then. */
    b = buffer_take(f, size);
    if (!b)
        return rtap_savefile_fail(f, -ENOMEM, "%s", strerror(ENOMEM));
    if (have)
        memcpy(b->data, old->data + f->pos, have);
    rtap_block_pin(&b->block);
    f->cur = b;
    f->source.block = &b->block;
    if (old)
        rtap_block_unpin(&old->block);
    f->cur_offset += f->pos;
    f->pos = 0;
    f->end = have;
    return 0;
}

int rtap_savefile_need(struct rtap_savefile *f, size_t n)
{
    while (f->end - f->pos < n) {
        ssize_t got;
        int r;

        if (f->input_end)
            return -ENODATA;
        r = make_room(f, n);
        if (r < 0)
            return r;
        got = rtap_input_read(&f->input, f->cur->data + f->end, f->cur->size - f->end);
        if (got == -EAGAIN) {
            f->again = true;
            return RTAP_AGAIN;
        }
        if (got < 0) {
            f->pos = f->end; /* the offset that is named is where the bytes end */
            return rtap_savefile_fail(f, (int)got, "%s", f->input.reason);
        }
        if (got == 0)
            f->input_end = true;
        f->end += (size_t)got;
    }
    return 1;
}

int rtap_savefile_end(struct rtap_savefile *f)
{
    let_go(f);
    return RTAP_END;
}

int rtap_savefile_fail(struct rtap_savefile *f, int err, const char *fmt, ...)
{
    uint64_t offset = f->cur_offset + f->pos;
    char text[256];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    rtap_source_fail(&f->source, err, "%s: offset %llu (0x%llx): %s", f->source.name, (unsigned long long)offset,
                     (unsigned long long)offset, text);
    let_go(f);
    return err;
}

int rtap_savefile_truncated(struct rtap_savefile *f, const char *what, size_t head, size_t n)
{
    size_t have = rtap_savefile_avail(f);

    if (have == 0)
        return rtap_savefile_end(f);
    return rtap_savefile_fail(f, -EBADMSG, "truncated: %s %zu bytes, %zu are there", what, n, have - head);
}

/* As libpcap's max_snaplen_for_dlt(). */
uint32_t rtap_linktype_max_caplen(uint16_t linktype)
{
    switch (linktype) {
    case 189: /* USB_LINUX */
    case 220: /* USB_LINUX_MMAPPED */
    case 231: /* DBUS */
    case 249: /* USBPCAP */
    case 266: /* USB_DARWIN */ return 128u << 20;
    case 279: /* EBHSCR */ return 8u << 20;
    default: return RTAP_MAX_CAPLEN;
    }
}

/* Raw IP was written with the number that it has in the kernel of the writer. */
uint16_t rtap_linktype_canonical(uint32_t linktype)
{
    linktype &= 0xffff;
    return (uint16_t)(linktype == 12 || linktype == 14 ? RTAP_LINKTYPE_RAW : linktype);
}

static int savefile_fd(struct rtap_source *s)
{
    struct rtap_savefile *f = (struct rtap_savefile *)s;

    return f->input.regular ? -1 : f->input.fd;
}

static int savefile_wait(struct rtap_source *s, int64_t timeout)
{
    struct rtap_savefile *f = (struct rtap_savefile *)s;

    if (!f->again || f->done || f->input.regular)
        return 1; /* there may be packets in the buffer, of which the descriptor knows nothing */
    return rtap_source_poll(s, f->input.fd, timeout, NULL);
}

static void savefile_stats(struct rtap_source *s, struct rtap_source_stats *st)
{
    const struct rtap_input *in = &((struct rtap_savefile *)s)->input;
    off_t at = in->regular && in->fd >= 0 ? lseek(in->fd, 0, SEEK_CUR) : -1;
    struct stat file;

    st->knows_filtered = true;
    st->filter_engine = s->filter ? "user" : NULL;
    if (at >= 0 && fstat(in->fd, &file) == 0) {
        st->has_size = true;
        st->position = (uint64_t)at;
        st->size = (uint64_t)file.st_size;
    }
}

static void savefile_close(struct rtap_source *s)
{
    struct rtap_savefile *f = (struct rtap_savefile *)s;

    f->done = true;
    f->cur = NULL; /* source.block is unpinned by the caller */
    rtap_input_close(&f->input);
}

static void savefile_destroy(struct rtap_source *s)
{
    struct rtap_savefile *f = (struct rtap_savefile *)s;

    rtap_pcapng_free(f);
    free(f->free);
    rtap_source_fini(s);
    free(f);
}

static bool pcap_interface(struct rtap_source *s, unsigned i, struct rtap_source_if *out)
{
    struct rtap_savefile *f = (struct rtap_savefile *)s;

    if (i > 0)
        return false;
    *out = (struct rtap_source_if){.snaplen = f->pcap.snaplen, .linktype = s->linktype};
    return true;
}

static const struct rtap_source_ops pcap_ops = {
    .kind = "file",
    .next = rtap_pcap_next,
    .release = buffer_release,
    .wait = savefile_wait,
    .fd = savefile_fd,
    .stats = savefile_stats,
    .interface = pcap_interface,
    .close = savefile_close,
    .destroy = savefile_destroy,
};

static const struct rtap_source_ops pcapng_ops = {
    .kind = "file",
    .next = rtap_pcapng_next,
    .release = buffer_release,
    .wait = savefile_wait,
    .fd = savefile_fd,
    .stats = savefile_stats,
    .interface = rtap_pcapng_interface,
    .close = savefile_close,
    .destroy = savefile_destroy,
};

/* The file's head as far as it has arrived: 1, RTAP_AGAIN, -errno. Called again, it goes on where it was. */
static int begin(struct rtap_savefile *f)
{
    const uint8_t *p;
    int r;

    if (f->ng.in_section)
        return rtap_pcapng_begin(f);
    r = rtap_savefile_need(f, 4);
    if (r == -ENODATA) {
        if (rtap_savefile_avail(f) == 0)
            return rtap_source_fail(&f->source, -ENODATA, "%s: the file is empty", f->source.name);
        return rtap_savefile_truncated(f, "the file's magic number has", 0, 4);
    }
    if (r <= 0)
        return r;
    p = rtap_savefile_at(f);
    if (rtap_le32(p) == PCAPNG_MAGIC) {
        f->source.ops = &pcapng_ops;
        return rtap_pcapng_begin(f);
    }
    return rtap_pcap_begin(f);
}

int rtap_read_open(struct rtap_source **out, const struct rtap_read_config *cfg, char *err, size_t errlen)
{
    struct rtap_savefile *f = calloc(1, sizeof(*f));
    const char *name = cfg->path ? cfg->path : "stream";
    int r;

    *out = NULL;
    if (!f || rtap_source_init(&f->source, &pcap_ops, name) < 0) {
        free(f);
        if (cfg->fd >= 0)
            close(cfg->fd);
        snprintf(err, errlen, "%s: %s", name, strerror(ENOMEM));
        return -ENOMEM;
    }
    r = rtap_input_open(&f->input, name, cfg->fd, cfg->prefix, cfg->prefix_size);
    if (r < 0)
        rtap_source_fail(&f->source, r, "%s: %s", name, f->input.reason);
    else
        r = begin(f);
    while (r == RTAP_AGAIN) {
        r = rtap_source_wait(&f->source, -1);
        if (r == -EINTR && cfg->interrupted)
            r = cfg->interrupted(cfg->interrupted_arg);
        if (r == -EINTR)
            rtap_source_fail(&f->source, r, "%s: %s", name, strerror(EINTR));
        if (r >= 0)
            r = begin(f);
    }
    if (r < 0) {
        snprintf(err, errlen, "%s", f->source.error);
        rtap_source_close(&f->source);
        return r;
    }
    f->again = false; /* packets may have come together with the head */
    *out = &f->source;
    return 0;
}
