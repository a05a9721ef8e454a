/* A program of somebody's own: UDP to port 9 (IPv4 without options) goes to the socket, all else to the host. */
#include <linux/bpf.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#ifndef PORT
#define PORT 9
#endif

struct {
    __uint(type, BPF_MAP_TYPE_XSKMAP);
    __uint(max_entries, 4);
    __type(key, __u32);
    __type(value, __u32);
} mine SEC(".maps");

#ifdef TWO
struct {
    __uint(type, BPF_MAP_TYPE_XSKMAP);
    __uint(max_entries, 4);
    __type(key, __u32);
    __type(value, __u32);
} unused SEC(".maps");
#endif

SEC("xdp")
int own(struct xdp_md *ctx)
{
    const unsigned char *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;

#ifdef TWO
    if (ctx->rx_queue_index == 3)
        return bpf_redirect_map(&unused, 0, XDP_PASS);
#endif
    if (data + 42 > end || data[12] != 8 || data[13] != 0 || data[23] != 17 || data[36] != PORT >> 8 ||
        data[37] != (PORT & 255))
        return XDP_PASS;
    return bpf_redirect_map(&mine, ctx->rx_queue_index, XDP_PASS);
}

char _license[] SEC("license") = "GPL";
