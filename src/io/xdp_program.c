/*
 * Loading and attaching the XDP program. See xdp_program.h.
 *
 * libbpf has one function for its messages in the whole process: while one of its calls is made here it is ours, under
 * a lock, and what it is told becomes part of an error's sentence. Whoever set another gets it back.
 */
#include "xdp_program.h"

#include "../../bpf/xdp_shared.h"
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/if_link.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef BPF_F_XDP_HAS_FRAGS
#define BPF_F_XDP_HAS_FRAGS (1u << 5)
#endif
#ifndef BPF_F_XDP_DEV_BOUND_ONLY
#define BPF_F_XDP_DEV_BOUND_ONLY (1u << 6)
#endif

/* The object files of bpf/, as they are. */
#define EMBED(name, path)                               \
    __asm__(".section .rodata\n"                        \
            ".balign 16\n"                              \
            ".type " name ", @object\n" name ":\n"      \
            ".incbin \"" path "\"\n" name "_end:\n"     \
            ".byte 0\n"                                 \
            ".size " name ", " name "_end - " name "\n" \
            ".previous")

EMBED("rtap_redirect_object", RTAP_BPF_DIR "/redirect.bpf.o");
EMBED("rtap_metadata_object", RTAP_BPF_DIR "/metadata.bpf.o");
extern const char rtap_redirect_object[], rtap_redirect_object_end[];
extern const char rtap_metadata_object[], rtap_metadata_object_end[];

struct rtap_xdp_program {
    struct bpf_object *object, *metadata; /* metadata: NULL where its entry can't be had */
    int link;                             /* -1: not attached */
    int entry, device_entry;              /* programs; device_entry -1: none */
    int sockets, programs, counters, current;
    bool ours, fragments, uses_metadata;
    enum rtap_xdp_mode mode;
};

/* ------------------------------------------------------------------ libbpf's messages */

struct messages {
    libbpf_print_fn_t before;
    char text[1024];
    size_t used;
};

static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local struct messages *listening; /* NULL: this thread is in no call of ours */

static int hear(enum libbpf_print_level level, const char *fmt, va_list ap)
{
    struct messages *m = listening;
    int n;

    if (!m || level == LIBBPF_DEBUG)
        return 0;
    if (m->used > sizeof(m->text) / 2) { /* what comes last says most */
        memmove(m->text, m->text + sizeof(m->text) / 4, m->used - sizeof(m->text) / 4);
        m->used -= sizeof(m->text) / 4;
    }
    n = vsnprintf(m->text + m->used, sizeof(m->text) - m->used, fmt, ap);
    if (n > 0)
        m->used += (size_t)n < sizeof(m->text) - m->used ? (size_t)n : sizeof(m->text) - m->used - 1;
    return 0;
}

static void listen_begin(struct messages *m)
{
    m->used = 0;
    m->text[0] = '\0';
    pthread_mutex_lock(&one_at_a_time);
    listening = m;
    m->before = libbpf_set_print(hear);
}

static void listen_end(struct messages *m)
{
    libbpf_set_print(m->before);
    listening = NULL;
    pthread_mutex_unlock(&one_at_a_time);
}

/* The last line that was heard which says something, without libbpf's name; or NULL. */
static const char *last_words(struct messages *m)
{
    static const char kernel[] = "Kernel error message: ", own[] = "libbpf: ";
    char *line = NULL, *next;

    for (char *s = m->text; *s; s = next) {
        size_t n = strcspn(s, "\n");

        next = s + n + (s[n] == '\n');
        s[n] = '\0';
        if (strstr(s, kernel))
            return strstr(s, kernel) + strlen(kernel);
        if (n > 0 && !strstr(s, "-- END PROG LOAD LOG --") && !strstr(s, "processed ") && !strstr(s, "failed to load"))
            line = s;
    }
    return line && strncmp(line, own, strlen(own)) == 0 ? line + strlen(own) : line;
}

static const char *way_out(int r)
{
    return r == -EPERM || r == -EACCES
               ? " (needs CAP_NET_ADMIN, CAP_BPF and CAP_PERFMON: run as root, or setcap "
                 "cap_net_raw,cap_net_admin,cap_bpf,cap_perfmon,cap_ipc_lock+ep on the lua binary)"
               : "";
}

static int fail(char *err, size_t errlen, int r, const char *name, const char *what, struct messages *m)
{
    const char *more = m ? last_words(m) : NULL;

    snprintf(err, errlen, "%s: %s: %s%s%s%s%s", name, what, strerror(-r), more ? " (" : "", more ? more : "",
             more ? ")" : "", way_out(r));
    return r;
}

/* ------------------------------------------------------------------ loading */

static struct bpf_object *open_embedded(const char *from, const char *to, const char *name)
{
    LIBBPF_OPTS(bpf_object_open_opts, o, .object_name = name);

    return bpf_object__open_mem(from, (size_t)(to - from), &o);
}

static int load_ours(struct rtap_xdp_program *p, bool fragments)
{
    struct bpf_program *prog;
    const uint32_t slot = RTAP_XDP_SLOT_REDIRECT;
    int r, fd;

    bpf_object__close(p->object); /* of another try */
    p->object = open_embedded(rtap_redirect_object, rtap_redirect_object_end, "ringtap");
    if (!p->object)
        return -errno;
    for (prog = bpf_object__next_program(p->object, NULL); prog; prog = bpf_object__next_program(p->object, prog))
        bpf_program__set_flags(prog, fragments ? BPF_F_XDP_HAS_FRAGS : 0);
    r = bpf_object__load(p->object);
    if (r < 0) {
        bpf_object__close(p->object);
        p->object = NULL;
        return r;
    }
    p->fragments = fragments;
    p->entry = bpf_program__fd(bpf_object__find_program_by_name(p->object, "rtap_entry"));
    p->sockets = bpf_object__find_map_fd_by_name(p->object, "sockets");
    p->programs = bpf_object__find_map_fd_by_name(p->object, "programs");
    p->counters = bpf_object__find_map_fd_by_name(p->object, "counters");
    p->current = bpf_object__find_map_fd_by_name(p->object, "current");
    fd = bpf_program__fd(bpf_object__find_program_by_name(p->object, "rtap_redirect"));
    return bpf_map_update_elem(p->programs, &slot, &fd, BPF_ANY) < 0 ? -errno : 0;
}

/* The entry that asks the device: where the kernel or the driver has no such thing the other one does. */
static int load_metadata(struct rtap_xdp_program *p, int ifindex)
{
    struct bpf_program *prog;
    struct bpf_map *map;
    int r = 0;

    p->metadata = open_embedded(rtap_metadata_object, rtap_metadata_object_end, "ringtap_device");
    if (!p->metadata)
        return -errno;
    for (map = bpf_object__next_map(p->metadata, NULL); map; map = bpf_object__next_map(p->metadata, map)) {
        int fd = bpf_object__find_map_fd_by_name(p->object, bpf_map__name(map));

        if (fd >= 0 && r == 0)
            r = bpf_map__reuse_fd(map, fd);
    }
    for (prog = bpf_object__next_program(p->metadata, NULL); prog; prog = bpf_object__next_program(p->metadata, prog)) {
        bpf_program__set_ifindex(prog, (uint32_t)ifindex);
        bpf_program__set_flags(prog, (p->fragments ? BPF_F_XDP_HAS_FRAGS : 0) | BPF_F_XDP_DEV_BOUND_ONLY);
    }
    if (r == 0)
        r = bpf_object__load(p->metadata);
    if (r < 0) {
        bpf_object__close(p->metadata);
        p->metadata = NULL;
        return r;
    }
    p->device_entry = bpf_program__fd(bpf_object__find_program_by_name(p->metadata, "rtap_entry_device"));
    return 0;
}

static struct bpf_map *find_xskmap(struct bpf_object *o, const char *name, unsigned *count)
{
    struct bpf_map *map, *found = NULL;

    *count = 0;
    for (map = bpf_object__next_map(o, NULL); map; map = bpf_object__next_map(o, map)) {
        if (bpf_map__type(map) == BPF_MAP_TYPE_XSKMAP && (!name || strcmp(bpf_map__name(map), name) == 0)) {
            found = map;
            ++*count;
        }
    }
    return found;
}

/* A program of the user's: the only one of type XDP in its file, and an XSKMAP. */
static int load_file(struct rtap_xdp_program *p, const struct rtap_xdp_config *cfg, struct messages *m, char *err,
                     size_t errlen)
{
    struct bpf_program *prog, *found = NULL;
    unsigned programs = 0, maps;
    struct bpf_map *map;
    int r;

    p->object = bpf_object__open_file(cfg->file, NULL);
    if (!p->object)
        return fail(err, errlen, -errno, cfg->file, "opening it", m);
    for (prog = bpf_object__next_program(p->object, NULL); prog; prog = bpf_object__next_program(p->object, prog)) {
        if (bpf_program__type(prog) == BPF_PROG_TYPE_XDP) {
            found = prog;
            programs++;
        }
        p->fragments = p->fragments || bpf_program__flags(prog) & BPF_F_XDP_HAS_FRAGS;
    }
    map = find_xskmap(p->object, cfg->map, &maps);
    if (programs != 1 || maps != 1) {
        snprintf(err, errlen,
                 "%s: it has %u programs of type XDP (needs one) and %u maps of type XSKMAP%s%s%s (needs one%s)",
                 cfg->file, programs, maps, cfg->map ? " named '" : "", cfg->map ? cfg->map : "", cfg->map ? "'" : "",
                 cfg->map ? "" : ", or map=\"name\"");
        return -EINVAL;
    }
    r = bpf_object__load(p->object);
    if (r < 0)
        return fail(err, errlen, r, cfg->file, "loading it", m);
    p->entry = bpf_program__fd(found);
    p->sockets = bpf_map__fd(map);
    return 0;
}

int rtap_xdp_load(struct rtap_xdp_program **out, const struct rtap_xdp_config *cfg, char *err, size_t errlen)
{
    struct rtap_xdp_program *p = calloc(1, sizeof(*p));
    struct messages m;
    int r;

    *out = NULL;
    if (!p) {
        snprintf(err, errlen, "%s: %s", cfg->ifname, strerror(ENOMEM));
        return -ENOMEM;
    }
    p->link = p->entry = p->device_entry = p->sockets = p->programs = p->counters = p->current = -1;
    p->ours = !cfg->file;
    listen_begin(&m);
    if (cfg->file) {
        r = load_file(p, cfg, &m, err, errlen);
    } else {
        r = load_ours(p, cfg->fragments != 0);
        if (r == -EINVAL && cfg->fragments < 0) /* before Linux 5.18 */
            r = load_ours(p, false);
        if (r < 0)
            fail(err, errlen, r, cfg->ifname, "loading the XDP program", &m);
        if (r == 0 && cfg->metadata != 0 && cfg->mode != RTAP_XDP_GENERIC) {
            int no = load_metadata(p, cfg->ifindex);

            if (no < 0 && cfg->metadata > 0)
                r = fail(err, errlen, no, cfg->ifname, "metadata=true: loading the XDP program for this device", &m);
        }
    }
    listen_end(&m);
    if (r < 0)
        rtap_xdp_free(p);
    else
        *out = p;
    return r;
}

/* ------------------------------------------------------------------ attaching */

static uint32_t attach_flags(enum rtap_xdp_mode mode)
{
    return mode == RTAP_XDP_NATIVE ? XDP_FLAGS_DRV_MODE : XDP_FLAGS_SKB_MODE;
}

static int try_link(struct rtap_xdp_program *p, int fd, int ifindex, enum rtap_xdp_mode mode)
{
    LIBBPF_OPTS(bpf_link_create_opts, o, .flags = attach_flags(mode));
    int link = bpf_link_create(fd, ifindex, BPF_XDP, &o);

    if (link < 0)
        return -errno;
    p->link = link;
    p->mode = mode;
    p->uses_metadata = fd == p->device_entry;
    return 0;
}

static int try_mode(struct rtap_xdp_program *p, int ifindex, enum rtap_xdp_mode mode, bool must_have_metadata)
{
    int r = -EOPNOTSUPP;

    if (mode == RTAP_XDP_NATIVE && p->device_entry >= 0)
        r = try_link(p, p->device_entry, ifindex, mode);
    if (r < 0 && !must_have_metadata && (r == -EOPNOTSUPP || r == -EINVAL))
        r = try_link(p, p->entry, ifindex, mode);
    return r;
}

/* A link gives no reason for a refusal, attaching by netlink does. Nothing is attached afterwards. */
static void ask_why(struct rtap_xdp_program *p, int ifindex, enum rtap_xdp_mode mode)
{
    uint32_t flags = attach_flags(mode) | XDP_FLAGS_UPDATE_IF_NOEXIST;

    if (bpf_xdp_attach(ifindex, p->entry, flags, NULL) == 0) {
        LIBBPF_OPTS(bpf_xdp_attach_opts, o, .old_prog_fd = p->entry);

        bpf_xdp_detach(ifindex, attach_flags(mode) | XDP_FLAGS_REPLACE, &o);
    }
}

static const char *mode_name(enum rtap_xdp_mode mode)
{
    return mode == RTAP_XDP_NATIVE ? "native" : "generic";
}

static int query(int ifindex, struct rtap_xdp_attached list[3]);

static int tell_occupied(const struct rtap_xdp_config *cfg, int r, char *err, size_t errlen)
{
    struct rtap_xdp_attached list[3];
    int n = query(cfg->ifindex, list);

    if (n > 0)
        snprintf(
            err, errlen,
            "%s: %s: an XDP program is attached already (%s, id %u%s%s; replace=true takes its place, `ip link set "
            "dev %s xdp off` removes one without a link)",
            cfg->ifname, strerror(-r), mode_name(list[0].mode), list[0].id, list[0].name[0] ? ", " : "", list[0].name,
            cfg->ifname);
    else
        snprintf(err, errlen, "%s: %s: an XDP program is attached already, or was just now", cfg->ifname, strerror(-r));
    return r;
}

static int tell_refused(struct rtap_xdp_program *p, const struct rtap_xdp_config *cfg, enum rtap_xdp_mode mode, int r,
                        struct messages *m, char *err, size_t errlen)
{
    const char *why, *help = "";

    m->used = 0;
    m->text[0] = '\0';
    if (r != -EPERM)
        ask_why(p, cfg->ifindex, mode);
    why = last_words(m);
    if (r == -ERANGE)
        help = p->fragments
                   ? "; a smaller MTU of the interface, of a veth's peer, or mode=\"generic\" helps"
                   : "; a smaller MTU of the interface, of a veth's peer, fragments=true or mode=\"generic\" helps";
    else if (r == -EOPNOTSUPP && mode == RTAP_XDP_NATIVE)
        help = "; its driver has no native XDP: mode=\"generic\" helps";
    else if (r == -EOPNOTSUPP && cfg->metadata > 0)
        help = "; metadata=true is for native mode";
    snprintf(err, errlen, "%s: attaching the XDP program in %s mode: %s%s%s%s%s", cfg->ifname, mode_name(mode),
             strerror(-r), why ? " (" : "", why ? why : "", why ? ")" : "", r == -EPERM ? way_out(r) : help);
    return r;
}

static bool has_program(const struct rtap_xdp_attached *list, int n, uint32_t id)
{
    for (int i = 0; i < n; i++)
        if (list[i].id == id)
            return true;
    return false;
}

/* Remove what is there, whoever put it there: by its link, or as it was attached without one. A link tells the index of
 * its interface, not the namespace: in another one the same index is another interface. */
static void make_room(int ifindex)
{
    struct rtap_xdp_attached list[3];
    uint32_t id = 0;
    int n = query(ifindex, list);

    while (bpf_link_get_next_id(id, &id) == 0) {
        struct bpf_link_info info = {0};
        uint32_t len = sizeof(info);
        int fd = bpf_link_get_fd_by_id(id);

        if (fd < 0)
            continue;
        if (bpf_obj_get_info_by_fd(fd, &info, &len) == 0 && info.type == BPF_LINK_TYPE_XDP &&
            info.xdp.ifindex == (uint32_t)ifindex && has_program(list, n, info.prog_id))
            bpf_link_detach(fd);
        close(fd);
    }
    n = query(ifindex, list);
    for (int i = 0; i < n; i++)
        bpf_xdp_detach(ifindex, attach_flags(list[i].mode), NULL);
}

int rtap_xdp_attach(struct rtap_xdp_program *p, const struct rtap_xdp_config *cfg, char *err, size_t errlen)
{
    enum rtap_xdp_mode mode = cfg->mode == RTAP_XDP_GENERIC ? RTAP_XDP_GENERIC : RTAP_XDP_NATIVE;
    bool must = cfg->metadata > 0;
    struct messages m;
    int r;

    listen_begin(&m);
    r = try_mode(p, cfg->ifindex, mode, must);
    if ((r == -EBUSY || r == -EEXIST) && cfg->replace) {
        make_room(cfg->ifindex);
        r = try_mode(p, cfg->ifindex, mode, must);
    }
    if (cfg->mode == RTAP_XDP_AUTO && !must && (r == -EOPNOTSUPP || r == -ERANGE || r == -EINVAL)) {
        mode = RTAP_XDP_GENERIC;
        r = try_mode(p, cfg->ifindex, mode, must);
    }
    if (r == -EBUSY || r == -EEXIST)
        tell_occupied(cfg, r, err, errlen);
    else if (r < 0)
        tell_refused(p, cfg, mode, r, &m, err, errlen);
    listen_end(&m);
    return r;
}

int rtap_xdp_set_socket(struct rtap_xdp_program *p, uint32_t queue, int fd, char *err, size_t errlen)
{
    if (bpf_map_update_elem(p->sockets, &queue, &fd, BPF_ANY) == 0)
        return 0;
    snprintf(err, errlen, "queue %u: the XSKMAP: %s", queue, strerror(errno));
    return -errno;
}

int rtap_xdp_set_filter(struct rtap_xdp_program *p, int fd, char *err, size_t errlen)
{
    const uint32_t slot = RTAP_XDP_SLOT_FILTER;
    int r = fd < 0 ? bpf_map_delete_elem(p->programs, &slot) : bpf_map_update_elem(p->programs, &slot, &fd, BPF_ANY);

    if (r == 0 || (fd < 0 && errno == ENOENT))
        return 0;
    r = -errno;
    snprintf(err, errlen, "the filter's XDP program: %s", strerror(-r));
    return r;
}

void rtap_xdp_detach(struct rtap_xdp_program *p)
{
    if (p->link >= 0)
        close(p->link);
    p->link = -1;
}

void rtap_xdp_free(struct rtap_xdp_program *p)
{
    if (!p)
        return;
    rtap_xdp_detach(p);
    bpf_object__close(p->metadata);
    bpf_object__close(p->object);
    free(p);
}

/* ------------------------------------------------------------------ asking */

int rtap_xdp_counts(struct rtap_xdp_program *p, struct rtap_xdp_counts *c)
{
    const uint32_t zero = 0;
    int cpus = libbpf_num_possible_cpus();
    struct rtap_xdp_counters *of;
    int r = 0;

    memset(c, 0, sizeof(*c));
    if (!p->ours)
        return -ENOTSUP;
    of = calloc(cpus > 0 ? (size_t)cpus : 1, sizeof(*of));
    if (!of)
        return -ENOMEM;
    if (cpus <= 0 || bpf_map_lookup_elem(p->counters, &zero, of) < 0)
        r = -errno;
    for (int i = 0; r == 0 && i < cpus; i++) {
        c->seen += of[i].seen;
        c->matched += of[i].matched;
        c->redirected += of[i].redirected;
        c->passed += of[i].passed;
        c->unstamped += of[i].unstamped;
    }
    free(of);
    return r;
}

enum rtap_xdp_mode rtap_xdp_mode(const struct rtap_xdp_program *p)
{
    return p->mode;
}

bool rtap_xdp_has_fragments(const struct rtap_xdp_program *p)
{
    return p->fragments;
}

bool rtap_xdp_has_metadata(const struct rtap_xdp_program *p)
{
    return p->uses_metadata;
}

bool rtap_xdp_is_ours(const struct rtap_xdp_program *p)
{
    return p->ours;
}

int rtap_xdp_programs_map(const struct rtap_xdp_program *p)
{
    return p->programs;
}

int rtap_xdp_current_map(const struct rtap_xdp_program *p)
{
    return p->current;
}

static int query(int ifindex, struct rtap_xdp_attached list[3])
{
    LIBBPF_OPTS(bpf_xdp_query_opts, o);
    const struct {
        uint32_t id;
        enum rtap_xdp_mode mode;
    } * found;
    int n = 0, r = bpf_xdp_query(ifindex, 0, &o);

    if (r < 0)
        return r;
    found = (const __typeof__(*found)[]){
        {o.drv_prog_id, RTAP_XDP_NATIVE}, {o.skb_prog_id, RTAP_XDP_GENERIC}, {o.hw_prog_id, RTAP_XDP_NATIVE}};
    for (int i = 0; i < 3; i++) {
        struct bpf_prog_info info = {0};
        uint32_t len = sizeof(info);
        int fd;

        if (!found[i].id)
            continue;
        list[n] = (struct rtap_xdp_attached){.id = found[i].id, .mode = found[i].mode};
        fd = bpf_prog_get_fd_by_id(found[i].id);
        if (fd >= 0 && bpf_obj_get_info_by_fd(fd, &info, &len) == 0)
            snprintf(list[n].name, sizeof(list[n].name), "%s", info.name);
        if (fd >= 0)
            close(fd);
        n++;
    }
    return n;
}

int rtap_xdp_query(int ifindex, struct rtap_xdp_attached list[3])
{
    struct messages m;
    int n;

    listen_begin(&m);
    n = query(ifindex, list);
    listen_end(&m);
    return n;
}
