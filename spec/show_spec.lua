-- The tree and the marked dump, lua/ringtap/show.lua. What the tree says of a real frame is compared with tshark; what
-- is worked out by hand says so.

local live = require "support.live"
local ringtap = require "ringtap"
local show = require "ringtap.show"
local support = require "support"

teardown(support.cleanup)

local function packet(bytes, options)
    return assert(ringtap.memory({ bytes }, options)):next(0)
end

local function lines_of(text)
    local lines = {}
    for line in (text .. "\n"):gmatch "(.-)\n" do
        lines[#lines + 1] = line
    end
    return lines
end

--- The line of a field, without its indent; its indent.
local function line_of(text, name)
    for _, line in ipairs(lines_of(text)) do
        local indent, rest = line:match "^( *)(.*)$"
        if rest:match "^%S*" == name then
            return rest, #indent
        end
    end
end

local function value_of(text, name)
    local line = line_of(text, name)
    return line and line:match "^%S+%s+(%S*)"
end

local datagram = live.frame({}, 0x0800, live.ipv4 { payload = "twenty-six bytes of payload" })

describe("the tree", function()
    it("begins with the packet and has a line for each layer, with its header's size and place", function()
        local lines = lines_of(show.show(packet({ datagram, time = 1700000000123456789 })))
        assert.are.equal("Packet: 69 bytes, 2023-11-14 22:13:20.123456789 UTC, memory", lines[1])
        local layers = {}
        for i = 2, #lines do
            layers[#layers + 1] = lines[i]:match "^%S.*"
        end
        assert.are.same({
            "Ethernet (eth), 14 bytes at 0",
            "Internet Protocol Version 4 (ip), 20 bytes at 14",
            "User Datagram Protocol (udp), 8 bytes at 34",
            "Data (data), 27 bytes at 42",
        }, layers)
    end)

    it("says of a frame what tshark says", function()
        local path = support.tmpdir() .. "/x.pcap"
        live.write_pcap(path, { datagram })
        local names = { "eth.dst", "eth.src", "eth.type", "ip.version", "ip.hdr_len", "ip.len", "ip.id", "ip.ttl",
            "ip.proto", "ip.checksum", "ip.src", "ip.dst", "udp.srcport", "udp.dstport", "udp.length", "udp.checksum" }
        local out = support.must(("tshark -n -r %s -T fields -e %s"):format(path, table.concat(names, " -e ")))
        local text, i = show.show(assert(ringtap.read(path)):next(0)), 0
        for value in (out:gsub("\n", "\t")):gmatch "([^\t]*)\t" do
            i = i + 1
            assert.are.equal(value, value_of(text, names[i]), names[i])
        end
        assert.are.equal(#names, i)
    end)

    it("names values, says of bits whether they are set, and indents what is part of a field", function()
        local text = show.show(packet(datagram))
        assert.is_truthy(line_of(text, "ip.proto"):find "17 +Protocol: UDP$")
        assert.is_truthy(line_of(text, "ip.flags.df"):find "0 +Don't fragment: not set$")
        local _, outer = line_of(text, "ip.flags")
        local _, inner = line_of(text, "ip.flags.df")
        assert.are.same({ 4, 6 }, { outer, inner })
        local df = packet(datagram:sub(1, 20) .. "\x40" .. datagram:sub(22))
        assert.is_truthy(line_of(show.show(df), "ip.flags.df"):find "1 +Don't fragment: set$")
    end)

    it("says whether a checksum is right", function()
        assert.is_truthy(line_of(show.show(packet(datagram)), "ip.checksum.status"):lower():find "good$")
        local bad = datagram:sub(1, 24) .. "\0\0" .. datagram:sub(27)
        assert.is_truthy(line_of(show.show(packet(bad)), "ip.checksum.status"):lower():find "bad$")
        assert.is_truthy(show.show(packet(bad), { color = true }):lower():find("\27%[31m[^\27]*bad\27%[0m"))
    end)

    it("tells what is cut off, malformed and quoted, and shows what is before it", function()
        local cut = packet({ datagram:sub(1, 38), len = #datagram })
        local text = show.show(cut)
        assert.is_truthy(text:find("^Packet: 69 bytes %(38 captured%)"))
        assert.is_truthy(text:find "\nUser Datagram Protocol %(udp%), 8 bytes at 34, cut off: 4 of 35 bytes captured\n")
        assert.are.equal("9", value_of(text, "udp.dstport"))
        assert.is_nil(line_of(text, "udp.length"))

        local short = packet(datagram:sub(1, 14) .. "\x44" .. datagram:sub(16)) -- a header of 16 bytes
        text = show.show(short)
        assert.are.equal("malformed: " .. short.malformed:match "^ip: (.*)$", text:match "\n    (malformed: [^\n]*)")
        assert.are.equal("4", value_of(text, "ip.version"))

        local quote = live.ipv4():sub(1, 28)
        local body = "\3\3\0\0\0\0\0\0" .. quote
        local sum = live.checksum(body)
        local unreachable = (">I1I1I2I2I2I1I1I2"):pack(0x45, 0, 20 + #body, 1, 0, 64, 1, 0) .. "\192\0\2\2\192\0\2\1"
        unreachable = unreachable:sub(1, 10) .. (">I2"):pack(live.checksum(unreachable)) .. unreachable:sub(13)
            .. body:sub(1, 2) .. (">I2"):pack(sum) .. body:sub(5)
        text = show.show(packet(live.frame({}, 0x0800, unreachable)))
        assert.is_truthy(text:find "\nInternet Protocol Version 4 %(ip%), 20 bytes at 42, quoted")
    end)

    it("numbers what is in a list, leaves out what the table hides, and prints nothing that a terminal would obey",
        function()
            ringtap.protocol {
                name = "showtest", title = "Show\27Test", on = { link = 155 },
                { "count", 8, "Number of things", values = { [2] = "a pair" } },
                { loop = "count", list = "things", { "thing.kind", 8, "Kind" }, { "thing.value", 16, base = "hex" } },
                { "secret", 8, hidden = true, sub = { { "secret.bit", "bool" }, { "_rest", 7 } } },
                { "_private", 8 },
                { "wait", "seconds", "Waiting time" },
                { "sum", "uint", "Sum", value = function(_, layer) return #layer end },
                { "text", "uint", "Text", value = function() return "a\27[31mb\xc2\x9bc" end },
                { "blob", "bytes", "Blob", size = 20 },
            }
            local bytes = "\2\1\0\1\2\0\2\x80\xff" .. (">I4"):pack(90061) .. ("\xab"):rep(20)
            local lines = lines_of(show.show(packet(bytes, { linktype = 155 })))
            table.remove(lines, 1)
            assert.are.same({
                "Show\\x1bTest (showtest), 33 bytes at 0",
                "    showtest.count          2                  Number of things: a pair",
                "    things[1]",
                "      showtest.thing.kind   1                  Kind",
                "      showtest.thing.value  0x0001",
                "    things[2]",
                "      showtest.thing.kind   2                  Kind",
                "      showtest.thing.value  0x0002",
                "    showtest.wait           90061.000000000    Waiting time: 1 day 1:01:01",
                "    showtest.sum            33                 Sum",
                "    showtest.text           a\\x1b[31mb\\u{9b}c  Text",
                "    showtest.blob           abababababababababababababababab... (20 bytes)  Blob",
            }, lines)
        end)

    it("tells of bytes that lie behind what a layer carries, and of guesses", function()
        ringtap.protocol { name = "showouter", on = { link = 156 }, header = 1,
            next = { { "showinner", guess = true } }, { "kind", 8 } }
        ringtap.protocol { name = "showinner", header = 1, total = "size", { "size", 8 } }
        local text = show.show(packet("\1\3abcdef", { linktype = 156 }))
        assert.is_truthy(text:find("\nSHOWINNER (showinner), 1 byte at 1, a guess\n", 1, true))
        assert.is_truthy(text:find("\nBehind it, inside of showouter: 4 bytes at 4", 1, true))
    end)

    it("has colours only when they are asked for, and the same text below them", function()
        local pkt = packet(datagram)
        local plain, colored = show.show(pkt), show.show(pkt, { color = true })
        assert.is_nil(plain:find "\27")
        assert.is_truthy(colored:find("\27[34m\27[1mEthernet (eth)", 1, true))
        assert.is_truthy(colored:find("\27[36m\27[1mInternet Protocol", 1, true))
        assert.are.equal(plain, (colored:gsub("\27%[%d*m", "")))
        assert.has_error(function() show.show(pkt, { colour = true }) end,
            "show: unknown option 'colour' (did you mean 'color'?)")
    end)

    local captures = support.run("ls ../shared/captures/*.pcap*") == 0 and it or pending
    captures("is made of any packet, without an error and without a byte that a terminal would obey", function()
        local wrong, count = {}, 0
        local function look(path)
            for pkt in assert(ringtap.read(path)):packets { count = 20 } do
                count = count + 1
                local text = show.show(pkt)
                if text:find "[\0-\9\11-\31\127]" or not text:find "^Packet: " then
                    wrong[#wrong + 1] = ("%s, packet %d"):format(path, count)
                end
            end
        end
        for path in support.must("ls ../shared/captures/*.pcap*"):gmatch "[^\n]+" do
            local ok, message = pcall(look, path)
            if not ok and not message:find(path .. ": offset", 1, true) then -- the file is damaged
                wrong[#wrong + 1] = message
            end
        end
        assert.are.same({}, wrong)
        assert.is_true(count > 100)
    end)
end)

describe("the dump", function()
    local frame = live.frame({ { 0x8100, 100 }, { 0x8100, 200 } }, 0x0800, live.ipv4 { payload = "abcdef" })
    local pkt = packet(frame)
    local plain = lines_of(pkt:hex())

    it("is pkt:hex() without a layer", function()
        assert.are.equal(pkt:hex(), show.hex(pkt))
        assert.are.equal(pkt:hex(), show.hex(pkt, nil, { color = true }))
    end)

    it("marks a layer's header by carets, below its digits and its characters", function()
        assert.are.same({
            plain[1],
            plain[2],
            plain[3],
            "\t                                  ^^^^^^^^^^^^^^            ^^^^^^",
            plain[4],
            "\t         ^^^^                                     ^^",
        }, lines_of(show.hex(pkt, "udp")))
    end)

    it("marks the layer that a number says, and every occurrence of a field", function()
        assert.are.same({
            plain[1],
            plain[2],
            "\t              ^^^^^^^^^                             ^^^^",
            plain[3],
            plain[4],
        }, { table.unpack(lines_of(show.hex(pkt, "vlan#2")), 1, 5) })
        assert.are.same(lines_of(show.hex(pkt, "vlan#-1")), lines_of(show.hex(pkt, "vlan#2")))
        assert.are.equal("\t                                  ^^^^^^^^^                 ^^^^",
            lines_of(show.hex(pkt, "udp.port"))[4])
        assert.are.equal("\t              ^^^^                                  ^^",
            lines_of(show.hex(pkt, "vlan.id#2"))[3])
    end)

    it("marks the bytes that a field's bits are in", function()
        assert.are.equal("\t                                       ^^                     ^",
            lines_of(show.hex(pkt, "ip.flags.df"))[3])
    end)

    it("marks in reverse video when there are colours", function()
        local lines = lines_of(show.hex(pkt, "ip.src", { color = true }))
        assert.are.same({ plain[1], plain[2], plain[4] }, { lines[1], lines[2], lines[4] })
        assert.are.equal("\t0x0020:  f6c6 \27[7mc000 0201\27[0m c000 0202 9c40 0009 000e  ..\27[7m....\27[0m.....@....",
            lines[3])
    end)

    it("says what is not there, and raises for what is no field", function()
        assert.are.equal(pkt:hex() .. "\n\t(there is no tcp in this packet)", show.hex(pkt, "tcp"))
        assert.are.equal(pkt:hex() .. "\n\t(there is no vlan#3 in this packet)", show.hex(pkt, "vlan#3"))
        assert.are.equal(pkt:hex() .. "\n\t(ip.checksum.status has no bytes of its own here)",
            show.hex(pkt, "ip.checksum.status"))
        local ok, message = pcall(show.hex, pkt, "udp.dsport")
        assert.is_false(ok)
        assert.is_truthy(message:find("no protocol has a field 'udp.dsport' (did you mean 'udp.dstport'", 1, true))
    end)
end)
