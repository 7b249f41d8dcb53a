#!/bin/bash
# SPDX-License-Identifier: MIT
# The shim is transparent, III: programs that start unusually, bring libraries
# of their own, or run under a sanitizer, valgrind or another allocator.
. "$(dirname "$0")/../../lib/tap.sh"
. "$TOP/tests/lib/probe.sh"
shim=$O/libioreel.so

# The symbols that the library needs.
if command -v objdump >/dev/null; then
	is 'glibc_version_cap: no symbol newer than glibc 2.17 is needed' \
		"$(objdump -T "$shim" | grep -o 'GLIBC_[0-9.]*' | sort -uV |
			awk -F'[_.]' '$3 > 17' | tr '\n' ' ')" ''
	is 'no_libunwind_link: only libc (and libdl, a part of it) is linked' \
		"$(objdump -p "$shim" | awk '/NEEDED/ && $2 !~ /^(libc\.so|libdl\.so|ld-linux)/ { print $2 }')" ''
	is 'no_libunwind_link: no unwinder and no allocator is exported' \
		"$(objdump -T "$shim" | grep -v UND | grep -E ' (_Unwind_|backtrace|unw_|malloc|calloc|realloc|free|mmap_)' | awk '{ print $NF }')" ''
else
	skip 'glibc_version_cap, no_libunwind_link' 'no objdump'
fi

# An IFUNC resolver of the program calls open before the shim is relocated and
# environ is set: this must end neither the process nor its recording.
guest ifunc_resolver_bindnow "$O/tests/shim/core/early_calls"
cat >late.c <<'E'
#include <fcntl.h>
#include <unistd.h>
static int one(void) { return close(open("/dev/null", O_RDONLY)), 1; }
__attribute__((used)) static int (*pick(void))(void) { one(); return one; }
int chosen(void) __attribute__((ifunc("pick")));
int main(void)
{
	int fd = open("late.bin", O_RDWR | O_CREAT, 0600);

	for (int i = 0; i < 5000; i++)
		if (pwrite(fd, "x", 1, i) != 1)
			return 1;
	return chosen() != 1;
}
E
for flags in -Wl,-z,now -Wl,-z,lazy; do
	if "$CC" -w -o late late.c $flags 2>/dev/null; then
		guest "init_before_environ$flags" "$T/late"
		is "init_before_environ$flags: later calls are recorded" \
			"$(q "SELECT count(*) FROM v_event WHERE call = 'pwrite'")" 5000
	else
		skip init_before_environ "no $CC"
	fi
done

if build foreign_signature_symbol -DLIBRARY -shared -fPIC; then
	mv foreign_signature_symbol libforeign.so
	build foreign_signature_symbol -L. -lforeign -Wl,-rpath,"$T"
	guest foreign_signature_symbol "$T/foreign_signature_symbol"
	build deepbind_detected -DLIBRARY -shared -fPIC && mv deepbind_detected libdeep.so
	guest deepbind_detected "$O/tests/shim/core/deepbind_detected" "$T/libdeep.so"
	(cd traced && "$IOREEL" record -o ../deep2.reel -- "$O/tests/shim/core/deepbind_detected" "$T/libdeep.so" 2>../deep.err >/dev/null)
	seen=$(q "SELECT count(*) FROM v_event WHERE path LIKE '%/deep.bin' AND call = 'write'")
	check 'deepbind_detected: its write is recorded, or reported as unrecorded' \
		"[ $seen -eq 1 ] || grep -q RTLD_DEEPBIND deep.err"
	guest deepbind_after_dlclose "$O/tests/shim/core/deepbind_detected" "$T/libdeep.so" again
	is 'deepbind_detected: also after the library is loaded again' \
		"$(q "SELECT count(*) FROM v_event WHERE path LIKE '%/deep.bin' AND call = 'write'")" 2
else
	skip 'foreign_signature_symbol, deepbind_detected' "no $CC"
fi

if ${CXX:-c++} -std=c++17 -O2 -o iostreams "$TOP/tests/shim/core/iostreams.cc" 2>cxx.err; then
	guest iostreams "$T/iostreams"
	is 'iostreams: every byte is recorded once' \
		"$(q "SELECT sum(bytes) FILTER (WHERE call IN ('write', 'writev')), sum(bytes) FILTER (WHERE call = 'read') FROM v_event WHERE path LIKE '%/stream.bin'")" \
		"$(printf '148897\t98890')"
else
	skip iostreams 'no C++ compiler'
fi

# Sanitizers wrap the same calls. ASan must be the first library.
for kind in address thread undefined; do
	case $kind in address) name=asan_host ;; thread) name=tsan_host ;; *) name=ubsan_host ;; esac
	if ! build threads_10k_short -fsanitize=$kind || ! ./threads_10k_short 1 >/dev/null 2>&1; then
		skip $name "no -fsanitize=$kind that runs here"
		continue
	fi
	cp threads_10k_short $name
	build errno_matrix -fsanitize=$kind && cp errno_matrix $name.errno
	export ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0
	guest $name "$T/$name" 100
	is "$name: every write is recorded" "$(q "SELECT count(*) FROM v_event WHERE call = 'write' AND path LIKE '%/threads.bin'")" 800
	guest $name.errno "$T/$name.errno"
	unset ASAN_OPTIONS
done

# Under valgrind, stack traces of the program's errors contain frames of the
# shim, but the errors must be the same.
errors() { sed -n 's/^==[0-9]*== \([A-Z].*\)/\1/p' "$1"; }
if command -v valgrind >/dev/null; then
	guest valgrind_host valgrind -q --error-exitcode=99 \
		"$O/tests/shim/core/min_stack_thread" without-altstack
	mkdir named
	check 'valgrind_host: names are read up to their NUL' '(cd named &&
		"$IOREEL" record -q -o ../named.reel -- valgrind -q \
			--error-exitcode=99 "$O/tests/shim/core/path_encoding" >../named.out)'
	valgrind "$O/tests/shim/core/errno_matrix" >bare.out 2>bare.err
	"$IOREEL" record -q -o grind.reel -- valgrind "$O/tests/shim/core/errno_matrix" >traced.out 2>traced.err
	is 'valgrind_host: output' "$(cat traced.out)" "$(cat bare.out)"
	is 'valgrind_host: errors' "$(errors traced.err | grep -v -e Command -e Memcheck)" \
		"$(errors bare.err | grep -v -e Command -e Memcheck)"
else
	skip valgrind_host 'no valgrind'
fi

for lib in jemalloc tcmalloc; do
	so=$(ls /usr/lib/*/lib${lib}.so.? /usr/lib/*/lib${lib}_minimal.so.? 2>/dev/null | head -1)
	if [ -z "$so" ]; then
		skip $lib "no lib$lib.so"
		continue
	fi
	# The shim first, as record sets it, and then the allocator first.
	guest $lib.after sh -c 'LD_PRELOAD=${LD_PRELOAD:+$LD_PRELOAD:}$0 exec "$1"' \
		"$so" "$O/tests/shim/core/threads_10k_short"
	is "$lib.after: every write is recorded" "$(q "SELECT count(*) FROM v_event WHERE call = 'write' AND path LIKE '%/threads.bin'")" 10000
	guest $lib.before sh -c 'LD_PRELOAD=$0${LD_PRELOAD:+:$LD_PRELOAD} exec "$1"' \
		"$so" "$O/tests/shim/core/threads_10k_short"
	is "$lib.before: every write is recorded" "$(q "SELECT count(*) FROM v_event WHERE call = 'write' AND path LIKE '%/threads.bin'")" 10000
done
finish
