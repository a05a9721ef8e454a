/*
 * Super-frames: one header and the payloads of several segments, which the kernel (or the device) cuts apart on the way
 * out (Documentation/networking/segmentation-offloads.rst; struct virtio_net_hdr, virtio 1.2, 5.1.6). And checksums
 * that the sender left to the hardware.
 */
#ifndef RTAP_PACKET_GSO_H
#define RTAP_PACKET_GSO_H

#include "pkt.h"
#include <linux/virtio_net.h>
#include <stdbool.h>

#ifndef VIRTIO_NET_HDR_GSO_UDP_L4
#define VIRTIO_NET_HDR_GSO_UDP_L4 5 /* since Linux 6.2 */
#endif

/* Where the parts of a frame with one IP header (IPv6: without extension headers) and TCP or UDP begin. */
struct rtap_flow {
    uint32_t ip, transport, payload, end;
    bool v6, tcp;
};

/* What a super-frame is being made of. */
struct rtap_gso {
    struct rtap_flow flow; /* of its first frame */
    uint32_t size;         /* payload of each segment but the last */
    uint32_t length;       /* of the super-frame */
    uint32_t segments;     /* 0: empty */
    bool closed;           /* takes no more */
};

/* Is it such a frame, whole and no fragment? */
bool rtap_flow_find(const uint8_t *data, uint32_t len, uint16_t linktype, struct rtap_flow *f);

/* The frame at `data` is the first of a super-frame. share: others may follow it there, if it is of a kind that can be
 * one of several. Segments differ in their payload, in ip.id (the kernel counts it up by itself) and, TCP, in the
 * sequence number, which goes on where the segment before ended. Checksums have to be right, since the kernel makes
 * them anew; a UDP datagram without one is sent alone. */
void rtap_gso_begin(struct rtap_gso *g, const uint8_t *data, uint32_t len, uint16_t linktype, bool share);
/* Put one more into the super-frame at `data`, which has room for `room` bytes: false when it does not belong there;
 * the super-frame is complete then. exact: what the kernel makes of it has to be this frame to the last bit, so ip.id
 * has to count up as it does; UDP only. */
bool rtap_gso_add(struct rtap_gso *g, uint8_t *data, uint32_t room, const uint8_t *frame, uint32_t len,
                  uint16_t linktype, bool exact);
/* The super-frame is complete: set its lengths and sums, and tell the kernel in *vnet. */
void rtap_gso_finish(const struct rtap_gso *g, uint8_t *data, struct virtio_net_hdr *vnet);

/* What the kernel has to be told to send a packet as it was captured: a checksum that isn't ready, a frame that is too
 * long for `mtu` because it stands for several. False: it can be sent as it is, *vnet is zero. */
bool rtap_vnet_for(const struct rtap_pkt *pkt, uint32_t mtu, struct virtio_net_hdr *vnet);

/* Is the checksum of its TCP or UDP the sum of the pseudo header alone? No right one is, unless by a chance of which
 * working it out anew makes nothing else. */
bool rtap_checksum_is_partial(const struct rtap_pkt *pkt);
/* Work it out if so; `data` are its bytes. */
void rtap_checksum_finish(const struct rtap_pkt *pkt, uint8_t *data);
/* Of a super-frame: set the field that the kernel makes its segments' checksums from, after a change. */
void rtap_super_prepare(const struct rtap_pkt *pkt, uint8_t *data);
/* Make the checksum good that the sender left to the hardware, of a packet with RTAP_PKT_VNET and
 * RTAP_PKT_CSUM_NOT_READY; `data` are its bytes. Others: rtap_layout_complete(). */
void rtap_vnet_complete(const struct rtap_pkt *pkt, uint8_t *data);

#endif
