#!/bin/bash
# SPDX-License-Identifier: MIT
# Names that libc drew: the replay has those of the job, so that what asks for
# them by path finds them, and the sequence of calls is the job's.
. "$(dirname "$0")/../lib/tap.sh"

unset LD_PRELOAD
mkdir job && cd job
check 'the job runs' '"$IOREEL" record -q -o ../job.reel -- "$O/tests/replay/job_mkstemp_names"'
cd ..
# names RUN: the calls that draw, and what follows by path.
names() {
	"$IOREEL" sql "$1" "SELECT call, path, path2, errno FROM v_event
		WHERE thread_id = (SELECT min(thread_id) FROM v_event
			WHERE call = 'mkstemp' AND errno = 22)
		ORDER BY start_ns" --format csv
}
for mode in think afap; do
	"$IOREEL" replay job.reel --$mode -o $mode.db >out 2>err
	check "--$mode: every call gave its result" \
		"grep -Eq '; ([0-9,]+) of \1 calls gave' out"
	check "--$mode: in the job's order, on the job's files" \
		"grep -Eq 'identical in ([0-9]+) of \1 threads' out"
	is "--$mode: by the names that the job drew" \
		"$(names $mode.db)" "$(names job.reel)"
done
finish
