rockspec_format = "3.0"
package = "ringtap"
version = "scm-1"
source = {
    url = "git+file://.",
}
description = {
    summary = "Packet capture, sending, filtering and capture files for Lua, over zero-copy buffers",
    detailed = [[
AF_PACKET rings (TPACKET_V3), AF_XDP sockets and capture files (pcap, pcapng), driven by Lua scripts. The C core moves
the bytes and never copies a packet that nobody asked to keep.]],
    license = "MIT",
    labels = { "network", "packet", "pcap", "xdp", "linux" },
}
supported_platforms = { "linux" }
dependencies = {
    "lua >= 5.4, < 5.5",
    -- The command also needs argparse. Where it is a Debian package LuaRocks does not see it, and a dependency would
    -- ask for the network; so `make install` takes along the one that Lua finds.
}
external_dependencies = {
    PCAP = { header = "pcap/pcap.h", library = "pcap" },
    BPF = { header = "bpf/bpf.h", library = "bpf" },
    ZLIB = { header = "zlib.h", library = "z" },
    ZSTD = { header = "zstd.h", library = "zstd" },
}
build = {
    type = "make",
    build_target = "all",
    install_target = "install",
    build_variables = {
        BUILD = ".build-rock",
        CC = "$(CC)",
        CFLAGS = "$(CFLAGS)",
        LIBFLAG = "$(LIBFLAG)",
        LUA = "$(LUA)",
        LUA_INCDIR = "$(LUA_INCDIR)",
        PCAP_INCDIR = "$(PCAP_INCDIR)",
        PCAP_LIBDIR = "$(PCAP_LIBDIR)",
        BPF_INCDIR = "$(BPF_INCDIR)",
        BPF_LIBDIR = "$(BPF_LIBDIR)",
        ZLIB_INCDIR = "$(ZLIB_INCDIR)",
        ZLIB_LIBDIR = "$(ZLIB_LIBDIR)",
        ZSTD_INCDIR = "$(ZSTD_INCDIR)",
        ZSTD_LIBDIR = "$(ZSTD_LIBDIR)",
    },
    install_variables = {
        BUILD = ".build-rock",
        CC = "$(CC)",
        CFLAGS = "$(CFLAGS)",
        LIBFLAG = "$(LIBFLAG)",
        LUA = "$(LUA)",
        LUA_INCDIR = "$(LUA_INCDIR)",
        PCAP_INCDIR = "$(PCAP_INCDIR)",
        PCAP_LIBDIR = "$(PCAP_LIBDIR)",
        BPF_INCDIR = "$(BPF_INCDIR)",
        BPF_LIBDIR = "$(BPF_LIBDIR)",
        ZLIB_INCDIR = "$(ZLIB_INCDIR)",
        ZLIB_LIBDIR = "$(ZLIB_LIBDIR)",
        ZSTD_INCDIR = "$(ZSTD_INCDIR)",
        ZSTD_LIBDIR = "$(ZSTD_LIBDIR)",
        INST_LIBDIR = "$(LIBDIR)",
        INST_LUADIR = "$(LUADIR)",
        INST_BINDIR = "$(BINDIR)",
    },
}
