-- ringtap info, ringtap.interfaces and ringtap.interface, against ip, ethtool and sysfs.

local ringtap = require "ringtap"
local support = require "support"

local root_it = support.is_root() and it or pending
local ns

local function info(arguments)
    return support.run(support.ringtap .. " info " .. arguments)
end

--- What follows a name in the section of an interface; a list where there are several.
local function value(text, name)
    return text:match("\n  " .. name .. " +([^\n]+)")
end

--- ethtool -k: "on" or "off" of its long names.
local function ethtool_feature(ifname, name)
    local text = support.must(ns:exec("b", "ethtool -k " .. ifname))
    return assert(text:match("\n" .. name:gsub("%p", "%%%0") .. ": (%a+)"), name)
end

setup(function()
    if support.is_root() then
        ns = support.namespaces { queues = 2, mtu = 1400 }
    end
end)

teardown(support.cleanup)

describe("ringtap.interfaces", function()
    it("lists what ip lists, in its order", function()
        local names, expected = {}, {}
        for _, i in ipairs(assert(ringtap.interfaces())) do
            names[#names + 1] = ("%d %s %d"):format(i.index, i.name, i.mtu)
        end
        for line in support.must("ip -o link"):gmatch("[^\n]+") do
            expected[#expected + 1] = ("%s %s %s"):format(line:match("^(%d+): ([^:@]+)[:@].- mtu (%d+)"))
        end
        assert.are.same(expected, names)
    end)

    it("answers nil for a namespace or an interface that is not there, and raises for what is no name", function()
        local list, message, errno = ringtap.interfaces("nosuch")
        assert.is_nil(list)
        assert.are.equal(2, errno)
        assert.is_truthy(message:find("network namespace 'nosuch'", 1, true))
        assert.are.same({ nil, "nosuch: No such device", 19 }, { ringtap.interface("nosuch") })
        assert.are.same({ nil, "a-name-that-is-far-too-long: No such device", 19 },
            { ringtap.interface("a-name-that-is-far-too-long") })
        assert.has_error(function()
            ringtap.interfaces({})
        end)
        assert.has_error(function()
            ringtap.interface()
        end)
    end)

    root_it("lists more than fit into one answer #root", function()
        local other <close> = support.namespaces()
        local batch = {}
        for i = 1, 75 do
            batch[i] = ("link add c%d type veth peer name d%d"):format(i, i)
        end
        support.must(("ip -n %s -batch -"):format(other.a), table.concat(batch, "\n") .. "\n")
        local list = assert(ringtap.interfaces(other.a))
        assert.are.equal(152, #list)
        local seen = {}
        for _, i in ipairs(list) do
            seen[i.name] = i
        end
        for i = 1, 75 do
            assert.are.equal("veth", seen["c" .. i].kind)
            assert.is_false(seen["d" .. i].up)
        end
    end)

    root_it("tells the facts of an interface in another namespace #root", function()
        local i = assert(support.wait_for(function() -- "running" comes a moment after "up"
            local now = assert(ringtap.interface(ns.b_if, ns.b))
            return now.running and now
        end))
        assert.are.same({ ns.b_if, "veth", "veth", 1400, 1, ns.b_mac, true, true, false, true },
            { i.name, i.kind, i.driver, i.mtu, i.hatype, i.address, i.up, i.running, i.loopback, i.link })
        assert.are.equal(support.must(ns:exec("b", "cat /sys/class/net/" .. ns.b_if .. "/ifindex")), i.index .. "\n")
        assert.are.same({ 2, 2 }, { i.rx_queue_count, i.tx_queue_count })
        assert.are.same({ rx = 2, tx = 2, rx_max = 2, tx_max = 2 }, i.channels)
        local lo = assert(ringtap.interface("lo", ns.b))
        assert.are.same({ true, 772, 65536 }, { lo.loopback, lo.hatype, lo.mtu })
        ns:must("a", ("ip link set %s down"):format(ns.a_if))
        finally(function()
            ns:must("a", ("ip link set %s up"):format(ns.a_if))
        end)
        i = assert(ringtap.interface(ns.a_if, ns.a))
        assert.are.same({ false, false }, { i.up, i.running })
        i = assert(ringtap.interface(ns.b_if, ns.b))
        assert.are.same({ true, false }, { i.up, i.link })
    end)

    root_it("reads the offloads as ethtool does #root", function()
        local names = {
            gro = "generic-receive-offload",
            lro = "large-receive-offload",
            tso = "tcp-segmentation-offload",
            gso = "generic-segmentation-offload",
            rx_checksum = "rx-checksumming",
            tx_checksum = "tx-checksumming",
            rx_vlan = "rx-vlan-offload",
            tx_vlan = "tx-vlan-offload",
        }
        local flags = "gro %s tso %s gso %s rx %s tx %s rxvlan %s txvlan %s"
        for _, state in ipairs { "on", "off" } do
            support.run(ns:exec("b", ("ethtool -K %s %s"):format(ns.b_if, flags:gsub("%%s", state))))
            local offloads = assert(ringtap.interface(ns.b_if, ns.b)).offloads
            for ours, theirs in pairs(names) do
                assert.are.equal(ethtool_feature(ns.b_if, theirs) == "on", offloads[ours], theirs)
            end
            assert.are.equal(state == "on", offloads.gro)
        end
    end)
end)

describe("ringtap info", function()
    it("tells the kernel and what the process may do", function()
        local status, stdout, stderr = info("lo")
        assert.are.same({ 0, "" }, { status, stderr })
        assert.is_truthy(stdout:find("^ringtap "))
        assert.are.equal("Linux " .. support.must("uname -r"):match("%S+"), value(stdout, "kernel"))
        assert.is_truthy(value(stdout, "permissions"):find("^CAP_NET_RAW %a+, CAP_NET_ADMIN %a+, CAP_BPF %a+, "
            .. "CAP_PERFMON %a+$"))
        assert.is_truthy(stdout:find("\n\nlo: up, running, loopback\n", 1, true))
    end)

    it("has an error for what is not there, and another for a wrong command line", function()
        assert.are.same({ 1, "", "ringtap: nosuch: No such device\n" }, { info("nosuch") })
        local status, stdout, stderr = info("--netns nosuch")
        assert.are.same({ 1, "" }, { status, stdout })
        assert.is_truthy(stderr:find("^ringtap: network namespace 'nosuch': [^\n]+\n$"), stderr)
        for _, arguments in ipairs { "--nosuch", "lo lo", "--netns" } do
            status, stdout, stderr = info(arguments)
            assert.are.same({ 2, "" }, { status, stdout })
            assert.is_truthy(stderr:find("^ringtap: [^\n]+\n%(ringtap info %-%-help tells more%)\n$"), stderr)
        end
    end)

    root_it("has a section for each interface #root", function()
        local status, stdout, stderr = info("--netns " .. ns.b)
        assert.are.same({ 0, "" }, { status, stderr })
        assert.are.equal("CAP_NET_RAW yes, CAP_NET_ADMIN yes, CAP_BPF yes, CAP_PERFMON yes",
            value(stdout, "permissions"))
        local sections = {}
        for name in stdout:gmatch("\n\n([^:\n]+): ") do
            sections[#sections + 1] = name
        end
        assert.are.same({ "lo", ns.b_if }, sections)
        local section = stdout:match("\n\n" .. ns.b_if .. ":.*$")
        assert.are.same({ "veth", "1400", "EN10MB (Ethernet), hardware type 1", "2 rx (of 2), 2 tx (of 2)", "software",
            "64 MiB: 256 blocks of 256 KiB" }, { value(section, "driver"), value(section, "mtu"),
            value(section, "link type"), value(section, "queues"), value(section, "timestamps"),
            value(section, "capture ring") })
    end)

    root_it("says what to do about an offload that bends what is seen #root", function()
        ns:must("b", ("ethtool -K %s gro on"):format(ns.b_if))
        local advice = ("gro on: received frames larger than the MTU will be seen; "
            .. "ethtool -K %s gro off to see the wire"):format(ns.b_if)
        local _, stdout = info(ns.b_if .. " --netns " .. ns.b)
        assert.is_truthy(stdout:find(advice, 1, true), stdout)
        ns:must("b", ("ethtool -K %s gro off tso off gso off tx off rxvlan off"):format(ns.b_if))
        _, stdout = info(ns.b_if .. " --netns " .. ns.b)
        assert.is_nil(stdout:find("advice"))
        ns:must("b", ("ip link set %s down"):format(ns.b_if))
        finally(function()
            ns:must("b", ("ip link set %s up"):format(ns.b_if))
        end)
        _, stdout = info(ns.b_if .. " --netns " .. ns.b)
        advice = ("down: nothing will be seen; ip link set %s up"):format(ns.b_if)
        assert.is_truthy(stdout:find(advice, 1, true), stdout)
    end)

    root_it("tells what XDP can do there, and which program is attached, as ip does #root", function()
        local _, stdout = info("lo --netns " .. ns.b)
        assert.are.same({ "generic mode only", "none" }, { value(stdout, "xdp"), value(stdout, "xdp programs") })
        assert.is_nil(value(stdout, "xdp mtu"))
        assert.is_nil((ringtap.capture("lo", { backend = "xdp", mode = "native", netns = ns.b })))
        for _, mode in ipairs { "native", "generic" } do
            local cap <close> = assert(ringtap.capture(ns.b_if, { backend = "xdp", mode = mode, netns = ns.b }))
            local id, name = support.must(ns:exec("b", "ip -d link show dev " .. ns.b_if))
                :match("prog/xdp id (%d+) name (%S+)")
            _, stdout = info(ns.b_if .. " --netns " .. ns.b)
            assert.are.equal(("%s, id %s, %s"):format(mode, id, name), value(stdout, "xdp programs"))
            assert.is_truthy(value(stdout, "xdp"):find("^native mode %(.*zero copy no%), generic mode$"))
            assert.is_truthy(value(stdout, "xdp mtu"):find("3,500", 1, true))
            assert.is_truthy(stdout:find("advice +xdp program: "))
            assert.are.equal("xdp", cap:kind())
        end
        _, stdout = info(ns.b_if .. " --netns " .. ns.b)
        assert.are.equal("none", value(stdout, "xdp programs"))
        assert.is_truthy(value(stdout, "xdp and host"):find("takes everything", 1, true))
    end)

    root_it("tells an ordinary user what is missing #root", function()
        local status, stdout, stderr = support.run("setpriv --bounding-set=-all --inh-caps=-all "
            .. support.ringtap .. " info lo")
        assert.are.same({ 0, "" }, { status, stderr })
        assert.are.equal("CAP_NET_RAW no, CAP_NET_ADMIN no, CAP_BPF no, CAP_PERFMON no", value(stdout, "permissions"))
        assert.is_truthy(value(stdout, "advice"):find("^capturing needs CAP_NET_RAW"))
        assert.is_truthy(value(stdout, "capture ring"):find("Operation not permitted", 1, true))
    end)
end)
