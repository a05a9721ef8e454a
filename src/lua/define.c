/*
 * Definitions of protocols from Lua tables into the engine. lua/ringtap/protocol/compile.lua makes the flat tables that
 * are read here; whatever they hold is checked, for anybody may call these functions.
 *
 * Functions of tables live in a table in the registry, by the number that the engine knows them by.
 */
#include "engine.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char functions_key = 0; /* only its address matters */

/* ------------------------------------------------------------------ reading a flat table */

/* No metamethods: nothing but what the table holds. */
static int raw_field(lua_State *L, int t, const char *key)
{
    lua_pushstring(L, key);
    return lua_rawget(L, t);
}

static int64_t integer_at(lua_State *L, int t, const char *key, int64_t min, int64_t max)
{
    int64_t v;
    int ok;

    raw_field(L, t, key);
    v = lua_tointegerx(L, -1, &ok);
    lua_pop(L, 1);
    if (!ok || v < min || v > max)
        luaL_error(L, "protocol: '%s' is missing or out of range", key);
    return v;
}

static bool bool_at(lua_State *L, int t, const char *key)
{
    bool v;

    raw_field(L, t, key);
    v = lua_toboolean(L, -1);
    lua_pop(L, 1);
    return v;
}

static char *copy_string(lua_State *L, int idx)
{
    const char *s = lua_type(L, idx) == LUA_TSTRING ? lua_tostring(L, idx) : NULL;
    char *copy;

    if (!s)
        luaL_error(L, "protocol: text expected");
    copy = strdup(s);
    if (!copy)
        luaL_error(L, "not enough memory");
    return copy;
}

static char *string_at(lua_State *L, int t, const char *key)
{
    char *s;

    raw_field(L, t, key);
    s = copy_string(L, -1);
    lua_pop(L, 1);
    return s;
}

/* Push the list t[key]; its length. */
static unsigned list_at(lua_State *L, int t, const char *key, unsigned max)
{
    lua_Unsigned n;

    if (raw_field(L, t, key) != LUA_TTABLE)
        luaL_error(L, "protocol: '%s' is no table", key);
    n = lua_rawlen(L, -1);
    if (n > max)
        luaL_error(L, "protocol: '%s' is too long", key);
    return (unsigned)n;
}

static void *room(lua_State *L, size_t n, size_t size)
{
    void *p = calloc(n ? n : 1, size);

    if (!p)
        luaL_error(L, "not enough memory");
    return p;
}

static int64_t element(lua_State *L, int list, unsigned i)
{
    int64_t v;
    int ok;

    lua_rawgeti(L, list, (lua_Integer)i + 1);
    v = lua_tointegerx(L, -1, &ok);
    lua_pop(L, 1);
    if (!ok)
        luaL_error(L, "protocol: an integer expected");
    return v;
}

static int16_t code_at(lua_State *L, int t, const char *key)
{
    return (int16_t)integer_at(L, t, key, -1, INT16_MAX);
}

static void read_strings(lua_State *L, int t, struct rtap_proto *p)
{
    unsigned n = list_at(L, t, "strings", 10000);

    p->strings = room(L, n, sizeof(*p->strings));
    for (unsigned i = 0; i < n; i++) {
        lua_rawgeti(L, -1, (lua_Integer)i + 1);
        p->strings[i] = copy_string(L, -1);
        p->string_count = i + 1;
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
}

/* values = { key, name, key, name, ... } in rising order */
static void read_values(lua_State *L, int t, struct rtap_decl *d)
{
    unsigned n;
    int64_t last = INT64_MIN;

    if (raw_field(L, t, "values") == LUA_TNIL) {
        lua_pop(L, 1);
        return;
    }
    luaL_checktype(L, -1, LUA_TTABLE);
    n = (unsigned)lua_rawlen(L, -1) / 2;
    if (n > 10000)
        luaL_error(L, "protocol: too many values");
    d->values = room(L, n, sizeof(*d->values));
    for (unsigned i = 0; i < n; i++) {
        int64_t key = element(L, -1, i * 2);

        if (i && key <= last)
            luaL_error(L, "protocol: values are out of order");
        last = key;
        lua_rawgeti(L, -1, (lua_Integer)i * 2 + 2);
        d->values[i].name = copy_string(L, -1);
        d->values[i].key = key;
        d->value_count = i + 1;
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
}

static void read_decls(lua_State *L, int t, struct rtap_engine *e, struct rtap_proto *p, int functions)
{
    unsigned n = list_at(L, t, "fields", 5000);
    int list = lua_gettop(L);

    p->decls = room(L, n, sizeof(*p->decls));
    for (unsigned i = 0; i < n; i++) {
        struct rtap_decl *d = &p->decls[i];
        int at;

        if (lua_rawgeti(L, list, (lua_Integer)i + 1) != LUA_TTABLE)
            luaL_error(L, "protocol: a field is no table");
        at = lua_gettop(L);
        p->decl_count = i + 1;
        raw_field(L, at, "name");
        if (lua_type(L, -1) != LUA_TSTRING)
            luaL_error(L, "protocol: a field has no name");
        if (lua_rawlen(L, -1) > 0) {
            d->name = rtap_engine_name(e, lua_tostring(L, -1));
            if (!d->name)
                luaL_error(L, "too many fields, or not enough memory");
        }
        lua_pop(L, 1);
        d->title = string_at(L, at, "title");
        read_values(L, at, d);
        d->index = (uint16_t)i;
        d->type = (uint8_t)integer_at(L, at, "type", 1, RTAP_TYPE_END - 1);
        d->bits = (uint16_t)integer_at(L, at, "bits", 0, 128);
        d->base = (uint8_t)integer_at(L, at, "base", 0, RTAP_COLON);
        d->digits = (uint8_t)integer_at(L, at, "digits", 0, 16);
        d->flags = (uint8_t)integer_at(L, at, "flags", 0, 31) &
                   (RTAP_DECL_LE | RTAP_DECL_FUNC | RTAP_DECL_ASCII | RTAP_DECL_NONE);
        d->scale = integer_at(L, at, "scale", INT64_MIN, INT64_MAX);
        d->add = integer_at(L, at, "add", INT64_MIN, INT64_MAX);
        d->fixed = (int32_t)integer_at(L, at, "fixed", -1, 1 << 24);
        d->guard = code_at(L, at, "guard");
        d->reg = (int16_t)integer_at(L, at, "reg", -1, RTAP_REGS_MAX - 1);
        d->until = (int16_t)integer_at(L, at, "until_", -1, INT16_MAX);
        d->func = (int16_t)integer_at(L, at, "func", -1, functions < 30000 ? 2000 : -1);
        if (d->func >= 0)
            d->func = (int16_t)(d->func + functions);
        if ((d->flags & RTAP_DECL_FUNC) != (d->func >= 0 ? RTAP_DECL_FUNC : 0))
            luaL_error(L, "protocol: a field's function is missing");
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
}

static int16_t add_string(lua_State *L, struct rtap_proto *p, const char *text)
{
    char **strings = realloc(p->strings, (p->string_count + 1) * sizeof(*strings));

    if (strings)
        p->strings = strings;
    if (!strings || p->string_count > 30000 || !(strings[p->string_count] = strdup(text)))
        luaL_error(L, "not enough memory");
    return (int16_t)p->string_count++;
}

static void read_codes(lua_State *L, int t, struct rtap_engine *e, struct rtap_proto *p)
{
    unsigned n = list_at(L, t, "exprs", 10000);
    int list = lua_gettop(L);

    p->codes = room(L, n, sizeof(*p->codes));
    for (unsigned i = 0; i < n; i++) {
        struct rtap_code *c = &p->codes[i];
        unsigned len;

        if (lua_rawgeti(L, list, (lua_Integer)i + 1) != LUA_TTABLE)
            luaL_error(L, "protocol: an expression is no table");
        len = (unsigned)lua_rawlen(L, -1) / 2;
        if (len > 1024)
            luaL_error(L, "protocol: an expression is too long");
        c->insns = room(L, len, sizeof(*c->insns));
        p->code_count = i + 1;
        c->count = (uint16_t)len;
        for (unsigned k = 0; k < len; k++) {
            c->insns[k].op = (int32_t)(element(L, -1, k * 2) & INT32_MAX);
            lua_rawgeti(L, -1, (lua_Integer)k * 2 + 2);
            if (lua_type(L, -1) == LUA_TSTRING && c->insns[k].op == RTAP_EXPR_LINE) { /* $line: a text */
                c->insns[k].k = add_string(L, p, lua_tostring(L, -1));
                lua_pop(L, 1);
            } else if (lua_type(L, -1) == LUA_TSTRING) { /* $under: a protocol by name */
                const struct rtap_proto *under = rtap_engine_proto(e, lua_tostring(L, -1));

                if (!under)
                    luaL_error(L, "there is no room for another protocol");
                c->insns[k].k = under->id;
                lua_pop(L, 1);
            } else {
                lua_pop(L, 1);
                c->insns[k].k = element(L, -1, k * 2 + 1);
            }
        }
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
}

static void read_ops(lua_State *L, int t, struct rtap_proto *p)
{
    unsigned n = list_at(L, t, "ops", 4 * INT16_MAX) / 4;

    p->ops = room(L, n, sizeof(*p->ops));
    p->op_count = n;
    for (unsigned i = 0; i < n; i++) {
        int64_t v[4];

        for (unsigned k = 0; k < 4; k++) {
            v[k] = element(L, -1, i * 4 + k);
            if (v[k] < -1 || v[k] > 1 << 24 || (k == 3 && v[k] > INT16_MAX))
                luaL_error(L, "protocol: an item is out of range");
        }
        p->ops[i] = (struct rtap_op){
            .code = (uint8_t)(v[0] & 0xff), .a = (int32_t)v[1], .b = (int32_t)v[2], .c = (int16_t)v[3]};
    }
    lua_pop(L, 1);
}

static void read_cases(lua_State *L, int t, struct rtap_proto *p)
{
    unsigned n = list_at(L, t, "cases", 10000);
    int list = lua_gettop(L);

    p->switches = room(L, n, sizeof(*p->switches));
    for (unsigned i = 0; i < n; i++) {
        struct rtap_switch *s = &p->switches[i];

        if (lua_rawgeti(L, list, (lua_Integer)i + 1) != LUA_TTABLE)
            luaL_error(L, "protocol: cases are no table");
        s->count = (unsigned)lua_rawlen(L, -1) / 2;
        s->cases = room(L, s->count, sizeof(*s->cases));
        p->switch_count = i + 1;
        for (unsigned k = 0; k < s->count; k++) {
            int64_t target = element(L, -1, k * 2 + 1);

            s->cases[k].key = element(L, -1, k * 2);
            if (target < 0 || target > INT16_MAX || (k && s->cases[k].key <= s->cases[k - 1].key))
                luaL_error(L, "protocol: cases are out of order");
            s->cases[k].target = (int32_t)target;
        }
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
}

static void read_maps(lua_State *L, int t, struct rtap_proto *p)
{
    unsigned n = list_at(L, t, "headers", 1000);
    int list = lua_gettop(L);

    p->maps = room(L, n, sizeof(*p->maps));
    for (unsigned i = 0; i < n; i++) {
        struct rtap_header_map *m = &p->maps[i];
        unsigned len = 0;
        int at;

        if (lua_rawgeti(L, list, (lua_Integer)i + 1) != LUA_TTABLE)
            luaL_error(L, "protocol: headers are no table");
        at = lua_gettop(L);
        p->map_count = i + 1;
        for (lua_pushnil(L); lua_next(L, at); lua_pop(L, 1))
            len++;
        m->entries = room(L, len, sizeof(*m->entries));
        for (lua_pushnil(L); lua_next(L, at) && m->count < len; lua_pop(L, 1)) {
            struct rtap_header *h = &m->entries[m->count];

            luaL_checktype(L, -1, LUA_TTABLE);
            h->decl = (uint16_t)integer_at(L, lua_gettop(L), "decl", 0, UINT16_MAX);
            h->target = (int32_t)integer_at(L, lua_gettop(L), "target", -1, INT16_MAX);
            h->stop = (int32_t)integer_at(L, lua_gettop(L), "stop", -1, INT16_MAX);
            h->name = copy_string(L, -2);
            m->count++;
        }
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
}

static int16_t string_index(lua_State *L, int t, const char *key, struct rtap_proto *p)
{
    int16_t index = -1;

    if (raw_field(L, t, key) != LUA_TNIL)
        index = add_string(L, p, luaL_checkstring(L, -1));
    lua_pop(L, 1);
    return index;
}

static uint16_t table_at(lua_State *L, int t, const char *key, struct rtap_engine *e)
{
    uint16_t id = 0;

    raw_field(L, t, key);
    if (!lua_isnil(L, -1)) {
        id = rtap_engine_table(e, luaL_checkstring(L, -1));
        if (!id)
            luaL_error(L, "too many dissector tables, or not enough memory");
    }
    lua_pop(L, 1);
    return id;
}

static void read_rules(lua_State *L, int t, struct rtap_engine *e, struct rtap_proto *p)
{
    unsigned n = list_at(L, t, "next", 1000);
    int list = lua_gettop(L);

    p->rules = room(L, n, sizeof(*p->rules));
    for (unsigned i = 0; i < n; i++) {
        struct rtap_rule *r = &p->rules[i];
        int at;

        if (lua_rawgeti(L, list, (lua_Integer)i + 1) != LUA_TTABLE)
            luaL_error(L, "protocol: a rule is no table");
        at = lua_gettop(L);
        p->rule_count = i + 1;
        r->table = table_at(L, at, "table", e);
        r->list = table_at(L, at, "guess_by", e);
        r->key = code_at(L, at, "key");
        r->when = code_at(L, at, "when");
        r->at = code_at(L, at, "at");
        r->size = code_at(L, at, "size");
        r->pass = code_at(L, at, "pass");
        r->via = string_index(L, at, "via", p);
        r->flags = (uint8_t)integer_at(L, at, "flags", 0, 15);
        raw_field(L, at, "proto");
        if (!lua_isnil(L, -1)) {
            r->proto = rtap_engine_proto(e, luaL_checkstring(L, -1));
            if (!r->proto)
                luaL_error(L, "there is no room for another protocol");
        }
        lua_pop(L, 2);
        if (!r->proto && !r->table && !r->list && !(r->flags & RTAP_RULE_STOP))
            luaL_error(L, "protocol %s: a rule leads nowhere", p->name);
    }
    lua_pop(L, 1);
}

static void read_checks(lua_State *L, int t, struct rtap_proto *p)
{
    unsigned n = list_at(L, t, "check", 1000);

    p->checks = room(L, n, sizeof(*p->checks));
    for (unsigned i = 0; i < n; i++) {
        if (lua_rawgeti(L, -1, (lua_Integer)i + 1) != LUA_TTABLE)
            luaL_error(L, "protocol: a check is no table");
        p->checks[i].code = (int16_t)element(L, -1, 0);
        p->checks[i].message = (int16_t)element(L, -1, 1);
        p->check_count = i + 1;
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
}

static void read_line(lua_State *L, int t, struct rtap_engine *e, struct rtap_proto *p)
{
    unsigned n;
    int list;

    n = list_at(L, t, "line", 1000);
    list = lua_gettop(L);
    p->line = room(L, n, sizeof(*p->line));
    for (unsigned i = 0; i < n; i++) {
        struct rtap_line_part *l = &p->line[i];
        int at;

        if (lua_rawgeti(L, list, (lua_Integer)i + 1) != LUA_TTABLE)
            luaL_error(L, "protocol: a part of its line is no table");
        at = lua_gettop(L);
        l->kind = (unsigned)integer_at(L, at, "kind", 0, RTAP_LINE_EXPR);
        l->skip = (unsigned)integer_at(L, at, "skip", 0, 1000);
        l->code = code_at(L, at, "code");
        raw_field(L, at, "name");
        if (!lua_isnil(L, -1))
            l->name = rtap_engine_name(e, luaL_checkstring(L, -1));
        lua_pop(L, 1);
        l->string = string_index(L, at, "text", p);
        p->line_count = i + 1;
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
}

static void read_sum(lua_State *L, int t, struct rtap_proto *p)
{
    struct rtap_sum *s = &p->sum;
    int at;

    if (raw_field(L, t, "checksum") == LUA_TTABLE) {
        at = lua_gettop(L);
        s->present = true;
        s->pseudo = code_at(L, at, "pseudo");
        s->zero_is_none = bool_at(L, at, "zero_is_none");
        s->kind = (uint8_t)integer_at(L, at, "kind", 0, RTAP_SUM_CRC32C);
        s->decl = (uint16_t)integer_at(L, at, "field", 0, UINT16_MAX);
        s->protocol = (int32_t)integer_at(L, at, "protocol", -1, 255);
        s->length = code_at(L, at, "length");
        s->from = code_at(L, at, "from");
        s->to = code_at(L, at, "to");
        s->skip_from = code_at(L, at, "skip_from");
        s->skip_to = code_at(L, at, "skip_to");
        s->when = code_at(L, at, "when");
    }
    lua_pop(L, 1);
}

/* Append the flat table's functions to those of the state; the number of the first. */
static int keep_functions(lua_State *L, int t)
{
    unsigned n = list_at(L, t, "functions", 2000);
    int base;

    lua_rawgetp(L, LUA_REGISTRYINDEX, &functions_key);
    base = (int)lua_rawlen(L, -1);
    if (base + (int)n > 30000)
        luaL_error(L, "too many functions in protocol tables");
    for (unsigned i = 0; i < n; i++) {
        if (lua_rawgeti(L, -2, (lua_Integer)i + 1) != LUA_TFUNCTION)
            luaL_error(L, "protocol: a function expected");
        lua_rawseti(L, -2, base + (lua_Integer)i + 1);
    }
    lua_pop(L, 2);
    return base;
}

/* A proto that is being read is a userdata, so that an error in the middle leaves nothing behind. */
static int proto_close(lua_State *L)
{
    struct rtap_proto **p = lua_touserdata(L, 1);

    rtap_proto_free(*p);
    *p = NULL;
    return 0;
}

/* The functions that a flat table's numbers mean must exist. */
static bool functions_exist(const struct rtap_proto *p, int count)
{
    for (unsigned i = 0; i < p->decl_count; i++)
        if (p->decls[i].func >= count)
            return false;
    return true;
}

static void need_engine(lua_State *L, const struct rtap_lua *S)
{
    if (!S->engine)
        luaL_error(L, "ringtap is closed"); /* a finalizer at the end of the state */
}

/* _define(flat) */
static int define(lua_State *L)
{
    struct rtap_lua *S = RTAP_STATE(L);
    struct rtap_proto **box, *p;
    char err[256];
    int functions, count, r;

    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    need_engine(L, S);
    functions = keep_functions(L, 1);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &functions_key);
    count = (int)lua_rawlen(L, -1);
    lua_pop(L, 1);
    box = lua_newuserdatauv(L, sizeof(*box), 0);
    *box = NULL;
    lua_createtable(L, 0, 2);
    lua_pushcfunction(L, proto_close);
    lua_pushvalue(L, -1);
    lua_setfield(L, -3, "__gc");
    lua_setfield(L, -2, "__close");
    lua_setmetatable(L, 2);
    lua_toclose(L, 2);
    p = *box = room(L, 1, sizeof(*p));
    p->name = string_at(L, 1, "name");
    p->title = string_at(L, 1, "title");
    p->shown = string_at(L, 1, "shown");
    p->hidden = bool_at(L, 1, "hidden");
    p->once = bool_at(L, 1, "once");
    p->stream = code_at(L, 1, "stream");
    p->needs_walk = bool_at(L, 1, "needs_walk");
    read_strings(L, 1, p);
    read_decls(L, 1, S->engine, p, functions);
    read_codes(L, 1, S->engine, p);
    read_ops(L, 1, p);
    read_cases(L, 1, p);
    read_maps(L, 1, p);
    read_rules(L, 1, S->engine, p);
    read_checks(L, 1, p);
    read_sum(L, 1, p);
    read_line(L, 1, S->engine, p);
    p->header = code_at(L, 1, "header");
    p->total = code_at(L, 1, "total");
    p->guessed = code_at(L, 1, "guessed");
    p->untold = code_at(L, 1, "untold");
    p->refusal = string_index(L, 1, "refusal", p);
    p->accept = code_at(L, 1, "accept");
    if (!functions_exist(p, count))
        return luaL_error(L, "protocol %s: a function is missing", p->name);
    r = rtap_engine_define(S->engine, p, err, sizeof(err));
    if (r < 0)
        return luaL_error(L, "%s", err);
    *box = NULL;
    list_at(L, 1, "guess", 100);
    for (unsigned i = 0, n = (unsigned)lua_rawlen(L, -1); i < n; i++) {
        uint16_t list;
        int64_t code;

        lua_rawgeti(L, -1, (lua_Integer)i + 1);
        luaL_checktype(L, -1, LUA_TTABLE);
        code = element(L, -1, 1);
        lua_rawgeti(L, -1, 1);
        list = rtap_engine_table(S->engine, luaL_checkstring(L, -1));
        if (S->engine->protos[p->id] != p || code < 0 || code >= (int64_t)p->code_count || !list ||
            rtap_engine_guess(S->engine, list, p, (int16_t)code) < 0)
            return luaL_error(L, "protocol %s: a guess can't be kept", p->name);
        lua_pop(L, 2);
    }
    return 0;
}

/* _bind(table, key, protocol | nil) */
static int bind(lua_State *L)
{
    struct rtap_lua *S = RTAP_STATE(L);
    const char *table = luaL_checkstring(L, 1);
    lua_Integer key = luaL_checkinteger(L, 2);
    const struct rtap_proto *p = NULL;
    uint16_t id;

    luaL_argcheck(L, key >= 0 && key <= UINT32_MAX, 2, "a number from 0 to 4294967295");
    need_engine(L, S);
    if (!lua_isnoneornil(L, 3)) {
        p = rtap_engine_find(S->engine, luaL_checkstring(L, 3));
        luaL_argcheck(L, p, 3, "there is no such protocol");
    }
    id = rtap_engine_table(S->engine, table);
    if (!id || rtap_engine_bind(S->engine, id, (uint32_t)key, p) < 0)
        return luaL_error(L, "not enough memory");
    return 0;
}

/* _bound(table, key): the protocol's name, or nil */
static int bound(lua_State *L)
{
    struct rtap_lua *S = RTAP_STATE(L);
    const char *table = luaL_checkstring(L, 1);
    lua_Integer key = luaL_checkinteger(L, 2);
    const struct rtap_proto *p;
    uint16_t id;

    need_engine(L, S);
    id = rtap_engine_table(S->engine, table);
    p = id && key >= 0 && key <= UINT32_MAX ? rtap_engine_lookup(S->engine, id, (uint32_t)key) : NULL;
    lua_pushstring(L, p ? p->name : NULL);
    return 1;
}

void rtap_lua_push_function(lua_State *L, int func)
{
    lua_rawgetp(L, LUA_REGISTRYINDEX, &functions_key);
    lua_rawgeti(L, -1, (lua_Integer)func + 1);
    lua_remove(L, -2);
}

static const luaL_Reg functions[] = {{"_define", define}, {"_bind", bind}, {"_bound", bound}, {NULL, NULL}};

void rtap_lua_open_define(lua_State *L, struct rtap_lua *S)
{
    lua_newtable(L);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &functions_key);
    lua_pushlightuserdata(L, S);
    luaL_setfuncs(L, functions, 1);
}
