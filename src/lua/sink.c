/*
 * The sink type: the verbs that every sink has. User value 1 of a file sink is the source whose counters it closes
 * with, 2 the Lua file that it writes to.
 */
#include "sink.h"

#include "engine.h"
#include <errno.h>
#include <string.h>
#include <time.h>

struct rtap_lua_sink *rtap_lua_sink_new(lua_State *L, struct rtap_lua *S)
{
    struct rtap_lua_sink *u = lua_newuserdatauv(L, sizeof(*u), 2);

    memset(u, 0, sizeof(*u));
    rtap_lua_set_type(L, S->mt_sink);
    return u;
}

struct rtap_lua_sink *rtap_lua_check_sink(lua_State *L, struct rtap_lua *S, int idx)
{
    struct rtap_lua_sink *u = rtap_lua_check(L, idx, S->mt_sink, "sink");

    if (!u->sink)
        luaL_error(L, "attempt to use a closed sink");
    if (u->sink->busy)
        luaL_error(L, "the sink is at work: what it calls can't use it");
    return u;
}

static struct rtap_lua_sink *self(lua_State *L)
{
    return rtap_lua_check_sink(L, RTAP_STATE(L), 1);
}

/* -EINTR from a sink: a signal ended a wait for a pipe. Nothing is lost, so the hook runs and it is tried again. The
 * hook may raise, and may have closed anything. */
int rtap_lua_sink_kick(lua_State *L, struct rtap_lua_sink *u)
{
    while (u->sink) {
        int r = u->sink->ops->kick(u->sink);

        if (r != -EINTR)
            return r;
        rtap_lua_interrupt(L);
    }
    return luaL_error(L, "attempt to use a closed sink");
}

/* A string as a packet: now, unless a time is given. */
static void packet_of_string(lua_State *L, const struct rtap_lua_sink *u, struct rtap_pkt *p)
{
    struct timespec ts;
    size_t n;

    memset(p, 0, sizeof(*p));
    p->data = (const uint8_t *)lua_tolstring(L, 2, &n);
    luaL_argcheck(L, n <= 1 << 28, 2, "string too long for a packet");
    p->caplen = p->len = (uint32_t)n;
    p->linktype = u->linktype;
    if (lua_isnoneornil(L, 3)) {
        clock_gettime(CLOCK_REALTIME, &ts);
        p->time = ts.tv_sec * 1000000000ll + ts.tv_nsec;
    } else {
        p->time = luaL_checkinteger(L, 3);
    }
}

/* sink:send(packet | string [, time]): true, or nil, message, errno */
static int sink_send(lua_State *L)
{
    struct rtap_lua_sink *u = self(L);
    struct rtap_pkt made;
    bool is_string = lua_type(L, 2) == LUA_TSTRING;
    int r;

    if (is_string)
        packet_of_string(L, u, &made);
    for (;;) {
        if (RTAP_STATE(L)->engine_loaded) /* a sink that prints fields; the tables' loading may run Lua */
            rtap_lua_know_link(L, RTAP_STATE(L),
                               is_string ? made.linktype : rtap_lua_check_pkt(L, RTAP_STATE(L), 2)->linktype);
        RTAP_STATE(L)->L = L;
        u = self(L);
        r = rtap_sink_send(u->sink, is_string ? &made : rtap_lua_check_pkt(L, RTAP_STATE(L), 2));
        rtap_lua_raise_pending(L, RTAP_STATE(L));
        if (r != -EINTR)
            break;
        rtap_lua_interrupt(L);
        self(L);
    }
    if (r == -EAGAIN) {
        luaL_pushfail(L);
        lua_pushliteral(L, "full");
        return 2;
    }
    if (r < 0)
        return rtap_lua_fail(L, r, u->sink->error);
    lua_pushboolean(L, 1);
    return 1;
}

/* sink:flush() */
static int sink_flush(lua_State *L)
{
    struct rtap_lua_sink *u = self(L);
    int r = rtap_lua_sink_kick(L, u);

    if (r < 0)
        return rtap_lua_fail(L, r, u->sink->error);
    lua_pushboolean(L, 1);
    return 1;
}

static int sink_stats(lua_State *L)
{
    struct rtap_sink *k = self(L)->sink;
    struct rtap_sink_stats st = {0};

    k->ops->stats(k, &st);
    lua_createtable(L, 0, 4);
    lua_pushinteger(L, (lua_Integer)st.sent);
    lua_setfield(L, -2, "sent");
    lua_pushinteger(L, (lua_Integer)st.bytes);
    lua_setfield(L, -2, "bytes");
    lua_pushinteger(L, (lua_Integer)st.queued);
    lua_setfield(L, -2, "queued");
    if (st.files) {
        lua_pushinteger(L, (lua_Integer)st.files);
        lua_setfield(L, -2, "files");
    }
    return 1;
}

static int sink_name(lua_State *L)
{
    lua_pushstring(L, self(L)->sink->name);
    return 1;
}

static int sink_kind(lua_State *L)
{
    lua_pushstring(L, self(L)->sink->ops->kind);
    return 1;
}

static int finish(lua_State *L)
{
    struct rtap_lua *S = RTAP_STATE(L);
    struct rtap_lua_sink *u = rtap_lua_check(L, 1, S->mt_sink, "sink");
    struct rtap_sink *k = u->sink;
    char err[512] = "";
    int r;

    u->sink = NULL;
    if (k) {
        lua_getiuservalue(L, 1, 1);
        if (rtap_lua_test(L, -1, S->mt_source))
            rtap_lua_write_counters(k, lua_touserdata(L, -1));
        r = k->ops->close(k, err, sizeof(err));
        if (r < 0)
            return rtap_lua_fail(L, r, err);
    }
    lua_pushboolean(L, 1);
    return 1;
}

/* sink:close(): true, or nil, message, errno when what was left could not be passed on; the sink is closed all the same
 */
static int sink_close(lua_State *L)
{
    struct rtap_lua_sink *u = rtap_lua_check(L, 1, RTAP_STATE(L)->mt_sink, "sink");

    if (u->sink && u->sink->busy)
        return luaL_error(L, "the sink is at work: what it calls can't close it");
    /* Ctrl-C while a slow pipe takes what is left: the hook may raise, then no packet is lost and the sink stays open.
     * (Only the counters at a file's end, written after this, can be lost to it.) */
    while (u->sink && u->sink->ops->kick(u->sink) == -EINTR)
        rtap_lua_interrupt(L);
    return finish(L);
}

/* By the collector no hook is run: it is tried until it is done. */
static int sink_gc(lua_State *L)
{
    struct rtap_lua_sink *u = rtap_lua_check(L, 1, RTAP_STATE(L)->mt_sink, "sink");

    while (u->sink && u->sink->ops->kick(u->sink) == -EINTR)
        ;
    finish(L);
    return 0;
}

static int sink_tostring(lua_State *L)
{
    struct rtap_lua_sink *u = rtap_lua_check(L, 1, RTAP_STATE(L)->mt_sink, "sink");

    if (u->sink)
        lua_pushfstring(L, "ringtap sink: %s (%s)", u->sink->name, u->sink->ops->kind);
    else
        lua_pushliteral(L, "ringtap sink (closed)");
    return 1;
}

static const luaL_Reg methods[] = {
    {"send", sink_send}, {"flush", sink_flush}, {"stats", sink_stats}, {"name", sink_name},
    {"kind", sink_kind}, {"close", sink_close}, {NULL, NULL},
};

static const luaL_Reg metamethods[] = {
    {"__gc", sink_gc},
    {"__close", sink_close},
    {"__tostring", sink_tostring},
    {NULL, NULL},
};

void rtap_lua_open_sink(lua_State *L, struct rtap_lua *S)
{
    S->mt_sink = rtap_lua_type(L, S, "ringtap.sink", metamethods, methods);
    lua_getfield(L, -1, "__index");
    lua_setfield(L, -3, "_sink_names");
    lua_pop(L, 1);
}
