--- DCCP, RFC 4340, with the options of CCID 3 (RFC 4342). Sequence numbers have 48 bits, or 24 without the X bit.

local types = {
    [0] = "Request", [1] = "Response", [2] = "Data", [3] = "Ack", [4] = "DataAck", [5] = "CloseReq", [6] = "Close",
    [7] = "Reset", [8] = "Sync", [9] = "SyncAck",
}

local reset_codes = {
    [0] = "Unspecified", [1] = "Closed", [2] = "Aborted", [3] = "No Connection", [4] = "Packet Error",
    [5] = "Option Error", [6] = "Mandatory Error", [7] = "Connection Refused", [8] = "Bad Service Code",
    [9] = "Too Busy", [10] = "Bad Init Cookie", [11] = "Aggression Penalty",
}

local features = {
    [1] = "Congestion Control ID (CCID)", [2] = "Allow Short Seqnums", [3] = "Sequence Window", [4] = "ECN Incapable",
    [5] = "Ack Ratio", [6] = "Send Ack Vector", [7] = "Send NDP Count", [8] = "Minimum Checksum Coverage",
    [9] = "Check Data Checksum", [192] = "Send Loss Event Rate",
}

local option_names = {
    [0] = "Padding", [1] = "Mandatory", [2] = "Slow Receiver", [32] = "Change L", [33] = "Confirm L",
    [34] = "Change R", [35] = "Confirm R", [36] = "Init Cookie", [37] = "NDP Count", [38] = "Ack Vector [Nonce 0]",
    [39] = "Ack Vector [Nonce 1]", [40] = "Data Dropped", [41] = "Timestamp", [42] = "Timestamp Echo",
    [43] = "Elapsed Time", [44] = "Data Checksum", [192] = "CCID3 Loss Event Rate", [193] = "CCID3 Loss Intervals",
    [194] = "CCID3 Receive Rate",
}

local feature = {
    { "feature_number", 8, "Feature Number", values = features },
    { "_feature_value", "bytes", when = "$rest > 0" },
}

local options = {
    [32] = feature, [33] = feature, [34] = feature, [35] = feature,
    [36] = { { "init_cookie", "bytes", "Init Cookie" } },
    [37] = { { "ndp_count", "uint", "NDP Count", size = "$rest", when = "$rest > 0 && $rest <= 6" } },
    [38] = { { "ack_vector.nonce_0", "bytes", "Ack Vector [Nonce 0]" } },
    [39] = { { "ack_vector.nonce_1", "bytes", "Ack Vector [Nonce 1]" } },
    [40] = { { "data_dropped", "bytes", "Data Dropped" } },
    [41] = { { "timestamp", 32, "Timestamp", when = "$rest == 4" } },
    [42] = {
        { "timestamp_echo", 32, "Timestamp Echo", when = "$rest >= 4" },
        { "elapsed_time", "uint", "Elapsed Time", size = "$rest", when = "$rest == 2 || $rest == 4" },
    },
    [43] = { { "elapsed_time", "uint", "Elapsed Time", size = "$rest", when = "$rest == 2 || $rest == 4" } },
    [44] = { { "checksum_data", 32, "Data Checksum", base = "hex", when = "$rest == 4" } },
    [192] = { { "ccid3_loss_event_rate", 32, "CCID3 Loss Event Rate", when = "$rest == 4" } },
    [193] = { { "ccid3_loss_intervals", "bytes", "CCID3 Loss Intervals" } },
    [194] = { { "ccid3_receive_rate", 32, "CCID3 Receive Rate", when = "$rest == 4" } },
}

-- what a byte alone means
local short = {
    [0] = { { "padding", "bytes", "Padding", size = 1, overlay = true } },
    [1] = { { "mandatory", "bytes", "Mandatory", size = 1, overlay = true } },
    [2] = { { "slow_receiver", "bytes", "Slow Receiver", size = 1, overlay = true } },
}

local acknowledgment = "type == 1 || type >= 3 && type <= 9"

return {
    name = "dccp", title = "Datagram Congestion Control Protocol",
    on = { ["ip.proto"] = 33 },
    header = "data_offset * 4",
    check = {
        { "data_offset * 4 >= (x ? 16 : 12)", "its data begins inside of its header" },
        { "x || type >= 2 && type <= 4", "a short sequence number in a packet that has none" },
    },
    checksum = { field = "checksum", pseudo = true, protocol = 33, length = "$len",
        to = "cscov == 0 || (data_offset + cscov - 1) * 4 > $len ? $len : (data_offset + cscov - 1) * 4" },
    line = {
        "DCCP DCCP-{type}",
        { when = "type <= 1", " (service={service_code})" },
        { when = "type == 7", " (code={reset_code})" },
        { when = acknowledgment, " (ack={ack_raw})" },
        ", seq {seq_raw}, length {=$payload}",
    },
    { "srcport", 16, "Source Port", also = "port", default = 50000 },
    { "dstport", 16, "Destination Port", also = "port" },
    { "data_offset", 8, "Data Offset" },
    { "ccval", 4, "CCVal" },
    { "cscov", 4, "Checksum Coverage" },
    { "checksum", 16, "Checksum", base = "hex" },
    { "checksum.status", value = "$checksum", values = { [0] = "Bad", [1] = "Good", [2] = "Unverified" } },
    { "res1", 3, "Reserved", base = "hex" },
    { "type", 4, "Type", values = types },
    { "x", "bool", "Extended Sequence Numbers", default = true },
    { when = "x",
        { "res2", 8, "Reserved", base = "hex" },
        { "seq_raw", 48, "Sequence Number" },
        { when = acknowledgment,
            { "ack_res", 16, "Reserved", base = "hex" },
            { "ack_raw", 48, "Acknowledgement Number" },
        },
    },
    { when = "!x",
        { "seq_raw", 24, "Sequence Number" },
        { when = acknowledgment,
            { "ack_res", 8, "Reserved", base = "hex" },
            { "ack_raw", 24, "Acknowledgement Number" },
        },
    },
    { "service_code", 32, "Service Code", when = "type <= 1" },
    { when = "type == 7",
        { "reset_code", 8, "Reset Code", values = reset_codes },
        { "data1", 8, "Data 1" },
        { "data2", 8, "Data 2" },
        { "data3", 8, "Data 3" },
    },
    { size = "data_offset * 4 - $here", when = "data_offset * 4 > $here",
        { loop = true, list = "options",
            { switch = "$at8(0)", cases = short },
            { "option_type", 8, "Option Type", values = option_names },
            { when = "option_type >= 32",
                { "_option_length", 8 },
                { check = "_option_length >= 2", "an option's length below 2" },
                { switch = "option_type", size = "_option_length - 2", cases = options,
                    default = { { "_option_data", "bytes", when = "$rest > 0" } } },
            },
        },
    },
}
