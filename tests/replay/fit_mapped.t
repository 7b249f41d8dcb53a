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
	check "$mode: fit" '"$IOREEL" fit job.reel -o job.json 2>why'
	[ $mode = faults ] ||
		check 'faults may show the samples' 'grep -q "^dataset.samples_per_file .*; ioreel record --mmap faults may show them" why'
	is "$mode: the benchmark maps it" "$(key '["access"]["api"]') $(key '["dataset"]["format"]')" 'mmap npy'
	"$IOREEL" gen -q job.json d
	check "$mode: it runs" '"$IOREEL" run -q --json job.json --data d >r.json'
	is "$mode: its steps" "$(python3 -c 'import json; print(json.load(open("r.json"))["steps"])')" 80
done

# A loop without a loader or epochs, whose batches map one of two files anew and touch a
# large part of it; every 20 steps it evaluates on both, and saves.
head -c 400000 /dev/urandom >train.bin
head -c 100000 /dev/urandom >val.bin
cat >anew.py <<'PY'
import mmap, ioreel
def batch(name):
    with open(name, "rb") as f:
        array = mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ)
    bytes(array[::4096])
for step in range(61):
    if step % 20 == 0:
        for i in range(10):
            batch("train.bin")
            batch("val.bin")
        if step:
            with ioreel.span("checkpoint"):
                open("model.pt", "wb").write(b"x" * 100000)
    batch("train.bin")
    with ioreel.span("backward"):
        pass
    with ioreel.span("optimizer"):
        pass
PY
"$IOREEL" record -q -o anew.reel -- python3 anew.py
rm -rf d
check 'files that steps map anew: fit' '"$IOREEL" fit anew.reel -o job.json 2>why'
check 'their mappings are no epochs' 'grep -q "^epochs .*no epoch was marked, and the steps map" why'
is 'they are saved by steps' "$(key '["checkpoint"]["every_steps"]')" 20
"$IOREEL" gen -q job.json d
"$IOREEL" run -q --json job.json --data d >r.json
is 'as many steps' "$(python3 -c 'import json; print(json.load(open("r.json"))["steps"])')" 61

# A mapping that stays has a fault for a page once: most steps have none, and those of the
# others are no samples.
cat >stays.py <<'PY'
import mmap, random, ioreel
random.seed(1)
with open("tokens.npy", "rb") as f:
    array = mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ)
order = random.sample(range(4000), 400)
for step in range(40):
    with ioreel.span("step", step):
        for i in order[100 * (step % 4):100 * (step % 4) + 100]:
            array[128 + 4096 * i]
PY
rm -rf d
"$IOREEL" record -q --mmap faults -o stays.reel -- python3 stays.py
check 'steps without faults: fit' '"$IOREEL" fit stays.reel -o job.json 2>why'
check 'steps without faults: these are no samples' 'grep -q "^dataset.samples_per_file .*a step counts as one$" why'
"$IOREEL" gen -q job.json d
"$IOREEL" run -q job.json --data d -o run.db >out
"$IOREEL" compare --json --class data stays.reel run.db >compared
check 'steps without faults: as many bytes are mapped' 'python3 -c "
import json
f = {x[\"name\"]: x for x in json.load(open(\"compared\"))[\"factors\"]}[\"bytes read\"]
assert abs(f[\"d\"]) < 0.05, f"'
finish
