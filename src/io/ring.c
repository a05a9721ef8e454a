/* The parts of the ring walk that are not run for each packet, or only for some. See ring.h. */
#include "ring.h"

#include "../packet/bytes.h"
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/virtio_net.h>
#include <net/if_arp.h>
#include <stdlib.h>
#include <string.h>

int rtap_ring_init(struct rtap_ring *r, struct rtap_source *s, uint8_t *memory, uint32_t block_size,
                   uint32_t block_count)
{
    r->blocks = calloc(block_count, sizeof(*r->blocks));
    if (!r->blocks)
        return -ENOMEM;
    r->source = s;
    r->block_size = block_size;
    r->block_count = block_count;
    for (uint32_t i = 0; i < block_count; i++) {
        r->blocks[i].block.source = s;
        r->blocks[i].memory = memory + (size_t)i * block_size;
    }
    return 0;
}

void rtap_ring_fini(struct rtap_ring *r)
{
    free(r->blocks);
}

bool rtap_ring_take(struct rtap_ring *r)
{
    struct rtap_source *s = r->source;
    struct rtap_block *done = s->block;
    struct rtap_ring_block *b;
    struct tpacket_hdr_v1 *h;

    s->block = NULL;
    if (done) /* read to its end: it goes back as soon as nobody shows its last packet */
        rtap_block_unpin(done);
    do {
        if (!rtap_ring_ready(r))
            return false;
        b = &r->blocks[r->cursor];
        r->cursor = r->cursor + 1 == r->block_count ? 0 : r->cursor + 1;
        h = rtap_ring_header(b);
        r->sequence = h->seq_num;
        r->left = h->num_pkts;
        r->next = b->memory + h->offset_to_first_pkt;
        rtap_block_pin(&b->block);
        if (r->left == 0)
            rtap_block_unpin(&b->block);
    } while (r->left == 0);
    s->block = &b->block;
    return true;
}

void rtap_ring_release(struct rtap_block *b)
{
    /* Release: all reads of the block are done before the kernel may write into it. */
    __atomic_store_n(&rtap_ring_header((struct rtap_ring_block *)b)->block_status, TP_STATUS_KERNEL, __ATOMIC_RELEASE);
}

static bool is_tpid(uint16_t type)
{
    return type == ETH_P_8021Q || type == ETH_P_8021AD;
}

/*
 * A cooked frame with two tags, the outer one taken out: from 6.11 on the kernel tells the innermost type as the
 * protocol, so that there is a second tag has to be recognised. Where the tags end that type is there once more, and
 * what the data begins with is no header of it.
 */
static bool has_second_tag(const uint8_t *data, uint32_t caplen, uint32_t len, uint16_t type)
{
    uint32_t at = 2;

    while (at + 2 <= caplen && is_tpid(rtap_be16(data + at)))
        at += 4;
    /* 0x9100 is no tag to the kernel: it stands as the protocol whatever follows */
    if (is_tpid(type) || type == ETH_P_QINQ1 || caplen < 6 || at + 2 > caplen || rtap_be16(data + at) != type)
        return false;
    if (type == ETH_P_IP)
        return data[0] >> 4 != 4 || (data[0] & 15) < 5 || rtap_be16(data + 2) > len;
    if (type == ETH_P_IPV6)
        return data[0] >> 4 != 6 || rtap_be16(data + 4) + 40u > len;
    return true;
}

void rtap_ring_read_vnet(const struct tpacket3_hdr *h, struct rtap_pkt *pkt)
{
    const uint32_t tag =
        h->tp_status & TP_STATUS_VLAN_VALID ? 4 : 0; /* it will be put back, before the header that counts */
    struct virtio_net_hdr v;

    memcpy(&v, (const uint8_t *)h + h->tp_mac - sizeof(v), sizeof(v));
    pkt->status |= RTAP_PKT_VNET | (v.flags & VIRTIO_NET_HDR_F_NEEDS_CSUM ? RTAP_PKT_CSUM_NOT_READY : 0);
    pkt->gso_type = v.gso_type;
    pkt->gso_size = v.gso_type == VIRTIO_NET_HDR_GSO_NONE ? 0 : v.gso_size;
    pkt->csum_start = (uint16_t)(v.csum_start + tag);
    pkt->csum_offset = v.csum_offset;
    if (pkt->gso_size)
        pkt->status |= RTAP_PKT_GSO;
}

/*
 * The room in front of tp_mac: the kernel puts the packet header (48 bytes), sockaddr_ll (20 bytes) and then at least
 * 14 free bytes with SOCK_RAW on Ethernet, 28 with SOCK_DGRAM, before the frame. A tag takes 4, the SLL2 header 20.
 */
void rtap_ring_restore(const struct rtap_ring *r, const struct tpacket3_hdr *h, struct rtap_pkt *pkt)
{
    const struct sockaddr_ll *sll = (const struct sockaddr_ll *)((const uint8_t *)h + RTAP_RING_SLL_OFFSET);
    uint8_t *data = (uint8_t *)h + h->tp_mac;
    uint16_t protocol = sll->sll_protocol; /* big-endian */
    bool tagged = h->tp_status & TP_STATUS_VLAN_VALID;
    uint16_t tpid = htobe16(h->tp_status & TP_STATUS_VLAN_TPID_VALID ? h->hv1.tp_vlan_tpid : 0x8100);
    uint16_t tci = htobe16((uint16_t)h->hv1.tp_vlan_tci);

    if (h->tp_status & TP_STATUS_TS_RAW_HARDWARE)
        ((struct rtap_ring *)r)->hardware_time++;
    if (tagged && r->ethernet) {
        pkt->status |= RTAP_PKT_VLAN_RESTORED;
        pkt->len += 4;
        if (pkt->caplen < 12) /* cut off before the place of the tag */
            return;
        memmove(data - 4, data, 12);
        memcpy(data + 8, &tpid, 2);
        memcpy(data + 10, &tci, 2);
        pkt->data = data - 4;
        pkt->caplen += 4;
    } else if (r->cook == RTAP_COOK_SLL2) {
        if (tagged) { /* SLL2 says the tag in its protocol field, the rest of it begins the payload */
            pkt->status |= RTAP_PKT_VLAN_RESTORED;
            if (has_second_tag(data, pkt->caplen, pkt->len, be16toh(protocol)))
                protocol = htobe16(ETH_P_8021Q);
            data -= 4;
            memcpy(data, &tci, 2);
            memcpy(data + 2, &protocol, 2);
            protocol = tpid;
            pkt->len += 4;
            pkt->caplen += 4;
        }
        data -= 20;
        memcpy(data, &protocol, 2);
        memset(data + 2, 0, 2);
        rtap_put_be32(data + 4, (uint32_t)sll->sll_ifindex);
        rtap_put_be16(data + 8, sll->sll_hatype);
        data[10] = sll->sll_pkttype;
        data[11] = sll->sll_halen;
        memcpy(data + 12, sll->sll_addr, 8);
        if (sll->sll_halen < 8)
            memset(data + 12 + sll->sll_halen, 0, 8u - sll->sll_halen);
        pkt->data = data;
        pkt->len += 20;
        pkt->caplen += 20;
        pkt->ifname = r->ifname ? r->ifname(r->source, pkt->ifindex) : r->proto.ifname;
    } else if (r->cook == RTAP_COOK_NETLINK) { /* LINKTYPE_NETLINK: the 16 bytes of LINUX_SLL */
        data -= 16;
        rtap_put_be16(data, sll->sll_pkttype);
        rtap_put_be16(data + 2, sll->sll_hatype);
        memset(data + 4, 0, 10);
        memcpy(data + 14, &protocol, 2);
        pkt->data = data;
        pkt->len += 16;
        pkt->caplen += 16;
    }
}
