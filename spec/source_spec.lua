-- The verbs of a source, on memory (nothing needed) and on files where it matters.
local ringtap = require "ringtap"

local frame = "\2\0\0\0\0\2\2\0\0\0\0\1\8\0" .. ("x"):rep(46)

local function source(n, options)
    local list = {}
    for i = 1, n do
        list[i] = { frame .. string.pack(">I4", i), time = i, len = i == 3 and 1514 or nil }
    end
    return ringtap.memory(list, options)
end

local function count(...)
    local n = 0
    for _ in ... do
        n = n + 1
    end
    return n
end

describe("loops", function()
    it("see every packet once, in order", function()
        local src = source(5000, { block_size = 4096 })
        local n = 0
        for pkt in src:packets() do
            n = n + 1
            assert.equal(n, pkt.time)
            assert.equal(n, (pkt:unpack(">I4", -4)))
        end
        assert.equal(5000, n)
        assert.equal(0, count(src:packets()))
    end)

    it("end after count packets, and the next one goes on there", function()
        local src = source(10)
        assert.equal(4, count(src:packets { count = 4 }))
        assert.equal(0, count(src:packets { count = 0 }))
        assert.equal(2, src:each(function() end, { count = 2 }))
        assert.equal(7, src:next().time)
        assert.equal(3, count(src:bytes { count = 100 }))
        assert.equal(10, src:stats().delivered)
    end)

    it("end at stop(), after the packet that they show", function()
        local src = source(10)
        local n = 0
        for _ in src:packets() do
            n = n + 1
            if n == 3 then
                src:stop()
            end
        end
        assert.equal(3, n)
        assert.equal(2, src:each(function(pkt)
            if pkt.time == 5 then
                src:stop()
            end
        end))
        src:filter(function(pkt)
            if pkt.time == 7 then
                src:stop()
            end
            return true
        end)
        assert.equal(2, count(src:packets()))
        src:stop() -- nothing runs
        assert.equal(3, count(src:packets()))
        assert.equal(10, src:stats().delivered)
    end)

    it("run in coroutines, and one that is left lying gives its packet back", function()
        local src = source(10)
        local co = coroutine.wrap(function()
            for pkt in src:packets() do
                coroutine.yield(pkt.time)
            end
        end)
        assert.equal(1, co())
        assert.equal(2, co())
        co = nil -- luacheck: ignore
        collectgarbage()
        assert.equal(8, count(src:packets()))
    end)

    it("survive being called in the wrong way", function()
        local src = source(3)
        local step = src:packets()
        assert.equal(1, step("x", 5).time)
        assert.equal(2, step().time)
        assert.equal(3, step().time)
        assert.is_nil(step())
        assert.is_nil(step())
        local again = src:packets()
        src:close()
        assert.error_matches(again, "closed")
        assert.error_matches(again, "closed")
        src:close()
        for _, verb in ipairs { "packets", "each", "bytes", "next", "stats", "filter", "fd", "name", "stop" } do
            assert.error_matches(function() src[verb](src, function() end) end, "attempt to use a closed source")
        end
        assert.matches("closed", tostring(src))
    end)

    it("may close the source from each, a filter and a nested loop", function()
        local src = source(10)
        assert.error_matches(function() src:each(function() src:close() end) end, "closed")
        src = source(10)
        src:filter(function() src:close() return true end)
        assert.error_matches(function() count(src:packets()) end, "closed")
        src = source(10)
        assert.error_matches(function()
            for _ in src:packets() do
                for _ in src:packets() do
                    src:close()
                end
            end
        end, "closed")
    end)

    it("end when time is up on a source that never ends by itself", function()
        local src = source(100, { ["repeat"] = math.maxinteger })
        local n = count(src:packets { duration = 0.05 })
        assert.is_true(n > 100)
        src:filter(function() return false end)
        assert.equal(0, count(src:packets { duration = 0.05 }))
        src:filter("arp")
        assert.equal(0, count(src:packets { duration = 0.05 }))
        local s = src:stats()
        assert.equal(n, s.delivered)
        assert.equal(s.seen, s.delivered + s.filtered)
    end)
end)

describe("bytes", function()
    it("gives bytes, time and length on the wire", function()
        local got = {}
        for bytes, time, len in source(3):bytes() do
            got[#got + 1] = { bytes, time, len }
        end
        assert.same({ frame .. "\0\0\0\3", 3, 1514 }, got[3])
        assert.same({ frame .. "\0\0\0\2", 2, 64 }, got[2])
    end)

    it("begins at a layer and passes over packets without it", function()
        local ip = "\x45\0\0\x1d\0\1\0\0\x40\x11\xf6\xcb\xc0\0\2\1\xc0\0\2\2\3\xe8\7\xd0\0\9\0\0A"
        local eth = "\2\0\0\0\0\2\2\0\0\0\0\1"
        local src = ringtap.memory { eth .. "\8\0" .. ip .. "padding", eth .. "\8\6" .. ("\0"):rep(28),
            eth .. "\x81\0\0\5\8\0" .. ip }
        local got = {}
        for bytes in src:bytes { from = "ip" } do
            got[#got + 1] = bytes
        end
        assert.same({ ip .. "padding", ip }, got)
        assert.error_matches(function() src:bytes { from = "ipp" } end, "no layer is called \"ipp\"")
    end)
end)

describe("next", function()
    it("says why there is no packet", function()
        local src = source(1)
        assert.equal(1, src:next(0).time)
        assert.same({ nil, "end" }, { src:next() })
        assert.error_matches(function() src:next(-1) end, "timeout")
        assert.error_matches(function() src:next("x") end, "number expected")
        src = source(2, { ["repeat"] = math.maxinteger, filter = function() return false end })
        local pkt, reason, errno = src:next(0.01)
        assert.is_nil(pkt)
        assert.equal("timeout", reason)
        assert.equal(110, errno)
    end)
end)

describe("filters of a source", function()
    it("swap, and a bad one leaves the old one in place", function()
        local arp = "\255\255\255\255\255\255\2\0\0\0\0\1\8\6" .. ("\0"):rep(46)
        local src = ringtap.memory({ frame, arp, frame, arp, frame, arp, frame }, { filter = "arp" })
        assert.equal(arp, src:next():bytes())
        local ok, message, errno = src:filter("arp and and")
        assert.is_nil(ok)
        assert.matches("syntax error", message)
        assert.equal(22, errno)
        assert.equal(arp, src:next():bytes())
        assert.equal(src, src:filter("not arp"))
        assert.equal(frame, src:next():bytes())
        src:filter(nil)
        assert.equal(arp, src:next():bytes())
        src:filter(function(pkt) return pkt:byte(1) == 2 end)
        assert.equal(frame, src:next():bytes())
        assert.is_nil(src:next())
        local s = src:stats()
        assert.same({ 7, 5, 2 }, { s.seen, s.delivered, s.filtered })
        assert.error_matches(function() src:filter(5) end, "filter")
        assert.error_matches(function() src:filter() end, "value expected")
    end)

    it("may raise, and the loop is closed", function()
        local src = source(3, { filter = function() error("no") end })
        assert.error_matches(function() count(src:packets()) end, "no")
        src:filter(nil)
        assert.equal(2, count(src:packets()))
    end)

    it("do not keep the source alive", function()
        local weak = setmetatable({}, { __mode = "v" })
        do
            local src = source(1)
            src:filter(function() return src ~= nil end)
            weak[1] = src
        end
        collectgarbage()
        collectgarbage()
        assert.is_nil(weak[1])
    end)
end)

describe("options", function()
    it("that are unknown raise, with the nearest name", function()
        assert.error_matches(function() ringtap.memory({}, { linktyp = 1 }) end,
            "memory: unknown option 'linktyp' %(did you mean 'linktype'%?%)")
        assert.error_matches(function() ringtap.capture("lo", { snaplenn = 1 }) end, "did you mean 'snaplen'")
        assert.error_matches(function() ringtap.capture("lo", { zzz = 1 }) end, "there are: backend, netns")
        assert.error_matches(function() ringtap.capture("lo", { fanout = { mod = "lb" } }) end, "did you mean 'mode'")
        assert.error_matches(function() source(1):packets { cuont = 1 } end, "did you mean 'count'")
        assert.error_matches(function() ringtap.memory({}, { 5 }) end, "value without a name")
        assert.error_matches(function() ringtap.read("x", { filtr = 1 }) end, "did you mean 'filter'")
        assert.error_matches(function() ringtap.write("x", { fromat = 1 }) end, "did you mean 'format'")
    end)

    it("of a wrong type or out of range raise", function()
        assert.error_matches(function() source(1):packets(5) end, "options must be a table, not number")
        assert.error_matches(function() source(1):packets { count = "x" } end, "'count' must be an integer, not string")
        assert.error_matches(function() source(1):packets { count = 1.5 } end, "'count' must be an integer")
        assert.error_matches(function() source(1):packets { count = -1 } end, "'count' = %-1: out of range")
        assert.error_matches(function() source(1):packets { duration = -1 } end, "'duration'")
        assert.error_matches(function() source(1):packets { duration = 0 / 0 } end, "'duration'")
        assert.error_matches(function() ringtap.capture("lo", { promisc = 1 }) end, "'promisc' must be true or false")
        assert.error_matches(function() ringtap.capture("lo", { direction = "up" }) end,
            'must be one of "both", "in", "out", not "up"')
        assert.error_matches(function() ringtap.capture("lo", { netns = "a\0b" }) end, "NUL byte")
        assert.error_matches(function() ringtap.memory({ 5 }) end, "must be a string, a packet or")
        assert.error_matches(function() ringtap.memory({ {} }) end, "needs its bytes first")
    end)
end)

describe("memory", function()
    it("gives nothing from nothing, and large packets whole", function()
        assert.equal(0, count(ringtap.memory({}):packets()))
        assert.equal(0, count(ringtap.memory({}, { ["repeat"] = 1000 }):packets()))
        local big = ("y"):rep(300000)
        local src = ringtap.memory({ "", big, "a" }, { block_size = 4096 })
        assert.equal(0, #src:next())
        assert.equal(big, src:next():bytes())
        assert.equal("a", src:next():bytes())
    end)

    it("takes packets of other sources", function()
        local pkt = source(3):next()
        local src = ringtap.memory({ pkt, pkt }, { linktype = 101 })
        assert.equal(pkt:bytes(), src:next():bytes())
        assert.equal(101, src:next().linktype)
    end)

    it("repeats", function()
        assert.equal(12345 * 7, count(source(12345, { ["repeat"] = 7 }):packets()))
    end)

    it("has the facts that every source has", function()
        local src = source(1)
        assert.same({ 1, "memory", "memory" }, { src:linktype(), src:name(), src:kind() })
        assert.is_nil(src:fd())
        assert.is_nil(src:pollfd())
        assert.equal("r", src:events())
        assert.equal(0, src:timeout())
        assert.same({ { id = 0, name = "memory", linktype = 1 } }, src:interfaces())
        assert.equal("ringtap source: memory (memory)", tostring(src))
        assert.equal(src, src:drain())
    end)
end)

describe("the core", function()
    it("survives a collector that never rests", function()
        local pause = collectgarbage("setpause", 0)
        local src = source(200, { block_size = 4096 })
        local n = 0
        for pkt in src:packets() do
            local copy, held = pkt:copy(), pkt:hold()
            n = n + (copy.time == held.time and 1 or 0)
            collectgarbage("step")
        end
        collectgarbage("setpause", pause)
        assert.equal(200, n)
    end)

    it("can be loaded again without losing its handles", function()
        for pkt in source(1):packets() do
            package.loaded["ringtap.core"] = nil
            assert.equal(ringtap.capture, require("ringtap.core").capture)
            assert.equal(1, pkt.time)
        end
    end)
end)
