#!/bin/bash
# SPDX-License-Identifier: MIT
# Processes of every kind under the shim: output and status as bare, all calls
# recorded, or counted where the kernel denies writing, and a trace directory
# that stays small with any number of processes.
. "$(dirname "$0")/../../lib/tap.sh"
unset LD_PRELOAD
P=$O/tests/shim/exec/process_trees
head -c 10000 /dev/zero >data
mkdir root

# guest NAME [ARG]: run it bare, then traced into NAME.reel, and compare.
guest() {
	rm -rf "$1.reel"
	(umask 022; "$P" "$@" >bare.out 2>bare.err; echo "status $?" >>bare.out)
	"$IOREEL" record -o "$1.reel" -- "$P" "$@" >traced.out 2>all.err
	echo "status $?" >>traced.out
	grep -v '^ioreel: ' all.err >traced.err
	is "$1: output and status" "$(cat traced.out)" "$(cat bare.out)"
	is "$1: standard error" "$(cat traced.err)" "$(cat bare.err)"
	RUN=$1.reel
}
reads() {
	q "select count(*) from v_event where call in ('read', 'pread')
	   and path like '%/data'"
}
lost() { q 'select lost from run'; }

guest one
is 'one_event_process: two calls by one process' \
	"$(q "select (select count(*) from process), group_concat(call) from
	   (select call from v_event where path like '%/data' order by start_ns)")" \
	"$(printf '1\topen,read')"

before=$(q 'select (select count(*) from process), calls from run')
# A packer that was killed between copying a log and removing it.
log=$(echo one.reel/[0-9]*.log)
bytes=$(stat -c %s "$log")
cp "$log" one.reel/PACK-x.log
printf "\\x$(printf %02x $((bytes & 255)))\\x$(printf %02x $((bytes >> 8)))" |
	dd of=one.reel/PACK-x.log bs=1 seek=16 conv=notrunc 2>/dev/null
is 'a log that was copied but not removed counts once' \
	"$(q 'select (select count(*) from process), calls from run')" "$before"

guest storm 2000
is 'process_storm_disk_budget: 2,000 processes, eight reads each' \
	"$(q "select count(*) from (select process_id from v_event where
	   call = 'read' and path like '%/data' group by 1
	   having count(*) = 8)")" 2000
check 'process_storm_disk_budget: at most 2 MB are left' \
	'[ "$(du -sk storm.reel | cut -f1)" -le 2048 ]'
check 'process_storm_disk_budget: in few files' \
	'[ "$(ls storm.reel | wc -l)" -lt 10 ]'
export SIZE_COMMAND="du -sk $T/crowd.reel 2>/dev/null | cut -f1 >$T/size; true"
guest crowd 2000
check 'crowd: at most 40 MB while all processes exist' \
	'[ "$(cat size)" -gt 2000 ] && [ "$(cat size)" -le 40960 ]'
is 'crowd: every read is recorded' "$(reads) $(lost)" '16000 0'
check 'crowd: at most 2 MB after' '[ "$(du -sk crowd.reel | cut -f1)" -le 2048 ]'

guest fork_first
is 'fork_first: a child that forks before its first call has its own fork time' \
	"$(q "select count(fork_ns), min(fork_ns) < max(fork_ns) from process")" \
	"$(printf '2\t1')"
is 'fork_first: every read is recorded' "$(reads) $(lost)" '24 0'

guest fork_threads
is 'fork_storm_threads: eight reads in each of 300 children' \
	"$(q "select count(*) from (select pid from v_event where call = 'read'
	   and path like '%/data' group by process_id having count(*) = 8)")" 300
for name in double_fork daemonize spawn_closefds; do
	guest $name
done
is 'posix_spawn_closefds: the spawned program is traced' \
	"$(q "select sum(bytes) from v_event where path like '%/spawned.out'
	   and call_group = 'write'")" 10000
RUN=double_fork.reel
is 'double_fork: the orphan is traced' "$(reads)" 8
RUN=daemonize.reel
is 'daemonize: the daemon is traced' "$(reads)" 8
guest exec_chain 5
is 'exec_chain, exec_keeps_events: six images, eight reads each' \
	"$(q 'select count(*) from process') $(reads)" '6 48'

guest nofile
is 'nofile_exhausted: nothing is lost, nor in the child' \
	"$(q "select count(*) from v_event where call in ('pwrite', 'pread')
	   and path like '%/nofile.bin'") $(lost)" '90000 0'
guest fsize
is 'rlimit_fsize: a lowered limit does not apply to the trace' \
	"$(q "select count(*) from v_event where call = 'pwrite'") $(lost)" \
	'60000 0'

guest strict_seccomp
check 'strict_seccomp_host: events that could not be written are counted' \
	'[ $(( $(q "select count(*) from v_event where call = '"'pread'"'") + \
	$(lost) )) -ge 60001 ]'
if [ "$(id -u)" -eq 0 ]; then
	guest chrooted
	check 'chroot_after_start: every event is recorded or counted' \
		'[ $(( $(reads) + $(lost) )) -ge 60001 ]'
	guest setuid_drop
	# the block with the open is lost, so that the kept reads have no path
	check 'setuid_drop: every event is recorded or counted' \
		'[ $(( $(q "select count(*) from v_event where call = '"'pread'"'") + \
		$(lost) )) -ge 60000 ]'
	check 'setuid_drop: the last block is kept' \
		'[ "$(q "select count(*) from v_event")" -gt 200 ]'
else
	skip 'chroot_after_start' 'needs root'
	skip 'setuid_drop' 'needs root'
fi

echo data >data
RUN=t.reel
"$IOREEL" record -q -o t.reel -- sh -c \
	"cat data; '$IOREEL' record -q -o inner.reel -- head -c 1 data; env X=1 wc data" >out
is 'an own recording inside: its command is in it alone' \
	"$(q "select count(*) from v_event where path like '%/data' and call = 'open'") $(
		RUN=inner.reel q "select count(*) from v_event where path like '%/data' and call = 'open'")" '2 1'
is 'and named in the outer one' "$(q "select reason, count from loss")" \
	'untraced_recording	1'
is 'with its program' "$(q "select value from note where key = 'untraced'")" \
	"recording $(command -v head)"
check 'and in its report' '"$IOREEL" report t.reel | grep -q "^untraced: 1 program (1 in a recording of their own)"'
finish
