--- ringtap forward: pass packets from one interface to another, or both ways.

local command = require "ringtap.command"
local core = require "ringtap.core"
local intake = require "ringtap.command.intake"
local report = require "ringtap.send.report"
local ringtap = require "ringtap"
local sending = require "ringtap.command.sending"

local forward = {}

local ETHERNET = 1

local function make_parser()
    local parser = command.parser("forward", "Pass packets that come in at one interface on to another. What this host "
        .. "sends itself is never passed on, so that no packet goes round in circles.")
    parser:usage("Usage: ringtap forward -i IF -o IF [flags] [filter ...]")
    parser:argument("filter", "Which packets, in libpcap's language (man pcap-filter); all if none."):args("*")
    parser:option("-i --interface", "From here."):argname("IF"):count(1)
    parser:option("-o --output", "To here."):argname("IF"):count(1)
    parser:flag("-b --both", "And from there to here: a bridge.")
    parser:option("-c --count", "Stop after N packets."):argname("N"):convert(command.integer("packet count", 1))
    parser:option("-d --duration", "Stop after so many seconds."):argname("SECONDS")
        :convert(sending.positive("number of seconds"))
    parser:flag("-p --no-promiscuous-mode", "Not in promiscuous mode."):target("not_promisc")
    sending.flags(parser)
    return parser
end

-- One direction: {source, sink, passed}; nil and why not.
local function open_way(o, from, to)
    local device = ringtap.interface(from, o.netns)
    local source, message = ringtap.capture(from, {
        netns = o.netns, filter = #o.filter > 0 and table.concat(o.filter, " ") or nil, direction = "in",
        promisc = not o.not_promisc, latency = "low", offload = device and device.hatype == ETHERNET or nil,
    })
    if not source then
        return nil, message
    end
    local sink
    sink, message = ringtap.sender(to, { netns = o.netns, method = o.method, qdisc_bypass = o.qdisc_bypass })
    if not sink then
        source:close()
        return nil, message
    end
    return { source = source, sink = sink, passed = 0 }
end

local function close_all(ways)
    for _, way in ipairs(ways) do
        way.source:close()
        way.sink:close()
    end
end

local function print_counters(way)
    local from, to = way.source:stats(), way.sink:stats()
    intake.say("%s > %s: %d packets received, %d sent%s, %d dropped by kernel", way.source:name(), way.sink:name(),
        from.delivered, to.sent, to.refused > 0 and (", %d refused (%s)"):format(to.refused, report.causes(to.causes))
        or "", from.dropped)
end

-- What is ready is passed on until a signal, the count or the time ends it.
local function pass_on(o, ways, signals)
    local sources, by_source, left = {}, {}, o.count or math.maxinteger
    for i, way in ipairs(ways) do
        sources[i], by_source[way.source] = way.source, way
    end
    local until_ = o.duration and core._now() + math.floor(o.duration * 1e9)
    while left > 0 and not signals:take() do
        local time = until_ and (until_ - (core._now())) / 1e9
        if time and time <= 0 then
            break
        end
        for _, source in ipairs(ringtap.wait(sources, math.min(time or 0.2, 0.2)) or {}) do
            local way = by_source[source]
            local n, why = ringtap.forward(source, way.sink, nil, { idle = 0, count = left, duration = time })
            if not n then
                return why
            end
            left = left - n
        end
    end
end

--- ringtap forward ARGS
---@param args string[]
---@return integer status
function forward.run(args)
    local o = command.parse(make_parser(), args)
    if o.interface == "any" or o.output == "any" then
        command.usage_error("'any' is not one interface")
    elseif o.interface == o.output then
        command.usage_error("-i and -o are the same interface")
    end
    local signals <close> = assert(ringtap.signals("INT", "TERM"))
    local ways, message = {}
    ways[1], message = open_way(o, o.interface, o.output)
    if ways[1] and o.both then
        ways[2], message = open_way(o, o.output, o.interface)
    end
    if not ways[1] or o.both and not ways[2] then
        close_all(ways)
        command.complain("%s", message)
        return 1
    end
    intake.say("forwarding %s %s %s", o.interface, o.both and "<>" or ">", o.output)
    local ok, failed = pcall(pass_on, o, ways, signals)
    for _, way in ipairs(ways) do
        print_counters(way)
    end
    close_all(ways)
    if failed then
        command.complain("%s", (tostring(failed):gsub("^[^\n]-ringtap/command/forward%.lua:%d+: ", "")))
    end
    return ok and not failed and 0 or 1
end

return forward
