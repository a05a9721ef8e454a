--- LLC, IEEE 802.2, with SNAP (IEEE 802 9.2), and the spanning tree protocols that it carries: IEEE 802.1D, 802.1w,
-- 802.1Q (multiple spanning trees), 802.1aq, and Cisco's per-VLAN trees.

local saps = {
    [0x00] = "NULL LSAP", [0x02] = "LLC Sub-Layer Management", [0x04] = "SNA Path Control", [0x06] = "IP",
    [0x08] = "SNA", [0x0e] = "PROWAY Network Management", [0x10] = "NetWare", [0x14] = "ISO Network Layer",
    [0x20] = "CLNP ISO OSI", [0x42] = "Spanning Tree", [0x4e] = "EIA RS-511", [0x7e] = "X.25 PLP", [0x80] = "XNS",
    [0x82] = "BACnet", [0x8e] = "PROWAY Active Station List", [0x98] = "ARP", [0xaa] = "SNAP", [0xbc] = "VINES",
    [0xe0] = "NetWare", [0xf0] = "NetBIOS", [0xf4] = "IBM Net Management", [0xf8] = "HP Extended LLC",
    [0xfa] = "Ungermann-Bass", [0xfc] = "Remote Program Load", [0xfe] = "ISO Network Layer", [0xff] = "Global DSAP",
}
local half = {} -- the address without its lowest bit
for sap, name in pairs(saps) do
    half[sap >> 1] = half[sap >> 1] or name
end

local commands = {
    [0x00] = "UI", [0x08] = "UP", [0x10] = "DISC", [0x20] = "SNRM", [0x38] = "TEST", [0x01] = "SIM", [0x03] = "SARM",
    [0x0b] = "SABM", [0x13] = "SARME", [0x1b] = "SABME", [0x23] = "RESET", [0x2b] = "XID", [0x33] = "SNRME",
    [0x31] = "CFGR",
}
local responses = {
    [0x00] = "UI", [0x08] = "UP", [0x10] = "RD", [0x18] = "UA", [0x38] = "TEST", [0x01] = "RIM", [0x03] = "DM",
    [0x21] = "FRMR", [0x2b] = "XID", [0x31] = "CFGR",
}

local ouis = {
    [0x000000] = "Encapsulated Ethernet", [0x00000c] = "Cisco", [0x0000f8] = "Cisco 9.0 compatible",
    [0x000081] = "Nortel", [0x00005e] = "IANA", [0x0001e8] = "Force10", [0x001090] = "Cimetrics",
    [0x0017f2] = "Apple AWDL", [0x001958] = "Bluetooth SIG", [0x004096] = "Cisco Wireless",
    [0x00805f] = "Hewlett-Packard", [0x0080c2] = "IEEE 802.1", [0x00e02b] = "Extreme Networks",
    [0x00e052] = "Foundry", [0x080007] = "Apple", [0x506f9a] = "Wi-Fi Alliance",
}

-- who numbers the protocols of an OUI: the name of the field, which is that of the dissector table too
local numbered = {
    [0x00000c] = "cisco_pid", [0x000081] = "nortel_pid", [0x00005e] = "iana_pid", [0x0001e8] = "force10_pid",
    [0x001090] = "cimetrics_pid", [0x0017f2] = "apple_awdl_pid", [0x001958] = "bluetooth_pid",
    [0x004096] = "wlccp_pid", [0x00805f] = "hpteam_pid", [0x0080c2] = "pid", [0x00e02b] = "extreme_pid",
    [0x00e052] = "foundry_pid", [0x080007] = "apple_atalk_pid",
}

local snap = "dsap == 0xaa && ssap == 0xaa && control == 3"
local information = "($u8(2) & 3) == 3 ? ($u8(2) & 0xec) == 0 : !($u8(2) & 1)" -- UI and I carry what the SAP says

local rules = {
    { table = "llc.dsap", key = "dsap", when = "dsap != 0xaa && (" .. information .. ")" },
    { table = "ethertype", key = "type", when = snap .. " && (oui == 0 || oui == 0xf8) && type >= 1536" },
    { "eth", when = snap .. " && oui == 0x80c2 && (pid == 7 || pid == 1)" },
    { "stp", when = snap .. " && oui == 0x80c2 && pid == 0x0e" },
}
local pids = {
    [0x000000] = { { "type", 16, "Type", base = "hex" } },
    [0x0000f8] = { { "type", 16, "Type", base = "hex" } },
}
local order = {}
for number, name in pairs(numbered) do
    pids[number] = { { name, 16, name == "pid" and "Protocol ID" or "PID", base = "hex" } }
    order[#order + 1] = number
end
table.sort(order)
for _, number in ipairs(order) do
    local name = numbered[number]
    rules[#rules + 1] = {
        table = "llc." .. name, key = name, when = ("%s && oui == %d"):format(snap, number), pass = name,
    }
end

local information_control = {
    { "control", 16, "Control", base = "hex", le = true, sub = {
        { "control.n_s", 7, "N(S)" },
        { "control.ftype", 1, "Frame type", base = "hex", digits = 4, values = { [0] = "Information frame" } },
        { "control.n_r", 7, "N(R)" },
        { "_poll", 1, overlay = true },
        { "control.p", "bool", "Poll", when = "_poll && !($u8(1) & 1)", overlay = true },
        { "control.f", "bool", "Final", when = "_poll && $u8(1) & 1" },
    } },
}

local llc = {
    name = "llc", title = "Logical-Link Control",
    on = { link = { 100, 11 }, ["sll.ltype"] = 4, ["ppp.protocol"] = 0x4b },
    next = rules,
    line = {
        { when = snap, "SNAP, oui {oui}" },
        { when = "!(" .. snap .. ")", "LLC, dsap {dsap}, ssap {ssap}, ctrl {control}" },
        ", length {=$len}",
    },
    { "dsap", 8, "DSAP", base = "hex", values = saps, sub = {
        { "dsap.sap", 7, "SAP", values = half },
        { "dsap.ig", "bool", "IG Bit" },
    } },
    { "ssap", 8, "SSAP", base = "hex", values = saps, sub = {
        { "ssap.sap", 7, "SAP", values = half },
        { "ssap.cr", "bool", "CR Bit" },
    } },
    { switch = "$at8(0) & 3", cases = {
        [1] = { -- supervisory
            { "control", 16, "Control", base = "hex", le = true, sub = {
                { "_", 4 },
                { "control.s_ftype", 2, "Supervisory frame type", base = "hex", digits = 4,
                    values = { [0] = "Receiver ready", "Receiver not ready", "Reject" } },
                { "control.ftype", 2, "Frame type", base = "hex", digits = 4, values = { "Supervisory frame" } },
                { "control.n_r", 7, "N(R)" },
                { "_poll", 1, overlay = true },
                { "control.p", "bool", "Poll", when = "_poll && !($u8(1) & 1)", overlay = true },
                { "control.f", "bool", "Final", when = "_poll && $u8(1) & 1" },
            } },
        },
        [0] = information_control,
        [2] = information_control,
    }, default = { -- unnumbered
        { "control", 8, "Control", base = "hex", digits = 4, default = 3, sub = {
            { "_", 3 },
            { "control.p", "bool", "Poll", when = "$u8(2) & 16 && !($u8(1) & 1)", overlay = true },
            { "control.f", "bool", "Final", when = "$u8(2) & 16 && $u8(1) & 1", overlay = true },
            { "control.u_modifier_cmd", 6, "Command", base = "hex", values = commands,
                value = "($u8(2) & 0xec) >> 2", when = "!($u8(1) & 1)" },
            { "control.u_modifier_resp", 6, "Response", base = "hex", values = responses,
                value = "($u8(2) & 0xec) >> 2", when = "$u8(1) & 1" },
            { "_", 3 },
            { "control.ftype", 2, "Frame type", base = "hex", values = { [3] = "Unnumbered frame" } },
        } },
    } },
    { when = snap,
        { "oui", 24, "Organization Code", values = ouis },
        { switch = "oui", cases = pids, default = { { "pid", 16, "Protocol ID", base = "hex" } } },
    },
}

-- ---------------------------------------------------------------- spanning trees

local function bridge(name, title)
    return
        { name .. ".prio", 4, title .. " Priority", scale = 4096,
            default = name ~= ".mstp.cist_bridge" and 0x8000 or nil },
        { name .. ".ext", 12, title .. " System ID Extension" },
        { name .. ".hw", "ether", title .. " System ID" }
end

local roles = { [0] = "Master", [1] = "Alternate or Backup", [2] = "Root", [3] = "Designated" }
local rapid = "$u8(3) == 2"

local function flags(rapid_only)
    return {
        { "flags.tcack", "bool", "Topology Change Acknowledgment" },
        { when = rapid_only,
            { "flags.agreement", "bool", "Agreement" },
            { "flags.forwarding", "bool", "Forwarding" },
            { "flags.learning", "bool", "Learning" },
            { "flags.port_role", 2, "Port Role", values = roles },
            { "flags.proposal", "bool", "Proposal" },
        },
        { "_", 6, when = "!(" .. rapid_only .. ")" },
        { "flags.tc", "bool", "Topology Change" },
    }
end

local function configuration(title)
    return
        { ".mstp.config_format_selector", 8, title .. " Config ID format selector" },
        { ".mstp.config_name", "string", title .. " Config name", size = 32 },
        { ".mstp.config_revision_level", 16, title .. " Config revision" },
        { ".mstp.config_digest", "bytes", title .. " Config digest", size = 16 }
end

local root = { bridge("root", "Root Bridge") }
local own = { bridge("bridge", "Bridge") }
local cist = { bridge(".mstp.cist_bridge", "CIST Bridge") }

local stp = {
    name = "stp", title = "Spanning Tree Protocol",
    on = { ["llc.dsap"] = 0x42, ["llc.cisco_pid"] = { 0x0108, 0x0109, 0x010b, 0x010c }, ethertype = 0x8181 },
    header = "$len",
    check = { { "protocol == 0", "an unknown protocol identifier" } },
    line = {
        { when = "version == 0", "STP 802.1d, {type}" }, { when = "version == 2", "STP 802.1w, Rapid STP" },
        { when = "version == 3", "STP 802.1s" }, { when = "version == 4", "STP 802.1aq" },
        { when = "type != 0x80",
            ", flags {flags}, root {root.prio}.{root.hw}, bridge {bridge.prio}.{bridge.hw}.{port}" },
        ", length {=$len}",
    },
    { "protocol", 16, "Protocol Identifier", base = "hex" },
    { "version", 8, "Protocol Version Identifier",
        values = { [0] = "Spanning Tree", [2] = "Rapid Spanning Tree", [3] = "Multiple Spanning Tree",
            [4] = "Shortest Path Tree" } },
    { "type", 8, "BPDU Type", base = "hex",
        values = { [0] = "Configuration", [2] = "Rapid/Multiple Spanning Tree",
            [0x80] = "Topology Change Notification" } },
    { when = "type == 0 || type == 2",
        { "flags", 8, "BPDU flags", base = "hex", sub = flags(rapid) },
        root[1], root[2], root[3],
        { "root.cost", 32, "Root Path Cost" },
        own[1], own[2], own[3],
        { "port", 16, "Port identifier", base = "hex" },
        { "msg_age", "fixed", "Message Age", bits = 16, point = 8 },
        { "max_age", "fixed", "Max Age", bits = 16, point = 8, default = 20 },
        { "hello", "fixed", "Hello Time", bits = 16, point = 8, default = 2 },
        { "forward", "fixed", "Forward Delay", bits = 16, point = 8, default = 15 },
        { "version_1_length", 8, "Version 1 Length", when = "type == 2" },
        { when = "type == 2 && version >= 3 && $rest >= 2 && $at16(0) > 0",
            { ".mstp.version_3_length", 16, "Version 3 Length" },
            { size = ".mstp.version_3_length", when = ".mstp.version_3_length >= 64",
                { size = 51, configuration "MST" },
                { ".mstp.cist_internal_root_path_cost", 32, "CIST Internal Root Path Cost" },
                cist[1], cist[2], cist[3],
                { ".mstp.cist_remaining_hops", 8, "CIST Remaining hops" },
                { loop = true, list = "msti",
                    { ".mstp.msti.flags", 8, "MSTI flags", base = "hex", sub = flags "1" },
                    { ".mstp.msti.priority", 4, "Priority", base = "hex" },
                    { ".mstp.msti.msti_id", 12, "MSTID" },
                    { ".mstp.msti.root.hw", "ether", "Regional Root" },
                    { ".mstp.msti.root_cost", 32, "Internal root path cost" },
                    { ".mstp.msti.bridge_priority", 4, "Bridge Identifier Priority" },
                    { "_", 4 },
                    { ".mstp.msti.port_priority", 4, "Port identifier priority" },
                    { "_", 4 },
                    { ".mstp.msti.remaining_hops", 8, "Remaining hops" },
                },
            },
            { when = "version >= 4 && $rest >= 2",
                { ".mstp.version_4_length", 16, "Version 4 Length" },
                { size = ".mstp.version_4_length", when = ".mstp.version_4_length >= 53",
                    { size = 51, configuration "SPT" },
                    { "_", 2 },
                    { ".mstp.agree_flags.rest_role", "bool", "Restricted Role" },
                    { ".mstp.agree_flags.agreement_valid", "bool", "Agreement Valid Flag" },
                    { ".mstp.agree_flags.dagreement_num", 2, "Disagreement Number" },
                    { ".mstp.agree_flags.agreement_num", 2, "Agreement Number" },
                    { "_", 8 },
                    { when = "$rest >= 32",
                        { ".bpdu.agreement_digest_format_id", 4, "Agreement Digest Format Id" },
                        { ".bpdu.agreement_digest_format_capabilities", 4, "Agreement Digest Format Capabilities" },
                        { ".bpdu.agreement_digest_convention_id", 4, "Agreement Digest Convention Id" },
                        { ".bpdu.agreement_digest_convention_capabilities", 4,
                            "Agreement Digest Convention Capabilities" },
                        { ".bpdu.agreement_digest_edge_count", 16, "Agreement Digest Edge Count" },
                        { "_", 64 },
                        { ".mstp.agreement_digest", "bytes", "Agreement Digest", size = 20 },
                    },
                },
            },
        },
        -- one tree per VLAN: which one is told behind the BPDU
        { when = "$passed == 0x010b",
            { "_", "bytes", size = "36 - $here", when = "$here < 36" },
            { loop = true, list = "pvst",
                { "pvst.tlvtype", 16, "Type", base = "hex", values = { [0] = "Originating VLAN" } },
                { "pvst.tlvlen", 16, "Length" },
                { "pvst.origvlan", 16, "Originating VLAN", when = "pvst.tlvtype == 0 && pvst.tlvlen == 2" },
                { "pvst.tlvval", "bytes", "Value", size = "pvst.tlvlen",
                    when = "pvst.tlvlen > 0 && !(pvst.tlvtype == 0 && pvst.tlvlen == 2)" },
            },
        },
    },
}

return { llc, stp }
