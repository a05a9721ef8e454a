--- The items of a layer that is built: groups, lists, switches, text headers, as ringtap/protocol.lua has them.

local expr = require "ringtap.expr"
local value = require "ringtap.build.value"
local schema = require "ringtap.build.schema"
local solve = require "ringtap.build.solve"
local state = require "ringtap.build.state"
local write = require "ringtap.build.write"
local fields = require "ringtap.build.field"

local turn, node_of, given_for, missing_for = state.turn, state.node_of, state.given_for, state.missing_for
local enter, is_there, literal = state.enter, state.is_there, write.literal
local field, region, is_coarse, HALT = fields.field, fields.region, fields.is_coarse, fields.HALT
local DEFAULT, KEPT, GIVEN = write.DEFAULT, write.KEPT, write.GIVEN

local items

-- ---------------------------------------------------------------- lists

local function child(w, it)
    return state.new(w, schema.new_scope(schema.of(w.p, it.items)))
end

-- Values given at this level for fields of the list's elements: one element, or as many as there are values.
local function implied(w, it, list)
    local st = w.st
    local names = schema.names_of_item(w.p, it)
    local count, found = 0, {}
    for name, v in pairs(st.scope.given) do
        local from = st.taken[name] or 0
        local n = type(v) == "table" and #v or 1
        if names.inner[name] and not st.scope.schema.fields[name] and n > from then
            found[name] = { v, from, n }
            count = math.max(count, n - from)
        end
    end
    local lists = {}
    for key, times in pairs(st.scope.lists) do
        if names.lists[key] and key ~= it.list and times[1] and times[1].given and not st.loops[key] then
            lists[key] = times
            count = math.max(count, 1)
        end
    end
    for i = 1, count do
        list[i] = child(w, it)
        for name, f in pairs(found) do
            local v, from, n = f[1], f[2], f[3]
            if type(v) ~= "table" then
                list[i].scope.given[name] = v
            elseif from + i <= n then
                list[i].scope.given[name] = v[from + i]
            end
        end
        if i == 1 then
            list[i].scope.lists = lists
        end
    end
    list.names, list.lists = found, lists
end

local function elements(w, it)
    local st = w.st
    local key = it.list or it
    local n = turn(st.loops, key)
    st.kids[it] = st.kids[it] or {}
    local list = st.kids[it][n]
    if not list then
        list = {}
        local times = st.scope.lists[key]
        local scopes = times and times[n]
        if scopes then
            for i, scope in ipairs(scopes) do
                list[i] = state.new(w, scope)
            end
            list.given, list.kept, list.halt = scopes.given, not scopes.given, scopes.halt
        else
            implied(w, it, list)
            list.given = #list > 0
        end
        st.kids[it][n] = list
    end
    for name, f in pairs(list.names or {}) do
        st.taken[name] = f[3]
    end
    for inner in pairs(list.lists or {}) do
        st.loops[inner] = 1
    end
    return list
end

local function loop(w, it)
    local list = elements(w, it)
    local outer, index = w.st, w.index
    if it.loop ~= true then
        if #list == 0 and not list.given and not list.kept and solve.certain(w, it.loop) then
            for i = 1, math.min(solve.eval(w, it.loop) or 0, 4096) do
                list[i] = child(w, it)
            end
        end
        for _ = 1, math.min(solve.relate(w, it.loop, #list), 4096) do
            list[#list + 1] = child(w, it)
        end
    end
    local function round(i, st)
        enter(w, st)
        w.index = i - 1
        items(w, it.items)
    end
    for i = 1, #list do
        round(i, list[i])
    end
    -- a list whose end nothing else tells needs an element that ends it
    if it.loop == true and it.stop and list.given and w.bounded == 0 and not solve.open(w.p, it.stop) then
        if list.last then
            round(#list + 1, list.last)
            solve.solve(w, it.stop, true)
        elseif (solve.eval(w, it.stop) or 0) == 0 and w.pass > 1 and not solve.solve(w, it.stop, true) then
            list.last = child(w, it)
            round(#list + 1, list.last)
            solve.solve(w, it.stop, true)
        end
    end
    w.st, w.index = outer, index
    if list.halt then
        error(HALT, 0)
    end
end

-- ---------------------------------------------------------------- other items

local function registers(w, e)
    local regs = {}
    expr.walk(e, function(n)
        if n.field then
            regs[n.field] = w.regs[n.field]
        end
    end)
    return regs
end

local function body_of(w, it, node, body)
    if it.size then
        local regs, from = registers(w, it.size), w.pos
        local n = region(w, body, node, is_coarse(w, it.size))
        local behind = w.pos
        w.pos = from -- where the size is read from: $here
        local pad = solve.relate(w, it.size, n, regs)
        w.pos = behind
        if pad > 0 then
            w.pos = w.pos + pad * 8
            w:reach(w.pos)
        elseif pad < 0 and not w.layer.scope.raw then
            error(("%s: %d bytes don't fit into the %d that there are for them"):format(w.p.name, n, n + pad), 0)
        end
    elseif it.until_ then
        region(w, body, node)
        literal(w, node and KEPT or DEFAULT, node and node.skip or it.until_)
    else
        items(w, body)
    end
end

local function group(w, it)
    if it.behind then
        if given_for(w.st, schema.names_of_item(w.p, it)) then
            w.behind = { it, w.st }
        end
        return
    elseif it.when and not is_there(w, it, it.when) then
        return
    elseif it.at then -- a second look at what other items write
        return
    end
    local node = (it.size or it.until_) and node_of(w.st, it, turn(w.st.turn, it))
    if it.loop then
        body_of(w, it, node, { { kind = "rounds", it = it } })
    else
        body_of(w, it, node, it.items)
    end
end

-- Does one of these fields hold what was given for their name?
local function holds(scope, list, name)
    local v = scope.given[name]
    for _, f in ipairs(type(v) ~= "table" and list or {}) do
        if f.value or f.type == "name" or pcall(value.wire, f, v) then
            return true
        end
    end
    return type(v) == "table"
end

-- Would the switch look ahead to this case, if what was given for the field that begins it stood there?
local function looks_ahead_to(w, it, key, case)
    local f = solve.first_field(w, case, 0)
    local v = f and f.name and w.st.scope.given[f.name]
    local ok, wire
    if v ~= nil and type(v) ~= "table" and (f.bits or 0) % 8 == 0 and f.type ~= "name" then
        ok, wire = pcall(value.wire, f, v)
    end
    if not ok then
        return nil
    end
    w.peek = type(wire) == "string" and wire or (">I" .. f.bits // 8):pack(wire)
    w.peeked = false
    local n = solve.eval(w, it.switch)
    w.peek = nil
    if n == nil or not w.peeked then
        return nil
    end
    return key and n == key or not key and it.cases[n] == nil
end

-- The cases whose items have names that were given, those with most of them first; `only`: of those that have found no
-- place. false stands for the default.
local function likely_cases(w, it, only)
    local list, keys = {}, {}
    for key in pairs(it.cases) do
        keys[#keys + 1] = key
    end
    table.sort(keys)
    if it.default then
        keys[#keys + 1] = false
    end
    local scope = w.st.scope
    for i, key in ipairs(keys) do
        local case = key and it.cases[key] or it.default
        local names = schema.names_of(w.p, case)
        local score = 0
        for name in pairs(only or scope.given) do
            local own = names.fields[name]
            if own and holds(scope, own, name) or not own and schema.has(names, scope, name) then
                score = score + 2
            end
        end
        if not only then
            for name, times in pairs(scope.lists) do
                score = score + (names.lists[name] and times[1] and times[1].given and 2 or 0)
            end
        end
        local ahead = score > 0 and looks_ahead_to(w, it, key, case)
        score = ahead == true and score + 1 or ahead == false and 0 or score
        if score > 0 then
            list[#list + 1] = { key = key, case = case, score = score, order = i }
        end
    end
    table.sort(list, function(a, b)
        return a.score > b.score or a.score == b.score and a.order < b.order
    end)
    return list
end

local function case_of(w, it, node)
    local open = solve.open(w.p, it.switch)
    local v = not open and solve.eval(w, it.switch) or nil
    local names = schema.names_of_item(w.p, it)
    if v ~= nil then
        local current = it.cases[v] or it.default
        if missing_for(w.st, names) and not (current and missing_for(w.st, schema.names_of(w.p, current))) then
            for _, c in ipairs(likely_cases(w, it, w.st.unplaced)) do
                if c.key and solve.equal(w, it.switch, c.key, c.case) then
                    return c.key, c.case
                end
            end
        end
        return it.cases[v] and v or false, current
    end
    if given_for(w.st, names) then
        local list = likely_cases(w, it)
        for _, c in ipairs(list) do
            if not c.key or solve.equal(w, it.switch, c.key, c.case) then
                return c.key, c.case
            end
        end
        return list[1] and list[1].key or false, list[1] and list[1].case or it.default
    elseif node then
        return node.case, node.case and it.cases[node.case] or it.default
    elseif open then
        return false, it.default
    end
    return it.cases[0] and 0 or false, it.cases[0] or it.default
end

local function switch(w, it)
    if it.when and not is_there(w, it, it.when) then
        return
    end
    local node = node_of(w.st, it, turn(w.st.turn, it))
    local key, case = case_of(w, it, node)
    if node and key ~= node.case and it.size and not given_for(w.st, schema.names_of_item(w.p, it)) then
        -- another meaning of the same bytes
        local regs = registers(w, it.size)
        literal(w, KEPT, node.content)
        solve.relate(w, it.size, #node.content, regs)
        return
    end
    body_of(w, it, node, case or {})
end

local function align(w, it)
    local node = node_of(w.st, it, turn(w.st.turn, it))
    local gap = -w.pos % (it.align * 8)
    if node and #node.gap * 8 == gap then
        literal(w, KEPT, node.gap)
    end
    w.pos = w.pos + -w.pos % (it.align * 8)
    w:reach(w.pos)
end

-- Text headers: those of an edited layer with their lines, new ones behind them in the order of their names.
local function headers(w, it)
    local node = node_of(w.st, it, turn(w.st.turn, it))
    local st = w.st
    local function whole(text)
        literal(w, GIVEN, text:find "\n$" and text or text .. "\r\n")
    end
    for _, line in ipairs(node and node.lines or {}) do
        local n = it.line and turn(st.turn, it.line)
        local kept = n and node_of(st, it.line, n)
        if kept and kept.given ~= nil then
            whole(kept.given)
        else
            literal(w, KEPT, line.before)
            if line.field then
                field(w, line.field)
                literal(w, KEPT, line.after)
            end
        end
    end
    local lines = it.line and st.scope.given[it.line.name]
    for _, text in ipairs(type(lines) == "table" and lines or { lines }) do
        st.taken[it.line.name] = (st.taken[it.line.name] or 0) + 1
        whole(text)
    end
    local list, named = {}, {}
    for _, f in pairs(it.headers) do -- of several headers that are one field the longest
        local other = named[f.name]
        if not other or #f.header > #other.header or #f.header == #other.header and f.header < other.header then
            named[f.name] = f
        end
    end
    for _, f in pairs(named) do
        list[#list + 1] = f
    end
    table.sort(list, function(a, b) return a.header < b.header end)
    for _, f in ipairs(list) do
        while given_for(st, schema.names_of_item(w.p, f)) do
            literal(w, GIVEN, f.header .. ": ")
            w.bounded = w.bounded + 1
            field(w, f)
            w.bounded = w.bounded - 1
            literal(w, GIVEN, "\r\n")
        end
    end
    literal(w, node and KEPT or DEFAULT, node and node.blank or "\r\n")
end

local run = {
    field = field, group = group, switch = switch, align = align, headers = headers,
    rounds = function(w, it) loop(w, it.it) end,
    check = function() end,
    origin = function(w) w.origin = w.pos // 8 end,
    call = function(w, it)
        if it.when and not is_there(w, it, it.when) then
            return
        end
        if w.depth > 64 then
            error(("%s: it holds itself too often"):format(w.p.name), 0)
        end
        w.depth = w.depth + 1
        items(w, w.p.groups[it.call])
        w.depth = w.depth - 1
    end,
}

function items(w, list)
    for i = 1, #list do
        local it = list[i]
        local halts = w.st.scope.halts
        if halts and halts[it] and turn(w.st.passed, it) == halts[it] then
            error(HALT, 0)
        end
        run[it.kind](w, it)
    end
end

return items
