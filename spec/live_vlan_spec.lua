-- VLAN tags of a live source: what the kernel takes out is put back, and a filter means the same on every way.
local ringtap = require "ringtap"
local support = require "support"
local live = require "support.live"

local root_it = live.root and it or pending

local ns, dns

setup(function()
    if live.root then
        ns = support.namespaces()
    end
    dns = live.ipv4 { sport = 40000, dport = 53 }
end)

teardown(support.cleanup)

--- All packets of a source that are there, copied.
local function collect(src, count)
    local packets = {}
    for pkt in src:packets { count = count, duration = 10 } do
        packets[#packets + 1] = pkt:copy()
    end
    return packets
end

-- the kernel in b answers datagrams for a closed port
local way = { a = "out", b = "in" }

local tagged = {
    { "plain", {} },
    { "8100, VID 5", { { 0x8100, 5 } } },
    { "8100, PCP 3, DEI, VID 5", { { 0x8100, 0x7005 } } },
    { "8100, VID 0", { { 0x8100, 0 } } },
    { "8100, PCP 7, VID 0", { { 0x8100, 0xe000 } } },
    { "8100, DEI, VID 4095", { { 0x8100, 0x1fff } } },
    { "88a8, VID 100", { { 0x88a8, 100 } } },
    { "9100, VID 100", { { 0x9100, 100 } } },
    { "88a8 and 8100", { { 0x88a8, 100 }, { 0x8100, 200 } } },
    { "8100 and 8100", { { 0x8100, 0x6064 }, { 0x8100, 200 } } },
    { "9100 and 8100", { { 0x9100, 100 }, { 0x8100, 200 } } },
    { "three", { { 0x88a8, 1 }, { 0x8100, 2 }, { 0x8100, 3 } } },
    { "three, 9100 first", { { 0x9100, 1 }, { 0x88a8, 2 }, { 0x8100, 3 } } },
    { "three of 8100, VID 0", { { 0x8100, 0 }, { 0x8100, 0 }, { 0x8100, 0 } } },
}

local function tagged_frames()
    local frames = {}
    for i, t in ipairs(tagged) do
        frames[i] = live.frame(t[2], 0x0800, dns)
    end
    return frames
end

describe("tags #root", function()
    for _, side in ipairs { "b", "a" } do
        root_it("are where they were sent, " .. (side == "b" and "on the receiving side" or "on the sending side")
            .. " (A15, A16, A17)", function()
            local src <close> = live.capture(ns, side, { direction = way[side] })
            local frames = tagged_frames()
            assert.equal(#frames, live.send(ns, "a", frames))
            local packets = collect(src, #frames)
            assert.equal(#frames, #packets)
            for i, pkt in ipairs(packets) do
                local name, tags = tagged[i][1], tagged[i][2]
                assert.equal(frames[i], pkt:bytes(), name)
                assert.same({ #frames[i], #frames[i], #frames[i], false }, { pkt.len, pkt.caplen, #pkt, pkt.truncated },
                    name)
                local vlan = pkt.vlan
                if not tags[1] then
                    assert.is_nil(vlan)
                else
                    local tpid, tci = tags[1][1], tags[1][2]
                    assert.same({ id = tci & 0xfff, priority = tci >> 13, dei = tci & 0x1000 ~= 0, tpid = tpid,
                        restored = side == "b" and tpid ~= 0x9100 }, vlan, name)
                end
                assert.equal(side == "b" and "in" or "out", pkt.direction)
            end
        end)

        root_it("are cut by snaplen as if nobody had taken them out, side " .. side, function()
            for snaplen = 10, 20 do
                local src <close> = live.capture(ns, side,
                    { snaplen = snaplen, block_size = 4096, block_count = 32, direction = way[side] })
                local frames = tagged_frames()
                live.send(ns, "a", frames)
                for i, pkt in ipairs(collect(src, #frames)) do
                    local name = ("%s, snaplen %d"):format(tagged[i][1], snaplen)
                    assert.equal(frames[i]:sub(1, snaplen), pkt:bytes(), name)
                    assert.same({ #frames[i], snaplen, true }, { pkt.len, pkt.caplen, pkt.truncated }, name)
                    local tag = tagged[i][2][1]
                    assert.equal(tag and snaplen >= 16 and tag[2] & 0xfff or nil, pkt.vlan and pkt.vlan.id, name)
                end
            end
        end)

        root_it("are what ignore_vlan leaves out, side " .. side, function()
            local src <close> = live.capture(ns, side, { ignore_vlan = true, direction = way[side] })
            local frames = tagged_frames()
            frames[#frames + 1] = live.frame({}, 0x0800, live.ipv4 { dport = 54 })
            live.send(ns, "a", frames)
            local packets = collect(src, 2)
            assert.same({ frames[1], frames[#frames] }, { packets[1]:bytes(), packets[2]:bytes() })
            assert(src:drain())
            assert.is_nil(src:next())
            assert.equal(2, src:stats().matched)
        end)
    end

    root_it("are in large frames, in wrapped rings and in held packets as they are in the first one", function()
        local src <close> = live.capture(ns, "b", { block_size = 16384, block_count = 16, latency = "low",
            filter = "ether proto 0x88b5 or ether proto 0x8100" })
        local payload = ("0123456789"):rep(145)
        local list, held = {}, {}
        for i = 1, 200 do
            local tci = i % 3 * 0x2000 + i
            list[i] = live.frame(i % 2 == 0 and { { 0x88a8, tci }, { 0x8100, i } } or { { 0x8100, tci } }, 0x88b5,
                (">I4"):pack(i) .. payload)
        end
        local n = 0
        for from = 1, 200, 8 do
            live.send(ns, "a", table.move(list, from, from + 7, 1, {}))
            for pkt in src:packets { count = 8, duration = 10 } do
                n = n + 1
                assert(list[n] == pkt:bytes(), n)
                local place = (n - 1) % 3 + 1
                if held[place] then
                    held[place]:release()
                end
                held[place] = pkt:hold() -- moving a tag must not spoil what somebody looks at
                for _, h in pairs(held) do
                    assert(list[h.vlan.id] == h:bytes())
                end
            end
            for _, h in pairs(held) do
                h:release()
            end
            held = {}
        end
        assert.equal(200, n)
        assert.equal(0, src:stats().dropped)
    end)
end)

describe("any #root", function()
    root_it("has the outermost tag in the protocol field of LINUX_SLL2 (A15, A28)", function()
        local src <close> = live.capture(ns, "b", { direction = "in" }, "any")
        assert.equal(276, src:linktype())
        local frames = tagged_frames()
        live.send(ns, "a", frames)
        local packets = collect(src, #frames)
        local ifindex = tonumber((ns:must("b", "cat /sys/class/net/veth_b/ifindex")))
        local path = support.tmpdir() .. "/any.pcapng"
        local sink = assert(ringtap.write(path))
        for i, pkt in ipairs(packets) do
            local name, tags = tagged[i][1], tagged[i][2]
            -- protocol, reserved, interface, hardware type, packet type, length and bytes of the address
            local sll2 = (">I2I2I4I2I1I1"):pack(tags[1] and tags[1][1] or 0x0800, 0, ifindex, 1, 0, 6)
                .. frames[i]:sub(7, 12) .. "\0\0"
            assert.equal(sll2 .. frames[i]:sub(15), pkt:bytes(), name)
            assert.same({ #frames[i] + 6, #frames[i] + 6, 276, "veth_b", ifindex },
                { pkt.len, pkt.caplen, pkt.linktype, pkt.interface, pkt.interface_id }, name)
            assert.equal(tags[1] and tags[1][2] & 0xfff, pkt.vlan and pkt.vlan.id, name)
            assert.equal(tags[1] and tags[1][1], pkt.vlan and pkt.vlan.tpid, name)
            assert(sink:send(pkt))
        end
        assert.equal(#frames, #packets)
        assert(sink:close())
        local lines = {}
        local fields = support.must("tshark -r " .. path .. " -T fields -e vlan.id -e ieee8021ad.id")
        for line in fields:gmatch("([^\n]*)\n") do
            lines[#lines + 1] = line
        end
        for i, t in ipairs(tagged) do
            local ids = { [0x8100] = {}, [0x88a8] = {} }
            if not t[1]:find("9100") then -- tshark has another name for it
                for _, tag in ipairs(t[2]) do
                    table.insert(ids[tag[1]], tag[2] & 0xfff)
                end
                assert.equal(table.concat(ids[0x8100], ",") .. "\t" .. table.concat(ids[0x88a8], ","), lines[i], t[1])
            end
        end
    end)

    -- When a frame with two tags goes out, the kernel (6.11 and later) shows a cooked socket the outer one and what is
    -- behind the inner one, which is lost.
    local function is_shown_whole(side, tags)
        return side == "b" or #tags < 2 or tags[1][1] == 0x9100
    end

    root_it("shows what goes out with its tag as well", function()
        local src <close> = live.capture(ns, "a", { direction = "out" }, "any")
        local frames = tagged_frames()
        live.send(ns, "a", frames)
        local packets = collect(src, #frames)
        assert.equal(#frames, #packets)
        for i, pkt in ipairs(packets) do
            local name, tags = tagged[i][1], tagged[i][2]
            assert.equal("out", pkt.direction)
            assert.equal((">I2"):pack(tags[1] and tags[1][1] or 0x0800), pkt:sub(1, 2), name)
            assert.equal(tags[1] and tags[1][2] & 0xfff, pkt.vlan and pkt.vlan.id, name)
            assert.equal(dns, pkt:sub(-#dns), name)
            if is_shown_whole("a", tags) then
                assert.equal(frames[i]:sub(15), pkt:sub(21), name)
                assert.same({ #frames[i] + 6, #frames[i] + 6 }, { pkt.len, pkt.caplen }, name)
            end
        end
    end)

    root_it("leaves tagged frames out with ignore_vlan, and hides the tag from a filter", function()
        local frames = tagged_frames()
        for _, side in ipairs { "b", "a" } do
            local function any(options)
                options.direction = way[side]
                return live.capture(ns, side, options, "any")
            end
            local without <close> = any { ignore_vlan = true }
            local filtered <close> = any { filter = "udp port 53" }
            local none <close> = any { filter = "tcp or udp port 54" }
            local everything <close> = any {} -- opened last, it has a packet when the others have it
            live.send(ns, "a", frames)
            assert.equal(#frames, #collect(everything, #frames))
            assert(without:drain() and filtered:drain() and none:drain())
            local n = 0
            for pkt in without:packets() do
                n = n + 1
                assert.is_nil(pkt.vlan)
            end
            assert.equal(1, n)
            assert.equal(0, none:each(function() end))
            local got, expected = {}, {}
            for pkt in filtered:packets() do
                got[#got + 1] = pkt:sub(21)
            end
            for i, t in ipairs(tagged) do
                if #t[2] <= 1 then -- behind a second tag is no IP
                    expected[#expected + 1] = frames[i]:sub(15)
                elseif not is_shown_whole(side, t[2]) then -- it is not seen
                    expected[#expected + 1] = (">I2I2"):pack(t[2][1][2], 0x0800) .. dns
                end
            end
            assert.same(expected, got)
        end
    end)
end)

describe("one expression #root", function()
    local names = { "plain", "v100", "v100 prio 2", "v0", "qinq" }
    local tags = { {}, { { 0x8100, 100 } }, { { 0x8100, 0x4064 } }, { { 0x8100, 0 } },
        { { 0x88a8, 100 }, { 0x8100, 200 } } }

    local expressions = {
        "ip", "ip6", "arp", "udp", "tcp", "not ip", "not arp", "udp port 53", "udp dst port 53", "port 54",
        "udp port 53 and not host 192.0.2.1", "host 192.0.2.1", "src host 192.0.2.1 and dst host 192.0.2.2",
        "net 192.0.2.0/24", "net 198.51.100.0/24", "ether proto 0x8100", "ether proto 0x88a8", "ether proto 0x0800",
        "ether proto \\ip or ether proto 0x8100", "ether host 02:00:00:00:00:0a", "ether dst 02:00:00:00:00:0b",
        "ether broadcast", "ether[12:2] = 0x8100", "ether[12:2] = 0x0800", "ether[14:2] = 100", "ether[14] = 0x45",
        "ether[16:2] = 0x0800", "ether[0] & 1 = 0", "len > 60", "len > 68", "len > 72", "len <= 70", "greater 72",
        "less 68", "ip[8] = 64", "ip[2:2] = 54", "udp[4:2] = 34", "udp[8] = 0x70", "ip proto 17", "ip and len = 68",
        "ip or arp", "ip and not udp", "(ip or ip6) and udp", "ether proto 0x8100 or udp", "link[12:2] = 0x88a8",
        "icmp or (udp and len > 66)", "",
        -- these say it
        "vlan", "not vlan", "vlan 100", "vlan 200", "vlan 0", "not vlan 100", "vlan and ip", "vlan and udp port 53",
        "ip or (vlan and ip)", "(vlan and ip) or ip", "vlan 100 and vlan 200", "vlan 100 and ip",
        "vlan 100 and vlan", "vlan and vlan", "vlan and vlan and ip", "vlan and vlan and udp port 53",
        "vlan 100 and vlan 200 and udp", "vlan 200 and vlan 100", "vlan and not ip", "not (vlan and ip)",
        "vlan and len > 72", "vlan and ether[12:2] = 0x8100", "vlan and ether[14:2] & 0xe000 = 0x4000",
        "vlan 100 or vlan 200", "vlan and ether proto 0x8100", "ether proto 0x88a8 and vlan", "len > 72 or vlan",
        "vlan 100 and host 192.0.2.1", "udp or (vlan and udp)", "(vlan or ip) and len > 60",
        "not vlan and udp port 53", "vlan and ether[16:2] = 0x0800", "vlan and ip[8] = 64",
    }

    --- What libpcap itself says on a file: "11001" by frame.
    local function tcpdump(path, expression)
        local bits = { "0", "0", "0", "0", "0" }
        local status, out, err = support.run(("tcpdump -tt -n -r %s %s"):format(path, support.quote(expression)))
        assert(status == 0, err)
        for second in out:gmatch("17000000(%d%d)%.") do
            bits[tonumber(second)] = "1"
        end
        return table.concat(bits)
    end

    --- The same from packets.
    local function bits_of(frames, packets)
        local bits = {}
        for i, frame in ipairs(frames) do
            bits[i] = "0"
            for _, bytes in ipairs(packets) do
                if bytes == frame then
                    bits[i] = "1"
                end
            end
        end
        return table.concat(bits)
    end

    root_it("has one meaning live, from the file and on owned packets: that of libpcap (A18)", function()
        assert.is_true(#expressions >= 80)
        local frames, outer = {}, {}
        for i in ipairs(names) do
            frames[i] = live.frame(tags[i], 0x0800, dns)
            outer[i] = live.frame(table.move(tags[i], 2, #tags[i], 1, {}), 0x0800, dns)
        end
        local directory = support.tmpdir()
        live.write_pcap(directory .. "/wire.pcap", frames)
        live.write_pcap(directory .. "/outer.pcap", outer)

        local ring = { block_size = 4096, block_count = 8 }
        local sources = {}
        for i, expression in ipairs(expressions) do
            ring.filter = expression
            sources[i] = { b = live.capture(ns, "b", ring), a = live.capture(ns, "a", ring) }
            -- a program of the kernel's own, not a match-all with a second look
            assert.equal("kernel", sources[i].b:stats().filter_engine)
        end
        local all <close> = live.capture(ns, "b", { direction = "in" })
        assert.equal(5, live.send(ns, "a", frames))
        local owned = collect(all, 5)
        local file = directory .. "/live.pcapng"
        do
            local sink <close> = assert(ringtap.write(file, { source = all }))
            for _, pkt in ipairs(owned) do
                assert(sink:send(pkt))
            end
        end

        local wrong = {}
        for i, expression in ipairs(expressions) do
            local says = (" " .. expression .. " "):find("[^%w]vlan[^%w]")
            local expected = tcpdump(directory .. (says and "/wire.pcap" or "/outer.pcap"), expression)
            local got = {}
            for _, side in ipairs { "a", "b" } do
                local src = sources[i][side]
                assert(src:drain())
                local packets = {}
                for bytes in src:bytes() do
                    packets[#packets + 1] = bytes
                end
                got["live " .. side] = bits_of(frames, packets)
            end
            local packets = {}
            for bytes in assert(ringtap.read(file, { filter = expression })):bytes() do
                packets[#packets + 1] = bytes
            end
            got.file = bits_of(frames, packets)
            local filter = assert(ringtap.filter.compile(expression))
            packets = {}
            for _, pkt in ipairs(owned) do
                if filter:matches(pkt) then
                    packets[#packets + 1] = pkt:bytes()
                end
            end
            got.owned = bits_of(frames, packets)
            for how, bits in pairs(got) do
                if bits ~= expected then
                    wrong[#wrong + 1] = ("'%s': %s %s, libpcap %s"):format(expression, how, bits, expected)
                end
            end
        end
        assert.same({}, wrong)

        -- what libpcap finds to match nothing is an error here, too
        local _, _, err = support.run("tcpdump -n -r " .. directory .. "/wire.pcap 'ip and vlan'")
        assert.matches("expression rejects all packets", err)
        local bad = "ip and vlan"
        for _, message in ipairs { (select(2, ringtap.filter.compile(bad))),
            (select(2, ringtap.read(file, { filter = bad }))),
            (select(2, ringtap.capture("veth_b", { netns = ns.b, filter = bad }))) } do
            assert.matches("expression rejects all packets", message)
        end
        for i = #sources, 1, -1 do
            sources[i].a:close()
            sources[i].b:close()
        end
    end)
end)
