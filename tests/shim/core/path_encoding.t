#!/bin/bash
# SPDX-License-Identifier: MIT
# Names are recorded in two ways: word by word after the last one, where the
# clock is the processor's, and byte by byte where it is not. Both say the same
# of names of every kind, and no byte past a name's end is read.
. "$(dirname "$0")/../../lib/tap.sh"
. "$TOP/tests/lib/probe.sh"

mkdir in && (cd in && "$O/tests/shim/core/path_encoding" >../bare) && rm -r in
for clock in tsc monotonic; do
	mkdir in && (cd in && IOREEL_CLOCK=$clock \
		"$IOREEL" record -q -o ../$clock.reel -- "$O/tests/shim/core/path_encoding" \
		>../$clock.out)
	is "$clock: the program's own results" "$(md5sum <$clock.out)" "$(md5sum <bare)"
	RUN=$clock.reel
	rm -r in
	q "SELECT call, path, result, errno, fd, open_id, asked, arg, path2, bytes
		FROM v_event WHERE call <> 'stdio_write' ORDER BY start_ns" >$clock.events
	check "$clock: all are events, or counted as code" \
		"[ $(($(q "SELECT count(*) FROM v_event WHERE call IN
			('stat', 'lstat', 'open', 'openat', 'creat', 'mkdir', 'read', 'write', 'close')") +
		$(q "SELECT sum(code_calls + code_opens) FROM process"))) = \
		$(grep -cE '^(stat|lstat|open|openat|creat|mkdir|read|write|close) ' bare) ]"
done
check 'both ways say the same' '[ -s tsc.events ] && diff tsc.events monotonic.events'
finish
