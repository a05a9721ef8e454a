--- A capture file onto the wire, with its own timing, from other addresses; every packet's TTL is set.
assert(arg[2], "usage: lua5.4 replay.lua IF FILE [SPEED [OLD=NEW ...]]")
local ringtap = require "ringtap"

local ifname, file, speed = table.unpack(arg, 1, 3)
local rewrite = {}
for i = 4, #arg do
    local old, new = arg[i]:match "^(.+)=(.+)$"
    rewrite[assert(old, "OLD=NEW")] = new
end

local tx <close> = assert(ringtap.sender(ifname))
print(assert(tx:replay(file, {
    speed = tonumber(speed) or 1,
    rewrite = rewrite, -- addresses or networks, with the checksums that cover them
    fn = function(pkt)
        if not pkt.ip then
            return false -- not sent
        end
        pkt["ip.ttl"] = 64
        return true
    end,
})))
