/* Templates: packets of our own that can be written to, made of bytes, packets and builders. See writable.h. */
#include "writable.h"

#include "../packet/gso.h"

#include <stdlib.h>
#include <string.h>

static struct rtap_lua_template *new_template(lua_State *L, struct rtap_lua *S, size_t room)
{
    struct rtap_lua_template *t = lua_newuserdatauv(L, sizeof(*t), 2);

    memset(t, 0, sizeof(*t));
    t->serial = ++S->serials;
    t->t.pkt.data = (const uint8_t *)"";
    t->t.pkt.time = RTAP_NO_TIME;
    rtap_lua_set_type(L, S->mt_template);
    t->t.pkt.data = lua_newuserdatauv(L, room + 1, 0);
    lua_setiuservalue(L, -2, 1);
    t->room = room;
    return t;
}

void rtap_lua_set_template(struct rtap_lua *S, struct rtap_lua_template *t, const void *bytes, size_t n,
                           uint16_t linktype)
{
    memcpy((uint8_t *)t->t.pkt.data, bytes, n);
    t->t.pkt.caplen = t->t.pkt.len = (uint32_t)n;
    t->t.pkt.linktype = linktype;
    t->t.pkt.status = 0;
    t->serial = ++S->serials;
    t->version = 0;
}

static bool is_builder(lua_State *L, int idx)
{
    int top = lua_gettop(L);
    bool is = luaL_getmetafield(L, idx, "__name") == LUA_TSTRING && strcmp(lua_tostring(L, -1), "ringtap.builder") == 0;

    lua_settop(L, top);
    return is;
}

/* Replace the builder at idx by the packet that it makes. */
static void builder_to_packet(lua_State *L, int idx)
{
    lua_getfield(L, idx, "packet");
    lua_pushvalue(L, idx);
    lua_call(L, 1, 1);
    lua_replace(L, idx);
}

static void keep_offload(struct rtap_lua_template *t, const struct rtap_pkt *from)
{
    t->t.pkt.status = from->status & (RTAP_PKT_CSUM_NOT_READY | RTAP_PKT_GSO | RTAP_PKT_VNET);
    t->t.pkt.gso_size = from->gso_size;
    t->t.pkt.gso_type = from->gso_type;
    t->t.pkt.csum_start = from->csum_start;
    t->t.pkt.csum_offset = from->csum_offset;
}

/* A template's checksums are good, so that they can be followed; those of a super-frame are its segments' affair. */
static void complete(lua_State *L, struct rtap_lua *S, int idx)
{
    struct rtap_lua_template *t = lua_touserdata(L, idx);

    if (t->t.pkt.status & RTAP_PKT_VNET)
        rtap_vnet_complete(&t->t.pkt, (uint8_t *)t->t.pkt.data);
    else
        rtap_layout_complete(rtap_lua_layout(L, S, idx), (uint8_t *)t->t.pkt.data);
    t->t.pkt.status = 0;
    t->serial = ++S->serials;
    t->version = 0;
}

static bool is_packet(lua_State *L, struct rtap_lua *S, int idx)
{
    return lua_islightuserdata(L, idx) || rtap_lua_test(L, idx, S->mt_owned) || rtap_lua_test(L, idx, S->mt_held) ||
           rtap_lua_test(L, idx, S->mt_template);
}

struct rtap_lua_template *rtap_lua_to_template(lua_State *L, struct rtap_lua *S, int idx, uint16_t linktype)
{
    struct rtap_lua_template *t = rtap_lua_test(L, idx, S->mt_template);
    const struct rtap_pkt *pkt;
    size_t n;
    int top = lua_gettop(L);

    if (t) {
        lua_pushvalue(L, idx);
        return t;
    }
    if (lua_type(L, idx) == LUA_TSTRING) {
        const char *bytes = lua_tolstring(L, idx, &n);

        if (n > 1 << 20)
            luaL_error(L, "a packet of %I bytes is too long to be sent", (lua_Integer)n);
        t = new_template(L, S, n);
        rtap_lua_set_template(S, t, bytes, n, linktype);
        return t;
    }
    lua_pushvalue(L, idx);
    if (is_builder(L, idx))
        builder_to_packet(L, top + 1);
    if (!is_packet(L, S, top + 1))
        luaL_error(L, "a packet, a template, a builder or bytes expected, got %s", luaL_typename(L, top + 1));
    n = rtap_lua_check_pkt(L, S, top + 1)->caplen;
    t = new_template(L, S, n);
    pkt = rtap_lua_check_pkt(L, S, top + 1); /* again: see above */
    if (pkt->caplen != n)
        luaL_error(L, "the packet was changed while it was copied");
    rtap_lua_set_template(S, t, pkt->data, n, pkt->linktype);
    t->t.pkt.time = pkt->time;
    t->t.pkt.len = pkt->len;
    keep_offload(t, pkt);
    lua_replace(L, top + 1);
    if (t->t.pkt.status & RTAP_PKT_CSUM_NOT_READY && !(t->t.pkt.status & RTAP_PKT_GSO))
        complete(L, S, lua_gettop(L));
    return t;
}

struct rtap_lua_template *rtap_lua_copy_template(lua_State *L, struct rtap_lua *S, int idx)
{
    size_t n = ((struct rtap_lua_template *)lua_touserdata(L, idx))->t.pkt.caplen;
    struct rtap_lua_template *t = new_template(L, S, n), *from = lua_touserdata(L, idx);

    if (from->t.pkt.caplen > n)
        luaL_error(L, "the template was changed while it was copied");
    rtap_lua_set_template(S, t, from->t.pkt.data, from->t.pkt.caplen, from->t.pkt.linktype);
    return t;
}

/* ringtap.template(packet | bytes | builder [, {linktype=}]) */
static int template_new(lua_State *L)
{
    struct rtap_lua *S = RTAP_STATE(L);
    static const struct rtap_option options[] = {
        {"linktype", RTAP_OPT_INT, 0, 0, 65535, NULL},
        {NULL, 0, 0, 0, 0, NULL},
    };
    int64_t linktype = RTAP_LINKTYPE_ETHERNET;

    lua_settop(L, 2);
    rtap_lua_options(L, 2, "template", options, &linktype);
    rtap_lua_to_template(L, S, 1, (uint16_t)linktype);
    if (lua_rawequal(L, 1, -1))
        rtap_lua_copy_template(L, S, 1);
    return 1;
}

const struct rtap_layout *rtap_lua_layout(lua_State *L, struct rtap_lua *S, int idx)
{
    struct rtap_lua_template *t = lua_touserdata(L, idx);
    const struct rtap_engine *e = rtap_lua_engine(L, S);

    if (t->version != e->version + 1) {
        lua_newtable(L);
        lua_setiuservalue(L, idx, 2);
        rtap_layout_find(rtap_lua_layers(L, S, idx), &t->t.layout);
        t->version = e->version + 1;
    }
    return &t->t.layout;
}

void rtap_lua_open_writable(lua_State *L, struct rtap_lua *S)
{
    static const luaL_Reg functions[] = {{"template", template_new}, {NULL, NULL}};

    lua_pushlightuserdata(L, S);
    luaL_setfuncs(L, functions, 1);
}
