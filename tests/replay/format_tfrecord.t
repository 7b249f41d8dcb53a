#!/bin/sh
# SPDX-License-Identifier: MIT
# TFRecord: read back with TensorFlow, each sample once, the calls of
# tf.data.TFRecordDataset with its buffer sizes.
. "$(dirname "$0")/../lib/tap.sh"
format=tfrecord
. "$TOP/tests/replay/format.sh"
each_sample
faults

cat >read.py <<'PY'
import glob
import tensorflow as tf
names = sorted(glob.glob("ds/train/*.tfrecord"))
kinds = {"image": tf.io.FixedLenFeature([], tf.string), "size": tf.io.FixedLenFeature([], tf.int64)}
numbers = []
for record in tf.data.TFRecordDataset(names):
    e = tf.io.parse_single_example(record, kinds)
    image = e["image"].numpy()
    assert len(image) == e["size"].numpy()
    numbers.append(int.from_bytes(image[:8], "little"))
assert numbers == list(range(60)), len(numbers)
for name in names:  # the index that DALI reads
    at = 0
    for line in open(name + ".idx"):
        offset, size = map(int, line.split())
        assert offset == at
        at += size
    assert at == tf.io.gfile.stat(name).length
PY
cat >load.py <<'PY'
import sys
import tensorflow as tf
for _ in 0, 1:
    for record in tf.data.TFRecordDataset(sys.argv[1], buffer_size=BUFFER or None):
        pass
PY
export TF_CPP_MIN_LOG_LEVEL=3
if ! python3 -c 'import tensorflow' 2>/dev/null; then
	skip 'TensorFlow reads every sample' 'no TensorFlow'
	finish; exit
fi
check 'TensorFlow reads every sample' 'python3 read.py'
if ! command -v strace >/dev/null || ! has tensorflow 2; then
	skip 'the calls of TensorFlow' 'no strace, or not Python 3.11 with TensorFlow 2'
	finish; exit
fi
# as_tensorflow TITLE BUFFER SET...: of that buffer; 0: the default.
as_tensorflow() {
	sed "s/BUFFER/$2/" load.py >load_$2.py
	title=$1 buffer=$2
	shift 2
	same_calls "$title" access.transfer_bytes=$buffer "$@" -- load_$buffer.py
}
one='dataset.samples_per_file=1'
as_tensorflow 'a short file' 0 dataset.sample_bytes=100
as_tensorflow 'a file of several buffers' 0 dataset.sample_bytes=300000
as_tensorflow 'a record of several buffers' 0 dataset.sample_bytes=1000000 $one
# The file is exactly as long as one and two buffers, and a byte longer.
size=$(w set w.json dataset.files=1 $one dataset.sample_bytes=200000 >o.json &&
	"$IOREEL" gen -q o.json around && stat -c %s around/train/*.tfrecord)
around=$((size - 200000))
for n in 1 2; do
	for more in 0 1; do
		as_tensorflow "$n buffers and $more bytes" 0 $one dataset.sample_bytes=$((n * 262144 + more - around))
	done
done
as_tensorflow 'a small buffer' 10000 dataset.sample_bytes=30000
as_tensorflow 'a large buffer' 1000000 dataset.sample_bytes=300000
finish
