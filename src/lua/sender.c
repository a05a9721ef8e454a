/*
 * ringtap.sender and what only senders have: draining, descriptors, and the verbs that are written in Lua over the send
 * loop (lua/ringtap/send/).
 */
#include "../io/sender.h"

#include "writable.h"
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#define SLICE 100000000 /* ns: a wait is cut, so that a signal that came just before it is not waited out */

struct sender_options {
    struct rtap_sender_config c;
    int backend;
    bool vnet_hdr;
};

#define C(field) offsetof(struct sender_options, c.field)

static const char *const backend_names[] = {"packet", "xdp", NULL};
static const char *const method_names[] = {"auto", "mmsg", "ring", "gso", NULL};

static const struct rtap_option sender_options[] = {
    {"backend", RTAP_OPT_ENUM, offsetof(struct sender_options, backend), 0, 0, backend_names},
    {"method", RTAP_OPT_ENUM, C(method), 0, 0, method_names},
    {"frame_count", RTAP_OPT_INT, C(frame_count), 1, 1 << 20, NULL},
    {"frame_size", RTAP_OPT_INT, C(frame_size), 14, 1 << 18, NULL},
    {"qdisc_bypass", RTAP_OPT_BOOL, C(qdisc_bypass), 0, 0, NULL},
    {"vnet_hdr", RTAP_OPT_BOOL, offsetof(struct sender_options, vnet_hdr), 0, 0, NULL},
    {"netns", RTAP_OPT_STRING, C(netns), 0, 0, NULL},
    {NULL, 0, 0, 0, 0, NULL},
};

/* ringtap.sender(ifname [, options]): sink, or nil, message, errno */
static int sender(lua_State *L)
{
    struct rtap_lua *S = RTAP_STATE(L);
    struct sender_options o = {.c = {.vnet_hdr = -1}};
    struct rtap_lua_sink *u;
    char err[512];
    int r;

    o.c.ifname = rtap_lua_check_name(L, 1);
    if (rtap_lua_is_backend(L, 2, "xdp"))
        return rtap_lua_sender_xdp(L, S);
    lua_settop(L, 2);
    rtap_lua_options(L, 2, "sender", sender_options, &o);
    if (rtap_lua_has_option(L, 2, "vnet_hdr"))
        o.c.vnet_hdr = o.vnet_hdr;
    if (o.c.vnet_hdr == 1 && o.c.method == RTAP_SEND_RING)
        return luaL_error(L, "sender: option 'vnet_hdr' is not for method \"ring\"");
    if (o.c.vnet_hdr == 0 && o.c.method == RTAP_SEND_GSO)
        return luaL_error(L, "sender: method \"gso\" needs vnet_hdr");
    if (o.c.frame_size && o.c.frame_count && o.c.frame_size * o.c.frame_count > 1ll << 32)
        return luaL_error(L, "sender: %I frames of %I bytes are more than 4 GiB", (lua_Integer)o.c.frame_count,
                          (lua_Integer)o.c.frame_size);
    u = rtap_lua_sink_new(L, S);
    r = rtap_sender_open(&u->sink, &o.c, err, sizeof(err));
    if (r < 0)
        return rtap_lua_fail(L, r, err);
    u->linktype = u->sink->linktype;
    return 1;
}

/* ------------------------------------------------------------------ waiting */

static void wait_for_room(lua_State *L, struct rtap_lua_sink *u, int64_t time)
{
    struct rtap_sink *k = u->sink;
    int r = k->ops->wait(k, time < SLICE ? time : SLICE);

    if (r == -EINTR || lua_gethook(L))
        rtap_lua_interrupt(L);
    if (u->sink != k)
        luaL_error(L, "attempt to use a closed sink");
}

int rtap_lua_sink_push_out(lua_State *L, struct rtap_lua_sink *u, int64_t patience)
{
    int64_t now = rtap_pace_now(), until = patience > INT64_MAX - now ? INT64_MAX : now + patience;
    int r;

    while ((r = u->sink->ops->kick(u->sink)) == -EAGAIN) {
        now = rtap_pace_now();
        if (now >= until)
            break;
        wait_for_room(L, u, until - now);
    }
    u->queued = r == -EAGAIN;
    return r;
}

static struct rtap_lua_sink *check_live(lua_State *L, const char *what)
{
    struct rtap_lua_sink *u = rtap_lua_check_sink(L, RTAP_STATE(L), 1);

    if (!u->sink->live)
        luaL_error(L, "%s: only a sender does that", what);
    return u;
}

/* sink:drain([timeout]): true when the kernel has sent all; or nil, message, errno */
static int sink_drain(lua_State *L)
{
    struct rtap_lua_sink *u = check_live(L, "drain");
    lua_Number seconds = luaL_optnumber(L, 2, 1);
    int64_t until, patience;
    uint64_t left;
    int r;

    luaL_argcheck(L, seconds >= 0, 2, "a timeout in seconds, not negative");
    patience = seconds < 9e9 ? (int64_t)(seconds * 1e9) : INT64_MAX / 2;
    until = rtap_pace_now() + patience;
    r = rtap_lua_sink_push_out(L, u, patience);
    if (r < 0)
        return rtap_lua_fail(L, rtap_sink_errno(u->sink, r), u->sink->error);
    while ((left = u->sink->ops->pending(u->sink)) > 0) {
        struct rtap_pacer p = {.spin = 0};
        int64_t now = rtap_pace_now();

        if (now >= until) {
            lua_pushfstring(L, "%s: the device has not sent all in time", u->sink->name);
            return rtap_lua_fail(L, ETIMEDOUT, lua_tostring(L, -1));
        }
        if (rtap_pace_until(&p, now + 200000 < until ? now + 200000 : until, -1) == -EINTR || lua_gethook(L))
            rtap_lua_interrupt(L);
        if (!u->sink)
            return luaL_error(L, "attempt to use a closed sink");
    }
    lua_pushboolean(L, 1);
    return 1;
}

/* sink:fd(): of its socket, which is writable when frames can be passed on; nil: none */
static int sink_fd(lua_State *L)
{
    struct rtap_sink *k = rtap_lua_check_sink(L, RTAP_STATE(L), 1)->sink;

    if (k->ops->fd)
        lua_pushinteger(L, k->ops->fd(k));
    else
        luaL_pushfail(L);
    return 1;
}

static int sink_linktype(lua_State *L)
{
    lua_pushinteger(L, rtap_lua_check_sink(L, RTAP_STATE(L), 1)->linktype);
    return 1;
}

static int sink_blast(lua_State *L)
{
    check_live(L, "blast");
    return rtap_lua_in_lua(L, "ringtap.send.blast", "blast");
}

static int sink_replay(lua_State *L)
{
    rtap_lua_check_sink(L, RTAP_STATE(L), 1);
    return rtap_lua_in_lua(L, "ringtap.send.replay", "replay");
}

const luaL_Reg rtap_lua_live_methods[] = {
    {"drain", sink_drain},
    {"fd", sink_fd},
    {"frames", rtap_lua_sink_frames},
    {"forward", rtap_lua_sink_forward},
    {"mode", rtap_lua_sink_mode},
    {"zerocopy", rtap_lua_sink_zerocopy},
    {"queues", rtap_lua_sink_queues},
    {"linktype", sink_linktype},
    {"blast", sink_blast},
    {"replay", sink_replay},
    {NULL, NULL},
};

/* _now(): ns of CLOCK_MONOTONIC, and since 1970 */
static int now(lua_State *L)
{
    struct timespec ts;

    clock_gettime(CLOCK_REALTIME, &ts);
    lua_pushinteger(L, rtap_pace_now());
    lua_pushinteger(L, ts.tv_sec * 1000000000ll + ts.tv_nsec);
    return 2;
}

void rtap_lua_open_sender(lua_State *L, struct rtap_lua *S)
{
    static const luaL_Reg functions[] = {{"sender", sender}, {"_now", now}, {NULL, NULL}};

    lua_pushlightuserdata(L, S);
    luaL_setfuncs(L, functions, 1);
    rtap_lua_open_blast(L, S);
    rtap_lua_open_replay(L, S);
    rtap_lua_open_xdp(L, S);
}
