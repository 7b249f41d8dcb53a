#!/bin/sh
# SPDX-License-Identifier: MIT
# ioreel report: the verdict on loops that take their batches from no loader: steps marked
# by hand, or by ioreel.steps().
. "$(dirname "$0")/../lib/tap.sh"
. "$TOP/tests/lib/verdict_job.sh"

cat >loop.py <<'PY'
open("tokens", "wb").write(b"x" * (8 << 20))
def batch():
    with open("tokens", "rb", buffering=0) as f:
        for i in range(8):
            f.read(1 << 20)
    time.sleep(0.02)
def train(i):
    with ioreel.span("backward"):
        compute(0.01)
    for part in range(2): # an optimizer for each part
        with ioreel.span("optimizer"):
            compute(0.005)
PY
cat loop.py - <<'PY' | job own
for i in range(10):
    batch()
    train(i)
PY
check 'WAIT-UNKNOWN: a loop that marks no step' '
	"$python" said.py own WAIT-UNKNOWN "not known: at most" &&
	grep -q "from one optimizer step to the next" own.words'
cat >own_steps.py <<'PY'
"""A step is from an optimizer step to the next, the first from its backward pass."""
import json, subprocess
rows = subprocess.check_output(["ioreel", "sql", "own.reel", "--format", "tsv",
    "SELECT name, start_ns, start_ns + dur_ns FROM v_span ORDER BY start_ns"], text=True)
rows = [r.split("\t") for r in rows.splitlines()[1:]]
steps = [(int(s), int(e)) for n, s, e in rows if n == "step"]
ends = [int(e) for n, s, e in rows if n == "optimizer"][1::2]
first = min(int(s) for n, s, e in rows if n == "backward")
assert steps == list(zip([first] + ends, ends)), (steps, ends)
most, = [k["wait_most_share"] for k in json.load(open("own.json"))["ranks"]]
marked = sum(int(e) - int(s) for n, s, e in rows if n != "step")
assert abs(most - (1 - marked / (ends[-1] - first))) < 1e-6, most
PY
check 'its steps, and the most that they wait' '"$python" own_steps.py'
cat loop.py - <<'PY' | job own_fetch
for i in range(10):
    with ioreel.span("fetch"):
        batch()
    train(i)
PY
check 'INPUT-BOUND: a mark around its batches tells the wait' '
	"$python" said.py own_fetch INPUT-BOUND "The job waits for its input: "'
cat loop.py - <<'PY' | job own_range
for i in ioreel.steps(range(10)):
    batch()
    train(i)
PY
check 'WAIT-UNKNOWN: fetches that read nothing, steps that read' '
	"$python" said.py own_range WAIT-UNKNOWN "reads 75.5 MB of its data outside of its fetches"'
cat loop.py - <<'PY' | job own_slow_range
def indices():
    for i in range(10):
        time.sleep(0.002)
        yield i
for i in ioreel.steps(indices()):
    batch()
    train(i)
PY
check 'WAIT-UNKNOWN: fetches that take long enough to read, but do not' '
	"$python" said.py own_slow_range WAIT-UNKNOWN "reads 75.5 MB of its data outside"'
cat loop.py - <<'PY' | job own_cache
cache = {}
def batches():
    for i in range(8):
        if i not in cache:
            cache[i] = time.sleep(0.03) or i
        yield cache[i]
for epoch in range(4):
    with ioreel.span("epoch", epoch):
        for i in ioreel.steps(batches()):
            compute(0.01)
PY
check 'INPUT-BOUND: a cache that the first epoch fills is said' '
	"$python" said.py own_cache INPUT-BOUND " % in the epochs after the first" &&
	grep -q "the first epoch waits [67][0-9.]* % of its time, later ones .*Try: nothing where many epochs follow" own_cache.words'
record two sh -c '"$0" own_cache.py && "$0" own_cache.py' "$python"
check 'two trainings, one after the other, are no ranks' '
	head -n 1 two.out | grep -q " 2 processes with loops " && ! grep -q "2 ranks" two.out'
record ranked env MASTER_PORT=1 WORLD_SIZE=2 sh -c 'RANK=0 "$0" own_cache.py & RANK=1 "$0" own_cache.py; wait' "$python"
check 'those that have numbers are' 'head -n 1 ranked.out | grep -q " 2 ranks "'
cat loop.py - <<'PY' | job own_eval
def batches(n, wait):
    for i in range(n):
        time.sleep(wait)
        yield i
for epoch in range(3):
    with ioreel.span("epoch", epoch):
        for i in ioreel.steps(batches(8, 0)):
            compute(0.01)
    with ioreel.span("eval", epoch):
        for i in ioreel.steps(batches(4, 0.02)):
            pass
PY
check 'EVAL-WAIT: batches of an evaluation are no steps' '
	"$IOREEL" sql --format tsv own_eval.reel "SELECT steps, evaluations FROM v_rank" | grep -qx "24	3" &&
	grep -q "steps 2-24 of 3 epochs" own_eval.out && grep -q "3 evaluations wait" own_eval.words'
cat loop.py - <<'PY' | job own_trial
for trial in range(3):
    with ioreel.span("evaluate", trial):
        for i in ioreel.steps(range(4)):
            compute(0.01)
PY
check 'steps of a job that calls each training an evaluation stay' '
	"$IOREEL" sql --format tsv own_trial.reel "SELECT steps FROM v_rank" | grep -qx 12'
cat >map.py <<'PY'
import mmap
def tokens():
    with open("tokens", "rb") as f:
        return mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ)
PY
cat loop.py map.py - <<'PY' | job own_map
def batches(data):
    for i in range(8):
        yield data[i << 20:i + 1 << 20]
for epoch in range(3):
    data = tokens()
    with ioreel.span("epoch", epoch):
        for i in ioreel.steps(batches(data)):
            compute(0.02)
    data.close() # in no fetch: all of its pages are read by then
PY
check 'a mapping that fetches read is not read outside of them' '
	! "$IOREEL" report own_map.reel | grep -q WAIT-UNKNOWN'
cat loop.py map.py - <<'PY' | job own_map_range
for i in ioreel.steps(range(10)):
    data = tokens()
    data[:]
    data.close()
    compute(0.02)
PY
check 'WAIT-UNKNOWN: a mapping that begins and ends outside of fetches' '
	"$python" said.py own_map_range WAIT-UNKNOWN "of its data outside of its fetches"'
cat loop.py - <<'PY' | job own_writes
saved = open("saved", "wb", buffering=0)
for i in range(10):
    for part in range(20):
        saved.seek(0)
        saved.write(bytes(4 << 20))
    train(i)
PY
check 'STEP-IO: a loop without fetches whose writes are no waits' '
	"$python" said.py own_writes WAIT-UNKNOWN "of its loop in writes and syncs" &&
	grep -q "STEP-IO the thread that steps spends .* outside checkpoints" own_writes.words'
cat loop.py - <<'PY' | job own_twice
def batches():
    for i in range(10):
        for copy in range(2):
            open("tokens", "rb", buffering=0).read()
        yield i
for i in ioreel.steps(batches()):
    batch()
    train(i)
PY
check 'steps that read less than their fetches' '
	! "$IOREEL" report own_twice.reel | grep -q WAIT-UNKNOWN'
cat loop.py - <<'PY' | job by_hand
kept = ioreel.steps(range(20))
for i in range(10):
    next(kept)
    train(i)
time.sleep(2)
PY
check 'what follows a loop that takes its batches by hand is no part of its last step' '
	[ "$(ioreel sql --format tsv by_hand.reel \
		"SELECT loop_ns < 1e9, steps FROM v_rank" | tail -1 | tr "\t" " ")" = "1 10" ]'
# The hooks end a loop that was left so, when its iterator is freed or the program exits.
cat loop.py - <<'PY' | job left
shim = ioreel._find()
shim.begin(1, 0) # an epoch
for i in range(10):
    if i:
        shim.end(2)
    shim.begin(2, i), shim.begin(3, i), shim.end(3) # a step, its fetch
    train(i)
time.sleep(2)
at = shim.now()
shim.end(2, at), shim.end(1, at)
PY
check 'nor what follows a loop whose last step ends with its epoch' '
	[ "$(ioreel sql --format tsv left.reel \
		"SELECT loop_ns < 2e9, steps FROM v_rank" | tail -1 | tr "\t" " ")" = "1 10" ]'
cat loop.py - <<'PY' | job at_end
for i in ioreel.steps(range(10)):
    train(i)
    if i == 9:
        time.sleep(1)
PY
check 'the last step of a loop that ends by itself is whole, however long it takes' '
	[ "$(ioreel sql --format tsv at_end.reel \
		"SELECT loop_ns > 1e9, steps FROM v_rank" | tail -1 | tr "\t" " ")" = "1 10" ]'
cat loop.py - <<'PY' | job cycled
for i in ioreel.steps(range(4)): # a first pass, which is kept
    batch()
    train(i)
for i in range(30):
    train(i)
PY
check 'WAIT-UNKNOWN: most of the training is in no marked step' '
	"$python" said.py cycled WAIT-UNKNOWN "is not known" &&
	grep -q "30 of 34 steps take their batch from no loader" cycled.words'
cat loop.py - <<'PY' | job own_thread
import queue, threading
ready = queue.Queue(20)
def fill():
    for i in range(10):
        batch()
        ready.put(i)
thread = threading.Thread(target=fill)
thread.start()
time.sleep(0.5)
for i in ioreel.steps(iter(ready.get, 9)):
    train(i)
PY
check 'NO-PROBLEM: another thread reads for the steps' '
	"$python" said.py own_thread NO-PROBLEM "The job hardly waits for its input: "'
finish
