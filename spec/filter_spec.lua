-- Filters: as Lua values, as text, and the one meaning that an expression has on every engine.
--
-- Expected answers come from outside: tcpdump -r (libpcap's own interpreter) on the frames as the expression is to see
-- them, that is, without the outermost tag when it doesn't say vlan. The kernel's program is run here by a small
-- interpreter that has the kernel's extra loads, and, as root, by the kernel itself.
local core = require "ringtap.core"
local ringtap = require "ringtap"
local support = require "support"

local filter = ringtap.filter

-- ------------------------------------------------------------------ frames

local function random_source(seed)
    local state = seed
    return function(n) -- 0 .. n - 1; the same on every machine and in every run
        state = (state * 6364136223846793005 + 1442695040888963407)
        return (state >> 33) % n
    end
end

local TPID = { [0x8100] = true, [0x88a8] = true, [0x9100] = true }
local macs = { "\2\0\0\0\0\1", "\2\0\0\0\0\2", "\255\255\255\255\255\255", "\1\0\x5e\0\0\1" }

local function frame_maker(seed)
    local rnd = random_source(seed)
    local function pick(...)
        return (select(rnd(select("#", ...)) + 1, ...))
    end
    local function noise(n)
        local t = {}
        for i = 1, n do
            t[i] = string.char(rnd(3) == 0 and 0 or rnd(256))
        end
        return table.concat(t)
    end
    local function ports()
        return string.pack(">I2I2", pick(53, 80, 443, 5, 0), pick(53, 80, 443, 5, 0))
    end
    local function ip4()
        local words, proto = pick(5, 5, 5, 6, 15), pick(6, 17, 17, 1, 132, 47)
        local payload = ports() .. noise(8 + rnd(60))
        return string.pack(">I1I1I2I2I2I1I1I2", 0x40 | words, 0, words * 4 + #payload, rnd(65536),
            pick(0, 0, 0, 0x2000, 7), 64, proto, 0)
            .. "\192\0\2" .. string.char(1 + rnd(3)) .. pick("\192", "\224") .. "\0\2" .. string.char(1 + rnd(3))
            .. noise(words * 4 - 20) .. payload
    end
    local function ip6()
        local payload = ports() .. noise(8 + rnd(60))
        local host = "\x20\x01\x0d\xb8" .. ("\0"):rep(11)
        return string.pack(">I4I2I1I1", 0x60000000, #payload, pick(6, 17, 58, 44, 0), 64)
            .. host .. string.char(1 + rnd(2)) .. host .. string.char(1 + rnd(2)) .. payload
    end
    return function()
        local frame = macs[rnd(4) + 1] .. macs[rnd(2) + 1]
        for _ = 1, pick(0, 0, 1, 1, 2, 3) do
            local tpid, tci = pick(0x8100, 0x8100, 0x88a8, 0x9100), pick(0, 5, 100, 0x7005, rnd(65536))
            frame = frame .. string.pack(">I2I2", tpid, tci)
        end
        local kind = rnd(8)
        if kind < 3 then
            frame = frame .. "\8\0" .. ip4()
        elseif kind < 5 then
            frame = frame .. "\x86\xdd" .. ip6()
        elseif kind == 5 then
            frame = frame .. "\8\6\0\1\8\0\6\4\0" .. string.char(1 + rnd(2)) .. noise(36)
        elseif kind == 6 then
            frame = frame .. string.pack(">I2", pick(0x8847, 0x8864, 46, rnd(65536))) .. noise(rnd(100))
        else
            frame = frame .. noise(rnd(40))
        end
        if rnd(5) == 0 then
            frame = frame:sub(1, rnd(pick(21, #frame + 1)))
        end
        return frame
    end
end

local function make_frames(seed, count)
    local make, list = frame_maker(seed), {}
    for i = 1, count do
        list[i] = make()
    end
    return list
end

local function is_tagged(frame)
    return #frame >= 16 and TPID[string.unpack(">I2", frame, 13)] or false
end

local function without_tag(frame)
    return is_tagged(frame) and frame:sub(1, 12) .. frame:sub(17) or frame
end

-- ------------------------------------------------------------------ expressions

local plain_expressions = { -- they don't say vlan
    "", "ip", "ip6", "arp", "tcp", "udp", "icmp", "icmp6", "sctp", "udp port 53", "tcp port 80", "port 53",
    "src port 53", "dst port 443", "portrange 50-90", "host 192.0.2.1", "src host 192.0.2.2", "net 192.0.2.0/24",
    "ip6 host 2001:db8::1", "ether host 02:00:00:00:00:01", "ether src 02:00:00:00:00:02", "broadcast", "multicast",
    "ether proto 0x8100", "ether proto 0x88a8", "ether proto 0x0800", "len > 60", "less 60", "len = 16", "len < 20",
    "tcp[tcpflags] & (tcp-syn|tcp-fin) != 0", "tcp[((tcp[12:1] & 0xf0) >> 2):4] != 0", "ip[6:2] & 0x1fff = 0",
    "ether[12:2] = 0x0800", "ether[13:2] = 5", "ether[11:4] & 0xff != 3", "ether[10:4] != 0", "ether[15:4] > 77",
    "ether[ether[20]:4] & 0xff != 3", "ether[ether[20] & 15:2] > 300", "ether[ether[0:4]:4] = 1",
    "ether[len - 4:4] != 0", "ether[0xfffff000] = 1", "ether[0xfffff030:4] = 1", "ether[0 - 1] >= 0",
    "ether[0x7ffffffe:4] = 0", "ether[1] << ether[2] > 3", "ether[0:4] >> ether[14] > 3", "ether[14] / ether[15] > 1",
    "ether[14:2] % ether[16] = 1", "not ip", "not (ip or ip6)", "ip6 protochain 17", "mpls", "pppoes and ip",
}
local vlan_expressions = { -- they do
    "vlan", "vlan 5", "vlan and ip", "vlan and udp port 53", "vlan and vlan", "vlan and vlan and ip",
    "ip or (vlan and ip)", "(vlan and ip) or ip", "not vlan", "ip and not vlan", "vlan and ether[14:2] = 5",
    "vlan and ether[13:2] = 5", "vlan and ether[11:4] != 0", "vlan and ether[15:4] > 9", "vlan or len > 60",
    "vlan and len <= 64", "vlan or ether[ether[20] & 15:2] > 300", "vlan or ether[ether[3] + ether[5] + 10:4] > 300",
    "vlan or ether[ether[0:4]:4] = 1", "vlan or ether[len - 4:4] != 0", "vlan or ether[0xfffff030:4] = 1",
    "vlan and tcp[((tcp[12:1] & 0xf0) >> 2):4] != 0", "vlan and ip6 and udp port 53",
}

-- Random arithmetic on bytes at random places.
local function expression_maker(seed)
    local rnd = random_source(seed)
    local function pick(list)
        return list[rnd(#list) + 1]
    end
    local arithmetic
    local function load(depth)
        return ("%s[%s:%d]"):format(pick { "ether", "ether", "ip", "udp", "tcp" },
            depth > 0 and rnd(3) == 0 and arithmetic(depth - 1)
            or rnd(12) == 0 and pick { "0xfffff000", "0xffffffff", "0x7fffffff" } or tostring(rnd(40)),
            pick { 1, 2, 4 })
    end
    function arithmetic(depth)
        if depth == 0 or rnd(4) == 0 then
            local kind = rnd(5)
            return kind < 3 and load(depth) or kind == 3 and "len" or tostring(rnd(40))
        end
        return ("(%s %s %s)"):format(arithmetic(depth - 1), pick { "+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>" },
            rnd(2) == 0 and tostring(1 + rnd(31)) or arithmetic(depth - 1))
    end
    return function()
        local e = ("%s %s %d"):format(arithmetic(2), pick { "=", "!=", "<", ">", "<=", ">=" }, rnd(300))
        return pick { "%s", "%s", "vlan and %s", "ip or vlan or %s", "not %s" }:format(e)
    end
end

local function says_vlan(expr)
    return (" " .. expr .. " "):find("[ (]vlan[ )]") ~= nil
end

-- ------------------------------------------------------------------ engines

-- The numbers of the frames that tcpdump lets through, from a file with each one's number as its time; nil: refused.
local function tcpdump_answer(path, expr)
    local status, out = support.run(("tcpdump -r %s -w - %s 2>/dev/null"):format(path, support.quote(expr)))
    if status ~= 0 then
        return nil
    end
    local set, at = {}, 25
    while at < #out do
        local number, _, caplen = string.unpack("<I4I4I4", out, at)
        set[number] = true
        at = at + 16 + caplen
    end
    return set
end

local function write_pcap(path, frames)
    local parts = { string.pack("<I4I2I2I4I4I4I4", 0xa1b2c3d4, 2, 4, 0, 0, 262144, 1) }
    for i, frame in ipairs(frames) do
        parts[#parts + 1] = string.pack("<I4I4I4I4", i, 0, #frame, #frame) .. frame
    end
    support.write_file(path, table.concat(parts))
end

local AD = 0xfffff000

-- The kernel's socket filter: skb is {data=, and by offset from AD what stands beside it}.
local function run_kernel(program, skb)
    local a, x, mem, pc = 0, 0, {}, 1
    local data = skb.data
    local function load(offset, size)
        if offset >= 0x80000000 then
            error("an offset that the kernel takes for something else")
        end
        return offset + size <= #data and string.unpack(">I" .. size, data, offset + 1) or nil
    end
    local sizes = { [0x00] = 4, [0x08] = 2, [0x10] = 1 }
    local alu = {
        [0x00] = function(v) return a + v end,
        [0x10] = function(v) return a - v end,
        [0x20] = function(v) return a * v end,
        [0x30] = function(v) return v ~= 0 and a // v or nil end,
        [0x40] = function(v) return a | v end,
        [0x50] = function(v) return a & v end,
        [0x60] = function(v) return a << (v & 31) end,
        [0x70] = function(v) return a >> (v & 31) end,
        [0x80] = function() return -a end,
        [0x90] = function(v) return v ~= 0 and a % v or nil end,
        [0xa0] = function(v) return a ~ v end,
    }
    local jumps = {
        [0x10] = function(v) return a == v end,
        [0x20] = function(v) return a > v end,
        [0x30] = function(v) return a >= v end,
        [0x40] = function(v) return a & v ~= 0 end,
    }
    while true do
        local i = program[pc]
        local class, mode, op, v = i.code & 7, i.code & 0xe0, i.code & 0xf0, i.code & 8 ~= 0 and x or i.k
        pc = pc + 1
        if class == 6 then
            return i.code & 0x18 == 0x10 and a or i.k
        elseif class == 0 or class == 1 then
            local r
            if mode == 0x20 and i.k >= AD then
                r = assert(skb[i.k - AD], "no such ancillary value")
            elseif mode == 0x20 then
                r = load(i.k, sizes[i.code & 0x18])
            elseif mode == 0x40 then
                r = load(x + i.k & 0xffffffff, sizes[i.code & 0x18])
            elseif mode == 0x80 then
                r = #data
            elseif mode == 0xa0 then
                r = load(i.k, 1)
                r = r and (r & 0xf) << 2
            elseif mode == 0x60 then
                r = assert(mem[i.k], "scratch memory read before it was written")
            else
                r = i.k
            end
            if not r then
                return 0
            end
            if class == 0 then a = r else x = r end
        elseif class == 2 or class == 3 then
            assert(i.k < 16)
            mem[i.k] = class == 2 and a or x
        elseif class == 4 then
            assert(i.code & 8 ~= 0 or op ~= 0x30 and op ~= 0x90 or i.k > 0)
            a = alu[op](v)
            if not a then
                return 0
            end
            a = a & 0xffffffff
        elseif class == 5 then
            pc = pc + (op == 0 and i.k or jumps[op](v) and i.jt or op ~= 0 and i.jf or 0)
        elseif i.code & 0xf8 == 0 then
            x = a
        else
            a = x
        end
    end
end

-- Both ways in which the kernel may have a frame: the tag in the data, and beside it.
local function kernel_views(frame)
    local views = { { data = frame, [48] = 0, [44] = 0, [60] = 0, [4] = 4 } }
    local tpid = is_tagged(frame) and string.unpack(">I2", frame, 13)
    if tpid and tpid ~= 0x9100 and #frame >= 20 then
        views[2] = { data = without_tag(frame), [48] = 1, [44] = string.unpack(">I2", frame, 15), [60] = tpid, [4] = 0 }
    end
    return views
end

local function hex(s)
    return (s:gsub(".", function(c) return ("%02x"):format(c:byte()) end))
end

-- Ask all engines about all frames; nil when libpcap refuses the expression.
local function compare(frames, dir, expr, options)
    local want = tcpdump_answer(dir .. (says_vlan(expr) and "/asis.pcap" or "/untagged.pcap"), expr)
    local f, message = filter.compile(expr, options)
    assert.equal(want ~= nil, f ~= nil, expr .. ": " .. tostring(message))
    if not f then
        return nil
    end
    local program, no_program, errno = f:kernel_program { snaplen = 99 }
    if not program then
        assert.equal(95, errno, no_program) -- ENOTSUP: user space does it
    end
    local matched, kernel_runs = 0, 0
    for i, frame in ipairs(frames) do
        local expected = want[i] or false
        if f:matches(frame) ~= expected then
            error(("user space, %q on %s: expected %s"):format(expr, hex(frame), expected))
        end
        for _, view in ipairs(program and kernel_views(frame) or {}) do
            if run_kernel(program, view) ~= (expected and 99 or 0) then
                error(("kernel program, %q on %s, tag beside %d: expected %s"):format(expr, hex(frame), view[48],
                    expected))
            end
            kernel_runs = kernel_runs + 1
        end
        matched = matched + (expected and 1 or 0)
    end
    return matched, kernel_runs
end

-- ------------------------------------------------------------------ specs

describe("filter values", function()
    it("become text, with parentheses where operands are compound", function()
        assert.equal("udp", tostring(filter.udp))
        assert.equal("udp and port 53", tostring(filter.udp & filter.port(53)))
        assert.equal("(udp and port 53) and (not host 192.0.2.1)",
            tostring(filter.udp & filter.port(53) & ~filter.host("192.0.2.1")))
        assert.equal("arp or (ip6 and tcp)", tostring(filter.arp | filter.ip6 & filter.tcp))
        assert.equal("not (arp or ip6)", tostring(~(filter.arp | filter.ip6)))
        assert.equal("tcp and (ip or arp)", tostring(filter.tcp & "ip or arp"))
        assert.equal("(ip or arp) and tcp", tostring("ip or arp" & filter.tcp))
        assert.equal("udp and (tcp or arp)", tostring(filter.udp & assert(filter.compile("tcp or arp"))))
    end)

    it("have every primitive", function()
        for text, f in pairs {
            ["ip"] = filter.ip, ["ip6"] = filter.ip6, ["arp"] = filter.arp, ["tcp"] = filter.tcp,
            ["icmp"] = filter.icmp, ["icmp6"] = filter.icmp6, ["sctp"] = filter.sctp, ["broadcast"] = filter.broadcast,
            ["multicast"] = filter.multicast, ["vlan"] = filter.vlan, ["vlan 5"] = filter.vlan(5),
            ["port 53"] = filter.port(53), ["port domain"] = filter.port("domain"),
            ["portrange 1-2"] = filter.portrange(1, 2), ["host 2001:db8::1"] = filter.host("2001:db8::1"),
            ["net 192.0.2.0/24"] = filter.net("192.0.2.0/24"), ["net 2001:db8::/32"] = filter.net("2001:db8::/32"),
            ["src host 192.0.2.1"] = filter.src.host("192.0.2.1"), ["dst host ::1"] = filter.dst.host("::1"),
            ["src port 1"] = filter.src.port(1), ["dst port 2"] = filter.dst.port(2),
            ["src net 10.0.0.0/8"] = filter.src.net("10.0.0.0/8"), ["dst net 10"] = filter.dst.net("10"),
            ["src portrange 1-9"] = filter.src.portrange(1, 9), ["dst portrange 1-9"] = filter.dst.portrange(1, 9),
            ["ether host 02:00:00:00:00:01"] = filter.ether.host("02:00:00:00:00:01"),
            ["ether src 2:0:0:0:0:1"] = filter.ether.src("2:0:0:0:0:1"),
            ["ether dst 02-00-00-00-00-01"] = filter.ether.dst("02-00-00-00-00-01"),
            ["ether proto 2048"] = filter.ether.proto(0x0800), ["ether proto \\arp"] = filter.ether.proto("arp"),
            ["proto 17"] = filter.proto(17), ["proto \\udp"] = filter.proto("udp"), ["less 64"] = filter.less(64),
            ["greater 1000"] = filter.greater(1000), ["ip[0] & 0xf > 5"] = filter.expr("ip[0] & 0xf > 5"),
        } do
            assert.equal(text, tostring(f))
            assert(filter.compile(f))
            assert(f:compile())
        end
    end)

    it("raise on arguments that are not what they say", function()
        local function refuses(pattern, f, ...)
            local ok, message = pcall(f, ...)
            assert.is_false(ok)
            assert.matches(pattern, message)
        end
        refuses("70000 is not a port number", filter.port, 70000)
        refuses("not a port number", filter.port, -1)
        refuses("not a port number", filter.port, nil)
        refuses("'53 or tcp' is not a name", filter.port, "53 or tcp")
        refuses("ascending", filter.portrange, 9, 1)
        refuses("not an address", filter.host, "192.0.2.1 or tcp")
        refuses("not an address", filter.host, "a)b")
        refuses("a nil is not an address", filter.host, nil)
        refuses("not a network", filter.net, "192.0.2.0/33")
        refuses("not a network", filter.src.net, "10/8 or ip")
        refuses("not a MAC", filter.ether.host, "02:00:00:00:00")
        refuses("not an integer from 0 to 4095", filter.vlan, 4096)
        refuses("not an integer from 0 to 255", filter.proto, 256)
        refuses("not an integer", filter.less, 1.5)
        refuses("'%)' without '%('", filter.expr, "ip) or (tcp")
        refuses("'%(' without '%)'", function() return filter.udp & "(tcp" end)
        refuses("zero byte", filter.expr, "ip\0or tcp")
        refuses("zero byte", filter.compile, "ip\0or tcp")
        refuses("can't be combined with a table", function() return filter.udp & {} end)
        refuses("can't be combined with a function", function() return filter.udp | print end)
        refuses("its negation nothing", function() return ~filter.expr(" ") end)
        refuses("not a table", filter.compile, {})
        refuses("unknown option 'optimise' %(did you mean 'optimize'%?%)", filter.compile, "ip", { optimise = true })
    end)

    it("raise on an unknown name, with the nearest", function()
        assert.error_matches(function() return filter.prot end,
            "ringtap.filter has no 'prot' (did you mean 'proto'", 1, true)
        assert.error_matches(function() return filter.src.hots end,
            "ringtap.filter.src has no 'hots' (did you mean 'host'", 1, true)
        assert.error_matches(function() return filter.zzzzzz end, "ringtap.filter has no 'zzzzzz'", 1, true)
    end)

    it("treat the empty expression as everything", function()
        assert.equal("udp", tostring(filter.udp & ""))
        assert.equal("", tostring(filter.udp | ""))
        assert.is_true(assert(filter.compile("")):matches(""))
        assert.is_true(assert(filter.compile(" \n ")):matches("x"))
    end)

    it("are annotated, method for method", function()
        local said, class = {}, nil
        for line in io.lines("lua/ringtap/filter.lua") do
            class = line:match("^%-%-%-@class ([%w_.]+)") or class
            local name = class == "ringtap.filter.compiled" and line:match("^%-%-%-@field ([%w_]+)")
            if name then
                said[name] = true
            end
        end
        local registered = {}
        for name in pairs(core._filter_names) do
            registered[name] = true
        end
        assert.same(registered, said)
    end)
end)

describe("a bad expression", function()
    local function message_of(expr, options)
        local f, message, errno = filter.compile(expr, options)
        assert.is_nil(f)
        assert.equal(22, errno)
        return message
    end

    -- The caret stands under the first byte of the last line's "^".
    local function points_at(expr, words, place)
        local first, second, third = message_of(expr):match("^([^\n]*)\n([^\n]*)\n([^\n]*)$")
        assert.is_truthy(first, message_of(expr))
        assert.matches(words, first, 1, true)
        assert.equal("  " .. expr, second)
        assert.equal(place, expr:sub(#third - 2), expr)
    end

    it("has libpcap's words and a caret", function()
        points_at("udp prot 53", "syntax error", "prot 53")
        points_at("tcp and udp porr 53 or arp", "syntax error", "porr 53 or arp")
        points_at("udp port", "syntax error", "")
        points_at("(udp or tcp", "syntax error", "")
        points_at("udp)", "syntax error", ")")
        points_at("udp and $", "syntax error", "$")
        points_at("host localhost and tcp prt 5", "syntax error", "prt 5")
        points_at("ip proto xx or tcp", "unknown ip proto 'xx'", "xx or tcp")
        points_at("tcp or udp port nosuchport", "unknown port 'nosuchport'", "nosuchport")
        points_at("host a.b.invalid or tcp", "unknown host 'a.b.invalid'", "a.b.invalid or tcp")
        points_at("tcp or port 99999", "illegal port number 99999 > 65535", "99999")
        points_at("udp port 5 and udp host 192.0.2.1", "'udp' modifier applied to host", "192.0.2.1")
        points_at("port 53 or 54 or 099", "number 099 contains non-octal digit", "099")
    end)

    it("has no caret where there is no place", function()
        assert.equal("expression rejects all packets", message_of("ip and arp"))
        assert.matches("unknown data link type", message_of("ip", { linktype = 147 * 256 }))
        assert.is_nil(message_of("ip", { linktype = 147 * 256 }):find("\n"))
    end)

    it("shows a window of a long expression", function()
        local message = message_of(("ip host 192.0.2.1 or "):rep(200) .. "udp prot 53 " .. ("or tcp "):rep(100))
        local _, second, third = message:match("^([^\n]*)\n([^\n]*)\n([^\n]*)$")
        assert.is_true(#second < 90)
        assert.equal("prot 53", second:sub(#third, #third + 6))
    end)

    it("is an error of the source that was to have it", function()
        for _, open in ipairs {
            function() return ringtap.memory({ "x" }, { filter = "udp prot 53" }) end,
            function() return ringtap.memory({ "x" }, { filter = filter.expr("udp prot 53") }) end,
        } do
            local source, message, errno = open()
            assert.is_nil(source)
            assert.equal(22, errno)
            assert.matches("udp prot 53\n      ^", message, 1, true)
        end
    end)

    -- They are read from beside the packet: a live socket has that, a file has not.
    it("is one that reads what isn't in the packet's bytes", function()
        points_at("ip and inbound", "'inbound' is not in the bytes", "inbound")
        points_at("ifindex 5", "'ifindex' is not in the bytes", "ifindex 5")
        assert(filter.compile("inbound", { linktype = 276 }))
    end)
end)

describe("a compiled filter", function()
    local dns = "\2\0\0\0\0\2\2\0\0\0\0\1\8\0\x45\0\0\x1c\0\0\0\0\x40\x11\0\0\xc0\0\2\1\xc0\0\2\2\0\x35\0\x35\0\8\0\0"

    it("matches bytes and packets", function()
        local f = assert(filter.compile(filter.udp & filter.port(53)))
        assert.equal("udp and port 53", f:expression())
        assert.equal("filter: udp and port 53", tostring(f))
        assert.is_true(f:matches(dns))
        assert.is_false(f:matches(dns:sub(1, 30)))
        assert.is_true(f:matches(dns:sub(15), 101))
        assert.is_false(f:matches(dns:sub(15), 1))
        local src <close> = assert(ringtap.memory { dns })
        local n = 0
        for pkt in src:packets() do
            n = n + 1
            assert.is_true(f:matches(pkt))
            assert.is_true(f:matches(pkt:copy()))
        end
        assert.equal(1, n)
        assert.error_matches(function() f:matches(1) end, "bad argument")
        assert.error_matches(function() f:matches(dns, 70000) end, "link type")
        assert.error_matches(function() f:matches(dns, 65000) end, "unknown data link type")
    end)

    it("is taken where a filter is, with values and text", function()
        local arp = dns:sub(1, 12) .. "\8\6" .. ("\0"):rep(28)
        for _, f in ipairs { "udp", filter.udp, assert(filter.compile("udp")) } do
            local src <close> = assert(ringtap.memory({ dns, arp, dns }, { filter = f }))
            local n = 0
            for _ in src:packets() do
                n = n + 1
            end
            assert.equal(2, n)
        end
    end)

    it("shows its programs", function()
        local f = assert(filter.compile("ip"))
        assert.same({
            { code = 0x28, jt = 0, jf = 0, k = 12 },
            { code = 0x15, jt = 0, jf = 1, k = 0x800 },
            { code = 0x06, jt = 0, jf = 0, k = 262144 },
            { code = 0x06, jt = 0, jf = 0, k = 0 },
        }, f:bytecode())
        assert.equal(16, f:bytecode(1, true)[1].k)
        f = assert(filter.compile(""))
        assert.same({ { code = 6, jt = 0, jf = 0, k = 77 } }, (f:kernel_program { snaplen = 77 }))
        assert.same({ { code = 6, jt = 0, jf = 0, k = 262144 } }, (f:kernel_program()))
        -- nothing in it moves with the tag, so there is one version
        assert.equal(#assert(filter.compile("ether src 02:00:00:00:00:01")):bytecode(),
            #assert(filter.compile("ether src 02:00:00:00:00:01")):kernel_program())
        local longer = assert(filter.compile("ip", { optimize = false })):bytecode()
        assert.is_true(#longer >= 4)
    end)
end)

describe("the tag rule on cooked link types", function()
    -- an expression sees LINUX_SLL and LINUX_SLL2 packets without the outermost tag, too
    local ip = "\x45\0\0\x1c\0\0\0\0\x40\x11\0\0\xc0\0\2\1\xc0\0\2\2\0\x35\0\x35\0\8\0\0"
    local sll = "\0\0\0\1\0\6\2\0\0\0\0\1\0\0"
    local sll2 = "\0\0\0\0\0\5\0\1\0\6\2\0\0\0\0\1\0\0"

    it("holds in user space", function()
        local f = assert(filter.compile("udp port 53 and len = 44", { linktype = 113 }))
        assert.is_true(f:matches(sll .. "\8\0" .. ip, 113))
        assert.is_true(f:matches(sll .. "\x81\0\0\5\8\0" .. ip, 113))
        assert.is_false(f:matches(sll .. "\x81\0\0\5\x81\0\0\5\8\0" .. ip, 113))
        f = assert(filter.compile("udp port 53 and len = 48", { linktype = 276 }))
        assert.is_true(f:matches("\8\0" .. sll2 .. ip, 276))
        assert.is_true(f:matches("\x88\xa8" .. sll2 .. "\0\5\8\0" .. ip, 276))
        assert.is_false(f:matches("\x88\xa8" .. sll2 .. "\0\5\x81\0\0\5\8\0" .. ip, 276))
    end)

    it("holds in the kernel's program, except for what it leaves to user space", function()
        local program, again = assert(filter.compile("udp port 53 and len = 48", { linktype = 276 }))
            :kernel_program { linktype = 276, cooked = true, snaplen = 99 }
        assert.is_true(again)
        local function skb(protocol, data, tag)
            return { data = data, [0] = protocol, [4] = 0, [8] = 5, [28] = 1, [48] = tag and 1 or 0 }
        end
        assert.equal(99, run_kernel(program, skb(0x0800, ip)))
        assert.equal(99, run_kernel(program, skb(0x0800, ip, 5)))
        assert.equal(99, run_kernel(program, skb(0x9100, "\0\5\8\0" .. ip)))
        assert.equal(0, run_kernel(program, skb(0x86dd, ip)))
        assert.equal(0, run_kernel(program, skb(0x9100, "\0\5\8\6" .. ip)))
        assert.equal(99, run_kernel(program, skb(0x8100, "")))
        -- bytes of the made header: those that the kernel can show, and those that it can't
        local f = assert(filter.compile("link[4:4] = 5 and link[8:2] = 1 and link[10] = 0 and link[1:2] = 0",
            { linktype = 276 }))
        program = f:kernel_program { linktype = 276, cooked = true, snaplen = 99 }
        assert.equal(99, run_kernel(program, skb(0x0800, "")))
        local none, message, errno = assert(filter.compile("link[12] = 2", { linktype = 276 }))
            :kernel_program { linktype = 276, cooked = true }
        assert.is_nil(none)
        assert.equal(95, errno)
        assert.matches("kernel's socket filter can't see", message)
    end)

    it("leaves netlink messages alone", function()
        local f = assert(filter.compile("link[1] = 4 and link[2:2] = 824 and link[15:4] = 0x10000002 and len = 20",
            { linktype = 253 }))
        local message = "\x00\x00\x02\xff"
        assert.is_true(f:matches("\0\4\x03\x38" .. ("\0"):rep(10) .. "\0\x10" .. message, 253))
        local program, again = f:kernel_program { linktype = 253, cooked = true, snaplen = 99 }
        assert.is_false(again)
        assert.equal(99, run_kernel(program, { data = message, [0] = 0x10, [4] = 4, [28] = 824, [48] = 0 }))
        assert.equal(0, run_kernel(program, { data = message, [0] = 0x11, [4] = 4, [28] = 824, [48] = 0 }))
    end)
end)

describe("one expression on every engine", function()
    local dir, frames

    setup(function()
        dir = support.tmpdir()
        frames = make_frames(20240607, 300)
        write_pcap(dir .. "/asis.pcap", frames)
        local untagged = {}
        for i, frame in ipairs(frames) do
            untagged[i] = without_tag(frame)
        end
        write_pcap(dir .. "/untagged.pcap", untagged)
    end)

    teardown(support.cleanup)

    local test = support.has("tcpdump") and it or pending

    for name, list in pairs { ["doesn't say vlan"] = plain_expressions, ["says vlan"] = vlan_expressions } do
        test("means the same when it " .. name, function()
            local matched = 0
            for _, expr in ipairs(list) do
                matched = matched + assert(compare(frames, dir, expr), expr)
                assert(compare(frames, dir, expr, { optimize = false }))
            end
            assert.is_true(matched > 1000) -- the frames are such that there is something to find
        end)
    end

    test("means the same when it computes places and values", function()
        local make, refused = expression_maker(7), 0
        for _ = 1, 150 do
            local expr = make()
            if not compare(frames, dir, expr) then
                refused = refused + 1
            end
        end
        assert.is_true(refused < 50)
    end)

    -- Frames for one side, as raw_send reads them.
    local function stream_of(list)
        local parts = {}
        for _, frame in ipairs(list) do
            if #frame >= 14 then
                parts[#parts + 1] = string.pack(">s2", frame)
            end
        end
        return table.concat(parts)
    end

    -- What a source gives of each expression is what matches() says of everything that came, as another source saw it.
    -- Returns how many packets there were, and how many expressions ran in the kernel.
    local function compare_live(ns, ifname, linktype, expressions, stream)
        local all <close> = assert(ringtap.capture(ifname, { netns = ns.b }))
        local send = support.compile("raw_send.c")

        local function taken(src)
            local list = {}
            for bytes in src:bytes { idle = 0.03 } do
                list[#list + 1] = bytes
            end
            return list
        end
        local in_kernel, seen = 0, 0
        for _, expr in ipairs(expressions) do
            local some <close> = assert(ringtap.capture(ifname,
                { netns = ns.b, filter = expr, block_size = 65536, block_count = 512 }))
            support.must(ns:exec("a", send .. " " .. ns.a_if), stream)
            support.must(ns:exec("b", send .. " " .. ns.b_if), stream)
            local f, want = assert(filter.compile(expr, { linktype = linktype })), {}
            for _, frame in ipairs(taken(all)) do
                seen = seen + 1
                if f:matches(frame, linktype) then
                    want[#want + 1] = hex(frame)
                end
            end
            local got = taken(some)
            for i = 1, #got do
                got[i] = hex(got[i])
            end
            assert.equal(0, some:stats().dropped)
            assert.same(want, got, expr)
            if some:stats().filter_engine == "kernel" then
                in_kernel = in_kernel + 1
            end
        end
        return seen, in_kernel
    end

    -- libpcap 1.10.3 drops `st M[0]` here and keeps `ld M[0]`; tcpdump answers with what its stack holds
    it("survives a store that libpcap's optimizer drops", function()
        local expr = "((not (len | 17) > 224 or ((tcp[12:2] | 10) - (icmp[37:1] * 4)) > 24) and (247814104 != (32 / 9) "
            .. "and ((17 | ether[18:1]) & (udp[4294967295:2] * len)) = (len - ether[28:2])))"
        local f, plain = assert(filter.compile(expr)), assert(filter.compile(expr, { optimize = false }))
        local stored = {}
        for _, i in ipairs(f:bytecode()) do
            if i.code == 2 or i.code == 3 then
                stored[i.k] = true
            end
            assert.is_true(i.code ~= 0x60 and i.code ~= 0x61 or stored[i.k])
        end
        for _, frame in ipairs(frames) do
            assert.equal(plain:matches(frame), f:matches(frame))
        end
    end)

    test("means the same in the kernel #root", function()
        if not support.is_root() then
            return pending("needs root")
        end
        local ns <close> = support.namespaces()
        local stream = stream_of(make_frames(99, 80))
        local seen1, kernel1 = compare_live(ns, ns.b_if, 1, plain_expressions, stream)
        local seen2, kernel2 = compare_live(ns, ns.b_if, 1, vlan_expressions, stream)
        assert.is_true(seen1 + seen2 > 5000)
        assert.equal(#plain_expressions + #vlan_expressions - 1, kernel1 + kernel2) -- all but the loop of protochain
    end)

    test("means the same in the kernel on \"any\" #root", function()
        if not support.is_root() then
            return pending("needs root")
        end
        local ns <close> = support.namespaces()
        local seen, in_kernel = compare_live(ns, "any", 276, {
            "ip", "ip6", "arp", "udp port 53", "tcp port 80", "not ip", "host 192.0.2.1", "len > 100", "link[10] = 4",
            "link[0:2] = 0x8100", "link[12] = 2", "inbound", "udp[4:2] > 20",
        }, stream_of(make_frames(98, 80)))
        assert.is_true(seen > 1000)
        assert.equal(12, in_kernel) -- all but the one that reads the sender's address
    end)
end)
