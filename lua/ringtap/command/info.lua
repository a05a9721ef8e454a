--- ringtap info: what the kernel, the driver and the permissions of the process mean for a capture, and what there is
--- to do about it. One section for each interface.

local command = require "ringtap.command"
local linktypes = require "ringtap.linktypes"
local ringtap = require "ringtap"

local info = {}

local ETHERNET = 1

-- linux/capability.h
local capabilities = { { 13, "CAP_NET_RAW" }, { 12, "CAP_NET_ADMIN" }, { 39, "CAP_BPF" }, { 38, "CAP_PERFMON" } }

local function read_all(path)
    local file = io.open(path)
    if not file then
        return ""
    end
    local text = file:read("a") or ""
    file:close()
    return text
end

local function yes_no(value)
    return value and "yes" or "no"
end

local function on_off(value)
    if value == nil then
        return "unknown"
    end
    return value and "on" or "off"
end

local function print_line(name, format, ...)
    io.stdout:write(("  %-14s %s\n"):format(name, format:format(...)))
end

--- The process: version, kernel, capabilities.
local function print_process()
    local effective = tonumber(read_all("/proc/self/status"):match("CapEff:%s*(%x+)") or "0", 16)
    local held = {}
    for _, capability in ipairs(capabilities) do
        held[#held + 1] = ("%s %s"):format(capability[2], yes_no(effective >> capability[1] & 1 == 1))
    end
    io.stdout:write(command.version(), "\n")
    print_line("kernel", "Linux %s", read_all("/proc/sys/kernel/osrelease"):match("%S+") or "unknown")
    print_line("permissions", "%s", table.concat(held, ", "))
    if effective >> 13 & 1 == 0 then
        print_line("advice", "capturing needs CAP_NET_RAW: run as root, or setcap cap_net_raw+ep on the lua binary")
    end
end

-- ------------------------------------------------------------------ one interface

local offload_order = { "gro", "lro", "tso", "gso", "rx_checksum", "tx_checksum", "rx_vlan", "tx_vlan" }

local offload_names = { -- as ethtool -K calls them
    gro = "gro", lro = "lro", tso = "tso", gso = "gso", rx_checksum = "rx", tx_checksum = "tx", rx_vlan = "rxvlan",
    tx_vlan = "txvlan",
}

local function describe_offloads(offloads)
    local words = {}
    for _, name in ipairs(offload_order) do
        if offloads[name] ~= nil then
            words[#words + 1] = ("%s %s"):format(offload_names[name], on_off(offloads[name]))
        end
    end
    return #words > 0 and table.concat(words, ", ") or "unknown"
end

-- Where a capture sees something else than the wire carries, or something else than it could.
local function offload_advice(i)
    local on, advice = i.offloads, {}
    local function say(format, ...)
        advice[#advice + 1] = format:format(...)
    end
    if i.loopback then
        return advice -- there is no wire to see
    end
    if on.gro then
        say("gro on: received frames larger than the MTU will be seen; ethtool -K %s gro off to see the wire", i.name)
    end
    if on.lro then
        say("lro on: the device joins received segments, their own headers are lost; ethtool -K %s lro off", i.name)
    end
    if on.tso or on.gso then
        local names = (on.tso and "tso " or "") .. (on.gso and "gso " or "")
        say("%son: sent frames larger than the MTU will be seen; ethtool -K %s%s to see the wire", names, i.name,
            names:gsub("(%a+) ", " %1 off"))
    end
    if on.tx_checksum then
        say("tx on: checksums of sent packets are not filled in yet when they are captured, so they look wrong")
    end
    if on.rx_vlan then
        say("rxvlan on: the device takes the VLAN tag off; it is put back into the captured frame")
    end
    return advice
end

local function describe_queues(i)
    if i.channels then
        return ("%d rx (of %d), %d tx (of %d)"):format(i.channels.rx, i.channels.rx_max, i.channels.tx,
            i.channels.tx_max)
    end
    return ("%d rx, %d tx"):format(i.rx_queue_count, i.tx_queue_count)
end

local function describe_timestamping(i)
    local t = i.timestamping
    if not t then
        return "unknown (software)"
    elseif not t.hardware_receive then
        return "software"
    end
    return ("hardware, %s%s"):format(t.all_packets and "all packets" or "some packets (PTP)",
        t.clock and (", clock /dev/ptp%d"):format(t.clock) or "")
end

-- What AF_XDP can do there.
local function describe_xdp(i)
    local x = i.xdp
    if x.native == nil then
        return "unknown modes (they can be asked for since Linux 6.3)"
    elseif not x.native then
        return "generic mode only"
    end
    return ("native mode (%s, zero copy %s), generic mode"):format(x.fragments
        and "packets of any length" or "no packets longer than a frame", yes_no(x.zerocopy))
end

local function describe_programs(i)
    local words = {}
    for n, p in ipairs(i.xdp.programs or {}) do
        words[n] = ("%s, id %d%s"):format(p.mode, p.id, p.name and ", " .. p.name or "")
    end
    return #words > 0 and table.concat(words, "; ") or i.xdp.programs and "none" or "unknown"
end

local function size_text(bytes)
    if bytes % (1 << 20) == 0 then
        return ("%d MiB"):format(bytes >> 20)
    end
    return ("%d KiB"):format(bytes >> 10)
end

--- What a capture would get: opened with every default, and closed again.
---@return string link_type, string ring
local function try_capture(name, netns)
    local source, message = ringtap.capture(name, { netns = netns })
    if not source then
        return "unknown", message
    end
    local stats = source:stats()
    local link_name, description = linktypes.name(source:linktype())
    local ring = ("%s: %d blocks of %s"):format(size_text(stats.block_size * stats.block_count), stats.block_count,
        size_text(stats.block_size))
    source:close()
    return ("%s (%s)"):format(link_name, description), ring
end

local function print_interface(i, netns)
    local state = {}
    state[#state + 1] = i.up and "up" or "down"
    state[#state + 1] = i.running and "running" or nil
    state[#state + 1] = i.loopback and "loopback" or nil
    state[#state + 1] = i.promisc and "promiscuous" or nil
    if i.up and i.link == false then
        state[#state + 1] = "no link"
    end
    io.stdout:write(("\n%s: %s\n"):format(i.name, table.concat(state, ", ")))
    local link_type, ring = try_capture(i.name, netns)
    print_line("index", "%d", i.index)
    print_line("driver", "%s%s", i.driver or i.kind or "unknown", i.bus and (" at " .. i.bus) or "")
    print_line("address", "%s", i.address or "none")
    print_line("mtu", "%d", i.mtu)
    print_line("link type", "%s, hardware type %d", link_type, i.hatype)
    print_line("queues", "%s", describe_queues(i))
    if i.descriptors then
        print_line("device ring", "%d rx (of %d), %d tx (of %d)", i.descriptors.rx, i.descriptors.rx_max,
            i.descriptors.tx, i.descriptors.tx_max)
    end
    print_line("offloads", "%s", describe_offloads(i.offloads))
    print_line("timestamps", "%s", describe_timestamping(i))
    print_line("capture ring", "%s", ring)
    if i.hatype == ETHERNET or i.loopback then
        print_line("xdp", "%s", describe_xdp(i))
        if i.kind == "veth" then
            print_line("xdp mtu", "native without fragments needs an MTU of about 3,500 at most, of the peer too")
        end
        print_line("xdp programs", "%s", describe_programs(i))
        print_line("xdp and host", "--backend xdp takes everything that comes in from the host, ARP and ssh too; "
            .. "a filter or --pass leaves it the rest")
    else
        print_line("xdp", "none: it is for Ethernet frames")
    end
    local advice = offload_advice(i)
    if not i.up then
        table.insert(advice, 1, ("down: nothing will be seen; ip link set %s up"):format(i.name))
    end
    if i.xdp.programs and i.xdp.programs[1] then
        advice[#advice + 1] = ("xdp program: it sees packets before a capture does, and --backend xdp can't be had "
            .. "beside it; ip link set dev %s xdp off removes one without a link"):format(i.name)
    end
    if i.descriptors and i.descriptors.rx < i.descriptors.rx_max then
        advice[#advice + 1] = ("device ring: bursts may be lost before they are captured; ethtool -G %s rx %d")
            :format(i.name, i.descriptors.rx_max)
    end
    for _, line in ipairs(advice) do
        print_line("advice", "%s", line)
    end
end

--- The interfaces to tell of, in full.
---@param name? string
---@param netns? string
---@return table[]?, string? message
local function find_interfaces(name, netns)
    if name then
        local i, message = ringtap.interface(name, netns)
        return i and { i }, message
    end
    local list, message = ringtap.interfaces(netns)
    if not list then
        return nil, message
    end
    local found = {}
    for _, entry in ipairs(list) do
        found[#found + 1] = ringtap.interface(entry.name, netns) -- nil: it has just gone
    end
    return found
end

--- ringtap info ARGS
---@param args string[]
---@return integer status
function info.run(args)
    local parser = command.parser("info", "What the kernel, the driver and your permissions mean for a capture.")
    parser:argument("interface", "Only this one."):args("?")
    parser:option("--netns", "Look in this network namespace: a name of ip-netns or a path."):argname("NAME")
    local o = command.parse(parser, args)
    local list, message = find_interfaces(o.interface, o.netns)
    if not list then
        command.complain("%s", message)
        return 1
    end
    print_process()
    for _, i in ipairs(list) do
        print_interface(i, o.netns)
    end
    return 0
end

return info
