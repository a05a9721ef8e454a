--- A list of packets that were kept: packets by their number, and what is asked of all of them. It prints as a table.
-- Each packet has its bytes once, however many lists it is in.

local analysis = require "ringtap.analysis"
local core = require "ringtap.core"
local follow = require "ringtap.follow"
local ringtap = require "ringtap"
local show = require "ringtap.show"
local where = require "ringtap.where"

---@class ringtap.list
---@field [integer] ringtap.packet
---@field from? string where the packets came from
---@field dropped? integer packets that the source lost while this list was made
---@field interrupted? boolean Ctrl-C has ended it
---@field trouble? string what has ended it before its end
local list = {}
local meta = { __index = list, __name = "ringtap.list" }

local QUOTED = 16 -- RTAP_LAYER_QUOTED

-- The list that a packet was read into. It keeps neither alive.
local home = setmetatable({}, { __mode = "kv" })

--- Make a list of packets that are the caller's own (pkt:copy(), src:next()).
---@param packets? ringtap.packet[]
---@return ringtap.list
function list.new(packets)
    local self = setmetatable({}, meta)
    for i, pkt in ipairs(packets or {}) do
        self[i] = pkt
        home[pkt] = home[pkt] or self
    end
    return self
end

--- Put a packet behind the others.
---@param pkt ringtap.packet one's own
function list:add(pkt)
    self[#self + 1] = pkt
    home[pkt] = home[pkt] or self
end

---@param value any
---@return boolean
function list.is(value)
    return getmetatable(value) == meta
end

--- The list that a packet was read into, and its number there; nil when that list is gone.
---@param pkt ringtap.packet
---@return ringtap.list?
---@return integer? number
function list.home(pkt)
    local self = home[pkt]
    for i = 1, self and #self or 0 do
        if rawequal(self[i], pkt) then
            return self, i
        end
    end
end

--- The packets with their number and what only a list knows of them.
---@return fun(): ringtap.packet?, ringtap.where_context?
function list:each()
    local context = { number = 0, first = self[1] and self[1].time }
    local time
    return function()
        local i = context.number + 1
        local pkt = self[i]
        if pkt then
            context.number = i
            context.previous = time or context.first
            time = pkt.time
            return pkt, context
        end
    end
end

--- Those packets for which a condition is true: text as ringtap/where.lua has it, or a function.
---@param condition string|fun(pkt: ringtap.packet): any
---@return ringtap.list
function list:where(condition)
    local test = type(condition) == "function" and condition or where.compile(condition, 3)
    local found = setmetatable({ from = self.from }, meta)
    for pkt, context in self:each() do
        if test(pkt, context) then
            found[#found + 1] = pkt
        end
    end
    return found
end

list.filter = list.where

--- As string.sub.
---@param i integer
---@param j? integer
---@return ringtap.list
function list:sub(i, j)
    local n = #self
    i, j = i < 0 and n + i + 1 or i, j or n
    j = math.min(j < 0 and n + j + 1 or j, n)
    return setmetatable(table.move(self, math.max(i, 1), j, 1, { from = self.from }), meta)
end

list.count, list.hist, list.summary = analysis.count, analysis.hist, analysis.summary

--- What both ends of a packet's flow said in this list.
---@param packet integer|ringtap.packet its number, or any packet
---@return ringtap.view|ringtap.chunk[] flow see ringtap/follow.lua
function list:follow(packet)
    if type(packet) == "number" then
        packet = self[packet] or error(("follow: there is no packet %d, there are %d"):format(packet, #self), 2)
    elseif type(packet) ~= "userdata" then
        error("follow: which packet? p:follow(3) or p:follow(p[3])", 2)
    end
    return follow.follow(self, packet)
end

--- Write all packets to a capture file: pcapng, or pcap when the name ends in .pcap or .cap. Raises what went wrong.
---@param path string
---@param options? ringtap.write_options
---@return ringtap.view written with packets and path
function list:save(path, options)
    local sink = assert(ringtap.write(path, options))
    for _, pkt in ipairs(self) do
        assert(sink:send(pkt))
    end
    assert(sink:close())
    return show.view({ packets = #self, path = path }, function(v)
        return ("%d packet%s written to %s"):format(v.packets, v.packets == 1 and "" or "s", v.path)
    end)
end

--- What packets() and the like need of a source, taken into a list. A loop that Ctrl-C ends gives what it has.
---@param source ringtap.source it is closed
---@param options? ringtap.loop_options
---@return ringtap.list
function list.read(source, options)
    local self = list.new()
    self.from = source:name()
    local ok, message = pcall(function()
        for pkt in source:packets(options) do
            self:add(pkt:copy())
        end
    end)
    self.dropped = source:stats().dropped
    source:close()
    self.interrupted = not ok and tostring(message):find "interrupted!$" ~= nil or nil
    if not ok and not self.interrupted then
        if #self == 0 then
            error(message, 0)
        end
        self.trouble = tostring(message)
    end
    return self
end

-- ------------------------------------------------------------------ as a table

local SHOWN, HEAD, TAIL = 60, 50, 5 -- rows: all when they are at most so many, else the first and the last

local addresses = { -- fields of source and destination, by layer
    eth = { "eth.src", "eth.dst" }, wlan = { "wlan.sa", "wlan.da" }, ip = { "ip.src", "ip.dst" },
    ipv6 = { "ipv6.src", "ipv6.dst" }, sll = { "sll.src.eth" }, sll2 = { "sll.src.eth" },
}

local function first_text(layer, name)
    for _, item in ipairs(layer.items) do
        if item.name == name then
            return item.text
        end
    end
end

local function protocol_name(name)
    return (name:upper():gsub("V(%d)$", "v%1"))
end

--- The line that print(pkt) gives, without what the other columns have: "53 > 4000: ...".
local function info_of(pkt, source, destination)
    local line = tostring(pkt):match "^[^\n]*":gsub("^%-? ?[%d:.]* ", "", 1)
    local a, b, rest = line:match "^IP6? (%S+) > (%S+): (.*)$"
    if not a then
        return line
    end
    local function port(text, address)
        return address and text:sub(1, #address) == address and text:match("^%.(%d+)$", #address + 1)
    end
    local from, to = port(a, source), port(b, destination)
    if from and to then
        return ("%s > %s: %s"):format(from, to, rest)
    end
    return a == source and b == destination and rest or line
end

---@class ringtap.row
---@field source string
---@field destination string
---@field protocol string
---@field length integer
---@field info string
---@field depth integer of the innermost layer that is shown

--- A packet's cells.
---@param pkt ringtap.packet
---@return ringtap.row
function list.row(pkt)
    local row = { source = "", destination = "", protocol = "", length = pkt.len, depth = 0 }
    for i, layer in ipairs(core._tree(pkt)) do
        if layer.flags & QUOTED == 0 and layer.name ~= "data" then
            row.protocol, row.depth = protocol_name(layer.name), i
            local names = addresses[layer.name]
            if names then
                row.source = first_text(layer, names[1]) or row.source
                row.destination = names[2] and first_text(layer, names[2]) or row.destination
            end
        end
    end
    row.info = show.clean(info_of(pkt, row.source, row.destination))
    return row
end

local function cut(text, width)
    local n = utf8.len(text)
    if not width or (n or #text) <= width then
        return text
    end
    return n and text:sub(1, utf8.offset(text, width + 1) - 1) or text:sub(1, width)
end

local titles = { "No.", "Time", "Source", "Destination", "Protocol", "Length", "Info" }
local to_right = { true, true, false, false, false, true, false }
local PROTOCOL = 5

local function line_of(cells, widths, style, color)
    local line, at = "", nil
    for i, cell in ipairs(cells) do
        at = i == PROTOCOL and #line + 1 or at
        local space = i < #cells and (" "):rep(widths[i] - #cell) or ""
        line = line .. (to_right[i] and space .. cell or cell .. space) .. (i < #cells and "  " or "")
    end
    line = cut(line, style.width)
    local name = cells[PROTOCOL]
    if color and line:sub(at, at + #name - 1) == name and name ~= "" then
        line = line:sub(1, at - 1) .. color .. name .. "\27[0m" .. line:sub(at + #name)
    end
    return line
end

--- The table: number in this list, seconds since its first packet, ends, protocol, length, and the rest of the line.
---@param style ringtap.view_style
---@return string
function list:render(style)
    if #self == 0 then
        return "no packets" .. (self.trouble and " (" .. self.trouble .. ")" or "")
    end
    local first, rows, left_out = self[1].time, { titles }, 0
    local depths = {}
    for i, pkt in ipairs(self) do
        if #self <= SHOWN or i <= HEAD or i > #self - TAIL then
            local r = list.row(pkt)
            local time = first and pkt.time and ("%.6f"):format((pkt.time - first) / 1e9) or "-"
            rows[#rows + 1] = { tostring(i), time, r.source, r.destination, r.protocol, tostring(r.length), r.info }
            depths[#rows] = r.depth
        else
            left_out = left_out + 1
        end
    end
    local widths = {}
    for _, cells in ipairs(rows) do
        for i, cell in ipairs(cells) do
            widths[i] = math.max(widths[i] or 0, #cell)
        end
    end
    local lines = {}
    for i, cells in ipairs(rows) do
        if left_out > 0 and i == HEAD + 2 then
            lines[#lines + 1] = ("... %d more: p:sub(%d, %d) shows some of them"):format(left_out, HEAD + 1,
                math.min(#self, HEAD * 2))
        end
        local line = line_of(cells, widths, style, style.color and i > 1 and show.layer_color(depths[i]))
        lines[#lines + 1] = i == 1 and show.paint("bold", line, style) or line
    end
    if self.trouble then
        lines[#lines + 1] = show.paint("wrong", self.trouble, style)
    end
    return table.concat(lines, "\n")
end

function meta:__tostring()
    return self:render {}
end

return list
