# make deps | all | demo | test | check | compare | bench | asan | install | clean          V=1 shows the commands
LUA          ?= lua5.4
CC           ?= gcc
PKG_CONFIG   ?= pkg-config
LUA_PC       ?= $(shell for p in lua5.4 lua-5.4 lua54 lua; do $(PKG_CONFIG) --exists $$p 2>/dev/null && echo $$p && break; done)
LUA_INCDIR   ?= $(patsubst -I%,%,$(filter -I%,$(shell $(PKG_CONFIG) --cflags-only-I $(LUA_PC) 2>/dev/null)))
BUILD        ?= .build
CLANG        ?= clang
XDP          ?= yes
PREFIX       ?= /usr/local
INST_LIBDIR  ?= $(PREFIX)/lib/lua/5.4
INST_LUADIR  ?= $(PREFIX)/share/lua/5.4
INST_BINDIR  ?= $(PREFIX)/bin
CFLAGS       ?= -O2 -g
LIBFLAG      ?= -shared
SANITIZE     ?=

PACKAGES := gcc make pkg-config lua5.4 liblua5.4-dev libpcap-dev libbpf-dev zlib1g-dev libzstd-dev clang lua-argparse \
            iproute2
TEST_PACKAGES := lua-busted lua-check luarocks tshark tcpdump cppcheck clang-format zstd gzip ethtool procps \
                 netbase util-linux tmux tcpreplay netsniff-ng

WARN     := -Wall -Wextra -Werror=implicit-function-declaration -Wshadow -Wconversion -Wno-sign-conversion -Wstrict-prototypes -Wmissing-prototypes -Wvla
ALL_CFLAGS := -std=gnu11 -D_GNU_SOURCE -fPIC -fvisibility=hidden -pthread $(WARN) $(CFLAGS) $(addprefix -I,$(LUA_INCDIR)) \
              $(foreach d,PCAP BPF ZLIB ZSTD,$(addprefix -I,$($(d)_INCDIR)))
ALL_LIBS   := $(foreach d,PCAP BPF ZLIB ZSTD,$(addprefix -L,$($(d)_LIBDIR))) -lpcap -lz -lzstd -pthread
# AF_XDP needs libbpf, and clang for bpf/: XDP=no leaves both out
ifeq ($(XDP),yes)
ALL_CFLAGS += -DRTAP_BPF_DIR='"$(abspath $(BUILD))/bpf"'
ALL_LIBS   += -lbpf
endif
ifneq ($(SANITIZE),)
ALL_CFLAGS += -fsanitize=$(SANITIZE) -fno-omit-frame-pointer -fno-sanitize-recover=undefined
ALL_LIBS   += -fsanitize=$(SANITIZE)
endif

SRCS := $(sort $(wildcard src/*.c src/packet/*.c src/io/*.c src/lua/*.c))
SRCS := $(filter-out $(if $(filter yes,$(XDP)),src/io/xdp_none.c,src/io/xdp_program.c src/io/xdp_filter.c),$(SRCS))
OBJS := $(SRCS:src/%.c=$(BUILD)/obj/%.o)
LUAS := $(sort $(shell find lua/ringtap -name '*.lua' 2>/dev/null))
Q    := $(if $(V),,@)

.PHONY: all deps test-deps demo test check compare mutate bench asan install clean FORCE
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

# The XDP program is embedded in the module: xdp_program.c includes the object files.
ifeq ($(XDP),yes)
$(BUILD)/obj/io/xdp_program.o: $(BUILD)/bpf/redirect.bpf.o $(BUILD)/bpf/metadata.bpf.o
endif

BPF_CFLAGS := -O2 -g -target bpf -mcpu=v3 -Wall -Wextra -I/usr/include/$(shell $(CC) -print-multiarch)

$(BUILD)/bpf/%.bpf.o: bpf/%.bpf.c $(wildcard bpf/*.h) $(BUILD)/flags
	$(Q)command -v $(CLANG) >/dev/null || { echo "$(CLANG) is missing: it compiles $<, the program for AF_XDP."; \
	    echo "Install it (make deps; CLANG=name when it is called otherwise), or build without AF_XDP: make XDP=no"; exit 1; }
	$(Q)mkdir -p $(@D)
	$(if $(V),,@echo "  BPF   $<")
	$(Q)$(CLANG) $(BPF_CFLAGS) -c -o $@ $<

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

install: all
	$(Q)install -d $(DESTDIR)$(INST_LIBDIR)/ringtap $(DESTDIR)$(INST_BINDIR)
	$(Q)install -m 755 $(BUILD)/lib/ringtap/core.so $(DESTDIR)$(INST_LIBDIR)/ringtap/core.so
	$(Q)for f in $(LUAS:lua/%=%); do install -D -m 644 lua/$$f $(DESTDIR)$(INST_LUADIR)/$$f || exit 1; done
	$(Q)f=$$($(LUA) -e 'io.write(package.searchpath("argparse", package.path) or "")'); \
	    [ -z "$$f" ] || install -m 644 "$$f" $(DESTDIR)$(INST_LUADIR)/ringtap/argparse.lua
	$(Q)sed '1s|.*|#!/usr/bin/env $(notdir $(LUA))|' lua/bin/ringtap > $(BUILD)/ringtap.installed
	$(Q)install -m 755 $(BUILD)/ringtap.installed $(DESTDIR)$(INST_BINDIR)/ringtap

clean:
	rm -rf .build .build-*

# ---------------------------------------------------------------- what is needed, and trying it out

APT_GET := DEBIAN_FRONTEND=noninteractive apt-get

# $(call install-packages,LIST): by apt what is missing, elsewhere say what it is
define install-packages
@if command -v dpkg-query >/dev/null && command -v apt-get >/dev/null; then \
    missing=""; \
    for p in $(1); do \
        dpkg-query -W -f='$${Status}' $$p 2>/dev/null | grep -q 'ok installed' || missing="$$missing $$p"; \
    done; \
    [ -z "$$missing" ] || { echo "  APT  $$missing"; $(APT_GET) update -qq && \
        $(APT_GET) install -y -qq --no-install-recommends $$missing >/dev/null; }; \
else \
    echo "This system has no apt: install what these Debian packages hold:"; echo "  $(1)"; \
fi
endef

deps:
	$(call install-packages,$(PACKAGES))

test-deps: deps
	$(call install-packages,$(TEST_PACKAGES))

# The packages first, then a make that sees them (pkg-config is asked when a makefile is read).
demo: deps
	$(Q)$(MAKE) --no-print-directory all
	$(Q)sh examples/demo.sh $(BUILD)

MUTATE = $(foreach v,COUNT SEED CAPTURES,$(if $($(v)),$(v)=$($(v))))
BUSTED := RINGTAP_BUILD=$(BUILD) lua5.4 /usr/bin/busted

test: test-deps
	$(Q)$(MAKE) --no-print-directory all
	$(Q)$(BUSTED) -o spec/output.lua

# Decoding against tshark: make compare CAPTURES=dir [FILE=pattern] [FIELDS=pattern] [VERBOSE=1]
compare: test-deps
	$(Q)$(MAKE) --no-print-directory all
	$(Q)LUA_PATH='lua/?.lua;lua/?/init.lua;;' LUA_CPATH='$(BUILD)/lib/?.so;;' \
	    lua5.4 spec/compare.lua CAPTURES='$(CAPTURES)' FILE='$(FILE)' FIELDS='$(FIELDS)' VERBOSE='$(VERBOSE)'

# Damaged packets through the decoder, with and without the sanitizers: make mutate [COUNT=n] [SEED=n] [CAPTURES=dir]
mutate: test-deps
	$(Q)$(MAKE) --no-print-directory all $(ASAN_LUA)
	$(Q)$(MAKE) --no-print-directory all BUILD=.build-asan SANITIZE=address,undefined CFLAGS='-O1 -g' LUA=$(ASAN_LUA)
	$(Q)LUA_PATH='lua/?.lua;lua/?/init.lua;;' LUA_CPATH='$(BUILD)/lib/?.so;;' lua5.4 spec/mutate.lua $(MUTATE)
	$(Q)LUA_PATH='lua/?.lua;lua/?/init.lua;;' LUA_CPATH='.build-asan/lib/?.so;;' ASAN_OPTIONS=abort_on_error=1:detect_leaks=0 \
	    $(ASAN_LUA) spec/mutate.lua $(MUTATE) LIMIT=1

# Sending against trafgen, tcpreplay and sendto, in turn on one core: make bench [ROUNDS=n] [JSON=1]
bench: test-deps
	$(Q)$(MAKE) --no-print-directory all
	$(Q)RINGTAP_BUILD=$(BUILD) LUA_PATH='lua/?.lua;lua/?/init.lua;;' LUA_CPATH='$(BUILD)/lib/?.so;;' \
	    lua5.4 spec/bench/send.lua $(foreach v,ROUNDS JSON,$(if $($(v)),$(v)=$($(v))))

# The interpreter with the sanitizers' libraries in front. By the loader, not by LD_PRELOAD, which the tools that the
# specs start would inherit.
ASAN_LUA := $(CURDIR)/.build-asan/bin/lua5.4

$(ASAN_LUA): Makefile
	$(Q)mkdir -p $(@D)
	$(Q)lua=$$(readlink -f "$$(command -v lua5.4)"); { echo '#!/bin/sh'; \
	    echo "exec $$(readelf -l $$lua | sed -n 's/.*interpreter: \(.*\)]/\1/p') --argv0 lua5.4 \\"; \
	    echo "    --preload '$$(gcc -print-file-name=libasan.so) $$(gcc -print-file-name=libubsan.so)' $$lua \"\$$@\""; } > $@
	$(Q)chmod +x $@

asan: test-deps
	$(Q)$(MAKE) --no-print-directory $(ASAN_LUA)
	$(Q)$(MAKE) --no-print-directory all BUILD=.build-asan SANITIZE=address,undefined CFLAGS='-O1 -g' LUA=$(ASAN_LUA)
	$(Q)echo 'leak:add_name_to_object' > .build-asan/lsan.supp # the loader's own, of --preload
	$(Q)PATH="$(dir $(ASAN_LUA)):$$PATH" RINGTAP_BUILD=.build-asan ASAN_OPTIONS=abort_on_error=1 \
	    LSAN_OPTIONS=suppressions=$(CURDIR)/.build-asan/lsan.supp:print_suppressions=0 \
	    lua5.4 /usr/bin/busted -o spec/output.lua

check: test-deps
	$(Q)$(MAKE) --no-print-directory all BUILD=.build-check CFLAGS='-O2 -g -Werror'
	$(Q)luacheck --quiet .
	$(Q)cppcheck --quiet --std=c11 --enable=warning,performance,portability --error-exitcode=1 --inline-suppr \
	    --suppress=missingIncludeSystem -D__BYTE_ORDER__=1234 -D__ORDER_LITTLE_ENDIAN__=1234 \
	    '-DLIBBPF_OPTS(type,name,...)=struct type name = {.sz = sizeof(name)}' '-DRTAP_BPF_DIR="."' src
	$(Q)clang-format --dry-run -Werror $(SRCS) $(wildcard src/*/*.h)
	@! grep -rlE '#include *[<"](lua|lauxlib|lualib)\.h' src | grep -vE '^src/(lua/|module\.c$$)' || \
	    { echo "lua.h is for src/lua and src/module.c"; exit 1; }
	@! grep -rlE '#include *<bpf/' src | grep -vE '^src/io/xdp_(program|filter)\.c$$' || \
	    { echo "libbpf is for src/io/xdp_program.c and xdp_filter.c"; exit 1; }
	@echo "check: clean"
