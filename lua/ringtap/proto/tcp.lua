--- TCP, RFC 9293, with its options: RFC 7323 (timestamps, window scale), 2018 and 2883 (SACK), 1072, 1644, 2385 (MD5),
-- 4782 (Quick-Start), 5482 (user timeout), 5925 (AO), 6994 (experiments), 7413 (Fast Open), 8684 (Multipath TCP), 9768
-- (AccECN), CCSDS 714.0 (SCPS).

local letters = { "R", "R", "R", "A", "C", "E", "U", "A", "P", "R", "S", "F" }

-- One letter for each flag that is set, a middle dot for each that is not.
local function flag_letters(bytes)
    local flags, out = (">I2"):unpack(bytes) & 0xfff, {}
    for i, letter in ipairs(letters) do
        out[i] = flags >> (12 - i) & 1 == 1 and letter or "\u{b7}"
    end
    return table.concat(out)
end

-- The whole option's bytes, under its own name.
local function whole(name, size)
    return { "options." .. name, "bytes", "TCP Option", size = size or "$at8(1)", overlay = true }
end

-- What an option of a fixed length holds.
local function exactly(length, ...)
    return { { check = "option_len == " .. length, "an option has the wrong length" }, ... }
end

local mptcp = "options.mptcp."

local function mptcp_backup()
    return { mptcp .. "flags", 8, "Multipath TCP flags", base = "hex", sub = {
        { "_", 7 },
        { mptcp .. "backup.flag", 1, "Backup flag" },
    } }
end

local mptcp_capable = {
    { "_", 4 },
    { mptcp .. "version", 4, "Multipath TCP version" },
    { mptcp .. "flags", 8, "Multipath TCP flags", base = "hex", sub = {
        { mptcp .. "checksumreq.flags", 1, "Checksum required" },
        { mptcp .. "extensibility.flag", 1, "Extensibility" },
        { when = "options.mptcp.version == 0",
            { mptcp .. "reserved.flag", 5, "Reserved", base = "hex" },
            { mptcp .. "sha1.flag", 1, "Use HMAC-SHA1" },
        },
        { when = "options.mptcp.version != 0",
            { mptcp .. "nomoresubflows.flag", 1,
                "Do not attempt to establish new subflows to this address and port" },
            { mptcp .. "reserved.flag", 4, "Reserved", base = "hex" },
            { mptcp .. "sha256.flag", 1, "Use HMAC-SHA256" },
        },
    } },
    { mptcp .. "sendkey", 64, "Sender's Key", when = "option_len >= 12" },
    { mptcp .. "recvkey", 64, "Receiver's Key", when = "option_len >= 20" },
    { mptcp .. "datalvllen", 16, "Data-level Length", when = "option_len >= 22" },
    { mptcp .. "checksum", 16, "Checksum", base = "hex", when = "option_len >= 24" },
}

-- The SYN, the SYN with ACK and the ACK of a join are told apart by their lengths.
local mptcp_join = {
    { switch = "option_len", cases = {
        [12] = {
            mptcp_backup(),
            { mptcp .. "addrid", 8, "Address ID" },
            { mptcp .. "recvtok", 32, "Receiver's Token" },
            { mptcp .. "sendrand", 32, "Sender's Random Number" },
        },
        [16] = {
            mptcp_backup(),
            { mptcp .. "addrid", 8, "Address ID" },
            { mptcp .. "sendtrunchmac", 64, "Sender's Truncated HMAC" },
            { mptcp .. "sendrand", 32, "Sender's Random Number" },
        },
        [24] = {
            { "_", 4 },
            { mptcp .. "reserved", 12, "Reserved", base = "hex" },
            { mptcp .. "sendhmac", "bytes", "Sender's HMAC", size = 20 },
        },
    } },
}

local mptcp_dss = {
    { "_", 8 },
    { mptcp .. "flags", 8, "Multipath TCP flags", base = "hex", sub = {
        { "_", 3 },
        { mptcp .. "datafin.flag", 1, "DATA_FIN" },
        { mptcp .. "dseqn8.flag", 1, "Data Sequence Number is 8 octets" },
        { mptcp .. "dseqnpresent.flag", 1,
            "Data Sequence Number, Subflow Sequence Number, Data-level Length, Checksum present" },
        { mptcp .. "dataack8.flag", 1, "Data ACK is 8 octets" },
        { mptcp .. "dataackpresent.flag", 1, "Data ACK is present" },
    } },
    { mptcp .. "rawdataack", "uint", "Original MPTCP Data ACK", size = "options.mptcp.dataack8.flag ? 8 : 4",
        when = "options.mptcp.dataackpresent.flag" },
    { when = "options.mptcp.dseqnpresent.flag",
        { mptcp .. "rawdataseqno", "uint", "Data Sequence Number", size = "options.mptcp.dseqn8.flag ? 8 : 4" },
        { mptcp .. "subflowseqno", 32, "Subflow Sequence Number" },
        { mptcp .. "datalvllen", 16, "Data-level Length" },
        { mptcp .. "checksum", 16, "Checksum", base = "hex", when = "$rest >= 2" },
    },
}

-- Version 0 has the IP version in the low nibble; version 1 has an echo flag there, and its length tells which IP.
local mptcp_add_address = {
    { "_", 4 },
    { "_nibble", 4, overlay = true },
    { when = "_nibble == 4 || _nibble == 6",
        { mptcp .. "ipver", 4, "IP version" },
    },
    { when = "_nibble != 4 && _nibble != 6",
        { "_", 3 },
        { mptcp .. "echo", 1, "Echo" },
    },
    { mptcp .. "addrid", 8, "Address ID" },
    { mptcp .. "ipv4", "ipv4", "Advertised IPv4 Address", when = "option_len < 20" },
    { mptcp .. "ipv6", "ipv6", "Advertised IPv6 Address", when = "option_len >= 20" },
    { mptcp .. "port", 16, "Advertised port", when = "$rest == 2 || $rest == 10" },
    { mptcp .. "addaddrtrunchmac", 64, "Truncated HMAC", when = "$rest >= 8" },
}

local mptcp_option = {
    { mptcp .. "subtype", 4, "Multipath TCP subtype", overlay = true, values = {
        [0] = "Multipath Capable", [1] = "Join Connection", [2] = "Data Sequence Signal", [3] = "Add Address",
        [4] = "Remove Address", [5] = "Change Subflow Priority", [6] = "TCP Fallback", [7] = "Fast Close",
        [8] = "TCP Reset",
    } },
    { switch = "options.mptcp.subtype", cases = {
        [0] = mptcp_capable,
        [1] = mptcp_join,
        [2] = mptcp_dss,
        [3] = mptcp_add_address,
        [4] = {
            { "_", 8 },
            { loop = true, { mptcp .. "addrid", 8, "Address ID" } },
        },
        [5] = {
            mptcp_backup(),
            { mptcp .. "addrid", 8, "Address ID", when = "$rest >= 1" },
        },
        [6] = {
            { "_", 4 },
            { mptcp .. "reserved", 12, "Reserved", base = "hex" },
            { mptcp .. "rawdataseqno", 64, "Data Sequence Number" },
        },
        [7] = {
            { "_", 4 },
            { mptcp .. "reserved", 12, "Reserved", base = "hex" },
            { mptcp .. "recvkey", 64, "Receiver's Key" },
        },
        [8] = {
            { mptcp .. "flags", 8, "Multipath TCP flags", base = "hex", sub = {
                { "_", 4 },
                { mptcp .. "flag_U.flag", "bool", "Flag U" },
                { mptcp .. "flag_V.flag", "bool", "Flag V" },
                { mptcp .. "flag_W.flag", "bool", "Flag W" },
                { mptcp .. "flag_T.flag", "bool", "Transient" },
            } },
            { mptcp .. "rst_reason", 8, "TCPRST Reason", base = "hex", values = {
                [0] = "Unspecified error", [1] = "MPTCP-specific error", [2] = "Lack of resources",
                [3] = "Administratively prohibited", [4] = "Too much outstanding data",
                [5] = "Unacceptable performance", [6] = "Middlebox interference",
            } },
        },
    } },
}

local function accurate_ecn(first, third)
    local titles = {
        ee0b = "Accurate ECN Echo ECT(0) Byte Counter", eceb = "Accurate ECN Echo CE Byte Counter",
        ee1b = "Accurate ECN Echo ECT(1) Byte Counter",
    }
    local items = {}
    for i, name in ipairs { first, "eceb", third } do
        items[i] = { "options.acc_ecn." .. name, 24, titles[name], when = "$rest >= 3" }
    end
    return items
end

local fast_open = {
    { "options.tfo.request", "bool", "Fast Open Cookie Request", value = "1", when = "$rest == 0" },
    { "options.tfo.cookie", "bytes", "Fast Open Cookie", when = "$rest > 0" },
}

local experiment = {
    { "options.experimental.exid", 16, "Experiment Identifier", base = "hex", when = "option_len >= 4", values = {
        [0x00ac] = "TCP ACK Rate Request", [0x0348] = "Host ID", [0x0a0d] = "Autonomous System Compensation",
        [0x0ca0] = "Capability Option", [0x0ed0] = "Extended Data Offset", [0x454e] = "Encryption Negotiation",
        [0x5323] = "Service Number", [0x75ec] = "Timestamp Interval", [0xacc0] = "Accurate ECN - Order 0",
        [0xacc1] = "Accurate ECN - Order 1", [0xacce] = "Accurate ECN",
        [0xe2d4] = "Shared Memory communications over RMDA protocol", [0xf989] = "Fast Open",
        [0xf990] = "Low Latency",
    } },
    { switch = "options.experimental.exid", when = "$rest > 0",
        cases = {
            [0x00ac] = {
                { "options.tarr.rate", 7, "TARR Rate" },
                { "options.tar.reserved", 1, "TARR Reserved" },
            },
            [0xacc0] = accurate_ecn("ee0b", "ee1b"),
            [0xacc1] = accurate_ecn("ee1b", "ee0b"),
            [0xf989] = fast_open,
        },
        default = {
            { "options.experimental.data", "bytes", "Data" },
        },
    },
}

-- RFC 2883 4: the first block tells of a duplicate when it is below the acknowledgment number or inside of the second.
local selective_ack = {
    { check = "option_len >= 10 && (option_len - 2) % 8 == 0", "an option has the wrong length" },
    { "_duplicate", value = "((($at32(0) - ack) & 0x80000000) != 0) || (option_len >= 18 && " ..
        "($at32(0) - $at32(8)) & 0xffffffff <= 0x7fffffff && ($at32(12) - $at32(4)) & 0xffffffff <= 0x7fffffff)" },
    { "_first_left", value = "$at32(0)" },
    { "_first_right", value = "$at32(4)" },
    { loop = true, list = "blocks",
        { "options.sack_le", 32, "TCP SACK Left Edge" },
        { "options.sack_re", 32, "TCP SACK Right Edge" },
    },
    { "options.sack.count", 8, "TCP SACK Count", value = "(option_len - 2) / 8" },
    { when = "_duplicate",
        { "options.sack.dsack_le", 32, "TCP D-SACK Left Edge", value = "_first_left" },
        { "options.sack.dsack_re", 32, "TCP D-SACK Right Edge", value = "_first_right" },
    },
}

local rate_names = {
    [0] = "0 bit/s", "80 Kbit/s", "160 Kbit/s", "320 Kbit/s", "640 Kbit/s", "1.28 Mbit/s", "2.56 Mbit/s", "5.12 Mbit/s",
    "10.24 Mbit/s", "20.48 Mbit/s", "40.96 Mbit/s", "81.92 Mbit/s", "163.84 Mbit/s", "327.68 Mbit/s", "655.36 Mbit/s",
    "1.31072 Gbit/s",
}

return {
    name = "tcp", title = "Transmission Control Protocol",
    on = { ["ip.proto"] = 6 },
    header = "hdr_len",
    check = { { "hdr_len >= 20", "header length below 20" } },
    next = {
        { stop = true, when = "$payload == 0" },
        { table = "tcp.port", key = "srcport < dstport ? srcport : dstport" },
        { table = "tcp.port", key = "srcport < dstport ? dstport : srcport" },
        { guess_by = "tcp" },
    },
    checksum = { field = "checksum", pseudo = true, protocol = 6 },
    line = {
        { when = "flags.ack", "Flags {flags.str}, seq {seq}, ack {ack}, win {window_size_value}, length {len}" },
        "Flags {flags.str}, seq {seq}, win {window_size_value}, length {len}",
    },
    { "srcport", 16, "Source Port", also = "port", default = 50000 },
    { "dstport", 16, "Destination Port", also = "port" },
    { "seq", 32, "Sequence Number", also = "seq_raw" },
    { "ack", 32, "Acknowledgment Number", also = "ack_raw" },
    { "hdr_len", 4, "Header Length", scale = 4 },
    { "flags", 12, "Flags", base = "hex", sub = {
        { "flags.res", "bool", "Reserved", bits = 3 },
        { "flags.ae", "bool", "Accurate ECN" },
        { "flags.cwr", "bool", "Congestion Window Reduced" },
        { "flags.ece", "bool", "ECN-Echo" },
        { "flags.urg", "bool", "Urgent" },
        { "flags.ack", "bool", "Acknowledgment" },
        { "flags.push", "bool", "Push" },
        { "flags.reset", "bool", "Reset" },
        { "flags.syn", "bool", "Syn" },
        { "flags.fin", "bool", "Fin" },
    } },
    { "len", 32, "TCP Segment Len", value = "$payload", when = "hdr_len <= $len" },
    { "nxtseq", 32, "Next Sequence Number", value = "(seq + $payload + (flags.syn || flags.fin)) & 0xffffffff",
        when = "hdr_len >= 20 && hdr_len <= $len" },
    { "flags.str", "string", "TCP Flags", value = function(_, layer) return flag_letters(layer:sub(13, 14)) end },
    { "window_size_value", 16, "Window", default = 65535 },
    { "window_size", 32, "Calculated window size", value = "window_size_value" },
    { "checksum", 16, "Checksum", base = "hex" },
    { "checksum.status", value = "$checksum", values = {
        [0] = "Bad", [1] = "Good", [2] = "Unverified", [3] = "Not present",
    } },
    { "urgent_pointer", 16, "Urgent Pointer" },
    { "options", "bytes", "TCP Options", size = "hdr_len - 20", when = "hdr_len > 20", sub = {
        { loop = true, list = "options", stop = "option_kind == 0 && $rest > 0 && $at8(0) != 0",
            { check = "$at8(0) < 2 || ($rest >= 2 && $at8(1) >= 2 && $at8(1) <= $rest)",
                "an option's length leads nowhere" },
            { switch = "$at8(0)",
                cases = {
                    [0] = { whole("eol", 1) }, [1] = { whole("nop", 1) }, [2] = { whole("mss") },
                    [3] = { whole("wscale") }, [4] = { whole("sack_perm") }, [5] = { whole("sack") },
                    [6] = { whole("echo") }, [7] = { whole("echo") }, [8] = { whole("timestamp") },
                    [11] = { whole("cc") }, [12] = { whole("cc") }, [13] = { whole("cc") }, [19] = { whole("md5") },
                    [20] = { whole("scps") }, [21] = { whole("snack") }, [27] = { whole("qs") },
                    [28] = { whole("user_to") }, [29] = { whole("ao") }, [30] = {}, [34] = { whole("tfo") },
                    [76] = { whole("rvbd.probe") }, [78] = { whole("rvbd.trpy") }, [172] = { whole("acc_ecn") },
                    [174] = { whole("acc_ecn") }, [253] = { whole("experimental") }, [254] = { whole("experimental") },
                },
                default = { whole("unknown") },
            },
            { "option_kind", 8, "Kind", values = {
                [0] = "End of Option List", [1] = "No-Operation", [2] = "Maximum Segment Size", [3] = "Window Scale",
                [4] = "SACK Permitted", [5] = "SACK", [6] = "Echo", [7] = "Echo Reply", [8] = "Time Stamp Option",
                [9] = "Partial Order Connection Permitted", [10] = "Partial Order Service Profile", [11] = "CC",
                [12] = "CC.NEW", [13] = "CC.ECHO", [14] = "TCP Alternate Checksum Request",
                [15] = "TCP Alternate Checksum Data", [16] = "Skeeter", [17] = "Bubba",
                [18] = "Trailer Checksum Option", [19] = "MD5 Signature Option", [20] = "SCPS Capabilities",
                [21] = "Selective Negative Acknowledgements", [22] = "Record Boundaries",
                [23] = "Corruption experienced", [24] = "SNAP", [26] = "TCP Compression Filter",
                [27] = "Quick-Start Response", [28] = "User Timeout Option",
                [29] = "The TCP Authentication Option", [30] = "Multipath TCP", [34] = "TCP Fast Open Cookie",
                [76] = "Riverbed Probe", [78] = "Riverbed Transparency", [172] = "Accurate ECN Order 0",
                [174] = "Accurate ECN Order 1", [253] = "RFC3692-style Experiment 1",
                [254] = "RFC3692-style Experiment 2",
            } },
            { when = "option_kind > 1",
                { "option_len", 8, "Length" },
                { switch = "option_kind", size = "option_len - 2",
                    cases = {
                        [2] = exactly(4, { "options.mss_val", 16, "MSS Value" }),
                        [3] = exactly(3,
                            { "options.wscale.shift", 8, "Shift count" },
                            { "options.wscale.multiplier", 16, "Multiplier",
                                value = "1 << (options.wscale.shift > 14 ? 14 : options.wscale.shift)" }),
                        [4] = exactly(2),
                        [5] = selective_ack,
                        [6] = exactly(6, { "options.echo_value", 32, "TCP Echo Option" }),
                        [7] = exactly(6, { "options.echo_value", 32, "TCP Echo Option" }),
                        [8] = exactly(10,
                            { "options.timestamp.tsval", 32, "Timestamp value" },
                            { "options.timestamp.tsecr", 32, "Timestamp echo reply" }),
                        [11] = exactly(6, { "options.cc_value", 32, "TCP CC Option" }),
                        [12] = exactly(6, { "options.cc_value", 32, "TCP CC Option" }),
                        [13] = exactly(6, { "options.cc_value", 32, "TCP CC Option" }),
                        [19] = exactly(18, { "options.md5.digest", "bytes", "MD5 digest", size = 16 }),
                        [20] = exactly(4,
                            { "options.scps.vector", 8, "TCP SCPS Capabilities Vector", base = "hex", sub = {
                                { "options.scpsflags.bets", "bool", "Partial Reliability Capable (BETS)" },
                                { "options.scpsflags.snack1", "bool", "Short Form SNACK Capable (SNACK1)" },
                                { "options.scpsflags.snack2", "bool", "Long Form SNACK Capable (SNACK2)" },
                                { "options.scpsflags.compress", "bool", "Lossless Header Compression (COMP)" },
                                { "options.scpsflags.nlts", "bool", "Network Layer Timestamp (NLTS)" },
                                { "options.scpsflags.reserved", 3, "Reserved" },
                            } },
                            { "options.scps.binding", 8, "Connection ID" }),
                        [21] = exactly(6,
                            { "options.snack.offset", 16, "TCP SNACK Offset" },
                            { "options.snack.size", 16, "TCP SNACK Size" }),
                        [27] = exactly(8,
                            { "_", 4 },
                            { "options.qs.rate", 4, "QS Rate", values = rate_names },
                            { "options.qs.ttl_diff", 8, "QS Rate" }),
                        [28] = exactly(4,
                            { "options.user_to_granularity", "bool", "Granularity" },
                            { "options.user_to_val", 15, "User Timeout" }),
                        [29] = {
                            { check = "option_len >= 4", "an option has the wrong length" },
                            { "options.ao.keyid", 8, "AO KeyID" },
                            { "options.ao.rnextkeyid", 8, "AO RNextKeyID" },
                            { "options.ao.mac", "bytes", "AO MAC", when = "$rest > 0" },
                        },
                        [30] = {
                            { check = "option_len >= 3", "an option has the wrong length" },
                            { when = "option_len >= 3", table.unpack(mptcp_option) },
                        },
                        [34] = fast_open,
                        [76] = {}, [78] = {},
                        [172] = accurate_ecn("ee0b", "ee1b"),
                        [174] = accurate_ecn("ee1b", "ee0b"),
                        [253] = experiment,
                        [254] = experiment,
                    },
                    default = {
                        { "options.unknown.payload", "bytes", "Payload", when = "$rest > 0" },
                    },
                },
            },
        },
    } },
    { "payload", "bytes", "TCP payload", when = "$payload > 0 && $rest > 0", overlay = true },
}
