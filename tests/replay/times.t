#!/bin/bash
# SPDX-License-Identifier: MIT
# A replay prints the times that it does not keep, and --max-error turns them
# into an exit status; the remaining time follows the job's time, not its calls.
. "$(dirname "$0")/../lib/tap.sh"
unset LD_PRELOAD

# A writer waits for the lock of another program: alone, and with a reader.
python3 -c 'import fcntl' 2>err || skip_all 'no python3'
mkdir work
cat >writer.py <<'E2'
import fcntl, os
fcntl.flock(os.open("work/lock", os.O_RDWR | os.O_CREAT), fcntl.LOCK_EX)
os.write(1, b"hello\n")
E2
flock work/lock sleep 1000 &
holder=$!
"$IOREEL" record -q -o slow.reel python3 -S writer.py >said &
job=$!
sleep 3
kill $(children $holder) $holder
wait $job $holder
flock work/lock sleep 1000 &
holder=$!
"$IOREEL" record -q -o pair.reel \
	sh -c 'python3 -S writer.py | exec cat >work/out' &
job=$!
sleep 3
kill $(children $holder) $holder
wait $job
check 'the job waited for a lock' '[ "$(sql slow.reel "SELECT
	max(dur_ns) > 1000000000 FROM v_event WHERE call = '"'flock'"'")" = 1 ]'
"$IOREEL" replay slow.reel >out 2>err
is 'a different time alone is no error' "$?" 0
check 'a line says that the replay took less time' \
	'cat out; grep -Eq "^time: the replay took [0-9.]+ % less than the job$" out'
check 'a line says that its threads waited less' '
	"$IOREEL" replay pair.reel >out 2>err; cat out
	grep -Eq "^waits: threads waited .* for each other, .* in the job$" out'
"$IOREEL" replay --max-error 5 slow.reel >out 2>err
is '--max-error makes it exit status 3' "$?" 3
check 'one line reports it' 'cat err; [ "$(grep -c "off by .*--max-error 5" err)" = 1 ]'
check 'a difference within --max-error is accepted' '"$IOREEL" replay --max-error 1000 slow.reel >out 2>err'
check '--afap compares no times' \
	'"$IOREEL" replay --afap slow.reel >out 2>err && ! grep -E "^(time|waits)" out'
check '--afap with --max-error is wrong usage' \
	'"$IOREEL" replay --afap --max-error 5 slow.reel 2>err; [ $? = 2 ]'
if [ -x "$O/ioreel-mpi" ]; then
	"$IOREEL" replay slow.reel --plan slow.plan 2>err
	check 'ioreel-mpi replay prints that line, too' '"$O/ioreel-mpi" replay slow.plan box >out 2>err
		cat out; grep -q "^time: .* less" out'
fi

"$IOREEL" record -q -o quick.reel sh -c 'cat work/out'  >said
"$IOREEL" replay quick.reel >out 2>err
check 'a job shorter than a second gets no such line' \
	'cat out; ! grep -E "^(time|waits|depth):" out'

# Two threads with fifty operations in flight each; the replay serializes them.
mkdir files
"$IOREEL" record -q -o async.reel \
	sh -c '"$0" files; sleep 1.2' "$O/tests/replay/job_aio_completion" >said 2>&1
"$IOREEL" replay async.reel >out 2>err
check 'a line reports a different depth' 'cat out err
	grep -Eq "^depth: one asynchronous operation of a thread at a time, [0-9.]+ in the job$" out'

# Few calls in the first seconds, then many.
"$IOREEL" record -q -o uneven.reel sh -c 'cat work/out; sleep 4
	dd if=/dev/zero of=work/many bs=1 count=20000 2>/dev/null' >said
cat >shown.py <<'E2'
import fcntl, os, pty, re, struct, sys, termios
pid, fd = pty.fork()
if pid == 0:
    os.environ["TERM"] = "xterm"
    fcntl.ioctl(2, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 120, 0, 0))
    os.execv(sys.argv[1], sys.argv[1:])
out = b""
while True:
    try:
        part = os.read(fd, 65536)
    except OSError:
        break
    if not part:
        break
    out += part
os.waitpid(pid, 0)
unit = {"ns": 1e-9, "us": 1e-6, "\u00b5s": 1e-6, "ms": 1e-3, "s": 1, "min": 60, "h": 3600}
left = [l.rsplit("  ", 1)[1] for l in out.decode("utf-8", "replace").split("\r")
        if "replaying" in l and " left" in l]
print(len(left))
for l in left:
    print(l.split("\x1b")[0])
E2
if python3 -c 'import pty' 2>err; then
	python3 shown.py "$IOREEL" replay uneven.reel >left 2>err
	check 'the remaining time is shown' 'cat left err; [ "$(head -1 left)" -gt 2 ]'
	check 'it is never minutes for a few seconds' 'cat left
		! grep -E "^[0-9,]{3,} s left|min|h left" left'
fi
finish
