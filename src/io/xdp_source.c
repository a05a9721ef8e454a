/*
 * Receiving by AF_XDP. A batch is what was taken from a socket's RX ring at once: it is the block that packets are
 * pinned by, and its frames go back to the fill ring when the last pin goes. A packet that lies in several frames is
 * put together in memory of its own, and is a batch alone.
 *
 * Waiting is coalesced: while packets come, the wait after each batch is a sleep of `latency`, not a poll(2) that
 * returns at once with a packet or two. A packet that comes after a pause ends a poll, so it is not late.
 */
#include "xdp_filter.h"
#include "xdp_port.h"

#include "../../bpf/xdp_shared.h"
#include "../packet/filter_xdp.h"
#include "netns.h"
#include "pace.h"
#include <errno.h>
#include <linux/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define BATCH 64
#define LOOK_EVERY 200000000 /* ns between looks whether the device is still there */
#define SETTLE 2000000       /* ns after detaching the program until nothing comes any more */
#define SENDING_NAP 1000000  /* ns, while poll(2) is not to be called */
#define NO_FRAME UINT32_MAX

struct batch {
    struct rtap_block block;
    struct rtap_xsk *xsk; /* NULL: put together; the bytes follow */
    uint32_t first, count;
    struct batch *next; /* free ones */
    _Alignas(8) uint8_t bytes[];
};

struct unread {
    uint8_t *data;
    uint32_t len;
};

struct xdp_source {
    struct rtap_source source;
    struct rtap_xdp_port *port;
    struct rtap_pkt proto;
    uint32_t broadcast_low; /* of our own address */
    struct batch *batches, *free;
    struct unread unread[BATCH];
    unsigned at, count;
    unsigned turn;         /* the queue that is looked at first */
    uint32_t out;          /* frames in batches */
    uint64_t taken;        /* packets from the RX rings */
    int64_t tai_offset;    /* CLOCK_TAI - CLOCK_REALTIME, ns */
    int64_t batch_time;    /* of packets without a stamp */
    bool flowing;          /* something was taken since the last wait */
    uint64_t waited_taken; /* taken at the last wait */
    int64_t waited_at;
    int64_t next_look;
    int epoll;
    bool gone, draining, started, ended;
    int64_t drained_at;
    bool recheck; /* source.filter is there until what the old one let through is gone */
    uint64_t recheck_until;
    const char *engine;
    struct rtap_xdp_counts counts; /* the last ones of a program that is gone */
    struct xdp_statistics kernel;
    uint64_t hardware_time;
    uint32_t snaplen;
};

static struct xdp_source *source_of(struct rtap_source *s)
{
    return (struct xdp_source *)s;
}

/* ------------------------------------------------------------------ taking */

static void xdp_release(struct rtap_block *block)
{
    struct batch *b = (struct batch *)block;
    struct xdp_source *x = source_of(block->source);
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
static void read_clocks(struct xdp_source *x)
{
    struct timespec real, tai;

    clock_gettime(CLOCK_REALTIME, &real);
    clock_gettime(CLOCK_TAI, &tai);
    x->batch_time = real.tv_sec * 1000000000ll + real.tv_nsec;
    /* they differ by whole seconds, and were not read at one instant */
    x->tai_offset = (tai.tv_sec * 1000000000ll + tai.tv_nsec - x->batch_time + 500000000) / 1000000000 * 1000000000;
}

/* A packet of several frames, at the front of the ring: 1 taken, 0 it isn't there as a whole, -ENOMEM. */
static int gather(struct xdp_source *x, struct rtap_xsk *xsk, uint32_t ready)
{
    struct rtap_xdp_pool *pool = x->port->pool;
    const size_t stamp = sizeof(struct rtap_xdp_stamp);
    size_t len = 0, at = stamp;
    struct batch *b;
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
    x->unread[0] = (struct unread){b->bytes + stamp, (uint32_t)len};
    x->count = 1;
    x->source.block = &b->block;
    return 1;
}

static void take_batch(struct xdp_source *x, struct rtap_xsk *xsk, uint32_t ready)
{
    struct rtap_xdp_pool *pool = x->port->pool;
    struct batch *b = x->free;
    uint32_t n = 0, last = NO_FRAME;

    x->free = b->next;
    b->xsk = xsk;
    while (n < ready && n < BATCH) {
        const struct xdp_desc *d = rtap_xsk_rx(&xsk->rx, n);
        uint32_t frame = rtap_umem_frame(&pool->umem, d->addr);

        if (d->options & XDP_PKT_CONTD)
            break;
        x->unread[n++] = (struct unread){rtap_umem_data(&pool->umem, d->addr), d->len};
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
static int take(struct xdp_source *x)
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

static uint32_t reception(const struct xdp_source *x, const uint8_t *data)
{
    if (data[0] & 1)
        return memcmp(data, "\xff\xff\xff\xff\xff\xff", 6) == 0 ? RTAP_EPB_INBOUND | RTAP_EPB_BROADCAST
                                                                : RTAP_EPB_INBOUND | RTAP_EPB_MULTICAST;
    return memcmp(data, x->port->address, 6) == 0 ? RTAP_EPB_INBOUND | RTAP_EPB_UNICAST
                                                  : RTAP_EPB_INBOUND | RTAP_EPB_PROMISCUOUS;
}

static int xdp_next(struct rtap_source *s, struct rtap_pkt *pkt)
{
    struct xdp_source *x = source_of(s);
    struct rtap_xdp_stamp *stamp;
    const struct unread *u;

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

static bool is_ready(struct xdp_source *x)
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
static int64_t nap_time(struct xdp_source *x, int64_t now)
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

static int look_for_device(struct xdp_source *x, int64_t now)
{
    struct rtap_netif n;

    if (now < x->next_look && !x->gone)
        return 0;
    x->next_look = now + LOOK_EVERY;
    if (rtap_xdp_look(x->port, &n) != -ENODEV)
        return 0;
    x->gone = true;
    return rtap_source_fail(&x->source, -ENODEV, "%s: No such device (deleted, or moved to another network namespace)",
                            x->source.name);
}

static int xdp_wait(struct rtap_source *s, int64_t timeout)
{
    struct xdp_source *x = source_of(s);
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
                until = until - now > LOOK_EVERY ? now + LOOK_EVERY : until;
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

static int xdp_fd(struct rtap_source *s)
{
    return source_of(s)->epoll;
}

/* ------------------------------------------------------------------ filter */

/* What the program has to match: what is not to be passed to the host, and the expression. 0, *out a new reference or
 * NULL: everything. */
static int combine(struct xdp_source *x, struct rtap_filter *f, struct rtap_filter **out)
{
    const char *pass = x->port->pass;
    struct rtap_filter *alone = NULL;
    char *expr, text[256];
    int r;

    *out = NULL;
    if (!pass) {
        *out = f && !rtap_filter_is_blank(f) ? rtap_filter_ref(f) : NULL;
        return 0;
    }
    r = f && !rtap_filter_is_blank(f) ? asprintf(&expr, "not (%s) and (%s)", pass, rtap_filter_expr(f))
                                      : asprintf(&expr, "not (%s)", pass);
    if (r < 0)
        return rtap_source_fail(&x->source, -ENOMEM, "%s: %s", x->source.name, strerror(ENOMEM));
    r = rtap_filter_new(out, expr, RTAP_LINKTYPE_ETHERNET, true, x->source.error, sizeof(x->source.error));
    free(expr);
    if (r < 0 && rtap_filter_new(&alone, pass, RTAP_LINKTYPE_ETHERNET, true, text, sizeof(text)) < 0)
        rtap_source_fail(&x->source, r, "%s: pass: %s", x->source.name, text);
    rtap_filter_unref(alone);
    return r;
}

static int load_filter(struct xdp_source *x, struct rtap_filter *f, int *fd)
{
    struct rtap_xdp_program *prog = x->port->program;
    struct rtap_xdp_env env = {
        .frags = rtap_xdp_has_fragments(prog),
        .programs = rtap_xdp_programs_map(prog),
        .next = RTAP_XDP_SLOT_REDIRECT,
        .metadata = rtap_xdp_current_map(prog),
        .tag_offset = offsetof(struct rtap_xdp_current, tci),
    };
    struct bpf_insn *insns;
    char text[512];
    unsigned count;
    int r;

    *fd = -1;
    if (!f)
        return 0;
    r = rtap_filter_xdp(f, &env, &insns, &count, text, sizeof(text));
    if (r == 0) {
        r = *fd = rtap_xdp_load_filter(insns, count, env.frags, text, sizeof(text));
        free(insns);
    }
    return r < 0 ? rtap_source_fail(&x->source, r, "%s: the filter as an XDP program: %s", x->source.name, text) : 0;
}

static int xdp_filter(struct rtap_source *s, struct rtap_filter *f)
{
    struct xdp_source *x = source_of(s);
    struct rtap_filter *old = s->filter, *whole;
    int fd, r;

    if (x->ended || x->draining || !rtap_xdp_is_ours(x->port->program)) { /* what comes is matched here */
        s->filter = f ? rtap_filter_ref(f) : NULL;
        rtap_filter_unref(old);
        x->recheck = false;
        x->engine = f ? "user" : NULL;
        return 0;
    }
    r = combine(x, f, &whole);
    if (r == 0)
        r = load_filter(x, whole, &fd);
    if (r < 0)
        return r;
    r = rtap_xdp_set_filter(x->port->program, fd, s->error, sizeof(s->error));
    if (fd >= 0)
        close(fd);
    if (r < 0) {
        rtap_filter_unref(whole);
        return r;
    }
    x->engine = whole ? "xdp" : NULL;
    /* frames that the old one let through may be in the rings, or on their way into them on another CPU */
    x->recheck = x->started && whole;
    x->recheck_until = x->taken + (uint64_t)x->port->ring_size * x->port->queue_count * 2;
    s->filter = x->recheck ? rtap_filter_ref(whole) : NULL;
    rtap_filter_unref(whole);
    rtap_filter_unref(old);
    return 0;
}

/* ------------------------------------------------------------------ counters */

static uint64_t waiting_in(const struct rtap_xsk *xsk)
{
    uint32_t end = xsk->fd >= 0 ? __atomic_load_n(xsk->rx.producer, __ATOMIC_ACQUIRE) : 0;
    uint64_t n = 0;

    for (uint32_t i = 0; xsk->fd >= 0 && xsk->rx.consumed + i != end; i++)
        n += !(rtap_xsk_rx(&xsk->rx, i)->options & XDP_PKT_CONTD);
    return n;
}

static void read_counters(struct xdp_source *x)
{
    struct rtap_xdp_port *p = x->port;

    if (x->ended)
        return;
    if (p->program)
        rtap_xdp_counts(p->program, &x->counts);
    memset(&x->kernel, 0, sizeof(x->kernel));
    for (unsigned i = 0; i < p->queue_count; i++) {
        struct xdp_statistics st;

        rtap_xsk_statistics(&p->xsks[i], &st);
        x->kernel.rx_dropped += st.rx_dropped;
        x->kernel.rx_ring_full += st.rx_ring_full;
        x->kernel.rx_fill_ring_empty_descs += st.rx_fill_ring_empty_descs;
    }
}

static void xdp_stats(struct rtap_source *s, struct rtap_source_stats *st)
{
    struct xdp_source *x = source_of(s);
    struct rtap_xdp_port *p = x->port;
    uint64_t in_rings = 0, dropped, told;

    read_counters(x);
    for (unsigned i = 0; i < p->queue_count; i++)
        in_rings += waiting_in(&p->xsks[i]);
    /* a frame for which there was no room in the UMEM counts in both of these */
    dropped = x->kernel.rx_dropped + x->kernel.rx_ring_full;
    told = x->taken + in_rings + dropped;
    st->knows_filtered = p->program && rtap_xdp_is_ours(p->program);
    if (st->knows_filtered)
        st->filtered += x->counts.seen - x->counts.redirected;
    st->knows_dropped = true;
    st->drops[0] = (struct rtap_drops){"rx_ring_full", x->kernel.rx_ring_full};
    st->drops[1] = (struct rtap_drops){"fill_ring_empty", x->kernel.rx_fill_ring_empty_descs};
    st->drops[2] = (struct rtap_drops){"rx_dropped", x->kernel.rx_dropped > x->kernel.rx_fill_ring_empty_descs
                                                         ? x->kernel.rx_dropped - x->kernel.rx_fill_ring_empty_descs
                                                         : 0};
    st->drops[3] = (struct rtap_drops){"redirect_failed", 0};
    if (x->counts.redirected > told && (x->draining || x->ended)) {
        st->drops[3].count = x->counts.redirected - told;
        dropped += st->drops[3].count;
    }
    st->dropped = dropped;
    st->has_queued = true;
    st->queued = in_rings + x->count - x->at;
    st->timestamp_source = x->hardware_time ? "hardware" : "software";
    st->filter_engine = x->engine;
}

static bool xdp_interface(struct rtap_source *s, unsigned i, struct rtap_source_if *out)
{
    struct xdp_source *x = source_of(s);

    if (i > 0)
        return false;
    *out = (struct rtap_source_if){
        .name = s->name, .id = (uint32_t)x->port->ifindex, .snaplen = x->snaplen, .linktype = s->linktype};
    return true;
}

/* ------------------------------------------------------------------ beginning and end */

static int xdp_drain(struct rtap_source *s)
{
    struct xdp_source *x = source_of(s);

    if (!x->draining) {
        rtap_xdp_detach(x->port->program);
        x->port->receiving = false;
        x->drained_at = rtap_pace_now() + SETTLE;
    }
    x->draining = true;
    return 0;
}

static void xdp_close(struct rtap_source *s)
{
    struct xdp_source *x = source_of(s);
    struct rtap_xdp_port *p = x->port;

    if (x->ended)
        return;
    if (p->program)
        rtap_xdp_detach(p->program);
    read_counters(x);
    x->ended = true;
    p->receiving = false;
    x->at = x->count = 0;
    if (--p->ends == 0)
        rtap_xdp_close_sockets(p);
}

static void xdp_destroy(struct rtap_source *s)
{
    struct xdp_source *x = source_of(s);

    if (x->epoll >= 0)
        close(x->epoll);
    rtap_xdp_port_unref(x->port);
    free(x->batches);
    rtap_source_fini(s);
    free(x);
}

static const struct rtap_source_ops xdp_ops = {
    .kind = "xdp",
    .live = true,
    .sums_unknown = true,
    .next = xdp_next,
    .release = xdp_release,
    .wait = xdp_wait,
    .fd = xdp_fd,
    .filter = xdp_filter,
    .drain = xdp_drain,
    .stats = xdp_stats,
    .interface = xdp_interface,
    .close = xdp_close,
    .destroy = xdp_destroy,
};

int rtap_xdp_source_new(struct rtap_source **out, struct rtap_xdp_port *p, uint32_t snaplen, char *err, size_t errlen)
{
    struct xdp_source *x = calloc(1, sizeof(*x));
    uint32_t frames = p->pool->run * p->queue_count;
    int r = x ? rtap_source_init(&x->source, &xdp_ops, p->name) : -ENOMEM;

    *out = NULL;
    if (r == 0) {
        x->epoll = -1;
        x->batches = calloc(frames, sizeof(*x->batches));
    }
    if (r < 0 || !x->batches) {
        snprintf(err, errlen, "%s: %s", p->name, strerror(ENOMEM));
        if (r == 0)
            rtap_source_fini(&x->source);
        free(x);
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < frames; i++) {
        x->batches[i].block.source = &x->source;
        x->batches[i].next = x->free;
        x->free = &x->batches[i];
    }
    x->port = p;
    p->refs++;
    p->ends++;
    x->snaplen = snaplen;
    x->source.linktype = RTAP_LINKTYPE_ETHERNET;
    x->proto = (struct rtap_pkt){
        .linktype = RTAP_LINKTYPE_ETHERNET,
        .ifname = x->source.name,
        .ifindex = (uint32_t)p->ifindex,
        .status = RTAP_PKT_INTERFACE | RTAP_PKT_TS_SOFTWARE,
    };
    x->epoll = epoll_create1(EPOLL_CLOEXEC);
    r = x->epoll < 0 ? -errno : 0;
    for (unsigned i = 0; r == 0 && i < p->queue_count; i++) {
        struct epoll_event e = {.events = EPOLLIN, .data.u32 = i};

        if (epoll_ctl(x->epoll, EPOLL_CTL_ADD, p->xsks[i].fd, &e) < 0)
            r = -errno;
    }
    if (r < 0) {
        snprintf(err, errlen, "%s: epoll: %s", p->name, strerror(-r));
        rtap_source_close(&x->source);
        return r;
    }
    *out = &x->source;
    return 0;
}

struct attach {
    struct rtap_xdp_port *p;
    char *err;
    size_t errlen;
};

static int attach_there(void *arg)
{
    struct attach *a = arg;

    return rtap_xdp_attach(a->p->program, &a->p->program_cfg, a->err, a->errlen);
}

int rtap_xdp_source_start(struct rtap_source *s, struct rtap_filter *f)
{
    struct xdp_source *x = source_of(s);
    struct attach a = {x->port, s->error, sizeof(s->error)};
    int result = 0, r = xdp_filter(s, f);

    if (r == 0)
        r = rtap_netns_run(x->port->netns_name, attach_there, &a, &result, s->error, sizeof(s->error));
    if (r == 0)
        r = result;
    if (r < 0)
        return r;
    x->started = x->port->receiving = true;
    x->waited_at = rtap_pace_now();
    x->next_look = x->waited_at + LOOK_EVERY;
    return 0;
}

bool rtap_xdp_source_facts(struct rtap_source *s, struct rtap_xdp_facts *f)
{
    if (s->ops != &xdp_ops)
        return false;
    rtap_xdp_port_facts(source_of(s)->port, f);
    return true;
}
