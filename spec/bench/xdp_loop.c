/*
 * The same work by hand: loops in C over an AF_XDP socket, as fast as they can be, and an ordinary socket's sendto.
 *
 *   xdp_loop tx|txvary|dns IFNAME QUEUE AMOUNT FRAMEFILE BATCH [BUDGET [RATE]]
 *   xdp_loop udp|dnsudp AMOUNT FRAMEFILE
 *   xdp_loop rx IFNAME native|generic QUEUE AMOUNT POLICY
 *
 * AMOUNT is a number of packets, or of seconds: 1000000, 2s. FRAMEFILE has the bytes of one frame: Ethernet, IPv4
 * without options, UDP, checksums right, at least 4 bytes of payload.
 *
 * tx sends that frame in copy mode, BATCH of them before the kernel is called; txvary copies it anew each time, with
 * the first 4 bytes of the payload counting up, dns with the first 2, a query's id; both keep the checksum right.
 * BUDGET is how many the kernel takes in one call (0 or none: as many as a batch, if that is more than the kernel's own
 * 32; 32: its own). RATE is in packets a second, waited for without sleeping.
 *
 * udp and dnsudp send the same datagrams as txvary and dns do, by sendto.
 *
 * rx counts packets and reads the first 64 bytes of each. POLICY: poll (for each batch), busy (never sleeps),
 * coalesce:USEC (sleeps after each batch, polls when nothing is there). It says "ready" on standard error, and ends on
 * SIGTERM and SIGINT too.
 *
 * At the end: one line, a JSON object. cpu is the process's own, user and system, in seconds; calls are those into the
 * kernel to send, or to wait; dropped is what the device refused, or what the receiving socket had no room for.
 *
 *   cc -O2 -o xdp_loop xdp_loop.c -lbpf
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/if_link.h>
#include <linux/if_xdp.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#ifndef XDP_MAX_TX_SKB_BUDGET
#define XDP_MAX_TX_SKB_BUDGET 9
#endif

enum { FRAME_SIZE = 2048, FRAMES = 4096, RX_BATCH = 256, PAYLOAD = 14 + 20 + 8, UDP_CHECKSUM = 14 + 20 + 6 };

struct ring {
    uint32_t *producer, *consumer, at; // at: this program's own index
    void *entries;
};

struct xsk {
    int fd;
    uint8_t *umem;
    struct ring rx, tx, fill, completion;
};

struct result {
    uint64_t packets, calls, dropped;
};

static volatile sig_atomic_t stopped;

static void stop(int sig)
{
    (void)sig;
    stopped = 1;
}

static void die(const char *format, ...)
{
    int err = errno;
    va_list args;

    va_start(args, format);
    fprintf(stderr, "xdp_loop: ");
    vfprintf(stderr, format, args);
    fprintf(stderr, "%s%s\n", err ? ": " : "", err ? strerror(err) : "");
    va_end(args);
    exit(1);
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double cpu(void)
{
    struct rusage u;

    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e-6;
}

// How many packets there are to be; seconds end by a signal.
static uint64_t start_amount(const char *text)
{
    struct sigaction action = {.sa_handler = stop};
    char *end;
    double v = strtod(text, &end);

    sigaction(SIGALRM, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    if (*end != 's')
        return (uint64_t)v;
    setitimer(ITIMER_REAL, &(struct itimerval){.it_value = {(time_t)v, (suseconds_t)((v - (time_t)v) * 1e6)}}, NULL);
    return UINT64_MAX;
}

// ------------------------------------------------------------------ the frame

static struct {
    uint8_t bytes[FRAME_SIZE];
    uint32_t len, width, sum; // width: of the field that counts; sum: the checksum without that field
} frame;

static void read_frame(const char *path, uint32_t width)
{
    FILE *file = fopen(path, "rb");
    const uint8_t *b = frame.bytes;

    if (file == NULL)
        die("%s", path);
    frame.len = (uint32_t)fread(frame.bytes, 1, sizeof(frame.bytes), file);
    fclose(file);
    errno = 0;
    if (frame.len < PAYLOAD + 4 || b[12] != 8 || b[13] != 0 || b[14] != 0x45 || b[23] != IPPROTO_UDP)
        die("%s: not UDP in IPv4 in Ethernet", path);
    frame.width = width;
    frame.sum = (uint16_t) ~(b[UDP_CHECKSUM] << 8 | b[UDP_CHECKSUM + 1]);
    for (uint32_t i = 0; i < width; i += 2)
        frame.sum += (uint16_t) ~(b[PAYLOAD + i] << 8 | b[PAYLOAD + i + 1]);
}

static void write16(uint8_t *at, uint32_t v)
{
    uint16_t n = htons((uint16_t)v);

    memcpy(at, &n, 2);
}

static inline void write_frame(uint8_t *to, uint32_t number)
{
    uint32_t sum = frame.sum + (number & 0xffff);

    memcpy(to, frame.bytes, frame.len);
    if (frame.width == 4) {
        sum += number >> 16;
        write16(to + PAYLOAD, number >> 16);
        write16(to + PAYLOAD + 2, number);
    } else {
        write16(to + PAYLOAD, number);
    }
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    write16(to + UDP_CHECKSUM, sum == 0xffff ? sum : ~sum);
}

// ------------------------------------------------------------------ the socket and its rings

static void map_ring(struct xsk *x, struct ring *ring, int option, uint64_t page, size_t entry)
{
    struct xdp_mmap_offsets offsets;
    struct xdp_ring_offset *o = page == XDP_PGOFF_RX_RING          ? &offsets.rx
                                : page == XDP_PGOFF_TX_RING        ? &offsets.tx
                                : page == XDP_UMEM_PGOFF_FILL_RING ? &offsets.fr
                                                                   : &offsets.cr;
    socklen_t len = sizeof(offsets);
    int n = FRAMES;
    uint8_t *base;

    if (setsockopt(x->fd, SOL_XDP, option, &n, sizeof(n)) < 0 ||
        getsockopt(x->fd, SOL_XDP, XDP_MMAP_OFFSETS, &offsets, &len) < 0)
        die("ring");
    base = mmap(NULL, o->desc + FRAMES * entry, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, x->fd, (off_t)page);
    if (base == MAP_FAILED)
        die("ring");
    ring->producer = (uint32_t *)(base + o->producer);
    ring->consumer = (uint32_t *)(base + o->consumer);
    ring->entries = base + o->desc;
}

static void open_xsk(struct xsk *x, const char *ifname, uint32_t queue, bool receives)
{
    struct sockaddr_xdp to = {.sxdp_family = AF_XDP, .sxdp_flags = XDP_COPY, .sxdp_queue_id = queue};
    struct xdp_umem_reg reg = {.len = (uint64_t)FRAMES * FRAME_SIZE, .chunk_size = FRAME_SIZE};

    to.sxdp_ifindex = if_nametoindex(ifname);
    x->fd = socket(AF_XDP, SOCK_RAW, 0);
    if (to.sxdp_ifindex == 0 || x->fd < 0)
        die("%s", ifname);
    x->umem = mmap(NULL, reg.len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    reg.addr = (uintptr_t)x->umem;
    if (x->umem == MAP_FAILED || setsockopt(x->fd, SOL_XDP, XDP_UMEM_REG, &reg, sizeof(reg)) < 0)
        die("UMEM");
    map_ring(x, &x->fill, XDP_UMEM_FILL_RING, XDP_UMEM_PGOFF_FILL_RING, sizeof(uint64_t));
    map_ring(x, &x->completion, XDP_UMEM_COMPLETION_RING, XDP_UMEM_PGOFF_COMPLETION_RING, sizeof(uint64_t));
    if (receives)
        map_ring(x, &x->rx, XDP_RX_RING, XDP_PGOFF_RX_RING, sizeof(struct xdp_desc));
    else
        map_ring(x, &x->tx, XDP_TX_RING, XDP_PGOFF_TX_RING, sizeof(struct xdp_desc));
    for (int tries = 0; bind(x->fd, (struct sockaddr *)&to, sizeof(to)) < 0; tries++) {
        if (errno != EBUSY || tries == 100) // a queue that was closed just now is not free yet
            die("bind to queue %u of %s", queue, ifname);
        usleep(10000);
    }
}

// ------------------------------------------------------------------ sending

static void kick(struct xsk *x, struct result *r)
{
    while (__atomic_load_n(x->tx.consumer, __ATOMIC_ACQUIRE) != x->tx.at) {
        r->calls++;
        if (sendto(x->fd, NULL, 0, MSG_DONTWAIT, NULL, 0) == 0)
            continue;
        if (errno == EBUSY)
            r->dropped++; // by the device
        else if (errno != EAGAIN && errno != ENOBUFS && errno != EINTR)
            die("sendto");
    }
}

static void wait_until(double due)
{
    while (now() < due && !stopped)
        ;
}

static void send_frames(struct xsk *x, uint64_t count, uint32_t batch, double rate, struct result *r)
{
    static uint64_t unused[FRAMES];
    struct xdp_desc *tx = x->tx.entries;
    uint64_t *completed = x->completion.entries;
    uint32_t n_unused = FRAMES;
    double start = now();

    for (uint32_t i = 0; i < FRAMES; i++) {
        unused[i] = (uint64_t)i * FRAME_SIZE;
        memcpy(x->umem + unused[i], frame.bytes, frame.len);
    }
    while (r->packets < count && !stopped) {
        uint32_t n = __atomic_load_n(x->completion.producer, __ATOMIC_ACQUIRE);

        while (x->completion.at != n)
            unused[n_unused++] = completed[x->completion.at++ % FRAMES];
        __atomic_store_n(x->completion.consumer, n, __ATOMIC_RELEASE);

        n = batch < n_unused ? batch : n_unused;
        if (n > count - r->packets)
            n = (uint32_t)(count - r->packets);
        for (uint32_t i = 0; i < n; i++) {
            uint64_t addr = unused[--n_unused];

            if (frame.width > 0)
                write_frame(x->umem + addr, (uint32_t)(r->packets + i));
            tx[x->tx.at++ % FRAMES] = (struct xdp_desc){.addr = addr, .len = frame.len};
        }
        __atomic_store_n(x->tx.producer, x->tx.at, __ATOMIC_RELEASE);
        kick(x, r);
        r->packets += n;
        if (rate > 0)
            wait_until(start + (double)r->packets / rate);
    }
}

static void send_datagrams(uint64_t count, struct result *r)
{
    struct sockaddr_in from = {.sin_family = AF_INET}, to = {.sin_family = AF_INET};
    int fd = socket(AF_INET, SOCK_DGRAM, 0);

    memcpy(&from.sin_addr, frame.bytes + 26, 4);
    memcpy(&to.sin_addr, frame.bytes + 30, 4);
    memcpy(&from.sin_port, frame.bytes + 34, 2);
    memcpy(&to.sin_port, frame.bytes + 36, 2);
    if (fd < 0 || bind(fd, (struct sockaddr *)&from, sizeof(from)) < 0)
        die("bind");
    for (; r->packets < count && !stopped; r->packets++) {
        uint32_t number = (uint32_t)r->packets;

        if (frame.width == 4)
            write16(frame.bytes + PAYLOAD, number >> 16);
        write16(frame.bytes + PAYLOAD + frame.width - 2, number);
        for (r->calls++;
             sendto(fd, frame.bytes + PAYLOAD, frame.len - PAYLOAD, 0, (struct sockaddr *)&to, sizeof(to)) < 0;
             r->calls++) {
            if (errno != ENOBUFS && errno != EINTR)
                die("sendto");
        }
    }
}

// ------------------------------------------------------------------ receiving

// Packets of a queue that has a socket go there, all others to the stack. The program lasts as long as the process.
static void attach(struct xsk *x, const char *ifname, uint32_t queue, bool native)
{
    int map = bpf_map_create(BPF_MAP_TYPE_XSKMAP, "xdp_loop", 4, 4, queue + 1, NULL);
    struct bpf_insn code[] = {
        // clang-format off
        {BPF_LDX | BPF_MEM | BPF_W, BPF_REG_2, BPF_REG_1, offsetof(struct xdp_md, rx_queue_index), 0},
        {BPF_LD | BPF_IMM | BPF_DW, BPF_REG_1, BPF_PSEUDO_MAP_FD, 0, map},
        {0, 0, 0, 0, 0},
        {BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_3, 0, 0, XDP_PASS},
        {BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_redirect_map},
        {BPF_JMP | BPF_EXIT, 0, 0, 0, 0},
        // clang-format on
    };
    struct bpf_link_create_opts opts = {.sz = sizeof(opts), .flags = native ? XDP_FLAGS_DRV_MODE : XDP_FLAGS_SKB_MODE};
    int program = bpf_prog_load(BPF_PROG_TYPE_XDP, "xdp_loop", "GPL", code, sizeof(code) / sizeof(code[0]), NULL);

    if (map < 0 || program < 0 || bpf_map_update_elem(map, &queue, &x->fd, BPF_ANY) < 0 ||
        bpf_link_create(program, (int)if_nametoindex(ifname), BPF_XDP, &opts) < 0)
        die("XDP program on %s", ifname);
}

static uint64_t sum; // of what was read

static uint32_t take(struct xsk *x)
{
    const struct xdp_desc *rx = x->rx.entries;
    uint64_t *fill = x->fill.entries;
    uint32_t n = __atomic_load_n(x->rx.producer, __ATOMIC_ACQUIRE) - x->rx.at;

    if (n > RX_BATCH)
        n = RX_BATCH;
    for (uint32_t i = 0; i < n; i++) {
        const struct xdp_desc *d = &rx[x->rx.at++ % FRAMES];
        uint32_t len = d->len < 64 ? d->len : 64;

        for (uint32_t at = 0; at < len; at++)
            sum += x->umem[d->addr + at];
        fill[x->fill.at++ % FRAMES] = d->addr;
    }
    if (n > 0) {
        __atomic_store_n(x->rx.consumer, x->rx.at, __ATOMIC_RELEASE);
        __atomic_store_n(x->fill.producer, x->fill.at, __ATOMIC_RELEASE);
    }
    return n;
}

static void receive(struct xsk *x, uint64_t count, bool busy, long usec, struct result *r)
{
    struct pollfd p = {.fd = x->fd, .events = POLLIN};
    struct timespec pause = {usec / 1000000, usec % 1000000 * 1000};
    struct xdp_statistics s;
    socklen_t len = sizeof(s);

    while (r->packets < count && !stopped) {
        uint32_t n = take(x);

        r->packets += n;
        if (busy)
            continue;
        if (n == 0 || usec == 0) {
            r->calls++;
            ppoll(&p, 1, &(struct timespec){.tv_nsec = 100000000}, NULL);
        } else if (n < RX_BATCH) {
            r->calls++;
            clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
        }
    }
    if (getsockopt(x->fd, SOL_XDP, XDP_STATISTICS, &s, &len) == 0)
        r->dropped = s.rx_dropped + s.rx_ring_full; // rx_dropped includes those that found no frame to go to
}

// ------------------------------------------------------------------ the command line

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    bool rx = !strcmp(mode, "rx"), dns = !strncmp(mode, "dns", 3);
    bool udp = !strcmp(mode, "udp") || !strcmp(mode, "dnsudp");
    bool tx = !strcmp(mode, "tx") || !strcmp(mode, "txvary") || !strcmp(mode, "dns");
    struct result r = {0};
    struct xsk x = {0};
    double t, c;

    if (!(udp && argc == 4) && !(rx && argc == 7) && !(tx && argc >= 7 && argc <= 9)) {
        fprintf(stderr, "usage: see the head of xdp_loop.c\n");
        return 2;
    }
    if (udp) {
        read_frame(argv[3], dns ? 2 : 4);
        t = now(), c = cpu();
        send_datagrams(start_amount(argv[2]), &r);
    } else if (tx) {
        uint32_t batch = (uint32_t)atoi(argv[6]), budget = argc > 7 ? (uint32_t)atoi(argv[7]) : 0;

        read_frame(argv[5], dns ? 2 : strcmp(mode, "tx") ? 4 : 0);
        errno = 0;
        if (batch < 1 || batch > FRAMES)
            die("BATCH is 1 to %d", FRAMES);
        open_xsk(&x, argv[2], (uint32_t)atoi(argv[3]), false);
        if (budget == 0)
            budget = batch > 32 ? batch : 32;
        if (setsockopt(x.fd, SOL_XDP, XDP_MAX_TX_SKB_BUDGET, &budget, sizeof(budget)) < 0 && errno != ENOPROTOOPT)
            die("budget %u", budget);
        t = now(), c = cpu();
        send_frames(&x, start_amount(argv[4]), batch, argc > 8 ? strtod(argv[8], NULL) : 0, &r);
    } else {
        bool native = !strcmp(argv[3], "native"), busy = !strcmp(argv[6], "busy");
        long usec = !strncmp(argv[6], "coalesce:", 9) ? atol(argv[6] + 9) : 0;
        uint64_t count;

        if ((!native && strcmp(argv[3], "generic")) || (!busy && usec <= 0 && strcmp(argv[6], "poll")))
            die("native or generic, and poll, busy or coalesce:USEC");

        open_xsk(&x, argv[2], (uint32_t)atoi(argv[4]), true);
        for (; x.fill.at < FRAMES; x.fill.at++)
            ((uint64_t *)x.fill.entries)[x.fill.at] = (uint64_t)x.fill.at * FRAME_SIZE;
        __atomic_store_n(x.fill.producer, x.fill.at, __ATOMIC_RELEASE);
        attach(&x, argv[2], (uint32_t)atoi(argv[4]), native);
        prctl(PR_SET_TIMERSLACK, 1);
        count = start_amount(argv[5]);
        fprintf(stderr, "ready\n");
        t = now(), c = cpu();
        receive(&x, count, busy, usec, &r);
    }
    c = cpu() - c, t = now() - t;
    printf("{\"mode\":\"%s\",\"packets\":%llu,\"seconds\":%.6f,\"kpps\":%.1f,\"cpu\":%.6f,\"cpu_ns_per_packet\":%.1f,"
           "\"calls\":%llu,\"dropped\":%llu,\"sum\":%llu}\n",
           mode, (unsigned long long)r.packets, t, (double)r.packets / t / 1e3, c,
           r.packets ? c / (double)r.packets * 1e9 : 0, (unsigned long long)r.calls, (unsigned long long)r.dropped,
           (unsigned long long)sum);
    return 0;
}
