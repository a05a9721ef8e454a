--- Every frame that comes in goes out again where it came from, with our MAC address as its source. It stays where it
--- was received: twelve bytes of it are written over, nothing is copied.
assert(arg[1], "usage: lua5.4 xdp_rebroadcast.lua IF [SECONDS [FILTER]]")
local ringtap = require "ringtap"

local ifname, seconds, filter = arg[1], tonumber(arg[2]), arg[3]
local address = assert(ringtap.interface(ifname)).address
local mac = address:gsub("(%x%x):?", function(digits) return string.char(tonumber(digits, 16)) end)

local port <close> = assert(ringtap.port(ifname, { filter = filter, latency = "low" }))
print(("%s: %s mode, source %s"):format(ifname, port.rx:mode(), address))
io.stdout:flush()

local sent, full = 0, 0
for pkt in port.rx:packets { duration = seconds } do
    if port.tx:forward(pkt, pkt:sub(1, 6) .. mac) then -- destination, source
        sent = sent + 1
    else
        full = full + 1
    end
end
port.tx:drain()
print(("%d sent again, %d not, %d lost before"):format(sent, full, port.rx:stats().dropped))
