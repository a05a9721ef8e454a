--- Checksums of built layers, as a table's `checksum` describes them: RFC 1071 with or without the pseudo header of
-- IPv4 (RFC 9293, 3.1) and IPv6 (RFC 8200, 8.1), CRC32c (RFC 9260, appendix A), or a function of the table's.

local protocol = require "ringtap.protocol"
local encode = require "ringtap.build.encode"
local value = require "ringtap.build.value"
local opaque = require "ringtap.build.opaque"

local M = {}

local words = ">" .. ("I2"):rep(64)

--- The sum of 16-bit words, not folded; an odd byte counts as if a zero followed.
local function add(s, sum)
    local at, n = 1, #s
    while n - at >= 127 do
        local list = { words:unpack(s, at) }
        for i = 1, 64 do
            sum = sum + list[i]
        end
        at = at + 128
    end
    while at < n do
        local a, b = s:byte(at, at + 1)
        sum, at = sum + (a << 8 | b), at + 2
    end
    return at == n and sum + (s:byte(n) << 8) or sum
end

local function fold(sum)
    while sum >> 16 ~= 0 do
        sum = (sum & 0xffff) + (sum >> 16)
    end
    return sum
end

--- RFC 1071's checksum of bytes.
function M.inet(s)
    return ~fold(add(s, 0)) & 0xffff
end

local crc_table

--- As the four bytes stand in the packet, read big-endian.
function M.crc32c(s)
    if not crc_table then
        crc_table = {}
        for i = 0, 255 do
            local c = i
            for _ = 1, 8 do
                c = c & 1 == 1 and c >> 1 ~ 0x82f63b78 or c >> 1
            end
            crc_table[i] = c
        end
    end
    local crc = 0xffffffff
    for i = 1, #s do
        crc = crc >> 8 ~ crc_table[(crc ~ s:byte(i)) & 0xff]
    end
    return (">I4"):unpack(("<I4"):pack(~crc & 0xffffffff))
end

-- What tells of a layer in buffer where fields are and what expressions come to. `stop`: where it ends.
local function reader(buffer, layer, stop)
    local w = layer.result.walk
    if layer.opaque then
        return layer.p and opaque.reading(layer, buffer:sub(layer.offset + 1, stop), layer.offset)
    end
    return w and { slot = function(_, name) return encode.slot(w, name) end,
        eval = function(_, e) return encode.eval(w, e) end }
end

local function field(buffer, layer, name)
    if layer.opaque then
        for _, item in ipairs(layer.items) do
            if item.name == name and item.kind == "field" then
                local at = layer.offset + item.bit // 8 - layer.off
                return buffer:sub(at + 1, at + (item.bits + 7) // 8)
            end
        end
        return nil
    end
    local s = encode.slot(layer.result.walk, name)
    return s and buffer:sub(layer.offset + s.bit // 8 + 1, layer.offset + (s.bit + s.bits + 7) // 8)
end

-- A source route that isn't used up ends with the last destination, which is what checksums cover.
local function last_destination(buffer, layer)
    local last
    local function note(bit, bits)
        last = bits == 32 and math.max(last or 0, bit) or last
    end
    if layer.opaque then
        for _, item in ipairs(layer.items) do
            if item.name == "ip.src_rt" and item.kind == "field" then
                note(item.bit - layer.off * 8, item.bits)
            end
        end
    else
        local w = layer.result.walk
        for _, s in ipairs(w and w.slots or {}) do
            if s.f.name == "ip.src_rt" and s.pass == w.pass then
                note(s.bit, s.bits)
            end
        end
    end
    if last then
        return buffer:sub(layer.offset + last // 8 + 1, layer.offset + last // 8 + 4)
    end
    return field(buffer, layer, "ip.dst")
end

-- The pseudo header for layers[i], or nil where no IP is below.
local function pseudo(buffer, layers, i, length, number)
    for j = i - 1, 1, -1 do
        local below = layers[j]
        local name = below.p and below.p.name
        if name == "ip" then
            local src, dst = field(buffer, below, "ip.src"), last_destination(buffer, below)
            local proto = number or (field(buffer, below, "ip.proto") or "\0"):byte()
            return src and dst and src .. dst .. (">I4I4"):pack(proto, length)
        elseif name == "ipv6" then
            local src, dst = field(buffer, below, "ipv6.src"), field(buffer, below, "ipv6.dst")
            local proto = number or (field(buffer, below, "ipv6.nxt") or "\0"):byte()
            for k = j + 1, i - 1 do
                -- a routing header with segments left: the last address is where it goes (types 0 and 2), or the
                -- first one of the list (4, RFC 8754)
                if layers[k].p and layers[k].p.name == "ipv6.routing" then
                    local r = buffer:sub(layers[k].offset + 1, layers[k].offset + layers[k].result.into)
                    if #r >= 24 and r:byte(4) > 0 then
                        dst = r:byte(3) == 4 and r:sub(9, 24) or (r:byte(3) == 0 or r:byte(3) == 2) and r:sub(-16)
                            or dst
                    end
                end
            end
            return src and dst and src .. dst .. (">I4I4"):pack(length, proto)
        end
    end
    return nil
end

-- Where each layer ends, by its own word where it has one.
local function ends(buffer, layers)
    local bound = #buffer
    for _, layer in ipairs(layers) do
        local p = layer.p
        local stop = math.min(layer.offset + layer.result.len, bound)
        local r = p and p.total and reader(buffer, layer, stop)
        if r and not (p.untold and (r:eval(p.untold) or 0) ~= 0)
            and not (p.guessed and (r:eval(p.guessed) or 0) ~= 0) then
            local total = r:eval(p.total)
            if total and total >= layer.result.into and layer.offset + total < stop then
                stop = layer.offset + total
            end
        end
        layer.stop, bound = stop, stop
    end
end
M.ends = ends

-- The sum of layers[i] in buffer: { key = what it depends on, value =, slot =, part = bytes that it covers aren't
-- there }, or nil where there is none.
local function work_out(buffer, layers, i)
    local layer = layers[i]
    local p = layer.p
    local c = p.checksum
    local r = reader(buffer, layer, layer.stop)
    local s = r and r:slot(protocol.full_name(p, c.field))
    if not s or s.bit % 8 ~= 0 or s.bits % 8 ~= 0 or s.bits == 0 then
        return nil
    end
    local function number(e, otherwise)
        if not e then
            return otherwise
        end
        return r:eval(e)
    end
    if c.when and (number(c.when) or 0) == 0 then
        return nil
    end
    local len = layer.stop - layer.offset
    local bytes = buffer:sub(layer.offset + 1, layer.offset + len)
    local at, width = s.bit // 8, s.bits // 8
    bytes = bytes:sub(1, at) .. ("\0"):rep(width) .. bytes:sub(at + width + 1)
    local from, to = number(c.from, 0), number(c.to, len)
    if not from or not to or from < 0 or from > to then
        return nil
    end
    local part = to > len
    to = math.min(to, len)
    if type(c.sum) == "function" then
        return { key = bytes, value = c.sum(bytes), slot = s, part = part }
    elseif c.sum == "crc32c" then
        local bytes_in = bytes:sub(from + 1, to)
        return { key = bytes_in, value = M.crc32c(bytes_in), slot = s, part = part }
    end
    local covered
    local skip_from, skip_to = number(c.skip_from), number(c.skip_to)
    if skip_from and skip_to and skip_from >= from and skip_to >= skip_from and skip_to <= to then
        covered = bytes:sub(from + 1, skip_from) .. bytes:sub(skip_to + 1, to)
    else
        covered = bytes:sub(from + 1, to)
    end
    if c.pseudo and (number(c.pseudo) or 0) ~= 0 then
        local length = number(c.length, to - from)
        local header = length and pseudo(buffer, layers, i, length, c.protocol)
        if not header then
            return nil
        end
        covered = header .. covered
    end
    local sum = M.inet(covered)
    if sum == 0 and c.zero_is_ones then
        sum = 0xffff
    end
    return { key = covered, value = sum, slot = s, inet = true, part = part }
end

-- RFC 1624: what a sum over bytes that aren't all there becomes when some of them change.
local function moved(sum, before, after)
    return ~fold((~sum & 0xffff) + (~fold(add(before, 0)) & 0xffff) + fold(add(after, 0))) & 0xffff
end

--- Put the checksum of layers[i] into buffer, unless it was given; the new buffer. See mode in encode.layer.
function M.put(buffer, layers, i, mode)
    local layer = layers[i]
    local c = layer.p.checksum
    if not c then
        return buffer
    end
    local r = work_out(buffer, layers, i)
    if mode == "baseline" then
        layer.sum = r
        return buffer
    elseif not r or r.slot.given ~= nil then
        return buffer
    end
    local s, v = r.slot, r.value
    local node = s.node
    if node then
        local was = value.number(s.f, node.raw, node.bits)
        local before = layer.sum
        local cut = layer.cut or r.part
        if c.zero_is_none and was == 0 or mode == "force" and cut then
            return buffer
        elseif mode ~= "force" and before then
            if before.key == r.key then
                return buffer
            elseif cut then
                if not r.inet then
                    return buffer
                end
                v = moved(was, before.key, r.key)
                v = v == 0 and c.zero_is_ones and 0xffff or v
            end
        elseif cut then
            return buffer
        end
    end
    local wire = value.wire_number(s.f, v, s.bits)
    local at = layer.offset + s.bit // 8
    return buffer:sub(1, at) .. (">I" .. s.bits // 8):pack(wire) .. buffer:sub(at + s.bits // 8 + 1)
end

return M
