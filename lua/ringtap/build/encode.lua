--- A layer's values to its bytes: the items of its table are walked as in decoding, but the cursor writes.
--
-- A walk is repeated until it gives the same bytes twice. What isn't given and follows from the rest (lengths, counts,
-- what says what follows) is set by ringtap/build/solve.lua as soon as it is known; the next walk sees it where
-- conditions and sizes name it. Of what lies on the same bits the one that comes first in this list wins: given values,
-- values that follow, what an edited packet had, defaults.

local expr = require "ringtap.expr"
local schema = require "ringtap.build.schema"
local solve = require "ringtap.build.solve"
local state = require "ringtap.build.state"
local write = require "ringtap.build.write"
local fields = require "ringtap.build.field"
local items = require "ringtap.build.items"

local M = {}

local KEPT = write.KEPT
local PASSES = 16

local function environment(w)
    local env = {}
    function env.field(name)
        local over = w.over
        while over do
            if over[name] ~= nil then
                return over[name]
            end
            over = over.next
        end
        local reg = w.regs[name]
        if not reg then
            return 0
        elseif reg.expr and (w.over or w.unwritten and reg.value == nil) then -- it may depend on what is tried
            local v = expr.eval(reg.expr, env)
            return v and v * reg.f.scale + reg.f.add
        end
        return reg.value or w.zero and 0 or nil
    end
    function env.var(name)
        local prev = w.prev
        if name == "here" then
            return w.pos // 8
        elseif name == "index" then
            return w.index
        elseif name == "rest" then
            return prev and math.max(0, prev.len - w.pos // 8)
        elseif name == "header" then
            return prev and prev.header
        elseif name == "len" or name == "cap" then
            return prev and prev.len
        elseif name == "payload" then
            return prev and prev.len - prev.header
        elseif name == "inner_end" then
            return prev and prev.header
        end
        w.asked = w.asked or name == "start" or name == "parent_len" or name == "passed" or name == "wire"
        return w.context[name] or (name == "direction" or name == "passed") and 0 or nil
    end
    function env.read(kind, n)
        local prev = w.prev and w.prev.full
        local width = math.tointeger(tonumber(kind:match "%d+")) // 8
        if kind:find "^at" then
            if w.peek then
                w.peeked = true
                return n >= 0 and n + width <= #w.peek and (">I" .. width):unpack(w.peek, n + 1) or nil
            end
            n = n + w.pos // 8
        end
        if not prev or n < 0 or n + width > #prev then
            return w.unwritten and 0 or nil
        end
        return ((kind:find "^le" and "<" or ">") .. "I" .. width):unpack(prev, n + 1)
    end
    function env.under(name)
        return w.context.under == name
    end
    function env.line(text)
        local line = (w.prev and w.prev.full or ""):sub(1, 1024):match "^[^\r\n]*"
        return line:find(text, 1, true) ~= nil
    end
    return env
end

-- Names given that no item of this walk took; each scope remembers its own.
local function unplaced(w, st, list)
    local left = {}
    st.unplaced = nil
    local scope = st.scope
    for name, v in pairs(scope.given) do
        if (st.taken[name] or 0) < (type(v) == "table" and #v or 1) and not name:find "^_" then
            left[name] = true
        end
    end
    for key, times in pairs(scope.lists) do
        if times[1] and times[1].given and not st.loops[key] and type(key) == "string" then
            left[key] = true
        end
    end
    if next(left) then
        st.unplaced = left
        for name in pairs(left) do
            list[#list + 1] = name
        end
    end
    for _, times in pairs(st.kids) do
        for _, kids in ipairs(times) do
            for _, kid in ipairs(kids) do
                if kid.pass == w.pass then
                    unplaced(w, kid, list)
                end
            end
        end
    end
    return list
end

local function behind(w)
    local it, st = w.behind[1], w.behind[2]
    local saved = { w.writes, w.pos, w.extent, w.st }
    write.start(w)
    w.st, w.in_behind = st, true
    items(w, it.items)
    local bytes = write.assemble(w)
    w.writes, w.pos, w.extent, w.st = table.unpack(saved)
    w.in_behind = nil
    return bytes
end

-- The items of the table, and what followed them in an edited layer's header; bytes. `halted`: its bytes had ended.
local function lay_items(w)
    local tail = w.layer.tail
    state.enter(w, w.root)
    local ok, err = pcall(items, w, w.p.items)
    local halted = not ok and err == fields.HALT
    if not ok and not halted then
        error(err, 0)
    end
    w.st = w.root
    local n = (w.extent + 7) // 8
    w.extent, w.pos = n * 8, n * 8
    if tail and tail ~= "" and w.overlaid <= w.extent then
        write.literal(w, KEPT, tail)
        n = n + #tail
    end
    return n, halted
end

-- Make e come to n, or to the next number that it can come to; how much that is more.
local function grow(w, e, n)
    return math.max(0, solve.relate(w, e, n))
end

-- The rule of the table that tells where what is carried begins and how long it is.
local function rule_for(w)
    local upper = w.context.upper or w.layer.above_proto
    for _, r in ipairs(w.p.next) do
        local leads = not upper or r.proto == upper.name or r.table and upper.def.on and upper.def.on[r.table]
            or r.guess_by and upper.guess[r.guess_by]
        if leads and not r.stop and (not r.when or (solve.eval(w, r.when) or 0) ~= 0) then
            return r
        end
    end
end

-- Where what is carried begins, after n bytes of the layer's own; and n, which may grow for it.
local function place(w, n, data)
    local layer, gap = w.layer, w.layer.gap or ""
    local into = layer.inside and layer.from or (w.header_end or n) + #gap
    local rule = rule_for(w)
    if rule and rule.at and rule.at.k and #data > 0 and not layer.inside then
        into = math.max(rule.at.k, #gap)
        n = math.max(n, into)
    elseif rule and rule.at and #data > 0 then
        local more = grow(w, rule.at, into)
        n, into = n + more, into + more
    end
    if rule and rule.size then
        solve.relate(w, rule.size, #data)
    end
    w:reach(n * 8)
    return into, n
end

-- The layer's own bytes with what it carries among them.
local function compose(layer, bytes, into, data)
    local full = (bytes:sub(1, into) .. (layer.gap or "")):sub(1, into)
    full = full .. ("\0"):rep(into - #full) .. data
    if layer.inside then
        return full .. bytes:sub(layer.to + 1) .. layer.trailer
    end
    return full .. bytes:sub(#full + 1) .. (layer.trailer or "")
end

local function pass(w)
    local p, layer, context = w.p, w.layer, w.context
    w.pass = w.pass + 1
    write.start(w)
    w.overlaid, w.index, w.origin, w.depth, w.bounded, w.solves = 0, 0, 0, 0, 0, 0
    w.regs, w.names, w.moved, w.behind, w.over, w.header_end = {}, {}, {}, nil, nil, nil
    local n, halted = lay_items(w)
    if context.upper then
        solve.lead_to(w, context.upper)
    end
    if p.header and not halted then
        n = n + grow(w, p.header, n)
        w:reach(n * 8)
        w.header_end = p.header.k
    end
    local data = context.data
    local into
    into, n = place(w, n, data)
    if w.overlaid > (w.header_end or n) * 8 then -- what is carried, given as a field of this layer
        if #data > 0 then
            error(("%s: what it carries is given twice"):format(p.name), 0)
        end
    end
    if w.pass == 1 and p.accept and not solve.open(p, p.accept) and not layer.scope.raw then
        solve.solve(w, p.accept, true)
    end
    -- how long it is may be said in it, and so change a byte, but not how many there are
    local length = #compose(layer, ("\0"):rep((w.extent + 7) // 8), into, data)
    local pad = 0
    local untold = p.untold and (solve.eval(w, p.untold) or 0) ~= 0
        or p.guessed and layer.scope.raw and (solve.eval(w, p.guessed) or 0) ~= 0
    if p.total and not halted and not untold then
        pad = grow(w, p.total, length)
        pad = layer.scope.raw and layer.cut and 0 or pad
    end
    local after = w.behind and behind(w) or ""
    local bytes = write.assemble(w)
    return {
        bytes = bytes, into = into, len = length + pad,
        full = compose(layer, bytes, into, data) .. ("\0"):rep(pad) .. after,
    }
end

--- The bytes of a layer. context: data (bytes that it carries), upper (the protocol of them, or nil), under (the name
-- of the layer below), start, parent_len, passed, wire, link. mode: "build", or of an edited layer "baseline" (nothing
-- was changed), "edit", "force" (everything from its value).
function M.layer(layer, context, mode, value_at)
    local w = setmetatable({
        p = layer.p, layer = layer, context = context, mode = mode, pass = 0, slots = {}, slot_count = 0,
        run = items, states = setmetatable({}, { __mode = "k" }), value_at = value_at,
    }, write.walk)
    w.root = state.new(w, layer.scope)
    w.env = environment(w)
    if layer.original then
        w.prev = { bytes = layer.original, full = layer.original, header = layer.header, len = layer.len }
    end
    local left, before, settled
    for _ = 1, PASSES do
        local result = pass(w)
        left = unplaced(w, w.root, {})
        local missing = table.concat(left, ",")
        settled = w.pass > 1 and w.prev.full == result.full and w.solves == 0 and missing == before
        before = missing
        result.walk, w.result = w, result
        w.prev = { bytes = result.bytes, full = result.full, header = result.into, len = result.len }
        if settled then
            break
        end
    end
    if #left > 0 then
        table.sort(left)
        error(("%s: there is no place for '%s' beside the other values"):format(layer.p.name,
            schema.short(layer.p, left[1])), 0)
    elseif not settled then
        error(("%s: its values don't settle: they depend on each other"):format(layer.p.name), 0)
    end
    if mode == "baseline" then
        for _, s in ipairs(w.slots) do
            if s.node and s.natural_pass == w.pass then
                s.node.natural = s.natural
            end
        end
    end
    return w.result
end

--- The slot that the field of that name has in an encoded layer, the first one; nil: it has none.
function M.slot(w, name)
    local found
    for _, s in ipairs(w.slots) do
        if s.f.name == name and s.pass == w.pass and not s.behind and (not found or s.bit < found.bit) then
            found = s
        end
    end
    return found
end

M.eval = solve.eval
return M
