--- Capture into files of a size, of which the last ones are kept.
assert(arg[2], "usage: lua5.4 rotate_capture.lua IF FILE.pcapng [BYTES [FILES [SECONDS [FILTER]]]]")
local ringtap = require "ringtap"

local ifname, path, size, files, seconds, filter = table.unpack(arg, 1, 6)
local cap <close> = assert(ringtap.capture(ifname, { filter = filter, promisc = true }))
local out = assert(ringtap.write(path, {
    source = cap, -- its interface and its counters are in the files
    rotate_size = tonumber(size) or 100000000,
    rotate_count = tonumber(files) or 10,
}))

local signals <close> = assert(ringtap.signals("INT", "TERM")) -- Ctrl-C ends it with every packet written
local n, why = assert(ringtap.forward(cap, out, nil, { duration = tonumber(seconds), signals = signals }))
local s = cap:stats()
assert(out:close())
print(("%d packets in %s (%s), %d dropped"):format(n, path, why, s.dropped))
