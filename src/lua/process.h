/* What the command needs of the process and its files that Lua's own library hasn't. */
#ifndef RTAP_LUA_PROCESS_H
#define RTAP_LUA_PROCESS_H

#include "rtap_lua.h"

/* Adds its functions, whose names begin with _, to the module table on top of the stack. */
void rtap_lua_open_process(lua_State *L, struct rtap_lua *S);

#endif
