#!/bin/sh
# SPDX-License-Identifier: MIT
# CSV: read back with pandas, each sample once, sizes as asked, the calls of
# pandas.read_csv().
. "$(dirname "$0")/../lib/tap.sh"
format=csv
. "$TOP/tests/replay/format.sh"
each_sample
faults
check 'a number is not one' 'cp ds/train/* cut/train/ && printf x | dd conv=notrunc of="$(ls cut/train/*_00000003_of_*)" 2>/dev/null
	"$IOREEL" run w.json --data cut 2>err; [ $? = 1 ] && grep -q "another workload" err'
check 'a file is longer' 'cp ds/train/* cut/train/ && echo 1 >>"$(ls cut/train/*_00000003_of_*)"
	"$IOREEL" run w.json --data cut 2>err; [ $? = 1 ] && grep -q "not as it was made" err'
is 'a file has as many bytes as asked' "$(cat ds/train/* | wc -c)" "$(cat ds.raw/train/* | wc -c)"
w set w.json dataset.sample_bytes=1 >small.json
check 'rows have room for their numbers' '"$IOREEL" gen -q small.json small && "$IOREEL" run small.json --data small >o &&
	[ "$(cat small/train/*_00000002_of_*)" = "$(seq 12 17)" ]'

cat >read.py <<'PY'
import glob
import pandas as pd
numbers = []
for f in glob.glob("ds/train/*.csv"):
    t = pd.read_csv(f, header=None)
    assert len(t) == 6 and t.iloc[:, 1:].isin(range(256)).all(axis=None)
    for row in t.itertuples(index=False):
        if len(row) > 8:
            assert int.from_bytes(bytes(row[1:9]), "little") == row[0]
    numbers += list(t[0])
assert sorted(numbers) == list(range(60)), len(numbers)
PY
if python3 -c 'import pandas' 2>/dev/null; then
	check 'pandas reads every sample' 'python3 read.py'
else
	skip 'pandas reads every sample' 'no pandas'
fi

cat >load.py <<'PY'
import sys
import pandas as pd
for _ in 0, 1:
    pd.read_csv(sys.argv[1], header=None)
PY
# The end of the file: in a buffer, in a piece, at the end of one.
for bytes in 100 5000 260100 262144 300000; do
	for n in 1 4; do
		if command -v strace >/dev/null && has pandas 3; then
			same_calls "$n rows of $bytes bytes" dataset.sample_bytes=$bytes dataset.samples_per_file=$n -- load.py
		else
			skip "$n rows of $bytes bytes" 'no strace, or not Python 3.11 with pandas 3'
		fi
	done
done
finish
