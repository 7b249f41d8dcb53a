#!/bin/sh
# SPDX-License-Identifier: MIT
# ioreel run --json: the document of every kind of run fits the schema, has no other
# key, and its times add up.
. "$(dirname "$0")/../lib/tap.sh"
python3 -c 'import jsonschema' 2>/dev/null || skip_all 'python3-jsonschema is missing'

w() { "$IOREEL" workload "$@"; }
cat >base.json <<'J'
{"schema": "ioreel-workload-1", "name": "t",
 "dataset": {"format": "raw", "files": 10, "samples_per_file": 6,
             "sample_bytes": {"quantiles": [100, 5000, 90000]}},
 "pipeline": {"batch": 4, "order": "shuffle", "readers": 2}, "epochs": 2,
 "compute": {"step_ns": 1000000}}
J
"$IOREEL" gen -q base.json ds
cat >valid.py <<'PY'
import json, sys
import jsonschema
V = jsonschema.Draft202012Validator
schema = json.load(open(sys.argv[1]))
V.check_schema(schema)
d = json.load(open(sys.argv[2]))
errors = list(V(schema).iter_errors(d))
for e in errors[:10]:
    print(list(e.path), e.message)
times = [(d["time"], d["wall_s"])] + [(s["time"], s["wall_s"]) for s in d.get("per_step", [])]
for time, wall in times:
    if abs(sum(time.values()) - wall) > 0.01 * wall:
        errors.append(time)
        print("the sum of", time, "is not", wall)
sys.exit(bool(errors))
PY
schema=$TOP/schemas/result.schema.json
# fits TITLE COMMAND CONDITION: of the document d.
fits() {
	command=$2 condition=$3
	check "$1" '$command --json >r.json && python3 valid.py "$schema" r.json &&
		python3 -c "import json, sys; d = json.load(open(\"r.json\")); sys.exit(not ($condition))"'
}

run="$IOREEL run base.json --data ds"
fits 'a run' "$run" 'd["complete"] and d["steps"] == len(d["per_step"]) and d["read_latency"]["p50_us"] > 0'
fits 'without readers' "$run --set pipeline.readers=0" 'd["time"]["storage_s"] > 0'
fits 'readers are threads' "$run --set pipeline.unit=thread" 'd["read_calls"] > 0'
fits 'null storage' "$IOREEL run base.json --null" \
	'(d["read_calls"], d["read_bytes"], d["cache_share"], d["read_latency"]["p50_us"]) == (0, 0, None, None)'
fits 'one step: no AU' "$run --set total_steps=1" 'd["au_percent"] is None'
w set base.json evaluation.files=3 evaluation.samples_per_file=2 evaluation.every_epochs=1 evaluation.batch=2 \
	evaluation.step_ns=2000000 checkpoint.every_steps=5 'checkpoint.files=[{"bytes": 100000}]' >all.json
"$IOREEL" gen -q all.json ds.all
fits 'evaluation and checkpoints' "$IOREEL run all.json --data ds.all" 'd["evaluation_s"] > 0 and d["checkpoints"] == 6'
w set all.json epochs=0 evaluation.every_epochs=0 checkpoint.every_steps=0 checkpoint.writes=3 checkpoint.reads=3 >alone.json
fits 'checkpoints alone' "$IOREEL run alone.json --data ds.all --checkpoints ck" \
	'd["steps"] == 0 and d["epochs"] == [] and d["write_bytes"] == d["read_bytes"] == 300000'
if [ -x "$O/ioreel-mpi" ]; then
	fits '2 ranks' "mpirun --allow-run-as-root --oversubscribe -n 2 $O/ioreel-mpi run base.json --data ds" \
		'd["ranks"] == 2 and d["time"]["barrier_s"] > 0'
fi
check 'fewer ranks than those of the job are said' '
	$run --set ranks=2 | grep -q "^ranks  *1, the job had 2: mpirun -n 2 ioreel-mpi run" &&
	! $run | grep -q "^ranks"'
w set base.json job.steps=30 job.read_bytes=1000000 job.read_calls=10 >job.json
fits 'a run of as many steps as the job has its reads beside it' "$IOREEL run job.json --data ds" \
	'd["job"] == {"read_bytes": 1000000, "read_calls": 10}'
fits 'not one of other steps' "$IOREEL run job.json --data ds --set epochs=1" 'd["job"] is None'
fits 'nor one without reads' "$IOREEL run job.json --null" 'd["job"] is None'
check 'the difference is said' '"$IOREEL" run job.json --data ds >out
	grep -q "^the job read  1.00 MB in 10 calls; this run: bytes [2-9][.0-9]* times, calls [0-9.]* times" out || { cat out; false; }'
check 'stopped by a signal' '"$IOREEL" run base.json --data ds --json --set compute.step_ns=50000000 >r.json 2>err & pid=$!
	sleep 1; kill -INT $pid; wait $pid; [ $? = 130 ] && python3 valid.py "$schema" r.json && grep -q "\"complete\": false" r.json'

$run --json >r.json
check 'a key that is not in the schema' 'sed "s/\"wall_s\":/\"other\": 1, &/" r.json >x.json && ! python3 valid.py "$schema" x.json'
check 'a key that is missing' 'sed "/\"read_calls\"/d" r.json >x.json && ! python3 valid.py "$schema" x.json'
check 'a text for a number' 'sed "s/\"samples\": [0-9]*/\"samples\": \"1\"/" r.json >x.json &&
	! cmp -s x.json r.json && ! python3 valid.py "$schema" x.json'
finish
