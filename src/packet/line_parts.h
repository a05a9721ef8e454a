/* What the files of the line printer share: line.c (the frame of it), line_link.c, line_ip.c (IP), line_l4.c (above
 * IP), line_icmp.c. */
#ifndef RTAP_PACKET_LINE_PARTS_H
#define RTAP_PACKET_LINE_PARTS_H

#include "line.h"
#include "out.h"

struct rtap_line_job {
    struct rtap_out out;
    const struct rtap_pkt *pkt;
    const struct rtap_line_style *style;
    struct rtap_look look;
    bool named; /* the addresses stand in the line already */
};

/* For string literals: their length is known when compiling. */
#define LIT(job, s) rtap_out_mem(&(job)->out, s, sizeof(s) - 1)

/* tcpdump's mark for "the rest was not captured". */
#define CUT(job, name) LIT(job, " [|" name "]")

/* A transport: the bytes that may be read, and how many it has by the IP length. */
struct rtap_line_span {
    const uint8_t *p;
    uint32_t left, size;
};

/* "In", "Out", "B", "M", "P" or "?". */
const char *rtap_line_direction(const struct rtap_pkt *pkt);
/* The link-layer header; there is one, and it is complete. */
void rtap_line_link(struct rtap_line_job *job);
void rtap_line_arp(struct rtap_line_job *job);
void rtap_line_ip(struct rtap_line_job *job);
/* The transport header at look.l4, with the addresses unless they are there already. */
void rtap_line_transport(struct rtap_line_job *job);
/* "a > b: "; with the ports at p unless it is NULL. */
void rtap_line_names(struct rtap_line_job *job, const uint8_t *p);

/* What the tables' summaries say of the layers that begin at `from` or behind it, with `before` in front; false: nothing. */
bool rtap_line_above(struct rtap_line_job *job, uint32_t from, const char *before);

void rtap_line_icmp(struct rtap_line_job *job, struct rtap_line_span s);
void rtap_line_icmp6(struct rtap_line_job *job, struct rtap_line_span s);

static inline void rtap_line_number(struct rtap_line_job *job, const char *text, uint64_t v)
{
    rtap_out_text(&job->out, text);
    rtap_out_dec(&job->out, v);
}

/* Bytes that may be read from off on: captured, and of the packet by its own length. */
static inline uint32_t rtap_line_left(const struct rtap_line_job *job, uint32_t off)
{
    uint32_t end = job->pkt->caplen < job->look.l3_end ? job->pkt->caplen : job->look.l3_end;

    return off < end ? end - off : 0;
}

#endif
