--- Where a walk of ringtap/build/encode.lua writes to: bits with a rank, put together at its end, and DNS names.

local M = {}

-- Of what lies on the same bits the one of the highest rank wins, else the later one.
M.DEFAULT, M.OVERLAID, M.KEPT, M.FOLLOWS, M.GIVEN = 0, 1, 2, 3, 4

M.walk = {} -- methods of a walk
M.walk.__index = M.walk

function M.walk:put(rank, bit, v, bits)
    local list = self.writes[rank]
    local n = #list
    list[n + 1], list[n + 2], list[n + 3] = bit, bits, v
end

function M.walk:reach(bit)
    if bit > self.extent then
        self.extent = bit
    end
end

--- A string at the cursor, which goes behind it.
function M.literal(w, rank, s)
    w:put(rank, w.pos, s, #s * 8)
    w.pos = w.pos + #s * 8
    w:reach(w.pos)
end

local function set_bits(bytes, bit, bits, v)
    local last = bit + bits - 1
    local i, shift = last // 8 + 1, 7 - last % 8
    while bits > 0 do
        local n = math.min(8 - shift, bits)
        local mask = (1 << n) - 1
        if bytes[i] then
            bytes[i] = bytes[i] & ~(mask << shift) | (v & mask) << shift
        end
        v, bits, i, shift = v >> n, bits - n, i - 1, 0
    end
end

--- All of it as a string.
function M.assemble(w)
    local bytes = {}
    for i = 1, (w.extent + 7) // 8 do
        bytes[i] = 0
    end
    for rank = M.DEFAULT, M.GIVEN do
        local list = w.writes[rank]
        for k = 1, #list, 3 do
            local bit, bits, v = list[k], list[k + 1], list[k + 2]
            if math.type(v) == "integer" then
                set_bits(bytes, bit, bits, v)
            else
                for i = 1, #v do
                    if bit % 8 ~= 0 then
                        set_bits(bytes, bit + (i - 1) * 8, 8, v:byte(i))
                    elseif bytes[bit // 8 + i] then
                        bytes[bit // 8 + i] = v:byte(i)
                    end
                end
            end
        end
    end
    local parts = {}
    for i = 1, #bytes, 4096 do
        parts[#parts + 1] = string.char(table.unpack(bytes, i, math.min(i + 4095, #bytes)))
    end
    return table.concat(parts)
end

-- ---------------------------------------------------------------- DNS names

local function suffix(labels, from)
    local parts = {}
    for i = from, #labels do
        parts[#parts + 1] = string.char(#labels[i]) .. labels[i]
    end
    return table.concat(parts) .. "\0"
end

--- `labels` at the cursor; the last ones as a pointer to where they were written before, if `compress`.
function M.name(w, labels, compress)
    local here = w.pos // 8 - w.origin
    local parts, at = {}, here
    for i = 1, #labels do
        local rest = suffix(labels, i)
        local known = compress and w.names[rest]
        if known then
            parts[#parts + 1] = (">I2"):pack(0xc000 | known)
            return table.concat(parts)
        end
        if at < 0x4000 and not w.names[rest] then
            w.names[rest] = at
        end
        parts[#parts + 1] = string.char(#labels[i]) .. labels[i]
        at = at + 1 + #labels[i]
    end
    return table.concat(parts) .. "\0"
end

-- Do the labels behind the n-th of `labels` still stand at `at` in the bytes of the last walk?
local function stand_at(w, at, labels, n)
    local bytes, limit = w.prev and w.prev.full or "", math.huge
    at = w.origin + at
    for _ = 1, 256 do
        local length, low = bytes:byte(at + 1, at + 2)
        if not length then
            return false
        elseif length >= 0xc0 then
            at = low and w.origin + ((length & 0x3f) << 8 | low) or limit
            if at >= limit then
                return false
            end
            limit = at
        elseif length == 0 then
            return n == #labels
        else
            n = n + 1
            if labels[n] ~= bytes:sub(at + 2, at + 1 + length) then
                return false
            end
            at = at + 1 + length
        end
    end
    return false
end

--- A name that wasn't changed: as it was, with its pointer moved to where what it pointed to is now.
function M.kept_name(w, node)
    local here = w.pos // 8 - w.origin
    local target
    if node.target then
        target = w.moved[node.target] or stand_at(w, node.target, node.labels, node.inline) and node.target
        if not target or target >= 0x4000 then
            return M.name(w, node.labels, true)
        end
    end
    local parts, at = {}, 0
    for i = 1, node.inline do
        local rest = suffix(node.labels, i)
        w.moved[node.at + at] = here + at
        if here + at < 0x4000 and not w.names[rest] then
            w.names[rest] = here + at
        end
        parts[#parts + 1] = string.char(#node.labels[i]) .. node.labels[i]
        at = at + 1 + #node.labels[i]
    end
    w.moved[node.at + at] = here + at
    parts[#parts + 1] = target and (">I2"):pack(0xc000 | target) or "\0"
    return table.concat(parts)
end

--- Begin anew.
function M.start(w)
    w.writes, w.pos, w.extent = { [0] = {}, {}, {}, {}, {} }, 0, 0
end

return M
