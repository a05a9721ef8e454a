--- UDP-Lite, RFC 3828: a checksum over as much as the header says, 0 for all. Fields are named as UDP's.
return {
    name = "udplite", prefix = "udp", title = "Lightweight User Datagram Protocol",
    on = { ["ip.proto"] = 136 },
    header = 8,
    check = {
        { "checksum_coverage == 0 || (checksum_coverage >= 8 && checksum_coverage <= $len)",
            "a checksum over less than the header or more than there is" },
    },
    next = {
        { table = "udp.port", key = "srcport < dstport ? srcport : dstport" },
        { table = "udp.port", key = "srcport < dstport ? dstport : srcport" },
        { guess_by = "udp" },
    },
    checksum = {
        field = "checksum", pseudo = true, protocol = 136, length = "$len",
        to = "checksum_coverage == 0 ? $len : checksum_coverage", zero_is_ones = true,
    },
    line = "UDP-Lite, length {=$payload}",
    { "srcport", 16, "Source Port", also = "port", default = 50000 },
    { "dstport", 16, "Destination Port", also = "port" },
    { "checksum_coverage", 16, "Checksum coverage" },
    { "length", 16, "Length", value = "$len" },
    { "checksum", 16, "Checksum", base = "hex" },
    { "checksum.status", value = "checksum == 0 ? 4 : $checksum", values = {
        [0] = "Bad", [1] = "Good", [2] = "Unverified", [4] = "Illegal",
    } },
    { "payload", "bytes", "Payload", when = "$payload > 0 && $rest > 0", overlay = true },
}
