--- ringtap fields: print fields of packets, a line for each. The output is tshark's (-T fields), or JSON. Decoding and
--- printing are done in C by the sink; what is here reads the command line.

local command = require "ringtap.command"
local core = require "ringtap.core"
local intake = require "ringtap.command.intake"
local ringtap = require "ringtap"
local where = require "ringtap.where"

local fields = {}

-- ------------------------------------------------------------------ the command line

local function make_parser()
    local integer = command.integer
    local parser = command.parser("fields", "Print fields of packets, a line for each: tshark's -T fields, or JSON. "
        .. "Without -r packets come from an interface, until Ctrl-C.")
    parser:usage("Usage: ringtap fields [-i IF | -r FILE] -e FIELD [-e FIELD ...] [-T fields|json] "
        .. "[-E OPTION=VALUE ...] [-c N] [flags] [filter ...]\n       ringtap fields -G [PATTERN]")
    parser:epilog("-E header=y|n, bom=y|n, separator=/t|/s|CHARACTER (/t), aggregator=/s|CHARACTER (,), "
        .. "occurrence=f|l|a (first, last, all), quote=d|s|n (double, single, none). With -T json each line is an "
        .. "object: numbers and booleans as such, bytes as hex digits, all else as text; a field that occurs several "
        .. "times is a list, one that doesn't is left out. FIELD#2 is the field of the second layer of its protocol, "
        .. "#-1 of the last.")
    parser:argument("filter", "Which packets, in libpcap's language (man pcap-filter); all if none."):args("*")

    parser:option("-i --interface", "Listen here: a name, a number of -D, or 'any'."):argname("IF")
    parser:option("-r", "Read from a capture file, '-' for standard input."):argname("FILE")
    parser:option("-e", "Print this field, by Wireshark's name; once for each column."):argname("FIELD"):count("*")
        :target("names")
    parser:option("-T", "Columns, or a JSON object for each packet."):argname("fields|json")
        :choices { "fields", "json" }:default("fields"):target("format")
    parser:option("-G", "List names of fields and exit: those of a protocol (udp), those that match a Lua pattern, "
        .. "or all."):argname("PATTERN"):args("?"):target("glossary")
    parser:option("-E", "How columns are printed, see below."):argname("OPTION=VALUE"):count("*"):target("style")
    parser:option("-c", "Stop after N packets that pass the filter."):argname("N"):convert(integer("packet count", 1))
    parser:option("-s --snapshot-length", "Keep N bytes of each packet; 0 and if not given: 262144."):argname("N")
        :target("snaplen"):convert(integer("snapshot length", 0, 0x7fffffff))
    parser:option("-f", "The filter, as one word."):argname("FILTER"):target("capture_filter")
    parser:option("-Y", "The same; it is in libpcap's language too, not in Wireshark's."):argname("FILTER")
        :target("display_filter")
    parser:option("-F", "Read the filter from a file; '#' begins a comment."):argname("FILE"):target("filter_file")
    parser:option("-y --linktype", "Insist on this link type, by libpcap's name."):argname("TYPE"):target("linktype")
    parser:flag("-D --list-interfaces", "List the interfaces and exit."):target("list")
    parser:flag("-n", "Accepted: names are never looked up."):count("*"):target("numeric")
    parser:flag("-l", "Write each line at once; always so on a terminal."):target("line_buffered")
    intake.interface_flags(parser)
    return parser
end

local function yes_no(value)
    return ({ y = true, yes = true, n = false, no = false })[value]
end

local function separator(value)
    return value == "/t" and "\t" or value == "/s" and " " or value ~= "/" and #value == 1 and value or nil
end

local function aggregator(value)
    return value ~= "/t" and separator(value) or nil
end

-- For each option of -E: what a value means (nil: nothing), and what there is.
local styles = {
    header = { yes_no, "y or n" },
    bom = { yes_no, "y or n" },
    separator = { separator, "/t, /s or one character (a byte)" },
    aggregator = { aggregator, "/s or one character (a byte)" },
    occurrence = { function(value)
        return ({ f = "first", first = "first", l = "last", last = "last", a = "all", all = "all" })[value]
    end, "f, l or a" },
    quote = { function(value)
        return ({ d = "double", double = "double", s = "single", single = "single", n = "none", none = "none" })[value]
    end, "d, s or n" },
}

--- The options of ringtap.text().
---@return ringtap.fields_style
local function read_style(o)
    local style = { fields = o.names, format = o.format, line_buffered = o.line_buffered }
    for _, text in ipairs(o.style) do
        local name, value = text:match("^([^=]*)=(.*)$")
        local known = styles[name]
        if not known then
            command.usage_error("-E %s: OPTION=VALUE with one of header, bom, separator, aggregator, occurrence, quote",
                text)
        end
        local meaning = known[1](value)
        if meaning == nil then
            command.usage_error("-E %s: %s is %s", text, name, known[2])
        end
        if o.format == "json" and name ~= "occurrence" then
            command.usage_error("-E %s: not for -T json", text)
        end
        style[name] = meaning
    end
    return style
end

local function check(o)
    intake.check(o)
    if #o.names == 0 then
        command.usage_error("which fields? (-e FIELD; ringtap fields -G lists them)")
    end
    local given = { o.capture_filter, o.display_filter, o.filter_file, #o.filter > 0 or nil }
    local count = 0
    for _ in pairs(given) do
        count = count + 1
    end
    if count > 1 then
        local hint = intake.file_hint(o)
        command.usage_error("the filter comes from -f, -Y, -F or from the command line, not from two of them%s",
            hint and "\n" .. hint or "")
    end
    if o.capture_filter or o.display_filter then
        o.filter = { o.capture_filter or o.display_filter }
    end
    local wrong = {}
    for _, name in ipairs(o.names) do
        local good, message = pcall(ringtap.field, name)
        if not good then
            wrong[#wrong + 1] = where.no_field(name, message):gsub("ringtap%.field_names%(pattern%)",
                "ringtap fields -G")
        end
    end
    if #wrong > 0 then
        command.usage_error("%s", table.concat(wrong, "\n"))
    end
end

-- ------------------------------------------------------------------ -G

local EPIPE = 32

--- Names and titles, a line for each.
---@param pattern string "" for all
---@return integer status
local function print_names(pattern)
    local ok, names = pcall(require("ringtap.repl").fields, pattern)
    if not ok then
        command.usage_error("-G: %s", (tostring(names):gsub("^.-fields: ", "")))
    elseif #names == 0 then
        command.complain("%s", tostring(names))
        return 1
    end
    io.stdout:setvbuf("no") -- nothing is left to be written when the reader has had enough
    local written, message, errno = io.stdout:write(tostring(names), "\n")
    if not written and errno ~= EPIPE then
        command.complain("standard output: %s", message)
        return 1
    end
    return 0
end

-- ------------------------------------------------------------------ the run

--- How far a file is read, on standard error, if somebody sees it there and nothing else is printed beside it.
local function progress(source)
    if not core._terminal(io.stderr) or core._terminal(io.stdout) then
        return nil
    end
    local shown = false
    return function()
        local stats = source:stats()
        local packets = ("%d packets"):format(stats.seen or stats.delivered)
        shown = true
        if (stats.size or 0) > 0 then
            io.stderr:write(("\r%3d %%, %s\27[K"):format(100 * stats.position // stats.size, packets))
        else
            io.stderr:write(("\r%s\27[K"):format(packets))
        end
    end, function()
        if shown then
            io.stderr:write("\r\27[K")
        end
    end
end

--- ringtap fields ARGS
---@param args string[]
---@return integer status
function fields.run(args)
    local o = command.parse(make_parser(), args)
    if o.list then
        return intake.print_interfaces(o)
    elseif o.glossary then
        return print_names(o.glossary[1] or "")
    end
    check(o)
    local style = read_style(o)
    return intake.run(o, {
        capture = { latency = (o.immediate or o.line_buffered or core._terminal(io.stdout)) and "low" or nil },
        open_sink = function()
            return ringtap.text(io.stdout, style)
        end,
        quiet = true,
        prints = true,
        progress = o.r and progress or nil,
    })
end

return fields
