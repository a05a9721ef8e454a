--- Syslog over UDP, RFC 5426: the priority, and a message as in RFC 3164 or RFC 5424.

-- Whole days from 1970-01-01 to a date of the Gregorian calendar.
local function days(year, month, day)
    year = month > 2 and year or year - 1
    month = month > 2 and month - 3 or month + 9 -- a year that begins in March
    return 365 * year + year // 4 - year // 100 + year // 400 + (153 * month + 2) // 5 + day - 719469
end

-- RFC 3339 to the text of a time
local function time_text(text)
    local y, mo, d, h, mi, s, rest = text:match "^(%d%d%d%d)-(%d%d)-(%d%d)T(%d%d):(%d%d):(%d%d)(.*)$"
    local fraction, zone = (rest or ""):match "^%.?(%d*)(.*)$"
    local sign, zh, zm = (zone or ""):match "^([+-])(%d%d):(%d%d)$"
    if not y or not sign and zone ~= "Z" then
        return nil
    end
    local at = days(tonumber(y), tonumber(mo), tonumber(d)) * 86400 + h * 3600 + mi * 60 + s
    if sign then
        at = at - tonumber(sign .. 1) * (zh * 3600 + zm * 60)
    end
    return ("%s.%s UTC"):format(os.date("!%b %e, %Y %H:%M:%S", math.tointeger(at)), (fraction .. "000000000"):sub(1, 9))
end

-- RFC 5424 6: version, time, host, application, process, and the rest; a "-" is nothing. RFC 3164 4.1: time, host, tag
-- and the rest.
local function parts(message)
    local t = {}
    message = message:match "^[^%z]*"
    if message:find "^1 " then
        local names = { "version", "timestamp", "hostname", "appname", "procid" }
        local at = 1
        for _, name in ipairs(names) do
            local from, to = message:find(" ", at, true)
            if not from then
                return t
            end
            t[name] = message:sub(at, from - 1)
            at = to + 1
            if name == "timestamp" then
                t.timestamp = time_text(t.timestamp)
            end
        end
        t.msgid = message:find(" ", at, true) and message:sub(at) or nil
        return t
    end
    local time, rest = message:match "^(%a%a%a [%d ]%d %d%d:%d%d:%d%d) (.*)$"
    if time then
        t.timestamp_rfc3164 = time
        t.hostname, rest = rest:match "^([^ ]*) (.*)$"
        if rest then
            t.procid, t.msgid = rest:match "^(%w*)(%W.*)$"
        end
    end
    return t
end

local function part(name, title)
    return { name, "string", title, size = "$rest", overlay = true, value = function(message)
        return parts(message)[name]
    end }
end

-- Facility and level are in a text: "<", their number, ">".
local function priority(values)
    if values._priority == nil and (values.facility or values.level) then
        values._priority = ("<%d>"):format((values.facility or 1) * 8 + (values.level or 5))
    end
end

return {
    name = "syslog", title = "Syslog message",
    on = { ["udp.port"] = 514 },
    build = priority,
    line = {
        { when = "_marked", "SYSLOG {facility}.{level}, length: {=$len}" },
        { when = "!_marked", "SYSLOG, length: {=$len}" },
    },
    { "_marked", value = "$u8(0) == 0x3c" },
    { "_one", value = "_marked && $u8(1) >= 0x30 && $u8(1) <= 0x39" },
    { "_two", value = "_one && $u8(2) >= 0x30 && $u8(2) <= 0x39" },
    { "_three", value = "_two && $u8(3) >= 0x30 && $u8(3) <= 0x39" },
    { "_number", value = "_three ? $u8(1) * 100 + $u8(2) * 10 + $u8(3) - 5328 : _two ? $u8(1) * 10 + $u8(2) - 528 : "
        .. "_one ? $u8(1) - 48 : 0" },
    { when = "_marked",
        { "facility", "uint", "Facility", value = "_number >> 3", values = {
            [0] = "kernel", "user", "mail", "daemon", "auth", "syslog", "lpr", "news", "uucp", "cron", "authpriv",
            "ftp", "ntp",
            "security", "console", "cron", "local0", "local1", "local2", "local3", "local4", "local5", "local6",
            "local7",
        } },
        { "level", "uint", "Level", value = "_number & 7", values = {
            [0] = "emergency", "alert", "critical", "error", "warning", "notice", "info", "debug",
        } },
    },
    { "_closed", value = "_marked && $u8(1 + _one + _two + _three) == 0x3e" },
    { "_priority", "string", size = "_marked + _one + _two + _three + _closed", default = "<13>" },
    part("version", "Version"),
    part("timestamp", "Timestamp"),
    part("timestamp_rfc3164", "Timestamp (RFC 3164)"),
    part("hostname", "Hostname"),
    part("appname", "App name"),
    part("procid", "Process id"),
    part("msgid", "Message id"),
    { "msg", "string", "Message" },
}
