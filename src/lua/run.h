/* What the two ways of sending many packets share, blast.c and replay.c: what they are told, signals and progress
 * meanwhile, and the counts at the end. */
#ifndef RTAP_LUA_RUN_H
#define RTAP_LUA_RUN_H

#include "../io/pace.h"
#include "signals.h"
#include "sink.h"

struct rtap_lua_run {
    struct rtap_lua_sink *u;
    struct rtap_lua_signals *signals; /* NULL: none */
    struct rtap_sink_stats before;
    int64_t started, ended; /* CLOCK_MONOTONIC; 0: not yet */
    int64_t looked, told, every;
    uint64_t refusals;  /* of the sink, before */
    uint64_t attempted; /* frames that were made, or packets that were given to the sink */
    struct rtap_histogram late;
};

lua_Integer rtap_lua_run_integer(lua_State *L, int spec, const char *key, lua_Integer otherwise);
double rtap_lua_run_number(lua_State *L, int spec, const char *key); /* 0 if it isn't there */
/* Read signals and every from the table at spec; what the sink has counted before. The sink is run->u. The signals are
 * left on the stack: they have to live as long as the run. */
void rtap_lua_run_begin(lua_State *L, struct rtap_lua *S, struct rtap_lua_run *run, int spec);
/* Now and then: hooks run, and the function `progress` of the table at spec is called each `every` ns. False: a signal
 * came that ends the run. */
bool rtap_lua_run_look(lua_State *L, struct rtap_lua_run *run, int spec);
/* Push a table of the counts; the sink is open. whole: also what is only known at the end. */
void rtap_lua_run_push(lua_State *L, struct rtap_lua_run *run, bool whole);

#endif
