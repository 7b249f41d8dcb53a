#!/bin/sh
# SPDX-License-Identifier: MIT
# ioreel export: every event and span of a run, in the formats of other programs;
# counts and sums against SQL over v_event and v_span.
. "$(dirname "$0")/../lib/tap.sh"
python3 -c 'import csv, json' 2>/dev/null || skip_all 'no python3'
TRACE=$TOP/tests/data/trace-1.0

cat >job.py <<'PY'
"""Names that formats have to escape, failures, nested and open spans, a fork, threads."""
import ioreel, os, threading
names = ["plain", "new\nline", 'quo"te', "com,ma", "back\\slash", "tab\t\x7f", "é", b"\xff\xfe",
         "cr\r", "#" * 200]
for name in names:
    name = name if isinstance(name, bytes) else name.encode()
    fd = os.open(name, os.O_CREAT | os.O_RDWR)
    os.write(fd, b"x" * 1000)
    os.pread(fd, 500, 100)
    os.pread(fd, 500, 5000)
    os.close(fd)
os.rename(b"plain", b"re\"named\n")
try:
    os.open("missing", os.O_RDONLY)
except OSError:
    pass
def read_all():
    for _ in range(20):
        open("com,ma", "rb").read()
threads = [threading.Thread(target=read_all) for _ in range(3)]
with ioreel.span("epoch", 1):
    for step in ioreel.steps(range(3)):
        with ioreel.span('my "own"\nspan', step):
            read_all()
    for t in threads:
        t.start()
    for t in threads:
        t.join()
pid = os.fork()
if not pid:
    read_all()
    os._exit(0)
os.waitpid(pid, 0)
PY
ioreel record -q -o job.reel -- python3 job.py
cp "$O/tests/data/gen_trace" gen 2>/dev/null
./gen -k mixed -p 5 -t 3 -n 2000 -w 2 -s 11 mixed.reel
cat >check.py <<'PY'
"""check.py RUN FILE FORMAT [FROM TO]: the records of FILE are those of v_event and v_span."""
import collections, csv, json, subprocess, sys

def rows(query):
    out = subprocess.run(["ioreel", "sql", "--format", "json", sys.argv[1], query],
                         stdout=subprocess.PIPE, check=True).stdout
    return json.loads(out)

window = [int(float(s) * 1e9) for s in sys.argv[4:6]] or [-1, 1 << 62]
inside = " WHERE start_ns < %d AND start_ns + dur_ns >= %d" % (window[1], window[0])
events = rows("SELECT * FROM v_event" + inside)
spans = rows("SELECT * FROM v_span" + inside)
assert events, "a test of nothing"

def same(what, got, want):
    if isinstance(got, collections.Counter):
        assert got == want, (what, str(got - want)[:400], str(want - got)[:400])
    assert got == want, (what, str(got)[:400], str(want)[:400])

def escaped(name):
    """As ioreel's JSON has a name that is not UTF-8."""
    if not any("\udc80" <= c <= "\udcff" for c in name):
        return name
    return "".join("\\x%02x" % (ord(c) - 0xdc00) if "\udc80" <= c <= "\udcff" else
                   {"\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}.get(c, c) for c in name)

def key(e, columns):
    return tuple(None if e.get(c) in (None, "") else
                 e[c] if isinstance(e[c], str) else str(e[c]) for c in columns)

EVENT = ("start_ns dur_ns pid tid process_id thread_id call layer call_group path path2 class kind "
         "fd open_id offset asked bytes result errno arg calls").split()

def lines(got):
    """Every field of every event and span, as multisets."""
    cols = EVENT
    a = collections.Counter(key(e, cols) for e in got if e["record"] == "event")
    b = collections.Counter(key(e, cols) for e in events)
    same("events", a, b)
    for e in got:
        e["name"] = e.get("span")
    cols = "start_ns dur_ns pid tid name detail span_id closed".split()
    same("spans", collections.Counter(key(e, cols) for e in got if e["record"] == "span"),
         collections.Counter(key(e, cols) for e in spans))
    ends = [int(e["start_ns"]) + int(e["dur_ns"]) for e in got]
    same("order", ends, sorted(ends))

def chrome(doc):
    """Chrome's format: every event has name, ph, ts, pid, tid; slices of a thread nest."""
    slices, open_pairs, threads, count = collections.defaultdict(list), {}, set(), collections.Counter()
    for e in doc["traceEvents"]:
        for k, kind in ("name", str), ("ph", str), ("ts", (int, float)), ("pid", int), ("tid", int):
            assert isinstance(e.get(k), kind), (k, e)
        assert isinstance(e["args"], dict), e
        count[e["ph"]] += 1
        if e["ph"] == "M":
            assert e["name"] in ("process_name", "thread_name", "process_sort_index"), e
            threads.add((e["pid"], e["tid"]))
            continue
        assert e["ph"] in "Xbe" and (e["ph"] != "X" or not e["name"].startswith("async_")), e
        assert isinstance(e["cat"], str), e
        assert (e["pid"], e["tid"]) in threads and (e["pid"], 0) in threads, e
        if e["ph"] == "X":
            slices[e["pid"], e["tid"]].append((round(e["ts"] * 1000), round(e["dur"] * 1000)))
        else:
            assert "id" in e, e
            pair = (e["cat"], e["id"], e["name"], e["pid"])
            if e["ph"] == "b":
                assert pair not in open_pairs, e
                open_pairs[pair] = e["ts"]
            else:
                assert open_pairs.pop(pair) <= e["ts"], e
    assert not open_pairs, open_pairs
    for thread in slices.values():
        stack = []
        for start, dur in sorted(thread, key=lambda s: (s[0], -s[1])):
            while stack and stack[-1] <= start:
                stack.pop()
            assert not stack or start + dur <= stack[-1], (start, dur, stack)
            stack.append(start + dur)
    done = [e for e in doc["traceEvents"] if e["ph"] in "Xb"]
    calls = [e for e in done if e["cat"] != "span"]
    same("events", len(calls), len(events))
    same("spans", len(done) - len(calls), len(spans))
    same("starts", sorted(round(e["ts"] * 1000) for e in calls), sorted(e["start_ns"] for e in events))
    same("bytes", sum(e["args"].get("bytes", 0) for e in calls), sum(e["bytes"] or 0 for e in events))
    for k in "path", "path2", "offset", "asked", "fd", "bytes":
        same(k, collections.Counter(e["args"].get(k) for e in calls),
             collections.Counter(e[k] if e[k] != -1 or k != "fd" else None for e in events))
    same("failures", sum("errno" in e["args"] for e in calls), sum(e["errno"] != 0 for e in events))
    print(dict(count))

name, form = sys.argv[2:4]
if form == "chrome":
    chrome(json.load(open(name, encoding="utf-8")))
elif form == "jsonl":
    lines([json.loads(line) for line in open(name, encoding="utf-8")])
else:
    text = open(name, encoding="utf-8", errors="surrogateescape", newline="")
    got = list(csv.DictReader(text, strict=True))
    for e in got:
        assert None not in e and None not in e.values(), e
        e["path"], e["path2"] = escaped(e["path"]), escaped(e["path2"])  # CSV has the bytes
    lines(got)
PY

for run in job.reel mixed.reel "$TRACE"; do
	for form in csv jsonl chrome; do
		check "$form of ${run##*/}: counts, sums and fields are those of SQL" \
			'ioreel export --as $form -o out.$form "$run" 2>err && python3 check.py "$run" out.$form $form'
	done
done
check 'a file says what is in it' 'ioreel export --as chrome -o out.json job.reel 2>err &&
	grep -qE "^ioreel export: [0-9,]+ events and spans \(.*\) in out.json: open it in https" err &&
	[ $(wc -l <err) = 1 ]'
check 'standard output has the same and no note' '
	ioreel export --as chrome job.reel 2>err | cmp - out.json && [ ! -s err ]'
ioreel load -q job.reel -o job.db
check 'a store gives the same as its trace' 'ioreel export --as chrome job.db | cmp - out.json'
check 'an older file is replaced as a whole' 'echo old >out.csv &&
	ioreel export --as csv -o out.csv job.db 2>err && ! grep -qx old out.csv && ! ls | grep tmp'

# try again if the export ends before the signal, on a busy machine
./gen -k loader -p 2 -n 500000 long.reel
for sig in INT TERM; do
	for try in 1 2 3 4 5; do
		echo old >keep.csv
		env --default-signal "$IOREEL" export --as csv -o keep.csv long.reel 2>/dev/null & pid=$!
		while [ ! -e keep.csv.tmp.$pid ] && kill -0 $pid 2>/dev/null; do
			sleep 0.01
		done
		{ kill -$sig $pid; wait $pid; } 2>/dev/null || break
	done
	check "SIG$sig: the older file remains, without a temporary file" \
		'grep -qx old keep.csv && ! ls | grep tmp'
done
rm -r long.reel keep.csv

# --- a part of the run ----------------------------------------------------------
./gen -k mixed -p 2 -t 2 -n 3000 -s 5 part.reel
end=$(sql part.reel 'SELECT max(start_ns + dur_ns) / 1e9 FROM v_event')
from=$(python3 -c "print('%.6f' % ($end / 3))"); to=$(python3 -c "print('%.6f' % ($end / 2))")
for form in csv jsonl chrome; do
	check "$form: --from, --to" 'ioreel export --as $form --from $from --to $to -o part.$form part.reel 2>err &&
		python3 check.py part.reel part.$form $form $from $to'
done
check 'a window has fewer records than the run' '[ $(wc -l <part.jsonl) -lt $(ioreel export --as jsonl part.reel | wc -l) ]'
check 'a window with nothing in it is a failure, and no file' '
	ioreel export --as csv --from 5000 -o none.csv part.reel 2>err; [ $? = 1 ] && [ $(wc -l <err) = 1 ] &&
	grep -q "^ioreel export: nothing to export: no event after .*; the events of the run take " err &&
	! ls | grep none'
check 'a window with nothing in it has no header either' '[ -z "$(ioreel export --as csv --from 5000 --to 5001 part.reel 2>err)" ] &&
	grep -q "no event between" err'

# --- operations that overlap ------------------------------------------------------
for name in aio_ops libaio_ops uring_ops; do
	mkdir -p "run.$name"
	(cd "run.$name" && "$IOREEL" record -q -o "../$name.async" -- "$O/tests/shim/async/$name" file >/dev/null 2>&1)
	if [ "$(sql "$name.async" "SELECT count(*) FROM v_event WHERE call GLOB 'async_*'" 2>/dev/null)" -gt 0 ]; then
		check "chrome: asynchronous operations of $name are pairs, all else nests" '
			ioreel export --as chrome -o a.json "$name.async" 2>err &&
			python3 check.py "$name.async" a.json chrome | grep "'"'b'"'"'
	else
		skip "chrome: asynchronous operations of $name" 'none were recorded here'
	fi
done
cat >overlap.py <<'PY'
# A store whose thread has calls that overlap in part: [0,100] in [50,150], and [10,20] in the first.
import ioreel, time
a = ioreel.span("outer"); b = ioreel.span("crossing")
a.__enter__(); open("x", "w").write("x"); time.sleep(0.001); b.__enter__(); open("x", "w").write("x")
a.__exit__(None, None, None); open("x", "w").write("x"); b.__exit__(None, None, None)
PY
ioreel record -q -o cross.reel -- python3 overlap.py
check 'chrome: spans that cross' 'ioreel export --as chrome -o c.json cross.reel 2>err &&
	python3 check.py cross.reel c.json chrome'

# --- errors ----------------------------------------------------------------------
usage() { ioreel export "$@" >out 2>err; [ $? = 2 ] && [ ! -s out ] && [ $(wc -l <err) = 2 ]; }
check 'no format' 'usage job.db && grep -q "no format given: --as csv|jsonl|chrome" err'
check 'a wrong format' 'usage --as xml job.db'
check 'no run, two runs' 'usage --as csv && usage --as csv job.db job.db'
for bad in -1 x 1s '' 1e300 nan; do
	check "--from $bad" 'usage --as csv --from "$bad" job.db'
done
check 'an empty window' 'usage --as csv --from 3 --to 3 job.db && grep -q "empty window: --from 3 is not before --to 3" err &&
	usage --as csv --from 4 --to 3 job.db'
fails() { ioreel export "$@" >out 2>err; [ $? = 1 ] && [ ! -s out ] && [ $(wc -l <err) = 1 ]; }
check 'no such run' 'fails --as csv nowhere && grep -q "^ioreel export: cannot open .nowhere." err'
check 'neither a trace nor a store' 'fails --as csv check.py'
check 'a directory that is not there' 'fails --as csv -o no/dir/x job.db && grep -q "cannot create .no/dir/x.: No such file" err'
check 'a directory in its place' 'mkdir dir; fails --as csv -o dir job.db; ! ls -a dir | grep tmp && ! ls | grep tmp'
check 'a link as output stays, the file that it names is written' 'ioreel export --as csv -o plain.csv job.db && : >real.csv && ln -s real.csv link.csv &&
	ioreel export --as csv -o link.csv job.db && [ -L link.csv ] && cmp plain.csv real.csv && ! ls | grep tmp'
check 'a link to no file is no output, and stays' 'ln -s none.csv dangling.csv; fails --as csv -o dangling.csv job.db &&
	grep -q "cannot create .dangling.csv.: No such file" err && [ -L dangling.csv ]'
check 'a run is not replaced by its export' 'cp job.db same.db; ioreel export --as csv -o same.db same.db 2>err; [ $? = 2 ] &&
	grep -q "it is the run" err && cmp job.db same.db'
if [ -e /dev/full ]; then
	check 'a full disk' 'ioreel export --as csv job.db >/dev/full 2>err; [ $? = 1 ] && [ $(wc -l <err) = 1 ] &&
		grep -q "standard output: No space left" err'
	check 'a device is written to, not replaced' 'ioreel export --as csv -o /dev/full job.db 2>err; [ $? = 1 ] && [ -c /dev/full ] &&
		grep -q "cannot write ./dev/full.: No space left" err'
else
	skip 'a full disk' 'no /dev/full'
fi
check 'a closed pipe is no failure' '
	(trap "" PIPE; { ioreel export --as jsonl mixed.reel; echo $? >status; } | head -1 >out) 2>err
	 [ ! -s err ] && [ $(cat status) = 0 ] && [ $(wc -l <out) = 1 ]'
check 'a damaged store is a failure, and no file' 'cp mixed.reel/../job.db bad.db && python3 -c "
import sqlite3
c = sqlite3.connect(\"bad.db\")
c.execute(\"UPDATE event_block SET data = zeroblob(100)\")
c.commit()" && ! ioreel export --as csv -o bad.csv bad.db 2>err && [ $(wc -l <err) = 1 ] && ! ls | grep bad.csv'
check 'more than viewers cope with is said' '
	./gen -k loader -p 1 -t 1 -n 1100000 -s 2 large.reel &&
	ioreel export --as chrome large.reel 2>err | tail -c 100 | grep -q "}}$" &&
	grep -q "^ioreel export: 1,[0-9,]* events: viewers may not cope with more than a million" err &&
	ioreel export --as csv large.reel 2>err | tail -n 1 >out && [ ! -s err ]'
check 'the manual shows every option' 'for o in as output from to; do
	grep -qE "Fl (o , )?-$o" "$TOP/man/ioreel-export.1" || exit 1; done'
finish
