/*
 * What others say about frames: the kernel's socket filter, and libpcap's interpreter.
 *
 * Standard input: u32 number of frames; for each u32 length and its bytes; then for each expression u8 untag, u32
 * length and its text, u32 number of instructions of classic BPF and those (none: the kernel isn't asked). Standard
 * output: for each expression u8, 1 when libpcap compiles it, and a byte for each frame: 1 libpcap matches, 2 the
 * kernel does. untag: libpcap is given the frame without its outermost VLAN tag, which is what the expression is to see.
 */
#define _GNU_SOURCE
#include <linux/filter.h>
#include <pcap/pcap.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct frame {
    uint32_t len, untagged_len;
    uint8_t *bytes, *untagged;
};

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static int read_exactly(void *to, size_t n)
{
    return n == 0 || fread(to, n, 1, stdin) == 1;
}

static void *read_block(uint32_t n)
{
    void *p = malloc(n + 1);

    if (p == NULL || !read_exactly(p, n))
        die("input");
    ((char *)p)[n] = '\0';
    return p;
}

static uint32_t read_number(void)
{
    uint32_t n;

    if (!read_exactly(&n, sizeof(n)))
        die("input");
    return n;
}

static void read_frame(struct frame *f)
{
    unsigned type;

    f->len = f->untagged_len = read_number();
    f->bytes = f->untagged = read_block(f->len);
    if (f->len < 16)
        return;
    type = f->bytes[12] << 8 | f->bytes[13];
    if (type != 0x8100 && type != 0x88a8 && type != 0x9100)
        return;
    f->untagged_len = f->len - 4;
    f->untagged = malloc(f->untagged_len);
    memcpy(f->untagged, f->bytes, 12);
    memcpy(f->untagged + 12, f->bytes + 16, f->len - 16);
}

static int kernel_matches(const int *pair, const struct frame *f)
{
    static uint8_t got[1 << 18];

    if (send(pair[0], f->bytes, f->len, MSG_DONTWAIT) != (ssize_t)f->len)
        die("send");
    return recv(pair[1], got, sizeof(got), MSG_DONTWAIT) >= 0;
}

int main(void)
{
    uint32_t count = read_number();
    struct frame *frames = calloc(count, sizeof(*frames));
    uint8_t *answers = malloc(count), untag;
    pcap_t *pcap = pcap_open_dead(DLT_EN10MB, 262144);
    int pair[2], size = 1 << 20;

    for (uint32_t i = 0; i < count; i++)
        read_frame(&frames[i]);
    while (read_exactly(&untag, 1)) {
        char *expr = read_block(read_number());
        uint32_t n = read_number();
        struct sock_filter *insns = read_block(n * sizeof(*insns));
        struct sock_fprog attach = {(unsigned short)n, insns};
        struct bpf_program program;
        int compiled = pcap_compile(pcap, &program, expr, 1, PCAP_NETMASK_UNKNOWN) == 0;

        memset(answers, 0, count);
        if (socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) < 0)
            die("socketpair");
        setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
        if (n > 0 && setsockopt(pair[1], SOL_SOCKET, SO_ATTACH_FILTER, &attach, sizeof(attach)) < 0)
            die("SO_ATTACH_FILTER");
        for (uint32_t i = 0; compiled && i < count; i++) {
            const struct frame *f = &frames[i];
            struct pcap_pkthdr header = {.caplen = untag ? f->untagged_len : f->len};

            header.len = header.caplen;
            answers[i] = pcap_offline_filter(&program, &header, untag ? f->untagged : f->bytes) != 0;
            if (n > 0 && kernel_matches(pair, f))
                answers[i] |= 2;
        }
        putchar(compiled);
        fwrite(answers, 1, count, stdout);
        if (compiled)
            pcap_freecode(&program);
        close(pair[0]);
        close(pair[1]);
        free(expr);
        free(insns);
    }
    return 0;
}
