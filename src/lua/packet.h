/* Between the files that make up the packet type: packet.c (types, handles) and unpack.c. */
#ifndef RTAP_LUA_PACKET_H
#define RTAP_LUA_PACKET_H

#include <stddef.h>
#include "rtap_lua.h"

/* Arguments 2 and 3 are the format and the position; pushes the values and the next position. */
int rtap_lua_unpack(lua_State *L, const struct rtap_pkt *pkt);

#endif
