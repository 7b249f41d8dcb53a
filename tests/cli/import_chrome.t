#!/bin/sh
# SPDX-License-Identifier: MIT
# Chrome's trace events: of other tools as spans, of our own export as the calls
# and spans that they were.
. "$(dirname "$0")/../lib/tap.sh"
unset LD_PRELOAD

import() { rm -f s.db && "$IOREEL" import -q "$@" -o s.db; }
rows() { sql "${2:-s.db}" "$1" | tr '\t\n' ' ;'; }

# Horovod: an array that is never closed, ranges without threads, ends without names.
cat >horovod.json <<'EOF'
[
{"name": "process_name", "ph": "M", "pid": 1, "args": {"name": "DistributedAdam/conv1"}},
{"name": "process_sort_index", "ph": "M", "pid": 1, "args": {"sort_index": 1}},
{"ph": "B", "name": "NEGOTIATE_ALLREDUCE", "ts": 96, "pid": 1},
{"ph": "X", "name": "0", "ts": 106, "pid": 1, "dur": 0},
{"ph": "E", "ts": 200, "pid": 1},
{"ph": "B", "name": "ALLREDUCE", "ts": 300, "pid": 1, "args": {}},
{"ph": "B", "name": "NCCL_ALLREDUCE", "ts": 310, "pid": 1},
{"ph": "E", "ts": 400, "pid": 1},
{"ph": "E", "ts": 410, "pid": 1, "args": {"dtype": "float32", "shape": "[1, 2]"}},
{"ph": "B", "name": "LAST", "ts": 500, "pid": 1},
EOF
check "Horovod's timeline" 'import horovod.json'
is 'nested ranges' \
	"$(rows "SELECT name, start_ns, dur_ns, coalesce(parent_id, '-') FROM v_span ORDER BY start_ns")" \
	'NEGOTIATE_ALLREDUCE 0 104000 -;0 10000 0 1;ALLREDUCE 204000 110000 -;NCCL_ALLREDUCE 214000 90000 3;'
is 'a tensor is a process' "$(rows 'SELECT pid, command FROM process')" '1 DistributedAdam/conv1;'
is 'a range without end is counted' "$(rows 'SELECT reason, unit, count FROM loss')" 'no_end events 1;'
is 'the time of the day is not known' "$(rows 'SELECT start_real_ns IS NULL, wall_ns IS NULL FROM run')" '1 1;'

sed '1a {"name": "process_name", "ph": "M", "pid": 0, "args": {"start_time_since_epoch_in_micros":1719853884123456}},' \
	horovod.json >started.json
import started.json
is "the start of Horovod's clock" "$(rows 'SELECT start_real_ns FROM run')$(rows 'SELECT max(start_ns), count(*) FROM v_span')" \
	'1719853884123552000;214000 4;'

# TensorFlow: rows for the streams of a device, an empty object at the end.
cat >tensorflow.json <<'EOF'
{"displayTimeUnit":"ns","metadata":{"highres-ticks":true},"traceEvents":[
{"ph":"M","pid":1,"name":"process_name","args":{"name":"/device:GPU:0"}},
{"ph":"M","pid":1,"tid":13,"name":"thread_name","args":{"name":"Stream #13(Compute,Memcpy)"}},
{"ph":"M","pid":1,"tid":14,"name":"thread_name","args":{"name":"TensorFlow Ops"}},
{"ph":"M","pid":701,"name":"process_name","args":{"name":"/host:CPU"}},
{"ph":"X","pid":1,"tid":13,"ts":10.5,"dur":5,"name":"gemm","args":{"long_name":"x","group_id":"0"}},
{"ph":"X","pid":1,"tid":13,"ts":16,"dur":2,"name":"MemcpyH2D"},
{"ph":"X","pid":1,"tid":14,"ts":10,"dur":9,"name":"MatMul"},
{"ph":"X","pid":701,"tid":5,"ts":1,"dur":30,"name":"train","args":{"step_num":"4","group_id":"0"}},
{}]}
EOF
check "TensorFlow's trace" 'gzip tensorflow.json && import tensorflow.json.gz'
is 'kernels, copies, steps of one process' \
	"$(rows 'SELECT name, start_ns, dur_ns, process_id FROM v_span ORDER BY start_ns')" \
	'step 0 30000 1;MatMul 9000 9000 1;kernel 9500 5000 1;memcpy 15000 2000 1;'
is 'the computation of the step' "$(rows 'SELECT number, compute_ns FROM v_step')" '4 7000;'
is "a kernel's own name" "$(rows "SELECT record FROM v_span s JOIN counter_record ON record_id = detail WHERE s.name = 'kernel'")" 'gemm;'

# Keras: no step has a number; the wait for a batch is inside the graph.
cat >keras.json <<'EOF'
{"displayTimeUnit":"ns","traceEvents":[
{"ph":"M","pid":701,"name":"process_name","args":{"name":"/host:CPU"}},
{"ph":"X","pid":701,"tid":5,"ts":10,"dur":4,"name":"IteratorGetNextOp::DoCompute","args":{"element_size":"64"}},
{"ph":"X","pid":701,"tid":5,"ts":20,"dur":5,"name":"IteratorGetNextOp::DoCompute","args":{"element_size":"64"}},
{"ph":"X","pid":701,"tid":5,"ts":32,"dur":1,"name":"IteratorGetNextOp::DoCompute","args":{"id":"9"}},
{}]}
EOF
check "TensorFlow's trace of Keras" 'import keras.json'
is 'a step lasts from fetch to fetch, the end of the data is neither' \
	"$(rows 'SELECT name, start_ns, dur_ns FROM v_span ORDER BY start_ns, dur_ns DESC')" \
	'step 0 10000;fetch 0 4000;step 10000 12000;fetch 10000 5000;'

# A validation between two epochs: its function has no gradient. A run of the other may lack
# the operators, of which TensorFlow leaves out those of long profiles.
{
	echo '{"displayTimeUnit":"ns","traceEvents":['
	echo '{"ph":"M","pid":701,"name":"process_name","args":{"name":"/host:CPU"}},'
	for run in 100:train_7:G 200:train_7:G 300:test_8: 400:test_8: 500:train_7: 600:train_7: 700:train_7:G; do
		IFS=: read -r at function gradient <<-EOF2
			$run
		EOF2
		echo '{"ph":"X","pid":701,"tid":5,"ts":'"$at"',"dur":90,"name":"EagerLocalExecute: __inference_'"$function"'"},'
		echo '{"ph":"X","pid":701,"tid":6,"ts":'$((at + 10))',"dur":5,"name":"IteratorGetNextOp::DoCompute","args":{"element_size":"64"}},'
		[ -z "$gradient" ] ||
			echo '{"ph":"X","pid":701,"tid":6,"ts":'$((at + 50))',"dur":5,"name":"ReluGrad","args":{"long_name":"gradient_tape/d/ReluGrad:ReluGrad"}},'
	done
	echo '{}]}'
} >validation.json
check "TensorFlow's trace of a fit with a validation" 'import validation.json'
is 'the batches of the validation are no steps, as in the xplane.pb' \
	"$(rows "SELECT name, start_ns, dur_ns FROM v_span WHERE name IN ('step', 'eval') ORDER BY start_ns")" \
	'step 10000 100000;step 110000 100000;eval 210000 200000;step 410000 100000;step 510000 100000;'

# The function train_step() takes each batch from the loop around it, unless no fetch shows.
sed 's/^{}/{"ph":"X","pid":701,"tid":5,"ts":15,"dur":3,"name":"train_step"},&/' keras.json >function.json
import function.json
is 'a function that is called between fetches is no step' \
	"$(rows 'SELECT name, start_ns, dur_ns FROM v_span ORDER BY start_ns, dur_ns DESC')" \
	'step 0 10000;fetch 0 4000;train_step 5000 3000;step 10000 12000;fetch 10000 5000;'
grep -v Iterator function.json >named.json
import named.json
is 'without fetches it is' "$(rows 'SELECT name, start_ns, dur_ns FROM v_span')" 'step 0 3000;'

# A loop over a data set inside a graph is a reduction of a scan.
sed -e 's/IteratorGetNextOp::DoCompute/ReduceIterator::Root::Scan::Batch/' -e 's/,"args":{"[ei][^}]*}//' -e 's/{}\]}/{"ph":"X","pid":701,"tid":5,"ts":5,"dur":29,"name":"ReduceIterator::Root"},&/' \
	keras.json >loop.json
check "TensorFlow's trace of a loop inside a graph" 'import loop.json'
is 'its fetches, and the steps between them' \
	"$(rows 'SELECT name, start_ns, dur_ns FROM v_span ORDER BY start_ns, dur_ns DESC')" \
	'step 0 10000;fetch 0 4000;step 10000 12000;fetch 10000 5000;fetch 22000 1000;'

# JAX has TensorFlow's rows.
sed -e 's/IteratorGetNextOp::DoCompute/PjitFunction(f)/' keras.json >jax.json
check "JAX's trace is none of TensorFlow" 'import jax.json && [ "$(rows "SELECT framework FROM run")" = "JAX;" ]'

# TensorFlow's Timeline: a file for each run of the graph, devices in the names.
mkdir timeline
for n in 1 2; do
	cat >timeline/run$n.json <<EOF
{"traceEvents": [
{"name": "process_name", "ph": "M", "pid": 1, "args": {"name": "/job:localhost/replica:0/task:0/device:CPU:0 Compute"}},
{"name": "process_name", "ph": "M", "pid": 3, "args": {"name": "/job:localhost/replica:0/task:0/device:GPU:1/stream:all Compute"}},
{"ph": "X", "cat": "Op", "name": "NoOp", "pid": 1, "tid": 0, "ts": 179546230790420$n, "dur": 1, "args": {"name": "_SOURCE", "op": "NoOp"}},
{"ph": "X", "cat": "Op", "name": "IteratorGetNext", "pid": 1, "tid": 1, "ts": 179546230790421$n, "dur": 300, "args": {"op": "IteratorGetNext"}},
{"ph": "X", "cat": "Op", "name": "MatMul", "pid": 1, "tid": 0, "ts": 179546230790460$n, "dur": 100, "args": {"op": "MatMul"}},
{"ph": "X", "cat": "Op", "name": "MatMul", "pid": 3, "tid": 0, "ts": 179546230790461$n, "dur": 50, "args": {"op": "MatMul"}}
]}
EOF
done
sed -i 's/17954623079/17954623080/' timeline/run2.json
check "TensorFlow's Timeline" 'import timeline'
is 'a run of the graph is a step, of one process' \
	"$(rows 'SELECT name, start_ns, dur_ns, process_id, tid < 0 FROM v_span ORDER BY start_ns, dur_ns DESC' | cut -d';' -f1-5)" \
	'step 0 500000 1 0;NoOp 0 1000 1 0;fetch 10000 300000 1 0;MatMul 400000 100000 1 0;kernel 410000 50000 1 1'
is 'fetch and computation of the steps' "$(rows 'SELECT fetch_ns, compute_ns FROM v_step')" '300000 50000;300000 50000;'

# Names that tell, as any program may write them.
cat >names.json <<'EOF'
[{"ph":"X","name":"Iteration 3","pid":1,"tid":1,"ts":10,"dur":90},
 {"ph":"X","name":"data loading","pid":1,"tid":1,"ts":10,"dur":40},
 {"ph":"X","name":"Backward","pid":1,"tid":1,"ts":60,"dur":10},
 {"ph":"X","name":"optimizer_step","pid":1,"tid":1,"ts":75,"dur":5},
 {"ph":"X","name":"footstep","pid":1,"tid":1,"ts":85,"dur":5}
]
EOF
import names.json
is 'steps, fetches and the like by their names' \
	"$(rows "SELECT name, coalesce(detail, '-'), start_ns FROM v_span ORDER BY start_ns, dur_ns DESC")" \
	'step 3 0;fetch - 0;backward - 50000;optimizer - 65000;footstep - 75000;'

# Asynchronous ranges, absolute times, words as pids, names with bare quotes.
cat >other.json <<'EOF'
[{"ph":"b","cat":"a","id":"0x1","name":"one","pid":"CPU functions","tid":"t","ts":1719853884123456.789},
 {"ph":"b","cat":"a","id":"0x2","name":"two","pid":"CPU functions","tid":"t","ts":1719853884123457},
 {"ph":"e","cat":"a","id":"0x1","name":"one","pid":"CPU functions","tid":"t","ts":1719853884123458.789},
 {"ph":"C","name":"counter","pid":"CPU functions","ts":1719853884123458,"args":{"v":1}},
 {"ph":"E","pid":"CPU functions","tid":"t","ts":1719853884123459},
 {"ph":"X","name":"a "quoted" name","pid":"CPU functions","tid":"t","ts":1719853884123460,"dur":1}
]
EOF
import other.json
is 'asynchronous ranges, absolute times' \
	"$(rows 'SELECT name, start_ns, dur_ns FROM v_span ORDER BY start_ns')$(rows 'SELECT start_real_ns FROM run')" \
	'one 0 2000;a "quoted" name 3211 1000;1719853884123456789;'
is 'ends without beginnings, and the other way round' "$(rows 'SELECT reason, count FROM loss')" 'no_end 2;'

# Times that are none; the escape keeps the last two from the fast path.
cat >null.json <<'EOF'
[{"ph":"X","name":"a","pid":1,"tid":1,"ts":null,"dur":1},
 {"ph":"X","name":"b","pid":1,"tid":1,"ts":2,"dur":null},
 {"ph":"X","name":"\u0063","pid":1,"tid":1,"ts":[],"dur":1},
 {"ph":"X","name":"\u0064","pid":1,"tid":1,"ts":4,"dur":1}]
EOF
import null.json
is 'times without a number are counted' \
	"$(rows 'SELECT name, dur_ns FROM v_span')$(rows 'SELECT reason, count FROM loss')" \
	'b 0;d 1000;not_understood 3;'

# Ranges of one id nest; ids of "id2" may be of a process; phases of older traces; ends
# before their beginnings. A wait of Horovod for a tensor is no fetch.
cat >nested.json <<'EOF'
[{"ph":"b","cat":"a","id":"0x1","name":"outer","pid":1,"tid":1,"ts":100},
 {"ph":"b","cat":"a","id":"0x1","name":"inner","pid":1,"tid":1,"ts":110},
 {"ph":"e","cat":"a","id":"0x1","name":"inner","pid":1,"tid":1,"ts":120},
 {"ph":"e","cat":"a","id":"0x1","name":"outer","pid":1,"tid":1,"ts":130},
 {"ph":"b","cat":"a","id2":{"local":"0x5"},"name":"here","pid":1,"tid":1,"ts":200},
 {"ph":"b","cat":"a","id2":{"local":"0x5"},"name":"there","pid":2,"tid":1,"ts":205},
 {"ph":"e","cat":"a","id2":{"x":[1],"local":"0x5"},"name":"here","pid":1,"tid":1,"ts":220},
 {"ph":"b","cat":"a","id2":{"global":"0x5"},"name":"all","pid":1,"tid":1,"ts":230},
 {"ph":"e","cat":"a","id":"0x5","name":"all","pid":2,"tid":1,"ts":240},
 {"ph":"e","cat":"a","id2":{"local":"0x5"},"name":"there","pid":2,"tid":1,"ts":245},
 {"ph":"S","cat":"o","id":7,"name":"old","pid":1,"tid":1,"ts":300},
 {"ph":"F","cat":"o","id":7,"name":"old","pid":1,"tid":1,"ts":310},
 {"ph":"B","name":"open","pid":1,"tid":2,"ts":400},
 {"ph":"E","pid":1,"tid":2,"ts":390},
 {"ph":"B","name":"WAIT_FOR_DATA","pid":3,"ts":400},
 {"ph":"E","pid":3,"ts":410},
EOF
import nested.json
is 'ranges that nest or have an id of their process' \
	"$(rows 'SELECT name, start_ns / 1000 + 100, dur_ns / 1000, pid FROM v_span ORDER BY start_ns, dur_ns DESC')" \
	'outer 100 30 1;inner 110 10 1;here 200 20 1;there 205 40 2;all 230 10 1;old 300 10 1;WAIT_FOR_DATA 400 10 3;'
is 'an end before its beginning ends nothing' "$(rows 'SELECT reason, count FROM loss')" 'no_end 2;'

# VizTracer adds the place of a call to its name.
cat >viz.json <<'EOF'
{"traceEvents":[
 {"ph":"X","cat":"FEE","name":"step 3 (/w/train.py:9)","pid":1,"tid":1,"ts":100,"dur":50},
 {"ph":"X","cat":"FEE","name":"data_loading (/w/train.py:10)","pid":1,"tid":1,"ts":110,"dur":20},
 {"ph":"X","cat":"FEE","name":"step (/v/site-packages/torch/optim/sgd.py:80)","pid":1,"tid":1,"ts":135,"dur":5},
 {"ph":"X","cat":"FEE","name":"f (x) (a:b)","pid":1,"tid":1,"ts":145,"dur":1}]}
EOF
import viz.json
is 'names with a place' "$(rows 'SELECT name, detail FROM v_span ORDER BY start_ns')" \
	'step 3;fetch ;step (/v/site-packages/torch/optim/sgd.py:80) ;f (x) (a:b) ;'

# Chrome's developer tools write source maps before the events.
{ printf '{"metadata":{"sourceMaps":["%070000d"]},' 0; echo '"traceEvents":[{"ph":"X","name":"late","pid":1,"tid":1,"ts":1,"dur":2}]}'; } >late.json
check 'events behind 70 kB of other values' 'import late.json && [ "$(rows "SELECT name, dur_ns FROM v_span")" = "late 2000;" ]'
sed s/traceEvents/others/ late.json >others.json
check 'a large object without events is of no format' '! "$IOREEL" import -q others.json -o no.db 2>err && grep -q "no format" err'

# --- our own export -----------------------------------------------------------
"$IOREEL" load -q "$TOP/tests/data/trace-1.0" -o run.db
"$IOREEL" export --as chrome -o run.json run.db
check 'an export of ours' 'import run.json'
# same TITLE QUERY: of the run and of the import of its export.
same() { is "$1" "$(rows "$2")" "$(rows "$2" run.db)"; }
same 'has the same calls' "SELECT c.name, e.start_ns, e.dur_ns, coalesce(e.fd, '-'), coalesce(e.offset, '-'),
	coalesce(e.asked, '-'), e.result, e.errno FROM event e JOIN call c USING (call_id)
	ORDER BY e.start_ns, e.dur_ns, c.name"
same 'the same spans' "SELECT name, start_ns, dur_ns, coalesce(detail, '-'), tid FROM v_span ORDER BY start_ns, dur_ns"
same 'the same sums' 'SELECT read_bytes, write_bytes FROM v_summary'
same 'the same pids and ranks' "SELECT pid, coalesce(rank, '-') FROM process ORDER BY pid"

# A loop with two loader workers: their parents and batches are in the export.
cat >loop.py <<'PY'
import os, time, ioreel
open("data", "wb").write(b"x" * 100000)
ends = []
for worker in range(2):
    r, w = os.pipe()
    ends.append(w)
    if os.fork() == 0:
        os.close(w)
        ioreel.note("role", "worker")
        for batch in range(4):
            with ioreel.span("preprocess"):
                open("data", "rb").read()
                time.sleep(0.01)
        os.read(r, 1)
        os._exit(0)
for step in range(8):
    with ioreel.span("step", step):
        with ioreel.span("fetch", step):
            time.sleep(0.005)
        time.sleep(0.003)
PY
PYTHONPATH=$TOP/preload/python IOREEL_HOOKS=$TOP/preload/python \
	"$IOREEL" record -q -o loop.reel -- "$(python3 -c 'import sys; print(sys.executable)')" loop.py
"$IOREEL" load -q loop.reel -o run.db
"$IOREEL" export --as chrome -o run.json run.db
check 'an export of a loop with workers' 'import run.json'
is 'has two workers that make batches' "$(rows 'SELECT workers, worker_busy_share > 0.3 FROM v_rank')" '2 1;'
same 'as in the run, the same parents' 'SELECT p.pid, u.pid, p.role FROM process p
	JOIN process u ON u.process_id = p.parent_id ORDER BY 1'
same 'the same wait, computation, hidden I/O and I/O of workers' 'SELECT wait_share, computing_share,
	hidden_share, worker_io_share, worker_mapped_share FROM v_rank'

# --- damage -------------------------------------------------------------------
# refused TITLE FILE: one line, exit status 1, no store, not even a half one.
refused() {
	local rc
	"$IOREEL" import -q "$2" -o no.db 2>err
	rc=$?
	check "refused: $1" "[ $rc = 1 ] && [ \$(wc -l <err) = 1 ] && grep -q -- '$2' err && ! ls no.db* 2>/dev/null"
}
head -c 600 horovod.json >cut.json
refused 'a file that ends in an event' cut.json
# A line of garbage between two events: --partial takes the events on both sides.
import horovod.json
spans=$(rows 'SELECT count(*), min(start_ns), max(start_ns + dur_ns) FROM v_span')
{ head -3 horovod.json && printf '\001}]\000{garbage\n' && tail -n +4 horovod.json; } >garbage.json
refused 'a line of garbage' 'garbage.json.*offset.*try: ioreel import --partial'
check 'of which --partial takes the events on both sides' 'import --partial garbage.json'
is 'all of them' "$(rows 'SELECT count(*), min(start_ns), max(start_ns + dur_ns) FROM v_span')" "$spans"
is 'and counts the damage' "$(rows 'SELECT reason, unit, count FROM v_loss ORDER BY unit')" \
	"damaged: offset $(head -3 horovod.json | wc -c) of garbage.json bytes 13;no_end events 1;damaged places 1;"
head -c 200 tensorflow.json.gz >cut.json.gz
refused 'a truncated gzip' cut.json.gz
echo '{"traceEvents": []}' >none.json
refused 'a file without events' none.json
echo '[{"id":0,"name":"read","cat":"POSIX","pid":1,"tid":1,"ts":1,"dur":1,"ph":"X","args":{"hhash":"a"}}' >other.pfw
check 'a trace of DFTracer is another format' \
	'! "$IOREEL" import -q other.pfw -o no.db 2>err || ! sql no.db "SELECT format FROM source" | grep chrome'
if [ -x "$O/tests/fuzz/fuzz_import" ]; then
	for f in horovod.json run.json; do
		check "300 damaged files like $f" '"$O/tests/fuzz/fuzz_import" 300 1 '$f
	done
fi
finish
