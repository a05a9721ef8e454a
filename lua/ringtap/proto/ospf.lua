--- OSPF, versions 2 (RFC 2328) and 3 (RFC 5340), with NSSA (RFC 3101), opaque LSAs (RFC 5250, 3630, 7770, 3623),
-- link-local signaling (RFC 5613) and OSPFv3's authentication trailer (RFC 7166).

local lsa_types = {
    "Router-LSA", "Network-LSA", "Summary-LSA (IP network)", "Summary-LSA (ASBR)", "AS-External-LSA (ASBR)",
    "Group Membership LSA", "NSSA AS-External-LSA", "External Attributes LSA", "Opaque LSA, Link-local scope",
    "Opaque LSA, Area-local scope", "Opaque LSA, AS-local scope",
}
local v3_lsa_types = {
    "Router-LSA", "Network-LSA", "Inter-Area-Prefix-LSA", "Inter-Area-Router-LSA", "AS-External-LSA",
    "Group-Membership-LSA", "NSSA-LSA", "Link-LSA", "Intra-Area-Prefix-LSA", [12] = "Router Information Opaque-LSA",
}

-- Fields that are there, and true, for one kind of packet or LSA: { number = { name, title } }.
local function marks(of, list)
    local items = {}
    for number, mark in pairs(list) do
        items[#items + 1] = { mark[1], "bool", mark[2], value = 1, when = ("%s == %d"):format(of, number),
            hidden = true }
    end
    table.sort(items, function(a, b) return a[1] < b[1] end)
    return items
end

local v2_marks = marks("lsa", {
    { "lsa.router", "Router LSA" }, { "lsa.network", "Network LSA" }, { "lsa.summary", "Summary LSA (IP Network)" },
    { "lsa.asbr", "Summary LSA (ASBR)" }, { "lsa.asext", "AS-External LSA (ASBR)" },
    { "lsa.member", "Group Membership LSA" }, { "lsa.nssa", "NSSA AS-External LSA" },
    { "lsa.attr", "External Attributes LSA" }, { "lsa.opaque", "Opaque LSA" }, { "lsa.opaque", "Opaque LSA" },
    { "lsa.opaque", "Opaque LSA" },
})
local v3_marks = marks("v3.lsa.fc", {
    { "v3.lsa.router", "Router-LSA" }, { "v3.lsa.network", "Network-LSA" },
    { "v3.lsa.interprefix", "Inter-Area-Prefix-LSA" }, { "v3.lsa.interrouter", "Inter-Area-Router-LSA" },
    { "v3.lsa.asext", "AS-External-LSA" }, { "v3.lsa.member", "Group-Membership-LSA" },
    { "v3.lsa.nssa", "NSSA-LSA" }, { "v3.lsa.link", "Link-LSA" }, { "v3.lsa.intraprefix", "Intra-Area-Prefix-LSA" },
    [12] = { "v3.lsa.opaque", "Router Information Opaque-LSA" },
})

local function v2_options(nssa, title)
    return { "v2.options", 8, "Options", base = "hex", sub = {
        { "v2.options.dn", "bool", "DN" },
        { "v2.options.o", "bool", "O" },
        { "v2.options.dc", "bool", "(DC) Demand Circuits" },
        { "v2.options.l", "bool", "(L) LLS Data block" },
        { nssa, "bool", title },
        { "v2.options.mc", "bool", "(MC) Multicast" },
        { "v2.options.e", "bool", "(E) External Routing" },
        { "v2.options.mt", "bool", "(MT) Multi-Topology Routing" },
    } }
end

local options = v2_options("v2.options.n", "(N) NSSA")
local v3_options = { "v3.options", 24, "Options", base = "hex", sub = {
    { "_unused", 13 },
    { "v3.options.at", "bool", "AT" },
    { "v3.options.l", "bool", "L" },
    { "v3.options.af", "bool", "AF" },
    { "_unused", 2 },
    { "v3.options.dc", "bool", "DC" },
    { "v3.options.r", "bool", "R" },
    { "v3.options.n", "bool", "N" },
    { "v3.options.mc", "bool", "MC" },
    { "v3.options.e", "bool", "E" },
    { "v3.options.v6", "bool", "V6" },
} }

local function reserved(size)
    return { "reserved", "bytes", "Reserved", size = size }
end

-- TLVs of opaque LSAs and LLS blocks: filled up to 4 bytes. A TLV's length counts neither its head nor that.
local function tlvs(name, cases, list)
    local kind = { name, 16, "TLV Type" }
    return { loop = true, list = list or "tlvs",
        kind,
        { "tlv_length", 16, "TLV Length" },
        { switch = name, size = "tlv_length", cases = cases },
        { "_fill", "bytes", size = "$rest < 3 - (tlv_length + 3) % 4 ? $rest : 3 - (tlv_length + 3) % 4" },
    }
end

-- ---------------------------------------------------------------- LSAs of version 2

local function external(options_of)
    return {
        { "lsa.asext.netmask", "ipv4", "Netmask" },
        { loop = true, list = options_of,
            { "lsa.asext.type", "bool", "External Type" },
            { "lsa.tos", 7, "TOS" },
            { "metric", 24, "Metric" },
            { "lsa.asext.fwdaddr", "ipv4", "Forwarding Address" },
            { "lsa.asext.extrttag", 32, "External Route Tag" },
        },
    }
end
local summary = {
    { "lsa.asbr.netmask", "ipv4", "Netmask" },
    { loop = true, list = "metrics", { "lsa.tos", 8, "TOS" }, { "metric", 24, "Metric" } },
}
local link_tlvs = tlvs("tlv_type", {
    [1] = { { "mpls.linktype", 8, "MPLS/TE Link Type", values = { "Point-to-point", "Multi-access" } } },
    [2] = { { "mpls.linkid", "ipv4", "MPLS/TE Link ID" } },
    [3] = { { loop = true, { "mpls.local_addr", "ipv4", "MPLS/TE Local Interface Address" } } },
    [4] = { { loop = true, { "mpls.remote_addr", "ipv4", "MPLS/TE Remote Interface Address" } } },
    [5] = { { "mpls.te_metric", 32, "MPLS/TE Metric" } },
    [6] = { { "mpls.link_max_bw", "float", "Link Max BW", bits = 32 } },
    [7] = { { "mpls.link_max_bw", "float", "Link Max BW", bits = 32 } }, -- the reservable one, by the same name
    [8] = { { loop = true, list = "priorities", { "mpls.pri", "float", "Unreserved Bandwidth", bits = 32 } } },
    [17] = { { "mpls.bc.model_id", 8, "MPLS/DSTE Bandwidth Constraints Model Id" } },
    [9] = { { "mpls.linkcolor", 32, "MPLS/TE Link Resource Class/Color", base = "hex" } },
    [11] = {
        { "mpls.local_id", 32, "MPLS/TE Local Interface Index" },
        { "mpls.remote_id", 32, "MPLS/TE Remote Interface Index" },
    },
}, "link_tlvs")
local router_information = tlvs("tlv_type.opaque", {
    [1] = {
        { "ri.options", 8, "RI Options", base = "hex", sub = {
            { "ri.options.grc", "bool", "(GRC) Graceful Restart" },
            { "ri.options.grh", "bool", "(GRH) Graceful Restart Helper" },
            { "ri.options.srs", "bool", "Stub Router Support" },
            { "ri.options.tes", "bool", "(TES) Traffic Engineering" },
            { "ri.options.p2plan", "bool", "(P2PLAN) Point-to-point over LAN" },
            { "ri.options.ete", "bool", "(ETE) Experimental TE" },
            { "_unused", 1 },
            { "ri.options.host", "bool", "Host Router" },
        } },
        { "_more_options", "bytes" },
    },
    [8] = { { loop = true, list = "algorithms", { "lsa_sa", 8, "SR-Algorithm" } } },
})
local grace = tlvs("tlv_type", {
    [1] = { { "v2.grace.period", 32, "Grace Period" } },
    [2] = { { "v2.grace.reason", 8, "Restart Reason", values = {
        [0] = "Unknown", "Software Restart", "Software Reload/Upgrade", "Processor Switchover",
    } } },
    [3] = { { "v2.grace.ip", "ipv4", "Restart IP" } },
})
local opaque = {
    { switch = "lsid_opaque_type", cases = {
        [1] = { tlvs("tlv_type", {
            [1] = { { "mpls.routerid", "ipv4", "MPLS/TE Router ID" } },
            [2] = { link_tlvs },
        }) },
        [3] = { grace },
        [4] = { router_information },
    } },
}

local lsa_header = {
    { "lsa.donotage", 1, "Do Not Age Flag" },
    { "lsa.age", 15, "LS Age (seconds)" },
    { switch = "$at8(1)", cases = { [7] = { v2_options("v2.options.p", "(P) Propagate") } }, default = { options } },
    { "lsa", 8, "LS Type", values = lsa_types, default = 1 },
    v2_marks,
    { "lsa.id", "ipv4", "Link State ID", when = "lsa < 9 || lsa > 11" },
    { when = "lsa >= 9 && lsa <= 11",
        { "lsid_opaque_type", 8, "Link State ID Opaque Type", values = {
            "Traffic Engineering LSA", [3] = "grace-LSA", [4] = "Router Information (RI)", [5] = "L1VPN LSA",
            [6] = "Inter-AS-TE-v2 LSA", [7] = "OSPFv2 Extended Prefix Opaque LSA",
            [8] = "OSPFv2 Extended Link Opaque LSA", [9] = "TTZ LSA",
        } },
        { "lsid_te_lsa.reserved", 8, "Link State ID TE-LSA Reserved", when = "lsid_opaque_type == 1" },
        { "lsid_te_lsa.instance", 16, "Link State ID TE-LSA Instance", when = "lsid_opaque_type == 1" },
        { "lsid.opaque_id", 24, "Link State ID Opaque ID", when = "lsid_opaque_type != 1" },
    },
    { "advrouter", "ipv4", "Advertising Router" },
    { "lsa.seqnum", 32, "Sequence Number", base = "hex", default = 0x80000001 },
    { "lsa.chksum", 16, "Checksum", base = "hex" },
    { "lsa.length", 16, "Length" },
}

local lsa_bodies = {
    [1] = {
        { "v2.router.lsa.flags", 8, "Flags", base = "hex", sub = {
            { "v2.router.lsa.flags.h", "bool", "(H) flag" },
            { "_unused", 2 },
            { "v2.router.lsa.flags.n", "bool", "(N) flag" },
            { "v2.router.lsa.flags.w", "bool", "(W) Wild-card multicast receiver" },
            { "v2.router.lsa.flags.v", "bool", "(V) Virtual link endpoint" },
            { "v2.router.lsa.flags.e", "bool", "(E) AS boundary router" },
            { "v2.router.lsa.flags.b", "bool", "(B) Area border router" },
        } },
        { "_reserved", 8 },
        { "lsa.number_of_links", 16, "Number of Links" },
        { loop = "lsa.number_of_links", list = "links",
            { "lsa.router.linkid", "ipv4", "Link ID" },
            { "lsa.router.linkdata", "ipv4", "Link Data" },
            { "lsa.router.linktype", 8, "Link Type", values = { "PTP", "Transit", "Stub", "Virtual" }, default = 3 },
            { "lsa.router.nummetrics", 8, "Number of Metrics" },
            { "lsa.router.metric0", 16, "0 Metric" },
            { loop = "lsa.router.nummetrics", list = "metrics",
                { "_tos", 8 }, { "_reserved", 8 }, { "ls.metric", 16, "Metric" },
            },
        },
    },
    [2] = {
        { "lsa.network.netmask", "ipv4", "Netmask" },
        { loop = true, list = "routers", { "lsa.network.attchrtr", "ipv4", "Attached Router" } },
    },
    [3] = summary, [4] = summary,
    [5] = external "routes", [7] = external "routes",
    [9] = opaque, [10] = opaque, [11] = opaque,
}

-- ---------------------------------------------------------------- LSAs of version 3

local v3_lsa_type = { "v3.lsa", 16, "LS Type", base = "hex", default = 0x2001, sub = {
    { "v3.lsa.u", "bool", "LSA Handling" },
    { "v3.lsa.s12", 2, "Flooding Scope", base = "hex", digits = 4, values = {
        [0] = "Link-Local Scoping", "Area Scoping", "AS Scoping", "Reserved",
    } },
    { "v3.lsa.fc", 13, "Function Code", values = v3_lsa_types },
} }
local v3_lsa_header = {
    { "v3.lsa.do_not_age", "bool", "Do Not Age" },
    { "lsa.age", 15, "LS Age (seconds)" },
    v3_lsa_type,
    v3_marks,
    { "link_state_id", "ipv4", "Link State ID" },
    { "advrouter", "ipv4", "Advertising Router" },
    { "lsa.seqnum", 32, "Sequence Number", base = "hex", default = 0x80000001 },
    { "lsa.chksum", 16, "Checksum", base = "hex" },
    { "lsa.length", 16, "Length" },
}
local prefix_length = { "prefix_length", 8, "PrefixLength" }
local prefix_options = { "v3.prefix.options", 8, "PrefixOptions", base = "hex", sub = {
    { "_unused", 4 },
    { "v3.prefix.options.p", "bool", "(P) Propagate" },
    { "v3.prefix.options.mc", "bool", "(MC) Multicast" },
    { "v3.prefix.options.la", "bool", "(LA) Local Address" },
    { "v3.prefix.options.nu", "bool", "(NU) NoUnicast" },
} }
-- RFC 5838: instances 64 to 127 are of IPv4.
local function of_family(name, title, size)
    return {
        { name .. ".ipv6", "ipv6", title, size = size, when = "instance_id < 64 || instance_id > 127" },
        { name .. ".ipv4", "ipv4", title, size = size, when = "instance_id >= 64 && instance_id <= 127" },
    }
end
local prefix = {
    { check = "prefix_length <= 128", "prefix length above 128" },
    of_family("v3.address_prefix", "Address Prefix", "(prefix_length + 31) / 32 * 4"),
}
local v3_external = {
    { "v3.as.external.flags", 8, "Flags", base = "hex", sub = {
        { "_unused", 5 },
        { "v3.as.external.flags.e", "bool", "(E) External Metric" },
        { "v3.as.external.flags.f", "bool", "(F) Forwarding Address" },
        { "v3.as.external.flags.t", "bool", "(T) External Route Tag" },
    } },
    { "metric", 24, "Metric" },
    prefix_length, prefix_options,
    { "v3.lsa.referenced_ls_type", 16, "Referenced LS type", base = "hex" },
    prefix,
    { when = "v3.as.external.flags.f",
        { "v3.lsa.forwarding_address.ipv6", "ipv6", "Forwarding Address",
            when = "instance_id < 64 || instance_id > 127" },
        { when = "instance_id >= 64 && instance_id <= 127",
            { "v3.lsa.forwarding_address.ipv4", "ipv4", "Forwarding Address" },
            { "_unused", "bytes", size = 12 },
        },
    },
    { "v3.lsa.external_route_tag", 32, "External Route Tag", when = "v3.as.external.flags.t" },
    { "v3.lsa.referenced_link_state_id", "ipv4", "Referenced Link State ID",
        when = "v3.lsa.referenced_ls_type != 0 && $rest >= 4" },
}
local v3_lsa_bodies = {
    [1] = {
        { "v3.router.lsa.flags", 8, "Flags", base = "hex", sub = {
            { "_unused", 4 },
            { "v3.router.lsa.flags.w", "bool", "(W) Wild-card multicast receiver" },
            { "v3.router.lsa.flags.v", "bool", "(V) Virtual link endpoint" },
            { "v3.router.lsa.flags.e", "bool", "(E) AS boundary router" },
            { "v3.router.lsa.flags.b", "bool", "(B) Area border router" },
        } },
        v3_options,
        { loop = true, list = "interfaces",
            { "v3.lsa.type", 8, "Type", values = {
                "Point-to-point connection to another router", "Connection to a transit network",
                "Connection to a stub network", "Virtual link",
            } },
            reserved(1),
            { "metric", 16, "Metric" },
            { "v3.lsa.interface_id", 32, "Interface ID" },
            { "v3.lsa.neighbor_interface_id", 32, "Neighbor Interface ID" },
            { "v3.lsa.neighbor_router_id", "ipv4", "Neighbor Router ID" },
        },
    },
    [2] = {
        reserved(1),
        v3_options,
        { loop = true, list = "routers", { "v3.lsa.attached_router", "ipv4", "Attached Router" } },
    },
    [3] = { reserved(1), { "metric", 24, "Metric" }, prefix_length, prefix_options, reserved(2), prefix },
    [4] = {
        reserved(1),
        v3_options,
        reserved(1),
        { "metric", 24, "Metric" },
        { "v3.lsa.destination_router_id", "ipv4", "Destination Router ID" },
    },
    [5] = v3_external, [7] = v3_external,
    [8] = {
        { "v3.lsa.router_priority", 8, "Router Priority" },
        v3_options,
        { "v3.lsa.link_local_interface_address.ipv6", "ipv6", "Link-local Interface Address",
            when = "instance_id < 64 || instance_id > 127" },
        { when = "instance_id >= 64 && instance_id <= 127",
            { "v3.lsa.link_local_interface_address.ipv4", "ipv4", "Link-local Interface Address" },
            { "_unused", "bytes", size = 12 },
        },
        { "v3.lsa.num_prefixes", 32, "# prefixes" },
        { loop = "v3.lsa.num_prefixes", list = "prefixes", prefix_length, prefix_options, reserved(2), prefix },
    },
    [9] = {
        { "v3.lsa.num_prefixes", 16, "# prefixes" },
        { "v3.lsa.referenced_ls_type", 16, "Referenced LS type", base = "hex" },
        { "v3.lsa.referenced_link_state_id", "ipv4", "Referenced Link State ID" },
        { "v3.lsa.referenced_advertising_router", "ipv4", "Referenced Advertising Router" },
        { loop = "v3.lsa.num_prefixes", list = "prefixes",
            prefix_length, prefix_options, { "metric", 16, "Metric" }, prefix },
    },
    [12] = { router_information },
}

-- ---------------------------------------------------------------- packets

local function neighbors()
    return {
        { "hello.designated_router", "ipv4", "Designated Router" },
        { "hello.backup_designated_router", "ipv4", "Backup Designated Router" },
        { loop = true, list = "neighbors", { "hello.active_neighbor", "ipv4", "Active Neighbor" } },
    }
end
local dbd = { "dbd", 8, "DB Description", base = "hex", sub = {
    { "_unused", 4 },
    { "dbd.r", "bool", "(R) OOBResync" },
    { "dbd.i", "bool", "(I) Init" },
    { "dbd.m", "bool", "(M) More" },
    { "dbd.ms", "bool", "(MS) Master" },
} }

-- A number of LSAs: each with its header in front of its body.
local function updates(header, kind, bodies)
    return {
        { "ls.number_of_lsas", 32, "Number of LSAs" },
        { loop = "ls.number_of_lsas", list = "lsas",
            header,
            { check = "lsa.length >= 20", "LSA shorter than its header" },
            { switch = kind, size = "lsa.length - 20", cases = bodies },
        },
    }
end

local v2 = {
    { "auth.type", 16, "Auth Type", values = { [0] = "Null", "Simple password", "Cryptographic" } },
    { switch = "auth.type", cases = {
        [0] = { { "auth.none", "bytes", "Auth Data (none)", size = 8 } },
        [1] = { { "auth.simple", "string", "Auth Data (Simple)", size = 8 } },
        [2] = {
            { "_reserved", 16 },
            { "auth.crypt.key_id", 8, "Auth Crypt Key id" },
            { "auth.crypt.data_length", 8, "Auth Crypt Data Length", default = 16 },
            { "auth.crypt.seq_nbr", 32, "Auth Crypt Sequence Number" },
        },
    }, default = { { "auth.unknown", "bytes", "Auth Unknown", size = 8 } } },
    { check = "packet_length >= 24", "packet length below 24" },
    { switch = "msg", size = "packet_length - 24", cases = {
        [1] = {
            { "hello.network_mask", "ipv4", "Network Mask" },
            { "hello.hello_interval", 16, "Hello Interval [sec]", default = 10 },
            options,
            { "_lls", value = "v2.options.l" },
            { "hello.router_priority", 8, "Router Priority", default = 1 },
            { "hello.router_dead_interval", 32, "Router Dead Interval [sec]", default = 40 },
            neighbors(),
        },
        [2] = {
            { "db.interface_mtu", 16, "Interface MTU", default = 1500 },
            options,
            { "_lls", value = "v2.options.l" },
            dbd,
            { "db.dd_sequence", 32, "DD Sequence" },
            { loop = true, list = "lsas", lsa_header },
        },
        [3] = {
            { loop = true, list = "requests",
                { "lsa", 32, "LS Type", values = lsa_types },
                { "link_state_id", "ipv4", "Link State ID" },
                { "advrouter", "ipv4", "Advertising Router" },
            },
        },
        [4] = updates(lsa_header, "lsa", lsa_bodies),
        [5] = { { loop = true, list = "lsas", lsa_header } },
    } },
    { "auth.crypt.data", "bytes", "Auth Crypt Data", size = "auth.crypt.data_length",
        when = "auth.type == 2 && $rest >= auth.crypt.data_length" },
}

local v3 = {
    { "instance_id", 8, "Instance ID" },
    reserved(1),
    { check = "packet_length >= 16", "packet length below 16" },
    { switch = "msg", size = "packet_length - 16", cases = {
        [1] = {
            { "hello.interface_id", 32, "Interface ID" },
            { "hello.router_priority", 8, "Router Priority", default = 1 },
            v3_options,
            { "_lls", value = "v3.options.l" },
            { "_trailer", value = "v3.options.at" },
            { "hello.hello_interval", 16, "Hello Interval [sec]", default = 10 },
            { "hello.router_dead_interval", 16, "Router Dead Interval [sec]", default = 40 },
            neighbors(),
        },
        [2] = {
            reserved(1),
            v3_options,
            { "_lls", value = "v3.options.l" },
            { "_trailer", value = "v3.options.at" },
            { "db.interface_mtu", 16, "Interface MTU", default = 1500 },
            reserved(1),
            dbd,
            { "db.dd_sequence", 32, "DD Sequence" },
            { loop = true, list = "lsas", v3_lsa_header },
        },
        [3] = {
            { loop = true, list = "requests",
                reserved(2),
                v3_lsa_type,
                { "link_state_id", "ipv4", "Link State ID" },
                { "advrouter", "ipv4", "Advertising Router" },
            },
        },
        [4] = updates(v3_lsa_header, "v3.lsa.fc", v3_lsa_bodies),
        [5] = { { loop = true, list = "lsas", v3_lsa_header } },
    } },
}

-- A block behind the packet, when a bit of the options says so. Its length is in words and counts its head.
local function extended_options(name)
    return { { name, 32, "Options", base = "hex", sub = {
        { "_unused", 30 },
        { name .. ".rs", "bool", "(RS) Restart Signal" },
        { name .. ".lr", "bool", "(LR) LSDB Resynchronization" },
    } } }
end
local lls = { when = "_lls && $rest >= 4",
    { "lls.checksum", 16, "Checksum", base = "hex" },
    { "lls.data_length", 16, "LLS Data Length", scale = 4 },
    { check = "lls.data_length >= 4", "LLS block shorter than its header" },
    { size = "lls.data_length - 4",
        { when = "version == 2",
            tlvs("tlv_type", {
                [1] = extended_options "lls.ext.options",
                [2] = {
                    { "v2.lls.sequence_number", 32, "Sequence number", base = "hex" },
                    { "v2.lls.auth_data", "bytes", "Auth Data" },
                },
            }),
        },
        { when = "version == 3", tlvs("tlv_type", { [1] = extended_options "v3.lls.ext.options" }) },
    },
}

return {
    name = "ospf", title = "Open Shortest Path First",
    on = { ["ip.proto"] = 89 },
    -- Authentication data is left out of version 2's checksum; of version 3's there is none in the header.
    checksum = {
        field = "checksum", pseudo = "version == 3", protocol = 89, length = "packet_length", to = "packet_length",
        skip_from = 16, skip_to = "version == 2 ? 24 : 16", when = "version == 3 || version == 2 && $u16(14) != 2",
    },
    line = "OSPFv{version}, {msg}, length {packet_length}",
    { "version", 8, "Version", default = 2 },
    { "msg", 8, "Message Type", values = {
        "Hello Packet", "DB Description", "LS Request", "LS Update", "LS Acknowledge",
    }, default = 1 },
    marks("msg", {
        { "msg.hello", "Hello" }, { "msg.dbdesc", "Database Description" }, { "msg.lsreq", "Link State Adv Request" },
        { "msg.lsupdate", "Link State Adv Update" }, { "msg.lsack", "Link State Adv Acknowledgement" },
    }),
    { "packet_length", 16, "Packet Length" },
    { "srcrouter", "ipv4", "Source OSPF Router" },
    { "area_id", "ipv4", "Area ID" },
    { "checksum", 16, "Checksum", base = "hex" },
    { "checksum.status", value = "$checksum" },
    { check = "version == 2 || version == 3", "version is neither 2 nor 3" },
    { when = "version == 2", v2 },
    { when = "version == 3", v3 },
    lls,
    { when = "_trailer && $rest >= 16",
        { "at.auth_type", 16, "Authentication Type", values = { "HMAC Cryptographic Authentication" } },
        { "at.auth_data_len", 16, "Authentication Data Length" },
        { "at.reserved", 16, "Reserved", base = "hex" },
        { "at.sa_id", 16, "Security Association Identifier (SA ID)", base = "hex" },
        { "at.crypto_seq_nbr", 64, "Cryptographic Sequence Number" },
        { "at.auth_data", "bytes", "Authentication Data", size = "at.auth_data_len - 16" },
    },
}
