--- ringtap dump: print packets, or write them to a file. The flags are tcpdump's. Packets pass from the source to the
--- sink in C; what is here says what the sink is.

local command = require "ringtap.command"
local core = require "ringtap.core"
local intake = require "ringtap.command.intake"
local ringtap = require "ringtap"

local dump = {}

local EXFULL = 54

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

    intake.interface_flags(parser)
    return parser
end

-- What one flag forbids or demands of another.
local function check(o)
    local function clash(condition, ...)
        if condition then
            command.usage_error(...)
        end
    end
    intake.check(o)
    clash(o.filter_file and #o.filter > 0, "the filter comes from -F or from the command line, not from both")
    clash(o.rotate_size and not o.w, "-C needs -w")
    clash(o.rotate_time and not o.w, "-G needs -w")
    clash(o.rotate_count and not (o.rotate_size or o.rotate_time), "-W needs -C or -G")
    clash(o.w == "-" and (o.rotate_size or o.rotate_time), "-w -: a stream can't be rotated")
    clash(o.time > 5, "only -t, -tt, -ttt, -tttt and -ttttt are known")
    clash(o.nano and o.micro, "--nano and --micro")
    o.precision = o.nano and "nano" or o.micro and "micro" or o.precision
end

-- ------------------------------------------------------------------ the sink

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

local function run(o)
    return intake.run(o, {
        capture = {
            latency = (o.immediate or not o.w and core._terminal(io.stdout)) and "low" or nil,
            -- nobody waits for a single packet in a file: fewer wake-ups
            retire_timeout = o.w and o.w ~= "-" and not o.unbuffered and not o.immediate and 0.1 or nil,
        },
        open_sink = function(source, filter)
            if o.w then
                return open_file(o, source, filter)
            end
            return open_text(o, source)
        end,
        prints = not o.w,
        failed = function(errno)
            if errno == EXFULL then
                intake.say("Maximum file limit reached: %d", o.rotate_count)
                return true
            end
        end,
    })
end

--- ringtap dump ARGS
---@param args string[]
---@return integer status
function dump.run(args)
    local o = command.parse(make_parser(), args)
    check(o)
    if o.list then
        return intake.print_interfaces(o)
    end
    return run(o)
end

return dump
