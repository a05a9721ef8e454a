---@meta ringtap
--- The public functions, of the C core and of the modules, for editors and for people. Nothing runs here.
---
--- Conventions: durations are seconds, times are integer nanoseconds since 1970 (UTC), `_size` is bytes. Misuse raises
--- (wrong type, unknown option, closed object, stale packet). What the world refuses returns `nil, message, errno`.

---@class ringtap
local ringtap = {}

---@class ringtap.capture_options with backend "packet"; those of "xdp" are ringtap.xdp_capture_options
---@field backend? "packet" the kind of socket: AF_PACKET with a TPACKET_V3 ring
---@field netns? string network namespace: a name as `ip netns` has it, or a path; default: where the process is
---@field block_size? integer bytes of a ring block, a multiple of the page size; default 262144
---@field block_count? integer blocks of the ring; default 256
---@field ring_size? integer bytes of the ring, instead of block_count; default 64 MiB, less where that can't be had
---@field snaplen? integer bytes kept of a packet; default (and for 0) 262144. A frame never exceeds a block
---@field retire_timeout? number seconds after which a block with packets is handed over though not full; default 0.009,
--- rounded up to milliseconds; 0: the kernel picks (it does not mean "for ever")
---@field latency? "normal"|"low" "low": retire_timeout 0.001; costs more wake-ups
---@field promisc? boolean put the interface into promiscuous mode while the source is open; default false
---@field direction? "both"|"in"|"out" by the kernel's packet type; default: both, but each packet of a loopback device once
---@field timestamp? "software"|"hardware" "hardware" asks the device; `pkt.timestamp_source` tells who stamped a packet
---@field ignore_vlan? boolean drop tagged frames
---@field offload? boolean keep what is needed to send packets on as they are (PACKET_VNET_HDR); Ethernet only
---@field filter? string|ringtap.filter|fun(pkt: ringtap.packet): boolean
---@field fanout? ringtap.fanout_options

---@class ringtap.fanout_options PACKET_FANOUT, packet(7)
---@field mode? "hash"|"lb"|"cpu"|"rollover"|"rnd"|"qm"|"cbpf"|"ebpf" default "hash"
---@field id? integer 0 to 65535; default: the kernel picks one, see `stats().fanout_id`
---@field defrag? boolean reassemble IP fragments before choosing a member
---@field rollover? boolean a member whose ring is full passes on to the next
---@field program? {code: integer, jt: integer, jf: integer, k: integer}[] for "cbpf"; as filter:bytecode() gives it
---@field fd? integer for "ebpf": descriptor of a loaded socket filter program

---@class ringtap.xdp_options of backend "xdp", for all that it opens
---@field backend "xdp" the kind of socket: AF_XDP, one for each queue
---@field netns? string as above
---@field queues? "all"|integer|integer[] of the device, from 0; default "all". What sends uses one: the first, default 0
---@field copy? boolean|"auto" false: zero copy, an error where the driver has none; true: none; default "auto"
---@field fragments? boolean|"auto" frames that need several frames of the UMEM; default "auto": where the kernel can
---@field ring_size? integer descriptors of each ring, a power of two; default 4096
---@field frame_size? integer bytes of a frame of the UMEM: 2048 (default) or 4096; others with unaligned
---@field frame_count? integer frames of each queue, and of what is sent; default 2 * ring_size
---@field headroom? integer bytes left free in front of a received packet; default 0
---@field unaligned? boolean frames of any size, which may lie across pages; default false
---@field huge_pages? boolean the UMEM in huge pages, where there are free ones; default false
---@field busy_poll? number seconds (microseconds make sense) that the kernel looks at the device itself; default 0: off

---@class ringtap.xdp_capture_options: ringtap.xdp_options
---@field mode? "auto"|"native"|"generic" in the driver, or behind it (any device); default "auto", see source:mode()
---@field snaplen? integer bytes shown of a packet; default (and for 0) 262144
---@field latency? number|"normal"|"low" seconds that a packet may wait for others; default 0.001; "low": 0
---@field promisc? boolean put the interface into promiscuous mode while it is open; default false
---@field timestamp? "software"|"hardware" "hardware": the device's own time, where it tells one (`metadata`)
---@field direction? "both"|"in" the same: XDP sees what comes in
---@field filter? string|ringtap.filter|fun(pkt: ringtap.packet): boolean what it rejects goes to the host; a function
--- rejects what was taken already
---@field pass? string what goes to the host whatever the filter says: "arp,icmp6,ssh"; also icmp, dns, dhcp, ntp, bgp, lldp,
--- and expressions
---@field metadata? boolean|"auto" ask the device for VLAN tags and hardware time; default "auto": where it answers
---@field replace? boolean take the place of an XDP program that is there; default false: an error
---@field program? string an object file with one XDP program of your own, instead of ringtap's
---@field map? string the name of its XSKMAP; default: its only one

---@class ringtap.xdp_sender_options: ringtap.xdp_options
---@field umem? ringtap.port whose UMEM it shares: what that port receives is sent without a copy

---@class ringtap.port_options: ringtap.xdp_capture_options
---@field backend? "xdp"
---@field umem? ringtap.port whose UMEM it shares
---@field port_count? integer ports that will share this one's UMEM, itself included; default 1

--- Open a live source. Nothing that the filter rejects, and nothing of another interface, is ever delivered.
---@param ifname string an interface, or "any" (packets then have link type LINUX_SLL2, 276; not with "xdp")
---@param options? ringtap.capture_options|ringtap.xdp_capture_options
---@return ringtap.source? source
---@return string? message
---@return integer? errno
function ringtap.capture(ifname, options) end

--- Open a capture file: pcap or pcapng, plain, gzip or zstd. "-" is standard input; an open Lua file is a stream (it may
--- be a pipe). Packets are views into the read buffer.
---@param file string|file*
---@param options? {filter?: string|ringtap.filter|fun(pkt: ringtap.packet): boolean}
---@return ringtap.source? source
---@return string? message
---@return integer? errno
function ringtap.read(file, options) end

--- Packets from memory, laid out as the kernel lays out its ring. Time is 0 unless given; the link type is that of the
--- first packet in the list, else 1 (Ethernet).
---@param list (string|ringtap.packet|{[1]: string, time?: integer, len?: integer})[]
---@param options? {linktype?: integer, block_size?: integer, repeat?: integer, filter?: string|ringtap.filter|fun(pkt: ringtap.packet): boolean}
---@return ringtap.source? source
---@return string? message
---@return integer? errno
function ringtap.memory(list, options) end

---@class ringtap.write_options
---@field format? "auto"|"pcapng"|"pcap"|"pcap-us" "auto": pcap for *.pcap and *.cap, else pcapng; "pcap" has nanoseconds
---@field source? ringtap.source its interfaces are declared at once, its counters are written at close (pcapng)
---@field filter? string text for if_filter (pcapng)
---@field linktype? integer of a pcap file, and of strings that are sent; default: the source's, else the first packet's
---@field snaplen? integer written in the header; default 262144
---@field comment? string opt_comment of the section (pcapng)
---@field hardware? string shb_hardware (pcapng)
---@field os? string shb_os (pcapng)
---@field rotate_size? integer bytes after which a new file is begun, named as `tcpdump -C` does
---@field rotate_time? number seconds (>= 1) after which a new file is begun; the path is a strftime format, as `tcpdump -G`
---@field rotate_count? integer as `tcpdump -W`
---@field buffer_size? integer bytes gathered before they are written
---@field unbuffered? boolean write after each packet

--- Write a capture file. "-" is standard output.
---@param file string|file*
---@param options? ringtap.write_options
---@return ringtap.sink? sink
---@return string? message
---@return integer? errno
function ringtap.write(file, options) end

---@class ringtap.loop_options any of them ends the loop normally
---@field count? integer packets
---@field duration? number seconds since the loop began
---@field idle? number seconds without a packet

---@class ringtap.sender_options with backend "packet"
---@field backend? "packet" the kind of socket: AF_PACKET
---@field method? "auto"|"mmsg"|"ring"|"gso" default "auto"; stats() tells what it chose, and why
---@field frame_count? integer frames (gso: super-frames) that can be queued; default 256 (128)
---@field frame_size? integer bytes of the longest frame; default the MTU, the link-layer header and 4
---@field qdisc_bypass? boolean PACKET_QDISC_BYPASS: no traffic control; default false
---@field vnet_hdr? boolean PACKET_VNET_HDR: super-frames of a capture can be sent on; default true, not for "ring"
---@field netns? string network namespace: a name as `ip netns` has it, or a path; default: where the process is

--- Open an interface for sending. Nothing is received by it. Frames of Ethernet begin with its header; on devices
--- without one (tun) packets begin with IP.
---@param ifname string
---@param options? ringtap.sender_options|ringtap.xdp_sender_options
---@return ringtap.sink? sink
---@return string? message
---@return integer? errno
function ringtap.sender(ifname, options) end

--- AF_XDP on one interface, receiving and sending on one packet memory (UMEM).
---@class ringtap.port
---@field rx ringtap.source
---@field tx ringtap.sink
local port = {}

--- Close both ends. Twice is harmless; also at <close>.
function port:close() end

--- Open an interface for receiving and sending by AF_XDP: what port.rx receives port.tx sends without a copy, and so does
--- the tx of any port that shares its UMEM.
---@param ifname string
---@param options? ringtap.port_options
---@return ringtap.port? port
---@return string? message
---@return integer? errno
function ringtap.port(ifname, options) end

--- A packet that can be written to: fields by assignment, set, pack, resize; and read as any other.
---@param packet ringtap.packet|ringtap.builder|string
---@param options? {linktype?: integer} of a string; default 1, Ethernet
---@return ringtap.template
function ringtap.template(packet, options) end

---@class ringtap.template: ringtap.packet
---@class ringtap.frame: ringtap.packet borrowed: valid until the loop's next step

--- Those of several sources that have a packet, or their end, without waiting.
---@param sources ringtap.source[]
---@param timeout? number seconds; default: as long as it takes
---@return ringtap.source[]? ready
---@return string? reason "timeout"
---@return integer? errno ETIMEDOUT
function ringtap.wait(sources, timeout) end

---@class ringtap.probe_options
---@field packet ringtap.packet|ringtap.builder|string its payload has 24 bytes at least, which are written over
---@field count? integer frames; default 1000
---@field rate? number|string frames a second, or "10kpps"; default 1000
---@field timeout? number seconds that are waited for the last ones; default 1
---@field signals? ringtap.signals end it; default: SIGINT does

--- Send numbered, stamped frames, and look at what comes back of them. `tostring` shows it with a histogram. Times are from
--- right before a frame is sent until the kernel's timestamp of its return, in ns.
---@param sender ringtap.sink
---@param source ringtap.source
---@param options ringtap.probe_options
---@return {sent: integer, received: integer, lost: integer, reordered: integer, duplicates: integer, rtt?: ringtap.times}? result
---@return string? message
---@return integer? errno
function ringtap.probe(sender, source, options) end

---@class ringtap.times nanoseconds
---@field count integer
---@field p50 integer
---@field p90 integer
---@field p99 integer
---@field p999 integer
---@field worst integer
---@field least? integer
---@field histogram {from: integer, to: integer, count: integer}[]

--- Pass packets on, in C: one copy each, none between ports that share a UMEM. With `fn` only those for which it returns true; or what it returns instead (a
--- template, a packet or a builder). From an interface to an interface only packets that came in are passed on, unless
--- direction is "both". What a sender can't send is in its counts.
---@param source ringtap.source
---@param sink ringtap.sink
---@param fn? fun(pkt: ringtap.packet): boolean|ringtap.packet|ringtap.builder|string|nil
---@param options? {count?: integer, duration?: number, idle?: number, signals?: ringtap.signals, report?: fun(), progress?: fun(), direction?: "in"|"both", patience?: number}
--- patience: seconds to wait while a sender can send nothing; then packets of an interface are dropped (counted), and a
--- file's end the loop; default 0.5
--- signals: the first one ends the intake (what the source had accepted is still passed on), a second one ends at once;
--- USR1 and USR2 call `report` and it goes on; progress: called a few times a second while packets come
---@return integer? count packets passed on
---@return string reason "count", "duration", "idle", "stopped", "end", or "interrupted" by a second signal; or the message
---@return integer? errno
function ringtap.forward(source, sink, fn, options) end

--- A function from packets to a field's value, as `pkt[name]` but quicker inside of a loop.
---@param name string with or without #N
---@return fun(pkt: ringtap.packet): integer|boolean|string|nil
function ringtap.field(name) end

--- Names of all fields that protocols declare, sorted.
---@param pattern? string a Lua pattern that they have to match
---@return string[]
function ringtap.field_names(pattern) end

--- Declare a protocol, or declare one again: from now on it decodes, prints, builds and has fields. The language of the
--- table is told at the top of ringtap/protocol.lua. Raises on what isn't in it, and names the place.
---@param table table
---@return ringtap.protocol_handle
function ringtap.protocol(table) end

--- What `ringtap.proto.NAME` and `ringtap.NAME` are. Calling it makes a builder with one layer: fields by name, with or
--- without the protocol's prefix; names of values where a field has them; lists of tables by the list's name. What isn't
--- given is worked out when the bytes are asked for; what is given wins.
---@class ringtap.protocol_handle
---@field name string
---@field title string
---@field ports integer[] where it is looked for; may be changed, and set
---@overload fun(values?: table): ringtap.builder

---@type table<string, ringtap.protocol_handle>
ringtap.proto = {}

--- Layers upon each other: `eth{} / ip{} / udp{} / "payload"`, `/` makes a new one; or a packet's, by pkt:edit(). Fields are
--- read and set by name (`q["ip.ttl"] = 3`, `q.ip.ttl = 3`, `q["ip.ttl#2"]`); what depends on them is made right again.
---@class ringtap.builder
---@operator div(ringtap.builder|string|integer): ringtap.builder
---@operator len: integer
local builder = {}

---@param options? {pad?: integer} pad: at least so many bytes, with zeroes behind everything
---@return string
function builder:bytes(options) end

---@param options? {linktype?: integer} default: that of the first layer
---@return ringtap.packet owned
function builder:packet(options) end

---@return ringtap.builder
function builder:copy() end

---@return string[] names
function builder:layers() end

--- A list as a value: #list, list[i]["name"], list[i] = { ... } or nil, list[#list + 1] = { ... }.
---@param name string "tcp.options"
---@return table
function builder:list(name) end

--- Bytes that no layer describes, behind the last layer; with an argument they are replaced.
---@param bytes? string
---@return string
function builder:payload(bytes) end

--- The bytes, written anew from the values also where nothing was changed; force: lengths and checksums too, whatever the
--- packet had.
---@param options? {force?: boolean}
---@return string
function builder:encode(options) end

---@class ringtap.text_style
---@field time? "clock"|"none"|"epoch"|"delta"|"date"|"first" tcpdump's -t to -ttttt
---@field nanoseconds? boolean
---@field number? boolean
---@field link? boolean tcpdump's -e
---@field quiet? boolean
---@field verbose? integer
---@field interface? boolean
---@field dump? "none"|"x"|"xx"|"X"|"XX"
---@field line_buffered? boolean

---@class ringtap.fields_style
---@field fields string[] names of fields, "ip.src" or "ip.src#2": a column for each
---@field format? "fields"|"json" default "fields", as `tshark -T fields` prints them; "json": an object in each line, with
--- numbers and booleans as such, bytes as hex digits, all else as text; a field that isn't there is left out, several
--- occurrences are a list
---@field occurrence? "all"|"first"|"last"
---@field line_buffered? boolean
---@field separator? string between columns, one byte; default a tab
---@field aggregator? string between the occurrences in a column, one byte; default ","
---@field quote? "none"|"double"|"single" around a column that has something
---@field header? boolean a line of names in front
---@field bom? boolean a byte order mark in front

--- A sink that prints a line for each packet: as `tcpdump -n` does, or with `fields` their values. `frame.number` and times
--- are those of all that the source has read when packets come by ringtap.forward, else of what was sent.
---@param file file*
---@param style? ringtap.text_style|ringtap.fields_style
---@return ringtap.sink? sink
---@return string? message
---@return integer? errno
function ringtap.text(file, style) end

---@class ringtap.signals
local signals = {}

--- From now on these signals are not delivered but can be taken, until the value is closed.
---@param ... "INT"|"TERM"|"HUP"|"USR1"|"USR2"
---@return ringtap.signals? signals
---@return string? message
---@return integer? errno
function ringtap.signals(...) end

---@class ringtap.interface what the kernel says of an interface; what it doesn't say is absent
---@field name string
---@field index integer
---@field kind? string "veth", "bridge", ...; absent for hardware
---@field address? string link-layer address
---@field mtu integer bytes
---@field hatype integer ARPHRD_ value: 1 Ethernet, 772 loopback, 65534 none (tun)
---@field rx_queue_count integer
---@field tx_queue_count integer
---@field up boolean
---@field running boolean
---@field loopback boolean
---@field promisc boolean

---@class ringtap.interface_detail: ringtap.interface what its driver says, too; what it doesn't say is absent
---@field driver? string
---@field bus? string where the device is
---@field link? boolean
---@field offloads table<"gro"|"lro"|"tso"|"gso"|"rx_checksum"|"tx_checksum"|"rx_vlan"|"tx_vlan", boolean?>
---@field channels? {rx: integer, tx: integer, rx_max: integer, tx_max: integer} queues; combined ones count in both
---@field descriptors? {rx: integer, tx: integer, rx_max: integer, tx_max: integer} rings of the device
---@field timestamping? ringtap.timestamping
---@field xdp ringtap.interface_xdp

---@class ringtap.interface_xdp what its driver can do, since Linux 6.3, and what is attached
---@field native? boolean
---@field zerocopy? boolean
---@field fragments? boolean packets that lie in several frames, in native mode
---@field programs? {id: integer, name?: string, mode: "native"|"generic"}[] name: where the process may ask for it

---@class ringtap.timestamping
---@field hardware_receive boolean
---@field hardware_send boolean
---@field software_receive boolean
---@field all_packets boolean the device can stamp every received packet, not only those of PTP
---@field clock? integer N of /dev/ptpN

--- All interfaces, in the kernel's order. Needs no privilege, but for another namespace.
---@param netns? string network namespace: a name as `ip netns` has it, or a path; default: where the process is
---@return ringtap.interface[]? list
---@return string? message
---@return integer? errno
function ringtap.interfaces(netns) end

--- One interface, with what its driver says.
---@param name string
---@param netns? string
---@return ringtap.interface_detail? interface
---@return string? message
---@return integer? errno
function ringtap.interface(name, netns) end

---@return string? name of a signal that came
function signals:take() end

--- Signals are delivered again. Twice is harmless.
function signals:close() end

---@class ringtap.source
local source = {}

--- A generic for's loop: one handle per packet, valid until the next step.
---@param options? ringtap.loop_options
---@return fun(): ringtap.packet?
function source:packets(options) end

--- A loop over declared fields: `for src, len in source:fields("ip.src", "frame.len") do`. Values are those of
--- `pkt[name]`, found in C in one call per packet. What is absent is nil; in the first place it is false, since nil would
--- end the loop. An options table may follow the names.
---@param ... string|ringtap.loop_options names; "ip.src#2" is that of the second ip layer
---@return fun(): any ...
function source:fields(...) end

--- Call fn for every packet: the quickest way to see every handle.
---@param fn fun(pkt: ringtap.packet)
---@param options? ringtap.loop_options
---@return integer count
function source:each(fn, options) end

--- A loop over Lua strings: bytes, time (nil where the file has none), length on the wire.
---@param options? {count?: integer, duration?: number, idle?: number, from?: string} from: first layer wanted ("ip",
--- "ipv6", "arp", "udp", "tcp", "icmp", "icmpv6", "data"); packets without it are passed over
---@return fun(): string?, integer?, integer?
function source:bytes(options) end

--- One packet, copied.
---@param timeout? number seconds; default: as long as it takes
---@param into? ringtap.packet an owned packet whose memory is used again
---@return ringtap.packet? packet
---@return string? reason "timeout", "end", "stopped", or what went wrong ("eth0: No such device ...")
---@return integer? errno ETIMEDOUT for "timeout"; none for "end" and "stopped"
function source:next(timeout, into) end

--- Swap the filter: no packet that the new one rejects is delivered after this returns. nil: none. When it can't be
--- compiled the old one stays.
---@param filter string|ringtap.filter|fun(pkt: ringtap.packet): boolean|nil
---@return ringtap.source? self
---@return string? message
---@return integer? errno
function source:filter(filter) end

---@class ringtap.source_stats a figure that the kernel can't tell is absent
---@field seen? integer matched + filtered; absent while a filter runs in the kernel, which does not count what it rejects
---@field filtered? integer
---@field matched integer delivered + dropped
---@field delivered integer handed to a loop
---@field dropped? integer sum of the causes below; absent for a file
---@field ring_full? integer packets for which the ring had no room
---@field rx_ring_full? integer xdp: packets for which the RX ring had no room, the script was slow
---@field fill_ring_empty? integer xdp: packets for which no frame of the UMEM was free, they were held or being sent
---@field rx_dropped? integer xdp: packets too long for one frame where fragments are off, and what else the socket refused
---@field redirect_failed? integer xdp: packets that the program gave to a socket and that never got there; known only
--- after drain() or close()
---@field queued? integer accepted and waiting in the ring
---@field freezes? integer times that the ring was full
---@field ring_size? integer bytes; the size that was got
---@field block_size? integer
---@field block_count? integer
---@field timestamp_source? "software"|"hardware"
---@field filter_engine? "kernel"|"xdp"|"user"
---@field fanout_id? integer
---@field position? integer bytes of a file that were read, as it lies on the disk (perhaps compressed)
---@field size? integer bytes of that file; both absent for what is no regular file

--- Counters since the source was opened; reading them changes nothing.
---@return ringtap.source_stats
function source:stats() end

--- Every running loop of the source ends after the packet that it shows.
function source:stop() end

--- Take no more packets from the wire; loops deliver what was accepted, then end.
---@return ringtap.source? self
---@return string? message
---@return integer? errno
function source:drain() end

---@return integer? fd to poll for reading, nil where there is none
function source:fd() end

---@return integer? fd the same, under the name that cqueues asks for
function source:pollfd() end

---@return "r" events
function source:events() end

---@return 0? timeout 0 when a packet (or the end) can be had without waiting, else nil
function source:timeout() end

---@return integer linktype LINKTYPE_ value (https://www.tcpdump.org/linktypes.html); of the first interface of a pcapng
--- file: `pkt.linktype` is each packet's
function source:linktype() end

---@return string name of the interface, the path, or "memory"
function source:name() end

---@return "packet"|"xdp"|"file"|"memory"
function source:kind() end

---@return "native"|"generic"|nil mode of the XDP program: what "auto" became; nil: it is not by AF_XDP, or detached
function source:mode() end

---@return boolean? zerocopy nil: it is not by AF_XDP
function source:zerocopy() end

---@return integer[]? queues of the device; nil: it is not by AF_XDP
function source:queues() end

---@return {id: integer, name?: string, linktype: integer, snaplen?: integer, description?: string, filter?: string, received?: integer, dropped?: integer}[]
function source:interfaces() end

--- Closing twice is harmless; also at <close> and by the collector. Borrowed packets are stale at once, held ones stay.
function source:close() end

---@class ringtap.sink
local sink = {}

--- A file takes it; a sender sends it at once (true also when it is queued because the kernel could not take it just now).
---@param packet ringtap.packet|ringtap.builder|string
---@param time? integer of a string; default: now
---@return true? ok
---@return string? message begins with "full" when it has to be tried again
---@return integer? errno EAGAIN for "full"; ENOBUFS, ENETDOWN or ENOLINK (no carrier) where that is why
function sink:send(packet, time) end

--- A sender sends a received packet on: without a copy when it lies in the sender's own UMEM (ringtap.port), once. What is
--- changed in place is changed for whoever has the packet.
---@param packet ringtap.packet
---@param changes? string|table<string, any> bytes to write over its first ones, or fields with their values
---@return true? ok
---@return string? message begins with "full" when it has to be tried again
---@return integer? errno
function sink:forward(packet, changes) end

---@return "native"|"generic"|nil mode of the XDP program beside it (ringtap.port); nil: there is none
function sink:mode() end

---@return boolean? zerocopy nil: it is not by AF_XDP
function sink:zerocopy() end

---@return integer[]? queues of the device, the first one is sent on; nil: it is not by AF_XDP
function sink:queues() end

--- Write out what was gathered; a sender waits until the kernel has taken what is queued.
---@param timeout? number seconds, of a sender; default 1
---@return true? ok
---@return string? message
---@return integer? errno
function sink:flush(timeout) end

--- A sender waits until the device has sent everything.
---@param timeout? number seconds; default 1
---@return true? ok
---@return string? message
---@return integer? errno ETIMEDOUT
function sink:drain(timeout) end

---@return integer? fd of a sender, to be polled for writing
function sink:fd() end

---@return integer linktype of what it sends, and of strings
function sink:linktype() end

--- A loop over a sender's free frames: writable handles, valid until the next step, when the frame is queued. What is left
--- empty, and the frame that is shown when the loop is left, is not sent. Raises when nothing can be sent for 0.5 s.
---@param count? integer default: until the loop is left
---@return fun(): ringtap.frame?
function sink:frames(count) end

---@class ringtap.blast_options
---@field packet ringtap.packet|ringtap.builder|string|(ringtap.packet|ringtap.builder|string)[] several are sent in turn
---@field count? integer frames
---@field duration? number seconds
---@field rate? number|string packets a second, or "250kpps", "900Mbit/s"; default: as fast as it goes
---@field burst? integer frames that are sent together, up to 1024; default: those due within 20 us
---@field vary? table<string, any> field, "payload@OFFSET:SIZE" or "frame@OFFSET:SIZE" to how it changes: see README
---@field seed? integer for what is random; default: the time
---@field patience? number seconds to wait while nothing can be sent; default 0.5
---@field progress? fun(so_far: table) called each `every` seconds
---@field every? number default 1
---@field signals? ringtap.signals end it; default: SIGINT does

---@class ringtap.report
---@field packets integer sent; packets + refused is attempted
---@field attempted integer frames that were made, or packets that were given to the sink
---@field bytes integer
---@field seconds number
---@field rate number packets a second
---@field bits number a second
---@field refused integer
---@field causes table<string, integer> of refused
---@field waits table<string, integer> times that it had to wait, and for what
---@field late? ringtap.times
---@field asked {rate?: number|string, count?: integer, duration?: number, speed?: number, loop?: integer}
---@field reason "count"|"duration"|"end"|"interrupted"|"stuck"|"failed"
---@field message? string
---@field last? string why the last frame was refused that was
---@field method string
---@field super_frames integer
---@field skipped? integer of a replay: fn returned false

--- The send loop, in C. `tostring(report)` tells it in words.
---@param options ringtap.blast_options
---@return ringtap.report? report
---@return string? message what it could not go on for
---@return integer? errno
---@return ringtap.report? partial what was done until then
function sink:blast(options) end

---@class ringtap.replay_options
---@field speed? number factor; default 1, to a file math.huge: as fast as it goes
---@field rate? number|string instead of speed
---@field loop? integer times; 0: for ever
---@field count? integer packets
---@field duration? number seconds
---@field fn? fun(pkt: ringtap.template): boolean|ringtap.packet|ringtap.builder|string|nil may change it; false: it is not
--- sent; a packet, a builder or bytes are sent instead
---@field rewrite? table<string, string> addresses, or networks of one length, that are replaced
---@field filter? string|ringtap.filter with a path
---@field preload? boolean read all of it into memory first
---@field truncated? "refuse"|"send" packets that were cut when they were captured; default "refuse"
---@field patience? number
---@field progress? fun(so_far: table)
---@field every? number
---@field signals? ringtap.signals

--- Send what a source gives, with the gaps between its times.
---@param what ringtap.source|string a source, or a path
---@param options? ringtap.replay_options
---@return ringtap.report? report
---@return string? message
---@return integer? errno
---@return ringtap.report? partial
function sink:replay(what, options) end

---@class ringtap.sink_stats
---@field sent integer taken for good, by the file or the kernel
---@field bytes integer
---@field queued integer
---@field files? integer
---@field refused? integer of a sender: sent + queued + refused is what was given to it
---@field causes? table<string, integer> of refused: too_short, too_long, invalid, full, no_buffer, link_down, no_carrier, device_gone, abandoned
---@field waits? table<string, integer>
---@field method? "mmsg"|"ring"|"gso"|"xdp"
---@field reason? string why that method
---@field calls? integer to the kernel
---@field frame_count? integer
---@field frame_size? integer
---@field limit? integer bytes of the longest frame without a tag
---@field super_frames? integer

---@return ringtap.sink_stats
function sink:stats() end

---@return string
function sink:name() end

---@return string
function sink:kind() end

--- Finish the file. Closing twice is harmless; also at <close> and by the collector, which tell nobody what could not be
--- written. Close it before the Lua file that it writes to.
---@return true? ok
---@return string? message what could not be written
---@return integer? errno
function sink:close() end

--- A packet: borrowed in a loop (until its next step), owned (copy, next) or held. `#pkt` is the number of captured bytes,
--- `tostring(pkt)` a line as `tcpdump -n` prints it.
---@class ringtap.packet
---@field time integer? ns since 1970; nil where the file has none
---@field len integer bytes on the wire
---@field caplen integer bytes captured
---@field truncated boolean caplen < len, or some header says that there is more than what was captured
---@field malformed string? what is wrong with it ("udp: length below 8"); nil: nothing that the decoder noticed
---@field guessed boolean some layer is there by a guess, since its format gives nothing better
---@field length_guessed boolean a header does not say how long the packet is (offload): the length on the wire was taken
---@field direction "in"|"out"|"other"|nil "other": for another host, seen in promiscuous mode
---@field reception "unicast"|"multicast"|"broadcast"|"promiscuous"|nil
---@field interface string? name
---@field interface_id integer the kernel's index, or the number in the pcapng section
---@field linktype integer
---@field vlan {id: integer, priority: integer, dei: boolean, tpid: integer, restored: boolean}? the outermost tag;
--- restored: the kernel had taken it out
---@field checksum "ok"|"bad"|"not_ready"|"unchecked" of the network and transport header; "not_ready": the sender left it
--- to the hardware
---@field timestamp_source "software"|"hardware"|nil
---@field comment string?
local packet = {}

--- As string.byte.
---@param i? integer
---@param j? integer
---@return integer ...
function packet:byte(i, j) end

--- As string.sub: a copy of those bytes.
---@param i integer
---@param j? integer
---@return string
function packet:sub(i, j) end

---@return string all captured bytes
function packet:bytes() end

--- The first place of `s`, as plain bytes.
---@param s string
---@param init? integer
---@return integer? first
---@return integer? last
function packet:find(s, init) end

--- As string.unpack, from the packet's memory.
---@param fmt string
---@param pos? integer
---@return any ... values, and the next position
function packet:unpack(fmt, pos) end

--- A copy, for as long as you like.
---@param into? ringtap.packet an owned packet whose memory is used again
---@return ringtap.packet
function packet:copy(into) end

--- Keep it without a copy: its block is not given back until release, <close> or the collector. For less than one turn
--- of the ring: when it comes round to a held block the loop raises. An owned packet is returned as it is.
---@return ringtap.packet
function packet:hold() end

--- Give a held packet back; nothing to do for the others.
function packet:release() end

---@param mark? string a layer or field: its bytes are marked
---@return string dump as `tcpdump -XX` prints it
function packet:hex(mark) end

--- The layers, from the outermost. Beside its methods a packet has every field and layer by name: `pkt["udp.dstport"]` is
--- the first occurrence as a native value (integer, boolean, text, bytes) or nil where the layer is absent or cut off;
--- `pkt["ip.src#2"]` that of the second layer of the protocol, `#-1` of the last; `pkt.udp` the layer, or nil, and
--- `pkt.udp.dstport` its field. A name that no protocol declares raises.
---@return string[] names
function packet:layers() end

--- Where a layer is.
---@param layer string a protocol's name, or "ip#2" for the second
---@return integer? first position of its first byte, nil when there is none
---@return integer header_last position of its header's last captured byte
---@return integer last position of its last captured byte, padding excluded
function packet:at(layer) end

--- What a layer carries as its header says, without padding.
---@param layer? string default: the last of TCP, UDP, UDP-Lite, SCTP and DCCP, else the last layer
---@return string? bytes nil when the layer is absent
function packet:payload(layer) end

--- Every occurrence of a field.
---@param name string
---@return (integer|boolean|string)[]
function packet:all(name) end

--- Every occurrence of a field as `tshark -T fields` prints it.
---@param name string
---@return string[]
function packet:texts(name) end

--- Frames and templates only: have these bytes from now on.
---@param what ringtap.template|ringtap.packet|ringtap.builder|string
---@return ringtap.packet self
function packet:set(what) end

--- Frames and templates only: as string.pack, written at a position; checksums follow.
---@param fmt string
---@param pos integer 1-based; from the end if negative
---@param ... any
---@return ringtap.packet self
function packet:pack(fmt, pos, ...) end

--- Frames and templates only: another size; lengths in headers and checksums follow, new bytes are 0.
---@param size integer bytes
---@return ringtap.packet self
function packet:resize(size) end

--- Frames only: it is not sent.
function packet:skip() end

--- The tree: layers, fields, values and what they mean.
---@param options? {color?: boolean}
---@return string
function packet:show(options) end

--- The packet as a builder: fields can be changed by name, lengths and checksums that depend on them are made right.
---@return ringtap.builder
function packet:edit() end

return ringtap
