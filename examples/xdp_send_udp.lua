--- Numbered UDP datagrams from many ports by AF_XDP, as fast as it goes unless a rate is given.
assert(arg[4], "usage: lua5.4 xdp_send_udp.lua IF DST_MAC SRC_IP DST_IP [COUNT [RATE]]")
local ringtap = require "ringtap"
local eth, ip, udp = ringtap.eth, ringtap.ip, ringtap.udp

local ifname, mac, src, dst, count, rate = table.unpack(arg, 1, 6)
-- a sender attaches no XDP program: what the interface receives goes to the host as ever
local tx <close> = assert(ringtap.sender(ifname, { backend = "xdp" }))

print(assert(tx:blast {
    packet = eth { src = assert(ringtap.interface(ifname)).address, dst = mac } / ip { src = src, dst = dst }
        / udp { dstport = 9 } / ("\0"):rep(22), -- 64 bytes
    count = tonumber(count) or 1000000,
    rate = rate,
    vary = {
        ["udp.srcport"] = { from = 1024, to = 65535 },
        ["payload@0:8"] = "counter",
    },
}))
