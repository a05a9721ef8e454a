--- DHCPv6, RFC 8415, with the options of RFC 3319, 3633, 3646, 4704, 5007, 5908, 6603, 7598 and others.

local core = require "ringtap.core"

local hardware = { [1] = "Ethernet", [6] = "IEEE 802", [7] = "ARCNET", [16] = "ATM", [24] = "IEEE 1394",
    [27] = "EUI-64",
    [32] = "InfiniBand" }
local messages = {
    "Solicit", "Advertise", "Request", "Confirm", "Renew", "Rebind", "Reply", "Release", "Decline", "Reconfigure",
    "Information-request", "Relay-forw", "Relay-reply", "Leasequery", "Leasequery-reply", "Leasequery-done",
    "Leasequery-data", "Reconfigure-request", "Reconfigure-reply", "DHCPv4-query", "DHCPv4-response",
}
local names = {
    "Client Identifier", "Server Identifier", "IA_NA", "IA_TA", "IA Address", "Option Request", "Preference",
    "Elapsed Time",
    "Relay Message", [11] = "Authentication", [12] = "Server Unicast", [13] = "Status Code", [14] = "Rapid Commit",
    [15] = "User Class", [16] = "Vendor Class", [17] = "Vendor-specific Information", [18] = "Interface-Id",
    [19] = "Reconfigure Message", [20] = "Reconfigure Accept", [21] = "SIP Server Domain Names",
    [22] = "SIP Server Addresses", [23] = "DNS Recursive Name Servers", [24] = "Domain Search List", [25] = "IA_PD",
    [26] = "IA Prefix", [27] = "NIS Servers", [28] = "NIS+ Servers", [29] = "NIS Domain Name",
    [30] = "NIS+ Domain Name",
    [31] = "SNTP Servers", [32] = "Information Refresh Time", [33] = "BCMCS Domain Names", [34] = "BCMCS Addresses",
    [36] = "Geoconf Civic", [37] = "Remote-ID", [38] = "Subscriber-ID", [39] = "Client FQDN", [40] = "PANA Agent",
    [41] = "POSIX Timezone", [42] = "TZDB Timezone", [43] = "Echo Request", [44] = "Leasequery Query",
    [45] = "Client Data", [46] = "Client Last Transaction Time", [47] = "Leasequery Relay Data",
    [48] = "Leasequery Client Link", [51] = "LoST Server", [52] = "CAPWAP Access Controllers", [53] = "Relay ID",
    [56] = "NTP Server", [57] = "Access Domain", [59] = "Boot File URL", [60] = "Boot File Parameters",
    [61] = "Client Architecture", [62] = "Network Interface Identifier", [64] = "AFTR Name",
    [65] = "ERP Local Domain Name",
    [66] = "Relay-Supplied Options", [67] = "PD Exclude", [68] = "Virtual Subnet Selection", [74] = "RDNSS Selection",
    [79] = "Client Link-Layer Address", [80] = "Link Address", [82] = "SOL_MAX_RT", [83] = "INF_MAX_RT",
    [86] = "PCP Server", [87] = "DHCPv4 Message", [88] = "DHCP4o6 Server Address", [89] = "S46 Rule", [90] = "S46 BR",
    [91] = "S46 DMR", [92] = "S46 IPv4/IPv6 Binding", [93] = "S46 Port Parameters", [94] = "S46 MAP-E Container",
    [95] = "S46 MAP-T Container", [96] = "S46 Lightweight 4over6 Container", [103] = "Captive Portal",
    [112] = "MUD URL",
    [135] = "Relay Source Port", [143] = "ANDSF Addresses", [144] = "DNR",
}
local statuses = {
    [0] = "Success", "UnspecFail", "NoAddrsAvail", "NoBinding", "NotOnLink", "UseMulticast", "NoPrefixAvail",
    "UnknownQueryType", "MalformedQuery", "NotConfigured", "NotAllowed", "QueryTerminated",
}

-- ---------------------------------------------------------------- values that no number of bits gives

local function hex_text(bytes)
    return (bytes:gsub(".", function(c) return ("%02x"):format(c:byte()) end))
end

local function mac_text(bytes)
    return (hex_text(bytes):gsub("..", "%0:"):sub(1, -2))
end

-- Seconds from 2000 on, RFC 8415 11.2
local function duid_time(bytes)
    local seconds = (">I4"):unpack(bytes) + 946684800
    return os.date("!%b %e, %Y %H:%M:%S", seconds) .. ".000000000 UTC"
end

-- Labels without compression; a name that has its end is written with a dot behind it.
local function domain_name(bytes)
    local labels, at = {}, 1
    while at <= #bytes and bytes:byte(at) > 0 and bytes:byte(at) < 0x40 do
        labels[#labels + 1] = bytes:sub(at + 1, at + bytes:byte(at))
        at = at + bytes:byte(at) + 1
    end
    return table.concat(labels, ".") .. (bytes:byte(at) == 0 and "." or "")
end

local function prefix_text(bytes)
    return core._ipv6((bytes .. ("\0"):rep(16)):sub(1, 16))
end

-- ---------------------------------------------------------------- shapes of options

local function addresses(name, title)
    return { { loop = true, list = "values", { name, "ipv6", title } } }
end

local function domains(name, title)
    return { { loop = true, list = "values",
        { "_name", "name", overlay = true, sub = { { "_size", value = "$rest" } } },
        { name, "name", title, size = "_size", value = domain_name },
    } }
end

local function one(kind, name, title, values)
    return { { name, kind, title, values = values } }
end

local function sub_options()
    return { { call = "options" } }
end

local function prefix(length, field, title) -- as many bytes as the prefix needs
    return { field, "bytes", title, size = "(" .. length .. " + 7) / 8", value = prefix_text }
end

local duid = { { "duid.bytes", "bytes", "DUID", sub = {
    { "duid.type", 16, "DUID Type", values = { "LLT", "EN", "LL", "UUID" } },
    { switch = "duid.type", cases = {
        [1] = {
            { "duidllt.hwtype", 16, "Hardware type", values = hardware },
            { "duidllt.time", "bytes", "DUID Time", size = 4, value = duid_time },
            { "duidllt.link_layer_addr", "string", "Link-layer address", size = "$rest", value = mac_text },
        },
        [2] = {
            { "duiden.enterprise", 32, "Enterprise ID" },
            { "duiden.identifier", "bytes", "Identifier" },
        },
        [3] = {
            { "duidll.hwtype", 16, "Hardware type", values = hardware },
            { "duidll.link_layer_addr", "string", "Link-layer address", size = "$rest", value = mac_text },
        },
        [4] = { { "duiduuid.bytes", "bytes", "UUID" } },
    } },
} } }

local function identity_association()
    return {
        { "iaid", "bytes", "IAID", size = 4, value = hex_text },
        { "iaid.t1", 32, "T1" },
        { "iaid.t2", 32, "T2" },
        { call = "options" },
    }
end

local authentication = { -- RFC 8415 21.11; the old delayed protocol is RFC 3315's
    { "auth.protocol", 8, "Protocol", values = { [2] = "delayed", [3] = "reconfigure key" } },
    { "auth.algorithm", 8, "Algorithm", values = { "HMAC-MD5" } },
    { "auth.rdm", 8, "RDM", values = { [0] = "counter" } },
    { "auth.replay_detection", "bytes", "Replay Detection", size = 8 },
    { when = "auth.protocol == 2 && $rest >= 20",
        { "auth.realm", "string", "DHCP realm", size = "$rest - 20" },
        { "auth.key_id", 32, "Key ID" },
        { "auth.md5_data", "bytes", "HMAC-MD5 data" },
    },
    { when = "$rest > 0", { "auth.info", "bytes", "Authentication Information" } },
}

local client_fqdn = { -- RFC 4704
    { "client_fqdn_flags", 8, "Flags", base = "hex", sub = {
        { "_", 5 },
        { switch = "msgtype == 2 || msgtype == 7",
            cases = { [1] = {
                { "clientfqdn.server.n", "bool", "N bit" },
                { "clientfqdn.server.o", "bool", "O bit" },
                { "clientfqdn.server.s", "bool", "S bit" },
            } },
            default = {
                { "clientfqdn.client.n", "bool", "N bit" },
                { "_", 1 },
                { "clientfqdn.client.s", "bool", "S bit" },
            },
        },
    } },
    { "client_domain", "name", "Client Domain Name", size = "$rest", value = domain_name, when = "$rest > 0" },
}

local options = {
    duid,
    duid,
    identity_association(),
    { { "iata", "bytes", "IATA", size = 4, value = hex_text }, { call = "options" } },
    {
        { "iaaddr.ip", "ipv6", "IPv6 address" },
        { "iaaddr.pref_lifetime", 32, "Preferred lifetime" },
        { "iaaddr.valid_lifetime", 32, "Valid lifetime" },
        { call = "options" },
    },
    { { loop = true, list = "values", { "requested_option_code", 16, "Requested Option code", values = names } } },
    one(8, "option_preference", "Pref-value"),
    { { "elapsed_time", 16, "Elapsed time", scale = 10 } },
    { { call = "message" } },
    [11] = authentication,
    [12] = one("ipv6", "unicast", "IPv6 address"),
    [13] = { { "status_code", 16, "Status Code", values = statuses }, { "status_msg", "string", "Status Message" } },
    [14] = {},
    [15] = { { loop = true, list = "classes",
        { "userclass.length", 16, "Length" },
        { "userclass.opaque_data", "bytes", "User class", size = "userclass.length" },
    } },
    [16] = {
        { "vendorclass.enterprise", 32, "Enterprise ID" },
        { loop = true, list = "classes",
            { "_vlen", 16 },
            { "vendorclass.data", "string", "Vendor class", size = "_vlen" },
        },
    },
    [17] = {
        { "vendoropts.enterprise", 32, "Enterprise ID" },
        { loop = true, list = "options",
            { when = "vendoropts.enterprise == 4491", -- CableLabs
                { "cablelabs.opt", 16, "Suboption" },
                { "_clen", 16 },
                { "_cdata", "bytes", size = "_clen" },
            },
            { when = "vendoropts.enterprise != 4491",
                { "vendoropts.enterprise.option_code", 16, "Option code" },
                { "vendoropts.enterprise.option_length", 16, "Option length" },
                { "vendoropts.enterprise.option_data", "bytes", "Option data",
                    size = "vendoropts.enterprise.option_length" },
            },
        },
    },
    [18] = one("bytes", "interface_id", "Interface-ID"),
    [19] = one(8, "reconf_msg", "Reconfigure message type", messages),
    [20] = {},
    [21] = domains("sip_server_domain_search_fqdn", "SIP Server Domain Search FQDN"),
    [22] = addresses("sip_server_a", "SIP server address"),
    [23] = addresses("dns_server", "DNS server address"),
    [24] = domains("search_list_entry", "List entry"),
    [25] = identity_association(),
    [26] = {
        { "iaprefix.pref_lifetime", 32, "Preferred lifetime" },
        { "iaprefix.valid_lifetime", 32, "Valid lifetime" },
        { "iaprefix.pref_len", 8, "Prefix length" },
        { "iaprefix.pref_addr", "ipv6", "Prefix address" },
        { call = "options" },
    },
    [27] = addresses("nis_server", "NIS server address"),
    [28] = addresses("nisp_server", "NIS+ server address"),
    [29] = domains("nis_fqdn", "NIS domain name"),
    [30] = domains("nisp_fqdn", "NIS+ domain name"),
    [31] = addresses("sntp_server", "SNTP server address"),
    [32] = one(32, "lifetime", "Information refresh time"),
    [33] = domains("bcmcs_server_fqdn", "BCMCS server FQDN"),
    [34] = addresses("bcmcs_server_a", "BCMCS server address"),
    [37] = { { "remoteid.enterprise", 32, "Enterprise ID" }, { "remoteid_enterprise_id", "bytes", "Remote-ID" } },
    [38] = one("string", "subscriber_id", "Subscriber-ID"),
    [39] = client_fqdn,
    [40] = addresses("pana_agent", "PANA agent address"),
    [41] = one("string", "timezone", "Time-zone"),
    [42] = one("string", "tzdb", "TZ-database"),
    [43] = { { loop = true, list = "values", { "requested_option_code", 16, "Requested Option code",
    values = names } } },
    [44] = { -- RFC 5007
        { "lq_query", 8, "Query-type", values = {
            "by-address", "by-clientID", "by-relayID", "by-linkAddress", "by-remoteID",
        } },
        { "lq_query_link_address", "ipv6", "Link address" },
        { call = "options" },
    },
    [45] = sub_options(),
    [46] = one(32, "clt_time", "Client last transaction time"),
    [47] = { { "lq_relay_data_peer_addr", "ipv6", "Peer address" }, { call = "message" } },
    [48] = addresses("lq_client_link", "Link address"),
    [52] = addresses("capwap_ac_v6", "CAPWAP Access Controller address"),
    [53] = duid,
    [56] = { { loop = true, list = "servers", -- RFC 5908
        { "ntpserver.option.type", 16, "Suboption", values = { "address", "multicast address", "FQDN" } },
        { "ntpserver.option.length", 16, "Length" },
        { switch = "ntpserver.option.type", size = "ntpserver.option.length", cases = {
            [1] = { { "ntpserver.addr", "ipv6", "NTP Server Address" } },
            [2] = { { "ntpserver.mc_addr", "ipv6", "NTP Multicast Address" } },
            [3] = { { "ntpserver.fqdn", "name", "NTP Server FQDN", size = "$rest", value = domain_name } },
        }, default = { { "_data", "bytes" } } },
    } },
    [64] = { { "aftr_name", "name", "AFTR Name", size = "$rest", value = domain_name } },
    [67] = { { "pd_exclude.pref_len", 8, "Prefix length" }, { "pd_exclude.subnet_id", "bytes", "IPv6 subnet ID" } },
    [89] = { -- RFC 7598
        { "s46_rule.flags", 8, "Flags", base = "hex", sub = {
            { "s46_rule.flags.reserved", "bool", "Reserved", bits = 7 },
            { "s46_rule.flags.fmr", "bool", "Forwarding Mapping Rule" },
        } },
        { "s46_rule.ea_len", 8, "EA-bit length" },
        { "s46_rule.ipv4_pref_len", 8, "IPv4 prefix length" },
        { "s46_rule.ipv4_prefix", "ipv4", "IPv4 prefix" },
        { "s46_rule.ipv6_prefix_len", 8, "IPv6 prefix length" },
        { check = "s46_rule.ipv6_prefix_len <= 128", "a prefix longer than an address" },
        prefix("s46_rule.ipv6_prefix_len", "s46_rule.ipv6_prefix", "IPv6 prefix"),
        { call = "options" },
    },
    [90] = one("ipv6", "s46_br.address", "BR address"),
    [91] = {
        { "s46_dmr.dmr_pref_len", 8, "IPv6 prefix length" },
        { check = "s46_dmr.dmr_pref_len <= 128", "a prefix longer than an address" },
        prefix("s46_dmr.dmr_pref_len", "s46_dmr.dmr_prefix", "IPv6 prefix"),
    },
    [92] = {
        { "s46_v4v6bind.ipv4_address", "ipv4", "IPv4 Address" },
        { "s46_v4v6bind.ipv6_pref_len", 8, "IPv6 prefix length" },
        { check = "s46_v4v6bind.ipv6_pref_len <= 128", "a prefix longer than an address" },
        prefix("s46_v4v6bind.ipv6_pref_len", "s46_v4v6bind.ipv6_prefix", "IPv6 prefix"),
        { call = "options" },
    },
    [93] = {
        { "s46_portparam.offset", 8, "Offset" },
        { "s46_portparam.psid_len", 8, "PSID length" },
        { "_psid", 16 },
        { "s46_portparam.psid", "uint", "PSID", value = "_psid >> (16 - s46_portparam.psid_len)" },
    },
    [94] = sub_options(),
    [95] = sub_options(),
    [96] = sub_options(),
    [103] = one("string", "captive_portal", "Captive Portal"),
    [112] = one("string", "mudurl", "MUD URL"),
    [135] = one(16, "relay_port", "Downstream Source Port"),
}

return {
    name = "dhcpv6", title = "DHCPv6",
    on = { ["udp.port"] = { 546, 547 } },
    header = "$len",
    line = {
        "dhcp6 {msgtype}", { when = "msgtype != 12 && msgtype != 13", " (xid={xid})" },
        { when = "msgtype == 12 || msgtype == 13", " (linkaddr={linkaddr} peeraddr={peeraddr})" }, ", length {=$len}",
    },
    groups = {
        message = {
            { "msgtype", 8, "Message type", values = messages, default = 1 },
            { switch = "msgtype == 12 || msgtype == 13",
                cases = { [1] = {
                    { "hopcount", 8, "Hopcount" },
                    { "linkaddr", "ipv6", "Link address" },
                    { "peeraddr", "ipv6", "Peer address" },
                } },
                default = { { "xid", 24, "Transaction ID", base = "hex" } },
            },
            { call = "options" },
        },
        options = {
            { loop = true, list = "options",
                { "option.type", 16, "Option", values = names },
                { "option.length", 16, "Length" },
                { switch = "option.type", size = "option.length", cases = options, default = { { "_data", "bytes" } } },
            },
        },
    },
    { call = "message" },
}
