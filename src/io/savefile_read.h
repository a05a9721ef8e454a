/*
 * Inside the capture file reader: what the buffering (savefile_read.c) and the two formats (pcap_read.c, pcapng_read.c)
 * share. Nobody else includes this.
 *
 * Invariants
 *   cur is the buffer that the cursor is in, equal to source.block, pinned by the source; NULL before the first read
 * and after the end. [pos, end) of it is unread. Bytes below `end` never change while the buffer has another pin; bytes
 * from `end` on belong to the reader.
 */
#ifndef RTAP_IO_SAVEFILE_READ_H
#define RTAP_IO_SAVEFILE_READ_H

#include "../packet/bytes.h"
#include "input.h"
#include "savefile.h"

#define RTAP_MAX_CAPLEN 262144u
/* What a file may raise it to by declaring a larger snaplen: frames of BIG TCP have up to 512 KiB and a header. */
#define RTAP_MAX_DECLARED (1u << 20)

struct rtap_buffer {
    struct rtap_block block; /* first: the block is the buffer */
    struct rtap_buffer *next_free;
    size_t size;
    uint8_t data[];
};

struct rtap_pcap_state {
    uint32_t header_size; /* of a record */
    uint32_t frac_to_ns;
    uint32_t max_caplen;
    uint32_t snaplen;
    uint32_t epb_flags; /* the FCS length from the file header */
    bool swapped_len;   /* before version 2.4 some writers had len before caplen */
};

struct rtap_pcapng_if;

struct rtap_pcapng_state {
    struct rtap_pcapng_if **ifs; /* of all sections; each stays where it is as long as the source */
    unsigned count, room;
    unsigned first;     /* the current section's interface 0 */
    size_t table_bytes; /* memory behind ifs: limited, as a file can declare interfaces without end */
    uint32_t max_caplen;
    bool in_section;
};

struct rtap_savefile {
    struct rtap_source source;
    struct rtap_input input;
    struct rtap_buffer *cur;
    size_t pos, end;
    uint64_t cur_offset; /* of cur->data[0] in the (decompressed) file */
    struct rtap_buffer *free;
    bool big_endian;
    bool input_end;
    bool done;  /* RTAP_END or an error has been told: only RTAP_END from now on */
    bool again; /* the last next() said RTAP_AGAIN */
    struct rtap_pcap_state pcap;
    struct rtap_pcapng_state ng;
};

static inline const uint8_t *rtap_savefile_at(const struct rtap_savefile *f)
{
    return f->cur->data + f->pos;
}

static inline size_t rtap_savefile_avail(const struct rtap_savefile *f)
{
    return f->end - f->pos;
}

static inline uint16_t rtap_savefile_u16(const struct rtap_savefile *f, const void *p)
{
    return f->big_endian ? rtap_be16(p) : rtap_le16(p);
}

static inline uint32_t rtap_savefile_u32(const struct rtap_savefile *f, const void *p)
{
    return f->big_endian ? rtap_be32(p) : rtap_le32(p);
}

static inline uint64_t rtap_savefile_u64(const struct rtap_savefile *f, const void *p)
{
    return f->big_endian ? rtap_be64(p) : rtap_le64(p);
}

/* n bytes at the cursor: 1; RTAP_AGAIN; -ENODATA when the input ends before; -errno with the error told. The cursor may
 * be in another buffer afterwards. */
int rtap_savefile_need(struct rtap_savefile *f, size_t n);
/* The plain end. */
int rtap_savefile_end(struct rtap_savefile *f);
/* Error at the cursor: "name: offset N (0xN): ...". The last thing that this source says but RTAP_END. */
int rtap_savefile_fail(struct rtap_savefile *f, int err, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* need() said -ENODATA: the plain end when nothing is there, or "truncated: `what` says n bytes, m are there" where
 * the first `head` bytes at the cursor count for neither. */
int rtap_savefile_truncated(struct rtap_savefile *f, const char *what, size_t head, size_t n);

uint16_t rtap_linktype_canonical(uint32_t linktype);

/* The file header at the cursor, of which the first four bytes are there and known. 1, RTAP_AGAIN, -errno. */
int rtap_pcap_begin(struct rtap_savefile *f);
int rtap_pcap_next(struct rtap_source *s, struct rtap_pkt *pkt);

/* Blocks up to the first interface. 1, RTAP_AGAIN, -errno. */
int rtap_pcapng_begin(struct rtap_savefile *f);
int rtap_pcapng_next(struct rtap_source *s, struct rtap_pkt *pkt);
bool rtap_pcapng_interface(struct rtap_source *s, unsigned i, struct rtap_source_if *out);
void rtap_pcapng_free(struct rtap_savefile *f);

#endif
