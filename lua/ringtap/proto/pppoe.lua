--- PPP over Ethernet, RFC 2516, with the tags of RFC 4638, 4937 and 5578, and the DSL Forum's (TR-101).

local codes = {
    [0x00] = "Session Data", [0x07] = "PADO", [0x09] = "PADI", [0x0a] = "PADG", [0x0b] = "PADC", [0x0c] = "PADQ",
    [0x19] = "PADR", [0x65] = "PADS", [0xa7] = "PADT", [0xd3] = "PADM", [0xd4] = "PADN",
}

local function header(code)
    return
        { "version", 4, "Version", default = 1 },
        { "type", 4, "Type", default = 1 },
        { "code", 8, "Code", base = "hex", values = codes, default = code },
        { "session_id", 16, "Session ID", base = "hex" },
        { "payload_length", 16, "Payload Length" }
end

local function number(name, title)
    return { { ".pppoed.tags." .. name, 32, title } }
end

-- TR-101, appendix R: tags in the vendor-specific tag of the DSL Forum
local vendor_tags = {
    [0x01] = { { ".pppoed.tags.circuit_id", "string", "Circuit ID" } },
    [0x02] = { { ".pppoed.tags.remote_id", "string", "Remote ID" } },
    [0x81] = number("act_data_rate_up", "Actual Data Rate Upstream"),
    [0x82] = number("act_data_rate_down", "Actual Data Rate Downstream"),
    [0x83] = number("min_data_rate_up", "Minimum Data Rate Upstream"),
    [0x84] = number("min_data_rate_down", "Minimum Data Rate Downstream"),
    [0x85] = number("attainable_data_rate_up", "Attainable DataRate Upstream"),
    [0x86] = number("attainable_data_rate_down", "Attainable DataRate Downstream"),
    [0x87] = number("max_data_rate_up", "Maximum Data Rate Upstream"),
    [0x88] = number("max_data_rate_down", "Maximum Data Rate Downstream"),
    [0x89] = number("min_data_rate_up_lp", "Min DataRate Upstream in low power state"),
    [0x8a] = number("min_data_rate_down_lp", "Minimum Data Rate Downstream in low power state"),
    [0x8b] = number("max_int_delay_up", "Max Interleaving Delay Upstream"),
    [0x8c] = number("act_int_delay_up", "Actual Interleaving Delay Upstream"),
    [0x8d] = number("max_int_delay_down", "Maximum Interleaving Delay Downstream"),
    [0x8e] = number("act_int_delay_down", "Actual Interleaving Delay Downstream"),
    [0x90] = {
        { ".pppoed.tags.access_loop_encap.data_link", 8, "Data link", base = "hex", values = { [0] = "ATM AAL5",
            "Ethernet" } },
        { ".pppoed.tags.access_loop_encap.encap_1", 8, "Encaps 1", base = "hex",
            values = { [0] = "NA", "Untagged Ethernet", "Single-Tagged Ethernet" } },
        { ".pppoed.tags.access_loop_encap.encap_2", 8, "Encaps 2", base = "hex",
            values = { [0] = "NA", "PPPoA - LLC", "PPPoA - Null", "IPoA - LLC", "IPoA - Null",
                "Ethernet over AAL5 - LLC with FCS",
                "Ethernet over AAL5 - LLC without FCS", "Ethernet over AAL5 - Null with FCS",
                "Ethernet over AAL5 - Null without FCS" } },
    },
}

local function text(name, title)
    return { { ".pppoed.tags." .. name, "string", title, when = "$rest > 0" } }
end

local function bytes(name, title)
    return { { ".pppoed.tags." .. name, "bytes", title, when = "$rest > 0" } }
end

local tags = {
    [0x0101] = text("service_name", "Service-Name"),
    [0x0102] = text("ac_name", "AC-Name"),
    [0x0103] = bytes("host_uniq", "Host-Uniq"),
    [0x0104] = bytes("ac_cookie", "AC-Cookie"),
    [0x0105] = {
        { ".pppoed.tags.vendor_id", 32, "Vendor id" },
        { when = ".pppoed.tags.vendor_id == 3561",
            { loop = true, list = "vendor_tags",
                { ".pppoed.tags.vendorspecific.tag", 8, "Tag", base = "hex" },
                { ".pppoed.tag_length_8", 8, "Tag Length" },
                { switch = ".pppoed.tags.vendorspecific.tag", size = ".pppoed.tag_length_8", cases = vendor_tags,
                    default = { { ".pppoed.tag.unknown_data", "bytes", "Unknown Data", when = "$rest > 0" } } },
            },
        },
        { ".pppoed.tags.vendor_unspecified", "bytes", "Vendor unspecified",
            when = ".pppoed.tags.vendor_id != 3561 && $rest > 0" },
    },
    [0x0106] = {
        { ".pppoed.tags.credits.fcn", 16, "FCN" },
        { ".pppoed.tags.credits.bcn", 16, "BCN" },
    },
    [0x0107] = {
        { "_", 11 },
        { ".pppoed.tags.metrics.mdr_units", 2, "MDR Units", base = "hex", digits = 4 },
        { ".pppoed.tags.metrics.cdr_units", 2, "CDR Units", base = "hex", digits = 4 },
        { ".pppoed.tags.metrics.r", "bool", "Receive Only" },
        { ".pppoed.tags.metrics.rlq", 8, "Relative Link Quality" },
        { ".pppoed.tags.metrics.resource", 8, "Resource" },
        { ".pppoed.tags.metrics.latency", 16, "Latency" },
        { ".pppoed.tags.metrics.curr_drate", 16, "Curr. datarate" },
        { ".pppoed.tags.metrics.max_drate", 16, "Max. datarate" },
    },
    [0x0108] = { { ".pppoed.tags.seq_num", 16, "Sequence Number", base = "hex" } },
    [0x0109] = { { ".pppoed.tags.credit_scale", 16, "Credit Scale Factor" } },
    [0x0110] = bytes("relay_session_id", "Relay-Session-Id"),
    [0x0111] = bytes("hurl", "HURL"),
    [0x0112] = bytes("motm", "MOTM"),
    [0x0120] = bytes("max_payload", "PPP-Max-Payload"),
    [0x0121] = bytes("ip_route_add", "IP Route Add"),
    [0x0201] = text("service_name_error", "Service-Name-Error"),
    [0x0202] = text("ac_system_error", "AC-System-Error"),
    [0x0203] = text("generic_error", "Generic-Error"),
}

local tag_names = {
    [0x0000] = "End-Of-List", [0x0101] = "Service-Name", [0x0102] = "AC-Name", [0x0103] = "Host-Uniq",
    [0x0104] = "AC-Cookie", [0x0105] = "Vendor-Specific", [0x0106] = "Credits", [0x0107] = "Metrics",
    [0x0108] = "Sequence Number", [0x0109] = "Credit Scale Factor", [0x0110] = "Relay-Session-Id", [0x0111] = "HURL",
    [0x0112] = "MOTM", [0x0120] = "PPP-Max-Payload", [0x0121] = "IP Route Add", [0x0201] = "Service-Name-Error",
    [0x0202] = "AC-System-Error", [0x0203] = "Generic-Error",
}

local function discovery()
    local version, kind, code, session, length = header(0x09)
    return {
        name = "pppoed", prefix = "pppoe", title = "PPP-over-Ethernet Discovery",
        on = { ethertype = 0x8863 },
        header = "payload_length + 6", total = "payload_length + 6",
        next = { { stop = true } },
        line = { "PPPoE {code}", { when = "session_id != 0", " [ses {session_id}]" }, " [{.pppoed.tag*}]" },
        version, kind, code, session, length,
        { size = "payload_length",
            { loop = true, list = "tags", stop = ".pppoed.tag == 0",
                { ".pppoed.tag", 16, "Tag", base = "hex", values = tag_names },
                { ".pppoed.tag_length", 16, "Tag Length" },
                { switch = ".pppoed.tag", size = ".pppoed.tag_length", cases = tags,
                    default = { { ".pppoed.tag.unknown_data", "bytes", "Unknown Data", when = "$rest > 0" } } },
            },
        },
    }
end

local function session_data()
    local version, kind, code, session, length = header(0)
    return {
        name = "pppoes", prefix = "pppoe", title = "PPP-over-Ethernet Session",
        on = { ethertype = 0x8864, link = 51 },
        header = 6, total = "payload_length + 6",
        next = { { stop = true, when = "code != 0" }, "ppp" },
        line = "PPPoE [ses {session_id}]",
        version, kind, code, session, length,
    }
end

return { discovery(), session_data() }
