/*
 * The AF_PACKET source. Owns the socket and the mapped ring.
 *
 * Invariants: the socket has protocol 0 until its filter is attached and its counters are cleared, so nothing that the
 * filter rejects is ever in the ring. The kernel's counters reset when read, so they are added up here. After the
 * device is gone every wait says so. The mapping and the descriptor live until the last pinned block is released; a
 * closed source that is still pinned receives nothing.
 */
#include "tpacket.h"

#include "netns.h"
#include "ring.h"
#include "tpacket_setup.h"
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/net_tstamp.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static void fold_statistics(struct tpacket *t)
{
    struct tpacket_stats_v3 st;
    socklen_t len = sizeof(st);

    if (t->fd < 0 || getsockopt(t->fd, SOL_PACKET, PACKET_STATISTICS, &st, &len) < 0)
        return;
    t->accepted += st.tp_packets - st.tp_drops; /* tp_packets counts the dropped ones too */
    t->dropped += st.tp_drops;
    t->freezes += st.tp_freeze_q_cnt;
    t->folded_at = t->ring.sequence;
}

static int tpacket_next(struct rtap_source *s, struct rtap_pkt *pkt)
{
    struct tpacket *t = (struct tpacket *)s;
    bool fresh = t->ring.left == 0;
    int r = rtap_ring_next(&t->ring, pkt);

    if (__builtin_expect(!fresh, 1))
        return r;
    if (r == RTAP_AGAIN) {
        if (t->draining) {
            fold_statistics(t);
            if (t->drained || t->ring.read >= t->accepted)
                return RTAP_END;
        }
        return r;
    }
    /* A new block. The kernel's counters have 32 bits: read them before they can wrap. */
    if (t->ring.sequence - t->folded_at > 4096)
        fold_statistics(t);
    if (t->recheck && t->ring.sequence > t->recheck_until) {
        t->recheck = false;
        rtap_filter_unref(s->filter);
        s->filter = NULL;
    }
    return r;
}

/* The device is gone when the socket is no longer bound to it. */
static bool device_gone(const struct tpacket *t)
{
    struct sockaddr_ll sll;
    socklen_t len = sizeof(sll);

    return t->ifindex != 0 && (getsockname(t->fd, (struct sockaddr *)&sll, &len) < 0 || sll.sll_ifindex != t->ifindex);
}

static int64_t now(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * 1000000000ll + ts.tv_nsec;
}

/* How long to sleep when a held block hides from poll() whether something is new. */
#define HELD_NAP 1000000

/* No more is to come, but what is in the block that the kernel is filling comes when its timer fires. */
static void expect_last_block(struct tpacket *t)
{
    t->last_block_at = now() + 2 * t->retire_timeout + 20000000;
}

/* A deleted device first goes down, which poll() tells, and is unbound a moment later, which nothing tells. */
#define DOWN_NAP 200000000

static void look_for_device(struct tpacket *t)
{
    if (t->down && !t->gone && device_gone(t)) {
        t->gone = true;
        expect_last_block(t);
    }
}

static int tpacket_wait(struct rtap_source *s, int64_t timeout)
{
    struct tpacket *t = (struct tpacket *)s;
    int64_t end = timeout < 0 ? INT64_MAX : now() + timeout;
    bool held = false;

    for (;;) {
        int64_t until = end, left = -1, time;
        int error = 0, r;
        socklen_t len = sizeof(error);
        short revents = 0;

        if (t->ring.left || rtap_ring_ready(&t->ring))
            return 1;
        if (t->ring.blocks[t->ring.cursor].block.pins)
            return rtap_source_fail(
                s, -ENOBUFS, "%s: the ring has come round to a block that is held: release its packets first", s->name);
        if ((t->gone || t->draining) && until > t->last_block_at)
            until = t->last_block_at;
        if (until != INT64_MAX) {
            left = until - now();
            if (left < 0)
                left = 0;
        }
        if (held && (left < 0 || left > HELD_NAP))
            left = HELD_NAP;
        if (t->down && !t->gone && (left < 0 || left > DOWN_NAP))
            left = DOWN_NAP;
        r = rtap_source_poll(s, held ? -1 : t->fd, left, &revents);
        if (r < 0)
            return r;
        held = false;
        if (revents & POLLERR) {
            getsockopt(t->fd, SOL_SOCKET, SO_ERROR, &error, &len);
            if (error == ENETDOWN || error == 0) {
                t->down = true;
                look_for_device(t);
                continue;
            }
            return rtap_source_fail(s, -error, "%s: %s", s->name, strerror(error));
        }
        if (revents & POLLIN) {
            if (rtap_ring_ready(&t->ring))
                return 1;
            /* poll() looks at the block before the one that the kernel fills: while that is held it always says yes */
            held = true;
        }
        look_for_device(t);
        time = now();
        if (t->gone && time >= t->last_block_at)
            return rtap_source_fail(s, -ENODEV, "%s: No such device (deleted, or moved to another network namespace)",
                                    s->name);
        if (t->draining && time >= t->last_block_at) {
            t->drained = true;
            return 1;
        }
        if (time >= end)
            return 0;
    }
}

static int tpacket_fd(struct rtap_source *s)
{
    return ((struct tpacket *)s)->fd;
}

static int attach(struct tpacket *t, const struct sock_filter *insns, unsigned count)
{
    struct sock_fprog prog = {.len = (unsigned short)count, .filter = (struct sock_filter *)insns};

    return setsockopt(t->fd, SOL_SOCKET, SO_ATTACH_FILTER, &prog, sizeof(prog)) < 0 ? -errno : 0;
}

/*
 * Swap the kernel's program. Packets that passed the old one may still be in the ring, or on their way into it on
 * another CPU: until the ring has gone round once more they are matched again here.
 */
static int tpacket_filter(struct rtap_source *s, struct rtap_filter *f)
{
    struct tpacket *t = (struct tpacket *)s;
    struct sock_filter *insns = NULL;
    struct rtap_filter *old = s->filter;
    unsigned count = 0;
    bool user = false, both;
    int r;

    if (t->draining) { /* the kernel lets nothing in any more: what is there is matched here */
        s->filter = f ? rtap_filter_ref(f) : NULL;
        rtap_filter_unref(old);
        t->recheck = false;
        t->engine = f ? "user" : NULL;
        return 0;
    }

    r = rtap_filter_kernel(f, &t->env, &insns, &count, s->error, sizeof(s->error));
    both = r == 1; /* the kernel's program lets some frames through that only the expression itself can judge */
    if ((r == -ENOTSUP || r == -E2BIG) && f) {
        user = true; /* the same answer, later */
        r = rtap_filter_kernel(NULL, &t->env, &insns, &count, s->error, sizeof(s->error));
    }
    if (r < 0)
        return r;
    r = attach(t, insns, count);
    free(insns);
    if (r == -ENOMEM && f && !user) { /* larger than net.core.optmem_max allows */
        user = true;
        r = rtap_filter_kernel(NULL, &t->env, &insns, &count, s->error, sizeof(s->error));
        if (r < 0)
            return r;
        r = attach(t, insns, count);
        free(insns);
    }
    if (r < 0)
        return rtap_source_fail(s, r, "%s: SO_ATTACH_FILTER: %s", s->name, strerror(-r));
    t->recheck = t->bound && f && !user && !both;
    t->recheck_until = t->ring.sequence + t->ring.block_count + 1;
    s->filter = f && (user || both || t->recheck) ? rtap_filter_ref(f) : NULL;
    rtap_filter_unref(old);
    t->engine = !f ? NULL : user ? "user" : "kernel";
    t->uncounted = t->uncounted || (f && !user);
    return 0;
}

static void attach_reject_all(struct tpacket *t)
{
    static const struct sock_filter reject = BPF_STMT(BPF_RET | BPF_K, 0);

    attach(t, &reject, 1);
}

static int tpacket_drain(struct rtap_source *s)
{
    struct tpacket *t = (struct tpacket *)s;

    attach_reject_all(t);
    fold_statistics(t);
    if (!t->draining && !t->gone)
        expect_last_block(t);
    t->draining = true;
    return 0;
}

static void tpacket_stats(struct rtap_source *s, struct rtap_source_stats *st)
{
    struct tpacket *t = (struct tpacket *)s;

    fold_statistics(t);
    st->knows_filtered = !t->uncounted;
    st->knows_dropped = true;
    st->dropped = t->dropped;
    st->drops[0] = (struct rtap_drops){"ring_full", t->dropped};
    st->queued = t->accepted > t->ring.read ? t->accepted - t->ring.read : 0;
    st->freezes = t->freezes;
    st->has_ring = true;
    st->block_size = t->ring.block_size;
    st->block_count = t->ring.block_count;
    st->timestamp_source = t->ring.hardware_time ? "hardware" : "software";
    st->fanout_id = t->fanout_id;
    st->filter_engine = t->engine;
}

static bool tpacket_interface(struct rtap_source *s, unsigned i, struct rtap_source_if *out)
{
    struct tpacket *t = (struct tpacket *)s;

    if (i > 0)
        return false;
    *out = (struct rtap_source_if){
        .name = s->name, .id = (uint32_t)t->ifindex, .snaplen = t->ring.snaplen, .linktype = s->linktype};
    return true;
}

/* "any": the name of a packet's interface. Names live as long as the source, since packets point at them. */
const char *rtap_tpacket_ifname(struct rtap_source *s, uint32_t ifindex)
{
    struct tpacket *t = (struct tpacket *)s;
    struct ifreq ifr = {.ifr_ifindex = (int)ifindex};
    struct known_name *n;

    if (t->last_name && t->last_name->ifindex == ifindex)
        return t->last_name->name;
    for (n = t->names; n; n = n->next)
        if (n->ifindex == ifindex)
            break;
    if (!n && ioctl(t->fd, SIOCGIFNAME, &ifr) == 0) {
        n = calloc(1, sizeof(*n));
        if (!n)
            return NULL;
        n->ifindex = ifindex;
        memcpy(n->name, ifr.ifr_name, sizeof(n->name) - 1);
        n->next = t->names;
        t->names = n;
    }
    if (!n)
        return NULL;
    t->last_name = n;
    return n->name;
}

static void unmap(struct tpacket *t)
{
    if (t->map)
        munmap(t->map, t->map_size);
    t->map = NULL;
    if (t->fd >= 0)
        close(t->fd);
    t->fd = -1;
}

/*
 * Packets are still held: put a copy of their blocks, in ordinary memory, where the ring is mapped. They keep their
 * addresses, and the socket can end now; else it would live as long as the mapping, take its share of a fanout group
 * and stay in /proc/net/packet. Without the memory for that it lives on, deaf.
 */
static void replace_ring(struct tpacket *t)
{
    uint8_t *copy = mmap(NULL, t->map_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (copy == MAP_FAILED)
        return;
    for (uint32_t i = 0; i < t->ring.block_count; i++)
        if (t->ring.blocks[i].block.pins)
            memcpy(copy + (size_t)i * t->ring.block_size, t->ring.blocks[i].memory, t->ring.block_size);
    if (mremap(copy, t->map_size, t->map_size, MREMAP_MAYMOVE | MREMAP_FIXED, t->map) == MAP_FAILED) {
        munmap(copy, t->map_size);
        return;
    }
    close(t->fd);
    t->fd = -1;
}

static void tpacket_close(struct rtap_source *s)
{
    struct tpacket *t = (struct tpacket *)s;
    bool held = false;

    fold_statistics(t);
    if (t->fd < 0 || !t->map)
        return;
    attach_reject_all(t);
    for (uint32_t i = 0; i < t->ring.block_count; i++)
        held = held || t->ring.blocks[i].block.pins > (s->block == &t->ring.blocks[i].block);
    if (held)
        replace_ring(t);
}

static void tpacket_destroy(struct rtap_source *s)
{
    struct tpacket *t = (struct tpacket *)s;
    struct known_name *n;

    unmap(t);
    while ((n = t->names)) {
        t->names = n->next;
        free(n);
    }
    rtap_ring_fini(&t->ring);
    rtap_source_fini(s);
    free(t);
}

const struct rtap_source_ops rtap_tpacket_ops = {
    .kind = "packet",
    .live = true,
    .next = tpacket_next,
    .release = rtap_ring_release,
    .wait = tpacket_wait,
    .fd = tpacket_fd,
    .filter = tpacket_filter,
    .drain = tpacket_drain,
    .stats = tpacket_stats,
    .interface = tpacket_interface,
    .close = tpacket_close,
    .destroy = tpacket_destroy,
};

int rtap_tpacket_start(struct rtap_source *s, struct rtap_filter *f)
{
    struct tpacket *t = (struct tpacket *)s;
    struct sockaddr_ll sll = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL), .sll_ifindex = t->ifindex};
    int r;

    r = tpacket_filter(s, f);
    if (r < 0)
        return r;
    fold_statistics(t);
    t->accepted = t->dropped = t->freezes = 0;
    if (bind(t->fd, (struct sockaddr *)&sll, sizeof(sll)) < 0)
        return rtap_source_fail(s, -errno, "%s: bind: %s", s->name, strerror(errno));
    t->bound = true;
    if (t->promisc) {
        struct packet_mreq mr = {.mr_ifindex = t->ifindex, .mr_type = PACKET_MR_PROMISC};

        if (setsockopt(t->fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &mr, sizeof(mr)) < 0)
            return rtap_source_fail(s, -errno, "%s: promiscuous mode: %s", s->name, strerror(errno));
    }
    return rtap_tpacket_join_fanout(t);
}
