#!/bin/bash
# SPDX-License-Identifier: MIT
# ioreel record from the outside: status, names, signals, descriptors, the
# summary, and the files left behind if it cannot run the job.
. "$(dirname "$0")/../lib/tap.sh"

unset LD_PRELOAD PYTHONPATH
export PYTHONDONTWRITEBYTECODE=1
export IOREEL_HOOKS=$TOP/preload/python
PY=/usr/bin/python3
[ -x "$PY" ] || PY=$(command -v python3)
R="$IOREEL record"

# --- wrong usage and jobs that cannot start -------------------------------
status() {
	"$@" >out 2>err
	echo $?
}
is 'no command is wrong usage' "$(status $R)" 2
is 'nothing after -- is wrong usage' "$(status $R --)" 2
check 'and shows one line of usage' 'grep -q "^usage: ioreel record" err'
is 'an unknown option is wrong usage' "$(status $R --alll -- true)" 2
check 'and the closest option is suggested' 'grep -q -- "--all" err'
is 'a command that does not exist: 127' "$(status $R -- no-such-program)" 127
is 'and says so in one line' "$(cat err)" \
	"ioreel record: cannot run 'no-such-program': not found in PATH"
check 'and leaves no trace' '[ ! -e no-such-program.reel ]'
is 'a directory as command: 126' "$(status $R -- "$T")" 126
check 'and says so' 'grep -q "it is a directory" err'
echo 'echo hi' >plain
is 'a file without x: 126' "$(status $R -- ./plain)" 126
check 'and says so' 'grep -q "it is not executable" err'
printf '#!/no/such/interpreter\n' >script && chmod +x script
is 'a script without interpreter: 127' "$(status $R -- ./script)" 127
check 'and says so' 'grep -q "its interpreter does not exist" err'
check 'none of them left anything' '! ls -d ./*.reel'

# --- the directory --------------------------------------------------------
mkdir full && touch full/x
is 'a directory with something in it is refused' \
	"$(status $R -o full -- touch ran)" 1
check 'before the job starts' '[ ! -e ran ] && [ -e full/x ]'
is 'a folder that does not exist is an error' \
	"$(status $R -o none/deep -- touch ran)" 1
check 'before the job starts' '[ ! -e ran ] && grep -q "none/deep" err'
is 'a place that takes no directory is an error' \
	"$(status $R -o /proc/x -- touch ran)" 1
check 'before the job starts' '[ ! -e ran ]'
long=$(printf '%0300d' 0)
is 'a name of 300 characters is an error' \
	"$(status $R -o "$long" -- touch ran)" 1
check 'of one line' '[ "$(wc -l <err)" = 1 ] && [ ! -e ran ]'
odd=$(printf 'a\377b\nc')
is 'a name that is not UTF-8, with a newline, works' \
	"$(status $R -o "$odd" -- touch ran)" 0
check 'and is printed in one line' 'grep -q "ioreel report a.xffb.nc$" err'
check 'the trace is private' '[ "$(stat -c %a "$odd")" = 700 ]'
check 'and has no windows left' '[ ! -e "$odd/windows" ] && ls "$odd"/*.log'
mkdir empty
is 'an empty directory is accepted' "$(status $R -o empty -- touch ran)" 0

cat >train.py <<'PY'
import os, sys
d = open("data", "rb", buffering=0)
n = 0
while d.read(1000):
    n += 1
with open("out", "wb", buffering=0) as f:
    f.write(b"x" * 777)
PY
head -c 10000 /dev/zero >data
$R -- $PY -S train.py 2>err1 </dev/null >/dev/null
$R -- $PY -S train.py 2>err2
check 'the trace has the name of the script' '[ -d train.reel ]'
check 'a second one does not overwrite it' '[ -d train.2.reel ]'
check 'processes, bytes and files are counted' \
	'grep -Eq "^ioreel: 1 process, .* in .*; 10.0 kB read, 777 B written in 2 files$" err1'
$R -o mapped.reel -- $PY -S -c 'import mmap; f = open("data", "rb")
sum(mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ)[::4096])' 2>err3
check 'bytes of mappings are an upper bound' 'grep -q "; up to [0-9.]* kB read, 0 B written in 1 file$" err3'
check 'a line reports losses' 'grep -q "^ioreel: nothing lost" err1'
check 'the trace and its size' \
	'grep -Eq "^ioreel: trace train.reel \([0-9.]+ k?B\)$" err1'
is 'the last line is the next command' "$(tail -1 err1)" \
	'ioreel: next: ioreel report train.reel'
$R -q -- $PY -S train.py 2>err3
check '-q prints nothing' '[ ! -s err3 ]'

for i in 1 2 3 4 5 6; do $R -q -- sh -c 'echo x >many' & done
wait
is 'six at once get six directories' "$(ls -d sh*.reel | wc -l)" 6
for i in 1 2 3 4; do $R -q -o one.reel -- true 2>/dev/null && echo ran & done >ran
wait
is 'of four with one directory only one runs' "$(wc -l <ran)" 1
rm -rf sh*.reel ran many

# --- the job is unchanged --------------------------------------------------
is 'the exit status is that of the job' "$(status $R -- sh -c 'exit 42')" 42
check 'and is printed' 'grep -q "^ioreel: sh ended with status 42 after" err'
is 'a signal gives 128 + n' "$(status $R -- sh -c 'kill -9 $$')" 137
check 'and the signal is printed' 'grep -q "^ioreel: sh ended by signal 9 after" err'
is 'no descriptor is added' "$($R -q -- ls /proc/self/fd </dev/null | wc -l)" \
	"$(ls /proc/self/fd </dev/null | wc -l)"
is 'stdin is the job'"'"'s' "$(echo hello | $R -q -- cat)" hello
is 'closed stdout stays closed' \
	"$($R -q -- sh -c 'test -e /proc/self/fd/1; echo $? >&2' 2>&1 >&-)" 1
check 'a closed stderr takes no message into a file' \
	'$R -o c.reel -- true 2>&- && ! grep -rq "ioreel: " c.reel'
bare=$(env -i A=1 PATH="$PATH" /usr/bin/env | sort)
rec=$(env -i A=1 PATH="$PATH" IOREEL_HOOKS="$IOREEL_HOOKS" $R -q -- \
	/usr/bin/env | grep -Ev '^(LD_PRELOAD|PYTHONPATH|IOREEL_[A-Z]*|NVTX_INJECTION64_PATH)=' | sort)
is 'the environment is the job'"'"'s, without HOME too' "$rec" "$bare"
if [ -z "$IOREEL_ASAN" ]; then
	is 'a preloaded library of the user follows ours' \
		"$(LD_PRELOAD=/lib/x86_64-linux-gnu/libdl.so.2 $R -q -- sh -c \
		'echo "$LD_PRELOAD"' 2>/dev/null | sed 's/.*libioreel.so//')" \
		':/lib/x86_64-linux-gnu/libdl.so.2'
else
	skip 'a preloaded library of the user follows ours' 'ASan comes first'
fi
is 'the PYTHONPATH of the user follows ours' \
	"$(PYTHONPATH=/a:/b $R -q -- sh -c 'echo "$PYTHONPATH"')" \
	"$(realpath "$IOREEL_HOOKS"):/a:/b"
is 'SIGCHLD ignored by our parent has no effect' \
	"$(status sh -c "trap '' CHLD; exec $R -q -- sh -c 'exit 7'")" 7
sigs='grep -E "^Sig(Blk|Ign)" /proc/self/status'
is 'mask and dispositions are inherited' \
	"$(sh -c "trap '' INT HUP; exec $R -q -- $sigs")" \
	"$(sh -c "trap '' INT HUP; exec $sigs")"

# --- signals --------------------------------------------------------------
cat >counts.py <<'PY'
import os, signal, sys, time
got = {}
count = open("count", "wb", 0)
def on(sig, frame):
    got[sig] = got.get(sig, 0) + 1
    count.write(b".")
for s in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1, signal.SIGHUP):
    signal.signal(s, on)
open("ready", "w").close()
t = time.time()
while time.time() - t < 120 and not os.path.exists("stop"):
    time.sleep(0.01)
print(sorted((int(k), v) for k, v in got.items()))
PY
# arrived N: wait until the job has counted N signals.
arrived() {
	for _ in $(seq 3000); do
		[ "$(stat -c %s count)" -ge "$1" ] && break
		sleep 0.02
	done
}
# signalled 'kill command': the signals the job counted. $P is ioreel and its group.
signalled() {
	rm -f ready stop
	setsid $R -q -- $PY counts.py >counted &
	P=$!
	for _ in $(seq 3000); do [ -e ready ] && break; sleep 0.02; done
	eval "$1"
	sleep 0.3 # for a duplicate
	touch stop
	wait $P
	cat counted
}
is 'SIGTERM to ioreel reaches the job, once' \
	"$(signalled 'kill -TERM $P; arrived 1')" '[(15, 1)]'
is 'SIGINT to ioreel alone reaches the job, once' \
	"$(signalled 'kill -INT $P; arrived 1')" '[(2, 1)]'
is 'SIGINT to the group reaches the job once' \
	"$(signalled 'kill -INT -$P; arrived 1')" '[(2, 1)]'
is 'SIGTERM to the group reaches the job once' \
	"$(signalled 'kill -TERM -$P; arrived 1')" '[(15, 1)]'
# On a busy machine the sentinel of the group may not run for long.
sentinel() {
	for s in $(grep -lE "^PPid:[[:space:]]$P\$" /proc/[0-9]*/status 2>/dev/null); do
		s=${s%/status}
		grep -q '^job-signals' "$s/cmdline" && echo "${s#/proc/}"
	done
}
is 'also where the sentinel runs late' \
	"$(signalled 's=$(sentinel); kill -STOP $s; kill -TERM -$P; arrived 1; sleep 0.3; kill -CONT $s')" '[(15, 1)]'
is 'different signals do not mix' \
	"$(signalled 'kill -USR1 $P; arrived 1; kill -HUP -$P; arrived 2
	kill -USR1 $P; arrived 3')" \
	'[(1, 1), (10, 2)]'
rm -f ready stop
# A shell starts background commands with SIGINT ignored.
cat >foreground.py <<'PY'
import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.setpgid(0, 0)
os.execv(sys.argv[1], sys.argv[1:])
PY
$PY foreground.py $R -o intr.reel -- sleep 20 2>err &
P=$!
for _ in $(seq 3000); do [ -e intr.reel/job.json ] && break; sleep 0.02; done
sleep 0.2
kill -INT -$P
wait $P
is 'ctrl-C ends the job with status 130' $? 130
check 'and the summary is printed' 'grep -q "sleep ended by signal 2" err'
check 'and job.json is complete' 'grep -q "\"exit_signal\": 2" intr.reel/job.json'
cat >stops.py <<'PY'
import os, signal
os.kill(os.getpid(), signal.SIGSTOP)
print("went on")
PY
$R -q -- $PY stops.py >went &
P=$!
for _ in $(seq 3000); do
	grep -q '^State:.T' /proc/$P/status 2>/dev/null && break
	sleep 0.02
done
check 'ioreel stops when the job stops' 'grep -q "^State:.T" /proc/$P/status'
kill -CONT $P
wait $P
is 'and continues with it' "$(cat went)" 'went on'

# --- processes that outlive the job ----------------------------------------
is 'a killed process keeps its events' \
	"$(status $R -o kill.reel -- $PY -S -c \
	'import os; f = open("data", "rb", 0); f.read(1234); os.kill(os.getpid(), 9)')" 137
check 'in its log' 'grep -q "1.23 kB read" err && [ ! -e kill.reel/windows ]'
$R -o run.reel -- sh -c "$PY -c 'import time; f = open(\"data\", \"rb\", 0); \
f.read(10); open(\"up\", \"w\"); time.sleep(30)' & echo \$! >pid; \
while [ ! -e up ]; do sleep 0.05; done" >out 2>err
check 'a process that still runs is reported' 'grep -q "; 1 process still running" err'
check 'and keeps its window' 'ls run.reel/windows/*.win'
kill "$(cat pid)" 2>/dev/null
if [ -z "$IOREEL_ASAN" ]; then
is 'the inner of two recordings wins' \
	"$(status $R -o outer.reel -- $R -o inner.reel -- $PY train.py)" 0
check 'and only its shim is loaded' \
	'cat inner.reel/*.log | tr "\0" "\n" | grep -aq "^exe=.*/python" &&
	 ! cat outer.reel/*.log | tr "\0" "\n" | grep -aq "^exe=.*/python"'
else
	skip 'the inner of two recordings wins' 'ASan wants to be preloaded first'
	skip 'and only its shim is loaded' 'the same'
fi
check 'job.json is JSON and has the command' \
	'$PY -c "import json; j = json.load(open(\"train.reel/job.json\")); \
	assert j[\"command\"][-1] == \"train.py\" and j[\"exit_status\"] == 0 \
	and j[\"processes\"] == 1 and j[\"host\"][\"cpus\"] > 0"'
OMP_NUM_THREADS=3 OMP_API_KEY=hunter2 AWS_SECRET=hunter2 \
	$R -q -o some.reel -- true
check 'job.json has the relevant environment' \
	'grep -q OMP_NUM_THREADS some.reel/job.json'
check 'and no secret' '! grep -q hunter2 some.reel/job.json'

# --- nothing recorded -----------------------------------------------------
status $R -- env -i $PY train.py >/dev/null
check 'a cleared environment is explained or recorded' \
	'grep -Eq "nothing was recorded: .*LD_PRELOAD|^ioreel: [0-9]+ process" err'
if echo 'int main(void) { return 0; }' >s.c &&
	${CC:-cc} -static -o static s.c 2>/dev/null; then
	status $R -- ./static >/dev/null
	check 'a static binary is named as such' \
		'grep -q "nothing was recorded: ./static. is statically linked\|nothing was recorded: .\./static. is statically linked" err'
else
	skip 'a static binary is named as such' 'no static libc'
fi

# --- the summary and the store agree ---------------------------------------
mkdir dir
cat >tree.py <<'PY'
import os, threading
a = os.open("data", os.O_RDONLY)
os.read(a, 100)
if os.fork() == 0:
    os.read(a, 200)                 # inherited
    b = os.dup(a)
    os.read(b, 300)                 # a dup
    os._exit(0)
os.wait()
d = os.open("dir", os.O_RDONLY | os.O_DIRECTORY)
w = os.open("new", os.O_WRONLY | os.O_CREAT, 0o600, dir_fd=d)
t = threading.Thread(target=lambda: os.write(w, b"x" * 400))
t.start()
t.join()
r, p = os.pipe()
os.write(p, b"x" * 500)             # a pipe, not a file
os.read(r, 500)
os.chdir("dir")
os.read(os.open("./../dir/new", os.O_RDONLY), 1000)
try:
    os.read(os.open("../none", os.O_RDONLY), 1)
except OSError:
    pass
PY
$R -o tree.reel -- $PY -S tree.py </dev/null >/dev/null 2>err
is 'bytes and files through fork, dup, threads, chdir and pipes' \
	"$(sed -n '1s/.*; \([^;]*read.*\)/\1/p' err)" \
	'1.00 kB read, 400 B written in 2 files'
is 'events are those of the store' \
	"$(sed -n '1s/.*, \([0-9,]*\) events.*/\1/p' err | tr -d ,)" \
	"$("$IOREEL" sql tree.reel 'SELECT calls FROM run' --format tsv | tail -1)"

# --- options become the shim's variables ----------------------------------
vars() {
	$R -q "$@" -- sh -c 'env | grep "^IOREEL_[EFMSCP]" | grep -v EXCLUDE | sort | tr "\n" " "'
}
is 'none by default' "$(vars)" ''
is 'each option sets its own' \
	"$(vars --events none --follow-env --complete --mmap faults --stacks=50 --profile-steps 3-7)" \
	'IOREEL_COMPLETE=1 IOREEL_EVENTS=none IOREEL_FOLLOW=1 IOREEL_MMAP=faults IOREEL_PROFILE_STEPS=3-7 IOREEL_STACKS=50 '
is 'steps in two words' "$(vars --events steps 3-7)" 'IOREEL_EVENTS=3-7 '
is '--stacks without a number' "$(vars --stacks)" 'IOREEL_STACKS=1 '
is 'the job'"'"'s own options are not touched' \
	"$($R -q -- echo --events steps 3-7 --stacks)" '--events steps 3-7 --stacks'
is 'a value set by the user stays' "$(IOREEL_EVENTS=none vars)" 'IOREEL_EVENTS=none '

# --- filters --------------------------------------------------------------
mkdir sub && cp data sub/a.bin && cp data sub/b.bin
$R -x 'sub/' -- cat data sub/a.bin sub/b.bin 2>err | cat >out
check '--exclude of a folder' 'grep -q "10.0 kB read, .* in 1 file" err'
$R -x '*' -i '*/a.bin' -- cat data sub/a.bin sub/b.bin 2>err | cat >out
check '--include overrides --exclude' 'grep -q "10.0 kB read, .* in 1 file" err'
is 'a pattern with a newline is wrong usage' \
	"$(status $R -x "$(printf 'a\nb')" -- true)" 2

finish
