/* Sending by an AF_PACKET socket: a struct sink of kind "packet". */
#ifndef RTAP_IO_SENDER_H
#define RTAP_IO_SENDER_H

#include "sink.h"

enum rtap_send_method { /* how frames get to the kernel */
                        RTAP_SEND_AUTO,
                        RTAP_SEND_MMSG, /* they are gathered here and passed on by sendmmsg */
                        RTAP_SEND_RING, /* PACKET_TX_RING: the kernel reads them from shared memory, copying all the
                                           same */
                        RTAP_SEND_GSO,  /* those of one flow become super-frames, which the kernel cuts apart */
};

struct rtap_sender_config {
    const char *ifname, *netns; /* netns NULL: here */
    int method;
    int64_t frame_count, frame_size; /* 0: default */
    bool qdisc_bypass;               /* PACKET_QDISC_BYPASS: no traffic control */
    int vnet_hdr;                    /* PACKET_VNET_HDR: 1 yes, 0 no, -1 where the method has it */
};

/* 0, or -errno with the sentence in err. Nothing is received by its socket. */
int rtap_sender_open(struct rtap_sink **out, const struct rtap_sender_config *cfg, char *err, size_t errlen);

#endif
