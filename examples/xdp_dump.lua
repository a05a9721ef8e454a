--- Print packets that AF_XDP receives. Without a filter nothing is left to the host while it runs: no ARP, no ssh.
assert(arg[1], "usage: lua5.4 xdp_dump.lua IF [FILTER [COUNT [SECONDS]]]")
local ringtap = require "ringtap"

local cap <close> = assert(ringtap.capture(arg[1], {
    backend = "xdp",
    filter = arg[2] ~= "" and arg[2] or nil, -- what doesn't match goes to the host as ever
    pass = not arg[2] and "arp,icmp6,ssh" or nil, -- and without a filter at least these do
    latency = "low",
}))
print(("%s: %s mode, %s, queues %s"):format(cap:name(), cap:mode(), cap:zerocopy() and "zero copy" or "copy",
    table.concat(cap:queues(), " ")))
io.stdout:flush()

for pkt in cap:packets { count = tonumber(arg[3]), duration = tonumber(arg[4]) } do
    print(pkt)
end

cap:drain()
local s = cap:stats()
print(("seen %d, left to the host %d, delivered %d, dropped %d"):format(s.seen, s.filtered, s.delivered, s.dropped))
for _, cause in ipairs { "rx_ring_full", "fill_ring_empty", "rx_dropped", "redirect_failed" } do
    if s[cause] > 0 then
        print(("  %s: %d"):format(cause, s[cause]))
    end
end
