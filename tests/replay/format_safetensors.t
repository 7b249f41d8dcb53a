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
# mapped RUN WHAT: of the mappings of data files.
mapped() { sql "$1" "SELECT $2 FROM v_event WHERE call = 'map_read' AND path LIKE '%.safetensors'"; }
# A recorder sees as many mappings, and the pages that the kernel mapped beside them:
# at times fewer, as it leaves out what it is working on. So one of five runs is enough.
as_a_recorder() {
	rm -rf r.reel
	"$IOREEL" run -q o.json --data ds -o r.db >/dev/null 2>&1 &&
		"$IOREEL" record -q -o r.reel -- "$IOREEL" run -q o.json --data ds >/dev/null 2>&1 &&
		[ "$(mapped r.db "count(*)")" = "$(mapped r.reel "count(*)")" ] &&
		[ "$(mapped r.db "sum(result)")" -ge "$(field r.json "d[\"read_bytes\"]")" ] &&
		[ "$(mapped r.db "sum(result)")" -le "$(mapped r.reel "sum(result)")" ]
}
check 'the store of a run has the touched pages, no more than a recorder saw' '
	for i in 1 2 3 4 5; do as_a_recorder && break; done'

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
