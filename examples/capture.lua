-- capture.lua [interface [filter [count]]]: print packets, then the counters.
local ringtap = require "ringtap"

local cap <close> = assert(ringtap.capture(arg[1] or "lo", { filter = arg[2] }))
for pkt in cap:packets { count = tonumber(arg[3]), idle = 5 } do
    print(pkt)
end
local s = cap:stats()
print(("delivered %d, dropped %d"):format(s.delivered, s.dropped))
