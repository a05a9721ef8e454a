-- Rates, as the receiver's timestamps tell.
local live = require "support.live"
local sending = require "support.sending"
local support = require "support"

local root_it = live.root and it or pending

teardown(support.cleanup)

-- Gaps in ns between the packets of a file, sorted; and the time from the first to the last.
local function gaps_of(path)
    local gaps, first, previous = {}, nil, nil
    sending.each_in_pcap(path, function(_, time)
        if previous then
            gaps[#gaps + 1] = time - previous
        end
        first, previous = first or time, time
    end)
    table.sort(gaps)
    return gaps, previous - first
end

describe("a rate #root", function()
    for _, rate in ipairs { 1000, 10000, 50000 } do
        root_it(("of %d is kept over 5 s, frame by frame"):format(rate), function()
            local ns <close> = support.namespaces()
            sending.listener(ns)
            local tx <close> = sending.open(ns)
            local message
            for _ = 1, 3 do -- another process may need the processor just then
                local process, path = sending.tcpdump(ns, "udp port 9")
                local r = assert(tx:blast { packet = sending.packet(ns), rate = rate, duration = 5 })
                assert.equal(rate * 5, r.packets)
                assert.equal(r.packets, sending.stop_tcpdump(process))
                local gaps, time = gaps_of(path)
                local achieved, median = #gaps * 1e9 / time, gaps[#gaps // 2]
                message = ("achieved %.1f (%.1f by the report), median gap %d ns"):format(achieved, r.rate, median)
                if math.abs(achieved / rate - 1) < 0.01 and math.abs(r.rate / rate - 1) < 0.01
                    and math.abs(median * rate / 1e9 - 1) < 0.05 then
                    assert.equal(r.packets, r.late.count)
                    assert.is_true(r.late.p50 <= r.late.p90 and r.late.p90 <= r.late.worst)
                    return
                end
            end
            error(message)
        end)
    end

    root_it("that the machine can't give is told as what it was", function()
        local ns <close> = support.namespaces()
        sending.listener(ns)
        local tx <close> = sending.open(ns)
        local before = sending.received(ns)
        local r = assert(tx:blast { packet = sending.packet(ns), rate = "50Mpps", duration = 0.5 })
        assert.equal("50Mpps", r.asked.rate)
        assert.is_true(r.rate < 20e6)
        assert.is_true(math.abs(r.packets / r.seconds / r.rate - 1) < 1e-9)
        assert.equal(r.packets, sending.received(ns) - before)
        assert.is_true(r.late.p50 > 10000000) -- half of them by more than 10 ms
        assert.matches("asked 50Mpps", tostring(r), 1, true)
    end)

    root_it("in bits, and bursts, are kept too", function()
        local ns <close> = support.namespaces()
        sending.listener(ns)
        local tx <close> = sending.open(ns)
        local q = sending.packet(ns, { payload = ("x"):rep(958) }) -- 1000 bytes
        local r = assert(tx:blast { packet = q, rate = "80Mbit/s", duration = 1 })
        assert.equal(10000, r.packets)
        assert.is_true(math.abs(r.bits / 80e6 - 1) < 0.01)
        local process, path = sending.tcpdump(ns, "udp port 9")
        r = assert(tx:blast { packet = q, rate = 10000, burst = 100, count = 1000 })
        sending.stop_tcpdump(process, 1000)
        local gaps = gaps_of(path)
        local pauses = 0
        for _, gap in ipairs(gaps) do
            pauses = pauses + (gap > 5000000 and 1 or 0)
        end
        assert.equal(9, pauses)
        assert.is_true(math.abs(r.seconds - 0.1) < 0.02, tostring(r.seconds))
    end)

    root_it("tells how it goes meanwhile", function()
        local ns <close> = support.namespaces()
        local tx <close> = sending.open(ns)
        local told = {}
        local r = assert(tx:blast { packet = sending.packet(ns), rate = 1000, duration = 1, every = 0.25,
            progress = function(so_far) told[#told + 1] = so_far.packets end })
        assert.is_true(#told >= 3 and #told <= 4)
        assert.is_true(math.abs(told[1] - 250) < 30 and told[3] > told[2])
        assert.equal(1000, r.packets)
    end)
end)
