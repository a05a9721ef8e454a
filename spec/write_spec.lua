-- Writing capture files; what is in them is asked of tshark, tcpdump and capinfos.
local ringtap = require "ringtap"
local support = require "support"

local frame = "\2\0\0\0\0\2\2\0\0\0\0\1\8\0" ..
    "\x45\0\0\x1d\0\1\0\0\x40\x11\xf6\xcb\xc0\0\2\1\xc0\0\2\2\3\xe8\7\xd0\0\9\0\0A" ..
    ("\0"):rep(17)
local dir

setup(function()
    dir = support.tmpdir()
end)

teardown(function()
    support.cleanup()
end)

local function source(n, linktype)
    local list = {}
    for i = 1, n do
        list[i] = { frame .. string.pack(">I4", i), time = 1700000000123456789 + i, len = 1514 }
    end
    return ringtap.memory(list, { linktype = linktype })
end

local function tshark(path, fields)
    local names = fields:gsub("%S+", "-e %0")
    return (support.must(("tshark -n -r %s -T fields %s"):format(path, names)))
end

local function read_all(path)
    local list = {}
    local src = assert(ringtap.read(path))
    src:each(function(pkt)
        list[#list + 1] = pkt:copy()
    end)
    return list, src
end

describe("a written file", function()
    for name, format in pairs { ["x.pcapng"] = "pcapng", ["x.pcap"] = "pcap", ["x.cap"] = "pcap", ["x"] = "pcapng" } do
        it("called " .. name .. " is " .. format .. " and read by all as it was written", function()
            local path = dir .. "/" .. name
            local out = assert(ringtap.write(path))
            for pkt in source(1000):packets() do
                assert.is_true(out:send(pkt))
            end
            assert.is_true(out:close())
            assert.is_true(out:close())
            local _, file = support.run("capinfos -t " .. path)
            assert.matches(format == "pcap" and "nanosecond" or "pcapng", file)
            local lines = {}
            for i = 1, 1000 do
                lines[i] = ("1700000000.%09d\t64\t1514\n"):format(123456789 + i)
            end
            assert.equal(table.concat(lines), tshark(path, "frame.time_epoch frame.cap_len frame.len"))
            assert.equal("1000\n", (support.must("tcpdump -nr " .. path .. " 2>/dev/null | wc -l")))
            local got = read_all(path)
            assert.equal(1000, #got)
            for i, pkt in ipairs(got) do
                assert.same({ frame .. string.pack(">I4", i), 1700000000123456789 + i, 1514 },
                    { pkt:bytes(), pkt.time, pkt.len })
            end
        end)
    end

    it("may have microseconds", function()
        local path = dir .. "/us.pcap"
        local out = assert(ringtap.write(path, { format = "pcap-us" }))
        out:send(frame, 1700000000123456789)
        out:close()
        assert.equal("1700000000.123456000\n", tshark(path, "frame.time_epoch"))
    end)

    it("keeps direction, reception, comment, interface and link type (pcapng)", function()
        local path, again = dir .. "/facts.pcapng", dir .. "/again.pcapng"
        support.write_file(path, string.pack("<I4I4I4I2I2i8I4", 0x0a0d0d0a, 28, 0x1a2b3c4d, 1, 0, -1, 28) ..
            string.pack("<I4I4I2I2I4", 1, 28, 1, 0, 0) .. "\2\0\4\0eth7" .. "\28\0\0\0" ..
            string.pack("<I4I4I2I2I4", 1, 28, 101, 0, 0) .. "\2\0\4\0tun3" .. "\28\0\0\0" ..
            string.pack("<I4I4I4I4I4I4I4", 6, 60, 0, 0, 5, 4, 4) .. "abcd" .. "\2\0\4\0\6\0\0\0" .. "\1\0\4\0look" ..
            "\0\0\0\0" .. "\0\0\0\0" .. "\60\0\0\0" ..
            string.pack("<I4I4I4I4I4I4I4", 6, 36, 1, 0, 6, 4, 4) .. "efgh" .. "\36\0\0\0")
        local src = assert(ringtap.read(path))
        local out = assert(ringtap.write(again))
        assert.same({ 2, "end" }, { ringtap.forward(src, out) })
        out:close()
        local got, back = read_all(again)
        assert.same({ "abcd", "out", "unicast", "look", "eth7", 1, 5000 }, { got[1]:bytes(), got[1].direction,
            got[1].reception, got[1].comment, got[1].interface, got[1].linktype, got[1].time })
        assert.same({ "efgh", "tun3", 101 }, { got[2]:bytes(), got[2].interface, got[2].linktype })
        assert.is_nil(got[2].direction)
        assert.equal(2, #back:interfaces())
        assert.equal("look\n", (tshark(again, "frame.comment"):gsub("\n\n", "\n")))
    end)

    it("has a real snaplen, and a pcap file takes one link type only", function()
        local path = dir .. "/lt.pcap"
        local out = assert(ringtap.write(path))
        assert.is_true(out:send(source(1, 101):next()))
        local ok, message = out:send(source(1, 1):next())
        assert.is_nil(ok)
        assert.matches("link type", message)
        assert.is_true(out:send(source(1, 101):next()))
        assert.is_true(out:close())
        local got, src = read_all(path)
        assert.equal(2, #got)
        assert.equal(101, src:linktype())
        assert.equal(262144, src:interfaces()[1].snaplen)
    end)

    it("of a source has its interface and counters even without packets", function()
        local path = dir .. "/empty.pcapng"
        local src = source(0)
        local out = assert(ringtap.write(path, { source = src, filter = "udp", comment = "why" }))
        out:close()
        local info = support.must("capinfos -I " .. path)
        assert.matches("Name = memory", info)
        assert.matches("Capture length = 262144", info)
        assert.matches("Filter string = udp", info)
        local _, back = read_all(path) -- the counters are at the end
        local i = back:interfaces()[1]
        assert.same({ 0, 0, "memory", "udp" }, { i.received, i.dropped, i.name, i.filter })
    end)

    it("may be standard output or an open Lua file", function()
        local path = dir .. "/lua.pcapng"
        local file = assert(io.open(path, "wb"))
        local out = assert(ringtap.write(file))
        out:send(frame, 1)
        file:close()
        out:send(frame, 2)
        out:close()
        assert.equal(2, #read_all(path))
        support.write_file(dir .. "/stdout.lua", ([[package.path, package.cpath = %q, %q
            local o = require("ringtap").write("-") o:send("x") o:close()]]):format(package.path, package.cpath))
        support.must("lua5.4 " .. dir .. "/stdout.lua > " .. path)
        assert.equal(1, #read_all(path))
    end)

    it("is whole up to the last flush whatever happens", function()
        local path = dir .. "/flush.pcapng"
        local out = assert(ringtap.write(path))
        for i = 1, 100 do
            out:send(frame, i)
        end
        assert.same({ 0, 100 }, { out:stats().sent, out:stats().queued })
        assert.is_true(out:flush())
        assert.same({ 100, 0 }, { out:stats().sent, out:stats().queued })
        assert.equal(100, #read_all(path))
        out:send(frame, 101)
        out = nil -- luacheck: ignore
        collectgarbage()
        collectgarbage()
        assert.equal(101, #read_all(path))
    end)

    it("may be written packet by packet", function()
        local path = dir .. "/unbuffered.pcapng"
        local out = assert(ringtap.write(path, { unbuffered = true }))
        for i = 1, 3 do
            out:send(frame, i)
            assert.equal(i, #read_all(path))
        end
        out:close()
    end)

    it("takes no option that it would have to ignore", function()
        local path = dir .. "/kept.pcap"
        support.write_file(path, "precious")
        for _, name in ipairs { "comment", "os", "hardware" } do
            local out, message, errno = ringtap.write(path, { [name] = "x" })
            assert.is_nil(out)
            assert.matches("kept.pcap: a pcap file has no place for", message, 1, true)
            assert.equal(22, errno)
        end
        assert.equal("precious", support.read_file(path))
        assert.error_matches(function() ringtap.write(path, { rotate_count = 2 }) end, "goes with 'rotate_size'")
        assert.error_matches(function() ringtap.write(path, { filter = "udp" }) end, "goes with 'source'")
    end)

    it("is not written compressed, and says so", function()
        for _, name in ipairs { "x.pcapng.gz", "x.pcap.zst" } do
            local out, message, errno = ringtap.write(dir .. "/" .. name)
            assert.is_nil(out)
            assert.matches(name .. ": compressed files are read, not written", message, 1, true)
            assert.equal(22, errno)
        end
    end)

    it("has the counters of its source, whichever is closed first", function()
        for _, source_first in ipairs { true, false } do
            local path = dir .. "/order.pcapng"
            local src = source(5)
            local out = assert(ringtap.write(path, { source = src }))
            ringtap.forward(src, out)
            if source_first then
                src:close()
            end
            out:close()
            local _, back = read_all(path)
            assert.equal(5, back:interfaces()[1].received)
        end
    end)

    it("says what refused it", function()
        local out, message, errno = ringtap.write(dir .. "/no/such/dir")
        assert.is_nil(out)
        assert.matches("no/such/dir: No such file or directory", message)
        assert.equal(2, errno)
        assert.error_matches(function() ringtap.write(dir .. "/x"):send(5) end, "packet expected, got number")
        local closed = ringtap.write(dir .. "/x")
        closed:close()
        assert.error_matches(function() closed:send(frame) end, "closed sink")
        assert.matches("closed", tostring(closed))
    end)

    it("on a full device is refused when it is opened", function()
        local out, message, errno = ringtap.write("/dev/full", { format = "pcapng" })
        assert.is_nil(out)
        assert.matches("/dev/full: No space left on device", message)
        assert.equal(28, errno)
    end)

    it("that reaches the file size limit keeps what fits, and says how much that is", function()
        local path = dir .. "/limited.pcapng"
        local script = ([[package.path=%q package.cpath=%q local r = require "ringtap"
            local out = assert(r.write(%q, { buffer_size = 4096 }))
            local sent, message, errno = 0
            for i = 1, 1000 do
                local ok
                ok, message, errno = out:send(("x"):rep(60), i)
                if not ok then break end
                sent = i
            end
            print(sent < 1000, message, errno, out:send("x"), out:close())]]):format(package.path, package.cpath, path)
        support.write_file(dir .. "/limited.lua", script)
        local printed = support.must("trap '' XFSZ; ulimit -f 20; lua5.4 " .. dir .. "/limited.lua")
        local kept = #read_all(path)
        assert.matches("^true\t.*limited.pcapng: File too large", printed)
        assert.matches("\t27\tnil", printed)
        assert.matches("%(" .. kept .. " packets are in the file%)", printed)
        assert.is_true(kept > 50)
        assert.equal(kept .. "\n", (support.must("tshark -n -r " .. path .. " 2>/dev/null | wc -l")))
    end)

    it("into a pipe that nobody reads is an error, not the end of the process", function()
        local pipe = assert(io.popen("head -c 100 >/dev/null", "w"))
        local out = assert(ringtap.write(pipe, { unbuffered = true }))
        local message
        for i = 1, 1000 do
            local ok
            ok, message = out:send(frame, i)
            if not ok then
                break
            end
            support.sleep(0.01)
        end
        assert.matches("Broken pipe", message)
        out:close()
        pipe:close()
    end)
end)

describe("rotation", function()
    local function names(pattern)
        local list = {}
        for name in (support.must("cd " .. dir .. "; ls " .. pattern)):gmatch("%S+") do
            list[#list + 1] = name
        end
        return list
    end

    it("by size names files as tcpdump -C does and loses nothing", function()
        local out = assert(ringtap.write(dir .. "/size.pcap", { rotate_size = 10000 }))
        ringtap.forward(source(1000), out)
        local files = out:stats().files
        out:close()
        local total, expect = 0, 0
        for i = 0, files - 1 do
            local path = dir .. "/size.pcap" .. (i == 0 and "" or i)
            for _, pkt in ipairs(read_all(path)) do
                expect = expect + 1
                assert.equal(expect, (pkt:unpack(">I4", -4)))
                total = total + 1
            end
        end
        assert.equal(1000, total)
        assert.equal(files, #names("size.pcap*"))
        assert.is_true(files >= 8)
    end)

    it("by size with a count wraps around", function()
        local out = assert(ringtap.write(dir .. "/ring.pcapng", { rotate_size = 10000, rotate_count = 3 }))
        ringtap.forward(source(1000), out)
        out:close()
        assert.same({ "ring.pcapng0", "ring.pcapng1", "ring.pcapng2" }, names("ring.pcapng*"))
        local last = 0
        for _, name in ipairs(names("ring.pcapng*")) do
            for _, pkt in ipairs(read_all(dir .. "/" .. name)) do
                last = math.max(last, (pkt:unpack(">I4", -4)))
            end
        end
        assert.equal(1000, last)
    end)

    it("by time takes its names from the clock", function()
        local out = assert(ringtap.write(dir .. "/t-%s.pcap", { rotate_time = 1 }))
        out:send(frame)
        support.sleep(1.2)
        out:send(frame)
        out:close()
        assert.equal(2, #names("t-*.pcap"))
    end)
end)
