/*
 * The AF_XDP source: its filter, which runs inside the XDP program, its counters, its beginning and end. Taking packets
 * and waiting for them is xdp_receive.c.
 */
#include "xdp_receive.h"

#include "../../bpf/xdp_shared.h"
#include "../packet/filter_xdp.h"
#include "netns.h"
#include "pace.h"
#include "xdp_filter.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define SETTLE 2000000 /* ns after detaching the program until nothing comes any more */

static int xdp_fd(struct rtap_source *s)
{
    return rtap_xdp_source_of(s)->epoll;
}

/* ------------------------------------------------------------------ filter */

/* What the program has to match: what is not to be passed to the host, and the expression. 0, *out a new reference or
 * NULL: everything. */
static int combine(struct rtap_xdp_source *x, struct rtap_filter *f, struct rtap_filter **out)
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

static int load_filter(struct rtap_xdp_source *x, struct rtap_filter *f, int *fd)
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
    struct rtap_xdp_source *x = rtap_xdp_source_of(s);
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

static void read_counters(struct rtap_xdp_source *x)
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
    struct rtap_xdp_source *x = rtap_xdp_source_of(s);
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
    struct rtap_xdp_source *x = rtap_xdp_source_of(s);

    if (i > 0)
        return false;
    *out = (struct rtap_source_if){
        .name = s->name, .id = (uint32_t)x->port->ifindex, .snaplen = x->snaplen, .linktype = s->linktype};
    return true;
}

/* ------------------------------------------------------------------ beginning and end */

static int xdp_drain(struct rtap_source *s)
{
    struct rtap_xdp_source *x = rtap_xdp_source_of(s);

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
    struct rtap_xdp_source *x = rtap_xdp_source_of(s);
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
    struct rtap_xdp_source *x = rtap_xdp_source_of(s);

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
    .next = rtap_xdp_next,
    .release = rtap_xdp_release,
    .wait = rtap_xdp_wait,
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
    struct rtap_xdp_source *x = calloc(1, sizeof(*x));
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
    struct rtap_xdp_source *x = rtap_xdp_source_of(s);
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
    x->next_look = x->waited_at + RTAP_XDP_LOOK_EVERY;
    return 0;
}

bool rtap_xdp_source_facts(struct rtap_source *s, struct rtap_xdp_facts *f)
{
    if (s->ops != &xdp_ops)
        return false;
    rtap_xdp_port_facts(rtap_xdp_source_of(s)->port, f);
    return true;
}
