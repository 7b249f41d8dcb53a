#!/bin/sh
# SPDX-License-Identifier: MIT
# HDF5: h5py finds every sample; the checksum is that of raw for any readers; the
# files are the same in every run; the calls are those of h5py; faults are told.
. "$(dirname "$0")/../lib/tap.sh"
python3 -c 'import json' 2>/dev/null || skip_all 'no python3'

w() { "$IOREEL" workload "$@"; }
cat >several.json <<'J'
{"schema": "ioreel-workload-1", "name": "t",
 "dataset": {"format": "hdf5", "files": 10, "samples_per_file": 6,
             "sample_bytes": {"quantiles": [100, 5000, 90000]}},
 "pipeline": {"batch": 4, "order": "shuffle"}, "epochs": 2}
J
"$IOREEL" gen -q several.json first 2>err
grep -q 'no format' err && skip_all 'a build without HDF5'
w set several.json dataset.sample_bytes=30001 >equal.json
w set equal.json dataset.chunk_bytes=7000 >pieces.json
w set equal.json dataset.chunk_bytes=70000 >rows.json
w set equal.json dataset.chunk_bytes=3000 dataset.chunk_samples=4 dataset.compression=gzip \
	dataset.compressibility=0.5 >parts.json
w set equal.json dataset.compression=gzip dataset.compressibility=0.5 >gzip.json
w set several.json dataset.chunk_bytes=7000 dataset.compression=gzip \
	dataset.compression_level=1 dataset.compressibility=0.5 >several_gzip.json
w set equal.json dataset.chunk_bytes=40000 dataset.compression=gzip dataset.labels=false \
	'dataset.columns=[{"bytes": 20000}, {"bytes": 4, "count": 2, "contiguous": true},
		{"bytes": 9993, "read": false}]' >columns.json
w set several.json dataset.format=raw >raw.json
all="several equal pieces rows parts gzip several_gzip columns"

# field JSON EXPRESSION: of the result d.
field() { python3 -c "import json; d = json.load(open('$1')); print($2)"; }
mpi="mpirun --allow-run-as-root --oversubscribe"
"$IOREEL" gen -q raw.json ds.raw
"$IOREEL" run raw.json --data ds.raw --json >r.json
field r.json 'd["epochs"][0]["checksum"]' >sums
for f in $all; do
	check "$f: written" '"$IOREEL" gen -q $f.json ds.$f'
	for how in readers=0 readers=3 'readers=2 --set pipeline.unit=thread'; do
		"$IOREEL" run $f.json --data ds.$f --json --set pipeline.$how >r.json
		is "$f, $how: every sample" "$(field r.json '[e["samples"] for e in d["epochs"]]')" '[60, 60]'
		field r.json 'd["epochs"][1]["checksum"]' >>sums
	done
done
if [ -x "$O/ioreel-mpi" ]; then
	$mpi -n 3 "$O/ioreel-mpi" run pieces.json --data ds.pieces --json >r.json 2>err
	is '3 ranks: every sample' "$(field r.json '[e["samples"] for e in d["epochs"]]')" '[60, 60]'
	field r.json 'd["epochs"][0]["checksum"]' >>sums
fi
is 'one checksum, that of raw' "$(sort -u sums | wc -l)" 1
# A second later: no time is in a file.
sleep 1.1
for f in $all; do
	check "$f: the same bytes again" '"$IOREEL" gen -q -j 1 $f.json again && diff -r ds.$f again; rc=$?; rm -r again; [ $rc = 0 ]'
done
check 'null storage' '"$IOREEL" run several.json --null --json >r.json && [ "$(field r.json "d[\"samples\"]")" = 120 ]'

# --- faults -------------------------------------------------------------------
check 'a full disk: one line, then the rest' '! (trap "" XFSZ; ulimit -f 100; "$IOREEL" gen equal.json cut 2>err) &&
	[ "$(wc -l <err)" = 1 ] && grep -q "cannot write.*File too large" err && [ -z "$(find cut -name "*.part*")" ] &&
	"$IOREEL" gen -q equal.json cut && diff -r ds.equal cut'
for f in equal several_gzip; do
	for bytes in 0 50 3000; do
		check "$f cut to $bytes bytes" 'cp -r ds.$f bad && truncate -s $bytes bad/train/*3_of* &&
			! "$IOREEL" run $f.json --data bad 2>err; rc=$?; rm -r bad
			[ $rc = 0 ] && [ "$(wc -l <err)" = 1 ] && grep -q "no HDF5 file of the data set" err'
	done
done
check 'the data set of larger samples' 'w set equal.json dataset.sample_bytes=30002 >o.json && cp -r ds.equal bad &&
	sed -i s/30001/30002/ bad/.ioreel-dataset.json && ! "$IOREEL" run o.json --data bad 2>err && grep -q "no HDF5 file of the data set" err'

# --- h5py ---------------------------------------------------------------------
if ! python3 -c 'import h5py' 2>/dev/null; then
	tap_n=$((tap_n + 1)); echo "ok $tap_n # SKIP no h5py"
	finish; exit
fi
cat >samples.py <<'PY'
"""Every sample of a data set, by h5py."""
import glob, struct, sys
import h5py
numbers = []
for path in sorted(glob.glob(sys.argv[1] + "/train/*.h5")):
    with h5py.File(path, "r") as f:
        first = len(numbers)
        for i, label in enumerate(f["labels"][:] if "labels" in f else range(first, first + 6)):
            row = (f["records"][i] if "records" in f else f["column_00000000"][i]
                   if "column_00000000" in f else f["sample_%08d" % i][()])
            assert struct.unpack("<Q", row[:8].tobytes())[0] == label, (path, i)
            numbers.append(int(label))
        last = f[sorted(f)[-1]]
        layout = last.chunks, last.compression
        if "column_00000000" in f:
            layout = [(f[name].shape[1], f[name].chunks) for name in sorted(f)]
assert numbers == list(range(60)), numbers
print(*layout)
PY
is 'h5py: several sizes' "$(python3 samples.py ds.several)" 'None None'
is 'h5py: one size' "$(python3 samples.py ds.equal)" 'None None'
is 'h5py: several chunks a sample' "$(python3 samples.py ds.pieces)" '(1, 7000) None'
is 'h5py: a part of several samples a chunk' "$(python3 samples.py ds.parts)" '(4, 750) gzip'
is 'h5py: several samples a chunk' "$(python3 samples.py ds.rows)" '(2, 30001) None'
is 'h5py: gzip' "$(python3 samples.py ds.gzip)" '(1, 30001) gzip'
is 'h5py: several sizes, gzip' "$(python3 samples.py ds.several_gzip)" '(7000,) gzip'
is 'h5py: columns are arrays, some in chunks' "$(python3 samples.py ds.columns)" \
	'(20000, (2, 20000)) (4, None) (4, None) (9993, (2, 9993))'
check 'gzip removes what compressibility says' '[ "$(cat ds.gzip/train/* | wc -c)" -lt $((60 * 30001 * 6 / 10)) ]'
w set equal.json dataset.compression=gzip dataset.compressibility=0.5 dataset.files=1 \
	dataset.samples_per_file=20000 dataset.sample_bytes=128 dataset.chunk_bytes=128000 \
	dataset.labels=false >short.json
"$IOREEL" gen -q short.json ds.short
check 'no more of samples that are less than a page' 'n=$(cat ds.short/train/* | wc -c) &&
	[ $n -gt $((20000 * 128 * 4 / 10)) ] && [ $n -lt $((20000 * 128 * 6 / 10)) ]'

cat >job.py <<'PY'
import glob, sys, h5py
for _ in 0, 1:
    for path in sorted(glob.glob(sys.argv[1] + "/train/*")):
        with h5py.File(path, "r") as f:
            for i in range(6):
                f["records"][i] if "records" in f else f["sample_%08d" % i][()]
PY
for f in equal several; do
	"$IOREEL" record -q -o $f.reel python3 job.py ds.$f
	"$IOREEL" fit $f.reel >o.json 2>err
	is "fit finds the samples: $f" "$(field o.json '[d["dataset"][k] for k in ("format", "files", "samples_per_file")]')" "['hdf5', 10, 6]"
done
"$IOREEL" fit equal.reel >o.json 2>err
is 'and their bytes' "$(field o.json 'd["dataset"]["sample_bytes"]')" 30001
"$IOREEL" record -q -o gzip.reel python3 job.py ds.several_gzip
"$IOREEL" fit gzip.reel >o.json 2>err
is 'fit finds chunks and compression' "$(field o.json '[d["dataset"][k] for k in ("chunk_bytes", "compression", "compression_level")]')" "[7000, 'gzip', 1]"
"$IOREEL" fit equal.reel >o.json 2>err
is 'fit finds that there are none' "$(field o.json '[d["dataset"][k] for k in ("chunk_bytes", "compression")]')" "[0, 'none']"
"$IOREEL" record -q -o pieces.reel python3 job.py ds.pieces
mv ds.pieces gone
"$IOREEL" fit pieces.reel >o.json 2>err
mv gone ds.pieces
check 'without the files: the reason says so' 'grep -A4 "\"dataset.c[ho]" o.json | grep -q "not here"'
echo "# chunks of 7000 bytes: $(field o.json 'd["dataset"]["chunk_bytes"]')"
cat >load.py <<'PY'
import sys, h5py
path, samples, equal = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
names = ["records"] if equal == 1 else ["column_%08d" % i for i in range(equal)]
for _ in 0, 1:  # the first time imports modules in between
    f = h5py.File(path, "r")
    if equal:
        records = [f[name] for name in names]
    for i in range(samples):
        [array[i] for array in records] if equal else f["sample_%08d" % i][()]
    f.close()
PY
# The superblock is read in two calls of another size by another libhdf5: the test
# adds them up.
calls() {
	awk '/sample_.*O_RDONLY/ { n = 0 } { line[n++] = $0 } END { for (i = 0; i < n; i++) print line[i] }' "$1" |
		sed '/^close(/q' | sed -E 's/"([^"\\]|\\.)*"(\.\.\.)?/""/g; s/\{.*\}/{}/' |
		sed -E 's/^(newfstatat\(AT_FDCWD|lstat\().*/stat/; s/^(newfstatat|fstat)\(.*/fstat/; s/\|O_CLOEXEC//' |
		awk '/^(read|lseek|flock|close|openat|stat|fstat)/ { print }
			/^pread64/ { if (++n == 2) { split($0, a, /[ ,]+/); sum = a[3] } else if (n == 3) { split($0, a, /[ ,]+/); print "superblock", sum + a[3] } else print }'
}
if ! command -v strace >/dev/null; then
	tap_n=$((tap_n + 1)); echo "ok $tap_n # SKIP no strace"
	finish; exit
fi
for f in $all; do
	case $f in several*) equal=0 ;; columns) equal=3 ;; *) equal=1 ;; esac
	w set $f.json dataset.files=1 pipeline.batch=1 pipeline.order=sequential epochs=1 >o.json
	rm -rf one; "$IOREEL" gen -q o.json one
	strace -o ours "$IOREEL" run -q o.json --data one >/dev/null
	strace -o theirs python3 load.py one/train/*.h5 6 $equal
	calls ours >a; calls theirs >b
	check "$f: the calls of h5py" 'cmp a b && [ "$(grep -c pread a)" -ge 6 ] || { diff a b; false; }'
done
finish
