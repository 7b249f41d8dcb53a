#!/bin/sh
# SPDX-License-Identifier: MIT
# A shell's commands share what the shell opened: their replay does too, though
# each of them is another program by then; and they talk through stdio.
. "$(dirname "$0")/../lib/tap.sh"

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
	"$IOREEL" sql --format tsv "$1" "SELECT path, count(*),
		count(DISTINCT offset), max(offset + bytes), sum(bytes)
		FROM v_event WHERE call_group = 'write' AND path LIKE '%/out%'
		GROUP BY path" | tail -n +2
}

check 'the job runs under record' '"$IOREEL" record -q -o job.reel bash script'
"$IOREEL" load -q job.reel -o job.db
for mode in think afap; do
	check "--$mode: every call gave its result" '
		"$IOREEL" replay job.db --$mode -o $mode.db >replayed
		cat replayed
		grep -Eq "^replayed in .*; ([0-9,]+) of \1 calls" replayed'
	is "--$mode: the writes of all, one behind the other" \
		"$(writes $mode.db)" "$(writes job.db)"
done
finish
