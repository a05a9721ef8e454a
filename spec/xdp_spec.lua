-- Receiving by AF_XDP, native and generic: what comes is delivered or counted, and the rest is the host's.
local ringtap = require "ringtap"
local support = require "support"
local live = require "support.live"

local root_it = live.root and it or pending
local quote = support.quote
local number_of = live.number_of

teardown(support.cleanup)

local modes = { "native", "generic" }

local function open(ns, mode, options)
    local o = { backend = "xdp", mode = mode }
    for k, v in pairs(options or {}) do
        o[k] = v
    end
    return live.capture(ns, "b", o)
end

local function fails(ns, mode, options)
    local o = { backend = "xdp", mode = mode, netns = ns.b }
    for k, v in pairs(options) do
        o[k] = v
    end
    local src, message, errno = ringtap.capture(ns.b_if, o)
    assert.is_nil(src)
    return message, errno
end

local function assert_adds_up(s)
    assert.equal(s.dropped, s.rx_ring_full + s.fill_ring_empty + s.rx_dropped + s.redirect_failed)
    assert.equal(s.matched, s.delivered + s.dropped)
    assert.equal(s.seen, s.matched + s.filtered)
    assert.equal(0, s.queued)
end

--- "rx_queue_1_drops" of ethtool -S, as a number.
local function device_counter(ns, name)
    local out = ns:must("b", "ethtool -S " .. ns.b_if)
    return assert(tonumber(out:match(name .. ": (%d+)")), out)
end

--- The bytes of the frames that come: those expected, and what comes too many (unless `only`).
local function collect(src, expected, only)
    local frames = {}
    for pkt in src:packets { count = expected, duration = 20 } do
        frames[#frames + 1] = pkt:bytes()
    end
    for pkt in src:packets { idle = only and 0 or 0.1 } do
        frames[#frames + 1] = pkt:bytes()
    end
    return frames
end

local function datagram(o)
    return live.frame({}, 0x800, live.ipv4(o))
end

--- What one of the counters of /proc/net/snmp says.
local function snmp(ns, protocol, name)
    local out = ns:must("b", "cat /proc/net/snmp")
    local names, values = out:match(protocol .. ": (%u[^\n]*)\n" .. protocol .. ": ([^\n]*)")
    values = values:gmatch "%S+"
    for word in names:gmatch "%S+" do
        local value = values()
        if word == name then
            return assert(tonumber(value))
        end
    end
    error("no " .. protocol .. name)
end

-- ------------------------------------------------------------------ many

describe("AF_XDP at full rate #root", function()
    -- The sender's processor decides on the queue. The kernel's generic mode takes the number of the queue on the
    -- sender's side, from 1, for that on this one: there the second flow is to come from number 2.
    local function queues_of(ns, mode)
        local second = mode == "native" and 1 or 2
        ns:must("a", ("echo 1 >/sys/class/net/%s/queues/tx-0/xps_cpus; echo 2 >/sys/class/net/%s/queues/tx-%d/xps_cpus")
            :format(ns.a_if, ns.a_if, second))
    end

    local function start(ns, flow, count)
        return support.spawn(("taskset -c %d %s"):format(flow - 1, live.blast_command(ns, {
            count = count, first = (flow - 1) * count + 1, from = flow == 2 and "192.0.2.3" or nil })))
    end

    local function run(mode, queues, ring_size, count)
        local ns <close> = support.namespaces { queues = mode == "generic" and queues == 2 and 3 or queues }
        ns:must("a", "ip addr add 192.0.2.3/24 dev " .. ns.a_if)
        ns:must("b", ("ip neigh replace 192.0.2.3 lladdr %s dev %s"):format(ns.a_mac, ns.b_if))
        if queues == 2 then
            queues_of(ns, mode)
        end
        local src <close> = open(ns, mode, { ring_size = ring_size, queues = queues == 2 and { 0, 1 } or "all" })
        assert.equal(mode, src:mode())
        assert.same(queues == 2 and { 0, 1 } or { 0 }, src:queues())
        local flows = { start(ns, 1, count // 2), start(ns, 2, count // 2) }
        local last, got, first = { 0, count // 2 }, { 0, 0 }, count // 2
        local ended
        repeat
            ended = support.read_file(flows[1].name .. ".status") and support.read_file(flows[2].name .. ".status")
            for pkt in src:packets { idle = 0.1 } do
                local number = number_of(pkt)
                local flow = number > first and 2 or 1
                if number <= last[flow] or number > first * flow then
                    error(("number %d comes after %d"):format(number, last[flow]))
                end
                last[flow], got[flow] = number, got[flow] + 1
            end
        until ended
        local sent = live.sent(flows[1]) + live.sent(flows[2])
        local s = src:stats()
        assert_adds_up(s)
        assert.equal(count, sent)
        assert.equal(got[1] + got[2], s.delivered)
        assert.equal(count, s.delivered + s.dropped + live.counter(ns, "a", "tx_dropped"))
        assert.equal(live.counter(ns, "b", "rx_packets"), s.seen)
        assert.equal(0, s.redirect_failed)
        assert.is_true(got[1] > 0 and got[2] > 0)
        if mode == "native" then -- generic mode counts nothing in the device
            for i = 1, queues do
                local redirected = device_counter(ns, ("rx_queue_%d_xdp_redirect"):format(i - 1))
                assert.equal(queues == 2 and got[i] or got[1] + got[2], redirected)
            end
            assert.equal(s.dropped, live.counter(ns, "b", "rx_dropped"))
        end
        assert(src:drain())
        for _ in src:packets() do
            error "there was something left"
        end
        local after = src:stats()
        assert.same({ s.delivered, s.dropped, s.seen }, { after.delivered, after.dropped, after.seen })
    end

    for _, mode in ipairs(modes) do
        for _, queues in ipairs { 1, 2 } do
            for _, ring_size in ipairs { 64, 2048 } do
                local count = queues == 2 and ring_size == 64 and 1000000 or 200000
                root_it(("accounts for %d frames, %s, queues %d, rings of %d"):format(count, mode, queues, ring_size),
                    function() run(mode, queues, ring_size, count) end)
            end
        end

        root_it("takes what comes on the queues that were asked for, and no other, " .. mode, function()
            local ns <close> = support.namespaces { queues = mode == "generic" and 3 or 2 }
            ns:must("a", "ip addr add 192.0.2.3/24 dev " .. ns.a_if)
            queues_of(ns, mode)
            local src <close> = open(ns, mode, { queues = 1 })
            assert.same({ 1 }, src:queues())
            local before = snmp(ns, "Udp", "NoPorts")
            local flows = { start(ns, 1, 1000), start(ns, 2, 1000) }
            assert.same({ 1000, 1000 }, { live.sent(flows[1]), live.sent(flows[2]) })
            local n = 0
            for pkt in src:packets { idle = 0.2 } do
                n = n + 1
                assert.equal(1000 + n, number_of(pkt))
            end
            assert.equal(1000, n)
            local s = src:stats()
            assert_adds_up(s)
            assert.is_true(s.filtered >= 1000) -- those of queue 0, which the host has; and what it answers to them
            assert.equal(1000, snmp(ns, "Udp", "NoPorts") - before)
        end)
    end
end)

-- ------------------------------------------------------------------ what the host has

for _, mode in ipairs(modes) do
    describe("AF_XDP with a filter, " .. mode .. " #root", function()
        local function forget(ns)
            for _, side in ipairs { "a", "b" } do
                ns:must(side, ("ip neigh flush dev %s nud permanent; ip neigh flush dev %s"):format(ns[side .. "_if"],
                    ns[side .. "_if"]))
            end
        end

        local function transfer(ns, port, bytes)
            local flow = support.compile("flow.c")
            local take = support.spawn(ns:exec("b", ("%s take %s %d"):format(flow, ns.b_ip, port)))
            support.wait_for(function()
                return ns:must("b", "ss -Htln"):find(":" .. port, 1, true)
            end)
            assert.equal(bytes, tonumber((support.must(ns:exec("a", ("%s tcp %s %s %d %d"):format(flow, ns.a_ip,
                ns.b_ip, port, bytes))))))
            local status, out = support.wait(take)
            assert.equal(0, status)
            assert.equal(bytes, tonumber(out))
        end

        local function echo(ns, timeout)
            local request = "\8\0\0\0\0\1\0\1abcdefgh"
            request = "\8\0" .. (">I2"):pack(live.checksum(request)) .. request:sub(5)
            local head = (">I1I1I2I2I2I1I1I2"):pack(0x45, 0, 20 + #request, 1, 0, 64, 1, 0) .. "\192\0\2\1\192\0\2\2"
            head = head:sub(1, 10) .. (">I2"):pack(live.checksum(head)) .. head:sub(13)
            local before = snmp(ns, "Icmp", "OutEchoReps")
            assert.equal(1, live.send(ns, "a", { live.frame({}, 0x800, head .. request) }))
            return support.wait_for(function() return snmp(ns, "Icmp", "OutEchoReps") == before + 1 end,
                timeout or 10) or false
        end

        root_it("leaves the rest to the host, and what matches comes to the script alone", function()
            local ns <close> = support.namespaces()
            local hold = support.spawn(ns:exec("b", support.compile("udp_hold.c") .. " " .. ns.b_ip .. " 53"))
            assert.truthy(support.wait_output(hold, "ready"))
            local function at_socket()
                return assert(tonumber(ns:must("b", "ss -Huan sport = :53"):match("UNCONN%s+(%d+)")))
            end
            local src <close> = open(ns, mode, { filter = "udp port 53" })
            assert.equal("xdp", src:stats().filter_engine)
            forget(ns)
            transfer(ns, 8000, 10000000) -- ARP comes before it
            assert.matches("192.0.2.2 lladdr 02:00:00:00:00:0b", ns:must("a", "ip neigh show dev " .. ns.a_if), 1, true)
            assert.is_true(echo(ns))
            assert.equal(0, src:stats().delivered + src:stats().queued)
            assert.is_true(src:stats().filtered > 100) -- TCP comes in large segments
            local frames = {}
            for i = 1, 20 do
                frames[i] = datagram { dport = i % 2 == 0 and 53 or 4000, sport = i % 2 == 0 and 4000 or 53,
                    payload = "question " .. i }
            end
            assert.equal(20, live.send(ns, "a", frames))
            assert.same(frames, collect(src, 20))
            assert.equal(0, at_socket())
            assert_adds_up(src:stats())
            assert.equal(20, src:stats().matched)
            transfer(ns, 8001, 1000000)
            src:close()
            assert.equal(20, live.send(ns, "a", frames)) -- 10 of them to port 53
            assert.is_truthy(support.wait_for(function() return at_socket() > 0 end))
        end)

        root_it("leaves to the host what pass names", function()
            local ns <close> = support.namespaces()
            local src <close> = open(ns, mode, { pass = "arp, icmp6,ssh" })
            forget(ns)
            assert.equal(10, live.blast(ns, { count = 10 })) -- the first ones wait for ARP
            local n = 0
            for pkt in src:packets { count = 10, duration = 20 } do
                n = n + 1
                assert.equal(n, number_of(pkt))
            end
            assert.equal(10, n)
            assert.matches("192.0.2.2 lladdr 02:00:00:00:00:0b", ns:must("a", "ip neigh show dev " .. ns.a_if), 1, true)
            transfer(ns, 22, 1000000)
            assert.is_false(echo(ns, 0.2))
            assert.equal(1, #collect(src, 1))
            assert(src:filter("icmp")) -- and still not what pass names
            transfer(ns, 22, 1000)
            live.blast(ns, { count = 10 })
            assert.is_false(echo(ns, 0.2))
            assert.equal(1, #collect(src, 1))
            assert_adds_up(src:stats())
            assert(src:filter(nil))
            transfer(ns, 22, 1000)
            assert.is_false(echo(ns, 0.2))
            assert.equal(1, #collect(src, 1))
        end)

        root_it("without one takes all, ARP too", function()
            local ns <close> = support.namespaces()
            local src <close> = open(ns, mode)
            forget(ns)
            live.blast(ns, { count = 1 })
            local frame = collect(src, 1)[1]
            assert.equal("\8\6", frame:sub(13, 14))
            assert.not_matches("lladdr", ns:must("a", "ip neigh show dev " .. ns.a_if))
            assert.is_false(echo(ns, 0.2))
        end)

        local most = mode == "native" and 1000 or 300

        root_it(("swaps it %d times under load and loses nothing, nor lets other packets through"):format(most),
            function()
            local ns <close> = support.namespaces()
            -- by the number's last two bits: 0 is for both filters, 1 for the first, 2 for the second, 3 for none
            local filters = { [0] = "udp dst port 9 and (udp[11] & 3 = 0 or udp[11] & 3 = 1)",
                "udp dst port 9 and (udp[11] & 3 = 0 or udp[11] & 3 = 2)" }
            local ids = support.compile("bpf_ids.c")
            local before = support.must(ids)
            local src <close> = open(ns, mode, { filter = filters[0], ring_size = 16384 })
            local descriptors = live.descriptors()
            local total = most * 200
            local process = live.start_blast(ns, { count = total, rate = 60000 })
            local swaps, class, last, count = 0, 0, 0, { [0] = 0, 0, 0, 0 }
            for pkt in src:packets { idle = 1 } do
                local number = number_of(pkt)
                local kind = number & 3
                if number <= last then
                    error(("number %d comes after %d"):format(number, last))
                end
                if kind ~= 0 and kind ~= class + 1 then
                    error(("number %d after %d swaps, with filter %d"):format(number, swaps, class))
                end
                last = number
                count[kind] = count[kind] + 1
                if (count[0] + count[1] + count[2]) % 80 == 0 then
                    class = 1 - class
                    swaps = swaps + 1
                    assert(src:filter(filters[class]))
                end
            end
            assert.equal(total, live.sent(process))
            local s = src:stats()
            assert_adds_up(s)
            assert.is_true(swaps >= most, "swaps: " .. swaps)
            assert.same({ 0, total, total // 4, 0 }, { s.dropped, s.seen, count[0], count[3] })
            assert.is_true(count[1] > 0 and count[2] > 0)
            assert.equal(descriptors, live.descriptors())
            -- others may load filters as well, but not a thousand at a time
            local function more()
                local n = 0
                for id in support.must(ids):gmatch("prog (%d+) rtap_filter") do
                    if not before:find("prog " .. id .. " ", 1, true) then
                        n = n + 1
                    end
                end
                return n
            end
            assert.truthy(support.wait_for(function() return more() < 100 end))
        end)
    end)
end

-- ------------------------------------------------------------------ long frames

describe("AF_XDP with frames longer than its chunks #root", function()
    local lengths = { 60, 1514, 1792, 1793, 2048, 3584, 3585, 8999, 9013, 9014 }

    local function frames_of(list)
        local frames = {}
        math.randomseed(7)
        for i, len in ipairs(list) do
            local bytes = {}
            for k = 1, len - 42 do
                bytes[k] = string.char(math.random(0, 255))
            end
            frames[i] = datagram { payload = table.concat(bytes) }
            assert(#frames[i] == len)
        end
        return frames
    end

    for _, mode in ipairs(modes) do
        root_it("has them whole, byte for byte, " .. mode, function()
            local ns <close> = support.namespaces { mtu = 9000 }
            for _, options in ipairs { {}, { fragments = true, frame_size = 2048 }, { frame_size = 4096 },
                { frame_size = 3000, unaligned = true }, { headroom = 256 } } do
                local src <close> = open(ns, mode, options)
                assert.equal(mode, src:mode())
                local frames = frames_of(lengths)
                for round = 1, 8 do -- round the ring, long and short ones in turn
                    assert.equal(#frames, live.send(ns, "a", frames), "round " .. round)
                    assert.same(frames, collect(src, #frames, round < 8))
                end
                local s = src:stats()
                assert_adds_up(s)
                assert.same({ 8 * #frames, 0 }, { s.matched, s.dropped })
            end
        end)

        root_it("holds and filters them like others, " .. mode, function()
            local ns <close> = support.namespaces { mtu = 9000 }
            local src <close> = open(ns, mode, { filter = "udp dst port 9 and greater 2000" })
            local frames = frames_of { 1000, 9014, 200, 5000, 1514, 1514, 2001 }
            assert.equal(#frames, live.send(ns, "a", frames))
            local held = {}
            for pkt in src:packets { count = 3, duration = 20 } do
                held[#held + 1] = pkt:hold()
            end
            assert.is_nil(src:next(0.1))
            live.send(ns, "a", frames_of { 9014, 9014, 9014 })
            assert.equal(3, #collect(src, 3))
            for i, place in ipairs { 2, 4, 7 } do
                assert.equal(frames[place], held[i]:bytes())
                assert.equal(#frames[place], held[i].len)
            end
            held[2]:release()
            assert.equal(6, src:stats().delivered)
            src:close()
            assert.equal(frames[7], held[3]:bytes())
        end)
    end

    root_it("falls back to generic mode without fragments, or says why it doesn't (D13)", function()
        local ns <close> = support.namespaces { mtu = 9000 }
        local message, errno = fails(ns, "native", { fragments = false })
        assert.equal(34, errno)
        assert.matches("veth_b: attaching the XDP program in native mode: Numerical result out of range", message, 1,
            true)
        assert.matches("Peer MTU is too large to set XDP", message, 1, true) -- the kernel's own
        assert.matches('fragments=true or mode="generic" helps', message, 1, true)
        local src = open(ns, "auto", { fragments = false })
        assert.equal("generic", src:mode())
        assert.matches("xdpgeneric", ns:must("b", "ip -d link show " .. ns.b_if))
        src:close()
        src = open(ns, "auto")
        assert.equal("native", src:mode())
        assert.not_matches("xdpgeneric", ns:must("b", "ip -d link show " .. ns.b_if))
        src:close()
        ns:must("a", "ip link set veth_a mtu 1500")
        src = open(ns, "auto", { fragments = false })
        assert.equal("native", src:mode())
        src:close()
    end)

    root_it("counts those that do not fit as rx_dropped (D14)", function()
        for _, mode in ipairs(modes) do
            local ns <close> = support.namespaces { mtu = 3000 }
            local src <close> = open(ns, mode, { fragments = false })
            assert.equal(mode, src:mode())
            local frames = frames_of { 60, 1792, 1793, 2500, 3014, 100 }
            assert.equal(6, live.send(ns, "a", frames))
            assert.same({ frames[1], frames[2], frames[6] }, collect(src, 3))
            local s = src:stats()
            assert_adds_up(s)
            assert.same({ 3, 3, 0, 0, 0 }, { s.dropped, s.rx_dropped, s.rx_ring_full, s.fill_ring_empty,
                s.redirect_failed })
        end
    end)
end)

-- ------------------------------------------------------------------ parameters

describe("AF_XDP's parameters #root", function()
    local ns

    setup(function()
        if live.root then
            ns = support.namespaces()
        end
    end)

    root_it("are refused with the rule that they break (D05)", function()
        for _, case in ipairs {
            { { frame_size = 1024 }, "frame_size = 1024: a power of two from 2048 to 4096" },
            { { frame_size = 3000 }, "frame_size = 3000: a power of two from 2048 to 4096 (the page size), "
                .. "or unaligned=true" },
            { { frame_size = 8192 }, "frame_size = 8192: a power of two from 2048 to 4096" },
            { { frame_size = 1000, unaligned = true }, "frame_size = 1000: from 2048 to 4096" },
            { { headroom = 1400 }, "headroom = 1400 is too much for frames of 2048 bytes" },
            { { headroom = 3400, frame_size = 4096 }, "headroom = 3400 is too much for frames of 4096 bytes" },
            { { queues = 1 }, "it has no queue 1: they are 0 to 0" },
            { { queues = { 0, 7 } }, "it has no queue 7" },
        } do
            local message, errno = fails(ns, "auto", case[1])
            assert.matches("veth_b: ", message, 1, true)
            assert.matches(case[2], message, 1, true)
            assert.equal(22, errno)
        end
        for _, case in ipairs {
            { { ring_size = 100 }, "option 'ring_size' = 100 must be a power of two" },
            { { ring_size = 0 }, "option 'ring_size'" },
            { { queues = "some" }, "option 'queues' must be" },
            { { queues = {} }, "option 'queues'" },
            { { queues = { 0, 0 } }, "0 is there twice" },
            { { mode = "drv" }, "option 'mode'" },
            { { copy = 1 }, "option 'copy' must be true, false or \"auto\"" },
            { { block_size = 4096 }, "block_size" },
            { { map = "x" }, "option 'map' names a map of `program`" },
            { { latency = "high" }, "option 'latency'" },
            { { pass = " , " }, "option 'pass' is empty" },
        } do
            case[1].backend, case[1].netns = "xdp", ns.b
            local ok, message = pcall(ringtap.capture, ns.b_if, case[1])
            assert.is_false(ok)
            assert.matches("capture: ", message, 1, true)
            assert.matches(case[2], message, 1, true)
        end
        local message = fails(ns, "auto", { pass = "nonsense" })
        assert.matches("nonsense", message, 1, true)
        message = fails(ns, "auto", { filter = "udp prot 9" })
        assert.matches("syntax error", message, 1, true)
        local pages = tonumber(support.read_file("/proc/meminfo"):match("HugePages_Free:%s+(%d+)"))
        if pages == 0 then
            assert.matches("huge pages are reserved by sysctl vm.nr_hugepages", fails(ns, "auto",
                { huge_pages = true }), 1, true)
        end
        local src <close> = open(ns, "auto") -- and nothing of them is left
        assert.equal("native", src:mode())
    end)

    root_it("are taken as far as the kernel takes them (D04, D05)", function()
        for _, mode in ipairs(modes) do
            for _, options in ipairs { { headroom = 1344, ring_size = 64, frame_count = 64 },
                { headroom = 3392, frame_size = 4096 }, { headroom = 64, ring_size = 64, frame_count = 64 },
                { frame_size = 3000, unaligned = true, ring_size = 64, frame_count = 64 },
                { frame_size = 2500, unaligned = true, headroom = 100 }, { ring_size = 1 },
                { ring_size = 2, frame_count = 8 }, { ring_size = 64, frame_count = 1000 },
                { copy = true, metadata = false, fragments = false }, { busy_poll = 0.00002 } } do
                local src <close> = open(ns, mode, options)
                local tiny = (options.ring_size or 64) < 8
                for round = 1, tiny and 10 or 4 do
                    local frames = {}
                    for i = 1, tiny and 1 or 50 do
                        frames[i] = datagram { payload = ("frame %d of %d "):format(i, round):rep(1 + i % 20) }
                    end
                    live.send(ns, "a", frames)
                    assert.same(frames, collect(src, #frames, true))
                end
                local s = src:stats()
                assert.same({ tiny and 10 or 200, 0 }, { s.delivered, s.dropped })
                assert_adds_up(src:stats())
            end
        end
    end)

    root_it("have copy mode where there is no zero copy, and an error for who insists (D02)", function()
        for _, mode in ipairs(modes) do
            local message, errno = fails(ns, mode, { copy = false })
            assert.equal(95, errno)
            assert.matches("veth_b: queue 0: zero copy: Operation not supported (its driver has none: copy=true",
                message, 1, true)
            for _, copy in ipairs { true, "auto" } do
                local src <close> = open(ns, mode, { copy = copy })
                assert.is_false(src:zerocopy())
            end
        end
    end)

    root_it("metadata=true is an error where the program can't be bound to the device", function()
        local message = fails(ns, "generic", { metadata = true })
        assert.matches("metadata", message, 1, true)
        local src <close> = open(ns, "native", { metadata = true })
        live.send(ns, "a", { datagram {} })
        assert.equal(datagram {}, src:next(5):bytes())
        assert.equal("software", src:stats().timestamp_source) -- veth has the functions, and 0 for an answer (D23)
    end)

    root_it("with too few frames lose packets, each counted once, and reception goes on (D03)", function()
        for _, mode in ipairs(modes) do
            local src <close> = open(ns, mode, { ring_size = 64, frame_count = 16 })
            local frames = {}
            for i = 1, 40 do
                frames[i] = datagram { payload = ("%04d"):format(i) }
            end
            assert.equal(40, live.send(ns, "a", frames))
            assert.truthy(support.wait_for(function() return src:stats().dropped == 24 end))
            local s = src:stats()
            assert.same({ 16, 24, 24, 0, 0 }, { s.queued, s.dropped, s.fill_ring_empty, s.rx_dropped, s.rx_ring_full })
            assert.same({ table.unpack(frames, 1, 16) }, collect(src, 16))
            assert.equal(10, live.send(ns, "a", { table.unpack(frames, 21, 30) }))
            assert.same({ table.unpack(frames, 21, 30) }, collect(src, 10))
            s = src:stats()
            assert_adds_up(s)
            assert.same({ 50, 24 }, { s.seen, s.dropped })
        end
    end)

    root_it("with a full RX ring lose packets, each counted once", function()
        for _, mode in ipairs(modes) do
            local src <close> = open(ns, mode, { ring_size = 16, frame_count = 64 })
            local frames = {}
            for i = 1, 100 do
                frames[i] = datagram { payload = ("%04d"):format(i) }
            end
            assert.equal(100, live.send(ns, "a", frames))
            assert.truthy(support.wait_for(function() return src:stats().dropped == 84 end))
            assert.same({ 84, 16 }, { src:stats().rx_ring_full, src:stats().queued })
            assert.same({ table.unpack(frames, 1, 16) }, collect(src, 16))
            assert_adds_up(src:stats())
        end
    end)
end)

-- ------------------------------------------------------------------ programs of one's own

describe("a program of one's own #root", function()
    local directory, ns

    local function compile(name, flags)
        local path = ("%s/%s.bpf.o"):format(directory, name)
        support.must(("clang -O2 -g -target bpf -I/usr/include/$(gcc -print-multiarch) %s -c -o %s "
            .. "spec/support/xdp_own.bpf.c"):format(flags or "", quote(path)))
        return path
    end

    setup(function()
        if live.root then
            directory = support.tmpdir()
            ns = support.namespaces()
        end
    end)

    root_it("decides what is received", function()
        local path = compile("own")
        for _, mode in ipairs(modes) do
            for _, map in ipairs { false, "mine" } do
                local src <close> = open(ns, mode, { program = path, map = map or nil })
                assert.equal(mode, src:mode())
                assert.matches("name own ", ns:must("b", "ip -d link show " .. ns.b_if), 1, true)
                local before = snmp(ns, "Udp", "NoPorts")
                local frames = {}
                for i = 1, 20 do
                    frames[i] = datagram { dport = i <= 10 and 9 or 10, payload = "payload " .. i }
                end
                local t0 = live.clock()
                assert.equal(20, live.send(ns, "a", frames))
                assert.same({ table.unpack(frames, 1, 10) }, collect(src, 10))
                assert.equal(10, snmp(ns, "Udp", "NoPorts") - before)
                assert(src:filter("udp[8:4] = 0x7061796c")) -- "payl": matched here, after the program
                live.send(ns, "a", { datagram { payload = "other" }, frames[3] })
                local pkt = src:next(5)
                assert.equal(frames[3], pkt:bytes())
                assert.is_true(pkt.time / 1e9 >= t0 and pkt.time / 1e9 <= live.clock())
                local s = src:stats()
                assert.equal("user", s.filter_engine)
                assert.same({ 11, 0, 0 }, { s.delivered, s.dropped, s.queued })
                src:close()
                assert.not_matches("xdp", ns:must("b", "ip -d link show " .. ns.b_if), 1, true)
            end
        end
    end)

    root_it("has one program and one map, or the map's name", function()
        local path = compile("two", "-DTWO")
        local message, errno = fails(ns, "auto", { program = path })
        assert.equal(22, errno)
        assert.matches('2 maps of type XSKMAP (needs one, or map="name")', message, 1, true)
        assert.matches("0 maps of type XSKMAP named 'none'", fails(ns, "auto", { program = path, map = "none" }), 1,
            true)
        local src <close> = open(ns, "auto", { program = path, map = "mine" })
        live.send(ns, "a", { datagram { payload = "hello, you" } })
        assert.equal(datagram { payload = "hello, you" }, src:next(5):bytes())
        src:close()

        message, errno = fails(ns, "auto", { program = directory .. "/nothing.bpf.o" })
        assert.equal(2, errno)
        assert.matches("nothing.bpf.o: opening it: No such file or directory", message, 1, true)
        support.write_file(directory .. "/text.bpf.o", "this is not ELF")
        assert.matches("text.bpf.o: opening it: ", fails(ns, "auto", { program = directory .. "/text.bpf.o" }), 1, true)
        local ok
        ok, message = pcall(ringtap.capture, ns.b_if, { backend = "xdp", netns = ns.b, program = path, pass = "arp" })
        assert.is_false(ok)
        assert.matches("option 'pass' is for the program of ringtap", message, 1, true)
    end)
end)
