--- Layers of an edited packet that aren't as their tables say (malformed options, say): they stay as they are, but for
-- fields of fixed places. What their tables say of lengths and checksums is worked out from what could be read.

local expr = require "ringtap.expr"
local value = require "ringtap.build.value"
local read = require "ringtap.build.read"

local M = {}

--- s with these bits replaced.
function M.splice(s, bit, bits, wire)
    local from, to = bit // 8, (bit + bits + 7) // 8
    if math.type(wire) ~= "integer" then
        return s:sub(1, from) .. wire .. s:sub(to + 1)
    end
    local n = to - from
    local shift = to * 8 - bit - bits
    if n > 8 then
        error("a field that can't be changed where it is", 0)
    end
    local mask = (bits == 64 and -1 or (1 << bits) - 1) << shift
    local old = (">I" .. n):unpack(s, from + 1)
    return s:sub(1, from) .. (">I" .. n):pack(old & ~mask | wire << shift & mask) .. s:sub(to + 1)
end

local reading = {}
reading.__index = reading

--- What can be read of an opaque layer of these bytes. start: where it is, if that isn't where it was.
function M.reading(layer, bytes, start)
    local info = {}
    for k, v in pairs(layer.info) do
        info[k] = v
    end
    info.start = start or info.start
    info.len = info.len + #bytes - #layer.original
    local scope, _, env, partial = read.layer(layer.p, bytes, info, layer.soft)
    return setmetatable({ scope = scope or partial, env = env, layer = layer }, reading)
end

--- An expression as a number; nil: it can't be told.
function reading:eval(e)
    return expr.eval(e, self.env)
end

--- Where the field of that name is, like encode.slot's.
function reading:slot(name)
    local found
    for it, nodes in pairs(self.scope.raw) do
        local node = it.kind == "field" and it.name == name and nodes[1]
        if node and (not found or node.bit < found.bit) then
            found = { f = it, bit = node.bit, bits = node.bits, node = node, given = self.layer.given[node.bit] }
        end
    end
    return found
end

-- The layer's bytes with the length in it that e tells moved by so many bytes.
local function move(r, bytes, e, delta)
    local env, tried = r.env, nil
    local probe = setmetatable({ field = function(name)
        return env.field(name) + (tried and tried[name] or 0)
    end }, { __index = env })
    local now = expr.eval(e, probe)
    local slots = {}
    for it, nodes in pairs(r.scope.raw) do
        if it.kind == "field" and it.bits and value.is_number(it) then
            slots[it.short] = { it, nodes[1] }
        end
    end
    local names = {}
    expr.walk(e, function(n)
        if n.field and slots[n.field] then
            names[#names + 1] = n.field
        end
    end)
    for _, name in ipairs(now and names or {}) do
        local f, node = slots[name][1], slots[name][2]
        tried = { [name] = f.scale }
        local slope = (expr.eval(e, probe) or now) - now
        if slope ~= 0 then
            if r.layer.given[node.bit] then
                return bytes
            elseif delta % slope ~= 0 then
                error(("%s: what it carries can't be %d bytes %s"):format(f.name or r.layer.p.name, math.abs(delta),
                    delta > 0 and "longer" or "shorter"), 0)
            end
            local v = value.number(f, node.raw, node.bits) + delta // slope * f.scale
            return M.splice(bytes, node.bit, node.bits, value.wire_number(f, v, node.bits))
        end
    end
    return bytes
end

--- The bytes of the layer before what it carries, `data`: the length in them is moved by as much as that has grown.
function M.bytes(layer, data)
    local delta = #data - (layer.to - layer.from)
    local total = layer.p.total
    if delta == 0 or not total then
        return layer.opaque
    end
    local r = M.reading(layer, layer.opaque .. layer.original:sub(layer.from + 1))
    for _, e in pairs { layer.p.untold or false, layer.p.guessed or false } do
        if e and (r:eval(e) or 0) ~= 0 then
            return layer.opaque
        end
    end
    return move(r, layer.opaque, total, delta)
end

return M
