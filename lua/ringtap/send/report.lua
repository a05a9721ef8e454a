--- What a send loop tells when it is over.

local rate = require "ringtap.send.rate"

local report = {}

local mt = { __name = "ringtap.report" }

--- Nanoseconds as people read them.
---@param ns integer
---@return string
function report.time(ns)
    if ns >= 1000000000 then
        return ("%.3g s"):format(ns / 1e9)
    elseif ns >= 1000000 then
        return ("%.3g ms"):format(ns / 1e6)
    end
    return ("%.3g us"):format(ns / 1e3)
end

--- Lines of a histogram: buckets of powers of two, joined from finer ones.
---@param buckets {from: integer, to: integer, count: integer}[]
---@param width? integer
---@return string[]
function report.bars(buckets, width)
    local rows, most, lowest = {}, 0, nil
    for _, b in ipairs(buckets) do
        local limit = 1000 -- the first row: below a microsecond
        while b.to > limit do
            limit = limit * 2
        end
        rows[limit] = (rows[limit] or 0) + b.count
        lowest = math.min(lowest or limit, limit)
        most = math.max(most, limit)
    end
    local lines, peak = {}, 1
    for _, n in pairs(rows) do
        peak = math.max(peak, n)
    end
    local limit = lowest or 1
    while limit <= most do
        local n = rows[limit] or 0
        local bar = ("#"):rep(math.ceil(n * (width or 40) / peak))
        lines[#lines + 1] = ("  < %-8s %9d %s"):format(report.time(limit), n, bar)
        limit = limit * 2
    end
    return lines
end

--- Buckets of a list of nanoseconds, as the C makes them.
---@param sorted integer[]
---@return {from: integer, to: integer, count: integer}[]
function report.buckets(sorted)
    local list = {}
    for _, v in ipairs(sorted) do
        local from = v < 16 and math.max(v, 0) or v >> 4 << 4
        local last = list[#list]
        if last and last.from == from then
            last.count = last.count + 1
        else
            list[#list + 1] = { from = from, to = from + 16, count = 1 }
        end
    end
    return list
end

--- "full 3, no_buffer 12", or nil
function report.causes(t)
    local names = {}
    for name in pairs(t) do
        names[#names + 1] = name
    end
    table.sort(names)
    for i, name in ipairs(names) do
        names[i] = ("%s %d"):format(name, t[name])
    end
    return names[1] and table.concat(names, ", ")
end

--- Percentiles in a line.
function report.percentiles(h)
    return ("median %s, 90 %% %s, 99 %% %s, worst %s"):format(report.time(h.p50), report.time(h.p90),
        report.time(h.p99), report.time(h.worst))
end

function mt:__tostring()
    local lines = {
        ("%d frames in %.3f s: %s, %s%s (%s)"):format(self.packets, self.seconds, rate.text(self.rate, "pps"),
            rate.text(self.bits, "bit/s"), self.asked.rate and ", asked " .. tostring(self.asked.rate) or "",
            self.method),
    }
    if self.refused > 0 then
        lines[#lines + 1] = ("refused %d: %s%s"):format(self.refused, report.causes(self.causes),
            self.last and not self.message and (" (%s)"):format(self.last) or "")
    end
    local waits = report.causes(self.waits)
    if waits then
        lines[#lines + 1] = "had to wait: " .. waits
    end
    if self.late and self.late.count > 0 then
        lines[#lines + 1] = "late: " .. report.percentiles(self.late)
    end
    if self.reason ~= "count" and self.reason ~= "duration" and self.reason ~= "end" then
        lines[#lines + 1] = ("ended: %s%s"):format(self.reason, self.message and ", " .. self.message or "")
    end
    return table.concat(lines, "\n")
end

--- The counts of core._blast, or of a replay, made complete.
---@param r table
---@param asked table
---@return ringtap.report
function report.new(r, asked)
    r.asked = asked
    r.refused = 0
    for _, n in pairs(r.causes) do
        r.refused = r.refused + n
    end
    r.rate = r.seconds > 0 and r.packets / r.seconds or 0
    r.bits = r.seconds > 0 and r.bytes * 8 / r.seconds or 0
    if r.late and r.late.count == 0 then
        r.late = nil
    end
    return setmetatable(r, mt)
end

return report
