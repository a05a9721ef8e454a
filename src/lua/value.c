/*
 * Values of items as Lua values. Texts of addresses are cached: a direct-mapped table from the bytes to a string that a
 * Lua table keeps alive.
 */
#include "engine.h"

#include <stdlib.h>
#include <string.h>

#define TEXTS 1024 /* a power of two */

struct rtap_text_cache {
    struct {
        uint8_t bytes[16];
        uint8_t type; /* 0: empty */
    } at[TEXTS];
};

static const char texts_key = 0; /* only its address matters */

/* Texts that are made here are short: the longest is an object identifier of 128 numbers. */
static void push_text(lua_State *L, const struct rtap_layers *ls, const struct rtap_item *it)
{
    char text[4096];
    struct rtap_out o;
    size_t n;

    rtap_out_init(&o, text, sizeof(text));
    rtap_item_text(ls, it, &o);
    n = rtap_out_done(&o, sizeof(text));
    lua_pushlstring(L, text, n < sizeof(text) ? n : sizeof(text) - 1);
}

static unsigned hash(const uint8_t *p, unsigned n)
{
    uint64_t a = 0, b = 0;

    memcpy(&a, p, n < 8 ? n : 8);
    if (n > 8)
        memcpy(&b, p + 8, n - 8);
    a = (a ^ b * 0x9e3779b97f4a7c15ull) * 0xff51afd7ed558ccdull;
    return (unsigned)(a >> 40) & (TEXTS - 1);
}

/* The text of an address, from the cache when it was asked for before. */
static void push_address(lua_State *L, struct rtap_lua *S, const struct rtap_layers *ls, const struct rtap_item *it)
{
    uint32_t n;
    const uint8_t *p = rtap_item_bytes(ls, it, &n);
    uint8_t key[16] = {0}, type = it->decl->type;
    unsigned at;

    if (n == 0 || n > sizeof(key)) { /* nothing to be looked up */
        push_text(L, ls, it);
        return;
    }
    memcpy(key, p, n);
    at = hash(key, n);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &texts_key);
    if (S->texts->at[at].type == type && memcmp(S->texts->at[at].bytes, key, sizeof(key)) == 0) {
        lua_rawgeti(L, -1, (lua_Integer)at + 1);
    } else {
        push_text(L, ls, it);
        lua_pushvalue(L, -1);
        lua_rawseti(L, -3, (lua_Integer)at + 1); /* may allocate, and a finalizer may come here: so the key is last */
        memcpy(S->texts->at[at].bytes, key, sizeof(key));
        S->texts->at[at].type = type;
    }
    lua_remove(L, -2);
}

static void push_function_value(lua_State *L, const struct rtap_layers *ls, const struct rtap_item *it)
{
    struct rtap_call call;

    if (!rtap_item_call_of(ls, it, &call)) {
        lua_pushnil(L);
        return;
    }
    rtap_lua_push_call(L, &call);
    lua_call(L, 4, 1);
}

static void push_frame_text(lua_State *L, const struct rtap_layers *ls, const struct rtap_item *it)
{
    if (it->decl->bits == RTAP_FRAME_COMMENT && ls->pkt->comment)
        lua_pushlstring(L, ls->pkt->comment, ls->pkt->comment_len);
    else if (it->decl->bits == RTAP_FRAME_INTERFACE_NAME)
        lua_pushstring(L, ls->pkt->ifname);
    else
        push_text(L, ls, it);
}

void rtap_lua_push_item(lua_State *L, struct rtap_lua *S, const struct rtap_layers *ls, const struct rtap_item *it)
{
    const struct rtap_decl *d = it->decl;
    const uint8_t *p;
    uint32_t n;

    if (d->flags & RTAP_DECL_FUNC) {
        push_function_value(L, ls, it);
        return;
    }
    if (rtap_decl_is_number(d)) {
        int64_t v = rtap_item_number(ls, it);

        if (d->type == RTAP_BOOL)
            lua_pushboolean(L, v != 0);
        else
            lua_pushinteger(L, v);
        return;
    }
    switch (d->type) {
    case RTAP_IPV4:
    case RTAP_IPV6:
    case RTAP_ETHER: push_address(L, S, ls, it); break;
    case RTAP_FLOAT:
    case RTAP_FIXED: lua_pushnumber(L, rtap_item_double(ls, it)); break;
    case RTAP_BYTES:
        p = rtap_item_bytes(ls, it, &n);
        lua_pushlstring(L, (const char *)p, n);
        break;
    case RTAP_STRING:
    case RTAP_STRINGZ: {
        const uint8_t *end;

        p = rtap_item_bytes(ls, it, &n);
        end = n ? memchr(p, 0, n) : NULL; /* text ends at a NUL, as in Wireshark */
        lua_pushlstring(L, (const char *)p, end ? (size_t)(end - p) : n);
        break;
    }
    case RTAP_FRAME: push_frame_text(L, ls, it); break;
    default: push_text(L, ls, it); break;
    }
    rtap_lua_raise_pending(L, S);
}

void rtap_lua_open_value(lua_State *L, struct rtap_lua *S)
{
    S->texts = calloc(1, sizeof(*S->texts));
    if (!S->texts)
        luaL_error(L, "not enough memory");
    lua_createtable(L, TEXTS, 0);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &texts_key);
}
