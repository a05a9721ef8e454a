--- Protocols as tables. One table says where a header's fields are, how long it is, and what follows; decoding, fields,
-- printing and building all come from it. ringtap.protocol(table) takes one at run time; those that come with ringtap
-- are in lua/ringtap/proto/, one file each, and return the table.
--
--     ringtap.protocol {
--         name = "udp", title = "User Datagram Protocol",
--         on = { ["ip.proto"] = 17 },
--         header = 8, total = "length >= 8 ? length : 8",
--         check = { { "length >= 8", "length below 8" } },
--         next = { { table = "udp.port", key = "dstport" }, { table = "udp.port", key = "srcport" } },
--         checksum = { field = "checksum", pseudo = true, zero_is_none = true },
--         { "srcport", 16, "Source Port", also = "port" },
--         { "dstport", 16, "Destination Port", also = "port" },
--         { "length", 16, "Length" },
--         { "checksum", 16, "Checksum", base = "hex" },
--     }
--
-- Expressions (E below) are text in the language of ringtap/expr.lua, or integers.
--
-- The protocol's keys:
--   name      its short name, which begins the names of its fields (or `prefix` does); title: what a tree shows;
--             shown: its name in frame.protocols, when that is another protocol's too
--   on        where it is found: { [dissector table] = key or list of keys }. Tables are made by naming them: "link"
--             (link type), "ethertype", "ip.proto", "udp.port", "tcp.port", "ppp.protocol", ... Users can change
--             the keys in those whose names end in ".port" as ringtap.proto.NAME.ports.
--   header    E, bytes of header; without it the header ends where the items end
--   total     E, bytes of header and payload by the header's own word; without it, all that the layer below gives
--   untold    E, true when the header says nothing about `total` after all
--   guessed   E, the same, and that all that is left belongs to it is a guess (a length of 0 on an offloaded packet)
--   check     list of { E, "what is wrong" }: the first that is false marks the layer malformed, and nothing follows it
--   next      list of rules, tried in order; the first that applies and finds a protocol wins. What no rule finds is
--             payload without a name. A rule has
--               [1]    the protocol's name, or
--               table, key    a dissector table and an E, or
--               guess_by      the name of a list of guesses (see `guess`), or
--               stop = true   nothing follows
--             and may have
--               when   E, a condition             at     E, offset of what follows (default: after the header)
--               size   E, bytes of what follows   guess = true    it is a guess, and the layer is marked so
--               quoted = true   it is the beginning of another packet, cut off without harm
--               fragment = true it is the first fragment of what follows, which may say that it is longer
--               pass   E, a number that what follows has as $passed
--               via = "name"    an entry of frame.protocols between the two
--   guess     { [list] = E }: this protocol is tried where a rule says guess_by = list; E looks at its own bytes
--   accept    E on its own bytes: a dissector table's answer is refused when it is false
--   refusal   text: then the layer below, which said that this one follows, is malformed, and that is why
--   checksum  { field = "name", sum = "inet" (default) | "crc32c" | function(bytes) -> integer,
--               pseudo = true or E: with the pseudo header of IPv4 or IPv6 (protocol: the number in it, else the one
--               of IP's header; `length`: E for its length), from = E, to = E (default: 0 to $len; the field counts
--               as 0), skip_from, skip_to = E: left out, zero_is_none = true, zero_is_ones = true: 0 is sent as 0xffff,
--               when = E: else there is none }. A function is given the whole layer with the field as 0, and the
--               value "$checksum" runs it when it is asked for
--   groups    { [name] = items } for { call = name }
--   line      what a summary says: text with {field} in it (its name if it has `values`, else its value), {field#}
--             the number, {field*} all occurrences, {=E} an expression's value; or a list of such texts and
--             { when = E, text or list }
--   build     function(values): called before building, may fill values in
--   hidden    true: not in pkt:layers()
--   once      true: several layers of it in a row are one entry of frame.protocols
--   stream    true or E: a piece of a stream of bytes; what leads out of it may go on in the next packet and is no
--             fault
--
-- Its array part is the list of items. They are walked in order; a cursor moves over the bits.
--   { name, type, title, ... }     a field
--       name    without the protocol's prefix; with a dot in front it is the whole name; one that begins with "_" is
--               private: expressions may use it, printing leaves it out, editing keeps it
--       type    a number: unsigned integer of so many bits; "uint": unsigned integer of `size` bytes (at most 8);
--               "int": signed, likewise; "int8" .. "int64": signed; "ber" (length octets of X.690 8.1.3) and "varint"
--               (RFC 9000 16): integers that say their own size; "bool" (one bit, or `bits`); "ipv4" "ipv6" (with size:
--               a prefix, what is left out is 0)
--               "ether" "eui64" "guid"; "bytes" "string"
--               "stringz" (ends with NUL) "oid" (BER) "name" (DNS, compressed); "time" (seconds since 1970, 32 bits)
--               "decimal" (digits as text, 1 to 18: the value is an integer) "ntp" (64 bits) "seconds" (an interval, 32
--               bits, or `bits`); "float" (`bits` = 32 or 64); "fixed" (a number of `bits`, `point` of them behind the
--               point)
--       size    E, bytes of a "bytes", "string" ... field; without it, the rest of the region
--       until_  text that ends a "string"; it is skipped, not part of the value. Without it there: the region's rest
--       ascii   true: other bytes of the text are shown as U+FFFD
--       none    true: the text of no bytes is "<none>", not "<MISSING>" (as Wireshark has it for some fields)
--       le      little-endian                    base    "dec" (default), "hex", "oct"; for bytes "colon"
--       digits  of hex (default: 2, 4, 6, 8 or 16 by width)
--       scale, add   value = number * scale + add
--       values  { [number] = "name" }            also    a further name, or a list of them, with the same value
--       sub     items that lie inside of this field's bits
--       when    E, the field is there only then  overlay = true   the cursor doesn't move
--       value   E: no bytes, the value is worked out; function(bytes, layer, at, origin): the value is what it
--               returns for the field's bytes (none when it has no size) and the layer's (both strings); `at` is the
--               position of the former in the latter (or of the cursor), `origin` the one that compressed names count
--               from. Run when it is asked for; nil: the field isn't there
--       default what building takes when nothing is given and nothing follows from the rest: a value
--       hidden  true: not printed in the tree
--   { items ... }                  a group, with any of
--       when    E                                size    E, bytes: a region of its own; the cursor is at its end then
--       until_  text: a region up to it, or to the end; it is skipped ("\r\n" is also either alone)
--       at      E, with size: a region so many bytes from the layer's start; the cursor comes back after it
--       behind  true: the region behind what the layer carries (padding, trailer): from $inner_end to where the layer
--               below ends; left out when there is nothing. Only as the last item
--       loop    true (to the region's end) or E (so many times); stop: E after each round, ends it; list: its name,
--               which building takes a list by
--   { switch = E, cases = { [n] = items }, default = items }      may have when and size too
--   { call = name }                the items of a group of that name; may call itself, to a bounded depth; `when` too
--   { check = E, "what is wrong" } else the layer is malformed and the region is left
--   { align = n }                  to a multiple of n bytes from the layer's start
--   { headers = { ["Host"] = "host" }, line = "request.line" }     text lines "Name: value" up to an empty one: the
--                                  values of those listed are fields: a name for a string, or a whole field item that
--                                  is walked with the value as its region; `line`: each whole line is a field too;
--                                  fold = true: a line that begins with a blank goes on with the one before
--   { origin = true }              compressed DNS names count from here


local core = require "ringtap.core"
local tree = require "ringtap.protocol.tree"
local compile = require "ringtap.protocol.compile"

local fail = tree.fail
local M = { proto = {}, order = {} }

-- ---------------------------------------------------------------- the registry

local displaced = {} -- [table][key]: who was there before a protocol that came later

local function take(p, name, key)
    local was = core._bound(name, key)
    if was and was ~= p.name then
        displaced[name] = displaced[name] or {}
        displaced[name][key] = displaced[name][key] or was
    end
    core._bind(name, key, p.name)
end

local function give_back(p, name, key)
    if core._bound(name, key) == p.name then
        local was = displaced[name] and displaced[name][key]
        core._bind(name, key, was)
        if was then
            displaced[name][key] = nil
        end
    end
end

--- Where a table is found: p.places[dissector table] = list of keys.
local function places_of(p)
    local places = {}
    for name, keys in pairs(p.def.on or {}) do
        places[name] = {}
        for i, key in ipairs(type(keys) == "table" and keys or { keys }) do
            if math.type(key) ~= "integer" or key < 0 or key > (name:find "%.port$" and 65535 or 0xffffffff) then
                fail(p.name, "on['%s']: a key is an integer, not '%s'", name, tostring(key))
            end
            places[name][i] = key
        end
    end
    return places
end

--- Check and compile a table and hand it to the engine. A protocol of the same name is replaced.
function M.add(def)
    local p = tree.check(def)
    p.flat = compile(p)
    p.places = places_of(p)
    local old = M.proto[p.name]
    for name, keys in pairs(old and old.places or {}) do
        for _, key in ipairs(keys) do
            give_back(old, name, key)
        end
    end
    core._define(p.flat)
    if not M.proto[p.name] then
        M.order[#M.order + 1] = p.name
    end
    M.proto[p.name] = p
    for name, keys in pairs(p.places) do
        for _, key in ipairs(keys) do
            take(p, name, key)
        end
    end
    return p
end

-- ---------------------------------------------------------------- what users hold

-- Names of the tables of ports that it is found in.
local function port_tables(p)
    local names = {}
    for name in pairs(p.places) do
        if name:find "%.port$" then
            names[#names + 1] = name
        end
    end
    table.sort(names)
    return names
end

local function ports_of(p)
    local list, seen = {}, {}
    for _, name in ipairs(port_tables(p)) do
        for _, port in ipairs(p.places[name]) do
            if not seen[port] then
                seen[port] = true
                list[#list + 1] = port
            end
        end
    end
    return list
end

local function set_ports(p, list)
    local names, new = port_tables(p), {}
    if #names == 0 then
        fail(p.name, "it is not found by ports")
    elseif type(list) ~= "table" then
        fail(p.name, "its ports are a list, not %s", type(list))
    end
    for i = 1, #list do
        local port = list[i]
        if math.type(port) ~= "integer" or port < 0 or port > 65535 then
            fail(p.name, "a port is an integer from 0 to 65535, not %s", tostring(port))
        end
        new[i] = port
    end
    for _, name in ipairs(names) do
        for _, port in ipairs(p.places[name]) do
            give_back(p, name, port)
        end
        for _, port in ipairs(new) do
            take(p, name, port)
        end
        p.places[name] = table.move(new, 1, #new, 1, {})
    end
end

local handle = {}

-- What ringtap.proto.NAME is: calling it builds; ports, name and title tell of it.
function handle.__index(h, key)
    local p = M.proto[rawget(h, 1)]
    if key == "ports" then
        return setmetatable({}, { -- a list that changes the engine when it is changed
            __index = function(_, i) return ports_of(M.proto[p.name])[i] end,
            __len = function() return #ports_of(M.proto[p.name]) end,
            __newindex = function(_, i, port)
                local list = ports_of(M.proto[p.name])
                list[i] = port
                set_ports(M.proto[p.name], list)
            end,
        })
    elseif key == "name" or key == "title" then
        return p[key]
    end
    local more = M.extras[p.name]
    return more and more[key]
end

function handle.__newindex(h, key, value)
    local p = M.proto[rawget(h, 1)]
    if key ~= "ports" then
        fail(p.name, "only its ports can be set, not '%s'", tostring(key))
    end
    set_ports(p, value)
end

function handle.__call(h, values)
    return require("ringtap.build").layer(M.proto[rawget(h, 1)], values)
end

function handle.__tostring(h)
    local p = M.proto[rawget(h, 1)]
    return ("protocol %s (%s)"):format(p.name, p.title)
end
handle.__name = "ringtap.protocol"

M.handles = setmetatable({}, {
    __index = function(t, name)
        if M.proto[name] then
            local h = setmetatable({ name }, handle)
            rawset(t, name, h)
            return h
        end
        local names = {}
        for one in pairs(M.proto) do
            names[#names + 1] = one
        end
        table.sort(names)
        local near = core._nearest(tostring(name), names)
        error(("there is no protocol '%s'%s"):format(tostring(name),
            near and (" (did you mean '%s'?)"):format(near) or ""), 2)
    end,
})
M.extras = setmetatable({}, { -- functions of a protocol beside calling it: extras.dns.query
    __index = function(_, name)
        return require("ringtap.build.extras")[name]
    end,
})

--- ringtap.protocol: errors are the caller's.
function M.declare(def)
    local ok, p = pcall(M.add, def)
    if not ok then
        error(p, 3)
    end
    return M.handles[p.name]
end

M.full_name, M.nearest = tree.full_name, tree.nearest
return M
