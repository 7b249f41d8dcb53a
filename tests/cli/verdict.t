#!/bin/sh
# SPDX-License-Identifier: MIT
# ioreel report: the verdict, with a job for each code; the first line, the codes and
# the table of steps are consistent. The exact thresholds:
# tests/unit/test_advice*.c.
. "$(dirname "$0")/../lib/tap.sh"
. "$TOP/tests/lib/verdict_job.sh"

job waits <<'PY'
for step in ioreel.steps(batches(10, 0.05)):
    compute(0.02)
PY
check 'INPUT-BOUND: a data set that sleeps' '
	"$python" said.py waits INPUT-BOUND "The job waits for its input: "'
cat >shares.py <<'PY'
"""The shares that are said, and those that the steps give."""
import json, re
d = json.load(open("waits.json"))
words = open("waits.words").read()
rank = d["overlap"][0]
said = float(re.search(r": ([0-9.]+) % of the time from its first fetch to "
                       r"the end of its last step", d["verdict"])[1])
fetch = sum(s["fetch_ns"] for s in d["steps"])
assert abs(said - 100 * fetch / rank["loop_ns"]) < 1, (said, fetch, rank)
assert abs(said - 100 * rank["wait_share"]) <= 0.5, (said, rank)
rows = dict(re.findall(r"^  (fetch|compute|own I/O|other) .* ([0-9.]+) %",
                       open("waits.out").read(), re.M))
steps = [s for s in d["steps"] if s["steady"]]
whole = sum(s["dur_ns"] for s in steps)
for row, key in ("fetch", "fetch_ns"), ("compute", "compute_ns"):
    share = 100 * sum(s[key] for s in steps) / whole
    assert abs(float(rows[row]) - share) <= 0.5, (row, rows, share)
assert "Computing: %s %% of the steps" % rows["compute"] in words, rows
assert "and %s %% of the steady steps" % rows["fetch"] in words, rows
PY
check 'its shares name their base, and agree with the table' '"$python" shares.py'
check 'no accelerator is mentioned' '
	! grep -qi "accelerator\|utilisation" waits.out &&
	ioreel report --ranks waits.reel >ranks.out && ! grep -qw AU ranks.out &&
	grep -qw computes ranks.out'

job moderate <<'PY'
for step in ioreel.steps(batches(4, 0.05)):
    compute(0.45)
PY
check 'INPUT-WAIT: a data set that sleeps a tenth of the time' '
	"$python" said.py moderate INPUT-WAIT "The job waits moderately for its input: "'

job computes <<'PY'
for step in ioreel.steps(range(10)):
    compute(0.05)
PY
check 'NO-PROBLEM: a job that computes' '
	"$python" said.py computes NO-PROBLEM "The job hardly waits for its input: "'

job writes <<'PY'
fd = os.open("written", os.O_WRONLY | os.O_CREAT)
for step in ioreel.steps(range(20)):
    for i in range(8):
        os.pwrite(fd, b"x" * (1 << 20), 0)
        os.fsync(fd)
PY
check 'STEP-IO: steps that write and sync do not compute meanwhile' '
	"$python" said.py writes STEP-IO "but the thread that steps spends" &&
	grep -q "of that time in I/O of its own" writes.words &&
	grep -qE "^  own I/O +[0-9.]+ .?s " writes.out'

job between <<'PY'
for epoch in range(3):
    for step in ioreel.steps(range(5)):
        compute(0.005)
    end = time.monotonic() + 0.1
    while time.monotonic() < end:
        with open("saved", "wb") as f:
            f.write(b"x" * (4 << 20))
            os.fsync(f.fileno())
PY
check 'STEP-IO: a loop that saves after each epoch' '
	"$python" said.py between STEP-IO "but the thread that steps spends" &&
	! grep -q "own I/O  " between.out'

job locked <<'PY'
ioreel.note("loader", "PyDataset of threads")
for step in ioreel.steps(batches(10, 0.01)):
    compute(0.02)
PY
check 'computation beside threads of Python that make batches may be a wait for them' '
	grep -q "Computation may include waits for Python.s interpreter lock" locked.words &&
	! grep -q "interpreter lock" waits.words'

job saves <<'PY'
for step in ioreel.steps(range(4)):
    compute(0.02)
    with ioreel.span("checkpoint", step):
        open("saved", "w").write("x")
        time.sleep(0.1)
PY
check 'CHECKPOINT: saves that block the loop' '
	"$python" said.py saves CHECKPOINT "hardly waits for its input" &&
	grep -q "but checkpoints take [0-9]* % of the run.s " saves.words'

# The job is killed in its last save.
job cut <<'PY'
for step in ioreel.steps(range(3)):
    with ioreel.span("checkpoint", step), open("model.pt", "wb") as f:
        f.write(b"x")
        if step == 2:
            os.kill(os.getpid(), 9)
        time.sleep(0.2)
PY
check 'CHECKPOINT: one that its process ended in is said, and is none of the mean' '
	grep -q " unfinished: 1 checkpoint, .* may be incomplete (.*/model.pt)" cut.words &&
	grep -q "3 checkpoints take .* ([0-9.]* [a-z]* each; the last did not finish)" cut.words &&
	[ "$("$IOREEL" sql --format tsv cut.reel "SELECT unfinished_ns > 0 AND unfinished_ns = (SELECT sum(dur_ns)
		FROM v_span WHERE NOT closed AND name = \"checkpoint\") FROM v_checkpoint_wait" | tail -1)" = 1 ]'
unfinished() { "$IOREEL" report --json "$1" | python3 -c 'import json, os, sys
c = json.load(sys.stdin)["completeness"]; print(c["unfinished_checkpoints"], os.path.basename(c["unfinished_path"] or "-"))'; }
is 'which the document has, too' "$(unfinished cut.reel) $(unfinished saves.reel)" '1 model.pt 0 -'
check 'and no other job has one' '! grep -q "unfinished\|not finish" saves.words'

job features <<'PY'
ioreel.note("framework", "PyTorch 2.0")
for part in range(4):
    compute(0.02)
    with ioreel.span("checkpoint"):
        open("saved", "w").write("x")
        time.sleep(0.1)
PY
check 'CHECKPOINT: saves without a step may be data' '
	"$python" said.py features WAIT-UNKNOWN "" &&
	grep -q "CHECKPOINT 4 saves take [0-9]* % .* they may be data" features.words &&
	! grep -qE "[0-9] checkpoints? take|fewer of them" features.words'

job synced <<'PY'
for step in ioreel.steps(range(12)):
    compute(0.001)
    with open("saved.new", "wb") as f:
        with ioreel.span("checkpoint", step):
            f.write(b"x" * (1 << 20))
        os.fsync(f.fileno())
    os.rename("saved.new", "saved")
PY
cat >synced.py <<'PY'
"""The waits for checkpoints: spans, and the syncs and renames behind them."""
import json, subprocess
def rows(query):
    return json.loads(subprocess.run(["ioreel", "sql", "synced.reel", "--format", "json", query],
                                     check=True, capture_output=True, text=True).stdout)
spans = rows("SELECT dur_ns FROM v_span WHERE name = 'checkpoint'")
calls = rows("SELECT call, dur_ns FROM v_event WHERE call IN ('fsync', 'rename') AND "
             "path LIKE '%saved.new'")
assert len(spans) == 12 and len(calls) == 24, calls
[wait] = rows("SELECT * FROM v_checkpoint_wait")
assert wait["checkpoints"] == 12, wait
later = sum(c["dur_ns"] for c in calls)
assert later <= wait["later_ns"] <= wait["wait_ns"], (later, wait)
assert wait["wait_ns"] == wait["later_ns"] + sum(s["dur_ns"] for s in spans), wait
PY
check 'CHECKPOINT: its syncs and renames behind the span belong to it' '"$python" synced.py'
check 'WRITE-FSYNC: not where each checkpoint has one sync' '! grep -q WRITE-FSYNC synced.out'

# A thread saves in the background: its calls are none of the steps'.
job behind <<'PY'
import threading
def save():
    for i in range(3):
        with open("saved.new", "wb") as f:
            with ioreel.span("checkpoint", i):
                f.write(b"x" * (1 << 20))
            os.fsync(f.fileno())
saver = threading.Thread(target=save)
for step in ioreel.steps(range(5)):
    if step == 1:
        saver.start()
        saver.join()
    compute(0.001)
PY
is 'CHECKPOINT: a background save takes nothing from the steps' \
	"$(ioreel sql behind.reel --format tsv 'SELECT count(*) FROM v_checkpoint_wait' | tail -1)" 0
# ... and they go on meanwhile.
job aside <<'PY'
import threading
def save():
    with ioreel.span("checkpoint"):
        for i in range(20):
            open("aside.new", "wb").write(b"x" * (1 << 20))
            time.sleep(0.02)
saver = threading.Thread(target=save)
for step in ioreel.steps(range(30)):
    if step == 1:
        saver.start()
    compute(0.02)
PY
check 'no CHECKPOINT: a save beside the steps' '! grep -q CHECKPOINT aside.out && grep -q "Computing: " aside.out'

job starts <<'PY'
for epoch in range(3):
    with ioreel.span("epoch", epoch):
        time.sleep(0.3)
        for step in ioreel.steps(range(5)):
            compute(0.02)
PY
check 'EPOCH-START: slow starts without workers' '
	"$python" said.py starts EPOCH-START "but starts of epochs take"'

job infers <<'PY'
import threading
def fetch():
    with ioreel.span("fetch"):
        time.sleep(0.03)
for i in range(2):
    with ioreel.span("eval", i):
        for batch in range(8):
            t = threading.Thread(target=fetch)
            t.start()
            t.join()
            compute(0.02)
PY
check 'INPUT-BOUND: a job that only evaluates waits for its batches, of any thread' '
	"$python" said.py infers INPUT-BOUND "of the time of its loops, which train nothing" &&
	grep -q "rank 0 has 2 loops over batches, which train nothing" infers.words'

job validates <<'PY'
for epoch in range(2):
    for step in ioreel.steps(range(10)):
        compute(0.02)
    with ioreel.span("eval", epoch):
        for batch in range(6):
            with ioreel.span("fetch"):
                time.sleep(0.02)
PY
cat >evaluated.py <<'PY'
"""The waits of the evaluations: all, and those before the last step's end."""
import json, subprocess, sys
d = json.load(open("validates.json"))
rank, = d["ranks"]
rows = subprocess.check_output(["ioreel", "sql", "validates.reel", "--format", "tsv",
    "SELECT name, start_ns, dur_ns FROM v_span ORDER BY start_ns"], text=True)
spans = [r.split("\t") for r in rows.splitlines()[1:]]
spans = [(n, int(s), int(t)) for n, s, t in spans]
last = max(s + t for n, s, t in spans if n == "step")
evals = [(s, s + t) for n, s, t in spans if n == "eval"]
waits = [(s, t) for n, s, t in spans if n == "fetch"
         and any(a <= s and s + t <= b for a, b in evals)]
assert len(evals) == rank["evaluations"] == 2 and len(waits) == 12
assert rank["evaluation_ns"] == sum(b - a for a, b in evals)
assert rank["evaluation_wait_ns"] == sum(t for s, t in waits)
assert rank["evaluation_loop_wait_ns"] == sum(t for s, t in waits if s < last)
assert "is in evaluations" in d["advice"][0]["text"], d["advice"]
assert d["advice"][1]["code"] == "EVAL-WAIT", d["advice"]
PY
check 'EVAL-WAIT: the waits of evaluations are those of their fetches' '
	"$python" evaluated.py'

# Two readers in each of three epochs: PART is the files of a reader.
cat >readers.py <<'PY'
import random, sys
sys.path.insert(0, ".")
exec(open("job.py").read())
files = ["data/f%02d" % i for i in range(12)]
part = sys.argv[1]
def read(epoch, reader):
    names = list(files)
    random.Random(epoch).shuffle(names)
    if part == "pairs":  # a sample reads two files, and is one reader's
        names = [n for k in range(12) if k // 3 % 2 == reader
                 for n in (names[k], names[k - 1])]
    if part == "labels":
        names += ["data/labels"] * 2  # of which each reader takes one
    if part == "chunks":  # opened for each sample: a header at the end, half a chunk
        for name in names:
            for chunk in range(3):
                with open(name, "rb", buffering=0) as f:
                    os.pread(f.fileno(), 100, 29900)
                    os.pread(f.fileno(), 10000, chunk * 10000)
        return
    for name in names if part in ("all", "pairs", "turns", "index", "front") else names[reader::2]:
        with open(name, "rb", buffering=0) as f:
            if part == "index":
                os.pread(f.fileno(), 100, 29900)
            f.read(30000 if part != "front" else 15000)
            if part == "front":  # that of all samples, then its own
                f.seek(15000 * reader)
                f.read(15000)
            if part == "back":
                f.seek(0)
                f.read(30000)
def epochs():
    for epoch in range(3):
        with ioreel.span("epoch", epoch):
            for step in ioreel.steps(range(6)):
                compute(0.005)
                for reader in range(2 * (step == 0)):
                    if not os.fork():
                        read(epoch, reader)
                        time.sleep(0.02)  # they run at a time
                        os._exit(0)
                    if part == "turns":
                        os.wait()
            for _ in range(2 * (part != "turns")):
                os.wait()
if part == "apart":  # two jobs
    part = "all"
    for job in range(2):
        if not os.fork():
            epochs()
            os._exit(0)
    os.wait(), os.wait()
else:
    epochs()
PY
mkdir data
for i in 00 01 02 03 04 05 06 07 08 09 10 11; do
	head -c 30000 /dev/urandom >data/f$i
done
head -c 10000 /dev/urandom >data/labels
record all "$python" readers.py all
check 'REPEATED-READ: each reader reads all files' '
	"$python" said.py all REPEATED-READ "but each epoch reads its data 2 times" &&
	grep -q "each epoch reads 12 data files (360 kB) 2 times: each of 2 processes" all.words'
for part in index front chunks half back pairs labels turns apart; do
	record $part "$python" readers.py $part
done
check 'REPEATED-READ: each reader reads all files, first the index at their end' '
	"$python" said.py index REPEATED-READ "but each epoch reads its data 2 times"'
check 'no REPEATED-READ: each reads the first half of all, and then a half' '
	! grep REPEATED-READ front.out'
check 'no REPEATED-READ: each reads all chunks, for half of their samples' '
	! grep REPEATED-READ chunks.out'
check 'no REPEATED-READ: each reads its half, another one in each epoch, or twice; pairs; few bytes' '
	! grep REPEATED-READ half.out back.out pairs.out labels.out'
check 'no REPEATED-READ: one reader after the other; two jobs' '
	! grep REPEATED-READ turns.out apart.out'

# A sample takes a whole block, which is read again for the next one of it.
head -c 100000 /dev/urandom >blocks.h5
cat >blocks.py <<'PY'
import sys
exec(open("job.py").read())
def samples(n):
    with open("blocks.h5", "rb", buffering=0) as f:
        for i in range(n):
            if again:
                os.pread(f.fileno(), 100000, 0)
            else:
                open("blocks.h5", "rb", buffering=0).read()
            time.sleep(0.002)
            yield i
again = sys.argv[2:] != ["whole"]
for epoch in range(2):
    with ioreel.span("epoch", epoch):
        for step in ioreel.steps(samples(int(sys.argv[1]))):
            compute(0.005)
PY
record blocks "$python" blocks.py 5
check 'REREAD: an epoch reads each byte several times' '
	grep -q "REREAD an epoch reads 500 kB of 1 data file (blocks.h5) of 100 kB: each byte 5 times. Try: a chunk cache" blocks.words'
record blocks2 "$python" blocks.py 2
record blocks3 "$python" blocks.py 5 whole
check 'no REREAD: twice may be what the samples ask for, and so are whole files' '
	! grep REREAD blocks2.words blocks3.words'
cat >passes.py <<'PY'
import sys
exec(open("job.py").read())
batches = int(sys.argv[1])
def samples():
    for i in range(10):
        data = open("blocks.h5", "rb", buffering=0).read()
        for j in range(batches):
            time.sleep(0.001)
            yield data[j::batches]
for epoch in range(2):
    with ioreel.span("epoch", epoch):
        for step in ioreel.steps(samples()):
            compute(0.001)
PY
record each "$python" passes.py 1
check 'REREAD: a file that each sample reads whole' '
	grep -q "REREAD an epoch opens 1 data file (blocks.h5) 10 times, and reads all 100 kB of it each time: 1.00 MB. Try: each loader worker reads the file once" each.words'
record passes "$python" passes.py 4
check 'no REREAD: passes over a data set of one file' '! grep REREAD passes.words'
# Files that hold a chunk of samples each: whole passes, or samples in any order.
mkdir store
for i in 0 1 2 3 4 5 6 7 8 9; do head -c 20000 /dev/urandom >store/$i; done
cat >store.py <<'PY'
import random, sys
exec(open("job.py").read())
random.seed(1)
order = [i for _ in range(4) for i in random.sample(range(10), 10)]
if sys.argv[1] == "samples":
    random.shuffle(order)
def samples():
    for i in order:
        open("store/%d" % i, "rb", buffering=0).read()
        time.sleep(0.002)
        yield i
for epoch in range(2):
    with ioreel.span("epoch", epoch):
        for step in ioreel.steps(samples()):
            compute(0.005)
PY
record store "$python" store.py samples
check 'REREAD: chunks of several samples, each in a file' '
	grep -q "REREAD an epoch reads 800 kB of 10 data files of 200 kB: each byte 4 times. Try: samples in the order" store.words'
record store2 "$python" store.py passes
check 'no REREAD: an epoch of several passes' '! grep REREAD store2.words'

# A sample opens the file again, and reads the index before it; or no index, in passes.
head -c 200000 /dev/urandom >indexed.bin
cat >indexed.py <<'PY'
import sys
exec(open("job.py").read())
index = sys.argv[1] == "index"
def samples():
    for i in [i for _ in range(1 if index else 5) for i in range(20)]:
        with open("indexed.bin", "rb", buffering=0) as f:
            if index:
                f.read(40000)
            os.pread(f.fileno(), 8000, 40000 + 8000 * i)
        time.sleep(0.002)
        yield i
for epoch in range(2):
    with ioreel.span("epoch", epoch):
        for step in ioreel.steps(samples()):
            compute(0.005)
PY
record indexed "$python" indexed.py index
check 'REREAD: an index that each sample reads' '
	grep -q "REREAD an epoch opens 1 data file (indexed.bin) 20 times, and most opens read the same 40.0 kB of it: 800 kB. Try: each loader worker opens the file once" indexed.words'
record indexed2 "$python" indexed.py passes
check 'no REREAD: samples, each of another part, in several passes' '! grep REREAD indexed2.words'

# The iterator of each loop takes long to make, as if it started workers; each other
# batch takes 2 ms.
job starting <<'PY'
def batches(n):
    for i in range(n):
        time.sleep(0.2 if i == 0 else 0.002)
        yield i
for epoch in range(2):
    with ioreel.span("epoch", epoch):
        for step in ioreel.steps(batches(10)):
            compute(0.02)
    with ioreel.span("eval", epoch):
        for i in range(4):
            with ioreel.span("fetch"):
                time.sleep(0.002 if i else 0.2)
PY
cat >starting.py <<'PY'
"""The waits for first batches beyond those for others, from the spans of the loop."""
import json, subprocess
d = json.load(open("starting.json"))
rows = subprocess.check_output(["ioreel", "sql", "starting.reel", "--format", "tsv",
    "SELECT name, start_ns, dur_ns FROM v_span ORDER BY start_ns"], text=True)
spans = [r.split("\t") for r in rows.splitlines()[1:]]
spans = [(n, int(s), int(t)) for n, s, t in spans]
last = max(s for n, s, t in spans if n == "step")
def excess(kind):
    first, others = [], []
    for name, start, ns in spans:
        if name == kind and start < last:
            fetches = [t for n, s, t in spans if n == "fetch" and start <= s < start + ns]
            first.append(fetches[0])
            # the second fetch of an evaluation may belong to the iterator
            others += fetches[1 if kind == "epoch" else 2:]
            first += fetches[1:2] if kind == "eval" else []
    return int(sum(first) - len(first) * sum(others) / len(others))
rank, = d["ranks"]
assert abs(rank["epoch_first_wait_ns"] - excess("epoch")) <= 1, (rank, excess("epoch"))
assert abs(rank["evaluation_first_wait_ns"] - excess("eval")) <= 1, (rank, excess("eval"))
first = d["advice"][0]
assert first["code"] == "INPUT-BOUND", d["advice"]
assert "first batches of epochs and evaluations" in first["text"], first
PY
check 'INPUT-BOUND: most of the wait is for first batches' '"$python" starting.py'

# Two workers of the training, and one of an evaluation that stays.
job eval_worker <<'PY'
import os, threading
def worker(n):
    r, w = os.pipe()
    if os.fork() == 0:
        os.close(w)
        ioreel.note("role", "worker")
        for i in range(n):
            with ioreel.span("preprocess"):
                compute(0.005)
        os.read(r, 1)
        os._exit(0)
    os.close(r)
    return w
ends = []
for epoch in range(2):
    with ioreel.span("epoch", epoch):
        ends += [worker(5), worker(5)]
        for step in ioreel.steps(range(10)):
            compute(0.005)
    for w in ends:
        os.close(w)
    with ioreel.span("eval", epoch):
        ends = [worker(3)] # until the next epoch is over
        time.sleep(0.3) # it has begun
        for i in range(3):
            with ioreel.span("fetch"):
                compute(0.01)
PY
is 'workers of an evaluation are none of the training' \
	"$(ioreel sql eval_worker.reel --format tsv 'SELECT max_workers, min_workers FROM v_loader_workers' | tail -1)" "2	2"

# Two loaders in a loop: one has a worker, which maps its data; the other has none.
job two_loaders <<'PY'
import mmap, os
open("mapped", "wb").write(b"x" * (1 << 20))
r, w = os.pipe()
if os.fork() == 0:
    os.close(w)
    ioreel.note("role", "worker")
    with open("mapped", "rb") as f, mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ) as m:
        for i in range(10):
            with ioreel.span("preprocess"):
                m[i * 4096]
                compute(0.002)
    os.read(r, 1)
    os._exit(0)
os.close(r)
for i in range(10):
    with ioreel.span("step", i):
        with ioreel.span("fetch", i):
            with ioreel.span("preprocess"):
                compute(0.02)
        compute(0.01)
PY
check 'INPUT-BOUND: a loader without workers beside one with workers' '
	"$python" said.py two_loaders INPUT-BOUND "waits for its input" &&
	grep -q "the loop makes batches itself: a loader has no workers" two_loaders.words'
is 'the bytes of its worker come through a mapping' "$(ioreel sql --format tsv two_loaders.reel \
	'SELECT workers, worker_mapped_share > 0.9, own_batch_ns >= 200e6 FROM v_rank' |
	tail -1)" "1	1	1"

job unknown <<'PY'
for i in range(10):
    with ioreel.span("step", i):
        compute(0.02)
PY
check 'WAIT-UNKNOWN: steps without a recorded fetch' '
	"$python" said.py unknown WAIT-UNKNOWN \
		"How long the job waits for its input is not known" &&
	grep -q "for 10 of its 10 steps" unknown.words'
check 'no computation is reported for them' '
	! grep -q "Computing:" unknown.out && grep -qE "^  all +" unknown.out'

# A hook gives no number to the fetches of the loaders that follow in a step.
job loaders <<'PY'
if not os.fork():
    ioreel.note("role", "worker")
    for i in range(12):
        with ioreel.span("preprocess"):
            time.sleep(0.04)
    os._exit(0)
for i in ioreel.steps(range(10)):
    with ioreel.span("fetch"):
        time.sleep(0.05)
    compute(0.02)
os.wait()
PY
check 'INPUT-BOUND: of several loaders, the one that a step waits for' '
	"$python" said.py loaders INPUT-BOUND "The job waits for its input: " &&
	grep -qE "several loaders: the wait is [0-9.]+ .?s for its first batch, [0-9.]+ m?s for" \
		loaders.words &&
	grep -q "Try: more workers for the loaders of a step.s later batches" loaders.words &&
	! grep -qE "headroom|times as fast" loaders.words'
is 'and no headroom of all of their workers' "$(ioreel sql --format tsv loaders.reel \
	'SELECT count(headroom), max(several) FROM v_rank JOIN v_step_loaders USING (process_id)' |
	tail -1)" "0	1"

job loads <<'PY'
end = time.monotonic() + 1
while time.monotonic() < end:
    open("loaded", "wb").write(b"x" * (4 << 20))
for step in ioreel.steps(range(5)):
    compute(0.01)
PY
check 'IO-BOUND: I/O before the first step' '
	"$python" said.py loads IO-BOUND "but I/O outside computation takes"'

head -c 8000000 /dev/zero >big
record dd dd if=big of=copy bs=512
check 'IO-BOUND: dd' '"$python" said.py dd IO-BOUND "I/O takes"'
record prepares sh -c "dd if=big of=copy bs=16; \"$python\" computes.py"
check 'IO-BOUND: a script that copies before it trains' '
	"$python" said.py prepares IO-BOUND "but I/O outside computation takes"'
mkdir files
(cd files && seq 2000 | xargs touch)
record rm rm -r files
check 'IO-BOUND: rm' '"$python" said.py rm IO-BOUND "I/O takes"'
check 'shell tools get no advice on steps' '! grep -q "No steps" rm.out dd.out'
check 'the share is of the time of the job, not of its events' '
	"$python" -c "import json, re
d = json.load(open(\"rm.json\"))
share = 100 * d[\"totals\"][\"io_ns\"] / d[\"run\"][\"wall_ns\"]
said = float(re.search(r\": ([0-9.]+) %\", d[\"verdict\"])[1])
assert d[\"run\"][\"wall_ns\"] > d[\"run\"][\"span_ns\"]
assert abs(said - share) <= 0.5, (said, share)"'

echo hello >small
record glance sh -c "cat small; sleep 0.3"
check 'NO-PROBLEM: a glance at a file in a job that sleeps' '
	"$python" said.py glance NO-PROBLEM " of the run"'

job cold <<'PY'
fd = os.open("big", os.O_RDONLY)
os.fsync(fd)
end = time.monotonic() + 1
at = 0
while time.monotonic() < end:
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    for i in range(20):
        at = (at + 1234 * 4096) % 7000000
        os.pread(fd, 65536, at)
PY
if "$python" -c 'import json, sys
w = json.load(open("cold.json"))["storage_wait"]
sys.exit(not w or w["exposed_ns"] < 0.25 * w["wall_ns"])'; then
	check 'STORAGE-BOUND: page-cache misses' '
		"$python" said.py cold STORAGE-BOUND "I/O takes" &&
		grep -qE "in [0-9,]+ reads, [0-9.]+ .?s each, [0-9.]+ .B/s" cold.words'
else
	skip 'STORAGE-BOUND' 'this file system has no storage to fetch from'
fi

if "$python" -c 'from jsonschema import Draft202012Validator' 2>/dev/null; then
	for run in waits writes unknown cold dd; do
		check "the document of $run is valid" '"$python" -c "import json
from jsonschema import Draft202012Validator as V
V(json.load(open(\"$TOP/schemas/report.schema.json\"))).validate(
    json.load(open(\"$run.json\")))"'
	done
else
	skip 'the documents are valid' 'python3-jsonschema is missing'
fi

check 'every code is in the manual' '
	grep -ohE "\{\"[A-Z]+(-[A-Z]+)+\", " "$TOP"/analyzer/report/advice.c | tr -d "{\", " |
	{ cat; echo NO-PROBLEM; } >codes && [ $(wc -l <codes) -ge 10 ] &&
	while read -r code; do
		grep -qF ".It $code" "$TOP/man/ioreel-report.1" || { echo $code; exit 1; }
	done <codes'
finish
