--- NTP versions 1 to 4 (RFC 5905, with the extension fields of RFC 7822), its control messages (mode 6, RFC 9327) and
-- ntpd's private ones (mode 7).

local modes = {
    [0] = "reserved", "symmetric active", "symmetric passive", "client", "server", "broadcast", "control", "private",
}
local leap = { [0] = "no warning", "61 second minute", "59 second minute", "unsynchronized" }
local extensions = {
    [0x0104] = "Unique Identifier", [0x0204] = "NTS Cookie", [0x0304] = "NTS Cookie Placeholder",
    [0x0404] = "NTS Authenticator", [0x2005] = "Checksum Complement",
}
for code, name in pairs { [0] = "No-Operation", "Association", "Certificate", "Cookie", "Autokey", "Leapseconds",
    "Sign",
    "IFF Identity", "GQ Identity", "MV Identity" } do -- Autokey, RFC 5906 10
    extensions[code << 8 | 2] = name .. " Request"
    extensions[0x8000 | code << 8 | 2] = name .. " Response"
    extensions[0xc000 | code << 8 | 2] = name .. " Error"
end

local function flags(name, title)
    return { name, "bool", title }
end

return {
    name = "ntp", title = "Network Time Protocol",
    on = { ["udp.port"] = 123, ["tcp.port"] = 123 },
    header = "$len",
    line = {
        { when = "flags.mode < 6", "NTPv{flags.vn}, {flags.mode}, stratum {stratum}, length {=$len}" },
        { when = "flags.mode == 6", "NTPv{flags.vn}, control, {ctrl.flags2.opcode}, length {=$len}" },
        { when = "flags.mode == 7", "NTPv{flags.vn}, private, {priv.reqcode}, length {=$len}" },
    },
    groups = {
        system_status = {
            { "ctrl.sys_status.li", 2, "Leap Indicator", values = leap },
            { "ctrl.sys_status.clksrc", 6, "Clock Source", values = {
                [0] = "unspecified", "atomic clock", "VLF radio", "HF radio", "UHF satellite", "local net",
                "UDP/NTP", "UDP/TIME",
                "eyeball and wristwatch", "telephone modem",
            } },
            { "ctrl.sys_status.count", 4, "System Event Counter" },
            { "ctrl.sys_status.code", 4, "System Event Code", values = {
                [0] = "unspecified", "freq_not_set", "freq_set", "spike_detect", "freq_mode", "clock_sync", "restart",
                "panic_stop", "no_system_peer", "leap_armed", "leap_disarmed", "leap_event", "clock_step", "kern",
                "TAI",
                "stale leapsecond values",
            } },
        },
        peer_status = {
            flags("ctrl.peer_status.config", "Configured"),
            flags("ctrl.peer_status.authenable", "Authentication enabled"),
            flags("ctrl.peer_status.authentic", "Authentication okay"),
            flags("ctrl.peer_status.reach", "Reachable"),
            flags("ctrl.peer_status.bcast", "Broadcast association"),
            { "ctrl.peer_status.selection", 3, "Peer Selection", values = {
                [0] = "reject", "falsetick", "excess", "outlier", "candidate", "backup", "sys.peer", "pps.peer",
            } },
            { "ctrl.peer_status.count", 4, "Peer Event Counter" },
            { "ctrl.peer_status.code", 4, "Peer Event Code", values = {
                [0] = "unspecified", "mobilize", "demobilize", "unreachable", "reachable", "restart", "no_reply",
                "rate_exceeded", "access_denied", "leap_armed", "sys_peer", "clock_event", "bad_auth", "popcorn",
                "interleave_mode", "interleave_error",
            } },
        },
        time = {
            { "stratum", 8, "Peer Clock Stratum", values = { [0] = "unspecified", "primary",
                [16] = "unsynchronized" } },
            { "ppoll", 8, "Peer Polling Interval" },
            { "precision", 8, "Peer Clock Precision" },
            { "rootdelay", 32, "Root Delay" },
            { "rootdispersion", 32, "Root Dispersion" },
            { "refid", "bytes", "Reference ID", size = 4, default = "\0\0\0\0" },
            { "reftime", "ntp", "Reference Timestamp" },
            { "org", "ntp", "Origin Timestamp" },
            { "rec", "ntp", "Receive Timestamp" },
            { "xmt", "ntp", "Transmit Timestamp" },
            -- a MAC is at most 24 bytes, RFC 7822 3; what is longer begins with an extension field
            { when = "$rest > 24 && $at16(2) >= 16 && $at16(2) <= $rest",
                { loop = true, list = "extensions",
                    stop = "!($rest > 24 && $at16(2) >= 16 && $at16(2) <= $rest)",
                    { "ext", value = 1 },
                    { "ext.type", 16, "Field Type", base = "hex", values = extensions },
                    { "ext.length", 16, "Length" },
                    { "ext.value", "bytes", "Value", size = "ext.length - 4" },
                },
            },
            { when = "$rest > 0",
                { "keyid", "bytes", "Key ID", size = 4 },
                { when = "$rest > 0", { "mac", "bytes", "Message Authentication Code" } },
            },
        },
        control = {
            { "ctrl.flags2", 8, "Flags 2", base = "hex", sub = {
                { "ctrl.flags2.r", 1, "Response bit" },
                { "ctrl.flags2.error", 1, "Error bit" },
                { "ctrl.flags2.more", 1, "More bit" },
                { "ctrl.flags2.opcode", 5, "Opcode", values = {
                    [0] = "reserved", "read status", "read variables", "write variables", "read clock variables",
                    "write clock variables", "set trap", "trap response", "configure", "save config", "read MRU",
                    "read ordered list", "request nonce", [31] = "unset trap",
                } },
            } },
            { "ctrl.sequence", 16, "Sequence" },
            { "_assoc", value = "$at16(2)" },
            { "ctrl.status", 16, "Status", base = "hex", sub = {
                { when = "ctrl.flags2.r",
                    { when = "ctrl.flags2.error", { "ctrl.err_status", 8, "Error Status Word", values = {
                        [0] = "unspecified", "authentication failure", "invalid message length or format",
                        "invalid opcode",
                        "unknown association identifier", "unknown variable name", "invalid variable value",
                        "administratively prohibited",
                    } } },
                    { switch = "ctrl.flags2.error ? 0 : ctrl.flags2.opcode", cases = {
                        [1] = {
                            { when = "_assoc == 0", { call = "system_status" } },
                            { when = "_assoc != 0", { call = "peer_status" } },
                        },
                        [2] = {
                            { when = "_assoc == 0", { call = "system_status" } },
                            { when = "_assoc != 0", { call = "peer_status" } },
                        },
                        [4] = {
                            { "ctrl.clock_status.status", 8, "Clock Status", values = {
                                [0] = "nominal", "reply timeout", "bad reply format", "fault", "propagation failure",
                                "bad date",
                                "bad time",
                            } },
                            { "ctrl.clock_status.code", 8, "Clock Event Code" },
                        },
                        [7] = { { call = "system_status" } },
                    } },
                },
            } },
            { "ctrl.associd", 16, "AssociationID" },
            { "ctrl.offset", 16, "Offset" },
            { "ctrl.count", 16, "Count" },
            { size = "ctrl.count",
                { when = "$rest > 0", { "ctrl.data", value = 1 } },
                { switch = "ctrl.flags2.opcode", when = "ctrl.count > 0",
                    cases = {
                        [1] = { { loop = true, list = "associations",
                            { "ctrl.item", value = 1 },
                            { ".ntp.ctrl.associd", 16, "AssociationID" },
                            { ".ntp.ctrl.status", 16, "Status", base = "hex", sub = { { call = "peer_status" } } },
                        } },
                        [7] = { { "ctrl.trapmsg", "string", "Trap message" } },
                        [8] = { { "ctrl.configuration", "string", "Configuration" } },
                        [9] = { { ".ntp.ctrl.configuration", "string", "Configuration" } },
                        [10] = { { "ctrl.mru", "string", "MRU" } },
                        [11] = { { "ctrl.ordlist", "string", "Ordered List" } },
                        [12] = { { "ctrl.nonce", "string", "Nonce" } },
                    },
                    default = { { "_text", "bytes" } }, -- name=value, name=value, ...
                },
            },
            { "_padding", "bytes", size = "(4 - ctrl.count % 4) % 4", when = "$rest >= (4 - ctrl.count % 4) % 4" },
            { when = "$rest > 4", { ".ntp.keyid", "bytes", "Key ID", size = 4 }, { ".ntp.mac", "bytes", "MAC" } },
        },
        private = {
            { "priv.auth_seq", 8, "Auth, sequence", sub = {
                { "priv.auth", 1, "Auth bit" },
                { "priv.seq", 7, "Sequence number" },
            } },
            { "priv.impl", 8, "Implementation", values = { [0] = "UNIV", [2] = "XNTPD_OLD", [3] = "XNTPD" },
                default = 3 },
            { "priv.reqcode", 8, "Request code", values = {
                [0] = "PEER_LIST", "PEER_LIST_SUM", "PEER_INFO", "PEER_STATS", "SYS_INFO", "SYS_STATS", "IO_STATS",
                "MEM_STATS",
                "LOOP_INFO", "TIMER_STATS", "CONFIG", "UNCONFIG", "SET_SYS_FLAG", "CLR_SYS_FLAG", "MONITOR",
                "NOMONITOR",
                "GET_RESTRICT", "RESADDFLAGS", "RESSUBFLAGS", "UNRESTRICT", "MON_GETLIST", "RESET_STATS", "RESET_PEER",
                "REREAD_KEYS", "DO_DIRTY_HACK", "DONT_DIRTY_HACK", "TRUSTKEY", "UNTRUSTKEY", "AUTHINFO", "TRAPS",
                "ADD_TRAP",
                "CLR_TRAP", "REQUEST_KEY", "CONTROL_KEY", "GET_CTLSTATS", "GET_LEAPINFO", "GET_CLOCKINFO",
                "SET_CLKFUDGE",
                "GET_KERNEL", "GET_CLKBUGINFO", [41] = "SET_PRECISION", [42] = "MON_GETLIST_1",
                [43] = "HOSTNAME_ASSOCID",
                [44] = "IF_STATS", [45] = "IF_RELOAD",
            } },
            { "priv.err", 4, "Err", base = "hex", values = {
                [0] = "No error", "incompatible implementation number", "unimplemented request code", "format error",
                "no data available", [7] = "authentication failure",
            } },
            { "priv.numitems", 12, "Number of data items" },
            { "priv.reserved", 4, "Reserved", base = "hex" },
            { "priv.itemsize", 12, "Size of data item" },
            { switch = "priv.reqcode == 42 && priv.itemsize == 72 && priv.flags.r",
                cases = { [1] = {
                    { loop = "priv.numitems", list = "items",
                        { "priv.monlist.avgint", 32, "avgint" },
                        { "priv.monlist.lsint", 32, "lsint" },
                        { "priv.monlist.restr", 32, "restr", base = "hex" },
                        { "priv.monlist.count", 32, "count" },
                        { "priv.monlist.remote_address", "ipv4", "remote address" },
                        { "priv.monlist.local_address", "ipv4", "local address" },
                        { "priv.monlist.flags", 32, "flags", base = "hex" },
                        { "priv.monlist.port", 16, "port" },
                        { "priv.monlist.mode", 8, "mode", values = modes },
                        { "priv.monlist.version", 8, "version" },
                        { "priv.monlist.ipv6", 32, "ipv6", base = "hex" },
                        { "priv.monlist.unused", 32, "unused", base = "hex" },
                        { "_address6", "bytes", size = 32, when = "priv.monlist.ipv6 == 0" },
                        { when = "priv.monlist.ipv6 != 0",
                            { "priv.monlist.addr6", "ipv6", "ipv6 remote addr" },
                            { "priv.monlist.daddr6", "ipv6", "ipv6 local addr" },
                        },
                    },
                } },
                default = { { "_items", "bytes" } },
            },
        },
    },
    { "flags", 8, "Flags", base = "hex", sub = {
        { when = "($u8(0) & 7) != 7",
            { "flags.li", 2, "Leap Indicator", values = leap },
        },
        { when = "($u8(0) & 7) == 7",
            { "priv.flags.r", 1, "Response bit" },
            { "priv.flags.more", 1, "More bit" },
        },
        { "flags.vn", 3, "Version number", default = 4 },
        { "flags.mode", 3, "Mode", values = modes, default = 3 },
    } },
    { switch = "flags.mode",
        cases = { [6] = { { call = "control" } }, [7] = { { call = "private" } } },
        default = { { call = "time" } },
    },
}
