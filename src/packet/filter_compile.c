/*
 * libpcap's compiler behind one function, and the place of an error, which libpcap doesn't tell.
 *
 * The place is found by asking the parser itself: the first i tokens are compiled with one more token behind them that
 * the scanner refuses in its own words. When those words come back, the parser got through all i tokens; when a syntax
 * error comes back, one of them is to blame. Host names are replaced in that search, so that it asks no name server.
 *
 * The only file that includes libpcap's headers. No state. Called by filter.c.
 */
#include "filter_compile.h"
#include "bpf_bounds.h"
#include "bpf_run.h"
#include <ctype.h>
#include <errno.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SNAPLEN 262144 /* the value that accepting programs return; 0 would make libpcap reject everything */
#define SENTINEL " 099"
#define STAND_IN "\\1.2.3.4 " /* scanned as a name, resolved without asking anybody */
#define SHOWN 72              /* columns of a long expression that a message shows */

_Static_assert(sizeof(struct bpf_insn) == sizeof(struct sock_filter) &&
                   offsetof(struct bpf_insn, jt) == offsetof(struct sock_filter, jt) &&
                   offsetof(struct bpf_insn, k) == offsetof(struct sock_filter, k),
               "struct bpf_insn and struct sock_filter are the same");

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '-' || c == '_' || c == '.';
}

size_t rtap_filter_token(const char **p, const char **start, unsigned *bracketed)
{
    const char *s = *p + strspn(*p, " \t\r\n"), *e = s;

    *start = s;
    if (*s == '\0') {
        *p = s;
        return 0;
    }
    if (*s == '\\') {
        e += 1 + strcspn(s + 1, " !()\n\t");
    } else if (isalnum((unsigned char)*s) || (*s == ':' && *bracketed == 0)) {
        while (is_word(*e) || (*e == ':' && *bracketed == 0))
            e++;
        while (e > s + 1 && (e[-1] == '-' || e[-1] == '_'))
            e--;
    } else {
        static const char pairs[] = "&&||>=<===!=<<>>";

        e++;
        for (const char *q = pairs; *q; q += 2)
            if (strncmp(s, q, 2) == 0)
                e = s + 2;
        if (*s == '[')
            ++*bracketed;
        else if (*s == ']' && *bracketed > 0)
            --*bracketed;
    }
    *p = e;
    return (size_t)(e - s);
}

bool rtap_filter_says(const char *expr, const char *word, const char **where)
{
    const char *p = expr, *start;
    size_t n, len = strlen(word);
    unsigned bracketed = 0;

    while ((n = rtap_filter_token(&p, &start, &bracketed)) > 0) {
        if (n == len && memcmp(start, word, n) == 0) {
            if (where != NULL)
                *where = start;
            return true;
        }
    }
    return false;
}

/* LINKTYPE_ values that libpcap calls otherwise inside a program: its DLT_ numbers differ between systems. */
static int dlt_of(uint16_t linktype)
{
    switch (linktype) {
    case 100: return DLT_ATM_RFC1483;
    case RTAP_LINKTYPE_RAW: return DLT_RAW;
    case 102: return DLT_SLIP_BSDOS;
    case 103: return DLT_PPP_BSDOS;
    case 106: return DLT_ATM_CLIP;
    default: return linktype;
    }
}

/* 0, or -EINVAL and libpcap's words in text. out may be NULL: only the words matter. */
static int compile(const char *expr, uint16_t linktype, bool optimize, struct bpf_program *out,
                   char text[PCAP_ERRBUF_SIZE])
{
    struct bpf_program program = {0};
    pcap_t *p = pcap_open_dead(dlt_of(linktype), SNAPLEN);
    int r;

    if (p == NULL)
        return -ENOMEM;
    r = pcap_compile(p, &program, expr, optimize, PCAP_NETMASK_UNKNOWN);
    if (r != 0)
        snprintf(text, PCAP_ERRBUF_SIZE, "%s", pcap_geterr(p));
    else if (out != NULL)
        *out = program;
    else
        pcap_freecode(&program);
    pcap_close(p);
    return r == 0 ? 0 : -EINVAL;
}

/* --- where it went wrong --- */

static bool one_of(const char *words, const char *s, size_t n)
{
    for (const char *p = words; (p = strstr(p, " ")) != NULL; p++)
        if (strncmp(p + 1, s, n) == 0 && p[1 + n] == ' ')
            return true;
    return false;
}

/* A name that libpcap may ask a name server about: a word that is neither its own nor follows one that takes a word
 * from a local list. */
static bool is_host(const char *s, size_t n, const char *before, size_t before_n)
{
    static const char keywords[] =
        " dst src link ether ppp slip fddi tr wlan arp rarp ip sctp tcp udp icmp igmp igrp pim vrrp carp radio ip6 "
        "icmp6 "
        "ah esp atalk aarp decnet lat sca moprc mopdl iso esis es-is isis is-is l1 l2 iih lsp snp csnp psnp clnp stp "
        "ipx "
        "netbeui host net mask port portrange proto protochain gateway type subtype direction dir address1 addr1 "
        "address2 addr2 address3 addr3 address4 addr4 ra ta less greater byte broadcast multicast and or not len "
        "length "
        "inbound outbound ifindex vlan mpls pppoed pppoes geneve batadv vxlan lane llc metac bcc oam oamf4 oamf4ec "
        "oamf4sc sc ilmic vpi vci connectmsg metaconnect on ifname rset ruleset rnr rulenum srnr subrulenum reason "
        "action "
        "fisu lssu lsu msu hfisu hlssu hmsu sio opc dpc sls hsio hopc hdpc hsls icmptype icmpcode icmp6type icmp6code "
        "tcpflags ";
    static const char local[] = " port portrange proto protochain type subtype direction dir on ifname rset ruleset "
                                "reason action llc lane ";

    if (*s == '\\')
        return n > 1 && !one_of(local, before, before_n);
    if (!isalnum((unsigned char)*s) || memchr(s, ':', n) != NULL)
        return false;
    if (strspn(s, "0123456789.") >= n) /* a number or an address */
        return false;
    if ((s[0] == '0' && (s[1] == 'x' || s[1] == 'X')) || one_of(keywords, s, n) || one_of(local, before, before_n))
        return false;
    return !(n > 4 && (strncmp(s, "tcp-", 4) == 0 || strncmp(s, "icmp-", 5) == 0 || strncmp(s, "icmp6-", 6) == 0));
}

struct search {
    uint16_t linktype;
    unsigned count;        /* tokens */
    const char **start;    /* of token i in the expression */
    size_t *end;           /* of token i in text */
    char *text;            /* the expression with stand-ins for host names; room for the sentinel */
    char *prefix;          /* work space */
    const char *after_all; /* where the last token ends in the expression */
};

static void search_free(struct search *s)
{
    free(s->start);
    free(s->end);
    free(s->text);
    free(s->prefix);
}

static int search_init(struct search *s, const char *expr, uint16_t linktype)
{
    size_t len = strlen(expr), max = (len + 1) * sizeof(STAND_IN) + sizeof(SENTINEL), n, n0 = 0, used = 0;
    const char *p = expr, *start, *start0 = "", *last = expr;
    unsigned bracketed = 0;

    memset(s, 0, sizeof(*s));
    s->linktype = linktype;
    s->start = calloc(len + 1, sizeof(*s->start));
    s->end = calloc(len + 1, sizeof(*s->end));
    s->text = malloc(max);
    s->prefix = malloc(max);
    if (s->start == NULL || s->end == NULL || s->text == NULL || s->prefix == NULL) {
        search_free(s);
        return -ENOMEM;
    }
    while ((n = rtap_filter_token(&p, &start, &bracketed)) > 0) {
        bool host = is_host(start, n, start0, n0);

        memcpy(s->text + used, last, (size_t)(start - last));
        used += (size_t)(start - last);
        memcpy(s->text + used, host ? STAND_IN : start, host ? strlen(STAND_IN) : n);
        used += host ? strlen(STAND_IN) : n;
        s->start[s->count] = start;
        s->end[s->count++] = used;
        start0 = start;
        n0 = n;
        last = p;
    }
    s->text[used] = '\0';
    s->after_all = last;
    return 0;
}

/* What libpcap says to the first n tokens and the sentinel. */
static void search_ask(const struct search *s, unsigned n, char answer[PCAP_ERRBUF_SIZE])
{
    size_t len = n > 0 ? s->end[n - 1] : 0;

    memcpy(s->prefix, s->text, len);
    memcpy(s->prefix + len, SENTINEL, sizeof(SENTINEL));
    if (compile(s->prefix, s->linktype, false, NULL, answer) == 0)
        answer[0] = '\0';
}

/* The first token after which libpcap complains as `text` does; its end when only the end of the expression does. */
static const char *search_run(const struct search *s, const char *text)
{
    char answer[PCAP_ERRBUF_SIZE];
    bool syntax = strstr(text, "syntax error") != NULL;
    unsigned good = 0, bad = s->count;

    search_ask(s, 0, answer);
    if (strstr(answer, "syntax error") != NULL || answer[0] == '\0')
        return NULL; /* a libpcap whose scanner has no words of its own for the sentinel */
    search_ask(s, s->count, answer);
    if (strcmp(answer, text) != 0)
        return syntax && strstr(answer, "099") != NULL ? s->after_all : NULL;
    while (bad - good > 1) {
        unsigned mid = good + (bad - good) / 2;

        search_ask(s, mid, answer);
        if (strcmp(answer, text) == 0)
            bad = mid;
        else
            good = mid;
    }
    return s->start[bad - 1];
}

/* "unknown host 'x'", "number 08 contains ...": the token that is named. */
static const char *find_named(const char *expr, const char *text)
{
    const char *from = strchr(text, '\''), *to = from != NULL ? strchr(from + 1, '\'') : NULL, *where;
    char name[256];

    if (strncmp(text, "number ", 7) == 0) {
        from = text + 6;
        to = strchr(from + 1, ' ');
    } else if (strncmp(text, "unknown ", 8) != 0) {
        return NULL;
    }
    if (to == NULL || to - from - 1 >= (ptrdiff_t)sizeof(name))
        return NULL;
    snprintf(name, sizeof(name), "%.*s", (int)(to - from - 1), from + 1);
    if (rtap_filter_says(expr, name, &where))
        return where;
    snprintf(name, sizeof(name), "\\%.*s", (int)(to - from - 1), from + 1);
    return rtap_filter_says(expr, name, &where) ? where : NULL;
}

static const char *find_error(const char *expr, uint16_t linktype, const char *text)
{
    const char *where = find_named(expr, text);
    struct search s;

    if (where != NULL || strncmp(text, "unknown host", 12) == 0 || strncmp(text, "unknown data link", 17) == 0 ||
        search_init(&s, expr, linktype) < 0)
        return where;
    where = search_run(&s, text);
    search_free(&s);
    return where;
}

/* The text, the expression (a window of a long one), and a caret under `where`. */
static void show_error(const char *expr, const char *where, const char *text, char *err, size_t errlen)
{
    char line[SHOWN + 1];
    size_t len = strlen(expr), at, from = 0, n;

    if (where == NULL || errlen < strlen(text) + 2 * SHOWN + 16) {
        snprintf(err, errlen, "%s", text);
        return;
    }
    at = (size_t)(where - expr);
    if (at > SHOWN * 2 / 3)
        from = at - SHOWN * 2 / 3;
    n = len - from < SHOWN ? len - from : SHOWN;
    for (size_t i = 0; i < n; i++) /* one column a byte, whatever it is */
        line[i] = expr[from + i] == '\0' || !isprint((unsigned char)expr[from + i])
                      ? (isspace((unsigned char)expr[from + i]) ? ' ' : '?')
                      : expr[from + i];
    line[n] = '\0';
    snprintf(err, errlen, "%s\n  %s%s%s\n  %s%*s^", text, from > 0 ? "..." : "", line, from + n < len ? "..." : "",
             from > 0 ? "   " : "", (int)(at - from), "");
}

/* `inbound`, `outbound` and `ifindex` are read from beside the packet where the link type doesn't carry them: a live
 * socket has that, a file has not, and one expression must not mean two things. */
static const char *find_metadata(const char *expr, const struct sock_filter *insns, unsigned count, const char **word)
{
    static const char *const words[] = {"inbound", "outbound", "ifindex"};
    const char *where;

    for (unsigned i = 0; i < count; i++)
        if (BPF_CLASS(insns[i].code) == BPF_LD && BPF_MODE(insns[i].code) == BPF_ABS &&
            insns[i].k >= (uint32_t)SKF_AD_OFF)
            for (unsigned w = 0; w < 3; w++)
                if (rtap_filter_says(expr, words[w], &where)) {
                    *word = words[w];
                    return where;
                }
    return NULL;
}

/* libpcap's optimizer takes a store for useless now and then though the value is loaded later (1.10.3, with arithmetic
 * on constants around; filter_spec.lua has one): the program then computes with whatever is there. */
static bool is_miscompiled(const struct sock_filter *insns, unsigned count)
{
    struct rtap_bpf_bounds *bounds = rtap_bpf_find_bounds(insns, count);
    uint32_t slots = 0;

    if (bounds != NULL)
        rtap_bpf_find_unwritten(insns, count, bounds, &slots);
    free(bounds);
    return slots != 0;
}

int rtap_filter_compile(const char *expr, uint16_t linktype, bool optimize, struct sock_filter **insns, unsigned *count,
                        char *err, size_t errlen)
{
    struct bpf_program program = {0};
    char text[PCAP_ERRBUF_SIZE] = "";
    const char *where, *word;
    int r = compile(expr, linktype, optimize, &program, text);

    *insns = NULL;
    if (r == -EINVAL) {
        show_error(expr, find_error(expr, linktype, text), text, err, errlen);
        return r;
    }
    if (r < 0)
        return r;
    *count = program.bf_len;
    *insns = malloc(program.bf_len * sizeof(**insns));
    if (*insns != NULL)
        memcpy(*insns, program.bf_insns, program.bf_len * sizeof(**insns));
    pcap_freecode(&program);
    if (*insns == NULL)
        return -ENOMEM;

    where = find_metadata(expr, *insns, *count, &word);
    if (where != NULL) {
        snprintf(text, sizeof(text), "'%s' is not in the bytes of a packet of link type %s (see the direction option)",
                 word, pcap_datalink_val_to_name(dlt_of(linktype)));
        show_error(expr, where, text, err, errlen);
    } else if (!rtap_bpf_check(*insns, *count)) {
        snprintf(err, errlen, "libpcap made a program that can't be run");
    } else if (optimize && is_miscompiled(*insns, *count)) {
        free(*insns);
        return rtap_filter_compile(expr, linktype, false, insns, count, err, errlen);
    } else {
        return 0;
    }
    free(*insns);
    *insns = NULL;
    return -EINVAL;
}
