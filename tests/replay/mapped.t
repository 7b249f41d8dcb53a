#!/bin/sh
# SPDX-License-Identifier: MIT
# access.api mmap: each sample once, the calls of NumPy's mappings, the pages that a
# recorder sees; what cannot be mapped is refused.
. "$(dirname "$0")/../lib/tap.sh"
format=raw
. "$TOP/tests/replay/format.sh"

cat >m.json <<'J'
{"schema": "ioreel-workload-1", "name": "m",
 "dataset": {"format": "raw", "files": 10, "samples_per_file": 6,
             "sample_bytes": {"quantiles": [100, 5000, 90000]}},
 "pipeline": {"batch": 4, "order": "shuffle"}, "epochs": 2}
J
"$IOREEL" gen -q m.json ds.posix
"$IOREEL" run -q m.json --data ds.posix --json >posix.json
for format in raw indexed npy; do
	w set m.json dataset.format=$format access.api=mmap >$format.json
	"$IOREEL" gen -q $format.json ds.$format
	for how in readers=0 readers=3 'readers=2 --set pipeline.unit=thread' 'readers=0 --set access.open_files=10'; do
		check "$format, $how: each sample once an epoch" '"$IOREEL" run -q $format.json --data ds.$format --json --set pipeline.$how >r.json &&
			[ "$(field r.json "[(e[\"samples\"], e[\"checksum\"]) for e in d[\"epochs\"]]")" = \
			"$(field posix.json "[(e[\"samples\"], e[\"checksum\"]) for e in d[\"epochs\"]]")" ]'
	done
	"$IOREEL" run -q $format.json --data ds.$format --set access.open_files=10 -o own.db >/dev/null
	rm -rf other.reel
	"$IOREEL" record -q -o other.reel -- "$IOREEL" run -q $format.json --data ds.$format --set access.open_files=10 >/dev/null
	for r in own.db other.reel; do
		"$IOREEL" sql $r --format tsv "SELECT call, path, count(*), sum(bytes) FROM v_event WHERE path LIKE '%/train/%' GROUP BY 1, 2" >$r.calls
	done
	check "$format: its store has the calls and pages of a recording" '[ -s own.db.calls ] && cmp own.db.calls other.reel.calls'
	cp -r ds.$format cut
	truncate -s 5000 cut/train/*_00000003_of_*.*[!x]
	check "$format: a file is cut" '! "$IOREEL" run -q $format.json --data cut 2>err && grep -q "_00000003_of.*shorter than it was made" err'
	rm -r cut
done
cp -r ds.indexed cut
printf '\377\377\377\377\377\377\377\177' | dd of=$(ls cut/train/*_00000003_of_*.off.idx) conv=notrunc 2>/dev/null
check 'indexed: an offset behind the end of the file' '! "$IOREEL" run -q indexed.json --data cut 2>err && grep -q "_00000003_of.*shorter than it was made" err'

cat >raw.py <<'PY'
import sys
import numpy as np
for _ in 0, 1:
    a = np.memmap(sys.argv[1], np.uint8, "r")
    a.sum()
    del a
PY
cat >npy.py <<'PY'
import sys
import numpy as np
for _ in 0, 1:
    a = np.load(sys.argv[1], mmap_mode="r")
    a.sum()
    del a
PY
cat >indexed.py <<'PY'
import sys
import numpy as np
for _ in 0, 1:
    all = [np.memmap(sys.argv[1] + s, t, "r") for s, t in ((".sz.idx", np.uint64), (".off.idx", np.uint64), ("", np.uint8))]
    while all:
        del all[0]
PY
for format in raw npy indexed; do
	if command -v strace >/dev/null && python3 -c 'import numpy' 2>/dev/null; then
		same_calls "$format" dataset.format=$format dataset.samples_per_file=6 dataset.sample_bytes=5000 access.api=mmap -- $format.py
	else
		skip "$format: the calls of the library" 'no strace, or no NumPy'
	fi
done

for key in access.transfer_bytes=4096 access.direct=true dataset.format=tfrecord 'access.chain=[{"bytes": 100, "next": [1]}]'; do
	check "$key is refused" '! "$IOREEL" run -q raw.json --null --set "$key" 2>err && grep -q "mmap\|mapped" err'
done
check 'exports' 'w export raw.json --as fio | grep -q "^ioengine=mmap" && w export raw.json --as ior | grep -q -- "-a MMAP" &&
	w export indexed.json --as dlio >e.yaml && grep -q "format: mmap_indexed_binary" e.yaml && w import e.yaml -o e.json 2>/dev/null &&
	[ "$(field e.json "d[\"access\"][\"api\"]")" = mmap ]'

# A loop that takes random parts of a mapped file, with the times of its page faults.
cat >crops.py <<'PY'
import mmap, random, time, ioreel
random.seed(3)
with open("tokens.dat", "rb") as f:
    m = mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ)
for step in range(30):
    for i in range(8):
        m[random.randrange(64) * 1048576 + random.randrange(4096)]
    with ioreel.span("backward"):
        time.sleep(0.002)
    with ioreel.span("optimizer"):
        pass
PY
head -c 67108864 /dev/zero >tokens.dat
python3 -c 'import os; f = os.open("tokens.dat", os.O_RDONLY); os.fsync(f); os.posix_fadvise(f, 0, 0, os.POSIX_FADV_DONTNEED)'
"$IOREEL" record -q --mmap faults -o crops.reel -- python3 crops.py
if [ "$("$IOREEL" sql crops.reel --format tsv "SELECT count(*) > 50 FROM v_event WHERE call = 'map_read' AND dur_ns > 0" | tail -1)" = 1 ]; then
	check 'fit: random parts of a mapped file' '"$IOREEL" fit -q crops.reel -o crops.json && w check crops.json'
	is 'mapped, in a shuffle' "$(field crops.json '(d["access"]["api"], d["pipeline"]["order"])')" "('mmap', 'shuffle')"
	is 'pages are its samples' "$(field crops.json '(d["dataset"]["sample_bytes"], d["dataset"]["samples_per_file"])')" '(4096, 16384)'
	check 'the benchmark runs' '"$IOREEL" gen -q crops.json crops && "$IOREEL" run -q crops.json --data crops --json >r.json && [ "$(field r.json "d[\"steps\"]")" = 30 ]'
else
	for t in 'fit: random parts of a mapped file' 'mapped, in a shuffle' 'pages are its samples' 'the benchmark runs'; do
		skip "$t" 'page faults are not reported here'
	done
fi
finish
