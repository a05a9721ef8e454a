--- ringtap send: frames made of a packet, with values that change, at a rate.

local backend = require "ringtap.command.backend"
local blast = require "ringtap.send.blast"
local command = require "ringtap.command"
local ringtap = require "ringtap"
local sending = require "ringtap.command.sending"

local send = {}

local function make_parser()
    local integer = command.integer
    local parser = command.parser("send", "Send a packet, once or many times, at a rate, with fields that change from "
        .. "frame to frame; lengths and checksums are made right.")
    parser:usage("Usage: ringtap send -i IF [flags] PACKET")
    parser:argument("packet", "A builder, 'eth{dst=\"02:00:00:00:00:02\"} / ip{dst=\"192.0.2.2\"} / udp{dstport=53} / "
        .. "\"payload\"'; bytes in hex; or a capture file, whose packets are sent in turn.")
    parser:option("-i --interface", "Send here."):argname("IF"):count(1)
    parser:option("-c --count", "Send N frames; without --duration and -c each packet once."):argname("N")
        :convert(integer("frame count", 1))
    parser:option("-d --duration", "Send for so many seconds."):argname("SECONDS")
        :convert(sending.positive("number of seconds"))
    parser:option("-r --rate", "At this rate: 1000 (frames a second), 250kpps, 900Mbit/s; if not given, as fast as it "
        .. "goes."):argname("RATE"):convert(sending.rate)
    parser:option("--burst", "So many frames back to back; if not given, as few as the rate allows."):argname("N")
        :convert(integer("burst", 1, 1024))
    parser:option("-v --vary", "A field that changes: ip.src=10.0.0.0/8, udp.srcport=1024-65535, ip.ttl=1,64,255, "
        .. "ip.id=increment, tcp.seq=random, payload@0:8=counter (8 bytes from the payload's first one).")
        :argname("FIELD=HOW"):count("*")
    parser:option("--seed", "For what is random: the same seed, the same values."):argname("N")
        :convert(integer("seed", 0))
    parser:flag("-n --dry-run", "Print the packet instead of sending it.")
    sending.flags(parser)
    backend.send_flags(parser)
    parser:epilog("The names in a builder are the protocols (ringtap fields -G lists their fields); eth.src is the "
        .. "interface's address unless it is given. The report is printed on standard output; the exit status is 0 "
        .. "when no frame was refused.")
    return parser
end

-- A Lua expression in which the protocols are known, and nothing else.
local function build(text)
    local chunk, message = load("return " .. text, "=packet", "t", setmetatable({}, {
        __index = function(_, name)
            return ringtap[name]
        end,
    }))
    if not chunk then
        return nil, message
    end
    local ok, result = pcall(chunk)
    if not ok then
        return nil, result
    elseif type(result) ~= "table" and type(result) ~= "string" then
        return nil, ("packet: a builder or a string, not %s"):format(tostring(result))
    end
    return result
end

local function from_file(path)
    local source, message = ringtap.read(path)
    if not source then
        return nil, message
    end
    local list = {}
    local ok, err = pcall(function()
        for pkt in source:packets { count = 65536 } do
            list[#list + 1] = pkt:copy()
        end
    end)
    source:close()
    if not ok or #list == 0 then
        return nil, err or ("%s: there is no packet in it"):format(path)
    end
    return list
end

local function packet_of(text, o)
    local digits = text:gsub("^0[xX]", ""):gsub("[%s:]", "")
    if digits:find "^%x+$" then
        if #digits % 2 == 1 then
            return nil, ("packet: an odd number of hex digits, %d"):format(#digits)
        end
        return (digits:gsub("%x%x", function(d) return string.char(tonumber(d, 16)) end))
    end
    local file = io.open(text)
    if file then
        file:close()
        return from_file(text)
    end
    if not text:find "[{(\"']" then
        return nil, ("%s: there is no such file, and it is neither hex nor a builder as eth{} / ip{} / udp{}")
            :format(text)
    end
    local packet, message = build(text)
    if not packet then
        return nil, message
    end
    local interface = type(packet) == "table" and ringtap.interface(o.interface, o.netns)
    local ok, src = pcall(function() return packet["eth.src"] end)
    if interface and ok and src == "00:00:00:00:00:00" and interface.address then
        packet["eth.src"] = interface.address
    end
    return packet
end

--- ringtap send ARGS
---@param args string[]
---@return integer status
function send.run(args)
    local o = command.parse(make_parser(), args)
    sending.check(o)
    local vary = sending.pairs(o.vary, "^([^=]+)=(.+)$", "--vary FIELD=HOW")
    local packet, message = packet_of(o.packet, o)
    if not packet then
        command.complain("%s", message)
        return 1
    end
    if o.dry_run then
        local ok, shown = pcall(function()
            return blast.frames(packet, vary, o.seed)[1]:show()
        end)
        if not ok then
            command.complain("%s", sending.message(shown))
            return 1
        end
        io.stdout:write(shown, "\n")
        return 0
    end
    local sink <close> = sending.open(o, o.interface)
    if not sink then
        return 1
    end
    local list = type(packet) == "table" and getmetatable(packet) == nil
    local once = not o.duration and (list and #packet or 1) or nil
    return sending.run(function(progress)
        return sink:blast {
            packet = packet, count = o.count or once, duration = o.duration, rate = o.rate, burst = o.burst,
            vary = vary, seed = o.seed, progress = progress,
        }
    end)
end

return send
