-- Building packets: what is given, what follows, checksums by their RFCs, and every protocol's frames read by tshark.

local ringtap = require "ringtap"
local protocol = require "ringtap.protocol"
local sums = require "ringtap.build.sums"
local support = require "support"

ringtap.field_names() -- all tables are there then

local eth, ip, ipv6, udp, tcp = ringtap.eth, ringtap.ip, ringtap.ipv6, ringtap.udp, ringtap.tcp
local dns, arp, icmp, icmpv6, vlan = ringtap.dns, ringtap.arp, ringtap.icmp, ringtap.icmpv6, ringtap.vlan
local proto = ringtap.proto

local function unhex(s)
    return (s:gsub("%s", ""):gsub("%x%x", function(d) return string.char(tonumber(d, 16)) end))
end

local function fails(pattern, f, ...)
    local ok, message = pcall(f, ...)
    assert.is_false(ok)
    assert.truthy(tostring(message):find(pattern), tostring(message))
end

local function frame()
    return eth { dst = "02:00:00:00:00:02", src = "02:00:00:00:00:01" } / ip { src = "192.0.2.1", dst = "192.0.2.2" }
end

local function frame6()
    return eth { dst = "02:00:00:00:00:02", src = "02:00:00:00:00:01" }
        / ipv6 { src = "2001:db8::1", dst = "2001:db8::2" }
end

describe("checksums", function()
    it("are those of RFC 1071, 3", function()
        assert.equal(0x220d, sums.inet(unhex "0001 f203 f4f5 f6f7"))
        assert.equal(~0xf200 & 0xffff, sums.inet(unhex "f2")) -- as if a zero followed
    end)

    it("are those of RFC 3720, B.4 (CRC32c)", function()
        local up, down = {}, {}
        for i = 0, 31 do
            up[#up + 1], down[#down + 1] = string.char(i), string.char(31 - i)
        end
        assert.equal(0xaa36918a, sums.crc32c(("\0"):rep(32)))
        assert.equal(0x43aba862, sums.crc32c(("\xff"):rep(32)))
        assert.equal(0x4e79dd46, sums.crc32c(table.concat(up)))
        assert.equal(0x5cdb3f11, sums.crc32c(table.concat(down)))
    end)

    it("are filled in, of a header and with the pseudo headers", function()
        local q = ip { src = "192.168.0.1", dst = "192.168.0.199", id = 0, ["flags.df"] = true } / udp {} / 87
        assert.equal(0xb861, (">I2"):unpack(q:bytes(), 11))
        for _, other in ipairs {
            frame() / udp { dstport = 9 } / "odd", frame() / tcp { dstport = 9 } / "even",
            frame6() / udp { dstport = 9 } / "even", frame6() / tcp { dstport = 9 } / "odd",
            frame() / icmp.echo { ident = 1 } / "even", frame6() / icmpv6.echo {} / "even",
        } do
            local pkt = other:packet()
            for _, name in ipairs { "ip", "udp", "tcp", "icmp", "icmpv6" } do
                local status = pkt[name .. ".checksum.status"]
                assert.truthy(status == nil or status == 1, name)
            end
        end
    end)

    it("of UDP are never sent as 0, and 0 is none", function()
        local q = frame() / udp { dstport = 9 } / "\0\0"
        local sum = q["udp.checksum"]
        q = frame() / udp { dstport = 9 } / (">I2"):pack(sum)
        assert.equal(0xffff, q["udp.checksum"])
        q["udp.checksum"] = 0
        assert.equal(0, q["udp.checksum"])
        assert.equal(3, q:packet()["udp.checksum.status"])
    end)

    it("of a routing header's packet count its last address", function()
        local q = frame6() / proto["ipv6.routing"] { type = 0, segleft = 1,
            addresses = { { ["src.addr"] = "2001:db8::9" } } }
            / udp { dstport = 9 } / "x!"
        assert.equal(1, q:packet()["udp.checksum.status"])
    end)
end)

describe("what is given", function()
    it("wins, also when it is wrong", function()
        local q = eth { type = 0x1234 } / ip { len = 1, checksum = 0, proto = 99, hdr_len = 60, version = 7 }
            / udp { length = 1, checksum = 0, dstport = 53 } / dns {}
        local b = q:bytes()
        assert.equal("\x12\x34\x7f\0\0\1", b:sub(13, 18))
        assert.equal("\x63\0\0", b:sub(24, 26))
        assert.equal("\0\1\0\0", b:sub(39, 42))
    end)

    it("may be named with the protocol's prefix, and be the name of a value", function()
        local a = eth {} / arp { opcode = "reply", ["arp.src.hw_mac"] = "02:00:00:00:00:05" }
        local b = eth {} / arp { ["arp.opcode"] = 2, ["src.hw_mac"] = "\2\0\0\0\0\5" }
        assert.equal(a:bytes(), b:bytes())
        assert.equal("Reply", (a:packet():layers()[2] == "arp") and tostring(a:packet()):match "Reply")
    end)

    it("may be a field and parts of it: first the whole, then the parts", function()
        assert.equal(0x012, tcp { flags = 0x010, ["flags.syn"] = true }["tcp.flags"])
        assert.equal(0x010, tcp { flags = 0x012, ["flags.syn"] = false }["tcp.flags"])
    end)

    it("is shown as displayed: with its scale, as text, as a time", function()
        assert.equal("\x4f", ip { hdr_len = 60 }:bytes():sub(1, 1))
        local q = eth {} / ip {} / udp {} / proto.ntp { xmt = 0.5 }
        assert.equal(unhex "83aa7e80 80000000", q:bytes():sub(-8))
    end)

    it("is checked", function()
        fails("udp has no field 'dstprt' %(did you mean 'dstport'%?%)", udp, { dstprt = 1 })
        fails("udp.dstport: 70000 doesn't fit: it is from 0 to 65535", udp, { dstport = 70000 })
        fails("udp.dstport: .-not a table", function() return udp { dstport = { {} } } end)
        fails("udp.dstport: a number.-not \"http\"", udp, { dstport = "http" })
        fails("ip.src: an IPv4 address, not \"1.2.3\"", ip, { src = "1.2.3" })
        fails("ip.hdr_len: 21 is no multiple of 4", ip, { hdr_len = 21 })
        fails("eth.dst: a MAC address", eth, { dst = "aa:bb" })
        fails("arp.opcode: a number or the name of one", arp, { opcode = "repl" })
        fails("tcp.len: it follows from the rest", tcp, { len = 1 })
        fails("ip: a table of values expected", ip, "x")
        fails("tcp has no field 'mssval' in 'options'", tcp, { options = { { mssval = 1 } } })
        fails("frame: .- can't be built", ringtap.proto.frame, {})
        fails("a label of .- is longer than 63", dns, { ["qry.name"] = ("x"):rep(64) .. ".org" })
        fails("no place for 'ident'", function() return (icmp { type = 5, ident = 1 }):bytes() end)
        fails("can be carried, not a boolean", function() return udp {} / true end)
        local ok, message = pcall(function() return (udp { dstport = -1 }) end)
        assert.is_false(ok)
        assert.truthy(message:find "build_spec.lua", message) -- the caller's line
    end)
end)

describe("what follows", function()
    it("is the number of the protocol that is carried", function()
        assert.equal(0x0800, (eth {} / ip {})["eth.type"])
        assert.equal(0x86dd, (eth {} / vlan {} / vlan {} / ipv6 {})["vlan.etype#2"])
        assert.equal(0x8100, (eth {} / vlan {} / vlan {} / ipv6 {})["vlan.etype"])
        assert.equal(4, (ip {} / ip {} / udp {})["ip.proto"])
        assert.equal(17, (ip {} / ip {} / udp {})["ip.proto#2"])
        assert.equal(4789, (frame() / udp {} / proto.vxlan { vni = 1 } / eth {})["udp.dstport"])
        assert.equal(6081, (frame() / udp {} / proto.geneve {} / eth {})["udp.dstport"])
        assert.equal(53, (frame() / udp {} / dns.query "a.example")["udp.dstport"])
        assert.equal(5300, (frame() / udp { dstport = 5300 } / dns.query "a.example")["udp.dstport"])
        local q = frame6() / proto["ipv6.hopopts"] {} / proto["ipv6.dstopts"] {} / tcp { dstport = 1 }
        assert.same({ 0, 60, 6 }, { q["ipv6.nxt"], q["ipv6.hopopts.nxt"], q["ipv6.dstopts.nxt"] })
    end)

    it("is a length, and zeroes that make it a multiple", function()
        local q = frame() / tcp { dstport = 1, options = { { ["options.wscale.shift"] = 7 } } } / "abc"
        assert.equal(24, q["tcp.hdr_len"])
        assert.equal(47, q["ip.len"])
        assert.equal("\3\3\7\0abc", q:bytes():sub(-7))
        assert.equal(11, (frame() / udp {} / "abc")["udp.length"])
        assert.equal(19, (frame6() / udp {} / "abc" / 8)["ipv6.plen"])
        assert.equal(3, (eth {} / proto.llc { dsap = 0x42, ssap = 0x42 })["eth.len"])
    end)

    it("is a count", function()
        local q = frame() / udp {} / dns { queries = { { name = "a.example" } }, answers = {
            { name = "a.example", a = "192.0.2.1" }, { name = "b.example", type = 99 } } }
        assert.same({ 1, 2, 0 }, { q["dns.count.queries"], q["dns.count.answers"], q["dns.count.add_rr"] })
        assert.same({ 4, 0 }, q:packet():all "dns.resp.len")
    end)

    it("is what has to be for a value to have a place", function()
        assert.equal(2, (tcp { options = { { mss_val = 1460 } } }):bytes():byte(21))
        local q = frame() / proto.gre { key = 7, sequence_number = 1 } / ip {}
        assert.same({ true, true, false }, { q["gre.flags.key"], q["gre.flags.sequence_number"],
            q["gre.flags.checksum"] })
        assert.equal(28, (frame() / udp {} / dns { answers = { { name = "a.example",
            aaaa = "::1" } } })["dns.resp.type"])
    end)

    it("is an end of a list where nothing else tells it", function()
        local q = eth {} / proto.lldp { tlvs = { { ["tlv.type"] = 3, time_to_live = 60 } } }
        assert.equal(unhex "0602003c 0000", q:bytes():sub(15))
    end)

    it("is not counted when it is padding", function()
        local q = frame() / udp {} / "x"
        assert.equal(60, #q:bytes { pad = 60 })
        assert.equal(29, q["ip.len"])
        assert.equal(43, #q)
        fails("unknown option 'pda'", q.bytes, q, { pda = 60 })
    end)
end)

describe("builders", function()
    it("are new ones under /", function()
        local a, b = ip { ttl = 1 }, udp { dstport = 1 }
        local q = a / b
        q["ip.ttl"], q["udp.dstport"] = 2, 2
        assert.equal(1, a["ip.ttl"])
        assert.equal(1, b["udp.dstport"])
        local c = q:copy()
        c.ip.ttl = 3
        assert.same({ 2, 3 }, { q.ip.ttl, c.ip.ttl })
        assert.same({ "ip", "udp" }, q:layers())
    end)

    it("carry strings and numbers of bytes", function()
        assert.equal("\0\0\0ab\0\0", (3 / proto.data { data = "ab" } / 2):bytes())
        assert.equal("abc", ("ab" / proto.data { data = "c" }):bytes())
    end)

    it("are read and changed by name", function()
        local q = frame() / udp { dstport = 9 } / "abc"
        assert.equal("192.0.2.1", q["ip.src"])
        assert.equal("192.0.2.1", q.ip.src)
        q.ip.src = "192.0.2.7"
        q["udp.srcport"] = 7
        q.ip = { ttl = 9, id = 1 }
        assert.same({ "192.0.2.7", 7, 9, 1 }, { q.ip.src, q.udp.srcport, q["ip.ttl"], q.ip.id })
        assert.equal(1, q:packet()["ip.checksum.status"])
        q.ip.ttl = nil
        assert.equal(64, q.ip.ttl)
        assert.is_nil(q["tcp.srcport"])
        assert.is_nil(q.tcp)
        fails("there is no 'ip.tll' in it %(did you mean 'ip.ttl'%?%)", function() return q.ip.tll end)
        fails("there is no 'foo'", function() return q.foo end)
        fails("ip.ttl: 256 doesn't fit", function() q.ip.ttl = 256 end)
    end)

    it("take the parts of a field in a table", function()
        assert.equal(0x002, tcp { flags = { syn = true } } ["tcp.flags"])
        assert.equal(0x012, tcp { flags = { ["flags.syn"] = true, ["tcp.flags.ack"] = 1 } } ["tcp.flags"])
        assert.equal(3, ip { dsfield = { dscp = 3 } } ["ip.dsfield"] >> 2)
        fails("tcp.flags has no part 'bogus': it has ack, ", tcp, { flags = { bogus = true } })
        fails("tcp.flags has no part 'snn' %(did you mean 'syn'%?%)", tcp, { flags = { snn = true } })
        fails("tcp.flags: values by the names of its parts, or a list", tcp, { flags = { 1, syn = true } })
        fails("tcp.dstport: a value, or a list of them, not a table with 'x'", tcp, { dstport = { x = 1 } })
        fails("tcp.flags: a number, not true", tcp, { flags = true })
        fails("tcp has no field 'syn' %(did you mean 'flags.syn'%?%)", tcp, { syn = true })
        local q = frame() / tcp { flags = 0x10 }
        q.tcp.flags = { syn = true }
        assert.equal(0x12, q["tcp.flags"])
        q.tcp = { flags = { ack = false } }
        assert.equal(0x02, q["tcp.flags"])
        fails("tcp has no field 'syn' %(did you mean 'flags.syn'%?%)", function() q.tcp.syn = true end)
    end)

    it("take an option by the name of what it holds", function()
        local q = tcp { options = { { mss = 1460 }, { wscale = 7 } } }
        assert.equal(unhex "020405b4 03030700", q:bytes():sub(-8))
        fails("give 'options.timestamp.tsecr', 'options.timestamp.tsval'", tcp, { options = { { timestamp = 3 } } })
        fails("tcp.options.nop: .-: give 'option_kind'", tcp, { options = { { nop = true } } })
    end)

    it("don't stand upon nil, which a misspelt name is", function()
        fails("can be carried, not nil %(is a name misspelt%?%)", function() return eth {} / nil end)
        fails("can be carried, not nil", function() return nil / eth {} end)
        assert.equal(19, #(eth {} / 5))
    end)

    it("forget what was given when it is set to nil, in lists too", function()
        local q = frame() / udp { dstport = 53 } / dns { queries = { { name = "a.example" } } }
        q["dns.qry.name"] = nil
        assert.equal("<Root>", q["dns.qry.name"])
    end)

    it("are of protocols that there are", function()
        fails("there is no protocol 'ipp' %(did you mean 'ip'%?%)", function() return proto.ipp end)
        fails("there is no protocol 'ipv6.rooting' %(did you mean 'ipv6.routing'", function()
            return proto["ipv6.rooting"]
        end)
        assert.is_nil(ringtap.ipp)
        local q = frame6() / proto["ipv6.hopopts"] {} / udp {}
        assert.equal(q:bytes(), assert(load("return " .. tostring(q), "text", "t", ringtap))():bytes())
    end)

    it("are of the link type of what comes first", function()
        local inner = (ip { src = "192.0.2.1" } / udp {}):packet():edit()
        local q = eth {} / inner
        assert.same({ 1, "192.0.2.1" }, { q:packet().linktype, q["ip.src"] })
    end)

    it("have lists", function()
        local q = frame() / tcp { dstport = 1, options = { { mss_val = 1460 }, { option_kind = 1 } } }
        local list = q:list "tcp.options"
        assert.equal(2, #list)
        assert.equal(1460, list[1].mss_val)
        list[3] = { ["options.wscale.shift"] = 3 }
        list[1].mss_val = 500
        list[2] = nil
        assert.equal(2, #list)
        assert.equal(unhex "020401f4 03030300", q:bytes():sub(-8))
        fails("has 2 elements", function() list[9] = {} end)
    end)

    it("give packets", function()
        local pkt = (frame() / udp {} / "x"):packet()
        assert.equal(1, pkt.linktype)
        assert.equal("192.0.2.2", pkt["ip.dst"])
        assert.equal(228, ip {}:packet().linktype)
        assert.equal(101, (udp {}):packet { linktype = 101 }.linktype)
        fails("nothing says what a packet that begins with udp is", function() return udp {}:packet() end)
    end)

    it("are text that can be typed again", function()
        local q = frame() / udp { dstport = 53 } / dns { id = 1, queries = { { name = "a.example",
            type = "AAAA" } } } / "\0x\""
        local again = assert(load("return " .. tostring(q), "text", "t", ringtap))()
        assert.equal(q:bytes(), again:bytes())
        assert.equal(tostring(q), tostring(again))
    end)

    it("come of protocols that are declared at run time", function()
        local mine = ringtap.protocol {
            name = "spec_mine", on = { ["udp.port"] = 7777 }, header = "4 + n * 4", total = "size",
            checksum = { field = "sum", sum = function(bytes) return #bytes end },
            next = { { "ip", when = "kind == 4" } },
            { "n", 4 }, { "kind", 4, default = 3 }, { "size", 8, scale = 2 }, { "sum", 16 },
            { loop = "n", list = "parts", { "tag", 8 }, { "data", "bytes", size = 3 } },
        }
        local q = frame() / udp {} / mine { parts = { { tag = 7, data = "abc" }, { tag = 8 } } } / ip { proto = 255 }
            / "xyz"
        assert.equal(unhex "2412 0024 07616263 08000000", q:bytes():sub(43, 54))
        assert.same({ "eth", "ip", "udp", "spec_mine", "ip" }, q:packet():layers())
        assert.equal(7777, q["udp.dstport"])
        assert.equal("abc", q.spec_mine.data)
    end)
end)

-- ---------------------------------------------------------------- every protocol, read by tshark

-- { builder, { [field] = text as tshark -T fields prints it }, protocols that it is about; "?": what is carried is a
-- guess, and tshark's is another one }
local cases = {}

local function case(q, fields, ...)
    cases[#cases + 1] = { q, fields, { ... } }
end

local own_port = 40000 -- tshark remembers what a pair of ports carried

local function over_udp(port)
    own_port = own_port + 1
    return frame() / udp { srcport = own_port, dstport = port }
end

local function over_tcp(port)
    own_port = own_port + 1
    return frame() / tcp { srcport = own_port, dstport = port, ["flags.ack"] = true, ["flags.push"] = true }
end

case(eth { dst = "02:00:00:00:00:02", src = "02:00:00:00:00:01", type = 0x88b5 } / "experimental",
    { ["eth.dst"] = "02:00:00:00:00:02", ["eth.type"] = "0x88b5", ["data.data"] = "6578706572696d656e74616c" }, "eth",
        "data")
case(eth {} / proto.llc { oui = 0 } / ip { src = "192.0.2.9" },
    { ["llc.dsap"] = "0xaa", ["eth.len"] = "28", ["ip.src"] = "192.0.2.9" }, "llc")
case(eth {} / proto.llc { ["control.ftype"] = 3 } / proto.stp { ["root.cost"] = 4,
    ["bridge.hw"] = "02:00:00:00:00:07", hello = 2 },
    { ["llc.dsap"] = "0x42", ["stp.root.cost"] = "4", ["stp.bridge.hw"] = "02:00:00:00:00:07", ["stp.hello"] = "2" },
        "stp")
case(eth {} / vlan { id = 5, priority = 3 } / ip { ttl = 9 },
    { ["vlan.id"] = "5", ["vlan.priority"] = "3", ["vlan.etype"] = "0x0800", ["ip.ttl"] = "9" }, "vlan")
case(eth {} / proto.ieee8021ad { id = 100 } / vlan { id = 200 } / arp {},
    { ["ieee8021ad.id"] = "100", ["vlan.id"] = "200", ["arp.opcode"] = "1" }, "ieee8021ad")
case(eth {} / arp { opcode = "reply", ["src.proto_ipv4"] = "192.0.2.5", ["dst.hw_mac"] = "02:00:00:00:00:09" },
    { ["arp.opcode"] = "2", ["arp.src.proto_ipv4"] = "192.0.2.5", ["arp.dst.hw_mac"] = "02:00:00:00:00:09" }, "arp")
case(eth {} / proto.lldp { tlvs = {
    { ["chassis.subtype"] = 4, ["chassis.id.mac"] = "02:00:00:00:00:01" }, { ["port.subtype"] = 7,
        ["port.id"] = "port 1" },
    { ["tlv.type"] = 3, time_to_live = 90 }, { ["tlv.system.name"] = "switch" },
} }, { ["lldp.chassis.id.mac"] = "02:00:00:00:00:01", ["lldp.time_to_live"] = "90",
    ["lldp.tlv.system.name"] = "switch" },
    "lldp")
case(eth {} / proto.pppoed { code = 9, tags = { { ["pppoed.tags.service_name"] = "isp" },
    { ["pppoed.tags.host_uniq"] = "\1\2" } } },
    { ["pppoe.code"] = "0x09", ["pppoed.tags.service_name"] = "isp", ["pppoed.tags.host_uniq"] = "0102" }, "pppoed")
case(eth {} / proto.pppoes { session_id = 7 } / proto.ppp {} / proto.lcp { ["ppp.code"] = 1, ["ppp.identifier"] = 3,
    options = { { ["opt.type"] = 1, ["opt.mru"] = 1492 }, { ["opt.magic_number"] = 0x01020304 } } },
    { ["pppoe.session_id"] = "0x0007", ["ppp.protocol"] = "0xc021", ["ppp.identifier"] = "3", ["lcp.opt.mru"] = "1492",
    ["lcp.opt.magic_number"] = "0x01020304" }, "pppoes", "ppp", "lcp")
case(eth {} / proto.pppoes {} / proto.ppp {} / proto.ipcp { ["ppp.code"] = 1,
    options = { { ["opt.ip_address"] = "192.0.2.3" } } },
    { ["ipcp.opt.ip_address"] = "192.0.2.3", ["ppp.length"] = "10" }, "ipcp")
case(eth {} / proto.pppoes {} / proto.ppp {}
    / proto.ipv6cp { options = { { interface_identifier = "\2\0\0\0\0\0\0\1" } } },
    { ["ipv6cp.interface_identifier"] = "02:00:00:00:00:00:00:01" }, "ipv6cp")
case(eth {} / proto.pppoes {} / proto.ppp {} / proto.ccp { ["ppp.code"] = 1, ["ppp.identifier"] = 9 },
    { ["ppp.protocol"] = "0x80fd", ["ppp.identifier"] = "9" }, "ccp")
case(eth {} / proto.pppoes {} / proto.ppp {} / proto.pap { peer_id = "user", password = "secret" },
    { ["pap.peer_id"] = "user", ["pap.password"] = "secret", ["pap.password.length"] = "6" }, "pap")
case(eth {} / proto.pppoes {} / proto.ppp {} / proto.chap { code = 1, value = "\1\2\3\4", name = "peer" },
    { ["chap.value"] = "01020304", ["chap.name"] = "peer", ["chap.value_size"] = "4" }, "chap")
case(eth {} / proto.mpls { label = 100 } / proto.mpls { label = 200, ttl = 3 } / ip { src = "192.0.2.8" },
    { ["mpls.label"] = "100,200", ["mpls.bottom"] = "0,1", ["ip.src"] = "192.0.2.8" }, "mpls")
case(eth {} / proto.mpls { label = 300 } / proto.pwethcw { ["pweth.cw.sequence_number"] = 5 } / eth {} / arp {},
    { ["mpls.label"] = "300" }, "pwethcw") -- what it carries is a guess, and tshark's is another one
case(ip { src = "192.0.2.3", id = 7, options = { { ["opt.ra"] = 0 } } } / udp { dstport = 9 },
    { ["ip.id"] = "0x0007", ["ip.hdr_len"] = "24", ["ip.opt.ra"] = "0" }, "ip")
case(frame() / ip { dst = "192.0.2.77" } / ipv6 { dst = "2001:db8::77", hlim = 3, flow = 5 } / udp { dstport = 9 },
    { ["ip.proto"] = "4,41", ["ipv6.hlim"] = "3", ["ipv6.dst"] = "2001:db8::77", ["ipv6.flow"] = "0x000005" }, "ipv6")
case(frame6() / proto["ipv6.hopopts"] { options = { { ["ipv6.opt.router_alert"] = 0 } } }
    / proto["ipv6.dstopts"] {} / tcp { dstport = 80 },
    { ["ipv6.nxt"] = "0", ["ipv6.hopopts.nxt"] = "60", ["ipv6.dstopts.nxt"] = "6", ["ipv6.opt.router_alert"] = "0",
    ["tcp.dstport"] = "80" }, "ipv6.hopopts", "ipv6.dstopts")
case(frame6() / proto["ipv6.routing"] { type = 0, segleft = 1, addresses = { { ["src.addr"] = "2001:db8::9" } } }
    / udp { dstport = 9 },
    { ["ipv6.routing.type"] = "0", ["ipv6.routing.src.addr"] = "2001:db8::9", ["udp.dstport"] = "9" }, "ipv6.routing")
case(frame6() / proto["ipv6.fraghdr"] { ident = 77 } / udp { dstport = 9 },
    { ["ipv6.fraghdr.ident"] = "0x0000004d", ["udp.dstport"] = "9" }, "ipv6.fraghdr")
case(frame() / proto.ah { spi = 5, sequence = 6, icv = ("\7"):rep(12) } / udp { dstport = 9 },
    { ["ah.spi"] = "0x00000005", ["ah.sequence"] = "6", ["ah.length"] = "4", ["udp.dstport"] = "9" }, "ah")
case(frame() / proto.esp { spi = 5, sequence = 6 } / "ciphertext", { ["esp.spi"] = "0x00000005",
    ["esp.sequence"] = "6" }, "esp")
case(frame6() / proto.mipv6 { mhtype = 0 }, { ["mip6.mhtype"] = "0" }, "mipv6")
case(frame() / icmp.echo { ident = 7, seq = 9 } / "12345678",
    { ["icmp.type"] = "8", ["icmp.ident"] = "7", ["icmp.seq"] = "9", ["icmp.checksum.status"] = "1" }, "icmp")
case(frame() / icmp { type = 3, code = 1 } / ip { src = "192.0.2.2", dst = "192.0.2.1" } / udp { srcport = 9,
    dstport = 10 },
    { ["icmp.code"] = "1", ["ip.src"] = "192.0.2.1,192.0.2.2", ["udp.srcport"] = "9" })
case(frame6() / icmpv6.echo { ["echo.identifier"] = 7 } / "12345678",
    { ["icmpv6.type"] = "128", ["icmpv6.echo.identifier"] = "0x0007", ["icmpv6.checksum.status"] = "1" }, "icmpv6")
case(frame6() / icmpv6 { type = 135, ["nd.ns.target_address"] = "2001:db8::5",
    options = { { ["opt.type"] = 1, ["opt.linkaddr"] = "02:00:00:00:00:01" } } },
    { ["icmpv6.nd.ns.target_address"] = "2001:db8::5", ["icmpv6.opt.linkaddr"] = "02:00:00:00:00:01" })
case(frame() / proto.igmp { type = 0x16, maddr = "224.0.0.251" },
    { ["igmp.type"] = "0x16", ["igmp.maddr"] = "224.0.0.251", ["igmp.checksum.status"] = "1" }, "igmp")
case(frame() / tcp { srcport = 1024, dstport = 80, seq = 5, ["flags.syn"] = true, options = {
    { mss_val = 1460 }, { option_kind = 1 }, { ["options.wscale.shift"] = 7 }, { option_kind = 4 },
    { ["timestamp.tsval"] = 1, ["timestamp.tsecr"] = 2 },
} }, { ["tcp.seq"] = "5", ["tcp.options.mss_val"] = "1460", ["tcp.options.wscale.shift"] = "7", ["tcp.hdr_len"] = "40",
    ["tcp.options.timestamp.tsval"] = "1" }, "tcp")
case(frame() / udp { srcport = 1024, dstport = 9 } / "discard", { ["udp.length"] = "15",
    ["udp.checksum.status"] = "1" }, "udp")
case(frame() / proto.udplite { srcport = 1024, dstport = 9, checksum_coverage = 8 } / "partly",
    { ["udp.srcport"] = "1024", ["udp.checksum_coverage"] = "8" }, "udplite")
case(frame() / proto.sctp { srcport = 5000, dstport = 5001, verification_tag = 9, chunks = {
    { chunk_type = 0, ["data_tsn_raw"] = 3, ["data_sid"] = 1 } } } ,
    { ["sctp.srcport"] = "5000", ["sctp.verification_tag"] = "0x00000009", ["sctp.checksum.status"] = "1" }, "sctp")
case(frame() / proto.dccp { srcport = 5000, dstport = 5001, type = "Request", seq_raw = 77, service_code = 9 },
    { ["dccp.dstport"] = "5001", ["dccp.type"] = "0", ["dccp.seq_raw"] = "77", ["dccp.service_code"] = "9",
        ["dccp.checksum.status"] = "1" }, "dccp")
case(frame() / proto.gre { key = 9, ["flags.checksum"] = true } / ip { src = "192.0.2.6" } / udp { dstport = 9 },
    { ["gre.key"] = "0x00000009", ["gre.proto"] = "0x0800", ["ip.src"] = "192.0.2.1,192.0.2.6",
        ["gre.checksum.status"] = "1" },
    "gre")
case(frame() / proto.gre { sequence_number = 5 } / proto.erspan { version = 1, spanid = 7 } / eth {} / arp {},
    { ["gre.proto"] = "0x88be", ["erspan.spanid"] = "7", ["arp.opcode"] = "1" }, "erspan")
case(over_udp() / proto.vxlan { vni = 77 } / eth {} / ip { src = "192.0.2.6" },
    { ["vxlan.vni"] = "77", ["udp.dstport"] = "4789", ["ip.src"] = "192.0.2.1,192.0.2.6" }, "vxlan")
case(over_udp() / proto.vxlan_gpe { vni = 78 } / ip { src = "192.0.2.6" },
    { ["udp.dstport"] = "4790", ["vxlan.vni"] = "78", ["vxlan.next_proto"] = "1" }, "vxlan_gpe")
case(over_udp() / proto.geneve { vni = 79, options = { { ["option.class"] = 0x100, ["option.type"] = 1,
    ["option.unknown.data"] = "\1\2\3\4" } } } / ip { src = "192.0.2.6" },
    { ["geneve.vni"] = "0x00004f", ["geneve.proto_type"] = "0x0800", ["geneve.option.class"] = "0x0100" }, "geneve")
case(over_udp(2152) / proto.gtp { teid = 5 } / ip { src = "192.0.2.6" },
    { ["gtp.teid"] = "0x00000005", ["gtp.message"] = "0xff", ["gtp.length"] = "20" }, "gtp")
case(over_udp() / proto.l2tp { tunnel = 3, session = 4, type = 0 } / proto.ppp { protocol = 0x21 }
    / ip { src = "192.0.2.6" },
    { ["l2tp.tunnel"] = "3", ["l2tp.session"] = "4", ["ip.src"] = "192.0.2.1,192.0.2.6" }, "l2tp")
case(over_udp() / proto.wg { type = 4, receiver = 5, counter = 6 } / ("x"):rep(32),
    { ["wg.type"] = "4", ["wg.receiver"] = "0x00000005", ["wg.counter"] = "6" }, "wg")
case(over_udp(443) / proto.quic { packets = { { header_form = true, fixed_bit = true, version = 1,
    ["long.packet_type"] = 2,
    dcid = "\1\2\3\4", scid = "\5\6", remaining_payload = ("x"):rep(40) } } },
    { ["quic.version"] = "0x00000001", ["quic.dcid"] = "01020304", ["quic.scid"] = "0506" }, "quic")
case(over_udp() / dns.query("www.example.com", "AAAA"),
    { ["dns.qry.name"] = "www.example.com", ["dns.qry.type"] = "28", ["dns.flags.recdesired"] = "1" }, "dns")
case(over_tcp(53) / dns { id = 5, queries = { { name = "a.example", type = "MX" } }, answers = {
    { name = "a.example", ["mx.preference"] = 10, ["mx.mail_exchange"] = "mail.a.example", ttl = 60 },
    { name = "a.example", txt = { "one", "two" } },
} }, { ["dns.length"] = "95", ["dns.mx.mail_exchange"] = "mail.a.example", ["dns.txt"] = "one,two",
    ["dns.resp.ttl"] = "60,0" })
case(over_udp() / proto.mdns { queries = { { name = "host.local" } } },
    { ["dns.qry.name"] = "host.local", ["udp.dstport"] = "5353" }, "mdns")
case(over_udp() / proto.llmnr { queries = { { name = "host" } } },
    { ["dns.qry.name"] = "host", ["udp.dstport"] = "5355" }, "llmnr")
case(over_udp() / proto.dhcp { id = 0x1234, ["hw.mac_addr"] = "02:00:00:00:00:01", options = {
    { ["option.dhcp"] = 1 }, { ["option.requested_ip_address"] = "192.0.2.44" }, { ["option.hostname"] = "box" },
} }, { ["dhcp.id"] = "0x00001234", ["dhcp.option.dhcp"] = "1", ["dhcp.option.requested_ip_address"] = "192.0.2.44",
    ["dhcp.option.hostname"] = "box", ["dhcp.option.end"] = "255" }, "dhcp")
case(frame6() / udp {} / proto.dhcpv6 { msgtype = 1, xid = 0x123456, options = { { elapsed_time = 10 } } },
    { ["dhcpv6.msgtype"] = "1", ["dhcpv6.xid"] = "0x123456", ["dhcpv6.elapsed_time"] = "10" }, "dhcpv6")
case(over_udp() / proto.ntp { stratum = 2, refid = "\192\0\2\1", xmt = 1000000000 },
    { ["ntp.stratum"] = "2", ["ntp.refid"] = "c0000201", ["ntp.xmt"] = "Sep  9, 2001 01:46:40.000000000 UTC" }, "ntp")
case(over_udp() / proto.snmp { version = 1, community = "public", request_id = 7,
    variables = { { name = "1.3.6.1.2.1.1.1.0" } } },
    { ["snmp.community"] = "public", ["snmp.name"] = "1.3.6.1.2.1.1.1.0" }, "snmp")
case(over_udp() / proto.tftp { opcode = 1, source_file = "boot.img", type = "octet" },
    { ["tftp.source_file"] = "boot.img", ["tftp.type"] = "octet" }, "tftp")
case(over_udp() / proto.syslog { facility = 4, level = 2, msg = "hello" }, { ["syslog.facility"] = "4",
    ["syslog.level"] = "2" }, "syslog")
case(over_udp() / proto.sip { Method = "OPTIONS", ["r-uri"] = "sip:a@example.com", From = "<sip:b@example.com>",
    ["Call-ID"] = "7" },
    { ["sip.Method"] = "OPTIONS", ["sip.Call-ID"] = "7", ["sip.from.addr"] = "sip:b@example.com" }, "sip")
case(over_tcp() / proto.http { ["request.method"] = "GET", ["request.uri"] = "/index.html", host = "example.com",
    user_agent = "spec" },
    { ["http.request.method"] = "GET", ["http.request.uri"] = "/index.html", ["http.host"] = "example.com",
    ["http.user_agent"] = "spec" }, "http")
case(over_tcp() / proto.tls { records = { { ["record.content_type"] = 21, ["record.version"] = 0x303,
    ["alert_message.level"] = 2,
    ["alert_message.desc"] = 40 } } },
    { ["tls.record.content_type"] = "21", ["tls.alert_message.desc"] = "40", ["tls.record.length"] = "2" }, "tls")
case(over_tcp() / proto.bgp { messages = { { type = 1, ["open.myas"] = 65001, ["open.holdtime"] = 90,
    ["open.identifier"] = "192.0.2.1" }, { type = 4 } } },
    { ["bgp.type"] = "1,4", ["bgp.open.myas"] = "65001", ["bgp.open.identifier"] = "192.0.2.1",
        ["bgp.length"] = "29,19" }, "bgp")
case(frame() / proto.ospf { srcrouter = "192.0.2.1", ["hello.network_mask"] = "255.255.255.0",
    ["hello.hello_interval"] = 10 },
    { ["ospf.srcrouter"] = "192.0.2.1", ["ospf.hello.network_mask"] = "255.255.255.0",
        ["ospf.hello.hello_interval"] = "10" }, "ospf")
case(over_udp() / proto.bfd { my_discriminator = 7, sta = 3 }, { ["bfd.my_discriminator"] = "0x00000007",
    ["bfd.sta"] = "0x03" }, "bfd")
case(over_udp() / proto.bfd_echo { packet = "echo" }, { ["bfd_echo.packet"] = "6563686f" }, "bfd_echo")
case(frame() / proto.vrrp { virt_rtr_id = 9, addresses = { { ip_addr = "192.0.2.254" } } },
    { ["vrrp.virt_rtr_id"] = "9", ["vrrp.ip_addr"] = "192.0.2.254", ["vrrp.addr_count"] = "1" }, "vrrp")
case(eth {} / ip { dst = "224.0.0.2" } / udp { srcport = 1985, dstport = 1985 } / proto.hsrp { group = 7,
    virt_ip = "192.0.2.254" },
    { ["hsrp.group"] = "7", ["hsrp.virt_ip"] = "192.0.2.254" }, "hsrp")
case(proto.null { family = 2 } / ip { ttl = 5 }, { ["null.family"] = "2", ["ip.ttl"] = "5" }, "null")
case(proto.sll { pkttype = 4, ["src.eth"] = "02:00:00:00:00:01" } / ip { ttl = 6 },
    { ["sll.pkttype"] = "4", ["sll.etype"] = "0x0800", ["ip.ttl"] = "6" }, "sll")

case(proto.sll2 { ifindex = 3, pkttype = 4, ["src.eth"] = "02:00:00:00:00:01" } / ip { ttl = 6 },
    { ["sll.ifindex"] = "3", ["sll.pkttype"] = "4", ["ip.ttl"] = "6" }, "sll2")
case(proto.raw {} / ip { ttl = 7 }, { ["ip.ttl"] = "7" }, "raw")
case(proto.netlink { family = 0, messages = { { hdr_type = 3, hdr_seq = 5, hdr_pid = 6 } } },
    { ["netlink.hdr_type"] = "0x0003", ["netlink.hdr_seq"] = "5", ["netlink.hdr_pid"] = "6",
        ["netlink.hdr_len"] = "16" },
    "netlink")
case(proto.wlan { ["fc.type"] = 0, ["fc.subtype"] = 8, da = "ff:ff:ff:ff:ff:ff", sa = "02:00:00:00:00:01",
    bssid = "02:00:00:00:00:01", tags = { { ["tag.number"] = 0, ssid = "net" }, { ["ds.current_channel"] = 6 } } },
    { ["wlan.fc.type_subtype"] = "0x0008", ["wlan.ssid"] = "6e6574", ["wlan.ds.current_channel"] = "6" }, "wlan")
case(proto.radiotap { words = { { ["present.flags"] = true } }, flags = 0 }
    / proto.wlan { ["fc.type"] = 0, ["fc.subtype"] = 8, sa = "02:00:00:00:00:01", tags = { { ssid = "" } } },
    { ["radiotap.length"] = "9", ["wlan.sa"] = "02:00:00:00:00:01" }, "radiotap")
case(eth {} / proto.mpls { label = 400 } / proto.pwach { channel_type = 0x21 } / ip { ttl = 8 },
    { ["mpls.label"] = "400", ["ip.ttl"] = "8" }, "pwach")
case(eth {} / proto.mpls { label = 500 } / proto.pwmcw { length = 5, sequence_number = 1 } / ("\1"):rep(60),
    { ["mpls.label"] = "500" }, "pwmcw", "?")
case(over_udp(5004) / proto.rtp { p_type = 8, seq = 7, ssrc = 9 } / "audio", { ["rtp.seq"] = "7", ["rtp.p_type"] = "8",
    ["rtp.ssrc"] = "0x00000009" }, "rtp")
case(over_udp(5005) / proto.rtcp { packets = { { pt = 201, senderssrc = 9 } } },
    { ["rtcp.pt"] = "201", ["rtcp.senderssrc"] = "0x00000009" }, "rtcp")
case(frame() / proto.l2tp_ip { sid = 9 } / "frame", { ["l2tp.sid"] = "0x00000009", ["ip.proto"] = "115" }, "l2tp_ip")

describe("every protocol", function()
    local rows

    setup(function()
        proto.rtp.ports, proto.rtcp.ports = { 5004 }, { 5005 }
        local path = support.tmpdir() .. "/built.pcapng"
        local out = assert(ringtap.write(path))
        for i, c in ipairs(cases) do
            local ok, pkt = pcall(c[1].packet, c[1])
            assert(ok, ("case %d, %s: %s"):format(i, table.concat(c[1]:layers(), ":"), tostring(pkt)))
            assert(out:send(pkt))
        end
        assert(out:close())
        local names = { "frame.protocols", "_ws.malformed", "ip.checksum.status", "tcp.checksum.status",
            "udp.checksum.status" }
        local have = {}
        for _, c in ipairs(cases) do
            for name in pairs(c[2]) do
                if not have[name] then
                    have[name] = true
                    names[#names + 1] = name
                end
            end
        end
        local fields = {}
        for i, name in ipairs(names) do
            fields[i] = "-e " .. name
        end
        local text = support.must(("tshark -n -o ip.check_checksum:TRUE -o tcp.check_checksum:TRUE "
            .. "-o udp.check_checksum:TRUE -o 'sctp.checksum:CRC 32c' -o tcp.relative_sequence_numbers:FALSE "
            .. "-o tcp.desegment_tcp_streams:FALSE -d udp.port==5004,rtp -d udp.port==5005,rtcp "
            .. "-r %s -T fields -E separator=/t -E aggregator=, %s"):format(
            support.quote(path), table.concat(fields, " ")))
        rows = {}
        for line in text:gmatch "[^\n]*" do
            local row, i = {}, 0
            for cell in (line .. "\t"):gmatch "([^\t]*)\t" do
                i = i + 1
                row[names[i] or i] = cell
            end
            rows[#rows + 1] = row
        end
    end)

    teardown(function()
        proto.rtp.ports, proto.rtcp.ports = {}, {}
    end)

    for i, c in ipairs(cases) do
        local what = table.concat(c[1]:layers(), ":")
        it(("is built and read: %s (%d)"):format(what, i), function()
            local pkt = c[1]:packet()
            assert.is_nil(pkt.malformed)
            assert.same(c[1]:layers(), pkt:layers())
            local row = rows[i]
            assert.equal("", c[3][2] ~= "?" and row["_ws.malformed"] or "", row["frame.protocols"])
            for _, name in ipairs { "ip", "tcp", "udp" } do
                assert.falsy(row[name .. ".checksum.status"]:find "0", name)
            end
            local got = {}
            for name in pairs(c[2]) do
                got[name] = row[name]
            end
            assert.same(c[2], got)
        end)
    end

    it("is among them", function()
        local about = {}
        for _, c in ipairs(cases) do
            for _, name in ipairs(c[3]) do
                about[name] = true
            end
        end
        local left = {}
        for _, name in ipairs(protocol.order) do
            if not about[name] and name ~= "frame" and not name:find "^spec_" then
                left[#left + 1] = name
            end
        end
        assert.same({}, left)
    end)
end)
