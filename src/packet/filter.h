/*
 * A filter expression and its compiled forms, one per link type, made when first asked for.
 *
 * One meaning on every engine: an expression that does not say `vlan` is run on the frame without its outermost tag
 * (len included); one that says it is run on the frame as it was on the wire.
 */
#ifndef RTAP_PACKET_FILTER_H
#define RTAP_PACKET_FILTER_H

#include "pkt.h"
#include <linux/filter.h>
#include <stddef.h>

struct rtap_filter;

#define RTAP_FILTER_ERROR_SIZE 512

/* Parse `expr` for `linktype` (errors are found here). optimize=false keeps libpcap's optimizer out. A blank expression
 * matches everything. 0, -EINVAL with the text in err (libpcap's words, then the expression with a caret under what it
 * stumbled over: several lines), -ENOMEM. The new filter has one reference. */
int rtap_filter_new(struct rtap_filter **out, const char *expr, uint16_t linktype, bool optimize, char *err,
                    size_t errlen);
struct rtap_filter *rtap_filter_ref(struct rtap_filter *f);
void rtap_filter_unref(struct rtap_filter *f); /* NULL is fine */
const char *rtap_filter_expr(const struct rtap_filter *f);
bool rtap_filter_says_vlan(const struct rtap_filter *f);
bool rtap_filter_is_blank(const struct rtap_filter *f); /* matches everything */

/* 1 match, 0 no match, -EINVAL when the expression has no meaning for the packet's link type (text in err). */
int rtap_filter_match(struct rtap_filter *f, const struct rtap_pkt *pkt, char *err, size_t errlen);

/* A frame whose outermost tag is hidden from an expression that doesn't say `vlan`. */
bool rtap_filter_is_tagged(uint16_t linktype, const uint8_t *data, uint32_t caplen);

/* The program that rtap_filter_match runs on a frame with its tags in place: `tagged` where rtap_filter_is_tagged()
 * says so. It may use RTAP_BPF_MEMWORDS scratch slots. *insns stays the filter's. Errors as rtap_filter_match. */
int rtap_filter_program(struct rtap_filter *f, uint16_t linktype, bool tagged, const struct sock_filter **insns,
                        unsigned *count, char *err, size_t errlen);

/* What the kernel's program has to do besides the expression. */
struct rtap_filter_env {
    uint16_t linktype; /* of the packets that user space will see */
    bool cooked;       /* SOCK_DGRAM: the kernel sees no link-layer header (SLL2, NETLINK, RAW) */
    uint32_t snaplen;  /* accepted packets return this */
    enum { RTAP_DIR_BOTH, RTAP_DIR_IN, RTAP_DIR_OUT } direction;
    bool loopback_once; /* drop PACKET_OUTGOING frames of loopback devices (ARPHRD_LOOPBACK) */
    bool ignore_vlan;   /* drop tagged frames */
};

/* The program for SO_ATTACH_FILTER: *insns is malloc'ed. f == NULL: no expression.
 * 0; 1: it accepts some frames that only user space can judge (cooked ones with a VLAN tag), so that what comes has to
 * go through rtap_filter_match too; -ENOTSUP when the expression reads what the kernel can't show, -E2BIG over 4096
 * instructions, -EINVAL, -ENOMEM. */
int rtap_filter_kernel(struct rtap_filter *f, const struct rtap_filter_env *env, struct sock_filter **insns,
                       unsigned *count, char *err, size_t errlen);

#endif
