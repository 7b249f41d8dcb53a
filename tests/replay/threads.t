#!/bin/bash
# SPDX-License-Identifier: MIT
# As fast as possible, a replay must still keep the order that the job's results
# hang on: bytes are read before they are cut off, mapped before they are
# looked at; and links, holes and paths that are none are what they were.
. "$(dirname "$0")/../lib/tap.sh"

PY=/usr/bin/python3
[ -x "$PY" ] || PY=$(command -v python3) || skip_all 'no python3'
unset LD_PRELOAD
export PYTHONDONTWRITEBYTECODE=1
jobs=$TOP/tests/replay/thread_jobs.py

for job in cut map hole links names fork inherited bound rebound came handed found ends kept moved renamed; do
	rm -rf work && mkdir work
	head -c 100000 /dev/zero | tee work/other >work/big
	(cd work && "$IOREEL" record -q --no-hooks -o ../$job.reel -- "$PY" "$jobs" $job) >said 2>&1 ||
		sed 's/^/# /' said
	for i in 1 2 3; do
		"$IOREEL" replay --afap $job.reel >>out.$job 2>&1
	done
	is "$job: every call has the result that it had, three times" \
		"$(sed -n 's/.*; \(.* of .*\) calls gave.*/\1/p' out.$job |
			awk '{ n += $1 == $3 && $1 != "0" } END { print n + 0 }')" 3
	grep -h -A3 gave out.$job | grep '^  ' | sed 's/^/# /' | head -5
done
"$IOREEL" replay --afap fork.reel -o fork.db >out 2>&1
is 'a child does not inherit what was closed before it was forked' \
	"$("$IOREEL" sql fork.db "SELECT count(*) FROM v_event
		WHERE call = 'read' AND path LIKE '%big'" | tail -1)" 0
mkdir air
(cd air && "$IOREEL" record -q --no-hooks -o ../flight.reel -- "$PY" "$jobs" flight)
check 'nobody had the file that a write was making' '
	"$IOREEL" replay flight.reel >out 2>&1; cat out; grep -q " 0 files" out'
"$IOREEL" replay bound.reel --root kept --keep >out 2>&1
is 'what was bound is a socket again, what was opened a file' \
	"$(find kept -name listener -type s | wc -l) $(find kept -name empty -type f | wc -l)" '1 1'
check 'a hard limit of 256 descriptors is enough for a small job' \
	'(ulimit -Sn 256; ulimit -Hn 256; "$IOREEL" replay hole.reel) >out 2>&1 || { cat out; false; }'
# Like a harness that keeps a command's output: the file has no name.
"$PY" -c 'import subprocess, sys, tempfile
with tempfile.TemporaryFile(dir=".") as f:
    sys.exit(subprocess.call(sys.argv[1:], stdout=f))' \
	"$IOREEL" record -q -o nameless.reel sh -c 'echo a; cat work/big'
check "what went to a nameless file of the caller is written again" '
	"$IOREEL" replay nameless.reel >out 2>&1; cat out
	grep -Eq "^replayed in .*; ([0-9,]+) of \1 calls" out'
finish
