-- The ring of a live source: what comes is delivered or counted, once and in order; nothing is left behind.
local support = require "support"
local live = require "support.live"

local root_it = live.root and it or pending

local ns

setup(function()
    if live.root then
        ns = support.namespaces()
    end
end)

teardown(support.cleanup)

local function number_of(pkt)
    return (pkt:unpack(">I4", live.payload))
end

--- Read until the sender has ended and the source is empty; `each` is called with every handle.
---@return integer[] numbers
local function read_all(src, process, each)
    local numbers, n, ended = {}, 0, nil
    repeat
        for pkt in src:packets { idle = 0.2 } do
            n = n + 1
            numbers[n] = number_of(pkt)
            if each then
                each(pkt, n)
            end
        end
        ended = support.read_file(process.name .. ".status")
    until ended
    assert(src:drain())
    for pkt in src:packets() do
        n = n + 1
        numbers[n] = number_of(pkt)
    end
    return numbers
end

--- Every packet is delivered or dropped, and none is waiting.
local function assert_adds_up(sent, numbers, stats)
    assert.equal(#numbers, stats.delivered)
    assert.equal(sent, stats.delivered + stats.dropped)
    assert.equal(stats.matched, stats.delivered + stats.dropped)
    assert.equal(stats.ring_full, stats.dropped)
    assert.equal(0, stats.queued)
end

describe("a live source #root", function()
    root_it("delivers 100,000 datagrams in order and drops none", function()
        local src <close> = live.capture(ns, "b", { filter = "udp and dst port 9" })
        local before = live.counter(ns, "b", "rx_packets")
        local process = live.start_blast(ns, { count = 100000 })
        local numbers = read_all(src, process)
        local sent = live.sent(process)
        assert.equal(100000, sent)
        assert.equal(100000, live.counter(ns, "b", "rx_packets") - before)
        assert.equal(100000, live.assert_rising(numbers))
        assert.equal(1, numbers[1])
        assert.equal(100000, numbers[#numbers])
        local s = src:stats()
        assert_adds_up(sent, numbers, s)
        assert.equal(0, s.dropped)
        assert.equal(0, s.freezes)
        assert.same({ 262144, 256, 64 << 20 }, { s.block_size, s.block_count, s.ring_size })
        assert.is_nil(s.seen) -- the kernel rejects uncounted
        assert.is_nil(s.filtered)
        assert.equal("kernel", s.filter_engine)
    end)

    root_it("counts what a slow reader loses from a ring of two small blocks", function()
        local src <close> = live.capture(ns, "b", { filter = "udp and dst port 9", block_size = 16384, block_count = 2,
            direction = "in" })
        local process = live.start_blast(ns, { count = 50000 })
        local numbers = read_all(src, process, function(_, n)
            if n % 200 == 0 and n < 2000 then
                support.sleep(0.02)
            end
        end)
        local sent = live.sent(process)
        live.assert_rising(numbers)
        local s = src:stats()
        assert_adds_up(sent, numbers, s)
        assert.is_true(s.dropped > 0)
        assert.is_true(s.freezes > 0)
        assert.equal(32768, s.ring_size)
    end)

    root_it("finds its place when the ring goes round many times, slowly and fast (A04)", function()
        local src <close> = live.capture(ns, "b",
            { filter = "udp and dst port 9", block_size = 65536, block_count = 4 })
        local process = live.start_blast(ns, { count = 100000, rate = 60000 })
        local numbers = read_all(src, process, function(_, n)
            if n % 4000 == 0 and n // 16000 % 2 == 0 then
                support.sleep(0.05)
            end
        end)
        local sent = live.sent(process)
        live.assert_rising(numbers)
        assert_adds_up(sent, numbers, src:stats())
        -- 4 blocks of 64 KiB hold at most 4 * 65536 / 144 of them
        assert.is_true(#numbers > 10 * 1820, "the ring went round only a few times")
    end)

    root_it("sleeps while nothing comes, whatever is held", function()
        local src <close> = live.capture(ns, "b", { filter = "udp and dst port 9", block_size = 4096, block_count = 4 })
        live.blast(ns, { count = 1 })
        local held
        for pkt in src:packets { count = 1 } do
            held = pkt:hold()
        end
        local before = os.clock()
        assert.is_nil(src:next(0.5))
        local n = 0
        for _ in src:packets { idle = 0.5 } do -- once, it went on for ever: poll() always said yes
            n = n + 1
        end
        assert.equal(0, n)
        assert.is_nil(src:timeout())
        assert.is_true(os.clock() - before < 0.5)
        live.blast(ns, { count = 1, first = 2 })
        assert.equal(2, number_of(src:next(10)))
        assert.equal(1, number_of(held))
        held:release()
        before = os.clock()
        assert.is_nil(src:next(0.5))
        assert.is_true(os.clock() - before < 0.25)
    end)

    root_it("ends a loop in time though packets that do not pass come without pause", function()
        local src <close> = live.capture(ns, "b", { filter = function() return false end })
        local process = live.start_blast(ns, { count = 1000000, rate = 20000 })
        support.wait_for(function()
            src:next(0)
            return src:stats().filtered > 0
        end)
        local function count(options)
            local n = 0
            for _ in src:packets(options) do
                n = n + 1
            end
            return n
        end
        assert.equal(0, count { idle = 0.2 })
        assert.equal(0, count { duration = 0.2 })
        assert.same({ nil, "timeout", 110 }, { src:next(0.2) })
        src:filter(function() -- so slow that a packet is always there
            local till = os.clock() + 0.0002
            repeat until os.clock() > till
            return false
        end)
        assert.equal(0, count { idle = 0.2 })
        assert.equal(0, count { duration = 0.2 })
        src:filter("greater 500") -- matched again in user space while the ring may have others
        assert.equal(0, count { idle = 0.2 })
        assert.is_nil(support.read_file(process.name .. ".status"), "the sender was to go on all the time")
        support.kill(process)
        support.wait(process)
    end)
end)

describe("counters #root", function()
    root_it("are the same when asked twice, and go on over filters (A09)", function()
        local src <close> = live.capture(ns, "b",
            { filter = "udp and dst port 9", block_size = 65536, block_count = 4 })
        -- 1494 bytes each: 4 blocks of 64 KiB hold about 164
        local sent = live.blast(ns, { count = 2000, size = 1452 })
        local first, second = src:stats(), src:stats()
        assert.same(first, second)
        assert.equal(0, first.delivered)
        assert.equal(sent, first.queued + first.dropped)
        assert.is_true(first.dropped > 1000)
        assert.is_true(first.freezes >= 1)
        local n = 0
        for _ in src:packets { idle = 0.2 } do
            n = n + 1
        end
        local third = src:stats()
        assert.equal(first.queued, n)
        assert.equal(first.dropped, third.dropped)
        assert.same({ n, 0, sent }, { third.delivered, third.queued, third.matched })
        for i, filter in ipairs { "udp", "ip and udp", "udp port 9" } do
            assert(src:filter(filter))
            live.blast(ns, { count = 50 })
            for _ in src:packets { count = 50, duration = 10 } do
                n = n + 1
            end
            local s = src:stats()
            assert.same(s, src:stats())
            assert.same({ n, first.dropped, first.freezes, sent + i * 50 },
                { s.delivered, s.dropped, s.freezes, s.matched })
        end
        src:filter(nil)
        assert.is_nil(src:stats().seen) -- it is not known any more
    end)

    root_it("tell seen and filtered while no filter runs in the kernel", function()
        local src <close> = live.capture(ns, "b", { direction = "in", filter = function(pkt)
            return number_of(pkt) % 4 == 0
        end })
        live.blast(ns, { count = 1000 })
        local n = 0
        for pkt in src:packets { count = 250, duration = 10 } do
            n = n + 1
            assert.equal(n * 4, number_of(pkt))
        end
        local s = src:stats()
        assert.same({ 1000, 750, 250, 250, 0 }, { s.seen, s.filtered, s.matched, s.delivered, s.dropped })
    end)
end)

describe("held packets #root", function()
    root_it("stay what they are while the ring fills up, and the source goes on after them", function()
        local src <close> = live.capture(ns, "b", { filter = "udp and dst port 9", block_size = 4096, block_count = 4,
            latency = "low" })
        local held, numbers = {}, {}
        live.blast(ns, { count = 3 })
        for pkt in src:packets { count = 3, duration = 10 } do
            held[#held + 1] = pkt:hold()
            numbers[#numbers + 1] = number_of(pkt)
        end
        local as_they_were = { held[1]:bytes(), held[2]:bytes(), held[3]:bytes() }
        local sent = 3 + live.blast(ns, { count = 2000, first = 4 })
        local ok, message = pcall(function()
            for pkt in src:packets { idle = 0.1 } do
                numbers[#numbers + 1] = number_of(pkt)
            end
        end)
        assert.is_false(ok)
        assert.matches("veth_b: all blocks of the ring are held: release packets first", message)
        assert.error_matches(function() src:next(0) end, "all blocks of the ring are held")
        for i = 1, 3 do
            assert.equal(i, number_of(held[i]))
            assert.equal(as_they_were[i], held[i]:bytes())
        end
        assert.is_true(src:stats().dropped > 0)
        for i = 1, 3 do
            held[i]:release()
            assert.error_matches(function() return held[i].len end, "released packet")
        end
        sent = sent + live.blast(ns, { count = 50, first = 3000 })
        for pkt in src:packets { idle = 0.3 } do
            numbers[#numbers + 1] = number_of(pkt)
        end
        live.assert_rising(numbers)
        assert.equal(3049, numbers[#numbers])
        assert_adds_up(sent, numbers, src:stats())
    end)

    root_it("that nobody refers to give their blocks back when the ring needs them", function()
        local src <close> = live.capture(ns, "b", { filter = "udp and dst port 9", block_size = 4096, block_count = 2,
            latency = "low" })
        local process = live.start_blast(ns, { count = 3000, rate = 10000 })
        local numbers = {}
        local pause = collectgarbage("setpause", 1000)
        for pkt in src:packets { idle = 1 } do
            pkt:hold()
            numbers[#numbers + 1] = number_of(pkt)
        end
        collectgarbage("setpause", pause)
        assert_adds_up(live.sent(process), numbers, src:stats())
        live.assert_rising(numbers)
    end)

    root_it("outlive the source, and the socket goes with the last of them (A08)", function()
        local before = live.sockets(ns, "b")
        local src = live.capture(ns, "b", { filter = "udp and dst port 9" })
        assert.equal(before + 1, live.sockets(ns, "b"))
        live.blast(ns, { count = 2 })
        local held = {}
        for pkt in src:packets { count = 2, duration = 10 } do
            held[#held + 1] = pkt:hold()
            if #held == 2 then
                src:close()
                assert.error_matches(function() return pkt.len end, "stale packet")
                break
            end
        end
        src:close()
        assert.equal(before + 1, live.sockets(ns, "b")) -- mapped still, but deaf
        live.blast(ns, { count = 2000 })
        assert.equal(1, number_of(held[1]))
        assert.equal(2, number_of(held[2]))
        held[1]:release()
        assert.equal(2, number_of(held[2]))
        assert.equal("veth_b", held[2].interface)
        local again = held[2]:hold()
        held[2]:release()
        assert.equal(2, number_of(again))
        assert.equal(before + 1, live.sockets(ns, "b"))
        again:release()
        assert.equal(before, live.sockets(ns, "b"))

        src = live.capture(ns, "b")
        live.blast(ns, { count = 1 })
        assert.truthy(src:next(10))
        src:close()
        assert.equal(before, live.sockets(ns, "b"))
    end)
end)

describe("a lone packet #root", function()
    for _, options in ipairs { {}, { latency = "low" }, { retire_timeout = 0.2 }, { retire_timeout = 0 } } do
        local name = options.latency and 'latency="low"'
            or options.retire_timeout and "retire_timeout=" .. options.retire_timeout or "no options"
        root_it("comes with " .. name .. " (A01)", function()
            options.filter = "udp and dst port 9"
            local src <close> = live.capture(ns, "b", options)
            for i = 1, 3 do
                live.blast(ns, { count = 1, first = i })
                local pkt = assert(src:next(5))
                assert.equal(i, number_of(pkt))
            end
            assert.is_nil(src:timeout())
        end)
    end

    root_it("brings all that is in its block with it (A02)", function()
        local src <close> = live.capture(ns, "b", { filter = "udp and dst port 9", retire_timeout = 0.1 })
        live.blast(ns, { count = 10, rate = 200 })
        local seen, waits = {}, 0
        while #seen < 10 do
            assert(support.wait_for(function() return src:timeout() end))
            waits = waits + 1
            local pkt = src:next(0)
            while pkt do
                seen[#seen + 1] = number_of(pkt)
                pkt = src:next(0)
            end
        end
        assert.same({ 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 }, seen)
        assert.is_true(waits < 10, "each packet was waited for")
    end)
end)

describe("a reader that is away for a second #root", function()
    root_it("loses nothing at 300,000 packets a second", function()
        local src <close> = live.capture(ns, "b", { filter = "udp and dst port 9" })
        local process = live.start_blast(ns, { count = 300000, rate = 300000 })
        assert.truthy(support.wait_for(function() return src:timeout() end))
        support.sleep(1)
        local first, last, n = nil, nil, 0
        local numbers = read_all(src, process, function(pkt)
            first, last, n = first or pkt.time, pkt.time, n + 1
        end)
        local sent = live.sent(process)
        assert.equal(300000, sent)
        live.assert_rising(numbers)
        local s = src:stats()
        assert_adds_up(sent, numbers, s)
        local rate = (n - 1) / ((last - first) / 1e9)
        if rate <= 300000 then
            assert.equal(0, s.dropped)
        end
    end)

    root_it("knows what it lost when they come as fast as they can be sent", function()
        local src <close> = live.capture(ns, "b", { filter = "udp and dst port 9", ring_size = 8 << 20 })
        local process = live.start_blast(ns, { count = 600000 })
        assert.truthy(support.wait_for(function() return src:timeout() end))
        support.sleep(1)
        local numbers = read_all(src, process)
        local sent = live.sent(process)
        assert.equal(600000, sent)
        live.assert_rising(numbers)
        assert_adds_up(sent, numbers, src:stats())
        assert.is_true(src:stats().dropped > 0)
    end)
end)

describe("large frames #root", function()
    local wide

    setup(function()
        if live.root then
            wide = support.namespaces { ipv6 = true }
        end
    end)

    --- Send a TCP stream from a to b; the frames that b got.
    local function stream(from, to, bytes)
        local flow = support.compile("flow.c")
        -- "tcp" does not find it behind a hop-by-hop header
        local src <close> = live.capture(wide, "b", { filter = "tcp or (ip6 and ip6[6] = 0)", direction = "in" })
        local take = support.spawn(wide:exec("b", ("%s take %s 7000"):format(flow, to)))
        assert.truthy(support.wait_output(take, "listening"))
        local sent = tonumber((wide:must("a", ("%s tcp %s %s 7000 %d"):format(flow, from, to, bytes))))
        local _, taken = support.wait(take)
        assert.same({ bytes, bytes }, { sent, tonumber(taken) })
        local packets = {}
        for pkt in src:packets { idle = 0.3 } do
            packets[#packets + 1] = pkt:copy()
        end
        assert.equal(0, src:stats().dropped)
        return packets
    end

    local pattern = {}
    for i = 0, 250 do
        pattern[#pattern + 1] = string.char(i)
    end
    pattern = table.concat(pattern):rep(1500)

    --- The segments put together: every byte of the stream is there, and right.
    local function assert_whole(packets, ip_header, bytes)
        local isn, done, longest = nil, 0, 0
        for _, pkt in ipairs(packets) do
            local tcp = ip_header(pkt)
            local seq, offset, flags = pkt:unpack(">I4", tcp + 4), pkt:byte(tcp + 12) >> 4, pkt:byte(tcp + 13)
            local from = tcp + offset * 4
            assert.equal(pkt.len, pkt.caplen)
            assert.is_false(pkt.truncated)
            assert.equal(pkt.caplen, #pkt)
            if flags & 2 ~= 0 then
                isn = seq + 1
            elseif pkt.caplen >= from then
                local at = (seq - isn) & 0xffffffff
                local segment = pkt:sub(from)
                assert.is_true(at <= done, "a segment is missing")
                assert.is_true(segment == pattern:sub(at % 251 + 1, at % 251 + #segment), "other bytes")
                done = math.max(done, at + #segment)
                longest = math.max(longest, pkt.len)
            end
        end
        assert.equal(bytes, done)
        return longest
    end

    root_it("of TCP come whole, far larger than the MTU (A12)", function()
        local packets = stream(wide.a_ip, wide.b_ip, 3000000)
        local longest = assert_whole(packets, function(pkt)
            assert.equal(pkt.len - 14, (pkt:unpack(">I2", 17)))
            return 35
        end, 3000000)
        assert.is_true(longest > 1514, "the stack made no large frames")
    end)

    root_it("of BIG TCP come whole (A12, A13)", function()
        for _, side in ipairs { "a", "b" } do
            wide:must(side, ("ip link set %s gso_max_size 185000 gro_max_size 185000"):format(wide[side .. "_if"]))
        end
        local packets = stream(wide.a_ip6, wide.b_ip6, 6000000)
        local longest = assert_whole(packets, function(pkt)
            if pkt:byte(21) == 0 then -- hop-by-hop: the jumbo option (RFC 2675)
                assert.equal(0, (pkt:unpack(">I2", 19)))
                assert.equal(pkt.len - 54, (pkt:unpack(">I4", 59)))
                return 63
            end
            return 55
        end, 6000000)
        assert.is_true(longest > 65550, "longest frame: " .. longest)
    end)

    root_it("of UDP_SEGMENT come whole (A12)", function()
        local src <close> = live.capture(wide, "b", { filter = "udp and dst port 7001" })
        wide:must("a", ("%s segment %s %s 7001 1000 8"):format(support.compile("flow.c"), wide.a_ip, wide.b_ip))
        local payload, n = {}, 0
        for pkt in src:packets { idle = 0.3 } do
            n = n + 1
            assert.is_false(pkt.truncated)
            payload[#payload + 1] = pkt:sub(live.payload)
        end
        assert.is_true(n == 1 or n == 8)
        assert.is_true(table.concat(payload) == pattern:sub(1, 8000))
    end)

    root_it("are cut to snaplen, and say so", function()
        local src <close> = live.capture(wide, "b", { filter = "udp and dst port 7001", snaplen = 100 })
        wide:must("a", ("%s segment %s %s 7001 1000 8"):format(support.compile("flow.c"), wide.a_ip, wide.b_ip))
        local len = 0
        for pkt in src:packets { idle = 0.3 } do
            assert.same({ 100, 100, true }, { pkt.caplen, #pkt, pkt.truncated })
            len = len + pkt.len - 42
        end
        assert.equal(8000, len)
        live.blast(wide, { count = 1, size = 58, port = 7001 })
        local pkt = src:next(10)
        assert.same({ 100, 100, false }, { pkt.caplen, pkt.len, pkt.truncated })
        live.blast(wide, { count = 1, size = 59, port = 7001 })
        pkt = src:next(10)
        assert.same({ 100, 101, true }, { pkt.caplen, pkt.len, pkt.truncated })
    end)

    root_it("are cut to what a block can hold, and say so", function()
        local src <close> = live.capture(wide, "b", { filter = "udp and dst port 7001", block_size = 4096 })
        wide:must("a", ("%s segment %s %s 7001 1000 8"):format(support.compile("flow.c"), wide.a_ip, wide.b_ip))
        local len = 0
        for pkt in src:packets { idle = 0.3 } do
            len = len + pkt.len - 42
            if pkt.len > 4096 then
                assert.is_true(pkt.truncated)
                assert.is_true(pkt.caplen > 3500 and pkt.caplen < 4096)
                assert.is_true(pkt:sub(live.payload) == pattern:sub(1, pkt.caplen - 42))
            end
        end
        assert.equal(8000, len)
    end)

    root_it("snaplen 0 is the default, 262144", function()
        local src <close> = live.capture(wide, "b", { snaplen = 0 })
        assert.equal(262144, src:interfaces()[1].snaplen)
    end)
end)
