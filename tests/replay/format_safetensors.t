#!/bin/sh
# SPDX-License-Identifier: MIT
# safetensors: read back with its library, each sample once, the calls of
# safe_open() for PyTorch.
. "$(dirname "$0")/../lib/tap.sh"
format=safetensors
. "$TOP/tests/replay/format.sh"
each_sample
faults
check 'touched bytes are counted, and no reads' 'w set w.json pipeline.order=sequential epochs=1 >o.json
	"$IOREEL" run o.json --data ds --json >r.json && [ "$(field r.json "d[\"read_calls\"]")" = 0 ] &&
	[ "$(field r.json "d[\"read_bytes\"]")" = "$(cat ds/train/* | wc -c)" ]'
# Pages touched: whole ones, of the header too.
check 'the store of a run has the touched pages' '"$IOREEL" run o.json --data ds -o r.db >/dev/null &&
	"$IOREEL" sql -f csv r.db "SELECT sum(result) >= $(field r.json "d[\"read_bytes\"]"), max(result) <= 4096 * max(arg), count(*)
		FROM v_event WHERE call = '"'map_read'"'" | grep -q "^1,1,[1-9]"'

cat >read.py <<'PY'
import glob
from safetensors import safe_open
numbers = []
for name in sorted(glob.glob("ds/train/*.safetensors")):
    with safe_open(name, framework="np") as f:
        for key in sorted(f.keys()):
            numbers.append(int.from_bytes(f.get_tensor(key)[:8].tobytes(), "little"))
            assert key == "sample_%08d" % numbers[-1]
assert numbers == list(range(60)), len(numbers)
PY
if python3 -c 'import safetensors, numpy' 2>/dev/null; then
	check 'safetensors reads every sample' 'python3 read.py'
else
	skip 'safetensors reads every sample' 'no safetensors'
fi

cat >load.py <<'PY'
import sys
from safetensors import safe_open
for _ in 0, 1:
    with safe_open(sys.argv[1], framework="pt") as f:
        for key in f.keys():
            f.get_tensor(key).sum()
PY
for bytes in 1 5000 1000000; do
	if command -v strace >/dev/null && has safetensors 0.8 && has torch 2; then
		same_calls "samples of $bytes bytes" dataset.sample_bytes=$bytes -- load.py
	else
		skip "samples of $bytes bytes" 'no strace, or not Python 3.11 with safetensors 0.8 and PyTorch 2'
	fi
done
finish
