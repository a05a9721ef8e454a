-- What goes wrong while frames are sent: everything that was given is sent or refused for a reason, and nothing hangs.
local live = require "support.live"
local ringtap = require "ringtap"
local sending = require "support.sending"
local support = require "support"

local root_it = live.root and it or pending

teardown(support.cleanup)

local now = function() return live.clock() end

-- A program that sends in a, as another process; what its last line of output says, as a table.
local function start(ns, code)
    local path = live.program(support.tmpdir(), ("send%d.lua"):format(math.random(1 << 30)), ([[
local a_mac, b_mac, a_ip, b_ip, ifname = %q, %q, %q, %q, %q
local function packet(payload)
    return ringtap.eth { src = a_mac, dst = b_mac } / ringtap.ip { src = a_ip, dst = b_ip }
        / ringtap.udp { srcport = 4000, dstport = 9 } / (payload or ("\0"):rep(22))
end
local function show(r, message, errno, partial)
    local t = r or partial
    local parts = { ("packets=%%d attempted=%%d refused=%%d reason=%%s"):format(t.packets, t.attempted, t.refused,
        t.reason) }
    for name, n in pairs(t.causes) do
        parts[#parts + 1] = name .. "=" .. n
    end
    for name, n in pairs(t.waits) do
        parts[#parts + 1] = "wait_" .. name .. "=" .. n
    end
    parts[#parts + 1] = "message=" .. tostring(message)
    print(table.concat(parts, " "))
end
io.stderr:write("ready\n")
]]):format(ns.a_mac, ns.b_mac, ns.a_ip, ns.b_ip, ns.a_if) .. code)
    local process = support.spawn(ns:exec("a", "lua5.4 " .. path))
    assert(support.wait_output(process, "ready", 20))
    return process
end

local function report(process)
    local status, out, err = support.wait(process, 30)
    assert(status == 0, err .. out)
    local t = {}
    for name, v in out:match("([^\n]*)\n?$"):gmatch "([%a_]+)=(%S+)" do
        t[name] = tonumber(v) or v
    end
    t.message = out:match "message=([^\n]*)"
    -- the account
    local causes = 0
    for _, name in ipairs { "too_short", "too_long", "invalid", "full", "no_buffer", "link_down", "no_carrier",
        "device_gone", "abandoned" } do
        causes = causes + (t[name] or 0)
    end
    assert.equal(t.refused, causes)
    assert.equal(t.attempted, t.packets + t.refused)
    return t
end

local methods = { "mmsg", "ring", "gso", "xdp" }

-- With "gso" the kernel cuts super-frames apart before the device has them, so that the peer counts what was sent.
local function namespaces(method)
    local ns = support.namespaces()
    if method == "gso" then
        ns:must("a", "ethtool -K veth_a tx off")
    end
    return ns
end

describe("a fault #root", function()
    for _, method in ipairs(methods) do
        root_it("MTU lowered and raised while sending, " .. method, function()
            local ns <close> = namespaces(method)
            sending.listener(ns)
            local before = sending.received(ns)
            local process = start(ns, ([[
local tx = assert(ringtap.sender(ifname, %s))
show(tx:blast { packet = { packet(), packet(("x"):rep(1400)) }, rate = 20000, duration = 1.5 })
]]):format(sending.options_text(method)))
            support.sleep(0.5)
            ns:must("a", "ip link set veth_a mtu 1000")
            support.sleep(0.5)
            ns:must("a", "ip link set veth_a mtu 1500")
            local r = report(process)
            assert.equal("duration", r.reason)
            assert.is_true(r.attempted <= 30000 and r.attempted > 29000)
            assert.is_true(r.refused > 2000 and r.refused == r.too_long, tostring(r.too_long))
            assert.equal(r.packets, sending.received(ns) - before)
        end)

        root_it("link down and up, " .. method, function()
            local ns <close> = namespaces(method)
            sending.listener(ns)
            local before = sending.received(ns)
            local process = start(ns, ([[
local tx = assert(ringtap.sender(ifname, %s))
show(tx:blast { packet = packet(), rate = 5000, count = 5000 })
]]):format(sending.options_text(method)))
            support.sleep(0.3)
            ns:must("a", "ip link set veth_a down; sleep 0.2; ip link set veth_a up; ip neigh replace " .. ns.b_ip
                .. " lladdr " .. ns.b_mac .. " dev veth_a nud permanent")
            local r = report(process)
            assert.same({ "count", 5000 }, { r.reason, r.attempted })
            assert.is_true((r.wait_link_down or 0) > 0)
            assert.is_true(r.packets > 4900, tostring(r.packets))
            assert.equal(r.packets, sending.received(ns) - before)
        end)

        root_it("device deleted, " .. method, function()
            local ns <close> = namespaces(method)
            local process = start(ns, ([[
local tx = assert(ringtap.sender(ifname, %s))
show(tx:blast { packet = packet(), duration = 20 })
assert(tx:send(packet()) == nil)
local ok, message = pcall(function() for frame in tx:frames(1) do frame:set(packet()) end end)
assert(not ok and message:find "No such device", message)
assert(tx:flush() == nil and tx:stats().queued == 0)
assert(tx:close())
]]):format(sending.options_text(method)))
            support.sleep(0.5)
            local began = now()
            ns:must("a", "ip link del veth_a")
            local r = report(process)
            assert.is_true(now() - began < 1)
            assert.equal("failed", r.reason)
            assert.matches("veth_a: No such device", r.message, 1, true)
            assert.is_true(r.packets > 1000)
        end)

        root_it("peer down, then up, " .. method, function()
            local ns <close> = namespaces(method)
            sending.listener(ns)
            local before = sending.received(ns)
            local process = start(ns, ([[
local tx = assert(ringtap.sender(ifname, %s))
show(tx:blast { packet = packet(), rate = 20000, duration = 4, patience = 10 })
]]):format(sending.options_text(method)))
            support.sleep(0.5)
            -- longer than the kernel takes to see it
            ns:must("b", "ip link set veth_b down; sleep 2; ip link set veth_b up")
            local r = report(process)
            assert.equal("duration", r.reason)
            assert.is_true((r.wait_no_carrier or 0) > 0)
            assert.equal(r.packets, sending.received(ns) - before)
        end)

        root_it("peer down for good, " .. method, function()
            local ns <close> = namespaces(method)
            local before = sending.received(ns)
            ns:must("b", "ip link set veth_b down")
            support.sleep(1.5) -- by now what is sent vanishes without an error
            local tx = sending.open(ns, sending.options(method))
            local began = now()
            local r, message, errno, partial = tx:blast { packet = sending.packet(ns), count = 1000 }
            assert.is_true(now() - began < 1)
            assert.same({ nil, 67 }, { r, errno }) -- ENOLINK
            assert.matches("veth_a: no carrier", message, 1, true)
            assert.same({ "stuck", 0 }, { partial.reason, partial.packets })
            assert.equal(partial.attempted, partial.causes.no_carrier)
            -- the other verbs
            assert.is_true(tx:send(sending.packet(ns)))
            began = now()
            assert.is_nil((tx:flush(0.1)))
            local bytes = sending.packet(ns):bytes()
            assert.has_error(function()
                for frame in tx:frames(2000) do
                    frame:set(bytes)
                end
            end)
            assert.is_true(now() - began < 1)
            local given = sending.given(tx)
            assert.equal(given, tx:stats().queued + tx:stats().refused)
            assert.equal(0, sending.received(ns) - before)
            local ok
            ok, message = tx:close()
            assert.is_nil(ok)
            assert.matches("were still queued", message, 1, true)
        end)

        -- AF_XDP hands frames to the device itself
        local discipline_it = method == "xdp" and function() end or root_it
        discipline_it("full queueing discipline (C05), " .. method, function()
            local ns <close> = namespaces(method)
            sending.listener(ns)
            ns:must("a", "tc qdisc add dev veth_a root tbf rate 20mbit burst 3000 limit 6000")
            local before = sending.received(ns)
            local tx <close> = sending.open(ns, { method = method, vnet_hdr = method == "gso" or nil })
            local big = sending.packet(ns, { payload = ("x"):rep(1372) })
            local r = assert(tx:blast { packet = big, count = 500 })
            assert.same({ 500, "count" }, { r.packets + r.refused, r.reason })
            assert.is_true((r.waits.no_buffer or 0) > 0)
            -- of a super-frame some segments may be dropped, which is told only by a count
            assert.is_true(r.refused == 0 or method == "gso" and r.refused == r.causes.no_buffer, tostring(r))
            support.sleep(0.1)
            local first = r.packets
            assert.equal(first, sending.received(ns) - before)
            -- time over before all is out
            r = assert(tx:blast { packet = big, duration = 0.2 })
            assert.is_true(r.refused > 0 and r.refused == r.causes.no_buffer)
            support.sleep(0.1)
            assert.equal(first + r.packets, sending.received(ns) - before)
            assert.equal(r.attempted + 500, sending.given(tx))
        end)

        root_it("ring of one frame, " .. method, function()
            local ns <close> = namespaces(method)
            sending.listener(ns)
            local before = sending.received(ns)
            local tx <close> = sending.open(ns, sending.options(method, { frame_count = 1 }))
            local r = assert(tx:blast { packet = sending.packet(ns), count = 1000 })
            assert.equal(1000, r.packets)
            for frame in tx:frames(100) do
                frame:set(sending.packet(ns):bytes())
            end
            assert(tx:send(sending.packet(ns)))
            assert(tx:drain())
            assert.equal(1101, sending.received(ns) - before)
            assert.equal(1101, tx:stats().sent)
        end)

        root_it("closed with frames in flight, " .. method, function()
            local ns <close> = namespaces(method)
            ns:must("a", method == "xdp" and "ip link set veth_a down"
                or "tc qdisc add dev veth_a root tbf rate 1mbit burst 3000 limit 3000")
            local tx = sending.open(ns, sending.options(method))
            local n = 0
            pcall(function()
                for frame in tx:frames(40) do
                    frame:set(sending.packet(ns, { payload = ("x"):rep(1372) }))
                    n = n + 1
                    if n == 30 then
                        break
                    end
                end
            end)
            local s = tx:stats()
            assert.equal(29, s.sent + s.queued + s.refused)
            local began = now()
            local ok, message = tx:close()
            assert.is_true(now() - began < 1)
            if method ~= "gso" then -- that has lost segments, and counted them
                assert.is_true(s.queued > 0)
                assert.is_nil(ok)
                assert.matches("%d+ frames were still queued", message)
            end
            assert.same({ true }, { tx:close() })
            assert.equal(0, live.sockets(ns, "a"))
        end)
    end

    root_it("SIGINT in the middle: the report, then the program goes on", function()
        local ns <close> = support.namespaces()
        sending.listener(ns)
        for _, rate in ipairs { "nil", "1000" } do
            local before = sending.received(ns)
            local process = start(ns, ([[
local tx = assert(ringtap.sender(ifname))
show(tx:blast { packet = packet(), rate = %s })
]]):format(rate))
            support.sleep(0.5)
            local began = now()
            support.kill(process, "INT")
            local r = report(process)
            assert.is_true(now() - began < 0.5)
            assert.equal("interrupted", r.reason)
            assert.is_true(r.packets > 100)
            assert.equal(r.packets, sending.received(ns) - before)
        end
    end)

    root_it("SIGKILL leaves nothing behind", function()
        local ns <close> = support.namespaces()
        local process = start(ns, [[
local tx = assert(ringtap.sender(ifname, { method = "ring" }))
show(tx:blast { packet = packet(), duration = 20 })
]])
        support.sleep(0.3)
        support.kill(process, "KILL")
        support.wait(process, 5)
        assert.is_true(support.wait_for(function() return live.sockets(ns, "a") == 0 end, 5))
    end)

    root_it("interfaces that can't be had", function()
        local ns <close> = support.namespaces()
        for name, pattern in pairs { nosuch = "nosuch: No such device", any = "on one interface, not on all",
            ["a name that is too long"] = "no interface can have this name" } do
            local tx, message, errno = ringtap.sender(name, { netns = ns.a })
            assert.is_nil(tx)
            assert.matches(pattern, message, 1, true)
            assert.is_true(errno > 0)
        end
        assert.has_error(function() ringtap.sender(ns.a_if, { methd = "ring" }) end,
            "sender: unknown option 'methd' (did you mean 'method'?)")
        assert.has_error(function() ringtap.sender(ns.a_if, { method = "ring", vnet_hdr = true }) end)
        local tx = assert(ringtap.sender(ns.a_if, { netns = ns.a }))
        assert.matches("^ringtap sink: veth_a %(packet%)", tostring(tx))
        assert.is_number(tx:fd())
        tx:close()
        for _, verb in ipairs { "send", "frames", "blast", "replay", "flush", "drain", "stats", "fd" } do
            assert.has_error(function() tx[verb](tx, {}) end, "attempt to use a closed sink")
        end
    end)
end)
