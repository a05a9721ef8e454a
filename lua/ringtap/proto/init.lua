--- The protocols that come with ringtap: each name is a file here that returns a table, or a list of them, in the
-- language of ringtap/protocol.lua. A new protocol is a new file and a name in one of these lists.

local protocol = require "ringtap.protocol"

-- those that carry others
local carriers = {
    "frame", "eth", "llc", "vlan", "pppoe", "ppp", "mpls", "null", "raw", "sll", "ip", "ipv6", "icmp",
    "icmpv6", "tcp", "udp", "udplite", "gre", "erspan", "vxlan", "geneve", "gtp", "l2tp",
}
-- those that are the last in a packet, and those that only their link type leads to: not loaded before something needs
-- them
local leaves = {
    "data", "netlink", "radiotap", "ieee80211", "arp", "lldp", "lcp", "igmp", "sctp", "wireguard", "quic", "dns",
    "dhcp", "dhcpv6", "ntp", "snmp", "tftp", "syslog", "rtp", "rtcp", "sip", "http", "tls", "bgp", "ospf", "bfd",
    "vrrp", "hsrp", "dccp",
}

local M = {}
local done = {}

local function add(names)
    for _, name in ipairs(names) do
        local def = require("ringtap.proto." .. name)
        for _, one in ipairs(def.name and { def } or def) do
            protocol.add(one)
        end
    end
end

--- Load those that carry others, and the leaves too. Called by the core when it first needs them.
---@param all boolean
function M.load(all)
    for _, names in ipairs { carriers, all and leaves or nil } do
        if not done[names] then
            -- all of it stays, so collecting garbage meanwhile is for nothing
            local running = collectgarbage "isrunning"
            collectgarbage "stop"
            local ok, err = pcall(add, names)
            if running then
                collectgarbage "restart"
            end
            if not ok then
                error(err, 0)
            end
            done[names] = true
        end
    end
end

return M
