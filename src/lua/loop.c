/* The slow part of a loop's step: new blocks, waiting, deadlines, interrupts, predicates, ends. See loop.h. */
#include "loop.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

/* A wait is cut into slices, so that a signal that came just before it is not waited out. */
#define WAIT_SLICE 200000000

const struct rtap_option rtap_lua_loop_options[] = {
    {"count", RTAP_OPT_INT, offsetof(struct rtap_loop_options, count), 0, INT64_MAX, NULL},
    {"duration", RTAP_OPT_SECONDS, offsetof(struct rtap_loop_options, duration), 0, INT64_MAX, NULL},
    {"idle", RTAP_OPT_SECONDS, offsetof(struct rtap_loop_options, idle), 0, INT64_MAX, NULL},
    {NULL, 0, 0, 0, 0, NULL},
};

static int64_t now(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * 1000000000ll + ts.tv_nsec;
}

void rtap_lua_loop_end(struct rtap_lua_loop *lp, const char *reason)
{
    struct rtap_slot *slot = lp->slot;

    if (lp->owner) {
        struct rtap_lua_loop **at = &lp->owner->loops;

        while (*at && *at != lp)
            at = &(*at)->next;
        if (*at)
            *at = lp->next;
    }
    if (!lp->reason)
        lp->reason = reason;
    lp->owner = NULL;
    lp->source = NULL; /* an ended loop does not hear when its source is closed */
    lp->slot = NULL;
    lp->left = 0;
    if (slot)
        rtap_lua_slot_free(slot);
}

struct rtap_lua_loop *rtap_lua_loop_new(lua_State *L, struct rtap_lua *S, int source_idx,
                                        const struct rtap_loop_options *o)
{
    struct rtap_lua_source *u = lua_touserdata(L, source_idx);
    struct rtap_lua_loop *lp = lua_newuserdatauv(L, sizeof(*lp), 1);

    memset(lp, 0, sizeof(*lp));
    rtap_lua_set_type(L, S->mt_loop);
    lua_pushvalue(L, source_idx);
    lua_setiuservalue(L, -2, 1); /* the source lives as long as its loops */
    lp->slot = rtap_lua_slot_new(L, S);
    if (!u->source) { /* closed by a finalizer just now */
        rtap_lua_slot_free(lp->slot);
        lp->slot = NULL;
        luaL_error(L, "attempt to use a closed source");
    }
    lp->source = u->source;
    lp->owner = u;
    lp->left = o->count;
    lp->end = now();
    lp->end = o->duration > INT64_MAX - lp->end ? INT64_MAX : lp->end + o->duration;
    lp->idle = o->idle;
    lp->predicate = u->has_predicate;
    lp->next = u->loops;
    u->loops = lp;
    if (lp->left == 0)
        lp->reason = "count";
    return lp;
}

/* The loop is over: raise, or for next() leave the sentence in source->error. */
static void hard_error(lua_State *L, struct rtap_lua_loop *lp, int err)
{
    if (lp->quiet) {
        lp->failed = err;
        rtap_lua_loop_end(lp, "error");
        return;
    }
    lua_pushstring(L, lp->source->error);
    rtap_lua_loop_end(lp, "error");
    lua_error(L);
}

/* Call the Lua predicate, if there is one, on the packet that the slot shows. */
static bool predicate_says(lua_State *L, struct rtap_lua_loop *lp, int idx)
{
    bool ok = true;

    luaL_checkstack(L, 4, "predicate");
    lua_getiuservalue(L, idx, 1);
    if (lua_getiuservalue(L, -1, 1) == LUA_TFUNCTION) {
        rtap_lua_push_handle(L, lp);
        lua_call(L, 1, 1);
        ok = lua_toboolean(L, -1);
    }
    lua_pop(L, 2);
    return ok;
}

/*
 * A predicate may do anything: close the source, end the loop, step it, swap the filter. The packet counts as filtered
 * until it has passed, so that an error in a predicate leaves the sums right. A filter that was swapped meanwhile has
 * its say too.
 */
static bool passes(lua_State *L, struct rtap_lua_loop *lp, int idx)
{
    struct rtap_lua_source *u = lp->owner;
    uint64_t handle = lp->slot->handle;
    unsigned swaps = u->swaps, rounds = 0;
    bool ok;

    lp->source->delivered--;
    lp->source->filtered++;
    ok = predicate_says(L, lp, idx);
    while (ok && lp->slot && lp->slot->handle == handle && u->swaps != swaps && rounds++ < 16) {
        int r = lp->source->filter ? rtap_filter_match(lp->source->filter, &lp->slot->pkt, lp->source->error,
                                                       sizeof(lp->source->error))
                                   : 1;

        if (r < 0) {
            hard_error(L, lp, r);
            return false;
        }
        swaps = u->swaps;
        ok = r && predicate_says(L, lp, idx);
    }
    if (!ok || !lp->slot || lp->slot->handle != handle)
        return false;
    lp->source->delivered++;
    lp->source->filtered--;
    return true;
}

/* When the loop ends if no packet is shown before; the idle clock starts when it is first looked at after a packet. */
static int64_t deadline(struct rtap_lua_loop *lp, int64_t t)
{
    int64_t until;

    if (lp->source->delivered != lp->idle_mark || !lp->idle_since) {
        lp->idle_mark = lp->source->delivered;
        lp->idle_since = t;
    }
    until = lp->idle > INT64_MAX - lp->idle_since ? INT64_MAX : lp->idle_since + lp->idle;
    return lp->end < until ? lp->end : until;
}

static void end_at_deadline(struct rtap_lua_loop *lp, int64_t until)
{
    rtap_lua_loop_end(lp, until == lp->end ? "duration" : "idle");
}

/* Until something may be there, or the loop is over (left == 0). */
static void wait_for_packets(lua_State *L, struct rtap_lua_loop *lp)
{
    int64_t t = now();
    bool collected = false;

    if (lp->between)
        lp->between(L, lp, true);
    while (lp->left > 0 && lp->source) {
        int64_t until = deadline(lp, t), timeout;
        int r;

        timeout = until - t;
        if (timeout > WAIT_SLICE)
            timeout = WAIT_SLICE;
        lp->source->wake_fd = lp->wake_fd ? lp->wake_fd(lp) : -1;
        r = rtap_source_wait(lp->source, timeout < 0 ? 0 : timeout);
        lp->source->wake_fd = -1;
        if (r == 1) {
            if (t >= until) /* a source that always has something, though nothing that passes */
                end_at_deadline(lp, until);
            return;
        }
        if (r == -ENOBUFS && !collected) { /* held packets that nobody refers to any more */
            lua_gc(L, LUA_GCCOLLECT);
            collected = true;
            continue;
        }
        if (r < 0 && r != -EINTR) {
            hard_error(L, lp, r);
            return;
        }
        if (lp->between)
            lp->between(L, lp, false);
        rtap_lua_interrupt(L);
        t = now();
        if (lp->left > 0 && t >= until) {
            end_at_deadline(lp, until);
            return;
        }
    }
}

static void show_block(struct rtap_lua_loop *lp, struct rtap_block *b)
{
    struct rtap_block *old = lp->slot->block;

    if (b)
        rtap_block_pin(b);
    lp->slot->block = b;
    if (old)
        rtap_block_unpin(old);
}

/* While packets come without pause and none passes, nobody waits: ask the clock at each block. */
static void end_if_over(struct rtap_lua_loop *lp)
{
    int64_t t, until;

    if (!lp->source || (lp->end == INT64_MAX && lp->idle == INT64_MAX))
        return;
    t = now();
    until = deadline(lp, t);
    if (t >= until)
        end_at_deadline(lp, until);
}

/* A packet was taken from the source. It is counted as delivered, so it is shown even if the loop is to end now. */
static bool accept(lua_State *L, struct rtap_lua_loop *lp, int idx)
{
    bool fresh = lp->source->block != lp->slot->block, late = lp->reason != NULL;

    if (fresh) {
        show_block(lp, lp->source->block);
        if (lp->between)
            lp->between(L, lp, false);
        if (lp->end != INT64_MAX && now() >= lp->end) {
            lp->left = 1;
            lp->reason = "duration";
        }
        lp->new_block = true;
    }
    if (lp->predicate && lp->slot && lp->source && !passes(L, lp, idx)) {
        if (fresh && late) /* time was up at the block before: that one was looked through, so that next(0) is of use */
            lp->left = 0;
        else if (fresh && lp->slot && !lp->reason)
            end_if_over(lp);
        return false;
    }
    if (!lp->source || !lp->slot)
        return false;
    if (lp->left > 0)
        lp->left--;
    return true;
}

/* A slot whose generations come to their end is left for good. A block never has as many packets as are left then. */
static void renew_slot(lua_State *L, struct rtap_lua_loop *lp)
{
    struct rtap_slot *old = lp->slot, *fresh = rtap_lua_slot_new(L, RTAP_STATE(L));

    if (lp->slot != old) { /* it may have collected garbage, and a finalizer may have closed the source */
        rtap_lua_slot_free(fresh);
        return;
    }
    fresh->pkt = old->pkt;
    fresh->block = old->block;
    old->block = NULL;
    lp->slot = fresh;
    rtap_lua_slot_free(old);
}

bool rtap_lua_loop_slow(lua_State *L, struct rtap_lua_loop *lp, int idx, int r)
{
    if (lp->slot && (lp->slot->handle & RTAP_HANDLE_GEN_MASK) > RTAP_HANDLE_GEN_MASK - (1ull << 32))
        renew_slot(L, lp);
    for (;;) {
        if (r == RTAP_PACKET && lp->source) {
            if (accept(L, lp, idx))
                return true;
        } else if (lp->left > 0) {
            show_block(lp, NULL);
            if (r == RTAP_END) {
                rtap_lua_loop_end(lp, "end");
                return false;
            }
            if (r == RTAP_REJECTED) {
                rtap_lua_interrupt(L);
                if (lp->between)
                    lp->between(L, lp, false);
                end_if_over(lp);
            } else if (r != RTAP_AGAIN) {
                hard_error(L, lp, r);
            } else {
                wait_for_packets(L, lp);
            }
        }
        if (lp->closed)
            luaL_error(L, "the source was closed while a loop was running");
        if (lp->left == 0) {
            rtap_lua_loop_end(lp, "count");
            return false;
        }
        rtap_lua_slot_step(lp->slot);
        r = rtap_source_next(lp->source, &lp->slot->pkt);
    }
}
