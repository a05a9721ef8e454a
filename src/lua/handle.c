/*
 * Handles: the slots that borrowed packets live in, finding the packet behind a value, and the metatable of light
 * userdata. See rtap_lua.h for what a handle is made of.
 *
 * That metatable belongs to the whole Lua state. Whoever set one before keeps it: values without our tag are handed on
 * to it.
 */
#include "packet.h"

#include "writable.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

_Static_assert(sizeof(void *) == 8, "a handle takes the 64 bits of a light userdata");

static const char stale_message[] =
    "stale packet: it was valid until the loop's next step (use pkt:copy() or pkt:hold())";

/* ------------------------------------------------------------------ slots */

static struct rtap_slot *free_slot(struct rtap_lua *S)
{
    for (unsigned i = 0; i < S->slot_count; i++) {
        struct rtap_slot *slot = S->slots[i];

        /* a slot that is near the end of its generations is never used again */
        if (!slot->in_use && (slot->handle & RTAP_HANDLE_GEN_MASK) < RTAP_HANDLE_GEN_MASK / 2)
            return slot;
    }
    return NULL;
}

struct rtap_slot *rtap_lua_slot_new(lua_State *L, struct rtap_lua *S)
{
    struct rtap_slot *slot = free_slot(S), **slots;
    uint64_t seed;

    if (!slot && S->slot_count == RTAP_HANDLE_SLOT_MAX) {
        lua_gc(L, LUA_GCCOLLECT); /* loops that were left lying */
        slot = free_slot(S);
        if (!slot)
            luaL_error(L, "too many packet loops at once (%d)", (int)RTAP_HANDLE_SLOT_MAX);
    }
    if (slot) {
        slot->in_use = true;
        return slot;
    }
    slots = realloc(S->slots, (S->slot_count + 1) * sizeof(*slots));
    if (slots)
        S->slots = slots;
    slot = slots ? calloc(1, sizeof(*slot)) : NULL;
    if (!slot)
        luaL_error(L, "not enough memory");
    /* Start anywhere, so that a handle that strays into another Lua state matches nothing there. */
    seed = (uint64_t)(uintptr_t)slot * 0x9e3779b97f4a7c15ull ^ (uint64_t)clock();
    slot->number = S->slot_count;
    slot->handle = (uint64_t)RTAP_HANDLE_TAG << RTAP_HANDLE_TAG_SHIFT |
                   (uint64_t)slot->number << RTAP_HANDLE_SLOT_SHIFT | (seed >> 32);
    slot->in_use = true;
    S->slots[S->slot_count++] = slot;
    return slot;
}

void rtap_lua_slot_free(struct rtap_slot *slot)
{
    struct rtap_block *b = slot->block;

    rtap_lua_slot_step(slot);
    slot->block = NULL;
    slot->frames = NULL;
    slot->in_use = false;
    if (b)
        rtap_block_unpin(b);
}

struct rtap_slot *rtap_lua_slot_of(struct rtap_lua *S, uint64_t handle)
{
    unsigned n = (unsigned)(handle >> RTAP_HANDLE_SLOT_SHIFT) & (RTAP_HANDLE_SLOT_MAX - 1);

    return n < S->slot_count && S->slots[n]->handle == handle ? S->slots[n] : NULL;
}

static inline bool is_handle(uint64_t v)
{
    return v >> RTAP_HANDLE_TAG_SHIFT == RTAP_HANDLE_TAG;
}

/* ------------------------------------------------------------------ finding the packet behind a value */

const struct rtap_pkt *rtap_lua_check_pkt(lua_State *L, struct rtap_lua *S, int idx)
{
    void *p = lua_touserdata(L, idx);
    const void *mt;

    if (lua_islightuserdata(L, idx)) {
        uint64_t handle = (uint64_t)(uintptr_t)p;

        if (is_handle(handle)) {
            struct rtap_slot *slot = rtap_lua_slot_of(S, handle);

            if (!slot)
                luaL_error(L, "%s", stale_message);
            return &slot->pkt;
        }
    } else if (p && lua_getmetatable(L, idx)) {
        mt = lua_topointer(L, -1);
        lua_pop(L, 1);
        if (mt == S->mt_owned)
            return &((struct rtap_owned *)p)->pkt;
        if (mt == S->mt_template)
            return &((struct rtap_lua_template *)p)->t.pkt;
        if (mt == S->mt_held) {
            if (!((struct rtap_held *)p)->block)
                luaL_error(L, "released packet: its memory went back to the source (use pkt:copy() to keep it)");
            return &((struct rtap_held *)p)->pkt;
        }
    }
    if (luaL_getmetafield(L, idx, "__name") == LUA_TSTRING && strcmp(lua_tostring(L, -1), "ringtap.builder") == 0)
        luaL_argerror(L, idx, "packet expected, got a builder (give builder:packet())");
    luaL_typeerror(L, idx, "packet");
    return NULL;
}

/* ------------------------------------------------------------------ the metatable of light userdata */

/* upvalues: S, our function (nil: none), the earlier metatable's value (nil: none), the event */
static int light_event(lua_State *L)
{
    const char *event = lua_tostring(L, lua_upvalueindex(4));

    if (lua_islightuserdata(L, 1) && is_handle((uint64_t)(uintptr_t)lua_touserdata(L, 1)) &&
        !lua_isnil(L, lua_upvalueindex(2))) {
        lua_pushvalue(L, lua_upvalueindex(2));
    } else if (!lua_isnil(L, lua_upvalueindex(3))) {
        lua_pushvalue(L, lua_upvalueindex(3));
        if (!lua_isfunction(L, -1) && strcmp(event, "__index") == 0) {
            lua_pushvalue(L, 2);
            lua_gettable(L, -2);
            return 1;
        }
        if (!lua_isfunction(L, -1) && strcmp(event, "__newindex") == 0) {
            lua_pushvalue(L, 2);
            lua_pushvalue(L, 3);
            lua_settable(L, -3);
            return 0;
        }
    } else if (strcmp(event, "__tostring") == 0) {
        const char *name = luaL_getmetafield(L, 1, "__name") == LUA_TSTRING ? lua_tostring(L, -1) : "userdata";

        lua_pushfstring(L, "%s: %p", name, lua_touserdata(L, 1));
        return 1;
    } else {
        return luaL_error(L, "attempt to %s a userdata value", strcmp(event, "__len") == 0 ? "get length of" : "index");
    }
    lua_insert(L, 1);
    lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
    return lua_gettop(L);
}

/* Our functions are on the stack as a table at `ours`. Without an earlier metatable they are set as they are, with a
 * check in front only where a foreign value could otherwise get a wrong message. */
void rtap_lua_set_light_metatable(lua_State *L, struct rtap_lua *S, int ours)
{
    static const char *const events[] = {"__index", "__len", "__tostring", "__newindex"};
    bool had;

    lua_pushlightuserdata(L, NULL);
    had = lua_getmetatable(L, -1);
    if (!had)
        lua_newtable(L);
    lua_newtable(L);                                       /* the new metatable */
    for (lua_pushnil(L); lua_next(L, -3); lua_pop(L, 1)) { /* events that we have nothing to do with */
        lua_pushvalue(L, -2);
        lua_pushvalue(L, -2);
        lua_rawset(L, -5);
    }
    for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
        lua_pushlightuserdata(L, S);
        lua_getfield(L, ours, events[i]);
        lua_getfield(L, -4, events[i]);
        lua_pushstring(L, events[i]);
        lua_pushcclosure(L, light_event, 4);
        if (!had && strcmp(events[i], "__index") == 0) { /* the one that must be quick */
            lua_pop(L, 1);
            lua_getfield(L, ours, events[i]);
        }
        lua_setfield(L, -2, events[i]);
    }
    lua_remove(L, -2);
    lua_setmetatable(L, -2);
    lua_pop(L, 1);
}
