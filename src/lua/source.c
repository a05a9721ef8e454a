/*
 * The source type: the verbs that every source has. User value 1 of a source is its Lua predicate, if it has one, 2 the
 * Lua file that it reads.
 */
#include "../io/pace.h"
#include "engine.h"
#include "loop.h"
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>

static const struct rtap_option bytes_options[] = {
    {"count", RTAP_OPT_INT, offsetof(struct rtap_loop_options, count), 0, INT64_MAX, NULL},
    {"duration", RTAP_OPT_SECONDS, offsetof(struct rtap_loop_options, duration), 0, INT64_MAX, NULL},
    {"idle", RTAP_OPT_SECONDS, offsetof(struct rtap_loop_options, idle), 0, INT64_MAX, NULL},
    {"from", RTAP_OPT_STRING, offsetof(struct rtap_loop_options, from), 0, 0, NULL},
    {NULL, 0, 0, 0, 0, NULL},
};

struct rtap_lua_source *rtap_lua_source_new(lua_State *L, struct rtap_lua *S)
{
    struct rtap_lua_source *u = lua_newuserdatauv(L, sizeof(*u), 2);

    memset(u, 0, sizeof(*u));
    rtap_lua_set_type(L, S->mt_source);
    return u;
}

struct rtap_lua_source *rtap_lua_check_source(lua_State *L, struct rtap_lua *S, int idx)
{
    struct rtap_lua_source *u = rtap_lua_check(L, idx, S->mt_source, "source");

    if (!u->source)
        luaL_error(L, "attempt to use a closed source");
    return u;
}

static struct rtap_source *self(lua_State *L)
{
    return rtap_lua_check_source(L, RTAP_STATE(L), 1)->source;
}

static struct rtap_loop_options loop_options(lua_State *L, int idx, const char *what, const struct rtap_option *options)
{
    struct rtap_loop_options o = {.count = INT64_MAX, .duration = INT64_MAX, .idle = INT64_MAX};

    rtap_lua_options(L, idx, what, options, &o);
    return o;
}

/* ------------------------------------------------------------------ loops */

static int step_packets(lua_State *L)
{
    struct rtap_lua_loop *lp = lua_touserdata(L, lua_upvalueindex(2));

    if (rtap_lua_loop_step(L, lp, lua_upvalueindex(2)))
        rtap_lua_push_handle(L, lp);
    else
        lua_pushnil(L);
    return 1;
}

static int push_loop(lua_State *L, struct rtap_lua *S, lua_CFunction step, const struct rtap_loop_options *o)
{
    rtap_lua_loop_new(L, S, 1, o);
    return rtap_lua_for(L, S, step, lua_gettop(L), 0);
}

/* src:packets([options]) */
static int source_packets(lua_State *L)
{
    struct rtap_loop_options o;

    self(L);
    o = loop_options(L, 2, "packets", rtap_lua_loop_options);
    lua_settop(L, 1);
    return push_loop(L, RTAP_STATE(L), step_packets, &o);
}

/* upvalue 3: the protocol that is wanted first, or nil */
static int step_bytes(lua_State *L)
{
    struct rtap_lua *S = RTAP_STATE(L);
    struct rtap_lua_loop *lp = lua_touserdata(L, lua_upvalueindex(2));
    const char *from = lua_tostring(L, lua_upvalueindex(3));
    const struct rtap_pkt *p;
    uint32_t at = 0;
    int64_t time;
    uint32_t len;

    for (;;) {
        if (!rtap_lua_loop_step(L, lp, lua_upvalueindex(2))) {
            lua_pushnil(L);
            return 1;
        }
        p = &lp->slot->pkt;
        if (!from || rtap_layer_offset(S->engine, p, from, &at))
            break;
        if (!lp->reason && lp->left < INT64_MAX)
            lp->left++; /* count is of strings */
        rtap_lua_loop_breathe(L, lp);
    }
    time = p->time;
    len = p->len;
    lua_pushlstring(L, (const char *)p->data + at, p->caplen - at); /* after this p may be gone */
    if (time == RTAP_NO_TIME)
        lua_pushnil(L);
    else
        lua_pushinteger(L, time);
    lua_pushinteger(L, len);
    return 3;
}

/* src:bytes([options]): string, time, length on the wire */
static int source_bytes(lua_State *L)
{
    struct rtap_lua *S = RTAP_STATE(L);
    struct rtap_loop_options o;

    self(L);
    o = loop_options(L, 2, "bytes", bytes_options);
    if (o.from && !rtap_engine_find(rtap_lua_engine(L, S), o.from))
        return luaL_error(L, "bytes: option 'from': no layer is called \"%s\"", o.from);
    lua_pushstring(L, o.from); /* nil if there is none */
    lua_replace(L, 2);
    lua_settop(L, 2);
    self(L);
    rtap_lua_loop_new(L, S, 1, &o); /* 3 */
    return rtap_lua_for(L, S, step_bytes, 3, 2);
}

/* src:each(fn [, options]): the number of packets */
static int source_each(lua_State *L)
{
    struct rtap_lua_loop *lp;
    struct rtap_loop_options o;
    lua_Integer n = 0;

    self(L);
    luaL_checktype(L, 2, LUA_TFUNCTION);
    o = loop_options(L, 3, "each", rtap_lua_loop_options);
    lua_settop(L, 2);
    lp = rtap_lua_loop_new(L, RTAP_STATE(L), 1, &o); /* 3 */
    lua_toclose(L, 3);
    while (rtap_lua_loop_step(L, lp, 3)) {
        n++;
        lua_pushvalue(L, 2);
        rtap_lua_push_handle(L, lp);
        lua_call(L, 1, 0);
    }
    lua_pushinteger(L, n);
    return 1;
}

/* src:next([timeout [, into]]): an owned packet, or nil, reason [, errno] */
static int source_next(lua_State *L)
{
    struct rtap_lua *S = RTAP_STATE(L);
    struct rtap_loop_options o = {.count = 1, .duration = INT64_MAX, .idle = INT64_MAX};
    struct rtap_lua_loop *lp;

    self(L);
    if (!lua_isnoneornil(L, 2)) {
        lua_Number seconds = luaL_checknumber(L, 2);

        luaL_argcheck(L, seconds >= 0, 2, "a timeout in seconds, not negative");
        if (seconds < 9e9)
            o.duration = (int64_t)(seconds * 1e9);
    }
    if (!lua_isnoneornil(L, 3))
        rtap_lua_check(L, 3, S->mt_owned, "packet made by copy() or next()");
    lua_settop(L, 3);
    lp = rtap_lua_loop_new(L, S, 1, &o); /* 4 */
    lua_toclose(L, 4);
    lp->quiet = true;
    if (rtap_lua_loop_step(L, lp, 4)) {
        rtap_lua_push_handle(L, lp); /* 5 */
        rtap_lua_push_owned(L, S, 5, lua_isnil(L, 3) ? 0 : 3);
        return 1;
    }
    if (lp->failed)
        return rtap_lua_fail(L, lp->failed, self(L)->error);
    luaL_pushfail(L);
    if (strcmp(lp->reason, "duration") == 0) {
        lua_pushliteral(L, "timeout");
        lua_pushinteger(L, ETIMEDOUT);
        return 3;
    }
    lua_pushstring(L, lp->reason);
    return 2;
}

/* src:stop(): every running loop ends after the packet that it shows */
static int source_stop(lua_State *L)
{
    struct rtap_lua_source *u = rtap_lua_check_source(L, RTAP_STATE(L), 1);

    for (struct rtap_lua_loop *lp = u->loops; lp; lp = lp->next) {
        lp->left = 0;
        lp->reason = "stopped";
    }
    return 0;
}

static int loop_close(lua_State *L)
{
    rtap_lua_loop_end(rtap_lua_check(L, 1, RTAP_STATE(L)->mt_loop, "loop"), "left");
    return 0;
}

/* ------------------------------------------------------------------ filters */

int rtap_lua_source_set_filter(lua_State *L, struct rtap_lua *S, int source_idx, int idx)
{
    struct rtap_lua_source *u = lua_touserdata(L, source_idx);
    struct rtap_filter *f = NULL;
    bool predicate = lua_isfunction(L, idx);
    char err[sizeof(u->source->error)] = "";
    int r = 0;

    if (!predicate)
        r = rtap_lua_to_filter(L, S, idx, u->source->linktype, &f, err, sizeof(err));
    if (!u->source) { /* a metamethod or a finalizer closed it */
        rtap_filter_unref(f);
        luaL_error(L, "attempt to use a closed source");
    }
    if (r < 0)
        return rtap_source_fail(u->source, r, "%s", err);
    r = rtap_source_filter(u->source, f);
    rtap_filter_unref(f);
    if (r < 0)
        return r;
    if (predicate)
        lua_pushvalue(L, idx);
    else
        lua_pushnil(L);
    lua_setiuservalue(L, source_idx, 1);
    u->has_predicate = predicate;
    u->swaps++;
    for (struct rtap_lua_loop *lp = u->loops; lp; lp = lp->next)
        lp->predicate = predicate;
    return 0;
}

int rtap_lua_source_ready(lua_State *L, int at, int r)
{
    struct rtap_lua_source *u = lua_touserdata(L, at);

    if (r < 0) {
        rtap_lua_fail(L, r, u->source->error);
        rtap_source_close(u->source);
        u->source = NULL;
        return 3;
    }
    lua_settop(L, at);
    return 1;
}

int rtap_lua_source_opened(lua_State *L, struct rtap_lua *S, int at, int r, const char *err, int filter)
{
    if (r < 0)
        return rtap_lua_fail(L, r, err);
    return rtap_lua_source_ready(L, at, filter ? rtap_lua_source_set_filter(L, S, at, filter) : 0);
}

/* src:filter(expr | filter | function | nil): src, or nil, message, errno and the old one stays */
static int source_filter(lua_State *L)
{
    int r;

    self(L);
    luaL_checkany(L, 2);
    r = rtap_lua_source_set_filter(L, RTAP_STATE(L), 1, 2);
    if (r < 0)
        return rtap_lua_fail(L, r, self(L)->error);
    lua_settop(L, 1);
    return 1;
}

/* ------------------------------------------------------------------ facts */

/* src:stats() */
static int source_stats(lua_State *L)
{
    struct rtap_source_stats st;

    rtap_source_stats(self(L), &st); /* its texts are constants */
    if (!st.filter_engine && ((struct rtap_lua_source *)lua_touserdata(L, 1))->has_predicate)
        st.filter_engine = "user";
    lua_createtable(L, 0, 16);
    rtap_lua_set_integer(L, "delivered", st.delivered);
    rtap_lua_set_integer(L, "matched", st.delivered + st.dropped);
    if (st.knows_filtered) {
        rtap_lua_set_integer(L, "filtered", st.filtered);
        rtap_lua_set_integer(L, "seen", st.delivered + st.dropped + st.filtered);
    }
    if (st.knows_dropped) {
        rtap_lua_set_integer(L, "dropped", st.dropped);
        for (unsigned i = 0; st.drops[i].cause; i++)
            rtap_lua_set_integer(L, st.drops[i].cause, st.drops[i].count);
    }
    if (st.has_ring || st.has_queued)
        rtap_lua_set_integer(L, "queued", st.queued);
    if (st.has_ring) {
        rtap_lua_set_integer(L, "freezes", st.freezes);
        rtap_lua_set_integer(L, "block_size", st.block_size);
        rtap_lua_set_integer(L, "block_count", st.block_count);
        rtap_lua_set_integer(L, "ring_size", st.block_size * st.block_count);
    }
    if (st.fanout_id >= 0)
        rtap_lua_set_integer(L, "fanout_id", (uint64_t)st.fanout_id);
    if (st.has_size) {
        rtap_lua_set_integer(L, "position", st.position);
        rtap_lua_set_integer(L, "size", st.size);
    }
    rtap_lua_set_text(L, "timestamp_source", st.timestamp_source);
    rtap_lua_set_text(L, "filter_engine", st.filter_engine);
    return 1;
}

/* A reference to a source that goes with the userdata: what it points at stays while Lua runs. */
static void push_reference(lua_State *L, struct rtap_lua *S)
{
    struct rtap_source **ref = lua_newuserdatauv(L, sizeof(*ref), 0);

    *ref = NULL;
    rtap_lua_set_type(L, S->mt_reference);
    *ref = self(L);
    (*ref)->refs++;
}

static int reference_close(lua_State *L)
{
    struct rtap_source **ref = rtap_lua_check(L, 1, RTAP_STATE(L)->mt_reference, "reference");

    if (*ref)
        rtap_source_unref(*ref);
    *ref = NULL;
    return 0;
}

/* src:interfaces(): a list of {id, name, linktype, snaplen, ...} */
static int source_interfaces(lua_State *L)
{
    struct rtap_source *s;
    struct rtap_source_if i;

    lua_settop(L, 1);
    push_reference(L, RTAP_STATE(L));
    lua_toclose(L, 2);
    s = *(struct rtap_source **)lua_touserdata(L, 2);
    lua_newtable(L);
    for (unsigned n = 0; s->ops->interface && s->ops->interface(s, n, &i); n++) {
        lua_createtable(L, 0, 8);
        rtap_lua_set_integer(L, "id", i.id);
        rtap_lua_set_integer(L, "linktype", i.linktype);
        if (i.snaplen)
            rtap_lua_set_integer(L, "snaplen", i.snaplen);
        rtap_lua_set_text(L, "name", i.name);
        rtap_lua_set_text(L, "description", i.description);
        rtap_lua_set_text(L, "filter", i.filter);
        if (i.has_received)
            rtap_lua_set_integer(L, "received", i.received);
        if (i.has_dropped)
            rtap_lua_set_integer(L, "dropped", i.dropped);
        lua_rawseti(L, -2, (lua_Integer)n + 1);
    }
    return 1;
}

static int source_linktype(lua_State *L)
{
    lua_pushinteger(L, self(L)->linktype);
    return 1;
}

static int source_name(lua_State *L)
{
    lua_pushstring(L, self(L)->name);
    return 1;
}

static int source_kind(lua_State *L)
{
    lua_pushstring(L, self(L)->ops->kind);
    return 1;
}

/* ------------------------------------------------------------------ event loops */

static int source_fd(lua_State *L)
{
    struct rtap_source *s = self(L);
    int fd = s->ops->fd ? s->ops->fd(s) : -1;

    if (fd < 0)
        luaL_pushfail(L);
    else
        lua_pushinteger(L, fd);
    return 1;
}

static int source_events(lua_State *L)
{
    self(L);
    lua_pushliteral(L, "r");
    return 1;
}

/* 0 when a packet can be had without waiting, else nil */
static int source_timeout(lua_State *L)
{
    if (rtap_source_wait(self(L), 0) != 0)
        lua_pushinteger(L, 0);
    else
        luaL_pushfail(L);
    return 1;
}

/* src:drain(): no more from the wire; loops give what was accepted and end */
static int source_drain(lua_State *L)
{
    struct rtap_source *s = self(L);
    int r = s->ops->drain ? s->ops->drain(s) : 0;

    if (r < 0)
        return rtap_lua_fail(L, r, s->error);
    lua_settop(L, 1);
    return 1;
}

/* wait(list of sources [, timeout]): those that have a packet, or their end, at once: a list; or nil, "timeout", errno
 */
static int wait_sources(lua_State *L)
{
    struct rtap_lua *S = RTAP_STATE(L);
    lua_Number seconds = luaL_optnumber(L, 2, HUGE_VAL);
    int64_t until = INT64_MAX, now = rtap_pace_now();
    lua_Integer n, ready = 0;
    struct pollfd *fds;

    luaL_checktype(L, 1, LUA_TTABLE);
    luaL_argcheck(L, seconds >= 0, 2, "a timeout in seconds, not negative");
    if (seconds < 9e9)
        until = now + (int64_t)(seconds * 1e9);
    n = (lua_Integer)lua_rawlen(L, 1);
    luaL_argcheck(L, n >= 1 && n <= 1024, 1, "a list of 1 to 1024 sources");
    lua_settop(L, 2);
    fds = lua_newuserdatauv(L, (size_t)n * sizeof(*fds), 0); /* 3 */
    lua_newtable(L);                                         /* 4 */
    for (;;) {
        int64_t slice;
        struct timespec ts;

        for (lua_Integer i = 1; i <= n; i++) {
            struct rtap_source *s;

            lua_rawgeti(L, 1, i);
            s = rtap_lua_check_source(L, S, 5)->source;
            fds[i - 1] = (struct pollfd){.fd = s->ops->fd ? s->ops->fd(s) : -1, .events = POLLIN};
            if (rtap_source_wait(s, 0) != 0)
                lua_rawseti(L, 4, ++ready);
            else
                lua_pop(L, 1);
        }
        now = rtap_pace_now();
        if (ready || now >= until)
            break;
        slice = until - now < 200000000 ? until - now : 200000000;
        ts = (struct timespec){0, (long)slice};
        ppoll(fds, (nfds_t)n, &ts, NULL);
        rtap_lua_interrupt(L);
    }
    if (ready)
        return 1;
    luaL_pushfail(L);
    lua_pushliteral(L, "timeout");
    lua_pushinteger(L, ETIMEDOUT);
    return 3;
}

/* ------------------------------------------------------------------ end of life */

static int source_close(lua_State *L)
{
    struct rtap_lua_source *u = rtap_lua_check(L, 1, RTAP_STATE(L)->mt_source, "source");
    struct rtap_source *s = u->source;
    struct rtap_lua_loop *lp;

    if (s)
        rtap_lua_final_counters(u);
    u->source = NULL;
    u->has_predicate = false;
    while ((lp = u->loops)) {
        lp->source = NULL;
        lp->closed = true;
        rtap_lua_loop_end(lp, "closed");
    }
    if (s)
        rtap_source_close(s);
    return 0;
}

static int source_tostring(lua_State *L)
{
    struct rtap_lua_source *u = rtap_lua_check(L, 1, RTAP_STATE(L)->mt_source, "source");

    if (u->source)
        lua_pushfstring(L, "ringtap source: %s (%s)", u->source->name, u->source->ops->kind);
    else
        lua_pushliteral(L, "ringtap source (closed)");
    return 1;
}

static const luaL_Reg methods[] = {
    {"packets", source_packets},
    {"each", source_each},
    {"bytes", source_bytes},
    {"fields", rtap_lua_source_fields},
    {"next", source_next},
    {"filter", source_filter},
    {"stats", source_stats},
    {"stop", source_stop},
    {"drain", source_drain},
    {"fd", source_fd},
    {"pollfd", source_fd},
    {"events", source_events},
    {"timeout", source_timeout},
    {"linktype", source_linktype},
    {"name", source_name},
    {"kind", source_kind},
    {"interfaces", source_interfaces},
    {"mode", rtap_lua_source_mode},
    {"zerocopy", rtap_lua_source_zerocopy},
    {"queues", rtap_lua_source_queues},
    {"close", source_close},
    {NULL, NULL},
};

static const luaL_Reg metamethods[] = {
    {"__gc", source_close},
    {"__close", source_close},
    {"__tostring", source_tostring},
    {NULL, NULL},
};

static const luaL_Reg reference_metamethods[] = {{"__gc", reference_close}, {"__close", reference_close}, {NULL, NULL}};

static const luaL_Reg loop_metamethods[] = {
    {"__gc", loop_close},
    {"__close", loop_close},
    {NULL, NULL},
};

void rtap_lua_open_source(lua_State *L, struct rtap_lua *S)
{
    S->mt_source = rtap_lua_type(L, S, "ringtap.source", metamethods, methods);
    lua_getfield(L, -1, "__index");
    lua_setfield(L, -3, "_source_names");
    lua_pop(L, 1);
    S->mt_reference = rtap_lua_type(L, S, "ringtap.reference", reference_metamethods, NULL);
    lua_pop(L, 1);
    S->mt_loop = rtap_lua_type(L, S, "ringtap.loop", loop_metamethods, NULL);
    lua_pop(L, 1);
    lua_pushlightuserdata(L, S);
    lua_pushcclosure(L, wait_sources, 1);
    lua_setfield(L, -2, "wait");
}
