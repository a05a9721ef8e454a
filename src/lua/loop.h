/*
 * A loop: one walk over a source by packets, each, bytes, next or forward. It owns a slot, so that what it showed last
 * is recognised as stale, and pins the block that it shows a packet of.
 */
#ifndef RTAP_LUA_LOOP_H
#define RTAP_LUA_LOOP_H

#include "rtap_lua.h"

struct rtap_lua_loop {
    struct rtap_source *source;    /* NULL once the source was closed */
    struct rtap_lua_source *owner; /* NULL once the loop has ended */
    struct rtap_slot *slot;        /* NULL once the loop has ended */
    struct rtap_lua_loop *next;    /* among the owner's */
    int64_t left;                  /* packets to go; 0: ended, stopped or closed */
    int64_t end;                   /* CLOCK_MONOTONIC ns, or INT64_MAX */
    int64_t idle;                  /* ns, or INT64_MAX */
    const char *reason;            /* why it ended: "count", "duration", "idle", "stopped", "end" */
    uint64_t idle_mark;            /* source->delivered when the idle clock started */
    int64_t idle_since;
    bool predicate; /* the source has a Lua predicate: user value 1 of the source */
    bool closed;    /* the source was closed under it */
    bool new_block; /* set at each block, for loops that stay in C: see rtap_lua_loop_breathe */
    int (*wake_fd)(const struct rtap_lua_loop *lp); /* a descriptor that ends a wait, or -1; may be NULL */
    bool quiet; /* next(): a hard error ends the loop with `failed` set, and is not raised */
    int failed;
    /* forward: called before each wait and at each new block; may be NULL */
    void (*between)(lua_State *L, struct rtap_lua_loop *lp, bool waiting);
    void *context;
};

struct rtap_loop_options {
    int64_t count, duration, idle;
    const char *from;
    int64_t patience;
    int signals, report, progress, direction;
};

extern const struct rtap_option rtap_lua_loop_options[]; /* count, duration, idle */

/* Push a loop userdata on the source at source_idx (absolute), linked and with a slot. */
struct rtap_lua_loop *rtap_lua_loop_new(lua_State *L, struct rtap_lua *S, int source_idx,
                                        const struct rtap_loop_options *o);
/* Everything but the fast case; r is what rtap_source_next said. */
bool rtap_lua_loop_slow(lua_State *L, struct rtap_lua_loop *lp, int idx, int r);
void rtap_lua_loop_end(struct rtap_lua_loop *lp, const char *reason);

/* Show the next packet: true, lp->slot->pkt and lp->slot->handle are good; false: ended. Raises on hard errors. idx is
 * where the loop userdata is (an absolute or upvalue index). */
static inline bool rtap_lua_loop_step(lua_State *L, struct rtap_lua_loop *lp, int idx)
{
    int r;

    if (__builtin_expect(lp->left == 0, 0))
        return rtap_lua_loop_slow(L, lp, idx, RTAP_AGAIN);
    rtap_lua_slot_step(lp->slot);
    r = rtap_source_next(lp->source, &lp->slot->pkt);
    if (__builtin_expect(r == RTAP_PACKET && lp->source->block == lp->slot->block && !lp->predicate, 1)) {
        lp->left--;
        return true;
    }
    return rtap_lua_loop_slow(L, lp, idx, r);
}

/* Loops that go on without Lua call this when they are done with a packet: now and then the hook may run. */
static inline void rtap_lua_loop_breathe(lua_State *L, struct rtap_lua_loop *lp)
{
    if (__builtin_expect(lp->new_block, 0)) {
        lp->new_block = false;
        rtap_lua_interrupt(L);
    }
}

static inline void rtap_lua_push_handle(lua_State *L, const struct rtap_lua_loop *lp)
{
    lua_pushlightuserdata(L, (void *)(uintptr_t)lp->slot->handle);
}

#endif
