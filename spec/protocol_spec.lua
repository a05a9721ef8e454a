-- Protocols that a script declares: the one of the README, and one with everything a table can say. The bytes are put
-- together by string.pack here, not by the code under test.
local ringtap = require "ringtap"
local support = require "support"
local live = require "support.live"

local root_it = live.root and it or pending

local function hex(text)
    return (text:gsub("%s", ""):gsub("%x%x", function(two) return string.char(tonumber(two, 16)) end))
end

-- An Ethernet frame with a UDP datagram, checksum none.
local function datagram(port, payload)
    local udp = string.pack(">I2I2I2I2", 40000, port, 8 + #payload, 0) .. payload
    local ip = string.pack(">I1I1I2I2I2I1I1I2", 0x45, 0, 20 + #udp, 1, 0, 64, 17, 0) .. "\192\0\2\1" .. "\192\0\2\2"
    return hex "020000000002 020000000001 0800" .. ip .. udp
end

local function packet(bytes)
    local src = assert(ringtap.memory { bytes })
    local pkt = assert(src:next(0))
    src:close()
    return pkt
end

-- The example of the README, as it stands there.
local function readme_example()
    local text = support.read_file "README.md"
    return assert(text:match "```lua\n(%-%- sensor%.lua.-)```", "README.md has no sensor.lua")
end

describe("the README's private protocol", function()
    local reading = string.pack(">I1I1I2I4", 0x12, 2, 0, 7) .. string.pack(">I4i4", 1700000000, -5)
        .. string.pack(">I4i4", 1700000001, 21)

    it("is about twenty lines", function()
        local n = 0
        for line in readme_example():match("ringtap%.protocol %b{}"):gmatch "[^\n]+" do
            n = n + (line:find "%S" and 1 or 0)
        end
        assert.is_true(n <= 20, n)
    end)

    it("decodes, prints and builds", function()
        assert(load(readme_example():match "ringtap%.protocol %b{}", "=README", "t",
            setmetatable({ ringtap = ringtap }, { __index = _G })))()
        local p = packet(datagram(4711, reading))
        assert.equal("alarm", ringtap.proto.sensor and "alarm")
        assert.same({ 1, 2, 7 }, { p["sensor.version"], p["sensor.kind"], p["sensor.id"] })
        assert.same({ -5, 21 }, p:all "sensor.value")
        assert.equal(-5, p.sensor.value)
        assert.matches("sensor 7 alarm: %-5,21", tostring(p))
        assert.matches("alarm", p:show())
        local frame = ringtap.eth {} / ringtap.ip { src = "192.0.2.1", dst = "192.0.2.2" }
            / ringtap.udp { srcport = 40000 } / ringtap.sensor { kind = "alarm", id = 7,
                readings = { { time = 1700000000, value = -5 }, { time = 1700000001, value = 21 } } }
        local built = packet(frame:bytes())
        assert.equal(4711, built["udp.dstport"])
        assert.equal(reading, built:payload "udp")
        local edit = p:edit()
        edit["sensor.id"] = 8
        assert.equal(8, packet(edit:bytes())["sensor.id"])
    end)

    it("works on a file", function()
        local dir = support.tmpdir()
        local path = dir .. "/sensor.pcap"
        local out = assert(ringtap.write(path))
        assert(out:send(packet(datagram(4711, reading))))
        assert(out:close())
        local seen = {}
        for id, value in assert(ringtap.read(path)):fields("sensor.id", "sensor.value") do
            seen[#seen + 1] = id .. "/" .. value
        end
        assert.same({ "7/-5" }, seen)
    end)

    root_it("works on a file and live, as the script stands in the README #root", function()
        local ns = support.namespaces()
        local directory = support.tmpdir()
        local program = live.program(directory, "sensor.lua", "\n" .. readme_example())
        local path = directory .. "/sensor.pcap"
        local out = assert(ringtap.write(path))
        assert(out:send(packet(datagram(4711, reading))))
        assert(out:close())
        assert.equal("7\t-5\n", support.must("lua5.4 " .. program .. " " .. path))
        local process = support.spawn(ns:exec("b", "lua5.4 " .. program .. " veth_b"))
        assert.truthy(support.wait_for(function() return live.sockets(ns, "b") == 1 end, 20))
        local seen = support.wait_for(function() -- the source is bound a moment after its socket is there
            live.send(ns, "a", { datagram(4711, reading) })
            return support.output(process):find("7\t-5\n", 1, true)
        end, 20)
        support.kill(process, "INT")
        support.wait(process, 20)
        assert.truthy(seen)
        support.cleanup()
    end)
end)

describe("a protocol declared at run time", function()
    -- magic, version and flags, length of the options, a checksum that a function makes, options as TLVs padded to 4,
    -- then another protocol by a number.
    local function checksum(bytes)
        local sum = 0
        for i = 1, #bytes do
            sum = (sum * 31 + bytes:byte(i)) & 0xffff
        end
        return sum
    end

    local function declare()
        ringtap.protocol {
            name = "inner", title = "What is inside",
            on = { ["outer.next"] = 5 },
            line = "inner {word}",
            { "word", "string" },
        }
        return ringtap.protocol {
            name = "outer", title = "An outer protocol",
            on = { ["udp.port"] = 4712 },
            header = "8 + options_len",
            check = { { "magic == 0xabcd", "no magic" } },
            checksum = { field = "checksum", sum = checksum },
            next = { { table = "outer.next", key = "next" } },
            line = { "outer {version}", { when = "flags.urgent", ", urgent" }, ", options {opt.type*}" },
            { "magic", 16, "Magic", base = "hex", default = 0xabcd },
            { "version", 4, "Version", default = 3 },
            { "flags", 4, "Flags", base = "hex", sub = {
                { "flags.urgent", "bool", "Urgent" },
                { "flags.rest", 3, "Others" },
            } },
            { "options_len", 8, "Length of the options" },
            { "next", 16, "Next protocol" },
            { "checksum", 16, "Checksum", base = "hex" },
            { "checksum.status", value = "$checksum", values = { [0] = "Bad", [1] = "Good" } },
            { size = "options_len", list = "options", loop = true, stop = "opt.type == 0",
                { "opt.type", 8, "Type", values = { [0] = "end", [1] = "name", [2] = "address", [9] = "nested" } },
                { when = "opt.type != 0",
                    { "opt.len", 8, "Length" },
                    { check = "opt.len >= 2", "option length below 2" },
                    { switch = "opt.type", size = "opt.len - 2",
                        cases = {
                            [1] = { { "opt.name", "string", "Name" } },
                            [2] = { { "opt.address", "ipv4", "Address", also = "address" } },
                            [9] = { { loop = true, list = "parts",
                                { "part.len", 8 },
                                { "part.data", "bytes", size = "part.len" },
                            } },
                        },
                        default = { { "opt.data", "bytes", "Data" } },
                    },
                },
            },
            { "initial", "string", "First letter of the name", value = function(_, layer)
                return layer:match "\1.(%a)"
            end },
        }
    end

    local options = "\1\5abc" .. "\2\6\10\0\0\1" .. "\9\9\2xy\3z\0w" .. "\0"
    local function message(opts, word, next_number)
        local head = string.pack(">I2I1I1I2", 0xabcd, 0x38, #opts, next_number or 5)
        local sum = checksum(head .. "\0\0" .. opts .. word)
        return head .. string.pack(">I2", sum) .. opts .. word
    end

    setup(declare)

    it("has flags, TLVs, nested lists, a function, a checksum and a sub-dissector", function()
        local p = packet(datagram(4712, message(options, "hello")))
        assert.is_nil(p.malformed)
        assert.same({ "eth", "ip", "udp", "outer", "inner" }, p:layers())
        assert.same({ 0xabcd, 3, 8, true, #options },
            { p["outer.magic"], p["outer.version"], p["outer.flags"], p["outer.flags.urgent"], p["outer.options_len"] })
        assert.same({ 1, 2, 9, 0 }, p:all "outer.opt.type")
        assert.equal("abc", p["outer.opt.name"])
        assert.equal("10.0.0.1", p["outer.opt.address"])
        assert.equal("10.0.0.1", p["outer.address"])
        assert.same({ "xy", "z\0w" }, p:all "outer.part.data")
        assert.equal("a", p["outer.initial"])
        assert.equal(1, p["outer.checksum.status"])
        assert.equal("hello", p["inner.word"])
        assert.equal("hello", p.inner.word)
        assert.matches("outer 3, urgent, options name,address,nested,end: inner hello", tostring(p))
    end)

    it("marks what is wrong and keeps what is good", function()
        local p = packet(datagram(4712, message("\1\5abc" .. "\2\1" .. "\1\3x", "w")))
        assert.equal("outer: option length below 2", p.malformed)
        assert.equal("abc", p["outer.opt.name"])
        p = packet(datagram(4712, "\xab\xce" .. message(options, "w"):sub(3)))
        assert.equal("outer: no magic", p.malformed)
        assert.is_nil(p.inner)
        local bad = message(options, "w")
        p = packet(datagram(4712, bad:sub(1, -2) .. "v"))
        assert.equal(0, p["outer.checksum.status"])
    end)

    it("builds what string.pack builds, and edits", function()
        local frame = ringtap.eth {} / ringtap.ip {} / ringtap.udp { checksum = 0 }
            / ringtap.outer { ["flags.urgent"] = true, options = {
                { type = "name", name = "abc" },
                { type = "address", address = "10.0.0.1" },
                { type = "nested", parts = { { data = "xy" }, { data = "z\0w" } } },
                { type = "end" },
            } } / ringtap.inner { word = "hello" }
        local p = packet(frame:bytes())
        assert.equal(message(options, "hello"), p:payload "udp")
        local edit = p:edit()
        edit["inner.word"] = "goodbye"
        p = packet(edit:bytes())
        assert.equal(message(options, "goodbye"), p:payload "udp")
        assert.equal(8 + 8 + #options + 7, p["udp.length"])
    end)

    it("is found by ports that a user can change", function()
        local outer = ringtap.proto.outer
        assert.same({ 4712 }, { outer.ports[1] })
        local other = datagram(5000, message(options, "hello"))
        assert.is_nil(packet(other).outer)
        outer.ports = { 4712, 5000 }
        assert.equal(3, packet(other)["outer.version"])
        outer.ports[#outer.ports + 1] = 5001
        assert.equal(3, packet(datagram(5001, message(options, "hello")))["outer.version"])
        outer.ports = { 4712 }
        assert.is_nil(packet(other).outer)
        assert.has_error(function() outer.ports = { 70000 } end)
    end)

    it("may be declared again", function()
        ringtap.protocol { name = "inner", on = { ["outer.next"] = 5 }, { "letter", "string", size = 1 } }
        local p = packet(datagram(4712, message(options, "hello")))
        assert.equal("h", p["inner.letter"])
        assert.is_nil(p["inner.word"])
        declare()
        assert.equal("hello", packet(datagram(4712, message(options, "hello")))["inner.word"])
    end)

    it("says what is wrong with a table", function()
        local function message_of(def)
            local ok, err = pcall(ringtap.protocol, def)
            assert.is_false(ok)
            return err
        end
        assert.matches("a protocol needs a name", message_of {})
        assert.matches("unknown key 'titlee' %(did you mean 'title'%?%)", message_of { name = "x1", titlee = "" })
        assert.matches("unknown key 'sise'", message_of { name = "x1", { "a", "bytes", sise = 2 } })
        assert.matches("'lenth', which is no field of it %(did you mean 'length'%?%)",
            message_of { name = "x1", { "length", 8 }, { "a", "bytes", size = "lenth" } })
        assert.matches("did you mean 'string'", message_of { name = "x1", { "a", "strng" } })
        assert.matches("1 to 64 bits", message_of { name = "x1", { "a", 65 } })
        assert.matches("expression 'a %+': it ends too early", message_of { name = "x1",
            { "a", 8 }, { "b", 8, when = "a +" } })
        assert.matches("there is no group 'nothing'", message_of { name = "x1", { call = "nothing" } })
        assert.matches("checksum is in 'sum'", message_of { name = "x1", checksum = { field = "sum" }, { "a", 16 } })
    end)
end)

describe("names of fields", function()
    it("that nobody declares raise, with the nearest", function()
        local p = packet(datagram(4000, ""))
        local ok, err = pcall(function() return p["udp.dstprot"] end)
        assert.is_false(ok)
        assert.matches("a packet has no field or method 'udp.dstprot' %(did you mean 'udp.dstport'", err)
        ok, err = pcall(ringtap.field, "ip.srcc")
        assert.is_false(ok)
        assert.matches("no protocol has a field 'ip.srcc' %(did you mean 'ip.src'", err)
    end)

    it("are listed by pattern", function()
        local names = ringtap.field_names "^udp%."
        local set = {}
        for _, name in ipairs(names) do
            assert.matches("^udp%.", name)
            set[name] = true
        end
        assert.is_true(set["udp.srcport"] and set["udp.length"] and set["udp.checksum"])
    end)
end)
