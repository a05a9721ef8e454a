--- VXLAN, RFC 7348, with the group policy extension (draft-smith-vxlan-group-policy), and its generic protocol
-- extension (draft-ietf-nvo3-vxlan-gpe), whose fields bear the same names.

local vxlan = {
    name = "vxlan", title = "Virtual eXtensible Local Area Network",
    on = { ["udp.port"] = 4789 },
    header = 8,
    next = { { "eth" } },
    line = "VXLAN, flags {flags}, vni {vni}",
    { "flags", 16, "Flags", base = "hex", default = 0x0800, sub = {
        { "flag_g", "bool", "GBP Extension" },
        { "_", 3 },
        { "flag_i", "bool", "VXLAN Network ID (VNI)" },
        { "_", 4 },
        { "flag_d", "bool", "Don't Learn" },
        { "_", 2 },
        { "flag_a", "bool", "Policy Applied" },
        { "_", 3 },
    } },
    { "flags_reserved", 16, "Reserved(R)", value = "flags & 0x77b7", base = "hex" },
    { "gbp", 16, "Group Policy ID" },
    { "vni", 24, "VXLAN Network Identifier (VNI)" },
    { "reserved8", 8, "Reserved" },
}

local gpe = {
    name = "vxlan_gpe", prefix = "vxlan", shown = "vxlan",
    title = "Virtual eXtensible Local Area Network (GPE)",
    on = { ["udp.port"] = 4790 },
    header = 8,
    next = {
        { table = "vxlan.next_proto", key = "next_proto" },
        { "ip", when = "next_proto == 1" },
        { "ipv6", when = "next_proto == 2" },
        { "eth", when = "next_proto == 3" },
        { "mpls", when = "next_proto == 5" },
    },
    line = "VXLAN-GPE, flags {flags}, vni {vni}, next-protocol {next_proto}",
    { "flags", 8, "Flags", base = "hex", default = 0x0c, sub = {
        { "_", 2 },
        { "ver", 2, "Version" },
        { "i_bit", 1, "Instance" },
        { "p_bit", 1, "Next Protocol Bit" },
        { "_", 1 },
        { "o_bit", 1, "OAM bit" },
    } },
    { "flags_reserved", 16, "Reserved(R)", value = "(flags & 0xc2) >> 1" },
    { "reserved_16", 16, "Reserved" },
    { "next_proto", 8, "Next Protocol", values = {
        [1] = "IPv4", [2] = "IPv6", [3] = "Ethernet", [4] = "Network Service Header", [5] = "MPLS", [7] = "vBNG",
    } },
    { "vni", 24, "VXLAN Network Identifier (VNI)" },
    { "reserved8", 8, "Reserved" },
}

return { vxlan, gpe }
