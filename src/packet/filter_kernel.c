/*
 * The program for SO_ATTACH_FILTER: what the socket's options ask for, then the expression, made to see the frame as
 * user space will see it although the kernel has it otherwise.
 *
 * The kernel keeps the outermost tag beside the frame (metadata) when it has taken it out, as it does with every
 * received 0x8100 and 0x88a8 tag; frames on their way out, and 0x9100, have it in the data. A cooked socket's program
 * sees the bytes from the network header on. So a program has up to three versions of the expression, each behind the
 * test that says which frames it is for. Each is the one program rewritten by a load map.
 *
 * Called by src/io/tpacket.c through filter.h, and by the binding for inspection.
 */
#include "bpf_asm.h"
#include "bpf_rewrite.h"
#include "filter.h"
#include "filter_compile.h"
#include <errno.h>
#include <linux/if_arp.h>
#include <linux/if_packet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define MAP(regions, len_delta)                \
    {                                          \
        (regions), COUNT(regions), (len_delta) \
    }
#define AUX(at, name)                                          \
    {                                                          \
        .from = (at), .source = RTAP_LOAD_AUX, .value = (name) \
    }
#define NONE(at)                               \
    {                                          \
        .from = (at), .source = RTAP_LOAD_NONE \
    }
#define ZERO(at)                                \
    {                                           \
        .from = (at), .source = RTAP_LOAD_CONST \
    }
#define DATA(at, by)                \
    {                               \
        .from = (at), .delta = (by) \
    }

static const struct rtap_load_region as_it_is[] = {DATA(0, 0)};

/* Ethernet: the tag is in the data and the expression isn't to see it; it is beside the data and is to be seen. */
static const struct rtap_load_region ether_hidden[] = {DATA(0, 0), DATA(12, 4)};
static const struct rtap_load_region ether_shown[] = {DATA(0, 0), AUX(12, SKF_AD_VLAN_TPID), AUX(14, SKF_AD_VLAN_TAG),
                                                      DATA(16, -4)};

const struct rtap_load_map rtap_filter_ether_shown = MAP(ether_shown, 4);

/* LINUX_SLL2: the header is made by user space from the same facts. */
#define SLL2_MIDDLE ZERO(2), AUX(4, SKF_AD_IFINDEX), AUX(8, SKF_AD_HATYPE), AUX(10, SKF_AD_PKTTYPE), NONE(11)
static const struct rtap_load_region sll2_plain[] = {AUX(0, SKF_AD_PROTOCOL), SLL2_MIDDLE, DATA(20, -20)};
static const struct rtap_load_region sll2_hidden[] = {DATA(0, 2), SLL2_MIDDLE, DATA(20, -16)};

/* NETLINK (nlmon): the 16 bytes of LINUX_SLL, without an address. */
static const struct rtap_load_region netlink_plain[] = {
    ZERO(0),  AUX(1, SKF_AD_PKTTYPE),   AUX(2, SKF_AD_HATYPE), ZERO(4), ZERO(8),
    ZERO(12), AUX(14, SKF_AD_PROTOCOL), DATA(16, -16)};

/* How the kernel has the frames of a link type. */
struct scheme {
    bool tags;        /* the frames may have some */
    uint32_t type_at; /* in the data; UINT32_MAX: SKF_AD_PROTOCOL */
    uint32_t enough;  /* bytes of data that a frame with its tag in there has */
    struct rtap_load_map plain, hidden, shown;
};

static const struct scheme identity = {.plain = MAP(as_it_is, 0)};
static const struct scheme ethernet = {
    .tags = true,
    .type_at = 12,
    .enough = 16,
    .plain = MAP(as_it_is, 0),
    .hidden = MAP(ether_hidden, -4),
    .shown = MAP(ether_shown, 4),
};
static const struct scheme cooked_sll2 = {
    .tags = true,
    .type_at = UINT32_MAX,
    .enough = 4,
    .plain = MAP(sll2_plain, 20),
    .hidden = MAP(sll2_hidden, 16),
};
static const struct scheme cooked_netlink = {.plain = MAP(netlink_plain, 16)};

static const struct scheme *find_scheme(const struct rtap_filter_env *env)
{
    switch (env->linktype) {
    case RTAP_LINKTYPE_ETHERNET: return env->cooked ? NULL : &ethernet;
    case RTAP_LINKTYPE_LINUX_SLL2: return env->cooked ? &cooked_sll2 : &identity;
    case RTAP_LINKTYPE_NETLINK: return env->cooked ? &cooked_netlink : &identity;
    case RTAP_LINKTYPE_RAW:
    case RTAP_LINKTYPE_IPV4:
    case RTAP_LINKTYPE_IPV6: return &identity;
    default: return env->cooked ? NULL : &identity;
    }
}

static void load_aux(struct rtap_asm *a, uint32_t what)
{
    rtap_asm_op(a, BPF_LD | BPF_W | BPF_ABS, (uint32_t)SKF_AD_OFF + what);
}

static void jump_equal(struct rtap_asm *a, uint32_t k, uint32_t if_true, uint32_t if_false)
{
    rtap_asm_jump(a, BPF_JMP | BPF_JEQ | BPF_K, k, if_true, if_false);
}

/* A cooked frame with a tag behind its header, or two: from 6.11 on the kernel tells user space the innermost type as
 * its protocol, and data that may begin behind the tags; older ones tell what this program sees. To `yes` for such a
 * frame. */
static void test_cooked_tag(struct rtap_asm *a, uint32_t yes)
{
    load_aux(a, SKF_AD_PROTOCOL);
    jump_equal(a, 0x8100, yes, RTAP_ASM_NEXT);
    jump_equal(a, 0x88a8, yes, RTAP_ASM_NEXT);
}

/* To `yes` when the data has a tag, else to `no`. */
static void test_tag_in_data(struct rtap_asm *a, const struct scheme *s, uint32_t yes, uint32_t no)
{
    rtap_asm_op(a, BPF_LD | BPF_W | BPF_LEN, 0);
    rtap_asm_jump(a, BPF_JMP | BPF_JGE | BPF_K, s->enough, RTAP_ASM_NEXT, no);
    if (s->type_at == UINT32_MAX)
        load_aux(a, SKF_AD_PROTOCOL);
    else
        rtap_asm_op(a, BPF_LD | BPF_H | BPF_ABS, s->type_at);
    jump_equal(a, 0x8100, yes, RTAP_ASM_NEXT);
    jump_equal(a, 0x88a8, yes, RTAP_ASM_NEXT);
    jump_equal(a, 0x9100, yes, no);
}

static void test_env(struct rtap_asm *a, const struct rtap_filter_env *env, const struct scheme *s, uint32_t reject)
{
    if (env->direction != RTAP_DIR_BOTH || env->loopback_once)
        load_aux(a, SKF_AD_PKTTYPE);
    if (env->direction == RTAP_DIR_IN) {
        jump_equal(a, PACKET_OUTGOING, reject, RTAP_ASM_NEXT);
    } else if (env->direction == RTAP_DIR_OUT) {
        jump_equal(a, PACKET_OUTGOING, RTAP_ASM_NEXT, reject);
    }
    if (env->loopback_once && env->direction != RTAP_DIR_IN) {
        uint32_t past = rtap_asm_labels(a, 1);

        if (env->direction == RTAP_DIR_BOTH)
            jump_equal(a, PACKET_OUTGOING, RTAP_ASM_NEXT, past);
        load_aux(a, SKF_AD_HATYPE);
        jump_equal(a, ARPHRD_LOOPBACK, reject, RTAP_ASM_NEXT);
        rtap_asm_place(a, past);
    }
    if (env->ignore_vlan && s->tags) {
        uint32_t past = rtap_asm_labels(a, 1);

        load_aux(a, SKF_AD_VLAN_TAG_PRESENT);
        jump_equal(a, 0, RTAP_ASM_NEXT, reject);
        if (s == &cooked_sll2)
            test_cooked_tag(a, reject);
        test_tag_in_data(a, s, reject, past);
        rtap_asm_place(a, past);
    }
}

/* The expression's versions: one for most frames, one for those that `special` is for. */
struct versions {
    struct sock_filter *plain, *special;
    unsigned plain_count, special_count;
};

static int make_versions(struct versions *v, struct rtap_filter *f, const struct rtap_filter_env *env,
                         const struct scheme *s, uint32_t accept, char *err, size_t errlen)
{
    static const struct sock_filter everything[] = {{BPF_RET | BPF_K, 0, 0, 1}};
    struct rtap_rewrite how = {.map = s->plain, .kernel = true, .accept = accept};
    const struct sock_filter *insns = everything;
    unsigned count = 1;
    int r = f != NULL ? rtap_filter_program(f, env->linktype, false, &insns, &count, err, errlen) : 0;

    if (r == 0 && s == &cooked_sll2 && f != NULL && rtap_filter_says_vlan(f))
        return -ENOTSUP; /* libpcap has no `vlan` for it, so far */
    if (r == 0)
        r = rtap_bpf_rewrite(&how, insns, count, &v->plain, &v->plain_count);
    if (r == 0 && s->tags && !env->ignore_vlan) {
        how.map = f != NULL && rtap_filter_says_vlan(f) ? s->shown : s->hidden;
        r = rtap_bpf_rewrite(&how, insns, count, &v->special, &v->special_count);
    }
    /* An expression that looks at nothing that moves needs one version only. */
    if (r == 0 && v->special_count == v->plain_count &&
        memcmp(v->special, v->plain, v->plain_count * sizeof(*v->plain)) == 0)
        v->special_count = 0;
    return r;
}

static void put_version(struct rtap_asm *a, const struct sock_filter *insns, unsigned count)
{
    /* It was written for A = X = 0, which what is before it has changed. */
    if (a->count > 0 && BPF_CLASS(insns[0].code) != BPF_LD && insns[0].code != (BPF_RET | BPF_K))
        rtap_asm_op(a, BPF_LD | BPF_IMM, 0);
    rtap_asm_append(a, insns, count);
}

static void put_versions(struct rtap_asm *a, const struct versions *v, const struct scheme *s, bool says_vlan)
{
    if (v->special_count > 0) {
        uint32_t plain = rtap_asm_labels(a, 2), special = plain + 1;

        load_aux(a, SKF_AD_VLAN_TAG_PRESENT);
        if (says_vlan) {
            jump_equal(a, 0, plain, RTAP_ASM_NEXT);
        } else { /* metadata, or no tag at all: the data is what it is to see */
            jump_equal(a, 0, RTAP_ASM_NEXT, plain);
            test_tag_in_data(a, s, special, plain);
        }
        rtap_asm_place(a, special);
        put_version(a, v->special, v->special_count);
        rtap_asm_place(a, plain);
    }
    put_version(a, v->plain, v->plain_count);
}

int rtap_filter_kernel(struct rtap_filter *f, const struct rtap_filter_env *env, struct sock_filter **insns,
                       unsigned *count, char *err, size_t errlen)
{
    const struct scheme *s = find_scheme(env);
    struct versions v = {0};
    struct rtap_asm a = {0};
    uint32_t reject, accept;
    bool again = false;
    int r;

    *insns = NULL;
    if (s == NULL) {
        snprintf(err, errlen, "a cooked socket has no packets of link type %u", env->linktype);
        return -EINVAL;
    }
    accept = env->snaplen > 0 ? env->snaplen : 262144;
    r = make_versions(&v, f, env, s, accept, err, errlen);
    if (r == 0) {
        reject = rtap_asm_labels(&a, 1);
        test_env(&a, env, s, reject);
        again = s == &cooked_sll2 && f != NULL && !rtap_filter_is_blank(f) && !env->ignore_vlan;
        if (a.count > 0) {
            uint32_t start = rtap_asm_labels(&a, 1);

            rtap_asm_goto(&a, start);
            rtap_asm_place(&a, reject);
            rtap_asm_op(&a, BPF_RET | BPF_K, 0);
            rtap_asm_place(&a, start);
        }
        if (again) {
            uint32_t tagged = rtap_asm_labels(&a, 2), start = tagged + 1;

            test_cooked_tag(&a, tagged);
            rtap_asm_goto(&a, start);
            rtap_asm_place(&a, tagged);
            rtap_asm_op(&a, BPF_RET | BPF_K, accept);
            rtap_asm_place(&a, start);
        }
        put_versions(&a, &v, s, f != NULL && rtap_filter_says_vlan(f));
        r = rtap_asm_finish(&a, insns, count);
    }
    free(v.plain);
    free(v.special);
    if (r == 0 && *count > BPF_MAXINSNS) {
        free(*insns);
        *insns = NULL;
        r = -E2BIG;
    }
    if (r == -ENOTSUP)
        snprintf(err, errlen, "the expression reads what the kernel's socket filter can't see");
    else if (r == -E2BIG)
        snprintf(err, errlen, "the expression needs %u instructions, the kernel takes %u", *count, BPF_MAXINSNS);
    else if (r == -ENOMEM)
        snprintf(err, errlen, "not enough memory for the filter");
    return r == 0 ? again : r;
}
