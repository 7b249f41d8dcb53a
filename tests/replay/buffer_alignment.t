#!/bin/bash
# SPDX-License-Identifier: MIT
# A copy's speed depends on where in a page the memory lies: of large reads and
# writes it is recorded, and the replay uses memory at the same place.
. "$(dirname "$0")/../lib/tap.sh"

unset LD_PRELOAD
want='write,300000,100
pread,200000,48
pread,65536,4095
pread,65535,-
read,100000,16
pwrite,70000,33
read,100,-'
places() {
	"$IOREEL" sql "$1" "SELECT call || ',' || bytes || ',' ||
		CASE WHEN bytes < 65536 THEN '-' ELSE arg END FROM v_event
		WHERE call_group IN ('read', 'write') ORDER BY start_ns" \
		--format tsv | tail -n +2
}

mkdir job
"$IOREEL" record -q -o job.reel -- "$O/tests/replay/job_buffer_alignment" job
is 'places of large transfers are recorded' "$(places job.reel)" "$want"
is 'of small ones nothing' "$("$IOREEL" sql job.reel 'SELECT count(*) FROM v_event
	WHERE bytes < 65536 AND call_group = '"'read'"' AND arg <> 0' \
	--format tsv | tail -n +2)" 0
"$IOREEL" replay job.reel -o again.db >/dev/null 2>&1
is 'the replay is at the same places' "$(places again.db)" "$want"
finish
