--- IEEE 802.11 frames (IEEE 802.11-2020 9), with the fixed parameters and the common elements of management frames.

local elements = require "ringtap.proto.ieee80211_elements"
local le = require "ringtap.protocol.bits"

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
                    { "tag.number", 8, "Tag Number", values = elements.names },
                    { "tag.length", 8, "Tag length" },
                    { switch = "tag.number", size = "tag.length", cases = elements.items,
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

return wlan
