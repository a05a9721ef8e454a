/*
 * Queueing in a PACKET_TX_RING of TPACKET_V2 (Documentation/networking/packet_mmap.rst): method "ring".
 *
 * The kernel goes from slot to slot in order and stops at the first that is not TP_STATUS_SEND_REQUEST; so what is
 * queued has no gap. One that it will not have is TP_STATUS_WRONG_FORMAT, and it goes on only when that very slot is
 * SEND_REQUEST again: the frames behind move up.
 */
#include "sender_queue.h"

#include <errno.h>
#include <linux/if_packet.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define DATA_OFFSET (TPACKET2_HDRLEN - sizeof(struct sockaddr_ll)) /* where the kernel looks for the frame */

static struct tpacket2_hdr *slot_of(const struct rtap_sender *t, uint64_t slot)
{
    return (struct tpacket2_hdr *)(t->memory + rtap_slot_index(t, slot) * t->stride);
}

static uint8_t *data_of(const struct rtap_sender *t, uint64_t slot)
{
    return (uint8_t *)slot_of(t, slot) + DATA_OFFSET;
}

/* Acquire: the kernel is done with the slot's bytes when it says so. */
static uint32_t status_of(const struct rtap_sender *t, uint64_t slot)
{
    return __atomic_load_n(&slot_of(t, slot)->tp_status, __ATOMIC_ACQUIRE);
}

/* Release: the frame is whole before the kernel sees that it is asked to send it. */
static void set_status(const struct rtap_sender *t, uint64_t slot, uint32_t status)
{
    __atomic_store_n(&slot_of(t, slot)->tp_status, status, __ATOMIC_RELEASE);
}

/* A frame never crosses the end of a block, so frames and blocks are powers of two. */
static int ring_open(struct rtap_sender *t)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    struct tpacket_req req = {0};
    size_t frame = 256, block = page;
    int version = TPACKET_V2;

    while (frame < t->size + DATA_OFFSET)
        frame *= 2;
    while (block < frame)
        block *= 2;
    while (block < 65536 && block < frame * t->count)
        block *= 2;
    if ((uint64_t)t->count * frame > 1ull << 32)
        return rtap_sink_fail(&t->sink, -EINVAL, "%s: a ring of %u frames of %zu bytes is larger than 4 GiB",
                              t->sink.name, t->count, frame);
    t->stride = frame;
    t->size = (uint32_t)(frame - DATA_OFFSET);
    t->count = (uint32_t)((t->count * frame + block - 1) / block * (block / frame));
    req.tp_block_size = (unsigned)block;
    req.tp_frame_size = (unsigned)frame;
    req.tp_frame_nr = t->count;
    req.tp_block_nr = (unsigned)(t->count / (block / frame));
    if (setsockopt(t->fd, SOL_PACKET, PACKET_VERSION, &version, sizeof(version)) < 0 ||
        setsockopt(t->fd, SOL_PACKET, PACKET_TX_RING, &req, sizeof(req)) < 0)
        return rtap_sink_fail(&t->sink, -errno, "%s: PACKET_TX_RING of %u frames of %zu bytes: %s", t->sink.name,
                              t->count, frame, strerror(errno));
    t->memory_size = block * req.tp_block_nr;
    t->memory = mmap(NULL, t->memory_size, PROT_READ | PROT_WRITE, MAP_SHARED, t->fd, 0);
    if (t->memory == MAP_FAILED) {
        t->memory = NULL;
        return rtap_sink_fail(&t->sink, -errno, "%s: mapping a ring of %zu bytes: %s", t->sink.name, t->memory_size,
                              strerror(errno));
    }
    return 0;
}

static uint8_t *ring_room(struct rtap_sender *t)
{
    return t->head - t->tail < t->count && status_of(t, t->head) == TP_STATUS_AVAILABLE ? data_of(t, t->head) : NULL;
}

static void ring_push(struct rtap_sender *t, uint32_t len)
{
    slot_of(t, t->head)->tp_len = len;
    set_status(t, t->head, TP_STATUS_SEND_REQUEST);
    t->head++;
    t->frames++;
}

/* What the kernel has taken since. */
static int collect(struct rtap_sender *t)
{
    int n = 0;

    while (t->tail < t->head) {
        uint32_t status = status_of(t, t->tail);

        if (status & (TP_STATUS_SEND_REQUEST | TP_STATUS_WRONG_FORMAT))
            break;
        t->st.bytes += slot_of(t, t->tail)->tp_len;
        t->st.sent++;
        t->frames--;
        rtap_slots_free(t, 1);
        n++;
    }
    return n;
}

static int ring_push_out(struct rtap_sender *t)
{
    ssize_t sent = send(t->fd, NULL, 0, MSG_DONTWAIT);
    int err = sent < 0 ? errno : 0, n = collect(t);

    if (n > 0 || t->tail == t->head)
        return n;
    /* without an error: an earlier call had told it already */
    return err ? -err : status_of(t, t->tail) & TP_STATUS_WRONG_FORMAT ? -EMSGSIZE : -EAGAIN;
}

static void ring_skip(struct rtap_sender *t)
{
    for (uint64_t i = t->tail; i + 1 < t->head; i++) {
        slot_of(t, i)->tp_len = slot_of(t, i + 1)->tp_len;
        memcpy(data_of(t, i), data_of(t, i + 1), slot_of(t, i)->tp_len);
        set_status(t, i, TP_STATUS_SEND_REQUEST);
    }
    t->head--;
    t->frames--;
    set_status(t, t->head, TP_STATUS_AVAILABLE);
}

static void ring_clear(struct rtap_sender *t)
{
    while (t->head > t->tail)
        set_status(t, --t->head, TP_STATUS_AVAILABLE);
    t->frames = 0;
}

static const uint8_t *ring_at(struct rtap_sender *t, uint64_t slot, uint32_t *len, uint32_t *segments)
{
    *len = slot_of(t, slot)->tp_len;
    *segments = 1;
    return data_of(t, slot);
}

static uint64_t ring_pending(struct rtap_sender *t)
{
    uint64_t n = 0;

    for (uint64_t slot = t->tail; slot < t->tail + t->count; slot++)
        n += status_of(t, slot) != TP_STATUS_AVAILABLE;
    return n;
}

static void ring_close(struct rtap_sender *t)
{
    if (t->memory)
        munmap(t->memory, t->memory_size);
}

const struct rtap_queue_ops rtap_queue_ring = {
    .method = "ring",
    .open = ring_open,
    .room = ring_room,
    .push = ring_push,
    .push_out = ring_push_out,
    .skip = ring_skip,
    .clear = ring_clear,
    .at = ring_at,
    .pending = ring_pending,
    .close = ring_close,
};
