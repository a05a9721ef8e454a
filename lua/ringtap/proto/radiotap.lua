--- Radiotap (radiotap.org), which comes before IEEE 802.11 frames in monitor mode.

local le = require "ringtap.protocol.bits"

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

return radiotap
