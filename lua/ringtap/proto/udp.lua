--- UDP, RFC 768. A length of 0 is one that 16 bits can't hold, RFC 2675 4; without a checksum over IPv6: RFC 8200 8.1.
return {
    name = "udp", title = "User Datagram Protocol",
    on = { ["ip.proto"] = 17 },
    header = 8,
    total = "length", untold = "length == 0 && $len > 65535",
    next = {
        { table = "udp.port", key = "srcport < dstport ? srcport : dstport" },
        { table = "udp.port", key = "srcport < dstport ? dstport : srcport" },
        { guess_by = "udp" },
    },
    checksum = { field = "checksum", pseudo = true, protocol = 17, zero_is_none = true, zero_is_ones = true },
    line = "UDP, length {=$payload}",
    { "srcport", 16, "Source Port", also = "port", default = 50000 },
    { "dstport", 16, "Destination Port", also = "port" },
    { "length", 16, "Length" },
    { "checksum", 16, "Checksum", base = "hex" },
    { "checksum.status", value = "checksum == 0 && $ip == 6 ? 4 : $checksum", values = {
        [0] = "Bad", [1] = "Good", [2] = "Unverified", [3] = "Not present", [4] = "Illegal",
    } },
    { "payload", "bytes", "Payload", when = "$payload > 0 && $rest > 0", overlay = true },
}
