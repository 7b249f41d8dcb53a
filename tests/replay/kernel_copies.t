#!/bin/sh
# SPDX-License-Identifier: MIT
# Bytes that no read or write of the program moved: copies, streams, mappings
# and asynchronous operations are played, and leave files of the same sizes.
. "$(dirname "$0")/../lib/tap.sh"

JOB=$O/tests/replay/job_kernel_copies
mkdir work && cd work || exit 1
"$JOB" make || exit 1
check 'the job runs under record' '"$IOREEL" record -q -o ../job.reel "$JOB"'
"$IOREEL" load -q ../job.reel -o ../job.db

# What a replay has by another name: asynchronous operations, shared memory,
# the stream of popen(). What the kernel mapped around a page is its own.
calls() {
	"$IOREEL" sql --format tsv "$1" "SELECT
		CASE call WHEN 'async_write' THEN 'pwrite' WHEN 'async_sync' THEN
		'fsync' WHEN 'shm_open' THEN 'open' WHEN 'shm_unlink' THEN
		'unlink' WHEN 'pclose' THEN 'fclose' ELSE call END c,
		CASE WHEN path GLOB '*/work/*' THEN path WHEN path GLOB '/dev/shm/*'
		THEN 'shm' ELSE kind END p, count(*),
		sum(calls), sum(bytes) FILTER (WHERE call <> 'map_read'), errno
		FROM v_event WHERE (layer <> 'ASYNC' OR call LIKE 'async%')
		AND NOT (call = 'map_read' AND bytes = 0)
		GROUP BY c, p, errno HAVING c NOT IN ('execve', 'popen')
		ORDER BY c, p, errno"
}

for mode in think afap; do
	check "--$mode: every call gave its result" '
		"$IOREEL" replay ../job.db --$mode -o ../$mode.db --root box \
			--keep >../out 2>../err; cat ../out
		grep -Eq "^replayed in .*; ([0-9,]+) of \1 calls gave" ../out'
	is "--$mode: the same calls, with the same bytes" \
		"$(calls ../$mode.db)" "$(calls ../job.db)"
	is "--$mode: the files that it wrote have the sizes of the job's" \
		"$(cd "box$PWD" && stat -c '%n %s' out.*)" \
		"$(stat -c '%n %s' out.*)"
	check "--$mode: it says what is not as it was" \
		'grep -q "2 asynchronous operations are played one after" ../err'
	rm -rf box
done
check 'a mapping that was read through is read through' \
	'[ "$("$IOREEL" sql --format tsv ../think.db "SELECT sum(bytes) >= 150000
		FROM v_event WHERE call = '\''map_read'\''" | tail -1)" = 1 ]'
is 'what msync() writes back was changed before' \
	"$("$IOREEL" sql --format tsv ../think.db "SELECT sum(bytes) FROM v_event
		WHERE call = 'map_write'" | tail -1)" \
	"$("$IOREEL" sql --format tsv ../job.db "SELECT sum(bytes) FROM v_event
		WHERE call = 'map_write'" | tail -1)"

"$IOREEL" record -q --events none -o ../counted.reel "$JOB"
check 'calls that were only counted are refused' \
	'"$IOREEL" replay ../counted.reel 2>../err; [ $? = 1 ] &&
	[ $(wc -l <../err) = 1 ] && grep -q "only counted" ../err'
finish
