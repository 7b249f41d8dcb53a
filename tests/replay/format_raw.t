#!/bin/sh
# SPDX-License-Identifier: MIT
# Raw: each sample once, the calls of a program that takes samples with os.pread();
# other plain readers read the same bytes, with other calls.
. "$(dirname "$0")/../lib/tap.sh"
format=raw
. "$TOP/tests/replay/format.sh"
each_sample
faults
cat >load.py <<'PY'
import os, sys
size = os.path.getsize(sys.argv[1]) // 6
for _ in 0, 1:
    fd = os.open(sys.argv[1], os.O_RDONLY)
    for i in range(6):
        at = i * size
        while at < (i + 1) * size:
            at += len(os.pread(fd, min((i + 1) * size - at, 1 << 20), at))
    os.close(fd)
PY
# A sample above 1 MiB is read in pieces of it, as many benchmarks and cp do.
for bytes in 1 100 4096 5000 1000000 1048576 1048577 2500000; do
	if command -v strace >/dev/null; then
		same_calls "$bytes bytes: os.pread()" dataset.sample_bytes=$bytes -- load.py
	else
		skip "$bytes bytes" 'no strace'
	fi
done
cat >read.py <<'PY'
import sys
for _ in 0, 1:
    with open(sys.argv[1], "rb") as f:
        f.read()
PY
cat >fromfile.py <<'PY'
import sys
import numpy as np
for _ in 0, 1:
    np.fromfile(sys.argv[1], np.uint8)
PY
# bytes_of CALLS: the sum of the results of reads.
bytes_of() { awk '/^p?read/ { n += $NF } END { print n + 0 }' "$1"; }
for how in read fromfile; do
	if ! command -v strace >/dev/null || ! python3 -c 'import numpy' 2>/dev/null; then
		skip "$how" 'no strace, or no NumPy'
		continue
	fi
	rm -rf one; w set w.json dataset.files=1 dataset.samples_per_file=1 dataset.sample_bytes=1000000 \
		access.transfer_bytes=4194304 pipeline.batch=1 pipeline.order=sequential epochs=1 >one.json
	"$IOREEL" gen -q one.json one
	FILE=$(ls "$PWD"/one/train/*)
	strace -f -y -o ours "$IOREEL" run -q one.json --data one >/dev/null
	strace -f -y -o theirs python3 $how.py "$FILE" >reader.out 2>&1
	python3 "$TOP/tests/replay/format_calls.py" ours 1 >a
	python3 "$TOP/tests/replay/format_calls.py" theirs 2 >b
	check "$how: as many bytes" '[ "$(bytes_of a)" = 1000000 ] && [ "$(bytes_of b)" -ge 1000000 ] && [ "$(bytes_of b)" -le 1008192 ]'
	echo "# $how: $(grep -c read b) reads of $(bytes_of b) bytes, $(grep -vc read b) other calls; ioreel: $(grep -c read a) of $(bytes_of a), $(grep -vc read a) others"
done
finish
