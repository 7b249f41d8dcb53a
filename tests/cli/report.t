#!/bin/sh
# SPDX-License-Identifier: MIT
# ioreel report: the screen, the sections, the document; figures against an
# independent count over the events.
. "$(dirname "$0")/../lib/tap.sh"
trace=$TOP/tests/data/trace-1.0

check 'a trace is reported' 'ioreel report "$trace" >screen'
check 'the screen fits: 100 columns' \
	'! LC_ALL=C tr -d "\200-\277" <screen | grep -qE "^.{101}"'
check 'the screen fits: 50 lines' 'test $(wc -l <screen) -le 50'
check 'completeness is in the first three lines' \
	'head -3 screen | grep -q "complete: .*clock error"'
check 'there is a verdict and advice with a code' \
	'grep -qE "^  [A-Z]+(-[A-Z]+)+ " screen'
check 'no terminal, no escapes and no bars' '! grep -q "$(printf "\033")" screen &&
	! grep -q "█" screen'
check 'the report is the same twice' \
	'ioreel report "$trace" >again && cmp screen again'
check 'a store gives the same report as its trace' 'ioreel load "$trace" -o run.db &&
	ioreel report run.db >again && sed "\$d" screen >a && sed "\$d" again >b &&
	cmp a b'
check 'ASCII where the locale is' \
	'! LC_ALL=C ioreel report run.db | LC_ALL=C grep -q "[^ -~]"'

for section in files steps ranks time losses; do
	check "--$section prints" "ioreel report --$section run.db >out && test -s out"
done
check 'control characters of a file name do not reach the terminal' \
	'! ioreel report --files run.db | LC_ALL=C grep -q "$(printf "[\001-\010\013-\037]")"'

check 'a full disk is one message with the reason' \
	'for o in --files --json; do ! ioreel report $o run.db >/dev/full 2>e &&
		test $(wc -l <e) = 1 && grep -q "standard output: No space left" e || exit 1
	done'
check 'a closed pipe is no failure' \
	'(trap "" PIPE; { ioreel report --json run.db; echo $? >status; } | :) 2>e
	 test ! -s e && test $(cat status) = 0'
if command -v script >/dev/null; then
	check 'sentences are broken where the terminal ends' \
		'NO_COLOR=1 TERM=xterm script -qc "stty cols 60; ioreel report run.db" tty </dev/null >&2 &&
		tr -d "\200-\277\r" <tty | awk "/^complete:/ { n = 5 }
			n && n-- && length > 60 { exit 1 } END { exit !NR }"'
else
	skip 'sentences are broken where the terminal ends' 'no script(1)'
fi

if python3 -c 'import sqlite3' 2>/dev/null; then
	check 'shares of sums that no number holds are still shares' \
		'cp run.db far.db && python3 -c "import sqlite3
c = sqlite3.connect(\"far.db\")
c.execute(\"UPDATE transfer_bin SET bytes = 1 << 62\")
c.commit()" && ioreel report far.db >out && sed -n "/^Read sizes/,/^\$/s/ %.*//p" out |
			awk "{ all += \$NF } END { exit all < 90 }"'
else
	skip 'shares of sums that no number holds are still shares' 'no sqlite3 in Python'
fi

if python3 -c 'import sqlite3' 2>/dev/null; then
	check 'a single host has no column' \
		'! ioreel report --ranks run.db | grep -q " host"'
	cp run.db hosts.db
	python3 - <<-'PY'
	import sqlite3
	c = sqlite3.connect("hosts.db")
	c.execute("INSERT INTO host VALUES (77, 'far away', 'x')")
	c.execute("UPDATE process SET host_id = 77")
	c.commit()
	PY
	check 'several hosts: each process names its host' \
		'ioreel report --ranks hosts.db >out &&
		[ "$(grep -c "  far away$" out)" -gt 1 ] &&
		ioreel report --json hosts.db | tr -d " \n" |
			grep -q "\"hosts\":\[.*\"faraway\".*\"host_id\":77"'
else
	skip 'hosts' 'no sqlite3 in Python'
fi

if command -v python3 >/dev/null; then
	head -c 100000 /dev/zero >mapped
	python=$(python3 -c 'import sys; print(sys.executable)')
	ioreel record -q -o mapped.reel -- "$python" -c 'import mmap
with open("mapped", "r+b", 0) as f:
    f.read(1000)
    with mmap.mmap(f.fileno(), 0) as m:
        m[50000]'
	check 'bytes through mappings are reported apart from bytes of reads' '
		ioreel report mapped.reel >out && cp out mapped.out &&
		grep -q "of the bytes read.* went through mappings, at most" out && grep -qE "^  read +1 +(≤|<)[0-9]" out &&
		grep -qE "^  read .* 1,000 B each .* 1$" out'
	check 'the document has them too' 'ioreel report --json mapped.reel >x.json &&
		python3 -c "import json
d = json.load(open(\"x.json\"))
assert d[\"totals\"][\"read_bytes\"] == 1000 + d[\"mapped\"][\"read_bytes\"] > 1000"'
	ioreel record -q -o saves.reel -- "$python" -c 'import ioreel, time
for n in range(3):
    with ioreel.span("checkpoint", n), ioreel.span("checkpoint", n):
        open("saved", "w").write("x")
        time.sleep(0.1)'
	check 'a checkpoint within a checkpoint is part of it' '
		ioreel report saves.reel >out &&
		grep -q "CHECKPOINT   3 checkpoints take" out'
	ioreel record -q -o both.reel -- "$python" -c 'import ioreel
for name in "TensorFlow 2.21.0", "Keras 3.15.1", "PyTorch 2.13.0", "TensorFlow 2.21.0":
    ioreel.note("framework", name)'
	check 'a program of PyTorch that imports TensorFlow too has both' '
		ioreel report both.reel | grep -q "· TensorFlow 2.21.0, PyTorch 2.13.0 ·"'
	# A loader starts its workers before its first fetch.
	ioreel record -q -o epochs.reel -- "$python" -c 'import ioreel, os, time
for epoch in range(3):
    with ioreel.span("epoch", epoch):
        time.sleep(0.3)
        worker = os.fork()
        if not worker:
            ioreel.note("role", "worker")
            with ioreel.span("preprocess"):
                open("mapped").read(10)
            os._exit(0)
        os.waitpid(worker, 0)
        for step in ioreel.steps(range(2)):
            pass'
	check 'EPOCH-START: epochs start slowly, before their first fetch' '
		ioreel report epochs.reel >out &&
		grep -q "EPOCH-START  2 epochs after the first take" out &&
		grep -q "one loader for all epochs" out'
	# One worker of each pass makes no batch; those of the first pass end
	# when the second has its own, and the third keeps those.
	cat >pool.py <<-'PY'
	import ioreel, os, sys, time
	def worker(batches):
	    ready, tell = os.pipe()
	    stop, say = os.pipe()
	    pid = os.fork()
	    if not pid:
	        ioreel.note("role", "worker")
	        for i in range(batches):
	            with ioreel.span("preprocess"):
	                open("mapped").read(10)
	        os.write(tell, b"x")
	        os.read(stop, 1)
	        os._exit(0)
	    os.read(ready, 1)
	    return pid, say
	def workers(n):
	    return [worker(min(i, 1)) for i in range(n)]
	old = []
	for epoch, n in enumerate(map(int, sys.argv[2:])):
	    early = workers(n) if sys.argv[1] == "early" else []
	    with ioreel.span("epoch", epoch):
	        time.sleep(0.3)
	        new = early or workers(n)
	        late = old if sys.argv[1] == "late" else []
	        for pid, say in old if new and not late else []:
	            os.write(say, b"x")
	            os.waitpid(pid, 0)
	        old = new or old
	        for step in ioreel.steps(range(6 if sys.argv[1] == "late" else 2)):
	            while step == 1 and late:
	                pid, say = late.pop()
	                os.write(say, b"x")
	                os.waitpid(pid, 0)
	for pid, say in old:
	    os.write(say, b"x")
	PY
	ioreel record -q -o grow.reel -- "$python" pool.py within 2 4 0
	check 'the number of workers is the configured one' '
		ioreel report grow.reel >out && grep -q " 1 rank, 2-4 loader workers " out'
	check 'one pass restarted its workers' '
		ioreel report --ranks grow.reel | grep -qE "^ +0 +6 .* 4 +[0-9.]+ %" &&
		grep -q "EPOCH-START  2 epochs" out && grep -q "one loader for all epochs" out'
	ioreel record -q -o late.reel -- "$python" pool.py late 2 2 2
	check 'workers that end during the first steps of the next epoch do not count there' '
		ioreel report late.reel >out && grep -q " 1 rank, 2 loader workers " out'
	ioreel record -q -o early.reel -- "$python" pool.py early 2 2
	check 'workers that start before the epoch span belong to its epoch' '
		ioreel report early.reel >out && grep -q " 1 rank, 2 loader workers " out &&
		grep -q "EPOCH-START" out && grep -q "one loader for all epochs" out'
	ioreel record -q -o stay.reel -- "$python" pool.py within 2 0 0
	check 'no advice to keep workers that are kept' '
		ioreel report stay.reel >out && grep -q " 1 rank, 2 loader workers " out &&
		grep -q "EPOCH-START  2 epochs" out && ! grep -q "one loader" out'
	ioreel record -q -o two.reel -- sh -c \
		'"$0" pool.py within 2 0 0 & "$0" pool.py within 2 0 0; wait' "$python"
	check 'the workers of several loops are of each loop' '
		ioreel report two.reel >out && grep -q ", 2 loader workers each " out'
else
	skip 'mappings' 'no python3'
fi

check 'wrong usage is 2 and one line of usage' \
	'ioreel report 2>e; test $? = 2 && test $(wc -l <e) = 2'
check 'a file that is no run is an error that names it' \
	'echo hello >notes.txt; ! ioreel report notes.txt 2>e &&
	grep -q "ioreel report: .notes.txt. is neither a trace nor a store" e'

# Nothing recorded.
mkdir empty
check 'an empty run is a run' \
	'ioreel record -o empty.reel -- true 2>/dev/null; ioreel report empty.reel >out &&
	grep -q "Nothing was recorded" out && grep -q "NO-PROBLEM" out'

# Without anchors: why, and how to get them.
mkdir data
for i in 1 2 3 4 5 6 7 8; do head -c $((i * 5000)) /dev/zero >data/f$i; done
check 'a shell tool gets no advice on steps' \
	'ioreel record -o cat.reel -- cat data/f1 data/f2 data/f3 data/f4 data/f5 \
	data/f6 data/f7 data/f8 >/dev/null 2>&1; ioreel report cat.reel >out &&
	! grep -q "No steps" out && ! grep -q "ioreel.steps" out &&
	! grep -q "Where a step" out'
check 'its reads are counted' 'grep -qE "^  read +16 +180 kB" out'
if [ "$python" ]; then
	check 'a Python program without steps gets advice on how to mark them' '
		grep -q "No steps:" mapped.out && grep -q "ioreel.steps" mapped.out &&
		! grep -q "Where a step" mapped.out'
else
	skip 'a Python program without steps' 'no python3'
fi

# Steps without a fetch, as of a job that fetches inside a graph: their wait is
# unknown, not 0.
check 'the wait of steps without a fetch is unknown' '
	ioreel record -q -o steps.reel -- sh -c "for i in 1 2 3; do
		test -e /ioreel/begin/step/\$i; cat data/f1; test -e /ioreel/end/step
		done; true" >/dev/null &&
	ioreel report steps.reel >out && grep -q "computation is not known" out &&
	grep -qE "^  all +[0-9.]+ .s +100 %" out && grep -q "no fetch was recorded" out &&
	! grep -q "hardly waits" out && ! grep -q NO-PROBLEM out &&
	grep -q "WAIT-UNKNOWN no fetch was recorded for 3 of 3 steps" out &&
	! grep -q "time computing" out'
check 'nor are two fetches the wait of all steps' '
	ioreel record -q -o few.reel -- sh -c "for i in 1 2 3 4 5 6 7 8; do
		test -e /ioreel/begin/step/\$i
		case \$i in [34]) test -e /ioreel/begin/fetch; test -e /ioreel/end/fetch;; esac
		cat data/f1; test -e /ioreel/end/step
		done; true" >/dev/null &&
	ioreel report few.reel >out && grep -q "fetch was recorded for 6 of the 8 steps" out &&
	grep -qE "^  all +[0-9.]+ .s +100 %" out && ! grep -qE "^  fetch |Computing" out'
check 'fetches between the steps are no part of them, and are said' '
	ioreel record -q -o between.reel -- sh -c "for i in 1 2 3 4; do
		test -e /ioreel/begin/fetch; sleep 0.05; test -e /ioreel/end/fetch
		test -e /ioreel/begin/step/\$i; cat data/f1; test -e /ioreel/end/step
		done; true" >/dev/null &&
	ioreel report between.reel | tr "\n" " " | tr -s " " >out &&
	grep -qE "Fetches between the steps take (1[5-9]|[2-9][0-9]).* ms, [4-9].* % of the loop" out'
check 'the table of steps has no wait either' 'ioreel report --steps steps.reel >out &&
	[ $(grep -cE " - +- +- " out) = 3 ]'

check 'failed calls are reported' '
	ioreel record -q -o failed.reel -- cat data/f1 no no no no no no >/dev/null 2>&1
	ioreel report failed.reel >out &&
	grep -qE "^  6 of these calls failed: 6 open(64)? \(ENOENT\)$" out'
check 'and how many of other kinds' '
	cat >kinds.c <<-E
	#include <fcntl.h>
	#include <sys/stat.h>
	#include <unistd.h>
	int main(void)
	{
		char b[8];
		struct stat st;
		for (int i = 0; i < 4; i++)
			open("none", O_RDONLY);
		for (int i = 0; i < 3; i++)
			stat("none", &st);
		for (int i = 0; i < 2; i++)
			unlink("none");
		mkdir("data", 0700);
		rmdir("none");
		return (int)read(open("data", O_RDONLY), b, 8) > 0;
	}
	E
	cc -w -o kinds kinds.c && ioreel record -q -o kinds.reel -- ./kinds &&
	ioreel report kinds.reel >out && tr -s "\\n " " " <out |
	grep -qE "12 of these calls failed: 4 .*\), 3 others [A-Z]"'
check 'one failure in hundreds of calls is not reported' '
	ioreel record -q -o most.reel -- cat data/* data/* data/* data/* no >/dev/null 2>&1
	ioreel report most.reel >out && ! grep "failed" out'

check 'the document is JSON' 'ioreel report --json run.db >run.json'
check 'the document is the same twice' 'ioreel report --json run.db | cmp - run.json'
if [ -n "$IOREEL_ASAN" ]; then
	skip 'a document of many files' 'ASan wants much memory'
else
	"$O/tests/data/gen_trace" -k loader -p 1 -t 1 -n 350000 -f 70000 many &&
	ioreel load -q many -o many.db
	check 'a document of many files is streamed' '
		(ulimit -v 80000; ioreel report --json --files many.db) >many.json &&
		[ $(grep -c "\"path\": \"/data/set" many.json) = \
			$(ioreel sql many.db "SELECT count(*) FROM file" | tail -n 1) ] &&
		python3 -c "import json; json.load(open(\"many.json\"))"'
	rm -rf many many.db many.json
fi

if python3 -c 'from jsonschema import Draft202012Validator' 2>/dev/null; then
	cat >valid.py <<-'PY'
	import json, sys
	from jsonschema import Draft202012Validator as V
	schema = json.load(open(sys.argv[1]))
	V.check_schema(schema)
	errors = list(V(schema).iter_errors(json.load(open(sys.argv[2]))))
	for e in errors[:10]:
	    print(list(e.path), e.message)
	sys.exit(bool(errors))
	PY
	schema=$TOP/schemas/report.schema.json
	check 'the document is valid' 'python3 valid.py "$schema" run.json'
	cat >profile.json <<-'JSON'
	{"traceEvents": [
	{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "pid": 5, "tid": 5, "ts": 0, "dur": 100},
	{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#2", "pid": 5, "tid": 5, "ts": 100, "dur": 100},
	{"ph": "X", "cat": "user_annotation", "name": "enumerate(DataLoader)#_Single.__next__", "pid": 5, "tid": 5, "ts": 100, "dur": 40},
	{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 150, "dur": 40, "args": {"stream": 7, "device": 0}}
	]}
	JSON
	for run in empty.reel cat.reel mapped.reel steps.reel epochs.reel profile.json; do
		check "the document of $run is valid" \
			"ioreel report --json $run >x.json && python3 valid.py '$schema' x.json"
	done
	check 'a document with an extra key is invalid' \
		'sed "s/\"verdict\":/\"verdict2\": 1, &/" run.json >x.json &&
		! python3 valid.py "$schema" x.json'
	check 'a document with a text for a number is invalid' \
		'sed "0,/\"events\": [0-9]*/s//\"events\": \"1\"/" run.json >x.json &&
		! cmp -s x.json run.json && ! python3 valid.py "$schema" x.json'
	check 'a document without a key is invalid' \
		'sed "/\"clock_error_ns\"/d" run.json >x.json &&
		! python3 valid.py "$schema" x.json'
else
	skip 'the document is valid' 'python3-jsonschema is missing'
fi

# The same figures, computed from the events.
cat >recount.py <<'PY'
import json, math, sys
events = json.load(open(sys.argv[1]))
doc = json.load(open(sys.argv[2]))
bad = 0

def same(what, got, want, tolerance=0):
    global bad
    if got is None or abs(got - want) > tolerance * abs(want):
        print(what, 'report', got, 'events', want)
        bad = 1

def union(intervals):
    total, end = 0, None
    for a, b in sorted(intervals):
        if end is None or a > end:
            total += b - a
            end = b
        elif b > end:
            total += b - end
            end = b
    return total

io = [e for e in events if e['kind'] not in ('pipe', 'socket')]
for op in ('read', 'write'):
    ops = [e for e in io if e['call_group'] == op]
    sizes = sorted(e['bytes'] for e in ops if e['errno'] == 0 and e['bytes'] > 0)
    same(op + ' calls', doc['totals'][op + '_calls'], sum(e['calls'] for e in ops))
    same(op + ' bytes', doc['totals'][op + '_bytes'], sum(sizes))
    row = [r for r in doc['transfer_sizes'] if r['op'] == op][0]
    same(op + ' sizes', row['calls'], len(sizes))
    if sizes:
        same(op + ' min', row['min_bytes'], sizes[0])
        same(op + ' max', row['max_bytes'], sizes[-1])
        same(op + ' exact', row['exact'], int(len(set(sizes)) <= 4096))
        for name, p in (('p5', 5), ('p25', 25), ('median', 50), ('p95', 95)):
            want = sizes[max(-(-p * len(sizes) // 100), 1) - 1]
            same(op + ' ' + name, row[name + '_bytes'], want, 0 if row['exact'] else .01)
        row = [r for r in doc['io_time'] if r['op'] == op][0]
        same(op + ' union', row['union_ns'],
             union((e['start_ns'], e['start_ns'] + e['dur_ns']) for e in ops))
same('eof', doc['totals']['eof_reads'],
     sum(e['calls'] for e in io if e['call_group'] == 'read'
         and e['errno'] == 0 and e['bytes'] == 0))
same('errors', doc['totals']['errors'], sum(e['calls'] for e in io if e['errno']))
same('io time', doc['totals']['io_ns'],
     union((e['start_ns'], e['start_ns'] + e['dur_ns']) for e in io))
same('messages', doc['totals']['messages'], sum(e['calls'] for e in events) -
     sum(e['calls'] for e in io))
same('timeline bytes', sum(t['read_bytes'] for t in doc['timeline']),
     doc['totals']['read_bytes'])

# The offset of each access, relative to the end of the access before.
order = {op: dict.fromkeys(('first', 'consecutive', 'sequential', 'random'), 0)
         for op in ('read', 'write')}
last = {}
for e in sorted(io, key=lambda e: (e['start_ns'] + e['dur_ns'])):
    if e['call_group'] not in order or e['errno'] or e['bytes'] <= 0:
        continue
    if e['open_id'] is None or e['offset'] is None:
        last[e['open_id']] = None
        continue
    was = last.get(e['open_id'], -1)
    last[e['open_id']] = e['offset'] + e['bytes']
    if was is None:
        continue
    kind = 'first' if was == -1 else 'consecutive' if was == e['offset'] else \
        'sequential' if e['offset'] > was else 'random'
    order[e['call_group']][kind] += 1
for row in doc['sequentiality']:
    for kind in order[row['op']]:
        same(row['op'] + ' ' + kind, row[kind], order[row['op']][kind])
sys.exit(bad)
PY
if ioreel sql --help >/dev/null 2>&1 && command -v python3 >/dev/null; then
	for run in run.db cat.reel; do
		check "the figures of $run agree with its events" \
			"ioreel sql $run --format json 'SELECT * FROM v_event' >e.json &&
			ioreel report --json $run >r.json && python3 recount.py e.json r.json"
	done
else
	skip 'the figures are those of the events' 'no ioreel sql, or no python3'
fi

check 'the manual shows every option' \
	'for o in json files steps ranks time losses; do
	grep -qF "Fl -$o" "$TOP/man/ioreel-report.1" || exit 1; done'
# A name in a command that the user may copy is one word of the shell.
ioreel record -o 'my run.reel' -- cat run.db 2>err >/dev/null
is 'record quotes a name with a blank in the next command' \
	"$(tail -n 1 err)" "ioreel: next: ioreel report 'my run.reel'"
check 'the report quotes it too' \
	'ioreel report "my run.reel" | grep -q "ioreel sql '"'my run.reel'"'$"'

# Flushes of single lines count with small writes, not with syncs. Whether they
# take time enough for an advice is a matter of the machine: test_advice.
ioreel record -q -o flushed.reel -- awk 'BEGIN {
	for (i = 0; i < 3000; i++) {
		print i >"flushed"
		fflush("flushed")
	}
}'
check 'flushes of single lines are 3,000 small writes and flushes of a stream' 'test "$(ioreel sql --format csv \
	flushed.reel "SELECT w.calls, f.calls FROM v_small_transfer w, v_stream_flush f
	WHERE w.op = '"'write'"'" | tail -1)" = 3000,3000'
check 'no WRITE-FSYNC for them' 'ioreel report flushed.reel >out && ! grep -q WRITE-FSYNC out'

# A process that waits for the lock of another one.
ioreel record -q -o locks.reel -- sh -c 'flock lock sleep 2 & sleep .3; flock lock true; wait'
check 'IO-BOUND tells locks from storage' 'ioreel report locks.reel | tr "\n" " " | tr -s " " >out &&
	grep -q "in calls on locks, which wait for other processes" out &&
	grep -q "Try: locks that are held for less time" out && ! grep -q "Try: storage" out ||
	{ cat out; false; }'

# A database has to sync.
if python3 -c 'import sqlite3' 2>/dev/null; then
	cat >lite.py <<-'PY'
	import sqlite3
	db = sqlite3.connect("lite.sqlite", isolation_level=None)
	db.execute("CREATE TABLE t (x)")
	for i in range(50):
	    db.execute("INSERT INTO t VALUES (1)")
	PY
	ioreel record -q -o lite.reel -- python3 lite.py
	check 'no advice to a database to sync less' '
		ioreel report lite.reel >out && ! grep -q "none for logs" out'
else
	skip 'a database' 'no sqlite3 for python3'
fi
finish
