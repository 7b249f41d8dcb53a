#!/bin/sh
# SPDX-License-Identifier: MIT
# A job with most calls: the replay makes the same calls with the same results
# in every mode, and changes nothing outside the sandbox.
. "$(dirname "$0")/../lib/tap.sh"
. "$TOP/tests/lib/replay.sh"

JOB=$O/tests/replay/job_calls
mkdir work && cd work || exit 1
"$JOB" make || exit 1
check 'the job runs under record' '"$IOREEL" record -q -o ../job.reel "$JOB"'
check 'it loads' '"$IOREEL" load ../job.reel -o ../job.db'
find . -type f -exec cksum {} + | sort >../before

# The calls of a thread as text: pipes without their numbers, no addresses, and
# without the pages that the kernel maps around a touched one.
calls() {
	sql "$1" "SELECT e.thread_id,
		CASE WHEN kind IN ('pipe', 'socket') THEN kind ELSE path END,
		call, fd, offset, asked,
		CASE WHEN call IN ('mmap', 'map_read') THEN 0 ELSE result END, errno, path2
		FROM v_event e WHERE e.thread_id = $2 ORDER BY start_ns"
}

same() {
	for t in $(sql ../job.db 'SELECT thread_id FROM thread'); do
		u=$(sql "$1" "SELECT thread_id FROM note
			WHERE key = 'replay.thread' AND value = '$t'")
		calls ../job.db "$t" | cut -f2- >../a
		calls "$1" "$u" | cut -f2- >../b
		diff ../a ../b || return 1
	done
}

for mode in think timed afap; do
	"$IOREEL" replay ../job.reel --$mode -o ../$mode.db >../out 2>../err
	rc=$?
	# On a busy machine --timed may fail because calls are late.
	[ $mode = timed ] && [ $rc = 3 ] && grep -q 'keep up' ../err && rc=0
	sed -i '/ confined to /d' ../err
	is "--$mode succeeds, without a message" \
		"$rc $(grep -v 'rebuilt\|removed\|keep up' ../err)" "0 "
	check "--$mode: every call gives the recorded result" 'all_same ../out'
	check "--$mode: every thread makes the same calls" 'same ../$mode.db'
done

# The kernel maps pages around the touched ones, a varying number of them.
for db in job think; do "$IOREEL" report --json ../$db.db >../$db.json; done
check 'bytes, calls, sizes and order are equal, except for such pages' \
	'"$IOREEL" compare ../job.db ../think.db --json >../j &&
	python3 - ../j ../job.json ../think.json <<-E
	import json, sys
	doc, a, b = (json.load(open(name)) for name in sys.argv[1:])
	for f in doc["factors"]:
	    if "time" in f["name"] or "bandwidth" in f["name"]: continue
	    op = {"bytes read": "read_bytes", "bytes written": "write_bytes"}.get(f["name"])
	    beside = a["mapped"][op] - b["mapped"][op] if op else 0
	    assert f["d"] == None or f["a"] - f["b"] == beside, (f, beside)
	    assert not beside or abs(f["d"]) < .05, f
	E'
find . -type f -exec cksum {} + | sort >../after
check 'the files of the job are unchanged' 'cmp ../before ../after'
is 'the sandbox is removed' "$(ls | tr '\n' ' ')" "in out "
is 'the store of a replay names the process of the job for each of its own' \
	"$(sql ../think.db "SELECT count(*) FROM note WHERE key = 'replay.process'")" \
	"$(sql ../job.db 'SELECT count(*) FROM process')"

# The replay of a replay has the calls of the job.
counts="SELECT call, count(*), sum(bytes) FILTER (WHERE call <> 'map_read')
	FROM v_event GROUP BY 1"
check 'a replay can be replayed' '"$IOREEL" replay ../think.db -o ../again.db'
check 'and has the call counts of the job' \
	'[ "$(sql ../again.db "$counts")" = "$(sql ../job.db "$counts")" ]'
finish
