#!/bin/sh
# SPDX-License-Identifier: MIT
# Parquet: read back with pyarrow, each sample once, the calls of pyarrow for the
# footer and the columns of each row group.
. "$(dirname "$0")/../lib/tap.sh"
format=parquet
. "$TOP/tests/replay/format.sh"
w set w.json dataset.row_group_rows=4 >o.json && mv o.json w.json
each_sample
faults
columns='dataset.columns=[{"bytes": 4, "count": 3}, {"bytes": 8, "read": false}, {"bytes": 601}]'
check 'columns: every sample' 'w set w.json "$columns" dataset.sample_bytes=621 >c.json && "$IOREEL" gen -q c.json ds.c &&
	"$IOREEL" run c.json --data ds.c --json >r.json && [ "$(field r.json "d[\"epochs\"][0][\"checksum\"]")" = "$(head -1 sums)" ]'
# Rules and scales go by the bytes of a sample.
check 'columns say the bytes of a sample' 'python3 -c "
import json
d = json.load(open(\"c.json\")); del d[\"dataset\"][\"sample_bytes\"]; json.dump(d, open(\"without.json\", \"w\"))" &&
	w check without.json && [ "$(w set without.json name=x | field /dev/stdin "d[\"dataset\"][\"sample_bytes\"]")" = 621 ]'
check 'and contradict no others' '! w set c.json dataset.sample_bytes=620 2>err && grep -q "dataset.sample_bytes: the columns of a sample have 621 bytes" err'
check 'a scale below the samples of a few steps makes columns smaller' 'w set w.json dataset.files=1 dataset.samples_per_file=6 pipeline.batch=1 pipeline.readers=0 \
		"dataset.columns=[{\"bytes\": 90000, \"count\": 2}]" dataset.sample_bytes=180000 >wide.json &&
	"$IOREEL" gen -q --scale 1/10 wide.json tenth && n=$(cat tenth/train/*.parquet | wc -c) && [ "$n" -ge 108000 ] && [ "$n" -lt 112000 ]'

cat >read.py <<'PY'
import glob, sys
import pyarrow as pa
import pyarrow.parquet as pq
folder, columns = sys.argv[1:]
numbers = []
for name in sorted(glob.glob(folder + "/train/*.parquet")):
    f = pq.ParquetFile(name)
    assert (f.metadata.num_rows, f.num_row_groups) == (6, 2), f.metadata
    t = f.read()
    numbers += t["number"].to_pylist()
    if columns == "columns":
        types = [pa.int64()] + 3 * [pa.float32()] + [pa.float64(), pa.binary(601)]
        assert t.schema.types == types, t.schema
        first = [t[c].combine_chunks().buffers()[1].to_pybytes() for c in ("c0", "c1")]
        for i, n in enumerate(t["number"].to_pylist()):
            at = slice(4 * i, 4 * i + 4)
            assert int.from_bytes(first[0][at] + first[1][at], "little") == n
    else:
        for n, data in zip(t["number"].to_pylist(), t["data"].to_pylist()):
            assert int.from_bytes(data[:8], "little") == n
assert numbers == list(range(60)), len(numbers)
PY
if python3 -c 'import pyarrow' 2>/dev/null; then
	check 'pyarrow reads every sample' 'python3 read.py ds payload'
	check 'pyarrow reads every sample of columns' 'python3 read.py ds.c columns'
else
	skip 'pyarrow reads every sample' 'no pyarrow'
fi

cat >load.py <<'PY'
import json, sys
import pyarrow.parquet as pq
columns = ["number", "data"]
kinds = json.load(open("one.json"))["dataset"]["columns"]
if kinds:
    columns = ["number"]
    at = 0
    for k in kinds:
        columns += [f"c{at + i}" for i in range(k["count"]) if k["read"]]
        at += k["count"]
for _ in 0, 1:
    f = pq.ParquetFile(sys.argv[1])
    for i in range(f.num_row_groups):
        f.read_row_group(i, columns=columns)
    f.close()
PY
# as_pyarrow TITLE SET...
as_pyarrow() {
	if command -v strace >/dev/null && has pyarrow 26; then
		same_calls "$@" -- load.py
	else
		skip "$1" 'no strace, or not Python 3.11 with pyarrow 26'
	fi
}
many=dataset.samples_per_file
as_pyarrow 'a file below 64 KiB' dataset.sample_bytes=1000 $many=10
as_pyarrow 'rows of 100 kB' dataset.sample_bytes=100000 $many=10
as_pyarrow 'rows of 3 MB' dataset.sample_bytes=3000000 $many=5
as_pyarrow 'rows that vary' $many=20
as_pyarrow 'a footer above 64 KiB' dataset.sample_bytes=100 $many=3000
as_pyarrow 'columns, a gap that is read' dataset.row_group_rows=100 \
	'dataset.columns=[{"bytes":4,"count":5},{"bytes":8,"read":false},{"bytes":4}]' $many=1000
as_pyarrow 'columns, a gap that is not' dataset.row_group_rows=2000 \
	'dataset.columns=[{"bytes":4,"count":5},{"bytes":8,"read":false},{"bytes":4},{"bytes":7}]' $many=3000
as_pyarrow 'a range of 32 MiB, a chunk above it' dataset.row_group_rows=20000 \
	'dataset.columns=[{"bytes":900,"count":2},{"bytes":2000},{"bytes":4}]' $many=20000
as_pyarrow 'pages of numbers' dataset.row_group_rows=300000 'dataset.columns=[{"bytes":1}]' $many=400000

# --- hostile ------------------------------------------------------------------
check 'too many columns' '! w set w.json "dataset.columns=[{\"count\":1000000},{}]" >o.json 2>err; w check o.json >>err 2>&1
	grep -q "dataset.columns" err'
check 'columns of too many bytes' '! w set w.json "dataset.columns=[{\"bytes\":1000000000,\"count\":1000000}]" dataset.files=1000000 >o.json 2>err
	w check o.json >>err 2>&1; grep -q "dataset.columns" err'
check 'a footer that points out of the file' 'rm -rf cut; cp -r ds cut && f=$(ls cut/train/*_00000003_of_*) && n=$(stat -c %s "$f") &&
	printf "\377\377\377\177" | dd conv=notrunc bs=1 seek=$((n - 8)) of="$f" 2>/dev/null
	"$IOREEL" run w.json --data cut 2>err; [ $? = 1 ] && grep -q "no footer" err'
finish
