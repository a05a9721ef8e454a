/* An interface by its name: what an AF_PACKET socket has to know of it, for receiving and for sending. */
#ifndef RTAP_IO_DEVICE_H
#define RTAP_IO_DEVICE_H

#include "ring.h"

struct rtap_device {
    int ifindex;
    unsigned mtu;
    unsigned short hatype; /* ARPHRD_* */
    uint16_t linktype;
    bool cooked; /* what the kernel has in front is no header of a known form: SOCK_DGRAM */
    enum rtap_ring_cook cook;
    bool ethernet;
};

/* Look up `name` ("any": all of them, ifindex 0) in the namespace `netns` (NULL: the caller's). 0, or -errno with the
 * sentence in err. */
int rtap_device_find(struct rtap_device *d, const char *name, const char *netns, char *err, size_t errlen);
/* An AF_PACKET socket in that namespace, without a protocol: nothing is received. A descriptor, or -errno with the
 * sentence, which names the capability that is missing. */
int rtap_device_socket(const char *name, const char *netns, int type, char *err, size_t errlen);

#endif
