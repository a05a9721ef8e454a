/* Keeping time. See pace.h. */
#include "pace.h"

#include <errno.h>
#include <poll.h>
#include <sys/prctl.h>
#include <time.h>

#define LEAST_SPIN 20000
#define MOST_SPIN 300000

int64_t rtap_pace_now(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * 1000000000ll + ts.tv_nsec;
}

/* ------------------------------------------------------------------ histogram */

static unsigned bucket_of(uint64_t v)
{
    unsigned power = v < 16 ? 4 : 63 - (unsigned)__builtin_clzll(v);

    return v < 16 ? (unsigned)v : (power - 3) * 16 + (unsigned)(v >> (power - 4) & 15);
}

uint64_t rtap_histogram_value(unsigned bucket)
{
    return bucket < 16 ? bucket : (16ull + bucket % 16) << (bucket / 16 - 1);
}

void rtap_histogram_add(struct rtap_histogram *h, int64_t ns)
{
    uint64_t v = ns > 0 ? (uint64_t)ns : 0;

    h->count++;
    h->buckets[bucket_of(v)]++;
    if (v > h->worst)
        h->worst = v;
}

uint64_t rtap_histogram_at(const struct rtap_histogram *h, double part)
{
    uint64_t wanted = (uint64_t)(part * (double)h->count), seen = 0;

    for (unsigned i = 0; i < RTAP_HISTOGRAM_BUCKETS; i++) {
        seen += h->buckets[i];
        if (seen > wanted) /* the middle of the bucket; never more than the worst */
            return (rtap_histogram_value(i) + rtap_histogram_value(i + 1)) / 2 < h->worst
                       ? (rtap_histogram_value(i) + rtap_histogram_value(i + 1)) / 2
                       : h->worst;
    }
    return h->worst;
}

/* ------------------------------------------------------------------ waiting */

void rtap_pace_begin(struct rtap_pacer *p)
{
    int slack = prctl(PR_GET_TIMERSLACK);

    p->spin = 60000;
    p->slack = slack > 1 ? (uint64_t)slack : 0;
    if (p->slack)
        prctl(PR_SET_TIMERSLACK, 1ul);
}

void rtap_pace_end(struct rtap_pacer *p)
{
    if (p->slack)
        prctl(PR_SET_TIMERSLACK, p->slack);
    p->slack = 0;
}

int rtap_pace_until(struct rtap_pacer *p, int64_t t, int wake_fd)
{
    int64_t now = rtap_pace_now();

    if (t - now > p->spin) {
        struct pollfd fd = {.fd = wake_fd, .events = POLLIN};
        int64_t sleep = t - now - p->spin, over;
        struct timespec ts = {(time_t)(sleep / 1000000000), (long)(sleep % 1000000000)};

        if (ppoll(&fd, 1, &ts, NULL) < 0 && errno == EINTR)
            return -EINTR;
        if (fd.revents)
            return -EINTR;
        over = rtap_pace_now() - now - sleep;
        /* wake up earlier where sleeping takes longer than asked for; slowly forget that it did */
        p->spin += over * 2 > p->spin ? over * 2 - p->spin : -(p->spin - LEAST_SPIN) / 64;
        if (p->spin > MOST_SPIN)
            p->spin = MOST_SPIN;
    }
    while (rtap_pace_now() < t)
        ;
    return 0;
}
