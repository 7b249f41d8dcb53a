#!/bin/sh
# SPDX-License-Identifier: MIT
# What a job wrote itself and reads by lines, locks that it was refused, errors
# for what cannot be asked; and a disk that has no room for the replay.
. "$(dirname "$0")/../lib/tap.sh"

JOB=$O/tests/replay/job_line_reads
mkdir work && cd work || exit 1
"$JOB" make || exit 1
check 'the job runs under record, its standard input closed' \
	'"$IOREEL" record -q -o ../job.reel sh -c \
	"\"\$1\" <&- | wc -l >lines; cat lines" - "$JOB" >../said 2>&1'
is 'it found all as it should be' "$(cat ../said)" 3001
"$IOREEL" load -q ../job.reel -o ../job.db
cd ..

# In the order of the thread; but what printf() put into a pipe is seen only as
# far as the buffer still shows it.
calls() {
	"$IOREEL" sql --format tsv "$1" "SELECT call, fd, asked, result, errno
		FROM v_event WHERE thread_id = (SELECT thread_id FROM v_event
		WHERE path LIKE '%/errors' LIMIT 1) AND call <> 'execve'
		AND fd IS NOT 1 AND NOT (call = 'fcntl' AND errno = 0) ORDER BY start_ns"
}

# In kilobytes.
printed() {
	"$IOREEL" sql --format tsv "$1" "SELECT (sum(bytes) + 512) / 1024
		FROM v_event WHERE kind = 'pipe' AND fd = 1" | tail -1
}

calls job.db >want
check 'there is something to see' '[ $(grep -c "fgets\|getline" want) -gt 200 ] &&
	[ $(grep -c "	11$" want) -ge 3 ] && grep -q "readv.*	22$" want'
for mode in think afap; do
	check "--$mode: every call gave its result" '
		"$IOREEL" replay job.db --$mode -o $mode.db >out; cat out
		grep -Eq "^replayed in .*; ([0-9,]+) of \1 calls gave" out'
	check "--$mode: the same calls" 'calls $mode.db >got; diff want got'
	is "--$mode: what it printed went into the pipe" \
		"$(printed $mode.db)" "$(printed job.db)"
done

mkdir unread && (cd unread && TMPDIR=$PWD "$IOREEL" replay ../job.db --afap 2>&1 |
	true)
is 'nothing is left when nobody reads what it says' "$(ls -A unread)" ''

# A file system of its own, if we may make one.
small() {
	unshare -m sh -c 'mkdir -p small && mount -t tmpfs -o size=8m none small &&
		cd small && "$0" replay ../$1.reel >../out 2>../err
		echo "rc $? left: $(ls -A)"' "$IOREEL" "$1"
}
# One thread, as what is not ordered by anything may come at once here.
cat >big.py <<'E'
import os, sys
for name, size in ('a', 6000000), ('b', int(sys.argv[1])):
    with open(name, 'wb') as f:
        f.write(b'x' * size)
    os.unlink(name)
E
if ! python3 -c "" 2>err || ! unshare -m sh -c 'mkdir small && mount -t tmpfs none small' 2>err; then
	skip 'no room is told before it begins' 'no python3, or no file system can be mounted'
	finish
fi
(cd work && "$IOREEL" record -q -o ../fits.reel python3 ../big.py 6000000 &&
	"$IOREEL" record -q -o ../large.reel python3 ../big.py 9000000 &&
	"$IOREEL" record -q -o ../hidden.reel python3 -c '
import os
fd = os.open("x", os.O_CREAT | os.O_RDWR)
os.posix_fallocate(fd, 0, 9000000)
open("y", "wb").write(b"y" * 5000000)')
is 'what is there at one time counts' "$(small fits)" 'rc 0 left: '
is 'no room: nothing is begun' "$(small large)" 'rc 1 left: '
check 'and one line says so' '[ ! -s out ] && grep -q "not enough room" err'
is 'a disk that becomes full is a failure' "$(small hidden)" 'rc 1 left: '
check 'and one line says so' 'cat out err; ! grep -q thread.*gave out &&
	[ $(grep -c "is full" err) = 1 ]'
finish
