--- Times as text, in the forms that Wireshark's fields have and its filters take: nanoseconds since 1970.

local moment = {}

local months = {}
for i, name in ipairs { "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec" } do
    months[name] = i
end

local FARTHEST = 9200000000 -- seconds that still fit as nanoseconds: what is beyond, in 2261, stays there

--- Nanoseconds of whole seconds and the digits behind the point.
local function ticks(seconds, digits)
    return math.max(-FARTHEST, math.min(seconds, FARTHEST)) * 1000000000
        + math.tointeger(tonumber((digits .. "000000000"):sub(1, 9)))
end

--- Days since 1970 of a date in the Gregorian calendar, the year beginning in March so that February is its end.
local function days(year, month, day)
    local y, m = month > 2 and year or year - 1, (month + 9) % 12
    return 365 * y + y // 4 - y // 100 + y // 400 + (153 * m + 2) // 5 + day - 719469
end

--- Seconds since 1970 of a time as the clocks here show it; of an hour that comes twice, one of them.
local function here(d)
    local ok, seconds = pcall(os.time, { year = d.year, month = d.month, day = d.day, hour = d.hour, min = d.minute,
        sec = d.second })
    return ok and seconds or nil
end

--- Seconds that a zone is ahead of UTC: "Z", "UTC", "+01:00", "-0730"; nil for others.
local function offset(zone)
    local sign, hours, minutes = zone:match "^([+-])(%d%d):?(%d%d)$"
    if sign then
        return (tonumber(hours) * 3600 + tonumber(minutes) * 60) * (sign == "-" and -1 or 1)
    end
    return (zone == "Z" or zone == "UTC") and 0 or nil
end

--- "2023-11-14 22:13:30.25", also with a T, with less behind the date, with a zone; or "Nov 14, 2023 22:13:30.25 UTC"
--- as fields print it. Without a zone it is local time; a zone's name is known when it is the one here.
---@param text string
---@return integer? nanoseconds
function moment.parse(text)
    local year, month, day, rest = text:match "^(%d%d%d%d)%-(%d%d?)%-(%d%d?)(.*)$"
    if not year then
        month, day, year, rest = text:match "^(%a%a%a) +(%d%d?), (%d%d%d%d)(.*)$"
        month = months[month]
    end
    if not month then
        return nil
    end
    local hour, minute, behind = rest:match "^[T ] *(%d%d?):(%d%d)(.*)$"
    rest = behind or rest
    local second, after = rest:match "^:(%d%d)(.*)$"
    rest = hour and after or rest
    local digits, zone = rest:match "^%.(%d+)(.*)$"
    zone = ((second and zone) or rest):match "^ *(.*)$"
    local d = { year = year, month = month, day = day, hour = hour or 0, minute = minute or 0, second = second or 0 }
    for key, value in pairs(d) do
        d[key] = math.tointeger(tonumber(value))
    end
    if d.month < 1 or d.month > 12 or d.day < 1 or d.hour > 23 or d.minute > 59 or d.second > 60
        or d.day > days(d.month < 12 and d.year or d.year + 1, d.month % 12 + 1, 1) - days(d.year, d.month, 1) then
        return nil
    end
    local seconds
    local ahead = offset(zone)
    if ahead then
        seconds = days(d.year, d.month, d.day) * 86400 + d.hour * 3600 + d.minute * 60 + d.second - ahead
    else
        seconds = here(d)
        if not seconds or zone ~= "" and zone ~= os.date("%Z", seconds) then
            return nil
        end
    end
    return ticks(seconds, digits or "")
end

--- A number of seconds since 1970, written with as many decimals as one likes.
---@param text string
---@return integer? nanoseconds
function moment.seconds(text)
    local sign, whole, digits = text:match "^(%-?)(%d+)%.?(%d*)$"
    local seconds = whole and tonumber(whole) or tonumber(text)
    if not seconds or seconds ~= seconds then
        return nil
    elseif whole then
        local ns = ticks(math.tointeger(seconds) or FARTHEST, digits)
        return sign == "-" and -ns or ns
    end
    return math.floor(math.max(-FARTHEST, math.min(seconds, FARTHEST)) * 1e9)
end

--- A field's text: one that parse() takes, or "NULL", as a timestamp of NTP that is 0 prints.
---@param text string
---@return integer? nanoseconds
function moment.of_field(text)
    return text == "NULL" and 0 or moment.parse(text)
end

return moment
