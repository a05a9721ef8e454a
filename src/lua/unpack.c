/*
 * pkt:unpack(fmt, pos): string.unpack (Lua 5.4 manual, 6.4.2) over a packet's bytes, without making a string of them.
 * The formats and their rules are the manual's: default is native order, no alignment until `!`.
 */
#include "packet.h"

#include <ctype.h>
#include <limits.h>
#include <string.h>

#define NATIVE_ALIGN ((int)_Alignof(max_align_t))
#define MAX_INT_SIZE 16

struct cursor {
    lua_State *L;
    const char *fmt;
    bool little;
    int max_align;
};

enum kind { K_INT, K_UINT, K_FLOAT, K_DOUBLE, K_CHAR, K_STRING, K_ZSTR, K_PAD, K_ALIGN, K_NONE };

static bool native_little(void)
{
    return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
}

static int read_number(struct cursor *c, int dflt)
{
    int n = 0;

    if (!isdigit((unsigned char)*c->fmt))
        return dflt;
    do {
        n = n * 10 + (*c->fmt++ - '0');
    } while (isdigit((unsigned char)*c->fmt) && n <= (INT_MAX - 9) / 10);
    return n;
}

static int int_size(struct cursor *c, int dflt)
{
    int n = read_number(c, dflt);

    if (n < 1 || n > MAX_INT_SIZE)
        luaL_error(c->L, "integral size (%d) out of limits [1,%d]", n, MAX_INT_SIZE);
    return n;
}

static enum kind option(struct cursor *c, int *size)
{
    int opt = (unsigned char)*c->fmt++;

    *size = 0;
    switch (opt) {
    case 'b': *size = sizeof(char); return K_INT;
    case 'B': *size = sizeof(char); return K_UINT;
    case 'h': *size = sizeof(short); return K_INT;
    case 'H': *size = sizeof(short); return K_UINT;
    case 'l': *size = sizeof(long); return K_INT;
    case 'L': *size = sizeof(long); return K_UINT;
    case 'j': *size = sizeof(lua_Integer); return K_INT;
    case 'J': *size = sizeof(lua_Integer); return K_UINT;
    case 'T': *size = sizeof(size_t); return K_UINT;
    case 'i': *size = int_size(c, sizeof(int)); return K_INT;
    case 'I': *size = int_size(c, sizeof(int)); return K_UINT;
    case 's': *size = int_size(c, sizeof(size_t)); return K_STRING;
    case 'f': *size = sizeof(float); return K_FLOAT;
    case 'd':
    case 'n': *size = sizeof(double); return K_DOUBLE;
    case 'c':
        *size = read_number(c, -1);
        if (*size < 0)
            luaL_error(c->L, "missing size for format option 'c'");
        return K_CHAR;
    case 'z': return K_ZSTR;
    case 'x': *size = 1; return K_PAD;
    case 'X': return K_ALIGN;
    case ' ': return K_NONE;
    case '<': c->little = true; return K_NONE;
    case '>': c->little = false; return K_NONE;
    case '=': c->little = native_little(); return K_NONE;
    case '!': c->max_align = int_size(c, NATIVE_ALIGN); return K_NONE;
    default: luaL_error(c->L, "invalid format option '%c'", opt); return K_NONE;
    }
}

/* The option, and the bytes to skip so that it is aligned at position `at`. */
static enum kind next_option(struct cursor *c, size_t at, int *size, size_t *skip)
{
    enum kind k = option(c, size);
    int align = *size;

    *skip = 0;
    if (k == K_ALIGN) {
        struct cursor ahead = *c;

        if (*c->fmt == '\0' || option(&ahead, &align) == K_CHAR || align == 0)
            luaL_argerror(c->L, 2, "invalid next option for option 'X'");
        *c = ahead;
        *size = 0;
    }
    if (align <= 1 || k == K_CHAR || k == K_NONE || k == K_PAD || k == K_ZSTR)
        return k;
    if (align > c->max_align)
        align = c->max_align;
    if (align & (align - 1))
        luaL_argerror(c->L, 2, "format asks for alignment not power of 2");
    *skip = (size_t)(align - (int)(at & (size_t)(align - 1))) & (size_t)(align - 1);
    return k;
}

static lua_Integer load_int(lua_State *L, const uint8_t *p, int size, bool little, bool is_signed)
{
    lua_Unsigned v = 0;
    int limit = size <= (int)sizeof(v) ? size : (int)sizeof(v);

    for (int i = limit - 1; i >= 0; i--)
        v = v << 8 | p[little ? i : size - 1 - i];
    if (size < (int)sizeof(v)) {
        if (is_signed) {
            lua_Unsigned sign = (lua_Unsigned)1 << (size * 8 - 1);

            v = (v ^ sign) - sign;
        }
    } else {
        int fill = !is_signed || (lua_Integer)v >= 0 ? 0 : 0xff;

        for (int i = limit; i < size; i++)
            if (p[little ? i : size - 1 - i] != fill)
                luaL_error(L, "%d-byte integer does not fit into Lua Integer", size);
    }
    return (lua_Integer)v;
}

static void load_bytes(void *to, const uint8_t *p, size_t size, bool little)
{
    uint8_t *d = to;

    for (size_t i = 0; i < size; i++)
        d[i] = p[little == native_little() ? i : size - 1 - i];
}

int rtap_lua_unpack(lua_State *L, struct rtap_lua *S)
{
    struct cursor c = {L, luaL_checkstring(L, 2), native_little(), 1};
    lua_Integer init = luaL_optinteger(L, 3, 1);
    const struct rtap_pkt *pkt = rtap_lua_check_pkt(L, S, 1);
    size_t n = pkt->caplen, pos;
    int count = 0;

    if (init < 0)
        init = init < -(lua_Integer)n ? 1 : (lua_Integer)n + init + 1;
    if (init == 0)
        init = 1;
    luaL_argcheck(L, (lua_Unsigned)init - 1 <= n, 3, "initial position out of packet");
    pos = (size_t)init - 1;
    while (*c.fmt) {
        int size;
        size_t skip, len;
        enum kind k = next_option(&c, pos, &size, &skip);
        const uint8_t *p;
        float f;
        double d;

        pkt = rtap_lua_check_pkt(L, S, 1); /* a string that was pushed may have run a finalizer that ended it */
        n = pkt->caplen;
        luaL_argcheck(L, pos <= n && skip + (size_t)size <= n - pos, 2, "packet too short");
        pos += skip;
        p = pkt->data + pos;
        luaL_checkstack(L, 2, "too many results");
        count++;
        switch (k) {
        case K_INT:
        case K_UINT: lua_pushinteger(L, load_int(L, p, size, c.little, k == K_INT)); break;
        case K_FLOAT:
            load_bytes(&f, p, sizeof(f), c.little);
            lua_pushnumber(L, (lua_Number)f);
            break;
        case K_DOUBLE:
            load_bytes(&d, p, sizeof(d), c.little);
            lua_pushnumber(L, (lua_Number)d);
            break;
        case K_CHAR: lua_pushlstring(L, (const char *)p, (size_t)size); break;
        case K_STRING:
            len = (size_t)load_int(L, p, size, c.little, false);
            luaL_argcheck(L, len <= n - pos - (size_t)size, 2, "packet too short");
            lua_pushlstring(L, (const char *)p + size, len);
            pos += len;
            break;
        case K_ZSTR: {
            const uint8_t *end = pos < n ? memchr(p, 0, n - pos) : NULL;

            luaL_argcheck(L, end != NULL, 2, "unfinished string in packet");
            lua_pushlstring(L, (const char *)p, (size_t)(end - p));
            pos += (size_t)(end - p) + 1;
            break;
        }
        case K_PAD:
        case K_ALIGN:
        case K_NONE: count--; break;
        }
        pos += (size_t)size;
    }
    lua_pushinteger(L, (lua_Integer)pos + 1);
    return count + 1;
}
