#!/bin/sh
# SPDX-License-Identifier: MIT
# ioreel import: strace's text in all its forms, beside what ioreel recorded of
# the same run; files of no format, and damaged ones.
. "$(dirname "$0")/../lib/tap.sh"
unset LD_PRELOAD

import() { rm -f s.db && "$IOREEL" import -q "$@" -o s.db; }

# Calls with paths, in the order of their ends.
events() {
	sql "${1:-s.db}" "SELECT c.name, coalesce(f.path, '-'), coalesce(e.fd, '-'),
		coalesce(e.offset, '-'), coalesce(e.asked, '-'), e.result, e.errno
	FROM event e JOIN call c USING (call_id) LEFT JOIN file f USING (file_id)
	ORDER BY e.start_ns + e.dur_ns, e.start_ns"
}

check '--list names the formats and what they lack' \
	'"$IOREEL" import --list >out && grep -q ^strace: out && grep -q "not in it" out'
"$IOREEL" import --as nothing x 2>err
is 'an unknown format is wrong usage' $? 2
check 'and the names are told' 'grep -q "strace" err'
"$IOREEL" import 2>err
is 'so is no file' $? 2
"$IOREEL" import --list x 2>err >out
is 'and a file behind --list' "$? $(cat out)" '2 '

# --- made by hand -----------------------------------------------------------
cat >hand.out <<'EOF'
100 1795245634.100000 execve("/bin/job", ["job", "a b"], 0x7ff /* 3 vars */) = 0 <0.000100>
100 1795245634.101000 openat(AT_FDCWD</w>, "in \"q\"\n,(x)", O_RDONLY|O_CLOEXEC) = 3</w/in \"q\"\n,(x)> <0.000010>
100 1795245634.102000 read(3</w/in \"q\"\n,(x)>, "a)\" = 7 <0.1>\\"..., 4096) = 100 <0.000010>
100 1795245634.103000 clone(child_stack=NULL, flags=CLONE_CHILD_CLEARTID|SIGCHLD <unfinished ...>
101 1795245634.103500 read(3</w/in \"q\"\n,(x)>,  <unfinished ...>
100 1795245634.103600 <... clone resumed>, child_tidptr=0x7f) = 101 <0.000600>
101 1795245634.103900 <... read resumed>"b"..., 50) = 50 <0.000400>
100 1795245634.104000 lseek(3</w/in \"q\"\n,(x)>, 10, SEEK_CUR) = 160 <0.000002>
100 1795245634.105000 openat(AT_FDCWD</w>, "none", O_RDONLY) = -1 ENOENT (No such file or directory) <0.000003>
100 1795245634.106000 open("out", O_WRONLY|O_CREAT|O_APPEND|O_TRUNC, 0644) = 4 <0.000003>
100 1795245634.107000 writev(4, [{iov_base="ab", iov_len=2}, {iov_base="c\"]}"..., iov_len=40}], 2) = 42 <0.000003>
100 1795245634.108000 dup2(4, 1) = 1 <0.000003>
100 1795245634.109000 write(1, "xyz", 3) = 3 <0.000003>
100 1795245634.110000 pread64(3</w/in \"q\"\n,(x)>, ""..., 10, 9000) = 0 <0.000003>
100 1795245634.111000 --- SIGCHLD {si_signo=SIGCHLD, si_code=CLD_EXITED, si_pid=101} ---
this is no line of strace
101 1795245634.112000 +++ exited with 7 +++
100 1795245634.113000 close(3) = 0 <0.000001>
100 1795245634.114000 read(5, 
100 1795245634.115000 exit_group(0) = ?
100 1795245634.116000 +++ exited with 4 +++
EOF
cat >want <<'EOF'
execve|/bin/job|-|-|-|0|0
openat|/w/in "q"?,(x)|3|-|-|3|0
read|/w/in "q"?,(x)|3|0|4096|100|0
read|/w/in "q"?,(x)|3|100|50|50|0
lseek|/w/in "q"?,(x)|3|160|-|160|0
openat|/w/none|-|-|-|-1|2
open|/w/out|4|-|-|4|0
writev|/w/out|4|0|42|42|0
dup2|/w/out|4|-|-|1|0
write|/w/out|1|42|3|3|0
pread|/w/in "q"?,(x)|3|9000|10|0|0
close|/w/in "q"?,(x)|3|-|-|0|0
EOF
check 'a file made by hand' 'import hand.out'
sqlite() { sql s.db "$1"; }
events | tr '\t' '|' | sed 's/\\n/?/' >got
check 'strings, errors, offsets through fork, dup and append' 'diff want got'
is 'what was not understood is counted' \
	"$(sqlite "SELECT reason, unit, count FROM loss" | tr '\t' ' ')" 'not_understood lines 2'
is 'as events lost' "$(sqlite 'SELECT lost FROM run')" 2
is 'processes, parents and ends' \
	"$(sqlite "SELECT pid, coalesce(parent_id, 0), role, ended FROM process" | tr '\t\n' ' ;')" \
	'100 0 main exit;101 1 child exit;'
is 'the command as typed, and the exit status' \
	"$(sqlite 'SELECT command, name, exit_status FROM run' | tr '\t' '|')" "job 'a b'|job|4"
is 'what strace cannot know is NULL' \
	"$(sqlite 'SELECT count(*) FROM process WHERE rank IS NULL')$(sqlite 'SELECT host IS NULL AND framework IS NULL AND wall_ns IS NULL FROM run')" 21
is 'a call that another line interrupts keeps its time' \
	"$(sqlite "SELECT start_ns, dur_ns FROM event WHERE asked = 50" | tr '\t' ' ')" '3500000 400000'

# The same calls under other clocks.
sed 's/ 1795245634\.\([0-9]*\)/ 10:00:00.\1/' hand.out >tt.out
sed 's/ 1795245634\.[0-9]*/ 10:00:00/' hand.out >t.out
awk '{ n = $2; split(n, a, "."); if (n ~ /^17/) { us = a[2] + 0; $2 = sprintf("%9d.%06d", 0, last ? us - last : 0); last = us } print }' \
	hand.out >r.out
sed -E 's/ <[0-9.]+>$//' hand.out >no_T.out
sed -E 's/<\/w[^>]*>//g' hand.out >no_y.out
for f in tt t r no_T; do
	import $f.out
	# Whole seconds give no order by time.
	events | tr '\t' '|' | sed 's/\\n/?/' | sort >got
	check "$f: the same events" 'sort want | diff - got'
done
is 'of times without fractions the error is a second' \
	"$(import t.out && sqlite 'SELECT clock_error_ns, start_real_ns IS NULL FROM run' | tr '\t' ' ')" '1000000000 1'
check 'calls without a duration are counted' \
	'import no_T.out && [ "$(sqlite "SELECT count FROM loss WHERE reason = '"'no_duration'"'")" -gt 5 ]'
is 'without -y offsets are known, and names as far as they were given' \
	"$(import no_y.out && sqlite "SELECT offset, path FROM event JOIN file USING (file_id) WHERE asked = 3" | tr '\t' ' ')" \
	'42 out'
sed 's/ 1795245634\.[0-9]*//' hand.out >none.out
import none.out && events | tr '\t' '|' | sed 's/\\n/?/' | sort >got
check 'a trace without times: the same events' 'sort want | diff - got'
mkdir ff
grep ^100 hand.out | cut -d' ' -f2- >ff/out.100
grep ^101 hand.out | cut -d' ' -f2- >ff/out.101
echo 'not a trace' >ff/README
# Each has its read in one line there.
sed -i '/unfinished/d; s/<\.\.\. clone resumed>/clone(child_stack=NULL, flags=SIGCHLD/; s/1795245634.103600/1795245634.103000/' ff/out.100
printf '%s\n' '1795245634.103500 read(3</w/in \"q\"\n,(x)>, "b"..., 50) = 50 <0.000400>' \
	'1795245634.112000 +++ exited with 7 +++' >ff/out.101
import ff
events | tr '\t' '|' | sed 's/\\n/?/' >got
check 'a folder of strace -ff is merged by time' 'diff want got'
is 'its pids are those of the names' "$(sqlite 'SELECT pid FROM process' | tr '\n' ' ')" '100 101 '
import ff/out.101 ff/out.100
events | tr '\t' '|' | sed 's/\\n/?/' >got
check 'so are files that are named one by one, in any order' 'diff want got'
gzip -k hand.out
check 'gzip is undone' 'import hand.out.gz && events >a && import hand.out && events >b && cmp a b'
cp s.db first.db
check 'the same file gives the same bytes' 'import hand.out && cmp s.db first.db'

cat >resumed.out <<'EOF'
100 1.000 openat(AT_FDCWD, "/a", O_RDONLY) = 3
100 1.001 read(3,  <unfinished ...>
101 1.002 getpid() = 101
100 1.003 <... read resumed>""..., 100) = 100
100 1.004 mmap(NULL, 8192, PROT_READ, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0) = 0x7f
EOF
import resumed.out
is 'without -T no call has a duration, an interrupted one neither' \
	"$(sqlite "SELECT sum(dur_ns), (SELECT count FROM loss WHERE reason = 'no_duration') FROM event" | tr '\t' ' ')" '0 2'
check 'and the report says so' '"$IOREEL" report s.db | grep -q "durations of all calls are not known"'

# The first line of a child stands before the return of its fork.
cat >forks.out <<'EOF'
100 1.000 execve("./j", ["./j"], 0x1 /* 1 var */) = 0 <0.0001>
100 1.001 clone(child_stack=NULL, flags=SIGCHLD) = 101 <0.0001>
101 1.002 openat(AT_FDCWD</w>, "a", O_RDONLY) = 3</w/a> <0.0001>
100 1.003 clone(child_stack=NULL, flags=SIGCHLD) = 102 <0.0001>
102 1.004 openat(AT_FDCWD</w>, "b", O_RDONLY) = 3</w/b> <0.0001>
101 1.005 clone(child_stack=NULL, flags=SIGCHLD <unfinished ...>
102 1.005 clone(child_stack=NULL, flags=SIGCHLD <unfinished ...>
100 1.005 clone3({flags=CLONE_VM|CLONE_FILES|CLONE_THREAD, exit_signal=0}, 88 <unfinished ...>
202 1.006 pread64(3, "x"..., 4096, 0) = 4096 <0.0001>
103 1.006 openat(AT_FDCWD</w>, "c", O_RDONLY) = 3</w/c> <0.0001>
201 1.006 pread64(3, "x"..., 10, 0) = 10 <0.0001>
202 1.007 +++ exited with 0 +++
101 1.008 <... clone resumed>) = 201 <0.0030>
102 1.008 <... clone resumed>) = 202 <0.0030>
100 1.008 <... clone3 resumed>) = 103 <0.0030>
102 1.009 vfork( <unfinished ...>
202 1.010 pread64(3, "x"..., 20, 0) = 20 <0.0001>
202 1.010 +++ exited with 0 +++
102 1.011 <... vfork resumed>) = 202 <0.0010>
101 1.012 clone(child_stack=NULL, flags=SIGCHLD <unfinished ...>
204 1.013 pread64(3, "x"..., 30, 0) = 30 <0.0001>
EOF
import forks.out
is 'forks at a time: each child has its parent' \
	"$(sqlite "SELECT group_concat(p.pid || ' ' || coalesce(u.pid, '-'), ', ') FROM process p
		LEFT JOIN process u ON u.process_id = p.parent_id")" \
	'100 -, 101 100, 102 100, 202 102, 201 101, 202 102, 204 101'
is 'and the open files of its parent' \
	"$(sql s.db "SELECT group_concat(asked || ' ' || path, ', ') FROM v_event WHERE call = 'pread'")" \
	'4096 /w/b, 10 /w/a, 20 /w/b, 30 /w/a'

# With -t all calls of a second have one time; -T tells how long each took.
cat >seconds.out <<'EOF'
10:00:01 openat(AT_FDCWD, "/a", O_RDONLY) = 3 <0.000050>
10:00:01 read(3, ""..., 1000) = 1000 <0.000500>
10:00:01 close(3) = 0 <0.000005>
10:00:01 openat(AT_FDCWD, "/b", O_RDONLY) = 3 <0.000010>
10:00:01 read(3, ""..., 500) = 500 <0.000700>
10:00:01 close(3) = 0 <0.000004>
EOF
import seconds.out
is 'the calls of a second are in the order of their lines' \
	"$(sql s.db "SELECT group_concat(call || ' ' || path || ' ' || (start_ns / 1000), ', ') FROM v_event")" \
	'openat /a 0, read /a 50, close /a 550, openat /b 555, read /b 565, close /b 1265'

# -X verbose has the words of a number behind it; -C ends with a table.
cat >verbose.out <<'EOF'
1795245634.000000 openat(-100 /* AT_FDCWD */, "/a", 577 /* O_WRONLY|O_CREAT|O_TRUNC */, 0644) = 3 <0.000003>
1795245634.100000 openat(-100 /* AT_FDCWD */, "/b", 0 /* O_RDONLY */) = -1 ENOENT (No such file or directory) <0.000003>
1795245634.200000 lseek(3, 5, 2 /* SEEK_END */) = 5 <0.000003>
1795245634.300000 write(3, "abc", 3) = 3 <0.000003>
% time     seconds  usecs/call     calls    errors syscall
------ ----------- ----------- --------- --------- ----------------
 50.00    0.000000           0         2         1 openat
 50.00    0.000000           0         1           write
------ ----------- ----------- --------- --------- ----------------
100.00    0.000000           0         3         1 total
EOF
import verbose.out
is '-X verbose and -C: each call, and nothing lost' \
	"$(sql s.db "SELECT group_concat(call || ' ' || path || ' ' || coalesce(offset, '-') || ' ' || errno, ', ') FROM v_event"
	sql s.db 'SELECT count(*) FROM loss')" "openat /a - 0, openat /b - 2, lseek /a 5 0, write /a 5 0
0"

# --- as RUN -----------------------------------------------------------------
check 'report takes the file' '"$IOREEL" report hand.out >out && grep -q "^job" out && grep -q incomplete out'
check 'so does sql' '[ "$("$IOREEL" sql hand.out "SELECT read_bytes FROM v_summary" | tail -n 1)" = 150 ]'
check 'and compare, a folder too' '"$IOREEL" compare hand.out ff >out && grep -q . out'
is 'the default name stands beside the file' \
	"$(mkdir d && cp hand.out.gz d/monday.out.gz && "$IOREEL" import -q d/monday.out.gz && ls d)" \
	'monday.db
monday.out.gz'

mkdir here && cp hand.out here/job.out
check 'the store of the folder . has the name of the folder' \
	'(cd here && "$IOREEL" import -q .) && [ -e here.db ] && [ "$(ls -A here)" = job.out ]'
ln -s job.out here/latest
ln here/job.out here/twin
import hand.out && events >once
check 'a file that is named twice is read once' 'import hand.out ./hand.out && events | diff once -'
check 'so is one with links beside it' 'import here && events | diff once -'
cp hand.out copy.out
check 'a copy is another file' 'import hand.out copy.out && [ $(events | grep -c ^openat) = $((2 * $(grep -c ^openat once))) ]'
mkdir stores && ln -s stores/real.db link.db
check 'a link to no file is no output, and stays' \
	'! "$IOREEL" import -q hand.out -o link.db 2>err && [ $(wc -l <err) = 1 ] && [ -L link.db ]'
: >stores/real.db
check 'a link as output stays, the file that it names becomes the store' \
	'"$IOREEL" import -q hand.out -o link.db && [ -L link.db ] && [ ! -L stores/real.db ] &&
	[ "$(sql stores/real.db "SELECT count(*) FROM event")" = "$(wc -l <once)" ] && [ "$(ls stores)" = real.db ]'

# --- of no format -----------------------------------------------------------
# refused WHAT FILE: one line, exit status 1, no store, not even a half one.
refused() {
	local rc
	"$IOREEL" import -q "$2" -o no.db 2>err
	rc=$?
	check "refused: $1" "[ $rc = 1 ] && [ \$(wc -l <err) = 1 ] && ! ls no.db* 2>/dev/null"
}
: >empty
refused 'an empty file' empty
refused 'a folder without files' "$(mkdir none && echo none)"
refused 'a store' s.db
check 'with what reads it' 'grep -q "it is a store of ioreel; try: ioreel report s.db" err'
refused 'a trace' "$TOP/tests/data/trace-1.0"
check 'with what loads it' 'grep -q "it is a trace of ioreel; try: ioreel load .*/trace-1.0" err'
head -c 5000 /dev/zero >zeros
refused 'a file of another format' zeros
refused 'a missing file' nowhere
check 'a missing file is named, not the store beside it' \
	'! "$IOREEL" import -q /no/such 2>err && [ "$(cat err)" = "ioreel import: cannot open '"'/no/such'"': No such file or directory" ]'
check 'so is one behind another file' \
	'! "$IOREEL" import -q hand.out nowhere -o no.db 2>err && grep -q "cannot open .nowhere.: No such" err && [ ! -e no.db ]'
if [ "$(id -u)" != 0 ]; then
	cp hand.out secret && chmod 0 secret
	refused 'a file without permission' secret
	check 'with the reason' 'grep -q "secret.: Permission denied" err'
else
	skip 'a file without permission' 'root may read all files'
fi
mkfifo fifo
refused 'a pipe' fifo
cp zeros 'new
line'
refused 'a name with a newline' 'new
line'
head -c 300 hand.out.gz >cut.gz
refused 'compressed data that are cut short' cut.gz
check 'with the place' 'grep -q "cut.gz. is damaged at offset [0-9]*: the compressed data is cut off" err'
check 'one file of a format and one of none' \
	'! "$IOREEL" import -q hand.out zeros -o no.db 2>err && grep -q zeros err && [ ! -e no.db ]'
check 'a file of no format under a name of one' \
	'! "$IOREEL" import -q --as strace zeros -o no.db 2>err && grep -q "no line of strace" err'
check 'a trace that ends within a line' \
	'head -c 1190 hand.out >cut.out && import cut.out && [ "$(sqlite "SELECT sum(count) FROM loss")" -ge 1 ]'
if [ -x "$O/tests/fuzz/fuzz_import" ]; then
	check '300 damaged files' '"$O/tests/fuzz/fuzz_import" 300 1 hand.out'
fi
STRACE=${IOREEL_DATA:+$IOREEL_DATA/strace/out.txt.gz}
if [ -e "$STRACE" ]; then
	import "$STRACE"
	is 'a trace of another machine: bytes by call' \
		"$(sqlite "SELECT name, sum(result) FROM event JOIN call USING (call_id)
			WHERE call_group IN ('read', 'write') GROUP BY name" | tr '\t\n' ' ;')" \
		'pread 525856;read 842;readv 4196;write 1048585;'
	is 'threads and children' \
		"$(sqlite 'SELECT count(*) FROM thread')$(sqlite 'SELECT count(*) FROM process')" 42
	is 'and nothing is lost' "$(sqlite 'SELECT count(*) FROM loss')" 0
fi

# --- beside ioreel's own record of the same run -----------------------------
strace -qq -e trace=none true 2>/dev/null || { echo '# no strace'; finish; }
PY=/usr/bin/python3
[ -x "$PY" ] || PY=$(command -v python3) || { echo '# no python3'; finish; }
export IOREEL_HOOKS="$TOP/preload/python" PYTHONDONTWRITEBYTECODE=1
cat >job.py <<'EOF'
import os, threading
os.mkdir("data")
def work(k):
    fd = os.open("data/w%d" % k, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
    for i in range(20): os.write(fd, b"x" * (1000 + i))
    os.lseek(fd, 100, 0)
    while os.read(fd, 777): pass
    for i in range(5): os.pread(fd, 50, i * 1000)
    os.fsync(fd)
    other = os.dup(fd)
    os.lseek(other, 0, 0)
    os.read(fd, 10); os.read(other, 10)
    os.close(fd); os.close(other)
threads = [threading.Thread(target=work, args=(k,)) for k in range(3)]
[t.start() for t in threads]; [t.join() for t in threads]
fd = os.open("data/w0", os.O_RDONLY)
pid = os.fork()
if not pid:
    os.read(fd, 500)
    os.write(os.open('data/child "q\n<x>', os.O_WRONLY | os.O_CREAT), b"z" * 33)
    os._exit(3)
os.waitpid(pid, 0)
os.read(fd, 100)
log = os.open("data/log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
for i in range(5): os.write(log, b"line\n"); os.lseek(log, 0, 0)
os.rename("data/w1", "data/moved"); os.unlink("data/w2")
os.close(os.open("data/moved", os.O_RDONLY))
try: os.open("data/none", os.O_RDONLY)
except OSError: pass
os.chdir("data"); os.mkdir("sub"); os.link("w0", "sub/l"); os.truncate("w0", 50)
out = os.open("sf", os.O_WRONLY | os.O_CREAT)
os.sendfile(out, fd, 0, 40)
os.writev(out, [b"ab", b"cd"]); os.preadv(fd, [bytearray(10), bytearray(20)], 5)
EOF
# By file, call, offset and outcome: the offset of a read that another process
# shares is left out, for the two orders may differ. openat is open in libc.
counts() {
	sql "$1" "SELECT iif(c.name = 'openat', 'open', c.name), f.path,
		iif(c.call_group IN ('read', 'write'), e.offset, 0),
		iif(c.call_group IN ('read', 'write'), e.asked, 0),
		iif(c.call_group IN ('read', 'write'), e.result, min(e.result, 0)),
		e.errno, sum(e.calls)
	FROM event e JOIN call c USING (call_id) JOIN file f USING (file_id)
	WHERE f.path LIKE '%/data/%' AND c.call_group <> 'stat'
	GROUP BY 1, 2, 3, 4, 5, 6 ORDER BY 2, 1, 3, 4, 5, 6"
}
both() {
	rm -rf data r.reel trace
	mkdir trace
	strace "$@" -y -ttt -T -o trace/out "$IOREEL" record -q -o r.reel -- "$PY" job.py
	"$IOREEL" load -q r.reel -o r.db
	counts r.db >want
}
both -f
import trace/out
counts s.db >got
check 'strace -f: per file and call what ioreel recorded in the same run' \
	'[ $(wc -l <want) -gt 80 ] && diff want got'
is 'with the kinds, classes and sizes of the files' \
	"$(sql s.db "SELECT path, kind, class, size_bytes FROM file WHERE path LIKE '%/data/%'" | sort)" \
	"$(sql r.db "SELECT path, kind, class, size_bytes FROM file WHERE path LIKE '%/data/%'" | sort)"
both -ff
import trace
counts s.db >got
check 'strace -ff: the same' '[ $(wc -l <want) -gt 80 ] && diff want got'
finish
