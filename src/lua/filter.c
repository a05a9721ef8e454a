/*
 * Filters in Lua: the userdata that holds a compiled expression, and what other files take for a filter.
 *
 * A filter value is one of three: a string, a compiled filter (this userdata), or a value that lua/ringtap/filter.lua
 * has put together, a table with its text in the field `expression` and VALUE_NAME as its metatable's __name. A Lua
 * function as a filter is source.c's matter.
 */
#include "../packet/filter.h"
#include "rtap_lua.h"
#include <stdlib.h>
#include <string.h>

#define VALUE_NAME "ringtap.filter.value"

struct filter_box {
    struct rtap_filter *filter; /* NULL until it is compiled */
};

static struct rtap_filter *check_filter(lua_State *L)
{
    struct filter_box *box = rtap_lua_check(L, 1, RTAP_STATE(L)->mt_filter, "filter");

    if (box->filter == NULL) /* collected, and met again by another finalizer */
        luaL_error(L, "filter is closed");
    return box->filter;
}

/* The expression at idx as a C string, or NULL when it is neither a string nor a filter value. It stays on the stack.
 */
static const char *to_expression(lua_State *L, int idx)
{
    const char *expr;
    size_t len;

    if (lua_type(L, idx) == LUA_TTABLE && luaL_getmetafield(L, idx, "__name") == LUA_TSTRING &&
        strcmp(lua_tostring(L, -1), VALUE_NAME) == 0)
        lua_getfield(L, idx, "expression");
    else
        lua_pushvalue(L, idx);
    if (lua_type(L, -1) != LUA_TSTRING)
        return NULL;
    expr = lua_tolstring(L, -1, &len);
    if (strlen(expr) != len)
        luaL_error(L, "filter expression contains a zero byte");
    return expr;
}

int rtap_lua_to_filter(lua_State *L, struct rtap_lua *S, int idx, uint16_t linktype, struct rtap_filter **out,
                       char *err, size_t errlen)
{
    struct filter_box *box = rtap_lua_test(L, idx, S->mt_filter);
    const struct sock_filter *insns;
    const char *expr;
    unsigned count;
    int r, top = lua_gettop(L);

    *out = NULL;
    if (lua_isnoneornil(L, idx))
        return 0;
    if (box != NULL) {
        if (box->filter == NULL)
            return luaL_error(L, "filter is closed");
        r = rtap_filter_program(box->filter, linktype, false, &insns, &count, err, errlen);
        if (r == 0)
            *out = rtap_filter_ref(box->filter);
        return r;
    }
    idx = lua_absindex(L, idx);
    expr = to_expression(L, idx);
    if (expr == NULL)
        return luaL_error(L, "filter must be an expression, a ringtap.filter value or a function, not %s",
                          luaL_typename(L, idx));
    r = rtap_filter_new(out, expr, linktype, true, err, errlen);
    lua_settop(L, top);
    return r;
}

struct filter_options {
    bool optimize;
    int64_t linktype;
};

static const struct rtap_option filter_options[] = {
    {"optimize", RTAP_OPT_BOOL, offsetof(struct filter_options, optimize), 0, 0, NULL},
    {"linktype", RTAP_OPT_INT, offsetof(struct filter_options, linktype), 0, UINT16_MAX, NULL},
    {NULL, RTAP_OPT_BOOL, 0, 0, 0, NULL},
};

/* _filter(expression, {optimize=, linktype=}): a filter, or nil, message, errno */
static int filter_new(lua_State *L)
{
    struct rtap_lua *S = RTAP_STATE(L);
    struct filter_options o = {.optimize = true, .linktype = RTAP_LINKTYPE_ETHERNET};
    char err[RTAP_FILTER_ERROR_SIZE];
    struct filter_box *box;
    const char *expr;
    int r;

    lua_settop(L, 2);
    rtap_lua_options(L, 2, "filter", filter_options, &o);
    expr = to_expression(L, 1);
    if (expr == NULL)
        return luaL_typeerror(L, 1, "expression or ringtap.filter value");
    box = lua_newuserdatauv(L, sizeof(*box), 0);
    box->filter = NULL;
    rtap_lua_set_type(L, S->mt_filter);
    r = rtap_filter_new(&box->filter, expr, (uint16_t)o.linktype, o.optimize, err, sizeof(err));
    return r < 0 ? rtap_lua_fail(L, r, err) : 1;
}

static uint16_t opt_linktype(lua_State *L, int idx)
{
    lua_Integer linktype = luaL_optinteger(L, idx, RTAP_LINKTYPE_ETHERNET);

    luaL_argcheck(L, linktype >= 0 && linktype <= UINT16_MAX, idx, "a link type is a number from 0 to 65535");
    return (uint16_t)linktype;
}

/* f:matches(packet) or f:matches(bytes [, linktype]): true or false. Raises where the expression has no meaning for the
 * link type. */
static int filter_matches(lua_State *L)
{
    struct rtap_filter *f = check_filter(L);
    char err[RTAP_FILTER_ERROR_SIZE];
    const struct rtap_pkt *pkt;
    struct rtap_pkt bytes;
    int r;

    if (lua_type(L, 2) == LUA_TSTRING) {
        size_t len;

        bytes = (struct rtap_pkt){
            .data = (const uint8_t *)lua_tolstring(L, 2, &len), .time = RTAP_NO_TIME, .linktype = opt_linktype(L, 3)};
        luaL_argcheck(L, len <= UINT32_MAX, 2, "longer than any packet");
        bytes.caplen = bytes.len = (uint32_t)len;
        pkt = &bytes;
    } else {
        pkt = rtap_lua_check_pkt(L, RTAP_STATE(L), 2);
    }
    r = rtap_filter_match(f, pkt, err, sizeof(err));
    if (r < 0)
        return luaL_error(L, "%s", err);
    lua_pushboolean(L, r);
    return 1;
}

static int filter_expression(lua_State *L)
{
    lua_pushstring(L, rtap_filter_expr(check_filter(L)));
    return 1;
}

static int filter_tostring(lua_State *L)
{
    struct filter_box *box = rtap_lua_check(L, 1, RTAP_STATE(L)->mt_filter, "filter");

    lua_pushfstring(L, "filter: %s", box->filter ? rtap_filter_expr(box->filter) : "(closed)");
    return 1;
}

static void push_program(lua_State *L, const struct sock_filter *insns, unsigned count)
{
    lua_createtable(L, (int)count, 0);
    for (unsigned i = 0; i < count; i++) {
        lua_createtable(L, 0, 4);
        lua_pushinteger(L, insns[i].code);
        lua_setfield(L, -2, "code");
        lua_pushinteger(L, insns[i].jt);
        lua_setfield(L, -2, "jt");
        lua_pushinteger(L, insns[i].jf);
        lua_setfield(L, -2, "jf");
        lua_pushinteger(L, insns[i].k);
        lua_setfield(L, -2, "k");
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
}

/* f:bytecode([linktype [, tagged]]): libpcap's program, as a list of {code=, jt=, jf=, k=}; tagged: the one for frames
 * whose outermost tag it is not to see. Or nil, message, errno. */
static int filter_bytecode(lua_State *L)
{
    struct rtap_filter *f = check_filter(L);
    uint16_t linktype = opt_linktype(L, 2);
    char err[RTAP_FILTER_ERROR_SIZE];
    const struct sock_filter *insns;
    unsigned count;
    int r = rtap_filter_program(f, linktype, lua_toboolean(L, 3), &insns, &count, err, sizeof(err));

    if (r < 0)
        return rtap_lua_fail(L, r, err);
    push_program(L, insns, count); /* stays the filter's, which is at 1 */
    return 1;
}

struct kernel_options {
    int64_t linktype, snaplen;
    int direction;
    bool cooked, loopback_once, ignore_vlan;
};

static const char *const directions[] = {"both", "in", "out", NULL}; /* as in struct rtap_filter_env */

#define OPTION(name, type, min, max, names)                                 \
    {                                                                       \
#name, type, offsetof(struct kernel_options, name), min, max, names \
    }
static const struct rtap_option kernel_options[] = {
    OPTION(linktype, RTAP_OPT_INT, 0, UINT16_MAX, NULL),
    OPTION(snaplen, RTAP_OPT_INT, 0, 262144, NULL),
    OPTION(direction, RTAP_OPT_ENUM, 0, 0, directions),
    OPTION(cooked, RTAP_OPT_BOOL, 0, 0, NULL),
    OPTION(loopback_once, RTAP_OPT_BOOL, 0, 0, NULL),
    OPTION(ignore_vlan, RTAP_OPT_BOOL, 0, 0, NULL),
    {NULL, RTAP_OPT_BOOL, 0, 0, 0, NULL},
};

/* f:kernel_program{linktype=, cooked=, snaplen=, direction=, loopback_once=, ignore_vlan=}: what a live source would
 * attach, as f:bytecode() gives it, and true when user space has to match again; or nil, message, errno */
static int filter_kernel_program(lua_State *L)
{
    struct rtap_filter *f = check_filter(L);
    struct kernel_options o = {.linktype = RTAP_LINKTYPE_ETHERNET, .snaplen = 262144};
    struct rtap_filter_env env = {0};
    char err[RTAP_FILTER_ERROR_SIZE];
    struct sock_filter *insns, *copy;
    unsigned count;
    int r;

    lua_settop(L, 2);
    rtap_lua_options(L, 2, "kernel_program", kernel_options, &o);
    env.linktype = (uint16_t)o.linktype;
    env.snaplen = (uint32_t)o.snaplen;
    env.direction = o.direction;
    env.cooked = o.cooked;
    env.loopback_once = o.loopback_once;
    env.ignore_vlan = o.ignore_vlan;
    copy = lua_newuserdatauv(L, BPF_MAXINSNS * sizeof(*copy), 0); /* before there is something that could leak */
    r = rtap_filter_kernel(f, &env, &insns, &count, err, sizeof(err));
    if (r < 0)
        return rtap_lua_fail(L, r, err);
    memcpy(copy, insns, count * sizeof(*copy));
    free(insns);
    push_program(L, copy, count);
    lua_pushboolean(L, r);
    return 2;
}

static int filter_gc(lua_State *L)
{
    struct filter_box *box = rtap_lua_check(L, 1, RTAP_STATE(L)->mt_filter, "filter");

    rtap_filter_unref(box->filter);
    box->filter = NULL;
    return 0;
}

static const luaL_Reg metamethods[] = {
    {"__tostring", filter_tostring},
    {"__gc", filter_gc},
    {NULL, NULL},
};

static const luaL_Reg methods[] = {
    {"matches", filter_matches},
    {"expression", filter_expression},
    {"bytecode", filter_bytecode},
    {"kernel_program", filter_kernel_program},
    {NULL, NULL},
};

static const luaL_Reg functions[] = {
    {"_filter", filter_new},
    {NULL, NULL},
};

void rtap_lua_open_filter(lua_State *L, struct rtap_lua *S)
{
    S->mt_filter = rtap_lua_type(L, S, "ringtap.filter", metamethods, methods);
    lua_getfield(L, -1, "__index");
    lua_setfield(L, -3, "_filter_names");
    lua_pop(L, 1);
    lua_pushlightuserdata(L, S);
    luaL_setfuncs(L, functions, 1);
}
