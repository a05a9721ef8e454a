// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * The entry that asks the device for its metadata first. It can be loaded for one device only, in native mode, on a
 * kernel that has these functions; it shares the maps of redirect.bpf.c.
 */
#include "xdp_common.h"

enum xdp_rss_hash_type { RTAP_RSS_TYPE_UNKNOWN }; /* the kernel's name: the loader compares types */

/* The kernel's metadata functions (Documentation/networking/xdp-rx-metadata.rst): 0, or an error where the device has
 * nothing to say; a time of 0 is none, too. */
extern int bpf_xdp_metadata_rx_timestamp(const struct xdp_md *ctx, __u64 *timestamp) __ksym __weak;
extern int bpf_xdp_metadata_rx_hash(const struct xdp_md *ctx, __u32 *hash, enum xdp_rss_hash_type *type) __ksym __weak;
extern int bpf_xdp_metadata_rx_vlan_tag(const struct xdp_md *ctx, __be16 *proto, __u16 *tci) __ksym __weak;

SEC("xdp")
int rtap_entry_device(struct xdp_md *ctx)
{
    __u32 zero = 0;
    struct rtap_xdp_current *now = bpf_map_lookup_elem(&current, &zero);
    enum xdp_rss_hash_type type;
    __u64 hardware = 0;
    __u32 hash = 0;
    __be16 tpid = 0;
    __u16 tci = 0;

    if (!now)
        return XDP_PASS;
    now->hardware = bpf_xdp_metadata_rx_timestamp(ctx, &hardware) == 0 ? hardware : 0;
    now->flags = bpf_xdp_metadata_rx_hash(ctx, &hash, &type) == 0 ? RTAP_XDP_HAS_HASH : 0;
    now->hash = hash;
    now->tpid = bpf_xdp_metadata_rx_vlan_tag(ctx, &tpid, &tci) == 0 ? bpf_ntohs(tpid) : 0;
    now->tci = tci;
    return enter(ctx);
}

char _license[] SEC("license") = "Dual MIT/GPL";
