/*
 * flow tcp SOURCE DESTINATION PORT BYTES     a TCP stream; prints the bytes sent once the other side has taken them
 * flow take ADDRESS PORT                     the other side, for one connection; prints the bytes that came, all of
 *                                            which were what they should be
 * flow segment SOURCE DESTINATION PORT SIZE COUNT   one sendmsg() of COUNT * SIZE bytes with UDP_SEGMENT; prints 1
 *
 * Byte i of a stream, and of a datagram, is i modulo 251.
 */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif

#define CHUNK (251 * 2048)

static unsigned char bytes[CHUNK];

static int open_socket(int type, const char *from, const char *from_port, const char *to, const char *to_port)
{
    struct addrinfo hints = {.ai_socktype = type, .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV}, *ai;
    int fd = -1, one = 1;

    if (getaddrinfo(from, from_port, &hints, &ai) == 0) {
        fd = socket(ai->ai_family, type, 0);
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
        if (bind(fd, ai->ai_addr, ai->ai_addrlen) < 0) {
            perror("flow: bind");
            exit(1);
        }
        freeaddrinfo(ai);
    }
    if (to && getaddrinfo(to, to_port, &hints, &ai) == 0) {
        if (connect(fd, ai->ai_addr, ai->ai_addrlen) < 0) {
            perror("flow: connect");
            exit(1);
        }
        freeaddrinfo(ai);
    }
    return fd;
}

static int stream(const char *from, const char *to, const char *port, size_t count)
{
    int fd = open_socket(SOCK_STREAM, from, "0", to, port);
    size_t done = 0;

    while (done < count) {
        size_t at = done % CHUNK, n = CHUNK - at;
        ssize_t r = write(fd, bytes + at, n < count - done ? n : count - done);

        if (r < 0 && errno != EINTR) {
            perror("flow: write");
            return 1;
        }
        if (r > 0)
            done += (size_t)r;
    }
    shutdown(fd, SHUT_WR);
    while (read(fd, bytes, 1) > 0)
        ;
    printf("%zu\n", done);
    return 0;
}

static int take(const char *address, const char *port)
{
    static char to[1 << 20];
    int fd = open_socket(SOCK_STREAM, address, port, NULL, NULL), c;
    size_t done = 0;
    ssize_t r;

    if (listen(fd, 1) < 0) {
        perror("flow: listen");
        return 1;
    }
    fprintf(stderr, "listening\n");
    c = accept(fd, NULL, NULL);
    while ((r = read(c, to, sizeof(to))) > 0) {
        for (ssize_t i = 0; i < r; i++) {
            if (to[i] != (char)((done + (size_t)i) % 251)) {
                fprintf(stderr, "flow: byte %zu is wrong\n", done + (size_t)i);
                return 1;
            }
        }
        done += (size_t)r;
    }
    close(c);
    printf("%zu\n", done);
    return 0;
}

static int segment(const char *from, const char *to, const char *port, int size, size_t count)
{
    int fd = open_socket(SOCK_DGRAM, from, "40000", to, port);

    if (setsockopt(fd, IPPROTO_UDP, UDP_SEGMENT, &size, sizeof(size)) < 0 ||
        send(fd, bytes, (size_t)size * count, 0) < 0) {
        perror("flow: UDP_SEGMENT");
        return 1;
    }
    printf("1\n");
    return 0;
}

int main(int argc, char **argv)
{
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (unsigned char)(i % 251);
    if (argc == 6 && strcmp(argv[1], "tcp") == 0)
        return stream(argv[2], argv[3], argv[4], strtoul(argv[5], NULL, 10));
    if (argc == 4 && strcmp(argv[1], "take") == 0)
        return take(argv[2], argv[3]);
    if (argc == 7 && strcmp(argv[1], "segment") == 0)
        return segment(argv[2], argv[3], argv[4], atoi(argv[5]), strtoul(argv[6], NULL, 10));
    fprintf(stderr, "usage: see flow.c\n");
    return 2;
}
