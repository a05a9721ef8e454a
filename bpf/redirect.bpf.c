// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * The XDP program of ringtap: each frame is counted; what the filter matches is stamped and given to the socket of its
 * queue; everything else goes to the host.
 *
 * rtap_entry jumps into the filter's program (slot 0 of `programs`), which jumps into rtap_redirect (slot 1) on a match.
 * Without a filter slot 0 is empty and the jump falls through. metadata.bpf.c has another entry.
 */
#include "xdp_common.h"

SEC("xdp")
int rtap_redirect(struct xdp_md *ctx)
{
    __u32 zero = 0;
    struct rtap_xdp_counters *n = bpf_map_lookup_elem(&counters, &zero);

    return n ? redirect(ctx, n) : XDP_PASS;
}

SEC("xdp")
int rtap_entry(struct xdp_md *ctx)
{
    return enter(ctx);
}

char _license[] SEC("license") = "Dual MIT/GPL";
