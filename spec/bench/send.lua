-- How fast frames of 64 bytes are sent, against trafgen, tcpreplay and an ordinary UDP socket: make bench
--
-- Two namespaces and a veth pair; the receiver takes the datagrams into a socket that nobody reads. First each
-- contestant sends some frames: what tcpdump captures of them is compared bit for bit, and the receiving UDP counts
-- them. Then they take turns, two seconds each, on one core; the rate is what the peer's interface counts in the middle
-- one. Only ratios within a round mean something: the machine's speed drifts.
--
-- ROUNDS=n (5), JSON=1: an object on standard output

package.path = "spec/?.lua;" .. package.path

local live = require "support.live"
local sending = require "support.sending"
local support = require "support"

local options = {}
for _, word in ipairs(arg) do
    local name, v = word:match "^(%w+)=(.*)$"
    options[name or word] = v
end
local ROUNDS = tonumber(options.ROUNDS or "") or 5
local FRAMES = 128

if not support.is_root() then
    io.stderr:write("bench: needs root (network namespaces, packet sockets)\n")
    os.exit(1)
end

local ns = support.namespaces()
sending.listener(ns)
local quote = support.quote
local directory = support.tmpdir()

-- FRAMES frames that differ in ip.id alone, which counts up.
local frames = {}
for i = 1, FRAMES do
    frames[i] = sending.packet(ns, { id = i - 1 }):bytes()
end

local function write_inputs()
    local config = {}
    for i, bytes in ipairs(frames) do
        local list = { bytes:byte(1, -1) }
        config[i] = "{ " .. table.concat(list, ", ") .. " }"
    end
    support.write_file(directory .. "/trafgen.cfg", table.concat(config, "\n") .. "\n")
    local file = {}
    for i = 1, 100 * FRAMES do
        file[i] = frames[(i - 1) % FRAMES + 1]
    end
    live.write_pcap(directory .. "/tcpreplay.pcap", file)
end

local function ringtap_command(sender_options)
    local list = {}
    for i, bytes in ipairs(frames) do
        list[i] = ("%q"):format(bytes)
    end
    local path = live.program(directory, ("send%d.lua"):format(math.random(1 << 30)), ([[
local tx = assert(ringtap.sender(%q, %s))
io.stderr:write(tx:stats().method, ": ", tx:stats().reason, "\n")
tx:blast { packet = { %s }, count = tonumber(arg[1]) }
]]):format(ns.a_if, sender_options, table.concat(list, ", ")))
    return "lua5.4 " .. path .. " %d"
end

local function contestants()
    local list = {
        { name = "UDP socket, sendto", kernel_headers = true,
            command = ("%s %s %s 9 %%d 0 22"):format(support.compile "udp_blast.c", ns.a_ip, ns.b_ip) },
        { name = "trafgen",
            command = ("trafgen --dev %s --conf %s/trafgen.cfg --cpus 1 --num %%d"):format(ns.a_if, directory) },
        { name = "tcpreplay -K --topspeed", command = ("tcpreplay -q -i %s -t -K -l %%d %s/tcpreplay.pcap"):format(
            ns.a_if, directory), each = 100 * FRAMES },
        { name = "ringtap auto", command = ringtap_command "{}" },
        { name = "ringtap mmsg", command = ringtap_command '{ method = "mmsg" }' },
        { name = "ringtap mmsg, qdisc_bypass", command = ringtap_command '{ method = "mmsg", qdisc_bypass = true }' },
        { name = "ringtap ring", command = ringtap_command '{ method = "ring" }' },
        { name = "ringtap gso", command = ringtap_command '{ method = "gso" }' },
    }
    local there = {}
    for _, c in ipairs(list) do
        local program = c.command:match "^%S+"
        if support.has(program:gsub("'", "")) then
            there[#there + 1] = c
        else
            io.stderr:write(("bench: %s is not installed, left out\n"):format(program))
        end
    end
    return there
end

-- Datagrams that the receiving UDP has taken for good ones: its socket is full, so each counts as one without room.
local function accepted()
    local names, values = ns:must("b", "cat /proc/net/snmp"):match "Udp: (%a[^\n]*)\nUdp: ([^\n]*)"
    local at, counts = {}, {}
    for name in names:gmatch "%S+" do
        at[#at + 1] = name
    end
    for v in values:gmatch "%S+" do
        counts[at[#counts + 1] or ""], counts[#counts + 1] = tonumber(v), true
    end
    return counts.RcvbufErrors, counts.InCsumErrors
end

-- Before anything is measured: the same frames, all accepted.
local function without_checksum(bytes)
    return bytes:sub(1, 40) .. bytes:sub(43)
end

-- left: checksums are left to the device, which a veth pair leaves to nobody.
local function prove(c, left)
    local n = 100 * FRAMES
    local before, bad_before = accepted()
    local process, path = sending.tcpdump(ns, "udp port 9")
    support.must(ns:exec("a", "sh -c " .. quote("taskset -c 1 " .. c.command:format(n // (c.each or 1)) .. " >&2")))
    local captured = sending.stop_tcpdump(process)
    assert(captured == n, ("%s: %d of %d frames arrived"):format(c.name, captured, n))
    local after, bad_after = accepted()
    assert(after - before == n and bad_after == bad_before,
        ("%s: %d of %d accepted, %d bad checksums"):format(c.name, after - before, n, bad_after - bad_before))
    local i = 0
    sending.each_in_pcap(path, function(bytes)
        i = i + 1
        if c.kernel_headers then
            assert(#bytes == 64 and bytes:sub(35, 38) == ("\x9c\x40\0\9"), c.name .. ": not such a datagram")
        else
            local given = frames[(i - 1) % FRAMES + 1]
            assert(bytes == given or left and without_checksum(bytes) == without_checksum(given),
                ("%s: frame %d is another one"):format(c.name, i))
        end
    end)
end

-- It sends for two seconds and a bit, and ends by itself: the workers of trafgen outlive what ends it.
local function measure(c)
    local count = math.floor((c.rate or 1000000) * 2)
    local process = support.spawn(ns:exec("a", "taskset -c 1 " .. c.command:format(count // (c.each or 1))))
    local first = sending.received(ns)
    support.wait_for(function() return sending.received(ns) > first + 1000 end, 5)
    support.sleep(0.2)
    local t0, n0 = live.clock(), sending.received(ns)
    support.sleep(1)
    local t1, n1 = live.clock(), sending.received(ns)
    support.wait(process, 30)
    c.rate = (n1 - n0) / (t1 - t0)
    return c.rate
end

local function quartiles(list)
    table.sort(list)
    local function at(part)
        return list[math.max(1, math.ceil(#list * part))]
    end
    return at(0.5), at(0.25), at(0.75)
end

local function run(title, setup, only)
    ns:must("a", setup)
    local list, rates = {}, {}
    for _, c in ipairs(contestants()) do
        if not only or only[c.name] then
            list[#list + 1] = c
        end
    end
    for _, c in ipairs(list) do
        prove(c, only)
        measure(c) -- finds out how many frames two seconds are
        rates[c.name] = {}
    end
    for _ = 1, ROUNDS do
        for _, c in ipairs(list) do
            table.insert(rates[c.name], measure(c))
        end
    end
    local result = { title = title, rows = {} }
    for _, c in ipairs(list) do
        local row = { name = c.name, kpps = quartiles({ table.unpack(rates[c.name]) }) / 1000, ratios = {} }
        for _, peer in ipairs(list) do
            if not peer.name:find "^ringtap" and peer ~= c then
                local ratios = {}
                for i = 1, ROUNDS do
                    ratios[i] = rates[c.name][i] / rates[peer.name][i]
                end
                local median, low, high = quartiles(ratios)
                row.ratios[#row.ratios + 1] = { peer = peer.name, median = median, low = low, high = high }
            end
        end
        result.rows[#result.rows + 1] = row
    end
    return result
end

local function print_result(result)
    print(("%s (%d rounds; ratio within a round: median, quartiles)"):format(result.title, ROUNDS))
    for _, row in ipairs(result.rows) do
        local parts = {}
        for _, r in ipairs(row.ratios) do
            parts[#parts + 1] = ("%s %.2f (%.2f-%.2f)"):format(r.peer, r.median, r.low, r.high)
        end
        print(("  %-28s %7.0f kpps   x %s"):format(row.name, row.kpps, table.concat(parts, ", ")))
    end
end

local function json(v)
    if type(v) == "table" then
        local parts = {}
        if #v > 0 then
            for i, one in ipairs(v) do
                parts[i] = json(one)
            end
            return "[" .. table.concat(parts, ",") .. "]"
        end
        for name, one in pairs(v) do
            parts[#parts + 1] = ("%q:%s"):format(name, json(one))
        end
        table.sort(parts)
        return "{" .. table.concat(parts, ",") .. "}"
    end
    return type(v) == "number" and ("%.4f"):format(v) or ("%q"):format(v)
end

write_inputs()
live.blast(ns, { count = 5000 }) -- the socket is full from here on
local results = {}
local ok, err = pcall(function()
    results[1] = run("64-byte frames on one core, the device's offloads off", "ethtool -K veth_a tx off")
    results[2] = run("the same, segmentation offload off, checksums left to the device",
        "ethtool -K veth_a tx on; ethtool -K veth_a tx-udp-segmentation off",
        { ["UDP socket, sendto"] = true, ["ringtap gso"] = true })
end)
support.cleanup()
if not ok then
    io.stderr:write("bench: ", tostring(err), "\n")
    os.exit(1)
end
for _, result in ipairs(results) do
    if options.JSON then
        print(json(result))
    else
        print_result(result)
    end
end
