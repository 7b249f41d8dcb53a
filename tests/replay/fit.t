#!/bin/bash
# SPDX-License-Identifier: MIT
# fit: the workload of a recorded training job is that of its program, and the
# benchmark of it makes the job's reads.
. "$(dirname "$0")/../lib/tap.sh"
export IOREEL_HOOKS=$TOP/preload/python PYTHONDONTWRITEBYTECODE=1
unset PYTHONPATH
job=$TOP/tests/jobs/fit_jobs.py

# python_with MODULE...: the first Python that has them all.
python_with() {
	for p in python3 /usr/bin/python3; do
		"$p" -c 'import sys
from importlib.util import find_spec
sys.exit(not all(find_spec(m) for m in sys.argv[1:]))' "$@" 2>/dev/null && echo "$p" && return
	done
}

# key FILE PATH: the value of a key of a workload.
key() {
	python3 -c 'import json, sys
v = json.load(open(sys.argv[1]))
for part in sys.argv[2].split("."): v = v[part]
print(json.dumps(v))' "$@"
}

# fits CASE MODULES KEY=VALUE...: record the job, fit it, run the benchmark.
fits() {
	local case=$1 python k
	python=$(python_with $2)
	shift 2
	if [ -z "$python" ]; then
		skip "$case" 'a Python module of the job is missing'
		return
	fi
	"$python" "$job" make "$case" "$case" --samples ${samples:-160} 2>/dev/null
	"$IOREEL" record -q -o "$case.reel" -- "$python" "$job" train "$case" "$case" --epochs ${epochs:-2} 2>err ||
		cat err
	check "$case: fit" "ioreel fit -q '$case.reel' -o '$case.json' && ioreel workload check '$case.json'"
	for k; do
		is "$case: $k" "$(key "$case.json" "${k%%=*}")" "${k#*=}"
	done
	check "$case: gen and run" "ioreel gen -q '$case.json' '$case.gen' &&
		ioreel run -q '$case.json' --data '$case.gen' -o '$case.run.db'"
	ioreel compare --json --class data "$case.reel" "$case.run.db" >compared
	check "$case: the benchmark reads what the job reads" "python3 -c '
import json
d = json.load(open(\"compared\"))
f = {x[\"name\"]: x for x in d[\"factors\"]}
sizes = {x[\"name\"]: x for x in d[\"distributions\"]}[\"size of reads\"]
for x in f.values():
    if x[\"unit\"] not in (\"ns\", \"B/s\"): print(x[\"name\"], x[\"a\"], x[\"b\"], x[\"d\"])
print(sizes)
assert all(abs(x[\"d\"] or 0) <= 0.1 for x in f.values() if x[\"unit\"] not in (\"ns\", \"B/s\")
           and (x[\"unit\"] != \"%\" or max(x[\"a\"], x[\"b\"]) >= ${chance:-0}))
assert abs(f[\"bytes read\"][\"d\"]) < 0.02
assert sizes[\"ks\"] <= ${ks:-0.02}'"
}

common='dataset.files=160 dataset.samples_per_file=1'
loader='epochs=2 pipeline.batch=8 pipeline.readers=2 pipeline.unit="process"
	pipeline.prefetch=2'
fits npz 'torch numpy' dataset.format='"npz"' $common $loader pipeline.order='"shuffle"'
# One epoch: the readers of the benchmark stay, those of the job are new in each.
epochs=1 fits npy 'torch numpy' dataset.format='"npy"' $common ${loader/epochs=2/epochs=1} \
	pipeline.order='"shuffle"'
fits evaluated 'torch numpy' dataset.files=128 dataset.folders=0 $loader pipeline.order='"shuffle"' \
	evaluation.files=32 evaluation.samples_per_file=1 evaluation.every_epochs=1 evaluation.batch=16
# A few reads in random order follow each other by chance.
chance=5 fits records torch dataset.format='"raw"' dataset.files=1 dataset.samples_per_file=160 \
	dataset.sample_bytes=4096 $loader pipeline.order='"shuffle"' access.chain='[]'
fits rows torch dataset.format='"csv"' $common $loader pipeline.order='"shuffle"'
fits lines torch dataset.format='"raw"' dataset.files=8 epochs=2 pipeline.readers=2
# One of eight reads is the directory of the archive: it is as long as the names of its
# members, which the benchmark does not have.
ks=0.126 fits members 'torch numpy' dataset.format='"npz"' dataset.labels=false $common $loader
if [ -d members.gen ]; then
	check 'members: the archives are as large as those of the job' '
		bytes() { find "$1" -name "*.npz" -printf "%s\n" | awk "{ n += \$1 } END { print n }"; }
		a=$(bytes members) b=$(bytes members.gen)
		echo "$a $b"; [ $((100 * (a - b))) -lt $((2 * a)) ] && [ $((100 * (b - a))) -lt $((2 * a)) ]'
else
	skip 'members: the archives are as large as those of the job' 'no NumPy or torch'
fi
# Each file is opened by each worker in each epoch: reads of samples outnumber those.
samples=1600 fits h5py 'torch h5py' dataset.format='"hdf5"' dataset.files=8 \
	dataset.samples_per_file=200 $loader pipeline.order='"shuffle"'
fits webdataset 'torch webdataset' dataset.format='"tar"' dataset.files=8 \
	dataset.samples_per_file=20 $loader pipeline.order='"sequential"'
fits keras 'tensorflow keras' dataset.format='"tfrecord"' dataset.files=8 \
	dataset.samples_per_file=20 epochs=2 pipeline.batch=8 pipeline.readers=1 \
	pipeline.unit='"thread"' pipeline.order='"sequential"'

# A thread that reads ahead, and works for 2 ms on each sample.
mkdir threads
for i in $(seq 80); do
	head -c 65536 /dev/urandom >"threads/$i.bin"
done
cat >threads.py <<'PY'
import ioreel, os, queue, threading, time
batches = queue.Queue(3)
def read():
    for epoch in range(2):
        batch = []
        for name in sorted(os.listdir("threads")):
            fd = os.open("threads/" + name, os.O_RDONLY)
            batch.append(os.read(fd, 65536))
            os.close(fd)
            time.sleep(0.002)
            if len(batch) == 4:
                batches.put(batch)
                batch = []
reader = threading.Thread(target=read)
reader.start()
for epoch in range(2):
    with ioreel.span("epoch", epoch):
        for batch in ioreel.steps(batches.get() for _ in range(20)):
            time.sleep(0.01)
            while reader.is_alive() and not batches.full():
                time.sleep(0.001)
PY
"$IOREEL" record -q -o threads.reel -- python3 threads.py
check 'a thread reads ahead: fit' 'ioreel fit -q threads.reel -o threads.json && ioreel workload check threads.json'
is 'a thread reads ahead: its unit, and the batches that it is ahead' \
	"$(key threads.json pipeline.unit) $(key threads.json pipeline.readers) $(key threads.json pipeline.batch)" '"thread" 1 4'
check 'a thread reads ahead: its work on a sample, and what a step takes to get a batch' 'python3 -c "
import json
d = json.load(open(\"threads.json\"))
work = d[\"preprocess\"][\"sample_ns\"][\"quantiles\"]
print(work, d[\"pipeline\"])
assert work[0] >= 1990000 and d[\"pipeline\"][\"take_ns\"]
"'
is 'a thread reads ahead: the reads of the job' \
	"$(key threads.json job.read_calls) $(key threads.json job.read_bytes)" \
	"$("$IOREEL" sql --format tsv threads.reel "SELECT sum(reads) || ' ' || sum(read_bytes) AS r FROM v_file
		WHERE class = 'data' AND read_bytes > 0 AND write_bytes = 0" | tail -n 1)"
check 'a thread reads ahead: gen and run' 'ioreel gen -q threads.json threads.gen &&
	ioreel run -q threads.json --data threads.gen --json >threads.out &&
	[ "$(key threads.out samples)" = 160 ]'

# A log that marks a checkpoint and has no write of it.
cat >marked.pfw <<'EOF'
[
{"id":"1","name":"open64","cat":"POSIX","pid":"7","tid":"7","ts":"1000","dur":"10","ph":"X","args":{"hostname":"h","ret":"3","fname":"/d/a.npy"}}
{"id":"2","name":"read","cat":"POSIX","pid":"7","tid":"7","ts":"1020","dur":"10","ph":"X","args":{"hostname":"h","fd":"3","ret":"4096","count":"4096","fname":"/d/a.npy"}}
{"id":"3","name":"TorchFramework.checkpoint","cat":"ai_framework","pid":"7","tid":"7","ts":"1100","dur":"500","ph":"X","args":{"hostname":"h"}}
EOF
check 'a marked checkpoint without a write is not said to be none' \
	'ioreel fit marked.pfw -o marked.json 2>reasons &&
	grep -q "^checkpoint  *0 %  1 checkpoint was marked, but the recording has no write of it" reasons'
finish
