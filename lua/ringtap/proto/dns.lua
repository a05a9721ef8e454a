--- DNS, RFC 1035 and what was added since (EDNS 6891, DNSSEC 4034 and 5155, SVCB 9460, update 2136, DSO 8490, ...), and
-- its relatives on the local link, multicast DNS (RFC 6762) and LLMNR (RFC 4795), which have the same fields.

local core = require "ringtap.core"

local types = {
    "A", "NS", "MD", "MF", "CNAME", "SOA", "MB", "MG", "MR", "NULL", "WKS", "PTR", "HINFO", "MINFO", "MX", "TXT",
    "RP", "AFSDB",
    "X25", "ISDN", "RT", "NSAP", "NSAP-PTR", "SIG", "KEY", "PX", "GPOS", "AAAA", "LOC", "NXT", "EID", "NIMLOC",
    "SRV", "ATMA",
    "NAPTR", "KX", "CERT", "A6", "DNAME", "SINK", "OPT", "APL", "DS", "SSHFP", "IPSECKEY", "RRSIG", "NSEC", "DNSKEY",
    "DHCID",
    "NSEC3", "NSEC3PARAM", "TLSA", "SMIMEA", [55] = "HIP", [56] = "NINFO", [57] = "RKEY", [58] = "TALINK", [59] = "CDS",
    [60] = "CDNSKEY", [61] = "OPENPGPKEY", [62] = "CSYNC", [63] = "ZONEMD", [64] = "SVCB", [65] = "HTTPS", [99] = "SPF",
    [100] = "UINFO", [101] = "UID", [102] = "GID", [103] = "UNSPEC", [104] = "NID", [105] = "L32", [106] = "L64",
    [107] = "LP",
    [108] = "EUI48", [109] = "EUI64", [249] = "TKEY", [250] = "TSIG", [251] = "IXFR", [252] = "AXFR", [253] = "MAILB",
    [254] = "MAILA", [255] = "ANY", [256] = "URI", [257] = "CAA", [258] = "AVC", [259] = "DOA", [260] = "AMTRELAY",
    [32768] = "TA", [32769] = "DLV", [65281] = "WINS", [65282] = "WINS-R", [65422] = "XPF",
}
local classes = { "IN", "CS", "CH", "HS", [254] = "NONE", [255] = "ANY" }
local opcodes = { [0] = "Query", "IQuery", "Status", [4] = "Notify", [5] = "Update", [6] = "DSO" }
local rcodes = {
    [0] = "NoError", "FormErr", "ServFail", "NXDomain", "NotImp", "Refused", "YXDomain", "YXRRSet", "NXRRSet",
    "NotAuth", "NotZone",
    "DSOTYPENI", [16] = "BADSIG", [17] = "BADKEY", [18] = "BADTIME", [19] = "BADMODE", [20] = "BADNAME",
    [21] = "BADALG",
    [22] = "BADTRUNC", [23] = "BADCOOKIE",
}
local algorithms = {
    "RSAMD5", "DH", "DSA", "ECC", "RSASHA1", "DSA-NSEC3-SHA1", "RSASHA1-NSEC3-SHA1", "RSASHA256", [10] = "RSASHA512",
    [12] = "ECC-GOST", [13] = "ECDSAP256SHA256", [14] = "ECDSAP384SHA384", [15] = "ED25519", [16] = "ED448",
    [157] = "HMAC-MD5",
    [252] = "INDIRECT", [253] = "PRIVATEDNS", [254] = "PRIVATEOID",
}
local digests = { [0] = "Reserved", "SHA-1", "SHA-256", "GOST R 34.11-94", "SHA-384" }
local nsec3_hashes = { [0] = "Reserved", "SHA-1" }
local families = { "IPv4", "IPv6" }
local options = {
    "LLQ", "UL", "NSID", "Owner", "DAU", "DHU", "N3U", "Client Subnet", "Expire", "Cookie", "TCP Keepalive",
    "Padding", "Chain",
    "Key Tag", "Extended Error", [20730] = "Client Subnet (experimental)",
}
local extended_errors = {
    [0] = "Other Error", "Unsupported DNSKEY Algorithm", "Unsupported DS Digest Type", "Stale Answer", "Forged Answer",
    "DNSSEC Indeterminate", "DNSSEC Bogus", "Signature Expired", "Signature Not Yet Valid", "DNSKEY Missing",
    "RRSIGs Missing",
    "No Zone Key Bit Set", "NSEC Missing", "Cached Error", "Not Ready", "Blocked", "Censored", "Filtered", "Prohibited",
    "Stale NXDomain Answer", "Not Authoritative", "Not Supported", "No Reachable Authority", "Network Error",
    "Invalid Data",
    "Signature Expired before Valid", "Too Early", "Unsupported NSEC3 Iterations Value", "Unable to conform to policy",
    "Synthesized",
}
local svc_keys = {
    [0] = "mandatory", "alpn", "no-default-alpn", "port", "ipv4hint", "ech", "ipv6hint", "dohpath", "ohttp",
    [32769] = "odohconfig",
    [65535] = "invalid",
}

-- ---------------------------------------------------------------- values that no number of bits gives

-- The labels of the name at `at` in a layer whose pointers count from `origin` (both 1-based); nil and a text if it is
-- none.
local function labels(layer, at, origin)
    local list, octets, limit = {}, 0, at
    while true do
        local n, low = layer:byte(at, at + 1)
        if not n or n >= 0x40 and n < 0xc0 or n >= 0xc0 and not low then
            return nil, "<Invalid name>"
        elseif n >= 0xc0 then
            at = origin + ((n & 0x3f) << 8 | low)
            if at >= limit then
                return nil, "<Name contains a pointer that loops>"
            end
            limit = at
        else
            octets = octets + n + 1
            if octets > 255 then
                return nil, "<Name too long>"
            elseif n == 0 then
                return list
            end
            list[#list + 1] = layer:sub(at + 1, at + n)
            at = at + n + 1
        end
    end
end

local function text_of(layer, at, origin)
    local list, bad = labels(layer, at, origin)
    return bad or (list[1] and table.concat(list, ".") or "<Root>")
end

-- Wireshark has 0 for both where a name is one letter.
local function name_length(_, layer, at, origin)
    local n = #text_of(layer, at, origin)
    return n > 1 and n or 0
end

local function label_count(_, layer, at, origin)
    local text = text_of(layer, at, origin)
    return #text > 1 and select(2, text:gsub("%.", "")) + 1 or 0
end

local escapes = { ["\a"] = "\\a", ["\b"] = "\\b", ["\f"] = "\\f", ["\n"] = "\\n", ["\r"] = "\\r", ["\t"] = "\\t",
    ["\v"] = "\\v" }

local function printable(text)
    return (text:gsub("%c", function(c)
        return escapes[c] or ("\\%03o"):format(c:byte())
    end))
end

-- Parts of a service's name, RFC 2782: _service._proto.name
local function service_part(from, to)
    return function(_, layer, at, origin)
        local list = labels(layer, at, origin)
        return list and list[from] and printable(table.concat(list, ".", from, math.min(to, #list))) or nil
    end
end

-- RFC 4034, appendix B
local function key_tag(rdata)
    if #rdata < 4 then
        return nil
    elseif rdata:byte(4) == 1 then
        return (">I2"):unpack(rdata, #rdata - 2)
    end
    local sum = 0
    for i = 1, #rdata do
        sum = sum + (i % 2 == 1 and rdata:byte(i) << 8 or rdata:byte(i))
    end
    return sum + (sum >> 16 & 0xffff) & 0xffff
end

-- RFC 4648, 7: base 32 with the extended hex alphabet, without padding
local function base32hex(bytes)
    local digits, out, bits, count = "0123456789abcdefghijklmnopqrstuv", {}, 0, 0
    local function put(v)
        out[#out + 1] = digits:sub(v + 1, v + 1)
    end
    for i = 1, #bytes do
        bits, count = (bits << 8 | bytes:byte(i)) & 0xffff, count + 8
        while count >= 5 do
            count = count - 5
            put(bits >> count & 31)
        end
    end
    if count > 0 then
        put(bits << (5 - count) & 31)
    end
    return table.concat(out)
end

-- Addresses of which only the first bytes, or (A6) only the last ones, are there.
local function ipv4_begin(bytes)
    return ("%d.%d.%d.%d"):format((bytes .. "\0\0\0\0"):byte(1, 4))
end

local function ipv6_begin(bytes)
    return core._ipv6((bytes .. ("\0"):rep(16)):sub(1, 16))
end

local function ipv6_end(bytes)
    return core._ipv6((("\0"):rep(16) .. bytes):sub(-16))
end

-- ---------------------------------------------------------------- what a record holds

local function one_name(field, title)
    return { { field, "name", title } }
end

local function counted(length, length_title, field, title) -- a string with its length in front, RFC 1035 3.3
    return { { length, 8, length_title }, { field, "string", title, size = length, ascii = true } }
end

local function historic(length, length_title, field, title) -- the same, but building doesn't fill the length in
    return { { length, 8, length_title }, { field, "string", title, size = "$u8($here - 1)", ascii = true } }
end

local ds = {
    { "ds.key_id", 16, "Key id", base = "hex" },
    { "ds.algorithm", 8, "Algorithm", values = algorithms },
    { "ds.digest_type", 8, "Digest Type", values = digests },
    { "ds.digest", "bytes", "Digest" },
}
local rrsig = {
    { "rrsig.type_covered", 16, "Type Covered", values = types },
    { "rrsig.algorithm", 8, "Algorithm", values = algorithms },
    { "rrsig.labels", 8, "Labels" },
    { "rrsig.original_ttl", 32, "Original TTL" },
    { "rrsig.signature_expiration", "time", "Signature Expiration" },
    { "rrsig.signature_inception", "time", "Signature Inception" },
    { "rrsig.key_tag", 16, "Key Tag" },
    { "rrsig.signers_name", "name", "Signer's name" },
    { "rrsig.signature", "bytes", "Signature" },
}
local dnskey = {
    { "dnskey.key_id", "bytes", "Key id", size = "$rest", overlay = true, value = key_tag },
    { "dnskey.flags", 16, "Flags", base = "hex", default = 0x100, sub = {
        { "_", 7 },
        { "dnskey.flags.zone_key", "bool", "Zone Key" },
        { "dnskey.flags.key_revoked", "bool", "Key Revoked" },
        { "_", 6 },
        { "dnskey.flags.secure_entry_point", "bool", "Key Signing Key" },
        { "dnskey.flags.reserved", "uint", "Reserved", base = "hex", digits = 4,
            value = "(dnskey.flags & 0xfe7e) >> 1" },
    } },
    { "dnskey.protocol", 8, "Protocol", default = 3 },
    { "dnskey.algorithm", 8, "Algorithm", values = algorithms },
    { "dnskey.public_key", "bytes", "Public Key" },
}
local svcb = {
    { "svcb.svcpriority", 16, "SvcPriority", default = 1 },
    { "svcb.targetname", "name", "TargetName" },
    { loop = true, list = "params",
        { "svcb.svcparam", value = 1 },
        { "svcb.svcparam.key", 16, "SvcParamKey", values = svc_keys },
        { "svcb.svcparam.value.length", 16, "SvcParamValue length" },
        { switch = "svcb.svcparam.key", size = "svcb.svcparam.value.length",
            cases = {
                [0] = { { loop = true, list = "mandatory",
                    { "svcb.svcparam.mandatory.key", 16, "Mandatory key", values = svc_keys },
                } },
                [1] = { { loop = true, list = "alpn",
                    { "svcb.svcparam.alpn.length", 8, "ALPN length" },
                    { "svcb.svcparam.alpn", "string", "ALPN", size = "svcb.svcparam.alpn.length" },
                } },
                [2] = {},
                [3] = { { "svcb.svcparam.port", 16, "Port" } },
                [4] = { { loop = true, list = "ipv4", { "svcb.svcparam.ipv4hint.ip", "ipv4", "IP" } } },
                [5] = { { "svcb.svcparam.echconfig", "bytes", "ECHConfig" } },
                [6] = { { loop = true, list = "ipv6", { "svcb.svcparam.ipv6hint.ip", "ipv6", "IP" } } },
                [32769] = { { "svcb.svcparam.odohconfig", "bytes", "ODoHConfig" } },
            },
            default = { { "svcb.svcparam.value", "bytes", "SvcParamValue" } },
        },
    },
}
local soa = {
    { "soa.mname", "name", "Primary name server" },
    { "soa.rname", "name", "Responsible authority's mailbox" },
    { "soa.serial_number", 32, "Serial Number" },
    { "soa.refresh_interval", 32, "Refresh Interval" },
    { "soa.retry_interval", 32, "Retry Interval" },
    { "soa.expire_limit", 32, "Expire limit" },
    { "soa.minimum_ttl", 32, "Minimum TTL" },
}
local opt = {
    { loop = true, list = "options",
        { "opt", value = 1 },
        { "opt.code", 16, "Option Code", values = options },
        { "opt.len", 16, "Option Length" },
        { "opt.data", "bytes", "Option Data", size = "opt.len", sub = {
            { switch = "opt.code", cases = {
                [5] = { { loop = true, list = "algorithms", { "opt.dau", 8, "DAU", values = algorithms } } },
                [6] = { { loop = true, list = "algorithms", { "opt.dhu", 8, "DHU", values = digests } } },
                [7] = { { loop = true, list = "algorithms", { "opt.n3u", 8, "N3U", values = nsec3_hashes } } },
                [8] = { { call = "client" } },
                [10] = {
                    { "opt.cookie.client", "bytes", "Client Cookie", size = 8 },
                    { "opt.cookie.server", "bytes", "Server Cookie" },
                },
                [11] = { { "opt.edns_tcp_keepalive.timeout", 16, "Timeout", when = "opt.len == 2" } },
                [12] = { { "opt.padding", "bytes", "Padding" } },
                [13] = { { "opt.chain.fqdn", "name", "Closest Trust Point" } },
                [15] = {
                    { "opt.ext_error.info_code", 16, "Info Code", values = extended_errors },
                    { "opt.ext_error.extra_text", "string", "Extra Text" },
                },
                [20730] = { { call = "client" } },
            } },
        } },
    },
}

local rdata = {
    [1] = { { "a", "ipv4", "Address" } },
    [2] = one_name("ns", "Name Server"),
    [3] = one_name("md", "Mail Destination"),
    [4] = one_name("mf", "Mail Forwarder"),
    [5] = one_name("cname", "CNAME"),
    [6] = soa,
    [7] = one_name("mb", "MailBox Domain"),
    [8] = one_name("mg", "Mail Group member"),
    [9] = one_name("mr", "Mail Rename domain"),
    [10] = { { "null", "bytes", "Null (data)" } },
    [11] = {
        { "wks.address", "ipv4", "Address" },
        { "wks.protocol", 8, "Protocol", values = { [6] = "TCP", [17] = "UDP" } },
        { loop = true,
            { "_ports", 8, overlay = true },
            { "wks.bits", 8, "Bits", base = "hex", when = "_ports != 0" },
            { "_none", 8, when = "_ports == 0" },
        },
    },
    [12] = one_name("ptr.domain_name", "Domain Name"),
    [13] = {
        counted("hinfo.cpu_length", "CPU Length", "hinfo.cpu", "CPU"),
        counted("hinfo.os_length", "OS Length", "hinfo.os", "OS"),
    },
    [14] = { { "minfo.r", "name", "Responsible Mailbox" }, { "minfo.e", "name", "Error Mailbox" } },
    [15] = { { "mx.preference", 16, "Preference" }, { "mx.mail_exchange", "name", "Mail Exchange" } },
    [16] = { { loop = true, list = "strings",
        { "txt.length", 8, "TXT Length" },
        { "txt", "string", "TXT", size = "txt.length", ascii = true },
    } },
    [17] = { { "rp.mailbox", "name", "Mailbox" }, { "rp.txt_rr", "name", "TXT RR" } },
    [18] = { { "afsdb.subtype", 16, "Subtype" }, { "afsdb.hostname", "name", "Hostname" } },
    [19] = historic("x25.length", "Length", "x25.psdn_address", "PSDN-Address"),
    [20] = {
        historic("idsn.length", "Length", "idsn.address", "ISDN Address"),
        { when = "$rest > 0", historic("idsn.sa.length", "Length", "idsn.sa.address", "Sub Address") },
    },
    [21] = { { "rt.subtype", 16, "Preference" }, { "rt.intermediate_host", "name", "Intermediate Hostname" } },
    [22] = { { "nsap.rdata", "bytes", "NSAP Data" } },
    [23] = one_name("nsap_ptr.owner", "Owner"),
    [24] = rrsig,
    [25] = {
        { "key.key_id", "bytes", "Key ID", size = "$rest", overlay = true, value = key_tag },
        { "key.flags", 16, "Flags", base = "hex", sub = {
            { "key.flags.authentication", "bool", "Key allowed for authentication" },
            { "key.flags.confidentiality", "bool", "Key allowed for confidentiality" },
            { when = "key.flags < 0xc000", -- else there is no key
                { "key.flags.required", "bool", "Key required" },
                { "_", 2 },
                { "key.flags.associated_user", "bool", "Key is associated with a user" },
                { "key.flags.associated_named_entity", "bool", "Key is associated with the named entity" },
                { "_", 1 },
                { "key.flags.ipsec", "bool", "Key use with IPSEC" },
                { "key.flags.mime", "bool", "Key use with MIME security multiparts" },
                { "_", 2 },
                { "key.flags.signatory", 4, "Signatory" },
            },
        } },
        { "key.protocol", 8, "Protocol" },
        { "key.algorithm", 8, "Algorithm", values = algorithms },
        { "key.public_key", "bytes", "Public Key" },
    },
    [26] = { { "px.preference", 16, "Preference" }, { "px.map822", "name", "MAP822" }, { "px.map400", "name",
    "MAPX400" } },
    [27] = {
        historic("gpos.longitude_length", "Longitude length", "gpos.longitude", "Longitude"),
        historic("gpos.latitude_length", "Latitude length", "gpos.latitude", "Latitude"),
        historic("gpos.altitude_length", "Altitude length", "gpos.altitude", "Altitude"),
    },
    [28] = { { "aaaa", "ipv6", "AAAA Address" } },
    [29] = {
        { "loc.unknown_data", "bytes", "Unknown data", overlay = true, when = "$at8(0) != 0" },
        { "loc.version", 8, "Version" },
        { when = "loc.version == 0",
            { "loc.size", 8, "Size", default = 0x12 },
            { "loc.horizontal_precision", 8, "Horizontal Precision", default = 0x16 },
            { "loc.vertical_precision", 8, "Vertical Precision", default = 0x13 },
            { "loc.latitude", 32, "Latitude" },
            { "loc.longitude", 32, "Longitude" },
            { "loc.altitude", 32, "Altitude" },
        },
        { "_unknown", "bytes", when = "loc.version != 0" },
    },
    [30] = { { "nxt.next_domain_name", "name", "Next Domain Name" }, { "_bit_map", "bytes" } },
    [33] = {
        { "srv.priority", 16, "Priority" },
        { "srv.weight", 16, "Weight" },
        { "srv.port", 16, "Port" },
        { "srv.target", "name", "Target" },
    },
    [35] = {
        { "naptr.order", 16, "Order" },
        { "naptr.preference", 16, "Preference" },
        counted("naptr.flags_length", "Flags Length", "naptr.flags", "Flags"),
        counted("naptr.service_length", "Service Length", "naptr.service", "Service"),
        counted("naptr.regex_length", "Regex Length", "naptr.regex", "Regex"),
        { "naptr.replacement", "name", "Replacement", sub = {
            { "naptr.replacement_length", "bytes", "Replacement Length", size = "$rest", overlay = true,
                value = name_length },
        } },
    },
    [36] = { { "kx.preference", 16, "Preference" }, { "kx.key_exchange", "name", "Key Exchange" } },
    [37] = {
        { "cert.type", 16, "Type", values = {
            "PKIX", "SPKI", "PGP", "IPKIX", "ISPKI", "IPGP", "ACPKIX", "IACPKIX", [253] = "URI", [254] = "OID",
        } },
        { "cert.key_tag", 16, "Key Tag", base = "hex" },
        { "cert.algorithm", 8, "Algorithm", values = algorithms },
        { "cert.certificate", "bytes", "Certificate (or CRL)" },
    },
    [38] = {
        { "a6.prefix_len", 8, "Prefix len" },
        { check = "a6.prefix_len <= 128", "a prefix longer than an address" },
        { "a6.address_suffix", "bytes", "Address Suffix", size = "(135 - a6.prefix_len) / 8", value = ipv6_end },
        { "a6.prefix_name", "name", "Prefix name", when = "a6.prefix_len > 0" },
    },
    [39] = one_name("dname", "Dname"),
    [41] = opt,
    [42] = { { loop = true, list = "prefixes",
        { "apl.address_family", 16, "Address Family", values = families },
        { "apl.coded_prefix", 8, "Prefix Length" },
        { "apl.negation", "bool", "Negation Flag" },
        { "apl.afdlength", 7, "Address Length" },
        { switch = "apl.address_family", size = "apl.afdlength",
            cases = {
                [1] = { { "apl.afdpart.ipv4", "bytes", "Address", size = "$rest", value = ipv4_begin } },
                [2] = { { "apl.afdpart.ipv6", "bytes", "Address", size = "$rest", value = ipv6_begin } },
            },
            default = { { "apl.afdpart.data", "bytes", "Address" } },
        },
    } },
    [43] = ds,
    [44] = {
        { "sshfp.algorithm", 8, "Algorithm", values = {
            [0] = "Reserved", "RSA", "DSA", "ECDSA", "Ed25519", "XMSS", [6] = "Ed448",
        } },
        { "sshfp.fingerprint.type", 8, "Fingerprint type", values = { [0] = "Reserved", "SHA1", "SHA256" } },
        { "sshfp.fingerprint", "bytes", "Fingerprint" },
    },
    [45] = {
        { "ipseckey.gateway_precedence", 8, "Gateway Precedence" },
        { "ipseckey.gateway_type", 8, "Gateway Type", values = { [0] = "none", "IPv4", "IPv6", "name" } },
        { "ipseckey.gateway_algorithm", 8, "Gateway Algorithm", values = { "DSA", "RSA" } },
        { "ipseckey.gateway_ipv4", "ipv4", "IPv4 Gateway", when = "ipseckey.gateway_type == 1" },
        { "ipseckey.gateway_ipv6", "ipv6", "IPv6 Gateway", when = "ipseckey.gateway_type == 2" },
        { "ipseckey.gateway_dns", "name", "DNS Gateway", when = "ipseckey.gateway_type == 3" },
        { "ipseckey.public_key", "bytes", "Public Key" },
    },
    [46] = rrsig,
    [47] = { { "nsec.next_domain_name", "name", "Next Domain Name" }, { call = "bit_maps" } },
    [48] = dnskey,
    [49] = { { "dhcid.rdata", "bytes", "DHCID Data" } },
    [50] = {
        { call = "nsec3" },
        { "nsec3.hash_length", 8, "Hash length" },
        { "nsec3.hash_value", "bytes", "Next hashed owner", size = "nsec3.hash_length", value = base32hex },
        { call = "bit_maps" },
    },
    [51] = { { call = "nsec3" } },
    [52] = {
        { "tlsa.certificate_usage", 8, "Certificate Usage", values = { [0] = "PKIX-TA", "PKIX-EE", "DANE-TA",
            "DANE-EE" } },
        { "tlsa.selector", 8, "Selector", values = { [0] = "Cert", "SPKI" } },
        { "tlsa.matching_type", 8, "Matching Type", values = { [0] = "Full", "SHA2-256", "SHA2-512" } },
        { "tlsa.certificate_association_data", "bytes", "Certificate Association Data" },
    },
    [55] = {
        { "hip.hit.length", 8, "HIT length" },
        { "hip.hit.pk.algo", 8, "PK algorithm", values = { [0] = "Reserved", "DSA", "RSA" } },
        { "hip.pk.length", 16, "PK length" },
        { "hip.hit", "bytes", "Host Identity Tag", size = "hip.hit.length" },
        { "hip.pk", "bytes", "HIP Public Key", size = "hip.pk.length" },
        { loop = true, list = "servers", { "hip.rendezvous_server", "name", "Rendezvous Server" } },
    },
    [59] = ds,
    [60] = dnskey,
    [61] = { { "openpgpkey", "string", "OpenPGP Key", ascii = true } },
    [62] = {
        { "csync.soa", 32, "SOA" },
        { "csync.flags", 16, "Flags", base = "hex", sub = {
            { "_", 14 },
            { "csync.flags.soaminimum", "bool", "soaminimum" },
            { "csync.flags.immediate", "bool", "immediate" },
        } },
        { "csync.type_bitmap", "bytes", "Type Bitmap" },
    },
    [63] = {
        { "zonemd.serial", 32, "Serial" },
        { "zonemd.scheme", 8, "Scheme", values = { [0] = "Reserved", "SIMPLE" } },
        { "zonemd.hash_algo", 8, "Hash Algorithm", values = { [0] = "Reserved", "SHA-384", "SHA-512" } },
        { "zonemd.digest", "bytes", "Digest" },
    },
    [64] = svcb,
    [65] = svcb,
    [99] = { { loop = true, list = "strings",
        { "spf.length", 8, "SPF Length" },
        { "spf", "string", "SPF", size = "spf.length", ascii = true },
    } },
    [104] = { { "ilnp.nid.preference", 16, "Preference" }, { "ilnp.nid", "bytes", "NodeID", size = 8 } },
    [105] = { { "ilnp.l32.preference", 16, "Preference" }, { "ilnp.l32", "ipv4", "Locator32" } },
    [106] = { { "ilnp.l64.preference", 16, "Preference" }, { "ilnp.l64", "bytes", "Locator64", size = 8 } },
    [107] = { { "ilnp.lp.preference", 16, "Preference" }, { "ilnp.lp", "name", "Locator FQDN" } },
    [108] = { { "eui48", "ether", "EUI48 Address" } },
    [109] = { { "eui64", "eui64", "EUI64 Address" } },
    [249] = {
        { "tkey.algo_name", "name", "Algorithm name" },
        { "tkey.signature_inception", "time", "Signature Inception" },
        { "tkey.signature_expiration", "time", "Signature Expiration" },
        { "tkey.mode", 16, "Mode", values = {
            "Server assigned", "Diffie-Hellman", "GSS-API", "Resolver assigned", "Delete",
        } },
        { "tkey.error", 16, "Error", values = rcodes },
        { "tkey.key_size", 16, "Key Size" },
        { "tkey.key_data", "bytes", "Key Data", size = "tkey.key_size", when = "tkey.key_size > 0" },
        { "tkey.other_size", 16, "Other Size" },
        { "tkey.other_data", "bytes", "Other Data", size = "tkey.other_size", when = "tkey.other_size > 0" },
    },
    [250] = {
        { "tsig.algorithm_name", "name", "Algorithm Name" },
        { "tsig.time_signed", "time", "Time Signed", bits = 48 },
        { "tsig.fudge", 16, "Fudge", default = 300 },
        { "tsig.mac_size", 16, "MAC Size" },
        { "tsig.mac", "bytes", "MAC", size = "tsig.mac_size" },
        { "tsig.original_id", 16, "Original Id" },
        { "tsig.error", 16, "Error", values = rcodes },
        { "tsig.other_len", 16, "Other Len" },
        { "tsig.other_data", "bytes", "Other Data", size = "tsig.other_len", when = "tsig.other_len > 0" },
    },
    [257] = {
        { "caa.flags", 8, "CAA Flags", base = "hex", sub = {
            { "caa.flags.issuer_critical", "bool", "Issuer Critical" },
        } },
        { "caa.tag_length", 8, "Tag length" },
        { "_tag", value = "caa.tag_length == 5 && $at32(0) == 0x69737375 && $at8(4) == 0x65 ? 1 : " -- issue, issuewild
            .. "caa.tag_length == 9 && $at32(0) == 0x69737375 && $at32(4) == 0x6577696c && $at8(8) == 0x64 ? 2 : "
            .. "caa.tag_length == 5 && $at32(0) == 0x696f6465 && $at8(4) == 0x66 ? 3 : 0" }, -- iodef
        { "caa.tag", "string", "Tag", size = "caa.tag_length", ascii = true },
        { "caa.issue", "string", "Issue", overlay = true, when = "_tag == 1", ascii = true },
        { "caa.issuewild", "string", "Issue Wildcard", overlay = true, when = "_tag == 2", ascii = true },
        { "caa.iodef", "string", "Report URL", overlay = true, when = "_tag == 3", ascii = true },
        { "caa.unknown", "string", "Unknown tag", overlay = true, when = "_tag == 0", ascii = true },
        { "caa.value", "string", "Value", ascii = true },
    },
    [32769] = ds,
    [65281] = {
        { "_", 31 },
        { "wins.local_flag", "bool", "Local Flag" },
        { "wins.lookup_timeout", 32, "Lookup timeout" },
        { "wins.cache_timeout", 32, "Cache timeout" },
        { "wins.nb_wins_servers", 32, "Number of WINS servers" },
        { loop = "wins.nb_wins_servers", list = "servers", { "wins.wins_server", "ipv4", "WINS Server Address" } },
    },
    [65282] = {
        { "_", 31 },
        { "winsr.local_flag", "bool", "Local Flag" },
        { "winsr.lookup_timeout", 32, "Lookup timeout" },
        { "winsr.cache_timeout", 32, "Cache timeout" },
        { "winsr.name_result_domain", "name", "Name Result Domain" },
    },
    [65422] = {
        { "xpf.ip_version", 8, "IP Version" },
        { "xpf.protocol", 8, "Protocol" },
        { when = "xpf.ip_version == 4",
            { "xpf.source_ipv4", "ipv4", "IPv4 Source" },
            { "xpf.destination_ipv4", "ipv4", "IPv4 Destination" },
        },
        { when = "xpf.ip_version == 6",
            { "xpf.source_ipv6", "ipv6", "IPv6 Source" },
            { "xpf.destination_ipv6", "ipv6", "IPv6 Destination" },
        },
        { "xpf.sport", 16, "Source port" },
        { "xpf.dport", 16, "Destination port" },
    },
}

local groups = {
    client = { -- RFC 7871; the address may be cut off after its last used byte
        { "opt.client.family", 16, "Family", values = families },
        { "opt.client.netmask", 8, "Source Netmask" },
        { "opt.client.scope", 8, "Scope Netmask" },
        { switch = "opt.client.family",
            cases = {
                [1] = { { "opt.client.addr4", "bytes", "Client Subnet", size = "$rest", value = ipv4_begin } },
                [2] = { { "opt.client.addr6", "bytes", "Client Subnet", size = "$rest", value = ipv6_begin } },
            },
            default = { { "opt.client.addr", "bytes", "Client Subnet" } },
        },
    },
    nsec3 = {
        { "nsec3.algo", 8, "Hash algorithm", values = nsec3_hashes, default = 1 },
        { "nsec3.flags", 8, "NSEC3 flags", sub = {
            { "_", 7 },
            { "nsec3.flags.opt_out", "bool", "NSEC3 Opt-out flag", when = "resp.type == 50" },
        } },
        { "nsec3.iterations", 16, "NSEC3 iterations" },
        { "nsec3.salt_length", 8, "Salt length" },
        { "nsec3.salt_value", "bytes", "Salt value", size = "nsec3.salt_length" },
    },
    bit_maps = { -- RFC 4034 4.1.2: types that exist at this name
        { loop = true, list = "windows",
            { "_window", 8 },
            { "_octets", 8 },
            { check = "_octets >= 1 && _octets <= 32", "a type bit map of a length that can't be" },
            { size = "_octets",
                { loop = true, list = "bits",
                    { "_bit", 1 },
                    { ".dns.resp.type", "uint", "Type in bit map", values = types, value = "_window * 256 + $index",
                        when = "_bit" },
                },
            },
        },
    },
}

-- ---------------------------------------------------------------- the message, for each of the three

local function class(name, title, flag, flag_title, kind)
    if kind == "mdns" then -- RFC 6762 18.12 and 10.2: the top bit is no part of the class
        return {
            { flag, "bool", flag_title },
            { name, 15, title, base = "hex", digits = 4, values = classes, default = 1 },
        }
    end
    return { { name, 16, title, base = "hex", values = classes, default = 1 } }
end

local function question(kind)
    return {
        { "qry.name", "name", "Name", sub = {
            { "qry.name.len", "bytes", "Name Length", size = "$rest", overlay = true, value = name_length },
            { "count.labels", "bytes", "Label Count", size = "$rest", overlay = true, value = label_count },
        } },
        { "qry.type", 16, "Type", values = types, default = 1 },
        class("qry.class", "Class", "qry.qu", "\"QU\" question", kind),
    }
end

local function record(kind)
    return {
        -- SRV has its owner's name in parts, so what kind of record follows is looked up first
        { "_owner", "name", overlay = true, sub = { { "_type", value = "$at16($rest)" } } },
        { "resp.name", "name", "Name", when = "_type != 33" },
        { "_service", "name", when = "_type == 33", sub = {
            { "srv.service", "bytes", "Service", size = "$rest", overlay = true, value = service_part(1, 1) },
            { "srv.proto", "bytes", "Protocol", size = "$rest", overlay = true, value = service_part(2, 2) },
            { "srv.name", "bytes", "Name", size = "$rest", overlay = true, value = service_part(3, 127) },
        } },
        { "resp.type", 16, "Type", values = types, default = 1 },
        { when = "resp.type == 41",
            kind == "mdns" and {
                { "resp.cache_flush", "bool", "Cache flush" },
                { "rr.udp_payload_size", 15, "UDP payload size", base = "hex", digits = 4 },
            } or { { "rr.udp_payload_size", 16, "UDP payload size", default = 1232 } },
            { "resp.ext_rcode", 8, "Higher bits in extended RCODE", base = "hex" },
            { "resp.edns0_version", 8, "EDNS0 version" },
            { "resp.z", 16, "Z", base = "hex", sub = {
                { "resp.z.do", "bool", "DO bit" },
                { "resp.z.reserved", 15, "Reserved", base = "hex", digits = 4 },
            } },
        },
        { when = "resp.type != 41",
            class("resp.class", "Class", "resp.cache_flush", "Cache flush", kind),
            { "resp.ttl", 32, "Time to live" },
        },
        { "resp.len", 16, "Data length" },
        { size = "resp.len",
            { when = "resp.len > 0", -- none in an update that deletes, RFC 2136 2.5
                { switch = "resp.type", cases = rdata, default = { { "data", "bytes", "Data" } } },
            },
        },
    }
end

-- Wireshark shows the bits that mean something in this direction only.
local function flags(kind)
    local function of_response(name, title)
        return { switch = "flags.response", cases = { [1] = { { name, "bool", title } } }, default = { { "_", 1 } } }
    end
    if kind == "llmnr" then
        return { "flags", 16, "Flags", base = "hex", sub = {
            { "flags.response", "bool", "Response" },
            { "flags.opcode", 4, "Opcode", values = opcodes },
            { "flags.conflict", "bool", "Conflict" },
            { "flags.truncated", "bool", "Truncated" },
            { "flags.tentative", "bool", "Tentative" },
            { "_", 4 },
            { "flags.rcode", 4, "Reply code", values = rcodes, when = "flags.response" },
        } }
    end
    return { "flags", 16, "Flags", base = "hex", sub = {
        { "flags.response", "bool", "Response" },
        { "flags.opcode", 4, "Opcode", values = opcodes },
        of_response("flags.authoritative", "Authoritative"),
        { "flags.truncated", "bool", "Truncated" },
        { "flags.recdesired", "bool", "Recursion desired" },
        of_response("flags.recavail", "Recursion available"),
        { "flags.z", "bool", "Z" },
        { switch = "flags.response || (flags & 0x20) != 0", -- in a query, RFC 6840 5.7
            cases = { [1] = { { "flags.authenticated", "bool", "Answer authenticated" } } },
            default = { { "_", 1 } },
        },
        { "flags.checkdisable", "bool", "Non-authenticated data" },
        { "flags.rcode", 4, "Reply code", values = rcodes, when = "flags.response" },
    } }
end

local function message(kind)
    return {
        { "id", 16, "Transaction ID", base = "hex" },
        flags(kind),
        { switch = "flags.opcode",
            cases = { [5] = {
                { "count.zones", 16, "Zones" },
                { "count.prerequisites", 16, "Prerequisites" },
                { "count.updates", 16, "Updates" },
            } },
            default = {
                { "count.queries", 16, "Questions" },
                { "count.answers", 16, "Answer RRs" },
                { "count.auth_rr", 16, "Authority RRs" },
            },
        },
        { "count.add_rr", 16, "Additional RRs" },
        { switch = "flags.opcode",
            cases = { [5] = {
                { loop = "count.zones", list = "zones", { call = "question" } },
                { loop = "count.prerequisites", list = "prerequisites", { call = "record" } },
                { loop = "count.updates", list = "updates", { call = "record" } },
            } },
            default = {
                { loop = "count.queries", list = "queries", { call = "question" } },
                { loop = "count.answers", list = "answers", { call = "record" } },
                { loop = "count.auth_rr", list = "authorities", { call = "record" } },
            },
        },
        { loop = "count.add_rr", list = "additionals", { call = "record" } },
        { when = "flags.opcode == 6",
            { when = "$rest > 0", { "dso", value = 1 } },
            { loop = true, list = "tlvs", -- RFC 8490 5.4
                { "dso.tlv", value = 1 },
                { "dso.tlv.type", 16, "Type", values = {
                    [0] = "Reserved", "Keep Alive", "Retry Delay", "Encryption Padding", [64] = "Subscribe",
                    [65] = "Push",
                    [66] = "Unsubscribe", [67] = "Reconfirm",
                } },
                { "dso.tlv.length", 16, "Length" },
                { switch = "dso.tlv.type", size = "dso.tlv.length",
                    cases = {
                        [1] = {
                            { "dso.tlv.keepalive.inactivity", 32, "Inactivity Timeout" },
                            { "dso.tlv.keepalive.interval", 32, "Keepalive Interval" },
                        },
                        [2] = { { "dso.tlv.retrydelay.retrydelay", 32, "Retry Delay" } },
                        [3] = { { "dso.tlv.encpad.padding", "bytes", "Padding" } },
                    },
                    default = { { "dso.tlv.data", "bytes", "Data" } },
                },
            },
        },
        { when = "$rest > 0",
            { "extraneous", value = 1 },
            { "extraneous.length", "uint", "Extraneous Data Length", value = "$rest" },
            { "extraneous.data", "bytes", "Extraneous Data Bytes" },
        },
    }
end

local function table_of(kind, def)
    def.groups = { question = question(kind), record = record(kind), message = message(kind) }
    for name, items in pairs(groups) do
        def.groups[name] = items
    end
    local llmnr = kind == "llmnr"
    def.line = {
        "{=id}",
        { when = "!flags.response", {
            { when = llmnr and "flags.conflict" or "flags.recdesired", llmnr and "C" or "+" },
            { when = "flags.opcode != 0", " {flags.opcode}" },
            { when = "qry.name", " {qry.type}? {qry.name}." }, { when = "!qry.name", " {qry.type}? ." },
        } },
        { when = "flags.response", {
            { when = "flags.rcode != 0", " {flags.rcode}" },
            { when = llmnr and "flags.conflict" or "flags.authoritative", llmnr and "C" or "*" },
            { when = "flags.truncated", "|" }, " {count.answers}/{count.auth_rr}/{count.add_rr}",
            { when = "cname", " CNAME {cname*}" }, { when = "a", " A {a*}" }, { when = "aaaa", " AAAA {aaaa*}" },
            { when = "ptr.domain_name", " PTR {ptr.domain_name*}" }, { when = "ns", " NS {ns*}" },
        } },
        " ({=$len})",
    }
    return def
end

return {
    table_of("dns", {
        name = "dns", title = "Domain Name System",
        on = { ["udp.port"] = 53, ["tcp.port"] = { 53, 5353 }, ["sctp.port"] = 53 },
        header = "_tcp && length + 2 < $len ? length + 2 : $len",
        stream = "$under(tcp) || $under(dns)", once = true,
        next = { { "dns", when = "_tcp", at = "length + 2" } },
        { "_tcp", value = "$under(tcp) || $under(dns)" },
        { when = "_tcp", -- RFC 7766: a message has its length before it; there may be more of them
            { "length", 16, "Length" },
            { origin = true },
            { size = "length", { call = "message" } },
        },
        { when = "!_tcp", { call = "message" } },
    }),
    table_of("mdns", {
        name = "mdns", prefix = "dns", title = "Multicast Domain Name System",
        on = { ["udp.port"] = 5353 },
        header = "$len",
        { call = "message" },
    }),
    table_of("llmnr", {
        name = "llmnr", prefix = "dns", title = "Link-local Multicast Name Resolution",
        on = { ["udp.port"] = 5355 },
        header = "$len",
        { call = "message" },
    }),
}
