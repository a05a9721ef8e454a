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

--- Of names those whose last part is `key`: the shortest one.
function M.deeper(names, key)
    local found
    for _, name in ipairs(names) do
        if name:sub(-#key - 1) == "." .. key and (not found or #name < #found) then
            found = name
        end
    end
    return found
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
    local near = M.deeper(names, short(p, key)) or core._nearest(short(p, key), names)
    error(("%s has no field '%s'%s%s"):format(p.name, short(p, key), list and (" in '%s'"):format(list) or "",
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

--- A table given for a field by the names of its parts: a list of { whole name, value }. nil: it is a list of values.
function M.parts(s, name, fields, v)
    local keys = {}
    for key in pairs(v) do
        if math.type(key) ~= "integer" then
            keys[#keys + 1] = tostring(key)
        end
    end
    if #keys == 0 then
        return nil
    end
    table.sort(keys)
    local p = s.proto
    local known, list, given = {}, {}, {}
    for _, f in ipairs(fields) do
        for part in pairs(f.sub and M.names_of(p, f.sub).fields or {}) do
            if not known[part] then
                known[part] = true
                list[#list + 1] = part
            end
        end
    end
    table.sort(list)
    if #list == 0 then
        error(("%s: a value, or a list of them, not a table with '%s'"):format(name, keys[1]), 0)
    elseif #v > 0 then
        error(("%s: values by the names of its parts, or a list of values, not both"):format(name), 0)
    end
    for i, key in ipairs(keys) do
        local part
        for _, try in ipairs { name .. "." .. key, (p.prefix or p.name) .. "." .. key, key } do
            part = part or known[try] and try
        end
        part = part or M.deeper(list, key)
        if not part then
            local lasts = {}
            for k, one in ipairs(list) do
                lasts[k] = one:sub(1, #name + 1) == name .. "." and one:sub(#name + 2) or short(p, one)
            end
            local near = core._nearest(key, lasts)
            error(("%s has no part '%s'%s"):format(name, key,
                near and (" (did you mean '%s'?)"):format(near) or ": it has " .. table.concat(lasts, ", ")), 0)
        end
        given[i] = { part, v[key] }
    end
    return given
end

--- How an element of the list that such a field is in is written: of a list with elements in `scope` rather than of
-- one without. nil when it is in none.
function M.element_of(s, name, n, scope)
    local p, found, full = s.proto, nil, false
    M.each_item(p, p.items, function(it)
        local inner = not full and it.kind == "group" and it.loop and it.list and M.of_list(s, it.list)
        if inner and (inner.fields[name] or inner.inner[name] or short(p, name) == it.list) then
            local times = scope and scope.lists[it.list]
            full = times and times[1] and #times[1] > 0 or false
            found = (full or not found) and it.list or found
        end
    end, {})
    if not found then
        return nil
    elseif M.find(s, found) or not (p.name .. found):find "^[%a_][%w_]*$" then
        return ('q:list("%s.%s")[%d]'):format(p.prefix or p.name, found, n)
    end
    return ("q.%s.%s[%d]"):format(p.name, found, n)
end

M.unknown = unknown

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

-- An overlay in an element shows the bytes of others: { mss = 1460 } means the one of these that can hold that.
local function held_in(s, name, fields, v)
    local f = fields[1]
    if not (f.overlay and not f.bits) or type(v) == "table" or pcall(M.check, name, fields, v) then
        return nil
    end
    local names = {}
    for other, list in pairs(s.fields) do
        if other:sub(1, #name) == name and other:find("^[._][^.]+$", #name + 1) and M.is_written(list)
            and pcall(M.check, other, list, v) then
            names[#names + 1] = other
        end
    end
    table.sort(names)
    if #names == 1 then
        return names[1]
    end
    for other, list in pairs(#names == 0 and s.fields or {}) do -- what it is written by
        if s.plain[other] and M.is_written(list) and not list[1].overlay then
            names[#names + 1] = other
        end
    end
    table.sort(names)
    for i, other in ipairs(names) do
        names[i] = short(s.proto, other)
    end
    error(("%s: it shows the bytes of other fields, %s isn't one: give '%s'"):format(name, value.shown(v),
        table.concat(names, "', '")), 0)
end

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
        local parts = M.parts(s, name, fields, v)
        for _, part in ipairs(parts or {}) do
            M.give(scope, part[1], part[2], list)
        end
        if parts then
            return
        end
        for _, one in ipairs(v) do
            M.check(name, fields, one)
        end
        v = table.move(v, 1, #v, 1, {})
    else
        local inner = list and held_in(s, name, fields, v)
        if inner then
            name = inner
        else
            M.check(name, fields, v)
        end
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

--- The first scope that `has` accepts: this one, or an element of its lists, at any depth.
---@param scope table
---@param has fun(scope: table): any
---@return table?
function M.first(scope, has)
    if has(scope) then
        return scope
    end
    for _, times in pairs(scope.lists) do
        for _, list in ipairs(times) do
            for _, element in ipairs(list) do
                local found = M.first(element, has)
                if found then
                    return found
                end
            end
        end
    end
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
            local l = { given = list.given, halt = list.halt }
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
