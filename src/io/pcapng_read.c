/*
 * Reading pcapng: draft-ietf-opsawg-pcapng. Owns the table of interfaces, which grows over all sections and lives as
 * long as the source, since packets point at its names. Called by savefile_read.c only.
 *
 * A block is looked at only when all of it is there and both its lengths agree, so what follows works in a range of
 * known size. Options may be nonsense: they are read up to where they stop making sense, and never cost a packet.
 */
#include "savefile_read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum block_type {
    BLOCK_SECTION = 0x0a0d0d0a,
    BLOCK_INTERFACE = 1,
    BLOCK_PACKET = 2, /* obsolete */
    BLOCK_SIMPLE = 3,
    BLOCK_STATISTICS = 5,
    BLOCK_ENHANCED = 6,
};

enum {
    OPT_END = 0,
    OPT_COMMENT = 1,
    IF_NAME = 2,
    IF_DESCRIPTION = 3,
    IF_TSRESOL = 9,
    IF_FILTER = 11,
    IF_FCSLEN = 13,
    IF_TSOFFSET = 14,
    EPB_FLAGS = 2,
    EPB_DROPCOUNT = 4,
    ISB_IFRECV = 4,
    ISB_IFDROP = 5,
};

#define BYTE_ORDER_MAGIC 0x1a2b3c4du
#define BLOCK_HEAD 8 /* type, length */
#define MIN_BLOCK 12 /* and the length once more */
#define MAX_OVERHEAD (16u << 20)
#define MAX_TABLE ((size_t)64 << 20)
#define PACKET_HEAD 28 /* of an enhanced or obsolete packet block: as far as the data */

struct rtap_pcapng_if {
    struct rtap_source_if info;
    uint32_t max_caplen;
    uint32_t epb_flags; /* if_fcslen, for packets that don't say it themselves */
    uint64_t plain_mul; /* ticks * plain_mul is the time in ns, for ticks <= plain_max; 0: not so simple */
    uint64_t plain_max;
    uint8_t tsresol;
    int64_t tsoffset;
    uint64_t dropcount; /* the sum over the packets: told where there is no statistics block */
    bool has_statistics;
    char *name, *description, *filter;
};

struct option {
    uint16_t code, length;
    const uint8_t *value;
};

/* The next option of [*p, end); false at the end mark, at the end, and where an option runs over the end. */
static bool option_next(const struct rtap_savefile *f, const uint8_t **p, const uint8_t *end, struct option *o)
{
    size_t padded;

    if (end - *p < 4)
        return false;
    o->code = rtap_savefile_u16(f, *p);
    o->length = rtap_savefile_u16(f, *p + 2);
    o->value = *p + 4;
    if (o->code == OPT_END || o->length > end - o->value)
        return false;
    padded = (o->length + 3u) & ~3u;
    *p = padded > (size_t)(end - o->value) ? end : o->value + padded;
    return true;
}

/* Ticks of an interface to ns since 1970, or RTAP_NO_TIME where 64 bits can't hold that. */
static int64_t ticks_to_ns(const struct rtap_pcapng_if *i, uint64_t ticks)
{
    unsigned e = i->tsresol & 0x7f;
    __int128 t = ticks;

    if (ticks <= i->plain_max && i->plain_mul)
        return (int64_t)(ticks * i->plain_mul);
    if (i->tsresol & 0x80) {
        t = t * 1000000000 >> e; /* below 2^94 before the shift */
    } else if (e < 9) {
        for (; e < 9; e++)
            t *= 10;
    } else {
        for (; e > 9 && t; e--)
            t /= 10;
    }
    t += (__int128)i->tsoffset * 1000000000;
    return t > INT64_MAX || t <= INT64_MIN ? RTAP_NO_TIME : (int64_t)t;
}

static void set_clock(struct rtap_pcapng_if *i)
{
    unsigned e = i->tsresol;

    i->plain_mul = 0;
    if (e > 9 || i->tsoffset)
        return;
    i->plain_mul = 1;
    for (; e < 9; e++)
        i->plain_mul *= 10;
    i->plain_max = INT64_MAX / i->plain_mul;
}

static void free_if(struct rtap_pcapng_if *i)
{
    if (!i)
        return;
    free(i->name);
    free(i->description);
    free(i->filter);
    free(i);
}

void rtap_pcapng_free(struct rtap_savefile *f)
{
    unsigned i;

    for (i = 0; i < f->ng.count; i++)
        free_if(f->ng.ifs[i]);
    free(f->ng.ifs);
}

bool rtap_pcapng_interface(struct rtap_source *s, unsigned i, struct rtap_source_if *out)
{
    struct rtap_savefile *f = (struct rtap_savefile *)s;
    struct rtap_pcapng_if *ifc;

    if (i >= f->ng.count)
        return false;
    ifc = f->ng.ifs[i];
    *out = ifc->info;
    out->name = ifc->name;
    out->description = ifc->description;
    out->filter = ifc->filter;
    if (!ifc->has_statistics && ifc->dropcount) {
        out->has_dropped = true;
        out->dropped = ifc->dropcount;
    }
    return true;
}

/* A string option: the first one counts. -ENOMEM. */
static int set_string(struct rtap_savefile *f, char **to, const uint8_t *p, size_t n)
{
    if (*to)
        return 0;
    *to = strndup((const char *)p, n);
    if (!*to)
        return -ENOMEM;
    f->ng.table_bytes += strlen(*to) + 1;
    return 0;
}

static int if_options(struct rtap_savefile *f, struct rtap_pcapng_if *i, const uint8_t *p, const uint8_t *end)
{
    struct option o;
    int r = 0;

    while (r == 0 && option_next(f, &p, end, &o)) {
        switch (o.code) {
        case IF_NAME: r = set_string(f, &i->name, o.value, o.length); break;
        case IF_DESCRIPTION: r = set_string(f, &i->description, o.value, o.length); break;
        case IF_FILTER:
            if (o.length >= 1 && o.value[0] == 0) /* 0: a string; 1: BPF code */
                r = set_string(f, &i->filter, o.value + 1, o.length - 1u);
            break;
        case IF_TSRESOL:
            if (o.length == 1)
                i->tsresol = o.value[0];
            break;
        case IF_TSOFFSET:
            if (o.length == 8)
                i->tsoffset = (int64_t)rtap_savefile_u64(f, o.value);
            break;
        case IF_FCSLEN:
            if (o.length == 1 && o.value[0] <= RTAP_EPB_FCS >> RTAP_EPB_FCS_SHIFT)
                i->epb_flags = (uint32_t)o.value[0] << RTAP_EPB_FCS_SHIFT;
            break;
        default: break;
        }
    }
    return r;
}

static int read_interface(struct rtap_savefile *f, const uint8_t *p, uint32_t size)
{
    struct rtap_pcapng_state *ng = &f->ng;
    struct rtap_pcapng_if *i;

    if (ng->count == ng->room) {
        unsigned room = ng->room ? ng->room * 2 : 8;
        struct rtap_pcapng_if **ifs = realloc(ng->ifs, room * sizeof(*ifs));

        if (!ifs)
            return rtap_savefile_fail(f, -ENOMEM, "%s", strerror(ENOMEM));
        ng->ifs = ifs;
        ng->room = room;
    }
    i = calloc(1, sizeof(*i));
    if (!i)
        return rtap_savefile_fail(f, -ENOMEM, "%s", strerror(ENOMEM));
    i->info.id = ng->count - ng->first;
    i->info.linktype = rtap_linktype_canonical(rtap_savefile_u16(f, p + 8));
    i->info.snaplen = rtap_savefile_u32(f, p + 12);
    if (i->info.snaplen == UINT32_MAX)
        i->info.snaplen = 0;
    i->max_caplen = rtap_linktype_max_caplen(i->info.linktype);
    if (i->info.snaplen > i->max_caplen && i->info.snaplen <= RTAP_MAX_DECLARED)
        i->max_caplen = i->info.snaplen;
    i->tsresol = 6;
    ng->table_bytes += sizeof(*i) + 2 * sizeof(i);
    if (if_options(f, i, p + 16, p + size - 4) < 0) {
        free_if(i);
        return rtap_savefile_fail(f, -ENOMEM, "%s", strerror(ENOMEM));
    }
    set_clock(i);
    if (i->max_caplen > ng->max_caplen)
        ng->max_caplen = i->max_caplen;
    if (ng->count == 0)
        f->source.linktype = i->info.linktype;
    ng->ifs[ng->count++] = i;
    if (ng->table_bytes > MAX_TABLE)
        return rtap_savefile_fail(f, -EFBIG, "more interfaces than fit into %zu MiB (%u)", MAX_TABLE >> 20, ng->count);
    return 0;
}

static struct rtap_pcapng_if *find_if(const struct rtap_savefile *f, uint32_t id)
{
    const struct rtap_pcapng_state *ng = &f->ng;

    return id < ng->count - ng->first ? ng->ifs[ng->first + id] : NULL;
}

static void read_statistics(struct rtap_savefile *f, const uint8_t *p, uint32_t size)
{
    struct rtap_pcapng_if *i = find_if(f, rtap_savefile_u32(f, p + 8));
    const uint8_t *end = p + size - 4;
    struct option o;

    if (!i)
        return; /* figures about nothing: no packet depends on them */
    i->has_statistics = true;
    for (p += 20; option_next(f, &p, end, &o);) {
        if (o.length != 8)
            continue;
        if (o.code == ISB_IFRECV) {
            i->info.has_received = true;
            i->info.received = rtap_savefile_u64(f, o.value);
        } else if (o.code == ISB_IFDROP) {
            i->info.has_dropped = true;
            i->info.dropped = rtap_savefile_u64(f, o.value);
        }
    }
}

/* A section header: 12 bytes are there. Sets the byte order. */
static int read_section(struct rtap_savefile *f, const uint8_t *p)
{
    if (rtap_be32(p + 8) == BYTE_ORDER_MAGIC)
        f->big_endian = true;
    else if (rtap_le32(p + 8) == BYTE_ORDER_MAGIC)
        f->big_endian = false;
    else
        return rtap_savefile_fail(f, -EBADMSG, "section header without its byte-order magic (%02x %02x %02x %02x)",
                                  p[8], p[9], p[10], p[11]);
    return 0;
}

static uint32_t min_size(uint32_t type)
{
    switch (type) {
    case BLOCK_SECTION: return 28;
    case BLOCK_INTERFACE: return 20;
    case BLOCK_SIMPLE: return 16;
    case BLOCK_STATISTICS: return 24;
    case BLOCK_PACKET:
    case BLOCK_ENHANCED: return PACKET_HEAD + 4;
    default: return MIN_BLOCK;
    }
}

/* All of the block at the cursor: 1 with its type and length; RTAP_AGAIN, RTAP_END, -errno. */
static int block_here(struct rtap_savefile *f, uint32_t *type, uint32_t *size)
{
    const uint8_t *p;
    uint32_t n, limit, tail;
    int r;

    if (rtap_savefile_avail(f) < BLOCK_HEAD) {
        r = rtap_savefile_need(f, BLOCK_HEAD);
        if (r == -ENODATA)
            return rtap_savefile_truncated(f, "a block header has", 0, BLOCK_HEAD);
        if (r <= 0)
            return r;
    }
    p = rtap_savefile_at(f);
    *type = rtap_savefile_u32(f, p);
    if (__builtin_expect(*type == BLOCK_SECTION, 0)) { /* the same in both byte orders */
        r = rtap_savefile_need(f, MIN_BLOCK);
        if (r == -ENODATA)
            return rtap_savefile_truncated(f, "a section header has at least", 0, MIN_BLOCK);
        if (r <= 0)
            return r;
        p = rtap_savefile_at(f);
        r = read_section(f, p);
        if (r < 0)
            return r;
    }
    n = *size = rtap_savefile_u32(f, p + 4);
    if (__builtin_expect(n % 4 != 0, 0))
        return rtap_savefile_fail(f, -EBADMSG, "block type 0x%x says %u bytes, which is no multiple of 4", *type, n);
    if (__builtin_expect(n < min_size(*type), 0))
        return rtap_savefile_fail(f, -EBADMSG, "block type 0x%x says %u bytes, fewer than its %u", *type, n,
                                  min_size(*type));
    limit = MAX_OVERHEAD + (f->ng.max_caplen > RTAP_MAX_CAPLEN ? f->ng.max_caplen : RTAP_MAX_CAPLEN);
    if (__builtin_expect(n > limit, 0))
        return rtap_savefile_fail(f, -EBADMSG, "block type 0x%x says %u bytes, the limit is %u", *type, n, limit);
    if (rtap_savefile_avail(f) < n) {
        r = rtap_savefile_need(f, n);
        if (r == -ENODATA)
            return rtap_savefile_truncated(f, "the block says", 0, n);
        if (r <= 0)
            return r;
        p = rtap_savefile_at(f);
    }
    tail = rtap_savefile_u32(f, p + n - 4);
    if (__builtin_expect(tail != n, 0))
        return rtap_savefile_fail(f, -EBADMSG, "block type 0x%x says %u bytes at its begin and %u at its end", *type, n,
                                  tail);
    return 1;
}

/* Any block but a packet's: 0, -errno. The cursor moves behind it. */
static int read_other(struct rtap_savefile *f, uint32_t type, uint32_t size)
{
    const uint8_t *p = rtap_savefile_at(f);
    uint32_t major;
    int r = 0;

    switch (type) {
    case BLOCK_SECTION:
        major = rtap_savefile_u16(f, p + 12);
        if (major != 1)
            return rtap_savefile_fail(f, -EBADMSG, "pcapng version %u.%u is not supported (1.0 is)", major,
                                      (unsigned)rtap_savefile_u16(f, p + 14));
        f->ng.in_section = true;
        f->ng.first = f->ng.count;
        break;
    case BLOCK_INTERFACE: r = read_interface(f, p, size); break;
    case BLOCK_STATISTICS: read_statistics(f, p, size); break;
    default: /* name resolution, decryption secrets, custom and unknown blocks */ break;
    }
    if (r == 0)
        f->pos += size;
    return r;
}

static bool is_packet(uint32_t type)
{
    return type == BLOCK_ENHANCED || type == BLOCK_SIMPLE || type == BLOCK_PACKET;
}

int rtap_pcapng_begin(struct rtap_savefile *f)
{
    uint32_t type, size;
    int r;

    for (;;) {
        if (f->ng.count)
            return 1;
        r = block_here(f, &type, &size);
        if (r == RTAP_END) {
            f->source.linktype = RTAP_LINKTYPE_ETHERNET; /* a section with nothing in it */
            return 1;
        }
        if (r <= 0)
            return r;
        if (is_packet(type))
            return rtap_savefile_fail(f, -EBADMSG, "a packet comes before any interface is described");
        r = read_other(f, type, size);
        if (r < 0)
            return r;
    }
}

static void packet_options(struct rtap_savefile *f, struct rtap_pcapng_if *i, const uint8_t *p, const uint8_t *end,
                           struct rtap_pkt *pkt)
{
    struct option o;

    while (option_next(f, &p, end, &o)) {
        if (o.code == OPT_COMMENT && !pkt->comment) {
            pkt->comment = (const char *)o.value;
            pkt->comment_len = o.length;
        } else if (o.code == EPB_FLAGS && o.length == 4) {
            pkt->epb_flags = rtap_savefile_u32(f, o.value);
        } else if (o.code == EPB_DROPCOUNT && o.length == 8) {
            i->dropcount += rtap_savefile_u64(f, o.value);
        }
    }
}

/* An enhanced or an obsolete packet block. The cursor stays. */
static int read_packet(struct rtap_savefile *f, bool old, uint32_t size, struct rtap_pkt *pkt)
{
    const uint8_t *p = rtap_savefile_at(f);
    uint32_t id = old ? rtap_savefile_u16(f, p + 8) : rtap_savefile_u32(f, p + 8);
    uint32_t caplen = rtap_savefile_u32(f, p + 20), len = rtap_savefile_u32(f, p + 24), used;
    struct rtap_pcapng_if *i = find_if(f, id);

    if (__builtin_expect(!i, 0))
        return rtap_savefile_fail(f, -EBADMSG, "packet of interface %u, but the section describes %u interfaces", id,
                                  f->ng.count - f->ng.first);
    if (__builtin_expect(caplen > size - PACKET_HEAD - 4, 0))
        return rtap_savefile_fail(f, -EBADMSG, "packet says %u bytes, its block has room for %u", caplen,
                                  size - PACKET_HEAD - 4);
    if (__builtin_expect(caplen > i->max_caplen, 0))
        return rtap_savefile_fail(f, -EBADMSG, "packet says %u bytes, the limit is %u", caplen, i->max_caplen);
    *pkt = (struct rtap_pkt){
        .data = p + PACKET_HEAD,
        .caplen = caplen,
        .len = len,
        .time = ticks_to_ns(i, (uint64_t)rtap_savefile_u32(f, p + 12) << 32 | rtap_savefile_u32(f, p + 16)),
        .ifname = i->name,
        .ifindex = id,
        .status = RTAP_PKT_INTERFACE,
        .linktype = i->info.linktype,
    };
    if (__builtin_expect(caplen > len, 0)) {
        pkt->len = caplen;
        pkt->status |= RTAP_PKT_LEN_REPAIRED;
    }
    if (old && rtap_savefile_u16(f, p + 10) != 0xffff)
        i->dropcount += rtap_savefile_u16(f, p + 10);
    used = PACKET_HEAD + ((caplen + 3) & ~3u);
    if (used + 4 < size)
        packet_options(f, i, p + used, p + size - 4, pkt);
    if (!(pkt->epb_flags & RTAP_EPB_FCS))
        pkt->epb_flags |= i->epb_flags;
    return RTAP_PACKET;
}

static int read_simple(struct rtap_savefile *f, uint32_t size, struct rtap_pkt *pkt)
{
    const uint8_t *p = rtap_savefile_at(f);
    uint32_t len = rtap_savefile_u32(f, p + 8), caplen = len;
    struct rtap_pcapng_if *i = find_if(f, 0);

    if (!i)
        return rtap_savefile_fail(f, -EBADMSG, "simple packet, but the section describes no interface");
    if (i->info.snaplen && caplen > i->info.snaplen)
        caplen = i->info.snaplen;
    if (caplen > size - 16)
        caplen = size - 16;
    if (caplen > i->max_caplen)
        return rtap_savefile_fail(f, -EBADMSG, "packet says %u bytes, the limit is %u", caplen, i->max_caplen);
    *pkt = (struct rtap_pkt){
        .data = p + 12,
        .caplen = caplen,
        .len = len,
        .time = RTAP_NO_TIME,
        .ifname = i->name,
        .epb_flags = i->epb_flags,
        .status = RTAP_PKT_INTERFACE,
        .linktype = i->info.linktype,
    };
    return RTAP_PACKET;
}

int rtap_pcapng_next(struct rtap_source *s, struct rtap_pkt *pkt)
{
    struct rtap_savefile *f = (struct rtap_savefile *)s;
    struct rtap_block *before = s->block;
    uint32_t type, size;
    int r;

    for (;;) {
        if (f->done)
            return RTAP_END;
        r = block_here(f, &type, &size);
        if (r != 1)
            return r;
        if (__builtin_expect(type == BLOCK_ENHANCED, 1))
            r = read_packet(f, false, size, pkt);
        else if (type == BLOCK_SIMPLE)
            r = read_simple(f, size, pkt);
        else if (type == BLOCK_PACKET)
            r = read_packet(f, true, size, pkt);
        else
            r = read_other(f, type, size);
        if (r < 0)
            return r;
        if (r == RTAP_PACKET)
            break;
        if (s->block != before)
            return RTAP_REJECTED; /* a buffer full of other blocks: time to look at the clock */
    }
    f->pos += size;
    f->again = false;
    return RTAP_PACKET;
}
