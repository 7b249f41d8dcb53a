#!/bin/bash
# SPDX-License-Identifier: MIT
# A guest is not noticed: each probe prints the same and ends the same, bare
# and traced, and the shim counts no loss but where the test takes its disk.
. "$(dirname "$0")/../tap.sh"

# guest NAME ARGS...: the probe in a directory of its own, bare, then traced.
guest() {
	name=$1
	shift
	mkdir -p bare traced
	(cd bare && "$O/tests/shim/$name" "$@" >out 2>err; echo "status $?" >>out)
	(cd traced && "$IOREEL" record -q -o "../$name$*.reel" -- \
		"$O/tests/shim/$name" "$@" >out 2>err; echo "status $?" >>out)
	is "$name $*: output and status" "$(cat traced/out)" "$(cat bare/out)"
	is "$name $*: stderr" "$(cat traced/err)" "$(cat bare/err)"
	rm -rf bare traced
	last="$name$*.reel"
}

q() { "$IOREEL" sql "$last" "$1" --format tsv | tail -n +2; }

guest errno_matrix
is 'errno_matrix: failures carry errno' \
	"$(q "select count(*) from v_event where errno = 9 and result = -1" | awk '{ print ($1 > 0) }')" 1
guest close_range_userdata_intact
is 'userdata: every write and read is there' \
	"$(q "select call, count(*), sum(bytes) from v_event where path like '%/user.bin' and call in ('write','pread') group by call order by call")" \
	"$(printf 'pread\t50000\t5000000\nwrite\t20000\t2000000')"
guest open_mode_varargs
guest early_calls
guest fork_all_routes
is 'fork_all_routes: 1,000 writes in each child, whatever its end' \
	"$(q "select count(*) from (select pid, path, count(*) c from v_event where call = 'write' and path not like '%/out' group by pid, path having c = 1000)")" 6
guest vfork_child_io
is 'vfork_child_io: the parent keeps its descriptors' \
	"$(q "select group_concat(replace(path, rtrim(path, replace(path, '/', '')), '') || ' ' || bytes || '@' || offset, ', ') from v_event where call = 'write' and path like '%vfork.%'")" \
	'vfork.a 4@0, vfork.a 4@4, vfork.b 2@0'
guest signals
guest threads_short
is 'threads_short: every write of 10,000 threads' \
	"$(q "select count(*), count(distinct offset) from v_event where call = 'write' and path like '%/threads.bin'")" \
	"$(printf '10000\t10000')"
for what in size files cwd; do
	guest limits $what
done
mkdir dup && (cd dup && "$IOREEL" record -q -o ../dup.reel -- "$O/tests/shim/dup_tracking" >../dup.want)
last=dup.reel
is 'dup_tracking: offsets are those of the open file description' \
	"$(q "select call || ' ' || bytes || ' ' || offset from v_event where path like '%/dup.bin' and call_group in ('read', 'write') order by start_ns")" \
	"$(cat dup.want)"
finish
