--- ringtap replay: send what a capture file has, with tcpreplay's flags where they mean the same.

local backend = require "ringtap.command.backend"
local command = require "ringtap.command"
local sending = require "ringtap.command.sending"

local replay = {}

local function make_parser()
    local integer = command.integer
    local parser = command.parser("replay", "Send the packets of a capture file, with the gaps that they were recorded "
        .. "with. Checksums of TCP and UDP that were left to the hardware when a packet was captured are made good.")
    parser:usage("Usage: ringtap replay -i IF [flags] FILE")
    parser:argument("file", "pcap or pcapng, also compressed.")
    parser:option("-i --intf1", "Send here."):argname("IF"):target("interface"):count(1)
    parser:mutex(
        parser:option("-x --multiplier", "N times as fast as it was recorded."):argname("N"):target("speed")
            :convert(sending.positive("multiplier")),
        parser:option("-p --pps", "At this rate: packets a second, or with a unit (250kpps, 900Mbit/s).")
            :argname("RATE"):convert(sending.rate),
        parser:option("-M --mbps", "At so many million bits a second."):argname("N")
            :convert(sending.positive("number of Mbit/s")),
        parser:flag("-t --topspeed", "As fast as it goes.")
    )
    parser:option("-l --loop", "So many times; 0 for ever."):argname("N"):convert(integer("loop count", 0))
    parser:option("-L --limit", "Stop after N packets."):argname("N"):convert(integer("packet count", 1))
    parser:option("--duration", "Stop after so many seconds."):argname("SECONDS")
        :convert(sending.positive("number of seconds"))
    parser:flag("-K --preload-pcap", "Read the whole file into memory before the first packet is sent.")
        :target("preload")
    parser:option("-f --filter", "Only these packets, in libpcap's language."):argname("EXPRESSION")
    parser:option("--rewrite", "Replace an address, or the addresses of a network: 10.0.0.1=192.0.2.1, "
        .. "10.0.0.0/8=172.16.0.0/8, 02:00:00:00:00:01=02:00:00:00:00:02."):argname("FROM=TO"):count("*")
    parser:flag("--truncated", "Send what there is of packets that were cut when they were captured, too.")
    sending.flags(parser)
    backend.send_flags(parser)
    return parser
end

--- ringtap replay ARGS
---@param args string[]
---@return integer status
function replay.run(args)
    local o = command.parse(make_parser(), args)
    sending.check(o)
    local rewrite = sending.pairs(o.rewrite, "^([^=]+)=([^=]+)$", "--rewrite FROM=TO")
    local sink <close> = sending.open(o, o.interface)
    if not sink then
        return 1
    end
    return sending.run(function(progress)
        return sink:replay(o.file, {
            speed = o.topspeed and math.huge or o.speed, rate = o.pps or o.mbps and ("%.0fbit/s"):format(o.mbps * 1e6),
            loop = o.loop, count = o.limit, duration = o.duration, preload = o.preload, filter = o.filter,
            rewrite = rewrite, truncated = o.truncated and "send" or nil, progress = progress,
        })
    end)
end

return replay
