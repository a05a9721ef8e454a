--- QUIC, RFC 9000 and 9369 (version 2): what RFC 8999 and the long headers tell without keys. A datagram may carry
-- several packets; the last may have a short header, whose connection ID is as long as only its receiver knows.

local initial, zero_rtt, handshake, retry, negotiation = 0, 1, 2, 3, 4
local version_2 = 0x6b3343cf

local names = { [0] = "Initial", [1] = "0-RTT", [2] = "Handshake", [3] = "Retry" }
local names_2 = { [0] = "Retry", [1] = "Initial", [2] = "0-RTT", [3] = "Handshake" }

local protected = {
    { "length", "varint", "Length" },
    { "packet_length", 32, "Packet Length", value = "$here - _start + length" },
    { size = "length",
        { "remaining_payload", "bytes", "Remaining Payload" },
    },
}

local bodies = {
    [initial] = {
        { "token_length", "varint", "Token Length" },
        { "token", "bytes", "Token", size = "token_length", when = "token_length > 0" },
        { "length", "varint", "Length" },
        { "packet_length", 32, "Packet Length", value = "$here - _start + length" },
        { size = "length", { "_", "bytes" } },
    },
    [zero_rtt] = protected,
    [handshake] = protected,
    [retry] = {
        { "packet_length", 32, "Packet Length", value = "$here - _start + $rest" },
        { check = "$rest >= 16", "a Retry packet without an integrity tag" },
        { "retry_token", "bytes", "Retry Token", size = "$rest - 16" },
        { "retry_integrity_tag", "bytes", "Retry Integrity Tag", size = 16 },
    },
    [negotiation] = {
        { "packet_length", 32, "Packet Length", value = "$here - _start + $rest" },
        { loop = true, list = "versions", { "supported_version", 32, "Supported Version", base = "hex" } },
    },
}

local long_header = {
    -- version 2 numbers its packet types differently
    { "_kind", value = ("$at32(1) == 0 ? %d : $at32(1) == 0x%x ? (($at8(0) >> 4) + 3) & 3 : ($at8(0) >> 4) & 3")
        :format(negotiation, version_2) },
    { "_two", value = ("$at32(1) == 0x%x"):format(version_2) },
    { "header_form", 1, "Header Form", values = { [0] = "Short Header", [1] = "Long Header" } },
    { "vn.unused", 7, "Unused", base = "hex", when = "_kind == 4" },
    { when = "_kind != 4",
        { "fixed_bit", "bool", "Fixed Bit", when = "_kind != 3" },
        { "_", 1, when = "_kind == 3" },
        { "long.packet_type", 2, "Packet Type", values = names, when = "!_two" },
        { "long.packet_type_v2", 2, "Packet Type", values = names_2, when = "_two" },
        { "_", 4 },
    },
    { "version", 32, "Version", base = "hex", values = {
        [0] = "Version Negotiation", [1] = "1", [version_2] = "2",
    } },
    { "dcil", 8, "Destination Connection ID Length" },
    { "dcid", "bytes", "Destination Connection ID", size = "dcil", when = "dcil > 0" },
    { "scil", 8, "Source Connection ID Length" },
    { "scid", "bytes", "Source Connection ID", size = "scil", when = "scil > 0" },
    { switch = "_kind", cases = bodies },
}

local short_header = {
    { "packet_length", 32, "Packet Length", value = "$rest" },
    { "short", "bool", "QUIC Short Header", value = "1", hidden = true },
    { "header_form", 1, "Header Form", values = { [0] = "Short Header", [1] = "Long Header" } },
    { "fixed_bit", "bool", "Fixed Bit" },
    { "spin_bit", "bool", "Spin Bit" },
    { "_", 5 },
    { "remaining_payload", "bytes", "Remaining Payload" },
}

return {
    name = "quic", title = "QUIC IETF",
    on = { ["udp.port"] = {} },
    guess = {
        -- versions 1 and 2, drafts from 25 on, mvfst, and those reserved for exercising version negotiation
        udp = "$u8(0) >= 128 && ($u32(1) == 1 || $u32(1) == 0x6b3343cf || ($u32(1) & 0x0f0f0f0f) == 0x0a0a0a0a || " ..
            "($u32(1) >= 0xff000019 && $u32(1) <= 0xff000022) || " ..
            "($u32(1) >= 0xfaceb002 && $u32(1) <= 0xfaceb00f)) && $u8(5) <= 20 && $u8(6 + $u8(5)) <= 20",
    },
    header = "$len",
    line = {
        { when = "header_form", "QUIC, version {version}" },
        { when = "header_form && !_two", ", {long.packet_type}" },
        { when = "header_form && _two", ", {long.packet_type_v2}" },
        { when = "header_form && dcil > 0", ", dcid {dcid}" },
        { when = "header_form && scil > 0", ", scid {scid}" },
        { when = "!header_form", "QUIC, protected" },
        ", length {=$len}",
    },
    { loop = true, list = "packets", stop = "$rest > 0 && $at8(0) == 0",
        { "_start", value = "$here" },
        { "_form", 1, overlay = true },
        { when = "_form", table.unpack(long_header) },
        { when = "_form == 0", table.unpack(short_header) },
    },
    { "_", "bytes", when = "$rest > 0" },
}
