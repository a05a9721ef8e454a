--- What the prompt says when it is asked for help.

return { -- name, how it is called, what for; and for help"name" the rest
    { "sniff", "sniff{count = 10}", "packets from -i IF or -r FILE, or iface = or file =", [[
sniff{count =, duration =, idle =, filter =, iface =, file =, promisc =, snaplen =, netns =, direction =,
    backend =, pass =}

Takes packets until there are `count`, for `duration` seconds, until none comes for `idle` seconds, to the file's end,
or until Ctrl-C: what has come by then is kept. `filter` is tcpdump's language, a ringtap.filter or a function.
sniff "eth0" and sniff "x.pcap" are short forms. backend = "xdp" takes packets by AF_XDP, and away from the host: what
`filter` rejects and what `pass` names ("arp,icmp6,ssh") goes on to it. The list prints as a table:

    p = sniff{count = 10, filter = "udp port 53"}
    p                     all of them            #p              how many
    p[3]                  one line               p:sub(2, 5)     some of them
    for i, pkt in ipairs(p) do ... end

Every function that takes a list is its method, too: p:where "dns", p:count "ip.src", p:save "x.pcapng".]] },
    { "load", 'load("x.pcap")', "a capture file as a list", [[
load(path [, {filter =, count =}])

Reads pcap and pcapng, also compressed. It still is Lua's load for what is no name of a file.]] },
    { "save", 'save(p, "x.pcapng")', "write a list to a file", [[
save(p, path)

Writes pcapng, or pcap when the name ends in .pcap or .cap. A file of that name is replaced.]] },
    { "show", "show(p[3])", "a packet as a tree", [[
show(pkt)   show(p, 3)

The layers with their fields: name, value, title and what the value means. The names are those that where, count,
hist, hex and p[3]["ip.ttl"] take. pkt:show() gives the same as text.]] },
    { "hex", 'hex(p[3], "udp")', "its bytes, a layer or a field marked", [[
hex(pkt [, what])

`what` is a layer ("ip", "ip#2" is the second one) or a field ("udp.dstport"). pkt:hex() gives the same as text.]] },
    { "where", 'where(p, "udp.port == 53")', "those for which a condition is true", [[
where(p, condition)

    where(p, "dns")                                     has this protocol, or this field
    where(p, "udp.dstport == 53 and dns.flags.response == 0")
    where(p, "ip.src == 192.0.2.0/24 or ipv6.src == fe80::1")
    where(p, 'tcp.payload contains "GET"')              text, or bytes: contains 00:1b:2c
    where(p, 'dns.qry.name matches "%.org$"')           a Lua pattern
    where(p, 'arp.opcode == "reply"')                   a value by its name
    where(p, "tcp.port in {80, 443, 8000..8010}")       one of these, or not in {...}
    where(p, 'frame.time > "2023-11-14 22:13:30.5"')    local time; with Z behind it UTC
    where(p, "frame.number > 10 and frame.len >= 1000")
    where(p, function(pkt) return pkt.len > 100 end)

== ~= < <= > >= contains matches in, and or not ( ). A name alone asks whether the field is there, not what it says:
tcp.flags.syn is true for every TCP packet, tcp.flags.syn == 1 for those that have the flag. A field that is there
several times is compared each time: == is true for any of them, ~= and != when none is equal (tshark's own ~= is true
when any is unequal). There are no slices (eth.dst[0:3]), functions or bit operators. p:filter is the same as
p:where.]] },
    { "count", 'count(p, "ip.src")', "how often each value occurs", [[
count(p, field [, field ...])

The most frequent first; of several fields, each combination. A field may be a function of the packet. The result is a
list for scripts: c[1].value, c[1].count.]] },
    { "hist", 'hist(p, "frame.len")', "how the numbers of a field are spread", [[
hist(p, field [, bins])

A plot as wide as the terminal. hist(p, "frame.time_relative") is the traffic over time.]] },
    { "summary", "summary(p)", "packets, bytes, rates, protocols", [[
summary(p)

The result has packets, bytes, first (ns), duration (s), rate (packets/s), bit_rate, dropped, protocols.]] },
    { "follow", "follow(p[3])", "what both ends of its flow said", [[
follow(pkt)   follow(p, 3)

The payloads of the packet's TCP, UDP or SCTP flow in the list that it was read into (or in p): > from the end that
spoke first, < from the other. TCP is put in order; what wasn't captured is told. The result has a, b, sent,
received, and a list of pieces: f[1].from, f[1].data, f[1].number.]] },
    { "edit", "edit(p[3])", "a packet whose fields can be changed", [[
edit(pkt)

Lengths, checksums and the like follow when it is turned into bytes again.]] },
    { "send", "send(pkt)", "send it", [[
send(pkt [, iface])   send(pkt, {iface =, count =, duration =, rate =, vary =, burst =, backend =})

A packet, a list, a builder or bytes; with options in a loop, which Ctrl-C ends with its report:

    send(p[3], "eth0")
    e = edit(p[3])  e["ip.ttl"] = 3  send(e)
    send(eth{dst = "02:00:00:00:00:02"} / ip{dst = "192.0.2.2"} / udp{dstport = 9},
        {rate = "10kpps", duration = 5, vary = {["ip.src"] = "10.0.0.0/8"}})

With backend = "xdp" among the options by AF_XDP. For more than that there are ringtap.sender(iface, {backend = "xdp"}),
ringtap.capture(iface, {backend = "xdp"}), and ringtap.port(iface): port.rx and port.tx on one packet memory, where
port.tx:forward(pkt) sends what was received without a copy.]] },
    { "fields", 'fields "udp"', "names of fields", [[
fields()   fields(protocol)   fields(pattern)

fields() lists the protocols and how many fields each has, fields "udp" those of one. Anything else is a Lua pattern:
fields "port$". The Tab key completes names, also inside of quotes.]] },
}
