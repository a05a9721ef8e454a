-- Expressions of every kind that means something on Ethernet, and frames for them to look at. Everything is made from
-- a seed, so that what failed can be had again.
local cases = {}

--- Random numbers, the same on every machine and in every run.
---@param seed integer
---@return fun(n: integer): integer 0 .. n - 1
function cases.random(seed)
    local state = seed
    return function(n)
        state = state * 6364136223846793005 + 1442695040888963407
        return (state >> 33) % n
    end
end

-- ------------------------------------------------------------------ frames

local function ether_maker(rnd)
    local make = {}

    local function pick(...)
        return (select(rnd(select("#", ...)) + 1, ...))
    end

    local function noise(n)
        local t = {}
        for i = 1, n do
            t[i] = string.char(rnd(3) == 0 and rnd(4) or rnd(256))
        end
        return table.concat(t)
    end

    local function port()
        return pick(53, 80, 443, 60, 5, 0, 4789, 6081, rnd(65536))
    end

    local function tcp()
        return string.pack(">I2I2I4I4I1I1I2I2I2", port(), port(), rnd(1 << 31), rnd(1 << 31),
            pick(0x50, 0x50, 0x80, 0xf0), pick(2, 0x12, 0x10, 0x18, 4, 1, rnd(256)), 1024, 0, 0) .. noise(rnd(60))
    end

    local function udp(payload, dst)
        payload = payload or noise(rnd(60))
        return string.pack(">I2I2I2I2", port(), dst or port(), 8 + #payload, 0) .. payload
    end

    local function inner()
        return make.mac() .. make.mac() .. (rnd(3) == 0 and string.pack(">I2I2", 0x8100, pick(5, 6, rnd(4096))) or "")
            .. make.network(1)
    end

    local function transport(depth, v6)
        local kind = rnd(depth > 0 and 8 or 10)
        if kind < 2 then
            return 6, tcp()
        elseif kind < 4 then
            return 17, udp()
        elseif kind == 4 then
            local icmp = pick(0, 3, 8, 11, 1, 128, 129, 135, 136, rnd(256))
            return v6 and 58 or 1, string.pack("BB", icmp, rnd(16)) .. noise(20)
        elseif kind == 5 then
            return 132, string.pack(">I2I2", port(), port()) .. noise(20)
        elseif kind == 6 then
            return pick(2, 50, 88, 89, 103, 112, 47, 255), noise(40)
        elseif kind == 7 then -- headers of protochain: AH, routing, options, and what they end with
            local last, payload = 17, udp()
            for _ = 1, 1 + rnd(4) do
                local next_header = pick(51, 0, 43, 60)
                local extra = rnd(3)
                if next_header == 51 then
                    payload = string.pack("BB", last, 1 + extra) .. noise(4 * (3 + extra) - 2) .. payload
                else
                    payload = string.pack("BB", last, extra) .. noise(8 * (1 + extra) - 2) .. payload
                end
                last = next_header
            end
            return last, payload
        elseif kind == 8 then
            return 17, udp("\8\0\0\0\0\0" .. pick("\5", "\6", "\7") .. "\0" .. inner(), 4789)
        else
            return 17, udp(string.pack(">BBI2I4", pick(0, 1, 0x40), 0, 0x6558, pick(5, 6, 7) << 8) .. inner(), 6081)
        end
    end

    function make.mac()
        return pick("\2\0\0\0\0\1", "\2\0\0\0\0\2", "\2\0\0\0\0\3", "\255\255\255\255\255\255", "\1\0\x5e\0\0\1")
    end

    local function ip4(depth)
        local protocol, payload = transport(depth, false)
        local words = pick(5, 5, 5, 5, 6, 15)
        return string.pack(">BBI2I2I2BBI2", 0x40 | words, pick(0, 0x10, 0xb8), words * 4 + #payload, rnd(65536),
            pick(0, 0, 0x4000, 0x2000, 7), pick(64, 1, 255), protocol, 0)
            .. pick("\192\0\2\1", "\192\0\2\2", "\10\0\1\7", "\224\0\0\1")
            .. pick("\192\0\2\1", "\192\0\2\2", "\10\0\1\9", "\224\0\0\1", "\255\255\255\255")
            .. noise(words * 4 - 20) .. payload
    end

    local function ip6(depth)
        local protocol, payload = transport(depth, true)
        if rnd(6) == 0 then
            protocol, payload = 44, string.pack(">BBI2I4", protocol, 0, pick(0, 1, 8), 77) .. payload
        end
        local host = "\x20\x01\x0d\xb8" .. ("\0"):rep(11)
        return string.pack(">I4I2BB", 0x60000000 | rnd(1 << 20), #payload, protocol, 64) .. host
            .. string.char(1 + rnd(3)) .. pick(host .. "\1", host .. "\2", "\xff\2" .. ("\0"):rep(13) .. "\1")
            .. payload
    end

    function make.network(depth)
        local kind = rnd(14)
        if kind < 5 then
            return "\8\0" .. ip4(depth)
        elseif kind < 8 then
            return "\x86\xdd" .. ip6(depth)
        elseif kind == 8 then
            return pick("\8\6", "\8\6", "\x80\x35") .. string.pack(">I2I2BBI2", 1, 0x800, 6, 4, 1 + rnd(2))
                .. make.mac() .. pick("\192\0\2\1", "\10\0\1\7") .. make.mac() .. pick("\192\0\2\2", "\10\0\1\9")
        elseif kind == 9 then
            local labels = {}
            for i = 1, 1 + rnd(3) do
                labels[i] = pick(100, 1000, rnd(1 << 20)) << 12 | 64
            end
            labels[#labels] = labels[#labels] | 0x100
            for i, label in ipairs(labels) do
                labels[i] = string.pack(">I4", label)
            end
            return pick("\x88\x47", "\x88\x48") .. table.concat(labels) .. (rnd(2) == 0 and ip4(1) or ip6(1))
        elseif kind == 10 then
            local v4 = rnd(2) == 0
            local payload = v4 and ip4(1) or ip6(1)
            return pick("\x88\x64", "\x88\x64", "\x88\x63")
                .. string.pack(">BBI2I2I2", 0x11, 0, pick(7, 8), #payload + 2,
                    v4 and 0x21 or 0x57) .. payload
        elseif kind == 11 then
            local payload = pick("\x42\x42\3", "\xaa\xaa\3\0\0\0\8\0", "\xaa\xaa\3\8\0\7\x80\x9b", "\xff\xff",
                "\xe0\xe0\3", "\xfe\xfe\3\x83", "\xf0\xf0\x7f", "\xf0\xf1\1\1") .. noise(rnd(40))
            return string.pack(">I2", #payload) .. payload
        elseif kind == 12 then
            return pick("\x80\x9b", "\x80\xf3", "\x60\3", "\x60\4", "\x81\x37", "\x90\0") .. noise(rnd(60))
        end
        return string.pack(">I2", rnd(65536)) .. noise(rnd(80))
    end

    local function frame()
        local kind = rnd(20)
        if kind == 0 then
            return noise(rnd(120))
        end
        local bytes = make.mac() .. make.mac()
        for _ = 1, pick(0, 0, 0, 1, 1, 2) do
            bytes = bytes .. string.pack(">I2I2", pick(0x8100, 0x8100, 0x88a8, 0x9100),
                pick(5, 5, 6, 0x7005, rnd(65536)))
        end
        bytes = bytes .. make.network(0)
        if kind == 1 then
            bytes = bytes .. noise(pick(1400, 3000, 5000, 8900))
        elseif kind < 5 then
            bytes = bytes:sub(1, rnd(#bytes + 1))
        elseif kind < 7 then
            local at = 1 + rnd(#bytes)
            bytes = bytes:sub(1, at - 1) .. noise(1) .. bytes:sub(at + 1)
        end
        return bytes
    end

    return frame
end

--- Frames, some of them damaged, cut off, or long.
---@param seed integer
---@param count integer
---@return string[]
function cases.frames(seed, count)
    local make, list = ether_maker(cases.random(seed)), {}
    for i = 1, count do
        list[i] = make()
    end
    return list
end

-- ------------------------------------------------------------------ expressions

local directions = { "", "src ", "dst ", "src or dst ", "src and dst " }

local with_direction = {
    "%shost 192.0.2.1", "%snet 192.0.2.0/24", "%snet 10", "ip %shost 192.0.2.2", "arp %shost 192.0.2.1",
    "rarp %shost 10.0.1.7", "ip6 %shost 2001:db8::1", "%snet 2001:db8::/32", "%sport 53", "%sportrange 50-90",
    "tcp %sport 80", "udp %sport 53", "tcp %sportrange 60-500", "sctp %sport 53",
}

-- They don't say vlan.
local plain = [==[

ip|ip6|arp|rarp|tcp|udp|icmp|icmp6|sctp|igmp|igrp|pim|vrrp|carp|esp|ah
not ip|not (ip or ip6)|ip and not tcp|tcp or udp|tcp and port 80 and not host 192.0.2.1
broadcast|multicast|ip multicast|ip6 multicast|ether broadcast|ether multicast
ether host 02:00:00:00:00:01|ether src 02:00:00:00:00:02|ether dst 02:00:00:00:00:02
ether src or dst 02:00:00:00:00:03|ether src and dst 02:00:00:00:00:01
ether proto 0x0800|ether proto 0x8100|ether proto 0x88a8|ether proto \ip6|ether proto \arp|ether proto 0x42
ether proto 0x8864|ether proto 0x600|ether proto 0x05dc|ether proto 0xf0|ether proto 0x809b
proto 17|proto 6|proto \udp|ip proto 1|ip proto \icmp|ip proto 47
ip6 proto 17|ip6 proto \tcp|ip6 proto 44|ip6 proto 58
ip proto 17|ip protochain 17|ip protochain 6|ip6 protochain 17|ip6 protochain 6|protochain 17|protochain 51
ip6 protochain 58|ip6 protochain 59|not ip6 protochain 17|ip6 protochain 17 and udp
ip protochain 17 or ip6 protochain 58|ip6 protochain 17 and len > 100
icmp[icmptype] = icmp-echo|icmp[icmptype] = icmp-echoreply|icmp[icmpcode] = 3|icmp[0] = 3 or icmp[0] = 11
icmp6[icmp6type] = icmp6-echo|icmp6[icmp6type] = icmp6-neighborsolicit|icmp6[icmp6code] != 0
tcp[tcpflags] & (tcp-syn|tcp-fin) != 0|tcp[tcpflags] = tcp-syn|tcp[13] & 7 != 0|tcp[tcpflags] & tcp-ack = 0
tcp[((tcp[12:1] & 0xf0) >> 2):4] = 0x47455420|tcp[((tcp[12] & 0xf0) >> 2):2] > 300
less 60|greater 60|less 16|greater 3000|len = 60|len > 60|len < 20|len >= 74|len <= 18|len != 64|len & 1 = 1
ip[0] & 0xf != 5|ip[0] & 0xf = 5|ip[8] < 5|ip[6:2] & 0x1fff = 0|ip[2:2] > 100|ip[12:4] = 0xc0000201
ip[2:2] - ((ip[0] & 0xf) << 2) > 40|(ip[2:2] - ((ip[0] & 0xf) << 2)) - ((tcp[12] & 0xf0) >> 2) != 0
ip6[6] = 17|ip6[4:2] > 60|ip6[40] = 17|ip6[0:4] & 0xfffff > 77|udp[4:2] > 20|udp[8:4] = 0|udp[0:2] = udp[2:2]
arp[6:2] = 1|arp[6:2] = 2|ether[12:2] = 0x0800|ether[13:2] = 5|ether[12:2] > 1500
ether[0] & 1 = 1|ether[0:4] = 0x2000000
ether[11:4] & 0xff != 3|ether[10:4] != 0|ether[15:4] > 77|ether[12:4] & 0xffff = 5|ether[6:4] ^ ether[0:4] = 0
ether[ether[20]:4] & 0xff != 3|ether[ether[20] & 15:2] > 300|ether[ether[0:4]:4] = 1|ether[ether[12:2]:1] > 9
ether[len - 4:4] != 0|ether[len - 1] > 9|ether[len] = 0|ether[0 - 1] >= 0|ether[len - 2:2] >= 0
ether[0xfffff000] = 1|ether[0xfffff030:4] = 1|ether[0x7ffffffe:4] = 0|ether[0xffff] = 0|ether[65534] >= 0
ether[40000] >= 0|ether[32767:4] >= 0|ether[32768:2] >= 0|ether[2999] > 100|ether[3500:4] > 0x40000000
ether[4100:2] > 9
ether[4094:4] > 0x40000000|ether[len >> 1:2] > 1000|ether[8000 + ether[5]] > 9
ether[1] << ether[2] > 3|ether[0:4] >> ether[14] > 3|ether[14] << 31 != 0|ether[12:4] << 8 > 5|ether[12:4] >> 31 = 1
ether[14] / ether[15] > 1|ether[14:2] % ether[16] = 1|ether[14:2] / 7 = 5|ether[14:2] % 10 = 3
ether[14] * ether[15] > 99
ether[14:4] * 65537 > 9|ether[14:4] + 0xfffffff0 > 9|ether[14] - ether[15] > 9|-ether[14] > 9|ether[5] ^ ether[11] > 1
(ether[14] | ether[15]) & 0x81 = 0x81|ether[14:2] & 0xff00 = 0x4500|len / ether[17] > 3|len % (ether[15] + 1) = 0
mpls|mpls 100|mpls 1000|mpls and ip|mpls and mpls and ip|mpls 100 and host 192.0.2.1|mpls and ip6|mpls and mpls 1000
pppoed|pppoes|pppoes 7|pppoes and ip|pppoes and ip6|pppoes 7 and host 192.0.2.1|pppoes and tcp port 80
llc|llc i|llc s|llc u|llc ui|llc xid|llc test|llc rr|not llc|stp|ipx|netbeui|iso|clnp|esis|isis|atalk|aarp|decnet|lat
moprc|mopdl
geneve|geneve 5|geneve and ip|geneve 5 and ip6|geneve and tcp port 80|geneve 6 and host 192.0.2.1
vxlan|vxlan 5|vxlan and ip|vxlan 5 and ip6
host 192.0.2.1 and (port 53 or port 80)|src host 192.0.2.1 and dst port 53 and greater 60
(tcp or udp) and (port 53 or port 443) and not net 10|ip6 and not icmp6 and not udp|udp and not port 53 or arp
ip host 192.0.2.1 and not (tcp port 80 or udp port 53)|host 192.0.2.1 or host 10.0.1.9 or host 2001:db8::2
ip and ip[9] = 17 and udp[2:2] = 53 and len > 50|port 53 or portrange 400-500|tcp port 80 or 443|not port 53
]==]

-- They do.
local vlan = [==[
vlan|vlan 5|vlan 6|not vlan|not vlan 5|vlan and ip|vlan and ip6|vlan and arp|vlan 5 and vlan 6|vlan and vlan
vlan and vlan and ip|vlan and vlan and vlan|vlan and udp port 53|vlan and tcp port 80|vlan 5 and host 192.0.2.1
ip or (vlan and ip)|(vlan and ip) or ip|ip and not vlan|vlan or len > 60|vlan and len <= 64|vlan and ip6 and udp port 53
vlan and ether[14:2] = 5|vlan and ether[13:2] = 5|vlan and ether[11:4] != 0|vlan and ether[15:4] > 9
vlan or ether[ether[20] & 15:2] > 300|vlan or ether[ether[3] + ether[5] + 10:4] > 300|vlan or ether[ether[0:4]:4] = 1
vlan or ether[len - 4:4] != 0|vlan or ether[0xfffff030:4] = 1|vlan and tcp[((tcp[12:1] & 0xf0) >> 2):4] != 0
vlan and ip6 protochain 17|vlan and ip protochain 17|vlan and mpls|vlan and pppoes and ip|vlan and llc
vlan and broadcast|vlan and multicast|vlan and not ip|vlan or vlan|vlan 5 or vlan 6|vlan and src net 192.0.2.0/24
vlan and ether[12:2] = 0x8100|vlan and ether[16:2] = 0x0800|vlan and less 64|vlan and icmp[0] = 8
vlan and portrange 50-90
]==]

local function long_list(format, count, words)
    local parts = {}
    for i = 1, count do
        parts[i] = format:format(words(i))
    end
    return table.concat(parts, " or ")
end

local function address(i)
    return ("10.%d.%d.%d"):format(i * 7 & 3, i >> 8, i & 255)
end

local function same(i)
    return i
end

--- Expressions one by one.
---@return string[]
function cases.expressions()
    local list = {}
    for _, format in ipairs(with_direction) do
        for _, direction in ipairs(directions) do
            list[#list + 1] = format:format(direction)
        end
    end
    for _, text in ipairs { plain, vlan } do
        for line in text:gmatch "([^\n]*)\n" do
            -- a bar with a word around it is one of the language
            for expr in (line:gsub("(tcp%-%l+)|(tcp%-)", "%1\0%2"):gsub(" | ", " \0 ") .. "|"):gmatch "([^|]*)|" do
                list[#list + 1] = expr:gsub("%z", "|")
            end
        end
    end
    list[#list + 1] = long_list("host %s", 150, address) .. " or host 192.0.2.1"
    list[#list + 1] = "not (" .. long_list("src host %s", 200, address) .. ")"
    list[#list + 1] = long_list("port %d", 150, function(i) return i * 3 end)
    list[#list + 1] = long_list("udp dst port %d", 300, same)
    list[#list + 1] = "vlan and (" .. long_list("tcp port %d", 80, same) .. ")"
    list[#list + 1] = long_list("ether[14:2] = %d", 200, function(i) return 0x4500 + i end)
    return list
end

--- Random arithmetic on bytes at random places.
---@param seed integer
---@return fun(): string libpcap may refuse it
function cases.expression_maker(seed)
    local rnd = cases.random(seed)

    local function pick(list)
        return list[rnd(#list) + 1]
    end

    local arithmetic
    local function load(depth)
        return ("%s[%s:%d]"):format(pick { "ether", "ether", "ip", "ip6", "udp", "tcp" },
            depth > 0 and rnd(3) == 0 and arithmetic(depth - 1)
            or rnd(12) == 0 and pick { "0xfffff000", "0xffffffff", "0x7fffffff", "65533" } or tostring(rnd(40)),
            pick { 1, 2, 4 })
    end
    function arithmetic(depth)
        if depth == 0 or rnd(4) == 0 then
            local kind = rnd(5)
            return kind < 3 and load(depth) or kind == 3 and "len" or tostring(rnd(40))
        end
        return ("(%s %s %s)"):format(arithmetic(depth - 1), pick { "+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>" },
            rnd(2) == 0 and tostring(1 + rnd(31)) or arithmetic(depth - 1))
    end

    return function()
        local e = ("%s %s %d"):format(arithmetic(2), pick { "=", "!=", "<", ">", "<=", ">=" }, rnd(300))
        return pick { "%s", "%s", "vlan and %s", "ip or vlan or %s", "not %s", "%s or port 53" }:format(e)
    end
end

return cases
