-- What the specs of sending share: packets, the peer's own capture, and tshark's opinion of it.

local live = require "support.live"
local ringtap = require "ringtap"
local support = require "support"

local sending = {}

--- A builder from a to b.
---@param ns support.namespaces
---@param o? {v6: boolean?, tcp: boolean?, payload: string?, ip: table?, id: integer?}
function sending.packet(ns, o)
    o = o or {}
    local ip = o.v6 and ringtap.ipv6 { src = ns.a_ip6, dst = ns.b_ip6 }
        or ringtap.ip { src = ns.a_ip, dst = ns.b_ip, id = o.id }
    local l4 = o.tcp and ringtap.tcp { srcport = 4000, dstport = 9 } or ringtap.udp { srcport = 4000, dstport = 9 }
    return ringtap.eth { src = ns.a_mac, dst = ns.b_mac } / ip / l4 / (o.payload or ("\0"):rep(22))
end

--- The options of a sender that sends by "mmsg", "ring", "gso", or "xdp", which is another backend.
---@return ringtap.sender_options
function sending.options(method, more)
    local o = method == "xdp" and { backend = "xdp" } or { method = method }
    for k, v in pairs(more or {}) do
        o[k] = v
    end
    return o
end

--- The same as text, for a program.
function sending.options_text(method)
    return ("{ %s = %q }"):format(next(sending.options(method)), method)
end

--- A sender on a's interface.
---@param ns support.namespaces
---@param options? ringtap.sender_options
---@return ringtap.sink
function sending.open(ns, options)
    local o = { netns = ns.a }
    for k, v in pairs(options or {}) do
        o[k] = v
    end
    return assert(ringtap.sender(ns.a_if, o))
end

--- Packets that the peer's interface has received, as its kernel counts them.
function sending.received(ns)
    return live.counter(ns, "b", "rx_packets")
end

--- A socket that takes datagrams at b, so that none is answered by ICMP; closed when the process is killed.
---@return support.process
function sending.listener(ns)
    local process = support.spawn(ns:exec("b", support.compile("udp_hold.c") .. " " .. ns.b_ip .. " 9"))
    support.wait_output(process, "ready", 10)
    return process
end

--- tcpdump at b, with a large buffer, into a file.
---@return support.process, string path
function sending.tcpdump(ns, filter)
    local path = support.tmpdir() .. "/peer.pcap"
    local process = support.spawn(ns:exec("b", ("tcpdump -i %s -Q in -B 262144 -s 128 --nano -Z root -w %s %s"):format(
        ns.b_if, support.quote(path), support.quote(filter))))
    support.wait_output(process, "listening on", 10)
    return process, path
end

--- End it. What its kernel dropped is an error.
function sending.stop_tcpdump(process, expected)
    support.sleep(1.2) -- its blocks are handed over once a second
    support.kill(process, "INT")
    local _, _, err = support.wait(process, 60)
    local captured = tonumber(err:match "(%d+) packets? captured")
    local dropped = tonumber(err:match "(%d+) packets? dropped by kernel")
    assert(dropped == 0, err)
    assert(not expected or captured == expected, err)
    return captured
end

--- Packets of a pcap file with nanoseconds, by hand: calls f(bytes, time in ns).
function sending.each_in_pcap(path, f)
    local bytes = assert(support.read_file(path))
    assert(("<I4"):unpack(bytes) == 0xa1b23c4d, "not a pcap file with nanoseconds")
    local at, n = 25, 0
    while at + 16 <= #bytes + 1 do
        local sec, ns, caplen = ("<I4I4I4"):unpack(bytes, at)
        f(bytes:sub(at + 16, at + 15 + caplen), sec * 1000000000 + ns)
        at, n = at + 16 + caplen, n + 1
    end
    return n
end

--- How many packets of a file have which checksums, by tshark: "1 1 ." for good IP and UDP.
---@return table<string, integer>
function sending.checksums(path)
    local out = support.must(("tshark -r %s -o ip.check_checksum:TRUE -o udp.check_checksum:TRUE "
        .. "-o tcp.check_checksum:TRUE -o sctp.checksum:TRUE -T fields -e ip.checksum.status -e udp.checksum.status "
        .. "-e tcp.checksum.status -e icmp.checksum.status -e icmpv6.checksum.status -e sctp.checksum.status "
        .. "2>/dev/null"):format(support.quote(path)))
    local counts = {}
    for line in out:gmatch "[^\n]*\n" do
        local key = line:gsub("\n", ""):gsub("[^\t]+", "%0"):gsub("\t", " "):gsub("^ ", ". "):gsub("  ", " . ")
            :gsub("  ", " . "):gsub(" $", " .")
        counts[key] = (counts[key] or 0) + 1
    end
    return counts
end

--- The account of a sender: all that was given to it.
function sending.given(sink)
    local s = sink:stats()
    local refused = 0
    for _, n in pairs(s.causes) do
        refused = refused + n
    end
    assert(refused == s.refused)
    return s.sent + s.queued + s.refused
end

return sending
