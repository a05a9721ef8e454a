/* udp_hold ADDRESS PORT: a UDP socket that takes what comes and never reads it. Says "ready". Until it is killed. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    struct sockaddr_in at = {.sin_family = AF_INET};
    int fd = socket(AF_INET, SOCK_DGRAM, 0);

    if (argc != 3 || inet_pton(AF_INET, argv[1], &at.sin_addr) != 1)
        return 2;
    at.sin_port = htons((unsigned short)atoi(argv[2]));
    if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0) {
        perror("udp_hold");
        return 1;
    }
    fprintf(stderr, "ready\n");
    for (;;)
        pause();
}
