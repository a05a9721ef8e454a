/*
 * Walking a ring of TPACKET_V3 blocks (Documentation/networking/packet_mmap.rst; include/uapi/linux/if_packet.h).
 *
 * The kernel owns a block while its status is TP_STATUS_KERNEL, user space while TP_STATUS_USER is set. Blocks change
 * hands in order: `cursor` is the next one that the kernel will give. A block goes back when its last pin goes, which
 * may be out of order; the kernel then waits at the first one that is still held, so a pinned block at the cursor
 * means that nothing can come until a packet in it is released.
 *
 * The memory source lays its packets out in the same way, so that what is measured and tested there is this code.
 */
#ifndef RTAP_IO_RING_H
#define RTAP_IO_RING_H

#include "source.h"
#include <linux/if_packet.h>
#include <stddef.h>

#define RTAP_TP_STATUS_GSO_TCP (1u << 8) /* TP_STATUS_GSO_TCP, since Linux 5.14 */

#define RTAP_RING_SLL_OFFSET TPACKET_ALIGN(sizeof(struct tpacket3_hdr))

struct rtap_ring_block {
    struct rtap_block block;
    uint8_t *memory;
};

/* A header that user space puts in front of what SOCK_DGRAM delivers. */
enum rtap_ring_cook { RTAP_COOK_NONE, RTAP_COOK_SLL2, RTAP_COOK_NETLINK };

struct rtap_ring {
    struct rtap_source *source;
    struct rtap_ring_block *blocks;
    uint32_t block_size, block_count;
    uint32_t cursor;     /* next block to take */
    uint32_t left;       /* packets still unread in source->block */
    const uint8_t *next; /* header of the next of them */
    uint64_t read;       /* packets stepped over since the ring exists */
    uint64_t sequence;   /* of the block taken last, as the kernel numbers them */
    uint32_t snaplen;
    enum rtap_ring_cook cook;
    bool vnet;              /* a struct virtio_net_hdr stands in front of each frame */
    bool ethernet;          /* a tag that the kernel took out goes back to offset 12 */
    uint64_t hardware_time; /* packets whose time came from the device */
    struct rtap_pkt proto;  /* what all packets have in common: linktype, ifname */
    const char *(*ifname)(struct rtap_source *s, uint32_t ifindex); /* "any": name of a packet's interface */
};

/* Make the block table for `memory`. -ENOMEM. */
int rtap_ring_init(struct rtap_ring *r, struct rtap_source *s, uint8_t *memory, uint32_t block_size,
                   uint32_t block_count);
void rtap_ring_fini(struct rtap_ring *r);
/* Take the block at the cursor: true when there was one. Called when left == 0. */
bool rtap_ring_take(struct rtap_ring *r);
/* Put back the tag, put the cooked header in front. */
void rtap_ring_restore(const struct rtap_ring *r, const struct tpacket3_hdr *h, struct rtap_pkt *pkt);
/* What the virtio_net_hdr in front of the frame says. */
void rtap_ring_read_vnet(const struct tpacket3_hdr *h, struct rtap_pkt *pkt);
/* ops->release: give the block to the kernel. */
void rtap_ring_release(struct rtap_block *b);

static inline struct tpacket_hdr_v1 *rtap_ring_header(const struct rtap_ring_block *b)
{
    return &((struct tpacket_block_desc *)b->memory)->hdr.bh1;
}

/* The block at the cursor is there to be taken. */
static inline bool rtap_ring_ready(const struct rtap_ring *r)
{
    const struct rtap_ring_block *b = &r->blocks[r->cursor];

    /* Acquire: what the kernel wrote into the block is visible once its status is. */
    return b->block.pins == 0 &&
           (__atomic_load_n(&rtap_ring_header(b)->block_status, __ATOMIC_ACQUIRE) & TP_STATUS_USER);
}

static inline int rtap_ring_next(struct rtap_ring *r, struct rtap_pkt *pkt)
{
    static const uint32_t flags[8] = {
        /* by sll_pkttype: PACKET_HOST, BROADCAST, MULTICAST, OTHERHOST, OUTGOING */
        RTAP_EPB_INBOUND | RTAP_EPB_UNICAST,
        RTAP_EPB_INBOUND | RTAP_EPB_BROADCAST,
        RTAP_EPB_INBOUND | RTAP_EPB_MULTICAST,
        RTAP_EPB_INBOUND | RTAP_EPB_PROMISCUOUS,
        RTAP_EPB_OUTBOUND,
    };
    const struct tpacket3_hdr *h;
    const struct sockaddr_ll *sll;

    if (r->left == 0 && !rtap_ring_take(r))
        return RTAP_AGAIN;
    h = (const struct tpacket3_hdr *)r->next;
    r->next += h->tp_next_offset;
    r->left--;
    r->read++;
    __builtin_prefetch(r->next);
    sll = (const struct sockaddr_ll *)((const uint8_t *)h + RTAP_RING_SLL_OFFSET);
    *pkt = r->proto;
    pkt->data = (const uint8_t *)h + h->tp_mac;
    pkt->caplen = h->tp_snaplen;
    pkt->len = h->tp_len;
    pkt->time = (int64_t)h->tp_sec * 1000000000 + h->tp_nsec;
    pkt->ifindex = (uint32_t)sll->sll_ifindex;
    pkt->epb_flags = flags[sll->sll_pkttype & 7];
    pkt->status = (h->tp_status & TP_STATUS_CSUMNOTREADY ? RTAP_PKT_CSUM_NOT_READY : 0) |
                  (h->tp_status & TP_STATUS_CSUM_VALID ? RTAP_PKT_CSUM_VALID : 0) |
                  (h->tp_status & RTAP_TP_STATUS_GSO_TCP ? RTAP_PKT_GSO : 0) |
                  (h->tp_status & TP_STATUS_TS_RAW_HARDWARE ? RTAP_PKT_TS_HARDWARE : RTAP_PKT_TS_SOFTWARE);
    if (__builtin_expect(r->vnet, 0))
        rtap_ring_read_vnet(h, pkt);
    if (__builtin_expect((h->tp_status & (TP_STATUS_VLAN_VALID | TP_STATUS_TS_RAW_HARDWARE)) || r->cook, 0))
        rtap_ring_restore(r, h, pkt);
    if (__builtin_expect(pkt->caplen > r->snaplen, 0))
        pkt->caplen = r->snaplen;
    return RTAP_PACKET;
}

#endif
