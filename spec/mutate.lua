-- Packets with bytes flipped, cut, repeated and lengths overwritten, through decoding, printing, fields and editing.
-- Nothing may crash or read outside of a packet (`make mutate` runs it, under AddressSanitizer too), raise, or take
-- long.
--
--     lua5.4 spec/mutate.lua [COUNT=n] [SEED=n] [CAPTURES=dir] [LIMIT=seconds of CPU for one packet]
local ringtap = require "ringtap"

local options = { COUNT = "100000", SEED = "1", CAPTURES = "../shared/captures", LIMIT = "0.001" }
for _, word in ipairs(arg) do
    local key, value = word:match "^(%u+)=(.*)$"
    if not options[key] then
        io.stderr:write("unknown argument: ", word, "\n")
        os.exit(2)
    end
    options[key] = value
end
local count, limit = math.tointeger(tonumber(options.COUNT)), tonumber(options.LIMIT)
math.randomseed(math.tointeger(tonumber(options.SEED)))
local random = math.random

-- Packets to begin with: those of the captures, at most 300 of each, and some built ones.
local function seeds()
    local list = {}
    local files = io.popen("ls -d " .. options.CAPTURES .. "/*.pcap* 2>/dev/null")
    for path in files:lines() do
        local src = ringtap.read(path)
        if src then
            pcall(src.each, src, function(pkt)
                list[#list + 1] = { pkt:bytes(), pkt.linktype }
            end, { count = 300 })
            src:close()
        end
    end
    files:close()
    local eth, ip, udp = ringtap.eth, ringtap.ip, ringtap.udp
    list[#list + 1] = { (eth {} / ip {} / udp {} / ringtap.dns.query("www.example.com", "A")):bytes(), 1 }
    list[#list + 1] = { (eth {} / ip {} / ringtap.tcp {} / "GET / HTTP/1.1\r\nHost: a\r\n\r\n"):bytes(), 1 }
    return list
end

local interesting = { 0, 1, 2, 3, 4, 7, 8, 15, 16, 31, 63, 64, 127, 128, 192, 200, 254, 255 }

local mutations = {
    function(s) -- flip bits
        local at = random(#s)
        return s:sub(1, at - 1) .. string.char(s:byte(at) ~ (1 << random(0, 7))) .. s:sub(at + 1)
    end,
    function(s) -- a byte that means something
        local at = random(#s)
        return s:sub(1, at - 1) .. string.char(interesting[random(#interesting)]) .. s:sub(at + 1)
    end,
    function(s) -- a length of two bytes
        if #s < 2 then
            return s
        end
        local at = random(#s - 1)
        local value = ({ 0, 1, 7, 8, #s, #s - at, 0x7fff, 0xffff, random(0, 65535) })[random(9)]
        return s:sub(1, at - 1) .. string.pack(">I2", value & 0xffff) .. s:sub(at + 2)
    end,
    function(s) -- cut
        return s:sub(1, random(#s))
    end,
    function(s) -- a piece again
        local from, at = random(#s), random(#s)
        return s:sub(1, at) .. s:sub(from, from + random(0, 40)) .. s:sub(at + 1)
    end,
    function(s) -- a piece less
        local at = random(#s)
        return s:sub(1, at - 1) .. s:sub(at + random(1, 20))
    end,
}

local function mutate(s)
    for _ = 1, random(1, 4) do
        if #s == 0 then
            return s
        end
        s = mutations[random(#mutations)](s)
    end
    return s
end

local extract = {}
for _, name in ipairs { "ip.src", "udp.dstport", "tcp.options.mss_val", "dns.qry.name", "frame.protocols" } do
    extract[#extract + 1] = ringtap.field(name)
end

local function examine(pkt)
    local seen = { pkt.malformed, pkt.truncated, pkt.checksum, tostring(pkt) }
    for i = 1, #extract do
        seen[#seen + 1] = extract[i](pkt)
    end
    return seen
end

local function tell(bytes, linktype, what)
    io.stderr:write(("link type %d, %s\n%s\n"):format(linktype, what,
        (bytes:gsub(".", function(c) return ("%02x"):format(c:byte()) end))))
end

local list = seeds()
local slow, worst, failed = 0, 0, 0
local steps = {
    { "decode, print, fields", examine },
    { "show", function(pkt) return pkt:show() end },
    { "edit", function(pkt)
        local same = pkt:edit():bytes()
        if same ~= pkt:bytes() and not pkt.malformed then
            error("an unchanged edit gives other bytes", 0)
        end
    end },
}
collectgarbage "stop" -- what is measured is our work, not the collector's: it has its turn between packets
for i = 1, count do
    if i % 64 == 0 then
        collectgarbage "step"
    end
    local seed = list[random(#list)]
    local bytes = mutate(seed[1])
    local src = assert(ringtap.memory({ { bytes, len = #bytes + (random(10) == 1 and random(2000) or 0) } },
        { linktype = seed[2] }))
    local pkt = src:next(0)
    src:close()
    if pkt then
        for k = 1, i % 4 == 0 and 3 or 1 do -- trees and builders are made of many Lua values: every fourth packet
            local step = steps[k]
            local begin = os.clock()
            local ok, err = pcall(step[2], pkt)
            local took = os.clock() - begin
            if not ok then
                failed = failed + 1
                tell(bytes, seed[2], step[1] .. ": " .. tostring(err))
            end
            if k == 1 then
                worst = math.max(worst, took)
                if took > limit then
                    slow = slow + 1
                    tell(bytes, seed[2], ("%s: %.3f ms"):format(step[1], took * 1e3))
                end
            end
        end
    end
end
print(("%d packets, %d raised, %d took more than %.1f ms, the slowest %.3f ms"):format(count, failed, slow, limit * 1e3,
    worst * 1e3))
os.exit(failed == 0 and slow == 0)
