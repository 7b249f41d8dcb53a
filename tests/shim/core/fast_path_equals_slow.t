#!/bin/bash
# SPDX-License-Identifier: MIT
# lseek, fstat and spans are recorded in two ways: a few stores, where the clock
# is the processor's, and field by field where it is not. Both say the same.
. "$(dirname "$0")/../../lib/tap.sh"
. "$TOP/tests/lib/probe.sh"

mkdir in && (cd in && "$O/tests/shim/core/fast_path_equals_slow" >../bare) && rm -r in
for clock in tsc monotonic; do
	mkdir in && (cd in && IOREEL_CLOCK=$clock \
		"$IOREEL" record -q -o ../$clock.reel -- \
		"$O/tests/shim/core/fast_path_equals_slow" >../$clock.out)
	is "$clock: the program's own results" "$(md5sum <$clock.out)" "$(md5sum <bare)"
	RUN=$clock.reel
	rm -r in
	q "SELECT call, path, result, errno, fd, open_id, offset, asked, arg, path2, bytes
		FROM v_event WHERE call <> 'stdio_write' ORDER BY start_ns" >$clock.events
	q "SELECT name, detail, span_id, parent_id, closed FROM v_span
		ORDER BY span_id" >$clock.spans
	is "$clock: all are events" \
		"$(q "SELECT count(*) FROM v_event WHERE call IN ('lseek', 'fstat', 'pread')")" \
		"$(wc -l <bare)"
done
check 'both ways say the same of calls' '[ -s tsc.events ] && diff tsc.events monotonic.events'
check 'both ways say the same of spans' 'diff tsc.spans monotonic.spans'
check 'names of spans are told apart' '[ "$(cut -f1 tsc.spans | sort -u | wc -l)" = 7 ]'
finish
