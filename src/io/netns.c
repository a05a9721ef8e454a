/*
 * setns(2) moves a thread, and a move back may fail: so a thread of its own does it, makes the socket and ends. The
 * socket belongs to the namespace where it was made, whoever uses it.
 */
#include "netns.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct request {
    int netns;
    int (*fn)(void *arg);
    void *arg;
    int result;
    bool entered;
};

static void *run(void *arg)
{
    struct request *q = arg;

    if (setns(q->netns, CLONE_NEWNET) < 0) {
        q->result = -errno;
        return NULL;
    }
    q->entered = true;
    q->result = q->fn(q->arg);
    return NULL;
}

int rtap_netns_run(const char *netns, int (*fn)(void *arg), void *arg, int *result, char *err, size_t errlen)
{
    struct request q = {.fn = fn, .arg = arg};
    sigset_t all, before;
    pthread_t thread;
    char path[512];
    int r;

    if (!netns) {
        *result = fn(arg);
        return 0;
    }
    if (strchr(netns, '/'))
        snprintf(path, sizeof(path), "%s", netns);
    else
        snprintf(path, sizeof(path), "/run/netns/%s", netns);
    q.netns = open(path, O_RDONLY | O_CLOEXEC);
    if (q.netns < 0) {
        r = -errno;
        snprintf(err, errlen, "network namespace '%s': %s (%s)", netns, strerror(-r), path);
        return r;
    }
    /* signals are for the thread that called */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    r = -pthread_create(&thread, NULL, run, &q);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (r == 0) {
        pthread_join(thread, NULL);
        r = q.entered ? 0 : q.result;
    }
    close(q.netns);
    *result = q.result;
    if (r < 0)
        snprintf(err, errlen, "network namespace '%s': %s%s", netns, strerror(-r),
                 r == -EPERM ? " (needs CAP_SYS_ADMIN)" : "");
    return r;
}

struct socket_request {
    int domain, type, protocol;
};

static int make_socket(void *arg)
{
    const struct socket_request *q = arg;
    int fd = socket(q->domain, q->type, q->protocol);

    return fd < 0 ? -errno : fd;
}

int rtap_netns_socket(const char *netns, int domain, int type, int protocol, char *err, size_t errlen)
{
    struct socket_request q = {domain, type, protocol};
    int fd, r = rtap_netns_run(netns, make_socket, &q, &fd, err, errlen);

    if (r < 0)
        return r;
    if (fd < 0)
        snprintf(err, errlen, "%s", strerror(-fd));
    return fd;
}
