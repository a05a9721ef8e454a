/*
 * Output files of the capture file writer: see savefile_output.h.
 *
 * Names and moments are tcpdump's: -C asks before each packet whether the file is larger than the limit, -G whether the
 * period is over by the clock on the wall.
 */
#include "savefile_output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int digits(uint32_t count)
{
    int n = 0;

    for (count = count ? count - 1 : 0; count; count /= 10)
        n++;
    return n;
}

/* The current file's name, malloc'ed; NULL with errno. */
static char *make_path(const struct rtap_output *o)
{
    char name[PATH_MAX], *path;
    int width = o->rotate_size ? digits(o->rotate_count) : 0;

    if (o->rotate_time) {
        struct tm tm;

        if (!localtime_r(&o->begun.tv_sec, &tm) || strftime(name, sizeof(name), o->base, &tm) == 0) {
            errno = ENAMETOOLONG;
            return NULL;
        }
    } else if (strlen(o->base) < sizeof(name)) {
        strcpy(name, o->base);
    } else {
        errno = ENAMETOOLONG;
        return NULL;
    }
    if (o->part == 0 && width == 0)
        return strdup(name);
    if (asprintf(&path, "%s%0*u", name, width, o->part) < 0)
        return NULL;
    return path;
}

static int look_at_fd(struct rtap_output *o)
{
    struct stat st;

    if (fstat(o->fd, &st) < 0)
        return -errno;
    o->regular = S_ISREG(st.st_mode);
    o->size = 0;
    o->files++;
    return 0;
}

static int open_file(struct rtap_output *o)
{
    char *path = make_path(o);

    if (!path)
        return -errno;
    free(o->path);
    o->path = path;
    o->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0644);
    if (o->fd < 0)
        return -errno;
    o->owns_fd = true;
    return look_at_fd(o);
}

int rtap_output_open(struct rtap_output *o, int fd)
{
    clock_gettime(CLOCK_REALTIME_COARSE, &o->begun);
    if (fd < 0 && strcmp(o->base, "-") != 0)
        return open_file(o);
    o->fd = fd >= 0 ? fd : STDOUT_FILENO;
    o->owns_fd = fd >= 0;
    o->path = strdup(o->base);
    if (!o->path)
        return -ENOMEM;
    if (o->rotate_size || o->rotate_time)
        return -ESPIPE;
    return look_at_fd(o);
}

static bool period_over(struct rtap_output *o, struct timespec *now)
{
    int64_t seconds, ns;

    clock_gettime(CLOCK_REALTIME_COARSE, now);
    seconds = now->tv_sec - o->begun.tv_sec;
    ns = now->tv_nsec - o->begun.tv_nsec;
    if (seconds < 0) { /* the clock was set back: count from here, not from a time that may be far away */
        o->begun = *now;
        return false;
    }
    /* Whole seconds are counted as the names show them, so that the next file gets another name. */
    if (o->rotate_time % 1000000000 == 0)
        return seconds >= o->rotate_time / 1000000000;
    return seconds * 1000000000 + ns >= o->rotate_time;
}

bool rtap_output_due(struct rtap_output *o, uint64_t queued)
{
    struct timespec now;

    if (o->rotate_time && period_over(o, &now)) {
        o->begun = now;
        o->period++;
        o->part = 0;
        return true;
    }
    if (o->rotate_size && o->size + queued > o->rotate_size) {
        o->part++;
        if (o->rotate_count && o->part >= o->rotate_count)
            o->part = 0;
        return true;
    }
    return false;
}

int rtap_output_rotate(struct rtap_output *o)
{
    int r = rtap_output_close(o);

    if (r < 0)
        return r;
    if (o->rotate_time && !o->rotate_size && o->rotate_count && o->period >= o->rotate_count)
        return -EXFULL;
    return open_file(o);
}

/* write() that can't kill the process: a SIGPIPE that it raises is taken away before anyone sees it. A reader that goes
 * away in the middle raises one too, though write() tells how much it took before: *broken. */
static ssize_t write_quietly(int fd, const void *data, size_t n, bool *broken)
{
    static const struct timespec none = {0, 0};
    sigset_t pipe_set, old, pending;
    ssize_t r;
    int err, sig;

    *broken = false;
    sigemptyset(&pipe_set);
    sigaddset(&pipe_set, SIGPIPE);
    sigpending(&pending);
    pthread_sigmask(SIG_BLOCK, &pipe_set, &old);
    r = write(fd, data, n);
    err = errno;
    if (r < (ssize_t)n && !sigismember(&pending, SIGPIPE)) {
        do
            sig = sigtimedwait(&pipe_set, NULL, &none);
        while (sig < 0 && errno == EINTR);
        *broken = sig == SIGPIPE;
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    errno = err;
    return r;
}

/* Wait until a stream takes PIPE_BUF bytes without blocking; -EINTR when wake_fd is readable. */
static int wait_writable(int fd, int wake_fd)
{
    struct pollfd p[2] = {{.fd = fd, .events = POLLOUT}, {.fd = wake_fd, .events = POLLIN}};

    if (poll(p, 2, -1) < 0)
        return -errno;
    return p[1].revents ? -EINTR : 0;
}

int rtap_output_write(struct rtap_output *o, const void *data, size_t n, size_t *done, int wake_fd)
{
    const uint8_t *p = data;

    *done = 0;
    while (*done < n) {
        bool broken = false, careful = wake_fd >= 0 && !o->regular;
        size_t len = careful && n - *done > PIPE_BUF ? PIPE_BUF : n - *done;
        ssize_t r;

        if (careful) {
            int waited = wait_writable(o->fd, wake_fd);

            if (waited < 0)
                return waited;
        }
        r = o->regular ? write(o->fd, p + *done, len) : write_quietly(o->fd, p + *done, len, &broken);

        if (r >= 0) {
            *done += (size_t)r;
            o->size += (uint64_t)r;
            if (r == (ssize_t)len || o->regular || broken)
                continue;
            /* A blocking stream with a reader takes less than all only when a signal came. */
            r = fcntl(o->fd, F_GETFL);
            if (r >= 0 && !(r & O_NONBLOCK))
                return -EINTR;
        } else if (errno == EINTR) {
            if (o->regular)
                continue;
            return -EINTR;
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            struct pollfd pfd = {.fd = o->fd, .events = POLLOUT};

            if (poll(&pfd, 1, -1) < 0)
                return -errno;
        } else {
            return -errno;
        }
    }
    return 0;
}

void rtap_output_cut(struct rtap_output *o, size_t n)
{
    off_t at;
    struct stat st;

    if (!o->regular || n == 0)
        return;
    at = lseek(o->fd, 0, SEEK_CUR);
    /* not where somebody else has written behind us */
    if (at < (off_t)n || fstat(o->fd, &st) < 0 || st.st_size != at)
        return;
    if (ftruncate(o->fd, at - (off_t)n) == 0) {
        lseek(o->fd, at - (off_t)n, SEEK_SET);
        o->size -= n;
    }
}

void rtap_output_patch(struct rtap_output *o, uint64_t offset, const void *data, size_t n)
{
    off_t at;
    int flags;

    if (!o->regular || offset + n > o->size)
        return;
    flags = fcntl(o->fd, F_GETFL);
    at = lseek(o->fd, 0, SEEK_CUR); /* a descriptor that was given may have begun in the middle of a file */
    if (at < 0 || flags < 0 || flags & O_APPEND)
        return;
    if (pwrite(o->fd, data, n, at - (off_t)(o->size - offset)) < 0)
        return; /* the packets are all there; only the hint in the header stays too small */
}

int rtap_output_close(struct rtap_output *o)
{
    int r = 0;

    if (o->fd >= 0 && o->owns_fd && close(o->fd) < 0 && errno != EINTR)
        r = -errno;
    o->fd = -1;
    return r;
}
