#!/bin/sh
# SPDX-License-Identifier: MIT
# Bytes that printf() and the like write through the standard streams have no
# wrapped call: the replay's trace has as many of them at the same offsets.
. "$(dirname "$0")/../lib/tap.sh"

JOB=$O/tests/replay/job_unwrapped_stdio
events() {
	sql "$1" "SELECT call, fd, offset, asked, result
		FROM v_event WHERE fd IN (1, 2) AND call <> 'fcntl' ORDER BY start_ns"
}

for how in exit flush mixed; do
	for to in new append; do
		rm -rf job.reel && printf 0123456789 >out && printf 01234 >err
		case $to in
		new) "$IOREEL" record -q -o job.reel "$JOB" $how >out 2>err ;;
		*) "$IOREEL" record -q -o job.reel "$JOB" $how >>out 2>>err ;;
		esac
		"$IOREEL" replay job.reel --afap -o again.db >said 2>&1
		events job.reel | sort >want
		events again.db | sort >got
		check "$how, $to: the job's trace has both streams" \
			'[ "$(grep -c "^stdio_write.[12]" want)" -ge 2 ] || ! cat want'
		check "$how, $to: the replay's trace has the same" 'diff want got || ! cat said'
	done
done
is 'appended bytes follow the existing ones' \
	"$(awk '$1 == "stdio_write" && $2 == 1 { print $3; exit }' want)" 10

rm -rf job.reel kept
"$IOREEL" record -q -o job.reel sh -c '"$0"; "$0"; "$0"; "$0"; :' "$JOB" >out 2>err
"$IOREEL" replay job.reel --afap --root kept --keep -o again.db >said 2>&1
for fd in 1 2; do
	is "descriptor $fd: writes follow each other" "$(sql again.db "
		SELECT offset FROM v_event WHERE call = 'stdio_write' AND fd = $fd
		ORDER BY 1" | tr '\n' ' ')" '0 6 12 18 '
done
is 'and do in the files' \
	"$(find kept -type f -name out -size 24c -o -name err -size 24c | wc -l)" 2

echo 'for i in 1 2 3; do echo line >>grown; done' >shell.sh
rm -rf job.reel
"$IOREEL" record -q -o job.reel bash shell.sh
"$IOREEL" replay job.reel --afap -o again.db >said 2>&1
check 'a shell that appends' '"$IOREEL" compare job.reel again.db | tee cmp |
	grep "identical in 1 of 1 thread" || ! cat cmp said'
finish
