/*
 * What a prompt needs of the process: lines with editing, history and completion, by readline where the interpreter has
 * it linked (it is looked for when it is asked for, nothing is linked for it here), calls that Ctrl-C ends every time,
 * and the terminal's width. Not part of the public module.
 *
 * A signal handler and readline's callbacks reach nothing but what is static; it has a meaning only while a line is
 * read or a call runs, but for the state that completes words.
 */
#include "rtap_lua.h"

#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* ------------------------------------------------------------------ readline, if it is there */

typedef char **complete_function(const char *, int, int);

static struct {
    bool looked, present;
    void (*install)(const char *prompt, void (*take)(char *line));
    void (*read_char)(void);
    void (*remove)(void);
    void (*free_line_state)(void);
    void (*sigcleanup)(void);
    void (*cleanup_after_signal)(void);
    void (*add_history)(const char *line);
    char **(*matches)(const char *word, char *(*next)(const char *, int));
    complete_function **complete;
    const char **word_breaks, **quotes, **name;
    char **line_buffer;
    int *catch_signals, *append_character, *complete_over;
} rl;

static bool find(void *to, const char *name)
{
    void *at = dlsym(RTLD_DEFAULT, name);

    memcpy(to, &at, sizeof(at)); /* a function's address can't be assigned from a void pointer */
    return at != NULL;
}

static bool have_readline(void)
{
    if (rl.looked)
        return rl.present;
    rl.looked = true;
    rl.present = find(&rl.install, "rl_callback_handler_install") & find(&rl.read_char, "rl_callback_read_char") &
                 find(&rl.remove, "rl_callback_handler_remove") & find(&rl.free_line_state, "rl_free_line_state") &
                 find(&rl.cleanup_after_signal, "rl_cleanup_after_signal") & find(&rl.add_history, "add_history") &
                 find(&rl.matches, "rl_completion_matches") & find(&rl.complete, "rl_attempted_completion_function") &
                 find(&rl.word_breaks, "rl_completer_word_break_characters") & find(&rl.name, "rl_readline_name") &
                 find(&rl.line_buffer, "rl_line_buffer") & find(&rl.catch_signals, "rl_catch_signals") &
                 find(&rl.append_character, "rl_completion_append_character") &
                 find(&rl.complete_over, "rl_attempted_completion_over") &
                 find(&rl.quotes, "rl_basic_quote_characters");
    find(&rl.sigcleanup, "rl_callback_sigcleanup"); /* new in readline 7 */
    if (rl.present)
        *rl.name = "ringtap";
    return rl.present;
}

/* ------------------------------------------------------------------ one line */

static volatile sig_atomic_t pressed;

static void on_press(int number)
{
    (void)number;
    pressed = 1;
}

static struct {
    bool done;
    char *text; /* NULL: the end of the input */
} got;

static void take_line(char *text)
{
    got.done = true;
    got.text = text;
    rl.remove();
}

/* false: Ctrl-C. SIGINT is blocked but while this waits, so that one never falls between. */
static bool edit_line(const char *prompt, const sigset_t *waiting)
{
    struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
    int signals = *rl.catch_signals;

    *rl.catch_signals = 0;
    got.done = false;
    got.text = NULL;
    rl.install(prompt, take_line);
    while (!got.done && !pressed) {
        int n = ppoll(&in, 1, NULL, waiting);

        if (n > 0)
            rl.read_char();
        else if (n < 0 && errno != EINTR)
            break;
    }
    if (!got.done) {
        fputs("^C", stdout); /* where the cursor is: what follows moves it */
        rl.free_line_state();
        if (rl.sigcleanup)
            rl.sigcleanup();
        rl.cleanup_after_signal();
        rl.remove();
    }
    *rl.catch_signals = signals;
    return !pressed;
}

static bool plain_line(const char *prompt, const sigset_t *waiting)
{
    struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
    size_t size = 0;
    ssize_t n;

    got.text = NULL;
    fputs(prompt, stdout);
    fflush(stdout);
    if (isatty(STDIN_FILENO) && ppoll(&in, 1, NULL, waiting) < 0 && pressed) {
        fputs("^C", stdout);
        return false;
    }
    n = getline(&got.text, &size, stdin);
    if (n < 0) {
        free(got.text);
        got.text = NULL;
    } else if (n > 0 && got.text[n - 1] == '\n') {
        got.text[n - 1] = '\0';
    }
    return true;
}

static int push_line(lua_State *L)
{
    lua_pushstring(L, got.text); /* nil at the end */
    return 1;
}

/* _prompt(text): a line; nil at the end of the input; false after Ctrl-C */
static int prompt(lua_State *L)
{
    static bool reading; /* one terminal, one line at a time */
    const char *text = rtap_lua_check_name(L, 1);
    struct sigaction act = {.sa_handler = on_press}, old;
    sigset_t only, before, waiting;
    bool whole;
    int status;

    if (reading)
        return luaL_error(L, "a line is being read already");
    reading = true;
    fflush(stdout);
    sigemptyset(&only);
    sigaddset(&only, SIGINT);
    pthread_sigmask(SIG_BLOCK, &only, &before);
    waiting = before;
    sigdelset(&waiting, SIGINT);
    sigemptyset(&act.sa_mask);
    sigaction(SIGINT, &act, &old);
    pressed = 0;
    whole = have_readline() && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) ? edit_line(text, &waiting)
                                                                             : plain_line(text, &waiting);
    sigaction(SIGINT, &old, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    reading = false;
    if (!whole) {
        fputs("\n", stdout);
        fflush(stdout);
        lua_pushboolean(L, 0);
        return 1;
    }
    lua_pushcfunction(L, push_line);
    status = lua_pcall(L, 0, 1, 0);
    free(got.text);
    got.text = NULL;
    return status == LUA_OK ? 1 : lua_error(L);
}

/* _history(line): for the arrow keys */
static int history(lua_State *L)
{
    const char *line = rtap_lua_check_name(L, 1);

    if (have_readline())
        rl.add_history(line);
    return 0;
}

/* ------------------------------------------------------------------ completion */

static const char completer_key = 0, guard_key = 0; /* only their addresses matter */

static struct {
    lua_State *L; /* the main thread of the state that completes, or NULL */
    const char *word;
    int start;
    bool files; /* the completer leaves it to readline, which knows the files */
    char **list;
    size_t count, next;
} words;

/* Call the completer and copy what it gives. */
static int ask_completer(lua_State *L)
{
    lua_Integer n;

    lua_rawgetp(L, LUA_REGISTRYINDEX, &completer_key);
    lua_pushstring(L, words.word);
    lua_pushlstring(L, *rl.line_buffer, (size_t)words.start);
    lua_call(L, 2, 1);
    words.files = lua_isnil(L, -1);
    if (words.files)
        return 0;
    n = luaL_len(L, -1);
    if (n <= 0 || !(words.list = calloc((size_t)n, sizeof(*words.list))))
        return 0;
    for (lua_Integer i = 1; i <= n && words.count < (size_t)n; i++) {
        char *copy;

        lua_geti(L, -1, i);
        copy = strdup(luaL_checkstring(L, -1));
        lua_pop(L, 1);
        if (!copy)
            break;
        words.list[words.count++] = copy; /* readline frees it */
    }
    return 0;
}

static char *next_word(const char *word, int state)
{
    (void)word;
    (void)state;
    return words.next < words.count ? words.list[words.next++] : NULL;
}

static char **complete(const char *word, int start, int end)
{
    lua_State *L = words.L;
    char **found = NULL;

    (void)end;
    *rl.complete_over = 1;
    if (!L || !lua_checkstack(L, 4))
        return NULL;
    words.word = word;
    words.start = start;
    words.files = false;
    words.list = NULL;
    words.count = words.next = 0;
    lua_pushcfunction(L, ask_completer);
    if (lua_pcall(L, 0, 0, 0) != LUA_OK)
        lua_pop(L, 1);
    *rl.complete_over = !words.files;
    if (!words.files)
        *rl.append_character = '\0';
    if (words.count)
        found = rl.matches(word, next_word);
    while (words.next < words.count)
        free(words.list[words.next++]);
    free(words.list);
    words.list = NULL;
    return found;
}

static int forget_completer(lua_State *L)
{
    lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_MAINTHREAD);
    if (words.L == lua_tothread(L, -1)) {
        words.L = NULL;
        *rl.complete = NULL;
    }
    return 0;
}

/* _completer(fn): fn(word, what is before it) gives a list of words, or nil for the names of files */
static int completer(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TFUNCTION);
    if (!have_readline())
        return 0;
    lua_settop(L, 1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &completer_key);
    if (lua_rawgetp(L, LUA_REGISTRYINDEX, &guard_key) != LUA_TTABLE) { /* the state may end before readline does */
        lua_newtable(L);
        lua_createtable(L, 0, 1);
        lua_pushcfunction(L, forget_completer);
        lua_setfield(L, -2, "__gc");
        lua_setmetatable(L, -2);
        lua_rawsetp(L, LUA_REGISTRYINDEX, &guard_key);
    }
    lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_MAINTHREAD);
    words.L = lua_tothread(L, -1);
    *rl.complete = complete;
    *rl.quotes = ""; /* more may follow a name inside of quotes, so they are not closed */
    *rl.word_breaks = " \t\n\"'`(){}[]<>=!,;+*%^&|#:"; /* not '/', '-' and '~', which are in names of files */
    return 0;
}

/* ------------------------------------------------------------------ calls that Ctrl-C ends */

static lua_State *running;

static void raise_interrupted(lua_State *L, lua_Debug *ar)
{
    (void)ar;
    lua_sethook(L, NULL, 0, 0);
    luaL_error(L, "interrupted!");
}

/* As lua.c does it; lua_sethook is what may be called from a handler. */
static void on_interrupt(int number)
{
    (void)number;
    lua_sethook(running, raise_interrupted, LUA_MASKCALL | LUA_MASKRET | LUA_MASKLINE | LUA_MASKCOUNT, 1);
}

/* _interruptible(fn, ...): as pcall; Ctrl-C raises "interrupted!" in it, as often as it is pressed */
static int interruptible(lua_State *L)
{
    struct sigaction act = {.sa_handler = on_interrupt}, old;
    lua_State *outer = running;
    int status;

    luaL_checkany(L, 1);
    running = L;
    sigemptyset(&act.sa_mask);
    sigaction(SIGINT, &act, &old);
    status = lua_pcall(L, lua_gettop(L) - 1, LUA_MULTRET, 0);
    sigaction(SIGINT, &old, NULL);
    running = outer;
    if (lua_gethook(L) == raise_interrupted) /* it came when the call was over */
        lua_sethook(L, NULL, 0, 0);
    luaL_checkstack(L, 1, "too many results");
    lua_pushboolean(L, status == LUA_OK);
    lua_insert(L, 1);
    return lua_gettop(L);
}

/* _columns(): of the terminal that standard output is; nil: it is none */
static int columns(lua_State *L)
{
    struct winsize size;

    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        lua_pushinteger(L, size.ws_col);
    else
        luaL_pushfail(L);
    return 1;
}

void rtap_lua_open_prompt(lua_State *L, struct rtap_lua *S)
{
    static const luaL_Reg functions[] = {
        {"_prompt", prompt},
        {"_history", history},
        {"_completer", completer},
        {"_columns", columns},
        {"_interruptible", interruptible},
        {NULL, NULL},
    };

    lua_pushlightuserdata(L, S);
    luaL_setfuncs(L, functions, 1);
}
