--- HTTP/1, RFC 9110 and 9112: the first line and the headers of messages. What follows the headers is payload; a
-- segment that doesn't begin with a first line is left alone.

local methods = {
    "GET", "POST", "HEAD", "PUT", "DELETE", "OPTIONS", "CONNECT", "TRACE", "PATCH", -- RFC 9110, RFC 5789
    "PROPFIND", "PROPPATCH", "MKCOL", "COPY", "MOVE", "LOCK", "UNLOCK", -- RFC 4918
    "VERSION-CONTROL", "REPORT", "CHECKOUT", "CHECKIN", "UNCHECKOUT", "MKWORKSPACE", "UPDATE", "LABEL", "MERGE",
    "BASELINE-CONTROL", "MKACTIVITY", "SEARCH", -- RFC 3253, RFC 5323
    "BCOPY", "BMOVE", "BDELETE", "BPROPFIND", "BPROPPATCH", "POLL", "NOTIFY", "SUBSCRIBE", "UNSUBSCRIBE", -- Exchange
    "M-SEARCH", "RPC_CONNECT", "RPC_IN_DATA", "RPC_OUT_DATA", "SSTP_DUPLEX_POST", "CCM_POST",
}

-- An expression: do the bytes at the cursor ("$at") or at the layer's start ("$u") say this?
local function says(reader, text)
    local tests, at = {}, 0
    while at < #text do
        local n = #text - at >= 4 and 4 or #text - at >= 2 and 2 or 1
        tests[#tests + 1] = ("%s%d(%d) == 0x%x"):format(reader, 8 * n, at, (">I" .. n):unpack(text, at + 1))
        at = at + n
    end
    return table.concat(tests, " && ")
end

local function first_line(reader)
    local tests = { says(reader, "HTTP/"), says(reader, "ICY ") }
    for i, method in ipairs(methods) do
        tests[i + 2] = says(reader, method .. " ")
    end
    return table.concat(tests, " || ")
end

local reasons = {
    [100] = "Continue", [101] = "Switching Protocols", [102] = "Processing", [103] = "Early Hints", [200] = "OK",
    [201] = "Created", [202] = "Accepted", [203] = "Non-authoritative Information", [204] = "No Content",
    [205] = "Reset Content", [206] = "Partial Content", [207] = "Multi-Status", [208] = "Already Reported",
    [226] = "IM Used", [300] = "Multiple Choices", [301] = "Moved Permanently", [302] = "Found", [303] = "See Other",
    [304] = "Not Modified", [305] = "Use Proxy", [307] = "Temporary Redirect", [308] = "Permanent Redirect",
    [400] = "Bad Request", [401] = "Unauthorized", [402] = "Payment Required", [403] = "Forbidden",
    [404] = "Not Found", [405] = "Method Not Allowed", [406] = "Not Acceptable",
    [407] = "Proxy Authentication Required", [408] = "Request Time-out", [409] = "Conflict", [410] = "Gone",
    [411] = "Length Required", [412] = "Precondition Failed", [413] = "Request Entity Too Large",
    [414] = "Request-URI Too Long", [415] = "Unsupported Media Type", [416] = "Requested Range Not Satisfiable",
    [417] = "Expectation Failed", [418] = "I'm a teapot", [421] = "Misdirected Request",
    [422] = "Unprocessable Entity", [423] = "Locked", [424] = "Failed Dependency", [425] = "Too Early",
    [426] = "Upgrade Required", [428] = "Precondition Required", [429] = "Too Many Requests",
    [431] = "Request Header Fields Too Large", [451] = "Unavailable For Legal Reasons",
    [500] = "Internal Server Error", [501] = "Not Implemented", [502] = "Bad Gateway", [503] = "Service Unavailable",
    [504] = "Gateway Time-out", [505] = "HTTP Version not supported", [506] = "Variant Also Negotiates",
    [507] = "Insufficient Storage", [508] = "Loop Detected", [510] = "Not Extended",
    [511] = "Network Authentication Required",
}

local function reason(bytes)
    local code = tonumber(bytes)
    return reasons[code] or ("Unknown (%d)"):format(code or 0)
end

-- As with ascii = true: other bytes are shown as U+FFFD.
local function ascii(text)
    return (text:gsub("[\x80-\xff]", "\u{fffd}"))
end

-- The path, where a query with something in it follows.
local function path(bytes, layer, at)
    return layer:find("^%?[^ \r\n]", at + #bytes) and ascii(bytes) or nil
end

-- From a message's first line and its Host header; `at` is anywhere behind the message's headers.
local function full_uri(_, layer, at)
    local from, last = 1, nil
    for line_end in layer:sub(1, at - 2):gmatch "\r?\n\r?\n()" do -- of several messages, the last one
        if line_end < at then
            from = line_end
        end
    end
    local head = layer:sub(from, at - 1)
    local method, uri = head:match "^(%S+) (%S*)"
    for name, value in head:gmatch "\n([%w-]+):[ \t]*([^\r\n]*)" do
        last = name:lower() == "host" and value or last
    end
    if not uri or not last then
        return nil
    elseif method == "CONNECT" or uri:find "^%a[%w+.-]*://" then
        return ascii(uri)
    end
    return ascii("http://" .. last .. uri)
end

local digits = {}
for i = 0, 63 do
    digits[("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"):byte(i + 1)] = i
end

-- Name and password of Basic authentication, RFC 7617: base64 (RFC 4648).
local function credentials(bytes)
    local text = bytes:match "^[Bb][Aa][Ss][Ii][Cc] +([%w+/]+)"
    local out, value, bits = {}, 0, 0
    for i = 1, text and #text or 0 do
        value, bits = value << 6 | digits[text:byte(i)], bits + 6
        if bits >= 8 then
            bits = bits - 8
            out[#out + 1] = string.char(value >> bits & 0xff)
        end
    end
    return text and table.concat(out) or nil
end

local function with_credentials(name, title)
    return { name, "string", title, sub = {
        { "authbasic", "string", "Credentials", size = "$rest", value = credentials },
    } }
end

local headers = {
    ["Accept"] = "accept", ["Accept-Encoding"] = "accept_encoding", ["Accept-Language"] = "accept_language",
    ["Authorization"] = with_credentials("authorization", "Authorization"), ["Cache-Control"] = "cache_control",
    ["Connection"] = "connection", ["Content-Encoding"] = "content_encoding",
    ["Content-Length"] = { "content_length_header", "string", "Content-Length", sub = {
        { "content_length", "decimal", "Content length" },
    } },
    ["Content-Type"] = "content_type",
    ["Cookie"] = { "cookie", "string", "Cookie", sub = {
        { loop = true, list = "cookies",
            { "_space", 8, when = "$at8(0) == 0x20" },
            { "cookie_pair", "string", "Cookie pair", ascii = true, until_ = ";" },
        },
    } },
    ["Date"] = "date", ["Host"] = "host", ["HTTP2-Settings"] = "http2_settings", ["Last-Modified"] = "last_modified",
    ["Location"] = "location", ["Proxy-Authenticate"] = "proxy_authenticate",
    ["Proxy-Authorization"] = with_credentials("proxy_authorization", "Proxy-Authorization"), ["Referer"] = "referer",
    ["Sec-WebSocket-Accept"] = "sec_websocket_accept", ["Sec-WebSocket-Extensions"] = "sec_websocket_extensions",
    ["Sec-WebSocket-Key"] = "sec_websocket_key", ["Sec-WebSocket-Protocol"] = "sec_websocket_protocol",
    ["Sec-WebSocket-Version"] = "sec_websocket_version", ["Server"] = "server", ["Set-Cookie"] = "set_cookie",
    ["Transfer-Encoding"] = "transfer_encoding", ["Upgrade"] = "upgrade", ["User-Agent"] = "user_agent",
    ["WWW-Authenticate"] = "www_authenticate", ["X-Forwarded-For"] = "x_forwarded_for",
}
for key, field in pairs(headers) do
    if key ~= "Host" then
        field = type(field) == "table" and field or { field, "string", key }
        field.ascii = true
        headers[key] = field
    end
end

local function u32(text)
    return (">I4"):unpack(text)
end
local is_response = ("($at32(0) == %d || $at32(0) == %d)"):format(u32 "HTTP", u32 "ICY ")

local response = {
    { until_ = "\r\n",
        { "response.version", "string", "Response Version", ascii = true, until_ = " ", default = "HTTP/1.1" },
        { "response.code.desc", "string", "Status Code Description", size = "$rest < 3 ? $rest : 3",
            overlay = true, value = reason },
        { "response.code", "decimal", "Status Code", until_ = " ", default = 200 },
        { "response.phrase", "string", "Response Phrase", ascii = true, when = "$rest > 0", default = "OK" },
    },
    { headers = headers, line = { "response.line", "string", "Line", ascii = true } },
    { "response", "bool", "Response", value = 1, hidden = true },
}

local request = {
    { until_ = "\r\n",
        { "request.method", "string", "Request Method", ascii = true, until_ = " ", default = "GET" },
        { "request.uri", "string", "Request URI", ascii = true, until_ = " ", default = "/", sub = {
            { "request.uri.path", "string", "Request URI Path", until_ = "?", value = path },
            { when = "$rest > 0",
                { "request.uri.query", "string", "Request URI Query", ascii = true, overlay = true },
                { loop = true, list = "parameters",
                    { "request.uri.query.parameter", "string", "Request URI Query Parameter", ascii = true,
                        until_ = "&" },
                },
            },
        } },
        { "request.version", "string", "Request Version", ascii = true, default = "HTTP/1.1" },
    },
    { headers = headers, line = { "request.line", "string", "Line", ascii = true } },
    { "request.full_uri", "string", "Full request URI", value = full_uri },
    { "request", "bool", "Request", value = 1, hidden = true },
}

return {
    name = "http", title = "Hypertext Transfer Protocol",
    on = { ["tcp.port"] = {
        80, 631, 1900, 2710, 2869, 3128, 3132, 3689, 5985, 8080, 8088, 11371,
    }, ["sctp.port"] = 80 },
    accept = first_line "$u",
    guess = { tcp = ('$line("HTTP/1.") && (%s)'):format(first_line "$u") },
    stream = true,
    line = {
        { when = "_kind == 1", "HTTP: {request.method} {request.uri} {request.version}" },
        { when = "_kind == 2", "HTTP: {response.version} {response.code#} {response.phrase}" },
    },
    -- A message without a body may be followed by the next one at once.
    { loop = true, list = "messages", stop = "!_again",
        { "_kind", value = "1 + " .. is_response },
        { switch = "_kind", cases = { [1] = request, [2] = response } },
        { "_again", value = 0 },
        { "_again", value = first_line "$at" },
    },
}
