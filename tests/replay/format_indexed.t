#!/bin/sh
# SPDX-License-Identifier: MIT
# The indexed binary format: read back with NumPy, each sample once, the calls of
# a Python reader that seeks by the index.
. "$(dirname "$0")/../lib/tap.sh"
format=indexed
. "$TOP/tests/replay/format.sh"
each_sample
faults
check 'an index is cut' 'cp ds/train/* cut/train/ && truncate -s 40 cut/train/*_00000003_of_*.off.idx
	"$IOREEL" run w.json --data cut 2>err; [ $? = 1 ] && grep -q "00000003.*off.idx.*shorter" err'
check 'an index points behind the file' 'cp ds/train/* cut/train/ && printf "\377%.0s" 1 2 3 4 5 6 | dd conv=notrunc of="$(ls cut/train/*_00000003_of_*.off.idx)" 2>/dev/null
	"$IOREEL" run w.json --data cut 2>err; [ $? = 1 ] && [ "$(grep -c "" err)" = 1 ]'

cat >read.py <<'PY'
import glob
import numpy as np
numbers = []
for f in glob.glob("ds/train/*.indexed_binary"):
    data = np.memmap(f, np.uint8)
    offsets, sizes = (np.fromfile(f + s, "<u8") for s in (".off.idx", ".sz.idx"))
    assert len(offsets) == len(sizes) == 6 and offsets[-1] + sizes[-1] == len(data)
    numbers += [int.from_bytes(data[o:o + 8].tobytes(), "little")
                for o in offsets.astype(int)]
assert sorted(numbers) == list(range(60)), len(numbers)
PY
if python3 -c 'import numpy' 2>/dev/null; then
	check 'NumPy reads every sample' 'python3 read.py'
else
	skip 'NumPy reads every sample' 'no NumPy'
fi

cat >load.py <<'PY'
import sys
import numpy as np
def longs(name):
    with open(name, "rb") as f:
        a = np.empty(6, dtype=np.int64)
        f.readinto(a)
    return a
for _ in 0, 1:
    offsets, sizes = longs(sys.argv[1] + ".off.idx"), longs(sys.argv[1] + ".sz.idx")
    with open(sys.argv[1], "rb") as f:
        for offset, size in zip(offsets, sizes):
            f.seek(offset)
            f.readinto(np.empty(size, dtype=np.uint8))
PY
for bytes in 100 4096 5000 1000000; do
	if command -v strace >/dev/null && has numpy 2; then
		same_calls "$bytes bytes" dataset.sample_bytes=$bytes -- load.py
	else
		skip "$bytes bytes" 'no strace, or not Python 3.11 with NumPy 2'
	fi
done
check 'access.transfer_bytes limits a read' 'w set w.json dataset.files=1 dataset.sample_bytes=1000000 epochs=1 pipeline.batch=1 >limited.json &&
	"$IOREEL" gen -q limited.json limited && strace -y -e trace=read -o s.txt "$IOREEL" run -q limited.json --data limited --set access.transfer_bytes=100000 >/dev/null &&
	[ "$(grep -c "indexed_binary>.* 100000) = 100000" s.txt)" = 60 ]'
finish
