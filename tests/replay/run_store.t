#!/bin/bash
# SPDX-License-Identifier: MIT
# ioreel run -o: the store has the calls that strace, and a recorder, saw in the same
# run, by process, file, offset and bytes; spans; all ranks; nothing half-written.
. "$(dirname "$0")/../lib/tap.sh"
command -v strace >/dev/null || skip_all 'no strace'
strace -qq -e trace=none true 2>/dev/null || skip_all 'ptrace is not allowed'
python3 -c 'import json' 2>/dev/null || skip_all 'no python3'
oracle=$TOP/tests/lib/strace_oracle.py

w() { "$IOREEL" workload "$@"; }
cat >base.json <<'J'
{"schema": "ioreel-workload-1", "name": "t",
 "dataset": {"format": "raw", "files": 10, "samples_per_file": 6,
             "sample_bytes": {"quantiles": [100, 5000, 90000]}},
 "pipeline": {"batch": 4, "order": "shuffle", "readers": 2}, "epochs": 2,
 "checkpoint": {"every_steps": 10, "keep": 1,
                "files": [{"bytes": 100000, "write_bytes": 30000, "fsync": true, "rename": true}]}}
J
mpirun="mpirun --allow-run-as-root --oversubscribe -n 2 $O/ioreel-mpi"

# same_as_strace TITLE FOLDER LEAST: of the run in s.* and run.db; more than LEAST calls.
same_as_strace() {
	folder=$PWD/$2 least=$3
	"$IOREEL" sql run.db "$(python3 "$oracle" query)" --format tsv >events
	check "$1" 'python3 "$oracle" "$folder" events s.* >diff; rc=$?; cat diff
		[ $rc = 0 ] && [ "$(sed -n "s/^# \([0-9]*\) calls.*/\1/p" diff)" -gt $least ]'
}

# calls STORE: of data and checkpoints, with sizes and offsets, and the spans. Numbers
# of descriptors differ: the recorder has none. It keeps how a buffer is aligned, too.
calls() {
	sql "$1" "SELECT tid = (SELECT min(tid) FROM thread), call, path, offset, asked,
			iif(call IN ('open', 'fcntl'), 'fd', result),
			iif(call_group IN ('read', 'write'), '', arg), path2, count(*)
		FROM v_event WHERE path LIKE '$PWD/ds.%/train/%' OR path LIKE '$PWD/ck/%'
		GROUP BY 1, 2, 3, 4, 5, 6, 7, 8 ORDER BY 1, 2, 3, 4, 5, 6, 7, 8"
	sql "$1" "SELECT name, detail, count(*) FROM v_span GROUP BY 1, 2 ORDER BY 1, 2"
}

# Absolute paths: the oracle takes relative ones as those in the folder.
traced="strace -ff -ttt -y -s 0 -o s -e trace=%file,%desc,%process"
options="--checkpoints $PWD/ck -o $PWD/run.db"
# bench FORMAT PREFIX OPTION...
bench() {
	format=$1 prefix=$2
	shift 2
	rm -rf s.* ck run.db run.reel
	$prefix run -q w.json --data "$PWD/ds.$format" $options "$@" >out 2>err || sed 's/^/# /' err
}

for format in tfrecord npz hdf5; do
	w set base.json dataset.format=$format >w.json
	if ! "$IOREEL" gen -q w.json ds.$format 2>err; then
		skip "$format" "$(tail -n 1 err)"
		continue
	fi
	for how in readers=0 readers=2 'readers=2 --set pipeline.unit=thread'; do
		bench $format "$traced $IOREEL" --set pipeline.$how
		same_as_strace "$format, $how: the calls of strace on samples" ds.$format/train 60
		same_as_strace "$format, $how: and on checkpoints" ck 20
		bench $format "$IOREEL record -q -o run.reel -- $IOREEL" --set pipeline.$how
		calls run.reel >recorded
		calls run.db >ours
		check "$format, $how: calls, sizes, offsets and spans of the recorder" \
			'diff recorded ours && [ "$(grep -c . ours)" -gt 90 ]'
	done
	unit=process roles='0 main 1;0 worker 2;1 main 1;1 worker 2;'
	[ $format = npz ] && unit=thread roles='0 main 1;1 main 1;'
	[ -x "$O/ioreel-mpi" ] || continue
	bench $format "$traced $mpirun" --set pipeline.unit=$unit
	same_as_strace "$format, 2 ranks, unit=$unit: the calls of strace on samples" ds.$format/train 60
	is "$format, 2 ranks, unit=$unit: both ranks, and their readers" \
		"$(sql run.db 'SELECT rank, role, count(*) FROM process GROUP BY 1, 2 ORDER BY 1, 2' | tr '\n\t' '; ')" "$roles"
done
check 'no file of calls is left' '[ -z "$(ls -a | grep calls)" ]'

# reads: bytes and calls in run.db.
reads() { sql run.db "SELECT sum(bytes), count(*) FROM v_event WHERE call_group = 'read'" | tr '\t' ' '; }

# --- what the other verbs make of it ------------------------------------------
w set base.json compute.step_ns=3000000 >w.json
"$IOREEL" gen -q w.json ds
check 'one line on stderr' '"$IOREEL" run w.json --data ds --json -o run.db >r.json 2>err &&
	grep -q "events in .*; store run.db" err && [ "$(grep -c "" err)" = 1 ]'
check 'report: steps, and the computation of the workload' '"$IOREEL" report run.db --json >report.json &&
	python3 -c "
import json
d = json.load(open(\"r.json\"))
o = json.load(open(\"report.json\"))[\"overlap\"][0]
print(o)
assert (o[\"rank\"], o[\"steps\"], o[\"workers\"], o[\"unknown_steps\"]) == (0, d[\"steps\"], 2, 0)
assert o[\"compute_ns\"] >= o[\"steady_steps\"] * 3000000 and o[\"hidden_share\"] > 0
"'
is 'steps of the result and of the store' \
	"$(RUN=run.db q "SELECT count(*) FROM v_span WHERE name = 'step'")" \
	"$(python3 -c 'import json; print(json.load(open("r.json"))["steps"])')"
is 'bytes of the result and of the store' \
	"$(reads)" \
	"$(python3 -c 'import json; d = json.load(open("r.json")); print(d["read_bytes"], d["read_calls"])')"
# The recorder also sees the workload, the mark of the data set, and the output.
check 'compare: as the recorded job, but for times and its own three files' 'rm -rf job.reel; "$IOREEL" record -q -o job.reel -- "$IOREEL" run -q w.json --data ds >o &&
	"$IOREEL" compare job.reel run.db --json >c.json; python3 -c "
import json
d = json.load(open(\"c.json\"))
times = (\"I/O time\", \"bandwidth per call, mean\", \"bandwidth per call, median\")
for f in d[\"factors\"]:
    print(f)
    if f[\"name\"] == \"files\":
        assert f[\"a\"] - f[\"b\"] == 3, f
    elif f[\"unit\"] == \"%\":
        assert abs(f[\"a\"] - f[\"b\"]) < 3, f
    else:
        assert f[\"name\"] in times or abs(f[\"d\"]) < 0.03, f
"'
check 'fit: a workload of the benchmark' '"$IOREEL" fit run.db -o fit.json 2>err || { cat err; false; }'

# --- faults -------------------------------------------------------------------
check 'an output that is no store is refused before the run' 'echo x >notes.txt
	"$IOREEL" run w.json --data ds -o notes.txt >o 2>err; [ $? = 1 ] && grep -q "not a store" err && [ "$(cat notes.txt)" = x ] && [ ! -s o ]'
check 'a folder that is not there' '"$IOREEL" run w.json --data ds -o no/run.db >o 2>err; [ $? = 1 ] && grep -q "no/run.db" err && [ ! -s o ]'
check 'not with --rules' '"$IOREEL" run w.json --data ds -o a.db --rules mlperf-3.0 2>err; [ $? = 2 ] && grep -q "rules" err'
check 'a run that fails leaves no store' 'cp -r ds gone && rm gone/train/*3_of*
	"$IOREEL" run w.json --data gone -o gone.db 2>err; rc=$?
	[ $rc = 1 ] && [ ! -e gone.db ] && [ -z "$(ls -a | grep gone.db)" ]'
for unit in process thread; do
	check "Ctrl-C: a store of the calls until then, unit=$unit" 'rm -f run.db
		setsid "$IOREEL" run w.json --data ds --json -o run.db --set compute.step_ns=50000000 --set pipeline.unit=$unit >r.json 2>err & pid=$!
		sleep 1; kill -TERM -$pid; wait $pid; rc=$?
		python3 -c "import json; d = json.load(open(\"r.json\")); print(d[\"complete\"], d[\"read_bytes\"], d[\"read_calls\"])" >want
		echo "False $(reads)" | diff want - && [ $rc = 143 ]'
done
check 'an older store is replaced' '"$IOREEL" run -q w.json --data ds -o run.db >o && [ "$(RUN=run.db q "SELECT exit_status FROM run")" = 0 ]'
check 'null storage: spans, no call' '"$IOREEL" run -q w.json --null -o null.db >o &&
	[ "$(RUN=null.db q "SELECT events FROM run")" = 0 ] && [ "$(RUN=null.db q "SELECT count(*) > 10 FROM v_span")" = 1 ]'

# --- MPI-IO -------------------------------------------------------------------
# mpi_calls STORE: those of both layers on the data set, by rank. ROMIO's files to try
# a lock have the same name for all threads, which remove them from each other.
mpi_calls() {
	sql "$1" "SELECT p.rank, layer, call, path, offset, asked, bytes, result < 0, fd IS NULL, count(*)
		FROM v_event JOIN process p USING (process_id) WHERE path LIKE '$PWD/ds.%/train/%' AND path NOT LIKE '%.locktest.%'
		GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9 ORDER BY 1, 2, 3, 4, 5, 6, 7, 8, 9"
}

if [ -x "$O/ioreel-mpi" ]; then
	w set base.json dataset.files=12 dataset.samples_per_file=1 >w.json
	"$IOREEL" gen -q w.json ds.hole && rm ds.hole/train/*0003_of*
	# 124: a rank waited for ever.
	check 'a rank that fails ends the run of all, and no file is left' 'timeout 60 mpirun --allow-run-as-root --oversubscribe -n 3 \
		"$O/ioreel-mpi" run -q w.json --data ds.hole --checkpoints ck.hole -o hole.db >o 2>err; rc=$?
		[ $rc != 0 ] && [ $rc != 124 ] && grep -q "cannot open .*_00000003_" err && ! ls hole.db* 2>/dev/null'
else
	skip 'a rank that fails' 'no ioreel-mpi'
fi

for how in 'collective=true --set pipeline.readers=0' 'collective=false --set pipeline.unit=thread'; do
	if [ ! -x "$O/ioreel-mpi" ]; then
		skip "MPI-IO, $how" 'no ioreel-mpi'
		continue
	fi
	w set base.json dataset.format=indexed >w.json
	"$IOREEL" gen -q w.json ds.indexed
	how="access.api=mpiio --set access.$how"
	bench indexed "$IOREEL record -q -o run.reel -- $mpirun" --set $how
	mpi_calls run.reel >recorded
	bench indexed "$mpirun" --set $how
	mpi_calls run.db >ours
	check "$how: calls of MPI-IO, and those below, of the recorder" \
		'diff recorded ours && grep -q MPIIO ours && grep -q POSIX ours && [ "$(grep -c . ours)" -gt 90 ]'
done
finish
