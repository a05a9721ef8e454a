-- Sending by AF_XDP: what has no counterpart with AF_PACKET. The rest is in send_spec.lua and send_faults_spec.lua,
-- where "xdp" is one method among the others.
local live = require "support.live"
local ringtap = require "ringtap"
local sending = require "support.sending"
local support = require "support"

local root_it = live.root and it or pending

teardown(support.cleanup)

local function open(ns, more)
    return sending.open(ns, sending.options("xdp", more))
end

-- Frames with the numbers 1 ... n in their payloads, which have these sizes in turn.
local function numbered(ns, n, sizes)
    local list = {}
    for i = 1, n do
        local size = sizes[(i - 1) % #sizes + 1]
        list[i] = sending.packet(ns, { payload = (">I8"):pack(i) .. ("x"):rep(size - 8), id = i }):bytes()
    end
    return list
end

local function arrived(cap, n)
    local list = {}
    for pkt in cap:packets { count = n, idle = 0.5, duration = 20 } do
        list[#list + 1] = pkt:bytes()
    end
    return list
end

local function assert_the_same(expected, got)
    assert.equal(#expected, #got)
    for i = 1, #expected do
        assert(expected[i] == got[i], ("frame %d is another one"):format(i))
    end
end

describe("frames over AF_XDP #root", function()
    root_it("of 9,000 bytes take several descriptors", function()
        local ns <close> = support.namespaces { mtu = 9000 }
        sending.listener(ns)
        local cap <close> = live.capture(ns, "b", { filter = "udp", direction = "in", latency = "low" })
        for _, o in ipairs { {}, { ring_size = 8 }, { frame_size = 4096, ring_size = 64 } } do
            local tx <close> = open(ns, o)
            local given = numbered(ns, 300, { 8972, 22, 2006, 2007, 4000, 8971 })
            for i = 1, 100 do
                assert(tx:send(given[i]))
            end
            local i = 100
            for frame in tx:frames(100) do
                i = i + 1
                frame:set(given[i])
            end
            local r = assert(tx:blast { packet = { table.unpack(given, 201, 300) }, count = 100 })
            assert.same({ 100, 0 }, { r.packets, r.refused })
            assert(tx:drain())
            assert_the_same(given, arrived(cap, 300))
            assert.same({ 300, 0, 0 }, { tx:stats().sent, tx:stats().refused, tx:stats().queued })
            assert.is_nil((tx:send(sending.packet(ns, { payload = ("x"):rep(8973) }))))
            assert.same({ too_long = 1 }, tx:stats().causes)
        end
        local tx, message = ringtap.sender(ns.a_if, { netns = ns.a, backend = "xdp", ring_size = 4 })
        assert.is_nil(tx)
        assert.matches("ring_size = 4: a frame of 9018 bytes takes 5 descriptors", message, 1, true)
    end)

    root_it("go through the smallest rings", function()
        local ns <close> = support.namespaces()
        sending.listener(ns)
        local cap <close> = live.capture(ns, "b", { filter = "udp", direction = "in", latency = "low" })
        local given = numbered(ns, 201, { 1472, 22 })
        for _, o in ipairs { { ring_size = 1 }, { ring_size = 2 }, { ring_size = 64 }, { ring_size = 1,
            frame_count = 1 } } do
            local tx <close> = open(ns, o)
            local r = assert(tx:blast { packet = { table.unpack(given, 1, 100) }, count = 100 })
            assert.same({ 100, 0 }, { r.packets, r.refused })
            local i = 100
            for frame in tx:frames(100) do
                i = i + 1
                frame:set(given[i])
            end
            assert(tx:send(given[201]))
            assert(tx:drain())
            assert_the_same(given, arrived(cap, 201))
        end
    end)

    root_it("are borrowed, and sent when the loop goes on", function()
        local ns <close> = support.namespaces()
        local tx <close> = open(ns, { ring_size = 8 })
        local cap <close> = live.capture(ns, "b", { filter = "udp", direction = "in", latency = "low" })
        local q, kept, n, expected = sending.packet(ns), {}, 0, {}
        for frame in tx:frames(100) do
            n = n + 1
            if n % 10 == 3 then
                frame:set(q):skip()
            elseif n % 10 ~= 4 then -- else left empty
                frame:set(q)
                frame["ip.id"] = n
                expected[#expected + 1] = n
            end
            kept[n] = frame
        end
        live.assert_stale(kept[1])
        live.assert_stale(kept[100])
        for frame in tx:frames() do -- the one that is shown when the loop is left is not sent
            frame:set(q)
            if n == 100 then
                break
            end
        end
        local ids = {}
        for pkt in cap:packets { count = 81, idle = 0.3 } do
            ids[#ids + 1] = pkt["ip.id"]
        end
        assert.same(expected, ids)
        assert.equal(80, tx:stats().sent)
        local ok, message = pcall(function()
            for frame in tx:frames(10) do
                frame:set(q)
                tx:close()
            end
        end)
        assert.is_false(ok)
        assert.matches("the sink was closed", message, 1, true)
    end)

    root_it("are replayed with their gaps, their order, and good checksums", function()
        local ns <close> = support.namespaces()
        ns:must("a", "ethtool -K veth_a tx off")
        sending.listener(ns)
        local list = {}
        for i, bytes in ipairs(numbered(ns, 100, { 22, 700 })) do
            list[i] = { bytes, time = 1700000000000000000 + i * 2000000 }
        end
        local tx <close> = open(ns)
        local before = sending.received(ns)
        local process, path = sending.tcpdump(ns, "udp port 9")
        local r = assert(tx:replay(assert(ringtap.memory(list)), { rewrite = { ["192.0.2.1"] = "192.0.2.9" } }))
        assert.same({ 100, 0, "end" }, { r.packets, r.refused, r.reason })
        assert.is_true(r.seconds > 0.19)
        r = assert(tx:replay(assert(ringtap.memory(list)), { speed = math.huge, loop = 20 }))
        assert.same({ 2000, 0, "end" }, { r.packets, r.refused, r.reason })
        sending.stop_tcpdump(process, 2100)
        assert.equal(2100, sending.received(ns) - before)
        local i, first, last = 0, nil, nil
        sending.each_in_pcap(path, function(bytes, time)
            assert.equal(i % 100 + 1, (">I8"):unpack(bytes, 43))
            i = i + 1
            first, last = first or time, i <= 100 and time or last
        end)
        assert.is_true(last - first > 190000000)
        -- of the long ones the capture has a part
        assert.same({ ["1 1 . . . ."] = 1050, ["1 2 . . . ."] = 1050 }, sending.checksums(path))
    end)

    root_it("pass the queueing discipline by", function()
        local ns <close> = support.namespaces()
        sending.listener(ns)
        ns:must("a", "tc qdisc add dev veth_a root tbf rate 1mbit burst 3000 limit 3000")
        local before = sending.received(ns)
        local tx <close> = open(ns)
        local r = assert(tx:blast { packet = sending.packet(ns), count = 5000 })
        assert.same({ 5000, 0 }, { r.packets, r.refused })
        assert.equal(5000, sending.received(ns) - before)
    end)
end)

describe("a queue of AF_XDP #root", function()
    root_it("has nothing left of what was given up", function()
        local ns <close> = support.namespaces { mtu = 9000 }
        sending.listener(ns)
        local cap <close> = live.capture(ns, "b", { filter = "udp", direction = "in", latency = "low" })
        for _, o in ipairs { {}, { ring_size = 8 } } do
            local tx <close> = open(ns, o)
            for round = 1, 3 do
                ns:must("a", "ip link set veth_a down")
                local given = numbered(ns, 200, { 100, 8000 })
                local r, _, errno, partial = tx:blast { packet = given, count = 200, patience = 0.05 }
                assert.same({ nil, 100 }, { r, errno }) -- ENETDOWN
                assert.same({ "stuck", 0 }, { partial.reason, partial.packets })
                assert.equal(partial.refused, partial.causes.link_down)
                assert.equal(0, tx:stats().queued)
                ns:must("a", "ip link set veth_a up; ip neigh replace 192.0.2.2 lladdr 02:00:00:00:00:0b dev veth_a")
                given = numbered(ns, 50 * round, { 8900, 200 })
                r = assert(tx:blast { packet = given, count = #given })
                assert.equal(#given, r.packets)
                assert(tx:drain(1))
                assert_the_same(given, arrived(cap, #given + 1))
            end
            assert.equal(300, tx:stats().sent)
        end
    end)

    root_it("keeps what send() has queued until the link is up again", function()
        local ns <close> = support.namespaces()
        sending.listener(ns)
        local cap <close> = live.capture(ns, "b", { filter = "udp", direction = "in", latency = "low" })
        local tx <close> = open(ns, { ring_size = 8 })
        local given = numbered(ns, 9, { 100 })
        ns:must("a", "ip link set veth_a down")
        for i = 1, 8 do
            assert(tx:send(given[i]))
        end
        local ok, message = tx:send(given[9])
        assert.is_nil(ok)
        assert.matches("full: veth_a: Network is down", message, 1, true)
        assert.equal(8, tx:stats().queued)
        ns:must("a", "ip link set veth_a up; ip neigh replace 192.0.2.2 lladdr 02:00:00:00:00:0b dev veth_a")
        assert(tx:send(given[9]))
        assert(tx:flush(1))
        assert_the_same(given, arrived(cap, 10))
        assert.same({ 9, 0 }, { tx:stats().sent, tx:stats().refused })
    end)

    root_it("of a peer that takes no more: lost frames are counted", function()
        for _, mode in ipairs { "native", "generic" } do
            local ns <close> = support.namespaces()
            -- nobody reads: frames beyond its ring are dropped, at the latest by the program
            local cap <close> = live.capture(ns, "b", { backend = "xdp", mode = mode, ring_size = 64,
                frame_count = 64 })
            local tx <close> = open(ns)
            local began = live.clock()
            local r, _, _, partial = tx:blast { packet = sending.packet(ns), count = 100000 }
            r = r or partial
            assert.is_true(live.clock() - began < 5)
            assert.equal(100000, r.packets + r.refused)
            assert.equal(r.refused, r.causes.no_buffer or 0)
            support.sleep(0.1)
            local s = cap:stats()
            assert.equal(r.packets, s.queued + s.dropped)
            assert.equal(64, s.queued)
        end
    end)

    root_it("has one owner, and is free when that one is gone", function()
        local ns <close> = support.namespaces { queues = 2 }
        local process = support.spawn(ns:exec("a", "lua5.4 " .. live.program(support.tmpdir(), "blast.lua", ([[
local tx = assert(ringtap.sender("veth_a", { backend = "xdp", queues = 1 }))
io.stderr:write "ready\n"
tx:blast { packet = %q, duration = 20 }
]]):format(sending.packet(ns):bytes()))))
        assert(support.wait_output(process, "ready", 10))
        local before = sending.received(ns)
        local tx, message, errno = ringtap.sender("veth_a", { netns = ns.a, backend = "xdp", queues = 1 })
        assert.same({ nil, 16 }, { tx, errno }) -- EBUSY
        assert.matches("veth_a: queue 1", message, 1, true)
        local other <close> = open(ns, { queues = 0 })
        assert(other:send(sending.packet(ns)))
        assert.same({ 0 }, other:queues())
        assert(support.wait_for(function() return sending.received(ns) > before + 1000 end, 5))
        support.kill(process, "KILL")
        support.wait(process, 5)
        -- the kernel gives it back a moment later
        tx = support.wait_for(function()
            return (ringtap.sender("veth_a", { netns = ns.a, backend = "xdp", queues = 1 }))
        end, 2)
        assert.is_truthy(tx)
        assert(tx:send(sending.packet(ns)))
        -- opening one again that was ours
        for i = 1, 50 do
            if i % 2 == 0 then
                tx:close()
            end
            tx = nil -- luacheck: ignore 311
            collectgarbage()
            tx = open(ns, { queues = 1 })
            assert(tx:send(sending.packet(ns)))
        end
        tx:close()
    end)

    root_it("that can't be had", function()
        local ns <close> = support.namespaces()
        for _, case in ipairs {
            { { queues = 1 }, "it has no queue 1: they are 0 to 0" },
            { { ring_size = 3 }, "must be a power of two", true },
            { { ring_size = 0 }, "ring_size", true },
            { { frame_size = 3000 }, "frame_size" },
            { { frame_count = 1 << 20, ring_size = 4096, frame_size = 1000 }, "frame_size" },
            { { copy = false }, "zero copy" },
            { { method = "ring" }, "unknown option 'method'", true },
            { { mode = "native" }, "unknown option 'mode'", true },
            { { qdisc_bypass = true }, "unknown option 'qdisc_bypass'", true },
            { { queues = { 0, 0 } }, "is there twice", true },
        } do
            local o = sending.options("xdp", case[1])
            o.netns = ns.a
            local ok, tx, message = pcall(ringtap.sender, ns.a_if, o)
            assert.equal(not case[3], ok, case[2])
            message = ok and message or tx
            assert(not ok or tx == nil, case[2])
            assert.matches(case[2], message, 1, true)
        end
        for name, pattern in pairs { nosuch = "nosuch: No such device", any = "not for all" } do
            local tx, message = ringtap.sender(name, { netns = ns.a, backend = "xdp" })
            assert.is_nil(tx)
            assert.matches(pattern, message, 1, true)
        end
    end)

    root_it("of a port sends while packets are received, and after that was closed", function()
        local ns <close> = support.namespaces()
        sending.listener(ns)
        local cap <close> = live.capture(ns, "b", { filter = "udp", direction = "in", latency = "low" })
        local port = assert(ringtap.port(ns.a_if, { netns = ns.a, latency = "low" }))
        local other, message = ringtap.sender(ns.a_if, { netns = ns.a, backend = "xdp" })
        assert.is_nil(other)
        assert.matches("queue 0", message, 1, true)
        local back <close> = assert(ringtap.sender(ns.b_if, { netns = ns.b, backend = "xdp" }))
        local given = numbered(ns, 3000, { 22 })
        local before = sending.received(ns)
        for i = 1, 1000 do
            assert(port.tx:send(given[i]))
            if i % 10 == 0 then
                assert(back:send(given[i]))
            end
        end
        assert(port.tx:blast { packet = { table.unpack(given, 1001, 2000) }, count = 1000 })
        assert(back:drain(1))
        local got = arrived(port.rx, 101)
        assert.equal(100, #got)
        for i = 1, 100 do
            assert.equal(given[i * 10], got[i])
        end
        port.rx:close()
        local i = 2000
        for frame in port.tx:frames(1000) do
            i = i + 1
            frame:set(given[i])
        end
        assert(port.tx:drain(1))
        assert.equal(3000, sending.received(ns) - before)
        assert_the_same(given, arrived(cap, 3001))
        assert.equal(3000, port.tx:stats().sent)
        port:close()
    end)

    root_it("SIGINT in a blast: the report, and what it says has arrived", function()
        local ns <close> = support.namespaces()
        sending.listener(ns)
        for _, rate in ipairs { "nil", "2000" } do
            local before = sending.received(ns)
            local process = support.spawn(ns:exec("a", "lua5.4 " .. live.program(support.tmpdir(), "blast.lua", ([[
local tx = assert(ringtap.sender("veth_a", { backend = "xdp" }))
io.stderr:write "ready\n"
local r = tx:blast { packet = %q, rate = %s }
print(r.packets, r.refused, r.reason)
assert(tx:close())
]]):format(sending.packet(ns):bytes(), rate))))
            assert(support.wait_output(process, "ready", 10))
            support.sleep(0.3)
            local began = live.clock()
            support.kill(process, "INT")
            local status, out, err = support.wait(process, 5)
            assert.is_true(live.clock() - began < 1)
            assert.same({ 0, "" }, { status, err:gsub("^ready\n", "") .. "" })
            assert.equal(("%d\t0\tinterrupted\n"):format(sending.received(ns) - before), out)
        end
    end)
end)
