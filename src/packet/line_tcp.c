/* The line printer's TCP. */
#include "line_parts.h"

#define OPTION_NUMBERS 8

struct options {
    struct rtap_line_job *job;
    unsigned count, depth;
    bool open;            /* an option was begun */
    bool complete;        /* the list has its end */
    uint32_t kind, start; /* of the option; where what is behind its kind and
                             length begins, in bits */
    uint32_t end;         /* where it ends by its length */
    unsigned numbers;
    uint32_t number[OPTION_NUMBERS];
};

/* By name, and what it has as it is. */
static void put_unknown(struct options *s, uint32_t bit)
{
    static const struct {
        uint8_t kind;
        const char *name;
    } names[] = {{19, "md5"}, {29, "tcp-ao"}, {30, "mptcp"}, {34, "tfo"}};
    struct rtap_line_job *job = s->job;
    const char *name = NULL;

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !name; i++)
        if (names[i].kind == s->kind)
            name = names[i].name;
    if (name)
        rtap_out_text(&job->out, name);
    else
        rtap_line_number(job, "unknown-", s->kind);
    if (s->start >= bit || bit / 8 > job->pkt->caplen)
        return;
    LIT(job, " 0x");
    for (uint32_t i = s->start / 8; i < bit / 8; i++)
        rtap_out_hex(&job->out, job->pkt->data[i], 2);
}

static void put_sack(struct options *s)
{
    rtap_line_number(s->job, "sack ", s->numbers / 2);
    LIT(s->job, " ");
    for (unsigned i = 0; i + 1 < s->numbers; i += 2) {
        rtap_line_number(s->job, "{", s->number[i]);
        rtap_line_number(s->job, ":", s->number[i + 1]);
        LIT(s->job, "}");
    }
}

static void put_option(struct options *s, uint32_t bit)
{
    struct rtap_line_job *job = s->job;

    if (s->count++ > 0)
        LIT(job, ",");
    if (s->kind == 0) {
        LIT(job, "eol");
    } else if (s->kind == 1) {
        LIT(job, "nop");
    } else if (s->kind == 2 && s->numbers == 1) {
        rtap_line_number(job, "mss ", s->number[0]);
    } else if (s->kind == 3 && s->numbers == 1) {
        rtap_line_number(job, "wscale ", s->number[0]);
    } else if (s->kind == 4 && s->start == bit) {
        LIT(job, "sackOK");
    } else if (s->kind == 5 && (s->numbers >= 2 || s->start == bit)) {
        put_sack(s);
    } else if (s->kind == 8 && s->numbers == 2) {
        rtap_line_number(job, "TS val ", s->number[0]);
        rtap_line_number(job, " ecr ", s->number[1]);
    } else {
        put_unknown(s, bit);
    }
}

static bool is_number(const struct rtap_line_fields *f, uint16_t name)
{
    for (unsigned i = LN_TCP_MSS; i <= LN_TCP_TSECR; i++)
        if (f->name[i] == name)
            return true;
    return false;
}

static int visit(void *context, const struct rtap_item *it)
{
    struct options *s = context;
    const struct rtap_line_fields *f = s->job->fields;

    if (it->kind == RTAP_ITEM_LOOP) {
        s->depth++;
    } else if (it->kind == RTAP_ITEM_ROUND || it->kind == RTAP_ITEM_LOOP_END) {
        if (s->depth == 1 && s->open) {
            put_option(s, it->bit);
            s->open = false;
            s->complete = s->kind == 0 || it->kind == RTAP_ITEM_LOOP_END;
        }
        s->depth -= it->kind == RTAP_ITEM_LOOP_END;
        return s->complete;
    } else if (it->decl && it->decl->name && it->kind == RTAP_ITEM_FIELD) {
        if (it->decl->name == f->name[LN_TCP_KIND]) {
            s->open = true;
            s->kind = (uint32_t)rtap_item_number(&s->job->ls, it);
            s->start = s->end = it->bit + it->bits;
            s->numbers = 0;
        } else if (it->decl->name == f->name[LN_TCP_OPT_LEN]) {
            s->end = s->start - 8 + (uint32_t)rtap_item_number(&s->job->ls, it) * 8;
            s->start = it->bit + it->bits;
        } else if (s->numbers < OPTION_NUMBERS && is_number(f, it->decl->name)) {
            s->number[s->numbers++] = (uint32_t)rtap_item_number(&s->job->ls, it);
        }
    }
    return 0;
}

static void put_options(struct rtap_line_job *job, struct rtap_layer *l)
{
    struct options s = {.job = job};
    struct rtap_eval ev;
    uint8_t was = l->flags;

    LIT(job, ", options [");
    rtap_eval_init(&ev, &job->ls, l, rtap_layer_below(&job->ls, l));
    ev.partial = true;
    l->flags &= (uint8_t)~RTAP_LAYER_MALFORMED;
    rtap_walk(&job->ls, l, visit, &s, &ev);
    if (s.open && (l->off * 8 + ev.pos) == s.end && s.end <= job->pkt->caplen * 8 && s.end >= s.start) {
        put_option(&s, s.end); /* the last one before the cut */
        s.complete = s.kind == 0;
    }
    if (!s.complete) {
        if (s.count > 0)
            LIT(job, ",");
        if (l->flags & RTAP_LAYER_MALFORMED)
            LIT(job, "[bad opt]");
        else
            LIT(job, "[|tcp]");
    }
    l->flags |= was;
    LIT(job, "]");
}

static void put_flags(struct rtap_line_job *job, const struct rtap_layer *l)
{
    bool any = false;

    LIT(job, "Flags [");
    for (unsigned i = 0; i < 8; i++)
        if (rtap_line_value(job, l, LF_TCP_FIN - i)) {
            rtap_out_mem(&job->out, &"FSRP.UEW"[i], 1);
            any = true;
        }
    if (!any)
        LIT(job, "none");
    LIT(job, "]");
}

static void put_sum(struct rtap_line_job *job, struct rtap_layer *l)
{
    uint32_t is, wanted;
    int ok = rtap_line_sum(job, l, &is, &wanted);

    if (ok < 0)
        return;
    LIT(job, ", cksum 0x");
    rtap_out_hex(&job->out, is, 4);
    if (ok) {
        LIT(job, " (correct)");
        return;
    }
    LIT(job, " (incorrect -> 0x");
    rtap_out_hex(&job->out, wanted, 4);
    LIT(job, ")");
}

/* Numbers, options and length; `length` bytes are behind the header. */
static void put_rest(struct rtap_line_job *job, struct rtap_layer *l, uint32_t hlen, uint32_t length)
{
    uint32_t seq = rtap_line_value(job, l, LF_TCP_SEQ);

    if (length > 0 || rtap_line_value(job, l, LF_TCP_FIN) || rtap_line_value(job, l, LF_TCP_SYN) ||
        rtap_line_value(job, l, LF_TCP_RESET) || job->style->verbose > 1) {
        rtap_line_number(job, ", seq ", seq);
        if (length > 0)
            rtap_line_number(job, ":", seq + length);
    }
    if (rtap_line_value(job, l, LF_TCP_ACKED))
        rtap_line_number(job, ", ack ", rtap_line_value(job, l, LF_TCP_ACK));
    rtap_line_number(job, ", win ", rtap_line_value(job, l, LF_TCP_WINDOW));
    if (rtap_line_value(job, l, LF_TCP_URG))
        rtap_line_number(job, ", urg ", rtap_line_value(job, l, LF_TCP_URGENT));
    if (hlen > 20)
        put_options(job, l);
    rtap_line_number(job, ", length ", length);
    if (length > 0)
        rtap_line_above(job, rtap_line_index(job, l) + 1, ": ");
}

void rtap_line_tcp(struct rtap_line_job *job, struct rtap_line_span s)
{
    uint32_t v, hlen;
    bool ports = rtap_line_get(job, s.l, LF_TCP_DPORT, &v);

    rtap_line_names(job, s.l, ports ? LF_TCP_SPORT : LF_COUNT, LF_TCP_DPORT);
    if (!rtap_line_get(job, s.l, LF_TCP_URGENT, &v)) {
        rtap_out_text(&job->out, ports ? " [|tcp]" : "[|tcp]");
        return;
    }
    hlen = rtap_line_value(job, s.l, LF_TCP_HLEN);
    if (hlen < 20) {
        rtap_line_number(job, "tcp ", s.size - hlen);
        rtap_line_number(job, " [bad hdr length ", hlen);
        LIT(job, " - too short, < 20]");
        return;
    }
    if (job->style->quiet) {
        rtap_line_number(job, "tcp ", hlen > s.size ? 0 : s.size - hlen);
        return;
    }
    put_flags(job, s.l);
    if (hlen > s.size) {
        rtap_line_number(job, " [bad hdr length ", hlen);
        rtap_line_number(job, " - too long, > ", s.size);
        LIT(job, "]");
        return;
    }
    if (job->style->verbose > 0)
        put_sum(job, s.l);
    put_rest(job, s.l, hlen, s.size - hlen);
}
