/* Classic BPF in user space: a check that is made once, and an interpreter that trusts it. */
#ifndef RTAP_PACKET_BPF_RUN_H
#define RTAP_PACKET_BPF_RUN_H

#include <linux/filter.h>
#include <stdbool.h>
#include <stdint.h>

#ifndef BPF_MOD /* <linux/filter.h> of old kernels */
#define BPF_MOD 0x90
#endif
#ifndef BPF_XOR
#define BPF_XOR 0xa0
#endif

/* Two more than the kernel's 16: the rewriter has room here even when a program uses every slot. */
#define RTAP_BPF_MEMWORDS 18
#define RTAP_BPF_MAXINSNS 65536u

/* True when the program can be given to rtap_bpf_run: known instructions, jumps that stay inside, scratch slots that
 * exist, ends with a return. */
bool rtap_bpf_check(const struct sock_filter *insns, unsigned count);

/* True when a `ja` goes backwards, as in libpcap's `protochain`: the kernel takes no such program. */
bool rtap_bpf_has_loop(const struct sock_filter *insns, unsigned count);

/* libpcap's bpf_filter(): what the program returns; 0 when it loads from outside data[0 .. caplen), divides by
 * 0, or goes round a loop more often than there are bytes. */
uint32_t rtap_bpf_run(const struct sock_filter *insns, const uint8_t *data, uint32_t caplen, uint32_t len);

#endif
