--- DNS queries with a new id and source port each, and what came back.
assert(arg[4], "usage: lua5.4 send_dns_queries.lua IF DST_MAC SRC_IP SERVER [RATE [COUNT [NAME...]]]")
local ringtap = require "ringtap"
local eth, ip, udp, dns = ringtap.eth, ringtap.ip, ringtap.udp, ringtap.dns

local ifname, mac, src, server, rate, count = table.unpack(arg, 1, 6)
local names = { table.unpack(arg, 7) }
if #names == 0 then
    names = { "example.com", "www.example.com", "example.net", "example.org" }
end

local queries = {} -- a packet for each name; they are sent in turn
for i, name in ipairs(names) do
    queries[i] = eth { src = assert(ringtap.interface(ifname)).address, dst = mac } / ip { src = src, dst = server }
        / udp { dstport = 53 } / dns.query(name, "A")
end

local rx <close> = assert(ringtap.capture(ifname, { filter = "udp src port 53 and host " .. server, direction = "in" }))
local tx <close> = assert(ringtap.sender(ifname))

print(assert(tx:blast {
    packet = queries,
    rate = rate or "1kpps",
    count = tonumber(count) or 1000,
    vary = { ["dns.id"] = "random", ["udp.srcport"] = { from = 1024, to = 65535 } },
}))

local codes, answers = {}, 0
for rcode in rx:fields("dns.flags.rcode", { idle = 0.5 }) do
    codes[rcode] = (codes[rcode] or 0) + 1
    answers = answers + 1
end
print(("%d answers, %d lost in the ring"):format(answers, rx:stats().dropped))
for rcode, n in pairs(codes) do
    print(("  rcode %s: %d"):format(rcode, n))
end
