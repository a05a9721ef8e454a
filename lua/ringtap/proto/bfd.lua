--- BFD control packets, RFC 5880 (version 1) and the drafts' version 0, with their authentication sections; over UDP as
-- in RFC 5881, 5883, 7130 and 7881. Echo packets (RFC 5881 4) are as their sender likes.
local set = { [0] = "Not set", "Set" }

return {
    {
        name = "bfd", title = "BFD Control message",
        on = { ["udp.port"] = { 3784, 4784, 6784, 7784 } },
        total = "message_length",
        check = {
            { "message_length >= 24", "message length below 24" },
        },
        line = "BFDv{version}, Control, State {sta}, Flags: {flags}, Diagnostic: {diag}, length {=$len}",
        { "version", 3, "Protocol Version", default = 1 },
        { "diag", 5, "Diagnostic Code", base = "hex", values = {
            [0] = "No Diagnostic", "Control Detection Time Expired", "Echo Function Failed",
            "Neighbor Signaled Session Down", "Forwarding Plane Reset", "Path Down", "Concatenated Path Down",
            "Administratively Down", "Reverse Concatenated Path Down", "Mis-Connectivity Defect",
        } },
        { "flags", 8, "Message Flags", base = "hex", sub = {
            { when = "version == 0",
                { "flags.h", "bool", "I hear you", values = set },
                { "flags.d", "bool", "Demand", values = set },
                { "flags.p", "bool", "Poll", values = set },
                { "flags.f", "bool", "Final", values = set },
            },
            { when = "version != 0",
                { "sta", 2, "Session State", base = "hex", values = { [0] = "AdminDown", "Down", "Init", "Up" },
                    default = 1 },
                { "flags.p", "bool", "Poll", values = set },
                { "flags.f", "bool", "Final", values = set },
                { "flags.c", "bool", "Control Plane Independent", values = set },
                { "flags.a", "bool", "Authentication Present", values = set },
                { "flags.d", "bool", "Demand", values = set },
                { "flags.m", "bool", "Multipoint", values = set },
            },
        } },
        { "detect_time_multiplier", 8, "Detect Time Multiplier", default = 3 },
        { "message_length", 8, "Message Length" },
        { "my_discriminator", 32, "My Discriminator", base = "hex", default = 1 },
        { "your_discriminator", 32, "Your Discriminator", base = "hex" },
        { "desired_min_tx_interval", 32, "Desired Min TX Interval", default = 1000000 },
        { "required_min_rx_interval", 32, "Required Min RX Interval", default = 1000000 },
        { "required_min_echo_interval", 32, "Required Min Echo Interval" },
        { when = "version != 0 && $u8(1) & 4",
            { "auth.type", 8, "Authentication Type", values = {
                "Simple Password", "Keyed MD5", "Meticulous Keyed MD5", "Keyed SHA1", "Meticulous Keyed SHA1",
            }, default = 1 },
            { "auth.len", 8, "Authentication Length" },
            { check = "auth.len >= 3", "authentication section shorter than its header" },
            { size = "auth.len - 2",
                { "auth.key", 8, "Authentication Key ID" },
                { switch = "auth.type", cases = {
                    [1] = { { "auth.password", "string", "Password" } },
                    [2] = { { call = "digest" } }, [3] = { { call = "digest" } },
                    [4] = { { call = "digest" } }, [5] = { { call = "digest" } },
                } },
            },
        },
        groups = {
            digest = {
                { "_reserved", 8 },
                { "auth.seq_num", 32, "Sequence Number", base = "hex" },
                { "checksum", "bytes", "Checksum" },
            },
        },
    },
    {
        name = "bfd_echo", title = "BFD Echo message",
        on = { ["udp.port"] = 3785 },
        line = "BFD, Echo, length {=$len}",
        { "packet", "bytes", "Echo" },
    },
}
