/* Finishing checksums. See partial.h; called by src/io/xdp_sink.c. */
#include "partial.h"

#include "bytes.h"
#include "checksum.h"

struct segment {
    uint32_t at, len; /* of the TCP or UDP header and all behind it */
    uint8_t proto;
    uint64_t sum; /* of the pseudo header, not folded */
};

static bool find_ipv4(const uint8_t *data, uint32_t len, uint32_t at, struct segment *s)
{
    uint32_t header, total;

    if (len - at < 20)
        return false;
    header = (data[at] & 15u) * 4;
    total = rtap_be16(data + at + 2);
    if (data[at] >> 4 != 4 || header < 20 || total < header || total > len - at || rtap_be16(data + at + 6) & 0x3fff)
        return false;
    s->at = at + header;
    s->len = total - header;
    s->proto = data[at + 9];
    s->sum = rtap_csum_add(data + at + 12, 8, 0);
    return true;
}

static bool find_ipv6(const uint8_t *data, uint32_t len, uint32_t at, struct segment *s)
{
    if (len - at < 40)
        return false;
    s->at = at + 40;
    s->len = rtap_be16(data + at + 4);
    s->proto = data[at + 6];
    if (data[at] >> 4 != 6 || s->len > len - s->at)
        return false;
    s->sum = rtap_csum_add(data + at + 8, 32, 0);
    return true;
}

bool rtap_partial_finish(uint8_t *data, uint32_t len)
{
    struct segment s;
    uint32_t at = 14, type, place;
    uint16_t sum;

    if (len < 14)
        return false;
    type = rtap_be16(data + 12);
    while ((type == 0x8100 || type == 0x88a8) && at + 4 <= len) {
        type = rtap_be16(data + at + 2);
        at += 4;
    }
    if (!(type == 0x0800 ? find_ipv4(data, len, at, &s) : type == 0x86dd && find_ipv6(data, len, at, &s)))
        return false;
    place = s.proto == 6 ? 16 : s.proto == 17 ? 6 : 0;
    if (place == 0 || s.len < place + 2)
        return false;
    sum = rtap_csum_fold(s.sum + s.proto + s.len);
    if ((rtap_be16(data + s.at + place) ^ sum) != 0xffff)
        return false;
    sum = rtap_csum_fold(rtap_csum_add(data + s.at, s.len, 0));
    rtap_put_be16(data + s.at + place, sum == 0 && s.proto == 17 ? 0xffff : sum);
    return true;
}
