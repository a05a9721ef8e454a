--- Answers for a host that isn't there: ARP, ICMP echo, and every UDP datagram, which comes back to its sender.
assert(arg[2], "usage: lua5.4 reflector.lua IF ADDRESS [SECONDS]")
local ringtap = require "ringtap"

local ifname, address, seconds = arg[1], arg[2], tonumber(arg[3])
local mac = assert(ringtap.interface(ifname)).address
local rx <close> = assert(ringtap.capture(ifname, {
    filter = "arp or dst host " .. address, direction = "in", latency = "low",
}))
local tx <close> = assert(ringtap.sender(ifname))

local function swap(t, a, b)
    t[a], t[b] = t[b], t[a]
end

local function answer(pkt)
    local t = ringtap.template(pkt)
    t["eth.dst"], t["eth.src"] = pkt["eth.src"], mac
    if pkt.arp and pkt["arp.opcode"] == 1 and pkt["arp.dst.proto_ipv4"] == address then
        t["arp.opcode"] = 2
        t["arp.dst.hw_mac"], t["arp.dst.proto_ipv4"] = pkt["arp.src.hw_mac"], pkt["arp.src.proto_ipv4"]
        t["arp.src.hw_mac"], t["arp.src.proto_ipv4"] = mac, address
    elseif pkt["icmp.type"] == 8 then
        swap(t, "ip.src", "ip.dst")
        t["icmp.type"] = 0
    elseif pkt["ip.proto"] == 17 and pkt["ip.dst"] == address then
        swap(t, "ip.src", "ip.dst")
        swap(t, "udp.srcport", "udp.dstport")
    else
        return false
    end
    return t
end

local n = assert(ringtap.forward(rx, tx, answer, { duration = seconds }))
print(n .. " answers")
