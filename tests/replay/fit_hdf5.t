#!/bin/sh
# SPDX-License-Identifier: MIT
# ioreel fit of HDF5 files with chunks of several samples: whether an epoch reads a
# chunk once, or for each of its samples; chunks with a part of each.
. "$(dirname "$0")/../lib/tap.sh"
for python in python3 /usr/bin/python3 none; do
	"$python" -c 'import h5py, numpy' 2>/dev/null && break
done
[ $python = none ] && skip_all 'h5py is missing'

# key PATH: the value of a key.
key() { python3 -c "import json; print(json.load(open('job.json'))$1)"; }
cat >chunks.py <<'PY'
import random, sys
import h5py, numpy
if sys.argv[1] == "images":
    x = numpy.random.default_rng(1).integers(0, 30, (256, 64, 64, 3), dtype=numpy.uint8)
    with h5py.File("d.h5", "w") as f:
        f.create_dataset("x", data=x, chunks=(128, 16, 16, 1), compression="gzip")
    sys.exit()
if sys.argv[1] == "make":
    x = numpy.random.default_rng(1).integers(0, 256, (256, 24000), dtype=numpy.uint8)
    with h5py.File("d.h5", "w") as f:
        f.create_dataset("x", data=x, chunks=(4, 24000), compression="gzip", compression_opts=1)
    sys.exit()
import ioreel
random.seed(1)
for epoch in range(2):
    with h5py.File("d.h5", "r", rdcc_nbytes=200000) as f, ioreel.span("epoch", epoch):
        x = f["x"]  # each access to it by its name would begin with an empty cache
        if sys.argv[1] == "samples":
            order = random.sample(range(256), 256)
        else:
            order = [4 * i + k for i in random.sample(range(64), 64) for k in range(4)]
        for at in range(0, 256, 16):
            with ioreel.span("step"):
                for i in order[at:at + 16]:
                    x[i]
PY
"$python" chunks.py make
for how in samples chunks; do
	rm -rf job.reel d
	"$IOREEL" record -q -o job.reel -- "$python" chunks.py $how
	check "shuffled $how: fit" '"$IOREEL" fit -q job.reel -o job.json'
	case $how in samples) block=1 ;; *) block=4 ;; esac
	is "shuffled $how: samples that stay together" "$(key '["pipeline"]["block"]') $(key '["dataset"]["samples_per_file"]') $(key '["dataset"]["chunk_bytes"]')" "$block 256 96000"
	"$IOREEL" gen -q job.json d
	"$IOREEL" run -q job.json --data d -o run.db >out
	"$IOREEL" compare --json --class data job.reel run.db >compared
	check "shuffled $how: the benchmark reads their bytes" 'python3 -c "
import json
f = {x[\"name\"]: x for x in json.load(open(\"compared\"))[\"factors\"]}[\"bytes read\"]
assert abs(f[\"d\"]) < 0.15, f"'
done

# The layout that h5py chooses itself: a sample takes 48 chunks, more than its cache holds.
"$python" chunks.py images
rm -rf job.reel d
"$IOREEL" record -q -o job.reel -- "$python" chunks.py samples
check 'parts of samples: fit' '"$IOREEL" fit -q job.reel -o job.json'
is 'parts of samples: a chunk, no block' "$(key '["dataset"]["chunk_bytes"]') $(key '["dataset"]["chunk_samples"]') $(key '["pipeline"]["block"]')" '32768 128 1'
"$IOREEL" gen -q job.json d
"$IOREEL" run -q job.json --data d -o run.db >out
"$IOREEL" compare --json --class data job.reel run.db >compared
check 'parts of samples: the benchmark reads their bytes, in as large reads' 'python3 -c "
import json
f = {x[\"name\"]: x for x in json.load(open(\"compared\"))[\"factors\"]}
for name in \"bytes read\", \"transfer size, mean\", \"transfer size, median\":
    assert abs(f[name][\"d\"]) < 0.15, f"'
check 'the mark of a data set names them' '! "$IOREEL" run -q job.json --data d --set dataset.chunk_samples=32 2>err >out && grep -q "chunk_samples. differs" err &&
	! "$IOREEL" run -q job.json --data d --set dataset.chunk_samples=0 2>err >out && grep -q "differs" err'

# A volume and its mask in a file of each sample, which batches read whole.
cat >volumes.py <<'PY'
import os, random
import h5py, numpy
rng = numpy.random.default_rng(1)
if not os.path.isdir("v"):
    os.mkdir("v")
    for i in range(32):
        n = 60 + i
        with h5py.File("v/%02d.h5" % i, "w") as f:
            f.create_dataset("image", data=rng.random((n, n), dtype=numpy.float32),
                             chunks=(32, 32), compression="gzip")
            f.create_dataset("mask", data=rng.integers(0, 256, (n, n), dtype=numpy.uint8),
                             chunks=(32, 32), compression="lzf")
            f["label"] = i
    raise SystemExit
import ioreel
random.seed(1)
for epoch in range(2):
    order = random.sample(range(32), 32)
    with ioreel.span("epoch", epoch):
        for at in range(0, 32, 4):
            with ioreel.span("step"):
                with ioreel.span("fetch"), ioreel.span("preprocess"):
                    for i in order[at:at + 4]:
                        with h5py.File("v/%02d.h5" % i, "r") as f:
                            f["image"][:], f["mask"][:], f["label"][()]
PY
"$python" volumes.py
rm -rf job.reel d
"$IOREEL" record -q -o job.reel -- "$python" volumes.py
check 'all arrays of a file are a sample: fit' '"$IOREEL" fit -q job.reel -o job.json'
is 'all arrays of a file are a sample, not the rows of one' "$(key '["dataset"]["files"]') $(key '["dataset"]["samples_per_file"]') $(key '["pipeline"]["batch"]')" '32 1 4'
is 'its bytes are theirs' "$(key '["dataset"]["series_bytes"]' | tr -d '[],' | cut -d' ' -f 1-2)" '18008 18613'
"$IOREEL" gen -q job.json d
"$IOREEL" run -q job.json --data d -o run.db >out
"$IOREEL" compare --json --class data job.reel run.db >compared
check 'all arrays of a file are a sample: the benchmark reads their bytes' 'python3 -c "
import json
f = {x[\"name\"]: x for x in json.load(open(\"compared\"))[\"factors\"]}[\"bytes read\"]
assert abs(f[\"d\"]) < 0.1, f"'

# Arrays that are read at once, of which several steps take their samples.
cat >shards.py <<'PY'
import h5py, numpy, os, sys
if sys.argv[1:]:
    os.mkdir("s")
    for i in range(10):
        with h5py.File("s/%d.h5" % i, "w") as f:
            f["x"] = numpy.zeros((70, 3000), dtype=numpy.float32)
            f["y"] = numpy.arange(70)
    raise SystemExit
import ioreel
for epoch in range(2):
    with ioreel.span("epoch", epoch):
        for step in ioreel.steps(range(22)):
            if step % 2 == 0 and step < 20:
                with h5py.File("s/%d.h5" % (step // 2), "r") as f:
                    f["x"][:], f["y"][:]
PY
"$python" shards.py make
rm -rf job.reel d
"$IOREEL" record -q -o job.reel -- "$python" shards.py
check 'arrays that are read at once: fit' '"$IOREEL" fit -q job.reel -o job.json'
is 'arrays that are read at once: rows are samples' \
	"$(key '["dataset"]["samples_per_file"]') $(key '["pipeline"]["batch"]')" '70 32'
"$IOREEL" gen -q job.json d
"$IOREEL" run -q job.json --data d -o run.db >out
"$IOREEL" compare --json --class data job.reel run.db >compared
check 'arrays that are read at once: the benchmark does so' 'python3 -c "
import json
f = {x[\"name\"]: x for x in json.load(open(\"compared\"))[\"factors\"]}
for name in \"bytes read\", \"transfer size, max\":
    assert abs(f[name][\"d\"]) < 0.05, f"'

# Rows of several arrays of a file, by their names: each access begins with empty caches.
cat >rows.py <<'PY'
import random, sys
import h5py, numpy
rng = numpy.random.default_rng(1)
if sys.argv[1] == "make":
    with h5py.File("r.h5", "w") as f:
        f["image"] = rng.integers(0, 256, (256, 150, 100), dtype=numpy.uint8)
        f["mask"] = rng.integers(0, 256, (256, 100, 100), dtype=numpy.uint8)
        f["unread"] = rng.random((256, 5000))
        f["label"] = numpy.arange(256)
        f["names"] = numpy.arange(10)
    with h5py.File("z.h5", "w") as f:
        f.create_dataset("image", data=rng.integers(0, 30, (256, 24000), dtype=numpy.uint8),
                         chunks=(4, 24000), compression="gzip")
        f["label"] = numpy.arange(256)
    raise SystemExit
import ioreel
random.seed(1)
names = {"r.h5": ("image", "mask", "label"), "z.h5": ("image", "label")}[sys.argv[1]]
for epoch in range(2):
    order = random.sample(range(256), 256) if sys.argv[2] == "shuffle" else range(256)
    with h5py.File(sys.argv[1], "r") as f, ioreel.span("epoch", epoch):
        arrays = [f[name] for name in names] if sys.argv[3] == "kept" else None
        for at in range(0, 256, 16):
            with ioreel.span("step"):
                for i in order[at:at + 16]:
                    for k, name in enumerate(names):
                        arrays[k][i] if arrays else f[name][i]
PY
# check_reads WHAT SIZE SIZE: the benchmark of job.json reads as many bytes as job.reel, of
# these sizes.
check_reads() {
	"$IOREEL" gen -q job.json d
	"$IOREEL" run -q job.json --data d -o run.db >out
	"$IOREEL" compare --json --class data job.reel run.db >compared
	check "$1: the benchmark reads their bytes, in as large reads" "python3 -c '
import json
f = {x[\"name\"]: x for x in json.load(open(\"compared\"))[\"factors\"]}
for name in \"bytes read\", \"transfer size, $2\", \"transfer size, $3\":
    assert abs(f[name][\"d\"]) < 0.05, (name, f[name])'"
}
"$python" rows.py make
for how in 'r.h5 shuffle named' 'r.h5 sequential named' 'r.h5 sequential kept' 'z.h5 shuffle named'; do
	rm -rf job.reel d
	"$IOREEL" record -q -o job.reel -- "$python" rows.py $how
	check "rows of several arrays, $how: fit" '"$IOREEL" fit -q job.reel -o job.json'
	case $how in *kept) reopen=False ;; *) reopen=True ;; esac
	case $how in
	r*) columns='(15000, True, False), (10000, True, False), (8, True, False), (40000, False, False)' ;;
	*) columns='(24000, True, False), (8, True, True)' ;;
	esac
	is "rows of several arrays, $how: the arrays, and whether they stay open" \
		"$(python3 -c 'import json; d = json.load(open("job.json"))
print([(c["bytes"], c["read"], c["contiguous"]) for c in d["dataset"]["columns"]],
      d["access"]["reopen_arrays"], d["pipeline"]["order"])')" \
		"[$columns] $reopen $(echo $how | cut -d' ' -f2)"
	check_reads "rows of several arrays, $how" mean median
done

# Rows that are read by slices: large ones, and small ones that share a buffer.
cat >slices.py <<'PY'
import random, sys
import h5py, numpy
rows = {"l.h5": 22500, "s.h5": 4000}
if sys.argv[1] == "make":
    rng = numpy.random.default_rng(1)
    for name, n in rows.items():
        with h5py.File(name, "w") as f:
            f["x"] = rng.integers(0, 256, (403, n), dtype=numpy.uint8)
            f["y"] = numpy.arange(403)
    raise SystemExit
import ioreel
random.seed(1)
for epoch in range(2):
    order = list(range(0, 403, 8))
    if sys.argv[2] == "shuffle":
        random.shuffle(order)
    with h5py.File(sys.argv[1], "r") as f, ioreel.span("epoch", epoch):
        arrays = {"x": f["x"], "y": f["y"]} if sys.argv[3] == "kept" else f
        for i in order:
            with ioreel.span("step"):
                arrays["x"][i:i + 8], arrays["y"][i:i + 8]
PY
"$python" slices.py make
for how in 'l.h5 sequential kept' 'l.h5 shuffle named' 's.h5 sequential named' 's.h5 shuffle kept'; do
	rm -rf job.reel d
	"$IOREEL" record -q -o job.reel -- "$python" slices.py $how
	check "slices, $how: fit" '"$IOREEL" fit -q job.reel -o job.json'
	is "slices, $how: the rows of one" "$(key '["access"]["slice_samples"]')" 8
	check_reads "slices, $how" median max
done

# Rows that are drawn: windows of them at random places, larger and smaller than the buffer,
# of chunks, and sorted lists of rows. One of them marks no epoch.
cat >drawn.py <<'PY'
import contextlib, random, sys
import h5py, numpy
if sys.argv[1] == "make":
    rng = numpy.random.default_rng(1)
    with h5py.File("w.h5", "w") as f:
        f["x"] = rng.random((30000, 32), dtype=numpy.float32)
        f["y"] = numpy.arange(30000)
    with h5py.File("i.h5", "w") as f:
        f["x"] = rng.integers(0, 256, (2000, 4096), dtype=numpy.uint8)
        f["y"] = numpy.arange(2000)
    with h5py.File("z.h5", "w") as f:
        f.create_dataset("x", data=rng.integers(0, 999, (30000, 32), dtype=numpy.int32),
                         chunks=(300, 32), compression="gzip", compression_opts=1)
    raise SystemExit
import ioreel
random.seed(1)
def windows(f, name, least, most):
    for _ in range(8):
        n = random.randint(least, most)
        at = random.randrange(30000 - n)
        f[name][at:at + n]
def rows(f, order):
    at = sorted(order)
    f["x"][at], f["y"][at]
how = {"large": lambda f, _: windows(f, "x", 1024, 1024),
       "varying": lambda f, _: windows(f, "x", 600, 1400),
       "small": lambda f, _: windows(f, "x", 64, 64),
       "chunked": lambda f, _: windows(f, "x", 64, 64),
       "listed": rows, "unmarked": rows}[sys.argv[2]]
with h5py.File(sys.argv[1], "r") as f:
    for epoch in range(2):
        order = random.sample(range(2000), 2000)
        marked = sys.argv[2] != "unmarked"
        with ioreel.span("epoch", epoch) if marked else contextlib.nullcontext():
            for at in range(0, 2000, 40):
                with ioreel.span("step"):
                    how(f, order[at:at + 40])
PY
"$python" drawn.py make
for how in 'w.h5 large' 'w.h5 varying' 'w.h5 small' 'z.h5 chunked' 'i.h5 listed' 'i.h5 unmarked'; do
	rm -rf job.reel d
	"$IOREEL" record -q -o job.reel -- "$python" drawn.py $how
	check "drawn rows, $how: fit" '"$IOREEL" fit -q job.reel -o job.json'
	check_reads "drawn rows, $how" mean median
done
finish
