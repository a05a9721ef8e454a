/* A Lua module: poll(fd, milliseconds) is poll(2) for reading; it returns what poll and revents say. */
#include <lauxlib.h>
#include <poll.h>

static int lua_poll(lua_State *L)
{
    struct pollfd p = {.fd = (int)luaL_checkinteger(L, 1), .events = POLLIN};
    int r = poll(&p, 1, (int)luaL_checkinteger(L, 2));

    lua_pushinteger(L, r);
    lua_pushinteger(L, p.revents);
    return 2;
}

int luaopen_poll(lua_State *L)
{
    lua_pushcfunction(L, lua_poll);
    return 1;
}
