--- Linux cooked captures: LINKTYPE_LINUX_SLL (113) and LINKTYPE_LINUX_SLL2 (276).

local hardware = {
    [0] = "NET/ROM", [1] = "Ethernet", [2] = "Experimental Ethernet", [3] = "AX.25", [4] = "ProNET", [5] = "Chaos",
    [6] = "IEEE 802", [7] = "ARCNET", [8] = "AppleTalk", [15] = "Frame Relay DLCI", [19] = "ATM",
    [23] = "Metricom STRIP", [24] = "IEEE 1394", [27] = "EUI-64", [32] = "InfiniBand", [256] = "SLIP",
    [257] = "CSLIP", [258] = "SLIP6", [259] = "CSLIP6", [264] = "ADAPT", [270] = "ROSE", [271] = "X.25",
    [280] = "CAN", [512] = "PPP", [513] = "Cisco HDLC", [516] = "LAPB", [517] = "DDCMP", [518] = "Raw HDLC",
    [519] = "Raw IP", [768] = "IPIP tunnel", [769] = "IPv6 tunnel", [770] = "Frame Relay Access Device",
    [771] = "SKIP", [772] = "Loopback", [773] = "LocalTalk", [774] = "FDDI", [776] = "SIT tunnel",
    [778] = "GRE tunnel", [780] = "HIPPI", [783] = "IrDA", [800] = "IEEE 802.2 Token Ring", [801] = "IEEE 802.11",
    [802] = "IEEE 802.11 with Prism header", [803] = "IEEE 802.11 with radiotap header", [804] = "IEEE 802.15.4",
    [805] = "IEEE 802.15.4 monitor", [820] = "Phonet", [821] = "Phonet over pipe", [822] = "CAIF",
    [823] = "GRE over IPv6", [824] = "Netlink", [825] = "6LoWPAN", [826] = "Vsock monitor", [65534] = "none",
    [65535] = "void",
}
local packet_types = { [0] = "Unicast to us", "Broadcast", "Multicast", "Unicast to another host", "Sent by us" }
local families = { [0x0001] = "802.3", [0x0004] = "802.2 LLC", [0x000c] = "CAN", [0x000d] = "CAN FD" }
local types = { [0x0800] = "IPv4", [0x0806] = "ARP", [0x86dd] = "IPv6", [0x8100] = "802.1Q",
    [0x8863] = "PPPoE Discovery",
    [0x8864] = "PPPoE Session", [0x88a8] = "802.1ad", [0x88cc] = "LLDP", [0x888e] = "802.1X" }

-- what the two headers have in common, in different places; 8 bytes for the address, whatever it takes of them
local function protocol(hatype)
    local gre, other = hatype .. " == 778", hatype .. " != 778 && _protocol "
    return {
        { "_protocol", 16, overlay = true },
        { "gretype", 16, "Protocol", base = "hex", values = types, when = gre, overlay = true },
        { "ltype", 16, "Protocol", base = "hex", values = families, when = other .. "< 1536", overlay = true },
        { "etype", 16, "Protocol", base = "hex", values = types, when = other .. ">= 1536", overlay = true },
        { "_", 16 },
    }
end

local hatype = { "hatype", 16, "Link-layer address type", values = hardware, default = 1 }
local address = { "_address", 64, sub = {
    { "src.eth", "ether", "Source", when = "halen == 6" },
    { "src.ipv4", "ipv4", "Source", when = "halen == 4" },
    { "src.other", "bytes", "Source", size = "halen < 8 ? halen : 8", when = "halen != 6 && halen != 4 && halen > 0" },
    { "unused", "bytes", "Unused", when = "halen < 8" },
} }
local trailer = { behind = true, { "trailer", "bytes", "Trailer" } }

local rules = {
    { "netlink", at = "0", when = "$link == 113 && hatype == 824" }, -- its own header is this one
    { table = "ethertype", key = "_protocol", when = "hatype != 778", via = "ethertype" },
    { table = "gre.proto", key = "_protocol", when = "hatype == 778" },
    { table = "ethertype", key = "_protocol", when = "hatype == 778" },
    { table = "sll.hatype", key = "hatype" },
    { table = "sll.ltype", key = "_protocol" },
}

return {
    {
        name = "sll", title = "Linux cooked-mode capture",
        on = { link = 113 },
        header = 16,
        next = rules,
        line = "{pkttype}, length {=$len}",
        { "pkttype", 16, "Packet type", values = packet_types },
        hatype,
        { "halen", 16, "Link-layer address length", default = 6 },
        address,
        protocol "hatype",
        trailer,
    },
    {
        name = "sll2", prefix = "sll", shown = "sll", title = "Linux cooked-mode capture v2",
        on = { link = 276 },
        header = 20,
        next = rules,
        line = "ifindex {ifindex}, {pkttype}, length {=$len}",
        protocol "$u16(8)",
        { "_reserved", 16 },
        { "ifindex", 32, "Interface index" },
        hatype,
        { "pkttype", 8, "Packet type", values = packet_types },
        { "halen", 8, "Link-layer address length", default = 6 },
        address,
        trailer,
    },
}
