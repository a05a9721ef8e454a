-- Handles, copies, holds, and bytes as the string library has them.
local ringtap = require "ringtap"

local stale = "stale packet: it was valid until the loop's next step %(use pkt:copy%(%) or pkt:hold%(%)%)"
local frame = "\2\0\0\0\0\2\2\0\0\0\0\1\8\0" .. ("0123456789"):rep(5)

local function frames(n)
    local list = {}
    for i = 1, n do
        list[i] = { frame .. string.pack(">I4", i), time = 1000 + i }
    end
    return list
end

local function first(src)
    local step = src:packets()
    local pkt = step()
    step()
    return pkt
end

describe("a borrowed packet", function()
    it("is stale after the loop's next step", function()
        local kept
        for pkt in ringtap.memory(frames(3)):packets() do
            if kept then
                assert.has_error(function() return kept.len end,
                    "stale packet: it was valid until the loop's next step (use pkt:copy() or pkt:hold())")
                assert.error_matches(function() return #kept end, stale)
                assert.error_matches(function() return tostring(kept) end, stale)
                assert.error_matches(function() return pkt.sub(kept, 1, 2) end, stale)
            end
            kept = pkt
        end
        assert.error_matches(function() return kept:bytes() end, stale)
    end)

    it("is stale after break", function()
        local src = ringtap.memory(frames(3))
        local kept
        for pkt in src:packets() do
            kept = pkt
            if kept then
                break
            end
        end
        assert.error_matches(function() return kept.time end, stale)
        -- the source goes on where the loop was left
        assert.equal(1002, src:next().time)
    end)

    it("is stale after an error in the loop", function()
        local src = ringtap.memory(frames(3))
        local kept
        assert.is_false(pcall(function()
            for pkt in src:packets() do
                kept = pkt
                error("out")
            end
        end))
        assert.error_matches(function() return kept.time end, stale)
        assert.is_false(pcall(src.each, src, function(pkt)
            kept = pkt
            error("out")
        end))
        assert.error_matches(function() return kept.time end, stale)
    end)

    it("is stale after the source was closed, inside the loop too", function()
        local src = ringtap.memory(frames(3))
        local ok, message = pcall(function()
            for pkt in src:packets() do
                src:close()
                assert.error_matches(function() return pkt.len end, stale)
            end
        end)
        assert.is_false(ok)
        assert.matches("closed", message)
    end)

    it("is stale after the source was collected", function()
        local kept
        do
            local src = ringtap.memory(frames(3))
            local step = src:packets()
            kept = step()
            assert.equal(1001, kept.time)
        end
        collectgarbage()
        collectgarbage()
        assert.error_matches(function() return kept.len end, stale)
    end)

    it("is never taken for a packet of a later loop in the same slot", function()
        local src = ringtap.memory(frames(1))
        local kept = first(src)
        for _ = 1, 1000 do
            for _ in ringtap.memory(frames(2)):packets() do
                assert.is_false(pcall(function() return kept.len end))
            end
        end
    end)

    it("can't be changed and has no unknown fields", function()
        for pkt in ringtap.memory(frames(1)):packets() do
            assert.error_matches(function() pkt.len = 3 end, "can't be changed")
            assert.error_matches(function() return pkt.lenn end, "no field or method 'lenn'")
            assert.error_matches(function() return pkt[1] end, "no field or method '1'")
        end
    end)

    it("keeps apart from other light userdata", function()
        local other = require("ringtap.core")._packet_names
        assert.is_table(other)
        local file = io.stdout
        assert.error_matches(function() return ringtap.memory({}).next(file) end, "source expected")
        for pkt in ringtap.memory(frames(1)):packets() do
            assert.error_matches(function() return pkt.byte("x") end, "packet expected, got string")
            assert.error_matches(function() return pkt.byte(file) end, "packet expected")
        end
    end)
end)

describe("nested loops", function()
    it("share the source and keep their own packets", function()
        local src = ringtap.memory(frames(6))
        local seen = {}
        for outer in src:packets() do
            for inner in src:packets { count = 1 } do
                seen[#seen + 1] = outer.time * 10000 + inner.time
            end
        end
        assert.same({ 10011002, 10031004, 10051006 }, seen)
    end)

    it("can be 4096 at once, not more, and come back", function()
        local src = ringtap.memory(frames(1))
        do
            local loops = {}
            local ok, message = pcall(function()
                for i = 1, 5000 do
                    loops[i] = src:packets()
                end
            end)
            assert.is_false(ok)
            assert.is_true(#loops > 4000 and #loops <= 4096)
            assert.matches("too many packet loops", message)
        end
        collectgarbage()
        collectgarbage()
        assert.equal(1001, src:next().time)
    end)
end)

describe("a copy", function()
    it("has everything that the packet had", function()
        local copies = {}
        for pkt in ringtap.memory(frames(20)):packets() do
            copies[#copies + 1] = pkt:copy()
        end
        collectgarbage()
        for i, pkt in ipairs(copies) do
            assert.equal(1000 + i, pkt.time)
            assert.equal(frame .. string.pack(">I4", i), pkt:bytes())
            assert.equal("memory", pkt.interface)
            assert.equal(68, pkt.len)
            assert.equal(68, #pkt)
            assert.equal(1, pkt.linktype)
        end
    end)

    it("uses memory again", function()
        local sizes = { 20, 2000, 30, 60000, 1, 60000, 100 }
        local list = {}
        for i, n in ipairs(sizes) do
            list[i] = string.char(i):rep(n)
        end
        local src = ringtap.memory(list)
        local into = src:next()
        for i = 2, #sizes do
            local again = src:next(0, into)
            assert.equal(into, again)
            collectgarbage()
            assert.equal(list[i], into:bytes())
        end
        local pkt, reason = src:next(0, into)
        assert.is_nil(pkt)
        assert.equal("end", reason)
        assert.equal(list[#list], into:bytes())
        assert.equal(into, into:copy(into))
        assert.error_matches(function() src:next(0, "x") end, "packet made by copy")
    end)

    it("is its own hold", function()
        local pkt = ringtap.memory(frames(1)):next()
        assert.equal(pkt, pkt:hold())
        pkt:release()
        assert.equal(68, #pkt)
    end)
end)

describe("a held packet", function()
    it("outlives the loop, the source and a collection", function()
        local held = {}
        do
            local src = ringtap.memory(frames(100), { block_size = 4096 })
            for pkt in src:packets() do
                held[#held + 1] = pkt:hold()
            end
            src:close()
        end
        collectgarbage()
        collectgarbage()
        for i, pkt in ipairs(held) do
            assert.equal(string.pack(">I4", i), pkt:sub(-4))
            assert.equal("memory", pkt.interface)
            pkt:release()
            pkt:release()
            assert.error_matches(function() return pkt.len end, "released packet")
        end
    end)

    it("is released by <close>", function()
        local escaped
        for pkt in ringtap.memory(frames(1)):packets() do
            local held <close> = pkt:hold()
            local second = held:hold()
            second:release()
            escaped = held
            assert.equal(68, held.len)
        end
        assert.error_matches(function() return escaped.len end, "released packet")
    end)

    it("that is forgotten is given back when the ring needs it", function()
        local src = ringtap.memory(frames(2), { ["repeat"] = 1000 })
        local n = 0
        for pkt in src:packets() do
            n = n + 1
            if n % 500 == 0 then
                pkt:hold()
            end
        end
        assert.equal(2000, n)
    end)

    it("that is kept while the ring is needed is an error, not a wait for ever", function()
        local src = ringtap.memory(frames(2), { ["repeat"] = 10 })
        local held
        local ok, message = pcall(function()
            for pkt in src:packets() do
                held = held or pkt:hold()
            end
        end)
        assert.is_false(ok)
        assert.matches("held: release its packets first", message)
        assert.equal(string.pack(">I4", 1), held:sub(-4))
    end)
end)

describe("bytes of a packet", function()
    local data = frame .. "\0\1\2\3\4\5\6\7zero\0end"
    local pkt = ringtap.memory({ data }):next()
    local positions = { 1, 2, 5, 14, #data - 1, #data, #data + 1, 500, 0, -1, -2, -#data, -#data - 1, -500,
        math.maxinteger, math.mininteger }

    it("are read as string.byte and string.sub read them", function()
        assert.equal(data, pkt:bytes())
        for _, i in ipairs(positions) do
            assert.same({ data:byte(i) }, { pkt:byte(i) })
            assert.equal(data:sub(i), pkt:sub(i))
            for _, j in ipairs(positions) do
                assert.equal(data:sub(i, j), pkt:sub(i, j))
                assert.same({ data:byte(i, j) }, { pkt:byte(i, j) })
            end
        end
    end)

    it("are found as string.find finds plain text", function()
        for _, s in ipairs { "0123", "\0end", "", "not there", data, data .. "x", "\2" } do
            for _, i in ipairs(positions) do
                assert.same({ data:find(s, i, true) }, { pkt:find(s, i) })
            end
            assert.same({ data:find(s, 1, true) }, { pkt:find(s) })
        end
    end)

    it("are unpacked as string.unpack unpacks them", function()
        local formats = { "b", "B", "h", "H", "l", "L", "j", "J", "T", "i", "I", "i3", "I3", "<I5", ">I5", "i7", "I8",
            ">i16", "f", "d", "n", "<f", ">d", "s1", ">s1", "z", "c3", "c0", "x", "xx b", "!4 b i4", "!8 b d", "! b j",
            "!2 b Xi4 i4", "<!4 I1 I2 I4", ">I2I2I4", "= i4", "", " ", "<i16" }
        for _, fmt in ipairs(formats) do
            for _, at in ipairs { 1, 2, 13, 60, 66, 70, #data, #data + 1, -3, -8 } do
                local want = table.pack(pcall(string.unpack, fmt, data, at))
                local got = table.pack(pcall(pkt.unpack, pkt, fmt, at))
                assert.equal(want[1], got[1], fmt .. " at " .. at)
                if want[1] then
                    want[1], got[1] = nil, nil
                    if fmt:find("[fdn]") then -- a NaN is not equal to itself
                        want[2], got[2] = tostring(want[2]), tostring(got[2])
                    end
                    assert.same(want, got, fmt .. " at " .. at)
                end
            end
        end
    end)

    it("refuse the formats that string.unpack refuses", function()
        for _, fmt in ipairs { "i17", "i0", "q", "c", "Xz", "X", "!3 i4", "!17", "s20" } do
            assert.is_false(pcall(string.unpack, fmt, data), fmt)
            assert.is_false(pcall(pkt.unpack, pkt, fmt), fmt)
        end
        assert.is_false(pcall(pkt.unpack, pkt, "B", #data + 2))
        assert.is_false(pcall(pkt.unpack, pkt, "c2147483647"))
        assert.is_false(pcall(pkt.unpack, pkt, "!8 b c2147483647"))
    end)

    it("are dumped whole", function()
        local hex = pkt:hex()
        local back = {}
        for line in hex:gmatch("[^\n]+") do
            local digits = line:match("^\t0x%x%x%x%x:  (.-)  ")
            back[#back + 1] = digits:gsub(" ", ""):gsub("%x%x", function(h) return string.char(tonumber(h, 16)) end)
        end
        assert.equal(data, table.concat(back))
    end)
end)

describe("the tag", function()
    local function vlan(bytes)
        return ringtap.memory({ bytes }):next().vlan
    end

    it("is read with all of its parts", function()
        local head = "\2\0\0\0\0\2\2\0\0\0\0\1"
        assert.is_nil(vlan(frame))
        assert.same({ id = 5, priority = 3, dei = true, tpid = 0x8100, restored = false },
            vlan(head .. "\x81\x00\x70\x05\x08\x00"))
        assert.same({ id = 0, priority = 0, dei = false, tpid = 0x88a8, restored = false },
            vlan(head .. "\x88\xa8\x00\x00\x08\x00"))
        assert.is_nil(vlan(head .. "\x81\x00\x70"))
        assert.is_nil(vlan(head))
        assert.is_nil(vlan(""))
    end)
end)
