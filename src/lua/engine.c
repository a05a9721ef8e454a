/*
 * The decode engine of a Lua state: loading its tables, the functions of tables that it calls, names of fields.
 */
#include "engine.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* _field_names(): all, unordered */
static int field_names(lua_State *L)
{
    struct rtap_engine *e = rtap_lua_engine(L, RTAP_STATE(L));
    unsigned n = e->name_count;
    lua_Integer count = 0;

    lua_createtable(L, (int)n, 0);
    for (unsigned i = 1; i < n; i++) {
        if (!e->name_uses[i])
            continue;
        lua_pushstring(L, e->names[i]);
        lua_rawseti(L, -2, ++count);
    }
    return 1;
}

/* _nearest(word, list): the most similar name in the list, or nil */
static int nearest(lua_State *L)
{
    const char *word = luaL_checkstring(L, 1), *best_name = NULL;
    unsigned best = (unsigned)strlen(word) / 2 + 1;

    luaL_checktype(L, 2, LUA_TTABLE);
    for (lua_Integer i = 1; lua_rawgeti(L, 2, i) == LUA_TSTRING; i++) {
        const char *name = lua_tostring(L, -1);
        unsigned d = rtap_lua_distance(word, name);

        if (d < best) {
            best = d;
            best_name = name; /* the list keeps it */
        }
        lua_pop(L, 1);
    }
    lua_pushstring(L, best_name);
    return 1;
}

/* ------------------------------------------------------------------ functions of tables, called by the engine */

struct call {
    const struct rtap_call *call;
    struct rtap_out *text;
    enum rtap_result result;
};

/* The function and its arguments: its bytes, the layer's, the position of the former in the latter and of what names
 * count from. The first copy is made before Lua can collect anything; the second is taken from it. */
void rtap_lua_push_call(lua_State *L, const struct rtap_call *call)
{
    struct rtap_call c = *call;
    const char *copy;

    luaL_checkstack(L, 8, "field");
    lua_pushlstring(L, (const char *)c.layer, c.layer_len);
    copy = lua_tostring(L, -1);
    rtap_lua_push_function(L, c.decl->func);
    lua_pushlstring(L, copy + c.at, c.len);
    lua_pushvalue(L, -3);
    lua_pushinteger(L, (lua_Integer)c.at + 1);
    lua_pushinteger(L, (lua_Integer)c.origin + 1);
    lua_remove(L, -6);
}

static int protected_call(lua_State *L)
{
    struct call *c = lua_touserdata(L, 1);

    rtap_lua_push_call(L, c->call);
    lua_call(L, 4, 1);
    if (lua_isboolean(L, -1)) {
        rtap_out_text(c->text, lua_toboolean(L, -1) ? "1" : "0");
        c->result = RTAP_RESULT_BOOL;
    } else if (lua_isinteger(L, -1) && c->call->decl->type == RTAP_UINT) {
        rtap_number_text(c->call->decl, lua_tointeger(L, -1), c->text);
        c->result = RTAP_RESULT_NUMBER;
    } else if (!lua_isnil(L, -1)) {
        bool number = lua_type(L, -1) == LUA_TNUMBER && isfinite(lua_tonumber(L, -1));
        size_t n;
        const char *s = luaL_tolstring(L, -1, &n);

        rtap_out_mem(c->text, s, n);
        c->result = number ? RTAP_RESULT_NUMBER : RTAP_RESULT_TEXT;
    }
    return 0;
}

/* What raises is kept (the last one) and raised by whoever asked the engine. */
static enum rtap_result call(void *context, const struct rtap_call *what, struct rtap_out *text)
{
    struct rtap_lua *S = context;
    lua_State *L = S->L;
    struct call c = {what, text, RTAP_RESULT_NONE};
    int status;

    if (!L || !lua_checkstack(L, 6))
        return RTAP_RESULT_NONE;
    lua_pushcfunction(L, protected_call);
    lua_pushlightuserdata(L, &c);
    status = lua_pcall(L, 1, 0, 0);
    S->L = L; /* whoever asked meanwhile may be gone */
    if (status == LUA_OK)
        return c.result;
    lua_rawsetp(L, LUA_REGISTRYINDEX, &S->engine_error);
    S->engine_error = true;
    return RTAP_RESULT_NONE;
}

void rtap_lua_raise_pending(lua_State *L, struct rtap_lua *S)
{
    if (!S->engine_error)
        return;
    S->engine_error = false;
    lua_rawgetp(L, LUA_REGISTRYINDEX, &S->engine_error);
    lua_pushnil(L);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &S->engine_error);
    lua_error(L);
}

/* require("ringtap.proto").load(leaves) */
static int load_tables(lua_State *L)
{
    lua_getglobal(L, "require");
    lua_pushliteral(L, "ringtap.proto");
    lua_call(L, 1, 1);
    lua_getfield(L, -1, "load");
    lua_pushvalue(L, 1);
    lua_call(L, 1, 0);
    return 0;
}

static struct rtap_engine *loaded(lua_State *L, struct rtap_lua *S, int level)
{
    int was = S->engine_loaded;

    if (!S->engine)
        luaL_error(L, "ringtap is closed"); /* a finalizer at the end of the state */
    S->L = L;
    if (was < level) {
        S->engine_loaded = level; /* the tables ask for the engine too */
        luaL_checkstack(L, 8, "protocols");
        lua_pushcfunction(L, load_tables);
        lua_pushboolean(L, level > 1);
        if (lua_pcall(L, 1, 0, 0) != LUA_OK) {
            S->engine_loaded = was;
            lua_error(L);
        }
    }
    return S->engine;
}

struct rtap_engine *rtap_lua_engine(lua_State *L, struct rtap_lua *S)
{
    return loaded(L, S, 2);
}

struct rtap_engine *rtap_lua_carriers(lua_State *L, struct rtap_lua *S)
{
    return loaded(L, S, 1);
}

void rtap_lua_new_link(lua_State *L, struct rtap_lua *S, uint16_t linktype)
{
    const struct rtap_engine *e = rtap_lua_carriers(L, S);

    if (S->engine_loaded < 2 && !rtap_engine_lookup(e, e->table_link, linktype))
        rtap_lua_engine(L, S);
    S->link_known = linktype;
}

static const luaL_Reg functions[] = {
    {"_field_names", field_names},
    {"_nearest", nearest},
    {NULL, NULL},
};

void rtap_lua_open_engine(lua_State *L, struct rtap_lua *S)
{
    S->link_known = UINT16_MAX;
    S->engine = rtap_engine_new();
    if (!S->engine)
        luaL_error(L, "not enough memory");
    S->engine->call = call;
    S->engine->context = S;
    lua_pushlightuserdata(L, S);
    luaL_setfuncs(L, functions, 1);
}
