--- What the Tab key offers at the prompt: names of fields and files inside of quotes, else names of Lua, methods, and
--- the options of sniff.

local core = require "ringtap.core"
local protocol = require "ringtap.protocol"
local ringtap = require "ringtap"
local topics = require "ringtap.repl.topics"

local keywords = { "and", "break", "do", "else", "elseif", "end", "false", "for", "function", "goto", "if", "in",
    "local", "nil", "not", "or", "repeat", "return", "then", "true", "until", "while" }
local sniff_options = { "count", "duration", "idle", "iface", "file", "filter", "promisc", "snaplen", "netns",
    "direction", "backend", "pass" }

-- Where in a line that ends inside of quotes the word is the name of a file.
local for_files = { "load%s*%(?%s*[\"']$", "save%s*%([^\"']*,%s*[\"']$", "save%s*[\"']$", "file%s*=%s*[\"']$",
    "dofile%s*%(?%s*[\"']$" }

--- The line up to the quote that is still open, with it; nil: none is.
local function open_quote(before)
    local quote, from
    for at, c in before:gmatch "()([\"'])" do
        if not quote then
            quote, from = c, at
        elseif c == quote then
            quote = nil
        end
    end
    return quote and before:sub(1, from)
end

local function is_packet(value)
    return type(value) == "userdata" and pcall(function() return value.caplen end)
end

--- Tables whose keys are names of a value: what it has itself, and its methods.
local function tables_of(value)
    if type(value) == "table" then
        local mt = getmetatable(value)
        local index = type(mt) == "table" and rawget(mt, "__index")
        return { value, type(index) == "table" and index or nil }
    elseif type(value) == "string" then
        return { string }
    elseif is_packet(value) then
        return { core._packet_names }
    end
    return {}
end

--- The value of "a.b[3]", as far as tables that are read give it; nothing is called.
local function value_of(path, env)
    local value = env
    for name, number in path:gsub("%[(%d+)%]", ".#%1"):gmatch "([^.#]*)#?(%d*)" do
        local key = number ~= "" and math.tointeger(tonumber(number)) or name
        if key ~= "" then
            value = type(value) == "table" and value[key] or nil
        end
    end
    return value
end

--- Words that the one before the cursor may become.
---@param word string
---@param before string the line up to it
---@param env table names of the prompt
---@return string[]? words nil: names of files
return function(word, before, env)
    local words, seen = {}, {}
    local function add(candidate)
        if candidate:sub(1, #word) == word and not seen[candidate] then
            words[#words + 1], seen[candidate] = candidate, true
        end
    end
    local function add_all(list)
        for _, candidate in ipairs(list) do
            add(candidate)
        end
        return words
    end
    local quote = open_quote(before)
    if quote then
        for _, pattern in ipairs(for_files) do
            if quote:find(pattern) then
                return nil
            end
        end
        if quote:find "help%s*%(?%s*[\"']$" then
            for _, topic in ipairs(topics) do
                add(topic[1])
            end
        elseif quote:find "iface%s*=%s*[\"']$" then
            for _, i in ipairs(ringtap.interfaces() or {}) do
                add(i.name)
            end
        else
            add_all(ringtap.field_names())
            add_all(protocol.order)
        end
        return words
    end
    local method = before:match "([%a_][%w_.%[%]]*):$"
    local head = word:find "^%." and before:match "([%a_][%w_.%[%]]*)$" or "" -- "p[3]" of p[3].len: ']' ends a word
    local path = method or word:match "^(.*)%."
    for _, names in ipairs(path and tables_of(value_of(method or head .. path, env)) or {}) do
        for key, value in pairs(names) do
            if type(key) == "string" and not key:find "^_" and not (method and type(value) == "table") then
                add(method and key or path .. "." .. key)
            end
        end
    end
    local variable = head == "" and word:match "^([%a_][%w_]*)%." or ""
    if path and not method and is_packet(value_of(head == "" and variable or head, env)) then
        for _, name in ipairs(ringtap.field_names()) do
            add(variable .. "." .. name)
        end
    end
    if not path then
        if before:find "sniff%s*{[^}]*$" then
            add_all(sniff_options)
        end
        for _, names in ipairs { env, _G } do
            for key in pairs(names) do
                if type(key) == "string" then
                    add(key)
                end
            end
        end
        add_all(keywords)
    end
    return words
end
