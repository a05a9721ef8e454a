/* The part that all sources share: counting references and pins, waiting, errors. See source.h for the rules. */
#include "source.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int rtap_source_init(struct rtap_source *s, const struct rtap_source_ops *ops, const char *name)
{
    s->ops = ops;
    s->refs = 1;
    s->wake_fd = -1;
    s->first = s->previous = s->latest = RTAP_NO_TIME;
    s->name = strdup(name);
    return s->name ? 0 : -ENOMEM;
}

void rtap_source_fini(struct rtap_source *s)
{
    rtap_filter_unref(s->filter);
    free(s->name);
}

void rtap_source_unref(struct rtap_source *s)
{
    if (--s->refs == 0)
        s->ops->destroy(s);
}

void rtap_source_close(struct rtap_source *s)
{
    struct rtap_block *b = s->block;

    if (s->closed)
        return;
    s->closed = true;
    if (s->ops->close)
        s->ops->close(s);
    s->block = NULL;
    if (b)
        rtap_block_unpin(b);
    rtap_source_unref(s);
}

int rtap_source_poll(struct rtap_source *s, int fd, int64_t timeout, short *revents)
{
    struct pollfd p[2] = {{.fd = fd, .events = POLLIN}, {.fd = s->wake_fd, .events = POLLIN}};
    struct timespec ts = {(time_t)(timeout / 1000000000), (long)(timeout % 1000000000)};
    int r = ppoll(p, 2, timeout < 0 ? NULL : &ts, NULL);

    if (r < 0)
        return errno == EINTR ? -EINTR : rtap_source_fail(s, -errno, "%s: poll: %s", s->name, strerror(errno));
    if (p[1].revents)
        return -EINTR;
    if (revents)
        *revents = p[0].revents;
    return p[0].revents != 0;
}

int rtap_source_wait(struct rtap_source *s, int64_t timeout)
{
    int fd;

    if (s->ops->wait)
        return s->ops->wait(s, timeout);
    fd = s->ops->fd ? s->ops->fd(s) : -1;
    return fd < 0 ? 1 : rtap_source_poll(s, fd, timeout, NULL);
}

int rtap_source_filter(struct rtap_source *s, struct rtap_filter *f)
{
    struct rtap_filter *old = s->filter;

    if (s->ops->filter)
        return s->ops->filter(s, f);
    s->filter = f ? rtap_filter_ref(f) : NULL;
    rtap_filter_unref(old);
    return 0;
}

void rtap_source_stats(struct rtap_source *s, struct rtap_source_stats *st)
{
    memset(st, 0, sizeof(*st));
    st->delivered = s->delivered;
    st->filtered = s->filtered;
    st->fanout_id = -1;
    if (s->ops->stats)
        s->ops->stats(s, st);
}

int rtap_source_fail(struct rtap_source *s, int err, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(s->error, sizeof(s->error), fmt, ap);
    va_end(ap);
    return err;
}
