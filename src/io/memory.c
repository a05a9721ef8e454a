/*
 * A ring in plain memory: for tests, and for measuring without a kernel. The blocks are filled once, never change, and
 * are shown `repeat` times; who holds a packet of an earlier round sees the same bytes.
 */
#include "memory.h"

#include "ring.h"
#include <errno.h>
#include <net/if_arp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct memory {
    struct rtap_source source;
    struct rtap_ring ring;
    uint8_t *map;
    uint32_t taken; /* blocks of this round */
    uint64_t rounds, repeat;
};

#define MEMORY_MAC 82u /* where the kernel puts an Ethernet frame: 48 + 20 + 14 to spare */

static size_t record_size(uint32_t caplen)
{
    return (MEMORY_MAC + (size_t)caplen + 7) & ~(size_t)7; /* the kernel's V3_ALIGNMENT */
}

static int memory_next(struct rtap_source *s, struct rtap_pkt *pkt)
{
    struct memory *m = (struct memory *)s;

    bool fresh = m->ring.left == 0;
    int r;

    if (fresh) {
        if (m->taken == m->ring.block_count) {
            if (m->rounds <= 1)
                return RTAP_END;
            m->rounds--;
            m->taken = 0;
        }
        __atomic_store_n(&rtap_ring_header(&m->ring.blocks[m->ring.cursor])->block_status, TP_STATUS_USER,
                         __ATOMIC_RELEASE);
    }
    r = rtap_ring_next(&m->ring, pkt);
    if (fresh && r == RTAP_PACKET)
        m->taken++;
    return r;
}

/* next() said RTAP_AGAIN because the block at the cursor is pinned: by a loop that lets go of it now, or for good. */
static int memory_wait(struct rtap_source *s, int64_t timeout)
{
    struct memory *m = (struct memory *)s;

    (void)timeout;
    if (m->ring.block_count && m->ring.blocks[m->ring.cursor].block.pins)
        return rtap_source_fail(
            s, -ENOBUFS, "%s: the ring has come round to a block that is held: release its packets first", s->name);
    return 1;
}

static void memory_stats(struct rtap_source *s, struct rtap_source_stats *st)
{
    (void)s;
    st->knows_filtered = true;
    st->knows_dropped = true;
    st->filter_engine = s->filter ? "user" : NULL;
}

static bool memory_interface(struct rtap_source *s, unsigned i, struct rtap_source_if *out)
{
    if (i > 0)
        return false;
    *out = (struct rtap_source_if){.name = s->name, .linktype = s->linktype};
    return true;
}

static int memory_drain(struct rtap_source *s)
{
    struct memory *m = (struct memory *)s;

    m->rounds = 1;
    m->taken = m->ring.block_count;
    return 0;
}

/* Blocks are shown in their order whatever round it is, so only their number counts. */
static void memory_rewind(struct rtap_source *s)
{
    struct memory *m = (struct memory *)s;
    struct rtap_block *b = s->block;

    s->block = NULL;
    m->ring.left = 0;
    m->ring.cursor = 0;
    m->taken = 0;
    m->rounds = m->repeat;
    if (b)
        rtap_block_unpin(b);
}

static void memory_destroy(struct rtap_source *s)
{
    struct memory *m = (struct memory *)s;

    rtap_ring_fini(&m->ring);
    free(m->map);
    rtap_source_fini(s);
    free(m);
}

static const struct rtap_source_ops memory_ops = {
    .kind = "memory",
    .next = memory_next,
    .release = rtap_ring_release,
    .wait = memory_wait,
    .rewind = memory_rewind,
    .drain = memory_drain,
    .stats = memory_stats,
    .interface = memory_interface,
    .destroy = memory_destroy,
};

static void put_packet(uint8_t *at, const struct rtap_pkt *p)
{
    static const uint8_t pkttype[4] = {7 /* none that is known */, PACKET_HOST, PACKET_OUTGOING, 7};
    struct tpacket3_hdr *h = (struct tpacket3_hdr *)at;
    struct sockaddr_ll *sll = (struct sockaddr_ll *)(at + RTAP_RING_SLL_OFFSET);
    int64_t time = p->time == RTAP_NO_TIME ? 0 : p->time;

    h->tp_next_offset = (uint32_t)record_size(p->caplen);
    h->tp_sec = (uint32_t)(time / 1000000000);
    h->tp_nsec = (uint32_t)(time % 1000000000);
    h->tp_snaplen = p->caplen;
    h->tp_len = p->len;
    h->tp_mac = MEMORY_MAC;
    h->tp_net = MEMORY_MAC + 14;
    h->tp_status = TP_STATUS_USER | (p->status & RTAP_PKT_CSUM_NOT_READY ? TP_STATUS_CSUMNOTREADY : 0);
    sll->sll_family = AF_PACKET;
    sll->sll_pkttype = pkttype[p->epb_flags & RTAP_EPB_DIRECTION];
    sll->sll_hatype = ARPHRD_ETHER;
    memcpy(at + MEMORY_MAC, p->data, p->caplen);
}

/* First pass (map == NULL) counts blocks, second fills them. */
static uint32_t lay_out(uint8_t *map, uint32_t block_size, const struct rtap_pkt *pkts, size_t count)
{
    const size_t first = (sizeof(struct tpacket_block_desc) + 7) & ~(size_t)7;
    size_t at = 0;
    uint32_t blocks = 0;
    struct tpacket_hdr_v1 *h = NULL;

    for (size_t i = 0; i < count; i++) {
        size_t need = record_size(pkts[i].caplen);

        if (blocks == 0 || at + need > block_size) {
            if (map) {
                h = &((struct tpacket_block_desc *)(map + (size_t)blocks * block_size))->hdr.bh1;
                h->offset_to_first_pkt = (uint32_t)first;
                h->seq_num = blocks + 1;
            }
            blocks++;
            at = first;
        }
        if (map) {
            put_packet(map + (size_t)(blocks - 1) * block_size + at, &pkts[i]);
            h->num_pkts++;
        }
        at += need;
    }
    return blocks;
}

int rtap_memory_open(struct rtap_source **out, const struct rtap_pkt *pkts, size_t count, uint16_t linktype,
                     uint32_t block_size, uint64_t repeat, char *err, size_t errlen)
{
    struct memory *m = calloc(1, sizeof(*m));
    uint32_t blocks;
    int r = -ENOMEM;

    if (!m)
        goto fail;
    r = rtap_source_init(&m->source, &memory_ops, "memory");
    if (r < 0)
        goto fail_free;
    for (size_t i = 0; i < count; i++) {
        size_t need = record_size(pkts[i].caplen) + 128;

        if (need > block_size)
            block_size = (uint32_t)((need + 4095) & ~(size_t)4095);
    }
    blocks = lay_out(NULL, block_size, pkts, count);
    r = -ENOMEM;
    m->map = calloc(blocks ? blocks : 1, block_size);
    if (!m->map)
        goto fail_source;
    r = rtap_ring_init(&m->ring, &m->source, m->map, block_size, blocks);
    if (r < 0 && blocks)
        goto fail_map;
    lay_out(m->map, block_size, pkts, count);
    m->ring.snaplen = UINT32_MAX;
    m->ring.proto.linktype = linktype;
    m->ring.proto.ifname = m->source.name;
    m->source.linktype = linktype;
    m->rounds = m->repeat = blocks ? repeat : 0;
    m->taken = 0;
    *out = &m->source;
    return 0;

fail_map:
    free(m->map);
fail_source:
    rtap_source_fini(&m->source);
fail_free:
    free(m);
fail:
    snprintf(err, errlen, "memory: %s", strerror(-r));
    *out = NULL;
    return r;
}
