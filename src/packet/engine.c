/*
 * The engine's registry: protocols, field names, dissector tables, guesses, and what may follow what.
 *
 * Everything is found by small numbers; names are looked up once, when a field is asked for by name.
 */
#include "engine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t hash_text(const char *s)
{
    uint32_t h = 2166136261u;

    while (*s)
        h = (h ^ (uint8_t)*s++) * 16777619u;
    return h;
}

struct rtap_engine *rtap_engine_new(void)
{
    struct rtap_engine *e = calloc(1, sizeof(*e));

    if (!e)
        return NULL;
    e->name_count = 1;
    e->table_count = 1;
    e->version = 1;
    e->table_link = rtap_engine_table(e, "link");
    if (!e->table_link || !rtap_engine_proto(e, "frame") || !rtap_engine_proto(e, "ip") ||
        !rtap_engine_proto(e, "ipv6") || !rtap_engine_proto(e, "data")) {
        rtap_engine_free(e);
        return NULL;
    }
    e->ip = 1;
    e->ipv6 = 2;
    e->data = 3;
    return e;
}

void rtap_proto_free(struct rtap_proto *p)
{
    if (!p)
        return;
    for (unsigned i = 0; i < p->code_count; i++)
        free(p->codes[i].insns);
    for (unsigned i = 0; i < p->switch_count; i++)
        free(p->switches[i].cases);
    for (unsigned i = 0; i < p->map_count; i++) {
        for (unsigned j = 0; j < p->maps[i].count; j++)
            free(p->maps[i].entries[j].name);
        free(p->maps[i].entries);
    }
    for (unsigned i = 0; i < p->string_count; i++)
        free(p->strings[i]);
    for (unsigned i = 0; i < p->decl_count; i++) {
        for (unsigned j = 0; j < p->decls[i].value_count; j++)
            free(p->decls[i].values[j].name);
        free(p->decls[i].values);
        free((char *)p->decls[i].title);
    }
    free(p->codes);
    free(p->switches);
    free(p->maps);
    free(p->strings);
    free(p->decls);
    free(p->ops);
    free(p->rules);
    free(p->checks);
    free(p->line);
    free(p->name);
    free(p->shown);
    free(p->title);
    free(p);
}

void rtap_engine_free(struct rtap_engine *e)
{
    if (!e)
        return;
    free(e->line);
    for (unsigned i = 0; i < e->proto_count; i++)
        rtap_proto_free(e->protos[i]);
    while (e->graveyard) {
        struct rtap_proto *p = e->graveyard;

        e->graveyard = p->graveyard;
        rtap_proto_free(p);
    }
    for (unsigned i = 1; i < e->name_count; i++)
        free(e->names[i]);
    for (unsigned i = 1; i < e->table_count; i++)
        free(e->tables[i]);
    free(e->names);
    free(e->name_uses);
    free(e->name_hash);
    free(e->tables);
    free(e->leads);
    free(e->bindings);
    free(e->guesses);
    free(e);
}

const struct rtap_proto *rtap_engine_find(const struct rtap_engine *e, const char *name)
{
    for (unsigned i = 0; i < e->proto_count; i++)
        if (strcmp(e->protos[i]->name, name) == 0)
            return e->protos[i]->defined ? e->protos[i] : NULL;
    return NULL;
}

struct rtap_proto *rtap_engine_proto(struct rtap_engine *e, const char *name)
{
    struct rtap_proto *p;

    for (unsigned i = 0; i < e->proto_count; i++)
        if (strcmp(e->protos[i]->name, name) == 0)
            return e->protos[i];
    if (e->proto_count == RTAP_PROTOS_MAX)
        return NULL;
    p = calloc(1, sizeof(*p));
    if (!p || !(p->name = strdup(name)) || !(p->title = strdup(name)) || !(p->shown = strdup(name))) {
        rtap_proto_free(p);
        return NULL;
    }
    p->header = p->total = p->guessed = p->untold = p->accept = p->stream = p->refusal = -1;
    p->id = (uint16_t)e->proto_count;
    e->protos[e->proto_count++] = p;
    e->version++;
    return p;
}

/* ------------------------------------------------------------------ names of fields */

static int grow_names(struct rtap_engine *e)
{
    unsigned room = e->name_room ? e->name_room * 2 : 1024, size = room * 2;
    char **names = realloc(e->names, room * sizeof(*names));
    uint16_t *table, *uses;

    if (!names)
        return -ENOMEM;
    e->names = names;
    names[0] = NULL;
    uses = realloc(e->name_uses, room * sizeof(*uses));
    if (!uses)
        return -ENOMEM;
    e->name_uses = uses;
    table = calloc(size, sizeof(*table));
    if (!table)
        return -ENOMEM;
    for (unsigned i = 1; i < e->name_count; i++) {
        uint32_t at = hash_text(names[i]) & (size - 1);

        while (table[at])
            at = (at + 1) & (size - 1);
        table[at] = (uint16_t)i;
    }
    free(e->name_hash);
    e->name_hash = table;
    e->name_hash_size = size;
    e->name_room = room;
    return 0;
}

static uint16_t find_name(const struct rtap_engine *e, const char *name)
{
    uint32_t at;

    if (!e->name_hash_size)
        return 0;
    for (at = hash_text(name) & (e->name_hash_size - 1); e->name_hash[at]; at = (at + 1) & (e->name_hash_size - 1))
        if (strcmp(e->names[e->name_hash[at]], name) == 0)
            return e->name_hash[at];
    return 0;
}

uint16_t rtap_engine_find_name(const struct rtap_engine *e, const char *name)
{
    uint16_t id = find_name(e, name);

    return id && e->name_uses[id] ? id : 0;
}

bool rtap_engine_is_plain(const struct rtap_engine *e, uint16_t name)
{
    for (unsigned i = 0; i < e->proto_count; i++) {
        for (unsigned k = 0; k < e->protos[i]->decl_count; k++) {
            const struct rtap_decl *d = &e->protos[i]->decls[k];

            if (d->name == name &&
                (d->type == RTAP_FRAME ? d->bits == RTAP_FRAME_PROTOCOLS : !(d->flags & RTAP_DECL_ALL_FIXED)))
                return false;
        }
    }
    return true;
}

uint16_t rtap_engine_name(struct rtap_engine *e, const char *name)
{
    uint16_t id = find_name(e, name);
    uint32_t at;
    char *copy;

    if (id)
        return id;
    if (e->name_count >= UINT16_MAX || (e->name_count + 1 > e->name_room && grow_names(e) < 0))
        return 0;
    copy = strdup(name);
    if (!copy)
        return 0;
    e->names[e->name_count] = copy;
    e->name_uses[e->name_count] = 0;
    for (at = hash_text(name) & (e->name_hash_size - 1); e->name_hash[at]; at = (at + 1) & (e->name_hash_size - 1))
        ;
    e->name_hash[at] = (uint16_t)e->name_count;
    return (uint16_t)e->name_count++;
}

/* ------------------------------------------------------------------ dissector tables */

uint16_t rtap_engine_table(struct rtap_engine *e, const char *name)
{
    for (unsigned i = 1; i < e->table_count; i++)
        if (strcmp(e->tables[i], name) == 0)
            return (uint16_t)i;
    if (e->table_count >= UINT16_MAX)
        return 0;
    if (e->table_count + 1 > e->table_room) {
        unsigned room = e->table_room ? e->table_room * 2 : 32;
        char **tables = realloc(e->tables, room * sizeof(*tables));
        uint64_t(*leads)[RTAP_PROTOS_MAX / 64];

        if (!tables)
            return 0;
        e->tables = tables;
        leads = realloc(e->leads, room * sizeof(*leads));
        if (!leads)
            return 0;
        e->leads = leads;
        tables[0] = NULL;
        e->tables = tables;
        e->table_room = room;
    }
    e->tables[e->table_count] = strdup(name);
    return e->tables[e->table_count] ? (uint16_t)e->table_count++ : 0;
}

int rtap_engine_bind(struct rtap_engine *e, uint16_t table, uint32_t key, const struct rtap_proto *proto)
{
    uint64_t k = (uint64_t)table << 32 | key;
    unsigned at;

    if (e->binding_count * 2 >= e->binding_size) {
        struct rtap_engine grown = *e;

        grown.binding_size = e->binding_size ? e->binding_size * 2 : 512;
        grown.bindings = calloc(grown.binding_size, sizeof(*grown.bindings));
        if (!grown.bindings)
            return -ENOMEM;
        for (unsigned i = 0; i < e->binding_size; i++)
            if (e->bindings[i].key)
                grown.bindings[rtap_engine_binding(&grown, e->bindings[i].key)] = e->bindings[i];
        free(e->bindings);
        e->bindings = grown.bindings;
        e->binding_size = grown.binding_size;
    }
    at = rtap_engine_binding(e, k);
    if (!e->bindings[at].key)
        e->binding_count++;
    e->bindings[at].key = k;
    e->maybe[rtap_engine_hash(k) / 64 % (RTAP_MAYBE_BITS / 64)] |= 1ull << rtap_engine_hash(k) % 64;
    e->bindings[at].proto = proto ? proto->id : 0; /* 0 is frame, which nothing leads to */
    e->version++;
    return 0;
}

int rtap_engine_guess(struct rtap_engine *e, uint16_t list, struct rtap_proto *proto, int16_t code)
{
    struct rtap_guess *g = realloc(e->guesses, (e->guess_count + 1) * sizeof(*g));

    if (!g)
        return -ENOMEM;
    e->guesses = g;
    g[e->guess_count++] = (struct rtap_guess){.list = list, .proto = proto, .code = code};
    e->version++;
    return 0;
}

/* ------------------------------------------------------------------ definitions */

static bool code_ok(const struct rtap_proto *p, int16_t code)
{
    return code >= -1 && code < (int)p->code_count;
}

static bool jumps(uint8_t code)
{
    switch (code) {
    case RTAP_OP_IF:
    case RTAP_OP_JUMP:
    case RTAP_OP_LIMIT:
    case RTAP_OP_LOOP:
    case RTAP_OP_NEXT:
    case RTAP_OP_CALL:
    case RTAP_OP_SUB:
    case RTAP_OP_BEHIND:
    case RTAP_OP_AT: return true;
    default: return false;
    }
}

static bool within(int32_t v, unsigned count)
{
    return v >= 0 && (unsigned)v < count;
}

/* So that a walk needs no checks of its own. */
static bool op_ok(const struct rtap_proto *p, const struct rtap_op *op)
{
    if (!code_ok(p, op->c) || (jumps(op->code) && !within(op->a, p->op_count)))
        return false;
    switch (op->code) {
    case RTAP_OP_FIELD:
    case RTAP_OP_VALUE: return within(op->a, p->decl_count) && op->b >= 0 && op->b <= 128;
    case RTAP_OP_ALIAS: return within(op->a, p->decl_count);
    case RTAP_OP_IF: return op->c >= 0;
    case RTAP_OP_LIMIT: return op->c >= 0 || (within(op->b, p->string_count) && p->strings[op->b][0]);
    case RTAP_OP_AT: return op->c >= 0 && within(op->b, p->code_count);
    case RTAP_OP_BEHIND: return within(op->a + 1, p->op_count);
    case RTAP_OP_LOOP: return op->b == -1 || within(op->b, p->string_count);
    case RTAP_OP_SWITCH: return op->c >= 0 && within(op->a, p->switch_count) && within(op->b, p->op_count);
    case RTAP_OP_CHECK: return op->c >= 0 && within(op->a, p->string_count);
    case RTAP_OP_ALIGN: return op->b >= 1;
    case RTAP_OP_HEADERS:
    case RTAP_OP_FOLDED: return within(op->a, p->map_count) && (op->b == -1 || within(op->b, p->decl_count));
    case RTAP_OP_JUMP:
    case RTAP_OP_UNLIMIT:
    case RTAP_OP_NEXT:
    case RTAP_OP_CALL:
    case RTAP_OP_RET:
    case RTAP_OP_ORIGIN:
    case RTAP_OP_SUB:
    case RTAP_OP_END:
    case RTAP_OP_BACK: return true;
    default: return false;
    }
}

static const char *fault(const struct rtap_proto *p)
{
    if (p->decl_count > INT16_MAX || p->code_count > INT16_MAX || p->op_count > INT16_MAX ||
        p->string_count > INT16_MAX)
        return "it is too large";
    for (unsigned i = 0; i < p->decl_count; i++) {
        const struct rtap_decl *d = &p->decls[i];

        if (d->type < RTAP_UINT || d->type >= RTAP_TYPE_END || d->bits > 128 || !code_ok(p, d->guard) ||
            d->reg >= RTAP_REGS_MAX || d->until < -1 || d->until >= (int)p->string_count || d->fixed < -1 ||
            d->fixed > 1 << 24 || d->digits > 16 || (d->fixed >= 0 && d->bits == 0) ||
            (d->until >= 0 && !p->strings[d->until][0]) ||
            (d->bits > 64 && d->type != RTAP_IPV6 && d->type != RTAP_GUID) ||
            (d->type == RTAP_IPV6 && d->bits != 128 && d->bits != 0) || (d->type == RTAP_GUID && d->bits != 128) ||
            (d->type == RTAP_IPV4 && d->bits != 32 && d->bits != 0) || (d->type == RTAP_ETHER && d->bits != 48) ||
            (d->type == RTAP_EUI64 && d->bits != 64) || (d->type == RTAP_NTP && d->bits != 64) ||
            (d->type == RTAP_FRAME && strcmp(p->name, "frame") != 0) ||
            (d->type == RTAP_FLOAT && d->bits != 32 && d->bits != 64) ||
            (d->type == RTAP_FIXED && (d->bits == 0 || d->bits > 64)))
            return "a field is out of range";
    }
    for (unsigned i = 0; i < p->code_count; i++)
        if (!rtap_code_check(p, &p->codes[i]))
            return "an expression is not well formed (too long?)";
    for (unsigned i = 0; i < p->op_count; i++)
        if (!op_ok(p, &p->ops[i]))
            return "an item is out of range";
    if (p->op_count == 0 ||
        (p->ops[p->op_count - 1].code != RTAP_OP_END && p->ops[p->op_count - 1].code != RTAP_OP_RET))
        return "its items have no end";
    for (unsigned i = 0; i < p->switch_count; i++)
        for (unsigned j = 0; j < p->switches[i].count; j++)
            if (p->switches[i].cases[j].target < 0 || p->switches[i].cases[j].target >= (int32_t)p->op_count)
                return "a case is out of range";
    for (unsigned i = 0; i < p->map_count; i++)
        for (unsigned j = 0; j < p->maps[i].count; j++)
            if (p->maps[i].entries[j].decl >= p->decl_count || p->maps[i].entries[j].target >= (int32_t)p->op_count ||
                p->maps[i].entries[j].stop >= (int32_t)p->op_count ||
                (p->maps[i].entries[j].target >= 0) != (p->maps[i].entries[j].stop >= 0))
                return "a header is out of range";
    for (unsigned i = 0; i < p->rule_count; i++) {
        const struct rtap_rule *r = &p->rules[i];

        if (!code_ok(p, r->key) || !code_ok(p, r->when) || !code_ok(p, r->at) || !code_ok(p, r->size) ||
            !code_ok(p, r->pass) || r->via < -1 || r->via >= (int)p->string_count || (r->table && r->key < 0))
            return "a rule is out of range";
        if (r->proto && r->proto->id == 0)
            return "nothing is followed by frame";
    }
    for (unsigned i = 0; i < p->check_count; i++)
        if (p->checks[i].code < 0 || !code_ok(p, p->checks[i].code) || p->checks[i].message < 0 ||
            p->checks[i].message >= (int)p->string_count)
            return "a check is out of range";
    for (unsigned i = 0; i < p->line_count; i++) {
        const struct rtap_line_part *l = &p->line[i];
        bool code = l->kind == RTAP_LINE_WHEN || l->kind == RTAP_LINE_EXPR;

        if ((code && (l->code < 0 || !code_ok(p, l->code))) || l->skip > p->line_count - i - 1 ||
            (l->kind == RTAP_LINE_TEXT && (l->string < 0 || l->string >= (int)p->string_count)))
            return "its line is out of range";
    }
    if (!code_ok(p, p->header) || !code_ok(p, p->total) || !code_ok(p, p->guessed) || !code_ok(p, p->untold) ||
        !code_ok(p, p->stream) || !code_ok(p, p->accept))
        return "a length is out of range";
    if (p->sum.present &&
        (p->sum.decl >= p->decl_count || p->sum.kind > RTAP_SUM_CRC32C || !code_ok(p, p->sum.length) ||
         !code_ok(p, p->sum.from) || !code_ok(p, p->sum.to) || !code_ok(p, p->sum.skip_from) ||
         !code_ok(p, p->sum.skip_to) || !code_ok(p, p->sum.when) || !code_ok(p, p->sum.pseudo)))
        return "its checksum is out of range";
    if (p->sum.present) {
        const int16_t parts[] = {p->sum.length,  p->sum.from, p->sum.to,    p->sum.skip_from,
                                 p->sum.skip_to, p->sum.when, p->sum.pseudo};

        for (unsigned i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
            if (parts[i] >= 0 && rtap_code_uses_checksum(&p->codes[parts[i]]))
                return "its checksum depends on itself";
    }
    return NULL;
}

static void mark_fixed(struct rtap_proto *p)
{
    for (unsigned i = 0; i < p->decl_count; i++) {
        bool all = true;

        for (unsigned j = 0; j < p->decl_count; j++)
            all &= p->decls[j].name != p->decls[i].name || p->decls[j].fixed >= 0;
        p->decls[i].flags &= (uint8_t)~RTAP_DECL_ALL_FIXED;
        if (all && p->decls[i].name)
            p->decls[i].flags |= RTAP_DECL_ALL_FIXED;
    }
}

static void count_names(struct rtap_engine *e, const struct rtap_proto *p, int by)
{
    for (unsigned i = 0; i < p->decl_count; i++)
        if (p->decls[i].name)
            e->name_uses[p->decls[i].name] = (uint16_t)(e->name_uses[p->decls[i].name] + by);
}

int rtap_engine_define(struct rtap_engine *e, struct rtap_proto *p, char *err, size_t errlen)
{
    struct rtap_proto *old;
    const char *wrong = fault(p);

    if (wrong) {
        snprintf(err, errlen, "protocol %s: %s", p->name, wrong);
        return -EINVAL;
    }
    rtap_code_prepare(p);
    mark_fixed(p);
    old = rtap_engine_proto(e, p->name);
    if (!old) {
        snprintf(err, errlen, "protocol %s: there is no room for another protocol (%d)", p->name, RTAP_PROTOS_MAX);
        return -ENOMEM;
    }
    p->id = old->id;
    p->defined = true;
    for (unsigned i = 0; i < p->decl_count; i++)
        p->decls[i].proto = p;
    /* what names the old one by address now means the new one */
    for (unsigned i = 0; i < e->proto_count; i++)
        for (unsigned j = 0; j < e->protos[i]->rule_count; j++)
            if (e->protos[i]->rules[j].proto == old)
                e->protos[i]->rules[j].proto = p;
    for (unsigned j = 0; j < p->rule_count; j++) /* what they named may have been replaced while p was read */
        if (p->rules[j].proto)
            p->rules[j].proto = p->rules[j].proto->id == p->id ? p : e->protos[p->rules[j].proto->id];
    p->needs_walk |= p->header < 0;
    for (unsigned i = 0; i < e->guess_count;) {
        if (e->guesses[i].proto == old) /* the new definition says its guesses again */
            memmove(&e->guesses[i], &e->guesses[i + 1], (--e->guess_count - i) * sizeof(e->guesses[0]));
        else
            i++;
    }
    for (unsigned i = 0; i < e->binding_size; i++)
        if (e->bindings[i].key && e->bindings[i].proto == old->id && old->defined)
            e->bindings[i].proto = 0; /* and where it is bound */
    count_names(e, old, -1);
    count_names(e, p, 1);
    e->protos[p->id] = p;
    old->graveyard = e->graveyard;
    e->graveyard = old;
    e->version++;
    return 0;
}

/* ------------------------------------------------------------------ what may follow what */

static bool merge(uint64_t *to, const uint64_t *from)
{
    bool changed = false;

    for (unsigned w = 0; w < RTAP_PROTOS_MAX / 64; w++) {
        changed |= (to[w] | from[w]) != to[w];
        to[w] |= from[w];
    }
    return changed;
}

/* Add the reach of everything that the rule leads to. */
static bool spread_rule(const struct rtap_engine *e, const struct rtap_rule *rule, uint64_t *reach)
{
    bool changed = false;

    if (rule->proto)
        changed |= merge(reach, e->protos[rule->proto->id]->reach);
    for (unsigned i = 0; rule->table && i < e->proto_count; i++)
        if (e->leads[rule->table][i / 64] >> i % 64 & 1)
            changed |= merge(reach, e->protos[i]->reach);
    for (unsigned i = 0; rule->list && i < e->guess_count; i++)
        if (e->guesses[i].list == rule->list)
            changed |= merge(reach, e->guesses[i].proto->reach);
    return changed;
}

static bool spread(const struct rtap_engine *e, struct rtap_proto *p)
{
    bool changed = false;

    for (unsigned r = 0; r < p->rule_count; r++)
        changed |= spread_rule(e, &p->rules[r], p->reach);
    return changed;
}

static void spread_rules(const struct rtap_engine *e, struct rtap_proto *p)
{
    for (unsigned r = p->rule_count; r-- > 0;) {
        struct rtap_rule *rule = &p->rules[r];

        memset(rule->reach, 0, sizeof(rule->reach));
        rule->reach[e->data / 64] = 1ull << e->data % 64;
        if (r + 1 < p->rule_count)
            merge(rule->reach, p->rules[r + 1].reach);
        spread_rule(e, rule, rule->reach);
    }
}

void rtap_engine_reach(struct rtap_engine *e)
{
    bool changed = true;

    if (e->reach_version == e->version)
        return;
    for (unsigned i = 0; i < e->proto_count; i++) {
        memset(e->protos[i]->reach, 0, sizeof(e->protos[i]->reach));
        e->protos[i]->reach[i / 64] = 1ull << i % 64;
        e->protos[i]->reach[e->data / 64] |= 1ull << e->data % 64;
    }
    memset(e->leads, 0, e->table_count * sizeof(e->leads[0]));
    for (unsigned i = 0; i < e->binding_size; i++)
        if (e->bindings[i].proto)
            e->leads[e->bindings[i].key >> 32][e->bindings[i].proto / 64] |= 1ull << e->bindings[i].proto % 64;
    while (changed) {
        changed = false;
        for (unsigned i = 0; i < e->proto_count; i++)
            changed |= spread(e, e->protos[i]);
    }
    for (unsigned i = 0; i < e->proto_count; i++)
        spread_rules(e, e->protos[i]);
    e->reach_version = e->version;
}
