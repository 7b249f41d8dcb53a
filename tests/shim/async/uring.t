#!/bin/bash
# SPDX-License-Identifier: MIT
# io_uring: rings that the program maps itself, and liburing's.
. "$(dirname "$0")/../../lib/tap.sh"

RUN=t.reel

# check_probe NAME PROBE [ARGUMENT]
check_probe() {
	local name=$1
	shift
	rm -rf t.reel
	"$@" >bare; echo "status $?" >>bare
	"$IOREEL" record -q -o t.reel -- "$@" >traced
	echo "status $?" >>traced
	is "$name: output and status" "$(cat traced)" "$(cat bare)"
	is "$name: operations and bytes as the program counted" "$(q "
		SELECT call, count(*), sum(coalesce(bytes, 0)), sum(errno <> 0)
		FROM v_event WHERE call LIKE 'async%' AND path LIKE '%/file'
		GROUP BY call ORDER BY call")" "$(grep async bare)"
	is "$name: every offset once" "$(q "SELECT count(DISTINCT offset),
		max(offset) FROM v_event WHERE call LIKE 'async%'")" "512	2093056"
	is "$name: no operation missed" "$(q "SELECT count(*) FROM note
		WHERE key = 'io_uring_unseen'")" 0
}

head -c 4194304 /dev/zero >file
probe=$O/tests/shim/async/uring_ops
"$probe" file >/dev/null
[ $? -ne 77 ] || skip_all 'no io_uring here'
check_probe 'two mappings' "$probe" file
check_probe 'one mapping' "$probe" file single
check_probe 'fallocate' "$probe" file more
is 'fallocate: no record, counted as lost' "$(q 'SELECT sum(count) FROM loss')" 1
if cc -DWITH_LIBURING -o with_lib "$TOP/tests/shim/async/uring_ops.c" -luring \
	2>/dev/null; then
	check_probe liburing ./with_lib file
	is 'an open and a close through the ring' "$(q "
		SELECT call, errno, fd FROM v_event
		WHERE call IN ('openat', 'close') ORDER BY start_ns")" \
		"openat	0	5
close	0	5"
	cc -DWITH_LIBURING -o slots "$TOP/tests/shim/async/uring_slots.c" -luring
	rm -rf t.reel
	if "$IOREEL" record -q -o t.reel -- ./slots >out; then
		is 'a slot with another file: bytes go to that file' \
			"$(q "SELECT path LIKE '%/first', bytes FROM v_event
			WHERE call = 'async_write'")" '1	3'
		is 'the open and the write of that slot are counted as lost' \
			"$(q 'SELECT sum(count) FROM loss')" 2
	else
		skip 'slots' 'no files opened into slots here'
	fi
else
	skip 'liburing' 'no liburing-dev'
fi
finish
