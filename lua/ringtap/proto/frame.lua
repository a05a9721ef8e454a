--- What the packet is before its first header. The engine knows these by number: enum rtap_frame_field in
-- src/packet/engine.h.
return {
    name = "frame", title = "Frame", hidden = true,
    { "number", "frame:1", "Frame Number" },
    { "len", "frame:2", "Frame length on the wire" },
    { "cap_len", "frame:3", "Frame length stored into the capture file" },
    { "time", "frame:4", "Arrival Time" },
    { "time_epoch", "frame:5", "Epoch Time" },
    { "time_relative", "frame:6", "Time since reference or first frame" },
    { "time_delta", "frame:7", "Time delta from previous captured frame" },
    { "protocols", "frame:8", "Protocols in frame" },
    { "interface_id", "frame:9", "Interface id" },
    { "interface_name", "frame:10", "Interface name" },
    { "comment", "frame:11", "Comment" },
}
