#!/bin/sh
# SPDX-License-Identifier: MIT
# WebDataset's tar: read back with webdataset and tarfile, each sample once, the
# calls of webdataset.
. "$(dirname "$0")/../lib/tap.sh"
format=tar
. "$TOP/tests/replay/format.sh"
each_sample
faults
check 'an archive without its end' 'cp ds/train/* cut/train/ && f=$(ls cut/train/*_00000003_of_*) && n=$(stat -c %s "$f") &&
	python3 -c "
import sys, tarfile
m = tarfile.open(sys.argv[1]).getmembers()[-1]
print(m.offset_data + 512)" "$f" >end && truncate -s "$(cat end)" "$f" && "$IOREEL" run w.json --data cut 2>err
	[ $? = 1 ] && grep -q "shorter" err'

cat >read.py <<'PY'
import glob, sys, tarfile
numbers = []
for f in sorted(glob.glob("ds/train/*.tar")):
    if sys.argv[1] == "tarfile":
        t = tarfile.open(f)
        names = t.getnames()
        samples = [{"bin": t.extractfile(n).read(), "cls": t.extractfile(n[:-3] + "cls").read()}
                   for n in names if n.endswith(".bin")]
    else:
        import webdataset
        samples = list(webdataset.WebDataset(f, shardshuffle=False))
    for s in samples:
        numbers.append(int(s["cls"]))
        assert int.from_bytes(s["bin"][:8], "little") == numbers[-1]
assert numbers == list(range(60)), len(numbers)
PY
check 'tarfile reads every sample' 'python3 read.py tarfile'
if python3 -c 'import webdataset' 2>/dev/null; then
	check 'webdataset reads every sample' 'python3 read.py webdataset'
else
	skip 'webdataset reads every sample' 'no webdataset'
fi
cat >load.py <<'PY'
import sys
import webdataset
for _ in 0, 1:
    for sample in webdataset.WebDataset(sys.argv[1], shardshuffle=False):
        pass
PY
# The end of the archive is at each place of a record, and within the last one or not.
for bytes in 1 3000 4096 6144 6656 7168 7680 8192 100000 1000000; do
	if command -v strace >/dev/null && has webdataset 1; then
		same_calls "samples of $bytes bytes" dataset.sample_bytes=$bytes dataset.samples_per_file=4 -- load.py
		same_calls "a sample of $bytes bytes" dataset.sample_bytes=$bytes dataset.samples_per_file=1 -- load.py
	else
		skip "samples of $bytes bytes" 'no strace, or not Python 3.11 with webdataset 1'
	fi
done
finish
