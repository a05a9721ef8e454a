-- How fast frames of 64 bytes are sent, against trafgen, tcpreplay and an ordinary UDP socket: make bench
--
-- Two namespaces and a veth pair; the receiver takes the datagrams into a socket that nobody reads. First each
-- contestant sends some frames: what tcpdump captures of them is compared bit for bit, and the receiving UDP counts
-- them. Then they take turns, two seconds each, on one core; the rate is what the peer's interface counts in the middle
-- one.
--
-- ROUNDS=n (5), JSON=1: an object on standard output

package.path = "spec/?.lua;" .. package.path

local live = require "support.live"
local sending = require "support.sending"
local support = require "support"
local turns = require "bench.turns"

local options = turns.options(arg)
local ROUNDS = tonumber(options.ROUNDS or "") or 5
local FRAMES = 128

local ns, directory

-- FRAMES frames that differ in ip.id alone, which counts up.
local frames = {}

local function write_inputs()
    for i = 1, FRAMES do
        frames[i] = sending.packet(ns, { id = i - 1 }):bytes()
    end
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
        { name = "UDP socket, sendto", rival = true, kernel_headers = true,
            command = ("%s %s %s 9 %%d 0 22"):format(support.compile "udp_blast.c", ns.a_ip, ns.b_ip) },
        { name = "trafgen", rival = true,
            command = ("trafgen --dev %s --conf %s/trafgen.cfg --cpus 1 --num %%d"):format(ns.a_if, directory) },
        { name = "tcpreplay -K --topspeed", rival = true, each = 100 * FRAMES,
            command = ("tcpreplay -q -i %s -t -K -l %%d %s/tcpreplay.pcap"):format(ns.a_if, directory) },
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

local function without_checksum(bytes)
    return bytes:sub(1, 40) .. bytes:sub(43)
end

-- left: checksums are left to the device, which a veth pair leaves to nobody.
local function prove(c, left)
    turns.prove(ns, c, 100 * FRAMES, function(bytes, i)
        if c.kernel_headers then
            assert(#bytes == 64 and bytes:sub(35, 38) == ("\x9c\x40\0\9"), c.name .. ": not such a datagram")
        else
            local given = frames[(i - 1) % FRAMES + 1]
            assert(bytes == given or left and without_checksum(bytes) == without_checksum(given),
                ("%s: frame %d is another one"):format(c.name, i))
        end
    end)
end

local function measure(c)
    return turns.rate(ns, c, 1)
end

local function run(title, setup, only)
    ns:must("a", setup)
    local list = {}
    for _, c in ipairs(contestants()) do
        if not only or only[c.name] then
            list[#list + 1] = c
        end
    end
    for _, c in ipairs(list) do
        prove(c, only)
        measure(c) -- finds out how many frames two seconds are
    end
    return turns.run(list, { title = title, rounds = ROUNDS, unit = "kpps", scale = 1e-3 }, measure)
end

turns.bench(options, function(show)
    ns = support.namespaces()
    sending.listener(ns)
    directory = support.tmpdir()
    write_inputs()
    live.blast(ns, { count = 5000 }) -- the socket is full from here on
    show(run("64-byte frames on one core, the device's offloads off", "ethtool -K veth_a tx off"))
    show(run("the same, segmentation offload off, checksums left to the device",
        "ethtool -K veth_a tx on; ethtool -K veth_a tx-udp-segmentation off",
        { ["UDP socket, sendto"] = true, ["ringtap gso"] = true }))
end)
