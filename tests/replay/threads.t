#!/bin/bash
# SPDX-License-Identifier: MIT
# With --afap a replay keeps the order that the results depend on: bytes are
# read before truncation, mapped before they are touched; and links, holes and
# missing paths are as recorded.
. "$(dirname "$0")/../lib/tap.sh"
. "$TOP/tests/lib/replay.sh"

PY=/usr/bin/python3
[ -x "$PY" ] || PY=$(command -v python3) || skip_all 'no python3'
export PYTHONDONTWRITEBYTECODE=1
jobs=$TOP/tests/replay/thread_jobs.py

for job in truncate mapping hole links missing_names reused_fd inherited_fd \
	bound_socket rebound_socket appearing_socket unlinked_output existing_files \
	seek_data copytruncate renamed_file renamed_dir; do
	rm -rf work && mkdir work
	head -c 100000 /dev/zero | tee work/other >work/big
	(cd work && "$IOREEL" record -q --no-hooks -o ../$job.reel -- "$PY" "$jobs" $job) >said 2>&1 ||
		sed 's/^/# /' said
	for i in 1 2 3; do
		replays $job.reel afap
		check "$job: it has calls" '! grep "; 0 of" out'
	done
done
"$IOREEL" replay --afap reused_fd.reel -o reused_fd.db >out 2>&1
is 'a child does not inherit descriptors closed before its fork' \
	"$(sql reused_fd.db "SELECT count(*) FROM v_event
		WHERE call = 'read' AND path LIKE '%big'")" 0
mkdir air
(cd air && "$IOREEL" record -q --no-hooks -o ../write_in_flight.reel -- "$PY" "$jobs" write_in_flight)
check 'a file that the first write creates is not an initial file' '
	"$IOREEL" replay write_in_flight.reel >out 2>&1; cat out; grep -q " 0 files" out'
"$IOREEL" replay bound_socket.reel --root kept --keep >out 2>&1
is 'a bound name is a socket again, an opened one a file' \
	"$(find kept -name listener -type s | wc -l) $(find kept -name empty -type f | wc -l)" '1 1'
check 'a small job needs at most 256 descriptors' \
	'(ulimit -Sn 256; ulimit -Hn 256; "$IOREEL" replay hole.reel) >out 2>&1 || { cat out; false; }'
# Like a harness that stores the output of a command in a file without a name.
"$PY" -c 'import subprocess, sys, tempfile
with tempfile.TemporaryFile(dir=".") as f:
    sys.exit(subprocess.call(sys.argv[1:], stdout=f))' \
	"$IOREEL" record -q -o nameless.reel sh -c 'echo a; cat work/big'
check "output to an unlinked file of the caller is written again" '
	"$IOREEL" replay nameless.reel >out 2>&1; cat out
	all_same out'
finish
