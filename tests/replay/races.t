#!/bin/bash
# SPDX-License-Identifier: MIT
# Two threads make and remove the same files at the same time: who came second
# in the job comes second in the replay, however fast that is.
. "$(dirname "$0")/../lib/tap.sh"

unset LD_PRELOAD
mkdir job && cd job
"$IOREEL" record -q -o ../job.reel -- "$O/tests/replay/job_races"
cd ..
is 'one of each two comes too late' "$("$IOREEL" sql job.reel "SELECT call, count(*)
	FROM v_event WHERE errno <> 0 GROUP BY 1 ORDER BY 1" --format csv | tail -n +2)" \
	'open,400
unlink,400'
for mode in think afap; do
	"$IOREEL" replay job.reel --$mode >out 2>err
	check "--$mode: every call gave its result" \
		"grep -Eq '; ([0-9,]+) of \1 calls gave' out err"
done
finish
