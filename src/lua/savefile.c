/* ringtap.read and ringtap.write: opening capture files. */
#include "../io/savefile.h"
#include "sink.h"
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int rtap_lua_own_descriptor(lua_State *L, luaL_Stream *f)
{
    int fd;

    if (!f->closef)
        return luaL_error(L, "attempt to use a closed file");
    fd = fcntl(fileno(f->f), F_DUPFD_CLOEXEC, 0);
    if (fd < 0)
        luaL_error(L, "%s", strerror(errno));
    return fd;
}

/* How many bytes stdio has read ahead of its user. */
static size_t read_ahead(FILE *f)
{
#ifdef __GLIBC__
    return (size_t)(f->_IO_read_end - f->_IO_read_ptr);
#else
    return __freadahead(f); /* musl, <stdio_ext.h> */
#endif
}

struct read_options {
    int filter;
};

static const struct rtap_option read_options[] = {
    {"filter", RTAP_OPT_VALUE, offsetof(struct read_options, filter), 0, 0, NULL},
    {NULL, 0, 0, 0, 0, NULL},
};

/* A signal came while the head of a stream was awaited: give up if somebody wants to run because of it. */
static int interrupted(void *arg)
{
    return rtap_lua_interrupt_pending(arg) ? -EINTR : 0;
}

/* ringtap.read(path | file [, options]): source, or nil, message, errno */
static int read_file(lua_State *L)
{
    struct rtap_lua *S = RTAP_STATE(L);
    struct rtap_read_config cfg = {.fd = -1, .interrupted = interrupted, .interrupted_arg = L};
    struct read_options o = {0};
    luaL_Stream *f = luaL_testudata(L, 1, LUA_FILEHANDLE);
    struct rtap_lua_source *u;
    char err[512];
    int r, at;

    if (!f)
        cfg.path = rtap_lua_check_name(L, 1);
    lua_settop(L, 2);
    rtap_lua_options(L, 2, "read", read_options, &o);
    u = rtap_lua_source_new(L, S);
    at = lua_gettop(L);
    if (f) {
        cfg.path = "file";
        if (!f->closef)
            return luaL_error(L, "attempt to use a closed file");
        lua_pushvalue(L, 1); /* a pipe's process must not be waited for while we read from it */
        lua_setiuservalue(L, at, 2);
        cfg.prefix_size = read_ahead(f->f);
        cfg.prefix = lua_newuserdatauv(L, cfg.prefix_size + 1, 0);
        cfg.fd = rtap_lua_own_descriptor(L, f); /* checks again that it is open: the allocation may have closed it */
        cfg.prefix_size = fread((void *)cfg.prefix, 1, cfg.prefix_size, f->f);
    }
    r = rtap_read_open(&u->source, &cfg, err, sizeof(err));
    if (r == -EINTR)
        rtap_lua_interrupt(L);
    return rtap_lua_source_opened(L, S, at, r, err, o.filter);
}

struct write_options {
    struct rtap_write_config c;
    int format, source;
    int64_t linktype, snaplen, rotate_size, rotate_count, buffer_size;
    const char *filter;
};

#define W(field) offsetof(struct write_options, field)

static const char *const format_names[] = {"auto", "pcapng", "pcap", "pcap-us", NULL};

static const struct rtap_option write_options[] = {
    {"format", RTAP_OPT_ENUM, W(format), 0, 0, format_names},
    {"linktype", RTAP_OPT_INT, W(linktype), 0, 65535, NULL},
    {"snaplen", RTAP_OPT_INT, W(snaplen), 1, UINT32_MAX, NULL},
    {"source", RTAP_OPT_VALUE, W(source), 0, 0, NULL},
    {"filter", RTAP_OPT_STRING, W(filter), 0, 0, NULL},
    {"comment", RTAP_OPT_STRING, W(c.comment), 0, 0, NULL},
    {"hardware", RTAP_OPT_STRING, W(c.hardware), 0, 0, NULL},
    {"os", RTAP_OPT_STRING, W(c.os), 0, 0, NULL},
    {"rotate_size", RTAP_OPT_INT, W(rotate_size), 1, INT64_MAX, NULL},
    {"rotate_time", RTAP_OPT_SECONDS, W(c.rotate_time), 1000000000, INT64_MAX - 1, NULL},
    {"rotate_count", RTAP_OPT_INT, W(rotate_count), 1, 1000000, NULL},
    {"buffer_size", RTAP_OPT_INT, W(buffer_size), 4096, 1 << 28, NULL},
    {"unbuffered", RTAP_OPT_BOOL, W(c.unbuffered), 0, 0, NULL},
    {NULL, 0, 0, 0, 0, NULL},
};

void rtap_lua_final_counters(struct rtap_lua_source *u)
{
    struct rtap_lua_counters *c = &u->counters;
    struct rtap_source *s = u->source;
    struct rtap_source_stats st;
    struct rtap_source_if i;

    if (!s || !c->wanted)
        return;
    rtap_source_stats(s, &st);
    if (!st.knows_dropped || !s->ops->interface || !s->ops->interface(s, 0, &i))
        return;
    c->interface = i.id;
    c->received = st.delivered + st.dropped;
    c->dropped = st.dropped;
    c->known = true;
}

void rtap_lua_write_counters(struct rtap_sink *k, struct rtap_lua_source *from)
{
    rtap_lua_final_counters(from);
    if (from->counters.known)
        rtap_write_counters(k, from->counters.interface, from->counters.received, from->counters.dropped);
}

/* The interfaces of a source are declared before any packet, so that an empty file has them too. */
static int declare(struct rtap_sink *k, struct rtap_source *s, const char *filter)
{
    struct rtap_source_if i;
    int r = 0;

    for (unsigned n = 0; r == 0 && s->ops->interface && s->ops->interface(s, n, &i); n++) {
        struct rtap_write_if w = {.name = i.name,
                                  .description = i.description,
                                  .filter = filter ? filter : i.filter,
                                  .ifindex = i.id,
                                  .snaplen = i.snaplen,
                                  .linktype = i.linktype};

        r = rtap_write_interface(k, &w);
    }
    return r;
}

static bool is_compressed_name(const char *path)
{
    const char *dot = strrchr(path, '.');

    return dot && (strcmp(dot, ".gz") == 0 || strcmp(dot, ".zst") == 0);
}

/* ringtap.write(path | file [, options]): sink, or nil, message, errno */
static int write_file(lua_State *L)
{
    struct rtap_lua *S = RTAP_STATE(L);
    struct write_options o = {.c = {.fd = -1}, .linktype = -1, .snaplen = 262144};
    luaL_Stream *f = luaL_testudata(L, 1, LUA_FILEHANDLE);
    struct rtap_lua_source *from = NULL;
    struct rtap_lua_sink *u;
    char err[512];
    int r, at;

    if (!f)
        o.c.path = rtap_lua_check_name(L, 1);
    lua_settop(L, 2);
    rtap_lua_options(L, 2, "write", write_options, &o);
    if (o.rotate_count && !o.rotate_size && !o.c.rotate_time)
        return luaL_error(L, "write: option 'rotate_count' goes with 'rotate_size' or 'rotate_time'");
    if (o.filter && !o.source)
        return luaL_error(L, "write: option 'filter' goes with 'source', whose interface it describes");
    if (o.source)
        from = rtap_lua_check_source(L, S, o.source);
    if (o.c.path && is_compressed_name(o.c.path))
        return rtap_lua_fail(L, EINVAL,
                             lua_pushfstring(L,
                                             "%s: compressed files are read, not written: write to a pipe, as in "
                                             "io.popen(\"gzip > x.pcapng.gz\", \"w\")",
                                             o.c.path));
    u = rtap_lua_sink_new(L, S);
    at = lua_gettop(L);
    if (o.source)
        rtap_lua_check_source(L, S, o.source); /* again: the allocation may have closed it */
    o.c.format = (enum rtap_file_format)o.format;
    o.c.linktype = o.linktype >= 0 ? (uint16_t)o.linktype : from ? from->source->linktype : 0xffff;
    o.c.snaplen = (uint32_t)o.snaplen;
    o.c.rotate_size = (uint64_t)o.rotate_size;
    o.c.rotate_count = (uint32_t)o.rotate_count;
    o.c.buffer_size = (uint32_t)o.buffer_size;
    u->linktype = o.c.linktype == 0xffff ? RTAP_LINKTYPE_ETHERNET : o.c.linktype;
    if (f) {
        o.c.path = "file";
        o.c.fd = rtap_lua_own_descriptor(L, f);
        fflush(f->f);
        lua_pushvalue(L, 1); /* a pipe's process must not be waited for while we write to it */
        lua_setiuservalue(L, at, 2);
    }
    r = rtap_write_open(&u->sink, &o.c, err, sizeof(err));
    if (r < 0)
        return rtap_lua_fail(L, r, err);
    if (from) {
        r = declare(u->sink, from->source, o.filter);
        if (r < 0)
            return rtap_lua_fail(L, r, u->sink->error);
        from->counters.wanted = true;
        lua_pushvalue(L, o.source);
        lua_setiuservalue(L, at, 1);
    }
    lua_settop(L, at);
    return 1;
}

void rtap_lua_open_savefile(lua_State *L, struct rtap_lua *S)
{
    static const luaL_Reg functions[] = {{"read", read_file}, {"write", write_file}, {NULL, NULL}};

    lua_pushlightuserdata(L, S);
    luaL_setfuncs(L, functions, 1);
}
