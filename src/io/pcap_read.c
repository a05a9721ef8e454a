/*
 * Reading pcap: draft-ietf-opsawg-pcap, both byte orders, and the variants that are met (nanoseconds, Kuznetsov's
 * longer record header, files from before version 2.4). Called by savefile_read.c only.
 *
 * What the header says is not trusted further than needed: snaplen limits nothing, and a record is read only as far as
 * its bytes arrive.
 */
#include "savefile_read.h"

#include <errno.h>
#include <unistd.h>

#define FILE_HEADER 24
#define RECORD_HEADER 16
#define MAGIC_US 0xa1b2c3d4u
#define MAGIC_NS 0xa1b23c4du
#define MAGIC_MODIFIED 0xa1b2cd34u
#define FCS_PRESENT 0x04000000u

static bool known_magic(uint32_t magic)
{
    return magic == MAGIC_US || magic == MAGIC_NS || magic == MAGIC_MODIFIED;
}

int rtap_pcap_begin(struct rtap_savefile *f)
{
    const uint8_t *p = rtap_savefile_at(f);
    uint32_t magic, network, major, minor, fcs;
    int r;

    if (known_magic(rtap_be32(p)))
        f->big_endian = true;
    else if (!known_magic(rtap_le32(p)))
        return rtap_savefile_fail(f, -EBADMSG, "unknown file format (it begins with %02x %02x %02x %02x)", p[0], p[1],
                                  p[2], p[3]);
    r = rtap_savefile_need(f, FILE_HEADER);
    if (r == -ENODATA)
        return rtap_savefile_truncated(f, "the file header has", 0, FILE_HEADER);
    if (r <= 0)
        return r;
    p = rtap_savefile_at(f);
    magic = rtap_savefile_u32(f, p);
    major = rtap_savefile_u16(f, p + 4);
    minor = rtap_savefile_u16(f, p + 6);
    network = rtap_savefile_u32(f, p + 20);
    if (major != 2 && major != 543) /* 543.0: old AIX, and len before caplen */
        return rtap_savefile_fail(f, -EBADMSG, "pcap version %u.%u is not supported (2.4 is)", major, minor);

    f->pcap.swapped_len = major == 543 || minor < 4;
    f->pcap.header_size = magic == MAGIC_MODIFIED ? RECORD_HEADER + 8 : RECORD_HEADER;
    f->pcap.frac_to_ns = magic == MAGIC_NS ? 1 : 1000;
    f->pcap.snaplen = rtap_savefile_u32(f, p + 16);
    f->source.linktype = rtap_linktype_canonical(network);
    f->pcap.max_caplen = rtap_linktype_max_caplen(f->source.linktype);
    if (f->pcap.snaplen > f->pcap.max_caplen && f->pcap.snaplen <= RTAP_MAX_DECLARED)
        f->pcap.max_caplen = f->pcap.snaplen;
    fcs = network & FCS_PRESENT ? (network >> 28) * 2 : 0; /* the file counts in 16 bits, epb_flags in octets */
    if (fcs << RTAP_EPB_FCS_SHIFT <= RTAP_EPB_FCS)
        f->pcap.epb_flags = fcs << RTAP_EPB_FCS_SHIFT;
    f->pos += FILE_HEADER;
    return 1;
}

int rtap_pcap_next(struct rtap_source *s, struct rtap_pkt *pkt)
{
    struct rtap_savefile *f = (struct rtap_savefile *)s;
    size_t head = f->pcap.header_size;
    uint32_t caplen, len, status = 0;
    const uint8_t *p;
    int r;

    if (f->done)
        return RTAP_END;
    if (rtap_savefile_avail(f) < head) {
        r = rtap_savefile_need(f, head);
        if (r == -ENODATA)
            return rtap_savefile_truncated(f, "a record header has", 0, head);
        if (r <= 0)
            return r;
    }
    p = rtap_savefile_at(f);
    caplen = rtap_savefile_u32(f, p + 8);
    len = rtap_savefile_u32(f, p + 12);
    if (__builtin_expect(caplen > len, 0)) {
        if (f->pcap.swapped_len) {
            uint32_t t = caplen;

            caplen = len;
            len = t;
        } else {
            len = caplen;
            status = RTAP_PKT_LEN_REPAIRED;
        }
    }
    if (__builtin_expect(caplen > f->pcap.max_caplen, 0))
        return rtap_savefile_fail(f, -EBADMSG, "packet record says %u bytes, the limit is %u", caplen,
                                  f->pcap.max_caplen);
    if (rtap_savefile_avail(f) < head + caplen) {
        r = rtap_savefile_need(f, head + caplen);
        if (r == -ENODATA)
            return rtap_savefile_truncated(f, "packet record says", head, caplen);
        if (r <= 0)
            return r;
        p = rtap_savefile_at(f);
    }
    *pkt = (struct rtap_pkt){
        .data = p + head,
        .caplen = caplen,
        .len = len,
        .time =
            (int64_t)rtap_savefile_u32(f, p) * 1000000000 + (int64_t)rtap_savefile_u32(f, p + 4) * f->pcap.frac_to_ns,
        .epb_flags = f->pcap.epb_flags,
        .status = status,
        .linktype = s->linktype,
    };
    f->pos += head + caplen;
    f->again = false;
    return RTAP_PACKET;
}
