/* Signals that are taken from a descriptor: for loops in C that end by them. */
#ifndef RTAP_LUA_SIGNALS_H
#define RTAP_LUA_SIGNALS_H

#include "rtap_lua.h"
#include <signal.h>

struct rtap_lua_signals {
    int fd; /* -1: closed */
    sigset_t set;
};

/* One pending signal's number, or 0. */
int rtap_lua_take_signal(struct rtap_lua_signals *g);

#endif
