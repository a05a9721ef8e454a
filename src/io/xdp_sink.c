/*
 * Sending by AF_XDP. A frame is filled in where the kernel reads it; a longer one than a frame of the UMEM takes
 * several that lie side by side.
 *
 * In copy mode the kernel takes descriptors during a call only, in order, and the consumer index tells how far it came.
 * EBUSY says that the last one it took is lost, everything before it was sent: so each frame's fate is known. A
 * descriptor that was published can't be taken back, but made invalid: then the kernel passes over it, one in each call
 * (since Linux 6.6). Some kernels report it as completed, others don't.
 */
#include "xdp_port.h"

#include "../packet/bytes.h"
#include "../packet/gso.h"
#include "pace.h"
#include <errno.h>
#include <linux/if.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define KICK_AT 256             /* frames that are committed before the kernel is called */
#define LINK_PAUSE 5000000      /* ns between looks at a link that is down */
#define LOOK_EVERY 50000000     /* ns between looks at one that is up: nothing else tells of a lower MTU */
#define FIRST_BACKOFF 50000     /* ns */
#define LONGEST_BACKOFF 1000000 /* ns */
#define CLOSING_TIME 200000000  /* ns that close() gives what is queued */
#define NO_SLOT UINT32_MAX

struct queued {           /* of each descriptor in the TX ring, at the first one of a frame */
    uint32_t slot, frame; /* slot NO_SLOT: the received frame `frame`; both NO_SLOT: it was dropped */
    uint32_t len, descs;
};

struct xdp_sink {
    struct rtap_sink sink;
    struct rtap_xdp_port *port;
    struct rtap_xsk *xsk;
    struct queued *queue; /* of the TX ring's size */
    uint32_t tail;        /* TX index of the first frame that the kernel has not taken */
    uint64_t frames;      /* from there on, without those that were dropped */
    uint32_t waiting;     /* committed since the last call */
    uint32_t slot;        /* reserved; NO_SLOT: none */
    uint64_t submitted;   /* descriptors */
    struct rtap_sink_stats st;
    bool running, gone;
    int64_t backoff;
    int64_t next_look;
};

static struct xdp_sink *sink_of(struct rtap_sink *k)
{
    return (struct xdp_sink *)k;
}

static int refuse(struct xdp_sink *t, enum rtap_cause cause, int err, uint64_t frames)
{
    return rtap_sink_refuse(&t->sink, &t->st, cause, err, frames);
}

static int blocked(struct xdp_sink *t, enum rtap_cause why)
{
    return rtap_sink_blocked(&t->sink, &t->st, why);
}

/* ------------------------------------------------------------------ the queue */

static struct queued *queued_at(struct xdp_sink *t, uint32_t index)
{
    return &t->queue[index & t->xsk->tx.mask];
}

static struct xdp_desc *desc_at(struct xdp_sink *t, uint32_t index)
{
    return &((struct xdp_desc *)t->xsk->tx.entries)[index & t->xsk->tx.mask];
}

static uint32_t slot_size(const struct xdp_sink *t)
{
    return t->port->slot_frames * t->port->pool->umem.frame_size;
}

static uint64_t slot_addr(const struct xdp_sink *t, uint32_t slot)
{
    return rtap_umem_addr(&t->port->pool->umem, t->port->send_first + slot * t->port->slot_frames);
}

/* The kernel has taken descriptors up to its consumer index; lost: not the last frame of them. The frames taken. */
static uint32_t account(struct xdp_sink *t, bool lost, struct queued *last)
{
    struct rtap_xsk_ring *r = &t->xsk->tx;
    uint32_t n = 0;

    r->consumed = __atomic_load_n(r->consumer, __ATOMIC_ACQUIRE);
    while (t->tail != r->produced) {
        struct queued *q = queued_at(t, t->tail);

        if (r->consumed - t->tail < q->descs) /* of a long frame it may have taken a part */
            break;
        t->tail += q->descs;
        if (q->slot == NO_SLOT && q->frame == NO_SLOT)
            continue;
        *last = *q;
        t->frames--;
        t->st.sent++;
        t->st.bytes += q->len;
        n++;
    }
    if (lost && n > 0) {
        t->st.sent--;
        t->st.bytes -= last->len;
    }
    return n;
}

/* taken: descriptors of it that the kernel has taken already, and will complete when it sees that the rest is invalid.
 */
static void free_queued(struct xdp_sink *t, struct queued *q, uint32_t taken)
{
    if (q->slot != NO_SLOT) {
        t->port->slot_left[q->slot] = (uint8_t)taken;
        if (taken == 0)
            t->port->free_slots[t->port->free_count++] = q->slot;
    } else {
        rtap_xdp_give_back(t->port->pool, q->frame, RTAP_FRAME_SENDING);
    }
    t->submitted -= q->descs - taken;
    q->slot = q->frame = NO_SLOT;
}

/* Nothing that is queued will be sent: its memory is free again. */
static void free_all(struct xdp_sink *t)
{
    for (uint32_t i = t->tail; i != t->xsk->tx.produced;) {
        struct queued *q = queued_at(t, i);
        uint32_t taken = i == t->tail ? t->xsk->tx.consumed - i : 0;

        for (uint32_t n = taken; n < q->descs; n++)
            *desc_at(t, i + n) = (struct xdp_desc){.addr = RTAP_XDP_NOWHERE}; /* the kernel passes over it */
        i += q->descs;
        if (q->slot != NO_SLOT || q->frame != NO_SLOT)
            free_queued(t, q, taken);
    }
    t->frames = 0;
    rtap_xdp_publish(t->port);
}

static int link_is_gone(struct xdp_sink *t)
{
    struct queued last;

    t->gone = true;
    account(t, false, &last);
    refuse(t, RTAP_DEVICE_GONE, 0, t->frames);
    free_all(t);
    t->tail = t->xsk->tx.produced;
    return rtap_sink_fail(&t->sink, -ENXIO, "%s: No such device (it was deleted or moved to another namespace)",
                          t->sink.name);
}

static int check_link(struct xdp_sink *t)
{
    struct rtap_netif n;
    int r = rtap_xdp_look(t->port, &n);

    if (r == -ENODEV)
        return link_is_gone(t);
    if (r < 0)
        return 0; /* the kernel will say what is wrong */
    if (!(n.flags & IFF_UP))
        return blocked(t, RTAP_LINK_DOWN);
    if (!(n.flags & IFF_LOWER_UP))
        return blocked(t, RTAP_NO_CARRIER);
    t->running = true;
    t->next_look = rtap_pace_now() + LOOK_EVERY;
    return 0;
}

static uint32_t limit_of(const struct xdp_sink *t, const uint8_t *data, uint32_t len)
{
    /* as AF_PACKET has it: 4 more for a tag of this one type */
    return t->port->mtu + 14 + (len >= 14 && rtap_be16(data + 12) == 0x8100 ? 4 : 0);
}

/* EBUSY: why the frame was lost. 0: go on; -errno: it is no use now. */
static int account_for_loss(struct xdp_sink *t, const struct queued *q)
{
    int r;

    t->running = false;
    r = check_link(t);
    if (t->gone) {
        refuse(t, RTAP_DEVICE_GONE, 0, 1);
        return r;
    }
    if (r < 0) {
        refuse(t, t->sink.blocked, 0, 1);
        return r;
    }
    if (q->len > t->port->mtu + 18) {
        refuse(t, RTAP_TOO_LONG, 0, 1);
        return 0;
    }
    refuse(t, RTAP_NO_BUFFER, 0, 1);
    return blocked(t, RTAP_NO_BUFFER);
}

static int sink_kick(struct rtap_sink *k)
{
    struct xdp_sink *t = sink_of(k);
    struct rtap_xsk_ring *r = &t->xsk->tx;
    struct queued last = {0};

    if (t->gone)
        return link_is_gone(t);
    rtap_xsk_publish(r);
    t->waiting = 0;
    rtap_xdp_complete(t->port);
    if (t->running && t->tail != r->produced && rtap_pace_now() >= t->next_look)
        t->running = false;
    while (t->tail != r->produced) {
        uint32_t n, from = r->consumed;
        int err = 0, e;

        e = t->running ? 0 : check_link(t);
        if (e < 0)
            return e;
        rtap_xdp_complete(t->port);
        t->st.calls++;
        if (!t->xsk->zerocopy || __atomic_load_n(r->flags, __ATOMIC_RELAXED) & XDP_RING_NEED_WAKEUP)
            err = sendto(t->xsk->fd, NULL, 0, MSG_DONTWAIT, NULL, 0) < 0 ? errno : 0;
        n = account(t, err == EBUSY, &last);
        switch (err) {
        case 0:
        case EAGAIN: /* it takes so many in one call, or there was no room for completions */
            if (r->consumed == from && t->tail != r->produced) {
                rtap_xdp_complete(t->port);
                return blocked(t, RTAP_FULL);
            }
            break;
        case EBUSY:
            if (n == 0)
                return blocked(t, RTAP_NO_BUFFER);
            e = account_for_loss(t, &last);
            if (e < 0)
                return e;
            continue;
        case ENOBUFS:
        case ENOMEM: return blocked(t, RTAP_NO_BUFFER);
        case ENETDOWN:
            t->running = false;
            e = check_link(t);
            return e < 0 ? e : blocked(t, RTAP_LINK_DOWN);
        case ENXIO:
        case ENODEV: return link_is_gone(t);
        default: return rtap_sink_fail(k, -err, "%s: %s", k->name, strerror(err));
        }
        if (n > 0)
            t->backoff = FIRST_BACKOFF;
    }
    k->blocked = RTAP_NO_CAUSE;
    return 0;
}

/* Room for `descs` descriptors in the TX ring: 0, or as kick. */
static int make_room(struct xdp_sink *t, uint32_t descs)
{
    int r;

    if (t->xsk->tx.size - (t->xsk->tx.produced - t->tail) >= descs)
        return 0;
    r = sink_kick(&t->sink);
    if (t->xsk->tx.size - (t->xsk->tx.produced - t->tail) >= descs)
        return 0;
    return r < 0 ? r : blocked(t, RTAP_FULL);
}

static int sink_reserve(struct rtap_sink *k, uint32_t size, uint8_t **data)
{
    struct xdp_sink *t = sink_of(k);
    struct rtap_xdp_port *p = t->port;
    int r;

    if (t->gone)
        return link_is_gone(t);
    if (size > slot_size(t)) {
        rtap_sink_fail(k, -EMSGSIZE, "%s: a frame of %u bytes is longer than there is room for, %u", k->name, size,
                       slot_size(t));
        return refuse(t, RTAP_TOO_LONG, -EMSGSIZE, 1);
    }
    r = make_room(t, p->slot_frames); /* also for a slot that a refused frame left: its room may be taken */
    if (r < 0)
        return r;
    if (t->slot == NO_SLOT) {
        if (p->free_count == 0)
            rtap_xdp_complete(p);
        if (p->free_count == 0) {
            r = sink_kick(k);
            if (r < 0 && r != -EAGAIN)
                return r;
            rtap_xdp_complete(p);
            if (p->free_count == 0)
                return r == -EAGAIN ? r : blocked(t, RTAP_FULL);
        }
        t->slot = p->free_slots[--p->free_count];
    }
    *data = p->pool->umem.area + slot_addr(t, t->slot);
    return 0;
}

static int check_length(struct xdp_sink *t, const uint8_t *data, uint32_t len)
{
    struct rtap_netif n;

    if (len < 14) {
        rtap_sink_fail(&t->sink, -EINVAL, "%s: a frame of %u bytes is too short: an Ethernet header has 14 at least",
                       t->sink.name, len);
        return refuse(t, RTAP_TOO_SHORT, -EINVAL, 1);
    }
    if (len > limit_of(t, data, len))
        rtap_xdp_look(t->port, &n); /* the MTU may be another by now */
    if (len > limit_of(t, data, len)) {
        rtap_sink_fail(&t->sink, -EMSGSIZE, "%s: a frame of %u bytes is too long: with an MTU of %u it has %u at most",
                       t->sink.name, len, t->port->mtu, limit_of(t, data, len));
        return refuse(t, RTAP_TOO_LONG, -EMSGSIZE, 1);
    }
    return 0;
}

static int committed(struct xdp_sink *t, struct queued q)
{
    int r;

    *queued_at(t, t->xsk->tx.produced - q.descs) = q;
    t->frames++;
    t->submitted += q.descs;
    if (++t->waiting < KICK_AT)
        return 0;
    r = sink_kick(&t->sink);
    return r == -EAGAIN ? 0 : r;
}

static int sink_commit(struct rtap_sink *k, const struct rtap_pkt *meta)
{
    struct xdp_sink *t = sink_of(k);
    struct rtap_xdp_port *p = t->port;
    uint32_t chunk = p->pool->umem.frame_size, len = meta->caplen, at = 0, descs = 0, slot = t->slot;
    uint64_t addr;
    int r;

    if (slot == NO_SLOT)
        return -EAGAIN;
    addr = slot_addr(t, slot);
    r = check_length(t, p->pool->umem.area + addr, len);
    if (r < 0)
        return r;
    while (at < len) {
        uint32_t part = len - at < chunk ? len - at : chunk;

        *desc_at(t, t->xsk->tx.produced++) =
            (struct xdp_desc){.addr = addr + at, .len = part, .options = at + part < len ? XDP_PKT_CONTD : 0};
        at += part;
        descs++;
    }
    t->slot = NO_SLOT;
    p->slot_left[slot] = (uint8_t)descs;
    return committed(t, (struct queued){slot, NO_SLOT, len, descs});
}

static int sink_send(struct rtap_sink *k, const struct rtap_pkt *pkt)
{
    struct xdp_sink *t = sink_of(k);
    uint8_t *data;
    int r;

    r = rtap_sink_check(k, &t->st, pkt);
    if (r < 0)
        return r;
    r = sink_reserve(k, pkt->caplen, &data);
    if (r < 0)
        return r;
    memcpy(data, pkt->data, pkt->caplen);
    if (pkt->status & RTAP_PKT_VNET && pkt->status & RTAP_PKT_CSUM_NOT_READY)
        rtap_vnet_complete(pkt, data);
    return sink_commit(k, pkt);
}

/* The frame of a received packet that is in our UMEM and not being sent; NO_SLOT: it isn't. */
static uint32_t received_frame(const struct rtap_xdp_pool *pool, const struct rtap_pkt *pkt)
{
    const uint8_t *area = pool->umem.area;
    uint32_t frame;

    if (pkt->data < area || pkt->data >= area + (size_t)pool->umem.count * pool->umem.frame_size)
        return NO_SLOT;
    frame = rtap_umem_frame(&pool->umem, (uint64_t)(pkt->data - area));
    return pool->frames[frame].place == RTAP_FRAME_RECEIVED ? frame : NO_SLOT;
}

/* A packet that was received into the UMEM that it is sent from: the frame itself goes out, and comes back to the fill
 * ring when it was sent. */
static int sink_pass(struct rtap_sink *k, const struct rtap_pkt *pkt)
{
    struct xdp_sink *t = sink_of(k);
    struct rtap_xdp_pool *pool = t->port->pool;
    uint32_t frame = received_frame(pool, pkt);
    int r;

    if (frame == NO_SLOT || pkt->caplen < pkt->len)
        return sink_send(k, pkt);
    if (t->gone)
        return link_is_gone(t);
    r = check_length(t, pkt->data, pkt->caplen);
    if (r == 0)
        r = make_room(t, 1);
    if (r < 0)
        return r;
    if (pool->local)
        rtap_checksum_finish(pkt, (uint8_t *)pkt->data);
    *desc_at(t, t->xsk->tx.produced++) =
        (struct xdp_desc){.addr = (uint64_t)(pkt->data - pool->umem.area), .len = pkt->caplen};
    pool->frames[frame].place = RTAP_FRAME_BOTH;
    return committed(t, (struct queued){NO_SLOT, frame, pkt->caplen, 1});
}

bool rtap_xdp_sink_has(struct rtap_sink *k, const struct rtap_pkt *pkt)
{
    return k->ops->pass == sink_pass && received_frame(sink_of(k)->port->pool, pkt) != NO_SLOT;
}

static int sink_wait(struct rtap_sink *k, int64_t timeout)
{
    struct xdp_sink *t = sink_of(k);
    struct pollfd p[2] = {{.fd = k->wake_fd, .events = POLLIN}, {.fd = t->xsk->fd, .events = POLLOUT}};
    int64_t pause = timeout;
    struct timespec ts;

    if (k->blocked == RTAP_NO_BUFFER) {
        pause = t->backoff;
        t->backoff = t->backoff < LONGEST_BACKOFF ? t->backoff * 2 : t->backoff;
    } else if (k->blocked == RTAP_LINK_DOWN || k->blocked == RTAP_NO_CARRIER) {
        pause = LINK_PAUSE;
    } else if (!t->xsk->zerocopy) {
        pause = FIRST_BACKOFF; /* poll(2) would send, and not tell what became of it */
    }
    if (pause > timeout)
        pause = timeout;
    ts = (struct timespec){(time_t)(pause / 1000000000), (long)(pause % 1000000000)};
    if (ppoll(p, t->xsk->zerocopy ? 2 : 1, &ts, NULL) < 0 && errno == EINTR)
        return -EINTR;
    return p[0].revents ? -EINTR : 1;
}

static void sink_drop(struct rtap_sink *k, enum rtap_cause why, uint64_t more)
{
    struct xdp_sink *t = sink_of(k);
    struct queued last;

    account(t, false, &last);
    refuse(t, why, 0, t->frames + more);
    free_all(t);
}

static uint64_t sink_pending(struct rtap_sink *k)
{
    struct xdp_sink *t = sink_of(k);

    rtap_xdp_complete(t->port);
    return t->submitted > t->port->completed ? t->submitted - t->port->completed : 0;
}

static int sink_fd(struct rtap_sink *k)
{
    return sink_of(k)->xsk->fd;
}

static void sink_stats(struct rtap_sink *k, struct rtap_sink_stats *st)
{
    struct xdp_sink *t = sink_of(k);

    *st = t->st;
    st->queued = t->frames;
    st->method = "xdp";
    st->reason = t->xsk->zerocopy ? "zero copy" : "copy mode";
    st->frame_count = t->port->send_slots;
    st->frame_size = slot_size(t);
    st->limit = t->port->mtu + 14;
}

void rtap_xdp_flush(struct rtap_xdp_pool *pool)
{
    for (unsigned i = 0; i < RTAP_XDP_MOST_PORTS; i++) {
        struct xdp_sink *t = pool->sinks[i] ? sink_of(pool->sinks[i]) : NULL;

        if (t && t->frames)      /* also those that it could not pass on before: nobody else may try again */
            sink_kick(&t->sink); /* what it can't pass on stays queued, or is counted */
        else if (t)
            rtap_xdp_complete(t->port);
    }
}

static void destroy(struct xdp_sink *t)
{
    struct rtap_xdp_port *p = t->port;

    for (unsigned i = 0; p && i < RTAP_XDP_MOST_PORTS; i++)
        if (p->pool->sinks[i] == &t->sink)
            p->pool->sinks[i] = NULL;

    if (p && --p->ends == 0)
        rtap_xdp_close_sockets(p);
    rtap_xdp_port_unref(p);
    free(t->queue);
    free(t->sink.name);
    free(t);
}

static int sink_close(struct rtap_sink *k, char *err, size_t errlen)
{
    struct xdp_sink *t = sink_of(k);
    int64_t until = rtap_pace_now() + CLOSING_TIME;
    int r = t->frames ? sink_kick(k) : 0;
    uint64_t left;

    k->wake_fd = -1;
    while (r == -EAGAIN && (k->blocked == RTAP_FULL || k->blocked == RTAP_NO_BUFFER) && rtap_pace_now() < until) {
        sink_wait(k, until - rtap_pace_now());
        r = sink_kick(k);
    }
    left = t->frames;
    if (left) {
        snprintf(err, errlen, "%s (%llu frames were still queued, and are not sent)", k->error,
                 (unsigned long long)left);
        sink_drop(k, k->blocked ? k->blocked : RTAP_ABANDONED, 0);
    }
    while (!t->gone && sink_pending(k) > 0 && rtap_pace_now() < until) {
        const struct timespec nap = {0, FIRST_BACKOFF};

        nanosleep(&nap, NULL);
    }
    destroy(t);
    return left ? -EAGAIN : 0;
}

static const struct rtap_sink_ops xdp_sink_ops = {
    .kind = "xdp",
    .reserve = sink_reserve,
    .commit = sink_commit,
    .send = sink_send,
    .pass = sink_pass,
    .kick = sink_kick,
    .wait = sink_wait,
    .drop = sink_drop,
    .pending = sink_pending,
    .fd = sink_fd,
    .stats = sink_stats,
    .close = sink_close,
};

int rtap_xdp_sink_new(struct rtap_sink **out, struct rtap_xdp_port *p, char *err, size_t errlen)
{
    struct xdp_sink *t = calloc(1, sizeof(*t));
    unsigned place;

    *out = NULL;
    if (t) {
        t->queue = calloc(p->xsks[0].tx.size, sizeof(*t->queue));
        t->sink.name = strdup(p->name);
    }
    if (!t || !t->queue || !t->sink.name) {
        snprintf(err, errlen, "%s: %s", p->name, strerror(ENOMEM));
        if (t)
            destroy(t);
        return -ENOMEM;
    }
    t->sink.ops = &xdp_sink_ops;
    t->sink.wake_fd = -1;
    t->sink.live = true;
    t->sink.linktype = RTAP_LINKTYPE_ETHERNET;
    t->port = p;
    t->xsk = &p->xsks[0];
    t->slot = NO_SLOT;
    t->backoff = FIRST_BACKOFF;
    p->refs++;
    p->ends++;
    for (place = 0; place < RTAP_XDP_MOST_PORTS && p->pool->sinks[place]; place++)
        ;
    if (place == RTAP_XDP_MOST_PORTS) { /* nobody would flush it */
        snprintf(err, errlen, "%s: more than %d ports and senders share a UMEM", p->name, RTAP_XDP_MOST_PORTS);
        destroy(t);
        return -ENOSPC;
    }
    p->pool->sinks[place] = &t->sink;
    *out = &t->sink;
    return 0;
}

bool rtap_xdp_sink_facts(struct rtap_sink *k, struct rtap_xdp_facts *f)
{
    if (k->ops != &xdp_sink_ops)
        return false;
    rtap_xdp_port_facts(sink_of(k)->port, f);
    return true;
}
