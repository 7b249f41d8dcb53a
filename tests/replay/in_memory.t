#!/bin/sh
# SPDX-License-Identifier: MIT
# pipeline.in_memory: a job that keeps its data set in memory reads it once, before its
# first step or in its first epoch. The benchmark does so, and fit finds it.
. "$(dirname "$0")/../lib/tap.sh"

sql() { "$IOREEL" sql "$@" | tail -n +2; }
# of a document of JSON, without the format of a tuple
member() { python3 -c "import json; d = json.load(open('$1')); v = $2; print(*(v if type(v) is tuple else (v,)))"; }

cat >w.json <<'JSON'
{"schema": "ioreel-workload-1", "name": "kept", "epochs": 3,
 "dataset": {"format": "npz", "files": 12, "sample_bytes": 20000},
 "pipeline": {"batch": 4, "order": "shuffle"}, "compute": {"step_ns": 1000000},
 "evaluation": {"files": 2, "every_epochs": 1, "step_ns": 100000}}
JSON
"$IOREEL" gen -q w.json d
"$IOREEL" run -q w.json --data d --json >all.out
all=$(member all.out 'd["read_bytes"] // 3')
for readers in 0 2; do for unit in process thread; do for kept in preloaded cached; do
	rm -f w.db
	"$IOREEL" run -q w.json --data d --set pipeline.in_memory=$kept --set pipeline.readers=$readers \
		--set pipeline.unit=$unit -o w.db --json >out
	is "$kept, $readers readers ($unit): each byte once, all samples in each epoch" \
		"$(member out 'd["read_bytes"], [e["samples"] for e in d["epochs"]]')" "$all [12, 12, 12]"
	# The second epoch of the job is behind its first evaluation.
	[ $kept = cached ] && first=1 || first=0
	is "$kept, $readers readers ($unit): when it reads" "$(sql w.db "SELECT count(*) FROM v_event
		WHERE call_group = 'read' AND bytes > 0 AND start_ns > (SELECT min(start_ns) FROM v_step
		WHERE epoch = (SELECT min(epoch) + $first FROM v_step))")" 0
done; done; done
is 'the times of the stepping thread are its wall time' \
	"$(member out 'abs(sum(d["time"].values()) - d["wall_s"]) < 0.01 * d["wall_s"]')" True
if [ -x "$O/ioreel-mpi" ] && command -v mpirun >/dev/null; then
	for kept in preloaded:2 cached:1; do
		timeout 120 mpirun --allow-run-as-root --oversubscribe -n 2 "$O/ioreel-mpi" run -q w.json --data d \
			--set evaluation.every_epochs=0 --set pipeline.in_memory=${kept%:*} --json >out 2>err
		"$IOREEL" run -q w.json --data d --set evaluation.every_epochs=0 --set epochs=1 --json >one.out
		is "two ranks, ${kept%:*}: of each rank all or its part" \
			"$(member out 'd["read_bytes"]')" "$(member one.out "d['read_bytes'] * ${kept#*:}")"
	done
fi
check 'with collective reads it is a fault' '! "$IOREEL" workload set w.json pipeline.in_memory=cached \
	access.api=mpiio access.collective=true dataset.format=raw >out 2>&1 &&
	grep -q "pipeline.in_memory: not with access.collective" out'
"$IOREEL" workload set w.json pipeline.in_memory=preloaded >kept.json
"$IOREEL" workload export kept.json --as fio >kept.fio 2>err
is 'fio reads its files once' "$(grep -c '^loops=1$' kept.fio)" 1
"$IOREEL" workload export kept.json --as dlio >kept.yaml 2>err
check 'DLIO cannot' 'cat kept.yaml err | grep -q "pipeline.in_memory"'

command -v python3 >/dev/null || { finish; exit; }
# --- fit: all is read before the first step, or what a step needs in the first epoch ---
head -c 1000000 /dev/urandom >all.npz
mkdir p
for i in $(seq 24); do
	head -c $((3000 + 100 * i)) /dev/urandom >p/$i.jpg
done
cat >job.py <<'PY'
import os, random, sys, time, ioreel
kept = sys.argv[1]
samples = {}
def sample(i):
    if i not in samples or kept == "nothing":
        with open("p/%d.jpg" % (i + 1), "rb", buffering=0) as f:
            samples[i] = f.read()
if kept == "preloaded":
    for i in range(24):
        sample(i)
if kept == "one-file":
    with open("all.npz", "rb", buffering=0) as f:
        f.read()
    samples = dict.fromkeys(range(24))
random.seed(3)
for epoch in range(3):
    with ioreel.span("epoch"):
        order = random.sample(range(24), 24)
        for step in range(6):
            with ioreel.span("step"):
                with ioreel.span("fetch"):
                    for i in order[4 * step:4 * step + 4]:
                        sample(i)
                    time.sleep(0.002)
                time.sleep(0.005)
PY
for kept in nothing preloaded cached one-file; do
	PYTHONPATH="$TOP/preload/python" "$IOREEL" record -q -o $kept.reel -- python3 job.py $kept
	"$IOREEL" fit $kept.reel -o $kept.json 2>why
	[ $kept = one-file ] && word=preloaded || word=$kept
	is "fit: $kept" "$(member $kept.json 'd["pipeline"]["in_memory"]')" $word
	rm -rf f.d && "$IOREEL" gen -q $kept.json f.d
	"$IOREEL" run -q $kept.json --data f.d --json >out
	"$IOREEL" load -q $kept.reel -o job.db
	is "fit: $kept: steps" "$(member out 'd["steps"]')" 18
	read_bytes=$(sql job.db "SELECT sum(read_bytes) FROM v_file WHERE path LIKE '%.jpg' OR path LIKE '%.npz'")
	is "fit: $kept: bytes, within 2 %" "$(member out "abs(d['read_bytes'] / $read_bytes - 1) < 0.02")" True
done
# A job that ends soon after its second epoch began shows no cache.
sed 's/for step in range(6)/for step in range(6 if not epoch else 1 if epoch < 2 else 0)/' job.py >short.py
PYTHONPATH="$TOP/preload/python" "$IOREEL" record -q -o short.reel -- python3 short.py cached
"$IOREEL" fit -q short.reel -o short.json
is 'fit: a second epoch of one step' "$(member short.json 'd["pipeline"]["in_memory"]')" nothing
is 'fit: a step that finds its samples in memory still works on them (0.5 ms each)' \
	"$(member preloaded.json '0.02e6 < d["preprocess"]["sample_ns"]["quantiles"][0] < 3e6')" True
finish
