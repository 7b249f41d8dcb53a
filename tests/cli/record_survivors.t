#!/bin/bash
# SPDX-License-Identifier: MIT
# Processes that outlive their job's command, or start just as it ends; and
# windows, logs and directories that are removed while processes use them: their
# records are kept or counted as lost.
. "$(dirname "$0")/../lib/tap.sh"

unset LD_PRELOAD PYTHONPATH
R="$IOREEL record --no-hooks"
PY=/usr/bin/python3
[ -x "$PY" ] || PY=$(command -v python3)
[ -x "$PY" ] || skip_all 'no python3'
await() {	# wait until the shell command succeeds, at most 60 s
	for _ in $(seq 3000); do
		eval "$1" && return
		sleep 0.02
	done
}
kill_with_children() {	# the process whose number the file has
	local p
	p=$(cat "$1")
	kill -KILL $(cat "/proc/$p/task/$p/children") "$p" 2>/dev/null
}
head -c 100000 /dev/zero >data

# --- daemons --------------------------------------------------------------
cat >daemon.py <<'PY'
import os, time
def until(name):
    while not os.path.exists(name):
        time.sleep(0.01)
if os.fork():
    os._exit(0)
os.setsid()
if os.fork():
    os._exit(0)
with open("pid", "w") as f:
    f.write(str(os.getpid()))
os.rename("pid", "daemon.pid")
until("go")
f = os.open("late", os.O_WRONLY | os.O_CREAT, 0o600)
for i in range(100):
    os.write(f, b"x" * 100)
open("wrote", "w").close()
until("end")
os.write(f, b"y")
PY
$R -o late.reel -- sh -c "$PY -S daemon.py
	while [ ! -e daemon.pid ]; do sleep 0.02; done" >out 2>err
check 'an idle daemon is reported as running' \
	'grep -q "; 1 process still running$" err'
touch go
await '[ -e wrote ]'
is 'its later calls are in the trace while it runs' "$(sql late.reel \
	"SELECT count(*), sum(bytes) FROM v_event WHERE call = 'write'
	 AND path LIKE '%/late'")" "100	10000"
check 'and the report notes that it runs' \
	'"$IOREEL" report late.reel | grep -q "^running: 1 process went on"'
touch end
await '! kill -0 $(cat daemon.pid) 2>/dev/null'
is 'and all of it when it has ended' "$(sql late.reel \
	"SELECT count(*), sum(bytes) FROM v_event WHERE call = 'write'
	 AND path LIKE '%/late'")" "101	10001"
is 'and nothing is lost' "$(sql late.reel 'SELECT lost FROM run')" 0

rm -f wrote
$R -o hup.reel -- sh -c 'setsid nohup sh -c "cat data >copy1; \
	while [ ! -e on ]; do sleep 0.02; done; \
	cat data >copy2; echo done >wrote" </dev/null >/dev/null 2>&1 &
	while [ ! -s copy1 ]; do sleep 0.02; done' 2>err
touch on
await '[ -s wrote ]'
sleep 0.1
is 'programs that a daemon starts later are recorded too' "$(sql hup.reel \
	"SELECT count(*) FROM v_file WHERE path LIKE '%/copy_'
	 AND write_bytes = 100000")" 2

$R -o kill.reel -- sh -c "$PY -S -c 'import os, time
f = os.open(\"data\", os.O_RDONLY)
os.read(f, 1234)
open(\"up\", \"w\").close()
time.sleep(60)' & echo \$! >kill.pid; while [ ! -e up ]; do sleep 0.02; done" \
	2>err
kill -KILL "$(cat kill.pid)"
is 'a daemon that is killed later loses nothing' "$(sql kill.reel \
	"SELECT sum(bytes) FROM v_event WHERE path LIKE '%/data'")" 1234
$R -o stop.reel -- sh -c "$PY -S -c 'import os, time
os.read(os.open(\"data\", os.O_RDONLY), 10)
open(\"here\", \"w\").close()
os.kill(os.getpid(), 19)' & echo \$! >stop.pid
while ! grep -q '^State:.T' /proc/\$!/status; do sleep 0.02; done" 2>err
check 'a stopped process counts as running' 'grep -q "; 1 process still running$" err'
kill -KILL "$(cat stop.pid)"

# --- a window without a head ------------------------------------------------
$R -o begin.reel -- sh -c 'setsid sleep 30 & echo $! >begin.pid
	: >begin.reel/windows/$!.7.win' 2>err
check 'of a living process: it stays' \
	'[ -e begin.reel/windows/$(cat begin.pid).7.win ] &&
	 grep -q "; 1 process still running$" err'
kill "$(cat begin.pid)"
$R -o ended.reel -- sh -c 'true & p=$!; wait
	: >ended.reel/windows/$p.7.win; : >ended.reel/$p.7.log' 2>err
check 'of one that has ended: it goes' \
	'[ ! -e ended.reel/windows ] && ! grep -q "still running" err'
is 'and its log, in which there is nothing' \
	"$(sql ended.reel 'SELECT count(*) FROM loss'; find ended.reel -name '*.7.log')" 0
if strace -o /dev/null -e inject=fallocate:delay_enter=1:when=1 true \
	2>/dev/null && [ -z "$IOREEL_ASAN" ]; then
	# The shim's first fallocate() is between the creation of the window and of
	# its head. strace delays it, longer after each miss on a busy machine.
	for delay_us in 400000 2000000 8000000; do
		rm -rf seen caught race.reel
		$R -o race.reel -- sh -c "
			setsid strace -qq -f -o /dev/null -e trace=fallocate \
				-e inject=fallocate:delay_enter=$delay_us:when=1 \
				$PY -S -c 'import os, time
f = os.open(\"data\", os.O_RDONLY)
os.read(f, 4321)
open(\"seen\", \"w\").close()
time.sleep(60)' </dev/null >/dev/null 2>&1 & echo \$! >race.pid
			until [ -e seen ]; do
				find race.reel/windows -empty | grep -q win &&
					: >caught && break
				sleep 0.02
			done" 2>err
		[ -e caught ] && break
		kill_with_children race.pid
	done
	check 'one caught while it began keeps its window' \
		'grep -q "still running" err && ls race.reel/windows/*.win'
	await '[ -e seen ]'
	kill_with_children race.pid
	is 'and what it recorded then' "$(sql race.reel \
		"SELECT sum(bytes) FROM v_event WHERE path LIKE '%/data'")" 4321
else
	skip 'one caught while it began keeps its window' 'no strace'
	skip 'and what it recorded then' 'no strace'
fi

# --- numbers of another pid namespace -------------------------------------
if unshare -rpf --mount-proc true 2>/dev/null; then
	cat >inner.py <<'PY'
import os, time
f = os.open("data", os.O_RDONLY)
os.read(f, 77)
open("inside", "w").close()
time.sleep(60)
PY
	$R -o inner.reel -- sh -c "setsid unshare -rpf --mount-proc sh -c \
		'$PY -S inner.py; true' </dev/null >/dev/null 2>&1 &
		echo \$! >inner.pid
		while [ ! -e inside ]; do sleep 0.02; done; sleep 1.2" 2>err
	check 'a window of a process in a container is not merged' \
		'ls inner.reel/windows/*.win &&
		 sed -n 1p err | grep -q "still running$"'
	kill_with_children inner.pid
	is 'so that nothing is lost when it is killed' "$(sql inner.reel \
		"SELECT sum(bytes) FROM v_event WHERE path LIKE '%/data'")" 77
else
	skip 'a window of an inner process is not taken' 'no unshare'
	skip 'so that nothing is lost when it is killed' 'no unshare'
fi

# --- removed files ----------------------------------------------------------
mkdir alone # Python reads its directory
cat >alone/taken.py <<'PY'
import os, shutil, sys, threading
d = os.environ["IOREEL_DIR"]
f = os.open("data", os.O_RDONLY)
for i in range(10):
    os.read(f, 10)
for name in ("%s/windows/%d.win", "%s/%d.log"):
    if sys.argv[1] in name:
        os.unlink(name % (d, os.getpid()))
    else:
        os.access(name % (d, 0), 0)
def reads():
    for i in range(500):
        os.pread(f, 10, 0)
t = threading.Thread(target=reads)
t.start()
t.join()
PY
$R -o whole.reel -- $PY -S alone/taken.py none 2>err
whole=$(sql whole.reel 'SELECT events FROM run')
for what in win log; do
	$R -o "$what.reel" -- $PY -S alone/taken.py .$what 2>err
	n=$(sql $what.reel 'SELECT events + lost FROM run')
	# A lost record of a stream's position is not an event.
	check "a .$what removed: every event is there or counted" \
		'[ "$n" -ge "$whole" ] && [ "$n" -le $((whole + 4)) ]'
	# a thread finds no slot without the window; the log is made again from it
	case $what in
	win) check 'and the summary reports it' 'grep -q "[0-9]* events LOST" err' ;;
	log) check 'and none is lost' 'grep -q "nothing lost" err' ;;
	esac
done
is 'a thread without a window: counted in job.counts' \
	"$(sql win.reel "SELECT process_id IS NULL, count >= 500 FROM loss
		WHERE reason = 'window'")" "1	1"

is 'a job that removes the directory keeps its status' \
	"$($R -o gone.reel -- sh -c 'rm -r gone.reel; exit 3' 2>err; echo $?)" 3
check 'and the error is one line' '[ "$(wc -l <err)" = 1 ] && grep -q gone.reel err'
$R -o again.reel -- sh -c "cat data >copy; rm -r again.reel; cat data >copy2" \
	2>err
check 'if it is recreated, its old events are LOST' \
	'grep -q "^ioreel: [23] processes could not record" err'
check 'and the report is not complete' '"$IOREEL" report again.reel |
	grep -q "^untraced: [23] programs" && "$IOREEL" report --json again.reel |
	grep -q "\"complete\": false"'
finish
