#!/bin/bash
# SPDX-License-Identifier: MIT
# Names are compared with the previous one and recorded word by word if the
# clock is the TSC, and byte by byte if it is not. Both records are the same for
# names of every kind, and no byte after a name's NUL is read.
. "$(dirname "$0")/../../lib/tap.sh"
. "$TOP/tests/lib/probe.sh"

mkdir in && (cd in && "$O/tests/shim/core/path_encoding" >../bare) && rm -r in
for clock in tsc monotonic; do
	mkdir in && (cd in && IOREEL_CLOCK=$clock \
		"$IOREEL" record -q -o ../$clock.reel -- "$O/tests/shim/core/path_encoding" \
		>../$clock.out)
	is "$clock: the program has the same results" "$(md5sum <$clock.out)" "$(md5sum <bare)"
	RUN=$clock.reel
	rm -r in
	q "SELECT call, path, result, errno, fd, open_id, asked, arg, path2, bytes
		FROM v_event WHERE call <> 'stdio_write' ORDER BY start_ns" >$clock.events
	check "$clock: each call is an event, or counted as code" \
		"[ $(($(q "SELECT count(*) FROM v_event WHERE call IN
			('stat', 'lstat', 'open', 'openat', 'creat', 'mkdir', 'read', 'write', 'close')") +
		$(q "SELECT sum(code_calls + code_opens) FROM process"))) = \
		$(grep -cE '^(stat|lstat|open|openat|creat|mkdir|read|write|close) ' bare) ]"
done
check 'the same events' '[ -s tsc.events ] && diff tsc.events monotonic.events'
finish
