#!/bin/sh
# SPDX-License-Identifier: MIT
# ioreel load: every event, a reproducible store, no half-written file.
. "$(dirname "$0")/../lib/tap.sh"
GEN=$O/tests/data/gen_trace
TRACE=$TOP/tests/data/trace-1.0

# The events that the generator wrote: call, path, fd, offset, asked, result,
# errno in the order of their ends, with NULL as "-".
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
check 'its events are those that the generator wrote' 'cmp g w'

"$GEN" -k mixed -p 5 -t 3 -n 3000 -w 2 -s 11 -e mixed.tsv mixed.reel
"$GEN" -k mixed -p 3 -t 2 -n 2000 -c -m -s 12 -e one.tsv one.reel
"$GEN" -k loader -p 3 -n 20000 -s 13 -e loader.tsv loader.reel
for t in mixed one loader; do
	"$IOREEL" load -q $t.reel -o $t.db
	got $t.db >g; want $t.tsv >w
	check "$t: forks, dups, seeks, streams and messages resolved as a kernel would" 'cmp g w'
done
is 'the default output is beside the trace' \
	"$("$IOREEL" load mixed.reel/ -q && ls mixed.db)" mixed.db
check 'of the working directory, and of the one above it: by its own name, beside it' '
	mkdir -p there/in.reel && cp -R mixed.reel/. there/in.reel && mkdir there/in.reel/sub && (
	cd there/in.reel && "$IOREEL" load -q . && cmp ../in.db ../../mixed.db && rm ../in.db &&
	cd sub && "$IOREEL" load -q ../ && cmp ../../in.db ../../../mixed.db && ! ls -a .. . | grep "db$")'
cp mixed.db first.db
check 'a store is replaced, and the same trace gives the same bytes' \
	'"$IOREEL" load -q mixed.reel && cmp mixed.db first.db'
cp -r mixed.reel moved.reel
check 'so does its copy in another directory' '"$IOREEL" load -q moved.reel && cmp moved.db first.db'
check 'the store is smaller than 8 bytes per event of a loading job' \
	'"$GEN" -k loader -p 2 -n 200000 big.reel && "$IOREEL" load -q big.reel &&
	[ $(stat -c %s big.db) -lt $((8 * $(sql big.db "SELECT events FROM run"))) ]'
is 'pages are small in a small store, large in a large one' \
	"$(sql mixed.db 'PRAGMA page_size') $(sql big.db 'PRAGMA page_size')" '512 4096'
check 'a trace as RUN is loaded into a temporary store' \
	'sql mixed.reel "SELECT events FROM run" >n1; sql mixed.db "SELECT events FROM run" >n2;
	cmp n1 n2 && ! ls | grep tmp'

# Refused input.
fails() { "$IOREEL" load "$@" 2>err; [ $? = 1 ] && [ $(wc -l <err) = 1 ]; }
check 'no such directory' 'fails nowhere -o x.db && grep -q "cannot load .nowhere.: No such file" err'
mkdir empty; echo hello >notes.txt
check 'an empty directory is not a trace' 'fails empty && grep -q "is not a trace" err && [ ! -e empty.db ]'
mkdir bare; echo '{"command": ["true"], "exit_status": 0}' >bare/job.json
check 'a trace without logs is refused' \
	'fails bare && grep -q "no process of the job left a log" err && [ ! -e bare.db ]'
mkdir other; echo hello >other/notes.txt; mkdir other/windows
check 'a directory without job.json and logs is not a trace' 'fails other && grep -q "is not a trace" err'
ioreel record -q -o nothing.reel -- true
check 'a recorded job without I/O is refused' \
	'fails nothing.reel && grep -q "no process of the job left a log" err && [ ! -e nothing.db ]'

# Logs of another user: "permission denied", not damage.
cp -r mixed.reel denied.reel; cp -r mixed.reel partly.reel; cp -r mixed.reel job.reel
one=$(ls partly.reel/*.log | head -1)
chmod -R a+rX "$T" && chmod a+rwx "$T"
chmod 0 denied.reel/*.log denied.reel/windows/* "$one" job.reel/job.json
as_other() { "$@"; }
if [ "$(id -u)" = 0 ]; then
	as_other() { setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; }
fi
if ! as_other "$IOREEL" load -q -o other.db mixed.reel; then
	skip 'logs of another user' 'no other user can run ioreel'
else
	for verb in "load -q -o denied.db" report; do
		as_other "$IOREEL" $verb denied.reel >out 2>err
		check "${verb%% *}: logs of another user are permission denied" \
			'[ '$?' = 1 ] && [ $(wc -l <err) = 1 ] && [ ! -e denied.db ] &&
			grep -q "denied.reel.: Permission denied$" err || { cat err out; false; }'
	done
	as_other "$IOREEL" load -q -o partly.db partly.reel
	is 'one unreadable log: the others are loaded, and it is counted' \
		"$(sql partly.db "SELECT reason, unit, count FROM loss WHERE reason IN
			('denied', 'damaged', 'unreadable')")" "$(printf 'denied\tfiles\t1')"
	check 'the report shows it above the numbers, not as damage' \
		'as_other "$IOREEL" report partly.reel >out; grep -q "^incomplete: .*permission denied" out &&
		grep -q "^permission denied: 1 file of the trace could not be opened" out &&
		! grep -q damaged out && as_other "$IOREEL" report --json partly.reel |
		grep -q "\"complete\": false" || { cat out; false; }'
	as_other "$IOREEL" load -q -o job.db job.reel
	is 'an unreadable job.json is counted, too' \
		"$(sql job.db "SELECT reason, unit, count FROM loss WHERE reason IN
			('denied', 'damaged', 'unreadable')")" "$(printf 'denied\tfiles\t1')"
fi
check 'a file is not a trace' 'fails notes.txt && grep -q "is not a trace" err'
check 'a file that is not a store is not replaced' \
	'fails mixed.reel -o notes.txt && grep -q hello notes.txt'
check 'a missing output directory' 'fails mixed.reel -o no/x.db'
check 'two traces: usage' '"$IOREEL" load mixed.reel one.reel 2>err; [ $? = 2 ] && grep -q one.reel err'
check 'none: usage' '"$IOREEL" load 2>err; [ $? = 2 ]'
check 'a name full of control characters stays one line' \
	'fails "$(printf "a\nb\033c")"'

# A full disk or an interrupted load leaves the old store and no temporary file.
cp first.db keep.db
if { sh -c 'ulimit -f 20 && "$IOREEL" load -q big.reel -o full.db'; } 2>err; then
	skip 'a store that does not fit' 'file size limit has no effect'
else
	check 'a store that does not fit leaves nothing' '! ls | grep -q "full.db"'
fi
"$GEN" -k loader -p 2 -n 2000000 long.reel
for sig in INT TERM; do
	# a shell starts background jobs with SIGINT ignored; try again if the
	# load ends before the signal, on a busy machine
	for try in 1 2 3 4 5; do
		cp first.db keep.db
		env --default-signal "$IOREEL" load -q long.reel -o keep.db & pid=$!
		while ! ls keep.db.tmp.* >/dev/null 2>&1 &&
			kill -0 $pid 2>/dev/null; do
			sleep 0.01
		done
		{ kill -$sig $pid; wait $pid; } 2>/dev/null || break
	done
	check "SIG$sig: the old store remains, without a temporary file" \
		'cmp keep.db first.db && ! ls | grep tmp'
done
finish
