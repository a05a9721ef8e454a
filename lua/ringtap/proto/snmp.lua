--- SNMP versions 1 (RFC 1157), 2c (RFC 1901, 3416) and 3 (RFC 3412, with the user-based security model of RFC 3414), in
-- BER (X.690).

-- A value with its tag and length before it; `items` are what is in it.
local function tlv(tag, items)
    return {
        { "_tag", 8, default = tag },
        { check = "_tag == " .. tag, "a value of another type than there should be" },
        { "_len", "ber" },
        { size = "_len", items },
    }
end

local function integer(name, title, more)
    local field = { name, "int", title, size = "$rest" }
    for k, v in pairs(more or {}) do
        field[k] = v
    end
    return tlv(0x02, { field })
end

local function octets(name, title, type)
    return tlv(0x04, { { name, type or "bytes", title, size = "$rest" } })
end

-- How many values are in these bytes?
local function count(bytes)
    local at, n = 1, 0
    while at + 1 <= #bytes do
        local len = bytes:byte(at + 1)
        at = at + 2
        if len > 0x80 then
            local size = len & 0x7f
            if size > 4 or at + size > #bytes + 1 then
                break
            end
            len = (">I" .. size):unpack(bytes, at)
            at = at + size
        end
        at, n = at + len, n + 1
    end
    return n
end

local engine = { -- RFC 3411 5, SnmpEngineID
    { when = "$rest >= 5", { "_", "bytes", size = "$rest", overlay = true, sub = {
        { "engineid.conform", "bool", "Engine ID Conformance" },
        { "engineid.enterprise", 31, "Engine Enterprise ID" },
        { when = "engineid.conform",
            { "engineid.format", 8, "Engine ID Format", values = {
                "IPv4 address", "IPv6 address", "MAC address", "Text", "Octets", [128] = "net-snmp random",
            } },
            { switch = "engineid.format",
                cases = {
                    [1] = { { "engineid.ipv4", "ipv4", "Engine ID Data: IPv4 address" } },
                    [2] = { { "engineid.ipv6", "ipv6", "Engine ID Data: IPv6 address" } },
                    [3] = { { "engineid.mac", "ether", "Engine ID Data: MAC address" } },
                    [4] = { { "engineid.text", "string", "Engine ID Data: Text" } },
                },
                default = { { "engineid.data", "bytes", "Engine ID Data" } },
            },
        },
        { when = "!engineid.conform", { "engineid.data", "bytes", "Engine ID Data" } },
    } } },
}

local function engine_id(name, title)
    return tlv(0x04, { engine, { name, "bytes", title } })
end

-- A number that may have a zero in front of its eight bytes, so that it isn't negative.
local function unsigned(name, title)
    return {
        { "_zero", 8, when = "_vlen == 9 && $at8(0) == 0" },
        { name, "uint", title, size = "$rest" },
    }
end

local values = {
    [0x02] = { { "value.int", "int", "Value (Integer32)", size = "$rest" } },
    [0x04] = { { "value.octets", "bytes", "Value (OctetString)" } },
    [0x05] = { { "value.null", value = 1 } },
    [0x06] = { { "value.oid", "oid", "Value (OID)" } },
    [0x40] = {
        { switch = "_vlen",
            cases = {
                [4] = { { "value.ipv4", "ipv4", "Value (IpAddress)" } },
                [16] = { { "value.ipv6", "ipv6", "Value (IpAddress)" } },
            },
            default = { { "value.addr", "bytes", "Value (IpAddress)" } },
        },
    },
    [0x41] = unsigned("value.counter", "Value (Counter32)"),
    [0x42] = unsigned("value.g32", "Value (Gauge32)"),
    [0x43] = unsigned("value.timeticks", "Value (Timeticks)"),
    [0x44] = { { "value.opaque", "bytes", "Value (Opaque)" } },
    [0x45] = { { "value.nsap", "uint", "Value (NSAP)", size = "$rest" } },
    [0x46] = unsigned("value.counter", "Value (Counter64)"),
    [0x47] = unsigned("value.u32", "Value (Unsigned32)"),
    [0x80] = { { "noSuchObject", value = 1 } },
    [0x81] = { { "noSuchInstance", value = 1 } },
    [0x82] = { { "endOfMibView", value = 1 } },
}

local bindings = tlv(0x30, {
    { "variable_bindings", "bytes", "variable-bindings", size = "$rest", overlay = true, value = count },
    { loop = true, list = "variables",
        tlv(0x30, {
            tlv(0x06, { { "name", "oid", "Object Name" } }),
            { "_type", 8, default = 0x05 },
            { "_vlen", "ber" },
            { switch = "_type", size = "_vlen", cases = values, default = { { "value.unk", "bytes",
                "Value (Unknown)" } } },
        }),
    },
})

local elements = {
    [0] = "get_request", "get_next_request", "get_response", "set_request", "trap", "getBulkRequest", "informRequest",
    "snmpV2_trap", "report",
}
local error_status = {
    [0] = "noError", "tooBig", "noSuchName", "badValue", "readOnly", "genErr", "noAccess", "wrongType", "wrongLength",
    "wrongEncoding", "wrongValue", "noCreation", "inconsistentValue", "resourceUnavailable", "commitFailed",
    "undoFailed",
    "authorizationError", "notWritable", "inconsistentName",
}

local pdus = {}
for kind, element in pairs(elements) do
    pdus[kind] = { { element .. "_element", value = 1 }, { call = "answer" } }
end
pdus[4] = {
    { "trap_element", value = 1 },
    tlv(0x06, { { "enterprise", "oid", "enterprise" } }),
    tlv(0x40, { { "agent_addr", "ipv4", "agent-addr" } }),
    integer("generic_trap", "generic-trap", { values = {
        [0] = "coldStart", "warmStart", "linkDown", "linkUp", "authenticationFailure", "egpNeighborLoss",
        "enterpriseSpecific",
    } }),
    integer("specific_trap", "specific-trap"),
    tlv(0x43, { { "time_stamp", "uint", "time-stamp", size = "$rest" } }),
    { call = "bindings" },
}
pdus[5] = {
    { "getBulkRequest_element", value = 1 },
    integer("request_id", "request-id", { default = 1 }),
    integer("non_repeaters", "non-repeaters"),
    integer("max_repetitions", "max-repetitions", { default = 10 }),
    { call = "bindings" },
}

return {
    name = "snmp", title = "Simple Network Management Protocol",
    on = { ["udp.port"] = { 161, 162, 8161 }, ["tcp.port"] = { 161, 162 } },
    header = "$len",
    accept = "$u8(0) == 0x30 && $u8(1) > 0",
    line = {
        { when = "_version < 3", "SNMPv{=_version == 1 ? 2 : 1} C=\"{community}\" {data} {name*}, length {=$len}" },
        { when = "_version == 3", "SNMPv3 U=\"{msgUserName}\" {msgData}, length {=$len}" },
    },
    groups = {
        bindings = bindings,
        answer = { -- what all PDUs but two have
            integer("request_id", "request-id", { default = 1 }),
            integer("error_status", "error-status", { values = error_status }),
            integer("error_index", "error-index"),
            { call = "bindings" },
        },
        pdu = {
            { "_class", 3, default = 5 },
            { "data", 5, "data", values = {
                [0] = "get-request", "get-next-request", "get-response", "set-request", "trap", "getBulkRequest",
                "informRequest", "snmpV2-trap", "report",
            } },
            { check = "_class == 5 && data <= 8", "a PDU of a kind that there isn't" },
            { "_len", "ber" },
            { switch = "data", size = "_len", cases = pdus },
        },
        community = {
            integer("version", "version", { values = { [0] = "version-1", "v2c", "v2u", "snmpv3" }, default = 1 }),
            octets("community", "community", "string"),
            { call = "pdu" },
        },
        v3 = {
            integer("msgVersion", "msgVersion", { values = { [3] = "snmpv3" }, default = 3 }),
            { "msgGlobalData_element", value = 1 },
            tlv(0x30, {
                integer("msgID", "msgID"),
                integer("msgMaxSize", "msgMaxSize", { default = 65507 }),
                tlv(0x04, {
                    { "msgFlags", "bytes", "msgFlags", overlay = true },
                    { "_", 5 },
                    { "v3.flags.report", "bool", "Reportable" },
                    { "v3.flags.crypt", "bool", "Encrypted" },
                    { "v3.flags.auth", "bool", "Authenticated" },
                }),
                integer("msgSecurityModel", "msgSecurityModel", { values = {
                    [0] = "Any", "SNMPv1", "SNMPv2c", "USM",
                }, default = 3 }),
            }),
            { switch = "msgSecurityModel",
                cases = {
                    [3] = tlv(0x04, tlv(0x30, {
                        engine_id("msgAuthoritativeEngineID", "msgAuthoritativeEngineID"),
                        integer("msgAuthoritativeEngineBoots", "msgAuthoritativeEngineBoots"),
                        integer("msgAuthoritativeEngineTime", "msgAuthoritativeEngineTime"),
                        octets("msgUserName", "msgUserName", "string"),
                        octets("msgAuthenticationParameters", "msgAuthenticationParameters"),
                        octets("msgPrivacyParameters", "msgPrivacyParameters"),
                    })),
                },
                default = octets("msgSecurityParameters", "msgSecurityParameters"),
            },
            { "msgData", "uint", "msgData", value = "v3.flags.crypt", values = { [0] = "plaintext", "encryptedPDU" } },
            { when = "!v3.flags.crypt",
                { "plaintext_element", value = 1 },
                tlv(0x30, {
                    engine_id("contextEngineID", "contextEngineID"),
                    octets("contextName", "contextName", "string"),
                    { call = "pdu" },
                }),
            },
            { when = "v3.flags.crypt", octets("encryptedPDU", "encryptedPDU") },
        },
    },
    { "_sequence", 8, default = 0x30 },
    { check = "_sequence == 0x30", "it doesn't begin with a sequence" },
    { "_length", "ber" },
    { size = "_length",
        { "_version", value = "$at16(0) == 0x0201 ? $at8(2) : -1" },
        { check = "_version >= 0 && _version <= 3", "a version that isn't known" },
        { when = "_version < 3", { call = "community" } },
        { when = "_version == 3", { call = "v3" } },
    },
}
