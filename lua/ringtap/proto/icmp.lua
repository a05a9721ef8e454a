--- ICMP, RFC 792, 950 (address mask), 1191 (MTU), 1256 and 5944 (router discovery, with the extensions of mobile IP),
-- 4884 (extensions of errors), 4950 (MPLS), 5837 (interface information) and 8335 (extended echo).

-- RFC 1071 over what follows the checksum of an extension structure.
local function sum_of(bytes)
    local sum = 0
    for i = 1, #bytes - 1, 2 do
        sum = sum + (">I2"):unpack(bytes, i)
    end
    if #bytes % 2 == 1 then
        sum = sum + (bytes:byte(-1) << 8)
    end
    while sum > 0xffff do
        sum = (sum & 0xffff) + (sum >> 16)
    end
    return sum
end

-- 4 bytes of header end at the cursor, which counts from 1; the checksum covers them and all that follows.
local function extension_status(_, layer, at)
    local bytes = layer:sub(at - 4)
    if bytes:sub(3, 4) == "\0\0" then
        return 3
    end
    return sum_of(bytes) == 0xffff and 1 or 0
end

local interface_information = {
    { when = ".icmp.int_info.ifindex",
        { ".icmp.int_info.index", 32, "Interface Index" },
    },
    { when = ".icmp.int_info.ipaddr",
        { ".icmp.int_info.afi", 16, "Address Family Identifier", values = { [1] = "IPv4", [2] = "IPv6" } },
        { ".icmp.reserved", "bytes", "Reserved", size = 2 },
        { switch = ".icmp.int_info.afi",
            cases = {
                [1] = { { ".icmp.int_info.ipv4", "ipv4", "Source" } },
                [2] = { { ".icmp.int_info.ipv6", "ipv6", "Source" } },
            },
            default = { { ".icmp.int_info.ipunknown", "bytes", "Source" } },
        },
    },
    { when = ".icmp.int_info.name_present",
        { ".icmp.int_info.name_length", 8, "Name Length" },
        { check = ".icmp.int_info.name_length >= 1", "an interface's name of no length" },
        { ".icmp.int_info.name", "string", "Name", size = ".icmp.int_info.name_length - 1" },
    },
    { when = ".icmp.int_info.mtu_present",
        { ".icmp.int_info.mtu", 32, "Maximum Transmission Unit" },
    },
}

local interface_identification = {
    [1] = { { ".icmp.int_ident.name", "string", "Name" } },
    [2] = { { ".icmp.int_ident.index", 32, "Interface Index" } },
    [3] = {
        { ".icmp.int_ident.afi", 16, "Address Family Identifier", values = {
            [1] = "IPv4", [2] = "IPv6", [16389] = "48-bit MAC Address", [16390] = "64-bit MAC Address",
        } },
        { ".icmp.int_ident.addr_length", 8, "Address Length" },
        { ".icmp.int_ident.reserved", "bytes", "Reserved", size = 1 },
        { switch = ".icmp.int_ident.afi",
            cases = {
                [1] = { { ".icmp.int_ident.ipv4", "ipv4", "Address" } },
                [2] = { { ".icmp.int_ident.ipv6", "ipv6", "Address" } },
            },
            default = { { ".icmp.int_ident.address", "bytes", "Address" } },
        },
    },
}

-- What an object holds, by its class and type.
local object = {
    { switch = "(.icmp.ext.class << 8) + .icmp.ext.ctype",
        cases = {
            [0x0101] = {
                { loop = "$rest / 4",
                    { ".icmp.mpls.label", 20, "Label" },
                    { ".icmp.mpls.exp", 3, "Experimental" },
                    { ".icmp.mpls.s", "bool", "Stack bit" },
                    { ".icmp.mpls.ttl", 8, "Time to live" },
                },
                { ".icmp.mpls.data", "bytes", "Data", when = "$rest > 0" },
            },
            [0x0301] = interface_identification[1],
            [0x0302] = interface_identification[2],
            [0x0303] = interface_identification[3],
        },
        default = {
            { when = ".icmp.ext.class == 2", table.unpack(interface_information) },
            { ".icmp.ext.data", "bytes", "Data", when = ".icmp.ext.class != 2 && $rest > 0" },
        },
    },
}

-- The names are whole ones, since ICMPv6 has the same structure under the same names.
local extensions = {
    { ".icmp.ext", "bool", "ICMP Extensions", value = "1" },
    { ".icmp.ext.version", 4, "Version" },
    { ".icmp.ext.res", 12, "Reserved", base = "hex" },
    { ".icmp.ext.checksum", 16, "Checksum", base = "hex" },
    { ".icmp.ext.checksum.status", 8, "Checksum Status", value = extension_status, when = "$len <= $cap" },
    { loop = true, list = "objects",
        { ".icmp.ext.length", 16, "Length" },
        { ".icmp.ext.class", 8, "Class", values = {
            [1] = "MPLS Label Stack Class", [2] = "Interface Information Object",
            [3] = "Interface Identification Object",
        } },
        { check = ".icmp.ext.length >= 4", "an object's length below 4" },
        { ".icmp.ext.ctype", 8, "C-Type", sub = {
            { when = ".icmp.ext.class == 2",
                { ".icmp.int_info.role", 2, "Interface Role", values = {
                    [0] = "IP interface upon which datagram arrived",
                    [1] = "sub-IP component of an IP interface upon which datagram arrived",
                    [2] = "IP interface through which datagram would be forwarded",
                    [3] = "IP next-hop to which datagram would be forwarded",
                } },
                { ".icmp.int_info.reserved", 2, "Reserved" },
                { ".icmp.int_info.ifindex", "bool", "ifIndex" },
                { ".icmp.int_info.ipaddr", "bool", "IP Address" },
                { ".icmp.int_info.name_present", "bool", "Interface Name" },
                { ".icmp.int_info.mtu_present", "bool", "MTU" },
            },
        } },
        { size = ".icmp.ext.length - 4", table.unpack(object) },
    },
}

local identifier = {
    { "ident_le", 16, "Identifier (LE)", le = true, overlay = true },
    { "ident", 16, "Identifier (BE)" },
}
local numbered = {
    identifier[1], identifier[2],
    { "seq_le", 16, "Sequence Number (LE)", le = true, overlay = true },
    { "seq", 16, "Sequence Number (BE)" },
}

local function with(items, ...)
    local list = table.move(items, 1, #items, 1, {})
    for _, item in ipairs { ... } do
        list[#list + 1] = item
    end
    return list
end

local mask = with(numbered, { "address_mask", "ipv4", "Address Mask" })
local times = with(numbered,
    { "originate_timestamp", 32, "Originate Timestamp" },
    { "receive_timestamp", 32, "Receive Timestamp" },
    { "transmit_timestamp", 32, "Transmit Timestamp" })

-- The length of the quoted datagram, in words of 32 bits; Wireshark shows it only where there is one.
local quoted_length = {
    { "length", 8, "Length", overlay = true, when = "$u8(5) != 0" },
    { "_length", 8 },
    { "length.original_datagram", 8, "Length of original datagram", value = "_length * 4", when = "_length != 0" },
}
local not_reached = {
    { "unused", "bytes", "Unused", size = "$u8(1) == 4 ? 2 : 4", overlay = true, when = "$u8(5) == 0" },
    { "unused", "bytes", "Unused", size = 1, overlay = true, when = "$u8(5) != 0" },
    { "_", 8 },
    quoted_length[1], quoted_length[2], quoted_length[3],
    { "unused", "bytes", "Unused", size = 2, overlay = true, when = "$u8(5) != 0 && $u8(1) != 4" },
    { "mtu", 16, "MTU of next hop", overlay = true, when = "$u8(1) == 4" },
    { "_mtu", 16 },
}
local exceeded = {
    { "unused", "bytes", "Unused", size = 4, overlay = true, when = "$u8(5) == 0" },
    { "unused", "bytes", "Unused", size = 1, overlay = true, when = "$u8(5) != 0" },
    { "_", 8 },
    quoted_length[1], quoted_length[2], quoted_length[3],
    { "unused", "bytes", "Unused", size = 2, overlay = true, when = "$u8(5) != 0" },
    { "_", 16 },
}
local bad_parameter = {
    { "pointer", 8, "Pointer" },
    { "unused", "bytes", "Unused", size = 3, overlay = true, when = "$u8(5) == 0" },
    quoted_length[1], quoted_length[2], quoted_length[3],
    { "unused", "bytes", "Unused", size = 2, overlay = true, when = "$u8(5) != 0" },
    { "_", 16 },
}

local mobile_extension = {
    { "mip.type", 8, "Extension Type", values = {
        [0] = "One byte padding extension", [16] = "Mobility Agent Advertisement Extension",
        [19] = "Prefix Lengths Extension", [24] = "Challenge Extension",
    } },
    { when = "mip.type != 0",
        { "mip.length", 8, "Length" },
        { switch = "mip.type", size = "mip.length",
            cases = {
                [16] = {
                    { "mip.seq", 16, "Sequence Number" },
                    { "mip.life", 16, "Registration Lifetime" },
                    { "mip.flags", 16, "Flags", base = "hex", sub = {
                        { "mip.r", "bool", "Registration Required" },
                        { "mip.b", "bool", "Busy" },
                        { "mip.h", "bool", "Home Agent" },
                        { "mip.f", "bool", "Foreign Agent" },
                        { "mip.m", "bool", "Minimal Encapsulation" },
                        { "mip.g", "bool", "GRE" },
                        { "mip.v", "bool", "VJ Comp" },
                        { "mip.rt", "bool", "Reverse tunneling" },
                        { "mip.u", "bool", "UDP tunneling" },
                        { "mip.x", "bool", "Revocation support" },
                        { "mip.reserved", 6, "Reserved", base = "hex", digits = 4 },
                    } },
                    { loop = true, { "mip.coa", "ipv4", "Care-Of-Address" } },
                },
                [19] = { { loop = true, { "mip.prefixlength", 8, "Prefix Length" } } },
                [24] = { { "mip.challenge", "bytes", "Challenge" } },
            },
            default = { { "mip.content", "bytes", "Content" } },
        },
    },
}

local is_error = "(type >= 3 && type <= 5 || type == 11 || type == 12)"
local has_length = "(type == 3 || type == 11 || type == 12) && $u8(5) != 0"
-- RFC 4884 5.5: without a length, an extension structure follows the 128th byte of a datagram that is not longer.
local has_old_extension = is_error .. " && $len > 136 && $u16(10) <= 128 && $u8(136) >> 4 == 2"

-- RFC 8335, behind the identifier
local extended_request = {
    { "ext.echo.seq", 8, "Sequence Number" },
    { "ext.echo.req.res", 7, "Reserved", base = "hex" },
    { "ext.echo.req.local", "bool", "Local bit" },
    { call = "extensions", when = "$rest >= 4" },
}
local extended_reply = {
    { "ext.echo.seq", 8, "Sequence Number" },
    { "ext.echo.rsp.state", 3, "State", values = {
        [0] = "Reserved", [1] = "Incomplete", [2] = "Reachable", [3] = "Stale", [4] = "Delay", [5] = "Probe",
        [6] = "Failed",
    } },
    { "ext.echo.rsp.res", 2, "Reserved", base = "hex" },
    { "ext.echo.rsp.active", "bool", "Active bit" },
    { "ext.echo.rsp.ipv4", "bool", "IPv4 bit" },
    { "ext.echo.rsp.ipv6", "bool", "IPv6 bit" },
}

return {
    name = "icmp", title = "Internet Control Message Protocol",
    on = { ["ip.proto"] = 1 },
    header = "type == 0 || type == 8 || " .. is_error .. " ? 8 : $len",
    next = {
        { stop = true, when = "!" .. is_error },
        { "ip", at = 8, size = "4 * $u8(5)", quoted = true, when = has_length },
        { "ip", at = 8, size = 128, quoted = true, when = has_old_extension },
        { "ip", at = 8, quoted = true },
    },
    checksum = { field = "checksum" },
    -- icmpv6.lua has them too
    groups = { extensions = extensions, extended_request = extended_request, extended_reply = extended_reply },
    line = {
        { when = "type == 8", "ICMP echo request, id {ident}, seq {seq}, length {=$len}" },
        { when = "type == 0", "ICMP echo reply, id {ident}, seq {seq}, length {=$len}" },
        { when = "type == 3", "ICMP destination unreachable, {code}" },
        { when = "type == 3 && $u8(1) == 4", " (mtu {mtu})" },
        { when = "type == 5", "ICMP redirect to {redir_gw}" },
        { when = "type == 11", "ICMP time exceeded, {code}" },
        { when = "type == 12", "ICMP parameter problem, octet {pointer}" },
        { when = "type != 0 && type != 8 && type != 3 && type != 5 && type != 11 && type != 12", "ICMP {type}" },
        { when = "type != 0 && type != 8", ", length {=$len}" },
    },
    { "type", 8, "Type", default = 8, values = {
        [0] = "Echo (ping) reply", [3] = "Destination unreachable", [4] = "Source quench", [5] = "Redirect",
        [6] = "Alternate host address", [8] = "Echo (ping) request", [9] = "Router advertisement",
        [10] = "Router solicitation", [11] = "Time-to-live exceeded", [12] = "Parameter problem",
        [13] = "Timestamp request", [14] = "Timestamp reply", [15] = "Information request",
        [16] = "Information reply", [17] = "Address mask request", [18] = "Address mask reply",
        [30] = "Traceroute", [31] = "Datagram conversion error", [32] = "Mobile host redirect",
        [33] = "IPv6 Where-Are-You", [34] = "IPv6 I-Am-Here", [35] = "Mobile registration request",
        [36] = "Mobile registration reply", [37] = "Domain name request", [38] = "Domain name reply", [39] = "SKIP",
        [40] = "Photuris", [41] = "Experimental mobility protocols", [42] = "Extended echo request",
        [43] = "Extended echo reply", [253] = "Experiment 1", [254] = "Experiment 2",
    } },
    { switch = "type", size = 1,
        cases = {
            [3] = { { "code", 8, "Code", values = {
                [0] = "Network unreachable", [1] = "Host unreachable", [2] = "Protocol unreachable",
                [3] = "Port unreachable", [4] = "Fragmentation needed", [5] = "Source route failed",
                [6] = "Destination network unknown", [7] = "Destination host unknown", [8] = "Source host isolated",
                [9] = "Network administratively prohibited", [10] = "Host administratively prohibited",
                [11] = "Network unreachable for TOS", [12] = "Host unreachable for TOS",
                [13] = "Communication administratively filtered", [14] = "Host precedence violation",
                [15] = "Precedence cutoff in effect",
            } } },
            [5] = { { "code", 8, "Code", values = {
                [0] = "Redirect for network", [1] = "Redirect for host",
                [2] = "Redirect for Type of Service and network", [3] = "Redirect for Type of Service and host",
            } } },
            [6] = { { "code", 8, "Code", values = { [0] = "Alternate address for host" } } },
            [9] = { { "code", 8, "Code", values = {
                [0] = "Normal router advertisement", [16] = "Does not route common traffic",
            } } },
            [11] = { { "code", 8, "Code", values = {
                [0] = "Time to live exceeded in transit", [1] = "Fragment reassembly time exceeded",
            } } },
            [12] = { { "code", 8, "Code", values = {
                [0] = "Pointer indicates the error", [1] = "Required option missing", [2] = "Bad length",
            } } },
            [40] = { { "code", 8, "Code", values = {
                [0] = "Bad SPI", [1] = "Authentication failed", [2] = "Decompression failed", [3] = "Decryption failed",
                [4] = "Need authentication", [5] = "Need authorization",
            } } },
            [43] = { { "code", 8, "Code", values = {
                [0] = "No error", [1] = "Malformed query", [2] = "No such interface", [3] = "No such table entry",
                [4] = "Multiple interfaces satisfy query",
            } } },
        },
        default = { { "code", 8, "Code" } },
    },
    { "checksum", 16, "Checksum", base = "hex" },
    { "checksum.status", value = "$checksum", values = { [0] = "Bad", [1] = "Good", [2] = "Unverified" } },
    { switch = "type",
        cases = {
            [0] = numbered, [8] = numbered, [13] = times, [14] = times, [15] = numbered, [16] = numbered, [17] = mask,
            [18] = mask, [3] = not_reached, [11] = exceeded, [12] = bad_parameter,
            [4] = { { "_", 32 } },
            [5] = { { "redir_gw", "ipv4", "Gateway Address" } },
            [9] = {
                { "num_addrs", 8, "Number of addresses" },
                { "addr_entry_size", 8, "Address entry size", default = 2 },
                { "lifetime", 16, "Lifetime", default = 1800 },
                { check = "addr_entry_size >= 2", "an address entry size below 2" },
                { loop = "num_addrs", list = "addresses",
                    { size = "addr_entry_size * 4",
                        { "router_address", "ipv4", "Router address" },
                        { "pref_level", "int32", "Preference level" },
                    },
                },
                { loop = true, list = "extensions", table.unpack(mobile_extension) },
            },
            [10] = { { "_", 32 } },
            [42] = with(identifier, { call = "extended_request" }),
            [43] = with(identifier, { call = "extended_reply" }),
        },
        default = {},
    },
    { when = has_length,
        { check = "8 + 4 * $u8(5) <= $len", "a quoted datagram that is longer than what there is" },
        { size = "4 * $u8(5)" },
        { call = "extensions", when = "$rest >= 4" },
    },
    { when = "!(" .. has_length .. ") && " .. has_old_extension,
        { size = 128 },
        { call = "extensions", when = "$rest >= 4" },
    },
}
