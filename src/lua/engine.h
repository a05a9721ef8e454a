/* Between the files that bring the decode engine to Lua: define.c (tables), engine.c, value.c, fields.c,
 * layer.c, decode.c. */
#ifndef RTAP_LUA_ENGINE_H
#define RTAP_LUA_ENGINE_H

#include "../packet/engine.h"
#include "rtap_lua.h"

/* The engine with all tables loaded (require "ringtap.proto" runs at the first call). Raises when they can't be. */
struct rtap_engine *rtap_lua_engine(lua_State *L, struct rtap_lua *S);
/* The same with at least those that carry others: enough for fields of these that have a fixed place. Loading all takes
 * some 20 ms. */
struct rtap_engine *rtap_lua_carriers(lua_State *L, struct rtap_lua *S);

/* A packet of that link type will be decoded: load all tables if those that are there don't know it. May run Lua, so
 * the packet has to be looked up again. */
void rtap_lua_new_link(lua_State *L, struct rtap_lua *S, uint16_t linktype);
static inline void rtap_lua_know_link(lua_State *L, struct rtap_lua *S, uint16_t linktype)
{
    if (__builtin_expect(linktype != S->link_known, 0))
        rtap_lua_new_link(L, S, linktype);
}

/* Push the function of a table by its number. */
void rtap_lua_push_function(lua_State *L, int func);
/* Raise what a function of a table raised while the engine ran it. */
void rtap_lua_raise_pending(lua_State *L, struct rtap_lua *S);

/* The layers of the packet at idx (absolute), as far as they were walked: from the cache when it is the packet of last
 * time. Good until the next call, and while the packet is. */
struct rtap_layers *rtap_lua_layers(lua_State *L, struct rtap_lua *S, int idx);

/* The bytes of a packet were written to: what is known of its layers is no longer so. */
void rtap_lua_forget_layers(struct rtap_lua *S);
/* [from, to) of what the last transport (or the last layer) of the packet at idx carries; false: there is no layer. */
bool rtap_lua_payload_range(lua_State *L, struct rtap_lua *S, int idx, uint32_t *from, uint32_t *to);

/* A column by name, with or without #N, and the tables that it takes loaded: true, or false when no protocol has it. */
bool rtap_lua_column(lua_State *L, struct rtap_lua *S, const char *name, uint16_t *id, int *occurrence);
/* Raise that there is no such field, with the nearest names. */
int rtap_lua_no_field(lua_State *L, struct rtap_lua *S, const char *what, const char *name);

/* Push the item's value: an integer, a boolean, text or bytes; nil from a function that knows none. May run Lua. */
void rtap_lua_push_item(lua_State *L, struct rtap_lua *S, const struct rtap_layers *ls, const struct rtap_item *it);
struct rtap_lua_fieldset {    /* full userdata */
    struct rtap_fieldset *fs; /* NULL while it is being made */
    unsigned count;
    bool busy;
    struct rtap_frame frame;
    struct rtap_layers layers; /* for loops */
};

/* Push the field of the packet at idx (absolute) that fs, of one column, looks for, or nil. */
void rtap_lua_push_single(lua_State *L, struct rtap_lua *S, struct rtap_lua_fieldset *f, int idx);

/* pkt:all and the like: the list of a field's occurrences in the packet at 1, the field's name is at 2. */
typedef void (*rtap_lua_push)(lua_State *L, struct rtap_lua *S, const struct rtap_layers *ls,
                              const struct rtap_item *it);
int rtap_lua_push_all(lua_State *L, struct rtap_lua *S, rtap_lua_push push);

/* Push a fieldset of the names at first..last. Raises. */
struct rtap_lua_fieldset *rtap_lua_new_fieldset(lua_State *L, struct rtap_lua *S, int first, int last, unsigned flags);
/* The one of a single name that is kept, left on the stack; nil (NULL) when it is no field's. */
struct rtap_lua_fieldset *rtap_lua_kept_fieldset(lua_State *L, struct rtap_lua *S, int name);
/* What tells the packet at idx, as it is now, from all others. */
uint64_t rtap_lua_packet_key(lua_State *L, struct rtap_lua *S, int idx);
/* The id of a field's name, 0: there is none; all tables are loaded unless those that carry others are enough. */
uint16_t rtap_lua_name_id(lua_State *L, struct rtap_lua *S, const char *name);

/* pkt[key] for a key (a string at index 2) that is no method or property; the packet is at 1. */
int rtap_lua_index_field(lua_State *L, struct rtap_lua *S);

/* The layer that the string at `name` names (a protocol's, with or without #N) of the packet at idx, or NULL, and the
 * packet's layers; raises when no protocol has the name. */
struct rtap_layer *rtap_lua_find_layer(lua_State *L, struct rtap_lua *S, int idx, int name, struct rtap_layers **out);

/* Push a table's function and its four arguments. */
void rtap_lua_push_call(lua_State *L, const struct rtap_call *call);

/* Methods of packets, and facts of them that only decoding tells. */
int rtap_lua_pkt_all(lua_State *L);
int rtap_lua_pkt_hex(lua_State *L); /* packet.c */
enum rtap_lua_fact { RTAP_FACT_MALFORMED, RTAP_FACT_TRUNCATED, RTAP_FACT_LENGTH_GUESSED, RTAP_FACT_GUESSED };
void rtap_lua_push_fact(lua_State *L, struct rtap_lua *S, int idx, enum rtap_lua_fact which);
struct rtap_layers *rtap_lua_layers_all(lua_State *L, struct rtap_lua *S, int idx); /* walked to the end */
extern const luaL_Reg rtap_lua_decode_methods[];
int rtap_lua_source_fields(lua_State *L);

#endif
