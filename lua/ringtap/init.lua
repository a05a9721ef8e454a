--- ringtap: capture, read, look at, filter and write packets.
-- The C core does the work (ringtap.core); this table is the public face. What each function takes and gives is
-- annotated in ringtap/types.lua.

local core = require "ringtap.core"

local ringtap = {
    _VERSION = "ringtap scm",
    capture = core.capture,
    read = core.read,
    memory = core.memory,
    write = core.write,
    sender = core.sender,
    port = core.port,
    template = core.template,
    forward = core.forward,
    wait = core.wait,
    text = core.text,
    signals = core.signals,
    interfaces = core.interfaces,
    interface = core.interface,
    filter = require "ringtap.filter",
    field = core.field,
}

--- Round trips: numbered frames out by a sender, back by a source.
function ringtap.probe(sender, source, options)
    return require("ringtap.send.probe").probe(sender, source, options)
end

local function protocols()
    require("ringtap.proto").load(true)
    return require "ringtap.protocol"
end

--- Names of fields that protocols declare, sorted; those that match a Lua pattern, if there is one.
function ringtap.field_names(pattern)
    local list = {}
    for _, name in ipairs(core._field_names()) do
        if not pattern or name:find(pattern) then
            list[#list + 1] = name
        end
    end
    table.sort(list)
    return list
end

--- Declare a protocol; see ringtap/protocol.lua for the language. Raises on what isn't in it.
function ringtap.protocol(def)
    return protocols().declare(def)
end

-- ringtap.proto and the protocols themselves (ringtap.udp) are there when they are first asked for.
setmetatable(ringtap, {
    __index = function(_, name)
        if name == "proto" then
            return protocols().handles
        end
        local p = type(name) == "string" and protocols()
        return p and p.proto[name] and p.handles[name] or nil
    end,
})

return ringtap
