/* Packets from memory, laid out as a TPACKET_V3 ring and read by the same code as a live one. */
#ifndef RTAP_IO_MEMORY_H
#define RTAP_IO_MEMORY_H

#include "source.h"

/* The packets are copied. `repeat` times over (1 = once). block_size is a lower bound. -ENOMEM, -EINVAL. */
int rtap_memory_open(struct rtap_source **out, const struct rtap_pkt *pkts, size_t count, uint16_t linktype,
                     uint32_t block_size, uint64_t repeat, char *err, size_t errlen);

#endif
