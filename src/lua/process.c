/* Terminals, files that are the same, giving up root: for the command. Not part of the public module. */
#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static FILE *to_file(lua_State *L, int idx)
{
    luaL_Stream *f = luaL_checkudata(L, idx, LUA_FILEHANDLE);

    luaL_argcheck(L, f->closef, idx, "file is closed");
    return f->f;
}

/* _terminal(file): does it go to a terminal? */
static int is_terminal(lua_State *L)
{
    lua_pushboolean(L, isatty(fileno(to_file(L, 1))));
    return 1;
}

static int file_status(lua_State *L, int idx, struct stat *st)
{
    return lua_type(L, idx) == LUA_TSTRING ? stat(lua_tostring(L, idx), st) : fstat(fileno(to_file(L, idx)), st);
}

/* _same_file(a, b), each a path or a file: are both one regular file? */
static int same_file(lua_State *L)
{
    struct stat a, b;

    lua_pushboolean(L, file_status(L, 1, &a) == 0 && file_status(L, 2, &b) == 0 && S_ISREG(a.st_mode) &&
                           a.st_dev == b.st_dev && a.st_ino == b.st_ino);
    return 1;
}

/*
 * The user's groups, group and id, real, effective and saved, and no capability left. Root keeps nothing by which it
 * could come back; whoever is that user already keeps what he has.
 */
static int become(const struct passwd *pw)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[2] = {0};
    uid_t r, e, s;
    gid_t gr, ge, gs;

    if (getresuid(&r, &e, &s) < 0)
        return -errno;
    if (e != 0 && r == pw->pw_uid && e == pw->pw_uid && s == pw->pw_uid)
        return 0;
    if (initgroups(pw->pw_name, pw->pw_gid) < 0 || setresgid(pw->pw_gid, pw->pw_gid, pw->pw_gid) < 0 ||
        setresuid(pw->pw_uid, pw->pw_uid, pw->pw_uid) < 0)
        return -errno;
    if (pw->pw_uid != 0 && syscall(SYS_capset, &header, none) < 0)
        return -errno;
    if (getresuid(&r, &e, &s) < 0 || getresgid(&gr, &ge, &gs) < 0)
        return -errno;
    if (r != pw->pw_uid || e != pw->pw_uid || s != pw->pw_uid || gr != pw->pw_gid || ge != pw->pw_gid ||
        gs != pw->pw_gid)
        return -EPERM;
    if (pw->pw_uid != 0 && (setuid(0) == 0 || errno != EPERM))
        return -EPERM;
    return 0;
}

/* _drop_privileges(user): true, or nil, message, errno; then the process is not to go on */
static int drop_privileges(lua_State *L)
{
    const char *user = luaL_checkstring(L, 1);
    struct passwd *pw;
    int r;

    errno = 0;
    pw = getpwnam(user);
    if (!pw) {
        r = errno ? errno : ENOENT;
        return rtap_lua_fail(L, r,
                             lua_pushfstring(L, "%s: %s", user, r == ENOENT ? "there is no such user" : strerror(r)));
    }
    r = become(pw);
    if (r < 0)
        return rtap_lua_fail(L, r, lua_pushfstring(L, "becoming user %s: %s", user, strerror(-r)));
    lua_pushboolean(L, 1);
    return 1;
}

/*
 * _keep_standard_files(): a descriptor 0, 1 or 2 that is closed would be given to the next thing that is opened, and
 * what is meant for standard output would be sent by a packet socket. Put something there that fails when it is used.
 */
static int keep_standard_files(lua_State *L)
{
    for (int fd = 0; fd < 3; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) != fd)
            return luaL_error(L, "standard files are closed and /dev/null can't be opened");
    }
    return 0;
}

void rtap_lua_open_process(lua_State *L, struct rtap_lua *S)
{
    static const luaL_Reg functions[] = {
        {"_terminal", is_terminal},
        {"_same_file", same_file},
        {"_drop_privileges", drop_privileges},
        {"_keep_standard_files", keep_standard_files},
        {NULL, NULL},
    };

    lua_pushlightuserdata(L, S);
    luaL_setfuncs(L, functions, 1);
}
