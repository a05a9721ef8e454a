/*
 * tun_hold NAME < PACKETS
 *
 * Makes the tun device NAME and holds it, with its carrier, until it is killed. Says "ready" on standard error, then
 * puts in what comes on standard input as if it had been received: each packet has its length before it, two bytes,
 * big endian. When they are through it says "sent N".
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    struct ifreq ifr = {.ifr_flags = IFF_TUN | IFF_NO_PI};
    unsigned char head[2], packet[65536];
    unsigned long sent = 0;
    int fd = open("/dev/net/tun", O_RDWR);

    if (argc != 2 || strlen(argv[1]) >= IFNAMSIZ)
        return 2;
    strcpy(ifr.ifr_name, argv[1]);
    if (fd < 0 || ioctl(fd, TUNSETIFF, &ifr) < 0) {
        fprintf(stderr, "tun_hold: %s\n", strerror(errno));
        return 1;
    }
    fprintf(stderr, "ready\n");
    while (fread(head, 1, 2, stdin) == 2) {
        size_t len = (size_t)head[0] << 8 | head[1];

        if (fread(packet, 1, len, stdin) != len)
            return 2;
        while (write(fd, packet, len) < 0 && errno == EIO) /* it is not up yet */
            usleep(10000);
        sent++;
    }
    fprintf(stderr, "sent %lu\n", sent);
    for (;;)
        pause();
}
