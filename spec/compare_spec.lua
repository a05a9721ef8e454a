-- Decoding agrees with tshark over a folder of captures that isn't part of the project.
local compare = require "compare"
local live = require "support.live"
local support = require "support"

local captures = "../shared/captures"
local has_both = support.run("ls " .. captures .. "/*.pcap") == 0 and support.has("tshark")
local it_compares = has_both and it or pending

describe("ringtap and tshark", function()
    teardown(support.cleanup)

    it_compares("agree on every field that both know", function()
        local result = compare.run { captures = captures }
        local report = compare.report(result)
        assert.is_true(compare.percent(result.total) >= 99.9, report)
        assert.is_true(result.ok, report)
    end)

    local it_runs = support.has("tshark") and it or pending
    it_runs("agree in a folder of one's own, whatever its captures are called; a difference is named", function()
        local dir = support.tmpdir()
        local frame = live.frame({}, 0x0800, live.ipv4 { dport = 9, payload = "hello" })
        for _, name in ipairs { "http.pcap", "mine.pcap" } do -- an explanation is for captures with the first name
            live.write_pcap(dir .. "/" .. name, { frame, frame })
        end
        local result = compare.run { captures = dir }
        local report = compare.report(result)
        assert.is_true(result.ok, report)
        assert.is_truthy(report:find "\nno difference that isn't explained$", report)

        result.ok, result.differences = false, { "udp.length", ["udp.length"] = {} }
        for i = 1, 50 do
            result.differences["udp.length"][i] = { file = "mine.pcap", number = i, theirs = { "1" }, ours = { "2" } }
        end
        report = compare.report(result)
        assert.is_truthy(report:find("udp.length: differs in 50 packets\n  mine.pcap #1\n", 1, true), report)
        assert.is_truthy(report:find("mine.pcap #33, and 17 more (VERBOSE=1 shows all)\n", 1, true), report)
        assert.is_truthy(report:find "\nDIFFERENT: udp.length %(50 packets%)$", report)
    end)
end)
