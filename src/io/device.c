/* Finding an interface: its number, its kind, the link type that its packets have. See device.h. */
#include "device.h"

#include "netns.h"
#include <errno.h>
#include <linux/if.h>
#include <linux/sockios.h>
#include <net/if_arp.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* ARPHRD_* to LINKTYPE_*. What has no header of a known form is read from the network layer on, as RAW, or with
 * the kernel's own facts in front, as SLL2. */
static void choose_linktype(struct rtap_device *d)
{
    static const struct {
        unsigned short hatype;
        uint16_t linktype;
        bool cooked;
        enum rtap_ring_cook cook;
    } known[] = {
        {ARPHRD_ETHER, RTAP_LINKTYPE_ETHERNET, false, RTAP_COOK_NONE},
        {ARPHRD_LOOPBACK, RTAP_LINKTYPE_ETHERNET, false, RTAP_COOK_NONE},
        {ARPHRD_NONE, RTAP_LINKTYPE_RAW, true, RTAP_COOK_NONE},   /* tun, wireguard */
        {ARPHRD_TUNNEL, RTAP_LINKTYPE_RAW, true, RTAP_COOK_NONE}, /* ipip */
        {ARPHRD_TUNNEL6, RTAP_LINKTYPE_RAW, true, RTAP_COOK_NONE},
        {ARPHRD_SIT, RTAP_LINKTYPE_RAW, true, RTAP_COOK_NONE},
        {ARPHRD_IPGRE, RTAP_LINKTYPE_RAW, true, RTAP_COOK_NONE},
        {823 /* ARPHRD_IP6GRE */, RTAP_LINKTYPE_RAW, true, RTAP_COOK_NONE},
        {519 /* ARPHRD_RAWIP */, RTAP_LINKTYPE_RAW, true, RTAP_COOK_NONE},
        {ARPHRD_IEEE80211, RTAP_LINKTYPE_IEEE802_11, false, RTAP_COOK_NONE},
        {803 /* ARPHRD_IEEE80211_RADIOTAP */, RTAP_LINKTYPE_IEEE802_11_RADIOTAP, false, RTAP_COOK_NONE},
        {804 /* ARPHRD_IEEE802154 */, 230 /* IEEE802_15_4_NOFCS */, false, RTAP_COOK_NONE},
        {824 /* ARPHRD_NETLINK */, RTAP_LINKTYPE_NETLINK, true, RTAP_COOK_NETLINK},
        {826 /* ARPHRD_VSOCKMON */, 271 /* VSOCK */, false, RTAP_COOK_NONE},
    };

    d->linktype = RTAP_LINKTYPE_LINUX_SLL2;
    d->cooked = true;
    d->cook = RTAP_COOK_SLL2;
    if (d->ifindex == 0)
        return;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (known[i].hatype == d->hatype) {
            d->linktype = known[i].linktype;
            d->cooked = known[i].cooked;
            d->cook = known[i].cook;
            d->ethernet = d->linktype == RTAP_LINKTYPE_ETHERNET;
        }
    }
}

int rtap_device_find(struct rtap_device *d, const char *name, const char *netns, char *err, size_t errlen)
{
    struct ifreq ifr = {0};
    char text[256];
    int fd, r = 0;

    if (strcmp(name, "any") == 0) {
        d->ifindex = 0;
        choose_linktype(d);
        return 0;
    }
    if (!*name || strlen(name) >= sizeof(ifr.ifr_name)) {
        snprintf(err, errlen, "'%s': no interface can have this name (1 to %zu bytes)", name, sizeof(ifr.ifr_name) - 1);
        return -ENODEV;
    }
    fd = rtap_netns_socket(netns, AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0, text, sizeof(text));
    if (fd < 0) {
        snprintf(err, errlen, "%s: %s", name, text);
        return fd;
    }
    strcpy(ifr.ifr_name, name);
    if (ioctl(fd, SIOCGIFINDEX, &ifr) < 0) {
        r = -errno;
        goto out;
    }
    d->ifindex = ifr.ifr_ifindex;
    if (ioctl(fd, SIOCGIFHWADDR, &ifr) < 0) {
        r = -errno;
        goto out;
    }
    d->hatype = ifr.ifr_hwaddr.sa_family;
    if (ioctl(fd, SIOCGIFMTU, &ifr) < 0)
        r = -errno;
    else
        d->mtu = (unsigned)ifr.ifr_mtu;
    choose_linktype(d);
out:
    close(fd);
    if (r < 0)
        snprintf(err, errlen, "%s: %s%s", name, strerror(-r),
                 r == -ENODEV ? " (`ringtap info` lists the interfaces)" : "");
    return r;
}

int rtap_device_socket(const char *name, const char *netns, int type, char *err, size_t errlen)
{
    char text[256];
    int fd = rtap_netns_socket(netns, AF_PACKET, type | SOCK_CLOEXEC, 0, text, sizeof(text));

    if (fd < 0)
        snprintf(err, errlen, "%s: %s%s", name, text,
                 fd == -EPERM ? " (needs CAP_NET_RAW: run as root, or setcap cap_net_raw+ep on the lua binary)" : "");
    return fd;
}
