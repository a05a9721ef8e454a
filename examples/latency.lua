--- Round trips to a host that sends UDP back (reflector.lua does): loss, order, and a histogram of the times.
assert(arg[4], "usage: lua5.4 latency.lua IF DST_MAC SRC_IP DST_IP [RATE [COUNT]]")
local ringtap = require "ringtap"
local eth, ip, udp = ringtap.eth, ringtap.ip, ringtap.udp

local ifname, mac, src, dst, rate, count = table.unpack(arg, 1, 6)
local tx <close> = assert(ringtap.sender(ifname))
local rx <close> = assert(ringtap.capture(ifname, { filter = "udp and src host " .. dst, direction = "in" }))

print(assert(ringtap.probe(tx, rx, {
    packet = eth { src = assert(ringtap.interface(ifname)).address, dst = mac } / ip { src = src, dst = dst }
        / udp { srcport = 7, dstport = 7 } / ("\0"):rep(24),
    rate = tonumber(rate) or 1000,
    count = tonumber(count) or 1000,
})))
