--- What a list of packets has in it: counts of a field's values, their distribution, protocols and rates, and what the
--- two ends of a flow said to each other. Results are tables for scripts, and text when they are printed.

local show = require "ringtap.show"
local where = require "ringtap.where"

local analysis = {}

local function plural(n, what)
    return ("%d %s%s"):format(n, what, n == 1 and "" or "s")
end

local function pad(text, width)
    return text .. (" "):rep(width - (utf8.len(text) or #text))
end

local function cut(text, width)
    local n = utf8.len(text) or #text
    if n <= width then
        return text
    end
    return text:sub(1, (utf8.offset(text, width - 2) or width - 2) - 1) .. "..."
end

-- ------------------------------------------------------------------ count

---@class ringtap.count_row
---@field value string what the field's value is as text; of several fields, joined by blanks
---@field values string[]
---@field count integer
---@field name? string the value's name

local ROWS = 50

local function render_count(v, style)
    local widths, most = {}, #"count"
    local cells = { [0] = v.fields }
    for i = 1, math.min(#v, ROWS) do
        local row = v[i]
        cells[i] = {}
        for j, value in ipairs(row.values) do
            cells[i][j] = cut(show.clean(value) .. (row.name and (" (%s)"):format(row.name) or ""),
                #row.values > 1 and 40 or 60)
        end
        most = math.max(most, #tostring(row.count))
    end
    for i = 0, #cells do
        for j, cell in ipairs(cells[i]) do
            widths[j] = math.max(widths[j] or 0, utf8.len(cell) or #cell)
        end
    end
    local function columns(row)
        local padded = {}
        for j, cell in ipairs(row) do
            padded[j] = pad(cell, widths[j])
        end
        return table.concat(padded, "  ")
    end
    local lines = { show.paint("bold", ("%s  %s       %%"):format(columns(v.fields), ("%" .. most .. "s")
        :format("count")), style) }
    for i, row in ipairs(cells) do
        lines[#lines + 1] = ("%s  %" .. most .. "d  %6.1f"):format(columns(row), v[i].count, v[i].count * 100 / v.total)
    end
    if #v > ROWS then
        lines[#lines + 1] = ("... %d more"):format(#v - ROWS)
    end
    if v.without > 0 then
        lines[#lines + 1] = show.paint("faint", ("(%s without)"):format(plural(v.without, "packet")), style)
    end
    return table.concat(lines, "\n")
end

--- Texts of what is counted in a packet: every occurrence of one field, or one combination of several.
local function counted(fields)
    local first = fields[1]
    if #fields == 1 and type(first) == "function" then
        return function(pkt, context)
            local value = first(pkt, context)
            return value ~= nil and { { tostring(value) } } or {}
        end
    elseif #fields == 1 and type(first) == "string" and not first:find "^frame%." then
        where.getter(first) -- raises when there is no such field
        return function(pkt)
            local list = {}
            for i, text in ipairs(pkt:texts(first)) do
                list[i] = { text }
            end
            return list
        end
    end
    local getters = {}
    for i, field in ipairs(fields) do
        getters[i] = type(field) == "function" and field or where.getter(field)
    end
    return function(pkt, context)
        local values = {}
        for i, get in ipairs(getters) do
            local value = get(pkt, context)
            if value == nil then
                return {}
            end
            values[i] = tostring(value)
        end
        return { values }
    end
end

--- How often each value of a field occurs, the most frequent first; of several fields, each combination.
---@param list ringtap.list
---@param ... string|fun(pkt: ringtap.packet): any fields
---@return ringtap.view|ringtap.count_row[] rows with total, and without: packets that don't have it
function analysis.count(list, ...)
    local fields = { ... }
    if #fields == 0 then
        error("count: which field? count(p, \"ip.src\")", 2)
    end
    local ok, texts = pcall(counted, fields)
    if not ok then
        error((tostring(texts):gsub("^[^:]*:%d+: ", "")), 2)
    end
    local rows, by_key = { total = 0, without = 0, fields = {} }, {}
    for i, field in ipairs(fields) do
        rows.fields[i] = type(field) == "string" and field or "function"
    end
    for pkt, context in list:each() do
        local found = texts(pkt, context)
        rows.without = rows.without + (#found == 0 and 1 or 0)
        for _, values in ipairs(found) do
            local key = table.concat(values, "  ")
            local row = by_key[key]
            if not row then
                row = { value = key, values = values, count = 0 }
                rows[#rows + 1], by_key[key] = row, row
            end
            row.count = row.count + 1
            rows.total = rows.total + 1
        end
    end
    local field = #fields == 1 and type(fields[1]) == "string" and show.field(fields[1])
    for _, row in ipairs(field and field.values and rows or {}) do
        row.name = show.value_name(field, math.tointeger(tonumber(row.value)))
    end
    table.sort(rows, function(a, b)
        if a.count ~= b.count then
            return a.count > b.count
        end
        local x, y = tonumber(a.value), tonumber(b.value)
        if x and y and x ~= y then
            return x < y
        end
        return a.value < b.value
    end)
    return show.view(rows, render_count)
end

-- ------------------------------------------------------------------ hist

---@class ringtap.bin
---@field from number
---@field to number the next bin's from
---@field count integer

local BINS = 15

--- 1, 2 or 5 times a power of ten, not less than the least.
local function nice(least)
    local power = 10.0 ^ math.floor(math.log(least, 10))
    for _, step in ipairs { 1, 2, 5, 10 } do
        if step * power >= least * (1 - 1e-9) then
            return step * power
        end
    end
    return 10 * power
end

local function render_hist(v, style)
    if #v == 0 then
        return "nothing to plot: no packet has " .. v.field
    end
    local labels, width, most, highest = {}, 0, 0, 0
    for i, bin in ipairs(v) do
        if v.whole and bin.to - bin.from == 1 then
            labels[i] = ("%d"):format(bin.from)
        elseif v.whole then
            labels[i] = ("%d - %d"):format(bin.from, bin.to - 1)
        else
            labels[i] = ("%.6g - %.6g"):format(bin.from, bin.to)
        end
        width = math.max(width, #labels[i])
        most = math.max(most, #tostring(bin.count))
        highest = math.max(highest, bin.count)
    end
    local room = math.max((style.width or show.columns()) - width - most - 4, 10)
    local lines = { show.paint("bold", ("%s: %s, least %.6g, most %.6g, mean %.6g"):format(v.field,
        plural(v.total, "value"), v.least, v.most, v.mean), style) }
    for i, bin in ipairs(v) do
        local bar = ("#"):rep(bin.count == 0 and 0 or math.max(1, math.floor(bin.count * room / highest + 0.5)))
        local line = ("%" .. width .. "s  %" .. most .. "d  "):format(labels[i], bin.count)
        lines[#lines + 1] = (line .. (style.color and "\27[36m" .. bar .. "\27[0m" or bar)):gsub(" +$", "")
    end
    return table.concat(lines, "\n")
end

--- How the numbers of a field (every occurrence) are spread.
---@param list ringtap.list
---@param field string|fun(pkt: ringtap.packet): number?
---@param bins? integer about so many; default 15
---@return ringtap.view|ringtap.bin[] bins with total, least, most and mean
function analysis.hist(list, field, bins)
    local name = type(field) == "string" and field or "function"
    local ok, get = pcall(function()
        return type(field) == "function" and field or where.getter(field)
    end)
    if not ok then
        error((tostring(get):gsub("^[^:]*:%d+: ", "")), 2)
    end
    local every = type(field) == "string" and not name:find "^frame%."
    local numbers, whole, sum = {}, true, 0
    local function take(value)
        local n = type(value) == "boolean" and (value and 1 or 0) or tonumber(value)
        if value ~= nil and not n then
            error(("hist: %s is no number: '%s'"):format(name, show.clean(tostring(value))), 3)
        elseif n then
            numbers[#numbers + 1] = n
            whole = whole and math.tointeger(n) ~= nil
            sum = sum + n
        end
    end
    for pkt, context in list:each() do
        local value = get(pkt, context)
        if value ~= nil and every then
            for _, occurrence in ipairs(pkt:all(field)) do
                take(occurrence)
            end
        else
            take(value)
        end
    end
    local v = { field = name, total = #numbers, whole = whole }
    if #numbers > 0 then
        v.least, v.most, v.mean = numbers[1], numbers[1], sum / #numbers
        for _, n in ipairs(numbers) do
            v.least, v.most = math.min(v.least, n), math.max(v.most, n)
        end
        local step = nice(math.max((v.most - v.least) / (bins or BINS), whole and 1 or 1e-9))
        if whole then
            step = math.max(1, math.floor(step))
        end
        local start = v.least // step
        for i = 0, v.most // step - start do
            v[math.tointeger(i) + 1] = { from = (start + i) * step, to = (start + i + 1) * step, count = 0 }
        end
        for _, n in ipairs(numbers) do
            local bin = v[math.tointeger(n // step - start) + 1]
            bin.count = bin.count + 1
        end
    end
    return show.view(v, render_hist)
end

-- ------------------------------------------------------------------ summary

---@class ringtap.protocol_count
---@field name string
---@field path string "eth:ip:udp"
---@field depth integer
---@field packets integer
---@field bytes integer on the wire, of whole packets

local function scaled(n, unit)
    for _, step in ipairs { { 1e9, "G" }, { 1e6, "M" }, { 1e3, "k" } } do
        if n >= step[1] then
            return ("%.2f %s%s"):format(n / step[1], step[2], unit)
        end
    end
    return ("%.1f %s"):format(n, unit)
end

local function render_summary(v, style)
    local lines = { show.paint("bold", ("%s, %s%s"):format(plural(v.packets, "packet"), plural(v.bytes, "byte"),
        v.from and ", from " .. v.from or ""), style) }
    if v.first then
        local line = ("%s, %.6f s"):format(show.time_text(v.first), v.duration)
        if v.duration > 0 then
            line = line .. (", %.1f packets/s, %s"):format(v.rate, scaled(v.bit_rate, "bit/s"))
        end
        lines[#lines + 1] = line
    end
    if v.dropped and v.dropped > 0 then
        lines[#lines + 1] = show.paint("wrong", plural(v.dropped, "packet") .. " dropped", style)
    end
    local width = 8
    for _, p in ipairs(v.protocols) do
        width = math.max(width, p.depth * 2 + #p.name)
    end
    if #v.protocols > 0 then
        local title = ("%s  %8s  %12s"):format(pad("protocol", width), "packets", "bytes")
        lines[#lines + 1] = show.paint("bold", title, style)
    end
    for _, p in ipairs(v.protocols) do
        local name = (" "):rep(p.depth * 2) .. p.name
        local color = style.color and show.layer_color(p.depth + 1)
        lines[#lines + 1] = ("%s  %8d  %12d"):format(color and color .. pad(name, width) .. "\27[0m"
            or pad(name, width), p.packets, p.bytes)
    end
    return table.concat(lines, "\n")
end

--- What there is: packets, bytes, time and rates, and the protocols as they lie in each other.
---@param list ringtap.list
---@return ringtap.view summary packets, bytes, first, duration (seconds), rate (packets/s), bit_rate, dropped,
--- protocols (ringtap.protocol_count[])
function analysis.summary(list)
    local v = { packets = 0, bytes = 0, from = list.from, dropped = list.dropped, protocols = {} }
    local root, last = { order = {} }, nil
    for pkt in list:each() do
        v.packets, v.bytes = v.packets + 1, v.bytes + pkt.len
        local time, node = pkt.time, root
        if time then
            v.first = math.min(v.first or time, time)
            last = math.max(last or time, time)
        end
        for _, name in ipairs(pkt:layers()) do
            if not node[name] then
                node[name] = { order = {}, packets = 0, bytes = 0 }
                node.order[#node.order + 1] = name
            end
            node = node[name]
            node.packets, node.bytes = node.packets + 1, node.bytes + pkt.len
        end
    end
    v.duration = v.first and (last - v.first) / 1e9 or 0.0
    if v.duration > 0 then
        v.rate, v.bit_rate = v.packets / v.duration, v.bytes * 8 / v.duration
    end
    local function flatten(node, path, depth)
        table.sort(node.order, function(a, b)
            if node[a].packets ~= node[b].packets then
                return node[a].packets > node[b].packets
            end
            return a < b
        end)
        for _, name in ipairs(node.order) do
            local one, own = node[name], path == "" and name or path .. ":" .. name
            v.protocols[#v.protocols + 1] = { name = name, path = own, depth = depth, packets = one.packets,
                bytes = one.bytes }
            flatten(one, own, depth + 1)
        end
    end
    flatten(root, "", 0)
    return show.view(v, render_summary)
end

return analysis
