/* ringtap.capture and ringtap.memory: opening the two sources that are rings. */
#include "../io/memory.h"
#include "../io/tpacket.h"
#include "rtap_lua.h"
#include <errno.h>
#include <linux/filter.h>
#include <stddef.h>
#include <string.h>

#define MAX_SIZE (1ll << 44)

struct capture_options {
    struct rtap_tpacket_config c;
    int backend, filter, fanout;
};

#define C(field) offsetof(struct capture_options, c.field)

static const char *const backend_names[] = {"packet", "xdp", NULL};
static const char *const latency_names[] = {"normal", "low", NULL};
static const char *const direction_names[] = {"both", "in", "out", NULL};
static const char *const timestamp_names[] = {"software", "hardware", NULL};
static const char *const fanout_names[] = {"hash", "lb", "cpu", "rollover", "rnd", "qm", "cbpf", "ebpf", NULL};

static const struct rtap_option capture_options[] = {
    {"backend", RTAP_OPT_ENUM, offsetof(struct capture_options, backend), 0, 0, backend_names},
    {"netns", RTAP_OPT_STRING, C(netns), 0, 0, NULL},
    {"block_size", RTAP_OPT_INT, C(block_size), 1, MAX_SIZE, NULL},
    {"block_count", RTAP_OPT_INT, C(block_count), 1, MAX_SIZE, NULL},
    {"ring_size", RTAP_OPT_INT, C(ring_size), 1, MAX_SIZE, NULL},
    {"snaplen", RTAP_OPT_INT, C(snaplen), 0, INT32_MAX, NULL},
    {"retire_timeout", RTAP_OPT_SECONDS, C(retire_timeout), 0, 3600000000000ll, NULL},
    {"latency", RTAP_OPT_ENUM, C(latency), 0, 0, latency_names},
    {"promisc", RTAP_OPT_BOOL, C(promisc), 0, 0, NULL},
    {"direction", RTAP_OPT_ENUM, C(direction), 0, 0, direction_names},
    {"timestamp", RTAP_OPT_ENUM, C(timestamp), 0, 0, timestamp_names},
    {"ignore_vlan", RTAP_OPT_BOOL, C(ignore_vlan), 0, 0, NULL},
    {"offload", RTAP_OPT_BOOL, C(offload), 0, 0, NULL},
    {"filter", RTAP_OPT_VALUE, offsetof(struct capture_options, filter), 0, 0, NULL},
    {"fanout", RTAP_OPT_VALUE, offsetof(struct capture_options, fanout), 0, 0, NULL},
    {NULL, 0, 0, 0, 0, NULL},
};

struct fanout_options {
    struct rtap_fanout_config f;
    int program;
};

static const struct rtap_option fanout_options[] = {
    {"mode", RTAP_OPT_ENUM, offsetof(struct fanout_options, f.mode), 0, 0, fanout_names},
    {"id", RTAP_OPT_INT, offsetof(struct fanout_options, f.id), 0, 65535, NULL},
    {"defrag", RTAP_OPT_BOOL, offsetof(struct fanout_options, f.defrag), 0, 0, NULL},
    {"rollover", RTAP_OPT_BOOL, offsetof(struct fanout_options, f.rollover), 0, 0, NULL},
    {"program", RTAP_OPT_VALUE, offsetof(struct fanout_options, program), 0, 0, NULL},
    {"fd", RTAP_OPT_INT, offsetof(struct fanout_options, f.fd), 0, INT32_MAX, NULL},
    {NULL, 0, 0, 0, 0, NULL},
};

static void field(lua_State *L, int idx, const char *name, lua_Integer max, lua_Integer *to)
{
    lua_getfield(L, idx, name);
    if (!lua_isnil(L, -1) && !lua_isinteger(L, -1))
        luaL_error(L, "capture: fanout.program: '%s' must be an integer, not %s", name, luaL_typename(L, -1));
    *to = lua_tointeger(L, -1);
    if (*to < 0 || *to > max)
        luaL_error(L, "capture: fanout.program: '%s' = %I is out of range", name, *to);
    lua_pop(L, 1);
}

/* fanout.program: a list of {code=, jt=, jf=, k=}, as filter:bytecode() gives it. Left on the stack as a string. */
static void fanout_program(lua_State *L, int idx, struct rtap_fanout_config *f)
{
    lua_Integer n, code, jt, jf, k;
    struct sock_filter *insns;

    luaL_checktype(L, idx, LUA_TTABLE);
    n = (lua_Integer)lua_rawlen(L, idx);
    if (n < 1 || n > BPF_MAXINSNS)
        luaL_error(L, "capture: fanout.program needs 1 to %d instructions", BPF_MAXINSNS);
    insns = lua_newuserdatauv(L, (size_t)n * sizeof(*insns), 0);
    for (lua_Integer i = 1; i <= n; i++) {
        if (lua_rawgeti(L, idx, i) != LUA_TTABLE)
            luaL_error(L, "capture: fanout.program[%I] is not a table {code=, jt=, jf=, k=}", i);
        field(L, -1, "code", 0xffff, &code);
        field(L, -1, "jt", 0xff, &jt);
        field(L, -1, "jf", 0xff, &jf);
        field(L, -1, "k", 0xffffffff, &k);
        insns[i - 1] = (struct sock_filter){(uint16_t)code, (uint8_t)jt, (uint8_t)jf, (uint32_t)k};
        lua_pop(L, 1);
    }
    f->program = insns;
    f->program_size = (size_t)n * sizeof(*insns);
}

static void read_fanout(lua_State *L, int idx, struct rtap_fanout_config *f)
{
    struct fanout_options o = {.f = {.mode = RTAP_FANOUT_HASH, .id = -1, .fd = -1}};

    rtap_lua_options(L, idx, "capture: fanout", fanout_options, &o);
    if (o.program)
        fanout_program(L, o.program, &o.f);
    if ((o.f.mode == RTAP_FANOUT_CBPF) != (o.program != 0))
        luaL_error(L, "capture: fanout mode \"cbpf\" goes with a program (a list of instructions)");
    if ((o.f.mode == RTAP_FANOUT_EBPF) != (o.f.fd >= 0))
        luaL_error(L, "capture: fanout mode \"ebpf\" goes with fd, that of a loaded program");
    *f = o.f;
}

int rtap_lua_capture_start(lua_State *L, struct rtap_lua *S, int at, int filter,
                           int (*start)(struct rtap_source *s, struct rtap_filter *f))
{
    struct rtap_source *s = ((struct rtap_lua_source *)lua_touserdata(L, at))->source;
    struct rtap_filter *f = NULL;
    char err[512];
    int r = 0;

    if (filter && lua_isfunction(L, filter)) {
        r = start(s, NULL);
        if (r == 0)
            r = rtap_lua_source_set_filter(L, S, at, filter);
    } else {
        if (filter)
            r = rtap_lua_to_filter(L, S, filter, s->linktype, &f, err, sizeof(err));
        if (r < 0)
            rtap_source_fail(s, r, "%s", err);
        else
            r = start(s, f);
        rtap_filter_unref(f);
    }
    return rtap_lua_source_ready(L, at, r);
}

/* Is that the backend that the options at idx ask for? */
bool rtap_lua_is_backend(lua_State *L, int idx, const char *name)
{
    bool is = false;

    if (lua_istable(L, idx)) {
        lua_pushliteral(L, "backend");
        is = lua_rawget(L, idx) == LUA_TSTRING && strcmp(lua_tostring(L, -1), name) == 0;
        lua_pop(L, 1);
    }
    return is;
}

/* ringtap.capture(ifname [, options]): source, or nil, message, errno */
static int capture(lua_State *L)
{
    struct rtap_lua *S = RTAP_STATE(L);
    struct capture_options o = {
        .c = {.retire_timeout = -1, .snaplen = 262144, .direction = -1, .fanout = {.mode = RTAP_FANOUT_NONE}},
    };
    struct rtap_lua_source *u;
    char err[512];
    int r, at;

    o.c.ifname = rtap_lua_check_name(L, 1);
    if (rtap_lua_is_backend(L, 2, "xdp"))
        return rtap_lua_capture_xdp(L, S);
    lua_settop(L, 2);
    rtap_lua_options(L, 2, "capture", capture_options, &o);
    if (o.fanout)
        read_fanout(L, o.fanout, &o.c.fanout);
    if (o.filter && (lua_isnumber(L, o.filter) || lua_isboolean(L, o.filter)) && lua_type(L, o.filter) != LUA_TSTRING)
        return luaL_error(
            L, "capture: option 'filter' must be an expression, a ringtap.filter value or a function, not %s",
            luaL_typename(L, o.filter));
    if (o.c.snaplen == 0)
        o.c.snaplen = 262144;
    u = rtap_lua_source_new(L, S);
    at = lua_gettop(L);
    r = rtap_tpacket_new(&u->source, &o.c, err, sizeof(err));
    if (r < 0)
        return rtap_lua_fail(L, r, err);
    return rtap_lua_capture_start(L, S, at, o.filter, rtap_tpacket_start);
}

/* ------------------------------------------------------------------ memory */

struct memory_options {
    int64_t linktype, block_size, repeat;
    int filter;
};

static const struct rtap_option memory_options[] = {
    {"linktype", RTAP_OPT_INT, offsetof(struct memory_options, linktype), 0, 65535, NULL},
    {"block_size", RTAP_OPT_INT, offsetof(struct memory_options, block_size), 4096, 1 << 30, NULL},
    {"repeat", RTAP_OPT_INT, offsetof(struct memory_options, repeat), 1, INT64_MAX, NULL},
    {"filter", RTAP_OPT_VALUE, offsetof(struct memory_options, filter), 0, 0, NULL},
    {NULL, 0, 0, 0, 0, NULL},
};

/* The most packets of one list: their descriptions alone take a gigabyte. */
#define MAX_LIST (1 << 24)

static lua_Integer item_field(lua_State *L, lua_Integer i, const char *name, lua_Integer max)
{
    lua_Integer v;
    int ok;

    lua_pushstring(L, name);
    if (lua_rawget(L, -2) == LUA_TNIL) {
        lua_pop(L, 1);
        return 0;
    }
    v = lua_tointegerx(L, -1, &ok);
    if (!ok || v < 0 || v > max)
        luaL_error(L, "memory: packet %I: %s must be an integer from 0 to %I", i, name, max);
    lua_pop(L, 1);
    return v;
}

static void check_item_keys(lua_State *L, lua_Integer i)
{
    for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
        const char *key = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "";

        if (!(lua_isinteger(L, -2) && lua_tointeger(L, -2) == 1) && strcmp(key, "time") != 0 && strcmp(key, "len") != 0)
            luaL_error(L, "memory: packet %I: unknown field '%s' (there are: time, len)", i,
                       luaL_tolstring(L, -2, NULL));
    }
}

/*
 * List item i: a string, a packet, or {bytes, time=, len=}. What keeps its bytes alive (the string, a copy of the
 * packet) goes into the table at `keep`, since the list is the script's and may change.
 */
static void memory_item(lua_State *L, struct rtap_lua *S, lua_Integer i, struct rtap_pkt *p, int keep,
                        int64_t *linktype)
{
    const lua_Integer max_time = (lua_Integer)UINT32_MAX * 1000000000 + 999999999;
    size_t n = 0;

    memset(p, 0, sizeof(*p));
    switch (lua_rawgeti(L, 1, i)) {
    case LUA_TSTRING: p->data = (const uint8_t *)lua_tolstring(L, -1, &n); break;
    case LUA_TTABLE:
        check_item_keys(L, i);
        p->time = item_field(L, i, "time", max_time);
        p->len = (uint32_t)item_field(L, i, "len", UINT32_MAX);
        if (lua_rawgeti(L, -1, 1) != LUA_TSTRING)
            luaL_error(L, "memory: packet %I: {bytes, time=, len=} needs its bytes first", i);
        p->data = (const uint8_t *)lua_tolstring(L, -1, &n);
        lua_remove(L, -2);
        break;
    case LUA_TUSERDATA:
    case LUA_TLIGHTUSERDATA:
        rtap_lua_push_owned(L, S, lua_gettop(L), 0);
        lua_remove(L, -2);
        *p = ((struct rtap_owned *)lua_touserdata(L, -1))->pkt;
        n = p->caplen;
        if (*linktype < 0)
            *linktype = p->linktype;
        if (p->time != RTAP_NO_TIME && (p->time < 0 || p->time > max_time))
            luaL_error(L, "memory: packet %I: its time does not fit (0 to 2^32 seconds)", i);
        break;
    default:
        luaL_error(L, "memory: packet %I must be a string, a packet or {bytes, time=, len=}, not %s", i,
                   luaL_typename(L, -1));
        return;
    }
    if (n > 1 << 28)
        luaL_error(L, "memory: packet %I is too large", i);
    p->caplen = (uint32_t)n;
    if (p->len == 0)
        p->len = p->caplen;
    if (p->len < p->caplen)
        luaL_error(L, "memory: packet %I: len %I is less than its %I bytes", i, (lua_Integer)p->len, (lua_Integer)n);
    lua_rawseti(L, keep, i);
}

/* ringtap.memory(list [, options]): source, or nil, message, errno */
static int memory(lua_State *L)
{
    struct rtap_lua *S = RTAP_STATE(L);
    struct memory_options o = {.linktype = -1, .block_size = 1 << 20, .repeat = 1};
    struct rtap_lua_source *u;
    struct rtap_pkt *pkts;
    lua_Integer count;
    char err[512];
    int r, at, keep;

    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 2);
    rtap_lua_options(L, 2, "memory", memory_options, &o);
    count = (lua_Integer)lua_rawlen(L, 1);
    luaL_argcheck(L, count >= 0 && count <= MAX_LIST, 1, "too many packets");
    pkts = lua_newuserdatauv(L, (size_t)count * sizeof(*pkts) + 1, 0);
    lua_newtable(L);
    keep = lua_gettop(L);
    for (lua_Integer i = 1; i <= count; i++)
        memory_item(L, S, i, &pkts[i - 1], keep, &o.linktype);
    if (o.linktype < 0)
        o.linktype = RTAP_LINKTYPE_ETHERNET;
    u = rtap_lua_source_new(L, S);
    at = lua_gettop(L);
    r = rtap_memory_open(&u->source, pkts, (size_t)count, (uint16_t)o.linktype, (uint32_t)o.block_size,
                         (uint64_t)o.repeat, err, sizeof(err));
    return rtap_lua_source_opened(L, S, at, r, err, o.filter);
}

void rtap_lua_open_capture(lua_State *L, struct rtap_lua *S)
{
    static const luaL_Reg functions[] = {{"capture", capture}, {"memory", memory}, {NULL, NULL}};

    lua_pushlightuserdata(L, S);
    luaL_setfuncs(L, functions, 1);
}
