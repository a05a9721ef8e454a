/* pkt[name] for what is no method, and layers as values: pkt.udp, pkt.udp.dstport. */
#include "writable.h"

#include <stdlib.h>
#include <string.h>

/* Is name the beginning of some field's or protocol's, up to a dot? */
static bool is_prefix(const struct rtap_engine *e, const char *name)
{
    size_t n = strlen(name);

    for (unsigned i = 1; i < e->name_count; i++)
        if (strncmp(e->names[i], name, n) == 0 && e->names[i][n] == '.')
            return true;
    return false;
}

static const char names_key = 0; /* only its address matters */

struct layer_ref { /* user value 1: the packet, 2: the prefix */
    uint64_t key;
    int32_t layer; /* -1: the packet as a whole */
};

/* "ip" or "ip#2", looked up once: a userdata that is kept by its name. */
struct layer_name {
    const struct rtap_proto *proto;
    uint64_t need[RTAP_PROTOS_MAX / 64]; /* the protocols that are shown by that name */
    unsigned version;
    long n;
    char bare[128];
};

/* The protocol of that name, with all tables loaded if it takes that; NULL: there is none. */
static const struct rtap_proto *proto_named(lua_State *L, struct rtap_lua *S, const char *name)
{
    const struct rtap_proto *p = rtap_engine_find(rtap_lua_carriers(L, S), name);

    return p ? p : rtap_engine_find(rtap_lua_engine(L, S), name);
}

static bool split(const char *name, struct layer_name *to)
{
    size_t len = strcspn(name, "#");
    char *end;

    to->n = 1;
    if (len >= sizeof(to->bare))
        return false;
    memcpy(to->bare, name, len);
    to->bare[len] = '\0';
    if (!name[len])
        return true;
    to->n = strtol(name + len + 1, &end, 10);
    return !*end && end != name + len + 1 && to->n != 0;
}

static bool is_in(const uint64_t *set, unsigned id)
{
    return set[id / 64] >> id % 64 & 1;
}

/* What the string at idx names, from what is kept; NULL: no protocol. Leaves something on the stack. */
static struct layer_name *layer_named(lua_State *L, struct rtap_lua *S, int idx)
{
    const struct rtap_engine *e = S->engine;
    struct layer_name *ln, made;

    lua_rawgetp(L, LUA_REGISTRYINDEX, &names_key);
    lua_pushvalue(L, idx);
    if (lua_rawget(L, -2) != LUA_TUSERDATA) {
        if (!split(lua_tostring(L, idx), &made) || !proto_named(L, S, made.bare))
            return NULL;
        ln = lua_newuserdatauv(L, sizeof(*ln), 0);
        *ln = made;
        ln->version = 0;
        lua_pushvalue(L, idx);
        lua_pushvalue(L, -2);
        lua_rawset(L, -5);
    }
    ln = lua_touserdata(L, -1);
    if (ln->version != e->version) {
        ln->proto = proto_named(L, S, ln->bare);
        memset(ln->need, 0, sizeof(ln->need));
        for (unsigned i = 0; i < e->proto_count; i++)
            if (strcmp(e->protos[i]->shown, ln->bare) == 0 || i == ln->proto->id)
                ln->need[i / 64] |= 1ull << i % 64;
        ln->version = e->version;
    }
    return ln;
}

static struct rtap_layer *find(struct rtap_layers *ls, const struct layer_name *ln)
{
    long n = ln->n;

    if (n < 0) {
        rtap_layers_more(ls, ln->need);
        for (unsigned i = ls->count; i-- > 0;)
            if (is_in(ln->need, ls->at[i].proto->id) && ++n == 0)
                return &ls->at[i];
        return NULL;
    }
    for (unsigned i = 0;; i++) {
        if (i == ls->count)
            rtap_layers_one(ls, ln->need);
        if (i == ls->count)
            return NULL;
        if (is_in(ln->need, ls->at[i].proto->id) && --n == 0)
            return &ls->at[i];
    }
}

struct rtap_layer *rtap_lua_find_layer(lua_State *L, struct rtap_lua *S, int idx, int name, struct rtap_layers **out)
{
    const struct layer_name *ln = layer_named(L, S, name);

    if (!ln) {
        luaL_error(L, "no protocol is called '%s'", lua_tostring(L, name));
        return NULL;
    }
    *out = rtap_lua_layers(L, S, idx);
    return find(*out, ln);
}

/* prefix: the index of a string */
static void push_layer(lua_State *L, struct rtap_lua *S, int32_t layer, uint64_t key, int pkt, int prefix)
{
    struct layer_ref *ref = lua_newuserdatauv(L, sizeof(*ref), 2);

    ref->key = key;
    ref->layer = layer;
    rtap_lua_set_type(L, S->mt_layer);
    lua_pushvalue(L, pkt);
    lua_setiuservalue(L, -2, 1);
    lua_pushvalue(L, prefix);
    lua_setiuservalue(L, -2, 2);
}

/* The layer of the packet at pkt that ln names, or nil. */
static int push_named(lua_State *L, struct rtap_lua *S, const struct layer_name *ln, int pkt)
{
    struct rtap_layers *ls = rtap_lua_layers(L, S, pkt);
    const struct rtap_layer *l = find(ls, ln);
    uint64_t key = rtap_lua_packet_key(L, S, pkt);
    int32_t index = l ? (int32_t)(l - ls->at) : -1;

    if (!l) {
        lua_pushnil(L);
    } else {
        lua_pushstring(L, ln->bare);
        push_layer(L, S, index, key, pkt, lua_gettop(L));
    }
    return 1;
}

int rtap_lua_index_field(lua_State *L, struct rtap_lua *S)
{
    const struct layer_name *ln;
    struct rtap_lua_fieldset *f;

    if (lua_type(L, 2) != LUA_TSTRING)
        return luaL_error(L, "a packet has no field or method '%s'", luaL_tolstring(L, 2, NULL));
    lua_rawgetp(L, LUA_REGISTRYINDEX, &names_key);
    lua_pushvalue(L, 2);
    if (lua_rawget(L, -2) != LUA_TUSERDATA) { /* no layer, as far as is known */
        f = rtap_lua_kept_fieldset(L, S, 2);
        if (f) {
            rtap_lua_push_single(L, S, f, 1);
            return 1;
        }
    }
    ln = layer_named(L, S, 2);
    if (ln)
        return push_named(L, S, ln, 1);
    if (is_prefix(rtap_lua_engine(L, S), lua_tostring(L, 2))) {
        rtap_lua_check_pkt(L, S, 1);
        push_layer(L, S, -1, rtap_lua_packet_key(L, S, 1), 1, 2);
        return 1;
    }
    return rtap_lua_no_field(L, S, "a packet has no field or method", lua_tostring(L, 2));
}

/* ------------------------------------------------------------------ layers as values */

static int layer_index(lua_State *L)
{
    struct rtap_lua *S = RTAP_STATE(L);
    struct layer_ref *ref = rtap_lua_check(L, 1, S->mt_layer, "layer");
    struct rtap_lua_fieldset *f;
    const struct layer_name *ln;
    struct rtap_layers *ls;
    struct rtap_item it;
    int r;

    luaL_checkstring(L, 2);
    lua_settop(L, 2);
    lua_getiuservalue(L, 1, 1); /* 3: the packet */
    lua_getiuservalue(L, 1, 2);
    lua_pushfstring(L, "%s.%s", lua_tostring(L, 4), lua_tostring(L, 2)); /* 5 */
    f = rtap_lua_kept_fieldset(L, S, 5);
    ls = rtap_lua_layers(L, S, 3);
    if (rtap_lua_packet_key(L, S, 3) != ref->key)
        return luaL_error(L, "stale layer: its packet was used again for another one");
    if (!f) {
        ln = layer_named(L, S, 5);
        if (ln)
            return push_named(L, S, ln, 3);
        if (!is_prefix(S->engine, lua_tostring(L, 5)))
            return rtap_lua_no_field(L, S, "there is no field", lua_tostring(L, 5));
        push_layer(L, S, ref->layer, ref->key, 3, 5);
        return 1;
    }
    if (ref->layer >= 0 && !strchr(lua_tostring(L, 2), '#')) {
        for (unsigned count = ls->count + 1; ls->count <= (unsigned)ref->layer && ls->count != count;) {
            count = ls->count;
            rtap_layers_one(ls, NULL);
        }
        r = !f->fs                             ? -1
            : ls->count > (unsigned)ref->layer ? rtap_fieldset_in_layer(f->fs, ls, (unsigned)ref->layer, &it)
                                               : -1;
        if (r >= 0) {
            if (r)
                rtap_lua_push_item(L, S, ls, &it);
            else
                lua_pushnil(L); /* its protocol has the field, but it isn't here */
            return 1;
        }
    }
    rtap_lua_push_single(L, S, f, 3);
    return 1;
}

static int layer_newindex(lua_State *L)
{
    struct rtap_lua *S = RTAP_STATE(L);
    const struct layer_ref *ref = rtap_lua_check(L, 1, S->mt_layer, "layer");
    const struct rtap_layers *ls;
    int n = 0;

    luaL_checkstring(L, 2);
    lua_settop(L, 3);
    lua_getiuservalue(L, 1, 1); /* 4: the packet */
    if (!rtap_lua_is_writable(L, S, 4))
        return luaL_error(L, "a packet can't be changed (field '%s'); pkt:edit() makes a builder of it",
                          luaL_tolstring(L, 2, NULL));
    lua_getiuservalue(L, 1, 2);
    ls = rtap_lua_layers_all(L, S, 4);
    for (unsigned i = 0; ref->layer >= 0 && i <= (unsigned)ref->layer && i < ls->count; i++)
        n += ls->at[i].proto == ls->at[ref->layer].proto;
    if (n > 1)
        lua_pushfstring(L, "%s.%s#%d", lua_tostring(L, 5), lua_tostring(L, 2), n);
    else
        lua_pushfstring(L, "%s.%s", lua_tostring(L, 5), lua_tostring(L, 2));
    lua_replace(L, 2);
    lua_pushvalue(L, 4);
    lua_replace(L, 1);
    lua_settop(L, 3);
    return rtap_lua_write_field(L, S);
}

static int layer_tostring(lua_State *L)
{
    rtap_lua_check(L, 1, RTAP_STATE(L)->mt_layer, "layer");
    lua_getiuservalue(L, 1, 2);
    lua_pushfstring(L, "layer %s", lua_tostring(L, -1));
    return 1;
}

void rtap_lua_open_layer(lua_State *L, struct rtap_lua *S)
{
    static const luaL_Reg metamethods[] = {
        {"__index", layer_index}, {"__newindex", layer_newindex}, {"__tostring", layer_tostring}, {NULL, NULL}};

    lua_newtable(L);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &names_key);
    S->mt_layer = rtap_lua_type(L, S, "ringtap.layer", metamethods, NULL);
    lua_pop(L, 1);
}
