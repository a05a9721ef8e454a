--- DHCP and BOOTP, RFC 2131 and 951, with the options of RFC 2132 and its successors.

local hardware = { [1] = "Ethernet", [6] = "IEEE 802", [7] = "ARCNET", [15] = "Frame Relay", [16] = "ATM",
    [24] = "IEEE 1394",
    [32] = "InfiniBand" }
local messages = {
    "Discover", "Offer", "Request", "Decline", "ACK", "NAK", "Release", "Inform", "Force Renew", "Lease Query",
    "Lease Unassigned", "Lease Unknown", "Lease Active", "Bulk Lease Query", "Lease Query Done", "Active Lease Query",
    "Lease Query Status", "TLS",
}
local names = {
    [0] = "Pad", "Subnet Mask", "Time Offset", "Router", "Time Server", "Name Server", "Domain Name Server",
    "Log Server",
    "Quotes Server", "LPR Server", "Impress Server", "Resource Location Server", "Host Name", "Boot File Size",
    "Merit Dump File", "Domain Name", "Swap Server", "Root Path", "Extensions Path", "IP Forwarding",
    "Non-Local Source Routing", "Policy Filter", "Maximum Datagram Reassembly Size", "Default IP TTL",
    "Path MTU Aging Timeout", "Path MTU Plateau Table", "Interface MTU", "All Subnets are Local", "Broadcast Address",
    "Perform Mask Discovery", "Mask Supplier", "Perform Router Discovery", "Router Solicitation Address",
    "Static Route",
    "Trailer Encapsulation", "ARP Cache Timeout", "Ethernet Encapsulation", "TCP Default TTL", "TCP Keepalive Interval",
    "TCP Keepalive Garbage", "NIS Domain", "NIS Servers", "NTP Servers", "Vendor-Specific Information",
    "NetBIOS Name Server", "NetBIOS Datagram Distribution Server", "NetBIOS Node Type", "NetBIOS Scope",
    "X Window Font Server", "X Window Display Manager", "Requested IP Address", "IP Address Lease Time",
    "Option Overload",
    "DHCP Message Type", "DHCP Server Identifier", "Parameter Request List", "Message", "Maximum DHCP Message Size",
    "Renewal Time Value", "Rebinding Time Value", "Vendor Class Identifier", "Client Identifier", "NetWare/IP Domain",
    "NetWare/IP Information", "NIS+ Domain", "NIS+ Servers", "TFTP Server Name", "Bootfile Name",
    "Mobile IP Home Agent",
    "SMTP Server", "POP3 Server", "NNTP Server", "WWW Server", "Finger Server", "IRC Server", "StreetTalk Server",
    "StreetTalk Directory Assistance Server", "User Class", "SLP Directory Agent", "SLP Service Scope", "Rapid Commit",
    "Client FQDN", "Relay Agent Information", "iSNS", [85] = "NDS Servers", [86] = "NDS Tree Name",
    [87] = "NDS Context",
    [88] = "BCMCS Domain Name List", [89] = "BCMCS Address", [90] = "Authentication",
    [91] = "Client Last Transaction Time",
    [92] = "Associated IP", [93] = "Client System Architecture", [94] = "Client Network Device Interface",
    [95] = "LDAP",
    [97] = "Client Machine Identifier", [98] = "User Authentication Protocol", [99] = "GEOCONF_CIVIC",
    [100] = "TZ-POSIX",
    [101] = "TZ-Database", [108] = "IPv6-Only Preferred", [112] = "NetInfo Parent Server Address",
    [113] = "NetInfo Parent Server Tag", [114] = "Captive Portal", [116] = "Auto-Configuration",
    [117] = "Name Service Search", [118] = "Subnet Selection", [119] = "Domain Search", [120] = "SIP Servers",
    [121] = "Classless Static Route", [122] = "CableLabs Client Configuration", [123] = "GeoConf",
    [124] = "V-I Vendor Class", [125] = "V-I Vendor-Specific Information", [136] = "PANA Agent", [137] = "LoST Server",
    [138] = "CAPWAP Access Controller", [139] = "IPv4 Address MoS", [140] = "IPv4 FQDN MoS", [141] = "SIP UA Domains",
    [142] = "ANDSF Server", [143] = "SZTP Redirect", [144] = "GeoLoc", [145] = "Forcerenew Nonce Capable",
    [146] = "RDNSS Selection", [150] = "TFTP Server Address", [151] = "Status Code", [152] = "Base Time",
    [153] = "Start Time of State", [154] = "Query Start Time", [155] = "Query End Time", [156] = "DHCP State",
    [157] = "Data Source", [158] = "PCP Server", [159] = "Portparams", [160] = "Captive Portal (old)",
    [161] = "MUD URL",
    [162] = "DNR", [175] = "Etherboot", [208] = "PXELINUX Magic", [209] = "PXE Configuration File",
    [210] = "PXE Path Prefix", [211] = "Reboot Time", [212] = "6RD", [213] = "V4 Access Domain",
    [220] = "Subnet Allocation", [221] = "Virtual Subnet Selection", [249] = "Classless Static Route (Microsoft)",
    [252] = "Proxy Autodiscovery", [255] = "End",
}
local architectures = {
    [0] = "IA x86 PC", "NEC/PC98", "IA64 PC", "DEC Alpha", "ArcX86", "Intel Lean Client", "EFI IA32", "EFI x64",
    "EFI Xscale",
    "EFI BC", "ARM 32-bit UEFI", "ARM 64-bit UEFI", [15] = "x86 UEFI HTTP", [16] = "x64 UEFI HTTP",
    [18] = "ARM 32-bit UEFI HTTP",
    [19] = "ARM 64-bit UEFI HTTP", [20] = "PC/AT BIOS HTTP", [27] = "RISC-V 64-bit UEFI",
    [28] = "RISC-V 64-bit UEFI HTTP",
}

-- ---------------------------------------------------------------- shapes of options

local function one(kind, name, title, more)
    local field = { "option." .. name, kind, title }
    for k, v in pairs(more or {}) do
        field[k] = v
    end
    return { field }
end

local function text(name, title)
    return one("string", name, title, { ascii = true })
end

local function number(bits, name, title, values)
    return one(bits, name, title, { values = values })
end

local function switch(name, title)
    return one("bool", name, title, { bits = 8 })
end

local function address(name, title)
    return one("ipv4", name, title)
end

local function list(kind, name, title, values)
    return { { loop = true, list = "values", { "option." .. name, kind, title, values = values } } }
end

local function addresses(name, title)
    return list("ipv4", name, title)
end

local function pairs_of(a, a_title, b, b_title)
    return { { loop = true, list = "values", { "option." .. a, "ipv4", a_title }, { "option." .. b, "ipv4",
        b_title } } }
end

-- Labels without compression; the end may be missing (RFC 4702 2.3.1).
local function partial_name(bytes)
    local labels, at = {}, 1
    while at <= #bytes and bytes:byte(at) > 0 and bytes:byte(at) < 0x40 do
        labels[#labels + 1] = bytes:sub(at + 1, at + bytes:byte(at))
        at = at + bytes:byte(at) + 1
    end
    return table.concat(labels, ".")
end

local services = { [0] = "Local Naming Information", [6] = "Domain Name Server Option",
    [41] = "Network Information Servers Option", [44] = "NetBIOS over TCP/IP Name Server Option",
    [65] = "Network Information Service+ Servers Option" }

local function service(bytes)
    local code = #bytes == 2 and (">I2"):unpack(bytes)
    return code and ("%s (%d)"):format(services[code] or "Unknown", code) or nil
end

local hex_text = function(bytes)
    return (bytes:gsub(".", function(c) return ("%02x"):format(c:byte()) end))
end

local function leading_zeros(bytes)
    return hex_text(bytes:match "^%z*")
end

local mac_text = function(bytes)
    return (hex_text(bytes):gsub("..", "%0:"):sub(1, -2))
end

local duid = { -- RFC 4361 6.1, RFC 8415 11
    { "client_id.iaid", "string", "IAID", size = 4, value = hex_text },
    { "client_id.duid_type", 16, "DUID Type", values = { "LLT", "EN", "LL", "UUID" } },
    { switch = "client_id.duid_type", cases = {
        [1] = {
            { "client_id.duid_llt_hw_type", 16, "Hardware type", values = hardware },
            { "client_id.time", 32, "Time" },
            { "client_id.link_layer_address", "string", "Link layer address", size = "$rest", value = mac_text },
        },
        [2] = {
            { "client_id.enterprise_num", 32, "Enterprise-number" },
            { "client_id", "bytes", "Identifier" },
        },
        [3] = {
            { "client_id.duid_ll_hw_type", 16, "Hardware type", values = hardware },
            { "client_id.link_layer_address", "string", "Link layer address", size = "$rest", value = mac_text },
        },
    } },
}

local client_identifier = { -- RFC 2132 9.14
    { "_kind", value = "$at8(0) == 255 ? 255 : option.length == 17 && $at8(0) == 0 ? 17 : "
        .. "option.length == 7 && $at8(0) > 0 && $at8(0) < 48 ? 1 : 0" },
    { switch = "_kind",
        cases = {
            [255] = { { "_type", 8, default = 255 }, duid },
            [17] = { { "_type", 8 }, { "client_id.uuid", "guid", "Client Identifier (UUID)", le = true } },
            [1] = {
                { ".dhcp.hw.type", 8, "Hardware type", base = "hex", values = hardware, default = 1 },
                { ".dhcp.hw.mac_addr", "ether", "Client MAC address" },
            },
        },
        default = {
            { "client_id.type", 8, "Type" },
            { "client_id.undef", "string", "Client Identifier", ascii = true },
        },
    },
}

local fqdn = { -- RFC 4702
    { "fqdn.flags", 8, "Flags", base = "hex", sub = {
        { "fqdn.mbz", 4, "Reserved flags", base = "hex" },
        { "fqdn.n", "bool", "Server DDNS" },
        { "fqdn.e", "bool", "Encoding" },
        { "fqdn.o", "bool", "Server overrides" },
        { "fqdn.s", "bool", "Server" },
    } },
    { "fqdn.rcode1", 8, "A-RR result" },
    { "fqdn.rcode2", 8, "PTR-RR result" },
    { when = "fqdn.e && $rest > 0", { "fqdn.name", "string", "Client name", size = "$rest", value = partial_name } },
    { when = "!fqdn.e && $rest > 0", { "fqdn.name", "string", "Client name", ascii = true } },
}

local agent = "option.agent_information_option."

local function agent_field(kind, name, title, more)
    local items = one(kind, "agent_information_option." .. name, title, more)
    return items
end

local agent_information = { -- RFC 3046 and those that add to it
    { loop = true, list = "suboptions",
        { agent .. "suboption", 8, "Suboption", values = {
            "Agent Circuit ID", "Agent Remote ID", "Reserved", "DOCSIS Device Class", "Link selection", "Subscriber ID",
            "RADIUS Attributes", "Authentication", "Vendor-Specific Information", "Flags", "Server ID Override",
            "Relay Agent Identifier", "Access Technology Type", "Access Network Name", "Access Point Name",
            "Access Point BSSID", "Access Network Operator ID", "Access Network Operator Realm", "Source Port",
            [150] = "Link selection (Cisco)", [151] = "VRF name/VPN ID", [152] = "Server ID Override (Cisco)",
        } },
        { "option.suboption_length", 8, "Length" },
        { size = "option.suboption_length",
            { agent .. "value", "bytes", "Value", overlay = true, hidden = true },
            { switch = agent .. "suboption", cases = {
                [1] = agent_field("bytes", "agent_circuit_id", "Agent Circuit ID"),
                [2] = agent_field("bytes", "agent_remote_id", "Agent Remote ID"),
                [3] = agent_field("bytes", "reserved", "Reserved"),
                [5] = agent_field("ipv4", "link_selection", "Link selection"),
                [6] = agent_field("string", "subscriber_id", "Subscriber ID", { ascii = true }),
                [7] = agent_field("bytes", "radius_attributes", "RADIUS Attributes"),
                [8] = agent_field("bytes", "authentication", "Authentication"),
                [9] = { { loop = true, list = "vendors", -- RFC 4243
                    { agent .. "vi.enterprise", 32, "Enterprise" },
                    { agent .. "vi.data_length", 8, "Data Length" },
                    { ".dhcp." .. agent .. "value", "bytes", "Value", size = agent .. "vi.data_length" },
                } },
                [10] = agent_field(8, "flags", "Flags", { base = "hex" }),
                [11] = agent_field("ipv4", "server_id_override", "Server ID Override"),
                [12] = agent_field("bytes", "relay_agent_id", "Relay Agent Identifier"),
                [13] = { { agent .. "ani_att", 16, "Access Technology Type", sub = {
                    { agent .. "ani_att.res", 8, "Reserved" },
                    { agent .. "ani_att.att", 8, "Access Technology Type" },
                } } },
                [14] = agent_field("string", "ani_network_name", "Access Network Name"),
                [15] = agent_field("string", "ani_ap_name", "Access Point Name"),
                [16] = agent_field("ether", "ani_ap_bssid", "Access Point BSSID"),
                [17] = agent_field("bytes", "ani_operator_id", "Access Network Operator ID"),
                [18] = agent_field("string", "ani_operator_realm", "Access Network Operator Realm"),
                [150] = agent_field("ipv4", "link_selection_cisco", "Link selection (Cisco)"),
                [152] = agent_field("ipv4", "server_id_override_cisco", "Server ID Override (Cisco)"),
            }, default = { { "_data", "bytes" } } },
        },
    },
}

local classless_routes = { -- RFC 3442: the width of a net's mask, as many bytes of it as are not 0, its router
    { loop = true, list = "routes",
        { check = "$at8(0) <= 32", "a mask of more than 32 bits" },
        { "option.classless_static_route", "bytes", "Subnet/MaskWidth-Router", size = "5 + ($at8(0) + 7) / 8" },
    },
}

local options = {
    address("subnet_mask", "Subnet Mask"),
    number("int32", "time_offset", "Time Offset"),
    addresses("router", "Router"),
    addresses("time_server", "Time Server"),
    addresses("name_server", "Name Server"),
    addresses("domain_name_server", "Domain Name Server"),
    addresses("log_server", "Log Server"),
    addresses("quotes_server", "Quotes Server"),
    addresses("lpr_server", "LPR Server"),
    addresses("impress_server", "Impress Server"),
    addresses("resource_location_server", "Resource Location Server"),
    text("hostname", "Host Name"),
    number(16, "boot_file_size", "Boot File Size"),
    text("merit_dump_file", "Merit Dump File"),
    text("domain_name", "Domain Name"),
    address("swap_server", "Swap Server"),
    text("root_path", "Root Path"),
    text("extension_path", "Extensions Path"),
    switch("ip_forwarding", "IP Forwarding"),
    switch("non_local_source_routing", "Non-Local Source Routing"),
    pairs_of("policy_filter.ip", "IP Address", "policy_filter.subnet_mask", "Subnet Mask"),
    number(16, "max_datagram_reassembly_size", "Maximum Datagram Reassembly Size"),
    number(8, "default_ip_ttl", "Default IP Time-to-Live"),
    number(32, "path_mtu_aging_timeout", "Path MTU Aging Timeout"),
    list(16, "path_mtu_plateau_table_item", "Path MTU Plateau Table Item"),
    number(16, "interface_mtu", "Interface MTU"),
    switch("all_subnets_are_local", "All Subnets are Local"),
    address("broadcast_address", "Broadcast Address"),
    switch("perform_mask_discovery", "Perform Mask Discovery"),
    switch("mask_supplier", "Mask Supplier"),
    switch("perform_router_discover", "Perform Router Discovery"),
    address("router_solicitation_address", "Router Solicitation Address"),
    pairs_of("static_route.ip", "Destination IP Address", "static_route.router", "Destination Router"),
    switch("trailer_encapsulation", "Trailer Encapsulation"),
    number(32, "arp_cache_timeout", "ARP Cache Timeout"),
    switch("ethernet_encapsulation", "Ethernet Encapsulation"),
    number(8, "tcp_default_ttl", "TCP Default TTL"),
    number(32, "tcp_keepalive_interval", "TCP Keepalive Interval"),
    switch("tcp_keepalive_garbage", "TCP Keepalive Garbage"),
    text("nis_domain", "NIS Domain"),
    addresses("nis_server", "NIS Server"),
    addresses("ntp_server", "NTP Server"),
    { { "option.vendor.value", "bytes", "Value" } },
    addresses("netbios_over_tcpip_name_server", "NetBIOS Name Server"),
    addresses("netbios_over_tcpip_dd_name_server", "NetBIOS Datagram Distribution Server"),
    number(8, "netbios_over_tcpip_node_type", "NetBIOS Node Type", { "B-node", "P-node", [4] = "M-node",
        [8] = "H-node" }),
    text("netbios_over_tcpip_scope", "NetBIOS Scope"),
    addresses("xwindows_system_font_server", "X Window System Font Server"),
    addresses("xwindows_system_display_manager", "X Window System Display Manager"),
    address("requested_ip_address", "Requested IP Address"),
    number(32, "ip_address_lease_time", "IP Address Lease Time"),
    {
        { "option.option_overload", 8, "Option Overload", values = {
            "file holds options", "sname holds options", "file and sname hold options",
        } },
        { at = 44, size = 64, when = "option.option_overload & 2", { call = "options" } },
        { at = 108, size = 128, when = "option.option_overload & 1", { call = "options" } },
    },
    number(8, "dhcp", "DHCP", messages),
    address("dhcp_server_id", "DHCP Server Identifier"),
    list(8, "request_list_item", "Parameter Request List Item", names),
    text("message", "Message"),
    number(16, "dhcp_max_message_size", "Maximum DHCP Message Size"),
    number(32, "renewal_time_value", "Renewal Time Value"),
    number(32, "rebinding_time_value", "Rebinding Time Value"),
    text("vendor_class_id", "Vendor class identifier"),
    client_identifier,
    text("novell_netware_ip_domain", "NetWare/IP Domain"),
    { { "option.novell_netware_ip.data", "bytes", "NetWare/IP Information" } },
    text("nis_plus_domain", "NIS+ Domain"),
    addresses("nis_plus_server", "NIS+ Server"),
    text("tftp_server_name", "TFTP Server Name"),
    text("bootfile_name", "Bootfile name"),
    addresses("mobile_ip_home_agent", "Mobile IP Home Agent"),
    addresses("smtp_server", "SMTP Server"),
    addresses("pop3_server", "POP3 Server"),
    addresses("nntp_server", "NNTP Server"),
    addresses("default_www_server", "Default WWW Server"),
    addresses("default_finger_server", "Default Finger Server"),
    addresses("default_irc_server", "Default IRC Server"),
    addresses("streettalk_server", "StreetTalk Server"),
    addresses("streettalk_da_server", "StreetTalk Directory Assistance Server"),
    { -- 77, RFC 3004; there are clients that send a plain text
        { switch = "$at8(0) >= $rest",
            cases = { [1] = { { "option.user_class.text", "string", "User Class Data (Text)", ascii = true } } },
            default = { { loop = true, list = "classes",
                { "option.user_class", "uint", "Instance of User Class", value = "$index" },
                { "option.user_class.length", 8, "User Class Length" },
                { "option.user_class.data", "bytes", "User Class Data", size = "option.user_class.length" },
            } },
        },
    },
    {
        { "option.slp_directory_agent.value", 8, "Value", values = { [0] = "Dynamic Discovery", "Static Discovery" } },
        { loop = true, list = "values", { "option.slp_directory_agent.slpda_address", "ipv4", "IP Address" } },
    },
    {
        { "option.slp_service_scope.value", 8, "Value", values = { [0] = "Preferred Scope", "Mandatory Scope" } },
        { "option.slp_service_scope.string", "string", "SLP Service Scope", ascii = true },
    },
    {}, -- rapid commit
    fqdn,
    agent_information,
    [85] = addresses("novell_dss.ip", "IP Address"),
    [86] = text("novell_ds_tree_name", "Novell Directory Services Tree Name"),
    [87] = text("novell_ds_context", "Novell Directory Services Context"),
    [90] = { -- RFC 3118
        { "option.dhcp_authentication.protocol", 8, "Protocol", values = {
            [0] = "configuration token", "delayed authentication", [3] = "reconfigure key",
        } },
        { when = "option.dhcp_authentication.protocol == 1",
            { "option.dhcp_authentication.alg_delay", 8, "Delay Algorithm", values = { "HMAC-MD5" } },
        },
        { when = "option.dhcp_authentication.protocol != 1",
            { "option.dhcp_authentication.algorithm", 8, "Algorithm" },
        },
        { "option.dhcp_authentication.rdm", 8, "Replay Detection Method", values = { [0] = "counter" } },
        { "option.dhcp_authentication.rdm_replay_detection", 64, "RDM Replay Detection Value", base = "hex" },
        { when = "option.dhcp_authentication.protocol == 1 && $rest >= 20",
            { "option.dhcp_authentication.secret_id", 32, "Secret ID", base = "hex" },
            { "option.dhcp_authentication.hmac_md5_hash", "bytes", "HMAC MD5 Hash", size = 16 },
        },
        { when = "option.dhcp_authentication.protocol != 1",
            { "option.dhcp_authentication.information", "string", "Authentication Information", ascii = true },
        },
    },
    [91] = number(32, "client_last_transaction_time", "Client last transaction time"),
    [92] = addresses("associated_ip_option", "Associated IP option"),
    [93] = list(16, "client_system_architecture", "Client System Architecture", architectures),
    [94] = {
        { "_type", 8, default = 1 },
        { "client_network_id_major", 8, "Major Version" },
        { "client_network_id_minor", 8, "Minor Version" },
    },
    [97] = { { "_type", 8 }, { "client_id.uuid", "guid", "Client Identifier (UUID)", le = true } },
    [99] = { -- RFC 4776
        { "option.civic_location.what", 8, "What", values = { [0] = "server", "network element", "client" } },
        { "option.civic_location.country", "string", "Country", size = 2 },
        { loop = true, list = "elements",
            { "option.civic_location.ca_type", 8, "CA Type" },
            { "option.civic_location.ca_length", 8, "CA Length" },
            { "option.civic_location.ca_value", "string", "CA Value", size = "option.civic_location.ca_length" },
        },
    },
    [100] = text("tz_pcode", "TZ PCode"),
    [101] = text("tz_tcode", "TZ TCode"),
    [112] = addresses("netinfo_parent_server_address", "NetInfo Parent Server Address"),
    [113] = text("netinfo_parent_server_tag", "NetInfo Parent Server Tag"),
    [114] = text("captive_portal", "Captive Portal"),
    [116] = number(8, "dhcp_auto_configuration", "Auto-Configuration", { [0] = "DoNotAutoConfigure", "AutoConfigure" }),
    [117] = { { loop = true, list = "values",
        { "option.dhcp_name_service_search_option", "bytes", "Name Service", size = 2, value = service },
    } },
    [118] = address("subnet_selection_option", "Subnet Selection Option"),
    [119] = { -- RFC 3397: pointers count from the option's first byte
        { origin = true },
        { loop = true, list = "values", { "option.dhcp_dns_domain_search_list_fqdn", "name", "FQDN" } },
    },
    [120] = { -- RFC 3361
        { "option.sip_server.encoding", 8, "SIP Server Encoding", values = { [0] = "names", "IPv4 addresses" } },
        { origin = true },
        { switch = "option.sip_server.encoding", cases = {
            [0] = { { loop = true, list = "values", { "option.sip_server.name", "name", "SIP Server Name" } } },
            [1] = { { loop = true, list = "values", { "option.sip_server.address", "ipv4", "SIP Server Address" } } },
        } },
    },
    [121] = classless_routes,
    [124] = { { loop = true, list = "classes", -- RFC 3925
        { "option.vi_class.enterprise", 32, "Enterprise" },
        { "option.vi_class.length", 8, "Length" },
        { "option.vi_class.data", "string", "Data", size = "option.vi_class.length" },
    } },
    [125] = { { loop = true, list = "vendors",
        { "option.vi.enterprise", 32, "Enterprise" },
        { "option.vi.length", 8, "Length" },
        { size = "option.vi.length", { loop = true, list = "suboptions",
            { when = "option.vi.enterprise == 3561", -- Broadband Forum TR-111
                { "option.vi.tr111.suboption", 8, "Suboption" },
                { ".dhcp.option.suboption_length", 8, "Length" },
                { "option.vi.value", "bytes", "Value", size = ".dhcp.option.suboption_length" },
            },
            { when = "option.vi.enterprise != 3561",
                { "vendor.suboption", 8, "Suboption" },
                { ".dhcp.option.suboption_length", 8, "Length" },
                { "vendor.data", "bytes", "Data", size = ".dhcp.option.suboption_length" },
            },
        } },
    } },
    [136] = addresses("pana_agent", "PAA IPv4 Address"),
    [137] = text("lost_server_domain_name", "LoST Server Domain Name"),
    [138] = addresses("capwap_access_controller", "CAPWAP Access Controllers"),
    [142] = addresses("andsf_server", "ANDSF Server"),
    [145] = list(8, "forcerenew_nonce.algorithm", "Algorithm", { "HMAC-MD5" }),
    [146] = { -- RFC 6731 4.3
        { "option.rdnss.reserved", 6, "Reserved", base = "hex" },
        { "option.rdnss.preference", 2, "Preference", values = { [0] = "Medium", "High", "Reserved", "Low" } },
        { "option.rdnss.primary_dns", "ipv4", "Primary DNS" },
        { "option.rdnss.secondary_dns", "ipv4", "Secondary DNS" },
        { origin = true },
        { loop = true, list = "values", { "option.rdnss.domain", "name", "Domains and networks" } },
    },
    [150] = addresses("tftp_server_address", "TFTP Server Address"),
    [151] = {
        { "option.bulk_lease.status_code", 8, "Status Code", values = {
            [0] = "Success", "UnspecFail", "QueryTerminated", "MalformedQuery", "NotAllowed",
        } },
        { "option.bulk_lease.status_code_message", "string", "Status Code Message" },
    },
    [153] = number(32, "bulk_lease.start_time_of_state", "Start Time Of State"),
    [156] = number(8, "bulk_lease.dhcp_state", "DHCP State", {
        "Available", "Active", "Expired", "Released", "Abandoned", "Reset", "Remote", "Transitioning",
    }),
    [157] = switch("bulk_lease.data_source", "Data Source"),
    [158] = { { loop = true, list = "servers",
        { "option.pcp.list_length", 8, "List-Length" },
        { size = "option.pcp.list_length", { loop = true, list = "values", { "option.pcp.server", "ipv4",
            "PCP Server" } } },
    } },
    [159] = {
        { "option.portparams.offset", 8, "Offset" },
        { "option.portparams.psid_length", 8, "PSID-Length" },
        { "option.portparams.psid", "bytes", "PSID", size = 2 },
    },
    [160] = text("captive_portal", "Captive Portal"),
    [161] = text("mudurl", "MUD URL"),
    [209] = text("pxe_config_file", "PXELINUX configuration file"),
    [210] = text("pxe_path_prefix", "PXELINUX path prefix"),
    [212] = { -- RFC 5969 7.1.1
        { "option.6RD.ipv4_mask_len", 8, "6RD IPv4 Mask Length" },
        { "option.6RD.prefix_len", 8, "6RD Prefix Length" },
        { "option.6RD.prefix", "ipv6", "6RD Prefix" },
        { loop = true, list = "values", { "option.6RD.border_relay_ip", "ipv4", "Border Relay IP" } },
    },
    [249] = classless_routes,
    [252] = text("private_proxy_autodiscovery", "Proxy autodiscovery"),
}
options[62] = nil -- Wireshark has no field for those two
options[63] = nil

-- The list of options ends with an End.
local function end_of_options(values)
    if values["option.end"] == nil and values.cookie == nil then
        values["option.end"] = 255
    end
end

return {
    name = "dhcp", title = "Dynamic Host Configuration Protocol",
    on = { ["udp.port"] = { 67, 68, 4011 } },
    header = "$len",
    build = end_of_options,
    line = {
        "BOOTP/DHCP, {type}", { when = "hw.len == 6", " from {hw.mac_addr}" },
        { when = "option.dhcp", ", {option.dhcp}" }, ", length {=$len}",
    },
    groups = {
        options = {
            { when = "$rest > 0 && $at8(0) != 255", { loop = true, list = "options", stop = "$at8(0) == 255",
                { "option.padding", "bytes", "Padding", size = "$rest", when = "$at8(0) == 0", overlay = true,
                    value = leading_zeros },
                { "option.type", 8, "Option", values = names },
                { when = "option.type == 0 && $rest > 0 && $at8(0) == 0",
                    { loop = true, stop = "$at8(0) != 0", { "_padding", 8 } },
                },
                { when = "option.type != 0",
                    { "option.length", 8, "Length" },
                    { size = "option.length",
                        { "option.value", "bytes", "Value", overlay = true, hidden = true },
                        { when = "option.length > 0",
                            { switch = "option.type", cases = options, default = { { "_data", "bytes" } } },
                        },
                    },
                },
            } },
            { when = "$rest > 0",
                { ".dhcp.option.type", "uint", "Option", value = 0 }, -- as Wireshark has it
                { "option.end", 8, "Option End" },
                { when = "$rest > 0", { ".dhcp.option.padding", "bytes", "Padding" } },
            },
        },
    },
    { "type", 8, "Message type", values = { "Boot Request", "Boot Reply" }, default = 1 },
    { "hw.type", 8, "Hardware type", base = "hex", values = hardware, default = 1 },
    { "hw.len", 8, "Hardware address length", default = 6 },
    { "hops", 8, "Hops" },
    { "id", 32, "Transaction ID", base = "hex" },
    { "secs", 16, "Seconds elapsed" },
    { "flags", 16, "Bootp flags", base = "hex", sub = {
        { "flags.bc", "bool", "Broadcast flag" },
        { "flags.reserved", 15, "Reserved flags", base = "hex", digits = 4 },
    } },
    { "ip.client", "ipv4", "Client IP address" },
    { "ip.your", "ipv4", "Your (client) IP address" },
    { "ip.server", "ipv4", "Next server IP address" },
    { "ip.relay", "ipv4", "Relay agent IP address" },
    { size = 16,
        { when = "hw.len == 6 && (hw.type == 1 || hw.type == 6)", { "hw.mac_addr", "ether", "Client MAC address" } },
        { when = "hw.len > 0 && hw.len <= 16 && !(hw.len == 6 && (hw.type == 1 || hw.type == 6))",
            { "hw.addr", "bytes", "Client hardware address", size = "hw.len" },
        },
        { "hw.addr_padding", "bytes", "Client hardware address padding", size = "16 - hw.len",
            when = "hw.len > 0 && hw.len < 16" },
    },
    { "server", "string", "Server host name", size = 64, ascii = true },
    { "file", "string", "Boot file name", size = 128, ascii = true },
    { "_magic", value = "$at32(0) == 0x63825363" },
    { when = "_magic",
        { "cookie", "ipv4", "Magic cookie", default = "99.130.83.99" },
        { call = "options" },
    },
    { when = "!_magic && $rest > 0", { "vendor_specific_options", "bytes", "Bootp vendor specific options" } },
    { "bootp", "bool", "Frame is BOOTP", value = 1, when = "option.dhcp == 0", hidden = true },
}
