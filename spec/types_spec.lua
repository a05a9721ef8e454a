-- What the C registers and what lua/ringtap/types.lua says must be the same names.
local core = require "ringtap.core"

local function annotated(prefix)
    local names, fields = {}, {}
    local class
    for line in io.lines("lua/ringtap/types.lua") do
        class = line:match("^%-%-%-@class ([%w_.]+)") or class
        local name = line:match("^function " .. prefix .. "[.:]([%w_]+)%(")
        if name then
            names[name] = true
        end
        local field = class == "ringtap." .. prefix and line:match("^%-%-%-@field ([%w_]+)")
        if field then
            fields[field] = true
        end
    end
    return names, fields
end

local function sorted(set)
    local list = {}
    for name in pairs(set) do
        list[#list + 1] = name
    end
    table.sort(list)
    return list
end

describe("annotations", function()
    for prefix, names in pairs { source = core._source_names, sink = core._sink_names, port = core._port_names } do
        it("name every method of a " .. prefix .. " and no other", function()
            assert.same(sorted(names), sorted((annotated(prefix))))
        end)
    end

    it("name every method and property of a packet and no other", function()
        local methods, properties = {}, {}
        for name, v in pairs(core._packet_names) do
            (type(v) == "function" and methods or properties)[name] = true
        end
        local said, fields = annotated("packet")
        assert.same(sorted(methods), sorted(said))
        assert.same(sorted(properties), sorted(fields))
    end)

    it("name every function of the module and no other", function()
        local public = {}
        for name, v in pairs(require "ringtap") do
            if type(v) == "function" then
                public[name] = true
            end
        end
        assert.same(sorted(public), sorted((annotated("ringtap"))))
    end)
end)
