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
    forward = core.forward,
    text = core.text,
    signals = core.signals,
    interfaces = core.interfaces,
    interface = core.interface,
    filter = require "ringtap.filter",
}

return ringtap
