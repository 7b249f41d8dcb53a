#!/bin/bash
# SPDX-License-Identifier: MIT
# Signals to the processes of record: to all with its name (killall, pkill,
# pidof), to both of its processes by number, to their group, to record alone.
# The job ends as it would without record, and gets each signal once.
. "$(dirname "$0")/../lib/tap.sh"

unset LD_PRELOAD PYTHONPATH
ulimit -c 0
PY=/usr/bin/python3
[ -x "$PY" ] || PY=$(command -v python3)
[ -x "$PY" ] || skip_all 'no python3'

# A shell's "&" starts commands with SIGINT and SIGQUIT ignored.
cat >start.py <<'P'
import os, signal, sys
for s in signal.SIGINT, signal.SIGQUIT, signal.SIGHUP:
    signal.signal(s, signal.SIG_DFL)
os.setsid()
os.execvp(sys.argv[1], sys.argv[1:])
P
cat >handles.py <<'P'
import os, signal, sys, time
def on(sig, frame):
    with open("got", "a") as f:
        f.write("%d\n" % sig)
signal.signal(int(sys.argv[1]), on)
with open("pid", "w") as f:
    f.write("%d\n" % os.getpid())
end = time.time() + 60
while not os.path.exists("got") and time.time() < end:
    time.sleep(0.01)
time.sleep(0.4)
sys.exit(3)
P
await() {
	for _ in $(seq 3000); do
		eval "$1" && return
		sleep 0.02
	done
}
# Find the processes among record and its children that match "ioreel" by name,
# command line or program file. Not with killall: other tests record here too.
named() {
	local p
	for p in $P $(children $P); do
		{ cat "/proc/$p/comm"; tr '\0' '\n' <"/proc/$p/cmdline" | head -1
			readlink "/proc/$p/exe"; } 2>/dev/null |
			sed 's,.*/,,' | grep -q ioreel && echo "$p"
	done
}
witness() { children $P job-signals; }
# sent NAME HOW SIGNAL COMMAND: start the job, signal it, print how it ended.
sent() {
	local name=$1 how=$2 sig=$3
	shift 3
	mkdir "$name"
	cd "$name" || exit 1
	$PY -S ../start.py "$IOREEL" record -o t.reel -- "$@" 2>err &
	P=$!
	await '[ -s pid ] && [ -n "$(witness)" ]'
	case $how in
	named) kill -"$sig" $(named) ;;
	both) kill -"$sig" $P $(witness) ;;
	group) kill -"$sig" -- -$P ;;
	alone) kill -"$sig" $P ;;
	esac
	[ ! -e ../then ] || . ../then
	wait $P
	echo $?
	cd ..
}
sleeps='echo $$ >pid; exec sleep 60'
for how in named both group alone; do
	for sig in 15 1 2; do
		is "signal $sig to $how ends a job" \
			"$(sent d$how$sig $how $sig sh -c "$sleeps")" $((128 + sig))
	done
	check "and record prints its lines ($how)" \
		'grep -q "^ioreel: sh ended by signal 15 " d$how""15/err &&
		grep -q "^ioreel: nothing lost" d$how""15/err &&
		grep -q "^ioreel: trace t.reel" d$how""15/err &&
		grep -q "^ioreel: next: ioreel report t.reel" d$how""15/err'
done
for how in named group alone; do
	for sig in 15 2; do
		is "signal $sig to $how of a job that handles it keeps its status" \
			"$(sent h$how$sig $how $sig $PY -S ../handles.py $sig)" 3
		is 'and the job gets it once' "$(cat h$how$sig/got)" $sig
	done
done
is 'SIGINT to both processes of a Python program without handlers' \
	"$(sent interrupted named 2 $PY -S -c 'if True:
	import os, time
	open("pid", "w").write("%d\n" % os.getpid())
	time.sleep(60)')" 130
echo 'sleep 0.3; : >go' >then
for how in named both group; do
	is "a job that ignores SIGTERM continues ($how)" "$(sent i$how $how 15 \
		sh -c 'trap "" TERM; echo $$ >pid
		until [ -e go ]; do sleep 0.05; done; exit 4')" 4
done
cat >then <<'S'
W=$(witness)
kill -KILL "$W"
await '[ "$(witness)" != "$W" ] && [ -n "$(witness)" ]'
kill -TERM -- -$P
S
is 'SIGKILL to the second process, then SIGTERM to the group' \
	"$(sent again none 15 $PY -S ../handles.py 15)" 3
is 'and the job gets it once' "$(cat again/got)" 15
cat >then <<'S'
kill -KILL $P
await '[ -z "$(witness)" ]'
kill -0 "$(cat pid)" && echo runs
kill "$(cat pid)"
S
is 'SIGKILL to record: only the job continues' \
	"$(sent killed none 15 sh -c "$sleeps" 2>/dev/null)" 'runs
137'
check 'and its trace loads' '"$IOREEL" report killed/t.reel'
rm then
if command -v killall >/dev/null &&
	unshare -rpf --mount-proc true 2>/dev/null; then
	is 'killall ioreel, in a process namespace of its own' "$(
		unshare -rpf --mount-proc bash -c '
		"$IOREEL" record -q -o ns.reel -- sh -c ": >up; exec sleep 60" &
		for _ in $(seq 500); do
			[ -e up ] && grep -qsx job-signals /proc/[0-9]*/comm && break
			sleep 0.02
		done
		killall ioreel
		wait $!
		echo $?')" 143
else
	skip 'killall ioreel' 'no killall, or no namespaces'
fi
finish
