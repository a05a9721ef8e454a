/* Filter programs for XDP: loading one that rtap_filter_xdp made, and running one on a frame that never was on a
 * device. */
#ifndef RTAP_IO_XDP_FILTER_H
#define RTAP_IO_XDP_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bpf_insn;
struct rtap_xdp_tag;

/* Load a filter program that rtap_filter_xdp made; frags: BPF_F_XDP_HAS_FRAGS. A descriptor, or -errno with the
 * sentence in err (what the verifier had against it). */
int rtap_xdp_load_filter(const struct bpf_insn *insns, unsigned count, bool frags, char *err, size_t errlen);
/* Bytes of a frame that the first buffer of such a run has room for at least, where pages have 4096. Linux 6.18 takes
 * longer frames for programs without frags too, which then see a part of them. */
#define RTAP_XDP_ONE_BUFFER 3072u
/* Run a filter program that was made to stand alone on one frame (BPF_PROG_TEST_RUN): 1 it matches, 0 not, -errno;
 * -EINVAL: shorter than 14 bytes, or longer than one buffer and not made for frags. linear: bytes of the frame that its
 * first buffer holds (Linux 6.18, frags), 0: as many as there is room for. */
int rtap_xdp_run_filter(int fd, const void *data, uint32_t len, bool frags, uint32_t linear);
/* A map as struct rtap_xdp_env has it as `metadata`, with the tag alone: a descriptor or -errno. For such runs. */
int rtap_xdp_new_tag(void);
int rtap_xdp_set_tag(int map, const struct rtap_xdp_tag *tag);

#endif
