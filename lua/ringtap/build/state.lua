--- What a walk of ringtap/build/encode.lua knows of a scope (see schema.lua) while it writes: which values were used
-- up, where each field came to stand, the elements of its lists; and whether an item with a condition is there.

local value = require "ringtap.build.value"
local schema = require "ringtap.build.schema"
local solve = require "ringtap.build.solve"

local M = {}

function M.new(w, scope)
    local st = { scope = scope, slots = {}, kids = {}, pass = 0 }
    w.states[scope] = st
    return st
end

function M.enter(w, st)
    if st.pass ~= w.pass then
        st.pass, st.turn, st.taken, st.loops, st.seen, st.passed = w.pass, {}, {}, {}, {}, {}
    end
    w.st = st
end

function M.turn(map, key)
    local n = (map[key] or 0) + 1
    map[key] = n
    return n
end

function M.node_of(st, it, n)
    local nodes = st.scope.raw and st.scope.raw[it]
    return nodes and nodes[n]
end

-- Is something given, and not used up yet, for one of the names?
function M.given_for(st, names)
    for name, v in pairs(st.scope.given) do
        if (st.taken[name] or 0) < (type(v) == "table" and #v or 1) and schema.has(names, st.scope, name) then
            return true
        end
    end
    for key, times in pairs(st.scope.lists) do
        local list = names.lists[key] and times[(st.loops[key] or 0) + 1]
        if list and list.given then
            return true
        end
    end
    return false
end

function M.missing_for(st, names)
    for name in pairs(st.unplaced or {}) do
        if schema.has(names, st.scope, name) then
            return true
        end
    end
    return false
end

local function items_of(it)
    return it.kind == "field" and { it } or it.items
end

-- Can the field hold what was given for its name? Of several declarations of one name another may be meant.
local function holds(st, f)
    local name = f.name
    for _, also in ipairs(st.scope.given[name] == nil and f.also or {}) do
        name = st.scope.given[also] ~= nil and also or name
    end
    local v = st.scope.given[name]
    if type(v) == "table" then
        v = v[(st.taken[name] or 0) + 1]
    end
    return v == nil or f.value or f.type == "name" or pcall(value.wire, f, v)
end

--- Is an item with a condition there? What can't be told before the bytes are written (solve.open) is there when
-- something inside was given, or when it was there before. Else the condition decides, and is made true when something
-- that was given would find no place.
function M.is_there(w, it, e)
    local st, p = w.st, w.p
    local n = M.turn(st.seen, it)
    local seen = st.scope.visits and st.scope.visits[it]
    local names = schema.names_of_item(p, it)
    local v = not solve.open(p, e) and solve.eval(w, e)
    if v == false or v == nil then
        if M.given_for(st, names) then
            return not (it.kind == "field" and it.name) or holds(st, it)
        elseif v == nil and w.pass == 1 and w.mode == "build" then -- what is still to be written may be 0
            w.unwritten = true
            v = solve.eval(w, e)
            w.unwritten = false
            return v ~= nil and v ~= 0
        end
        return seen and seen[n] or false
    elseif v ~= 0 then
        return true
    end
    return M.missing_for(st, names) and solve.solve(w, e, true, items_of(it))
end

return M
