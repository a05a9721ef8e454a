--- SIP, RFC 3261: the first line and the headers of a message, with the parts of addresses, Via, CSeq and credentials.
-- What follows the headers is payload.

-- A field that is worked out from the whole value of a header.
local function part(name, title, find, also)
    return { name, "string", title, size = "$rest", overlay = true, value = find, also = also }
end

-- RFC 3261, 25.1: name-addr or addr-spec. The URI is what is between < and >, or all up to a parameter of the header.
local function uri_of(text)
    local uri = text:match "<([^>]*)>"
    if uri then
        return uri
    end
    uri = text:match "^%s*([^;,%s]+)"
    return uri and uri:lower():find "^sips?:" and uri or nil
end

-- User, host and port of a sip: or sips: URI.
local function split_uri(uri)
    local rest = uri and uri:match "^[sS][iI][pP][sS]?:([^;?]*)"
    if not rest then
        return nil
    end
    local user, server = rest:match "^([^@]*)@(.*)$"
    server = server or rest
    local host, port = server:match "^%[(.-)%]:?(%d*)$"
    if not host then
        host, port = server:match "^([^:]*):?(%d*)$"
    end
    return user and user:match "^[^:]*", host, port
end

local function piece(n, of)
    return function(text)
        local value = select(n, split_uri(of(text)))
        return value ~= "" and value or nil
    end
end

local function whole(text)
    return text
end

local function display(text)
    return text:match '^%s*("[^"]*")%s*<' or text:match "^%s*([^%s<\"][^<\"]*)<"
end

local function uri_parts(prefix, of)
    return {
        part(prefix .. ".user", "User Part", piece(1, of)),
        part(prefix .. ".host", "Host Part", piece(2, of)),
        part(prefix .. ".port", "Host Port", piece(3, of)),
    }
end

local function parameter(name)
    return function(text)
        return (";" .. text:gsub("<[^>]*>", "")):match(";%s*" .. name .. "%s*=%s*([^;%s]*)")
    end
end

local function address(header, prefix)
    return { header, "string", header, sub = {
        part(prefix .. ".display.info", "Display info", display, "display.info"),
        part(prefix .. ".addr", "Address", uri_of),
        uri_parts(prefix, uri_of),
    } }
end

local function tagged(header, prefix)
    local field = address(header, prefix)
    table.insert(field.sub, part(prefix .. ".tag", "Tag", parameter "tag", "tag"))
    return field
end

-- A list of addresses, with commas between them.
local function addresses(header, prefix)
    return { header, "string", header, sub = {
        { loop = true,
            { until_ = ",",
                part(prefix .. ".display.info", "Display info", display),
                part(prefix .. ".uri", "URI", uri_of),
                uri_parts(prefix, uri_of),
                { "_address", "bytes" },
            },
        },
    } }
end

-- name=value or name="value" among credentials, RFC 7616.
local function credential(name, key)
    return part("auth." .. name, name, function(text)
        local value = (" " .. text):match("[%s,]" .. key .. "%s*=%s*(.*)$")
        return value and (value:match '^"[^"]*"' or value:match "^[^%s,]*")
    end)
end

local function credentials(header)
    return { header, "string", header, sub = {
        part("auth.scheme", "Authentication Scheme", function(text) return text:match "^%S+" end),
        credential("username", "username"), credential("realm", "realm"), credential("nonce", "nonce"),
        credential("uri", "uri"), credential("digest.response", "response"), credential("algorithm", "algorithm"),
        credential("opaque", "opaque"), credential("qop", "qop"), credential("nc", "nc"),
        credential("cnonce", "cnonce"), credential("domain", "domain"), credential("stale", "stale"),
        credential("auts", "auts"), credential("rspauth", "rspauth"), credential("nextnonce", "nextnonce"),
    } }
end

-- The rest of a parameter of Via when it begins with `text`.
local function via_parameter(text, field)
    local tests = {}
    for at = 1, #text do
        tests[at] = ("$at8(%d) == %d"):format(at - 1, text:byte(at))
    end
    return { when = table.concat(tests, " && "), { "_name", "bytes", size = #text }, field }
end

local via = { "Via", "string", "Via", sub = {
    { "_protocol", "string", until_ = "/" },
    { "_version", "string", until_ = "/" },
    { "Via.transport", "string", "Transport", until_ = " " },
    { until_ = ";",
        { "_bracketed", value = "$at8(0) == 0x5b" },
        { when = "_bracketed",
            { "_bracket", 8 },
            { "Via.sent-by.address", "string", "Sent-by Address", until_ = "]" },
            { "_colon", 8, when = "$rest > 1" },
        },
        { "Via.sent-by.address", "string", "Sent-by Address", until_ = ":", when = "!_bracketed" },
        { "Via.sent-by.port", "decimal", "Sent-by port", when = "$rest > 0" },
    },
    { loop = true,
        { until_ = ";",
            { "_space", 8, when = "$rest > 1 && $at8(0) == 0x20" },
            via_parameter("branch=", { "Via.branch", "string", "Branch" }),
            via_parameter("received=", { "Via.received", "string", "Received" }),
            via_parameter("rport=", { "Via.rport", "string", "RPort" }),
            via_parameter("maddr=", { "Via.maddr", "string", "Maddr" }),
            via_parameter("ttl=", { "Via.ttl", "string", "TTL" }),
            { "_other", "string" },
        },
    },
} }

local contact = addresses("Contact", "contact")
local headers = {
    ["From"] = tagged("From", "from"), ["To"] = tagged("To", "to"), ["Contact"] = contact, ["Via"] = via,
    ["P-Asserted-Identity"] = address("P-Asserted-Identity", "pai"),
    ["P-Preferred-Identity"] = address("P-Preferred-Identity", "ppi"),
    ["Route"] = addresses("Route", "Route"), ["Record-Route"] = addresses("Record-Route", "Record-Route"),
    ["Service-Route"] = addresses("Service-Route", "Service-Route"), ["Path"] = addresses("Path", "Path"),
    ["Authorization"] = credentials "Authorization", ["Proxy-Authorization"] = credentials "Proxy-Authorization",
    ["WWW-Authenticate"] = credentials "WWW-Authenticate",
    ["Proxy-Authenticate"] = credentials "Proxy-Authenticate",
    ["Authentication-Info"] = credentials "Authentication-Info",
    ["CSeq"] = { "CSeq", "string", "CSeq", sub = {
        { "CSeq.seq", "decimal", "Sequence Number", until_ = " " },
        { loop = true, stop = "$at8(0) != 0x20", { "_space", 8, when = "$at8(0) == 0x20" } },
        { "CSeq.method", "string", "Method" },
    } },
    ["RAck"] = { "RAck", "string", "RAck", sub = {
        { "RAck.RSeq.seq", "decimal", "RSeq Sequence Number", until_ = " " },
        { "RAck.CSeq.seq", "decimal", "CSeq Sequence Number", until_ = " " },
        { "RAck.CSeq.method", "string", "CSeq Method" },
    } },
    ["SIP-ETag"] = "ETag", ["SIP-If-Match"] = "If_Match", ["Suppress-If-Match"] = "Suppress_If_Match",
    ["Policy-Contact"] = "Policy_Contact", ["Policy-ID"] = "Policy_ID", ["User-to-User"] = "uui",
    ["Referred-By"] = "Referred-by", ["Identity-Info"] = "Identity-info", ["Priv-Answer-Mode"] = "Priv-Answer-mode",
}
for _, name in ipairs { "Content-Length", "Expires", "Max-Breadth", "Max-Forwards", "Retry-After", "RSeq" } do
    headers[name] = { name, "decimal", name }
end
for name in ([[
    Accept Accept-Contact Accept-Encoding Accept-Language Accept-Resource-Priority Additional-Identity Alert-Info
    Allow Allow-Events Answer-Mode Attestation-Info Call-ID Call-Info Cellular-Network-Info Content-Disposition
    Content-Encoding Content-Language Content-Type Date Diversion Error-Info Event Feature-Caps Flow-Timer Geolocation
    Geolocation-Error Geolocation-Routing History-Info Identity In-Reply-To Info-Package Join MIME-Version Min-Expires
    Min-SE Organization Origination-Id P-Access-Network-Info P-Answer-State P-Asserted-Service P-Associated-URI
    P-Called-Party-ID P-Charge-Info P-Charging-Function-Addresses P-Charging-Vector P-DCS-Billing-Info P-DCS-LAES
    P-DCS-OSPS P-DCS-Redirect P-DCS-Trace-Party-ID P-Early-Media P-Media-Authorization P-Preferred-Service
    P-Profile-Key P-Refused-URI-List P-Served-User P-User-Database P-Visited-Network-ID Permission-Missing Priority
    Priority-Share Privacy Proxy-Require Reason Recv-Info Refer-Sub Refer-To Reject-Contact Relayed-Charge Replaces
    Reply-To Request-Disposition Require Resource-Priority Resource-Share Response-Source Restoration-Info
    Security-Client Security-Server Security-Verify Server Service-Interact-Info Session-Expires Session-ID Subject
    Subscription-State Supported Target-Dialog Timestamp Trigger-Consent Unsupported User-Agent Warning
]]):gmatch "%S+" do
    headers[name] = name
end
for short, name in pairs {
    a = "Accept-Contact", b = "Referred-By", c = "Content-Type", d = "Request-Disposition", e = "Content-Encoding",
    f = "From", i = "Call-ID", j = "Reject-Contact", k = "Supported", l = "Content-Length", m = "Contact",
    n = "Identity-Info", o = "Event", r = "Refer-To", s = "Subject", t = "To", u = "Allow-Events", v = "Via",
    x = "Session-Expires", y = "Identity",
} do
    headers[short] = headers[name]
end

local looks_like = '$u8(0) >= 0x41 && $line("SIP/2.0")'

return {
    name = "sip", title = "Session Initiation Protocol",
    on = { ["udp.port"] = 5060, ["tcp.port"] = 5060 },
    accept = looks_like,
    guess = { udp = looks_like, tcp = looks_like },
    stream = true,
    line = {
        { when = "_kind == 1", "SIP: {Request-Line}" },
        { when = "_kind == 2", "SIP: {Status-Line}" },
    },
    { "_kind", value = "1 + ($u32(0) == 0x5349502f)" },
    { when = "_kind == 1",
        { "Request-Line", "string", "Request-Line", until_ = "\r\n", sub = {
            { "Method", "string", "Method", until_ = " ", default = "OPTIONS" },
            { "r-uri", "string", "Request-URI", until_ = " ", sub = uri_parts("r-uri", whole) },
            { "_version", "string", default = "SIP/2.0" },
        } },
    },
    { when = "_kind == 2",
        { "Status-Line", "string", "Status-Line", until_ = "\r\n", sub = {
            { "_version", "string", until_ = " ", default = "SIP/2.0" },
            { "Status-Code", "decimal", "Status-Code", until_ = " ", default = 200 },
            { "_phrase", "string", default = "OK" },
        } },
    },
    { headers = headers, fold = true },
}
