--- What may be given for a protocol: which names its table has, in which lists, and a user's table of values made into
-- a scope (given values by whole name, lists of scopes by their name).

local core = require "ringtap.core"
local protocol = require "ringtap.protocol"
local value = require "ringtap.build.value"

local M = {}

local function by_weak_key(make)
    local cache = setmetatable({}, { __mode = "k" })
    return function(key, ...)
        local v = cache[key]
        if v == nil then
            v = make(key, ...)
            cache[key] = v
        end
        return v
    end
end

-- Call visit(item, inside, cased) for every item that can be reached, those of loops included when visit says so;
-- inside: it is in a loop; cased: in a case of a switch.
local function each_item(p, items, visit, seen, inside, cased)
    for _, it in ipairs(items) do
        local enter = visit(it, inside, cased)
        if it.kind == "field" and it.sub then
            each_item(p, it.sub, visit, seen, inside, cased)
        elseif it.kind == "group" and (not it.loop or enter) then
            each_item(p, it.items, visit, seen, inside or it.loop, cased)
        elseif it.kind == "switch" then
            for _, case in pairs(it.cases) do
                each_item(p, case, visit, seen, inside, true)
            end
            each_item(p, it.default or {}, visit, seen, inside, true)
        elseif it.kind == "call" then
            local key = it.call .. (inside and "*" or "")
            if not seen[key] then
                seen[key] = true
                each_item(p, p.groups[it.call], visit, seen, inside, cased)
            end
        elseif it.kind == "headers" then
            for _, f in pairs(it.headers) do
                each_item(p, { f }, visit, seen, inside, cased)
            end
            if it.line then
                each_item(p, { it.line }, visit, seen, inside, cased)
            end
        end
    end
end
M.each_item = each_item

local function add(map, key, v)
    map[key] = map[key] or {}
    table.insert(map[key], v)
end

--- What these items have: { fields = fields by name, inner = those in lists, lists = set of names }.
local names_of = by_weak_key(function(items, p)
    local names = { fields = {}, inner = {}, lists = {} }
    each_item(p, items, function(it, inside)
        if it.kind == "field" and it.name then
            local map = inside and names.inner or names.fields
            add(map, it.name, it)
            for _, also in ipairs(it.also) do
                add(map, also, it)
            end
        elseif it.kind == "group" and it.loop and it.list then
            names.lists[it.list] = true
        end
        return true
    end, {})
    return names
end)

--- Is a name that was given in this scope one of these? What the scope's level has itself isn't looked for in lists.
function M.has(names, scope, name)
    return names.fields[name] or names.lists[name] or names.inner[name] and not scope.schema.fields[name]
end

local single = setmetatable({}, { __mode = "k" }) -- { item } for an item, so that names_of can remember it

function M.names_of(p, items)
    return names_of(items, p)
end

function M.names_of_item(p, it)
    single[it] = single[it] or { it }
    return names_of(single[it], p)
end

--- The names of one level: fields, aliases, lists (by name), and `inner`: fields of the lists in it, which may be given
-- at this level when there is one element or a list of values.
local schema_of = by_weak_key(function(items, p)
    local s = { proto = p, fields = {}, aliases = {}, lists = {}, inner = {}, inner_lists = {}, private = {},
        plain = {} }
    each_item(p, items, function(it, _, cased)
        if it.kind == "field" and it.name then
            add(s.fields, it.name, it)
            s.plain[it.name] = s.plain[it.name] or not cased
            for _, also in ipairs(it.also) do
                add(s.aliases, also, it)
            end
        elseif it.kind == "field" and not it.value then
            add(s.private, it.short, it)
        elseif it.kind == "group" and it.loop and it.list then
            s.lists[it.list] = s.lists[it.list] or {}
            table.insert(s.lists[it.list], it)
        end
    end, {})
    each_item(p, items, function(it)
        if it.kind == "field" and it.name and not s.fields[it.name] then
            add(s.inner, it.name, it)
        elseif it.kind == "group" and it.loop and it.list and not s.lists[it.list] then
            add(s.inner_lists, it.list, it)
        end
        return true
    end, {})
    return s
end)

function M.of(p, items)
    return schema_of(items or p.items, p)
end

--- A level of a list: that of its loops' items, taken together.
local merged = by_weak_key(function(loops, p)
    if #loops == 1 then
        return schema_of(loops[1].items, p)
    end
    local all = {}
    for _, loop in ipairs(loops) do
        table.move(loop.items, 1, #loop.items, #all + 1, all)
    end
    return schema_of(all, p)
end)

function M.of_list(s, name)
    local loops = s.lists[name] or s.inner_lists[name]
    return loops and merged(loops, s.proto)
end

-- ---------------------------------------------------------------- names that people write

local function short(p, name)
    local prefix = (p.prefix or p.name) .. "."
    return name:sub(1, #prefix) == prefix and name:sub(#prefix + 1) or name
end

--- The whole name of a field that `key` means at this level, and the fields; nil when it means none.
function M.find(s, key, list)
    local p = s.proto
    local prefix = (p.prefix or p.name) .. "."
    local tries = { key, prefix .. key }
    if list then
        tries[3] = prefix .. list .. "." .. key
        tries[4] = prefix .. list:gsub("s$", "") .. "." .. key
    end
    for _, name in ipairs(tries) do
        if s.fields[name] then
            return name, s.fields[name]
        elseif s.inner[name] then
            return name, s.inner[name]
        end
    end
    for _, name in ipairs(tries) do
        local fs = s.aliases[name]
        if fs then
            for _, f in ipairs(fs) do
                if f.name ~= fs[1].name then
                    error(("%s stands for '%s' and '%s': give these"):format(name, fs[1].name, f.name), 0)
                end
            end
            return fs[1].name, fs
        end
    end
    if not list then
        return nil
    end
    local found, other
    for name, fields in pairs(s.fields) do -- the name's last parts; first those that are always there
        if name:sub(-#key - 1) == "." .. key and M.is_written(fields) then
            if not found or s.plain[name] and not s.plain[found] then
                found, other = name, nil
            elseif s.plain[name] == s.plain[found] then
                other = name
            end
        end
    end
    if other then
        error(("'%s' may be '%s' or '%s' in '%s'"):format(key, short(p, found), short(p, other), list), 0)
    end
    return found, found and s.fields[found]
end

local function unknown(s, key, list)
    local p = s.proto
    local names = {}
    for _, map in ipairs { s.fields, s.inner, s.lists } do
        for name in pairs(map) do
            names[#names + 1] = short(p, name)
        end
    end
    table.sort(names)
    local near = core._nearest(short(p, key), names)
    error(("%s has no field '%s'%s%s"):format(p.name, key, list and (" in '%s'"):format(list) or "",
        near and (" (did you mean '%s'?)"):format(near) or ""), 0)
end

--- Is one of them written? Others follow from the rest.
function M.is_written(fields)
    for _, f in ipairs(fields) do
        if not f.value and f.type ~= "frame" and not (f.func and f.overlay) then
            return true
        end
    end
    return false
end

--- Can a field of that name hold v? Raises when none can.
function M.check(name, fields, v)
    local message
    for _, f in ipairs(fields) do
        if not f.value and f.type ~= "frame" then
            local ok, err
            if f.type == "name" then
                ok, err = pcall(value.labels, f, v)
            else
                ok, err = pcall(value.wire, f, v)
            end
            if ok then
                return
            end
            message = message or err
        end
    end
    error(message or ("%s: it follows from the rest and can't be given"):format(name), 0)
end

function M.new_scope(s)
    return { schema = s, given = {}, lists = {} }
end

local function elements(s, name, values)
    local inner = M.of_list(s, name)
    local list = { given = true }
    if #values == 0 and next(values) ~= nil then -- one element, not in a list
        values = { values }
    end
    for i, v in ipairs(values) do
        if type(v) ~= "table" then
            local only
            for field, fs in pairs(inner.fields) do
                if not fs[1].value and not only then
                    only = field
                elseif not fs[1].value then
                    error(("%s: an element of '%s' is a table of values, not %s"):format(s.proto.name, name,
                        type(v)), 0)
                end
            end
            v = { [only or "?"] = v }
        end
        list[i] = M.scope(inner, v, name)
    end
    return list
end
M.elements = elements

--- Put one value into a scope.
function M.give(scope, key, v, list)
    local s = scope.schema
    if type(key) ~= "string" then
        error(("%s: values have names, but there is one with %s"):format(s.proto.name, tostring(key)), 0)
    end
    if key:find "^_" then -- what a table's `build` adds
        if s.private[key] then
            M.check(key, s.private[key], v)
            scope.given[key] = v
        end
        return
    end
    local name, fields = M.find(s, key, list)
    local prefix = (s.proto.prefix or s.proto.name) .. "."
    local list_name = key:sub(1, #prefix) == prefix and key:sub(#prefix + 1) or key
    if (s.lists[list_name] or s.inner_lists[list_name]) and (type(v) == "table" or not name) then
        if type(v) ~= "table" then
            error(("%s: '%s' is a list"):format(s.proto.name, list_name), 0)
        end
        scope.lists[list_name] = { elements(s, list_name, v) }
        return
    elseif not name then
        unknown(s, key, list)
    end
    if s.proto.build and not M.is_written(fields) then
        return -- a table's `build` has made something of it
    elseif type(v) == "table" then
        for _, one in ipairs(v) do
            M.check(name, fields, one)
        end
        v = table.move(v, 1, #v, 1, {})
    else
        M.check(name, fields, v)
    end
    scope.given[name] = v
end

--- Values given for parts of a field before the whole is given count no more.
function M.forget_parts(scope, f)
    if not f.sub then
        return
    end
    for name, list in pairs(M.names_of(scope.schema.proto, f.sub).fields) do
        scope.given[name] = nil
        for _, part in ipairs(scope.raw and list or {}) do
            for _, node in ipairs(scope.raw[part] or {}) do
                node.given = nil
            end
        end
    end
end

--- A user's table of values as a scope.
function M.scope(s, values, list)
    local scope = M.new_scope(s)
    local keys = {}
    for key in pairs(values) do
        keys[#keys + 1] = key
    end
    table.sort(keys, function(a, b) return tostring(a) < tostring(b) end)
    for _, key in ipairs(keys) do
        M.give(scope, key, values[key], list)
    end
    return scope
end

local function copy_nodes(nodes)
    local list = {}
    for i, node in ipairs(nodes) do
        local new = {}
        for k, v in pairs(node) do
            new[k] = v
        end
        list[i] = new
    end
    return list
end

--- A copy that shares nothing which could be changed.
function M.copy(scope)
    local new = { schema = scope.schema, given = {}, lists = {}, visits = scope.visits, halts = scope.halts }
    for name, v in pairs(scope.given) do
        new.given[name] = type(v) == "table" and table.move(v, 1, #v, 1, {}) or v
    end
    for name, times in pairs(scope.lists) do
        new.lists[name] = {}
        for i, list in ipairs(times) do
            local l = { given = list.given }
            for k, element in ipairs(list) do
                l[k] = M.copy(element)
            end
            new.lists[name][i] = l
        end
    end
    if scope.raw then
        new.raw = {}
        for it, nodes in pairs(scope.raw) do
            new.raw[it] = copy_nodes(nodes)
        end
    end
    return new
end

M.short = short
M.nearest = protocol.nearest
return M
