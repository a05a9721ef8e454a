--- IEEE 802.11: radiotap (radiotap.org) as it comes from monitor mode, and frames (IEEE 802.11-2020 9) with the fixed
-- parameters and the common elements of management frames.

-- A little-endian field of `bits` bits and its parts, from bit 0 on: "name" is one bit, "name:3" three (in hex),
-- "name:3d" three in decimal; "-" is none. What lies in one byte is a field of its own, the rest is worked out from the
-- whole.
local function le(name, bits, title, prefix, spec, more)
    local parts, at, first = {}, {}, 0
    for word in spec:gmatch "%S+" do
        local short, width, base = word:match "^([^:]+):?(%d*)(d?)$"
        local part = {
            first = first, width = tonumber(width) or 1, name = prefix .. short, title = short:gsub("_", " "),
            bool = width == "", base = base == "d" and "dec" or "hex", skip = short == "-",
        }
        part.inside = part.first // 8 == (part.first + part.width - 1) // 8
        first = first + part.width
        parts[#parts + 1] = part
        for i = part.first, first - 1 do
            at[i] = part
        end
    end
    local sub = {}
    for byte = 0, bits // 8 - 1 do
        local i = byte * 8 + 7
        while i >= byte * 8 do
            local part, n = at[i], 1
            if part and part.inside and not part.skip then
                n = part.width
                sub[#sub + 1] = part.bool and { part.name, "bool", part.title }
                    or { part.name, n, part.title, base = part.base, digits = bits // 4 }
            else
                while i - n >= byte * 8 and (not at[i - n] or at[i - n].skip or not at[i - n].inside) do
                    n = n + 1
                end
                sub[#sub + 1] = { "_", n }
            end
            i = i - n
        end
    end
    for _, part in ipairs(parts) do
        if not part.inside and not part.skip then
            sub[#sub + 1] = {
                part.name, "uint", part.title, base = part.base, digits = bits // 4,
                value = ("%s >> %d & 0x%x"):format(name, part.first, (1 << part.width) - 1),
            }
        end
    end
    local field = { name, bits, title, le = bits > 8 or nil, base = "hex", sub = sub }
    for k, v in pairs(more or {}) do
        field[k] = v
    end
    return field
end

-- ---------------------------------------------------------------- radiotap

local present = "tsft flags rate channel fhss dbm_antsignal dbm_antnoise lock_quality tx_attenuation db_tx_attenuation "
    .. "dbm_tx_power antenna db_antsignal db_antnoise rxflags txflags - data_retries xchannel mcs ampdu vht timestamp "
    .. "he he_mu - 0_length.psdu l_sig tlv"
local channel_flags = "turbo cck ofdm 2ghz 5ghz passive dynamic gfsk gsm sturbo half quarter"

-- A bit field that is there only if its bit says that it is known; else a hole of the same width.
local function known(when, kind, name, title, values)
    local width = kind == "bool" and 1 or kind
    return { switch = when, cases = { [1] = { { name, kind, title, values = values } } }, default = { { "_", width } } }
end

local function vht_user(n)
    return {
        { "_nss", value = "$at8(0) & 15" },
        { when = "_nss > 0",
            { "vht.user", value = 1 },
            { "vht.mcs." .. n, 4, "MCS index " .. n },
            { "vht.nss." .. n, 4, "Spatial streams " .. n },
            { "vht.nsts." .. n, "uint", "Space-time streams " .. n, value = "_nss * (_stbc + 1)" },
            { "vht.coding." .. n, "uint", "Coding " .. n, values = { [0] = "BCC", "LDPC" },
                value = ("$at8(%d) >> %d & 1"):format(3 - n, n) },
        },
        { when = "_nss == 0", { "_none", 8 } },
    }
end

-- What stands for each bit of a word, with its alignment.
local radiotap_fields = {
    [0] = { { align = 8 }, { "mactime", 64, "MAC timestamp", le = true } },
    { le("flags", 8, "Flags", "flags.", "cfp preamble wep frag fcs datapad badfcs shortgi") },
    { { "datarate", "fixed", "Data Rate", bits = 8, point = 1 } }, -- it counts 500 kb/s
    {
        { align = 2 },
        { "channel.freq", 16, "Channel frequency", le = true },
        le("channel.flags", 16, "Channel flags", "channel.flags.", "700mhz 800mhz 900mhz - " .. channel_flags),
    },
    { { align = 2 }, { "fhss.hopset", 8, "FHSS Hop Set" }, { "fhss.pattern", 8, "FHSS Pattern" } },
    { { "dbm_antsignal", "int8", "Antenna signal" } },
    { { "dbm_antnoise", "int8", "Antenna noise" } },
    { { align = 2 }, { "quality", 16, "Signal Quality", le = true } },
    { { align = 2 }, { "txattenuation", 16, "TX attenuation", le = true } },
    { { align = 2 }, { "db_txattenuation", 16, "dB TX attenuation", le = true } },
    { { "txpower", "int8", "TX power" } },
    { { "antenna", 8, "Antenna" } },
    { { "db_antsignal", 8, "dB antenna signal" } },
    { { "db_antnoise", 8, "dB antenna noise" } },
    { { align = 2 }, le("rxflags", 16, "RX flags", "rxflags.", "- badplcp") },
    { { align = 2 }, le("txflags", 16, "TX flags", "rxflags.", "fail cts rts noack noseqno order") },
    { { "_rts_retries", 8 } },
    { { "data_retries", 8, "data retries" } },
    {
        { align = 4 },
        le("xchannel.flags", 32, "XChannel flags", "xchannel.flags.",
            "- - - - " .. channel_flags:gsub("passive", "-") .. " ht20 ht40u ht40d"),
        { "xchannel.freq", 16, "XChannel frequency", le = true },
        { "xchannel.channel", 8, "XChannel number" },
        { "_max_power", 8 },
    },
    {
        { "mcs", value = 1 },
        le("mcs.known", 8, "Known MCS information", "mcs.",
            "have_bw have_index have_gi have_format have_fec have_stbc have_ness"),
        { when = "mcs.have_ness", { "mcs.ness_bit1", "uint", "NESS bit 1", value = "mcs.known >> 7" } },
        known("mcs.have_ness", 1, "mcs.ness_bit0", "NESS bit 0"),
        known("mcs.have_stbc", 2, "mcs.stbc", "STBC streams"),
        known("mcs.have_fec", 1, "mcs.fec", "FEC type", { [0] = "BCC", "LDPC" }),
        known("mcs.have_format", 1, "mcs.format", "Format", { [0] = "mixed", "greenfield" }),
        known("mcs.have_gi", 1, "mcs.gi", "Guard interval", { [0] = "long", "short" }),
        known("mcs.have_bw", 2, "mcs.bw", "Bandwidth", { [0] = "20 MHz", "40 MHz", "20 MHz lower", "20 MHz upper" }),
        known("mcs.have_index", 8, "mcs.index", "MCS index"),
    },
    {
        { align = 4 },
        { "ampdu", value = 1 },
        { "ampdu.reference", 32, "A-MPDU reference number", le = true },
        le("ampdu.flags", 16, "A-MPDU flags", "ampdu.flags.",
            "report_zerolen is_zerolen lastknown last delim_crc_error - eof eof_known"),
        known("ampdu.flags & 0x20 ? 1 : 0", 8, "ampdu.delim_crc", "A-MPDU delimiter CRC"),
        { "_reserved", 8 },
    },
    {
        { align = 2 },
        { "vht", value = 1 },
        le("vht.known", 16, "Known VHT information", "", "vht.have_stbc vht.have_txop_ps vht.have_gi "
            .. "vht.have_sgi_nsym_da vht.ldpc_extra vht.have_beamformed mcs.have_bw mcs.have_gid mcs.have_paid"),
        { "_stbc", value = "vht.known & 1 && $at8(0) & 1" },
        { "_", 2 },
        known("vht.have_beamformed", "bool", "vht.beamformed", "Beamformed"),
        known("vht.ldpc_extra", "bool", "vht.ldpc_extra", "LDPC extra OFDM symbol"),
        known("vht.have_sgi_nsym_da", "bool", "vht.sgi_nsym_da", "SGI Nsym disambiguation"),
        known("vht.have_gi", 1, "vht.gi", "Guard interval", { [0] = "long", "short" }),
        known("vht.have_txop_ps", "bool", "vht.txop_ps", "TXOP_PS_NOT_ALLOWED"),
        known("vht.have_stbc", "bool", "vht.stbc", "STBC"),
        known("mcs.have_bw", 8, "vht.bw", "Bandwidth", { [0] = "20 MHz", "40 MHz", [4] = "80 MHz", [11] = "160 MHz" }),
        vht_user(0), vht_user(1), vht_user(2), vht_user(3),
        { "_coding", 8 },
        known("mcs.have_gid", 8, "vht.gid", "Group ID"),
        { switch = "mcs.have_paid",
            cases = { [1] = { { "vht.paid", 16, "Partial AID", le = true } } },
            default = { { "_paid", 16 } },
        },
    },
    {
        { align = 8 },
        { "timestamp", value = 1 },
        { "timestamp.ts", 64, "timestamp", le = true },
        { switch = "$at8(3) & 2",
            cases = { [2] = { { "timestamp.accuracy", 16, "accuracy", le = true } } },
            default = { { "_accuracy", 16 } },
        },
        { "timestamp.samplingpos", 4, "sampling position" },
        { "timestamp.unit", 4, "time unit", values = { [0] = "ms", "us", "ns" } },
        { "_", 6 },
        { "timestamp.flags.accuracy", "bool", "accuracy known" },
        { "timestamp.flags.32bit", "bool", "32 bit counter" },
    },
    { { align = 2 }, { "_he", "bytes", size = 12 } },
    { { align = 2 }, { "_he_mu", "bytes", size = 12 } },
    { { align = 2 }, { "_he_mu_other", "bytes", size = 6 } },
    { { ".radiotap.0_len_psdu.type", 8, "Type", base = "hex", values = { [0] = "sounding PPDU",
        "data not captured" } } },
    {
        { align = 2 },
        le("l_sig.data1", 16, "Data1", "l_sig.", "rate_known length_known reserved:14"),
        le("l_sig.data2", 16, "Data2", "l_sig.", "rate:4d length:12d"),
    },
}

-- Whose bits those of the word behind this one are: 0 radiotap's, 1 a vendor's, 2 radiotap's from 32 on
local function next_space(word)
    return ("%s & 0x20000000 ? 0 : %s & 0x40000000 ? 1 : _space == 1 ? 1 : 2"):format(word, word)
end

-- One word of presence bits, and the ones behind it. A vendor's word says nothing that is known here, but how long all
-- of the vendor's data is; of radiotap's own there is only the first word so far, behind fields of a second one nothing
-- can be found.
local word = {
    { "_word", value = "$le32(4 + 4 * _at)" },
    { when = "_space == 0" },
}
for bit = 0, #radiotap_fields do
    table.insert(word[2], { when = ("_word & 0x%x"):format(1 << bit), radiotap_fields[bit] })
end
for _, item in ipairs {
    { when = "_word & 0x40000000",
        { align = 2 },
        { "vendor_namespace", "bytes", "Vendor namespace", size = "6 + $at8(4) + 256 * $at8(5)", overlay = true },
        { "vendor_oui", 24, "Vendor OUI" },
        { "vendor_subns", 8, "Vendor sub namespace" },
        { "vendor_data_len", 16, "Vendor data length", le = true },
        { "vendor_data", value = 1, when = "vendor_data_len > 0" },
        { "_vendor_data", "bytes", size = "vendor_data_len" },
    },
    { "_lost", value = "_space == 0 && (_word & 0x10000000) != 0 || _space == 2 && (_word & 0x1fffffff) != 0" },
    { "_space", value = next_space("_word") },
    { "_at", value = "_at + 1" },
    { call = "word", when = "_at < _words && !_lost" },
} do
    word[#word + 1] = item
end

-- Which bit says that a field is there, where it isn't called as the field is.
local bit_of = {
    mactime = "tsft", datarate = "rate", quality = "lock_quality", txattenuation = "tx_attenuation",
    db_txattenuation = "db_tx_attenuation", txpower = "dbm_tx_power",
}

-- What is given has to be announced.
local function announce(values)
    if values.words then
        return
    end
    local bits, named = { ["present.ext"] = false }, {}
    for name in present:gmatch "[%w_.]+" do
        named[name] = true
    end
    for key in pairs(values) do
        local name = type(key) == "string" and key:match "^[^.]+"
        name = bit_of[name] or name
        if named[name] then
            bits["present." .. name] = true
        end
    end
    values.words = { bits }
end

local radiotap = {
    name = "radiotap", title = "Radiotap",
    on = { link = 127 },
    header = "length",
    build = announce,
    check = { { "length >= 8", "length below 8" } },
    next = { { "wlan", via = "wlan_radio", pass = "flags.fcs + 2 * flags.datapad" } },
    line = { { when = "channel.freq", "{channel.freq} MHz " }, { when = "dbm_antsignal",
        "{dbm_antsignal}dBm signal " } },
    groups = { word = word },
    { "version", 8, "Header revision" },
    { "pad", 8, "Header pad" },
    { "length", 16, "Header length", le = true },
    { size = "length - 4",
        { check = "version == 0", "a version that there isn't" },
        { "present", value = 1 },
        { "_space", value = "0" },
        { loop = true, list = "words", stop = "!present.ext",
            { when = "_space == 0",
                le("present.word", 32, "Present flags word", "present.", present .. " rtap_ns vendor_ns ext"),
            },
            { when = "_space != 0",
                le("present.word", 32, "Present flags word", "present.", "-:29 rtap_ns vendor_ns ext"),
            },
            { "_space", value = next_space("present.word") },
            { "_words", value = "$index + 1" },
        },
        { "_at", value = "0" },
        { "_space", value = "0" },
        { call = "word" },
    },
}

-- ---------------------------------------------------------------- elements of management frames

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

-- ---------------------------------------------------------------- frames

local types = { [0] = "Management", "Control", "Data", "Extension" }
local subtypes = {
    [0x00] = "Association Request", [0x01] = "Association Response", [0x02] = "Reassociation Request",
    [0x03] = "Reassociation Response", [0x04] = "Probe Request", [0x05] = "Probe Response",
    [0x06] = "Timing Advertisement", [0x08] = "Beacon", [0x09] = "ATIM", [0x0a] = "Disassociation",
    [0x0b] = "Authentication", [0x0c] = "Deauthentication", [0x0d] = "Action", [0x0e] = "Action No Ack",
    [0x12] = "Trigger", [0x13] = "TACK", [0x14] = "Beamforming Report Poll", [0x15] = "NDP Announcement",
    [0x17] = "Control Wrapper", [0x18] = "Block Ack Request", [0x19] = "Block Ack",
    [0x1a] = "PS-Poll", [0x1b] = "RTS", [0x1c] = "CTS", [0x1d] = "Ack", [0x1e] = "CF-End", [0x1f] = "CF-End + CF-Ack",
    [0x20] = "Data", [0x21] = "Data + CF-Ack", [0x22] = "Data + CF-Poll", [0x23] = "Data + CF-Ack + CF-Poll",
    [0x24] = "Null", [0x25] = "CF-Ack", [0x26] = "CF-Poll", [0x27] = "CF-Ack + CF-Poll", [0x28] = "QoS Data",
    [0x29] = "QoS Data + CF-Ack", [0x2a] = "QoS Data + CF-Poll", [0x2b] = "QoS Data + CF-Ack + CF-Poll",
    [0x2c] = "QoS Null", [0x2e] = "QoS CF-Poll", [0x2f] = "QoS CF-Ack + CF-Poll", [0x30] = "DMG Beacon",
    [0x31] = "S1G Beacon",
}
local reasons = {
    "Unspecified", "Authentication no longer valid", "Station leaving (deauthenticated)", "Inactivity", "AP overloaded",
    "Class 2 frame from nonauthenticated station", "Class 3 frame from nonassociated station",
    "Station leaving (disassociated)", "Not authenticated", "Unacceptable power capability", "Unacceptable channels",
    "BSS transition", "Invalid element", "MIC failure", "4-way handshake timeout", "Group key handshake timeout",
    "4-way handshake element differs", "Invalid group cipher", "Invalid pairwise cipher", "Invalid AKMP",
    "Unsupported RSN version", "Invalid RSN capabilities", "802.1X authentication failed", "Cipher suite rejected",
}
local statuses = {
    [0] = "Successful", "Unspecified failure", [5] = "Security disabled", [6] = "Unacceptable lifetime",
    [7] = "Not in same BSS", [10] = "Capabilities mismatch", [11] = "Reassociation denied, no association",
    [12] = "Denied for other reasons", [13] = "Authentication algorithm not supported",
    [14] = "Transaction sequence out of order", [15] = "Challenge failure", [16] = "Authentication timeout",
    [17] = "AP can handle no more stations", [18] = "Basic rates mismatch", [30] = "Refused temporarily",
    [31] = "Robust management policy violation", [37] = "Request declined", [40] = "Invalid element",
    [41] = "Invalid group cipher", [42] = "Invalid pairwise cipher", [43] = "Invalid AKMP",
    [44] = "Unsupported RSN version", [45] = "Invalid RSN capabilities", [46] = "Cipher rejected by policy",
    [53] = "Invalid PMKID", [76] = "Anti-clogging token required", [77] = "Finite cyclic group not supported",
    [126] = "SAE hash to element", [127] = "SAE with public keys",
}

local function address(title, name, ...)
    return { name, "ether", title, also = { "addr", ... } }
end

local function unless_aggregate(field)
    return { { when = "!_aggregate", field }, { when = "_aggregate", { "_address", "ether" } } }
end

local sequence_control = {
    { "_seq_low", 4 },
    { "frag", 4, "Fragment number" },
    { "_seq_high", 8 },
    { "seq", "uint", "Sequence number", value = "_seq_high << 4 | _seq_low" },
}

local ht_control = { { switch = "$at8(0) & 3", -- bit 0: VHT's, bit 1 with it: HE's
    cases = {
        [1] = { le("htc", 32, "HT Control", "htc.",
        "vht he mrq msi_stbc_reserved:3 mfsi:3d mfb:15 gid_h:3d coding_type:1d "
            .. "fb_tx_type:1d unsolicited_mfb ac_constraint rdg_more_ppdu") },
        [3] = { le("htc", 32, "HT Control", "htc.", "vht he") },
    },
    default = { le("htc", 32, "HT Control", "htc.", "vht lac:15 cal.pos:2d cal.seq:2d reserved1:2 csi_steering:2d "
        .. "ndp_announcement reserved2:5 ac_constraint rdg_more_ppdu") },
} }

local qos_control = { "qos", 16, "QoS Control", le = true, base = "hex", sub = {
    { switch = "fc.subtype & 4", cases = { [4] = { { "_", 1 } } }, default = { { "qos.amsdupresent", "bool",
        "A-MSDU" } } },
    { "qos.ack", 2, "Ack Policy", base = "hex", digits = 4, values = { [0] = "normal", "none", "no explicit",
        "block" } },
    { switch = "fc.fromds",
        cases = { [1] = { { "qos.eosp", "bool", "EOSP" } } },
        default = { { "qos.bit4", "bool", "Bit 4" } },
    },
    { "qos.tid", 4, "TID" },
    { "qos.priority", "uint", "Priority", value = "qos.tid & 7", values = {
        [0] = "Best Effort", "Background", "Spare", "Excellent Effort", "Controlled Load", "Video", "Voice",
        "Network Control",
    } },
    { switch = "fc.fromds",
        cases = { [1] = {
            { "qos.ps_buf_state", 8, "AP PS Buffer State", base = "hex", digits = 4, sub = {
                { "_", 6 },
                { "qos.buf_state_indicated", "bool", "Buffer State Indicated" },
            } },
        } },
        default = {
            { switch = "qos.bit4",
                cases = { [1] = { { "qos.queue_size", 8, "Queue Size" } } },
                default = { { "qos.txop_dur_req", 8, "TXOP Duration Requested" } },
            },
        },
    },
} }

-- The initialisation vector in front of what is encrypted; which cipher it is follows from the reserved byte (CCMP) or
-- from TKIP's rule for its second byte, as far as it follows at all.
local function ext_iv(order)
    return function(bytes)
        local hex = {}
        for i, n in ipairs(order) do
            hex[i] = ("%02X"):format(bytes:byte(n))
        end
        return "0x" .. table.concat(hex)
    end
end
local protection = {
    { "_extended", value = "($at8(3) & 0x20) != 0" },
    { "_ccmp", value = "_extended && $at8(2) == 0" },
    { "_tkip", value = "_extended && !_ccmp && $at8(1) == (($at8(0) | 0x20) & 0x7f)" },
    { when = "_ccmp", { "ccmp.extiv", "bytes", "CCMP Ext. IV", size = 8, overlay = true,
        value = ext_iv { 8, 7, 6, 5, 2, 1 } } },
    { when = "_tkip", { "tkip.extiv", "bytes", "TKIP Ext. IV", size = 8, overlay = true,
        value = ext_iv { 8, 7, 6, 5, 1, 3 } } },
    { when = "!_extended", { "wep.iv", 24, "Initialization Vector", base = "hex" } },
    { when = "_extended", { "_iv", "bytes", size = 3 } },
    { "wep.key", 2, "Key Index" },
    { "_", 6 },
    { when = "_extended", { "_iv_high", "bytes", size = 4 } },
}

local capabilities = le("fixed.capabilities", 16, "Capabilities Information", "fixed.capabilities.",
    "ess ibss reserved1 "
    .. "reserved2 privacy short_preamble reserved3 reserved4 spec_man qos short_slot_time apsd radio_measurement epd "
    .. "reserved5 reserved6")

local function number16(name, title, values, base)
    return { "fixed." .. name, 16, title, le = true, base = base or "hex", values = values }
end

local timestamp = { "fixed.timestamp", 64, "Timestamp", le = true }
local interval = number16("beacon", "Beacon Interval", nil, "dec")
local status = number16("status_code", "Status code", statuses)
local reason = number16("reason_code", "Reason code", reasons)
local aid = le("_aid", 16, "Association ID", "fixed.", "aid:14")
local token = { "fixed.dialog_token", 8, "Dialog token", base = "hex" }

-- Fixed parameters by subtype, 9.3.3
local fixed = {
    [0] = { capabilities, number16("listen_ival", "Listen Interval") },
    { capabilities, status, aid },
    { capabilities, number16("listen_ival", "Listen Interval"), { "fixed.current_ap", "ether", "Current AP" } },
    { capabilities, status, aid },
    [5] = { timestamp, interval, capabilities },
    [8] = { timestamp, interval, capabilities },
    [10] = { reason },
    [11] = {
        number16("auth.alg", "Authentication Algorithm", {
            [0] = "Open System", "Shared Key", "FT", "SAE", "FILS SK", "FILS SK-PFS", "FILS PK",
        }, "dec"),
        number16("auth_seq", "Authentication SEQ"),
        status,
    },
    [12] = { reason },
}
local function with_mark(items)
    return { { "fixed.all", value = 1 }, items }
end
for subtype, items in pairs(fixed) do
    fixed[subtype] = with_mark(items)
end
fixed[11][3] = { when = "fixed.auth.alg == 3", { "_sae", "bytes" } } -- SAE's are not elements

local block_ack_parameters = le("fixed.baparams", 16, "Block Ack Parameters", "fixed.baparams.",
    "amsdu policy tid:4 buffersize:10d")
local block_ack_action = { "fixed.action_code", 8, "Action code", base = "hex",
    values = { [0] = "ADDBA Request", "ADDBA Response", "DELBA" } }
local start_sequence = le("fixed.ssc", 16, "Starting Sequence Control", "fixed.ssc.", "fragment:4d sequence:12d")

local action = { -- 9.6
    { "fixed.category_code", 8, "Category code", values = {
        [0] = "Spectrum Management", "QoS", [3] = "Block Ack", [4] = "Public", [5] = "Radio Measurement",
        [6] = "Fast BSS Transition", [7] = "HT", [8] = "SA Query", [9] = "Protected Public", [10] = "WNM",
        [12] = "TDLS", [13] = "Mesh", [14] = "Multihop", [15] = "Self Protected", [21] = "VHT", [30] = "HE",
        [127] = "Vendor Specific",
    } },
    { switch = "fixed.category_code",
        cases = {
            [0] = { { "fixed.action_code", 8, "Action code" }, token, { call = "elements" } },
            [3] = {
                block_ack_action,
                { switch = "fixed.action_code", cases = {
                    [0] = { token, block_ack_parameters, number16("batimeout", "Block Ack Timeout"), start_sequence },
                    [1] = { token, status, block_ack_parameters, number16("batimeout", "Block Ack Timeout") },
                    [2] = {
                        le("fixed.delba.param", 16, "DELBA Parameters", "fixed.delba.param.",
                            "reserved:11 initiator tid:4"),
                        reason,
                    },
                } },
                { call = "elements" },
            },
            [4] = { { "fixed.publicact", 8, "Public Action", base = "hex" }, { "_rest", "bytes" } },
            [127] = { { ".wlan.tag.oui", 24, "OUI" }, { "_rest", "bytes" } },
        },
        default = { { "fixed.action_code", 8, "Action code" }, { "_rest", "bytes" } },
    },
}

local ba_control = le("ba.control", 16, "Block Ack Control", "ba.",
    "control.ackpolicy control.ba_type:4 control.reserved:7 "
    .. "basic.tidinfo:4")
local transmitter = address("Transmitter address", "ta")

local control = { -- 9.3.1
    [2] = { transmitter, { "_trigger", "bytes" } },
    [3] = { transmitter, { "_tack", "bytes" } },
    [4] = { transmitter, { "beamform.feedback_seg_retrans_bitmap", 8, "Feedback segments", base = "hex" } },
    [5] = { transmitter, { "vht_ndp.token", 8, "Sounding Dialog Token", base = "hex" }, { "_stations", "bytes" } },
    [8] = { transmitter, ba_control, { when = "ba.control.ba_type != 3", start_sequence }, { "_tids", "bytes" } },
    [9] = {
        transmitter, ba_control,
        { when = "ba.control.ba_type != 3",
            start_sequence,
            { "ba.bm", "bytes", "Block Ack Bitmap",
                size = "ba.control.ba_type == 0 ? 128 : $rest >= 32 && ($u8(18) & 6) == 4 ? 32 : 8" },
        },
        { "_tids", "bytes" },
    },
    [10] = { transmitter },
    [11] = { transmitter },
    [14] = { address("BSS Id", "bssid") },
    [15] = { transmitter },
}

-- Sequence numbers are in two pieces of a little-endian field.
local function before_building(values)
    if values.seq and values._seq_low == nil then
        values._seq_low, values._seq_high = values.seq & 15, values.seq >> 4 & 255
    end
    if values["fc.ds"] then
        values["fc.tods"], values["fc.fromds"] = values["fc.ds"] & 1 == 1, values["fc.ds"] & 2 == 2
    end
end

local wlan = {
    name = "wlan", title = "IEEE 802.11",
    on = { link = 105 },
    build = before_building,
    header = "_body",
    next = {
        { stop = true, when = "_type & 3 || fc.type != 2 || fc.subtype & 4" },
        { "data", size = "$len - _body - _fcs - _icv", when = "fc.protected || frag" },
        { "llc", size = "_amsdu", when = "qos.amsdupresent" },
        { "llc", size = "$len - _body - _fcs", when = "fc.frag", fragment = true },
        { "llc", size = "$len - _body - _fcs" },
    },
    line = {
        "{fc.type_subtype}", { when = "fc.type != 1", " {sa} > {da}" }, { when = "fc.type == 1", " RA:{ra}" },
        { when = "fc.type == 0 && (fc.subtype == 8 || fc.subtype == 5 || fc.subtype == 4)", " ({=$len} bytes)" },
    },
    groups = {
        elements = {
            { when = "$rest > 0",
                { "tagged.all", value = 1 },
                { loop = true, list = "tags",
                    { "tag", value = 1 },
                    { "tag.number", 8, "Tag Number", values = element_names },
                    { "tag.length", 8, "Tag length" },
                    { switch = "tag.number", size = "tag.length", cases = elements,
                        default = { { "tag.data", "bytes", "Tag Data" } } },
                },
            },
        },
        management = {
            address("Receiver address", "ra", "da"),
            address("Transmitter address", "ta", "sa"),
            address("BSS Id", "bssid"),
            sequence_control,
            { when = "fc.order", ht_control },
            { when = "fc.protected", protection, { "_encrypted", "bytes" } },
            { when = "!fc.protected",
                { switch = "fc.subtype == 13 || fc.subtype == 14",
                    cases = { [1] = action },
                    default = {
                        { switch = "fc.subtype", cases = fixed },
                        { call = "elements", when = "fc.subtype != 6 && fc.subtype != 7 && fc.subtype != 15" },
                    },
                },
            },
        },
        control = {
            { when = "fc.subtype == 10", address("Receiver address", "ra", "bssid") },
            { when = "fc.subtype != 10", address("Receiver address", "ra") },
            { switch = "fc.subtype", cases = control },
        },
        data = {
            -- the subframes of an A-MSDU have their own source and destination
            { "_aggregate", value = "(fc.subtype & 12) == 8 && $u8(fc.ds == 3 ? 30 : 24) & 0x80 ? 4 : 0" },
            { switch = "fc.ds", cases = {
                [0] = {
                    address("Receiver address", "ra", "da"),
                    address("Transmitter address", "ta", "sa"),
                    address("BSS Id", "bssid"),
                },
                [1] = {
                    address("Receiver address", "ra", "bssid"),
                    address("Transmitter address", "ta", "sa", "staa"),
                    unless_aggregate(address("Destination address", "da")),
                },
                [2] = {
                    address("Receiver address", "ra", "da", "staa"),
                    address("Transmitter address", "ta", "bssid"),
                    unless_aggregate(address("Source address", "sa")),
                },
                [3] = {
                    address("Receiver address", "ra"),
                    address("Transmitter address", "ta"),
                    unless_aggregate(address("Destination address", "da")),
                },
            } },
            sequence_control,
            { when = "fc.ds == 3", unless_aggregate(address("Source address", "sa")) },
            { when = "fc.subtype & 8",
                qos_control,
                { when = "fc.order", ht_control },
            },
            { when = "$passed & 2", { align = 4 } }, -- radiotap: the header is padded
            { when = "fc.protected && !(fc.subtype & 4)",
                protection,
                { "_icv", value = "_extended ? 0 : 4" },
                { when = "_icv", { at = "$len - _fcs - 4", size = 4, { "wep.icv", 32, "WEP ICV", base = "hex" } } },
            },
            { when = "qos.amsdupresent && !fc.protected",
                { ".wlan.da", "ether", "Destination address" },
                { ".wlan.sa", "ether", "Source address" },
                { "_amsdu", 16 },
            },
        },
    },
    { "_body", value = "$len" }, -- where what it carries begins
    { "_type", 8, overlay = true },
    { switch = "_type & 3",
        cases = { [0] = { { call = "frame" } }, [1] = { { call = "short_frame" } } },
        default = { { "_", 6 }, { "fc.version", 2, "Version" }, { check = "0", "a version that there isn't" } },
    },
}
-- The short header of version 1, IEEE 802.11ah: a station may be meant by the number that it was given.
local sid = { "fc.sid", 16, "SID", base = "hex", sub = {
    { "fc.sid.a_msdu", "bool", "A-MSDU" },
    { "fc.sid.a4_present", "bool", "A4 Present" },
    { "fc.sid.a3_present", "bool", "A3 Present" },
    { "fc.sid.association_id", "uint", "Association ID", base = "hex", digits = 4, value = "fc.sid & 0x1fff" },
} }
local short_frame = {
    le("fc", 16, "Frame Control", "fc.", "version:2 type:3 ptid:3 from_ds more_fragments power_management more_data "
        .. "protected_frame end_of_service_period relayed_frame ack_policy"),
    { switch = "fc.type", cases = {
        [0] = {
            { switch = "fc.from_ds",
                cases = { [1] = { sid, { "ta", "ether", "Transmitter address" } } },
                default = { address("Receiver address", "ra"), sid },
            },
            sequence_control,
            { when = "fc.sid & 0x2000", address("Destination address", "da") },
            { when = "fc.sid & 0x4000", address("Source address", "sa") },
        },
        [3] = { address("Receiver address", "ra"), { "ta", "ether", "Transmitter address" }, sequence_control },
    } },
    { "_short_body", "bytes" },
}

local frame = {
    { "fc.type_subtype", "uint", "Type/Subtype", base = "hex", digits = 4, values = subtypes,
        value = "_type == 0x64 ? 0x160 | $u8(1) & 15 : (_type & 0x0c) << 2 | _type >> 4" },
    { "fc", 16, "Frame Control", base = "hex", sub = {
        { "fc.subtype", 4, "Subtype" },
        { "fc.type", 2, "Type", values = types },
        { "fc.version", 2, "Version" },
        { "flags", 8, "Flags", base = "hex", sub = {
            { "fc.order", "bool", "+HTC/Order" },
            { "fc.protected", "bool", "Protected" },
            { "fc.moredata", "bool", "More Data" },
            { "fc.pwrmgt", "bool", "Power Management" },
            { "fc.retry", "bool", "Retry" },
            { "fc.frag", "bool", "More Fragments" },
            { "fc.fromds", "bool", "From DS" },
            { "fc.tods", "bool", "To DS" },
            { "fc.ds", "uint", "DS status", base = "hex", digits = 2, value = "fc.fromds << 1 | fc.tods" },
        } },
    } },
    { switch = "($u8(3) & 0xc0) == 0xc0 && fc.type == 1 && fc.subtype == 10",
        cases = { [1] = { le("_aid", 16, "Association ID", "", "aid:14d") } },
        default = { le("_duration", 16, "Duration", "", "duration:15d") },
    },
    { "_fcs", value = "$passed & 1 ? 4 : 0" },
    -- the FCS is at the end and no part of what is before it
    { when = "_fcs && $len >= 14", { at = "$len - 4", size = 4,
        { "fcs", 32, "Frame check sequence", base = "hex", le = true },
        { "fcs.status", "uint", "FCS Status", value = 2, values = { [2] = "Unverified" } },
    } },
    { size = "$rest - _fcs",
        { switch = "fc.type", cases = {
            [0] = { { call = "management" } },
            [1] = { { call = "control" } },
            [2] = { { call = "data" }, { "_body", value = "fc.subtype & 4 || $rest == 0 ? $len : $here" } },
        } },
    },
}
wlan.groups.frame, wlan.groups.short_frame = frame, short_frame

return { radiotap, wlan }
