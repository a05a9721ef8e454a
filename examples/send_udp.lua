--- Numbered UDP datagrams from many ports, at a rate.
assert(arg[4], "usage: lua5.4 send_udp.lua IF DST_MAC SRC_IP DST_IP [RATE [COUNT]]")
local ringtap = require "ringtap"
local eth, ip, udp = ringtap.eth, ringtap.ip, ringtap.udp

local ifname, mac, src, dst, rate, count = table.unpack(arg, 1, 6)
local tx <close> = assert(ringtap.sender(ifname))

print(assert(tx:blast {
    packet = eth { src = assert(ringtap.interface(ifname)).address, dst = mac } / ip { src = src, dst = dst }
        / udp { dstport = 9 } / ("\0"):rep(26),
    rate = rate or "10kpps",
    count = tonumber(count) or 100000,
    vary = {
        ["udp.srcport"] = { from = 1024, to = 65535 },
        ["ip.id"] = "increment",
        ["payload@0:8"] = "counter", -- the first eight bytes
    },
}))
