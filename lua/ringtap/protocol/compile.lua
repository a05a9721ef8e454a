--- From a checked tree to the flat table that the engine takes (src/lua/engine.c reads it): declarations of fields,
-- expressions as code, items as a program.
--
-- While items are written, `where` says what is known of their place: pos, bits from the layer's start, nil where that
-- depends on the packet; guards, conditions under which they are there. A field with a known place can be read without
-- a walk, and expressions load it from there; other fields that expressions name get a register.

local expr = require "ringtap.expr"
local tree = require "ringtap.protocol.tree"

local fail, full_name, parse = tree.fail, tree.full_name, tree.parse

local OP = {
    FIELD = 1, IF = 2, JUMP = 3, LIMIT = 4, UNLIMIT = 5, LOOP = 6, NEXT = 7, SWITCH = 8, CALL = 9, RET = 10, CHECK = 11,
    ALIGN = 13, HEADERS = 14, ORIGIN = 15, SUB = 16, VALUE = 17, END = 18, BACK = 19, ALIAS = 20, BEHIND = 21, AT = 22,
    FOLDED = 23,
}
local LE, FUNC, ASCII, NONE = 1, 2, 8, 16 -- flags of a declaration
local STOP, GUESS, QUOTED, FRAGMENT = 1, 2, 4, 8 -- flags of a rule
local TEXT, NAME, NUMBER, ALL, WHEN, EXPR = 0, 1, 2, 3, 4, 5 -- parts of a line
local REGISTERS = 64

-- what stays the same while a layer is walked
local stable_vars = {
    start = true, cap = true, link = true, direction = true, wire = true, len = true, header = true, payload = true,
    parent_len = true,
}

local C = {}
C.__index = C

--- Call f for every field of the items.
local function each_field(items, f)
    for _, it in ipairs(items) do
        if it.kind == "field" then
            f(it)
            if it.sub then
                each_field(it.sub, f)
            end
        elseif it.kind == "group" then
            each_field(it.items, f)
        elseif it.kind == "switch" then
            for _, case in pairs(it.cases) do
                each_field(case, f)
            end
            each_field(it.default or {}, f)
        elseif it.kind == "headers" then
            for _, field in pairs(it.headers) do
                each_field({ field }, f)
            end
            each_field({ it.line }, f)
        end
    end
end

function C:each_field(f)
    each_field(self.p.items, f)
    for _, name in ipairs(self.group_names) do
        each_field(self.p.groups[name], f)
    end
end

local function sorted_keys(t)
    local keys = {}
    for key in pairs(t) do
        keys[#keys + 1] = key
    end
    table.sort(keys)
    return keys
end

-- ---------------------------------------------------------------- pieces

function C:string_index(text)
    if not self.strings[text] then
        self.flat.strings[#self.flat.strings + 1] = text
        self.strings[text] = #self.flat.strings - 1
    end
    return self.strings[text]
end

--- Append an operation; its index.
function C:put(op, a, b, c)
    local ops = self.flat.ops
    local n = #ops
    ops[n + 1], ops[n + 2], ops[n + 3], ops[n + 4] = op, a or 0, b or 0, c or -1
    return n // 4
end

function C:here()
    return #self.flat.ops // 4
end

--- The operation at `at` leads to what comes next.
function C:patch(at)
    self.flat.ops[at * 4 + 2] = self:here()
end

--- What a name in an expression is: "load" and a declaration, or "reg" and a register.
function C:resolve(name)
    if self.fixed[name] then
        return "load", self.fixed[name]
    end
    if not self.count[name] then
        local near = tree.nearest(name, sorted_keys(self.count))
        fail(self.p.name, "an expression names '%s', which is no field of it%s", name,
            near and (" (did you mean '%s'?)"):format(near) or "")
    end
    self.uses_register = true
    if not self.registers[name] then
        if self.register_count == REGISTERS then
            fail(self.p.name, "its expressions name more than %d fields that have no fixed place", REGISTERS)
        end
        self.registers[name] = self.register_count
        self.register_count = self.register_count + 1
    end
    return "reg", self.registers[name]
end

--- The index of an expression's code, -1 for none.
function C:code(e)
    if e == nil then
        return -1
    end
    local exprs = self.flat.exprs
    local n = #exprs
    exprs[n + 1] = expr.code(e, self)
    return n
end

--- Is e the same wherever the cursor is, and made of fixed fields only?
function C:is_static(e)
    local ok = true
    expr.walk(e, function(n)
        if n.field and not self.fixed[n.field] or n.var and not stable_vars[n.var] or n.read and n.read:find "^at" then
            ok = false
        end
    end)
    return ok
end

local value_lists = setmetatable({}, { __mode = "k" }) -- fields share their tables of values

-- { [number] = "name" } as { number, "name", ... } in rising order
local function value_list(values)
    local list = values and value_lists[values]
    if values and not list then
        list = {}
        for i, key in ipairs(sorted_keys(values)) do
            list[2 * i - 1], list[2 * i] = key, tostring(values[key])
        end
        value_lists[values] = list
    end
    return list
end

local function hex_digits(f)
    local n = ((f.bits or 32) + 3) // 4
    return f.digits or (n <= 2 and 2 or n <= 4 and 4 or n <= 6 and 6 or n <= 8 and 8 or 16)
end

local function all_of(guards)
    local e
    for _, g in ipairs(guards) do
        e = e and { op = "&&", e, g } or g
    end
    return e
end

--- Declare f under a name; start: bits from the layer's start, or nil. Its index, and the declaration.
function C:declare(f, name, where, start)
    local d = {
        name = name or "", title = f.title, type = tree.type_codes[f.type], bits = f.bits or 0,
        base = tree.bases[f.base], digits = hex_digits(f), scale = f.scale, add = f.add,
        flags = (f.le and LE or 0) | (f.func and FUNC or 0) | (f.ascii and ASCII or 0)
            | (f.none and NONE or 0),
        fixed = start or -1, guard = -1,
        reg = -1, func = -1, until_ = f.until_ and self:string_index(f.until_) or -1, values = value_list(f.values),
    }
    self.declared[d.name] = true
    if f.func then
        self.flat.functions[#self.flat.functions + 1] = f.func
        d.func = #self.flat.functions - 1
    end
    if f.func or not f.bits or f.value or f.type == "frame" then
        d.fixed = -1
    end
    if d.fixed >= 0 and #where.guards > 0 then
        d.guard = self:code(all_of(where.guards))
    end
    self.flat.fields[#self.flat.fields + 1] = d
    return #self.flat.fields - 1, d
end

-- ---------------------------------------------------------------- items

local emit = {}

function C:items(items, where)
    for _, it in ipairs(items) do
        emit[it.kind](self, it, where)
    end
end

--- Run body under a condition; body gets whether a place stays known under it.
function C:under(when, where, body)
    if not when then
        return body(true)
    end
    local static = where.pos and self:is_static(when)
    local skip = self:put(OP.IF, 0, 0, self:code(when))
    if static then
        where.guards[#where.guards + 1] = when
    end
    body(static)
    if static then
        where.guards[#where.guards] = nil
    end
    self:patch(skip)
end

function emit.field(self, f, where)
    local start
    self:under(f.when, where, function(known)
        start = known and where.pos or nil
        local at, d = self:declare(f, f.name, where, start)
        if d.fixed >= 0 and self.count[f.short] == 1 and #where.guards == 0 then
            self.fixed[f.short] = at
        end
        f.decl = d
        if f.value or f.type == "frame" then
            self:put(OP.VALUE, at, 0, not f.func and f.value and self:code(f.value) or -1)
        else
            self:put(OP.FIELD, at, f.bits or 0, self:code(f.size))
        end
        for _, also in ipairs(f.also) do
            self:put(OP.ALIAS, (self:declare(f, also, where, start)))
        end
        if f.sub then
            local region = self:put(OP.SUB)
            self:items(f.sub, { pos = start, guards = where.guards })
            self:patch(region)
            self:put(OP.UNLIMIT)
        end
        if f.overlay then
            self:put(OP.BACK)
        end
    end)
    if not (f.overlay or f.value or f.type == "frame") then
        where.pos = not f.when and start and f.bits and start + f.bits or nil
    end
end

--- A group's condition and region around body(inner place).
function C:group(it, where, body)
    local after
    self:under(it.when, where, function(known)
        local inner = { pos = known and where.pos or nil, guards = where.guards }
        local region
        if it.behind then
            region = self:put(OP.BEHIND)
            inner.pos = nil
        elseif it.at then
            local from = self:code(it.at)
            region = self:put(OP.AT, 0, from, self:code(it.size))
            inner.pos = nil
        elseif it.size or it.until_ then
            region = self:put(OP.LIMIT, 0, it.until_ and self:string_index(it.until_) or 0, self:code(it.size))
            if not (it.size and it.size.k) then
                inner.pos = nil
            end
        end
        local from = inner.pos
        body(inner)
        if region then
            self:patch(region)
            self:put(OP.UNLIMIT)
            after = it.at and where.pos or from and it.size and from + it.size.k * 8 or nil
        else
            after = inner.pos
        end
    end)
    where.pos = not it.when and after or nil
end

function emit.group(self, it, where)
    self:group(it, where, function(inner)
        if not it.loop then
            return self:items(it.items, inner)
        end
        inner.pos = nil
        local loop = self:put(OP.LOOP, 0, it.list and self:string_index(it.list) or -1,
            it.loop ~= true and self:code(it.loop) or -1)
        self:items(it.items, inner)
        self:put(OP.NEXT, loop + 1, 0, self:code(it.stop))
        self:patch(loop)
        inner.pos = nil
    end)
end

function emit.switch(self, it, where)
    self:group(it, where, function(inner)
        local static = inner.pos and self:is_static(it.switch)
        local targets, ends, guards = {}, {}, inner.guards
        local switch = self:put(OP.SWITCH, #self.flat.cases, 0, self:code(it.switch))
        self.flat.cases[#self.flat.cases + 1] = targets
        for _, key in ipairs(sorted_keys(it.cases)) do
            targets[#targets + 1] = key
            targets[#targets + 1] = self:here()
            if static then
                guards[#guards + 1] = { op = "==", it.switch, { k = key } }
            end
            self:items(it.cases[key], { pos = static and inner.pos or nil, guards = guards })
            if static then
                guards[#guards] = nil
            end
            ends[#ends + 1] = self:put(OP.JUMP)
        end
        self.flat.ops[switch * 4 + 3] = self:here()
        self:items(it.default or {}, { guards = guards })
        for _, at in ipairs(ends) do
            self:patch(at)
        end
        inner.pos = nil
    end)
end

function emit.call(self, it, where)
    self:under(it.when, where, function()
        self.calls[#self.calls + 1] = { self:put(OP.CALL), it.call }
    end)
    where.pos = nil
end

function emit.check(self, it, where)
    self:put(OP.CHECK, self:string_index(it.message), 0, self:code(it.check))
    where.pos = nil
end

function emit.align(self, it, where)
    self:put(OP.ALIGN, 0, it.align)
    where.pos = nil
end

function emit.headers(self, it, where)
    local map, line = {}, -1
    for key, f in pairs(it.headers) do
        map[key] = { decl = 0, target = -1, stop = -1 }
        if f.walked then
            self.header_items[#self.header_items + 1] = { map[key], f }
        else
            map[key].decl, f.decl = self:declare(f, f.name, { guards = {} })
        end
    end
    if it.line then
        line, it.line.decl = self:declare(it.line, it.line.name, { guards = {} })
    end
    self.flat.headers[#self.flat.headers + 1] = map
    self:put(it.fold and OP.FOLDED or OP.HEADERS, #self.flat.headers - 1, line)
    where.pos = nil
end

function emit.origin(self)
    self:put(OP.ORIGIN)
end

--- All items, then what they call. The header's length where it is a constant.
function C:program()
    local where = { pos = 0, guards = {} }
    local group_at = {}
    self:items(self.p.items, where)
    self:put(OP.END)
    for _, name in ipairs(self.group_names) do
        group_at[name] = self:here()
        self:items(self.p.groups[name], { guards = {} })
        self:put(OP.RET)
    end
    for _, h in ipairs(self.header_items) do
        h[1].target = self:here()
        self:items({ h[2] }, { guards = {} })
        h[1].stop = self:put(OP.UNLIMIT)
        self:put(OP.RET)
    end
    for _, call in ipairs(self.calls) do
        self.flat.ops[call[1] * 4 + 2] = group_at[call[2]]
    end
    return where.pos and where.pos // 8
end

-- ---------------------------------------------------------------- what the walk over layers asks

function C:layer(static_header)
    local p, flat = self.p, self.flat
    -- what can't be told from fixed fields needs a walk over the items first
    self.uses_register = false
    flat.header = self:code(p.header or static_header and { k = static_header } or nil)
    for _, key in ipairs { "total", "guessed", "untold", "accept", "stream" } do
        flat[key] = self:code(p[key])
    end
    for i, c in ipairs(p.check) do
        flat.check[i] = { self:code(c[1]), self:string_index(c[2]) }
    end
    for i, r in ipairs(p.next) do
        flat.next[i] = {
            proto = r.proto, table = r.table, guess_by = r.guess_by, key = self:code(r.key), when = self:code(r.when),
            at = self:code(r.at), size = self:code(r.size), pass = self:code(r.pass), via = r.via,
            flags = (r.stop and STOP or 0) | (r.guess and GUESS or 0) | (r.quoted and QUOTED or 0)
                | (r.fragment and FRAGMENT or 0),
        }
    end
    flat.needs_walk = self.uses_register or flat.header == -1
    for list, e in pairs(p.guess) do
        flat.guess[#flat.guess + 1] = { list, self:code(e) }
    end
end

local sums = { inet = 0, crc32c = 1 }

function C:checksum()
    local p, c = self.p, self.p.checksum
    local at, decl
    for i, d in ipairs(self.flat.fields) do
        if d.name == full_name(p, c.field) then
            at, decl = i - 1, d
        end
    end
    if not at then
        fail(p.name, "its checksum is in '%s', which is no field of it", tostring(c.field))
    end
    p.checksum_at, p.checksum_bits = decl.fixed, decl.bits
    if type(c.sum) == "function" then -- the engine has nothing to do with it: see tree.verify
        if decl.fixed < 0 or decl.fixed % 8 ~= 0 then
            fail(p.name, "a checksum that a function makes has to be at a fixed place")
        end
        return
    end
    self.flat.checksum = {
        field = at, kind = sums[c.sum] or fail(p.name, "there is no checksum '%s'", tostring(c.sum)),
        pseudo = self:code(c.pseudo), protocol = c.protocol or -1, length = self:code(c.length),
        from = self:code(c.from), to = self:code(c.to), skip_from = self:code(c.skip_from),
        skip_to = self:code(c.skip_to), when = self:code(c.when), zero_is_none = c.zero_is_none or false,
    }
end

-- ---------------------------------------------------------------- the summary

function C:part(part)
    part.skip, part.code = 0, part.code or -1
    self.flat.line[#self.flat.line + 1] = part
    return part
end

--- One text with {field}s in it.
function C:line_text(text)
    local p = self.p
    for before, inner in (text .. "{}"):gmatch "([^{]*){([^}]*)}" do
        if before ~= "" then
            self:part { kind = TEXT, text = before }
        end
        local name, mark = inner:match "^([^#*]*)([#*]?)$"
        if inner:sub(1, 1) == "=" then
            self:part { kind = EXPR, code = self:code(parse(p.name, inner:sub(2))) }
        elseif inner ~= "" then
            if not name or not (self.count[name] or self.declared[full_name(p, name)]) then
                fail(p.name, "its line names '%s', which is no field of it", inner)
            end
            self:part { kind = mark == "#" and NUMBER or mark == "*" and ALL or NAME, name = full_name(p, name) }
        end
    end
end

function C:line(line)
    if type(line) == "string" then
        self:line_text(line)
    elseif type(line) == "table" then
        local when = line.when and self:part { kind = WHEN, code = self:code(parse(self.p.name, line.when)) }
        local before = #self.flat.line
        for _, part in ipairs(line) do
            self:line(part)
        end
        if when then
            when.skip = #self.flat.line - before
        end
    elseif line ~= nil then
        fail(self.p.name, "a line is text or a list, not %s", type(line))
    end
end

--- The flat table of a checked tree. Raises text that names the protocol.
return function(p)
    local self = setmetatable({
        p = p, strings = {}, count = {}, declared = {}, fixed = {}, registers = {}, register_count = 0, calls = {},
        header_items = {}, group_names = sorted_keys(p.groups),
        flat = {
            name = p.name, title = p.title, shown = p.shown, hidden = p.hidden or false, once = p.once or false,
            refusal = p.refusal,
            fields = {}, ops = {}, exprs = {}, cases = {}, headers = {}, strings = {}, functions = {}, check = {},
            next = {}, guess = {}, line = {},
        },
    }, C)
    self:each_field(function(f)
        self.count[f.short] = (self.count[f.short] or 0) + 1
    end)
    self:layer(self:program())
    if p.checksum then
        self:checksum()
    end
    self:line(p.line)
    self:each_field(function(f)
        if f.decl and self.registers[f.short] then
            f.decl.reg = self.registers[f.short]
        end
    end)
    return self.flat
end
