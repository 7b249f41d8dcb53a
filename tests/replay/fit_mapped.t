#!/bin/sh
# SPDX-License-Identifier: MIT
# ioreel fit of an array that numpy.load() maps: the benchmark maps its file, too, and
# has as many steps.
. "$(dirname "$0")/../lib/tap.sh"
command -v python3 >/dev/null || skip_all 'python3 is missing'

# key PATH: the value of a key.
key() { python3 -c "import json; print(json.load(open('job.json'))$1)"; }
head -c $((128 + 4096 * 4000)) /dev/urandom >tokens.npy
cat >job.py <<'PY'
import mmap, random, time, ioreel
random.seed(1)
with open("tokens.npy", "rb") as f:
    f.read(128)
    array = mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ)
for epoch in range(2):
    with ioreel.span("epoch", epoch):
        for step in range(40):
            with ioreel.span("step", step):
                with ioreel.span("fetch"):
                    for i in random.sample(range(4000), 10):
                        array[128 + 4096 * i:128 + 4096 * (i + 1)]
                time.sleep(0.002)
PY
for mode in pages faults; do
	rm -rf job.reel d
	"$IOREEL" record -q --mmap $mode -o job.reel -- python3 job.py
	check "$mode: fit" '"$IOREEL" fit -q job.reel -o job.json'
	is "$mode: the benchmark maps it" "$(key '["access"]["api"]') $(key '["dataset"]["format"]')" 'mmap npy'
	"$IOREEL" gen -q job.json d
	check "$mode: it runs" '"$IOREEL" run -q --json job.json --data d >r.json'
	is "$mode: its steps" "$(python3 -c 'import json; print(json.load(open("r.json"))["steps"])')" 80
done
finish
