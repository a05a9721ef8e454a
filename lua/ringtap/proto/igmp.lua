--- IGMP: version 0 (RFC 988), 1 (RFC 1112), 2 (RFC 2236), 3 (RFC 3376), and the multicast traceroute that uses its type
-- numbers. The version of a query follows from its length and its second byte, RFC 3376 7.1.

local sources = { loop = "num_src", list = "sources", { "saddr", "ipv4", "Source Address" } }
local group = { "maddr", "ipv4", "Multicast Address" }

local version_0 = {
    { "identifier", 32, "Identifier" },
    group,
    { "access_key", "bytes", "Access Key", size = 8 },
}

local record = {
    { "record_type", 8, "Record Type", values = {
        [1] = "Mode Is Include", [2] = "Mode Is Exclude", [3] = "Change To Include Mode",
        [4] = "Change To Exclude Mode", [5] = "Allow New Sources", [6] = "Block Old Sources",
    } },
    { "aux_data_len", 8, "Aux Data Len" },
    { "num_src", 16, "Num Src" },
    group,
    sources,
    { "aux_data", "bytes", "Aux Data", size = "aux_data_len * 4", when = "aux_data_len > 0" },
}

local trace = {
    group,
    { "mtrace.saddr", "ipv4", "Source Address" },
    { "mtrace.raddr", "ipv4", "Receiver Address" },
    { "mtrace.rspaddr", "ipv4", "Response Address" },
    { "mtrace.resp_ttl", 8, "Response TTL" },
    { "mtrace.q_id", 24, "Query ID" },
    { loop = true, list = "blocks",
        { "mtrace.q_arrival", 32, "Query Arrival" },
        { "mtrace.q_inaddr", "ipv4", "In itf addr" },
        { "mtrace.q_outaddr", "ipv4", "Out itf addr" },
        { "mtrace.q_prevrtr", "ipv4", "Previous rtr addr" },
        { "mtrace.q_inpkt", 32, "In pkts" },
        { "mtrace.q_outpkt", 32, "Out pkts" },
        { "mtrace.q_total", 32, "S,G pkt count" },
        { "mtrace.q_rtg_proto", 8, "Rtg Protocol" },
        { "mtrace.q_fwd_ttl", 8, "FwdTTL" },
        { "mtrace.q_mbz", 1, "MBZ", base = "hex" },
        { "mtrace.q_s", 1, "S", base = "hex" },
        { "mtrace.q_src_mask", 6, "Src Mask", base = "hex" },
        { "mtrace.q_fwd_code", 8, "Forwarding Code", base = "hex" },
    },
}

local second_byte = {
    [0x11] = {
        { "reserved", "bytes", "Reserved", size = 1, overlay = true, when = "$len < 12 && $u8(1) == 0" },
        { "max_resp", 8, "Max Resp Time", overlay = true,
            when = "($len >= 12 || $u8(1) != 0) && ($len < 12 || $u8(1) < 128)" },
        { "_code", 8 },
        { when = "$len >= 12 && _code >= 128",
            { "max_resp", 16, "Max Resp Time", value = "((_code & 15) | 0x10) << (((_code >> 4) & 7) + 3)" },
            { "max_resp.exp", 8, "Exponent", value = "(_code >> 4) & 7", base = "hex", digits = 2 },
            { "max_resp.mant", 8, "Mantissa", value = "_code & 15", base = "hex", digits = 2 },
        },
    },
    [0x12] = { { "reserved", "bytes", "Reserved", size = 1 } },
    [0x16] = { { "max_resp", 8, "Max Resp Time" } },
    [0x17] = { { "max_resp", 8, "Max Resp Time" } },
    [0x1e] = { { "mtrace.max_hops", 8, "# hops" } },
    [0x1f] = { { "mtrace.max_hops", 8, "# hops" } },
    [0x22] = { { "reserved", "bytes", "Reserved", size = 1 } },
    [1] = { { "group_type", 8, "Type Of Group", values = { [0] = "Public", [1] = "Private" } } },
}
for kind = 2, 8, 2 do
    second_byte[kind] = { { "reply", 8, "Reply", values = {
        [0] = "Request Granted", [1] = "Request Denied, No Resources", [2] = "Request Denied, Invalid Code",
        [3] = "Request Denied, Invalid Group Address", [4] = "Request Denied, Invalid Access Key",
    } } }
end

local rest = {
    [0x11] = {
        group,
        { when = "$len >= 12",
            { "_", 4 },
            { "s", "bool", "S" },
            { "qrv", 3, "QRV" },
            { "qqic", 8, "QQIC" },
            { "num_src", 16, "Num Src" },
            sources,
        },
    },
    [0x12] = { group }, [0x16] = { group }, [0x17] = { group },
    [0x1e] = trace, [0x1f] = trace,
    [0x22] = {
        { "reserved", "bytes", "Reserved", size = 2 },
        { "num_grp_recs", 16, "Num Group Records" },
        { loop = "num_grp_recs", list = "records", table.unpack(record) },
    },
}
for kind = 1, 8 do
    rest[kind] = version_0
end

return {
    name = "igmp", title = "Internet Group Management Protocol",
    on = { ["ip.proto"] = 2 },
    header = "$len",
    checksum = { field = "checksum" },
    line = {
        { when = "type == 0x11 && $len >= 12", "igmp query v3" },
        { when = "type == 0x11 && $len < 12 && $u8(1) != 0", "igmp query v2" },
        { when = "type == 0x11 && $len < 12 && $u8(1) == 0", "igmp query v1" },
        { when = "type == 0x12", "igmp v1 report {maddr}" },
        { when = "type == 0x16", "igmp v2 report {maddr}" },
        { when = "type == 0x17", "igmp leave {maddr}" },
        { when = "type == 0x22", "igmp v3 report, {num_grp_recs} group record(s)" },
        { when = "type < 0x11 || type == 0x13 || type == 0x14 || type > 0x17 && type != 0x22", "igmp {type}" },
    },
    { "type", 8, "Type", base = "hex", default = 0x16, values = {
        [1] = "Create Group Request", [2] = "Create Group Reply", [3] = "Join Group Request", [4] = "Join Group Reply",
        [5] = "Leave Group Request", [6] = "Leave Group Reply", [7] = "Confirm Group Request",
        [8] = "Confirm Group Reply", [0x11] = "Membership Query", [0x12] = "Membership Report",
        [0x13] = "DVMRP Protocol", [0x14] = "PIM Routing Message", [0x16] = "Membership Report",
        [0x17] = "Leave Group", [0x1e] = "Traceroute Response", [0x1f] = "Traceroute Query or Request",
        [0x22] = "Membership Report",
    } },
    { "version", 8, "IGMP Version",
        value = "type == 0x11 ? ($len >= 12 ? 3 : $u8(1) == 0 ? 1 : 2) : type == 0x12 ? 1 : " ..
            "type == 0x16 || type == 0x17 ? 2 : type == 0x22 ? 3 : 0",
        when = "type == 0x11 || type == 0x12 || type == 0x16 || type == 0x17 || type == 0x22 || type <= 8" },
    { switch = "type", size = 1, cases = second_byte, default = { { "_", 8 } } },
    { "checksum", 16, "Checksum", base = "hex" },
    { "checksum.status", value = "$checksum", values = { [0] = "Bad", [1] = "Good", [2] = "Unverified" } },
    { switch = "type", cases = rest, default = { { "data", "bytes", "Data" } } },
}
