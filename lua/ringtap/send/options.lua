--- Options of verbs that are written in Lua: what is unknown raises with the nearest name, as in the C.

local core = require "ringtap.core"

local M = {}

local expected = {
    number = "a number, not negative", count = "an integer, not negative", positive = "a number above 0",
    boolean = "true or false",
    ["function"] = "a function", table = "a table", any = "",
}

local checks = {
    number = function(v) return type(v) == "number" and v >= 0 end,
    positive = function(v) return type(v) == "number" and v > 0 end,
    count = function(v) return math.type(v) == "integer" and v >= 0 end,
    boolean = function(v) return type(v) == "boolean" end,
    ["function"] = function(v) return type(v) == "function" end,
    table = function(v) return type(v) == "table" end,
    any = function() return true end,
}

--- Raises on what isn't there or has the wrong type.
---@param what string of the verb
---@param options? table
---@param known table<string, string> name to kind: a key of `checks`
---@return table
function M.check(what, options, known)
    if options == nil then
        return {}
    elseif type(options) ~= "table" then
        error(("%s: options must be a table, not %s"):format(what, type(options)), 0)
    end
    for key, v in pairs(options) do
        if type(key) ~= "string" or not known[key] then
            local names = {}
            for name in pairs(known) do
                names[#names + 1] = name
            end
            table.sort(names)
            local near = type(key) == "string" and core._nearest(key, names)
            error(("%s: unknown option '%s' (%s)"):format(what, tostring(key), near
                and ("did you mean '%s'?"):format(near) or "there are: " .. table.concat(names, ", ")), 0)
        elseif not checks[known[key]](v) then
            error(("%s: option '%s' must be %s, not %s"):format(what, key, expected[known[key]],
                type(v) == "number" and tostring(v) or type(v)), 0)
        end
    end
    return options
end

--- Seconds as integer nanoseconds; nil stays nil.
function M.nanoseconds(seconds)
    return seconds and (seconds < 9e9 and math.floor(seconds * 1e9) or math.maxinteger)
end

-- What is raised here or in the C below belongs to where the verb was called; what a script's own function raised has
-- its place already.
local function reraise(err)
    if type(err) ~= "string" then
        error(err, 0)
    end
    local message, ours = err:gsub("^[^\n]-ringtap/send/[%w_]+%.lua:%d+: ", "")
    if ours == 0 and message:find "^[^\n:]+:%d+: " then
        error(message, 0)
    end
    error(message, 4)
end

local function results(ok, ...)
    if not ok then
        reraise((...))
    end
    return ...
end

--- Call f and raise what it raises at the caller of the verb.
function M.guarded(f, ...)
    return results(pcall(f, ...))
end

return M
