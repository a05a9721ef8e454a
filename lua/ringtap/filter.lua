--- Filters as Lua values: they are put together with & (and), | (or) and ~ (not), and become libpcap's language.
--
--     local f = filter.udp & filter.port(53) & ~filter.host("192.0.2.1")
--     print(f)                                --> (udp and port 53) and (not host 192.0.2.1)
--     ringtap.capture("eth0", {filter = f})   -- wherever a filter is taken, a string does as well
--
-- Two traps of the language, which stay traps here because the text goes to libpcap:
--   * `and` and `or` bind equally strongly there, from left to right. Values put every compound operand in parentheses,
--     so they mean what Lua's operators mean; in a string or in filter.expr you write the parentheses yourself.
--   * `vlan` moves the place where everything that is written behind it looks, parentheses or not: `vlan & ip` is an IP
--     packet in a tag, `(vlan & ip) | ip` looks for both of them behind a tag, `ip | (vlan & ip)` is what was meant.
--     An expression that doesn't say vlan doesn't see the outermost tag at all, so `ip` finds both anyway.

local core = require "ringtap.core"

--- What is taken where a filter is: a function or an expression does as well.
---@alias ringtap.filter ringtap.filter.value|ringtap.filter.compiled

---@class ringtap.filter.value
---@field expression string the text for libpcap
---@operator band(ringtap.filter.value|string): ringtap.filter.value both match
---@operator bor(ringtap.filter.value|string): ringtap.filter.value either matches
---@operator bnot: ringtap.filter.value it doesn't match
local value_methods = {}

---@class ringtap.filter.vlan: ringtap.filter.value
---@overload fun(id: integer): ringtap.filter.value

--- What ringtap.filter.compile gives.
---@class ringtap.filter.compiled
---@field matches ringtap.filter.matches
---@field expression fun(self: ringtap.filter.compiled): string
---@field bytecode ringtap.filter.bytecode
---@field kernel_program ringtap.filter.kernel_program
---@field xdp_program ringtap.filter.xdp_program
---@field xdp_matches ringtap.filter.xdp_matches

--- A packet, or bytes and their link type (default 1, Ethernet). Raises where the expression has no meaning for it.
---@alias ringtap.filter.matches
---| fun(self: ringtap.filter.compiled, packet: ringtap.packet|string, linktype?: integer): boolean

--- libpcap's program; tagged: the one for frames whose outermost tag it is not to see. nil, message, errno: it has no
--- meaning for the link type (default 1, Ethernet).
---@alias ringtap.filter.bytecode
---| fun(f: ringtap.filter.compiled, linktype?: integer, tagged?: boolean): ringtap.filter.program?, string?, integer?

--- What a live source attaches to its socket. nil, message, errno: the kernel can't run it.
---@alias ringtap.filter.kernel_program
---| fun(self: ringtap.filter.compiled, o?: ringtap.filter.kernel_options): ringtap.filter.program?, string?, integer?

--- The program that filters inside XDP, as it stands alone: it returns 3 for a match, else 2. frags: for frames in
--- several buffers. nil, message, errno: it has no meaning for Ethernet, or is too long.
---@alias ringtap.filter.xdp_program
---| fun(f: ringtap.filter.compiled, o?: {frags?: boolean}): ringtap.filter.xdp_instruction[]?, string?, integer?

--- Run that program in the kernel on a frame of 14 bytes or more (up to 3072 without frags). It is loaded once and
--- kept until the filter is collected. nil, message, errno: the kernel refuses the program (with the
--- verifier's reason), or the frame.
---@alias ringtap.filter.xdp_matches
---| fun(f: ringtap.filter.compiled, p: ringtap.packet|string, o?: ringtap.filter.xdp_as): boolean?, string?, integer?

---@class ringtap.filter.xdp_as
---@field frags? boolean frames may lie in several buffers (default false)
---@field linear? integer with frags: bytes in the first buffer, 14 or more (default all it takes; Linux 6.18)
---@field tpid? integer the device took the outermost VLAN tag out of the bytes; this is its type (0: it took none)
---@field tci? integer and its priority and number (default 0)

---@class ringtap.filter.xdp_instruction one instruction of eBPF
---@field code integer
---@field dst integer
---@field src integer
---@field off integer
---@field imm integer

---@alias ringtap.filter.program ringtap.filter.instruction[]

---@class ringtap.filter.instruction one instruction of classic BPF
---@field code integer
---@field jt integer
---@field jf integer
---@field k integer

---@class ringtap.filter.kernel_options
---@field linktype? integer default 1, Ethernet
---@field cooked? boolean the socket has no link-layer header (default false)
---@field snaplen? integer bytes; what accepting returns (default 262144)
---@field direction? "both"|"in"|"out" default "both"
---@field loopback_once? boolean drop the outgoing copy on loopback devices (default false)
---@field ignore_vlan? boolean drop tagged frames (default false)

---@class ringtap.filter.compile_options
---@field linktype? integer the link type that the expression is checked against (default 1, Ethernet)
---@field optimize? boolean libpcap's optimizer (default true)

local value_mt = {__name = "ringtap.filter.value", __index = value_methods} -- the C side knows it by this name
local vlan_mt = {__name = "ringtap.filter.value", __index = value_methods}

-- A value; `atom`: needs no parentheses as an operand.
local function value(expression, atom)
    return setmetatable({expression = expression, atom = atom}, value_mt)
end

local compiled_expression = assert(core._filter("")).expression

local function check(condition, level, message, ...)
    if not condition then error(message:format(...), level + 1) end
end

local function is_blank(text)
    return not text:find("%S")
end

-- Parentheses inside the text close there, so that it can be an operand.
local function check_balance(text, level)
    local depth = 0
    for c in text:gsub("\\[^ !()\n\t]+", ""):gmatch "[()]" do
        depth = depth + (c == "(" and 1 or -1)
        check(depth >= 0, level + 1, "filter: ')' without '(' in '%s'", text)
    end
    check(depth == 0, level + 1, "filter: '(' without ')' in '%s'", text)
end

local function raw(text, level)
    check(not text:find("\0", 1, true), level + 1, "filter: the expression contains a zero byte")
    check_balance(text, level + 1)
    return value(text, is_blank(text))
end

-- An operand: a value, a compiled filter, or an expression.
local function operand(x, level)
    local mt = getmetatable(x)
    if mt == value_mt or mt == vlan_mt then return x end
    if type(x) == "string" then return raw(x, level + 1) end
    if type(x) == "userdata" then
        local ok, text = pcall(compiled_expression, x)
        if ok then return value(text, is_blank(text)) end
    end
    error(("filter: can't be combined with a %s"):format(type(x)), level + 1)
end

local function text_of(x)
    return x.atom and x.expression or "(" .. x.expression .. ")"
end

local operators = {}

function operators.__band(a, b)
    a, b = operand(a, 2), operand(b, 2)
    if is_blank(a.expression) then return b end
    if is_blank(b.expression) then return a end
    return value(text_of(a) .. " and " .. text_of(b), false)
end

function operators.__bor(a, b)
    a, b = operand(a, 2), operand(b, 2)
    if is_blank(a.expression) then return a end
    if is_blank(b.expression) then return b end
    return value(text_of(a) .. " or " .. text_of(b), false)
end

function operators.__bnot(a)
    check(not is_blank(a.expression), 2, "filter: the empty expression matches everything, its negation nothing")
    return value("not " .. text_of(a), false)
end

function operators.__tostring(a)
    return a.expression
end

function operators.__eq(a, b)
    return a.expression == b.expression
end

for name, f in pairs(operators) do
    value_mt[name], vlan_mt[name] = f, f
end

-- --- arguments ---

local function integer(what, n, min, max, level)
    check(math.type(n) == "integer" and n >= min and n <= max, level + 1,
        "filter.%s: %s is not an integer from %d to %d", what, tostring(n), min, max)
    return ("%d"):format(n)
end

-- What libpcap's scanner takes for one word.
local function word(what, s, level)
    check(type(s) == "string" and s:find("^%w[%w_.-]*$") and s:find("[%w.]$"), level + 1,
        "filter.%s: %s is not a name", what, type(s) == "string" and ("'%s'"):format(s) or "a " .. type(s))
    return s
end

local function port_arg(what, p, level)
    if type(p) == "string" and p:find("%D") then return word(what, p, level + 1) end
    local n = type(p) == "string" and math.tointeger(tonumber(p)) or p
    check(math.type(n) == "integer" and n >= 0 and n <= 65535, level + 1,
        "filter.%s: %s is not a port number from 0 to 65535 or a service name", what, tostring(p))
    return ("%d"):format(n)
end

local function host_arg(what, h, level)
    local ok = type(h) == "string"
        and (h:find("^%x*:[%x:.]*$") or h:find("^%w[%w_.-]*$") and h:find("[%w.]$"))
    check(ok, level + 1, "filter.%s: %s is not an address or a host name", what,
        type(h) == "string" and ("'%s'"):format(h) or "a " .. type(h))
    return h
end

local function net_arg(what, net, level)
    local ok = type(net) == "string"
    if ok then
        local address, bits = net:match("^([%x:.]+)/(%d+)$")
        if address then
            ok = tonumber(bits) <= (address:find(":", 1, true) and 128 or 32)
        else
            ok = net:find("^%x*:[%x:.]*$") or net:find("^%w[%w_.-]*$") and net:find("[%w.]$")
        end
    end
    check(ok, level + 1, "filter.%s: %s is not a network, as in 192.0.2.0/24 or 2001:db8::/32", what,
        type(net) == "string" and ("'%s'"):format(net) or "a " .. type(net))
    return net
end

local function mac_arg(what, a, level)
    local ok = type(a) == "string"
    if ok and a:find("[:-]") then
        local sep = a:match("[:-]")
        local hex = "%x%x?"
        ok = a:find("^" .. hex .. (("%" .. sep .. hex):rep(5)) .. "$")
    else
        ok = ok and a:find("^%w[%w_.-]*$") and a:find("[%w.]$")
    end
    check(ok, level + 1, "filter.%s: %s is not a MAC address, as in 02:00:00:00:00:01", what,
        type(a) == "string" and ("'%s'"):format(a) or "a " .. type(a))
    return a
end

local function proto_arg(what, p, max, level)
    if type(p) == "string" then return "\\" .. word(what, p, level + 1) end -- tcp and ip are words of the language
    return integer(what, p, 0, max, level + 1)
end

-- --- the nearest name ---

local function distance(a, b)
    local row = {}
    for j = 0, #b do row[j] = j end
    for i = 1, #a do
        local diagonal = row[0]
        row[0] = i
        for j = 1, #b do
            local up = row[j]
            row[j] = math.min(up + 1, row[j - 1] + 1, diagonal + (a:byte(i) == b:byte(j) and 0 or 1))
            diagonal = up
        end
    end
    return row[#b]
end

local function raise_unknown(names, where, key)
    local near = {}
    for name in pairs(names) do
        local d = distance(tostring(key), name)
        if d <= math.max(1, #name // 2) or name:find(tostring(key), 1, true) == 1 then
            near[#near + 1] = {d, name}
        end
    end
    table.sort(near, function(a, b) return a[1] < b[1] or a[1] == b[1] and a[2] < b[2] end)
    local list = {}
    for i = 1, math.min(3, #near) do list[i] = ("'%s'"):format(near[i][2]) end
    error(("%s has no '%s'%s"):format(where, tostring(key),
        #list > 0 and " (did you mean " .. table.concat(list, " or ") .. "?)" or ""), 3)
end

local function closed(names, where)
    return setmetatable(names, {__index = function(_, key) raise_unknown(names, where, key) end})
end

-- --- public ---

---@class ringtap.filter_module
local filter = {}

---@type ringtap.filter.value
filter.ip = value("ip", true)
---@type ringtap.filter.value
filter.ip6 = value("ip6", true)
---@type ringtap.filter.value
filter.arp = value("arp", true)
---@type ringtap.filter.value
filter.tcp = value("tcp", true)
---@type ringtap.filter.value
filter.udp = value("udp", true)
---@type ringtap.filter.value
filter.icmp = value("icmp", true)
---@type ringtap.filter.value
filter.icmp6 = value("icmp6", true)
---@type ringtap.filter.value
filter.sctp = value("sctp", true)
--- Sent to the link's broadcast address.
---@type ringtap.filter.value
filter.broadcast = value("broadcast", true)
--- Sent to a multicast (or the broadcast) address of the link.
---@type ringtap.filter.value
filter.multicast = value("multicast", true)

--- A frame with a VLAN tag; called with a number, one with that tag. See above for what it does to what is behind it.
---@type ringtap.filter.vlan
filter.vlan = setmetatable({expression = "vlan", atom = true}, vlan_mt)
vlan_mt.__call = function(_, id) return value("vlan " .. integer("vlan", id, 0, 4095, 2), true) end

--- Source or destination port, of TCP, UDP or SCTP.
---@param port integer|string number from 0 to 65535, or a service name as in /etc/services
---@return ringtap.filter.value
function filter.port(port)
    return value("port " .. port_arg("port", port, 2), true)
end

local function portrange(what, prefix, from, to)
    check(math.type(from) == "integer" and math.type(to) == "integer" and from >= 0 and from <= to and to <= 65535, 3,
        "filter.%s: %s and %s are not port numbers in ascending order", what, tostring(from), tostring(to))
    return value(("%sportrange %d-%d"):format(prefix, from, to), true)
end

--- Source or destination port between two numbers, both included.
---@param from integer
---@param to integer not less than from
---@return ringtap.filter.value
function filter.portrange(from, to)
    return portrange("portrange", "", from, to)
end

--- Source or destination address; a host name is looked up when the filter is compiled.
---@param host string IPv4 or IPv6 address, or host name
---@return ringtap.filter.value
function filter.host(host)
    return value("host " .. host_arg("host", host, 2), true)
end

--- Source or destination address in a network.
---@param net string as in "192.0.2.0/24" or "2001:db8::/32"; no bit behind the prefix may be set
---@return ringtap.filter.value
function filter.net(net)
    return value("net " .. net_arg("net", net, 2), true)
end

--- IP protocol, of IPv4 or IPv6.
---@param proto integer|string number from 0 to 255, or a name as in /etc/protocols
---@return ringtap.filter.value
function filter.proto(proto)
    return value("proto " .. proto_arg("proto", proto, 255, 2), true)
end

--- Length on the wire, at most n bytes.
---@param n integer bytes
---@return ringtap.filter.value
function filter.less(n)
    return value("less " .. integer("less", n, 0, 0x7fffffff, 2), true)
end

--- Length on the wire, at least n bytes.
---@param n integer bytes
---@return ringtap.filter.value
function filter.greater(n)
    return value("greater " .. integer("greater", n, 0, 0x7fffffff, 2), true)
end

--- Any text of libpcap's language (man pcap-filter).
---@param text string parentheses must close inside it; a blank one matches everything
---@return ringtap.filter.value
function filter.expr(text)
    check(type(text) == "string", 2, "filter.expr: a string is needed, not a %s", type(text))
    return raw(text, 2)
end

--- Source address and port.
filter.src = {}

---@param host string IPv4 or IPv6 address, or host name
---@return ringtap.filter.value
function filter.src.host(host)
    return value("src host " .. host_arg("src.host", host, 2), true)
end

---@param net string as for filter.net
---@return ringtap.filter.value
function filter.src.net(net)
    return value("src net " .. net_arg("src.net", net, 2), true)
end

---@param port integer|string as for filter.port
---@return ringtap.filter.value
function filter.src.port(port)
    return value("src port " .. port_arg("src.port", port, 2), true)
end

---@param from integer
---@param to integer not less than from
---@return ringtap.filter.value
function filter.src.portrange(from, to)
    return portrange("src.portrange", "src ", from, to)
end

--- Destination address and port.
filter.dst = {}

---@param host string IPv4 or IPv6 address, or host name
---@return ringtap.filter.value
function filter.dst.host(host)
    return value("dst host " .. host_arg("dst.host", host, 2), true)
end

---@param net string as for filter.net
---@return ringtap.filter.value
function filter.dst.net(net)
    return value("dst net " .. net_arg("dst.net", net, 2), true)
end

---@param port integer|string as for filter.port
---@return ringtap.filter.value
function filter.dst.port(port)
    return value("dst port " .. port_arg("dst.port", port, 2), true)
end

---@param from integer
---@param to integer not less than from
---@return ringtap.filter.value
function filter.dst.portrange(from, to)
    return portrange("dst.portrange", "dst ", from, to)
end

--- Ethernet addresses and type.
filter.ether = {}

--- Source or destination.
---@param mac string as in "02:00:00:00:00:01", or a name from /etc/ethers
---@return ringtap.filter.value
function filter.ether.host(mac)
    return value("ether host " .. mac_arg("ether.host", mac, 2), true)
end

---@param mac string as for filter.ether.host
---@return ringtap.filter.value
function filter.ether.src(mac)
    return value("ether src " .. mac_arg("ether.src", mac, 2), true)
end

---@param mac string as for filter.ether.host
---@return ringtap.filter.value
function filter.ether.dst(mac)
    return value("ether dst " .. mac_arg("ether.dst", mac, 2), true)
end

---@param proto integer|string ethertype from 0 to 65535, or a name that libpcap knows ("ip", "arp", "loopback")
---@return ringtap.filter.value
function filter.ether.proto(proto)
    return value("ether proto " .. proto_arg("ether.proto", proto, 65535, 2), true)
end

--- Compile, to match packets and bytes: compiled:matches(packet).
--
-- A message about a bad expression has several lines: libpcap's words, the expression, and a caret under the place.
---@param expr string|ringtap.filter.value
---@param opts? ringtap.filter.compile_options
---@return ringtap.filter.compiled? compiled
---@return string? message
---@return integer? errno
function filter.compile(expr, opts)
    local mt = getmetatable(expr)
    check(type(expr) == "string" or mt == value_mt or mt == vlan_mt, 2,
        "filter.compile: an expression or a filter value is needed, not a %s", type(expr))
    return core._filter(expr, opts)
end

--- The same as filter.compile(value, opts).
---@param opts? ringtap.filter.compile_options
---@return ringtap.filter.compiled? compiled
---@return string? message
---@return integer? errno
function value_methods:compile(opts)
    return core._filter(self, opts)
end

closed(filter.src, "ringtap.filter.src")
closed(filter.dst, "ringtap.filter.dst")
closed(filter.ether, "ringtap.filter.ether")
return closed(filter, "ringtap.filter")
