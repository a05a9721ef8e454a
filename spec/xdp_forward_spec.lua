-- Passing frames on within one UMEM, without a copy: whole, once, and never before the kernel is done with them.
local ringtap = require "ringtap"
local support = require "support"
local live = require "support.live"

local root_it = live.root and it or pending

teardown(support.cleanup)

--- Two ports on one UMEM, in the namespace in the middle.
local function ports(ns, options)
    local function with(more)
        local o = { netns = ns.m, latency = "low" }
        for k, v in pairs(options or {}) do
            o[k] = v
        end
        for k, v in pairs(more) do
            o[k] = v
        end
        return o
    end
    local a = assert(ringtap.port("m0", with { port_count = 2 }))
    local b = assert(ringtap.port("m1", with { umem = a }))
    return a, b
end

local forwarder = [[
local ringtap = require "ringtap"
local mode, seconds = ...
local a = assert(ringtap.port("m0", { mode = mode, port_count = 2, latency = "low" }))
local b = assert(ringtap.port("m1", { mode = mode, umem = a, latency = "low" }))
print "ready"
io.stdout:flush()
local to = { [a.rx] = b.tx, [b.rx] = a.tx }
local ends = os.time() + seconds
while os.time() < ends do
    for _, rx in ipairs(ringtap.wait({ a.rx, b.rx }, 0.5) or {}) do
        assert(ringtap.forward(rx, to[rx], nil, { idle = 0, duration = 1 }))
    end
end
]]

describe("forwarding between two ports on one UMEM #root", function()
    for _, mode in ipairs { "native", "generic" } do
        root_it("carries 100 MB of TCP intact, " .. mode, function()
            local ns, closing = support.three(true)
            local _ <close> = closing
            if mode == "generic" then -- a super-frame is longer than what can be sent on
                for _, side in ipairs { "a", "b" } do
                    ns:must(side, ("ethtool -K %s tso off gso off"):format(ns[side .. "_if"]))
                end
            end
            local file = live.program(support.tmpdir(), "forward.lua", forwarder)
            local process = support.spawn(("ip netns exec %s lua5.4 %s %s 60"):format(ns.m, file, mode))
            assert(support.wait_output(process, "ready", 10))
            local take = support.spawn(ns:exec("b", ("%s take %s 8000"):format(support.compile "flow.c", ns.b_ip)))
            support.wait_output(take, "listening", 10)
            local out = support.must(ns:exec("a", ("timeout 60 %s tcp %s %s 8000 100000000"):format(
                support.compile "flow.c", ns.a_ip, ns.b_ip)))
            assert.equal("100000000\n", out)
            local status, taken, err = support.wait(take, 30)
            assert.same({ 0, "100000000\n" }, { status, taken }, err)
            support.kill(process)
            support.wait(process, 10)
        end)

        root_it("keeps a frame until it was sent, " .. mode, function()
            local ns, closing = support.three(true)
            local _ <close> = closing
            local a, b = ports(ns, { mode = mode, ring_size = 256 })
            local arrived <close> = live.capture(ns, "b", { filter = "udp and dst port 9" })
            support.must(("ip -n %s link set m1 down"):format(ns.m))
            -- 256 fit into the TX ring; those that come afterwards go through all the other frames of the port
            local process = live.start_blast(ns, { count = 5000, rate = 20000 })
            local passed, refused = 0, 0
            for pkt in a.rx:packets { idle = 0.5, duration = 20 } do
                if pkt["udp.dstport"] == 9 then
                    if b.tx:forward(pkt) then
                        passed = passed + 1
                    else
                        refused = refused + 1
                    end
                end
            end
            assert.equal(5000, live.sent(process))
            local s = b.tx:stats()
            assert.equal(256, passed)
            assert.equal(passed, s.queued)
            assert.equal(0, s.sent)
            local received = a.rx:stats()
            assert.equal(5000, received.delivered + received.dropped)
            support.must(("ip -n %s link set m1 up"):format(ns.m))
            assert(support.wait_for(function() return b.tx:flush(1) end, 10))
            local numbers = {}
            for pkt in arrived:packets { idle = 0.3 } do
                numbers[#numbers + 1] = live.number_of(pkt)
            end
            assert.equal(256, #numbers)
            for i, number in ipairs(numbers) do
                assert.equal(i, number)
            end
            -- and they come back: the port goes on
            process = live.start_blast(ns, { count = 20000, rate = 50000, first = 5001 })
            for pkt in a.rx:packets { idle = 0.5, duration = 20 } do
                b.tx:forward(pkt)
            end
            assert.equal(20000, live.sent(process))
            assert(b.tx:drain(1))
            numbers = {}
            for pkt in arrived:packets { idle = 0.3 } do
                numbers[#numbers + 1] = live.number_of(pkt)
            end
            live.assert_rising(numbers)
            local dropped = a.rx:stats().dropped - received.dropped
            s = b.tx:stats()
            assert.equal(s.sent, 256 + #numbers)
            assert.equal(20000, #numbers + dropped + s.refused)
            a:close()
            b:close()
        end)
    end

    root_it("sends frames that were changed in place, and by field", function()
        local ns, closing = support.three(false)
        local _ <close> = closing
        local a, b = ports(ns)
        local arrived <close> = live.capture(ns, "b", { filter = "udp and dst port 9" })
        live.blast(ns, { count = 3 })
        local head = "\2\0\0\0\0\x0b\2\0\0\0\0\x0a"
        local n = 0
        for pkt in a.rx:packets { count = 3, idle = 1, duration = 10 } do
            n = n + 1
            if n == 1 then
                assert(b.tx:forward(pkt, head))
            elseif n == 2 then
                assert(b.tx:forward(pkt, { ["ip.ttl"] = 7, ["udp.srcport"] = 4242 }))
            else
                assert(b.tx:forward(pkt))
                assert(b.tx:forward(pkt)) -- once more: a copy, the frame itself is on its way
            end
        end
        assert.equal(3, n)
        assert(b.tx:drain(1))
        local path = support.tmpdir() .. "/changed.pcap"
        local file = assert(ringtap.write(path))
        local got = 0
        for pkt in arrived:packets { idle = 0.3 } do
            got = got + 1
            file:send(pkt)
            if got == 1 then
                assert.equal(head, pkt:sub(1, 12))
            end
        end
        file:close()
        assert.equal(4, got)
        local lines = support.must(("tshark -r %s -o ip.check_checksum:TRUE -o udp.check_checksum:TRUE -T fields "
            .. "-e ip.ttl -e udp.srcport -e ip.checksum.status -e udp.checksum.status"):format(path))
        local rows = {}
        for line in lines:gmatch "[^\n]+" do
            rows[#rows + 1] = line
        end
        assert.matches("^7\t4242\t1\t1$", rows[2])
        for _, row in ipairs(rows) do
            assert.matches("\t1\t1$", row)
        end
        a:close()
        b:close()
    end)

    root_it("needs room for the second port", function()
        local ns <close> = support.namespaces()
        local a = assert(ringtap.port("veth_a", { netns = ns.a }))
        local b, message = ringtap.port("veth_b", { netns = ns.b, umem = a })
        assert.is_nil(b)
        assert.matches("port_count=2", message)
        for name, value in pairs { frame_size = 4096, copy = true, fragments = false, port_count = 2 } do
            assert.error_matches(function() ringtap.port("veth_b", { netns = ns.b, umem = a, [name] = value }) end,
                "option '" .. name .. "' goes with the port that has the UMEM")
        end
        a:close()
        assert.error_matches(function() ringtap.port("veth_b", { netns = ns.b, umem = a }) end, "closed port")
        assert.error_matches(function() ringtap.port("veth_b", { netns = ns.b, umem = 5 }) end,
            "'umem' must be a port, not number")
    end)

    root_it("a sender on a port's UMEM passes its packets on", function()
        local ns, closing = support.three(false)
        local _ <close> = closing
        local a = assert(ringtap.port("m0", { netns = ns.m, filter = "udp", port_count = 2 }))
        local tx = assert(ringtap.sender("m1", { netns = ns.m, backend = "xdp", umem = a }))
        local arrived <close> = live.capture(ns, "b", { filter = "udp" })
        live.blast(ns, { count = 500, rate = 20000 })
        assert.equal(500, (assert(ringtap.forward(a.rx, tx, nil, { idle = 0.2 }))))
        assert(tx:drain(1))
        local n = 0
        for pkt in arrived:packets { count = 500, idle = 1 } do
            n = n + 1
            assert.equal(n, live.number_of(pkt))
        end
        assert.equal(500, n)
        a:close()
        assert(tx:send(live.frame({}, 0x0800, live.ipv4 { payload = "late" }))) -- it has the UMEM, too
        assert.matches("late$", assert(arrived:next(1)):bytes())
        tx:close()
    end)
end)
