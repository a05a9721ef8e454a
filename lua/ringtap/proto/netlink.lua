--- Linux netlink as nlmon captures it (LINKTYPE_NETLINK, 253): a cooked header, then messages in the byte order of the
-- host, taken for little-endian here. What a family puts into its messages is not looked at.

local families = {
    [0] = "Route", [2] = "User", [3] = "Firewall", [4] = "Socket diagnostics", [5] = "Netfilter log", [6] = "XFRM",
    [7] = "SELinux", [8] = "iSCSI", [9] = "Audit", [10] = "FIB lookup", [11] = "Connector", [12] = "Netfilter",
    [13] = "IPv6 firewall", [14] = "DECnet route", [15] = "Kobject uevent", [16] = "Generic", [18] = "SCSI transport",
    [19] = "eCryptfs", [20] = "RDMA", [21] = "Crypto", [22] = "SMC",
}

-- The upper half of the flags says one thing in a message that asks and another in one that changes something; which it
-- is, the family knows.
local function flags(upper)
    return { "hdr_flags", 16, "Flags", base = "hex", le = true, overlay = true, when = upper and "$at8(1)" or nil,
        sub = {
        { "_", 2 },
        { "hdr_flags.dump_filtered", 1, "Dump filtered" },
        { "hdr_flags.dump_intr", 1, "Dump inconsistent" },
        { "hdr_flags.echo", 1, "Echo" },
        { "hdr_flags.ack", 1, "Ack" },
        { "hdr_flags.multi", 1, "Multipart message" },
        { "hdr_flags.request", 1, "Request" },
        { when = upper and "0" or "$at8(0) != 0",
            { "_", 5 },
            { "hdr_flags.atomic", 1, "Atomic" },
            { "hdr_flags.match", 1, "Return all matching" },
            { "hdr_flags.root", 1, "Specify tree root" },
        },
        { when = upper and "1" or "0",
            { "_", 4 },
            { "hdr_flags.append", 1, "Append" },
            { "hdr_flags.create", 1, "Create" },
            { "hdr_flags.excl", 1, "Excl" },
            { "hdr_flags.replace", 1, "Replace" },
        },
    } }
end

return {
    name = "netlink", title = "Linux netlink",
    on = { link = 253 },
    next = { { stop = true } },
    groups = {
        header = {
            { "hdr_type", 16, "Message type", base = "hex", le = true,
                values = { "NOOP", "Error", "Done", "Overrun" } },
            flags(false),
            flags(true),
            { "_flags", 16 },
            { "hdr_seq", 32, "Sequence", le = true },
            { "hdr_pid", 32, "Port ID", le = true },
        },
    },
    line = "netlink {family}, type {hdr_type}, length {=$len}",
    { "_pkttype", 16 },
    { "hatype", 16, "Link-layer address type", values = { [824] = "Netlink" }, default = 824 },
    { "_unused", "bytes", size = 10 },
    { "family", 16, "Family", base = "hex", values = families },
    { loop = true, list = "messages",
        { "hdr_len", 32, "Length", le = true },
        { check = "hdr_len >= 16", "a message length below 16" },
        { size = "hdr_len - 4",
            { call = "header" },
            { when = "hdr_type == 2",
                { "error", "int32", "Error code", le = true },
                { when = "$rest >= 16",
                    { "hdr_len", 32, "Length", le = true },
                    { call = "header" },
                },
            },
        },
        { "_padding", "bytes", size = "(4 - $here % 4) % 4 < $rest ? (4 - $here % 4) % 4 : $rest" },
    },
}
