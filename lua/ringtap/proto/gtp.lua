--- GTP-U, version 1 of the GPRS tunnelling protocol for user data, 3GPP TS 29.281, with its extension headers; that of
-- a PDU session: TS 38.415.

local pdu_session = {
    { "ext_hdr.pdu_ses_con.pdu_type", 4, "PDU Type", values = {
        [0] = "DL PDU SESSION INFORMATION", [1] = "UL PDU SESSION INFORMATION",
    } },
    { "spare.h1", 4, "Spare", base = "hex" },
    { when = "ext_hdr.pdu_ses_con.pdu_type == 0",
        { "ext_hdr.pdu_ses_cont.ppp", "bool", "Paging Policy Presence (PPP)" },
        { "ext_hdr.pdu_ses_cont.rqi", "bool", "Reflective QoS Indicator (RQI)" },
        { "ext_hdr.pdu_ses_con.qos_flow_id", 6, "QoS Flow Identifier (QFI)" },
        { when = "ext_hdr.pdu_ses_cont.ppp",
            { "ext_hdr.pdu_ses_cont.ppi", 3, "Paging Policy Indicator (PPI)" },
            { "spare.b4b0", 5, "Spare", base = "hex" },
        },
    },
    { when = "ext_hdr.pdu_ses_con.pdu_type == 1",
        { "spare.b7b6", 2, "Spare", base = "hex" },
        { "ext_hdr.pdu_ses_con.qos_flow_id", 6, "QoS Flow Identifier (QFI)" },
    },
}

local extension_names = {
    [0] = "No more extension headers", [0x01] = "MBMS support indication",
    [0x02] = "MS Info Change Reporting support indication", [0x03] = "Long PDCP PDU Number",
    [0x20] = "Service Class Indicator", [0x40] = "UDP Port number", [0x81] = "RAN container",
    [0x82] = "Long PDCP PDU number", [0x83] = "Xw RAN container", [0x84] = "NR RAN container",
    [0x85] = "PDU Session container", [0xc0] = "PDCP PDU number", [0xc1] = "Suspend Request",
    [0xc2] = "Suspend Response",
}

local extensions = {
    [0x40] = { { "ext_hdr.udp_port", 16, "UDP Port" } },
    [0x81] = { { "ext_hdr.ran_cont", "bytes", "RAN Container" } },
    [0x82] = { { when = "ext_hdr.length == 2",
        { "ext_hdr.spare_bits", 6, "Spare", base = "hex", overlay = true },
        { "ext_hdr.long_pdcp_sn", 24, "Long PDCP Sequence Number" },
        { "ext_hdr.spare_bytes", "bytes", "Spare", size = 3 },
    } },
    [0x83] = { { "ext_hdr.xw_ran_cont", "bytes", "Xw RAN container" } },
    [0x85] = pdu_session,
    [0xc0] = { { "ext_hdr.pdcp_sn", 16, "PDCP Sequence Number" } },
}

-- What the messages about a path and a tunnel carry, TS 29.281 8; a type from 128 on has a length.
local elements = {
    { loop = true, list = "elements",
        { "_type", 8 },
        { switch = "_type",
            cases = {
                [14] = { { "recovery", 8, "Recovery" } },
                [16] = { { "teid_data", 32, "TEID Data I", base = "hex" } },
                [141] = {
                    { "num_ext_hdr_types", 8, "Number of Extension Header Types in list (i.e., length)" },
                    { loop = "num_ext_hdr_types", { "ext_hdr_type", 8, "Extension Header Type",
                        values = extension_names } },
                },
                [133] = {
                    { "gsn_address_length", 16, "GSN address length" },
                    { size = "gsn_address_length",
                        { "gsn_ipv4", "ipv4", "GSN address IPv4", when = "gsn_address_length == 4" },
                        { "gsn_ipv6", "ipv6", "GSN address IPv6", when = "gsn_address_length == 16" },
                    },
                },
                [255] = {
                    { "ext_length", 16, "Length" },
                    { size = "ext_length",
                        { "ext_id", 16, "Extension identifier" },
                        { "ext_val", "bytes", "Extension Value", when = "$rest > 0" },
                    },
                },
            },
            default = {
                { when = "_type < 128", { "_", "bytes" } },
                { when = "_type >= 128", { "_length", 16 }, { "_", "bytes", size = "_length" } },
            },
        },
    },
}

-- The field that shows that another one is there.
local flag_of = {
    seq_number = "flags.s", npdu_number = "flags.pn", ["ext_hdr.next"] = "flags.e", extensions = "flags.e",
}

local function set_flags(values)
    for name, flag in pairs(flag_of) do
        if values[name] ~= nil and values[flag] == nil and values.flags == nil then
            values[flag] = true
        end
    end
end

return {
    name = "gtp", title = "GPRS Tunneling Protocol",
    on = { ["udp.port"] = 2152 },
    accept = "$u8(0) >> 4 == 3",
    total = "length + 8",
    next = {
        { stop = true, when = "message != 255" },
        { "ip", when = "$u8($header) >> 4 == 4" },
        { "ipv6", when = "$u8($header) >> 4 == 6" },
        { "eth", guess = true, when = "$payload > 14 && ($u16($header + 12) == 0x0800 || " ..
            "$u16($header + 12) == 0x86dd || $u16($header + 12) == 0x0806 || $u16($header + 12) == 0x8100)" },
    },
    build = set_flags,
    line = "GTP-U, {message}, TEID {teid}, length {length}",
    { "flags", 8, "Flags", base = "hex", default = 0x30, sub = {
        { "flags.version", 3, "Version", default = 1 },
        { "flags.payload", 1, "Protocol type", default = 1, values = { [0] = "GTP'", [1] = "GTP" } },
        { "flags.reserved", 1, "Reserved" },
        { "flags.e", "bool", "Is Next Extension Header present?" },
        { "flags.s", "bool", "Is Sequence Number present?" },
        { "flags.pn", "bool", "Is N-PDU number present?" },
    } },
    { "message", 8, "Message Type", base = "hex", default = 255, values = {
        [1] = "Echo request", [2] = "Echo response", [26] = "Error indication",
        [31] = "Supported extension header notification", [253] = "Tunnel status", [254] = "End marker",
        [255] = "T-PDU",
    } },
    { "length", 16, "Length" },
    { "teid", 32, "TEID", base = "hex" },
    { when = "(flags & 7) != 0",
        { "seq_number", 16, "Sequence number", base = "hex", overlay = true, when = "flags.s" },
        { "_seq", 16 },
        { "npdu_number", 8, "N-PDU Number", base = "hex", overlay = true, when = "flags.pn" },
        { "_npdu", 8 },
        { "ext_hdr.next", 8, "Next extension header type", base = "hex", values = extension_names, overlay = true,
            when = "flags.e" },
        { "_next", 8 },
        { when = "flags.e && ext_hdr.next != 0",
            { loop = true, list = "extensions", stop = "ext_hdr.next == 0",
                { "ext_hdr", "bool", "Extension header", value = "1", hidden = true },
                { "ext_hdr.length", 8, "Extension Header Length" },
                { check = "ext_hdr.length != 0", "an extension header of length 0" },
                { switch = "ext_hdr.next", size = "ext_hdr.length * 4 - 2", cases = extensions, default = {} },
                { "ext_hdr.next", 8, "Next extension header type", base = "hex", values = extension_names },
            },
        },
    },
    { switch = "message",
        cases = { [1] = elements, [2] = elements, [26] = elements, [31] = elements, [254] = elements, [255] = {} },
        default = { { "_", "bytes" } },
    },
}
