--- ARP, RFC 826, with what shares its format: RARP (RFC 903), DRARP (RFC 1931), InARP (RFC 2390), and ATMARP with its
-- own order of lengths (RFC 2225). Addresses are as long as the header says.

local hardware = {
    [0] = "reserved", [1] = "Ethernet", [2] = "Experimental Ethernet", [3] = "AX.25", [4] = "ProNET Token Ring",
    [5] = "Chaos", [6] = "IEEE 802", [7] = "ARCNET", [8] = "Hyperchannel", [9] = "Lanstar",
    [10] = "Autonet Short Address", [11] = "LocalTalk", [12] = "LocalNet", [13] = "Ultra link", [14] = "SMDS",
    [15] = "Frame Relay", [16] = "ATM", [17] = "HDLC", [18] = "Fibre Channel", [19] = "ATM", [20] = "Serial Line",
    [21] = "ATM", [22] = "MIL-STD-188-220", [23] = "Metricom", [24] = "IEEE 1394", [25] = "MAPOS", [26] = "Twinaxial",
    [27] = "EUI-64", [28] = "HIPARP", [29] = "IP over ISO 7816-3", [30] = "ARPSec", [31] = "IPsec tunnel",
    [32] = "InfiniBand", [33] = "CAI", [34] = "Wiegand", [35] = "Pure IP", [36] = "HW_EXP1", [37] = "HFI",
    [38] = "Unified Bus", [256] = "HW_EXP2", [257] = "AEthernet",
}

local opcodes = {
    [1] = "request", [2] = "reply", [3] = "reverse request", [4] = "reverse reply", [5] = "drarp request",
    [6] = "drarp reply", [7] = "drarp error", [8] = "inverse request", [9] = "inverse reply", [10] = "arp nak",
    [11] = "mars request", [12] = "mars multi", [13] = "mars mserv", [14] = "mars join", [15] = "mars leave",
    [16] = "mars nak", [17] = "mars unserv", [18] = "mars sjoin", [19] = "mars sleave",
    [20] = "mars grouplist request", [21] = "mars grouplist reply", [22] = "mars redirect map", [23] = "mapos unarp",
    [24] = "experimental 1", [25] = "experimental 2",
}

-- an address of one side: MAC address, AX.25 callsign or anything else, then IPv4 address or anything else
local function side(prefix, title)
    return { when = "hw.type != 19",
        { prefix .. ".hw_mac", "ether", title .. " MAC address",
            when = "hw.size == 6 && (hw.type == 1 || hw.type == 6)" },
        { prefix .. ".hw_ax25", "bytes", title .. " AX.25 address", base = "colon", size = 7,
            when = "hw.size == 7 && hw.type == 3" },
        { prefix .. ".hw", "bytes", title .. " hardware address", size = "hw.size",
            when = "hw.size > 0 && !(hw.size == 6 && (hw.type == 1 || hw.type == 6))"
                .. " && !(hw.size == 7 && hw.type == 3)" },
        { prefix .. ".proto_ipv4", "ipv4", title .. " IP address", when = "proto.size == 4 && proto.type == 0x0800" ..
            (prefix == "dst" and " && opcode != 7" or "") },
        { prefix .. ".proto", "bytes", title .. " protocol address", size = "proto.size",
            when = "proto.size > 0 && !(proto.size == 4 && proto.type == 0x0800)" ..
                (prefix == "dst" and " && opcode != 7" or "") },
    }
end

-- type and length of an ATM number and of its subaddress
local function atm_lengths(prefix, title)
    return { when = "hw.type == 19",
        { "_", 1 },
        { prefix .. ".htype", "bool", title .. " ATM number type" },
        { prefix .. ".hlen", 6, title .. " ATM number length" },
        { "_", 1 },
        { prefix .. ".stype", "bool", title .. " ATM subaddress type" },
        { prefix .. ".slen", 6, title .. " ATM subaddress length" },
    }
end

local function atm_side(prefix, title)
    return { when = "hw.type == 19",
        { prefix .. ".atm_num_e164", "string", title .. " ATM number (E.164)", size = prefix .. ".hlen",
            when = ("%s.hlen > 0 && %s.htype"):format(prefix, prefix) },
        { prefix .. ".atm_num_nsap", "bytes", title .. " ATM number (NSAP)", size = prefix .. ".hlen",
            when = ("%s.hlen > 0 && !%s.htype"):format(prefix, prefix) },
        { prefix .. ".atm_subaddr", "bytes", title .. " ATM subaddress", size = prefix .. ".slen",
            when = prefix .. ".slen > 0" },
        { prefix .. ".proto_ipv4", "ipv4", title .. " IP address", when = prefix .. ".pln == 4" },
        { prefix .. ".proto", "bytes", title .. " protocol address", size = prefix .. ".pln",
            when = ("%s.pln > 0 && %s.pln != 4"):format(prefix, prefix) },
    }
end

local size = "hw.type == 19 ? 12 + ($u8(4) & 63) + ($u8(5) & 63) + $u8(8) + ($u8(9) & 63) + ($u8(10) & 63) + $u8(11)"
    .. " : 8 + 2 * hw.size + 2 * proto.size"

-- RFC 5227 1.1, 3: IPv4 addresses of sender and target are the same; the sender has none; and an announcement
local ours = "hw.type != 19 && proto.size == 4 && opcode <= 2 && "
local same = ours .. "$u32(8 + hw.size) == $u32(12 + 2 * hw.size)"

return {
    name = "arp", title = "Address Resolution Protocol",
    on = { ethertype = { 0x0806, 0x8035 } },
    header = size, total = size,
    next = { { stop = true } },
    line = {
        { when = "opcode == 1", "Request who-has {dst.proto_ipv4} tell {src.proto_ipv4}" },
        { when = "opcode == 2", "Reply {src.proto_ipv4} is-at {src.hw_mac}" },
        { when = "opcode == 3", "Reverse Request who-is {dst.hw_mac} tell {src.hw_mac}" },
        { when = "opcode == 4", "Reverse Reply {dst.hw_mac} at {dst.proto_ipv4}" },
        { when = "opcode == 0 || opcode > 4", "{opcode}" },
        ", length {=$len}",
    },
    { "hw.type", 16, "Hardware type", values = hardware, default = 1 },
    { "proto.type", 16, "Protocol type", base = "hex", default = 0x0800 },
    { "hw.size", 8, "Hardware size", default = 6, when = "hw.type != 19" },
    { "proto.size", 8, "Protocol size", default = 4, when = "hw.type != 19" },
    atm_lengths("src", "Sender"),
    { "opcode", 16, "Opcode", values = opcodes, default = 1 },
    { "isgratuitous", nil, "Is gratuitous", value = 1, when = same },
    { "isprobe", nil, "Is probe", value = 1,
        when = ours .. "opcode == 1 && $u32(8 + hw.size) == 0 && !(" .. same .. ")" },
    { "isannouncement", nil, "Is announcement", value = 1,
        when = same .. " && opcode == 1 && hw.size == 6 && $u32(18) == 0 && $u16(22) == 0" },
    { "src.pln", 8, "Sender protocol size", when = "hw.type == 19" },
    atm_lengths("dst", "Target"),
    { "dst.pln", 8, "Target protocol size", when = "hw.type == 19" },
    side("src", "Sender"),
    atm_side("src", "Sender"),
    side("dst", "Target"),
    atm_side("dst", "Target"),
    { "dst.drarp_error_status", 8, "DRARP error status", when = "opcode == 7 && hw.type != 19" },
}
