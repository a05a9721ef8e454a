--- What the subcommands that pass packets from a source to a sink share: flags of a source, opening it, ending the run
--- in the right order, counters.

local backend = require "ringtap.command.backend"
local command = require "ringtap.command"
local core = require "ringtap.core"
local linktypes = require "ringtap.linktypes"
local ringtap = require "ringtap"

local intake = {}

local DEFAULT_SNAPLEN = 262144

--- One line on standard error.
---@param format string
function intake.say(format, ...)
    io.stderr:write(format:format(...) .. "\n") -- one write: two processes may share a terminal
end

local say = intake.say

-- ------------------------------------------------------------------ flags

local fanout_modes = { hash = true, lb = true, cpu = true, rollover = true, rnd = true, qm = true }

local function fanout(text)
    local mode, id = text:match("^(%a+):?(%d*)$")
    id = id and id ~= "" and math.tointeger(tonumber(id)) or nil
    if not fanout_modes[mode] or text:find(":$") or id and id > 65535 then
        return nil, ("invalid fanout '%s': hash, lb, cpu, rollover, rnd or qm, perhaps with :ID, 0 to 65535")
            :format(text)
    end
    return { mode = mode, id = id }
end

--- The flags of an interface that follow the subcommand's own.
---@param parser table
function intake.interface_flags(parser)
    local integer = command.integer
    parser:option("-B --buffer-size", "Size of the ring in KiB; if not given 65536."):argname("KIB"):target("buffer")
        :convert(integer("packet buffer size", 1, 1 << 34))
    parser:option("-Q --direction", "Packets that come in, go out, or both."):argname("in|out|inout")
        :choices { "in", "out", "inout" }:target("direction")
    parser:flag("-p --no-promiscuous-mode", "Not in promiscuous mode."):target("not_promisc")
    parser:flag("--immediate-mode", "Hand packets over after 1 ms; always so when printing to a terminal.")
        :target("immediate")
    parser:option("-Z --relinquish-privileges", "Become USER when the source is open, before any file is written.")
        :argname("USER"):target("user")
    parser:option("--netns", "Listen in this network namespace: a name of ip-netns or a path."):argname("NAME")
    parser:option("--fanout", "Share the interface's packets with others of the same ID: hash, lb, cpu, rollover, rnd, "
        .. "qm."):argname("MODE[:ID]"):convert(fanout)
    backend.receive_flags(parser)
end

--- What one flag forbids of another.
---@param o table<string, any>
function intake.check(o)
    if o.interface and o.r then
        command.usage_error("-i and -r: packets come from an interface or from a file, not from both")
    end
    for _, flag in ipairs { { o.buffer, "-B" }, { o.direction, "-Q" }, { o.netns, "--netns" },
        { o.fanout, "--fanout" }, { o.backend, "--backend" }, { o.xdp_mode, "--xdp-mode" }, { o.queues, "--queues" },
        { o.pass, "--pass" }, { o.latency, "--latency" } } do
        if o.r and flag[1] then
            command.usage_error("%s is for interfaces, not for -r", flag[2])
        end
    end
    backend.check(o, {
        { o.interface == "any", "-i any", "it is for one interface" },
        { o.buffer, "-B", "its rings have a fixed number of descriptors" },
        { o.direction and o.direction ~= "in", "-Q " .. (o.direction or ""), "it sees only what comes in" },
        { o.fanout, "--fanout", "it has a socket for each queue (--queues)" },
        { o.latency and o.immediate, "--immediate-mode with --latency" },
    })
end

-- ------------------------------------------------------------------ interfaces

--- All interfaces and "any", in tcpdump -D's order.
---@param netns? string
---@return {name: string, flags: string[], up: boolean, loopback: boolean}[]?, string?
local function list_interfaces(netns)
    local all, message = ringtap.interfaces(netns)
    if not all then
        return nil, message
    end
    local list = { { name = "any", text = "any (Pseudo-device that captures on all interfaces) [Up, Running]",
        order = 0.5, instance = 0, index = 0, up = true, loopback = false } }
    for _, i in ipairs(all) do
        local flags = {}
        local link = not i.loopback and i.up and (ringtap.interface(i.name, netns) or {}).link
        flags[#flags + 1] = i.up and "Up" or nil
        flags[#flags + 1] = i.running and "Running" or nil
        flags[#flags + 1] = i.loopback and "Loopback" or nil
        if i.up and not i.loopback and link ~= nil then
            flags[#flags + 1] = link and "Connected" or "Disconnected"
        end
        list[#list + 1] = {
            name = i.name,
            text = ("%s [%s]"):format(i.name, #flags > 0 and table.concat(flags, ", ") or "none"),
            order = (i.running and 0 or 8) + (i.up and 0 or 4) + (link == false and i.up and 2 or 0)
                + (i.loopback and 1 or 0),
            instance = tonumber(i.name:match("(%d+)$") or 0),
            index = i.index,
            up = i.up,
            loopback = i.loopback,
        }
    end
    table.sort(list, function(a, b)
        if a.order ~= b.order then
            return a.order < b.order
        elseif a.instance ~= b.instance then
            return a.instance < b.instance
        end
        return a.index < b.index
    end)
    return list
end

--- -D
---@return integer status
function intake.print_interfaces(o)
    local list, message = list_interfaces(o.netns)
    if not list then
        command.complain("%s", message)
        return 1
    end
    for n, i in ipairs(list) do
        io.stdout:write(("%d.%s\n"):format(n, i.text))
    end
    return 0
end

--- The name that -i means; without -i the first interface that is up and not the loopback, else the loopback.
---@return string? name, string? message
local function choose_interface(o)
    local number = o.interface and o.interface:match("^%d+$") and tonumber(o.interface)
    if o.interface and not number then
        return o.interface
    end
    local list, message = list_interfaces(o.netns)
    if not list then
        return nil, message
    end
    local loopback
    for _, i in ipairs(list) do
        if number and i.name == o.interface or not number and i.up and not i.loopback and i.name ~= "any" then
            return i.name
        end
        loopback = loopback or i.loopback and i.up and i.name
    end
    if number then
        if list[number] then
            return list[number].name
        end
        return nil, ("there is no interface number %s (-D lists them)"):format(o.interface)
    end
    if loopback then
        return loopback
    end
    return nil, "there is no interface that is up"
end

-- ------------------------------------------------------------------ the source

--- The filter: of -F, or the words of the command line; nil if there is none.
---@return string? filter, string? message
function intake.read_filter(o)
    if not o.filter_file then
        return #o.filter > 0 and table.concat(o.filter, " ") or nil
    end
    local file, message = io.stdin, nil
    if o.filter_file ~= "-" then
        file, message = io.open(o.filter_file)
    end
    if not file then
        return nil, message
    end
    local text, read_message = file:read("a")
    if not text then
        return nil, ("%s: %s"):format(o.filter_file, read_message)
    end
    return (text:gsub("#[^\n]*", " "):gsub("%s+", " "):gsub("^ ", ""):gsub(" $", ""))
end

--- A hint for a first word of the filter that was meant as the file to read; nil if it is none.
---@return string?
function intake.file_hint(o)
    local file = not o.r and o.filter[1] and io.open(o.filter[1])
    if not file then
        return nil
    end
    local _, message = file:read(0) -- of a directory: an error
    file:close()
    return not message and ("(to read a file: -r %s)"):format(o.filter[1]) or nil
end

--- A hint for a filter in which libpcap's message shows a place (^), where another language or a file was meant.
local function filter_hint(o, filter, message)
    local wrong = filter and message:find "\n *%^$"
    if wrong and (o.display_filter or filter:find "==" or message:find "syntax error" and filter:find "%a%w*%.%a") then
        return "(a filter is in tcpdump's language: udp port 53)"
    end
end

-- Blocks of 256 KiB; of 64 KiB, two at least, in a ring below 1 MiB.
local function ring_geometry(kib)
    local block_kib = kib >= 1024 and 256 or 64
    return block_kib * 1024, math.max(2, (kib + block_kib - 1) // block_kib)
end

local function open_source(o, filter, capture_options)
    if o.r then
        return ringtap.read(o.r, { filter = filter })
    end
    local name, message = choose_interface(o)
    if not name then
        return nil, message
    end
    local options = {
        filter = filter,
        snaplen = o.snaplen,
        netns = o.netns,
        promisc = not o.not_promisc and name ~= "any",
        direction = ({ ["in"] = "in", out = "out", inout = "both" })[o.direction],
        fanout = o.fanout,
    }
    for key, v in pairs(capture_options) do
        options[key] = v
    end
    if o.backend == "xdp" then
        options.fanout, options.retire_timeout = nil, nil
        backend.options(o, options)
    end
    if o.buffer then
        options.block_size, options.block_count = ring_geometry(o.buffer)
    end
    return ringtap.capture(name, options)
end

-- ------------------------------------------------------------------ counters

local causes = { "ring_full", "rx_ring_full", "fill_ring_empty", "rx_dropped", "redirect_failed" }

local function count(n, what)
    return ("%d packet%s %s"):format(n, n == 1 and "" or "s", what)
end

--- Why packets were dropped, " (ring_full 5, freezes 1)"; "" when none was.
---@param stats table<string, any>
---@return string
function intake.causes(stats)
    local details = {}
    for _, cause in ipairs(causes) do
        if (stats[cause] or 0) > 0 then
            details[#details + 1] = ("%s %d"):format(cause, stats[cause])
        end
    end
    if (stats.freezes or 0) > 0 then
        details[#details + 1] = ("freezes %d"):format(stats.freezes)
    end
    return #details > 0 and (" (%s)"):format(table.concat(details, ", ")) or ""
end

--- tcpdump's three lines. What the kernel accepted is captured, dropped, or accounted for in a fourth.
---@param captured integer
---@param stats table<string, any>
---@param why string of the fourth
local function print_counters(captured, stats, why)
    local received = stats.matched + (stats.queued or 0)
    say("%s", count(captured, "captured"))
    say("%s", count(received, "received by filter"))
    say("%s%s", count(stats.dropped, "dropped by kernel"), intake.causes(stats))
    local left = received - captured - stats.dropped
    if left > 0 then
        say("%s", count(left, why))
    end
end

-- ------------------------------------------------------------------ the run

-- nohup's SIGHUP stays ignored, as tcpdump leaves it.
local function ignores_hangup()
    local file = io.open("/proc/self/status")
    local text = file and file:read("a") or ""
    if file then
        file:close()
    end
    return (tonumber(text:match("SigIgn:%s*(%x+)") or "0", 16) & 1) ~= 0
end

local function take_signals()
    if ignores_hangup() then
        return ringtap.signals("INT", "TERM", "USR1")
    end
    return ringtap.signals("INT", "TERM", "HUP", "USR1")
end

local function announce(o, source, filter)
    local i = source:interfaces()[1] or {}
    local name, description = linktypes.name(source:linktype())
    local id = source:stats().fanout_id
    local how = not o.r and backend.describe(source)
    say("%s %s%s, link-type %s (%s), snapshot length %d%s%s", o.r and "reading from file" or "listening on",
        o.r or source:name(), how and (", backend xdp (%s)"):format(how) or "", name, description,
        i.snaplen or DEFAULT_SNAPLEN, o.r and "" or " bytes", id and (", fanout group %d"):format(id) or "")
    local warning = backend.warning(o, filter, source:name())
    if warning then
        say("%s", warning)
    end
end

--- Pass everything on and close the sink. The counters are those of the moment when the intake ended.
---@return integer captured packets that are printed or in the file
---@return string? why the loop ended
---@return string? message of what went wrong
---@return integer? errno when it was the sink
local function pass_on(o, source, sink, signals, progress)
    local function report() -- SIGUSR1, as tcpdump
        if not o.r then
            sink:flush()
            print_counters(sink:stats().sent, source:stats(), "waiting")
        end
    end
    local ok, n, why, errno = pcall(ringtap.forward, source, sink, nil,
        { count = o.c, signals = signals, report = report, progress = progress })
    local message
    if not ok then
        message, why = n, "error"
    elseif not n then
        message, why = why, "sink"
    end
    if not o.r then
        source:drain()
    end
    if why == "interrupted" then -- a second signal: not even what is queued for a reader that hangs is waited for
        return sink:stats().sent, why
    end
    if why ~= "sink" then
        local flushed, flush_message, flush_errno = sink:flush()
        if not flushed then
            message, why, errno = message or flush_message, "sink", flush_errno
        end
    end
    local captured = sink:stats().sent
    local closed, close_message, close_errno = sink:close()
    if not closed and why ~= "sink" then
        message, why, errno = message or close_message, "sink", close_errno
    end
    return captured, why, message, errno
end

local left_because = {
    count = "received after the last one of -c",
    sink = "received but not written",
    error = "received but not read",
    stopped = "left in the ring",
}

local EPIPE = 32

---@class ringtap.intake_job
---@field capture table<string, any> further options for ringtap.capture
---@field open_sink fun(source: ringtap.source, filter: string?): ringtap.sink?, string?
---@field quiet boolean? a file is read without a word
---@field prints boolean? what is written is text: a reader that has had enough is no error
---@field progress? fun(source: ringtap.source): fun()?, fun()? what is called now and then; and when it is over
---@field failed? fun(errno: integer?): boolean? true: the sink's error was no error, and has been told

--- Open the source, then the sink, pass on what comes, and end.
---@param o table<string, any> the command line
---@param job ringtap.intake_job
---@return integer status
function intake.run(o, job)
    local filter, message = intake.read_filter(o)
    if message then
        command.complain("%s", message)
        return 1
    end
    local signals = not o.r and take_signals() -- the head of a stream may be long in coming: Ctrl-C just ends that
    local source
    source, message = open_source(o, filter, job.capture)
    if not source then
        local hint = intake.file_hint(o) or filter_hint(o, filter, message)
        command.complain("%s%s", message, hint and "\n" .. hint or "")
        return 1
    end
    if o.linktype then
        local is = linktypes.is(o.linktype, source:linktype())
        if not is then
            command.complain(is == nil and "invalid data link type %s"
                or "%s is not one of the DLTs supported by this device", o.linktype)
            return 1
        end
    end
    signals = signals or take_signals()
    if o.user then
        local dropped
        dropped, message = core._drop_privileges(o.user)
        if not dropped then
            command.complain("-Z: %s", message)
            return 1
        end
    end
    local sink
    sink, message = job.open_sink(source, filter)
    if not sink then
        command.complain("%s", message)
        return 1
    end
    if not (job.quiet and o.r) then
        announce(o, source, filter)
    end
    local progress, progress_over
    if job.progress then
        progress, progress_over = job.progress(source)
    end
    local captured, why, errno
    captured, why, message, errno = pass_on(o, source, sink, signals, progress)
    if progress_over then
        progress_over()
    end
    local stats = source:stats()
    if errno == EPIPE and job.prints then
        return 0
    end
    if job.failed and job.failed(errno) then
        message = nil
    end
    if message then
        command.complain("%s", message)
    end
    if not o.r then
        print_counters(captured, stats, left_because[why] or "left in the ring")
    end
    if why == "interrupted" then
        os.exit(1)
    end
    source:close()
    signals:close()
    return message and 1 or 0
end

return intake
