--- Geneve, RFC 8926, with its options; those of the Google Cloud Platform are told apart.

local google = {
    [1] = {
        { "option.gcp.vnid", 28, "GCP Virtual Network ID" },
        { "option.gcp.reserved", "bool", "GCP Reserved bits", bits = 3 },
        { "option.gcp.direction", "bool", "GCP Traffic Direction" },
    },
    [2] = { { "option.gcp.endpoint", "bytes", "GCP Endpoint ID" } },
    [3] = { { "option.gcp.profile", 64, "GCP Profile ID" } },
}

return {
    name = "geneve", title = "Generic Network Virtualization Encapsulation",
    on = { ["udp.port"] = 6081 },
    header = "_options_length + 8",
    next = {
        { "eth", when = "proto_type == 0x6558" },
        { table = "ethertype", key = "proto_type" },
    },
    line = {
        "Geneve, vni {vni}, proto {proto_type}",
        { when = "_options_length > 0", ", options {_options_length} bytes" },
    },
    { "version", 2, "Version" },
    { "_options_length", 6, "Length", scale = 4, also = "option.length" },
    { "flags", 8, "Flags", base = "hex", sub = {
        { "flags.oam", "bool", "Operations, Administration and Management Frame" },
        { "flags.critical", "bool", "Critical Options Present" },
        { "flags.reserved", "bool", "Reserved", bits = 6 },
    } },
    { "proto_type", 16, "Protocol Type", base = "hex", default = 0x6558, values = {
        [0x0800] = "IPv4", [0x86dd] = "IPv6", [0x0806] = "ARP", [0x6558] = "Transparent Ethernet bridging",
        [0x8847] = "MPLS label switched packet", [0x8848] = "MPLS multicast label switched packet", [0x894f] = "NSH",
    } },
    { "vni", 24, "Virtual Network Identifier (VNI)", base = "hex" },
    { "reserved", 8, "Reserved", base = "hex" },
    { "options", "bytes", "Geneve Options", size = "_options_length", when = "_options_length > 0", sub = {
        { loop = true, list = "options",
            { check = "$rest >= 4 && ($at8(3) & 31) * 4 + 4 <= $rest", "an option's length leads out of the options" },
            { "option", "bytes", "Option", size = "($at8(3) & 31) * 4 + 4", overlay = true },
            { "option.class", 16, "Class", base = "hex", values = {
                [0x0100] = "Linux", [0x0101] = "Open vSwitch (OVS)", [0x0102] = "Open Virtual Networking (OVN)",
                [0x0103] = "In-band Network Telemetry (INT)", [0x0104] = "VMware", [0x0105] = "Amazon.com, Inc.",
                [0x0106] = "Cisco Systems, Inc.", [0x0107] = "Oracle Corporation", [0x0132] = "Google LLC",
                [0xffff] = "Experimental",
            } },
            { "option.type", 8, "Type", base = "hex", sub = {
                { "option.type.critical", "bool", "Critical Option" },
                { "_", 7 },
            } },
            { "option.flags", 3, "Flags", base = "hex", sub = {
                { "option.flags.reserved", "bool", "Reserved", bits = 3 },
            } },
            { "_length", 5, "Length", scale = 4, add = 4, also = "option.length" },
            { switch = "option.class == 0x0132 ? option.type : 0", size = "_length - 4",
                cases = google,
                default = { { "option.unknown.data", "bytes", "Unknown Option Data" } },
            },
        },
    } },
}
