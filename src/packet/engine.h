/*
 * The decode engine: protocols as programs, layers, items, fields.
 *
 * A protocol comes from a Lua table (lua/ringtap/protocol.lua tells the language) as declarations, expressions and a
 * program of items. rtap_layers_* walks a packet's layers, only as far as somebody asks; rtap_walk runs one layer's
 * items. Neither allocates, recurses or reads outside [data, data + caplen), whatever the bytes and the tables say;
 * what a header claims and the bytes don't give is a flag on the layer.
 *
 * An engine belongs to one Lua state. A protocol that is replaced stays in memory until the engine goes, since a walk
 * may be in it.
 */
#ifndef RTAP_PACKET_ENGINE_H
#define RTAP_PACKET_ENGINE_H

#include "bytes.h"
#include "out.h"
#include "pkt.h"
#include <stddef.h>

#define RTAP_PROTOS_MAX 256
#define RTAP_LAYERS_MAX 32
#define RTAP_REGS_MAX 64
#define RTAP_MAYBE_BITS 16384
#define RTAP_WALK_STEPS 20000 /* operations of one walk, and 4 a byte; what takes more is cut off and marked */

enum rtap_type {
    RTAP_UINT = 1,
    RTAP_INT,
    RTAP_BOOL,
    RTAP_IPV4,
    RTAP_IPV6,
    RTAP_ETHER,
    RTAP_EUI64,
    RTAP_GUID,
    RTAP_BYTES,
    RTAP_STRING,
    RTAP_STRINGZ,
    RTAP_NAME,
    RTAP_OID,
    RTAP_TIME,
    RTAP_NTP,
    RTAP_SECONDS,
    RTAP_FLOAT,
    RTAP_FRAME,   /* a fact of the packet, bits tells which: see enum rtap_frame_field */
    RTAP_FIXED,   /* fixed point: `digits` bits behind it */
    RTAP_DECIMAL, /* digits as text: 1 to 18 */
    RTAP_BER,     /* the length octets of X.690 8.1.3 */
    RTAP_VARINT,  /* RFC 9000 16 */
    RTAP_TYPE_END,
};

enum rtap_base { RTAP_DEC, RTAP_HEX, RTAP_OCT, RTAP_COLON };

#define RTAP_DECL_LE 1u
#define RTAP_DECL_FUNC 2u
#define RTAP_DECL_ASCII 8u     /* a string of ASCII: other bytes are replaced one by one */
#define RTAP_DECL_NONE 16u     /* no bytes are "<none>", not "<MISSING>" */
#define RTAP_DECL_ALL_FIXED 4u /* as are all declarations of the name in the protocol: their order is the table's */

struct rtap_decl { /* a field as one protocol declares it; a name may have several */
    struct rtap_proto *proto;
    int64_t scale, add;
    int32_t fixed;  /* bits from the layer's start, -1: only a walk finds it */
    uint16_t name;  /* 0: none */
    uint16_t index; /* among the protocol's */
    uint16_t bits;  /* 0: variable */
    int16_t guard;  /* expression, -1 none: where fixed, it is there only if that is true */
    int16_t reg;    /* register that a walk keeps the value in, or -1 */
    int16_t func;   /* Lua function, or -1 */
    int16_t until;  /* string, or -1 */
    uint8_t type, base, digits, flags;
    const char *title;
    struct {
        int64_t key;
        char *name;
    } * values; /* what numbers mean, in rising order */
    unsigned value_count;
};

#define RTAP_EXPR_LINE 13 /* its argument is a string; the others are eval.c's */

struct rtap_insn {
    int32_t op;
    int64_t k;
};

struct rtap_code { /* an expression */
    /* Bits of a big-endian number of `width` bytes (1, 2 or 4) at `at` from the layer's start: of four bytes from there
     * those under mask, shifted by shift. SIMPLE: that * mul + add; TEST: is that * mul in add ... add + span, or
     * outside (invert); AND, OR: such a test, which mostly decides, and more; MIN, MAX: of the numbers of 2 bytes at
     * `at` and `mask`. */
    uint8_t kind, shift, width;
    bool invert;
    uint32_t at, mask;
    int64_t mul, add;
    uint64_t span;
    /* LINEAR: the field decl * mul + add; COMPARE: that field compared with add; CONSTANT: add */
    uint16_t decl, count;
    uint8_t compare;
    struct rtap_insn *insns;
};

enum rtap_op_code { /* what lua/ringtap/protocol/compile.lua writes */
                    RTAP_OP_FIELD = 1,
                    RTAP_OP_IF,
                    RTAP_OP_JUMP,
                    RTAP_OP_LIMIT,
                    RTAP_OP_UNLIMIT,
                    RTAP_OP_LOOP,
                    RTAP_OP_NEXT,
                    RTAP_OP_SWITCH,
                    RTAP_OP_CALL,
                    RTAP_OP_RET,
                    RTAP_OP_CHECK,
                    RTAP_OP_ALIGN = 13,
                    RTAP_OP_HEADERS,
                    RTAP_OP_ORIGIN,
                    RTAP_OP_SUB,
                    RTAP_OP_VALUE,
                    RTAP_OP_END,
                    RTAP_OP_BACK,
                    RTAP_OP_ALIAS,
                    RTAP_OP_BEHIND,
                    RTAP_OP_AT,
                    RTAP_OP_FOLDED, /* HEADERS, and a line that begins with a blank goes on with the one before */
};

struct rtap_op {
    uint8_t code;
    int32_t a, b;
    int16_t c;
};

struct rtap_case {
    int64_t key;
    int32_t target;
};

struct rtap_switch {
    struct rtap_case *cases; /* in rising order */
    unsigned count;
};

struct rtap_header {
    char *name; /* lower case */
    uint16_t decl;
    int32_t target, stop; /* -1, or items for its value and the end of their region */
};

struct rtap_header_map {
    struct rtap_header *entries;
    unsigned count;
};

#define RTAP_RULE_STOP 1u
#define RTAP_RULE_GUESS 2u
#define RTAP_RULE_QUOTED 4u
#define RTAP_RULE_FRAGMENT 8u

struct rtap_rule {
    uint16_t table, list;                   /* 0: none */
    struct rtap_proto *proto;               /* NULL: by table or list */
    int16_t key, when, at, size, pass, via; /* expressions, via: a string; -1: none */
    uint8_t flags;
    uint64_t reach[RTAP_PROTOS_MAX / 64]; /* what may follow by this rule and those behind it, directly or not */
};

enum rtap_sum_kind { RTAP_SUM_INET, RTAP_SUM_CRC32C };

struct rtap_sum {
    bool present, zero_is_none;
    uint8_t kind;
    uint16_t decl;
    int16_t length, from, to, skip_from, skip_to, when, pseudo;
    int32_t protocol;
};

struct rtap_line_part { /* of a layer's summary */
    enum { RTAP_LINE_TEXT, RTAP_LINE_NAME, RTAP_LINE_NUMBER, RTAP_LINE_ALL, RTAP_LINE_WHEN, RTAP_LINE_EXPR } kind;
    uint16_t name;        /* of the field */
    int16_t string, code; /* text; condition or value */
    unsigned skip;        /* WHEN: parts that depend on it */
};

struct rtap_proto {
    char *name, *title; /* name is the engine's while the protocol is only mentioned */
    char *shown;        /* its name in frame.protocols */
    struct rtap_decl *decls;
    struct rtap_code *codes;
    struct rtap_op *ops;
    struct rtap_switch *switches;
    struct rtap_header_map *maps;
    char **strings;
    struct rtap_rule *rules;
    struct rtap_line_part *line;
    struct {
        int16_t code, message;
    } * checks;
    struct rtap_sum sum;
    unsigned decl_count, code_count, op_count, switch_count, map_count, string_count, rule_count, check_count,
        line_count;
    int16_t header, total, guessed, untold, accept; /* expressions, or -1 */
    int16_t refusal; /* string: the layer below is malformed when `accept` refuses; -1: it isn't */
    int16_t stream;  /* likewise: it is a piece of a stream of bytes, messages go on in the next packet */
    uint16_t id;
    bool defined, hidden;
    bool once;                            /* several in a row are one entry of frame.protocols */
    bool needs_walk;                      /* its lengths or what follows depend on items without a fixed place */
    bool needs_above;                     /* its items ask where the layers above end */
    uint64_t reach[RTAP_PROTOS_MAX / 64]; /* itself and what may follow, directly or not */
    struct rtap_proto *graveyard;
};

struct rtap_guess {
    uint16_t list;
    struct rtap_proto *proto; /* replaced in place when it is defined again */
    int16_t code;
};

struct rtap_layer;
struct rtap_layers;
struct rtap_line_fields;

struct rtap_call { /* what such a function is given: its own bytes inside of the layer's, and where names count from */
    const struct rtap_decl *decl;
    const uint8_t *layer;
    uint32_t layer_len, at, len, origin;
};

enum rtap_result { RTAP_RESULT_NONE, RTAP_RESULT_NUMBER, RTAP_RESULT_BOOL, RTAP_RESULT_TEXT }; /* of a Lua function */

struct rtap_engine {
    struct rtap_proto *protos[RTAP_PROTOS_MAX]; /* by id; [0] is frame */
    unsigned proto_count;
    char **names; /* of fields, by id; [0] is NULL */
    unsigned name_count, name_room;
    uint16_t *name_uses; /* declarations of it; a name without any isn't known any more */
    uint16_t *name_hash; /* open addressing */
    unsigned name_hash_size;
    char **tables; /* names of dissector tables and lists of guesses, by id; [0] is NULL */
    unsigned table_count, table_room;
    uint64_t (*leads)[RTAP_PROTOS_MAX / 64]; /* by table: the protocols that are bound in it; see rtap_engine_reach */
    struct {
        uint64_t key; /* table << 32 | key, 0: empty */
        uint16_t proto;
    } * bindings;
    unsigned binding_count, binding_size;
    uint64_t maybe[RTAP_MAYBE_BITS / 64]; /* bits of the hashes that are bound: most keys are not */
    struct rtap_guess *guesses;
    unsigned guess_count;
    unsigned version; /* moves at every change */
    unsigned reach_version;
    uint16_t table_link;
    uint16_t ip, ipv6; /* protocols whose addresses go into pseudo headers */
    uint16_t data;     /* what is carried and nothing else takes */
    struct rtap_proto *graveyard;
    /* A Lua function of a table, called for a value's text only. It does not raise; but Lua may do anything meanwhile,
     * so whoever asks for the text of such a field has the packet's bytes to himself. */
    enum rtap_result (*call)(void *context, const struct rtap_call *call, struct rtap_out *text);
    void *context;
    struct rtap_line_fields *line; /* the line printer's; NULL until its first line */
};

#define RTAP_LAYER_TRUNCATED 1u /* bytes that it says it has were not captured */
#define RTAP_LAYER_MALFORMED 2u
#define RTAP_LAYER_GUESS 4u        /* that it is this protocol is a guess */
#define RTAP_LAYER_LENGTH_GUESS 8u /* its length is a guess */
#define RTAP_LAYER_QUOTED 16u      /* inside of a quoted packet */
#define RTAP_LAYER_TOLD 64u        /* its header says how long it is */
#define RTAP_LAYER_FRAGMENT 32u    /* it lies in a fragment: its length may be beyond that */

struct rtap_layer {
    const struct rtap_proto *proto;
    const char *via;     /* what frame.protocols has before it, or NULL */
    const char *message; /* why it is malformed, or NULL */
    uint32_t off;        /* in the packet */
    uint32_t header;     /* bytes */
    uint32_t end;        /* in the packet, as its header says; may be past caplen */
    uint32_t bound;      /* what the layer below left for it */
    int64_t passed;      /* a number from the layer below */
    uint32_t wire;       /* the same as if no header below had said anything about lengths */
    uint8_t flags;
};

struct rtap_frame { /* what only the one who counts packets knows; frame.number is absent when 0 */
    uint64_t number;
    int64_t first, previous; /* times; RTAP_NO_TIME: not known */
};

struct rtap_layers {
    const struct rtap_engine *engine;
    const struct rtap_pkt *pkt;
    const struct rtap_frame *frame;   /* may be NULL */
    const struct rtap_proto *pending; /* what follows the last layer; NULL: nothing known */
    const char *via;
    int64_t passed;
    uint32_t off, bound; /* of what follows the last layer */
    uint8_t flags;       /* that the next layer inherits */
    bool wire;           /* no header has said yet how long its packet is */
    bool open;           /* the last layer's lengths and what follows it are not worked out yet */
    bool undecided;      /* the last layer's rules from `rule` on were not tried: none led to what was needed */
    unsigned rule;
    unsigned count;
    struct rtap_layer at[RTAP_LAYERS_MAX];
};

enum rtap_item_kind {
    RTAP_ITEM_FIELD, /* bits of the packet */
    RTAP_ITEM_VALUE, /* number */
    RTAP_ITEM_ALIAS, /* a FIELD under another name */
    /* for those who build the tree: */
    RTAP_ITEM_SUB,     /* what follows lies inside of the last field, until... */
    RTAP_ITEM_SUB_END, /* ... this */
    RTAP_ITEM_LOOP,    /* a list begins; number: string of its name, or -1 */
    RTAP_ITEM_ROUND,   /* the next element begins */
    RTAP_ITEM_LOOP_END,
};

struct rtap_item {
    const struct rtap_decl *decl; /* NULL for the tree's marks */
    uint32_t bit, bits;           /* in the packet */
    uint32_t layer;
    uint32_t origin; /* NAME: byte in the packet that pointers count from */
    enum rtap_item_kind kind;
    int64_t number;
};

/* What an expression sees; a walk's state. */
struct rtap_eval {
    const struct rtap_layers *layers;
    const struct rtap_layer *layer; /* may be one that is only tried */
    const struct rtap_layer *below; /* NULL: none */
    const struct rtap_proto *proto;
    const uint8_t *base;  /* of the layer */
    uint32_t cap;         /* captured bytes at base that belong to it */
    uint32_t pos, region; /* cursor and region's end, in bits from base */
    uint32_t index;
    bool walked;       /* regs are set */
    uint32_t cost;     /* of checksums that were worked out, in steps of a walk */
    bool stream;       /* it is a piece of a stream */
    bool partial;      /* of a field that is cut off, what lies inside of it is shown as far as it goes */
    bool soft;         /* a piece of a stream, a quotation: what leads out of it is no fault... */
    uint32_t soft_end; /* ... and it ends here, in bits */
    int64_t regs[RTAP_REGS_MAX];
};

/* --- engine.c --- */
struct rtap_engine *rtap_engine_new(void); /* NULL: out of memory */
void rtap_engine_free(struct rtap_engine *e);
/* The protocol of that name, made (undefined) if it is new; NULL: no room. */
struct rtap_proto *rtap_engine_proto(struct rtap_engine *e, const char *name);
const struct rtap_proto *rtap_engine_find(const struct rtap_engine *e,
                                          const char *name);                   /* NULL: unknown or undefined */
uint16_t rtap_engine_name(struct rtap_engine *e, const char *name);            /* id, made if new; 0: no room */
uint16_t rtap_engine_find_name(const struct rtap_engine *e, const char *name); /* 0: unknown */
/* Has every field of that name a fixed place (or is a fact of the frame), so that nothing but layers below decides? */
bool rtap_engine_is_plain(const struct rtap_engine *e, uint16_t name);
uint16_t rtap_engine_table(struct rtap_engine *e, const char *name); /* id, made if new; 0: no room */
/* 0 or -errno; proto NULL: the entry goes. */
int rtap_engine_bind(struct rtap_engine *e, uint16_t table, uint32_t key, const struct rtap_proto *proto);
static inline uint32_t rtap_engine_hash(uint64_t key)
{
    return (uint32_t)((key * 0x9e3779b97f4a7c15ull) >> 32);
}

static inline unsigned rtap_engine_binding(const struct rtap_engine *e, uint64_t key) /* its place, or a free one */
{
    unsigned at = rtap_engine_hash(key) & (e->binding_size - 1);

    while (e->bindings[at].key && e->bindings[at].key != key)
        at = (at + 1) & (e->binding_size - 1);
    return at;
}

static inline const struct rtap_proto *rtap_engine_lookup(const struct rtap_engine *e, uint16_t table, uint32_t key)
{
    uint32_t hash = rtap_engine_hash((uint64_t)table << 32 | key);
    unsigned proto;

    if (!(e->maybe[hash / 64 % (RTAP_MAYBE_BITS / 64)] >> hash % 64 & 1))
        return NULL;
    proto = e->bindings[rtap_engine_binding(e, (uint64_t)table << 32 | key)].proto;
    return proto ? e->protos[proto] : NULL;
}

/* p's contents become those of its name; p is the engine's then. 0, or -errno with a sentence in err (p is not taken).
 */
int rtap_engine_define(struct rtap_engine *e, struct rtap_proto *p, char *err, size_t errlen);
int rtap_engine_guess(struct rtap_engine *e, uint16_t list, struct rtap_proto *proto, int16_t code);
void rtap_engine_reach(struct rtap_engine *e); /* bring every reach up to date */
void rtap_proto_free(struct rtap_proto *p);

/* --- eval.c --- */
enum {
    RTAP_CODE_GENERAL,
    RTAP_CODE_LINEAR,
    RTAP_CODE_COMPARE,
    RTAP_CODE_CONSTANT,
    RTAP_CODE_MIN,
    RTAP_CODE_MAX,
    RTAP_CODE_SIMPLE,
    RTAP_CODE_TEST,
    RTAP_CODE_AND,
    RTAP_CODE_OR
};

bool rtap_eval_any(const struct rtap_eval *ev, const struct rtap_code *c, int64_t *v);

static inline uint32_t rtap_code_bits(const struct rtap_code *c, const uint8_t *base)
{
    return rtap_be32(base + c->at) >> c->shift & c->mask;
}

/* The value of an expression; false: it reads what isn't there. The commonest forms of a number are done here, ... */
static inline bool rtap_eval(const struct rtap_eval *ev, int code, int64_t *v)
{
    const struct rtap_code *c = &ev->proto->codes[code];

    if (c->kind == RTAP_CODE_SIMPLE && c->at + 4 <= ev->cap) {
        *v = (int64_t)(rtap_code_bits(c, ev->base) * (uint64_t)c->mul + (uint64_t)c->add);
        return true;
    }
    if (c->kind == RTAP_CODE_CONSTANT) {
        *v = c->add;
        return true;
    }
    return rtap_eval_any(ev, c, v);
}

/* ... and those of a condition here: 1 true, 0 false, -1 not so common. */
static inline int rtap_code_truth(const struct rtap_code *c, const uint8_t *base, uint32_t cap)
{
    if (__builtin_expect(c->kind >= RTAP_CODE_SIMPLE && c->at + 4 <= cap, 1)) {
        uint64_t n = (uint64_t)rtap_code_bits(c, base) * (uint64_t)c->mul;
        bool truth = (n - (uint64_t)c->add <= c->span) != c->invert;

        if (c->kind == RTAP_CODE_SIMPLE)
            return n + (uint64_t)c->add != 0;
        if (c->kind == RTAP_CODE_TEST || truth == (c->kind == RTAP_CODE_OR))
            return truth;
    }
    return -1;
}

/* 1 true, 0 false, -1 it reads what isn't there. */
static inline int rtap_eval_truth(const struct rtap_eval *ev, int code)
{
    const struct rtap_code *c = &ev->proto->codes[code];
    int truth = rtap_code_truth(c, ev->base, ev->cap);
    int64_t v;

    return truth >= 0 ? truth : rtap_eval_any(ev, c, &v) ? v != 0 : -1;
}
uint64_t rtap_load_bits(const uint8_t *base, uint32_t bit, unsigned bits);
/* The number of a field of at most 64 bits at `bit` from base (inside of the captured bytes). */
int64_t rtap_decl_number(const struct rtap_decl *d, const uint8_t *base, uint32_t bit, uint32_t bits);
int64_t rtap_eval_inner_end(const struct rtap_eval *ev); /* $inner_end */
static inline void rtap_eval_init(struct rtap_eval *ev, const struct rtap_layers *ls, const struct rtap_layer *l,
                                  const struct rtap_layer *below)
{
    uint32_t stop = l->bound < ls->pkt->caplen ? l->bound : ls->pkt->caplen;

    ev->layers = ls;
    ev->layer = l;
    ev->below = below;
    ev->proto = l->proto;
    ev->base = ls->pkt->data + l->off;
    ev->cap = stop > l->off ? stop - l->off : 0;
    ev->pos = 0;
    ev->region = (l->end > l->off ? l->end - l->off : 0) * 8;
    ev->index = 0;
    ev->soft = ev->partial = ev->walked = ev->stream = false;
    ev->cost = 0;
}

/* Was part of it not captured? A quotation and a fragment end before what their headers say, and nothing was cut off.
 */
static inline bool rtap_layer_is_cut(const struct rtap_layers *ls, const struct rtap_layer *l)
{
    return (l->flags & (RTAP_LAYER_QUOTED | RTAP_LAYER_FRAGMENT) ? ls->pkt->len : l->end) > ls->pkt->caplen;
}
/* The layer under one of ls's, or NULL. */
static inline const struct rtap_layer *rtap_layer_below(const struct rtap_layers *ls, const struct rtap_layer *l)
{
    return l > ls->at ? l - 1 : NULL;
}

/* Prepare a proto's codes after they were filled in: what is constant or linear is found here. */
void rtap_code_prepare(struct rtap_proto *p);
bool rtap_code_check(const struct rtap_proto *p, const struct rtap_code *c); /* is it well formed? */
bool rtap_code_uses_checksum(const struct rtap_code *c);

/* --- layers.c --- */
void rtap_layers_start(struct rtap_layers *ls, const struct rtap_engine *e, const struct rtap_pkt *pkt,
                       const struct rtap_frame *frame);
/* Walk on while something is pending that is in need (NULL: everything) or may lead to it. */
void rtap_layers_more(struct rtap_layers *ls, const uint64_t *need);
/* One step of that; the last layer may be unfinished then: where it begins is known, but not how long it is. */
void rtap_layers_one(struct rtap_layers *ls, const uint64_t *need);
void rtap_layers_finish(struct rtap_layers *ls);
/* Where the first layer of that protocol begins; false: there is none. */
bool rtap_layer_offset(struct rtap_engine *e, const struct rtap_pkt *pkt, const char *name, uint32_t *off);
const char *rtap_checksum_state(struct rtap_engine *e, const struct rtap_pkt *pkt);

static inline bool rtap_reach_meets(const uint64_t *reach, const uint64_t *need)
{
    for (unsigned w = 0; w < RTAP_PROTOS_MAX / 64; w++)
        if (reach[w] & need[w])
            return true;
    return false;
}

/* --- walk.c --- */
/* Run a layer's items; visit returns nonzero to end the walk, which is returned. The layer's flags and message are
 * completed. ev (may be NULL) keeps the registers and where the cursor was. */
typedef int (*rtap_visit)(void *context, const struct rtap_item *item);
int rtap_walk(const struct rtap_layers *ls, struct rtap_layer *l, rtap_visit visit, void *context,
              struct rtap_eval *ev);
/* Length of a DNS name at `at` (bytes from base, cap of them); 0: it runs out of the bytes; sets *bad when a pointer is
 * none that RFC 1035 allows. */
/* The name's text, as Wireshark writes it. */
void rtap_name_text(const uint8_t *base, uint32_t cap, uint32_t origin, uint32_t at, struct rtap_out *o);
uint32_t rtap_name_length(const uint8_t *base, uint32_t cap, uint32_t origin, uint32_t at, const char **bad);

/* --- checksum of a layer (layer_sum.c) --- */
enum { RTAP_SUM_BAD = 0, RTAP_SUM_GOOD = 1, RTAP_SUM_UNVERIFIED = 2, RTAP_SUM_NOT_PRESENT = 3 };
int rtap_layer_sum(const struct rtap_eval *ev);
/* The same, and what the field has and what it should have; both 0 where that can't be told. */
int rtap_layer_sum_wanted(const struct rtap_eval *ev, uint32_t *is, uint32_t *wanted);
struct rtap_cover {              /* what a checksum is made of; places in the packet */
    uint32_t at, size;           /* its field: bytes, size of them */
    uint32_t value;              /* what it has */
    uint32_t from, to;           /* what it covers, but for... */
    uint32_t skip_from, skip_to; /* ... this */
    uint32_t src, dst, address;  /* addresses of its pseudo header, of `address` bytes each; 0: it has none */
    uint64_t rest;               /* what else the pseudo header adds */
    uint8_t kind;                /* enum rtap_sum_kind */
    bool zero_is_none;
};
/* RTAP_SUM_GOOD: *c is filled in, whatever the value; else why there is nothing to be summed. */
int rtap_layer_cover(const struct rtap_eval *ev, struct rtap_cover *c);
uint32_t rtap_cover_wanted(const struct rtap_cover *c, const uint8_t *data);
uint64_t rtap_cover_pseudo(const struct rtap_cover *c, const uint8_t *data);

/* --- value.c --- */
bool rtap_is_decimal(const uint8_t *p, uint32_t n);
/* Bytes that an RTAP_BER or RTAP_VARINT which begins with that byte has. */
uint32_t rtap_self_sized(enum rtap_type type, uint8_t first);
/* The item's bytes: whole bytes, *n of them; what isn't byte-aligned has none. */
const uint8_t *rtap_item_bytes(const struct rtap_layers *ls, const struct rtap_item *it, uint32_t *n);
int64_t rtap_item_number(const struct rtap_layers *ls, const struct rtap_item *it); /* integers, booleans */
double rtap_item_double(const struct rtap_layers *ls, const struct rtap_item *it);  /* RTAP_FLOAT, RTAP_FIXED */
void rtap_item_text(const struct rtap_layers *ls, const struct rtap_item *it,
                    struct rtap_out *o); /* as tshark -T fields */
/* The text of a field that is a Lua function, as the function gives it. */
void rtap_number_text(const struct rtap_decl *d, int64_t v,
                      struct rtap_out *o); /* as the field's numbers are written */
bool rtap_item_call_of(const struct rtap_layers *ls, const struct rtap_item *it, struct rtap_call *call);
enum rtap_result rtap_item_call(const struct rtap_layers *ls, const struct rtap_item *it, struct rtap_out *o);
/* Is its value in Lua an integer or boolean? Else text, or for RTAP_BYTES the bytes. */
bool rtap_decl_is_number(const struct rtap_decl *d);

enum rtap_frame_field {
    RTAP_FRAME_NUMBER = 1,
    RTAP_FRAME_LEN,
    RTAP_FRAME_CAP_LEN,
    RTAP_FRAME_TIME,
    RTAP_FRAME_TIME_EPOCH,
    RTAP_FRAME_TIME_RELATIVE,
    RTAP_FRAME_TIME_DELTA,
    RTAP_FRAME_PROTOCOLS,
    RTAP_FRAME_INTERFACE_ID,
    RTAP_FRAME_INTERFACE_NAME,
    RTAP_FRAME_COMMENT,
    RTAP_FRAME_FIELDS_END,
};

/* --- summary.c --- */
/* What the table's `line` says of the layer; false: it has none. */
bool rtap_layer_summary(const struct rtap_layers *ls, struct rtap_layer *l, struct rtap_out *out);
const char *rtap_decl_value_name(const struct rtap_decl *d, int64_t v); /* from `values`, or NULL */

/* --- extract.c --- */
struct rtap_fieldset;
#define RTAP_FIELDSET_FIRST 1u /* only the first occurrence of each */
/* names: ids from rtap_engine_name; occurrence: n-th layer of the protocol, negative from the end, 0: all or the first.
 * NULL: out of memory. */
struct rtap_fieldset *rtap_fieldset_new(struct rtap_engine *e, const uint16_t *names, const int *occurrence,
                                        unsigned count, unsigned flags);
void rtap_fieldset_free(struct rtap_fieldset *fs);
struct rtap_found {
    struct rtap_item item;
    int32_t next; /* index of the column's next, -1: none */
};
/* Fill the columns: the index of column i's first item, or -1, is then rtap_fieldset_first(fs, i). 0 or -ENOMEM. */
int rtap_fieldset_extract(struct rtap_fieldset *fs, struct rtap_layers *ls);
/* The first occurrence of the only column, without the rest of the work: 1 found, 0 none, or -errno. */
int rtap_fieldset_one(struct rtap_fieldset *fs, struct rtap_layers *ls, struct rtap_item *it);
/* The same in one layer: 1, 0, or -1 when its protocol has no such field. The column is one without an occurrence. */
int rtap_fieldset_in_layer(struct rtap_fieldset *fs, struct rtap_layers *ls, unsigned layer, struct rtap_item *it);
int32_t rtap_fieldset_first(const struct rtap_fieldset *fs, unsigned column);
const struct rtap_found *rtap_fieldset_at(const struct rtap_fieldset *fs, int32_t index);

#endif
