--- BSD loopback (link type 0: the family in the byte order of the host that captured; 108: in network order). Some
-- hosts have the family in 16 bits only, or an EtherType there.

local names = { [2] = "IP", [7] = "OSI", [16] = "AppleTalk", [23] = "IPX", [24] = "IPv6", [28] = "IPv6", [30] = "IPv6" }

local short = "$link != 108 && ($u16(2) == 0 ? $u8(0) == 0 && $u8(1) > 0 && $u8(1) < 6 : $u8(3) == 0 && $u8(2) < 6)"
local big = "$link == 108 || $u16(2) != 0 && !($u8(3) == 0 && $u8(2) < 6)"
local number = ("(%s) ? $u16(0) + $u8(2) : (%s) ? $u32(0) : $le16(0)"):format(short, big)
local ethertype = "$link != 108 && _number > 1500"

return {
    name = "null", title = "Null/Loopback",
    on = { link = { 0, 108 } },
    header = "$u16(0) == 0xff03 ? 0 : 4",
    next = {
        { "ppp", when = "$u16(0) == 0xff03" },
        { table = "null.type", key = "family" },
        { table = "ethertype", key = "type", when = ethertype },
    },
    line = "AF {family} ({=" .. number .. "})",
    { when = "$u16(0) != 0xff03",
        { "_number", value = number },
        { "type", 16, "Type", base = "hex", value = "_number & 0xffff", when = ethertype },
        { when = "!(" .. ethertype .. ")",
            { "family", 32, "Family", values = names, le = true, when = "!(" .. short .. ") && !(" .. big .. ")" },
            { "family", 32, "Family", values = names, when = "!(" .. short .. ") && (" .. big .. ")" },
            { "family", 32, "Family", values = names, value = "_number", when = short },
        },
    },
}
