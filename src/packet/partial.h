/* Checksums that a local sender left to its device: what is in the field then is the sum of the pseudo header alone. */
#ifndef RTAP_PACKET_PARTIAL_H
#define RTAP_PACKET_PARTIAL_H

#include <stdbool.h>
#include <stdint.h>

/* Finish the checksum of TCP or UDP in an Ethernet frame when it looks like that (RFC 9293, 3.1; RFC 768). True when it
 * did. A checksum that is right and looks like that by chance stays as it is. Fragments, and IPv6 with extension
 * headers, are left alone. */
bool rtap_partial_finish(uint8_t *data, uint32_t len);

#endif
