/*
 * The Internet checksum. Words are added in the machine's own byte order, eight bytes at a time, and the folded sum is
 * turned round once at the end: a ones'-complement sum does not care about byte order (RFC 1071, 2 B).
 */
#include "checksum.h"

#include "bytes.h"
#include <stdbool.h>

static inline uint64_t add_carry(uint64_t a, uint64_t b)
{
    uint64_t s;
    bool carry = __builtin_add_overflow(a, b, &s);

    return s + carry;
}

uint64_t rtap_csum_add(const void *data, size_t len, uint64_t sum)
{
    const uint8_t *p = data;
    uint64_t a = 0, b = 0, w[4];

    for (; len >= sizeof(w); p += sizeof(w), len -= sizeof(w)) {
        memcpy(w, p, sizeof(w));
        a = add_carry(add_carry(a, w[0]), w[2]);
        b = add_carry(add_carry(b, w[1]), w[3]);
    }
    for (; len >= sizeof(w[0]); p += sizeof(w[0]), len -= sizeof(w[0])) {
        memcpy(w, p, sizeof(w[0]));
        a = add_carry(a, w[0]);
    }
    if (len > 0) {
        w[0] = 0;
        memcpy(w, p, len);
        b = add_carry(b, w[0]);
    }
    a = add_carry(a, b);
    a = (a >> 32) + (a & 0xffffffff);
    a = (a >> 32) + (a & 0xffffffff);
    a = (a >> 16) + (a & 0xffff);
    a = (a >> 16) + (a & 0xffff);
    return sum + be16toh((uint16_t)a);
}

uint16_t rtap_csum_fold(uint64_t sum)
{
    while (sum >> 16)
        sum = (sum >> 16) + (sum & 0xffff);
    return (uint16_t)~sum;
}
