#!/bin/sh
# SPDX-License-Identifier: MIT
# Files that are read whole, of which several steps take their samples.
. "$(dirname "$0")/../lib/tap.sh"
command -v python3 >/dev/null || skip_all 'python3 is missing'
IOREEL_HOOKS=$TOP/preload/python
export IOREEL_HOOKS

# An npy of 35 rows of 6,000 bytes, an archive of it as torch.save() and np.savez() make
# them, and bytes of no format.
python3 - <<'PY'
import os, zipfile
row, rows = 6000, 35
text = "{'descr': '|u1', 'fortran_order': False, 'shape': (%d, %d), }" % (rows, row)
npy = b"\x93NUMPY\1\0\x76\0" + text.ljust(117).encode() + b"\n" + os.urandom(row * rows)
for suffix in "npy", "npz", "pt", "raw":
    os.mkdir(suffix)
for i in range(10):
    open("npy/%d.npy" % i, "wb").write(npy)
    open("raw/%d.raw" % i, "wb").write(npy)
    with zipfile.ZipFile("npz/%d.npz" % i, "w") as z:
        z.writestr("x.npy", npy)
    with zipfile.ZipFile("pt/%d.pt" % i, "w") as z:
        for name in "data.pkl", "version", "byteorder":
            z.writestr("archive/" + name, "text")
        z.writestr("archive/data/0", npy)
PY

# A worker reads all its files, the loop has 11 batches of 32 rows of each epoch.
cat >job.py <<'PY'
import ioreel, os, sys, zipfile
suffix, workers = sys.argv[1], int(sys.argv[2])
def read(i):
    path = "%s/%d.%s" % (suffix, i, suffix)
    if suffix in ("npz", "pt"):
        with zipfile.ZipFile(path) as z:
            for name in z.namelist():
                z.read(name)
    else:
        with open(path, "rb", buffering=0) as f:
            f.read(128)
            f.readall()
def work(worker, until):
    for i in range(worker, until, max(workers, 1)):
        read(i)
for epoch in range(2):
    children = []
    for worker in range(workers):
        children.append(os.fork())
        if not children[-1]:
            work(worker, 10)
            os._exit(0)
    with ioreel.span("epoch", epoch):
        for step in ioreel.steps(range(11)):
            if not workers and step < 10:
                read(step)
    for child in children:
        os.waitpid(child, 0)
PY
# shards NAME SUFFIX WORKERS: fit a recording, and run the benchmark.
shards() {
	"$IOREEL" record -q -o $1.reel -- python3 job.py $2 $3 &&
		"$IOREEL" fit -q $1.reel -o $1.json &&
		"$IOREEL" gen -q $1.json $1.data &&
		"$IOREEL" run -q $1.json --data $1.data --set preprocess.sample_ns=0 \
			--set compute.step_ns=0 --set pipeline.readers=$3 -o $1.db >/dev/null
}
# field NAME EXPRESSION: of the workload.
field() { python3 -c "import json; d = json.load(open('$1.json')); print($2)"; }
# bytes RUN: that were read of the data set.
bytes() { "$IOREEL" sql "$1" "SELECT sum(read_bytes) FROM v_file WHERE class = 'data'" --format tsv | tail -n 1; }
steps() { "$IOREEL" sql "$1" 'SELECT count(*) FROM v_step' --format tsv | tail -n 1; }
sizes="d['dataset']['samples_per_file'], d['dataset']['sample_bytes'], d['pipeline']['batch']"

shards npy npy 0
is 'the rows of an array are samples' "$(field npy "$sizes")" '35 6000 32'
is 'its benchmark has the steps of the job' "$(steps npy.db)" 22
for suffix in npz raw pt; do
	shards $suffix $suffix 0
	is "$suffix: steps that are no multiple of the files" \
		"$(field $suffix "d['dataset']['samples_per_file'], d['pipeline']['batch']"; steps $suffix.db)" \
		'11 10
22'
done
check 'a read of an archive is no sample' 'field pt "[r[\"reason\"] for r in d[\"fit\"]]" |
	grep -q "no read is that of one sample"'
for suffix in raw pt; do
	shards $suffix.2 $suffix 2
	is "$suffix: a worker has files of its own" "$(field $suffix.2 "d['pipeline']['sharded']")" True
	check 'and so has a reader of the benchmark' 'a=$(bytes '$suffix'.2.reel) b=$(bytes '$suffix'.2.db)
		echo $a $b; [ $((100 * b)) -ge $((99 * a)) ] && [ $((100 * b)) -le $((101 * a)) ]'
done
check 'readers that take batches in turn read files again' '
	"$IOREEL" run -q pt.2.json --data pt.2.data --set preprocess.sample_ns=0 \
		--set compute.step_ns=0 --set pipeline.readers=2 --set pipeline.sharded=false -o turns.db >/dev/null
	a=$(bytes pt.2.reel) b=$(bytes turns.db); echo $a $b; [ $((10 * b)) -ge $((13 * a)) ]'
if command -v mpirun >/dev/null && [ -x "$O/ioreel-mpi" ]; then
	check 'not where all ranks read each batch together' '
		! mpirun --allow-run-as-root --oversubscribe -n 1 "$O/ioreel-mpi" run raw.2.json \
			--data raw.2.data --set access.chain=[] --set access.api=mpiio \
			--set access.collective=true 2>err; cat err
		grep -q "set pipeline.sharded to false" err'
else
	skip 'not where all ranks read each batch together' 'MPI is missing'
fi
finish
