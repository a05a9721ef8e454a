--- Expressions of protocol tables: text to a tree, a tree to code for the engine, and a tree worked out in Lua (for
-- building).
--
-- The language is C's: ?: || && | ^ & == != < <= > >= << >> + - * / % ! ~ - ( ), on 64-bit integers; what is divided
-- by 0 is 0. A name is a field of the same protocol, without the protocol's prefix (`flags.mf`), or with a dot in front
-- a whole field name. What begins with $ belongs to the engine:
--
--   $start        offset of the layer in the packet          $header   its header's length (once it is known)
--   $len          its length as the headers below say        $cap      bytes of it that were captured
--   $here         bytes from its start to the cursor         $rest     bytes from the cursor to the end of the region
--   $payload      $len - $header                             $index    rounds that the innermost loop has made
--   $checksum     0 bad, 1 good, 2 unverified, 3 not there (Wireshark's proto_checksum_vals)
--   $wire         $len as if no header had said anything     $link     the packet's link type
--   $direction    1 in, 2 out, 0 unknown                     $parent_len  $len of the layer below
--   $inner_end    bytes from its start to where what it carries ends by its own word (padding and trailers follow)
--   $ip           4 or 6: version of the nearest IP header below, 0 without one
--   $passed       the number that the layer below passed on with a rule's `pass`, else 0
--   $u8(n) $u16(n) $u32(n)     big-endian number n bytes after the layer's start; $le16 $le32 little-endian
--   $at8(n) $at16(n) $at32(n)  the same, n bytes after the cursor
--   $under(name)  1 if the layer below is that protocol
--   $line("text") 1 if the layer's first line (up to CR, LF or 1024 bytes) has that text in it
--
-- A read outside of the captured bytes fails the whole expression: a condition is then false, a length unknown.

local expr = {}

expr.variables = {
    start = 0, header = 1, len = 2, cap = 3, here = 4, rest = 5, payload = 6, index = 7, checksum = 8, wire = 9,
    link = 10, direction = 11, parent_len = 12, inner_end = 13, passed = 14, ip = 15,
}
local readers = { u8 = 4, u16 = 5, u32 = 6, at8 = 7, at16 = 8, at32 = 9, le16 = 11, le32 = 12 }
local code_of = {
    ["+"] = 20, ["-"] = 21, ["*"] = 22, ["/"] = 23, ["%"] = 24, ["&"] = 25, ["|"] = 26, ["^"] = 27, ["<<"] = 28,
    [">>"] = 29, ["=="] = 30, ["!="] = 31, ["<"] = 32, ["<="] = 33, [">"] = 34, [">="] = 35,
}
-- how closely an operator holds what is beside it
local closeness = {
    ["||"] = 1, ["&&"] = 2, ["|"] = 3, ["^"] = 4, ["&"] = 5, ["=="] = 6, ["!="] = 6, ["<="] = 7, [">="] = 7, ["<"] = 7,
    [">"] = 7, ["<<"] = 8, [">>"] = 8, ["+"] = 9, ["-"] = 9, ["*"] = 10, ["/"] = 10, ["%"] = 10,
}
local doubles = {
    ["||"] = true, ["&&"] = true, ["=="] = true, ["!="] = true, ["<="] = true, [">="] = true, ["<<"] = true,
    [">>"] = true,
}
local LINE = 13
local K, LOAD, REG, VAR, UNDER, INV, NOT, NEG, JZ, JMP, BOOL = 0, 1, 2, 3, 10, 36, 37, 38, 40, 41, 42

local function tokens(text)
    local list, count, at = {}, 0, text:find("%S")
    while at do
        local token = text:match("^[.$]?[%a_][%w_.]*", at) or text:match("^0[xX]%x+", at) or text:match("^%d+", at)
        if not token then
            token = text:sub(at, at + 1)
            token = doubles[token] and token or text:match("^[?:|^&<>+%-*/%%!~()]", at)
                or text:match('^"[^"]+"', at)
        end
        if not token then
            error(("expression '%s': '%s' is not part of the language"):format(text, text:sub(at, at)), 0)
        end
        count = count + 1
        list[count] = token
        at = text:find("%S", at + #token)
    end
    return list
end

-- what is parsed just now: the text, its tokens, the next one
local source, list, at

local function fail(what)
    error(("expression '%s': %s"):format(source, what), 0)
end

local function take(token)
    if list[at] == token then
        at = at + 1
        return true
    end
end

local function need(token)
    if not take(token) then
        fail(("'%s' expected near '%s'"):format(token, list[at] or "its end"))
    end
end

local ternary

local function primary()
    local t = list[at] or fail("it ends too early")
    at = at + 1
    if t == "(" then
        local e = ternary()
        need ")"
        return e
    elseif t:find "^%d" then
        return { k = math.tointeger(tonumber(t)) or fail("'" .. t .. "' is no integer") }
    elseif t:find "^%$" then
        local name = t:sub(2)
        if expr.variables[name] then
            return { var = name }
        end
        need "("
        local e
        if readers[name] then
            e = { read = name, ternary() }
        elseif name == "line" and list[at] and list[at]:find '^"' then
            e = { line = list[at]:sub(2, -2) }
            at = at + 1
        elseif name == "under" then
            e = { under = list[at] or fail "it ends too early" }
            at = at + 1
        else
            fail(("the engine has no '%s'"):format(t))
        end
        need ")"
        return e
    elseif t:find "^[%a_.]" then
        return { field = t }
    end
    fail(("'%s' is out of place"):format(t))
end

local function unary()
    local op = list[at]
    if op ~= "!" and op ~= "~" and op ~= "-" then
        return primary()
    end
    at = at + 1
    local e = unary()
    if op == "-" and e.k then
        return { k = -e.k }
    end
    return { op = op == "-" and "neg" or op, e }
end

--- Operators that hold at least so closely; the same ones from left to right.
local function binary(least)
    local e = unary()
    while true do
        local op = list[at]
        local here = closeness[op]
        if not here or here < least then
            return e
        end
        at = at + 1
        e = { op = op, e, binary(here + 1) }
    end
end

function ternary()
    local e = binary(1)
    if take "?" then
        local a = ternary()
        need ":"
        return { cond = e, a, ternary() }
    end
    return e
end

local parsed = setmetatable({}, { __mode = "v" }) -- the same text is the same tree: nobody changes one

--- A number or text to a tree: {k=} a constant, {field=}, {var=}, {read=, n}, {under=}, {line=}, {op=, a, b},
--- {cond=, a, b}.
function expr.parse(text)
    if math.type(text) == "integer" then
        return { k = text }
    elseif type(text) ~= "string" then
        error(("an expression is an integer or text, not %s"):format(type(text)), 0)
    end
    local e = parsed[text]
    if not e then
        if text:find "^[%a_][%w_.]*$" then
            e = { field = text }
        else
            source, list, at = text, tokens(text), 1
            e = ternary()
            if list[at] then
                fail(("'%s' is out of place"):format(list[at]))
            end
        end
        parsed[text] = e
    end
    return e
end

--- Call f on every node.
function expr.walk(e, f)
    f(e)
    if e.cond then
        expr.walk(e.cond, f)
    end
    for i = 1, 2 do
        if e[i] then
            expr.walk(e[i], f)
        end
    end
end

--- e as field * mul + add: the field's name, mul, add; nil when it is something else. For filling lengths in.
function expr.linear(e)
    if e.field then
        return e.field, 1, 0
    elseif e.op == "+" or e.op == "-" then
        local field, mul, add = expr.linear(e[1])
        local sign = e.op == "+" and 1 or -1
        if field and e[2].k then
            return field, mul, add + sign * e[2].k
        elseif e.op == "+" and e[1].k then
            field, mul, add = expr.linear(e[2])
            if field then
                return field, mul, add + e[1].k
            end
        end
    elseif e.op == "*" then
        local a, b = e[1], e[2]
        if a.k then
            a, b = b, a
        end
        local field, mul, add = expr.linear(a)
        if field and b.k then
            return field, mul * b.k, add * b.k
        end
    elseif e.op == "<<" and e[2].k then
        local field, mul, add = expr.linear(e[1])
        if field then
            return field, mul << e[2].k, add << e[2].k
        end
    end
end

local function truth(v)
    return v and v ~= 0
end

local function num(v)
    return v and 1 or 0
end

local work = {
    ["+"] = function(a, b) return a + b end,
    ["-"] = function(a, b) return a - b end,
    ["*"] = function(a, b) return a * b end,
    ["/"] = function(a, b) return b == 0 and 0 or a // b end,
    ["%"] = function(a, b) return b == 0 and 0 or a % b end,
    ["&"] = function(a, b) return a & b end,
    ["|"] = function(a, b) return a | b end,
    ["^"] = function(a, b) return a ~ b end,
    ["<<"] = function(a, b) return a << b end,
    [">>"] = function(a, b) return a >> b end,
    ["=="] = function(a, b) return num(a == b) end,
    ["!="] = function(a, b) return num(a ~= b) end,
    ["<"] = function(a, b) return num(a < b) end,
    ["<="] = function(a, b) return num(a <= b) end,
    [">"] = function(a, b) return num(a > b) end,
    [">="] = function(a, b) return num(a >= b) end,
    ["!"] = function(a) return num(a == 0) end,
    ["~"] = function(a) return ~a end,
    ["neg"] = function(a) return -a end,
}

--- Work e out. env.field(name), env.var(name), env.read(reader, n), env.under(name) give integers, or nil for unknown;
-- an unknown part makes the whole unknown (nil).
function expr.eval(e, env)
    if e.k then
        return e.k
    elseif e.field then
        return env.field(e.field)
    elseif e.var then
        return env.var(e.var)
    elseif e.read then
        local n = expr.eval(e[1], env)
        return n and env.read(e.read, n)
    elseif e.under then
        return num(env.under(e.under))
    elseif e.line then
        return nil -- nothing that building knows
    elseif e.cond then
        local c = expr.eval(e.cond, env)
        return c and expr.eval(truth(c) and e[1] or e[2], env)
    end
    local a = expr.eval(e[1], env)
    if not a then
        return nil
    elseif e.op == "&&" then
        local b = truth(a) and expr.eval(e[2], env)
        return truth(a) and (b and num(truth(b))) or (not truth(a) and 0 or nil)
    elseif e.op == "||" then
        if truth(a) then
            return 1
        end
        local b = expr.eval(e[2], env)
        return b and num(truth(b))
    end
    local b = e[2] and expr.eval(e[2], env)
    if e[2] and not b then
        return nil
    end
    return work[e.op](a, b)
end

-- the code that is written just now, its length, and who knows its names
local out, length, known_to

local function put(op, arg)
    out[length + 1] = op
    out[length + 2] = arg or 0
    length = length + 2
    return length
end

local function emit(n)
    local op = n.op
    if n.k then
        put(K, n.k)
    elseif n.field then
        local kind, where = known_to:resolve(n.field)
        put(kind == "load" and LOAD or REG, where)
    elseif n.var then
        put(VAR, expr.variables[n.var])
    elseif n.read then
        emit(n[1])
        put(readers[n.read])
    elseif n.under then
        put(UNDER, n.under)
    elseif n.line then
        put(LINE, n.line)
    elseif n.cond then
        emit(n.cond)
        local no = put(JZ)
        emit(n[1])
        local done = put(JMP)
        out[no] = length // 2
        emit(n[2])
        out[done] = length // 2
    elseif op == "&&" or op == "||" then
        emit(n[1])
        if op == "||" then
            put(NOT)
        end
        local short = put(JZ)
        emit(n[2])
        put(BOOL)
        local done = put(JMP)
        out[short] = length // 2
        put(K, op == "||" and 1 or 0)
        out[done] = length // 2
    else
        emit(n[1])
        if n[2] then
            emit(n[2])
            put(code_of[op])
        else
            put(op == "!" and NOT or op == "~" and INV or NEG)
        end
    end
end

--- Code for the engine: a flat list op, argument, op, argument, ... `names:resolve(name)` gives "load" and a
-- declaration, or "reg" and a register.
function expr.code(e, names)
    out, length, known_to = {}, 0, names
    emit(e)
    return out
end

return expr
