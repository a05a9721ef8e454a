-- Sending: every verb, every method; what arrives is counted by the peer's kernel and captured by tcpdump.
local live = require "support.live"
local ringtap = require "ringtap"
local sending = require "support.sending"
local support = require "support"

local root_it = live.root and it or pending

teardown(support.cleanup)

-- The numbers in the payloads of a file, 8 bytes big endian at `at`: each of 0 ... n - 1 once.
local function assert_each_once(path, n, at)
    local seen, count = {}, 0
    sending.each_in_pcap(path, function(bytes)
        local number = (">I8"):unpack(bytes, at)
        assert(number >= 0 and number < n and not seen[number], "number " .. number)
        seen[number] = true
        count = count + 1
    end)
    assert.equal(n, count)
end

local function good(v6, tcp)
    return (v6 and "." or "1") .. (tcp and " . 1" or " 1 .") .. " . . ."
end

describe("a million frames #root", function()
    local N = 1000000
    local ways = {
        send = function(tx, template)
            for i = 0, N - 1 do
                template:pack(">I8", 43, i)
                assert(tx:send(template))
            end
        end,
        frames = function(tx, template)
            local i = 0
            for frame in tx:frames(N) do
                frame:set(template)
                frame:pack(">I8", 43, i)
                i = i + 1
            end
        end,
        blast = function(tx, template)
            local r = assert(tx:blast { packet = template, count = N, vary = { ["payload@0:8"] = "counter" } })
            assert.same({ N, 0, N, "count" }, { r.packets, r.refused, r.attempted, r.reason })
            assert.equal(N * 64, r.bytes)
        end,
    }
    local function check(method, run)
        local ns <close> = support.namespaces()
        sending.listener(ns)
        local tx <close> = sending.open(ns, sending.options(method))
        local process, path = sending.tcpdump(ns, "udp port 9")
        local before = sending.received(ns)
        run(tx, ringtap.template(sending.packet(ns)))
        assert.same({ true }, { tx:drain() })
        assert.equal(N, sending.received(ns) - before)
        local s = tx:stats()
        assert.same({ N, N * 64, 0, 0 }, { s.sent, s.bytes, s.queued, s.refused })
        sending.stop_tcpdump(process, N)
        assert_each_once(path, N, 43)
        os.remove(path)
    end
    for name, run in pairs(ways) do
        for _, method in ipairs { "auto", "xdp" } do
            root_it(("by %s arrive, each number once, %s"):format(name, method), function() check(method, run) end)
        end
    end
end)

describe("checksums #root", function()
    for _, method in ipairs { "mmsg", "ring", "gso", "xdp" } do
        for _, v6 in ipairs { false, true } do
            for _, tcp in ipairs { false, true } do
                root_it(("are right for 10,000 frames, %s IPv%d %s"):format(method, v6 and 6 or 4,
                    tcp and "TCP" or "UDP"), function()
                        local ns <close> = support.namespaces { ipv6 = v6 }
                        ns:must("a", "ethtool -K veth_a tx off")
                        local tx <close> = sending.open(ns, sending.options(method))
                        local process, path = sending.tcpdump(ns, "port 9")
                        local vary = {
                            [v6 and "ipv6.src" or "ip.src"] = v6 and "2001:db8::/64" or "10.0.0.0/8",
                            [v6 and "ipv6.hlim" or "ip.ttl"] = { 1, 64, 255 },
                            [v6 and "ipv6.flow" or "ip.id"] = "random",
                            ["payload@0:8"] = "counter",
                            ["payload@9:3"] = { random = true, from = 5, to = 70000 },
                            ["payload@13:1"] = function(first, n) return { first % 256, n % 256 } end,
                        }
                        if tcp then
                            vary["tcp.seq"], vary["tcp.flags.push"] = "random", { true, false, false }
                            vary["tcp.window_size_value"] = { from = 1000, to = 10, step = -7 }
                        end
                        local r = assert(tx:blast { packet = sending.packet(ns, { v6 = v6, tcp = tcp }), count = 10000,
                            vary = vary })
                        assert.same({ 10000, 0 }, { r.packets, r.refused })
                        sending.stop_tcpdump(process, 10000)
                        assert.same({ [good(v6, tcp)] = 10000 }, sending.checksums(path))
                        assert_each_once(path, 10000, v6 and (tcp and 75 or 63) or tcp and 55 or 43)
                    end)
            end
        end
    end
end)

describe("super-frames #root", function()
    -- What the peer gets of these frames, offloads off: a list of strings.
    local function through(ns, options, frames, exactly)
        ns:must("a", "ethtool -K veth_a tx off")
        local tx <close> = sending.open(ns, options)
        local process, path = sending.tcpdump(ns, "port 9")
        local i = 0
        for frame in tx:frames(#frames) do
            i = i + 1
            frame:set(frames[i])
        end
        local s = tx:stats()
        assert.same({ #frames, 0 }, { s.sent, s.refused })
        sending.stop_tcpdump(process, #frames)
        local got = {}
        sending.each_in_pcap(path, function(bytes) got[#got + 1] = bytes end)
        for k = 1, exactly == false and 0 or #frames do
            if frames[k]:sub(1, 128) ~= got[k] then
                error(("frame %d of %d: %s, not %s"):format(k, #frames, got[k]:gsub(".", function(c)
                    return ("%02x"):format(c:byte()) end), (frames[k]:gsub(".", function(c)
                    return ("%02x"):format(c:byte()) end))), 2)
            end
        end
        return got, s
    end

    local function numbered(ns, o, change)
        local t, list = ringtap.template(sending.packet(ns, o)), {}
        for i = 1, 1000 do
            t:pack(">I8", -22, i)
            change(t, i)
            list[i] = t:bytes()
        end
        return list
    end

    root_it("that auto makes are cut apart into exactly what was given", function()
        local ns <close> = support.namespaces { ipv6 = true }
        local rising = numbered(ns, {}, function(t, i) t["ip.id"] = (65000 + i) % 65536 end)
        local got, s = through(ns, {}, rising)
        assert.equal(#rising, #got)
        assert.equal("gso", s.method)
        assert.is_true(s.super_frames > 5 and s.super_frames < 20)
        local v6 = numbered(ns, { v6 = true }, function() end)
        got, s = through(ns, {}, v6)
        assert.equal(#v6, #got)
        assert.is_true(s.super_frames > 5)
        -- all that can't be is sent as it is: one ip.id for all, wrong checksums, other flows, none at all
        for _, change in ipairs {
            function(t) t["ip.id"] = 7 end,
            function(t, i) t["ip.id"] = i; t["udp.checksum"] = 0x1234 end,
            function(t, i) t["ip.id"] = i; t["udp.checksum"] = 0 end,
            function(t, i) t["ip.id"] = i; t["udp.srcport"] = i end,
            function(t, i) t["ip.id"] = i; t["ip.ttl"] = i % 2 + 1 end,
            function(t, i) t["ip.id"] = i; t["ip.checksum"] = 1 end,
        } do
            local list = numbered(ns, {}, change)
            got, s = through(ns, {}, list)
            assert.equal(#list, #got)
            assert.equal(0, s.super_frames)
        end
        -- payloads of several sizes
        local mixed = numbered(ns, {}, function(t, i) t["ip.id"] = i; t:resize(70 + (i // 7) % 3 * 500) end)
        assert.equal(1000, #through(ns, {}, mixed))
    end)

    root_it("of TCP are cut apart with the sequence numbers that were given", function()
        local ns <close> = support.namespaces { ipv6 = true }
        for _, v6 in ipairs { false, true } do
            local list = numbered(ns, { v6 = v6, tcp = true }, function(t, i)
                t["tcp.flags.syn"], t["tcp.flags.ack"] = false, true
                t["tcp.seq"], t["tcp.flags.push"] = 1000 + (i - 1) * 22, i % 50 == 0
                if not v6 then
                    t["ip.id"] = i
                end
            end)
            local got, s = through(ns, { method = "gso" }, list)
            assert.equal(#list, #got)
            assert.is_true(s.super_frames >= 20 and s.super_frames < 60, tostring(s.super_frames))
        end
    end)

    root_it("can be asked for; then the kernel numbers ip.id", function()
        local ns <close> = support.namespaces()
        local same = {}
        for i = 1, 300 do
            same[i] = sending.packet(ns, { id = 5 }):bytes()
        end
        local got, s = through(ns, { method = "gso" }, same, false)
        assert.equal("asked for", s.reason)
        assert.equal(3, s.super_frames)
        assert.same({ 5, 6, 132, 5 }, { (">I2"):unpack(got[1], 19), (">I2"):unpack(got[2], 19),
            (">I2"):unpack(got[128], 19), ((">I2"):unpack(got[129], 19)) })
        local _, message = ringtap.sender(ns.a_if, { netns = ns.a, method = "gso", qdisc_bypass = true })
        assert.matches("not with qdisc_bypass", message, 1, true)
    end)
end)

describe("limits #root", function()
    for _, method in ipairs { "mmsg", "ring", "gso", "xdp" } do
        root_it("are the kernel's own, with " .. method .. " (C02, C03, C04)", function()
            local ns <close> = support.namespaces()
            local size = method == "xdp" and 4096 or 3000
            local tx <close> = sending.open(ns, sending.options(method, { frame_size = size }))
            local head = live.macs .. "\x88\xb5"
            local tag = live.macs .. "\x81\0\0\5\x88\xb5"
            local service = live.macs .. "\x88\xa8\0\5\x88\xb5"
            local before = sending.received(ns)
            local sizes = {
                { "", 0 }, { head, 1 }, { head, 13 }, { head, 14, true }, { head, 1514, true }, { head, 1515 },
                { tag, 1518, true }, { tag, 1519 }, { service, 1514, true }, { service, 1515 }, { service, 1518 },
                { head, 3000 }, { head, 3001 },
            }
            local sent = 0
            for _, case in ipairs(sizes) do
                local frame = (case[1] .. ("x"):rep(3001)):sub(1, case[2])
                local ok, message = tx:send(frame)
                assert.equal(case[3], ok, ("%d bytes: %s"):format(case[2], tostring(message)))
                sent = sent + (case[3] and 1 or 0)
                if not case[3] then
                    local by_size = case[2] > 3000 and (method == "mmsg" or method == "gso")
                    assert.matches(case[2] < 14 and "too short" or by_size and "frame_size" or "too long", message, 1,
                        true)
                end
            end
            local s = tx:stats()
            assert.same({ 4, sent, 9, 3, 6 }, { 4, s.sent, s.refused, s.causes.too_short, s.causes.too_long })
            assert.equal(sent, sending.received(ns) - before)
            assert.equal(#sizes, sending.given(tx))
            -- the same through blast and frames: the good ones go, nothing stops the rest
            local list = {}
            for i, case in ipairs(sizes) do
                list[i] = (case[1] .. ("x"):rep(3001)):sub(1, case[2])
            end
            local r = assert(tx:blast { packet = list, count = #list * 10 })
            assert.same({ sent * 10, (#list - sent) * 10, #list * 10 }, { r.packets, r.refused, r.attempted })
            for frame in tx:frames(3) do
                frame:set(head .. ("y"):rep(2000))
            end
            assert.equal(sent * 11, tx:stats().sent)
            assert.equal(sent * 11, sending.received(ns) - before)
        end)
    end

    root_it("of a device without a link layer", function()
        local ns <close> = support.namespaces()
        local tun = support.spawn(ns:exec("a", support.compile("tun_hold.c") .. " tun7"), "")
        support.wait_output(tun, "ready", 10)
        ns:must("a", "ip link set tun7 up")
        local tx <close> = assert(ringtap.sender("tun7", { netns = ns.a }))
        assert.equal(101, tx:linktype())
        local cap <close> = assert(ringtap.capture("tun7", { netns = ns.a, filter = "udp" }))
        local q = ringtap.ip { src = "192.0.2.1", dst = "192.0.2.2" } / ringtap.udp { dstport = 9 } / "hello"
        assert(tx:send(q))
        assert(tx:blast { packet = q, count = 3, vary = { ["ip.ttl"] = "increment" } })
        local ttls = {}
        for pkt in cap:packets { count = 4, duration = 5 } do
            ttls[#ttls + 1] = pkt["ip.ttl"]
            assert.equal("hello", pkt:payload())
            assert.equal("ok", pkt.checksum)
        end
        assert.same({ 64, 64, 65, 66 }, ttls)
        local ok, message = tx:send(sending.packet(ns))
        assert.is_nil(ok)
        assert.matches("link type", message, 1, true)
        assert.is_nil((tx:send("")))
        assert.same({ invalid = 1, too_short = 1 }, tx:stats().causes)
    end)
end)

describe("a template", function()
    local q = ringtap.eth { dst = "02:00:00:00:00:02" } / ringtap.ip { src = "192.0.2.1", dst = "192.0.2.2" }
        / ringtap.udp { srcport = 1, dstport = 2 } / "payload!"

    -- As if it had been built so.
    local function same_as_built(change, given)
        local t = ringtap.template(q)
        change(t)
        local e = q:packet():edit()
        for name, v in pairs(given) do
            e[name] = v
        end
        assert.equal(e:bytes(), t:bytes())
        assert.equal("ok", t.checksum)
    end

    it("has the bytes that a builder would have made", function()
        same_as_built(function(t) t["ip.src"] = "203.0.113.7" end, { ["ip.src"] = "203.0.113.7" })
        same_as_built(function(t) t["udp.srcport"] = 65535 end, { ["udp.srcport"] = 65535 })
        same_as_built(function(t) t["ip.dsfield.dscp"] = 46 end, { ["ip.dsfield.dscp"] = 46 })
        same_as_built(function(t) t["ip.flags.df"] = true end, { ["ip.flags.df"] = true })
        same_as_built(function(t) t["eth.dst"] = "02:00:00:00:00:99" end, { ["eth.dst"] = "02:00:00:00:00:99" })
        same_as_built(function(t) t["ip.ttl"], t["ip.id"] = 1, 2 end, { ["ip.ttl"] = 1, ["ip.id"] = 2 })
        same_as_built(function(t) t:pack(">I2", 36, 0x1234) end, { ["udp.srcport"] = 0x12, ["udp.dstport"] = 0x3402 })
    end)

    it("tells what can't be", function()
        local t = ringtap.template(q)
        for _, case in ipairs {
            { "ip.tll", 1, "did you mean" }, { "tcp.seq", 1, "there is no tcp.seq" }, { "ip.ttl", 256, "doesn't fit" },
            { "ip.dst", "::1", "an IPv4 address" }, { "ip.ttl", nil, "a number" }, { "payload@6:4", 1, "8 bytes" },
            { "payload@0:2", 65536, "doesn't fit" }, { "ip.checksum.status", 1, "can't be written" },
        } do
            local ok, message = pcall(function() t[case[1]] = case[2] end)
            assert.is_false(ok)
            assert.matches(case[3], message, 1, true)
            assert.matches("^spec/send_spec.lua:%d+: ", message)
        end
        assert.equal(q:bytes(), t:bytes())
        assert.has_error(function() t:pack(">I4", 48, 1) end)
        assert.has_error(function() t:resize(-1) end)
        assert.has_error(function() t:hold() end)
        assert.has_error(function() t:skip() end)
        assert.has_error(function() q:packet():set("x") end)
        assert.has_error(function() q:packet()["ip.ttl"] = 3 end)
    end)

    it("is written to by layer, too", function()
        local t = ringtap.template(q)
        t.ip.ttl, t.udp.srcport = 7, 99
        assert.same({ 7, 99, "ok" }, { t["ip.ttl"], t["udp.srcport"], t.checksum })
        local tunnel = ringtap.template(ringtap.eth {} / ringtap.ip { ttl = 1 } / ringtap.ip { ttl = 2 }
            / ringtap.udp {})
        tunnel["ip#2"].ttl = 9
        assert.same({ 1, 9 }, tunnel:all "ip.ttl")
        assert.same({ 1, 1 }, tunnel:all "ip.checksum.status")
        assert.has_error(function() q:packet().ip.ttl = 7 end)
    end)

    it("grows and shrinks with its lengths and checksums", function()
        local t = ringtap.template(q)
        for _, size in ipairs { 60, 43, 42, 1514, 50, 65000, 100 } do
            t:resize(size)
            assert.same({ size, size - 14, size - 34 }, { #t, t["ip.len"], t["udp.length"] })
            assert.equal("ok", t.checksum)
        end
        local v6 = ringtap.template(ringtap.eth {} / ringtap.vlan { id = 5 } / ringtap.ipv6 {} / ringtap.tcp {} / "abc")
        v6:resize(200)
        assert.same({ 200 - 58, "ok" }, { v6["ipv6.plen"], v6.checksum })
    end)

    it("follows what decides how it is laid out", function()
        local t = ringtap.template(q)
        t["udp.length"] = 12 -- four bytes less are covered
        assert.equal("ok", t.checksum)
        t["ip.proto"] = 99
        assert.is_nil(t.udp)
        assert.equal(1, t["ip.checksum.status"])
        t:set(q)
        assert.equal(q:bytes(), t:bytes())
        t:set("\1\2\3")
        assert.equal("\1\2\3", t:bytes())
    end)

    it("of a tunnel has all its checksums right", function()
        local inner = ringtap.eth {} / ringtap.ip { src = "10.0.0.1", dst = "10.0.0.2" } / ringtap.udp { dstport = 5 }
            / "inside"
        local t = ringtap.template(ringtap.eth {} / ringtap.ip { src = "192.0.2.1", dst = "192.0.2.2" }
            / ringtap.udp { dstport = 4789 } / ringtap.vxlan { vni = 7 } / inner)
        t["ip.src#2"], t["udp.srcport#2"] = "172.16.5.6", 999
        assert.same({ "192.0.2.1", "172.16.5.6", 999 }, { t["ip.src"], t["ip.src#2"], t["udp.srcport#2"] })
        local status = t:all "udp.checksum.status"
        assert.same({ 1, 1 }, status)
        assert.same({ 1, 1 }, t:all "ip.checksum.status")
        local sctp = ringtap.template(ringtap.eth {} / ringtap.ip {} / ringtap.sctp { srcport = 1, dstport = 2 })
        sctp["sctp.verification_tag"] = 0x12345678
        assert.equal(1, sctp["sctp.checksum.status"])
    end)
end)

describe("frames #root", function()
    root_it("are borrowed, writable, and sent when the loop goes on", function()
        local ns <close> = support.namespaces()
        local tx <close> = sending.open(ns, { frame_count = 8 })
        local process, path = sending.tcpdump(ns, "udp port 9")
        local q, kept, n = sending.packet(ns), {}, 0
        for frame in tx:frames(100) do
            n = n + 1
            assert.equal(0, #frame)
            if n % 10 == 3 then
                frame:set(q):skip()
            elseif n % 10 ~= 4 then -- else left empty
                frame:set(n % 2 == 0 and q or q:bytes())
                frame["ip.id"] = n
                frame:resize(60 + n // 2)
                assert.equal(46 + n // 2, frame["ip.len"])
            end
            kept[n] = frame
        end
        assert.equal(100, n)
        for _, frame in ipairs { kept[1], kept[100] } do
            live.assert_stale(frame)
            assert.has_error(function() frame:set("x") end)
            assert.has_error(function() frame["ip.id"] = 1 end)
        end
        for frame in tx:frames() do -- the one that is shown when the loop is left is not sent
            frame:set(q)
            if n == 100 then
                break
            end
        end
        assert.equal(80, tx:stats().sent)
        sending.stop_tcpdump(process, 80)
        local ids, expected = {}, {}
        sending.each_in_pcap(path, function(bytes)
            ids[#ids + 1] = (">I2"):unpack(bytes, 19)
        end)
        for i = 1, 100 do
            expected[#expected + 1] = i % 10 ~= 3 and i % 10 ~= 4 and i or nil
        end
        assert.same(expected, ids)
        assert.same({ [good()] = 80 }, sending.checksums(path))
    end)

    root_it("may be flushed in between", function()
        local ns <close> = support.namespaces()
        ns:must("a", "ethtool -K veth_a tx off")
        for _, method in ipairs { "mmsg", "ring", "gso", "auto", "xdp" } do
            local tx <close> = sending.open(ns, sending.options(method))
            local process, path = sending.tcpdump(ns, "udp port 9")
            local template, i = ringtap.template(sending.packet(ns)), 0
            for frame in tx:frames(300) do
                i = i + 1
                frame:set(template)
                frame["ip.id"] = i
                frame:pack(">I8", 43, i - 1)
                if i % 7 == 0 then
                    assert(tx:flush())
                end
                frame:pack("c4", 52, "done")
            end
            sending.stop_tcpdump(process, 300)
            assert_each_once(path, 300, 43)
            sending.each_in_pcap(path, function(bytes) assert.equal("done", bytes:sub(52, 55)) end)
            assert.same({ [good()] = 300 }, sending.checksums(path))
        end
    end)

    root_it("of a sender that is closed meanwhile are over", function()
        local ns <close> = support.namespaces()
        local q = sending.packet(ns):bytes()
        for _, how in ipairs { "close", "error", "collect", "two", "send" } do
            local tx = sending.open(ns)
            local ok, message = pcall(function()
                for frame in tx:frames(10) do
                    frame:set(q)
                    if how == "close" then
                        tx:close()
                        pcall(frame.set, frame, q)
                        live.assert_stale(frame)
                    elseif how == "error" then
                        error("stop", 0)
                    elseif how == "two" then
                        tx:frames(1)
                    elseif how == "send" then
                        tx:send(q)
                    end
                    collectgarbage()
                end
            end)
            local patterns = { close = "the sink was closed", error = "stop", two = "is running already",
                send = "a loop over this sender's frames" }
            assert.equal(how == "collect", ok, message)
            assert.matches(patterns[how] or "", message or "", 1, true)
            tx:close()
        end
        collectgarbage()
        assert.equal(0, live.sockets(ns, "a"))
    end)
end)

describe("blast #root", function()
    root_it("varies what it is told, one after another", function()
        local ns <close> = support.namespaces { ipv6 = true }
        local tx <close> = sending.open(ns)
        local q = sending.packet(ns)
        -- the values of a field in the frames that are made, without a network between
        local function values(packet, name, how, count, field)
            local cap <close> = live.capture(ns, "b", { direction = "in", filter = "udp" })
            assert(tx:blast { packet = packet, count = count, vary = { [name] = how }, seed = 1 })
            local list = {}
            for v in cap:fields(field or name, { count = count, duration = 10 }) do
                list[#list + 1] = v
            end
            return list
        end
        assert.same({ "10.0.0.254", "10.0.0.255", "10.0.1.0", "10.0.1.1", "10.0.0.254" },
            values(q, "ip.src", { from = "10.0.0.254", to = "10.0.1.1" }, 5))
        assert.same({ "10.0.0.9", "10.0.0.6", "10.0.0.3", "10.0.0.9" },
            values(q, "ip.src", { from = "10.0.0.9", to = "10.0.0.1", step = -3 }, 4))
        assert.same({ "192.0.2.8", "192.0.2.9", "192.0.2.10", "192.0.2.11", "192.0.2.8" },
            values(q, "ip.src", "192.0.2.9/30", 5))
        assert.same({ 7, 9, 7 }, values(q, "udp.srcport", { 7, 9 }, 3))
        assert.same({ 7, 9, 7 }, values(q, "udp.srcport", "7, 9", 3))
        assert.same({ 65534, 65535, 65534 }, values(q, "udp.srcport", "65534-65535", 3))
        assert.same({ 4000, 4001, 4002 }, values(q, "udp.srcport", "increment", 3))
        assert.same({ 0, 1, 2 }, values(q, "ip.id", "counter", 3))
        assert.same({ 65535, 0, 1 }, values(q, "ip.id", { counter = 65535 }, 3))
        assert.same({ "02:00:00:00:00:ff", "02:00:00:00:01:00" },
            values(q, "eth.src", { from = "02:00:00:00:00:ff", to = "02:00:00:00:01:00" }, 2))
        assert.same({ "fd00::ffff", "fd00::1:0" },
            values(sending.packet(ns, { v6 = true }), "ipv6.src", { from = "fd00::ffff", to = "fd00::1:0" }, 2))
        assert.same({ "fd00::5", "2001:db8::1" },
            values(sending.packet(ns, { v6 = true }), "ipv6.src", { "fd00::5", "2001:db8::1" }, 2))
        assert.same({ 46, 0, 46 }, values(q, "ip.dsfield.dscp", { 46, 0 }, 3))
        assert.same({ true, false, true }, values(q, "ip.flags.df", { true, false }, 3))
        local asked = {}
        assert.same({ 1, 2, 1, 2 }, values(q, "udp.srcport", function(first, n)
            asked[#asked + 1] = { first, n }
            return { 1, 2 }
        end, 4))
        assert.same({ { 1, 4 } }, asked)
        -- random: in the range, not all the same, the same again with the same seed
        local a = values(q, "udp.srcport", { random = true, from = 100, to = 110 }, 200)
        assert.same(a, values(q, "udp.srcport", { random = true, from = 100, to = 110 }, 200))
        local seen = {}
        for _, v in ipairs(a) do
            assert(v >= 100 and v <= 110)
            seen[v] = true
        end
        for v = 100, 110 do
            assert.is_true(seen[v])
        end
        -- several packets in turn; a field that only one of them has
        local tagged = ringtap.eth { dst = ns.b_mac } / ringtap.vlan { id = 1 } / ringtap.ip {} / ringtap.udp {} / "x"
        local cap <close> = live.capture(ns, "b", { direction = "in", filter = "udp or (vlan and udp)" })
        assert(tx:blast { packet = { tagged, q }, count = 4, vary = { ["vlan.id"] = { 5, 6 } } })
        local ids = {}
        for id, port in cap:fields("vlan.id", "udp.srcport", { count = 4, duration = 5 }) do
            ids[#ids + 1] = id or port
        end
        assert.same({ 5, 4000, 6, 4000 }, ids)
    end)

    root_it("says what it can't vary, and where it was called", function()
        local ns <close> = support.namespaces()
        local tx <close> = sending.open(ns)
        local q = sending.packet(ns)
        for _, case in ipairs {
            { { packet = q, vary = { ["ip.len"] = "random" } }, "how the packet is laid out depends on ip.len" },
            { { packet = q, vary = { ["ip.scr"] = "random" } }, "did you mean" },
            { { packet = q, vary = { ["tcp.seq"] = "random" } }, "there is no tcp.seq" },
            { { packet = q, vary = { ["ip.src"] = "10.0.0.1" } }, "net/len" },
            { { packet = q, vary = { ["ip.src"] = { from = "10.0.0.2", to = "10.0.0.1" } } }, "negative step" },
            { { packet = q, vary = { ["ip.ttl"] = { from = 1 } } }, "both ends" },
            { { packet = q, vary = { ["ip.ttl"] = { 1, 300 } } }, "doesn't fit" },
            { { packet = q, vary = { ["ip.ttl"] = { form = 1 } } }, "unknown key 'form'" },
            { { packet = q, vary = { ["payload@20:4"] = "counter" } }, "22 bytes" },
            { { packet = q, rat = 5 }, "did you mean 'rate'" },
            { { packet = q, rate = "5 parsecs" }, "250kpps" },
            { { packet = q, rate = 0 }, "packets a second" },
            { { packet = q, count = -1 }, "option 'count'" },
            { {}, "option 'packet'" },
            { { packet = {} }, "option 'packet'" },
            { { packet = ringtap.ip {} / ringtap.udp {} }, "link type" },
        } do
            case[1].count = case[1].count or 1
            local ok, message = pcall(function() tx:blast(case[1]) end)
            assert.is_false(ok, case[2])
            assert.matches(case[2], message, 1, true)
            assert.matches("^spec/send_spec.lua:%d+: ", message)
        end
        assert.equal(0, sending.given(tx))
        -- what a function of the script raises comes out as it is, and everything is put back
        local ok, message = pcall(function()
            tx:blast { packet = q, count = 5, vary = { ["ip.ttl"] = function() error("mine", 0) end } }
        end)
        assert.same({ false, "mine" }, { ok, (message:gsub("^spec.-: ", "")) })
        ok = pcall(function()
            tx:blast { packet = q, duration = 5, rate = 1000, every = 0.01, progress = function() tx:close() end }
        end)
        assert.is_false(ok)
        assert(tx:send(q))
        assert.equal("50000", (support.read_file("/proc/self/timerslack_ns") or "50000"):match "%d+")
    end)

    root_it("does nothing for no frames and no time", function()
        local ns <close> = support.namespaces()
        local tx <close> = sending.open(ns)
        local q = sending.packet(ns)
        local r = assert(tx:blast { packet = q, count = 0 })
        assert.same({ 0, 0, "count" }, { r.packets, r.attempted, r.reason })
        r = assert(tx:blast { packet = q, duration = 0 })
        assert.same({ 0, "duration" }, { r.attempted, r.reason })
        assert.equal(3, assert(tx:blast { packet = q, count = 3, duration = 5 }).packets)
    end)
end)

describe("what broke #root", function()
    local core = require "ringtap.core"

    root_it("a template that is changed after a frame was set from it", function()
        local ns <close> = support.namespaces()
        local tx <close> = sending.open(ns, { frame_count = 1 })
        local t = ringtap.template(sending.packet(ns))
        for frame in tx:frames(1) do
            frame:set(t)
            t:set(("x"):rep(1000000))
            assert.has_error(function() frame["frame@900000"] = 1 end)
            frame["ip.ttl"] = 3
            assert.same({ 3, "ok", 64 }, { frame["ip.ttl"], frame.checksum, #frame })
        end
        assert.equal(1, tx:stats().sent)
    end)

    root_it("frames longer than a super-frame, and places far behind in long templates", function()
        local ns <close> = support.namespaces()
        local tx <close> = sending.open(ns, { method = "gso", frame_size = 1 << 18, frame_count = 1 })
        assert.is_nil((tx:send(("x"):rep(250000))))
        for frame in tx:frames(1) do
            frame:set(("x"):rep(250000))
        end
        assert.same({ too_long = 2 }, tx:stats().causes)
        local t = ringtap.template(("x"):rep(1 << 20))
        t:pack("c" .. (1 << 19), 1, ("y"):rep(1 << 19))
        t:pack("c4", 2, "zzzz")
        assert.equal("yzzzzy", t:sub(1, 6))
    end)

    root_it("sinks that are closed by what they call", function()
        local ns <close> = support.namespaces()
        local q = sending.packet(ns)
        local bytes = q:bytes()
        local function source()
            return assert(ringtap.memory { bytes, bytes, bytes })
        end
        for _, use in ipairs {
            function(tx) return tx:replay(source(), { fn = function() tx:close() return true end }) end,
            function(tx) return ringtap.forward(source(), tx, function() tx:close() return true end) end,
            function(tx)
                local src = source()
                src:filter(function() tx:close() return true end)
                return tx:replay(src)
            end,
            function(tx)
                return core._blast(tx, setmetatable({ templates = { ringtap.template(q) }, varies = {}, count = 1 },
                    { __index = function() tx:close() end }))
            end,
        } do
            local tx = sending.open(ns)
            local ok, message = pcall(use, tx)
            assert.is_false(ok)
            assert.matches("closed sink", message, 1, true)
        end
    end)

    root_it("what a blast was given, taken away while it runs", function()
        local ns <close> = support.namespaces()
        local tx <close> = sending.open(ns)
        local spec = { templates = { ringtap.template(sending.packet(ns)) }, varies = {}, duration = 50000000,
            every = 1000000, packet_interval = 100000.0, signals = ringtap.signals "USR1" }
        spec.progress = function()
            spec.templates[1], spec.signals = nil, nil
            collectgarbage()
            collectgarbage()
        end
        assert.is_true(core._blast(tx, spec).packets > 0)
        for _, wrong in ipairs { "abc", false, 5 } do
            assert.has_error(function()
                core._blast(tx, { templates = { ringtap.template(sending.packet(ns)) }, count = 1,
                    varies = { { name = "ip.ttl", kind = "list", values = wrong } } })
            end)
        end
    end)

    root_it("times and rates that are out of all bounds", function()
        local ns <close> = support.namespaces()
        local tx <close> = sending.open(ns)
        local bytes = sending.packet(ns):bytes()
        local far = assert(ringtap.memory { { bytes, time = 0 }, { bytes, time = 4294967295999999999 } })
        local r = assert(tx:replay(far, { speed = 1e-9, duration = 0.05 }))
        assert.same({ 1, "duration" }, { r.packets, r.reason })
        r = assert(tx:blast { packet = bytes, rate = 1e-300, duration = 0.05 })
        assert.same({ 1, "duration" }, { r.packets, r.reason })
        assert.equal(1000, assert(tx:blast { packet = bytes, rate = 1e300, count = 1000 }).packets)
    end)
end)
