-- What the live_*_spec.lua files share: sources and senders in the namespaces of support.lua, frames, workers.

local support = require "support"
local ringtap = require "ringtap"

local quote = support.quote

local live = {}

live.root = support.is_root() -- also makes the scratch directory, before anything that is to be undone there

--- 1-based place of the payload of a UDP datagram in an Ethernet frame with one IPv4 header and no tag.
live.payload = 14 + 20 + 8 + 1

--- A source on the interface of one side; an error when it can't be had.
---@param ns support.namespaces
---@param side "a"|"b"
---@param options? ringtap.capture_options
---@param ifname? string
---@return ringtap.source
function live.capture(ns, side, options, ifname)
    local o = { netns = ns[side] }
    for k, v in pairs(options or {}) do
        o[k] = v
    end
    return assert(ringtap.capture(ifname or ns[side .. "_if"], o))
end

--- The command for udp_blast from a to b: numbered datagrams, from 1.
---@param o {count: integer, rate?: integer, size?: integer, first?: integer, port?: integer, from?: string}
function live.blast_command(ns, o)
    return ns:exec("a", ("%s %s %s %d %d %d %d %d"):format(support.compile("udp_blast.c"), o.from or ns.a_ip,
        ns.b_ip, o.port or 9, o.count, o.rate or 0, o.size or 64, o.first or 1))
end

--- Send numbered datagrams and wait until that is done.
---@return integer sent the sender's own count
function live.blast(ns, o)
    return assert(tonumber((support.must(live.blast_command(ns, o)))))
end

--- The same, without waiting: support.wait() it.
---@return support.process
function live.start_blast(ns, o)
    return support.spawn(live.blast_command(ns, o))
end

--- Wait for a blast.
---@return integer sent
function live.sent(process)
    local status, out, err = support.wait(process, 60)
    assert(status == 0, err)
    return assert(tonumber(out))
end

--- Send link-layer frames as they are.
---@param frames string[]
---@param ifname? string
---@return integer sent as the kernel took them
function live.send(ns, side, frames, ifname)
    local list = {}
    for i, frame in ipairs(frames) do
        list[i] = (">s2"):pack(frame)
    end
    return assert(tonumber((support.must(ns:exec(side, support.compile("raw_send.c") .. " " .. (ifname
        or ns[side .. "_if"])), table.concat(list)))))
end

--- Lines of /proc/net/packet in a namespace: its packet sockets.
---@return integer
function live.sockets(ns, side)
    local n = -1 -- the headings
    for _ in support.must(ns:exec(side, "cat /proc/net/packet")):gmatch("[^\n]+") do
        n = n + 1
    end
    return n
end

--- A counter of an interface: /sys/class/net/*/statistics.
---@return integer
function live.counter(ns, side, name)
    return assert(tonumber((support.must(ns:exec(side, ("cat /sys/class/net/%s/statistics/%s"):format(
        ns[side .. "_if"], name))))))
end

--- The Internet checksum.
---@param bytes string
---@return integer
function live.checksum(bytes)
    local sum = 0
    if #bytes % 2 == 1 then
        bytes = bytes .. "\0"
    end
    for i = 1, #bytes, 2 do
        sum = sum + (">I2"):unpack(bytes, i)
    end
    while sum > 0xffff do
        sum = (sum & 0xffff) + (sum >> 16)
    end
    return ~sum & 0xffff
end

local function address(text)
    local a, b, c, d = text:match("^(%d+)%.(%d+)%.(%d+)%.(%d+)$")
    return string.char(a, b, c, d)
end

--- An IPv4 packet with a UDP datagram, checksums right.
---@param o? {src: string?, dst: string?, sport: integer?, dport: integer?, payload: string?}
---@return string
function live.ipv4(o)
    o = o or {}
    local payload = o.payload or ("p"):rep(26)
    local ends = address(o.src or "192.0.2.1") .. address(o.dst or "192.0.2.2")
    local udp = (">I2I2I2I2"):pack(o.sport or 40000, o.dport or 9, 8 + #payload, 0) .. payload
    local sum = live.checksum(ends .. (">I2I2"):pack(17, #udp) .. udp)
    udp = udp:sub(1, 6) .. (">I2"):pack(sum == 0 and 0xffff or sum) .. udp:sub(9)
    local head = (">I1I1I2I2I2I1I1I2"):pack(0x45, 0, 20 + #udp, 1, 0, 64, 17, 0) .. ends
    return head:sub(1, 10) .. (">I2"):pack(live.checksum(head)) .. head:sub(13) .. udp
end

live.macs = "\2\0\0\0\0\x0b\2\0\0\0\0\x0a" -- from a to b

--- An Ethernet frame: tags are {tpid, tci} pairs, outermost first.
---@param tags integer[][]
---@param ethertype integer
---@param payload string
---@return string
function live.frame(tags, ethertype, payload)
    local parts = { live.macs }
    for _, tag in ipairs(tags) do
        parts[#parts + 1] = (">I2I2"):pack(tag[1], tag[2])
    end
    parts[#parts + 1] = (">I2"):pack(ethertype)
    parts[#parts + 1] = payload
    return table.concat(parts)
end

--- A pcap file with these frames.
---@param path string
---@param frames string[]
---@param linktype? integer
function live.write_pcap(path, frames, linktype)
    local parts = { ("<I4I2I2i4I4I4I4"):pack(0xa1b23c4d, 2, 4, 0, 0, 262144, linktype or 1) }
    for i, frame in ipairs(frames) do
        parts[#parts + 1] = ("<I4I4I4I4"):pack(1700000000 + i, 0, #frame, #frame) .. frame
    end
    support.write_file(path, table.concat(parts))
end

local pwd = assert(io.popen("pwd")):read("l")
local build = os.getenv("RINGTAP_BUILD") or ".build"

--- Where the module is, for a Lua program elsewhere.
live.lua_path = pwd .. "/lua/?.lua;" .. pwd .. "/lua/?/init.lua"
live.lua_cpath = (build:sub(1, 1) == "/" and build or pwd .. "/" .. build) .. "/lib/?.so"

local preamble = ([[package.path, package.cpath = %q, %q
local ringtap = require "ringtap"
]]):format(live.lua_path .. ";;", live.lua_cpath .. ";;")

--- A file with a Lua program in which `ringtap` is loaded already.
---@param directory string
---@param name string
---@param code string
---@return string path quoted
function live.program(directory, name, code)
    local path = directory .. "/" .. name
    support.write_file(path, preamble .. code)
    return quote(path)
end

--- The wall clock, in seconds.
---@return number
function live.clock()
    return assert(tonumber((support.must("date +%s.%N"))))
end

--- Strictly rising numbers: raises at the first one that isn't. Returns how many there are.
---@param numbers integer[]
---@return integer
function live.assert_rising(numbers)
    for i = 2, #numbers do
        if numbers[i] <= numbers[i - 1] then
            error(("number %d comes after %d"):format(numbers[i], numbers[i - 1]), 2)
        end
    end
    return #numbers
end

--- A handle whose time is over: everything raises, with the sentence that says why.
---@param pkt ringtap.packet
function live.assert_stale(pkt)
    for _, use in ipairs { function() return pkt.len end, function() return #pkt end, function() return pkt:bytes() end,
        function() return pkt:copy() end, function() return pkt:hold() end, function() return tostring(pkt) end } do
        local ok, message = pcall(use)
        if ok or not message:find("stale packet: it was valid until the loop's next step "
            .. "(use pkt:copy() or pkt:hold())", 1, true) then
            error("not stale: " .. tostring(message), 2)
        end
    end
end

--- CPU time that a process has used, in seconds (both of user and system).
---@param pid integer
---@return number
function live.cpu_time(pid)
    local stat = assert(support.read_file(("/proc/%d/stat"):format(pid)))
    local utime, stime = stat:match("%) %S+ %S+ %S+ %S+ %S+ %S+ %S+ %S+ %S+ %S+ %S+ (%d+) (%d+)")
    return (utime + stime) / 100
end

--- Descriptors that this process has open.
---@return integer
function live.descriptors()
    local pid = support.read_file("/proc/self/stat"):match("%d+")
    return assert(tonumber((support.must("ls /proc/" .. pid .. "/fd | wc -l"))))
end

--- The number that udp_blast put at the head of a datagram.
function live.number_of(pkt)
    return (pkt:unpack(">I4", live.payload))
end

return live
