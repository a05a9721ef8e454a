-- Editing packets: what isn't touched stays, what depends on a change is made right, and nothing else.

local ringtap = require "ringtap"
local core = require "ringtap.core"
local edit = require("ringtap.edit").edit

ringtap.field_names()

local eth, ip, ipv6, udp, tcp, dns = ringtap.eth, ringtap.ip, ringtap.ipv6, ringtap.udp, ringtap.tcp, ringtap.dns

local captures = "../shared/captures"

local function unhex(s)
    return (s:gsub("%s", ""):gsub("%x%x", function(d) return string.char(tonumber(d, 16)) end))
end

local function packet(bytes, linktype, len)
    return ringtap.memory({ { bytes, len = len } }, { linktype = linktype or 1 }):next(0)
end

local function fails(pattern, f, ...)
    local ok, message = pcall(f, ...)
    assert.is_false(ok)
    assert.truthy(tostring(message):find(pattern), tostring(message))
end

-- Names of the fields that hold the bytes in which two strings of one length differ.
local function changed(pkt, bytes)
    local before, names = pkt:bytes(), {}
    assert.equal(#before, #bytes)
    local tree = core._tree(pkt)
    for i = 1, #bytes do
        if before:byte(i) ~= bytes:byte(i) then
            local found
            for _, layer in ipairs(tree) do
                for _, item in ipairs(layer.items) do
                    local inside = item.kind == "field" and item.name and item.bits > 0 and item.bit // 8 < i
                        and (item.bit + item.bits - 1) // 8 >= i - 1
                    if inside and (not found or item.bits < found.bits) then
                        found = item
                    end
                end
            end
            names[found and found.name or "?"] = true
        end
    end
    local list = {}
    for name in pairs(names) do
        list[#list + 1] = name
    end
    table.sort(list)
    return list
end

local function frame(...)
    local q = eth { dst = "02:00:00:00:00:02", src = "02:00:00:00:00:01" } / ip { src = "192.0.2.1", dst = "192.0.2.2" }
    for _, layer in ipairs { ... } do
        q = q / layer
    end
    return q:packet()
end

local function answer()
    return frame(udp { srcport = 53, dstport = 4000 }, dns {
        id = 7, ["flags.response"] = true, queries = { { name = "www.example.com" } }, answers = {
            { name = "www.example.com", type = "CNAME", cname = "host.example.com", ttl = 60 },
            { name = "host.example.com", a = "192.0.2.7", ttl = 60 },
        },
    })
end

-- The same with the names as servers write them: pointers to what is before.
local function compressed()
    local head = frame(udp { srcport = 53, dstport = 4000 }):bytes():sub(1, 34)
    local message = unhex "0007 8000 0001 0002 0000 0000" .. "\3www\7example\3com\0" .. unhex "0001 0001"
        .. unhex "c00c 0005 0001 0000003c 0007" .. "\4host\xc0\x10" .. unhex "c02d 0001 0001 0000003c 0004 c0000207"
    local q = edit(packet(head .. unhex "0035 0fa0 0000 0000" .. message))
    q["udp.length"], q["ip.len"] = 8 + #message, 28 + #message
    return edit(q:packet()):packet()
end

describe("an unchanged edit", function()
    local list = io.popen("ls " .. captures .. " 2>/dev/null")
    local files = {}
    for name in list:lines() do
        if name:find "%.p?cap" or name:find "%.pcapng" then
            files[#files + 1] = name
        end
    end
    list:close()
    local each = #files > 0 and it or pending

    local function packets(visit)
        local count = 0
        for _, name in ipairs(files) do
            local src = ringtap.read(captures .. "/" .. name)
            if src then
                pcall(function() -- a damaged file ends with an error
                    src:each(function(pkt)
                        if not pkt.malformed then
                            count = count + 1
                            local ok, message = pcall(visit, pkt:copy())
                            if not ok then
                                error { ("%s: %s"):format(name, tostring(message)) }
                            end
                        end
                    end)
                end)
                src:close()
            end
        end
        return count
    end

    each("gives the same bytes, also when every layer is written again", function()
        local wrong = {}
        local count = packets(function(pkt)
            local q = edit(pkt)
            local bytes = pkt:bytes()
            if q:bytes() ~= bytes or q:encode() ~= bytes then
                wrong[#wrong + 1] = table.concat(pkt:layers(), ":")
            end
        end)
        assert.same({}, wrong)
        assert.truthy(count > 1000)
    end)

    each("written from its values differs only where a checksum was wrong", function()
        local wrong = {}
        packets(function(pkt)
            local ok, bytes = pcall(function()
                return edit(pkt):encode { force = true }
            end)
            if not ok then
                wrong[#wrong + 1] = bytes
            elseif bytes ~= pkt:bytes() then
                for _, name in ipairs(changed(pkt, bytes)) do
                    local status = pkt[name .. ".status"]
                    if not name:find "checksum$" or status == 1 then
                        wrong[#wrong + 1] = name
                    end
                end
            end
        end)
        assert.same({}, wrong)
    end)
end)

describe("a change", function()
    it("of one field fixes the checksums over it, and nothing else", function()
        local pkt = frame(udp { dstport = 9 }, "payload")
        local q = edit(pkt)
        q["ip.ttl"] = 3
        assert.same({ "ip.checksum", "ip.ttl" }, changed(pkt, q:bytes()))
        q = edit(pkt)
        q.ip.src = "192.0.2.9"
        assert.same({ "ip.checksum", "ip.src", "udp.checksum" }, changed(pkt, q:bytes()))
        assert.same({ 1, 1 }, { q:packet()["ip.checksum.status"], q:packet()["udp.checksum.status"] })
        q = edit(pkt)
        q["eth.dst"] = "02:00:00:00:00:09"
        assert.same({ "eth.dst" }, changed(pkt, q:bytes()))
        q["ip.ttl"] = q["ip.ttl"]
        assert.same({ "eth.dst" }, changed(pkt, q:bytes()))
    end)

    it("leaves alone what was wrong and doesn't depend on it", function()
        local pkt = (eth {} / ip { len = 500, checksum = 0x1234, src = "192.0.2.1" } / udp { length = 12,
            checksum = 7, dstport = 9 }
            / "abcd"):packet()
        local q = edit(pkt)
        q["eth.src"] = "00:00:00:00:00:01"
        assert.same({ "eth.src" }, changed(pkt, q:bytes()))
        q = edit(pkt)
        q["udp.srcport"] = 77
        assert.equal(0x1234, q["ip.checksum"])
    end)

    it("of a name's length moves lengths, counts and pointers", function()
        local pkt = answer()
        local q = edit(pkt)
        q["dns.cname"] = "a.much.longer.name.example.com"
        assert.equal(#pkt + 14, #q)
        assert.same({ 32, 4 }, q:packet():all "dns.resp.len")
        assert.same({ pkt["ip.len"] + 14, pkt["udp.length"] + 14 }, { q["ip.len"], q["udp.length"] })
        assert.same({ 1, 1 }, { q:packet()["ip.checksum.status"], q:packet()["udp.checksum.status"] })
        pkt = compressed()
        assert.same({ "www.example.com", "host.example.com" }, pkt:all "dns.resp.name")
        q = edit(pkt)
        q["dns.qry.name"] = "w.example.org" -- what pointed to it keeps its value
        assert.equal("w.example.org", q["dns.qry.name"])
        assert.same({ "www.example.com", "host.example.com" }, q:packet():all "dns.resp.name")
        assert.equal("host.example.com", q["dns.cname"])
        assert.is_nil(q:packet().malformed)
    end)

    it("leaves UDP without a checksum without one", function()
        local q = edit(frame(udp { dstport = 9, checksum = 0 }, "x"))
        q["ip.src"] = "192.0.2.9"
        q["udp.dstport"] = 10
        assert.equal(0, q["udp.checksum"])
    end)

    it("of a parent and of its parts", function()
        local q = edit(frame(tcp { dstport = 80, ["flags.syn"] = true }))
        q["tcp.flags.ack"] = true
        assert.equal(0x012, q["tcp.flags"])
        q["tcp.flags"] = 0x004
        q["tcp.flags.fin"] = true
        assert.equal(0x005, q["tcp.flags"])
        assert.equal(1, q:packet()["tcp.checksum.status"])
    end)

    it("of a list", function()
        local pkt = frame(tcp { dstport = 80, options = { { mss_val = 1460 }, { option_kind = 1 } } }, "data")
        local q = edit(pkt)
        local list = q:list "tcp.options"
        assert.equal(5, #list) -- with the zeroes behind them
        list[1].mss_val = 9000
        table.insert(list, 2, { ["options.wscale.shift"] = 5 })
        local new = q:packet()
        assert.same({ 9000, 5, 32, "data" }, { new["tcp.options.mss_val"], new["tcp.options.wscale.shift"],
            new["tcp.hdr_len"], new:payload() })
        assert.same({ 1, 1 }, { new["ip.checksum.status"], new["tcp.checksum.status"] })
        q = edit(answer())
        list = q:list "dns.answers"
        list[1] = nil
        list[#list + 1] = { name = "x.example", aaaa = "2001:db8::1" }
        assert.same({ 2, "2001:db8::1" }, { q["dns.count.answers"], q["dns.aaaa"] })
        assert.equal("192.0.2.7", list[1].a)
        q["dns.answers"] = {}
        assert.same({ 0 }, { q["dns.count.answers"] })
        assert.is_nil(q["dns.a"])
        assert.is_nil(q:packet().malformed)
    end)

    it("of a text header keeps the others", function()
        local text = "GET / HTTP/1.1\r\nX-Own: kept\r\nHost: a.example\r\nAccept: */*\r\n\r\n"
        local q = edit(frame(tcp { dstport = 80 }, text))
        q["http.host"] = "much.longer.example"
        q["http.user_agent"] = "spec"
        local new = q:packet()
        assert.equal("GET / HTTP/1.1\r\nX-Own: kept\r\nHost: much.longer.example\r\nAccept: */*\r\n"
            .. "User-Agent: spec\r\n\r\n", new:payload "tcp")
        assert.equal(1, new["tcp.checksum.status"])
    end)

    it("keeps padding, trailers and what no field covers", function()
        local bytes = frame(udp { dstport = 9 }, "abc"):bytes() .. ("\0"):rep(15)
        local q = edit(packet(bytes))
        q["udp.payload"] = "abcdefgh"
        assert.equal(("\0"):rep(15), q:bytes():sub(-15))
        assert.same({ 16, 36 }, { q["udp.length"], q["ip.len"] })
        q = edit(packet(bytes .. "trailer"))
        q["ip.ttl"] = 1
        assert.equal("trailer", q:bytes():sub(-7))
    end)

    it("of what is carried", function()
        local q = edit(frame(udp { dstport = 9 }, "abc"))
        q["data.data"] = "abcd"
        assert.same({ 12, 32, "abcd" }, { q["udp.length"], q["ip.len"], q["udp.payload"] })
        q = edit(frame(udp { dstport = 9 })) / "abcde"
        assert.same({ 13, 33 }, { q["udp.length"], q["ip.len"] })
    end)

    it("of a packet that was cut off moves its lengths and sums by what it changes", function()
        local whole = answer():bytes()
        local cut = packet(whole:sub(1, 60), 1, #whole)
        local q = edit(cut)
        q["ip.src"], q["udp.srcport"] = "192.0.2.200", 5300
        local new = q:packet()
        assert.same({ 60, #whole }, { new.caplen, new.len })
        local full = packet(new:bytes() .. whole:sub(61))
        assert.same({ 1, 1 }, { full["ip.checksum.status"], full["udp.checksum.status"] })
        assert.same({ #whole - 14, #whole - 34 }, { q["ip.len"], q["udp.length"] })
    end)

    it("of a layer whose table it doesn't fit is made where it stands", function()
        local pkt = packet(unhex "020000000002020000000001 0800 46000020000100004011b1c8c0000201c0000202 4400 0000"
            .. unhex "0001000200087bd7")
        assert.truthy(pkt.malformed)
        local q = edit(pkt)
        assert.equal(pkt:bytes(), q:encode())
        q["ip.ttl"] = 9
        assert.same({ "ip.checksum", "ip.ttl" }, changed(pkt, q:bytes()))
        q["ip.ttl"] = nil
        assert.equal(pkt:bytes(), q:bytes())
        fails("there is no 'ip.tll'", function() q["ip.tll"] = 1 end)
    end)

    it("that can't be raises", function()
        local q = edit(answer())
        fails("ip.ttl: 300 doesn't fit", function() q["ip.ttl"] = 300 end)
        fails("did you mean 'ip.ttl'", function() q["ip.ttl "] = 3 end)
        fails("it follows from the rest", function() q["ip.checksum.status"] = 1 end)
        fails("there is no list 'dns.nothing'", q.list, q, "dns.nothing")
        assert.equal(answer():bytes(), q:bytes())
    end)

    it("refuses nil for what can't be taken away", function()
        local q = edit(answer())
        fails("dns.a: a field of a packet can't be taken away, .- can: q.dns.answers%[2%] = nil", function()
            q["dns.a"] = nil
        end)
        fails("dns.qry.name: .- q.dns.queries%[2%] = nil", function() q["dns.qry.name"] = nil end)
        fails("dns.a: .- an element of 'answers' can", function() q.dns.answers[2].a = nil end)
        fails("ip.ttl: a field of a packet can't be taken away$", function() q["ip.ttl"] = nil end)
        fails("dns.answers: a list can't be taken away: give {}", function() q["dns.answers"] = nil end)
        local before = q["dns.a"]
        q["dns.a"], q["ip.len"], q["udp.checksum"] = "192.0.2.77", nil, nil
        q["dns.a"] = nil -- what was given can
        assert.equal(before, q["dns.a"])
        assert.equal(answer():bytes(), q:bytes())
    end)

    it("tells elements of lists from layers", function()
        local q = edit(answer())
        fails("there is no 'dns.a#2' in it: #N means the N%-th layer that has it, .- q.dns.answers%[2%].a", function()
            q["dns.a#2"] = "192.0.2.8"
        end)
        fails("there is no 'ip.ttl#2' in it: #N means the N%-th layer that has it$", function() q["ip.ttl#2"] = 1 end)
    end)

    it("takes the parts of a field in a table", function()
        local q = edit(answer())
        q["ip.flags"] = { df = true }
        q.ip.dsfield = { dscp = 5 }
        assert.same({ true, 5, 1 }, { q["ip.flags.df"], q["ip.dsfield.dscp"], q["ip.checksum.status"] })
        fails("ip.flags has no part 'dg' %(did you mean 'df'%?%)", function() q.ip.flags = { dg = true } end)
    end)

    it("can be carried by other layers, with lists that were given", function()
        local q = edit(answer())
        q["dns.answers"] = { { ["resp.name"] = "x.example", ["resp.type"] = 1, a = "192.0.2.7" } }
        q["ip.ttl"], q["ip.flags"] = 5, { df = true }
        for _, other in ipairs { eth {} / q, q:copy(), (eth {} / q):copy(), edit(q:packet()) } do
            assert.same({ "192.0.2.7", 5 }, { other["dns.a"], other["ip.ttl"] })
            assert.equal("192.0.2.7", other.dns.answers[1].a)
            assert.equal(other:bytes(), other:encode())
            assert.equal(#other:bytes(), #other:copy():encode { force = true })
            local again = assert(load("return " .. tostring(other), "text", "t", ringtap))()
            assert.equal(other:bytes(), again:bytes())
        end
        local tagged = ringtap.vlan { id = 3 } / q -- no link type begins with it: what was read is told
        assert.same({ "192.0.2.7", 5, q["ip.src"] }, { tagged["dns.a"], tagged["ip.ttl"], tagged["ip.src"] })
        assert.truthy(tostring(tagged):find "^vlan{ id = 3 } / eth")
    end)

    it("is text that can be typed again, once for each list", function()
        local pkt = (eth {} / ip {} / tcp { options = { { mss = 1460 } } }):packet()
        local text = tostring(edit(pkt))
        assert.equal(1, select(2, text:gsub(" options = ", "")))
        assert.equal(pkt:bytes(), assert(load("return " .. text, "text", "t", ringtap))():bytes())
    end)

    it("is text that can be typed again", function()
        local q = edit(compressed())
        q["ip.ttl"] = 9
        local again = assert(load("return " .. tostring(q), "text", "t", ringtap))()
        assert.same(q:packet():all "dns.resp.name", again:packet():all "dns.resp.name")
        assert.equal(9, again["ip.ttl"])
        assert.is_nil(again:packet().malformed)
        assert.equal(1, (ipv6 {} / q)["udp.checksum"] and 1)
    end)
end)

-- Layers that stay as they are, with malformed options in IPv4, IPv6's hop-by-hop header, TCP, ICMPv6 and SCTP.
describe("around a layer whose table it doesn't fit", function()
    local sums = require "ringtap.build.sums"
    local ethernet = unhex "020000000002 020000000001"

    -- s with its sum in the two bytes at `at`; before: a pseudo header.
    local function summed(s, at, before)
        return s:sub(1, at) .. (">I2"):pack(sums.inet((before or "") .. s)) .. s:sub(at + 3)
    end
    local function over4(proto, options, s, at)
        local src_dst = unhex "c0000201 c0000202"
        if at then
            s = summed(s, at, src_dst .. (">I4I4"):pack(proto, #s))
        end
        local head = (">BBI2I2I2BBI2"):pack(0x45 + #options // 4, 0, 20 + #options + #s, 1, 0, 64, proto, 0)
        return ethernet .. "\8\0" .. summed(head .. src_dst .. options, 10) .. s
    end
    local function over6(proto, extension, s, at)
        local src_dst = unhex "20010db8000000000000000000000001 20010db8000000000000000000000002"
        s = summed(s, at, src_dst .. (">I4I4"):pack(#s, proto))
        local head = (">I4I2BB"):pack(0x60000000, #extension + #s, extension == "" and proto or 0, 64)
        return ethernet .. "\x86\xdd" .. head .. src_dst .. extension .. s
    end
    local datagram = unhex "0001 0009 000d 0000" .. "hello"
    local segment = unhex "9c40 0009 000003e8 000007d0 6 018 2000 0000 0000"
    local sctp = unhex "1388 0050 00000007 00000000" .. unhex "00 03 0014 00000001 0000 0000 00000000" .. "abcd"
        .. unhex "0b 00 0002"
    sctp = sctp:sub(1, 8) .. (">I4"):pack(sums.crc32c(sctp)) .. sctp:sub(13)

    local packets = {
        ["IPv4, a timestamp of length 0"] = { over4(17, unhex "44000000", datagram, 6), "ip", {
            ["eth.src"] = "02:00:00:00:00:09", ["ip.ttl"] = 9, ["ip.id"] = 7, ["ip.src"] = "192.0.2.9",
            ["ip.dst"] = "198.51.100.255", ["ip.dsfield.dscp"] = 46, ["udp.dstport"] = 10, ["udp.srcport"] = 0xffff,
        } },
        ["IPv4, an option beyond its end, ICMP"] = { over4(1, unhex "94090000",
            summed(unhex "0800 0000 0001 0001" .. "hello", 2)), "ip", {
            ["ip.ttl"] = 9, ["ip.src"] = "192.0.2.9", ["icmp.ident"] = 9,
        } },
        ["TCP, a segment size of length 0"] = { over4(6, "", segment .. unhex "02000000" .. "hello", 16), "tcp", {
            ["ip.ttl"] = 9, ["ip.src"] = "192.0.2.9", ["tcp.srcport"] = 4000, ["tcp.window_size_value"] = 77,
            ["tcp.flags.fin"] = true, ["tcp.seq"] = 0xffffffff,
        } },
        ["TCP and IPv4"] = { over4(6, unhex "44000000", segment .. unhex "08030000" .. "odd", 16), "tcp", {
            ["ip.ttl"] = 9, ["ip.dst"] = "192.0.2.9", ["tcp.dstport"] = 81, ["tcp.ack"] = 1,
        } },
        ["hop-by-hop, an option beyond its end"] = { over6(17, unhex "11 00 01 20 0000 0000", datagram, 6),
            "ipv6.hopopts", {
            ["ipv6.hlim"] = 3, ["ipv6.src"] = "2001:db8::9", ["ipv6.dst"] = "2001:db8::ffff", ["udp.dstport"] = 10,
        } },
        ["hop-by-hop and TCP"] = { over6(6, unhex "06 00 01 20 0000 0000", segment .. unhex "02000000" .. "odd", 16),
            "tcp", {
            ["ipv6.src"] = "2001:db8::9", ["ipv6.flow"] = 7, ["tcp.dstport"] = 10,
        } },
        ["neighbour discovery, an option of length 0"] = { over6(58, "", unhex "87 00 0000 00000000"
            .. unhex "20010db8000000000000000000000002 01 00 020000000001", 2), "icmpv6", {
            ["ipv6.src"] = "2001:db8::9", ["ipv6.hlim"] = 255, ["icmpv6.nd.ns.target_address"] = "2001:db8::7",
            ["icmpv6.code"] = 1,
        } },
        ["SCTP, a chunk of length 2"] = { over4(132, "", sctp), "sctp", {
            ["ip.ttl"] = 9, ["sctp.srcport"] = 77, ["sctp.verification_tag"] = 0xabcdef,
        } },
    }

    local function statuses(pkt)
        local map = {}
        for _, name in ipairs { "ip", "udp", "tcp", "icmp", "icmpv6", "sctp" } do
            map[name] = pkt[name .. ".checksum.status"]
        end
        return map
    end

    for what, case in pairs(packets) do
        local bytes, closed, edits = table.unpack(case)
        it("sums are made right: " .. what, function()
            local pkt = packet(bytes)
            assert.truthy(pkt.malformed)
            local good = statuses(pkt)
            for name, status in pairs(good) do
                assert.same({ name, 1 }, { name, status })
            end
            assert.equal(bytes, edit(pkt):encode())
            assert.equal(bytes, edit(pkt):encode { force = true })
            local all, state = edit(pkt), nil
            for name, v in pairs(edits) do
                local q = edit(pkt)
                q[name], all[name] = v, v
                local new = q:packet()
                assert.same({ name, #bytes, good }, { name, #new:bytes(), statuses(new) })
                assert.same({ name, v }, { name, math.type(v) and new[name] or v == true and new[name]
                    or tostring(new[name]) })
                for _, other in ipairs(changed(pkt, new:bytes())) do
                    assert.truthy(other:match "^%w+" == name:match "^%w+" or other:find "%.checksum$", other)
                end
                state = require("ringtap.build").state_of(q)
            end
            assert.same(good, statuses(all:packet()))
            local found
            for _, layer in ipairs(state.layers) do
                found = found or layer.p and layer.p.name == closed and layer.opaque
            end
            assert.truthy(found)
        end)

        it("so are those of a packet that was cut off: " .. what, function()
            local left = #bytes - 3
            for name, v in pairs(edits) do
                local q = edit(packet(bytes:sub(1, left), 1, #bytes))
                q[name] = v
                local whole = packet(q:bytes() .. bytes:sub(left + 1))
                local good = statuses(packet(bytes))
                if closed == "sctp" and name:find "^sctp" then -- a CRC can't be moved
                    good.sctp = 0
                end
                assert.same({ name, good }, { name, statuses(whole) })
            end
        end)
    end

    it("lengths follow", function()
        for _, what in ipairs { "IPv4, a timestamp of length 0", "TCP, a segment size of length 0", "TCP and IPv4",
            "hop-by-hop, an option beyond its end", "hop-by-hop and TCP" } do
            for _, text in ipairs { "much longer than before", "x" } do
                local bytes = packets[what][1] .. "padding"
                local pkt = packet(bytes)
                local old = pkt:payload()
                local q = edit(pkt)
                q["data.data"] = text
                local new = q:packet()
                local more = #text - #old
                assert.same({ what, #bytes + more, statuses(pkt) }, { what, #new, statuses(new) })
                for _, name in ipairs { "ip.len", "ipv6.plen", "udp.length" } do
                    assert.equal(pkt[name] and pkt[name] + more, new[name])
                end
                assert.equal("padding", new:bytes():sub(-7))
                q["data.data"] = old
                assert.equal(bytes, q:bytes())
            end
        end
        local q = edit(packet(packets["TCP and IPv4"][1]))
        q["ip.len"] = 46 -- what was given stays
        q["data.data"] = "longer"
        assert.equal(46, q["ip.len"])
        q["ip.len"] = nil
        assert.equal(20 + 4 + 24 + 6, q["ip.len"])
        fails("ip.len: 65[%d]+ doesn't fit", function()
            q["data.data"] = ("x"):rep(65500)
            return q:bytes()
        end)
    end)

    it("a sum that was given stays, and one that was wrong and has no part in it", function()
        local bytes = packets["TCP and IPv4"][1]
        local q = edit(packet(bytes))
        q["tcp.checksum"], q["ip.ttl"] = 0x1234, 9
        assert.same({ 0x1234, 1 }, { q["tcp.checksum"], q["ip.checksum.status"] })
        local wrong = q:packet()
        q = edit(wrong)
        q["ip.ttl"] = 10
        assert.same({ "ip.checksum", "ip.ttl" }, changed(wrong, q:bytes()))
        q["tcp.dstport"] = 10
        assert.equal(1, q:packet()["tcp.checksum.status"])
    end)

    it("nothing is made of UDP without a checksum, nor one that says so", function()
        local bytes = over4(17, unhex "44000000", datagram)
        local q = edit(packet(bytes))
        q["ip.src"] = "192.0.2.9"
        assert.same({ 0, 1 }, { q["udp.checksum"], q["ip.checksum.status"] })
    end)
end)
