#!/bin/bash
# SPDX-License-Identifier: MIT
# The speed of a copy depends on the buffer's offset in its page: it is recorded
# for large reads and writes, and the replay uses buffers at the same offset.
. "$(dirname "$0")/../lib/tap.sh"
. "$TOP/tests/lib/replay.sh"

want='write,300000,100
pread,200000,48
pread,65536,4095
pread,65535,-
read,100000,16
pwrite,70000,33
read,100,-'
buffer_offsets() {
	sql "$1" "SELECT call || ',' || bytes || ',' ||
		CASE WHEN bytes < 65536 THEN '-' ELSE arg END FROM v_event
		WHERE call_group IN ('read', 'write') ORDER BY start_ns"
}

mkdir job
"$IOREEL" record -q -o job.reel -- "$O/tests/replay/job_buffer_alignment" job
is 'buffer offsets of large transfers are recorded' "$(buffer_offsets job.reel)" "$want"
is 'those of small transfers are not' "$(sql job.reel "SELECT count(*)
	FROM v_event WHERE bytes < 65536 AND call_group = 'read' AND arg <> 0")" 0
"$IOREEL" replay job.reel -o again.db >/dev/null 2>&1
is 'the replay has the same buffer offsets' "$(buffer_offsets again.db)" "$want"
finish
