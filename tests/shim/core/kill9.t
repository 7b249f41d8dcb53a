#!/bin/bash
# SPDX-License-Identifier: MIT
# kill9_oracle: SIGKILL loses no event. A writer of two threads counts its own
# calls in shared memory and is killed at random moments, KILLS times (default
# 8). A call that returned is in the trace; an unfinished one may be.
. "$(dirname "$0")/../../lib/tap.sh"
KILLS=${KILLS:-8}
bad=0
undecodable=0
total=0
for i in $(seq "$KILLS"); do
	rm -rf c data t.reel
	"$IOREEL" record -q -o t.reel -- "$O/tests/shim/core/kill9_writer" c data &
	pid=0
	# Wait until both threads write, also on busy processors.
	until [ "${pid:-0}" -ne 0 ] && [ "$(od -A n -t u8 -w24 -N 48 c |
		awk '$3 >= 1000' | wc -l)" = 2 ]; do
		kill -0 $! 2>/dev/null || break
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
echo "# $total events in $KILLS killed processes"
is "kill9_oracle: $KILLS kills, no thread lost an event" "$bad" 0
is 'kill9_oracle: every trace loads, and reports no loss' "$undecodable" 0
check 'the writers ran when they were killed' "[ $total -gt $((KILLS * 1000)) ]"

# daemon_threads_at_exit: neither does the end of a process with running
# threads.
for way in return _exit quick_exit; do
	faults=
	for i in 1 2 3; do
		rm -rf c data t.reel
		"$IOREEL" record -q -o t.reel -- "$O/tests/shim/core/kill9_writer" c data $way
		"$IOREEL" sql t.reel --format tsv "select tid, count(*) from v_event where call = 'pwrite' group by tid" >got
		faults+=$(od -A n -t u8 -w24 -N 48 c | while read -r tid begun done; do
			n=$(awk -v t="$tid" '$1 == t { print $2 }' got)
			[ "${n:-0}" -ge "$done" ] && [ "${n:-0}" -le "$begun" ] ||
				echo "$done done, $begun begun, ${n:-none} recorded; "
		done)
		faults+=$("$IOREEL" sql t.reel --format tsv "select reason, count from loss where count > 0" | tail -n +2)
	done
	is "daemon_threads_at_exit: $way loses no event" "$faults" ''
done

# Calls of a handler after the last flush or inside a record are counted as
# lost; the record is whole, at any address of the handler's stack.
for way in timer altstack; do
	faults=
	for i in 1 2 3 4 5; do
		rm -rf c data t.reel
		"$IOREEL" record -q -o t.reel -- "$O/tests/shim/core/kill9_writer" c data $way
		read -r _ begun done < <(od -A n -t u8 -w24 -N 24 c)
		read -r n lost bad < <("$IOREEL" sql t.reel --format tsv "select (select count(*) from v_event where call = 'pwrite'), coalesce(sum(count), 0), coalesce(sum(unit <> 'events'), 0) from loss" | tail -n 1)
		[ $((n + lost)) -ge "$done" ] && [ "$n" -le "$begun" ] && [ "$bad" = 0 ] ||
			faults+="$done done, $begun begun, $n recorded, $lost lost, $bad damages; "
	done
	is "a handler ($way) up to the last moment: recorded, or counted as lost" "$faults" ''
done
finish
