#!/bin/bash
# SPDX-License-Identifier: MIT
# The shim is transparent, II: threads, signals, jumps, forks. No call of a
# thread may be missing, however the thread began and ended.
. "$(dirname "$0")/../../lib/tap.sh"
. "$TOP/tests/lib/probe.sh"

written() { q "SELECT count(*) FROM v_event WHERE call_group = 'write' AND errno = 0 AND path LIKE '%/$1'"; }

probe threads_10k_short
is 'threads_10k_short: every write of 10,000 threads' \
	"$(q "SELECT count(*), count(DISTINCT offset) FROM v_event WHERE call = 'write' AND path LIKE '%/threads.bin'")" \
	"$(printf '10000\t10000')"
probe threads_1k_live
is 'threads_1k_live: three writes of each, under 1,000 names' \
	"$(q "SELECT count(*), count(DISTINCT offset), count(DISTINCT tid) FROM v_event WHERE call = 'pwrite' AND path LIKE '%/live.bin'")" \
	"$(printf '3000\t3000\t1000')"
probe min_stack_thread
is 'min_stack_thread: the calls of 100 threads, and of 100 handlers' \
	"$(written min.thread) $(written min.after-chdir) $(written min.signal)" \
	'100 100 100'
probe tls_dtor_io
is 'tls_dtor_io: the writes of destructors' \
	"$(written tls.bin)" "$(sed -n 1p traced/out)"
probe siglongjmp_from_read
is 'siglongjmp_from_read: calls after a jump are recorded' \
	"$(q "SELECT call, count(*) FROM v_event WHERE path LIKE '%/jump.bin' AND call IN ('pwrite', 'pread') GROUP BY call ORDER BY call")" \
	"$(printf 'pread\t120\npwrite\t120')"
is 'siglongjmp_from_read: no event is lost' "$(lost)" 0
probe fd_number_race
is 'fd_number_race: every read of two threads' \
	"$(q "SELECT count(*) FROM v_event e JOIN process p USING (process_id) WHERE call = 'pread' AND e.tid <> e.pid")" \
	2000000
is 'fd_number_race: no event is lost, no block twice or missing' "$(lost)" 0
probe cancel_in_read
# A thread that is cancelled inside a record loses that record.
is 'cancel_in_read: 400 clean-up handlers, 400 writes of the parent' \
	"$(written cancel.bin)" 800
probe signals
mkdir -p win && (cd win && "$IOREEL" record -q -o ../win.reel -- \
	"$O/tests/shim/core/signal_in_record_window" ../done >/dev/null)
probe signal_in_record_window
RUN=win.reel
is 'signal_in_record_window: recorded and lost events are all events' \
	"$(($(written 'window.%') + $(lost)))" "$(cat done)"
echo "# lost, because they met a record being made: $(lost)"

probe nested_event_time_monotone
is 'nested_event_time_monotone: inner events are inside the outer one' \
	"$(q "SELECT count(*) > 2, min(w.start_ns >= f.start_ns AND w.start_ns + w.dur_ns <= f.start_ns + f.dur_ns) FROM v_event f JOIN v_event w ON w.call = 'pwrite' AND w.thread_id = f.thread_id WHERE f.call = 'flock' AND f.dur_ns = (SELECT max(dur_ns) FROM v_event WHERE call = 'flock') AND w.start_ns < f.start_ns + f.dur_ns")" \
	"$(printf '1\t1')"
is 'nested_event_time_monotone: no negative duration, none before the job' \
	"$(q "SELECT count(*) FROM event WHERE dur_ns < 0 OR start_ns < 0")" 0

# At different moments between the end of main() and the end of the process.
begun=0 wrong=''
for i in $(seq 100); do
	rm -rf count last.reel
	"$IOREEL" record -q -o last.reel -- "$O/tests/shim/core/first_at_exit" $((i * 2000)) count
	RUN=last.reel
	own=$(od -An -td8 count | tr -d ' ')
	seen=$(q "SELECT count(*) FROM v_event WHERE call = 'pread'")
	[ "$own" = 0 ] || begun=$((begun + 1))
	# the last one may end before it is counted
	[ $((seen - own)) -ge 0 ] && [ $((seen - own)) -le 1 ] && [ "$(lost)" = 0 ] ||
		wrong="$wrong $i: $own, seen $seen, lost $(lost);"
done
is 'first_at_exit: each read of a thread while the process ends' "$wrong" ''
check 'first_at_exit: some threads did read' 'echo $begun; [ $begun -gt 0 ]'

probe fork_all_routes
is 'fork_all_routes: 1,000 writes in each child, however it ends' \
	"$(q "SELECT count(*) FROM (SELECT pid, path, count(*) c FROM v_event WHERE call = 'write' AND path NOT LIKE '%/out' GROUP BY pid, path HAVING c = 1000)")" 6
probe vfork_child_io
is 'vfork_child_io: the parent keeps its descriptors' \
	"$(q "SELECT group_concat(replace(path, rtrim(path, replace(path, '/', '')), '') || ' ' || bytes || '@' || offset, ', ') FROM v_event WHERE call = 'write' AND path LIKE '%vfork.%'")" \
	'vfork.a 4@0, vfork.a 4@4, vfork.b 2@0'
finish
