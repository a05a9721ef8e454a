--- The common elements of IEEE 802.11 management frames (IEEE 802.11-2020 9.4.2): no protocol, but a part of
-- ieee80211.lua.

local le = require "ringtap.protocol.bits"

local element_names = {
    [0] = "SSID", "Supported Rates", "FH Parameters", "DSSS Parameters", "CF Parameters", "TIM", "IBSS Parameters",
    "Country",
    [10] = "Request", [11] = "BSS Load", [12] = "EDCA Parameters", [13] = "TSPEC", [14] = "TCLAS", [15] = "Schedule",
    [16] = "Challenge Text", [32] = "Power Constraint", [33] = "Power Capability", [34] = "TPC Request",
    [35] = "TPC Report",
    [36] = "Supported Channels", [37] = "Channel Switch Announcement", [38] = "Measurement Request",
    [39] = "Measurement Report", [40] = "Quiet", [41] = "IBSS DFS", [42] = "ERP", [43] = "TS Delay",
    [44] = "TCLAS Processing", [45] = "HT Capabilities", [46] = "QoS Capability", [48] = "RSN",
    [50] = "Extended Supported Rates", [51] = "AP Channel Report", [52] = "Neighbor Report", [53] = "RCPI",
    [54] = "Mobility Domain", [55] = "Fast BSS Transition", [56] = "Timeout Interval", [57] = "RIC Data",
    [58] = "DSE Registered Location", [59] = "Supported Operating Classes",
    [60] = "Extended Channel Switch Announcement",
    [61] = "HT Operation", [62] = "Secondary Channel Offset", [63] = "BSS Average Access Delay", [64] = "Antenna",
    [65] = "RSNI", [66] = "Measurement Pilot Transmission", [67] = "BSS Available Admission Capacity",
    [69] = "Time Advertisement", [70] = "RM Enabled Capabilities", [71] = "Multiple BSSID",
    [72] = "20/40 BSS Coexistence", [73] = "20/40 BSS Intolerant Channel Report",
    [74] = "Overlapping BSS Scan Parameters",
    [76] = "Management MIC", [90] = "BSS Max Idle Period", [107] = "Interworking", [108] = "Advertisement Protocol",
    [111] = "Roaming Consortium", [113] = "Mesh Configuration", [114] = "Mesh ID", [127] = "Extended Capabilities",
    [191] = "VHT Capabilities", [192] = "VHT Operation", [193] = "Extended BSS Load",
    [194] = "Wide Bandwidth Channel Switch",
    [195] = "Transmit Power Envelope", [199] = "Operating Mode Notification", [201] = "Reduced Neighbor Report",
    [221] = "Vendor Specific", [244] = "RSN Extension", [255] = "Element ID Extension",
}
local ciphers = {
    [0] = "group cipher", "WEP-40", "TKIP", [4] = "CCMP-128", [5] = "WEP-104", [6] = "BIP-CMAC-128",
    [7] = "group traffic not allowed", [8] = "GCMP-128", [9] = "GCMP-256", [10] = "CCMP-256", [11] = "BIP-GMAC-128",
    [12] = "BIP-GMAC-256", [13] = "BIP-CMAC-256",
}
local key_management = {
    "802.1X", "PSK", "FT 802.1X", "FT PSK", "802.1X SHA-256", "PSK SHA-256", "TDLS", "SAE", "FT SAE", "AP Peer Key",
    "802.1X Suite B", "802.1X Suite B SHA-384", "FT 802.1X SHA-384", "FILS SHA-256", "FILS SHA-384", "FT FILS SHA-256",
    "FT FILS SHA-384", "OWE",
}

local function suite(name, title, values, type_name)
    return { name, 32, title, sub = {
        { name .. ".oui", 24, title .. " OUI" },
        { type_name or name .. ".type", 8, title .. " type", values = values },
    } }
end

local function suites(name, title, values, type_name)
    return {
        { name .. ".count", 16, title .. " count", le = true },
        { name .. ".list", value = 1 },
        { loop = name .. ".count", list = name:match "%a+$", suite(name, title, values, type_name) },
    }
end

local function mcs_map(name, title)
    return le(name, 16, title, name .. ".", "ss1:2 ss2:2 ss3:2 ss4:2 ss5:2 ss6:2 ss7:2 ss8:2")
end

local rsn = { -- 9.4.2.24: all behind the version may be left out
    { "rsn.version", 16, "RSN Version", le = true, default = 1 },
    { when = "$rest > 0", suite("rsn.gcs", "Group Cipher Suite", ciphers) },
    { when = "$rest > 0", suites("rsn.pcs", "Pairwise Cipher Suite", ciphers) },
    { when = "$rest > 0", suites("rsn.akms", "AKM Suite", key_management) },
    { when = "$rest > 0", le("rsn.capabilities", 16, "RSN Capabilities", "rsn.capabilities.", "preauth no_pairwise "
        .. "ptksa_replay_counter:2 gtksa_replay_counter:2 mfpr mfpc jmr peerkey - - - extended_key_id_iaf") },
    { when = "$rest > 0",
        { "rsn.pmkid.count", 16, "PMKID Count", le = true },
        { "rsn.pmkid.list", value = 1 },
        { loop = "rsn.pmkid.count", list = "pmkids", { "pmkid.akms", "bytes", "PMKID", size = 16 } },
    },
    { when = "$rest > 0", suite("rsn.gmcs", "Group Management Cipher Suite", ciphers) },
}

local mcs_set = {
    { "ht.mcsset", value = 1 },
    { "ht.mcsset.rxbitmask", value = 1 },
    le("_mcs_low", 32, "Rx MCS 0 to 31", "ht.mcsset.rxbitmask.", "0to7:8 8to15:8 16to23:8 24to31:8"),
    le("_mcs_high", 48, "Rx MCS 32 to 76", "ht.mcsset.rxbitmask.", "32:1 33to38:6 39to52:14 53to76:24"),
    le("_highest", 16, "Highest data rate", "ht.mcsset.", "highestdatarate:10"),
    le("_tx", 32, "Tx MCS set", "ht.mcsset.", "txsetdefined txrxmcsnotequal txmaxss:2 txunequalmod"),
}
-- Wireshark shows these with the digits of other widths.
for _, item in ipairs { mcs_set[4], mcs_set[6] } do
    for _, part in ipairs(item.sub) do
        part.digits = part.digits and (item == mcs_set[4] and 8 or 4)
    end
end

local ht_capabilities = {
    le("ht.capabilities", 16, "HT Capabilities Info", "ht.capabilities.", "ldpccoding width sm:2 green short20 short40 "
        .. "txstbc rxstbc:2 delayedblockack amsdu dsscck psmp 40mhzintolerant lsig"),
    le("ht.ampduparam", 8, "A-MPDU Parameters", "ht.ampduparam.", "maxlength:2 mpdudensity:3 reserved:3"),
    mcs_set,
    le("htex.capabilities", 16, "HT Extended Capabilities", "htex.capabilities.",
        "pco transtime:2 - - - - - mcs:2 htc rdresponder"),
    le("txbf", 32, "Transmit Beamforming Capabilities", "txbf.",
        "txbf rxss txss rxndp txndp impltxbf calibration:2 csi "
        .. "fm.uncompressed.tbf fm.compressed.tbf rcsi:2 fm.uncompressed.rbf:2 fm.compressed.bf:2 mingroup:2 "
        .. "csinumant:2 fm.uncompressed.maxant:2 fm.compressed.maxant:2 csi.maxrows:2 channelest:2 reserved:3"),
    le("asel", 8, "Antenna Selection Capabilities", "asel.", "capable txcsi txif csi if rx sppdu reserved:1"),
}

local ht_operation = {
    { "ht.info.primarychannel", 8, "Primary Channel" },
    le("ht.info.delim1", 8, "Information (1 of 3)", "ht.info.", "secchanoffset:2 chanwidth rifs reserved_b4_b7:4"),
    le("ht.info.delim2", 16, "Information (2 of 3)", "ht.info.",
        "ht_protection:2 greenfield reserved_b11:1 obssnonht chan_center_freq_seg_2:8d reserved_b21_b23:3"),
    le("ht.info.delim3", 16, "Information (3 of 3)", "ht.info.",
        "reserved_b24_b29:6 dualbeacon dualcts secondarybeacon "
        .. "lsigprotsupport pco.active pco.phase reserved_b36_b39:4"),
    mcs_set,
}

local vht_capabilities = {
    le("vht.capabilities", 32, "VHT Capabilities Info", "vht.capabilities.", "maxmpdulength:2 supportedchanwidthset:2 "
        .. "rxldpc short80 short160 txstbc rxstbc:3 subeamformer subeamformee beamformee_sts_cap:3 "
        .. "soundingdimensions:3 mubeamformer mubeamformee vhttxopps vhthtc maxampdu:3 linkadapt:2 rxpatconsist "
        .. "txpatconsist ext_nss_bw_support:2"),
    { "vht.mcsset", value = 1 },
    mcs_map("vht.mcsset.rxmcsmap", "Rx MCS Map"),
    le("_vht_rx", 16, "Rx rate", "vht.mcsset.", "rxhighestlonggirate:13 max_nsts_total:3d"),
    mcs_map("vht.mcsset.txmcsmap", "Tx MCS Map"),
    le("_vht_tx", 16, "Tx rate", "vht.", "mcsset.txhighestlonggirate:13 ncsset.ext_nss_bw_cap ncsset.reserved:2"),
}

-- Octets of capability bits, as many as there are
local function octets(name, title, specs)
    local items = {}
    for _, spec in ipairs(specs) do
        items[#items + 1] = { when = "$rest > 0", le(name, 8, title, name .. ".", spec) }
    end
    items[#items + 1] = { "_more", "bytes" }
    return items
end

local extended = {}
for octet = 0, 7 do
    local names = {}
    for bit = octet * 8, octet * 8 + 7 do
        local plain = bit ~= 1 and bit ~= 3 and bit ~= 5 and bit ~= 35 and bit ~= 47 and bit ~= 59 and bit ~= 63
        names[#names + 1] = "b" .. bit .. (plain and "" or bit == 63 and ":1d" or ":1")
    end
    extended[octet + 1] = table.concat(names, " "):gsub("b41 b42 b43", "serv_int_granularity:3d")
end

local qos_info = { "wfa.ie.wme.qos_info", 8, "QoS Info", base = "hex", sub = {
    { "wfa.ie.wme.qos_info.ap.u_apsd", "bool", "U-APSD" },
    { "wfa.ie.wme.qos_info.ap.reserved", 3, "Reserved", base = "hex" },
    { "wfa.ie.wme.qos_info.ap.parameter_set_count", 4, "Parameter Set Count", base = "hex" },
} }

-- Vendor specific: Microsoft's WPA and WMM are as common as those of the standard.
local vendor = {
    { "tag.oui", 24, "OUI" },
    { when = "$rest > 0",
        { "tag.vendor.oui.type", 8, "OUI type", overlay = true },
        { "_kind", value = "tag.oui == 0x0050f2 ? $at8(0) : 0" },
        { when = "tag.oui == 0x0050f2", { "wfa.ie.type", 8, "Type", base = "hex", values = { "WPA", "WMM",
            [4] = "WPS" } } },
        { switch = "_kind",
            cases = {
                [1] = {
                    { "wfa.ie.wpa.version", 16, "WPA Version", le = true },
                    { when = "$rest > 0", suite("wfa.ie.wpa.mcs", "Multicast Cipher Suite", ciphers) },
                    { when = "$rest > 0", suites("wfa.ie.wpa.ucs", "Unicast Cipher Suite", ciphers) },
                    { when = "$rest > 0", suites("wfa.ie.wpa.akms", "AKM Suite", key_management, "wfa.ie.wpa.type") },
                },
                [2] = {
                    { "wfa.ie.wme.subtype", 8, "WME Subtype", values = { [0] = "Information", "Parameter", "TSPEC" } },
                    { "wfa.ie.wme.version", 8, "WME Version" },
                    { when = "wfa.ie.wme.subtype == 0", qos_info },
                    { when = "wfa.ie.wme.subtype == 1",
                        qos_info,
                        { "wfa.ie.wme.reserved", "bytes", "Reserved", size = 1 },
                        { loop = 4, list = "categories",
                            { "wfa.ie.wme.acp", value = 1 },
                            { "wfa.ie.wme.acp.aci_aifsn", 8, "ACI / AIFSN", base = "hex", sub = {
                                { "wfa.ie.wme.acp.reserved", 1, "Reserved" },
                                { "wfa.ie.wme.acp.aci", 2, "ACI",
                                    values = { [0] = "Best Effort", "Background", "Video", "Voice" } },
                                { "wfa.ie.wme.acp.acm", "bool", "Admission Control Mandatory" },
                                { "wfa.ie.wme.acp.aifsn", 4, "AIFSN" },
                            } },
                            { "wfa.ie.wme.acp.ecw", 8, "ECW", base = "hex", sub = {
                                { "wfa.ie.wme.acp.ecw.max", 4, "ECW Max" },
                                { "wfa.ie.wme.acp.ecw.min", 4, "ECW Min" },
                                { "wfa.ie.wme.acp.cw.max", "uint", "CW Max",
                                    value = "(1 << wfa.ie.wme.acp.ecw.max) - 1" },
                                { "wfa.ie.wme.acp.cw.min", "uint", "CW Min",
                                    value = "(1 << wfa.ie.wme.acp.ecw.min) - 1" },
                            } },
                            { "wfa.ie.wme.acp.txop_limit", 16, "TXOP Limit", le = true },
                        },
                    },
                },
                [4] = { { "_wps", "bytes" } },
            },
            default = { { "tag.vendor.data", "bytes", "Vendor data" } },
        },
    },
}

local elements = {
    [0] = { { "ssid", "bytes", "SSID" } },
    { { loop = true, list = "rates", { "supported_rates", 8, "Supported Rates", base = "hex" } } },
    {
        { "fh.dwell_time", 16, "Dwell Time", le = true, base = "hex" },
        { "fh.hop_set", 8, "Hop Set" },
        { "fh.hop_pattern", 8, "Hop Pattern" },
        { "fh.hop_index", 8, "Hop Index" },
    },
    { { "ds.current_channel", 8, "Current Channel" } },
    {
        { "cfp.count", 8, "CFP Count" },
        { "cfp.period", 8, "CFP Period" },
        { "cfp.max_duration", 16, "CFP Max Duration", le = true },
        { "cfp.dur_remaining", 16, "CFP Dur Remaining", le = true },
    },
    {
        { "tim.dtim_count", 8, "DTIM count" },
        { "tim.dtim_period", 8, "DTIM period" },
        le("tim.bmapctl", 8, "Bitmap control", "tim.bmapctl.", "multicast offset:7"),
        { "tim.partial_virtual_bitmap", "bytes", "Partial Virtual Bitmap", sub = {
            { loop = true, -- the lowest bit of a byte is the lowest association's
                { "tim.aid", "uint", "Association ID", base = "hex", digits = 2,
                    value = "tim.bmapctl.offset * 16 + $index", when = "$at8(0) >> ($index & 7) & 1" },
                { "_bit", 1 },
            },
        } },
    },
    { { "ibss.atim_windows", 16, "ATIM Window", le = true, base = "hex" } },
    {
        { "country_info.code", "string", "Code", size = 2 },
        { "country_info.environment", 8, "Environment", values = { [32] = "all", [73] = "indoor", [79] = "outdoor" } },
        { loop = "$rest / 3", list = "channels",
            { when = "$at8(0) <= 200",
                { "country_info.fnm", value = 1 },
                { "country_info.fnm.fcn", 8, "First Channel Number" },
                { "country_info.fnm.nc", 8, "Number of Channels" },
                { "country_info.fnm.mtpl", 8, "Maximum Transmit Power Level" },
            },
            { when = "$at8(0) > 200",
                { "country_info.rrc", value = 1 },
                { "country_info.rrc.oei", 8, "Operating Extension Identifier" },
                { "country_info.rrc.oc", 8, "Operating Class" },
                { "country_info.rrc.cc", 8, "Coverage Class" },
            },
        },
        { "_padding", "bytes" },
    },
    [10] = { { loop = true, list = "requests", { "tag.request", 8, "Requested Element", values = element_names } } },
    [11] = {
        { "qbss.version", "uint", "QBSS Version", value = "tag.length == 4 ? 1 : 2" },
        { "qbss.scount", 16, "Station Count", le = true },
        { "qbss.cu", 8, "Channel Utilization" },
        { "qbss.adc", 16, "Available Admission Capacity", le = true, when = "tag.length == 5" },
        { "qbss.adc", 8, "Available Admission Capacity", when = "tag.length == 4" },
    },
    [16] = { { "tag.challenge_text", "bytes", "Challenge Text" } },
    [32] = { { "powercon.local", 8, "Local Power Constraint" } },
    [33] = { { "powercap.min", 8, "Minimum Transmit Power" }, { "powercap.max", 8, "Maximum Transmit Power" } },
    [34] = {},
    [35] = { { "tcprep.trsmt_pow", "int8", "Transmit Power" }, { "tcprep.link_mrg", 8, "Link Margin" } },
    [36] = { { loop = true, list = "channels",
        { "supchan", value = 1 },
        { "supchan.first", 8, "First Supported Channel" },
        { "supchan.range", 8, "Supported Channel Range" },
    } },
    [37] = {
        { "csa.channel_switch_mode", 8, "Channel Switch Mode" },
        { "csa.new_channel_number", 8, "New Channel Number" },
        { "csa.channel_switch.count", 8, "Channel Switch Count" },
    },
    [42] = {
        le("erp_info", 8, "ERP Information", "erp_info.", "erp_present use_protection barker_preamble_mode reserved:5"),
    },
    [45] = ht_capabilities,
    [48] = rsn,
    [50] = { { loop = true, list = "rates", { "extended_supported_rates", 8, "Extended Supported Rates",
    base = "hex" } } },
    [54] = {
        { "mobility_domain.mdid", 16, "Mobility Domain Identifier", le = true, base = "hex" },
        le("mobility_domain.ft_capab", 8, "FT Capability and Policy", "mobility_domain.ft_capab.",
            "ft_over_ds resource_req"),
    },
    [59] = {
        { "supopeclass.current", 8, "Current Operating Class" },
        { "supopeclass.alt", value = 1, when = "$rest > 0" },
        { "_alternatives", "bytes" },
    },
    [61] = ht_operation,
    [62] = { { "secchanoffset", 8, "Secondary Channel Offset", base = "hex" } },
    [70] = octets("rmcap", "RM Capabilities", {
        "b0 b1 b2 b3 b4 b5 b6 b7", "b8 b9 b10 b11 b12 b13 b14 b15", "b16 b17 b18to20:3d b21to23:3d",
        "b24to26:3d b27 b28 b29 b30 b31", "b32 b33 b34 b35 o5:4",
    }),
    [72] = { le(".wlan.20_40_bc", 8, "20/40 BSS Coexistence", ".wlan.20_40_bc.",
    "information_request forty_mhz_intolerant "
        .. "20_mhz_bss_width_request obss_scanning_exemption_request obss_scanning_exemption_grant reserved:3") },
    [74] = {
        { "obss.spd", 16, "Scan Passive Dwell", le = true },
        { "obss.sad", 16, "Scan Active Dwell", le = true },
        { "obss.cwtsi", 16, "Channel Width Trigger Scan Interval", le = true },
        { "obss.sptpc", 16, "Scan Passive Total Per Channel", le = true },
        { "obss.satpc", 16, "Scan Active Total Per Channel", le = true },
        { "obss.wctdf", 16, "Width Channel Transition Delay Factor", le = true },
        { "obss.sat", 16, "Scan Activity Threshold", le = true },
    },
    [107] = {
        { "interworking.uesa", 1, "UESA" },
        { "interworking.esr", 1, "ESR" },
        { "interworking.asra", 1, "ASRA" },
        { "interworking.internet", 1, "Internet" },
        { "interworking.access_network_type", 4, "Access Network Type" },
        { "_venue", "bytes" },
    },
    [113] = {
        { "mesh.config.ps_protocol", 8, "Path Selection Protocol", base = "hex" },
        { "mesh.config.ps_metric", 8, "Path Selection Metric", base = "hex" },
        { "mesh.config.cong_ctl", 8, "Congestion Control", base = "hex" },
        { "mesh.config.sync_method", 8, "Synchronization Method", base = "hex" },
        { "mesh.config.auth_protocol", 8, "Authentication Protocol", base = "hex" },
        le("mesh.config.formation_info", 8, "Formation Info", "mesh.", "formation_info.connect_to_mesh_gate "
            .. "config.formation_info.num_peers:6d formation_info.connect_to_as"),
        le("mesh.config.cap", 8, "Capability", "mesh.config.cap.", "accept mcca_support mcca_enabled forwarding "
            .. "mbca_enabled tbtt_adjusting power_save_level reserved:1"),
    },
    [114] = { { "mesh.id", "string", "Mesh ID" } },
    [127] = octets("extcap", "Extended Capabilities", extended),
    [191] = vht_capabilities,
    [192] = {
        { "vht.op", value = 1 },
        { "vht.op.channelwidth", 8, "Channel Width" },
        { "vht.op.channelcenter0", 8, "Channel Center Segment 0" },
        { "vht.op.channelcenter1", 8, "Channel Center Segment 1" },
        mcs_map("vht.op.basicmcsmap", "Basic MCS Map"),
    },
    [195] = {
        le("vht.tpe.pwr_info", 8, "Tx Pwr Info", "vht.tpe.pwr_info.", "count:3d unit:3d reserved:2d"),
        { "vht.tpe.pwr_constr_20", 8, "Max Tx Power, 20 MHz" }, -- in half dB
        { when = "$rest > 0", { "vht.tpe.pwr_constr_40", 8, "Max Tx Power, 40 MHz" } },
        { when = "$rest > 0", { "vht.tpe.pwr_constr_80", 8, "Max Tx Power, 80 MHz" } },
        { when = "$rest > 0", { "vht.tpe.pwr_constr_160", 8, "Max Tx Power, 160 MHz" } },
        { "_more", "bytes" },
    },
    [199] = {
        le("operat_notification_mode", 8, "Operating Mode Notification", "operat_mode_field.",
            "channelwidth:2 reserved:2 rxnss:3 rxnsstype:1"),
    },
    [221] = vendor,
    [255] = { { "ext_tag.number", 8, "Ext Tag Number" }, { "ext_tag.data", "bytes", "Ext Tag Data" } },
}

return { names = element_names, items = elements, suite = suite }
