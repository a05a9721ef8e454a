-- What the live specs share: running commands, background processes, network namespaces, a place for files.
--
-- Whatever is made here is undone by support.cleanup(), which also runs when the Lua state ends; a spec calls it in
-- teardown() all the same. A test that needs root:
--
--     local root_it = support.is_root() and it or pending
--     root_it("captures what was sent #root", function() ... end)

local support = {}

local undo, directories = {}, {} -- functions, run last to first; what they need of directories goes after them

local my_pid = assert(io.open("/proc/self/stat")):read("n")
local serial = 0

--- A name for something that nobody else has now.
local function unique(prefix)
    serial = serial + 1
    return ("%s%d%s%d"):format(prefix, my_pid, tostring(undo):sub(-4), serial)
end

--- A word as the shell takes it literally.
---@param word string
---@return string
function support.quote(word)
    return "'" .. word:gsub("'", "'\\''") .. "'"
end

local quote = support.quote

---@param path string
---@return string? bytes, string? message
function support.read_file(path)
    local file, message = io.open(path, "rb")
    if not file then
        return nil, message
    end
    local bytes = file:read("a")
    file:close()
    return bytes
end

---@param path string
---@param bytes string
function support.write_file(path, bytes)
    local file = assert(io.open(path, "wb"))
    assert(file:write(bytes))
    assert(file:close())
end

---@param seconds number
function support.sleep(seconds)
    os.execute(("sleep %.3f"):format(seconds))
end

--- Ask again and again until it says yes.
---@generic T
---@param question fun(): T?
---@param timeout? number seconds, 10 if nil
---@return T? answer nil when the time was up
function support.wait_for(question, timeout)
    for _ = 1, (timeout or 10) * 50 do
        local answer = question()
        if answer then
            return answer
        end
        support.sleep(0.02)
    end
    return nil
end

--- A directory of its own, gone at the end.
---@return string path
function support.tmpdir()
    local pipe = assert(io.popen("mktemp -d -t ringtap-spec.XXXXXXXX"))
    local path = pipe:read("l")
    pipe:close()
    assert(path, "mktemp failed")
    directories[#directories + 1] = function()
        os.execute("rm -rf " .. quote(path))
    end
    return path
end

local scratch_dir

local function scratch(name)
    scratch_dir = scratch_dir or support.tmpdir()
    return scratch_dir .. "/" .. name
end

-- ------------------------------------------------------------------ processes

--- Run a shell command to its end, at most two minutes.
---@param command string
---@param input? string its standard input; empty if nil
---@return integer status 128 + n when signal n ended it, 124 when the time was up
---@return string stdout
---@return string stderr
function support.run(command, input)
    local name = scratch(unique("run"))
    if input then
        support.write_file(name .. ".in", input)
    end
    local _, how, status = os.execute(("timeout -k 1 120 sh -c %s <%s >%s.out 2>%s.err"):format(quote(command),
        input and name .. ".in" or "/dev/null", name, name))
    local stdout, stderr = support.read_file(name .. ".out"), support.read_file(name .. ".err")
    os.remove(name .. ".out")
    os.remove(name .. ".err")
    os.remove(name .. ".in")
    return how == "signal" and status + 128 or status, stdout or "", stderr or ""
end

--- As run(), but anything else than status 0 is an error.
---@return string stdout, string stderr
function support.must(command, input)
    local status, stdout, stderr = support.run(command, input)
    if status ~= 0 then
        error(("status %d: %s\n%s%s"):format(status, command, stdout, stderr), 2)
    end
    return stdout, stderr
end

---@class support.process
---@field pid integer
---@field name string where its output and status are: name .. ".out", ".err", ".status"
---@field done boolean? its end was seen

--- Start a command in the background. Its pid is the command's own when it is one program ("exec" is put before it, so
--- no pipes; ip netns exec is fine). Signals are at their defaults.
---@param command string
---@return support.process
function support.spawn(command)
    local name = scratch(unique("spawn"))
    local process = { name = name }
    local script = ([[
        env --default-signal=INT,QUIT,PIPE sh -c %s </dev/null >%s.out 2>%s.err &
        echo $! >%s.pid.part; mv %s.pid.part %s.pid; wait $!
        echo $? >%s.status.part; mv %s.status.part %s.status]]):format(quote("exec " .. command), name, name, name,
        name, name, name, name, name)
    os.execute(("sh -c %s </dev/null >/dev/null 2>&1 &"):format(quote(script)))
    process.pid = tonumber(support.wait_for(function()
        return support.read_file(name .. ".pid")
    end))
    assert(process.pid, "could not start " .. command)
    undo[#undo + 1] = function()
        if not process.done and not support.read_file(name .. ".status") then
            support.kill(process, "KILL")
            support.wait_for(function()
                return support.read_file(name .. ".status")
            end, 5)
        end
    end
    return process
end

--- What it has written so far.
---@param process support.process
---@return string stdout, string stderr
function support.output(process)
    return support.read_file(process.name .. ".out") or "", support.read_file(process.name .. ".err") or ""
end

--- Wait until its standard error (or output) has a pattern in it.
---@param process support.process
---@param pattern string
---@param timeout? number seconds, 10 if nil
---@return string? match
function support.wait_output(process, pattern, timeout)
    return support.wait_for(function()
        local stdout, stderr = support.output(process)
        return stderr:match(pattern) or stdout:match(pattern)
    end, timeout)
end

--- Wait for its end; when the time is up it is killed, and that is an error.
---@param process support.process
---@param timeout? number seconds, 30 if nil
---@return integer status 128 + n when signal n ended it
---@return string stdout
---@return string stderr
function support.wait(process, timeout)
    local status = support.wait_for(function()
        return support.read_file(process.name .. ".status")
    end, timeout or 30)
    if not status then
        support.kill(process, "KILL")
        error(("process %d did not end in time; it said:\n%s%s"):format(process.pid, support.output(process)), 2)
    end
    process.done = true
    return tonumber(status), support.output(process)
end

---@param process support.process
---@param signal? string "TERM" if nil
function support.kill(process, signal)
    os.execute(("kill -%s %d 2>/dev/null"):format(signal or "TERM", process.pid))
end

-- ------------------------------------------------------------------ what is here

--- Root that may make network namespaces, asked once.
---@return boolean
function support.is_root()
    if support.root == nil then
        support.root = support.run('[ "$(id -u)" = 0 ] && unshare -n ip link set lo up') == 0
    end
    return support.root
end

--- Is a program there?
---@param program string
---@return boolean
function support.has(program)
    return support.run("command -v " .. quote(program)) == 0
end

local working_dir = assert(io.popen("pwd")):read("l")

local function absolute(path)
    return path:sub(1, 1) == "/" and path or working_dir .. "/" .. path
end

--- The command that is tested, quoted.
support.ringtap = quote(absolute((os.getenv("RINGTAP_BUILD") or ".build") .. "/bin/ringtap"))

local compiled = {}

--- Compile a C file from spec/support once.
---@param c_file string "udp_blast.c"
---@param libraries? string "-lpcap"
---@return string program its path, quoted
function support.compile(c_file, libraries)
    if not compiled[c_file] then
        local program = scratch(c_file:gsub("%.c$", ""))
        support.must(("${CC:-gcc} -O2 -Wall -pthread -o %s %s %s"):format(quote(program),
            quote(absolute("spec/support/" .. c_file)), libraries or ""))
        compiled[c_file] = quote(program)
    end
    return compiled[c_file]
end

-- ------------------------------------------------------------------ network namespaces

---@class support.namespaces
---@field a string name of the first namespace
---@field b string name of the second
---@field a_if string interface in a: 02:00:00:00:00:0a, 192.0.2.1/24, fd00::1/64
---@field b_if string interface in b: 02:00:00:00:00:0b, 192.0.2.2/24, fd00::2/64
local namespaces = {}
namespaces.__index = namespaces

namespaces.a_ip, namespaces.b_ip = "192.0.2.1", "192.0.2.2"
namespaces.a_ip6, namespaces.b_ip6 = "fd00::1", "fd00::2"
namespaces.a_mac, namespaces.b_mac = "02:00:00:00:00:0a", "02:00:00:00:00:0b"

--- The command line that runs a command in one of the two.
---@param side "a" | "b"
---@param command string one program and its arguments
---@return string
function namespaces:exec(side, command)
    return ("ip netns exec %s %s"):format(self[side], command)
end

--- Run a command in one of the two; an error unless it ends with 0.
---@param side "a" | "b"
---@param command string
---@return string stdout, string stderr
function namespaces:must(side, command)
    return support.must(self:exec(side, "sh -c " .. quote(command)))
end

function namespaces:delete()
    if not self.deleted then
        self.deleted = true
        support.run(("ip netns del %s; ip netns del %s"):format(self.a, self.b))
    end
end

namespaces.__close = namespaces.delete

--- Two network namespaces joined by a veth pair, with addresses, neighbours that need no asking, and nobody else
--- talking: without IPv6 not one packet passes that the test has not sent; with it there may be MLD reports.
---@param options? {ipv6: boolean?, mtu: integer?, queues: integer?} ipv6 is false if nil
---@return support.namespaces
function support.namespaces(options)
    options = options or {}
    scratch("") -- made before, so undone after: deleting a namespace needs it
    local name = unique("rt")
    local ns = setmetatable({ a = name .. "a", b = name .. "b", a_if = "veth_a", b_if = "veth_b" }, namespaces)
    undo[#undo + 1] = function()
        ns:delete()
    end
    local queues = options.queues and (" numtxqueues %d numrxqueues %d"):format(options.queues, options.queues) or ""
    local lines = {
        "set -e",
        "ip netns add " .. ns.a,
        "ip netns add " .. ns.b,
    }
    local function add(format, ...)
        lines[#lines + 1] = format:format(...)
    end
    for _, side in ipairs { ns.a, ns.b } do
        add("ip netns exec %s sysctl -qw net.ipv6.conf.all.disable_ipv6=%d net.ipv6.conf.default.disable_ipv6=%d", side,
            options.ipv6 and 0 or 1, options.ipv6 and 0 or 1)
        add("ip netns exec %s sysctl -qw net.ipv6.conf.default.accept_dad=0 net.ipv6.conf.default.autoconf=0 "
            .. "net.ipv6.conf.default.router_solicitations=0 net.ipv6.conf.default.accept_ra=0", side)
    end
    add("ip -n %s link add %s address %s mtu %d%s type veth peer name %s netns %s address %s mtu %d%s", ns.a, ns.a_if,
        ns.a_mac, options.mtu or 1500, queues, ns.b_if, ns.b, ns.b_mac, options.mtu or 1500, queues)
    for _, side in ipairs { "a", "b" } do
        local other = side == "a" and "b" or "a"
        local netns, ifname = ns[side], ns[side .. "_if"]
        add("ip -n %s addr add %s/24 dev %s", netns, ns[side .. "_ip"], ifname)
        if options.ipv6 then
            add("ip -n %s addr add %s/64 dev %s nodad", netns, ns[side .. "_ip6"], ifname)
        end
        add("ip -n %s link set lo up", netns)
        add("ip -n %s link set %s up", netns, ifname)
        add("ip -n %s neigh replace %s lladdr %s dev %s nud permanent", netns, ns[other .. "_ip"],
            ns[other .. "_mac"], ifname)
        if options.ipv6 then
            add("ip -n %s neigh replace %s lladdr %s dev %s nud permanent", netns, ns[other .. "_ip6"],
                ns[other .. "_mac"], ifname)
        end
    end
    local status, _, stderr = support.run(table.concat(lines, "\n"))
    if status ~= 0 then
        ns:delete()
        error("could not make network namespaces: " .. stderr, 2)
    end
    return ns
end

--- a - (m0, m, m1) - b: b is only reached through whoever forwards in m.
---@param offloads boolean false: no device takes anything over
function support.three(offloads)
    local ns = support.namespaces()
    local m = ns.a .. "m"
    support.must(("set -e; ip netns add %s; ip -n %s link set veth_b netns %s name m0; "):format(m, ns.b, m)
        .. ("ip -n %s link add m1 type veth peer name veth_b netns %s address %s; "):format(m, ns.b, ns.b_mac)
        .. ("ip -n %s addr add %s/24 dev veth_b; ip -n %s link set veth_b up; "):format(ns.b, ns.b_ip, ns.b)
        .. ("ip netns exec %s sysctl -qw net.ipv6.conf.all.disable_ipv6=1; "):format(m)
        .. ("ip -n %s link set m0 up; ip -n %s link set m1 up; "):format(m, m)
        .. ("ip -n %s neigh replace %s lladdr %s dev veth_b nud permanent"):format(ns.b, ns.a_ip, ns.a_mac))
    if not offloads then
        for _, where in ipairs { ns.a .. " ethtool -K veth_a", m .. " ethtool -K m0", m .. " ethtool -K m1",
            ns.b .. " ethtool -K veth_b" } do
            support.must(("ip netns exec %s tx off gro off gso off"):format(where))
        end
    end
    ns.m = m
    return ns, setmetatable({}, { __close = function()
        support.run("ip netns del " .. m)
        ns:delete()
    end })
end

-- ------------------------------------------------------------------ the end

--- Undo everything: processes, namespaces, directories.
function support.cleanup()
    for _, list in ipairs { undo, directories } do
        while #list > 0 do
            pcall(table.remove(list))
        end
    end
    scratch_dir, compiled = nil, {}
end

support.guard = setmetatable({}, { __gc = support.cleanup })

return support
