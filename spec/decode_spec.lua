-- Fields, layers and extractors: what they give, when they end, and what they do when a script misbehaves.
local ringtap = require "ringtap"

local function hex(text)
    return (text:gsub("%s", ""):gsub("%x%x", function(two) return string.char(tonumber(two, 16)) end))
end

local head = hex "020000000002 020000000001 0800"
local function ipv4(protocol, payload, total)
    return string.pack(">I1I1I2I2I2I1I1I2", 0x45, 0, total or 20 + #payload, 1, 0, 64, protocol, 0)
        .. "\192\0\2\1" .. "\192\0\2\2" .. payload
end
local function udp(port, payload)
    return string.pack(">I2I2I2I2", 1000, port, 8 + #payload, 0) .. payload
end
local plain = head .. ipv4(17, udp(2000, "hello"))
local arp = hex "ffffffffffff 020000000001 0806 0001080006040001 020000000001 c0000201 000000000000 c0000202"
local tunnel = head .. ipv4(47, hex "00000800" .. ipv4(17, udp(53, "")))
local syn = head .. ipv4(6, hex "9c400050 000003e8 00000000 6002faf0 0000 0000 020405b4")

local function packet(bytes, linktype)
    local src <close> = assert(ringtap.memory({ bytes }, { linktype = linktype }))
    return assert(src:next(0))
end

describe("a field", function()
    it("is a native value", function()
        local p = packet(plain)
        assert.equal("192.0.2.1", p["ip.src"])
        assert.equal("02:00:00:00:00:01", p["eth.src"])
        assert.equal(2000, p["udp.dstport"])
        assert.equal("integer", math.type(p["udp.dstport"]))
        assert.is_false(p["ip.flags.df"])
        assert.equal("hello", p["data.data"])
        assert.equal(20, p["ip.hdr_len"])
        assert.is_true(packet(syn)["tcp.flags.syn"])
        assert.equal("2001:db8::1", packet(hex "60000000 0000 3b40 20010db8000000000000000000000001 "
            .. hex "20010db8000000000000000000000002", 101)["ipv6.src"])
    end)

    it("is nil where its layer is absent, or cut off", function()
        assert.is_nil(packet(arp)["ip.src"])
        local cut = packet(plain:sub(1, 14 + 20 + 3))
        assert.equal(1000, cut["udp.srcport"])
        assert.is_nil(cut["udp.dstport"])
        assert.is_true(cut.truncated)
    end)

    it("has occurrences by layer", function()
        local p = packet(tunnel)
        assert.equal("eth ip gre ip udp", table.concat(p:layers(), " ", 1, 5))
        assert.equal(47, p["ip.proto"])
        assert.equal(17, p["ip.proto#2"])
        assert.equal(17, p["ip.proto#-1"])
        assert.is_nil(p["ip.proto#3"])
        assert.equal(47, p["ip.proto#-2"])
        assert.same({ 47, 17 }, p:all "ip.proto")
        assert.same({ "192.0.2.1", "192.0.2.2", "192.0.2.1", "192.0.2.2" }, p:all "ip.addr")
        assert.has_error(function() return p["ip.proto#0"] end)
        assert.has_error(function() return p["ip.proto#x"] end)
    end)

    it("has tshark's text", function()
        local p = packet(syn)
        assert.same({ "0x0002" }, p:texts "tcp.flags")
        assert.same({ "1" }, p:texts "tcp.flags.syn")
        assert.same({ "0x0800" }, p:texts "eth.type")
        assert.same({ "020405b4" }, p:texts "tcp.options")
    end)
end)

describe("a layer", function()
    it("is there or not, and has its fields", function()
        local p = packet(plain)
        assert.is_truthy(p.udp)
        assert.is_nil(p.tcp)
        assert.equal(2000, p.udp.dstport)
        assert.equal("192.0.2.2", p.ip.dst)
        assert.equal(17, packet(tunnel)["ip#2"].proto)
        assert.equal(1460, packet(syn).tcp.options and packet(syn)["tcp.options.mss_val"])
        assert.has_error(function() return p.udp.nothing end)
        assert.has_error(function() return p.nothing end)
        assert.has_error(function() p.udp.dstport = 1 end,
            "a packet can't be changed (field 'dstport'); pkt:edit() makes a builder of it")
    end)

    it("has a place and a payload", function()
        local p = packet(plain .. ("\0"):rep(13))
        assert.same({ 35, 42, 47 }, { p:at "udp" })
        assert.same({ 15, 34, 47 }, { p:at "ip" })
        assert.is_nil(p:at "tcp")
        assert.equal("hello", p:payload())
        assert.equal("hello", p:payload "udp")
        assert.equal(udp(2000, "hello"), p:payload "ip")
        assert.is_nil(p:payload "tcp")
        assert.has_error(function() return p:at "nothing" end)
    end)

    it("goes stale with its packet", function()
        local src <close> = assert(ringtap.memory { plain, arp })
        local kept
        for p in src:packets() do
            kept = kept or p.udp
        end
        assert.has_error(function() return kept.dstport end)
        local other <close> = assert(ringtap.memory { plain, arp })
        local own = other:next(0)
        local layer = own.udp
        assert.equal(2000, layer.dstport)
        other:next(0, own)
        assert.has_error(function() return layer.dstport end, "stale layer: its packet was used again for another one")
    end)
end)

describe("an extractor", function()
    it("gives the same as the key", function()
        local dport, src = ringtap.field "udp.dstport", ringtap.field "ip.src#2"
        assert.equal(2000, dport(packet(plain)))
        assert.is_nil(dport(packet(arp)))
        assert.equal("192.0.2.1", src(packet(tunnel)))
        assert.has_error(function() dport "plain" end)
        assert.has_error(function() ringtap.field(1) end)
        assert.has_error(function() ringtap.field() end)
    end)

    it("sees every packet of a loop", function()
        local dport = ringtap.field "udp.dstport"
        local list = {}
        for i = 1, 100 do
            list[i] = head .. ipv4(17, udp(i, ""))
        end
        local src <close> = assert(ringtap.memory(list))
        local n = 0
        for p in src:packets() do
            n = n + 1
            assert.equal(n, dport(p))
            assert.equal(n, p["udp.dstport"])
        end
        assert.equal(100, n)
    end)
end)

describe("a loop over fields", function()
    it("gives all values at once", function()
        local src <close> = assert(ringtap.memory { plain, arp, tunnel })
        local seen = {}
        for from, port, len, number in src:fields("ip.src", "udp.dstport", "frame.len", "frame.number") do
            seen[#seen + 1] = ("%s %s %s %s"):format(from, port, len, number)
        end
        assert.same({ "192.0.2.1 2000 47 1", "false nil 42 2", "192.0.2.1 53 66 3" }, seen)
    end)

    it("takes options, one column, and many", function()
        local src <close> = assert(ringtap.memory({ plain }, { ["repeat"] = 10 }))
        local n = 0
        for port in src:fields("udp.dstport", { count = 4 }) do
            n = n + 1
            assert.equal(2000, port)
        end
        assert.equal(4, n)
        local names = ringtap.field_names "^ip%.[a-z_]+$"
        for _ in src:fields(table.unpack(names)) do
            n = n + 1
        end
        assert.equal(10, n)
        assert.has_error(function() src:fields() end)
        assert.has_error(function() src:fields "ip.sorc" end)
        assert.has_error(function() src:fields("ip.src", { counts = 1 }) end)
    end)

    it("ends when the source is closed or stopped", function()
        local src = assert(ringtap.memory({ plain }, { ["repeat"] = 10 }))
        local n = 0
        assert.has_error(function()
            for _ in src:fields "ip.src" do
                n = n + 1
                if n == 3 then
                    src:close()
                end
            end
        end, "the source was closed while a loop was running")
        src = assert(ringtap.memory({ plain }, { ["repeat"] = 10 }))
        for _ in src:fields "ip.src" do
            n = n + 1
            src:stop()
        end
        assert.equal(4, n)
        src:close()
    end)

    it("survives a collector that closes its source", function()
        for _ = 1, 20 do
            local src = assert(ringtap.memory({ plain }, { ["repeat"] = 200 }))
            setmetatable({}, { __gc = function() src:close() end })
            pcall(function()
                for _, _, text in src:fields("ip.src", "data.data", "frame.protocols") do
                    assert(text)
                    local _ = { {}, {}, text .. "x" }
                end
            end)
            collectgarbage()
            src:close()
        end
    end)
end)

describe("a function of a table", function()
    local what
    setup(function()
        ringtap.protocol {
            name = "strange", on = { ["udp.port"] = 4713 },
            { "a", 8 },
            { "f", "string", size = 2, value = function(...) return what(...) end },
            { "g", "string", value = function(...) return what(...) end },
        }
    end)
    local frame = head .. ipv4(17, udp(4713, "\7xyz"))

    it("gets its bytes, the layer's and its place", function()
        what = function(bytes, layer, at, origin) return ("%s/%d/%d/%d"):format(bytes, #layer, at, origin) end
        local p = packet(frame)
        assert.equal("xy/4/2/1", p["strange.f"])
        assert.equal("/4/4/1", p["strange.g"])
        assert.same({ "xy/4/2/1" }, p:texts "strange.f")
    end)

    it("may say that there is nothing", function()
        what = function() return nil end
        local p = packet(frame)
        assert.is_nil(p["strange.f"])
        assert.same({}, p:all "strange.f")
        assert.same({}, p:texts "strange.f")
        assert.is_nil(p:show():find("strange.f", 1, true))
        local src <close> = assert(ringtap.memory { frame })
        for f, a in src:fields("strange.f", "strange.a") do
            assert.same({ false, 7 }, { f, a })
        end
    end)

    it("may raise", function()
        what = function() error "oh" end
        local p = packet(frame)
        assert.has_error(function() return p["strange.f"] end)
        assert.equal(7, p["strange.a"])
        local src <close> = assert(ringtap.memory { frame })
        local step = src:fields("strange.f", "strange.a")
        assert.has_error(step)
    end)

    it("may close the source, step the loop and declare protocols", function()
        local src = assert(ringtap.memory({ frame }, { ["repeat"] = 10 }))
        what = function()
            src:close()
            collectgarbage()
            return "x"
        end
        assert.has_error(function()
            for _ in src:fields("strange.a", "strange.f", "strange.g", "data.data") do
            end
        end)
        src = assert(ringtap.memory({ frame }, { ["repeat"] = 10 }))
        local step = src:fields("strange.a", "strange.f", "strange.g")
        what = function()
            step()
            return "x"
        end
        assert.has_error(step)
        src:close()
        what = function()
            ringtap.protocol { name = "stranger", on = { ["udp.port"] = 4714 }, { "a", 8 } }
            return "x"
        end
        src = assert(ringtap.memory({ frame }, { ["repeat"] = 3 }))
        local n = 0
        for a, f, g in src:fields("strange.a", "strange.f", "strange.g") do
            n = n + 1
            assert.same({ 7, "x", "x" }, { a, f, g })
        end
        assert.equal(3, n)
        src:close()
    end)
end)

describe("a layer in a tunnel", function()
    it("stays what it was when another packet is asked meanwhile", function()
        local inner_ip = string.pack(">I1I1I2I2I2I1I1I2", 0x45, 0, 20, 1, 0, 64, 59, 0) .. "\10\0\0\2" .. "\10\0\0\3"
        local a, b = packet(head .. ipv4(4, inner_ip)), packet(plain)
        local inner = a["ip#2"]
        assert.equal("10.0.0.2", inner.src)
        assert.equal("192.0.2.1", b["ip.src"])
        assert.equal("10.0.0.2", inner.src)
    end)
end)

describe("what broke", function()
    local support = require "spec.support"
    local function run(body)
        local build = os.getenv "RINGTAP_BUILD" or ".build"
        return support.run(("LUA_PATH='lua/?.lua;lua/?/init.lua;;' LUA_CPATH='%s/lib/?.so;;' lua5.4 -e %s"):format(
            build, support.quote(body)))
    end

    it("finalizers that come after the fieldset's, and after the state's", function()
        for _, body in ipairs {
            [[local r = require "ringtap" local p = r.memory { ("x"):rep(60) }:next(0)
              do local t = setmetatable({}, { __gc = function(t) pcall(t.ext, p) end }) t.ext = r.field "ip.src" end
              collectgarbage() print "good"]],
            [[local t = setmetatable({}, { __gc = function(t)
                  pcall(function() return t.p["ip.src"] end) pcall(function() return t.p:layers() end)
                  pcall(t.r.protocol, { name = "late", { "a", 8 } })
              end })
              t.r = require "ringtap" t.p = t.r.memory { ("x"):rep(60) }:next(0)
              local _ = t.p["ip.src"], t.p:all "ip.src" print "good"]],
        } do
            local status, out = run(body)
            assert.same({ 0, "good\n" }, { status, out })
        end
    end)

    it("tables that lead nowhere or to themselves", function()
        local function refused(def)
            local ok, err = pcall(ringtap.protocol, def)
            assert.is_false(ok)
            return err
        end
        assert.matches("depends on itself", refused { name = "x2",
            checksum = { field = "c", when = "$checksum" }, { "c", 16 } })
        assert.matches("out of range", refused { name = "x2", { "r", "frame:6" } })
        assert.matches("frame", refused { name = "x2", next = { "frame" }, { "a", 8 } })
        assert.matches("NTP", (refused { name = "x2", { "t", "ntp", bits = 8 } }:gsub("out of range", "NTP")))
        assert.matches("1 to 8 bytes", refused { name = "x2", { "a", "uint", size = 9 } })
        assert.matches("a key is an integer", refused { name = "x2", on = { ["udp.port"] = 70000 }, { "a", 8 } })
    end)

    it("names that end in the middle of a pointer, and chains of pointers", function()
        ringtap.protocol { name = "x3", on = { ["udp.port"] = 4715 }, { "n", "name", size = 1 } }
        assert.equal("<Invalid name>", packet(head .. ipv4(17, udp(4715, "\xc0")) .. ("\0"):rep(20))["x3.n"])
        -- a message of questions whose names are pointers to pointers
        local parts = { string.pack(">I2I2I2I2I2I2", 1, 0, 700, 0, 0, 0), "\0\0\1\0\1" }
        local at, last = 17, 12
        for _ = 2, 700 do
            parts[#parts + 1] = string.pack(">I2I2I2", 0xc000 | last, 1, 1)
            last, at = at, at + 6
        end
        local p = packet(head .. ipv4(17, udp(53, table.concat(parts))))
        local begin = os.clock()
        assert.is_true(#p:all "dns.qry.name" > 100)
        assert.matches("a name ", p.malformed)
        assert.is_true(os.clock() - begin < 0.1)
    end)

    it("an address without bytes does not become the text of zeroes", function()
        ringtap.protocol { name = "x4", on = { ["udp.port"] = 4716 }, { "e", "ether", value = "1" }, { "a", 8 } }
        local _ = packet(head .. ipv4(17, udp(4716, "x")))["x4.e"]
        assert.equal("00:00:00:00:00:00", packet(("\0"):rep(60))["eth.src"])
    end)

    it("fields of a protocol that was declared again without them are unknown", function()
        ringtap.protocol { name = "x5", { "a", 8 } }
        ringtap.field "x5.a"
        ringtap.protocol { name = "x5", { "b", 8 } }
        assert.has_error(function() ringtap.field "x5.a" end)
        ringtap.field "x5.b"
    end)

    it("ports that were another protocol's go back to it", function()
        ringtap.protocol { name = "x6", on = { ["udp.port"] = 5003, ["tcp.port"] = 5004 }, { "a", 8 } }
        local query = head .. ipv4(17, udp(53, string.pack(">I2I2I2I2I2I2", 7, 0, 0, 0, 0, 0)))
        assert.equal(7, packet(query)["dns.id"])
        ringtap.proto.x6.ports = { 53 }
        assert.is_nil(packet(query)["dns.id"])
        assert.is_truthy(packet(query).x6)
        assert.is_nil(packet(head .. ipv4(17, udp(5003, "x"))).x6)
        ringtap.proto.x6.ports = { 6001 }
        assert.equal(7, packet(query)["dns.id"])
        assert.is_truthy(packet(head .. ipv4(17, udp(6001, "x"))).x6)
    end)

    it("a version that isn't the one that was announced", function()
        assert.matches("version", packet(head .. "\x60" .. plain:sub(16)).malformed)
        assert.matches("version", packet(hex "020000000002 020000000001 86dd" .. plain:sub(15)).malformed)
        assert.matches("version", packet("\x35" .. plain:sub(16), 228).malformed)
        assert.is_nil(packet(plain:sub(15), 228).malformed)
    end)
end)

describe("the engine", function()
    it("refuses tables that nobody wrote by hand", function()
        local core = require "ringtap.core"
        local compile, tree = require "ringtap.protocol.compile", require "ringtap.protocol.tree"
        local function flat()
            return compile(tree.check {
                name = "x", header = "a + 1", next = { { table = "t", key = "b" }, { "udp", when = "a == 1" } },
                { "a", 8, values = { [1] = "one" } }, { "b", "bytes", size = "a" },
                { loop = "a", list = "l", { "c", 3 }, { switch = "c", cases = { [1] = { { "d", 5 } } } } },
            })
        end
        core._define(flat())
        math.randomseed(1)
        -- any number in it replaced by any other: an error or a definition, and then a packet is decoded with it
        for _ = 1, 3000 do
            local t = flat()
            t.name = "udp_x"
            local spots = {}
            local function collect(where)
                for k, v in pairs(where) do
                    if type(v) == "table" then
                        collect(v)
                    else
                        spots[#spots + 1] = { where, k }
                    end
                end
            end
            collect(t)
            local spot = spots[math.random(#spots)]
            spot[1][spot[2]] = ({ -1, 0, 1, 2, 7, 40, 255, 65535, 1 << 31, math.maxinteger, math.mininteger, "x", false,
                {} })[math.random(14)]
            if pcall(core._define, t) and pcall(core._bind, "udp.port", 4720, "udp_x") then
                local p = packet(head .. ipv4(17, udp(4720, ("\1\2\3\4"):rep(20))))
                pcall(p.show, p)
            end
        end
        core._bind("udp.port", 4720)
    end)
end)
