-- PACKET_FANOUT: several sources share the packets of an interface.
local ringtap = require "ringtap"
local support = require "support"
local live = require "support.live"

local root_it = live.root and it or pending

local ns
local flows, rounds = 32, 10
local frames -- flow after flow, `rounds` times; the payload says which flow and which round

setup(function()
    if live.root then
        ns = support.namespaces()
    end
    frames = {}
    for round = 1, rounds do
        for flow = 1, flows do
            -- for a neighbour, so that b does not answer
            frames[#frames + 1] = "\2\0\0\0\0\x77" .. live.frame({}, 0x0800, live.ipv4 { sport = 20000 + 7 * flow,
                dport = 9, payload = (">I2I2"):pack(flow, round) .. ("."):rep(22) }):sub(7)
        end
    end
end)

teardown(support.cleanup)

local function member(fanout, options, ifname)
    local o = { direction = "in", filter = "udp", block_size = 16384, block_count = 256, fanout = fanout }
    for k, v in pairs(options or {}) do
        o[k] = v
    end
    return live.capture(ns, "b", o, ifname)
end

--- Members of one new group.
local function group(n, fanout)
    local members = { member(fanout) }
    local id = members[1]:stats().fanout_id
    assert.equal("integer", math.type(id))
    assert.is_true(id >= 0 and id <= 65535)
    for i = 2, n do
        local f = { id = id }
        for k, v in pairs(fanout) do
            f[k] = v
        end
        members[i] = member(f)
        assert.equal(id, members[i]:stats().fanout_id)
    end
    return members, id
end

local function close(members)
    for _, src in ipairs(members) do
        src:close()
    end
end

--- Send the frames and take what the members got: for each frame the member, and how many each has. An error unless
--- every frame is on exactly one. small: the rings may have been too small.
local function share(members, small)
    local sent = live.send(ns, "a", frames)
    assert.equal(#frames, sent)
    local owner, count, total, dropped = {}, {}, 0, 0
    for i = 1, #members do
        count[i] = 0
    end
    for _ = 1, 100 do
        dropped = 0
        for i, src in ipairs(members) do
            local pkt = src:next(0.01)
            while pkt do
                local flow, round = pkt:unpack(">I2I2", live.payload)
                local index = (round - 1) * flows + flow
                assert.is_nil(owner[index])
                assert.equal(frames[index], pkt:bytes())
                owner[index] = i
                count[i], total = count[i] + 1, total + 1
                pkt = src:next(0)
            end
            dropped = dropped + src:stats().dropped
        end
        if total + dropped >= sent then
            break
        end
    end
    for _, src in ipairs(members) do
        assert.is_nil(src:next(0.02))
    end
    assert.equal(sent, total + dropped)
    assert(small or dropped == 0)
    return owner, count
end

--- The member of each flow; an error when a flow is on two.
local function assert_flows_whole(owner)
    for flow = 1, flows do
        for round = 2, rounds do
            assert.equal(owner[flow], owner[(round - 1) * flows + flow])
        end
    end
end

local function busy(count)
    local n = 0
    for _, c in ipairs(count) do
        n = n + (c > 0 and 1 or 0)
    end
    return n
end

describe("fanout #root", function()
    root_it("by hash shares datagrams, each on one member, no flow on two", function()
        for _, fanout in ipairs { {}, { mode = "hash" }, { mode = "hash", rollover = true } } do
            local members = group(4, fanout)
            local owner, count = share(members)
            assert_flows_whole(owner)
            assert.is_true(busy(count) >= 3) -- 32 flows: that two of four get none is next to impossible
            members[4]:close()
            members[4] = nil
            owner, count = share(members) -- the others have it all
            assert_flows_whole(owner)
            assert.is_true(busy(count) >= 2)
            close(members)
        end
    end)

    root_it("in turn gives each member the same number", function()
        local members = group(4, { mode = "lb" })
        local _, count = share(members)
        local each = #frames // 4
        assert.same({ each, each, each, each }, count)
        close(members)
    end)

    root_it("by CPU, by queue and at random loses and doubles nothing", function()
        for _, mode in ipairs { "cpu", "qm", "rnd" } do
            local members = group(3, { mode = mode })
            local _, count = share(members)
            assert.is_true(busy(count) >= (mode == "rnd" and 3 or 1), mode)
            if mode == "qm" then
                assert.equal(1, busy(count)) -- the interface has one queue
            end
            close(members)
        end
    end)

    root_it("by rollover fills one ring, then the next", function()
        local first = member({ mode = "rollover" }, { block_size = 4096, block_count = 2 })
        local id = first:stats().fanout_id
        local second = member { mode = "rollover", id = id }
        local _, count = share({ first, second }, true)
        assert.is_true(count[1] > 0 and count[2] > 0)
        close { first, second }
    end)

    root_it("by a program goes where it says", function()
        -- the program sees the packet from the network layer on: last byte of the flow's number
        local program = { { code = 0x30, jt = 0, jf = 0, k = 20 + 8 + 1 }, { code = 0x16, jt = 0, jf = 0, k = 0 } }
        local members = group(4, { mode = "cbpf", program = program })
        local owner, count = share(members)
        assert.same({ 80, 80, 80, 80 }, count)
        for index = 1, #frames do
            local flow = (index - 1) % flows + 1
            assert.equal(flow % 4 + 1, owner[index])
        end
        close(members)
    end)

    root_it("puts fragments together first, if asked to (B03)", function()
        local blast = support.compile("udp_blast.c")
        local commands = {}
        for port = 1, 16 do
            commands[port] = ("%s %s %s %d 2 0 3000"):format(blast, ns.a_ip, ns.b_ip, 9000 + port)
        end
        local function spread(defrag)
            local members = group(4, { defrag = defrag })
            ns:must("a", table.concat(commands, "\n"))
            local owner, count, lens, fragments = {}, 0, {}, 0
            for i, src in ipairs(members) do
                for pkt in src:packets { idle = 0.3 } do
                    local frag, port = pkt:unpack(">I2", 21), pkt:unpack(">I2", 37)
                    assert.is_false(pkt.truncated)
                    count = count + 1
                    lens[pkt.len] = (lens[pkt.len] or 0) + 1
                    if frag & 0x3fff ~= 0 then
                        fragments = fragments + 1
                    end
                    if frag & 0x1fff == 0 then
                        assert.is_true(owner[port] == nil or owner[port] == i, "a flow on two members")
                        owner[port] = i
                        assert.equal(3008, (pkt:unpack(">I2", 39)))
                    end
                end
            end
            close(members)
            local used = {}
            for _, i in pairs(owner) do
                used[i] = true
            end
            local n = 0
            for _ in pairs(used) do
                n = n + 1
            end
            return count, fragments, lens, n
        end
        local count, fragments, lens, n = spread(true)
        assert.same({ 32, 0 }, { count, fragments })
        assert.same({ [3042] = 32 }, lens)
        assert.is_true(n >= 2, "all flows on one member")
        count, fragments, lens, n = spread(false)
        assert.same({ 96, 96 }, { count, fragments })
        assert.is_nil(lens[3042])
        assert.equal(1, n) -- by the pair of addresses
    end)

    root_it("says what differs when a member does not fit the group (B01)", function()
        local members, id = group(1, { mode = "hash", defrag = true })
        local function refused(fanout, ifname)
            fanout.id = fanout.id or id
            local src, message, errno = ringtap.capture(ifname or "veth_b", { netns = ns.b, fanout = fanout,
                block_size = 4096, block_count = 1 })
            assert.is_nil(src)
            assert.equal(22, errno)
            return message
        end
        local group_is = ("veth_b: fanout group %d was made with mode=\"hash\", defrag=true: "
            .. "all members need the same mode and flags"):format(id)
        assert.equal(group_is, refused { mode = "lb", defrag = true })
        assert.equal(group_is, refused { mode = "hash" })
        assert.equal(group_is, refused { mode = "hash", defrag = true, rollover = true })
        assert.equal(group_is, refused { mode = "rollover" })
        assert.equal(("lo: fanout group %d belongs to another interface (a group takes the packets of one)"):format(id),
            refused({ mode = "hash", defrag = true }, "lo"))
        assert.matches("can't have rollover=true as well", refused { mode = "rollover", rollover = true })
        -- none of these tries left anything in the group
        assert.equal(1, live.sockets(ns, "b"))
        local owner = share(members)
        assert.equal(#frames, #owner)
        close(members)
    end)

    root_it("of a group that is full is refused (B02)", function()
        local members, id = group(1, { mode = "lb" })
        local directory = support.tmpdir()
        local program = live.program(directory, "members.lua", [[
            local id, n, done, go = tonumber(arg[1]), tonumber(arg[2]), arg[3], arg[4]
            local sources = {}
            for i = 1, n do
                sources[i] = assert(ringtap.capture("veth_b", { fanout = { id = id, mode = "lb" }, block_size = 4096,
                    block_count = 1 }))
            end
            io.open(done, "w"):close()
            for _ = 1, 600 do
                if io.open(go) then os.exit(true, false) end
                os.execute("sleep 0.1")
            end
        ]])
        local running = {}
        for i = 1, 16 do
            running[i] = support.spawn(ns:exec("b", ("lua5.4 %s %d %d %s/%d %s/go"):format(program, id,
                i == 16 and 15 or 16, directory, i, directory)))
        end
        for i = 1, 16 do
            assert.truthy(support.wait_for(function() return support.read_file(directory .. "/" .. i) end, 60))
        end
        assert.equal(256, live.sockets(ns, "b"))
        local src, message, errno = ringtap.capture("veth_b", { netns = ns.b, block_size = 4096, block_count = 1,
            fanout = { id = id, mode = "lb" } })
        assert.is_nil(src)
        assert.equal(("veth_b: fanout group %d is full (256 members)"):format(id), message)
        assert.equal(28, errno)
        support.write_file(directory .. "/go", "")
        for i = 1, 16 do
            assert.equal(0, (support.wait(running[i], 60)))
        end
        members[2] = member { id = id, mode = "lb" }
        share(members)
        close(members)
    end)

    root_it("has its ids to itself, and of another namespace", function()
        local one, id = group(1, {})
        local two, other = group(1, {})
        assert.are_not.equal(id, other)
        local elsewhere = live.capture(ns, "a", { fanout = { id = id, mode = "lb" } })
        assert.equal(id, elsewhere:stats().fanout_id)
        elsewhere:close()
        local fixed = member { id = 4711 == id and 4712 or 4711, mode = "lb" }
        assert.is_true(fixed:stats().fanout_id // 2 == 2355 or fixed:stats().fanout_id == 4712)
        fixed:close()
        close(one)
        close(two)
    end)
end)

describe("fanout options", function()
    it("that contradict each other raise", function()
        local function raises(fanout, message)
            assert.error_matches(function() ringtap.capture("lo", { fanout = fanout }) end, message)
        end
        raises({ mode = "cbpf" }, "goes with a program")
        raises({ program = { { code = 6, jt = 0, jf = 0, k = 0 } } }, "goes with a program")
        raises({ mode = "ebpf" }, "goes with fd")
        raises({ mode = "lb", fd = 0 }, "goes with fd")
        raises({ mode = "round" }, 'must be one of "hash", "lb"')
        raises({ id = 65536 }, "out of range")
        raises({ mode = "cbpf", program = {} }, "needs 1 to 4096 instructions")
        raises({ mode = "cbpf", program = { 5 } }, "is not a table")
        raises({ mode = "cbpf", program = { { code = 6, jt = 256, jf = 0, k = 0 } } }, "'jt' = 256 is out of range")
    end)

    root_it("that the kernel refuses are told #root", function()
        local src, message = ringtap.capture("lo", { block_size = 4096, block_count = 1,
            fanout = { mode = "cbpf", program = { { code = 0x30, jt = 0, jf = 0, k = 0 } } } }) -- without a return
        assert.is_nil(src)
        assert.matches("lo: PACKET_FANOUT_DATA: Invalid argument", message)
        src, message = ringtap.capture("lo", { block_size = 4096, block_count = 1, fanout = { mode = "ebpf", fd = 0 } })
        assert.is_nil(src)
        assert.matches("lo: PACKET_FANOUT_DATA: ", message)
    end)
end)
