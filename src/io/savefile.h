/*
 * Capture files: reading (pcap and pcapng, plain, gzip or zstd, from a path or a stream) as a struct source, writing as
 * a struct sink.
 */
#ifndef RTAP_IO_SAVEFILE_H
#define RTAP_IO_SAVEFILE_H

#include "sink.h"
#include "source.h"

struct rtap_read_config {
    const char *path;   /* for messages, and opened when fd < 0; "-" is standard input */
    int fd;             /* >= 0: read from here; taken over, also on error */
    const void *prefix; /* bytes that were read from fd already; copied */
    size_t prefix_size;
    /* Opening a stream waits for the file's head. A signal ends the wait with -EINTR, or, with this function, when it
     * returns < 0; 0 waits on. May be NULL. */
    int (*interrupted)(void *arg);
    void *interrupted_arg;
};

/* Opens and reads as far as the first packet's interface is known (file header, first IDB), so linktype is right.
 * On error *out is NULL and err has the sentence. An empty file is an error that says so. */
int rtap_read_open(struct rtap_source **out, const struct rtap_read_config *cfg, char *err, size_t errlen);

/* The largest packet that libpcap and Wireshark take in a file: 262144, more for some link types. */
uint32_t rtap_linktype_max_caplen(uint16_t linktype);

enum rtap_file_format { RTAP_FORMAT_AUTO, RTAP_FORMAT_PCAPNG, RTAP_FORMAT_PCAP, RTAP_FORMAT_PCAP_US };

struct rtap_write_if {
    const char *name, *description, *filter; /* may be NULL */
    uint32_t ifindex;                        /* rtap_pkt.ifindex of its packets */
    uint32_t snaplen;
    uint16_t linktype;
};

struct rtap_write_config {
    const char *path;             /* "-" is standard output; may hold strftime formats when rotate_time is set */
    int fd;                       /* >= 0: write here; taken over */
    enum rtap_file_format format; /* AUTO: pcap for *.pcap and *.cap, else pcapng; PCAP is nanoseconds */
    uint16_t linktype;            /* pcap: of the file; pcapng: packets bring their own; 0xffff: of the first packet */
    uint32_t snaplen;
    const char *comment, *os, *hardware; /* section header options, may be NULL */
    uint64_t rotate_size;                /* bytes, 0 = never */
    int64_t rotate_time;                 /* ns, 0 = never */
    uint32_t rotate_count;               /* as tcpdump -W; 0 = no limit */
    uint32_t buffer_size;                /* 0 = default */
    bool unbuffered;                     /* write out after each packet (-U) */
};

/*
 * What the sink's functions say besides the usual:
 *   -EINTR   reserve, kick, close: a signal came while a pipe or socket was full. Nothing is lost but a reservation (at
 *            close: what was not yet written); call again.
 *   -EXFULL  reserve: rotation by time alone, and rotate_count files are full ("rotation count reached"). The files are
 *            complete, close returns 0.
 *   -EINVAL, -ERANGE  commit: a packet of another link type in a pcap file; a time that the format can't hold. The
 *            packet is not taken, the sink goes on.
 *   -ENOMEM, -EMSGSIZE (over 128 MiB)  this packet only.
 * Any other error is final: each later call, and close, returns it again. A regular file then ends with a whole packet.
 *
 * A packet larger than rtap_linktype_max_caplen() is cut to that, its len kept: tcpdump and Wireshark read no further
 * at a larger one. One larger than the snaplen that was written raises the snaplen (if the output can be written over).
 * RTAP_NO_TIME is kept in pcapng for plain packets of the first interface (as Simple Packet Blocks), and is time 0
 * otherwise.
 */
int rtap_write_open(struct rtap_sink **out, const struct rtap_write_config *cfg, char *err, size_t errlen);
/* Declare an interface (pcapng) before its packets come; packets of undeclared ones declare themselves. */
int rtap_write_interface(struct rtap_sink *k, const struct rtap_write_if *wi);
/* For the Interface Statistics Block at close: received counts what the interface gave (delivered + dropped). */
void rtap_write_counters(struct rtap_sink *k, uint32_t ifindex, uint64_t received, uint64_t dropped);

#endif
