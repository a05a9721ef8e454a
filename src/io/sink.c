/* The part that all sinks share. */
#include "sink.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *const rtap_cause_names[RTAP_CAUSES] = {
    "none",      "full",     "no_buffer", "link_down",   "no_carrier",
    "too_short", "too_long", "invalid",   "device_gone", "abandoned",
};

int rtap_sink_send(struct rtap_sink *k, const struct rtap_pkt *pkt)
{
    uint8_t *data;
    int r;

    if (k->ops->send != NULL)
        return k->ops->send(k, pkt);
    r = k->ops->reserve(k, pkt->caplen, &data);
    if (r < 0)
        return r;
    memcpy(data, pkt->data, pkt->caplen);
    return k->ops->commit(k, pkt);
}

int rtap_sink_pass(struct rtap_sink *k, const struct rtap_pkt *pkt)
{
    return k->ops->pass ? k->ops->pass(k, pkt) : rtap_sink_send(k, pkt);
}

int rtap_sink_refuse(struct rtap_sink *k, struct rtap_sink_stats *st, enum rtap_cause cause, int err, uint64_t frames)
{
    st->refused[cause] += frames;
    k->refusals += frames;
    return err;
}

int rtap_sink_blocked(struct rtap_sink *k, struct rtap_sink_stats *st, enum rtap_cause why)
{
    static const char *const text[] = {
        [RTAP_FULL] = "the queue to the kernel is full",
        [RTAP_NO_BUFFER] = "No buffer space available (its queueing discipline, the device, or who receives from it, "
                           "is full)",
        [RTAP_LINK_DOWN] = "Network is down",
        [RTAP_NO_CARRIER] = "no carrier (its other end is down or not connected)",
    };

    k->blocked = why;
    st->waits[why]++;
    return rtap_sink_fail(k, -EAGAIN, "%s: %s", k->name, text[why]);
}

int rtap_sink_check(struct rtap_sink *k, struct rtap_sink_stats *st, const struct rtap_pkt *pkt)
{
    if (!rtap_sink_takes(k, pkt->linktype))
        rtap_sink_fail(k, -EINVAL, "%s: a packet of link type %u can't be sent on it, only of %u", k->name,
                       pkt->linktype, k->linktype);
    else if (pkt->caplen < pkt->len)
        rtap_sink_fail(k, -EINVAL, "%s: %u of the packet's %u bytes were captured: it can't be sent as it was", k->name,
                       pkt->caplen, pkt->len);
    else
        return 0;
    return rtap_sink_refuse(k, st, RTAP_INVALID, -EINVAL, 1);
}

int rtap_sink_errno(const struct rtap_sink *k, int err)
{
    if (err != -EAGAIN || !k->live)
        return err;
    switch (k->blocked) {
    case RTAP_NO_BUFFER: return -ENOBUFS;
    case RTAP_LINK_DOWN: return -ENETDOWN;
    case RTAP_NO_CARRIER: return -ENOLINK;
    default: return err;
    }
}

int rtap_sink_fail(struct rtap_sink *k, int err, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(k->error, sizeof(k->error), fmt, ap);
    va_end(ap);
    return err;
}
