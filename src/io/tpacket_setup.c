/*
 * Making an AF_PACKET source: the socket, the ring, the fanout group. Everything that can be
 * wrong with the parameters is found here and named, before the kernel answers EINVAL.
 */
#include "tpacket_setup.h"

#include "device.h"
#include <errno.h>
#include <linux/net_tstamp.h>
#include <linux/sockios.h>
#include <net/if_arp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

/*
 * 256 blocks of 256 KiB. The kernel's timer ticks every 9 ms and closes the block that is being filled, also one that
 * was begun since the last tick: blocks that fill in 4.5 to 9 ms take 4.5 ms on average, so a reader may be away
 * for 1.15 s at up to 300,000 small frames a second (144 to 192 bytes each in the ring), and for 2.3 s where packets
 * come slowly.
 */
#define DEFAULT_BLOCK_SIZE (256 << 10)
#define DEFAULT_RING_SIZE (64 << 20)
#define DEFAULT_RETIRE 9000000
#define LOW_LATENCY_RETIRE 1000000

#ifndef PACKET_FANOUT_FLAG_UNIQUEID
#define PACKET_FANOUT_FLAG_UNIQUEID 0x2000
#endif

static uint64_t available_memory(void)
{
    FILE *f = fopen("/proc/meminfo", "re");
    unsigned long long kb = 0;
    char line[128];

    if (!f)
        return UINT64_MAX;
    while (fgets(line, sizeof(line), f))
        if (sscanf(line, "MemAvailable: %llu kB", &kb) == 1)
            break;
    fclose(f);
    return kb ? kb * 1024 : UINT64_MAX;
}

static const char *size_text(char *buf, size_t n, uint64_t bytes)
{
    if (bytes >= 1ull << 30 && bytes % (1ull << 30) == 0)
        snprintf(buf, n, "%llu GiB", (unsigned long long)(bytes >> 30));
    else if (bytes >= 1ull << 20 && bytes % (1ull << 20) == 0)
        snprintf(buf, n, "%llu MiB", (unsigned long long)(bytes >> 20));
    else if (bytes % 1024 == 0)
        snprintf(buf, n, "%llu KiB", (unsigned long long)(bytes >> 10));
    else
        snprintf(buf, n, "%llu bytes", (unsigned long long)bytes);
    return buf;
}

static int request_ring(int fd, uint64_t block_size, uint64_t block_count, int64_t retire)
{
    struct tpacket_req3 req = {
        .tp_block_size = (unsigned)block_size,
        .tp_block_nr = (unsigned)block_count,
        .tp_frame_size = block_size < 2048 ? (unsigned)block_size : 2048,
        .tp_retire_blk_tov = (unsigned)((retire + 999999) / 1000000),
    };

    req.tp_frame_nr = req.tp_block_size / req.tp_frame_size * req.tp_block_nr;
    if (block_count && block_size * block_count > available_memory())
        return -ENOMEM; /* do not let the kernel kill somebody to find out */
    return setsockopt(fd, SOL_PACKET, PACKET_RX_RING, &req, sizeof(req)) < 0 ? -errno : 0;
}

/* Sizes from the options: what is not given follows from what is. Names the option that can't be. */
static int ring_geometry(const struct rtap_tpacket_config *cfg, uint64_t *block_size, uint64_t *block_count,
                         bool *is_default, char *err, size_t errlen)
{
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t size = (uint64_t)cfg->block_size, count = (uint64_t)cfg->block_count, ring = (uint64_t)cfg->ring_size;

    *is_default = !size && !count && !ring;
    if (ring && count && size && ring != size * count) {
        snprintf(err, errlen, "ring_size %llu is not block_size %llu * block_count %llu (give two of them)",
                 (unsigned long long)ring, (unsigned long long)size, (unsigned long long)count);
        return -EINVAL;
    }
    if (!size && ring && count)
        size = (ring + count * page - 1) / (count * page) * page;
    if (!size)
        size = ring && ring < 4ull * DEFAULT_BLOCK_SIZE ? (ring / 4 < page ? page : ring / 4 / page * page)
                                                        : DEFAULT_BLOCK_SIZE;
    if (size < page || size % page || size > INT32_MAX) {
        snprintf(err, errlen, "block_size %llu: must be a multiple of the page size, %llu, up to 2 GiB: try %llu",
                 (unsigned long long)size, (unsigned long long)page,
                 (unsigned long long)(size > INT32_MAX ? 1ull << 30 : (size + page - 1) / page * page));
        return -EINVAL;
    }
    if (!count)
        count = ring && !cfg->block_size ? (ring + size - 1) / size : (ring ? ring : DEFAULT_RING_SIZE) / size;
    if (ring && cfg->block_size && ring % size) {
        snprintf(err, errlen, "ring_size %llu: must be a multiple of block_size %llu: try %llu",
                 (unsigned long long)ring, (unsigned long long)size, (unsigned long long)((ring / size + 1) * size));
        return -EINVAL;
    }
    if (count < 1)
        count = 1;
    if (count > UINT32_MAX / (size / 2048 + 1)) {
        snprintf(err, errlen, "block_count %llu: too many blocks of %llu bytes (at most %llu)",
                 (unsigned long long)count, (unsigned long long)size,
                 (unsigned long long)(UINT32_MAX / (size / 2048 + 1)));
        return -EINVAL;
    }
    *block_size = size;
    *block_count = count;
    return 0;
}

static int make_ring(struct tpacket *t, const struct rtap_tpacket_config *cfg, char *err, size_t errlen)
{
    uint64_t size, count, fits;
    bool is_default;
    char a[32], b[32], c[32];
    int r = ring_geometry(cfg, &size, &count, &is_default, err, errlen);

    if (r < 0)
        return r;
    r = request_ring(t->fd, size, count, t->retire_timeout);
    if (r == -ENOMEM) {
        /* not more than 1 GiB: the kernel clears what it is asked for, a second for each */
        for (fits = count / 2; fits > 0; fits /= 2)
            if (size * fits <= 1ull << 30 && request_ring(t->fd, size, fits, t->retire_timeout) == 0)
                break;
        if (is_default && fits >= 2) {
            count = fits;
            r = 0;
        } else if (fits) {
            snprintf(err, errlen, "%s: no memory for a ring of %llu blocks of %s (%s); %llu blocks (%s) would fit",
                     cfg->ifname, (unsigned long long)count, size_text(a, sizeof(a), size),
                     size_text(b, sizeof(b), size * count), (unsigned long long)fits,
                     size_text(c, sizeof(c), size * fits));
            return r;
        } else {
            snprintf(err, errlen,
                     "%s: no memory for a ring of %llu blocks of %s, nor for a single block: try a smaller block_size",
                     cfg->ifname, (unsigned long long)count, size_text(a, sizeof(a), size));
            return r;
        }
    }
    if (r < 0) {
        snprintf(err, errlen, "%s: PACKET_RX_RING of %llu blocks of %s: %s", cfg->ifname, (unsigned long long)count,
                 size_text(a, sizeof(a), size), strerror(-r));
        return r;
    }
    t->map_size = size * count;
    t->map = mmap(NULL, t->map_size, PROT_READ | PROT_WRITE, MAP_SHARED, t->fd, 0);
    if (t->map == MAP_FAILED) {
        r = -errno;
        t->map = NULL;
        snprintf(err, errlen, "%s: mapping a ring of %s: %s", cfg->ifname, size_text(a, sizeof(a), t->map_size),
                 strerror(-r));
        return r;
    }
    r = rtap_ring_init(&t->ring, &t->source, t->map, (uint32_t)size, (uint32_t)count);
    if (r < 0)
        snprintf(err, errlen, "%s: %s", cfg->ifname, strerror(-r));
    return r;
}

/* Ask the device for its clock. What it can't do is not an error: each packet says which clock stamped it. */
static void ask_hardware_time(struct tpacket *t, const char *ifname)
{
    struct hwtstamp_config hw = {.tx_type = HWTSTAMP_TX_OFF, .rx_filter = HWTSTAMP_FILTER_ALL};
    struct ifreq ifr = {.ifr_data = (char *)&hw};
    int how = SOF_TIMESTAMPING_RAW_HARDWARE;

    snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", ifname);
    ioctl(t->fd, SIOCSHWTSTAMP, &ifr);
    setsockopt(t->fd, SOL_PACKET, PACKET_TIMESTAMP, &how, sizeof(how));
}

int rtap_tpacket_new(struct rtap_source **out, const struct rtap_tpacket_config *cfg, char *err, size_t errlen)
{
    struct tpacket *t = calloc(1, sizeof(*t));
    struct rtap_device d = {0};
    int version = TPACKET_V3, r = -ENOMEM;

    *out = NULL;
    if (!t) {
        snprintf(err, errlen, "%s: %s", cfg->ifname, strerror(ENOMEM));
        return r;
    }
    t->fd = -1;
    t->fanout_id = -1;
    t->fanout = cfg->fanout;
    r = rtap_source_init(&t->source, &rtap_tpacket_ops, cfg->ifname);
    if (r < 0) {
        free(t);
        snprintf(err, errlen, "%s: %s", cfg->ifname, strerror(ENOMEM));
        return r;
    }
    r = rtap_device_find(&d, cfg->ifname, cfg->netns, err, errlen);
    if (r < 0)
        goto fail;
    t->ifindex = d.ifindex;
    if (cfg->promisc && d.ifindex == 0) {
        r = -EINVAL;
        snprintf(err, errlen, "%s: promiscuous mode is set on one interface, not on all", cfg->ifname);
        goto fail;
    }
    t->promisc = cfg->promisc;
    t->source.linktype = d.linktype;
    t->fd = rtap_device_socket(cfg->ifname, cfg->netns, d.cooked ? SOCK_DGRAM : SOCK_RAW, err, errlen);
    if (t->fd < 0) {
        r = t->fd;
        goto fail;
    }
    if (setsockopt(t->fd, SOL_PACKET, PACKET_VERSION, &version, sizeof(version)) < 0) {
        r = -errno;
        snprintf(err, errlen, "%s: TPACKET_V3: %s", cfg->ifname, strerror(errno));
        goto fail;
    }
    if (cfg->timestamp == 1 && d.ifindex)
        ask_hardware_time(t, cfg->ifname);
    t->retire_timeout = cfg->retire_timeout >= 0 ? cfg->retire_timeout
                        : cfg->latency == 1      ? LOW_LATENCY_RETIRE
                                                 : DEFAULT_RETIRE;
    if (cfg->offload && (!d.ethernet || setsockopt(t->fd, SOL_PACKET, PACKET_VNET_HDR, &(int){1}, sizeof(int)) < 0)) {
        r = d.ethernet ? -errno : -EOPNOTSUPP;
        snprintf(err, errlen, "%s: offload (PACKET_VNET_HDR): %s", cfg->ifname,
                 d.ethernet ? strerror(errno) : "only with frames of Ethernet");
        goto fail;
    }
    r = make_ring(t, cfg, err, errlen);
    if (r < 0)
        goto fail;
    t->ring.vnet = cfg->offload;
    t->ring.snaplen = (uint32_t)cfg->snaplen;
    t->ring.cook = d.cook;
    t->ring.ethernet = d.ethernet;
    t->ring.proto.linktype = d.linktype;
    t->ring.proto.ifname = t->source.name;
    if (d.ifindex == 0)
        t->ring.ifname = rtap_tpacket_ifname;
    t->env.linktype = d.linktype;
    t->env.cooked = d.cooked;
    t->env.snaplen = (uint32_t)cfg->snaplen;
    t->env.direction = cfg->direction < 0 ? RTAP_DIR_BOTH : cfg->direction;
    t->env.loopback_once = cfg->direction < 0 && (d.ifindex == 0 || d.hatype == ARPHRD_LOOPBACK);
    t->env.ignore_vlan = cfg->ignore_vlan;
    *out = &t->source;
    return 0;
fail:
    rtap_source_close(&t->source);
    return r;
}

static const char *const fanout_names[] = {"hash", "lb", "cpu", "rollover", "rnd", "qm", "cbpf", "ebpf"};

static int fanout_join(int fd, int64_t id, int mode, unsigned flags)
{
    uint32_t arg = (uint32_t)(id & 0xffff) | ((uint32_t)mode | flags) << 16;

    return setsockopt(fd, SOL_PACKET, PACKET_FANOUT, &arg, sizeof(arg)) < 0 ? -errno : 0;
}

/*
 * EINVAL: the group of this id was made with something else. The kernel does not say with what; trying the others
 * tells. The socket is about to be closed, so that it joins somewhere for a moment does no harm.
 */
static void explain_mismatch(struct tpacket *t, unsigned flags)
{
    for (int mode = 0; mode < RTAP_FANOUT_NONE; mode++) {
        for (unsigned f = 0; f < 4; f++) {
            unsigned try = (f & 1 ? PACKET_FANOUT_FLAG_DEFRAG : 0) | (f & 2 ? PACKET_FANOUT_FLAG_ROLLOVER : 0);

            if ((mode == t->fanout.mode && try == flags) || fanout_join(t->fd, t->fanout.id, mode, try) < 0)
                continue;
            rtap_source_fail(&t->source, 0,
                             "%s: fanout group %lld was made with mode=\"%s\"%s%s: all members need the same mode and "
                             "flags",
                             t->source.name, (long long)t->fanout.id, fanout_names[mode],
                             try & PACKET_FANOUT_FLAG_DEFRAG ? ", defrag=true" : "",
                             try & PACKET_FANOUT_FLAG_ROLLOVER ? ", rollover=true" : "");
            return;
        }
    }
    rtap_source_fail(&t->source, 0,
                     "%s: fanout group %lld belongs to another interface (a group takes the packets of one)",
                     t->source.name, (long long)t->fanout.id);
}

int rtap_tpacket_join_fanout(struct tpacket *t)
{
    const struct rtap_fanout_config *f = &t->fanout;
    unsigned flags = (f->defrag ? PACKET_FANOUT_FLAG_DEFRAG : 0) | (f->rollover ? PACKET_FANOUT_FLAG_ROLLOVER : 0);
    uint32_t got = 0;
    socklen_t len = sizeof(got);
    int r;

    if (f->mode == RTAP_FANOUT_NONE)
        return 0;
    if (f->mode == RTAP_FANOUT_ROLLOVER && f->rollover)
        return rtap_source_fail(&t->source, -EINVAL, "%s: fanout mode \"rollover\" can't have rollover=true as well",
                                t->source.name);
    r = f->id < 0 ? fanout_join(t->fd, 0, f->mode, flags | PACKET_FANOUT_FLAG_UNIQUEID)
                  : fanout_join(t->fd, f->id, f->mode, flags);
    if (r == -EINVAL && f->id >= 0) {
        explain_mismatch(t, flags);
        return r;
    }
    if (r == -ENOSPC)
        return rtap_source_fail(&t->source, r, "%s: fanout group %lld is full (256 members)", t->source.name,
                                (long long)f->id);
    if (r < 0)
        return rtap_source_fail(&t->source, r, "%s: PACKET_FANOUT mode \"%s\": %s", t->source.name,
                                fanout_names[f->mode], strerror(-r));
    if (f->mode == RTAP_FANOUT_CBPF) {
        struct sock_fprog prog = {.len = (unsigned short)(f->program_size / sizeof(struct sock_filter)),
                                  .filter = (struct sock_filter *)f->program};

        r = setsockopt(t->fd, SOL_PACKET, PACKET_FANOUT_DATA, &prog, sizeof(prog)) < 0 ? -errno : 0;
    } else if (f->mode == RTAP_FANOUT_EBPF) {
        int fd = (int)f->fd;

        r = setsockopt(t->fd, SOL_PACKET, PACKET_FANOUT_DATA, &fd, sizeof(fd)) < 0 ? -errno : 0;
    }
    if (r < 0)
        return rtap_source_fail(&t->source, r, "%s: PACKET_FANOUT_DATA: %s", t->source.name, strerror(-r));
    if (getsockopt(t->fd, SOL_PACKET, PACKET_FANOUT, &got, &len) == 0)
        t->fanout_id = (int)(got & 0xffff);
    return 0;
}
