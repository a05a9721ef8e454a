/* What the kernel says of interfaces, for ringtap info and dump -D. */
#include "rtap_lua.h"

void rtap_lua_open_netif(lua_State *L, struct rtap_lua *S)
{
    (void)L;
    (void)S;
}
