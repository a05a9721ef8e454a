/*
 * sink:frames(n): a walk over free frames of a sender. The frame that is shown is queued when the walk goes on; what is
 * left empty, or is shown when the loop is left, is not sent.
 */
#include "packet.h"

#include "writable.h"
#include <errno.h>
#include <string.h>

#define PATIENCE 500000000 /* ns that it waits while nothing can be sent */

static const char frames_key = 0; /* only its address matters: a weak table, slot number to walk */

struct rtap_lua_frames *rtap_lua_shown_frames(struct rtap_lua *S, void *handle)
{
    struct rtap_slot *slot = rtap_lua_slot_of(S, (uint64_t)(uintptr_t)handle);

    return slot ? slot->frames : NULL;
}

struct rtap_lua_frames *rtap_lua_push_frames(lua_State *L, struct rtap_lua *S, int idx)
{
    struct rtap_lua_frames *fr = rtap_lua_shown_frames(S, lua_touserdata(L, idx));

    lua_rawgetp(L, LUA_REGISTRYINDEX, &frames_key);
    if (lua_rawgeti(L, -1, (lua_Integer)fr->slot->number) != LUA_TUSERDATA)
        luaL_error(L, "stale frame: the loop that it belongs to was left");
    lua_remove(L, -2);
    return fr;
}

static void end_frames(struct rtap_lua_frames *fr)
{
    struct rtap_slot *slot = fr->slot;

    if (fr->owner) {
        struct rtap_lua_frames **at = &fr->owner->loops;

        while (*at && *at != fr)
            at = &(*at)->next;
        if (*at)
            *at = fr->next;
    }
    fr->owner = NULL;
    fr->slot = NULL;
    fr->shown = false;
    if (slot)
        rtap_lua_slot_free(slot);
}

void rtap_lua_end_frames(struct rtap_lua_sink *u)
{
    while (u->loops) {
        u->loops->closed = true;
        end_frames(u->loops);
    }
}

static void fail(lua_State *L, struct rtap_lua_frames *fr)
{
    lua_pushstring(L, fr->owner->sink->error);
    end_frames(fr);
    lua_error(L);
}

/* Room for the next frame. */
static void take(lua_State *L, struct rtap_lua_frames *fr)
{
    struct rtap_sink *k = fr->owner->sink;
    uint8_t *data;
    int r;

    while ((r = k->ops->reserve(k, 0, &data)) == -EAGAIN) {
        r = rtap_lua_sink_push_out(L, fr->owner, PATIENCE);
        if (fr->closed)
            luaL_error(L, "the sink was closed while a loop over its frames was running");
        if (r < 0 && r != -EMSGSIZE && r != -EINVAL)
            break;
    }
    if (r < 0)
        fail(L, fr);
    memset(&fr->slot->pkt, 0, sizeof(fr->slot->pkt));
    fr->slot->pkt.data = data;
    fr->slot->pkt.linktype = k->linktype;
    fr->slot->pkt.time = RTAP_NO_TIME;
    fr->slot->pkt.ifname = k->name;
    fr->slot->frames = fr;
    fr->shown = true;
}

static int step_frames(lua_State *L)
{
    struct rtap_lua_frames *fr = lua_touserdata(L, lua_upvalueindex(2));
    int r = 0;

    if (fr->closed)
        return luaL_error(L, "the sink was closed while a loop over its frames was running");
    if (!fr->owner) {
        lua_pushnil(L);
        return 1;
    }
    if ((fr->slot->handle & RTAP_HANDLE_GEN_MASK) == RTAP_HANDLE_GEN_MASK)
        return luaL_error(L, "a loop over frames has come to the end of its handles: begin another");
    rtap_lua_slot_step(fr->slot);
    if (fr->shown && fr->slot->pkt.caplen > 0) {
        r = fr->owner->sink->ops->commit(fr->owner->sink, &fr->slot->pkt);
        if (r < 0 && r != -EMSGSIZE && r != -EINVAL) /* those are counted */
            fail(L, fr);
    }
    fr->shown = false;
    if (fr->left == 0) {
        r = rtap_lua_sink_push_out(L, fr->owner, PATIENCE);
        if (r < 0 && !fr->closed)
            fail(L, fr);
        end_frames(fr);
        lua_pushnil(L);
        return 1;
    }
    fr->left--;
    take(L, fr);
    if (lua_gethook(L))
        rtap_lua_interrupt(L);
    if (!fr->slot)
        return luaL_error(L, "the sink was closed while a loop over its frames was running");
    lua_pushlightuserdata(L, (void *)(uintptr_t)fr->slot->handle);
    return 1;
}

/* sink:frames([n]) */
int rtap_lua_sink_frames(lua_State *L)
{
    struct rtap_lua *S = RTAP_STATE(L);
    struct rtap_lua_sink *u = rtap_lua_check_sink(L, S, 1);
    struct rtap_sink_stats st = {0};
    struct rtap_lua_frames *fr;
    lua_Integer n = lua_isnoneornil(L, 2) ? INT64_MAX : luaL_checkinteger(L, 2);

    luaL_argcheck(L, n >= 0, 2, "a number of frames");
    if (!u->sink->live)
        return luaL_error(L, "frames: only a sender has them");
    if (u->loops)
        return luaL_error(L, "frames: a loop over this sender's frames is running already");
    lua_settop(L, 1);
    fr = lua_newuserdatauv(L, sizeof(*fr), 3); /* 2 */
    memset(fr, 0, sizeof(*fr));
    rtap_lua_set_type(L, S->mt_frames);
    lua_pushvalue(L, 1);
    lua_setiuservalue(L, 2, 1);
    fr->slot = rtap_lua_slot_new(L, S);
    fr->left = n;
    lua_rawgetp(L, LUA_REGISTRYINDEX, &frames_key);
    lua_pushvalue(L, 2);
    lua_rawseti(L, -2, (lua_Integer)fr->slot->number);
    u = rtap_lua_check_sink(L, S, 1); /* again: a finalizer may have closed it */
    u->sink->ops->stats(u->sink, &st);
    fr->room = st.frame_size;
    fr->owner = u;
    fr->next = u->loops;
    u->loops = fr;
    return rtap_lua_for(L, S, step_frames, 2, 0);
}

/* The loop was left: what is queued goes out as far as it can now. */
static int frames_close(lua_State *L)
{
    struct rtap_lua_frames *fr = rtap_lua_check(L, 1, RTAP_STATE(L)->mt_frames, "loop");

    if (fr->owner && fr->owner->sink)
        fr->owner->queued = fr->owner->sink->ops->kick(fr->owner->sink) < 0;
    end_frames(fr);
    return 0;
}

void rtap_lua_open_frames(lua_State *L, struct rtap_lua *S)
{
    static const luaL_Reg metamethods[] = {{"__gc", frames_close}, {"__close", frames_close}, {NULL, NULL}};

    lua_newtable(L);
    lua_newtable(L);
    lua_pushliteral(L, "v");
    lua_setfield(L, -2, "__mode");
    lua_setmetatable(L, -2);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &frames_key);
    S->mt_frames = rtap_lua_type(L, S, "ringtap.frames", metamethods, NULL);
    lua_pop(L, 1);
}
