--- Editing decoded packets: pkt:edit() gives a builder (ringtap/build.lua) whose layers are those of the packet. What
-- no field covers, private fields, trailers and payload stay; after a change the lengths, counts and checksums that
-- depend on it are made right, and only those.

local core = require "ringtap.core"
local protocol = require "ringtap.protocol"
local schema = require "ringtap.build.schema"
local value = require "ringtap.build.value"
local encode = require "ringtap.build.encode"
local sums = require "ringtap.build.sums"
local read = require "ringtap.build.read"
local opaque = require "ringtap.build.opaque"
local build = require "ringtap.build"

local M = {}

local TRUNCATED, QUOTED, FRAGMENT = 1, 16, 32 -- flags of layers, src/packet/engine.h

--- A builder with the layers of a packet.
---@param pkt ringtap.packet
function M.edit(pkt)
    local packet = pkt:copy()
    if packet.checksum == "not_ready" then -- left to the hardware when it was captured: good now, so that it can follow
        packet = core.template(packet):copy()
    end
    local state = { layers = {}, packet = packet, linktype = packet.linktype, time = packet.time, tail = "" }
    if packet.len > packet.caplen then
        state.more = packet.len - packet.caplen
    end
    state.tree = core._tree(packet)
    for i, t in ipairs(state.tree) do
        state.layers[i] = { p = protocol.proto[t.name], read = M.prepare }
    end
    return build.new(state)
end

-- ---------------------------------------------------------------- from a packet to layers that can be written

local function information(state, i, bytes, before)
    local t, below = state.tree[i], state.tree[i - 1]
    local above = state.tree[i + 1]
    return {
        len = t.stop - t.off, header = t.header, start = t.off, wire = state.packet.len - t.off, link = state.linktype,
        parent_len = below and below.stop - below.off or state.packet.len, under = below and below.name,
        passed = before and before.passed or 0, bytes = bytes,
        inner_end = above and above.stop - t.off or t.header,
    }
end

-- What the rule that leads on passes to the next layer.
local function passed_on(p, above, env)
    for _, r in ipairs(p.next) do
        if r.pass and (r.proto == above.name or r.table and above.def.on and above.def.on[r.table]) then
            return require("ringtap.expr").eval(r.pass, env) or 0
        end
    end
    return 0
end

local function make_layer(state, i, bytes, before)
    local t, above = state.tree[i], state.tree[i + 1]
    local p = protocol.proto[t.name]
    local bound = before and before.bound or #bytes
    local stop = math.min(t.stop, bound)
    local layer = {
        p = p, off = t.off, header = t.header, len = t.stop - t.off, bound = stop,
        cut = t.stop > #bytes or t.flags & (TRUNCATED | QUOTED | FRAGMENT) ~= 0,
    }
    local info = information(state, i, bytes, before)
    layer.info, layer.soft, layer.given = info, t.flags & (QUOTED | FRAGMENT) ~= 0, {}
    local scope, bits, env = read.layer(p, bytes:sub(t.off + 1, bound), info, layer.soft)
    layer.passed = above and passed_on(p, protocol.proto[above.name], env) or 0
    local items = scope and math.min((bits + 7) // 8, stop - t.off) or 0
    local header = math.min(t.header, stop - t.off)
    layer.scope = scope
    layer.covered = math.max(items, header)
    if above then
        layer.above, layer.above_proto = above.name, protocol.proto[above.name]
        layer.from, layer.to = above.off - t.off, math.min(above.stop, stop) - t.off
        layer.inside = layer.from < layer.covered
    else
        layer.from, layer.to = layer.covered, stop - t.off
    end
    local function part(from, to)
        return bytes:sub(t.off + from + 1, t.off + to)
    end
    layer.tail = part(items, layer.covered)
    layer.gap = part(layer.covered, layer.from)
    layer.trailer_at = t.off + math.max(layer.to, layer.inside and layer.covered or 0)
    layer.trailer = bytes:sub(layer.trailer_at + 1, stop)
    layer.original = bytes:sub(t.off + 1, stop)
    layer.items = t.items
    if not scope then
        M.close(layer)
    end
    return layer, stop
end

--- A layer that can't be written from its values stays as it is; fields in it can be changed where they are.
function M.close(layer)
    layer.opaque = layer.original:sub(1, layer.from)
    layer.scope = schema.new_scope(schema.of(layer.p))
    if layer.inside then
        layer.trailer_at = layer.off + layer.to
        layer.trailer = layer.original:sub(layer.to + 1)
    end
end

local function baseline(state, i, data)
    local layer, below = state.layers[i], state.layers[i - 1]
    local t = state.tree[i]
    local context = {
        data = data, under = below and below.p.name, link = state.linktype, start = t.off,
        parent_len = below and below.len, passed = below and below.passed or 0, wire = state.packet.len - t.off,
    }
    local ok, result = pcall(encode.layer, layer, context, "baseline")
    if ok and result.full == layer.original then
        layer.result = result
        return true
    end
    layer.why = ok and "it is written otherwise" or result
    M.close(layer)
end

--- Read the layers of state's packet, once, before the first change.
function M.prepare(state)
    if state.prepared then
        return
    end
    state.prepared = true
    local bytes = state.packet:bytes()
    local layers, first_stop, last_stop = {}, 0, 0
    for i in ipairs(state.tree) do
        layers[i], last_stop = make_layer(state, i, bytes, layers[i - 1])
        first_stop = i == 1 and last_stop or first_stop
    end
    state.layers = layers
    local last = layers[#layers]
    if last then
        local rest = bytes:sub(last.off + last.covered + 1, last_stop)
        if rest ~= "" then
            layers[#layers + 1] = { raw = rest }
        end
        state.tail = bytes:sub(first_stop + 1)
    else
        layers[1] = { raw = bytes }
    end
    local data = ""
    for i = #layers, 1, -1 do
        local layer = layers[i]
        if layer.raw then
            data = layer.raw
            layer.offset, layer.result = #bytes - #data, { into = #data, len = #data }
        else
            if not layer.opaque then
                baseline(state, i, data)
            end
            layer.offset = layer.off
            layer.result = layer.result or { into = #layer.opaque, len = #layer.original }
            data = layer.original
        end
    end
    sums.ends(bytes, layers)
    for i = #layers, 1, -1 do
        if layers[i].p then
            sums.put(bytes, layers, i, "baseline")
        end
    end
end

--- The same for a layer of any builder.
function M.prepare_layer(state, i)
    if state.layers[i].read then
        M.prepare(state)
    end
end

-- ---------------------------------------------------------------- changes

-- The first node of a field in a scope and its lists, and that node's scope.
local function find_node(scope, name)
    local best, owner, field
    for it, nodes in pairs(scope.raw or {}) do
        if it.kind == "field" and it.name == name then
            for _, node in ipairs(nodes) do
                if not best or node.bit < best.bit then
                    best, owner, field = node, scope, it
                end
            end
        end
    end
    for _, times in pairs(scope.lists) do
        for _, list in ipairs(times) do
            for _, element in ipairs(list) do
                local node, where, f = find_node(element, name)
                if node and (not best or node.bit < best.bit) then
                    best, owner, field = node, where, f
                end
            end
        end
    end
    return best, owner, field
end

-- The first scope, this one or one of its lists' elements, in which a field of that name may be.
local function scope_for(scope, name)
    return schema.first(scope, function(s) return s.schema.fields[name] end)
end

-- A node's value: what it was given, else what was read.
local function node_value(layer, name, node)
    if node.given ~= nil then
        return node.given
    end
    for _, item in ipairs(layer.items) do
        if item.kind == "field" and item.name == name and item.bit == layer.off * 8 + node.bit then
            return item.value
        end
    end
end

--- The first value of that name in a layer that was read from a packet.
function M.value(layer, name)
    local node = find_node(layer.scope, name)
    if node then
        return node_value(layer, name, node)
    end
    local scope = scope_for(layer.scope, name)
    return scope and scope.given[name]
end

--- The same in one element of its lists.
function M.element_value(layer, scope, name)
    for it, nodes in pairs(scope.raw or {}) do
        if it.kind == "field" and it.name == name and nodes[1] then
            return node_value(layer, name, nodes[1])
        end
    end
    return scope.given[name]
end

-- ... that has such a list.
local function find_list(scope, list)
    return schema.first(scope, function(s) return s.lists[list] end)
end
M.find_list = find_list

-- Note which bits of an opaque layer have a value of the user's. Copies of a builder share the old table.
local function give(layer, bit, is)
    local given = {}
    for k, v in pairs(layer.given) do
        given[k] = v
    end
    given[bit] = is
    layer.given = given
end

-- Change a field where it stands: in a layer that isn't written anew, or behind what a layer carries.
local function patch(layer, name, fields, v)
    for _, item in ipairs(layer.items) do
        if item.name == name and (item.kind == "field" or item.kind == "alias") then
            local message
            for _, f in ipairs(fields) do
                local ok, wire = pcall(value.wire, f, v)
                message = message or not ok and wire
                if ok and (f.bits or #wire * 8) == item.bits then
                    local at = layer.off * 8
                    if layer.opaque and item.bit + item.bits <= at + #layer.opaque * 8 then
                        layer.opaque = opaque.splice(layer.opaque, item.bit - at, item.bits, wire)
                        give(layer, item.bit - at, true)
                        return true
                    end
                    at = layer.trailer_at * 8
                    if item.bit >= at and item.bit + item.bits <= at + #layer.trailer * 8 then
                        layer.trailer = opaque.splice(layer.trailer, item.bit - at, item.bits, wire)
                        return true
                    end
                end
            end
            error(message or ("%s: its length can't change where it is"):format(name), 0)
        end
    end
    return false
end

-- Bits of an opaque layer are again what they were.
local function restore(layer, name)
    for _, item in ipairs(layer.items) do
        local bit = item.bit - layer.off * 8
        if item.name == name and layer.given[bit] then
            local from, to = bit // 8, (bit + item.bits + 7) // 8
            local was = layer.original:sub(from + 1, to)
            if to - from <= 8 then
                was = value.load(layer.original, bit, item.bits)
            end
            layer.opaque = opaque.splice(layer.opaque, bit, item.bits, was)
            give(layer, bit, nil)
        end
    end
end

-- A field that shows the bytes of others: all that the layer carries may be replaced by it, other bytes by as many.
local function set_overlay(state, i, name, node, v)
    local layer = state.layers[i]
    if node.bit // 8 == layer.from and (node.bit + node.bits) // 8 == layer.to then
        for k = #state.layers, i + 1, -1 do
            state.layers[k] = nil
        end
        state.layers[i + 1] = { raw = v }
        return
    elseif type(v) ~= "string" or #v * 8 ~= node.bits then
        error(("%s: it shows what other fields hold, and its length can't change"):format(name), 0)
    end
    node.given = v
end

-- nil takes back what was given, and lets follow what follows from the rest; nothing else can be taken away.
local function refuse(layer, name, node)
    local p = layer.p
    local sum = p.checksum and (p.prefix or p.name) .. "." .. p.checksum.field
    if node.given == nil and node.natural == nil and layer.scope.given[name] == nil and name ~= sum then
        local element = schema.element_of(schema.of(p), name, 2, layer.scope)
        error(("%s: a field of a packet can't be taken away%s"):format(name,
            element and (", an element of its list can: %s = nil"):format(element) or ""), 0)
    end
end

--- Change the first field of that name in layers[i], or give one that isn't there yet.
function M.set(state, i, name, v)
    local layer = state.layers[i]
    local p = layer.p
    local whole, fields = schema.find(schema.of(p), name)
    if type(v) == "table" then
        local list = schema.short(p, name)
        local scope = not layer.opaque and (find_list(layer.scope, list) or layer.scope)
        if not scope or not schema.of_list(scope.schema, list) then
            error(("%s: there is no list '%s' that can be given"):format(p.name, list), 0)
        end
        scope.lists[list] = { schema.elements(scope.schema, list, v) }
        return
    end
    if not whole and v == nil and schema.of(p).lists[schema.short(p, name)] then
        error(("%s: a list can't be taken away: give {} for one without elements"):format(name), 0)
    elseif not whole then
        schema.unknown(schema.of(p), schema.short(p, name))
    end
    local node, owner, f = find_node(layer.scope, whole)
    if v == nil then
        if node then
            refuse(layer, whole, node)
            node.given = nil
        end
        layer.scope.given[whole] = nil
        if layer.opaque then
            restore(layer, whole)
        end
        return
    elseif node then
        schema.check(whole, owner.schema.fields[whole], v)
        if f.overlay and not f.bits then
            set_overlay(state, i, whole, node, v)
        else
            node.given = v
            schema.forget_parts(owner, f)
        end
    elseif patch(layer, whole, fields, v) then
        return
    elseif layer.opaque then
        error(("%s: not in this packet"):format(whole), 0)
    else
        local scope = scope_for(layer.scope, whole) or layer.scope
        schema.check(whole, fields, v)
        scope.given[whole] = v
        for _, one in ipairs(fields) do
            schema.forget_parts(scope, one)
        end
    end
end

-- ---------------------------------------------------------------- writing from values

local exact = { uint = true, int = true, bool = true, ipv4 = true, ipv6 = true, ether = true, eui64 = true, guid = true,
    bytes = true, time = true }
local as_it_is = { string = true, stringz = true }

-- For a layer: function(field, node) that gives the field's bits from its value alone, where a value tells all of them.
local function by_value(layer)
    local values = {}
    for _, item in ipairs(layer.items) do
        if item.kind == "field" and item.name then
            values[item.name .. "@" .. item.bit .. "+" .. item.bits] = item.value
        end
    end
    return function(f, node)
        local v = f.name and not f.func and values[f.name .. "@" .. layer.off * 8 + node.bit .. "+" .. node.bits]
        if v == nil or v == false and f.type ~= "bool" then
            return nil
        elseif exact[f.type] and (f.type ~= "bool" or f.bits == 1) or as_it_is[f.type] and v == node.raw then
            return value.wire(f, v, node.bits // 8)
        end
        return nil
    end
end

--- The bytes of an edited packet. force: see q:encode.
function M.encode(state, force)
    M.prepare(state)
    return build.encode_all(state, force and "force" or "edit", force and by_value or nil)
end

return M
