--- What the two ends of a flow said to each other: the payloads of one conversation in the order in which they were
--- received. TCP segments are put in order by their sequence numbers, what was sent twice is taken once.

local show = require "ringtap.show"

local follow = {}

local transports = { tcp = true, udp = true, udplite = true, sctp = true }

---@class ringtap.flow_end of one packet
---@field proto string
---@field layer string the transport's layer for pkt:payload(), "udp" or "udp#2"
---@field from string
---@field to string
---@field number integer of the layer

local function join(address, port)
    return port and (address:find(":", 1, true) and "[%s]:%d" or "%s:%d"):format(address, port) or address
end

--- Who talks to whom in a packet: its innermost transport, or its innermost IP; nil where there is neither. What an
--- ICMP message quotes doesn't count.
---@param pkt ringtap.packet
---@return ringtap.flow_end?
local function ends_of(pkt)
    local count, ip, found = {}, nil, nil
    for _, name in ipairs(pkt:layers()) do
        count[name] = (count[name] or 0) + 1
        if name == "icmp" or name == "icmpv6" then
            break
        elseif name == "ip" or name == "ipv6" then
            ip, found = { name, count[name] }, nil
        elseif transports[name] and ip then
            found = { name, count[name] }
        end
    end
    if not ip then
        return nil
    end
    local function get(layer, field)
        return pkt[("%s.%s#%d"):format(layer[1], field, layer[2])]
    end
    local from, to = get(ip, "src"), get(ip, "dst")
    local of = found or ip
    if found then
        local a, b = get(found, "srcport"), get(found, "dstport")
        if not a or not b then
            return nil
        end
        from, to = join(from, a), join(to, b)
    end
    return from and to and { proto = of[1], layer = of[1] .. "#" .. of[2], number = of[2], from = from, to = to }
end

-- ------------------------------------------------------------------ TCP's order

--- a - b of sequence numbers, as a signed distance (RFC 9293 3.4).
local function distance(a, b)
    local d = (a - b) & 0xffffffff
    return d >= 0x80000000 and d - 0x100000000 or d
end

--- One direction: next is the sequence number that is awaited; waiting are pieces beyond it.
local direction = {}
direction.__index = direction

function direction.new(emit)
    return setmetatable({ waiting = {}, emit = emit }, direction)
end

--- What follows on without a gap.
function direction:take_waiting()
    table.sort(self.waiting, function(a, b) return distance(a.seq, b.seq) < 0 end)
    while self.waiting[1] and distance(self.waiting[1].seq, self.next) <= 0 do
        self:add(table.remove(self.waiting, 1))
    end
end

---@param piece {seq: integer, data: string, length: integer, number: integer} data may be cut off
function direction:add(piece)
    self.next = self.next or piece.seq
    local ahead = distance(piece.seq, self.next)
    if ahead > 0 then
        self.waiting[#self.waiting + 1] = piece
        return
    elseif piece.length + ahead <= 0 then
        return -- all of it was here before
    end
    local data = piece.data:sub(1 - ahead)
    self.emit(data, piece.number)
    self.next = (piece.seq + piece.length) & 0xffffffff
    local missing = piece.length + ahead - #data
    if missing > 0 then
        self.emit("", piece.number, missing)
    end
    self:take_waiting()
end

--- The gap before the next piece is not going to be filled: the other end has acknowledged it, or the list is over.
function direction:give_up(acknowledged)
    while self.waiting[1] do
        self:take_waiting()
        local piece = self.waiting[1]
        if not piece or acknowledged and distance(acknowledged, piece.seq) < 0 then
            return
        end
        self.emit("", piece.number, distance(piece.seq, self.next))
        self.next = piece.seq
        self:take_waiting()
    end
end

-- ------------------------------------------------------------------ the conversation

---@class ringtap.chunk
---@field from "a"|"b"
---@field data string
---@field number integer of the packet
---@field missing? integer bytes that were not captured

local function is_text(data)
    local plain = 0
    for _ in data:gmatch "[\t\n\r\32-\126]" do
        plain = plain + 1
    end
    return not data:find "\0" and (utf8.len(data) or plain >= #data * 0.9) and true or false
end

local function hex_lines(data, mark, lines)
    for at = 1, #data, 16 do
        local row = data:sub(at, at + 15)
        local hex = row:gsub("..?", function(pair)
            return pair:gsub(".", function(c) return ("%02x"):format(c:byte()) end) .. " "
        end)
        lines[#lines + 1] = ("%s %04x:  %-41s %s"):format(mark, at - 1, hex, (row:gsub("[^\33-\126]", ".")))
    end
end

local SHOWN = 8192 -- bytes

local function render(v, style)
    local head = ("%s  %s > %s  %d packets, %d bytes > and %d bytes <"):format(v.proto, v.a, v.b, v.packets, #v.sent,
        #v.received)
    local lines, left = { show.paint("bold", head, style) }, SHOWN
    local function put(from, data)
        local mark, first = from == "a" and ">" or "<", #lines + 1
        local part = data:sub(1, left)
        local head_end = select(2, part:find("\r?\n\r?\n")) -- a head of text may have a body of bytes
        local text = is_text(part) and part or head_end and is_text(part:sub(1, head_end)) and part:sub(1, head_end)
            or ""
        left = left - #part
        for line in (text == "" and "" or text:gsub("\n$", "") .. "\n"):gmatch "(.-)\r?\n" do
            lines[#lines + 1] = mark .. " " .. show.clean(line)
        end
        hex_lines(part:sub(#text + 1), mark, lines)
        for i = style.color and first or #lines + 1, #lines do
            lines[i] = (from == "a" and "\27[36m" or "\27[33m") .. lines[i] .. "\27[0m"
        end
    end
    local from, parts = nil, {}
    local function put_parts()
        if from and #parts > 0 and left > 0 then
            put(from, table.concat(parts))
        end
        parts = {}
    end
    for _, chunk in ipairs(v) do
        if chunk.from ~= from or chunk.missing or v.proto ~= "tcp" then
            put_parts()
        end
        from = chunk.from
        if chunk.missing and left > 0 then
            lines[#lines + 1] = show.paint("wrong", ("%s (%d byte%s missing)"):format(from == "a" and ">" or "<",
                chunk.missing, chunk.missing == 1 and "" or "s"), style)
        else
            parts[#parts + 1] = chunk.data
        end
    end
    put_parts()
    if #v.sent + #v.received > SHOWN then
        lines[#lines + 1] = ("... %d bytes more: .sent and .received have all"):format(#v.sent + #v.received - SHOWN)
    end
    return table.concat(lines, "\n")
end

--- The conversation that a packet is part of.
---@param list ringtap.list
---@param pkt ringtap.packet one of the list's, or any
---@return ringtap.view|ringtap.chunk[] flow in the order of the packets; a and b: the ends, a sent the first packet;
--- proto, packets; sent and received: all bytes of a and of b
function follow.follow(list, pkt)
    local wanted = ends_of(pkt)
    if not wanted then
        error("follow: the packet is of no flow: there are neither ports nor IP addresses in it", 2)
    end
    local v = { proto = wanted.proto, packets = 0 }
    local all = { a = {}, b = {} }
    local function emitter(from)
        return function(data, number, missing)
            if data ~= "" or missing then
                v[#v + 1] = { from = from, data = data, number = number, missing = missing }
                table.insert(all[from], data)
            end
        end
    end
    local directions = { a = direction.new(emitter "a"), b = direction.new(emitter "b") }
    for one, context in list:each() do
        local ends = ends_of(one)
        local forth = ends and ends.proto == wanted.proto and ends.from == wanted.from and ends.to == wanted.to
        local back = ends and ends.proto == wanted.proto and ends.from == wanted.to and ends.to == wanted.from
        if forth or back then
            v.packets = v.packets + 1
            v.a, v.b = v.a or ends.from, v.b or ends.to
            local from = ends.from == v.a and "a" or "b"
            local data = one:payload(ends.layer) or ""
            if ends.proto ~= "tcp" then
                directions[from].emit(data, context.number)
            else
                local function get(field)
                    return one[("tcp.%s#%d"):format(field, ends.number)]
                end
                local mine, other = directions[from], directions[from == "a" and "b" or "a"]
                local seq, length = get "seq_raw", math.max(get "len" or 0, #data)
                if get "flags.ack" and other.next then
                    other:give_up(get "ack_raw")
                end
                if get "flags.syn" then
                    mine.next, seq = (seq + 1) & 0xffffffff, (seq + 1) & 0xffffffff
                end
                if length > 0 then
                    mine:add { seq = seq, data = data, length = length, number = context.number }
                end
            end
        end
    end
    directions.a:give_up()
    directions.b:give_up()
    v.sent, v.received = table.concat(all.a), table.concat(all.b)
    return show.view(v, render)
end

return follow
