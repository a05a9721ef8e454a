--- The fields of a layer that is built: what each is to hold, and how many bits it takes.

local expr = require "ringtap.expr"
local value = require "ringtap.build.value"
local schema = require "ringtap.build.schema"
local solve = require "ringtap.build.solve"
local state = require "ringtap.build.state"
local write = require "ringtap.build.write"

local turn, node_of, given_for, is_there = state.turn, state.node_of, state.given_for, state.is_there
local DEFAULT, OVERLAID, KEPT, FOLLOWS, GIVEN = write.DEFAULT, write.OVERLAID, write.KEPT, write.FOLLOWS, write.GIVEN

local M = {}

M.HALT = {} -- raised where the bytes of an edited layer had ended

local function slot_of(w, f)
    local st = w.st
    local n = turn(st.turn, f)
    st.slots[f] = st.slots[f] or {}
    local s = st.slots[f][n]
    if not s then
        w.slot_count = w.slot_count + 1
        s = { f = f, order = w.slot_count, pass = 0 }
        st.slots[f][n] = s
        w.slots[#w.slots + 1] = s
    end
    return s, n
end

local function take_name(st, name)
    local v = st.scope.given[name]
    if v == nil then
        return nil
    end
    local k = (st.taken[name] or 0) + 1
    if type(v) == "table" then
        v = v[k]
    elseif k > 1 then
        return nil
    end
    if v ~= nil then
        st.taken[name] = k
    end
    return v
end

-- What was given for this occurrence of the field, by its name or another one that it has.
local function take(st, f, node)
    if node and node.given ~= nil then
        return node.given
    end
    local v = take_name(st, f.name or f.short)
    for _, also in ipairs(v == nil and f.also or {}) do
        v = v == nil and take_name(st, also) or v
    end
    return v
end

-- The number that expressions see.
local function number_of(f, content, bits)
    if value.is_sizeless(f) then
        return value.sizeless(f, content)
    elseif math.type(content) == "integer" then
        return value.number(f, content, bits)
    elseif bits == 0 or bits > 64 then
        return bits // 8
    end
    return value.number(f, (">I" .. #content):unpack(content), bits)
end

local function was_number(w, s)
    if not w.prev or not s.bit or s.pass ~= w.pass - 1 or s.behind then
        return nil
    end
    local bytes, f = w.prev.bytes, s.f
    if value.is_sizeless(f) then
        return value.sizeless(f, bytes:sub(s.bit // 8 + 1, (s.bit + s.bits) // 8))
    elseif s.bits == 0 or s.bits > 64 then
        return s.bits // 8
    end
    return value.number(f, value.load(bytes, s.bit, s.bits), s.bits)
end

--- Run items as a region of its own; bytes that they took. `node` keeps what no item covered in an edited layer.
function M.region(w, list, node, limit)
    local start = w.pos
    w.bounded = w.bounded + 1
    w.run(w, list)
    w.bounded = w.bounded - 1
    local n = (w.pos - start + 7) // 8
    w.pos = start + n * 8
    if node and node.halt then
        error(M.HALT, 0)
    end
    local tail = node and node.tail
    if tail and tail ~= "" then
        if not (limit and tail:find "^%z+$" and n ~= node.covered) then -- else it was padding, made anew
            write.literal(w, KEPT, tail)
            n = n + #tail
        end
    end
    return n
end

--- Can't the field that a size is in express every number of bytes? Then zeroes at the end were padding.
function M.is_coarse(w, e)
    local name, mul = expr.linear(e or { k = 0 })
    local reg = name and w.regs[name]
    return reg ~= nil and mul * reg.f.scale > 1
end

local function fit(w, f, content, e)
    local n = #content
    if e.k then
        if n > e.k then
            value.fail(f, "%d bytes don't fit into its %d", n, e.k)
        end
        return content .. ("\0"):rep(e.k - n)
    end
    return content .. ("\0"):rep(solve.relate(w, e, n))
end

local function forced(w, f, node)
    if w.mode ~= "force" or not w.value_at then
        return nil
    end
    return w.value_at(f, node)
end

-- What ends a text, behind it; its bits.
local function put_end(w, f, node, bit, rank)
    local skip = ""
    if node then
        skip = node.skip
    elseif f.until_ then
        skip = f.until_
    elseif f.type == "stringz" and not f.size then
        skip = "\0"
    end
    if skip ~= "" then
        w:put(rank, bit, skip, #skip * 8)
    end
    return #skip * 8
end

local function variable(w, f, s, node, given)
    local e = f.size
    local rank, content
    if given ~= nil then
        rank = GIVEN
        if f.type == "name" then
            content = write.name(w, value.labels(f, given), node and node.target ~= nil)
        else
            if e and (value.is_sizeless(f) or value.is_prefix(f)) then
                s.size = solve.certain(w, e) and solve.eval(w, e) or nil
            end
            content = value.wire(f, given, s.size)
        end
    elseif s.follows ~= nil then
        local ok
        rank = FOLLOWS
        ok, content = pcall(value.wire, f, s.follows, s.size or node and #node.raw)
        if not ok then
            content = value.wire(f, s.follows)
        end
    elseif f.type == "name" and node and node.labels then
        rank, content = KEPT, write.kept_name(w, node)
    elseif f.sub and f.type ~= "name" and (node or given_for(w.st, schema.names_of(w.p, f.sub))) then
        local start = w.pos
        local n = M.region(w, f.sub, node, M.is_coarse(w, e))
        w.pos = start
        if e then
            n = n + math.max(0, e.k and e.k - n or solve.relate(w, e, n))
        end
        return nil, n * 8, put_end(w, f, node, start + n * 8, node and KEPT or DEFAULT)
    elseif node then
        rank, content = KEPT, forced(w, f, node) or node.raw
    elseif f.default ~= nil then
        rank = DEFAULT
        content = f.type == "name" and write.name(w, value.labels(f, f.default)) or value.wire(f, f.default)
    else
        local n = e and not solve.open(w.p, e) and solve.eval(w, e) or 0
        n = n > 0 and n < 65536 and n or 0
        s.size = value.is_sizeless(f) and n > 0 and n or nil
        rank, content = DEFAULT, value.zero(f, n > 0 and n or value.is_sizeless(f) and 1 or 0)
    end
    if e then
        content = fit(w, f, content, e)
    end
    w:put(rank, w.pos, content, #content * 8)
    return content, #content * 8, put_end(w, f, node, w.pos + #content * 8, rank)
end

local function fixed(w, f, s, node, given)
    local preset = w.st.preset and w.st.preset[f]
    if given ~= nil then
        local wire = value.wire(f, given)
        w:put(GIVEN, w.pos, wire, f.bits)
        return wire
    end
    local content
    if node then
        content = forced(w, f, node) or node.raw
        w:put(f.overlay and OVERLAID or KEPT, w.pos, content, f.bits)
    elseif f.default ~= nil then
        content = value.wire(f, f.default)
        w:put(DEFAULT, w.pos, content, f.bits)
    end
    if preset and s.solved == nil then
        s.solved, s.solved_pass = preset, w.pass
    end
    if s.solved ~= nil then
        content = value.wire_number(f, s.solved)
        w:put(FOLLOWS, w.pos, content, f.bits)
    end
    return content
end

--- Write field f.
function M.field(w, f)
    if f.when and not is_there(w, f, f.when) then
        return
    end
    if f.value or f.type == "frame" then
        local v
        if f.value and not solve.open(w.p, f.value) then
            v = solve.eval(w, f.value)
            v = v and v * f.scale + f.add
        end
        w.regs[f.short] = { f = f, expr = f.value or { k = 0 }, value = v }
        return
    end
    local st = w.st
    local s, n = slot_of(w, f)
    local node = node_of(st, f, n)
    local given = take(st, f, node)
    local start = w.pos
    if f.overlay and not f.bits and given == nil then -- it shows what other items write
        if f.sub and given_for(st, schema.names_of(w.p, f.sub)) then
            w.run(w, f.sub)
            w.pos = start
        end
        return
    end
    local known = was_number(w, s)
    s.given, s.node = given, node
    if node and node.given == nil and given ~= nil then
        s.node = nil
    end
    local content, bits, skip
    s.bit, s.bits, s.behind = start, f.bits or 0, w.in_behind
    if f.bits then
        bits, skip = f.bits, 0
        content = fixed(w, f, s, s.node, given)
    else
        content, bits, skip = variable(w, f, s, s.node, given)
    end
    s.bits, s.pass = bits, w.pass
    if known == nil and content ~= nil then
        known = number_of(f, content, bits)
    elseif known == nil and not f.bits then
        known = bits // 8
    end
    w.regs[f.short] = { f = f, slot = s, value = known }
    local stop = start + bits + skip
    if not f.overlay or given ~= nil then
        w:reach(stop)
        if f.overlay and given ~= nil then
            w.overlaid = math.max(w.overlaid, stop)
        end
    end
    if f.bits and f.sub then
        w.pos = start
        w.run(w, f.sub)
    elseif f.sub and f.type == "name" then
        w.pos = start
        w.run(w, f.sub)
    end
    w.pos = f.overlay and start or stop
end

return M
