--- LLDP, IEEE 802.1AB, with the organizations' TLVs: IEEE 802.1 (annex D, data center bridging), IEEE 802.3 (clause
-- 79), LLDP-MED (ANSI/TIA-1057), Converged Enhanced Ethernet (DCBX 1.01) and manufacturer usage descriptions
-- (RFC 8520).

local function flag(name, title)
    return { name, "bool", title }
end

-- bits from the highest to the lowest: names as they are, false for a bit that says nothing
local function flags(prefix, list)
    local items = {}
    for _, f in ipairs(list) do
        items[#items + 1] = f and flag(prefix .. f[1], f[2]) or { "_", 1 }
    end
    return table.unpack(items)
end

local tlv_types = {
    [0] = "End of LLDPDU", "Chassis Id", "Port Id", "Time to Live", "Port Description", "System Name",
    "System Description", "System Capabilities", "Management Address", [127] = "Organization Specific",
}
local families = { [1] = "IPv4", [2] = "IPv6", [3] = "NSAP", [6] = "802", [7] = "E.163", [8] = "E.164", [16] = "DNS" }

local function capabilities(name, title)
    local prefix = name .. "."
    return { name, 16, title, base = "hex", sub = {
        { "_", 8 },
        flags(prefix, { { "station_only", "Station only" }, { "docsis_cable_device", "DOCSIS cable device" },
            { "telephone", "Telephone" }, { "router", "Router" }, { "wlan_access_pt", "WLAN access point" }, { "bridge",
                "Bridge" },
            { "repeater", "Repeater" }, { "other", "Other" } }),
    } }
end

-- an identifier: a MAC address, a network address, or what the subtype makes of it
local function identifier(prefix, title, mac, network, kind, names)
    return {
        { prefix .. ".subtype", 8, title .. " Id Subtype", values = names },
        { "_mac", value = ("%s.subtype == %d && $rest == 6"):format(prefix, mac) },
        { "_network", value = ("%s.subtype == %d"):format(prefix, network) },
        { prefix .. ".id.mac", "ether", title .. " Id", when = "_mac" },
        { when = "_network",
            { "network_address.subtype", 8, "Network Address family", values = families },
            { prefix .. ".id.ip4", "ipv4", title .. " Id", when = "network_address.subtype == 1" },
            { prefix .. ".id.ip6", "ipv6", title .. " Id", when = "network_address.subtype == 2" },
        },
        { prefix .. ".id", kind, title .. " Id", when = "!_mac && $rest > 0" },
    }
end

local function text(name, title)
    return { { name, "string", title, when = "$rest > 0" } }
end

-- ---------------------------------------------------------------- IEEE 802.1

local function priorities(prefix, title)
    local items = {}
    for i = 7, 0, -1 do
        items[#items + 1] = flag(prefix .. i, title:format(i))
    end
    return table.unpack(items)
end

local function groups()
    local items = {}
    for i = 0, 7 do
        items[#items + 1] = { "dcbx.feature.pg.pgid_prio" .. i, 4, "PGID for Prio " .. i }
    end
    for i = 0, 7 do
        items[#items + 1] = { "dcbx.feature.pg.per" .. i, 8, "Bandwidth for PGID " .. i }
    end
    return items
end

local algorithms = { [0] = "Strict Priority", [1] = "Credit-Based Shaper", [2] = "Enhanced Transmission Selection",
    [255] = "Vendor Specific" }

local function ets(...)
    local items = { ... }
    for _, item in ipairs(groups()) do
        items[#items + 1] = item
    end
    for i = 0, 7 do
        items[#items + 1] = { "dcbx.ieee.ets.tsa" .. i, 8, "TSA for Traffic Class " .. i, values = algorithms }
    end
    return items
end

local ieee_1 = {
    [0x01] = { { "ieee.802_1.port_vlan.id", 16, "Port VLAN Identifier" } },
    [0x02] = {
        { "ieee.802_1.port_and_vlan_id_flag", 8, "Flags", base = "hex", sub = {
            { "_", 5 },
            flag("ieee.802_1.port_and_vlan_id_flag.enabled", "Port and Protocol VLAN enabled"),
            flag("ieee.802_1.port_and_vlan_id_flag.supported", "Port and Protocol VLAN supported"),
        } },
        { "ieee.802_1.port_proto_vlan.id", 16, "Port and Protocol VLAN Identifier" },
    },
    [0x03] = {
        { "ieee.802_1.vlan.id", 16, "VLAN Identifier" },
        { "ieee.802_1.vlan.name_len", 8, "VLAN Name Length" },
        { "ieee.802_1.vlan.name", "string", "VLAN Name", size = "ieee.802_1.vlan.name_len",
            when = "ieee.802_1.vlan.name_len > 0" },
    },
    [0x04] = {
        { "ieee.802_1.proto.id_length", 8, "Protocol Identity Length" },
        { "ieee.802_1.proto.id", "bytes", "Protocol Identity", size = "ieee.802_1.proto.id_length",
            when = "ieee.802_1.proto.id_length > 0" },
    },
    [0x07] = {
        { "ieee.802_1.aggregation_status", 8, "Aggregation Status", base = "hex", sub = {
            { "_", 4 },
            { "ieee.802_1.aggregation_status.porttype", 2, "Port type", values = { [0] = "No aggregation port type",
                "From aggregation port", "From aggregator", "From aggregator with a single aggregation port" } },
            flag("ieee.802_1.aggregation_status.enabled", "Aggregation Status"),
            flag("ieee.802_1.aggregation_status.cap", "Aggregation Capability"),
        } },
        { "ieee.802_1.aggregated_port_id", 32, "Aggregated Port Id" },
    },
    [0x08] = {
        { size = 1, priorities("ieee.802_1qau.cnpv.prio", "Priority %d CNPV Capability") },
        { size = 1, priorities("ieee.802_1qau.ready.prio", "Priority %d Ready Indicator") },
    },
    [0x09] = ets(
        flag("dcbx.ieee.willing", "Willing"),
        flag("dcbx.ieee.ets.cbs", "Credit-Based Shaper"),
        { "_", 3 },
        { "dcbx.ieee.ets.maxtcs", 3, "Maximum Number of Traffic Classes" }),
    [0x0a] = ets(
        { "dcbx.feature.pg.reserved", 7, "Reserved", base = "hex" },
        { "_", 1 }),
    [0x0b] = {
        flag("dcbx.ieee.willing", "Willing"),
        flag("dcbx.ieee.pfc.mbc", "MACsec Bypass Capability"),
        { "_", 2 },
        { "dcbx.ieee.pfc.numtcs", 4, "Max PFC Enabled Traffic Classes" },
        { size = 1, priorities("dcbx.feature.pfc.prio", "PFC for Priority %d") },
    },
    [0x0c] = {
        { "dcbx.ieee.app.reserved", 8, "Reserved", base = "hex" },
        { loop = true, list = "applications",
            { "dcbx.ieee.app.prio", 3, "Application Priority" },
            { "_", 2 },
            { "dcbx.iee.app.sf", 3, "Application Selector", values = { "Default or Ethertype", "Port over TCP/SCTP",
                "Port over UDP/DCCP", "TCP/SCTP/UDP/DCCP" } },
            { "dcbx.feature.app.proto", 16, "Application Protocol Id", base = "hex" },
        },
    },
}

-- ---------------------------------------------------------------- IEEE 802.3

local negotiation = {
    { "other", "Other or unknown" }, { "10base_t", "10BASE-T half duplex" }, { "10base_tfd", "10BASE-T full duplex" },
    { "100base_t4", "100BASE-T4" }, { "100base_tx", "100BASE-TX half duplex" }, { "100base_txfd",
        "100BASE-TX full duplex" },
    { "100base_t2", "100BASE-T2 half duplex" }, { "100base_t2fd", "100BASE-T2 full duplex" }, { "fdx_pause", "PAUSE" },
    { "fdx_apause", "Asymmetric PAUSE" }, { "fdx_spause", "Symmetric PAUSE" }, { "fdx_bpause",
        "Asymmetric and Symmetric PAUSE" },
    { "1000base_x", "1000BASE-X half duplex" }, { "1000base_xfd", "1000BASE-X full duplex" },
    { "1000base_t", "1000BASE-T half duplex" }, { "1000base_tfd", "1000BASE-T full duplex" },
}
local inverse = {}
for i, f in ipairs(negotiation) do
    inverse[17 - i] = f
end
local advertised = "ieee.802_3.pmd_auto_neg_advertised_caps"

local aggregation = {
    { "ieee.802_3.aggregation_status", 8, "Aggregation Status", base = "hex", sub = {
        { "_", 6 },
        flag("ieee.802_3.aggregation_status.enabled", "Aggregation Status"),
        flag("ieee.802_3.aggregation_status.cap", "Aggregation Capability"),
    } },
    { "ieee.802_3.aggregated_port_id", 32, "Aggregated Port Id" },
}

local function number(name, title)
    return { "ieee.802_3." .. name, 16, title }
end

local ieee_3 = {
    [0x01] = {
        { "ieee.802_3.mac_phy_auto_neg_status", 8, "Auto-Negotiation Support/Status", base = "hex", sub = {
            { "_", 6 },
            flag("ieee.802_3.mac_phy_auto_neg_status.enabled", "Auto-Negotiation enabled"),
            flag("ieee.802_3.mac_phy_auto_neg_status.supported", "Auto-Negotiation supported"),
        } },
        -- some senders have the bits the wrong way round
        { advertised, 16, "PMD Auto-Negotiation Advertised Capability", base = "hex",
            sub = { flags(advertised .. ".", negotiation) }, overlay = true },
        { size = 2, flags(advertised .. "_inv.", inverse) },
        { "ieee.802_3.pmd_mau_type", 16, "Operational MAU Type", base = "hex" },
    },
    [0x02] = {
        { "ieee.802_3.mdi_power_support", 8, "MDI Power Support", base = "hex", sub = {
            { "_", 4 },
            flag("ieee.802_3.mdi_power_support.pse_pairs", "PSE Pairs Control Ability"),
            flag("ieee.802_3.mdi_power_support.enabled", "PSE MDI Power enabled"),
            flag("ieee.802_3.mdi_power_support.supported", "PSE MDI Power supported"),
            flag("ieee.802_3.mdi_power_support.port_class", "Port Class"),
        } },
        { "ieee.802_3.mdi_pse_pair", 8, "PSE Power Pair", values = { "Signal", "Spare" } },
        { "ieee.802_3.mdi_power_class", 8, "Power Class", values = { "0", "1", "2", "3", "4" } },
        { when = "$rest >= 5",
            { "ieee.802_3.mdi_power_type", 2, "Power Type",
                values = { [0] = "Type 2 PSE Device", "Type 2 PD Device", "Type 1 PSE Device", "Type 1 PD Device" } },
            { "ieee.802_3.mdi_power_source", 2, "Power Source" },
            { "ieee.802_3.mdi_power_priority", 4, "Power Priority", values = { [0] = "Unknown", "Critical", "High",
                "Low" } },
            { "ieee.802_3.mdi_pde_requested", 16, "PD Requested Power Value" },
            { "ieee.802_3.mdi_pse_allocated", 16, "PSE Allocated Power Value" },
        },
        { when = "$rest >= 17",
            number("bt_ds_pd_requested_power_value_mode_a", "DS PD Requested Power Value Mode A"),
            number("bt_ds_pd_requested_power_value_mode_b", "DS PD Requested Power Value Mode B"),
            number("bt_ds_pse_allocated_power_value_alt_a", "DS PSE Allocated Power Value Alt A"),
            number("bt_ds_pse_allocated_power_value_alt_b", "DS PSE Allocated Power Value Alt B"),
            { "ieee.802_3.bt_power_status", 16, "Power Status", base = "hex", sub = {
                { "ieee.802_3.bt_pse_powering_status", 2, "PSE Powering Status" },
                { "ieee.802_3.bt_pd_powered_status", 2, "PD Powered Status" },
                { "ieee.802_3.bt_pse_power_pairs_ext", 2, "PSE Power Pairs ext" },
                { "ieee.802_3.bt_ds_pwr_class_ext_a", 3, "DS Pwr Class Ext A" },
                { "ieee.802_3.bt_ds_pwr_class_ext_b", 3, "DS Pwr Class Ext B" },
                { "ieee.802_3.bt_pwr_class_ext_", 4, "Pwr Class Ext" },
            } },
            { "ieee.802_3.bt_system_setup", 8, "System Setup", base = "hex", sub = {
                { "_", 4 },
                { "ieee.802_3.bt_power_type_ext", 3, "Power Type Ext" },
            } },
            number("bt_pse_maximum_available_power_value", "PSE Maximum Available Power Value"),
            { "ieee.802_3.bt_autoclass", 8, "Autoclass", base = "hex", sub = {
                { "ieee.802_3.bt_autoclass_reserved", 5, "Autoclass Reserved", base = "hex" },
                { "ieee.802_3.bt_pse_autoclass_support", 1, "PSE Autoclass support" },
                { "ieee.802_3.bt_autoclass_completed", 1, "Autoclass Completed" },
                { "ieee.802_3.bt_autoclass_request", 1, "Autoclass Request" },
            } },
            { "ieee.802_3.bt_power_down", 24, "Power down", base = "hex", sub = {
                { "ieee.802_3.bt_power_down_request", 6, "Power down request" },
                { "ieee.802_3.bt_power_down_time", 18, "Power down time" },
            } },
        },
    },
    [0x03] = aggregation,
    [0x04] = { number("max_frame_size", "Maximum Frame Size") },
    [0x05] = {
        number("eee.transmit", "Transmit"), number("eee.receive", "Receive"), number("eee.fallback_receive",
            "Fallback Receive"),
        number("eee.echo_transmit", "Echo Transmit"), number("eee.echo_receive", "Echo Receive"),
    },
    [0x07] = { { "ieee.802_3br.eac", 16, "Additional Ethernet Capabilities", base = "hex", sub = {
        { "ieee.802_3br.aec.reserved", 11, "Reserved", base = "hex", digits = 4 },
        { "ieee.802_3br.aec.addfragsize", 2, "Additional Fragment Size" },
        flag("ieee.802_3br.aec.active", "Preemption capabilities active"),
        flag("ieee.802_3br.aec.enable", "Preemption capabilities enable"),
        flag("ieee.802_3br.aec.support", "Preemption capabilities support"),
    } } },
}

-- ---------------------------------------------------------------- LLDP-MED

local med = {
    [1] = {
        { "media.subtype.caps", 16, "Capabilities", base = "hex", sub = {
            { "_", 10 },
            flags("media.subtype.caps.", { { "inventory", "Inventory" }, { "mid_pd", "Extended Power via MDI-PD" },
                { "mdi_pse", "Extended Power via MDI-PSE" }, { "location_id", "Location Identification" },
                { "network_policy", "Network Policy" }, { "llpd", "LLDP-MED Capabilities" } }),
        } },
        { "media.subtype.class", 8, "Class Type", values = { [0] = "Type Not Defined", "Endpoint Class I",
            "Endpoint Class II",
            "Endpoint Class III", "Network Connectivity" } },
    },
    [2] = {
        { "media.app_type", 8, "Application Type", values = { [0] = "Reserved", "Voice", "Voice Signaling",
            "Guest Voice",
            "Guest Voice Signaling", "Softphone Voice", "Video Conferencing", "Streaming Video", "Video Signaling" } },
        flag("media.policy_flag", "Policy"),
        flag("media.tag_flag", "Tagged"),
        { "_", 1 },
        { "media.vlan_id", 12, "VLAN Id" },
        { "media.l2_prio", 3, "L2 Priority" },
        { "media.dscp", 6, "DSCP Priority" },
    },
    [3] = {
        { "media.loc.data_format", 8, "Location Data Format", values = { [0] = "Invalid", "Coordinate-based LCI",
            "Civic Address LCI", "ECS ELIN" } },
        { switch = "media.loc.data_format", cases = {
            [1] = { -- RFC 6225 2.2
                { "media.loc.lat_resolution", 6, "Latitude Resolution" },
                { "media.loc.latitude", 34, "Latitude" },
                { "media.loc.long_resolution", 6, "Longitude Resolution" },
                { "media.loc.longitude", 34, "Longitude" },
                { "media.loc.alt_type", 4, "Altitude Type", values = { [0] = "Unknown", "Meters", "Floors" } },
                { "media.loc.alt_resolution", 6, "Altitude Resolution" },
                { "media.loc.altitude", 30, "Altitude" },
                { "media.loc.datum", 8, "Datum" },
            },
            [2] = { -- RFC 4776 3.1
                { "media.civic.length", 8, "LCI Length" },
                { "media.civic.what", 8, "What",
                    values = { [0] = "Location of the DHCP server", "Location of the network element",
                        "Location of the client" } },
                { "media.civic.country", "string", "Country", size = 2 },
                { loop = true, list = "elements",
                    { "media.civic.type", 8, "CA Type" },
                    { "media.civic.length", 8, "CA Length" },
                    { "media.civic.value", "string", "CA Value", size = "media.civic.length",
                        when = "media.civic.length > 0" },
                },
            },
            [3] = text("media.ecs", "ELIN"),
        } },
    },
    [4] = {
        { "media.power.type", 2, "Power Type", values = { [0] = "PSE Device", "PD Device", "Reserved", "Reserved" } },
        { "media.power.source", 2, "Power Source" },
        { "media.power.prio", 4, "Power Priority", values = { [0] = "Unknown", "Critical", "High", "Low" } },
        { "media.power.value", 16, "Power Value" },
    },
    [5] = text("media.hardware", "Hardware Revision"),
    [6] = text("media.firmware", "Firmware Revision"),
    [7] = text("media.software", "Software Revision"),
    [8] = text("media.sn", "Serial Number"),
    [9] = text("media.manufacturer", "Manufacturer Name"),
    [10] = text("media.model", "Model Name"),
    [11] = text("media.asset", "Asset ID"),
}

-- ---------------------------------------------------------------- Converged Enhanced Ethernet

local feature = {
    { "dcbx.version", 8, "Operating Version", base = "hex" },
    { "dcbx.max_version", 8, "Max Version", base = "hex" },
    flag("dcbx.feature.enabled", "Feature"),
    flag("dcbx.feature.willing", "Willing"),
    flag("dcbx.feature.error", "Error"),
    { "_", 5 },
    { "dcbx.feature.subtype", 8, "Subtype", base = "hex" },
}

local function with_feature(items)
    local list = { table.unpack(feature) }
    for _, item in ipairs(items) do
        list[#list + 1] = item
    end
    return list
end

local cee_groups = groups()
cee_groups[#cee_groups + 1] = { "dcbx.feature.pg.numtcs", 8, "Number of Traffic Classes Supported", base = "hex" }

-- the priority is the number of the highest bit that is set
local highest = "$at8(0) >= 128 ? 7 : $at8(0) >= 64 ? 6 : $at8(0) >= 32 ? 5 : $at8(0) >= 16 ? 4 : $at8(0) >= 8 ? 3 : "
    .. "$at8(0) >= 4 ? 2 : $at8(0) >= 2 ? 1 : 0"

local cee = {
    [1] = {
        { "dcbx.version", 8, "Operating Version", base = "hex" },
        { "dcbx.max_version", 8, "Max Version", base = "hex" },
        { "dcbx.control.seq", 32, "Sequence No" },
        { "dcbx.control.ack", 32, "Ack No" },
    },
    [2] = with_feature(cee_groups),
    [3] = with_feature {
        { size = 1, priorities("dcbx.feature.pfc.prio", "PFC for Priority %d") },
        { "dcbx.feature.pfc.numtcs", 8, "Number of Traffic Classes Supported", base = "hex" },
    },
    [4] = with_feature {
        { loop = true, list = "applications",
            { "dcbx.feature.app.proto", 16, "Application Protocol Id", base = "hex" },
            { "dcbx.feature.app.oui", 24, "Application OUI", base = "hex", digits = 6, overlay = true,
                value = "($at8(0) & 0xfc) << 16 | $at16(1)" },
            { "_", 6 },
            { "dcbx.feature.app.sf", 2, "Selector Field", values = { [0] = "EtherType", "Socket Number" } },
            { "_", 16 },
            { "dcbx.feature.app.prio", nil, "Application Priority", value = highest },
            { "_", 8 },
        },
    },
    [6] = with_feature {
        { "dcbx.feature.llink.type", 1, "Logical Link Down Type", base = "hex" },
    },
}

-- ---------------------------------------------------------------- the TLVs

local function organization(name, names, cases)
    return {
        { name, 8, "Subtype", base = "hex", values = names },
        { switch = name, cases = cases },
    }
end

local organizations = {
    [0x0080c2] = organization("ieee.802_1.subtype", { "Port VLAN ID", "Port and Protocol VLAN ID", "VLAN Name",
    "Protocol Identity",
        "VID Usage Digest", "Management VID", "Link Aggregation", "Congestion Notification", "ETS Configuration",
        "ETS Recommendation", "Priority Flow Control Configuration", "Application Protocol", "EVB", "CDCP" }, ieee_1),
    [0x00120f] = organization("ieee.802_3.subtype", { "MAC/PHY Configuration/Status", "Power Via MDI",
    "Link Aggregation",
        "Maximum Frame Size", "Energy-Efficient Ethernet", [7] = "Additional Ethernet capabilities" }, ieee_3),
    [0x0012bb] = organization("media.subtype", { "Media Capabilities", "Network Policy", "Location Identification",
        "Extended Power-via-MDI", "Inventory - Hardware Revision", "Inventory - Firmware Revision",
        "Inventory - Software Revision", "Inventory - Serial Number", "Inventory - Manufacturer Name",
        "Inventory - Model Name", "Inventory - Asset ID" }, med),
    [0x00005e] = {
        { "iana.subtype", 8, "IANA Subtype", base = "hex", values = { "Manufacturer Usage Description URL" } },
        { "iana.mudurl", "string", "Manufacturer Usage Description URL", when = "iana.subtype == 1 && $rest > 0" },
        { "unknown_subtype.content", "bytes", "Unknown Subtype Content", when = "iana.subtype != 1 && $rest > 0" },
    },
    [0x001b21] = {
        { "dcbx.proto", 8, "DCBx Protocol", base = "hex", values = { "1.0 CIN", "1.01 CEE" } },
        { loop = true, list = "features",
            { "dcbx.type", 7, "DCBx TLV Type", values = { "DCBx Control", "Priority Groups",
                "Priority-Based Flow Control",
                "Application Protocol", [6] = "Logical Link Down" } },
            { "dcbx.len", 9, "DCBx TLV Length" },
            { switch = "dcbx.type", size = "dcbx.len", cases = cee },
        },
    },
}

return {
    name = "lldp", title = "Link Layer Discovery Protocol",
    on = { ethertype = 0x88cc },
    total = "$header",
    next = { { stop = true } },
    line = "LLDP, length {=$len}",
    { loop = true, list = "tlvs", stop = "tlv.type == 0",
        { "tlv.type", 7, "TLV Type", values = tlv_types },
        { "tlv.len", 9, "TLV Length" },
        { switch = "tlv.type", size = "tlv.len", cases = {
            [1] = identifier("chassis", "Chassis", 4, 5, "bytes", { [0] = "Reserved", "Chassis component",
            "Interface alias",
                "Port component", "MAC address", "Network address", "Interface name", "Locally assigned" }),
            [2] = identifier("port", "Port", 3, 4, "string", { [0] = "Reserved", "Interface alias", "Port component",
            "MAC address",
                "Network address", "Interface name", "Agent circuit Id", "Locally assigned" }),
            [3] = { { "time_to_live", 16, "Seconds", default = 120 } },
            [4] = text("port.desc", "Port Description"),
            [5] = text("tlv.system.name", "System Name"),
            [6] = text("tlv.system.desc", "System Description"),
            [7] = {
                capabilities("tlv.system_cap", "Capabilities"),
                capabilities("tlv.enable_system_cap", "Enabled Capabilities"),
            },
            [8] = {
                { "mgn.address.len", 8, "Address String Length" },
                { size = "mgn.address.len",
                    { "mgn.address.subtype", 8, "Address Subtype", values = families },
                    { "mgn.addr.ip4", "ipv4", "Management Address", when = "mgn.address.subtype == 1" },
                    { "mgn.addr.ip6", "ipv6", "Management Address", when = "mgn.address.subtype == 2" },
                    { "mgn.addr.hex", "bytes", "Management Address", when = "mgn.address.subtype > 2 && $rest > 0" },
                },
                { "mgn.interface.subtype", 8, "Interface Subtype",
                    values = { "Unknown", "ifIndex", "System port number" } },
                { "mgn.interface.number", 32, "Interface Number" },
                { "mgn.obj.len", 8, "OID String Length" },
                { "mgn.obj.id", "oid", "Object Identifier", size = "mgn.obj.len", when = "mgn.obj.len > 0" },
            },
            [127] = {
                { "orgtlv.oui", 24, "Organization Unique Code" },
                { switch = "orgtlv.oui", cases = organizations, default = {
                    { "unknown_subtype", 8, "Unknown Subtype" },
                    { "unknown_subtype.content", "bytes", "Unknown Subtype Content", when = "$rest > 0" },
                } },
            },
        } },
    },
}
