# SPDX-License-Identifier: MIT
# One makefile, no recursion, no configure. Everything is built under O.
#
#   make            the programs, the shim, the SQLite module
#   make check      build the tests too and run them all under prove
#   make bench      what recording costs, beside its bars and other tracers
#   make suites     other programs' own tests, bare and recorded
#   make install    DESTDIR= PREFIX=
#   make layers     check which rooms of the source use which
#   make asan fuzz tidy format headers docs clean
#
# V=1 shows the commands. WERROR=1 makes warnings errors. TUNED= leaves out the
# placement of the shim's code that is tuned to one processor
# (preload/core/compiler.h). CFLAGS, CPPFLAGS and LDFLAGS are yours: they come
# last.

O ?= build
# One name for one folder: what make knows of headers goes by the object's name.
override O := $(patsubst $(CURDIR)/%,%,$(abspath $(O)))
PREFIX ?= /usr/local
DESTDIR ?=
PKG_CONFIG ?= pkg-config
MPICC ?= mpicc
CLANG_TIDY ?= clang-tidy
VERSION := 0.1.0

Q := $(if $(V),,@)
say = $(if $(V),,@printf '  %-6s %s\n' $(1) $(2))

.DELETE_ON_ERROR:
.SECONDARY:
.DEFAULT_GOAL := all

pkgs := sqlite3 libzstd jansson zlib yaml-0.1
ifneq ($(filter-out clean format,$(or $(MAKECMDGOALS),all)),)
ifneq ($(shell $(PKG_CONFIG) --exists $(pkgs) && echo yes),yes)
$(error a library is missing ($(pkgs)); run scripts/setup)
endif
endif
pkg_cflags := $(shell $(PKG_CONFIG) --cflags $(pkgs) 2>/dev/null)
pkg_libs := $(shell $(PKG_CONFIG) --libs $(pkgs) 2>/dev/null) -lbz2 -lpthread -lm

# Formats of data sets whose library may be absent: ioreel gen and run say so.
pkg_of = $(firstword $(foreach p,$(1),$(if $(filter yes,$(shell \
	$(PKG_CONFIG) --exists $(p) && echo yes)),$(p))))
hdf5_pkg := $(call pkg_of,hdf5-serial hdf5)
jpeg_pkg := $(call pkg_of,libjpeg)
png_pkg := $(call pkg_of,libpng)
format_pkgs := $(hdf5_pkg) $(jpeg_pkg) $(png_pkg)
ifneq ($(strip $(format_pkgs)),)
pkg_cflags += $(if $(hdf5_pkg),-DREEL_HAVE_HDF5) \
	$(if $(jpeg_pkg),-DREEL_HAVE_JPEG) $(if $(png_pkg),-DREEL_HAVE_PNG) \
	$(shell $(PKG_CONFIG) --cflags $(format_pkgs))
pkg_libs += $(shell $(PKG_CONFIG) --libs $(format_pkgs))
endif

warn := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
	-Wpointer-arith -Wundef -Wformat=2 -Wno-unused-parameter \
	$(if $(WERROR),-Werror)
base_cflags := -std=gnu11 -O2 -g $(warn)
base_cppflags := -I. -I$(O)/gen -DREEL_VERSION='"$(VERSION)"' -D_GNU_SOURCE
# The sanitizers of "make asan" go here, not into CFLAGS, which are the user's.
SAN ?=
SHIM_SAN ?=
TUNED ?= 1

# gcc joins two counters of a row in a vector, which takes longer than both alone.
prog_cflags = $(base_cflags) -fno-tree-slp-vectorize $(SAN) $(pkg_cflags) $(CFLAGS)
prog_cppflags = $(base_cppflags) -MMD -MP $(CPPFLAGS)
# Where the compiler takes it, events are cleared and copied by plain stores:
# "rep stos" takes 10 ns to begin.
cc_takes = $(shell $(CC) $(1) -E -x c /dev/null >/dev/null 2>&1 && echo '$(1)')
comma := ,
plain_stores := $(call cc_takes,-mmemset-strategy=unrolled_loop:256:noalign$(comma)libcall:-1:noalign) \
	$(call cc_takes,-mmemcpy-strategy=unrolled_loop:256:noalign$(comma)libcall:-1:noalign)
# The shim: generic registers only, no fortified calls, nothing but libc.
shim_cflags = $(base_cflags) $(SHIM_SAN) -fPIC -fvisibility=hidden \
	-mgeneral-regs-only $(plain_stores) -fno-stack-protector -fno-delete-null-pointer-checks \
	-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=0 -ftls-model=initial-exec \
	-D__NO_INLINE__=1 -Wno-missing-prototypes \
	$(if $(TUNED),-DREEL_TUNED_PLACES) $(CFLAGS)

# Rooms: every folder of C. What lies in lib, record, analyzer, replay and cmd is
# one library, apart from the main files of the programs and what needs MPI.
src_in = $(sort $(shell find $(1) -name '*.c'))
mpi_src := cmd/ioreel_mpi.c cmd/mpi_load.c cmd/mpi_replay.c cmd/mpi_workload.c \
	replay/comm/comm_mpi.c replay/comm/file_mpi.c replay/comm/below_mpi.c
no_format_src := \
	$(if $(hdf5_pkg),,$(wildcard replay/dataset/hdf5*.c)) \
	$(if $(jpeg_pkg),,replay/dataset/jpeg.c) \
	$(if $(png_pkg),,replay/dataset/png.c)
core_src := $(filter-out cmd/main.c lib/store/sqlite_module.c $(mpi_src) \
	$(no_format_src), \
	$(call src_in,lib record analyzer replay cmd))
shim_src := $(call src_in,preload)
module_src := $(addprefix lib/store/,sqlite_module.c vtab.c vtab_event.c \
	vtab_rows.c vtab_tables.c event_block.c event_match.c event_names.c \
	event_plan.c event_scan.c byte_planes.c row_block.c file_class.c) lib/sql/aggregate.c \
	lib/intmap.c lib/error.c lib/text.c

core_obj := $(patsubst %.c,$(O)/%.o,$(core_src))
core_lib := $(O)/libcore.a
shim_obj := $(patsubst %.c,$(O)/%.o,$(shim_src))
module_obj := $(patsubst %.c,$(O)/module/%.o,$(module_src))
sql := $(wildcard schemas/*.sql schemas/upgrade/*.sql)
sql_inc := $(patsubst %,$(O)/gen/%.inc,$(sql)) $(O)/gen/schemas/all.sql.inc

have_mpi := $(shell command -v $(MPICC) >/dev/null 2>&1 && echo yes)
mpi_cflags = $(shell $(MPICC) --showme:compile 2>/dev/null)
mpi_libs = $(shell $(MPICC) --showme:link 2>/dev/null)

programs := $(O)/ioreel $(O)/libioreel.so $(O)/ioreel_sqlite.so \
	$(if $(have_mpi),$(O)/ioreel-mpi)

unit_bin := $(patsubst %.c,$(O)/%,$(wildcard tests/unit/test_*.c))
# Programs that tests run under the shim: plain C, no project code.
probe_bin := $(patsubst %.c,$(O)/%,$(wildcard tests/shim/*/*.c tests/jobs/*.c tests/bench/probe_*.c))
# Tools of the tests and benches that use the core library.
tool_bin := $(patsubst %.c,$(O)/%,$(wildcard tests/data/*.c tests/fuzz/*.c tests/bench/bench_*.c tests/replay/*.c))

# Where the programs that are built here find their Python hooks, whatever O is.
hooks := $(O)/python
$(hooks):
	$(Q)mkdir -p $(@D)
	$(Q)ln -srfn preload/python $@

.PHONY: all tests check bench suites install asan fuzz tidy format headers layers docs clean
all: $(programs) $(hooks)
tests: all $(unit_bin) $(probe_bin) $(tool_bin)

sql_to_c := sed -e 's/[\"]/\\&/g' -e 's/^/"/' -e 's/$$/\\n"/'
$(O)/gen/%.sql.inc: %.sql
	$(Q)mkdir -p $(@D)
	$(Q)$(sql_to_c) $< >$@

# An empty line between two: a paragraph is one statement.
$(O)/gen/schemas/all.sql.inc: $(wildcard schemas/*.sql)
	$(Q)mkdir -p $(@D)
	$(Q)for f in $^; do cat $$f && echo; done | $(sql_to_c) >$@

$(O)/%.o: %.c $(sql_inc)
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(prog_cppflags) $(prog_cflags) -c -o $@ $<

# Their loops over columns are worth vectors, which -O2 of gcc 12 leaves out.
columns_obj := $(foreach o,byte_planes event_block,\
	$(O)/lib/store/$(o).o $(O)/module/lib/store/$(o).o)
$(columns_obj) $(O)/analyzer/write/row_queue.o: base_cflags += -O3

$(patsubst %.c,$(O)/%.o,$(mpi_src)): pkg_cflags += $(mpi_cflags)

$(O)/module/%.o: %.c $(sql_inc)
	$(call say,CC,"$< (module)")
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(prog_cppflags) -DREEL_SQLITE_EXTENSION $(prog_cflags) \
		-fPIC -fvisibility=hidden -c -o $@ $<

$(O)/preload/%.o: preload/%.c
	$(call say,CC,"$< (shim)")
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(prog_cppflags) $(shim_cflags) -c -o $@ $<

$(core_lib): $(core_obj)
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) qcs $@ $^

$(O)/ioreel: $(O)/cmd/main.o $(core_lib)
	$(call say,LD,$@)
	$(Q)$(CC) $(prog_cflags) -o $@ $^ $(pkg_libs) $(LDFLAGS)

$(O)/ioreel-mpi: $(patsubst %.c,$(O)/%.o,$(mpi_src)) $(core_lib)
	$(call say,LD,$@)
	$(Q)$(CC) $(prog_cflags) -o $@ $^ $(pkg_libs) $(mpi_libs) $(LDFLAGS)

# glibc before 2.34 has dlsym() in libdl, which little programs do not load.
libdl := $(wildcard $(shell $(CC) -print-file-name=libdl.so.2))
$(O)/libioreel.so: $(shim_obj)
	$(call say,LD,$@)
	$(Q)$(CC) $(shim_cflags) -shared -Wl,-z,defs -Wl,-z,now \
		-Wl,-z,noseparate-code -Wl,-Bsymbolic-functions \
		-Wl,--no-undefined -o $@ $^ -Wl,--no-as-needed $(libdl) $(LDFLAGS)

$(O)/ioreel_sqlite.so: $(module_obj)
	$(call say,LD,$@)
	$(Q)$(CC) $(prog_cflags) -shared -o $@ $^ \
		$(shell $(PKG_CONFIG) --libs libzstd) -lm $(LDFLAGS)

$(unit_bin) $(tool_bin): $(O)/%: %.c $(core_lib)
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(prog_cppflags) $(prog_cflags) -o $@ $< $(core_lib) \
		$(pkg_libs) $(LDFLAGS)

$(probe_bin): $(O)/%: %.c
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(base_cppflags) -MMD -MP $(base_cflags) $(CFLAGS) -o $@ $< \
		-lpthread -ldl $(PROBE_LDFLAGS) $(LDFLAGS)
# The baseline of the benches: a library, as a preloaded one is.
$(O)/tests/bench/floor.so: tests/bench/floor.c
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(base_cppflags) -MMD -MP $(base_cflags) -fPIC -shared \
		-ftls-model=initial-exec $(CFLAGS) -Wl,-soname,$(@F) \
		-o $@ $< $(LDFLAGS)
$(O)/tests/bench/probe_calls: $(O)/tests/bench/floor.so
$(O)/tests/bench/probe_calls: PROBE_LDFLAGS = $(O)/tests/bench/floor.so \
	-Wl,-rpath,'$$ORIGIN'
# Its resolver must run before the preloaded library is relocated.
$(O)/tests/shim/core/early_calls: PROBE_LDFLAGS = -Wl,-z,now

check_env = O=$(O) IOREEL=$(abspath $(O))/ioreel PATH="$(abspath $(O)):$$PATH"
JOBS ?= 2
check: tests layers
	$(Q)$(check_env) prove -j$(JOBS) $(PROVE_FLAGS) \
		$(unit_bin) $(sort $(wildcard tests/*/*.t tests/shim/*/*.t))

# A table, and an SVG in $(O)/bench. Both take long, and skip what is not
# installed. BENCH_FLAGS: see tests/bench/run --help.
bench: tests
	$(Q)$(check_env) tests/bench/run $(BENCH_FLAGS)

# Suites of other programs under the shim.
suites: tests
	$(Q)$(check_env) tests/suites/run

# With bytecode: without, each start of a Python takes a millisecond more.
install: all
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/lib/ioreel \
		$(DESTDIR)$(PREFIX)/include \
		$(DESTDIR)$(PREFIX)/share/ioreel/python/ioreel \
		$(DESTDIR)$(PREFIX)/share/man/man1 $(DESTDIR)$(PREFIX)/share/man/man5 \
		$(DESTDIR)$(PREFIX)/share/man/man7
	install -m 755 $(O)/ioreel $(if $(have_mpi),$(O)/ioreel-mpi) $(DESTDIR)$(PREFIX)/bin
	install -m 755 $(O)/libioreel.so $(O)/ioreel_sqlite.so $(DESTDIR)$(PREFIX)/lib/ioreel
	install -m 644 schemas/ioreel.h $(DESTDIR)$(PREFIX)/include
	install -m 644 preload/python/*.py $(DESTDIR)$(PREFIX)/share/ioreel/python
	install -m 644 preload/python/ioreel/*.py $(DESTDIR)$(PREFIX)/share/ioreel/python/ioreel
	install -d $(DESTDIR)$(PREFIX)/share/ioreel/workloads
	install -m 644 workloads/*.json $(DESTDIR)$(PREFIX)/share/ioreel/workloads
	install -m 644 $(wildcard schemas/*.schema.json) $(DESTDIR)$(PREFIX)/share/ioreel
	command -v python3 >/dev/null && python3 -m compileall -q -s "$(DESTDIR)" \
		$(DESTDIR)$(PREFIX)/share/ioreel/python || :
	install -m 644 $(wildcard man/*.1) $(DESTDIR)$(PREFIX)/share/man/man1
	install -m 644 $(wildcard man/*.5) $(DESTDIR)$(PREFIX)/share/man/man5
	install -m 644 $(wildcard man/*.7) $(DESTDIR)$(PREFIX)/share/man/man7

# ASan's runtime must come first in a process, so the shim gets UBSan in trap
# mode, which needs no runtime; in ioreel's own replay the shim comes first.
asan:
	$(Q)$(MAKE) O=$(O)/asan \
		SAN="-fsanitize=address,undefined -fno-sanitize-recover=undefined \
			-fno-omit-frame-pointer" \
		SHIM_SAN="-fsanitize=undefined -fsanitize-undefined-trap-on-error" \
		ASAN_OPTIONS=verify_asan_link_order=0 IOREEL_ASAN=1 check

fuzz: tests
	$(Q)$(check_env) tests/fuzz/run

# A file at a time, so that -j and -k mean what they always do; not kept, as a
# header may have changed.
tidy_files := $(addprefix tidy/,$(core_src) cmd/main.c $(mpi_src) $(shim_src))
.PHONY: $(tidy_files)
tidy: $(tidy_files)
$(tidy_files): tidy/%: $(sql_inc)
	$(call say,TIDY,$*)
	$(Q)$(CLANG_TIDY) --quiet $* -- $(base_cppflags) $(pkg_cflags) $(mpi_cflags) \
		-std=gnu11 -Wno-unknown-warning-option

format:
	$(Q)clang-format -i $$(git ls-files '*.c' '*.h')

headers: $(sql_inc)
	$(Q)for h in $$(git ls-files '*.h'); do \
		$(CC) $(base_cppflags) $(pkg_cflags) -std=gnu11 -Wall -Wextra -Werror \
			-Wno-unused-parameter -Wno-unused-function -fsyntax-only -x c $$h || exit 1; done

# After the build, as it reads the symbols of the object files, too.
layers: $(core_obj) $(shim_obj) $(O)/cmd/main.o
	$(Q)scripts/layers $(O)

clean:
	rm -rf $(O)

-include $(shell find $(O) -name '*.d' 2>/dev/null)
