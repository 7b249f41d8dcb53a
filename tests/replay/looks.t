#!/bin/sh
# SPDX-License-Identifier: MIT
# The meaning of an open. access.looks: a library finds out the format before it opens
# the file to read. access.reopen: a file is opened for each of its samples.
# pipeline.repeats: an epoch reads a file several times. fit tells them from one another,
# and the benchmark makes the same calls.
. "$(dirname "$0")/../lib/tap.sh"
command -v python3 >/dev/null || skip_all 'python3 is missing'

sql() { "$IOREEL" sql "$@" | tail -n +2; }
key() { python3 -c "import json; d = json.load(open('job.json')); v = $1; print(*(v if type(v) is tuple else [v]))"; }

mkdir k v
for i in $(seq 0 23); do
	head -c $((30000 + 1000 * i)) /dev/urandom | tee k/$i.bin >k/$i.jpg
done
for i in 0 1 2 3; do
	head -c $((30000 + 6000 * i)) /dev/urandom >v/$i.bin
done
cat >job.py <<'PY'
import os, random, sys, time, ioreel
how = sys.argv[1]
def read(name):
    for look in range(2 if how != "jpg" else 1):
        fd = os.open(name, os.O_RDONLY)
        os.read(fd, 1024)
        os.read(fd, 1024)
        os.close(fd)
    fd = os.open(name, os.O_RDONLY)
    while os.read(fd, 8192):
        pass
    os.close(fd)
def slices(name):
    for place in range(4):
        fd = os.open(name, os.O_RDONLY)
        os.lseek(fd, 7000 * place, 0)
        os.read(fd, 7000)
        os.close(fd)
def whole(i):
    fd = os.open("k/%d.bin" % (i % 24), os.O_RDONLY)
    os.read(fd, 1 << 20)
    os.close(fd)
def take(i):
    if how == "slices":
        slices("k/%d.bin" % i)
    elif how == "pairs":  # two frames that follow one another
        whole(i)
        whole(i + 1)
    elif how == "twice":
        for load in range(2):
            fd = os.open("k/%d.bin" % i, os.O_RDONLY)
            os.read(fd, 512)
            while os.read(fd, 8192):
                pass
            os.close(fd)
    elif how == "chunks":  # three samples in a file that is read whole for each
        whole(i)
    else:
        read("k/%d.%s" % (i, how))
random.seed(3)
n = 72 if how == "chunks" else 24
for epoch in range(3):
    with ioreel.span("epoch"):
        order = random.sample(range(n), n)
        for step in range(n // 4):
            with ioreel.span("step"):
                with ioreel.span("fetch"):
                    for i in order[4 * step:4 * step + 4]:
                        take(i)
                time.sleep(0.003)
        if how == "bin":
            with ioreel.span("eval"):
                for i in range(4):
                    with ioreel.span("fetch"):
                        read("v/%d.bin" % i)
PY
for how in bin jpg slices pairs chunks; do
	rm -rf job.reel job.json job.db d run.db
	PYTHONPATH="$TOP/preload/python" "$IOREEL" record -q -o job.reel -- python3 job.py $how
	"$IOREEL" load -q job.reel -o job.db
	"$IOREEL" fit -q job.db -o job.json
	"$IOREEL" gen -q job.json d && "$IOREEL" run -q job.json --data d -o run.db >/dev/null
	looks='0 1 4096' samples=1 repeats=1 reopen=False batch=4
	case $how in
	bin) looks='2 2 2048' ;;
	jpg) looks='1 2 2048' ;;
	slices) samples=4 reopen=True batch=16 ;;
	pairs) repeats=2 batch=8 ;;
	chunks) repeats=3 ;;
	esac
	is "$how: looks" "$(key 'tuple(d["access"][k] for k in ("looks", "look_reads", "look_bytes"))')" "$looks"
	is "$how: samples of a file, batch" "$(key 'd["dataset"]["samples_per_file"], d["pipeline"]["batch"]')" \
		"$samples $batch"
	is "$how: repeats, a file is opened for each sample" \
		"$(key 'd["pipeline"]["repeats"], d["access"]["reopen"]')" "$repeats $reopen"
	[ $how = jpg ] && continue # its reader has another buffer
	job=$(sql job.db "SELECT sum(opens), sum(reads), sum(read_bytes) FROM v_file WHERE path LIKE '%/k/%'")
	is "$how: opens, reads and bytes of the benchmark" "$(sql run.db "SELECT sum(opens), sum(reads),
		sum(read_bytes) FROM v_file WHERE path LIKE '%/train/%' AND read_bytes > 0")" "$job"
done
# A file that is loaded twice, as its data and again for its shape.
rm -rf job.reel d
PYTHONPATH="$TOP/preload/python" "$IOREEL" record -q -o job.reel -- python3 job.py twice
"$IOREEL" fit -q job.reel -o job.json && "$IOREEL" gen -q job.json d && "$IOREEL" run -q job.json --data d -o run.db >/dev/null
is 'files that are read whole twice: the look does so' \
	"$(key 'tuple(d["access"][k] for k in ("looks", "look_whole"))') $(key 'd["dataset"]["files"], d["pipeline"]["batch"]')" '1 True 24 4'
is 'files that are read whole twice: opens, reads and bytes of the benchmark' "$(sql run.db "SELECT sum(opens), sum(reads),
	sum(read_bytes) FROM v_file WHERE path LIKE '%/train/%' AND read_bytes > 0")" \
	"$(sql job.reel "SELECT sum(opens), sum(reads), sum(read_bytes) FROM v_file WHERE path LIKE '%/k/%'")"
rm -rf job.reel
PYTHONPATH="$TOP/preload/python" "$IOREEL" record -q -o job.reel -- python3 job.py bin
"$IOREEL" fit -q job.reel -o job.json && rm -rf d && "$IOREEL" gen -q job.json d
is 'an evaluation has its own sizes, not the first ones of the training' \
	"$(find d/valid -type f -printf '%s\n' | sort -n | sed '1s/3.*/small/; $s/[45]..../large/' | sed -n '1p;$p' | tr '\n' ' ')" 'small large '
check 'MPI-IO has none: a fault' '! "$IOREEL" workload set job.json access.api=mpiio access.chain=[] >out 2>&1 &&
	grep -q "access.looks: not with access.api mpiio" out'
# --- run ---
for format in raw npy hdf5 npz tfrecord jpeg; do
	[ $format = npz ] || [ $format = jpeg ] && samples=1 || samples=5
	printf '{"schema": "ioreel-workload-1", "name": "o", "epochs": 2, "dataset": {"format": "%s", "files": 6, "samples_per_file": %d, "sample_bytes": 5000}, "pipeline": {"readers": 2, "batch": 3, "order": "shuffle"}}' $format $samples >w.json
	rm -rf d && "$IOREEL" gen -q w.json d || { "$IOREEL" gen w.json d 2>&1 | grep -q 'this build has no' && continue; }
	"$IOREEL" run -q w.json --data d --json --set pipeline.repeats=2 >job.json
	is "$format, repeated: each sample twice in an epoch" \
		"$(key '(*[e["samples"] for e in d["epochs"]], len({e["checksum"] for e in d["epochs"]}))')" \
		"$((12 * samples)) $((12 * samples)) 1"
	rm -f run.db
	if "$IOREEL" run -q w.json --data d -o run.db --set access.reopen=true >out 2>err; then
		is "$format: an open for each sample" "$(sql run.db "SELECT sum(opens) FROM v_file WHERE read_bytes > 0")" $((12 * samples))
	else
		check "$format: a stream is not opened in its middle" '[ "${format#tf}" != "$format" -o $format = npy ] &&
			grep -q "access.reopen: this reader reads a file from its begin to its end" err'
	fi
done
finish
