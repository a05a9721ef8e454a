/*
 * Loading filter programs, and running one on a frame that never was on a device.
 *
 * A program is loaded without a log, which costs time and memory, and once more with
 * one when it was refused. Called by the binding.
 */
#include "xdp_filter.h"
#include "../packet/ebpf_asm.h"
#include "../packet/filter_xdp.h"
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LICENSE "Dual MIT/GPL"
#define LOG_SIZE 65536u
#define LOG_ERRORS 4 /* BPF_LOG_STATS: no line for each instruction, only what is wrong and the figures */

/* --- filters --- */

static int load(const struct bpf_insn *insns, unsigned count, bool frags, char *log)
{
    /* the programs of one map of programs are to be alike in this type */
    LIBBPF_OPTS(bpf_prog_load_opts, opts, .prog_flags = frags ? BPF_F_XDP_HAS_FRAGS : 0,
                .expected_attach_type = BPF_XDP);

    if (log != NULL) {
        log[0] = '\0';
        opts.log_buf = log;
        opts.log_size = LOG_SIZE;
        opts.log_level = LOG_ERRORS;
    }
    return bpf_prog_load(BPF_PROG_TYPE_XDP, "rtap_filter", LICENSE, insns, count, &opts);
}

static bool is_figure(const char *line, size_t len)
{
    static const char *const starts[] = {"processed ", "verification time", "stack depth", "max_states"};

    for (unsigned i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
        if (len >= strlen(starts[i]) && memcmp(line, starts[i], strlen(starts[i])) == 0)
            return true;
    return len == 0;
}

/* The last line that says what is wrong. */
static const char *last_line(char *log)
{
    const char *last = NULL;
    char *next;

    for (char *line = log; line != NULL; line = next) {
        next = strchr(line, '\n');
        if (next != NULL)
            *next++ = '\0';
        if (!is_figure(line, strlen(line)))
            last = line;
    }
    return last;
}

static bool has(const struct bpf_insn *insns, unsigned count, unsigned code)
{
    for (unsigned i = 0; i < count; i++) {
        if (insns[i].code == code)
            return true;
        if (insns[i].code == (BPF_LD | BPF_DW | BPF_IMM))
            i++;
    }
    return false;
}

static void explain(const struct bpf_insn *insns, unsigned count, int error, char *log, char *err, size_t errlen)
{
    const char *line = log != NULL ? last_line(log) : NULL, *needs = "";

    if (error == EPERM)
        needs = " (needs CAP_BPF and CAP_NET_ADMIN: run as root, or setcap cap_bpf,cap_net_admin,cap_perfmon+ep on the "
                "lua binary)";
    else if (error == EACCES && line != NULL && strstr(line, "!root") != NULL)
        needs = " (a place that is computed from the packet needs CAP_PERFMON, too)";
    else if (error == EINVAL && has(insns, count, RTAP_EBPF_MAY_GOTO))
        needs = " (a loop, as protochain has it, needs Linux 6.9)";
    else if (error == EINVAL && has(insns, count, RTAP_EBPF_GOTOL))
        needs = " (a program as long needs Linux 6.6)";
    snprintf(err, errlen, "the kernel refuses the filter's XDP program of %u instructions: %s%s%s%s", count,
             strerror(error), line != NULL ? ": " : "", line != NULL ? line : "", needs);
}

int rtap_xdp_load_filter(const struct bpf_insn *insns, unsigned count, bool frags, char *err, size_t errlen)
{
    int fd = load(insns, count, frags, NULL), error = -fd;
    char *log;

    if (fd >= 0)
        return fd;
    log = error != EPERM ? malloc(LOG_SIZE) : NULL;
    if (log != NULL) {
        fd = load(insns, count, frags, log);
        if (fd < 0 && fd != -ENOSPC)
            error = -fd;
    }
    if (fd < 0)
        explain(insns, count, error, log, err, errlen);
    free(log);
    return fd < 0 ? -error : fd;
}

/* --- runs --- */

int rtap_xdp_run_filter(int fd, const void *data, uint32_t len, bool frags, uint32_t linear)
{
    struct xdp_md ctx = {.data_end = linear};
    LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = data, .data_size_in = len, .repeat = 1);
    int r;

    if (!frags && (len > RTAP_XDP_ONE_BUFFER || linear > 0))
        return -EINVAL;
    if (linear > 0 && linear < len) {
        opts.ctx_in = &ctx;
        opts.ctx_size_in = sizeof(ctx);
    }
    r = bpf_prog_test_run_opts(fd, &opts);
    return r < 0 ? r : opts.retval == RTAP_XDP_MATCH;
}

int rtap_xdp_new_tag(void)
{
    return bpf_map_create(BPF_MAP_TYPE_PERCPU_ARRAY, "rtap_tag", sizeof(uint32_t), sizeof(struct rtap_xdp_tag), 1,
                          NULL);
}

int rtap_xdp_set_tag(int map, const struct rtap_xdp_tag *tag)
{
    int cpus = libbpf_num_possible_cpus(), r;
    uint32_t key = 0;
    uint64_t *values; /* each is rounded up to 8 bytes */

    if (cpus < 0)
        return cpus;
    values = calloc((size_t)cpus, sizeof(*values));
    if (values == NULL)
        return -ENOMEM;
    for (int i = 0; i < cpus; i++)
        memcpy(&values[i], tag, sizeof(*tag));
    r = bpf_map_update_elem(map, &key, values, BPF_ANY);
    free(values);
    return r;
}
