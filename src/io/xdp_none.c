/* What xdp_program.c and xdp_filter.c are where the module is built without AF_XDP: make XDP=no. */
#include "xdp_filter.h"
#include "xdp_program.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static int none(char *err, size_t errlen)
{
    snprintf(err, errlen, "ringtap was built without AF_XDP (XDP=no)");
    return -ENOTSUP;
}

int rtap_xdp_load(struct rtap_xdp_program **out, const struct rtap_xdp_config *cfg, char *err, size_t errlen)
{
    (void)cfg;
    *out = NULL;
    return none(err, errlen);
}

int rtap_xdp_attach(struct rtap_xdp_program *p, const struct rtap_xdp_config *cfg, char *err, size_t errlen)
{
    (void)p;
    (void)cfg;
    return none(err, errlen);
}

int rtap_xdp_set_socket(struct rtap_xdp_program *p, uint32_t queue, int fd, char *err, size_t errlen)
{
    (void)p;
    (void)queue;
    (void)fd;
    return none(err, errlen);
}

int rtap_xdp_set_filter(struct rtap_xdp_program *p, int fd, char *err, size_t errlen)
{
    (void)p;
    (void)fd;
    return none(err, errlen);
}

void rtap_xdp_detach(struct rtap_xdp_program *p)
{
    (void)p;
}

void rtap_xdp_free(struct rtap_xdp_program *p)
{
    (void)p;
}

int rtap_xdp_counts(struct rtap_xdp_program *p, struct rtap_xdp_counts *c)
{
    (void)p;
    memset(c, 0, sizeof(*c));
    return -ENOTSUP;
}

enum rtap_xdp_mode rtap_xdp_mode(const struct rtap_xdp_program *p)
{
    (void)p;
    return RTAP_XDP_AUTO;
}

bool rtap_xdp_has_fragments(const struct rtap_xdp_program *p)
{
    (void)p;
    return false;
}

bool rtap_xdp_has_metadata(const struct rtap_xdp_program *p)
{
    (void)p;
    return false;
}

bool rtap_xdp_is_ours(const struct rtap_xdp_program *p)
{
    (void)p;
    return false;
}

int rtap_xdp_programs_map(const struct rtap_xdp_program *p)
{
    (void)p;
    return -1;
}

int rtap_xdp_current_map(const struct rtap_xdp_program *p)
{
    (void)p;
    return -1;
}

int rtap_xdp_query(int ifindex, struct rtap_xdp_attached list[3])
{
    (void)ifindex;
    (void)list;
    return -ENOTSUP;
}

int rtap_xdp_load_filter(const struct bpf_insn *insns, unsigned count, bool frags, char *err, size_t errlen)
{
    (void)insns;
    (void)count;
    (void)frags;
    return none(err, errlen);
}

int rtap_xdp_run_filter(int fd, const void *data, uint32_t len, bool frags, uint32_t linear)
{
    (void)fd;
    (void)data;
    (void)len;
    (void)frags;
    (void)linear;
    return -ENOTSUP;
}

int rtap_xdp_new_tag(void)
{
    return -ENOTSUP;
}

int rtap_xdp_set_tag(int map, const struct rtap_xdp_tag *tag)
{
    (void)map;
    (void)tag;
    return -ENOTSUP;
}
