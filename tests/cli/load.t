#!/bin/sh
# SPDX-License-Identifier: MIT
# ioreel load: all events, the same store again, nothing half written.
. "$(dirname "$0")/../tap.sh"
GEN=$O/tests/data/gen_trace
TRACE=$TOP/tests/data/trace-1.0
sql() { "$IOREEL" sql --format tsv "$@" | tail -n +2; }

# What the generator says it wrote: call, path, fd, offset, asked, result, errno
# in the order of end, with NULL as "-".
want() { LC_ALL=C sort -s -k1,1n -k2,2n "$1" | cut -f1-9; }
got() {
	sql "$1" "SELECT p.pid, t.tid, c.name, coalesce(f.path, '-'),
		coalesce(e.fd, '-'), coalesce(e.offset, '-'),
		coalesce(e.asked, '-'), e.result, e.errno
	FROM event e JOIN call c USING (call_id) JOIN thread t USING (thread_id)
	JOIN process p ON p.process_id = t.process_id
	LEFT JOIN file f USING (file_id)
	ORDER BY p.pid, t.tid, e.start_ns + e.dur_ns"
}

check 'a trace of version 1.0 loads' '"$IOREEL" load "$TRACE" -o a.db 2>err'
check 'with one closing line' '[ $(wc -l <err) = 1 ] && grep -q "^ioreel: .* events in" err'
got a.db >g; want "$TRACE.tsv" >w
check 'and its events are those that were written' 'cmp g w'

"$GEN" -k mixed -p 5 -t 3 -n 3000 -w 2 -s 11 -e mixed.tsv mixed.reel
"$GEN" -k mixed -p 3 -t 2 -n 2000 -c -m -s 12 -e one.tsv one.reel
"$GEN" -k loader -p 3 -n 20000 -s 13 -e loader.tsv loader.reel
for t in mixed one loader; do
	"$IOREEL" load -q $t.reel -o $t.db
	got $t.db >g; want $t.tsv >w
	check "$t: forks, dups, seeks, streams and messages resolved as a kernel would" 'cmp g w'
done
is 'the default name stands beside the trace' \
	"$("$IOREEL" load mixed.reel/ -q && ls mixed.db)" mixed.db
cp mixed.db first.db
check 'a store is replaced, and the same trace gives the same bytes' \
	'"$IOREEL" load -q mixed.reel && cmp mixed.db first.db'
cp -r mixed.reel moved.reel
check 'wherever it lies' '"$IOREEL" load -q moved.reel && cmp moved.db first.db'
check 'the store is smaller than 8 bytes per event of a loading job' \
	'"$GEN" -k loader -p 2 -n 200000 big.reel && "$IOREEL" load -q big.reel &&
	[ $(stat -c %s big.db) -lt $((8 * $(sql big.db "SELECT events FROM run"))) ]'
check 'a trace where a store is wanted is loaded on the way, and leaves nothing' \
	'sql mixed.reel "SELECT events FROM run" >n1; sql mixed.db "SELECT events FROM run" >n2;
	cmp n1 n2 && ! ls | grep tmp'

# Where it must refuse
fails() { "$IOREEL" load "$@" 2>err; [ $? = 1 ] && [ $(wc -l <err) = 1 ]; }
check 'no such directory' 'fails nowhere -o x.db && grep -q "cannot load .nowhere.: No such file" err'
mkdir empty; echo hello >notes.txt
check 'an empty directory is no trace' 'fails empty && grep -q "is not a trace" err && [ ! -e empty.db ]'
check 'a file is no trace' 'fails notes.txt && grep -q "is not a trace" err'
check 'a file that is no store is not replaced' \
	'fails mixed.reel -o notes.txt && grep -q hello notes.txt'
check 'a directory that is not there' 'fails mixed.reel -o no/x.db'
check 'two traces: usage' '"$IOREEL" load mixed.reel one.reel 2>err; [ $? = 2 ] && grep -q one.reel err'
check 'none: usage' '"$IOREEL" load 2>err; [ $? = 2 ]'
check 'a name full of control characters stays one line' \
	'fails "$(printf "a\nb\033c")"'

# A full disk, an interrupted load: nothing is left, the old store stands.
cp first.db keep.db
if { sh -c 'ulimit -f 20 && "$IOREEL" load -q big.reel -o full.db'; } 2>err; then
	skip 'a store that does not fit' 'file size limit has no effect'
else
	check 'a store that does not fit leaves nothing' '! ls | grep -q "full.db"'
fi
"$GEN" -k loader -p 2 -n 2000000 long.reel
for sig in INT TERM; do
	# a shell starts what runs behind it with SIGINT ignored; again, when
	# on a busy machine the load is done before the signal comes
	for try in 1 2 3 4 5; do
		cp first.db keep.db
		env --default-signal "$IOREEL" load -q long.reel -o keep.db & pid=$!
		while ! ls keep.db.tmp.* >/dev/null 2>&1 &&
			kill -0 $pid 2>/dev/null; do
			sleep 0.01
		done
		{ kill -$sig $pid; wait $pid; } 2>/dev/null || break
	done
	check "SIG$sig: the old store stands, no half one is left" \
		'cmp keep.db first.db && ! ls | grep tmp'
done
finish
