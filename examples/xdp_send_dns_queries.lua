--- DNS queries with a new id and source port each, and what came back, on one AF_XDP port. Its filter takes the
--- answers; everything else on the interface goes to the host as ever.
assert(arg[4], "usage: lua5.4 xdp_send_dns_queries.lua IF DST_MAC SRC_IP SERVER [COUNT [RATE [NAME]]]")
local ringtap = require "ringtap"
local eth, ip, udp, dns = ringtap.eth, ringtap.ip, ringtap.udp, ringtap.dns

local ifname, mac, src, server, count, rate, name = table.unpack(arg, 1, 7)
local port <close> = assert(ringtap.port(ifname, { filter = "udp src port 53 and src host " .. server }))

print(assert(port.tx:blast {
    packet = eth { src = assert(ringtap.interface(ifname)).address, dst = mac } / ip { src = src, dst = server }
        / udp { dstport = 53 } / dns.query(name or "example.com", "A"),
    count = tonumber(count) or 1000000,
    rate = rate, -- nothing: as fast as it goes
    vary = { ["dns.id"] = "random", ["udp.srcport"] = { from = 1024, to = 65535 } },
}))

local codes, answers = {}, 0
for rcode in port.rx:fields("dns.flags.rcode", { idle = 0.5 }) do
    codes[rcode] = (codes[rcode] or 0) + 1
    answers = answers + 1
end
print(("%d answers, %d more for which the ring had no room"):format(answers, port.rx:stats().dropped))
for rcode, n in pairs(codes) do
    print(("  rcode %s: %d"):format(rcode, n))
end
