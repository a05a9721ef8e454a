--- WireGuard, its four messages, https://www.wireguard.com/protocol/. It has no port of its own; a message's first byte
-- fixes its length.

local digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

-- RFC 4648 4: keys are written so.
local function base64(bytes)
    local out = {}
    for i = 1, #bytes, 3 do
        local a, b, c = bytes:byte(i, i + 2)
        local word = a << 16 | (b or 0) << 8 | (c or 0)
        for k = 0, 3 do
            local n = word >> (18 - 6 * k) & 63
            out[#out + 1] = (k == 2 and not b or k == 3 and not c) and "=" or digits:sub(n + 1, n + 1)
        end
    end
    return table.concat(out)
end

-- What is enciphered: Wireshark tells that it is there.
local function sealed(name, title, size)
    return { size = size, { name, "bool", title, value = "1", hidden = true }, { "_", "bytes" } }
end

local sender = { "sender", 32, "Sender", base = "hex", le = true }
local receiver = { "receiver", 32, "Receiver", base = "hex", le = true }
local ephemeral = { "ephemeral", "string", "Ephemeral", size = 32, value = base64 }
local mac1 = { "mac1", "bytes", "mac1", size = 16 }
local mac2 = { "mac2", "bytes", "mac2", size = 16 }

return {
    name = "wg", title = "WireGuard Protocol",
    on = { ["udp.port"] = {} },
    guess = {
        udp = "$u16(2) == 0 && ($le32(0) == 4 ? $len >= 32 : $le32(0) == 1 ? $len == 148 : " ..
            "$le32(0) == 2 ? $len == 92 : $le32(0) == 3 && $len == 64)",
    },
    header = "$len",
    line = {
        "WireGuard, {type}",
        { when = "type == 1 || type == 2", ", sender {sender}" },
        { when = "type != 1", ", receiver {receiver}" },
        { when = "type == 4", ", counter {counter}" },
        ", length {=$len}",
    },
    { "type", 8, "Type", default = 4, values = {
        [1] = "Handshake Initiation", [2] = "Handshake Response", [3] = "Cookie Reply", [4] = "Transport Data",
    } },
    { "reserved", "bytes", "Reserved", size = 3 },
    { switch = "type", cases = {
        [1] = {
            sender, ephemeral,
            sealed("encrypted_static", "Encrypted Static", 48),
            sealed("encrypted_timestamp", "Encrypted Timestamp", 28),
            mac1, mac2,
        },
        [2] = { sender, receiver, ephemeral, sealed("encrypted_empty", "Encrypted Empty", 16), mac1, mac2 },
        [3] = {
            receiver,
            { "nonce", "bytes", "Nonce", size = 24 },
            { "encrypted_cookie", "bytes", "Encrypted Cookie", size = 32 },
        },
        [4] = {
            receiver,
            { "counter", 64, "Counter", le = true },
            { "encrypted_packet", "bool", "Encrypted Packet", value = "1", hidden = true },
            { "_", "bytes" },
        },
    } },
}
