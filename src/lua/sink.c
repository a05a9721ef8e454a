/*
 * The sink type: the verbs that every sink has. User value 1 of a file sink is the source whose counters it closes
 * with, 2 the Lua file that it writes to.
 */
#include "sink.h"

#include "engine.h"
#include "writable.h"

#include "../packet/gso.h"
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

/* Is its checksum to be worked out before it is sent? A capture file does not keep that the sender left it to the
 * hardware, but the sum of the pseudo header alone, as the kernel leaves it, tells. */
static bool is_unfinished(const struct rtap_pkt *pkt, bool writable)
{
    if (pkt->status & (RTAP_PKT_VNET | RTAP_PKT_GSO))
        return false;
    return pkt->status & RTAP_PKT_CSUM_NOT_READY || (!writable && rtap_checksum_is_partial(pkt));
}

/* Whoever is about to send: may it? */
static void get_ready(lua_State *L, struct rtap_lua *S, const struct rtap_lua_sink *u)
{
    S->L = L;     /* for functions that a sink which prints runs */
    if (!u->sink) /* what ran before may have closed it */
        luaL_error(L, "attempt to use a closed sink");
    if (u->loops)
        luaL_error(L, "a loop over this sender's frames is running: what is sent meanwhile would take their place");
}

int rtap_lua_sink_put(lua_State *L, struct rtap_lua *S, struct rtap_lua_sink *u, int idx, bool as_it_is)
{
    const struct rtap_pkt *pkt = rtap_lua_check_pkt(L, S, idx);
    struct rtap_layout lo;
    bool writable;
    uint8_t *data;
    int r;

    get_ready(L, S, u);
    if (!u->sink->live)
        return rtap_sink_send(u->sink, pkt);
    writable = rtap_lua_is_writable(L, S, idx);
    if (pkt->status & RTAP_PKT_GSO && pkt->status & RTAP_PKT_CSUM_NOT_READY && writable)
        /* a template: it may have been changed */
        rtap_super_prepare(pkt, (uint8_t *)pkt->data);
    if (!rtap_sink_takes(u->sink, pkt->linktype) || pkt->caplen < pkt->len || !is_unfinished(pkt, writable || as_it_is))
        return rtap_sink_send(u->sink, pkt);
    rtap_lua_engine(L, S); /* may run Lua */
    rtap_layout_find(rtap_lua_layers(L, S, idx), &lo);
    pkt = rtap_lua_check_pkt(L, S, idx);
    if (!u->sink)
        luaL_error(L, "attempt to use a closed sink");
    r = u->sink->ops->reserve(u->sink, pkt->caplen, &data);
    if (r < 0)
        return r;
    memcpy(data, pkt->data, pkt->caplen);
    rtap_layout_complete(&lo, data);
    return u->sink->ops->commit(u->sink, pkt);
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

static int64_t time_of_day(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_REALTIME, &ts);
    return ts.tv_sec * 1000000000ll + ts.tv_nsec;
}

/* The string at 2 as a packet, of the time at 3 or of now: it lasts as long as the string. */
static void packet_of_string(lua_State *L, const struct rtap_lua_sink *u, struct rtap_pkt *p)
{
    size_t n;

    memset(p, 0, sizeof(*p));
    p->data = (const uint8_t *)lua_tolstring(L, 2, &n);
    luaL_argcheck(L, n <= 1 << 28, 2, "string too long for a packet");
    p->caplen = p->len = (uint32_t)n;
    p->linktype = u->linktype;
    p->time = lua_isnoneornil(L, 3) ? time_of_day() : luaL_checkinteger(L, 3);
}

/* A builder becomes the packet that it makes. Raises when the table is none. */
static void to_packet(lua_State *L, struct rtap_lua *S)
{
    struct rtap_lua_template *t = rtap_lua_to_template(L, S, 2, 0);

    if (t->t.pkt.time == RTAP_NO_TIME)
        t->t.pkt.time = time_of_day();
    lua_replace(L, 2);
}

/* sink:send(packet | string | builder [, time]): true, or nil, message, errno */
static int sink_send(lua_State *L)
{
    struct rtap_lua *S = RTAP_STATE(L);
    struct rtap_lua_sink *u = self(L);
    bool text = lua_type(L, 2) == LUA_TSTRING;
    struct rtap_pkt p;
    uint64_t refusals;
    int r;

    lua_settop(L, 3);
    if (text)
        packet_of_string(L, u, &p);
    else if (lua_istable(L, 2))
        to_packet(L, S);
    do {
        if (S->engine_loaded) /* a sink that prints fields; the tables' loading may run Lua */
            rtap_lua_know_link(L, S, text ? p.linktype : rtap_lua_check_pkt(L, S, 2)->linktype);
        u = self(L);
        refusals = u->sink->refusals;
        get_ready(L, S, u);
        r = text ? rtap_sink_send(u->sink, &p) : rtap_lua_sink_put(L, S, u, 2, false);
        rtap_lua_raise_pending(L, S);
        if (r == -EINTR) {
            rtap_lua_interrupt(L);
            self(L);
        }
    } while (r == -EINTR);
    if (r == 0 && u->sink->live) {
        bool alone = !u->queued;

        r = u->sink->ops->kick(u->sink);
        u->queued = r == -EAGAIN;
        if (u->queued) /* it goes out with what is sent next, or by flush() */
            r = 0;
        else if (r == 0 && alone && u->sink->refusals != refusals)
            r = -EMSGSIZE;
    }
    if (r == -EAGAIN) {
        luaL_pushfail(L);
        if (u->sink->live)
            lua_pushfstring(L, "full: %s", u->sink->error);
        else
            lua_pushliteral(L, "full");
        lua_pushinteger(L, -rtap_sink_errno(u->sink, r));
        return 3;
    }
    if (r < 0)
        return rtap_lua_fail(L, r, u->sink->error);
    lua_pushboolean(L, 1);
    return 1;
}

/* sink:flush([timeout]): true, or nil, message, errno */
static int sink_flush(lua_State *L)
{
    struct rtap_lua_sink *u = self(L);
    lua_Number seconds = luaL_optnumber(L, 2, 1);
    int r;

    luaL_argcheck(L, seconds >= 0, 2, "a timeout in seconds, not negative");
    if (u->sink->live)
        r = rtap_lua_sink_push_out(L, u, seconds < 9e9 ? (int64_t)(seconds * 1e9) : INT64_MAX);
    else
        r = rtap_lua_sink_kick(L, u);
    if (r < 0)
        return rtap_lua_fail(L, rtap_sink_errno(self(L)->sink, r), self(L)->sink->error);
    lua_pushboolean(L, 1);
    return 1;
}

void rtap_lua_set_causes(lua_State *L, const char *name, const uint64_t *before, const uint64_t *after)
{
    lua_newtable(L);
    for (unsigned i = 1; i < RTAP_CAUSES; i++)
        if (after[i] != before[i])
            rtap_lua_set_integer(L, rtap_cause_names[i], after[i] - before[i]);
    lua_setfield(L, -2, name);
}

static int sink_stats(lua_State *L)
{
    static const uint64_t none[RTAP_CAUSES] = {0};
    struct rtap_sink *k = self(L)->sink;
    struct rtap_sink_stats st = {0};
    uint64_t refused = 0;

    k->ops->stats(k, &st);
    lua_createtable(L, 0, 16);
    rtap_lua_set_integer(L, "sent", st.sent);
    rtap_lua_set_integer(L, "bytes", st.bytes);
    rtap_lua_set_integer(L, "queued", st.queued);
    if (st.files)
        rtap_lua_set_integer(L, "files", st.files);
    if (!st.method)
        return 1;
    for (unsigned i = 1; i < RTAP_CAUSES; i++)
        refused += st.refused[i];
    rtap_lua_set_integer(L, "refused", refused);
    rtap_lua_set_causes(L, "causes", none, st.refused);
    rtap_lua_set_causes(L, "waits", none, st.waits);
    rtap_lua_set_integer(L, "calls", st.calls);
    rtap_lua_set_integer(L, "frame_count", st.frame_count);
    rtap_lua_set_integer(L, "frame_size", st.frame_size);
    rtap_lua_set_integer(L, "limit", st.limit);
    rtap_lua_set_integer(L, "super_frames", st.super_frames);
    rtap_lua_set_text(L, "method", st.method);
    rtap_lua_set_text(L, "reason", st.reason);
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

    rtap_lua_end_frames(u);
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
    while (u->sink && !u->sink->live && u->sink->ops->kick(u->sink) == -EINTR)
        rtap_lua_interrupt(L);
    return finish(L);
}

/* By the collector no hook is run: it is tried until it is done. */
static int sink_gc(lua_State *L)
{
    struct rtap_lua_sink *u = rtap_lua_check(L, 1, RTAP_STATE(L)->mt_sink, "sink");

    while (u->sink && !u->sink->live && u->sink->ops->kick(u->sink) == -EINTR)
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
    lua_pushlightuserdata(L, S);
    luaL_setfuncs(L, rtap_lua_live_methods, 1);
    lua_setfield(L, -3, "_sink_names");
    lua_pop(L, 1);
}
