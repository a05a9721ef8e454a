/*
 * What the files of the binding share: the per-state table of handles, the types, option reading, errors.
 *
 * A borrowed packet is a light userdata: 12 bits of tag, 12 bits of slot number, 40 bits of generation. Every step of a
 * loop moves its slot's generation, so an old handle never matches again. One struct rtap_lua per Lua state holds the
 * slots; it is upvalue 1 of every C function here, and the metatable pointers in it make type checks a comparison.
 */
#ifndef RTAP_LUA_H
#define RTAP_LUA_H

#include "../io/sink.h"
#include "../io/source.h"
#include "../io/xdp.h"
#include <lauxlib.h>
#include <lua.h>

#define RTAP_HANDLE_TAG 0x5a7u
#define RTAP_HANDLE_TAG_SHIFT 52
#define RTAP_HANDLE_SLOT_SHIFT 40
#define RTAP_HANDLE_SLOT_MAX 4096u
#define RTAP_HANDLE_GEN_MASK ((1ull << RTAP_HANDLE_SLOT_SHIFT) - 1)

struct rtap_slot {
    uint64_t handle; /* the one handle that is valid now, or a value that no handle has been given */
    struct rtap_pkt pkt;
    struct rtap_block *block;       /* pinned while a packet is shown, or NULL */
    struct rtap_lua_frames *frames; /* whose frame is shown: it may be written to; NULL: a packet */
    unsigned number;
    bool in_use;
};

#define RTAP_SIGNALS 5

struct rtap_lua {
    struct {
        unsigned users;
        bool was_blocked;
    } signals[RTAP_SIGNALS]; /* signals.c */
    struct rtap_slot **slots;
    unsigned slot_count;
    /* the decode engine (engine.c, fields.c) */
    struct rtap_engine *engine;
    struct rtap_decoded *decoded; /* the layers of the packet that was last asked */
    struct rtap_text_cache *texts;
    lua_State *L;        /* who asked the engine last: its functions run there */
    uint64_t serials;    /* given to owned and held packets */
    uint16_t link_known; /* a link type that the loaded tables know, or the tables are all there */
    int engine_loaded;   /* 1: the protocols that carry others, 2: all */
    bool engine_error;
    const void *mt_fieldset, *mt_layer;
    const void *mt_owned, *mt_held, *mt_source, *mt_sink, *mt_filter, *mt_loop, *mt_reference, *mt_signals;
    const void *mt_template, *mt_frames, *mt_blast, *mt_replay, *mt_port;
    struct rtap_xdp_memory xdp_memory;
};

#define RTAP_STATE(L) ((struct rtap_lua *)lua_touserdata((L), lua_upvalueindex(1)))

/* --- packets (packet.c) --- */
struct rtap_owned { /* full userdata; bytes follow, or live in user value 1 when it was reused for a larger packet */
    struct rtap_pkt pkt;
    uint64_t serial;       /* what it shows: moves with its contents */
    size_t capacity, more; /* of bytes[]; of user value 1 */
    uint8_t bytes[];
};

struct rtap_held {
    struct rtap_pkt pkt;
    uint64_t serial;
    struct rtap_block *block; /* NULL once released */
};

/* The packet at idx (borrowed, owned or held), or an error: stale, released, not a packet. */
const struct rtap_pkt *rtap_lua_check_pkt(lua_State *L, struct rtap_lua *S, int idx);
/* Push an owned copy of the packet at idx; into != 0: the owned packet at that index is filled again and pushed. Both
 * are absolute. */
void rtap_lua_push_owned(lua_State *L, struct rtap_lua *S, int idx, int into);
struct rtap_slot *rtap_lua_slot_new(lua_State *L, struct rtap_lua *S); /* raises when there are too many loops */
void rtap_lua_slot_free(struct rtap_slot *slot);                       /* stale from here on; unpins */

static inline void rtap_lua_slot_step(struct rtap_slot *slot)
{
    slot->handle++; /* rtap_lua_slot_new gave a start that leaves the generation room; see handle.c for its end */
}

/* --- options (options.c) --- */
enum rtap_option_type {
    RTAP_OPT_BOOL,    /* bool */
    RTAP_OPT_INT,     /* int64_t, min..max */
    RTAP_OPT_SECONDS, /* int64_t ns, from a number of seconds, min..max in ns; math.huge is INT64_MAX */
    RTAP_OPT_STRING,  /* const char *; the string is left on the stack */
    RTAP_OPT_ENUM,    /* int: index in names */
    RTAP_OPT_VALUE,   /* int: absolute stack index of the value, which is left on the stack; 0 when absent */
};

struct rtap_option {
    const char *name; /* NULL ends the list */
    enum rtap_option_type type;
    size_t offset;
    int64_t min, max;
    const char *const *names; /* NULL-terminated */
};

/* Read the table at idx (nil or none: nothing) into cfg, which holds the defaults. Raises on an unknown option (with
 * the nearest name), a wrong type, a value out of range; `what` names the function in messages. */
void rtap_lua_options(lua_State *L, int idx, const char *what, const struct rtap_option *options, void *cfg);

/* Is there such a key in the options at idx, a table or nothing? */
bool rtap_lua_has_option(lua_State *L, int idx, const char *name);

/* Edits between two names. */
unsigned rtap_lua_distance(const char *a, const char *b);

/* The string at idx; raises when it has a NUL byte in it. */
const char *rtap_lua_check_name(lua_State *L, int idx);

/* --- errors and types (state.c) --- */
int rtap_lua_fail(lua_State *L, int err, const char *message); /* returns nil, message, errno */
/* A method that is written in Lua: require(module)[name] with the same arguments. */
int rtap_lua_in_lua(lua_State *L, const char *module, const char *name);
/* Create a metatable from the three lists (mt's own functions get struct rtap_lua as upvalue 1), leave it on the stack,
 * and return its pointer. methods may be NULL. */
const void *rtap_lua_type(lua_State *L, struct rtap_lua *S, const char *name, const luaL_Reg *metamethods,
                          const luaL_Reg *methods);
/* Push the metatable with that pointer / set it on the userdata on top. */
void rtap_lua_set_type(lua_State *L, const void *mt);
/* The userdata at idx if it has that metatable, else NULL. */
void *rtap_lua_test(lua_State *L, int idx, const void *mt);
void *rtap_lua_check(lua_State *L, int idx, const void *mt, const char *what);
/* Set a field of the table on top; without a text none. */
void rtap_lua_set_integer(lua_State *L, const char *name, lua_Integer v);
void rtap_lua_set_text(lua_State *L, const char *name, const char *text);
/* The four values of a generic for, returned: step, whose upvalues are S, the loop at index `loop` and the value at
 * `more` (0: none); nothing twice; and the loop, which is closed when it is left. */
int rtap_lua_for(lua_State *L, struct rtap_lua *S, lua_CFunction step, int loop, int more);
/* Run what a signal has asked for (a hook), after EINTR or between pieces of a long C loop. May raise. */
void rtap_lua_interrupt(lua_State *L);
bool rtap_lua_interrupt_pending(lua_State *L);

/* --- sources (source.c) --- */
struct rtap_lua_source {
    struct rtap_source *source;  /* NULL: not open yet, or closed */
    struct rtap_lua_loop *loops; /* running ones */
    bool has_predicate;          /* user value 1: a Lua function */
    struct rtap_lua_counters {
        bool wanted, known; /* a file sink asked for them; they were taken when the source was closed */
        uint32_t interface;
        uint64_t received, dropped;
    } counters;
    unsigned swaps; /* how often the filter was set */
};

/* Push a born-closed source userdata; set ->source when it is open. */
struct rtap_lua_source *rtap_lua_source_new(lua_State *L, struct rtap_lua *S);
struct rtap_lua_source *rtap_lua_check_source(lua_State *L, struct rtap_lua *S, int idx); /* raises when closed */
/* Set the filter option value at idx (string, filter object or function; nil: none) on an open source.
 * 0, or -errno with the sentence in source->error. */
int rtap_lua_source_set_filter(lua_State *L, struct rtap_lua *S, int source_idx, int idx);

/* The last step of opening the source at `at` went as r says: the source, or it is closed and nil, message, errno. */
int rtap_lua_source_ready(lua_State *L, int at, int r);
/* The end of opening the source at `at`: r and err are how it went; sets the filter option (0: none) and returns the
 * source, or nil, message, errno. */
int rtap_lua_source_opened(lua_State *L, struct rtap_lua *S, int at, int r, const char *err, int filter);

/* The end of ringtap.capture: the source at `at` begins, with the filter option (0: none): returns it, or nil, message,
 * errno. */
int rtap_lua_capture_start(lua_State *L, struct rtap_lua *S, int at, int filter,
                           int (*start)(struct rtap_source *s, struct rtap_filter *f));
/* Do the options at idx ask for that backend? */
bool rtap_lua_is_backend(lua_State *L, int idx, const char *name);

/* --- AF_XDP (xdp.c): capture and sender with backend = "xdp", arguments as theirs; methods of sources and senders ---
 */
int rtap_lua_capture_xdp(lua_State *L, struct rtap_lua *S);
int rtap_lua_sender_xdp(lua_State *L, struct rtap_lua *S);
int rtap_lua_source_mode(lua_State *L);
int rtap_lua_source_zerocopy(lua_State *L);
int rtap_lua_source_queues(lua_State *L);
int rtap_lua_sink_mode(lua_State *L);
int rtap_lua_sink_zerocopy(lua_State *L);
int rtap_lua_sink_queues(lua_State *L);
int rtap_lua_sink_forward(lua_State *L);

/* Take the counters for whoever wants them before the source goes. */
void rtap_lua_final_counters(struct rtap_lua_source *u);

/* --- filters (filter.c) --- */
/* The filter at idx (an expression, or a ringtap.filter value) for a link type: a new reference in *out, NULL for nil.
 * 0 or -errno with text in err. Raises on a wrong type. */
int rtap_lua_to_filter(lua_State *L, struct rtap_lua *S, int idx, uint16_t linktype, struct rtap_filter **out,
                       char *err, size_t errlen);

/* Each file adds its types and functions to the module table on top of the stack; functions have S as upvalue 1. */
void rtap_lua_open_packet(lua_State *L, struct rtap_lua *S);
void rtap_lua_open_source(lua_State *L, struct rtap_lua *S);
void rtap_lua_open_capture(lua_State *L, struct rtap_lua *S);  /* capture */
void rtap_lua_open_savefile(lua_State *L, struct rtap_lua *S); /* read, write */
void rtap_lua_open_sink(lua_State *L, struct rtap_lua *S);
void rtap_lua_open_sender(lua_State *L, struct rtap_lua *S); /* sender, and the methods of senders */
void rtap_lua_open_xdp(lua_State *L, struct rtap_lua *S);    /* port */
void rtap_lua_open_signals(lua_State *L, struct rtap_lua *S);
void rtap_lua_open_replay(lua_State *L, struct rtap_lua *S); /* _replay, _again */
void rtap_lua_open_blast(lua_State *L, struct rtap_lua *S);  /* _blast, _place */
void rtap_lua_open_filter(lua_State *L, struct rtap_lua *S);
void rtap_lua_open_forward(lua_State *L, struct rtap_lua *S); /* forward, text */
void rtap_lua_open_netif(lua_State *L, struct rtap_lua *S);   /* interfaces, interface */
void rtap_lua_open_engine(lua_State *L, struct rtap_lua *S);  /* _field_names, _nearest */
void rtap_lua_open_define(lua_State *L, struct rtap_lua *S);  /* _define, _bind, _bound: definitions of protocols */
void rtap_lua_open_fields(lua_State *L, struct rtap_lua *S);  /* field */
void rtap_lua_open_decode(lua_State *L, struct rtap_lua *S);  /* _tree */
void rtap_lua_open_prompt(lua_State *L, struct rtap_lua *S);  /* _prompt, _history, _completer, _interruptible */
void rtap_lua_open_value(lua_State *L, struct rtap_lua *S);
void rtap_lua_open_layer(lua_State *L, struct rtap_lua *S);
void rtap_lua_free_fields(struct rtap_lua *S);

#endif
