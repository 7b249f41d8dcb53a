#!/bin/bash
# SPDX-License-Identifier: MIT
# Random names of mkstemp(): the replay uses those of the job, so that later
# calls by path find the files, and the call sequence is the same.
. "$(dirname "$0")/../lib/tap.sh"
. "$TOP/tests/lib/replay.sh"

mkdir job && cd job
check 'the job succeeds' '"$IOREEL" record -q -o ../job.reel -- "$O/tests/replay/job_mkstemp_names"'
cd ..
# names RUN: the calls that draw names, and later calls by path.
names() {
	sql "$1" "SELECT call, path, path2, errno FROM v_event
		WHERE thread_id = (SELECT min(thread_id) FROM v_event
			WHERE call = 'mkstemp' AND errno = 22)
		ORDER BY start_ns"
}
for mode in think afap; do
	replays job.reel $mode -o $mode.db
	check "--$mode: every thread makes the calls in order" \
		'same_sequences out'
	is "--$mode: the names are those of the job" \
		"$(names $mode.db)" "$(names job.reel)"
done
finish
