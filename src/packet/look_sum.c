/* Whether a packet's checksums hold: what look.c found, checked. Bytes that were not captured are never guessed at. */
#include "bytes.h"
#include "checksum.h"
#include "line.h"

#include <netinet/in.h>

static bool have(const struct rtap_pkt *pkt, uint32_t off, uint32_t n)
{
    return off <= pkt->caplen && pkt->caplen - off >= n;
}

/* The pseudo header's sum. */
static uint64_t pseudo(const struct rtap_pkt *pkt, const struct rtap_look *look, uint32_t size)
{
    const uint8_t *ip = pkt->data + look->l3, *dst = pkt->data + look->dst;
    uint64_t sum = (uint64_t)look->proto + (size >> 16) + (size & 0xffff);

    if (look->version == 4)
        return rtap_csum_add(dst, 4, rtap_csum_add(ip + 12, 4, sum));
    return rtap_csum_add(dst, 16, rtap_csum_add(ip + 8, 16, sum));
}

int rtap_look_sum(const struct rtap_pkt *pkt, const struct rtap_look *look, uint16_t *is, uint16_t *want)
{
    uint32_t off = (uint32_t)look->l4, size, covered, field, n;
    uint64_t sum = 0;
    const uint8_t *p;

    if (look->l4 < 0 || look->fragment || !have(pkt, off, 4))
        return -1;
    p = pkt->data + off;
    size = covered = look->l3_end - off;
    switch (look->proto) {
    case IPPROTO_UDP:
        field = 6;
        if (!have(pkt, off, 8) || (rtap_be16(p + 6) == 0 && look->version == 4))
            return -1;
        n = rtap_be16(p + 4);
        if (n == 0 && size > 0xffff) /* right, and right for these only: RFC 2675 */
            n = size;
        if (n > size || n < 8)
            return -1;
        covered = n;
        sum = pseudo(pkt, look, n);
        break;
    case IPPROTO_UDPLITE:
        field = 6;
        if (!have(pkt, off, 8))
            return -1;
        n = rtap_be16(p + 4); /* how much is covered; 0 is all of it */
        if (n > size || (n > 0 && n < 8))
            return -1;
        covered = n > 0 ? n : size;
        sum = pseudo(pkt, look, size);
        break;
    case IPPROTO_TCP:
        field = 16;
        if (size < 20)
            return -1;
        sum = pseudo(pkt, look, size);
        break;
    case IPPROTO_ICMPV6:
        field = 2;
        if (look->version != 6 || size < 4)
            return -1;
        sum = pseudo(pkt, look, size);
        break;
    case IPPROTO_ICMP:
    case IPPROTO_IGMP:
        field = 2;
        if (look->version != 4 || size < 4)
            return -1;
        break;
    default: return -1;
    }
    if (!have(pkt, off, covered))
        return -1;
    sum = rtap_csum_add(p, covered, sum);
    *is = rtap_be16(p + field);
    /* the sum without what the field adds to it */
    *want = rtap_csum_fold((uint16_t)~rtap_csum_fold(sum) + (uint64_t)(uint16_t) ~*is);
    if (*want == 0 && (look->proto == IPPROTO_UDP || look->proto == IPPROTO_UDPLITE))
        *want = 0xffff;
    if (rtap_csum_fold(sum) == 0 && (*is != 0 || (look->proto != IPPROTO_UDP && look->proto != IPPROTO_UDPLITE)))
        return 1;
    /* Without a length it never was on a wire: the sum was still to be finished by the hardware. */
    return look->length_guessed ? -1 : 0;
}

int rtap_look_ip_sum(const struct rtap_pkt *pkt, const struct rtap_look *look, uint16_t *is, uint16_t *want)
{
    uint32_t off = (uint32_t)look->l3, hlen;
    uint64_t sum;

    if (look->version != 4)
        return -1;
    hlen = (pkt->data[off] & 15) * 4u;
    if (hlen < 20 || !have(pkt, off, hlen))
        return -1;
    sum = rtap_csum_add(pkt->data + off, hlen, 0);
    *is = rtap_be16(pkt->data + off + 10);
    *want = rtap_csum_fold((uint16_t)~rtap_csum_fold(sum) + (uint64_t)(uint16_t) ~*is);
    return rtap_csum_fold(sum) == 0;
}
