--- The words of a condition (ringtap/where.lua).

local words_of_ops = { ["or"] = "or", ["and"] = "and", ["not"] = "not", contains = "contains", matches = "matches",
    ["in"] = "in", eq = "==", ne = "~=", lt = "<", le = "<=", gt = ">", ge = ">=" }
local signs = { ["=="] = "==", ["~="] = "~=", ["!="] = "~=", ["<="] = "<=", [">="] = ">=", ["<"] = "<", [">"] = ">",
    ["&&"] = "and", ["||"] = "or", ["!"] = "not", ["("] = "(", [")"] = ")",
    ["{"] = "{", ["}"] = "}", [","] = ",", [".."] = ".." }
local escapes = { n = "\n", r = "\r", t = "\t", ["0"] = "\0" }

local function fail(format, ...)
    error({ where = format:format(...) }, 0)
end

local HELP = ' (help"where" tells the language)'

local function read_string(text, at)
    local quote, parts = text:sub(at, at), {}
    local i = at + 1
    while true do
        local c = text:sub(i, i)
        if c == "" then
            fail("the string that begins with %s has no end", text:sub(at, at + 10))
        elseif c == quote then
            return table.concat(parts), i + 1
        elseif c == "\\" then
            local hex = text:match("^x(%x%x)", i + 1)
            local e = text:sub(i + 1, i + 1)
            parts[#parts + 1] = hex and string.char(tonumber(hex, 16)) or escapes[e] or e
            i = i + (hex and 4 or 2)
        else
            parts[#parts + 1] = c
            i = i + 1
        end
    end
end

--- A list of { kind, value }: "op", "string", "number", "bool", "word" (an address, or bytes in hex) or "name".
local function scan(text)
    local tokens, i = {}, 1
    local function add(kind, value, written)
        tokens[#tokens + 1] = { kind = kind, value = value, written = written }
    end
    while true do
        i = text:find("%S", i)
        if not i then
            return tokens
        end
        local two, one = text:sub(i, i + 1), text:sub(i, i)
        local word = text:match("^%-?[%w_:][%w_.:/#%-]*", i)
        word = word and (word:match "^(.-)%.%." or word) -- a range's first end
        if signs[two] then
            add("op", signs[two])
            i = i + 2
        elseif signs[one] then
            add("op", signs[one])
            i = i + 1
        elseif one == '"' or one == "'" then
            local value
            value, i = read_string(text, i)
            add("string", value)
        elseif not word then
            fail("'%s' is not understood%s", one, one == "=" and " (did you mean '=='?)" or HELP)
        else
            i = i + #word
            if words_of_ops[word] then
                add("op", words_of_ops[word])
            elseif word == "true" or word == "false" then
                add("bool", word == "true")
            elseif tonumber(word) then
                add("number", tonumber(word), word)
            elseif word:find ":" or word:find "^%d+%.%d+%.%d+%.%d+" or word:find "^%x%x%-%x%x%-" then
                add("word", word)
            elseif word:find "^[%a_]" then
                add("name", word)
            else
                fail("'%s' is not understood%s", word, HELP)
            end
        end
    end
end

return { scan = scan, fail = fail, HELP = HELP }
