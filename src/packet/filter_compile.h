/* The filter language's words, and its compiler: what filter.c, filter_kernel.c and filter_xdp.c share. */
#ifndef RTAP_PACKET_FILTER_COMPILE_H
#define RTAP_PACKET_FILTER_COMPILE_H

#include "bpf_rewrite.h"
#include "filter.h"
#include <stdbool.h>

/* Move *p behind the next token; its length, with *start set, or 0 at the end. A token is what libpcap's scanner takes
 * for one; *bracketed (start with 0) counts open brackets, inside which ':' is an operator. */
size_t rtap_filter_token(const char **p, const char **start, unsigned *bracketed);

/* True when `word` stands in the expression as a word of the language: not escaped, not part of another word. */
bool rtap_filter_says(const char *expr, const char *word, const char **where);

static inline bool rtap_filter_is_tpid(uint16_t type)
{
    return type == 0x8100 || type == 0x88a8 || type == 0x9100; /* those that libpcap's `vlan` takes */
}

/* Ethernet frames whose outermost tag stands beside the data (SKF_AD_VLAN_TPID, SKF_AD_VLAN_TAG), seen with it. */
extern const struct rtap_load_map rtap_filter_ether_shown;

/* libpcap's program for the frame as it is: *insns is malloc'ed. 0, -EINVAL with the text in err, -ENOMEM. */
int rtap_filter_compile(const char *expr, uint16_t linktype, bool optimize, struct sock_filter **insns, unsigned *count,
                        char *err, size_t errlen);

#endif
