/*
 * udp_blast SOURCE DESTINATION PORT COUNT [RATE [SIZE [FIRST]]]
 *
 * Sends COUNT UDP datagrams of SIZE bytes (default 64) at RATE packets a second (0, the default: as fast as it goes).
 * A payload starts with its number, 4 bytes, big endian, from FIRST (default 1); the rest is 'x'. Prints how many were
 * sent, which is COUNT unless it fails.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

static struct addrinfo *address(const char *host, const char *port)
{
    struct addrinfo hints = {.ai_socktype = SOCK_DGRAM, .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV}, *ai;
    int r = getaddrinfo(host, port, &hints, &ai);

    if (r) {
        fprintf(stderr, "udp_blast: %s port %s: %s\n", host, port, gai_strerror(r));
        exit(2);
    }
    return ai;
}

static void pace(const struct timespec *start, double rate, unsigned long n)
{
    double due = (double)n / rate;
    struct timespec t = *start;

    t.tv_sec += (time_t)due;
    t.tv_nsec += (long)((due - (double)(time_t)due) * 1e9);
    if (t.tv_nsec >= 1000000000) {
        t.tv_nsec -= 1000000000;
        t.tv_sec++;
    }
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
        ;
}

int main(int argc, char **argv)
{
    static uint8_t payload[65536];
    unsigned long count, size, first, n;
    struct addrinfo *from, *to;
    struct timespec start;
    double rate;
    int fd;

    if (argc < 5) {
        fprintf(stderr, "usage: udp_blast SOURCE DESTINATION PORT COUNT [RATE [SIZE [FIRST]]]\n");
        return 2;
    }
    count = strtoul(argv[4], NULL, 10);
    rate = argc > 5 ? strtod(argv[5], NULL) : 0;
    size = argc > 6 ? strtoul(argv[6], NULL, 10) : 64;
    first = argc > 7 ? strtoul(argv[7], NULL, 10) : 1;
    if (size < 4 || size > 65507) {
        fprintf(stderr, "udp_blast: SIZE is 4 to 65507\n");
        return 2;
    }
    from = address(argv[1], "40000");
    to = address(argv[2], argv[3]);
    fd = socket(to->ai_family, SOCK_DGRAM, 0);
    if (fd < 0 || bind(fd, from->ai_addr, from->ai_addrlen) < 0) {
        perror("udp_blast: bind");
        return 1;
    }
    memset(payload, 'x', sizeof(payload));
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (n = 0; n < count; n++) {
        uint32_t number = htonl((uint32_t)(first + n));

        memcpy(payload, &number, 4);
        if (rate > 0)
            pace(&start, rate, n);
        while (sendto(fd, payload, size, 0, to->ai_addr, to->ai_addrlen) < 0) {
            if (errno != ENOBUFS && errno != EINTR) {
                perror("udp_blast: sendto");
                return 1;
            }
        }
    }
    printf("%lu\n", n);
    freeaddrinfo(from);
    freeaddrinfo(to);
    return 0;
}
