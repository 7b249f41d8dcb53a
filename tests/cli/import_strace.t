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
finish
