--- sink:replay(source, {...}): what a source gives, with the times that it has. The loop is C; what is here reads the
--- options, begins again for `loop`, and changes packets.

local core = require "ringtap.core"
local options = require "ringtap.send.options"
local rate = require "ringtap.send.rate"
local report = require "ringtap.send.report"
local rewrite = require "ringtap.send.rewrite"

local M = {}

local known = {
    speed = "positive", rate = "any", loop = "count", count = "count", duration = "number", fn = "function",
    rewrite = "table", filter = "any", preload = "boolean", truncated = "any", patience = "number",
    progress = "function", every = "positive", signals = "any",
}

-- All packets of a source, in memory.
local function preload(source)
    local list = {}
    for bytes, time, len in source:bytes() do
        list[#list + 1] = { bytes, time = time or 0, len = len }
    end
    return assert(core.memory(list, { linktype = source:linktype() }))
end

local function open(what, o)
    if what == nil then
        error("replay: a source or a path", 0)
    elseif type(what) ~= "string" then
        if o.filter ~= nil then
            error("replay: option 'filter' goes with a path: a source has its own", 0)
        end
        return what
    end
    return core.read(what, { filter = o.filter })
end

local function hook(o)
    local change = o.rewrite and rewrite.compile(o.rewrite)
    if not change then
        return o.fn
    end
    return function(pkt)
        change(pkt)
        if o.fn then
            return o.fn(pkt)
        end
        return true
    end
end

local function spec_of(o, live)
    local speed = o.rate ~= nil and rate.parse(o.rate) or {}
    if o.rate ~= nil and o.speed ~= nil then
        error("replay: rate or speed, not both", 0)
    elseif o.truncated ~= nil and o.truncated ~= "send" and o.truncated ~= "refuse" then
        error('replay: option \'truncated\' must be "send" or "refuse"', 0)
    end
    return {
        speed = o.speed == math.huge and 0 or o.rate and 0 or o.speed or live and 1 or 0,
        packet_interval = speed.packets and 1e9 / speed.packets,
        bit_interval = speed.bits and 1e9 / speed.bits,
        count = o.count,
        duration = options.nanoseconds(o.duration),
        patience = options.nanoseconds(o.patience),
        progress = o.progress,
        every = o.progress and options.nanoseconds(o.every or 1),
        send_cut = o.truncated == "send",
        signals = o.signals,
    }
end

local function replay(sink, what, o)
    o = options.check("replay", o, known)
    local live = sink:stats().method ~= nil
    local spec = spec_of(o, live)
    local fn = hook(o)
    local loops = o.loop == 0 and math.maxinteger or o.loop or 1
    local taken <close> = not spec.signals and core.signals "INT" or nil
    spec.signals = spec.signals or taken
    local source, message, errno = open(what, o)
    if not source then
        return nil, message, errno
    end
    local opened <close> = type(what) == "string" and source or nil
    local loaded <close> = o.preload and preload(source) or nil
    source = loaded or opened or source
    local first = source
    local run
    run, message, errno = core._replay(sink, spec)
    if not run then
        return nil, message, errno
    end
    local why
    for round = 1, loops do
        local again <close> = source ~= first and source or nil
        local before = run:read()
        why, message, errno = run:pass(again or source, fn)
        if why ~= "end" or round == loops or run:read() == before then -- a source without packets is not read for ever
            break
        end
        source, message, errno = core._again(source)
        if not source then
            why = nil
            break
        end
    end
    local result = run:finish()
    result.reason = why or "failed"
    local r = report.new(result, { rate = o.rate, speed = o.speed, loop = o.loop })
    if not message and result.errno then
        message, errno, r.reason = result.message, result.errno, live and "stuck" or "failed"
    end
    if message then
        r.message = message
        return nil, message, errno, r
    end
    return r
end

function M.replay(sink, what, o)
    return options.guarded(replay, sink, what, o)
end

return M
