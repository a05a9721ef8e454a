--- Conditions on the fields of packets, as text: where(p, 'udp.dstport == 53 and dns.flags.response == 0').
--
--     or  and  not  ( )                    also || && !
--     ==  ~=  <  <=  >  >=                 also !=
--     contains                             text, or bytes of a protocol or a field of bytes
--     matches                              a Lua pattern
--     in {1, 5..9}                         one of these, or in a range; also not in
--
-- A name alone is true where the packet has the field or the protocol. A field that occurs several times is compared
-- each time: == and the like are true for any of them, ~= is true when none is equal. (That is tshark's !=; its ~= is
-- true when any is unequal.) What is compared follows from the field: a number with a number or with the name of a
-- value, an address with an address (ip.src == 192.0.2.0/24), bytes with 00:1b:2c or with a string, a time with a time
-- ("2023-11-14 22:13:30.25" here, with Z behind it UTC), text with a string. Two fields can be compared too.

local core = require "ringtap.core"
local moment = require "ringtap.moment"
local protocol = require "ringtap.protocol"
local protocols = require "ringtap.proto"
local show = require "ringtap.show"
local words = require "ringtap.where.scan"

local where = {}
local fail, HELP = words.fail, words.HELP

-- ------------------------------------------------------------------ addresses and bytes

local pack = {}

function pack.ipv4(text)
    local bytes = { text:match "^(%d+)%.(%d+)%.(%d+)%.(%d+)$" }
    for i = 1, 4 do
        bytes[i] = math.tointeger(tonumber(bytes[i]))
        if not bytes[i] or bytes[i] > 255 then
            return nil
        end
    end
    return string.char(table.unpack(bytes))
end

local function groups(text)
    local bytes = ""
    if text == "" then
        return bytes
    end
    for group in (text .. ":"):gmatch "([^:]*):" do
        local v4 = pack.ipv4(group)
        if v4 then
            bytes = bytes .. v4
        elseif group:find "^%x%x?%x?%x?$" then
            bytes = bytes .. (">I2"):pack(tonumber(group, 16))
        else
            return nil
        end
    end
    return bytes
end

function pack.ipv6(text)
    local before, behind = text:match "^(.-)::(.*)$"
    local head, tail = groups(before or text), groups(behind or "")
    if not head or not tail or not before and #head ~= 16 or before and #head + #tail > 14 then
        return nil
    end
    return head .. ("\0"):rep(16 - #head - #tail) .. tail
end

--- Pairs of hex digits with ':' or '-' between them, or nothing.
function pack.bytes(text)
    local plain = text:gsub("(%x%x)[:-]", "%1")
    if #plain % 2 == 1 or plain:find "%X" then
        return nil
    end
    return (plain:gsub("%x%x", function(pair)
        return string.char(tonumber(pair, 16))
    end))
end

function pack.ether(text)
    local bytes = pack.bytes(text)
    return bytes and #bytes == 6 and bytes or nil
end

function pack.eui64(text)
    local bytes = pack.bytes(text)
    return bytes and #bytes == 8 and bytes or nil
end

local article = { ipv4 = "an IPv4 address", ipv6 = "an IPv6 address", ether = "a MAC address", eui64 = "an EUI-64" }

--- The bytes of values as fields have them: the same few come again and again.
local function packer(kind)
    local known, count = {}, 0
    return function(text)
        local bytes = known[text]
        if bytes == nil then
            bytes = pack[kind](text) or text
            if count == 1000 then
                known, count = {}, 0
            end
            known[text], count = bytes, count + 1
        end
        return bytes
    end
end

-- ------------------------------------------------------------------ operands

local from_list = { -- what only the place in a list tells
    ["frame.number"] = function(_, context) return context.number end,
    ["frame.time_relative"] = function(pkt, context)
        return pkt.time and context.first and (pkt.time - context.first) / 1e9
    end,
    ["frame.time_delta"] = function(pkt, context)
        return pkt.time and context.previous and (pkt.time - context.previous) / 1e9
    end,
}

local numeric = { uint = true, int = true, bool = true, decimal = true, ber = true, varint = true, float = true,
    fixed = true }

local time_types = { time = true, ntp = true }
local times = { -- made by functions, or by the engine
    ["frame.time"] = true, ["frame.time_epoch"] = true, ["dhcpv6.duidllt.time"] = true,
    ["tls.sct.sct_timestamp"] = true, ["syslog.timestamp"] = true,
}

local function knows(name)
    return from_list[name] ~= nil or (pcall(core.field, name))
end

--- What core.field has said about a name, without a place; said better where the number of the layer or only the case
--- of letters is wrong.
---@param name string
---@param message any
---@return string
function where.no_field(name, message)
    message = tostring(message):gsub("^[^:]*:%d+: ", "")
    local bare, number = name:match "^([^#]+)(#.*)$"
    bare = bare or name
    local found = knows(bare) and bare
    if not found then
        local lower = bare:lower()
        for _, one in ipairs(core._field_names()) do
            found = one:lower() == lower and one or found
        end
    end
    if number and found and not knows(found .. number) then
        return ("'%s': %s is no layer: #1 is the first, #2 the second, #-1 the last (%s#1)"):format(name, number, found)
    elseif found and found ~= bare then
        return ("no protocol has a field '%s' (did you mean '%s'?)"):format(name, found .. (number or ""))
    end
    return message
end

--- A field's or protocol's name, looked up.
---@param name string
---@param remark? string for the message when there is none
local function operand(name, remark)
    local bare = name:gsub("#.*$", "")
    if protocol.proto[bare] then
        return { kind = "protocol", name = name }
    end
    if from_list[name] then
        return { kind = "field", name = name, class = "number", from_list = from_list[name] }
    end
    local ok, get = pcall(core.field, name)
    if not ok then
        local message = where.no_field(name, get)
        fail("%s%s", remark and message:gsub(" %(ringtap%.field_names.*$", "") or message, remark or "")
    end
    local field = show.field(name) or {}
    local kind = field.type
    local class = (times[bare] or time_types[kind]) and "time"
        or article[kind] and "address" or kind == "bytes" and "bytes"
        or numeric[kind] and not field.func and "number" or "text"
    return { kind = "field", name = name, get = get, field = field, type = kind, class = class }
end

--- The same field, to be compared: the packet's own time is had as the number that it is.
local function comparable(op)
    if op.class == "time" and op.name:find "^frame%." then
        op.from_list = function(pkt) return pkt.time end
    end
    return op
end

--- Nanoseconds since 1970 of a value of a field that is a time.
local function to_time(value)
    return math.type(value) == "integer" and value or moment.of_field(tostring(value))
end

--- Call test with each value of the field, until it says true.
---@param test fun(value: any): boolean
---@return fun(pkt: ringtap.packet, context: table): boolean
local function any_value(op, test)
    if op.from_list then
        return function(pkt, context)
            local value = op.from_list(pkt, context)
            return value ~= nil and test(value)
        end
    end
    local get, name = op.get, op.name
    return function(pkt)
        local value = get(pkt)
        if value == nil then
            return false
        elseif test(value) then
            return true
        end
        local all = pkt:all(name)
        for i = 2, #all do
            if test(all[i]) then
                return true
            end
        end
        return false
    end
end

local function is_present(op)
    local name = op.name
    if op.kind == "protocol" then
        return name == "frame" and function() return true end or function(pkt) return pkt:at(name) ~= nil end
    end
    return any_value(op, function() return true end)
end

--- Is the text of a value's number; true is 1.
local function to_number(value)
    if type(value) == "boolean" then
        return value and 1 or 0
    end
    return tonumber(value)
end

local compare = {
    ["=="] = function(a, b) return a == b end,
    ["<"] = function(a, b) return a < b end,
    ["<="] = function(a, b) return a <= b end,
    [">"] = function(a, b) return a > b end,
    [">="] = function(a, b) return a >= b end,
}
local flipped = { ["<"] = ">", [">"] = "<", ["<="] = ">=", [">="] = "<=" }

local function number_test(op, sign, literal)
    local want = literal.value
    if literal.kind == "bool" then
        want = want and 1 or 0
    elseif literal.kind ~= "number" then
        local named = tonumber(want)
        for number, name in pairs(op.field and op.field.values or {}) do
            if type(name) == "string" and name:lower() == want:lower() then
                named = number * (op.field.scale or 1) + (op.field.add or 0)
            end
        end
        want = named or fail("%s is a number, and none of its values is called '%s'", op.name, want)
    end
    local is, truth = compare[sign], literal.kind == "bool"
    return function(value)
        local n = to_number(value)
        if truth and n then
            n = n ~= 0 and 1 or 0
        end
        return n ~= nil and is(n, want)
    end
end

local function address_test(op, sign, literal)
    local text = tostring(literal.value)
    local address, length = text:match "^(.*)/(%d+)$"
    local want = pack[op.type](address or text) or fail("%s is %s, '%s' is none", op.name, article[op.type], text)
    local packed = packer(op.type)
    if not address then
        local is = compare[sign]
        return function(value) return is(packed(value), want) end
    end
    length = math.tointeger(tonumber(length))
    if sign ~= "==" then
        fail("a prefix like %s is compared with == or ~=", text)
    elseif length > #want * 8 then
        fail("%s: a prefix of %s has at most %d bits", text, article[op.type], #want * 8)
    end
    local whole, mask = length // 8, 0xff00 >> length % 8 & 0xff
    return function(value)
        local bytes = packed(value)
        return bytes:sub(1, whole) == want:sub(1, whole) and (mask == 0
            or (bytes:byte(whole + 1) or 0) & mask == want:byte(whole + 1) & mask)
    end
end

local function time_test(op, sign, literal)
    local epoch, text = op.name == "frame.time_epoch", tostring(literal.written or literal.value)
    local want
    if literal.kind == "number" or epoch and tonumber(text) then
        want = epoch and moment.seconds(text)
    elseif literal.kind ~= "bool" then
        want = moment.parse(text)
    end
    if not want then
        fail("%s is a time, '%s' is none (write \"2023-11-14 22:13:30.25\", with Z behind it for UTC%s)", op.name, text,
            epoch and ", or seconds since 1970" or "")
    end
    local is = compare[sign]
    return function(value)
        local ns = to_time(value)
        return ns ~= nil and is(ns, want)
    end
end

local function bytes_of(op, literal)
    if literal.kind == "word" then
        return pack.bytes(literal.value) or fail("%s is bytes; '%s' is not (write 00:1b:2c or \"text\")", op.name,
            literal.value)
    elseif literal.kind ~= "string" then
        fail("%s is bytes; '%s' is not (write 00:1b:2c or \"text\")", op.name, tostring(literal.value))
    end
    return literal.value
end

local function text_test(op, sign, literal)
    local is, want = compare[sign], literal.value
    if literal.kind == "number" or literal.kind == "bool" then
        return number_test(op, sign, literal)
    elseif op.type == "name" then -- RFC 4343: case says nothing
        want = want:lower()
        return function(value) return is(tostring(value):lower(), want) end
    end
    return function(value) return is(tostring(value), want) end
end

local function value_test(op, sign, literal)
    if op.class == "number" then
        return number_test(op, sign, literal)
    elseif op.class == "address" then
        return address_test(op, sign, literal)
    elseif op.class == "time" then
        return time_test(op, sign, literal)
    elseif op.class == "bytes" then
        local is, want = compare[sign], bytes_of(op, literal)
        return function(value) return is(value, want) end
    end
    return text_test(op, sign, literal)
end

-- ------------------------------------------------------------------ conditions

--- Every layer of the protocol, as bytes: header and what it carries.
local function any_layer(op, test)
    local name, one = op.name, op.name:find("#", 1, true)
    if name == "frame" then
        return function(pkt) return test(pkt:bytes()) end
    end
    return function(pkt)
        for n = 1, one and 1 or 32 do
            local first, _, last = pkt:at(one and name or name .. "#" .. n)
            if not first then
                return false
            elseif test(pkt:sub(first, last)) then
                return true
            end
        end
        return false
    end
end

local function has_text(op, sign, literal)
    local raw = op.kind == "protocol" or op.class == "bytes"
    if literal.kind == "name" or literal.kind == "op" then
        fail("after '%s' comes a string%s", sign, sign == "contains" and " or bytes like 00:1b:2c" or "")
    end
    local want = raw and literal.kind == "word" and bytes_of(op, literal) or tostring(literal.value)
    local test
    if sign == "matches" then
        if literal.kind ~= "string" then
            fail("after 'matches' comes a string, a Lua pattern")
        end
        local ok, message = pcall(string.find, "", want)
        if not ok then
            fail("'%s' is no Lua pattern: %s", want, message)
        end
        test = function(value) return tostring(value):find(want) ~= nil end
    else
        test = function(value) return tostring(value):find(want, 1, true) ~= nil end
    end
    return op.kind == "protocol" and any_layer(op, test) or any_value(op, test)
end

local function two_fields(a, sign, b)
    local is, both_times = compare[sign], a.class == "time" and b.class == "time"
    if not both_times and (a.class == "time" or b.class == "time") then
        fail("%s is a time, %s is none", (a.class == "time" and a or b).name, (a.class == "time" and b or a).name)
    end
    local numbers = a.class == "number" and b.class == "number"
    local packed = a.class == "address" and a.type == b.type and packer(a.type)
    local any_a = any_value
    return function(pkt, context)
        return any_a(a, function(x)
            return any_value(b, function(y)
                if numbers or both_times then
                    local to = numbers and to_number or to_time
                    local m, n = to(x), to(y)
                    return m ~= nil and n ~= nil and is(m, n)
                elseif packed then
                    return is(packed(x), packed(y))
                end
                return is(tostring(x), tostring(y))
            end)(pkt, context)
        end)(pkt, context)
    end
end

local function comparison(a, sign, b)
    local name = a.kind == "name" and a or b.kind == "name" and b or fail("a comparison needs the name of a field")
    local other = name == a and b or a
    local op = operand(name.value)
    if sign == "contains" or sign == "matches" then
        if name ~= a then
            fail("before '%s' comes the name of a field", sign)
        end
        return has_text(op, sign, other)
    elseif op.kind == "protocol" then
        fail("'%s' is a protocol: its name alone asks whether it is there", op.name)
    end
    comparable(op)
    if name ~= a then
        sign = flipped[sign] or sign
    end
    local negative = sign == "~="
    sign = negative and "==" or sign
    local test
    if other.kind == "name" then
        local second = operand(other.value, op.type == "bool" and " (write true or false)"
            or (" (text needs quotes: '%s')"):format(other.value))
        if second.kind == "protocol" then
            fail("'%s' is a protocol: its name alone asks whether it is there", second.name)
        end
        test = two_fields(op, sign, comparable(second))
        if negative then
            local both, there = is_present(op), is_present(second)
            return function(pkt, context)
                return both(pkt, context) and there(pkt, context) and not test(pkt, context)
            end
        end
        return test
    end
    test = any_value(op, value_test(op, sign, other))
    if negative then
        local there = is_present(op)
        return function(pkt, context)
            return there(pkt, context) and not test(pkt, context)
        end
    end
    return test
end

--- One of the values, or between the two ends of a range: { { first, last or nil }, ... }.
local function membership(name, ranges)
    if name.kind ~= "name" then
        fail("before 'in' comes the name of a field")
    end
    local op, tests = operand(name.value), {}
    if op.kind == "protocol" then
        fail("'%s' is a protocol: its name alone asks whether it is there", op.name)
    end
    comparable(op)
    for i, range in ipairs(ranges) do
        local low = value_test(op, range[2] and ">=" or "==", range[1])
        local high = range[2] and value_test(op, "<=", range[2])
        tests[i] = high and function(value) return low(value) and high(value) end or low
    end
    return any_value(op, function(value)
        for _, test in ipairs(tests) do
            if test(value) then
                return true
            end
        end
        return false
    end)
end

local comparing = { ["=="] = true, ["~="] = true, ["<"] = true, ["<="] = true, [">"] = true, [">="] = true,
    contains = true, matches = true }

--- or, and, not, comparison: from the loosest to the tightest.
local function parse(tokens)
    local at, any = 1, nil
    local function peek(value)
        local t = tokens[at]
        return t and t.kind == "op" and t.value == value
    end
    local function literal()
        local t = tokens[at] or fail("a '}' is missing")
        if t.kind == "op" or t.kind == "name" then
            fail("'%s' is out of place: between '{' and '}' are values%s", t.value, t.kind == "name"
                and (" (text needs quotes: '%s')"):format(t.value) or "")
        end
        at = at + 1
        return t
    end
    local function set()
        local ranges = {}
        if not peek "{" then
            fail("after 'in' come values, as in {1, 5..9}")
        end
        repeat
            at = at + 1
            local range = { literal() }
            if peek ".." then
                at = at + 1
                range[2] = literal()
            end
            ranges[#ranges + 1] = range
        until not peek ","
        if not peek "}" then
            fail(tokens[at] and "a '}' is missing, or a ',' between two values" or "a '}' is missing")
        end
        at = at + 1
        return ranges
    end
    local function primary()
        local t = tokens[at]
        if not t then
            fail("something is missing at its end")
        end
        at = at + 1
        if t.kind == "op" then
            if t.value == "(" then
                local inner = any()
                if not peek ")" then
                    fail("a ')' is missing")
                end
                at = at + 1
                return inner
            end
            fail("'%s' is out of place%s", t.value, HELP)
        elseif t.kind == "name" and peek "(" then
            fail("there are no functions like '%s('%s", t.value, HELP)
        end
        local behind = tokens[at + 1]
        local negative = peek "not" and behind and behind.kind == "op" and behind.value == "in"
        at = negative and at + 1 or at
        if peek "in" then
            at = at + 1
            local test = membership(t, set())
            return negative and function(pkt, context) return not test(pkt, context) end or test
        end
        local sign = tokens[at]
        if sign and sign.kind == "op" and comparing[sign.value] then
            local right = tokens[at + 1] or fail("something is missing behind '%s'", sign.value)
            if right.kind == "op" then
                fail("'%s' is out of place%s", right.value, HELP)
            end
            at = at + 2
            return comparison(t, sign.value, right)
        elseif t.kind ~= "name" then
            fail("'%s' alone is no condition", tostring(t.value))
        end
        return is_present(operand(t.value))
    end
    local function negation()
        if peek "not" then
            at = at + 1
            local inner = negation()
            return function(pkt, context) return not inner(pkt, context) end
        end
        return primary()
    end
    -- operands of one operator, from the left
    local function chain(word, operand_of, join)
        local left = operand_of()
        while peek(word) do
            at = at + 1
            left = join(left, operand_of())
        end
        return left
    end
    local function all()
        return chain("and", negation, function(a, b)
            return function(pkt, context) return a(pkt, context) and b(pkt, context) end
        end)
    end
    function any()
        return chain("or", all, function(a, b)
            return function(pkt, context) return a(pkt, context) or b(pkt, context) end
        end)
    end
    local result = any()
    local rest = tokens[at]
    if rest then
        fail("'%s' is out of place%s", tostring(rest.value), HELP)
    end
    return result
end

---@class ringtap.where_context what only a list knows of a packet
---@field number? integer frame.number
---@field first? integer time of the first packet
---@field previous? integer time of the packet before

--- Compile a condition. Raises what is wrong with it.
---@param text string
---@param level? integer of the function that is to blame, as error() has it; default 2, the one that calls this
---@return fun(pkt: ringtap.packet, context?: ringtap.where_context): boolean
function where.compile(text, level)
    if type(text) ~= "string" then
        error(("a condition is text or a function, not %s"):format(type(text)), level or 2)
    end
    protocols.load(true)
    local ok, test = pcall(function() return parse(words.scan(text)) end)
    if not ok then
        error(type(test) == "table" and test.where and ("'%s': %s"):format(text, test.where) or test, level or 2)
    end
    local none = {}
    return function(pkt, context)
        return test(pkt, context or none)
    end
end

--- A field's value in a packet, also those that its place in a list gives: for those who go through a list.
---@param name string
---@return fun(pkt: ringtap.packet, context?: ringtap.where_context): any
function where.getter(name)
    if from_list[name] then
        local get, none = from_list[name], {}
        return function(pkt, context) return get(pkt, context or none) end
    end
    local ok, get = pcall(core.field, name)
    return ok and get or error(where.no_field(name, get), 0)
end

return where
