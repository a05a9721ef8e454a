--- The bytes of a packet with fields that have other values, for sink:forward(pkt, {["ip.ttl"] = 63}).
local ringtap = require "ringtap"

---@param pkt ringtap.packet
---@param fields table<string, any> values by field name
---@return string bytes checksums and lengths that depend on them are right
return function(pkt, fields)
    local template = ringtap.template(pkt)
    for name, value in pairs(fields) do
        template[name] = value
    end
    return template:bytes()
end
