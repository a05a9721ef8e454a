/*
 * The XDP side of AF_XDP: loading and attaching the program of bpf/, its maps and counters, and the filter programs
 * that it jumps into. Owns what libbpf gives; nothing of libbpf's is seen outside xdp_program.c, and it prints nothing.
 *
 * A program is attached by a bpf_link: it goes with its descriptor, so with the process.
 */
#ifndef RTAP_IO_XDP_PROGRAM_H
#define RTAP_IO_XDP_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rtap_xdp_program;

enum rtap_xdp_mode { RTAP_XDP_AUTO, RTAP_XDP_NATIVE, RTAP_XDP_GENERIC };

struct rtap_xdp_config {
    const char *ifname;
    int ifindex;
    int mode;         /* enum rtap_xdp_mode */
    int fragments;    /* BPF_F_XDP_HAS_FRAGS: -1 where the kernel has it, 1, 0 */
    int metadata;     /* ask the device for tag, hash and hardware time: -1 where that goes, 1, 0 */
    bool replace;     /* take the place of a program that is attached already */
    const char *file; /* an object file of the user's instead of ours, NULL: ours */
    const char *map;  /* the name of its XSKMAP; NULL: the only one */
};

struct rtap_xdp_counts { /* since it was attached, over all CPUs */
    uint64_t seen, matched, redirected, passed, unstamped;
};

/* Load it; _attach begins to catch frames, as soon as sockets are set. To be called in the interface's namespace. 0 or
 * -errno with the sentence. */
int rtap_xdp_load(struct rtap_xdp_program **out, const struct rtap_xdp_config *cfg, char *err, size_t errlen);
int rtap_xdp_attach(struct rtap_xdp_program *p, const struct rtap_xdp_config *cfg, char *err, size_t errlen);
/* What matches and comes on that queue goes to this socket. */
int rtap_xdp_set_socket(struct rtap_xdp_program *p, uint32_t queue, int fd, char *err, size_t errlen);
/* The filter program is this one from now on; -1: none, everything matches. It may be closed afterwards. */
int rtap_xdp_set_filter(struct rtap_xdp_program *p, int fd, char *err, size_t errlen);
/* Catch no more; the counts stay. */
void rtap_xdp_detach(struct rtap_xdp_program *p);
/* Detach and free it. */
void rtap_xdp_free(struct rtap_xdp_program *p);

int rtap_xdp_counts(struct rtap_xdp_program *p, struct rtap_xdp_counts *c); /* -ENOTSUP: a program of the user's */
enum rtap_xdp_mode rtap_xdp_mode(const struct rtap_xdp_program *p);
bool rtap_xdp_has_fragments(const struct rtap_xdp_program *p);
bool rtap_xdp_has_metadata(const struct rtap_xdp_program *p);
bool rtap_xdp_is_ours(const struct rtap_xdp_program *p);
int rtap_xdp_programs_map(const struct rtap_xdp_program *p); /* descriptors, for making filter programs */
int rtap_xdp_current_map(const struct rtap_xdp_program *p);

struct rtap_xdp_attached {
    uint32_t id; /* 0: none */
    enum rtap_xdp_mode mode;
    char name[16];
};

/* What is attached to an interface of the caller's namespace, in each mode: how many, at most 3, or -errno. */
int rtap_xdp_query(int ifindex, struct rtap_xdp_attached list[3]);

#endif
