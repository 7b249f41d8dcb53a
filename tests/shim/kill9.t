#!/bin/bash
# SPDX-License-Identifier: MIT
# SIGKILL loses nothing: a writer of two threads counts its own calls in shared
# memory, and is killed at 20 random moments. A call that returned is in the
# trace; one that was under way may be.
. "$(dirname "$0")/../tap.sh"
bad=0
undecodable=0
total=0
for i in $(seq 20); do
	rm -rf c data t.reel
	"$IOREEL" record -q -o t.reel -- "$O/tests/shim/kill9_writer" c data &
	pid=0
	while [ "${pid:-0}" -eq 0 ]; do
		sleep 0.01
		pid=$(od -A n -t u8 -j 48 -N 8 c 2>/dev/null | tr -d ' ')
	done
	sleep "0.$((RANDOM % 30 + 5))"
	kill -9 "$pid"
	wait $!
	"$IOREEL" sql t.reel --format tsv "select tid, count(*) from v_event where call = 'pwrite' group by tid" >got 2>err || undecodable=$((undecodable + 1))
	"$IOREEL" sql t.reel --format tsv "select count(*) from loss where count > 0" | tail -n +2 | grep -qx 0 || undecodable=$((undecodable + 1))
	# Counters: three native 64-bit words per thread.
	od -A n -t u8 -w24 -N 48 c >want
	while read -r tid begun done; do
		n=$(awk -v t="$tid" '$1 == t { print $2 }' got)
		total=$((total + ${n:-0}))
		if [ "${n:-0}" -lt "$done" ] || [ "${n:-0}" -gt "$begun" ]; then
			bad=$((bad + 1))
			echo "# kill $i, thread $tid: $done done, $begun begun, ${n:-none} recorded"
		fi
	done <want
done
echo "# $total events in 20 killed processes"
is '20 kills: no thread lost an event' "$bad" 0
is '20 kills: every trace loads, and reports no loss' "$undecodable" 0
check 'the kills met running writers' "[ $total -gt 20000 ]"
finish
