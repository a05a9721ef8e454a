/* Putting frames together, and telling the kernel how to take them apart. See gso.h. */
#include "gso.h"

#include "bytes.h"
#include "checksum.h"

#define MOST_SEGMENTS 128u /* UDP_MAX_SEGMENTS, include/linux/udp.h */

enum { TCP_FIN = 1, TCP_SYN = 2, TCP_RST = 4, TCP_PSH = 8, TCP_ACK = 16 };

static uint32_t network_header(const uint8_t *data, uint32_t len, uint16_t linktype)
{
    if (linktype == RTAP_LINKTYPE_RAW || linktype == RTAP_LINKTYPE_IPV4 || linktype == RTAP_LINKTYPE_IPV6)
        return 0;
    if (linktype != RTAP_LINKTYPE_ETHERNET || len < 14)
        return UINT32_MAX;
    switch (rtap_be16(data + 12)) {
    case 0x0800:
    case 0x86dd: return 14;
    case 0x8100:
    case 0x88a8:
        return len >= 18 && (rtap_be16(data + 16) == 0x0800 || rtap_be16(data + 16) == 0x86dd) ? 18 : UINT32_MAX;
    default: return UINT32_MAX;
    }
}

bool rtap_flow_find(const uint8_t *data, uint32_t len, uint16_t linktype, struct rtap_flow *f)
{
    uint32_t ip = network_header(data, len, linktype), total, header;
    uint8_t protocol;

    if (ip > len || len - ip < 28)
        return false;
    f->ip = ip;
    f->v6 = data[ip] >> 4 == 6;
    if (f->v6) {
        if (len - ip < 48)
            return false;
        header = 40;
        total = rtap_be16(data + ip + 4) ? rtap_be16(data + ip + 4) + 40u : len - ip;
        protocol = data[ip + 6];
    } else {
        header = (data[ip] & 15u) * 4;
        total = rtap_be16(data + ip + 2) ? rtap_be16(data + ip + 2) : len - ip;
        protocol = data[ip + 9];
        if (data[ip] >> 4 != 4 || header < 20 || rtap_be16(data + ip + 6) & 0x3fff)
            return false;
    }
    f->transport = ip + header;
    f->end = ip + total;
    f->tcp = protocol == 6;
    if (f->end > len || f->end < f->transport || (protocol != 6 && protocol != 17) ||
        f->end - f->transport < (f->tcp ? 20u : 8u))
        return false;
    f->payload = f->transport + (f->tcp ? (data[f->transport + 12] >> 4) * 4u : 8);
    return f->payload >= f->transport + (f->tcp ? 20u : 8u) && f->payload <= f->end;
}

static uint64_t pseudo_sum(const uint8_t *data, const struct rtap_flow *f, uint32_t length)
{
    uint64_t sum = rtap_csum_add(data + f->ip + (f->v6 ? 8 : 12), f->v6 ? 32 : 8, f->tcp ? 6 : 17);

    return sum + (length >> 16) + (length & 0xffff);
}

static uint32_t checksum_at(const struct rtap_flow *f)
{
    return f->transport + (f->tcp ? 16 : 6);
}

/* What the kernel leaves where a checksum is still to be worked out. */
static uint16_t partial_sum(const uint8_t *data, const struct rtap_flow *f)
{
    return (uint16_t)~rtap_csum_fold(pseudo_sum(data, f, f->end - f->transport));
}

/* ------------------------------------------------------------------ several into one */

/* May it be one of several? Then a segment made by the kernel is this frame, byte for byte, but for ip.id. */
static bool can_share(const uint8_t *data, uint32_t len, const struct rtap_flow *f)
{
    uint32_t length = f->end - f->transport;

    if (f->end != len || f->payload == f->end || (!f->v6 && f->transport - f->ip != 20))
        return false;
    /* lengths that are filled in, and a sum that is written in the other way, come out otherwise */
    if (f->v6 ? rtap_be16(data + f->ip + 4) != f->end - f->ip - 40
              : rtap_be16(data + f->ip + 2) != f->end - f->ip || rtap_be16(data + f->ip + 10) == 0xffff)
        return false;
    if (f->tcp ? data[f->transport + 13] & (TCP_FIN | TCP_SYN | TCP_RST | 0xe0)
               : rtap_be16(data + f->transport + 4) != length || rtap_be16(data + f->transport + 6) == 0)
        return false;
    return (f->v6 || rtap_csum_fold(rtap_csum_add(data + f->ip, 20, 0)) == 0) &&
           rtap_csum_fold(rtap_csum_add(data + f->transport, length, pseudo_sum(data, f, length))) == 0;
}

/* Do the headers differ in nothing but what each segment has of its own? */
static bool same_flow(const uint8_t *a, const uint8_t *b, const struct rtap_flow *f)
{
    const uint8_t *x = a + f->ip, *y = b + f->ip;

    if (memcmp(a, b, f->ip) != 0)
        return false;
    if (f->v6 ? memcmp(x, y, 4) != 0 || memcmp(x + 6, y + 6, 34) != 0
              : memcmp(x, y, 2) != 0 || memcmp(x + 6, y + 6, 4) != 0 || memcmp(x + 12, y + 12, 8) != 0)
        return false;
    x = a + f->transport;
    y = b + f->transport;
    if (memcmp(x, y, 4) != 0)
        return false;
    return !f->tcp || (memcmp(x + 8, y + 8, 5) == 0 && (x[13] & ~TCP_PSH) == (y[13] & ~TCP_PSH) &&
                       memcmp(x + 14, y + 14, 2) == 0 && memcmp(x + 18, y + 18, f->payload - f->transport - 18) == 0);
}

void rtap_gso_begin(struct rtap_gso *g, const uint8_t *data, uint32_t len, uint16_t linktype, bool share)
{
    share = share && rtap_flow_find(data, len, linktype, &g->flow) && can_share(data, len, &g->flow);
    g->size = share ? g->flow.end - g->flow.payload : 0;
    g->length = len;
    g->segments = 1;
    g->closed = !share || (g->flow.tcp && data[g->flow.transport + 13] & TCP_PSH);
}

bool rtap_gso_add(struct rtap_gso *g, uint8_t *data, uint32_t room, const uint8_t *frame, uint32_t len,
                  uint16_t linktype, bool exact)
{
    struct rtap_flow f;
    uint32_t size;
    bool more = !g->closed && len > g->flow.payload && !(exact && g->flow.tcp);

    g->closed = true; /* unless this one gets in */
    if (!more)
        return false;
    size = len - g->flow.payload;
    if (size > g->size || g->length + size > room || g->length + size - g->flow.ip > 65535 ||
        !rtap_flow_find(frame, len, linktype, &f) || memcmp(&f, &g->flow, offsetof(struct rtap_flow, end)) != 0 ||
        f.v6 != g->flow.v6 || f.tcp != g->flow.tcp || !can_share(frame, len, &f) || !same_flow(data, frame, &f))
        return false;
    if (f.tcp && rtap_be32(frame + f.transport + 4) != rtap_be32(data + f.transport + 4) + (g->length - f.payload))
        return false;
    if (exact && !f.v6 && rtap_be16(frame + f.ip + 4) != (uint16_t)(rtap_be16(data + f.ip + 4) + g->segments))
        return false;
    memcpy(data + g->length, frame + f.payload, size);
    g->length += size;
    g->segments++;
    if (f.tcp)
        data[f.transport + 13] |= frame[f.transport + 13] & TCP_PSH;
    /* the last segment alone may be shorter, or have PSH set */
    g->closed = size < g->size || g->segments == MOST_SEGMENTS || (f.tcp && frame[f.transport + 13] & TCP_PSH);
    return true;
}

static void ask(const struct rtap_flow *f, uint32_t size, struct virtio_net_hdr *vnet)
{
    vnet->flags = VIRTIO_NET_HDR_F_NEEDS_CSUM;
    vnet->gso_type = !f->tcp ? VIRTIO_NET_HDR_GSO_UDP_L4 : f->v6 ? VIRTIO_NET_HDR_GSO_TCPV6 : VIRTIO_NET_HDR_GSO_TCPV4;
    vnet->hdr_len = (uint16_t)f->payload;
    vnet->gso_size = (uint16_t)size;
    vnet->csum_start = (uint16_t)f->transport;
    vnet->csum_offset = f->tcp ? 16 : 6;
}

void rtap_gso_finish(const struct rtap_gso *g, uint8_t *data, struct virtio_net_hdr *vnet)
{
    const struct rtap_flow *f = &g->flow;
    uint32_t length = g->length - f->transport;

    memset(vnet, 0, sizeof(*vnet));
    if (g->segments < 2)
        return;
    ask(f, g->size, vnet);
    if (f->v6) {
        rtap_put_be16(data + f->ip + 4, (uint16_t)(g->length - f->ip - 40));
    } else {
        rtap_put_be16(data + f->ip + 2, (uint16_t)(g->length - f->ip));
        rtap_put_be16(data + f->ip + 10, 0);
        rtap_put_be16(data + f->ip + 10, rtap_csum_fold(rtap_csum_add(data + f->ip, 20, 0)));
    }
    if (!f->tcp)
        rtap_put_be16(data + f->transport + 4, (uint16_t)length);
    rtap_put_be16(data + checksum_at(f), (uint16_t)~rtap_csum_fold(pseudo_sum(data, f, length)));
}

/* ------------------------------------------------------------------ what was captured */

bool rtap_vnet_for(const struct rtap_pkt *pkt, uint32_t mtu, struct virtio_net_hdr *vnet)
{
    bool known = pkt->status & RTAP_PKT_VNET;
    struct rtap_flow f;

    memset(vnet, 0, sizeof(*vnet));
    if (known && (pkt->gso_size || pkt->status & RTAP_PKT_CSUM_NOT_READY)) {
        vnet->flags = pkt->status & RTAP_PKT_CSUM_NOT_READY ? VIRTIO_NET_HDR_F_NEEDS_CSUM : 0;
        vnet->gso_type = pkt->gso_type;
        vnet->gso_size = pkt->gso_size;
        vnet->csum_start = pkt->csum_start;
        vnet->csum_offset = pkt->csum_offset;
        if (pkt->gso_size)
            vnet->hdr_len = (uint16_t)(pkt->csum_start + (pkt->csum_offset == 16 && pkt->csum_start + 12u < pkt->caplen
                                                              ? (pkt->data[pkt->csum_start + 12] >> 4) * 4
                                                              : 8));
        return true;
    }
    if (known || !(pkt->status & RTAP_PKT_GSO) || !rtap_flow_find(pkt->data, pkt->caplen, pkt->linktype, &f) ||
        !f.tcp || f.end - f.ip <= mtu || f.payload - f.ip >= mtu)
        return false;
    ask(&f, mtu - (f.payload - f.ip), vnet); /* how long its segments were isn't known: as long as they can be */
    return true;
}

bool rtap_checksum_is_partial(const struct rtap_pkt *pkt)
{
    struct rtap_flow f;

    return rtap_flow_find(pkt->data, pkt->caplen, pkt->linktype, &f) &&
           rtap_be16(pkt->data + checksum_at(&f)) == partial_sum(pkt->data, &f);
}

void rtap_checksum_finish(const struct rtap_pkt *pkt, uint8_t *data)
{
    struct rtap_flow f;
    uint16_t sum;

    if (!rtap_flow_find(data, pkt->caplen, pkt->linktype, &f) ||
        rtap_be16(data + checksum_at(&f)) != partial_sum(data, &f))
        return;
    sum = rtap_csum_fold(rtap_csum_add(data + f.transport, f.end - f.transport, 0));
    rtap_put_be16(data + checksum_at(&f), sum || f.tcp ? sum : 0xffff);
}

void rtap_super_prepare(const struct rtap_pkt *pkt, uint8_t *data)
{
    struct rtap_flow f;

    if (rtap_flow_find(data, pkt->caplen, pkt->linktype, &f))
        rtap_put_be16(data + checksum_at(&f), partial_sum(data, &f));
}

void rtap_vnet_complete(const struct rtap_pkt *pkt, uint8_t *data)
{
    uint32_t at = pkt->csum_start + (uint32_t)pkt->csum_offset;
    uint16_t sum;

    if (at + 2 > pkt->caplen)
        return;
    sum = rtap_csum_fold(rtap_csum_add(data + pkt->csum_start, pkt->caplen - pkt->csum_start, 0));
    rtap_put_be16(data + at, sum ? sum : 0xffff);
}
