-- ringtap fields, end to end, and ringtap.text with fields. What is right is what tshark -T fields prints, byte for
-- byte.

local support = require "support"
local live = require "support.live"
local ringtap = require "ringtap"

local quote = support.quote
local root_it = support.is_root() and it or pending
local tshark_it = support.has("tshark") and it or pending
local captures = "../shared/captures"

local dir, ns
local odd, plain -- captures that are made here

local function path(name)
    return dir .. "/" .. name
end

local function fields(arguments, input)
    return support.run(support.ringtap .. " fields " .. arguments, input)
end

--- Its output; anything else than status 0 and silence on standard error is an error.
local function printed(arguments)
    local stdout, stderr = support.must(support.ringtap .. " fields " .. arguments)
    assert.are.equal("", stderr)
    return stdout
end

-- as ringtap sees packets: one by one
local alone = "-o ip.defragment:FALSE -o tcp.desegment_tcp_streams:FALSE -o tcp.relative_sequence_numbers:FALSE "
    .. "-o tcp.analyze_sequence_numbers:FALSE "

local function tshark(arguments)
    return (support.must("tshark -n " .. alone .. arguments))
end

local function lines(text)
    local list = {}
    for line in text:gmatch("([^\n]*)\n") do
        list[#list + 1] = line
    end
    return list
end

-- ------------------------------------------------------------------ captures

local function option(code, value)
    return ("<I2I2"):pack(code, #value) .. value .. ("\0"):rep(-#value % 4)
end

local function block(kind, body)
    return ("<I4I4"):pack(kind, #body + 12) .. body .. ("<I4"):pack(#body + 12)
end

--- A pcapng file: a frame without a comment is text, one with one is {frame, comment}; seconds are those of the time.
local function pcapng(name, frames, seconds)
    local parts = {
        block(0x0a0d0d0a, ("<I4I2I2i8"):pack(0x1a2b3c4d, 1, 0, -1)),
        block(1, ("<I2I2I4"):pack(1, 0, 0) .. option(2, "if\t\\\"0\"") .. ("<I4"):pack(0)),
    }
    for i, frame in ipairs(frames) do
        local bytes, comment = frame, nil
        if type(frame) == "table" then
            bytes, comment = frame[1], frame[2]
        end
        local us = 1700000000000000 + math.tointeger((seconds and seconds[i] or i) * 1000000)
        parts[#parts + 1] = block(6, ("<I4I4I4I4I4"):pack(0, us >> 32, us & 0xffffffff, #bytes, #bytes) .. bytes
            .. ("\0"):rep(-#bytes % 4) .. (comment and option(1, comment) .. ("<I4"):pack(0) or ""))
    end
    support.write_file(path(name), table.concat(parts))
    return path(name)
end

local function dns(...)
    local message = (">I2I2I2I2I2I2"):pack(4711, 0x100, 1, 0, 0, 0)
    for _, label in ipairs { ... } do
        message = message .. (">s1"):pack(label)
    end
    return live.frame({}, 0x0800, live.ipv4 { dport = 53, payload = message .. "\0\0\1\0\1" })
end

local function udp(n, size)
    local payload = (">I4"):pack(n) .. ("x"):rep(size or 20)
    return live.frame({}, 0x0800, live.ipv4 { dport = 9000 + n % 10, payload = payload })
end

setup(function()
    dir = support.tmpdir()
    local all = {}
    for c = 1, 255 do
        all[c] = string.char(c)
    end
    local in_ip = live.ipv4()
    odd = pcapng("odd.pcapng", {
        { dns("www", "example"), "plain" },
        { dns('a"b', "t\tb", "n\nl", "b\\s", "c,d", "x y"), 'a "quoted" \'single\' one; with, commas' },
        { dns("\xff\xfe", "\xc3\xa9"), "tab\there, new\nline, back\\slash, cr\r, bell\a, escape\27, delete\127" },
        { dns(table.concat(all, "", 1, 60), "\xe2\x82x\xed\xa0\x80y\xc0\x80"), table.concat(all) },
        { udp(1), "" },
        udp(2),
        "\2\0\0\0\0\x0b\2\0\0\0\0\x0a\x88\xb5nothing that is known",
        live.frame({ { 0x8100, 0x6007 }, { 0x8100, 5 } }, 0x0800, in_ip),
        "\2\0\0\0",
        -- IP in IP: two of each
        live.frame({}, 0x0800, ((">I1I1I2I2I2I1I1I2"):pack(0x45, 0, 20 + #in_ip, 1, 0, 64, 4, 0) .. "\10\0\0\1\10\0\0\2"
            .. in_ip)),
    })
    plain = path("plain.pcap")
    local sink = assert(ringtap.write(plain, { linktype = 1 }))
    for n = 1, 300 do
        sink:send(udp(n, n % 40), 1700000000000000000 + n * n * 1000003)
    end
    assert(sink:close())
    if support.is_root() then
        ns = support.namespaces()
    end
end)

teardown(support.cleanup)

local all_fields = "-e frame.number -e frame.len -e frame.cap_len -e frame.time -e frame.time_epoch "
    .. "-e frame.time_relative -e frame.time_delta -e frame.protocols -e frame.comment -e frame.interface_name "
    .. "-e eth.src -e eth.type -e vlan.id -e ip.src -e ip.addr -e ip.flags -e ip.flags.df -e ip.ttl -e ip.id "
    .. "-e udp.port -e udp.checksum -e udp.payload -e dns.qry.name -e tcp.flags "

-- ------------------------------------------------------------------ tshark's format

describe("ringtap fields prints what tshark prints", function()
    tshark_it("for every way of printing columns", function()
        local columns = "-e frame.number -e ip.addr -e frame.comment -e tcp.port -e udp.port -e dns.qry.name "
        for _, separator in ipairs { "/t", "/s", ",", ";" } do
            for _, aggregator in ipairs { ",", "/s", "|" } do
                for n, occurrence in ipairs { "a", "f", "l" } do
                    -- all three quotes in every three runs
                    local q = ({ "n", "d", "s" })[(n + #separator + aggregator:byte()) % 3 + 1]
                    local flags = ("-r %s %s-E separator=%s -E aggregator=%s -E occurrence=%s -E quote=%s"):format(odd,
                        columns, quote(separator), quote(aggregator), occurrence, q)
                    assert.are.equal(tshark("-T fields " .. flags), printed(flags), flags)
                end
            end
        end
        for _, head in ipairs { "header=y", "header=n", "bom=y", "header=y -E bom=y", "header=y -E bom=y -E quote=d",
            "header=y -E separator=, -E quote=s" } do
            local flags = ("-r %s %s -E %s"):format(odd, columns, head)
            assert.are.equal(tshark("-T fields " .. flags), printed(flags), flags)
        end
    end)

    tshark_it("for odd texts, several layers, packets that have nothing", function()
        local flags = ("-r %s %s"):format(odd, all_fields)
        assert.are.equal(tshark("-T fields " .. flags), printed(flags))
        local list = lines(printed(flags))
        assert.are.equal(10, #list)
        assert.is_truthy(list[9]:find("^9\t4\t4\t")) -- four bytes of Ethernet: columns all the same
        assert.are.equal(23, select(2, list[9]:gsub("\t", "")))
    end)

    tshark_it("for times, in the local time zone", function()
        for _, zone in ipairs { "UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata" } do
            local flags = ("-r %s -e frame.time -e frame.time_epoch -e frame.time_relative -e frame.time_delta"):format(
                plain)
            assert.are.equal((support.must(("TZ=%s tshark -n -T fields %s"):format(zone, flags))),
                (support.must(("TZ=%s %s fields %s"):format(zone, support.ringtap, flags))))
        end
    end)

    tshark_it("for packets without a time among others", function()
        local head = block(0x0a0d0d0a, ("<I4I2I2i8"):pack(0x1a2b3c4d, 1, 0, -1))
            .. block(1, ("<I2I2I4"):pack(1, 0, 0))
        local frame = udp(1, 24)
        local untimed = block(3, ("<I4"):pack(#frame) .. frame .. ("\0"):rep(-#frame % 4))
        local timed = block(6, ("<I4I4I4I4I4"):pack(0, 0x5f000, 0, #frame, #frame) .. frame .. ("\0"):rep(-#frame % 4))
        support.write_file(path("untimed.pcapng"), head .. untimed .. timed .. timed .. untimed .. timed)
        local flags = ("-r %s -e frame.number -e frame.time_epoch -e frame.time_relative -e frame.time_delta"):format(
            path("untimed.pcapng"))
        assert.are.equal(tshark("-T fields " .. flags), printed(flags))
    end)

    tshark_it("through pipes and from compressed files", function()
        local flags = all_fields .. "-E header=y"
        local expected = tshark(("-T fields -r %s %s"):format(plain, flags))
        support.must(("gzip -k %s && zstd -qk %s"):format(plain, plain))
        for _, file in ipairs { plain .. ".gz", plain .. ".zst" } do
            assert.are.equal(expected, printed(("-r %s %s"):format(file, flags)))
        end
        assert.are.equal(expected, (support.must(("cat %s | %s fields -r - %s | cat"):format(plain, support.ringtap,
            flags))))
    end)

    local names = {
        "ppp__Tests__ExamplesTest__pcap_examples__http-packets2.pcap", "scapy__test__pcaps__ikev2_nat_t.pcapng",
        "tcpdump__tests__HSRP_election.pcap", "tcpdump__tests__802.1ad_QinQ.pcap", "tcpdump__tests__babel.pcap",
        "scapy__test__pcaps__http_head.pcapng.gz", "gopacket__pcapgo__tests__be__test001.pcapng",
        "ppp__Tests__Packet++Test__PacketExamples__QinQ_802.1_AD.pcapng",
    }
    local has = support.has("tshark") and support.run("ls " .. captures .. "/" .. names[1]) == 0
    local it_compares = has and it or pending
    it_compares("for captures from elsewhere", function()
        local flags = "-e frame.number -e frame.len -e frame.time_epoch -e frame.time_relative -e frame.time_delta "
            .. "-e eth.src -e eth.type -e ip.src -e ip.addr -e ip.ttl -e ip.flags.df -e ip.id -e udp.port "
            .. "-e tcp.srcport -e tcp.flags -e tcp.seq -E header=y -E quote=d -E separator=, -E aggregator=/s"
        for _, name in ipairs(names) do
            local file = quote(captures .. "/" .. name)
            assert.are.equal(tshark(("-T fields -r %s %s"):format(file, flags)),
                printed(("-r %s %s"):format(file, flags)), name)
        end
    end)

    tshark_it("with numbers and times of the whole file when a filter chooses", function()
        local columns = "-e frame.number -e frame.time_relative -e frame.time_delta -e udp.dstport"
        local expected = tshark(("-T fields -r %s -Y 'udp.dstport == 9003' %s"):format(plain, columns))
        assert.are.equal(30, #lines(expected))
        support.write_file(path("filter"), "udp and # what else\ndst port 9003\n")
        for _, filter in ipairs { "udp dst port 9003", "-Y 'udp dst port 9003'", "-f 'udp dst port 9003'",
            "-F " .. path("filter") } do
            assert.are.equal(expected, printed(("-r %s %s %s"):format(plain, columns, filter)))
        end
        assert.are.equal(lines(expected)[1] .. "\n" .. lines(expected)[2] .. "\n",
            printed(("-r %s %s -c 2 udp dst port 9003"):format(plain, columns)))
        assert.are.equal("", printed(("-r %s %s tcp"):format(plain, columns)))
    end)
end)

describe("ringtap fields", function()
    it("takes the field of a layer by number, and a field twice", function()
        assert.are.equal("10.0.0.1,192.0.2.1\t10.0.0.1\t192.0.2.1\t192.0.2.1\t10.0.0.1,192.0.2.1\n",
            lines(printed(("-r %s -e ip.src -e ip.src#1 -e ip.src#2 -e ip.src#-1 -e ip.src"):format(odd)))[10] .. "\n")
    end)

    it("names the nearest fields for one that there isn't", function()
        local status, stdout, stderr = fields(("-r %s -e ip.src -e ip.srcc -e nosuch.thing"):format(plain))
        assert.are.same({ 2, "" }, { status, stdout })
        assert.is_truthy(stderr:find("'ip.srcc' (did you mean 'ip.src'", 1, true), stderr)
        assert.is_truthy(stderr:find("'nosuch.thing'", 1, true), stderr)
        assert.is_truthy(stderr:find("(ringtap fields --help tells more)\n", 1, true), stderr)
    end)

    it("says what is wrong with a number of a layer, and with the case of letters", function()
        local status, _, stderr = fields(("-r %s -e ip.src#0 -e IP.SRC -e qqqqqqqqqqqq"):format(plain))
        assert.are.equal(2, status)
        assert.is_truthy(stderr:find("'ip.src#0': #0 is no layer: #1 is the first, #2 the second, #-1 the last",
            1, true), stderr)
        assert.is_truthy(stderr:find("'IP.SRC' (did you mean 'ip.src'?)", 1, true), stderr)
        assert.is_truthy(stderr:find("'qqqqqqqqqqqq' (ringtap fields -G lists what there is)", 1, true), stderr)
    end)

    it("lists names of fields", function()
        local all = lines(printed("-G"))
        local names = {} -- other specs declare protocols of their own
        for _, name in ipairs(ringtap.field_names()) do
            names[name] = true
        end
        assert.is_true(#all > 4000)
        for i, line in ipairs(all) do
            assert.is_true(names[line:match "^%S+"])
            assert.is_true(i == 1 or all[i - 1]:match "^%S+" < line:match "^%S+")
        end
        assert.are.equal("tcp.flags.syn  Syn\n", printed("-G " .. quote "^tcp%.flags%.syn"))
        assert.are.same({ 1, "", "ringtap: no field's name matches nosuch\n" }, { fields("-G nosuch") })
        local status, stdout, stderr = fields("-G " .. quote "[")
        assert.are.same({ 2, "" }, { status, stdout })
        assert.is_truthy(stderr:find("^ringtap: %-G: '%[' is no Lua pattern: "), stderr)
    end)

    it("has a hint for a file without -r, and for a filter in Wireshark's language", function()
        local to_read = ("\n(to read a file: -r %s)\n"):format(plain)
        for _, arguments in ipairs { "fields %s -e ip.src", "fields %s -e ip.src -Y udp", "dump %s" } do
            local status, stdout, stderr = support.run(support.ringtap .. " " .. arguments:format(plain))
            assert.are.same({ arguments:find "-Y" and 2 or 1, "" }, { status, stdout })
            assert.is_truthy(stderr:find(to_read, 1, true), stderr)
        end
        local language = "\n(a filter is in tcpdump's language: udp port 53)\n"
        for arguments, hint in pairs {
            ["fields -r %s -e ip.src -Y 'udp prot 53'"] = true, ["dump -r %s 'ip.src == 192.0.2.1'"] = true,
            ["dump -r %s dns.qry.name"] = true, ["dump -r %s udp prot 53"] = false,
            ["dump -r %s hots 192.0.2.1"] = false,
        } do
            local status, _, stderr = support.run(support.ringtap .. " " .. arguments:format(plain))
            assert.are.equal(1, status)
            assert.are.equal(hint, stderr:find(language, 1, true) ~= nil, stderr)
        end
    end)

    it("answers a wrong command line with status 2", function()
        for _, arguments in ipairs { "-r x", "-r x -e ip.src -E header", "-r x -e ip.src -E header=maybe",
            "-r x -e ip.src -E nosuch=y", "-r x -e ip.src -E separator=ab", "-r x -e ip.src -E separator=",
            "-r x -e ip.src -E separator=/", "-r x -e ip.src -E aggregator=/t", "-r x -e ip.src -E quote=x",
            "-r x -e ip.src -E occurrence=2", "-r x -e ip.src -T xml", "-r x -e ip.src -T json -E header=y",
            "-r x -e ip.src -c 0", "-r x -e ip.src -i lo", "-r x -e ip.src -Q in", "-r x -e ip.src -f udp tcp",
            "-r x -e ip.src -f udp -Y udp", "-e", "-e ip.src -E separator=é -r x" } do
            local status, stdout, stderr = fields(arguments)
            assert.are.same({ 2, "" }, { status, stdout }, arguments)
            assert.is_truthy(stderr:find("^ringtap: [^\n]+\n%(ringtap fields %-%-help tells more%)\n$"), stderr)
        end
    end)

    it("says what can't be read, and prints what can", function()
        assert.are.same({ 1, "", "ringtap: /nonexistent: No such file or directory\n" },
            { fields("-r /nonexistent -e ip.src") })
        support.write_file(path("cut.pcap"), support.read_file(plain):sub(1, 24 + 16 + 46 + 1 + 16 + 20))
        local status, stdout, stderr = fields(("-r %s -e frame.number"):format(path("cut.pcap")))
        assert.are.same({ 1, "1\n" }, { status, stdout })
        assert.is_truthy(stderr:find("^ringtap: [^\n]*cut.pcap[^\n]*\n$"), stderr)
        status, stdout, stderr = fields(("-r %s -e frame.number udp portt 9"):format(plain))
        assert.are.same({ 1, "" }, { status, stdout })
        assert.is_truthy(stderr:find("^ringtap: can't parse filter expression"), stderr)
        for _, where in ipairs { "/dev/full", "&-" } do
            status, _, stderr = support.run(("%s fields -r %s -e ip.src >%s"):format(support.ringtap, plain, where))
            assert.are.equal(1, status)
            assert.is_truthy(stderr:find(where == "&-" and "Bad file descriptor" or "No space left on device"), stderr)
        end
    end)

    it("ends quietly when nobody reads on", function()
        local many = path("many.pcap")
        local frames = {}
        for n = 1, 20000 do
            frames[n] = udp(n, 10)
        end
        live.write_pcap(many, frames)
        for _, env in ipairs { "env --default-signal=PIPE", "env --ignore-signal=PIPE" } do
            assert.are.same({ 0, "1\n", "" }, { support.run(("%s %s fields -r %s -e frame.number | head -1"):format(env,
                support.ringtap, many)) })
        end
        -- and shows how far it is to who looks, if nothing else is shown there
        local _, shown = support.run(("script -qec %s /dev/null"):format(quote(("%s fields -r %s -e frame.number "
            .. "-e ip.src -e ip.dst -e eth.src | (sleep 1; cat >/dev/null)"):format(support.ringtap, many))))
        assert.is_truthy(shown:find("^\r *%d+ %%, %d+ packets\27%[K.*\r\27%[K$"), shown)
        _, shown = support.run(("script -qec %s /dev/null"):format(quote(("%s fields -r %s -e frame.len -c 3"):format(
            support.ringtap, many))))
        assert.are.equal("67\r\n67\r\n67\r\n", (shown:gsub("56", "67"))) -- 14 + 20 + 8 + 4 + 10
    end)

    it("ends on SIGINT in the middle of a stream with what came", function()
        local pipe = path("pipe")
        support.must("mkfifo " .. pipe)
        local feeder = support.spawn("sh -c " .. quote(("exec >%s; head -c 2000 %s; exec sleep 20"):format(pipe,
            plain)))
        local process = support.spawn("sh -c " .. quote(("exec %s fields -r - -e frame.number <%s"):format(
            support.ringtap, pipe)))
        assert(support.wait_output(process, "\n20\n"))
        support.kill(process, "INT")
        local status, stdout, stderr = support.wait(process, 3)
        support.kill(feeder)
        support.wait(feeder)
        assert.are.same({ 0, "" }, { status, stderr })
        assert.are.equal("1\n2\n3\n", stdout:sub(1, 6))
    end)

    it("reads what a C program with libpcap reads, in a small multiple of its time", function()
        local program = support.compile("pcap_fields.c", "-lpcap")
        local frames, file = {}, path("big.pcap")
        for n = 1, 1000 do
            frames[n] = udp(n, 60)
        end
        live.write_pcap(file, frames)
        local bytes = support.read_file(file)
        support.write_file(file, bytes:sub(1, 24) .. bytes:sub(25):rep(1000))
        local arguments = ("-r %s -e ip.src -e udp.dstport -e frame.len"):format(file)

        local expected_count, expected_sum = support.must(program .. " " .. file):match("(%d+) (%d+)")
        local count, sum = 0, 0
        for a, b, c, d, port, len in printed(arguments):gmatch("(%d+)%.(%d+)%.(%d+)%.(%d+)\t(%d+)\t(%d+)\n") do
            count = count + 1
            sum = sum + (a * (1 << 24) + b * (1 << 16) + c * (1 << 8) + d + port + len)
        end
        assert.are.same({ expected_count, expected_sum }, { ("%d"):format(count), ("%d"):format(sum) })

        if (os.getenv("RINGTAP_BUILD") or ""):find("asan") then
            return
        end
        local function seconds(command) -- user and system, the best of three
            local best
            for _ = 1, 3 do
                local _, times = support.must("bash -c " .. quote(("TIMEFORMAT='%%U %%S'; time %s >/dev/null"):format(
                    command)))
                local user, system = times:match("([%d.]+) ([%d.]+)")
                best = math.min(best or math.huge, user + system)
            end
            return best
        end
        local theirs, ours = seconds(program .. " " .. file), seconds(support.ringtap .. " fields " .. arguments)
        assert.is_true(ours < 6 * theirs + 0.2, ("%.3f s against %.3f s"):format(ours, theirs))
    end)
end)

-- ------------------------------------------------------------------ JSON

local function parse_json(text)
    local at = 1
    local value
    local function take(pattern)
        local from, to = text:find("^" .. pattern, at)
        if from then
            at = to + 1
            return text:sub(from, to)
        end
    end
    local function fail()
        error(("no JSON at %d: %s"):format(at, text), 0)
    end
    local escapes = { b = "\b", f = "\f", n = "\n", r = "\r", t = "\t", ['"'] = '"', ["\\"] = "\\", ["/"] = "/" }
    local function string_value()
        local parts = {}
        while not take '"' do
            local plain_text = take '[^"\\%c]+' or take "\127+"
            if plain_text then
                parts[#parts + 1] = plain_text
            elseif take "\\u" then
                parts[#parts + 1] = utf8.char(tonumber(take "%x%x%x%x" or fail(), 16))
            else
                parts[#parts + 1] = take "\\" and escapes[take "."] or fail()
            end
        end
        return table.concat(parts)
    end
    local function list(last, element)
        local t = {}
        if not take(last) then
            repeat
                element(t)
            until not take ","
            if not take(last) then
                fail()
            end
        end
        return t
    end
    function value()
        if take '"' then
            return string_value()
        elseif take "{" then
            return list("}", function(t)
                local key = take '"' and string_value() or fail()
                assert(t[key] == nil, "a key twice")
                t[key] = take ":" and value()
            end)
        elseif take "%[" then
            return list("%]", function(t)
                t[#t + 1] = value()
            end)
        elseif take "true" then
            return true
        elseif take "false" then
            return false
        end
        return math.tointeger(tonumber(take "%-?%d+%.?%d*[eE]?[+-]?%d*" or fail()))
    end
    local result = value()
    assert(at == #text + 1, "something behind it")
    return result
end

describe("ringtap fields -T json", function()
    local names = { "frame.number", "frame.len", "frame.comment", "frame.interface_name", "frame.time_epoch",
        "frame.protocols", "eth.src", "ip.addr", "ip.src", "ip.flags.df", "ip.ttl", "ip.id", "udp.port", "udp.payload",
        "dns.qry.name", "vlan.id" }

    it("prints an object for each packet with what Lua has", function()
        local list = lines(printed(("-r %s -T json -e %s"):format(odd, table.concat(names, " -e "))))
        local n = 0
        for pkt in assert(ringtap.read(odd)):packets() do
            n = n + 1
            assert.is_truthy(utf8.len(list[n]))
            local object = parse_json(list[n])
            assert.are.equal(n, object["frame.number"])
            for _, name in ipairs(names) do
                local all = pkt:all(name)
                if name == "udp.payload" then
                    for i, bytes in ipairs(all) do
                        all[i] = bytes:gsub(".", function(c) return ("%02x"):format(c:byte()) end)
                    end
                end
                local expected = #all > 1 and all or all[1]
                if name ~= "frame.number" and not (type(expected) == "string" and not utf8.len(expected)) then
                    assert.are.same(expected, object[name], name)
                end
            end
        end
        assert.are.equal(n, #list)
    end)

    it("has valid UTF-8 and escapes, whatever the bytes", function()
        local all = {}
        for c = 1, 255 do
            all[c] = string.char(c)
        end
        local objects = {}
        for n, line in ipairs(lines(printed(("-r %s -T json -e frame.comment -e ip.src"):format(odd)))) do
            objects[n] = parse_json(line)
        end
        assert.are.equal("tab\there, new\nline, back\\slash, cr\r, bell\a, escape\27, delete\127",
            objects[3]["frame.comment"])
        assert.are.equal(table.concat(all, "", 1, 127) .. ("\u{fffd}"):rep(128), objects[4]["frame.comment"])
        assert.are.equal("", objects[5]["frame.comment"])
        assert.are.same({}, objects[9])
    end)

    it("takes one occurrence if asked, and each key once", function()
        local function tenth(arguments)
            return lines(printed(("-r %s -T json %s"):format(odd, arguments)))[10]
        end
        assert.are.equal('{"ip.src":"10.0.0.1"}', tenth("-E occurrence=f -e ip.src"))
        assert.are.equal('{"ip.src":"192.0.2.1"}', tenth("-E occurrence=l -e ip.src"))
        assert.are.equal('{"ip.src":["10.0.0.1","192.0.2.1"],"ip.src#2":"192.0.2.1"}',
            tenth("-e ip.src -e ip.src#2 -e ip.src"))
    end)
end)

-- ------------------------------------------------------------------ from Lua

describe("ringtap.text with fields", function()
    local function text_of(style, send)
        local name = path("text.out")
        local file = assert(io.open(name, "w"))
        local sink = assert(ringtap.text(file, style))
        send(sink)
        assert(sink:close())
        file:close()
        return support.read_file(name)
    end

    it("is a sink like any other", function()
        local style = { fields = { "frame.number", "ip.src", "ip.addr" }, separator = ";", header = true,
            occurrence = "last", aggregator = "+", quote = "single" }
        local text = text_of(style, function(sink)
            assert.are.equal(3, ringtap.forward(assert(ringtap.read(plain)), sink, nil, { count = 3 }))
            assert(sink:send(udp(1)))
            assert.are.equal("text", sink:kind())
        end)
        -- the fourth is the first that it counts itself
        assert.are.equal("frame.number;ip.src;ip.addr\n'1';'192.0.2.1';'192.0.2.2'\n'2';'192.0.2.1';'192.0.2.2'\n"
            .. "'3';'192.0.2.1';'192.0.2.2'\n'1';'192.0.2.1';'192.0.2.2'\n", text)
        text = text_of({ fields = { "frame.number", "frame.time_relative", "frame.time_delta" } }, function(sink)
            for i = 1, 3 do
                assert(sink:send(udp(i), 5000000000 + i * i * 1000))
            end
        end)
        assert.are.equal("1\t0.000000000\t0.000000000\n2\t0.000003000\t0.000003000\n"
            .. "3\t0.000008000\t0.000005000\n", text)
    end)

    it("counts what a predicate and a function refuse", function()
        local text = text_of({ fields = { "frame.number", "frame.time_delta" } }, function(sink)
            local source = assert(ringtap.read(plain, { filter = function(pkt) return pkt.len % 2 == 0 end }))
            ringtap.forward(source, sink, function(pkt) return pkt["udp.dstport"] == 9004 end)
        end)
        local expected = {}
        local n, before = 0, nil
        for pkt in assert(ringtap.read(plain)):packets() do
            n = n + 1
            if pkt.len % 2 == 0 and pkt["udp.dstport"] == 9004 then
                expected[#expected + 1] = ("%d\t%.9f\n"):format(n, (pkt.time - before) / 1e9)
            end
            before = pkt.time
        end
        assert.are.equal(table.concat(expected), text)
    end)

    it("raises on what it doesn't know", function()
        for _, case in ipairs {
            { { fields = {} }, "1 to 10000 names" }, { { fields = "ip.src" }, "list of names" },
            { { fields = { 1 } }, "a name is a string" }, { { fields = { "ip.scr" } }, "did you mean 'ip.src'" },
            { { fields = { "ip.src" }, seperator = "x" }, "did you mean 'separator'" },
            { { fields = { "ip.src" }, separator = "ab" }, "one character" },
            { { fields = { "ip.src" }, quote = "x" }, "none" },
            { { fields = { "ip.src" }, dump = "x" }, "unknown option" },
            { { fields = { "ip.src" }, format = "json", header = true }, "not for JSON" },
            { { separator = "," }, "unknown option" },
        } do
            local ok, message = pcall(ringtap.text, io.stdout, case[1])
            assert.is_false(ok)
            assert.is_truthy(tostring(message):find(case[2], 1, true), message)
        end
    end)

    describe("runs functions of tables", function()
        local run
        setup(function()
            ringtap.protocol {
                name = "fieldtest", title = "Test", on = { ["udp.port"] = { 9000, 9001, 9002 } },
                { "number", 32 },
                { "made", "string", value = function(_, layer) return run(layer) end },
            }
        end)
        local style = { quote = "double",
            fields = { "frame.number", "fieldtest.made", "udp.dstport", "fieldtest.number" } }

        local function send(how, options)
            run = how
            return function(sink)
                return ringtap.forward(assert(ringtap.read(plain)), sink, nil, options or { count = 2 })
            end
        end

        it("for their text, number, or nothing", function()
            local nan = '"' .. tostring(0 / 0) .. '"'
            for _, case in ipairs { { "a\tb", '"a\\tb"', '"a\\tb"' }, { 42, '"42"', "42" }, { true, '"1"', "true" },
                { 1.5, '"1.5"', "1.5" }, { 0 / 0, nan, nan } } do
                assert.are.equal(('"1"\t%s\t"9001"\t"1"\n"2"\t%s\t"9002"\t"2"\n'):format(case[2], case[2]),
                    text_of(style, send(function() return case[1] end)))
                local object = '{"frame.number":1,"fieldtest.made":%s,"udp.dstport":9001,"fieldtest.number":1}\n'
                assert.are.equal(object:format(case[3]), text_of({ fields = style.fields, format = "json" },
                    send(function() return case[1] end, { count = 1 })))
            end
            assert.are.equal('"1"\t\t"9001"\t"1"\n', text_of(style, send(function() end, { count = 1 })))
            assert.are.equal('{"udp.dstport":9001}\n', text_of({ fields = { "fieldtest.made", "udp.dstport" },
                format = "json" }, send(function() end, { count = 1 })))
            local long = ("x"):rep(200000)
            assert.are.equal('"1"\t"' .. long .. '"\t"9001"\t"1"\n', text_of(style, send(function() return long end,
                { count = 1 })))
        end)

        it("that raise: whoever passes packets on hears of it", function()
            local text = text_of(style, function(sink)
                local ok, message = pcall(send(function() error("no such luck", 0) end), sink)
                assert.are.same({ false, "no such luck" }, { ok, message })
                ok, message = pcall(sink.send, sink, udp(1))
                assert.are.same({ false, "no such luck" }, { ok, message })
                run = function() return "well" end
                assert.is_true(sink:send(udp(1)))
            end)
            assert.is_truthy(text:find('"well"', 1, true))
        end)

        it("that close the source and use the sink", function()
            local text = text_of(style, function(sink)
                local source = assert(ringtap.read(plain))
                run = function(layer)
                    source:close()
                    collectgarbage()
                    for _, use in ipairs { sink.send, sink.flush, sink.close, sink.stats } do
                        local ok, message = pcall(use, sink, "x")
                        assert(not ok and message:find("at work", 1, true), message)
                    end
                    return layer:sub(5, 8)
                end
                local ok, message = pcall(ringtap.forward, source, sink)
                assert.is_false(ok)
                assert.is_truthy(tostring(message):find("closed", 1, true), message)
            end)
            assert.are.equal('"1"\t"x"\t"9001"\t"1"\n', text)
        end)
    end)
end)

-- ------------------------------------------------------------------ live

describe("ringtap fields on an interface", function()
    local function listen(arguments)
        local process = support.spawn(ns:exec("b", ("%s fields -i %s %s"):format(support.ringtap, ns.b_if, arguments)))
        assert(support.wait_output(process, "listening on [^\n]*\n"), "it does not listen")
        return process
    end

    root_it("prints what comes, line by line, until SIGINT #root", function()
        local process = listen("-l -e frame.number -e ip.src -e udp.dstport -e frame.len -E header=y udp dst port 9")
        assert(support.wait_output(process, "^frame.number\tip.src\tudp.dstport\tframe.len\n"))
        live.blast(ns, { count = 5, size = 100 })
        assert(support.wait_output(process, "\n5\t192.0.2.1\t9\t142\n"))
        support.kill(process, "INT")
        local status, stdout, stderr = support.wait(process)
        assert.are.equal(0, status)
        assert.are.equal(6, #lines(stdout))
        assert.is_truthy(stderr:find("^listening on veth_b, link%-type EN10MB %(Ethernet%), snapshot length 262144 "
            .. "bytes\n5 packets captured\n5 packets received by filter\n0 packets dropped by kernel\n$"), stderr)
    end)

    root_it("prints all that is in the ring when it is interrupted, and the same as tshark #root", function()
        local columns = "-e ip.src -e udp.srcport -e udp.payload -E quote=d"
        local tshark_too = support.has("tshark") and support.spawn(ns:exec("b",
            ("tshark -n -i %s -f 'udp dst port 9' -c 3000 -T fields %s"):format(ns.b_if, columns)))
        if tshark_too then
            assert(support.wait_output(tshark_too, "Capturing on"))
            support.sleep(0.5)
        end
        local process = listen(columns .. " udp dst port 9")
        support.kill(process, "STOP")
        live.blast(ns, { count = 3000 })
        support.kill(process, "INT")
        support.kill(process, "CONT")
        local status, stdout, stderr = support.wait(process)
        local captured, received, dropped = stderr:match("(%d+) packets captured\n(%d+) packets received by filter\n"
            .. "(%d+) packets dropped")
        assert.are.equal(0, status)
        assert.are.equal(3000, tonumber(received))
        assert.are.equal(3000, captured + dropped)
        assert.are.equal(tonumber(captured), #lines(stdout))
        if tshark_too and dropped == "0" then
            local _, expected = support.wait(tshark_too)
            assert.are.equal(expected, stdout)
        end
    end)

    root_it("counts to -c, takes one direction, prints JSON #root", function()
        local process = listen("-Q in -c 3 -T json -e udp.dstport -e ip.ttl -e eth.src udp")
        live.blast(ns, { count = 3 })
        local status, stdout = support.wait(process)
        assert.are.equal(0, status)
        assert.are.equal(('{"udp.dstport":9,"ip.ttl":64,"eth.src":"02:00:00:00:00:0a"}\n'):rep(3), stdout)
        status, stdout = support.run(ns:exec("b", support.ringtap .. " fields -i nosuch -e ip.src"))
        assert.are.same({ 1, "" }, { status, stdout })
    end)
end)
