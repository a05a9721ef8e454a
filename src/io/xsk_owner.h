/* Which AF_XDP sockets a network namespace has. */
#ifndef RTAP_IO_XSK_OWNER_H
#define RTAP_IO_XSK_OWNER_H

#include <stdbool.h>
#include <stdint.h>

/* Is a socket bound to this queue? Not one that was closed, though the kernel may still keep the queue for it. `unknown`
 * when the kernel can't tell (it has no XDP_SOCKETS_DIAG). */
bool rtap_xsk_has_owner(const char *netns, int ifindex, uint32_t queue, bool unknown);

#endif
