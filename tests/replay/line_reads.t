#!/bin/sh
# SPDX-License-Identifier: MIT
# A job reads lines that it wrote, fails to get locks, and makes invalid calls;
# and a disk without room for the replay.
. "$(dirname "$0")/../lib/tap.sh"
. "$TOP/tests/lib/replay.sh"

JOB=$O/tests/replay/job_line_reads
mkdir work && cd work || exit 1
"$JOB" make || exit 1
check 'the job runs under record, its standard input closed' \
	'"$IOREEL" record -q -o ../job.reel sh -c \
	"\"\$1\" <&- | wc -l >lines; cat lines" - "$JOB" >../said 2>&1'
is 'it reads all lines' "$(cat ../said)" 3001
"$IOREEL" load -q ../job.reel -o ../job.db
cd ..

# The calls of the thread in order, without those of printf() on a pipe: these
# are recorded only when their bytes are still in the buffer.
calls() {
	sql "$1" "SELECT call, fd, asked, result, errno
		FROM v_event WHERE thread_id = (SELECT thread_id FROM v_event
		WHERE path LIKE '%/errors' LIMIT 1) AND call <> 'execve'
		AND fd IS NOT 1 AND NOT (call = 'fcntl' AND errno = 0) ORDER BY start_ns"
}

# The kilobytes printed into the pipe.
printed() {
	sql "$1" "SELECT (sum(bytes) + 512) / 1024
		FROM v_event WHERE kind = 'pipe' AND fd = 1"
}

calls job.db >want
check 'the job has line reads, refused locks and invalid calls' '[ $(grep -c "fgets\|getline" want) -gt 200 ] &&
	[ $(grep -c "	11$" want) -ge 3 ] && grep -q "readv.*	22$" want'
for mode in think afap; do
	replays job.db $mode -o $mode.db
	check "--$mode: the thread makes the same calls" 'calls $mode.db >got; diff want got'
	is "--$mode: as many bytes are printed into the pipe" \
		"$(printed $mode.db)" "$(printed job.db)"
done

mkdir unread && (cd unread && TMPDIR=$PWD "$IOREEL" replay ../job.db --afap 2>&1 |
	true)
is 'it removes all its files when its output has no reader' "$(ls -A unread)" ''

# small RUN: replay it on a file system of 8 MB.
small() {
	unshare -m sh -c 'mkdir -p small && mount -t tmpfs -o size=8m none small &&
		cd small && "$0" replay ../$1.reel >../out 2>../err
		echo "rc $? left: $(ls -A)"' "$IOREEL" "$1"
}
# One thread, since the replay may overlap calls that are not ordered.
cat >big.py <<'E'
import os, sys
for name, size in ('a', 6000000), ('b', int(sys.argv[1])):
    with open(name, 'wb') as f:
        f.write(b'x' * size)
    os.unlink(name)
E
if ! python3 -c "" 2>err || ! unshare -m sh -c 'mkdir small && mount -t tmpfs none small' 2>err; then
	skip 'too little room is reported before the replay' 'no python3, or no file system can be mounted'
	finish
fi
(cd work && "$IOREEL" record -q -o ../fits.reel python3 ../big.py 6000000 &&
	"$IOREEL" record -q -o ../large.reel python3 ../big.py 9000000 &&
	"$IOREEL" record -q -o ../hidden.reel python3 -c '
import os
fd = os.open("x", os.O_CREAT | os.O_RDWR)
os.posix_fallocate(fd, 0, 9000000)
open("y", "wb").write(b"y" * 5000000)')
is 'the files that exist at one time have to fit' "$(small fits)" 'rc 0 left: '
is 'too little room: no file is made' "$(small large)" 'rc 1 left: '
check 'and one line reports it' '[ ! -s out ] && grep -q "not enough room" err'
is 'a disk that fills up makes the replay fail' "$(small hidden)" 'rc 1 left: '
check 'and one line reports it' 'cat out err; ! grep -q thread.*gave out &&
	[ $(grep -c "is full" err) = 1 ]'
finish
