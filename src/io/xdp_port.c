/*
 * Opening AF_XDP sockets on the queues of an interface, and the account of their frames. See xdp.h and xdp_port.h.
 *
 * The UMEM is cut into runs of frames: one for each queue that receives, one for what is sent. A run belongs to one
 * socket, and its fill ring has room for all of it, so giving a frame back never fails.
 */
#include "xdp_port.h"

#include "device.h"
#include "netns.h"
#include "pace.h"
#include <errno.h>
#include <linux/if_packet.h>
#include <linux/netlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef AF_XDP
#define AF_XDP 44
#endif
#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE 71
#endif

#define DEFAULT_RING 4096u
#define DEFAULT_LATENCY 1000000 /* ns */
#define REMEMBERED 2000000000ll /* ns that a closed queue is remembered */

/* ------------------------------------------------------------------ frames */

static struct rtap_xsk *owner_of(const struct rtap_xdp_pool *pool, uint32_t frame)
{
    return pool->owners[pool->frames[frame].run];
}

void rtap_xdp_give_back(struct rtap_xdp_pool *pool, uint32_t frame, enum rtap_frame_place place)
{
    struct rtap_xdp_frame *f = &pool->frames[frame];
    struct rtap_xsk *owner;

    if (f->place == RTAP_FRAME_BOTH) { /* the other one still has it */
        f->place = place == RTAP_FRAME_SENDING ? RTAP_FRAME_RECEIVED : RTAP_FRAME_SENDING;
        return;
    }
    f->place = RTAP_FRAME_FREE;
    owner = owner_of(pool, frame);
    if (owner && owner->fd >= 0)
        rtap_xsk_fill(owner, frame);
}

void rtap_xdp_publish(struct rtap_xdp_port *p)
{
    struct rtap_xdp_pool *pool = p->pool;

    for (uint32_t i = 0; i < pool->run_count; i++) {
        struct rtap_xsk *x = pool->owners[i];

        if (!x || x->fd < 0)
            continue;
        rtap_xsk_publish(&x->fill);
        if (x->need_wakeup && __atomic_load_n(x->fill.flags, __ATOMIC_RELAXED) & XDP_RING_NEED_WAKEUP)
            recvfrom(x->fd, NULL, 0, MSG_DONTWAIT, NULL, NULL);
    }
}

void rtap_xdp_complete(struct rtap_xdp_port *p)
{
    struct rtap_xsk *x = &p->xsks[0];
    struct rtap_xsk_ring *r = &x->completion;
    struct rtap_xdp_pool *pool = p->pool;
    bool others = false;
    uint32_t n, dropped = 0;

    if (x->fd < 0)
        return;
    n = rtap_xsk_ready(r);
    for (uint32_t i = 0; i < n; i++) {
        uint64_t addr = ((uint64_t *)r->entries)[(r->consumed + i) & r->mask];
        uint32_t frame = rtap_umem_frame(&pool->umem, addr);

        if (addr == RTAP_XDP_NOWHERE) {
            dropped++;
            continue;
        }
        if (frame >= p->send_first && frame < p->send_first + p->send_slots * p->slot_frames) {
            uint32_t slot = frame - p->send_first;

            if (p->slot_frames > 1)
                slot /= p->slot_frames;
            if (--p->slot_left[slot] == 0)
                p->free_slots[p->free_count++] = slot;
        } else {
            rtap_xdp_give_back(pool, frame, RTAP_FRAME_SENDING);
            others = true;
        }
    }
    p->completed += n - dropped;
    rtap_xsk_taken(r, n);
    if (others)
        rtap_xdp_publish(p);
}

static void pool_unref(struct rtap_xdp_pool *pool)
{
    if (!pool || --pool->refs > 0)
        return;
    rtap_umem_free(&pool->umem);
    free(pool->frames);
    free(pool->owners);
    free(pool);
}

static int pool_new(struct rtap_xdp_pool **out, const struct rtap_xdp_port_config *cfg, uint32_t run, uint32_t runs,
                    char *err, size_t errlen)
{
    struct rtap_umem_config u = {
        .frame_size = cfg->frame_size ? (uint32_t)cfg->frame_size : 2048,
        .headroom = (uint32_t)cfg->headroom,
        .unaligned = cfg->unaligned,
        .huge_pages = cfg->huge_pages,
    };
    struct rtap_xdp_pool *pool = calloc(1, sizeof(*pool));
    int r = -ENOMEM;

    *out = NULL;
    if (!pool)
        goto no_memory;
    pool->refs = 1;
    pool->run = run;
    pool->run_count = runs;
    pool->frames = calloc((size_t)run * runs, sizeof(*pool->frames));
    pool->owners = calloc(runs, sizeof(*pool->owners));
    if (!pool->frames || !pool->owners)
        goto no_memory;
    for (uint32_t i = 0; i < run * runs; i++)
        pool->frames[i].run = (uint16_t)(i / run);
    r = rtap_umem_new(&pool->umem, &u, run * runs, cfg->ifname, err, errlen);
    if (r < 0) {
        pool_unref(pool);
        return r;
    }
    *out = pool;
    return 0;
no_memory:
    snprintf(err, errlen, "%s: %s", cfg->ifname, strerror(ENOMEM));
    pool_unref(pool);
    return r;
}

/* ------------------------------------------------------------------ queues that were closed here */

static bool was_ours(const struct rtap_xdp_port *p, uint32_t queue)
{
    int64_t now = rtap_pace_now();

    for (unsigned i = 0; p->memory && i < sizeof(p->memory->last) / sizeof(p->memory->last[0]); i++)
        if (p->memory->last[i].ifindex == p->ifindex && p->memory->last[i].queue == queue &&
            p->memory->last[i].netns == p->netns && now - p->memory->last[i].closed < REMEMBERED)
            return true;
    return false;
}

static void remember(struct rtap_xdp_port *p, uint32_t queue)
{
    const unsigned most = sizeof(p->memory->last) / sizeof(p->memory->last[0]);

    if (!p->memory)
        return;
    p->memory->last[p->memory->next].closed = rtap_pace_now();
    p->memory->last[p->memory->next].ifindex = p->ifindex;
    p->memory->last[p->memory->next].queue = queue;
    p->memory->last[p->memory->next].netns = p->netns;
    p->memory->next = (p->memory->next + 1) % most;
}

/* ------------------------------------------------------------------ opening */

static int find_queues(struct rtap_xdp_port *p, const struct rtap_xdp_port_config *cfg, char *err, size_t errlen)
{
    struct rtap_netif n = {.rx_queues = 0};
    struct rtap_netif_detail d = {.has_channels = false};
    unsigned all;

    if (rtap_xdp_look(p, &n) == 0) {
        p->virtual = n.kind[0] != '\0';
        memcpy(p->address, n.address, n.address_len < 6 ? n.address_len : 6);
    }
    all = n.rx_queues ? n.rx_queues : 1;
    if (rtap_netif_detail(cfg->netns, cfg->ifname, &d, err, errlen) == 0 && d.has_channels && d.rx_channels)
        all = d.rx_channels;
    p->queue_count = cfg->queue_count ? cfg->queue_count : cfg->receives ? all : 1;
    if (p->queue_count > RTAP_XDP_MOST_QUEUES) {
        snprintf(err, errlen, "%s: it has %u queues, more than the %d that one source can have: list some by queues",
                 cfg->ifname, p->queue_count, RTAP_XDP_MOST_QUEUES);
        return -E2BIG;
    }
    p->queues = calloc(p->queue_count, sizeof(*p->queues));
    p->xsks = calloc(p->queue_count, sizeof(*p->xsks));
    if (!p->queues || !p->xsks) {
        snprintf(err, errlen, "%s: %s", cfg->ifname, strerror(ENOMEM));
        return -ENOMEM;
    }
    for (unsigned i = 0; i < p->queue_count; i++) {
        p->queues[i] = cfg->queue_count ? cfg->queues[i] : i;
        p->xsks[i].fd = -1;
        if (p->queues[i] >= all) {
            snprintf(err, errlen, "%s: it has no queue %u: they are 0 to %u", cfg->ifname, p->queues[i], all - 1);
            return -EINVAL;
        }
    }
    return 0;
}

static uint32_t power_of_two(uint64_t n)
{
    uint32_t v = 1;

    while (v < n && v < 1u << 30)
        v *= 2;
    return v;
}

/* The runs of frames that this port takes from the pool: one for each queue that receives, one for sending. */
static unsigned runs_needed(const struct rtap_xdp_port *p)
{
    return (p->receives ? p->queue_count : 0) + (p->sends ? 1 : 0);
}

static int take_pool(struct rtap_xdp_port *p, const struct rtap_xdp_port_config *cfg, char *err, size_t errlen)
{
    uint32_t run = cfg->frame_count ? (uint32_t)cfg->frame_count : 2 * p->ring_size;
    uint32_t ports = cfg->port_count ? (uint32_t)cfg->port_count : 1;

    if (cfg->share) {
        struct rtap_xdp_pool *pool = cfg->share->pool;

        if (pool->runs_used + runs_needed(p) > pool->run_count || pool->umem.fd < 0) {
            snprintf(err, errlen,
                     "%s: the UMEM of %s has no frames left for another port: open that one with port_count=2 (or "
                     "more, when "
                     "this one has more queues)",
                     p->name, cfg->share->name);
            return -ENOSPC;
        }
        pool->refs++;
        p->pool = pool;
        return 0;
    }
    if ((uint64_t)run * runs_needed(p) * ports > 1u << 22) {
        snprintf(err, errlen, "%s: %u frames are too many: fewer by frame_count or ring_size", p->name,
                 run * runs_needed(p) * ports);
        return -EINVAL;
    }
    return pool_new(&p->pool, cfg, run, runs_needed(p) * ports, err, errlen);
}

static int open_socket(struct rtap_xdp_port *p, const struct rtap_xdp_port_config *cfg, unsigned i, char *err,
                       size_t errlen)
{
    struct rtap_xdp_pool *pool = p->pool;
    bool sends = p->sends && i == 0;
    struct rtap_xsk_config x = {
        .ifindex = p->ifindex,
        .queue = p->queues[i],
        .rx_size = p->receives ? p->ring_size : 0,
        .tx_size = sends ? p->ring_size : 0,
        .fill_size = power_of_two(p->receives ? pool->run : 1),
        .completion_size = sends ? 2 * p->ring_size : 1,
        .copy = cfg->copy,
        .need_wakeup = true,
        .fragments = cfg->fragments != 0,
        .busy_poll = cfg->busy_poll,
        .was_ours = was_ours(p, p->queues[i]),
    };
    struct rtap_xsk *xsk = &p->xsks[i];
    char text[256];
    int fd, r;

    for (;;) {
        fd = rtap_netns_socket(cfg->netns, AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0, text, sizeof(text));
        if (fd < 0) {
            snprintf(err, errlen, "%s: an AF_XDP socket: %s%s", p->name, text,
                     fd == -EPERM ? " (needs CAP_NET_RAW: run as root, or setcap "
                                    "cap_net_raw,cap_net_admin,cap_bpf,cap_perfmon,cap_ipc_lock+ep on the lua binary)"
                                  : "");
            return fd;
        }
        r = rtap_xsk_open(xsk, fd, &pool->umem, &x, p->name, err, errlen);
        if (r == -EINVAL && x.fragments && cfg->fragments < 0) { /* before Linux 6.6, or a driver without them */
            x.fragments = false;
            continue;
        }
        break;
    }
    if (r < 0)
        return r;
    if (p->receives) {
        xsk->first = pool->runs_used * pool->run;
        xsk->count = pool->run;
        pool->owners[pool->runs_used++] = xsk;
        for (uint32_t n = 0; n < xsk->count; n++)
            rtap_xsk_fill(xsk, xsk->first + n);
        rtap_xsk_publish(&xsk->fill);
    }
    return 0;
}

static int make_slots(struct rtap_xdp_port *p, char *err, size_t errlen)
{
    struct rtap_xdp_pool *pool = p->pool;
    uint32_t longest = p->mtu + 14 + 4;

    p->send_first = pool->runs_used++ * pool->run;
    p->slot_frames = pool->umem.unaligned || !p->xsks[0].fragments
                         ? 1
                         : (longest + pool->umem.frame_size - 1) / pool->umem.frame_size;
    p->send_slots = pool->run / p->slot_frames;
    p->free_slots = calloc(p->send_slots + 1, sizeof(*p->free_slots));
    p->slot_left = calloc(p->send_slots + 1, sizeof(*p->slot_left));
    if (!p->free_slots || !p->slot_left) {
        snprintf(err, errlen, "%s: %s", p->name, strerror(ENOMEM));
        return -ENOMEM;
    }
    for (uint32_t i = p->send_slots; i > 0; i--)
        p->free_slots[p->free_count++] = i - 1;
    if (p->send_slots == 0) {
        snprintf(err, errlen, "%s: frame_count = %u: not enough for one frame of %u bytes", p->name, pool->run,
                 longest);
        return -EINVAL;
    }
    if (p->slot_frames > p->xsks[0].tx.size) {
        snprintf(err, errlen, "%s: ring_size = %u: a frame of %u bytes takes %u descriptors, of %u bytes each", p->name,
                 p->xsks[0].tx.size, longest, p->slot_frames, pool->umem.frame_size);
        return -EINVAL;
    }
    return 0;
}

/* AF_XDP has no option for it; it lasts as long as a socket that does. */
static int be_promiscuous(struct rtap_xdp_port *p, const char *netns, char *err, size_t errlen)
{
    struct packet_mreq mr = {.mr_ifindex = p->ifindex, .mr_type = PACKET_MR_PROMISC};

    p->promisc_fd = rtap_device_socket(p->name, netns, SOCK_RAW, err, errlen);
    if (p->promisc_fd < 0)
        return p->promisc_fd;
    if (setsockopt(p->promisc_fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &mr, sizeof(mr)) == 0)
        return 0;
    snprintf(err, errlen, "%s: promiscuous mode: %s", p->name, strerror(errno));
    return -errno;
}

struct load {
    struct rtap_xdp_port *p;
    char *err;
    size_t errlen;
};

static int load_there(void *arg)
{
    struct load *l = arg;

    return rtap_xdp_load(&l->p->program, &l->p->program_cfg, l->err, l->errlen);
}

static int copy_text(char **to, const char *from)
{
    *to = from ? strdup(from) : NULL;
    return from && !*to ? -ENOMEM : 0;
}

int rtap_xdp_port_open(struct rtap_xdp_port **out, const struct rtap_xdp_port_config *cfg, char *err, size_t errlen)
{
    struct rtap_device d = {0};
    struct rtap_xdp_port *p;
    socklen_t len = sizeof(p->netns);
    int r = rtap_device_find(&d, cfg->ifname, cfg->netns, err, errlen);

    *out = NULL;
    if (r < 0)
        return r;
    if (d.ifindex == 0 || !d.ethernet) {
        snprintf(err, errlen, "%s: backend \"xdp\" is for one interface with Ethernet frames%s", cfg->ifname,
                 d.ifindex ? ", which this isn't" : ", not for all");
        return -EINVAL;
    }
    p = calloc(1, sizeof(*p));
    if (p) {
        p->refs = 1;
        p->link_fd = p->promisc_fd = -1;
    }
    if (!p || copy_text(&p->name, cfg->ifname) < 0 || copy_text(&p->program_file, cfg->program) < 0 ||
        copy_text(&p->map_name, cfg->map) < 0 || copy_text(&p->pass, cfg->pass) < 0 ||
        copy_text(&p->netns_name, cfg->netns) < 0) {
        snprintf(err, errlen, "%s: %s", cfg->ifname, strerror(ENOMEM));
        r = -ENOMEM;
        goto fail;
    }
    p->ifindex = d.ifindex;
    p->mtu = d.mtu;
    p->receives = cfg->receives;
    p->sends = cfg->sends;
    p->memory = cfg->memory;
    p->hardware_time = cfg->hardware_time;
    p->latency = cfg->latency >= 0 ? cfg->latency : DEFAULT_LATENCY;
    p->ring_size = cfg->ring_size ? (uint32_t)cfg->ring_size : DEFAULT_RING;
    p->link_fd = rtap_netns_socket(cfg->netns, AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE, err, errlen);
    r = p->link_fd;
    if (r < 0)
        goto fail;
    getsockopt(p->link_fd, SOL_SOCKET, SO_NETNS_COOKIE, &p->netns, &len);
    r = find_queues(p, cfg, err, errlen);
    if (r == 0)
        r = take_pool(p, cfg, err, errlen);
    if (r < 0)
        goto fail;
    p->pool->local = p->pool->local || p->virtual;
    p->program_cfg = (struct rtap_xdp_config){
        .ifname = p->name,
        .ifindex = p->ifindex,
        .mode = cfg->mode,
        .fragments = cfg->fragments,
        .metadata = cfg->metadata,
        .replace = cfg->replace,
        .file = p->program_file,
        .map = p->map_name,
    };
    if (p->receives) {
        struct load l = {p, err, errlen};
        int there = 0;

        r = rtap_netns_run(cfg->netns, load_there, &l, &there, err, errlen);
        if (r == 0)
            r = there;
    }
    for (unsigned i = 0; r == 0 && i < p->queue_count; i++)
        r = open_socket(p, cfg, i, err, errlen);
    if (r == 0 && cfg->promisc)
        r = be_promiscuous(p, cfg->netns, err, errlen);
    if (r == 0 && p->sends)
        r = make_slots(p, err, errlen);
    if (r == 0 && p->receives)
        for (unsigned i = 0; r == 0 && i < p->queue_count; i++) {
            char text[256];

            r = rtap_xdp_set_socket(p->program, p->queues[i], p->xsks[i].fd, text, sizeof(text));
            if (r < 0)
                snprintf(err, errlen, "%s: %s", p->name, text);
        }
    if (r < 0)
        goto fail;
    *out = p;
    return 0;
fail:
    rtap_xdp_port_unref(p);
    return r;
}

void rtap_xdp_close_sockets(struct rtap_xdp_port *p)
{
    if (p->promisc_fd >= 0)
        close(p->promisc_fd);
    p->promisc_fd = -1;
    for (unsigned i = 0; p->xsks && i < p->queue_count; i++) {
        if (p->xsks[i].fd < 0)
            continue;
        if (p->pool->umem.fd == p->xsks[i].fd)
            p->pool->umem.fd = -1;
        rtap_xsk_close(&p->xsks[i]);
        remember(p, p->queues[i]);
    }
    for (uint32_t i = 0; p->pool && i < p->pool->run_count; i++)
        if (p->xsks && p->pool->owners[i] >= p->xsks && p->pool->owners[i] < p->xsks + p->queue_count)
            p->pool->owners[i] = NULL;
}

void rtap_xdp_port_unref(struct rtap_xdp_port *p)
{
    if (!p || --p->refs > 0)
        return;
    rtap_xdp_free(p->program);
    rtap_xdp_close_sockets(p);
    pool_unref(p->pool);
    if (p->link_fd >= 0)
        close(p->link_fd);
    free(p->xsks);
    free(p->queues);
    free(p->free_slots);
    free(p->slot_left);
    free(p->program_file);
    free(p->map_name);
    free(p->pass);
    free(p->netns_name);
    free(p->name);
    free(p);
}

int rtap_xdp_look(struct rtap_xdp_port *p, struct rtap_netif *n)
{
    int r = rtap_netif_get(p->link_fd, p->ifindex, n);

    if (r == 0 && n->mtu)
        p->mtu = n->mtu;
    return r;
}

void rtap_xdp_port_facts(const struct rtap_xdp_port *p, struct rtap_xdp_facts *f)
{
    *f = (struct rtap_xdp_facts){
        .mode = p->program ? rtap_xdp_mode(p->program) : RTAP_XDP_AUTO,
        .zerocopy = p->xsks[0].zerocopy,
        .fragments = p->xsks[0].fragments,
        .metadata = p->program && rtap_xdp_has_metadata(p->program),
        .attached = p->receiving,
        .queue_count = p->queue_count,
        .queues = p->queues,
        .ring_size = p->ring_size,
        .frame_size = p->pool->umem.frame_size,
        .frame_count = p->pool->run,
    };
}
