--- What PPP links negotiate with: LCP (RFC 1661, 1570, 1990, 2686), IPCP (RFC 1332, 1877), IPV6CP (RFC 5072), CCP (RFC
-- 1962), PAP (RFC 1334) and CHAP (RFC 1994).

local protocols = require("ringtap.proto.ppp").names
local codes = {
    [0] = "Vendor-Specific", "Configure-Request", "Configure-Ack", "Configure-Nak", "Configure-Reject",
    "Terminate-Request", "Terminate-Ack", "Code-Reject", "Protocol-Reject", "Echo-Request", "Echo-Reply",
    "Discard-Request", "Identification", "Time-Remaining", "Reset-Request", "Reset-Ack",
}

-- ---------------------------------------------------------------- what LCP and its relatives have in common

local function header()
    return
        { ".ppp.code", 8, "Code", values = codes, default = 1 },
        { ".ppp.identifier", 8, "Identifier" },
        { ".ppp.length", 16, "Length" }
end

local function option_list(prefix, names_of, cases, default)
    return { loop = true, list = "options",
        { prefix .. ".type", 8, "Type", values = names_of },
        { prefix .. ".length", 8, "Length" },
        { check = prefix .. ".length >= 2", "option length below 2" },
        { switch = prefix .. ".type", size = prefix .. ".length - 2", cases = cases, default = default },
    }
end

local function data(name)
    return { name, "bytes", "Data", when = "$rest > 0" }
end

local function control(name, title, number_of, messages)
    local code, id, length = header()
    return {
        name = name, title = "PPP " .. title,
        on = { ["ppp.protocol"] = number_of },
        header = ".ppp.length", total = ".ppp.length",
        check = { { ".ppp.length >= 4", "length below 4" } },
        next = { { stop = true } },
        line = name:upper() .. ", {.ppp.code}, id {.ppp.identifier}, length {=$len}",
        code, id, length,
        { switch = ".ppp.code", cases = messages, default = { data ".ppp.data" } },
    }
end

-- the messages that all have: a rejected packet, a reason
local function common(options)
    local list = {}
    for code = 1, 4 do
        list[code] = options
    end
    for _, code in ipairs { 5, 6, 7, 14, 15 } do
        list[code] = { data ".ppp.data" }
    end
    return list
end

local function vendor(prefix)
    return { { prefix .. ".oui", 24, "OUI" }, { prefix .. ".kind", 8, "Kind" }, data(prefix .. ".data") }
end

-- ---------------------------------------------------------------- LCP

local control_characters = { "nul", "soh", "stx", "etx", "eot", "enq", "ack", "bel", "bs", "ht", "lf", "vt", "ff", "cr",
    "so", "si",
    "dle", "dc1", "dc2", "dc3", "dc4", "nak", "syn", "etb", "can", "em", "sub", "esc", "fs", "gs", "rs", "us" }
local asyncmap = {}
for i = 32, 1, -1 do
    asyncmap[#asyncmap + 1] = { "opt.asyncmap." .. control_characters[i], "bool", control_characters[i]:upper() }
end

local endpoint = {
    [1] = { { "opt.data", "bytes", "Data" } },
    [2] = { { "opt.ip_address", "ipv4", "IP Address" } },
    [3] = { { "opt.802_1_address", "ether", "IEEE 802.1 Address" } },
    [4] = { { loop = true, { "opt.magic_number", 32, "Magic Number", base = "hex" } } },
    [5] = { { "opt.psndn", "bytes", "Public Switched Network Directory Number" } },
}

local lcp_options = option_list("opt", {
    [0] = "Vendor Specific", [1] = "Maximum Receive Unit", [2] = "Async Control Character Map",
    [3] = "Authentication Protocol", [4] = "Quality Protocol", [5] = "Magic Number", [6] = "Link Quality Monitoring",
    [7] = "Protocol Field Compression", [8] = "Address and Control Field Compression", [9] = "FCS Alternatives",
    [10] = "Self-Describing Pad", [11] = "Numbered Mode", [12] = "Multi-Link Procedure", [13] = "Callback",
    [14] = "Connect Time", [15] = "Compound Frames", [16] = "Nominal Data Encapsulation", [17] = "Multilink MRRU",
    [18] = "Multilink Short Sequence Number Header", [19] = "Multilink Endpoint Discriminator", [20] = "Proprietary",
    [21] = "DCE Identifier", [22] = "Multilink Plus Procedure", [23] = "Link Discriminator for BACP",
    [24] = "LCP Authentication", [25] = "COBS", [26] = "Prefix Elision", [27] = "Multilink Header Format",
    [28] = "Internationalization", [29] = "Simple Data Link on SONET/SDH",
}, {
    [0] = vendor "opt",
    [1] = { { "opt.mru", 16, "Maximum Receive Unit" } },
    [2] = { { "opt.asyncmap", 32, "Async Control Character Map", base = "hex", sub = asyncmap } },
    [3] = {
        { "opt.auth_protocol", 16, "Authentication Protocol", base = "hex", values = protocols },
        { "opt.algorithm", 8, "Algorithm", when = "opt.auth_protocol == 0xc223",
            values = { [0] = "Reserved", [5] = "CHAP with MD5", [6] = "SHA-1", [128] = "MS-CHAP",
                [129] = "MS-CHAP-2" } },
        data "opt.data",
    },
    [4] = {
        { "opt.quality_protocol", 16, "Quality Protocol", base = "hex", values = protocols },
        { "opt.reporting_period", 32, "Reporting Period", when = "opt.quality_protocol == 0xc025" },
        data "opt.data",
    },
    [5] = { { "opt.magic_number", 32, "Magic Number", base = "hex" } },
    [9] = { { "opt.fcs_alternatives", 8, "FCS Alternatives", base = "hex", sub = {
        { "_", 5 },
        { "opt.fcs_alternatives.ccitt32", "bool", "CCITT 32-bit" },
        { "opt.fcs_alternatives.ccitt16", "bool", "CCITT 16-bit" },
        { "opt.fcs_alternatives.null", "bool", "NULL FCS" },
    } } },
    [10] = { { "opt.maximum", 8, "Maximum" } },
    [11] = { { "opt.window", 8, "Window" }, { "opt.hdlc_address", "bytes", "Address", when = "$rest > 0" } },
    [13] = {
        { "opt.operation", 8, "Operation", values = { [0] = "Location is determined by user authentication",
            "Message is dialing string", "Message is location identifier", "Message is E.164",
            "Message is distinguished name",
            "unassigned", "Location is determined during CBCP negotiation" } },
        { "opt.message", "bytes", "Message", when = "$rest > 0" },
    },
    [17] = { { "opt.mrru", 16, "MRRU" } },
    [19] = {
        { "opt.ep_disc_class", 8, "Class", values = { [0] = "Null", "Locally assigned address", "IP address",
            "IEEE 802.1 globally assigned MAC address", "PPP magic-number block",
            "Public switched network directory number" } },
        { switch = "opt.ep_disc_class", cases = endpoint, default = { data "opt.data" }, when = "$rest > 0" },
    },
    [21] = { { "opt.mode", 8, "Mode", values = { "No Additional Negotiation",
    "Full PPP LCP Negotiation and State Machine" } } },
    [22] = { { "opt.unused", "bytes", "Unused" } },
    [23] = { { "opt.link_discrim", 16, "Link Discriminator" } },
    [25] = { { "opt.flags", 8, "Flags", base = "hex", sub = {
        { "opt.flags.reserved", 6, "Reserved", base = "hex" },
        { "opt.flags.pre", "bool", "PRE" },
        { "opt.flags.zxe", "bool", "ZXE" },
    } } },
    [26] = { { "opt.class", 8, "Class" }, data "opt.data" },
    [27] = {
        { "opt.code", 8, "Code", values = { [2] = "Long sequence number fragment format with classes",
            [6] = "Short sequence number fragment format with classes" } },
        { "opt.max_susp_classes", 8, "Max suspendable classes" },
    },
    [28] = { { "opt.MIBenum", 32, "MIBenum" }, { "opt.language_tag", "string", "Language-Tag", when = "$rest > 0" } },
}, { data "opt.data" })

local magic = { "magic_number", 32, "Magic Number", base = "hex" }
local lcp_codes = common { lcp_options }
lcp_codes[0] = { { ".ppp.magic_number", 32, "Magic Number", base = "hex" }, table.unpack(vendor ".ppp") }
lcp_codes[8] = { { "rej_proto", 16, "Rejected Protocol", base = "hex", values = protocols }, data "data" }
for code = 9, 11 do
    lcp_codes[code] = { magic, data "data" }
end
lcp_codes[12] = { magic, { "message", "string", "Message", when = "$rest > 0" } }
lcp_codes[13] = {
    magic,
    { "secs_remaining", 32, "Seconds Remaining" },
    { "message", "string", "Message", when = "$rest > 0" },
}
local lcp = control("lcp", "Link Control Protocol", 0xc021, lcp_codes)

-- ---------------------------------------------------------------- IPCP, IPV6CP, CCP

local rohc = { loop = true,
    { "opt.rohc.type", 8, "Type" },
    { "opt.rohc.length", 8, "Length" },
    { check = "opt.rohc.length >= 2", "suboption length below 2" },
    { size = "opt.rohc.length - 2",
        { loop = true, { "opt.rohc.profile", 16, "Profile", base = "hex" }, },
    },
}
local iphc = { loop = true,
    { "opt.iphc.type", 8, "Type" },
    { "opt.iphc.length", 8, "Length" },
    { check = "opt.iphc.length >= 2", "suboption length below 2" },
    { size = "opt.iphc.length - 2",
        { "opt.iphc.param", 8, "Parameter", when = "opt.iphc.type == 3" },
    },
}
local function one(name, title)
    return { { name, "ipv4", title } }
end
local ipcp_options = option_list("opt", {
    [1] = "IP Addresses", [2] = "IP Compression Protocol", [3] = "IP Address", [4] = "Mobile Node's Home IP Address",
    [129] = "Primary DNS Server IP Address", [130] = "Primary NBNS Server IP Address",
    [131] = "Secondary DNS Server IP Address", [132] = "Secondary NBNS Server IP Address",
}, {
    [1] = { { "opt.src_address", "ipv4", "Source IP Address" }, { "opt.dst_address", "ipv4",
    "Destination IP Address" } },
    [2] = {
        { "opt.compress_proto", 16, "IP Compression Protocol", base = "hex",
            values = { [0x03] = "ROHC", [0x2d] = "VJ compression", [0x37] = "VJ compression", [0x61] = "IPHC" } },
        { switch = "opt.compress_proto", cases = {
            [0x03] = {
                { "opt.max_cid", 16, "Max CID" },
                { "opt.mrru", 16, "MRRU" },
                { "opt.max_header", 16, "Max Header" },
                rohc,
            },
            [0x2d] = {
                { "opt.max_slot_id", 8, "Max Slot ID" },
                { "_", 7 },
                { "opt.comp_slot_id", "bool", "Comp Slot ID" },
            },
            [0x61] = {
                { "opt.tcp_space", 16, "TCP Space" },
                { "opt.non_tcp_space", 16, "Non TCP Space" },
                { "opt.f_max_period", 16, "F Max Period" },
                { "opt.f_max_time", 16, "F Max Time" },
                { "opt.max_header", 16, "Max Header" },
                iphc,
            },
        }, default = { data "data" } },
    },
    [3] = one("opt.ip_address", "IP Address"),
    [4] = one("opt.mobilenodehomeaddress", "Mobile Node's Home Address"),
    [129] = one("opt.pri_dns_address", "Primary DNS Address"),
    [130] = one("opt.pri_nbns_address", "Primary NBNS Address"),
    [131] = one("opt.sec_dns_address", "Secondary DNS Address"),
    [132] = one("opt.sec_nbns_address", "Secondary NBNS Address"),
})
local ipcp = control("ipcp", "IP Control Protocol", 0x8021, common { ipcp_options })

local ipv6cp_options = option_list("opt", { "Interface Identifier", "IPv6 Compression Protocol" }, {
    [1] = { { "interface_identifier", "bytes", "Interface Identifier", base = "colon" } },
})
local ipv6cp = control("ipv6cp", "IPv6 Control Protocol", 0x8057, common { ipv6cp_options })

local ccp_options = option_list("opt", {
    [0] = "OUI", [1] = "Predictor type 1", [2] = "Predictor type 2", [3] = "Puddle Jumper",
    [16] = "Hewlett-Packard PPC", [17] = "Stac Electronics LZS", [18] = "Microsoft PPE/PPC", [19] = "Gandalf FZA",
    [20] = "V.42bis", [21] = "BSD Compress", [23] = "LZS-DCP", [24] = "MVRCA", [26] = "Deflate", [27] = "V.44/LZJH",
}, {
    [0] = { { "opt.oui", 24, "OUI" }, { "opt.subtype", 8, "Subtype" }, data "opt.data" },
    [17] = {
        { "opt.history_count", 16, "History Count" },
        { "opt.cm", 8, "Check Mode Field", sub = {
            { "opt.cm.reserved", 5, "Reserved" },
            { "opt.cm.check_mode", 3, "Check Mode",
                values = { [0] = "None", "LCB", "CRC", "Sequence Number", "Extended Mode" } },
        } },
    },
    [21] = { { "opt.vd", 8, "Vers/Dict", base = "hex", sub = {
        { "opt.vd.vers", 3, "Vers" },
        { "opt.vd.dict", 5, "Dict" },
    } } },
    [26] = {
        { "opt.window", 4, "Window" },
        { "opt.method", 4, "Method", values = { [8] = "zlib" } },
        { "opt.mbz", 6, "MBZ" },
        { "opt.chk", 2, "Chk", values = { [0] = "Sequence Number" } },
    },
    [18] = { { "opt.supported_bits", 32, "Supported Bits", base = "hex", sub = {
        { "_", 7 }, { "opt.supported_bits.h", "bool", "H" }, { "_", 16 }, { "opt.supported_bits.m", "bool", "M" },
        { "opt.supported_bits.s", "bool", "S" }, { "opt.supported_bits.l", "bool", "L" }, { "opt.supported_bits.d",
            "bool", "D" },
        { "_", 3 }, { "opt.supported_bits.c", "bool", "C" },
    } } },
}, { data "opt.data" })
local ccp = control("ccp", "Compression Control Protocol", 0x80fd, common { ccp_options })

-- ---------------------------------------------------------------- PAP, CHAP

local pap = {
    name = "pap", title = "PPP Password Authentication Protocol",
    on = { ["ppp.protocol"] = 0xc023 },
    header = "length", total = "length",
    check = { { "length >= 4", "length below 4" } },
    next = { { stop = true } },
    line = "PAP, {code}, id {identifier}, length {=$len}",
    { "code", 8, "Code", values = { "Authenticate-Request", "Authenticate-Ack", "Authenticate-Nak" }, default = 1 },
    { "identifier", 8, "Identifier" },
    { "length", 16, "Length" },
    { when = "code == 1",
        { "peer_id.length", 8, "Peer-ID-Length" },
        { "peer_id", "string", "Peer-ID", size = "peer_id.length" },
        { "password.length", 8, "Password-Length" },
        { "password", "string", "Password", size = "password.length" },
    },
    { when = "(code == 2 || code == 3) && $rest > 0",
        { "message.length", 8, "Message-Length" },
        { "message", "string", "Message", size = "message.length" },
    },
}

local chap = {
    name = "chap", title = "PPP Challenge Handshake Authentication Protocol",
    on = { ["ppp.protocol"] = 0xc223 },
    header = "length", total = "length",
    check = { { "length >= 4", "length below 4" } },
    next = { { stop = true } },
    line = "CHAP, {code}, id {identifier}, length {=$len}",
    { "code", 8, "Code", values = { "Challenge", "Response", "Success", "Failure" }, default = 1 },
    { "identifier", 8, "Identifier" },
    { "length", 16, "Length" },
    { when = "code == 1 || code == 2",
        { "value_size", 8, "Value Size" },
        { "value", "bytes", "Value", size = "value_size" },
        { "name", "string", "Name", when = "$rest > 0" },
    },
    { when = "(code == 3 || code == 4) && $rest > 0",
        { "message", "string", "Message" },
    },
}

return { lcp, ipcp, ipv6cp, ccp, pap, chap }
