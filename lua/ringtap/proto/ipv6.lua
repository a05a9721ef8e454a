--- IPv6, RFC 8200, and its extension headers, each a protocol of its own: hop-by-hop and destination options,
-- routing headers, fragments, AH (RFC 4302), ESP (RFC 4303) and the mobility header (RFC 6275, 5568,
-- 5844, 5845, 5846).

local next_headers = {
    [0] = "Hop-by-Hop Options", [1] = "ICMP", [2] = "IGMP", [4] = "IPv4", [6] = "TCP", [17] = "UDP", [33] = "DCCP",
    [41] = "IPv6", [43] = "Routing", [44] = "Fragment", [46] = "RSVP", [47] = "GRE", [50] = "ESP", [51] = "AH",
    [58] = "ICMPv6", [59] = "No Next Header", [60] = "Destination Options", [88] = "EIGRP", [89] = "OSPF",
    [97] = "EtherIP", [103] = "PIM", [108] = "IPComp", [112] = "VRRP", [115] = "L2TP", [132] = "SCTP",
    [135] = "Mobility", [136] = "UDPLite", [137] = "MPLS", [139] = "HIP", [140] = "Shim6", [143] = "Ethernet",
}

-- ---------------------------------------------------------------- what an address has inside

local function mac_of(at)
    return function(_, layer)
        local a, b, c, _, _, d, e, f = layer:byte(at + 9, at + 16)
        return f and ("%02x:%02x:%02x:%02x:%02x:%02x"):format(a ~ 2, b, c, d, e, f) or nil
    end
end

local function ipv4_of(at)
    return function(_, layer)
        local a, b, c, d = layer:byte(at + 13, at + 16)
        return d and ("%d.%d.%d.%d"):format(a ~ 0xff, b ~ 0xff, c ~ 0xff, d ~ 0xff) or nil
    end
end

-- EUI-64 (RFC 4291 appendix A), ISATAP (RFC 5214 6.1), 6to4 (RFC 3056 2), Teredo (RFC 4380 4), NAT64 (RFC 6052 2.1)
local function inside(side, title, at)
    local function name(rest)
        return side .. "_" .. rest
    end
    return {
        { name "slaac_mac", "ether", title .. " SLAAC MAC", value = mac_of(at), also = "slaac_mac",
            when = ("$u16(%d) == 0xfffe && $u8(%d) & 2"):format(at + 11, at + 8) },
        { when = ("$u16(%d) == 0x2002"):format(at),
            { "_", 16 },
            { name "6to4_gw_ipv4", "ipv4", title .. " 6to4 Gateway IPv4", also = "6to4_gw_ipv4" },
            { name "6to4_sla_id", 16, title .. " 6to4 SLA ID", also = "6to4_sla_id" },
        },
        { when = ("$u32(%d) == 0x20010000"):format(at),
            { "_", 32 },
            { name "ts_ipv4", "ipv4", title .. " Teredo Server IPv4", also = "ts_ipv4" },
            { name "tc_port", 16, title .. " Teredo Port", also = "tc_port",
                value = ("$u16(%d) ^ 0xffff"):format(at + 10) },
            { name "tc_ipv4", "ipv4", title .. " Teredo Client IPv4", also = "tc_ipv4", value = ipv4_of(at) },
        },
        { when = ("($u32(%d) & 0xfdffffff) == 0x5efe"):format(at + 8),
            { "_", "bytes", size = 12 },
            { name "isatap_ipv4", "ipv4", title .. " ISATAP IPv4", also = "isatap_ipv4" },
        },
        { when = ("$u32(%d) == 0x0064ff9b && $u32(%d) == 0 && $u32(%d) == 0"):format(at, at + 4, at + 8),
            { "embed_ipv4_prefix", "bytes", "Embedded IPv4 Prefix", size = 12 },
            { name "embed_ipv4", "ipv4", title .. " Embedded IPv4", also = "embed_ipv4" },
        },
    }
end

-- ---------------------------------------------------------------- options

local function flag(name, title)
    return { ".ipv6.opt." .. name, "bool", title }
end

local quick_start = {
    { ".ipv6.opt.qs_func", 4, "Function", values = { [0] = "Rate request", [8] = "Rate report" } },
    { ".ipv6.opt.qs_rate", 4, "Rate", when = ".ipv6.opt.qs_func == 0 || .ipv6.opt.qs_func == 8" },
    { ".ipv6.opt.qs_ttl", 8, "QS TTL", when = ".ipv6.opt.qs_func == 0" },
    { ".ipv6.opt.qs_unused", 8, "Not Used", when = ".ipv6.opt.qs_func == 8" },
    { when = ".ipv6.opt.qs_func == 0 || .ipv6.opt.qs_func == 8",
        { ".ipv6.opt.qs_nonce", 30, "QS Nonce", base = "hex", digits = 8 },
        { ".ipv6.opt.qs_reserved", 2, "Reserved", base = "hex", digits = 8 },
    },
}

local rpl = {
    { ".ipv6.opt.rpl.flag", 8, "Flag", base = "hex", sub = {
        flag("rpl.flag.o", "Down"), flag("rpl.flag.r", "Rank Error"), flag("rpl.flag.f", "Forwarding Error"),
        { ".ipv6.opt.rpl.flag.rsv", 5, "Reserved", base = "hex" },
    } },
    { ".ipv6.opt.rpl.instance_id", 8, "RPLInstanceID", base = "hex" },
    { ".ipv6.opt.rpl.sender_rank", 16, "Sender Rank", base = "hex" },
}

-- IOAM: the bits of the trace type tell what each node has put in, RFC 9197 4.4
local ioam_type = ".ipv6.opt.ioam.trace.type"

local function node(bit, ...)
    return { when = ("%s & %d"):format(ioam_type, 0x800000 >> bit), ... }
end

local function hex32(name, title)
    return { ".ipv6.opt.ioam.trace.node." .. name, 32, title, base = "hex" }
end

local ioam = {
    { ".ipv6.opt.ioam.rsv", 8, "Reserved" },
    { ".ipv6.opt.ioam.opt_type", 8, "Option-Type", values = { [0] = "Pre-allocated Trace", [1] = "Incremental Trace",
        [2] = "Proof of Transit", [3] = "Edge to Edge" } },
    { when = ".ipv6.opt.ioam.opt_type <= 1",
        { ".ipv6.opt.ioam.trace.ns", 16, "Namespace ID" },
        { ".ipv6.opt.ioam.trace.nodelen", 5, "Node Length" },
        { ".ipv6.opt.ioam.trace.flags", 4, "Flags", base = "hex", digits = 4, sub = {
            flag("ioam.trace.flag.o", "Overflow"), flag("ioam.trace.flag.l", "Loopback"), flag("ioam.trace.flag.a",
                "Active"),
            flag("ioam.trace.flag.rsv", "Reserved"),
        } },
        { ".ipv6.opt.ioam.trace.remlen", 7, "Remaining Length" },
        { ".ipv6.opt.ioam.trace.type", 24, "Trace Type", base = "hex", sub = {
            flag("ioam.trace.type.bit0", "Hop_Lim and Node ID (short)"), flag("ioam.trace.type.bit1",
                "Ingress and Egress IDs (short)"),
            flag("ioam.trace.type.bit2", "Timestamp seconds"), flag("ioam.trace.type.bit3", "Timestamp fraction"),
            flag("ioam.trace.type.bit4", "Transit delay"), flag("ioam.trace.type.bit5",
                "Namespace specific data (short)"),
            flag("ioam.trace.type.bit6", "Queue depth"), flag("ioam.trace.type.bit7", "Checksum complement"),
            flag("ioam.trace.type.bit8", "Hop_Lim and Node ID (wide)"), flag("ioam.trace.type.bit9",
                "Ingress and Egress IDs (wide)"),
            flag("ioam.trace.type.bit10", "Namespace specific data (wide)"), flag("ioam.trace.type.bit11",
                "Buffer occupancy"),
            { ".ipv6.opt.ioam.trace.type.undef", "bool", "Undefined", bits = 10 },
            flag("ioam.trace.type.bit22", "Opaque State Snapshot"), flag("ioam.trace.type.rsv", "Reserved"),
        } },
        { ".ipv6.opt.ioam.trace.rsv", 8, "Reserved" },
        { ".ipv6.opt.ioam.trace.free_space", "bytes", "Free space", size = ".ipv6.opt.ioam.trace.remlen * 4",
            when = ".ipv6.opt.ioam.trace.remlen" },
        { loop = true, list = "nodes",
            node(0,
                { ".ipv6.opt.ioam.trace.node.hlim", 8, "Hop Limit" },
                { ".ipv6.opt.ioam.trace.node.id", 24, "ID", base = "hex" }),
            node(1,
                { ".ipv6.opt.ioam.trace.node.iif", 16, "Ingress ID", base = "hex" },
                { ".ipv6.opt.ioam.trace.node.eif", 16, "Egress ID", base = "hex" }),
            node(2, hex32("tss", "Timestamp Seconds")),
            node(3, hex32("tsf", "Timestamp Fraction")),
            node(4, hex32("trdelay", "Transit Delay")),
            node(5, hex32("nsdata", "Namespace Data (short)")),
            node(6, hex32("qdepth", "Queue Depth")),
            node(7, hex32("csum", "Checksum Complement")),
            node(8,
                { ".ipv6.opt.ioam.trace.node.hlim", 8, "Hop Limit" },
                { ".ipv6.opt.ioam.trace.node.id_wide", 56, "ID", base = "hex", digits = 14 }),
            node(9, hex32("iif_wide", "Ingress ID"), hex32("eif_wide", "Egress ID")),
            node(10, { ".ipv6.opt.ioam.trace.node.nsdata_wide", 64, "Namespace Data (wide)", base = "hex" }),
            node(11, hex32("bufoccup", "Buffer Occupancy")),
            { loop = "10", { when = ioam_type .. " & (0x800 >> $index)", hex32("undefined", "Undefined bit") } },
            node(22,
                { ".ipv6.opt.ioam.trace.node.oss.len", 8, "Length" },
                { ".ipv6.opt.ioam.trace.node.oss.scid", 24, "Schema ID", base = "hex" },
                { ".ipv6.opt.ioam.trace.node.oss.data", "bytes", "Data",
                    size = ".ipv6.opt.ioam.trace.node.oss.len * 4" }),
        },
    },
}

local experimental = { { ".ipv6.opt.experimental", "bytes", "Experimental Option" } }

-- RFC 2473 (tunnels), 2711 (router alert), 5570 (CALIPSO), 6621 (SMF), 8250 (metrics), 9486 (IOAM), 6553 and 9008
-- (RPL), 4782 (Quick-Start), 9268 (path MTU), 7731 (MPL), 6744 (ILNP), 6788 (line), 2675 (jumbo), 6275 (home),
-- 6971 (DFF)
local options = {
    [0x01] = { { ".ipv6.opt.padn", "bytes", "PadN", none = true } },
    [0x04] = { { ".ipv6.opt.tel", 8, "Tunnel Encapsulation Limit" } },
    [0x05] = { { ".ipv6.opt.router_alert", 16, "Router Alert", values = { [0] = "MLD", [1] = "RSVP",
    [2] = "Active Network",
        [68] = "NSIS NATFW NSLP", [69] = "MPLS OAM" } } },
    [0x07] = {
        { ".ipv6.opt.calipso.doi", 32, "CALIPSO Domain of Interpretation" },
        { ".ipv6.opt.calipso.cmpt.length", 8, "Compartment Length" },
        { ".ipv6.opt.calipso.sens_level", 8, "Sensitivity Level" },
        { ".ipv6.opt.calipso.checksum", 16, "Checksum", base = "hex" },
        { ".ipv6.opt.calipso.cmpt_bitmap", "bytes", "Compartment Bitmap", when = "$rest > 0" },
    },
    [0x08] = {
        { ".ipv6.opt.smf_dpd.hash_bit", "bool", "H-bit", overlay = true },
        { ".ipv6.opt.smf_dpd.hav", "bytes", "Hash Assist Value", when = ".ipv6.opt.smf_dpd.hash_bit" },
        { when = "!.ipv6.opt.smf_dpd.hash_bit",
            { "_", 1 },
            { ".ipv6.opt.smf_dpd.tid_type", 3, "TaggerID Type", values = { [0] = "NULL", "DEFAULT", "IPv4", "IPv6" } },
            { ".ipv6.opt.smf_dpd.tid_len", 4, "TaggerID Length" },
            { ".ipv6.opt.smf_dpd.tagger_id", "bytes", "TaggerID", size = ".ipv6.opt.smf_dpd.tid_len + 1",
                when = ".ipv6.opt.smf_dpd.tid_type" },
            { ".ipv6.opt.smf_dpd.ident", "bytes", "Identifier" },
        },
    },
    [0x0f] = {
        { ".ipv6.opt.pdm.scale_dtlr", 8, "Scale DTLR" },
        { ".ipv6.opt.pdm.scale_dtls", 8, "Scale DTLS" },
        { ".ipv6.opt.pdm.psn_this_pkt", 16, "PSN This Packet" },
        { ".ipv6.opt.pdm.psn_last_recv", 16, "PSN Last Received" },
        { ".ipv6.opt.pdm.delta_last_recv", 16, "Delta Time Last Received" },
        { ".ipv6.opt.pdm.delta_last_sent", 16, "Delta Time Last Sent" },
    },
    [0x11] = ioam,
    [0x23] = rpl,
    [0x26] = quick_start,
    [0x30] = {
        { ".ipv6.opt.pmtu.min", 16, "Minimum Reported PMTU" },
        { ".ipv6.opt.pmtu.rtn", 16, "Return Minimum PMTU", value = "$at16(0) & 0xfffe" },
        { "_", 15 },
        { ".ipv6.opt.pmtu.r_flag", "bool", "Return Flag" },
    },
    [0x31] = ioam,
    [0x63] = rpl,
    [0x6d] = {
        { ".ipv6.opt.mpl.flag", 8, "Flag", base = "hex", sub = {
            { ".ipv6.opt.mpl.flag.s", 2, "Seed ID Length", values = { [0] = "0 octets", "16 bits", "64 bits",
                "128 bits" } },
            flag("mpl.flag.m", "Largest Sequence"), flag("mpl.flag.v", "Version"),
            { ".ipv6.opt.mpl.flag.rsv", 4, "Reserved", base = "hex" },
        } },
        { ".ipv6.opt.mpl.sequence", 8, "Sequence", base = "hex" },
        { ".ipv6.opt.mpl.seed_id", "bytes", "Seed ID", when = ".ipv6.opt.mpl.flag.s",
            size = ".ipv6.opt.mpl.flag.s == 1 ? 2 : .ipv6.opt.mpl.flag.s == 2 ? 8 : 16" },
    },
    [0x8b] = { { ".ipv6.opt.ilnp_nonce", "bytes", "ILNP Nonce" } },
    [0x8c] = {
        { ".ipv6.opt.lio.length", 8, "LineIDLen" },
        { ".ipv6.opt.lio.line_id", "string", "Line ID", size = ".ipv6.opt.lio.length" },
    },
    [0xc2] = {
        { ".ipv6.opt.jumbo", 32, "Payload Length" },
        { check = ".ipv6.opt.jumbo > 65535", "a jumbo payload length below 65536" },
    },
    [0xc9] = { { ".ipv6.opt.mipv6.home_address", "ipv6", "MIPv6 Home Address" } },
    [0xee] = {
        { ".ipv6.opt.dff.flags", 8, "Flags", base = "hex", sub = {
            { ".ipv6.opt.dff.flag.ver", 2, "Version (VER)" },
            flag("dff.flag.dup", "Duplicate (DUP)"), flag("dff.flag.ret", "Return (RET)"),
            { ".ipv6.opt.dff.flag.rsv", 4, "Reserved", base = "hex" },
        } },
        { ".ipv6.opt.dff.sequence_number", 16, "Sequence Number" },
    },
}
for number = 0x1e, 0xfe, 0x20 do
    options[number] = experimental
end

local option_names = {
    [0x00] = "Pad1", [0x01] = "PadN", [0x04] = "Tunnel Encapsulation Limit", [0x05] = "Router Alert",
    [0x07] = "CALIPSO", [0x08] = "SMF_DPD", [0x0f] = "Performance and Diagnostic Metrics", [0x11] = "IOAM",
    [0x23] = "RPL Option", [0x26] = "Quick-Start", [0x30] = "Path MTU Record", [0x31] = "IOAM",
    [0x63] = "RPL Option (old)", [0x6d] = "MPL Option", [0x8a] = "Endpoint Identification", [0x8b] = "ILNP Nonce",
    [0x8c] = "Line-Identification", [0xc2] = "Jumbo Payload", [0xc9] = "Home Address", [0xee] = "IP_DFF",
}

local function options_header(name, title, number, total, untold)
    return {
        name = name, title = title,
        on = { ["ip.proto"] = number },
        header = "(len + 1) * 8",
        total = total, untold = untold,
        next = { { table = "ip.proto", key = "nxt" } },
        line = title .. ", length {len_oct}",
        { "nxt", 8, "Next Header", values = next_headers, default = 59 },
        { "len", 8, "Length" },
        { "len_oct", nil, "Length", value = "(len + 1) * 8" },
        { size = "len * 8 + 6",
            { loop = true, list = "options",
                { ".ipv6.opt.type", 8, "Type", base = "hex", values = option_names, sub = {
                    { when = "$at8(0) != 0",
                        { ".ipv6.opt.type.action", 2, "Action", values = { [0] = "skip", "discard",
                            "discard and report",
                            "discard and report unless multicast" } },
                        flag("type.change", "May Change"),
                        { ".ipv6.opt.type.rest", 5, "Low-Order Bits", base = "hex" },
                    },
                } },
                { when = ".ipv6.opt.type != 0",
                    { ".ipv6.opt.length", 8, "Length" },
                    { size = ".ipv6.opt.length",
                        { switch = ".ipv6.opt.type", cases = options, default = { { ".ipv6.opt.unknown", "bytes",
                            "Unknown Option Payload" } } },
                        { ".ipv6.opt_unknown_data", "bytes", "Unknown Data", when = "$rest > 0" },
                    },
                },
            },
        },
    }
end

-- ---------------------------------------------------------------- the base header

-- RFC 2675: the jumbo option, first in a hop-by-hop header that comes first or behind an option of four bytes
local jumbo = "plen == 0 && nxt == 0 && ($u16(42) == 0xc204 || $u16(46) == 0xc204)"
local ipv6 = {
    name = "ipv6", title = "Internet Protocol Version 6",
    on = { ethertype = 0x86dd, ["ip.proto"] = 41, link = 229, ["null.type"] = { 24, 28, 30 },
        ["ppp.protocol"] = 0x0057 },
    header = 40,
    total = "plen + 40", untold = jumbo,
    -- without a length and without that option it was left to the network card, unless there is nothing but padding
    guessed = "plen == 0 && nxt != 59 && $len > 46 && !(" .. jumbo .. ")",
    accept = "version == 6", refusal = "the IP version isn't 6 as it says",
    check = { { "version == 6", "its version isn't 6" } }, -- where a link type leads here
    next = {
        { "ipv6.hopopts", when = "nxt == 0", pass = "plen == 0" },
        { table = "ip.proto", key = "nxt" },
    },
    line = "IP6 {src} > {dst}",
    { "version", 4, "Version", also = ".ip.version", default = 6 },
    { "tclass", 8, "Traffic Class", base = "hex", digits = 8, sub = {
        { "tclass.dscp", 6, "Differentiated Services Codepoint" },
        { "tclass.ecn", 2, "Explicit Congestion Notification" },
    } },
    { "flow", 20, "Flow Label", base = "hex", digits = 6 },
    { "plen", 16, "Payload Length" },
    { "nxt", 8, "Next Header", values = next_headers, default = 59 },
    { "hlim", 8, "Hop Limit", default = 64 },
    { "src", "ipv6", "Source Address", also = { "addr", "src_host", "host" }, sub = inside("src", "Source", 8) },
    { "dst", "ipv6", "Destination Address", also = { "addr", "dst_host", "host" }, sub = inside("dst", "Destination",
        24) },
}

-- ---------------------------------------------------------------- routing, fragments, AH, ESP

local routing = {
    name = "ipv6.routing", title = "Routing Header for IPv6",
    on = { ["ip.proto"] = 43 },
    header = "(len + 1) * 8",
    next = { { table = "ip.proto", key = "nxt" } },
    line = "routing header, type {type#}, segleft {segleft}",
    { "nxt", 8, "Next Header", values = next_headers, default = 59 },
    { "len", 8, "Length" },
    { "len_oct", nil, "Length", value = "(len + 1) * 8" },
    { "type", 8, "Type", values = { [0] = "Source Route", [1] = "Nimrod", [2] = "Type 2 Routing",
        [3] = "RPL Source Route", [4] = "Segment Routing", [5] = "Compact Routing Header 16",
        [6] = "Compact Routing Header 32", [253] = "Experiment 1",
        [254] = "Experiment 2" } },
    { "segleft", 8, "Segments Left" },
    { switch = "type", size = "len * 8 + 4", cases = {
        [0] = {
            { "src.reserved", "bytes", "Reserved", size = 4 },
            { loop = true, list = "addresses", { "src.addr", "ipv6", "Address" } },
        },
        [2] = {
            { "mipv6.reserved", "bytes", "Reserved", size = 4 },
            { "mipv6.home_address", "ipv6", "Home Address" },
        },
        [3] = { -- RFC 6554: addresses without what they share with the destination
            { "rpl.cmprI", 4, "Compressed Internal Octets (CmprI)" },
            { "rpl.cmprE", 4, "Compressed Final Octets (CmprE)" },
            { "rpl.pad", 4, "Padding Bytes" },
            { "rpl.reserved", 20, "Reserved" },
            { "rpl.addr_count", nil, "Total Address Count",
                value = "(len * 8 - rpl.pad - 16 + rpl.cmprE) / (16 - rpl.cmprI) + 1" },
            { check = "rpl.addr_count >= 0", "padding longer than the addresses" },
            { loop = "rpl.addr_count", list = "addresses",
                { "rpl.address", "bytes", "Address",
                    size = "$index + 1 < rpl.addr_count ? 16 - rpl.cmprI : 16 - rpl.cmprE" },
            },
        },
        [4] = { -- RFC 8754
            { "srh.last_entry", 8, "Last Entry" },
            { "srh.flags", 8, "Flags", base = "hex" },
            { "srh.tag", "bytes", "Tag", size = 2, default = "\0\0" },
            { check = "(srh.last_entry + 1) * 16 <= $rest", "more segments than it has room for" },
            { loop = "srh.last_entry + 1", list = "segments", { "srh.addr", "ipv6", "Address" } },
        },
        [5] = { -- CRH with identifiers of 16 bits
            { loop = true, list = "segments",
                { "crh16.sid", 16, "Segment ID" },
                { "crh16.current_sid", nil, "Current SID", value = "crh16.sid", when = "$index == segleft" },
            },
        },
        [6] = {
            { loop = true, list = "segments",
                { "crh32.sid", 32, "Segment ID" },
                { "crh32.current_sid", nil, "Current SID", value = "crh32.sid", when = "$index == segleft" },
            },
        },
    }, default = { { "unknown_data", "bytes", "Type-Specific Data" } } },
}

local fragment = {
    name = "ipv6.fraghdr", title = "Fragment Header for IPv6",
    on = { ["ip.proto"] = 44 },
    header = 8,
    next = {
        { stop = true, when = "offset != 0" },
        { table = "ip.proto", key = "nxt", when = "more", fragment = true },
        { table = "ip.proto", key = "nxt" },
    },
    line = { "frag ({ident}:{=offset * 8}", { when = "more", "+" }, ")" },
    { "nxt", 8, "Next header", values = next_headers, default = 59 },
    { "reserved_octet", 8, "Reserved octet", base = "hex" },
    { "offset", 13, "Offset" },
    { "reserved_bits", 2, "Reserved bits" },
    { "more", "bool", "More Fragments" },
    { "ident", 32, "Identification", base = "hex" },
}

local ah = {
    name = "ah", title = "Authentication Header",
    on = { ["ip.proto"] = 51 },
    header = "(length + 2) * 4",
    check = { { "length >= 1", "its length is below 12 bytes" } },
    next = { { table = "ip.proto", key = "next_header" } },
    line = "AH(spi={spi},seq={sequence})",
    { "next_header", 8, "Next header", values = next_headers, default = 59 },
    { "length", 8, "Length" },
    { "reserved", "bytes", "Reserved", size = 2, default = "\0\0" },
    { "spi", 32, "AH SPI", base = "hex" },
    { "sequence", 32, "AH Sequence" },
    { "icv", "bytes", "AH ICV", size = "(length - 1) * 4" },
}

local esp = {
    name = "esp", title = "Encapsulating Security Payload",
    on = { ["ip.proto"] = 50 },
    header = "$len",
    next = { { stop = true } },
    line = "ESP(spi={spi},seq={sequence}), length {=$len}",
    { "spi", 32, "ESP SPI", base = "hex" },
    { "sequence", 32, "ESP Sequence" },
    { "_encrypted", "bytes" },
}

-- ---------------------------------------------------------------- mobility

local function bits(prefix, ...)
    local list = {}
    for i, f in ipairs { ... } do
        list[i] = { f[1]:find "^%." and f[1] or prefix .. f[1], "bool", f[2] }
    end
    return table.unpack(list)
end

local mobility_messages = {
    [0] = "Binding Refresh Request", "Home Test Init", "Care-of Test Init", "Home Test", "Care-of Test",
    "Binding Update", "Binding Acknowledgement", "Binding Error", "Fast Binding Update",
    "Fast Binding Acknowledgment", "Fast Neighbor Advertisement", "Experimental", "Home Agent Switch", "Heartbeat",
    "Handover Initiate", "Handover Acknowledge", "Binding Revocation", "Localized Routing Initiation",
    "Localized Routing Acknowledgment",
}

local binding_status = {
    [0] = "Binding Update accepted", [1] = "Accepted but prefix discovery necessary", [128] = "Reason unspecified",
    [129] = "Administratively prohibited", [130] = "Insufficient resources",
    [131] = "Home registration not supported", [132] = "Not home subnet",
    [133] = "Not home agent for this mobile node", [134] = "Duplicate Address Detection failed",
    [135] = "Sequence number out of window", [136] = "Expired home nonce index",
    [137] = "Expired care-of nonce index", [138] = "Expired nonces", [139] = "Registration type change disallowed",
    [140] = "Mobile router operation not permitted", [141] = "Invalid prefix", [142] = "Not authorized for prefix",
    [143] = "Forwarding setup failed",
}

local update_flags = {
    bits("bu.", { "a_flag", "Acknowledge (A)" }, { "h_flag", "Home Registration (H)" }, { "l_flag",
        "Link-Local Compatibility (L)" },
        { "k_flag", "Key Management Compatibility (K)" }, { "m_flag", "MAP Registration Compatibility (M)" },
        { ".mip6.nemo.bu.r_flag", "Mobile Router (R)" }, { "p_flag", "Proxy Registration (P)" },
        { "f_flag", "Forcing UDP encapsulation (F)" }, { "t_flag", "TLV-header format (T)" }, { "b_flag",
            "Bulk-Binding-Update (B)" }),
}
local ack_flags = {
    bits("ba.", { "k_flag", "Key Management Compatibility (K)" }, { ".mip6.nemo.ba.r_flag", "Mobile Router (R)" },
        { "p_flag", "Proxy Registration (P)" }, { "t_flag", "TLV-header format (T)" }, { "b_flag",
            "Bulk-Binding-Update (B)" }),
}

local function with(list, ...)
    for _, item in ipairs { ... } do
        list[#list + 1] = item
    end
    return list
end

local messages = {
    [0] = { { "binding_refresh_request", "bytes", "Binding Refresh Request", size = 2, default = "\0\0" } },
    [1] = { { "_", 16 }, { "hoti.cookie", 64, "Home Init Cookie", base = "hex" } },
    [2] = { { "_", 16 }, { "coti.cookie", 64, "Care-of Init Cookie", base = "hex" } },
    [3] = {
        { "hot.nindex", 16, "Home Nonce Index" },
        { "hot.cookie", 64, "Home Init Cookie", base = "hex" },
        { "hot.token", 64, "Home Keygen Token", base = "hex" },
    },
    [4] = {
        { "cot.nindex", 16, "Care-of Nonce Index" },
        { "cot.cookie", 64, "Care-of Init Cookie", base = "hex" },
        { "hot.token", 64, "Care-of Keygen Token", base = "hex" },
    },
    [5] = with({ { "bu.seqnr", 16, "Sequence number" } }, table.unpack(with(update_flags, { "_", 6 },
        { "bu.lifetime", 16, "Lifetime" }))),
    [6] = with({ { "ba.status", 8, "Status", values = binding_status } }, table.unpack(with(ack_flags, { "_", 3 },
        { "ba.seqnr", 16, "Sequence number" }, { "ba.lifetime", 16, "Lifetime" }))),
    [7] = {
        { "be.status", 8, "Status", values = { "Unknown binding for Home Address destination option",
            "Unrecognized MH Type value" } },
        { "_", 8 },
        { "be.haddr", "ipv6", "Home Address" },
    },
    [8] = {
        { "fbu.seqnr", 16, "Sequence number" },
        bits("fbu.", { "a_flag", "Acknowledge (A)" }),
        bits("fbu.", { "h_flag", "Home Registration (H)" }),
        bits("fbu.", { "l_flag", "Link-Local Compatibility (L)" }),
        bits("fbu.", { "k_flag", "Key Management Compatibility (K)" }),
        { "_", 12 },
        { "fbu.lifetime", 16, "Lifetime" },
    },
    [9] = {
        { "fback.status", 8, "Status" },
        bits("fback.", { "k_flag", "Key Management Compatibility (K)" }),
        { "_", 7 },
        { "fback.seqnr", 16, "Sequence number" },
        { "fback.lifetime", 16, "Lifetime" },
    },
    [10] = { { "fast_neighbor_advertisement", "bytes", "Fast Neighbor Advertisement", size = 2 } },
    [11] = { { "_", "bytes" } },
    [12] = {
        { "has.num_addrs", 8, "Number of Addresses" },
        { "has.reserved", 8, "Reserved", base = "hex" },
        { loop = "has.num_addrs", list = "addresses", { "has.address", "ipv6", "Address" } },
    },
    [13] = {
        { "_", 14 },
        bits("hb.", { "u_flag", "Unsolicited (U)" }),
        bits("hb.", { "r_flag", "Response (R)" }),
        { "hb.seqnr", 32, "Sequence number" },
    },
    [14] = {
        { "hi.seqnr", 16, "Sequence number" },
        bits("hi.", { "s_flag", "Assigned address configuration (S)" }),
        bits("hi.", { "u_flag", "Buffer (U)" }),
        { "_", 6 },
        { "hi.code", 8, "Code" },
    },
    [15] = {
        { "hack.seqnr", 16, "Sequence number" },
        { "_", 8 },
        { "hack.code", 8, "Code" },
    },
    [16] = {
        { "bri_br.type", 8, "B.R. Type", values = { "Binding Revocation Indication",
            "Binding Revocation Acknowledgement" } },
        { "bri_r.trigger", 8, "R. Trigger", when = "bri_br.type == 1" },
        { "bri_status", 8, "Status", when = "bri_br.type != 1" },
        { "bri_seqnr", 16, "Sequence Number" },
        { when = "bri_br.type == 1", bits("", { "bri_ip", "Proxy Binding (P)" }, { "bri_iv",
            "IPv4 HoA Binding Only (V)" },
            { "bri_ig", "Global (G)" }) },
        { when = "bri_br.type != 1", bits("", { "bri_ap", "Proxy Binding (P)" }, { "bri_av",
            "IPv4 HoA Binding Only (V)" },
            { "bri_ag", "Global (G)" }) },
        { "bri_res", 13, "Reserved", base = "hex" },
    },
    [17] = {
        { "lri.sequence", 16, "Sequence" },
        { "lri.reserved", 16, "Reserved", base = "hex" },
        { "lri.lifetime", 16, "Lifetime", base = "hex" },
    },
    [18] = {
        { "lra.sequence", 16, "Sequence" },
        bits("lri.", { "unsolicited", "unsolicited" }),
        { "lra.reserved", 7, "Reserved", base = "hex" },
        { "lra.status", 8, "Status" },
        { "lra.lifetime", 16, "Lifetime", base = "hex" },
    },
}

local mobility_options = {
    [1] = { { "padn", "bytes", "PadN" } },
    [2] = { { "bra.interval", 16, "Refresh interval" } },
    [3] = { { "acoa.acoa", "ipv6", "Alternate care-of address" } },
    [4] = { { "ni.hni", 16, "Home nonce index" }, { "ni.cni", 16, "Care-of nonce index" } },
    [5] = { { "bad.auth", "bytes", "Authenticator" } },
    [6] = { { "_", 8 }, { "nemo.mnp.pfl", 8, "Mobile Network Prefix Length" }, { "nemo.mnp.mnp", "ipv6",
    "Mobile Network Prefix" } },
    [7] = { { "lla.optcode", 8, "Option-Code" }, { "lla", "bytes", "Link-layer address", base = "colon" } },
    [8] = { { "mnid.subtype", 8, "Subtype", values = { "Network Access Identifier" } }, { "mnid.identifier", "string",
    "Identifier" } },
    [9] = {
        { "auth.subtype", 8, "Subtype", values = { "MN-HA mobility message", "MN-AAA mobility message" } },
        { "auth.mobility_spi", 32, "Mobility SPI" },
        { "auth.auth_data", "bytes", "Authentication Data" },
    },
    [12] = { { "cgar.cga_par", "bytes", "CGA Parameters" } },
    [13] = { { "sign.sign", "bytes", "Signature" } },
    [14] = { { "phkt.phkt", "bytes", "Permanent Home Keygen Token" } },
    [15] = { { "mocot.co_keygen_tok", "bytes", "Care-of Keygen Token" } },
    [17] = {
        { "dnsu.status", 8, "Status" },
        { "dnsu.flag.r", "bool", "R flag" },
        { "_", 7 },
        { "dnsu.mn_id", "bytes", "MN identity (FQDN)" },
    },
    [18] = { { "em.data", "bytes", "Data" } },
    [19] = {
        { "vsm.vendorId", 32, "Vendor Id" },
        { "vsm.subtype", 8, "Subtype" },
        { "vsm.data", "bytes", "Data", when = "$rest > 0" },
    },
    [20] = { { "ss.identifier", "string", "Identifier" } },
    [21] = { { "badff.spi", 32, "SPI" }, { "badff.auth", "bytes", "Authenticator" } },
    [22] = { { "_", 8 }, { "nemo.mnp.pfl", 8, "Home Network Prefix Length" }, { "nemo.mnp.mnp", "ipv6",
    "Home Network Prefix" } },
    [23] = {
        { "hi.reserved", 8, "Reserved" },
        { "hi", 8, "Handoff Indicator", values = { [0] = "Reserved", "Attachment over a new interface",
            "Handoff between two interfaces of the mobile node", "Handoff between mobile access gateways",
            "Handoff state unknown",
            "Handoff state not changed" } },
    },
    [24] = {
        { "att.reserved", 8, "Reserved" },
        { "att", 8, "Access Technology Type", values = { [0] = "Reserved", "Virtual", "PPP", "IEEE 802.3",
            "IEEE 802.11a/b/g",
            "IEEE 802.16e", "3GPP GERAN", "3GPP UTRAN", "3GPP E-UTRAN", "3GPP2 eHRPD", "3GPP2 HRPD", "3GPP2 1xRTT",
            "3GPP2 UMB" } },
    },
    [25] = { { "mnlli.reserved", 16, "Reserved" }, { "mnlli.lli", "bytes", "Link-layer Identifier" } },
    [26] = { { "lila_lla", "ipv6", "Link-local Address" } },
    [28] = { { "rc", 32, "Restart Counter" } },
    [29] = {
        { "ipv4ha.preflen", 6, "Prefix-len" },
        { "ipv4ha.p_flag", "bool", "mobile network prefix (P)" },
        { "_", 9 },
        { "ipv4ha.ha", "ipv4", "IPv4 Home Address" },
    },
    [30] = {
        { "ipv4aa.sts", 8, "Status" },
        { "ipv4ha.preflen", 6, "Prefix-len" },
        { "_", 2 },
        { "ipv4ha.ha", "ipv4", "IPv4 Home Address" },
    },
    [31] = {
        { "natd.f_flag", "bool", "(F)" },
        { "natd.reserved", 15, "Reserved" },
        { "natd.refresh_t", 32, "Refresh time" },
    },
    [32] = { { "ipv4coa.reserved", 16, "Reserved" }, { "ipv4coa.addr", "ipv4", "IPv4 Care-of address" } },
    [33] = { { "_", 16 }, { "gre_key", 32, "GRE Key", when = "$rest > 0" } },
    [34] = {
        { "mhipv6ap.opt_code", 8, "Option-Code" },
        { "mhipv6ap.len", 8, "Prefix Length" },
        { "mhipv6ap.ipv6_address", "ipv6", "IPv6 Address" },
    },
    [35] = {
        { "bi.bid", 16, "Binding ID (BID)" },
        { "bi.status", 8, "Status" },
        { "bi.h_flag", "bool", "Simultaneous Home and Foreign Binding (H)" },
        { "_", 7 },
        { "bi.coa_ipv4", "ipv4", "IPv4 care-of address (CoA)", when = "$rest == 4" },
        { "bi.coa_ipv6", "ipv6", "IPv6 care-of address (CoA)", when = "$rest == 16" },
    },
    [36] = { { "ipv4ha.preflen", 6, "Prefix-len" }, { "_", 10 }, { "ipv4ha.ha", "ipv4", "IPv4 Home Address" } },
    [37] = {
        { "ipv4aa.sts", 8, "Status" },
        { "ipv4ha.preflen", 6, "Prefix-len" },
        { "_", 2 },
        { "ipv4ha.ha", "ipv4", "IPv4 Home Address" },
    },
    [38] = { { "ipv4dra.reserved", 16, "Reserved" }, { "ipv4dra.dra", "ipv4", "IPv4 Default-Router Address" } },
    [39] = { { "ipv4dsm.reserved", 15, "Reserved" }, { "ipv4dsm.s_flag", "bool", "DHCP Support Mode (S)" } },
    [40] = {
        { "cr.reserved", 16, "Reserved" },
        { loop = true, list = "requests",
            { "cr.req_type", 8, "Req-type" },
            { "cr.req_length", 8, "Req-length" },
            { "_", "bytes", size = "cr.req_length" },
        },
    },
    [41] = {
        { "lmaa.opt_code", 8, "Option-Code" },
        { "lmaa.reserved", 8, "Reserved" },
        { "lmaa.ipv4", "ipv4", "Local Mobility Anchor Address", when = "$rest == 4" },
        { "lmaa.ipv6", "ipv6", "Local Mobility Anchor Address", when = "$rest == 16" },
    },
    [46] = { { "recap.reserved", 16, "Reserved", base = "hex" } },
    [47] = {
        { "redir.k", "bool", "K" },
        { "redir.n", "bool", "N" },
        { "redir.reserved", 14, "Reserved", base = "hex" },
        { "redir.addr_r2lma_ipv6", "ipv6", "IPv6 r2LMA Address", when = "redir.k" },
        { "redir.addr_r2lma_ipv4", "ipv4", "IPv4 r2LMA Address", when = "redir.n" },
    },
    [48] = {
        { "load_inf.priority", 16, "Priority" },
        { "load_inf.sessions_in_use", 32, "Sessions in Use" },
        { "load_inf.maximum_sessions", 32, "Maximum Sessions" },
        { "load_inf.used_capacity", 32, "Used Capacity" },
        { "load_inf.maximum_capacity", 32, "Maximum Capacity" },
    },
    [49] = { { "alt_ip4", "ipv4", "Alternate IPv4 Care-of Address" } },
    [50] = {
        { "mng.sub_type", 8, "Sub Type" },
        { "mng.reserved", 8, "Reserved" },
        { "mng.mng_id", 32, "Mobile Node Group Identifier" },
    },
    [51] = {
        { "mag_ipv6.reserved", 8, "Reserved", base = "hex" },
        { "mag_ipv6.address_length", 8, "Address Length" },
        { "mag_ipv6.address", "ipv6", "Address" },
    },
    [55] = {
        { "dmnp.v_flag", "bool", "IPv4 Prefix (V)" },
        { "dmnp.reserved", 7, "Reserved" },
        { "dmnp.prefix_len", 8, "Prefix Length" },
        { "dmnp.dmnp_ipv4", "ipv4", "IPv4 Delegated Mobile Network Prefix", when = "$rest == 4" },
        { "dmnp.dmnp_ipv6", "ipv6", "IPv6 Delegated Mobile Network Prefix", when = "$rest == 16" },
    },
}

local mobility = {
    name = "mipv6", prefix = "mip6", title = "Mobile IPv6",
    on = { ["ip.proto"] = { 135, 62 } },
    header = "(hlen + 1) * 8",
    next = {
        { stop = true, when = "proto == 59" },
        { table = "ip.proto", key = "proto" },
    },
    checksum = { field = "csum", pseudo = true, protocol = 135, to = "(hlen + 1) * 8" },
    line = "mobility: {mhtype}, length {=$len}",
    { "proto", 8, "Payload protocol", values = next_headers, default = 59 },
    { "hlen", 8, "Header length" },
    { "mhtype", 8, "Mobility Header Type", values = mobility_messages },
    { "reserved", 8, "Reserved", base = "hex" },
    { "csum", 16, "Checksum", base = "hex" },
    { size = "hlen * 8 + 2",
        { switch = "mhtype", cases = messages, default = { { "unknown_type_data", "bytes", "Message Data" } } },
        { loop = true, list = "options",
            { "mobility_opt", 8, "Mobility Option", values = { [0] = "Pad1", "PadN", "Binding Refresh Advice",
                "Alternate Care-of Address", "Nonce Indices", "Authorization Data", "Mobile Network Prefix",
                "Link Layer Address", "Mobile Node Identifier", "Authentication", "Replay Protection",
                "CGA Parameters Request", "CGA Parameters", "Signature", "Permanent Home Keygen Token",
                "Care-of Test Init", "Care-of Test", "DNS-UPDATE", "Experimental", "Vendor Specific",
                "Service Selection", "Binding Authorization Data for FMIPv6", "Home Network Prefix",
                "Handoff Indicator", "Access Technology Type", "Link-layer Identifier", "Link-local Address",
                "Timestamp", "Restart Counter", "IPv4 Home Address", "IPv4 Address Acknowledgement", "NAT Detection",
                "IPv4 Care-of Address", "GRE Key", "IPv6 Address/Prefix", "Binding Identifier",
                "IPv4 Home Address Request", "IPv4 Home Address Reply", "IPv4 Default-Router Address",
                "IPv4 DHCP Support Mode", "Context Request", "Local Mobility Anchor Address",
                "Mobile Node Link-local Address Interface Identifier", "Transient Binding", "Flow Summary",
                "Flow Identification", "Redirect-Capability", "Redirect", "Load Information",
                "Alternate IPv4 Care-of Address", "Mobile Node Group Identifier", "MAG IPv6 Address",
                "Access Network Identifier",
                [55] = "Delegated Mobile Network Prefix" } },
            { when = "mobility_opt > 0",
                { "mobility_opt.len", 8, "Length" },
                { switch = "mobility_opt", size = "mobility_opt.len", cases = mobility_options },
            },
        },
    },
}

return {
    ipv6,
    -- a jumbo option has the length that the base header can't tell
    options_header("ipv6.hopopts", "Hop-by-Hop Options", 0, "$u16(2) == 0xc204 ? $u32(4) : $u32(8)",
        "!($passed && ($u16(2) == 0xc204 || $u16(6) == 0xc204))"),
    options_header("ipv6.dstopts", "Destination Options", 60),
    routing, fragment, ah, esp, mobility,
}
