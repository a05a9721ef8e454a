/*
 * The XDP program of a filter: which version of the expression is for the frame, that version, and where a match goes.
 *
 * A frame has its outermost VLAN tag in the data, or the device has taken it out and the caller's map tells it. An
 * expression that doesn't say `vlan` is not to see that tag: the plain program fits but where the tag is in the data
 * and none was taken out. One that says it is to see the frame as it was on the wire: the plain program fits but where
 * one was taken out. The other version is the plain program rewritten by a load map, as for the kernel's socket filter.
 *
 * Called by src/io/xdp_source.c and by the binding.
 */
#include "filter_xdp.h"
#include "bpf_rewrite.h"
#include "bpf_translate.h"
#include "filter_compile.h"
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(RTAP_XDP_MATCH == XDP_TX && RTAP_XDP_NO_MATCH == XDP_PASS, "enum xdp_action");

#define HELPER_LOOKUP 1 /* bpf_map_lookup_elem */
#define HELPER_TAIL_CALL 12

/* More jumps than these, and the verifier could have to keep too many of them: half of what it can. With frags a load
 * is a jump too, and one that can't be turned round: both of its ways go on. */
#define MANY_JUMPS 4096u

/* Loads by helper. The verifier's time grows with the square of their number, and the CPU does nothing else meanwhile:
 * this many take seconds. What the kernel's socket filter takes, two versions in 4096 instructions, has fewer. */
#define MAX_CALLS 8192u

#define TPID BPF_REG_6 /* A and X are not in use yet */
#define TCI BPF_REG_7

struct versions {
    struct rtap_translate_program plain, special; /* special.count 0: the plain one does for all */
    struct sock_filter *own;                      /* special's, where it is not the filter's */
    bool shows;                                   /* special is for frames with a tag beside them */
};

static const struct sock_filter everything[] = {{BPF_RET | BPF_K, 0, 0, 1}};

static int make_versions(struct versions *v, struct rtap_filter *f, const struct rtap_xdp_env *env, char *err,
                         size_t errlen)
{
    struct rtap_rewrite how = {.map = rtap_filter_ether_shown};
    int r = 0;

    v->plain.insns = everything;
    v->plain.count = 1;
    if (f == NULL || rtap_filter_is_blank(f))
        return 0;
    v->shows = rtap_filter_says_vlan(f);
    r = rtap_filter_program(f, RTAP_LINKTYPE_ETHERNET, false, &v->plain.insns, &v->plain.count, err, errlen);
    if (r == 0 && !v->shows) {
        r = rtap_filter_program(f, RTAP_LINKTYPE_ETHERNET, true, &v->special.insns, &v->special.count, err, errlen);
    } else if (r == 0 && env->metadata >= 0) {
        r = rtap_bpf_rewrite(&how, v->plain.insns, v->plain.count, &v->own, &v->special.count);
        if (r < 0)
            snprintf(err, errlen, "the filter can't be written for frames with a VLAN tag beside them: %s",
                     strerror(-r));
        v->special.insns = v->own;
        v->special.aux = true;
        v->special.more_bytes = 4;
    }
    if (r == 0 && v->special.count == v->plain.count &&
        memcmp(v->special.insns, v->plain.insns, v->plain.count * sizeof(*v->plain.insns)) == 0)
        v->special.count = 0; /* it looks at nothing that moves */
    return r;
}

/* To `none` where no tag was taken out; else it is in TPID and TCI. */
static void test_tag_beside(struct rtap_ebpf *e, const struct rtap_xdp_env *env, uint32_t none)
{
    rtap_ebpf_op(e, BPF_ST | BPF_MEM | BPF_W, BPF_REG_10, 0, RTAP_STACK_BUFFER, 0);
    rtap_ebpf_op(e, BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_2, BPF_REG_10, 0, 0);
    rtap_ebpf_op(e, BPF_ALU64 | BPF_ADD | BPF_K, BPF_REG_2, 0, 0, (uint32_t)RTAP_STACK_BUFFER);
    rtap_ebpf_map(e, BPF_REG_1, env->metadata);
    rtap_ebpf_op(e, BPF_JMP | BPF_CALL, 0, 0, 0, HELPER_LOOKUP);
    rtap_ebpf_jump(e, BPF_JMP | BPF_JEQ | BPF_K, BPF_REG_0, 0, 0, none);
    rtap_ebpf_op(e, BPF_LDX | BPF_MEM | BPF_H, TPID, BPF_REG_0,
                 (int)(env->tag_offset + offsetof(struct rtap_xdp_tag, tpid)), 0);
    rtap_ebpf_op(e, BPF_LDX | BPF_MEM | BPF_H, TCI, BPF_REG_0,
                 (int)(env->tag_offset + offsetof(struct rtap_xdp_tag, tci)), 0);
    rtap_ebpf_jump(e, BPF_JMP | BPF_JEQ | BPF_K, TPID, 0, 0, none);
}

/* To `none` where the data has no tag. */
static void test_tag_inside(struct rtap_translate *t, uint32_t none)
{
    static const uint32_t tpids[] = {0x8100, 0x88a8, 0x9100};
    uint32_t found = rtap_ebpf_labels(t->out, 1);

    rtap_translate_load(t, RTAP_EBPF_A, 12, 4, 0, none); /* a tag that is cut off is none */
    rtap_ebpf_op(t->out, BPF_ALU | BPF_RSH | BPF_K, RTAP_EBPF_A, 0, 0, 16);
    for (unsigned i = 0; i < 3; i++)
        rtap_ebpf_jump(t->out, BPF_JMP32 | BPF_JEQ | BPF_K, RTAP_EBPF_A, 0, tpids[i], found);
    rtap_ebpf_goto(t->out, none);
    rtap_ebpf_place(t->out, found);
}

static void put_versions(struct rtap_translate *t, const struct rtap_xdp_env *env, const struct versions *v)
{
    struct rtap_ebpf *e = t->out;
    uint32_t plain = rtap_ebpf_labels(e, 2), special = plain + 1;

    rtap_ebpf_op(e, BPF_ALU64 | BPF_MOV | BPF_X, RTAP_EBPF_CTX, BPF_REG_1, 0, 0);
    if (v->special.count > 0 && v->shows) {
        uint32_t none = rtap_ebpf_labels(e, 1);

        test_tag_beside(e, env, none);
        rtap_ebpf_op(e, BPF_STX | BPF_MEM | BPF_W, BPF_REG_10, TPID, RTAP_STACK_TPID, 0);
        rtap_ebpf_op(e, BPF_STX | BPF_MEM | BPF_W, BPF_REG_10, TCI, RTAP_STACK_TCI, 0);
        rtap_translate_edges(t);
        rtap_translate_program(t, &v->special);
        rtap_ebpf_place(e, none);
        rtap_translate_edges(t);
    } else {
        rtap_translate_edges(t);
    }
    if (v->special.count > 0 && !v->shows) {
        test_tag_inside(t, plain);
        if (env->metadata >= 0) { /* it may be the second of two */
            test_tag_beside(e, env, special);
            rtap_translate_edges(t);
            rtap_ebpf_goto(e, plain);
            rtap_ebpf_place(e, special);
            rtap_translate_edges(t);
        }
        rtap_translate_program(t, &v->special);
    }
    rtap_ebpf_place(e, plain);
    rtap_translate_program(t, &v->plain);
}

static unsigned count_loads(const struct rtap_translate_program *program)
{
    unsigned n = 0;

    for (unsigned i = 0; i < program->count; i++) {
        unsigned class = BPF_CLASS(program->insns[i].code), mode = BPF_MODE(program->insns[i].code);

        n += (class == BPF_LD || class == BPF_LDX) && (mode == BPF_ABS || mode == BPF_IND || mode == BPF_MSH);
    }
    return n;
}

static void put_ends(struct rtap_translate *t, const struct rtap_xdp_env *env)
{
    struct rtap_ebpf *e = t->out;

    rtap_ebpf_place(e, t->match);
    if (env->programs >= 0) {
        rtap_ebpf_op(e, BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_1, RTAP_EBPF_CTX, 0, 0);
        rtap_ebpf_map(e, BPF_REG_2, env->programs);
        rtap_ebpf_op(e, BPF_ALU | BPF_MOV | BPF_K, BPF_REG_3, 0, 0, env->next);
        rtap_ebpf_op(e, BPF_JMP | BPF_CALL, 0, 0, 0, HELPER_TAIL_CALL);
        rtap_ebpf_op(e, BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, XDP_PASS);
    } else {
        rtap_ebpf_op(e, BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, RTAP_XDP_MATCH);
    }
    rtap_ebpf_op(e, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
    rtap_ebpf_place(e, t->no_match);
    rtap_ebpf_op(e, BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, RTAP_XDP_NO_MATCH);
    rtap_ebpf_op(e, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
}

/* How the program is written, by its size. */
static int choose_form(struct rtap_translate *t, const struct versions *v, char *err, size_t errlen)
{
    unsigned loads = count_loads(&v->plain) + count_loads(&v->special);

    t->out->shallow = v->plain.count + v->special.count > MANY_JUMPS;
    t->by_call = t->frags && loads > MANY_JUMPS;
    if (!t->by_call || loads <= MAX_CALLS)
        return 0;
    snprintf(err, errlen,
             "the filter is too long for XDP with frames in several buffers: it reads at %u places, %u are "
             "possible",
             loads, MAX_CALLS);
    return -E2BIG;
}

int rtap_filter_xdp(struct rtap_filter *f, const struct rtap_xdp_env *env, struct bpf_insn **insns, unsigned *count,
                    char *err, size_t errlen)
{
    struct rtap_ebpf e = {0};
    struct rtap_translate t = {.out = &e, .frags = env->frags};
    struct versions v = {0};
    int r = make_versions(&v, f, env, err, errlen);

    *insns = NULL;
    if (r == 0)
        r = choose_form(&t, &v, err, errlen);
    if (r == 0) {
        t.match = rtap_ebpf_labels(&e, 2);
        t.no_match = t.match + 1;
        put_versions(&t, env, &v);
        put_ends(&t, env);
        rtap_translate_finish(&t);
        r = rtap_ebpf_finish(&e, insns, count);
        if (r == -E2BIG)
            snprintf(err, errlen, "the filter is too long for XDP: %u instructions, the kernel takes %u", *count,
                     RTAP_EBPF_MAXINSNS);
        else if (r < 0)
            snprintf(err, errlen, "not enough memory for the filter");
    }
    free(v.own);
    return r;
}
