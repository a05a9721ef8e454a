-- AF_XDP against the same work by hand in C (xdp_loop.c) and an ordinary UDP socket: make bench
--
-- Two namespaces and a veth pair. Sending: as in send.lua, frames of 64 bytes, one core, in turns of a second and a
-- half; the receiver takes them into a socket that nobody reads. The rate is that of a second of CPU time. Receiving:
-- 200,000 packets a second are offered, and what counts is the CPU time of who receives them; all have to arrive. Then
-- single packets, 20 ms apart, are sent back to where they came from: how long that takes.
--
-- ROUNDS=n (5), JSON=1: an object for each table on standard output, PART=134: some of the four tables

package.path = "spec/?.lua;" .. package.path

local live = require "support.live"
local ringtap = require "ringtap"
local sending = require "support.sending"
local support = require "support"
local turns = require "bench.turns"

local options = turns.options(arg)
local ROUNDS = tonumber(options.ROUNDS or "") or 5
local BATCH = 256
local OFFERED = 200000
local BURST = 8 -- packets that the sender gives to the kernel at once
local PROOF = 2000

local ns, directory, loop

-- A program of ours that sends, with `tx` and the number of frames, `count`.
local function sender(name, code)
    return "lua5.4 " .. live.program(directory, name, ([[
local count, tx = tonumber(arg[1])
repeat -- the kernel gives a queue back a moment after its socket was closed
    tx = ringtap.sender(%q, { backend = "xdp" })
until tx
]]):format(ns.a_if) .. code) .. " %d"
end

local function write_frame(name, builder)
    local path = directory .. "/" .. name
    support.write_file(path, builder:bytes())
    return support.quote(path), ("local packet = %q\n"):format(builder:bytes())
end

local function loop_command(mode, frame)
    if mode:find "udp" then
        return ("%s %s %%d %s"):format(loop, mode, frame)
    end
    return ("%s %s %s 0 %%d %s %d"):format(loop, mode, ns.a_if, frame, BATCH)
end

-- counted: bytes of the payload that count from 0
local function prove(c, builder, counted)
    local bytes = builder:bytes()
    local t = ringtap.template(bytes)
    turns.prove(ns, c, PROOF, function(got, i)
        if counted > 0 then
            t:pack(">I" .. counted, 43, i - 1)
        end
        local expected = t:bytes()
        if c.kernel_headers then
            got, expected = got:sub(35), expected:sub(35)
        end
        assert(got == expected, ("%s: frame %d is another one"):format(c.name, i))
    end)
end

local function measure(c)
    return turns.rate(ns, c, 0.75, true)
end

local function run_sending()
    local plain = sending.packet(ns)
    local frame, code = write_frame("plain", plain)
    local list = {
        { name = "UDP socket, sendto", rival = true, counted = 4, kernel_headers = true,
            command = loop_command("udp", frame) },
        { name = "C, one frame", rival = true, counted = 0, command = loop_command("tx", frame) },
        { name = "C, a field counts", rival = true, counted = 4, command = loop_command("txvary", frame) },
        { name = "ringtap blast", counted = 0, command = sender("blast.lua", code
            .. "tx:blast { packet = packet, count = count }") },
        { name = "ringtap blast, vary", counted = 4, command = sender("vary.lua", code
            .. 'tx:blast { packet = packet, count = count, vary = { ["payload@0:4"] = "counter" } }') },
        { name = "ringtap frames", counted = 4, command = sender("frames.lua", code .. [[
local template, i = ringtap.template(packet), 0
for frame in tx:frames(count) do
    template:pack(">I4", 43, i)
    frame:set(template)
    i = i + 1
end]]) },
    }
    for _, c in ipairs(list) do
        prove(c, plain, c.counted)
        measure(c) -- finds out how many frames the time takes
    end
    return turns.run(list, { title = "AF_XDP: 64-byte frames, in a second of CPU time", rounds = ROUNDS, unit = "kpps",
        scale = 1e-3 }, measure)
end

local function run_dns()
    local query = ringtap.eth { src = ns.a_mac, dst = ns.b_mac } / ringtap.ip { src = ns.a_ip, dst = ns.b_ip }
        / ringtap.udp { srcport = 5353, dstport = 53 } / ringtap.dns.query("example.com", "A")
    local frame, code = write_frame("query", query)
    local list = {
        { name = "UDP socket, sendto", rival = true, kernel_headers = true, command = loop_command("dnsudp", frame) },
        { name = "C", rival = true, command = loop_command("dns", frame) },
        { name = "ringtap blast, dns.id", command = sender("dns.lua", code
            .. 'tx:blast { packet = packet, count = count, vary = { ["dns.id"] = "counter" } }') },
    }
    for _, c in ipairs(list) do
        prove(c, query, 2)
        measure(c)
    end
    return turns.run(list, { title = "AF_XDP: DNS queries, each with another id, in a second of CPU time",
        rounds = ROUNDS, unit = "kpps", scale = 1e-3 }, measure)
end

-- Nanoseconds of CPU time for each packet of a second's; nil: another process was in the way.
local function cpu_time_once(c)
    local process = support.spawn(ns:exec("b", "taskset -c 1 " .. c.command))
    assert(support.wait_output(process, "ready", 10), c.name)
    local out = support.must(ns:exec("a", ("taskset -c 0 %s tx %s 0 %d %s %d 32 %d"):format(loop, ns.a_if,
        OFFERED, (write_frame("offered", sending.packet(ns))), BURST, OFFERED)))
    local seconds = tonumber(out:match '"seconds":([%d.]+)')
    if c.rival then -- the others end when nothing comes any more
        support.sleep(0.05)
        support.kill(process, "INT")
    end
    local status, text, err = support.wait(process, 5)
    assert(status == 0, err)
    local packets, each = text:match '"packets":(%d+)', text:match '"cpu_ns_per_packet":([%d.]+)'
    return seconds < 1.03 and tonumber(packets) == OFFERED and tonumber(each) or nil
end

local function cpu_time(c)
    for _ = 1, 20 do
        local v = cpu_time_once(c)
        if v then
            return v
        end
    end
    error(c.name .. ": not all packets arrive, or the machine is too busy to send them in time")
end

local function run_receiving()
    local function receiver(name, body)
        return "lua5.4 " .. live.program(directory, name, ([[
local src
repeat
    src = ringtap.capture(%q, { backend = "xdp", mode = "native" })
until src
io.stderr:write "ready\n"
local cpu = os.clock()
src:each(function(pkt) %s end, { idle = 0.2 })
cpu = os.clock() - cpu
local n = src:stats().delivered
print(('{"packets":%%d,"cpu_ns_per_packet":%%.1f}'):format(n, cpu / n * 1e9))
]]):format(ns.b_if, body))
    end
    local list = {
        { name = "C, poll", rival = true, command = ("%s rx %s native 0 1000000000 poll"):format(loop, ns.b_if) },
        { name = "C, a wake-up each ms", rival = true,
            command = ("%s rx %s native 0 1000000000 coalesce:1000"):format(loop, ns.b_if) },
        { name = "ringtap each", command = receiver("each.lua", "") },
        { name = "ringtap each, a byte read", command = receiver("byte.lua", 'local _ = pkt:unpack("B", 43)') },
    }
    return turns.run(list, { title = ("AF_XDP: CPU time for a packet, received at %d kpps"):format(OFFERED // 1000),
        rounds = ROUNDS, unit = "ns" }, cpu_time)
end

local function run_single()
    local result = { title = "AF_XDP: single packets 20 ms apart, there and back", unit = "us", rounds = 1, rows = {} }
    local q = ringtap.eth { src = ns.a_mac, dst = ns.b_mac } / ringtap.ip { src = ns.a_ip, dst = ns.b_ip }
        / ringtap.udp { srcport = 5, dstport = 6 } / ("\0"):rep(30)
    for _, latency in ipairs { "0.001", "0.01", '"low"' } do
        local process = support.spawn(ns:exec("b", "lua5.4 " .. live.program(directory, "back.lua", ([[
local port
repeat
    port = ringtap.port(%q, { mode = "native", latency = %s })
until port
io.stderr:write "ready\n"
ringtap.forward(port.rx, port.tx)
]]):format(ns.b_if, latency))))
        assert(support.wait_output(process, "ready", 10))
        local tx <close> = sending.open(ns)
        local rx <close> = live.capture(ns, "a", { filter = "udp", latency = "low", direction = "in" })
        local r = assert(ringtap.probe(tx, rx, { packet = q, count = 100, rate = 50 }))
        assert(r.received == 100, tostring(r))
        support.kill(process, "INT")
        support.wait(process, 5)
        for _, what in ipairs { "p50", "p99" } do
            table.insert(result.rows, { name = ("latency = %s, %s"):format(latency, what), us = r.rtt[what] / 1000,
                ratios = {} })
        end
    end
    return result
end

turns.bench(options, function(show)
    ns = support.namespaces()
    directory = support.tmpdir()
    loop = directory .. "/xdp_loop"
    support.must(("${CC:-gcc} -O2 -o %s spec/bench/xdp_loop.c -lbpf"):format(loop))
    ns:must("a", "ethtool -K veth_a tx off")
    for _, port in ipairs { 9, 53 } do
        local process = support.spawn(ns:exec("b", ("%s %s %d"):format(support.compile "udp_hold.c", ns.b_ip, port)))
        support.wait_output(process, "ready", 10)
        live.blast(ns, { count = 5000, port = port }) -- its socket is full from here on
    end
    for i, run in ipairs { run_sending, run_dns, run_receiving, run_single } do
        if not options.PART or options.PART:find(i) then
            show(run())
        end
    end
end)
