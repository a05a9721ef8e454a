--- Ethernet II and 802.3, IEEE 802.3 3.2. A type field of at most 1500 is a length; from 1536 on it is an EtherType;
-- what is between is neither. Behind the payload: padding up to 60 bytes, a trailer, and a checksum where there is
-- room for it.

local types = {
    [0x0800] = "IPv4", [0x0806] = "ARP", [0x0842] = "Wake on LAN", [0x22f0] = "IEEE 1722", [0x22f3] = "TRILL",
    [0x6558] = "Transparent Ethernet bridging", [0x8035] = "RARP", [0x809b] = "AppleTalk", [0x80f3] = "AARP",
    [0x8100] = "802.1Q", [0x8137] = "IPX", [0x86dd] = "IPv6", [0x8808] = "MAC Control", [0x8809] = "Slow Protocols",
    [0x8847] = "MPLS", [0x8848] = "MPLS multicast", [0x8863] = "PPPoE Discovery", [0x8864] = "PPPoE Session",
    [0x8870] = "Jumbo LLC", [0x888e] = "802.1X", [0x8892] = "PROFINET", [0x88a2] = "ATA over Ethernet",
    [0x88a4] = "EtherCAT", [0x88a8] = "802.1ad", [0x88ab] = "Ethernet POWERLINK", [0x88b8] = "GOOSE",
    [0x88ba] = "IEC 61850 SV", [0x88cc] = "LLDP", [0x88e5] = "MACsec", [0x88e7] = "802.1ah", [0x88f5] = "MVRP",
    [0x88f6] = "MMRP", [0x88f7] = "PTP", [0x8902] = "802.1ag CFM", [0x8906] = "FCoE", [0x8914] = "FIP",
    [0x892f] = "HSR", [0x894f] = "NSH", [0x9000] = "Loopback", [0x9100] = "QinQ",
}

return {
    name = "eth", title = "Ethernet",
    on = { link = 1, ethertype = 0x6558, ["gre.proto"] = 0x6558, ["ip.proto"] = 143, ["sll.ltype"] = 3 },
    header = 14,
    total = "_word + 14", untold = "_word > 1500",
    next = {
        { table = "ethertype", key = "_word", when = "_word >= 1536", via = "ethertype" },
        { "llc", when = "_word <= 1500 && $u16(14) != 0xffff" }, -- else IPX without LLC
        { "llc", when = "_word == 0x8870", via = "ethertype" }, -- longer than 1500 bytes
    },
    line = {
        "{src} > {dst}, ",
        { when = "_word <= 1500", "802.3, length {len}" },
        { when = "_word > 1500 && _word < 1536", "invalid type {invalid_lentype}" },
        { when = "_word >= 1536", "ethertype {type} ({type#})" },
    },
    { "dst", "ether", "Destination", also = "addr", sub = {
        { "dst.oui", 24, "Destination OUI", also = "addr.oui", overlay = true, hidden = true },
        { "_", 6 },
        { "dst.lg", "bool", "LG bit", also = "lg" },
        { "dst.ig", "bool", "IG bit", also = "ig" },
    } },
    { "src", "ether", "Source", also = "addr", sub = {
        { "src.oui", 24, "Source OUI", also = "addr.oui", overlay = true, hidden = true },
        { "_", 6 },
        { "src.lg", "bool", "LG bit", also = "lg" },
        { "src.ig", "bool", "IG bit", also = "ig" },
    } },
    { "_word", 16, overlay = true },
    { "len", 16, "Length", when = "_word <= 1500", overlay = true },
    { "invalid_lentype", 16, "Invalid length/type", base = "hex", when = "_word > 1500 && _word < 1536",
        overlay = true },
    { "type", 16, "Type", base = "hex", values = types, when = "_word >= 1536" },
    { behind = true,
        -- how much the frame has in front of this, what is missing to 60 bytes, and whether that much is zero
        { "_have", value = "$start + $wire - $rest" },
        { "_fill", value = "$start + $wire < 60 || _have >= 60 ? 0 : 60 - _have" },
        { "_pad", "bytes", size = "_fill", when = "_fill > 0", overlay = true, sub = {
            { loop = true, stop = "_octet != 0", { "_octet", 8 } },
        } },
        { "padding", "bytes", "Padding", size = "_fill", when = "_fill > 0 && _octet == 0" },
        { "_fcs", value = "$here + $rest >= 64 && $rest >= 4" },
        { "trailer", "bytes", "Trailer", size = "$rest - _fcs * 4", when = "$rest > _fcs * 4" },
        { "fcs", 32, "Frame check sequence", base = "hex", when = "_fcs" },
        { "fcs.status", nil, "FCS Status", value = 2, when = "_fcs" },
    },
}
