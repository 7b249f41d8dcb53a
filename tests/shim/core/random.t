#!/bin/bash
# SPDX-License-Identifier: MIT
# Random programs: each call is in the trace once, in order, with its result and
# errno, and with the offset of the kernel.
. "$(dirname "$0")/../../lib/tap.sh"
. "$TOP/tests/lib/probe.sh"

# same TITLE EVENTS PRINTED: compare line by line, and show the first
# differences.
same() {
	is "$1" "$([ -s "$3" ] || echo nothing; diff "$2" "$3" | head -8)" ''
}

for seed in 1 2 3 4 5 6 7 8 9 10; do
	guest "calls $seed" bash -c 'mkdir a && exec "$0" "$1"' \
		"$O/tests/shim/core/random_calls" $seed
	q "SELECT call, CASE WHEN errno = 0 AND call_group IN ('read', 'write')
			AND (call_group = 'read' OR bytes > 0)
		THEN offset ELSE '-' END, result, errno FROM v_event
		WHERE layer = 'POSIX' AND process_id IN (SELECT process_id
			FROM process WHERE exe LIKE '%/random_calls')
		ORDER BY start_ns" | tr '\t' ' ' >events
	grep -v '^status' traced/out >said
	same "calls $seed: $(wc -l <said), each as it was" events said
	is "calls $seed: no event is lost" "$(lost)" 0
done

# The oracle gives no offset for appended bytes.
for seed in 1 2 3 4 5 6 7 8 9 10; do
	probe random_streams $seed
	q "SELECT replace(path, '$PWD/traced/', ''), call,
			CASE WHEN path LIKE '%.a' THEN '-' ELSE offset END, bytes
		FROM v_event WHERE call IN ('fread', 'fgets', 'getline', 'fwrite')
			AND bytes > 0 AND path LIKE '%/traced/s%'
		ORDER BY start_ns" | tr '\t' ' ' >events
	grep -Ev '^status| all ' traced/out >said
	same "streams $seed: $(wc -l <said), each where it was" events said
	q "SELECT replace(path, '$PWD/traced/', ''),
			coalesce(sum(bytes) FILTER (WHERE call_group = 'read'), 0),
			coalesce(sum(bytes) FILTER (WHERE call_group = 'write'), 0)
		FROM v_event WHERE layer = 'STDIO' AND path LIKE '%/traced/s%'
		GROUP BY path" | tr '\t' ' ' | sort >sums
	grep ' all ' traced/out | sed 's/ all / /' | sort >said
	same "streams $seed: all that $(wc -l <said) moved" sums said
done
finish
