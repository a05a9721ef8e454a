--- The prompt itself: lines are read, run and their values shown, until the end of the input.

local complete = require "ringtap.repl.complete"
local core = require "ringtap.core"
local protocol = require "ringtap.protocol"
local ringtap = require "ringtap"
local show = require "ringtap.show"

local prompt = {}

-- ------------------------------------------------------------------ values

local function quoted(text)
    local is_text = utf8.len(text)
    text = text:gsub('[\\"]', "\\%0"):gsub("\n", "\\n"):gsub("\t", "\\t")
    return '"' .. show.clean(is_text and text or text:gsub("[\x80-\xff]", function(c)
        return ("\\x%02x"):format(c:byte())
    end)) .. '"'
end

--- A plain table as it would be written, to a small depth.
local function written(value, depth)
    if type(value) == "string" then
        return quoted(value)
    elseif type(value) ~= "table" or getmetatable(value) then
        return tostring(value)
    elseif depth == 0 then
        return next(value) == nil and "{}" or "{...}"
    end
    local parts, keys = {}, {}
    for i, v in ipairs(value) do
        parts[i] = i <= 100 and written(v, depth - 1) or nil
    end
    if #value > 100 then
        parts[101] = "..."
    end
    for key in pairs(value) do
        if not (math.type(key) == "integer" and key >= 1 and key <= #value) then
            keys[#keys + 1] = key
        end
    end
    table.sort(keys, function(a, b) return tostring(a) < tostring(b) end)
    for _, key in ipairs(keys) do
        local name = type(key) == "string" and key:find "^[%a_][%w_]*$" and key or "[" .. written(key, 1) .. "]"
        parts[#parts + 1] = name .. " = " .. written(value[key], depth - 1)
    end
    return "{" .. table.concat(parts, ", ") .. "}"
end

--- Values as the prompt shows them: text is shown as it is unless it has bytes in it that are none.
local function echo(print, ...)
    local values = table.pack(...)
    for i = 1, values.n do
        local value = values[i]
        if type(value) == "table" and not getmetatable(value) then
            values[i] = written(value, 3)
        elseif type(value) == "string" then
            local is_text = utf8.len(value)
            if not is_text or value:gsub("\27%[[%d;]*m", ""):find "[\0-\8\11-\31\127]" then
                values[i] = quoted(value)
            end
        end
    end
    print(table.unpack(values, 1, values.n))
end

-- ------------------------------------------------------------------ history

local KEPT = 1000 -- lines

local function history_path()
    local home = os.getenv "HOME"
    return home and home ~= "" and home .. "/.ringtap_history" or nil
end

local function load_history(path)
    local lines, file = {}, path and io.open(path)
    for line in file and file:lines() or function() end do
        lines[#lines + 1] = not line:find "\0" and line or nil
    end
    if file then
        file:close()
    end
    local first = math.max(1, #lines - KEPT + 1)
    for i = first, #lines do
        core._history(lines[i])
    end
    file = first > 1 and io.open(path, "w")
    if file then
        file:write(table.concat(lines, "\n", first), "\n")
        file:close()
    end
    return lines[#lines]
end

local function keep_line(path, line)
    core._history(line)
    local file = path and io.open(path, "a")
    if file then
        file:write(line, "\n")
        file:close()
    end
end

-- ------------------------------------------------------------------ the loop

--- What went wrong, without places that nobody at the prompt knows: one line, or also those that show the place in a
--- filter.
---@param message any
---@return string
function prompt.error_text(message)
    if type(message) == "table" and not (getmetatable(message) or {}).__tostring then
        return "(the error is a table)"
    end
    local text = tostring(message)
    text = text:find "\n *%^$" and text or text:match "^[^\n]*"
    repeat
        local n
        text, n = text:gsub("^prompt:%d+: ", "")
        if n == 0 then
            text, n = text:gsub("^%S*ringtap/[%w_/]+%.lua:%d+: ", "")
        end
    until n == 0
    return (text:gsub("[^\n]+", show.clean))
end

local function complain(text)
    local color = core._terminal(io.stderr) and show.colors_wanted()
    io.stdout:flush()
    io.stderr:write(color and "\27[31m" or "", text, color and "\27[0m" or "", "\n")
end

local function compile(text, env)
    local chunk, as_value = load("return " .. text, "=prompt", "t", env)
    local message
    if not chunk then
        chunk, message = load(text, "=prompt", "t", env)
    end
    -- what begins as no statement can was meant as a value, and is wrong somewhere else
    if message and text:find "^%s*[^%a_%s]" and message:find "unexpected symbol" then
        message = as_value
    end
    return chunk, message
end

--- A statement: more lines are read while it is not whole. Nil: the end; false: Ctrl-C.
local function read_statement(read, env)
    local text = read "ringtap> "
    while text do
        local chunk, message = compile(text, env)
        if chunk or not message:find "<eof>$" then
            return text, chunk, message
        end
        local more = read "      >> "
        if not more then
            return more == nil and text or false, nil, message
        end
        text = text .. "\n" .. more
    end
    return text
end

local function finish(print, ok, ...)
    if not ok then
        local message = prompt.error_text((...))
        complain(message:find "interrupted!$" and "interrupted" or message)
    elseif select("#", ...) > 0 then
        local shown, message = core._interruptible(echo, print, ...)
        if not shown then
            complain(prompt.error_text(message))
        end
    end
    return ok
end

local function read_edited(env)
    local path = history_path()
    local last = load_history(path)
    core._completer(function(word, before) return complete(word, before, env) end)
    return function(text)
        local line = core._prompt(text)
        if line and line:find "%S" and line ~= last then
            keep_line(path, line)
            last = line
        end
        return line
    end
end

--- Read and run lines until the end of the input.
---@param env table names of the prompt, with print; those of Lua and the protocols are added
---@param greeting string
---@return integer status for os.exit: 1 when there is nobody at the terminal and something went wrong
function prompt.run(env, greeting)
    setmetatable(env, {
        __index = function(_, name)
            local value = _G[name]
            if value == nil then
                local handles = ringtap.proto -- loads them; raises on a name that is none
                value = protocol.proto[name] and handles[name] or nil
            end
            return value
        end,
    })
    local terminal = core._terminal(io.stdin)
    local function read()
        return io.read "l"
    end
    if terminal then
        read = read_edited(env)
        io.stdout:write(greeting, "\n")
    end
    local status = 0
    local function step() -- true at the end
        local text, chunk, message = read_statement(read, env)
        if not text then
            return text == nil
        elseif text:match "^%s*exit%s*$" or text:match "^%s*quit%s*$" then
            return true
        elseif not chunk then
            complain(prompt.error_text(message))
            status = 1
        elseif not finish(env.print, core._interruptible(chunk)) then
            status = 1
        end
    end
    local ended, done
    repeat
        ended, done = core._interruptible(step)
        if not ended then -- Ctrl-C between two steps; anything else is no use going on
            done = not tostring(done):find "interrupted!$" and error(done, 0)
        end
    until done
    if terminal then
        io.stdout:write "\n"
    end
    return terminal and 0 or status
end

return prompt
