--- Functions beside a protocol's own: ringtap.dns.query("example.com", "A") and the like. Each gives a builder.

local protocol = require "ringtap.protocol"

local M = {}

local function make(name, values)
    return require("ringtap.build").layer(protocol.proto[name], values)
end

local function merged(defaults, values)
    for key, v in pairs(values or {}) do
        defaults[key] = v
    end
    return defaults
end

M.dns = {}

--- A question with a random id that asks for recursion.
---@param name string
---@param type? string|integer "A" if nil
---@param class? string|integer "IN" if nil
function M.dns.query(name, type, class)
    return make("dns", {
        id = math.random(0, 0xffff), ["flags.recdesired"] = true,
        queries = { { ["qry.name"] = name, ["qry.type"] = type or "A", ["qry.class"] = class or "IN" } },
    })
end

--- The answer to a question: a packet, or a builder.
---@param query ringtap.packet|ringtap.builder
---@param answers? table[] records: { name =, type =, ttl =, a = ... }; without a name the question's
---@param values? table further values of the message
function M.dns.response(query, answers, values)
    local name, kind = query["dns.qry.name"], query["dns.qry.type"]
    local list = {}
    for i, answer in ipairs(answers or {}) do
        local named = answer["resp.name"] or answer.name or answer["dns.resp.name"]
        local typed = answer["resp.type"] or answer.type or answer["dns.resp.type"]
        list[i] = merged({ ["resp.name"] = not named and name or nil, ["resp.type"] = not typed and kind or nil },
            answer)
    end
    return make("dns", merged({
        id = query["dns.id"], ["flags.response"] = true, ["flags.recdesired"] = query["dns.flags.recdesired"],
        ["flags.recavail"] = true,
        queries = { { ["qry.name"] = name, ["qry.type"] = kind, ["qry.class"] = query["dns.qry.class"] } },
        answers = #list > 0 and list or nil,
    }, values))
end

M.icmp = {
    --- An echo request.
    echo = function(values)
        return make("icmp", merged({ type = 8 }, values))
    end,
}

M.icmpv6 = {
    --- An echo request.
    echo = function(values)
        return make("icmpv6", merged({ type = 128 }, values))
    end,
}

M.arp = {
    --- Who has `target`? `mac` and `own` are the sender's addresses.
    request = function(target, own, mac)
        return make("arp", {
            opcode = 1, ["dst.proto_ipv4"] = target, ["src.proto_ipv4"] = own, ["src.hw_mac"] = mac,
        })
    end,
}

M.tcp = {
    --- The first segment of a connection, with a maximum segment size.
    syn = function(values)
        return make("tcp", merged({ ["flags.syn"] = true, options = { { ["options.mss_val"] = 1460 } } }, values))
    end,
}

return M
