/*
 * AF_XDP sockets: packet memory (UMEM), the four rings of a socket, binding it to a queue
 * (Documentation/networking/af_xdp.rst; include/uapi/linux/if_xdp.h).
 *
 * A ring has one producer and one consumer; the indices only grow, and an entry is at index & mask. Whoever fills in an
 * entry publishes the producer index with release, whoever takes it reads that index with acquire, and the other way
 * round for giving the entry back. One side keeps what it knows of the other's index, and looks again when that is used
 * up.
 *
 * Frames of the UMEM are numbered; a socket owns a run of them, and a frame always goes back to the socket that owns
 * it.
 */
#ifndef RTAP_IO_XSK_H
#define RTAP_IO_XSK_H

#include <linux/if_xdp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifndef XDP_USE_SG
#define XDP_USE_SG (1 << 4)
#endif
#ifndef XDP_PKT_CONTD
#define XDP_PKT_CONTD (1 << 0)
#endif

#define RTAP_XSK_HEADROOM 256u /* XDP_PACKET_HEADROOM: what the kernel leaves free in front of a received frame */

struct rtap_xsk_ring {
    uint32_t *producer, *consumer, *flags;
    void *entries;
    uint32_t size, mask;
    uint32_t produced, consumed; /* as far as this side knows */
    void *map;
    size_t map_size;
};

struct rtap_umem_config {
    uint32_t frame_size, headroom;
    bool unaligned, huge_pages;
};

struct rtap_umem {
    uint8_t *area;
    size_t size;
    uint32_t frame_size, headroom, count;
    unsigned shift; /* of frame_size, when aligned */
    bool unaligned, huge;
    int fd; /* of the socket that registered it, which the others name; -1: none yet */
};

struct rtap_xsk_config {
    int ifindex;
    uint32_t queue;
    uint32_t rx_size, tx_size, fill_size, completion_size; /* powers of two; rx or tx may be 0: no such ring */
    int copy;                                              /* 1: XDP_COPY, 0: XDP_ZEROCOPY, -1: the driver's best */
    bool need_wakeup, fragments;
    int64_t busy_poll; /* us, 0: no */
    bool was_ours;     /* this queue was ours a moment ago: EBUSY is waited out, up to a second, else a tenth */
};

struct rtap_xsk {
    int fd; /* -1: closed */
    uint32_t queue;
    struct rtap_xsk_ring rx, tx, fill, completion;
    struct rtap_umem *umem;
    uint32_t first, count; /* frames that it owns */
    bool zerocopy, need_wakeup, fragments;
};

/* Memory for `count` frames, not yet known to the kernel. 0 or -errno with the sentence. */
int rtap_umem_new(struct rtap_umem *u, const struct rtap_umem_config *cfg, uint32_t count, const char *name, char *err,
                  size_t errlen);
void rtap_umem_free(struct rtap_umem *u);

/* Make a socket of fd (an AF_XDP socket in the right namespace, which is taken over also on errors) with its rings, and
 * bind it. 0 or -errno with the sentence. */
int rtap_xsk_open(struct rtap_xsk *x, int fd, struct rtap_umem *u, const struct rtap_xsk_config *cfg, const char *name,
                  char *err, size_t errlen);
void rtap_xsk_close(struct rtap_xsk *x);
/* XDP_STATISTICS; zeroed when the socket is closed. */
void rtap_xsk_statistics(const struct rtap_xsk *x, struct xdp_statistics *st);

static inline uint32_t rtap_umem_frame(const struct rtap_umem *u, uint64_t addr)
{
    return u->unaligned ? (uint32_t)((addr & ((1ull << XSK_UNALIGNED_BUF_OFFSET_SHIFT) - 1)) / u->frame_size)
                        : (uint32_t)(addr >> u->shift);
}

static inline uint64_t rtap_umem_addr(const struct rtap_umem *u, uint32_t frame)
{
    return (uint64_t)frame * u->frame_size;
}

/* Where a received descriptor's bytes are. */
static inline uint8_t *rtap_umem_data(const struct rtap_umem *u, uint64_t addr)
{
    if (u->unaligned)
        addr = (addr & ((1ull << XSK_UNALIGNED_BUF_OFFSET_SHIFT) - 1)) + (addr >> XSK_UNALIGNED_BUF_OFFSET_SHIFT);
    return u->area + addr;
}

/* Entries that can be taken. Acquire: what they point at is visible once they are. */
static inline uint32_t rtap_xsk_ready(struct rtap_xsk_ring *r)
{
    if (r->produced == r->consumed)
        r->produced = __atomic_load_n(r->producer, __ATOMIC_ACQUIRE);
    return r->produced - r->consumed;
}

/* n entries were taken. Release: reading them is over before the kernel may write there. */
static inline void rtap_xsk_taken(struct rtap_xsk_ring *r, uint32_t n)
{
    r->consumed += n;
    __atomic_store_n(r->consumer, r->consumed, __ATOMIC_RELEASE);
}

/* Entries that can be filled in. Acquire: the kernel is done with them. `consumed` is what this side saw last. */
static inline uint32_t rtap_xsk_room(struct rtap_xsk_ring *r)
{
    if (r->produced - r->consumed == r->size)
        r->consumed = __atomic_load_n(r->consumer, __ATOMIC_ACQUIRE);
    return r->size - (r->produced - r->consumed);
}

/* Publish what was filled in up to `produced`. Release: the entries, and the frames that they name, are whole before.
 */
static inline void rtap_xsk_publish(struct rtap_xsk_ring *r)
{
    __atomic_store_n(r->producer, r->produced, __ATOMIC_RELEASE);
}

static inline const struct xdp_desc *rtap_xsk_rx(const struct rtap_xsk_ring *r, uint32_t i)
{
    return &((const struct xdp_desc *)r->entries)[(r->consumed + i) & r->mask];
}

/* The frame is for the kernel to receive into; to be published. There is room: a fill ring has room for all frames of
 * its socket. */
static inline void rtap_xsk_fill(struct rtap_xsk *x, uint32_t frame)
{
    struct rtap_xsk_ring *r = &x->fill;

    ((uint64_t *)r->entries)[r->produced++ & r->mask] = rtap_umem_addr(x->umem, frame);
}

#endif
