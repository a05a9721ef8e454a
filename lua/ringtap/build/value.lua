--- Values as people write them to the bits of a field, for all types of ringtap/protocol.lua, and numbers back again.
-- What a value becomes ("wire" below) is an integer for fields of at most 64 bits that hold a number, else a string.

local M = {}

local addresses
local numeric = {
    uint = true, int = true, bool = true, time = true, seconds = true, ntp = true, float = true, fixed = true,
}

local sizeless = { uint = true, int = true, ber = true, varint = true, decimal = true }

--- Does its wire form come as an integer?
function M.is_number(f)
    return numeric[f.type] and f.bits ~= nil
end

--- Is it an address of which the last bytes may be left out?
function M.is_prefix(f)
    return addresses[f.type] ~= nil and not f.bits
end

--- Is it a number whose width isn't fixed?
function M.is_sizeless(f)
    return sizeless[f.type] and not f.bits
end

local function label(f)
    return f.name or f.title
end

local function fail(f, format, ...)
    error(label(f) .. ": " .. format:format(...), 0)
end
M.fail = fail

local function shown(v)
    if type(v) == "string" then
        v = #v > 40 and v:sub(1, 37) .. "..." or v
        return ("%q"):format(v):gsub("\\\n", "\\n")
    end
    return tostring(v)
end

-- ---------------------------------------------------------------- integers

local function swap(v, bits)
    local r = 0
    for _ = 1, bits // 8 do
        r = r << 8 | v & 0xff
        v = v >> 8
    end
    return r
end

--- Names of values to numbers, made when first needed.
local names_of = setmetatable({}, { __mode = "k" })

local function named(f, text)
    if not f.values then
        return nil
    end
    local map = names_of[f.values]
    if not map then
        map = {}
        local keys = {}
        for number in pairs(f.values) do
            keys[#keys + 1] = number
        end
        table.sort(keys, function(a, b) return a > b end) -- of several numbers with one name the lowest
        for _, number in ipairs(keys) do
            map[tostring(f.values[number]):lower()] = number
        end
        names_of[f.values] = map
    end
    return map[text:lower()]
end

local function name_list(f)
    local list = {}
    for _, name in pairs(f.values or {}) do
        list[#list + 1] = tostring(name)
    end
    return list
end

local function number_of(f, v)
    if type(v) == "string" then
        local n = named(f, v)
        if not n and v:find "^%s*[%d.+-]" then
            n = tonumber(v)
        end
        if not n then
            local near = f.values and require("ringtap.core")._nearest(v, name_list(f))
            fail(f, "a number%s, not %s%s", f.values and " or the name of one" or "", shown(v),
                near and (" (did you mean '%s'?)"):format(near) or "")
        end
        v = n
    elseif type(v) == "boolean" and f.bits == 1 then
        v = v and 1 or 0
    elseif type(v) ~= "number" then
        fail(f, "a number, not %s", type(v) == "boolean" and tostring(v) or "a " .. type(v))
    end
    return v
end

local function integer_of(f, v)
    local n = math.tointeger(number_of(f, v))
    if not n then
        fail(f, "an integer, not %s", tostring(v))
    end
    return n
end

local function fits(f, raw, bits)
    if bits >= 64 then
        return raw
    elseif f.type == "int" then
        local half = 1 << (bits - 1)
        if raw < -half or raw >= half then
            fail(f, "%d doesn't fit into %d bits with a sign", raw * f.scale + f.add, bits)
        end
        return raw & ((1 << bits) - 1)
    elseif raw < 0 or raw >> bits ~= 0 then
        local top = (1 << bits) - 1
        fail(f, "%d doesn't fit: it is from %d to %d", raw * f.scale + f.add, f.add, top * f.scale + f.add)
    end
    return raw
end

--- A number as it is shown to the field's bits; `bits` for fields whose width isn't fixed.
function M.wire_number(f, v, bits)
    bits = bits or f.bits
    local raw = v - f.add
    if f.scale ~= 1 then
        if f.scale == 0 or raw % f.scale ~= 0 then
            fail(f, "%d is no multiple of %d", v, f.scale)
        end
        raw = raw // f.scale
    end
    raw = fits(f, raw, bits)
    return f.le and bits % 8 == 0 and swap(raw, bits) or raw
end

--- And back: what the engine's expressions see.
function M.number(f, wire, bits)
    bits = bits or f.bits
    local v = wire
    if f.le and bits % 8 == 0 then
        v = swap(v, bits)
    end
    if f.type == "int" and bits < 64 and v >> (bits - 1) & 1 == 1 then
        v = v | (-1 << bits)
    end
    return v * f.scale + f.add
end

--- Bits of a string as an integer (at most 64).
function M.load(s, bit, bits)
    if bits <= 0 then
        return 0
    end
    local first, last = bit // 8, (bit + bits - 1) // 8
    local v = 0
    if last - first < 8 then
        for i = first + 1, last + 1 do
            v = v << 8 | (s:byte(i) or 0)
        end
        v = v >> ((last + 1) * 8 - bit - bits)
    else -- nine bytes
        local shift = bit % 8
        for i = first + 1, last do
            v = v << 8 | (s:byte(i) or 0)
        end
        v = v << shift | (s:byte(last + 1) or 0) >> (8 - shift)
        v = bits < 64 and v >> (64 - bits) or v
    end
    return bits < 64 and v & ((1 << bits) - 1) or v
end

-- ---------------------------------------------------------------- addresses

local function ipv4(text)
    local a, b, c, d = text:match "^(%d+)%.(%d+)%.(%d+)%.(%d+)$"
    if not a or #a > 3 or #b > 3 or #c > 3 or #d > 3 then
        return nil
    end
    a, b, c, d = tonumber(a), tonumber(b), tonumber(c), tonumber(d)
    return a < 256 and b < 256 and c < 256 and d < 256 and string.char(a, b, c, d) or nil
end

local function words(text, list)
    if text == "" then
        return true
    end
    local parts = {}
    for part in (text .. ":"):gmatch "([^:]*):" do
        parts[#parts + 1] = part
    end
    for i, part in ipairs(parts) do
        local v4 = i == #parts and ipv4(part)
        if v4 then
            list[#list + 1] = v4
        elseif part:find "^%x%x?%x?%x?$" then
            list[#list + 1] = (">I2"):pack(tonumber(part, 16))
        else
            return false
        end
    end
    return true
end

local function ipv6(text) -- RFC 4291, 2.2
    local head, tail = text:match "^(.-)::(.*)$"
    local left, right = {}, {}
    if not words(head or text, left) or head and not words(tail, right) then
        return nil
    end
    local a, b = table.concat(left), table.concat(right)
    if head and #a + #b <= 14 and not tail:find "::" then
        return a .. ("\0"):rep(16 - #a - #b) .. b
    end
    return not head and #a == 16 and a or nil
end

local function hex(text, n)
    local digits = text:gsub("[:.-]", "")
    if #digits ~= n * 2 or digits:find "%X" then
        return nil
    end
    return (digits:gsub("%x%x", function(d) return string.char(tonumber(d, 16)) end))
end

local function guid(text)
    return text:find "^%x+%-%x+%-%x+%-%x+%-%x+$" and hex(text, 16) or nil
end

addresses = {
    ipv4 = { ipv4, 4, "an IPv4 address" }, ipv6 = { ipv6, 16, "an IPv6 address" },
    ether = { function(text) return text:find "^%x%x?[:-]" and hex(text, 6) or nil end, 6, "a MAC address" },
    eui64 = { function(text) return hex(text, 8) end, 8, "an EUI-64" }, guid = { guid, 16, "a GUID" },
}

-- ---------------------------------------------------------------- times

local months = { Jan = 1, Feb = 2, Mar = 3, Apr = 4, May = 5, Jun = 6, Jul = 7, Aug = 8, Sep = 9, Oct = 10, Nov = 11,
    Dec = 12 }

-- Days since 1970-01-01 in the Gregorian calendar.
local function days(year, month, day)
    if month <= 2 then
        year, month = year - 1, month + 12
    end
    return 365 * year + year // 4 - year // 100 + year // 400 + (153 * (month - 3) + 2) // 5 + day - 719469
end

--- Seconds since 1970 and nanoseconds of a number or of a text as decoding gives it.
local function moment(f, v)
    if type(v) == "string" then
        local mon, day, year, h, m, s, frac = v:match "^(%a%a%a) +(%d+), (%d+) (%d+):(%d+):(%d+)%.?(%d*)"
        if not months[mon] then
            local n = tonumber(v)
            if not n then
                fail(f, "seconds since 1970, or a time as \"Jan  1, 2026 00:00:00 UTC\", not %s", shown(v))
            end
            return moment(f, n)
        end
        return days(math.tointeger(year), months[mon], math.tointeger(day)) * 86400 + h * 3600 + m * 60
            + math.tointeger(s), math.tointeger((frac .. "000000000"):sub(1, 9))
    elseif type(v) ~= "number" then
        fail(f, "seconds since 1970, not a %s", type(v))
    end
    local whole = math.floor(v)
    return whole, math.floor((v - whole) * 1e9 + 0.5)
end

local function ntp(f, v) -- RFC 5905, 6
    if v == 0 or v == "(0)" or v == "NULL" then
        return 0
    end
    local seconds, nano = moment(f, v)
    return (seconds + 2208988800 & 0xffffffff) << 32 | ((nano << 32) + 999999999) // 1000000000 & 0xffffffff
end

-- ---------------------------------------------------------------- names and identifiers

local letters = { a = "\a", b = "\b", f = "\f", n = "\n", r = "\r", t = "\t", v = "\v" }

--- Labels of a DNS name. A backslash takes the next character as it is, or three octal digits, or \x and two hex
-- digits.
function M.labels(f, text)
    if type(text) ~= "string" then
        fail(f, "a name, not a %s", type(text))
    end
    local list, label_, at = {}, {}, 1
    if text == "" or text == "." or text == "<Root>" then
        return list
    end
    local total = 1
    local function close()
        local l = table.concat(label_)
        if l == "" then
            fail(f, "%s has an empty label", shown(text))
        elseif #l > 63 then
            fail(f, "a label of %s is longer than 63 octets", shown(text))
        end
        total = total + #l + 1
        list[#list + 1], label_ = l, {}
    end
    while at <= #text do
        local c = text:sub(at, at)
        if c == "." then
            close()
            at = at + 1
        elseif c == "\\" then
            local octal, two = text:match("^%d%d%d", at + 1), text:match("^x(%x%x)", at + 1)
            local next_one = text:sub(at + 1, at + 1)
            label_[#label_ + 1] = octal and string.char((tonumber(octal, 8) or 0) & 0xff)
                or two and string.char(tonumber(two, 16)) or letters[next_one] or next_one
            at = at + (octal and 4 or two and 4 or 2)
        else
            label_[#label_ + 1] = c
            at = at + 1
        end
    end
    if #label_ > 0 then
        close()
    end
    if total > 255 then
        fail(f, "%s is longer than 255 octets", shown(text))
    end
    return list
end

local function oid(f, text) -- X.690, 8.19
    local out, list = {}, {}
    for part in tostring(text):gmatch "[^.]+" do
        list[#list + 1] = math.tointeger(tonumber(part)) or fail(f, "an object identifier, not %s", shown(text))
    end
    if #list < 2 or list[1] > 2 or list[1] < 2 and list[2] > 39 then
        fail(f, "an object identifier, not %s", shown(text))
    end
    table.insert(list, 1, table.remove(list, 1) * 40 + table.remove(list, 1))
    for _, n in ipairs(list) do
        local bytes = string.char(n & 0x7f)
        n = n >> 7
        while n > 0 do
            bytes = string.char(n & 0x7f | 0x80) .. bytes
            n = n >> 7
        end
        out[#out + 1] = bytes
    end
    return table.concat(out)
end

--- Bytes of an integer: `n` of them, or as few as hold it.
local function uint_bytes(f, v, n)
    v = integer_of(f, v)
    if not n then
        n = 1
        while n < 8 and (f.type == "int" and (v >= 1 << (n * 8 - 1) or v < -(1 << (n * 8 - 1)))
            or f.type == "uint" and v >> (n * 8) ~= 0) do
            n = n + 1
        end
    end
    if n < 1 or n > 8 then
        fail(f, "an integer has 1 to 8 bytes, not %d", n)
    end
    local wire = M.wire_number(f, v, n * 8)
    return (">I" .. n):pack(wire)
end

local function ber(f, v) -- X.690, 8.1.3: the shortest form
    v = fits(f, integer_of(f, v), 63)
    if v < 0x80 then
        return string.char(v)
    end
    local bytes = (">I8"):pack(v):gsub("^\0+", "")
    return string.char(0x80 | #bytes) .. bytes
end

local function varint(f, v) -- RFC 9000, 16
    v = fits(f, integer_of(f, v), 62)
    for n = 0, 3 do
        local bytes = 1 << n
        if v < 1 << (bytes * 8 - 2) then
            return (">I" .. bytes):pack(n << (bytes * 8 - 2) | v)
        end
    end
end

--- The number in the bytes of such a field.
function M.sizeless(f, bytes)
    local n = #bytes
    if f.type == "decimal" then
        return math.tointeger(tonumber(bytes))
    elseif n == 0 or n > 9 then
        return n
    elseif f.type == "ber" then
        return n == 1 and bytes:byte() or M.load(bytes, 8, n * 8 - 8)
    elseif f.type == "varint" then
        return M.load(bytes, 2, n * 8 - 2)
    end
    return M.number(f, M.load(bytes, 0, n * 8), n * 8)
end

-- ---------------------------------------------------------------- all of them

--- The wire form of a value. size: bytes that a field without a width of its own is to have, if that is known.
function M.wire(f, v, size)
    local kind = f.type
    local address = addresses[kind]
    if address then
        local bytes = type(v) == "string" and (address[1](v) or #v == address[2] and v)
        if bytes and f.le and kind == "guid" then
            bytes = ("<I4I2I2"):pack((">I4I2I2"):unpack(bytes)) .. bytes:sub(9)
        end
        if not bytes then
            fail(f, "%s, not %s", address[3], type(v) == "table" and "a table" or shown(v))
        end
        return not f.bits and size and bytes:sub(1, size) or bytes
    elseif kind == "ber" then
        return ber(f, v)
    elseif kind == "varint" then
        return varint(f, v)
    elseif (kind == "uint" or kind == "int") and not f.bits then
        return uint_bytes(f, v, size)
    elseif kind == "uint" or kind == "int" then
        return M.wire_number(f, integer_of(f, v))
    elseif kind == "bool" then
        if type(v) == "boolean" then
            return M.wire_number(f, v and 1 or 0)
        end
        return M.wire_number(f, integer_of(f, v))
    elseif kind == "time" then
        return M.wire_number(f, (moment(f, v)))
    elseif kind == "seconds" then
        return M.wire_number(f, math.floor(number_of(f, v)))
    elseif kind == "ntp" then
        return ntp(f, v)
    elseif kind == "float" then
        local wire = (">I" .. f.bits // 8):unpack((f.bits == 32 and ">f" or ">d"):pack(number_of(f, v)))
        return f.le and swap(wire, f.bits) or wire
    elseif kind == "fixed" then
        return M.wire_number(f, math.floor(number_of(f, v) * (1 << f.point) + 0.5))
    elseif kind == "oid" then
        return oid(f, v)
    elseif kind == "decimal" then
        local n = integer_of(f, v)
        return n >= 0 and ("%d"):format(n) or fail(f, "a number from 0 on, not %d", n)
    end
    if type(v) == "number" and kind ~= "bytes" then
        v = tostring(v)
    elseif type(v) ~= "string" then
        fail(f, "a string, not %s", type(v) == "table" and "a table" or shown(v))
    end
    return v
end

--- Zeroes, where nothing is known.
function M.zero(f, size)
    if M.is_number(f) then
        return 0
    elseif f.bits then
        return ("\0"):rep(f.bits // 8)
    elseif f.type == "decimal" then
        return "0"
    elseif f.type == "ber" or f.type == "varint" or f.type == "name" then
        return "\0"
    end
    return ("\0"):rep(size or 0)
end

M.shown = shown
return M
