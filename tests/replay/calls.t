#!/bin/sh
# SPDX-License-Identifier: MIT
# A job with most calls, played back: the same calls with the same results in
# every mode, and nothing outside of the sandbox touched.
. "$(dirname "$0")/../lib/tap.sh"

JOB=$O/tests/replay/job_calls
mkdir work && cd work || exit 1
"$JOB" make || exit 1
check 'the job runs under record' '"$IOREEL" record -q -o ../job.reel "$JOB"'
check 'it loads' '"$IOREEL" load ../job.reel -o ../job.db'
find . -type f -exec cksum {} + | sort >../before

# Each thread's calls, as text: pipes without their numbers, no addresses, and
# not what the kernel brought into a mapping around what was touched.
calls() {
	"$IOREEL" sql "$1" "SELECT e.thread_id,
		CASE WHEN kind IN ('pipe', 'socket') THEN kind ELSE path END,
		call, fd, offset, asked,
		CASE WHEN call IN ('mmap', 'map_read') THEN 0 ELSE result END, errno, path2
		FROM v_event e WHERE e.thread_id = $2 ORDER BY start_ns"
}

same() {
	for t in $("$IOREEL" sql ../job.db 'SELECT thread_id FROM thread' |
			tail -n +2); do
		u=$("$IOREEL" sql "$1" "SELECT thread_id FROM note
			WHERE key = 'replay.thread' AND value = '$t'" | tail -n +2)
		calls ../job.db "$t" | cut -f2- >../a
		calls "$1" "$u" | cut -f2- >../b
		diff ../a ../b || return 1
	done
}

for mode in think timed afap; do
	"$IOREEL" replay ../job.reel --$mode -o ../$mode.db >../out 2>../err
	rc=$?
	# On a busy machine --timed may say that it could not keep up.
	[ $mode = timed ] && [ $rc = 3 ] && grep -q 'keep up' ../err && rc=0
	sed -i '/ confined to /d' ../err
	is "--$mode ends well" \
		"$rc $(grep -v 'rebuilt\|removed\|keep up' ../err)" "0 "
	check "--$mode: every call gave its result" \
		'grep -Eq "^replayed in .*; ([0-9,]+) of \1 calls gave" ../out'
	check "--$mode: every thread made the same calls" 'same ../$mode.db'
done

# The kernel maps pages beside those that are touched, how many is its affair.
for db in job think; do "$IOREEL" report --json ../$db.db >../$db.json; done
check 'bytes, calls, sizes and order do not differ, but for pages mapped beside' \
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
check 'the files of the job are as they were' 'cmp ../before ../after'
is 'no sandbox is left' "$(ls | tr '\n' ' ')" "in out "
is 'what it wrote has its own processes and threads' \
	"$("$IOREEL" sql ../think.db "SELECT count(*) FROM note WHERE key = 'replay.process'" | tail -1)" \
	"$("$IOREEL" sql ../job.db 'SELECT count(*) FROM process' | tail -1)"

# The replay of a replay is the job again.
counts="SELECT call, count(*), sum(bytes) FILTER (WHERE call <> 'map_read')
	FROM v_event GROUP BY 1"
check 'a replay can be replayed' '"$IOREEL" replay ../think.db -o ../again.db'
check 'and keeps the call counts' \
	'[ "$("$IOREEL" sql ../again.db "$counts")" = "$("$IOREEL" sql ../job.db "$counts")" ]'
finish
