/*
 * Receiving by AF_XDP. A batch is what was taken from a socket's RX ring at once: it is the block that packets are
 * pinned by, and its frames go back to the fill ring when the last pin goes. A packet that lies in several frames is
 * put together in memory of its own, and is a batch alone.
 *
 * Waiting is coalesced: while packets come, the wait after each batch is a sleep of `latency`, not a poll(2) that
 * returns at once with a packet or two. A packet that comes after a pause ends a poll, so it is not late.
 */
#include "xdp_receive.h"

#include "../../bpf/xdp_shared.h"
#include "pace.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#define SENDING_NAP 1000000 /* ns, while poll(2) is not to be called */
#define NO_FRAME UINT32_MAX

/* ------------------------------------------------------------------ taking */

void rtap_xdp_release(struct rtap_block *block)
{
    struct rtap_xdp_batch *b = (struct rtap_xdp_batch *)block;
    struct rtap_xdp_source *x = rtap_xdp_source_of(block->source);
    struct rtap_xdp_pool *pool = x->port->pool;
    uint32_t frame = b->first;

    if (!b->xsk) {
        free(b);
        return;
    }
    for (uint32_t i = 0; i < b->count; i++) {
        uint32_t next = pool->frames[frame].next;

        rtap_xdp_give_back(pool, frame, RTAP_FRAME_RECEIVED);
        frame = next;
    }
    x->out -= b->count;
    if (b->xsk->fd >= 0) {
        rtap_xsk_publish(&b->xsk->fill);
        if (__atomic_load_n(b->xsk->fill.flags, __ATOMIC_RELAXED) & XDP_RING_NEED_WAKEUP)
            recvfrom(b->xsk->fd, NULL, 0, MSG_DONTWAIT, NULL, NULL);
    }
    b->next = x->free;
    x->free = b;
}

/* The clocks are asked once for a batch. */
static void read_clocks(struct rtap_xdp_source *x)
{
    struct timespec real, tai;

    clock_gettime(CLOCK_REALTIME, &real);
    clock_gettime(CLOCK_TAI, &tai);
    x->batch_time = real.tv_sec * 1000000000ll + real.tv_nsec;
    /* they differ by whole seconds, and were not read at one instant */
    x->tai_offset = (tai.tv_sec * 1000000000ll + tai.tv_nsec - x->batch_time + 500000000) / 1000000000 * 1000000000;
}

/* A packet of several frames, at the front of the ring: 1 taken, 0 it isn't there as a whole, -ENOMEM. */
static int gather(struct rtap_xdp_source *x, struct rtap_xsk *xsk, uint32_t ready)
{
    struct rtap_xdp_pool *pool = x->port->pool;
    const size_t stamp = sizeof(struct rtap_xdp_stamp);
    size_t len = 0, at = stamp;
    struct rtap_xdp_batch *b;
    uint32_t n = 0;

    while (n < ready && rtap_xsk_rx(&xsk->rx, n)->options & XDP_PKT_CONTD)
        len += rtap_xsk_rx(&xsk->rx, n++)->len;
    if (n == ready)
        return 0;
    len += rtap_xsk_rx(&xsk->rx, n++)->len;
    b = malloc(sizeof(*b) + stamp + len);
    if (!b)
        return rtap_source_fail(&x->source, -ENOMEM, "%s: no memory for a packet of %zu bytes", x->source.name, len);
    b->block = (struct rtap_block){.source = &x->source};
    b->xsk = NULL;
    for (uint32_t i = 0; i < n; i++) {
        const struct xdp_desc *d = rtap_xsk_rx(&xsk->rx, i);
        const uint8_t *from = rtap_umem_data(&pool->umem, d->addr);

        if (i == 0)
            memcpy(b->bytes, from - stamp, stamp);
        memcpy(b->bytes + at, from, d->len);
        at += d->len;
        rtap_xsk_fill(xsk, rtap_umem_frame(&pool->umem, d->addr));
    }
    rtap_xsk_taken(&xsk->rx, n);
    rtap_xsk_publish(&xsk->fill);
    x->unread[0] = (struct rtap_xdp_unread){b->bytes + stamp, (uint32_t)len};
    x->count = 1;
    x->source.block = &b->block;
    return 1;
}

static void take_batch(struct rtap_xdp_source *x, struct rtap_xsk *xsk, uint32_t ready)
{
    struct rtap_xdp_pool *pool = x->port->pool;
    struct rtap_xdp_batch *b = x->free;
    uint32_t n = 0, last = NO_FRAME;

    x->free = b->next;
    b->xsk = xsk;
    while (n < ready && n < RTAP_XDP_BATCH) {
        const struct xdp_desc *d = rtap_xsk_rx(&xsk->rx, n);
        uint32_t frame = rtap_umem_frame(&pool->umem, d->addr);

        if (d->options & XDP_PKT_CONTD)
            break;
        x->unread[n++] = (struct rtap_xdp_unread){rtap_umem_data(&pool->umem, d->addr), d->len};
        pool->frames[frame].place = RTAP_FRAME_RECEIVED;
        if (last == NO_FRAME)
            b->first = frame;
        else
            pool->frames[last].next = frame;
        last = frame;
    }
    b->count = x->count = n;
    x->out += n;
    rtap_xsk_taken(&xsk->rx, n);
    x->source.block = &b->block;
}

/* The next batch, of the queue whose turn it is: 1, 0 none, -errno. */
static int take(struct rtap_xdp_source *x)
{
    struct rtap_xdp_port *p = x->port;
    struct rtap_block *done = x->source.block;

    x->at = x->count = 0;
    x->source.block = NULL;
    if (done) {
        rtap_block_unpin(done);
        rtap_xdp_flush(p->pool);
    }
    for (unsigned i = 0; i < p->queue_count; i++) {
        struct rtap_xsk *xsk = &p->xsks[x->turn];
        uint32_t ready = xsk->fd >= 0 ? rtap_xsk_ready(&xsk->rx) : 0;
        int r = 1;

        x->turn = x->turn + 1 == p->queue_count ? 0 : x->turn + 1;
        if (ready == 0)
            continue;
        if (rtap_xsk_rx(&xsk->rx, 0)->options & XDP_PKT_CONTD)
            r = gather(x, xsk, ready);
        else
            take_batch(x, xsk, ready);
        if (r < 0)
            return r;
        if (r == 0)
            continue;
        rtap_block_pin(x->source.block);
        x->taken += x->count;
        x->flowing = true;
        read_clocks(x);
        if (x->recheck && x->taken > x->recheck_until) {
            x->recheck = false;
            rtap_filter_unref(x->source.filter);
            x->source.filter = NULL;
        }
        return 1;
    }
    return 0;
}

/* The device took the tag out: it goes back, where the stamp was. */
static void put_tag_back(struct rtap_pkt *pkt, uint16_t tpid, uint16_t tci)
{
    uint8_t *data = (uint8_t *)pkt->data;

    if (pkt->caplen < 14)
        return;
    memmove(data - 4, data, 12);
    data[8] = (uint8_t)(tpid >> 8);
    data[9] = (uint8_t)tpid;
    data[10] = (uint8_t)(tci >> 8);
    data[11] = (uint8_t)tci;
    pkt->data = data - 4;
    pkt->caplen += 4;
    pkt->len += 4;
    pkt->status |= RTAP_PKT_VLAN_RESTORED;
}

static uint32_t reception(const struct rtap_xdp_source *x, const uint8_t *data)
{
    if (data[0] & 1)
        return memcmp(data, "\xff\xff\xff\xff\xff\xff", 6) == 0 ? RTAP_EPB_INBOUND | RTAP_EPB_BROADCAST
                                                                : RTAP_EPB_INBOUND | RTAP_EPB_MULTICAST;
    return memcmp(data, x->port->address, 6) == 0 ? RTAP_EPB_INBOUND | RTAP_EPB_UNICAST
                                                  : RTAP_EPB_INBOUND | RTAP_EPB_PROMISCUOUS;
}

int rtap_xdp_next(struct rtap_source *s, struct rtap_pkt *pkt)
{
    struct rtap_xdp_source *x = rtap_xdp_source_of(s);
    struct rtap_xdp_stamp *stamp;
    const struct rtap_xdp_unread *u;

    if (x->at == x->count) {
        int r = take(x);

        if (r < 0)
            return r;
        if (r == 0)
            return x->ended || (x->draining && rtap_pace_now() >= x->drained_at) ? RTAP_END : RTAP_AGAIN;
    }
    u = &x->unread[x->at++];
    if (x->at < x->count)
        __builtin_prefetch(x->unread[x->at].data - sizeof(*stamp));
    stamp = (struct rtap_xdp_stamp *)(void *)(u->data - sizeof(*stamp));
    *pkt = x->proto;
    pkt->data = u->data;
    pkt->caplen = pkt->len = u->len;
    pkt->epb_flags = reception(x, u->data);
    if (__builtin_expect(stamp->magic == RTAP_XDP_MAGIC, 1)) {
        uint16_t tpid = stamp->tpid, tci = stamp->tci;

        stamp->magic = 0;
        pkt->time = (int64_t)stamp->time - x->tai_offset;
        if (stamp->hardware && x->port->hardware_time) {
            pkt->time = (int64_t)stamp->hardware;
            pkt->status = RTAP_PKT_INTERFACE | RTAP_PKT_TS_HARDWARE;
            x->hardware_time++;
        }
        if (tpid)
            put_tag_back(pkt, tpid, tci);
    } else {
        pkt->time = x->batch_time;
    }
    if (__builtin_expect(pkt->caplen > x->snaplen, 0))
        pkt->caplen = x->snaplen;
    return RTAP_PACKET;
}

/* ------------------------------------------------------------------ waiting */

static bool is_ready(struct rtap_xdp_source *x)
{
    struct rtap_xdp_port *p = x->port;

    if (x->at < x->count)
        return true;
    for (unsigned i = 0; i < p->queue_count; i++)
        if (p->xsks[i].fd >= 0 && rtap_xsk_ready(&p->xsks[i].rx))
            return true;
    return false;
}

/* How long to sleep after a batch: `latency`, but not until more than a quarter of a ring may have come. */
static int64_t nap_time(struct rtap_xdp_source *x, int64_t now)
{
    struct rtap_xdp_port *p = x->port;
    uint64_t came = x->taken - x->waited_taken;
    int64_t passed = now - x->waited_at, nap = p->latency;

    x->waited_taken = x->taken;
    x->waited_at = now;
    if (came > 0 && passed > 0) {
        int64_t most = (int64_t)((double)passed / (double)came * (double)p->ring_size / 4);

        if (nap > most)
            nap = most;
    }
    return nap;
}

/* Published frames that the kernel has not taken: in copy mode poll(2), on the socket that they share with what comes,
 * would send them and not tell which were lost. */
static bool is_sending(const struct rtap_xdp_port *p)
{
    const struct rtap_xsk *xsk = &p->xsks[0];

    return xsk->fd >= 0 && xsk->tx.map && !xsk->zerocopy &&
           __atomic_load_n(xsk->tx.producer, __ATOMIC_RELAXED) != __atomic_load_n(xsk->tx.consumer, __ATOMIC_ACQUIRE);
}

static int look_for_device(struct rtap_xdp_source *x, int64_t now)
{
    struct rtap_netif n;

    if (now < x->next_look && !x->gone)
        return 0;
    x->next_look = now + RTAP_XDP_LOOK_EVERY;
    if (rtap_xdp_look(x->port, &n) != -ENODEV)
        return 0;
    x->gone = true;
    return rtap_source_fail(&x->source, -ENODEV, "%s: No such device (deleted, or moved to another network namespace)",
                            x->source.name);
}

int rtap_xdp_wait(struct rtap_source *s, int64_t timeout)
{
    struct rtap_xdp_source *x = rtap_xdp_source_of(s);
    int64_t now, end;

    if (is_ready(x) || x->ended)
        return 1;
    rtap_xdp_flush(x->port->pool); /* frames that were passed on come back here: no other packet may come before */
    if (timeout == 0 && !x->draining)
        return 0;
    now = rtap_pace_now();
    end = timeout < 0 ? INT64_MAX : now + timeout;
    for (;;) {
        int64_t until = end;
        int r;

        if (x->draining) {
            if (now >= x->drained_at)
                return 1;
            until = until < x->drained_at ? until : x->drained_at;
        }
        if (x->out >= x->port->pool->run * x->port->queue_count)
            return rtap_source_fail(s, -ENOBUFS, "%s: all %u frames of its UMEM are held: release their packets first",
                                    s->name, x->out);
        if (x->flowing && x->port->latency > 0) {
            int64_t nap = nap_time(x, now);

            x->flowing = false;
            r = rtap_source_poll(s, -1, nap < until - now ? nap : until - now, NULL);
        } else {
            r = look_for_device(x, now);
            if (r < 0)
                return r;
            if (is_sending(x->port)) {
                until = until - now > SENDING_NAP ? now + SENDING_NAP : until;
                r = rtap_source_poll(s, -1, until - now, NULL);
                rtap_xdp_flush(x->port->pool);
            } else {
                until = until - now > RTAP_XDP_LOOK_EVERY ? now + RTAP_XDP_LOOK_EVERY : until;
                r = rtap_source_poll(s, x->epoll, until - now, NULL);
            }
        }
        if (r < 0)
            return r;
        if (is_ready(x))
            return 1;
        now = rtap_pace_now();
        if (now >= end)
            return 0;
    }
}
