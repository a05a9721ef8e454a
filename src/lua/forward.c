/* Passing packets from a source to a sink in C, and the sink that prints: ringtap dump and ringtap fields. */
#include "../io/text_sink.h"
#include "engine.h"
#include "loop.h"
#include "signals.h"
#include "writable.h"
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ------------------------------------------------------------------ forward */

struct forward {
    struct rtap_lua_sink *to;
    struct rtap_lua_signals *signals;
    int report, progress; /* stack index, in forward's frame, of the function for USR1 and USR2; of the one that is
                           * called now and then; 0: none */
    int64_t told;         /* when progress was */
    bool live;            /* packets come from an interface */
    int64_t patience, stuck_since; /* ns that it waits while a live sink takes nothing; since when it does, or 0 */
    bool asked, stopped;           /* by the first signal to end; by a second one */
    struct rtap_frame frame;
};

#define PROGRESS_EVERY 250000000 /* ns */
#define WAIT_SLICE 10000000
#define PATIENCE 500000000

static int forward_wake_fd(const struct rtap_lua_loop *lp)
{
    const struct forward *f = lp->context;

    return f->signals ? f->signals->fd : -1;
}

/* The first signal ends the intake, a second one everything; USR1 and USR2 ask for a report. */
static void look_for_signal(lua_State *L, struct rtap_lua_loop *lp)
{
    struct forward *f = lp->context;
    int number = f->signals ? rtap_lua_take_signal(f->signals) : 0;

    if (number == 0)
        return;
    if (number == SIGUSR1 || number == SIGUSR2) {
        if (f->report) { /* this runs in forward's own frame */
            lua_pushvalue(L, f->report);
            lua_call(L, 0, 0);
        }
    } else if (f->asked) {
        lp->left = 0;
        lp->reason = "interrupted";
        f->stopped = true;
    } else {
        f->asked = true;
        if (lp->source && lp->source->ops->drain) {
            lp->source->ops->drain(lp->source);
        } else if (lp->source) {
            lp->left = 0;
            lp->reason = "stopped";
        }
    }
}

/* A wait of the sink was interrupted. Hooks and reports may have closed anything after this. */
static void interrupted(lua_State *L, struct rtap_lua_loop *lp)
{
    struct forward *f = lp->context;

    look_for_signal(L, lp);
    rtap_lua_interrupt(L);
    if (!f->to->sink)
        luaL_error(L, "attempt to use a closed sink");
}

/* What was written goes out. */
static int forward_kick(lua_State *L, struct rtap_lua_loop *lp)
{
    struct forward *f = lp->context;
    int r;

    do {
        f->to->sink->wake_fd = forward_wake_fd(lp);
        r = f->to->sink->ops->kick(f->to->sink);
        f->to->sink->wake_fd = -1;
        if (r == -EINTR)
            interrupted(L, lp);
    } while (r == -EINTR && !f->stopped);
    return r == -EINTR ? 0 : r;
}

static void tell_progress(lua_State *L, struct forward *f)
{
    struct timespec ts;
    int64_t t;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    t = ts.tv_sec * 1000000000ll + ts.tv_nsec;
    if (f->told == 0) {
        f->told = t;
    } else if (t - f->told >= PROGRESS_EVERY) {
        f->told = t;
        lua_pushvalue(L, f->progress); /* this runs in forward's own frame */
        lua_call(L, 0, 0);
    }
}

/* Before a wait what was written goes out; at each block the signals are looked at. */
static void forward_between(lua_State *L, struct rtap_lua_loop *lp, bool waiting)
{
    struct forward *f = lp->context;

    if (waiting && f->to->sink) {
        int r = forward_kick(L, lp);

        if (r < 0 && r != -EAGAIN) /* a live sink that is full goes on at the next chance */
            luaL_error(L, "%s", f->to->sink->error);
    }
    look_for_signal(L, lp);
    if (f->progress)
        tell_progress(L, f);
}

/* A live sink is full: -EINTR, try again; or -EAGAIN, it has been so for too long. */
static int wait_for_room(lua_State *L, struct rtap_lua_loop *lp)
{
    struct forward *f = lp->context;
    int64_t now = rtap_pace_now();
    struct rtap_sink *k = f->to->sink;

    if (!f->stuck_since)
        f->stuck_since = now;
    if (f->patience > INT64_MAX - f->stuck_since)
        f->patience = INT64_MAX - f->stuck_since;
    if (f->live && (k->blocked == RTAP_LINK_DOWN || k->blocked == RTAP_NO_CARRIER))
        return -EAGAIN; /* what comes meanwhile is lost on any bridge, and the other way must not wait */
    if (!k->ops->wait || now - f->stuck_since >= f->patience)
        return -EAGAIN;
    k->wake_fd = forward_wake_fd(lp);
    k->ops->wait(k, f->stuck_since + f->patience - now < WAIT_SLICE ? f->stuck_since + f->patience - now : WAIT_SLICE);
    k->wake_fd = -1;
    k->ops->kick(k);
    interrupted(L, lp);
    return -EINTR;
}

/* The packet at `at` goes to the sink: 0, or -errno; -EINTR: stopped by a second signal before the sink took it. */
static int forward_packet(lua_State *L, struct rtap_lua *S, struct rtap_lua_loop *lp, int at)
{
    struct forward *f = lp->context;
    int r;

    do {
        struct rtap_sink *k;

        if (S->engine_loaded && lp->slot) /* a sink that prints fields */
            rtap_lua_know_link(L, S, lp->slot->pkt.linktype);
        k = f->to->sink;
        if (!k) /* fn, hooks and finalizers may have closed something */
            rtap_lua_check_sink(L, S, 2);
        if (!lp->slot)
            luaL_error(L, "the source was closed while a loop was running");
        f->frame.number = lp->source->delivered + lp->source->filtered;
        f->frame.first = lp->source->first;
        f->frame.previous = lp->source->previous;
        S->L = L; /* for functions that the sink runs */
        k->frame = &f->frame;
        k->wake_fd = forward_wake_fd(lp);
        if (lua_islightuserdata(L, at) && !f->to->loops && rtap_xdp_sink_has(k, &lp->slot->pkt)) /* nobody writes to it any more */
            r = rtap_sink_pass(k, &lp->slot->pkt);
        else
            r = rtap_lua_sink_put(L, S, f->to, at, lp->source->ops->live && !lp->source->ops->sums_unknown);
        if (f->to->sink) {
            f->to->sink->wake_fd = -1;
            f->to->sink->frame = NULL;
        }
        rtap_lua_raise_pending(L, S);
        if (r == -EAGAIN && f->to->sink)
            r = wait_for_room(L, lp);
        if (r == -EINTR || f->to->sink->interrupted) {
            f->to->sink->interrupted = false;
            interrupted(L, lp);
        }
    } while (r == -EINTR && !f->stopped);
    return r;
}

/*
 * What a live sink can't send is in its counts, and the loop goes on. That is so, too, when it could send nothing for
 * too long, if packets come from a wire: those are lost as they are on any bridge; what a file has can be read again.
 */
static bool is_counted(const struct forward *f, const struct rtap_lua_loop *lp, int err)
{
    struct rtap_sink *k = f->to->sink;

    if (!k || !k->live)
        return false;
    if (err == -EAGAIN)
        k->ops->drop(k, k->blocked, 1);
    return err == -EMSGSIZE || err == -EINVAL || (err == -EAGAIN && lp->source && lp->source->ops->live);
}

static const char *const direction_names[] = {"in", "both", NULL};

static const struct rtap_option forward_options[] = {
    {"count", RTAP_OPT_INT, offsetof(struct rtap_loop_options, count), 0, INT64_MAX, NULL},
    {"duration", RTAP_OPT_SECONDS, offsetof(struct rtap_loop_options, duration), 0, INT64_MAX, NULL},
    {"idle", RTAP_OPT_SECONDS, offsetof(struct rtap_loop_options, idle), 0, INT64_MAX, NULL},
    {"direction", RTAP_OPT_ENUM, offsetof(struct rtap_loop_options, direction), 0, 0, direction_names},
    {"patience", RTAP_OPT_SECONDS, offsetof(struct rtap_loop_options, patience), 0, INT64_MAX, NULL},
    {"progress", RTAP_OPT_VALUE, offsetof(struct rtap_loop_options, progress), 0, 0, NULL},
    {"report", RTAP_OPT_VALUE, offsetof(struct rtap_loop_options, report), 0, 0, NULL},
    {"signals", RTAP_OPT_VALUE, offsetof(struct rtap_loop_options, signals), 0, 0, NULL},
    {NULL, 0, 0, 0, 0, NULL},
};

/* fn(packet), which is at `what`: false, it is not passed on; else what is passed on is there now. */
static bool ask(lua_State *L, struct rtap_lua *S, int what)
{
    lua_pushvalue(L, 3);
    lua_pushvalue(L, what);
    lua_call(L, 1, 1);
    if (!lua_toboolean(L, -1))
        return false;
    if (lua_istable(L, -1) || lua_isuserdata(L, -1) || lua_type(L, -1) == LUA_TSTRING) { /* something else instead */
        rtap_lua_to_template(L, S, what + 1, ((struct rtap_lua_sink *)lua_touserdata(L, 2))->linktype);
        lua_replace(L, what);
    }
    return true;
}

/* forward(source, sink [, fn [, options]]): the number of packets passed on, and why it ended; or nil, message, errno
 */
static int forward(lua_State *L)
{
    struct rtap_lua *S = RTAP_STATE(L);
    struct rtap_loop_options o = {.count = INT64_MAX, .duration = INT64_MAX, .idle = INT64_MAX, .patience = PATIENCE};
    struct rtap_lua_loop *lp;
    struct forward *f;
    lua_Integer n = 0;
    bool has_fn = !lua_isnoneornil(L, 3), bridge;
    int r = 0, at;

    rtap_lua_check_source(L, S, 1);
    rtap_lua_check_sink(L, S, 2);
    if (has_fn)
        luaL_checktype(L, 3, LUA_TFUNCTION);
    lua_settop(L, 4);
    rtap_lua_options(L, 4, "forward", forward_options, &o);
    f = lua_newuserdatauv(L, sizeof(*f), 0); /* outlives this frame if an error is raised in it */
    memset(f, 0, sizeof(*f));
    f->to = rtap_lua_check_sink(L, S, 2);
    f->report = o.report;
    f->patience = o.patience;
    f->progress = o.progress;
    if (o.report && !lua_isfunction(L, o.report))
        luaL_error(L, "forward: option 'report' must be a function, not %s", luaL_typename(L, o.report));
    if (o.progress && !lua_isfunction(L, o.progress))
        luaL_error(L, "forward: option 'progress' must be a function, not %s", luaL_typename(L, o.progress));
    if (o.signals)
        f->signals = rtap_lua_check(L, o.signals, S->mt_signals, "signals");
    lp = rtap_lua_loop_new(L, S, 1, &o);
    at = lua_gettop(L);
    lua_toclose(L, at);
    lp->context = f;
    lp->between = forward_between;
    lp->wake_fd = forward_wake_fd;
    rtap_lua_check_sink(L, S, 2); /* again: making the loop may have run a finalizer */
    f->live = rtap_lua_check_source(L, S, 1)->source->ops->live;
    bridge = o.direction == 0 && f->to->sink->live && f->live;
    while (rtap_lua_loop_step(L, lp, at)) {
        int what = at + 1;

        if (bridge && (lp->slot->pkt.epb_flags & RTAP_EPB_DIRECTION) == RTAP_EPB_OUTBOUND) {
            rtap_lua_loop_breathe(L, lp); /* sent by this host, by us even: never passed on */
            continue;
        }
        rtap_lua_push_handle(L, lp);
        if (has_fn && !ask(L, S, what)) {
            lua_settop(L, at);
            rtap_lua_loop_breathe(L, lp);
            continue;
        }
        r = forward_packet(L, S, lp, what);
        lua_settop(L, at);
        if (r == 0) {
            n++;
            f->stuck_since = 0;
        } else if (!is_counted(f, lp, r)) {
            break;
        }
        r = 0;
        rtap_lua_loop_breathe(L, lp);
    }
    rtap_lua_check_sink(L, S, 2);
    if (r == 0 && !f->stopped)
        r = forward_kick(L, lp);
    if (r == -EAGAIN &&
        !(f->live && (f->to->sink->blocked == RTAP_LINK_DOWN || f->to->sink->blocked == RTAP_NO_CARRIER)))
        r = rtap_lua_sink_push_out(L, f->to, f->patience);
    f->to->queued = r == -EAGAIN;
    if (r == -EAGAIN && f->live) /* the queue keeps it */
        r = 0;
    if (r < 0 && r != -EINTR)
        return rtap_lua_fail(L, rtap_sink_errno(f->to->sink, r), f->to->sink->error);
    lua_pushinteger(L, n);
    lua_pushstring(L, lp->reason);
    return 2;
}

/* ------------------------------------------------------------------ text */

struct text_options {
    struct rtap_line_style style;
    int time, dump;
    int64_t verbose;
    bool line_buffered;
    int fields; /* stack index, 0: none */
    struct rtap_fields_style columns;
    const char *separator, *aggregator;
    int format, quote, occurrence;
};

#define T(field) offsetof(struct text_options, field)

static const char *const time_names[] = {"clock", "none", "epoch", "delta", "date", "first", NULL};
static const char *const dump_names[] = {"none", "x", "xx", "X", "XX", NULL};
static const char *const format_names[] = {"fields", "json", NULL};
static const char *const quote_names[] = {"none", "double", "single", NULL};
static const char *const occurrence_names[] = {"all", "first", "last", NULL}; /* as the enum has them */

static const struct rtap_option text_options[] = {
    {"fields", RTAP_OPT_VALUE, T(fields), 0, 0, NULL},
    {"time", RTAP_OPT_ENUM, T(time), 0, 0, time_names},
    {"nanoseconds", RTAP_OPT_BOOL, T(style.nanoseconds), 0, 0, NULL},
    {"number", RTAP_OPT_BOOL, T(style.number), 0, 0, NULL},
    {"link", RTAP_OPT_BOOL, T(style.link), 0, 0, NULL},
    {"quiet", RTAP_OPT_BOOL, T(style.quiet), 0, 0, NULL},
    {"verbose", RTAP_OPT_INT, T(verbose), 0, 10, NULL},
    {"interface", RTAP_OPT_BOOL, T(style.interface), 0, 0, NULL},
    {"dump", RTAP_OPT_ENUM, T(dump), 0, 0, dump_names},
    {"line_buffered", RTAP_OPT_BOOL, T(line_buffered), 0, 0, NULL},
    {NULL, 0, 0, 0, 0, NULL},
};

/* Of a text sink with `fields`; JSON takes those up to line_buffered. */
static const struct rtap_option fields_options[] = {
    {"fields", RTAP_OPT_VALUE, T(fields), 0, 0, NULL},
    {"format", RTAP_OPT_ENUM, T(format), 0, 0, format_names},
    {"occurrence", RTAP_OPT_ENUM, T(occurrence), 0, 0, occurrence_names},
    {"line_buffered", RTAP_OPT_BOOL, T(line_buffered), 0, 0, NULL},
    {"separator", RTAP_OPT_STRING, T(separator), 0, 0, NULL},
    {"aggregator", RTAP_OPT_STRING, T(aggregator), 0, 0, NULL},
    {"quote", RTAP_OPT_ENUM, T(quote), 0, 0, quote_names},
    {"header", RTAP_OPT_BOOL, T(columns.header), 0, 0, NULL},
    {"bom", RTAP_OPT_BOOL, T(columns.bom), 0, 0, NULL},
    {NULL, 0, 0, 0, 0, NULL},
};

static char one_character(lua_State *L, const char *name, const char *s)
{
    if (strlen(s) != 1)
        luaL_error(L, "text: option '%s' must be one character (a byte), not \"%s\"", name, s);
    return *s;
}

static void read_fields_style(lua_State *L, struct text_options *o)
{
    rtap_lua_options(L, 2, "text", fields_options, o);
    o->columns.json = o->format == 1;
    for (const struct rtap_option *k = fields_options + 4; o->columns.json && k->name; k++)
        if (rtap_lua_has_option(L, 2, k->name))
            luaL_error(L, "text: option '%s' is not for JSON", k->name);
    o->columns.separator = o->separator ? one_character(L, "separator", o->separator) : '\t';
    o->columns.aggregator = o->aggregator ? one_character(L, "aggregator", o->aggregator) : ',';
    o->columns.quote = "\0\"'"[o->quote];
    o->columns.occurrence = o->occurrence;
}

struct columns {
    unsigned count;
    const char **names;
    uint16_t *ids;
    int *occurrences;
};

/* The names in the list at idx; what they need is left on the stack. Raises where there is no such field. */
static void read_columns(lua_State *L, struct rtap_lua *S, int idx, struct columns *c)
{
    lua_Unsigned n;

    if (!lua_istable(L, idx))
        luaL_error(L, "text: option 'fields' must be a list of names, not %s", luaL_typename(L, idx));
    n = lua_rawlen(L, idx);
    if (n == 0 || n > 10000)
        luaL_error(L, "text: option 'fields': 1 to 10000 names");
    luaL_checkstack(L, (int)n + 8, "fields");
    c->count = (unsigned)n;
    c->names = lua_newuserdatauv(L, n * sizeof(*c->names), 0);
    c->ids = lua_newuserdatauv(L, n * sizeof(*c->ids), 0);
    c->occurrences = lua_newuserdatauv(L, n * sizeof(*c->occurrences), 0);
    for (unsigned i = 0; i < c->count; i++) {
        if (lua_rawgeti(L, idx, (lua_Integer)i + 1) != LUA_TSTRING)
            luaL_error(L, "text: option 'fields': a name is a string, not %s", luaL_typename(L, -1));
        c->names[i] = lua_tostring(L, -1);
        if (!rtap_lua_column(L, S, c->names[i], &c->ids[i], &c->occurrences[i]))
            rtap_lua_no_field(L, S, "no protocol has a field", c->names[i]);
    }
}

/* text(file [, style]): a sink that prints a line for each packet; or nil, message, errno */
static int text(lua_State *L)
{
    struct rtap_lua *S = RTAP_STATE(L);
    struct text_options o = {0};
    luaL_Stream *f = luaL_checkudata(L, 1, LUA_FILEHANDLE);
    struct rtap_lua_sink *u;
    struct rtap_format *format;
    struct columns c;
    char err[512];
    bool fields;
    int r, fd;

    luaL_argcheck(L, f->closef, 1, "file is closed");
    lua_settop(L, 2);
    fields = rtap_lua_has_option(L, 2, "fields");
    if (fields)
        read_fields_style(L, &o);
    else
        rtap_lua_options(L, 2, "text", text_options, &o);
    u = rtap_lua_sink_new(L, S);
    lua_replace(L, 2); /* `fields` stays where it is */
    u->linktype = RTAP_LINKTYPE_ETHERNET;
    if (fields)
        read_columns(L, S, o.fields, &c);
    else
        o.style.engine = rtap_lua_engine(L, S);
    o.style.time = (enum rtap_time_style)o.time;
    o.style.dump = o.dump;
    o.style.verbose = (unsigned)o.verbose;
    fd = rtap_lua_own_descriptor(L, f); /* checks again that it is open: what ran since may have closed it */
    fflush(f->f);
    format = fields ? rtap_fields_format(S->engine, c.ids, c.occurrences, c.names, c.count, &o.columns)
                    : rtap_line_format(&o.style);
    if (!format) {
        close(fd);
        return rtap_lua_fail(L, ENOMEM, strerror(ENOMEM));
    }
    lua_settop(L, 2);
    lua_pushvalue(L, 1);
    lua_setiuservalue(L, 2, 2); /* a pipe's process must not be waited for while we write to it */
    r = rtap_text_open(&u->sink, fd, fileno(f->f) == STDOUT_FILENO ? "standard output" : "text output", format,
                       o.line_buffered, err, sizeof(err));
    if (r < 0) {
        format->ops->free(format);
        close(fd);
        return rtap_lua_fail(L, r, err);
    }
    return 1;
}

void rtap_lua_open_forward(lua_State *L, struct rtap_lua *S)
{
    static const luaL_Reg functions[] = {
        {"forward", forward},
        {"text", text},
        {NULL, NULL},
    };

    lua_pushlightuserdata(L, S);
    luaL_setfuncs(L, functions, 1);
}
