/* A socket, or anything else, inside another network namespace. */
#ifndef RTAP_IO_NETNS_H
#define RTAP_IO_NETNS_H

#include <stddef.h>

/* socket(2) in the namespace `netns` (a name under /run/netns or a path; NULL: the caller's). A descriptor, or -errno
 * with the sentence in err. The calling thread stays where it is. */
int rtap_netns_socket(const char *netns, int domain, int type, int protocol, char *err, size_t errlen);
/* Call fn(arg) there, in a thread of its own unless netns is NULL. 0, what fn returned in *result; or -errno with the
 * sentence: it wasn't called. */
int rtap_netns_run(const char *netns, int (*fn)(void *arg), void *arg, int *result, char *err, size_t errlen);

#endif
