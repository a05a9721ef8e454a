# make deps | all | demo | test | check | asan | install | clean          V=1 shows the commands
LUA          ?= lua5.4
CC           ?= gcc
PKG_CONFIG   ?= pkg-config
LUA_PC       ?= $(shell for p in lua5.4 lua-5.4 lua54 lua; do $(PKG_CONFIG) --exists $$p 2>/dev/null && echo $$p && break; done)
LUA_INCDIR   ?= $(patsubst -I%,%,$(filter -I%,$(shell $(PKG_CONFIG) --cflags-only-I $(LUA_PC) 2>/dev/null)))
BUILD        ?= .build
PREFIX       ?= /usr/local
INST_LIBDIR  ?= $(PREFIX)/lib/lua/5.4
INST_LUADIR  ?= $(PREFIX)/share/lua/5.4
INST_BINDIR  ?= $(PREFIX)/bin
CFLAGS       ?= -O2 -g
LIBFLAG      ?= -shared
SANITIZE     ?=

PACKAGES := gcc make pkg-config lua5.4 liblua5.4-dev libbpf-dev libpcap-dev clang zlib1g-dev libzstd-dev lua-argparse \
            iproute2
TEST_PACKAGES := lua-busted lua-check luarocks tshark tcpdump cppcheck clang-format zstd gzip ethtool procps \
                 lua-dkjson lua-filesystem util-linux

WARN     := -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion -Wstrict-prototypes -Wmissing-prototypes -Wvla
ALL_CFLAGS := -std=gnu11 -D_GNU_SOURCE -fPIC -fvisibility=hidden -pthread $(WARN) $(CFLAGS) $(addprefix -I,$(LUA_INCDIR)) \
              $(foreach d,PCAP ZLIB ZSTD,$(addprefix -I,$($(d)_INCDIR)))
ALL_LIBS   := $(foreach d,PCAP ZLIB ZSTD,$(addprefix -L,$($(d)_LIBDIR))) -lpcap -lz -lzstd -pthread
ifneq ($(SANITIZE),)
ALL_CFLAGS += -fsanitize=$(SANITIZE) -fno-omit-frame-pointer -fno-sanitize-recover=undefined
ALL_LIBS   += -fsanitize=$(SANITIZE)
endif

SRCS := $(sort $(wildcard src/*.c src/packet/*.c src/io/*.c src/lua/*.c))
OBJS := $(SRCS:src/%.c=$(BUILD)/obj/%.o)
LUAS := $(sort $(shell find lua/ringtap -name '*.lua' 2>/dev/null))
Q    := $(if $(V),,@)

.PHONY: all deps test-deps demo test check asan install clean FORCE
all: $(BUILD)/lib/ringtap/core.so $(BUILD)/bin/ringtap

# Everything depends on the flags it was built with, so other flags mean another build.
$(BUILD)/flags: FORCE
	$(Q)mkdir -p $(@D)
	$(Q)echo '$(CC) $(ALL_CFLAGS) $(LIBFLAG) $(LDFLAGS) $(ALL_LIBS)' | cmp -s - $@ || \
	    echo '$(CC) $(ALL_CFLAGS) $(LIBFLAG) $(LDFLAGS) $(ALL_LIBS)' > $@

$(BUILD)/obj/%.o: src/%.c $(BUILD)/flags
	$(Q)mkdir -p $(@D)
	$(if $(V),,@echo "  CC    $<")
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/lib/ringtap/core.so: $(OBJS)
	$(Q)mkdir -p $(@D)
	$(if $(V),,@echo "  LINK  $@")
	$(Q)$(CC) $(LIBFLAG) $(LDFLAGS) -o $@ $(OBJS) $(ALL_LIBS)

# The command, run from this tree.
$(BUILD)/bin/ringtap: lua/bin/ringtap Makefile
	$(Q)mkdir -p $(@D)
	$(Q){ printf '#!%s\n' "$$(command -v $(LUA))"; \
	    printf 'package.path = "%s/lua/?.lua;%s/lua/?/init.lua;" .. package.path\n' '$(CURDIR)' '$(CURDIR)'; \
	    printf 'package.cpath = "%s/lib/?.so;" .. package.cpath\n' '$(abspath $(BUILD))'; \
	    tail -n +2 $<; } > $@
	$(Q)chmod +x $@

-include $(OBJS:.o=.d)
