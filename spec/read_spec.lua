-- Reading capture files. The files are made here, byte by byte as the formats say:
-- pcap: draft-ietf-opsawg-pcap; pcapng: draft-ietf-opsawg-pcapng.
local ringtap = require "ringtap"
local support = require "support"

local frame = "\2\0\0\0\0\2\2\0\0\0\0\1\x88\xb5xxxx"
local dir

local function put(bytes, name)
    local path = dir .. "/" .. (name or "file")
    support.write_file(path, bytes)
    return path
end

--- What a file gives: a list of owned packets, and the error that ended it.
local function read(bytes, options)
    local src, message = ringtap.read(put(bytes), options)
    if not src then
        return nil, message
    end
    local list = {}
    local ok, err = pcall(src.each, src, function(pkt)
        list[#list + 1] = pkt:copy()
    end)
    return list, not ok and err or nil, src
end

local function pcap_header(e, magic, linktype, snaplen)
    return string.pack(e .. "I4I2I2i4I4I4I4", magic or 0xa1b2c3d4, 2, 4, 0, 0, snaplen or 262144, linktype or 1)
end

local function pcap_record(e, data, sec, frac, len, caplen)
    return string.pack(e .. "I4I4I4I4", sec or 1700000000, frac or 123456, caplen or #data, len or #data) .. data
end

local function padded(s)
    return s .. ("\0"):rep(-#s % 4)
end

local function block(e, type, body)
    local n = 12 + #body
    assert(n % 4 == 0)
    return string.pack(e .. "I4I4", type, n) .. body .. string.pack(e .. "I4", n)
end

local function option(e, code, value)
    return string.pack(e .. "I2I2", code, #value) .. padded(value)
end

local function shb(e, options)
    return block(e, 0x0a0d0d0a, string.pack(e .. "I4I2I2i8", 0x1a2b3c4d, 1, 0, -1) .. (options or ""))
end

local function idb(e, linktype, snaplen, options)
    return block(e, 1, string.pack(e .. "I2I2I4", linktype or 1, 0, snaplen or 0) .. (options or ""))
end

local function epb(e, id, ticks, data, options, len, caplen)
    return block(e, 6, string.pack(e .. "I4I4I4I4I4", id, ticks >> 32, ticks & 0xffffffff, caplen or #data,
        len or #data) .. padded(data) .. (options or ""))
end

local us = 1700000000123456

setup(function()
    dir = support.tmpdir()
end)

teardown(function()
    support.cleanup()
end)

describe("a pcap file", function()
    for _, e in ipairs { "<", ">" } do
        it("is read in byte order " .. e, function()
            local got, err = read(pcap_header(e) .. pcap_record(e, frame) .. pcap_record(e, "ab", 1, 999999, 60))
            assert.is_nil(err)
            assert.same({ 2, frame, 18, 18, 1700000000123456000 },
                { #got, got[1]:bytes(), got[1].len, got[1].caplen, got[1].time })
            assert.same({ "ab", 60, 2, true, 1999999000 },
                { got[2]:bytes(), got[2].len, got[2].caplen, got[2].truncated, got[2].time })
        end)

        it("may have nanoseconds, byte order " .. e, function()
            local got = read(pcap_header(e, 0xa1b23c4d) .. pcap_record(e, frame, 1700000000, 123456789))
            assert.equal(1700000000123456789, got[1].time)
        end)

        it("may be of the modified kind with longer records, byte order " .. e, function()
            local record = string.pack(e .. "I4I4I4I4I4I2BB", 1700000000, 123456, #frame, #frame, 2, 8, 0, 0)
            local got, err = read(pcap_header(e, 0xa1b2cd34) .. record .. frame .. record .. frame)
            assert.is_nil(err)
            assert.same({ 2, frame, frame }, { #got, got[1]:bytes(), got[2]:bytes() })
        end)
    end

    it("keeps the link type apart from the FCS bits above it", function()
        local got, _, src = read(pcap_header("<", nil, 0x24000001) .. pcap_record("<", frame))
        assert.same({ 1, 1 }, { src:linktype(), got[1].linktype })
        assert.equal(276, select(3, read(pcap_header("<", nil, 276))):linktype())
        for _, dlt in ipairs { 12, 14, 101 } do
            assert.equal(101, select(3, read(pcap_header("<", nil, dlt))):linktype())
        end
    end)

    it("with times after 2038 reads as unsigned seconds", function()
        local got = read(pcap_header("<") .. pcap_record("<", frame, 4294967295, 999999))
        assert.equal(4294967295999999000, got[1].time)
    end)

    it("with a snaplen that is a lie is read whole", function()
        local got, err = read(pcap_header("<", nil, 1, 16) .. pcap_record("<", frame) .. pcap_record("<", "x"))
        assert.is_nil(err)
        assert.same({ frame, "x" }, { got[1]:bytes(), got[2]:bytes() })
        got = read(pcap_header("<", nil, 1, 0) .. pcap_record("<", frame))
        assert.equal(frame, got[1]:bytes())
    end)

    it("never has len < caplen", function()
        local got = read(pcap_header("<") .. pcap_record("<", frame, nil, nil, 1))
        assert.same({ 18, 18 }, { got[1].len, got[1].caplen })
    end)

    it("with nothing in it is fine", function()
        assert.same({ {} }, { (read(pcap_header("<"))) })
    end)

    it("cut off anywhere gives the packets before, then one error, then the end", function()
        local whole = pcap_header("<") .. pcap_record("<", frame) .. pcap_record("<", frame)
        local first = 24 + 16 + #frame
        for n = 25, #whole - 1 do
            if n ~= first then
                local got, err, src = read(whole:sub(1, n))
                assert.equal(n > first and 1 or 0, #got)
                assert.matches("truncated", err)
                assert.matches(n > first and "offset " .. first or "offset 24", err)
                assert.same({ nil, "end" }, { src:next() })
                assert.same({ nil, "end" }, { src:next() })
            end
        end
    end)

    it("cut off in its header is an error when opened", function()
        for n = 0, 23 do
            local src, message = ringtap.read(put(pcap_header("<"):sub(1, n)))
            assert.is_nil(src)
            assert.is_string(message)
        end
    end)

    it("with an absurd length is an error, without the memory", function()
        for _, caplen in ipairs { 5242946, 0x7fffffff, 0xffffffff } do
            local got, err = read(pcap_header("<") .. pcap_record("<", frame) ..
                pcap_record("<", "x", nil, nil, caplen, caplen))
            assert.equal(1, #got)
            assert.matches("offset 58", err)
            assert.matches(tostring(caplen), err)
        end
    end)

    it("may have packets of 262144 bytes", function()
        local big = ("z"):rep(262144)
        local got, err = read(pcap_header("<") .. pcap_record("<", big) .. pcap_record("<", frame))
        assert.is_nil(err)
        assert.equal(big, got[1]:bytes())
        assert.equal(frame, got[2]:bytes())
    end)
end)

describe("a pcapng file", function()
    for _, e in ipairs { "<", ">" } do
        it("is read in byte order " .. e, function()
            local got, err, src = read(shb(e) .. idb(e, 1, 262144, option(e, 2, "eth7") .. option(e, 0, "")) ..
                epb(e, 0, us, frame, nil, 1514))
            assert.is_nil(err)
            assert.same({ 1, frame, 1514, us * 1000, "eth7", 0 },
                { #got, got[1]:bytes(), got[1].len, got[1].time, got[1].interface, got[1].interface_id })
            assert.same({ { id = 0, name = "eth7", linktype = 1, snaplen = 262144 } }, src:interfaces())
        end)
    end

    it("may have sections of different byte order, each with its own interfaces", function()
        local got, err = read(shb("<") .. idb("<", 1, 0, option("<", 2, "a")) .. epb("<", 0, us, frame) ..
            shb(">") .. idb(">", 101, 0, option(">", 2, "b")) .. epb(">", 0, us + 1, "ip"))
        assert.is_nil(err)
        assert.same({ 2, 1, "a", 101, "b", "ip" }, { #got, got[1].linktype, got[1].interface, got[2].linktype,
            got[2].interface, got[2]:bytes() })
    end)

    it("tells times by if_tsresol and if_tsoffset", function()
        local function time(options, ticks)
            return read(shb("<") .. idb("<", 1, 0, options) .. epb("<", 0, ticks, frame))[1].time
        end
        assert.equal(1700000000123456789, time(option("<", 9, "\9"), 1700000000123456789))
        assert.equal(1700000000000000000, time(option("<", 9, "\0"), 1700000000))
        assert.equal(1700000000100000000, time(option("<", 9, "\1"), 17000000001))
        assert.equal(1700000000500000000, time(option("<", 9, "\xa0"), (1700000000 << 32) + (1 << 31)))
        assert.equal(1700000000250000000, time(option("<", 9, "\x82"), (1700000000 << 2) + 1))
        assert.equal(1700000123456789, time(option("<", 9, "\12"), 1700000123456789012))
        assert.equal(1700001000905739620, time(option("<", 9, "\9") .. option("<", 14, string.pack("<i8", 1000)),
            1700000000905739620))
        assert.equal(1699999999123456000, time(option("<", 14, string.pack("<i8", -1)), us))
    end)

    it("has simple packets without a time, cut at the interface's snaplen", function()
        local spb = block("<", 3, string.pack("<I4", 1514) .. padded(frame:sub(1, 16)))
        local got = read(shb("<") .. idb("<", 1, 16) .. spb)
        assert.same({ 16, 1514, 0 }, { got[1].caplen, got[1].len, got[1].interface_id })
        assert.is_nil(got[1].time)
        got = read(shb("<") .. idb("<", 1, 0) .. block("<", 3, string.pack("<I4", 5) .. padded("hello")))
        assert.equal("hello", got[1]:bytes())
    end)

    it("may have the old packet block", function()
        local pb = block("<", 2, string.pack("<I2I2I4I4I4I4", 0, 0xffff, us >> 32, us & 0xffffffff, #frame, #frame) ..
            padded(frame))
        local got = read(shb("<") .. idb("<") .. pb)
        assert.same({ frame, us * 1000 }, { got[1]:bytes(), got[1].time })
    end)

    it("has facts and comments in a packet's options, with and without an end", function()
        local flags = option("<", 2, string.pack("<I4", 6))
        for _, rest in ipairs { "", option("<", 0, "") } do
            local got = read(shb("<") .. idb("<") ..
                epb("<", 0, us, frame, flags .. option("<", 1, "look here") .. rest))
            assert.same({ "out", "unicast", "look here" }, { got[1].direction, got[1].reception, got[1].comment })
        end
        local got = read(shb("<") .. idb("<") .. epb("<", 0, us, frame, option("<", 2, string.pack("<I4", 17))))
        assert.same({ "other", "promiscuous" }, { got[1].direction, got[1].reception })
        got = read(shb("<") .. idb("<") .. epb("<", 0, us, frame, string.pack("<I2I2", 1, 4000)) ..
            epb("<", 0, us, "b"))
        assert.same({ frame, "b" }, { got[1]:bytes(), got[2]:bytes() })
    end)

    it("skips what it does not know, by length", function()
        local nrb = block("<", 4, string.pack("<I2I2", 1, 8) .. "\192\0\2\1abc\0" .. string.pack("<I2I2", 0, 0))
        local got, err = read(shb("<", option("<", 4, "test")) .. block("<", 0xbad, "custom!!") .. idb("<") ..
            block("<", 0x80000bbc, "") .. nrb .. block("<", 10, "secrets.") .. epb("<", 0, us, frame))
        assert.is_nil(err)
        assert.equal(frame, got[1]:bytes())
    end)

    it("tells what an interface statistics block counted", function()
        local isb = block("<", 5, string.pack("<I4I4I4", 0, us >> 32, us & 0xffffffff) ..
            option("<", 4, string.pack("<I8", 10)) .. option("<", 5, string.pack("<I8", 3)) .. option("<", 0, ""))
        local _, err, src = read(shb("<") .. idb("<") .. epb("<", 0, us, frame) .. isb)
        assert.is_nil(err)
        assert.same({ { id = 0, linktype = 1, received = 10, dropped = 3 } }, src:interfaces())
    end)

    it("with a damaged block gives what was good, then says where and why", function()
        local good = shb("<") .. idb("<") .. epb("<", 0, us, frame)
        local at = "offset " .. #good
        for name, bad in pairs {
            ["block length 8"] = string.pack("<I4I4", 6, 8),
            ["block length not a multiple of 4"] = string.pack("<I4I4", 6, 33) .. ("x"):rep(40),
            ["trailing length differs"] = epb("<", 0, us, frame):sub(1, -5) .. string.pack("<I4", 56),
            ["caplen larger than block"] = epb("<", 0, us, frame, nil, 4000, 4000),
            ["no such interface"] = epb("<", 7, us, frame),
            ["huge block"] = string.pack("<I4I4", 6, 0x7ffffffc),
            ["cut off"] = epb("<", 0, us, frame):sub(1, -7),
            ["cut off in the head"] = "\6\0",
        } do
            local got, err, src = read(good .. bad .. epb("<", 0, us, frame))
            if name:find("cut off") then
                got, err, src = read(good .. bad)
                assert.matches("truncated", err, name)
            end
            assert.equal(1, #got, name)
            assert.is_string(err, name)
            assert.matches(at, err, name)
            assert.same({ nil, "end" }, { src:next() })
        end
    end)

    it("cut off anywhere never gives anything but its packets", function()
        local whole = shb("<") .. idb("<") .. epb("<", 0, us, frame) .. epb("<", 0, us, frame)
        local first = #whole - 2 * #epb("<", 0, us, frame)
        for n = first, #whole do
            local got = read(whole:sub(1, n))
            assert.equal((n - first) // #epb("<", 0, us, frame), #got)
        end
    end)
end)

describe("any file", function()
    local function many(n)
        local t = { pcap_header("<") }
        for i = 1, n do
            t[#t + 1] = pcap_record("<", frame .. string.pack(">I4", i), i, 0)
        end
        return table.concat(t)
    end

    local function check(src, n)
        local i = 0
        for pkt in src:packets() do
            i = i + 1
            assert.equal(i * 1000000000, pkt.time)
            assert.equal(i, (pkt:unpack(">I4", -4)))
        end
        assert.equal(n, i)
    end

    it("is read compressed by gzip and zstd, in several members too", function()
        local path = put(many(50000), "plain")
        support.must(("gzip -k %s; zstd -q %s"):format(path, path))
        check(ringtap.read(path .. ".gz"), 50000)
        check(ringtap.read(path .. ".zst"), 50000)
        put(many(100), "one")
        put(many(200):sub(#many(100) + 1), "two")
        support.must("cd " .. dir .. "; gzip -c one > both.gz; gzip -c two >> both.gz; " ..
            "zstd -qc one > both.zst; zstd -qc two >> both.zst")
        check(ringtap.read(dir .. "/both.gz"), 200)
        check(ringtap.read(dir .. "/both.zst"), 200)
    end)

    it("cut off while compressed gives what could be had, then an error", function()
        local path = put(many(50000), "short")
        for _, tool in ipairs { "gzip -c", "zstd -qc" } do
            support.must(("%s %s | head -c 20000 > %s.cut"):format(tool, path, path))
            local src = assert(ringtap.read(path .. ".cut"))
            local n = 0
            local ok, err = pcall(function()
                for pkt in src:packets() do
                    n = n + 1
                    assert.equal(n, (pkt:unpack(">I4", -4)))
                end
            end)
            assert.is_false(ok)
            assert.matches("truncated", err)
            assert.is_true(n > 100)
        end
    end)

    it("is read from a pipe as it comes", function()
        local path = put(many(20000), "piped")
        local pipe = assert(io.popen(("head -c 100000 %s; sleep 0.3; tail -c +100001 %s"):format(path, path)))
        local src = assert(ringtap.read(pipe))
        assert.is_number(src:fd())
        local i = 0
        for pkt in src:packets { idle = 0.05 } do
            i = i + 1
            assert.equal(i, (pkt:unpack(">I4", -4)))
        end
        assert.equal((100000 - 24) // (16 + 22), i)
        for pkt in src:packets() do
            i = i + 1
            assert.equal(i, (pkt:unpack(">I4", -4)))
        end
        assert.equal(20000, i)
        assert.same({ nil, "end" }, { src:next() })
    end)

    it("that is an open Lua file goes on where the file stands", function()
        local path = put("a line before\n" .. many(3000), "mixed")
        local file = assert(io.open(path, "rb"))
        assert.equal("a line before", file:read("l"))
        local src = assert(ringtap.read(file))
        file:close()
        check(src, 3000)
        assert.error_matches(function() ringtap.read(file) end, "closed file")
    end)

    it("gives packets that can be held while the reading goes on", function()
        local n = 200000
        local src = assert(ringtap.read(put(many(n), "held")))
        local held, i = {}, 0
        for pkt in src:packets() do
            i = i + 1
            if i % 1000 == 0 then
                held[#held + 1] = pkt:hold()
            end
        end
        src:close()
        for k, pkt in ipairs(held) do
            assert.equal(k * 1000, (pkt:unpack(">I4", -4)))
            pkt:release()
        end
        assert.equal(n, i)
    end)

    it("of any length takes the same memory", function()
        local function peak(n)
            put(many(n), "long")
            local script = ([[package.cpath, package.path = %q, %q
                for p in require("ringtap").read(%q):packets() do end
                for l in io.lines("/proc/self/status") do print(l:match("VmHWM:%%s*(%%d+)")) end]])
                :format(package.cpath, package.path, dir .. "/long")
            support.write_file(dir .. "/peak.lua", script)
            local out = support.must("lua5.4 " .. dir .. "/peak.lua")
            return tonumber(out:match("%d+"))
        end
        local small, large = peak(100000), peak(1000000)
        assert.is_true(large < small + 4096, ("%d KiB for 10 times as much as %d KiB"):format(large, small))
    end)

    it("that is not one is refused with its name and the reason", function()
        for name, bytes in pairs { text = "hello, this is a text file, longer than a header", zeros = ("\0"):rep(100),
            empty = "", other = "\x1c\0\1\xac" .. ("\0"):rep(60) } do
            local src, message, errno = ringtap.read(put(bytes, name))
            assert.is_nil(src)
            assert.matches(name, message)
            assert.is_number(errno)
        end
        local src, message, errno = ringtap.read(dir .. "/not-there")
        assert.is_nil(src)
        assert.matches("not%-there: No such file or directory", message)
        assert.equal(2, errno)
        assert.is_nil((ringtap.read(dir)))
    end)

    it("may be read twice at once, and left in the middle", function()
        local path = put(many(1000), "twice")
        local a, b = ringtap.read(path), ringtap.read(path)
        for pkt in a:packets { count = 500 } do
            assert.equal((pkt:unpack(">I4", -4)), (b:next():unpack(">I4", -4)))
        end
        a:close()
        assert.equal(501, (b:next():unpack(">I4", -4)))
    end)
end)

-- Files that broke other readers, with the right reading, where they are at hand.
local cases = io.open("../shared/cases/packets.jsonl")

describe("files that broke other readers", function()
    if not cases then
        pending("are not here (../shared/cases/packets.jsonl)")
        return
    end
    local function times(list)
        local t = {}
        for i, pkt in ipairs(list) do
            t[i] = pkt.time
        end
        return t
    end
    local right = {
        ["pcap-be"] = function(p)
            assert.same({ 1, 1700000000123456000, 18 }, { #p, p[1].time, #p[1] })
        end,
        ["pcap-modified"] = function(p) assert.same({ 1, 18 }, { #p, #p[1] }) end,
        ["pcap-caplen-gt-snaplen"] = function(p) assert.same({ 1, 18 }, { #p, #p[1] }) end,
        ["pcap-origlen-gt-snaplen"] = function(p)
            assert.same({ 1, 16, 1514, true }, { #p, p[1].caplen, p[1].len, p[1].truncated })
        end,
        ["pcap-trunc-header"] = function(p, err)
            assert.equal(1, #p)
            assert.matches("truncated", err)
        end,
        ["pcap-trunc-data"] = function(p, err)
            assert.equal(1, #p)
            assert.matches("truncated", err)
            assert.matches("18", err)
            assert.matches("13", err)
        end,
        ["pcap-caplen-gt-len"] = function(p) assert.same({ 1, 18, 18 }, { #p, p[1].caplen, p[1].len }) end,
        ["pcapng-two-if-mixed"] = function(p, _, src)
            assert.same({ 2, 0, 1 }, { #p, p[1].interface_id, p[2].interface_id })
            local i = src:interfaces()
            assert.same({ i[1].linktype, i[2].linktype }, { p[1].linktype, p[2].linktype })
            assert.same({ 1, 113, 96, 65535 }, { i[1].linktype, i[2].linktype, i[1].snaplen, i[2].snaplen })
        end,
        ["pcapng-snaplen-ffffffff"] = function(p, _, src)
            assert.equal(1, #p)
            assert.is_nil(src:interfaces()[1].snaplen)
        end,
        ["pcapng-tsresol-pow2"] = function(p) assert.same({ 1700000000500000000 }, times(p)) end,
        ["pcapng-unknown-blocks"] = function(p) assert.equal(1, #p) end,
        ["pcapng-block-len-8"] = function(p, err)
            assert.equal(0, #p)
            assert.is_string(err)
        end,
        ["pcapng-caplen-gt-block"] = function(p, err)
            assert.equal(0, #p)
            assert.is_string(err)
        end,
        ["pcapng-spb-snap"] = function(p)
            assert.same({ 1, 16, 1514, 0 }, { #p, p[1].caplen, p[1].len, p[1].interface_id })
            assert.is_nil(p[1].time)
        end,
        ["pcapng-isb"] = function(p, _, src)
            assert.equal(1, #p)
            local i = src:interfaces()[1]
            assert.same({ 10, 3 }, { i.received, i.dropped })
        end,
        ["pcapng-epb-dir"] = function(p)
            assert.same({ "out", "unicast" }, { p[1].direction, p[1].reception })
        end,
    }
    local errors = { ["pcap-trunc-header"] = true, ["pcap-trunc-data"] = true, ["pcapng-block-len-8"] = true,
        ["pcapng-caplen-gt-block"] = true }
    for line in cases:lines() do
        local id, hex = line:match('"id": "(.-)"'), line:match('"hex": "(%x+)"')
        if line:match('"linktype": "pcap') then
            it("read right: " .. id, function()
                local bytes = hex:gsub("%x%x", function(h) return string.char(tonumber(h, 16)) end)
                local got, err, src = read(bytes)
                assert.is_table(got, err)
                if not errors[id] then
                    assert.is_nil(err)
                end
                assert(right[id], "no expectation written for " .. id)(got, err, src)
            end)
        end
    end
    cases:close()
end)

describe("real captures", function()
    local list = io.popen("ls ../shared/captures/*.pcap* 2>/dev/null")
    local paths = {}
    for path in list:lines() do
        paths[#paths + 1] = path
    end
    list:close()
    if #paths == 0 then
        pending("are not here (../shared/captures)")
        return
    end
    local explained = {
        ["gopacket__pcapgo__tests__le__test017.pcapng"] = "tshark lists custom blocks, which are no packets",
        ["gopacket__pcapgo__tests__le__test202.pcapng"] = "the same",
        ["ppp__Tests__Pcap++Test__PcapExamples__pcapng-example.pcapng"] = "times past the year 2262 don't fit: nil",
        ["tcpdump__tests__atm-oam-heapoverflow.pcap"] = "tshark takes a pseudo-header off ATM packets",
        ["tcpdump__tests__hoobr_juniper3.pcap"] = "a link type that tshark refuses",
    }
    it("read as tshark reads them: number, time, lengths", function()
        local differ = {}
        for _, path in ipairs(paths) do
            local want = select(2, support.run("tshark -n -r " .. support.quote(path) ..
                " -T fields -e frame.time_epoch -e frame.cap_len -e frame.len"))
            local got = {}
            local src = ringtap.read(path)
            if src then
                pcall(src.each, src, function(pkt)
                    local t = pkt.time
                    t = t and ("%d.%09d"):format(t // 1000000000, t % 1000000000) or ""
                    got[#got + 1] = ("%s\t%d\t%d\n"):format(t, pkt.caplen, pkt.len)
                end)
            end
            if table.concat(got) ~= want then
                differ[#differ + 1] = path:match("[^/]+$")
            end
        end
        table.sort(differ)
        local unexplained = {}
        for _, name in ipairs(differ) do
            if not explained[name] then
                unexplained[#unexplained + 1] = name
            end
        end
        assert.same({}, unexplained)
    end)
end)
