#!/bin/sh
# SPDX-License-Identifier: MIT
# ioreel import: rare lines of strace, each in a trace made by hand.
. "$(dirname "$0")/../lib/tap.sh"
unset LD_PRELOAD

import() { rm -f s.db && "$IOREEL" import -q "$@" -o s.db; }
rows() { sql s.db "$1" | tr '\t\n' ' ;'; }

# A thread's execve ends all threads and returns in the first one.
cat >superseded.strace <<'EOF2'
100 1700000000.000000 execve("./j", ["./j"], 0x1 /* 1 var */) = 0 <0.000100>
100 1700000000.001000 openat(AT_FDCWD, "/a", O_RDONLY|O_CLOEXEC) = 3</a> <0.000010>
100 1700000000.002000 clone3({flags=CLONE_VM|CLONE_FILES|CLONE_THREAD, exit_signal=0}, 88) = 101 <0.000010>
100 1700000000.003000 pause( <unfinished ...>
101 1700000000.004000 execve("/bin/k", ["k", "2"], 0x1 /* 1 var */ <unfinished ...>
100 1700000000.004100 <... pause resumed>) = ?
100 1700000000.004200 +++ superseded by execve in pid 101 +++
100 1700000000.004300 <... execve resumed>) = 0 <0.000300>
100 1700000000.005000 openat(AT_FDCWD, "/b", O_RDONLY) = 3</b> <0.000010>
100 1700000000.006000 read(3</b>, "x"..., 100) = 100 <0.000010>
100 1700000000.007000 +++ exited with 0 +++
EOF2
check 'an execve of a thread' 'import superseded.strace'
is 'is no loss' "$(rows 'SELECT reason, count FROM loss')" ''
is 'it has its time, and the new image its name' \
	"$(rows "SELECT path, dur_ns, (SELECT command FROM process) FROM v_event WHERE call = 'execve' AND start_ns > 0")" \
	'/bin/k 300000 k 2;'
is 'one process, whose second thread has ended' \
	"$(rows 'SELECT tid, end_ns, (SELECT count(*) FROM process) FROM thread ORDER BY tid')" \
	'100 7000000 1;101 4200000 1;'
mkdir superseded
sed -n '/^100/s/^100 //p' superseded.strace | sed '/unfinished/d; /pause/d' >superseded/out.100
echo '1700000000.004000 execve("/bin/k", ["k", "2"], 0x1 /* 1 var */ <pid changed to 100 ...>' >superseded/out.101
rows 'SELECT call, path, result, start_ns, dur_ns FROM v_event' >want
import superseded
check 'the same of strace -ff' 'rows "SELECT call, path, result, start_ns, dur_ns FROM v_event" | diff want -'
is 'no loss either' "$(rows 'SELECT reason, count FROM loss')" ''

# A whole file, as cp(1) asks for it.
cat >whole.strace <<'EOF2'
100 1700000000.000000 openat(AT_FDCWD, "/a", O_RDONLY) = 3</a> <0.000010>
100 1700000000.001000 openat(AT_FDCWD, "/b", O_WRONLY|O_CREAT, 0644) = 4</b> <0.000010>
100 1700000000.002000 copy_file_range(3</a>, NULL, 4</b>, NULL, 9223372035781033984, 0) = 500 <0.000010>
100 1700000000.003000 copy_file_range(3</a>, NULL, 4</b>, NULL, 9223372035781033984, 0) = 0 <0.000010>
EOF2
import whole.strace
is 'a copy asks for no more than the kernel copies in a call' \
	"$(rows "SELECT call, asked, bytes FROM v_event WHERE call LIKE 'copy%' ORDER BY start_ns, call")" \
	'copy_file_range 2147479552 500;copy_out 2147479552 500;copy_file_range 2147479552 0;copy_out 2147479552 0;'

# The decimals of a time say how exact it is; calls in one tick come one by one.
cat >ms.strace <<'EOF2'
100 1700000000.001 openat(AT_FDCWD, "/a", O_RDWR) = 3</a> <0.000050>
100 1700000000.001 fsync(3</a>) = 0 <0.000200>
100 1700000000.001 clone(child_stack=NULL, flags=SIGCHLD) = 101 <0.000100>
101 1700000000.001 read(3</a>, "x"..., 10) = 10 <0.000200>
100 1700000000.001 fsync(3</a>) = 0 <0.000500>
100 1700000000.001 fsync(3</a> <unfinished ...>
101 1700000000.002 read(3</a>, "x"..., 20) = 20 <0.000200>
100 1700000000.002 <... fsync resumed>) = 0 <0.000900>
100 1700000000.002 fsync(3</a>) = 0 <0.000300>
EOF2
calls() {
	rows 'SELECT tid, call, start_ns / 1000, dur_ns / 1000 FROM v_event ORDER BY start_ns'
	rows 'SELECT clock_error_ns FROM run'
}
import ms.strace
is 'calls of one millisecond keep their order and durations' "$(calls)" \
	'100 openat 0 50;100 fsync 50 200;101 read 250 200;100 fsync 350 500;100 fsync 850 900;101 read 1000 200;100 fsync 1750 300;1000000;'
clock_error() {
	sed -E "s/^(100|101) 1700000000.00(.)/\\1 $1/; $2" ms.strace >clock.strace
	import clock.strace && rows 'SELECT clock_error_ns FROM run'
}
is 'the clock error is a tick: seconds' "$(clock_error 1700000000)" '1000000000;'
is 'microseconds' "$(clock_error '1700000000.00\2000')" '1000;'
is 'nanoseconds, with durations of microseconds' "$(clock_error '1700000000.00\2000000')" '1000;'
is 'nanoseconds' "$(clock_error '1700000000.00\2000000' 's/>$/000>/')" '1;'
is 'the time of a day' "$(clock_error '10:00:00.00\2')" '1000000;'
is 'of times that are relative, a tick for each of 9 lines' "$(clock_error '0.0001')" '900000;'
is 'durations of milliseconds' "$(clock_error '1700000000.00\2000' 's/...>$/>/')" '1000000;'

# Files that are appended to have an unknown size: they are none that only try a folder.
cat >append.strace <<'EOF2'
100 1700000000.000100 openat(AT_FDCWD, "/d/spill.dat", O_WRONLY|O_CREAT|O_APPEND, 0600) = 3 <0.000050>
100 1700000000.000200 write(3, "x"..., 20000000) = 20000000 <0.000050>
100 1700000000.000300 close(3) = 0 <0.000050>
100 1700000000.000400 unlink("/d/spill.dat") = 0 <0.000050>
100 1700000000.000500 openat(AT_FDCWD, "/d/probe", O_RDWR|O_CREAT|O_EXCL, 0600) = 3 <0.000050>
100 1700000000.000600 write(3, "blat", 4) = 4 <0.000050>
100 1700000000.000700 close(3) = 0 <0.000050>
100 1700000000.000800 unlink("/d/probe") = 0 <0.000050>
100 1700000000.000900 +++ killed by SIGTERM (core dumped) +++
EOF2
import append.strace
is 'a file of appends that is removed is data, a probe of a folder is not' \
	"$(rows 'SELECT path, class, write_bytes FROM v_file ORDER BY path')" \
	'/d/probe system 4;/d/spill.dat data 20000000;'
is 'the signal that killed the first process' "$(rows 'SELECT exit_status, exit_signal FROM run')" ' 15;'

# A clock that was set back does not push the calls behind the ones before.
sed '2s/0000.001/0000.500/' ms.strace >back.strace
import back.strace
is 'a clock that is set back' "$(rows 'SELECT start_ns FROM v_event WHERE dur_ns = 300000')" '1500000;'

# The sum of times that a damaged file has may exceed 64 bits.
cat >centuries.strace <<'EOF2'
100 8500000000.000000 fsync(3</a>) = 0 <8500000000.000000>
100 8500000000.000000 fsync(3</a> <unfinished ...>
100 8500000000.000000 <... fsync resumed>) = 0 <8500000000.000000>
100 8500000000.000000 fsync(3</a>) = 0 <8500000000.000000>
EOF2
check 'times of centuries' 'import centuries.strace'
is 'no duration is negative' "$(rows 'SELECT count(*), min(dur_ns) >= 0 FROM v_event')" '3 1;'
i=0
while [ $i -lt 150 ]; do
	echo '100 99999999.000000 fsync(3</a>) = 0 <8500000000.000000>'
	i=$((i + 1))
done >relative.strace
check 'and of times that are relative' 'import relative.strace'
is 'the same' "$(rows 'SELECT count(*), min(dur_ns) >= 0 FROM v_event')" '150 1;'

# A log for each of two nodes, of which one forks twice at a time: the first line of a
# child stands before the return of its fork.
mkdir nodes
cat >nodes/a.strace <<'EOF2'
200 1700000000.000000 openat(AT_FDCWD, "/a", O_RDONLY) = 3 <0.000010>
EOF2
cat >nodes/b.strace <<'EOF2'
100 1700000000.000000 clone(child_stack=NULL, flags=SIGCHLD) = 101 <0.000010>
100 1700000000.001000 openat(AT_FDCWD, "/b", O_RDONLY) = 3 <0.000010>
101 1700000000.001000 openat(AT_FDCWD, "/c", O_RDONLY) = 3 <0.000010>
100 1700000000.002000 clone(child_stack=NULL, flags=SIGCHLD <unfinished ...>
101 1700000000.002000 clone(child_stack=NULL, flags=SIGCHLD <unfinished ...>
103 1700000000.002100 read(3, "x"..., 1000) = 3 <0.000010>
102 1700000000.002200 read(3, "x"..., 1000) = 2 <0.000010>
100 1700000000.002300 <... clone resumed>) = 102 <0.000200>
101 1700000000.002300 <... clone resumed>) = 103 <0.000200>
EOF2
import nodes
is 'forks at a time, in one of several files' \
	"$(rows "SELECT pid, result, path FROM v_event WHERE call = 'read'")" '103 3 /c;102 2 /b;'

# A clone with CLONE_FILES changes its parent's descriptors, until it has its own.
cat >shared.strace <<'EOF2'
100 1700000000.000000 openat(AT_FDCWD, "/a", O_RDWR) = 3 <0.000010>
100 1700000000.000100 openat(AT_FDCWD, "/b", O_RDWR) = 4 <0.000010>
100 1700000000.000200 openat(AT_FDCWD, "/x", O_RDWR|O_CLOEXEC) = 5 <0.000010>
100 1700000000.001000 clone(child_stack=0x5, flags=CLONE_VM|CLONE_FILES|SIGCHLD) = 101 <0.000010>
101 1700000000.001100 write(3, "x"..., 1) = 1 <0.000010>
101 1700000000.001200 dup2(4, 3) = 3 <0.000010>
101 1700000000.001300 close(4) = 0 <0.000010>
101 1700000000.001400 openat(AT_FDCWD, "/c", O_RDWR) = 4 <0.000010>
101 1700000000.001500 write(3, "x"..., 2) = 2 <0.000010>
100 1700000000.001600 write(3, "x"..., 4) = 4 <0.000010>
100 1700000000.001700 write(4, "x"..., 8) = 8 <0.000010>
101 1700000000.001800 exit_group(0) = ?
101 1700000000.001900 +++ exited with 0 +++
100 1700000000.002000 openat(AT_FDCWD, "/d", O_RDWR) = 6 <0.000010>
EOF2
# Each of these gives the child a table of its own.
while read -r tid call; do
	cat <<-END
	100 1700000000.00${tid}000 clone(child_stack=0x5, flags=CLONE_FILES|SIGCHLD) = $tid <0.000001>
	$tid 1700000000.00${tid}100 $call = 0 <0.000001>
	$tid 1700000000.00${tid}200 close(6) = 0 <0.000001>
	100 1700000000.00${tid}300 write(6, "x"..., 16) = 16 <0.000001>
	$tid 1700000000.00${tid}400 +++ exited with 0 +++
	END
done >>shared.strace <<'EOF2'
301 unshare(CLONE_FS|CLONE_FILES)
302 close_range(7, 9, CLOSE_RANGE_UNSHARE)
303 execve("/bin/true", ["true"], 0x7 /* 3 vars */)
EOF2
import shared.strace
is 'the descriptors of a table that two processes share' \
	"$(rows "SELECT pid, result, coalesce(path, '-') FROM v_event WHERE call = 'write' ORDER BY start_ns")" \
	'101 1 /a;101 2 /b;100 4 -;100 8 -;100 16 /d;100 16 /d;100 16 /d;'

# On a terminal messages can tear the lines on which forks return.
sed -E 's/^([0-9]+)/[pid   \1]/; s/(resumed>)(.*= (10[23]) .*)/\1strace: Process \3 attached\n\2/' nodes/b.strace >torn.strace
import torn.strace
is 'torn returns' "$(rows "SELECT pid, result, path FROM v_event WHERE call = 'read'")$(rows 'SELECT reason FROM loss')" \
	'103 3 /c;102 2 /b;'

# The text of -y says which file a descriptor is when the calls that made it are not
# in the trace. A name that no other file had can be a new name of the same one.
cat >other.strace <<'EOF2'
100 1700000000.000000 openat(AT_FDCWD</d>, "a", O_RDONLY) = 3</d/a> <0.000010>
100 1700000000.001000 openat(AT_FDCWD</d>, "b", O_RDONLY) = 4</d/b> <0.000010>
100 1700000000.002000 clone(child_stack=NULL, flags=SIGCHLD) = 101 <0.000010>
100 1700000000.003000 read(3</d/a>, "x"..., 1) = 1 <0.000010>
100 1700000000.004000 read(3</d/b>, "x"..., 2) = 2 <0.000010>
101 1700000000.005000 read(3</d/a>, "x"..., 3) = 3 <0.000010>
101 1700000000.006000 read(3</d/new>, "x"..., 4) = 4 <0.000010>
100 1700000000.007000 read(4</d/b>(deleted), "x"..., 5) = 5 <0.000010>
100 1700000000.008000 openat(AT_FDCWD</d>, "c", O_RDWR|O_CREAT, 0666) = 5</d/c> <0.000010>
100 1700000000.009000 rename("/d/c", "/d/b") = 0 <0.000010>
100 1700000000.010000 write(5</d/b>, "x"..., 6) = 6 <0.000010>
100 1700000000.011000 write(5</d/b>, "x"..., 7) = 7 <0.000010>
EOF2
import other.strace
is 'the path of a line wins over the open that was seen' \
	"$(rows "SELECT bytes, path, offset FROM v_event WHERE bytes > 0 ORDER BY start_ns")" \
	'1 /d/a 0;2 /d/b ;3 /d/a 1;4 /d/a 4;5 /d/b 0;6 /d/c 0;7 /d/c 6;'

# In another pid namespace a fork returns a number that strace does not use.
cat >namespace.strace <<'EOF2'
100 1700000000.000000 openat(AT_FDCWD, "/a", O_RDONLY) = 3 <0.000010>
100 1700000000.001000 vfork( <unfinished ...>
101 1700000000.002000 read(3, "x"..., 1) = 1 <0.000010>
100 1700000000.003000 <... vfork resumed>) = 2 <0.002000>
100 1700000000.004000 vfork( <unfinished ...>
102 1700000000.005000 read(3, "x"..., 2) = 2 <0.000010>
102 1700000000.006000 +++ exited with 0 +++
100 1700000000.007000 <... vfork resumed>) = 3 <0.003000>
EOF2
import namespace.strace
is 'children of another pid namespace' \
	"$(rows "SELECT pid, parent_id, (SELECT path FROM v_event e WHERE e.process_id = p.process_id) FROM process p")" \
	'100  /a;101 1 /a;102 1 /a;'
# With -t and -ff a child's file begins in the second of the fork.
mkdir coarse
cat >coarse/a.99 <<'EOF'
10:00:00 execve("./a", ["./a"], 0x1 /* 1 var */) = 0 <0.000100>
10:00:00 openat(AT_FDCWD</>, "/d/x", O_RDONLY) = 3</d/x> <0.000010>
10:00:00 clone(child_stack=NULL, flags=SIGCHLD) = 100 <0.000010>
10:00:00 openat(AT_FDCWD</>, "/d/y", O_RDONLY) = 4</d/y> <1.500000>
10:00:01 close(3</d/x>) = 0 <0.000010>
10:00:01 clone(child_stack=NULL, flags=SIGCHLD) = 101 <0.000010>
10:00:01 +++ exited with 0 +++
EOF
cat >coarse/a.100 <<'EOF'
10:00:00 read(3, "a"..., 10) = 10 <0.000010>
10:00:00 +++ exited with 0 +++
EOF
cat >coarse/a.101 <<'EOF'
10:00:01 read(4, "a"..., 20) = 20 <0.000010>
10:00:01 +++ exited with 0 +++
EOF
import coarse
is 'forks of strace -ff -t: the children and their files' \
	"$(rows "SELECT pid, parent_id, path, bytes FROM process LEFT JOIN
		(SELECT process_id, path, bytes FROM v_event WHERE call = 'read') USING (process_id) ORDER BY pid")" \
	'99   ;100 1 /d/x 10;101 1 /d/y 20;'

# A terminal's lines have no pid before there are two processes.
cat >first.out <<'EOF'
1700000000.000000 openat(AT_FDCWD, "/d/x", O_RDONLY) = 3</d/x> <0.000010>
1700000000.000100 clone(child_stack=NULL, flags=SIGCHLD <unfinished ...>
strace: Process 8 attached
[pid     8] 1700000000.000200 read(3</d/x>, "a"..., 10) = 10 <0.000010>
[pid     7] 1700000000.000300 <... clone resumed>) = 8 <0.000200>
[pid     7] 1700000000.000400 read(3</d/x>, "a"..., 20) = 20 <0.000010>
[pid     8] 1700000000.000500 +++ exited with 0 +++
1700000000.000800 vfork( <unfinished ...>
strace: Process 9 attached
[pid     9] 1700000000.000900 read(3</d/x>, "a"..., 30) = 30 <0.000010>
[pid     9] 1700000000.001000 +++ exited with 0 +++
1700000000.001100 <... vfork resumed>) = 9 <0.000300>
1700000000.001200 +++ exited with 0 +++
EOF
import first.out
is 'the children of a process without a pid have it as their parent' \
	"$(rows "SELECT p.pid, u.pid, sum(bytes) FROM process p LEFT JOIN process u ON u.process_id = p.parent_id
		JOIN v_event e ON e.process_id = p.process_id GROUP BY p.pid")$(sql s.db 'SELECT count(*) FROM loss')" \
	'7  20;8 7 10;9 7 30;0'

# On a terminal each new process is said, also within a line.
cat >torn.out <<'EOF'
[pid     7] 1700000000.000100 openat(AT_FDCWD, "/d/x", O_RDONLY) = 3</d/x> <0.000010>
[pid     7] 1700000000.000200 clone(child_stack=NULL, flags=SIGCHLDstrace: Process 8 attached
strace: Process 9 attached
 <unfinished ...>
[pid     8] 1700000000.000300 read(3</d/x>, "a"..., 10) = 10 <0.000010>
[pid     7] 1700000000.000400 <... clone resumed>) = 8 <0.000200>
EOF
import torn.out
is 'a line that two messages tear' \
	"$(sql s.db 'SELECT pid, coalesce(parent_id, 0) FROM process' | tr '\t\n' ' ;')$(sql s.db 'SELECT count(*) FROM loss')" \
	'7 0;8 1;0'

# strace stops the program at each call for 60 us: calls that take no longer cost nothing
# without it, those that take longer do.
traced() {
	awk -v read_us="$1" -v seeks="$2" 'BEGIN {
		at = 1700000000000000
		line("openat(AT_FDCWD, \"/d\", O_RDONLY) = 3</d>", 60)
		for (i = 0; i < 5000; i++) {
			if (i % 50 == 0 && seeks)
				line("lseek(3</d>, 0, SEEK_SET) = 0", 60)
			line("read(3</d>, \"x\"..., 4096) = 4096", read_us)
		}
	}
	function line(call, us) {
		printf "100 %d.%06d %s <0.%06d>\n", at / 1000000, at % 1000000, call, us
		at += us + 40
	}' >traced.strace
	rm -f s.db && "$IOREEL" import -q traced.strace -o s.db && "$IOREEL" report s.db | tr -s ' \n' ' ' >out
}
check 'reads that take as long as a seek' 'traced 60 1 && ! grep -q IO-BOUND out &&
	grep -q "I/O takes 0 ns of the .*, without what strace adds" out'
check 'the report says how long strace stops the program' '
	grep -q "at each call, for about 60.0 .s: 100 % of the times in calls below" out'
check 'reads that take longer count with the rest' 'traced 160 1 && grep -q "IO-BOUND I/O takes 50[0-9] ms" out'
check 'without a cheap call the part of strace is not known' 'traced 60 0 && grep -q IO-BOUND out && ! grep -q "at each call" out'
check 'the document has it' 'traced 160 1 && "$IOREEL" report --json s.db | python3 -c "
import json, sys
t = json.load(sys.stdin)[\"tracer\"]
assert t[\"call_ns\"] == 60000 and 0.37 < t[\"io_share\"] < 0.39, t"'

# close() frees the number before it returns: another thread may have it by then.
cat >reused.strace <<'EOF'
7 1700000000.000000 openat(AT_FDCWD, "/d/old", O_RDWR) = 5 <0.000010>
7 1700000000.000100 write(5, "a"..., 10) = 10 <0.000010>
7 1700000000.000200 clone(child_stack=0x7, flags=CLONE_VM|CLONE_FILES|CLONE_THREAD) = 8 <0.000010>
8 1700000000.000300 openat(AT_FDCWD, "/d/new", O_RDWR <unfinished ...>
7 1700000000.000310 close(5 <unfinished ...>
8 1700000000.000400 <... openat resumed>) = 5 <0.000100>
7 1700000000.000420 <... close resumed>) = 0 <0.000110>
8 1700000000.000500 write(5, "b"..., 20 <unfinished ...>
7 1700000000.000510 dup(5) = 6 <0.000010>
8 1700000000.000600 close(5) = 0 <0.000010>
7 1700000000.000700 openat(AT_FDCWD, "/d/last", O_RDWR) = 5 <0.000010>
8 1700000000.000800 <... write resumed>) = 20 <0.000300>
7 1700000000.000900 write(5, "c"..., 30) = 30 <0.000010>
7 1700000000.001000 write(6, "d"..., 40) = 40 <0.000010>
EOF
mkdir reused
awk '{ tid = $1; sub(/^[0-9]+ /, "") }
	/unfinished/ { sub(/ *<unfinished.*/, ""); head[tid] = $0; next }
	/resumed/ { sub(/.*resumed>/, ""); $0 = head[tid] $0 }
	{ print > "reused/o." tid }' reused.strace
for of in reused.strace reused; do
	import "$of"
	is "a number that another thread has before close() returns: $of" \
		"$(rows "SELECT path, count(*), sum(bytes) FROM v_event GROUP BY path ORDER BY path")" \
		'/d/last 2 30;/d/new 5 60;/d/old 3 10;'
done

# strace -s 0 prints no word of a command.
cat >none.strace <<'EOF'
7 1700000000.000000 execve("/usr/bin/python3", [...], 0x7ffe /* 9 vars */) = 0 <0.000100>
7 1700000000.000200 openat(AT_FDCWD, "/d/x", O_RDONLY) = 3 <0.000010>
EOF
import none.strace
is 'a command without its words is its program' "$(rows 'SELECT name, command FROM run')" 'python3 /usr/bin/python3;'

# Without -t, -tt, -ttt and -r the order of the lines is all that is known of the time.
calls="SELECT pid, call, path, fd, offset, asked, result, errno FROM v_event ORDER BY start_ns, tid"
import reused.strace
"$IOREEL" import -q reused.strace -o timed.db
rows "$calls" >want
sed -E 's/ [0-9.]{17}//' reused.strace >lasting.strace
sed -E 's/ <0[0-9.]*>$//' lasting.strace >timeless.strace
for of in lasting timeless; do
	import $of.strace
	check "a log without times has the calls of one with them: $of" 'rows "$calls" | diff want -'
done
is 'its losses' "$(rows 'SELECT reason, count FROM loss')" 'no_time 10;no_duration 10;'
is 'its clock has no error' "$(rows 'SELECT coalesce(clock_error_ns, "-") FROM run')" '-;'
check 'it has no distances of calls in time' '"$IOREEL" compare timed.db s.db --json | python3 -c "
import json, sys
d = [x for x in json.load(sys.stdin)[\"distributions\"] if x[\"name\"] == \"time between calls\"][0]
assert d[\"calls_a\"] > 0 and d[\"calls_b\"] == 0 and d[\"ks\"] is None, d"'
import lasting.strace
is 'durations alone are kept, one behind the other' "$(rows 'SELECT sum(dur_ns), max(start_ns + dur_ns) / 10000 FROM v_event')" '580000 59;'
check 'and have no share of a run' '"$IOREEL" report s.db | tr -s " \n" " " >out &&
	grep -q "take 580 .s together; their share of the run is not known: they have no times" out &&
	! grep -q NO-PROBLEM out'
# Bare carriage returns are the ends of lines where there are no others.
import reused.strace
rows "$calls" >want
tr '\n' '\r' <reused.strace >returns.strace
import returns.strace
check 'lines that end with bare carriage returns' 'rows "$calls" | diff want -'

# strace -Z leaves out the calls that succeed: no problem of theirs can be known.
cat >failed.strace <<'EOF'
7 1700000000.000200 openat(AT_FDCWD, "/d/x", O_RDONLY) = -1 ENOENT (No such file or directory) <0.000010>
7 1700000000.100300 openat(AT_FDCWD, "/d/y", O_RDONLY) = -1 ENOENT (No such file or directory) <0.000010>
7 1700000000.200400 +++ exited with 0 +++
EOF
import failed.strace
is 'a log of failed calls only' "$(rows 'SELECT reason, unit, count FROM loss')" 'only_failed calls 2;'
check 'is incomplete, and has no advice' '"$IOREEL" report s.db | tr -s " \n" " " >out &&
	grep -q "left out: calls that succeeded: all 2 calls of the log failed" out && ! grep -q NO-PROBLEM out &&
	"$IOREEL" report --json s.db | grep -q "\"complete\": false"'
{ printf '7 1700000000.000000 close(3) = 0 <0.000100>\n' && cat failed.strace; } >some.strace
import some.strace
is 'with one that succeeded it is a log of all calls' "$(rows 'SELECT reason, unit, count FROM loss')" ''
mkdir timeless
cp reused/o.* timeless
sed -i -E 's/^[0-9.]{17} //' timeless/o.*
check 'files of strace -ff without times have no order' '! import timeless 2>err && [ $(wc -l <err) = 1 ] &&
	grep -q "no times, which give the files their order" err && [ ! -e s.db ]'
# A filter leaves calls out, and the log does not name it: 300 small files read whole,
# and waits for a pipe.
filtered() { # the names of the calls that stay; -y or nothing
	awk -v keep="$1" -v y="$2" 'function put(name, text, dur) {
		ns += 100
		if (keep == "" || index(" " keep " ", " " name " "))
			printf "100 1700000000.%06d %s <0.%06d>\n", ns, text, dur
	}
	function fd(path) { return y ? "3<" path ">" : "3" }
	BEGIN {
		put("brk", "brk(NULL) = 0x5000", 5)
		for (i = 0; i < 300; i++) {
			path = "/d/" i
			put("openat", "openat(AT_FDCWD, \"" path "\", O_RDONLY) = " fd(path), 20)
			put("lseek", "lseek(" fd(path) ", 0, SEEK_END) = 900", 1)
			put("lseek", "lseek(" fd(path) ", 100, SEEK_SET) = 100", 1)
			for (j = 0; j < 2; j++)
				put("read", "read(" fd(path) ", \"x\"..., 100) = 100", 20)
			put("close", "close(" fd(path) ") = 0", 1)
			put("pipe2", "pipe2([" (y ? "3<pipe:[7]>, 4<pipe:[7]>" : "3, 4") "], 0) = 0", 1)
			ns += 1000
			put("read", "read(" fd("pipe:[7]") ", \"x\"..., 10) = 10", 1000)
			put("close", "close(" fd("pipe:[7]") ") = 0", 1)
			put("close", "close(" (y ? "4<pipe:[7]>" : "4") ") = 0", 1)
		}
	}' >filtered.strace
	import filtered.strace && "$IOREEL" report s.db | tr -s ' \n' ' ' >out
}
scope() { rows 'SELECT filtered, no_seeks, unnamed FROM v_log_scope'; }
filtered '' ''
is 'a log of all calls lacks nothing' "$(scope)" ''
check 'its opens were checked' 'grep -q "checked: opens" out && ! grep -q "filter:" out'
filtered 'read' ''
is 'reads alone: of files or pipes' "$(scope)" '1 1 900;'
check 'are at most that I/O' 'grep -q "I/O takes at most" out && ! grep -q "IO-BOUND" out'
check 'and prove nothing' \
	'grep -q "checked, of the calls in the log: small reads; a filter may" out'
filtered 'openat read' ''
is 'a number that is never closed is any descriptor' "$(scope)" '1 1 900;'
filtered 'openat read close' ''
is 'one that is closed is none' "$(scope)" '1 1 300;'
check 'so the waits for the pipe are no I/O' '! grep -q "IO-BOUND" out'
filtered 'read' y
is 'a name tells files from pipes' "$(scope)" '1 1 0;'
is 'the JSON says what the log may lack' "$("$IOREEL" report --json s.db | tr -d ' \n' |
	grep -o '"filtered":[a-z]*,"unnamed_calls":[0-9]*')" '"filtered":true,"unnamed_calls":0'
check 'reads of a file are many only in one file' \
	'! grep -q "SMALL-READ" out && grep -q "300 calls on pipes" out'
check 'their order is not known without seeks' 'grep -q " read 600 60.0 kB .*MB/s - 300 " out'
filtered 'openat read' y
is 'nor is it in the tables, from an open on' "$(rows 'SELECT first, unknown, in_order_share IS NULL,
	(SELECT count(*) FROM darshan_sequence), (SELECT group_concat(name || known) FROM v_similarity_vector
		WHERE ordinal IN (10, 11)) FROM v_sequence')" '300 300 1 0 sequential0,consecutive0;'
finish
