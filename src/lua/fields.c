/*
 * Fields of packets by name: fieldsets, extractors, and loops over declared fields.
 *
 * A fieldset is a full userdata that owns a struct rtap_fieldset and, for loops, the layers that it works on.
 *
 * Every Lua allocation may run finalizers, and those may close the source that the packet's memory belongs to: after
 * each value that was pushed the packet is looked up again.
 */
#include "engine.h"
#include "loop.h"
#include "writable.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct rtap_decoded {
    struct rtap_layers layers;
    uint64_t key;
    unsigned version;
};

static const char names_key = 0, all_key = 0; /* only their addresses matter */

/* ------------------------------------------------------------------ names */

/* The id of a name; all tables are loaded unless those that carry others are enough. */
uint16_t rtap_lua_name_id(lua_State *L, struct rtap_lua *S, const char *name)
{
    struct rtap_engine *e = rtap_lua_carriers(L, S);
    uint16_t id = rtap_engine_find_name(e, name);

    if (!id || !rtap_engine_is_plain(e, id))
        id = rtap_engine_find_name(rtap_lua_engine(L, S), name);
    return id;
}

bool rtap_lua_column(lua_State *L, struct rtap_lua *S, const char *name, uint16_t *id, int *occurrence)
{
    const char *mark = strchr(name, '#');
    char bare[256];
    char *end;
    long n;

    *occurrence = 0;
    if (!mark) {
        *id = rtap_lua_name_id(L, S, name);
        return *id != 0;
    }
    if (mark == name || (size_t)(mark - name) >= sizeof(bare))
        return false;
    n = strtol(mark + 1, &end, 10);
    if (*end || end == mark + 1 || n == 0 || n > 1000 || n < -1000)
        return false;
    memcpy(bare, name, (size_t)(mark - name));
    bare[mark - name] = '\0';
    *occurrence = (int)n;
    *id = rtap_lua_name_id(L, S, bare);
    return *id != 0;
}

/* Up to three names that are most like it. */
int rtap_lua_no_field(lua_State *L, struct rtap_lua *S, const char *what, const char *name)
{
    const struct rtap_engine *e = rtap_lua_engine(L, S);
    const char *best[3] = {NULL};
    unsigned score[3] = {0}, limit = (unsigned)strlen(name) / 3 + 1;

    for (unsigned i = 1; i < e->name_count; i++) {
        unsigned d = rtap_lua_distance(name, e->names[i]);

        for (unsigned k = 0; k < 3 && d <= limit; k++) {
            if (best[k] && score[k] <= d)
                continue;
            memmove(&best[k + 1 < 3 ? k + 1 : 2], &best[k], (2 - k) * sizeof(best[0]));
            memmove(&score[k + 1 < 3 ? k + 1 : 2], &score[k], (2 - k) * sizeof(score[0]));
            best[k] = e->names[i];
            score[k] = d;
            break;
        }
    }
    if (best[2])
        return luaL_error(L, "%s '%s' (did you mean '%s', '%s' or '%s'?)", what, name, best[0], best[1], best[2]);
    if (best[1])
        return luaL_error(L, "%s '%s' (did you mean '%s' or '%s'?)", what, name, best[0], best[1]);
    if (best[0])
        return luaL_error(L, "%s '%s' (did you mean '%s'?)", what, name, best[0]);
    return luaL_error(L, "%s '%s' (ringtap.field_names(pattern) lists what there is)", what, name);
}

/* ------------------------------------------------------------------ fieldsets */

static int fieldset_close(lua_State *L)
{
    struct rtap_lua_fieldset *f = lua_touserdata(L, 1);

    rtap_fieldset_free(f->fs);
    f->fs = NULL;
    return 0;
}

struct rtap_lua_fieldset *rtap_lua_new_fieldset(lua_State *L, struct rtap_lua *S, int first, int last, unsigned flags)
{
    struct rtap_engine *e = S->engine;
    unsigned count = last < first ? 0 : (unsigned)(last - first + 1);
    struct rtap_lua_fieldset *f;
    uint16_t *names;
    int *occurrences;

    if (count > 10000)
        luaL_error(L, "too many fields");
    names = lua_newuserdatauv(L, (count + 1) * sizeof(*names), 0);
    occurrences = lua_newuserdatauv(L, (count + 1) * sizeof(*occurrences), 0);
    for (unsigned i = 0; i < count; i++) {
        const char *name = luaL_checkstring(L, first + (int)i);

        if (!rtap_lua_column(L, S, name, &names[i], &occurrences[i]))
            rtap_lua_no_field(L, S, "no protocol has a field", name);
    }
    f = lua_newuserdatauv(L, sizeof(*f), 0);
    memset(f, 0, sizeof(*f));
    rtap_lua_set_type(L, S->mt_fieldset);
    f->fs = rtap_fieldset_new(e, names, occurrences, count, flags);
    f->count = count;
    f->frame.first = f->frame.previous = RTAP_NO_TIME;
    if (!f->fs)
        luaL_error(L, "not enough memory");
    lua_replace(L, -3);
    lua_pop(L, 1);
    return f;
}

uint64_t rtap_lua_packet_key(lua_State *L, struct rtap_lua *S, int idx)
{
    if (lua_islightuserdata(L, idx))
        return (uint64_t)(uintptr_t)lua_touserdata(L, idx);
    if (rtap_lua_test(L, idx, S->mt_owned))
        return ((struct rtap_owned *)lua_touserdata(L, idx))->serial;
    if (rtap_lua_test(L, idx, S->mt_template))
        return ((struct rtap_lua_template *)lua_touserdata(L, idx))->serial;
    return ((struct rtap_held *)lua_touserdata(L, idx))->serial;
}

struct rtap_layers *rtap_lua_layers(lua_State *L, struct rtap_lua *S, int idx)
{
    struct rtap_engine *e = rtap_lua_carriers(L, S);
    struct rtap_decoded *d = S->decoded;
    const struct rtap_pkt *pkt;
    uint64_t key;

    pkt = rtap_lua_check_pkt(L, S, idx); /* after what may run Lua */
    if (__builtin_expect(pkt->linktype != S->link_known, 0)) {
        rtap_lua_new_link(L, S, pkt->linktype);
        pkt = rtap_lua_check_pkt(L, S, idx);
    }
    key = rtap_lua_packet_key(L, S, idx);

    if (d->key != key || d->version != e->version || d->layers.pkt != pkt) {
        rtap_engine_reach(e);
        rtap_layers_start(&d->layers, e, pkt, NULL);
        d->key = key;
        d->version = e->version;
    }
    return &d->layers;
}

void rtap_lua_forget_layers(struct rtap_lua *S)
{
    if (S->decoded)
        S->decoded->key = 0;
}

/* Finalizers of others may come after its own. */
static struct rtap_fieldset *alive(lua_State *L, const struct rtap_lua_fieldset *f)
{
    if (!f->fs)
        luaL_error(L, "attempt to use a collected field");
    return f->fs;
}

void rtap_lua_push_single(lua_State *L, struct rtap_lua *S, struct rtap_lua_fieldset *f, int idx)
{
    struct rtap_fieldset *fs = alive(L, f);
    struct rtap_layers *ls = rtap_lua_layers(L, S, idx);
    struct rtap_item it;
    int r = rtap_fieldset_one(fs, ls, &it);

    if (r < 0)
        luaL_error(L, "%s", strerror(-r));
    if (r == 0) {
        lua_pushnil(L);
        return;
    }
    rtap_lua_push_item(L, S, ls, &it);
}

/* ------------------------------------------------------------------ extractors */

/* upvalue 2: the fieldset */
static int extract(lua_State *L)
{
    struct rtap_lua *S = RTAP_STATE(L);
    struct rtap_lua_fieldset *f = lua_touserdata(L, lua_upvalueindex(2));

    rtap_lua_push_single(L, S, f, 1);
    return 1;
}

/* ringtap.field(name): function(pkt) -> value or nil */
static int field(lua_State *L)
{
    struct rtap_lua *S = RTAP_STATE(L);

    luaL_checkstring(L, 1);
    lua_settop(L, 1);
    lua_pushlightuserdata(L, S);
    rtap_lua_new_fieldset(L, S, 1, 1, RTAP_FIELDSET_FIRST);
    lua_pushcclosure(L, extract, 2);
    return 1;
}

/* The fieldset that is kept for every occurrence of a field, or a new one where that is at work; left on the stack. */
static struct rtap_lua_fieldset *all_fieldset(lua_State *L, struct rtap_lua *S, int name)
{
    struct rtap_lua_fieldset *f;

    lua_rawgetp(L, LUA_REGISTRYINDEX, &all_key);
    lua_pushvalue(L, name);
    if (lua_rawget(L, -2) == LUA_TUSERDATA && !((struct rtap_lua_fieldset *)lua_touserdata(L, -1))->busy) {
        lua_remove(L, -2);
        return lua_touserdata(L, -1);
    }
    lua_pop(L, 1);
    f = rtap_lua_new_fieldset(L, S, name, name, 0);
    lua_pushvalue(L, name);
    lua_pushvalue(L, -2);
    lua_rawset(L, -4);
    lua_remove(L, -2);
    return f;
}

/* A list of the field's occurrences, each as push makes it; what is nil is left out. */
int rtap_lua_push_all(lua_State *L, struct rtap_lua *S, rtap_lua_push push)
{
    struct rtap_layers ls;
    struct rtap_lua_fieldset *f;
    lua_Integer n = 0;
    int r;

    luaL_checkstring(L, 2);
    lua_settop(L, 2);
    f = all_fieldset(L, S, 2); /* 3 */
    lua_newtable(L);           /* 4 */
    ls = *rtap_lua_layers(L, S, 1);
    alive(L, f);
    f->busy = true; /* if something raises it stays so, and the next one makes another */
    r = rtap_fieldset_extract(f->fs, &ls);
    if (r < 0)
        return luaL_error(L, "%s", strerror(-r));
    for (int32_t i = rtap_fieldset_first(f->fs, 0); i >= 0;) {
        const struct rtap_found *found = rtap_fieldset_at(f->fs, i);

        if (rtap_lua_check_pkt(L, S, 1) != ls.pkt)
            return luaL_error(L, "the packet was changed while it was read");
        push(L, S, &ls, &found->item);
        if (lua_isnil(L, -1))
            lua_pop(L, 1);
        else
            lua_rawseti(L, 4, ++n);
        i = rtap_fieldset_at(f->fs, i)->next;
    }
    f->busy = false;
    return 1;
}

/* pkt:all(name): a list of every occurrence */
int rtap_lua_pkt_all(lua_State *L)
{
    return rtap_lua_push_all(L, RTAP_STATE(L), rtap_lua_push_item);
}

/* The fieldset that is kept for a name, left on the stack, or nil when it is no field's. */
struct rtap_lua_fieldset *rtap_lua_kept_fieldset(lua_State *L, struct rtap_lua *S, int name)
{
    uint16_t id;
    int occurrence;

    lua_rawgetp(L, LUA_REGISTRYINDEX, &names_key);
    lua_pushvalue(L, name);
    if (lua_rawget(L, -2) == LUA_TUSERDATA) {
        lua_remove(L, -2);
        return lua_touserdata(L, -1);
    }
    lua_pop(L, 1);
    if (!rtap_lua_column(L, S, lua_tostring(L, name), &id, &occurrence)) {
        lua_pop(L, 1);
        lua_pushnil(L);
        return NULL;
    }
    rtap_lua_new_fieldset(L, S, name, name, RTAP_FIELDSET_FIRST);
    lua_pushvalue(L, name);
    lua_pushvalue(L, -2);
    lua_rawset(L, -4);
    lua_remove(L, -2);
    return lua_touserdata(L, -1);
}

/* ------------------------------------------------------------------ loops over fields */

/* upvalues: S, loop, fieldset */
static int step_fields(lua_State *L)
{
    struct rtap_lua *S = RTAP_STATE(L);
    struct rtap_lua_loop *lp = lua_touserdata(L, lua_upvalueindex(2));
    struct rtap_lua_fieldset *f = lua_touserdata(L, lua_upvalueindex(3));
    struct rtap_slot *slot;
    uint64_t handle;
    int64_t time;
    int r;

    alive(L, f);
    if (f->busy)
        return luaL_error(L, "this loop is at work already");
    if (!rtap_lua_loop_step(L, lp, lua_upvalueindex(2))) {
        lua_pushnil(L);
        return 1;
    }
    S->L = L;
    slot = lp->slot;
    handle = slot->handle;
    rtap_lua_know_link(L, S, slot->pkt.linktype);
    if (lp->slot != slot || slot->handle != handle)
        return luaL_error(L, "the source was closed while its packet was read");
    time = slot->pkt.time;
    f->frame.number = lp->source->delivered + lp->source->filtered;
    if (f->frame.first == RTAP_NO_TIME)
        f->frame.first = time;
    if (f->frame.previous == RTAP_NO_TIME)
        f->frame.previous = time;
    rtap_layers_start(&f->layers, S->engine, &slot->pkt, &f->frame);
    if (f->count == 1) {
        struct rtap_item it;

        r = rtap_fieldset_one(f->fs, &f->layers, &it);
        f->frame.previous = time;
        if (r > 0)
            rtap_lua_push_item(L, S, &f->layers, &it);
        if (r == 0 || (r > 0 && lua_isnil(L, -1))) /* nil would end the loop */
            lua_pushboolean(L, 0);
        return r < 0 ? luaL_error(L, "%s", strerror(-r)) : 1;
    }
    r = rtap_fieldset_extract(f->fs, &f->layers);
    if (r < 0)
        return luaL_error(L, "%s", strerror(-r));
    luaL_checkstack(L, (int)f->count + 8, "too many fields");
    f->busy = true;
    for (unsigned i = 0; i < f->count; i++) {
        int32_t first = rtap_fieldset_first(f->fs, i);

        if (first < 0) {
            lua_pushnil(L);
        } else if (lp->slot != slot || slot->handle != handle) {
            f->busy = false;
            return luaL_error(L, "the source was closed while its packet was read");
        } else {
            struct rtap_item it = rtap_fieldset_at(f->fs, first)->item;

            if (it.decl->flags & RTAP_DECL_FUNC) /* it may raise, and then the loop is not at work any more */
                f->busy = false;
            rtap_lua_push_item(L, S, &f->layers, &it);
            if (lp->slot != slot || slot->handle != handle) {
                f->busy = false;
                return luaL_error(L, "the source was closed, or the loop stepped, while its packet was read");
            }
            f->busy = true;
        }
        if (i == 0 && lua_isnil(L, -1)) { /* nil would end the loop */
            lua_pop(L, 1);
            lua_pushboolean(L, 0);
        }
    }
    f->busy = false;
    f->frame.previous = time;
    return (int)f->count;
}

/* src:fields(name, ... [, options]) */
int rtap_lua_source_fields(lua_State *L)
{
    struct rtap_lua *S = RTAP_STATE(L);
    struct rtap_loop_options o = {.count = INT64_MAX, .duration = INT64_MAX, .idle = INT64_MAX};
    int last = lua_gettop(L);
    struct rtap_lua_fieldset *f;

    rtap_lua_check_source(L, S, 1);
    if (last > 1 && lua_istable(L, last)) {
        rtap_lua_options(L, last, "fields", rtap_lua_loop_options, &o);
        lua_settop(L, --last);
    }
    luaL_argcheck(L, last > 1, 2, "at least one field's name expected");
    f = rtap_lua_new_fieldset(L, S, 2, last, RTAP_FIELDSET_FIRST);
    lua_replace(L, 2);
    lua_settop(L, 2);
    (void)f;
    rtap_lua_check_source(L, S, 1);
    rtap_lua_loop_new(L, S, 1, &o); /* 3 */
    return rtap_lua_for(L, S, step_fields, 3, 2);
}

void rtap_lua_free_fields(struct rtap_lua *S)
{
    free(S->decoded);
    free(S->texts);
    rtap_engine_free(S->engine);
    S->decoded = NULL;
    S->texts = NULL;
    S->engine = NULL;
}

static const luaL_Reg fieldset_metamethods[] = {{"__gc", fieldset_close}, {NULL, NULL}};

static const luaL_Reg functions[] = {{"field", field}, {NULL, NULL}};

void rtap_lua_open_fields(lua_State *L, struct rtap_lua *S)
{
    S->decoded = calloc(1, sizeof(*S->decoded));
    if (!S->decoded)
        luaL_error(L, "not enough memory");
    lua_newtable(L);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &names_key);
    lua_newtable(L);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &all_key);
    S->mt_fieldset = rtap_lua_type(L, S, "ringtap.fieldset", fieldset_metamethods, NULL);
    lua_pop(L, 1);
    lua_pushlightuserdata(L, S);
    luaL_setfuncs(L, functions, 1);
}
