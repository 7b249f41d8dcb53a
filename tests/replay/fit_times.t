#!/bin/sh
# SPDX-License-Identifier: MIT
# ioreel fit of readers that are threads: the wait for an epoch's first read.
. "$(dirname "$0")/../lib/tap.sh"
command -v python3 >/dev/null || skip_all 'python3 is missing'
export IOREEL_HOOKS=$TOP/preload/python

mkdir d
for i in 0 1 2 3 4 5 6 7 8 9; do
	head -c 20000 /dev/urandom >d/s$i.bin
done
# The reader of an epoch begins 5 ms after the epoch, or before its first step.
cat >job.py <<'PY'
import os, queue, sys, threading, time, ioreel
late = sys.argv[1] == "late"
names = sorted(os.listdir("d"))
def read(batches):
    for name in names:
        with open("d/" + name, "rb") as f:
            batches.put(f.read())
def begin():
    batches = queue.Queue()
    reader = threading.Thread(target=read, args=(batches,))
    reader.start()
    if not late:
        reader.join()
    return batches
for epoch in range(3):
    with ioreel.span("epoch", epoch):
        batches = None if late else begin()
        for i in range(len(names)):
            with ioreel.span("step", epoch * len(names) + i):
                with ioreel.span("fetch"):
                    end = time.monotonic() + 0.005
                    while not batches and time.monotonic() < end:
                        pass
                    batches = batches or begin()
                    batches.get()
PY
# start HOW: the unit of the readers, and whether they begin after 5 ms or at once.
start() {
	rm -rf job.reel
	PYTHONPATH=$IOREEL_HOOKS "$IOREEL" record -q -o job.reel -- python3 job.py $1
	"$IOREEL" fit -q job.reel -o job.json
	python3 -c "import json
p = json.load(open('job.json'))['pipeline']
print(p['unit'], 'none' if not p.get('start_ns') else p['start_ns'] >= 5000000)"
}
is 'threads that begin late: the benchmark waits as long' "$(start late)" 'thread True'
is 'threads that began before the first step: no wait' "$(start early)" 'thread none'

# The thread that steps makes its batches: 8 ms each, of two samples.
cat >made.py <<'PY'
import os, time, ioreel
def batches():
    names = sorted(os.listdir("d"))
    for i in range(0, 10, 2):
        for name in names[i:i + 2]:
            with open("d/" + name, "rb") as f:
                f.read()
            end = time.monotonic() + 0.004
            while time.monotonic() < end:
                pass
        yield i
for epoch in range(3):
    with ioreel.span("epoch", epoch):
        for batch in ioreel.steps(batches()):
            pass
PY
PYTHONPATH=$IOREEL_HOOKS "$IOREEL" record -q -o made.reel -- python3 made.py
"$IOREEL" fit -q made.reel -o made.json
is 'work between the reads of a thread that steps' "$(python3 -c "import json
d = json.load(open('made.json'))
q = d['preprocess']['sample_ns']
q = q['quantiles'] if isinstance(q, dict) else [q]
print(d['pipeline']['readers'], d['pipeline']['batch'], 1000000 < sorted(q)[len(q) // 2] < 40000000)")" '0 2 True'
finish
