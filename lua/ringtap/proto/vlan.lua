--- VLAN tags: IEEE 802.1Q (0x8100, and 0x9100 as some switches have it for the outer tag) and 802.1ad (0x88a8). A tag's
-- EtherType of at most 1500 is a length, as in Ethernet. The innermost tag has the padding and the trailer.

local function behind(trailer)
    return { behind = true, -- as in Ethernet, but never with a checksum
        { "_have", value = "$start + $wire - $rest" },
        { "_fill", value = "$start + $wire < 60 || _have >= 60 ? 0 : 60 - _have" },
        { "_pad", "bytes", size = "_fill", when = "_fill > 0", overlay = true, sub = {
            { loop = true, stop = "_octet != 0", { "_octet", 8 } },
        } },
        { ".eth.padding", "bytes", "Padding", size = "_fill", when = "_fill > 0 && _octet == 0" },
        { trailer, "bytes", "Trailer", when = "$rest > 0" },
    }
end

local priorities = {
    [0] = "Best Effort", [1] = "Background", [2] = "Spare", [3] = "Excellent Effort", [4] = "Controlled Load",
    [5] = "Video", [6] = "Voice", [7] = "Network Control",
}

return {
    {
        name = "vlan", title = "802.1Q Virtual LAN",
        on = { ethertype = { 0x8100, 0x9100 } },
        header = 4,
        total = "_word + 4", untold = "_word > 1500",
        next = {
            { table = "ethertype", key = "_word", when = "_word >= 1536", via = "ethertype" },
            { "llc", when = "_word <= 1500 && $u16(4) != 0xffff" },
            { "llc", when = "_word == 0x8870", via = "ethertype" },
        },
        line = { "vlan {id}, p {priority#}", { when = "dei", ", DEI" } },
        { "priority", 3, "Priority", values = priorities },
        { "dei", "bool", "DEI" },
        { "id", 12, "ID" },
        { "_word", 16, overlay = true },
        { "len", 16, "Length", when = "_word <= 1500", overlay = true },
        { "etype", 16, "Type", base = "hex", when = "_word > 1500" },
        behind "trailer",
    },
    {
        name = "ieee8021ad", title = "IEEE 802.1ad", once = true,
        on = { ethertype = 0x88a8 },
        header = 4,
        next = {
            { "ieee8021ad", when = "_word == 0x88a8" },
            { table = "ethertype", key = "_word", when = "_word >= 1536", via = "ethertype" },
            { "llc", when = "_word <= 1500 && $u16(4) != 0xffff" },
            { "llc", when = "_word == 0x8870", via = "ethertype" },
        },
        line = { "vlan {id}, p {priority}", { when = "dei", ", DEI" } },
        { "priority", 3, "Priority" },
        { "dei", 1, "DEI" },
        { "id", 12, "ID", sub = { -- of two such tags in a row: the service's and the customer's
            { "svid", 12, "ID", when = "$u16(2) == 0x88a8 && !$under(ieee8021ad)" },
            { "cvid", 12, "ID", when = "$under(ieee8021ad)" },
        } },
        { "_word", 16, overlay = true },
        { "len", 16, "Length", when = "_word <= 1500", overlay = true, hidden = true },
        { "etype", 16, "Type", base = "hex", when = "_word > 1500", overlay = true, hidden = true },
        { "_", 16 },
        behind ".eth.trailer",
    },
}
