--- Which kind of socket, --backend, and the flags that go with "xdp": for the subcommands that capture, send, or both.

local command = require "ringtap.command"
local ringtap = require "ringtap"

local backend = {}

local function queue(text)
    local n = text:match "^%d+$" and math.tointeger(tonumber(text))
    return n and n <= 65535 and n or nil
end

--- "all", "N" or "N,M" as the option `queues` has it.
local function queues(text)
    if text == "all" then
        return text
    end
    local list, seen = {}, {}
    for word in (text .. ","):gmatch "([^,]*)," do
        local n = queue(word)
        if not n or seen[n] then
            return nil, ("invalid queues '%s': all, the number of a queue, or several: 0,1"):format(text)
        end
        list[#list + 1], seen[n] = n, true
    end
    return #list == 1 and list[1] or list
end

local function one_queue(text)
    local n = queue(text)
    if not n then
        return nil, ("invalid queue '%s': frames are sent on one, by its number"):format(text)
    end
    return n
end

local function latency(text)
    local n = tonumber(text)
    if not n or not (n >= 0 and n <= 10) then
        return nil, ("invalid latency '%s': seconds, 0 to 10"):format(text)
    end
    return n
end

local function pass(text)
    if not text:find "[^%s,]" then
        return nil, "--pass is empty: arp, icmp, icmp6, ssh, dns, dhcp, ntp, bgp, lldp, or filters"
    end
    return text
end

--- The flags of what sends only.
---@param parser table
function backend.send_flags(parser)
    parser:option("--backend", "packet (AF_PACKET, if not given), or xdp (AF_XDP): the quickest.")
        :argname("packet|xdp"):choices { "packet", "xdp" }
    parser:option("--queues", "xdp: send on this queue of the device; if not given 0."):argname("N")
        :convert(one_queue)
end

--- The flags of what receives.
---@param parser table
function backend.receive_flags(parser)
    parser:option("--backend", "packet (AF_PACKET, if not given), or xdp (AF_XDP), which takes what it receives away "
        .. "from the host.")
        :argname("packet|xdp"):choices { "packet", "xdp" }
    parser:option("--xdp-mode", "xdp: native (in the driver), generic (any device), or auto, what goes (if not given).")
        :argname("auto|native|generic"):choices { "auto", "native", "generic" }:target("xdp_mode")
    parser:option("--queues", "xdp: these queues of the device; if not given all."):argname("all|N|N,M")
        :convert(queues)
    parser:option("--pass", "xdp: what the host is to have all the same: arp, icmp, icmp6, ssh, dns, dhcp, ntp, bgp, "
        .. "lldp, or filters, with commas between.")
        :argname("LIST"):convert(pass)
    parser:option("--latency", "xdp: a packet may wait so long for others; more saves CPU time. If not given 0.001.")
        :argname("SECONDS"):convert(latency)
end

--- Flags that don't go with the backend are usage errors.
---@param o table<string, any> the command line
---@param unfit table[] {value, flag, why}: what doesn't go with xdp
---@return boolean xdp
function backend.check(o, unfit)
    if o.backend == "xdp" then
        for _, flag in ipairs(unfit) do
            if flag[1] then
                command.usage_error("%s doesn't go with --backend xdp%s", flag[2], flag[3] and ": " .. flag[3] or "")
            end
        end
        return true
    end
    for _, flag in ipairs { { o.xdp_mode, "--xdp-mode" }, { o.queues, "--queues" }, { o.pass, "--pass" },
        { o.latency, "--latency" } } do
        if flag[1] then
            command.usage_error("%s needs --backend xdp", flag[2])
        end
    end
    return false
end

--- Set the options of ringtap.capture, ringtap.port or ringtap.sender that the flags mean.
---@param o table<string, any> the command line
---@param options table<string, any>
---@return table<string, any> options
function backend.options(o, options)
    options.backend, options.mode, options.queues, options.pass = "xdp", o.xdp_mode, o.queues, o.pass
    options.latency = o.latency or options.latency
    return options
end

--- "native, copy, queue 0": how a source was opened.
---@param source ringtap.source
---@return string? nil: not by xdp
function backend.describe(source)
    local list = source:queues()
    if not list then
        return nil
    end
    return ("%s, %s, queue%s %s"):format(source:mode(), source:zerocopy() and "zero copy" or "copy",
        #list == 1 and "" or "s", table.concat(list, ","))
end

--- What it means for the host that nothing is left to it; nil: something is.
---@param o table<string, any> the command line
---@param filter? string
---@param names string
---@return string?
function backend.warning(o, filter, names)
    if o.backend == "xdp" and not o.pass and not filter then
        return ("everything that comes in on %s is taken from the host (a filter or --pass leaves it the rest)")
            :format(names)
    end
end

--- How many queues an interface has.
---@param name string
---@param netns? string
---@return integer
function backend.queue_count(name, netns)
    local i = ringtap.interface(name, netns)
    return i and (i.channels and i.channels.rx or i.rx_queue_count) or 1
end

return backend
