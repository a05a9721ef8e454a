--- IPv4, RFC 791, with its options: those of RFC 791, security (RFC 1108), CIPSO (FIPS 188), MTU discovery (RFC 1063),
-- traceroute (RFC 1393), router alert (RFC 2113), directed broadcast (RFC 1770) and Quick-Start (RFC 4782).

local dscp = {
    [0] = "Default", [1] = "LE", [8] = "CS1", [10] = "AF11", [12] = "AF12", [14] = "AF13", [16] = "CS2",
    [18] = "AF21", [20] = "AF22", [22] = "AF23", [24] = "CS3", [26] = "AF31", [28] = "AF32", [30] = "AF33",
    [32] = "CS4", [34] = "AF41", [36] = "AF42", [38] = "AF43", [40] = "CS5", [44] = "VOICE-ADMIT", [46] = "EF",
    [48] = "CS6", [56] = "CS7",
}
local ecn = { [0] = "Not-ECT", [1] = "ECT(1)", [2] = "ECT(0)", [3] = "CE" }

local protocols = {
    [0] = "IPv6 Hop-by-Hop", [1] = "ICMP", [2] = "IGMP", [4] = "IPIP", [6] = "TCP", [8] = "EGP", [9] = "IGRP",
    [17] = "UDP", [27] = "RDP", [33] = "DCCP", [41] = "IPv6", [43] = "IPv6 Routing", [44] = "IPv6 Fragment",
    [46] = "RSVP", [47] = "GRE", [50] = "ESP", [51] = "AH", [58] = "ICMPv6", [59] = "IPv6 No Next Header",
    [60] = "IPv6 Destination Options", [80] = "ISO-IP", [88] = "EIGRP", [89] = "OSPF", [94] = "IPIP",
    [97] = "EtherIP", [98] = "Encapsulation", [103] = "PIM", [108] = "IPComp", [112] = "VRRP", [115] = "L2TP",
    [121] = "SMP", [132] = "SCTP", [133] = "FC", [135] = "Mobility", [136] = "UDPLite", [137] = "MPLS", [139] = "HIP",
    [140] = "Shim6", [142] = "ROHC", [143] = "Ethernet",
}

local option_numbers = {
    [0] = "End of Option List", [1] = "No-Operation", [2] = "Security", [3] = "Loose Source Route",
    [4] = "Time Stamp", [5] = "Extended Security", [6] = "Commercial Security", [7] = "Record Route",
    [8] = "Stream Identifier", [9] = "Strict Source Route", [10] = "Experimental Measurement", [11] = "MTU Probe",
    [12] = "MTU Reply", [13] = "Experimental Flow Control", [14] = "Experimental Access Control",
    [16] = "IMI Traffic Descriptor", [17] = "Extended Internet Protocol", [18] = "Traceroute",
    [19] = "Address Extension", [20] = "Router Alert", [21] = "Selective Directed Broadcast",
    [23] = "Dynamic Packet State", [24] = "Upstream Multicast Packet", [25] = "Quick-Start", [30] = "Experiment",
}

-- the categories of a CIPSO tag, as text: set bits of a bitmap; numbers; ranges of them, upper end first
local function bitmap(bytes)
    local list = {}
    for i = 1, #bytes do
        for bit = 0, 7 do
            if bytes:byte(i) & 0x80 >> bit ~= 0 then
                list[#list + 1] = (i - 1) * 8 + bit
            end
        end
    end
    return #list > 0 and table.concat(list, ",") or nil
end

local function numbers(bytes)
    local list = {}
    for i = 1, #bytes - 1, 2 do
        list[#list + 1] = (">I2"):unpack(bytes, i)
    end
    return #list > 0 and table.concat(list, ",") or nil
end

local function ranges(bytes)
    local list = {}
    for i = 1, #bytes - 1, 4 do
        list[#list + 1] = ("%d-%d"):format((">I2"):unpack(bytes, i), i + 3 <= #bytes and (">I2"):unpack(bytes,
            i + 2) or 0)
    end
    return #list > 0 and table.concat(list, ",") or nil
end

local function header_sum(_, layer)
    local size = layer:byte(1) % 16 * 4
    if size < 20 or size > #layer then
        return nil
    end
    local sum = 0
    for i = 1, size, 2 do
        if i ~= 11 then
            sum = sum + (">I2"):unpack(layer, i)
        end
    end
    sum = (sum & 0xffff) + (sum >> 16)
    return ~((sum & 0xffff) + (sum >> 16)) & 0xffff
end

-- a route: what is before the pointer was recorded, what is behind it is still to come
local function route(rest, title)
    return {
        { "opt.ptr", 8, "Pointer", default = 4 },
        { when = "opt.ptr >= 4 && opt.ptr % 4 == 0",
            { loop = "(opt.len - 3) / 4", list = "route",
                { "rec_rt", "ipv4", "Recorded Route", also = "rec_rt_host", when = "4 * $index + 4 < opt.ptr" },
                { rest, "ipv4", title, also = rest .. "_host", when = "4 * $index + 4 >= opt.ptr" },
            },
        },
    }
end

local source_route = route("src_rt", "Source Route")
local quick_start = {
    { "opt.qs_func", 4, "Function", values = { [0] = "Rate request", [8] = "Rate report" } },
    { "opt.qs_rate", 4, "Rate", when = "opt.qs_func == 0 || opt.qs_func == 8" },
    { "opt.qs_ttl", 8, "QS TTL", when = "opt.qs_func == 0" },
    { "opt.qs_ttl_diff", nil, "TTL Diff", value = "(ttl - opt.qs_ttl) % 256", when = "opt.qs_func == 0" },
    { "opt.qs_unused", 8, "Not Used", when = "opt.qs_func == 8" },
    { when = "opt.qs_func == 0 || opt.qs_func == 8",
        { "opt.qs_nonce", 30, "QS Nonce", base = "hex", digits = 8 },
        { "opt.qs_reserved", 2, "Reserved", base = "hex", digits = 8 },
    },
}

-- a source route in front (or behind one byte of padding) makes the header's destination one of several
local routed = "hdr_len > 20 && ($u8(20) == 0x83 || $u8(20) == 0x89 ? $u8(22) <= $u8(21)"
    .. " && $u8(22) % 4 == 0 : $u8(20) == 1 && ($u8(21) == 0x83 || $u8(21) == 0x89) && $u8(23) <= $u8(22)"
    .. " && $u8(23) % 4 == 0)"

return {
    name = "ip", title = "Internet Protocol Version 4",
    on = { ethertype = 0x0800, ["ip.proto"] = { 4, 94 }, link = 228, ["null.type"] = 2, ["llc.dsap"] = 0x06,
        ["ppp.protocol"] = 0x0021 },
    header = "hdr_len",
    total = "len",
    guessed = "len == 0",
    accept = "version == 4", refusal = "the IP version isn't 4 as it says",
    check = {
        { "version == 4", "its version isn't 4" }, -- where a link type leads here
        { "hdr_len >= 20", "header length below 20" },
    },
    next = {
        { stop = true, when = "frag_offset != 0" },
        { table = "ip.proto", key = "proto", when = "flags.mf", fragment = true },
        { table = "ip.proto", key = "proto" },
    },
    checksum = { field = "checksum", to = "hdr_len" },
    line = { "IP {src} > {dst}", { when = "frag_offset != 0 || flags.mf", ", frag ({id}:{=frag_offset * 8}" },
        { when = "flags.mf", "+" }, { when = "frag_offset != 0 || flags.mf", ")" } },
    { "version", 4, "Version", default = 4 },
    { "hdr_len", 4, "Header Length", scale = 4 },
    { "dsfield", 8, "Differentiated Services Field", base = "hex", sub = {
        { "dsfield.dscp", 6, "Differentiated Services Codepoint", values = dscp },
        { "dsfield.ecn", 2, "Explicit Congestion Notification", values = ecn },
    } },
    { "len", 16, "Total Length" },
    { "id", 16, "Identification", base = "hex" },
    { "flags", 3, "Flags", base = "hex", sub = {
        { "flags.rb", "bool", "Reserved bit" },
        { "flags.df", "bool", "Don't fragment" },
        { "flags.mf", "bool", "More fragments" },
    } },
    { "frag_offset", 13, "Fragment Offset" },
    { "ttl", 8, "Time to Live", default = 64 },
    { "proto", 8, "Protocol", values = protocols },
    { "checksum", 16, "Header Checksum", base = "hex" },
    { "checksum_calculated", 16, "Calculated Checksum", base = "hex", value = header_sum, hidden = true },
    { "checksum.status", nil, "Header checksum status", value = "$checksum",
        values = { [0] = "Bad", "Good", "Unverified", "Not present" } },
    { "src", "ipv4", "Source Address", also = { "addr", "src_host", "host" } },
    { "cur_rt", "ipv4", "Current Route", also = "cur_rt_host", when = routed, overlay = true },
    { "dst", "ipv4", "Destination Address", also = { "addr", "dst_host", "host" } },
    { size = "hdr_len - 20", when = "hdr_len > 20",
        { loop = true, list = "options", stop = "opt.type == 0",
            { check = "$at8(0) <= 1 || $at8(1) >= 2", "option length below 2" },
            { check = "$at8(0) <= 1 || $at8(1) <= $rest", "an option longer than what there is of them" },
            { "opt.type", 8, "Type", sub = {
                { "opt.type.copy", "bool", "Copy on fragmentation" },
                { "opt.type.class", 2, "Class", values = { [0] = "Control", [2] = "Debugging and measurement" } },
                { "opt.type.number", 5, "Number", values = option_numbers },
            } },
            { when = "opt.type > 1",
                { "opt.len", 8, "Length" },
                { switch = "opt.type", size = "opt.len - 2", cases = {
                    [0x07] = route("empty_rt", "Empty Route"),
                    [0x83] = source_route,
                    [0x89] = source_route,
                    [0x44] = {
                        { "opt.ptr", 8, "Pointer", default = 5 },
                        { "opt.overflow", 4, "Overflow" },
                        { "opt.flag", 4, "Flag", base = "hex",
                            values = { [0] = "Time stamps only", [1] = "Time stamp and address",
                                [3] = "Time stamps for prespecified addresses" } },
                        { loop = true, list = "time_stamps",
                            { "opt.time_stamp_addr", "ipv4", "Address", when = "opt.flag == 1 || opt.flag == 3" },
                            { "opt.time_stamp", 32, "Time stamp" },
                        },
                    },
                    [0x82] = {
                        { when = "opt.len == 11",
                            { "opt.sec_rfc791_sec", 16, "Security", base = "hex", values = { [0] = "Unclassified",
                                [0xf135] = "Confidential", [0x789a] = "EFTO", [0xbc4d] = "MMMM", [0x5e26] = "PROG",
                                [0xaf13] = "Restricted", [0xd788] = "Secret", [0x6bc5] = "Top Secret" } },
                            { "opt.sec_rfc791_comp", 16, "Compartments" },
                            { "opt.sec_rfc791_hr", "string", "Handling Restrictions", size = 2 },
                            { "opt.sec_rfc791_tcc", "string", "Transmission Control Code", size = 3 },
                        },
                        { when = "opt.len != 11",
                            { "opt.sec_cl", 8, "Classification Level", base = "hex", values = { [0x01] = "Reserved 4",
                                [0x3d] = "Top Secret", [0x5a] = "Secret", [0x96] = "Confidential",
                                [0x66] = "Reserved 3",
                                [0xcc] = "Reserved 2", [0xab] = "Unclassified", [0xf1] = "Reserved 1" } },
                            { loop = true, stop = "!opt.sec_prot_auth_fti",
                                { "opt.sec_prot_auth_flags", 8, "Protection Authority Flags", base = "hex", sub = {
                                    { when = "$index == 0",
                                        { "opt.sec_prot_auth_genser", "bool", "GENSER" },
                                        { "opt.sec_prot_auth_siop_esi", "bool", "SIOP-ESI" },
                                        { "opt.sec_prot_auth_sci", "bool", "SCI" },
                                        { "opt.sec_prot_auth_nsa", "bool", "NSA" },
                                        { "opt.sec_prot_auth_doe", "bool", "DOE" },
                                        { "opt.sec_prot_auth_unassigned", 2, "Unassigned", base = "hex" },
                                    },
                                    { "opt.sec_prot_auth_unassigned", 7, "Unassigned", base = "hex",
                                        when = "$index > 0" },
                                    { "opt.sec_prot_auth_fti", "bool", "Field Termination Indicator" },
                                } },
                            },
                        },
                    },
                    [0x85] = {
                        { "opt.ext_sec_add_sec_info_format_code", 8, "Additional Security Info Format Code",
                            base = "hex" },
                        { "opt.ext_sec_add_sec_info", "bytes", "Additional Security Info", when = "$rest > 0" },
                    },
                    [0x86] = {
                        { "cipso.doi", 32, "DOI" },
                        { loop = true, list = "tags",
                            { "cipso.tag_type", 8, "Tag Type", values = { [1] = "Restrictive Category Bitmap",
                                [2] = "Enumerated Categories", [5] = "Ranged Categories", [6] = "Permissive Categories",
                                [7] = "Free Form" } },
                            { "_tag_len", 8 },
                            { check = "_tag_len >= 2", "tag length below 2" },
                            { switch = "cipso.tag_type", size = "_tag_len - 2", cases = {
                                [1] = {
                                    { "_alignment", 8 },
                                    { "cipso.sensitivity_level", 8, "Sensitivity Level" },
                                    { "cipso.categories", "string", "Categories", size = "$rest", value = bitmap,
                                        when = "$rest > 0" },
                                },
                                [2] = {
                                    { "_alignment", 8 },
                                    { "cipso.sensitivity_level", 8, "Sensitivity Level" },
                                    { "cipso.categories", "string", "Categories", size = "$rest", value = numbers,
                                        when = "$rest > 0" },
                                },
                                [5] = {
                                    { "_alignment", 8 },
                                    { "cipso.sensitivity_level", 8, "Sensitivity Level" },
                                    { "cipso.categories", "string", "Categories", size = "$rest", value = ranges,
                                        when = "$rest > 0" },
                                },
                            }, default = { { "cipso.tag_data", "bytes", "Tag data", when = "$rest > 0" } } },
                        },
                    },
                    [0x88] = { { "opt.sid", 16, "Stream Identifier" } },
                    [0x0b] = { { "opt.mtu", 16, "MTU" } },
                    [0x0c] = { { "opt.mtu", 16, "MTU" } },
                    [0x52] = {
                        { "opt.id_number", 16, "ID Number" },
                        { "opt.ohc", 16, "Outbound Hop Count" },
                        { "opt.rhc", 16, "Return Hop Count" },
                        { "opt.originator", "ipv4", "Originator IP Address" },
                    },
                    [0x94] = { { "opt.ra", 16, "Router Alert", values = { [0] = "Router shall examine packet" } } },
                    [0x95] = { { loop = true, { "opt.addr", "ipv4", "IP Address" } } },
                    [0x19] = quick_start,
                } },
            },
        },
    },
}
