/* Keeping time: waiting for a moment with an error of microseconds, and how late things were. */
#ifndef RTAP_IO_PACE_H
#define RTAP_IO_PACE_H

#include <stdbool.h>
#include <stdint.h>

#define RTAP_HISTOGRAM_BUCKETS 976 /* 16 for each power of two from 2^4 on, and 0 ... 15: within 1/16 */

struct rtap_histogram { /* of nanoseconds */
    uint64_t count, worst;
    uint64_t buckets[RTAP_HISTOGRAM_BUCKETS];
};

void rtap_histogram_add(struct rtap_histogram *h, int64_t ns); /* below 0 counts as 0 */
/* The value that so many of them (0 ... 1) do not exceed. */
uint64_t rtap_histogram_at(const struct rtap_histogram *h, double part);
/* First value of a bucket. */
uint64_t rtap_histogram_value(unsigned bucket);

struct rtap_pacer {
    int64_t spin;   /* ns that are waited for without sleeping */
    uint64_t slack; /* the thread's timer slack before; 0: not changed */
};

int64_t rtap_pace_now(void); /* CLOCK_MONOTONIC, ns */
/* The thread sleeps exactly from here on, until _end. */
void rtap_pace_begin(struct rtap_pacer *p);
void rtap_pace_end(struct rtap_pacer *p);
/* Wait until `t`, or until wake_fd (-1: none) gets readable: 0, or -EINTR also when a signal came. */
int rtap_pace_until(struct rtap_pacer *p, int64_t t, int wake_fd);

#endif
