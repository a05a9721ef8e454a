/*
 * Inside the capture file writer: what the buffering (savefile_write.c) and the packets' encoding (savefile_commit.c)
 * share. Nobody else includes this.
 *
 * Invariants
 *   buf[0, used) is whole records that are not written yet (but for the first `lead` bytes: the rest of a record of
 *   which a stream took a part). A reserved packet lies behind them, with room for its header, for what commit may have
 *   to put in front of it, and for its options. Records are written out at their ends only, so a killed process leaves
 *   whole packets.
 *   err, once set, is what every later call returns, with the sentence in sink.error.
 */
#ifndef RTAP_IO_SAVEFILE_WRITER_H
#define RTAP_IO_SAVEFILE_WRITER_H

#include "savefile_encode.h"
#include "savefile_output.h"

#define RTAP_EPB_HEAD 28u
#define RTAP_PCAP_HEAD 16u
#define RTAP_DEFAULT_SNAPLEN 262144u
#define RTAP_MAX_COMMENT 65535u
#define RTAP_MAX_TEXT 65531u /* of an option */

struct rtap_writer_if {
    struct rtap_write_if wi; /* its strings belong to us */
    uint64_t snaplen_at;     /* in the current file */
    bool declared;           /* by rtap_write_interface */
    bool has_counters;
    uint64_t received, dropped;
};

struct rtap_writer {
    struct rtap_sink sink;
    struct rtap_output out;
    bool pcapng, us, unbuffered;
    bool has_linktype, has_header; /* pcap: known; written (into the buffer) */
    uint16_t linktype;
    uint32_t snaplen;
    char *comment, *os, *hardware;
    struct rtap_writer_if *ifs;
    unsigned if_count, if_room, last_if;

    uint8_t *buf;
    size_t limit; /* of buf: write out when a packet would go beyond */
    size_t used, lead;
    bool lead_is_packet;
    size_t data_at; /* of the reserved packet; 0: none */
    uint32_t reserved;
    uint64_t queued, queued_bytes;             /* in the buffer */
    uint64_t sent, sent_bytes, sent_this_file; /* written */
    int err;
};

/* Add to the table, not to the file; strings are copied, the name up to max_name bytes. -ENOMEM. */
int rtap_writer_add_if(struct rtap_writer *w, const struct rtap_write_if *wi, size_t max_name);
void rtap_writer_free_if(struct rtap_writer_if *i);
/* Is i the interface of packet m? lenient: one that was declared also takes packets that don't name theirs. */
bool rtap_writer_same_if(const struct rtap_writer_if *i, const struct rtap_pkt *m, bool lenient);
/* Make the reserved packet a record: its captured length as written. On error it is not taken, and the writer goes on.
 */
int rtap_writer_commit_pcapng(struct rtap_writer *w, const struct rtap_pkt *m);
int rtap_writer_commit_pcap(struct rtap_writer *w, const struct rtap_pkt *m);

#endif
