/* Reading option tables: unknown names, wrong types and values out of range raise, and the message says what is right.
 */
#include "rtap_lua.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Edits (insert, delete, replace, swap of neighbours counts two) between two short names. */
unsigned rtap_lua_distance(const char *a, const char *b)
{
    unsigned row[65], n = (unsigned)strlen(b);

    if (n > 64 || strlen(a) > 64)
        return 1000;
    for (unsigned j = 0; j <= n; j++)
        row[j] = j;
    for (unsigned i = 1; a[i - 1]; i++) {
        unsigned diagonal = row[0];

        row[0] = i;
        for (unsigned j = 1; j <= n; j++) {
            unsigned up = row[j], best = diagonal + (a[i - 1] != b[j - 1]);

            if (up + 1 < best)
                best = up + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            row[j] = best;
            diagonal = up;
        }
    }
    return row[n];
}

static int unknown_option(lua_State *L, const char *what, const char *key, const struct rtap_option *options)
{
    const char *nearest = NULL;
    unsigned best = (unsigned)strlen(key) / 2 + 1;

    for (const struct rtap_option *o = options; o->name; o++) {
        unsigned d = rtap_lua_distance(key, o->name);

        if (d < best) {
            best = d;
            nearest = o->name;
        }
    }
    if (nearest)
        return luaL_error(L, "%s: unknown option '%s' (did you mean '%s'?)", what, key, nearest);
    lua_pushliteral(L, "");
    for (const struct rtap_option *o = options; o->name; o++) {
        lua_pushfstring(L, "%s%s", o == options ? "" : ", ", o->name);
        lua_concat(L, 2);
    }
    return luaL_error(L, "%s: unknown option '%s' (there are: %s)", what, key, lua_tostring(L, -1));
}

static int wrong_type(lua_State *L, const char *what, const char *name, const char *expected)
{
    return luaL_error(L, "%s: option '%s' must be %s, not %s", what, name, expected, luaL_typename(L, -1));
}

static void read_seconds(lua_State *L, const char *what, const struct rtap_option *o, int64_t *to)
{
    lua_Number n, ns;

    if (lua_type(L, -1) != LUA_TNUMBER)
        wrong_type(L, what, o->name, "a number of seconds");
    n = lua_tonumber(L, -1);
    ns = n * 1e9;
    if (isnan(n) || ns < (lua_Number)o->min || (o->max != INT64_MAX && ns > (lua_Number)o->max))
        luaL_error(L, "%s: option '%s' = %f: out of range (%f to %s seconds)", what, o->name, n,
                   (lua_Number)o->min / 1e9,
                   o->max == INT64_MAX ? "any number of" : lua_pushfstring(L, "%f", (lua_Number)o->max / 1e9));
    *to = ns >= 9.2e18 ? INT64_MAX : (int64_t)ns;
}

static void read_enum(lua_State *L, const char *what, const struct rtap_option *o, int *to)
{
    const char *s;

    if (lua_type(L, -1) != LUA_TSTRING)
        wrong_type(L, what, o->name, "a string");
    s = lua_tostring(L, -1);
    for (int i = 0; o->names[i]; i++) {
        if (strcmp(s, o->names[i]) == 0) {
            *to = i;
            return;
        }
    }
    lua_pushliteral(L, "");
    for (int i = 0; o->names[i]; i++) {
        lua_pushfstring(L, "%s\"%s\"", i ? ", " : "", o->names[i]);
        lua_concat(L, 2);
    }
    luaL_error(L, "%s: option '%s' must be one of %s, not \"%s\"", what, o->name, lua_tostring(L, -1), s);
}

static void read_int(lua_State *L, const char *what, const struct rtap_option *o, int64_t *to)
{
    int ok;
    lua_Integer n = lua_tointegerx(L, -1, &ok);

    if (lua_type(L, -1) != LUA_TNUMBER || !ok)
        wrong_type(L, what, o->name, "an integer");
    if (n < o->min || n > o->max)
        luaL_error(L, "%s: option '%s' = %I: out of range (%I to %I)", what, o->name, n, (lua_Integer)o->min,
                   (lua_Integer)o->max);
    *to = n;
}

/* The value is on top. True: it has to stay there, so that it lives whatever becomes of the table. */
static bool read_one(lua_State *L, const char *what, const struct rtap_option *o, void *cfg)
{
    void *to = (char *)cfg + o->offset;

    switch (o->type) {
    case RTAP_OPT_BOOL:
        if (!lua_isboolean(L, -1))
            wrong_type(L, what, o->name, "true or false");
        *(bool *)to = lua_toboolean(L, -1);
        break;
    case RTAP_OPT_INT: read_int(L, what, o, to); break;
    case RTAP_OPT_SECONDS: read_seconds(L, what, o, to); break;
    case RTAP_OPT_STRING:
        if (lua_type(L, -1) != LUA_TSTRING)
            wrong_type(L, what, o->name, "a string");
        *(const char **)to = lua_tostring(L, -1);
        if (strlen(*(const char **)to) != lua_rawlen(L, -1))
            luaL_error(L, "%s: option '%s' has a NUL byte in it", what, o->name);
        return true;
    case RTAP_OPT_ENUM: read_enum(L, what, o, to); break;
    case RTAP_OPT_VALUE: *(int *)to = lua_gettop(L); return true;
    }
    return false;
}

const char *rtap_lua_check_name(lua_State *L, int idx)
{
    size_t n;
    const char *s = luaL_checklstring(L, idx, &n);

    luaL_argcheck(L, strlen(s) == n, idx, "a name has no NUL byte");
    return s;
}

bool rtap_lua_has_option(lua_State *L, int idx, const char *name)
{
    bool has;

    if (!lua_istable(L, idx))
        return false;
    lua_pushstring(L, name);
    has = lua_rawget(L, idx) != LUA_TNIL;
    lua_pop(L, 1);
    return has;
}

void rtap_lua_options(lua_State *L, int idx, const char *what, const struct rtap_option *options, void *cfg)
{
    idx = lua_absindex(L, idx);
    if (lua_isnoneornil(L, idx))
        return;
    if (!lua_istable(L, idx))
        luaL_error(L, "%s: options must be a table, not %s", what, luaL_typename(L, idx));
    luaL_checkstack(L, 32, "options");
    for (lua_pushnil(L); lua_next(L, idx); lua_pop(L, 1)) {
        bool known = false;

        if (lua_type(L, -2) != LUA_TSTRING)
            luaL_error(L, "%s: option names are strings: there is a value without a name at [%s]", what,
                       luaL_tolstring(L, -2, NULL));
        for (const struct rtap_option *o = options; o->name && !known; o++)
            known = strcmp(o->name, lua_tostring(L, -2)) == 0;
        if (!known)
            unknown_option(L, what, lua_tostring(L, -2), options);
    }
    for (const struct rtap_option *o = options; o->name; o++) {
        lua_pushstring(L, o->name);
        if (lua_rawget(L, idx) == LUA_TNIL || !read_one(L, what, o, cfg))
            lua_pop(L, 1);
    }
}
