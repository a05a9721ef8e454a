/* The heads and trailers of capture files as bytes. Each function returns the size; with p == NULL it only counts. */
#ifndef RTAP_IO_SAVEFILE_ENCODE_H
#define RTAP_IO_SAVEFILE_ENCODE_H

#include "savefile.h"

#define RTAP_PCAP_HEADER 24u
#define RTAP_PCAP_SNAPLEN_AT 16u
#define RTAP_IDB_SNAPLEN_AT 12u

size_t rtap_encode_pcap(uint8_t *p, bool us, uint32_t snaplen, uint16_t linktype);
size_t rtap_encode_section(uint8_t *p, const char *comment, const char *hardware, const char *os);
size_t rtap_encode_interface(uint8_t *p, const struct rtap_write_if *wi);
size_t rtap_encode_statistics(uint8_t *p, uint32_t id, int64_t now, uint64_t received, uint64_t dropped);

static inline uint8_t *rtap_encode_u32(uint8_t *p, uint32_t v)
{
    __builtin_memcpy(p, &v, sizeof(v));
    return p + sizeof(v);
}

static inline uint8_t *rtap_encode_option(uint8_t *p, unsigned code, size_t length)
{
    uint16_t v[2] = {(uint16_t)code, (uint16_t)length};

    __builtin_memcpy(p, v, sizeof(v));
    return p + sizeof(v);
}

#endif
