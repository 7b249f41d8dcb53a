#!/bin/sh
# SPDX-License-Identifier: MIT
# NumPy's npz and npy: read back with NumPy, each sample once. (run.t compares the
# calls of np.load().)
. "$(dirname "$0")/../lib/tap.sh"
cat >read.py <<'PY'
import glob, sys
import numpy as np
numbers = []
for name in sorted(glob.glob("ds/train/*")):
    a = np.load(name)
    x = a["x"] if name.endswith("z") else a
    if name.endswith("z"):
        assert sorted(a.files) == ["x", "y"]
        numbers += list(a["y"])
    if x.ndim == 2:
        first = [int.from_bytes(row[:8].tobytes(), "little") for row in x]
        if name.endswith("z"):
            assert first == numbers[-len(first):]
        else:
            numbers += first
    assert x.dtype == np.uint8 and x.any()
if sys.argv[1:] == ["all"]:
    assert numbers == list(range(60)), numbers
PY
for format in npz npy; do
	mkdir $format && cd $format || exit 1
	. "$TOP/tests/replay/format.sh"
	each_sample
	faults
	if python3 -c 'import numpy' 2>/dev/null; then
		check "$format: NumPy reads every file" "python3 ../read.py $([ $format = npz ] && echo all)"
		check "$format of one size: NumPy reads every sample" 'w set w.json dataset.sample_bytes=5000 >o.json &&
			rm -r ds && "$IOREEL" gen -q o.json ds && python3 ../read.py all'
	else
		skip "$format: NumPy reads every sample" 'no NumPy'
	fi
	if [ $format = npz ]; then
		w set w.json dataset.unread=2.5 >u.json
		check 'npz: what no one reads is in the archive, and is not read' '
			"$IOREEL" gen -q u.json unread && "$IOREEL" run -q u.json --data unread --json >u.out &&
			"$IOREEL" gen -q w.json plain && "$IOREEL" run -q w.json --data plain --json >w.out &&
			python3 -c "
import json, zipfile, glob
u, w = (json.load(open(n)) for n in (\"u.out\", \"w.out\"))
assert u[\"samples\"] == w[\"samples\"]
assert w[\"read_bytes\"] < u[\"read_bytes\"] < 1.5 * w[\"read_bytes\"], (u[\"read_bytes\"], w[\"read_bytes\"])
for name in glob.glob(\"unread/train/*.npz\"):
    z = zipfile.ZipFile(name)
    assert z.testzip() is None and z.namelist() == [\"x.npy\", \"y.npy\", \"z.npy\"], z.namelist()
    assert z.getinfo(\"z.npy\").file_size == 128 + int(2.5 * (z.getinfo(\"x.npy\").file_size - 128))
"'
		w set w.json dataset.files=10 dataset.samples_per_file=1 dataset.sample_bytes=1000000 dataset.unread=3 >large.json
		check 'npz: the size of a data set has what no one reads' '"$IOREEL" workload size large.json | grep -q "40.0 MB"'
		w set w.json dataset.sample_bytes=4 dataset.unread=100000000 >large.json
		check 'npz: a ratio of a small array and a large archive' '"$IOREEL" workload check large.json'
		check 'npz: bytes beyond all storage are refused' '! w set w.json dataset.sample_bytes=1000000000 \
			dataset.unread=1e12 >large.json 2>err && grep -q "dataset.unread: .* bytes in all, more than" err'
	else
		check 'npy: has no room for what no one reads' '! w set w.json dataset.unread=2.5 >u.json 2>err && grep -q "dataset.unread" err'
	fi
	cd ..
done
finish
