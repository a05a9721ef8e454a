-- A little of what `make mutate` does, so that every run has it: damaged packets through decoding, printing, fields and
-- editing.
local support = require "spec.support"

describe("damaged packets", function()
    it("neither raise nor take long", function()
        local build = os.getenv "RINGTAP_BUILD" or ".build"
        local status, out, err = support.run(("LUA_PATH='lua/?.lua;lua/?/init.lua;;' LUA_CPATH='%s/lib/?.so;;' "
            .. "lua5.4 spec/mutate.lua COUNT=15000 LIMIT=0.5"):format(build))
        assert.equal("", err)
        assert.equal(0, status)
        assert.matches("^15000 packets, 0 raised, 0 took more", out)
    end)
end)
