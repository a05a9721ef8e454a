--- From a protocol's table to a checked tree: every key known, every expression parsed, every type resolved. Compiling
-- and building work on this tree. The language is told at the top of ringtap/protocol.lua.

local core = require "ringtap.core"
local expr = require "ringtap.expr"

local M = {}

local math_type = math.type

local type_codes = {
    uint = 1, int = 2, bool = 3, ipv4 = 4, ipv6 = 5, ether = 6, eui64 = 7, guid = 8, bytes = 9, string = 10,
    stringz = 11, name = 12, oid = 13, time = 14, ntp = 15, seconds = 16, float = 17, frame = 18, fixed = 19,
    decimal = 20, ber = 21, varint = 22,
}
local fixed_bits = {
    ipv4 = 32, ipv6 = 128, ether = 48, eui64 = 64, guid = 128, time = 32, ntp = 64, seconds = 32, bool = 1,
}
local variable = {
    bytes = true, string = true, stringz = true, oid = true, name = true, uint = true, decimal = true, int = true,
    ber = true, varint = true,
}
local bases = { dec = 0, hex = 1, oct = 2, colon = 3 }

local proto_keys = {
    name = "string", prefix = "string", shown = "string", title = "string", on = "table",
    header = "expr", total = "expr",
    guessed = "expr", untold = "expr", check = "table",
    next = "table", guess = "table", accept = "expr", refusal = "string",
    checksum = "table", groups = "table", line = "any",
    build = "function", hidden = "boolean", stream = "any", once = "boolean",
}
local field_keys = {
    size = "expr", until_ = "string", le = "boolean", ascii = "boolean", none = "boolean", base = "string",
    digits = "integer", scale = "integer",
    add = "integer", values = "table", also = "any", sub = "table", when = "expr", overlay = "boolean", value = "any",
    default = "any", hidden = "boolean", bits = "integer", point = "integer",
}
local group_keys = {
    behind = "boolean", at = "expr", when = "expr",
    size = "expr", until_ = "string", loop = "any", stop = "expr", list = "string",
}
local other_keys = {
    switch = { switch = "expr", cases = "table", default = "table", when = "expr", size = "expr" },
    call = { call = "string", when = "expr" },
    check = { check = "expr" },
    align = { align = "integer" },
    headers = { headers = "table", line = "any", fold = "boolean" },
    origin = { origin = "boolean" },
}
local rule_keys = {
    table = "string", key = "expr", guess_by = "string", stop = "boolean", when = "expr", at = "expr", size = "expr",
    pass = "expr", guess = "boolean", quoted = "boolean", fragment = "boolean", via = "string",
}
local checksum_keys = {
    field = "string", sum = "any", pseudo = "any", protocol = "integer", length = "expr", from = "expr",
    to = "expr", skip_from = "expr", skip_to = "expr", zero_is_none = "boolean", zero_is_ones = "boolean",
    when = "expr",
}

local function fail(where, format, ...)
    error(("protocol %s: " .. format):format(where, ...), 0)
end

local nearest = core._nearest

local function unknown_key(where, key, keys)
    local names = {}
    for name in pairs(keys) do
        names[#names + 1] = name
    end
    local near = nearest(key, names)
    fail(where, "unknown key '%s'%s", key, near and (" (did you mean '%s'?)"):format(near) or "")
end

local function check_keys(where, t, keys)
    for key, v in next, t do
        local want, is = keys[key], type(v)
        if is == "number" then
            is = math_type(v)
        end
        if want == "expr" then
            if is ~= "integer" and is ~= "string" then
                fail(where, "'%s' is an expression (text or an integer), not %s", key, is)
            end
        elseif want ~= is and want ~= "any" and type(key) == "string" then
            if not want then
                unknown_key(where, key, keys)
            end
            fail(where, "'%s' is %s, not %s", key, want, is)
        end
    end
end

local function full_name(p, name)
    if name:sub(1, 1) == "." then
        return name:sub(2)
    end
    return (p.prefix or p.name) .. "." .. name
end

local expr_parse = expr.parse

local function parse(where, text)
    if text == nil then
        return nil
    end
    local ok, e = pcall(expr_parse, text)
    if not ok then
        fail(where, "%s", e)
    end
    return e
end

-- ---------------------------------------------------------------- from the user's table to a checked tree

local normal_items

local function normal_field(p, where, item)
    local name, kind, title = item[1], item[2], item[3]
    where = where .. "." .. name
    if not name:find "^%.?[%w_][%w_.-]*$" then
        fail(where, "'%s' is no field name", name)
    end
    check_keys(where, item, field_keys)
    local f = {
        kind = "field", short = name, name = name:sub(1, 1) ~= "_" and full_name(p, name) or nil, proto = p,
        title = title or (name:gsub("^.*[.]", "")), base = item.base or "dec", le = item.le, scale = item.scale or 1,
        add = item.add or 0, values = item.values, default = item.default, overlay = item.overlay, hidden = item.hidden,
        when = parse(where, item.when), until_ = item.until_, ascii = item.ascii, none = item.none,
    }
    if kind == nil and item.value ~= nil then
        kind = "uint"
    end
    if math_type(kind) == "integer" then
        if kind < 1 or kind > 64 then
            fail(where, "an integer has 1 to 64 bits, not %d", kind)
        end
        f.type, f.bits = "uint", kind
    elseif not type_codes[kind] and type(kind) == "string" and kind:find "^int%d+$" then
        f.type, f.bits = "int", math.tointeger(tonumber(kind:sub(4)))
        if f.bits < 2 or f.bits > 64 then
            fail(where, "there is no type '%s'", kind)
        end
    elseif not type_codes[kind] and type(kind) == "string" and kind:find "^frame:%d+$" then
        f.type, f.bits = "frame", math.tointeger(tonumber(kind:sub(7)))
    elseif type_codes[kind] and (kind ~= "int" or item.size) then
        f.type, f.bits = kind, item.bits or fixed_bits[kind]
        if item.size and (kind == "ipv4" or kind == "ipv6") then -- a prefix
            f.bits = nil
        end
        if kind == "fixed" and not (item.bits and item.point and item.point > 0 and item.point < 17) then
            fail(where, "a fixed-point number has bits and point (1 to 16)")
        end
        if kind == "float" and f.bits ~= 32 and f.bits ~= 64 then
            fail(where, "a float has bits = 32 or 64")
        end
        if kind == "bool" and f.bits > 64 or kind == "seconds" and f.bits > 64 then
            fail(where, "at most 64 bits")
        end
    else
        local names = {}
        for n in pairs(type_codes) do
            names[#names + 1] = n
        end
        local near = type(kind) == "string" and nearest(kind, names)
        fail(where, "a type is a number of bits or a name, not %s%s", tostring(kind),
            near and (" (did you mean '%s'?)"):format(near) or "")
    end
    if not bases[f.base] then
        fail(where, "base is dec, hex, oct or colon, not '%s'", f.base)
    end
    if item.size and not variable[f.type] and f.bits then
        fail(where, "type '%s' has its own size", tostring(kind))
    end
    f.size = parse(where, item.size)
    if (f.type == "uint" or f.type == "int") and f.size and f.size.k and (f.size.k < 1 or f.size.k > 8) then
        fail(where, "an integer has 1 to 8 bytes, not %d", f.size.k)
    end
    f.digits, f.point = item.digits or item.point, item.point
    local sum = p.def.checksum and p.def.checksum.sum
    if item.value == "$checksum" and type(sum) == "function" then
        item = setmetatable({ value = function(_, layer) return M.verify(p, sum, layer) end }, { __index = item })
    end
    if type(item.value) == "function" then
        f.func = item.value
        if not item.size and not f.bits and not item.until_ then
            f.value = { k = 0 }
        elseif math.type(kind) == "integer" then
            f.value = nil
        end
        if variable[f.type] and not item.size and not item.until_ then
            f.value = { k = 0 }
        end
    elseif item.value ~= nil then
        f.value = parse(where, item.value)
    end
    if (f.type == "uint" or f.type == "int") and not f.bits and not f.size and not f.value then
        fail(where, "a 'uint' needs a size")
    end
    if f.type == "frame" then
        f.value = nil
    end
    f.also = {}
    if item.also then
        for i, also in ipairs(type(item.also) == "table" and item.also or { item.also }) do
            f.also[i] = full_name(p, also)
        end
    end
    if item.sub then
        f.sub = normal_items(p, where, item.sub)
    end
    return f
end

local special_kinds = { "switch", "call", "check", "align", "headers", "origin" }

local function normal_item(p, where, item)
    if type(item) ~= "table" then
        fail(where, "an item is a table, not %s", type(item))
    end
    local first = type(item[1])
    if first == "string" and item[3] then -- most are fields with a title
        return normal_field(p, where, item)
    end
    for i = 1, #special_kinds do
        local kind = special_kinds[i]
        if item[kind] ~= nil then
            check_keys(where, item, other_keys[kind])
            local n = { kind = kind, when = parse(where, item.when), size = parse(where, item.size) }
            if kind == "switch" then
                n.switch, n.cases = parse(where, item.switch), {}
                for key, items in pairs(item.cases or fail(where, "a switch needs cases")) do
                    if math.type(key) ~= "integer" then
                        fail(where, "a case is an integer, not '%s'", tostring(key))
                    end
                    n.cases[key] = normal_items(p, where, items)
                end
                n.default = item.default and normal_items(p, where, item.default)
            elseif kind == "call" then
                n.call = item.call
                if not (p.def.groups and p.def.groups[n.call]) then
                    fail(where, "there is no group '%s'", n.call)
                end
            elseif kind == "check" then
                n.check, n.message = parse(where, item.check), item[1] or "malformed"
            elseif kind == "align" then
                n.align = item.align
                if n.align < 1 then
                    fail(where, "align is at least 1")
                end
            elseif kind == "headers" then
                n.headers, n.fold = {}, item.fold
                for key, name in pairs(item.headers) do
                    local f = normal_field(p, where, type(name) == "table" and name or { name, "string", key })
                    f.header, f.walked = key, type(name) == "table"
                    n.headers[key:lower()] = f
                end
                n.line = item.line and normal_field(p, where,
                    type(item.line) == "table" and item.line or { item.line, "string", "Line" })
            end
            return n
        end
    end
    if first == "string" then
        return normal_field(p, where, item)
    end
    check_keys(where, item, group_keys)
    local n = {
        kind = "group", when = parse(where, item.when), size = parse(where, item.size), list = item.list,
        until_ = item.until_, behind = item.behind, at = parse(where, item.at), stop = parse(where, item.stop),
        items = normal_items(p, where, item),
    }
    if n.at and not n.size then
        fail(where, "a group with at needs a size")
    end
    if item.loop == true then
        n.loop = true
    elseif item.loop then
        n.loop = parse(where, item.loop)
    end
    return n
end

function normal_items(p, where, items)
    local list = {}
    if type(items) ~= "table" then
        fail(where, "a list of items is a table, not %s", type(items))
    end
    for i, item in ipairs(items) do
        list[i] = normal_item(p, where, item)
    end
    return list
end

--- Is the checksum that a function makes right? As $checksum has it.
function M.verify(p, sum, layer)
    local at, width = p.checksum_at // 8, p.checksum_bits // 8
    if #layer < at + width then
        return 2
    end
    local zeroed = layer:sub(1, at) .. ("\0"):rep(width) .. layer:sub(at + width + 1)
    return sum(zeroed) == (">I" .. width):unpack(layer, at + 1) and 1 or 0
end

--- The checked tree of a table. Raises text that names the protocol and the place.
function M.check(def)
    if type(def) ~= "table" then
        error(("a protocol is a table, not %s"):format(type(def)), 0)
    end
    if type(def.name) ~= "string" or not def.name:find "^[%a_][%w_.-]*$" then
        error("a protocol needs a name of letters, digits, '_' and '.'", 0)
    end
    local where = def.name
    check_keys(where, def, proto_keys)
    local p = {
        name = def.name, prefix = def.prefix, shown = def.shown or def.name,
        title = def.title or def.name:upper(), def = def, line = def.line,
        build = def.build,
        hidden = def.hidden, stream = parse(where, def.stream == true and 1 or def.stream or nil), once = def.once,
        refusal = def.refusal,
    }
    for _, key in ipairs { "header", "total", "guessed", "untold", "accept" } do
        p[key] = parse(where, def[key])
    end
    p.items = normal_items(p, where, def)
    p.groups = {}
    for name, items in pairs(def.groups or {}) do
        p.groups[name] = normal_items(p, where .. "." .. name, items)
    end
    p.check = {}
    for i, c in ipairs(def.check or {}) do
        p.check[i] = { parse(where, c[1]), c[2] or "malformed" }
    end
    p.next = {}
    for i, r in ipairs(def.next or {}) do
        if type(r) == "string" then
            r = { r }
        end
        check_keys(where .. ".next", r, rule_keys)
        p.next[i] = {
            proto = r[1], table = r.table, key = parse(where, r.key), guess_by = r.guess_by, stop = r.stop,
            when = parse(where, r.when), at = parse(where, r.at), size = parse(where, r.size), guess = r.guess,
            pass = parse(where, r.pass),
            quoted = r.quoted, fragment = r.fragment, via = r.via,
        }
        if r.table and not r.key then
            fail(where, "a rule with a table needs a key")
        end
    end
    p.guess = {}
    for list, e in pairs(def.guess or {}) do
        p.guess[list] = parse(where, e)
    end
    if def.checksum then
        check_keys(where .. ".checksum", def.checksum, checksum_keys)
        local c = { field = def.checksum.field, sum = def.checksum.sum or "inet",
            pseudo = parse(where, def.checksum.pseudo == true and 1 or def.checksum.pseudo or nil),
            protocol = def.checksum.protocol, zero_is_none = def.checksum.zero_is_none,
            zero_is_ones = def.checksum.zero_is_ones }
        for _, key in ipairs { "length", "from", "to", "skip_from", "skip_to", "when" } do
            c[key] = parse(where, def.checksum[key])
        end
        p.checksum = c
    end
    return p
end

M.type_codes, M.bases, M.fail, M.full_name, M.nearest, M.parse = type_codes, bases, fail, full_name, nearest, parse
return M
