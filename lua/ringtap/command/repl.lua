--- ringtap repl: a Lua prompt for packets. What can be called there is in ringtap/repl.lua.

local command = require "ringtap.command"
local ringtap = require "ringtap"

local repl = {}

--- ringtap repl ARGS
---@param args string[]
---@return integer status
function repl.run(args)
    local parser = command.parser("repl", "A Lua prompt: take packets, look at them, choose, count, change, save. "
        .. "help() there tells what can be called.")
    parser:usage("Usage: ringtap repl [-i IF | -r FILE]")
    parser:option("-i --interface", "sniff takes packets from here: a name, or 'any'."):argname("IF")
    parser:option("-r", "sniff takes packets from this capture file."):argname("FILE")
    parser:epilog("Lines can be edited and completed, and are kept in ~/.ringtap_history. The same functions are "
        .. "globals in lua5.4 -i -l ringtap.repl.")
    local o = command.parse(parser, args)
    if o.interface and o.r then
        command.usage_error("-i and -r exclude each other")
    end
    local found, message = true, nil
    if o.r then
        local source
        source, message = ringtap.read(o.r)
        found = source and (source:close() or true)
    elseif o.interface and o.interface ~= "any" then
        found, message = ringtap.interface(o.interface)
    end
    if not found then
        command.complain("%s", message)
        return 1
    end
    return require("ringtap.repl").run { iface = o.interface, file = o.r }
end

return repl
