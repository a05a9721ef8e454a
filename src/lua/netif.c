/* ringtap.interfaces and ringtap.interface: what the kernel says of network interfaces. */
#include "../io/netif.h"

#include "../io/netdev.h"
#include "../io/netns.h"
#include "../io/xdp_program.h"
#include "process.h"
#include <errno.h>
#include <linux/net_tstamp.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

static void set_boolean(lua_State *L, const char *name, bool v)
{
    lua_pushboolean(L, v);
    lua_setfield(L, -2, name);
}

static void set_known(lua_State *L, const char *name, int8_t v)
{
    if (v >= 0)
        set_boolean(L, name, v);
}

static void set_text(lua_State *L, const char *name, const char *text)
{
    rtap_lua_set_text(L, name, *text ? text : NULL);
}

static void push_interface(lua_State *L, const struct rtap_netif *n)
{
    char address[sizeof(n->address) * 3] = "";

    lua_createtable(L, 0, 16);
    set_text(L, "name", n->name);
    set_text(L, "kind", n->kind);
    rtap_lua_set_integer(L, "index", n->index);
    rtap_lua_set_integer(L, "mtu", n->mtu);
    rtap_lua_set_integer(L, "hatype", n->hatype);
    rtap_lua_set_integer(L, "rx_queue_count", n->rx_queues);
    rtap_lua_set_integer(L, "tx_queue_count", n->tx_queues);
    set_boolean(L, "up", n->flags & IFF_UP);
    set_boolean(L, "running", n->flags & IFF_RUNNING);
    set_boolean(L, "loopback", n->flags & IFF_LOOPBACK);
    set_boolean(L, "promisc", n->flags & IFF_PROMISC);
    for (unsigned i = 0; i < n->address_len; i++)
        snprintf(address + (i ? 3 * i - 1 : 0), sizeof(address) - 3 * i, i ? ":%02x" : "%02x", n->address[i]);
    set_text(L, "address", address);
}

/* The list as a userdata, on top of the stack; or -errno with nothing pushed. */
static int get_list(lua_State *L, const char *netns, struct rtap_netif **list, char *err, size_t errlen)
{
    unsigned size = 64;

    for (;;) {
        int n;

        *list = lua_newuserdatauv(L, size * sizeof(**list), 0);
        n = rtap_netif_list(netns, *list, size, err, errlen);
        if (n >= 0 && (unsigned)n <= size)
            return n;
        lua_pop(L, 1);
        if (n < 0)
            return n;
        size = (unsigned)n + 64;
    }
}

/* interfaces([netns]): a list, in the kernel's order; or nil, message, errno */
static int interfaces(lua_State *L)
{
    const char *netns = lua_isnoneornil(L, 1) ? NULL : rtap_lua_check_name(L, 1);
    struct rtap_netif *list;
    char err[512];
    int n = get_list(L, netns, &list, err, sizeof(err));

    if (n < 0)
        return rtap_lua_fail(L, n, err);
    lua_createtable(L, n, 0);
    for (int i = 0; i < n; i++) {
        push_interface(L, &list[i]);
        lua_rawseti(L, -2, i + 1);
    }
    return 1;
}

static void set_offloads(lua_State *L, const struct rtap_netif_detail *d)
{
    static const char *const names[RTAP_OFFLOAD_COUNT] = {
        [RTAP_OFFLOAD_GRO] = "gro",
        [RTAP_OFFLOAD_LRO] = "lro",
        [RTAP_OFFLOAD_TSO] = "tso",
        [RTAP_OFFLOAD_GSO] = "gso",
        [RTAP_OFFLOAD_RX_CHECKSUM] = "rx_checksum",
        [RTAP_OFFLOAD_TX_CHECKSUM] = "tx_checksum",
        [RTAP_OFFLOAD_RX_VLAN] = "rx_vlan",
        [RTAP_OFFLOAD_TX_VLAN] = "tx_vlan",
    };

    lua_createtable(L, 0, RTAP_OFFLOAD_COUNT);
    for (unsigned i = 0; i < RTAP_OFFLOAD_COUNT; i++)
        set_known(L, names[i], d->offload[i]);
    lua_setfield(L, -2, "offloads");
}

static void set_timestamping(lua_State *L, const struct rtap_netif_detail *d)
{
    if (!d->has_timestamping)
        return;
    lua_createtable(L, 0, 5);
    set_boolean(L, "hardware_receive", d->so_timestamping & SOF_TIMESTAMPING_RX_HARDWARE);
    set_boolean(L, "hardware_send", d->so_timestamping & SOF_TIMESTAMPING_TX_HARDWARE);
    set_boolean(L, "software_receive", d->so_timestamping & SOF_TIMESTAMPING_RX_SOFTWARE);
    set_boolean(L, "all_packets", d->rx_filters & (1u << HWTSTAMP_FILTER_ALL));
    if (d->phc_index >= 0)
        rtap_lua_set_integer(L, "clock", d->phc_index);
    lua_setfield(L, -2, "timestamping");
}

/* A pair of numbers, now and at most, for both directions. */
static void set_pairs(lua_State *L, const char *name, lua_Integer rx, lua_Integer tx, lua_Integer rx_max,
                      lua_Integer tx_max)
{
    lua_createtable(L, 0, 4);
    rtap_lua_set_integer(L, "rx", rx);
    rtap_lua_set_integer(L, "tx", tx);
    rtap_lua_set_integer(L, "rx_max", rx_max);
    rtap_lua_set_integer(L, "tx_max", tx_max);
    lua_setfield(L, -2, name);
}

struct query {
    int ifindex;
    struct rtap_xdp_attached list[3];
};

static int query_there(void *arg)
{
    struct query *q = arg;

    return rtap_xdp_query(q->ifindex, q->list);
}

/* What its driver can do with XDP, and the programs that are attached; what can't be known is absent. */
static void set_xdp(lua_State *L, const char *netns, int ifindex)
{
    struct query q = {.ifindex = ifindex};
    struct rtap_netdev_xdp x;
    char err[256];
    int n = 0;

    lua_createtable(L, 0, 4);
    if (rtap_netdev_xdp(netns, ifindex, &x) == 0) {
        set_boolean(L, "native", x.native);
        set_boolean(L, "zerocopy", x.zerocopy);
        set_boolean(L, "fragments", x.fragments);
    }
    if (rtap_netns_run(netns, query_there, &q, &n, err, sizeof(err)) == 0 && n >= 0) {
        lua_createtable(L, n, 0);
        for (int i = 0; i < n; i++) {
            lua_createtable(L, 0, 3);
            rtap_lua_set_integer(L, "id", q.list[i].id);
            set_text(L, "name", q.list[i].name);
            set_text(L, "mode", q.list[i].mode == RTAP_XDP_NATIVE ? "native" : "generic");
            lua_rawseti(L, -2, i + 1);
        }
        lua_setfield(L, -2, "programs");
    }
    lua_setfield(L, -2, "xdp");
}

/* interface(name [, netns]): a table; or nil, message, errno */
static int interface(lua_State *L)
{
    const char *name = rtap_lua_check_name(L, 1), *netns = lua_isnoneornil(L, 2) ? NULL : rtap_lua_check_name(L, 2);
    struct rtap_netif *list;
    struct rtap_netif_detail d;
    char err[512];
    int n = get_list(L, netns, &list, err, sizeof(err)), i, r;

    if (n < 0)
        return rtap_lua_fail(L, n, err);
    for (i = 0; i < n && strcmp(list[i].name, name) != 0; i++)
        ;
    if (i == n)
        return rtap_lua_fail(L, ENODEV, lua_pushfstring(L, "%s: %s", name, strerror(ENODEV)));
    r = rtap_netif_detail(netns, name, &d, err, sizeof(err));
    if (r < 0)
        return rtap_lua_fail(L, r, err);
    push_interface(L, &list[i]);
    set_text(L, "driver", d.driver);
    set_text(L, "bus", d.bus);
    set_known(L, "link", d.link);
    set_offloads(L, &d);
    set_timestamping(L, &d);
    set_xdp(L, netns, list[i].index);
    if (d.has_channels)
        set_pairs(L, "channels", d.rx_channels, d.tx_channels, d.rx_channels_max, d.tx_channels_max);
    if (d.has_rings)
        set_pairs(L, "descriptors", d.rx_ring, d.tx_ring, d.rx_ring_max, d.tx_ring_max);
    return 1;
}

void rtap_lua_open_netif(lua_State *L, struct rtap_lua *S)
{
    static const luaL_Reg functions[] = {{"interfaces", interfaces}, {"interface", interface}, {NULL, NULL}};

    lua_pushlightuserdata(L, S);
    luaL_setfuncs(L, functions, 1);
    rtap_lua_open_process(L, S);
}
