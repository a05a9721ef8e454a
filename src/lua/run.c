/* Signals, progress and counts of a run that sends. See run.h. */
#include "run.h"

#include <string.h>

#define LOOK_EVERY 1000000 /* ns */

lua_Integer rtap_lua_run_integer(lua_State *L, int spec, const char *key, lua_Integer otherwise)
{
    lua_Integer v = lua_getfield(L, spec, key) == LUA_TNIL ? otherwise : luaL_checkinteger(L, -1);

    lua_pop(L, 1);
    return v;
}

double rtap_lua_run_number(lua_State *L, int spec, const char *key)
{
    double v = lua_getfield(L, spec, key) == LUA_TNIL ? 0 : luaL_checknumber(L, -1);

    lua_pop(L, 1);
    return v;
}

void rtap_lua_run_begin(lua_State *L, struct rtap_lua *S, struct rtap_lua_run *run, int spec)
{
    run->every = rtap_lua_run_integer(L, spec, "every", 0);
    lua_getfield(L, spec, "signals");
    run->signals = lua_isnil(L, -1) ? NULL : rtap_lua_check(L, lua_gettop(L), S->mt_signals, "signals");
    if (!run->u->sink) /* reading the table may have run anything */
        luaL_error(L, "attempt to use a closed sink");
    run->u->sink->ops->stats(run->u->sink, &run->before);
    run->refusals = run->u->sink->refusals;
}

static void push_histogram(lua_State *L, const struct rtap_histogram *h)
{
    lua_Integer n = 0;

    lua_createtable(L, 0, 8);
    rtap_lua_set_integer(L, "count", h->count);
    rtap_lua_set_integer(L, "p50", rtap_histogram_at(h, 0.5));
    rtap_lua_set_integer(L, "p90", rtap_histogram_at(h, 0.9));
    rtap_lua_set_integer(L, "p99", rtap_histogram_at(h, 0.99));
    rtap_lua_set_integer(L, "p999", rtap_histogram_at(h, 0.999));
    rtap_lua_set_integer(L, "worst", h->worst);
    lua_newtable(L);
    for (unsigned i = 0; i < RTAP_HISTOGRAM_BUCKETS; i++) {
        if (h->buckets[i] == 0)
            continue;
        lua_createtable(L, 0, 3);
        rtap_lua_set_integer(L, "from", rtap_histogram_value(i));
        rtap_lua_set_integer(L, "to", rtap_histogram_value(i + 1));
        rtap_lua_set_integer(L, "count", h->buckets[i]);
        lua_rawseti(L, -2, ++n);
    }
    lua_setfield(L, -2, "histogram");
}

void rtap_lua_run_push(lua_State *L, struct rtap_lua_run *run, bool whole)
{
    const struct rtap_sink *k = run->u->sink;
    bool refused = k->refusals != run->refusals;
    const char *kind = k->ops->kind;
    struct rtap_sink_stats now = {0};
    int64_t end = run->ended ? run->ended : rtap_pace_now();
    char error[sizeof(k->error)];

    /* everything first: what is allocated below may run a finalizer that closes the sink */
    run->u->sink->ops->stats(run->u->sink, &now);
    memcpy(error, k->error, sizeof(error));
    lua_createtable(L, 0, 16);
    rtap_lua_set_integer(L, "attempted", run->attempted);
    rtap_lua_set_integer(L, "packets", now.sent - run->before.sent);
    rtap_lua_set_integer(L, "bytes", now.bytes - run->before.bytes);
    rtap_lua_set_causes(L, "causes", run->before.refused, now.refused);
    rtap_lua_set_causes(L, "waits", run->before.waits, now.waits);
    lua_pushnumber(L, run->started ? (lua_Number)(end - run->started) / 1e9 : 0);
    lua_setfield(L, -2, "seconds");
    if (!whole)
        return;
    rtap_lua_set_text(L, "method", now.method ? now.method : kind);
    rtap_lua_set_integer(L, "calls", now.calls - run->before.calls);
    rtap_lua_set_integer(L, "super_frames", now.super_frames - run->before.super_frames);
    push_histogram(L, &run->late);
    lua_setfield(L, -2, "late");
    rtap_lua_set_text(L, "last", refused ? error : NULL);
}

bool rtap_lua_run_look(lua_State *L, struct rtap_lua_run *run, int spec)
{
    struct rtap_sink *k = run->u->sink;
    int64_t now = rtap_pace_now();

    if (now - run->looked < LOOK_EVERY)
        return true;
    run->looked = now;
    if (run->signals && rtap_lua_take_signal(run->signals))
        return false;
    if (!rtap_lua_interrupt_pending(L) && !(run->every && now - run->told >= run->every))
        return true;
    k->busy = true; /* whatever runs now can neither close it nor use it */
    rtap_lua_interrupt(L);
    if (run->every && now - run->told >= run->every) {
        run->told += run->every;
        lua_getfield(L, spec, "progress");
        rtap_lua_run_push(L, run, false);
        lua_call(L, 1, 0);
    }
    k->busy = false;
    return true;
}
