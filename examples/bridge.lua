--- A bridge of two interfaces: what comes in at one goes out at the other.
assert(arg[2], "usage: lua5.4 bridge.lua IF IF [SECONDS]")
local ringtap = require "ringtap"

local function open(ifname)
    return assert(ringtap.capture(ifname, {
        promisc = true,
        direction = "in",  -- not what we send ourselves
        offload = true,    -- segments that the kernel has joined are sent on as they are
        latency = "low",
    })), assert(ringtap.sender(ifname))
end

local rx_a, tx_a = open(arg[1])
local rx_b, tx_b = open(arg[2])
local to = { [rx_a] = tx_b, [rx_b] = tx_a }
local ends = os.time() + (tonumber(arg[3]) or math.huge)

while os.time() < ends do
    for _, rx in ipairs(ringtap.wait({ rx_a, rx_b }, 0.5) or {}) do
        assert(ringtap.forward(rx, to[rx], nil, { idle = 0, duration = 1 })) -- all that is there
    end
end
for _, tx in ipairs { tx_a, tx_b } do
    print(("%s: %d sent, %d refused"):format(tx:name(), tx:stats().sent, tx:stats().refused))
end
