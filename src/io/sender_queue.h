/*
 * Inside the AF_PACKET sender: sender.c (opening, what may be sent, the state of the link, counting) and the two ways
 * of queueing, sender_mmsg.c and sender_ring.c.
 *
 * Slots are used in strict order. head is the next slot to be reserved, tail the first that the kernel has not taken;
 * both only grow, slot n is at n modulo count. Every frame that is committed is counted once: as sent when the kernel
 * took it, or as refused with the cause.
 */
#ifndef RTAP_IO_SENDER_QUEUE_H
#define RTAP_IO_SENDER_QUEUE_H

#include "../packet/gso.h"
#include "sender.h"
#include <sys/socket.h>

#define RTAP_BATCH 64u          /* slots of one call */
#define RTAP_BATCH_FRAMES 1024u /* frames in them that are not kept waiting for more */

struct rtap_sender;

struct rtap_queue_ops { /* how slots get to the kernel */
    const char *method;
    /* The memory of count slots for frames of `size` bytes. 0, -errno with the sentence in sink.error. */
    int (*open)(struct rtap_sender *t);
    /* Room for a frame of `size` bytes at head, or NULL: the slot is still in use. */
    uint8_t *(*room)(struct rtap_sender *t);
    /* The frame at head is queued. */
    void (*push)(struct rtap_sender *t, uint32_t len);
    /* One call to the kernel: how many frames it took (tail has moved), or -errno of the one at the tail. */
    int (*push_out)(struct rtap_sender *t);
    /* Take the frame at the tail out; what is behind it moves up where it must. */
    void (*skip)(struct rtap_sender *t);
    /* Take all frames out. */
    void (*clear)(struct rtap_sender *t);
    const uint8_t *(*at)(struct rtap_sender *t, uint64_t slot, uint32_t *len, uint32_t *segments);
    uint64_t (*pending)(struct rtap_sender *t);
    void (*close)(struct rtap_sender *t);
};

struct rtap_sender {
    struct rtap_sink sink;
    const struct rtap_queue_ops *queue;
    int fd, link_fd; /* link_fd: NETLINK_ROUTE, in the same namespace */
    int ifindex;
    char ifname[16]; /* as it was when it was last looked up */
    uint32_t header; /* bytes of the link layer that every frame has to have */
    uint32_t mtu;
    bool ethernet, vnet, bypass, gone;
    bool running;      /* IFF_RUNNING after the last call */
    uint64_t dropped;  /* the device's tx_dropped when it was last read */
    uint64_t drops;    /* gso: its queueing discipline's */
    bool no_qdisc;     /* gso: there is none that counts */
    int8_t takes_vnet; /* the socket is set for super-frames: send_super's; -1: not known */
    int64_t backoff;   /* ns */

    uint8_t *reserved; /* what reserve gave: a kick in between may have moved the place */
    uint8_t *memory;
    size_t memory_size;
    uint32_t count, size;        /* slots; bytes of the longest frame in one */
    uint64_t head, tail, frames; /* frames: queued; a slot of "gso" holds several */
    uint64_t lap;                /* the largest multiple of count that is not above tail */
    struct mmsghdr *messages;    /* mmsg, gso */
    struct iovec *iovecs;
    uint32_t *lengths;
    struct rtap_gso *gso;       /* gso: of each slot */
    uint8_t *scratch;           /* gso: the frame that is reserved, while the slot before head is open */
    bool exact;                 /* gso: what is cut apart has to be what was put together */
    unsigned misses, pass_over; /* gso: frames in a row that did not fit; frames that are not tried */
    size_t stride;              /* bytes from slot to slot */
    struct rtap_sink_stats st;
    const char *reason;
};

#define RTAP_PASS_OVER 1000

/* Where a slot from tail to head is, both included. */
static inline uint32_t rtap_slot_index(const struct rtap_sender *t, uint64_t slot)
{
    uint64_t i = slot - t->lap;

    return (uint32_t)(i < t->count ? i : i - t->count);
}

/* The n slots at the tail are free again. */
static inline void rtap_slots_free(struct rtap_sender *t, unsigned n)
{
    t->tail += n;
    if (t->tail - t->lap >= t->count)
        t->lap += t->count;
}

extern const struct rtap_queue_ops rtap_queue_mmsg, rtap_queue_ring, rtap_queue_gso;

#endif
