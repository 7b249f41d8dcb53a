#!/bin/sh
# SPDX-License-Identifier: MIT
# access.looks: a library that opens a file to find out its format before it opens it to
# read. fit tells these opens from samples, and the benchmark makes them.
. "$(dirname "$0")/../lib/tap.sh"
command -v python3 >/dev/null || skip_all 'python3 is missing'

sql() { "$IOREEL" sql "$@" | tail -n +2; }
key() { python3 -c "import json; d = json.load(open('job.json')); print($1)"; }

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
random.seed(3)
for epoch in range(3):
    with ioreel.span("epoch"):
        order = random.sample(range(24), 24)
        for step in range(6):
            with ioreel.span("step"):
                with ioreel.span("fetch"):
                    for i in order[4 * step:4 * step + 4]:
                        slices("k/%d.bin" % i) if how == "slices" else read(
                            "k/%d.%s" % (i, how))
                time.sleep(0.003)
        if how == "bin":
            with ioreel.span("eval"):
                for i in range(4):
                    with ioreel.span("fetch"):
                        read("v/%d.bin" % i)
PY
for how in bin jpg slices; do
	rm -rf job.reel job.json job.db d run.db
	PYTHONPATH="$TOP/preload/python" "$IOREEL" record -q -o job.reel -- python3 job.py $how
	"$IOREEL" load -q job.reel -o job.db
	"$IOREEL" fit -q job.db -o job.json
	"$IOREEL" gen -q job.json d && "$IOREEL" run -q job.json --data d -o run.db >/dev/null
	case $how in
	bin) looks='2 2 2048' samples=1 ;;
	jpg) looks='1 2 2048' samples=1 ;;
	*) looks='0 1 4096' samples=4 ;;
	esac
	is "$how: looks" "$(key '*(d["access"][k] for k in ("looks", "look_reads", "look_bytes"))')" "$looks"
	is "$how: samples of a file" "$(key 'd["dataset"]["samples_per_file"]')" $samples
	is "$how: batch" "$(key 'd["pipeline"]["batch"]')" $((4 * samples))
	[ $how = bin ] || continue
	job=$(sql job.db "SELECT sum(opens), sum(reads), sum(read_bytes) FROM v_file WHERE path LIKE '%/k/%'")
	is "$how: opens, reads and bytes of the benchmark" "$(sql run.db "SELECT sum(opens), sum(reads),
		sum(read_bytes) FROM v_file WHERE path LIKE '%/train/%' AND read_bytes > 0")" "$job"
done
rm -rf job.reel
PYTHONPATH="$TOP/preload/python" "$IOREEL" record -q -o job.reel -- python3 job.py bin
"$IOREEL" fit -q job.reel -o job.json && rm -rf d && "$IOREEL" gen -q job.json d
is 'an evaluation has its own sizes, not the first ones of the training' \
	"$(find d/valid -type f -printf '%s\n' | sort -n | sed '1s/3.*/small/; $s/[45]..../large/' | sed -n '1p;$p' | tr '\n' ' ')" 'small large '
check 'MPI-IO has none: a fault' '! "$IOREEL" workload set job.json access.api=mpiio access.chain=[] >out 2>&1 &&
	grep -q "access.looks: not with access.api mpiio" out'
finish
