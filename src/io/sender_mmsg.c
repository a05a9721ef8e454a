/*
 * Queueing in memory of our own, passed on by sendmmsg(2): methods "mmsg" and "gso".
 *
 * "gso": a struct virtio_net_hdr stands in front of each frame (PACKET_VNET_HDR). A slot is a super-frame. The one
 * before head is open as long as it takes frames; push_out closes it.
 */
#include "sender_queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define FRAME_OFFSET 16u /* in a slot; the header is right before it */
#define SUPER_SIZE (65535u + 22)
#define MISSES 16
_Static_assert(sizeof(struct virtio_net_hdr) <= FRAME_OFFSET, "it stands in front of the frame");

static uint8_t *frame_of(const struct rtap_sender *t, uint64_t slot)
{
    return t->memory + rtap_slot_index(t, slot) * t->stride + FRAME_OFFSET;
}

static struct virtio_net_hdr *vnet_of(const struct rtap_sender *t, uint64_t slot)
{
    return (struct virtio_net_hdr *)(frame_of(t, slot) - sizeof(struct virtio_net_hdr));
}

static int mmsg_open(struct rtap_sender *t)
{
    bool gso = t->queue == &rtap_queue_gso;
    uint32_t front = gso ? sizeof(struct virtio_net_hdr) : 0;

    t->stride = (FRAME_OFFSET + (gso && t->size < SUPER_SIZE ? SUPER_SIZE : t->size) + 63) & ~(size_t)63;
    t->memory_size = t->stride * t->count;
    t->memory = mmap(NULL, t->memory_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (t->memory == MAP_FAILED)
        t->memory = NULL;
    t->messages = calloc(t->count, sizeof(*t->messages));
    t->iovecs = calloc(t->count, sizeof(*t->iovecs));
    t->lengths = calloc(t->count, sizeof(*t->lengths));
    t->gso = gso ? calloc(t->count, sizeof(*t->gso)) : NULL;
    t->scratch = gso ? malloc(t->size) : NULL;
    if (!t->memory || !t->messages || !t->iovecs || !t->lengths || (gso && (!t->gso || !t->scratch)))
        return rtap_sink_fail(&t->sink, -ENOMEM, "%s: no memory for %u frames of %u bytes: try a smaller frame_count",
                              t->sink.name, t->count, t->size);
    for (uint32_t i = 0; i < t->count; i++) {
        t->iovecs[i].iov_base = frame_of(t, i) - front;
        t->messages[i].msg_hdr.msg_iov = &t->iovecs[i];
        t->messages[i].msg_hdr.msg_iovlen = 1;
    }
    return 0;
}

static uint8_t *mmsg_room(struct rtap_sender *t)
{
    return t->head - t->tail < t->count ? frame_of(t, t->head) : NULL;
}

static void set_length(struct rtap_sender *t, uint64_t slot, uint32_t len)
{
    uint32_t i = rtap_slot_index(t, slot);

    t->lengths[i] = len;
    t->iovecs[i].iov_len = len + (t->gso ? sizeof(struct virtio_net_hdr) : 0);
}

static void mmsg_push(struct rtap_sender *t, uint32_t len)
{
    set_length(t, t->head, len);
    t->head++;
    t->frames++;
}

static int mmsg_push_out(struct rtap_sender *t)
{
    uint32_t at = rtap_slot_index(t, t->tail);
    uint64_t n = t->head - t->tail;
    int r;

    if (n > t->count - at) /* as far as the memory goes on */
        n = t->count - at;
    if (n > RTAP_BATCH)
        n = RTAP_BATCH;
    r = sendmmsg(t->fd, t->messages + at, (unsigned)n, MSG_DONTWAIT);
    if (r < 0)
        return -errno;
    for (int i = 0; i < r; i++)
        t->st.bytes += t->lengths[at + (unsigned)i];
    rtap_slots_free(t, (unsigned)r);
    t->frames -= (unsigned)r;
    t->st.sent += (unsigned)r;
    return r;
}

static void mmsg_skip(struct rtap_sender *t)
{
    rtap_slots_free(t, 1);
    t->frames--;
}

static void mmsg_clear(struct rtap_sender *t)
{
    t->head = t->tail;
    t->frames = 0;
}

static const uint8_t *mmsg_at(struct rtap_sender *t, uint64_t slot, uint32_t *len, uint32_t *segments)
{
    *len = t->lengths[rtap_slot_index(t, slot)];
    *segments = 1;
    return frame_of(t, slot);
}

static void mmsg_close(struct rtap_sender *t)
{
    if (t->memory)
        munmap(t->memory, t->memory_size);
    free(t->messages);
    free(t->iovecs);
    free(t->lengths);
    free(t->gso);
    free(t->scratch);
}

const struct rtap_queue_ops rtap_queue_mmsg = {
    .method = "mmsg",
    .open = mmsg_open,
    .room = mmsg_room,
    .push = mmsg_push,
    .push_out = mmsg_push_out,
    .skip = mmsg_skip,
    .clear = mmsg_clear,
    .at = mmsg_at,
    .close = mmsg_close,
};

/* ------------------------------------------------------------------ super-frames */

static struct rtap_gso *gso_of(const struct rtap_sender *t, uint64_t slot)
{
    return &t->gso[rtap_slot_index(t, slot)];
}

/* Is the slot before head waiting for more? */
static bool is_open(const struct rtap_sender *t)
{
    return t->head > t->tail && !gso_of(t, t->head - 1)->closed;
}

static uint8_t *gso_room(struct rtap_sender *t)
{
    if (t->head - t->tail == t->count)
        return NULL;
    return is_open(t) ? t->scratch : frame_of(t, t->head);
}

/* Frames of many flows never fit: after some in a row a number of others is not even tried. */
static void gso_push(struct rtap_sender *t, uint32_t len)
{
    struct rtap_gso *next = gso_of(t, t->head);

    t->frames++;
    if (is_open(t)) {
        if (rtap_gso_add(gso_of(t, t->head - 1), frame_of(t, t->head - 1), SUPER_SIZE, t->scratch, len,
                         t->sink.linktype, t->exact)) {
            t->misses = 0;
            return;
        }
        memcpy(frame_of(t, t->head), t->scratch, len);
        t->misses += t->misses < MISSES;
        if (t->misses == MISSES)
            t->pass_over = RTAP_PASS_OVER;
    }
    if (t->pass_over > 0 && --t->pass_over == 0)
        t->misses = 0;
    rtap_gso_begin(next, frame_of(t, t->head), len, t->sink.linktype, t->pass_over == 0);
    t->head++;
}

/* The frames of a slot, and their bytes when they are apart. */
static uint64_t gso_bytes(const struct rtap_gso *g)
{
    return g->length + (g->segments - 1) * (uint64_t)g->flow.payload;
}

static int gso_push_out(struct rtap_sender *t)
{
    uint32_t at = rtap_slot_index(t, t->tail);
    uint64_t n = t->head - t->tail, frames = 0;
    int r;

    /* A super-frame goes alone, so that what is lost of it can be told; single frames as many as there are in a row. */
    if (gso_of(t, t->tail)->segments > 1)
        n = 1;
    if (n > t->count - at)
        n = t->count - at;
    if (n > RTAP_BATCH)
        n = RTAP_BATCH;
    for (uint64_t i = 1; i < n; i++)
        if (gso_of(t, t->tail + i)->segments > 1)
            n = i;
    for (uint64_t i = t->tail; i < t->tail + n; i++) {
        struct rtap_gso *g = gso_of(t, i);

        rtap_gso_finish(g, frame_of(t, i), vnet_of(t, i));
        g->closed = true;
        set_length(t, i, g->length);
    }
    r = sendmmsg(t->fd, t->messages + at, (unsigned)n, MSG_DONTWAIT);
    if (r < 0)
        return -errno;
    for (int i = 0; i < r; i++) {
        const struct rtap_gso *g = &t->gso[at + (unsigned)i];

        frames += g->segments;
        t->st.bytes += gso_bytes(g);
        t->st.super_frames += g->segments > 1;
    }
    rtap_slots_free(t, (unsigned)r);
    t->frames -= frames;
    t->st.sent += frames;
    return (int)frames;
}

static void gso_skip(struct rtap_sender *t)
{
    t->frames -= gso_of(t, t->tail)->segments;
    rtap_slots_free(t, 1);
}

static const uint8_t *gso_at(struct rtap_sender *t, uint64_t slot, uint32_t *len, uint32_t *segments)
{
    const struct rtap_gso *g = gso_of(t, slot);

    *len = g->segments > 1 ? g->flow.payload + g->size : g->length;
    *segments = g->segments;
    return frame_of(t, slot);
}

const struct rtap_queue_ops rtap_queue_gso = {
    .method = "gso",
    .open = mmsg_open,
    .room = gso_room,
    .push = gso_push,
    .push_out = gso_push_out,
    .skip = gso_skip,
    .clear = mmsg_clear,
    .at = gso_at,
    .close = mmsg_close,
};
