/*
 * What decoding tells of a packet beside its fields: its layers, where they are, what is wrong with it, and all of its
 * items as a tree for printing and editing.
 */
#include "engine.h"

#include <string.h>

struct rtap_layers *rtap_lua_layers_all(lua_State *L, struct rtap_lua *S, int idx)
{
    struct rtap_layers *ls;

    rtap_lua_engine(L, S);
    ls = rtap_lua_layers(L, S, idx);
    rtap_layers_more(ls, NULL);
    return ls;
}

/* pkt:layers(): a list of names */
static int pkt_layers(lua_State *L)
{
    struct rtap_layers ls;
    lua_Integer n = 0;

    lua_settop(L, 1);
    ls = *rtap_lua_layers_all(L, RTAP_STATE(L), 1);
    lua_createtable(L, (int)ls.count, 0);
    for (unsigned i = 0; i < ls.count; i++) {
        if (ls.at[i].proto->hidden)
            continue;
        lua_pushstring(L, ls.at[i].proto->name);
        lua_rawseti(L, -2, ++n);
    }
    return 1;
}

static uint32_t captured(const struct rtap_layers *ls, uint32_t end)
{
    return end < ls->pkt->caplen ? end : ls->pkt->caplen;
}

/* pkt:at(layer): positions of its first byte, of its header's last, and of its last that was captured; nil: there is
 * none */
static int pkt_at(lua_State *L)
{
    struct rtap_lua *S = RTAP_STATE(L);
    struct rtap_layers *ls;
    const struct rtap_layer *l;

    luaL_checkstring(L, 2);
    lua_settop(L, 2);
    l = rtap_lua_find_layer(L, S, 1, 2, &ls);
    rtap_layers_finish(ls);
    if (!l) {
        luaL_pushfail(L);
        return 1;
    }
    lua_pushinteger(L, (lua_Integer)l->off + 1);
    lua_pushinteger(L, captured(ls, l->off + l->header));
    lua_pushinteger(L, captured(ls, l->end));
    return 3;
}

static bool carries(const struct rtap_proto *p)
{
    static const char *const names[] = {"tcp", "udp", "udplite", "sctp", "dccp"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(p->name, names[i]) == 0)
            return true;
    return false;
}

/* What carries the payload: the last transport, or the last layer of all. */
static const struct rtap_layer *carrier(const struct rtap_layers *ls)
{
    for (unsigned i = ls->count; i-- > 0;)
        if (carries(ls->at[i].proto))
            return &ls->at[i];
    for (unsigned i = ls->count; i-- > 0;)
        if (!ls->at[i].proto->hidden)
            return &ls->at[i];
    return NULL;
}

static bool payload_of(const struct rtap_layers *ls, const struct rtap_layer *l, uint32_t *from, uint32_t *to)
{
    if (!l)
        return false;
    *from = captured(ls, l->off + l->header);
    *to = captured(ls, l->end);
    if (*to < *from)
        *to = *from;
    return true;
}

bool rtap_lua_payload_range(lua_State *L, struct rtap_lua *S, int idx, uint32_t *from, uint32_t *to)
{
    const struct rtap_layers *ls = rtap_lua_layers_all(L, S, idx);

    return payload_of(ls, carrier(ls), from, to);
}

/* pkt:payload([layer]): what the layer (default: the last transport, or the last of all) carries, as its header says */
static int pkt_payload(lua_State *L)
{
    struct rtap_lua *S = RTAP_STATE(L);
    const struct rtap_layer *l;
    struct rtap_layers *ls;
    uint32_t from, to;

    lua_settop(L, 2);
    if (!lua_isnil(L, 2)) {
        luaL_checkstring(L, 2);
        l = rtap_lua_find_layer(L, S, 1, 2, &ls);
        rtap_layers_finish(ls);
    } else {
        ls = rtap_lua_layers_all(L, S, 1);
        l = carrier(ls);
    }
    if (payload_of(ls, l, &from, &to))
        lua_pushlstring(L, (const char *)ls->pkt->data + from, to - from);
    else
        luaL_pushfail(L);
    return 1;
}

/* ------------------------------------------------------------------ facts */

/* Walk everything, so that every flag is set. */
static struct rtap_layers *look_through(lua_State *L, struct rtap_lua *S, int idx)
{
    struct rtap_layers *ls = rtap_lua_layers_all(L, S, idx);

    for (unsigned i = 0; i < ls->count; i++)
        rtap_walk(ls, &ls->at[i], NULL, NULL, NULL);
    return ls;
}

static bool any(const struct rtap_layers *ls, unsigned flag)
{
    for (unsigned i = 0; i < ls->count; i++)
        if (ls->at[i].flags & flag)
            return true;
    return false;
}

void rtap_lua_push_fact(lua_State *L, struct rtap_lua *S, int idx, enum rtap_lua_fact which)
{
    struct rtap_layers *ls = look_through(L, S, idx);

    switch (which) {
    case RTAP_FACT_MALFORMED:
        for (unsigned i = 0; i < ls->count; i++) {
            if (ls->at[i].flags & RTAP_LAYER_MALFORMED) {
                lua_pushfstring(L, "%s: %s", ls->at[i].proto->name,
                                ls->at[i].message ? ls->at[i].message : "malformed");
                return;
            }
        }
        lua_pushnil(L);
        break;
    case RTAP_FACT_TRUNCATED:
        lua_pushboolean(L, ls->pkt->caplen < ls->pkt->len || any(ls, RTAP_LAYER_TRUNCATED));
        break;
    case RTAP_FACT_LENGTH_GUESSED: lua_pushboolean(L, any(ls, RTAP_LAYER_LENGTH_GUESS)); break;
    case RTAP_FACT_GUESSED: lua_pushboolean(L, any(ls, RTAP_LAYER_GUESS)); break;
    }
}

/* ------------------------------------------------------------------ the tree */

struct collector {
    struct rtap_item *items;
    unsigned count, room;
};

static int collect(void *context, const struct rtap_item *it)
{
    struct collector *c = context;

    if (c->items && c->count < c->room)
        c->items[c->count] = *it;
    c->count++;
    return 0;
}

static const struct rtap_pkt *same_packet(lua_State *L, struct rtap_lua *S, const struct rtap_layers *ls)
{
    const struct rtap_pkt *pkt = rtap_lua_check_pkt(L, S, 1);

    if (pkt != ls->pkt)
        luaL_error(L, "the packet was changed while it was read");
    return pkt;
}

/* false: a function of the table says that there is none */
static bool push_item_table(lua_State *L, struct rtap_lua *S, const struct rtap_layers *ls, const struct rtap_item *it)
{
    static const char *const kinds[] = {"field", "value", "alias", "sub", "sub_end", "loop", "round", "loop_end"};
    char text[512];
    struct rtap_out o;
    size_t n;

    lua_createtable(L, 0, 9);
    rtap_lua_set_text(L, "kind", kinds[it->kind]);
    rtap_lua_set_integer(L, "bit", it->bit);
    if (!it->decl) {
        if (it->kind == RTAP_ITEM_LOOP && it->number >= 0)
            rtap_lua_set_text(L, "list", ls->at[it->layer].proto->strings[it->number]);
        return true;
    }
    rtap_lua_set_integer(L, "bits", it->bits);
    if (it->decl->name)
        rtap_lua_set_text(L, "name", ls->engine->names[it->decl->name]);
    rtap_lua_set_text(L, "title", it->decl->title);
    same_packet(L, S, ls);
    rtap_lua_push_item(L, S, ls, it);
    if (it->decl->flags & RTAP_DECL_FUNC && lua_isnil(L, -1))
        return false;
    lua_setfield(L, -2, "value");
    if (it->decl->flags & RTAP_DECL_FUNC)
        return true;
    same_packet(L, S, ls);
    rtap_out_init(&o, text, sizeof(text));
    rtap_item_text(ls, it, &o);
    n = rtap_out_done(&o, sizeof(text));
    if (n >= sizeof(text)) {
        n = sizeof(text) - 1;
        lua_pushboolean(L, 1);
        lua_setfield(L, -2, "cut");
    }
    lua_pushlstring(L, text, n);
    lua_setfield(L, -2, "text");
    return true;
}

/* _tree(pkt): a list of layers, each with its items in order. See lua/ringtap/show.lua and edit.lua. */
static int tree(lua_State *L)
{
    struct rtap_lua *S = RTAP_STATE(L);
    struct rtap_layers ls;

    lua_settop(L, 1);
    ls = *look_through(L, S, 1);
    lua_createtable(L, (int)ls.count, 0); /* 2 */
    for (unsigned i = 0; i < ls.count; i++) {
        struct rtap_layer *l = &ls.at[i];
        struct collector c = {.items = NULL};

        lua_createtable(L, 0, 12); /* 3 */
        rtap_lua_set_text(L, "name", l->proto->name);
        rtap_lua_set_text(L, "title", l->proto->title);
        rtap_lua_set_text(L, "message", l->message);
        rtap_lua_set_integer(L, "off", l->off);
        rtap_lua_set_integer(L, "header", l->header);
        rtap_lua_set_integer(L, "stop", l->end);
        rtap_lua_set_integer(L, "flags", l->flags);
        same_packet(L, S, &ls);
        rtap_walk(&ls, l, collect, &c, NULL);
        c.room = c.count;
        c.count = 0;
        c.items = lua_newuserdatauv(L, (c.room + 1) * sizeof(*c.items), 0); /* 4 */
        same_packet(L, S, &ls);
        rtap_walk(&ls, l, collect, &c, NULL);
        if (c.count > c.room)
            c.count = c.room;
        lua_createtable(L, (int)c.count, 0); /* 5 */
        for (unsigned k = 0, n = 0; k < c.count; k++) {
            if (push_item_table(L, S, &ls, &c.items[k]))
                lua_rawseti(L, 5, (lua_Integer)++n);
            else
                lua_settop(L, 5);
        }
        lua_setfield(L, 3, "items");
        lua_settop(L, 3);
        lua_rawseti(L, 2, (lua_Integer)i + 1);
    }
    return 1;
}

/* The item as tshark -T fields prints it. */
static void push_tshark(lua_State *L, struct rtap_lua *S, const struct rtap_layers *ls, const struct rtap_item *it)
{
    size_t size = (size_t)it->bits / 8 * 5 + 4096, len;
    struct rtap_out o;
    luaL_Buffer b;
    char *to;

    if (it->decl->flags & RTAP_DECL_FUNC) {
        char number[24];

        rtap_lua_push_item(L, S, ls, it);
        if (lua_isinteger(L, -1) && it->decl->type == RTAP_UINT) {
            rtap_out_init(&o, number, sizeof(number));
            rtap_number_text(it->decl, lua_tointeger(L, -1), &o);
            rtap_out_done(&o, sizeof(number));
            lua_pushstring(L, number);
            lua_remove(L, -2);
        } else if (!lua_isnil(L, -1)) {
            luaL_tolstring(L, -1, NULL);
            lua_remove(L, -2);
        }
        return;
    }
    to = luaL_buffinitsize(L, &b, size); /* may run a finalizer */
    same_packet(L, S, ls);
    rtap_out_init(&o, to, size);
    rtap_item_text(ls, it, &o);
    len = rtap_out_done(&o, size);
    luaL_pushresultsize(&b, len < size ? len : size - 1);
}

/* pkt:texts(name): a list of every occurrence as text */
static int texts(lua_State *L)
{
    return rtap_lua_push_all(L, RTAP_STATE(L), push_tshark);
}

static int pkt_show(lua_State *L)
{
    rtap_lua_check_pkt(L, RTAP_STATE(L), 1);
    return rtap_lua_in_lua(L, "ringtap.show", "show");
}

static int pkt_edit(lua_State *L)
{
    rtap_lua_check_pkt(L, RTAP_STATE(L), 1);
    return rtap_lua_in_lua(L, "ringtap.edit", "edit");
}

/* pkt:hex([layer or field]): with one of them its bytes are marked */
static int pkt_hex(lua_State *L)
{
    rtap_lua_check_pkt(L, RTAP_STATE(L), 1);
    return lua_isnoneornil(L, 2) ? rtap_lua_pkt_hex(L) : rtap_lua_in_lua(L, "ringtap.show", "hex");
}

const luaL_Reg rtap_lua_decode_methods[] = {
    {"layers", pkt_layers},    {"at", pkt_at},   {"payload", pkt_payload},
    {"all", rtap_lua_pkt_all}, {"texts", texts}, {"show", pkt_show},
    {"edit", pkt_edit},        {"hex", pkt_hex}, {NULL, NULL},
};

/* _ipv6(bytes): the text of 16 bytes, RFC 5952; for functions of tables */
static int ipv6_text(lua_State *L)
{
    size_t n;
    const char *bytes = luaL_checklstring(L, 1, &n);
    char text[64];
    struct rtap_out o;

    luaL_argcheck(L, n == 16, 1, "16 bytes");
    rtap_out_init(&o, text, sizeof(text));
    rtap_out_ip6(&o, (const uint8_t *)bytes);
    rtap_out_done(&o, sizeof(text));
    lua_pushstring(L, text);
    return 1;
}

void rtap_lua_open_decode(lua_State *L, struct rtap_lua *S)
{
    static const luaL_Reg functions[] = {{"_tree", tree}, {"_ipv6", ipv6_text}, {NULL, NULL}};

    lua_pushlightuserdata(L, S);
    luaL_setfuncs(L, functions, 1);
}
