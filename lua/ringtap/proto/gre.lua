--- GRE, RFC 1701, 2784 and 2890; version 1, which carries PPP for PPTP, RFC 2637; Cisco's redirect header of WCCP 2.

-- The field that shows that another one is there.
local flag_of = {
    checksum = "checksum", offset = "checksum", key = "key", ["key.payload_length"] = "key", ["key.call_id"] = "key",
    sequence_number = "sequence_number", ack_number = "ack", routing = "routing",
}

local function set_flags(values)
    for name, flag in pairs(flag_of) do
        flag = "flags." .. flag
        if values[name] ~= nil and values[flag] == nil and values.flags_and_version == nil then
            values[flag] = true
        end
    end
end

return {
    name = "gre", title = "Generic Routing Encapsulation",
    on = { ["ip.proto"] = 47, ["udp.port"] = 4754 },
    next = {
        { "ppp", size = "key.payload_length", when = "flags.version == 1 && flags.key && proto == 0x880b" },
        { table = "gre.proto", key = "proto", pass = "proto == 0x88be && flags.sequence_number == 0" },
        { table = "ethertype", key = "proto" },
        { "ppp", when = "proto == 0x880b || proto == 0x8881 || proto == 0x88d2" },
        { "eth", when = "proto == 0x6400" },
        { "ip", when = "proto == 0x883e" },
    },
    checksum = { field = "checksum", when = "flags.checksum" },
    build = set_flags,
    line = {
        "GREv{flags.version}",
        { when = "flags.version == 1 && flags.key", ", call {key.call_id}" },
        { when = "flags.version != 1 && flags.key", ", key={key}" },
        { when = "flags.sequence_number", ", seq {sequence_number}" },
        { when = "flags.ack", ", ack {ack_number}" },
        ", length {=$len}",
    },
    { "flags_and_version", 16, "Flags and Version", base = "hex", sub = {
        { "flags.checksum", "bool", "Checksum Bit" },
        { "flags.routing", "bool", "Routing Bit" },
        { "flags.key", "bool", "Key Bit" },
        { "flags.sequence_number", "bool", "Sequence Number Bit" },
        { "flags.strict_source_route", "bool", "Strict Source Route Bit" },
        { "flags.recursion_control", 3, "Recursion control" },
        { "flags.reserved", 5, "Flags (Reserved)", overlay = true, when = "($u8(1) & 7) != 1" },
        { "flags.ack", "bool", "Acknowledgment", overlay = true, when = "($u8(1) & 7) == 1" },
        { "_", 1 },
        { "flags.reserved", 4, "Flags (Reserved)", overlay = true, when = "($u8(1) & 7) == 1" },
        { "_", 4 },
        { "flags.version", 3, "Version" },
    } },
    { "proto", 16, "Protocol Type", base = "hex", values = {
        [0x0800] = "IP", [0x6558] = "Transparent Ethernet bridging", [0x86dd] = "IPv6", [0x8847] = "MPLS",
        [0x8848] = "MPLS multicast", [0x880b] = "PPP", [0x88be] = "ERSPAN", [0x22eb] = "ERSPAN III",
        [0x883e] = "WCCP", [0x6400] = "EoIP", [0x0806] = "ARP", [0x894f] = "NSH",
    } },
    { when = "flags.checksum || flags.routing",
        { "checksum", 16, "Checksum", base = "hex" },
        { "checksum.status", value = "flags.checksum ? $checksum : 2", values = {
            [0] = "Bad", [1] = "Good", [2] = "Unverified",
        } },
        { "offset", 16, "Offset" },
    },
    { when = "flags.key",
        { when = "flags.version == 1",
            { "key.payload_length", 16, "Payload Length" },
            { "key.call_id", 16, "Call ID" },
        },
        { "key", 32, "Key", base = "hex", when = "flags.version != 1" },
    },
    { "sequence_number", 32, "Sequence Number", when = "flags.sequence_number" },
    { "ack_number", 32, "Acknowledgment Number", when = "flags.ack" },
    { when = "flags.routing",
        { loop = true, list = "routing", stop = "routing.address_family == 0 && routing.src_length == 0",
            { "routing", "bool", "Routing", value = "1", hidden = true },
            { "routing.address_family", 16, "Address Family" },
            { "routing.sre_offset", 8, "SRE Offset" },
            { "routing.src_length", 8, "SRE Length" },
            { "routing.information", "bytes", "Routing Information", size = "routing.src_length",
                when = "routing.src_length > 0" },
        },
    },
    -- a packet without the header begins with IP's version
    { when = "proto == 0x883e && $at8(0) >> 4 != 4",
        { "wccp.redirect_header", "bool", "Redirect Header", value = "1", hidden = true },
        { "_", 5 },
        { "wccp.redirect_header_valid", "bool", "WCCP Redirect header is valid" },
        { "wccp.alternative_bucket_used", "bool", "Alternative bucket used" },
        { "wccp.dynamic_service", "bool", "Dynamic Service" },
        { "wccp.service_id", 8, "Service ID" },
        { "wccp.alternative_bucket", 8, "Alternative Bucket" },
        { "wccp.primary_bucket", 8, "Primary Bucket" },
    },
}
