// SPDX-License-Identifier: MIT
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

char _license[] SEC("license") = "GPL";

SEC("xdp")
int rtap_entry(struct xdp_md *ctx)
{
    (void)ctx;
    return XDP_PASS;
}
