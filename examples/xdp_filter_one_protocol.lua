--- Take one IP protocol (by its number: 1 ICMP, 6 TCP, 17 UDP) away from the host, in the XDP program, and tell who
--- sends it. Everything else goes on to the host untouched: ARP, ssh and so on work as before.
assert(tonumber(arg[2]), "usage: lua5.4 xdp_filter_one_protocol.lua IF PROTOCOL [SECONDS]")
local ringtap = require "ringtap"

local ifname, protocol, seconds = arg[1], math.tointeger(tonumber(arg[2])), tonumber(arg[3])
local cap <close> = assert(ringtap.capture(ifname, {
    backend = "xdp",
    filter = ("ip proto %d or ip6 proto %d"):format(protocol, protocol),
}))
print(("%s: protocol %d is taken, %s mode"):format(ifname, protocol, cap:mode()))
io.stdout:flush()

local packets = {}
for src, src6 in cap:fields("ip.src", "ipv6.src", { duration = seconds }) do
    src = src or src6
    packets[src] = (packets[src] or 0) + 1
end

cap:drain()
local s = cap:stats()
print(("seen %d, taken %d, left to the host %d, dropped %d"):format(s.seen, s.matched, s.filtered, s.dropped))
for src, n in pairs(packets) do
    print(("  %s: %d"):format(src, n))
end
