--- ringtap.probe(sender, source, {...}): numbered, stamped frames go out, and what of them comes back by the source
--- tells loss, order and the time of the round trip. The far end has to send them back (examples/reflector.lua does),
--- or be the other end of a link that is looped.

local core = require "ringtap.core"
local options = require "ringtap.send.options"
local rates = require "ringtap.send.rate"
local report = require "ringtap.send.report"

local M = {}

local known = { packet = "any", count = "count", rate = "any", timeout = "number", signals = "any" }

local STAMP = 24 -- bytes: a word that tells ours, the run, the number, the time

-- What goes out: a template, and the 1-based position of the stamp in it.
local function make_template(sender, o)
    if o.packet == nil then
        error("probe: option 'packet': a packet, builder or template whose payload has 24 bytes at least", 0)
    end
    local t = core.template(o.packet, { linktype = sender:linktype() })
    local ok, place = pcall(core._place, t, ("payload@0:%d"):format(STAMP))
    if not ok then
        error("probe: the packet's payload needs 24 bytes, for a number and a time", 0)
    end
    return t, place.position
end

local function percentile(sorted, part)
    return sorted[math.max(1, math.min(#sorted, math.ceil(#sorted * part)))]
end

local mt = { __name = "ringtap.probe" }

function mt:__tostring()
    local lines = { ("%d sent, %d received, %d lost (%.2f %%), %d reordered, %d duplicates"):format(self.sent,
        self.received, self.lost, self.sent > 0 and self.lost * 100 / self.sent or 0, self.reordered,
        self.duplicates) }
    if self.rtt then
        lines[#lines + 1] = "round trip: " .. report.percentiles(self.rtt) .. ", least " .. report.time(self.rtt.least)
        for _, line in ipairs(report.bars(self.rtt.histogram)) do
            lines[#lines + 1] = line
        end
    end
    return table.concat(lines, "\n")
end

local function summary(state)
    local r = {
        sent = state.sent, received = state.received, lost = state.sent - state.received,
        duplicates = state.duplicates, reordered = state.reordered, refused = state.refused,
    }
    local sorted = state.times
    table.sort(sorted)
    if #sorted > 0 then
        r.rtt = {
            count = #sorted, least = sorted[1], p50 = percentile(sorted, 0.5), p90 = percentile(sorted, 0.9),
            p99 = percentile(sorted, 0.99), p999 = percentile(sorted, 0.999), worst = sorted[#sorted],
            histogram = report.buckets(sorted),
        }
    end
    return setmetatable(r, mt)
end

-- One packet of the source: is it ours?
local function take(state, pkt)
    if pkt.direction == "out" then
        return
    end
    local at = pkt:find(state.mark)
    if not at or at + STAMP - 1 > #pkt then
        return
    end
    local number, time = pkt:unpack(">I4 I8", at + 12)
    if number < 1 or number > state.sent then
        return
    elseif state.seen[number] then
        state.duplicates = state.duplicates + 1
        return
    end
    state.seen[number] = true
    state.received = state.received + 1
    if number < state.highest then
        state.reordered = state.reordered + 1
    end
    state.highest = math.max(state.highest, number)
    state.times[#state.times + 1] = pkt.time - time
end

-- True: a signal came.
local function listen(state, source, seconds, signals, until_all)
    local ends = core._now() + math.floor(math.min(math.max(seconds, 0), 1e9) * 1e9)
    repeat
        for pkt in source:packets { duration = math.min(0.1, math.max(0, (ends - (core._now())) / 1e9)) } do
            take(state, pkt)
            if until_all and state.received == state.sent then
                return false
            end
        end
        if signals and signals:take() then
            return true
        end
    until (core._now()) >= ends
    return false
end

local function probe(sender, source, o)
    o = options.check("probe", o, known)
    local count, rate = o.count or 1000, rates.parse(o.rate or 1000).packets
    if not rate then
        error("probe: option 'rate' must be in packets", 0)
    end
    local template, first = make_template(sender, o)
    local state = {
        sent = 0, received = 0, duplicates = 0, reordered = 0, refused = 0, highest = 0, seen = {}, times = {},
        mark = "ringtap." .. (">I4"):pack(math.random(0, 0xffffffff)),
    }
    template:pack("c12", first, state.mark)
    local signals <close> = not o.signals and core.signals "INT" or nil
    local taken = o.signals or signals
    local begun = core._now()
    for number = 1, count do
        if listen(state, source, (begun + (number - 1) * 1e9 / rate - (core._now())) / 1e9, taken) then
            return summary(state)
        end
        template:pack(">I4 I8", first + 12, number, select(2, core._now()))
        state.sent = number
        local sent, message, errno = sender:send(template)
        if not sent then
            state.sent = number - 1
            return nil, message, errno, summary(state)
        end
    end
    listen(state, source, o.timeout or 1, taken, true)
    return summary(state)
end

function M.probe(sender, source, o)
    return options.guarded(probe, sender, source, o)
end

return M
