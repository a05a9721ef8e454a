-- Signals and event loops: a live source that waits can be interrupted, polled and killed, and leaves nothing behind.
local support = require "support"
local live = require "support.live"

local root_it = live.root and it or pending

local ns, directory

setup(function()
    if live.root then
        ns = support.namespaces()
        directory = support.tmpdir()
    end
end)

teardown(support.cleanup)

local number_of = live.number_of

local opening = [[
io.stdout:setvbuf("no")
local guard <close> = setmetatable({}, { __close = function() print("guard closed") end })
local src <close> = assert(ringtap.capture("veth_b", { filter = "udp and dst port 9", promisc = true }))
print("ready")
]]

local function start(name, code)
    local process = support.spawn(ns:exec("b", "lua5.4 " .. live.program(directory, name, opening .. code)))
    assert.truthy(support.wait_output(process, "ready"))
    support.sleep(0.1) -- so that it waits
    return process
end

local ways = {
    packets = "for _ in src:packets() do end",
    ["packets with a time limit"] = "for _ in src:packets { duration = 1000, idle = 1000 } do end",
    each = "src:each(function() end)",
    bytes = "for _ in src:bytes() do end",
    next = "src:next()",
    ["next with a timeout"] = "src:next(1000)",
    ["next in a coroutine"] = "local ok, message = coroutine.resume(coroutine.create(function() src:next() end)) "
        .. "error(message, 0)",
    ["packets in a coroutine"] = "coroutine.wrap(function() for _ in src:packets() do end end)()",
    ["each in a coroutine in a loop"] = [[
        for _ in src:packets { idle = 0.01 } do end
        coroutine.wrap(function() src:each(function() end) end)()]],
    ["a filter function that lets nothing pass"] = "src:filter(function() return false end) src:next()",
}

describe("SIGINT #root", function()
    for name, code in pairs(ways) do
        root_it("ends " .. name .. " with a traceback, and all is closed", function()
            local process = start("wait.lua", code)
            local ticks = live.cpu_time(process.pid)
            support.kill(process, "INT")
            local status, out, err = support.wait(process, 20)
            assert.equal(1, status)
            assert.matches("interrupted!", err, 1, true)
            assert.matches("stack traceback", err, 1, true)
            assert.equal("ready\nguard closed\n", out)
            assert.is_true(ticks < 1)
            assert.equal(0, live.sockets(ns, "b"))
        end)
    end

    root_it("ends loops that are never without packets", function()
        local traffic = live.start_blast(ns, { count = 100000000, rate = 20000 })
        for name, code in pairs(ways) do
            if name ~= "next" and not name:find("next ") then
                local process = start("busy.lua", code)
                support.kill(process, "INT")
                local status, out, err = support.wait(process, 20)
                assert.equal(1, status, name)
                assert.matches("interrupted!", err, 1, true)
                assert.equal("ready\nguard closed\n", out)
            end
        end
        support.kill(traffic)
        support.wait(traffic)
        assert.equal(0, live.sockets(ns, "b"))
    end)

    root_it("that is caught leaves the source as it was", function()
        local process = start("caught.lua", [[
            local ok, message = pcall(function() for _ in src:packets() do end end)
            print(ok, (message:gsub("^.*:%s*", "")))
            print(#assert(src:next(20)))
            print(src:stats().delivered)]])
        support.kill(process, "INT")
        assert.truthy(support.wait_output(process, "interrupted!"))
        live.blast(ns, { count = 1 })
        local status, out = support.wait(process)
        assert.equal(0, status)
        assert.equal("ready\nfalse\tinterrupted!\n106\n1\nguard closed\n", out)
    end)
end)

describe("a process #root", function()
    root_it("that is killed leaves nothing", function()
        for _, signal in ipairs { "TERM", "KILL" } do
            local process = start("killed.lua", ways.packets)
            assert.equal(1, live.sockets(ns, "b"))
            assert.matches("promiscuity 1", ns:must("b", "ip -d link show veth_b"))
            support.kill(process, signal)
            local status, out = support.wait(process)
            assert.equal(signal == "TERM" and 128 + 15 or 128 + 9, status)
            assert.equal("ready\n", out)
            assert.equal(0, live.sockets(ns, "b"))
            assert.matches("promiscuity 0", ns:must("b", "ip -d link show veth_b"))
        end
    end)

    root_it("that is stopped and goes on misses no packet", function()
        local process = start("stopped.lua", [[
            for pkt in src:packets { count = 100 } do print(pkt:unpack(">I4", 43)) end]])
        support.kill(process, "STOP")
        live.blast(ns, { count = 100 })
        support.kill(process, "CONT")
        local status, out = support.wait(process)
        assert.equal(0, status)
        local n = 0
        for number in out:gmatch("(%d+)\t%d+\n") do
            n = n + 1
            assert.equal(n, tonumber(number))
        end
        assert.equal(100, n)
    end)

    root_it("that waits uses no CPU time, and wakes up for a packet", function()
        local process = start("idle.lua", "print(#src:next())")
        local before = live.cpu_time(process.pid)
        support.sleep(1)
        assert.is_true(live.cpu_time(process.pid) - before < 0.3)
        live.blast(ns, { count = 1 })
        local status, out = support.wait(process)
        assert.equal(0, status)
        assert.equal("ready\n106\nguard closed\n", out)
    end)
end)

describe("an event loop #root", function()
    local poll

    setup(function()
        if live.root then
            local module = directory .. "/poll.so"
            support.must(("${CC:-gcc} -shared -fPIC -O2 -Wall $(pkg-config --cflags lua5.4) -o %s spec/support/poll.c")
                :format(module))
            poll = assert(package.loadlib(module, "luaopen_poll"))()
        end
    end)

    root_it("can poll the descriptor, and ask how long it may wait", function()
        local src <close> = live.capture(ns, "b", { filter = "udp and dst port 9", direction = "in" })
        local fd = src:fd()
        assert.equal("integer", math.type(fd))
        assert.equal(fd, src:pollfd())
        assert.equal("r", src:events())
        for round = 1, 3 do
            assert.is_nil(src:timeout())
            assert.equal(0, (poll(fd, 0)))
            assert.equal(0, (poll(fd, 50)))
            live.blast(ns, { count = 5, first = round * 10 })
            local ready, revents = poll(fd, 10000)
            assert.same({ 1, 1 }, { ready, revents & 1 })
            assert.equal(0, src:timeout())
            local numbers = {}
            while #numbers < 5 do
                local pkt = src:next(0)
                if pkt then
                    numbers[#numbers + 1] = number_of(pkt)
                else
                    poll(fd, 10000)
                end
            end
            assert.same({ round * 10, round * 10 + 1, round * 10 + 2, round * 10 + 3, round * 10 + 4 }, numbers)
            assert.is_nil(src:next(0))
        end
        assert.same({ nil, "timeout", 110 }, { src:next(0) })
        src:filter(function(pkt) return number_of(pkt) > 1 end)
        live.blast(ns, { count = 1 })
        assert.equal(1, (poll(fd, 10000)))
        assert.equal(0, src:timeout()) -- it may have something: that the filter rejects it is seen by trying
        assert.is_nil(src:next(0))
        assert.is_nil(src:timeout())
        assert.equal(0, (poll(fd, 0)))
    end)

    root_it("sees through the descriptor that the device went", function()
        local own <close> = support.namespaces()
        local src <close> = live.capture(own, "b")
        own:must("b", "ip link del veth_b")
        local ready, revents = poll(src:fd(), 10000)
        assert.equal(1, ready)
        assert.is_true(revents & 8 ~= 0) -- POLLERR
        assert.is_true(support.wait_for(function() return src:timeout() end) == 0)
        assert.matches("No such device", (select(2, src:next())))
    end)
end)
