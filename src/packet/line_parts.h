/* What the files of the line printer share: line.c (time, link layer, ARP), line_ip.c (IP), line_l4.c (above IP). */
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

void rtap_line_ip(struct rtap_line_job *job);
/* The transport header at look.l4, with the addresses unless they are there already. */
void rtap_line_transport(struct rtap_line_job *job);
/* "a > b: "; with the ports at p unless it is NULL. */
void rtap_line_names(struct rtap_line_job *job, const uint8_t *p);

/* Bytes that may be read from off on: captured, and of the packet by its own length. */
static inline uint32_t rtap_line_left(const struct rtap_line_job *job, uint32_t off)
{
    uint32_t end = job->pkt->caplen < job->look.l3_end ? job->pkt->caplen : job->look.l3_end;

    return off < end ? end - off : 0;
}

#endif
