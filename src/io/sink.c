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
