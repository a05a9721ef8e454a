/* Types, errors and interrupts: what every file of the binding uses. See rtap_lua.h. */
#include "rtap_lua.h"

#include <errno.h>
#include <string.h>

void rtap_lua_set_integer(lua_State *L, const char *name, lua_Integer v)
{
    lua_pushinteger(L, v);
    lua_setfield(L, -2, name);
}

void rtap_lua_set_text(lua_State *L, const char *name, const char *text)
{
    if (text) {
        lua_pushstring(L, text);
        lua_setfield(L, -2, name);
    }
}

int rtap_lua_for(lua_State *L, struct rtap_lua *S, lua_CFunction step, int loop, int more)
{
    lua_pushlightuserdata(L, S);
    lua_pushvalue(L, loop);
    if (more)
        lua_pushvalue(L, more);
    lua_pushcclosure(L, step, more ? 3 : 2);
    lua_pushnil(L);
    lua_pushnil(L);
    lua_pushvalue(L, loop);
    return 4;
}

int rtap_lua_fail(lua_State *L, int err, const char *message)
{
    luaL_pushfail(L);
    lua_pushstring(L, message);
    lua_pushinteger(L, err < 0 ? -err : err);
    return 3;
}

int rtap_lua_in_lua(lua_State *L, const char *module, const char *name)
{
    lua_getglobal(L, "require");
    lua_pushstring(L, module);
    lua_call(L, 1, 1);
    lua_getfield(L, -1, name);
    lua_replace(L, -2);
    lua_insert(L, 1);
    lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
    return lua_gettop(L);
}

static void set_functions(lua_State *L, struct rtap_lua *S, const luaL_Reg *list)
{
    lua_pushlightuserdata(L, S);
    luaL_setfuncs(L, list, 1);
}

const void *rtap_lua_type(lua_State *L, struct rtap_lua *S, const char *name, const luaL_Reg *metamethods,
                          const luaL_Reg *methods)
{
    const void *mt;

    luaL_newmetatable(L, name);
    mt = lua_topointer(L, -1);
    set_functions(L, S, metamethods);
    if (methods) {
        lua_newtable(L);
        set_functions(L, S, methods);
        lua_setfield(L, -2, "__index");
    }
    lua_pushliteral(L, "protected");
    lua_setfield(L, -2, "__metatable");
    lua_pushvalue(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, mt); /* found again by its address, without a string key */
    return mt;
}

void rtap_lua_set_type(lua_State *L, const void *mt)
{
    lua_rawgetp(L, LUA_REGISTRYINDEX, mt);
    lua_setmetatable(L, -2);
}

void *rtap_lua_test(lua_State *L, int idx, const void *mt)
{
    const void *p;

    if (lua_type(L, idx) != LUA_TUSERDATA || !lua_getmetatable(L, idx))
        return NULL;
    p = lua_topointer(L, -1);
    lua_pop(L, 1);
    return p == mt ? lua_touserdata(L, idx) : NULL;
}

void *rtap_lua_check(lua_State *L, int idx, const void *mt, const char *what)
{
    void *p = rtap_lua_test(L, idx, mt);

    if (!p)
        luaL_typeerror(L, idx, what);
    return p;
}

static int nothing(lua_State *L)
{
    (void)L;
    return 0;
}

static lua_State *main_thread(lua_State *L)
{
    lua_State *m;

    lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_MAINTHREAD);
    m = lua_tothread(L, -1);
    lua_pop(L, 1);
    return m;
}

bool rtap_lua_interrupt_pending(lua_State *L)
{
    return lua_gethook(L) || lua_gethook(main_thread(L));
}

/*
 * lua.c answers SIGINT by setting a hook on the main thread that raises; other programs run handlers from hooks. A
 * call lets the hook run. A loop in a coroutine takes over the hook that the main thread is waiting to run.
 */
void rtap_lua_interrupt(lua_State *L)
{
    lua_State *m = main_thread(L);
    lua_Hook hook = lua_gethook(L), mains = lua_gethook(m);
    int mask = lua_gethookmask(L), count = lua_gethookcount(L);
    bool taken = mains && mains != hook;

    if (!hook && !mains)
        return;
    if (taken)
        lua_sethook(L, mains, lua_gethookmask(m), lua_gethookcount(m));
    lua_pushcfunction(L, nothing);
    lua_call(L, 0, 0);
    if (taken && lua_gethook(L) == mains)
        lua_sethook(L, hook, mask, count);
}
