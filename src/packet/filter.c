/*
 * struct rtap_filter: an expression and its programs, two for each link type that it has met.
 *
 * The plain program is libpcap's. The tagged one, for frames that carry a VLAN tag when the expression doesn't say
 * `vlan`, is the plain one rewritten so that it doesn't see the outermost tag. Frames here always have their tags in
 * place; what the kernel sees instead is filter_kernel.c's matter.
 *
 * A filter belongs to one Lua state: the counts and the forms are not locked. Called by src/io and src/lua.
 */
#include "filter.h"
#include "bpf_rewrite.h"
#include "bpf_run.h"
#include "bytes.h"
#include "filter_compile.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Where a link type has its outermost tag, and the frame without it. */
struct tag_place {
    uint16_t linktype;
    uint32_t type_at; /* of the 16 bits that hold the TPID */
    uint32_t enough;  /* a shorter frame isn't taken for a tagged one */
    struct rtap_load_map untagged;
};

static const struct rtap_load_region untagged_ethernet[] = {{.from = 0}, {.from = 12, .delta = 4}};
static const struct rtap_load_region untagged_sll[] = {{.from = 0}, {.from = 14, .delta = 4}};
static const struct rtap_load_region untagged_sll2[] = {
    {.from = 0, .delta = 22}, {.from = 2}, {.from = 20, .delta = 4}};

static const struct tag_place tag_places[] = {
    {RTAP_LINKTYPE_ETHERNET, 12, 16, {untagged_ethernet, COUNT(untagged_ethernet), -4}},
    {RTAP_LINKTYPE_LINUX_SLL2, 0, 24, {untagged_sll2, COUNT(untagged_sll2), -4}},
    {RTAP_LINKTYPE_LINUX_SLL, 14, 20, {untagged_sll, COUNT(untagged_sll), -4}},
};

struct form {
    struct form *next;
    const struct tag_place *place; /* NULL: no tags, or the expression wants to see them */
    struct sock_filter *plain, *tagged;
    unsigned plain_count, tagged_count;
    uint16_t linktype;
};

struct rtap_filter {
    struct form *forms; /* the one used last comes first */
    unsigned refs;
    bool says_vlan, blank, optimize;
    char expr[];
};

static const struct tag_place *find_place(uint16_t linktype)
{
    for (unsigned i = 0; i < COUNT(tag_places); i++)
        if (tag_places[i].linktype == linktype)
            return &tag_places[i];
    return NULL;
}

static bool is_tagged(const struct tag_place *place, const uint8_t *data, uint32_t caplen)
{
    return caplen >= place->enough && rtap_filter_is_tpid(rtap_be16(data + place->type_at));
}

bool rtap_filter_is_tagged(uint16_t linktype, const uint8_t *data, uint32_t caplen)
{
    const struct tag_place *place = find_place(linktype);

    return place != NULL && is_tagged(place, data, caplen);
}

static void form_free(struct form *form)
{
    free(form->plain);
    free(form->tagged);
    free(form);
}

static int form_new(struct form **out, const struct rtap_filter *f, uint16_t linktype, char *err, size_t errlen)
{
    struct form *form = calloc(1, sizeof(*form));
    int r = -ENOMEM;

    if (form == NULL)
        goto out_of_memory;
    form->linktype = linktype;
    r = rtap_filter_compile(f->expr, linktype, f->optimize, &form->plain, &form->plain_count, err, errlen);
    if (r == 0 && !f->says_vlan)
        form->place = find_place(linktype);
    if (r == 0 && form->place != NULL) {
        struct rtap_rewrite how = {.map = form->place->untagged};

        r = rtap_bpf_rewrite(&how, form->plain, form->plain_count, &form->tagged, &form->tagged_count);
    }
    if (r == 0) {
        *out = form;
        return 0;
    }
    form_free(form);
    if (r == -E2BIG) {
        snprintf(err, errlen, "the expression is too long: over %u instructions", RTAP_BPF_MAXINSNS);
        r = -EINVAL;
    }
    if (r != -ENOMEM)
        return r;
out_of_memory:
    snprintf(err, errlen, "not enough memory for the filter");
    return r;
}

/* The form for a link type, moved to the front. */
static int find_form(struct rtap_filter *f, uint16_t linktype, struct form **out, char *err, size_t errlen)
{
    struct form **at = &f->forms, *form;
    int r;

    while (*at != NULL && (*at)->linktype != linktype)
        at = &(*at)->next;
    form = *at;
    if (form != NULL) {
        *at = form->next;
    } else {
        r = form_new(&form, f, linktype, err, errlen);
        if (r < 0)
            return r;
    }
    form->next = f->forms;
    f->forms = form;
    *out = form;
    return 0;
}

int rtap_filter_new(struct rtap_filter **out, const char *expr, uint16_t linktype, bool optimize, char *err,
                    size_t errlen)
{
    size_t size = strlen(expr) + 1;
    struct rtap_filter *f = calloc(1, sizeof(*f) + size);
    struct form *form;
    int r;

    *out = NULL;
    if (f == NULL) {
        snprintf(err, errlen, "not enough memory for the filter");
        return -ENOMEM;
    }
    memcpy(f->expr, expr, size);
    f->refs = 1;
    f->optimize = optimize;
    f->says_vlan = rtap_filter_says(expr, "vlan", NULL);
    f->blank = expr[strspn(expr, " \t\r\n")] == '\0';
    r = find_form(f, linktype, &form, err, errlen);
    if (r < 0) {
        free(f);
        return r;
    }
    *out = f;
    return 0;
}

struct rtap_filter *rtap_filter_ref(struct rtap_filter *f)
{
    f->refs++;
    return f;
}

void rtap_filter_unref(struct rtap_filter *f)
{
    struct form *next;

    if (f == NULL || --f->refs > 0)
        return;
    for (struct form *form = f->forms; form != NULL; form = next) {
        next = form->next;
        form_free(form);
    }
    free(f);
}

const char *rtap_filter_expr(const struct rtap_filter *f)
{
    return f->expr;
}

bool rtap_filter_says_vlan(const struct rtap_filter *f)
{
    return f->says_vlan;
}

bool rtap_filter_is_blank(const struct rtap_filter *f)
{
    return f->blank;
}

int rtap_filter_match(struct rtap_filter *f, const struct rtap_pkt *pkt, char *err, size_t errlen)
{
    struct form *form = f->forms;

    if (__builtin_expect(form->linktype != pkt->linktype, 0)) {
        int r = find_form(f, pkt->linktype, &form, err, errlen);

        if (r < 0)
            return r;
    }
    if (form->place != NULL && is_tagged(form->place, pkt->data, pkt->caplen))
        return rtap_bpf_run(form->tagged, pkt->data, pkt->caplen, pkt->len) != 0;
    return rtap_bpf_run(form->plain, pkt->data, pkt->caplen, pkt->len) != 0;
}

int rtap_filter_program(struct rtap_filter *f, uint16_t linktype, bool tagged, const struct sock_filter **insns,
                        unsigned *count, char *err, size_t errlen)
{
    struct form *form;
    int r = find_form(f, linktype, &form, err, errlen);

    if (r < 0)
        return r;
    tagged = tagged && form->place != NULL;
    *insns = tagged ? form->tagged : form->plain;
    *count = tagged ? form->tagged_count : form->plain_count;
    return 0;
}
