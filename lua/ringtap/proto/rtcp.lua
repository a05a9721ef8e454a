--- RTCP, RFC 3550 section 6, with extended reports (RFC 3611) and feedback messages (RFC 4585, 5104). One layer holds
-- all packets of a compound packet. Besides on ports that a script names it is found by how it looks.

-- A generic NACK's bits stand for the 16 packets after the first lost one.
local lost = {}
for i = 0, 15 do
    lost[#lost + 1] = { "rtpfb.nack_pid", "uint", "RTCP Transport Feedback NACK PID",
        value = ("(_first + %d) & 0xffff"):format(i + 1), when = ("rtpfb.nack_blp & %d"):format(1 << i) }
end

local function tenths(bytes)
    return ("%g"):format(bytes:byte() / 10)
end

-- A count or format in the first byte, then the type: what is counted depends on the type, which stands behind it.
local function head(name, title, values)
    return {
        { name, 5, title, values = values },
        { "pt", 8, "Packet type" },
    }
end

local reception_count = head("rc", "Reception report count")
local source_count = head("sc", "Source count")
local subtype = head("app.subtype", "Subtype")
local rtpfb = head("rtpfb.fmt", "RTCP Feedback message type (FMT)", {
    [1] = "Generic negative acknowledgement (NACK)", [3] = "Temporary Maximum Media Stream Bit Rate Request (TMMBR)",
    [4] = "Temporary Maximum Media Stream Bit Rate Notification (TMMBN)",
    [15] = "Transport-wide Congestion Control (Transport-cc)", [31] = "Reserved for future extensions",
})
local psfb = head("psfb.fmt", "RTCP Feedback message type (FMT)", {
    [1] = "Picture Loss Indication", [2] = "Slice Loss Indication", [3] = "Reference Picture Selection Indication",
    [4] = "Full Intra Request (FIR) Command", [5] = "Temporal-Spatial Trade-off Request (TSTR)",
    [6] = "Temporal-Spatial Trade-off Notification (TSTN)", [7] = "Video Back Channel Message (VBCM)",
    [15] = "Application Layer Feedback", [31] = "Reserved for future extensions",
})
local uncounted = { { "_count", 5 }, { "pt", 8, "Packet type" } }

for _, items in ipairs { reception_count, source_count, subtype, rtpfb, psfb, uncounted } do
    items[2].values = {
        [192] = "Full Intra-frame Request (H.261)", [193] = "Negative Acknowledgement (H.261)",
        [194] = "SMPTE time-code mapping", [195] = "Extended inter-arrival jitter report", [200] = "Sender Report",
        [201] = "Receiver Report", [202] = "Source description", [203] = "Goodbye", [204] = "Application specific",
        [205] = "Generic RTP Feedback", [206] = "Payload-specific Feedback", [207] = "Extended report",
        [208] = "AVB RTCP packet", [209] = "Receiver Summary Information", [210] = "Port Mapping",
    }
end

local fb_senders = {
    { "senderssrc", 32, "Sender SSRC", base = "hex" },
    { "mediassrc", 32, "Media source SSRC", base = "hex" },
}

-- RFC 3611, section 4: sequence numbers that blocks begin with
local range = {
    { "ssrc.identifier", 32, "Identifier", base = "hex" },
    { "xr.beginseq", 16, "Begin Sequence Number" },
    { "xr.endseq", 16, "End Sequence Number" },
}
local run_lengths = {
    range[1], range[2], range[3],
    { loop = true, list = "chunks",
        { "_chunk_type", 1 },
        { "xr.chunk.bit_vector", 15, "Bit Vector", when = "_chunk_type == 1" },
        { when = "_chunk_type == 0", { "_run_type", 1 }, { "xr.chunk.length", 14, "Check length" } },
    },
}

return {
    name = "rtcp", title = "Real-time Transport Control Protocol",
    on = { ["udp.port"] = {} },
    guess = { udp = "$u8(0) >> 6 == 2 && $len % 4 == 0 && ($u8(1) == 200 || $u8(1) == 201 || $u8(1) == 203 || "
        .. "$u8(1) == 204 || $u8(1) == 206)" },
    line = "RTCP, {pt}, length {=$len}",
    groups = {
        report = {
            { "ssrc.identifier", 32, "Identifier", base = "hex" },
            { "ssrc.fraction", 8, "Fraction lost" },
            { "ssrc.cum_nr", "int24", "Cumulative number of packets lost" },
            { "ssrc.ext_high", 32, "Extended highest sequence number received", sub = {
                { "ssrc.high_cycles", 16, "Sequence number cycles count" },
                { "ssrc.high_seq", 16, "Highest sequence number received" },
            } },
            { "ssrc.jitter", 32, "Interarrival jitter" },
            { "ssrc.lsr", 32, "Last SR timestamp" },
            { "ssrc.dlsr", 32, "Delay since last SR timestamp" },
        },
        extensions = {
            { "profile-specific-extension.type", 16, "Extension Type" },
            { "_extension_length", 16, overlay = true }, -- the name of the field has a minus in it
            { "profile-specific-extension.length", 16, "Extension Length" },
            { "profile-specific-extension", "bytes", "Profile-specific extension", size = "_extension_length - 4" },
        },
        tmmb = {
            { loop = true, list = "entries",
                { "rtpfb.tmmbr.fci.ssrc", 32, "SSRC", base = "hex" },
                { "rtpfb.tmmbr.fci.exp", 6, "MxTBR Exp" },
                { "rtpfb.tmmbr.fci.mantissa", 17, "MxTBR Mantissa" },
                { "rtpfb.tmmbr.fci.measuredoverhead", 9, "Measured Overhead" },
            },
        },
        fci = { { "fci", "bytes", "Feedback Control Information (FCI)", when = "$rest > 0" } },
    },
    { loop = true, list = "packets",
        { "version", 2, "Version", default = 2, values = {
            [0] = "Old VAT Version", "First Draft Version", "RFC 1889 Version",
        } },
        { check = "version == 2", "version is not 2" },
        { "padding", "bool", "Padding" },
        { switch = "$u8($here + 1)", cases = {
            [200] = reception_count, [201] = reception_count, [202] = source_count, [203] = source_count,
            [204] = subtype, [205] = rtpfb, [206] = psfb,
        }, default = uncounted },
        { "length", 16, "Length" },
        { "_padded", value = "padding ? $at8(4 * length - 1) : 0" },
        { check = "!padding || (_padded > 0 && _padded <= 4 * length)", "padding that can't be" },
        { size = "4 * length",
            { switch = "pt", size = "4 * length - _padded", cases = {
                [200] = {
                    { "senderssrc", 32, "Sender SSRC", base = "hex" },
                    { "timestamp.ntp", "ntp", "MSW and LSW as NTP timestamp", sub = {
                        { "timestamp.ntp.msw", 32, "Timestamp, MSW" },
                        { "timestamp.ntp.lsw", 32, "Timestamp, LSW" },
                    } },
                    { "timestamp.rtp", 32, "RTP timestamp" },
                    { "sender.packetcount", 32, "Sender's packet count" },
                    { "sender.octetcount", 32, "Sender's octet count" },
                    { loop = "rc", list = "reports", { call = "report" } },
                    { loop = true, list = "extensions", { call = "extensions" } },
                },
                [201] = {
                    { "senderssrc", 32, "Sender SSRC", base = "hex" },
                    { loop = "rc", list = "reports", { call = "report" } },
                    { loop = true, list = "extensions", { call = "extensions" } },
                },
                [202] = {
                    { loop = "sc", list = "chunks",
                        { "ssrc.identifier", 32, "Identifier", base = "hex" },
                        { loop = true, list = "items", stop = "sdes.type == 0",
                            { "sdes.type", 8, "Type", values = {
                                [0] = "END", "CNAME (user and domain)", "NAME (common name)",
                                "EMAIL (e-mail address)", "PHONE (phone number)", "LOC (geographic location)",
                                "TOOL (name/version of source app)", "NOTE (note about source)",
                                "PRIV (private extensions)", "H323-CADDR (H.323 callable address)",
                                "Application Specific Identifier",
                            } },
                            { when = "sdes.type != 0",
                                { "sdes.length", 8, "Length" },
                                { size = "sdes.length",
                                    { when = "sdes.type == 8",
                                        { "sdes.prefix.length", 8, "Prefix length" },
                                        { "sdes.prefix.string", "string", "Prefix string",
                                            size = "sdes.prefix.length" },
                                    },
                                    { "sdes.text", "string", "Text", when = "$rest > 0" },
                                },
                            },
                        },
                        { align = 4 },
                    },
                },
                [203] = {
                    { loop = "sc", list = "sources", { "ssrc.identifier", 32, "Identifier", base = "hex" } },
                    { when = "$rest > 0",
                        { "sdes.length", 8, "Length" },
                        { "sdes.text", "string", "Text", size = "sdes.length" },
                    },
                },
                [204] = {
                    { "ssrc.identifier", 32, "Identifier", base = "hex" },
                    { "app.name", "string", "Name (ASCII)", size = 4 },
                    { "app.data", "bytes", "Application specific data", when = "$rest > 0" },
                },
                [205] = {
                    fb_senders[1], fb_senders[2],
                    { switch = "rtpfb.fmt", cases = {
                        [1] = {
                            { loop = true, list = "lost",
                                { "rtpfb.nack_pid", 16, "RTCP Transport Feedback NACK PID" },
                                { "_first", value = "rtpfb.nack_pid" },
                                { "rtpfb.nack_blp", 16, "RTCP Transport Feedback NACK BLP", base = "hex" },
                                lost,
                            },
                        },
                        [3] = { { call = "tmmb" } }, [4] = { { call = "tmmb" } },
                    }, default = { { call = "fci" } } },
                },
                [206] = {
                    fb_senders[1], fb_senders[2],
                    { switch = "psfb.fmt", cases = {
                        [1] = {},
                        [2] = {
                            { loop = true, list = "slices",
                                { "psfb.fir.sli.first", 13, "First MB" },
                                { "psfb.fir.sli.number", 13, "Number of MBs" },
                                { "psfb.fir.sli.picture_id", 6, "Picture ID" },
                            },
                        },
                        [4] = {
                            { loop = true, list = "entries",
                                { "psfb.fir.fci.ssrc", 32, "SSRC", base = "hex" },
                                { "psfb.fir.fci.csn", 8, "Command Sequence Number" },
                                { "psfb.fir.fci.reserved", 24, "Reserved" },
                            },
                        },
                        [15] = {
                            { when = "$at32(0) == 0x52454d42",
                                { "psfb.remb.identifier", "string", "Unique Identifier", size = 4 },
                                { "psfb.remb.fci.number_ssrcs", 8, "Number of Ssrcs" },
                                { "psfb.remb.fci.br_exp", 6, "BR Exp" },
                                { "psfb.remb.fci.br_mantissa", 18, "Br Mantissa" },
                                { loop = "psfb.remb.fci.number_ssrcs", list = "ssrcs",
                                    { "psfb.remb.fci.ssrc", 32, "SSRC", base = "hex" },
                                },
                            },
                            { call = "fci" },
                        },
                    }, default = { { call = "fci" } } },
                },
                [207] = {
                    { "senderssrc", 32, "Sender SSRC", base = "hex" },
                    { loop = true, list = "blocks",
                        { "xr.bt", 8, "Type", values = {
                            "Loss Run Length Encoding Report Block", "Duplicate Run Length Encoding Report Block",
                            "Packet Receipt Times Report Block", "Receiver Reference Time Report Block",
                            "DLRR Report Block", "Statistics Summary Report Block", "VoIP Metrics Report Block",
                            "BT XNQ RTCP XR (RFC5093) Report Block", "Texas Instruments Extended VoIP Quality Block",
                            "Post-repair Loss RLE Report Block", "Multicast Acquisition Report Block",
                            "Inter-destination Media Synchronization Block",
                        } },
                        { when = "xr.bt <= 3", { "_reserved", 4 }, { "xr.tf", 4, "Thinning factor" } },
                        { when = "xr.bt == 6",
                            { "xr.stats.lrflag", "bool", "Loss Report Flag" },
                            { "xr.stats.dupflag", "bool", "Duplicates Report Flag" },
                            { "xr.stats.jitterflag", "bool", "Jitter Report Flag" },
                            { "xr.stats.ttl", 2, "TTL or Hop Limit Flag" },
                            { "_reserved", 3 },
                        },
                        { "xr.bs", 8, "Type Specific", when = "xr.bt > 3 && xr.bt != 6" },
                        { "xr.bl", 16, "Length" },
                        { switch = "xr.bt", size = "4 * xr.bl", cases = {
                            [1] = run_lengths, [2] = run_lengths,
                            [3] = {
                                range[1], range[2], range[3],
                                { loop = true, list = "times", { "xr.receipt_time_seq", 32, "Receipt Time" } },
                            },
                            [4] = { { "xr.timestamp", "ntp", "Timestamp" } },
                            [5] = {
                                { loop = true, list = "reports",
                                    { "ssrc.identifier", 32, "Identifier", base = "hex" },
                                    { "xr.lrr", 32, "Last RR timestamp" },
                                    { "xr.dlrr", 32, "Delay since last RR timestamp" },
                                },
                            },
                            [6] = {
                                range[1], range[2], range[3],
                                { "xr.stats.lost", 32, "Lost Packets" },
                                { "xr.stats.dups", 32, "Duplicate Packets" },
                                { "xr.stats.minjitter", 32, "Minimum Jitter" },
                                { "xr.stats.maxjitter", 32, "Maximum Jitter" },
                                { "xr.stats.meanjitter", 32, "Mean Jitter" },
                                { "xr.stats.devjitter", 32, "Standard Deviation of Jitter" },
                                { "xr.stats.minttl", 8, "Minimum TTL or Hop Limit" },
                                { "xr.stats.maxttl", 8, "Maximum TTL or Hop Limit" },
                                { "xr.stats.meanttl", 8, "Mean TTL or Hop Limit" },
                                { "xr.stats.devttl", 8, "Standard Deviation of TTL" },
                            },
                            [7] = {
                                { "ssrc.identifier", 32, "Identifier", base = "hex" },
                                { "ssrc.fraction", 8, "Fraction lost" },
                                { "ssrc.discarded", 8, "Fraction discarded" },
                                { "xr.voipmetrics.burstdensity", 8, "Burst Density" },
                                { "xr.voipmetrics.gapdensity", 8, "Gap Density" },
                                { "xr.voipmetrics.burstduration", 16, "Burst Duration(ms)" },
                                { "xr.voipmetrics.gapduration", 16, "Gap Duration(ms)" },
                                { "xr.voipmetrics.rtdelay", 16, "Round Trip Delay(ms)" },
                                { "xr.voipmetrics.esdelay", 16, "End System Delay(ms)" },
                                { "xr.voipmetrics.signallevel", "int8", "Signal Level" },
                                { "xr.voipmetrics.noiselevel", "int8", "Noise Level" },
                                { "xr.voipmetrics.rerl", 8, "Residual Echo Return Loss" },
                                { "xr.voipmetrics.gmin", 8, "Gmin" },
                                { "xr.voipmetrics.rfactor", 8, "R Factor" },
                                { "xr.voipmetrics.extrfactor", 8, "External R Factor" },
                                { "xr.voipmetrics.moslq", "bytes", "MOS - Listening Quality", size = 1,
                                    value = tenths },
                                { "xr.voipmetrics.moscq", "bytes", "MOS - Conversational Quality", size = 1,
                                    value = tenths },
                                { "xr.voipmetrics.plc", 2, "Packet Loss Concealment Algorithm" },
                                { "xr.voipmetrics.jba", 2, "Adaptive Jitter Buffer Algorithm" },
                                { "xr.voipmetrics.jbrate", 4, "Jitter Buffer Rate" },
                                { "_reserved", 8 },
                                { "xr.voipmetrics.jbnominal", 16, "Nominal Jitter Buffer Size" },
                                { "xr.voipmetrics.jbmax", 16, "Maximum Jitter Buffer Size" },
                                { "xr.voipmetrics.jbabsmax", 16, "Absolute Maximum Jitter Buffer Size" },
                            },
                        } },
                    },
                },
            }, default = { { "ssrc.identifier", 32, "Identifier", base = "hex", when = "pt >= 208" } } },
            { when = "_padded > 0",
                { "padding.data", "bytes", "Padding data", size = "_padded - 1", when = "_padded > 1" },
                { "padding.count", 8, "Padding count" },
            },
        },
    },
    { "length_check", "bool", "RTCP frame length check", value = 1 },
}
