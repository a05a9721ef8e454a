/*
 * The send loop for Lua: _blast takes what lua/ringtap/send/blast.lua has made of the options, and gives the counts of
 * which that makes a report.
 */
#include "../io/blast.h"

#include "run.h"
#include "writable.h"
#include <errno.h>
#include <string.h>

struct run { /* full userdata */
    struct rtap_lua_run run;
    struct rtap_blast b;
    lua_State *L;
    int varies; /* stack index */
    bool interrupted, over;
};

static void *allocate(lua_State *L, int keep, size_t count, size_t size)
{
    void *p = lua_newuserdatauv(L, count * size + 1, 0);

    memset(p, 0, count * size + 1);
    lua_rawseti(L, keep, (lua_Integer)lua_rawlen(L, keep) + 1);
    return p;
}

/* ------------------------------------------------------------------ values that change */

/* The values of the list on top, which is popped. */
static void read_list(lua_State *L, struct rtap_vary *v, const char *name)
{
    uint32_t n;

    luaL_checktype(L, -1, LUA_TTABLE);
    n = (uint32_t)lua_rawlen(L, -1);
    if (n == 0 || n > v->room)
        luaL_error(L, "%s: a list of 1 to %d values", name, (int)v->room);
    for (uint32_t i = 0; i < n; i++) {
        lua_rawgeti(L, -1, i + 1);
        if (v->size) {
            size_t len;
            const char *s = lua_tolstring(L, -1, &len);

            if (lua_type(L, -1) != LUA_TSTRING || len != v->size)
                luaL_error(L, "%s: values of %d bytes", name, (int)v->size);
            memcpy(v->bytes + (size_t)i * v->size, s, len);
        } else {
            v->numbers[i] = (uint64_t)luaL_checkinteger(L, -1);
        }
        lua_pop(L, 1);
    }
    v->count = n;
    v->at = 0;
    lua_pop(L, 1);
}

/* The place of the vary's name (stack index `name`) in each template. */
static void find_places(lua_State *L, struct rtap_lua *S, struct rtap_blast *b, struct rtap_vary *v, int templates,
                        int name, bool low)
{
    bool any = false;

    for (unsigned i = 0; i < b->template_count; i++) {
        const struct rtap_lua_place *p;
        int top = lua_gettop(L);

        lua_rawgeti(L, templates, i + 1);
        p = rtap_lua_place_of(L, S, top + 1, name);
        if (p && p->pl.structural)
            luaL_error(L, "%s can't be varied: how the packet is laid out depends on it", lua_tostring(L, name));
        if (p) {
            v->places[i] = p->pl;
            if (low) { /* the last 64 bits of an address */
                struct rtap_lua_template *t = lua_touserdata(L, top + 1);

                rtap_place_at(&t->t.layout, p->pl.last * 8ull - 64, 64, &v->places[i]);
            }
            if (v->size && v->places[i].bits != v->size * 8)
                luaL_error(L, "%s: %d bytes, and it has %d in another packet", lua_tostring(L, name), (int)v->size,
                           (int)v->places[i].bits / 8);
            if (!v->size && v->places[i].bits > 64)
                luaL_error(L, "%s: it has %d bits", lua_tostring(L, name), (int)v->places[i].bits);
            any = true;
        }
        lua_settop(L, top);
    }
    if (!any)
        luaL_error(L, "there is no %s in this packet", lua_tostring(L, name));
}

/* varies[i]: {name=, kind=, from=, to=, step=, next=, seed=, size=, values=, fn=, low=} */
static void read_vary(lua_State *L, struct rtap_lua *S, struct run *r, struct rtap_vary *v, int templates, int keep)
{
    static const char *const kinds[] = {"range", "random", "list", "ask", NULL};
    int at = lua_gettop(L); /* the table */
    uint32_t room;
    bool low;

    lua_getfield(L, at, "name"); /* at + 1 */
    luaL_checkstring(L, at + 1);
    lua_getfield(L, at, "kind");
    v->kind = (enum rtap_vary_kind)luaL_checkoption(L, at + 2, NULL, kinds);
    lua_getfield(L, at, "low");
    low = lua_toboolean(L, -1);
    v->from = (uint64_t)rtap_lua_run_integer(L, at, "from", 0);
    v->to = (uint64_t)rtap_lua_run_integer(L, at, "to", 0);
    v->step = rtap_lua_run_integer(L, at, "step", 1);
    v->next = (uint64_t)rtap_lua_run_integer(L, at, "next", (lua_Integer)v->from);
    v->random = (uint64_t)rtap_lua_run_integer(L, at, "seed", 0);
    v->size = (uint32_t)rtap_lua_run_integer(L, at, "size", 0);
    v->places = allocate(L, keep, r->b.template_count, sizeof(*v->places));
    find_places(L, S, &r->b, v, templates, at + 1, low);
    if (v->kind == RTAP_VARY_LIST || v->kind == RTAP_VARY_ASK) {
        lua_getfield(L, at, "values");
        if (v->kind == RTAP_VARY_LIST)
            luaL_checktype(L, -1, LUA_TTABLE);
        room = v->kind == RTAP_VARY_ASK ? RTAP_BLAST_MOST : (uint32_t)lua_rawlen(L, -1);
        v->room = room;
        if (v->size)
            v->bytes = allocate(L, keep, room, v->size);
        else
            v->numbers = allocate(L, keep, room, sizeof(*v->numbers));
        if (v->kind == RTAP_VARY_LIST)
            read_list(L, v, lua_tostring(L, at + 1));
        else
            r->b.asks = true;
    }
    lua_settop(L, at);
}

/* Frames first ... first + n - 1 are made next: fn(first, n) gives a list of values. */
static void ask(void *context, struct rtap_blast *b, uint64_t first, unsigned n)
{
    struct run *r = context;
    lua_State *L = r->L;

    luaL_checkstack(L, 8, "vary");
    b->sink->busy = true;
    for (unsigned i = 0; i < b->vary_count; i++) {
        if (b->varies[i].kind != RTAP_VARY_ASK)
            continue;
        lua_rawgeti(L, r->varies, i + 1);
        lua_getfield(L, -1, "fn");
        lua_pushinteger(L, (lua_Integer)first + 1);
        lua_pushinteger(L, n);
        lua_call(L, 2, 1);
        luaL_checktype(L, -1, LUA_TTABLE);
        read_list(L, &b->varies[i], "vary");
        lua_pop(L, 1);
    }
    b->sink->busy = false;
}

/* ------------------------------------------------------------------ the run */

static void finish(struct run *r)
{
    if (r->over)
        return;
    r->over = true;
    r->run.u->sink->busy = false;
    r->run.u->sink->wake_fd = -1;
    rtap_blast_end(&r->b);
    r->run.attempted = r->b.made;
    r->run.started = r->b.started;
    r->run.ended = r->b.ended;
    r->run.late = r->b.late;
}

/* Also when something raised. The sink is on the stack below, and nobody could close it meanwhile. */
static int run_close(lua_State *L)
{
    struct run *r = lua_touserdata(L, 1);

    if (r->b.sink)
        finish(r);
    r->b.sink = NULL;
    return 0;
}

static void push_result(lua_State *L, struct run *r)
{
    static const char *const reasons[] = {"", "count", "duration", "stuck", "failed"};
    char error[sizeof(r->b.sink->error)];

    memcpy(error, r->b.sink->error, sizeof(error)); /* what is allocated may run a finalizer that closes the sink */
    rtap_lua_run_push(L, &r->run, true);
    rtap_lua_set_text(L, "reason", r->interrupted ? "interrupted" : reasons[r->b.end]);
    if (r->b.end == RTAP_BLAST_FAILED || r->b.end == RTAP_BLAST_STUCK) {
        rtap_lua_set_text(L, "message", error);
        rtap_lua_set_integer(L, "errno", -r->b.error);
    }
}

/* ns, not more than thirty years */
static double interval_in(lua_State *L, const char *key)
{
    double v = rtap_lua_run_number(L, 2, key);

    luaL_argcheck(L, v >= 0, 2, "an interval");
    return v < 1e18 ? v : 1e18;
}

static void read_spec(lua_State *L, struct rtap_lua *S, struct run *r)
{
    struct rtap_blast *b = &r->b;
    lua_Integer count;
    int keep, templates, copies;

    lua_newtable(L);
    keep = lua_gettop(L);
    lua_getfield(L, 2, "templates");
    templates = lua_gettop(L);
    luaL_checktype(L, templates, LUA_TTABLE);
    lua_getfield(L, 2, "varies");
    r->varies = lua_gettop(L);
    luaL_checktype(L, r->varies, LUA_TTABLE);
    count = (lua_Integer)lua_rawlen(L, templates);
    luaL_argcheck(L, count >= 1 && count <= 1 << 16, 2, "1 to 65536 packets");
    b->templates = allocate(L, keep, (size_t)count, sizeof(*b->templates));
    b->template_count = (unsigned)count;
    lua_newtable(L);
    copies = lua_gettop(L);
    for (lua_Integer i = 1; i <= count; i++) {
        struct rtap_lua_template *t;

        lua_rawgeti(L, templates, i);
        t = rtap_lua_check(L, lua_gettop(L), S->mt_template, "template");
        if (r->run.u->sink && !rtap_sink_takes(r->run.u->sink, t->t.pkt.linktype))
            luaL_error(L, "blast: a packet of link type %d can't be sent here, only of %d", t->t.pkt.linktype,
                       r->run.u->linktype);
        t = rtap_lua_copy_template(L, S, lua_gettop(L)); /* its own: nobody changes it meanwhile */
        b->templates[i - 1] = &t->t;
        lua_rawseti(L, copies, i);
        lua_pop(L, 1);
    }
    templates = copies;
    count = (lua_Integer)lua_rawlen(L, r->varies);
    luaL_argcheck(L, count <= 1000, 2, "up to 1000 values that change");
    b->varies = allocate(L, keep, (size_t)count, sizeof(*b->varies));
    b->vary_count = (unsigned)count;
    for (lua_Integer i = 1; i <= count; i++) {
        lua_rawgeti(L, r->varies, i);
        luaL_checktype(L, -1, LUA_TTABLE);
        read_vary(L, S, r, &b->varies[i - 1], templates, keep);
        lua_pop(L, 1);
    }
    b->count = (uint64_t)rtap_lua_run_integer(L, 2, "count", -1);
    b->duration = rtap_lua_run_integer(L, 2, "duration", INT64_MAX);
    b->patience = rtap_lua_run_integer(L, 2, "patience", 500000000);
    b->packet_interval = interval_in(L, "packet_interval");
    b->bit_interval = interval_in(L, "bit_interval");
    b->burst = (unsigned)rtap_lua_run_integer(L, 2, "burst", 0);
}

/* _blast(sink, spec): counts */
static int blast(lua_State *L)
{
    struct rtap_lua *S = RTAP_STATE(L);
    struct rtap_lua_sink *u = rtap_lua_check_sink(L, S, 1);
    struct run *r;
    int err;

    luaL_checktype(L, 2, LUA_TTABLE);
    lua_settop(L, 2);
    r = lua_newuserdatauv(L, sizeof(*r), 0); /* 3 */
    memset(r, 0, sizeof(*r));
    rtap_lua_set_type(L, S->mt_blast);
    r->L = L;
    r->run.u = u;
    read_spec(L, S, r);
    u = rtap_lua_check_sink(L, S, 1); /* again: a finalizer may have closed it */
    if (u->loops)
        return luaL_error(L, "blast: a loop over this sender's frames is running");
    err = rtap_lua_sink_push_out(L, u, r->b.patience); /* what an earlier call had to leave */
    u = rtap_lua_check_sink(L, S, 1);
    if (err < 0)
        return rtap_lua_fail(L, rtap_sink_errno(u->sink, err), u->sink->error);
    rtap_lua_run_begin(L, S, &r->run, 2);
    lua_toclose(L, 3);
    r->b.sink = u->sink;
    r->b.ask = ask;
    r->b.context = r;
    u->sink->wake_fd = r->run.signals ? r->run.signals->fd : -1;
    rtap_blast_begin(&r->b);
    r->run.started = r->run.told = r->run.looked = r->b.started;
    while (!r->interrupted && rtap_blast_step(&r->b) != 0) {
        r->run.attempted = r->b.made;
        r->interrupted = !rtap_lua_run_look(L, &r->run, 2);
    }
    finish(r);
    push_result(L, r);
    r->b.sink = NULL;
    return 1;
}

/* _place(template, name): {protocol=, field=, bits=, position=, value=, structural=}; nil: it isn't in it */
static int place(lua_State *L)
{
    struct rtap_lua *S = RTAP_STATE(L);
    const struct rtap_lua_template *t = rtap_lua_check(L, 1, S->mt_template, "template");
    const struct rtap_lua_place *p;

    luaL_checkstring(L, 2);
    lua_settop(L, 2);
    p = rtap_lua_place_of(L, S, 1, 2);
    if (!p) {
        luaL_pushfail(L);
        return 1;
    }
    lua_createtable(L, 0, 6);
    rtap_lua_set_integer(L, "bits", p->pl.bits);
    rtap_lua_set_integer(L, "position", (uint64_t)p->pl.first + 1);
    lua_pushboolean(L, p->pl.structural);
    lua_setfield(L, -2, "structural");
    if (p->pl.bits <= 64)
        rtap_lua_set_integer(L, "value", rtap_place_get(&p->pl, t->t.pkt.data));
    if (p->decl) {
        rtap_lua_set_text(L, "protocol", p->decl->proto->name);
        rtap_lua_set_text(L, "field", p->decl->name ? S->engine->names[p->decl->name] : NULL);
    }
    return 1;
}

void rtap_lua_open_blast(lua_State *L, struct rtap_lua *S)
{
    static const luaL_Reg functions[] = {{"_blast", blast}, {"_place", place}, {NULL, NULL}};
    static const luaL_Reg metamethods[] = {{"__close", run_close}, {NULL, NULL}};

    S->mt_blast = rtap_lua_type(L, S, "ringtap.blast", metamethods, NULL);
    lua_pop(L, 1);
    lua_pushlightuserdata(L, S);
    luaL_setfuncs(L, functions, 1);
}
