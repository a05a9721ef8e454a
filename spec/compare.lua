-- Decoding against tshark: every field that both know, packet by packet, over a folder of captures.
--
--     make compare CAPTURES=dir [FILE=pattern] [FIELDS=pattern] [VERBOSE=1]
--
-- FILE and FIELDS are Lua patterns for names of captures and fields. A value is one occurrence of a field; a missing or
-- an additional one is a difference. Left out of the count are values that tshark has from earlier packets, and those
-- in and behind a layer that ringtap doesn't know. Exit status 1: a difference that nothing below explains, or an
-- explanation that matches nothing in a folder that has the captures of all explanations.
local core = require "ringtap.core"
local ringtap = require "ringtap"
require("ringtap.proto").load(true)
local protocols = require("ringtap.protocol").proto

local M = {}

-- ringtap decodes each packet on its own, so tshark must not carry anything from one packet to the next.
local preferences = {
    { "tcp.relative_sequence_numbers:FALSE", "relative to an earlier packet's" },
    { "tcp.analyze_sequence_numbers:FALSE", "looks back at earlier packets" },
    { "tcp.track_bytes_in_flight:FALSE", "looks back at earlier packets" },
    { "mptcp.analyze_mptcp:FALSE", "looks back at earlier packets" },
    { "mptcp.relative_sequence_numbers:FALSE", "relative to an earlier packet's" },
    { "dccp.relative_sequence_numbers:FALSE", "relative to an earlier packet's" },
    { "sctp.relative_tsns:FALSE", "relative to an earlier packet's" },
    { "sctp.tsn_analysis:FALSE", "looks back at earlier packets" },
    { "esp.do_esp_sequence_analysis:FALSE", "looks back at earlier packets" },
    { "sdp.establish_conversation:FALSE", "says what other packets are" },
    { "wlan.enable_decryption:FALSE", "takes keys from earlier packets" },
    { "http.decompress_body:FALSE", "what is packed stays packed" },
    { "http.dechunk_body:FALSE", "chunks of one message are in many packets" },
    { "ipv6.tso_support:TRUE", "as with IPv4: a length of 0 is an offloaded packet's" },
    { "ip.check_checksum:TRUE", "not done unless asked for" },
    { "tcp.check_checksum:TRUE", "not done unless asked for" },
    { "udp.check_checksum:TRUE", "not done unless asked for" },
    { "sctp.checksum:CRC 32c", "not done unless asked for" },
}
local no_heuristics = {
    { "dns_udp", "takes SOME/IP for DNS" },
}
local function reassembles(preference) -- all of these are turned off
    return preference:find "desegment" or preference:find "reassembl" or preference:find "defragment"
end

-- tshark gives up a layer at the first fault, ringtap keeps what is in front of it.
local function reads_on(theirs, ours, packet)
    if not packet.malformed and not packet.truncated then
        return false
    end
    for i, value in ipairs(theirs) do
        if value ~= ours[i] then
            return false
        end
    end
    return true
end

-- Differences that are meant. file, packet and field say where (each one or a list, Lua patterns and numbers),
-- when(theirs, ours, packet) looks at the values; without a field it is for the whole capture. left_out = true: it
-- can't be compared, since only one of them can have it.
local explanations = {
    { file = "hoobr_juniper3", why = "the link type is one that tshark doesn't read at all" },
    {
        field = "^tcp%.window_size$", left_out = true, why = "the scale is in the connection's first segment",
        when = function(theirs, ours)
            for shift = 1, 14 do
                if #theirs == 1 and #ours == 1 and tonumber(theirs[1]) == tonumber(ours[1]) << shift then
                    return true
                end
            end
        end,
    },
    {
        file = "accecn", field = "^tcp%.flags%.", left_out = true,
        why = "whether AccECN is used was agreed on in the first segments",
    },
    {
        file = "mptcp%-fclose", field = "^tcp%.options%.mptcp%.checksum$", left_out = true,
        why = "whether there are checksums was agreed on in the first segments",
    },
    {
        file = "quic_handshake", packet = { 2, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20 }, left_out = true,
        field = { "^quic%.", "^tls%.", "^data%.", "^frame%.protocols$" },
        why = "the server's keys and the length of its IDs follow from the client's first packet",
    },
    {
        file = "tls_nss", field = "^tls%.record%.[co]", left_out = true,
        why = "what a record's type is called goes by the version, which was agreed on before",
    },
    {
        file = "SSL%-MultipleRecords2", field = "^tls%.handshake%.client_point", left_out = true,
        why = "the key exchange was agreed on before",
    },
    {
        file = "ipv4%-options", packet = { 1, 2, 4, 5 }, field = "^data%.", left_out = true,
        why = "tshark takes a time that is near the packet's own off the data of a ping",
    },
    {
        file = "ip6_fragments", packet = 8, field = "^dns%.", left_out = true,
        why = "the record that goes on in the next fragment: tshark shows nothing of it",
    },
    {
        file = { "frag_http_req", "bgp_pmsi" }, field = { "^tcp%.len$", "^tcp%.nxtseq$" },
        left_out = true, why = "tshark shows no length of a segment in fragments",
    },
    { file = "pcapng%-example", field = "^frame%.time", left_out = true, why = "more nanoseconds than 64 bits" },
    {
        file = {
            "bgp%-rt%-prefix", "bgp%-ub", "bgp_mvpn", "extract_read2", "ieee802%.11_meshhdr", "ip6%-snmp",
            "ipv4%-malformed", "l2tp%-avp%-overflow", "lldp_8023_mtu", "mobility_opt",
            "ssl%-malformed1", "stp%-heapoverflow",
        },
        field = {
            "^bgp%.", "^ip%.", "^wlan%.", "^dhcpv6%.", "^dns%.", "^eth%.", "^lldp%.", "^mip6%.", "^tls%.", "^stp%.",
        },
        when = reads_on, left_out = true, why = "tshark gives up at a fault, ringtap keeps what is in front of it",
    },

    -- where tshark is wrong
    { file = "test20[12]", field = "^frame%.interface_name$", why = "tshark takes names from the first section only" },
    {
        field = "^eth%.trailer$", why = "tshark counts some of LLDP's TLVs 3 bytes short",
        when = function(theirs, ours, packet)
            return packet.lldp and #theirs == 1 and #theirs[1] == #(ours[1] or "") + 6
        end,
    },
    {
        file = "bgp%-rt%-prefix", packet = 7, field = "^bgp%.community_prefix$",
        why = "tshark prints an AS of 4 bytes as 4294967295",
    },

    {
        file = "bgp%-rt%-prefix", field = "^bgp%.prefix_length$",
        why = "tshark reads route targets of 96 bits only, others are malformed to it",
    },
    {
        file = { "IPv4%-NoOptions", "ipv4%-options" }, field = "^frame%.protocols$",
        why = "tshark names the layer of IGMPv3's query twice",
    },
    { file = "sflow_print", field = "^udp%.payload$", why = "tshark's payload is more than UDP's length says" },
    { file = "truncated%-aack", field = "^pap%.", why = "tshark reads a message behind PAP's length" },

    -- where ringtap means to differ
    { file = "atm%-oam", field = "^frame%.c?a?p?_?len$", why = "tshark takes SunATM's header of 4 bytes off before" },
    {
        file = { "http", "TcpPacketWithOptions2", "pcapng%-example" }, field = { "^frame%.protocols$", "^data%." },
        why = "a piece of a message without its first line isn't HTTP to ringtap",
        when = function(_, _, packet)
            return packet.tcp and not packet.http
        end,
    },
    { file = "bigtcp", field = "^ipv6%.plen$", why = "tshark shows the length that it has worked out, not the field" },
    {
        file = "ipv4%-options", packet = { 6, 7 }, field = "^ip%.",
        why = "with a source route tshark calls the last address of the route the destination",
    },
    { file = "tcp%-malformed", field = "^tcp%.options$", why = "options that aren't there are empty ones to tshark" },
    { file = "tls1_3", packet = 4, field = "^tls%.", why = "tshark shows nothing of the record that is cut off" },
    { file = "bgp%-encap", field = "^bgp%.evpn%.nlri%.esi%.", why = "tshark puts blanks between the bytes" },
    { file = "bgp%-ub", field = "^bgp%.prefix_length$", why = "tshark doesn't show a length that can't be" },
    {
        file = "heap%-overflow%-1", field = { "^frame%.protocols$", "^data%." },
        why = "one byte of a raw packet: tshark calls it cut off, ringtap data",
    },
    { file = "stp%-heap", field = "^frame%.protocols$", why = "a layer of which nothing was captured is none" },
    { file = "icmp%-rfc5837", field = "^icmp%.int_info%.name$", why = "a name of 64 bytes, one too long for tshark" },
    { file = "relts", field = "^igmp%.", why = "a type that tshark takes for DVMRP, and then for wrong" },
    {
        file = "HttpMalformedResponse", field = { "^http%.", "^data%." },
        why = "a header line without a colon: tshark takes the rest of the headers for the body",
    },
    {
        file = { "kday3", "ipv4%-malformed" }, packet = 2,
        field = { "^ip%.", "^ipv6%.", "^data%.", "^frame%.protocols$" },
        why = "ringtap takes no other version for IP where the layer below says IPv4",
    },
    {
        file = "quic_handshake_truncated", packet = 3, field = "^quic%.remaining_payload$",
        why = "a field that was cut off is not there to ringtap, tshark shows what there is of it",
    },
    {
        file = { "kday7", "ipv6_jumbogram_invalid", "cve%-2014%-8767" }, field = { "^tcp%.", "%.checksum%.status$" },
        why = "a length says more than there is: wrong or cut off is a matter of opinion",
    },
}

-- Facts of reading, not of one packet: a handle doesn't have them.
local skipped_fields = { ["frame.number"] = true, ["frame.time_relative"] = true, ["frame.time_delta"] = true }

-- What tshark says where there is no value.
local placeholders = { ["frame.interface_name"] = "unknown" }

-- Asked for too. Who has the first is a record of a capture that is no packet.
local further_fields = { "frame.cb_pen", "frame.protocols" }

local function quote(word)
    return "'" .. word:gsub("'", "'\\''") .. "'"
end

local function wanted(name, pattern)
    return not pattern or name:find(pattern, 1, true) or name:find(pattern)
end

local function split(text, separator)
    local list = {}
    for part in (text .. separator):gmatch("(.-)" .. separator) do
        list[#list + 1] = part
    end
    return list
end

-- ---------------------------------------------------------------- tshark

--- tshark's command; what it keeps in the user's home is looked for in `configuration`.
local function tshark(configuration)
    return ("WIRESHARK_CONFIG_DIR=%s TZ=UTC LC_ALL=C tshark "):format(configuration)
end

--- Fields that both know, those that only ringtap knows; preferences that put packets together are written to a file.
local function ask_tshark(tmp, pattern)
    local fields_pipe = assert(io.popen(tshark(tmp) .. "-G fields 2>/dev/null"))
    local preferences_pipe = assert(io.popen(tshark(tmp) .. "-G currentprefs 2>/dev/null"))
    local known, both, only_ours = {}, {}, {}
    for line in fields_pipe:lines() do
        local name = line:match "^[FP]\t[^\t]*\t([^\t]*)"
        if name then
            known[name] = true
        end
    end
    fields_pipe:close()
    local off = {}
    for line in preferences_pipe:lines() do
        local name = line:match "^#?([%w_-]+%.[%w_-]+): TRUE"
        if name and reassembles(name) then
            off[#off + 1] = name .. ": FALSE\n"
        end
    end
    preferences_pipe:close()
    local file = assert(io.open(tmp .. "/preferences", "w"))
    file:write(table.concat(off))
    assert(file:close())
    if not next(known) then
        error("tshark does not run", 0)
    end
    for _, name in ipairs(ringtap.field_names(pattern)) do
        if not skipped_fields[name] then
            local list = known[name] and both or only_ours
            list[#list + 1] = name
        end
    end
    return both, only_ours
end

--- A script, since the command is longer than what popen takes.
local function write_script(tmp, fields)
    local words = { "exec env " .. tshark(tmp) .. "-n -r \"$1\" -T fields -E separator=/t -E occurrence=a -E quote=n",
        "-E aggregator=\31" }
    for _, preference in ipairs(preferences) do
        words[#words + 1] = "-o " .. quote(preference[1])
    end
    for _, heuristic in ipairs(no_heuristics) do
        words[#words + 1] = "--disable-heuristic " .. heuristic[1]
    end
    for _, list in ipairs { further_fields, fields } do
        for _, name in ipairs(list) do
            words[#words + 1] = "-e " .. name
        end
    end
    local file = assert(io.open(tmp .. "/tshark.sh", "w"))
    file:write(table.concat(words, " \\\n"), "\n")
    assert(file:close())
end

local function start(tmp, path, serial)
    local output = ("%s/%d"):format(tmp, serial)
    return {
        output = output,
        pipe = assert(io.popen(("sh %s/tshark.sh %s >%s 2>%s.err"):format(tmp, quote(path), output, output))),
    }
end

--- For each packet a table from field to its values; what tshark said on standard error; how many records it skipped.
local function finish(run, fields)
    run.pipe:close()
    local packets, skipped, first = {}, 0, #further_fields
    for line in io.lines(run.output) do
        local columns = split(line, "\t")
        if #columns ~= first + #fields then
            error(("tshark printed %d columns for packet %d, not %d"):format(#columns, #packets + 1, first + #fields))
        end
        if columns[1] ~= "" then
            skipped = skipped + 1
        else
            local packet = { ["frame.protocols"] = { columns[2] } }
            for at, name in ipairs(fields) do
                local text = columns[first + at]
                if text ~= "" and text ~= placeholders[name] then
                    packet[name] = split(text, "\31")
                end
            end
            packets[#packets + 1] = packet
        end
    end
    local errors = assert(io.open(run.output .. ".err"))
    local said = errors:read("a"):gsub("Running as user[^\n]*\n", ""):gsub("%s+$", ""):gsub("\n", "; ")
    errors:close()
    os.remove(run.output)
    return packets, said, skipped
end

-- ---------------------------------------------------------------- comparing

--- How many values two lists have in common, in the same order.
local function common(a, b)
    local first, last_a, last_b = 1, #a, #b
    while first <= last_a and first <= last_b and a[first] == b[first] do
        first = first + 1
    end
    while last_a >= first and last_b >= first and a[last_a] == b[last_b] do
        last_a, last_b = last_a - 1, last_b - 1
    end
    local row = {}
    for j = first - 1, last_b do
        row[j] = 0
    end
    for i = first, last_a do
        local diagonal = 0
        for j = first, last_b do
            local above = row[j]
            row[j] = a[i] == b[j] and diagonal + 1 or math.max(above, row[j - 1])
            diagonal = above
        end
    end
    return first - 1 + #a - last_a + row[last_b]
end

--- Names that ringtap can have in frame.protocols, and the prefix of each one's fields.
local function names_of_layers()
    local names = {}
    for name, p in pairs(protocols) do
        names[p.def.shown or name] = p.def.prefix or name
        for _, rule in ipairs(p.def.next or {}) do
            for via in (rule.via or ""):gmatch "[^:]+" do
                names[via] = names[via] or via
            end
        end
    end
    return names
end

--- What tshark has of frame.protocols before the first layer that ringtap doesn't know. If there is one, also the
-- prefixes of fields that are only before it: { prefix = true }.
local function known_layers(text, names)
    local before, only_before, behind = {}, {}, false
    for _, name in ipairs(split(text, ":")) do
        behind = behind or not names[name]
        local prefix = names[name] or name
        if not behind then
            before[#before + 1] = name
        end
        only_before[prefix] = not behind
    end
    only_before.frame = true
    return table.concat(before, ":"), behind and only_before
end

local function is_prefix(a, b)
    for i, value in ipairs(a) do
        if value ~= b[i] then
            return false
        end
    end
    return true
end

--- Whether a value is one of a list (or the one that it is instead); strings are patterns.
local function is_one_of(value, list)
    for _, one in ipairs(type(list) == "table" and list or { list }) do
        if one == value or type(one) == "string" and value:find(one) then
            return true
        end
    end
    return list == nil
end

local comparison = {}
comparison.__index = comparison

--- The explanation of a difference; those of whole captures have no field.
function comparison:explain(file, number, field, theirs, ours, pkt)
    for _, e in ipairs(explanations) do
        if (e.field ~= nil) == (field ~= nil) and is_one_of(file, e.file) and is_one_of(number, e.packet)
            and is_one_of(field, e.field) and (not e.when or e.when(theirs, ours, pkt)) then
            self.used[e] = (self.used[e] or 0) + 1
            return e
        end
    end
    return nil
end

-- Where it begins is known to the layer that it is behind.
local behind_payload = {
    ["eth.padding"] = true, ["eth.trailer"] = true, ["eth.fcs"] = true, ["eth.fcs.status"] = true,
}

local none = {}

function comparison:field(file, number, field, theirs, ours, pkt, only_before)
    local prefix = field:match "^[^.]+"
    local total = self.totals[prefix]
    if not total then
        total = { agreed = 0, all = 0, explained = 0, left_out = 0 }
        self.totals[prefix] = total
    end
    if only_before and (not only_before[prefix] or behind_payload[field]) and is_prefix(ours, theirs) then
        total.left_out = total.left_out + #theirs - #ours
        theirs = ours
    end
    local agreed, all = common(theirs, ours), math.max(#theirs, #ours)
    local e = agreed < all and self:explain(file, number, field, theirs, ours, pkt)
    if e and e.left_out then
        total.left_out = total.left_out + all - agreed
        all = agreed
    end
    total.agreed, total.all = total.agreed + agreed, total.all + all
    if agreed == all then
        return
    end
    if e then
        total.explained = total.explained + all - agreed
    else
        local list = self.differences[field]
        if not list then
            list = {}
            self.differences[field] = list
            self.differences[#self.differences + 1] = field
        end
        list[#list + 1] = { file = file, number = number, theirs = theirs, ours = ours }
    end
end

function comparison:packet(file, number, pkt, packet)
    local seen = {} -- to ask for each of the fields that there are would take long
    for _, layer in ipairs(core._tree(pkt)) do
        for _, item in ipairs(layer.items) do
            seen[item.name or ""] = true
        end
    end
    local before, only_before = known_layers(packet["frame.protocols"][1], self.names)
    for _, field in ipairs(self.fields) do
        local theirs, ours = packet[field] or none, none
        if theirs ~= none or seen[field] or field:find "^frame%." then
            ours = pkt:texts(field)
        end
        if theirs == none and #ours == 1 and ours[1] == "" then
            ours = none -- tshark prints the same for an empty value and for none
        end
        if only_before and field == "frame.protocols" then
            theirs, ours = { before }, { (ours[1]:gsub(":?data$", "")) }
            theirs[1], ours[1] = theirs[1]:gsub(":ethertype$", ""), ours[1]:gsub(":ethertype$", "")
        elseif only_before and field:find "^data%." then
            theirs, ours = none, none -- ringtap has data where tshark has a protocol
        end
        if #theirs > 0 or #ours > 0 then
            self:field(file, number, field, theirs, ours, pkt, only_before)
        end
    end
end

function comparison:file(file, path, run)
    local packets, said, skipped = finish(run, self.fields)
    local source, message = ringtap.read(path)
    local number, step = 0, source and source:packets()
    while step do
        local ok, pkt = pcall(step)
        if not ok then
            message = pkt
        end
        if not ok or not pkt then
            break
        end
        number = number + 1
        if packets[number] then
            self:packet(file, number, pkt, packets[number])
        end
    end
    if source then
        source:close()
    end
    if number ~= #packets then
        local text = ("%s: tshark has %d packets and %d other records, ringtap %d packets%s%s"):format(file, #packets,
            skipped, number, said ~= "" and "\n    tshark  " .. said or "",
            message and "\n    ringtap " .. message or "")
        if not self:explain(file) then
            self.broken[#self.broken + 1] = text
        end
    end
end

--- Explanations that match nothing. It takes all captures that they were written for to say so: in another folder a
-- file may be called alike by chance.
function comparison:find_stale()
    for _, e in ipairs(explanations) do
        local here = not e.file
        for _, name in ipairs(self.files) do
            here = here or is_one_of(name, e.file)
        end
        self.elsewhere = self.elsewhere + (here and 0 or 1)
        if here and not self.used[e] then
            self.stale[#self.stale + 1] = e
        end
    end
    if self.elsewhere > 0 then
        self.stale = {}
    end
end

--- Compare. options: captures (a folder), file, fields (Lua patterns); what comes back M.report() shows.
function M.run(options)
    local self = setmetatable({
        names = names_of_layers(), totals = {}, differences = {}, broken = {}, used = {}, stale = {},
        elsewhere = 0,
    }, comparison)
    local files = {}
    for name in assert(io.popen("ls " .. quote(options.captures))):lines() do
        if (name:find "%.pcap" or name:find "%.cap") and wanted(name, options.file) then
            files[#files + 1] = name
        end
    end
    if #files == 0 then
        error("no such captures in " .. options.captures, 0)
    end
    local tmp = assert(io.popen "mktemp -d -t ringtap-compare.XXXXXXXX"):read "l"
    local ok, err = xpcall(function()
        self.fields, self.only_ours = ask_tshark(tmp, options.fields)
        write_script(tmp, self.fields)
        local runs = {}
        for at, name in ipairs(files) do
            for i = at, math.min(at + 1, #files) do -- one works ahead
                runs[i] = runs[i] or start(tmp, options.captures .. "/" .. files[i], i)
            end
            self:file(name, options.captures .. "/" .. name, runs[at])
        end
        self.files = files
    end, debug.traceback)
    os.execute("rm -rf " .. quote(tmp))
    if not ok then
        error(err, 0)
    end
    if not options.file and not options.fields then
        self:find_stale()
    end
    self.total = { agreed = 0, all = 0, explained = 0, left_out = 0 }
    for _, total in pairs(self.totals) do
        for key, n in pairs(total) do
            self.total[key] = self.total[key] + n
        end
    end
    self.ok = #self.differences == 0 and #self.broken == 0 and #self.stale == 0
    return self
end

-- ---------------------------------------------------------------- printing

local function percent(total)
    return 100 * total.agreed / math.max(total.all, 1)
end

local function show(values, verbose)
    local text = table.concat(values, " | "):gsub("[%c\x80-\xff]", function(c)
        return ("\\x%02x"):format(c:byte())
    end)
    if #text > 200 and not verbose then
        text = text:sub(1, 200) .. "..."
    end
    return #values == 0 and "(none)" or text == "" and '""' or text
end

local MOST = 30 -- fields, or packets of one, that are named when not all are

local function packets(n)
    return n == 1 and "1 packet" or n .. " packets"
end

--- What counts as wrong, in one or a few lines: nothing of it is only in the details.
local function verdict(result, verbose)
    local lines, fields = {}, {}
    for i, field in ipairs(result.differences) do
        if verbose or i <= MOST then
            fields[i] = ("%s (%s)"):format(field, packets(#result.differences[field]))
        end
    end
    if #fields > 0 then
        lines[1] = ("DIFFERENT: %s%s"):format(table.concat(fields, ", "), #fields < #result.differences
            and (", and %d more fields"):format(#result.differences - #fields) or "")
    end
    if #result.broken > 0 then
        lines[#lines + 1] = ("DIFFERENT: the number of packets in %d captures"):format(#result.broken)
    end
    if #result.stale > 0 then
        lines[#lines + 1] = ("STALE: %d explanations that explain nothing"):format(#result.stale)
    end
    return #lines > 0 and table.concat(lines, "\n") or "no difference that isn't explained"
end

--- The report, a text.
function M.report(result, verbose)
    local lines = {}
    local function print(text)
        lines[#lines + 1] = text
    end
    for _, field in ipairs(result.differences) do
        local list = result.differences[field]
        print(("%s: differs in %s"):format(field, packets(#list)))
        local shown = verbose and #list or math.min(3, #list)
        for i = 1, shown do
            local d = list[i]
            print(("  %s #%d\n    tshark  %s\n    ringtap %s"):format(d.file, d.number, show(d.theirs, verbose),
                show(d.ours, verbose)))
        end
        local others = {}
        for i = shown + 1, math.min(#list, shown + MOST) do
            others[#others + 1] = ("%s #%d"):format(list[i].file, list[i].number)
        end
        if #others > 0 then
            print(("  also %s%s"):format(table.concat(others, ", "), shown + #others < #list
                and (", and %d more (VERBOSE=1 shows all)"):format(#list - shown - #others) or ""))
        end
    end
    for _, text in ipairs(result.broken) do
        print(text)
    end
    for _, e in ipairs(explanations) do
        if result.used[e] then
            print(("explained %dx: %s"):format(result.used[e], e.why))
        end
    end
    for _, e in ipairs(result.stale) do
        print("explains nothing: " .. e.why)
    end
    if verbose then
        print("fields that tshark doesn't know: " .. table.concat(result.only_ours, " "))
    end
    local names = {}
    for name in pairs(result.totals) do
        names[#names + 1] = name
    end
    table.sort(names)
    print(("%-18s %8s %8s %8s %9s %8s"):format("protocol", "agreed", "all", "percent", "explained", "left out"))
    local function row(name, total)
        print(("%-18s %8d %8d %8.3f %9d %8d"):format(name, total.agreed, total.all, percent(total), total.explained,
            total.left_out))
    end
    for _, name in ipairs(names) do
        row(name, result.totals[name])
    end
    row("total", result.total)
    print(("%d fields, %d captures, %d fields only ringtap has"):format(#result.fields, #result.files,
        #result.only_ours))
    if result.elsewhere > 0 then
        print(("%d of %d explanations are for captures that aren't here"):format(result.elsewhere, #explanations))
    end
    print(verdict(result, verbose))
    return table.concat(lines, "\n")
end

M.percent = percent

if arg and (arg[0] or ""):find "compare%.lua$" then
    local options = {}
    for _, word in ipairs(arg) do
        local key, value = word:match "^(%u+)=(.+)$"
        if key then
            options[key] = value
        end
    end
    if not options.CAPTURES then
        io.stderr:write("usage: compare.lua CAPTURES=dir [FILE=pattern] [FIELDS=pattern] [VERBOSE=1]\n")
        os.exit(2)
    end
    local ok, result = pcall(M.run, { captures = options.CAPTURES, file = options.FILE, fields = options.FIELDS })
    if not ok then
        io.stderr:write(result, "\n")
        os.exit(2)
    end
    print(M.report(result, options.VERBOSE))
    os.exit(result.ok and 0 or 1, true)
end

return M
