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
	cd ..
done
finish
