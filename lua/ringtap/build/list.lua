--- Lists of builders as values: #list, list[i], list[i] = { ... }, list[i] = nil; and their elements, read and changed
-- by name.

local core = require "ringtap.core"
local schema = require "ringtap.build.schema"

local M = {}

local list_type = { __name = "ringtap.builder.list" }
local element_type = { __name = "ringtap.builder.element" }
local held = setmetatable({}, { __mode = "k" }) -- list: { state, layer, scope, name, changed }; element likewise

local function make(meta, ...)
    local h = setmetatable({}, meta)
    held[h] = { ... }
    return h
end

local function guarded(f, ...)
    local r = table.pack(pcall(f, ...))
    if not r[1] then
        error(r[2], 3)
    end
    return table.unpack(r, 2, r.n)
end

local function scopes_of(scope, name)
    local times = scope.lists[name]
    return times and times[1] or {}
end

--- The list of that name in a layer (or the first one deeper in it).
function M.of(state, i, name, changed)
    local edit = require "ringtap.edit"
    edit.prepare_layer(state, i)
    local scope = edit.find_list(state.layers[i].scope, name) or state.layers[i].scope
    return make(list_type, state, i, scope, name, changed)
end

function list_type.__len(h)
    local _, _, scope, name = table.unpack(held[h])
    return #scopes_of(scope, name)
end

function list_type.__index(h, k)
    local state, i, scope, name, changed = table.unpack(held[h])
    local element = scopes_of(scope, name)[k]
    return element and make(element_type, state, i, element, name, changed) or nil
end

local function put(h, k, v)
    local _, _, scope, name, changed = table.unpack(held[h])
    local list = scopes_of(scope, name)
    if math.type(k) ~= "integer" or k < 1 or k > #list + 1 then
        error(("'%s' has %d elements: one is set, or the next one added, by its number"):format(name, #list), 0)
    elseif v == nil then
        table.remove(list, k)
    elseif getmetatable(v) == element_type then
        list[k] = schema.copy(held[v][3])
    else
        list[k] = schema.elements(scope.schema, name, { v })[1]
    end
    if not scope.lists[name] then
        list.given = true
        scope.lists[name] = { list }
    end
    changed(held[h][1])
end

function list_type.__newindex(h, k, v)
    guarded(put, h, k, v)
end

function list_type.__tostring(h)
    return ("list %s (%d)"):format(held[h][4], #h)
end

-- ---------------------------------------------------------------- elements

local function value_of(state, i, scope, whole)
    local build = require "ringtap.build"
    build.bytes_of(state)
    if state.packet and not state.touched then
        require("ringtap.edit").encode(state)
    end
    local layer = state.layers[i]
    local w = layer.result and layer.result.walk
    local st = w and w.states[scope]
    local slot
    for f, slots in pairs(st and st.slots or {}) do
        for _, s in ipairs(slots) do
            if f.name == whole and s.pass == w.pass and (not slot or s.bit < slot.bit) then
                slot = s
            end
        end
    end
    local packet = slot and build.packet_for_reading(state)
    local tree = packet and core._tree(packet)[i]
    for _, item in ipairs(tree and tree.items or {}) do
        if item.kind == "field" and item.name == whole and item.bit == layer.offset * 8 + slot.bit then
            return item.value
        end
    end
    if layer.items then
        return require("ringtap.edit").element_value(layer, scope, whole)
    end
    return scope.given[whole]
end

local function get(h, key)
    local state, i, scope, list, changed = table.unpack(held[h])
    local name = schema.find(scope.schema, key, list)
    if name and scope.schema.fields[name] then
        return value_of(state, i, scope, name)
    elseif scope.schema.lists[key] then
        return make(list_type, state, i, scope, key, changed)
    elseif name then -- of a list in it
        for _, times in pairs(scope.lists) do
            for _, inner in ipairs(times) do
                for _, element in ipairs(inner) do
                    local v = value_of(state, i, element, name)
                    if v ~= nil then
                        return v
                    end
                end
            end
        end
        return nil
    end
    error(("there is no '%s' in '%s'"):format(tostring(key), list), 0)
end

function element_type.__index(h, key)
    return guarded(get, h, key)
end

local function set(h, key, v)
    local _, _, scope, list, changed = table.unpack(held[h])
    local name, fields = schema.find(scope.schema, tostring(key), list)
    local parts = name and type(v) == "table" and not scope.schema.lists[key]
        and schema.parts(scope.schema, name, fields, v)
    for _, part in ipairs(parts or {}) do
        set(h, part[1], part[2])
    end
    if parts then
        return
    end
    for _, f in ipairs(name and type(v) ~= "table" and fields or {}) do
        local node = scope.raw and scope.raw[f] and scope.raw[f][1]
        if node then
            if v == nil and node.given == nil and node.natural == nil then
                error(("%s: a field of a packet can't be taken away, an element of '%s' can"):format(name, list), 0)
            elseif v ~= nil then
                schema.check(name, fields, v)
            end
            node.given = v
            changed(held[h][1])
            return
        end
    end
    if v == nil and name then
        scope.given[name] = nil
    else
        schema.give(scope, key, v, list)
    end
    changed(held[h][1])
end

function element_type.__newindex(h, key, v)
    guarded(set, h, key, v)
end

function element_type.__tostring(h)
    return "element of " .. held[h][4]
end

return M
