--- The prompt: `ringtap repl`, or `lua5.4 -i -l ringtap.repl`. What can be called there are the functions of this
--- module, so a script can call them too; they raise what goes wrong. repl.help() lists them.

local core = require "ringtap.core"
local analysis = require "ringtap.analysis"
local follow = require "ringtap.follow"
local list = require "ringtap.list"
local prompt = require "ringtap.repl.prompt"
local protocol = require "ringtap.protocol"
local ringtap = require "ringtap"
local show = require "ringtap.show"
local topics = require "ringtap.repl.topics"

local repl = {}

local session = {} -- iface, file: of the command line; remarks: somebody is sitting there

-- ------------------------------------------------------------------ getting packets

local capture_options = { "filter", "promisc", "snaplen", "netns", "direction", "backend", "pass" }
local loop_options = { "count", "duration", "idle" }

local function check_options(what, options, ...) -- and loop_options
    if type(options) ~= "table" then
        local message = what == "sniff"
            and "sniff: options are a table, an interface or a file, not %s: sniff{count = 10}"
            or 'load: options are a table, as in load("x.pcap", {filter = "udp"}), not %s'
        error(message:format(type(options)), 3)
    end
    local known = table.move({ ... }, 1, select("#", ...), #loop_options + 1,
        table.move(loop_options, 1, #loop_options, 1, {}))
    for key in pairs(options) do
        local found = false
        for _, name in ipairs(known) do
            found = found or name == key
        end
        if not found then
            local near = core._nearest(tostring(key), known)
            error(("%s: unknown option '%s'%s"):format(what, tostring(key),
                near and (" (did you mean '%s'?)"):format(near) or ""), 3)
        end
    end
end

local function choose(options, names)
    local chosen = {}
    for _, name in ipairs(names) do
        chosen[name] = options[name]
    end
    return chosen
end

---@class ringtap.sniff_options: ringtap.loop_options
---@field iface? string
---@field file? string
---@field filter? string|ringtap.filter|fun(pkt: ringtap.packet): boolean as ringtap.capture has it
---@field promisc? boolean default true, but on "any"
---@field snaplen? integer
---@field netns? string
---@field direction? "both"|"in"|"out"
---@field backend? "packet"|"xdp"
---@field pass? string of "xdp": what the host is to have all the same

--- Take packets from an interface or a file until count, duration or idle ends it, the file's end, or Ctrl-C.
---@param options? ringtap.sniff_options|string a string is an interface, or the path of a file
---@return ringtap.list
function repl.sniff(options)
    if type(options) == "string" then
        local file = options:find "[/.]" and io.open(options)
        options = file and file:close() and { file = options } or { iface = options }
    end
    local o = options == nil and {} or options
    check_options("sniff", o, "iface", "file", table.unpack(capture_options))
    local file = o.file or not o.iface and session.file or nil
    local iface = o.iface or not file and session.iface or nil
    if file then
        for _, name in ipairs { "iface", "promisc", "snaplen", "netns", "direction", "backend", "pass" } do
            if o[name] ~= nil then
                error(("sniff: '%s' is for packets from an interface, and these come from %s"):format(name, file), 2)
            end
        end
        return list.read(assert(ringtap.read(file, { filter = o.filter })), choose(o, loop_options))
    elseif not iface then
        error('sniff: from where? sniff{iface = "eth0"} or sniff{file = "x.pcap"}', 2)
    end
    local how = choose(o, capture_options)
    if how.promisc == nil and iface ~= "any" then
        how.promisc = true
    end
    local source = assert(ringtap.capture(iface, how))
    if session.remarks and not (o.count or o.duration or o.idle) then
        io.stderr:write(("capturing on %s, Ctrl-C stops\n"):format(iface))
    end
    local taken = list.read(source, choose(o, loop_options))
    if session.remarks and taken.interrupted then
        io.stderr:write "\n" -- behind the terminal's ^C
    end
    return taken
end

--- Read a capture file.
---@param path string
---@param options? {filter: any, count: integer?}
---@return ringtap.list
function repl.load(path, options)
    if type(path) ~= "string" then
        error('load: which file? load("x.pcap")', 2)
    end
    local o = options == nil and {} or options
    check_options("load", o, "filter")
    return list.read(assert(ringtap.read(path, { filter = o.filter })), choose(o, loop_options))
end

--- What was built or edited, as a packet; anything else as it is.
local function built(value)
    local mt = type(value) == "table" and getmetatable(value)
    return type(mt) == "table" and mt.__name == "ringtap.builder" and value:packet() or value
end

--- One of them or many, as a list of packets.
local function packets_of(what, value)
    value = built(value)
    if type(value) ~= "table" and type(value) ~= "userdata" then
        error(("%s: the first argument is a packet or a list, not %s"):format(what, type(value)), 3)
    end
    local packets = {}
    for i, packet in ipairs(type(value) == "table" and value or { value }) do
        packets[i] = built(packet)
    end
    return packets
end

--- Write a list, or one packet, to a capture file.
---@param packets ringtap.list|ringtap.packet|ringtap.packet[]
---@param path string
---@return ringtap.view written
function repl.save(packets, path)
    if type(path) ~= "string" then
        error('save: to which file? save(p, "x.pcapng")', 2)
    end
    return list.save(packets_of("save", packets), path)
end

-- ------------------------------------------------------------------ looking at them

--- One packet: show(pkt), or show(p, 3).
local function one(what, packet, number)
    packet = built(packet)
    if type(packet) == "table" and number == nil and #packet == 1 then
        number = 1
    end
    if type(packet) == "table" and math.type(number) == "integer" then
        packet = built(packet[number])
            or error(("%s: there is no packet %d, there are %d"):format(what, number, #packet), 3)
    end
    if type(packet) ~= "userdata" then
        error(("%s: which packet? %s(p[3])"):format(what, what), 3)
    end
    return packet
end

local function as_list(what, packets)
    if list.is(packets) then
        return packets
    elseif type(packets) ~= "table" then
        error(("%s: the first argument is a list of packets, not %s"):format(what, type(packets)), 3)
    end
    return list.new(packets)
end

--- The tree of a packet.
---@param packet ringtap.packet|ringtap.list
---@param number? integer of a packet of a list
---@return ringtap.view
function repl.show(packet, number)
    local pkt = one("show", packet, number)
    return show.view({ packet = pkt }, function(v, style)
        return show.show(v.packet, { color = style.color })
    end)
end

--- The bytes of a packet, those of a layer or a field marked.
---@param packet ringtap.packet
---@param what? string "ip", "udp.dstport"
---@return ringtap.view
function repl.hex(packet, what)
    local pkt = one("hex", packet)
    local ok, message = pcall(show.hex, pkt, what)
    if not ok then
        error(message, 2)
    end
    return show.view({ packet = pkt, what = what }, function(v, style)
        return show.hex(v.packet, v.what, { color = style.color })
    end)
end

--- Those packets for which a condition is true. See ringtap/where.lua for its language.
---@param packets ringtap.list
---@param condition string|fun(pkt: ringtap.packet): any
---@return ringtap.list
function repl.where(packets, condition)
    return as_list("where", packets):where(condition)
end

--- Packets, bytes, time, rates and protocols.
---@param packets ringtap.list
---@return ringtap.view summary see ringtap/analysis.lua
function repl.summary(packets)
    return analysis.summary(as_list("summary", packets))
end

--- How often each value of a field (or combination of several) occurs.
---@param packets ringtap.list
---@param ... string|fun(pkt: ringtap.packet): any
---@return ringtap.view|ringtap.count_row[]
function repl.count(packets, ...)
    return analysis.count(as_list("count", packets), ...)
end

--- How the numbers of a field are spread.
---@param packets ringtap.list
---@param field string|fun(pkt: ringtap.packet): number?
---@param bins? integer
---@return ringtap.view|ringtap.bin[]
function repl.hist(packets, field, bins)
    if field == nil then
        error('hist: which field? hist(p, "frame.len")', 2)
    end
    return analysis.hist(as_list("hist", packets), field, bins)
end

--- What both ends of a packet's flow said: follow(p[3]) in the list that it was read into, follow(p, 3) or
--- follow(p, pkt) in this one.
---@param packets ringtap.list|ringtap.packet
---@param packet? integer|ringtap.packet
---@return ringtap.view|ringtap.chunk[]
function repl.follow(packets, packet)
    if type(packets) == "userdata" then
        local home = list.home(packets) or error("follow: the packet's list is gone: follow(p, 3)", 2)
        return follow.follow(home, packets)
    elseif type(packets) ~= "table" then
        error(("follow: which packet? follow(p[3]) or follow(p, 3), not %s"):format(packets == nil
            and "nil: the list has no such packet" or "a " .. type(packets)), 2)
    end
    local all = as_list("follow", packets)
    return follow.follow(all, type(packet) == "userdata" and packet or one("follow", all, packet))
end

---@class ringtap.field_row
---@field name string of a field; of a protocol if no pattern was given
---@field title? string
---@field fields? integer how many a protocol has

local function first_word(name)
    return name:match "^[^.]*"
end

--- What fields' names begin with, and how many there are of each.
local function protocols_with_fields()
    local rows, by_name, width, most = { total = 0 }, {}, 0, 0
    for _, field in ipairs(ringtap.field_names()) do
        local name = first_word(field)
        local row = by_name[name]
        if not row then
            local known = protocol.proto[name]
            row = { name = name, title = known and known.title, fields = 0 }
            rows[#rows + 1], by_name[name] = row, row
        end
        row.fields = row.fields + 1
        rows.total = rows.total + 1
        width, most = math.max(width, #name), math.max(most, #tostring(row.fields))
    end
    table.sort(rows, function(a, b) return a.name < b.name end)
    return show.view(rows, function(v, style)
        local lines = {}
        for i, row in ipairs(v) do
            lines[i] = ("%-" .. width .. "s  %" .. most .. "d%s"):format(row.name, row.fields,
                row.title and "  " .. row.title or "")
        end
        lines[#lines + 1] = show.paint("faint", ('%d fields; fields"udp" lists those of one protocol'):format(v.total),
            style)
        return table.concat(lines, "\n")
    end)
end

--- Names of fields: those of a protocol, or those that match a Lua pattern; without one, the protocols and how many
--- fields each has.
---@param pattern? string
---@return ringtap.view|ringtap.field_row[]
function repl.fields(pattern)
    if pattern == nil then
        return protocols_with_fields()
    elseif type(pattern) ~= "string" then
        error(('fields: of what? fields"udp" or a Lua pattern, not %s'):format(type(pattern)), 2)
    end
    local ok, names = pcall(ringtap.field_names, pattern)
    if not ok then
        error(("fields: '%s' is no Lua pattern: %s"):format(pattern, (names:gsub("^[^:]*:%d+: ", ""))), 2)
    end
    local own = {}
    for _, name in ipairs(names) do
        own[#own + 1] = first_word(name) == pattern and name or nil
    end
    local rows, width = {}, 0
    for _, name in ipairs(#own > 0 and own or names) do
        local field = show.field(name)
        rows[#rows + 1] = { name = name, title = field and field.name == name and show.title(field) or nil }
        width = math.max(width, #name)
    end
    return show.view(rows, function(v)
        local lines = {}
        for i, row in ipairs(v) do
            lines[i] = row.title and row.name .. (" "):rep(width - #row.name) .. "  " .. row.title or row.name
        end
        return #lines > 0 and table.concat(lines, "\n") or "no field's name matches " .. tostring(pattern)
    end)
end

-- ------------------------------------------------------------------ changing and sending

--- A packet whose fields can be changed. See ringtap/edit.lua.
---@param packet ringtap.packet
---@return any
function repl.edit(packet)
    return require("ringtap.edit").edit(packet)
end

--- Send a packet, a list, a builder or bytes: once, or with options as sink:blast has them, in a loop.
---@param packets any
---@param options? string|ringtap.blast_options|{iface?: string, netns?: string, backend?: string} a string is an
--- interface; default: -i's
---@return ringtap.view|ringtap.report sent
function repl.send(packets, options)
    local o = {}
    for key, v in pairs(type(options) == "table" and options or { iface = options }) do
        o[key] = v
    end
    local iface = o.iface or session.iface or error('send: on which interface? send(pkt, "eth0")', 2)
    local all = type(packets) == "string" and { packets } or packets_of("send", packets)
    local sink <close> = assert(ringtap.sender(iface, { netns = o.netns, backend = o.backend }))
    o.iface, o.netns, o.backend = nil, nil, nil
    if next(o) ~= nil then
        o.packet = all
        return assert(sink:blast(o))
    end
    for _, packet in ipairs(all) do
        assert(sink:send(packet))
    end
    assert(sink:flush())
    return show.view({ packets = #all, iface = iface }, function(v)
        return ("%d packet%s sent on %s"):format(v.packets, v.packets == 1 and "" or "s", v.iface)
    end)
end

-- ------------------------------------------------------------------ help

--- What there is, or more about one function.
---@param name? string
---@return ringtap.view
function repl.help(name)
    if type(name) == "function" then
        for _, topic in ipairs(topics) do
            name = repl[topic[1]] == name and topic[1] or name
        end
    end
    local lines = {}
    for _, topic in ipairs(topics) do
        if name == nil then
            lines[#lines + 1] = ("  %-28s %s"):format(topic[2], topic[3])
        elseif topic[1] == name then
            lines[1] = topic[4]
        end
    end
    if name ~= nil and #lines == 0 then
        error(("help: there is nothing about '%s'; help() lists what there is"):format(tostring(name)), 2)
    elseif name == nil then
        lines[#lines + 1] = '\nhelp "sniff" tells more about one. The rest is Lua; ringtap is the module. Ctrl-D ends.'
    end
    return show.view({}, function() return table.concat(lines, "\n") end)
end

-- ------------------------------------------------------------------ printing

local function style()
    local terminal = core._terminal(io.stdout)
    return { color = show.colors_wanted(), width = terminal and show.columns() or nil }
end

local function text_of(value)
    if list.is(value) or show.is_view(value) then
        return value:render(style())
    end
    return tostring(value)
end

--- As print, but lists and what the functions here return get colours and the terminal's width.
---@param ... any
function repl.print(...)
    local texts = table.pack(...)
    for i = 1, texts.n do
        texts[i] = text_of(texts[i])
    end
    io.stdout:write(table.concat(texts, "\t", 1, texts.n), "\n")
end

-- ------------------------------------------------------------------ names at the prompt

local lua_load = load

--- load of the prompt: a capture file, or else Lua's.
local function load_either(first, ...)
    if type(first) ~= "string" or select("#", ...) > 1 or type((...)) == "string" or first:find "[\n=]" then
        return lua_load(first, ...)
    end
    local file = io.open(first)
    if file then
        file:close()
    elseif not first:find "%.%w+$" and not first:find "/" then
        return lua_load(first, ...)
    end
    return repl.load(first, ...)
end

--- Put the functions of the prompt into a table, with `load`, `print` and `ringtap`.
---@param into table
---@return table into
function repl.globals(into)
    for _, topic in ipairs(topics) do
        into[topic[1]] = repl[topic[1]]
    end
    into.help, into.load, into.print, into.ringtap = repl.help, load_either, repl.print, ringtap
    return into
end

---@class ringtap.repl_options
---@field iface? string where sniff takes packets from
---@field file? string

--- Read and run lines until the end of the input.
---@param options? ringtap.repl_options
---@return integer status for os.exit: 1 when there is nobody at the terminal and something went wrong
function repl.run(options)
    local o = options or {}
    session = { iface = o.iface, file = o.file, remarks = core._terminal(io.stdin) }
    local from = o.iface or o.file
    return prompt.run(repl.globals {}, ("%s (%s)%s. help() tells more, Ctrl-D ends."):format(ringtap._VERSION,
        _VERSION, from and ", packets from " .. from or ""))
end

-- ------------------------------------------------------------------ lua5.4 -i -l ringtap.repl

-- Loaded by -l: nobody but the interpreter itself has called require. A script that follows has the functions as
-- globals; where the interpreter's own prompt would come next, this one takes its place.
local caller = debug.getinfo(3, "S")
if caller and caller.what == "C" and not debug.getinfo(4, "S") then
    local words = arg or {}
    local interactive = core._terminal(io.stdin)
    for _, word in ipairs(words) do
        interactive = interactive or word == "-i"
    end
    if interactive and not words[-1] and (words[#words] or ""):find "ringtap%.repl$" then
        os.exit(repl.run(), true)
    end
    repl.globals(_G)
end

return repl
