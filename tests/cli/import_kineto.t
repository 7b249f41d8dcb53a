#!/bin/sh
# SPDX-License-Identifier: MIT
# Profiles of PyTorch: files made by hand of each generation, damaged ones, and real
# ones beside a recount in Python.
. "$(dirname "$0")/../lib/tap.sh"
unset LD_PRELOAD
HERE=$TOP/tests/cli

import() { rm -f s.db && "$IOREEL" import -q "$@" -o s.db; }
rows() { sql s.db "$1" | tr '\t\n' ' ;'; }

# Relative times, with their base after the events; a device whose ordinal is a pid
# of the host, and whose stream is a tid of it; names with quotes that are not escaped.
cat >new.json <<'EOF'
{
  "schemaVersion": 1,
  "deviceProperties": [{"id": 0, "name": "a \"GPU\"", "sizes": [1, [2, "]"]]}],
  "distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 4, "pg_config": [{"a": 1}]},
  "traceEvents": [
  {"ph": "M", "name": "process_name", "pid": 5, "tid": 0, "ts": 0, "args": {"name": "python"}},
  {"ph": "X", "cat": "kernel", "name": "gemm<"k", 3>(int)", "pid": 0, "tid": 5, "ts": 110.500, "dur": 20.25, "args": {"stream": 5, "device": 0}},
  {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#7", "pid": 5, "tid": 5, "ts": 100.000, "dur": 100.000},
  {"ph": "X", "cat": "gpu_user_annotation", "name": "ProfilerStep#7", "pid": 0, "tid": 5, "ts": 110.000, "dur": 30},
  {"ph": "X", "cat": "user_annotation", "name": "enumerate(DataLoader)#_Single.__next__", "pid": 5, "tid": 5, "ts": 100.000, "dur": 40.000, "args": {}},
  {"ph": "X", "cat": "user_annotation", "name": "Optimizer.step#SGD.step", "pid": 5, "tid": 5, "ts": 180, "dur": 10},
  {"ph": "X", "cat": "user_annotation", "name": "a range", "pid": 5, "tid": 5, "ts": 141, "dur": 2},
  {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD", "pid": 0, "tid": 5, "ts": 125.000, "dur": 10.000},
  {"ph": "X", "cat": "gpu_memset", "name": "Memset", "pid": 1, "tid": 5, "ts": 190.000, "dur": 20.000},
  {"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 5, "tid": 5, "ts": 150, "dur": 3},
  {"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 5, "tid": 5, "ts": 154, "dur": 3.5},
  {"ph": "X", "cat": "cpu_op", "name": "autograd::engine::evaluate_function: AddBackward0", "pid": 5, "tid": 9, "ts": 160, "dur": 3},
  {"ph": "X", "cat": "cpu_op", "name": "AddBackward0", "pid": 5, "tid": 9, "ts": 161, "dur": 1},
  {"ph": "X", "cat": "cpu_op", "name": "autograd::engine::evaluate_function: MulBackward0", "pid": 5, "tid": 9, "ts": 170, "dur": 5},
  {"ph": "X", "cat": "python_function", "name": "{"device": "cpu", "dtype": "f"}(12): run", "pid": 5, "tid": 5, "ts": 150, "dur": 1,
   "args": {"Python id": 1}},
  {"ph": "X", "cat": "python_function", "name": "torch\cuda\__init__.py(1): _lazy", "pid": 5, "tid": 5, "ts": 150, "dur": 1},
  {"ph": "f", "id": 1, "pid": 0, "tid": 5, "ts": 111, "cat": "ac2g", "name": "ac2g", "bp": "e"},
  {"ph": "X", "cat": "Trace", "ts": 90, "dur": 200, "pid": "Spans", "tid": "PyTorch Profiler", "name": "PyTorch Profiler (0)", "args": {"Op count": 0}}
  ],
  "displayTimeUnit": "ms",
  "baseTimeNanoseconds": 1719853884000000000
}
EOF
check 'a file of relative times' 'import new.json'
is 'spans: names, steps, times from the first' \
	"$(rows "SELECT name, CASE WHEN name IN ('kernel', 'memcpy') THEN '-' ELSE coalesce(detail, '-') END,
		start_ns, dur_ns, tid FROM v_span ORDER BY start_ns, dur_ns DESC")" \
	'step 7 0 100000 5;fetch - 0 40000 5;kernel - 10500 20250 -10000000005;memcpy - 25000 10000 -10000000005;a range - 41000 2000 5;backward - 60000 15000 9;optimizer - 80000 10000 5;memcpy - 90000 20000 -20000000005;'
is 'a kernel has its own name in the record of its detail' \
	"$(rows "SELECT record, module, rank FROM v_span JOIN counter_record ON record_id = detail WHERE v_span.name = 'kernel'")" \
	'gemm<"k", 3>(int) kernel 3;'
"$IOREEL" report s.db >out
check 'the report does not claim that I/O was measured' \
	'grep -q "^imported: no events of I/O, I/O was not measured, 8 spans; clock error -" out &&
	grep -q "^source: new.json (kineto): without files; calls; bytes;" out && ! grep -q complete: out'
is 'counts and times by name' \
	"$(rows "SELECT name, value FROM v_counter WHERE module = 'cpu_op' AND record = 'aten::add' ORDER BY 1")" \
	'COUNT 2;TIME_NS 6500;'
is 'names with bare quotes' \
	"$(sql s.db "SELECT record FROM counter_record WHERE module = 'python_function'" | grep -c -F '{"device": "cpu", "dtype": "f"}(12): run')" 1
is 'absolute time, rank, one process' \
	"$(rows 'SELECT start_real_ns, ranks, pid, rank FROM run, process')" '1719853884000100000 4 5 3;'
is 'the computation of a step is the union of its kernels and copies' \
	"$(rows 'SELECT number, fetch_ns, compute_ns FROM v_step')" '7 40000 34500;'
is 'which the report says' "$(rows 'SELECT compute_source FROM v_overlap')" 'GPU kernels;'
sed '/PyTorch Profiler (0)/i {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#8", "ts": 200, "dur": 100, "pid": 5, "tid": 5},\
	{"ph": "X", "cat": "user_annotation", "name": "enumerate(DataLoader)#_Single.__next__", "ts": 200, "dur": 40, "pid": 5, "tid": 5},' \
	new.json >two.json
import two.json
check 'and no I/O is taken from it' '"$IOREEL" report s.db >out && grep -q INPUT-BOUND out'
import new.json
check 'the report does not say that the loader has no workers' \
	'tr -s " \n" " " <out | grep -q "the import does not show loader workers" && ! grep -q "was seen" out'
is 'I/O that was not measured is not 0' \
	"$("$IOREEL" report --json s.db | python3 -c 'import json, sys
t = json.load(sys.stdin)["totals"]; print(t["files"], t["read_bytes"], t["errors"])')" 'None None None'
is 'nor are its sizes, mappings and fetches of the storage' \
	"$("$IOREEL" report --json s.db | python3 -c 'import json, sys
r = json.load(sys.stdin)
print(r["transfer_sizes"], r["darshan_size_bins"], r["mapped"], r["storage"])')" '[] [] None None'
is 'nor are the counts of files and the bytes of mappings, also in SQL' \
	"$(rows 'SELECT count(m.mappings), count(unknown_bytes), count(mapped_bytes), count(code_opens),
		(SELECT count(*) FROM v_file_count) FROM v_mapped m, v_summary')" '0 0 0 0 0;'
is 'nor have the tables of sizes and rates rows of 0' "$(rows 'SELECT (SELECT count(*) FROM transfer_size)
	+ (SELECT count(*) FROM darshan_size) + (SELECT count(*) FROM call_bandwidth)')" '0;'
is 'loader workers are not known, the ranks are' "$(rows 'SELECT ranks, count(workers) FROM v_report_run')" '4 0;'
is 'nor those of the completeness, and of messages' "$("$IOREEL" report --json s.db | python3 -c 'import json, sys
r = json.load(sys.stdin)
print(r["totals"]["mapped_bytes"], r["totals"]["messages"], r["totals"]["message_bytes"], {v for k, v in r["completeness"].items() if "code" in k or k.endswith("_bytes")})')" \
	'None None None {None}'
is 'nor is that of a step, an epoch, the overlap' \
	"$(rows 'SELECT count(io_ns) + count(hidden_ns) + count(own_io_ns) + count(read_bytes), count(*) FROM v_step
		UNION ALL SELECT count(io_ns) + count(hidden_ns) + count(write_bytes), count(*) FROM v_epoch
		UNION ALL SELECT count(hidden_ns) + count(exposed_ns) + count(own_io_ns), count(*) FROM v_overlap')" \
	'0 1;0 1;0 1;'
check 'the table of steps has no 0 for it' '"$IOREEL" report --steps s.db | tr -s " " | grep -q "34.5 µs - 25.5 µs - - -" ||
	{ "$IOREEL" report --steps s.db; false; }'

# A profile without a schedule: no ProfilerStep.
python3 - >fetches.json <<'EOF'
import json
def event(name, ts, dur, tid=5, cat="user_annotation"):
    return {"ph": "X", "cat": cat, "name": name, "pid": 5, "tid": tid, "ts": ts, "dur": dur}
events = [event("enumerate(DataLoader)#_X.__next__", 100 * i + 7, 20 + 5 * i) for i in (2, 0, 3, 1)]
events += [event("enumerate(DataLoader)#_X.__next__", 150, 1, 6), event("aten::add", 180, 30, 5, "cpu_op")]
print(json.dumps({"schemaVersion": 1, "traceEvents": events}))
EOF
import fetches.json
is 'without ProfilerStep a step lasts from fetch to fetch' \
	"$(rows 'SELECT number, start_ns, dur_ns, fetch_ns FROM v_step')" \
	'0 0 100000 20000;1 100000 100000 25000;2 200000 100000 30000;'
"$IOREEL" report s.db | tr -s ' \n' ' ' >out
check 'the report says so, and does not claim that there were no workers' \
	'grep -q "steps (each begins with a fetch)" out && grep -q INPUT-BOUND out &&
	grep -q "does not show loader workers" out && ! grep -q "was seen" out'

# Two epochs of two steps, each with a last fetch without a batch; after the first an
# evaluation of two batches; before them a batch that was only looked at.
python3 - >epochs.json <<'EOF'
import json
events, t = [], 1000
def event(name, dur, cat="user_annotation"):
    global t
    events.append({"ph": "X", "cat": cat, "name": name, "pid": 5, "tid": 5, "ts": t, "dur": dur})
    t += dur
def fetch(dur=20):
    event("enumerate(DataLoader)#_X.__next__", dur)
def step():
    fetch()
    event("aten::mm", 30, "cpu_op")
    event("autograd::engine::evaluate_function: MmBackward0", 40, "cpu_op")
    event("Optimizer.step#SGD.step", 10)
fetch()
step(); step(); fetch(1)
fetch(); event("aten::mm", 30, "cpu_op"); fetch(); event("aten::mm", 30, "cpu_op"); fetch(1)
step(); step(); fetch(1)
event("aten::mm", 500, "cpu_op")
print(json.dumps({"schemaVersion": 1, "traceEvents": events}))
EOF
import epochs.json
is 'without ProfilerStep a step trains; the end of an epoch is none' \
	"$(rows 'SELECT number, start_ns, dur_ns, fetch_ns FROM v_step')" \
	'0 20000 100000 20000;1 120000 100000 20000;2 322000 100000 20000;3 422000 100000 20000;'
is 'nor is an evaluation' "$(rows "SELECT start_ns, dur_ns FROM v_span WHERE name = 'eval'")" '221000 101000;'
is 'fetches that found the end have no batch' \
	"$(rows "SELECT start_ns FROM v_span WHERE name = 'fetch' AND detail = -2")" '220000;522000;'

# A schedule goes on in the evaluations of two and of one batch; the last may be a step.
python3 - >scheduled.json <<'EOF'
import json
events, t = [], 1000
for number, trains in enumerate([1, 1, 0, 0, 1, 0, 1]):
    inside = ["autograd::engine::evaluate_function: MmBackward0", "aten::mm"] if trains else ["aten::mm"]
    for name, cat, start, dur in [("ProfilerStep#%d" % number, "user_annotation", 0, 100)] + [
            (name, "cpu_op", 20, 50) for name in inside]:
        events.append({"ph": "X", "cat": cat, "name": name, "pid": 5, "tid": 5, "ts": t + start, "dur": dur})
    t += 100
print(json.dumps({"schemaVersion": 1, "traceEvents": events}))
EOF
import scheduled.json
is 'ProfilerSteps that do not train are an evaluation' \
	"$(rows "SELECT name, detail, start_ns, dur_ns FROM v_span WHERE name IN ('step', 'eval') ORDER BY start_ns")" \
	'step 0 0 100000;step 1 100000 100000;eval 0 200000 200000;step 4 400000 100000;step 5 500000 100000;step 6 600000 100000;'

# The names of the fetches say whether the loader has workers.
loader() {
	sed "s/_X.__next__/_$1DataLoaderIter.__next__/" fetches.json >loader.json
	"$IOREEL" report loader.json | tr -s ' \n' ' ' >out
}
loader MultiProcessing
check 'a loader with workers is not advised to have some' \
	'grep -q "the loader has worker processes, which the import does not show" out && ! grep -q "num_workers=2" out'
loader SingleProcess
check 'a loader without workers is' 'grep -q "no loader worker was seen" out && grep -q "num_workers=2" out'
sed 's/"schemaVersion": 1,/&"distributedInfo": {"rank": 3, "world_size": 128},/' fetches.json >loader.json
check 'one file of many ranks is one of them' '"$IOREEL" report loader.json | grep -q " 1 of 128 ranks "'
is 'the I/O of a rank that was not measured is not 0' \
	"$("$IOREEL" sql loader.json --format tsv 'SELECT count(*), count(io_ns) FROM v_rank' | tail -1)" "1	0"

# The events after the base, an unclosed array.
sed '/^  \],/,$d; s/"schemaVersion": 1,/&"baseTimeNanoseconds": 1719853884000000000,/' new.json >open.json
import new.json
cp s.db first.db
check 'an array that is not closed, the base before it' \
	'import open.json && for t in v_span v_step counter; do
		sql first.db "SELECT * FROM $t" >a; sql s.db "SELECT * FROM $t" >b; cmp a b || exit 1; done'
is 'its missing end is a loss' "$(sql s.db "SELECT count FROM loss WHERE reason = 'not_understood'")" \
	"$(($(sql first.db "SELECT coalesce(sum(count), 0) FROM loss WHERE reason = 'not_understood'") + 1))"
check 'and the report says that more may be missing' '"$IOREEL" report s.db >out 2>&1 &&
	tr -s " \n" " " <out | grep -q "left out: what follows the damage in 1 file: figures are lower bounds"'
check 'gzip is undone, the same file gives the same bytes' \
	'mkdir -p d && gzip -c new.json >d/new.json && (cd d && import new.json) && cmp first.db d/s.db'

# Absolute times: as integers, with categories, pids and tids of 2021; with ns.
cat >old.json <<'EOF'
{"schemaVersion": 1, "traceEvents": [
{"ph": "X", "cat": "Operator", "name": "ProfilerStep#1", "pid": 25738, "tid": "-12", "ts": 1623142623460100, "dur": 50, "args": {"Input Dims": []}},
{"ph": "X", "cat": "Operator", "name": "aten::mul", "pid": 25738, "tid": "-12", "ts": 1623142623460110, "dur": 5},
{"ph": "X", "cat": "Kernel", "name": "k", "pid": 0, "tid": "stream 7", "ts": 1623142623460120, "dur": 5},
{"ph": "X", "cat": "Memcpy", "name": "m", "pid": 0, "tid": "stream 7", "ts": 1623142623460130, "dur": 5},
{"ph": "X", "cat": "Trace", "name": "p", "pid": "Traces", "tid": "PyTorch Profiler", "ts": 1623142623460000, "dur": 999}
]}
EOF
import old.json
is 'the file format of 2021' \
	"$(rows 'SELECT name, start_ns, dur_ns, pid, tid FROM v_span ORDER BY start_ns')$(rows 'SELECT start_real_ns FROM run')" \
	'step 0 50000 25738 -12;kernel 20000 5000 25738 -10000000007;memcpy 30000 5000 25738 -10000000007;1623142623460100000;'
cat >ns.json <<'EOF'
{"distributedInfo": {"rank": 1}, "traceEvents": [
{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "pid": 1, "tid": 1, "ts": 1719853884123456.789, "dur": 50.001},
{"ph": "X", "cat": "cpu_op", "name": "aten::a", "pid": 1, "tid": 1, "ts": 1719853884123460.000, "dur": 10},
{"ph": "X", "cat": "cpu_op", "name": "aten::b", "pid": 1, "tid": 1, "ts": 1719853884123461.000, "dur": 2},
{"ph": "X", "cat": "cpu_op", "name": "aten::c", "pid": 1, "tid": 2, "ts": 1719853884123465.000, "dur": 10}
]}
EOF
import ns.json
is 'times with ns' "$(rows "SELECT start_real_ns, dur_ns FROM run, v_step")" \
	'1719853884123456789 50001;'
is 'without a device the operators compute' \
	"$(rows 'SELECT compute_ns FROM v_step')$(rows "SELECT count(*) FROM v_span WHERE name = 'cpu_op'")" '15000;2;'
check 'a file of each rank' 'mkdir ranks && cp ns.json new.json ranks && import ranks'
is 'is a process of its own' "$(rows 'SELECT rank, pid FROM process ORDER BY 1')" '1 1;3 5;'

# A schedule that repeats writes a file for each cycle: they are of one process, and
# nothing is known between them.
cat >cycles.py <<'EOF'
import json, sys
def cycle(name, first, wait_us, pid=4711, rank=None, at=None):
    at = 1700000000000000 + (20000000 * first if at is None else at)
    ev = []
    for i in range(5):
        t = at + 100000 * i
        ev += [("user_annotation", "ProfilerStep#%d" % (100 * first + i), t, 100000),
               ("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", t, wait_us),
               ("cpu_op", "aten::conv2d", t + wait_us, 99000 - wait_us)]
    doc = {"schemaVersion": 1, "traceEvents": [{"ph": "X", "cat": c, "name": n, "pid": pid, "tid": pid, "ts": t, "dur": d}
                                               for c, n, t, d in ev]}
    if rank is not None:
        doc["distributedInfo"] = {"rank": rank, "world_size": 2}
    json.dump(doc, open(name + ".pt.trace.json", "w"))
for i in range(3):
    cycle("cycles/node1_4711.%d" % (9 + i), i, 10000 * (i + 1))
    cycle("two/node1_4711.%d" % (9 + i), i, 10000 * (i + 1), rank=0)
    cycle("two/node2_4711.%d" % (9 + i), i, 10000 * (i + 1), rank=1)
    cycle("once/node%d_4711" % i, i, 10000)
    cycle("together/node1_4711.%d" % (9 + i), i, 10000, at=50000 * i)
EOF
mkdir cycles two once together && python3 cycles.py
check 'the cycles of a schedule' 'import cycles'
is 'are one rank, whose loop is its steps' \
	"$(rows 'SELECT count(*), max(pid) FROM process')$(rows 'SELECT ranks FROM run')$(rows '
	SELECT steps, loop_ns, loop_wait_ns FROM v_rank')" '1 4711;1;15 1500000000 300000000;'
check 'the report says so' '"$IOREEL" report s.db | grep -q "20 % of the time of its steps in the profiles of each rank (300 ms of"'
check 'of two ranks' 'import two'
is 'each has its own' "$(rows 'SELECT rank, steps, loop_ns, loop_wait_ns FROM v_rank')" \
	'0 15 1500000000 300000000;1 15 1500000000 300000000;'
mkdir steps
for i in 0 1 2; do
	mv "cycles/node1_4711.$((9 + i)).pt.trace.json" "steps/trace_$((9 + i)).json"
done
check 'cycles in files that are numbered by step' 'import steps'
is 'are one rank, too' "$(rows 'SELECT count(*), max(pid) FROM process')$(rows '
	SELECT steps, loop_ns, loop_wait_ns FROM v_rank')" '1 4711;15 1500000000 300000000;'
for i in 0 1 2; do
	mv "steps/trace_$((9 + i)).json" "cycles/node1_4711.$((9 + i)).pt.trace.json"
done
check 'pids of other workers, and two profiles at a time' 'import once && [ "$(rows "SELECT count(*) FROM process")" = "3;" ] &&
	import together && [ "$(rows "SELECT count(*) FROM process")" = "3;" ]'
# Lightning names a file by the hook that it profiles, loops by what they do.
mkdir hooks
cp cycles/node1_4711.9.pt.trace.json 'hooks/fit-p-[Strategy]S.training_step.17.pt.trace.json'
cp cycles/node1_4711.10.pt.trace.json 'hooks/fit-p-[Strategy]S.validation_step.18.pt.trace.json'
import hooks
is 'files of one pid whose names have no host are one rank' \
	"$(rows 'SELECT count(*), max(pid) FROM process')$(rows 'SELECT ranks FROM run')$(rows '
	SELECT steps, loop_ns, loop_wait_ns FROM v_rank')" '1 4711;1;10 1000000000 150000000;'
mkdir named
for i in 0 1; do
	cp cycles/node1_4711.$((9 + i)).pt.trace.json "named/rank0.$i.pt.trace.json"
	cp cycles/node1_4711.$((9 + i)).pt.trace.json "named/rank1.$i.pt.trace.json"
done
import named
is 'workers of one pid that were there at a time are two' "$(rows 'SELECT steps, loop_ns FROM v_rank')" \
	'10 1000000000;10 1000000000;'
sed 's/, "dur": 10000}/}/g' cycles/node1_4711.9.pt.trace.json >no_dur.json
check 'fetches without a duration' 'import no_dur.json'
is 'are counted, and no wait of 0' "$(rows 'SELECT reason, unit, count FROM loss')$(rows 'SELECT loop_wait_ns FROM v_rank')" \
	'not_understood events 5;;'
sed 's/"ph": "X"/"ph": "B"/g' cycles/node1_4711.9.pt.trace.json >halves.json
check 'events of two halves' 'import halves.json'
is 'are counted' "$(rows 'SELECT reason, unit, count > 9 FROM loss')" 'not_understood events 1;'

# The profiler leaves such a file at the end of a loop.
cat >left.json <<'EOF'
{"schemaVersion": 1, "traceEvents": [
  {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#9", "pid": 7, "tid": 7, "ts": 10, "dur": 40},
  {"ph": "X", "cat": "user_annotation", "name": "enumerate(DataLoader)#_S.__next__", "pid": 7, "tid": 7, "ts": 12, "dur": 18}
]}
EOF
check 'one step is no measure of the waits' '
	"$IOREEL" report left.json | tr -s " \n" " " >out && grep -q "is not known: it has one step" out &&
	grep -q "nothing could be checked" out && ! grep -q INPUT out'

# A thread of its own makes the batches; the loop takes them from a queue.
python3 - >behind.json <<'PY'
import json, sys
ev = []
def x(tid, name, cat, ts, dur):
    ev.append({"ph": "X", "cat": cat, "name": name, "pid": 7, "tid": tid, "ts": ts, "dur": dur})
for i in range(10):
    x(8, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", "user_annotation", 1000 * i, 950)
    x(8, "aten::stack", "cpu_op", 1000 * i + 900, 10)
    x(7, f"ProfilerStep#{i}", "user_annotation", 1000 * i, 1000)
    for k in range(30):
        x(7, "aten::mm", "cpu_op", 1000 * i + 30 * k, 30)
json.dump({"schemaVersion": 1, "traceEvents": ev}, sys.stdout)
PY
for steps in with without; do
	[ $steps = with ] || sed -i 's/ProfilerStep#/turn/g' behind.json
	check "fetches of a thread that only prepares, $steps ProfilerStep" 'import behind.json'
	is 'are no waits of the loop' "$(rows "SELECT name, count(*) FROM v_span WHERE name IN ('fetch', 'step') GROUP BY 1")$(rows "
		SELECT steps, unknown_steps, wait_share, wait_most_share FROM v_rank")" \
		"$([ $steps = with ] && echo 'fetch 10;step 10;10 10  0.1;' || echo 'fetch 10;0 0  ;')"
done

# MTIA devices: DMA are copies, records of events and waits for them no computation.
{
	echo '{"schemaVersion": 1, "traceEvents": ['
	echo '{"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 7, "tid": 7, "ts": 0, "dur": 1000},'
	for e in dma_request:10 event_wait:700 add-dtype_Float:20 event_record:1 pe_exe:5; do
		echo '{"ph": "X", "cat": "mtia_ccp_events", "name": "'${e%:*}'", "pid": 9, "tid": 4, "ts": '$((at += 100))', "dur": '${e#*:}', "args": {"stream": 1}},'
	done
	echo ']}'
} >mtia.json
check 'a profile of an MTIA device' 'import mtia.json'
is 'its computation is what the device runs' "$(rows "SELECT name, count(*), sum(dur_ns) FROM v_span GROUP BY 1 ORDER BY 1")" \
	'kernel 2 25000;memcpy 1 10000;'

# --- damage -------------------------------------------------------------------
# refused TITLE FILE: one line, exit status 1, no store, not even a half one.
refused() {
	local rc
	"$IOREEL" import -q "$2" -o no.db 2>err
	rc=$?
	check "refused: $1" "[ $rc = 1 ] && [ \$(wc -l <err) = 1 ] && grep -q -- '$2.*offset' err && ! ls no.db* 2>/dev/null"
}
gzip -c new.json | head -c 700 >cut.json.gz
refused 'a truncated gzip' cut.json.gz
head -c 900 new.json >cut.json
refused 'a file that ends in an event' cut.json
# Damage that seems to go on: in a value that is skipped, the rest of the file.
python3 - <<'PY'
import json
ev = [{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 7, "tid": 7, "ts": 10 * i, "dur": 3,
       "args": {"External id": i, "Input Dims": [[1, i], [2]], "Call stack": "a;b"}} for i in range(100)]
for indent in (None, 1):
    whole = json.dumps({"schemaVersion": 1, "traceEvents": ev}, indent=indent)
    name = 'line' if indent is None else 'lines'
    at = whole.index('"ts": 500')
    def put(what, old, new):
        i = whole.index(old, at)
        open(f'{what}_{name}.json', 'w').write(whole[:i] + new + whole[i + len(old):])
    put('quote', 'a;b"', 'a;b')
    put('brace', '}', '')
    put('bracket', ']', '')
    put('array', '"a;b"', '"a;b", "x": [')
    put('other', '}', ']')
    put('garbage', '"a;b"', '\0}{"]\1')
PY
wrong=
for f in quote brace bracket array other garbage; do
	for name in line lines; do
		"$IOREEL" import -q ${f}_$name.json -o no.db 2>err && wrong="$wrong $f $name taken;"
		grep -q 'offset.*try: ioreel import --partial$' err || wrong="$wrong $f $name: $(cat err);"
		import --partial ${f}_$name.json
		rows "SELECT count(*) FROM v_span" >got
		rows "SELECT reason, count FROM v_loss WHERE unit <> 'bytes'" >>got
		tr -d '\n' <got | grep -qx '9[89];damaged [12];' || wrong="$wrong $f $name: $(cat got)"
	done
done
is 'refused: damage behind which all would be skipped; --partial loses the events in it' "$wrong" ''
sed 's/"ph": "M",/"ph": "M",]/' new.json >bracket.json
refused 'a bracket too many' bracket.json
printf '{"schemaVersion": 1}' >none.json
"$IOREEL" import -q none.json -o no.db 2>err
is 'refused: no events' "$?$(grep -c 'no trace events' err)$(ls no.db* 2>/dev/null)" 11
sed 's/"ts": 150, "dur": 3/"ts": "x", "dur": 3/; s/"dur": 2}/"dur": -2}/' new.json >bad.json
check 'events without a time are counted' 'import bad.json'
is 'as not understood' "$(rows 'SELECT reason, unit, count FROM loss')" 'not_understood events 2;'
if [ -x "$O/tests/fuzz/fuzz_import" ]; then
	check '300 damaged files' '"$O/tests/fuzz/fuzz_import" 300 1 new.json'
fi

# --- real files ---------------------------------------------------------------
if [ -d "$IOREEL_DATA/kineto" ]; then
	for f in "$IOREEL_DATA"/kineto/*.gz; do
		import "$f"
		is "$(basename "$f"): counts, times, spans, computation as Python counts them" \
			"$(python3 "$HERE/kineto_recount.py" "$f" s.db "$IOREEL")" ok
	done
	# verdict FILE CODE ALL STEADY: shares of the steps that fetches take
	verdict() {
		import "$IOREEL_DATA/kineto/$1.pt.trace.json.gz"
		is "$1: $2, $3 % of the steps, $4 % of the steady ones" \
			"$("$IOREEL" report s.db | grep -o -m 1 -e INPUT-BOUND -e NO-PROBLEM) $(rows "
			SELECT round(100.0 * sum(fetch_ns) / sum(dur_ns), 1),
			round(100.0 * sum(fetch_ns) FILTER (WHERE steady) / sum(dur_ns) FILTER (WHERE steady), 1)
			FROM v_step")" "$2 $3 $4;"
	}
	verdict resnet50_workers0 INPUT-BOUND 39.6 39.8
	verdict resnet50_workers4 NO-PROBLEM 1.0 0.6
	check 'only the waits were checked' \
		'"$IOREEL" report s.db | grep -q "NO-PROBLEM  *checked: waiting; the imported files have no calls of I/O"'
else
	skip 'real profiles' 'IOREEL_DATA has none'
fi

# TensorBoard keeps the runs of a folder beside each other.
mkdir runs && python3 - <<'PY'
import json
for run, base_us in ((1, 0), (2, 900000000)):
    events = [{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#%d" % i, "pid": run,
               "tid": run, "ts": base_us + i * 1000, "dur": 900} for i in range(5)]
    json.dump({"schemaVersion": 1, "deviceProperties": [], "traceEvents": events},
              open("runs/node_%d.1.pt.trace.json" % run, "w"))
PY
rm -f s.db
check 'runs of a folder, a quarter of an hour apart, are no ranks' '
	! "$IOREEL" import -q runs -o s.db 2>err && grep -q "are of different runs, 900 s apart" err &&
	[ "$(wc -l <err)" = 1 ] && [ ! -e s.db ]'

# A file without a span is at no time, and so of no other run.
mkdir empty && cp runs/node_1.1.pt.trace.json empty
echo '{"schemaVersion": 1, "deviceProperties": [], "traceEvents": [
 {"ph": "X", "cat": "other", "name": "f", "pid": 2, "tid": 2, "ts": 1, "dur": 1}]}' >empty/node_2.1.pt.trace.json
check 'a file without spans beside one with some' 'import empty && [ "$(rows "SELECT count(*) FROM v_step")" = "5;" ]'

# Kernels that run while the loop fetches: the fetches keep no one waiting.
cat >hidden.py <<'PY'
import json, sys
busy_us, name = int(sys.argv[1]), sys.argv[2]
events = []
def add(cat, name, pid, ts, dur):
    events.append({"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": 1, "ts": ts, "dur": dur})
for i in range(10):
    add("user_annotation", "ProfilerStep#%d" % i, 1, i * 1e5, 1e5)
    add("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
        1, i * 1e5 + 5000, 6e4)
    add("kernel", "gemm", 0, i * 1e5 + 200, busy_us)
json.dump({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "G"}],
           "traceEvents": events}, open(name, "w"))
PY
python3 hidden.py 99500 hidden.json && python3 hidden.py 30000 waits.json
check 'fetches while the GPU computes are no wait' '
	"$IOREEL" report hidden.json | tr "\n" " " | tr -s " " >out &&
	grep -q "hardly waits for its input: its fetches take 60 % of its loop, and the GPU is idle meanwhile in 0.0 %" out &&
	grep -q NO-PROBLEM out'
check 'fetches while it is idle are' '
	"$IOREEL" report waits.json | grep -q "INPUT-BOUND  fetches take 600 ms of 1.00 s"'
finish
