--- BGP-4, RFC 4271, with capabilities (RFC 5492), multiprotocol NLRI (RFC 4760; labels RFC 8277, VPNs RFC 4364, EVPN
-- RFC 7432), communities (RFC 1997, 4360, 8092) and route refresh (RFC 2918, 5291). One layer holds all messages of a
-- segment.

local afis = {
    [0] = "Reserved", "IPv4", "IPv6", [25] = "Layer-2 VPN", [196] = "Layer-2 VPN (old)", [16388] = "BGP-LS",
    [16389] = "48-bit MAC Address",
}
local safis = {
    [0] = "Reserved", [1] = "Unicast", [2] = "Multicast", [4] = "Labeled Unicast", [5] = "MCAST-VPN",
    [6] = "Multi-Segment Pseudowires", [8] = "MCAST-VPLS", [65] = "VPLS", [66] = "Cisco MDT", [67] = "4over6",
    [68] = "6over4", [69] = "Layer-1 VPN", [70] = "EVPN", [71] = "BGP-LS", [72] = "BGP-LS-VPN", [73] = "SR Policy",
    [128] = "Labeled VPN Unicast", [129] = "Labeled VPN Multicast", [132] = "Route Target Filter",
    [133] = "Flow Spec Filter", [134] = "Flow Spec Filter VPN",
}
local attributes = {
    "ORIGIN", "AS_PATH", "NEXT_HOP", "MULTI_EXIT_DISC", "LOCAL_PREF", "ATOMIC_AGGREGATE", "AGGREGATOR", "COMMUNITIES",
    "ORIGINATOR_ID", "CLUSTER_LIST", "DPA", "ADVERTISER", "RCID_PATH / CLUSTER_ID", "MP_REACH_NLRI",
    "MP_UNREACH_NLRI", "EXTENDED_COMMUNITIES", "AS4_PATH", "AS4_AGGREGATOR", "SAFI_SPECIFIC_ATTRIBUTE",
    "Connector Attribute", "AS_PATHLIMIT", "PMSI_TUNNEL_ATTRIBUTE", "TUNNEL_ENCAPSULATION_ATTRIBUTE",
    "Traffic Engineering", "IPv6 Address Specific Extended Community", "AIGP", "PE Distinguisher Labels",
    "BGP Entropy Label Capability Attribute", "BGP-LS Attribute", [32] = "LARGE_COMMUNITY", [33] = "BGPsec_PATH",
    [35] = "Only to Customer", [36] = "D_PATH", [40] = "BGP Prefix-SID", [128] = "ATTR_SET",
}
local well_known = {
    [0xffff0000] = "GRACEFUL_SHUTDOWN", [0xffff0001] = "ACCEPT_OWN", [0xffff029a] = "BLACKHOLE",
    [0xffffff01] = "NO_EXPORT", [0xffffff02] = "NO_ADVERTISE", [0xffffff03] = "NO_EXPORT_SUBCONFED",
    [0xffffff04] = "NOPEER",
}
local capabilities = {
    "Multiprotocol extensions capability", "Route refresh capability", "Cooperative route filtering capability",
    "Multiple routes to a destination capability", "Extended Next Hop Encoding", "BGP-Extended Message",
    "BGPsec capability", "Multiple Labels capability", "BGP Role", [64] = "Graceful Restart capability",
    [65] = "Support for 4-octet AS number capability", [66] = "Deprecated Dynamic Capability (Cisco)",
    [67] = "Support for Dynamic capability", [68] = "Multisession BGP Capability",
    [69] = "Support for Additional Paths", [70] = "Enhanced route refresh capability",
    [71] = "Long-Lived Graceful Restart (LLGR) Capability", [72] = "CP-ORF Capability", [73] = "FQDN Capability",
    [128] = "Route refresh capability (Cisco)", [130] = "Cooperative route filtering capability (Cisco)",
    [131] = "Multisession BGP Capability (Cisco)",
}

-- RFC 4364, 4.2: a route distinguisher as text.
local function distinguisher(bytes)
    local kind, a, b, c, d, e, f = (">I2BBBBBB"):unpack(bytes)
    if kind == 1 then
        return ("%d.%d.%d.%d:%d"):format(a, b, c, d, e << 8 | f)
    elseif kind == 2 then
        return ("%d:%d"):format(a << 24 | b << 16 | c << 8 | d, e << 8 | f)
    end
    return ("%d:%d"):format(a << 8 | b, c << 24 | d << 16 | e << 8 | f)
end

-- RFC 8277, 2: labels of 3 bytes until the bottom of the stack; 0 or 0x800000 where a route is withdrawn.
local function label_stack(bytes)
    local labels, what = {}, "(BOGUS: Bottom of Stack NOT set!)"
    for at = 1, #bytes - 2, 3 do
        local value = (">I3"):unpack(bytes, at)
        if value == 0x800000 or value == 0 then
            labels[#labels + 1], what = "0", "(withdrawn)"
            break
        end
        labels[#labels + 1] = tostring(value >> 4)
        if value & 1 == 1 then
            what = "(bottom)"
            break
        end
    end
    return table.concat(labels, ",") .. " " .. what
end

local function afi(name)
    return { name, 16, "Address family identifier (AFI)", values = afis, default = 1 }
end

local function safi(name, bits)
    return { name, bits or 8, "Subsequent address family identifier (SAFI)", values = safis, default = 1 }
end

-- ---------------------------------------------------------------- prefixes

-- Whether a list of prefixes has path IDs (RFC 7911) is negotiated elsewhere. It is taken to have them when it begins
-- with two zeros, which without them would be two default routes, and a length that can be stands behind the ID.
local function path_ids(bits)
    return {
        { "_path_ids", value = 0 },
        { "_path_ids", value = ("$rest > 4 && $at16(0) == 0 && $at8(4) <= %d"):format(bits) },
    }
end

local function prefixes(name, kind, bits, list)
    return {
        path_ids(bits),
        { loop = true, list = list or "prefixes",
            { "nlri_path_id", 32, "NLRI path id", when = "_path_ids" },
            { "prefix_length", 8, "Prefix Length" },
            { check = ("prefix_length <= %d"):format(bits), "prefix length that can't be" },
            { name, kind, "Prefix", size = "(prefix_length + 7) / 8" },
        },
    }
end

-- With labels, and with a route distinguisher; the length counts their bits, too.
local function labeled_prefixes(name, kind, bits, vpn)
    local extra = vpn and 64 or 0
    return {
        path_ids(bits + extra + 24),
        { loop = true, list = "prefixes",
            { "nlri_path_id", 32, "NLRI path id", when = "_path_ids" },
            { "prefix_length", 8, "Prefix Length" },
            { check = ("prefix_length >= %d"):format(extra + 24), "prefix length that can't be" },
            { size = "(prefix_length + 7) / 8",
                { "_labels", value = 3 },
                { "_labels", value = "$at8(2) & 1 || $at8(2) == 0 ? 3 : $at8(5) & 1 ? 6 : $at8(8) & 1 ? 9 : 12" },
                { "label_stack", "bytes", "Label Stack", size = "_labels", value = label_stack },
                { "rd", "bytes", "Route Distinguisher", size = 8, value = distinguisher, when = vpn and 1 or 0 },
                { check = ("prefix_length - 8 * _labels - %d <= %d"):format(extra, bits),
                    "prefix length that can't be" },
                { name, kind, "Prefix", size = ("(prefix_length - 8 * _labels - %d + 7) / 8"):format(extra) },
            },
        },
    }
end

local label = { "update.path_attribute.mpls_label_value_20bits", 20, "MPLS Label" }
local esi = { "evpn.nlri.esi", "bytes", "ESI", size = 10, base = "colon", sub = {
    { "evpn.nlri.esi.type", 8, "ESI Type" },
    { "evpn.nlri.esi.value", "bytes", "ESI Value", overlay = true },
    { switch = "evpn.nlri.esi.type", cases = {
        [0] = { { "evpn.nlri.esi.type0", "bytes", "ESI 9 bytes value" } },
        [1] = {
            { "evpn.nlri.esi.lacp_mac", "ether", "CE LACP system MAC" },
            { "evpn.nlri.esi.lacp_portkey", 16, "LACP port key" },
            { "evpn.nlri.esi.remaining", "bytes", "Remaining bytes" },
        },
        [2] = {
            { "evpn.nlri.esi.root_bridge", "ether", "ESI root bridge MAC" },
            { "evpn.nlri.esi.rb_prio", 16, "ESI root bridge priority" },
            { "evpn.nlri.esi.remaining", "bytes", "Remaining bytes" },
        },
        [3] = {
            { "evpn.nlri.esi.system_mac", "ether", "ESI system MAC" },
            { "evpn.nlri.esi.system_mac_discr", "bytes", "ESI system mac discriminator" },
        },
        [4] = {
            { "evpn.nlri.esi.router_id", "ipv4", "ESI router ID" },
            { "evpn.nlri.esi.router_discr", "bytes", "ESI router discriminator", size = 4 },
            { "evpn.nlri.esi.remaining", "bytes", "Remaining bytes" },
        },
        [5] = {
            { "evpn.nlri.esi.asn", 32, "ESI ASN" },
            { "evpn.nlri.esi.asn_discr", "bytes", "ESI ASN discriminator", size = 4 },
            { "evpn.nlri.esi.remaining", "bytes", "Remaining bytes" },
        },
    } },
} }
local rd = { "evpn.nlri.rd", "bytes", "Route Distinguisher", size = 8 }
local etag = { "evpn.nlri.etag", 32, "Ethernet Tag ID" }
local router = {
    { "evpn.nlri.iplen", 8, "IP Address Length" },
    { "evpn.nlri.ip.addr", "ipv4", "IPv4 address", when = "evpn.nlri.iplen == 32" },
    { "evpn.nlri.ipv6.addr", "ipv6", "IPv6 address", when = "evpn.nlri.iplen == 128" },
}
local function evpn_label(name) -- of VXLAN it is the VNI
    return { when = "$rest >= 3",
        { "evpn.nlri.vni", 24, "VNI", when = "_vxlan" },
        { when = "!_vxlan", { name, 20, "MPLS Label" }, { "_label_bits", 4 } },
    }
end
local evpn = {
    { loop = true, list = "routes",
        { "evpn.nlri.rt", 8, "Route Type", values = {
            "Ethernet AD Route", "MAC Advertisement Route", "Inclusive Multicast Route", "Ethernet Segment Route",
            "IP Prefix route", "Selective Multicast Ethernet Tag Route", "IGMP Join Synch Route",
            "IGMP Leave Synch Route", [10] = "S-PMSI A-D Route",
        } },
        { "evpn.nlri.len", 8, "Length" },
        { switch = "evpn.nlri.rt", size = "evpn.nlri.len", cases = {
            [1] = { rd, esi, etag, evpn_label "evpn.nlri.mpls_ls1" },
            [2] = {
                rd, esi, etag,
                { "evpn.nlri.maclen", 8, "MAC Address Length" },
                { "evpn.nlri.mac_addr", "ether", "MAC Address" },
                router,
                evpn_label "evpn.nlri.mpls_ls1",
                evpn_label "evpn.nlri.mpls_ls2",
            },
            [3] = { rd, etag, router },
            [4] = { rd, esi, router },
            [5] = {
                rd, esi, etag,
                { "evpn.nlri.prefix_len", 8, "IP prefix length" },
                { when = "evpn.nlri.len < 58",
                    { "evpn.nlri.ip.addr", "ipv4", "IPv4 address" },
                    { "evpn.nlri.ipv4.gtw_addr", "ipv4", "IPv4 Gateway address" },
                },
                { when = "evpn.nlri.len >= 58",
                    { "evpn.nlri.ipv6.addr", "ipv6", "IPv6 address" },
                    { "evpn.nlri.ipv6.gtw_addr", "ipv6", "IPv6 Gateway address" },
                },
                { "evpn.nlri.vni", 24, "VNI", when = "_vxlan" },
                { "update.path_attribute.mpls_label_value", 24, "MPLS Label", when = "!_vxlan" },
            },
        } },
    },
}

-- RFC 4684: an AS and a route target, in the three forms of RFC 4360.
local function route_target(bytes)
    local kind, _, a, b, c = (">BBI2I2I2"):unpack(bytes)
    if kind == 1 then
        return ("%d.%d.%d.%d:%d"):format(a >> 8, a & 255, b >> 8, b & 255, c)
    elseif kind == 2 then
        return ("%d:%d"):format(a << 16 | b, c)
    end
    return ("%d:%d"):format(a, b << 16 | c)
end
local route_targets = {
    { loop = true, list = "route_targets",
        { "prefix_length", 8, "Prefix Length" },
        { when = "prefix_length == 96",
            { "originating_as", 32, "Originating AS" },
            { "community_prefix", "bytes", "Community Prefix", size = 8, value = route_target },
        },
        { "_part", "bytes", size = "(prefix_length + 7) / 8", when = "prefix_length != 96" },
    },
}

-- What follows of a family; `way` is "reach" or "unreach".
local function nlri(way)
    local v4, v6 = ("mp_%s_nlri_ipv4_prefix"):format(way), ("mp_%s_nlri_ipv6_prefix"):format(way)
    local function key(a, s)
        return a << 8 | s
    end
    local name = ("update.path_attribute.mp_%s_nlri."):format(way)
    return { switch = ("%safi << 8 | %ssafi"):format(name, name), cases = {
        [key(1, 1)] = prefixes(v4, "ipv4", 32), [key(1, 2)] = prefixes(v4, "ipv4", 32),
        [key(2, 1)] = prefixes(v6, "ipv6", 128), [key(2, 2)] = prefixes(v6, "ipv6", 128),
        [key(1, 4)] = labeled_prefixes(v4, "ipv4", 32), [key(2, 4)] = labeled_prefixes(v6, "ipv6", 128),
        [key(1, 128)] = labeled_prefixes(v4, "ipv4", 32, true), [key(2, 128)] = labeled_prefixes(v6, "ipv6", 128, true),
        [key(25, 70)] = evpn, [key(1, 132)] = route_targets,
    }, default = { { "_routes", "bytes", when = "$rest > 0" } } }
end

-- ---------------------------------------------------------------- path attributes

-- Whether AS numbers have 2 or 4 bytes is negotiated elsewhere: 2 when the segment then ends where the attribute ends
-- or another segment begins, and the first number isn't 0.
local as_size = "$at16(2) != 0 && (2 + 2 * $at8(1) == $rest || 2 + 2 * $at8(1) < $rest && "
    .. "$at8(2 + 2 * $at8(1)) > 0 && $at8(2 + 2 * $at8(1)) < 5 && "
    .. "4 + 2 * $at8(1) + 2 * $at8(3 + 2 * $at8(1)) <= $rest) ? 2 : 4"

local function as_path(size)
    return {
        { "_as_size", value = size },
        { loop = true, list = "segments",
            { "update.path_attribute.as_path_segment.type", 8, "Segment type", values = {
                "AS_SET", "AS_SEQUENCE", "AS_CONFED_SEQUENCE", "AS_CONFED_SET",
            }, default = 2 },
            { "update.path_attribute.as_path_segment.length", 8, "Segment length (number of ASN)" },
            { loop = "update.path_attribute.as_path_segment.length", list = "as",
                { "update.path_attribute.as_path_segment.as2", 16, "AS2", when = "_as_size == 2" },
                { "update.path_attribute.as_path_segment.as4", 32, "AS4", when = "_as_size != 2" },
            },
        },
    }
end

local aggregator = {
    { check = "$rest == 6 || $rest == 8", "AGGREGATOR of other than 6 or 8 bytes" },
    { "update.path_attribute.aggregator_as", "uint", "Aggregator AS", size = "$rest - 4" },
    { "update.path_attribute.aggregator_origin", "ipv4", "Aggregator origin" },
}

local function four(name, kind, title)
    return {
        { check = "$rest == 4", "attribute of other than 4 bytes" },
        { name, kind, title },
    }
end

local value_as2 = { "ext_com.value_as2", 16, "2-Octet AS" }
local value_raw = { { "ext_com.value_raw", 48, "Raw Value", base = "hex" } }
local function subtype(name, values)
    return { "ext_com.stype_" .. name, 8, "Subtype", base = "hex", values = values }
end
local targets = { [2] = "Route Target", [3] = "Route Origin", [5] = "OSPF Domain Identifier" }
local as2 = {
    value_as2,
    { "ext_com.value_an4", 32, "4-Octet AN", when = "_subtype != 4" },
    { "ext_com.value_link_bw", "float", "Link bandwidth", bits = 32, when = "_subtype == 4" },
}
local as4 = { { "ext_com.value_as4", 32, "4-Octet AS" }, { "ext_com.value_an2", 16, "2-Octet AN" } }
local ip4 = {
    { when = "_subtype != 7",
        { "ext_com.value_IP4", "ipv4", "IPv4 address" },
        { "ext_com.value_an2", 16, "2-Octet AN" },
    },
    { when = "_subtype == 7", { "ext_com.value_ospf_rid", "ipv4", "Router ID" }, { "_reserved", 16 } },
}
local extended_community = {
    { "ext_com.type", 8, "Type", base = "hex", values = {
        [0x00] = "Transitive 2-Octet AS-Specific", [0x01] = "Transitive IPv4-Address-Specific",
        [0x02] = "Transitive 4-Octet AS-Specific", [0x03] = "Transitive Opaque", [0x04] = "Transitive QoS Marking",
        [0x05] = "Transitive CoS Capability", [0x06] = "Transitive EVPN", [0x07] = "FlowSpec Transitive",
        [0x40] = "Non-Transitive 2-Octet AS-Specific", [0x41] = "Non-Transitive IPv4-Address-Specific",
        [0x42] = "Non-Transitive 4-Octet AS-Specific", [0x43] = "Non-Transitive Opaque",
        [0x80] = "Generic Transitive Experimental Use",
    }, sub = {
        { "ext_com.type.auth", "bool", "IANA Authority" },
        { "ext_com.type.tran", "bool", "Transitive across ASes" },
    } },
    { "_subtype", value = "$at8(0)" },
    { switch = "ext_com.type", size = 7, cases = {
        [0x00] = { subtype("tr_as2", targets), as2 },
        [0x40] = { subtype("ntr_as2", { [4] = "Link Bandwidth" }), as2 },
        [0x01] = { subtype("tr_IP4", targets), ip4 },
        [0x41] = { subtype("ntr_IP4", targets), ip4 },
        [0x02] = { subtype("tr_as4", targets), as4 },
        [0x42] = { subtype("ntr_as4", targets), as4 },
        [0x03] = {
            subtype("tr_opaque", {
                [1] = "Cost", [6] = "OSPF Route Type", [11] = "Color", [12] = "Encapsulation", [13] = "Default Gateway",
            }),
            { switch = "_subtype", cases = {
                [6] = {
                    { "ext_com.value_ospf_rtype.area", "ipv4", "Area ID" },
                    { "ext_com.value_ospf_rtype.type", 8, "Route type" },
                    { "ext_com.value_ospf_rtype.options", 8, "Options", base = "hex", sub = {
                        { "_unused", 7 },
                        { "ext_com.value_ospf_rtype.options.mt", "bool", "Metric type" },
                    } },
                },
                [12] = {
                    { "_reserved", 32 },
                    { "ext_com.tunnel_type", 16, "Tunnel type", values = {
                        "L2TPv3 over IP", "GRE", [7] = "IP in IP", [8] = "VXLAN Encapsulation",
                        [9] = "NVGRE Encapsulation", [10] = "MPLS Encapsulation",
                        [11] = "MPLS in GRE Encapsulation", [12] = "VxLAN GPE Encapsulation",
                        [13] = "MPLS in UDP Encapsulation",
                    } },
                    { "_vxlan", value = "ext_com.tunnel_type == 8" },
                },
            }, default = value_raw },
        },
        [0x43] = { subtype "ntr_opaque", value_raw },
        [0x06] = {
            subtype("tr_evpn", {
                [0] = "MAC Mobility", "ESI MPLS Label", "ES Import", "EVPN Router's MAC", "Layer 2 Attributes",
                "E-Tree", "DF Election", "I-SID", "ND", "Multicast Flags Extended Community",
            }),
            { switch = "_subtype", cases = {
                [0] = {
                    { "ext_com_evpn.mmac.flags", 8, "Flags", base = "hex", sub = {
                        { "_unused", 7 }, { "ext_com_evpn.mmac.flags.sticky", "bool", "Sticky/Static MAC" },
                    } },
                    { "_reserved", 8 },
                    { "ext_com_evpn.mmac.seq", 32, "Sequence number" },
                },
                [1] = {
                    { "_unused", 7 }, { "ext_com_l2.esi_label_flag", "bool", "Single active bit" },
                    { "_reserved", 16 },
                    { "update.path_attribute.mpls_label_value", 24, "MPLS Label", sub = {
                        label,
                        { "update.path_attribute.mpls_traffic_class", 3, "Traffic Class", base = "hex", digits = 6 },
                        { "update.path_attribute.mpls_bottom_stack", "bool", "Bottom-of-Stack" },
                    } },
                },
                [2] = { { "ext_com_evpn.esi.rt", "ether", "ES-Import Route Target" } },
                [3] = { { "ext_com_evpn.esi.router_mac", "ether", "Router's MAC" } },
                [4] = {
                    { "ext_com_evpn.l2attr.flags", 16, "Flags", base = "hex", sub = {
                        { "ext_com_evpn.l2attr.flag_reserved", 11, "Reserved", base = "hex" },
                        { "ext_com_evpn.l2attr.flag_ci", "bool", "CI flag" },
                        { "ext_com_evpn.l2attr.flag_f", "bool", "F flag" },
                        { "ext_com_evpn.l2attr.flag_c", "bool", "C flag" },
                        { "ext_com_evpn.l2attr.flag_p", "bool", "P flag" },
                        { "ext_com_evpn.l2attr.flag_b", "bool", "B flag" },
                    } },
                    { "ext_com_evpn.l2attr.l2_mtu", 16, "L2 MTU" },
                    { "ext_com_evpn.l2attr.reserved", "bytes", "Reserved" },
                },
            }, default = value_raw },
        },
        [0x80] = {
            subtype("tr_exp", {
                [6] = "Flow spec traffic-rate", [7] = "Flow spec traffic-action",
                [8] = "Flow spec redirect AS 2 bytes format", [9] = "Flow spec traffic-remarking",
            }),
            { switch = "_subtype", cases = {
                [6] = { value_as2, { "ext_com_flow.rate_limit", "float", "Rate shaper", bits = 32 } },
                [7] = {
                    { "_reserved", "bytes", size = 5 },
                    { "_unused", 6 },
                    { "ext_com_flow.sample", "bool", "Sample" },
                    { "ext_com_flow.traff_act", "bool", "Terminal action" },
                },
                [8] = { value_as2, { "ext_com.value_an4", 32, "4-Octet AN" } },
                [9] = {
                    { "_reserved", "bytes", size = 5 },
                    { "_unused", 2 },
                    { "ext_com.value_fs_dscp", 6, "Remarking value", base = "hex" },
                },
            }, default = value_raw },
        },
    }, default = { subtype "unknown", value_raw } },
}

local next_hop = { "update.path_attribute.mp_reach_nlri.next_hop", "bytes", "Next hop", size = "$at8(0) + 1", sub = {
    { "_next_hop_length", 8 },
    { "update.path_attribute.mp_reach_nlri.next_hop.rd", "bytes", "Route Distinguisher", size = 8,
        value = distinguisher, when = "update.path_attribute.mp_reach_nlri.safi == 128 && $rest >= 12" },
    { "update.path_attribute.mp_reach_nlri.next_hop.ipv4", "ipv4", "IPv4 Address", when = "$rest == 4" },
    { "update.path_attribute.mp_reach_nlri.next_hop.ipv6", "ipv6", "IPv6 Address",
        when = "$rest == 16 || $rest == 32" },
    { "update.path_attribute.mp_reach_nlri.next_hop.ipv6.link_local", "ipv6", "Link-local Address",
        when = "_next_hop_length == 32" },
} }

local attribute = {
    { "update.path_attribute.flags", 8, "Flags", base = "hex", default = 0x40, sub = {
        { "update.path_attribute.flags.optional", "bool", "Optional" },
        { "update.path_attribute.flags.transitive", "bool", "Transitive" },
        { "update.path_attribute.flags.partial", "bool", "Partial" },
        { "update.path_attribute.flags.extended_length", "bool", "Extended-Length" },
        { "update.path_attribute.flags.unused", 4, "Unused", base = "hex" },
    } },
    { "update.path_attribute.type_code", 8, "Type Code", values = attributes },
    { "update.path_attribute.length", "uint", "Length",
        size = "update.path_attribute.flags.extended_length ? 2 : 1" },
    { switch = "update.path_attribute.type_code", size = "update.path_attribute.length", cases = {
        [1] = {
            { check = "$rest == 1", "ORIGIN of other than 1 byte" },
            { "update.path_attribute.origin", 8, "Origin", values = { [0] = "IGP", "EGP", "INCOMPLETE" } },
        },
        [2] = as_path(as_size), [17] = as_path(4),
        [3] = four("update.path_attribute.next_hop", "ipv4", "Next hop"),
        [4] = four("update.path_attribute.multi_exit_disc", 32, "Multiple exit discriminator"),
        [5] = four("update.path_attribute.local_pref", 32, "Local preference"),
        [7] = aggregator, [18] = aggregator,
        [8] = {
            { check = "$rest % 4 == 0", "COMMUNITIES that are no multiple of 4 bytes" },
            { loop = true, list = "communities",
                { switch = "$at16(0)", cases = {
                    [0xffff] = {
                        { "update.path_attribute.community_wellknown", 32, "Community Well-known", base = "hex",
                            values = well_known },
                    },
                }, default = {
                    { "update.path_attribute.community_as", 16, "Community AS" },
                    { "update.path_attribute.community_value", 16, "Community value" },
                } },
            },
        },
        [9] = four("update.path_attribute.originator_id", "ipv4", "Originator identifier"),
        [10] = {
            { check = "$rest % 4 == 0", "CLUSTER_LIST that is no multiple of 4 bytes" },
            { loop = true, list = "clusters", { "path_attribute.cluster_id", "ipv4", "Cluster ID" } },
        },
        [14] = {
            afi "update.path_attribute.mp_reach_nlri.afi",
            safi "update.path_attribute.mp_reach_nlri.safi",
            next_hop,
            { "update.path_attribute.mp_reach_nlri.nbr_snpa", 8, "Number of Subnetwork points of attachment (SNPA)" },
            { loop = "update.path_attribute.mp_reach_nlri.nbr_snpa",
                { "update.path_attribute.mp_reach_nlri.snpa_length", 8, "SNPA Length" },
                { "update.path_attribute.mp_reach_nlri.snpa", "bytes", "SNPA",
                    size = "(update.path_attribute.mp_reach_nlri.snpa_length + 1) / 2" },
            },
            nlri "reach",
        },
        [15] = {
            afi "update.path_attribute.mp_unreach_nlri.afi",
            safi "update.path_attribute.mp_unreach_nlri.safi",
            nlri "unreach",
        },
        [16] = { { loop = true, list = "extended_communities", extended_community } },
        [22] = {
            { "update.path_attribute.pmsi.tunnel.flags", 8, "Flags" },
            { "update.path_attribute.pmsi.tunnel.type", 8, "Tunnel Type", values = {
                [0] = "Type is not present", "RSVP-TE P2MP LSP", "mLDP P2MP LSP", "PIM SSM Tree", "PIM SM Tree",
                "BIDIR-PIM Tree", "Ingress Replication", "mLDP MP2MP LSP",
            } },
            { when = "!_vxlan", label, { "_label_bits", 4 } },
            { "evpn.nlri.vni", 24, "VNI", when = "_vxlan" },
            { "update.path_attribute.pmsi.ingress_rep_ip", "ipv4", "Tunnel type ingress replication IP end point",
                when = "update.path_attribute.pmsi.tunnel.type == 6 && $rest == 4" },
        },
        [26] = {
            { loop = true, list = "tlvs",
                { "update.attribute.aigp.type", 8, "AIGP attribute type" },
                { "update.attribute.aigp.length", 16, "AIGP TLV length" },
                { check = "update.attribute.aigp.length >= 3", "TLV shorter than its header" },
                { size = "update.attribute.aigp.length - 3",
                    { "update.attribute.aigp.accu_igp_metric", 64, "AIGP Accumulated IGP Metric",
                        when = "update.attribute.aigp.type == 1" },
                },
            },
        },
        [32] = {
            { loop = true, list = "large_communities",
                { "large_communities.ga", 32, "Global Administrator" },
                { "large_communities.ldp1", 32, "Local Data Part 1" },
                { "large_communities.ldp2", 32, "Local Data Part 2" },
            },
        },
        [128] = {
            { "update.path_attribute.attr_set.origin_as", 32, "Origin AS" },
            { loop = true, list = "attributes", { call = "attribute" } },
        },
    } },
}

-- ---------------------------------------------------------------- the other messages

local orf = {
    { "cap.orf.afi", 16, "AFI", values = afis },
    { "cap.reserved", "bytes", "Reserved", size = 1 },
    { "cap.orf.safi", 8, "SAFI", values = safis },
    { "cap.orf.number", 8, "Number" },
    { loop = "cap.orf.number", list = "types",
        { "cap.orf.type", 8, "Type", values = { [64] = "Address Prefix ORF", [128] = "Cisco PrefixList ORF" } },
        { "cap.orf.sendreceive", 8, "Send Receive", values = { "Receive", "Send", "Both" } },
    },
}
local unknown = { { "cap.unknown", "bytes", "Unknown", when = "$rest > 0" } }
local capability = {
    { "cap.type", 8, "Type", values = capabilities },
    { "cap.length", 8, "Length" },
    { switch = "cap.type", size = "cap.length", cases = {
        [1] = {
            { check = "$rest == 4", "capability of other than 4 bytes" },
            { "cap.mp.afi", 16, "AFI", values = afis, default = 1 },
            { "cap.reserved", "bytes", "Reserved", size = 1, default = "\0" },
            { "cap.mp.safi", 8, "SAFI", values = safis, default = 1 },
        },
        [2] = {}, [6] = {}, [70] = {}, [128] = {},
        [3] = orf, [130] = orf,
        [5] = {
            { loop = true, list = "families",
                { "cap.enh.afi", 16, "AFI", values = afis },
                { "cap.enh.safi", 16, "SAFI", values = safis },
                { "cap.enh.nhafi", 16, "Next hop AFI", values = afis },
            },
        },
        [7] = {
            { "cap.bgpsec.flags", 8, "Flag", base = "hex", sub = {
                { "cap.bgpsec.version", 4, "Version" },
                { "cap.bgpsec.sendreceive", 1, "Send/Receive" },
                { "cap.bgpsec.reserved", 3, "Reserved", base = "hex" },
            } },
            { "cap.bgpsec.afi", 16, "AFI", values = afis },
        },
        [64] = {
            { "cap.gr.timers", 16, "Restart Timers", base = "hex", sub = {
                { "cap.gr.timers.restart_flag", "bool", "Restart state" },
                { "cap.gr.timers.notification_flag", "bool", "Graceful notification" },
                { "_unused", 2 },
                { "cap.gr.timers.restart_time", 12, "Time" },
            } },
            { loop = true, list = "families",
                { "cap.gr.afi", 16, "AFI", values = afis },
                { "cap.gr.safi", 8, "SAFI", values = safis },
                { "cap.gr.flag", 8, "Flag", base = "hex", sub = {
                    { "cap.gr.flag.pfs", "bool", "Preserve forwarding state" },
                } },
            },
        },
        [65] = {
            { check = "$rest == 4", "capability of other than 4 bytes" },
            { "cap.4as", 32, "AS Number" },
        },
        [67] = { { loop = true, list = "capabilities", { "cap.dc", 8, "Capability Dynamic", values = capabilities } } },
        [69] = {
            { loop = true, list = "families",
                { "cap.ap.afi", 16, "AFI", values = afis },
                { "cap.ap.safi", 8, "SAFI", values = safis },
                { "cap.ap.sendreceive", 8, "Send/Receive", values = { "Receive", "Send", "Both" } },
            },
        },
        [73] = {
            { "cap.orf.fqdn.hostname.len", 8, "Hostname Length" },
            { "cap.orf.fqdn.hostname", "string", "Hostname", size = "cap.orf.fqdn.hostname.len" },
            { "cap.orf.fqdn.domain_name.len", 8, "Domain Name Length" },
            { "cap.orf.fqdn.domain_name", "string", "Domain Name", size = "cap.orf.fqdn.domain_name.len" },
        },
        [131] = { { "cap.multisession.flags", 8, "Flag", base = "hex" } },
    }, default = unknown },
}

local open = {
    { "open.version", 8, "Version", default = 4 },
    { "open.myas", 16, "My AS" },
    { "open.holdtime", 16, "Hold Time", default = 180 },
    { "open.identifier", "ipv4", "BGP Identifier" },
    { "open.opt.len", 8, "Optional Parameters Length" },
    { size = "open.opt.len",
        { loop = true, list = "parameters",
            { "open.opt.param.type", 8, "Parameter Type", values = { "Authentication", "Capability" }, default = 2 },
            { "open.opt.param.len", 8, "Parameter Length" },
            { switch = "open.opt.param.type", size = "open.opt.param.len", cases = {
                [1] = { { "open.opt.param.auth", "bytes", "Authentication Data" } },
                [2] = { { loop = true, list = "capabilities", { call = "capability" } } },
            }, default = { { "open.opt.param.unknown", "bytes", "Unknown", when = "$rest > 0" } } },
        },
    },
}

local update = {
    { "_vxlan", value = 0 },
    { "update.withdrawn_routes.length", 16, "Withdrawn Routes Length" },
    { size = "update.withdrawn_routes.length", prefixes("withdrawn_prefix", "ipv4", 32, "withdrawn") },
    { "update.path_attributes.length", 16, "Total Path Attribute Length" },
    { size = "update.path_attributes.length", { loop = true, list = "attributes", { call = "attribute" } } },
    { when = "$rest > 0", prefixes("nlri_prefix", "ipv4", 32, "nlri") },
}

local function minor(name, title, values)
    return { { "notify.minor_error" .. name, 8, title, values = values } }
end

local notification = {
    { "notify.major_error", 8, "Major error Code", values = {
        "Message Header Error", "OPEN Message Error", "UPDATE Message Error", "Hold Timer Expired",
        "Finite State Machine Error", "Cease", "CAPABILITY Message Error",
    }, default = 6 },
    { switch = "notify.major_error", cases = {
        [1] = minor("", "Minor error Code (Message Header)", {
            "Connection Not Synchronized", "Bad Message Length", "Bad Message Type",
        }),
        [2] = minor("_open", "Minor error Code (Open Message)", {
            "Unsupported Version Number", "Bad Peer AS", "Bad BGP Identifier", "Unsupported Optional Parameter",
            "Authentication Failure [Deprecated]", "Unacceptable Hold Time", "Unsupported Capability",
            "No supported AFI/SAFI (Cisco)",
        }),
        [3] = minor("_update", "Minor error Code (Update Message)", {
            "Malformed Attribute List", "Unrecognized Well-known Attribute", "Missing Well-known Attribute",
            "Attribute Flags Error", "Attribute Length Error", "Invalid ORIGIN Attribute",
            "AS Routing Loop [Deprecated]", "Invalid NEXT_HOP Attribute", "Optional Attribute Error",
            "Invalid Network Field", "Malformed AS_PATH",
        }),
        [4] = minor("_expired", "Minor error Code (Hold Timer Expired)"),
        [5] = minor("_state", "Minor error Code (State Machine)", {
            "Receive Unexpected Message in OpenSent State", "Receive Unexpected Message in OpenConfirm State",
            "Receive Unexpected Message in Established State",
        }),
        [6] = minor("_cease", "Minor error Code (Cease)", {
            "Maximum Number of Prefixes Reached", "Administratively Shutdown", "Peer De-configured",
            "Administratively Reset", "Connection Rejected", "Other Configuration Change",
            "Connection Collision Resolution", "Out of Resources", "Hard Reset",
        }),
        [7] = minor("_capability", "Minor error Code (Capability Message)", {
            "Invalid Action Value", "Invalid Capability Length", "Malformed Capability Value",
            "Unsupported Capability Code",
        }),
    }, default = minor("_unknown", "Minor error Code (Unknown)") },
    { "_error", value = "notify.major_error << 8 | $u8($here - 1)" },
    -- RFC 9003: a text of at most 255 bytes with its length in front
    { "_communication", value = 0 },
    { "_communication", value = "(_error == 0x602 || _error == 0x604) && $at8(0) + 1 == $rest" },
    { when = "_communication",
        { "notify.communication_length", 8, "BGP Shutdown Communication Length" },
        { "notify.communication", "string", "Shutdown Communication", size = "notify.communication_length" },
    },
    { when = "_error == 0x202 && $rest > 0",
        { "notify.error_open.bad_peer_as", "uint", "Bad Peer AS", size = "$rest > 4 ? 4 : $rest" },
    },
    { when = "_error == 0x207", { loop = true, list = "capabilities", { call = "capability" } } },
    { "notify.minor_data", "bytes", "Data", when = "$rest > 0" },
}

local refresh = {
    afi "route_refresh.afi",
    { "route_refresh.subtype", 8, "Subtype", values = {
        [0] = "Normal route refresh request", "Demarcation of the beginning of a route refresh",
        "Demarcation of the ending of a route refresh",
    } },
    safi "route_refresh.safi",
    { when = "$rest > 0",
        { "route_refresh.orf.flag", 8, "ORF flag", values = { "Immediate", "Defer" } },
        { loop = true, list = "filters",
            { "route_refresh.orf.type", 8, "ORF type", values = {
                [64] = "Address Prefix ORF", [128] = "Cisco PrefixList ORF",
            } },
            { "route_refresh.orf.length", 16, "ORF length" },
            { "_entries", "bytes", size = "route_refresh.orf.length" },
        },
    },
}

local marker = ("\xff"):rep(16)

return {
    name = "bgp", title = "Border Gateway Protocol",
    on = { ["tcp.port"] = 179 },
    stream = true,
    header = "$len",
    line = "BGP: {type*}",
    groups = { attribute = attribute, capability = capability, messages = {
        { loop = true, list = "messages",
            { "marker", "bytes", "Marker", size = 16, default = marker },
            { "length", 16, "Length" },
            { "type", 8, "Type", values = {
                "OPEN Message", "UPDATE Message", "NOTIFICATION Message", "KEEPALIVE Message",
                "ROUTE-REFRESH Message", "CAPABILITY Message", [128] = "Cisco ROUTE-REFRESH Message",
            }, default = 4 },
            { check = "length >= 19", "length below 19" },
            { switch = "type", size = "length - 19", cases = {
                [1] = open, [2] = update, [3] = notification, [5] = refresh, [128] = refresh,
            } },
        },
    } },
    { when = "$u32(0) == 0xffffffff", { call = "messages" } },
    -- the end of a message that began in another segment; the next one is found by its marker
    { when = "$u32(0) != 0xffffffff",
        { "_continued", "string", until_ = marker },
        { "_found", value = "$here > 16 && $u32($here - 16) == 0xffffffff && $u32($here - 4) == 0xffffffff" },
        { "_start", value = "$here - 16" },
        { at = "_start", size = "$len - _start", when = "_found", { call = "messages" } },
    },
}
