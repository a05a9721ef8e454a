--- A layer of a packet as the scopes that ringtap/build/encode.lua writes: for every field its bits, and beside them
-- what no field covers. The walk is the engine's (src/packet/walk.c), in Lua; what isn't as its table says is left to
-- the caller (nil): such a layer stays as it is.

local expr = require "ringtap.expr"
local value = require "ringtap.build.value"
local schema = require "ringtap.build.schema"

local M = {}

local HALT = {}    -- the bytes end here
local WRONG = {}   -- something isn't as the table has it

local function number_of(f, raw, bits)
    if value.is_sizeless(f) then
        return value.sizeless(f, raw)
    elseif math.type(raw) == "integer" then
        return value.number(f, raw, bits)
    elseif bits == 0 or bits > 64 then
        return bits // 8
    end
    return value.number(f, value.load(raw, 0, bits), bits)
end

local function environment(r)
    local env = {}
    function env.field(name)
        return r.regs[name] or 0
    end
    function env.var(name)
        if name == "here" then
            return r.pos // 8
        elseif name == "rest" then
            return (r.region - r.pos) // 8
        elseif name == "index" then
            return r.index
        elseif name == "cap" then
            return r.cap
        elseif name == "payload" then
            return r.layer.len - r.layer.header
        elseif name == "checksum" then
            return 2
        end
        return r.layer[name] or name == "direction" and 0 or nil
    end
    function env.read(kind, n)
        local width = math.tointeger(tonumber(kind:match "%d+")) // 8
        if kind:find "^at" then
            n = n + r.pos // 8
        end
        if n < 0 or n + width > r.cap then
            return nil
        end
        return ((kind:find "^le" and "<" or ">") .. "I" .. width):unpack(r.bytes, n + 1)
    end
    function env.under(name)
        return r.layer.under == name
    end
    function env.line(text)
        local line = r.bytes:sub(1, math.min(1024, r.cap)):match "^[^\r\n]*"
        return line:find(text, 1, true) ~= nil
    end
    return env
end

local function eval(r, e)
    return expr.eval(e, r.env)
end

local function keep(r, it, node)
    local raw = r.scope.raw
    raw[it] = raw[it] or {}
    table.insert(raw[it], node)
    return node
end

-- Conditions: noted too, for those that can't be told from what was written.
local function is_there(r, it, e)
    local v = eval(r, e)
    local there = v ~= nil and v ~= 0
    local visits = r.scope.visits
    visits[it] = visits[it] or {}
    table.insert(visits[it], there)
    return there
end

local function string_at(r, bit, bits)
    if bit % 8 == 0 then
        return r.bytes:sub(bit // 8 + 1, (bit + bits) // 8)
    end
    local parts = {}
    for i = 1, bits // 8 do
        parts[i] = string.char(value.load(r.bytes, bit + (i - 1) * 8, 8))
    end
    return table.concat(parts)
end

local function until_text(r, from, to, text)
    local s = r.bytes:sub(from + 1, to)
    local at, stop = s:find(text, 1, true)
    if text == "\r\n" then
        at = s:find("\n", 1, true)
        stop = at
        if at and s:sub(at - 1, at - 1) == "\r" then
            at = at - 1
        end
    end
    if not at then
        return #s, ""
    end
    return at - 1, s:sub(at, stop)
end

-- Nothing more can be read. `soft` layers go on elsewhere.
local function short(r, beyond)
    if r.cap * 8 < r.region or r.soft or beyond then
        error(HALT, 0)
    end
    error(WRONG, 0)
end

-- ---------------------------------------------------------------- fields

local items

local function read_name(r, limit)
    local at, first = r.pos // 8, r.pos // 8
    local node = { labels = {}, at = first - r.origin }
    local bound, octets, length = at, 0, nil
    while true do
        if at >= limit then
            if length then
                error(WRONG, 0)
            end
            short(r)
        end
        local n = r.bytes:byte(at + 1)
        if n >= 0xc0 then
            if at + 2 > limit then
                short(r)
            end
            local target = (n & 0x3f) << 8 | r.bytes:byte(at + 2)
            if not length then
                length, node.inline, node.target = at + 2 - first, #node.labels, target
            end
            at = r.origin + target
            if at >= bound then
                error(WRONG, 0)
            end
            bound = at
        elseif n >= 0x40 then
            error(WRONG, 0)
        else
            octets = octets + n + 1
            if octets > 255 then
                error(WRONG, 0)
            elseif n == 0 then
                break
            end
            node.labels[#node.labels + 1] = r.bytes:sub(at + 2, at + 1 + n)
            at = at + n + 1
        end
    end
    node.inline = node.inline or #node.labels
    return node, length or at + 1 - first
end

-- Bytes of a field without a width of its own, what ends it, and (names) more about it.
local function measure(r, f)
    local stop = math.min(r.region // 8, r.cap)
    local at = r.pos // 8
    if f.size then
        local n = eval(r, f.size)
        if not n then
            short(r, true)
        elseif n < 0 or n > 0xffffff then
            error(WRONG, 0)
        elseif f.type == "name" and at + n <= stop then
            local ok, node, length = pcall(read_name, r, at + n)
            return n, "", ok and length == n and node or nil
        end
        return n, ""
    elseif f.until_ then
        return until_text(r, at, stop, f.until_)
    elseif f.type == "name" then
        local node, n = read_name(r, stop)
        return n, "", node
    elseif f.type == "stringz" then
        return until_text(r, at, stop, "\0")
    elseif f.type == "ber" or f.type == "varint" then
        local first = r.bytes:byte(at + 1)
        if at >= stop then
            short(r)
        end
        local n = f.type == "varint" and 1 << (first >> 6) or first > 0x80 and 1 + (first & 0x7f) or 1
        return n, ""
    end
    return math.max(0, stop - at), ""
end

local function region(r, from, to, list)
    local outer = r.region
    r.pos, r.region = from, to
    items(r, list)
    local pos = r.pos
    r.region = outer
    return pos
end

local function field(r, f)
    if f.when and not is_there(r, f, f.when) then
        return
    end
    if f.value or f.type == "frame" then
        local v = f.value and eval(r, f.value) or f.func and 0
        if v then
            r.regs[f.short] = v * f.scale + f.add
        end
        if f.sub then
            region(r, r.pos, r.pos, f.sub)
        end
        return
    end
    local start, bits, skip, node = r.pos, f.bits, "", nil
    if not bits then
        bits, skip, node = measure(r, f)
        bits = bits * 8
    end
    if start + bits > r.region then
        short(r, start + bits > r.cap * 8 and r.cap * 8 < r.region)
    elseif start + bits > r.cap * 8 then
        error(HALT, 0)
    elseif (f.type == "uint" or f.type == "int") and bits > 64 or f.type == "ipv4" and bits > 32
        or f.type == "ipv6" and bits > 128 then
        error(WRONG, 0)
    end
    node = node or {}
    node.bit, node.bits, node.skip = start, bits, skip
    if value.is_number(f) then
        node.raw = value.load(r.bytes, start, bits)
    else
        node.raw = string_at(r, start, bits)
    end
    keep(r, f, node)
    local stop = start + bits + #skip * 8
    if f.type ~= "decimal" or node.raw:find "^%d+$" and #node.raw <= 18 then
        local v = number_of(f, node.raw, bits)
        if f.type == "ber" and node.raw == "\x80" then
            v = (r.region - stop) // 8
        end
        r.regs[f.short] = v
    end
    if f.sub then
        local pos = region(r, start, start + bits, f.sub)
        if not f.bits then
            node.covered = (pos - start + 7) // 8
            node.tail = string_at(r, start + node.covered * 8, bits - node.covered * 8)
        end
    end
    r.pos = f.overlay and start or stop
end

-- ---------------------------------------------------------------- lists and regions

local function loop(r, it)
    local outer, index = r.scope, r.index
    local key = it.list or it
    local list = {}
    outer.lists[key] = outer.lists[key] or {}
    table.insert(outer.lists[key], list)
    local function stop_here(beyond)
        list.halt, r.at = true, nil
        short(r, beyond)
    end
    local left
    if it.loop ~= true then
        left = eval(r, it.loop) or stop_here(true)
    end
    if left and left <= 0 or not left and r.pos >= r.region then
        return
    elseif r.pos >= r.cap * 8 then
        stop_here()
    end
    local n = 0
    while true do
        local start = r.pos
        r.index = n
        r.scope = M.new_scope(schema.of(r.p, it.items))
        list[#list + 1] = r.scope
        items(r, it.items)
        n = n + 1
        r.index = n
        local done = it.stop and eval(r, it.stop) or 0
        if done ~= 0 or left and n >= left or not left and r.pos >= r.region then
            break
        elseif r.pos <= start then
            error(WRONG, 0)
        elseif r.pos >= math.min(r.region, r.cap * 8) then
            stop_here()
        end
    end
    r.scope, r.index = outer, index
end

-- What has a size or an end of its own, with what its items leave.
local function sized(r, it, node, list)
    if it.until_ then
        local at = (r.pos + 7) // 8
        local n, skip = until_text(r, at, math.min(r.region // 8, r.cap), it.until_)
        local stop = (at + n) * 8
        local pos = region(r, at * 8, stop, list)
        node.covered = (pos - at * 8 + 7) // 8
        node.tail, node.skip = string_at(r, at * 8 + node.covered * 8, stop - at * 8 - node.covered * 8), skip
        r.pos = stop + #skip * 8
        return
    end
    local n = eval(r, it.size)
    if not n then
        error(HALT, 0)
    end
    local start = r.pos
    local stop = start + n * 8
    if n < 0 or stop > r.region then
        if n > 0 and r.cap * 8 < r.region and stop > r.cap * 8 then
            error(HALT, 0)
        end
        error(WRONG, 0)
    end
    local pos = region(r, start, stop, list)
    node.covered = (pos - start + 7) // 8
    if stop > r.cap * 8 then
        node.halt, r.at = true, nil
        error(HALT, 0)
    end
    node.tail = string_at(r, start + node.covered * 8, stop - start - node.covered * 8)
    node.content = string_at(r, start, stop - start)
    r.pos = stop
end

local function group(r, it)
    if it.behind or it.when and not is_there(r, it, it.when) or it.at then
        return
    end
    local list = it.loop and { { kind = "rounds", it = it } } or it.items
    if it.size or it.until_ then
        sized(r, it, keep(r, it, {}), list)
    else
        items(r, list)
    end
end

local function switch(r, it)
    if it.when and not is_there(r, it, it.when) then
        return
    end
    local v = eval(r, it.switch)
    local case = v and it.cases[v]
    local node = keep(r, it, { case = case and v or false })
    if it.size then
        sized(r, it, node, case or it.default or {})
    else
        items(r, case or it.default or {})
    end
end

local function align(r, it)
    local n = it.align * 8
    local pos = (r.pos + n - 1) // n * n
    if pos > r.region then
        error(WRONG, 0)
    elseif pos > r.cap * 8 then
        error(HALT, 0)
    end
    local from = (r.pos + 7) // 8
    keep(r, it, { gap = r.bytes:sub(from + 1, pos // 8) })
    r.pos = pos
end

local function headers(r, it)
    local stop = math.min(r.region // 8, r.cap)
    local at = (r.pos + 7) // 8
    local node = keep(r, it, { lines = {}, blank = "" })
    while at < stop do
        local n, skip = until_text(r, at, stop, "\r\n")
        if n == 0 then
            node.blank = skip
            at = at + #skip
            break
        end
        while it.fold and r.bytes:find("^[ \t]", at + n + #skip + 1) and at + n + #skip < stop do
            n = n + #skip
            local more, last = until_text(r, at + n, stop, "\r\n")
            n, skip = n + more, last
        end
        local text = r.bytes:sub(at + 1, at + n)
        local line = { before = text .. skip }
        if it.line then
            keep(r, it.line, { bit = at * 8, bits = (n + #skip) * 8, raw = text .. skip, skip = "" })
        end
        local key, space, v = text:match "^([^:]*):([ \t]*)(.*)$"
        local f = key and it.headers[key:lower()]
        if f then
            line.before = key .. ":" .. space
            line.after = text:sub(#line.before + #v + 1) .. skip
            line.field = f
            local from = at * 8 + #line.before * 8
            region(r, from, from + #v * 8, { f })
            if r.pos < from + #v * 8 then
                line.after = r.bytes:sub(r.pos // 8 + 1, at + #line.before + #v) .. line.after
            end
        end
        node.lines[#node.lines + 1] = line
        at = at + n + #skip
    end
    r.pos = at * 8
end

local run = {
    field = field, group = group, switch = switch, align = align, headers = headers,
    rounds = function(r, it) loop(r, it.it) end,
    check = function(r, it)
        local v = eval(r, it.check)
        if v == 0 then
            error(WRONG, 0)
        elseif not v then
            error(HALT, 0)
        end
    end,
    origin = function(r) r.origin = r.pos // 8 end,
    call = function(r, it)
        if it.when and not is_there(r, it, it.when) then
            return
        end
        r.depth = r.depth + 1
        if r.depth > 40 then
            error(WRONG, 0)
        end
        items(r, r.p.groups[it.call])
        r.depth = r.depth - 1
    end,
}

function items(r, list)
    for i = 1, #list do
        local it = list[i]
        local passed = r.scope.passed
        passed[it] = (passed[it] or 0) + 1
        r.at, r.at_scope = it, r.scope
        run[it.kind](r, it)
    end
end

function M.new_scope(s)
    return { schema = s, given = {}, lists = {}, raw = {}, visits = {}, passed = {} }
end

local function forget(scope)
    scope.passed = nil
    for _, times in pairs(scope.lists) do
        for _, list in ipairs(times) do
            for _, element in ipairs(list) do
                forget(element)
            end
        end
    end
end

--- Read a layer. bytes: from its first on, as many as the layer below leaves; layer: its len, header, start, wire,
-- link, parent_len, under, passed, inner_end; soft: it may go on elsewhere. The scope, the bits that were walked, and
-- how to work out expressions; nil: it isn't what its table says (the rest then as far as it was read, and as the
-- fourth value the scope).
function M.layer(p, bytes, layer, soft)
    local r = {
        p = p, bytes = bytes, layer = layer, cap = #bytes, pos = 0, regs = {}, index = 0, origin = 0, depth = 0,
        region = math.max(layer.len, layer.header) * 8, soft = soft, scope = M.new_scope(schema.of(p)),
    }
    r.env = environment(r)
    if soft or p.stream and (eval(r, p.stream) or 0) ~= 0 then
        r.soft = true
        r.cap = math.min(r.cap, layer.len)
        r.region = math.maxinteger // 2
    end
    local root = r.scope
    local ok, err = pcall(items, r, p.items)
    if not ok then
        if err ~= HALT then
            if err ~= WRONG then
                error(err, 0)
            end
            return nil, r.pos, r.env, root
        end
        if r.at then -- writing stops before the same item
            r.at_scope.halts = { [r.at] = r.at_scope.passed[r.at] }
        end
    end
    forget(root)
    return root, r.pos, r.env
end

return M
