#!/bin/sh
# SPDX-License-Identifier: MIT
# ioreel fit of a program without a framework, which marks nothing: what its calls
# show, and that the rest is not known.
. "$(dirname "$0")/../lib/tap.sh"
command -v python3 >/dev/null || skip_all 'python3 is missing'

mkdir d
for i in 0 1 2 3; do
	head -c 262144 /dev/urandom >d/block$i.dat
done
# One file after the other, each in random order.
cat >job.py <<'PY'
import os, random
random.seed(1)
for epoch in range(2):
    for name in sorted(os.listdir("d")):
        fd = os.open("d/" + name, os.O_RDONLY)
        for place in random.sample(range(64), 64):
            os.pread(fd, 4096, 4096 * place)
        os.close(fd)
PY
"$IOREEL" record -q -o job.reel -- python3 job.py
check 'fit' '"$IOREEL" fit job.reel -o job.json 2>why && ioreel workload check job.json'
# key PATH: the value of a key; confidence KEY: that of its reason.
key() { python3 -c "import json; print(json.load(open('job.json'))$1)"; }
confidence() { python3 -c "import json; print([r['confidence'] for r in json.load(open('job.json'))['fit'] if r['key'] == '$1'][0])"; }
is 'a read at a place of its own is a sample' "$(key '["dataset"]["sample_bytes"]') $(key '["dataset"]["samples_per_file"]')" '4096 64'
is 'the order within files, not that of the files' "$(key '["pipeline"]["order"]')" shuffle
is 'the thread that reads is the only one' "$(key '["pipeline"]["readers"]')" 0
is 'each file is read twice' "$(key '["epochs"]')" 2
for k in pipeline.batch compute.step_ns evaluation; do
	is "$k: not known" "$(confidence $k)" 0.0
done
check 'no reason holds a number that is none' '! grep -Ei "inf |nan " why'

# A loop that takes its batches from no loader: slices in any order, with work before
# each is read, two optimizers and a checkpoint.
cat >own.py <<'PY'
import os, random, time, ioreel
def compute(s):
    end = time.monotonic() + s
    while time.monotonic() < end:
        pass
fd = os.open("own.dat", os.O_RDONLY)
random.seed(2)
times = []
for epoch in range(3):
    for batch in random.sample(range(40), 40):
        times.append([time.thread_time()])
        compute(0.004)
        times[-1].append(time.thread_time())
        os.pread(fd, 65536, 65536 * batch)
        compute(0.006)
        with ioreel.span("backward"):
            compute(0.002)
        for part in range(2):
            with ioreel.span("optimizer"):
                compute(0.001)
        times[-1].append(time.thread_time())
    with ioreel.span("checkpoint"):
        open("own%d.pt" % epoch, "wb").write(b"x" * 100000)
        time.sleep(0.05)
with open("own.times", "w") as out:
    out.write(repr(times))
PY
head -c $((4096 * 640)) /dev/urandom >own.dat
"$IOREEL" record -q -o own.reel -- python3 own.py
check 'a loop without a loader: fit' '"$IOREEL" fit own.reel -o job.json >why 2>&1'
is 'its epochs, by the bytes' "$(key '["epochs"]')" 3
cat >own_times.py <<'PY'
import json
d = json.load(open("job.json"))
computed, work = sorted(d["compute"]["series_ns"]), d["preprocess"]["sample_ns"]["quantiles"]
batch = d["pipeline"]["batch"]
assert len(computed) == 119, len(computed) # all but the first step
# 10 ms from the last read on, 4 ms before it. Other programs make some of them longer,
# and then all count with a share of their time: a low quantile, and the ratio, which is
# between that of the times and that of the processor times.
times = eval(open("own.times").read())
ratio = computed[len(computed) // 4] / (work[len(work) // 4] * batch)
true = sum(t[2] - t[1] for t in times) / sum(t[1] - t[0] for t in times)
assert 0.72 * min(2.5, true) < ratio < 1.28 * max(2.5, true), (ratio, true, computed, work)
samples = d["dataset"]["files"] * d["dataset"]["samples_per_file"]
assert batch * 40 == samples, (batch, samples)
assert d["pipeline"]["order"] == "shuffle", d["pipeline"]
PY
check 'its computation and the work on its batches' 'python3 own_times.py'

cat >p.json <<'J'
{"schema": "ioreel-workload-1", "name": "p", "dataset": {"format": "parquet", "files": 2,
 "samples_per_file": 1000, "sample_bytes": 64, "row_group_rows": 300}}
J
cat >whole.py <<'PY'
import os
for folder, _, names in os.walk("p"):
    for name in sorted(names):
        if name.endswith(".parquet"):
            open(os.path.join(folder, name), "rb").read()
PY
"$IOREEL" gen -q p.json p
"$IOREEL" record -q -o p.reel -- python3 whole.py
check 'rows of the row groups of parquet' '"$IOREEL" fit -q p.reel -o job.json'
is 'are those of its files' "$(key '["dataset"]["row_group_rows"]')" 300

# A reader that merges its reads, as pandas does: the footer, then all columns of all row
# groups at once.
cat >merged.py <<'PY'
import os, ioreel
def files():
    for folder, _, names in os.walk("p"):
        yield from (os.path.join(folder, name) for name in names if name.endswith(".parquet"))
for epoch in range(2):
    with ioreel.span("epoch", epoch):
        for path in ioreel.steps(sorted(files())):
            fd = os.open(path, os.O_RDONLY)
            size = os.fstat(fd).st_size
            footer = os.pread(fd, 65536, size - 65536)
            os.pread(fd, size - 4 - 8 - int.from_bytes(footer[-8:-4], "little"), 4)
            os.close(fd)
PY
"$IOREEL" record -q -o merged.reel -- python3 merged.py
check 'row groups that are read at once: fit' '"$IOREEL" fit -q merged.reel -o job.json'
is 'they are one, and a row has no bytes of the format' \
	"$(key '["dataset"]["row_group_rows"]') $(key '["dataset"]["sample_bytes"]')" '1000 68'
"$IOREEL" gen -q job.json merged
"$IOREEL" run -q job.json --data merged -o merged.db >/dev/null
"$IOREEL" compare --json --class data merged.reel merged.db >compared
check 'the benchmark reads as much in as many reads' 'python3 -c "
import json
f = {x[\"name\"]: x for x in json.load(open(\"compared\"))[\"factors\"]}
for name in \"bytes read\", \"transfer size, mean\", \"transfer size, max\":
    assert abs(f[name][\"d\"]) < 0.02, (name, f[name])"'

# Processes that read side by side, of a job that marks nothing.
cat >side.py <<'PY'
import os, time
for worker in range(2):
    if os.fork() == 0:
        for i in range(8):
            with open("p%d.raw" % (2 * i + worker), "rb") as f:
                f.read()
            time.sleep(0.02)
        os._exit(0)
for worker in range(2):
    os.wait()
PY
for i in $(seq 0 15); do
	head -c 30000 /dev/zero >p$i.raw
done
"$IOREEL" record -q -o side.reel -- python3 side.py
check 'processes that read: fit' '"$IOREEL" fit -q side.reel -o job.json'
is 'they are the readers' "$(key '["pipeline"]["readers"]') $(key '["pipeline"]["unit"]')" '2 process'
is 'a file is a sample' "$(key '["dataset"]["samples_per_file"]') $(key '["dataset"]["sample_bytes"]')" '1 30000'

# Two of four columns are read, with more than a hole between them.
cat >columns.json <<'J'
{"schema": "ioreel-workload-1", "name": "columns", "dataset": {"format": "parquet", "files": 2,
 "samples_per_file": 1000, "row_group_rows": 250, "columns": [{"bytes": 32}, {"bytes": 64, "read": false},
 {"bytes": 40}, {"bytes": 200, "read": false}]}, "pipeline": {"batch": 50, "order": "sequential"}}
J
"$IOREEL" gen -q columns.json columns
"$IOREEL" run -q columns.json --data columns -o columns.db >/dev/null
check 'columns of parquet: fit' '"$IOREEL" fit -q columns.db -o job.json'
is 'those that are read, and as many bytes that are not' \
	"$(key '["dataset"]["columns"]' | tr -d "{}[]' " | sed 's/,contiguous:False//g')" \
	'bytes:32,count:1,read:True,bytes:132,count:1,read:False,bytes:40,count:1,read:True,bytes:132,count:1,read:False'
check 'the benchmark makes the same reads' '"$IOREEL" gen -q job.json again &&
	"$IOREEL" run -q job.json --data again -o again.db >/dev/null &&
	[ "$(ioreel sql columns.db "select bytes, count(*) from v_event where call = '\''pread'\'' group by 1")" = \
		"$(ioreel sql again.db "select bytes, count(*) from v_event where call = '\''pread'\'' group by 1")" ]'

# Small files whose footer is read from an open of its own, with all of the file.
cat >footer.json <<'J'
{"schema": "ioreel-workload-1", "name": "footer", "dataset": {"format": "parquet", "files": 12,
 "samples_per_file": 500, "row_group_rows": 500, "columns": [{"bytes": 24}]}}
J
cat >footer.py <<'PY'
import os
for epoch in range(3):
    for folder, _, names in os.walk("footer"):
        for name in names:
            if name.endswith(".parquet"):
                size = os.stat(os.path.join(folder, name)).st_size
                for places in ((0, size),), ((4, 500 * 32),):
                    fd = os.open(os.path.join(folder, name), os.O_RDONLY)
                    for offset, n in places:
                        os.pread(fd, n, offset)
                    os.close(fd)
PY
"$IOREEL" gen -q footer.json footer
"$IOREEL" record -q -o footer.reel -- python3 footer.py
check 'small files of parquet: fit' '"$IOREEL" fit -q footer.reel -o job.json'
is 'a look at the footer is no epoch' "$(key '["epochs"]')" 3
check 'small files of parquet: the benchmark reads their bytes' '"$IOREEL" gen -q job.json small.d &&
	"$IOREEL" run -q job.json --data small.d -o small.db >out &&
	"$IOREEL" compare --json --class data footer.reel small.db >compared && python3 -c "
import json
f = {x[\"name\"]: x for x in json.load(open(\"compared\"))[\"factors\"]}[\"bytes read\"]
assert abs(f[\"d\"]) < 0.05, f"'

# A script in bin/, as torchrun is, reads 0.dat, 1.dat ... 10.dat ... in their order.
mkdir n env env/bin
for i in $(seq 0 39); do
	head -c 5000 /dev/zero >n/$i.dat
done
{
	echo "#!$(command -v python3)"
	cat <<'PY'
for epoch in range(2):
    for i in range(40):
        with open("n/%d.dat" % i, "rb", buffering=0) as f:
            f.read(5000)
PY
} >env/bin/train
chmod +x env/bin/train
"$IOREEL" record -q -o n.reel -- env/bin/train
check 'files with numbers: fit' '"$IOREEL" fit -q n.reel -o job.json'
is 'their numbers are the order' "$(key '["pipeline"]["order"]')" sequential
is 'the script is no sample' "$(key '["dataset"]["files"]') $(key '["dataset"]["sample_bytes"]')" '40 5000'

# Mapped files show no reads: each step has the share of it that the steps touch.
head -c 1310720 /dev/urandom >data-00000-of-00001.arrow
cat >mapped.py <<'PY'
import ioreel, mmap
with open("data-00000-of-00001.arrow", "rb") as f:
    m = mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ)
for epoch in range(2):
    with ioreel.span("epoch", epoch):
        for step in ioreel.steps(range(20)):
            m[65536 * step:65536 * (step + 1)]
PY
"$IOREEL" record -q -o mapped.reel -- python3 mapped.py
check 'a mapped file: fit' '"$IOREEL" fit -q mapped.reel -o job.json'
is 'its name is none of TFRecord' "$(key '["dataset"]["format"]')" raw
is 'a step counts as a sample' \
	"$(key '["dataset"]["samples_per_file"]') $(key '["pipeline"]["batch"]') $(key '["dataset"]["sample_bytes"]')" \
	'20 1 65536'
is 'which is said' "$(confidence pipeline.batch)" 0.1

# Shards of safetensors, a tensor a sample: safe_open() opens the file twice for each.
cat >shards.json <<'J'
{"schema": "ioreel-workload-1", "name": "shards", "dataset": {"format": "safetensors", "files": 4,
 "samples_per_file": 10, "sample_bytes": 65536}}
J
"$IOREEL" gen -q shards.json shards
cat >shards.py <<'PY'
import glob, ioreel, mmap, random
random.seed(1)
def touch(name):
    with open(name, "rb") as f:
        mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ)[:8]
for epoch in range(2):
    with ioreel.span("epoch", epoch):
        order = 10 * sorted(glob.glob("shards/*/*.safetensors"))
        random.shuffle(order)
        for step in ioreel.steps(range(10)):
            for name in order[4 * step:4 * step + 4]:
                touch(name)
                touch(name)
PY
"$IOREEL" record -q -o shards.reel -- python3 shards.py
check 'shards of safetensors: fit' '"$IOREEL" fit -q shards.reel -o job.json'
is 'a tensor is a sample' \
	"$(key '["dataset"]["samples_per_file"]') $(key '["pipeline"]["batch"]')" '10 4'
check 'of its size' 'python3 -c "
import json
d = json.load(open(\"job.json\"))[\"dataset\"][\"sample_bytes\"]
sizes = d[\"quantiles\"] if isinstance(d, dict) else [d]
assert all(abs(x - 65536) < 1000 for x in sizes), sizes"'

# One file that is opened once for the steps of an epoch: its two opens are no samples.
cat >one.py <<'PY'
import glob, ioreel, mmap, random
random.seed(1)
name = sorted(glob.glob("shards/*/*.safetensors"))[0]
for epoch in range(2):
    maps = []
    with ioreel.span("epoch", epoch):
        for step in range(40):
            with ioreel.span("step"):
                with ioreel.span("fetch"), ioreel.span("preprocess"):
                    while len(maps) < 2:
                        with open(name, "rb") as f:
                            maps.append(mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ))
                        maps[-1][:8]
                    for _ in range(4):
                        at = random.randrange(len(maps[1]) - 4096)
                        maps[1][at:at + 4096]
PY
"$IOREEL" record -q -o one.reel -- python3 one.py
check 'one file of safetensors: fit' '"$IOREEL" fit -q one.reel -o job.json'
check 'as many steps as the job makes' '"$IOREEL" gen -q job.json one && "$IOREEL" run -q job.json --data one --json >one.out &&
	python3 -c "import json; d = json.load(open(\"one.out\")); print(d[\"steps\"]); assert d[\"steps\"] == 80"'

# A file of safetensors each, as load_file() reads it: by two opens too.
sed 's/"files": 4/"files": 32/; s/"samples_per_file": 10/"samples_per_file": 1/' shards.json >each.json
"$IOREEL" gen -q each.json each
cat >each.py <<'PY'
import glob, ioreel, mmap, random
random.seed(1)
def touch(name):
    with open(name, "rb") as f:
        mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ)[:]
names = sorted(glob.glob("each/*/*.safetensors"))
for epoch in range(2):
    order = random.sample(names, 32)
    with ioreel.span("epoch", epoch):
        for at in range(0, 32, 4):
            with ioreel.span("step"):
                with ioreel.span("fetch"), ioreel.span("preprocess"):
                    for name in order[at:at + 4]:
                        touch(name)
                        touch(name)
PY
"$IOREEL" record -q -o each.reel -- python3 each.py
check 'files of safetensors: fit' '"$IOREEL" fit -q each.reel -o job.json'
is 'a sample takes two opens' \
	"$(key '["dataset"]["files"]') $(key '["dataset"]["samples_per_file"]') $(key '["pipeline"]["batch"]') $(key '["pipeline"]["repeats"]')" '32 1 4 1'

# Archives of many members, of which a sample is one.
cat >archives.py <<'PY'
import ioreel, os, random, sys, zipfile
random.seed(1)
names = ["archives/%d.npz" % i for i in range(4)]
if sys.argv[1:]:
    os.mkdir("archives")
    for name in names:
        with zipfile.ZipFile(name, "w") as z:
            for i in range(10):
                z.writestr("s%d.npy" % i, os.urandom(40000))
    sys.exit()
for epoch in range(2):
    with ioreel.span("epoch", epoch):
        samples = [(n, i) for n in names for i in range(10)]
        random.shuffle(samples)
        for step in ioreel.steps(range(10)):
            for name, i in samples[4 * step:4 * step + 4]:
                with zipfile.ZipFile(name) as z:
                    z.read("s%d.npy" % i)
PY
python3 -c 'import runpy, sys, types
sys.modules["ioreel"] = types.ModuleType("ioreel")
sys.argv = ["archives.py", "make"]
runpy.run_path("archives.py")'
"$IOREEL" record -q -o archives.reel -- python3 archives.py
check 'archives of many samples: fit' '"$IOREEL" fit -q archives.reel -o job.json'
is 'an archive for each sample' "$(key '["dataset"]["files"]') $(key '["pipeline"]["batch"]')" '40 4'
is 'which is said once' "$(python3 -c "import json
print([r['confidence'] for r in json.load(open('job.json'))['fit'] if r['key'] == 'dataset.files'])")" '[0.3]'

# Rank 0 waits for rank 1, whose batches are slow, in what looks like computation.
cat >ranks.py <<'PY'
import ioreel, os, time
slow = os.environ["RANK"] == "1"
def batches():
    for i in range(10):
        with open("n/%d.dat" % i, "rb", buffering=0) as f:
            f.read(5000)
        time.sleep(0.08 if slow else 0)
        yield i
with ioreel.span("epoch", 0):
    for step in ioreel.steps(batches()):
        time.sleep(0.02 if slow else 0.1)
PY
"$IOREEL" record -q -o ranks.reel -- sh -c 'for r in 0 1; do
	RANK=$r WORLD_SIZE=2 python3 ranks.py &
done
wait'
check 'ranks that wait for one another: fit' '"$IOREEL" fit -q ranks.reel -o job.json'
check 'the computation is that of the rank that is waited for' 'python3 -c "
import json
d = json.load(open(\"job.json\"))
ns = d[\"compute\"][\"series_ns\"]
assert d[\"ranks\"] == 2 and len(ns) == 9 and sorted(ns)[4] < 90e6, (d[\"ranks\"], ns)"'

# A worker of an evaluation that is left early reads on, while the training begins.
cat >early.py <<'PY'
import ioreel, os, time
from ioreel import shim
def read(i):
    with open("n/%d.dat" % i, "rb", buffering=0) as f:
        f.read(5000)
def batches():
    for i in range(10):
        read(i)
        yield i
with ioreel.span("eval", 0):
    out, back = os.pipe()
    child = os.fork()
    if child == 0:
        shim.note("role", "worker")
        for i in range(30, 34):
            with ioreel.span("preprocess"):
                read(i)
            os.write(back, b".")
            time.sleep(0.05)
        os._exit(0)
    with ioreel.span("fetch"):
        os.read(out, 1)
with ioreel.span("epoch", 0):
    for step in ioreel.steps(batches()):
        time.sleep(0.03)
os.waitpid(child, 0)
PY
"$IOREEL" record -q -o early.reel -- python3 early.py
check 'an evaluation that is left early: fit' '"$IOREEL" fit -q early.reel -o job.json'
is 'what its worker reads later is not of the training' \
	"$(key '["dataset"]["files"]') $(key '["evaluation"]["files"]')" '10 4'

# A job that trains nothing: its evaluations are the epochs, their batches the steps.
cat >infers.py <<'PY'
import ioreel, time
for epoch in range(2):
    with ioreel.span("eval", epoch):
        for batch in range(21):
            with ioreel.span("fetch"):
                for i in range(2 * batch, min(2 * batch + 2, 40)):
                    with open("n/%d.dat" % i, "rb", buffering=0) as f:
                        f.read(5000)
            time.sleep(0.005)
PY
"$IOREEL" record -q -o infers.reel -- python3 infers.py
check 'a job that only evaluates: fit' '"$IOREEL" fit -q infers.reel -o job.json'
is 'epochs and batch' "$(key '["epochs"]') $(key '["pipeline"]["batch"]') $(key '["evaluation"]["files"]')" '2 2 0'
check 'the time between its batches is the computation' 'python3 -c "
import json
ns = sorted(json.load(open(\"job.json\"))[\"compute\"][\"series_ns\"])
assert len(ns) == 40 and ns[0] >= 5e6, ns"'

# A library looks at the start of each file before it reads it.
cat >looks.py <<'PY'
import os
for name in sorted(os.listdir("d")):
    for n in 4096, 4096, 4096, 262144:
        with open("d/" + name, "rb", 0) as f:
            f.read(n)
PY
"$IOREEL" record -q -o looks.reel -- python3 looks.py
"$IOREEL" fit -q looks.reel -o job.json
is 'opens that look at the start of a file are no epochs' "$(key '["epochs"]')" 1

# All files before the first step, or in the steps.
cat >memory.py <<'PY'
import os, sys, ioreel
def load(name):
    with open("d/" + name, "rb") as f:
        return f.read()
data = []
if sys.argv[1] == "before":
    data = [load(name) for name in sorted(os.listdir("d"))]
for epoch in range(2):
    with ioreel.span("epoch", epoch):
        for name in ioreel.steps(sorted(os.listdir("d"))):
            sum(data[0][:1000]) if data else load(name)
PY
for how in before within; do
	"$IOREEL" record -q -o $how.reel -- python3 memory.py $how
	"$IOREEL" fit $how.reel -o $how.json 2>$how.why
done
check 'data that was read before the first step: said' 'grep -q "^pipeline.in_memory  *90 %  the job read 100 % of the bytes before its first step" before.why'
check 'not of data that the steps read' '! grep -q "before its first step" within.why'
# A sample takes a whole block, as of a row group: an epoch reads each block for many.
head -c 200000 /dev/urandom >blocks.bin
cat >blocks.py <<'PY'
import os, random, ioreel
size = 5000
random.seed(1)
fd = os.open("blocks.bin", os.O_RDONLY)
def batches():
    places = [k % 40 for k in range(400)]
    random.shuffle(places)
    for i in range(0, 400, 4):
        for k in places[i:i + 4]:
            os.pread(fd, size, k * size)
        yield i
for epoch in range(2):
    with ioreel.span("epoch", epoch):
        for step in ioreel.steps(batches()):
            pass
PY
"$IOREEL" record -q -o blocks.reel -- python3 blocks.py
check 'reads of blocks: fit' '"$IOREEL" fit -q blocks.reel -o job.json'
is 'an epoch reads each block so often' "$(key '["pipeline"]["repeats"]') $(key '["pipeline"]["batch"]') $(key '["dataset"]["samples_per_file"]')" '10 4 40'

# Files that are read in parts, with more steps than files.
cat >parts.py <<'PY'
import os, ioreel
def batches():
    with open("parts.bin", "rb", buffering=0) as f:
        while f.read(7000 if f.tell() % 3 else 3000):
            yield 1
for epoch in range(2):
    with ioreel.span("epoch", epoch):
        for step in ioreel.steps(batches()):
            pass
PY
head -c 300000 /dev/urandom >parts.bin
"$IOREEL" record -q -o parts.reel -- python3 parts.py
check 'a file in parts: fit' '"$IOREEL" fit -q parts.reel -o job.json'
check 'its samples are at least as many as the steps' "[ $(key '["dataset"]["samples_per_file"]') -ge 40 ]"

# Loops that are left: batches that their workers began are never taken.
cat >left.py <<'PY'
import os, time, ioreel
for epoch in range(6):
    with ioreel.span("epoch", epoch):
        r, w = os.pipe()
        if os.fork() == 0:
            os.close(w)
            ioreel.note("role", "worker")
            for batch in range(8):
                with ioreel.span("preprocess"):
                    open("n/%d.dat" % batch, "rb").read()
            os.read(r, 1)
            os._exit(0)
        os.close(r)
        time.sleep(0.05)
        for step in ioreel.steps(range(2)):
            time.sleep(0.002)
        os.close(w)
        os.wait()
PY
"$IOREEL" record -q -o left.reel -- python3 left.py
check 'loops that are left early: fit' '"$IOREEL" fit -q left.reel -o job.json'
check 'the batches that nothing took do not add up' "[ $(key '["pipeline"]["prefetch"]') -le 8 ]"

# Samples of the evaluation take longer than those of the training.
mkdir e
for i in 0 1 2 3 4 5 6 7; do head -c 5000 /dev/urandom >e/$i.npy; done
cat >evaluates.py <<'PY'
import time, ioreel
def batch(names, seconds):
    with ioreel.span("fetch"):
        with ioreel.span("preprocess"):
            for name in names:
                open("e/%d.npy" % name, "rb").read()
            time.sleep(seconds)
for epoch in range(2):
    with ioreel.span("epoch", epoch):
        for i in range(2):
            with ioreel.span("step", i):
                batch((2 * i, 2 * i + 1), 0.002)
                time.sleep(0.005)
    with ioreel.span("eval", epoch):
        for i in range(2):
            batch((4 + 2 * i, 5 + 2 * i), 0.04)
PY
"$IOREEL" record -q -o evaluates.reel -- python3 evaluates.py
check 'slow samples of an evaluation: fit' '"$IOREEL" fit -q evaluates.reel -o job.json'
check 'the work on a sample, of each' 'python3 -c "
import json
d = json.load(open(\"job.json\"))
train, test = (sorted(d[k][\"sample_ns\"][\"quantiles\"]) for k in (\"preprocess\", \"evaluation\"))
train, test = (v[len(v) // 2] for v in (train, test))
# a busy machine takes its share of both
assert test > 5 * train, (train, test)
open(\"test.ns\", \"w\").write(str(test))"'
"$IOREEL" gen -q job.json evaluates.d
check 'the benchmark spends it' '"$IOREEL" run --json -q job.json --data evaluates.d >run.out &&
	python3 -c "
import json
s = json.load(open(\"run.out\"))[\"evaluation_s\"]
assert s >= 2 * 4 * 0.8e-9 * int(open(\"test.ns\").read()), s"'

# Checkpoints that are written over the one before, or beside it.
cat >saves.py <<'PY'
import sys, ioreel
for step in ioreel.steps(range(6)):
    open("e/0.npy", "rb").read()
    with ioreel.span("checkpoint"):
        with open("last.ckpt" if sys.argv[1] == "over" else "%d.ckpt" % step, "wb") as f:
            f.write(b"x" * 100000)
PY
for how in over beside; do
	rm -rf saves.reel
	"$IOREEL" record -q -o saves.reel -- python3 saves.py $how
	check "checkpoints $how: fit" '"$IOREEL" fit -q saves.reel -o job.json'
	case $how in over) keep=1 ;; *) keep=0 ;; esac
	is "checkpoints $how: how many stay" "$(key '["checkpoint"]["keep"]')" $keep
done

# Samples of two files each, an image and its mask: the benchmark has the files of one
# format, and the reasons say that the others are left out.
mkdir pairs
for i in 0 1 2 3 4 5 6 7; do
	head -c 60000 /dev/urandom >pairs/$i.jpg
	head -c 20000 /dev/urandom >pairs/$i.png
done
cat >pairs.py <<'PY'
import ioreel
for step in ioreel.steps(range(8)):
    for kind in ".jpg", ".png":
        open("pairs/%d%s" % (step, kind), "rb").read()
PY
"$IOREEL" record -q -o pairs.reel -- python3 pairs.py
check 'files of two formats: fit' '"$IOREEL" fit pairs.reel -o job.json 2>why'
check 'files of two formats: those that are left out' 'grep -q "^dataset.files  *60 %.*; left out: 8 of other formats, 25.0 % of the read bytes" why'

# A job that makes its data set cannot say what a run needs that finds it.
# Passes over the files, unmarked: NumPy reads the array of a small file behind the
# buffer that holds it, and a file of metadata is read once for all passes.
mkdir small meta
for i in 0 1 2 3 4 5 6 7; do
	head -c 8192 /dev/urandom >small/x$i.npy
	head -c 640 /dev/urandom >small/y$i.npy
	head -c 5000 /dev/urandom >meta/$i.bin
done
head -c 500 /dev/urandom >meta/index.bin
cat >passes.py <<'PY'
import os
open("meta/index.bin", "rb").read()
for epoch in range(2):
    for i in range(8):
        open("meta/%d.bin" % i, "rb").read()
PY
cat >npy.py <<'PY'
import os
for epoch in range(3):
    for i in range(8):
        for name in "xy":
            with open("small/%s%d.npy" % (name, i), "rb") as f:
                f.read(128)
                os.pread(f.fileno(), 8192, 128)
PY
for job in passes npy; do
	"$IOREEL" record -q -o $job.reel -- python3 $job.py
	check "$job: fit" '"$IOREEL" fit -q $job.reel -o job.json'
	case $job in passes) n=2 ;; *) n=3 ;; esac
	is "$job: epochs" "$(key '["epochs"]')" $n
done

# Lines of a CSV file come by a buffer of 8 KiB, not by the pieces of pandas. A loader
# drops the rest of an epoch behind the last whole batch: 2004 rows, 100 batches of 20.
python3 -c '
for i in range(2):
    open("rows%d.csv" % i, "w").write("".join("%06d,%s\n" % (k, "7" * 92) for k in range(1002)))'
cat >rows.py <<'PY'
import os, ioreel
for epoch in range(2):
    with ioreel.span("epoch", epoch):
        rows = []
        for i in range(2):
            fd = os.open("rows%d.csv" % i, os.O_RDONLY)
            while piece := os.read(fd, 8192):
                rows.append(piece)
            os.close(fd)
        for step in ioreel.steps(range(100)):
            pass
PY
"$IOREEL" record -q -o rows.reel -- python3 rows.py
check 'rows of CSV: fit' '"$IOREEL" fit rows.reel -o job.json 2>why && "$IOREEL" gen -q job.json rows.d'
is 'their reads are not those of pandas' "$(key '["access"]["chain"][0]["bytes"]')" 8192
is 'the batch, and what is dropped' "$(key '["pipeline"]["batch"]') $(key '["pipeline"]["drop_last"]')" '20 True'
check 'as many steps' '"$IOREEL" run --json -q job.json --data rows.d >run.out && grep -q "\"steps\": 200\b" run.out'

rm -rf makes.reel
"$IOREEL" record -q -o makes.reel -- sh -c 'head -c 100000 /dev/zero >made.npy; cat made.npy >/dev/null'
check 'a job that makes its data' '! "$IOREEL" fit -q makes.reel -o job.json 2>err &&
	grep -q "it writes .*/made.npy. itself; record a run that finds it" err && [ "$(wc -l <err)" = 1 ]'
finish
