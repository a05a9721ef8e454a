/* The sink userdata, for the files that open sinks or pass packets to them. */
#ifndef RTAP_LUA_SINK_H
#define RTAP_LUA_SINK_H

#include "rtap_lua.h"

struct rtap_lua_sink {
    struct rtap_sink *sink;        /* NULL: not open yet, or closed */
    uint16_t linktype;             /* of strings that are sent */
    bool queued;                   /* live: something may be queued that an earlier call could not pass on */
    struct rtap_lua_frames *loops; /* walks over its frames */
};

struct rtap_lua_sink *rtap_lua_sink_new(lua_State *L, struct rtap_lua *S);
struct rtap_lua_sink *rtap_lua_check_sink(lua_State *L, struct rtap_lua *S, int idx); /* raises when closed */
int rtap_lua_sink_kick(lua_State *L, struct rtap_lua_sink *u);                        /* 0 or -errno; may raise */
/* Give it the packet at idx (absolute), with checksums made good that were left to the hardware; as_it_is: unless it is
 * known that they were. 0 or as rtap_sink_send; -EINTR is for the caller. May raise. */
int rtap_lua_sink_put(lua_State *L, struct rtap_lua *S, struct rtap_lua_sink *u, int idx, bool as_it_is);
/* Pass on what is queued, waiting up to `patience` ns: 0, -EAGAIN when time is up, -errno. Signals run the hook, which
 * may raise. */
int rtap_lua_sink_push_out(lua_State *L, struct rtap_lua_sink *u, int64_t patience);
/* A field of the table on top: by cause what was added, where something was. */
void rtap_lua_set_causes(lua_State *L, const char *name, const uint64_t *before, const uint64_t *after);
extern const luaL_Reg rtap_lua_live_methods[]; /* of sinks: what only senders have */
/* A descriptor of our own for an open Lua file; raises when it is closed. */
int rtap_lua_own_descriptor(lua_State *L, luaL_Stream *f);
/* A file sink's Interface Statistics Block: what the source has counted until now. */
void rtap_lua_write_counters(struct rtap_sink *k, struct rtap_lua_source *from);

#endif
