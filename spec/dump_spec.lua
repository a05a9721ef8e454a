-- ringtap dump, end to end: the command as a subprocess. What is right is what the sender has sent, and what tcpdump
-- and tshark make of the same packets.

local support = require "support"

local quote = support.quote
local root_it = support.is_root() and it or pending
local dir, blast, ns

local function path(name)
    return dir .. "/" .. name
end

local function dump(arguments, input)
    return support.run(support.ringtap .. " dump " .. arguments, input)
end

local function lines(text)
    local list = {}
    for line in text:gmatch("[^\n]+") do
        list[#list + 1] = line
    end
    return list
end

--- A pcap file of numbered UDP datagrams, written here byte by byte.
local function make_pcap(name, count, size)
    local parts = { string.pack("<I4I2I2i4I4I4I4", 0xa1b2c3d4, 2, 4, 0, 0, 262144, 1) }
    for n = 1, count do
        local payload = string.pack(">I4", n) .. ("x"):rep(size - 4)
        local udp = string.pack(">I2I2I2I2", 40000, 9999, 8 + #payload, 0) .. payload
        local ip = string.pack(">BBI2I2I2BBI2c4c4", 0x45, 0, 20 + #udp, n & 0xffff, 0, 64, 17, 0, "\192\0\2\1",
            "\192\0\2\2")
        local frame = "\2\0\0\0\0\x0b\2\0\0\0\0\x0a\8\0" .. ip .. udp
        parts[#parts + 1] = string.pack("<I4I4I4I4", 1700000000 + n // 1000, n % 1000 * 1000, #frame, #frame) .. frame
    end
    support.write_file(path(name), table.concat(parts))
    return path(name)
end

--- The numbers that the datagrams of a file have, as tshark reads them.
local function numbers(file, may_be_cut)
    local list, command = {}, "tshark -n -r " .. quote(file) .. " -T fields -e udp.payload"
    local status, stdout, stderr = support.run(command)
    assert(may_be_cut or status == 0, stderr)
    for hex in stdout:gmatch("%x+") do
        list[#list + 1] = tonumber(hex:sub(1, 8), 16)
    end
    return list
end

local function assert_ascending(list)
    for i = 2, #list do
        assert.is_true(list[i] > list[i - 1])
    end
end

local function tcpdump_count(file)
    return #lines((support.must("tcpdump -nr " .. quote(file))))
end

--- Counts by its three lines; the text must be nothing but the banner and them.
local function counters(stderr, ifname)
    local banner = ("listening on %s, link-type EN10MB (Ethernet), snapshot length 262144 bytes\n"):format(
        ifname or ns.b_if)
    assert.are.equal(banner, stderr:sub(1, #banner))
    local captured, received, dropped, rest = stderr:sub(#banner + 1):match("^(%d+) packets? captured\n"
        .. "(%d+) packets? received by filter\n(%d+) packets? dropped by kernel(.*)$")
    assert.is_truthy(captured, stderr)
    return tonumber(captured), tonumber(received), tonumber(dropped), rest
end

--- Start a capture in namespace b and wait until it listens.
local function listen(arguments)
    local process = support.spawn(ns:exec("b", support.ringtap .. " dump " .. arguments))
    assert(support.wait_output(process, "listening on [^\n]*\n"), "it does not listen")
    return process
end

local function dump_in_b(arguments, before)
    return support.run(ns:exec("b", (before or "") .. support.ringtap .. " dump " .. arguments))
end

local function send(count, rate, size, first)
    local sent = ns:must("a", ("%s %s %s 9999 %d %d %d %d"):format(blast, ns.a_ip, ns.b_ip, count, rate or 0,
        size or 64, first or 1))
    assert.are.equal(count, tonumber(sent))
end

local function stop(process, signal)
    support.kill(process, signal or "INT")
    return support.wait(process)
end

--- The last Interface Statistics Block of a pcapng file: received, dropped.
local function statistics(file)
    local bytes, at, received, dropped = support.read_file(file), 1, nil, nil
    while at < #bytes do
        local kind, size = string.unpack("<I4I4", bytes, at)
        if kind == 5 then
            local option = at + 20
            while option < at + size - 4 do
                local code, length = string.unpack("<I2I2", bytes, option)
                if code == 4 then
                    received = string.unpack("<I8", bytes, option + 4)
                elseif code == 5 then
                    dropped = string.unpack("<I8", bytes, option + 4)
                elseif code == 0 then
                    break
                end
                option = option + 4 + (length + 3) // 4 * 4
            end
        end
        at = at + size
    end
    return received, dropped
end

setup(function()
    dir = support.tmpdir()
    if support.is_root() then
        blast = support.compile("udp_blast.c")
        ns = support.namespaces()
    end
end)

teardown(support.cleanup)

describe("ringtap dump on a file", function()
    local file, reading

    setup(function()
        file = make_pcap("in.pcap", 3000, 1000)
        reading = ("reading from file %s, link-type EN10MB (Ethernet), snapshot length 262144\n"):format(file)
    end)

    it("prints what tcpdump prints, flags clustered or not", function()
        for _, flags in ipairs { "-nr", "-nnvvr", "-netttr", "-nqttr", "-n -c 20 -XXr", "-ntttttxr", "-n# -r",
            "-nStttt --nano -r" } do
            local expected, expected_stderr = support.must(("TZ=UTC tcpdump %s %s"):format(flags, file))
            local status, stdout, stderr = support.run(("TZ=UTC %s dump %s %s"):format(support.ringtap, flags, file))
            assert.are.equal(0, status)
            assert.are.equal(expected, stdout)
            assert.are.equal(expected_stderr, stderr)
        end
    end)

    it("counts, filters, and takes the filter from a file", function()
        local status, stdout, stderr = dump("-nr " .. file .. " -c 7 udp and port 9999")
        assert.are.same({ 0, 7, reading }, { status, #lines(stdout), stderr })
        assert.are.equal("", select(2, dump("-nr " .. file .. " tcp or port 53")))
        support.write_file(path("filter"), "# numbers 1 to 9\nudp[8:4] < 10 # big endian\nand\nudp\n")
        status, stdout, stderr = dump(("-nr %s -F %s"):format(file, path("filter")))
        assert.are.same({ 0, 9, reading }, { status, #lines(stdout), stderr })
    end)

    it("writes what it reads, to files and through pipes", function()
        local expected = support.must("tcpdump -nttvr " .. file)
        for _, name in ipairs { "out.pcapng", "out.pcap", "out.cap", "out" } do
            local status, stdout, stderr = dump(("-r %s -w %s"):format(file, path(name)))
            assert.are.same({ 0, "", reading }, { status, stdout, stderr })
            assert.are.equal(expected, (support.must("tcpdump -nttvr " .. path(name))))
            assert.are.equal(name:find("cap$") and 0xa1b23c4d or 0x0a0d0d0a,
                (string.unpack("<I4", support.read_file(path(name)))))
        end
        local out = support.must(("cat %s | %s dump -r - -w - 2>/dev/null | tcpdump -nttvr -"):format(file,
            support.ringtap))
        assert.are.equal(expected, out)
        out = support.must(("%s dump -r %s -w - udp 2>/dev/null | %s dump -nttvr - 2>/dev/null"):format(support.ringtap,
            file, support.ringtap))
        assert.are.equal(expected, out)
    end)

    it("writes files of one size with tcpdump's names and bytes", function()
        for n, flags in ipairs { "-C 1", "-C 1 -W 3", "-C 1 -W 12" } do
            local ours, theirs = path("ours" .. n), path("theirs" .. n)
            support.must(("mkdir %s %s"):format(ours, theirs))
            support.must(("tcpdump -Z root -r %s %s -w %s/x.pcap"):format(file, flags, theirs))
            assert.are.equal(0, (dump(("-r %s %s --micro -w %s/x.pcap"):format(file, flags, ours))))
            assert.are.equal("", (support.must(("diff -r %s %s"):format(ours, theirs))))
        end
        support.must("mkdir " .. path("kib"))
        assert.are.equal(0, (dump(("-r %s -C 1000k -w %s/x"):format(file, path("kib")))))
        assert.are.equal("x\nx1\nx2\nx3\n", (support.must("ls " .. path("kib"))))
    end)

    it("gives what is good of a damaged file, then says so", function()
        local bytes = support.read_file(file)
        support.write_file(path("cut.pcap"), bytes:sub(1, 24 + 100 * (16 + 1042) + 500))
        local status, stdout, stderr = dump("-nr " .. path("cut.pcap"))
        assert.are.equal(1, status)
        assert.are.equal(100, #lines(stdout))
        assert.is_truthy(stderr:find("cut.pcap", 1, true) and stderr:find("\nringtap: [^\n]+\n$"), stderr)
        status, stdout = dump(("-r %s -w %s"):format(path("cut.pcap"), path("mended.pcapng")))
        assert.are.same({ 1, "" }, { status, stdout })
        assert.are.equal(100, tcpdump_count(path("mended.pcapng")))
        support.write_file(path("no.pcap"), "this is no capture file at all")
        status, stdout, stderr = dump("-nr " .. path("no.pcap"))
        assert.are.same({ 1, "" }, { status, stdout })
        assert.is_truthy(stderr:find("^ringtap: [^\n]+\n$"), stderr)
        assert.are.same({ 1, "", "ringtap: /nonexistent: No such file or directory\n" }, { dump("-r /nonexistent") })
    end)

    it("ends quietly when nobody reads on", function()
        for _, env in ipairs { "env --default-signal=PIPE", "env --ignore-signal=PIPE" } do
            local status, stdout, stderr = support.run(("%s %s dump -nr %s | head -1"):format(env, support.ringtap,
                file))
            assert.are.same({ 0, 1, reading }, { status, #lines(stdout), stderr })
        end
        local _, _, stderr = support.run(("%s dump -r %s -w - | head -c 10 >/dev/null"):format(support.ringtap, file))
        assert.is_truthy(stderr:find("\nringtap: %-: Broken pipe %(%d+ packets are in the file%)\n$"), stderr)
    end)

    it("says that its output is lost, and writes it nowhere else #regression", function()
        for _, where in ipairs { ">/dev/full", ">&-" } do
            for _, arguments in ipairs { "dump -nr " .. file, "dump -r " .. file .. " -w -", "dump -D", "info lo",
                "--help" } do
                local status, _, stderr = support.run(("%s %s %s"):format(support.ringtap, arguments, where))
                assert.are.equal(1, status, arguments .. where)
                assert.is_truthy(stderr:find(where == ">&-" and "Bad file descriptor" or "No space left on device"),
                    stderr)
            end
        end
    end)

    it("ends on SIGINT while it waits for the head of a stream, and in the middle of one", function()
        for bytes, expected in pairs { [0] = 130, [24 + 50 * (16 + 1042) + 100] = 0 } do
            local pipe = path("pipe")
            support.must("rm -f " .. pipe .. "; mkfifo " .. pipe)
            local feeder = support.spawn("sh -c " .. quote(("exec >%s; head -c %d %s; exec sleep 20"):format(pipe,
                bytes, file)))
            local process = support.spawn("sh -c " .. quote(("exec %s dump -r - -w %s <%s"):format(support.ringtap,
                path("stream.pcapng"), pipe)))
            support.sleep(0.7)
            support.kill(process, "INT")
            local status, stdout, stderr = support.wait(process, 3)
            support.kill(feeder)
            support.wait(feeder)
            assert.are.same({ expected, "" }, { status, stdout }, stderr)
            if expected == 0 then
                assert.are.equal(50, tcpdump_count(path("stream.pcapng")))
            else
                assert.are.equal("", stderr)
            end
        end
    end)

    it("says where a filter is wrong, with libpcap's words", function()
        local _, _, theirs = support.run(("tcpdump -r %s udp portt 53"):format(file))
        local status, stdout, stderr = dump("-r " .. file .. " udp portt 53")
        assert.are.same({ 1, "" }, { status, stdout })
        local words = theirs:match("can't parse filter expression: [^\n]+")
        assert.are.equal("ringtap: " .. words .. "\n", stderr:sub(1, #words + 10))
        assert.is_truthy(stderr:find("udp portt 53\n%s+%^"), stderr)
    end)

    it("checks the link type by name", function()
        assert.are.equal(0, (dump("-c 1 -y EN10MB -r " .. file)))
        assert.are.equal(0, (dump("-c 1 -y en10mb -r " .. file)))
        assert.are.same({ 1, "", "ringtap: LINUX_SLL2 is not one of the DLTs supported by this device\n" },
            { dump("-y LINUX_SLL2 -r " .. file) })
        assert.are.same({ 1, "", "ringtap: invalid data link type NOSUCH\n" }, { dump("-y NOSUCH -r " .. file) })
    end)

    it("will not destroy its input", function()
        local before = support.read_file(file)
        support.must(("ln -sf %s %s"):format(file, path("link.pcap")))
        for _, arguments in ipairs { "-r %s -w " .. file, "-r %s -w " .. path("link.pcap"),
            "-r - -w " .. file .. " <%s", "-r %s -w - >>" .. file } do
            local status, stdout, stderr = dump(arguments:format(file))
            assert.are.same({ 1, "" }, { status, stdout })
            assert.is_truthy(stderr:find("same file"), stderr)
        end
        assert.is_true(before == support.read_file(file))
    end)

    it("answers a wrong command line with status 2", function()
        for _, arguments in ipairs { "--nosuch", "-c", "-c 0", "-c x", "-s -1", "-C 1", "-G 5", "-W 2 -w x",
            "-C x -w x", "-i lo -r x", "-Q sideways", "-tttttt", "-r x -B 100", "-B 0", "--fanout nosuch",
            "--fanout hash:70000", "-F x udp", "-w - -C 1", "--nano --micro", "--time-stamp-precision=pico", "-K" } do
            local status, stdout, stderr = dump(arguments)
            assert.are.same({ 2, "" }, { status, stdout }, arguments)
            assert.is_truthy(stderr:find("^ringtap: [^\n]+\n%(ringtap dump %-%-help tells more%)\n$"), stderr)
        end
        for _, arguments in ipairs { "", "nosuch", "--nosuch" } do
            local status, stdout = support.run(support.ringtap .. " " .. arguments)
            assert.are.same({ 2, "" }, { status, stdout })
        end
    end)

    it("has help and a version", function()
        for _, arguments in ipairs { "--help", "-h", "dump --help", "dump -h", "info --help" } do
            local status, stdout, stderr = support.run(support.ringtap .. " " .. arguments)
            assert.are.same({ 0, "" }, { status, stderr })
            assert.is_truthy(stdout:find("^Usage: ringtap "))
        end
        assert.is_truthy(support.must(support.ringtap .. " --version"):find("^ringtap "))
    end)

    root_it("says what is in the file when the disk is full #root", function()
        local full = path("full")
        support.must(("mkdir %s && mount -t tmpfs -o size=512k tmpfs %s"):format(full, full))
        finally(function()
            support.run("umount " .. full)
        end)
        for _, name in ipairs { "x.pcap", "x.pcapng" } do
            local out = full .. "/" .. name
            local status, stdout, stderr = dump(("-r %s -w %s"):format(file, out))
            assert.are.same({ 1, "" }, { status, stdout })
            local safe = tonumber(stderr:match("\nringtap: " .. out:gsub("%p", "%%%0")
                .. ": No space left on device %((%d+) packets are in the file%)\n$"))
            assert.is_truthy(safe and safe > 100, stderr)
            assert.are.equal(safe, tcpdump_count(out))
            assert.are.equal(safe, #numbers(out))
            assert.are.equal(safe, #lines((select(2, dump("-nr " .. out)))))
            os.remove(out)
        end
    end)
end)

describe("ringtap dump on an interface", function()
    root_it("captures 100,000 datagrams, each in order, or counts it as dropped #root", function()
        local out = path("all.pcapng")
        local process = listen(("-i %s -w %s udp and dst port 9999"):format(ns.b_if, out))
        send(100000)
        local status, stdout, stderr = stop(process)
        local captured, received, dropped, rest = counters(stderr)
        assert.are.same({ 0, "" }, { status, stdout })
        assert.are.equal(100000, received)
        assert.are.equal(100000, captured + dropped)
        if dropped == 0 then
            assert.are.equal("\n", rest)
        end
        local list = numbers(out)
        assert.are.equal(captured, #list)
        assert.are.equal(captured, tcpdump_count(out))
        assert_ascending(list)
        assert.are.same({ received, dropped }, { statistics(out) })
    end)

    root_it("counts every drop of a small ring #root", function()
        for _, name in ipairs { "drop.pcapng", "drop.pcap" } do
            local out = path(name)
            local process = listen(("-i %s -B 128 -w %s udp and dst port 9999"):format(ns.b_if, out))
            support.kill(process, "STOP")
            send(20000)
            support.kill(process, "CONT")
            local status, stdout, stderr = stop(process)
            local captured, received, dropped, rest = counters(stderr)
            assert.are.same({ 0, "" }, { status, stdout })
            assert.are.equal(20000, received)
            assert.are.equal(20000, captured + dropped)
            assert.is_true(dropped > 10000)
            assert.are.equal(dropped, tonumber(rest:match("^ %(ring_full (%d+), freezes %d+%)\n$")))
            local list = numbers(out)
            assert.are.equal(captured, #list)
            assert.are.equal(captured, tcpdump_count(out))
            assert_ascending(list)
            if name == "drop.pcapng" then
                assert.are.same({ received, dropped }, { statistics(out) })
            end
        end
    end)

    root_it("prints each packet once, as tcpdump does beside it #root", function()
        local tcpdump = support.spawn(ns:exec("b", ("tcpdump -ni %s -tt -e --nano -c 50 udp dst port 9999"):format(
            ns.b_if)))
        assert(support.wait_output(tcpdump, "listening on"))
        local process = listen(("-i %s -n -tt -e --nano udp dst port 9999"):format(ns.b_if))
        send(50, 1000)
        local _, expected = support.wait(tcpdump)
        local status, stdout, stderr = stop(process)
        assert.are.equal(0, status)
        assert.are.equal((expected:gsub("%d+%.%d+ (0)", "%1")), (stdout:gsub("%d+%.%d+ (0)", "%1")))
        assert.are.same({ 50, 50, 0, "\n" }, { counters(stderr) })
    end)

    root_it("stops after -c packets and says what came after them #root", function()
        local process = listen(("-i %s -c 10 udp dst port 9999"):format(ns.b_if))
        send(10, 1000)
        local status, stdout, stderr = support.wait(process)
        assert.are.same({ 0, 10 }, { status, #lines(stdout) })
        assert.are.same({ 10, 10, 0, "\n" }, { counters(stderr) })

        process = listen(("-i %s -c 10 -w %s udp dst port 9999"):format(ns.b_if, path("ten")))
        support.kill(process, "STOP")
        send(500)
        support.kill(process, "CONT")
        status, stdout, stderr = support.wait(process)
        assert.are.same({ 0, "" }, { status, stdout })
        local captured, received, dropped, rest = counters(stderr)
        assert.are.same({ 10, 500 }, { captured, received })
        assert.is_true(dropped < 10) -- see below
        assert.are.equal(490 - dropped, tonumber(rest:match("\n(%d+) packets received after the last one of %-c\n$")))
        assert.are.equal(10, #numbers(path("ten")))
    end)

    root_it("prints its counters on SIGUSR1 and goes on #root", function()
        local out = path("usr1.pcapng")
        local process = listen(("-i %s -w %s udp dst port 9999"):format(ns.b_if, out))
        support.kill(process, "USR1")
        assert(support.wait_output(process, "received by filter\n0 packets dropped by kernel\n"))
        send(100)
        support.kill(process, "INT")
        local status, _, stderr = support.wait(process)
        assert.are.equal(0, status)
        assert.are.equal("100 packets captured\n100 packets received by filter\n0 packets dropped by kernel\n",
            stderr:match("100 packets captured.*$"))
        assert.are.equal(100, #numbers(out))
    end)

    root_it("ends cleanly on SIGINT, SIGTERM and SIGHUP with all that is in the ring #root", function()
        for _, signal in ipairs { "INT", "TERM", "HUP" } do
            local out = path("signal.pcapng")
            local process = listen(("-i %s -w %s udp dst port 9999"):format(ns.b_if, out))
            support.kill(process, "STOP")
            send(3000)
            support.kill(process, signal) -- with everything still in the ring
            support.kill(process, "CONT")
            local status, stdout, stderr = support.wait(process)
            assert.are.same({ 0, "" }, { status, stdout })
            -- The kernel may drop one now and then though there is room: when its timer closes the block just then.
            local captured, received, dropped = counters(stderr)
            assert.are.same({ 3000, 3000 }, { received, captured + dropped })
            assert.is_true(dropped < 10)
            assert.are.equal(captured, #numbers(out))
        end
    end)

    root_it("leaves SIGHUP ignored where it was, as under nohup #root", function()
        local process = support.spawn(ns:exec("b", ("env --ignore-signal=HUP %s dump -i %s"):format(support.ringtap,
            ns.b_if)))
        assert(support.wait_output(process, "listening on"))
        support.kill(process, "HUP")
        support.sleep(0.3)
        send(1)
        local status, stdout = stop(process)
        assert.is_true(status == 0 and #lines(stdout) >= 1)
    end)

    root_it("leaves a readable file when it is killed #root", function()
        for _, name in ipairs { "killed.pcapng", "killed.pcap" } do
            local out = path(name)
            local process = listen(("-i %s -w %s udp dst port 9999"):format(ns.b_if, out))
            local sender = support.spawn(ns:exec("a", ("%s %s %s 9999 100000 50000"):format(blast, ns.a_ip, ns.b_ip)))
            support.sleep(0.5)
            local status = stop(process, "KILL")
            assert.are.equal(137, status)
            support.kill(sender)
            support.wait(sender)
            local _, expected = support.run("tcpdump -nr " .. out)
            local list = numbers(out, true)
            assert.is_true(#list > 100)
            for i = 1, #list do
                assert.are.equal(i, list[i])
            end
            assert.are.equal(#list, #lines(expected))
            assert.are.equal(expected, (select(2, dump("-nr " .. out))))
        end
    end)

    root_it("begins new files by time and ends after -W of them #root", function()
        support.must("mkdir " .. path("time"))
        local process = listen(("-i %s -G 1 -W 2 -w %s/%%s.pcapng udp dst port 9999"):format(ns.b_if, path("time")))
        send(400, 100)
        local status, stdout, stderr = support.wait(process)
        assert.are.same({ 0, "" }, { status, stdout })
        local banner, rest = stderr:match("^(.-\n)Maximum file limit reached: 2\n(.*)$")
        assert.is_truthy(banner, stderr)
        local captured, received, dropped = counters(banner .. rest)
        assert.are.equal(0, dropped)
        assert.is_true(received >= captured and captured >= 50)
        local names, found = lines((support.must("ls " .. path("time")))), {}
        assert.are.equal(2, #names)
        assert.is_true(tonumber(names[2]:match("%d+")) > tonumber(names[1]:match("%d+")))
        for _, name in ipairs(names) do
            for _, n in ipairs(numbers(path("time") .. "/" .. name)) do
                found[#found + 1] = n
            end
        end
        assert.are.equal(captured, #found)
        for i = 1, #found do
            assert.are.equal(i, found[i])
        end
    end)

    root_it("gives up root before the file is opened #root", function()
        support.must(("mkdir %s && chown nobody %s && chmod 711 %s"):format(path("nobody"), path("nobody"), dir))
        local out = path("nobody") .. "/x.pcapng"
        local process = listen(("-i %s -Z nobody -w %s udp dst port 9999"):format(ns.b_if, out))
        local proc = support.read_file(("/proc/%d/status"):format(process.pid))
        local uid, gid = support.must("id -u nobody"):match("%d+"), support.must("id -g nobody"):match("%d+")
        assert.are.equal((uid .. "\t"):rep(4):sub(1, -2), proc:match("Uid:%s+([^\n]+)"))
        assert.are.equal((gid .. "\t"):rep(4):sub(1, -2), proc:match("Gid:%s+([^\n]+)"))
        assert.are.equal(support.must("id -G nobody"):match("[^\n]+"), proc:match("Groups:%s+(%d[%d ]-) ?\n"))
        for _, set in ipairs { "CapInh", "CapPrm", "CapEff", "CapAmb" } do
            assert.is_truthy(proc:find(set .. ":%s+0+\n"))
        end
        send(20)
        local status, stdout, stderr = stop(process)
        assert.are.same({ 0, "" }, { status, stdout })
        assert.are.same({ 20, 20, 0, "\n" }, { counters(stderr) })
        assert.are.equal("nobody", support.must("stat -c %U " .. out):match("%S+"))
        assert.are.same({ 20, 0 }, { statistics(out) })

        local before = support.must("ls -A " .. path("nobody"))
        status, stdout, stderr = dump_in_b(("-i %s -Z nosuchuser -w %s/y"):format(ns.b_if, path("nobody")))
        assert.are.same({ 1, "", "ringtap: -Z: nosuchuser: there is no such user\n" }, { status, stdout, stderr })
        assert.are.equal(before, (support.must("ls -A " .. path("nobody"))))
        -- who can't write there can't with -Z either
        status, stdout, stderr = dump_in_b(("-i %s -Z nobody -w %s/y"):format(ns.b_if, dir))
        assert.are.same({ 1, "", ("ringtap: %s/y: Permission denied\n"):format(dir) }, { status, stdout, stderr })
    end)

    root_it("listens in another network namespace, and on any #root", function()
        local process = support.spawn(("%s dump --netns %s -i %s -c 3 udp dst port 9999"):format(support.ringtap, ns.b,
            ns.b_if))
        assert(support.wait_output(process, "listening on"))
        send(3)
        local status, stdout, stderr = support.wait(process)
        assert.are.same({ 0, 3 }, { status, #lines(stdout) })
        assert.are.same({ 3, 3, 0, "\n" }, { counters(stderr) })

        local tcpdump = support.spawn(ns:exec("b", "tcpdump -tni any -c 3 udp dst port 9999"))
        assert(support.wait_output(tcpdump, "listening on"))
        process = listen("-tni any udp dst port 9999")
        send(3)
        local _, expected = support.wait(tcpdump)
        status, stdout, stderr = stop(process)
        assert.are.equal(0, status)
        assert.are.equal(expected, stdout)
        assert.are.equal("listening on any, link-type LINUX_SLL2 (Linux cooked v2), snapshot length 262144 bytes\n"
            .. "3 packets captured\n3 packets received by filter\n0 packets dropped by kernel\n", stderr)
        status, stdout, stderr = dump("--netns nosuch -i lo")
        assert.are.same({ 1, "" }, { status, stdout })
        assert.is_truthy(stderr:find("^ringtap: [^\n]*'nosuch': No such file or directory[^\n]*\n$"), stderr)
    end)

    root_it("lists the interfaces and picks the first as tcpdump does #root", function()
        assert(support.wait_for(function() -- "Running" comes a moment after the link
            return support.must(ns:exec("b", "tcpdump -D")):find(ns.b_if .. " %[Up, Running, Connected%]")
        end))
        local theirs = lines((support.must(ns:exec("b", "tcpdump -D"))))
        local ours = lines((support.must(ns:exec("b", support.ringtap .. " dump -D"))))
        assert.are.equal(3, #ours)
        assert.are.same(ours, table.move(theirs, 1, 3, 1, {}))
        assert.are.same(ours, lines((support.must(support.ringtap .. " dump -D --netns " .. ns.b))))
        for _, which in ipairs { "", "-i 1" } do
            local process = listen(which)
            local status, _, stderr = stop(process)
            assert.are.equal(0, status)
            counters(stderr)
        end
        local status, _, stderr = dump_in_b("-i 17")
        assert.are.same({ 1, "ringtap: there is no interface number 17 (-D lists them)\n" }, { status, stderr })
    end)

    root_it("takes one direction, a snapshot length, and shares by fanout #root", function()
        local out = path("out.pcapng")
        local process = listen(("-i %s -Q out -c 1 -w %s"):format(ns.b_if, out))
        send(5, 100)
        ns:must("b", ("%s %s %s 9999 1"):format(blast, ns.b_ip, ns.a_ip))
        assert.are.equal(0, (support.wait(process)))
        assert.is_truthy(support.must("tcpdump -nr " .. out):find("IP 192.0.2.2", 1, true))

        process = listen(("-i %s -s 60 -c 1 -w %s udp dst port 9999"):format(ns.b_if, out))
        send(1, 0, 500)
        local _, _, stderr = support.wait(process)
        assert.is_truthy(stderr:find("snapshot length 60 bytes", 1, true))
        assert.are.equal("542\t60\n", (support.must("tshark -r " .. out .. " -T fields -e frame.len -e frame.cap_len")))

        local one = listen(("-i %s --fanout lb:4711 udp dst port 9999"):format(ns.b_if))
        local two = listen(("-i %s --fanout lb:4711 udp dst port 9999"):format(ns.b_if))
        send(10, 1000)
        local _, first = stop(one)
        local _, second = stop(two)
        assert.are.equal(10, #lines(first) + #lines(second))
        assert.is_true(#lines(first) > 0 and #lines(second) > 0)
    end)

    root_it("tells when the interface is gone, after what it had #root", function()
        local other <close> = support.namespaces()
        local out = path("gone.pcapng")
        local process = support.spawn(other:exec("b", ("%s dump -i %s -w %s udp dst port 9999"):format(support.ringtap,
            other.b_if, out)))
        assert(support.wait_output(process, "listening on"))
        other:must("a", ("%s %s %s 9999 100"):format(blast, other.a_ip, other.b_ip))
        other:must("a", "ip link del " .. other.a_if)
        local status, stdout, stderr = support.wait(process)
        assert.are.same({ 1, "" }, { status, stdout })
        local banner, message, rest = stderr:match("^([^\n]+\n)(ringtap: [^\n]+\n)(.*)$")
        assert.is_truthy(message and message:find(other.b_if .. ": No such device", 1, true), stderr)
        assert.are.same({ 100, 100, 0, "\n" }, { counters(banner .. rest) })
        assert.are.equal(100, #numbers(out))
    end)

    root_it("names what an ordinary user is missing #root", function()
        local status, stdout, stderr = dump_in_b("-i " .. ns.b_if,
            "setpriv --bounding-set=-all --inh-caps=-all ")
        assert.are.same({ 1, "" }, { status, stdout })
        local message = "ringtap: " .. ns.b_if .. ": Operation not permitted (needs CAP_NET_RAW"
        assert.are.equal(message, stderr:sub(1, #message))
        status, stdout, stderr = dump_in_b("-i nosuch")
        assert.are.same({ 1, "" }, { status, stdout })
        assert.is_truthy(stderr:find("^ringtap: nosuch: No such device"), stderr)
    end)

    root_it("will not write packets to a terminal #root", function()
        local _, stdout = support.run(("script -qec %s /dev/null"):format(quote(("%s dump -w - -i lo"):format(
            support.ringtap))))
        assert.is_truthy(stdout:find("standard output is a terminal", 1, true), stdout)
    end)
end)
