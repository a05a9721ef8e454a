/* What the two entries of the XDP program are made of: the maps, counting, stamping, redirecting. */
#ifndef RTAP_XDP_COMMON_H
#define RTAP_XDP_COMMON_H

#include <linux/bpf.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "xdp_shared.h"

struct {
    __uint(type, BPF_MAP_TYPE_XSKMAP);
    __uint(max_entries, RTAP_XDP_MAX_QUEUES);
    __type(key, __u32);
    __type(value, __u32);
} sockets SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_PROG_ARRAY);
    __uint(max_entries, RTAP_XDP_SLOTS);
    __type(key, __u32);
    __type(value, __u32);
} programs SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct rtap_xdp_counters);
} counters SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct rtap_xdp_current);
} current SEC(".maps");

static long (*const get_tai_ns)(void) = (void *)208; /* bpf_ktime_get_tai_ns: not in the headers of Debian 12 */

static __always_inline int redirect(struct xdp_md *ctx, struct rtap_xdp_counters *n)
{
    __u32 zero = 0;
    struct rtap_xdp_current *now = bpf_map_lookup_elem(&current, &zero);
    struct rtap_xdp_stamp *stamp;

    n->matched++;
    if (bpf_redirect_map(&sockets, ctx->rx_queue_index, XDP_PASS) != XDP_REDIRECT) {
        n->passed++;
        return XDP_PASS;
    }
    n->redirected++;
    if (now && bpf_xdp_adjust_meta(ctx, -(int)sizeof(*stamp)) == 0) {
        stamp = (void *)(long)ctx->data_meta;
        if ((void *)(stamp + 1) > (void *)(long)ctx->data)
            return XDP_ABORTED; /* never: the verifier asks for it */
        stamp->time = (__u64)get_tai_ns();
        stamp->hardware = now->hardware;
        stamp->hash = now->hash;
        stamp->flags = now->flags;
        stamp->tci = now->tci;
        stamp->tpid = now->tpid;
        stamp->magic = RTAP_XDP_MAGIC;
    } else {
        n->unstamped++;
    }
    return XDP_REDIRECT;
}

static __always_inline int enter(struct xdp_md *ctx)
{
    __u32 zero = 0;
    struct rtap_xdp_counters *n = bpf_map_lookup_elem(&counters, &zero);

    if (!n)
        return XDP_PASS;
    n->seen++;
    bpf_tail_call(ctx, &programs, RTAP_XDP_SLOT_FILTER);
    return redirect(ctx, n);
}

#endif
