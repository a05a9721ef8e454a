/* Unaligned loads and stores of fixed byte order. */
#ifndef RTAP_PACKET_BYTES_H
#define RTAP_PACKET_BYTES_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

#define RTAP_LOAD(bits, order, conv)                               \
    static inline uint##bits##_t rtap_##order##bits(const void *p) \
    {                                                              \
        uint##bits##_t v;                                          \
        memcpy(&v, p, sizeof(v));                                  \
        return conv(v);                                            \
    }
RTAP_LOAD(16, be, be16toh)
RTAP_LOAD(32, be, be32toh)
RTAP_LOAD(64, be, be64toh)
RTAP_LOAD(16, le, le16toh)
RTAP_LOAD(32, le, le32toh)
RTAP_LOAD(64, le, le64toh)
#undef RTAP_LOAD

static inline void rtap_put_be16(void *p, uint16_t v)
{
    v = htobe16(v);
    memcpy(p, &v, sizeof(v));
}

static inline void rtap_put_be32(void *p, uint32_t v)
{
    v = htobe32(v);
    memcpy(p, &v, sizeof(v));
}

#endif
