--- Who has which address: tells new hosts, and addresses that move from one MAC to another.
assert(arg[1], "usage: lua5.4 arp_watch.lua IF [SECONDS]")
local ringtap = require "ringtap"

local cap <close> = assert(ringtap.capture(arg[1], { filter = "arp", latency = "low" }))
local known = {}

for time, mac, address in cap:fields("frame.time_epoch", "arp.src.hw_mac", "arp.src.proto_ipv4",
    { duration = tonumber(arg[2]) }) do
    if address and address ~= "0.0.0.0" and known[address] ~= mac then
        print(("%s %-15s is at %s%s"):format(os.date("%H:%M:%S", math.floor(time)), address, mac,
            known[address] and ", was at " .. known[address] or ""))
        io.stdout:flush()
        known[address] = mac
    end
end
