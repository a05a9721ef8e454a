/*
 * Where a capture file writer's bytes go: one descriptor at a time, its name, and the change from one file to the next.
 * It knows nothing of packets. Used by savefile_write.c, and by text_sink.c for its writes.
 */
#ifndef RTAP_IO_SAVEFILE_OUTPUT_H
#define RTAP_IO_SAVEFILE_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

struct rtap_output {
    int fd; /* -1: closed */
    bool owns_fd;
    bool regular;  /* can be cut back and written at a place */
    uint64_t size; /* bytes written to the current file */
    uint64_t files;
    char *base; /* as it was asked for */
    char *path; /* of the current file */

    uint64_t rotate_size;
    int64_t rotate_time;
    uint32_t rotate_count;
    struct timespec begun; /* when the current period began, CLOCK_REALTIME */
    uint32_t period;       /* files by time, from 0 */
    uint32_t part;         /* files by size, from 0 in each period */
};

/* Open the first file (fd < 0), or take fd. The rotation fields and base are set. */
int rtap_output_open(struct rtap_output *o, int fd);
/* Is it time for another file, with `queued` bytes still to be written to this one? Takes note which kind it is. */
bool rtap_output_due(struct rtap_output *o, uint64_t queued);
/* Close this file and open the next, after due() said so. -EXFULL: rotation by time, and rotate_count files are full.
 */
int rtap_output_rotate(struct rtap_output *o);
/* Write n bytes, *done of which are out (also on error). Waits for a slow reader; -EINTR on streams only, by a signal
 * or when wake_fd (-1: none) gets readable. Never raises SIGPIPE. */
int rtap_output_write(struct rtap_output *o, const void *data, size_t n, size_t *done, int wake_fd);
/* Take the last n bytes out of the file again. */
void rtap_output_cut(struct rtap_output *o, size_t n);
/* Write over n bytes at `offset` of the current file, where that can be done. */
void rtap_output_patch(struct rtap_output *o, uint64_t offset, const void *data, size_t n);
int rtap_output_close(struct rtap_output *o);

#endif
