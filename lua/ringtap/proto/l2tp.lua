--- L2TP, version 2 (RFC 2661) and 3 (RFC 3931), over UDP and, version 3 only, over IP. How long the cookie of a version
-- 3 session is and what it carries is agreed on when it is set up; a packet alone leaves it to guessing.

local pseudowires = {
    [0x0001] = "Frame Relay DLCI", [0x0002] = "ATM AAL5 SDU VCC transport", [0x0003] = "ATM Cell transparent Port Mode",
    [0x0004] = "Ethernet VLAN", [0x0005] = "Ethernet", [0x0006] = "HDLC", [0x0007] = "PPP",
    [0x0009] = "ATM Cell transport VCC Mode", [0x000a] = "ATM Cell transport VPC Mode", [0x000b] = "IP",
    [0x000c] = "MPEG-TS Payload Type", [0x000d] = "Packet Streaming Protocol",
}

-- Two flags at the low end of 32 bits.
local function capabilities(low, low_title, high, high_title)
    return {
        { "_", 30 },
        { high, "bool", high_title },
        { low, "bool", low_title },
    }
end

local attributes = {
    [0] = { { "avp.message_type", 16, "Message Type", values = {
        [1] = "Start_Control_Request", [2] = "Start_Control_Reply", [3] = "Start_Control_Connected",
        [4] = "Stop_Control_Notification", [6] = "Hello", [7] = "Outgoing_Call_Request", [8] = "Outgoing_Call_Reply",
        [9] = "Outgoing_Call_Connected", [10] = "Incoming_Call_Request", [11] = "Incoming_Call_Reply",
        [12] = "Incoming_Call_Connected", [14] = "Call_Disconnect_Notification", [15] = "WAN_Error_Notify",
        [16] = "Set_Link_Info", [17] = "Modem_Status", [18] = "Service_Relay_Request_Msg",
        [19] = "Service_Relay_Reply_Message", [20] = "Explicit_Acknowledgement",
        [21] = "Failover_Session_Query_Message", [22] = "Failover_Session_Response_Message",
        [23] = "Multicast-Session-Request", [24] = "Multicast-Session-Response",
        [25] = "Multicast-Session-Establishment", [26] = "Multicast-Session-Information",
        [27] = "Multicast-Session-End-Notify", [28] = "Connect-Speed-Update-Notification",
        [29] = "Connect-Speed-Update-Request",
    } } },
    [1] = {
        { "result_code", 16, "Result code" },
        { when = "$rest > 0",
            { "avp.error_code", 16, "Error code", values = {
                [0] = "No General Error", [1] = "No control connection exists yet for this pair of LCCEs",
                [2] = "Length is wrong", [3] = "One of the field values was out of range",
                [4] = "Insufficient resources to handle this operation now", [5] = "Invalid Session ID",
                [6] = "A generic vendor-specific error occurred", [7] = "Try another",
                [8] = "The session or control connection was shut down due to receipt of an unknown AVP with the M bit",
                [9] = "Try another directed",
            } },
            { "avp.error_message", "string", "Error Message", when = "$rest > 0" },
        },
    },
    [2] = {
        { "avp.protocol_version", 8, "Version" },
        { "avp.protocol_revision", 8, "Revision" },
    },
    [3] = capabilities("avp.sync_framing_supported", "Sync Framing Supported", "avp.async_framing_supported",
        "Async Framing Supported"),
    [4] = capabilities("avp.digital_access_supported", "Digital Access Supported", "avp.analog_access_supported",
        "Analog Access Supported"),
    [5] = { { "tie_breaker", 64, "Tie Breaker", base = "hex" } },
    [6] = { { "avp.firmware_revision", 16, "Firmware Revision" } },
    [7] = { { "avp.host_name", "string", "Host Name" } },
    [8] = { { "avp.vendor_name", "string", "Vendor Name" } },
    [9] = { { "avp.assigned_tunnel_id", 16, "Assigned Tunnel ID" } },
    [10] = { { "avp.receive_window_size", 16, "Receive Window Size" } },
    [11] = { { "avp.chap_challenge", "bytes", "CHAP Challenge" } },
    [12] = {
        { "avp.cause_code", 16, "Cause Code" },
        { "avp.cause_msg", 8, "Cause Msg" },
        { "avp.advisory_msg", "string", "Advisory Msg", when = "$rest > 0" },
    },
    [13] = { { "avp.chap_challenge_response", "bytes", "CHAP Challenge Response" } },
    [14] = { { "avp.assigned_session_id", 16, "Assigned Session ID" } },
    [15] = { { "avp.call_serial_number", 32, "Call Serial Number" } },
    [16] = { { "avp.minimum_bps", 32, "Minimum BPS" } },
    [17] = { { "avp.maximum_bps", 32, "Maximum BPS" } },
    [18] = capabilities("avp.digital_bearer_type", "Digital Bearer Type", "avp.analog_bearer_type",
        "Analog Bearer Type"),
    [19] = capabilities("avp.sync_framing_type", "Sync Framing Type", "avp.async_framing_type", "Async Framing Type"),
    [21] = { { "avp.called_number", "string", "Called Number" } },
    [22] = { { "avp.calling_number", "string", "Calling Number" } },
    [23] = { { "avp.sub_address", "string", "Sub-Address" } },
    [24] = { { "avp.connect_speed", 32, "Connect Speed" } },
    [25] = { { "avp.physical_channel", 32, "Physical Channel" } },
    [26] = { { "avp.initial_received_lcp_confreq", "bytes", "Initial Received LCP CONFREQ" } },
    [27] = { { "avp.last_sent_lcp_confreq", "bytes", "Last Sent LCP CONFREQ" } },
    [28] = { { "avp.last_received_lcp_confreq", "bytes", "Last Received LCP CONFREQ" } },
    [29] = { { "avp.proxy_authen_type", 16, "Proxy Authen Type", values = {
        [0] = "Reserved", [1] = "Textual username/password exchange", [2] = "PPP CHAP", [3] = "PPP PAP",
        [4] = "No Authentication", [5] = "Microsoft CHAP Version 1", [6] = "Reserved", [7] = "EAP",
    } } },
    [30] = { { "avp.proxy_authen_name", "string", "Proxy Authen Name" } },
    [31] = { { "avp.proxy_authen_challenge", "bytes", "Proxy Authen Challenge" } },
    [32] = {
        { "_", 8 },
        { "avp.proxy_authen_id", 8, "Proxy Authen ID" },
    },
    [33] = { { "avp.proxy_authen_response", "bytes", "Proxy Authen Response" } },
    [34] = {
        { "_", 16 },
        { "avp.crc_errors", 32, "CRC Errors" },
        { "avp.framing_errors", 32, "Framing Errors" },
        { "avp.hardware_overruns", 32, "Hardware Overruns" },
        { "avp.buffer_overruns", 32, "Buffer Overruns" },
        { "avp.time_out_errors", 32, "Time-out Errors" },
        { "avp.alignment_errors", 32, "Alignment Errors" },
    },
    [35] = {
        { "_", 16 },
        { "avp.send_accm", 32, "Send ACCM" },
        { "avp.receive_accm", 32, "Receive ACCM" },
    },
    [36] = { { "avp.random_vector", "bytes", "Random Vector" } },
    [37] = { { "avp.private_group_id", "bytes", "Private Group ID" } },
    [38] = { { "avp.rx_connect_speed", 32, "RxConnect Speed" } },
    [39] = {},
    [46] = {
        { "avp.disconnect_code", 16, "Disconnect Code" },
        { "avp.control_protocol_number", 16, "Control Protocol Number" },
        { "avp.cause_code_direction", 8, "Direction", values = {
            [0] = "global error", [1] = "at peer", [2] = "at local",
        } },
        { "avp.cause_code_message", "string", "Message", when = "$rest > 0" },
    },
    [59] = { { "avp.message_digest", "bytes", "Message Digest" } },
    [60] = { { "avp.router_id", 32, "Router ID" } },
    [61] = { { "avp.assigned_control_conn_id", 32, "Assigned Control Connection ID" } },
    [62] = { { loop = true, { "avp.pw_type", 16, "PW Type", values = pseudowires } } },
    [63] = { { "avp.local_session_id", 32, "Local Session ID" } },
    [64] = { { "avp.remote_session_id", 32, "Remote Session ID" } },
    [65] = { { "avp.assigned_cookie", "bytes", "Assigned Cookie" } },
    [66] = { { "avp.remote_end_id", "string", "Remote End ID" } },
    [68] = { { "avp.pseudowire_type", 16, "Pseudowire Type", values = pseudowires } },
    [69] = { { "avp.layer2_specific_sublayer", 16, "Layer2 Specific Sublayer", values = {
        [0] = "No L2-Specific Sublayer", [1] = "Default L2-Specific Sublayer present",
        [2] = "ATM-Specific Sublayer present",
    } } },
    [70] = { { "avp.data_sequencing", 16, "Data Sequencing", values = {
        [0] = "No incoming data packets require sequencing", [1] = "Only non-IP data packets require sequencing",
        [2] = "All incoming data packets require sequencing",
    } } },
    [71] = {
        { "_", 14 },
        { "avp.circuit_type", "bool", "Circuit Condition" },
        { "avp.circuit_status", "bool", "Circuit Status" },
    },
    [72] = { { "avp.preferred_language", "string", "Preferred Language" } },
    [73] = { { "avp.nonce", "bytes", "Nonce" } },
    [74] = { { "avp.tx_connect_speed_v3", 64, "Tx Connect Speed v3" } },
    [75] = { { "avp.rx_connect_speed_v3", 64, "Rx Connect Speed v3" } },
    [97] = {
        { "avp.csu", "bool", "Connect Speed Update", value = "1", hidden = true },
        { "avp.csu.res", 16, "Reserved", base = "hex" },
        { "avp.csu.remote_session_id", 16, "Remote Session Id" },
        { when = "$rest == 8",
            { "avp.csu.current_tx_speed", 32, "Current Tx Connect Speed" },
            { "avp.csu.current_rx_speed", 32, "Current Rx Connect Speed" },
        },
        { when = "$rest == 16",
            { "avp.csu.current_tx_speed64", 64, "Current Tx Connect Speed" },
            { "avp.csu.current_rx_speed64", 64, "Current Rx Connect Speed" },
        },
    },
}

local type_names = {
    [0] = "Control Message", [1] = "Result-Error Code", [2] = "Protocol Version", [3] = "Framing Capabilities",
    [4] = "Bearer Capabilities", [5] = "Tie Breaker", [6] = "Firmware Revision", [7] = "Host Name",
    [8] = "Vendor Name", [9] = "Assigned Tunnel ID", [10] = "Receive Window Size", [11] = "Challenge",
    [12] = "Cause Code", [13] = "Challenge Response", [14] = "Assigned Session", [15] = "Call Serial Number",
    [16] = "Minimum BPS", [17] = "Maximum BPS", [18] = "Bearer Type", [19] = "Framing Type", [21] = "Called Number",
    [22] = "Calling Number", [23] = "Sub-Address", [24] = "Connect Speed", [25] = "Physical Channel",
    [26] = "Initial Received LCP CONFREQ", [27] = "Last Sent LCP CONFREQ", [28] = "Last Received LCP CONFREQ",
    [29] = "Proxy Authen Type", [30] = "Proxy Authen Name", [31] = "Proxy Authen Challenge",
    [32] = "Proxy Authen ID", [33] = "Proxy Authen Response", [34] = "Call Errors", [35] = "ACCM",
    [36] = "Random Vector", [37] = "Private Group ID", [38] = "RxConnect Speed", [39] = "Sequencing Required",
    [46] = "PPP Disconnect Cause Code", [58] = "Extended Vendor ID", [59] = "Message Digest", [60] = "Router ID",
    [61] = "Assigned Control Connection ID", [62] = "Pseudowire Capability List", [63] = "Local Session ID",
    [64] = "Remote Session ID", [65] = "Assigned Cookie", [66] = "Remote End ID", [68] = "Pseudowire Type",
    [69] = "Layer2 Specific Sublayer", [70] = "Data Sequencing", [71] = "Circuit Status",
    [72] = "Preferred Language", [73] = "Control Message Authentication Nonce",
    [74] = "Tx Connect Speed Version 3", [75] = "Rx Connect Speed Version 3", [97] = "Connect Speed Update",
    [98] = "Connect Speed Update Enable",
}

-- A hidden attribute's value is enciphered; Wireshark tells neither its type.
local control = {
    { loop = true, list = "avps",
        { "avp.mandatory", "bool", "Mandatory" },
        { "avp.hidden", "bool", "Hidden" },
        { "_", 4 },
        { "avp.length", 10, "Length" },
        { check = "avp.length >= 6", "an attribute's length below 6" },
        { size = "avp.length - 2", when = "avp.hidden", { "_", "bytes" } },
        { size = "avp.length - 2", when = "avp.hidden == 0",
            { "avp.vendor_id", 16, "Vendor ID", values = {
                [0] = "IETF", [9] = "Cisco", [193] = "Ericsson", [3561] = "Broadband Forum", [4491] = "CableLabs",
            } },
            { switch = "avp.vendor_id",
                cases = {
                    [0] = {
                        { "avp.type", 16, "AVP Type", values = type_names },
                        { switch = "avp.type", cases = attributes, default = { { "_", "bytes" } } },
                    },
                    [9] = { { "avp.ciscotype", 16, "Type" }, { "_", "bytes" } },
                    [193] = { { "avp.ericssontype", 16, "Type" }, { "_", "bytes" } },
                    [3561] = { { "avp.broadbandtype", 16, "Type" }, { "_", "bytes" } },
                    [4491] = { { "avp.cablelabstype", 16, "Type" }, { "_", "bytes" } },
                },
                default = { { "avp.type", 16, "AVP Type" }, { "_", "bytes" } },
            },
        },
    },
}

local flags = { "flags", 16, "Flags", base = "hex", sub = {
    { "type", 1, "Type", values = { [0] = "Data Message", [1] = "Control Message" } },
    { "length_bit", "bool", "Length Bit" },
    { "_", 2 },
    { "seq_bit", "bool", "Sequence Bit" },
    { "_", 1 },
    { "offset_bit", "bool", "Offset bit", overlay = true, when = "($at8(1) & 15) == 2" },
    { "_", 1 },
    { "priority", "bool", "Priority", overlay = true, when = "($at8(1) & 15) == 2" },
    { "_", 1 },
    { "_", 4 },
    { "version", 4, "Version", default = 2 },
} }

local control_v3 = {
    { "length", 16, "Length" },
    { "ccid", 32, "Control Connection ID", base = "hex" },
    { "Ns", 16, "Ns" },
    { "Nr", 16, "Nr" },
    { call = "control", when = "$rest > 0" },
}

-- An Ethernet frame shows by its type; a cookie or a sublayer header of 4 bytes, or 8 of them, may be before it.
local function ethernet_at(offset)
    local word = ("$u16($header + %d)"):format(offset + 12)
    return { "eth", guess = true, at = "$header + " .. offset,
        when = ("type == 0 && (%s == 0x0800 || %s == 0x86dd || %s == 0x0806 || %s == 0x8100)"):format(word, word, word,
            word) }
end

-- A control message has its length and its numbers.
local function set_flags(values)
    if values.flags then
        return
    end
    local function set(flag, value)
        if values[flag] == nil then
            values[flag] = value
        end
    end
    if values.avps or values.ccid then
        set("type", 1)
    end
    if values.length or values.type == 1 then
        set("length_bit", true)
    end
    if values.Ns or values.Nr or values.type == 1 then
        set("seq_bit", true)
    end
    if values.offset then
        set("offset_bit", true)
    end
    if values.ccid then
        set("version", 3)
    end
end

-- Over IP there are no flags before the session.
local function set_version(values)
    set_flags(values)
    if values.sid and values.flags == nil and values.version == nil then
        values.version = 3
    end
end

local over_udp = {
    name = "l2tp", title = "Layer 2 Tunneling Protocol",
    on = { ["udp.port"] = 1701 },
    accept = "($u8(1) & 15) == 2 || ($u8(1) & 15) == 3",
    total = "length", untold = "length_bit == 0",
    next = {
        { "ppp", when = "type == 0 && version == 2" },
        { stop = true, when = "version == 2" },
        ethernet_at(0), ethernet_at(4), ethernet_at(8),
    },
    groups = { control = control },
    build = set_version,
    line = {
        { when = "version == 2", "L2TPv2, tunnel {tunnel}, session {session}" },
        { when = "version == 3 && type == 0", "L2TPv3, session {sid}" },
        { when = "version == 3 && type != 0", "L2TPv3, control connection {ccid}" },
        { when = "type != 0", ", control" },
    },
    flags,
    { when = "version == 2",
        { "length", 16, "Length", when = "length_bit" },
        { "tunnel", 16, "Tunnel ID" },
        { "session", 16, "Session ID" },
        { when = "seq_bit",
            { "Ns", 16, "Ns" },
            { "Nr", 16, "Nr" },
        },
        { when = "offset_bit",
            { "offset", 16, "Offset" },
            { size = "offset", { "_", "bytes" } },
        },
        { call = "control", when = "type != 0 && $rest > 0" },
    },
    { when = "version == 3",
        { when = "type == 0",
            { "res", 16, "Reserved", base = "hex" },
            { "sid", 32, "Session ID", base = "hex" },
        },
        { when = "type != 0", table.unpack(control_v3) },
    },
}

-- RFC 3931 4.1.1: session 0 is the control channel, whose message follows.
local over_ip = {
    name = "l2tp_ip", prefix = "l2tp", shown = "l2tp",
    title = "Layer 2 Tunneling Protocol Version 3 over IP",
    on = { ["ip.proto"] = 115 },
    next = {
        { stop = true, when = "sid == 0" },
        ethernet_at(0), ethernet_at(4), ethernet_at(8),
    },
    groups = { control = control },
    build = set_flags,
    line = "L2TPv3, session {sid}",
    { "sid", 32, "Session ID", base = "hex" },
    { when = "sid == 0", flags, table.unpack(control_v3) },
}

return { over_udp, over_ip }
