--- A packet as text: the tree of its layers and fields, and the dump of its bytes with a part of it marked. Names,
--- values and titles are those of the protocol's table.

local core = require "ringtap.core"
local protocol = require "ringtap.protocol"
local protocols = require "ringtap.proto"

local show = {}

-- enum of src/packet/engine.h
local TRUNCATED, MALFORMED, GUESS, LENGTH_GUESS, QUOTED, FRAGMENT = 1, 2, 4, 8, 16, 32

local INDENT = "    "
local NAME_WIDTH, VALUE_WIDTH = 40, 24 -- columns grow up to this; what is longer pushes the rest of its line
local BYTES_SHOWN, TEXT_SHOWN = 16, 72

local checksum_status = { [0] = "bad", "good", "unverified", "not present" } -- as the engine numbers $checksum

-- ------------------------------------------------------------------ colours

local palette = { "34", "36", "32", "33", "35", "94", "96", "92" } -- by depth of the layer
local WRONG, FAINT, BOLD, REVERSE, PLAIN = "\27[31m", "\27[2m", "\27[1m", "\27[7m", "\27[0m"

--- Does what goes to standard output get colours when nobody says? https://no-color.org
---@return boolean
function show.colors_wanted()
    return (os.getenv("NO_COLOR") or "") == "" and os.getenv("TERM") ~= "dumb" and core._terminal(io.stdout)
end

--- The colour of the n-th layer.
---@param depth integer
---@return string
function show.layer_color(depth)
    return "\27[" .. palette[(depth - 1) % #palette + 1] .. "m"
end

local function paint(color, text)
    return color and text ~= "" and color .. text .. PLAIN or text
end

--- Text that may be printed: what a terminal would obey is written as an escape.
---@param text string
---@return string
function show.clean(text)
    text = text:gsub("[\0-\31\127]", function(c)
        return ("\\x%02x"):format(c:byte())
    end)
    return (text:gsub("\xc2([\x80-\x9f])", function(c) -- C1 controls in UTF-8
        return ("\\u{%x}"):format(c:byte())
    end))
end

local clean = show.clean

local function check_options(what, opts)
    for key in pairs(opts or {}) do
        if key ~= "color" then
            error(("%s: unknown option '%s' (did you mean 'color'?)"):format(what, tostring(key)), 3)
        end
    end
    return opts or {}
end

-- ------------------------------------------------------------------ what the tables say of a field

local declared = setmetatable({}, { __mode = "k" }) -- protocol: its fields by name, and by name and title

local function collect(items, into)
    for _, it in ipairs(items) do
        if it.kind == "field" then
            if it.name then
                local with_title = it.name .. "\0" .. it.title
                into[it.name] = into[it.name] or it
                into[with_title] = into[with_title] or it
            end
            for _, also in ipairs(it.also or {}) do
                into[also] = into[also] or it
            end
            collect(it.sub or {}, into)
        else
            collect(it.items or {}, into)
            collect(it.default or {}, into)
            for _, case in pairs(it.cases or {}) do
                collect(case, into)
            end
            for _, header in pairs(it.headers or {}) do
                collect({ header }, into)
            end
            collect({ it.line }, into)
        end
    end
end

local function fields_of(p)
    if not p then
        return {}
    end
    if not declared[p] then
        local into = {}
        collect(p.items, into)
        for _, items in pairs(p.groups or {}) do
            collect(items, into)
        end
        declared[p] = into
    end
    return declared[p]
end

--- How the protocol that a field belongs to declares it.
---@param proto string
---@param name string
---@param title? string
---@return table? field of the checked tree, see ringtap/protocol.lua
function show.declaration(proto, name, title)
    local fields = fields_of(protocol.proto[proto])
    return title and fields[name .. "\0" .. title] or fields[name]
end

--- The same for whatever protocol has the name, "udp.port" as well as "udp.dstport#2".
---@param name string
---@return table? field
function show.field(name)
    protocols.load(true)
    name = name:gsub("#.*$", "")
    local own = protocol.proto[name:match "^[^.]*"]
    local field = fields_of(own)[name]
    for _, p in pairs(field and {} or protocol.proto) do
        field = field or fields_of(p)[name]
    end
    return field
end

--- A field's title, unless it is only the end of its name.
---@param field {name: string, title: string?}
---@return string?
function show.title(field)
    return field.title ~= field.name:match "[^.]*$" and field.title or nil
end

local function duration_text(seconds)
    local days, rest = seconds // 86400, seconds % 86400
    local text = ("%d:%02d:%02d"):format(rest // 3600, rest // 60 % 60, rest % 60)
    return days > 0 and ("%d day%s %s"):format(days, days == 1 and "" or "s", text) or text
end

--- The name that a value has, or nil.
---@param field table? as declaration() gives it
---@param value any
---@return string?
function show.value_name(field, value)
    if type(value) == "boolean" then
        local named = field and field.values and field.values[value and 1 or 0]
        return named or (value and "set" or "not set")
    end
    if field and field.type == "seconds" then
        local seconds = math.tointeger(math.floor(tonumber(value) or 0))
        return seconds >= 60 and duration_text(seconds) or nil
    elseif not field or math.type(value) ~= "integer" then
        return nil
    elseif field.values then
        return field.values[(value - (field.add or 0)) // (field.scale or 1)]
    elseif field.name and field.name:find "checksum%.status$" then
        return checksum_status[value]
    end
end

-- ------------------------------------------------------------------ the tree

local function plural(n, what)
    return ("%d %s%s"):format(n, what, n == 1 and "" or "s")
end

local function cut_text(text)
    if #text <= TEXT_SHOWN then
        return text
    end
    local stop = TEXT_SHOWN
    while stop > 1 and text:byte(stop + 1) & 0xc0 == 0x80 do -- not inside of a character
        stop = stop - 1
    end
    return text:sub(1, stop) .. "..."
end

local function value_text(item, field)
    local text = item.text
    if field and field.type == "bytes" and type(item.value) == "string" and #item.value > BYTES_SHOWN then
        local between = field.base == "colon" and ":" or ""
        local hex = {}
        for i = 1, BYTES_SHOWN do
            hex[i] = ("%02x"):format(item.value:byte(i))
        end
        return ("%s... (%s)"):format(table.concat(hex, between), plural(#item.value, "byte"))
    end
    if not text then -- a function of the table has made it
        text = item.value == nil and "" or tostring(item.value)
    end
    text = cut_text(clean(text))
    if item.cut and not text:find "%.%.%.$" then
        text = text .. "..."
    end
    return text
end

--- Rows of a layer: { indent, name, value, remark, wrong }.
local function layer_rows(layer)
    local rows, depth, hidden = {}, 0, nil
    local lists, rounds, counts = {}, 0, {} -- open ones; is this list's element open?
    for i, item in ipairs(layer.items) do
        local kind = item.kind
        if hidden then -- what lies inside of a field that isn't shown
            hidden = hidden + (kind == "sub" and 1 or kind == "sub_end" and -1 or 0)
            if hidden == 0 then
                hidden = nil
            end
        elseif kind == "sub" then
            depth = depth + 1
        elseif kind == "sub_end" then
            depth = depth - 1
        elseif kind == "loop" then
            rounds = rounds + 1
            lists[rounds], counts[rounds] = item.list or false, 0
            depth = depth + (item.list and 1 or 0)
        elseif kind == "round" then
            counts[rounds] = counts[rounds] + 1
            if lists[rounds] then
                rows[#rows + 1] = { depth - 1, ("%s[%d]"):format(lists[rounds], counts[rounds]) }
            end
        elseif kind == "loop_end" then
            depth = depth - (lists[rounds] and 1 or 0)
            rounds = rounds - 1
        elseif kind ~= "alias" then
            local field = item.name and show.declaration(layer.name, item.name, item.title)
            if not item.name or field and field.hidden then
                if (layer.items[i + 1] or {}).kind == "sub" then
                    hidden = 0
                end
            else
                local name = show.value_name(field, item.value)
                local title = show.title(item)
                local remark = title and name and title .. ": " .. name or title or name or ""
                local wrong = item.name:find "checksum%.status$" and item.value == 0
                rows[#rows + 1] = { depth, item.name, value_text(item, field), clean(remark), wrong }
            end
        end
    end
    return rows
end

local function widest(rows, width, limit)
    local most = 0
    for _, row in ipairs(rows) do
        local n = width(row)
        if n <= limit and n > most then
            most = n
        end
    end
    return most
end

local function text_width(text)
    return utf8.len(text) or #text
end

local function pad(text, width)
    return text .. (" "):rep(width - text_width(text))
end

--- What there is to say of a layer beside its name.
local function layer_remarks(layer, caplen)
    local remarks, flags = {}, layer.flags
    local function say(flag, text)
        if flags & flag ~= 0 then
            remarks[#remarks + 1] = text
        end
    end
    say(GUESS, "a guess")
    say(QUOTED, "quoted")
    say(FRAGMENT, "carries a fragment")
    say(LENGTH_GUESS, "its length is a guess")
    local there = math.max(0, math.min(layer.stop, caplen) - layer.off)
    say(TRUNCATED, ("cut off: %d of %s captured"):format(there, plural(layer.stop - layer.off, "byte")))
    return #remarks > 0 and ", " .. table.concat(remarks, ", ") or ""
end

local function show_layer(out, layer, depth, caplen, color)
    local own = color and show.layer_color(depth)
    out[#out + 1] = paint(own and own .. BOLD, ("%s (%s), %s at %d"):format(clean(layer.title or layer.name),
        layer.name, plural(layer.header, "byte"), layer.off)) .. layer_remarks(layer, caplen)
    local rows = layer_rows(layer)
    local name_width = widest(rows, function(row)
        return row[3] and row[1] * 2 + #row[2] or 0
    end, NAME_WIDTH)
    local value_width = widest(rows, function(row)
        return row[4] and row[4] ~= "" and text_width(row[3]) or 0
    end, VALUE_WIDTH)
    for _, row in ipairs(rows) do
        local indent, name, value, remark, wrong = table.unpack(row, 1, 5)
        local left = (" "):rep(indent * 2)
        if not value then
            out[#out + 1] = INDENT .. left .. paint(own, name)
        else
            local line = INDENT .. left .. paint(own, name) .. (" "):rep(name_width - indent * 2 - #name) .. "  "
            if remark ~= "" then
                value = pad(value, value_width) .. "  " .. paint(color and (wrong and WRONG or FAINT), remark)
            end
            out[#out + 1] = line .. value
        end
    end
    if layer.flags & MALFORMED ~= 0 then
        out[#out + 1] = INDENT .. paint(color and WRONG, "malformed: " .. (layer.message or "not as it should be"))
    end
end

--- Bytes that a layer has left to nobody, behind what it carries; unless a field of its own tells of them.
local function show_rest(out, layers, caplen, color)
    for i = #layers - 1, 1, -1 do
        local layer, from, to = layers[i], layers[i + 1].stop, math.min(layers[i].stop, caplen)
        local told = from >= to or from < layer.off or layer.flags & QUOTED ~= layers[i + 1].flags & QUOTED
        for _, item in ipairs(layer.items) do
            told = told or item.name ~= nil and (item.bits or 0) > 0 and item.bit >= from * 8
        end
        if not told then
            out[#out + 1] = paint(color and show.layer_color(i), ("Behind it, inside of %s: %s at %d"):format(
                layer.name, plural(to - from, "byte"), from))
        end
    end
end

--- "2009-11-10 23:00:00.123456 UTC"
---@param time integer ns since 1970
---@return string
function show.time_text(time)
    local nanoseconds = time % 1000000000
    local fraction = nanoseconds % 1000 == 0 and ("%06d"):format(nanoseconds // 1000) or ("%09d"):format(nanoseconds)
    return ("%s.%s UTC"):format(os.date("!%Y-%m-%d %H:%M:%S", time // 1000000000), fraction)
end

local function show_packet(out, pkt, color)
    local words = { plural(pkt.len, "byte") }
    if pkt.caplen ~= pkt.len then
        words[1] = words[1] .. (" (%d captured)"):format(pkt.caplen)
    end
    words[#words + 1] = pkt.time and show.time_text(pkt.time)
    words[#words + 1] = pkt.interface and pkt.interface ~= "" and clean(pkt.interface) or nil
    words[#words + 1] = pkt.direction
    out[#out + 1] = paint(color and BOLD, "Packet: " .. table.concat(words, ", "))
    if pkt.comment then
        out[#out + 1] = INDENT .. "comment: " .. clean(pkt.comment)
    end
end

---@class ringtap.show_options
---@field color? boolean

--- The tree: the packet, then a line for each layer with its fields below it. A field has its name, its value as
--- `tshark -T fields` prints it, its title and the name of its value. Bits that are part of a field are indented.
---@param pkt ringtap.packet
---@param opts? ringtap.show_options
---@return string text without a newline at its end
function show.show(pkt, opts)
    local color = check_options("show", opts).color
    protocols.load(true)
    local out, layers = {}, core._tree(pkt)
    show_packet(out, pkt, color)
    for i, layer in ipairs(layers) do
        show_layer(out, layer, i, pkt.caplen, color)
    end
    show_rest(out, layers, pkt.caplen, color)
    return table.concat(out, "\n")
end

-- ------------------------------------------------------------------ the dump

--- The n-th of those that a condition is true for, or all of them when n is nil; negative n count from the end.
local function choose(list, n, is)
    local found = {}
    for _, x in ipairs(list) do
        if is(x) then
            found[#found + 1] = x
        end
    end
    return n and { found[n < 0 and #found + 1 + n or n] } or found
end

--- Ranges of bytes, 0-based and half open, that a layer's header or a field's occurrences take; nil: not here.
local function ranges_of(layers, what)
    local name, n = what:match "^(.-)#(%-?%d+)$"
    name, n = name or what, n and math.tointeger(tonumber(n))
    local ranges, here = {}, false
    protocols.load(true)
    if protocol.proto[name] then
        local layer = choose(layers, n or 1, function(l)
            local own = protocol.proto[l.name]
            return l.name == name or own and own.shown == name
        end)[1]
        return layer and { { layer.off, layer.off + layer.header } }
    end
    core.field(what) -- raises when there is no such field
    for _, layer in ipairs(choose(layers, n, function(l) return show.declaration(l.name, name) ~= nil end)) do
        for _, item in ipairs(layer.items) do
            if item.name == name then
                here = true
                if (item.bits or 0) > 0 and item.kind ~= "value" then
                    ranges[#ranges + 1] = { item.bit // 8, (item.bit + item.bits + 7) // 8 }
                end
            end
        end
    end
    return here and ranges or nil
end

local HEX, TEXT = 1, 42 -- columns of a line behind its offset: the first byte's digits, its character

--- What is at these columns: runs of marked bytes, as { from, to } in the line's text behind the offset.
local function runs(marked, at, count)
    local list, first = {}, nil
    for i = 0, count do
        local on = i < count and marked[at + i]
        if on and not first then
            first = i
        elseif not on and first then
            local last = i - 1
            list[#list + 1] = { HEX + first * 2 + first // 2, HEX + last * 2 + last // 2 + 1 }
            list[#list + 1] = { TEXT + first, TEXT + last }
            first = nil
        end
    end
    table.sort(list, function(a, b) return a[1] < b[1] end)
    return list
end

local function mark_line(line, marked, at, count, color)
    local list = runs(marked, at, count)
    local offset, text = line:match "^(\t0x%x+:  )(.*)$"
    if #list == 0 then
        return line
    end
    if not color then
        local below = ""
        for _, run in ipairs(list) do
            below = below .. (" "):rep(run[1] - 1 - #below) .. ("^"):rep(run[2] - run[1] + 1)
        end
        return line .. "\n\t" .. (" "):rep(#offset - 1) .. below
    end
    local parts, from = { offset }, 1
    for _, run in ipairs(list) do
        parts[#parts + 1] = text:sub(from, run[1] - 1)
        parts[#parts + 1] = REVERSE .. text:sub(run[1], run[2]) .. PLAIN
        from = run[2] + 1
    end
    parts[#parts + 1] = text:sub(from)
    return table.concat(parts)
end

--- The dump of pkt:hex(), with the header of a layer ("ip", "ip#2") or the bytes of a field ("udp.dstport") marked: in
--- reverse video when there are colours, else by carets below. A field's bits mark the bytes that they are in.
---@param pkt ringtap.packet
---@param what? string a layer or a field; nil: nothing is marked
---@param opts? ringtap.show_options
---@return string dump
function show.hex(pkt, what, opts)
    local color = check_options("hex", opts).color
    local dump = pkt:hex()
    if what == nil then
        return dump
    end
    if type(what) ~= "string" then
        error(("hex: a layer or a field is a string, not %s"):format(type(what)), 2)
    end
    local ok, ranges = pcall(ranges_of, core._tree(pkt), what)
    if not ok then
        error(tostring(ranges):gsub("^[^:]+:%d+: ", ""), 2)
    end
    local marked, any = {}, false
    for _, range in ipairs(ranges or {}) do
        for i = range[1], math.min(range[2], pkt.caplen) - 1 do
            marked[i], any = true, true
        end
    end
    local lines, at = {}, 0
    for line in dump:gmatch "[^\n]+" do
        lines[#lines + 1] = mark_line(line, marked, at, math.min(16, pkt.caplen - at), color)
        at = at + 16
    end
    if not any then
        lines[#lines + 1] = ranges and ("\t(%s has no bytes of its own here)"):format(what)
            or ("\t(there is no %s in this packet)"):format(what)
    end
    return table.concat(lines, "\n")
end

-- ------------------------------------------------------------------ what else is shown

---@class ringtap.view_style
---@field color? boolean
---@field width? integer columns; what doesn't fit is cut off

---@class ringtap.view a result that can be printed; tostring() gives it without colours
local view = {}
view.__index = view
view.__name = "ringtap.view"

function view:__tostring()
    return self:render {}
end

--- Make a table a view.
---@param t table
---@param render fun(self: table, style: ringtap.view_style): string
---@return ringtap.view
function show.view(t, render)
    t.render = render
    return setmetatable(t, view)
end

---@param value any
---@return boolean
function show.is_view(value)
    return getmetatable(value) == view
end

--- Columns of the terminal, 80 where there is none.
---@return integer
function show.columns()
    return core._columns() or 80
end

--- Text in colour: what is faint, bold or wrong.
---@param kind "faint"|"bold"|"wrong"
---@param text string
---@param style ringtap.view_style
---@return string
function show.paint(kind, text, style)
    return paint(style.color and (kind == "faint" and FAINT or kind == "bold" and BOLD or WRONG), text)
end

return show
