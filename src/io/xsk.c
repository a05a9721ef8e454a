/* AF_XDP sockets. See xsk.h. */
#include "xsk.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#ifndef SOL_XDP
#define SOL_XDP 283
#endif
#ifndef SO_PREFER_BUSY_POLL
#define SO_PREFER_BUSY_POLL 69
#endif
#ifndef SO_BUSY_POLL_BUDGET
#define SO_BUSY_POLL_BUDGET 70
#endif
#ifndef XDP_MAX_TX_SKB_BUDGET /* Linux 6.18 */
#define XDP_MAX_TX_SKB_BUDGET 9
#endif

#define HUGE_PAGE (2u << 20)
#define BUSY_TIME 1000000000 /* ns that a queue which was ours is waited for */
#define GRACE 100000000      /* ns for any: a process that ended just now may have had it */
#define TX_BUDGET 512        /* frames that a call may send in copy mode; the kernel's own default is 32 */

static int fail(char *err, size_t errlen, int r, const char *name, const char *what)
{
    snprintf(err, errlen, "%s: %s: %s", name, what, strerror(-r));
    return r;
}

/* ------------------------------------------------------------------ memory */

int rtap_umem_new(struct rtap_umem *u, const struct rtap_umem_config *cfg, uint32_t count, const char *name, char *err,
                  size_t errlen)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t round = cfg->huge_pages ? HUGE_PAGE : page;

    memset(u, 0, sizeof(*u));
    u->fd = -1;
    u->frame_size = cfg->frame_size;
    u->headroom = cfg->headroom;
    u->count = count;
    u->unaligned = cfg->unaligned;
    u->huge = cfg->huge_pages;
    if (!u->unaligned &&
        (cfg->frame_size < 2048 || cfg->frame_size > page || cfg->frame_size & (cfg->frame_size - 1))) {
        snprintf(err, errlen, "%s: frame_size = %u: a power of two from 2048 to %zu (the page size), or unaligned=true",
                 name, cfg->frame_size, page);
        return -EINVAL;
    }
    if (cfg->unaligned && (cfg->frame_size < 2048 || cfg->frame_size > page)) {
        snprintf(err, errlen, "%s: frame_size = %u: from 2048 to %zu (the page size)", name, cfg->frame_size, page);
        return -EINVAL;
    }
    u->shift = (unsigned)__builtin_ctz(cfg->frame_size);
    u->size = ((size_t)count * cfg->frame_size + round - 1) / round * round;
    u->area = mmap(NULL, u->size, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE | (cfg->huge_pages ? MAP_HUGETLB : 0), -1, 0);
    if (u->area == MAP_FAILED) {
        int r = -errno;

        u->area = NULL;
        snprintf(err, errlen, "%s: %u frames of %u bytes: %s%s", name, count, cfg->frame_size, strerror(-r),
                 cfg->huge_pages ? " (huge pages are reserved by sysctl vm.nr_hugepages)" : "");
        return r;
    }
    return 0;
}

void rtap_umem_free(struct rtap_umem *u)
{
    if (u->area)
        munmap(u->area, u->size);
    u->area = NULL;
}

static int register_umem(int fd, const struct rtap_umem *u, const char *name, char *err, size_t errlen)
{
    struct xdp_umem_reg reg = {
        .addr = (uintptr_t)u->area,
        .len = (uint64_t)u->count * u->frame_size,
        .chunk_size = u->frame_size,
        .headroom = u->headroom,
        .flags = u->unaligned ? XDP_UMEM_UNALIGNED_CHUNK_FLAG : 0,
    };
    struct rlimit before, all = {RLIM_INFINITY, RLIM_INFINITY};
    int r = setsockopt(fd, SOL_XDP, XDP_UMEM_REG, &reg, sizeof(reg)) < 0 ? -errno : 0;

    if (r == -ENOBUFS && getrlimit(RLIMIT_MEMLOCK, &before) == 0 && setrlimit(RLIMIT_MEMLOCK, &all) == 0) {
        r = setsockopt(fd, SOL_XDP, XDP_UMEM_REG, &reg, sizeof(reg)) < 0 ? -errno : 0;
        setrlimit(RLIMIT_MEMLOCK, &before);
    }
    if (r == -ENOBUFS)
        snprintf(
            err, errlen,
            "%s: XDP_UMEM_REG of %llu bytes: %s (more than the limit of locked memory allows: raise ulimit -l, have "
            "CAP_IPC_LOCK, or take fewer frames by frame_count)",
            name, (unsigned long long)reg.len, strerror(-r));
    else if (r == -EINVAL && u->headroom)
        snprintf(err, errlen, "%s: XDP_UMEM_REG: %s (headroom = %u is too much for frames of %u bytes)", name,
                 strerror(-r), u->headroom, u->frame_size);
    else if (r < 0)
        fail(err, errlen, r, name, "XDP_UMEM_REG");
    return r;
}

/* ------------------------------------------------------------------ rings */

static int map_ring(int fd, struct rtap_xsk_ring *r, uint32_t size, size_t entry, const struct xdp_ring_offset *off,
                    uint64_t pgoff)
{
    r->map_size = off->desc + size * entry;
    r->map = mmap(NULL, r->map_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, (off_t)pgoff);
    if (r->map == MAP_FAILED) {
        r->map = NULL;
        return -errno;
    }
    r->producer = (uint32_t *)((uint8_t *)r->map + off->producer);
    r->consumer = (uint32_t *)((uint8_t *)r->map + off->consumer);
    r->flags = (uint32_t *)((uint8_t *)r->map + off->flags);
    r->entries = (uint8_t *)r->map + off->desc;
    r->size = size;
    r->mask = size - 1;
    return 0;
}

static void unmap_ring(struct rtap_xsk_ring *r)
{
    if (r->map)
        munmap(r->map, r->map_size);
    r->map = NULL;
    r->size = r->produced = r->consumed = 0;
}

static int make_rings(struct rtap_xsk *x, const struct rtap_xsk_config *cfg, const char *name, char *err, size_t errlen)
{
    const struct {
        struct rtap_xsk_ring *ring;
        int option;
        uint32_t size;
        size_t entry;
        uint64_t pgoff;
        const char *what;
    } rings[] = {
        {&x->fill, XDP_UMEM_FILL_RING, cfg->fill_size, sizeof(uint64_t), XDP_UMEM_PGOFF_FILL_RING,
         "XDP_UMEM_FILL_RING"},
        {&x->completion, XDP_UMEM_COMPLETION_RING, cfg->completion_size, sizeof(uint64_t),
         XDP_UMEM_PGOFF_COMPLETION_RING, "XDP_UMEM_COMPLETION_RING"},
        {&x->rx, XDP_RX_RING, cfg->rx_size, sizeof(struct xdp_desc), XDP_PGOFF_RX_RING, "XDP_RX_RING"},
        {&x->tx, XDP_TX_RING, cfg->tx_size, sizeof(struct xdp_desc), XDP_PGOFF_TX_RING, "XDP_TX_RING"},
    };
    struct xdp_mmap_offsets off;
    const struct xdp_ring_offset *offsets[] = {&off.fr, &off.cr, &off.rx, &off.tx};
    socklen_t len = sizeof(off);

    for (unsigned i = 0; i < 4; i++)
        if (rings[i].size && setsockopt(x->fd, SOL_XDP, rings[i].option, &rings[i].size, sizeof(uint32_t)) < 0)
            return fail(err, errlen, -errno, name, rings[i].what);
    if (getsockopt(x->fd, SOL_XDP, XDP_MMAP_OFFSETS, &off, &len) < 0)
        return fail(err, errlen, -errno, name, "XDP_MMAP_OFFSETS");
    for (unsigned i = 0; i < 4; i++) {
        int r = rings[i].size
                    ? map_ring(x->fd, rings[i].ring, rings[i].size, rings[i].entry, offsets[i], rings[i].pgoff)
                    : 0;

        if (r < 0)
            return fail(err, errlen, r, name, "mapping a ring");
    }
    return 0;
}

/* ------------------------------------------------------------------ binding */

static int64_t now(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * 1000000000ll + ts.tv_nsec;
}

/* The kernel lets go of a queue some milliseconds after the socket is closed. */
static int bind_patiently(int fd, const struct sockaddr_xdp *to, bool ours)
{
    int64_t until = now() + (ours ? BUSY_TIME : GRACE);
    const struct timespec nap = {0, 1000000};

    for (;;) {
        if (bind(fd, (const struct sockaddr *)to, sizeof(*to)) == 0)
            return 0;
        if (errno != EBUSY || now() > until)
            return -errno;
        nanosleep(&nap, NULL);
    }
}

static int bind_queue(struct rtap_xsk *x, const struct rtap_xsk_config *cfg, const char *name, char *err, size_t errlen)
{
    struct sockaddr_xdp to = {
        .sxdp_family = AF_XDP, .sxdp_ifindex = (uint32_t)cfg->ifindex, .sxdp_queue_id = cfg->queue};
    struct xdp_options options = {0};
    socklen_t len = sizeof(options);
    int r;

    if (x->umem->fd != x->fd) { /* its flags are those of the first socket */
        to.sxdp_flags = XDP_SHARED_UMEM;
        to.sxdp_shared_umem_fd = (uint32_t)x->umem->fd;
    } else {
        to.sxdp_flags = (uint16_t)((cfg->copy == 1   ? XDP_COPY
                                    : cfg->copy == 0 ? XDP_ZEROCOPY
                                                     : 0) |
                                   (cfg->need_wakeup ? XDP_USE_NEED_WAKEUP : 0) | (cfg->fragments ? XDP_USE_SG : 0));
    }
    r = bind_patiently(x->fd, &to, cfg->was_ours);
    if (r == -EBUSY)
        snprintf(err, errlen,
                 "%s: queue %u: %s (another AF_XDP socket has this queue: one of another process, or one opened here: "
                 "receiving and sending on one queue go together by ringtap.port)",
                 name, cfg->queue, strerror(-r));
    else if (r == -EOPNOTSUPP && cfg->copy == 0)
        snprintf(err, errlen, "%s: queue %u: zero copy: %s (its driver has none: copy=true, or leave copy out)", name,
                 cfg->queue, strerror(-r));
    else if (r == -EINVAL)
        snprintf(err, errlen, "%s: queue %u: bind: %s (has the device such a queue? `ringtap info` lists them)", name,
                 cfg->queue, strerror(-r));
    else if (r < 0)
        snprintf(err, errlen, "%s: queue %u: bind: %s", name, cfg->queue, strerror(-r));
    if (r < 0)
        return r;
    if (getsockopt(x->fd, SOL_XDP, XDP_OPTIONS, &options, &len) == 0)
        x->zerocopy = options.flags & XDP_OPTIONS_ZEROCOPY;
    return 0;
}

static int set_busy_poll(int fd, int64_t us, const char *name, char *err, size_t errlen)
{
    const int one = 1, budget = 64, time = (int)us;

    if (setsockopt(fd, SOL_SOCKET, SO_PREFER_BUSY_POLL, &one, sizeof(one)) < 0 ||
        setsockopt(fd, SOL_SOCKET, SO_BUSY_POLL, &time, sizeof(time)) < 0 ||
        setsockopt(fd, SOL_SOCKET, SO_BUSY_POLL_BUDGET, &budget, sizeof(budget)) < 0)
        return fail(err, errlen, -errno, name, "busy_poll");
    return 0;
}

int rtap_xsk_open(struct rtap_xsk *x, int fd, struct rtap_umem *u, const struct rtap_xsk_config *cfg, const char *name,
                  char *err, size_t errlen)
{
    const uint32_t budget = cfg->tx_size < TX_BUDGET ? cfg->tx_size : TX_BUDGET;
    bool first = u->fd < 0;
    int r = 0;

    x->fd = fd;
    x->umem = u;
    x->queue = cfg->queue;
    x->need_wakeup = cfg->need_wakeup;
    x->fragments = cfg->fragments;
    if (first)
        r = register_umem(fd, u, name, err, errlen);
    if (r == 0 && first)
        u->fd = fd;
    if (r == 0)
        r = make_rings(x, cfg, name, err, errlen);
    if (r == 0 && cfg->tx_size)
        setsockopt(fd, SOL_XDP, XDP_MAX_TX_SKB_BUDGET, &budget, sizeof(budget)); /* older kernels have none */
    if (r == 0)
        r = bind_queue(x, cfg, name, err, errlen);
    if (r == 0 && cfg->busy_poll)
        r = set_busy_poll(fd, cfg->busy_poll, name, err, errlen);
    if (r < 0) {
        if (first)
            u->fd = -1;
        rtap_xsk_close(x);
    }
    return r;
}

void rtap_xsk_close(struct rtap_xsk *x)
{
    /* while one is mapped the kernel keeps the queue */
    unmap_ring(&x->rx);
    unmap_ring(&x->tx);
    unmap_ring(&x->fill);
    unmap_ring(&x->completion);
    if (x->fd >= 0)
        close(x->fd);
    x->fd = -1;
}

void rtap_xsk_statistics(const struct rtap_xsk *x, struct xdp_statistics *st)
{
    socklen_t len = sizeof(*st);

    memset(st, 0, sizeof(*st));
    if (x->fd >= 0)
        getsockopt(x->fd, SOL_XDP, XDP_STATISTICS, st, &len);
}
