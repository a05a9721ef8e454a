-- Replaying files and passing packets on: timing, changes, checksums, bridges.
local live = require "support.live"
local ringtap = require "ringtap"
local sending = require "support.sending"
local support = require "support"

local root_it = live.root and it or pending

teardown(support.cleanup)

-- Numbered packets as a list for ringtap.memory, packet i at times[i].
local function recorded(ns, times)
    local t, list = ringtap.template(sending.packet(ns)), {}
    for i, time in ipairs(times) do
        t:pack(">I8", 43, i)
        list[i] = { t:bytes(), time = 1700000000000000000 + time }
    end
    return list
end

local function write_file(ns, times, name)
    local path = support.tmpdir() .. "/" .. (name or "recorded.pcapng")
    local out = assert(ringtap.write(path))
    for pkt in assert(ringtap.memory(recorded(ns, times))):packets() do
        assert(out:send(pkt))
    end
    assert(out:close())
    return path
end

-- Times from 0 on, with gaps of 50 us to 5 ms.
local function uneven(n)
    local times, t, seed = {}, 0, 12345
    for i = 1, n do
        times[i] = t
        seed = (seed * 1103515245 + 12345) & 0x7fffffff
        t = t + 50000 + seed % 4950000
    end
    return times
end

local function received(path)
    local numbers, times = {}, {}
    sending.each_in_pcap(path, function(bytes, time)
        numbers[#numbers + 1], times[#times + 1] = (">I8"):unpack(bytes, 43), time
    end)
    return numbers, times
end

describe("replay #root", function()
    for _, speed in ipairs { 1, 2 } do
        root_it(("keeps the recorded gaps, at speed %d"):format(speed), function()
            local ns <close> = support.namespaces()
            sending.listener(ns)
            local times = uneven(500)
            local path = write_file(ns, times)
            local worst
            for _ = 1, 3 do -- another process may need the processor just then
                local tx <close> = sending.open(ns)
                local process, peer = sending.tcpdump(ns, "udp port 9")
                local r = assert(tx:replay(path, { speed = speed }))
                assert.same({ 500, 0, "end" }, { r.packets, r.refused, r.reason })
                sending.stop_tcpdump(process, 500)
                local numbers, got = received(peer)
                local errors = {}
                for i = 2, 500 do
                    assert.equal(i, numbers[i])
                    errors[i - 1] = math.abs((got[i] - got[i - 1]) - (times[i] - times[i - 1]) / speed)
                end
                table.sort(errors)
                worst = errors[math.ceil(#errors * 0.9)]
                if worst < 100000 and math.abs(r.seconds * speed / times[500] * 1e9 - 1) < 0.01 then
                    return
                end
            end
            error(("at the 90th percentile a gap is wrong by %d ns"):format(worst))
        end)
    end

    root_it("sends at a rate, at top speed, several times, some of it", function()
        local ns <close> = support.namespaces()
        sending.listener(ns)
        local path = write_file(ns, uneven(500))
        local tx <close> = sending.open(ns)
        local before = sending.received(ns)
        local r = assert(tx:replay(path, { rate = 5000, loop = 2 }))
        assert.equal(1000, r.packets)
        assert.is_true(math.abs(r.seconds - 0.2) < 0.02, tostring(r.seconds))
        r = assert(tx:replay(path, { rate = "1.024Mbit/s", count = 200 })) -- 512 bits each
        assert.same({ 200, "count" }, { r.packets, r.reason })
        assert.is_true(math.abs(r.seconds - 0.1) < 0.02, tostring(r.seconds))
        r = assert(tx:replay(path, { speed = math.huge, loop = 20, preload = true }))
        assert.same({ 10000, "end" }, { r.packets, r.reason })
        assert.is_true(r.seconds < 1)
        r = assert(tx:replay(path, { duration = 0.1 }))
        assert.equal("duration", r.reason)
        assert.is_true(r.packets > 5 and r.packets < 200 and r.seconds < 0.2)
        local source <close> = assert(ringtap.read(path, { filter = "udp[15] & 1 = 1" })) -- odd numbers
        r = assert(tx:replay(source, { speed = math.huge, loop = 3 }))
        assert.equal(750, r.packets)
        local memory <close> = assert(ringtap.memory(recorded(ns, { 0, 1000, 2000 })))
        r = assert(tx:replay(memory, { loop = 4 }))
        assert.equal(12, r.packets)
        assert.equal(tx:stats().sent, sending.received(ns) - before)
        assert.equal(tx:stats().sent, sending.given(tx))
    end)

    root_it("changes packets, and leaves some out", function()
        local ns <close> = support.namespaces()
        local path = write_file(ns, { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 })
        local tx <close> = sending.open(ns)
        local process, peer = sending.tcpdump(ns, "ip")
        local r = assert(tx:replay(path, {
            rewrite = { ["192.0.2.0/24"] = "203.0.113.0/24", ["192.0.2.2"] = "198.51.100.9",
                ["02:00:00:00:00:0a"] = "02:11:22:33:44:55" },
            fn = function(pkt)
                local n = pkt:unpack(">I8", 43)
                if n == 3 then
                    return false
                elseif n == 4 then
                    return sending.packet(ns, { payload = "something else" })
                end
                pkt["ip.ttl"] = n
                return true
            end,
        }))
        assert.same({ 9, 1, 10 }, { r.packets, r.skipped, r.read })
        sending.stop_tcpdump(process, 9)
        local lines = {}
        for pkt in assert(ringtap.read(peer)):packets() do
            lines[#lines + 1] = ("%s %s %s %d %s"):format(pkt["eth.src"], pkt["ip.src"], pkt["ip.dst"], pkt["ip.ttl"],
                pkt.checksum)
        end
        local expected = "02:11:22:33:44:55 203.0.113.1 198.51.100.9 %d ok"
        assert.same({ expected:format(1), expected:format(2), "02:00:00:00:00:0a 192.0.2.1 192.0.2.2 64 ok",
            expected:format(5), expected:format(6) }, { table.unpack(lines, 1, 5) })
        assert.same({ ["1 1 . . . ."] = 9 }, sending.checksums(peer))
    end)

    root_it("completes checksums that were left to the hardware (A24)", function()
        local ns <close> = support.namespaces { ipv6 = true }
        local cap <close> = live.capture(ns, "b", { direction = "in", filter = "udp or tcp" })
        live.blast(ns, { count = 3 })
        support.must(ns:exec("a", ("%s %s %s 9 3"):format(support.compile "udp_blast.c", ns.a_ip6, ns.b_ip6)))
        local packets = {}
        for pkt in cap:packets { count = 6, duration = 5 } do
            assert.equal("not_ready", pkt.checksum)
            packets[#packets + 1] = pkt:copy()
        end
        local tx <close> = sending.open(ns)
        local process, peer = sending.tcpdump(ns, "udp")
        assert.equal(6, assert(tx:replay(assert(ringtap.memory(packets)), { speed = math.huge })).packets)
        local file = support.tmpdir() .. "/unfinished.pcap" -- which does not keep that they were
        local out = assert(ringtap.write(file))
        for _, pkt in ipairs(packets) do
            assert(tx:send(pkt))
            assert(out:send(pkt))
        end
        assert(out:close())
        assert.equal(6, assert(tx:replay(file)).packets)
        for i, pkt in ipairs(packets) do
            local t = ringtap.template(pkt)
            t["udp.srcport"] = i
            assert.equal("ok", t.checksum)
            assert(tx:send(t))
            local e = pkt:edit()
            e["udp.srcport"] = i
            assert(tx:send(e))
            for frame in tx:frames(1) do
                frame:set(pkt)
            end
        end
        assert(tx:blast { packet = packets, count = 6 })
        -- a string is sent as it is
        assert(tx:send(packets[1]:bytes()))
        sending.stop_tcpdump(process, 6 * 7 + 1)
        assert.same({ ["1 1 . . . ."] = 21, [". 1 . . . ."] = 21, ["1 0 . . . ."] = 1 }, sending.checksums(peer))
    end)

    root_it("refuses, and counts, what can't be sent as it was", function()
        local ns <close> = support.namespaces()
        local tx <close> = sending.open(ns)
        local whole = sending.packet(ns):bytes()
        local source = assert(ringtap.memory { whole, { whole:sub(1, 50), len = 64 }, ("x"):rep(13), ("x"):rep(1600),
            whole })
        local r = assert(tx:replay(source))
        assert.same({ 2, 3, 5 }, { r.packets, r.refused, r.attempted })
        assert.same({ invalid = 1, too_short = 1, too_long = 1 }, r.causes)
        r = assert(tx:replay(assert(ringtap.memory { whole, { whole:sub(1, 50), len = 64 } }), { truncated = "send" }))
        assert.equal(2, r.packets)
        r = assert(tx:replay(assert(ringtap.memory({ whole:sub(15) }, { linktype = 101 }))))
        assert.same({ invalid = 1 }, r.causes)
        local _, message = tx:replay("/nonexistent.pcap")
        assert.matches("/nonexistent.pcap: No such file", message, 1, true)
        for _, case in ipairs {
            { { spede = 2 }, "did you mean 'speed'" }, { { speed = 0 }, "a number above 0" },
            { { speed = 1, rate = 1 }, "not both" }, { { rewrite = { x = "y" } }, "no MAC, IPv4 or IPv6" },
            { { rewrite = { ["10.0.0.1"] = "::1" } }, "of one kind" },
            { { rewrite = { ["10.0.0.0/8"] = "172.16.0.0/8" } }, "behind the first 8" },
            { { filter = "udp" }, "goes with a path" },
        } do
            local ok, err = pcall(function() tx:replay(assert(ringtap.memory { whole }), case[1]) end)
            assert.is_false(ok)
            assert.matches(case[2], err, 1, true)
            assert.matches("^spec/replay_spec.lua:%d+: ", err)
        end
        -- a damaged file: what was good is sent, then the reason
        local path = write_file(ns, { 0, 1, 2 }, "damaged.pcap")
        local bytes = support.read_file(path)
        support.write_file(path, bytes:sub(1, -10))
        local none, err, _, partial = tx:replay(path)
        assert.is_nil(none)
        assert.matches("truncated", err, 1, true)
        assert.same({ 2, "failed", 6 }, { partial.packets, partial.reason, tx:stats().sent })
    end)

    root_it("to a file keeps the times, and changes packets", function()
        local ns <close> = support.namespaces()
        local path = write_file(ns, { 0, 20000000, 40000000 })
        local copy = support.tmpdir() .. "/copy.pcapng"
        local out = assert(ringtap.write(copy))
        local r = assert(out:replay(path, { fn = function(pkt) pkt["ip.ttl"] = 9 end }))
        assert.same({ 3, 3, 0 }, { r.packets, r.attempted, r.refused })
        assert.is_true(r.seconds < 0.03) -- nobody waits for a file
        assert(out:close())
        local times = {}
        for pkt in assert(ringtap.read(copy)):packets() do
            times[#times + 1] = pkt.time - 1700000000000000000
            assert.same({ 9, "ok" }, { pkt["ip.ttl"], pkt.checksum })
        end
        assert.same({ 0, 20000000, 40000000 }, times)
    end)

    it("tells that a file did not take the last packets", function()
        local src <close> = assert(ringtap.memory { { ("x"):rep(100), time = 1 } })
        local out = assert(ringtap.text(io.open("/dev/full", "w")))
        local r, message, errno, partial = out:replay(src)
        assert.same({ nil, "text output: No space left on device", 28 }, { r, message, errno })
        assert.same({ 0, 1, "failed" }, { partial.packets, partial.attempted, partial.reason })
        assert.is_nil((out:close()))
    end)

    root_it("of two million packets needs no more memory than of a few", function()
        local ns <close> = support.namespaces()
        sending.listener(ns)
        local path = support.tmpdir() .. "/long.pcap"
        local out = assert(ringtap.write(path))
        local list = recorded(ns, { 0 })
        for pkt in assert(ringtap.memory(list, { ["repeat"] = 2000000 })):packets() do
            assert(out:send(pkt))
        end
        assert(out:close())
        local code = live.program(support.tmpdir(), "long.lua", ([[
local function memory()
    for line in io.lines "/proc/self/status" do
        local kib = line:match "^VmHWM:%%s*(%%d+)"
        if kib then
            return tonumber(kib)
        end
    end
end
local tx = assert(ringtap.sender(%q))
assert(tx:replay(%q, { speed = math.huge, count = 1000 }))
local before = memory()
local r = assert(tx:replay(%q, { speed = math.huge }))
print(r.packets, memory() - before)
]]):format(ns.a_if, path, path))
        local packets, more = support.must(ns:exec("a", "lua5.4 " .. code)):match "(%d+)%s+(%d+)"
        assert.equal("2000000", packets)
        assert.is_true(tonumber(more) < 1024, more .. " KiB more")
        os.remove(path)
    end)
end)

describe("forward #root", function()
    for _, offloads in ipairs { true, false } do
        for _, what in ipairs { "bridge.lua", "ringtap forward --both" } do
            local title = ("by %s carries 100 MB of TCP intact, offloads %s"):format(what, offloads and "on" or "off")
            root_it(title, function()
                local ns, closing = support.three(offloads)
                local _ <close> = closing
                local command = what == "bridge.lua"
                    and ("env LUA_PATH=%s LUA_CPATH=%s lua5.4 examples/bridge.lua m0 m1 60"):format(
                        support.quote(live.lua_path), support.quote(live.lua_cpath))
                    or support.ringtap .. " forward -i m0 -o m1 --both"
                local bridge = support.spawn(("ip netns exec %s %s"):format(ns.m, command))
                support.wait_for(function()
                    local sockets = support.must("ip netns exec " .. ns.m .. " cat /proc/net/packet")
                    return select(2, sockets:gsub("\n", "")) >= 5
                end, 10)
                local take = support.spawn(ns:exec("b", ("%s take %s 8000"):format(support.compile "flow.c", ns.b_ip)))
                support.wait_output(take, "listening", 10)
                local out = support.must(ns:exec("a", ("timeout 60 %s tcp %s %s 8000 100000000"):format(
                    support.compile "flow.c", ns.a_ip, ns.b_ip)))
                assert.equal("100000000\n", out)
                local status, taken, err = support.wait(take, 30)
                assert.same({ 0, "100000000\n" }, { status, taken }, err)
                support.kill(bridge, "INT")
                support.wait(bridge, 10)
                if what ~= "bridge.lua" then
                    local _, remarks = support.output(bridge)
                    assert.matches("m0 > m1: %d+ packets received, %d+ sent, 0 dropped", remarks)
                    assert.matches("m1 > m0: %d+ packets received, %d+ sent, 0 dropped", remarks)
                end
            end)
        end
    end

    root_it("keeps datagrams of UDP_SEGMENT apart, also with a tag", function()
        local ns, closing = support.three(true)
        local _ <close> = closing
        local rx <close> = assert(ringtap.capture("m0", { netns = ns.m, direction = "in", offload = true,
            latency = "low" }))
        local tx <close> = assert(ringtap.sender("m1", { netns = ns.m }))
        ns:must("b", "ethtool -K veth_b gro off")
        support.must(("ip netns exec %s ethtool -K m1 tx off"):format(ns.m))
        local cap <close> = live.capture(ns, "b", { filter = "udp", direction = "in" })
        support.must(ns:exec("a", ("%s segment %s %s 8000 1000 8"):format(support.compile "flow.c", ns.a_ip, ns.b_ip)))
        local sizes = {}
        local n = assert(ringtap.forward(rx, tx, function(pkt)
            sizes[#sizes + 1] = pkt.len
            return true
        end, { idle = 0.3 }))
        assert.same({ 1, { 8042 }, 1 }, { n, sizes, tx:stats().super_frames })
        local got = {}
        for pkt in cap:packets { count = 8, idle = 0.5 } do
            got[#got + 1] = ("%d %d %s"):format(pkt.len, #pkt:payload(), pkt.checksum)
        end
        local expected = {}
        for i = 1, 8 do
            expected[i] = "1042 1000 ok"
        end
        assert.same(expected, got)
    end)

    -- each call of the sender sets its socket for the one or the other
    root_it("sends super-frames and frames in any order", function()
        local ns, closing = support.three(true)
        local _ <close> = closing
        local rx <close> = assert(ringtap.capture("m0", { netns = ns.m, direction = "in", offload = true,
            latency = "low" }))
        ns:must("b", "ethtool -K veth_b gro off")
        support.must(("ip netns exec %s ethtool -K m1 tx off"):format(ns.m))
        support.must(ns:exec("a", ("%s segment %s %s 3000 1000 3"):format(support.compile "flow.c", ns.a_ip, ns.b_ip)))
        local super
        for pkt in rx:packets { count = 1, idle = 1 } do
            super = pkt:copy()
        end
        assert.equal(3042, #super)
        local frame = sending.packet(ns, { payload = "alone" })
        for _, method in ipairs { "mmsg", "gso" } do
            for _, bypass in ipairs { false, method == "mmsg" or nil } do
                local cap <close> = live.capture(ns, "b", { filter = "udp", direction = "in" })
                local tx <close> = assert(ringtap.sender("m1",
                    { netns = ns.m, method = method, qdisc_bypass = bypass }))
                local expected = {}
                for _, what in ipairs { frame, super, super, frame, super, frame, frame } do
                    assert(tx:send(what))
                    for _ = 1, what == super and 3 or 1 do
                        expected[#expected + 1] = what == super and 1042 or #frame:bytes()
                    end
                end
                local got = {}
                for pkt in cap:packets { count = #expected, idle = 0.5 } do
                    got[#got + 1] = pkt.checksum == "ok" and pkt.len or tostring(pkt)
                end
                assert.same(expected, got)
                assert.equal(3, tx:stats().super_frames)
            end
        end
    end)

    root_it("does not see its own packets, nor pass on what is sent here", function()
        local ns <close> = support.namespaces()
        sending.listener(ns)
        local both <close> = live.capture(ns, "a", { latency = "low" }) -- what goes out, too
        local tx <close> = sending.open(ns)
        for _ = 1, 5 do
            assert(tx:send(sending.packet(ns)))
        end
        support.sleep(0.05)
        assert.same({ 0, "idle" }, { ringtap.forward(both, tx, nil, { idle = 0.1 }) })
        assert.equal(5, tx:stats().sent)
        local n = ringtap.forward(both, tx, nil, { idle = 0.05, direction = "both" })
        assert.equal(0, n)
        assert(tx:send(sending.packet(ns)))
        assert.equal(20, (ringtap.forward(both, tx, nil, { count = 20, duration = 5, direction = "both" })))
    end)

    root_it("sends what a function returns instead, and goes on when the link is down", function()
        local ns <close> = support.namespaces()
        local rx <close> = live.capture(ns, "b", { filter = "udp port 9", direction = "in", latency = "low" })
        local tx <close> = assert(ringtap.sender(ns.b_if, { netns = ns.b }))
        local back <close> = live.capture(ns, "a", { filter = "udp", direction = "in" })
        live.blast(ns, { count = 4 })
        local i = 0
        local n = assert(ringtap.forward(rx, tx, function(pkt)
            i = i + 1
            local t = ringtap.template(pkt)
            t["ip.ttl"] = 10 + i
            return i == 1 and t or i == 2 and t:copy() or i == 3 and t:edit() or false
        end, { count = 4, duration = 5 }))
        assert.equal(3, n)
        local ttls = {}
        for pkt in back:packets { count = 3, duration = 5 } do
            ttls[#ttls + 1] = pkt["ip.ttl"]
            assert.equal("ok", pkt.checksum)
        end
        assert.same({ 11, 12, 13 }, ttls)
        live.blast(ns, { count = 100 })
        support.sleep(0.1)
        ns:must("a", "ip link set veth_a down") -- the other end of what is sent to
        n = assert(ringtap.forward(rx, tx, nil, { count = 100, duration = 5, patience = 0.1 }))
        local s = tx:stats()
        assert.equal(103, s.sent + s.queued + s.refused)
        assert.is_true(n + s.refused >= 100)
        assert.is_true((s.causes.no_carrier or 0) + s.queued > 0)
    end)

    root_it("can wait for several sources", function()
        local ns <close> = support.namespaces()
        local a <close> = live.capture(ns, "a", { latency = "low", filter = "udp" })
        local b <close> = live.capture(ns, "b", { latency = "low", filter = "udp", direction = "in" })
        local before = os.clock()
        assert.same({ nil, "timeout", 110 }, { ringtap.wait({ a, b }, 0.3) })
        assert.is_true(os.clock() - before < 0.1)
        live.blast(ns, { count = 1 })
        support.sleep(0.05)
        assert.same({ a, b }, ringtap.wait { a, b })
        a:next(0)
        assert.same({ b }, ringtap.wait({ a, b }, 1))
        local memory <close> = assert(ringtap.memory {}) -- its end can be had at once
        assert.same({ b, memory }, ringtap.wait { a, b, memory })
        assert.has_error(function() ringtap.wait {} end)
        assert.has_error(function() ringtap.wait { 5 } end)
        a:close()
        assert.has_error(function() ringtap.wait { a } end, "attempt to use a closed source")
    end)
end)

describe("a probe #root", function()
    root_it("tells loss, order, duplicates and times", function()
        local ns <close> = support.namespaces()
        local reflector = support.spawn(ns:exec("b", ("env LUA_PATH=%s LUA_CPATH=%s lua5.4 examples/reflector.lua "
            .. "veth_b 192.0.2.77 20"):format(support.quote(live.lua_path), support.quote(live.lua_cpath))))
        support.wait_for(function() return live.sockets(ns, "b") >= 2 end, 10)
        local tx <close> = sending.open(ns)
        local rx <close> = live.capture(ns, "a", { filter = "udp", latency = "low" })
        local q = ringtap.eth { src = ns.a_mac, dst = ns.b_mac } / ringtap.ip { src = ns.a_ip, dst = "192.0.2.77" }
            / ringtap.udp { srcport = 5, dstport = 6 } / ("\0"):rep(30)
        local r = assert(ringtap.probe(tx, rx, { packet = q, count = 200, rate = 1000 }))
        assert.same({ 200, 200, 0, 0, 0 }, { r.sent, r.received, r.lost, r.reordered, r.duplicates })
        assert.is_true(r.rtt.least > 1000 and r.rtt.p50 < 500000000 and r.rtt.worst >= r.rtt.p99)
        local count = 0
        for _, bucket in ipairs(r.rtt.histogram) do
            count = count + bucket.count
        end
        assert.equal(200, count)
        assert.matches("200 sent, 200 received, 0 lost", tostring(r), 1, true)
        support.kill(reflector, "INT")
        support.wait(reflector, 5)
        r = assert(ringtap.probe(tx, rx, { packet = q, count = 5, rate = 100, timeout = 0.1 }))
        assert.same({ 5, 0, 5 }, { r.sent, r.received, r.lost })
        -- a link that turns them round, twices some, loses one, swaps two
        local back <close> = live.capture(ns, "b", { filter = "udp", direction = "in", latency = "low" })
        local answer <close> = assert(ringtap.sender(ns.b_if, { netns = ns.b }))
        local kept
        local hook = function(pkt)
            local i = pkt:unpack(">I4", 43 + 12)
            if i == 3 then
                kept = pkt:copy()
                return false
            end
            return i ~= 7
        end
        local co = ringtap.memory {}
        assert.is_nil(co:next(0))
        local real_send = tx.send
        assert.is_function(real_send)
        local sender = setmetatable({}, { __index = function(_, name)
            return function(_, ...)
                local results = table.pack(tx[name](tx, ...))
                if name == "send" then
                    assert(ringtap.forward(back, answer, hook, { idle = 0.02 }))
                    if kept and select(1, ...):unpack(">I4", 43 + 12) == 4 then
                        assert(answer:send(kept))
                        assert(answer:send(kept))
                    end
                end
                return table.unpack(results, 1, results.n)
            end
        end })
        r = assert(ringtap.probe(sender, rx, { packet = q, count = 10, rate = 1000, timeout = 0.3 }))
        assert.same({ 10, 9, 1, 1, 1 }, { r.sent, r.received, r.lost, r.reordered, r.duplicates })
        assert.has_error(function() ringtap.probe(tx, rx, { packet = sending.packet(ns) }) end) -- 22 bytes of payload
    end)
end)
