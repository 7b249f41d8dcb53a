#!/bin/bash
# SPDX-License-Identifier: MIT
# The kernel's aio, through syscall() and through libaio.
. "$(dirname "$0")/../../lib/tap.sh"

RUN=t.reel

# check_probe NAME PROBE
check_probe() {
	rm -rf t.reel
	"$2" file >bare; echo "status $?" >>bare
	"$IOREEL" record -q -o t.reel -- "$2" file >traced
	echo "status $?" >>traced
	is "$1: output and status" "$(cat traced)" "$(cat bare)"
	is "$1: operations and bytes as the program counted" "$(q "
		SELECT call, count(*), sum(coalesce(bytes, 0)), sum(errno <> 0)
		FROM v_event WHERE call LIKE 'async%' AND path LIKE '%/file'
		GROUP BY call ORDER BY call")" "$(grep async bare)"
	is "$1: each submission once" "$(q "
		SELECT count(*), sum(max(result, 0)), sum(errno <> 0)
		FROM v_event WHERE call = 'io_submit'")" "7	35	2"
	is "$1: offsets" "$(q "SELECT min(offset), max(offset) FROM v_event
		WHERE call = 'async_write'")" "0	122880"
	is "$1: the vector's length" "$(q "SELECT count(*) FROM v_event
		WHERE call = 'async_read' AND asked = 1100")" 1
}

"$O/tests/shim/async/libaio_ops" file >/dev/null || skip_all 'no kernel aio here'
check_probe 'syscall()' "$O/tests/shim/async/libaio_ops"
if cc -DWITH_LIBAIO -o with_lib "$TOP/tests/shim/async/libaio_ops.c" -laio 2>/dev/null
then
	check_probe libaio ./with_lib
	is 'io_submit has the number of operations' "$("$IOREEL" sql t.reel "SELECT
		max(result) FROM v_event WHERE call = 'io_submit'" \
		--format tsv | tail -1)" 16
else
	skip 'through libaio' 'no libaio-dev'
fi

# Older versions of libaio make system calls by instructions of their own: only
# the library's functions can be wrapped.
cat >own.c <<'END'
static long kernel(long n, long a, long b, long c, long d, long e)
{
	register long r10 __asm__("r10") = d, r8 __asm__("r8") = e;
	long r;
	__asm__ volatile("syscall" : "=a"(r) : "a"(n), "D"(a), "S"(b), "d"(c),
			 "r"(r10), "r"(r8) : "rcx", "r11", "memory");
	return r;
}
int io_setup(int n, void *ctx) { return kernel(206, n, (long)ctx, 0, 0, 0); }
int io_destroy(void *ctx) { return kernel(207, (long)ctx, 0, 0, 0, 0); }
int io_submit(void *ctx, long n, void *list)
{
	return kernel(209, (long)ctx, n, (long)list, 0, 0);
}
int io_getevents(void *ctx, long least, long n, void *ev, void *ts)
{
	return kernel(208, (long)ctx, least, n, (long)ev, (long)ts);
}
END
if [ -x with_lib ] && [ "$(uname -m)" = x86_64 ] &&
	cc -shared -fPIC -Wl,-soname,libaio.so.own -o libaio.so.own own.c &&
	cc -DWITH_LIBAIO -o with_own "$TOP/tests/shim/async/libaio_ops.c" \
		./libaio.so.own -Wl,-rpath,"$PWD" 2>/dev/null; then
	check_probe 'an old libaio' ./with_own
else
	skip 'an old libaio' 'no libaio-dev, or another machine'
fi

# An io_submit() of another library is called as it is.
cat >other.c <<'END'
#include <string.h>
int io_submit(const char *a, const char *b) { return strcmp(a, b); }
END
cat >user.c <<'END'
#include <stdio.h>
int io_submit(const char *a, const char *b);
int main(void) { return printf("%d\n", io_submit("same", "same")) != 2; }
END
if cc -shared -fPIC -o libother.so other.c 2>/dev/null &&
	cc -o user user.c ./libother.so -Wl,-rpath,"$PWD"; then
	is 'an io_submit() of another library works' \
		"$("$IOREEL" record -q -o u.reel -- ./user; echo $?)" "0
0"
else
	skip 'an io_submit() of another library works' 'no compiler'
fi
finish
