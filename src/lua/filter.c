/*
 * Filters in Lua: the userdata that holds a compiled expression, and what other files take for a filter.
 *
 * A filter value is one of three: a string, a compiled filter (this userdata), or a value that lua/ringtap/filter.lua
 * has put together, a table with its text in the field `expression` and VALUE_NAME as its metatable's __name. A Lua
 * function as a filter is source.c's matter.
 */
#include "../packet/filter.h"
#include "../io/xdp_filter.h"
#include "../packet/filter_xdp.h"
#include "rtap_lua.h"
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define VALUE_NAME "ringtap.filter.value"

enum { XDP_FRAGS = 1, XDP_TAG = 2, XDP_VARIANTS = 4 };

struct filter_box {
    struct rtap_filter *filter;    /* NULL until it is compiled */
    struct bpf_insn *insns;        /* of xdp_program(), while it makes its list */
    int tag, loaded[XDP_VARIANTS]; /* descriptors of xdp_matches(), or -1: the map, and the programs */
};

static struct filter_box *check_box(lua_State *L)
{
    struct filter_box *box = rtap_lua_check(L, 1, RTAP_STATE(L)->mt_filter, "filter");

    if (box->filter == NULL) /* collected, and met again by another finalizer */
        luaL_error(L, "filter is closed");
    return box;
}

static struct rtap_filter *check_filter(lua_State *L)
{
    return check_box(L)->filter;
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
    *box = (struct filter_box){.tag = -1, .loaded = {-1, -1, -1, -1}};
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

/* The packet at 2, or the bytes there, for which *bytes is room. */
static const struct rtap_pkt *check_frame(lua_State *L, struct rtap_pkt *bytes, uint16_t linktype)
{
    size_t len;

    if (lua_type(L, 2) != LUA_TSTRING)
        return rtap_lua_check_pkt(L, RTAP_STATE(L), 2);
    *bytes = (struct rtap_pkt){
        .data = (const uint8_t *)lua_tolstring(L, 2, &len), .time = RTAP_NO_TIME, .linktype = linktype};
    luaL_argcheck(L, len <= UINT32_MAX, 2, "longer than any packet");
    bytes->caplen = bytes->len = (uint32_t)len;
    return bytes;
}

/* f:matches(packet) or f:matches(bytes [, linktype]): true or false. Raises where the expression has no meaning for the
 * link type. */
static int filter_matches(lua_State *L)
{
    struct rtap_filter *f = check_filter(L);
    char err[RTAP_FILTER_ERROR_SIZE];
    struct rtap_pkt bytes;
    uint16_t linktype = lua_type(L, 2) == LUA_TSTRING ? opt_linktype(L, 3) : 0;
    int r = rtap_filter_match(f, check_frame(L, &bytes, linktype), err, sizeof(err));

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

struct xdp_options {
    bool frags;
    int64_t linear, tci, tpid;
};

#define XDP_OPTION(name, type, max)                                   \
    {                                                                 \
#name, type, offsetof(struct xdp_options, name), 0, max, NULL \
    }
static const struct rtap_option xdp_program_options[] = {
    XDP_OPTION(frags, RTAP_OPT_BOOL, 0),
    {NULL, RTAP_OPT_BOOL, 0, 0, 0, NULL},
};
static const struct rtap_option xdp_matches_options[] = {
    XDP_OPTION(frags, RTAP_OPT_BOOL, 0),       XDP_OPTION(linear, RTAP_OPT_INT, UINT32_MAX),
    XDP_OPTION(tci, RTAP_OPT_INT, UINT16_MAX), XDP_OPTION(tpid, RTAP_OPT_INT, UINT16_MAX),
    {NULL, RTAP_OPT_BOOL, 0, 0, 0, NULL},
};

/* f:xdp_program{frags=}: the program for XDP, standing alone, as a list of {code=, dst=, src=, off=, imm=}. Or nil,
 * message, errno. */
static int filter_xdp_program(lua_State *L)
{
    struct filter_box *box = check_box(L);
    struct xdp_options o = {.frags = false};
    struct rtap_xdp_env env = {.programs = -1, .metadata = -1};
    char err[RTAP_FILTER_ERROR_SIZE];
    struct bpf_insn *insns;
    unsigned count;
    int r;

    lua_settop(L, 2);
    rtap_lua_options(L, 2, "xdp_program", xdp_program_options, &o);
    env.frags = o.frags;
    r = rtap_filter_xdp(box->filter, &env, &insns, &count, err, sizeof(err));
    if (r < 0)
        return rtap_lua_fail(L, r, err);
    free(box->insns); /* of a time when there was no memory for the list */
    box->insns = insns;
    lua_createtable(L, (int)count, 0);
    for (unsigned i = 0; i < count; i++) {
        lua_createtable(L, 0, 5);
        rtap_lua_set_integer(L, "code", insns[i].code);
        rtap_lua_set_integer(L, "dst", insns[i].dst_reg);
        rtap_lua_set_integer(L, "src", insns[i].src_reg);
        rtap_lua_set_integer(L, "off", insns[i].off);
        rtap_lua_set_integer(L, "imm", insns[i].imm);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    free(insns);
    box->insns = NULL;
    return 1;
}

/* The descriptor of a variant: loaded once, then kept. Or -errno. */
static int xdp_loaded(struct filter_box *box, unsigned variant, char *err, size_t errlen)
{
    struct rtap_xdp_env env = {.frags = variant & XDP_FRAGS, .programs = -1, .metadata = -1};
    struct bpf_insn *insns;
    unsigned count;
    int r;

    if (box->loaded[variant] >= 0)
        return box->loaded[variant];
    if (variant & XDP_TAG) {
        if (box->tag < 0)
            box->tag = rtap_xdp_new_tag();
        if (box->tag < 0) {
            snprintf(err, errlen, "a map for the tag: %s", strerror(-box->tag));
            return box->tag;
        }
        env.metadata = box->tag;
    }
    r = rtap_filter_xdp(box->filter, &env, &insns, &count, err, errlen);
    if (r < 0)
        return r;
    r = rtap_xdp_load_filter(insns, count, env.frags, err, errlen);
    free(insns);
    if (r >= 0)
        box->loaded[variant] = r;
    return r;
}

/* f:xdp_matches(packet or bytes, {frags=, linear=, tpid=, tci=}): what the program for XDP answers, run in the kernel
 * without a device; tpid: for a frame from whose bytes the device took that tag. true, false, or nil, message, errno.
 */
static int filter_xdp_matches(lua_State *L)
{
    struct filter_box *box = check_box(L);
    struct xdp_options o = {.frags = false};
    struct rtap_xdp_tag tag;
    char err[RTAP_FILTER_ERROR_SIZE];
    struct rtap_pkt bytes;
    const struct rtap_pkt *pkt;
    unsigned variant;
    int r;

    lua_settop(L, 3);
    rtap_lua_options(L, 3, "xdp_matches", xdp_matches_options, &o);
    pkt = check_frame(L, &bytes, RTAP_LINKTYPE_ETHERNET);
    luaL_argcheck(L, pkt->linktype == RTAP_LINKTYPE_ETHERNET, 2, "XDP has Ethernet frames only");
    variant = (o.frags ? XDP_FRAGS : 0) | (rtap_lua_has_option(L, 3, "tpid") ? XDP_TAG : 0);
    r = xdp_loaded(box, variant, err, sizeof(err));
    if (r < 0)
        return rtap_lua_fail(L, r, err);
    if (variant & XDP_TAG) {
        tag = (struct rtap_xdp_tag){.tci = (uint16_t)o.tci, .tpid = (uint16_t)o.tpid};
        r = rtap_xdp_set_tag(box->tag, &tag);
    }
    if (r >= 0)
        r = rtap_xdp_run_filter(box->loaded[variant], pkt->data, pkt->caplen, o.frags, (uint32_t)o.linear);
    if (r < 0) {
        snprintf(err, sizeof(err), "running the filter's XDP program: %s", strerror(-r));
        return rtap_lua_fail(L, r, err);
    }
    lua_pushboolean(L, r);
    return 1;
}

static void close_descriptor(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static int filter_gc(lua_State *L)
{
    struct filter_box *box = rtap_lua_check(L, 1, RTAP_STATE(L)->mt_filter, "filter");

    rtap_filter_unref(box->filter);
    box->filter = NULL;
    free(box->insns);
    box->insns = NULL;
    for (unsigned i = 0; i < XDP_VARIANTS; i++)
        close_descriptor(&box->loaded[i]);
    close_descriptor(&box->tag);
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
    {"xdp_program", filter_xdp_program},
    {"xdp_matches", filter_xdp_matches},
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
