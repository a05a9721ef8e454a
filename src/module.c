/* luaopen_ringtap_core: one struct rtap_lua per Lua state, and every part of the binding puts its names in the table.
 */
#include "lua/rtap_lua.h"
#include "lua/writable.h"
#include <stdlib.h>
#include <string.h>

__attribute__((visibility("default"))) int luaopen_ringtap_core(lua_State *L);

static int free_state(lua_State *L)
{
    struct rtap_lua *S = lua_touserdata(L, 1);

    for (unsigned i = 0; i < S->slot_count; i++)
        free(S->slots[i]);
    free(S->slots);
    S->slots = NULL;
    S->slot_count = 0;
    rtap_lua_free_fields(S);
    return 0;
}

int luaopen_ringtap_core(lua_State *L)
{
    static const char key = 0; /* only its address matters */
    struct rtap_lua *S;

    if (lua_rawgetp(L, LUA_REGISTRYINDEX, &key) == LUA_TTABLE)
        return 1; /* loaded again: handles of the first time stay good */
    lua_pop(L, 1);
    S = lua_newuserdatauv(L, sizeof(*S), 0);
    memset(S, 0, sizeof(*S));
    /* finalizers run in the reverse order of their making, so this one is the last */
    lua_createtable(L, 0, 1);
    lua_pushcfunction(L, free_state);
    lua_setfield(L, -2, "__gc");
    lua_setmetatable(L, -2);
    lua_rawsetp(L, LUA_REGISTRYINDEX, S);
    lua_newtable(L);
    rtap_lua_open_engine(L, S);
    rtap_lua_open_define(L, S);
    rtap_lua_open_value(L, S);
    rtap_lua_open_fields(L, S);
    rtap_lua_open_layer(L, S);
    rtap_lua_open_decode(L, S);
    rtap_lua_open_packet(L, S);
    rtap_lua_open_writable(L, S);
    rtap_lua_open_frames(L, S);
    rtap_lua_open_source(L, S);
    rtap_lua_open_sink(L, S);
    rtap_lua_open_sender(L, S);
    rtap_lua_open_signals(L, S);
    rtap_lua_open_filter(L, S);
    rtap_lua_open_capture(L, S);
    rtap_lua_open_savefile(L, S);
    rtap_lua_open_forward(L, S);
    rtap_lua_open_netif(L, S);
    rtap_lua_open_prompt(L, S);
    lua_pushvalue(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &key);
    return 1;
}
