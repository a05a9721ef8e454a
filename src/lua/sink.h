/* The sink userdata, for the files that open sinks or pass packets to them. */
#ifndef RTAP_LUA_SINK_H
#define RTAP_LUA_SINK_H

#include "rtap_lua.h"

struct rtap_lua_sink {
    struct rtap_sink *sink; /* NULL: not open yet, or closed */
    uint16_t linktype;      /* of strings that are sent */
};

struct rtap_lua_sink *rtap_lua_sink_new(lua_State *L, struct rtap_lua *S);
struct rtap_lua_sink *rtap_lua_check_sink(lua_State *L, struct rtap_lua *S, int idx); /* raises when closed */
int rtap_lua_sink_kick(lua_State *L, struct rtap_lua_sink *u);                        /* 0 or -errno; may raise */
/* A descriptor of our own for an open Lua file; raises when it is closed. */
int rtap_lua_own_descriptor(lua_State *L, luaL_Stream *f);
/* A file sink's Interface Statistics Block: what the source has counted until now. */
void rtap_lua_write_counters(struct rtap_sink *k, struct rtap_lua_source *from);

#endif
