/* ringtap.signals: signals that end a loop in C cleanly are read from a descriptor. */
#include "signals.h"

#include <errno.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

static const struct {
    const char *name;
    int number;
} signal_names[] = {{"INT", SIGINT}, {"TERM", SIGTERM}, {"HUP", SIGHUP}, {"USR1", SIGUSR1}, {"USR2", SIGUSR2}};

#define SIGNALS (sizeof(signal_names) / sizeof(signal_names[0]))
_Static_assert(SIGNALS <= RTAP_SIGNALS, "struct rtap_lua counts them");

static int signal_number(const char *name)
{
    for (size_t i = 0; i < SIGNALS; i++)
        if (strcmp(signal_names[i].name, name) == 0)
            return signal_names[i].number;
    return 0;
}

/* A signal stays blocked as long as one value in this state wants it, whatever the order of closing. */
static void block_signals(struct rtap_lua *S, const struct rtap_lua_signals *g)
{
    sigset_t before;

    pthread_sigmask(SIG_BLOCK, &g->set, &before);
    for (size_t i = 0; i < SIGNALS; i++)
        if (sigismember(&g->set, signal_names[i].number) && S->signals[i].users++ == 0)
            S->signals[i].was_blocked = sigismember(&before, signal_names[i].number);
}

static void unblock_signals(struct rtap_lua *S, const struct rtap_lua_signals *g)
{
    sigset_t set;

    sigemptyset(&set);
    for (size_t i = 0; i < SIGNALS; i++)
        if (sigismember(&g->set, signal_names[i].number) && --S->signals[i].users == 0 && !S->signals[i].was_blocked)
            sigaddset(&set, signal_names[i].number);
    while (sigtimedwait(&set, NULL, &(struct timespec){0}) > 0) /* what is pending was meant for these values */
        ;
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

/* signals("INT", "TERM", ...): from now on they are read from a descriptor instead of being delivered */
static int signals_new(lua_State *L)
{
    struct rtap_lua *S = RTAP_STATE(L);
    int n = lua_gettop(L);
    struct rtap_lua_signals *g;

    for (int i = 1; i <= n; i++)
        luaL_argcheck(L, signal_number(luaL_checkstring(L, i)), i, "one of INT, TERM, HUP, USR1, USR2");
    luaL_argcheck(L, n > 0, 1, "at least one signal");
    g = lua_newuserdatauv(L, sizeof(*g), 0);
    g->fd = -1;
    rtap_lua_set_type(L, S->mt_signals);
    sigemptyset(&g->set);
    for (int i = 1; i <= n; i++)
        sigaddset(&g->set, signal_number(lua_tostring(L, i)));
    g->fd = signalfd(-1, &g->set, SFD_NONBLOCK | SFD_CLOEXEC);
    if (g->fd < 0)
        return rtap_lua_fail(L, errno, strerror(errno));
    block_signals(S, g);
    return 1;
}

int rtap_lua_take_signal(struct rtap_lua_signals *g)
{
    struct signalfd_siginfo si;

    return g->fd >= 0 && read(g->fd, &si, sizeof(si)) == sizeof(si) ? (int)si.ssi_signo : 0;
}

/* signals:take(): the name of one that came, or nil */
static int signals_take(lua_State *L)
{
    int number = rtap_lua_take_signal(rtap_lua_check(L, 1, RTAP_STATE(L)->mt_signals, "signals"));

    for (size_t i = 0; i < SIGNALS; i++) {
        if (signal_names[i].number == number) {
            lua_pushstring(L, signal_names[i].name);
            return 1;
        }
    }
    luaL_pushfail(L);
    return 1;
}

static int signals_close(lua_State *L)
{
    struct rtap_lua *S = RTAP_STATE(L);
    struct rtap_lua_signals *g = rtap_lua_check(L, 1, S->mt_signals, "signals");

    if (g->fd >= 0) {
        close(g->fd);
        g->fd = -1;
        unblock_signals(S, g);
    }
    return 0;
}

void rtap_lua_open_signals(lua_State *L, struct rtap_lua *S)
{
    static const luaL_Reg functions[] = {{"signals", signals_new}, {NULL, NULL}};
    static const luaL_Reg methods[] = {{"take", signals_take}, {"close", signals_close}, {NULL, NULL}};
    static const luaL_Reg metamethods[] = {{"__gc", signals_close}, {"__close", signals_close}, {NULL, NULL}};

    S->mt_signals = rtap_lua_type(L, S, "ringtap.signals", metamethods, methods);
    lua_pop(L, 1);
    lua_pushlightuserdata(L, S);
    luaL_setfuncs(L, functions, 1);
}
