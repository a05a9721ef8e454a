--- ICMPv6, RFC 4443, with neighbor discovery (RFC 4861, and the options of RFC 3971, 4191, 5175, 6106, 6275, 6775, 8781
-- and 8910), multicast listener discovery (RFC 2710, 3810), mobility (RFC 6275), multicast router discovery (RFC 4286),
-- 6LoWPAN's duplicate address detection (RFC 6775), RPL (RFC 6550) and extended echo (RFC 8335).

local icmp = require "ringtap.proto.icmp"

-- What is only said to be there.
local function mark(name, title, when)
    return { name, "bool", title, value = "1", when = when, hidden = true }
end

-- Bits that have to be 0: Wireshark tells that they are there, not what they are.
local function reserved(size)
    return { size = size, mark("opt.reserved", "Reserved"), { "_", "bytes" } }
end

local function padding()
    return { when = "$rest > 0", mark("opt.padding", "Padding"), { "_", "bytes" } }
end

local zeros = { "reserved", "bytes", "Reserved", size = 4 }

local function link_address(which)
    return {
        { "opt.linkaddr", "ether", "Link-layer address", also = "opt." .. which .. "_linkaddr",
            when = "opt.length == 1" },
        { "opt.linkaddr", "bytes", "Link-layer address", also = "opt." .. which .. "_linkaddr", base = "colon",
            when = "opt.length > 2" },
        { when = "opt.length == 2",
            { "opt.linkaddr_eui64", "eui64", "Link-layer address", also = "opt." .. which .. "_linkaddr_eui64" },
            padding(),
        },
    }
end

local preferences = { [0] = "Medium", [1] = "High", [2] = "Reserved", [3] = "Low" }

local address_list = {
    reserved(6),
    { loop = true, { "opt.ipv6_address", "ipv6", "IPv6 Address" } },
}

local options = {
    [1] = link_address("src"),
    [2] = link_address("target"),
    [3] = {
        { "opt.prefix.length", 8, "Prefix Length", default = 64 },
        { "opt.prefix.flag", 8, "Flag", base = "hex", sub = {
            { "opt.prefix.flag.l", "bool", "On-link flag(L)" },
            { "opt.prefix.flag.a", "bool", "Autonomous address-configuration flag(A)" },
            { "opt.prefix.flag.r", "bool", "Router address flag(R)" },
            { "opt.prefix.flag.reserved", 5, "Reserved" },
        } },
        { "opt.prefix.valid_lifetime", 32, "Valid Lifetime" },
        { "opt.prefix.preferred_lifetime", 32, "Preferred Lifetime" },
        reserved(4),
        { "opt.prefix", "ipv6", "Prefix" },
    },
    [4] = {
        reserved(6),
        { "_redirected", value = "$here" },
        { "_redirected_size", value = "$rest" },
        mark("opt.redirected_packet", "Redirected Packet"),
        { "_", "bytes" },
    },
    [5] = {
        reserved(2),
        { "opt.mtu", 32, "MTU" },
    },
    [6] = {
        { "opt.nbma.shortcut_limit", 8, "Shortcut Limit" },
        reserved(1),
        reserved(4),
    },
    [7] = {
        reserved(2),
        { "opt.advertisement_interval", 32, "Advertisement Interval" },
    },
    [8] = {
        reserved(2),
        { "opt.home_agent_preference", 16, "Home Agent Preference" },
        { "opt.home_agent_lifetime", 16, "Home Agent Lifetime" },
    },
    [9] = address_list,
    [10] = address_list,
    [13] = {
        reserved(6),
        { size = 8,
            { "_", 16 },
            { "opt.timestamp", "time", "Timestamp" },
            { "_", 16 },
        },
    },
    [14] = { { "opt.nonce", "bytes", "Nonce" } },
    [23] = {
        { "opt.map.distance", 4, "Distance" },
        { "opt.map.preference", 4, "Preference" },
        { "opt.map.flag", 8, "Flag", base = "hex", sub = {
            { "opt.map.flag.r", "bool", "RCoA Flag" },
            { "opt.map.flag.reserved", 7, "Reserved" },
        } },
        { "opt.map.valid_lifetime", 32, "Valid Lifetime" },
        { "opt.map.global_address", "ipv6", "Global Address" },
    },
    [24] = {
        { "opt.prefix.length", 8, "Prefix Length" },
        { "opt.route_info.flag", 8, "Flag", base = "hex", sub = {
            { "_", 3 },
            { "opt.route_info.flag.route_preference", 2, "Route Preference", values = preferences },
            { "_", 3 },
        } },
        { "opt.route_info.flag.reserved", 8, "Reserved",
            value = "(opt.route_info.flag >> 5 << 3) | (opt.route_info.flag & 7)" },
        { "opt.route_lifetime", 32, "Route Lifetime" },
        { "opt.prefix", "ipv6", "Prefix", size = "$rest", when = "$rest > 0" },
    },
    [25] = {
        reserved(2),
        { "opt.rdnss.lifetime", 32, "Lifetime" },
        { loop = true, list = "servers", { "opt.rdnss", "ipv6", "Recursive DNS Servers" } },
    },
    [26] = {
        { "opt.efo", 16, "Flags Expansion Option", base = "hex", sub = {
            { "opt.efo.m", "bool", "Managed address configuration" },
            { "opt.efo.o", "bool", "Other configuration" },
            { "opt.efo.h", "bool", "Home Agent" },
            { "opt.efo.prf", 2, "Prf (Default Router Preference)", values = preferences },
            { "opt.efo.p", "bool", "Proxy" },
            { "_efo_more", 10, overlay = true },
            { "opt.efo.rsv", 16, "Reserved", value = "_efo_more & 0x2ff" },
            { "_", 10 },
        } },
        reserved(4),
    },
    [31] = {
        reserved(2),
        { "opt.dnssl.lifetime", 32, "Lifetime" },
        { when = "$rest > 0 && $at8(0) != 0",
            { loop = true, list = "names", stop = "$rest > 0 && $at8(0) == 0",
                { "opt.dnssl", "name", "Domain Names" },
            },
        },
        padding(),
    },
    [33] = {
        { "opt.aro.status", 8, "Status", values = {
            [0] = "Success", [1] = "Duplicate Exists", [2] = "Neighbor Cache Full",
        } },
        reserved(3),
        { "opt.aro.registration_lifetime", 16, "Registration Lifetime" },
        { "opt.aro.eui64", "eui64", "EUI-64" },
    },
    [34] = {
        { "opt.6co.context_length", 8, "Context Length" },
        { "opt.6co.flag", 8, "Flag", base = "hex", sub = {
            { "opt.6co.flag.reserved", 3, "Reserved" },
            { "opt.6co.flag.c", "bool", "Compression Flag" },
            { "opt.6co.flag.cid", 4, "CID" },
        } },
        reserved(2),
        { "opt.6co.valid_lifetime", 16, "Lifetime" },
        { "opt.6co.context_prefix", "ipv6", "Context Prefix", size = "$rest", when = "$rest > 0" },
    },
    [35] = {
        { "opt.abro.version_low", 16, "Version Low" },
        { "opt.abro.version_high", 16, "Version" },
        { "opt.abro.valid_lifetime", 16, "Valid Lifetime" },
        { "opt.abro.6lbr_address", "ipv6", "6LBR Address" },
    },
    [36] = {
        { "opt.6cio.unassigned1", 15, "Unassigned", base = "hex" },
        { "opt.6cio.flag_g", 1, "G", base = "hex", digits = 4 },
        { "opt.6cio.unassigned2", 32, "Unassigned", base = "hex" },
    },
    [37] = { { "opt.captive_portal", "string", "Captive Portal" } },
    [38] = {
        { "opt.pref64.scaled_lifetime", 13, "Scaled Lifetime" },
        { "opt.pref64.plc", 3, "PLC (Prefix Length Code)", base = "hex", digits = 4, values = {
            [0] = "96 bits prefix length", [1] = "64 bits prefix length", [2] = "56 bits prefix length",
            [3] = "48 bits prefix length", [4] = "40 bits prefix length", [5] = "32 bits prefix length",
        } },
        { size = 12,
            { "opt.pref64.prefix", "ipv6", "Prefix", when = "opt.pref64.plc <= 5",
                size = "opt.pref64.plc == 0 ? 12 : 9 - opt.pref64.plc" },
        },
    },
}

local option_names = {
    [1] = "Source link-layer address", [2] = "Target link-layer address", [3] = "Prefix information",
    [4] = "Redirected header", [5] = "MTU", [6] = "NBMA Shortcut Limit", [7] = "Advertisement Interval",
    [8] = "Home Agent Information", [9] = "Source Address List", [10] = "Target Address List", [11] = "CGA",
    [12] = "RSA Signature", [13] = "Timestamp", [14] = "Nonce", [15] = "Trust Anchor", [16] = "Certificate",
    [17] = "IP Address/Prefix", [18] = "New Router Prefix Information", [19] = "Link-layer Address",
    [20] = "Neighbor Advertisement Acknowledgment", [23] = "MAP", [24] = "Route Information",
    [25] = "Recursive DNS Server", [26] = "RA Flags Extension", [27] = "Handover Key Request",
    [28] = "Handover Key Reply", [29] = "Handover Assist Information", [30] = "Mobile Node Identifier",
    [31] = "DNS Search List", [32] = "Proxy Signature", [33] = "Address Registration", [34] = "6LoWPAN Context",
    [35] = "Authoritative Border Router", [36] = "6LoWPAN Capability Indication", [37] = "DHCP Captive-Portal",
    [38] = "PREF64", [138] = "CARD Request", [139] = "CARD Reply", [253] = "RFC3692-style Experiment 1",
    [254] = "RFC3692-style Experiment 2",
}

local option = {
    { loop = true, list = "options",
        mark("opt", "ICMPv6 Option"),
        { "opt.type", 8, "Type", values = option_names },
        { "opt.length", 8, "Length" },
        { check = "opt.length != 0", "an option of length 0" },
        { switch = "opt.type", size = "opt.length * 8 - 2", cases = options,
            default = { { "data", "bytes", "Data" } } },
    },
}

local with_options = { call = "options", when = "$rest > 0" }

-- RFC 3810 5.1.3, 5.1.9: where the first bit is set, an exponent and a mantissa follow.
local function floating(name, bits)
    local mantissa = (1 << (bits - 4)) - 1
    return ("((%s & 0x%x) | 0x%x) << (((%s >> %d) & 7) + 3)"):format(name, mantissa, mantissa + 1, name, bits - 4)
end

-- A query of version 2 is one that is longer, RFC 3810 8.1.
local query = {
    { "mld.maximum_response_delay", 16, "Maximum Response Delay [ms]", overlay = true, when = "$len < 28" },
    { "mld.maximum_response_code", 16, "Maximum Response Code", overlay = true,
        when = "$len >= 28 && $at16(0) < 0x8000" },
    { "_response_code", 16 },
    { "mld.maximum_response_code", 32, "Maximum Response Code", value = floating("_response_code", 16),
        when = "$len >= 28 && _response_code >= 0x8000" },
    { "reserved", "bytes", "Reserved", size = 2 },
    { "mld.multicast_address", "ipv6", "Multicast Address" },
    { when = "$len >= 28",
        { "mld.flag", 8, "Flags", base = "hex", sub = {
            { "mld.flag.reserved", 4, "Reserved" },
            { "mld.flag.s", "bool", "Suppress Router-Side Processing" },
            { "mld.flag.qrv", 3, "QRV (Querier's Robustness Variable)" },
        } },
        { "mld.qqi", 8, "QQIC (Querier's Query Interval Code)", overlay = true, when = "$at8(0) < 0x80" },
        { "_interval_code", 8 },
        { "mld.qqi", 16, "QQIC (Querier's Query Interval Code)", value = floating("_interval_code", 8),
            when = "_interval_code >= 0x80" },
        { "mld.nb_sources", 16, "Number of Sources" },
        { loop = "mld.nb_sources", list = "sources", { "mld.source_address", "ipv6", "Source Address" } },
    },
}

local listener = {
    { "mld.maximum_response_delay", 16, "Maximum Response Delay [ms]" },
    { "reserved", "bytes", "Reserved", size = 2 },
    { "mld.multicast_address", "ipv6", "Multicast Address" },
}

local listener_report = {
    { "reserved", "bytes", "Reserved", size = 2 },
    { "mldr.nb_mcast_records", 16, "Number of Multicast Address Records" },
    { loop = "mldr.nb_mcast_records", list = "records",
        mark("mldr.mar", "Multicast Address Record"),
        { "mldr.mar.record_type", 8, "Record Type", values = {
            [1] = "Include", [2] = "Exclude", [3] = "Changed to include", [4] = "Changed to exclude",
            [5] = "Allow new sources", [6] = "Block old sources",
        } },
        { "mldr.mar.aux_data_len", 8, "Aux Data Len" },
        { "mldr.mar.nb_sources", 16, "Number of Sources" },
        { "mldr.mar.multicast_address", "ipv6", "Multicast Address" },
        { loop = "mldr.mar.nb_sources", list = "sources", { "mldr.mar.source_address", "ipv6", "Source Address" } },
        { "mldr.mar.auxiliary_data", "bytes", "Auxiliary Data", size = "mldr.mar.aux_data_len * 4",
            when = "mldr.mar.aux_data_len > 0" },
    },
}

local echo = {
    { "echo.identifier", 16, "Identifier", base = "hex" },
    { "echo.sequence_number", 16, "Sequence" },
}

local home_agent = {
    { "mip6.identifier", 16, "Identifier" },
    { "reserved", "bytes", "Reserved", size = 2 },
    { loop = true, { "mip6.home_agent_address", "ipv6", "Home Agent Address" } },
}

-- RPL, the routing protocol of low-power networks, RFC 6550 6.
local rpl_options = {
    [2] = { { "data", "bytes", "Data" } },
    [3] = {
        { "rpl.opt.route.prefix_length", 8, "Prefix Length" },
        { "rpl.opt.route.flag", 8, "Flag", base = "hex", sub = {
            { "_", 3 },
            { "rpl.opt.route.pref", 2, "Preference", values = preferences },
            { "_", 3 },
        } },
        { "rpl.opt.route.reserved", 8, "Reserved",
            value = "(rpl.opt.route.flag >> 5 << 3) | (rpl.opt.route.flag & 7)" },
        { "rpl.opt.route.lifetime", 32, "Route Lifetime" },
        { "rpl.opt.route.prefix", "ipv6", "Prefix", size = "$rest", when = "$rest > 0" },
    },
    [4] = {
        { "rpl.opt.config.flag", 8, "Flag", base = "hex", sub = {
            { "rpl.opt.config.reserved", 4, "Reserved" },
            { "rpl.opt.config.auth", "bool", "Authentication Enabled" },
            { "rpl.opt.config.pcs", 3, "Path Control Size" },
        } },
        { "rpl.opt.config.interval_double", 8, "DIOIntervalDoublings" },
        { "rpl.opt.config.interval_min", 8, "DIOIntervalMin" },
        { "rpl.opt.config.redundancy", 8, "DIORedundancyConstant" },
        { "rpl.opt.config.max_rank_inc", 16, "MaxRankInc" },
        { "rpl.opt.config.min_hop_rank_inc", 16, "MinHopRankInc" },
        { "rpl.opt.config.ocp", 16, "OCP (Objective Code Point)" },
        { "rpl.opt.config.rsv", 8, "Reserved" },
        { "rpl.opt.config.def_lifetime", 8, "Default Lifetime" },
        { "rpl.opt.config.lifetime_unit", 16, "Lifetime Unit" },
    },
    [5] = {
        mark("rpl.opt.target.flag", "Reserved"),
        { "_", 8 },
        { "rpl.opt.target.prefix_length", 8, "Target Length" },
        { "rpl.opt.target.prefix", "ipv6", "Target", size = "$rest", when = "$rest > 0 && $rest <= 16" },
        { "unknown_data", "bytes", "Unknown Data", when = "$rest > 0" },
    },
    [6] = {
        { "rpl.opt.transit.flag", 8, "Flags", base = "hex", sub = {
            { "rpl.opt.transit.flag.e", "bool", "External" },
            { "rpl.opt.transit.flag.rsv", 7, "Reserved" },
        } },
        { "rpl.opt.transit.pathctl", 8, "Path Control" },
        { "rpl.opt.transit.pathseq", 8, "Path Sequence" },
        { "rpl.opt.transit.pathlifetime", 8, "Path Lifetime" },
        { "rpl.opt.transit.parent", "ipv6", "Parent Address", when = "$rest >= 16" },
    },
    [7] = {
        { "rpl.opt.solicited.instance", 8, "Instance" },
        { "rpl.opt.solicited.flag", 8, "Flag", base = "hex", sub = {
            { "rpl.opt.solicited.flag.v", "bool", "Version predicate" },
            { "rpl.opt.solicited.flag.i", "bool", "InstanceID predicate" },
            { "rpl.opt.solicited.flag.d", "bool", "DODAGID predicate" },
            { "rpl.opt.solicited.flag.rsv", 5, "Reserved" },
        } },
        { "rpl.opt.solicited.dodagid", "ipv6", "DODAGID" },
        { "rpl.opt.solicited.version", 8, "Version" },
    },
    [8] = {
        { "rpl.opt.prefix.length", 8, "Prefix Length" },
        { "rpl.opt.prefix.flag", 8, "Flag", base = "hex", sub = {
            { "rpl.opt.prefix.flag.l", "bool", "On Link" },
            { "rpl.opt.config.flag.a", "bool", "Auto Address Config" },
            { "rpl.opt.config.flag.r", "bool", "Router Address" },
            { "rpl.opt.config.flag.rsv", 5, "Reserved" },
        } },
        { "rpl.opt.prefix.valid_lifetime", 32, "Valid Lifetime" },
        { "rpl.opt.prefix.preferred_lifetime", 32, "Preferred Lifetime" },
        { "_", 32 },
        { "rpl.opt.prefix", "ipv6", "Destination Prefix" },
    },
    [9] = { { "rpl.opt.targetdesc.descriptor", 32, "Descriptor", base = "hex" } },
}

local rpl_option = {
    { loop = true, list = "rpl_options",
        mark("opt", "ICMPv6 Option"),
        { "rpl.opt.type", 8, "Type", values = {
            [0] = "1-byte padding", [1] = "n-byte padding", [2] = "DAG Metric container",
            [3] = "Routing Information", [4] = "DODAG configuration", [5] = "RPL Target",
            [6] = "Transit Information", [7] = "Solicited Information", [8] = "Prefix Information",
            [9] = "RPL Target Descriptor", [10] = "P2P Route Discovery",
        } },
        { when = "rpl.opt.type != 0",
            { "rpl.opt.length", 8, "Length" },
            { switch = "rpl.opt.type", size = "rpl.opt.length", cases = rpl_options,
                default = {
                    mark("rpl.opt.padn", "Padding", "rpl.opt.type == 1"),
                    { "data", "bytes", "Data", when = "rpl.opt.type != 1" },
                    { "_", "bytes" },
                } },
        },
    },
}

local with_rpl_options = { call = "rpl_options", when = "$rest > 0" }

local rpl = {
    { switch = "$u8(1)",
        cases = {
            [0] = {
                { "rpl.dis.flags", 8, "Flags" },
                { "reserved", "bytes", "Reserved", size = 1 },
                with_rpl_options,
            },
            [1] = {
                { "rpl.dio.instance", 8, "RPLInstanceID" },
                { "rpl.dio.version", 8, "Version" },
                { "rpl.dio.rank", 16, "Rank" },
                { "rpl.dio.flag", 8, "Flags", base = "hex", sub = {
                    { "rpl.dio.flag.g", "bool", "Grounded (G)" },
                    { "rpl.dio.flag.0", "bool", "Zero" },
                    { "rpl.dio.flag.mop", 3, "Mode of Operation (MOP)", base = "hex" },
                    { "rpl.dio.flag.preference", 3, "DODAG Preference" },
                } },
                { "rpl.dio.dtsn", 8, "Destination Advertisement Trigger Sequence Number (DTSN)" },
                { "rpl.dio.flag", 8, "Flags", base = "hex" },
                { "reserved", "bytes", "Reserved", size = 1 },
                { "rpl.dio.dagid", "ipv6", "DODAGID" },
                with_rpl_options,
            },
            [2] = {
                { "rpl.dao.instance", 8, "RPLInstanceID" },
                { "rpl.dao.flag", 8, "Flags", base = "hex", sub = {
                    { "rpl.dao.flag.k", "bool", "DAO-ACK Request (K)" },
                    { "rpl.dao.flag.d", "bool", "DODAGID Present (D)" },
                    { "rpl.dao.flag.rsv", 6, "Reserved" },
                } },
                { "reserved", "bytes", "Reserved", size = 1 },
                { "rpl.dao.sequence", 8, "DAO Sequence" },
                { "rpl.dao.dodagid", "ipv6", "DODAGID", when = "rpl.dao.flag.d" },
                with_rpl_options,
            },
            [3] = {
                { "rpl.daoack.instance", 8, "RPLInstanceID" },
                { "rpl.daoack.flag", 8, "Flags", base = "hex", sub = {
                    { "rpl.daoack.flag.d", "bool", "DODAGID Present (D)" },
                    { "rpl.daoack.flag.rsv", 7, "Reserved" },
                } },
                { "rpl.daoack.sequence", 8, "DAO Sequence" },
                { "rpl.daoack.status", 8, "Status" },
                { "rpl.daoack.dodagid", "ipv6", "DODAGID", when = "rpl.daoack.flag.d" },
                with_rpl_options,
            },
        },
        default = { { "_", "bytes" } },
    },
}

local duplicate_address = {
    { ".icmpv6.6lowpannd.da.status", 8, "Status" },
    { ".icmpv6.6lowpannd.da.rsv", 8, "Reserved" },
    { ".icmpv6.6lowpannd.da.lifetime", 16, "Lifetime" },
    { ".icmpv6.6lowpannd.da.eui64", "eui64", "EUI-64" },
    { ".icmpv6.6lowpannd.da.reg_addr", "ipv6", "Registered Address" },
}

local not_decoded = { { "_", "bytes" } }

-- RFC 4884 4.5: the quoted packet's length in words of 64 bits, before an extension structure.
local has_length = "(type == 1 || type == 3) && $u8(4) != 0"

return {
    name = "icmpv6", title = "Internet Control Message Protocol v6",
    on = { ["ip.proto"] = 58 },
    header = "type < 5 || type == 128 || type == 129 ? 8 : $len",
    next = {
        { "ipv6", at = "_redirected", size = "_redirected_size", quoted = true, when = "type == 137 && _redirected" },
        { stop = true, when = "type == 0 || type > 4" },
        { "ipv6", at = 8, size = "8 * $u8(4)", quoted = true, when = has_length },
        { "ipv6", at = 8, quoted = true },
    },
    checksum = { field = "checksum", pseudo = true, protocol = 58 },
    groups = { options = option, rpl_options = rpl_option, extensions = icmp.groups.extensions,
        extended_request = icmp.groups.extended_request, extended_reply = icmp.groups.extended_reply },
    line = {
        { when = "type == 128", "ICMP6, echo request, id {=echo.identifier}, seq {echo.sequence_number}" },
        { when = "type == 129", "ICMP6, echo reply, id {=echo.identifier}, seq {echo.sequence_number}" },
        { when = "type == 135", "ICMP6, neighbor solicitation, who has {nd.ns.target_address}" },
        { when = "type == 136", "ICMP6, neighbor advertisement, tgt is {nd.na.target_address}" },
        { when = "type == 2", "ICMP6, packet too big, mtu {mtu}" },
        { when = "type == 1 || type == 3 || type == 4", "ICMP6, {type}, {code}" },
        { when = "type == 0 || type > 4 && type != 128 && type != 129 && type != 135 && type != 136",
            "ICMP6, {type}" },
        ", length {=$len}",
    },
    { "type", 8, "Type", default = 128, values = {
        [1] = "Destination Unreachable", [2] = "Packet Too Big", [3] = "Time Exceeded", [4] = "Parameter Problem",
        [100] = "Private experimentation", [101] = "Private experimentation",
        [127] = "Reserved for expansion of ICMPv6 error messages", [128] = "Echo (ping) request",
        [129] = "Echo (ping) reply", [130] = "Multicast Listener Query", [131] = "Multicast Listener Report",
        [132] = "Multicast Listener Done", [133] = "Router Solicitation", [134] = "Router Advertisement",
        [135] = "Neighbor Solicitation", [136] = "Neighbor Advertisement", [137] = "Redirect",
        [138] = "Router Renumbering", [139] = "Node Information Query", [140] = "Node Information Reply",
        [141] = "Inverse Neighbor Discovery Solicitation", [142] = "Inverse Neighbor Discovery Advertisement",
        [143] = "Multicast Listener Report Message v2", [144] = "Home Agent Address Discovery Request",
        [145] = "Home Agent Address Discovery Reply", [146] = "Mobile Prefix Solicitation",
        [147] = "Mobile Prefix Advertisement", [148] = "Certification Path Solicitation",
        [149] = "Certification Path Advertisement", [150] = "Experimental Mobility",
        [151] = "Multicast Router Advertisement", [152] = "Multicast Router Solicitation",
        [153] = "Multicast Router Termination", [154] = "FMIPv6", [155] = "RPL Control", [156] = "Locator Update",
        [157] = "Duplicate Address Request", [158] = "Duplicate Address Confirmation",
        [159] = "MPL Control Message", [160] = "Extended Echo request", [161] = "Extended Echo reply",
        [200] = "Private experimentation", [201] = "Private experimentation",
        [255] = "Reserved for expansion of ICMPv6 informational messages",
    } },
    { switch = "type", size = 1,
        cases = {
            [1] = { { "code", 8, "Code", values = {
                [0] = "no route to destination", [1] = "administratively prohibited",
                [2] = "beyond scope of source address", [3] = "address unreachable", [4] = "port unreachable",
                [5] = "source address failed ingress/egress policy", [6] = "reject route to destination",
                [7] = "error in source routing header", [8] = "headers too long",
            } } },
            [3] = { { "code", 8, "Code", values = {
                [0] = "hop limit exceeded in transit", [1] = "fragment reassembly time exceeded",
            } } },
            [4] = { { "code", 8, "Code", values = {
                [0] = "erroneous header field encountered", [1] = "unrecognized Next Header type encountered",
                [2] = "unrecognized IPv6 option encountered",
                [3] = "IPv6 First Fragment has incomplete IPv6 Header Chain", [4] = "SR Upper-layer Header Error",
                [10] = "Option too big",
            } } },
            [138] = { { "code", 8, "Code", values = {
                [0] = "Router Renumbering Command", [1] = "Router Renumbering Result",
                [255] = "Sequence Number Reset",
            } } },
            [139] = { { "code", 8, "Code", values = {
                [0] = "Data contains IPv6 address", [1] = "Data contains Name or nothing",
                [2] = "Data contains IPv4 address",
            } } },
            [140] = { { "code", 8, "Code", values = {
                [0] = "Successful reply", [1] = "Refuses to answer", [2] = "Unknown query type",
            } } },
            [155] = { { "code", 8, "Code", values = {
                [0] = "DODAG Information Solicitation", [1] = "DODAG Information Object",
                [2] = "Destination Advertisement Object", [3] = "Destination Advertisement Object Acknowledgment",
            } } },
            [161] = { { "code", 8, "Code", values = {
                [0] = "No error", [1] = "Malformed query", [2] = "No such interface", [3] = "No such table entry",
                [4] = "Multiple interfaces satisfy query",
            } } },
        },
        default = { { "code", 8, "Code" } },
    },
    { "checksum", 16, "Checksum", base = "hex" },
    { "checksum.status", value = "$checksum", values = { [0] = "Bad", [1] = "Good", [2] = "Unverified" } },
    { switch = "type",
        cases = {
            [1] = { zeros }, [3] = { zeros },
            [2] = { { "mtu", 32, "MTU" } },
            [4] = { { "pointer", 32, "Pointer" } },
            [128] = echo, [129] = echo,
            [130] = query, [131] = listener, [132] = listener, [143] = listener_report,
            [133] = { zeros, with_options },
            [134] = {
                { "nd.ra.cur_hop_limit", 8, "Cur hop limit", default = 64 },
                { "nd.ra.flag", 8, "Flags", base = "hex", sub = {
                    { "nd.ra.flag.m", "bool", "Managed address configuration" },
                    { "nd.ra.flag.o", "bool", "Other configuration" },
                    { "nd.ra.flag.h", "bool", "Home Agent" },
                    { "nd.ra.flag.prf", 2, "Prf (Default Router Preference)", values = preferences },
                    { "nd.ra.flag.p", "bool", "Proxy" },
                    { "nd.ra.flag.rsv", 2, "Reserved" },
                } },
                { "nd.ra.router_lifetime", 16, "Router lifetime (s)", default = 1800 },
                { "nd.ra.reachable_time", 32, "Reachable time (ms)" },
                { "nd.ra.retrans_timer", 32, "Retrans timer (ms)" },
                with_options,
            },
            [135] = { zeros, { "nd.ns.target_address", "ipv6", "Target Address" }, with_options },
            [136] = {
                { "nd.na.flag", 32, "Flags", base = "hex", sub = {
                    { "nd.na.flag.r", "bool", "Router" },
                    { "nd.na.flag.s", "bool", "Solicited" },
                    { "nd.na.flag.o", "bool", "Override" },
                    { "nd.na.flag.rsv", 29, "Reserved" },
                } },
                { "nd.na.target_address", "ipv6", "Target Address" },
                with_options,
            },
            [137] = {
                zeros,
                { "nd.rd.target_address", "ipv6", "Target Address" },
                { "rd.na.destination_address", "ipv6", "Destination Address" },
                with_options,
            },
            [138] = not_decoded, [139] = not_decoded, [140] = not_decoded, [149] = not_decoded, [150] = not_decoded,
            [154] = not_decoded, [155] = rpl, [156] = not_decoded, [159] = not_decoded,
            [141] = { zeros, with_options }, [142] = { zeros, with_options },
            [144] = home_agent, [145] = home_agent,
            [146] = {
                { "mip6.identifier", 16, "Identifier" },
                { "reserved", "bytes", "Reserved", size = 2 },
            },
            [147] = {
                { "mip6.identifier", 16, "Identifier" },
                { "mip6.flag", 16, "Flags", base = "hex", sub = {
                    { "mip6.flag.m", "bool", "Managed address configuration" },
                    { "mip6.flag.o", "bool", "Other configuration" },
                    { "mip6.flag.rsv", 14, "Reserved" },
                } },
                with_options,
            },
            [148] = {
                { "send.identifier", 16, "Identifier" },
                { "send.component", 16, "Component" },
                with_options,
            },
            [151] = {
                { "mcast_ra.query_interval", 16, "Query Interval" },
                { "mcast_ra.robustness_variable", 16, "Robustness Variable" },
            },
            [152] = not_decoded, [153] = not_decoded,
            [157] = duplicate_address, [158] = duplicate_address,
            [160] = {
                { "echo.identifier", 16, "Identifier", base = "hex" },
                { call = "extended_request" },
            },
            [161] = {
                { "echo.identifier", 16, "Identifier", base = "hex" },
                { call = "extended_reply" },
            },
        },
        default = { { "data", "bytes", "Data", when = "$rest > 0" } },
    },
    { when = has_length,
        { check = "8 + 8 * $u8(4) <= $len", "a quoted packet that is longer than what there is" },
        { size = "8 * $u8(4)" },
        { call = "extensions", when = "$rest >= 4" },
    },
}
