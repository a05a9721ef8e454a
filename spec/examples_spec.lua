-- Every example, as a user runs it, on a veth pair. (bridge.lua and reflector.lua: replay_spec.lua, too.)
local live = require "support.live"
local ringtap = require "ringtap"
local sending = require "support.sending"
local support = require "support"

local root_it = live.root and it or pending

teardown(support.cleanup)

local function command(ns, side, line)
    return ns:exec(side, ("env LUA_PATH=%s LUA_CPATH=%s lua5.4 examples/%s"):format(support.quote(live.lua_path),
        support.quote(live.lua_cpath), line))
end

local function run(ns, side, line)
    local status, out, err = support.run("timeout 60 " .. command(ns, side, line))
    assert(status == 0, err)
    return out
end

-- In the background, once it has so many packet sockets.
local function start(ns, side, line, sockets)
    local before = live.sockets(ns, side)
    local process = support.spawn(command(ns, side, line))
    assert(support.wait_for(function() return live.sockets(ns, side) >= before + sockets end, 10))
    support.sleep(0.1)
    return process
end

-- In the background, once its XDP program is attached to each of these interfaces.
local function start_xdp(netns, line, ...)
    local process = support.spawn(("ip netns exec %s env LUA_PATH=%s LUA_CPATH=%s lua5.4 examples/%s"):format(netns,
        support.quote(live.lua_path), support.quote(live.lua_cpath), line))
    for _, ifname in ipairs { ... } do
        assert(support.wait_for(function()
            return support.must(("ip -n %s link show dev %s"):format(netns, ifname)):find("prog/xdp", 1, true)
        end, 10))
    end
    support.wait_output(process, "\n", 10)
    return process
end

local function finish(process)
    local status, out, err = support.wait(process, 30)
    assert(status == 0, err)
    return out
end

describe("the examples", function()
    it("are short enough to be read", function()
        for name in support.must("ls examples/*.lua"):gmatch "[^\n]+" do
            local n = select(2, support.read_file(name):gsub("\n", ""))
            assert.is_true(n < 60, name)
        end
    end)
end)

describe("example #root", function()
    root_it("send_udp.lua", function()
        local ns <close> = support.namespaces()
        local process, path = sending.tcpdump(ns, "udp port 9")
        local out = run(ns, "a", "send_udp.lua veth_a 02:00:00:00:00:0b 192.0.2.1 192.0.2.2 20kpps 5000")
        assert.matches("^5000 frames in 0%.[23]%d+ s: .* kpps", out)
        sending.stop_tcpdump(process, 5000)
        local i = 0
        sending.each_in_pcap(path, function(bytes)
            assert.equal(i, (">I8"):unpack(bytes, 43))
            assert.equal(1024 + i, (">I2"):unpack(bytes, 35))
            i = i + 1
        end)
        assert.same({ ["1 1 . . . ."] = 5000 }, sending.checksums(path))
    end)

    root_it("send_dns_queries.lua and dns_responder.lua", function()
        local ns <close> = support.namespaces()
        local responder = start(ns, "b", "dns_responder.lua veth_b 203.0.113.5 4", 2)
        local cap <close> = live.capture(ns, "a", { filter = "udp src port 53", direction = "in" })
        local out = run(ns, "a", "send_dns_queries.lua veth_a 02:00:00:00:00:0b 192.0.2.1 192.0.2.2 1kpps 300 "
            .. "a.example b.example")
        assert.matches("300 frames in", out, 1, true)
        assert.matches("300 answers, 0 lost in the ring\n  rcode 0: 300", out, 1, true)
        assert.equal("300 answers, 0 queries lost in the ring\n", finish(responder))
        local names = {}
        for pkt in cap:packets { count = 300, idle = 1 } do
            assert.same({ "203.0.113.5", 1, "ok" }, { pkt["dns.a"], pkt["dns.count.answers"], pkt.checksum })
            names[pkt["dns.resp.name"]] = (names[pkt["dns.resp.name"]] or 0) + 1
        end
        assert.same({ ["a.example"] = 150, ["b.example"] = 150 }, names)
    end)

    root_it("replay.lua", function()
        local ns <close> = support.namespaces()
        local path = support.tmpdir() .. "/in.pcap"
        live.write_pcap(path, { live.frame({}, 0x0800, live.ipv4 { payload = "one" }),
            live.frame({}, 0x0806, ("\0"):rep(28)), live.frame({}, 0x0800, live.ipv4 { payload = "two" }) })
        local process, peer = sending.tcpdump(ns, "")
        local out = run(ns, "a", ("replay.lua veth_a %s 100 192.0.2.1=198.51.100.1"):format(path))
        assert.matches("^2 frames in 0.02%d s", out)
        sending.stop_tcpdump(process, 2)
        local src = {}
        for pkt in assert(ringtap.read(peer)):packets() do
            src[#src + 1] = pkt["ip.src"] .. " " .. pkt:payload()
        end
        assert.same({ "198.51.100.1 one", "198.51.100.1 two" }, src)
        assert.same({ ["1 1 . . . ."] = 2 }, sending.checksums(peer))
    end)

    root_it("reflector.lua answers ARP, ICMP echo and UDP; latency.lua measures it", function()
        local ns <close> = support.namespaces()
        local reflector = start(ns, "b", "reflector.lua veth_b 192.0.2.77 5", 2)
        -- the kernel asks for the address by itself, and believes the answer
        local udp = support.spawn(ns:exec("a", ("%s %s 192.0.2.77 7 5 1000"):format(support.compile "udp_blast.c",
            ns.a_ip)))
        local cap <close> = live.capture(ns, "a", { direction = "in", latency = "low" })
        local kinds = {}
        for pkt in cap:packets { count = 6, duration = 3 } do
            kinds[#kinds + 1] = pkt.arp and "arp " .. pkt["arp.src.hw_mac"]
                or pkt["ip.src"] .. " " .. pkt["udp.srcport"]
            assert.is_not.equal("bad", pkt.checksum)
        end
        assert.equal(0, (support.wait(udp, 5)))
        table.sort(kinds)
        assert.equal("192.0.2.77 7", kinds[1])
        assert.equal("arp 02:00:00:00:00:0b", kinds[#kinds])
        local tx <close> = sending.open(ns)
        assert(tx:send(ringtap.eth { src = ns.a_mac, dst = ns.b_mac } / ringtap.ip { src = ns.a_ip, dst = "192.0.2.77" }
            / ringtap.icmp { type = 8, ident = 7, seq = 1 } / "ping"))
        local reply
        for pkt in cap:packets { duration = 2 } do
            if pkt.icmp then
                reply = { pkt["icmp.type"], pkt["icmp.ident"], pkt["ip.src"], pkt.checksum,
                    pkt["icmp.checksum.status"] }
                break
            end
        end
        assert.same({ 0, 7, "192.0.2.77", "ok", 1 }, reply)
        local out = run(ns, "a", "latency.lua veth_a 02:00:00:00:00:0b 192.0.2.1 192.0.2.77 1000 200")
        assert.matches("^200 sent, 200 received, 0 lost", out)
        assert.matches("round trip: median", out, 1, true)
        assert.matches("%d+ answers\n", finish(reflector))
    end)

    root_it("arp_watch.lua", function()
        local ns <close> = support.namespaces()
        local watch = start(ns, "b", "arp_watch.lua veth_b 1.5", 1)
        local function arp(mac)
            return live.frame({}, 0x0806, (">I2I2I1I1I2"):pack(1, 0x0800, 6, 4, 2) .. (mac .. "\192\0\2\9"):rep(2))
        end
        live.send(ns, "a", { arp "\2\0\0\0\0\1", arp "\2\0\0\0\0\1", arp "\2\0\0\0\0\2" })
        local out = finish(watch)
        assert.matches("192.0.2.9%s+is at 02:00:00:00:00:01\n.*192.0.2.9%s+is at 02:00:00:00:00:02, "
            .. "was at 02:00:00:00:00:01\n$", out)
        assert.equal(2, select(2, out:gsub("\n", "")))
    end)

    root_it("count_by_source.lua", function()
        local ns <close> = support.namespaces()
        local count = start(ns, "b", "count_by_source.lua veth_b 1.5 udp", 1)
        live.blast(ns, { count = 50 })
        local out = finish(count)
        assert.matches("^192.0.2.1%s+50 packets%s+5300 bytes\ndropped 0\n$", out)
        local path = support.tmpdir() .. "/count.pcap"
        live.write_pcap(path, { live.frame({}, 0x0800, live.ipv4 { src = "10.0.0.1" }),
            live.frame({}, 0x0800, live.ipv4 { src = "10.0.0.2", payload = ("x"):rep(200) }) })
        assert.matches("^10.0.0.2 .*\n10.0.0.1 .*\n$", run(ns, "a", "count_by_source.lua " .. path))
    end)

    root_it("rotate_capture.lua", function()
        local ns <close> = support.namespaces()
        local path = support.tmpdir() .. "/r.pcapng"
        local capture = start(ns, "b", ("rotate_capture.lua veth_b %s 20000 3 1.5 udp"):format(path), 1)
        live.blast(ns, { count = 500 })
        assert.matches("^500 packets in .*, 0 dropped\n$", finish(capture))
        local n = 0
        for file in support.must("ls " .. path .. "*"):gmatch "[^\n]+" do
            assert.matches("r.pcapng[012]$", file)
            n = n + 1
            for _ in assert(ringtap.read(file)):packets() do
            end
        end
        assert.equal(3, n)
    end)

    root_it("bridge.lua says what it did", function()
        local ns <close> = support.namespaces()
        ns:must("a", "ip link add d0 type veth peer name d1; ip link set d0 up; ip link set d1 up")
        local bridge = start(ns, "a", "bridge.lua veth_a d0 2", 4)
        live.send(ns, "b", { live.frame({}, 0x88b5, ("x"):rep(60)),
            live.frame({ { 0x8100, 5 } }, 0x88b5, ("y"):rep(60)) })
        local out = finish(bridge)
        assert.matches("d0: 2 sent, 0 refused", out, 1, true)
        assert.equal("2\n", (ns:must("a", "cat /sys/class/net/d1/statistics/rx_packets")))
    end)
end)

describe("example over AF_XDP #root", function()
    root_it("xdp_dump.lua prints what tcpdump saw the sender send, and the host has the rest", function()
        local ns <close> = support.namespaces()
        local dump = start_xdp(ns.b, "xdp_dump.lua veth_b 'udp port 9' 3 10", "veth_b")
        local rest = support.spawn(ns:exec("b", "tcpdump -i veth_b -Q in -c 2 -n udp"))
        support.wait_output(rest, "listening on", 10)
        live.send(ns, "a", { live.frame({}, 0x0800, live.ipv4 { dport = 9, payload = "one" }),
            live.frame({}, 0x0800, live.ipv4 { dport = 10 }), live.frame({}, 0x0800, live.ipv4 { dport = 9 }),
            live.frame({}, 0x0800, live.ipv4 { dport = 11 }), live.frame({}, 0x0800, live.ipv4 { dport = 9 }) })
        local out = finish(dump)
        assert.matches("^veth_b: native mode, copy, queues 0\n", out)
        assert.equal(3, select(2, out:gsub("IP 192.0.2.1.40000 > 192.0.2.2.9: UDP, length %d+\n", "")))
        assert.matches("\nseen 5, left to the host 2, delivered 3, dropped 0\n$", out)
        local _, seen = support.wait(rest, 10)
        assert.matches("2.10: UDP.*2.11: UDP", seen)
        assert.is_nil(seen:find("2.9: UDP", 1, true))
    end)

    root_it("xdp_rebroadcast.lua", function()
        local ns <close> = support.namespaces()
        local cap <close> = live.capture(ns, "a", { direction = "in", filter = "udp" })
        local example = start_xdp(ns.b, "xdp_rebroadcast.lua veth_b 1.5", "veth_b")
        live.blast(ns, { count = 50 })
        assert.matches("\n50 sent again, 0 not, 0 lost before\n$", finish(example))
        local n = 0
        for pkt in cap:packets { count = 50, idle = 1 } do
            n = n + 1
            assert.same({ n, ns.b_mac, ns.b_mac, ns.a_ip }, { live.number_of(pkt), pkt["eth.src"], pkt["eth.dst"],
                pkt["ip.src"] })
        end
        assert.equal(50, n)
    end)

    root_it("xdp_l2fwd.lua carries both directions", function()
        local ns, closing = support.three(false)
        local _ <close> = closing
        local at_b <close> = live.capture(ns, "b", { filter = "udp" })
        local at_a <close> = live.capture(ns, "a", { filter = "ether proto 0x88b5", direction = "in" })
        local example = start_xdp(ns.m, "xdp_l2fwd.lua m0 m1 2", "m0", "m1")
        live.blast(ns, { count = 200, rate = 2000 })
        live.send(ns, "b", { live.frame({}, 0x88b5, ("x"):rep(60)), live.frame({ { 0x8100, 5 } }, 0x88b5, "y") })
        local out = finish(example)
        assert.matches("m0 > m1: %d+ packets/s, [%d.]+ Mbit/s\nm1 > m0: %d+ packets/s", out)
        assert.matches("m0 > m1: %d+ received, 0 dropped, %d+ sent, 0 refused", out)
        local n = 0
        for pkt in at_b:packets { count = 200, idle = 1 } do
            n = n + 1
            assert.equal(n, live.number_of(pkt))
        end
        assert.equal(200, n)
        assert.matches("x+$", assert(at_a:next(1)):bytes())
    end)

    root_it("xdp_send_udp.lua", function()
        local ns <close> = support.namespaces()
        local process, path = sending.tcpdump(ns, "udp port 9")
        local out = run(ns, "a", "xdp_send_udp.lua veth_a 02:00:00:00:00:0b 192.0.2.1 192.0.2.2 5000 50kpps")
        assert.matches("^5000 frames in .*%(xdp%)", out)
        sending.stop_tcpdump(process, 5000)
        local i = 0
        sending.each_in_pcap(path, function(bytes)
            assert.same({ i, 1024 + i, 64 }, { (">I8"):unpack(bytes, 43), (">I2"):unpack(bytes, 35), #bytes })
            i = i + 1
        end)
        assert.same({ ["1 1 . . . ."] = 5000 }, sending.checksums(path))
    end)

    root_it("xdp_send_dns_queries.lua, and its answers", function()
        local ns <close> = support.namespaces()
        local responder = start(ns, "b", "dns_responder.lua veth_b 203.0.113.5 4", 2)
        local out = run(ns, "a", "xdp_send_dns_queries.lua veth_a 02:00:00:00:00:0b 192.0.2.1 192.0.2.2 300 1kpps "
            .. "a.example")
        assert.matches("^300 frames in .*%(xdp%)", out)
        assert.matches("300 answers, 0 more for which the ring had no room\n  rcode 0: 300", out, 1, true)
        assert.equal("300 answers, 0 queries lost in the ring\n", finish(responder))
    end)

    root_it("xdp_filter_one_protocol.lua leaves the rest to the host", function()
        local ns <close> = support.namespaces()
        local example = start_xdp(ns.b, "xdp_filter_one_protocol.lua veth_b 17 2", "veth_b")
        live.blast(ns, { count = 20 })
        local take = support.spawn(ns:exec("b", ("%s take %s 8000"):format(support.compile "flow.c", ns.b_ip)))
        support.wait_output(take, "listening", 10)
        assert.equal("100000\n", support.must(ns:exec("a", ("timeout 10 %s tcp %s %s 8000 100000"):format(
            support.compile "flow.c", ns.a_ip, ns.b_ip))))
        assert.equal(0, (support.wait(take, 10)))
        local seen, taken, left, dropped, who = finish(example):match("seen (%d+), taken (%d+), left to the host "
            .. "(%d+), dropped (%d+)\n  192.0.2.1: (%d+)\n$")
        assert.same({ "20", "0", "20" }, { taken, dropped, who })
        assert.equal(tonumber(seen), tonumber(taken) + tonumber(left))
    end)
end)

describe("ringtap send, replay #root", function()
    local function ringtap_in(ns, line)
        return support.run(ns:exec("a", "sh -c " .. support.quote(("timeout 30 %s %s"):format(support.ringtap, line))))
    end
    local q = [['eth{dst="02:00:00:00:00:0b"} / ip{src="192.0.2.1", dst="192.0.2.2"} / udp{dstport=9} / "hello"']]

    root_it("send a builder, hex, a file; the report is on standard output", function()
        local ns <close> = support.namespaces()
        local process, path = sending.tcpdump(ns, "ether src 02:00:00:00:00:0a or ether proto 0x88b5")
        local status, out, err = ringtap_in(ns, "send -i veth_a " .. q)
        assert.same({ 0, "" }, { status, err })
        assert.matches("^1 frames in", out)
        status, out = ringtap_in(ns, "send -i veth_a -c 100 -r 10kpps -v ip.src=10.0.0.1-10.0.0.9 "
            .. "-v udp.srcport=random --seed 3 " .. q)
        assert.equal(0, status)
        assert.matches("^100 frames in .* asked 10kpps", out)
        status = ringtap_in(ns, "send -i veth_a 02000000000b02000000000a88b5" .. ("00"):rep(46))
        assert.equal(0, status)
        local file = support.tmpdir() .. "/two.pcap"
        live.write_pcap(file, { live.frame({}, 0x0800, live.ipv4()), live.frame({}, 0x0800, live.ipv4 { dport = 10 }) })
        status, out = ringtap_in(ns, "send -i veth_a -c 4 " .. file)
        assert.same({ 0, "4" }, { status, out:match "^%d+" })
        sending.stop_tcpdump(process, 1 + 100 + 1 + 4)
        local sources = {}
        for pkt in assert(ringtap.read(path)):packets() do
            if pkt.ip then
                sources[pkt["ip.src"]] = (sources[pkt["ip.src"]] or 0) + 1
            end
        end
        assert.same({ 12, 11, 5 }, { sources["10.0.0.1"], sources["10.0.0.9"], sources["192.0.2.1"] })
        assert.same({ ["1 1 . . . ."] = 105, [". . . . . ."] = 1 }, sending.checksums(path))
    end)

    root_it("tell what is wrong, with the right status", function()
        local ns <close> = support.namespaces()
        for line, wanted in pairs {
            ["send -i veth_a"] = { 2, "packet" },
            ["send " .. q] = { 2, "-i" },
            ["send -i veth_a -r 5x " .. q] = { 2, "250kpps" },
            ["send -i veth_a -v ip.src " .. q] = { 2, "FIELD=HOW" },
            ["send -i veth_a -v ip.scr=random " .. q] = { 1, "did you mean" },
            ["send -i nosuch " .. q] = { 1, "nosuch: No such device" },
            ["send -i veth_a 'udp{dstprt=5}'"] = { 1, "did you mean 'dstport'" },
            ["send -i veth_a 'os.exit(7)'"] = { 1, "nil value" },
            ["send -i veth_a 0200"] = { 1, "" },
            ["send -i veth_a 020"] = { 1, "odd number of hex digits" },
            ["send -i veth_a nope.pcap"] = { 1, "there is no such file" },
            ["forward -i any -o veth_a"] = { 2, "'any' is not one interface" },
            ["replay -i veth_a"] = { 2, "file" },
            ["replay -i veth_a -t -p 5 x"] = { 2, "" },
            ["replay -i veth_a /nonexistent"] = { 1, "/nonexistent: No such file" },
            ["send -n -i veth_a -v x " .. q] = { 2, "FIELD=HOW" },
            ["send -n -i veth_a -v udp.srcprt=1 " .. q] = { 1, "ringtap: no protocol has a field 'udp.srcprt'" },
            ["send -n -i veth_a -v ip.ttl=1,256 " .. q] = { 1, "ringtap: ip.ttl: 256 doesn't fit" },
            ["replay -i veth_a --rewrite x /nonexistent"] = { 2, "FROM=TO" },
            ["forward -i veth_a -o veth_a"] = { 2, "same interface" },
            ["forward -i veth_a -o nosuch"] = { 1, "nosuch: No such device" },
            ["forward -i veth_a -o lo 'udp prt 5'"] = { 1, "syntax error" },
        } do
            local status, _, err = ringtap_in(ns, line)
            assert.equal(wanted[1], status, line .. err)
            assert.matches(wanted[2], err, 1, true)
            assert.is_nil(err:find("traceback", 1, true), err)
        end
        local _, out = ringtap_in(ns, "send -n -i veth_a " .. q)
        assert.matches("ip.checksum.status  1", out, 1, true)
        assert.equal(0, live.counter(ns, "a", "tx_packets"))
        for _, name in ipairs { "send", "replay", "forward" } do
            local status, help = ringtap_in(ns, name .. " --help")
            assert.equal(0, status)
            assert.matches("^Usage: ringtap " .. name, help)
        end
    end)

    root_it("replay has tcpreplay's flags, and the same packets arrive", function()
        local ns <close> = support.namespaces()
        local file, list = support.tmpdir() .. "/r.pcap", {}
        for i = 1, 50 do
            list[i] = live.frame({}, 0x0800, live.ipv4 { payload = "number " .. i })
        end
        live.write_pcap(file, list)
        local arrived = {}
        for _, line in ipairs { "tcpreplay -i veth_a -t -K -l 3 " .. file,
            support.ringtap .. " replay -i veth_a -t -K -l 3 " .. file,
            support.ringtap .. " replay --intf1 veth_a -p 1000 -L 150 -l 0 " .. file,
            support.ringtap .. " replay -i veth_a -M 10 -l 3 " .. file,
            support.ringtap .. " replay -i veth_a -x 1000 -l 3 " .. file } do
            local process, path = sending.tcpdump(ns, "udp")
            local status, _, err = support.run(ns:exec("a", "timeout 30 " .. line))
            assert.equal(0, status, err)
            sending.stop_tcpdump(process, 150)
            local all = {}
            sending.each_in_pcap(path, function(bytes) all[#all + 1] = bytes end)
            arrived[#arrived + 1] = table.concat(all, "|")
            assert.equal(arrived[1], arrived[#arrived], line)
        end
    end)

    root_it("show how it goes on a terminal, and only there", function()
        local ns <close> = support.namespaces()
        local line = ("%s send -i veth_a -d 2.5 -r 1000 %s"):format(support.ringtap, q)
        local status, out = support.run(ns:exec("a", "script -qec " .. support.quote(line) .. " /dev/null"))
        assert.equal(0, status)
        local _, shown = out:gsub("\r *%d s  %d+ frames  [%d.]+ %a*pps  [%d.]+ %a*bit/s", "")
        assert.equal(2, shown, out)
        assert.matches("2500 frames in 2.5", out, 1, true)
    end)

    root_it("end on SIGINT with the report", function()
        local ns <close> = support.namespaces()
        sending.listener(ns)
        local before = sending.received(ns)
        local process = support.spawn(ns:exec("a", support.ringtap .. " send -i veth_a -d 20 -r 1000 " .. q))
        assert(support.wait_for(function() return sending.received(ns) > before + 50 end, 10))
        support.kill(process, "INT")
        local status, out = support.wait(process, 5)
        assert.equal(0, status)
        assert.matches("ended: interrupted", out, 1, true)
        assert.equal(sending.received(ns) - before, tonumber(out:match "^%d+"))
    end)
end)
