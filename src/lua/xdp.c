/*
 * AF_XDP for Lua: capture and sender with backend = "xdp", ringtap.port, and how one was opened (mode, zerocopy,
 * queues).
 */
#include "../io/xdp.h"

#include "../packet/gso.h"
#include "sink.h"
#include <errno.h>
#include <stddef.h>
#include <string.h>

#define MOST_FRAMES (1 << 20)

struct xdp_options {
    struct rtap_xdp_port_config c;
    int64_t snaplen;
    int backend, direction;
    int filter, queues, latency, copy, mode, fragments, metadata, pass, umem;
    int timestamp;
};

#define O(field) offsetof(struct xdp_options, field)

static const char *const backend_names[] = {"packet", "xdp", NULL};
static const char *const mode_names[] = {"auto", "native", "generic", NULL}; /* enum rtap_xdp_mode */
static const char *const direction_names[] = {"both", "in", NULL};
static const char *const timestamp_names[] = {"software", "hardware", NULL};

/* clang-format off */
#define COMMON \
    {"backend", RTAP_OPT_ENUM, O(backend), 0, 0, backend_names}, \
    {"netns", RTAP_OPT_STRING, O(c.netns), 0, 0, NULL}, \
    {"copy", RTAP_OPT_VALUE, O(copy), 0, 0, NULL}, \
    {"fragments", RTAP_OPT_VALUE, O(fragments), 0, 0, NULL}, \
    {"queues", RTAP_OPT_VALUE, O(queues), 0, 0, NULL}, \
    {"ring_size", RTAP_OPT_INT, O(c.ring_size), 1, 1 << 16, NULL}, \
    {"frame_size", RTAP_OPT_INT, O(c.frame_size), 1, 1 << 16, NULL}, \
    {"frame_count", RTAP_OPT_INT, O(c.frame_count), 1, MOST_FRAMES, NULL}, \
    {"headroom", RTAP_OPT_INT, O(c.headroom), 0, 1 << 16, NULL}, \
    {"unaligned", RTAP_OPT_BOOL, O(c.unaligned), 0, 0, NULL}, \
    {"huge_pages", RTAP_OPT_BOOL, O(c.huge_pages), 0, 0, NULL}, \
    {"busy_poll", RTAP_OPT_SECONDS, O(c.busy_poll), 0, 1000000000, NULL}

#define RECEIVING \
    {"mode", RTAP_OPT_ENUM, O(mode), 0, 0, mode_names}, \
    {"snaplen", RTAP_OPT_INT, O(snaplen), 0, INT32_MAX, NULL}, \
    {"latency", RTAP_OPT_VALUE, O(latency), 0, 0, NULL}, \
    {"metadata", RTAP_OPT_VALUE, O(metadata), 0, 0, NULL}, \
    {"replace", RTAP_OPT_BOOL, O(c.replace), 0, 0, NULL}, \
    {"program", RTAP_OPT_STRING, O(c.program), 0, 0, NULL}, \
    {"map", RTAP_OPT_STRING, O(c.map), 0, 0, NULL}, \
    {"pass", RTAP_OPT_STRING, O(c.pass), 0, 0, NULL}, \
    {"promisc", RTAP_OPT_BOOL, O(c.promisc), 0, 0, NULL}, \
    {"timestamp", RTAP_OPT_ENUM, O(timestamp), 0, 0, timestamp_names}, \
    {"direction", RTAP_OPT_ENUM, O(direction), 0, 0, direction_names}, \
    {"filter", RTAP_OPT_VALUE, O(filter), 0, 0, NULL}
/* clang-format on */

static const struct rtap_option capture_options[] = {COMMON, RECEIVING, {NULL, 0, 0, 0, 0, NULL}};
static const struct rtap_option sender_options[] = {
    COMMON, {"umem", RTAP_OPT_VALUE, O(umem), 0, 0, NULL}, {NULL, 0, 0, 0, 0, NULL}};
static const struct rtap_option port_options[] = {
    COMMON,
    RECEIVING,
    {"umem", RTAP_OPT_VALUE, O(umem), 0, 0, NULL},
    {"port_count", RTAP_OPT_INT, O(c.port_count), 1, 16, NULL},
    {NULL, 0, 0, 0, 0, NULL},
};

/* true, false, or "auto" and nothing: -1 */
static int tristate(lua_State *L, const char *what, const char *name, int idx)
{
    if (!idx || (lua_type(L, idx) == LUA_TSTRING && strcmp(lua_tostring(L, idx), "auto") == 0))
        return -1;
    if (!lua_isboolean(L, idx))
        luaL_error(L, "%s: option '%s' must be true, false or \"auto\", not %s", what, name, luaL_typename(L, idx));
    return lua_toboolean(L, idx);
}

static uint32_t queue_number(lua_State *L, const char *what, int idx)
{
    if (!lua_isinteger(L, idx) || lua_tointeger(L, idx) < 0 || lua_tointeger(L, idx) > 65535)
        luaL_error(L, "%s: option 'queues' must be \"all\", the number of a queue, or a list of them", what);
    return (uint32_t)lua_tointeger(L, idx);
}

static void read_queues(lua_State *L, const char *what, int idx, struct rtap_xdp_port_config *c)
{
    lua_Unsigned n;

    if (!idx || (lua_type(L, idx) == LUA_TSTRING && strcmp(lua_tostring(L, idx), "all") == 0))
        return;
    if (!lua_istable(L, idx)) {
        c->queues[c->queue_count++] = queue_number(L, what, idx);
        return;
    }
    n = lua_rawlen(L, idx);
    if (n == 0 || n > RTAP_XDP_MOST_QUEUES)
        luaL_error(L, "%s: option 'queues': a list of 1 to %d queues", what, RTAP_XDP_MOST_QUEUES);
    for (lua_Unsigned i = 1; i <= n; i++) {
        lua_rawgeti(L, idx, (lua_Integer)i);
        c->queues[c->queue_count] = queue_number(L, what, -1);
        for (unsigned k = 0; k < c->queue_count; k++)
            if (c->queues[k] == c->queues[c->queue_count])
                luaL_error(L, "%s: option 'queues': %d is there twice", what, (int)c->queues[k]);
        c->queue_count++;
        lua_pop(L, 1);
    }
}

/* A number of seconds, or a name as for AF_PACKET. */
static int64_t read_latency(lua_State *L, const char *what, int idx)
{
    lua_Number n;

    if (!idx)
        return -1;
    if (lua_type(L, idx) == LUA_TSTRING && strcmp(lua_tostring(L, idx), "normal") == 0)
        return -1;
    if (lua_type(L, idx) == LUA_TSTRING && strcmp(lua_tostring(L, idx), "low") == 0)
        return 0;
    n = lua_type(L, idx) == LUA_TNUMBER ? lua_tonumber(L, idx) : -1;
    if (!(n >= 0 && n <= 10))
        luaL_error(L, "%s: option 'latency' must be seconds (0 to 10), \"normal\" or \"low\"", what);
    return (int64_t)(n * 1e9);
}

static void power_of_two(lua_State *L, const char *what, const char *name, int64_t n)
{
    if (n & (n - 1))
        luaL_error(L, "%s: option '%s' = %I must be a power of two", what, name, (lua_Integer)n);
}

/* "arp,icmp6,ssh": names of what the host is to have, or any expression. */
static const char *pass_expression(lua_State *L, const char *what, const char *list)
{
    static const struct {
        const char *name, *expr;
    } known[] = {
        {"arp", "arp"},          {"icmp", "icmp"},        {"icmp6", "icmp6"},
        {"ssh", "tcp port 22"},  {"dns", "port 53"},      {"dhcp", "udp port 67 or udp port 68"},
        {"ntp", "udp port 123"}, {"bgp", "tcp port 179"}, {"lldp", "ether proto 0x88cc"},
    };
    luaL_Buffer b;
    const char *s = list;
    bool first = true;

    if (list[strspn(list, " ,")] == '\0')
        luaL_error(L, "%s: option 'pass' is empty", what);
    luaL_buffinit(L, &b);
    while (*s) {
        size_t n = strcspn(s, ",");
        const char *word = s + strspn(s, " "), *expr = NULL;
        size_t len = n - (size_t)(word - s);

        while (len > 0 && word[len - 1] == ' ')
            len--;
        for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
            if (strlen(known[i].name) == len && memcmp(known[i].name, word, len) == 0)
                expr = known[i].expr;
        if (len > 0) {
            luaL_addstring(&b, first ? "(" : " or (");
            if (expr)
                luaL_addstring(&b, expr);
            else
                luaL_addlstring(&b, word, len);
            luaL_addchar(&b, ')');
            first = false;
        }
        s += n + (s[n] == ',');
    }
    luaL_pushresult(&b); /* stays on the stack */
    return lua_tostring(L, -1);
}

struct rtap_lua_port { /* user values 1 and 2: its source and its sink */
    struct rtap_xdp_port *port;
};

static void read_options(lua_State *L, struct rtap_lua *S, const char *what, const struct rtap_option *options,
                         struct xdp_options *o)
{
    struct rtap_xdp_port_config *c = &o->c;

    c->ifname = rtap_lua_check_name(L, 1);
    c->latency = -1;
    c->memory = &S->xdp_memory;
    o->snaplen = 262144;
    lua_settop(L, 2);
    rtap_lua_options(L, 2, what, options, o);
    c->mode = o->mode;
    c->hardware_time = o->timestamp == 1;
    c->copy = tristate(L, what, "copy", o->copy);
    c->fragments = tristate(L, what, "fragments", o->fragments);
    c->metadata = tristate(L, what, "metadata", o->metadata);
    c->latency = read_latency(L, what, o->latency);
    c->busy_poll /= 1000;
    read_queues(L, what, o->queues, c);
    power_of_two(L, what, "ring_size", c->ring_size);
    if (c->map && !c->program)
        luaL_error(L, "%s: option 'map' names a map of `program`, which isn't given", what);
    if (c->pass && c->program)
        luaL_error(L, "%s: option 'pass' is for the program of ringtap, not with `program`", what);
    if (c->pass)
        c->pass = pass_expression(L, what, c->pass);
    if (o->filter && (lua_isnumber(L, o->filter) || lua_isboolean(L, o->filter)) &&
        lua_type(L, o->filter) != LUA_TSTRING)
        luaL_error(L, "%s: option 'filter' must be an expression, a ringtap.filter value or a function, not %s", what,
                   luaL_typename(L, o->filter));
    if (o->snaplen == 0)
        o->snaplen = 262144;
    if (o->umem) {
        static const char *const settled[] = {"frame_size", "frame_count", "headroom",  "unaligned",
                                              "huge_pages", "copy",        "fragments", "port_count"};
        struct rtap_lua_port *other = rtap_lua_test(L, o->umem, S->mt_port);

        if (!other)
            luaL_error(L, "%s: option 'umem' must be a port, not %s", what, luaL_typename(L, o->umem));
        else if (!other->port)
            luaL_error(L, "%s: option 'umem': a closed port", what);
        else
            c->share = other->port;
        for (size_t i = 0; i < sizeof(settled) / sizeof(settled[0]); i++)
            if (rtap_lua_has_option(L, 2, settled[i]))
                luaL_error(L, "%s: option '%s' goes with the port that has the UMEM, not with `umem`", what,
                           settled[i]);
    }
}

/* ringtap.capture(ifname, {backend = "xdp", ...}): source, or nil, message, errno */
int rtap_lua_capture_xdp(lua_State *L, struct rtap_lua *S)
{
    struct xdp_options o = {.backend = 0};
    struct rtap_lua_source *u;
    struct rtap_xdp_port *p;
    char err[512];
    int r, at;

    read_options(L, S, "capture", capture_options, &o);
    o.c.receives = true;
    u = rtap_lua_source_new(L, S);
    at = lua_gettop(L);
    r = rtap_xdp_port_open(&p, &o.c, err, sizeof(err));
    if (r < 0)
        return rtap_lua_fail(L, r, err);
    r = rtap_xdp_source_new(&u->source, p, (uint32_t)o.snaplen, err, sizeof(err));
    rtap_xdp_port_unref(p); /* the source has its own */
    if (r < 0)
        return rtap_lua_fail(L, r, err);
    return rtap_lua_capture_start(L, S, at, o.filter, rtap_xdp_source_start);
}

/* ringtap.sender(ifname, {backend = "xdp", ...}): sink, or nil, message, errno */
int rtap_lua_sender_xdp(lua_State *L, struct rtap_lua *S)
{
    struct xdp_options o = {.backend = 0};
    struct rtap_lua_sink *u;
    struct rtap_xdp_port *p;
    char err[512];
    int r;

    read_options(L, S, "sender", sender_options, &o);
    o.c.sends = true;
    if (o.c.queue_count > 1)
        return luaL_error(L, "sender: option 'queues': frames are sent on one queue");
    u = rtap_lua_sink_new(L, S);
    r = rtap_xdp_port_open(&p, &o.c, err, sizeof(err));
    if (r == 0) {
        r = rtap_xdp_sink_new(&u->sink, p, err, sizeof(err));
        rtap_xdp_port_unref(p);
    }
    if (r < 0)
        return rtap_lua_fail(L, r, err);
    u->linktype = u->sink->linktype;
    return 1;
}

/* ------------------------------------------------------------------ ports */

/* A port that could not be opened as a whole. */
static void give_up(struct rtap_lua_port *u, struct rtap_lua_source *rx, struct rtap_lua_sink *tx)
{
    char err[512];

    if (rx->source)
        rtap_source_close(rx->source);
    rx->source = NULL;
    if (tx->sink)
        tx->sink->ops->close(tx->sink, err, sizeof(err));
    tx->sink = NULL;
    rtap_xdp_port_unref(u->port);
    u->port = NULL;
}

/* ringtap.port(ifname [, options]): port, or nil, message, errno */
static int port(lua_State *L)
{
    struct rtap_lua *S = RTAP_STATE(L);
    struct xdp_options o = {.backend = 1};
    struct rtap_lua_port *u;
    struct rtap_lua_source *rx;
    struct rtap_lua_sink *tx;
    char err[512];
    int r, at;

    read_options(L, S, "port", port_options, &o);
    if (o.backend != 1)
        return luaL_error(L, "port: backend \"xdp\" is the only one that has ports");
    o.c.receives = o.c.sends = true;
    u = lua_newuserdatauv(L, sizeof(*u), 2);
    at = lua_gettop(L);
    u->port = NULL;
    rtap_lua_set_type(L, S->mt_port);
    tx = rtap_lua_sink_new(L, S);
    lua_setiuservalue(L, at, 2);
    rx = rtap_lua_source_new(L, S);
    lua_pushvalue(L, -1);
    lua_setiuservalue(L, at, 1);
    r = rtap_xdp_port_open(&u->port, &o.c, err, sizeof(err));
    if (r == 0)
        r = rtap_xdp_sink_new(&tx->sink, u->port, err, sizeof(err));
    if (r == 0)
        r = rtap_xdp_source_new(&rx->source, u->port, (uint32_t)o.snaplen, err, sizeof(err));
    if (r == 0) {
        tx->linktype = tx->sink->linktype;
        r = rtap_lua_capture_start(L, S, at + 1, o.filter, rtap_xdp_source_start);
    } else {
        r = rtap_lua_fail(L, r, err);
    }
    if (r > 1) { /* the queue is free at once, for another try */
        give_up(u, rx, tx);
        return r;
    }
    lua_settop(L, at);
    return 1;
}

/* Its ends are closed, the port is left. */
static int port_close(lua_State *L)
{
    struct rtap_lua_port *u = rtap_lua_check(L, 1, RTAP_STATE(L)->mt_port, "port");
    struct rtap_xdp_port *p = u->port;
    struct rtap_lua_sink *tx;

    if (lua_getiuservalue(L, 1, 2) == LUA_TUSERDATA) {
        tx = lua_touserdata(L, -1);
        if (tx->sink && tx->sink->busy) /* before anything is closed */
            return luaL_error(L, "the sink is at work: what it calls can't close it");
    }
    u->port = NULL;
    rtap_xdp_port_unref(p); /* its ends have references of their own; closing them may raise */
    for (int i = 1; p && i <= 2; i++) {
        lua_getiuservalue(L, 1, i);
        lua_getfield(L, -1, "close");
        lua_insert(L, -2);
        lua_call(L, 1, 0);
    }
    return 0;
}

static int port_gc(lua_State *L)
{
    struct rtap_lua_port *u = rtap_lua_check(L, 1, RTAP_STATE(L)->mt_port, "port");

    rtap_xdp_port_unref(u->port); /* its ends have references of their own */
    u->port = NULL;
    return 0;
}

/* port.rx, port.tx, or a method (upvalue 2: their table) */
static int port_index(lua_State *L)
{
    const char *key = lua_tostring(L, 2);

    rtap_lua_check(L, 1, RTAP_STATE(L)->mt_port, "port");
    if (key && strcmp(key, "rx") == 0) {
        lua_getiuservalue(L, 1, 1);
    } else if (key && strcmp(key, "tx") == 0) {
        lua_getiuservalue(L, 1, 2);
    } else {
        lua_pushvalue(L, 2);
        lua_rawget(L, lua_upvalueindex(2));
    }
    return 1;
}

static int port_tostring(lua_State *L)
{
    struct rtap_lua_port *u = rtap_lua_check(L, 1, RTAP_STATE(L)->mt_port, "port");

    if (!u->port) {
        lua_pushliteral(L, "ringtap port (closed)");
        return 1;
    }
    lua_getiuservalue(L, 1, 1);
    lua_pushfstring(L, "ringtap port: %s", luaL_tolstring(L, -1, NULL));
    return 1;
}

/* ------------------------------------------------------------------ facts */

static bool source_facts(lua_State *L, struct rtap_xdp_facts *f)
{
    return rtap_xdp_source_facts(rtap_lua_check_source(L, RTAP_STATE(L), 1)->source, f);
}

static bool sink_facts(lua_State *L, struct rtap_xdp_facts *f)
{
    return rtap_xdp_sink_facts(rtap_lua_check_sink(L, RTAP_STATE(L), 1)->sink, f);
}

static int push_mode(lua_State *L, bool known, const struct rtap_xdp_facts *f)
{
    if (known && f->attached)
        lua_pushstring(L, mode_names[f->mode]);
    else
        luaL_pushfail(L);
    return 1;
}

static int push_zerocopy(lua_State *L, bool known, const struct rtap_xdp_facts *f)
{
    if (known)
        lua_pushboolean(L, f->zerocopy);
    else
        luaL_pushfail(L);
    return 1;
}

static int push_queues(lua_State *L, bool known, const struct rtap_xdp_facts *f)
{
    if (!known) {
        luaL_pushfail(L);
        return 1;
    }
    lua_createtable(L, (int)f->queue_count, 0);
    for (unsigned i = 0; i < f->queue_count; i++) {
        lua_pushinteger(L, f->queues[i]);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    return 1;
}

int rtap_lua_source_mode(lua_State *L)
{
    struct rtap_xdp_facts f;

    return push_mode(L, source_facts(L, &f), &f);
}

int rtap_lua_source_zerocopy(lua_State *L)
{
    struct rtap_xdp_facts f;

    return push_zerocopy(L, source_facts(L, &f), &f);
}

int rtap_lua_source_queues(lua_State *L)
{
    struct rtap_xdp_facts f;

    return push_queues(L, source_facts(L, &f), &f);
}

int rtap_lua_sink_mode(lua_State *L)
{
    struct rtap_xdp_facts f;

    return push_mode(L, sink_facts(L, &f), &f);
}

int rtap_lua_sink_zerocopy(lua_State *L)
{
    struct rtap_xdp_facts f;

    return push_zerocopy(L, sink_facts(L, &f), &f);
}

int rtap_lua_sink_queues(lua_State *L)
{
    struct rtap_xdp_facts f;

    return push_queues(L, sink_facts(L, &f), &f);
}

/* ------------------------------------------------------------------ passing on */

/* Bytes of a packet are written over by the string at idx, in place where that can be, and it goes out. */
static int forward_changed(struct rtap_sink *k, const struct rtap_pkt *pkt, const char *bytes, size_t len)
{
    struct rtap_pkt changed = *pkt;
    uint8_t *data;
    int r;

    if (pkt->caplen < pkt->len || !rtap_sink_takes(k, pkt->linktype))
        return rtap_sink_send(k, pkt); /* which refuses it */
    if (len <= pkt->caplen && rtap_xdp_sink_has(k, pkt)) {
        memcpy((uint8_t *)pkt->data, bytes, len);
        return rtap_sink_pass(k, pkt);
    }
    if (len > changed.caplen)
        changed.caplen = changed.len = (uint32_t)len;
    r = k->ops->reserve(k, changed.caplen, &data);
    if (r < 0)
        return r;
    memcpy(data, pkt->data, pkt->caplen);
    memcpy(data, bytes, len);
    if (!(pkt->status & RTAP_PKT_VNET))
        rtap_checksum_finish(&changed, data);
    else if (pkt->status & RTAP_PKT_CSUM_NOT_READY)
        rtap_vnet_complete(&changed, data);
    return k->ops->commit(k, &changed);
}

/* sink:forward(pkt [, changes]): true, or nil, message, errno */
int rtap_lua_sink_forward(lua_State *L)
{
    struct rtap_lua *S = RTAP_STATE(L);
    struct rtap_lua_sink *u = rtap_lua_check_sink(L, S, 1);
    const struct rtap_pkt *pkt = rtap_lua_check_pkt(L, S, 2);
    size_t len = 0;
    const char *bytes;
    int r;

    if (!u->sink->live)
        return luaL_error(L, "forward: only a sender does that");
    lua_settop(L, 3);
    if (lua_istable(L, 3)) {
        lua_getglobal(L, "require");
        lua_pushliteral(L, "ringtap.send.changes");
        lua_call(L, 1, 1);
        lua_pushvalue(L, 2);
        lua_pushvalue(L, 3);
        lua_call(L, 2, 1);
        lua_replace(L, 3);
        u = rtap_lua_check_sink(L, S, 1);
        pkt = rtap_lua_check_pkt(L, S, 2);
    }
    if (u->loops)
        return luaL_error(L, "a loop over this sender's frames is running: what is sent meanwhile would take their "
                             "place");
    if (lua_isnil(L, 3)) { /* a copy's checksum may have to be finished */
        r = rtap_xdp_sink_has(u->sink, pkt) ? rtap_sink_pass(u->sink, pkt) : rtap_lua_sink_put(L, S, u, 2, false);
    } else {
        luaL_argcheck(L, lua_type(L, 3) == LUA_TSTRING, 3, "bytes, or a table of fields");
        bytes = lua_tolstring(L, 3, &len);
        luaL_argcheck(L, len <= 1 << 18, 3, "too long");
        r = forward_changed(u->sink, pkt, bytes, len);
    }
    if (r < 0) {
        if (r == -EAGAIN)
            lua_pushfstring(L, "full: %s", u->sink->error);
        else
            lua_pushstring(L, u->sink->error);
        return rtap_lua_fail(L, rtap_sink_errno(u->sink, r), lua_tostring(L, -1));
    }
    lua_pushboolean(L, 1);
    return 1;
}

void rtap_lua_open_xdp(lua_State *L, struct rtap_lua *S)
{
    static const luaL_Reg methods[] = {{"close", port_close}, {NULL, NULL}};
    static const luaL_Reg metamethods[] = {
        {"__gc", port_gc}, {"__close", port_close}, {"__tostring", port_tostring}, {NULL, NULL}};
    static const luaL_Reg functions[] = {{"port", port}, {NULL, NULL}};

    S->mt_port = rtap_lua_type(L, S, "ringtap.port", metamethods, methods);
    lua_pushlightuserdata(L, S);
    lua_getfield(L, -2, "__index");
    lua_pushvalue(L, -1);
    lua_setfield(L, -5, "_port_names");
    lua_pushcclosure(L, port_index, 2);
    lua_setfield(L, -2, "__index");
    lua_pop(L, 1);
    lua_pushlightuserdata(L, S);
    luaL_setfuncs(L, functions, 1);
}
