--- SCTP, RFC 9260, with partial reliability (RFC 3758), authentication (RFC 4895), address reconfiguration (RFC 5061),
-- padding (RFC 4820), stream reconfiguration (RFC 6525), interleaving (RFC 8260), NR-SACK and packet drop reports. The
-- payload of the first whole message is what follows.

local chunk_names = {
    [0] = "DATA", [1] = "INIT", [2] = "INIT_ACK", [3] = "SACK", [4] = "HEARTBEAT", [5] = "HEARTBEAT_ACK",
    [6] = "ABORT", [7] = "SHUTDOWN", [8] = "SHUTDOWN_ACK", [9] = "ERROR", [10] = "COOKIE_ECHO", [11] = "COOKIE_ACK",
    [12] = "ECNE", [13] = "CWR", [14] = "SHUTDOWN_COMPLETE", [15] = "AUTH", [16] = "NR_SACK", [64] = "I_DATA",
    [128] = "ASCONF_ACK", [129] = "PKTDROP", [130] = "RE_CONFIG", [132] = "PAD", [192] = "FORWARD_TSN",
    [193] = "ASCONF", [194] = "I_FORWARD_TSN",
}

local parameter_names = {
    [0x0001] = "Heartbeat info", [0x0005] = "IPv4 address", [0x0006] = "IPv6 address", [0x0007] = "State cookie",
    [0x0008] = "Unrecognized parameter", [0x0009] = "Cookie preservative", [0x000b] = "Hostname address",
    [0x000c] = "Supported address types", [0x000d] = "Outgoing SSN reset request",
    [0x000e] = "Incoming SSN reset request", [0x000f] = "SSN/TSN reset request",
    [0x0010] = "Re-configuration response", [0x0011] = "Add outgoing streams request",
    [0x0012] = "Add incoming streams request", [0x8000] = "ECN", [0x8002] = "Random",
    [0x8003] = "Authenticated Chunk list", [0x8004] = "Requested HMAC Algorithm", [0x8005] = "Padding",
    [0x8008] = "Supported Extensions", [0xc000] = "Forward TSN supported", [0xc001] = "Add IP address",
    [0xc002] = "Delete IP address", [0xc003] = "Error cause indication", [0xc004] = "Set primary address",
    [0xc005] = "Success report", [0xc006] = "Adaptation Layer Indication",
}

local cause_names = {
    [0x0001] = "Invalid stream identifier", [0x0002] = "Missing mandatory parameter", [0x0003] = "Stale cookie error",
    [0x0004] = "Out of resource", [0x0005] = "Unresolvable address", [0x0006] = "Unrecognized chunk type",
    [0x0007] = "Invalid mandatory parameter", [0x0008] = "Unrecognized parameters", [0x0009] = "No user data",
    [0x000a] = "Cookie received while shutting down",
    [0x000b] = "Restart of an association with new addresses", [0x000c] = "User initiated ABORT",
    [0x000d] = "Protocol violation", [0x00a0] = "Request to delete last address",
    [0x00a1] = "Operation refused due to resource shortage", [0x00a2] = "Request to delete source address",
    [0x00a3] = "Association aborted due to illegal ASCONF-ACK", [0x00a4] = "Request refused - no authorization",
    [0x0105] = "Unsupported HMAC identifier",
}

local hmac_names = { [0] = "Reserved", [1] = "SHA-1", [3] = "SHA-256" }

-- Chunks, parameters and causes end at a multiple of 4 bytes; the last one's padding may be missing.
local function padding(name, title)
    return {
        { name, "bytes", title, size = "4 - $here % 4 > $rest ? $rest : 4 - $here % 4", overlay = true,
            when = "$here % 4 != 0 && $rest > 0" },
        { switch = "$rest < (4 - $here % 4) % 4", cases = { [1] = { { "_", "bytes" } } }, default = { { align = 4 } } },
    }
end

local parameters = { call = "parameters", when = "$rest > 0" }
local causes = { call = "causes", when = "$rest > 0" }

local correlated = {
    { "correlation_id", 32, "Correlation_id", base = "hex" },
    parameters,
}

local parameter_values = {
    [0x0001] = { { "parameter_heartbeat_information", "bytes", "Heartbeat information" } },
    [0x0005] = { { "parameter_ipv4_address", "ipv4", "IP Version 4 address" } },
    [0x0006] = { { "parameter_ipv6_address", "ipv6", "IP Version 6 address" } },
    [0x0007] = { { "parameter_state_cookie", "bytes", "State cookie" } },
    [0x0008] = { parameters },
    [0x0009] = { { "parameter_cookie_preservative_incr", 32, "Suggested Cookie life-span increment (msec)" } },
    [0x000b] = { { "parameter_hostname", "stringz", "Hostname" } },
    [0x000c] = { { loop = true, list = "types", { "parameter_supported_address_type", 16, "Supported address type",
        values = { [5] = "IPv4", [6] = "IPv6", [11] = "Hostname" } } } },
    [0x000d] = {
        { "parameter_reconfig_request_sequence_number", 32, "Re-configuration request sequence number" },
        { "parameter_reconfig_response_sequence_number", 32, "Re-configuration response sequence number" },
        { "parameter_senders_last_assigned_tsn", 32, "Senders last assigned TSN" },
        { loop = true, list = "streams", { "parameter_reconfig_sid", 16, "Stream Identifier" } },
    },
    [0x000e] = {
        { "parameter_reconfig_request_sequence_number", 32, "Re-configuration request sequence number" },
        { loop = true, list = "streams", { "parameter_reconfig_sid", 16, "Stream Identifier" } },
    },
    [0x000f] = { { "parameter_reconfig_request_sequence_number", 32, "Re-configuration request sequence number" } },
    [0x0010] = {
        { "parameter_reconfig_response_sequence_number", 32, "Re-configuration response sequence number" },
        { "parameter_reconfig_response_result", 32, "Result", values = {
            [0] = "Success - Nothing to do", [1] = "Success - Performed", [2] = "Denied", [3] = "Error - Wrong SSN",
            [4] = "Error - Request already in progress", [5] = "Error - Bad sequence number", [6] = "In progress",
        } },
        { when = "$rest >= 8",
            { "parameter_senders_next_tsn", 32, "Senders next TSN" },
            { "parameter_receivers_next_tsn", 32, "Receivers next TSN" },
        },
    },
    [0x0011] = {
        { "parameter_reconfig_request_sequence_number", 32, "Re-configuration request sequence number" },
        { "parameter_add_outgoing_streams_number", 16, "Number of streams" },
        { "parameter_add_outgoing_streams_reserved", 16, "Reserved" },
    },
    [0x0012] = {
        { "parameter_reconfig_request_sequence_number", 32, "Re-configuration request sequence number" },
        { "parameter_add_incoming_streams_number", 16, "Number of streams" },
        { "parameter_add_incoming_streams_reserved", 16, "Reserved" },
    },
    [0x8000] = {}, [0xc000] = {},
    [0x8002] = { { "random_number", "bytes", "Random number" } },
    [0x8003] = { { loop = true, list = "chunks", { "chunk_type_to_auth", 8, "Chunk type", values = chunk_names } } },
    [0x8004] = { { loop = true, list = "hmacs", { "hmac_id", 16, "HMAC identifier", values = hmac_names } } },
    [0x8008] = { { loop = true, list = "chunks", { "supported_chunk_type", 8, "Supported chunk type",
        values = chunk_names } } },
    [0xc001] = correlated, [0xc002] = correlated, [0xc004] = correlated,
    [0xc003] = {
        { "correlation_id", 32, "Correlation_id", base = "hex" },
        causes,
    },
    [0xc005] = { { "correlation_id", 32, "Correlation_id", base = "hex" } },
    [0xc006] = { { "adaptation_layer_indication", 32, "Indication", base = "hex" } },
}

local cause_values = {
    [0x0001] = {
        { "cause_stream_identifier", 16, "Stream identifier" },
        { "cause_reserved", 16, "Reserved" },
    },
    [0x0002] = {
        { "cause_nr_of_missing_parameters", 32, "Number of missing parameters" },
        { loop = "cause_nr_of_missing_parameters", list = "missing", { "cause_missing_parameter_type", 16,
            "Missing parameter type", base = "hex", values = parameter_names } },
    },
    [0x0003] = { { "cause_measure_of_staleness", 32, "Measure of staleness in usec" } },
    [0x0004] = {}, [0x0007] = {}, [0x000a] = {},
    [0x0005] = { parameters }, [0x0008] = { parameters }, [0x000b] = { parameters }, [0x00a0] = { parameters },
    [0x00a1] = { parameters }, [0x00a2] = { parameters }, [0x00a4] = { parameters },
    [0x0006] = { { call = "chunk", when = "$rest > 0" } },
    [0x0009] = { { "cause_tsn", 32, "TSN" } },
    [0x0105] = { { "hmac_id", 16, "HMAC identifier", values = hmac_names } },
}

local data_flags = {
    { "_", 4 },
    { "data_i_bit", "bool", "I-Bit" },
    { "data_u_bit", "bool", "U-Bit" },
    { "data_b_bit", "bool", "B-Bit", default = true },
    { "data_e_bit", "bool", "E-Bit", default = true },
}

local flags = {
    [0] = data_flags, [64] = data_flags,
    [3] = { { "_", 7 }, { "sack_nounce_sum", 1, "Nounce sum" } },
    [6] = { { "_", 7 }, { "abort_t_bit", "bool", "T-Bit" } },
    [14] = { { "_", 7 }, { "shutdown_complete_t_bit", "bool", "T-Bit" } },
    [16] = { { "_", 7 }, { "nr_sack_nounce_sum", 1, "Nounce sum" } },
    [129] = {
        { "_", 5 },
        { "pckdrop_t_bit", "bool", "T-Bit" },
        { "pckdrop_b_bit", "bool", "B-Bit" },
        { "pckdrop_m_bit", "bool", "M-Bit" },
    },
}

-- Where the first whole message is, and for whom. Wireshark has no name for what a chunk carries.
local payload = {
    { when = "_data == 0 && data_b_bit && data_e_bit && $rest > 0",
        { "_data", value = "$here" },
        { "_data_size", value = "$rest" },
        { "_data_kind", value = "data_payload_proto_id" },
    },
    { "payload", "bytes", "Payload", when = "$rest > 0" },
}

-- Blocks of TSNs, which count from the one that is acknowledged with all before it.
local function blocks(count, name, tsn, total)
    return {
        { "_acked", value = "0" },
        { loop = count, list = name .. "s",
            { name .. "_start", 16, "Start" },
            { name .. "_start_tsn", 32, "Start TSN", value = ("(%s + %s_start) & 0xffffffff"):format(tsn, name) },
            { name .. "_end", 16, "End" },
            { name .. "_end_tsn", 32, "End TSN", value = ("(%s + %s_end) & 0xffffffff"):format(tsn, name) },
            { "_acked", value = ("_acked + (%s_end >= %s_start ? %s_end - %s_start + 1 : 0)"):format(name, name, name,
                name) },
        },
        { total, 32, "Number of TSNs in gap acknowledgement blocks", value = "_acked", when = count .. " > 0" },
    }
end

local function init(prefix)
    return {
        { prefix .. "_initiate_tag", 32, "Initiate tag", base = "hex", also = "initiate_tag" },
        { prefix .. "_credit", 32, "Advertised receiver window credit (a_rwnd)" },
        { prefix .. "_nr_out_streams", 16, "Number of outbound streams" },
        { prefix .. "_nr_in_streams", 16, "Number of inbound streams" },
        { prefix .. "_initial_tsn", 32, "Initial TSN" },
        parameters,
    }
end

local bodies = {
    [0] = {
        { "data_tsn_raw", 32, "Transmission sequence number (absolute)" },
        { "data_sid", 16, "Stream identifier", base = "hex" },
        { "data_ssn", 16, "Stream sequence number" },
        { "data_payload_proto_id", 32, "Payload protocol identifier" },
        payload[1], payload[2],
    },
    [1] = init "init",
    [2] = init "initack",
    [3] = {
        { "sack_cumulative_tsn_ack_raw", 32, "Cumulative TSN ACK (absolute)" },
        { "sack_a_rwnd", 32, "Advertised receiver window credit (a_rwnd)" },
        { "sack_number_of_gap_blocks", 16, "Number of gap acknowledgement blocks" },
        { "sack_number_of_duplicated_tsns", 16, "Number of duplicated TSNs" },
        blocks("sack_number_of_gap_blocks", "sack_gap_block", "sack_cumulative_tsn_ack_raw",
            "sack_number_of_tsns_gap_acked"),
        { loop = "sack_number_of_duplicated_tsns", list = "duplicates", { "sack_duplicate_tsn", 32, "Duplicate TSN" } },
    },
    [4] = { parameters },
    [5] = { parameters },
    [6] = { causes },
    [7] = { { "shutdown_cumulative_tsn_ack", 32, "Cumulative TSN Ack" } },
    [8] = {},
    [9] = { causes },
    [10] = { { "cookie", "bytes", "Cookie" } },
    [11] = {},
    [12] = { { "ecne_lowest_tsn", 32, "Lowest TSN" } },
    [13] = { { "cwr_lowest_tsn", 32, "Lowest TSN" } },
    [14] = {},
    [15] = {
        { "shared_key_id", 16, "Shared key identifier" },
        { "hmac_id", 16, "HMAC identifier", values = hmac_names },
        { "hmac", "bytes", "HMAC", when = "$rest > 0" },
    },
    [16] = {
        { "nr_sack_cumulative_tsn_ack", 32, "Cumulative TSN ACK" },
        { "nr_sack_a_rwnd", 32, "Advertised receiver window credit (a_rwnd)" },
        { "nr_sack_number_of_gap_blocks", 16, "Number of gap acknowledgement blocks" },
        { "nr_sack_number_of_nr_gap_blocks", 16, "Number of nr-gap acknowledgement blocks" },
        { "nr_sack_number_of_duplicated_tsns", 16, "Number of duplicated TSNs" },
        { "nr_sack_reserved", 16, "Reserved", base = "hex" },
        blocks("nr_sack_number_of_gap_blocks", "nr_sack_gap_block", "nr_sack_cumulative_tsn_ack",
            "nr_sack_number_of_tsns_gap_acked"),
        blocks("nr_sack_number_of_nr_gap_blocks", "nr_sack_nr_gap_block", "nr_sack_cumulative_tsn_ack",
            "nr_sack_number_of_tsns_nr_gap_acked"),
        { loop = "nr_sack_number_of_duplicated_tsns", list = "duplicates",
            { "nr_sack_duplicate_tsn", 32, "Duplicate TSN" } },
    },
    [64] = {
        { "data_tsn_raw", 32, "Transmission sequence number (absolute)" },
        { "data_sid", 16, "Stream identifier", base = "hex" },
        { "data_reserved", 16, "Reserved" },
        { "data_mid", 32, "Message identifier" },
        { "data_payload_proto_id", 32, "Payload protocol identifier", when = "data_b_bit" },
        { "data_fsn", 32, "Fragment sequence number", when = "!data_b_bit" },
        payload[1], payload[2],
    },
    [128] = {
        { "asconf_ack_seq_nr_number", 32, "Sequence number", base = "hex" },
        parameters,
    },
    [129] = {
        { "pktdrop_bandwidth", 32, "Bandwidth" },
        { "pktdrop_queuesize", 32, "Queuesize" },
        { "pktdrop_truncated_length", 16, "Truncated length" },
        { "pktdrop_reserved", 16, "Reserved" },
        { "_", "bytes" },
    },
    [130] = { parameters },
    [132] = { { "padding_data", "bytes", "Padding data", when = "$rest > 0" } },
    [192] = {
        { "forward_tsn_tsn", 32, "New cumulative TSN" },
        { loop = true, list = "streams",
            { "forward_tsn_sid", 16, "Stream identifier" },
            { "forward_tsn_ssn", 16, "Stream sequence number" },
        },
    },
    [193] = {
        { "asconf_seq_nr_number", 32, "Sequence number", base = "hex" },
        parameters,
    },
    [194] = {
        { "i_forward_tsn_tsn", 32, "New cumulative TSN" },
        { loop = true, list = "streams",
            { "i_forward_tsn_sid", 16, "Stream identifier" },
            { "i_forward_tsn_flags", 16, "Flags", base = "hex", sub = {
                { "i_forward_tsn_res", 15, "Reserved" },
                { "i_forward_tsn_u_bit", "bool", "U-Bit" },
            } },
            { "forward_tsn_mid", 32, "Message identifier" },
        },
    },
}

local groups = {
    chunk = {
        { "chunk_type", 8, "Chunk type", values = chunk_names, sub = {
            { "chunk_bit_1", "bool", "Bit" },
            { "chunk_bit_2", "bool", "Bit" },
            { "_", 6 },
        } },
        { "chunk_flags", 8, "Chunk flags", base = "hex", sub = { { switch = "chunk_type", cases = flags } } },
        { "chunk_length", 16, "Chunk length" },
        { check = "chunk_length >= 4", "a chunk's length below 4" },
        { switch = "chunk_type", size = "chunk_length - 4", cases = bodies,
            default = { { "chunk_value", "bytes", "Chunk value", when = "$rest > 0" } } },
        padding("chunk_padding", "Chunk padding"),
    },
    parameters = {
        { loop = true, list = "parameters",
            { "parameter_type", 16, "Parameter type", base = "hex", values = parameter_names, sub = {
                { "parameter_bit_1", "bool", "Bit" },
                { "parameter_bit_2", "bool", "Bit" },
                { "_", 14 },
            } },
            { "parameter_length", 16, "Parameter length" },
            { check = "parameter_length >= 4", "a parameter's length below 4" },
            { switch = "parameter_type", size = "parameter_length - 4", cases = parameter_values,
                default = { { "parameter_value", "bytes", "Parameter value", when = "$rest > 0" } } },
            padding("parameter_padding", "Parameter padding"),
        },
    },
    causes = {
        { loop = true, list = "causes",
            { "cause_code", 16, "Cause code", base = "hex", values = cause_names },
            { "cause_length", 16, "Cause length" },
            { check = "cause_length >= 4", "a cause's length below 4" },
            { switch = "cause_code", size = "cause_length - 4", cases = cause_values,
                default = { { "cause_information", "bytes", "Cause information", when = "$rest > 0" } } },
            padding("cause_padding", "Cause padding"),
        },
    },
}

local at_payload = { at = "_data", size = "_data_size", when = "_data != 0" }

local function carried(rule)
    for key, value in pairs(at_payload) do
        rule[key] = value
    end
    return rule
end

return {
    name = "sctp", title = "Stream Control Transmission Protocol",
    on = { ["ip.proto"] = 132, ["udp.port"] = 9899 },
    header = "$len",
    next = {
        carried { table = "sctp.ppi", key = "_data_kind" },
        carried { table = "sctp.port", key = "srcport < dstport ? srcport : dstport" },
        carried { table = "sctp.port", key = "srcport < dstport ? dstport : srcport" },
        carried { guess_by = "sctp" },
        carried { "data" },
    },
    checksum = { field = "checksum", sum = "crc32c" },
    groups = groups,
    line = "sctp [{chunk_type*}], length {=$len}",
    { "srcport", 16, "Source port", also = "port", default = 50000 },
    { "dstport", 16, "Destination port", also = "port" },
    { "verification_tag", 32, "Verification tag", base = "hex" },
    { "checksum", 32, "Checksum", base = "hex" },
    { "checksum.status", value = "$checksum", values = { [0] = "Bad", [1] = "Good", [2] = "Unverified" } },
    { loop = true, list = "chunks", { call = "chunk" } },
}
