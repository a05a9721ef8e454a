--- Builders as text that could be typed again.

local schema = require "ringtap.build.schema"
local encode = require "ringtap.build.encode"
local value = require "ringtap.build.value"

local M = {}

local function literal(v)
    if type(v) == "table" then
        local parts = {}
        for i, one in ipairs(v) do
            parts[i] = literal(one)
        end
        return "{ " .. table.concat(parts, ", ") .. " }"
    elseif type(v) ~= "string" then
        return tostring(v)
    end
    return '"' .. v:gsub('[%c"\\\x7f-\xff]', function(c)
        return c == '"' and '\\"' or c == "\\" and "\\\\" or c == "\n" and "\\n" or ("\\x%02x"):format(c:byte())
    end) .. '"'
end

local function entry(p, name, v)
    local key = schema.short(p, name)
    if not key:find "^[%a_][%w_]*$" then
        key = '["' .. key .. '"]'
    end
    return key .. " = " .. v
end

-- ---------------------------------------------------------------- what was given

local function of_scope(scope)
    local p = scope.schema.proto
    local names, parts = {}, {}
    for name in pairs(scope.given) do
        names[#names + 1] = name
    end
    table.sort(names)
    for _, name in ipairs(names) do
        parts[#parts + 1] = entry(p, name, literal(scope.given[name]))
    end
    local lists = {}
    for name, times in pairs(scope.lists) do
        if type(name) == "string" and times[1] and times[1].given then
            lists[#lists + 1] = name
        end
    end
    table.sort(lists)
    for _, name in ipairs(lists) do
        local elements = {}
        for i, element in ipairs(scope.lists[name][1]) do
            elements[i] = of_scope(element)
        end
        parts[#parts + 1] = entry(p, name, "{ " .. table.concat(elements, ", ") .. " }")
    end
    return "{ " .. table.concat(parts, ", ") .. " }"
end

-- ---------------------------------------------------------------- what a packet has

-- Does it follow from the rest? A checksum that was right does, and one that was made right.
local function natural(layer, name, node, v)
    local sum = layer.sum
    if sum and sum.slot.f.name == name then
        return (sum.value == v or layer.sum_moved) and not layer.cut and not sum.part
    end
    return node.natural ~= nil and node.natural == v
end

local function of_read(layer, scope, values)
    if not scope.raw then -- a list's element that was given
        return of_scope(scope)
    end
    local p = layer.p
    local found = {}
    local function note(it, nodes)
        for _, node in ipairs(nodes) do
            local named = it.kind == "field" and it.name
            local v = named and not it.overlay and not it.func
                and values[it.name .. "@" .. layer.off * 8 + (node.bit or 0)]
            if named and node.given ~= nil then
                found[#found + 1] = { bit = node.bit, bits = node.bits, name = it.name, v = node.given, given = true }
            elseif v ~= nil and v ~= false or v == false and it.type == "bool" and it.kind == "field" then
                found[#found + 1] = { bit = node.bit, bits = node.bits, name = it.name, v = v, node = node }
            end
        end
    end
    for it, nodes in pairs(scope.raw) do
        note(it, nodes)
    end
    table.sort(found, function(a, b)
        return a.bit < b.bit or a.bit == b.bit and (a.bits > b.bits or a.bits == b.bits and a.name < b.name)
    end)
    local parts, stop, seen, listed = {}, 0, {}, {}
    for name, times in pairs(scope.lists) do
        for _, list in ipairs(type(name) == "string" and times or {}) do
            local elements = {}
            for i, element in ipairs(list) do
                elements[i] = of_read(layer, element, values)
            end
            if #elements > 0 or list.given then
                listed[name] = true
                seen[#seen + 1] = entry(p, name, "{ " .. table.concat(elements, ", ") .. " }")
            end
        end
    end
    table.sort(seen)
    local shown = {}
    for _, f in ipairs(found) do
        local inside = f.bit < stop
        if not listed[schema.short(p, f.name)] then -- else the list says it
            stop = math.max(stop, f.bit + f.bits)
            if (f.given or not inside and not natural(layer, f.name, f.node, f.v)) and not shown[f.name] then
                shown[f.name] = true
                parts[#parts + 1] = entry(p, f.name, literal(f.v))
            end
        end
    end
    local names = {}
    for name in pairs(scope.given) do
        names[#names + 1] = not shown[name] and name or nil
    end
    table.sort(names)
    for _, name in ipairs(names) do
        parts[#parts + 1] = entry(p, name, literal(scope.given[name]))
    end
    table.move(seen, 1, #seen, #parts + 1, parts)
    return "{ " .. table.concat(parts, ", ") .. " }"
end

local function read_layers(state)
    local edit, build = require "ringtap.edit", require "ringtap.build"
    local packet = state.packet
    if state.touched then -- what it has become
        packet = build.packet_for_reading(state) or packet
    end
    local fresh = build.state_of(edit.edit(packet))
    edit.prepare(fresh)
    return fresh.layers, #(fresh.tail or "") > 0 and fresh.tail or nil
end

-- Note of layers that were read from a packet, and are now in a builder, whether their checksums aren't what they were.
local function compare_sums(state)
    local ok, buffer = pcall(require("ringtap.build").bytes_of, state)
    for _, layer in ipairs(state.layers) do
        local walk = ok and layer.sum and layer.result and layer.result.walk
        local slot = walk and encode.slot(walk, layer.sum.slot.f.name)
        local node = slot and slot.node
        layer.sum_moved = node and value.load(buffer, layer.offset * 8 + slot.bit, slot.bits) ~= node.raw
    end
end

-- A name with a dot in it is no variable's.
local function called(name)
    return name:find "^[%a_][%w_]*$" and name or ('proto["%s"]'):format(name)
end

function M.of(state)
    local layers, tail = state.layers, nil
    if state.packet then
        layers, tail = read_layers(state)
    else
        compare_sums(state)
    end
    local parts = {}
    for _, layer in ipairs(layers) do
        if layer.raw or layer.opaque then
            parts[#parts + 1] = literal(layer.raw or layer.opaque)
        elseif layer.items then
            local values = {}
            for _, item in ipairs(layer.items) do
                if item.kind == "field" and item.name then
                    values[item.name .. "@" .. item.bit] = item.value
                end
            end
            parts[#parts + 1] = called(layer.p.name) .. of_read(layer, layer.scope, values):gsub("^{  }$", "{}")
        else
            parts[#parts + 1] = called(layer.p.name) .. of_scope(layer.scope):gsub("^{  }$", "{}")
        end
    end
    if tail then
        parts[#parts + 1] = literal(tail)
    end
    return table.concat(parts, " / ")
end

return M
