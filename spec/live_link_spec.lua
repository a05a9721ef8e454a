-- Live sources and their devices: links that go down, devices that go, loopback, bridges, tun, "any", namespaces.
local ringtap = require "ringtap"
local support = require "support"
local live = require "support.live"

local root_it = live.root and it or pending

teardown(support.cleanup)

local number_of = live.number_of

--- All that is there, copied: `expected` packets, and whatever comes too many.
local function collect(src, expected)
    local packets = {}
    for pkt in src:packets { count = expected, duration = 20 } do
        packets[#packets + 1] = pkt:copy()
    end
    for pkt in src:packets { idle = 0.05 } do
        packets[#packets + 1] = pkt:copy()
    end
    return packets
end

local function numbers_of(packets)
    local numbers = {}
    for i, pkt in ipairs(packets) do
        numbers[i] = number_of(pkt)
    end
    return numbers
end

--- Of each packet one property, in order, as one text.
local function all(packets, property)
    local values = {}
    for i, pkt in ipairs(packets) do
        values[i] = tostring(pkt[property])
    end
    return table.concat(values, " ")
end

describe("a link #root", function()
    root_it("that goes down and up again is waited for, asleep (A25)", function()
        local ns <close> = support.namespaces()
        local src <close> = live.capture(ns, "b", { filter = "udp and dst port 9" })
        live.blast(ns, { count = 2 })
        ns:must("b", "ip link set veth_b down")
        assert.same({ 1, 2 }, numbers_of(collect(src, 2)))
        local before = os.clock()
        assert.same({ nil, "timeout", 110 }, { src:next(0.5) })
        assert.is_nil(src:timeout())
        assert.same({}, collect(src, 0))
        assert.is_true(os.clock() - before < 0.5, "it did not sleep")
        ns:must("b", "ip link set veth_b up")
        live.blast(ns, { count = 2, first = 3 })
        assert.same({ 3, 4 }, numbers_of(collect(src, 2)))

        -- down and up in the middle of a wait, twice
        local toggle = support.spawn(ns:exec("b", "sh -c " .. support.quote(
            "sleep 0.2; ip link set veth_b down; sleep 0.2; ip link set veth_b up; ip link set veth_b down; sleep 0.2;"
            .. " ip link set veth_b up; exec " .. ns:exec("a", ("%s %s %s 9 1 0 64 5"):format(
                support.compile("udp_blast.c"), ns.a_ip, ns.b_ip)))))
        before = os.clock()
        assert.equal(5, number_of(src:next(20)))
        assert.is_true(os.clock() - before < 0.5, "it did not sleep")
        assert.equal(0, support.wait(toggle))
        local s = src:stats()
        assert.same({ 5, 0 }, { s.delivered, s.dropped })
    end)

    root_it("may be down when it is opened", function()
        local ns <close> = support.namespaces()
        ns:must("b", "ip link set veth_b down")
        local src <close> = live.capture(ns, "b", { filter = "udp and dst port 9" })
        local before = os.clock()
        assert.same({ nil, "timeout", 110 }, { src:next(0.3) })
        assert.is_true(os.clock() - before < 0.3)
        ns:must("b", "ip link set veth_b up")
        live.blast(ns, { count = 1 })
        assert.equal(1, number_of(src:next(10)))
    end)

    root_it("goes on when its device is renamed, or has another MTU", function()
        local ns <close> = support.namespaces()
        local src <close> = live.capture(ns, "b", { filter = "udp and dst port 9" })
        live.blast(ns, { count = 1 })
        ns:must("b", "ip link set veth_b down; ip link set veth_b name other; ip link set other up")
        live.blast(ns, { count = 1, first = 2 })
        ns:must("b", "ip link set other mtu 9000")
        ns:must("a", "ip link set veth_a mtu 9000")
        live.blast(ns, { count = 1, first = 3, size = 8000 })
        local packets = collect(src, 3)
        assert.same({ 1, 2, 3 }, numbers_of(packets))
        assert.equal(8042, packets[3].len)
        assert.equal(8042, packets[3].caplen)
        ns:must("b", "ip link set other mtu 1400")
        ns:must("a", "ip link set veth_a mtu 1400")
        live.blast(ns, { count = 1, first = 4, size = 1000 })
        assert.equal(4, number_of(src:next(10)))
    end)

    --- What was there is delivered, then every verb says that the device is gone.
    local function assert_gone(src, first)
        local numbers = {}
        local ok, message = pcall(function()
            for pkt in src:packets() do
                numbers[#numbers + 1] = number_of(pkt)
            end
        end)
        assert.is_false(ok)
        assert.matches("veth_b: No such device", message)
        assert.same(first, numbers)
        for _ = 1, 2 do
            for _, again in ipairs {
                function() src:each(print) end,
                function() src:packets()() end,
                function() src:bytes { idle = 5 }() end,
                function() src:packets { duration = 5 }() end,
            } do
                assert.error_matches(again, "veth_b: No such device")
            end
            for _, timeout in ipairs { 0, 5 } do
                local pkt, reason, errno = src:next(timeout)
                assert.is_nil(pkt)
                assert.matches("veth_b: No such device", reason)
                assert.equal(19, errno)
            end
        end
        assert.equal(0, src:timeout()) -- there is something to be told
        local s = src:stats()
        assert.same({ #first, 0, 0 }, { s.delivered, s.dropped, s.queued })
        src:close()
        src:close()
    end

    root_it("whose device is deleted is an error, after what was there (A26)", function()
        for _, options in ipairs { {}, { retire_timeout = 0.7 }, { latency = "low" } } do
            local ns <close> = support.namespaces()
            options.filter = "udp and dst port 9"
            local src = live.capture(ns, "b", options)
            live.blast(ns, { count = 3 })
            ns:must("b", "ip link del veth_b")
            if options.retire_timeout then -- a call that can't wait does not hide what is still to come
                local pkt, reason = src:next(0)
                assert.same({ nil, "timeout" }, { pkt, reason })
            end
            assert_gone(src, { 1, 2, 3 })
            assert.equal(0, live.sockets(ns, "b"))
        end
    end)

    root_it("whose device is deleted while it is waited for, and made anew, is an error (A26)", function()
        local ns <close> = support.namespaces()
        local src = live.capture(ns, "b", { filter = "udp and dst port 9" })
        local breaker = support.spawn("sh -c " .. support.quote("sleep 0.3; exec ip -n " .. ns.b .. " link del veth_b"))
        assert.matches("veth_b: No such device", (select(2, src:next(30))))
        support.wait(breaker)
        support.must(([[ip -n %s link add veth_a address %s type veth peer name veth_b netns %s address %s
            ip -n %s addr add 192.0.2.1/24 dev veth_a
            ip -n %s link set veth_a up; ip -n %s link set veth_b up
            ip -n %s neigh replace 192.0.2.2 lladdr %s dev veth_a nud permanent]]):format(ns.a, ns.a_mac, ns.b,
            ns.b_mac, ns.a, ns.a, ns.b, ns.a, ns.b_mac))
        live.blast(ns, { count = 1 })
        assert_gone(src, {})
        local again <close> = live.capture(ns, "b", { filter = "udp and dst port 9" })
        live.blast(ns, { count = 1, first = 7 })
        assert.equal(7, number_of(again:next(10)))
    end)

    root_it("whose device goes to another namespace is an error (A26)", function()
        local ns <close> = support.namespaces()
        local src = live.capture(ns, "b", { filter = "udp and dst port 9" })
        live.blast(ns, { count = 2 })
        ns:must("b", "ip link set veth_b netns " .. ns.a)
        assert_gone(src, { 1, 2 })
    end)

    root_it("of which only a tap on \"any\" is left goes without one (A26)", function()
        local ns <close> = support.namespaces()
        local src <close> = live.capture(ns, "b", { filter = "udp and dst port 9" }, "any")
        live.blast(ns, { count = 1 })
        ns:must("b", "ip link del veth_b")
        local packets = collect(src, 1)
        assert.equal(1, #packets)
        support.run(ns:exec("b", ("%s 127.0.0.1 127.0.0.2 9 1"):format(support.compile("udp_blast.c"))))
        assert.equal("lo", assert(src:next(10)).interface)
    end)
end)

describe("loopback #root", function()
    local ns

    setup(function()
        ns = live.root and support.namespaces()
    end)

    local function three()
        return (ns:must("b", ("%s 127.0.0.1 127.0.0.2 9 3"):format(support.compile("udp_blast.c"))))
    end

    root_it("gives each packet once, twice if asked to (A21)", function()
        local expected = {
            { nil, "1 2 3", "in in in" },
            { "both", "1 1 2 2 3 3", "out in out in out in" },
            { "in", "1 2 3", "in in in" },
            { "out", "1 2 3", "out out out" },
        }
        for _, ifname in ipairs { "lo", "any" } do
            for _, e in ipairs(expected) do
                local src <close> = live.capture(ns, "b",
                    { direction = e[1], filter = "udp and dst port 9", block_count = 64 }, ifname)
                three()
                local packets = collect(src, select(2, e[2]:gsub("%d", "")))
                local shift = ifname == "any" and 6 or 0
                local numbers = {}
                for i, pkt in ipairs(packets) do
                    numbers[i] = (pkt:unpack(">I4", live.payload + shift))
                    assert.equal("lo", pkt.interface)
                end
                local name = ifname .. ", " .. tostring(e[1])
                assert.equal(e[2], table.concat(numbers, " "), name)
                assert.equal(e[3], all(packets, "direction"), name)
                local s = src:stats()
                assert.same({ #packets, #packets, 0 }, { s.delivered, s.matched, s.dropped }, name)
            end
        end
    end)

    root_it("is Ethernet by itself, and has hardware type 772 within \"any\" (A28)", function()
        local src <close> = live.capture(ns, "b", { block_count = 64, filter = "udp port 9" }, "lo")
        local any <close> = live.capture(ns, "b", { block_count = 64, filter = "udp port 9" }, "any")
        assert.same({ 1, 276 }, { src:linktype(), any:linktype() })
        three()
        local pkt = src:next(10)
        assert.equal(("\0"):rep(12) .. "\8\0", pkt:sub(1, 14))
        local cooked = any:next(10)
        assert.equal((">I2I2I4I2I1I1"):pack(0x0800, 0, 1, 772, 0, 6) .. ("\0"):rep(8), cooked:sub(1, 20))
        assert.equal(pkt:sub(15), cooked:sub(21))
        assert.equal(cooked.linktype, 276)
        live.blast(ns, { count = 1 })
        any:next(10)
        any:next(10)
        assert.equal("veth_b", any:next(10).interface)
    end)
end)

describe("direction #root", function()
    local function mac_frame(dst, number)
        return dst .. "\2\0\0\0\0\x0a\x88\xb5" .. (">I4"):pack(number) .. ("."):rep(42)
    end

    local own, foreign, broadcast, multicast = "\2\0\0\0\0\x0b", "\2\0\0\0\0\x99", ("\xff"):rep(6), "\1\0\x5e\0\0\5"

    root_it("is that of the kernel's packet type on veth (A22)", function()
        local ns <close> = support.namespaces()
        local at_a <close> = live.capture(ns, "a")
        local at_b <close> = live.capture(ns, "b")
        live.send(ns, "a", { mac_frame(own, 1), mac_frame(foreign, 2), mac_frame(broadcast, 3),
            mac_frame(multicast, 4) })
        local a, b = collect(at_a, 4), collect(at_b, 4)
        assert.equal("out out out out", all(a, "direction"))
        assert.equal("nil nil nil nil", all(a, "reception"))
        assert.equal("in other in in", all(b, "direction"))
        assert.equal("unicast promiscuous broadcast multicast", all(b, "reception"))
        assert.equal("veth_b veth_b veth_b veth_b", all(b, "interface"))
    end)

    root_it("is that of each device of a bridge (A22)", function()
        local ns <close> = support.namespaces()
        ns:must("b", [[set -e; ip addr flush dev veth_b
            ip link add br0 type bridge; ip link set br0 up; ip link set veth_b master br0
            ip link add p1 type veth peer name p2; ip link set p1 master br0 up; ip link set p2 up]])
        local sources = {}
        for _, ifname in ipairs { "veth_b", "br0", "p1" } do
            sources[ifname] = live.capture(ns, "b", { filter = "ether proto 0x88b5", block_count = 64 }, ifname)
        end
        live.send(ns, "a", { mac_frame(broadcast, 1) })
        for ifname, direction in pairs { veth_b = "in", br0 = "in", p1 = "out" } do
            local packets = collect(sources[ifname], 1)
            assert.equal(direction, all(packets, "direction"), ifname)
            assert.equal(direction == "in" and "broadcast" or "nil", all(packets, "reception"), ifname)
            sources[ifname]:close()
        end
    end)

    root_it("is that of parent and child of a macvlan (A22)", function()
        local ns <close> = support.namespaces()
        ns:must("b", "ip link add mv0 link veth_b address 02:00:00:00:00:0c type macvlan mode bridge; "
            .. "ip link set mv0 up")
        local parent <close> = live.capture(ns, "b", { filter = "ether proto 0x88b5" })
        local child <close> = live.capture(ns, "b", { filter = "ether proto 0x88b5" }, "mv0")
        live.send(ns, "a", { mac_frame("\2\0\0\0\0\x0c", 1) })
        local p, c = collect(parent, 1), collect(child, 1)
        assert.equal("other promiscuous", all(p, "direction") .. " " .. all(p, "reception"))
        assert.equal("in unicast", all(c, "direction") .. " " .. all(c, "reception"))
    end)

    root_it("is an option, and what it leaves out is not counted", function()
        local ns <close> = support.namespaces()
        local sources = {
            ["in"] = live.capture(ns, "b", { direction = "in" }),
            out = live.capture(ns, "b", { direction = "out" }),
            both = live.capture(ns, "b", { direction = "both" }),
            default = live.capture(ns, "b"),
        }
        live.send(ns, "a", { mac_frame(own, 1), mac_frame(foreign, 2) })
        live.send(ns, "b", { mac_frame("\2\0\0\0\0\x0a", 3) })
        live.send(ns, "a", { mac_frame(broadcast, 4) })
        for which, expected in pairs { ["in"] = "1 2 4", out = "3", both = "1 2 3 4", default = "1 2 3 4" } do
            local numbers = {}
            for _, pkt in ipairs(collect(sources[which], select(2, expected:gsub("%d", "")))) do
                numbers[#numbers + 1] = (pkt:unpack(">I4", 15))
            end
            assert.equal(expected, table.concat(numbers, " "), which)
            assert.equal(#numbers, sources[which]:stats().matched)
            sources[which]:close()
        end
    end)

    root_it("has promiscuous mode switched on, and off again at close", function()
        local ns <close> = support.namespaces()
        local function promiscuity()
            return tonumber((ns:must("b", "ip -d link show veth_b"):match("promiscuity (%d+)")))
        end
        assert.equal(0, promiscuity())
        local src = live.capture(ns, "b", { promisc = true })
        assert.equal(1, promiscuity())
        local other = live.capture(ns, "b", { promisc = true })
        local without = live.capture(ns, "b")
        assert.equal(2, promiscuity())
        src:close()
        without:close()
        assert.equal(1, promiscuity())
        other:close()
        assert.equal(0, promiscuity())
    end)
end)

describe("checksums #root", function()
    root_it("of veth are not ready until the sender computes them, then ok (A23)", function()
        local ns <close> = support.namespaces()
        local at_a <close> = live.capture(ns, "a", { filter = "udp and dst port 9" })
        local at_b <close> = live.capture(ns, "b", { filter = "udp and dst port 9" })
        live.blast(ns, { count = 2 })
        assert.equal("not_ready not_ready", all(collect(at_a, 2), "checksum"))
        assert.equal("not_ready not_ready", all(collect(at_b, 2), "checksum"))
        ns:must("a", "ethtool -K veth_a tx off >/dev/null")
        live.blast(ns, { count = 2 })
        assert.equal("ok ok", all(collect(at_a, 2), "checksum"))
        assert.equal("ok ok", all(collect(at_b, 2), "checksum"))
    end)

    root_it("that are wrong are bad, and what can't be known is unchecked (A23)", function()
        local ns <close> = support.namespaces()
        local src <close> = live.capture(ns, "b", { direction = "in" })
        local ip = live.ipv4()
        local function with(at, byte)
            return live.frame({}, 0x0800, ip:sub(1, at - 1) .. byte .. ip:sub(at + 1))
        end
        live.send(ns, "a", { live.frame({}, 0x0800, ip), with(40, "X"), with(9, "\x3f"),
            live.frame({ { 0x8100, 5 } }, 0x0800, ip), live.frame({}, 0x0800, ip:sub(1, 26) .. "\0\0" .. ip:sub(29)),
            live.frame({}, 0x88b5, ip) })
        assert.equal("ok bad bad ok unchecked unchecked", all(collect(src, 6), "checksum"))
        local short <close> = live.capture(ns, "b", { direction = "in", snaplen = 50 })
        live.send(ns, "a", { live.frame({}, 0x0800, ip) })
        assert.equal("unchecked", short:next(10).checksum)
    end)

    root_it("of loopback are not ready (A23)", function()
        local ns <close> = support.namespaces()
        local src <close> = live.capture(ns, "b", { filter = "udp and dst port 9" }, "lo")
        ns:must("b", ("%s 127.0.0.1 127.0.0.2 9 1"):format(support.compile("udp_blast.c")))
        assert.equal("not_ready", src:next(10).checksum)
    end)
end)

describe("a tun device #root", function()
    local can = live.root and support.has("ip") and io.open("/dev/net/tun") ~= nil
    local tun_it = can and it or pending

    tun_it("is RAW, whichever way a packet goes (A28, A29)", function()
        local ns <close> = support.namespaces()
        local directory = support.tmpdir()
        local packet = live.ipv4 { src = "198.51.100.2", dst = "198.51.100.1", sport = 5, dport = 9 }
        local six = "\x60\0\0\0\0\8\x3b\x40" .. ("\x20\1\x0d\xb8"):rep(8) .. "12345678" -- no next header
        support.write_file(directory .. "/in", (">s2s2"):pack(packet, six))
        local hold = support.spawn(ns:exec("b", support.compile("tun_hold.c") .. " tun0 <" .. directory .. "/in"))
        assert.truthy(support.wait_output(hold, "ready"))
        local src <close> = live.capture(ns, "b", nil, "tun0") -- while it is down
        local any <close> = live.capture(ns, "b", nil, "any")
        local filtered <close> = live.capture(ns, "b", { filter = "udp port 9 and src host 198.51.100.2" }, "tun0")
        assert.equal(101, src:linktype())
        ns:must("b", "sysctl -qw net.ipv6.conf.tun0.disable_ipv6=1; ip addr add 198.51.100.1/24 dev tun0; "
            .. "ip link set tun0 up")
        assert.truthy(support.wait_output(hold, "sent 2"))
        local packets = collect(src, 3)
        table.sort(packets, function(p, q) -- the answer to the first is sent before or after the second
            return p.direction < q.direction or p.direction == q.direction and p.time < q.time
        end)
        assert.equal("in in out", all(packets, "direction"))
        assert.equal("101 101 101", all(packets, "linktype"))
        assert.equal(packet, packets[1]:bytes())
        assert.equal(six, packets[2]:bytes())
        assert.same({ #packet, #packet }, { packets[1].len, packets[1].caplen })
        assert.equal("\x45\xc0", packets[3]:sub(1, 2))
        assert.equal(packet:sub(1, 28), packets[3]:sub(29, 56)) -- ICMP port unreachable quotes it
        assert.equal("ok", packets[1].checksum)
        assert.matches("IP 198.51.100.2.5 > 198.51.100.1.9: UDP, length 26", tostring(packets[1]), 1, true)

        ns:must("b", ("%s 198.51.100.1 198.51.100.2 9 2"):format(support.compile("udp_blast.c")))
        local sent = collect(src, 2)
        assert.equal("out out", all(sent, "direction"))
        assert.same({ 92, "\x45" }, { sent[2].len, sent[2]:sub(1, 1) })
        assert.equal(2, (sent[2]:unpack(">I4", 29)))

        -- a packet socket sends 28 bytes of IPv4 as they are (A29)
        local small = live.ipv4 { src = "198.51.100.1", dst = "198.51.100.2", payload = "" }
        assert.equal(28, #small)
        assert.equal(1, live.send(ns, "b", { small }, "tun0"))
        assert.equal(small, src:next(10):bytes())

        packets = collect(filtered, 1)
        assert.equal(1, #packets)
        assert.equal(packet, packets[1]:bytes())
        packets = collect(any, 6)
        assert.equal(6, #packets)
        assert.equal((">I2I2I4I2I1I1"):pack(0x0800, 0, packets[1].interface_id, 65534, 0, 0) .. ("\0"):rep(8) .. packet,
            packets[1]:bytes())
        assert.equal("tun0", packets[1].interface)
        assert.is_true(packets[2]:sub(21) == six or packets[3]:sub(21) == six)
        support.kill(hold)
        support.wait(hold)
        assert.matches("tun0: No such device", (select(2, src:next(20)))) -- the device went with it
    end)
end)

describe("any #root", function()
    root_it("knows from which interface each packet is (A28)", function()
        local ns <close> = support.namespaces()
        ns:must("b", "ip link add p1 address 02:00:00:00:01:01 type veth peer name p2; ip link set p1 up; "
            .. "ip link set p2 up")
        local src <close> = live.capture(ns, "b", { filter = "ether proto 0x88b5 or udp dst port 9" }, "any")
        live.blast(ns, { count = 1 })
        local frame = ("\xff"):rep(6) .. "\2\0\0\0\1\1\x88\xb5" .. ("."):rep(46)
        live.send(ns, "b", { frame }, "p1")
        ns:must("b", ("%s 127.0.0.1 127.0.0.2 9 1"):format(support.compile("udp_blast.c")))
        local packets = collect(src, 4)
        local held
        live.send(ns, "b", { frame }, "p1")
        for pkt in src:packets { count = 1 } do
            held = pkt:hold()
        end
        ns:must("b", "ip link del p1")
        assert.equal("p1", held.interface)
        held:release()
        assert.equal("veth_b p1 p2 lo", all(packets, "interface"))
        assert.equal("in out in in", all(packets, "direction"))
        assert.equal("276 276 276 276", all(packets, "linktype"))
        assert.equal(frame:sub(15), packets[2]:sub(21))
        assert.equal("any", src:name())
        -- the file has them as well
        local path = support.tmpdir() .. "/any.pcapng"
        local sink = assert(ringtap.write(path, { source = src }))
        for _, pkt in ipairs(packets) do
            assert(sink:send(pkt))
        end
        assert(sink:close())
        local out = support.must("tshark -r " .. path .. " -T fields -e frame.interface_name -e sll.ifindex "
            .. "-e sll.etype")
        local lines = {}
        for line in out:gmatch("[^\n]+") do
            lines[#lines + 1] = line:match("\t(.*)")
        end
        local expected = {}
        for i, pkt in ipairs(packets) do
            expected[i] = ("%d\t0x%04x"):format(pkt.interface_id, (pkt:unpack(">I2")))
        end
        assert.same(expected, lines)
    end)

    root_it("counts and filters like one interface", function()
        local ns <close> = support.namespaces()
        local src <close> = live.capture(ns, "b", { filter = "udp and dst port 9" }, "any")
        local sent = live.blast(ns, { count = 20000 })
        local numbers = {}
        for pkt in src:packets { idle = 0.3 } do
            numbers[#numbers + 1] = (pkt:unpack(">I4", live.payload + 6))
        end
        assert.equal(sent, live.assert_rising(numbers))
        local s = src:stats()
        assert.same({ sent, 0 }, { s.delivered, s.dropped })
    end)
end)

describe("time #root", function()
    root_it("is in integer nanoseconds, from the software's clock, and never goes back (A30)", function()
        local ns <close> = support.namespaces()
        local src <close> = live.capture(ns, "b", { filter = "udp and dst port 9" })
        local before = live.clock()
        live.blast(ns, { count = 2000 })
        local after = live.clock()
        local last, n, fine = 0, 0, 0
        for pkt in src:packets { idle = 0.2 } do
            local time = pkt.time
            n = n + 1
            assert(math.type(time) == "integer" and time >= last)
            assert(pkt.timestamp_source == "software")
            fine = fine + (time % 1000 ~= 0 and 1 or 0)
            if n == 1 then
                assert.is_true(time / 1e9 >= before - 0.001)
            end
            last = time
        end
        assert.equal(2000, n)
        assert.is_true(last / 1e9 <= after + 0.001)
        assert.is_true(fine > 1000, "no nanoseconds")
        assert.equal("software", src:stats().timestamp_source)
    end)

    root_it("says that it is the software's where the hardware has no clock (A30)", function()
        local ns <close> = support.namespaces()
        for _, ifname in ipairs { "veth_b", "any" } do
            local src <close> = live.capture(ns, "b", { timestamp = "hardware", filter = "udp and dst port 9" }, ifname)
            local before = live.clock()
            live.blast(ns, { count = 1 })
            local pkt = src:next(10)
            assert.equal("software", pkt.timestamp_source)
            assert.is_true(pkt.time / 1e9 >= before - 0.001)
            assert.equal("software", src:stats().timestamp_source)
        end
    end)
end)

describe("namespaces #root", function()
    root_it("are entered by name or path, for the socket only", function()
        local ns <close> = support.namespaces()
        local here = support.must("readlink /proc/self/ns/net")
        for _, where in ipairs { ns.b, "/run/netns/" .. ns.b, "/var/run/netns/" .. ns.b } do
            local src <close> = assert(ringtap.capture("veth_b", { netns = where, filter = "udp and dst port 9" }))
            live.blast(ns, { count = 1 })
            assert.equal(1, number_of(src:next(10)))
        end
        assert.equal(here, support.must("readlink /proc/self/ns/net"))
        assert.same({ nil, 2 }, { (ringtap.capture("lo", { netns = "none-such" })),
            (select(3, ringtap.capture("lo", { netns = "none-such" }))) })
        assert.matches("^lo: network namespace 'none%-such': No such file or directory %(/run/netns/none%-such%)$",
            (select(2, ringtap.capture("lo", { netns = "none-such" }))))
        assert.matches("^lo: network namespace '/dev/null': Invalid argument$",
            (select(2, ringtap.capture("lo", { netns = "/dev/null" }))))
    end)

    root_it("that are deleted while a source is open leave it an end", function()
        local ns <close> = support.namespaces()
        local src = live.capture(ns, "b", { filter = "udp and dst port 9" })
        live.blast(ns, { count = 1 })
        ns:delete()
        -- the open socket keeps the namespace; its device is there until the source is closed, or gone with the peer
        local ok, message = pcall(function()
            assert.equal(1, number_of(src:next(10)))
            while src:next(1) do end
        end)
        assert(ok or message:find("No such device"), message)
        src:close()
    end)
end)

describe("what can't be opened", function()
    it("is told with its name", function()
        local function refused(...)
            local src, message, errno = ringtap.capture(...)
            assert.is_nil(src)
            return { message, errno }
        end
        local impossible = ": no interface can have this name (1 to 15 bytes)"
        assert.same({ "nosuchdev0: No such device (`ringtap info` lists the interfaces)", 19 }, refused("nosuchdev0"))
        assert.same({ "'" .. ("x"):rep(16) .. "'" .. impossible, 19 }, refused(("x"):rep(16)))
        assert.same({ "''" .. impossible, 19 }, refused(""))
        assert.same({ "any: promiscuous mode is set on one interface, not on all", 22 },
            refused("any", { promisc = true }))
    end)

    root_it("tells which ring parameter is wrong, and a good one #root", function()
        local function refused(options)
            local src, message, errno = ringtap.capture("lo", options)
            assert.is_nil(src)
            assert.equal(22, errno)
            return message
        end
        assert.matches("block_size 5000: must be a multiple of the page size, 4096, up to 2 GiB: try 8192",
            refused { block_size = 5000 }, 1, true)
        assert.matches("block_size 1: must be a multiple of the page size, 4096, up to 2 GiB: try 4096",
            refused { block_size = 1 }, 1, true)
        assert.matches("ring_size 100000: must be a multiple of block_size 4096: try 102400",
            refused { ring_size = 100000, block_size = 4096 }, 1, true)
        assert.matches("ring_size 5 is not block_size 4096 * block_count 2",
            refused { ring_size = 5, block_size = 4096, block_count = 2 }, 1, true)
        local src, message, errno = ringtap.capture("lo", { ring_size = 1 << 40 })
        assert.is_nil(src)
        assert.equal(12, errno)
        assert.matches("lo: no memory for a ring of 4194304 blocks of 256 KiB %(1024 GiB%); %d+ blocks %(.*%) would "
            .. "fit",
            message) -- not found out by taking all the memory that there is
    end)

    root_it("says EPERM and the way out to somebody without the right to it #root", function()
        local directory = support.tmpdir()
        support.must("chmod 755 " .. directory)
        support.must(("mkdir -p %s/lib && cp -r lua %s/ && cp -r %s/. %s/lib/ && chmod -R a+rX %s"):format(directory,
            directory, support.quote((live.lua_cpath:gsub("/%?%.so$", ""))), directory, directory))
        support.write_file(directory .. "/try.lua", ([[
            package.path, package.cpath = "%s/lua/?.lua;%s/lua/?/init.lua", "%s/lib/?.so"
            local ringtap = require "ringtap"
            print(ringtap.capture("lo"))
            print(ringtap.capture("lo", { netns = "/proc/1/ns/net" }))
            print(pcall(assert, ringtap.capture("any")))
        ]]):format(directory, directory, directory))
        local out = support.must(("setpriv --reuid=65534 --regid=65534 --clear-groups --bounding-set=-all "
            .. "lua5.4 %s/try.lua"):format(directory))
        local lines = {}
        for line in out:gmatch("[^\n]+") do
            lines[#lines + 1] = line
        end
        local way_out = "Operation not permitted (needs CAP_NET_RAW: run as root, "
            .. "or setcap cap_net_raw+ep on the lua binary)"
        assert.equal("nil\tlo: " .. way_out .. "\t1", lines[1])
        assert.matches("^nil\tlo: network namespace '/proc/1/ns/net': ", lines[2])
        assert.equal("false\tany: " .. way_out, lines[3])
    end)
end)
