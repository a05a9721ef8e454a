/* The send loop. See blast.h. */
#include "blast.h"

#include <errno.h>
#include <string.h>

#define SLICE 10000000   /* ns of the longest wait */
#define BURST_TIME 20000 /* ns of frames that may be sent together: below 50,000 a second each goes alone */
#define MOST RTAP_BLAST_MOST

static bool is_paced(const struct rtap_blast *b)
{
    return b->packet_interval > 0 || b->bit_interval > 0;
}

void rtap_blast_begin(struct rtap_blast *b)
{
    rtap_pace_begin(&b->pacer);
    b->started = rtap_pace_now();
}

void rtap_blast_end(struct rtap_blast *b)
{
    if (b->ended)
        return;
    rtap_pace_end(&b->pacer);
    b->ended = rtap_pace_now();
    if (b->sink) {
        struct rtap_sink_stats st = {0};

        b->sink->ops->stats(b->sink, &st);
        if (st.queued)
            b->sink->ops->drop(b->sink, b->sink->blocked ? b->sink->blocked : RTAP_ABANDONED, 0);
    }
}

static int over(struct rtap_blast *b, enum rtap_blast_end why)
{
    b->end = why;
    rtap_blast_end(b);
    return 0;
}

static int failed(struct rtap_blast *b, int err)
{
    b->error = err;
    return over(b, RTAP_BLAST_FAILED);
}

static double interval(const struct rtap_blast *b, uint32_t len)
{
    return b->packet_interval > 0 ? b->packet_interval : b->bit_interval * len * 8;
}

/* How many frames are made now: as many as are due, or go together at this rate. */
static unsigned batch(const struct rtap_blast *b, double now)
{
    uint32_t len = b->templates[b->next]->pkt.caplen;
    uint64_t left = b->count - b->made;
    double each = interval(b, len), end = (double)b->duration, n;

    if (!is_paced(b)) {
        n = b->burst ? b->burst : MOST;
    } else {
        n = b->burst ? b->burst : BURST_TIME / each;
        if (now > b->due && (now - b->due) / each + 1 > n) /* late: catch up */
            n = (now - b->due) / each + 1;
        if (n > (end - b->due) / each) /* none that is due when all is over */
            n = (end - b->due) / each;
    }
    n = n < 1 ? 1 : n > (double)MOST ? (double)MOST : n;
    return (uint64_t)n < left ? (unsigned)n : (unsigned)left;
}

/* One frame is made and queued: 0, -EAGAIN, or hard. One that is refused is made, too. */
static int make(struct rtap_blast *b)
{
    const struct rtap_template *t = b->templates[b->next];
    struct rtap_sink *k = b->sink;
    uint8_t *data;
    int r = k->ops->reserve(k, t->pkt.caplen, &data);

    if (r == 0) {
        memcpy(data, t->pkt.data, t->pkt.caplen);
        for (unsigned i = 0; i < b->vary_count; i++)
            rtap_vary_apply(&b->varies[i], &t->layout, b->next, data);
        r = k->ops->commit(k, &t->pkt);
    } else if (r != -EMSGSIZE && r != -EINVAL) {
        return r;
    }
    b->made++;
    b->next = b->next + 1 < b->template_count ? b->next + 1 : 0;
    if (is_paced(b)) {
        if (r == 0 && b->waiting < MOST)
            b->dues[b->waiting++] = b->due;
        b->due += interval(b, t->pkt.caplen);
    }
    return r == -EMSGSIZE || r == -EINVAL ? 0 : r;
}

static void note_lateness(struct rtap_blast *b)
{
    double now;

    if (b->waiting == 0)
        return;
    now = (double)(rtap_pace_now() - b->started);
    for (unsigned i = 0; i < b->waiting; i++)
        rtap_histogram_add(&b->late, (int64_t)(now - b->dues[i]));
    b->waiting = 0;
}

/* Nothing can be sent now. */
static int stuck(struct rtap_blast *b)
{
    int64_t now = rtap_pace_now(), until;

    if (!b->stuck_since)
        b->stuck_since = now;
    until = b->patience > INT64_MAX - b->stuck_since ? INT64_MAX : b->stuck_since + b->patience;
    if (now >= until) {
        b->error = rtap_sink_errno(b->sink, -EAGAIN);
        return over(b, RTAP_BLAST_STUCK);
    }
    return b->sink->ops->wait(b->sink, until - now < SLICE ? until - now : SLICE);
}

/* What is queued goes to the kernel: 1 all, 0 over, -EINTR; 2 not all. */
static int pass_on(struct rtap_blast *b)
{
    struct rtap_sink *k = b->sink;
    struct rtap_sink_stats before = {0}, after = {0};
    int r;

    note_lateness(b);
    if (b->stuck_since)
        k->ops->stats(k, &before);
    r = k->ops->kick(k);
    if (r == 0) {
        b->stuck_since = 0;
        return 1;
    }
    if (r != -EAGAIN)
        return failed(b, r);
    if (b->stuck_since) {
        k->ops->stats(k, &after);
        if (after.queued < before.queued) /* slow, but it goes on */
            b->stuck_since = 0;
    }
    r = stuck(b);
    return r == 1 ? 2 : r;
}

int rtap_blast_step(struct rtap_blast *b)
{
    int64_t now;
    unsigned n;
    int r;

    if (b->end)
        return 0;
    now = rtap_pace_now() - b->started;
    if (now >= b->duration)
        return over(b, RTAP_BLAST_DURATION);
    if (b->stuck_since) {
        r = pass_on(b);
        return r == 2 ? 1 : r;
    }
    if (b->made >= b->count)
        return (r = pass_on(b)) == 1 ? over(b, RTAP_BLAST_COUNT) : r == 2 ? 1 : r;
    if (is_paced(b) && b->due > (double)now) {
        bool last = b->due >= (double)b->duration;
        double to = last ? (double)b->duration : b->due;
        bool all = to - (double)now <= SLICE;

        r = rtap_pace_until(&b->pacer, b->started + (all ? (int64_t)to : now + SLICE), b->sink->wake_fd);
        if (r < 0 || !all || last)
            return r < 0 ? r : 1;
        now = rtap_pace_now() - b->started;
    }
    n = batch(b, (double)now);
    if (b->asks)
        b->ask(b->context, b, b->made, n);
    for (unsigned i = 0; i < n; i++) {
        r = make(b);
        if (r == -EAGAIN)
            break;
        if (r < 0)
            return failed(b, r);
    }
    r = pass_on(b);
    return r == 2 ? 1 : r;
}
