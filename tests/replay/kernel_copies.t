#!/bin/sh
# SPDX-License-Identifier: MIT
# Bytes moved without a read or write of the program: copies in the kernel,
# streams, mappings and asynchronous operations are replayed, and the files get
# the same sizes.
. "$(dirname "$0")/../lib/tap.sh"
. "$TOP/tests/lib/replay.sh"

JOB=$O/tests/replay/job_kernel_copies
mkdir work && cd work || exit 1
"$JOB" make || exit 1
check 'the job runs under record' '"$IOREEL" record -q -o ../job.reel "$JOB"'
"$IOREEL" load -q ../job.reel -o ../job.db
cd ..

# Asynchronous operations, shared memory and the stream of popen() have other
# calls in a replay. Pages that the kernel maps around a touched one vary.
calls() {
	sql "$1" "SELECT
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
	replays job.db $mode -o $mode.db --root box --keep
	is "--$mode: the same calls, with the same bytes" \
		"$(calls $mode.db)" "$(calls job.db)"
	is "--$mode: written files have the sizes of the job's" \
		"$(cd "box$PWD/work" && stat -c '%n %s' out.*)" \
		"$(cd work && stat -c '%n %s' out.*)"
	check "--$mode: a line says that asynchronous operations are serialized" \
		'grep -q "2 asynchronous operations are played one after" err'
	rm -rf box
done
check 'a mapping is read to its end' \
	'[ "$(sql think.db "SELECT sum(bytes) >= 150000
		FROM v_event WHERE call = '\''map_read'\''")" = 1 ]'
is 'msync() finds as many dirty bytes' \
	"$(sql think.db "SELECT sum(bytes) FROM v_event
		WHERE call = 'map_write'")" \
	"$(sql job.db "SELECT sum(bytes) FROM v_event
		WHERE call = 'map_write'")"

(cd work && "$IOREEL" record -q --events none -o ../counted.reel "$JOB")
check 'a run with counted calls only is refused' \
	'"$IOREEL" replay counted.reel 2>err; [ $? = 1 ] &&
	[ $(wc -l <err) = 1 ] && grep -q "only counted" err'
finish
