/*
 * The AF_PACKET sender: opening it, what may be sent, the state of the link, and the account of every frame.
 *
 * The kernel tells of most frames what became of them, but not of all: when a device has lost its carrier for a while,
 * its queueing discipline is replaced by one that throws everything away and calls it a success. So the link is looked
 * at after each call, and where it was not running the device's own count of dropped packets says how many were lost.
 */
#include "sender_queue.h"

#include "../packet/bytes.h"
#include "device.h"
#include "netif.h"
#include "netns.h"
#include "pace.h"
#include <errno.h>
#include <linux/if.h>
#include <linux/if_packet.h>
#include <linux/netlink.h>
#include <linux/sockios.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define LINK_PAUSE 5000000 /* ns between looks at a link that is down */
#define FIRST_BACKOFF 50000
#define LONGEST_BACKOFF 1000000
#define QDISC_LOOKS 64         /* calls between looks for a queueing discipline */
#define CLOSING_TIME 200000000 /* ns that close() gives what is queued */

static struct rtap_sender *sender_of(struct rtap_sink *k)
{
    return (struct rtap_sender *)k;
}

/* ------------------------------------------------------------------ the link */

/* IFF_ flags, or -errno. Interfaces are renamed: the name is looked up again when it is no longer ours. */
static int read_flags(struct rtap_sender *t)
{
    struct ifreq ifr = {0};

    memcpy(ifr.ifr_name, t->ifname, sizeof(t->ifname));
    if (ioctl(t->fd, SIOCGIFFLAGS, &ifr) == 0)
        return (uint16_t)ifr.ifr_flags;
    ifr.ifr_ifindex = t->ifindex;
    if (ioctl(t->fd, SIOCGIFNAME, &ifr) < 0)
        return -errno;
    memcpy(t->ifname, ifr.ifr_name, sizeof(t->ifname));
    return ioctl(t->fd, SIOCGIFFLAGS, &ifr) == 0 ? (uint16_t)ifr.ifr_flags : -errno;
}

static int link_is_gone(struct rtap_sender *t)
{
    t->gone = true;
    if (t->frames) {
        t->st.refused[RTAP_DEVICE_GONE] += t->frames;
        t->sink.refusals += t->frames;
        t->queue->clear(t);
    }
    return rtap_sink_fail(&t->sink, -ENXIO, "%s: No such device (it was deleted or moved to another namespace)",
                          t->sink.name);
}

/* Flags, MTU, packets that the device dropped; 0 or -errno. */
static int look(struct rtap_sender *t, struct rtap_netif *n)
{
    int r = rtap_netif_get(t->link_fd, t->ifindex, n);

    if (r == 0 && n->mtu)
        t->mtu = n->mtu;
    return r;
}

static int blocked(struct rtap_sender *t, enum rtap_cause why)
{
    return rtap_sink_blocked(&t->sink, &t->st, why);
}

/* Before a call on a link that was not running: 0, or why it would be in vain. */
static int check_link(struct rtap_sender *t)
{
    struct rtap_netif n;
    int r = look(t, &n);

    if (r == -ENODEV)
        return link_is_gone(t);
    if (r < 0)
        return 0; /* the kernel will say what is wrong */
    t->dropped = n.tx_dropped;
    if (!(n.flags & IFF_UP))
        return blocked(t, RTAP_LINK_DOWN);
    return n.flags & IFF_LOWER_UP ? 0 : blocked(t, RTAP_NO_CARRIER);
}

/* What the queueing discipline has dropped since it was asked last: of a super-frame it may drop some segments and call
 * that a success. Where there is none it is looked for now and then. */
static uint64_t new_drops(struct rtap_sender *t)
{
    uint64_t before = t->drops;

    if (t->queue != &rtap_queue_gso || (t->no_qdisc && t->st.calls % QDISC_LOOKS))
        return 0;
    t->no_qdisc = rtap_netif_qdisc_drops(t->link_fd, t->ifindex, &t->drops) < 0;
    return !t->no_qdisc && t->drops > before ? t->drops - before : 0;
}

/* After a call that took `frames` frames of `bytes` of which some may have vanished. */
static void account_for_loss(struct rtap_sender *t, uint64_t frames, uint64_t bytes, enum rtap_cause why)
{
    uint64_t before = t->dropped, lost = new_drops(t);

    if (rtap_netif_tx_dropped(t->link_fd, t->ifindex, &t->dropped) == 0)
        lost += t->dropped - before;
    if (lost > frames)
        lost = frames;
    t->st.sent -= lost;
    t->st.bytes -= bytes / frames * lost;
    t->st.refused[why] += lost;
    t->sink.refusals += lost;
    if (lost && why == RTAP_NO_BUFFER)
        t->pass_over = RTAP_PASS_OVER; /* of single frames it is told when there is no room */
}

/* Of the segments of a super-frame one may be lost while the others are sent, and nothing tells but the device's count.
 * supers: there was one. */
static void after_call(struct rtap_sender *t, uint64_t frames, uint64_t bytes, bool supers)
{
    int flags = t->bypass ? IFF_RUNNING : read_flags(t); /* without a queueing discipline every loss is told */
    bool running = flags >= 0 && flags & IFF_RUNNING;

    if (frames && (!t->running || !running))
        account_for_loss(t, frames, bytes, RTAP_NO_CARRIER);
    else if (frames && supers)
        account_for_loss(t, frames, bytes, RTAP_NO_BUFFER);
    t->running = running;
}

/* ------------------------------------------------------------------ what may be sent */

static uint32_t limit_of(const struct rtap_sender *t, const uint8_t *data, uint32_t len)
{
    /* 4 more for a tag of this one type: packet_extra_vlan_len_allowed(), net/packet/af_packet.c */
    return t->mtu + t->header + (t->ethernet && len >= 14 && rtap_be16(data + 12) == 0x8100 ? 4 : 0);
}

static int refuse(struct rtap_sender *t, enum rtap_cause cause, int err, uint64_t frames)
{
    return rtap_sink_refuse(&t->sink, &t->st, cause, err, frames);
}

/* 0, or counted, and -errno with the sentence. */
static int check_length(struct rtap_sender *t, const uint8_t *data, uint32_t len)
{
    uint32_t least = t->header ? t->header : 1;
    struct rtap_netif n;

    if (len < least) {
        rtap_sink_fail(&t->sink, -EINVAL, "%s: a frame of %u bytes is too short: %s has %u at least", t->sink.name, len,
                       t->ethernet ? "an Ethernet header" : "a packet", least);
        return refuse(t, RTAP_TOO_SHORT, -EINVAL, 1);
    }
    if (len > limit_of(t, data, len))
        look(t, &n); /* the MTU may be another by now */
    if (len > limit_of(t, data, len)) {
        rtap_sink_fail(&t->sink, -EMSGSIZE, "%s: a frame of %u bytes is too long: with an MTU of %u it has %u at most",
                       t->sink.name, len, t->mtu, limit_of(t, data, len));
        return refuse(t, RTAP_TOO_LONG, -EMSGSIZE, 1);
    }
    return 0;
}

/* ------------------------------------------------------------------ to the kernel */

/* ENOBUFS for the super-frame at the tail, while the device dropped so many: how many of its segments were taken, and
 * it with them; 0: it was not cut apart at all. */
static int take_part(struct rtap_sender *t, uint64_t dropped)
{
    uint32_t len, segments;

    t->queue->at(t, t->tail, &len, &segments);
    if (segments < 2 || dropped == 0)
        return 0;
    if (dropped > segments)
        dropped = segments;
    t->st.refused[RTAP_NO_BUFFER] += dropped;
    t->sink.refusals += dropped;
    t->st.sent += segments - dropped;
    t->st.bytes += (segments - dropped) * (uint64_t)len;
    t->queue->skip(t);
    return (int)segments;
}

/* What the errno of a call means: -EAGAIN, -ENXIO, or for this frame only -EMSGSIZE, -EINVAL; others are hard. */
static int meaning(struct rtap_sender *t, int err)
{
    uint64_t dropped = t->dropped;
    struct rtap_netif n;
    int r;

    switch (err) {
    case EAGAIN: return blocked(t, RTAP_FULL);
    case ENOBUFS:
    case ENOMEM:
    case ENETDOWN:
        r = look(t, &n);
        if (r == -ENODEV)
            return link_is_gone(t);
        if (r == 0)
            t->dropped = n.tx_dropped;
        new_drops(t);
        if (err == ENETDOWN)
            return blocked(t, RTAP_LINK_DOWN);
        if (r == 0 && err == ENOBUFS && t->tail < t->head) {
            r = take_part(t, n.tx_dropped - dropped);
            if (r > 0)
                return r;
        }
        return blocked(t, r == 0 && !(n.flags & IFF_LOWER_UP) ? RTAP_NO_CARRIER : RTAP_NO_BUFFER);
    case ENXIO:
    case ENODEV: return link_is_gone(t);
    case EMSGSIZE:
    case EINVAL: return -err;
    default: return rtap_sink_fail(&t->sink, -err, "%s: %s", t->sink.name, strerror(err));
    }
}

/* The kernel won't have the frame at the tail. */
static void refuse_tail(struct rtap_sender *t, int err)
{
    uint32_t len, segments;
    const uint8_t *data = t->queue->at(t, t->tail, &len, &segments);
    struct rtap_netif n;
    bool too_long;

    look(t, &n);
    too_long = err == -EMSGSIZE || len > limit_of(t, data, len);
    rtap_sink_fail(&t->sink, err, "%s: the kernel refuses a frame of %u bytes: %s", t->sink.name, len, strerror(-err));
    refuse(t, too_long ? RTAP_TOO_LONG : RTAP_INVALID, err, segments);
    t->queue->skip(t);
}

static int set_option(struct rtap_sender *t, int option, int value, const char *name)
{
    if (setsockopt(t->fd, SOL_PACKET, option, &value, sizeof(value)) == 0)
        return 0;
    return rtap_sink_fail(&t->sink, -errno, "%s: %s: %s", t->sink.name, name, strerror(errno));
}

/* The header in front of each frame costs a few percent, so the socket takes it from the first super-frame on, until
 * there is a frame that has none. */
static int use_vnet(struct rtap_sender *t, bool yes)
{
    int r = 0;

    if (t->takes_vnet == yes)
        return 0;
    t->takes_vnet = -1; /* what it is when one of the two was refused */
    if (t->bypass)      /* the kernel cuts super-frames apart on the way through the queueing discipline only */
        r = set_option(t, PACKET_QDISC_BYPASS, !yes, "PACKET_QDISC_BYPASS");
    if (r == 0 && t->queue != &rtap_queue_gso)
        r = set_option(t, PACKET_VNET_HDR, yes, "PACKET_VNET_HDR");
    if (r == 0)
        t->takes_vnet = yes;
    return r;
}

static int sender_kick(struct rtap_sink *k)
{
    struct rtap_sender *t = sender_of(k);
    int r = 0;

    if (t->gone)
        return link_is_gone(t);
    while (t->tail < t->head) {
        uint64_t bytes = t->st.bytes;
        bool supers = t->frames > t->head - t->tail, partly = false;

        r = t->running ? 0 : check_link(t);
        if (r == 0)
            r = use_vnet(t, false);
        if (r < 0)
            return r;
        t->st.calls++;
        r = t->queue->push_out(t);
        partly = r < 0;
        if (r < 0)
            r = meaning(t, -r);
        if (t->gone)
            return -ENXIO;
        after_call(t, r > 0 && !partly ? (unsigned)r : 0, t->st.bytes - bytes, supers);
        if (r > 0)
            t->backoff = FIRST_BACKOFF;
        else if (r == -EMSGSIZE || r == -EINVAL)
            refuse_tail(t, r);
        else if (r < 0)
            return r;
    }
    k->blocked = RTAP_NO_CAUSE;
    return 0;
}

static int sender_reserve(struct rtap_sink *k, uint32_t size, uint8_t **data)
{
    struct rtap_sender *t = sender_of(k);
    int r;

    if (t->gone)
        return link_is_gone(t);
    if (size > t->size) {
        rtap_sink_fail(k, -EMSGSIZE, "%s: a frame of %u bytes is longer than frame_size, %u", k->name, size, t->size);
        return refuse(t, RTAP_TOO_LONG, -EMSGSIZE, 1);
    }
    *data = t->reserved = t->queue->room(t);
    if (*data)
        return 0;
    r = sender_kick(k);
    if (r < 0 && r != -EAGAIN)
        return r;
    *data = t->reserved = t->queue->room(t);
    return *data ? 0 : r == -EAGAIN ? r : blocked(t, RTAP_FULL);
}

static int sender_commit(struct rtap_sink *k, const struct rtap_pkt *meta)
{
    struct rtap_sender *t = sender_of(k);
    uint8_t *data = t->queue->room(t);
    int r = data && t->reserved ? check_length(t, t->reserved, meta->caplen) : -EAGAIN;

    if (r < 0)
        return r;
    if (data != t->reserved)
        memcpy(data, t->reserved, meta->caplen);
    t->queue->push(t, meta->caplen);
    if (t->head - t->tail >= RTAP_BATCH || t->frames >= RTAP_BATCH_FRAMES) {
        r = sender_kick(k);
        return r == -EAGAIN ? 0 : r;
    }
    return 0;
}

/* A frame that stands for several: to the kernel at once, from where it is. */
static int send_super(struct rtap_sender *t, const struct rtap_pkt *pkt, struct virtio_net_hdr *vnet)
{
    struct iovec iov[2] = {{vnet, sizeof(*vnet)}, {(void *)pkt->data, pkt->caplen}};
    struct msghdr m = {.msg_iov = iov, .msg_iovlen = 2};
    int r = sender_kick(&t->sink);

    if (r == 0 && !t->running)
        r = check_link(t);
    if (r == 0)
        r = use_vnet(t, true);
    if (r < 0)
        return r;
    t->st.calls++;
    r = sendmsg(t->fd, &m, MSG_DONTWAIT) < 0 ? -errno : 1;
    if (r < 0)
        r = meaning(t, -r);
    if (t->gone)
        return -ENXIO;
    if (r > 0) {
        t->st.sent++;
        t->st.bytes += pkt->caplen;
        t->st.super_frames++;
    }
    after_call(t, r > 0, pkt->caplen, false);
    if (r == -EMSGSIZE || r == -EINVAL) {
        rtap_sink_fail(&t->sink, r, "%s: the kernel refuses a super-frame of %u bytes: %s", t->sink.name, pkt->caplen,
                       strerror(-r));
        return refuse(t, r == -EMSGSIZE ? RTAP_TOO_LONG : RTAP_INVALID, r, 1);
    }
    return r < 0 ? r : 0;
}

static int sender_send(struct rtap_sink *k, const struct rtap_pkt *pkt)
{
    struct rtap_sender *t = sender_of(k);
    struct virtio_net_hdr vnet;
    uint8_t *data;
    int r;

    r = rtap_sink_check(k, &t->st, pkt);
    if (r < 0)
        return r;
    if (rtap_vnet_for(pkt, t->mtu, &vnet) && vnet.gso_type != VIRTIO_NET_HDR_GSO_NONE) {
        if (t->vnet)
            return send_super(t, pkt, &vnet);
        rtap_sink_fail(k, -EMSGSIZE, "%s: a super-frame of %u bytes needs vnet_hdr", k->name, pkt->caplen);
        return refuse(t, RTAP_TOO_LONG, -EMSGSIZE, 1);
    }
    r = sender_reserve(k, pkt->caplen, &data);
    if (r < 0)
        return r;
    memcpy(data, pkt->data, pkt->caplen);
    if (pkt->status & RTAP_PKT_VNET && pkt->status & RTAP_PKT_CSUM_NOT_READY)
        rtap_vnet_complete(pkt, data);
    return sender_commit(k, pkt);
}

static int sender_wait(struct rtap_sink *k, int64_t timeout)
{
    struct rtap_sender *t = sender_of(k);
    struct pollfd p[2] = {{.fd = k->wake_fd, .events = POLLIN}, {.fd = t->fd, .events = POLLOUT}};
    int64_t pause = timeout;
    struct timespec ts;

    if (k->blocked == RTAP_NO_BUFFER) {
        pause = t->backoff;
        t->backoff = t->backoff < LONGEST_BACKOFF ? t->backoff * 2 : t->backoff;
    } else if (k->blocked == RTAP_LINK_DOWN || k->blocked == RTAP_NO_CARRIER) {
        pause = LINK_PAUSE;
    } else if (t->queue->pending && t->queue->pending(t) && !t->frames) {
        pause = FIRST_BACKOFF; /* slots that the device has still to give back: nothing to be polled tells */
    }
    if (pause > timeout)
        pause = timeout;
    ts = (struct timespec){(time_t)(pause / 1000000000), (long)(pause % 1000000000)};
    if (ppoll(p, k->blocked == RTAP_FULL && pause == timeout ? 2 : 1, &ts, NULL) < 0 && errno == EINTR)
        return -EINTR;
    return p[0].revents ? -EINTR : 1;
}

static void sender_drop(struct rtap_sink *k, enum rtap_cause why, uint64_t more)
{
    struct rtap_sender *t = sender_of(k);

    refuse(t, why, 0, t->frames + more);
    t->queue->clear(t);
}

static uint64_t sender_pending(struct rtap_sink *k)
{
    struct rtap_sender *t = sender_of(k);
    int bytes = 0;

    if (t->queue->pending)
        return t->queue->pending(t);
    return ioctl(t->fd, SIOCOUTQ, &bytes) == 0 && bytes > 0 ? (uint64_t)bytes : 0;
}

static int sender_fd(struct rtap_sink *k)
{
    return sender_of(k)->fd;
}

static void sender_stats(struct rtap_sink *k, struct rtap_sink_stats *st)
{
    struct rtap_sender *t = sender_of(k);

    *st = t->st;
    st->queued = t->frames;
    st->method = t->queue->method;
    st->reason = t->reason;
    st->frame_count = t->count;
    st->frame_size = t->size;
    st->limit = t->mtu + t->header;
}

/* ------------------------------------------------------------------ opening and closing */

static void destroy(struct rtap_sender *t)
{
    if (t->queue)
        t->queue->close(t);
    if (t->fd >= 0)
        close(t->fd);
    if (t->link_fd >= 0)
        close(t->link_fd);
    free(t->sink.name);
    free(t);
}

static int sender_close(struct rtap_sink *k, char *err, size_t errlen)
{
    struct rtap_sender *t = sender_of(k);
    int64_t until = rtap_pace_now() + CLOSING_TIME;
    uint64_t left;
    int r = t->frames ? sender_kick(k) : 0;

    k->wake_fd = -1;
    while (r == -EAGAIN && (k->blocked == RTAP_FULL || k->blocked == RTAP_NO_BUFFER) && rtap_pace_now() < until) {
        sender_wait(k, until - rtap_pace_now());
        r = sender_kick(k);
    }
    left = t->frames;
    if (left) {
        snprintf(err, errlen, "%s (%llu frames were still queued, and are not sent)", k->error,
                 (unsigned long long)left);
        r = -EAGAIN;
    } else {
        r = 0; /* what became of the frames has been told */
    }
    destroy(t);
    return r;
}

static const struct rtap_sink_ops sender_ops = {
    .kind = "packet",
    .reserve = sender_reserve,
    .commit = sender_commit,
    .send = sender_send,
    .kick = sender_kick,
    .wait = sender_wait,
    .drop = sender_drop,
    .pending = sender_pending,
    .fd = sender_fd,
    .stats = sender_stats,
    .close = sender_close,
};

static int choose(struct rtap_sender *t, const struct rtap_sender_config *cfg)
{
    static const struct rtap_queue_ops *const asked[] = {
        [RTAP_SEND_MMSG] = &rtap_queue_mmsg, [RTAP_SEND_RING] = &rtap_queue_ring, [RTAP_SEND_GSO] = &rtap_queue_gso};
    const uint64_t most = 16u << 20;

    if (cfg->method != RTAP_SEND_AUTO) {
        t->queue = asked[cfg->method];
        t->reason = "asked for";
    } else if (!t->bypass && cfg->vnet_hdr != 0 && rtap_netif_cuts(t->fd, t->ifname)) {
        t->exact = true;
        t->queue = &rtap_queue_gso;
        t->reason = "auto: UDP of one flow that the kernel can cut apart exactly goes as one, all else by sendmmsg";
    } else {
        t->queue = &rtap_queue_mmsg;
        t->reason = t->bypass
                        ? "auto: sendmmsg, the quickest way past the queueing discipline"
                        : "auto: sendmmsg, the quickest way to a device that takes super-frames or checksums over";
    }
    if (t->queue == &rtap_queue_gso && t->bypass)
        return rtap_sink_fail(
            &t->sink, -EINVAL,
            "%s: method \"gso\" goes through the queueing discipline, where the kernel cuts super-frames "
            "apart: not with qdisc_bypass",
            t->sink.name);
    t->vnet = t->queue == &rtap_queue_gso || (cfg->vnet_hdr != 0 && t->queue != &rtap_queue_ring);
    t->size = cfg->frame_size ? (uint32_t)cfg->frame_size : t->mtu + t->header + 4;
    t->count = cfg->frame_count ? (uint32_t)cfg->frame_count : t->queue == &rtap_queue_gso ? 128 : 256;
    if (!cfg->frame_count && (uint64_t)t->count * t->size > most)
        t->count = most / t->size > 1 ? (uint32_t)(most / t->size) : 1;
    return 0;
}

int rtap_sender_open(struct rtap_sink **out, const struct rtap_sender_config *cfg, char *err, size_t errlen)
{
    struct sockaddr_ll to = {.sll_family = AF_PACKET};
    struct rtap_device d = {0};
    struct rtap_netif n = {.tx_dropped = 0};
    struct rtap_sender *t;
    int r = rtap_device_find(&d, cfg->ifname, cfg->netns, err, errlen);

    *out = NULL;
    if (r < 0)
        return r;
    if (d.ifindex == 0 || d.cook != RTAP_COOK_NONE) {
        snprintf(err, errlen, "%s: %s", cfg->ifname,
                 d.ifindex ? "how its frames begin isn't known, so none can be sent"
                           : "frames are sent on one interface, not on all");
        return -EINVAL;
    }
    t = calloc(1, sizeof(*t));
    if (!t || !(t->sink.name = strdup(cfg->ifname))) {
        free(t);
        snprintf(err, errlen, "%s: %s", cfg->ifname, strerror(ENOMEM));
        return -ENOMEM;
    }
    t->sink.ops = &sender_ops;
    t->sink.wake_fd = t->link_fd = -1;
    t->sink.live = true;
    t->sink.linktype = d.linktype;
    t->ifindex = d.ifindex;
    t->mtu = d.mtu;
    t->ethernet = d.ethernet;
    t->header = d.ethernet ? 14 : 0;
    t->backoff = FIRST_BACKOFF;
    snprintf(t->ifname, sizeof(t->ifname), "%s", cfg->ifname);
    t->fd = rtap_device_socket(cfg->ifname, cfg->netns, SOCK_RAW, err, errlen);
    r = t->fd;
    if (r < 0)
        goto fail;
    t->link_fd = rtap_netns_socket(cfg->netns, AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE, err, errlen);
    r = t->link_fd;
    if (r < 0)
        goto fail;
    t->bypass = cfg->qdisc_bypass;
    r = choose(t, cfg);
    if (r == 0 && t->bypass)
        r = set_option(t, PACKET_QDISC_BYPASS, 1, "PACKET_QDISC_BYPASS");
    if (r == 0 && t->queue == &rtap_queue_gso)
        r = set_option(t, PACKET_VNET_HDR, 1, "PACKET_VNET_HDR");
    if (r == 0)
        r = t->queue->open(t);
    to.sll_ifindex = d.ifindex;
    if (r == 0 && bind(t->fd, (struct sockaddr *)&to, sizeof(to)) < 0)
        r = rtap_sink_fail(&t->sink, -errno, "%s: bind: %s", cfg->ifname, strerror(errno));
    if (r < 0) {
        snprintf(err, errlen, "%s", t->sink.error);
        goto fail;
    }
    look(t, &n);
    t->dropped = n.tx_dropped;
    new_drops(t);
    r = read_flags(t);
    t->running = t->bypass || (r >= 0 && r & IFF_RUNNING);
    *out = &t->sink;
    return 0;
fail:
    destroy(t);
    return r;
}
