#!/bin/sh
# SPDX-License-Identifier: MIT
# dataset.compression: npz, TFRecord, CSV and tar are read back with their own
# libraries, each sample once; the checksum is that of raw; files have the size that
# compressibility asks for; the calls are those of the libraries.
. "$(dirname "$0")/../lib/tap.sh"
cat >read_npz.py <<'PY'
import glob, zipfile
import numpy as np
numbers = []
for name in sorted(glob.glob("ds/train/*.npz")):
    assert {m.compress_type for m in zipfile.ZipFile(name).infolist()} == {zipfile.ZIP_DEFLATED}
    a = np.load(name)
    numbers += list(a["y"])
    assert int.from_bytes(a["x"][:8].tobytes(), "little") == a["y"][0]
assert numbers == list(range(60)), numbers
PY
cat >read_tfrecord.py <<'PY'
import glob
import tensorflow as tf
kinds = {"image": tf.io.FixedLenFeature([], tf.string), "size": tf.io.FixedLenFeature([], tf.int64)}
numbers = []
for record in tf.data.TFRecordDataset(sorted(glob.glob("ds/train/*.tfrecord.gz")), compression_type="GZIP"):
    e = tf.io.parse_single_example(record, kinds)
    image = e["image"].numpy()
    assert len(image) == e["size"].numpy()
    numbers.append(int.from_bytes(image[:8], "little"))
assert numbers == list(range(60)), len(numbers)
PY
cat >read_csv.py <<'PY'
import glob
import pandas as pd
numbers = []
for f in glob.glob("ds/train/*.csv.gz"):
    t = pd.read_csv(f, header=None)
    assert len(t) == 6 and t.iloc[:, 1:].isin(range(256)).all(axis=None)
    numbers += list(t[0])
assert sorted(numbers) == list(range(60)), len(numbers)
PY
cat >read_tar.py <<'PY'
import glob
import webdataset
numbers = []
for f in sorted(glob.glob("ds/train/*.tar.gz")):
    for s in webdataset.WebDataset(f, shardshuffle=False):
        numbers.append(int(s["cls"]))
        assert int.from_bytes(s["bin"][:8], "little") == numbers[-1]
assert numbers == list(range(60)), len(numbers)
PY
cat >load_npz.py <<'PY'
import sys
import numpy as np
for _ in 0, 1:
    a = np.load(sys.argv[1])
    a["x"], a["y"]
    a.close()
PY
cat >load_tfrecord.py <<'PY'
import sys
import tensorflow as tf
for _ in 0, 1:
    for record in tf.data.TFRecordDataset(sys.argv[1], compression_type="GZIP"):
        pass
PY
cat >load_csv.py <<'PY'
import sys
import pandas as pd
for _ in 0, 1:
    pd.read_csv(sys.argv[1], header=None)
PY
cat >load_tar.py <<'PY'
import sys
import webdataset
for _ in 0, 1:
    for sample in webdataset.WebDataset(sys.argv[1], shardshuffle=False):
        pass
PY
cat >job.py <<'PY'
import glob, sys
for _ in 0, 1:
    for name in sorted(glob.glob(sys.argv[1] + "/train/*")):
        with open(name, "rb") as f:
            f.read()
PY
export TF_CPP_MIN_LOG_LEVEL=3
# sizes SAMPLES BYTES LEFT AROUND: the files have the share LEFT of the bytes, and 1.1 % of all.
sizes() {
	cat ds/train/* | wc -c >have
	python3 -c "
n, want = int(open('have').read()), $1 * $2 * $3
print('# %d bytes, %d asked' % (n, want))
assert want <= n <= want + 0.011 * $1 * $2 + $4, (n, want)"
}
for format in npz tfrecord csv tar; do
	case $format in
	npz) library='NumPy 2' left=0.5 around=10000 ;;
	tfrecord) library='TensorFlow 2' left=0.5 around=15000 ;;
	csv) library='pandas 3' left=0.235 around=8000 ;;
	tar) library='webdataset 1' left=0.5 around=20000 ;;
	esac
	module=$(echo ${library% *} | tr A-Z a-z)
	mkdir $format && cd $format || exit 1
	sets='dataset.compression=gzip dataset.compressibility=0.5'
	. "$TOP/tests/replay/format.sh"
	each_sample
	faults
	check "$format: bytes in the middle are others" 'cp ds/train/* cut/train/ && f=$(ls cut/train/*_00000003_of_*) &&
		printf "\377\377\377\377\377\377\377\377" | dd conv=notrunc bs=1 seek=$(($(stat -c %s "$f") / 2)) of="$f" 2>/dev/null
		timeout 20 "$IOREEL" run w.json --data cut 2>err; rc=$?; { [ $rc = 0 ] || [ $rc = 1 ]; } && [ "$(grep -c "" err)" -le 1 ]'
	if python3 -c "import $module" 2>/dev/null; then
		check "$format: ${library% *} reads every sample" "python3 ../read_$format.py"
	else
		skip "$format: ${library% *} reads every sample" "no ${library% *}"
	fi
	check "$format: fit finds the compression" '"$IOREEL" record -q -o job.reel python3 ../job.py ds 2>err && "$IOREEL" fit job.reel >o.json &&
		[ "$(field o.json "d[\"dataset\"][\"compression\"], d[\"dataset\"][\"format\"]")" = "gzip '$format'" ] || { cat o.json err; false; }'
	[ $format = csv ] || check "$format: and the compressibility" '[ "$(field o.json "0.4 < d[\"dataset\"][\"compressibility\"] < 0.6")" = True ] || { field o.json "d[\"dataset\"]"; false; }'
	check "$format: files that are gone leave a reason" 'mv ds gone && "$IOREEL" fit job.reel -o o.json; mv gone ds
		grep -A3 "\"dataset.compression\"" o.json | grep -q "confidence\|names"'
	for level in 1 9; do
		check "$format, level $level: as large as asked" 'w set w.json dataset.sample_bytes=50000 dataset.compression_level=$level >o.json &&
			rm -r ds && "$IOREEL" gen -q o.json ds && sizes 60 50000 '$left' '$around
	done
	for bytes in 100 30000 262144 1000000; do
		for n in 1 4; do
			# An import of TensorFlow takes seconds.
			[ $format = tfrecord ] && [ $n = 1 ] && continue
			if command -v strace >/dev/null && has $module ${library#* }; then
				same_calls "$format, $n of $bytes bytes: the calls" dataset.sample_bytes=$bytes dataset.samples_per_file=$n -- ../load_$format.py
			else
				skip "$format, $n of $bytes bytes: the calls" "no strace, or not Python 3.11 with $library"
			fi
		done
	done
	cd ..
done
for format in raw npy parquet; do
	check "$format is not compressed" '! w set npz/w.json dataset.format='$format' 2>err && grep -q "dataset.compression: only of" err'
done
finish
