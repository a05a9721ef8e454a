--- What the subcommands that send share: flags of the sender, live counters on a terminal, the end of a run.

local backend = require "ringtap.command.backend"
local command = require "ringtap.command"
local core = require "ringtap.core"
local rate = require "ringtap.send.rate"
local ringtap = require "ringtap"

local sending = {}

--- For argparse's convert: a number of seconds, or a factor.
---@param what string
---@return fun(text: string): number?, string?
function sending.positive(what)
    return function(text)
        local n = tonumber(text)
        if not n or n ~= n or n <= 0 or n == math.huge then
            return nil, ("invalid %s '%s'"):format(what, text)
        end
        return n
    end
end

--- For argparse's convert: a rate, kept as it was written.
function sending.rate(text)
    local ok, result = pcall(rate.parse, text)
    if not ok then
        return nil, result
    end
    return text
end

--- A list of texts as "name=value" as a table; nil: it is empty.
---@param list string[]
---@param pattern string of name and value
---@param usage string what a text that is none is told
---@return table<string, string>?
function sending.pairs(list, pattern, usage)
    local map
    for _, text in ipairs(list) do
        local name, value = text:match(pattern)
        if not name then
            command.usage_error("%s, not '%s'", usage, text)
        end
        map = map or {}
        map[name] = value
    end
    return map
end

--- The sender's flags.
---@param parser table
function sending.flags(parser)
    parser:option("--method", "How frames get to the kernel: auto (the default), mmsg, ring or gso.")
        :argname("METHOD"):choices { "auto", "mmsg", "ring", "gso" }
    parser:flag("--qdisc-bypass", "Past the interface's queueing discipline.")
    parser:option("--netns", "In this network namespace: a name of ip-netns or a path."):argname("NAME")
end

--- Which of them don't go with --backend xdp.
---@param o table<string, any>
---@return boolean xdp
function sending.check(o)
    return backend.check(o, { { o.method, "--method" }, { o.qdisc_bypass, "--qdisc-bypass", "it has no discipline" } })
end

--- The sender of -i and the flags; nil when it can't be had, which was told.
---@param o table<string, any>
---@param ifname string
---@return ringtap.sink?
function sending.open(o, ifname)
    local options = { method = o.method, qdisc_bypass = o.qdisc_bypass, netns = o.netns }
    if o.backend == "xdp" then
        backend.options(o, options)
    end
    local sink, message = ringtap.sender(ifname, options)
    if not sink then
        command.complain("%s", message)
    end
    return sink
end

-- A function for `progress` that keeps a line on the terminal up to date, and one that takes it away; nil where
-- standard error is none.
local function progress_line()
    if not core._terminal(io.stderr) then
        return nil
    end
    local before, shown = { packets = 0, bytes = 0, seconds = 0 }, false
    local function show(now)
        local time = now.seconds - before.seconds
        local refused = 0
        for _, n in pairs(now.causes) do
            refused = refused + n
        end
        io.stderr:write(("\r%4.0f s  %d frames  %s  %s%s\27[K"):format(now.seconds, now.packets,
            rate.text((now.packets - before.packets) / time, "pps"),
            rate.text((now.bytes - before.bytes) * 8 / time, "bit/s"),
            refused > 0 and ("  %d refused"):format(refused) or ""))
        before, shown = now, true
    end
    local function over()
        if shown then
            io.stderr:write("\r\27[K")
        end
    end
    return show, over
end

-- Print the report, and what went wrong. What wasn't sent makes the status 1.
local function finish(report, message, _, partial)
    report = report or partial
    if report then
        io.stdout:write(tostring(report), "\n")
    end
    if message and type(message) == "string" then
        command.complain("%s", message)
        return 1
    end
    return report and report.refused == 0 and 0 or 1
end

--- What a verb raised, without the place where a subcommand called it.
---@param err any
---@return string
function sending.message(err)
    return (tostring(err):gsub("^[^\n]-ringtap/command/%a+%.lua:%d+: ", ""))
end

--- Call a verb with what its option `progress` is to be, and print how it went.
---@param verb fun(progress: fun(now: table)?): ringtap.report?, string?, integer?, ringtap.report?
---@return integer status
function sending.run(verb)
    local progress, over = progress_line()
    local results = table.pack(pcall(verb, progress))
    if over then
        over()
    end
    if not results[1] then
        command.complain("%s", sending.message(results[2]))
        return 1
    end
    return finish(table.unpack(results, 2, results.n))
end

return sending
