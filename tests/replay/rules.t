#!/bin/sh
# SPDX-License-Identifier: MIT
# ioreel run --rules: the series of runs, and each rule's verdict and numbers,
# computed again from the output and the machine.
. "$(dirname "$0")/../lib/tap.sh"
python3 -c 'import json' 2>/dev/null || skip_all 'no python3'

w() { "$IOREEL" workload "$@"; }
# judged EXPRESSION: of the result d and the verdicts v by name.
judged() { python3 -c "
import json
d = json.load(open('r.json')); v = {r['rule']: r for r in d['rules_judged']}
print(($1))"; }
cat >t.json <<'J'
{"schema": "ioreel-workload-1", "name": "t", "dataset": {"files": 1000, "sample_bytes": 4096},
 "pipeline": {"batch": 2, "order": "shuffle", "drop_last": true}, "compute": {"step_ns": 300000},
 "rules": {"au_percent": 1}}
J
"$IOREEL" gen -q t.json ds
rules() { "$IOREEL" run -q --json --data ds --rules "$@" >r.json 2>err; }
# fits TITLE: r.json fits its schema.
fits() {
	if python3 -c 'import jsonschema' 2>/dev/null; then
		check "$1: the schema" 'python3 -c "
import json, jsonschema
jsonschema.Draft202012Validator(json.load(open(\"$TOP/schemas/rules.schema.json\"))).validate(json.load(open(\"r.json\")))"'
	else
		skip "$1: the schema" 'no jsonschema'
	fi
}

check 'a data set that is too small fails, exit 3' 'rules mlperf-3.0 t.json; [ $? = 3 ] && grep -q "rules of mlperf-3.0 fail" err'
fits 'a training'
is 'not valid' "$(judged 'd["valid"], v["dataset-size"]["pass"]')" '(False, False)'
memory=$(python3 -c 'import os; print(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))')
is 'its size by the memory of this machine' "$(judged 'd["host_memory_bytes"], int(v["dataset-size"]["bound"])')" \
	"($memory, $(((5 * memory + 4095) / 4096)))"
is 'a warm-up and five runs' "$(judged '[r["warm_up"] for r in d["runs"]]')" '[True, False, False, False, False, False]'
is 'the seed changes in each' "$(judged '[r["seed"] for r in d["runs"]], len({r["order"] for r in d["runs"]}), v["seeds"]["pass"]')" \
	'([1, 2, 3, 4, 5, 6], 6, True)'
is 'the lowest AU of the measured runs' "$(judged 'v["utilization"]["is"] == min(r["au_percent"] for r in d["runs"][1:])')" True
is 'the spread of the measured runs' "$(judged '(lambda s: abs(v["spread"]["is"] - (max(s) - min(s)) / (sum(s) / 5)) < 1e-9 and
	v["spread"]["pass"] == (v["spread"]["is"] <= 0.05))([r["samples_per_s"] for r in d["runs"][1:]])')" True
# 500 steps of 2 samples are 1000; 5 times 819,200 bytes are 1000 samples of 4096.
check 'exactly enough samples' 'rules mlperf-3.0 t.json --memory 800K; [ $? = 3 ]
	[ "$(judged "v[\"dataset-size\"][\"pass\"], v[\"memory\"][\"pass\"]")" = "(True, False)" ]'
check 'a sample more is needed: by memory' 'rules mlperf-3.0 t.json --memory 819201; [ "$(judged "v[\"dataset-size\"][\"pass\"], v[\"dataset-size\"][\"bound\"]")" = "(False, 1001.0)" ]'
check 'by steps' 'rules mlperf-3.0 t.json --memory 1 --set pipeline.batch=4; [ "$(judged "v[\"dataset-size\"][\"pass\"], v[\"dataset-size\"][\"bound\"]")" = "(False, 2000.0)" ]'
check 'AU below the bar' 'rules mlperf-3.0 t.json --memory 1 --set rules.au_percent=100; [ "$(judged "v[\"utilization\"][\"pass\"]")" = False ]'
check 'no bar given' 'rules mlperf-3.0 t.json --memory 1 --set rules.au_percent=0; [ "$(judged "v[\"utilization\"][\"pass\"]")" = False ]'
check 'an order that stays' 'rules mlperf-3.0 t.json --memory 1 --set pipeline.order=sequential; [ "$(judged "v[\"seeds\"][\"pass\"], v[\"seeds\"][\"is\"]")" = "(False, 1.0)" ]'
# Streams shuffle files, and one file has one order.
sed 's/"files": 1000/"files": 1, "samples_per_file": 9, "format": "tfrecord"/' t.json >one.json
check 'one file of a stream: its order cannot change' '"$IOREEL" gen -q one.json one &&
	{ "$IOREEL" run -q --json --data one --rules mlperf-3.0 one.json >r.json 2>err; [ $? = 3 ]; } &&
	[ "$(judged "v[\"seeds\"][\"pass\"], v[\"seeds\"][\"is\"], v[\"seeds\"][\"bound\"]")" = "(True, 1.0, 1.0)" ]'
check 'a scale is no submission' '"$IOREEL" gen -q --scale 1/2 t.json half; "$IOREEL" run -q --json --scale 1/2 --data half --rules mlperf-3.0 t.json >r.json 2>err; [ $? = 3 ] &&
	[ "$(judged "v[\"scale\"][\"pass\"]")" = False ] && [ "$(judged "v[\"scale\"][\"text\"]")" = "--scale 0.5: no valid submission" ]'
check 'mlperf-2.0 has no rule on file systems' 'rules mlperf-2.0 t.json; [ "$(judged "d[\"rules\"], \"file-systems\" in v, \"spread\" in v")" = "('"'mlperf-2.0'"', False, True)" ]'
rules mlperf-3.0 t.json
is 'one file system' "$(judged 'v["file-systems"]["pass"]')" False
if [ "$(stat -c %d . 2>/dev/null)" != "$(stat -c %d /dev/shm 2>/dev/null)" ] && [ -d /dev/shm ]; then
	check 'two file systems' 'rules mlperf-3.0 --results /dev/shm t.json; [ "$(judged "v[\"file-systems\"][\"pass\"]")" = True ]'
else
	skip 'two file systems' 'no second one here'
fi
check 'as text: a line by rule' '"$IOREEL" run -q --data ds --rules mlperf-3.0 t.json >out 2>err; [ $? = 3 ] &&
	[ "$(grep -c "^\(pass\|FAIL\)  " out)" = 8 ] && grep -q "^FAIL  dataset-size .*1,000 samples of at least" out && grep -q "no valid submission" out'
check 'rules that are none' '"$IOREEL" run --data ds --rules mlperf-1.0 t.json 2>err; [ $? = 2 ]'
check 'rules of null storage' '"$IOREEL" run --null --rules mlperf-3.0 t.json 2>err; [ $? = 2 ]'
check 'a rule that must fail is said before the runs' '! "$IOREEL" run --data ds --rules mlperf-3.0 t.json >out 2>err &&
	grep -q "dataset-size will fail: 1,000 samples of at least" err && ! grep -q "utilization will fail" err'
check 'options of rules alone' '"$IOREEL" run --null --memory 1G t.json 2>err; [ $? = 2 ] && grep -q "need --rules" err &&
	{ "$IOREEL" run --null --results . t.json 2>err; [ $? = 2 ]; }'
check 'a signal ends the series' '"$IOREEL" run -q --json --data ds --rules mlperf-3.0 --set compute.step_ns=20000000 t.json >r.json 2>err & pid=$!
	sleep 1; kill -TERM $pid; wait $pid; [ $? = 3 ] && [ "$(judged "len(d[\"runs\"]), v[\"runs\"][\"pass\"], d[\"runs\"][0][\"complete\"]")" = "(1, False, False)" ]'
if [ -x "$O/ioreel-mpi" ]; then
	check 'two ranks on one host' 'mpirun --allow-run-as-root --oversubscribe -n 2 "$O/ioreel-mpi" run -q --json --data ds --rules mlperf-3.0 t.json --memory 1 >o 2>err
		[ $? = 3 ] && sed -n "/^{/,/^}/p" o >r.json && [ "$(grep -c "rules of mlperf" err)" = 1 ] &&
		[ "$(judged "d[\"accelerators\"], d[\"hosts\"], v[\"dataset-size\"][\"bound\"]")" = "(2, 1, 2000.0)" ]'
fi

# --- checkpoints --------------------------------------------------------------
cat >k.json <<'J'
{"schema": "ioreel-workload-1", "name": "k", "epochs": 0, "ranks": 1, "dataset": {"files": 0},
 "checkpoint": {"writes": 10, "reads": 10, "files": [{"owner": "shard", "bytes": 3000000, "fsync": true}, {"owner": "all", "bytes": 1000}]},
 "rules": {"accelerator_memory_bytes": 3001000}}
J
mkdir ck
check 'checkpoints: ten, read from storage' '"$IOREEL" run -q --json --data ck --rules mlperf-3.0 k.json >r.json 2>err; [ $? = 3 ] &&
	[ "$(judged "v[\"checkpoint-counts\"][\"pass\"], v[\"processes\"][\"pass\"], v[\"checkpoint-gap\"][\"pass\"], len(d[\"runs\"])")" = "(True, True, True, 1)" ]'
fits 'checkpoints'
is 'a file that is not synced' "$(judged 'v["checkpoint-sync"]["pass"], v["checkpoint-sync"]["is"], v["checkpoint-sync"]["bound"]')" '(False, 1.0, 2.0)'
is 'memory of accelerators that is just enough' "$(judged 'v["accelerator-memory"]["pass"], v["accelerator-memory"]["bound"]')" '(True, 3001000.0)'
is 'data and cache' "$(judged 'v["checkpoint-cache"]["is"], v["checkpoint-cache"]["bound"], v["checkpoint-cache"]["pass"] == (d["runs"][0]["cache_share"] is not None and d["runs"][0]["cache_share"] <= 0.05)')" \
	"(30010000.0, $((3 * memory)).0, True)"
check 'a byte too little' '"$IOREEL" run -q --json --data ck --rules mlperf-3.0 k.json --set rules.accelerator_memory_bytes=3000999 >r.json 2>err
	[ "$(judged "v[\"accelerator-memory\"][\"pass\"]")" = False ]'
check 'other processes than the model has' '"$IOREEL" run -q --json --data ck --rules mlperf-3.0 k.json --set ranks=8 --set checkpoint.reads=9 >r.json 2>err
	[ "$(judged "v[\"processes\"][\"pass\"], v[\"checkpoint-counts\"][\"pass\"]")" = "(False, False)" ]'
if [ -d /dev/shm ] && [ -w /dev/shm ]; then
	check 'a file system that is memory: the cache was not emptied' 'd=$(mktemp -d /dev/shm/ioreel-rules.XXXXXX)
		"$IOREEL" run -q --json --data "$d" --rules mlperf-3.0 k.json >r.json 2>err; rm -r "$d"
		[ "$(judged "v[\"checkpoint-cache\"][\"pass\"], d[\"runs\"][0][\"cache_share\"]")" = "(False, 1.0)" ]'
else
	skip 'a file system that is memory' 'no /dev/shm'
fi
finish
