/* Between the files that make up the packet type: handle.c, packet.c (methods, properties) and unpack.c. */
#ifndef RTAP_LUA_PACKET_H
#define RTAP_LUA_PACKET_H

#include "rtap_lua.h"
#include <stddef.h>

/* The slot whose packet is shown under this handle, NULL when it is stale. */
struct rtap_slot *rtap_lua_slot_of(struct rtap_lua *S, uint64_t handle);
/* Make the functions of the metatable at index `ours` those of borrowed packets. */
void rtap_lua_set_light_metatable(lua_State *L, struct rtap_lua *S, int ours);
/* Arguments 1, 2 and 3 are the packet, the format and the position; pushes the values and the next position. */
int rtap_lua_unpack(lua_State *L, struct rtap_lua *S);

#endif
