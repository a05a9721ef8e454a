-- The life of an AF_XDP source: its verbs, handles, held packets, signals; and that nothing of it is left behind.
local ringtap = require "ringtap"
local support = require "support"
local live = require "support.live"

local root_it = live.root and it or pending
local quote = support.quote
local number_of = live.number_of

local directory, ids

setup(function()
    if live.root then
        directory = support.tmpdir()
        ids = support.compile("bpf_ids.c")
    end
end)

teardown(support.cleanup)

local modes = { "native", "generic" }

local function open(ns, mode, options)
    local o = { backend = "xdp", mode = mode, filter = "udp dst port 9" }
    for k, v in pairs(options or {}) do
        o[k] = v
    end
    return live.capture(ns, "b", o)
end

local function numbers(src, options)
    local list = {}
    for pkt in src:packets(options) do
        list[#list + 1] = number_of(pkt)
    end
    return list
end

local function range(from, to)
    local list = {}
    for i = from, to do
        list[#list + 1] = i
    end
    return list
end

--- What `ip` says of programs on b's interface: nothing, "xdp" or "xdpgeneric".
local function attached(ns)
    return ns:must("b", "ip -d link show " .. ns.b_if):match "xdp%a*"
end

local function program_id(ns)
    return tonumber(ns:must("b", "ip -d link show " .. ns.b_if):match "prog/xdp id (%d+)")
end

--- Those of the BPF objects in `list` ("prog 12" in each line) that are still there, after some time.
local function left_of(list)
    local left
    support.wait_for(function()
        local all = support.must(ids)
        left = {}
        for object in list:gmatch "%a+ %d+" do
            if all:find(object .. " ", 1, true) then
                left[#left + 1] = object
            end
        end
        return #left == 0
    end, 5)
    return left
end

-- Lua for a child: prints its BPF objects, as its descriptors know them, then "ready".
local tell = [[
local function tell()
    local kinds, n = { prog_id = "prog", map_id = "map", link_id = "link" }, 0
    local list <close> = io.popen("ls /proc/$PPID/fdinfo")
    for name in list:read("a"):gmatch "%d+" do
        local file <close> = io.open("/proc/self/fdinfo/" .. name)
        for key, id in (file and file:read("a") or ""):gmatch "(%a+_id):%s*(%d+)" do
            if kinds[key] then
                print(kinds[key] .. " " .. id)
                n = n + 1
            end
        end
    end
    assert(n >= 7, "it knows only " .. n)
    print("ready")
end
io.stdout:setvbuf("no")
]]

-- Lua for a child: opens and closes a source 500 times.
local cycle = [[
local function descriptors()
    collectgarbage()
    collectgarbage()
    local list <close> = io.popen("ls /proc/$PPID/fd | wc -l")
    local file <close> = io.open("/proc/self/maps")
    local _, maps = file:read("a"):gsub("\n", "\n")
    return list:read("n"), maps
end
local function open(o)
    o = o or {}
    o.backend, o.mode, o.ring_size, o.filter = "xdp", arg[1], 64, o.filter or "udp dst port 9"
    return assert(ringtap.capture("veth_b", o))
end
local kept = {}
local ways = {
    function() open():close() end,
    function() local src <close> = open() assert(src:next(5)) end,
    function()
        local src <close> = open { pass = "arp" }
        for _ in src:packets { duration = 5 } do break end
    end,
    function()
        local src = open()
        local ok, message = pcall(src.each, src, function() error("thrown") end, { duration = 5 })
        assert(not ok and message:find("thrown"))
        src:close()
    end,
    function()
        local src = open()
        for pkt in src:packets { count = 1, duration = 5 } do kept[1] = pkt:hold() end
        src:close()
        assert(#kept[1] == 106)
    end,
    function()
        local ok = pcall(function()
            local src <close> = open()
            for _ in src:packets() do error("thrown") end
        end)
        assert(not ok)
    end,
    function() -- nobody closes it
        local src = open()
        assert(src:next(5))
        src = nil
        collectgarbage()
        collectgarbage()
    end,
    function()
        local co = coroutine.wrap(function()
            local src = open()
            for pkt in src:packets { duration = 5 } do coroutine.yield(pkt) end
        end)
        kept[2] = co()
        co = nil
        collectgarbage()
        collectgarbage()
    end,
    function()
        local src, message = ringtap.capture("veth_b", { backend = "xdp", filter = "no filter" })
        assert(not src and message:find("syntax error"), message)
    end,
    function()
        local src <close> = open()
        local other, message = ringtap.capture("veth_b", { backend = "xdp", ring_size = 64 })
        assert(not other and message:find("busy"), message)
    end,
}
for _, way in ipairs(ways) do
    if way ~= ways[10] then way() end
end
kept = {}
local before, maps_before = descriptors()
local src = open()
tell()
src:close()
for i = 1, 500 do
    ways[i % 9 + 1]()
end
kept = {}
local after, maps = descriptors()
assert(after == before, "descriptors: " .. before .. ", then " .. after)
assert(maps <= maps_before + 20, "mappings: " .. maps_before .. ", then " .. maps)
print(os.clock())
ways[10]()
print("done")
]]

local cycles = {}

setup(function()
    for _, mode in ipairs(live.root and modes or {}) do
        local ns = support.namespaces()
        local program = live.program(directory, "cycles.lua", tell .. cycle)
        cycles[mode] = {
            ns = ns,
            traffic = live.start_blast(ns, { count = 100000000, rate = 2000 }),
            process = support.spawn(ns:exec("b", ("lua5.4 %s %s"):format(program, mode))),
        }
    end
end)

for _, mode in ipairs(modes) do
    describe("an AF_XDP source, " .. mode .. " #root", function()
        local ns

        setup(function()
            if live.root then
                ns = support.namespaces()
            end
        end)

        root_it("has all the verbs of sources", function()
            local src <close> = open(ns, mode)
            live.blast(ns, { count = 40 })
            assert.equal(1, number_of(src:next(10)))
            assert.same(range(2, 4), numbers(src, { count = 3, duration = 10 }))
            local n = 4
            for pkt in src:packets { duration = 10 } do
                n = n + 1
                if number_of(pkt) == 5 then
                    break
                end
            end
            assert.equal(5, n)
            assert.equal(4, src:each(function(pkt)
                n = n + 1
                assert.equal(n, number_of(pkt))
                if n == 9 then
                    src:stop()
                end
            end, { duration = 10 }))
            for bytes, time, len in src:bytes { count = 3, duration = 10 } do
                n = n + 1
                assert.same({ n, 106, 106 }, { (">I4"):unpack(bytes, live.payload), #bytes, len })
                assert.is_true(math.abs(time / 1e9 - live.clock()) < 60)
            end
            for port, len, address in src:fields("udp.dstport", "frame.len", "ip.src") do
                n = n + 1
                assert.same({ 9, 106, "192.0.2.1" }, { port, len, tostring(address) })
                if n == 20 then
                    break
                end
            end
            assert.equal(21, number_of(src:next(0)))
            for pkt in src:packets { duration = 10 } do
                if number_of(pkt) == 25 then
                    src:stop()
                end
            end
            src:filter(function(pkt) return number_of(pkt) % 2 == 0 end)
            assert.same({ 26, 28, 30 }, numbers(src, { count = 3, duration = 10 }))
            src:filter("udp dst port 9")
            assert.same(range(31, 40), numbers(src, { idle = 0.2 }))
            local s = src:stats()
            assert.same({ 40 - 2, 0, 0 }, { s.delivered, s.dropped, s.queued })
            assert.same({ "veth_b", 1 }, { src:interfaces()[1].name, src:interfaces()[1].linktype })

            local before = os.clock()
            local clock = live.clock()
            assert.same({ nil, "timeout", 110 }, { src:next(0.2) })
            assert.same({}, numbers(src, { idle = 0.2 }))
            assert.same({}, numbers(src, { duration = 0.2 }))
            local passed = live.clock() - clock
            assert.is_true(passed >= 0.6 and passed < 3, passed)
            assert.is_true(os.clock() - before < 0.3)
            local process = live.start_blast(ns, { count = 100000000, rate = 2000 })
            clock = live.clock()
            assert.is_true(#numbers(src, { duration = 0.3, idle = 5 }) > 10)
            passed = live.clock() - clock
            assert.is_true(passed >= 0.3 and passed < 3, passed)
            support.kill(process)
            support.wait(process)
            src:close()
            assert.error_matches(function() src:next() end, "closed")
            assert.is_nil(attached(ns))
        end)

        root_it("has its mode, queues and copying told, and closed it has none", function()
            local src = open(ns, mode)
            assert.same({ mode, false, { 0 } }, { src:mode(), src:zerocopy(), src:queues() })
            assert.equal(mode == "native" and "xdp" or "xdpgeneric", attached(ns))
            local fd = src:fd()
            assert.equal("integer", math.type(fd))
            assert.same({ "r", fd }, { src:events(), src:pollfd() })
            assert.is_nil(src:timeout())
            live.blast(ns, { count = 1 })
            assert.equal(0, src:timeout())
            assert.truthy(ringtap.wait({ src }, 5))
            src:close()
            src:close()
        end)

        root_it("makes handles stale after the loop's next step, break, error, close and collection", function()
            local src = open(ns, mode)
            live.blast(ns, { count = 100 })
            local kept, last = {}, nil
            for pkt in src:packets { duration = 10 } do
                if last then
                    live.assert_stale(last)
                end
                kept[#kept + 1] = pkt
                last = pkt
                if #kept == 10 then
                    break
                end
            end
            for _, pkt in ipairs(kept) do
                live.assert_stale(pkt)
            end
            local ok, message = pcall(src.each, src, function(pkt)
                last = pkt
                error("no")
            end)
            assert.is_false(ok)
            assert.matches("no$", message)
            live.assert_stale(last)
            local copy
            for pkt in src:packets { count = 1, duration = 10 } do
                copy, last = pkt:copy(), pkt
            end
            live.assert_stale(last)
            assert.equal(12, number_of(copy))
            local co = coroutine.wrap(function()
                for pkt in src:packets { duration = 10 } do
                    coroutine.yield(pkt)
                end
            end)
            last = co()
            assert.equal(13, number_of(last))
            co = nil -- luacheck: ignore
            collectgarbage()
            collectgarbage()
            live.assert_stale(last)
            assert.error_matches(function()
                for pkt in src:packets { count = 2 } do
                    src:close()
                    live.assert_stale(pkt)
                    last = pkt
                end
            end, "the source was closed while a loop was running")
            live.assert_stale(last)
            assert.is_nil(attached(ns))
            assert.equal(12, number_of(copy))
            src = open(ns, mode) -- and at once
            live.blast(ns, { count = 2 })
            co = coroutine.wrap(function(s)
                for pkt in s:packets { duration = 10 } do
                    coroutine.yield(pkt)
                end
            end)
            last = co(src)
            assert.equal(1, number_of(last))
            src, co = nil, nil -- luacheck: ignore
            collectgarbage()
            collectgarbage()
            live.assert_stale(last)
            assert.is_nil(attached(ns))
        end)

        root_it("keeps held packets what they are, and pins only their batches", function()
            local src <close> = open(ns, mode, { ring_size = 64, frame_count = 128 })
            local held, bytes = {}, {}
            for i = 1, 3 do -- each a batch of its own
                live.blast(ns, { count = 1, first = i })
                for pkt in src:packets { count = 1, duration = 10 } do
                    held[i], bytes[i] = pkt:hold(), pkt:bytes()
                end
            end
            local sent, got = 3, {}
            for round = 1, 100 do -- 4000 packets over 125 frames
                sent = sent + live.blast(ns, { count = 40, first = sent + 1 })
                for pkt in src:packets { count = 40, duration = 10 } do
                    got[#got + 1] = number_of(pkt)
                end
                assert.equal(40 * round, #got)
            end
            assert.same(range(4, 4003), got)
            for i = 1, 3 do
                assert.equal(i, number_of(held[i]))
                assert.equal(bytes[i], held[i]:bytes())
            end
            local s = src:stats()
            assert.same({ sent, 0 }, { s.delivered, s.dropped })
        end)

        root_it("says that all frames are held, and goes on when they are released", function()
            local src <close> = open(ns, mode, { ring_size = 16, frame_count = 32 })
            local held = {}
            local function hold()
                for pkt in src:packets { idle = 0.2 } do
                    held[#held + 1] = pkt:hold()
                end
            end
            for i = 1, 4 do
                live.blast(ns, { count = 8, first = i * 8 - 7 })
                assert.equal(8 * i, #range(1, #held) + src:stats().queued)
                if i < 4 then
                    hold()
                end
            end
            local ok, message = pcall(hold)
            assert.is_false(ok)
            assert.matches("veth_b: all 32 frames of its UMEM are held: release their packets first", message, 1, true)
            assert.matches("all 32 frames of its UMEM are held", (select(2, src:next(0.1))), 1, true)
            assert.equal(32, #held)
            live.blast(ns, { count = 5, first = 100 })
            assert.truthy(support.wait_for(function() return src:stats().dropped == 5 end))
            for i, pkt in ipairs(held) do
                assert.equal(i, number_of(pkt))
                pkt:release()
                assert.error_matches(function() return pkt.len end, "released packet")
            end
            live.blast(ns, { count = 10, first = 200 })
            assert.same(range(200, 209), numbers(src, { count = 10, duration = 10 }))
            local s = src:stats()
            assert.same({ 42, 5, 5, 47 }, { s.delivered, s.dropped, s.fill_ring_empty, s.matched })
        end)

        root_it("gets frames back from held packets that nobody refers to", function()
            local src <close> = open(ns, mode, { ring_size = 64, frame_count = 64 })
            local process = live.start_blast(ns, { count = 3000, rate = 10000 })
            local pause = collectgarbage("setpause", 1000)
            local got, ended = {}
            repeat
                ended = support.read_file(process.name .. ".status")
                for pkt in src:packets { idle = 0.2 } do
                    pkt:hold()
                    got[#got + 1] = number_of(pkt)
                end
            until ended
            collectgarbage("setpause", pause)
            local s = src:stats()
            assert.equal(live.sent(process), #got + s.dropped)
            assert.is_true(#got > 64, #got) -- more than there are frames; how many more depends on the collector
            live.assert_rising(got)
        end)

        root_it("leaves held packets when it is closed, and its queue to others", function()
            local held = {}
            local src = open(ns, mode)
            live.blast(ns, { count = 2 })
            for pkt in src:packets { count = 2, duration = 10 } do
                held[#held + 1] = pkt:hold()
            end
            src:close()
            local again = open(ns, mode)
            live.blast(ns, { count = 300, first = 10 })
            assert.same(range(10, 309), numbers(again, { count = 300, duration = 10 }))
            assert.same({ 1, 2, "veth_b" }, { number_of(held[1]), number_of(held[2]), held[2].interface })
            held[1]:release()
            again:close()
            assert.equal(2, number_of(held[2]))
            local copy = held[2]:hold()
            held[2]:release()
            assert.equal(2, number_of(copy))
            local maps = support.read_file("/proc/self/maps")
            copy:release()
            assert.is_true(#support.read_file("/proc/self/maps") < #maps)
        end)

        root_it("bears a collector that steps in every callback (G01)", function()
            local src <close> = open(ns, mode)
            local process = live.start_blast(ns, { count = 2000, rate = 5000 })
            local before = collectgarbage("generational")
            local got, held = {}, {}
            for pkt in src:packets { count = 2000, idle = 20 } do
                collectgarbage("step")
                local copy = pkt:copy()
                held[#got % 4 + 1] = pkt:hold()
                got[#got + 1] = number_of(pkt)
                assert(number_of(copy) == number_of(held[(#got - 1) % 4 + 1]))
                if #got % 100 == 0 then
                    src:filter(("udp and dst port %d"):format(9))
                    collectgarbage()
                end
            end
            collectgarbage(before)
            assert.equal(2000, live.sent(process))
            assert.equal(0, src:stats().dropped)
            assert.same(range(1, 2000), got)
        end)

        root_it("is written to a file as it was sent", function()
            local src <close> = open(ns, mode)
            local frames = {}
            for i = 1, 50 do
                frames[i] = live.frame({}, 0x800, live.ipv4 { payload = ("payload %d "):format(i):rep(i) })
            end
            assert.equal(50, live.send(ns, "a", frames))
            local path = directory .. "/" .. mode .. ".pcap"
            local sink = assert(ringtap.write(path, { source = src }))
            for pkt in src:packets { count = 50, duration = 10 } do
                assert(sink:send(pkt))
            end
            assert(sink:close())
            local lines = 0
            for line in support.must("tcpdump -n -t -r " .. quote(path)):gmatch "[^\n]+" do
                lines = lines + 1
                assert.equal(("IP 192.0.2.1.40000 > 192.0.2.2.9: UDP, length %d"):format(
                    #("payload %d "):format(lines) * lines), line)
            end
            assert.equal(50, lines)
            local n = 0
            for pkt in assert(ringtap.read(path)):packets() do
                n = n + 1
                assert.equal(frames[n], pkt:bytes())
            end
            assert.equal(50, n)
        end)

        root_it("has the sender's time, to a millisecond", function()
            local src <close> = open(ns, mode)
            -- the kernel's own stamp, on the sender's side, as a frame goes out
            local out <close> = live.capture(ns, "a", { filter = "udp dst port 9" })
            local before = live.clock()
            live.blast(ns, { count = 500, rate = 2000 })
            local after = live.clock()
            local sent, n, late, last = {}, 0, 0, 0
            for pkt in out:packets { count = 500, duration = 10 } do
                sent[number_of(pkt)] = pkt.time
            end
            for pkt in src:packets { count = 500, duration = 10 } do
                local number = number_of(pkt)
                n = n + 1
                assert.equal(n, number)
                assert.equal("software", pkt.timestamp_source)
                assert.is_true(math.type(pkt.time) == "integer" and pkt.time >= last)
                last = pkt.time
                if number == 1 then
                    assert.is_true(pkt.time / 1e9 >= before - 0.001)
                end
                local delay = pkt.time - sent[number]
                assert.is_true(delay > -1000, delay) -- not before it was sent
                late = late + (delay > 1000000 and 1 or 0)
            end
            assert.equal(500, n)
            assert.is_true(last / 1e9 <= after + 0.001)
            assert.is_true(late <= 5, late) -- another process may have the processor in between
        end)

        root_it("goes on after its link was down (D09)", function()
            local src <close> = open(ns, mode)
            live.blast(ns, { count = 2 })
            ns:must("b", "ip link set veth_b down")
            assert.same({ 1, 2 }, numbers(src, { count = 2, duration = 10 }))
            local before = os.clock()
            assert.same({ nil, "timeout", 110 }, { src:next(0.3) })
            assert.is_true(os.clock() - before < 0.2, "it did not sleep")
            ns:must("b", ("ip link set veth_b up; ip neigh replace %s lladdr %s dev veth_b nud permanent"):format(
                ns.a_ip, ns.a_mac))
            live.blast(ns, { count = 2, first = 3 })
            assert.same({ 3, 4 }, numbers(src, { count = 2, duration = 10 }))
            ns:must("a", "ip link set veth_a down; ip link set veth_a up")
            ns:must("a", ("ip neigh replace %s lladdr %s dev veth_a nud permanent"):format(ns.b_ip, ns.b_mac))
            live.blast(ns, { count = 1, first = 5 })
            assert.equal(5, number_of(src:next(10)))
        end)

        root_it("ends with \"No such device\" when its device goes, after what was there", function()
            for _, way in ipairs { "link del veth_b", "link set veth_b netns " } do
                local own <close> = support.namespaces()
                local command = way .. (way:find("netns") and own.a or "")
                local src <close> = open(own, mode)
                live.blast(own, { count = 3 })
                assert.equal(1, number_of(src:next(5)))
                local breaker = support.spawn("sh -c " .. quote(("sleep 0.3; exec ip -n %s %s"):format(own.b, command)))
                local got, clock = {}, live.clock()
                local ok, message = pcall(function()
                    for pkt in src:packets() do
                        got[#got + 1] = number_of(pkt)
                    end
                end)
                assert.is_false(ok)
                assert.matches("veth_b: No such device", message, 1, true)
                assert.is_true(live.clock() - clock < 5)
                assert.same({ 2, 3 }, got)
                support.wait(breaker)
                for _ = 1, 2 do
                    local pkt, reason, errno = src:next(5)
                    assert.is_nil(pkt)
                    assert.matches("veth_b: No such device", reason, 1, true)
                    assert.equal(19, errno)
                    assert.error_matches(function() src:each(print) end, "veth_b: No such device")
                    assert.error_matches(function() src:packets { duration = 5 }() end, "veth_b: No such device")
                end
                assert.same({ 3, 0 }, { src:stats().delivered, src:stats().dropped })
            end
        end)

        root_it("refuses a queue that is taken, without much ado, and says by whom", function()
            local src <close> = open(ns, mode)
            local id = program_id(ns)
            local process = support.spawn(ns:exec("b", "lua5.4 " .. live.program(directory, "second.lua", ([[
                local started = os.time()
                for _, replace in ipairs { false, true } do
                    print(ringtap.capture("veth_b", { backend = "xdp", mode = %q, replace = replace }))
                end
                print(ringtap.capture("veth_b", { backend = "xdp", mode = %q, program = "/nonexistent" }))
                assert(os.time() - started < 3)]]):format(mode, mode))))
            local status, out, err = support.wait(process)
            assert.same({ 0, "" }, { status, err })
            local first, second, third = out:match "^([^\n]*)\n([^\n]*)\n([^\n]*)\n$"
            for _, line in ipairs { first, second } do
                assert.matches("nil\tveth_b: queue 0: Device or resource busy (another AF_XDP socket has this queue: "
                    .. "one of another process", line, 1, true)
            end
            assert.matches("^nil\t/nonexistent: ", third)
            assert.equal(id, program_id(ns)) -- nothing was replaced
            live.blast(ns, { count = 3 })
            assert.same({ 1, 2, 3 }, numbers(src, { count = 3, duration = 10 }))
        end)

        root_it("is refused where a program is, by its id, and takes its place with replace", function()
            local own <close> = support.namespaces { queues = 2 }
            local first <close> = open(own, mode, { queues = 0 })
            local id = program_id(own)
            local src, message, errno = ringtap.capture(own.b_if, { backend = "xdp", mode = mode, netns = own.b,
                queues = 1 })
            assert.is_nil(src)
            assert.equal(16, errno)
            assert.matches(("veth_b: Device or resource busy: an XDP program is attached already (%s, id %d, rtap_")
                :format(mode, id), message, 1, true)
            assert.matches("replace=true takes its place", message, 1, true)
            assert.equal(id, program_id(own))
            src = open(own, mode, { queues = 1, replace = true })
            assert.not_equal(id, program_id(own))
            first:close()
            assert.equal(mode == "native" and "xdp" or "xdpgeneric", attached(own))
            src:close()
            assert.is_nil(attached(own))

            -- one without a link, of somebody else's, in the other mode or in this one
            local object = directory .. "/other.bpf.o"
            support.must(("clang -O2 -g -target bpf -I/usr/include/$(gcc -print-multiarch) -c -o %s "
                .. "spec/support/xdp_own.bpf.c"):format(object))
            for _, there in ipairs { "xdpdrv", "xdpgeneric" } do
                own:must("b", ("ip link set dev veth_b %s obj %s sec xdp"):format(there, object))
                id = assert(program_id(own))
                for _, try in ipairs { mode, "auto" } do
                    src, message = ringtap.capture(own.b_if, { backend = "xdp", mode = try, netns = own.b })
                    assert.is_nil(src)
                    assert.matches(("an XDP program is attached already (%s, id %d, own"):format(
                        there == "xdpdrv" and "native" or "generic", id), message, 1, true)
                    assert.equal(id, program_id(own))
                end
                src = open(own, mode, { replace = true })
                assert.equal(mode, src:mode())
                assert.not_equal(id, program_id(own))
                live.blast(own, { count = 3 })
                assert.same({ 1, 2, 3 }, numbers(src, { count = 3, duration = 10 }))
                src:close()
                assert.is_nil(attached(own))
            end
        end)
    end)

    describe("an AF_XDP source in a process, " .. mode .. " #root", function()
        local ns, opening

        setup(function()
            if live.root then
                ns = support.namespaces()
            end
            opening = tell .. ([[
                local guard <close> = setmetatable({}, { __close = function() print("guard closed") end })
                local src <close> = assert(ringtap.capture("veth_b", { backend = "xdp", mode = %q,
                    filter = "udp dst port 9" }))
                tell()
            ]]):format(mode)
        end)

        local function start(code)
            local process = support.spawn(ns:exec("b", "lua5.4 " .. live.program(directory, "child.lua",
                opening .. code)))
            assert.truthy(support.wait_output(process, "ready"), table.concat({ support.output(process) }, "\n"))
            return process
        end

        local function assert_nothing_left(out)
            assert.is_nil(attached(ns))
            assert.same({}, left_of(out))
            local src <close> = open(ns, mode)
            assert.equal(mode, src:mode())
        end

        for name, code in pairs {
            packets = "for _ in src:packets() do end",
            ["packets with a time limit"] = "for _ in src:packets { duration = 1000, idle = 1000 } do end",
            each = "src:each(function() end)",
            bytes = "for _ in src:bytes() do end",
            next = "src:next()",
            ["packets in a coroutine"] = "coroutine.wrap(function() for _ in src:packets() do end end)()",
            ["a filter function that lets nothing pass"] = "src:filter(function() return false end) src:next()",
        } do
            root_it("is ended by SIGINT in " .. name .. ", and all is closed", function()
                for _, busy in ipairs { false, true } do
                    if not busy or name ~= "next" then
                        local traffic = busy and live.start_blast(ns, { count = 100000000, rate = 20000 })
                        local process = start(code)
                        support.sleep(0.1)
                        local ticks = live.cpu_time(process.pid)
                        support.kill(process, "INT")
                        local status, out, err = support.wait(process, 20)
                        assert.equal(1, status)
                        assert.matches("interrupted!", err, 1, true)
                        assert.matches("stack traceback", err, 1, true)
                        assert.matches("ready\nguard closed\n$", out)
                        assert.is_true(ticks < 1)
                        if traffic then
                            support.kill(traffic)
                            support.wait(traffic)
                        end
                        assert_nothing_left(out)
                    end
                end
            end)
        end

        root_it("leaves nothing when it is killed, ends with an error, or exits in a loop", function()
            for _, case in ipairs {
                { "for _ in src:packets() do end", 128 + 9, "KILL" },
                { "for _ in src:packets() do end", 128 + 15, "TERM" },
                { "for _ in src:packets() do error('thrown') end", 1, nil, "thrown" },
                { "src:each(function() error('thrown') end)", 1, nil, "thrown" },
                { "for _ in src:packets() do os.exit(7) end", 7 },
                { "for _ in src:packets() do os.exit(8, true) end", 8 },
                { "for pkt in src:packets() do local held = pkt:hold() os.exit(9, true) end", 9 },
                { "for _ in src:packets() do break end", 0 },
            } do
                local process = start(case[1])
                assert.truthy(attached(ns))
                if case[3] then
                    support.kill(process, case[3])
                else
                    live.blast(ns, { count = 3 })
                end
                local status, out, err = support.wait(process)
                assert.equal(case[2], status)
                if case[4] then
                    assert.matches(case[4], err, 1, true)
                else
                    assert.equal("", err)
                end
                assert_nothing_left(out)
            end
        end)

        root_it("is stopped, goes on, and misses no packet; and sleeps while nothing comes", function()
            local process = start("for pkt in src:packets { count = 101 } do print((pkt:unpack('>I4', 43))) end")
            support.kill(process, "STOP")
            live.blast(ns, { count = 100 })
            support.kill(process, "CONT")
            assert.truthy(support.wait_output(process, "\n100\n"))
            local before = live.cpu_time(process.pid)
            support.sleep(1)
            assert.is_true(live.cpu_time(process.pid) - before < 0.3)
            live.blast(ns, { count = 1, first = 101 })
            local status, out = support.wait(process)
            assert.equal(0, status)
            assert.equal(table.concat(range(1, 101), "\n"), out:match "ready\n(.*)\nguard closed\n$")
        end)
    end)
end

-- They wait for the kernel most of the time, so they run while the tests above do.
describe("an AF_XDP source's life #root", function()
    for _, mode in ipairs(modes) do
        root_it("500 times in one process, in all ways, leaves nothing, " .. mode, function()
            local c = cycles[mode]
            local status, out, err = support.wait(c.process, 100)
            support.kill(c.traffic)
            support.wait(c.traffic)
            assert.same({ 0, "" }, { status, err })
            assert.matches("done\n$", out)
            assert.is_nil(attached(c.ns))
            assert.same({}, left_of(out))
            local src <close> = open(c.ns, mode)
            assert.equal(mode, src:mode())
        end)
    end
end)
