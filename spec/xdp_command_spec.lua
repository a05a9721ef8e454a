-- The subcommands with --backend xdp, end to end. What is right is what the sender has sent, what the kernels on both
-- ends count, and what tcpdump and tshark make of it.
local live = require "support.live"
local sending = require "support.sending"
local support = require "support"

local quote = support.quote
local root_it = live.root and it or pending

teardown(support.cleanup)

local function within(netns, line)
    return ("ip netns exec %s sh -c %s"):format(netns, quote("exec " .. support.ringtap .. " " .. line))
end

--- In the background, once it has said that it listens or forwards.
local function start(netns, line)
    local process = support.spawn(within(netns, line))
    assert(support.wait_output(process, "ing %S+[^\n]*backend xdp", 10))
    return process
end

local function finish(process)
    support.kill(process, "INT")
    local status, out, err = support.wait(process, 10)
    assert.equal(0, status, err)
    return out, err
end

local everything = "everything that comes in on %s is taken from the host (a filter or --pass leaves it the rest)\n"

describe("ringtap dump, fields --backend xdp #root", function()
    for _, mode in ipairs { "native", "generic" } do
        root_it("says how it listens, writes what came, and accounts for it, " .. mode, function()
            local ns <close> = support.namespaces { queues = 2 }
            local file = support.tmpdir() .. "/x.pcapng"
            local process = start(ns.b, ("dump -i veth_b --backend xdp --xdp-mode %s --queues 0,1 -w %s udp port 9")
                :format(mode, file))
            assert.equal(1000, live.blast(ns, { count = 1000, rate = 20000 }))
            live.send(ns, "a", { live.frame({}, 0x0800, live.ipv4 { dport = 10 }) })
            support.sleep(0.2)
            local _, err = finish(process)
            assert.equal(("listening on veth_b, backend xdp (%s, copy, queues 0,1), link-type EN10MB (Ethernet), "
                .. "snapshot length 262144 bytes\n1000 packets captured\n1000 packets received by filter\n"
                .. "0 packets dropped by kernel\n"):format(mode), err)
            local n = 0
            for hex in support.must("tshark -n -r " .. file .. " -T fields -e udp.payload"):gmatch "%x+" do
                n = n + 1
                assert.equal(n, tonumber(hex:sub(1, 8), 16))
            end
            assert.equal(1000, n)
        end)
    end

    root_it("says that everything is taken from the host, and --pass leaves it something", function()
        local ns <close> = support.namespaces()
        local function host_has(flags, frames)
            local process = start(ns.b, "dump -n -i veth_b --backend xdp " .. flags)
            local tcpdump = support.spawn(ns:exec("b", "tcpdump -Q in -n -e -i veth_b"))
            support.wait_output(tcpdump, "listening on", 10)
            live.send(ns, "a", frames)
            support.sleep(1.2)
            support.kill(tcpdump, "INT")
            local _, host = support.wait(tcpdump, 10)
            local out, err = finish(process)
            return host:gsub("^\n", ""):gsub("\n\n$", "\n"), out, err -- tcpdump ends a line when it is interrupted
        end
        local arp = live.frame({}, 0x0806, (">I2I2I1I1I2"):pack(1, 0x0800, 6, 4, 2)
            .. ("\2\0\0\0\0\1\192\0\2\9"):rep(2))
        local frames = { arp, live.frame({}, 0x0800, live.ipv4 { dport = 9 }) }
        local host, out, err = host_has("", frames)
        assert.equal("", host)
        assert.matches("ARP.*192.0.2.2.9: UDP", out)
        assert.is_truthy(err:find("\n" .. everything:format "veth_b", 1, true))
        host, out, err = host_has("--pass arp,ssh --latency 0.05", frames)
        assert.matches("^[^\n]*ARP[^\n]*\n$", host)
        assert.matches("^[^\n]*192.0.2.2.9: UDP[^\n]*\n$", out)
        assert.is_nil(err:find("everything", 1, true))
        host, out, err = host_has("udp", frames)
        assert.matches("^[^\n]*ARP[^\n]*\n$", host)
        assert.matches("^[^\n]*192.0.2.2.9: UDP[^\n]*\n$", out)
        assert.is_nil(err:find("everything", 1, true))
    end)

    root_it("tells why packets were dropped", function()
        local ns <close> = support.namespaces()
        local process = start(ns.b, "dump -n -i veth_b --backend xdp -w - udp port 9 > /dev/null")
        support.must("kill -STOP " .. process.pid)
        local ok, sent = pcall(live.blast, ns, { count = 30000 })
        support.must("kill -CONT " .. process.pid)
        assert.is_true(ok)
        local _, err = finish(process)
        local received, dropped, causes = err:match("(%d+) packets received by filter\n(%d+) packets dropped by kernel "
            .. "%((.-)%)\n")
        assert.equal(sent, tonumber(received))
        local by_cause = 0
        for n in causes:gmatch "[%a_]+ (%d+)" do
            by_cause = by_cause + n
        end
        assert.equal(tonumber(dropped), by_cause)
        assert.matches("rx_ring_full %d+", causes)
    end)

    root_it("fields prints the fields of what came", function()
        local ns <close> = support.namespaces()
        local process = start(ns.b, "fields -i veth_b --backend xdp -c 3 -e ip.src -e udp.dstport -f 'udp port 9'")
        live.blast(ns, { count = 3 })
        local status, out, err = support.wait(process, 10)
        assert.same({ 0, ("192.0.2.1\t9\n"):rep(3) }, { status, out }, err)
        assert.matches("^listening on veth_b, backend xdp %(native, copy, queue 0%)", err)
    end)

    root_it("is in promiscuous mode, and not with -p, and leaves it", function()
        local ns <close> = support.namespaces()
        local function promiscuity()
            return tonumber(support.must(("ip -n %s -d link show dev veth_b"):format(ns.b)):match "promiscuity (%d+)")
        end
        assert.equal(0, promiscuity())
        local process = start(ns.b, "dump -i veth_b --backend xdp -w /dev/null udp")
        assert.equal(1, promiscuity())
        finish(process)
        assert.equal(0, promiscuity())
        process = start(ns.b, "dump -p -i veth_b --backend xdp -w /dev/null udp")
        assert.equal(0, promiscuity())
        finish(process)
    end)
end)

describe("ringtap send, replay, forward --backend xdp #root", function()
    root_it("send and replay: the same frames arrive as by AF_PACKET", function()
        local ns <close> = support.namespaces()
        local file, list = support.tmpdir() .. "/r.pcap", {}
        for i = 1, 50 do
            list[i] = live.frame({}, 0x0800, live.ipv4 { payload = "number " .. i })
        end
        live.write_pcap(file, list)
        local q = quote [[eth{dst="02:00:00:00:00:0b"} / ip{src="192.0.2.1", dst="192.0.2.2"} / udp{dstport=9} / "x"]]
        for line, count in pairs { ["replay -i veth_a -t -l 3 %s " .. file] = 150,
            ["send -i veth_a -c 100 -r 10kpps -v udp.srcport=increment %s " .. q] = 100 } do
            local arrived = {}
            for i, flags in ipairs { "", "--backend xdp", "--backend xdp --queues 0" } do
                local process, path = sending.tcpdump(ns, "udp")
                local status, out, err = support.run(within(ns.a, line:format(flags)))
                assert.same({ 0, "" }, { status, err })
                assert.matches("^" .. count .. " frames in", out)
                assert.equal(i > 1, out:find("(xdp)", 1, true) ~= nil)
                sending.stop_tcpdump(process, count)
                local all = {}
                sending.each_in_pcap(path, function(bytes) all[#all + 1] = bytes end)
                arrived[i] = table.concat(all, "|")
                assert.equal(arrived[1], arrived[i], line .. flags)
            end
        end
    end)

    root_it("forward: TCP both ways, one way, with a filter", function()
        local ns, closing = support.three(true)
        local _ <close> = closing
        local process = start(ns.m, "forward -i m0 -o m1 --both --backend xdp")
        local take = support.spawn(ns:exec("b", ("%s take %s 8000"):format(support.compile "flow.c", ns.b_ip)))
        support.wait_output(take, "listening", 10)
        assert.equal("3000000\n", support.must(ns:exec("a", ("timeout 20 %s tcp %s %s 8000 3000000"):format(
            support.compile "flow.c", ns.a_ip, ns.b_ip))))
        local status, taken = support.wait(take, 10)
        assert.same({ 0, "3000000\n" }, { status, taken })
        local _, err = finish(process)
        assert.is_truthy(err:find("forwarding m0 <> m1, backend xdp (native, copy, queue 0; native, copy, queue 0)\n"
            .. everything:format "m0 and m1", 1, true), err)
        for _, way in ipairs { "m0 > m1", "m1 > m0" } do
            local received, sent, dropped = err:match(way .. ": (%d+) packets received, (%d+) sent, (%d+) dropped")
            assert.is_true(tonumber(received) > 10, err)
            assert.same({ received, "0" }, { sent, dropped })
        end
        local arrived <close> = live.capture(ns, "b", { filter = "udp" })
        local function sent_back()
            return support.must(("ip netns exec %s cat /sys/class/net/m0/statistics/tx_packets"):format(ns.m))
        end
        local before = sent_back()
        process = start(ns.m, "forward -i m0 -o m1 --backend xdp --xdp-mode generic udp dst port 9")
        live.blast(ns, { count = 100, rate = 5000 })
        live.blast(ns, { count = 10, port = 10 })
        support.sleep(0.2)
        _, err = finish(process)
        assert.is_truthy(err:find("m0 > m1: 100 packets received, 100 sent, 0 dropped by kernel\n", 1, true), err)
        assert.is_nil(err:find("everything", 1, true))
        local n = 0
        for pkt in arrived:packets { idle = 0.3 } do
            n = n + 1
            assert.same({ n, 9 }, { live.number_of(pkt), pkt["udp.dstport"] })
        end
        assert.equal(100, n)
        assert.equal(before, sent_back())
    end)

    root_it("forward between interfaces with different numbers of queues", function()
        local ns <close> = support.namespaces()
        ns:must("b", "ip link add d0 numrxqueues 3 numtxqueues 3 type veth peer name d1 numrxqueues 3 numtxqueues 3; "
            .. "ip link set d0 up; ip link set d1 up")
        for from, to in pairs { veth_b = "d0", d0 = "veth_b" } do
            local process = start(ns.b, ("forward -i %s -o %s --both --backend xdp"):format(from, to))
            live.blast(ns, { count = 20, rate = 5000 })
            support.sleep(0.2)
            local _, err = finish(process)
            assert.is_truthy(err:find("veth_b > d0: 20 packets received, 20 sent", 1, true), err)
        end
    end)
end)

describe("--backend xdp #root", function()
    root_it("is refused with what doesn't go with it, and its flags without it", function()
        local ns <close> = support.namespaces()
        for line, wanted in pairs {
            ["dump -i veth_a --backend xdp -B 4096"] = "-B doesn't go with --backend xdp",
            ["dump -i veth_a --backend xdp -Q out"] = "-Q out doesn't go with --backend xdp",
            ["dump -i veth_a --backend xdp --fanout hash"] = "--fanout doesn't go with --backend xdp",
            ["dump -i veth_a --backend xdp --immediate-mode --latency 1"] = "--immediate-mode with --latency",
            ["dump -i any --backend xdp"] = "-i any doesn't go with --backend xdp",
            ["dump -r x --backend xdp"] = "--backend is for interfaces, not for -r",
            ["dump -r x --pass arp"] = "--pass is for interfaces, not for -r",
            ["dump -i veth_a --pass arp"] = "--pass needs --backend xdp",
            ["dump -i veth_a --backend packet --queues 0"] = "--queues needs --backend xdp",
            ["dump -i veth_a --backend xpd"] = "'--backend'",
            ["dump -i veth_a --backend xdp --queues 0,0"] = "invalid queues '0,0'",
            ["dump -i veth_a --backend xdp --queues x"] = "invalid queues 'x'",
            ["dump -i veth_a --backend xdp --pass ,"] = "--pass is empty",
            ["dump -i veth_a --backend xdp --latency 11"] = "invalid latency '11'",
            ["fields -i veth_a -e ip.src --xdp-mode native"] = "--xdp-mode needs --backend xdp",
            ["send -i veth_a --backend xdp --method ring 00"] = "--method doesn't go with --backend xdp",
            ["send -i veth_a --backend xdp --queues all 00"] = "invalid queue 'all'",
            ["replay -i veth_a --backend xdp --qdisc-bypass x"] = "--qdisc-bypass doesn't go with --backend xdp",
            ["replay -i veth_a --queues 0 x"] = "--queues needs --backend xdp",
            ["forward -i veth_a -o lo --backend xdp --method mmsg"] = "--method doesn't go with --backend xdp",
            ["forward -i veth_a -o lo --latency 0"] = "--latency needs --backend xdp",
        } do
            local status, out, err = support.run(within(ns.a, line))
            assert.same({ 2, "" }, { status, out }, line .. err)
            assert.is_truthy(err:find(wanted, 1, true), line .. "\n" .. err)
        end
        for line, wanted in pairs {
            ["dump -i veth_a --backend xdp --queues 7"] = "veth_a: it has no queue 7",
            ["dump -i veth_a --backend xdp --pass 'arp,foo bar'"] = "syntax error",
            ["dump -i lo --backend xdp --xdp-mode native"] = "lo: attaching the XDP program in native mode: ",
            ["send -i veth_a --backend xdp --queues 7 " .. ("00"):rep(60)] = "veth_a: it has no queue 7",
            ["forward -i veth_a -o nosuch --backend xdp"] = "nosuch: No such device",
            ["forward -i veth_a -o nosuch --both --backend xdp"] = "nosuch: No such device",
        } do
            local status, out, err = support.run(within(ns.a, line))
            assert.same({ 1, "" }, { status, out }, line .. err)
            assert.is_truthy(err:find(wanted, 1, true), line .. "\n" .. err)
            assert.is_nil(err:find("traceback", 1, true), err)
        end
        assert.is_nil(support.must(("ip -n %s link show"):format(ns.a)):find("prog/xdp", 1, true))
    end)

    it("is in the help texts", function()
        local _, out = support.run(support.ringtap .. " --help")
        assert.is_truthy(out:find("--backend xdp", 1, true))
        for name, flags in pairs {
            dump = { "--backend", "--xdp-mode", "--queues", "--pass", "--latency" },
            fields = { "--backend", "--xdp-mode", "--queues", "--pass", "--latency" },
            forward = { "--backend", "--xdp-mode", "--queues", "--pass", "--latency" },
            send = { "--backend", "--queues" },
            replay = { "--backend", "--queues" },
        } do
            _, out = support.run(support.ringtap .. " " .. name .. " --help")
            for _, flag in ipairs(flags) do
                assert.is_truthy(out:find("\n   " .. flag, 1, true), name .. " " .. flag .. out)
            end
        end
    end)
end)
