#!/bin/bash
# SPDX-License-Identifier: MIT
# lseek, fstat and spans are recorded by a few stores if the clock is the TSC,
# and field by field if it is not. Both records are the same.
. "$(dirname "$0")/../../lib/tap.sh"
. "$TOP/tests/lib/probe.sh"

mkdir in && (cd in && "$O/tests/shim/core/fast_path_equals_slow" >../bare) && rm -r in
for clock in tsc monotonic; do
	mkdir in && (cd in && IOREEL_CLOCK=$clock \
		"$IOREEL" record -q -o ../$clock.reel -- \
		"$O/tests/shim/core/fast_path_equals_slow" >../$clock.out)
	is "$clock: the program has the same results" "$(md5sum <$clock.out)" "$(md5sum <bare)"
	RUN=$clock.reel
	rm -r in
	q "SELECT call, path, result, errno, fd, open_id, offset, asked, arg, path2, bytes
		FROM v_event WHERE call <> 'stdio_write' ORDER BY start_ns" >$clock.events
	q "SELECT name, detail, span_id, parent_id, closed FROM v_span
		ORDER BY span_id" >$clock.spans
	is "$clock: each call is an event" \
		"$(q "SELECT count(*) FROM v_event WHERE call IN ('lseek', 'fstat', 'pread')")" \
		"$(wc -l <bare)"
done
check 'the same calls' '[ -s tsc.events ] && diff tsc.events monotonic.events'
check 'the same spans' 'diff tsc.spans monotonic.spans'
check 'spans have different names' '[ "$(cut -f1 tsc.spans | sort -u | wc -l)" = 7 ]'
finish
