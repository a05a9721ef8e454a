--- sink:blast{...}: the send loop. What people write becomes what core._blast takes; the loop itself is C.

local core = require "ringtap.core"
local options = require "ringtap.send.options"
local rate = require "ringtap.send.rate"
local report = require "ringtap.send.report"
local vary = require "ringtap.send.vary"

local M = {}

local known = {
    packet = "any", count = "count", duration = "number", rate = "any", burst = "count", vary = "table",
    patience = "number", progress = "function", every = "positive", signals = "any", seed = "count",
}

local function is_list(v)
    return type(v) == "table" and getmetatable(v) == nil
end

-- Copies, which nobody else changes.
local function templates_of(packet, linktype)
    local list = {}
    if packet == nil or is_list(packet) and #packet == 0 then
        error("blast: option 'packet' must be a packet, bytes, a builder or a template, or a list of them", 0)
    end
    for i, one in ipairs(is_list(packet) and packet or { packet }) do
        if type(one) == "number" then
            error(("blast: packet: bytes, a packet, a builder or a template, not %s"):format(tostring(one)), 0)
        end
        list[i] = core.template(one, { linktype = linktype })
    end
    return list
end

-- A sorted list, so that the same options make the same frames.
local function varies_of(map, templates, seed)
    local names, list = {}, {}
    for name in pairs(map) do
        if type(name) ~= "string" then
            error("vary: a table from names of fields to values", 0)
        end
        names[#names + 1] = name
    end
    table.sort(names)
    for i, name in ipairs(names) do
        local whole
        list[i], whole = vary.compile(name, map[name], templates, seed + i)
        for _, t in ipairs(whole and templates or {}) do
            if core._place(t, name) then
                t[name] = whole
            end
        end
    end
    return list
end

local function frames(packet, map, seed, linktype)
    local templates = templates_of(packet, linktype)
    return templates, varies_of(map or {}, templates, seed or os.time())
end

local function blast(sink, o)
    o = options.check("blast", o, known)
    local templates, varies = frames(o.packet, o.vary, o.seed, sink:linktype())
    local asked = { rate = o.rate, count = o.count, duration = o.duration }
    local speed = o.rate ~= nil and rate.parse(o.rate) or {}
    local signals <close> = not o.signals and assert(core.signals "INT") or nil
    if o.burst and (o.burst < 1 or o.burst > 1024) then
        error("blast: option 'burst' must be from 1 to 1024", 0)
    end
    local result, message, errno = core._blast(sink, {
        templates = templates,
        varies = varies,
        count = o.count,
        duration = options.nanoseconds(o.duration),
        patience = options.nanoseconds(o.patience),
        packet_interval = speed.packets and 1e9 / speed.packets,
        bit_interval = speed.bits and 1e9 / speed.bits,
        burst = o.burst,
        progress = o.progress,
        every = o.progress and options.nanoseconds(o.every or 1),
        signals = o.signals or signals,
    })
    if not result then
        return nil, message, errno
    end
    if signals and signals:take() then -- it came when the last frame was out
        result.reason = "interrupted"
    end
    local r = report.new(result, asked)
    if r.message then
        return nil, r.message, r.errno, r
    end
    return r
end

--- What a blast makes its frames of; raises on what it would raise on.
---@param packet any
---@param map? table<string, any> option `vary`
---@param seed? integer
---@param linktype? integer of bytes
---@return table[] templates, table[] varies
function M.frames(packet, map, seed, linktype)
    return options.guarded(frames, packet, map, seed, linktype)
end

function M.blast(sink, o)
    return options.guarded(blast, sink, o)
end

return M
