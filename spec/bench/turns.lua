-- What the benches share: contestants that take turns, and the table of what they reached.
--
-- Only ratios within a round mean something: the machine's speed drifts.
local live = require "support.live"
local sending = require "support.sending"
local support = require "support"

local turns = {}

--- name=value words of a command line.
---@return table<string, string>
function turns.options(words)
    local options = {}
    for _, word in ipairs(words) do
        local name, v = word:match "^(%w+)=(.*)$"
        options[name or word] = v
    end
    return options
end

--- Datagrams that the receiving UDP has taken for good ones: its socket is full, so each counts as one without room.
---@return integer accepted, integer bad
function turns.accepted(ns)
    local names, values = ns:must("b", "cat /proc/net/snmp"):match "Udp: (%a[^\n]*)\nUdp: ([^\n]*)"
    local at, counts = {}, {}
    for name in names:gmatch "%S+" do
        at[#at + 1] = name
    end
    for v in values:gmatch "%S+" do
        counts[at[#counts + 1] or ""], counts[#counts + 1] = tonumber(v), true
    end
    return counts.RcvbufErrors, counts.InCsumErrors
end

--- Before anything is measured: c sends n frames, which all arrive and are all accepted; each(bytes, i) looks at one.
---@param c {name: string, command: string, each: integer?} %d in the command: how many (of `each` frames)
function turns.prove(ns, c, n, each)
    local before, bad_before = turns.accepted(ns)
    local process, path = sending.tcpdump(ns, "udp")
    support.must(ns:exec("a", "sh -c " .. support.quote("taskset -c 1 " .. c.command:format(n // (c.each or 1))
        .. " >&2")))
    local captured = sending.stop_tcpdump(process)
    assert(captured == n, ("%s: %d of %d frames arrived"):format(c.name, captured, n))
    local after, bad_after = turns.accepted(ns)
    assert(after - before == n and bad_after == bad_before,
        ("%s: %d of %d accepted, %d bad checksums"):format(c.name, after - before, n, bad_after - bad_before))
    local i = 0
    sending.each_in_pcap(path, function(bytes)
        i = i + 1
        each(bytes, i)
    end)
    os.remove(path)
end

--- It sends for twice as long and a bit, and ends by itself: the workers of trafgen outlive what ends it. What the
--- peer's interface counts in the middle is the rate.
--- by_cpu: seconds of the processor that the process had, not of the clock, so that what else runs does not count. The
--- kernel's work for a frame, up to the receiving socket, is done in that time.
---@return number packets a second
function turns.rate(ns, c, seconds, by_cpu)
    local count = math.floor((c.rate or 1000000) * 2 * seconds)
    local process = support.spawn(ns:exec("a", "taskset -c 1 " .. c.command:format(count // (c.each or 1))))
    local first = sending.received(ns)
    support.wait_for(function() return sending.received(ns) > first + 1000 end, 5)
    support.sleep(0.2 * seconds)
    local function clock()
        if not by_cpu then
            return live.clock()
        end
        return assert(support.read_file(("/proc/%d/schedstat"):format(process.pid))):match "^%d+" / 1e9
    end
    local t0, n0 = clock(), sending.received(ns)
    support.sleep(seconds)
    local t1, n1 = clock(), sending.received(ns)
    support.wait(process, 30)
    c.rate = (n1 - n0) / (t1 - t0)
    return c.rate
end

--- Median and quartiles.
---@return number, number, number
function turns.quartiles(list)
    table.sort(list)
    local function at(part)
        return list[math.max(1, math.ceil(#list * part))]
    end
    return at(0.5), at(0.25), at(0.75)
end

--- All of them in turn, `rounds` times; measure(c) gives a number. Ratios are to those that are called rivals.
---@param list {name: string, rival: boolean?}[]
---@param o {rounds: integer, unit: string, scale: number?, title: string}
function turns.run(list, o, measure)
    local got = {}
    for _, c in ipairs(list) do
        got[c.name] = {}
    end
    for _ = 1, o.rounds do
        for _, c in ipairs(list) do
            table.insert(got[c.name], measure(c))
        end
    end
    local result = { title = o.title, unit = o.unit, rounds = o.rounds, rows = {} }
    for _, c in ipairs(list) do
        local row = { name = c.name, ratios = {} }
        row[o.unit] = turns.quartiles({ table.unpack(got[c.name]) }) * (o.scale or 1)
        for _, rival in ipairs(list) do
            if rival.rival and rival ~= c then
                local ratios = {}
                for i = 1, o.rounds do
                    ratios[i] = got[c.name][i] / got[rival.name][i]
                end
                local median, low, high = turns.quartiles(ratios)
                row.ratios[#row.ratios + 1] = { peer = rival.name, median = median, low = low, high = high }
            end
        end
        result.rows[#result.rows + 1] = row
    end
    return result
end

local function print_result(result)
    print(("%s (%d rounds; ratio within a round: median, quartiles)"):format(result.title, result.rounds))
    for _, row in ipairs(result.rows) do
        local parts = {}
        for _, r in ipairs(row.ratios) do
            parts[#parts + 1] = ("%s %.2f (%.2f-%.2f)"):format(r.peer, r.median, r.low, r.high)
        end
        print(("  %-28s %7.0f %s%s"):format(row.name, row[result.unit], result.unit,
            #parts > 0 and "   x " .. table.concat(parts, ", ") or ""))
    end
end

local function json(v)
    if type(v) == "table" then
        local parts = {}
        if #v > 0 then
            for i, one in ipairs(v) do
                parts[i] = json(one)
            end
            return "[" .. table.concat(parts, ",") .. "]"
        end
        for name, one in pairs(v) do
            parts[#parts + 1] = ("%q:%s"):format(name, json(one))
        end
        table.sort(parts)
        return "{" .. table.concat(parts, ",") .. "}"
    end
    return type(v) == "number" and ("%.4f"):format(v) or ("%q"):format(v)
end

--- f in a bench: root is needed, and everything is undone at the end. What it gives to show(result) is printed.
---@param options table<string, string>
---@param f fun(show: fun(result: table))
function turns.bench(options, f)
    if not support.is_root() then
        io.stderr:write("bench: needs root (network namespaces, packet sockets)\n")
        os.exit(1)
    end
    local ok, message = pcall(f, function(result)
        if options.JSON then
            print(json(result))
        else
            print_result(result)
        end
    end)
    support.cleanup()
    if not ok then
        io.stderr:write("bench: ", tostring(message), "\n")
        os.exit(1)
    end
end

return turns
