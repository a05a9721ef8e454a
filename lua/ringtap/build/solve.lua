--- Expressions of tables the other way round: which value has a field to have for a length, a count or a condition to
-- be what it is to be. `w` is a walk of ringtap/build/encode.lua; w.regs has what each name stands for at the moment:
-- { f = field, slot = its place, value = number or nil } or, for a value that is worked out, { f =, expr = }.

local core = require "ringtap.core"
local expr = require "ringtap.expr"
local value = require "ringtap.build.value"
local schema = require "ringtap.build.schema"

local M = {}

-- What depends on bytes that aren't there yet, or on what comes behind the layer.
local later = { rest = true, len = true, cap = true, payload = true, wire = true, parent_len = true, checksum = true,
    inner_end = true }

local values_of = setmetatable({}, { __mode = "k" }) -- protocol: { [short name] = expressions of its value fields }

local function value_fields(p)
    local map = values_of[p]
    if not map then
        map = {}
        local function note(it)
            if it.kind == "field" and it.value then
                map[it.short] = map[it.short] or {}
                table.insert(map[it.short], it.value)
            end
            return true
        end
        schema.each_item(p, p.items, note, {})
        for _, items in pairs(p.groups) do
            schema.each_item(p, items, note, {})
        end
        values_of[p] = map
    end
    return map
end

local open_of = setmetatable({}, { __mode = "k" }) -- protocol: { [expression] = true or false }

--- Can't e be told before the bytes are there? Whether an item is there is told by what was given then.
function M.open(p, e)
    local map = open_of[p]
    if not map then
        map = setmetatable({}, { __mode = "k" })
        open_of[p] = map
    end
    local known = map[e]
    if known ~= nil then
        return known
    end
    map[e] = false -- against circles
    local is = false
    expr.walk(e, function(n)
        if n.var and later[n.var] or n.line or n.read and (n.read:find "^at" or not n[1].k) then
            is = true
        elseif n.field then
            for _, inner in ipairs(value_fields(p)[n.field] or {}) do
                is = is or M.open(p, inner)
            end
        end
    end)
    map[e] = is
    return is
end

--- e as a number, or nil where a part of it isn't known.
function M.eval(w, e)
    return expr.eval(e, w.env)
end

-- The same with 0 for what isn't known yet.
local function eval_or_zero(w, e)
    w.zero = true
    local n = expr.eval(e, w.env)
    w.zero = false
    return n
end

local function eval_with(w, e, name, v)
    local was = w.over
    w.over = { [name] = v, next = was }
    local n = expr.eval(e, w.env)
    w.over = was
    return n
end

local function settable(reg)
    return reg and reg.slot and reg.slot.given == nil and (value.is_number(reg.f) or value.is_sizeless(reg.f))
end

--- Names in e of fields that may be set, the later declared first and those without a default before those with one.
-- All: those that were given, too.
local function candidates(e, regs, all)
    local list, seen = {}, {}
    expr.walk(e, function(n)
        local reg = n.field and regs[n.field]
        if reg and not seen[n.field] and (settable(reg) or all and reg.slot) then
            seen[n.field] = true
            list[#list + 1] = { name = n.field, reg = reg, order = reg.slot.order }
        end
    end)
    table.sort(list, function(a, b)
        local x, y = a.reg.f.default == nil, b.reg.f.default == nil
        if x ~= y then
            return x
        end
        return a.order > b.order
    end)
    return list
end

-- ---------------------------------------------------------------- lengths and counts

--- A field has to have the (displayed) value v, by a length or a count. What was given stays; in an edited layer so
-- does what doesn't depend on what was changed.
function M.natural(w, reg, v)
    local s, f = reg.slot, reg.f
    if s.natural_pass == w.pass and s.natural > v then
        v = s.natural
    end
    s.natural, s.natural_pass = v, w.pass
    if s.given ~= nil then
        return
    end
    local node = s.node
    if node then
        if not f.bits and value.sizeless(f, node.raw) == v then -- however many bytes it takes
            s.follows = nil
            return
        elseif w.mode == "baseline" or w.mode == "force" and w.layer.cut then
            return
        elseif w.mode ~= "force" then
            if node.natural == v then
                return
            elseif w.layer.cut and node.natural then
                v = (f.bits and value.number(f, node.raw, node.bits) or value.sizeless(f, node.raw)) + v - node.natural
            end
        end
    end
    M.set(w, reg, v)
end

--- The field of reg becomes v. One whose width depends on it is written anew in the next walk.
function M.set(w, reg, v)
    local s, f = reg.slot, reg.f
    if f.bits then
        w:put(3, s.bit, value.wire_number(f, v, s.bits), s.bits)
    elseif s.follows ~= v then
        value.wire(f, v, s.size)
        s.follows = v
        w.solves = w.solves + 1
    end
    reg.value = v
end

-- The smallest value of the candidate for which e is at least n, and that e; e is taken to rise with it.
local function search(w, e, n, c)
    local f = c.reg.f
    local bits = math.min(f.bits or 32, 32)
    local low, high = 0, (1 << bits) - 1
    local function at(raw)
        return eval_with(w, e, c.name, raw * f.scale + f.add)
    end
    local top = at(high)
    if not top or top < n then
        return nil
    end
    while low < high do
        local mid = (low + high) // 2
        local v = at(mid)
        if not v then
            return nil
        elseif v >= n then
            high = mid
        else
            low = mid + 1
        end
    end
    return low * f.scale + f.add, at(low)
end

--- Make e come to n by setting the field in it that may be set. How much has to be added to n so that it can be.
function M.relate(w, e, n, regs)
    regs = regs or w.regs
    if e.k then
        return e.k - n
    elseif M.open(w.p, e) then
        return 0
    end
    local name, mul, add = expr.linear(e)
    if name then
        local reg = regs[name]
        if not reg then
            return 0
        elseif reg.expr then
            local per = mul * reg.f.scale
            if per <= 0 then
                return 0
            end
            local base = add + mul * reg.f.add
            local want = math.max(0, -((base - n) // per))
            local more = M.relate(w, reg.expr, want)
            return (want + more) * per + base - n
        elseif not settable(reg) then
            return 0
        end
        local step = mul * reg.f.scale
        if step <= 0 then
            return 0
        end
        local base = add + mul * reg.f.add
        local raw = math.max(0, -((base - n) // step))
        M.natural(w, reg, raw * reg.f.scale + reg.f.add)
        return raw * step + base - n
    end
    local list = candidates(e, regs)
    local now = expr.eval(e, w.env)
    if now == n then
        if #list == 1 and list[1].reg.value then
            M.natural(w, list[1].reg, list[1].reg.value)
        end
        return 0
    end
    for _, c in ipairs(list) do
        local branches = e.cond and { e[1], e[2] } or {}
        for _, branch in ipairs(branches) do
            local field, m, a = expr.linear(branch)
            local f = c.reg.f
            if field == c.name and m * f.scale > 0 and (n - a - m * f.add) % (m * f.scale) == 0 then
                local v = (n - a) // m
                if eval_with(w, e, c.name, v) == n then
                    M.natural(w, c.reg, v)
                    return 0
                end
            end
        end
        local v, got = search(w, e, n, c)
        if v and got - n < 256 then
            M.natural(w, c.reg, v)
            return got - n
        end
    end
    return 0
end

--- Is the number of e certain: constant, given, or with a default?
function M.certain(w, e)
    local sure = not M.open(w.p, e)
    expr.walk(e, function(n)
        local reg = n.field and w.regs[n.field]
        if n.field and not (reg and (reg.expr or reg.slot.given ~= nil or reg.slot.node or reg.f.default ~= nil)) then
            sure = false
        end
    end)
    return sure
end

-- ---------------------------------------------------------------- conditions

local function assign(w, reg, v)
    if not reg then
        return false
    elseif reg.expr then
        return (v - reg.f.add) % reg.f.scale == 0 and M.equal(w, reg.expr, (v - reg.f.add) // reg.f.scale)
    end
    local s = reg.slot
    if not settable(reg) or s.solved ~= nil and s.solved ~= v and s.solved_pass == w.pass then
        return false
    elseif s.solved == v and s.solved_pass < w.pass then -- it was set, but what was given lies over it
        return true
    end
    if not pcall(value.wire, reg.f, v, s.size) then
        return false
    end
    s.solved, s.solved_pass = v, w.pass
    M.set(w, reg, v)
    w.solves = w.solves + 1
    return true
end

--- The field that begins these items, if that can be told.
function M.first_field(w, items, depth)
    for _, it in ipairs(items) do
        if it.kind == "field" then
            if not it.overlay and not it.value then
                return it
            end
        elseif it.kind == "group" then
            return M.first_field(w, it.items, depth)
        elseif it.kind == "call" then
            return depth < 8 and M.first_field(w, w.p.groups[it.call], depth + 1) or nil
        elseif it.kind ~= "check" and it.kind ~= "origin" then
            return nil
        end
    end
end

--- Make e equal k. `items` are what follows the cursor, for what looks ahead.
function M.equal(w, e, k, items)
    if e.k then
        return e.k == k
    elseif M.eval(w, e) == k then
        return true
    elseif e.field then
        return assign(w, w.regs[e.field], k)
    elseif e.read then
        local width = ({ at8 = 8, at16 = 16, at32 = 32 })[e.read]
        local f = items and width and e[1].k == 0 and M.first_field(w, items, 0)
        if not f or f.bits ~= width then
            return false
        end
        w.st.preset = w.st.preset or {}
        w.st.preset[f] = k
        return true
    end
    local name, mul, add = expr.linear(e)
    if name then
        return mul ~= 0 and (k - add) % mul == 0 and assign(w, w.regs[name], (k - add) // mul)
    end
    local a, b = e[1], e[2]
    if e.cond then
        local c = M.eval(w, e.cond)
        if c then
            return M.equal(w, c ~= 0 and a or b, k, items)
        end
    elseif e.op == "&" and b.k and k & ~b.k == 0 then
        return M.equal(w, a, (M.eval(w, a) or 0) & ~b.k | k, items)
    elseif e.op == ">>" and b.k then
        return M.equal(w, a, k << b.k | (M.eval(w, a) or 0) & ((1 << b.k) - 1), items)
    elseif e.op == "<<" and b.k and k & ((1 << b.k) - 1) == 0 then
        return M.equal(w, a, k >> b.k, items)
    elseif (e.op == "|" or e.op == "+") and a.op == "<<" and a[2].k then
        local n = a[2].k
        return M.equal(w, a[1], k >> n, items) and M.equal(w, b, k & ((1 << n) - 1), items)
    end
    return false
end

local opposite = { ["=="] = "!=", ["!="] = "==", ["<"] = ">=", [">="] = "<", [">"] = "<=", ["<="] = ">" }

--- Make e true (or false, when want is false).
function M.solve(w, e, want, items)
    local now = M.eval(w, e)
    if now ~= nil and (now ~= 0) == want then
        return true
    end
    local a, b = e[1], e[2]
    if e.op == "!" then
        return M.solve(w, a, not want, items)
    elseif e.op == "&&" or e.op == "||" then
        if (e.op == "&&") == want then
            return M.solve(w, a, want, items) and M.solve(w, b, want, items)
        end
        return M.solve(w, a, want, items) or M.solve(w, b, want, items)
    elseif opposite[e.op] then
        local op = want and e.op or opposite[e.op]
        local k = M.eval(w, b)
        if not k then
            return false
        elseif op == "==" then
            return M.equal(w, a, k, items)
        elseif op == "!=" then
            return M.equal(w, a, k == 0 and 1 or 0, items)
        end
        local from = op == ">" and k + 1 or op == "<" and k - 1 or k
        local step = (op == ">" or op == ">=") and 1 or -1
        for i = 0, 15 do -- a multiple of the scale is among them
            if M.equal(w, a, from + i * step, items) then
                return true
            end
        end
        return false
    elseif e.op == "&" and b.k then
        return M.equal(w, a, want and (M.eval(w, a) or 0) | b.k & -b.k or (M.eval(w, a) or 0) & ~b.k, items)
    end
    return M.equal(w, e, want and 1 or 0, items)
end

-- ---------------------------------------------------------------- what follows

local function keys_of(p, name)
    local list = {}
    for _, key in ipairs(p.places[name] or {}) do
        if core._bound(name, key) == p.name then
            list[#list + 1] = key
        end
    end
    return list
end
M.keys_of = keys_of

-- Do the rules lead to protocol p, as things are?
local function leads_to(w, p)
    for _, r in ipairs(w.p.next) do
        local when = r.when and (M.eval(w, r.when) or 0) or 1
        if when ~= 0 then
            if r.stop then
                return false
            elseif r.proto then
                return r.proto == p.name
            elseif r.table then
                local key = eval_or_zero(w, r.key)
                local bound = key and key >= 0 and key <= 0xffffffff and core._bound(r.table, key)
                if bound then
                    return bound == p.name
                end
            end
        end
    end
    return false
end

local function set_key(w, rule, key)
    if rule.when and M.open(w.p, rule.when) == false and M.eval(w, rule.when) == 0
        and #candidates(rule.when, w.regs) == 0 then
        return false
    end
    if M.eval(w, rule.key) == key then
        return true
    end
    local there = true
    expr.walk(rule.key, function(n)
        there = there and (not n.field or w.regs[n.field] ~= nil)
    end)
    if not there then -- the condition comes first
        return rule.when ~= nil and M.solve(w, rule.when, true)
    end
    local list = candidates(rule.key, w.regs, true)
    if #list > 1 then -- of several (ports) the one of the other side, or none
        local c = list[1]
        w.zero = true
        local fits = settable(c.reg) and eval_with(w, rule.key, c.name, key) == key
        w.zero = false
        return fits and assign(w, c.reg, key)
    end
    return M.equal(w, rule.key, key)
end

-- Can this rule lead to p? The fields that it depends on are set.
local function set_rule(w, r, p)
    local found = r.proto == p.name
    if r.table then
        for _, key in ipairs(keys_of(p, r.table)) do
            if set_key(w, r, key) then
                found = true
                break
            end
        end
    end
    if found and r.when and not M.open(w.p, r.when) and M.eval(w, r.when) == 0 then
        return M.solve(w, r.when, true)
    end
    return found
end

--- Set the fields that say what follows, unless they say it already.
function M.lead_to(w, p)
    if leads_to(w, p) then
        return
    end
    local solves = w.solves
    for i, r in ipairs(w.p.next) do
        if set_rule(w, r, p) then
            for k = 1, i - 1 do -- and not what comes before it
                local before = w.p.next[k]
                if before.when and not M.open(w.p, before.when) and (before.proto or before.stop)
                    and (eval_or_zero(w, before.when) or 0) ~= 0 then
                    M.solve(w, before.when, false)
                end
            end
            return
        elseif w.solves > solves then -- a part of it: the next walk sees more
            return
        end
    end
end

return M
