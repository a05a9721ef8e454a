/* Shared by xdp_port.c (opening, frames), xdp_source.c and xdp_sink.c. See xdp.h. */
#ifndef RTAP_IO_XDP_PORT_H
#define RTAP_IO_XDP_PORT_H

#include "netif.h"
#include "xdp.h"
#include "xsk.h"
#include <net/if.h>

#define RTAP_XDP_MOST_PORTS 16
#define RTAP_XDP_NOWHERE UINT64_MAX /* the address of a descriptor that is not to be sent any more */

enum rtap_frame_place {
    RTAP_FRAME_FREE,     /* with the kernel, or in the list of frames to send from */
    RTAP_FRAME_RECEIVED, /* in a batch */
    RTAP_FRAME_SENDING,  /* in a TX ring, or not completed */
    RTAP_FRAME_BOTH,     /* sending, and its batch is still looked at */
};

struct rtap_xdp_frame {
    uint32_t next; /* in its batch */
    uint16_t run;  /* that it is in */
    uint8_t place; /* enum rtap_frame_place */
};

struct rtap_xdp_pool {
    unsigned refs;
    struct rtap_umem umem;
    struct rtap_xdp_frame *frames;
    struct rtap_xsk **owners; /* of each run of `run` frames; NULL: it is sent from, or its socket is closed */
    uint32_t run, run_count, runs_used;
    bool local; /* some port is a virtual device: its frames may have checksums that their sender left unfinished */
    struct rtap_sink *sinks[RTAP_XDP_MOST_PORTS]; /* of its ports, those that are open */
};

struct rtap_xdp_port {
    unsigned refs;
    char *name;
    int ifindex, link_fd; /* link_fd: NETLINK_ROUTE in its namespace */
    int promisc_fd;       /* a socket that keeps it promiscuous; -1: none */
    uint64_t netns;       /* cookie */
    uint32_t mtu;
    uint8_t address[6];
    struct rtap_xdp_pool *pool;
    struct rtap_xsk *xsks;
    uint32_t *queues;
    unsigned queue_count;
    uint32_t ring_size;
    struct rtap_xdp_program *program; /* NULL: it only sends */
    struct rtap_xdp_config program_cfg;
    char *program_file, *map_name, *pass, *netns_name; /* NULL: none */
    struct rtap_xdp_memory *memory;
    int64_t latency;                 /* ns */
    uint32_t send_first, send_slots; /* frames that are sent from; slots of slot_frames frames */
    uint32_t slot_frames;
    uint32_t *free_slots, free_count; /* a stack */
    uint8_t *slot_left;               /* of each slot: descriptors not completed */
    uint64_t completed;               /* descriptors */
    bool receives, sends, virtual, hardware_time;
    unsigned ends;  /* source and sink that are open */
    bool receiving; /* its program catches frames */
};

/* The completion ring of its first socket: frames go back to where they belong. */
void rtap_xdp_complete(struct rtap_xdp_port *p);
/* A received frame is no longer needed by whoever had it as `place` (RECEIVED or SENDING). To be published. */
void rtap_xdp_give_back(struct rtap_xdp_pool *pool, uint32_t frame, enum rtap_frame_place place);
void rtap_xdp_publish(struct rtap_xdp_port *p); /* what was given back goes to the kernel */
/* A batch was looked at: what its packets were passed on to goes out, and what was sent comes back. */
void rtap_xdp_flush(struct rtap_xdp_pool *pool);
/* The last end of the port is closed: so are its sockets. What they received stays readable. */
void rtap_xdp_close_sockets(struct rtap_xdp_port *p);
void rtap_xdp_port_facts(const struct rtap_xdp_port *p, struct rtap_xdp_facts *f);
/* Is the device still there? 0; -ENODEV; -errno. */
int rtap_xdp_look(struct rtap_xdp_port *p, struct rtap_netif *n);

#endif
