--- Building packets from the tables of protocols. ringtap.udp{dstport=53} is a builder with one layer; `/` puts
-- builders upon each other into a new one. What isn't given is worked out when the bytes are asked for: lengths,
-- counts, checksums, what says what follows. An edited packet (ringtap/edit.lua) is the same kind of builder.

local core = require "ringtap.core"
local protocol = require "ringtap.protocol"
local schema = require "ringtap.build.schema"
local encode = require "ringtap.build.encode"
local opaque = require "ringtap.build.opaque"
local sums = require "ringtap.build.sums"
local solve = require "ringtap.build.solve"

local M = {}

local STATE = {} -- key of what a builder holds: { layers =, tail =, linktype =, packet = }
local builder = { __name = "ringtap.builder" }
local methods = {}

local function state_of(q)
    local state = type(q) == "table" and rawget(q, STATE)
    if not state then
        error("a builder expected (call its methods with a colon: q:bytes())", 3)
    end
    return state
end

local function new(state)
    return setmetatable({ [STATE] = state }, builder)
end
M.new, M.state_of = new, state_of

--- Errors of what is below are the caller's.
local function guarded(f, ...)
    local r = table.pack(pcall(f, ...))
    if not r[1] then
        error(r[2], 3)
    end
    return table.unpack(r, 2, r.n)
end

-- Options with one name: others raise, in the caller's caller.
local function only(opts, name)
    if opts ~= nil and type(opts) ~= "table" then
        error(("a table with %s expected, not a %s"):format(name, type(opts)), 3)
    end
    for key in pairs(opts or {}) do
        if key ~= name then
            error(("unknown option '%s' (did you mean '%s'?)"):format(tostring(key), name), 3)
        end
    end
end

-- ---------------------------------------------------------------- layers

-- A copy for a table's `build`, with names as the table has them.
local function plain(p, values)
    local prefix = (p.prefix or p.name) .. "."
    local copy = {}
    for k, v in pairs(values) do
        if type(k) == "string" and k:sub(1, #prefix) == prefix then
            k = k:sub(#prefix + 1)
        end
        copy[k] = type(v) == "table" and plain(p, v) or v
    end
    return copy
end

local function make_layer(p, values)
    if p.name == "frame" then
        error("frame: it tells about packets and can't be built", 0)
    elseif values ~= nil and type(values) ~= "table" then
        error(("%s: a table of values expected, not a %s"):format(p.name, type(values)), 0)
    end
    values = values or {}
    for key in pairs(values) do
        if type(key) == "string" and key:find "^_" then
            error(("%s has no field '%s'"):format(p.name, key), 0)
        end
    end
    if p.build then
        values = plain(p, values)
        p.build(values)
    end
    return { p = p, scope = schema.scope(schema.of(p), values) }
end

--- What ringtap.NAME{...} gives.
function M.layer(p, values)
    return new { layers = { guarded(make_layer, p, values) } }
end

local function copy_layer(layer)
    local c = {}
    for k, v in pairs(layer) do
        c[k] = v
    end
    c.scope = layer.scope and schema.copy(layer.scope)
    c.result, c.offset = nil, nil
    return c
end

local function copy_state(state)
    local c = { layers = {}, tail = state.tail, linktype = state.linktype, packet = state.packet, time = state.time,
        touched = state.touched, more = state.more, tree = state.tree, prepared = state.prepared }
    for i, layer in ipairs(state.layers) do
        c.layers[i] = copy_layer(layer)
    end
    return c
end

-- ---------------------------------------------------------------- bytes

local function context_of(state, i, data, memo)
    local layers = state.layers
    local layer, above, below = layers[i], layers[i + 1], layers[i - 1]
    local upper = above and above.p
    if upper and layer.above == upper.name then
        upper = nil -- as it was when it was read
    end
    return {
        data = data, upper = upper, under = below and below.p and below.p.name, link = state.linktype or 1,
        start = memo.start[i], parent_len = memo.len[i - 1], passed = memo.passed[i] or 0,
        wire = memo.whole and memo.start[i] and memo.whole - memo.start[i],
    }
end

-- What the rule that leads from one layer to the next passes on.
local function passed_by(layer, above)
    local w = layer.result.walk
    for _, r in ipairs(layer.p.next) do
        if r.pass and (r.proto == above.name or r.table and above.def.on and above.def.on[r.table]) then
            return encode.eval(w, r.pass) or 0
        end
    end
    return 0
end

local function mode_of(layer, mode)
    return layer.scope.raw and (mode or "edit") or "build"
end

--- Encode all layers, from the top down. mode: of those that were read from a packet.
local function encode_all(state, mode, value_at)
    local layers = state.layers
    local memo = { start = {}, len = {}, passed = {} }
    local buffer
    for _ = 1, 3 do
        local data, asked = "", false
        for i = #layers, 1, -1 do
            local layer = layers[i]
            if layer.raw then
                data = layer.raw .. data
                layer.result = { into = #layer.raw, len = #data, full = data }
            elseif layer.opaque then
                data = opaque.bytes(layer, data) .. data .. (layer.trailer or "")
                layer.result = { into = #layer.opaque, len = #data, full = data }
            else
                local context = context_of(state, i, data, memo)
                layer.result = encode.layer(layer, context, mode_of(layer, mode), value_at and value_at(layer))
                data = layer.result.full
                asked = asked or layer.result.walk.asked
            end
        end
        local changed, at = false, 0
        local function note(map, i, v)
            changed = changed or map[i] ~= v
            map[i] = v
        end
        for i, layer in ipairs(layers) do
            note(memo.start, i, at)
            note(memo.len, i, layer.result.len)
            layer.offset = at
            at = at + layer.result.into
            if layer.p and layers[i + 1] and layers[i + 1].p then
                note(memo.passed, i + 1, layer.opaque and layer.passed or passed_by(layer, layers[i + 1].p))
            end
        end
        memo.whole = #data + #(state.tail or "")
        buffer = data .. (state.tail or "")
        if not (asked and changed) then
            break
        end
    end
    sums.ends(buffer, layers)
    for i = #layers, 1, -1 do
        if layers[i].p then
            buffer = sums.put(buffer, layers, i, mode_of(layers[i], mode))
        end
    end
    return buffer
end
M.encode_all = encode_all

local function bytes_of(state)
    if not state.bytes then
        state.bytes = state.packet and not state.touched and state.packet:bytes() or encode_all(state)
    end
    return state.bytes
end
M.bytes_of = bytes_of

--- The packet's bytes. opts.pad: at least so many, with zeroes behind everything.
---@param opts? { pad?: integer }
---@return string
function methods.bytes(q, opts)
    local state = state_of(q)
    local bytes = guarded(bytes_of, state)
    only(opts, "pad")
    local pad = opts and opts.pad
    if pad ~= nil and math.type(pad) ~= "integer" then
        error("pad: a number of bytes", 2)
    end
    return pad and bytes .. ("\0"):rep(pad - #bytes) or bytes
end

local function linktype_of(state)
    if state.linktype then
        return state.linktype
    end
    local first = state.layers[1]
    return first and first.p and solve.keys_of(first.p, "link")[1]
end

local function packet_of(state, linktype)
    local packet = state.cached
    if not packet or state.cached_type ~= linktype then
        local entry = { bytes_of(state), time = state.time }
        if state.more then -- what had been cut off
            entry.len = #entry[1] + state.more
        end
        packet = core.memory({ entry }, { linktype = linktype }):next(0)
        state.cached, state.cached_type = packet, linktype
    end
    return packet
end

--- The packet that values are read from; nil where nothing says how to decode it.
function M.packet_for_reading(state)
    local linktype = linktype_of(state)
    return linktype and packet_of(state, linktype)
end

--- An owned packet; its link type is that of the first layer.
---@param opts? { linktype?: integer }
---@return ringtap.packet
function methods.packet(q, opts)
    local state = state_of(q)
    only(opts, "linktype")
    local linktype = opts and opts.linktype or linktype_of(state)
    if not linktype then
        local first = state.layers[1]
        error(("nothing says what a packet that begins with %s is: give q:packet{linktype=}"):format(
            first and first.p and first.p.name or "a string"), 2)
    end
    guarded(bytes_of, state)
    return packet_of(state, linktype):copy()
end

function builder.__len(q)
    return #guarded(bytes_of, state_of(q))
end

function builder.__div(a, b)
    local state = { layers = {} }
    local operands = { a, b }
    for k = 1, 2 do -- also what is nil
        local operand = operands[k]
        if type(operand) == "string" then
            state.layers[#state.layers + 1] = { raw = operand }
        elseif math.type(operand) == "integer" and operand >= 0 then
            state.layers[#state.layers + 1] = { raw = ("\0"):rep(operand) }
        elseif getmetatable(operand) == builder then
            local c = copy_state(rawget(operand, STATE))
            if c.packet then
                require("ringtap.edit").prepare(c)
            end
            table.move(c.layers, 1, #c.layers, #state.layers + 1, state.layers)
            state.linktype = k == 1 and c.linktype or state.linktype -- it tells what comes first
            state.time = state.time or c.time
            state.tail = c.tail or state.tail
        else
            error(("a layer, a string or a number of bytes can be carried, not %s"):format(
                operand == nil and "nil (is a name misspelt?)" or type(operand) == "number" and tostring(operand)
                or "a " .. type(operand)), 2)
        end
    end
    return new(state)
end

function methods.copy(q)
    return new(copy_state(state_of(q)))
end

--- Names of the layers.
---@return string[]
function methods.layers(q)
    local list = {}
    for _, layer in ipairs(state_of(q).layers) do
        if layer.p and not layer.p.hidden then
            list[#list + 1] = layer.p.name
        end
    end
    return list
end

-- ---------------------------------------------------------------- names

-- "ip.src#2" to "ip.src", 2
local function parts(key)
    local name, n = key:match "^(.-)#(%-?%d+)$"
    return name or key, math.tointeger(tonumber(n)) or 1
end

-- The n-th layer of a protocol; nil when there are fewer.
local function nth(state, name, n)
    local list = {}
    for i, layer in ipairs(state.layers) do
        if layer.p and layer.p.name == name then
            list[#list + 1] = i
        end
    end
    return list[n < 0 and #list + 1 + n or n]
end

-- Is it what a list of that protocol is called?
local function list_name(p, name)
    local s = schema.of(p)
    local short = schema.short(p, name)
    return (s.lists[short] or s.inner_lists[short]) and short or nil
end

-- The layer that a whole name means: the n-th of the protocols that have such a field (or list).
local function layer_with(state, name, n)
    local list = {}
    for i, layer in ipairs(state.layers) do
        local prefix = layer.p and (layer.p.prefix or layer.p.name) .. "."
        if layer.p and (schema.find(schema.of(layer.p), name) or name:sub(1, #prefix) == prefix
            and list_name(layer.p, name)) then
            list[#list + 1] = i
        end
    end
    return list[n < 0 and #list + 1 + n or n]
end

local function names_in(state)
    local names = {}
    for _, layer in ipairs(state.layers) do
        if layer.p then
            names[#names + 1] = layer.p.name
            local s = schema.of(layer.p)
            for _, map in ipairs { s.fields, s.inner } do
                for name in pairs(map) do
                    names[#names + 1] = name
                end
            end
        end
    end
    table.sort(names)
    return names
end

local function no_name(state, name)
    local names = names_in(state)
    local first, last = name:match "^([^.]+)%.(.+)$"
    local inside = {}
    for _, one in ipairs(first and names or {}) do
        if one:sub(1, #first + 1) == first .. "." then
            inside[#inside + 1] = one
        end
    end
    local near = last and schema.deeper(inside, last) or core._nearest(name, names)
    error(("there is no '%s' in it%s"):format(name, near and (" (did you mean '%s'?)"):format(near) or ""), 0)
end

-- ---------------------------------------------------------------- reading

local function first_given(scope, name)
    if scope.given[name] ~= nil then
        return scope.given[name]
    end
    for _, times in pairs(scope.lists) do
        for _, list in ipairs(times) do
            for _, element in ipairs(list) do
                local v = first_given(element, name)
                if v ~= nil then
                    return v
                end
            end
        end
    end
end

-- What decoding the bytes finds, or what was given where they can't be decoded.
local function read(state, i, name)
    local layer = state.layers[i]
    local whole = schema.find(schema.of(layer.p), name) or name
    local linktype = linktype_of(state)
    local packet = linktype and packet_of(state, linktype)
    if packet then
        local n = 0
        for k = 1, i do
            local p = state.layers[k].p
            n = n + (p == layer.p and 1 or 0)
        end
        local v = packet[n == 1 and whole or whole .. "#" .. n]
        if v ~= nil then
            return v
        end
    end
    bytes_of(state)
    local s = layer.result and layer.result.walk and encode.slot(layer.result.walk, whole)
    if s and s.bits > 0 and s.bits <= 64 and (s.f.type == "uint" or s.f.type == "int" or s.f.type == "bool") then
        local v = require("ringtap.build.value")
        local number = v.number(s.f, v.load(layer.result.full, s.bit, s.bits), s.bits)
        return s.f.type == "bool" and number ~= 0 or s.f.type ~= "bool" and number
    end
    if layer.items then -- as it was read, or changed since
        return require("ringtap.edit").value(layer, whole)
    end
    return layer.scope and first_given(layer.scope, whole)
end

-- ---------------------------------------------------------------- writing

local function changed(state)
    state.bytes, state.cached = nil, nil
    state.touched = true
end

-- The scope, or the first element of its lists, that has a value given for that name.
local function given_in(scope, whole)
    return schema.first(scope, function(s) return s.given[whole] ~= nil end)
end

local function write(state, i, name, v)
    local layer = state.layers[i]
    if layer.read then
        layer.read(state)
        layer = state.layers[i]
    end
    if type(v) == "table" and not list_name(layer.p, name) then
        local whole, fields = schema.find(schema.of(layer.p), name)
        local given = whole and schema.parts(schema.of(layer.p), whole, fields, v)
        for _, part in ipairs(given or {}) do
            write(state, i, part[1], part[2])
        end
        if given then
            return
        end
    end
    if layer.original or layer.opaque then
        require("ringtap.edit").set(state, i, name, v)
    elseif v == nil then
        local whole = schema.find(schema.of(layer.p), name)
        local list = list_name(layer.p, name)
        if whole then
            local scope = given_in(layer.scope, whole) or layer.scope
            scope.given[whole] = nil
        end
        if list then
            layer.scope.lists[list] = nil
        end
    else
        M.give(layer.scope, name, v)
    end
    changed(state)
end

--- Give a value to a field of a builder's layer: where the first one of its lists' elements has one, that.
function M.give(scope, name, v)
    local whole = schema.find(scope.schema, name)
    if whole and type(v) ~= "table" and scope.given[whole] == nil and not scope.schema.fields[whole] then
        local element = given_in(scope, whole)
        if element then
            schema.check(whole, element.schema.fields[whole], v)
            element.given[whole] = v
            return
        end
    end
    schema.give(scope, name, v)
    for _, f in ipairs(whole and scope.schema.fields[whole] or {}) do
        schema.forget_parts(scope, f)
    end
end

-- ---------------------------------------------------------------- q.ip and its fields

local proxy = { __name = "ringtap.builder.layer" }
local proxies = setmetatable({}, { __mode = "k" })

local function new_proxy(state, i, prefix)
    local h = setmetatable({}, proxy)
    proxies[h] = { state, i, prefix }
    return h
end

local function has_prefix(p, prefix)
    local s = schema.of(p)
    for _, map in ipairs { s.fields, s.inner } do
        for name in pairs(map) do
            if name:sub(1, #prefix + 1) == prefix .. "." then
                return true
            end
        end
    end
    return false
end

local function layer_read(state, i, name)
    local p = state.layers[i].p
    if schema.find(schema.of(p), name) or state.layers[i].opaque then
        return read(state, i, name)
    elseif list_name(p, name) then
        return require("ringtap.build.list").of(state, i, list_name(p, name), changed)
    elseif has_prefix(p, name) then
        return new_proxy(state, i, name)
    end
    no_name(state, name)
end

function proxy.__index(h, key)
    local state, i, prefix = table.unpack(proxies[h])
    return guarded(layer_read, state, i, prefix .. "." .. tostring(key))
end

function proxy.__newindex(h, key, v)
    local state, i, prefix = table.unpack(proxies[h])
    guarded(write, state, i, prefix .. "." .. tostring(key), v)
end

function proxy.__tostring(h)
    return "layer " .. proxies[h][3]
end

local function index(q, key)
    local state = state_of(q)
    if type(key) ~= "string" then
        error(("a builder has no field '%s'"):format(tostring(key)), 0)
    end
    local name, n = parts(key)
    local i = nth(state, name, n)
    if i then
        local p = state.layers[i].p
        return new_proxy(state, i, p.prefix or p.name)
    end
    i = layer_with(state, name, n)
    if i then
        return layer_read(state, i, name)
    elseif protocol.proto[name] then
        return nil
    end
    for k, layer in ipairs(state.layers) do
        if layer.p and has_prefix(layer.p, name) then
            return new_proxy(state, k, name)
        end
    end
    if pcall(core.field, name) then -- of a protocol that isn't in it
        return nil
    end
    no_name(state, key)
end

function builder.__index(q, key)
    local method = methods[key]
    if method then
        return method
    end
    return guarded(index, q, key)
end

local function newindex(q, key, v)
    local state = state_of(q)
    local name, n = parts(tostring(key))
    local i = layer_with(state, name, n)
    if i then
        return write(state, i, name, v)
    end
    i = nth(state, name, n)
    if i and type(v) == "table" and getmetatable(v) == nil then -- q.ip = { ttl = 3, id = 7 }
        local keys = {}
        for k in pairs(v) do
            keys[#keys + 1] = k
        end
        table.sort(keys, function(a, b) return tostring(a) < tostring(b) end)
        for _, k in ipairs(keys) do
            write(state, i, (state.layers[i].p.prefix or name) .. "." .. tostring(k), v[k])
        end
        return
    end
    local first = name ~= key and layer_with(state, name, 1)
    if first then
        require("ringtap.edit").prepare_layer(state, first)
        local p = state.layers[first].p
        local s = schema.of(p)
        local whole = schema.find(s, name)
        local element = whole and n > 0 and schema.element_of(s, whole, n, state.layers[first].scope)
        local last = whole and schema.short(p, whole) or name
        last = last:find "^[%a_][%w_]*$" and "." .. last or ('["%s"]'):format(last)
        error(("there is no '%s' in it: #N means the N-th layer that has it%s"):format(key,
            element and (", that of an element of a list is %s%s"):format(element, last) or ""), 0)
    end
    no_name(state, tostring(key))
end

function builder.__newindex(q, key, v)
    guarded(newindex, q, key, v)
end

--- A list as a table-like value: #list, list[i]["name"], list[i] = { ... } or nil, list[#list + 1] = { ... }.
---@param name string "tcp.options"
function methods.list(q, name)
    return guarded(function()
        local state = state_of(q)
        local bare, n = parts(name)
        local i = layer_with(state, bare, n)
        local list = i and list_name(state.layers[i].p, bare)
        if not list then
            error(("there is no list '%s' in it"):format(tostring(name)), 0)
        end
        return require("ringtap.build.list").of(state, i, list, changed)
    end)
end

--- Bytes that no layer describes, at the end of what the last layer carries; with an argument they are replaced.
---@param bytes? string
---@return string
function methods.payload(q, bytes)
    local state = state_of(q)
    local last = state.layers[#state.layers]
    if last and last.read then
        guarded(last.read, state)
        last = state.layers[#state.layers]
    end
    if bytes == nil then
        return last and last.raw or ""
    elseif type(bytes) ~= "string" then
        error("payload: a string", 2)
    end
    if last and last.raw then
        state.layers[#state.layers] = { raw = bytes }
    else
        state.layers[#state.layers + 1] = { raw = bytes }
    end
    changed(state)
    return bytes
end

--- The bytes, also of a packet that was not changed. force: every layer is written anew from its values, and what
-- follows from them is worked out, whatever the packet had; what no value tells (names and texts that can be written in
-- several ways, private fields, what no field covers) stays as it was.
---@param opts? { force?: boolean }
function methods.encode(q, opts)
    local state = state_of(q)
    only(opts, "force")
    if not state.packet then
        return q:bytes()
    end
    return guarded(require("ringtap.edit").encode, state, opts and opts.force)
end

function builder.__tostring(q)
    return require("ringtap.build.text").of(state_of(q))
end

return M
