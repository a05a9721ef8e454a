--- TFTP, RFC 1350, with the options of RFC 2347. What a data packet carries is its payload.

local function text(name, title)
    return {
        { check = "$rest > 0", "a text is missing" },
        { name, "stringz", title, ascii = true },
        { check = "$u8($here - 1) == 0", "a text without its end" },
    }
end

local options = { loop = true, list = "options",
    text("option.name", "Option name"),
    text("option.value", "Option value"),
}

return {
    name = "tftp", title = "Trivial File Transfer Protocol",
    on = { ["udp.port"] = 69 },
    line = {
        { when = "opcode == 1", "RRQ \"{source_file}\" {type} {option.name*} {option.value*}, length {=$len}" },
        { when = "opcode == 2", "WRQ \"{destination_file}\" {type} {option.name*} {option.value*}, length {=$len}" },
        { when = "opcode == 3", "DATA block {block}, length {=$len}" },
        { when = "opcode == 4", "ACK block {block}, length {=$len}" },
        { when = "opcode == 5", "ERROR {error.code} \"{error.message}\", length {=$len}" },
        { when = "opcode == 6", "OACK {option.name*} {option.value*}, length {=$len}" },
        { when = "opcode == 0 || opcode > 6", "opcode {opcode#}, length {=$len}" },
    },
    { "opcode", 16, "Opcode", values = {
        "Read Request", "Write Request", "Data Packet", "Acknowledgement", "Error Code", "Option Acknowledgement",
        [255] = "Information",
    }, default = 1 },
    { switch = "opcode",
        cases = {
            [1] = { text("source_file", "Source File"), text("type", "Type"), options },
            [2] = { text("destination_file", "Destination File"), text("type", "Type"), options },
            [3] = { { "block", 16, "Block", default = 1 } },
            [4] = {
                { "block", 16, "Block", default = 1 },
                { "nextwindowsize", 16, "Next Window Size", when = "$rest == 2" },
                { "data", "bytes", "Data", when = "$rest > 0" },
            },
            [5] = {
                { "error.code", 16, "Error code", values = {
                    [0] = "Not defined", "File not found", "Access violation", "Disk full or allocation exceeded",
                    "Illegal TFTP operation", "Unknown transfer ID", "File already exists", "No such user",
                    "Option negotiation failed",
                } },
                text("error.message", "Error message"),
            },
            [6] = { options },
        },
        default = { { "data", "bytes", "Data", when = "$rest > 0" } },
    },
}
