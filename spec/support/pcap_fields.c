/*
 * pcap_fields FILE     reads ip.src, udp.dstport and frame.len of every packet with libpcap; prints how many packets had
 *                      all three, and a sum of what was read
 *
 * What a C program costs that does the reading of `ringtap fields -r FILE -e ip.src -e udp.dstport -e frame.len` and no
 * writing. Ethernet and IPv4 only.
 */
#include <pcap/pcap.h>
#include <stdint.h>
#include <stdio.h>

static uint64_t packets, sum;

static void look(const struct pcap_pkthdr *h, const u_char *p)
{
    unsigned header;

    if (h->caplen < 14 + 20 || p[12] != 0x08 || p[13] != 0x00 || p[14] >> 4 != 4)
        return;
    header = (p[14] & 15) * 4u;
    if (header < 20 || p[23] != 17 || (p[20] & 0x1f) != 0 || p[21] != 0 || h->caplen < 14 + header + 8)
        return;
    packets++;
    sum += ((uint32_t)p[26] << 24 | p[27] << 16 | p[28] << 8 | p[29]);
    sum += (uint32_t)p[14 + header + 2] << 8 | p[14 + header + 3];
    sum += h->len;
}

int main(int argc, char **argv)
{
    char err[PCAP_ERRBUF_SIZE];
    struct pcap_pkthdr *h;
    const u_char *p;
    pcap_t *file;
    int r;

    if (argc != 2) {
        fprintf(stderr, "usage: pcap_fields FILE\n");
        return 2;
    }
    file = pcap_open_offline(argv[1], err);
    if (!file || pcap_datalink(file) != DLT_EN10MB) {
        fprintf(stderr, "pcap_fields: %s\n", file ? "no Ethernet" : err);
        return 1;
    }
    while ((r = pcap_next_ex(file, &h, &p)) == 1)
        look(h, p);
    if (r != PCAP_ERROR_BREAK) {
        fprintf(stderr, "pcap_fields: %s\n", pcap_geterr(file));
        return 1;
    }
    pcap_close(file);
    printf("%llu %llu\n", (unsigned long long)packets, (unsigned long long)sum);
    return 0;
}
