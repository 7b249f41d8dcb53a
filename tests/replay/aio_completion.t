#!/bin/bash
# SPDX-License-Identifier: MIT
# Asynchronous operations that another thread sees completed: they follow the
# open of their file and precede its reads, with --afap too. Calls that their
# thread makes meanwhile are waited for, not the operations.
. "$(dirname "$0")/../lib/tap.sh"
. "$TOP/tests/lib/replay.sh"
mkdir work
"$IOREEL" record -q -o job.reel -- "$O/tests/replay/job_aio_completion" work >said 2>&1
is 'the job succeeds' "$?" 0
for mode in afap think; do
	for i in 1 2 3; do
		replays job.reel $mode -o again.db
		check "--$mode: all 204 calls are issued" 'grep "; 204 of" out'
	done
done
is 'every write is issued' "$(sql again.db "SELECT count(*),
	sum(bytes) FROM v_event WHERE call_group = 'write' AND path LIKE '%file._'")" \
	"$(printf '100\t500000')"

mkdir overlap
"$IOREEL" record -q -o overlap.reel -- "$O/tests/replay/job_aio_overlap" overlap >said 2>&1
is 'a job makes a file while it writes' "$?" 0
for i in 1 2 3; do
	replays overlap.reel afap -o again.db
	check "all 26 calls have their results" 'grep "; 26 of 26" out'
done
finish
