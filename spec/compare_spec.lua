-- Decoding agrees with tshark over a folder of captures that isn't part of the project.
local compare = require "compare"
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
end)
