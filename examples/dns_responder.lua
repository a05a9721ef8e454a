--- Answers every query for an A record with one address; for a name server that isn't there.
assert(arg[2], "usage: lua5.4 dns_responder.lua IF ADDRESS [SECONDS]")
local ringtap = require "ringtap"
local eth, ip, udp, dns = ringtap.eth, ringtap.ip, ringtap.udp, ringtap.dns

local ifname, address, seconds = arg[1], arg[2], tonumber(arg[3])
local rx <close> = assert(ringtap.capture(ifname, { filter = "udp dst port 53", direction = "in" }))
local tx <close> = assert(ringtap.sender(ifname))

local function answer(pkt)
    local name = pkt["dns.qry.name"]
    if not name or pkt["dns.flags.response"] or pkt["dns.qry.type"] ~= 1 then
        return false
    end
    return eth { src = pkt["eth.dst"], dst = pkt["eth.src"] }
        / ip { src = pkt["ip.dst"], dst = pkt["ip.src"] }
        / udp { srcport = 53, dstport = pkt["udp.srcport"] }
        / dns {
            id = pkt["dns.id"],
            flags = { response = true, recdesired = pkt["dns.flags.recdesired"], recavail = true },
            queries = { { name = name, type = "A" } },
            answers = { { name = name, type = "A", ttl = 60, a = address } },
        }
end

local n = assert(ringtap.forward(rx, tx, answer, { duration = seconds }))
print(("%d answers, %d queries lost in the ring"):format(n, rx:stats().dropped))
