#!/bin/sh
# SPDX-License-Identifier: MIT
# The commands of a shell share its open files, and so do their replays,
# although exec() ran another program in each; they communicate through stdio.
. "$(dirname "$0")/../lib/tap.sh"
. "$TOP/tests/lib/replay.sh"

command -v bash >/dev/null || skip_all 'no bash'

head -c 1000 /dev/zero >x
head -c 77 /dev/zero >y
cat >script <<'E'
put() { dd bs=100 status=none; }
exec >out 2>&1
put <x; put <y; (put <x; put <y >&2); cat x | put
{ head -c 10; head -c 5; } <x | put
put <y >>out2; cat x y | put >>out2
E
writes() {
	sql "$1" "SELECT path, count(*),
		count(DISTINCT offset), max(offset + bytes), sum(bytes)
		FROM v_event WHERE call_group = 'write' AND path LIKE '%/out%'
		GROUP BY path"
}

check 'the job runs under record' '"$IOREEL" record -q -o job.reel bash script'
"$IOREEL" load -q job.reel -o job.db
for mode in think afap; do
	replays job.db $mode -o $mode.db
	is "--$mode: all writes are appended one after the other" \
		"$(writes $mode.db)" "$(writes job.db)"
done
finish
