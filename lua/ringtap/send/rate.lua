--- Rates as people write them: 250000, "250kpps", "1.2Mpps", "900Mbit/s".

local rate = {}

local powers = { [""] = 1, k = 1e3, K = 1e3, M = 1e6, G = 1e9 }
local units = { pps = "packets", ["p/s"] = "packets", ["bit/s"] = "bits", bps = "bits" }

--- Bits are those of the frames as they are given: without preamble, checksum sequence and gap between frames.
---@param v number|string packets a second, or with a unit
---@return {packets?: number, bits?: number} a second
function rate.parse(v)
    local number, unit = v, "packets"
    if type(v) == "string" then
        local digits, power, name = v:match "^%s*(%d+%.?%d*)%s*([kKMG]?)(%a*/?%a*)%s*$"
        if name == "" then
            name = "pps"
        end
        unit = units[name]
        number = unit and powers[power] and tonumber(digits) * powers[power]
    end
    if type(number) ~= "number" or not unit or number ~= number or number <= 0 or number == math.huge then
        error(('rate: packets a second, or a text as "250kpps", "1.2Mpps", "900Mbit/s", not %s'):format(
            type(v) == "string" and ("%q"):format(v) or tostring(v)), 0)
    end
    return { [unit] = number }
end

local function scaled(v, unit)
    for _, power in ipairs { { 1e9, "G" }, { 1e6, "M" }, { 1e3, "k" } } do
        if v >= power[1] then
            return ("%.4g %s%s"):format(v / power[1], power[2], unit)
        end
    end
    return ("%.4g %s"):format(v, unit)
end

--- "475.3 kpps", "243.3 Mbit/s"
---@param v number
---@param unit string
---@return string
function rate.text(v, unit)
    return scaled(v, unit)
end

return rate
