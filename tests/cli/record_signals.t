#!/bin/bash
# SPDX-License-Identifier: MIT
# A job under record and the same job bare, with and without a terminal: typed
# signals, hangups, job control, signals to record alone, unread output, and
# places where a trace cannot be written.
. "$(dirname "$0")/../lib/tap.sh"

unset LD_PRELOAD PYTHONPATH
ulimit -c 0
PY=/usr/bin/python3
[ -x "$PY" ] || PY=$(command -v python3)
[ -x "$PY" ] || skip_all 'no python3'
R="$IOREEL record"

# --- at a terminal --------------------------------------------------------
# term.py KEYS COMMAND: run COMMAND on a new terminal. KEYS are words in pairs: the
# output to wait for, and the keys to type, "-" none. Prints the status and the output.
cat >term.py <<'PY'
import os, pty, select, signal, sys, time
keys = sys.argv[1].split()
pid, fd = pty.fork()
if not pid:
    # a shell's "&" ignores two of these signals, nohup the third
    for sig in signal.SIGINT, signal.SIGQUIT, signal.SIGHUP:
        signal.signal(sig, signal.SIG_DFL)
    os.execvp(sys.argv[2], sys.argv[2:])
shown = b""
seen = 0
end = time.time() + 60
while time.time() < end:
    if keys:
        at = shown.find(keys[0].encode(), seen)
        if at >= 0:
            seen = at + len(keys[0])
            time.sleep(0.15)
            if keys[1] == "HANGUP":
                os.close(fd)
                fd = -1
            elif keys[1] != "-":
                os.write(fd, keys[1].encode().decode("unicode_escape").encode())
            del keys[:2]
            continue
    if fd < 0:
        break
    if not select.select([fd], [], [], 0.1)[0]:
        continue
    try:
        data = os.read(fd, 65536)
    except OSError:
        break
    if not data:
        break
    shown += data
# A process may close the last descriptor of a terminal before its end (cat
# closes its streams): a hangup at that moment would kill it instead of us.
done, status = 0, 0
while fd >= 0 and not done and time.time() < end:
    done, status = os.waitpid(pid, os.WNOHANG)
    time.sleep(0.01)
if fd >= 0:
    os.close(fd)  # end remaining processes
if not done:
    status = os.waitpid(pid, 0)[1]
print("signal %d" % os.WTERMSIG(status) if os.WIFSIGNALED(status)
      else "exit %d" % os.WEXITSTATUS(status))
for line in shown.decode(errors="replace").split("\r\n"):
    if line and not line.startswith("ioreel: "):
        print(line)
PY
# both NAME KEYS COMMAND: start it bare and recorded, unless the two already
# agreed; "same" compares them.
both() {
	local name=$1 keys=$2
	shift 2
	[ -e "$name.same" ] && return
	rm -rf "$name".[br]
	mkdir "$name.b" "$name.r"
	(cd "$name.b" && $PY -S ../term.py "$keys" "$@" >../"$name.bare" 2>&1) &
	(cd "$name.r" && $PY -S ../term.py "$keys" $R -q -o t.reel -- "$@" \
		>../"$name.rec" 2>&1) &
}
counts='import signal, sys, time
n = 0
def on(sig, frame):
    global n
    n += 1
    print("got", sig, flush=True)
signal.signal(signal.SIGINT, on)
print("ready", flush=True)
end = time.time() + 60
while n < int(sys.argv[1]) and time.time() < end:
    time.sleep(0.01)
time.sleep(0.3)
print("total", n)'
terminals() {
	both int 'ready \x03' sh -c 'echo ready; exec sleep 60'
	both quit 'ready \x1c' sh -c 'echo ready; exec sleep 60'
	both once 'ready \x03' $PY -S -c "$counts" 1
	both twice 'ready \x03 got \x03' $PY -S -c "$counts" 2
	both ignored 'ready \x03 ^C on\n' sh -c 'trap "" INT; echo ready; read -r x
		echo done'
	both stop_ignored 'ready \x1a ^Z on\n' sh -c 'trap "" TSTP; echo ready
		read -r x; echo done'
	both hangup 'ready HANGUP' sh -c 'trap "echo hup >hup; exit 3" HUP; echo ready
		sleep 60 & wait'
	both hangup_kills 'ready HANGUP' sh -c 'echo ready; exec sleep 60'
	both reads 'ready hello\n hello \x04' sh -c 'echo ready; exec cat'
	both group 'none none' $PY -S -c 'import os; print(os.tcgetpgrp(0) ==
		os.getpgrp(), os.isatty(0), os.isatty(1), os.isatty(2))'
	# A shell stops its loop if a command in it ended by SIGINT.
	loop='sh -c "echo ready; exec sleep 60"; echo next'
	[ -e loop.same ] || for how in bare rec; do
		[ $how = rec ] && loop="$R -q -o loop.reel -- $loop"
		rm -rf loop.reel
		$PY -S term.py 'ready \x03' bash -c "$loop" >loop.$how 2>&1 &
	done
	# A shell with job control, whose job is stopped and continued. The job ends
	# when a file exists that is made while it is stopped.
	cat >waits <<-'SH'
	echo ready
	until [ -e on ]; do sleep 0.05; done
	echo finished
	SH
	echo 'sh ../waits; echo "status $?"' >job.bare
	echo "$R -q -- sh ../waits; echo \"status \$?\"" >job.rec
	[ -e shell.same ] || for how in bare rec; do
		rm -rf shell.$how.d
		mkdir shell.$how.d
		cat >shell.$how.rc <<-RC
	PS1='> '
	go() { $(cat job.$how); }
	RC
		(cd shell.$how.d && $PY -S ../term.py \
			'> go\n ready \x1a Stopped :>on;jobs\n Stopped fg\n finished - > exit\n' \
			bash --rcfile ../shell.$how.rc -i 2>&1 |
			sed 's/\x1b\[[?0-9]*[a-z]//g' |
			grep -E '^(exit|ready|finished|status|\[1\])' | cut -c 1-14 \
			>../shell.$how) &
	done
	wait
}
# On a slow machine keys may arrive at different moments in the two: only a
# difference in every attempt is a failure.
for _ in 1 2 3; do
	terminals
	for name in int quit once twice ignored loop stop_ignored hangup reads \
		group shell; do
		cmp -s $name.rec $name.bare && : >$name.same
	done
	cmp -s hangup.r/hup hangup.b/hup || rm -f hangup.same
	[ "$(head -1 hangup_kills.rec)" = 'exit 129' ] && : >hangup_kills.same
	[ "$(ls *.same | wc -l)" = 12 ] && break
done
same() { is "$2" "$(cat "$1.rec")" "$(cat "$1.bare")"; }
same int 'ctrl-C ends the job, and record in the same way'
is 'by the signal' "$(head -1 int.rec)" 'signal 2'
same quit 'ctrl-\ too'
same once 'ctrl-C to a job that handles it: once'
same twice 'ctrl-C typed twice: twice'
same ignored 'a job that ignores ctrl-C continues'
same loop 'a shell loop around it stops'
same stop_ignored 'ctrl-Z to a job that ignores it stops no process'
same hangup 'a hangup of the terminal'
is 'reaches the job' "$(cat hangup.r/hup)" "$(cat hangup.b/hup)"
is 'and ends a job without a handler' "$(head -1 hangup_kills.rec)" 'exit 129'
check 'with its trace complete' \
	'grep -q "\"exit_signal\": 1" hangup_kills.r/t.reel/job.json'
same reads 'the job can read from the terminal'
same group 'and is in the foreground group'
same shell 'ctrl-Z, jobs, fg'
check 'and stops it' 'grep -q "^\[1\].*Stopped" shell.rec && grep -q finished shell.rec'

# --- without a terminal ----------------------------------------------------
state() { sed -n 's/^State:.\(.\).*/\1/p' "/proc/$1/status"; }
await() {
	for _ in $(seq 3000); do
		eval "$1" && return
		sleep 0.02
	done
}
setsid $R -q -o stop.reel -- sh -c 'echo $$ >stop.pid; sleep 0.3; echo on' >on &
P=$!
await '[ -s stop.pid ]'
kill -TSTP $P
# The default action of SIGTSTP has no effect in an orphaned process group.
sleep 0.1
kill -CONT $P
wait $P
is 'SIGTSTP and SIGCONT to record alone' "$? $(cat on)" '0 on'
killed() { # once the job has begun
	for seconds in 0.3 3 30; do
		rm -rf t2.reel
		timeout -s KILL $seconds $R -q -o t2.reel -- \
			sh -c ': >up; exec sleep 9' 2>/dev/null
		status=$?
		[ -e up ] && break
	done
	echo $status
}
is 'under timeout' \
	"$(timeout 0.3 $R -q -o t1.reel -- sleep 60; echo $?)" 124
is 'and timeout -s KILL' \
	"$(killed)" "$(timeout -s KILL 0.3 sleep 9 2>/dev/null; echo $?)"
check 'and its trace loads' \
	'"$IOREEL" report t2.reel'
( ($R -o p.reel -- sh -c 'sleep 0.2; exit 5'; echo $? >status) 2>&1 | true)
await '[ -s status ]'
is 'an unread standard error does not change the status' "$(cat status)" 5
is 'nor does a full one' \
	"$($R -o f.reel -- sh -c 'exit 5' 2>/dev/full; echo $?)" 5

# --- commands that only a shell runs ---------------------------------------
printf 'echo "no #! $1"\n' >text && chmod +x text
is 'a text without #! is a shell'\''s' "$($R -q -o x.reel -- ./text a)" 'no #! a'
: >empty && chmod +x empty
is 'an empty file does nothing' "$($R -q -o e.reel -- ./empty; echo $?)" 0
for s in 1 6 8 11 13 31 34 64; do
	sh -c "kill -$s \$\$" 2>/dev/null
	want="$want $?"
	$R -q -o s$s.reel -- sh -c "kill -$s \$\$" 2>/dev/null
	got="$got $?"
done 2>/dev/null
is 'signals of all kinds' "$got" "$want"

# --- places where a trace cannot be written --------------------------------
mkdir left
is 'a working directory that is gone' "$(cd left && rmdir ../left &&
	$R -q -o "$T/gone.reel" -- cat "$T/empty"; echo $?)" 0
touch file
is 'a file' "$($R -o file -- touch ran 2>err; echo $?)" 1
is 'below a file' "$($R -o file/t -- touch ran 2>err; echo $?)" 1
ln -s nowhere dangling
is 'a dangling link' "$($R -o dangling -- touch ran 2>err; echo $?)" 1
check 'each before the job, in one line' '[ ! -e ran ] && [ "$(wc -l <err)" = 1 ]'
cat >small.sh <<'E2'
mkdir m && mount -t tmpfs -o size=64k none m || exit 99
head -c 70000 /dev/zero >m/fill 2>/dev/null
"$IOREEL" record -o m/t -- touch ran 2>err1
echo "full $? $(ls m)"
for room in 24576 32768 40000 49152; do	# bytes left for the trace
	rm -rf m/t
	head -c $((65536 - room)) /dev/zero >m/fill
	"$IOREEL" record -o m/t -- sh -c 'cat text | wc -c; exit 7' 2>err2
	echo "status $?"
	"$IOREEL" report m/t >/dev/null 2>&1 && echo loads
	grep -q "LOST\|could not record\|cannot write\|nothing lost" err2 && echo said
done
mount -o remount,ro none m
"$IOREEL" record -o m/u -- touch ran 2>err3
echo "read-only $?"
umount m
E2
if unshare -rm sh -c 'mkdir n && mount -t tmpfs none n' 2>/dev/null; then
	unshare -rm bash small.sh >small 2>&1
	is 'a full disk' "$(sed -n 1p small)" 'full 1 fill'
	is 'a nearly full disk: the job is unchanged' "$(grep -c '^status 7' small)" 4
	is 'and so is its output' "$(grep -c "^$(wc -c <text)\$" small)" 4
	is 'the trace loads and has the losses' \
		"$(grep -c '^loads' small) $(grep -c '^said' small)" '4 4'
	is 'a read-only disk' "$(tail -1 small)" 'read-only 1'
	check 'and the job did not run' '[ ! -e ran ]'
else
	for what in full nearly output loads read-only vain; do
		skip "a small disk: $what" 'no mounts here'
	done
fi
finish
