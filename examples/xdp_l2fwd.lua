--- What comes in at one interface goes out at the other, both ways, with the rates of each second. Both are ports on
--- one UMEM: the frame that was received is the frame that is sent.
assert(arg[2], "usage: lua5.4 xdp_l2fwd.lua IF IF [SECONDS]")
local ringtap = require "ringtap"

local a <close> = assert(ringtap.port(arg[1], { promisc = true, latency = "low", port_count = 2 }))
local b <close> = assert(ringtap.port(arg[2], { promisc = true, latency = "low", umem = a }))
local ways = {
    [a.rx] = { to = b.tx, name = arg[1] .. " > " .. arg[2], packets = 0, bytes = 0 },
    [b.rx] = { to = a.tx, name = arg[2] .. " > " .. arg[1], packets = 0, bytes = 0 },
}

local function report(seconds)
    for _, rx in ipairs { a.rx, b.rx } do
        local way, s = ways[rx], ways[rx].to:stats()
        print(("%s: %.0f packets/s, %.1f Mbit/s"):format(way.name, (s.sent - way.packets) / seconds,
            (s.bytes - way.bytes) * 8 / seconds / 1e6))
        way.packets, way.bytes = s.sent, s.bytes
    end
    io.stdout:flush()
end

print(("%s <> %s: %s and %s mode"):format(arg[1], arg[2], a.rx:mode(), b.rx:mode()))
io.stdout:flush()
local last = os.time()
local ends = last + (tonumber(arg[3]) or math.huge)
repeat
    for _, rx in ipairs(ringtap.wait({ a.rx, b.rx }, 0.2) or {}) do
        assert(ringtap.forward(rx, ways[rx].to, nil, { idle = 0, duration = 0.2 })) -- all that is there
    end
    local now = os.time()
    if now > last then
        report(now - last)
        last = now
    end
until last >= ends

for rx, way in pairs(ways) do
    local to = way.to:stats()
    print(("%s: %d received, %d dropped, %d sent, %d refused"):format(way.name, rx:stats().delivered,
        rx:stats().dropped, to.sent, to.refused))
end
