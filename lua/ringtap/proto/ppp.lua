--- PPP, RFC 1661 and 1662, with or without address and control, its protocol number in one byte or two.

local protocols = {
    [0x0001] = "Padding", [0x0021] = "IPv4", [0x0023] = "OSI", [0x0025] = "XNS IDP", [0x0027] = "DECnet Phase IV",
    [0x0029] = "AppleTalk", [0x002b] = "IPX", [0x002d] = "VJ compressed TCP", [0x002f] = "VJ uncompressed TCP",
    [0x0031] = "Bridging PDU", [0x003d] = "Multilink", [0x003f] = "NetBIOS", [0x004b] = "SNA over 802.2",
    [0x004d] = "SNA", [0x0053] = "Encryption", [0x0057] = "IPv6", [0x0059] = "Multiplexing",
    [0x00fb] = "Compressed link datagram", [0x00fd] = "Compressed datagram", [0x0201] = "802.1d hello",
    [0x0207] = "Cisco Discovery", [0x0281] = "MPLS unicast", [0x0283] = "MPLS multicast", [0x8021] = "IPCP",
    [0x8023] = "OSINLCP", [0x8029] = "AppleTalk Control", [0x802b] = "IPXCP", [0x8031] = "Bridging NCP",
    [0x8053] = "Encryption Control", [0x8057] = "IPV6CP", [0x80fd] = "CCP", [0x8207] = "CDPCP", [0x8281] = "MPLSCP",
    [0xc021] = "LCP", [0xc023] = "PAP", [0xc025] = "LQR", [0xc02b] = "BACP", [0xc02d] = "BAP", [0xc223] = "CHAP",
    [0xc227] = "EAP",
}
local ppp = {
    name = "ppp", title = "Point-to-Point Protocol",
    on = { link = { 9, 50, 204 }, ["sll.ltype"] = 7, ["gre.proto"] = 0x880b, ethertype = 0x880b },
    next = { { table = "ppp.protocol", key = "protocol" } },
    line = "PPP {protocol}, length {=$len}",
    { "direction", 8, "Direction", values = { [0] = "DCE->DTE", [1] = "DTE->DCE" },
        when = "$link == 204 && $start == 0" },
    { when = "$at8(0) == 0xff",
        { "address", 8, "Address", base = "hex" },
        { "control", 8, "Control", base = "hex" },
    },
    { switch = "$at8(0) & 1", cases = {
        [1] = { { "protocol", 8, "Protocol", base = "hex", digits = 4, values = protocols } },
    }, default = {
        { "protocol", 16, "Protocol", base = "hex", values = protocols },
    } },
}

return { ppp, names = protocols } -- lcp.lua has the names too
