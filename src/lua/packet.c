/*
 * The packet in its three forms, with one set of methods: borrowed (a light userdata, see handle.c), owned (a copy),
 * held (a pin on the block that it is in).
 */
#include "packet.h"

#include "engine.h"
#include "writable.h"

#include "../packet/bytes.h"
#include "../packet/line.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const struct rtap_pkt *self(lua_State *L)
{
    return rtap_lua_check_pkt(L, RTAP_STATE(L), 1);
}

/* ------------------------------------------------------------------ copies and holds */

static size_t text_size(const char *s)
{
    return s ? strlen(s) + 1 : 0;
}

/* Everything that a packet points at, one after another. */
static void fill(struct rtap_pkt *to, uint8_t *bytes, const struct rtap_pkt *from)
{
    struct rtap_pkt p = *from;
    size_t name = text_size(p.ifname);
    uint8_t *end = bytes + p.caplen;

    memmove(bytes, p.data, p.caplen);
    p.data = bytes;
    if (p.ifname)
        p.ifname = memmove(end, p.ifname, name);
    if (p.comment)
        p.comment = memmove(end + name, p.comment, p.comment_len);
    *to = p;
}

static size_t owned_size(const struct rtap_pkt *p)
{
    return p->caplen + text_size(p->ifname) + (p->comment ? p->comment_len : 0);
}

/* Where the bytes of a copy into `o` go: its own, or user value 1 of the userdata at idx. */
static uint8_t *owned_bytes(lua_State *L, struct rtap_owned *o, int idx, size_t need)
{
    uint8_t *bytes = o->bytes;

    if (need <= o->capacity)
        return bytes;
    lua_getiuservalue(L, idx, 1);
    bytes = need <= o->more ? lua_touserdata(L, -1) : NULL;
    lua_pop(L, 1);
    return bytes;
}

/*
 * Every allocation may run a finalizer, and a finalizer may end the loop or the source that the packet's memory belongs
 * to. So memory is got first, and then the packet is looked up again.
 */
void rtap_lua_push_owned(lua_State *L, struct rtap_lua *S, int idx, int into)
{
    size_t need = owned_size(rtap_lua_check_pkt(L, S, idx));
    const struct rtap_pkt *pkt;
    struct rtap_owned *o;
    uint8_t *bytes;

    if (into) {
        o = rtap_lua_check(L, into, S->mt_owned, "packet made by copy() or next()");
        if (need > o->capacity && need > o->more) {
            size_t more = need + need / 2;

            lua_newuserdatauv(L, more, 0);
            if (need > o->more) {              /* still: a finalizer may have used it */
                if (o->pkt.data != o->bytes) { /* what it shows now is in the memory that goes */
                    o->pkt.caplen = o->pkt.len = o->pkt.comment_len = 0;
                    o->pkt.ifname = o->pkt.comment = NULL;
                }
                lua_setiuservalue(L, into, 1);
                o->more = more;
            } else {
                lua_pop(L, 1);
            }
        }
        lua_pushvalue(L, into);
    } else {
        o = lua_newuserdatauv(L, sizeof(*o) + need, 1);
        memset(o, 0, sizeof(*o));
        o->capacity = need;
        o->pkt.data = o->bytes;
        rtap_lua_set_type(L, S->mt_owned);
    }
    pkt = rtap_lua_check_pkt(L, S, idx);
    bytes = owned_bytes(L, o, -1, owned_size(pkt));
    if (!bytes)
        luaL_error(L, "the packet was changed while it was copied");
    o->serial = ++S->serials;
    if (pkt != &o->pkt)
        fill(&o->pkt, bytes, pkt);
}

/* pkt:copy([into]) -> owned */
static int pkt_copy(lua_State *L)
{
    lua_settop(L, 2);
    rtap_lua_push_owned(L, RTAP_STATE(L), 1, lua_isnil(L, 2) ? 0 : 2);
    return 1;
}

/* pkt:hold() -> held; an owned packet is its own holder */
static int pkt_hold(lua_State *L)
{
    struct rtap_lua *S = RTAP_STATE(L);
    const struct rtap_pkt *p = self(L);
    struct rtap_held *h, *from;

    lua_settop(L, 1);
    if (rtap_lua_test(L, 1, S->mt_owned))
        return 1;
    if (rtap_lua_is_writable(L, S, 1))
        return luaL_error(L, "what can be written to can't be held: copy() gives a packet to keep");
    h = lua_newuserdatauv(L, sizeof(*h), 0);
    h->block = NULL;
    rtap_lua_set_type(L, S->mt_held);
    p = self(L); /* again: see above */
    from = rtap_lua_test(L, 1, S->mt_held);
    h->pkt = *p;
    h->serial = ++S->serials;
    h->block = from ? from->block : rtap_lua_slot_of(S, (uint64_t)(uintptr_t)lua_touserdata(L, 1))->block;
    rtap_block_pin(h->block);
    return 1;
}

/* held:release(), __gc, __close; nothing to do for the others */
static int pkt_release(lua_State *L)
{
    struct rtap_held *h = rtap_lua_test(L, 1, RTAP_STATE(L)->mt_held);
    struct rtap_block *b = h ? h->block : NULL;

    if (!h)
        self(L); /* raises if it is no packet */
    if (b) {
        h->block = NULL;
        rtap_block_unpin(b);
    }
    return 0;
}

/* ------------------------------------------------------------------ bytes, as the string library has them */

/* string.sub's rules: negative positions count from the end; false when the range is empty. */
static bool range(lua_Integer i, lua_Integer j, uint32_t n, uint32_t *from, uint32_t *to)
{
    lua_Integer len = (lua_Integer)n;

    if (i < 0)
        i = i < -len ? 1 : len + i + 1;
    if (i == 0)
        i = 1;
    if (j < 0)
        j = j < -len ? 0 : len + j + 1;
    if (j > len)
        j = len;
    if (i > j)
        return false;
    *from = (uint32_t)(i - 1);
    *to = (uint32_t)j;
    return true;
}

static int pkt_byte(lua_State *L)
{
    const struct rtap_pkt *p = self(L);
    lua_Integer i = luaL_optinteger(L, 2, 1);
    uint32_t from, to;

    if (!range(i, luaL_optinteger(L, 3, i), p->caplen, &from, &to))
        return 0;
    if (to - from >= 1000000)
        return luaL_error(L, "packet slice too long");
    luaL_checkstack(L, (int)(to - from), "packet slice too long");
    for (uint32_t k = from; k < to; k++)
        lua_pushinteger(L, p->data[k]);
    return (int)(to - from);
}

static int pkt_sub(lua_State *L)
{
    const struct rtap_pkt *p = self(L);
    uint32_t from, to;

    if (range(luaL_checkinteger(L, 2), luaL_optinteger(L, 3, -1), p->caplen, &from, &to))
        lua_pushlstring(L, (const char *)p->data + from, to - from);
    else
        lua_pushliteral(L, "");
    return 1;
}

static int pkt_bytes(lua_State *L)
{
    const struct rtap_pkt *p = self(L);

    lua_pushlstring(L, (const char *)p->data, p->caplen);
    return 1;
}

/* pkt:find(s [, init]): plain bytes, no patterns */
static int pkt_find(lua_State *L)
{
    size_t n;
    const char *s = luaL_checklstring(L, 2, &n); /* may allocate, so it comes first */
    const struct rtap_pkt *p = self(L);
    lua_Integer init = luaL_optinteger(L, 3, 1), len = p->caplen;
    const uint8_t *at;

    if (init < 0)
        init = init < -len ? 1 : len + init + 1;
    if (init == 0)
        init = 1;
    at = init - 1 > len ? NULL : memmem(p->data + init - 1, (size_t)(len - init + 1), s, n);
    if (!at) {
        luaL_pushfail(L);
        return 1;
    }
    lua_pushinteger(L, at - p->data + 1);
    lua_pushinteger(L, at - p->data + (lua_Integer)n);
    return 2;
}

static int pkt_unpack(lua_State *L)
{
    return rtap_lua_unpack(L, RTAP_STATE(L));
}

int rtap_lua_pkt_hex(lua_State *L)
{
    const struct rtap_pkt *p = self(L);
    size_t size = rtap_hex(p->data, p->caplen, true, NULL, 0) + 1, n;
    luaL_Buffer b;
    char *to = luaL_buffinitsize(L, &b, size);

    p = self(L);
    n = rtap_hex(p->data, p->caplen, true, to, size);
    if (n >= size)
        n = size - 1;
    luaL_pushresultsize(&b, n ? n - 1 : 0); /* print() ends the last line */
    return 1;
}

static int pkt_tostring(lua_State *L)
{
    struct rtap_line_style style = {.engine = rtap_lua_engine(L, RTAP_STATE(L))}; /* may run Lua, so it comes first */
    const struct rtap_pkt *p = self(L);
    char line[2048];
    size_t n = rtap_line(p, &style, line, sizeof(line));

    if (n >= sizeof(line))
        n = sizeof(line) - 1;
    while (n && line[n - 1] == '\n')
        n--;
    lua_pushlstring(L, line, n);
    return 1;
}

static int pkt_len(lua_State *L)
{
    lua_pushinteger(L, self(L)->caplen);
    return 1;
}

/* ------------------------------------------------------------------ properties */

enum property {
    P_TIME = 1,
    P_LEN,
    P_CAPLEN,
    P_DIRECTION,
    P_RECEPTION,
    P_INTERFACE,
    P_INTERFACE_ID,
    P_LINKTYPE,
    P_VLAN,
    P_CHECKSUM,
    P_TIMESTAMP_SOURCE,
    P_COMMENT,
    P_TRUNCATED,
    P_MALFORMED,
    P_LENGTH_GUESSED,
    P_GUESSED,
};

static const struct {
    const char *name;
    enum property property;
} properties[] = {
    {"time", P_TIME},
    {"len", P_LEN},
    {"caplen", P_CAPLEN},
    {"direction", P_DIRECTION},
    {"reception", P_RECEPTION},
    {"interface", P_INTERFACE},
    {"interface_id", P_INTERFACE_ID},
    {"linktype", P_LINKTYPE},
    {"vlan", P_VLAN},
    {"checksum", P_CHECKSUM},
    {"timestamp_source", P_TIMESTAMP_SOURCE},
    {"comment", P_COMMENT},
    {"truncated", P_TRUNCATED},
    {"malformed", P_MALFORMED},
    {"length_guessed", P_LENGTH_GUESSED},
    {"guessed", P_GUESSED},
};

static bool is_tpid(uint16_t type)
{
    return type == 0x8100 || type == 0x88a8 || type == 0x9100;
}

static void push_integer_field(lua_State *L, const char *name, lua_Integer v)
{
    lua_pushinteger(L, v);
    lua_setfield(L, -2, name);
}

/* The outermost tag, IEEE 802.1Q: a table with Wireshark's names, or nil. */
static void push_vlan(lua_State *L, const struct rtap_pkt *p)
{
    uint32_t at = p->linktype == RTAP_LINKTYPE_ETHERNET ? 12 : 0;
    const uint8_t *place;
    uint16_t tpid, tci;
    bool restored;

    if ((p->linktype != RTAP_LINKTYPE_ETHERNET && p->linktype != RTAP_LINKTYPE_LINUX_SLL2) || p->caplen < at + 4) {
        lua_pushnil(L);
        return;
    }
    tpid = rtap_be16(p->data + at);
    place = p->data + (at ? 14 : 20);
    if (!is_tpid(tpid) || place + 2 > p->data + p->caplen) {
        lua_pushnil(L);
        return;
    }
    tci = rtap_be16(place);
    restored = p->status & RTAP_PKT_VLAN_RESTORED;
    lua_createtable(L, 0, 5); /* from here on p may be gone */
    push_integer_field(L, "id", tci & 0xfff);
    push_integer_field(L, "priority", tci >> 13);
    lua_pushboolean(L, tci >> 12 & 1);
    lua_setfield(L, -2, "dei");
    push_integer_field(L, "tpid", tpid);
    lua_pushboolean(L, restored);
    lua_setfield(L, -2, "restored");
}

static const char *direction_text(const struct rtap_pkt *p)
{
    switch (p->epb_flags & RTAP_EPB_DIRECTION) {
    case RTAP_EPB_INBOUND: return (p->epb_flags & RTAP_EPB_RECEPTION) == RTAP_EPB_PROMISCUOUS ? "other" : "in";
    case RTAP_EPB_OUTBOUND: return "out";
    default: return NULL;
    }
}

static void push_property(lua_State *L, const struct rtap_pkt *p, enum property which)
{
    static const char *const reception[8] = {NULL, "unicast", "multicast", "broadcast", "promiscuous"};

    switch (which) {
    case P_TIME:
        if (p->time == RTAP_NO_TIME)
            lua_pushnil(L);
        else
            lua_pushinteger(L, p->time);
        break;
    case P_LEN: lua_pushinteger(L, p->len); break;
    case P_CAPLEN: lua_pushinteger(L, p->caplen); break;
    case P_DIRECTION: lua_pushstring(L, direction_text(p)); break;
    case P_RECEPTION:
        lua_pushstring(L, reception[(p->epb_flags & RTAP_EPB_RECEPTION) >> RTAP_EPB_RECEPTION_SHIFT]);
        break;
    case P_INTERFACE: lua_pushstring(L, p->ifname); break;
    case P_INTERFACE_ID: lua_pushinteger(L, p->ifindex); break;
    case P_LINKTYPE: lua_pushinteger(L, p->linktype); break;
    case P_VLAN: push_vlan(L, p); break;
    case P_CHECKSUM: { /* loading the tables runs Lua: the packet is looked up after that */
        struct rtap_engine *e = rtap_lua_engine(L, RTAP_STATE(L));

        lua_pushstring(L, rtap_checksum_state(e, self(L)));
        break;
    }
    case P_TIMESTAMP_SOURCE:
        lua_pushstring(L, p->status & RTAP_PKT_TS_HARDWARE   ? "hardware"
                          : p->status & RTAP_PKT_TS_SOFTWARE ? "software"
                                                             : NULL);
        break;
    case P_COMMENT:
        if (p->comment)
            lua_pushlstring(L, p->comment, p->comment_len);
        else
            lua_pushnil(L);
        break;
    case P_TRUNCATED: rtap_lua_push_fact(L, RTAP_STATE(L), 1, RTAP_FACT_TRUNCATED); break;
    case P_MALFORMED: rtap_lua_push_fact(L, RTAP_STATE(L), 1, RTAP_FACT_MALFORMED); break;
    case P_LENGTH_GUESSED: rtap_lua_push_fact(L, RTAP_STATE(L), 1, RTAP_FACT_LENGTH_GUESSED); break;
    case P_GUESSED: rtap_lua_push_fact(L, RTAP_STATE(L), 1, RTAP_FACT_GUESSED); break;
    }
}

/* upvalue 2: names to methods (functions, which check their packet themselves) and properties (integers) */
static int pkt_index(lua_State *L)
{
    const struct rtap_pkt *p;

    lua_settop(L, 2);
    lua_pushvalue(L, 2);
    switch (lua_rawget(L, lua_upvalueindex(2))) {
    case LUA_TFUNCTION: return 1;
    case LUA_TNUMBER:
        p = self(L);
        push_property(L, p, (enum property)lua_tointeger(L, -1));
        return 1;
    default: lua_settop(L, 2); return rtap_lua_index_field(L, RTAP_STATE(L));
    }
}

static int pkt_newindex(lua_State *L)
{
    self(L);
    if (rtap_lua_is_writable(L, RTAP_STATE(L), 1))
        return rtap_lua_write_field(L, RTAP_STATE(L));
    return luaL_error(L, "a packet can't be changed (field '%s')", luaL_tolstring(L, 2, NULL));
}

static const luaL_Reg methods[] = {
    {"byte", pkt_byte}, {"sub", pkt_sub},   {"bytes", pkt_bytes},     {"find", pkt_find}, {"unpack", pkt_unpack},
    {"copy", pkt_copy}, {"hold", pkt_hold}, {"release", pkt_release}, {NULL, NULL},
};

static const luaL_Reg metamethods[] = {
    {"__len", pkt_len},
    {"__tostring", pkt_tostring},
    {"__newindex", pkt_newindex},
    {"__close", pkt_release}, /* nothing to do, but `local p <close> = pkt:hold()` is right for all */
    {NULL, NULL},
};

static const luaL_Reg held_metamethods[] = {
    {"__len", pkt_len},    {"__tostring", pkt_tostring}, {"__newindex", pkt_newindex},
    {"__gc", pkt_release}, {"__close", pkt_release},     {NULL, NULL},
};

/* A metatable whose __index knows the names; leaves it on the stack. */
static const void *packet_type(lua_State *L, struct rtap_lua *S, const char *name, const luaL_Reg *meta, int names)
{
    const void *mt = rtap_lua_type(L, S, name, meta, NULL);

    lua_pushlightuserdata(L, S);
    lua_pushvalue(L, names);
    lua_pushcclosure(L, pkt_index, 2);
    lua_setfield(L, -2, "__index");
    return mt;
}

void rtap_lua_open_packet(lua_State *L, struct rtap_lua *S)
{
    int names;

    lua_newtable(L);
    names = lua_gettop(L);
    lua_pushlightuserdata(L, S);
    luaL_setfuncs(L, methods, 1);
    lua_pushlightuserdata(L, S);
    luaL_setfuncs(L, rtap_lua_decode_methods, 1);
    lua_pushlightuserdata(L, S);
    luaL_setfuncs(L, rtap_lua_write_methods, 1);
    for (size_t i = 0; i < sizeof(properties) / sizeof(properties[0]); i++)
        push_integer_field(L, properties[i].name, (lua_Integer)properties[i].property);
    S->mt_held = packet_type(L, S, "ringtap.packet (held)", held_metamethods, names);
    lua_pop(L, 1);
    S->mt_template = packet_type(L, S, "ringtap.template", metamethods, names);
    lua_pop(L, 1);
    S->mt_owned = packet_type(L, S, "ringtap.packet", metamethods, names);
    rtap_lua_set_light_metatable(L, S, lua_gettop(L));
    lua_pop(L, 1);
    lua_setfield(L, -2, "_packet_names"); /* for the specs and the completer */
}
