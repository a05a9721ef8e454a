-- Scripts that do what they should not: each of these once crashed, hung or counted wrong.
local ringtap = require "ringtap"
local support = require "support"

local big = ("E"):rep(3000)
local ip = "\x45\0\0\x1d\0\1\0\0\x40\x11\xf6\xcb\xc0\0\2\1\xc0\0\2\2\3\xe8\7\xd0\0\9\0\0A"
local udp = "\2\0\0\0\0\2\2\0\0\0\0\1\8\0" .. ip

teardown(function()
    support.cleanup()
end)

-- Every allocation collects everything: what may happen once in a million steps happens now.
local function stressed(fn)
    collectgarbage("incremental", 1, 100, 63)
    collectgarbage()
    collectgarbage()
    local ok, message = pcall(fn)
    collectgarbage("incremental", 200, 100, 13)
    return ok, message
end

local function script(text)
    local path = support.tmpdir() .. "/script.lua"
    support.write_file(path, ("package.path, package.cpath = %q, %q\n"):format(package.path, package.cpath) ..
        "local r, big = require 'ringtap', ('E'):rep(3000)\n" .. text)
    return "lua5.4 " .. path
end

describe("a packet whose loop is collected while a method works on it", function()
    local calls = {
        copy = function(p) return p.copy, { p } end,
        hold = function(p) return p.hold, { p } end,
        hex = function(p) return p.hex, { p } end,
        bytes = function(p) return p.bytes, { p } end,
        unpack = function(p) return p.unpack, { p, ("c9"):rep(50) } end,
        find = function(p) return p.find, { p, 123456 } end,
        tostring = function(p) return tostring, { p } end,
        vlan = function(p) return function(q) return q.vlan end, { p } end,
        interface = function(p) return function(q) return q.interface end, { p } end,
    }
    for name, call in pairs(calls) do
        it("is whole or stale: " .. name, function()
            local frame = "\2\0\0\0\0\2\2\0\0\0\0\1\x81\0\0\5\8\0" .. big
            local holder = {}
            local ok, message = stressed(function()
                for _ = 1, 20 do
                    holder.loop = ringtap.memory { frame, frame }:packets()
                    local p = holder.loop()
                    local f, arguments = call(p)
                    holder.loop = nil
                    local done, why = pcall(f, table.unpack(arguments))
                    if not done then
                        assert(tostring(why):find("stale packet"), why)
                    end
                end
            end)
            assert.is_true(ok, message)
        end)
    end
end)

describe("a source that is closed by", function()
    it("a finalizer while a loop is made", function()
        local answers = {}
        local ok, message = stressed(function()
            for _, verb in ipairs { "packets", "bytes", "next", "interfaces", "stats" } do
                local src = ringtap.memory { big }
                local fn = src[verb]
                setmetatable({}, { __gc = function() src:close() end })
                local done, answer = pcall(fn, src)
                if done and type(answer) == "function" then
                    done, answer = pcall(answer)
                end
                answers[#answers + 1] = done and "well" or answer
            end
        end)
        assert.is_true(ok, message)
        assert.equal(5, #answers)
        for _, answer in ipairs(answers) do
            assert.is_true(answer == "well" or answer:find("closed") ~= nil or answer:find("stale") ~= nil, answer)
        end
    end)

    it("a metamethod of its filter", function()
        local src = ringtap.memory { big }
        assert.is_false(pcall(src.filter, src, setmetatable({}, {
            __name = "ringtap.filter.value",
            __index = function() src:close() return "udp" end,
        })))
    end)

    it("a metamethod or a finalizer of memory's list", function()
        local src = ringtap.memory { big }
        local pkt = src:packets()()
        local list
        list = { big .. os.time(), setmetatable({ big }, { __index = function()
            list[1] = false
            collectgarbage()
            collectgarbage()
        end }) }
        local first = ringtap.memory(list)
        assert.equal(3010, #first:next())
        assert.equal(big, first:next():bytes())
        local copy = ringtap.memory { pkt, setmetatable({ "x" }, { __index = function() src:close() end }) }
        assert.equal(big, copy:next():bytes())
    end)
end)

describe("a table", function()
    it("with an absurd border is no list of packets", function()
        local t = {}
        for i = 1, 200 do
            t["a" .. i] = 1
        end
        for k in pairs(t) do
            t[k] = nil
        end
        t[1] = "xxxxxxxx"
        for i = 1, 58 do
            t[1 << i] = "x"
        end
        if #t > 1 << 24 then
            assert.error_matches(function() ringtap.memory(t) end, "too many packets")
        else -- another border of the same table
            local ok, message = pcall(ringtap.memory, t)
            assert.is_true(ok or message:find("must be a string, a packet or") ~= nil, message)
        end
    end)

    it("of options may lose its strings to a finalizer", function()
        local path = support.tmpdir() .. "/x.pcapng"
        stressed(function()
            for n = 1, 20 do
                local options = { comment = "c" .. n .. big, os = "o" .. n .. big, hardware = "h" .. n .. big }
                setmetatable({}, { __gc = function()
                    options.comment, options.os, options.hardware = nil, nil, nil
                end })
                local out = ringtap.write(path, options)
                out:close()
            end
        end)
        assert.truthy(ringtap.read(path))
    end)
end)

describe("a pipe", function()
    it("that only a sink refers to is not waited for by the collector", function()
        local status, printed = support.run(script [[
            local out = r.write(io.popen("cat >/dev/null", "w"))
            local text = r.text(io.popen("cat >/dev/null", "w"))
            collectgarbage() collectgarbage()
            print(out:send(big), text:send(big))
            out:close() text:close()]])
        assert.same({ 0, "true\ttrue\n" }, { status, printed })
    end)

    it("that is broken is an error for text too", function()
        local status, printed = support.run(script [[
            local out = r.text(io.popen("true", "w"), { line_buffered = true })
            os.execute "sleep .2"
            print(out:send(big))]])
        assert.equal(0, status)
        assert.matches("Broken pipe", printed)
    end)
end)

describe("Ctrl-C", function()
    for name, loop in pairs {
        forward = 'r.forward(s, r.write "/dev/null")',
        ["bytes from a layer"] = 'for b in s:bytes { from = "udp" } do end',
        ["a filter that passes nothing"] = 's:filter("arp") for p in s:packets() do end',
    } do
        it("ends " .. name .. " on a source that never runs dry", function()
            local status, _, stderr = support.run(script([[
                local l = {} for i = 1, 100 do l[i] = big end
                local s = r.memory(l, { ["repeat"] = math.maxinteger })
                os.execute("(sleep 0.3; kill -INT $PPID) >/dev/null 2>&1 &")
                ]] .. loop))
            assert.equal(1, status)
            assert.matches("interrupted!", stderr)
        end)
    end
end)

describe("signals", function()
    it("stay taken until the last value that wants them is closed, in any order", function()
        local status, printed = support.run(script [[
            local a, b, c = r.signals "USR1", r.signals "USR2", r.signals("USR1", "USR2")
            a:close()
            os.execute "kill -USR2 $PPID; kill -USR1 $PPID"
            print(b:take() or c:take())
            b:close()
            c:close() -- the other one goes with it
            print(io.open("/proc/self/status"):read("a"):match("SigBlk:%s*(%x+)"))]])
        assert.equal(0, status)
        assert.matches("^USR%d\n0+\n$", printed)
    end)

    it("that were closed in forward's callback don't make a later wait spin", function()
        local pipe = assert(io.popen("sleep 1; cat /dev/null"))
        local path = support.tmpdir() .. "/one.pcapng"
        local out = ringtap.write(path)
        out:send(udp)
        out:close()
        pipe:close()
        pipe = assert(io.popen("cat " .. path .. "; sleep 1.5"))
        local src, signals = assert(ringtap.read(pipe)), ringtap.signals("USR1")
        local cpu = os.clock()
        ringtap.forward(src, ringtap.write("/dev/null"), function()
            signals:close()
            return true
        end, { signals = signals, duration = 1 })
        assert.is_true(os.clock() - cpu < 0.5)
    end)
end)

describe("counts", function()
    it("have a packet whose predicate raised as filtered", function()
        local src = ringtap.memory({ big, big }, { filter = function() error("no") end })
        assert.is_false(pcall(src:packets()))
        local s = src:stats()
        assert.same({ 0, 1, 1, "user" }, { s.delivered, s.filtered, s.seen, s.filter_engine })
    end)

    it("are right when a predicate steps its own loop", function()
        local src, step = ringtap.memory { "1", "2", "3", "4" }, nil
        local inner = true
        src:filter(function()
            if inner then
                inner = false
                step()
            end
            return true
        end)
        step = src:packets()
        local n = 0
        while step() do
            n = n + 1
        end
        local s = src:stats()
        assert.equal(4, s.delivered + s.filtered)
        assert.equal(n + 1, s.delivered)
    end)

    it("of bytes are of strings, not of packets passed over", function()
        local got = 0
        for _ in ringtap.memory { big, udp, big, udp, udp }:bytes { from = "udp", count = 2 } do
            got = got + 1
        end
        assert.equal(2, got)
    end)
end)

describe("a filter", function()
    it("that is swapped by a predicate has its say on the packet in hand", function()
        local src = ringtap.memory { big, udp }
        src:filter(function()
            src:filter("udp")
            return true
        end)
        local got = {}
        for pkt in src:packets() do
            got[#got + 1] = pkt:bytes()
        end
        assert.same({ udp }, got)
    end)

    it("that is swapped after drain() lets nothing in again #root", function()
        if not support.is_root() then
            return pending("needs root")
        end
        local ns <close> = support.namespaces()
        local blast = support.compile("udp_blast.c")
        local src <close> = assert(ringtap.capture(ns.b_if, { netns = ns.b, filter = "udp port 9" }))
        local function send(n)
            support.must(ns:exec("a", ("%s %s %s 9 %d"):format(blast, ns.a_ip, ns.b_ip, n)))
        end
        send(3)
        src:drain()
        assert.truthy(src:filter("udp"))
        send(5)
        local n = 0
        for _ in src:packets() do
            n = n + 1
        end
        assert.equal(3, n)
    end)
end)

describe("numbers and names out of the way", function()
    it("are refused or clamped", function()
        local pkt = ringtap.memory({ "abc" }):next()
        assert.same({ string.unpack("B", "abc", math.mininteger) }, { pkt:unpack("B", math.mininteger) })
        assert.equal(1, ringtap.memory({ "a" }):each(tostring, { duration = 9.2e9, idle = math.huge }))
        for _, open in ipairs { ringtap.capture, ringtap.read, ringtap.write } do
            assert.error_matches(function() open("lo\0junk") end, "NUL byte")
        end
        local far = ringtap.memory({ { "x", time = 4294967295999999999 } }):next()
        assert.equal(4294967295999999999, far.time)
        assert.error_matches(function() ringtap.memory({ { "x", time = 4294967296000000000 } }) end, "time")
        assert.error_matches(function() ringtap.memory({ { "x", len = -1 } }) end, "len")
    end)
end)
