--- A piece that tables of little-endian formats (radiotap, IEEE 802.11) are made of.

-- A little-endian field of `bits` bits and its parts, from bit 0 on: "name" is one bit, "name:3" three (in hex),
-- "name:3d" three in decimal; "-" is none. What lies in one byte is a field of its own, the rest is worked out from the
-- whole.
local function le(name, bits, title, prefix, spec, more)
    local parts, at, first = {}, {}, 0
    for word in spec:gmatch "%S+" do
        local short, width, base = word:match "^([^:]+):?(%d*)(d?)$"
        local part = {
            first = first, width = tonumber(width) or 1, name = prefix .. short, title = short:gsub("_", " "),
            bool = width == "", base = base == "d" and "dec" or "hex", skip = short == "-",
        }
        part.inside = part.first // 8 == (part.first + part.width - 1) // 8
        first = first + part.width
        parts[#parts + 1] = part
        for i = part.first, first - 1 do
            at[i] = part
        end
    end
    local sub = {}
    for byte = 0, bits // 8 - 1 do
        local i = byte * 8 + 7
        while i >= byte * 8 do
            local part, n = at[i], 1
            if part and part.inside and not part.skip then
                n = part.width
                sub[#sub + 1] = part.bool and { part.name, "bool", part.title }
                    or { part.name, n, part.title, base = part.base, digits = bits // 4 }
            else
                while i - n >= byte * 8 and (not at[i - n] or at[i - n].skip or not at[i - n].inside) do
                    n = n + 1
                end
                sub[#sub + 1] = { "_", n }
            end
            i = i - n
        end
    end
    for _, part in ipairs(parts) do
        if not part.inside and not part.skip then
            sub[#sub + 1] = {
                part.name, "uint", part.title, base = part.base, digits = bits // 4,
                value = ("%s >> %d & 0x%x"):format(name, part.first, (1 << part.width) - 1),
            }
        end
    end
    local field = { name, bits, title, le = bits > 8 or nil, base = "hex", sub = sub }
    for k, v in pairs(more or {}) do
        field[k] = v
    end
    return field
end

return le
