-- The prompt: its functions as a script calls them, and a dialogue in a terminal (tmux). Conditions are compared with
-- tshark's display filters, conversations with its "follow".

local follow = require "ringtap.follow"
local list = require "ringtap.list"
local live = require "support.live"
local repl = require "ringtap.repl"
local ringtap = require "ringtap"
local support = require "support"
local where = require "ringtap.where"

local quote = support.quote
local root_it = support.is_root() and it or pending
local dir, path

teardown(support.cleanup)

--- An Ethernet frame with IPv4 and TCP.
local function tcp(o)
    local ends = o.back and "\192\0\2\2\192\0\2\1" or "\192\0\2\1\192\0\2\2"
    local payload = o.payload or ""
    local flags = (o.syn and 2 or 0) | (o.ack and 16 or 0)
    local segment = (">I2I2I4I4I1I1I2I2I2"):pack(o.back and 80 or 40000, o.back and 40000 or 80, o.seq & 0xffffffff,
        o.ack or 0, 0x50, flags, 1000, 0, 0) .. payload
    local sum = live.checksum(ends .. (">I2I2"):pack(6, #segment) .. segment)
    segment = segment:sub(1, 16) .. (">I2"):pack(sum) .. segment:sub(19)
    local head = (">I1I1I2I2I2I1I1I2"):pack(0x45, 0, 20 + #segment, 1, 0, 64, 6, 0) .. ends
    return live.frame({}, 0x0800, head:sub(1, 10) .. (">I2"):pack(live.checksum(head)) .. head:sub(13) .. segment)
end

local function udp(o)
    return live.frame(o.tags or {}, 0x0800, live.ipv4(o))
end

local function arp(opcode)
    return live.frame({}, 0x0806, (">I2I2I1I1I2"):pack(1, 0x0800, 6, 4, opcode) .. "\2\0\0\0\0\x0a\192\0\2\1"
        .. "\0\0\0\0\0\0\192\0\2\2")
end

local frames = {
    udp { dport = 9, payload = "hello" },
    udp { dport = 9, payload = ("x"):rep(100) },
    udp { src = "192.0.2.2", dst = "192.0.2.1", sport = 9, dport = 40000, payload = "Answer\0\1" },
    udp { dport = 5000, tags = { { 0x8100, 100 } } },
    udp { src = "198.51.100.7", sport = 5000, dport = 5000 },
    arp(1),
    arp(2),
    tcp { seq = 100, syn = true },
    tcp { seq = 200, ack = 101, syn = true, back = true },
    tcp { seq = 101, ack = 201, payload = "GET / HTTP/1.1\r\n\r\n" },
}

setup(function()
    dir = support.tmpdir()
    path = dir .. "/x.pcap"
    live.write_pcap(path, frames)
end)

local function loaded()
    return repl.load(path)
end

local function numbers_of(all, some)
    local numbers = {}
    for _, pkt in ipairs(some) do
        for i, one in ipairs(all) do
            numbers[#numbers + 1] = rawequal(one, pkt) and i or nil
        end
    end
    return numbers
end

-- ------------------------------------------------------------------ conditions

describe("a condition", function()
    local cases = { -- ours, tshark's (nil: the same), packets
        { "udp.dstport == 9", nil, { 1, 2 } },
        { "udp.port == 9", nil, { 1, 2, 3 } },
        { "udp.port ~= 9 and udp", "udp.port != 9 and udp", { 4, 5 } },
        { "udp.dstport != 9", nil, { 3, 4, 5 } },
        { "arp", nil, { 6, 7 } },
        { "not udp and not arp", nil, { 8, 9, 10 } },
        { "vlan.id", nil, { 4 } },
        { "vlan.id == 100 or arp.opcode == 2", nil, { 4, 7 } },
        { "arp.opcode == 'reply'", "arp.opcode == 2", { 7 } },
        { "ip.src == 192.0.2.0/24", nil, { 1, 2, 3, 4, 8, 9, 10 } },
        { "ip.src ~= 192.0.2.0/24", "ip.src != 192.0.2.0/24", { 5 } },
        { "ip.src == 192.0.2.128/25", nil, {} },
        { "ip.src >= 192.0.2.2", nil, { 3, 5, 9 } },
        { "ip.addr == 198.51.100.7", nil, { 5 } },
        { "eth.src == 02:00:00:00:00:0A", nil, { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 } },
        { "eth.dst == 02-00-00-00-00-0b", nil, { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 } },
        { "udp.srcport == udp.dstport", nil, { 5 } },
        { "ip.src < ip.dst and udp", nil, { 1, 2, 4 } },
        { "ip.src ~= ip.dst and udp", "ip.src != ip.dst and udp", { 1, 2, 3, 4, 5 } },
        { "frame.len > 100", nil, { 2 } },
        { "frame.number >= 9", nil, { 9, 10 } },
        { "frame.time_relative <= 1", nil, { 1, 2 } },
        { "frame.time_delta == 0", nil, { 1 } },
        { "tcp.flags.syn == true", "tcp.flags.syn == 1", { 8, 9 } },
        { "tcp.flags.syn == 1 and tcp.flags.ack == 0", nil, { 8 } },
        { "frame contains 68:65:6c:6c:6f", nil, { 1 } },
        { "udp contains 'hello'", "udp contains \"hello\"", { 1 } },
        { 'udp.payload contains "wer\\x00"', nil, { 3 } },
        { "udp.payload == 68:65:6c:6c:6f", nil, { 1 } },
        { "udp.payload == 'hello'", "udp.payload == 68:65:6c:6c:6f", { 1 } },
        { "tcp.payload matches '^GET %S+ HTTP'", "tcp.payload matches \"^GET\"", { 10 } },
        { "udp.dstport == 9 or udp.dstport == 5000 and ip.src == 198.51.100.7", nil, { 1, 2, 5 } },
        { "(udp.dstport == 9 or udp.dstport == 5000) and ip.src == 198.51.100.7", nil, { 5 } },
        { "udp && !(udp.port == 9) || arp", nil, { 4, 5, 6, 7 } },
        { "0x9 == udp.dstport", "udp.dstport == 9", { 1, 2 } },
        { "1000 < udp.dstport", "udp.dstport > 1000", { 3, 4, 5 } },
        { "ip.addr != 192.0.2.1 and ip", nil, { 5 } },
        { "ip.addr ~= 192.0.2.1 and ip", "ip.addr != 192.0.2.1 and ip", { 5 } },
        { "udp.dstport in {5000}", nil, { 4, 5 } },
        { "udp.port in {1..10}", nil, { 1, 2, 3 } },
        { "udp.dstport in {9, 4000 .. 5000}", "udp.dstport in {9} or udp.dstport in {4000 .. 5000}", { 1, 2, 4, 5 } },
        { "udp.dstport not in {9} and udp", nil, { 3, 4, 5 } },
        { "not udp.dstport in {9} and udp", nil, { 3, 4, 5 } },
        { "ip.src in {192.0.2.2..192.0.2.9}", nil, { 3, 9 } },
        { "ip.src in {198.51.100.0/24}", nil, { 5 } },
        { "arp.opcode in {'reply'}", "arp.opcode in {2}", { 7 } },
    }

    it("chooses as many packets as tshark's display filter does, the right ones", function()
        local all, filters, expected = loaded(), {}, {}
        for _, case in ipairs(cases) do
            local some = all:where(case[1])
            assert.are.same(case[3], numbers_of(all, some), case[1])
            filters[#filters + 1] = case[2] or case[1]
            expected[#expected + 1] = ("%s: %d packets, %d bytes"):format(filters[#filters], #some,
                some:summary().bytes)
        end
        local out = support.must(("tshark -n -q -r %s -z %s"):format(path, quote("io,stat,0," .. table.concat(filters,
            ","))))
        local said = {}
        for packets, bytes in out:match("<> [%d.]+%s*|([^\n]*)"):gmatch "(%d+) |%s+(%d+) |" do
            said[#said + 1] = ("%s: %s packets, %s bytes"):format(filters[#said + 1], packets, bytes)
        end
        assert.are.same(expected, said)
    end)

    it("is a function, too", function()
        local all = loaded()
        assert.are.same({ 2 }, numbers_of(all, all:filter(function(pkt) return pkt.len > 100 end)))
    end)

    it("knows IPv6 in all its forms", function()
        local pack = function(text) return text:gsub("%x%x", function(x) return string.char(tonumber(x, 16)) end) end
        local packet = (">I4I2I1I1"):pack(0x60000000, 8, 17, 64) .. pack("fe800000000000000000000000000001")
            .. pack("20010db8000000000001000000000002") .. (">I2I2I2I2"):pack(1, 2, 8, 0xffff)
        local pkt = ringtap.memory({ live.frame({}, 0x86dd, packet) }):next(0)
        for text, expected in pairs {
            ["ipv6.src == fe80::1"] = true, ["ipv6.src == FE80:0:0:0:0:0:0:1"] = true, ["ipv6.src == fe80::2"] = false,
            ["ipv6.src == fe80::/10"] = true, ["ipv6.dst == 2001:db8::/32"] = true,
            ["ipv6.dst == 2001:db9::/32"] = false,
            ["ipv6.dst == 2001:db8::1:0:0:2"] = true, ["ipv6.src ~= ::"] = true, ["ipv6.src < 2001:db8::"] = false,
        } do
            assert.are.equal(expected, where.compile(text)(pkt), text)
        end
    end)

    it("compares times as times, as tshark does", function()
        local second = 1700000000 -- 2023-11-14 22:13:20 UTC
        local packets = {}
        for i, after in ipairs { 0, 10, 20.5 } do
            packets[i] = { frames[i], time = second * 1000000000 + math.floor(after * 1e9) }
        end
        local source, all = ringtap.memory(packets), list.new()
        local sink = assert(ringtap.write(dir .. "/times.pcap"))
        for pkt in source:packets() do
            all:add(pkt:copy())
            sink:send(pkt)
        end
        sink:close()
        local local_time = os.date("%Y-%m-%d %H:%M:%S", second + 10)
        local times = { -- condition, packets, whether tshark takes it too
            { 'frame.time > "2023-11-14 22:13:25Z"', { 2, 3 }, true },
            { 'frame.time == "2023-11-14T22:13:30Z"', { 2 }, true },
            { 'frame.time >= "2023-11-14 22:13:40.5Z"', { 3 }, true },
            { 'frame.time > "2023-11-14 23:13:35.25+01:00"', { 3 }, true },
            { 'frame.time < "Nov 14, 2023 22:13:30.000000001 UTC"', { 1, 2 }, true },
            { 'frame.time < "Nov  2, 2024 22:13:30 UTC"', { 1, 2, 3 }, true },
            { 'frame.time > "2024-02-29"', {}, true },
            { ('frame.time >= "%s"'):format(local_time), { 2, 3 }, true },
            { ('frame.time != "%s.0"'):format(local_time), { 1, 3 }, true },
            { "frame.time_epoch > 1700000000", { 2, 3 }, true },
            { "frame.time_epoch == 1700000020.500000000", { 3 }, true },
            { 'frame.time_epoch <= "2023-11-14 22:13:30Z"', { 1, 2 } },
            { "frame.time == 2023-11-14T22:13:30Z", { 2 } },
            { 'frame.time in {"2023-11-14 22:13:25Z" .. "2023-11-14 22:13:35Z"}', { 2 }, true },
            { "frame.time == frame.time_epoch", { 1, 2, 3 } },
        }
        times[#times + 1] = { ('frame.time == "%s"'):format(all[2]["frame.time"]), { 2 } }
        local filters, expected = {}, {}
        for _, case in ipairs(times) do
            local some = all:where(case[1])
            assert.are.same(case[2], numbers_of(all, some), case[1])
            if case[3] and not case[1]:find "," then -- which separates filters there
                filters[#filters + 1] = case[1]
                expected[#expected + 1] = ("%s: %d"):format(case[1], #some)
            end
        end
        local out = support.must(("tshark -n -q -r %s/times.pcap -z %s"):format(dir, quote("io,stat,0,"
            .. table.concat(filters, ","))))
        local said = {}
        for packets_there in out:match("<> [%d.]+%s*|([^\n]*)"):gmatch "(%d+) |%s+%d+ |" do
            said[#said + 1] = ("%s: %s"):format(filters[#said + 1], packets_there)
        end
        assert.are.same(expected, said)
    end)

    it("that is wrong raises one line that says where", function()
        for text, expected in pairs {
            ["udp.dsport == 9"] = "'udp.dsport == 9': no protocol has a field 'udp.dsport' (did you mean 'udp.dstport'",
            ["udp.dstport = 9"] = "'=' is not understood (did you mean '=='?)",
            ["udp.dstport =="] = "something is missing behind '=='",
            ["(udp"] = "a ')' is missing",
            ["udp)"] = "')' is out of place",
            [""] = "something is missing at its end",
            ["53"] = "'53' alone is no condition",
            ["53 == 54"] = "a comparison needs the name of a field",
            ["udp == 53"] = "'udp' is a protocol: its name alone asks whether it is there",
            ["ip.src == 1.2.3"] = "'1.2.3' is not understood",
            ["ip.src == 1.2.3.256"] = "ip.src is an IPv4 address, '1.2.3.256' is none",
            ["ip.src == 1.2.3.0/33"] = "1.2.3.0/33: a prefix of an IPv4 address has at most 32 bits",
            ["ip.src > 1.2.3.0/24"] = "a prefix like 1.2.3.0/24 is compared with == or ~=",
            ["eth.src == fe80::1"] = "eth.src is a MAC address, 'fe80::1' is none",
            ["ip.ttl == 'many'"] = "ip.ttl is a number, and none of its values is called 'many'",
            ["udp.payload == 5"] = "udp.payload is bytes; '5' is not (write 00:1b:2c or \"text\")",
            ["udp.payload contains udp"] = "after 'contains' comes a string or bytes like 00:1b:2c",
            ["udp matches '[a'"] = "'[a' is no Lua pattern: malformed pattern (missing ']')",
            ["udp contains 'a"] = "the string that begins with 'a has no end",
            ["udp udp"] = "'udp' is out of place",
            ["frame.time > 'x'"] = "frame.time is a time, 'x' is none (write \"2023-11-14 22:13:30.25\"",
            ["frame.time > '2023-02-29'"] = "frame.time is a time, '2023-02-29' is none",
            ["frame.time > '2023-11-14 25:00'"] = "'2023-11-14 25:00' is none",
            ["frame.time > 5"] = "frame.time is a time, '5' is none",
            ["frame.time_epoch > 'x'"] = "or seconds since 1970)",
            ["frame.time > frame.len"] = "frame.time is a time, frame.len is none",
            ["ntp.xmt == 'now'"] = "ntp.xmt is a time, 'now' is none",
            ["udp.port in 5"] = "after 'in' come values, as in {1, 5..9}",
            ["udp.port in {}"] = "'}' is out of place: between '{' and '}' are values",
            ["udp.port in {5"] = "a '}' is missing",
            ["udp.port in {5 6}"] = "a '}' is missing",
            ["udp.port in {5.."] = "a '}' is missing",
            ["udp.port in {'many'}"] = "udp.port is a number",
            ["udp in {5}"] = "'udp' is a protocol",
            ["5 in {5}"] = "before 'in' comes the name of a field",
            ["udp.port not 5"] = "'not' is out of place",
            ["tcp.flags & 2"] = "'&' is not understood (help\"where\" tells the language)",
            ["eth.dst[0:3] == 1"] = "'[' is not understood (help\"where\" tells the language)",
            ["tcp.port == {80 443}"] = "'{' is out of place (help\"where\" tells the language)",
            ["tcp.port in {80 443}"] = "a '}' is missing, or a ',' between two values",
            ["len(dns.qry.name) > 3"] = "there are no functions like 'len('",
            ["dns.qry.type == A"] = "(text needs quotes: 'A')",
            ["dns.flags.response == yes"] = "(write true or false)",
            ["arp.opcode in {reply}"] = "are values (text needs quotes: 'reply')",
            ["IP.SRC == 192.0.2.1"] = "no protocol has a field 'IP.SRC' (did you mean 'ip.src'?)",
            ["ip.src#0 == 192.0.2.1"] = "'ip.src#0': #0 is no layer: #1 is the first",
        } do
            local ok, message = pcall(where.compile, text)
            assert.is_false(ok, text)
            assert.is_truthy(message:find(expected, 1, true), message)
            assert.is_nil(message:find "\n")
        end
        assert.has_error(function() loaded():where(5) end)
    end)

    it("that is wrong names the caller's line, and so do a wrong field and one that is no number", function()
        local all = loaded()
        for _, call in ipairs {
            function() local x = repl.where(all, "udp.dsport == 9") return x end,
            function() local x = all:where "udp.dsport == 9" return x end,
            function() local x = all:where(5) return x end,
            function() local x = repl.count(all, "udp.dsport") return x end,
            function() local x = all:count("udp.dstport", "udp.dsport") return x end,
            function() local x = repl.hist(all, "udp.dsport") return x end,
            function() local x = all:hist "udp.payload" return x end,
            function() local x = where.compile "udp." return x end,
        } do
            local ok, message = pcall(call)
            assert.is_false(ok)
            local place = ("%s:%d: "):format(debug.getinfo(call, "S").short_src, debug.getinfo(call, "S").linedefined)
            assert.are.equal(place, message:sub(1, #place), message)
            assert.is_nil(message:find("lua/ringtap", 1, true), message)
        end
    end)
end)

-- ------------------------------------------------------------------ lists

describe("a list", function()
    it("has packets by number, each once in memory however many lists it is in", function()
        local all = loaded()
        assert.are.equal(#frames, #all)
        assert.are.equal(frames[3], all[3]:bytes())
        local some = all:where "udp"
        assert.is_true(rawequal(all[1], some[1]))
        assert.is_true(rawequal(all[2], all:sub(2, 3)[1]))
        local seen = 0
        for i, pkt in ipairs(all) do
            seen = seen + 1
            assert.are.equal(frames[i], pkt:bytes())
        end
        assert.are.equal(#frames, seen)
        assert.is_nil(all[#frames + 1])
    end)

    it("is cut as a string is", function()
        local all = loaded()
        assert.are.same({ 2, 3 }, numbers_of(all, all:sub(2, 3)))
        assert.are.same({ 9, 10 }, numbers_of(all, all:sub(-2)))
        assert.are.same({ 1 }, numbers_of(all, all:sub(-100, 1)))
        assert.are.same({ 1, 2, 3, 4, 5, 6, 7, 8 }, numbers_of(all, all:sub(1, -3)))
        assert.are.same({}, numbers_of(all, all:sub(5, 4)))
    end)

    it("prints as a table", function()
        local text = tostring(loaded())
        local lines = {}
        for line in text:gmatch "[^\n]+" do
            lines[#lines + 1] = line
        end
        assert.are.equal(#frames + 1, #lines)
        assert.is_truthy(lines[1]:find "^No%. +Time  Source +Destination +Protocol  Length  Info$")
        assert.is_truthy(lines[2]:find
            "^  1  0%.000000  192%.0%.2%.1 +192%.0%.2%.2 +%u+ +47  40000 > 9: UDP, length 5$")
        assert.is_truthy(lines[4]:find
            "^  3  2%.000000  192%.0%.2%.2 +192%.0%.2%.1 +%u+ +50  9 > 40000: UDP, length 8$")
        assert.is_truthy(lines[7]:find "^  6  5%.000000  02:00:00:00:00:0a  02:00:00:00:00:0b  ARP +42  ARP, ")
        assert.is_truthy(lines[9]:find "TCP +54  40000 > 80: Flags %[S%]")
        assert.is_nil(text:find "\27")
        assert.are.equal("no packets", tostring(loaded():where "icmp"))
    end)

    it("leaves out the middle of a long table, and says so", function()
        local many = list.new()
        for _ = 1, 20 do
            for _, pkt in ipairs(loaded()) do
                many:add(pkt)
            end
        end
        local text = tostring(many)
        assert.is_truthy(text:find("\n 50  ", 1, true))
        assert.is_truthy(text:find("\n... 145 more: p:sub(51, 100) shows some of them\n196  ", 1, true))
        assert.is_nil(text:find("\n 51  ", 1, true))
    end)

    it("fits a width and has colours where it is asked to", function()
        local all = loaded()
        for line in all:render { width = 60 }:gmatch "[^\n]+" do
            assert.is_true(#line <= 60)
        end
        local colored = all:render { color = true }
        assert.is_truthy(colored:find("\27[32mTCP\27[0m", 1, true))
        assert.are.equal(all:render {}, (colored:gsub("\27%[%d*m", "")))
    end)

    it("is written to a file that has the same packets", function()
        local all = loaded()
        for _, name in ipairs { "y.pcapng", "y.pcap" } do
            local saved = repl.save(all:where "udp", dir .. "/" .. name)
            assert.are.equal(("5 packets written to %s/%s"):format(dir, name), tostring(saved))
            assert.are.equal("5", (support.must(("tshark -n -r %s/%s | wc -l"):format(dir, name)):match "%d+"))
            local again = repl.load(dir .. "/" .. name)
            assert.are.equal(frames[3], again[3]:bytes())
            assert.are.equal(all[3].time, again[3].time)
        end
        assert.has_error(function() repl.save(all, dir .. "/no/such/y.pcap") end)
        assert.has_error(function() repl.save(all) end, 'save: to which file? save(p, "x.pcapng")')
        assert.are.equal(1, #repl.load(dir .. "/y.pcap", { count = 1 }))
        assert.are.equal(2, #repl.load(dir .. "/y.pcap", { filter = "udp dst port 9" }))
    end)
end)

-- ------------------------------------------------------------------ what is asked of all of them

describe("count", function()
    it("has each value with its number, the most frequent first", function()
        local c = repl.count(loaded(), "ip.src")
        assert.are.same({ { "192.0.2.1", 5 }, { "192.0.2.2", 2 }, { "198.51.100.7", 1 } },
            { { c[1].value, c[1].count }, { c[2].value, c[2].count }, { c[3].value, c[3].count } })
        assert.are.same({ 8, 2 }, { c.total, c.without })
        assert.are.equal(table.concat({
            "ip.src        count       %",
            "192.0.2.1         5    62.5",
            "192.0.2.2         2    25.0",
            "198.51.100.7      1    12.5",
            "(2 packets without)",
        }, "\n"), tostring(c))
    end)

    it("counts every occurrence, combinations, functions, and names what has a name", function()
        local all = loaded()
        local ports = repl.count(all, "udp.port")
        assert.are.same({ "40000", 4, "9", 3 }, { ports[1].value, ports[1].count, ports[2].value, ports[2].count })
        assert.are.equal(10, ports.total)
        local pairs_of = all:count("ip.src", "ip.dst")
        assert.are.same({ "192.0.2.1", "192.0.2.2" }, pairs_of[1].values)
        local lengths = all:count(function(pkt) return pkt.len > 60 and "long" or "short" end)
        assert.are.same({ "short", "long" }, { lengths[1].value, lengths[2].value })
        assert.is_truthy(tostring(all:count "ip.proto"):find("17 (UDP)", 1, true))
        assert.has_error(function() all:count() end, 'count: which field? count(p, "ip.src")')
        local ok, message = pcall(all.count, all, "ip.srx")
        assert.is_true(not ok and message:find("did you mean 'ip.src'", 1, true) ~= nil)
    end)
end)

describe("count of several fields", function()
    it("has its columns under each other", function()
        assert.are.equal(table.concat({
            "ip.src        ip.dst     count       %",
            "192.0.2.1     192.0.2.2      5    62.5",
            "192.0.2.2     192.0.2.1      2    25.0",
            "198.51.100.7  192.0.2.2      1    12.5",
            "(2 packets without)",
        }, "\n"), tostring(repl.count(loaded(), "ip.src", "ip.dst")))
        assert.has_error(function() repl.count(loaded(), "IP.SRC") end,
            "no protocol has a field 'IP.SRC' (did you mean 'ip.src'?)")
    end)
end)

describe("hist", function()
    it("has the numbers in bins of a round width", function()
        local h = repl.hist(loaded(), "frame.len", 3)
        assert.are.same({ 10, 42, 142 }, { h.total, h.least, h.most })
        local bins = {}
        for i, bin in ipairs(h) do
            bins[i] = { bin.from, bin.to, bin.count }
        end
        assert.are.same({ { 0, 50, 3 }, { 50, 100, 6 }, { 100, 150, 1 } }, bins)
        local lines = {}
        for line in h:render { width = 40 }:gmatch "[^\n]+" do
            lines[#lines + 1] = line
            assert.is_true(#line <= 40 or #lines == 1)
        end
        assert.is_truthy(lines[2]:find "^   0 %- 49  3  #+$")
        assert.are.equal(40 - #"100 - 149  1  ", #lines[3]:match "#+")
        assert.is_truthy(lines[4]:find "^100 %- 149  1  #+$")
    end)

    it("has numbers of every occurrence, of functions, of time, and nothing that is none", function()
        local all = loaded()
        assert.are.equal(10, all:hist("udp.port").total)
        local one = all:hist(function(pkt) return pkt.vlan and pkt.vlan.id end)
        assert.are.same({ 1, 100, 1 }, { one.total, one.least, #one })
        local time = all:hist("frame.time_relative", 2)
        assert.are.same({ 5, 5 }, { time[1].count, time[2].count })
        assert.are.equal("nothing to plot: no packet has dns.id", tostring(all:hist "dns.id"))
        assert.has_error(function() all:hist "ip.src" end, "hist: ip.src is no number: '192.0.2.1'")
    end)
end)

describe("summary", function()
    it("has packets, bytes, time, rates and protocols as they lie in each other", function()
        local s, bytes = repl.summary(loaded()), 0
        for _, frame in ipairs(frames) do
            bytes = bytes + #frame
        end
        assert.are.same({ 10, bytes, 9.0, 1700000001000000000 }, { s.packets, s.bytes, s.duration, s.first })
        assert.are.equal(10 / 9, s.rate)
        assert.are.equal(bytes * 8 / 9, s.bit_rate)
        local paths = {}
        for _, p in ipairs(s.protocols) do
            paths[p.path] = p.packets
        end
        assert.are.same({ 10, 7, 4, 2, 1 }, { paths.eth, paths["eth:ip"], paths["eth:ip:udp"], paths["eth:arp"],
            paths["eth:vlan:ip:udp"] })
        local text = tostring(s)
        assert.is_truthy(text:find("^10 packets, " .. bytes .. " bytes, from "))
        assert.is_truthy(text:find("2023-11-14 22:13:21.000000 UTC, 9.000000 s, 1.1 packets/s, ", 1, true))
        assert.is_truthy(text:find "\n    udp +4 +%d+\n")
        assert.are.equal("0 packets, 0 bytes", (tostring(repl.summary(list.new()))))
    end)
end)

-- ------------------------------------------------------------------ conversations

describe("follow", function()
    local request, answer = "GET / HTTP/1.1\r\n\r\n", ("0123456789"):rep(20)

    local function flow(segments)
        local packets = {}
        for i, segment in ipairs(segments) do
            packets[i] = ringtap.memory({ segment }):next(0)
        end
        return follow.follow(list.new(packets), packets[1])
    end

    it("puts TCP in order, takes what came twice once, and agrees with tshark", function()
        local segments = {
            tcp { seq = 0xfffffff0, syn = true },
            tcp { seq = 500, ack = 0xfffffff1, syn = true, back = true },
            tcp { seq = 0xfffffff1, ack = 501, payload = request },
            tcp { seq = 501, ack = 3, payload = answer:sub(1, 50), back = true },
            tcp { seq = 601, ack = 3, payload = answer:sub(101, 150), back = true }, -- too early
            tcp { seq = 0xfffffff1, ack = 501, payload = request }, -- again
            tcp { seq = 541, ack = 3, payload = answer:sub(41, 120), back = true }, -- in part again
            tcp { seq = 651, ack = 3, payload = answer:sub(151, 200), back = true },
        }
        local v = flow(segments)
        assert.are.same({ "192.0.2.1:40000", "192.0.2.2:80", "tcp", 8 }, { v.a, v.b, v.proto, v.packets })
        assert.are.equal(request, v.sent)
        assert.are.equal(answer, v.received)
        local file = dir .. "/flow.pcap"
        live.write_pcap(file, segments)
        local hex = { "", "" }
        local out = support.must("tshark -n -q -r " .. file .. " -z follow,tcp,raw,0")
        for tab, line in out:gmatch "\n(\t?)(%x+)%f[\n]" do
            local side = tab == "" and 1 or 2
            hex[side] = hex[side] .. line
        end
        local function to_hex(bytes)
            return (bytes:gsub(".", function(c) return ("%02x"):format(c:byte()) end))
        end
        assert.are.same({ to_hex(v.sent), to_hex(v.received) }, hex)
    end)

    it("says what is missing, as soon as the other end has acknowledged it", function()
        local v = flow {
            tcp { seq = 1, ack = 1, payload = "first" },
            tcp { seq = 16, ack = 1, payload = "third" },
            tcp { seq = 1, ack = 21, payload = "answer", back = true },
            tcp { seq = 31, ack = 7, payload = "last" },
        }
        local pieces = {}
        for i, chunk in ipairs(v) do
            pieces[i] = { chunk.from, chunk.missing or chunk.data, chunk.number }
        end
        assert.are.same({ { "a", "first", 1 }, { "a", 10, 2 }, { "a", "third", 2 }, { "b", "answer", 3 },
            { "a", 10, 4 }, { "a", "last", 4 } }, pieces)
        assert.are.equal("firstthirdlast", v.sent)
        assert.is_truthy(tostring(v):find(
            "> first\n> (10 bytes missing)\n> third\n< answer\n> (10 bytes missing)\n> last", 1, true))
    end)

    it("has UDP's datagrams one by one, of the list that the packet came from", function()
        local all = loaded()
        local v = repl.follow(all[2])
        assert.are.same({ "192.0.2.1:40000", "192.0.2.2:9", "udp", 3 }, { v.a, v.b, v.proto, v.packets })
        assert.are.equal("hello" .. ("x"):rep(100), v.sent)
        assert.are.equal("Answer\0\1", v.received)
        local text = tostring(v)
        assert.is_truthy(text:find "\n> hello\n> x+\n")
        assert.is_truthy(text:find("\n< 0000:  416e 7377 6572 0001 ", 1, true))
        assert.are.equal(2, repl.follow(all:sub(1, 2), 1).packets)
        assert.are.equal(3, repl.follow(all:sub(1, 2)[1]).packets)
        assert.are.equal(3, all:follow(3).packets)
        assert.has_error(function() repl.follow(all, 6) end,
            "follow: the packet is of no flow: there are neither ports nor IP addresses in it")
        assert.has_error(function() repl.follow(all, 11) end, "follow: there is no packet 11, there are 10")
        local gone = loaded()[1]
        collectgarbage()
        collectgarbage()
        assert.has_error(function() repl.follow(gone) end, "follow: the packet's list is gone: follow(p, 3)")
    end)
end)

-- ------------------------------------------------------------------ the other functions

describe("the functions of the prompt", function()
    it("sniff a file, with options as the loops have them", function()
        assert.are.equal(10, #repl.sniff { file = path })
        assert.are.equal(3, #repl.sniff { file = path, count = 3 })
        assert.are.equal(2, #repl.sniff { file = path, filter = "udp dst port 9" })
        assert.are.equal(10, #repl.sniff(path))
        assert.has_error(function() repl.sniff() end,
            'sniff: from where? sniff{iface = "eth0"} or sniff{file = "x.pcap"}')
        assert.has_error(function() repl.sniff { file = path, filtr = "udp" } end,
            "sniff: unknown option 'filtr' (did you mean 'filter'?)")
        assert.has_error(function() repl.sniff { file = path, promisc = true } end,
            "sniff: 'promisc' is for packets from an interface, and these come from " .. path)
        local ok, message = pcall(repl.sniff, { iface = "nosuch0" })
        assert.is_true(not ok and message:find("nosuch0: No such device", 1, true) ~= nil)
        support.write_file(dir .. "/torn.pcap", support.read_file(path):sub(1, -5))
        local torn = repl.sniff { file = dir .. "/torn.pcap" }
        assert.are.equal(9, #torn)
        assert.is_truthy(tostring(torn):find "\n[^\n]*torn%.pcap: offset %d+[^\n]*$")
    end)

    it("show a packet and its bytes", function()
        local all = loaded()
        assert.are.equal(require("ringtap.show").show(all[3]), tostring(repl.show(all[3])))
        assert.are.equal(tostring(repl.show(all[3])), tostring(repl.show(all, 3)))
        assert.are.equal(all[3]:hex(), tostring(repl.hex(all[3])))
        assert.is_truthy(tostring(repl.hex(all[3], "udp.dstport")):find "%^%^%^%^")
        assert.has_error(function() repl.show(all) end, "show: which packet? show(p[3])")
        assert.has_error(function() repl.show(all, 99) end, "show: there is no packet 99, there are 10")
    end)

    it("take what was edited or built as a packet", function()
        local q = repl.edit(loaded()[1])
        q["ip.ttl"] = 3
        assert.is_truthy(tostring(repl.show(q)):find "\n    ip%.ttl +3 ")
        assert.is_truthy(tostring(repl.hex(q, "ip.ttl")):find "%^%^")
        assert.are.equal("2 packets written to " .. dir .. "/q.pcap", tostring(repl.save({ q,
            ringtap.eth {} / ringtap.ip { dst = "10.0.0.1", ttl = 4 } }, dir .. "/q.pcap")))
        local again = repl.load(dir .. "/q.pcap")
        assert.are.same({ 3, 4 }, { again[1]["ip.ttl"], again[2]["ip.ttl"] })
        repl.save(q, dir .. "/q.pcap")
        assert.are.equal(1, #repl.load(dir .. "/q.pcap"))
        assert.has_error(function() repl.save(nil, dir .. "/q.pcap") end,
            "save: the first argument is a packet or a list, not nil")
        assert.has_error(function() repl.send(q) end, 'send: on which interface? send(pkt, "eth0")')
        assert.has_error(function() repl.send(nil, "lo") end, "send: the first argument is a packet or a list, not nil")
    end)

    root_it("send what was taken, built and edited", function()
        local ns <close> = support.namespaces()
        local cap = assert(ringtap.capture(ns.b_if, { netns = ns.b, filter = "udp", direction = "in" }))
        local how = { iface = ns.a_if, netns = ns.a }
        local built = ringtap.eth { src = ns.a_mac, dst = ns.b_mac } / ringtap.ip { src = ns.a_ip, dst = ns.b_ip }
            / ringtap.udp { dstport = 9 } / "hello"
        assert.are.equal("1 packet sent on " .. ns.a_if, tostring(repl.send(built, how)))
        assert.are.equal("2 packets sent on " .. ns.a_if, tostring(repl.send({ built, built:packet() }, how)))
        assert.are.equal("1 packet sent on " .. ns.a_if, tostring(repl.send(built:bytes(), how)))
        local edited = repl.edit(built:packet())
        edited["ip.ttl"] = 3
        local report = repl.send(edited, { iface = ns.a_if, netns = ns.a, count = 5, vary = { ["ip.id"] = "counter" } })
        assert.are.equal(5, report.packets)
        local ttls = {}
        for pkt in cap:packets { count = 9, duration = 5 } do
            ttls[#ttls + 1] = pkt["ip.ttl"]
            assert.are.equal("ok", pkt.checksum)
        end
        cap:close()
        assert.are.same({ 64, 64, 64, 64, 3, 3, 3, 3, 3 }, ttls)
    end)

    root_it("sniff and send by AF_XDP", function()
        local ns <close> = support.namespaces()
        local built = ringtap.eth { src = ns.a_mac, dst = ns.b_mac } / ringtap.ip { src = ns.a_ip, dst = ns.b_ip }
            / ringtap.udp { dstport = 9 } / "hello"
        local report = repl.send(built, { iface = ns.a_if, netns = ns.a, backend = "xdp", count = 2 })
        assert.are.same({ 2, "xdp" }, { report.packets, report.method })
        local code = ("p = sniff{iface = %q, netns = %q, backend = 'xdp', pass = 'arp', count = 4, duration = 10}\n"
            .. "count(p, 'udp.length')\n"):format(ns.b_if, ns.b)
        local process = support.spawn(("printf %%s %s | %s repl"):format(support.quote(code), support.ringtap))
        assert(support.wait_for(function()
            return support.must(("ip -n %s link show dev %s"):format(ns.b, ns.b_if)):find("prog/xdp", 1, true)
        end, 10))
        live.blast(ns, { count = 4 })
        local status, out, err = support.wait(process, 15)
        assert.are.same({ 0, "" }, { status, err })
        assert.is_truthy(out:find "\n72 +4 +100%.0")
        assert.is_truthy(tostring(repl.help "sniff"):find("xdp", 1, true))
        assert.is_truthy(tostring(repl.help "send"):find("ringtap.port", 1, true))
    end)

    it("say what they take", function()
        local all = loaded()
        for expected, call in pairs {
            ["follow: which packet? follow(p[3]) or follow(p, 3), not nil: the list has no such packet"] = function()
                repl.follow(all[100])
            end,
            ["follow: which packet? follow(p[3]) or follow(p, 3), not a number"] = function() repl.follow(3) end,
            ["sniff: options are a table, an interface or a file, not number: sniff{count = 10}"] = function()
                repl.sniff(3)
            end,
            ['load: options are a table, as in load("x.pcap", {filter = "udp"}), not number'] = function()
                repl.load(path, 3)
            end,
            ['load: which file? load("x.pcap")'] = function() repl.load(3) end,
            ["fields: '[' is no Lua pattern: malformed pattern (missing ']')"] = function() repl.fields "[" end,
            ['fields: of what? fields"udp" or a Lua pattern, not number'] = function() repl.fields(3) end,
        } do
            assert.has_error(call, expected)
        end
    end)

    it("list the protocols with the number of their fields, and the fields of one", function()
        local rows, sum = repl.fields(), 0
        for _, row in ipairs(rows) do
            sum = sum + row.fields
            if row.name == "udp" then
                assert.are.same({ #repl.fields "udp", "User Datagram Protocol" }, { row.fields, row.title })
            end
        end
        assert.are.same({ #ringtap.field_names(), rows.total }, { sum, sum })
        assert.is_truthy(tostring(rows):find("\nudp +%d+  User Datagram Protocol\n"))
        for _, row in ipairs(repl.fields "udp") do
            assert.are.equal("udp.", row.name:sub(1, 4))
        end
        assert.are.equal(sum, #repl.fields "")
    end)

    it("show the place in a filter that can't be compiled", function()
        local expected = "can't parse filter expression: syntax error\n  udp prot 53\n      ^\n"
        for _, line in ipairs { 'sniff{file = %q, filter = "udp prot 53"}', 'load(%q, {filter = "udp prot 53"})' } do
            assert.are.same({ 1, "", expected }, { support.run(support.ringtap .. " repl", line:format(path) .. "\n") })
        end
        assert.are.same({ 1, "", "a\n" }, { support.run(support.ringtap .. " repl", 'error "a\\nb"\n') })
    end)

    it("have an example of queries that finds queries", function()
        local queries = udp { dport = 53, payload = ("\0"):rep(12) }
        local one = list.new { ringtap.memory({ queries }):next(0) }
        local condition = tostring(repl.help "where"):match 'where%(p, "(udp%.dstport == 53 and [^"]*)"%)'
        assert.are.equal(1, #one:where(condition))
    end)

    it("list fields and help", function()
        local rows = repl.fields "^udp%.dst"
        assert.are.equal("udp.dstport", rows[1].name)
        assert.is_truthy(tostring(rows):find "^udp%.dstport +Destination Port")
        assert.are.equal("no field's name matches nosuch", tostring(repl.fields "nosuch"))
        local help = tostring(repl.help())
        for _, name in ipairs { "sniff", "load", "save", "show", "hex", "where", "count", "hist", "summary", "follow",
            "edit", "send", "fields" } do
            assert.is_truthy(help:find("  " .. name .. "[%p%s]"), name)
            assert.is_true(#tostring(repl.help(name)) > 0)
            assert.are.equal(tostring(repl.help(name)), tostring(repl.help(repl[name])))
        end
        assert.has_error(function() repl.help "nosuch" end,
            "help: there is nothing about 'nosuch'; help() lists what there is")
    end)

    it("are globals of a script after -l, and load stays Lua's for what is no file", function()
        support.write_file(dir .. "/script.lua", [[
            local p = load(arg[1])
            print(#p, #where(p, "udp"), load("return 7")(), load(function() return nil end) ~= nil)
        ]])
        assert.are.equal("10\t5\t7\ttrue\n", (support.must(("env LUA_PATH=%s LUA_CPATH=%s lua5.4 -l ringtap.repl %s %s")
            :format(quote(live.lua_path .. ";;"), quote(live.lua_cpath .. ";;"), quote(dir .. "/script.lua"), path))))
        assert.is_nil(rawget(_G, "sniff"))
    end)
end)

describe("Tab", function()
    local complete = require "ringtap.repl.complete"

    local function words(word, before, env)
        local found = complete(word, before, env or repl.globals {})
        if found then
            table.sort(found)
        end
        return found
    end

    it("completes names of fields inside of quotes", function()
        assert.are.same({ "udp.dstport" }, words("udp.dst", 'where(p, "'))
        assert.are.same({ "udp.dstport" }, words("udp.dst", 'where(p, "ip.src == 192.0.2.1 and '))
        assert.are.same({ "udplite" }, words("udpl", "p[1]['"))
    end)

    it("leaves names of files to readline", function()
        assert.is_nil(words("x", 'load("'))
        assert.is_nil(words("x", 'load "'))
        assert.is_nil(words("x", 'save(p, "'))
        assert.is_nil(words("x", "sniff{file = '"))
        assert.are.same({ "lo" }, words("lo", 'sniff{iface = "'))
    end)

    it("completes functions, methods, members and options", function()
        local env = repl.globals { p = loaded() }
        env.pkt = env.p[3]
        assert.are.same({ "summary" }, words("summ", "", env))
        assert.are.same({ "summary" }, words("summ", "x = p:", env))
        assert.are.same({ "hold" }, words("hol", "p[3]:", env))
        assert.are.same({ ".caplen" }, words(".caple", "x = p[3]", env))
        assert.are.same({ ".udp.dstport" }, words(".udp.dst", "p[3]", env))
        assert.are.same({ "pkt.udp.dstport" }, words("pkt.udp.dst", "print(", env))
        assert.are.same({ "pkt.caplen" }, words("pkt.caple", "", env))
        assert.are.same({ "ringtap.field_names" }, words("ringtap.field_", "", env))
        assert.are.same({ "duration" }, words("dur", "sniff{count = 3, ", env))
        assert.are.same({ "backend" }, words("back", "sniff{count = 3, ", env))
        assert.are.same({ "ringtap.port" }, words("ringtap.por", "", env))
        assert.are.same({ "while" }, words("whi", "", env))
        assert.are.same({}, words("x", "nosuch.thing:", env))
    end)
end)

-- ------------------------------------------------------------------ the command, without a terminal

describe("ringtap repl", function()
    it("runs lines that are piped in, without a prompt, and its status says whether all went well", function()
        local status, out, err = support.run(support.ringtap .. " repl -r " .. path,
            "p = sniff{count = 3}\n#p\nfor i = 1, 2 do\nprint(i)\nend\n{1, a = {'b'}}\nnil\n'a\\0b'\nudp\n")
        assert.are.same({ 0, "" }, { status, err })
        assert.are.equal('3\n1\n2\n{1, a = {"b"}}\nnil\n"a\\x00b"\nprotocol udp (User Datagram Protocol)\n', out)
        status, out, err = support.run(support.ringtap .. " repl", "nosuch()\n1 +* 2\nx =\n")
        assert.are.equal(1, status)
        assert.are.equal("", out)
        assert.is_truthy(err:find "^attempt to call a nil value %(global 'nosuch'%)\nunexpected symbol near '%*'\n")
        status, out = support.run(support.ringtap .. " repl", "1\nexit\n2\n")
        assert.are.same({ 0, "1\n" }, { status, out })
    end)

    it("tells a wrong command line, and what is not there", function()
        local status, _, err = support.run(support.ringtap .. " repl -i lo -r x")
        assert.are.equal(2, status)
        assert.is_truthy(err:find "^ringtap: %-i and %-r exclude each other\n")
        status, _, err = support.run(support.ringtap .. " repl -r " .. dir .. "/nosuch.pcap")
        assert.are.equal(1, status)
        assert.is_truthy(err:find "nosuch%.pcap: No such file or directory\n$")
        status, _, err = support.run(support.ringtap .. " repl -i nosuch0")
        assert.are.equal(1, status)
        assert.is_truthy(err:find "^ringtap: nosuch0: No such device\n$")
        local help = support.must(support.ringtap .. " repl --help")
        assert.is_truthy(help:find("Usage: ringtap repl [-i IF | -r FILE]", 1, true))
        assert.is_truthy(support.must(support.ringtap .. " --help"):find "\n  repl +%a")
    end)
end)

-- ------------------------------------------------------------------ a dialogue

local PROMPT = "ringtap>"

--- A terminal of its own, with a command in it.
local terminal = { count = 0 }
terminal.__index = terminal

local socket -- of a tmux of this spec's own

function terminal.open(command, home, environment)
    terminal.count = terminal.count + 1
    if not socket then
        socket = support.tmpdir() .. "/tmux"
        support.spawn(("env -u TMUX -u NO_COLOR tmux -S %s -f /dev/null -D"):format(socket))
        support.wait_for(function() return support.run(("tmux -S %s show-options -s"):format(socket)) == 0 end)
    end
    local self = setmetatable({ name = "t" .. terminal.count }, terminal)
    support.must(("tmux -S %s new-session -d -s %s -x 120 -y 50 %s"):format(socket, self.name,
        quote(("exec env HOME=%s %s %s"):format(home, environment or "", command))))
    self:wait(PROMPT .. "$")
    return self
end

function terminal:tmux(command, rest)
    return (support.must(("tmux -S %s %s -t %s %s"):format(socket, command, self.name, rest or "")))
end

--- What is on the screen and above it, without blanks and empty lines at the ends.
function terminal:screen(options)
    return (self:tmux("capture-pane", "-p -J -S - " .. (options or "")):gsub(" +\n", "\n"):gsub("%s+$", ""))
end

function terminal:wait(pattern)
    local screen
    return support.wait_for(function()
        screen = self:screen()
        return screen:find(pattern) and screen
    end, 20) or error(("'%s' did not come; there is:\n%s"):format(pattern, screen), 2)
end

function terminal:keys(...)
    self:tmux("send-keys", table.concat({ ... }, " "))
end

function terminal:type(text)
    self:tmux("send-keys", "-l -- " .. quote(text))
end

--- Nothing but the prompt is left.
function terminal:clear()
    self:keys "C-l"
    assert(support.wait_for(function()
        self:tmux("clear-history")
        return self:screen() == PROMPT
    end), "no prompt")
end

--- Type a line and wait for the next prompt; what came between.
function terminal:ask(line)
    self:clear()
    self:type(line)
    self:keys "Enter"
    local plain = line:gsub("%p", "%%%0")
    local screen = self:wait("^" .. PROMPT .. " " .. plain .. "\n.*" .. PROMPT .. "$")
    return (screen:match(" " .. plain .. "\n(.*)" .. PROMPT .. "$"):gsub("\n$", ""))
end

function terminal:close()
    support.run(("tmux -S %s kill-session -t %s"):format(socket, self.name))
end

describe("a dialogue at a terminal", function()
    teardown(function()
        if socket then
            support.run("tmux -S " .. socket .. " kill-server")
        end
    end)

    it("takes packets from a file, shows, chooses, counts and saves them", function()
        local t = terminal.open(support.ringtap .. " repl -r " .. path, dir)
        assert.is_truthy(t:screen():find("^ringtap [^\n]*, packets from " .. path:gsub("%p", "%%%0")))
        assert.are.equal("", t:ask "p = sniff()")
        assert.are.equal("10", t:ask "#p")
        local rows = t:ask "p"
        assert.is_truthy(rows:find
            "^No%. +Time  Source +Destination +Protocol  Length  Info\n  1  0%.000000  192%.0%.2%.1 ")
        assert.is_truthy(rows:find "\n 10  9%.000000  192%.0%.2%.1 +192%.0%.2%.2 +%u+ +72  40000 > 80: [^\n]*$")
        for line in rows:gmatch "[^\n]+" do
            assert.is_true(#line <= 120)
        end
        assert.is_truthy(t:ask "p[1]":find "192%.0%.2%.1%.40000 > 192%.0%.2%.2%.9: UDP, length 5$")
        local tree = t:ask "show(p[1])"
        assert.is_truthy(tree:find("\nInternet Protocol Version 4 (ip), 20 bytes at 14\n", 1, true))
        assert.is_truthy(tree:find "\n    udp%.dstport +9 +Destination Port\n")
        assert.is_truthy(t:screen "-e":find("\27[36m", 1, true))
        assert.is_truthy(t:ask 'hex(p[1], "udp.dstport")':find("0x0020:  0202 9c40 0009 000d", 1, true))
        assert.is_truthy(t:screen "-e":find("\27[7m0009\27[0m", 1, true))
        assert.is_truthy(t:ask 'count(p, "ip.src")':find "\n192%.0%.2%.1 +5 +62%.5\n")
        local plot = t:ask 'hist(p, "frame.len")'
        assert.are.equal(120, #plot:match "\n([^\n]*####[^\n]*)")
        assert.are.equal("2", t:ask '#where(p, "udp.dstport == 9")')
        assert.is_truthy(t:ask "summary(p)":find "^10 packets, ")
        assert.is_truthy(t:ask "follow(p[2])":find "^udp  192%.0%.2%.1:40000 > 192%.0%.2%.2:9  3 packets, ")
        assert.are.equal("4 packets written to " .. dir .. "/z.pcapng", t:ask(
            'save(p:where "udp":sub(1, 4), "' .. dir .. '/z.pcapng")'))
        assert.are.equal("4", (support.must("tshark -n -r " .. dir .. "/z.pcapng | wc -l"):match "%d+"))
        t:close()
    end)

    it("says what is wrong in one line and goes on; Ctrl-C stops a call and clears a line, as often as it is pressed",
        function()
            local t = terminal.open(support.ringtap .. " repl", dir)
            t:ask("p = load '" .. path .. "'")
            assert.is_truthy(t:ask 'p[1]["udp.dsport"]'
                :find "^a packet has no field or method 'udp%.dsport' %(did you mean [^\n]*%)$")
            assert.is_truthy(t:ask 'where(p, "udp.dstport = 9")'
                :find "^'udp%.dstport = 9': '=' is not understood [^\n]*$")
            assert.are.equal("attempt to call a nil value (global 'nosuch')", t:ask "nosuch()")
            for _ = 1, 3 do
                t:clear()
                t:type "while true do end"
                t:keys "Enter"
                t:wait "end\n?$"
                support.sleep(0.1)
                t:keys "C-c"
                t:wait("interrupted\n" .. PROMPT .. "$")
            end
            t:type "half a line"
            t:wait "half a line$"
            t:keys "C-c"
            t:wait("half a line%^C\n" .. PROMPT .. "$")
            t:type "for i = 1, 2 do"
            t:keys "Enter"
            t:wait ">>$"
            t:keys "C-c"
            t:wait(PROMPT .. "$")
            assert.are.equal("10", t:ask "#p")
            t:close()
        end)

    it("completes and edits lines, and knows those of the time before", function()
        local home = support.tmpdir()
        local t = terminal.open(support.ringtap .. " repl", home)
        t:type "fields('udp.dst"
        t:keys "Tab"
        t:wait "fields%('udp%.dstport$"
        t:type "')"
        t:keys "Enter"
        t:wait("\nudp%.dstport +Destination Port\n.*" .. PROMPT .. "$")
        t:type "1 + 3"
        t:keys("Left", "4", "Enter") -- 1 + 43
        t:wait("\n44\n" .. PROMPT .. "$")
        t:keys "C-d"
        support.wait_for(function()
            return support.run(("tmux -S %s has-session -t %s"):format(socket, t.name)) ~= 0
        end)
        assert.are.equal("fields('udp.dstport')\n1 + 43\n", support.read_file(home .. "/.ringtap_history"))
        t = terminal.open(support.ringtap .. " repl", home)
        t:keys("Up", "Up")
        t:wait(PROMPT .. " fields%('udp%.dstport'%)$")
        t:keys("Down", "Enter")
        t:wait("\n44\n" .. PROMPT .. "$")
        t:close()
    end)

    it("has no colours when NO_COLOR says so, and is the same for lua5.4 -i -l ringtap.repl", function()
        local t = terminal.open("lua5.4 -i -l ringtap.repl", dir, ("NO_COLOR=1 LUA_PATH=%s LUA_CPATH=%s"):format(
            quote(live.lua_path .. ";;"), quote(live.lua_cpath .. ";;")))
        t:ask("p = load '" .. path .. "'")
        assert.is_truthy(t:ask "show(p[1])":find("\nEthernet (eth), 14 bytes at 0\n", 1, true))
        assert.is_nil(t:screen "-e":find "\27%[3%dm")
        assert.is_truthy(t:ask 'hex(p[1], "udp")':find("^^^^", 1, true))
        assert.are.equal("attempt to call a nil value (global 'nosuch')", t:ask "nosuch()")
        t:keys "C-d"
        t:close()
    end)

    root_it("takes packets from an interface, until there are enough or Ctrl-C is pressed #root", function()
        local ns <close> = support.namespaces()
        local t = terminal.open(ns:exec("b", support.ringtap .. " repl -i " .. ns.b_if), dir)
        local function listening(n)
            assert(support.wait_for(function() return live.sockets(ns, "b") == n end), "no socket")
        end
        t:type 'p = sniff{count = 20, filter = "udp"}' -- the other end answers with ICMP
        t:keys "Enter"
        listening(1)
        live.blast(ns, { count = 20, size = 100 })
        t:wait("udp\"}\n" .. PROMPT .. "$")
        listening(0)
        assert.is_truthy(t:ask "p":find
            "\n 20  %d+%.%d+  192%.0%.2%.1  192%.0%.2%.2 +%u+ +142  %d+ > 9: UDP, length 100$")
        assert.is_truthy(t:ask 'count(p, "udp.dstport")':find "\n9 +20 +100%.0$")
        assert.is_truthy(t:ask 'hist(p, "frame.len")':find
            "^frame%.len: 20 values, least 142, most 142, mean 142\n142 +20  #+$")
        assert.is_truthy(t:ask "show(p[1])":find("^Packet: 142 bytes, [^\n]*, veth_b, in\n"))
        assert.are.equal("20", t:ask '#where(p, "ip.src == 192.0.2.1 and udp.dstport == 9")')
        assert.are.equal("20 packets written to " .. dir .. "/live.pcapng",
            t:ask('save(p, "' .. dir .. '/live.pcapng")'))
        assert.are.equal("20", (support.must("tshark -n -r " .. dir .. "/live.pcapng | wc -l"):match "%d+"))

        t:type 'q = sniff{filter = function(x) if x.icmp then return end io.write("+") io.flush() return true end}'
        t:keys "Enter"
        t:wait "capturing on veth_b, Ctrl%-C stops"
        live.blast(ns, { count = 5 })
        t:wait "\n%+%+%+%+%+$"
        t:keys "C-c"
        t:wait("%+%+%+%+%+%^C\n" .. PROMPT .. "$")
        assert.are.equal("{5, 0}", t:ask "{#q, q.dropped}")
        listening(0)
        t:close()
    end)
end)
