/* The Internet checksum, RFC 1071. */
#ifndef RTAP_PACKET_CHECKSUM_H
#define RTAP_PACKET_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

/* Ones'-complement sum of len bytes added to `sum`, unfolded; an odd last byte is padded with zero. */
uint64_t rtap_csum_add(const void *data, size_t len, uint64_t sum);
/* Folded and complemented: what goes into the header, in host order of the big-endian field. */
uint16_t rtap_csum_fold(uint64_t sum);

#endif
