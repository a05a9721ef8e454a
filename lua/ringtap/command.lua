--- The command: `ringtap SUBCOMMAND ...`. A subcommand is a module under ringtap/command/ with run(args), which returns
--- the exit status, 0 or 1; a wrong command line is command.usage_error(), which ends the run with status 2.

-- The one that Lua finds, else the one that was taken along when ringtap was installed.
local found, argparse = pcall(require, "argparse")
if not found then
    found, argparse = pcall(require, "ringtap.argparse")
    if not found then
        io.stderr:write("ringtap: the command needs argparse (luarocks install argparse, or Debian's lua-argparse)\n")
        os.exit(1)
    end
end
local core = require "ringtap.core"

local command = {}

-- In the order of the help text.
local subcommands = {
    { "dump", "print packets or write them to a file, from an interface or a file, as tcpdump does" },
    { "fields", "print fields of packets in columns, as tshark -T fields does, or as JSON" },
    { "send", "send a packet, at a rate, with fields that change from frame to frame" },
    { "replay", "send what a capture file has, with the recorded gaps, as tcpreplay does" },
    { "forward", "pass packets from one interface to another, one way or both" },
    { "info", "what the kernel, the driver and your permissions mean for a capture" },
    { "repl", "a Lua prompt: take packets, look at them, choose, count, change, save" },
}

--- A remark or an error on standard error.
---@param format string
function command.complain(format, ...)
    io.stderr:write("ringtap: " .. format:format(...) .. "\n")
end

--- End the run with status 2.
---@param format string
function command.usage_error(format, ...)
    error({ usage = format:format(...) }, 0)
end

--- An argparse parser with --help.
---@param name string of the subcommand
---@param description string
---@return table parser
function command.parser(name, description)
    local parser = argparse("ringtap " .. name, description):add_help(false)
    parser:help_max_width(100):help_description_margin(28):usage_max_width(100)
    parser:flag("-h --help", "Show this help and exit."):action(function()
        os.exit(io.stdout:write(parser:get_help(), "\n") and io.stdout:flush() and 0 or 1, true)
    end)
    return parser
end

--- The words of a subcommand, parsed; a usage error if they can't be.
---@param parser table
---@param args string[]
---@return table<string, any>
function command.parse(parser, args)
    local ok, result = parser:pparse(args)
    if not ok then
        command.usage_error("%s", result:match("^[^\n]*")) -- the rest is a list of all flags
    end
    return result
end

--- For argparse's convert: an integer in a range.
---@param what string
---@param min integer
---@param max? integer
---@return fun(text: string): integer?, string?
function command.integer(what, min, max)
    return function(text)
        local n = text:match("^%d+$") and math.tointeger(tonumber(text))
        if not n or n < min or max and n > max then
            return nil, ("invalid %s '%s'"):format(what, text)
        end
        return n
    end
end

--- The module's version and what it runs on.
---@return string
function command.version()
    return ("%s (%s)"):format(require("ringtap")._VERSION, _VERSION)
end

local function help()
    local lines = { "Usage: ringtap SUBCOMMAND [flags] ...", "" }
    for _, entry in ipairs(subcommands) do
        lines[#lines + 1] = ("  %-10s %s"):format(entry[1], entry[2])
    end
    lines[#lines + 1] = ""
    lines[#lines + 1] = "dump, fields, send, replay and forward use AF_PACKET, or AF_XDP with --backend xdp."
    lines[#lines + 1] = "ringtap SUBCOMMAND --help tells its flags, ringtap --version the version."
    lines[#lines + 1] = "Exit status: 0 success, 1 failure, 2 wrong command line."
    return table.concat(lines, "\n") .. "\n"
end

local function dispatch(name, args)
    if name == nil then
        command.usage_error("which subcommand?")
    elseif name == "-h" or name == "--help" or name == "help" then
        io.stdout:write(help())
        return 0
    elseif name == "--version" then
        io.stdout:write(command.version(), "\n")
        return 0
    end
    for _, entry in ipairs(subcommands) do
        if entry[1] == name then
            return require("ringtap.command." .. name).run(args)
        end
    end
    command.usage_error("there is no subcommand '%s'", name)
end

local function on_error(err)
    if type(err) == "table" or tostring(err):find("interrupted!$") then
        return err
    end
    return debug.traceback(tostring(err), 2)
end

--- Run the command.
---@param args string[] as the interpreter's `arg`
---@return integer status for os.exit
function command.main(args)
    local name = args[1]
    core._keep_standard_files()
    local ok, result = xpcall(dispatch, on_error, name, table.move(args, 2, #args, 1, {}))
    if ok then
        local written, message = io.stdout:flush()
        if not written then
            command.complain("standard output: %s", message)
            return 1
        end
        return result
    end
    if type(result) == "table" and result.usage then
        local known = false
        for _, entry in ipairs(subcommands) do
            known = known or entry[1] == name
        end
        command.complain("%s\n(ringtap %s--help tells more)", result.usage, known and name .. " " or "")
        return 2
    end
    if tostring(result):find("interrupted!$") then -- Ctrl-C where nobody was waiting for it
        return 130
    end
    command.complain("%s", result)
    return 1
end

return command
