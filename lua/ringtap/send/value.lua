--- Values as people write them to what a field holds: for assignments to frames and for fields that vary.

local protocol = require "ringtap.protocol"
local schema = require "ringtap.build.schema"
local value = require "ringtap.build.value"

local M = {}

local function swap(v, bits)
    return (("<I" .. bits // 8):unpack((">I" .. bits // 8):pack(v)))
end

--- An integer (fields of at most 64 bits) or bytes. Raises when the field can't have that value.
---@param protocol_name? string nil: bytes without a field
---@param name string of the field
---@param bits integer that it has in the packet
---@param v any
---@return integer|string
function M.wire(protocol_name, name, bits, v)
    if not protocol_name then
        local bytes = type(v) == "string" and #v * 8 == bits -- so many are bytes
        local n = math.type(v) == "integer" and v or not bytes and tonumber(v)
        if math.type(n) == "integer" and bits <= 64 then
            if bits < 64 and (n < 0 or n >> bits ~= 0) then
                error(("%s: %d doesn't fit into %d bytes"):format(name, n, bits // 8), 0)
            end
            return n
        elseif type(v) == "string" and #v * 8 == bits then
            return bits <= 64 and (">I" .. #v):unpack(v) or v
        end
        error(("%s: an integer, or %d bytes, not %s"):format(name, bits // 8, type(v) == "string"
            and ("a string of %d"):format(#v) or tostring(v)), 0)
    end
    require("ringtap.proto").load(true)
    local _, fields = schema.find(schema.of(protocol.proto[protocol_name]), name)
    local message = ("%s: it can't be written"):format(name)
    for _, f in ipairs(fields or {}) do
        local ok, wire = pcall(value.wire, f, v)
        if ok and type(wire) == "string" and #wire * 8 == bits then
            return bits <= 64 and (">I" .. #wire):unpack(wire) or wire
        elseif ok and math.type(wire) == "integer" and f.bits == bits then
            return f.le and bits % 8 == 0 and bits > 8 and swap(wire, bits) or wire
        end
        message = ok and ("%s has %d bits here, and its length can't change"):format(name, bits) or wire
    end
    error(message, 0)
end

return M
