--- VRRP, versions 2 (RFC 3768) and 3 (RFC 5798). Version 3's checksum has a pseudo header; behind version 2's addresses
-- there may be the authentication data of RFC 2338, or Cisco's MD5 digest.
return {
    name = "vrrp", title = "Virtual Router Redundancy Protocol",
    on = { ["ip.proto"] = 112 },
    checksum = { field = "checksum", pseudo = "version == 3", protocol = 112 },
    line = {
        "VRRPv{version}, {type}, vrid {virt_rtr_id}, prio {prio}, ",
        { when = "version <= 2", "authtype {auth_type#}, intvl {adver_int}s, " },
        { when = "version > 2", "intvl {short_adver_int}cs, " },
        "length {=$len}",
    },
    { "typever", 8, "VRRP message version and type", sub = {
        { "version", 4, "VRRP protocol version", default = 3 },
        { "type", 4, "VRRP packet type", values = { [1] = "Advertisement" }, default = 1 },
    } },
    { "virt_rtr_id", 8, "Virtual Rtr ID", default = 1 },
    { "prio", 8, "Priority", default = 100 },
    { "addr_count", 8, "Addr Count" },
    { "_interval", 16, sub = {
        { when = "version == 3",
            { "reserved_mbz", 4, "Reserved" },
            { "short_adver_int", 12, "Adver Int", default = 100 },
        },
        { when = "version != 3",
            { "auth_type", 8, "Auth Type", values = {
                [0] = "No Authentication", [1] = "Simple Text Authentication", [2] = "IP Authentication Header",
                [254] = "Cisco VRRP MD5 authentication",
            } },
            { "adver_int", 8, "Adver Int", default = 1 },
        },
    } },
    { "checksum", 16, "Checksum", base = "hex" },
    { "checksum.status", value = "$checksum" },
    { loop = "addr_count", list = "addresses",
        { "ip_addr", "ipv4", "IP Address", when = "!$under(ipv6)" },
        { "ipv6_addr", "ipv6", "IPv6 Address", when = "$under(ipv6)" },
    },
    { when = "version == 2 && auth_type == 1", { "auth_string", "string", "Authentication String", size = 8 } },
    { when = "version == 2 && auth_type == 254",
        { "_unused", "bytes", size = 8 },
        { "md5_auth_data", "bytes", "MD5 Authentication Data", size = 16 },
    },
}
