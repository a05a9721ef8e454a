--- ringtap forward: pass packets from one interface to another, or both ways. With AF_XDP both are on one UMEM, so that
--- nothing is copied.

local backend = require "ringtap.command.backend"
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
    backend.receive_flags(parser)
    return parser
end

local function filter_of(o)
    return #o.filter > 0 and table.concat(o.filter, " ") or nil
end

-- One direction: {source, sink}; nil and why not.
local function open_way(o, from, to)
    local device = ringtap.interface(from, o.netns)
    local source, message = ringtap.capture(from, {
        netns = o.netns, filter = filter_of(o), direction = "in",
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
    return { source = source, sink = sink }
end

-- The same by AF_XDP, all directions: a list of them, or nil and why not. The interface with more queues is opened
-- first, for the UMEM that both have is as large as two of the first one need.
local function open_xdp(o)
    local first, second = o.interface, o.output
    if o.both and backend.queue_count(second, o.netns) > backend.queue_count(first, o.netns) then
        first, second = second, first
    end
    local function options(more)
        more.netns = o.netns
        return backend.options(o, more)
    end
    local function receiving(more)
        more.filter, more.promisc, more.latency = filter_of(o), not o.not_promisc, "low"
        return options(more)
    end
    local a, message = ringtap.port(first, receiving { port_count = 2 })
    if not a then
        return nil, message
    end
    if not o.both then
        local sink
        sink, message = ringtap.sender(second, { backend = "xdp", netns = o.netns, umem = a })
        if not sink then
            a:close()
            return nil, message
        end
        return { { source = a.rx, sink = sink } }
    end
    local b
    b, message = ringtap.port(second, receiving { umem = a })
    if not b then
        a:close()
        return nil, message
    end
    local ways = { { source = a.rx, sink = b.tx }, { source = b.rx, sink = a.tx } }
    if first ~= o.interface then
        ways[1], ways[2] = ways[2], ways[1]
    end
    return ways
end

-- A list of directions; nil and why not.
local function open_packet(o)
    local way, message = open_way(o, o.interface, o.output)
    if not way or not o.both then
        return way and { way }, message
    end
    local back
    back, message = open_way(o, o.output, o.interface)
    if not back then
        way.source:close()
        way.sink:close()
        return nil, message
    end
    return { way, back }
end

local function announce(o, ways)
    local text = {}
    for i, way in ipairs(ways) do
        text[i] = backend.describe(way.source)
    end
    intake.say("forwarding %s %s %s%s", o.interface, o.both and "<>" or ">", o.output,
        #text > 0 and (", backend xdp (%s)"):format(table.concat(text, "; ")) or "")
    local names = o.both and o.interface .. " and " .. o.output or o.interface
    local warning = backend.warning(o, filter_of(o), names)
    if warning then
        intake.say("%s", warning)
    end
end

local function close_all(ways)
    for _, way in ipairs(ways) do
        way.source:close()
        way.sink:close()
    end
end

local function print_counters(way)
    local from, to = way.source:stats(), way.sink:stats()
    intake.say("%s > %s: %d packets received, %d sent%s, %d dropped by kernel%s", way.source:name(), way.sink:name(),
        from.delivered, to.sent, to.refused > 0 and (", %d refused (%s)"):format(to.refused, report.causes(to.causes))
        or "", from.dropped, intake.causes(from))
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
    sending.check(o)
    local signals <close> = assert(ringtap.signals("INT", "TERM"))
    local ways, message = (o.backend == "xdp" and open_xdp or open_packet)(o)
    if not ways then
        command.complain("%s", message)
        return 1
    end
    announce(o, ways)
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
