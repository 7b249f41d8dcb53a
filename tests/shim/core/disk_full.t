#!/bin/bash
# SPDX-License-Identifier: MIT
# disk_full_no_sigbus: with a full disk under the trace the job runs on
# unchanged, and refused records are counted: recorded and lost events are all
# events.
. "$(dirname "$0")/../../lib/tap.sh"
[ "$(id -u)" -eq 0 ] || skip_all 'needs root, to mount a small tmpfs'
mkdir small bare traced
mount -t tmpfs -o size=160k small small 2>/dev/null || skip_all 'cannot mount a tmpfs here'
trap 'umount "$T/small"; rm -rf "$T"' EXIT

(cd bare && "$O/tests/shim/core/close_range_userdata_intact" >out 2>err; echo "status $?" >>out)
(cd traced && "$IOREEL" record -o ../small/t.reel -- \
	"$O/tests/shim/core/close_range_userdata_intact" >out 2>err; echo "status $?" >>out)
is 'disk_full_no_sigbus: same output and status as bare' "$(cat traced/out)" "$(cat bare/out)"
check 'record reports lost events' "grep -qi lost traced/err && ! grep -q 'nothing lost' traced/err"
check 'the trace loads' '"$IOREEL" load small/t.reel -o t.db'
RUN=t.db
seen=$(q "select count(*) from v_event where call in ('write', 'pread')")
lost=$(q 'select lost from run')
echo "# $seen recorded, $lost lost"
check 'some were recorded, some were lost' "[ $seen -gt 0 ] && [ $lost -gt 0 ]"
all=$(q 'select events from run')
is 'recorded and lost events are all events' "$((all + lost))" "$(
	"$IOREEL" record -q -o whole.reel -- "$O/tests/shim/core/close_range_userdata_intact" >whole.out 2>whole.err
	"$IOREEL" sql whole.reel --format tsv 'select events from run' | tail -1)"

# The trace directory is removed while the job runs.
(cd traced && "$IOREEL" record -o ../gone.reel -- sh -c \
	'rm -rf ../gone.reel; exec "$0"' "$O/tests/shim/core/close_range_userdata_intact" >out2 2>err2; echo "status $?" >>out2)
is 'a removed trace directory does not harm the job' "$(cat traced/out2)" "$(cat bare/out)"
finish
