#!/bin/bash
# SPDX-License-Identifier: MIT
# Asynchronous operations that another thread finds complete: as fast as
# possible too, they come after the open of their file, before its reads.
. "$(dirname "$0")/../lib/tap.sh"
unset LD_PRELOAD
mkdir work
"$IOREEL" record -q -o job.reel -- "$O/tests/replay/job_aio_completion" work >said 2>&1
is 'the job ended well' "$?" 0
for mode in --afap --think; do
	for i in 1 2 3; do
		"$IOREEL" replay $mode -o again.db job.reel >>out.$mode 2>&1
	done
	is "$mode: every call has the result that it had, three times" \
		"$(sed -n 's/.*; \(.* of .*\) calls gave.*/\1/p' out.$mode |
			sort | uniq -c | sed 's/^ *//')" '3 204 of 204'
done
is 'every write was played' "$("$IOREEL" sql again.db "SELECT count(*),
	sum(bytes) FROM v_event WHERE call_group = 'write' AND path LIKE '%file._'" \
	--format tsv | tail -1)" "$(printf '100\t500000')"
finish
