/*
 * Writing to packets: templates, where their fields are, and assignment by name with the checksums that cover it. See
 * writable.h.
 *
 * Whatever allocates may run a finalizer, and that may close the sink whose memory a frame is in: the packet's bytes
 * are looked up again right before they are written.
 */
#include "writable.h"

#include "../packet/gso.h"

#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ places */

bool rtap_lua_raw_place(const char *name, bool *payload, uint32_t *off, uint32_t *size)
{
    const char *at = strchr(name, '@');
    unsigned long n;
    char *end;

    if (!at || at[1] < '0' || at[1] > '9')
        return false;
    *payload = at - name == 7 && memcmp(name, "payload", 7) == 0;
    if (!*payload && !(at - name == 5 && memcmp(name, "frame", 5) == 0))
        return false;
    n = strtoul(at + 1, &end, 10);
    *off = n > 1 << 20 ? 1 << 20 : (uint32_t)n;
    *size = 4;
    if (*end == ':' && end[1] >= '0' && end[1] <= '9') {
        n = strtoul(end + 1, &end, 10);
        *size = n > 1 << 20 ? 1 << 20 : (uint32_t)n;
    }
    return *end == '\0' && *size > 0;
}

static struct rtap_lua_place *new_place(lua_State *L, const struct rtap_layout *lo, uint64_t bit, uint64_t bits)
{
    struct rtap_lua_place *p = lua_newuserdatauv(L, sizeof(*p), 0);

    p->decl = NULL;
    if (!rtap_place_at(lo, bit, (uint32_t)bits, &p->pl))
        luaL_error(L, "too many checksums cover it");
    return p;
}

/* The template's bytes may be flipped for a moment, they are its own. */
static void find_out(lua_State *L, struct rtap_lua *S, int idx, struct rtap_lua_place *p)
{
    struct rtap_lua_template *t = lua_touserdata(L, idx);
    uint32_t from, to;

    /* of a long stretch of headers not every part can be tried */
    if (!p->decl && p->pl.bits > 64 && rtap_lua_payload_range(L, S, idx, &from, &to) && p->pl.first < from) {
        p->pl.structural = true;
        return;
    }
    p->pl.structural =
        rtap_place_is_structural(rtap_lua_layers(L, S, idx), &t->t.layout, &p->pl, (uint8_t *)t->t.pkt.data);
}

static bool can_be_put(const struct rtap_item *it)
{
    if (it->kind != RTAP_ITEM_FIELD && it->kind != RTAP_ITEM_ALIAS)
        return false;
    if (it->decl->flags & RTAP_DECL_FUNC || it->bits == 0)
        return false;
    switch (it->decl->type) {
    case RTAP_NAME:
    case RTAP_OID:
    case RTAP_BER:
    case RTAP_VARINT:
    case RTAP_FRAME: return false;
    default: return it->bits <= 64 || (it->bits % 8 == 0 && it->bit % 8 == 0);
    }
}

static struct rtap_lua_place *find_place(lua_State *L, struct rtap_lua *S, int idx, int name)
{
    const struct rtap_layout *lo = rtap_lua_layout(L, S, idx);
    struct rtap_lua_fieldset *f;
    struct rtap_lua_place *p;
    struct rtap_item it;
    uint32_t off, size;
    bool payload;

    if (rtap_lua_raw_place(lua_tostring(L, name), &payload, &off, &size)) {
        const struct rtap_lua_template *t = lua_touserdata(L, idx);
        uint32_t from = 0, to = t->t.pkt.caplen;

        if (payload && !rtap_lua_payload_range(L, S, idx, &from, &to))
            from = to = 0;
        if (off > to - from || size > to - from - off)
            luaL_error(L, "%s: the %s has %I bytes", lua_tostring(L, name), payload ? "payload" : "frame",
                       (lua_Integer)(to - from));
        p = new_place(L, lo, (from + (uint64_t)off) * 8, size * 8ull);
        find_out(L, S, idx, p);
        return p;
    }
    if (strchr(lua_tostring(L, name), '@'))
        luaL_error(L, "%s: bytes without a name are payload@OFFSET:SIZE or frame@OFFSET:SIZE", lua_tostring(L, name));
    f = rtap_lua_kept_fieldset(L, S, name);
    if (!f) {
        rtap_lua_no_field(L, S, "no protocol has a field", lua_tostring(L, name));
        return NULL;
    }
    if (!f->fs || rtap_fieldset_one(f->fs, rtap_lua_layers(L, S, idx), &it) != 1) {
        lua_pushnil(L);
        return NULL;
    }
    if (!can_be_put(&it))
        luaL_error(L, "%s can't be written where it is: change it with pkt:edit() or in a builder",
                   lua_tostring(L, name));
    p = new_place(L, lo, it.bit, it.bits);
    p->decl = it.decl;
    p->pl.le = it.decl->flags & RTAP_DECL_LE && it.bits % 8 == 0 && it.bits <= 64;
    find_out(L, S, idx, p);
    return p;
}

struct rtap_lua_place *rtap_lua_place_of(lua_State *L, struct rtap_lua *S, int idx, int name)
{
    struct rtap_lua_place *p;
    int places;

    rtap_lua_layout(L, S, idx);
    lua_getiuservalue(L, idx, 2);
    places = lua_gettop(L);
    lua_pushvalue(L, name);
    if (lua_rawget(L, places) == LUA_TUSERDATA) {
        lua_replace(L, places);
        return lua_touserdata(L, -1);
    }
    p = find_place(L, S, idx, name);
    if (p) {
        lua_pushvalue(L, name);
        lua_pushvalue(L, -2);
        lua_rawset(L, places);
    }
    lua_replace(L, places);
    lua_settop(L, places);
    return p;
}

/* ------------------------------------------------------------------ writing */

static struct rtap_lua_frames *frames_of(lua_State *L, struct rtap_lua *S, int idx)
{
    return lua_islightuserdata(L, idx) ? rtap_lua_shown_frames(S, lua_touserdata(L, idx)) : NULL;
}

bool rtap_lua_is_writable(lua_State *L, struct rtap_lua *S, int idx)
{
    return frames_of(L, S, idx) || rtap_lua_test(L, idx, S->mt_template);
}

/* The packet that is written to, or an error. */
static struct rtap_pkt *target(lua_State *L, struct rtap_lua *S, int idx)
{
    struct rtap_pkt *pkt = (struct rtap_pkt *)rtap_lua_check_pkt(L, S, idx);

    if (!rtap_lua_is_writable(L, S, idx))
        luaL_argerror(L, idx,
                      "it can't be changed: only templates and the frames of a sender can, and builders "
                      "(pkt:edit() makes one)");
    return pkt;
}

/* Push the template whose layout the packet at idx has: itself, or the frame's, made now where it has none. */
static int push_template(lua_State *L, struct rtap_lua *S, int idx)
{
    if (rtap_lua_test(L, idx, S->mt_template)) {
        lua_pushvalue(L, idx);
    } else {
        struct rtap_lua_frames *fr = rtap_lua_push_frames(L, S, idx);

        if (lua_getiuservalue(L, -1, 2) == LUA_TNIL ||
            ((struct rtap_lua_template *)lua_touserdata(L, -1))->serial != fr->serial) {
            lua_pop(L, 1);
            fr->serial = rtap_lua_to_template(L, S, idx, 0)->serial;
            lua_pushvalue(L, -1);
            lua_setiuservalue(L, -3, 2);
        }
        lua_remove(L, -2);
    }
    return lua_gettop(L);
}

/* What was written is not what was decoded. */
static void was_written(lua_State *L, struct rtap_lua *S, int idx)
{
    struct rtap_lua_template *t = rtap_lua_test(L, idx, S->mt_template);

    if (t)
        t->serial = ++S->serials;
    else
        rtap_lua_forget_layers(S);
}

/* The frame at idx is no longer like the template that it was set from. */
static void forget_template(lua_State *L, struct rtap_lua *S, int idx)
{
    rtap_lua_push_frames(L, S, idx);
    lua_pushnil(L);
    lua_setiuservalue(L, -2, 2);
    lua_pushnil(L);
    lua_setiuservalue(L, -2, 3);
    lua_pop(L, 1);
}

/* The layout is another one, or may be: find it again and make the sums right. */
static void lay_out_anew(lua_State *L, struct rtap_lua *S, int idx)
{
    struct rtap_lua_template *t = rtap_lua_test(L, idx, S->mt_template);
    struct rtap_layout lo;

    was_written(L, S, idx);
    if (t)
        t->version = 0;
    else
        forget_template(L, S, idx);
    rtap_lua_engine(L, S);
    rtap_layout_find(rtap_lua_layers(L, S, idx), &lo);
    rtap_layout_sum(&lo, (uint8_t *)target(L, S, idx)->data);
    was_written(L, S, idx);
}

static bool quick_ipv4(const char *s, uint64_t *v)
{
    uint32_t address = 0;

    for (int i = 0; i < 4; i++) {
        unsigned n = 0, digits = 0;

        for (; *s >= '0' && *s <= '9' && digits < 3; s++, digits++)
            n = n * 10 + (unsigned)(*s - '0');
        if (digits == 0 || n > 255 || *s != (i < 3 ? '.' : '\0'))
            return false;
        s += i < 3;
        address = address << 8 | n;
    }
    *v = address;
    return true;
}

/* The value at idx as the place has it, where that is simple: true. */
static bool quick_value(lua_State *L, const struct rtap_lua_place *p, int idx, uint64_t *v)
{
    const struct rtap_decl *d = p->decl;

    if (p->pl.bits > 64)
        return false;
    if (lua_isinteger(L, idx) && (!d || (d->type == RTAP_UINT && d->scale == 1 && d->add == 0))) {
        *v = (uint64_t)lua_tointeger(L, idx);
        return p->pl.bits == 64 || *v >> p->pl.bits == 0;
    }
    if (lua_isboolean(L, idx) && d && d->type == RTAP_BOOL && p->pl.bits == 1 && d->scale == 1 && d->add == 0) {
        *v = (uint64_t)lua_toboolean(L, idx);
        return true;
    }
    return lua_type(L, idx) == LUA_TSTRING && d && d->type == RTAP_IPV4 && quick_ipv4(lua_tostring(L, idx), v);
}

/* Push what the value is on the wire: an integer, or bytes. require("ringtap.send.value").wire(protocol, field, bits,
 * v) raises when it doesn't fit. */
static void push_wire(lua_State *L, const struct rtap_engine *e, const struct rtap_lua_place *p, int name, int value)
{
    lua_getglobal(L, "require");
    lua_pushliteral(L, "ringtap.send.value");
    lua_call(L, 1, 1);
    lua_getfield(L, -1, "wire");
    lua_remove(L, -2);
    lua_pushstring(L, p->decl ? p->decl->proto->name : NULL);
    if (p->decl && p->decl->name)
        lua_pushstring(L, e->names[p->decl->name]);
    else
        lua_pushvalue(L, name);
    lua_pushinteger(L, (lua_Integer)p->pl.bits);
    lua_pushvalue(L, value);
    if (lua_pcall(L, 4, 1, 0) != LUA_OK) /* with the place of the assignment */
        luaL_error(L, "%s", lua_tostring(L, -1));
}

/* What ran meanwhile (a finalizer, a function of the script) may have written to the packet at 1 or to t. */
static void check_fit(lua_State *L, struct rtap_lua *S, const struct rtap_lua_template *t)
{
    if (target(L, S, 1)->caplen != t->t.pkt.caplen || t->version == 0)
        luaL_error(L, "the packet was changed while it was written to");
}

/* What is written to at 1, where its layout is known: the template that has it, and on the stack the places in it that
 * were found before. NULL: nothing is pushed. Nothing is allocated here, so no finalizer runs. */
static struct rtap_lua_template *known_layout(lua_State *L, struct rtap_lua *S, uint8_t **data)
{
    struct rtap_lua_template *t = rtap_lua_test(L, 1, S->mt_template);
    struct rtap_lua_frames *fr = t ? NULL : frames_of(L, S, 1);
    int top = lua_gettop(L);

    if (fr) {
        rtap_lua_push_frames(L, S, 1);
        lua_getiuservalue(L, -1, 2);
        t = lua_touserdata(L, -1);
        if (!t || t->serial != fr->serial || t->t.pkt.caplen != fr->slot->pkt.caplen)
            t = NULL;
    }
    if (!t || !S->engine || t->version != S->engine->version + 1) {
        lua_settop(L, top);
        return NULL;
    }
    *data = (uint8_t *)(fr ? fr->slot->pkt.data : t->t.pkt.data);
    lua_getiuservalue(L, fr ? -1 : 1, 2);
    return t;
}

static void place_was_written(lua_State *L, struct rtap_lua *S, struct rtap_lua_template *t)
{
    if (lua_islightuserdata(L, 1))
        rtap_lua_forget_layers(S);
    else
        t->serial = ++S->serials;
}

/* x[name] = v once more, for a value that needs no looking at: was it written? */
static bool write_known(lua_State *L, struct rtap_lua *S)
{
    const struct rtap_lua_place *p;
    struct rtap_lua_template *t;
    uint8_t *data;
    uint64_t v;

    if (lua_gettop(L) != 3 || lua_type(L, 2) != LUA_TSTRING || !(t = known_layout(L, S, &data)))
        return false;
    lua_pushvalue(L, 2);
    if (lua_rawget(L, -2) != LUA_TUSERDATA)
        return false;
    p = lua_touserdata(L, -1);
    if (p->pl.structural || !quick_value(L, p, 3, &v))
        return false;
    rtap_place_put(&t->t.layout, &p->pl, data, v);
    place_was_written(L, S, t);
    return true;
}

int rtap_lua_write_field(lua_State *L, struct rtap_lua *S)
{
    const struct rtap_lua_place *p;
    const struct rtap_lua_template *t;
    const char *bytes = NULL;
    uint64_t v = 0;
    size_t n = 0;

    if (write_known(L, S))
        return 0;
    target(L, S, 1);
    luaL_checktype(L, 2, LUA_TSTRING);
    lua_settop(L, 3);
    luaL_checkany(L, 3);
    push_template(L, S, 1);            /* 4 */
    p = rtap_lua_place_of(L, S, 4, 2); /* 5 */
    if (!p)
        return luaL_error(L, "there is no %s in this packet", lua_tostring(L, 2));
    if (!quick_value(L, p, 3, &v)) {
        push_wire(L, S->engine, p, 2, 3); /* 6 */
        if (lua_isinteger(L, 6)) {
            v = (uint64_t)lua_tointeger(L, 6);
        } else {
            bytes = lua_tolstring(L, 6, &n);
            if (n * 8 != p->pl.bits || p->pl.bits % 8 || p->pl.shift)
                return luaL_error(L, "%s has %I bits here, and its length can't change", lua_tostring(L, 2),
                                  (lua_Integer)p->pl.bits);
        }
    }
    t = lua_touserdata(L, 4);
    check_fit(L, S, t);
    if (bytes)
        rtap_place_put_bytes(&t->t.layout, &p->pl, (uint8_t *)target(L, S, 1)->data, (const uint8_t *)bytes);
    else
        rtap_place_put(&t->t.layout, &p->pl, (uint8_t *)target(L, S, 1)->data, v);
    if (p->pl.structural)
        lay_out_anew(L, S, 1);
    else
        was_written(L, S, 1);
    return 0;
}

/* ------------------------------------------------------------------ methods */

/* x:set(template | packet | builder | bytes): x has those bytes now */
static int write_set(lua_State *L)
{
    struct rtap_lua *S = RTAP_STATE(L);
    struct rtap_lua_template *t = rtap_lua_test(L, 1, S->mt_template), *from;
    struct rtap_lua_frames *fr;
    struct rtap_pkt *pkt = target(L, S, 1);
    bool text;

    lua_settop(L, 2);
    text = lua_type(L, 2) == LUA_TSTRING;
    if (t) {
        from = rtap_lua_to_template(L, S, 2, t->t.pkt.linktype);
        while (from->t.pkt.caplen > t->room) { /* again when a finalizer has changed one of them */
            size_t room = from->t.pkt.caplen > t->t.pkt.caplen ? from->t.pkt.caplen : t->t.pkt.caplen;
            uint8_t *bytes = lua_newuserdatauv(L, room, 0);

            if (t->t.pkt.caplen > room)
                return luaL_error(L, "the template was changed while it was written to");
            memcpy(bytes, t->t.pkt.data, t->t.pkt.caplen);
            t->t.pkt.data = bytes;
            t->room = room;
            lua_setiuservalue(L, 1, 1);
        }
        if (from != t)
            rtap_lua_set_template(S, t, from->t.pkt.data, from->t.pkt.caplen, from->t.pkt.linktype);
        lua_settop(L, 1);
        return 1;
    }
    fr = rtap_lua_push_frames(L, S, 1); /* 3 */
    if (text) {                         /* the same string as last time: its layout is known */
        lua_getiuservalue(L, 3, 3);
        if (lua_rawequal(L, 2, -1))
            lua_getiuservalue(L, 3, 2);
        else
            lua_pushnil(L);
    } else {
        lua_pushnil(L);
    }
    if (lua_isnil(L, -1))
        rtap_lua_to_template(L, S, 2, pkt->linktype);
    from = lua_touserdata(L, -1);
    pkt = target(L, S, 1); /* again: see above */
    if (!rtap_sink_takes(fr->owner->sink, from->t.pkt.linktype))
        return luaL_error(L, "set: a packet of link type %d can't be sent here, only of %d", from->t.pkt.linktype,
                          pkt->linktype);
    if (from->t.pkt.caplen > fr->room)
        return luaL_error(L, "set: %d bytes, and a frame has room for %d (frame_size)", (int)from->t.pkt.caplen,
                          (int)fr->room);
    memcpy((uint8_t *)pkt->data, from->t.pkt.data, from->t.pkt.caplen);
    pkt->caplen = pkt->len = from->t.pkt.caplen;
    fr->serial = from->serial;
    lua_setiuservalue(L, 3, 2);
    if (text)
        lua_pushvalue(L, 2);
    else
        lua_pushnil(L);
    lua_setiuservalue(L, 3, 3);
    rtap_lua_forget_layers(S);
    lua_settop(L, 1);
    return 1;
}

/* string.pack for one integer, which is most of what is packed: its bytes, how many; 0: another format or value. */
static size_t quick_pack(lua_State *L, int format, int value, uint8_t out[8])
{
    const char *f = lua_tostring(L, format);
    bool big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__, is_signed;
    lua_Integer v = lua_tointeger(L, value);
    size_t n;

    if (*f == '<' || *f == '>' || *f == '=')
        big = *f == '>' || (*f == '=' && big), f++;
    is_signed = *f >= 'a';
    switch (*f++) {
    case 'b':
    case 'B': n = 1; break;
    case 'h':
    case 'H': n = sizeof(short); break;
    case 'j':
    case 'J': n = sizeof(lua_Integer); break;
    case 'i':
    case 'I': n = *f >= '1' && *f <= '8' ? (size_t)(*f++ - '0') : sizeof(int); break;
    default: return 0;
    }
    if (*f != '\0' || !lua_isinteger(L, value))
        return 0;
    if (n < 8 && is_signed && (v < -(1ll << (n * 8 - 1)) || v >= 1ll << (n * 8 - 1)))
        return 0;
    if (n < 8 && !is_signed && (lua_Unsigned)v >> (n * 8) != 0)
        return 0;
    for (size_t i = 0; i < n; i++)
        out[big ? n - 1 - i : i] = (uint8_t)((lua_Unsigned)v >> (i * 8));
    return n;
}

/* The same bytes as before at the same place, with other values: was it written? */
static bool pack_known(lua_State *L, struct rtap_lua *S, lua_Integer at, const uint8_t *bytes, size_t n)
{
    struct rtap_lua_template *t;
    struct rtap_lua_place *p;
    uint8_t *data;

    if (at < 1 || !(t = known_layout(L, S, &data)))
        return false;
    if (lua_rawgeti(L, -1, (at << 32) | (lua_Integer)n) != LUA_TUSERDATA)
        return false;
    p = lua_touserdata(L, -1);
    if (p->pl.structural)
        return false;
    rtap_place_put_bytes(&t->t.layout, &p->pl, data, bytes);
    place_was_written(L, S, t);
    return true;
}

/* x:pack(format, position, ...): string.pack's bytes, written at that position (1-based; from the end if negative) */
static int write_pack(lua_State *L)
{
    struct rtap_lua *S = RTAP_STATE(L);
    const struct rtap_pkt *pkt;
    lua_Integer at = luaL_checkinteger(L, 3);
    const struct rtap_layout *lo;
    struct rtap_lua_place *p;
    uint8_t number[8];
    const char *bytes = (const char *)number;
    size_t n;

    luaL_checkstring(L, 2);
    n = lua_gettop(L) == 4 ? quick_pack(L, 2, 4, number) : 0;
    if (n > 0 && pack_known(L, S, at, number, n)) {
        lua_settop(L, 1);
        return 1;
    }
    target(L, S, 1);
    if (n > 0) {
        lua_settop(L, 2);
    } else {
        lua_remove(L, 3);
        lua_getglobal(L, "string");
        lua_getfield(L, -1, "pack");
        lua_insert(L, 2);
        lua_pop(L, 1);
        lua_call(L, lua_gettop(L) - 2, 1); /* 2: the bytes */
        bytes = luaL_checklstring(L, 2, &n);
    }
    pkt = target(L, S, 1); /* again: see above */
    if (at < 0)
        at += (lua_Integer)pkt->caplen + 1;
    if (at < 1 || n > pkt->caplen || (uint64_t)at - 1 > pkt->caplen - n)
        return luaL_error(L, "pack: %I bytes at %I lie outside of the packet's %I (resize() makes it longer)",
                          (lua_Integer)n, at, (lua_Integer)pkt->caplen);
    if (n == 0) {
        lua_settop(L, 1);
        return 1;
    }
    push_template(L, S, 1); /* 3 */
    lo = rtap_lua_layout(L, S, 3);
    lua_getiuservalue(L, 3, 2); /* 4 */
    if (lua_rawgeti(L, 4, (at << 32) | (lua_Integer)n) == LUA_TUSERDATA) {
        p = lua_touserdata(L, -1);
    } else {
        p = new_place(L, lo, (uint64_t)(at - 1) * 8, n * 8);
        find_out(L, S, 3, p);
        lua_rawseti(L, 4, (at << 32) | (lua_Integer)n);
    }
    check_fit(L, S, lua_touserdata(L, 3));
    rtap_place_put_bytes(lo, &p->pl, (uint8_t *)target(L, S, 1)->data, (const uint8_t *)bytes);
    if (p->pl.structural)
        lay_out_anew(L, S, 1);
    else
        was_written(L, S, 1);
    lua_settop(L, 1);
    return 1;
}

/* x:resize(size): the lengths in its headers follow; new bytes are 0 */
static int write_resize(lua_State *L)
{
    struct rtap_lua *S = RTAP_STATE(L);
    struct rtap_lua_template *t = rtap_lua_test(L, 1, S->mt_template);
    struct rtap_pkt *pkt = target(L, S, 1);
    lua_Integer size = luaL_checkinteger(L, 2);
    struct rtap_layers *ls;
    uint32_t was;

    luaL_argcheck(L, size >= 0 && size <= 1 << 20, 2, "a size in bytes, up to 1048576");
    lua_settop(L, 2);
    if (t && (size_t)size > t->room) {
        uint8_t *bytes = lua_newuserdatauv(L, (size_t)size, 0);

        if (t->t.pkt.caplen > (size_t)size)
            return luaL_error(L, "the template was changed while it was written to");
        memcpy(bytes, t->t.pkt.data, t->t.pkt.caplen);
        t->t.pkt.data = bytes;
        t->room = (size_t)size;
        lua_setiuservalue(L, 1, 1);
    } else if (!t) {
        struct rtap_lua_frames *fr = rtap_lua_push_frames(L, S, 1);

        if (size > fr->room)
            return luaL_error(L, "resize: %I bytes, and a frame has room for %I (frame_size)", size,
                              (lua_Integer)fr->room);
    }
    rtap_lua_layers_all(L, S, 1);
    ls = rtap_lua_layers_all(L, S, 1); /* the second time nothing is loaded any more */
    rtap_layers_finish(ls);
    pkt = target(L, S, 1);
    if (t && (size_t)size > t->room)
        return luaL_error(L, "the template was changed while it was written to");
    was = pkt->caplen;
    rtap_layout_resize(ls, (uint8_t *)pkt->data, (uint32_t)size);
    if (size > was)
        memset((uint8_t *)pkt->data + was, 0, (size_t)size - was);
    pkt->caplen = pkt->len = (uint32_t)size;
    lay_out_anew(L, S, 1);
    lua_settop(L, 1);
    return 1;
}

/* frame:skip(): it is not sent */
static int write_skip(lua_State *L)
{
    struct rtap_lua *S = RTAP_STATE(L);
    struct rtap_pkt *pkt = target(L, S, 1);

    if (!frames_of(L, S, 1))
        return luaL_argerror(L, 1, "skip: only a frame of a sender");
    pkt->caplen = pkt->len = 0;
    forget_template(L, S, 1);
    rtap_lua_forget_layers(S);
    return 0;
}

const luaL_Reg rtap_lua_write_methods[] = {
    {"set", write_set}, {"pack", write_pack}, {"resize", write_resize}, {"skip", write_skip}, {NULL, NULL},
};
