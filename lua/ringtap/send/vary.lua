--- Values that change from frame to frame, as people write them: what blast's option `vary` maps a field's name to.
--
--   { from = a, to = b, step = n }   a, a + n, ... b, and again from a; step may be negative, and is 1 if not given
--   { random = true }                any value of the field; { random = true, from = a, to = b } one of these
--   { a, b, c }                      each in turn
--   { counter = a }                  a, a + 1, ...
--   function(first, n)               asked before each batch of n frames, of which the first is number `first` (from
--                                    1): a value for all of them, or a list that is gone through
--   "increment"                      from the value that the packet has
--   "counter"                        { counter = 0 }
--   "random", "a-b", "net/len", "a,b,c"

local core = require "ringtap.core"
local value = require "ringtap.send.value"

local vary = {}

local keys = { from = true, to = true, step = true, random = true, counter = true, seed = true }

local function fail(name, format, ...)
    error(("vary: %s: %s"):format(name, format:format(...)), 0)
end

-- a-b, net/len, a,b,c
local function from_text(name, text)
    if text == "increment" then
        return { increment = true }
    elseif text == "counter" then
        return { counter = 0 }
    elseif text == "random" then
        return { random = true }
    elseif text:find "," then
        local list = {}
        for part in (text .. ","):gmatch "%s*(.-)%s*," do
            list[#list + 1] = part
        end
        return list
    end
    local net, len = text:match "^(.-)/(%d+)$"
    if net then
        return { net = net, len = tonumber(len) }
    end
    local a, b = text:match "^%s*([^%-]+)%-([^%-]+)%s*$"
    if not a then
        fail(name, '"increment", "counter", "random", "a-b", "net/len" or "a,b,c", not %q', text)
    end
    return { from = a, to = b }
end

local function check_keys(name, t)
    for key in pairs(t) do
        if math.type(key) ~= "integer" and not keys[key] then
            fail(name, "unknown key '%s' (there are: counter, from, random, seed, step, to)", tostring(key))
        end
    end
end

-- A field of more than 64 bits varies in its last 64: the rest of both ends has to be the same.
local function split(name, from, to)
    if type(from) ~= "string" then
        return from, to
    elseif #from ~= 16 then
        fail(name, "a range of numbers or addresses")
    elseif from:sub(1, 8) ~= to:sub(1, 8) then
        fail(name, "the first 64 bits of both ends have to be the same")
    end
    return (">i8"):unpack(from, 9), (">i8"):unpack(to, 9), from
end

local function range(name, place, wire, t)
    local all = place.bits >= 64 and -1 or (1 << place.bits) - 1
    local from, to, whole
    if t.net then
        local bits = place.bits
        if t.len > bits or bits ~= 32 and bits ~= 128 and bits ~= 48 then
            fail(name, "net/len is for addresses, and len is up to their bits")
        end
        local address, host = wire(t.net), bits - t.len
        if bits == 128 and host > 64 then
            fail(name, "up to 2^64 addresses: a length of 64 at least")
        end
        local first, _, high = split(name, address, address)
        local mask = host >= 64 and -1 or (1 << host) - 1
        from, to = first & ~mask, first | mask
        whole = high and high:sub(1, 8) .. (">i8"):pack(from)
    elseif t.from == nil and t.to == nil then
        from, to = 0, all
    elseif t.from == nil or t.to == nil then
        fail(name, "both ends of the range: from and to")
    else
        from, to, whole = split(name, wire(t.from), wire(t.to))
    end
    return from, to, whole
end

local function step_of(name, t, from, to)
    local step = t.step == nil and 1 or t.step
    if math.type(step) ~= "integer" or step == 0 or step == math.mininteger then
        fail(name, "step: an integer, not %s", tostring(step))
    elseif math.ult(to, from) == (step > 0) and from ~= to then
        fail(name, "from is %s than to (a range that falls has a negative step)", step > 0 and "greater" or "less")
    end
    return step
end

--- What core._blast needs of it; and the whole value (bytes) that the templates get before it starts, if any.
---@param name string field, "payload@4:8" or "frame@0"
---@param spec any
---@param templates table[] private copies
---@param seed integer
---@return table spec, string? whole
function vary.compile(name, spec, templates, seed)
    local place
    for _, t in ipairs(templates) do
        place = place or core._place(t, name)
    end
    if not place then
        error(("vary: there is no %s in the packet"):format(name), 0)
    elseif place.structural then
        error(("vary: how the packet is laid out depends on %s: make a list of packets instead"):format(name), 0)
    end
    local text = type(spec) == "string"
    local function wire(v)
        if text and not place.protocol then -- in a text numbers are meant
            v = math.tointeger(tonumber(v)) or v
        end
        return value.wire(place.protocol, place.field or name, place.bits, v)
    end
    local out = { name = name, low = place.bits == 128 }
    if type(spec) == "string" then
        spec = from_text(name, spec)
    end
    if type(spec) == "function" then
        out.kind, out.low = "ask", nil
        out.size = place.bits > 64 and place.bits // 8 or nil
        function out.fn(first, n)
            local v = spec(first, n)
            local list = {}
            for i, one in ipairs(type(v) == "table" and v or { v }) do
                list[i] = wire(one)
            end
            if #list == 0 then
                fail(name, "its function gave no value")
            end
            return list
        end
        return out
    elseif type(spec) ~= "table" then
        fail(name, "a table, a text or a function, not %s", type(spec))
    end
    if #spec > 0 then
        out.kind, out.low, out.values = "list", nil, {}
        for i, v in ipairs(spec) do
            out.values[i] = wire(v)
        end
        out.size = place.bits > 64 and place.bits // 8 or nil
        return out
    end
    if not spec.increment and not spec.net then
        check_keys(name, spec)
    end
    if place.bits > 64 and place.bits ~= 128 then
        fail(name, "it has %d bytes: a list of values or a function", place.bits // 8)
    end
    if spec.counter or spec.increment then
        local all = place.bits >= 64 and -1 or (1 << place.bits) - 1
        out.kind, out.from, out.to = "range", 0, all
        if place.bits > 64 then
            fail(name, "a range of addresses, not a counter")
        end
        out.next = spec.increment and place.value or wire(spec.counter)
        return out
    end
    local whole
    out.from, out.to, whole = range(name, place, wire, spec)
    if spec.seed ~= nil and math.type(spec.seed) ~= "integer" then
        fail(name, "seed: an integer, not %s", tostring(spec.seed))
    end
    if spec.random then
        if math.ult(out.to, out.from) then
            fail(name, "from is greater than to")
        end
        out.kind, out.seed = "random", spec.seed or seed
    else
        if spec.from == nil and not spec.net then
            fail(name, "a range (from, to), a list, a counter or random")
        end
        out.kind, out.step = "range", step_of(name, spec, out.from, out.to)
    end
    return out, whole
end

return vary
