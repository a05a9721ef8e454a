--- MPLS label stacks, RFC 3032, one layer for each label, with the associated channel (RFC 5586) and Ethernet
-- pseudowires (RFC 4448). A label does not say what it carries: apart from the explicit-null labels that is told by
-- what the bytes look like, RFC 4928 3, and all but IP of the right length is marked as a guess.

local types = {
    0x0800, 0x0806, 0x86dd, 0x8035, 0x8100, 0x8809, 0x8847, 0x8848, 0x8863, 0x8864, 0x888e, 0x88a8, 0x88cc, 0x88e5,
        0x88f7,
    0x8902, 0x9000, 0x9100,
}

-- Does an Ethernet frame begin n bytes after the label? Its source is no group; its type is a common one, or a length
-- that leaves room for nothing but padding.
local function frame_at(n)
    local list = {}
    for _, number in ipairs(types) do
        list[#list + 1] = ("$u16(%d) == %d"):format(n + 12, number)
    end
    list[#list + 1] = ("$u16(%d) >= 3 && $u16(%d) <= 1500 && $u16(%d) + %d <= $len && $u16(%d) + %d >= $len"):format(
        n + 12,         n + 12, n + 12, n + 14, n + 12, n + 60)
    return ("!($u8(%d) & 1) && (%s)"):format(n + 6, table.concat(list, " || "))
end

local sequence = { ".pweth.cw.sequence_number", 16, "Sequence Number" }

return {
    {
        name = "mpls", title = "Multiprotocol Label Switching", once = true,
        on = { ethertype = { 0x8847, 0x8848 }, ["ip.proto"] = 137, ["ppp.protocol"] = { 0x0281, 0x0283 },
            ["gre.proto"] = { 0x8847, 0x8848 }, ["udp.port"] = 6635 },
        header = 4,
        next = {
            { "mpls", when = "bottom == 0" },
            { "ip", when = "label == 0" },
            { "ipv6", when = "label == 2" },
            { "pwach", when = "label == 13 && $u8(4) >> 4 == 1" },
            { "ip", when = "$u8(4) >> 4 == 4 && ($u8(4) & 15) >= 5 && $u16(6) >= 20 && $u16(6) <= $payload" },
            { "ipv6", when = "$u8(4) >> 4 == 6 && $u16(8) + 40 <= $payload" },
            { "pwach", when = "$u8(4) >> 4 == 1" },
            { "pwethcw", when = "$u8(4) >> 4 == 0 && " .. frame_at(8), guess = true, via = "pwethheuristic" },
            { "eth", when = frame_at(4), guess = true, via = "pwethheuristic:pwethnocw" },
            { "pwmcw", when = "$u8(4) >> 4 == 0 && $payload >= 4", guess = true },
            { "ip", when = "$u8(4) >> 4 == 4 && ($u8(4) & 15) >= 5", guess = true },
            { "ipv6", when = "$u8(4) >> 4 == 6", guess = true },
        },
        line = { "MPLS (label {label#}, tc {exp}", { when = "bottom", ", [S]" }, ", ttl {ttl})" },
        { "label", 20, "MPLS Label", values = { [0] = "IPv4 Explicit-Null", [1] = "Router Alert",
            [2] = "IPv6 Explicit-Null",
            [3] = "Implicit-Null", [7] = "Entropy Label Indicator", [13] = "Generic Associated Channel",
            [14] = "OAM Alert" } },
        { "exp", 3, "MPLS Experimental Bits" },
        { "bottom", 1, "MPLS Bottom Of Label Stack" },
        { "ttl", 8, "MPLS TTL", default = 64 },
    },
    {
        name = "pwethcw", title = "Pseudowire Ethernet Control Word",
        header = 4,
        next = { "eth" },
        line = "PW control word, seq {.pweth.cw.sequence_number}",
        { ".pweth.cw", "bool", "With a control word", value = 1, hidden = true },
        { "_", 16 },
        sequence,
    },
    {
        name = "pwmcw", title = "Pseudowire Control Word", -- RFC 4385 3
        header = 4,
        line = "PW control word, flags {flags}, seq {sequence_number}",
        { "_", 4 },
        { "flags", 6, "Flags", base = "hex", digits = 4 },
        { "length", 6, "Length" },
        { "sequence_number", 16, "Sequence Number" },
    },
    {
        name = "pwach", title = "Pseudowire Associated Channel",
        header = 4,
        next = {
            { "bfd", when = "channel_type == 7" },
            { "ip", when = "channel_type == 0x21" },
            { "ipv6", when = "channel_type == 0x57" },
        },
        line = "PW associated channel, type {channel_type}",
        { "_", 4, default = 1 },
        { "ver", 4, "Channel Version" },
        { "res", 8, "Reserved", base = "hex" },
        { "channel_type", 16, "Channel Type", base = "hex", values = { [1] = "Management Communication",
            [2] = "Signaling", [7] = "BFD", [8] = "PW-MSM", [9] = "MCC", [0x0a] = "DLM", [0x0b] = "ILM",
            [0x0c] = "DM", [0x21] = "IPv4", [0x22] = "CC",
            [0x23] = "CV", [0x24] = "Protection State Coordination", [0x57] = "IPv6", [0x58] = "Fault OAM" } },
    },
}
