--- ringtap dump: print packets, or write them to a file. The flags are tcpdump's. Packets pass from the source to the
--- sink in C; what is here opens the two, ends them in the right order and counts.

local command = require "ringtap.command"
local core = require "ringtap.core"
local linktypes = require "ringtap.linktypes"
local ringtap = require "ringtap"

local dump = {}

local EPIPE, EXFULL = 32, 54
local DEFAULT_SNAPLEN = 262144

local function say(format, ...)
    io.stderr:write(format:format(...) .. "\n") -- one write: two processes may share a terminal
end

-- ------------------------------------------------------------------ the command line

local function size_in_bytes(text)
    local number, suffix = text:match("^(%d+)([kKmMgG]?)$")
    local unit = ({ [""] = 1000000, k = 1 << 10, m = 1 << 20, g = 1 << 30 })[suffix and suffix:lower()]
    number = unit and math.tointeger(tonumber(number))
    if not number or number < 1 or number > math.maxinteger // unit then
        return nil, ("invalid file size '%s'"):format(text)
    end
    return number * unit
end

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

local function make_parser()
    local integer = command.integer
    local parser = command.parser("dump", "Print packets, or write them to a file: tcpdump's flags, and its language "
        .. "for filters. Without -r packets come from an interface, until Ctrl-C.")
    parser:usage("Usage: ringtap dump [-i IF | -r FILE] [-w FILE] [-c N] [flags] [filter ...]")
    parser:epilog("A file written with -w is pcapng, with the interface, the filter and the counters in it; it is pcap "
        .. "(with nanoseconds) when its name ends in .pcap or .cap. Addresses and ports are always printed as numbers.")
    parser:argument("filter", "Which packets, in libpcap's language (man pcap-filter); all if none."):args("*")

    parser:option("-i --interface", "Listen here: a name, a number of -D, or 'any'."):argname("IF")
    parser:option("-r", "Read from a capture file, '-' for standard input."):argname("FILE")
    parser:option("-w", "Write to a capture file, '-' for standard output."):argname("FILE")
    parser:option("-c", "Stop after N packets."):argname("N"):convert(integer("packet count", 1))
    parser:option("-s --snapshot-length", "Keep N bytes of each packet; 0 and if not given: 262144."):argname("N")
        :target("snaplen"):convert(integer("snapshot length", 0, 0x7fffffff))
    parser:option("-F", "Read the filter from a file; '#' begins a comment."):argname("FILE"):target("filter_file")
    parser:option("-y --linktype", "Insist on this link type, by libpcap's name."):argname("TYPE"):target("linktype")
    parser:flag("-D --list-interfaces", "List the interfaces and exit."):target("list")

    parser:flag("-e", "Print the link-level header."):target("link")
    parser:flag("-n", "Accepted: names are never looked up."):count("*"):target("numeric")
    parser:flag("-q", "Print less of the protocols."):target("quiet")
    parser:flag("-v", "Print more; again for still more."):count("*"):target("verbose")
    parser:flag("-x", "Print the bytes in hex, without the link-level header; -xx with it."):count("*"):target("hex")
    parser:flag("-X", "The same in hex and ASCII; -XX with the link-level header."):count("*"):target("ascii")
    parser:flag("-t", "No time; -tt seconds since 1970; -ttt since the line before; -tttt with the date; "
        .. "-ttttt since the first line."):count("*"):target("time")
    parser:flag("-S --absolute-tcp-sequence-numbers", "Accepted: TCP sequence numbers are printed as they are.")
        :count("*"):target("absolute")
    parser:flag("-# --number", "Print the number of the packet."):target("number")
    parser:flag("--nano", "Print nine digits of a second.")
    parser:flag("--micro", "Print six (if not given). A file.pcap is written with microseconds.")
    parser:option("--time-stamp-precision", "The same."):argname("micro|nano"):choices { "micro", "nano" }
        :target("precision")
    parser:flag("-l", "Write each line at once."):target("line_buffered")
    parser:flag("-U --packet-buffered", "Write each packet at once, with -w too."):target("unbuffered")

    parser:option("-C", "Begin a new file when one is larger than SIZE million bytes; k, m or g: KiB, MiB or GiB.")
        :argname("SIZE"):target("rotate_size"):convert(size_in_bytes)
    parser:option("-G", "Begin a new file every N seconds; the name is a format of strftime."):argname("N")
        :target("rotate_time"):convert(integer("number of seconds", 1, 1000000000))
    parser:option("-W", "With -C: write over the first file after N files. With -G: end after N files."):argname("N")
        :target("rotate_count"):convert(integer("number of output files", 1, 1000000))

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
    return parser
end

-- What one flag forbids or demands of another.
local function check(o)
    local function clash(condition, ...)
        if condition then
            command.usage_error(...)
        end
    end
    clash(o.interface and o.r, "-i and -r: packets come from an interface or from a file, not from both")
    for _, flag in ipairs { { o.buffer, "-B" }, { o.direction, "-Q" }, { o.netns, "--netns" },
        { o.fanout, "--fanout" } } do
        clash(o.r and flag[1], "%s is for interfaces, not for -r", flag[2])
    end
    clash(o.filter_file and #o.filter > 0, "the filter comes from -F or from the command line, not from both")
    clash(o.rotate_size and not o.w, "-C needs -w")
    clash(o.rotate_time and not o.w, "-G needs -w")
    clash(o.rotate_count and not (o.rotate_size or o.rotate_time), "-W needs -C or -G")
    clash(o.w == "-" and (o.rotate_size or o.rotate_time), "-w -: a stream can't be rotated")
    clash(o.time > 5, "only -t, -tt, -ttt, -tttt and -ttttt are known")
    clash(o.nano and o.micro, "--nano and --micro")
    o.precision = o.nano and "nano" or o.micro and "micro" or o.precision
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

local function print_interfaces(o)
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

-- ------------------------------------------------------------------ source and sink

local function read_filter(o)
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

-- Blocks of 256 KiB; of 64 KiB, two at least, in a ring below 1 MiB.
local function ring_geometry(kib)
    local block_kib = kib >= 1024 and 256 or 64
    return block_kib * 1024, math.max(2, (kib + block_kib - 1) // block_kib)
end

local function open_source(o, filter)
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
        latency = (o.immediate or not o.w and core._terminal(io.stdout)) and "low" or nil,
        fanout = o.fanout,
    }
    if o.w and o.w ~= "-" and not o.unbuffered and not o.immediate then
        options.retire_timeout = 0.1 -- nobody waits for a single packet in a file: fewer wake-ups
    end
    if o.buffer then
        options.block_size, options.block_count = ring_geometry(o.buffer)
    end
    return ringtap.capture(name, options)
end

local time_styles = { [0] = "clock", "none", "epoch", "delta", "date", "first" }

local function open_text(o, source)
    local dump_style
    if o.ascii > 0 then
        dump_style = o.ascii > 1 and "XX" or "X"
    elseif o.hex > 0 then
        dump_style = o.hex > 1 and "xx" or "x"
    end
    return ringtap.text(io.stdout, {
        time = time_styles[o.time],
        nanoseconds = o.precision == "nano",
        number = o.number,
        link = o.link,
        quiet = o.quiet,
        verbose = math.min(o.verbose, 10),
        interface = source:linktype() == 276,
        dump = dump_style,
        line_buffered = o.line_buffered or o.unbuffered,
    })
end

local function operating_system()
    local file = io.open("/proc/sys/kernel/osrelease")
    local release = file and file:read("l")
    if file then
        file:close()
    end
    return release and "Linux " .. release or nil
end

local function open_file(o, source, filter)
    if o.w == "-" and core._terminal(io.stdout) then
        return nil, "-w -: standard output is a terminal: write to a file or a pipe"
    end
    local dated, first_name = pcall(os.date, o.w)
    first_name = o.rotate_time and dated and type(first_name) == "string" and first_name or o.w
    if o.r and core._same_file(o.r == "-" and io.stdin or o.r, o.w == "-" and io.stdout or first_name) then
        return nil, ("%s: reading and writing the same file would destroy it"):format(o.w)
    end
    local is_pcap = o.w:find("%.pcap$") or o.w:find("%.cap$")
    return ringtap.write(o.w, {
        format = is_pcap and o.precision == "micro" and "pcap-us" or nil,
        source = source,
        filter = filter,
        os = not is_pcap and operating_system() or nil,
        snaplen = source:interfaces()[1].snaplen,
        rotate_size = o.rotate_size,
        rotate_time = o.rotate_time,
        rotate_count = o.rotate_count,
        unbuffered = o.unbuffered or nil,
    })
end

local function open_sink(o, source, filter)
    if o.w then
        return open_file(o, source, filter)
    end
    return open_text(o, source)
end

-- ------------------------------------------------------------------ counters

local causes = { "ring_full", "fill_ring_empty", "rx_ring_full" }

local function count(n, what)
    return ("%d packet%s %s"):format(n, n == 1 and "" or "s", what)
end

--- tcpdump's three lines. What the kernel accepted is captured, dropped, or accounted for in a fourth.
---@param captured integer
---@param stats table<string, any>
---@param why string of the fourth
local function print_counters(captured, stats, why)
    local received = stats.matched + (stats.queued or 0)
    local details = {}
    for _, cause in ipairs(causes) do
        if (stats[cause] or 0) > 0 then
            details[#details + 1] = ("%s %d"):format(cause, stats[cause])
        end
    end
    if (stats.freezes or 0) > 0 then
        details[#details + 1] = ("freezes %d"):format(stats.freezes)
    end
    say("%s", count(captured, "captured"))
    say("%s", count(received, "received by filter"))
    say("%s%s", count(stats.dropped, "dropped by kernel"),
        #details > 0 and (" (%s)"):format(table.concat(details, ", ")) or "")
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

local function announce(o, source)
    local i = source:interfaces()[1] or {}
    local name, description = linktypes.name(source:linktype())
    local id = source:stats().fanout_id
    say("%s %s, link-type %s (%s), snapshot length %d%s%s", o.r and "reading from file" or "listening on",
        o.r or source:name(), name, description, i.snaplen or DEFAULT_SNAPLEN, o.r and "" or " bytes",
        id and (", fanout group %d"):format(id) or "")
end

--- Pass everything on and close the sink. The counters are those of the moment when the intake ended.
---@return integer captured packets that are printed or in the file
---@return string? why the loop ended
---@return string? message of what went wrong
---@return integer? errno when it was the sink
local function pass_on(o, source, sink, signals)
    local function report() -- SIGUSR1, as tcpdump
        if not o.r then
            sink:flush()
            print_counters(sink:stats().sent, source:stats(), "waiting")
        end
    end
    local ok, n, why, errno = pcall(ringtap.forward, source, sink, nil,
        { count = o.c, signals = signals, report = report })
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

local function run(o)
    local filter, message = read_filter(o)
    if message then
        command.complain("%s", message)
        return 1
    end
    local signals = not o.r and take_signals() -- the head of a stream may be long in coming: Ctrl-C just ends that
    local source
    source, message = open_source(o, filter)
    if not source then
        command.complain("%s", message)
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
    sink, message = open_sink(o, source, filter)
    if not sink then
        command.complain("%s", message)
        return 1
    end
    announce(o, source)
    local captured, why, errno
    captured, why, message, errno = pass_on(o, source, sink, signals)
    local stats = source:stats()
    if errno == EPIPE and not o.w then
        return 0 -- who reads the text has had enough
    end
    if errno == EXFULL then
        say("Maximum file limit reached: %d", o.rotate_count)
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

--- ringtap dump ARGS
---@param args string[]
---@return integer status
function dump.run(args)
    local o = command.parse(make_parser(), args)
    check(o)
    if o.list then
        return print_interfaces(o)
    end
    return run(o)
end

return dump
