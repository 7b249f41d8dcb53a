#!/bin/bash
# SPDX-License-Identifier: MIT
# Two threads create and remove the same files at the same time: the thread that
# lost a race in the job loses it in the replay, with --afap too.
. "$(dirname "$0")/../lib/tap.sh"
. "$TOP/tests/lib/replay.sh"

mkdir job && cd job
"$IOREEL" record -q -o ../job.reel -- "$O/tests/replay/job_races"
cd ..
is 'one call of each two fails' "$(sql job.reel "SELECT call || ' ' ||
	count(*) FROM v_event WHERE errno <> 0 GROUP BY call ORDER BY call")" \
	'open 400
unlink 400'
for mode in think afap; do
	replays job.reel $mode
done
finish
