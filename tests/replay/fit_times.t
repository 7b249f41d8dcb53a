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
finish
