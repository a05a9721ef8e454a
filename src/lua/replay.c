/*
 * Sending what a source gives with the times that it has: _replay makes the run, run:pass(source) sends one source's
 * packets, run:finish() gives the counts. lua/ringtap/send/replay.lua reads the options and makes the report.
 */
#include "../io/savefile.h"
#include "loop.h"
#include "run.h"
#include "writable.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define SLICE 10000000
#define BURST_TIME 20000 /* ns: what is due within it goes together */

struct replay { /* full userdata; user value 1: the sink, 2: what it was told, 3: the signals */
    struct rtap_lua_run run;
    struct rtap_pacer pacer;
    double speed;           /* 0: as fast as it goes */
    double packet_interval; /* ns, or 0: the recorded times */
    double bit_interval;
    double due;     /* of the packet, ns from the start */
    uint64_t count; /* packets to be sent */
    uint64_t read, skipped;
    int64_t duration, patience, stuck_since;
    int64_t latest;  /* time of a packet, of those of this source */
    uint32_t length; /* of the packet before */
    bool send_cut, running;
    const char *reason;
};

/* _replay(sink, spec): run */
static int replay_new(lua_State *L)
{
    struct rtap_lua *S = RTAP_STATE(L);
    struct replay *r;

    rtap_lua_check_sink(L, S, 1);
    luaL_checktype(L, 2, LUA_TTABLE);
    lua_settop(L, 2);
    r = lua_newuserdatauv(L, sizeof(*r), 3); /* 3 */
    memset(r, 0, sizeof(*r));
    rtap_lua_set_type(L, S->mt_replay);
    r->speed = rtap_lua_run_number(L, 2, "speed");
    r->packet_interval = rtap_lua_run_number(L, 2, "packet_interval");
    r->bit_interval = rtap_lua_run_number(L, 2, "bit_interval");
    r->count = (uint64_t)rtap_lua_run_integer(L, 2, "count", -1);
    r->duration = rtap_lua_run_integer(L, 2, "duration", INT64_MAX);
    r->patience = rtap_lua_run_integer(L, 2, "patience", 500000000);
    lua_getfield(L, 2, "send_cut");
    r->send_cut = lua_toboolean(L, -1);
    lua_pop(L, 1);
    lua_pushvalue(L, 1);
    lua_setiuservalue(L, 3, 1);
    lua_pushvalue(L, 2);
    lua_setiuservalue(L, 3, 2);
    r->run.u = rtap_lua_check_sink(L, S, 1);
    if (r->run.u->loops)
        return luaL_error(L, "replay: a loop over this sender's frames is running");
    if (r->run.u->sink->live) {
        int err = rtap_lua_sink_push_out(L, r->run.u, r->patience); /* what an earlier call had to leave */

        r->run.u = rtap_lua_check_sink(L, S, 1);
        if (err < 0)
            return rtap_lua_fail(L, rtap_sink_errno(r->run.u->sink, err), r->run.u->sink->error);
    }
    rtap_lua_run_begin(L, S, &r->run, 2);
    lua_setiuservalue(L, 3, 3);
    lua_settop(L, 3);
    return 1;
}

static bool is_paced(const struct replay *r)
{
    return r->packet_interval > 0 || r->bit_interval > 0 || r->speed > 0;
}

static struct replay *check_run(lua_State *L)
{
    struct replay *r = rtap_lua_check(L, 1, RTAP_STATE(L)->mt_replay, "replay");

    if (r->run.ended)
        luaL_error(L, "this replay is over");
    if (r->running)
        luaL_error(L, "this replay is running already");
    return r;
}

/* ------------------------------------------------------------------ between packets */

#define SPEC 5 /* stack index in run:pass */

/* Signals, hooks, progress. False: it is to end. */
static bool look_around(lua_State *L, struct replay *r, int64_t now)
{
    if (now - r->run.started >= r->duration)
        r->reason = "duration";
    else if (!rtap_lua_run_look(L, &r->run, SPEC))
        r->reason = "interrupted";
    return r->reason == NULL;
}

static int wake_fd(const struct rtap_lua_loop *lp)
{
    const struct replay *r = lp->context;

    return r->run.signals ? r->run.signals->fd : -1;
}

/* While the source has nothing. This runs in the frame of run:pass. */
static void between(lua_State *L, struct rtap_lua_loop *lp, bool waiting)
{
    struct replay *r = lp->context;

    if (waiting && r->run.u->sink && r->run.u->sink->live)
        r->run.u->sink->ops->kick(r->run.u->sink);
    r->run.looked = 0;
    if (r->run.u->sink && !look_around(L, r, rtap_pace_now()))
        lp->left = 0;
}

/* What is queued goes out: 0, -EAGAIN (not all), or hard. */
static int pass_on(struct replay *r)
{
    int err = r->run.u->sink->ops->kick(r->run.u->sink);

    if (err == 0)
        r->stuck_since = 0;
    return err;
}

/* Nothing can be sent: true, try again; false: for too long now, or it is to end. */
static bool wait_for_room(lua_State *L, struct replay *r)
{
    int64_t now = rtap_pace_now(), left;
    struct rtap_sink *k = r->run.u->sink;

    if (!r->stuck_since)
        r->stuck_since = now;
    left = r->patience - (now - r->stuck_since);
    if (!k->ops->wait || left <= 0) {
        r->reason = "stuck";
        return false;
    }
    k->wake_fd = r->run.signals ? r->run.signals->fd : -1;
    k->ops->wait(k, left < SLICE ? left : SLICE);
    k->wake_fd = -1;
    r->run.looked = 0;
    return look_around(L, r, rtap_pace_now());
}

static int64_t due_at(const struct replay *r)
{
    return r->due < 4e18 ? r->run.started + (int64_t)r->due : INT64_MAX / 2;
}

/* Until the next packet is due. False: it is to end. */
static bool wait_until_due(lua_State *L, struct replay *r)
{
    int64_t due = due_at(r), now = rtap_pace_now();

    if (!r->run.u->sink) /* fn may have closed it */
        luaL_error(L, "attempt to use a closed sink");
    if (due - now <= BURST_TIME)
        return look_around(L, r, now);
    if (r->run.u->sink->live)
        pass_on(r); /* what can't go out now is tried again with what comes next */
    while ((now = rtap_pace_now()) < due) {
        int64_t until = due - now > SLICE ? now + SLICE : due;

        if (r->duration < INT64_MAX / 2 && until - r->run.started > r->duration)
            until = r->run.started + r->duration;
        if (rtap_pace_until(&r->pacer, until, r->run.signals ? r->run.signals->fd : -1) < 0 || until < due)
            r->run.looked = 0;
        if (!look_around(L, r, rtap_pace_now()))
            return false;
    }
    return true;
}

/* When the packet is due, from the one before. */
static void schedule(struct replay *r, const struct rtap_pkt *pkt)
{
    double gap = 0;

    if (r->packet_interval > 0 || r->bit_interval > 0) {
        if (r->read > 0)
            gap = r->packet_interval > 0 ? r->packet_interval : r->bit_interval * r->length * 8;
    } else if (r->speed > 0 && pkt->time != RTAP_NO_TIME) {
        if (r->latest != RTAP_NO_TIME && pkt->time > r->latest)
            gap = ((double)pkt->time - (double)r->latest) / r->speed;
        if (r->latest == RTAP_NO_TIME || pkt->time > r->latest)
            r->latest = pkt->time; /* what is earlier than another before it goes at once */
    }
    r->due += gap;
    r->length = pkt->len; /* of the packet that the next one waits for */
    r->read++;
}

/* ------------------------------------------------------------------ one source */

/* fn(template) at 3: what goes out instead is at `what` then; false: nothing. */
static bool ask(lua_State *L, struct rtap_lua *S, struct replay *r, int what)
{
    rtap_lua_to_template(L, S, what, 0);
    lua_replace(L, what);
    lua_pushvalue(L, 3);
    lua_pushvalue(L, what);
    lua_call(L, 1, 1);
    if (lua_isboolean(L, -1) && !lua_toboolean(L, -1))
        return false;
    if (lua_istable(L, -1) || lua_isuserdata(L, -1) || lua_type(L, -1) == LUA_TSTRING) {
        rtap_lua_to_template(L, S, what + 1, r->run.u->linktype);
        lua_replace(L, what);
    }
    lua_settop(L, what);
    return true;
}

/* The packet at `what`, a template or a handle, to the sink. 0, or hard. */
static int put(lua_State *L, struct rtap_lua *S, struct replay *r, int what)
{
    int err;

    if (is_paced(r))
        rtap_histogram_add(&r->run.late, rtap_pace_now() - due_at(r));
    for (;;) {
        if (S->engine_loaded) /* a sink that prints fields; the tables' loading may run Lua */
            rtap_lua_know_link(L, S, rtap_lua_check_pkt(L, S, what)->linktype);
        err = rtap_lua_sink_put(L, S, r->run.u, what, false);
        rtap_lua_raise_pending(L, S);
        if (err == -EINTR) {
            rtap_lua_interrupt(L);
        } else if (err != -EAGAIN || !r->run.u->sink->live) {
            break;
        } else if (!wait_for_room(L, r)) {
            r->run.u->sink->ops->drop(r->run.u->sink, r->run.u->sink->blocked, 1);
            r->run.attempted++;
            return 0;
        } else {
            pass_on(r);
        }
        if (!r->run.u->sink)
            luaL_error(L, "attempt to use a closed sink");
    }
    r->run.attempted++;
    if (err == 0 || (r->run.u->sink->live && (err == -EMSGSIZE || err == -EINVAL)))
        return 0; /* what is refused is counted */
    return err;
}

/* What is queued goes out as far as it can now. */
static void leave(struct replay *r)
{
    struct rtap_sink *k = r->run.u->sink;

    rtap_pace_end(&r->pacer);
    r->running = false;
    if (!k)
        return;
    k->busy = false;
    if (k->live)
        r->run.u->queued = k->ops->kick(k) == -EAGAIN;
}

/* However run:pass is left. */
static int replay_close(lua_State *L)
{
    leave(rtap_lua_check(L, 1, RTAP_STATE(L)->mt_replay, "replay"));
    return 0;
}

/* run:pass(source [, fn]): why it ended: "end" (there may be another source), or a reason to finish; or nil, message,
 * errno */
static int replay_pass(lua_State *L)
{
    struct rtap_lua *S = RTAP_STATE(L);
    struct replay *r = check_run(L);
    struct rtap_loop_options o = {.count = INT64_MAX, .duration = r->duration, .idle = INT64_MAX};
    struct rtap_lua_loop *lp;
    int err = 0;

    rtap_lua_check_source(L, S, 2);
    lua_settop(L, 3);
    lua_getiuservalue(L, 1, 1); /* 4 */
    rtap_lua_check_sink(L, S, 4);
    lua_getiuservalue(L, 1, 2);          /* 5: SPEC */
    lp = rtap_lua_loop_new(L, S, 2, &o); /* 6 */
    lua_toclose(L, 6);
    lp->quiet = true;
    lp->context = r;
    lp->wake_fd = wake_fd;
    lp->between = between;
    lua_pushvalue(L, 1); /* 7 */
    lua_toclose(L, 7);
    if (!lua_isnil(L, 3))
        rtap_lua_engine(L, S); /* now, not when the first packet is due */
    rtap_pace_begin(&r->pacer);
    r->running = true;
    if (!r->run.started)
        r->run.started = r->run.told = rtap_pace_now();
    r->run.looked = 0;
    look_around(L, r, rtap_pace_now()); /* also when nothing is ever sent */
    r->latest = RTAP_NO_TIME;
    while (!r->reason && err == 0) {
        if (r->run.attempted >= r->count) {
            r->reason = "count";
            break;
        }
        if (!rtap_lua_loop_step(L, lp, 6))
            break;
        if (r->send_cut)
            lp->slot->pkt.len = lp->slot->pkt.caplen;
        schedule(r, &lp->slot->pkt);
        rtap_lua_push_handle(L, lp); /* 8 */
        if (!lua_isnil(L, 3) && !ask(L, S, r, 8))
            r->skipped++;
        else if (wait_until_due(L, r))
            err = put(L, S, r, 8);
        lua_settop(L, 7);
        if (!r->run.u->sink)
            return luaL_error(L, "attempt to use a closed sink");
        rtap_lua_loop_breathe(L, lp);
    }
    if (lp->failed)
        return rtap_lua_fail(L, lp->failed, rtap_lua_check_source(L, S, 2)->source->error);
    if (err < 0)
        return rtap_lua_fail(L, err, rtap_lua_check_sink(L, S, 4)->sink->error);
    lua_pushstring(L, r->reason ? r->reason : lp->reason && strcmp(lp->reason, "duration") == 0 ? "duration" : "end");
    return 1;
}

/* run:read(): packets that sources have given */
static int replay_read(lua_State *L)
{
    lua_pushinteger(L, (lua_Integer)check_run(L)->read);
    return 1;
}

/* run:finish(): what is queued is waited for, then counts as refused; the counts */
static int replay_finish(lua_State *L)
{
    struct replay *r = check_run(L);
    struct rtap_sink *k;
    char error[sizeof(k->error)];
    int err;

    lua_settop(L, 1);
    lua_getiuservalue(L, 1, 1);
    k = rtap_lua_check_sink(L, RTAP_STATE(L), 2)->sink;
    if (k->live) {
        bool hurry = r->reason && (strcmp(r->reason, "interrupted") == 0 || strcmp(r->reason, "stuck") == 0);

        err = rtap_lua_sink_push_out(L, r->run.u, hurry ? 0 : r->patience);
        k = rtap_lua_check_sink(L, RTAP_STATE(L), 2)->sink;
        if (err == -EAGAIN) {
            err = rtap_sink_errno(k, err);
            k->ops->drop(k, k->blocked ? k->blocked : RTAP_ABANDONED, 0);
        } else if (err == 0 && r->reason && strcmp(r->reason, "stuck") == 0) {
            err = -EAGAIN;
        }
        r->run.u->queued = false;
    } else {
        err = rtap_lua_sink_kick(L, r->run.u);
        k = rtap_lua_check_sink(L, RTAP_STATE(L), 2)->sink;
    }
    memcpy(error, k->error, sizeof(error)); /* what is allocated may run a finalizer that closes the sink */
    r->run.ended = rtap_pace_now();
    rtap_lua_run_push(L, &r->run, true);
    rtap_lua_set_integer(L, "skipped", r->skipped);
    rtap_lua_set_integer(L, "read", r->read);
    if (err < 0) { /* in the end not everything could be sent */
        rtap_lua_set_text(L, "message", error);
        rtap_lua_set_integer(L, "errno", -err);
    }
    return 1;
}

/* _again(source): a file from its start, as a new source with the same filter; a memory source, wound back */
static int again(lua_State *L)
{
    struct rtap_lua *S = RTAP_STATE(L);
    struct rtap_source *s = rtap_lua_check_source(L, S, 1)->source, *fresh;
    struct rtap_lua_source *u;
    char err[512];
    int r;

    lua_settop(L, 1);
    if (s->ops->rewind) {
        s->ops->rewind(s);
        return 1;
    }
    u = rtap_lua_source_new(L, S);
    s = rtap_lua_check_source(L, S, 1)->source; /* again: a finalizer may have closed it */
    if (strcmp(s->ops->kind, "file") != 0 || (s->ops->fd && s->ops->fd(s) >= 0))
        return luaL_error(L, "%s can't be read a second time: loop takes a file, or packets from memory", s->name);
    r = rtap_read_open(&fresh, &(struct rtap_read_config){.path = s->name, .fd = -1}, err, sizeof(err));
    if (r == 0 && s->filter) {
        r = rtap_source_filter(fresh, s->filter);
        if (r < 0) {
            snprintf(err, sizeof(err), "%s", fresh->error);
            rtap_source_close(fresh);
        }
    }
    if (r < 0)
        return rtap_lua_fail(L, r, err);
    u->source = fresh;
    lua_getiuservalue(L, 1, 1); /* a predicate */
    u->has_predicate = lua_isfunction(L, -1);
    lua_setiuservalue(L, 2, 1);
    return 1;
}

void rtap_lua_open_replay(lua_State *L, struct rtap_lua *S)
{
    static const luaL_Reg functions[] = {{"_replay", replay_new}, {"_again", again}, {NULL, NULL}};
    static const luaL_Reg methods[] = {
        {"pass", replay_pass}, {"read", replay_read}, {"finish", replay_finish}, {NULL, NULL}};
    static const luaL_Reg metamethods[] = {{"__close", replay_close}, {NULL, NULL}};

    S->mt_replay = rtap_lua_type(L, S, "ringtap.replay", metamethods, methods);
    lua_pop(L, 1);
    lua_pushlightuserdata(L, S);
    luaL_setfuncs(L, functions, 1);
}
