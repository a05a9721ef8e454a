/* A socket inside another network namespace. */
#ifndef RTAP_IO_NETNS_H
#define RTAP_IO_NETNS_H

#include <stddef.h>

/* socket(2) in the namespace `netns` (a name under /run/netns or a path; NULL: the caller's). A descriptor, or -errno
 * with the sentence in err. The calling thread stays where it is. */
int rtap_netns_socket(const char *netns, int domain, int type, int protocol, char *err, size_t errlen);

#endif
