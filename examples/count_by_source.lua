--- Packets and bytes by source address, of an interface for some seconds or of a file.
assert(arg[1], "usage: lua5.4 count_by_source.lua IF|FILE [SECONDS [FILTER]]")
local ringtap = require "ringtap"

local what, seconds, filter = arg[1], tonumber(arg[2]) or 10, arg[3]
local open = ringtap.interface(what) and ringtap.capture or ringtap.read
local source <close> = assert(open(what, { filter = filter }))

local packets, bytes = {}, {}
for src, src6, len in source:fields("ip.src", "ipv6.src", "frame.len", { duration = seconds }) do
    src = src or src6
    if src then
        packets[src] = (packets[src] or 0) + 1
        bytes[src] = (bytes[src] or 0) + len
    end
end

local sorted = {}
for src in pairs(packets) do
    sorted[#sorted + 1] = src
end
table.sort(sorted, function(a, b) return bytes[a] > bytes[b] or bytes[a] == bytes[b] and a < b end)
for i = 1, math.min(#sorted, 20) do
    print(("%-40s %10d packets %14d bytes"):format(sorted[i], packets[sorted[i]], bytes[sorted[i]]))
end
if source:kind() == "packet" then
    print(("dropped %d"):format(source:stats().dropped))
end
