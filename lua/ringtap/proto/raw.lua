--- Packets without a link layer (LINKTYPE_RAW): what they are is told by their first bits. Link types 228 and 229 are
-- IP alone and need no layer of their own.
return {
    name = "raw", title = "Raw packet data",
    on = { link = { 12, 14, 101 } },
    header = 0,
    next = {
        { "ip", when = "$u8(0) >> 4 == 4" },
        { "ipv6", when = "$u8(0) >> 4 == 6" },
        { "ppp", when = "$u16(0) == 0xff03" },
    },
}
