/*
 * raw_send INTERFACE < FRAMES
 *
 * Sends link-layer frames as they are. On standard input each has its length before it, two bytes, big endian. Prints
 * how many the kernel took; one that it finds too short or too long is left out.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

int main(int argc, char **argv)
{
    struct sockaddr_ll to = {.sll_family = AF_PACKET};
    unsigned char head[2], frame[65536];
    unsigned long sent = 0;
    int fd = socket(AF_PACKET, SOCK_RAW, 0);

    to.sll_ifindex = argc == 2 ? (int)if_nametoindex(argv[1]) : 0;
    if (fd < 0 || to.sll_ifindex == 0 || bind(fd, (struct sockaddr *)&to, sizeof(to)) < 0) {
        fprintf(stderr, "raw_send: %s\n", strerror(errno));
        return 2;
    }
    while (fread(head, 1, 2, stdin) == 2) {
        size_t len = (size_t)head[0] << 8 | head[1];

        if (fread(frame, 1, len, stdin) != len)
            return 2;
        if (send(fd, frame, len, 0) >= 0) {
            sent++;
        } else if (errno != EINVAL && errno != EMSGSIZE) {
            fprintf(stderr, "raw_send: %s\n", strerror(errno));
            return 2;
        }
    }
    printf("%lu\n", sent);
    return 0;
}
