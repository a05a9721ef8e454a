-- Packets that broke other tools (../shared/cases/packets.jsonl), each read as its `expected` says.
local ringtap = require "ringtap"

local function bytes(hex)
    return (hex:gsub("%x%x", function(two) return string.char(tonumber(two, 16)) end))
end

local path = "../shared/cases/packets.jsonl"
local cases, order = {}, {}
local file = io.open(path)
if file then
    for line in file:lines() do
        local id, link = line:match '"id":%s*"([^"]+)"', line:match '"linktype":%s*"?([%w-]+)"?'
        if math.tointeger(tonumber(link)) then
            local hex = line:match '"hex":%s*"(%x*)"'
            cases[id] = { linktype = math.tointeger(tonumber(link)), bytes = bytes(hex) }
            order[#order + 1] = id
        end
    end
    file:close()
end

local function open(id)
    local case = cases[id]
    local src = assert(ringtap.memory({ case.bytes }, { linktype = case.linktype }))
    local pkt = assert(src:next(0))
    src:close()
    return pkt
end

local checks = {}

checks["eth-pad-tcp-ack"] = function(p)
    assert.equal(40, p["ip.len"])
    assert.equal(0, p["tcp.len"])
    assert.equal("", p:payload())
    assert.equal(6, #(p["eth.padding"] or p["eth.trailer"]))
end

checks["ip4-totlen-gt-cap"] = function(p)
    assert.is_true(p.truncated)
    assert.same({ 1000, 2000 }, { p["udp.srcport"], p["udp.dstport"] })
    assert.equal(1480, p["udp.length"])
    assert.equal(8, #p:payload())
    assert.equal("unchecked", p.checksum)
    assert.equal(3, p["udp.checksum.status"]) -- it is 0: there is none
    assert.is_nil(p.malformed)
end

checks["ip4-ends-after-header"] = function(p)
    assert.equal("192.0.2.1", p["ip.src"])
    assert.is_nil(p.udp)
    assert.is_true(p.truncated)
    assert.same({ "eth", "ip" }, p:layers())
end

checks["ip4-ihl-15-short"] = function(p)
    assert.matches("header", p.malformed)
    assert.equal(60, p["ip.hdr_len"])
    assert.is_nil(p.udp)
end

checks["ip4-opt-len-0"] = function(p)
    assert.matches("ip: .*option", p.malformed)
    assert.equal(1, p["udp.srcport"])
    assert.equal(14 + 24 + 1, (p:at "udp"))
end

checks["tcp-opt-len-0"] = function(p)
    assert.matches("tcp: .*option", p.malformed)
    assert.equal(24, p["tcp.hdr_len"])
end

checks["tcp-opt-len-1"] = function(p)
    assert.matches("tcp: .*option", p.malformed)
    local kinds = p:all "tcp.option_kind"
    assert.same({ 1, 1 }, { kinds[1], kinds[2] })
end

checks["udp-len-0"] = function(p)
    assert.matches("udp: .*length", p.malformed)
    assert.equal("", p:payload())
    assert.same({ 1000, 2000 }, { p["udp.srcport"], p["udp.dstport"] })
end

checks["ip6-frag-later"] = function(p)
    assert.is_nil(p.udp)
    assert.equal(16, p["ipv6.fraghdr.offset"] * 8)
    assert.is_false(p["ipv6.fraghdr.more"])
    assert.equal(24, #p:payload "ipv6.fraghdr")
end

checks["ip4-frag-later"] = function(p)
    assert.is_nil(p.udp)
    assert.equal(1480, p["ip.frag_offset"] * 8)
    assert.is_false(p["ip.flags.mf"])
end

checks["ip6-ah-udp"] = function(p)
    local first, header_last = p:at "ah"
    assert.equal(24, header_last - first + 1)
    assert.same({ 3784, 3784 }, { p["udp.srcport"], p["udp.dstport"] })
    assert.equal("BFD!", p:payload "udp")
end

checks["ip6-nh-sctp-terminal"] = function(p)
    assert.same({ 0x1100, 0x1111 }, { p["sctp.srcport"], p["sctp.dstport"] })
    assert.is_nil(p.udp)
end

checks["ip6-jumbo-hbh"] = function(p)
    assert.equal(95716, p["ipv6.opt.jumbo"])
    assert.same({ 40000, 80 }, { p["tcp.srcport"], p["tcp.dstport"] })
    assert.is_true(p.truncated)
    assert.equal(20, #p:payload())
    assert.equal(95716 - 8 - 20, p["tcp.len"])
end

checks["ip6-bigtcp-no-hbh"] = function(p)
    assert.is_true(p.length_guessed)
    assert.same({ 40000, 80 }, { p["tcp.srcport"], p["tcp.dstport"] })
    assert.equal(20, #p:payload())
end

checks["icmp6-ndp-opt-len-0"] = function(p)
    assert.is_string(p.malformed)
    assert.equal(64, p["icmpv6.nd.ra.cur_hop_limit"])
    assert.equal(1800, p["icmpv6.nd.ra.router_lifetime"])
end

checks["llc-stp"] = function(p)
    assert.is_nil(p["eth.type"])
    assert.equal(38, p["eth.len"])
    assert.same({ 0x42, 0x42, 3 }, { p["llc.dsap"], p["llc.ssap"], p["llc.control"] })
    local first, _, last = p:at "llc"
    assert.equal(38, last - first + 1)
    assert.equal(8, #(p["eth.padding"] or p["eth.trailer"]))
end

checks["ethertype-gap-05ff"] = function(p)
    assert.same({ "eth" }, p:layers())
    assert.equal(46, #p:payload())
end

local function tags(p)
    local list, layers = {}, p:layers()
    local n = 0
    for _, name in ipairs(layers) do
        if name == "vlan" or name == "ieee8021ad" then
            n = n + 1
        end
    end
    local at = p:at "eth" + 12
    for i = 1, n do
        list[i] = ("%04x/%d/%d"):format(p:unpack(">I2", at), p:unpack(">I2", at + 2) & 0xfff, p:byte(at + 2) >> 5)
        at = at + 4
    end
    return table.concat(list, " ")
end

checks["qinq-88a8-8100"] = function(p)
    assert.equal("88a8/100/0 8100/200/3", tags(p))
    assert.same({ 100, 200, 3 }, { p["ieee8021ad.id"], p["vlan.id"], p["vlan.priority"] })
    assert.equal(23, (p:at "ip"))
    assert.equal(2000, p["udp.dstport"])
end

checks["vlan-triple"] = function(p)
    assert.equal("88a8/1/0 8100/2/0 8100/3/0", tags(p))
    assert.equal(27, (p:at "ip"))
end

checks["vlan-9100"] = function(p)
    assert.equal("9100/100/0 8100/200/0", tags(p))
end

checks["gre-seq-no-csum"] = function(p)
    local first, header_last = p:at "gre"
    assert.equal(8, header_last - first + 1)
    assert.equal(7, p["gre.sequence_number"])
    assert.is_nil(p["gre.checksum"])
    assert.equal(53, p["udp.dstport"])
    assert.equal("eth ip gre ip udp dns", table.concat(p:layers(), " "))
end

checks["gre-all-optional"] = function(p)
    local first, header_last = p:at "gre"
    assert.equal(16, header_last - first + 1)
    assert.equal(0x11223344, p["gre.key"])
    assert.equal(9, p["gre.sequence_number"])
    assert.equal(1, p["gre.checksum.status"])
    assert.equal("192.0.2.1", p["ip.src#2"])
end

checks["gre1-pptp-ack"] = function(p)
    assert.equal(6, p["gre.key.payload_length"])
    assert.equal(1, p["gre.key.call_id"])
    assert.equal(5, p["gre.sequence_number"])
    assert.equal(4, p["gre.ack_number"])
    local first = p:at "gre"
    assert.equal(first + 16, (p:at "ppp"))
    assert.equal(0x0021, p["ppp.protocol"])
end

checks["erspan-type1"] = function(p)
    assert.equal((p:at "gre") + 4, (p:at "eth#2"))
    assert.equal(53, p["udp.dstport"])
end

checks["geneve-opt-2words"] = function(p)
    local first, header_last = p:at "geneve"
    assert.equal(16, header_last - first + 1)
    assert.equal(100, p["geneve.vni"])
    assert.equal(0x0102, p["geneve.option.class"])
    assert.equal(1, p["geneve.option.type"])
    assert.equal("\x0a\x0b\x0c\x0d", p["geneve.option.unknown.data"])
    assert.equal(first + 16, (p:at "eth#2"))
end

checks["mpls-2labels-ip4"] = function(p)
    assert.same({ 19, false, 254 }, { p["mpls.label"], p["mpls.bottom"] ~= 0 and p["mpls.bottom"], p["mpls.ttl"] })
    assert.equal(16, p["mpls.label#2"])
    assert.equal(255, p["mpls.ttl#2"])
    assert.equal("192.0.2.1", p["ip.src"])
end

checks["mpls-ecw-eth-arp"] = function(p)
    assert.is_nil(p.ip)
    assert.is_true(p.guessed)
    assert.equal("192.0.2.1", p["arp.src.proto_ipv4"])
    assert.equal(0, p["pweth.cw.sequence_number"])
end

checks["dns-ptr-self"] = function(p)
    assert.equal(0x1234, p["dns.id"])
    assert.matches("pointer loop", p.malformed)
end

checks["dns-ptr-label-loop"] = function(p)
    assert.equal(0x1234, p["dns.id"])
    assert.matches("loop", p.malformed)
    assert.is_true(#(p["dns.qry.name"] or "") <= 255)
end

checks["dns-count-lies"] = function(p)
    assert.same({ 65535, 65535, 65535, 65535 },
        { p["dns.count.queries"], p["dns.count.answers"], p["dns.count.auth_rr"], p["dns.count.add_rr"] })
    assert.is_nil(p["dns.qry.name"])
    assert.is_nil(p["dns.resp.name"])
    assert.is_true(p.truncated or p.malformed ~= nil)
end

checks["sctp-chunk-len-0"] = function(p)
    assert.matches("sctp: ", p.malformed)
    assert.same({ 0 }, p:all "sctp.chunk_type")
end

checks["arp-hlen-255"] = function(p)
    assert.equal(255, p["arp.hw.size"])
    assert.is_true(p.truncated or p.malformed ~= nil)
    assert.is_nil(p["arp.src.hw_mac"])
    assert.is_nil(p["arp.src.proto_ipv4"])
end

for _, id in ipairs { "null-le-inet", "null-be-inet" } do
    checks[id] = function(p)
        assert.equal("192.0.2.1", p["ip.src"])
        assert.equal(53, p["udp.dstport"])
    end
end

for _, id in ipairs { "null-inet6-24", "null-inet6-30", "raw-101-ip6" } do
    checks[id] = function(p)
        assert.equal("2001:db8::1", p["ipv6.src"])
        assert.equal(2, p["udp.dstport"])
    end
end

checks["sll-113"] = function(p)
    assert.same({ 4, 1 }, { p["sll.pkttype"], p["sll.hatype"] })
    assert.equal("02:00:00:00:00:01", p["sll.src.eth"])
    assert.equal(17, (p:at "ip"))
end

checks["sll2-276"] = function(p)
    assert.same({ 2, 1, 0 }, { p["sll.ifindex"], p["sll.hatype"], p["sll.pkttype"] })
    assert.equal(21, (p:at "ip"))
end

checks["ppp-compressed"] = function(p)
    assert.equal(2, (p:at "ip"))
    assert.equal("192.0.2.1", p["ip.src"])
end

checks["radiotap-ext-fcs"] = function(p)
    assert.equal(0x36d17, p["radiotap.mactime"])
    assert.equal(2412, p["radiotap.channel.freq"])
    assert.equal(1, p["wlan.ds.current_channel"])
    assert.equal(0x08cf52ca, p["wlan.fcs"])
    assert.same({ 0, 3 }, p:all "wlan.tag.number")
end

describe("cases", function()
    if not file then
        pending("packets.jsonl is not there")
        return
    end
    for _, id in ipairs(order) do
        it(id, function()
            assert.is_function(checks[id], "no check for " .. id)
            checks[id](open(id))
        end)
    end
end)
