/*
 * Packets that can be written to: templates (owned) and the frames of sink:frames() (borrowed). Both are written with
 * the layout of a template; a frame has that of the template it was set from.
 */
#ifndef RTAP_LUA_WRITABLE_H
#define RTAP_LUA_WRITABLE_H

#include "../io/blast.h"
#include "engine.h"
#include "sink.h"

struct rtap_lua_template { /* user value 1: its bytes, 2: places by name */
    struct rtap_template t;
    uint64_t serial;
    size_t room;
    unsigned version; /* of the engine when the layout was found, and 1; 0: it wasn't */
};

struct rtap_lua_place {
    struct rtap_place pl;
    const struct rtap_decl *decl; /* NULL: bytes without a name */
};

/* One walk over free frames of a sink. User value 1: the sink, 2: the template of the frame that is shown, or nil,
 * 3: the string that it was made from, or nil. */
struct rtap_lua_frames {
    struct rtap_lua_sink *owner; /* NULL: it is over */
    struct rtap_lua_frames *next;
    struct rtap_slot *slot;
    uint32_t room;   /* of the frame that is shown */
    int64_t left;    /* frames to go */
    bool shown;      /* there is one */
    uint64_t serial; /* of the template when the frame was set from it: it may have changed since */
    bool closed;     /* the sink was closed */
};

/* Push a template of what is at idx: a packet, a template (itself), a builder, or a string, which is of that link
 * type. Raises. */
struct rtap_lua_template *rtap_lua_to_template(lua_State *L, struct rtap_lua *S, int idx, uint16_t linktype);
/* Push a template of its own with the bytes of the one at idx. */
struct rtap_lua_template *rtap_lua_copy_template(lua_State *L, struct rtap_lua *S, int idx);
/* Its bytes are these from now on: not more than it has room for. */
void rtap_lua_set_template(struct rtap_lua *S, struct rtap_lua_template *t, const void *bytes, size_t n,
                           uint16_t linktype);
/* Its layout, found now if it wasn't. idx is absolute. */
const struct rtap_layout *rtap_lua_layout(lua_State *L, struct rtap_lua *S, int idx);
/* Push where the field (or "payload@4:8") named by the string at `name` is in the template at idx; NULL (and nil): it
 * is not in it. Raises when there is no such field, or when it can't be written. */
struct rtap_lua_place *rtap_lua_place_of(lua_State *L, struct rtap_lua *S, int idx, int name);
/* A name of bytes without a field: "payload@OFFSET" or "frame@OFFSET", with ":SIZE" (4 if it isn't there). */
bool rtap_lua_raw_place(const char *name, bool *payload, uint32_t *off, uint32_t *size);

bool rtap_lua_is_writable(lua_State *L, struct rtap_lua *S, int idx);
int rtap_lua_write_field(lua_State *L, struct rtap_lua *S); /* obj, key, value are at 1, 2, 3 */
extern const luaL_Reg rtap_lua_write_methods[];

/* The walk whose frame is shown under this handle, or NULL; the same, pushed. */
struct rtap_lua_frames *rtap_lua_shown_frames(struct rtap_lua *S, void *handle);
struct rtap_lua_frames *rtap_lua_push_frames(lua_State *L, struct rtap_lua *S, int idx);
int rtap_lua_sink_frames(lua_State *L);
/* The sink is closed: its loops over frames are over. */
void rtap_lua_end_frames(struct rtap_lua_sink *u);
void rtap_lua_open_writable(lua_State *L, struct rtap_lua *S);
void rtap_lua_open_frames(lua_State *L, struct rtap_lua *S);

#endif
