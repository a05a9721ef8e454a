--- ERSPAN, types I, II and III, draft-foschiano-erspan. Type I has no header of its own: GRE tells it by the missing
-- sequence number.

local source = {
    [1] = {
        { "pid1.rsvd1", 14, "Reserved" },
        { "pid1.vsmid", 12, "VSM Domain ID" },
        { "pid1.port_index", 32, "Port ID/Index" },
    },
    [3] = {
        { "pid3.rsvd1", 12, "Reserved" },
        { "pid3.port_index", 14, "Port ID/Index" },
        { "pid3.timestamp", 32, "Upper 32-bit Timestamp" },
    },
    [4] = {
        { "pid4.rsvd1", 12, "Reserved" },
        { "pid4.rsvd2", 14, "Reserved" },
        { "pid4.rsvd3", 32, "Reserved" },
    },
    [5] = {
        { "pid5.switchid", 10, "Switch ID" },
        { "pid5.port_index", 16, "Port ID/Index" },
        { "pid5.timestamp", 32, "Timestamp (seconds)" },
    },
    [7] = {
        { "pid7.rsvd1", 6, "Reserved" },
        { "pid7.source_index", 20, "Source Index" },
        { "pid7.timestamp", 32, "Upper 32-bit Timestamp" },
    },
}
source[6] = source[5]

return {
    name = "erspan", title = "Encapsulated Remote Switch Packet ANalysis",
    on = { ["gre.proto"] = { 0x88be, 0x22eb } },
    header = "$passed ? 0 : version == 1 ? 8 : version == 2 ? (o ? 20 : 12) : 2",
    check = { { "$passed || version == 1 || version == 2", "an unknown version" } },
    next = {
        { "ip", when = "!$passed && version == 2 && ft == 2" },
        { "eth" },
    },
    line = {
        { when = "$passed", "ERSPAN type I, length {=$len}" },
        { when = "!$passed", "ERSPAN type {=version + 1}, session {spanid}, vlan {vlan}, length {=$len}" },
    },
    { when = "!$passed",
        { "version", 4, "Version", default = 1, values = { [1] = "Type II", [2] = "Type III" } },
        { "vlan", 12, "Vlan" },
        { when = "version == 1 || version == 2",
            { "cos", 3, "COS" },
            { "encap", 2, "Encap", when = "version == 1", values = {
                [0] = "Originally without VLAN tag", [1] = "Originally ISL encapsulated",
                [2] = "Originally 802.1Q encapsulated", [3] = "VLAN tag preserved in frame",
            } },
            { "bso", 2, "Bad/Short/Oversized", when = "version == 2", values = {
                [0] = "Good or unknown integrity", [1] = "Short frame", [2] = "Oversized frame", [3] = "Bad frame",
            } },
            { "truncated", 1, "Truncated" },
            { "spanid", 10, "SpanID" },
        },
        { when = "version == 1",
            { "reserved", 12, "Reserved" },
            { "index", 20, "Index" },
        },
        { when = "version == 2",
            { "timestamp", 32, "Timestamp" },
            { "sgt", 16, "Security Group Tag" },
            { "p", 1, "Has Ethernet PDU" },
            { "ft", 5, "Frame Type", values = { [0] = "Ethernet", [2] = "IP" } },
            { "hw", 6, "Hardware ID" },
            { "direction", "bool", "Direction" },
            { "gra", 2, "Timestamp granularity", values = {
                [0] = "100 microseconds", [1] = "100 nanoseconds", [2] = "IEEE 1588", [3] = "user configurable",
            } },
            { "o", 1, "Optional Sub headers" },
            { when = "o",
                { "platid", 6, "Platform ID" },
                { switch = "platid", cases = source, default = { { "pid.rsvd", 58, "Reserved" } } },
            },
        },
    },
}
