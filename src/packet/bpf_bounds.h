/* What can be told about a classic BPF program, which rtap_bpf_check accepted, without running it. */
#ifndef RTAP_PACKET_BPF_BOUNDS_H
#define RTAP_PACKET_BPF_BOUNDS_H

#include "bpf_run.h"

struct rtap_bpf_bounds { /* upper bounds at the entry of an instruction */
    bool reached;
    uint32_t a, x, mem[RTAP_BPF_MEMWORDS];
};

/* One for each instruction, malloc'ed; NULL: no memory. */
struct rtap_bpf_bounds *rtap_bpf_find_bounds(const struct sock_filter *insns, unsigned count);

/* *slots: a bit for each scratch slot that is read before it is written, by the kernel's rule (it goes through the
 * program once, and past returns), which makes it refuse the program. 0, -ENOMEM. */
int rtap_bpf_find_unwritten(const struct sock_filter *insns, unsigned count, const struct rtap_bpf_bounds *bounds,
                            uint32_t *slots);

#endif
