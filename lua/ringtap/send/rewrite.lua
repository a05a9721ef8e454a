--- Addresses that are replaced: { ["10.0.0.1"] = "192.0.2.1", ["10.0.0.0/8"] = "172.16.0.0/8",
--- ["02:00:00:00:00:01"] = "02:00:00:00:00:02", ["2001:db8::1"] = "fe80::1" }, wherever Ethernet, ARP, IPv4 or IPv6
--- have them as source or destination. What is named first by its whole address goes before networks, and longer
--- networks before shorter ones.

local value = require "ringtap.send.value"

local rewrite = {}

local kinds = {
    { "eth", "eth.dst", 48, { "eth.dst", "eth.src", "arp.src.hw_mac", "arp.dst.hw_mac" } },
    { "ip", "ip.dst", 32, { "ip.src", "ip.dst", "arp.src.proto_ipv4", "arp.dst.proto_ipv4" } },
    { "ipv6", "ipv6.dst", 128, { "ipv6.src", "ipv6.dst" } },
}

-- The kind of an address, and its bytes.
local function parse(text)
    for _, kind in ipairs(kinds) do
        local ok, wire = pcall(value.wire, kind[1], kind[2], kind[3], text)
        if ok then
            return kind, math.type(wire) == "integer" and (">I" .. kind[3] // 8):pack(wire) or wire
        end
    end
    error(("rewrite: %q is no MAC, IPv4 or IPv6 address"):format(text), 0)
end

local function network(text)
    local address, len = text:match "^(.-)/(%d+)$"
    local kind, bytes = parse(address or text)
    len = len and math.tointeger(tonumber(len)) or kind[3]
    if len > kind[3] then
        error(("rewrite: %q: a length of %d at most"):format(text, kind[3]), 0)
    end
    return kind, bytes, len
end

-- The first `len` bits of `from`, then the rest of `address`.
local function joined(from, address, len)
    local whole, rest = len // 8, len % 8
    if rest == 0 then
        return from:sub(1, whole) .. address:sub(whole + 1)
    end
    local mask = 0xff >> rest
    return from:sub(1, whole) .. string.char(from:byte(whole + 1) & ~mask & 0xff | address:byte(whole + 1) & mask)
        .. address:sub(whole + 2)
end

-- From an address' text to the new one's bytes, or false.
local function make_finder(rules)
    table.sort(rules, function(a, b) return a.len > b.len or a.len == b.len and a.from < b.from end)
    local cache, count = {}, 0
    return function(text)
        local found = cache[text]
        if found == nil then
            if count >= 65536 then
                cache, count = {}, 0
            end
            local _, bytes = parse(text)
            found = false
            for _, rule in ipairs(rules) do
                if joined(rule.from, bytes, rule.len) == bytes then
                    found = joined(rule.to, bytes, rule.len)
                    break
                end
            end
            cache[text], count = found, count + 1
        end
        return found
    end
end

--- A function that changes a packet that can be written to.
---@param map table<string, string>
---@return fun(pkt: ringtap.template)
function rewrite.compile(map)
    local by_kind = {}
    for from, to in pairs(map) do
        if type(from) ~= "string" or type(to) ~= "string" then
            error("rewrite: a table from addresses to addresses", 0)
        end
        local kind, bytes, len = network(from)
        local to_kind, to_bytes, to_len = network(to)
        if kind ~= to_kind or len ~= to_len then
            error(("rewrite: %q to %q: addresses of one kind, networks of one length"):format(from, to), 0)
        end
        for text, address in pairs { [from] = bytes, [to] = to_bytes } do
            if joined(address, ("\0"):rep(#address), len) ~= address then
                error(("rewrite: %q: bits are set behind the first %d"):format(text, len), 0)
            end
        end
        by_kind[kind] = by_kind[kind] or {}
        table.insert(by_kind[kind], { from = bytes, to = to_bytes, len = len })
    end
    local fields = {}
    for _, kind in ipairs(kinds) do
        local find = by_kind[kind] and make_finder(by_kind[kind])
        for _, name in ipairs(find and kind[4] or {}) do
            fields[#fields + 1] = { name, find }
        end
    end
    return function(pkt)
        for _, field in ipairs(fields) do
            local text = pkt[field[1]]
            local new = text and field[2](text)
            if new then
                pkt[field[1]] = new
            end
        end
    end
end

return rewrite
