#!/bin/sh
# SPDX-License-Identifier: MIT
# The commands of docs/tutorial-benchmark.md work, and its example.
. "$(dirname "$0")/../lib/tap.sh"
command -v python3 >/dev/null || skip_all 'no python3'

# A training without any framework, which marks its own steps.
cat >train.py <<'PY'
import contextlib, os, sys, time
try:
    import ioreel
    span, steps = ioreel.span, ioreel.steps
except ImportError:
    span, steps = lambda *a: contextlib.nullcontext(), iter
os.makedirs("data", exist_ok=True)
for i in range(24 * (not os.listdir("data"))):
    with open("data/%d.bin" % i, "wb") as f:
        f.write(os.urandom(20000))
def batches():
    for step in range(12):
        for i in range(2):
            with open("data/%d.bin" % (2 * step + i), "rb") as f:
                f.read()
        yield step
for epoch in range(2 if sys.argv[1:] != ["--make"] else 0):
    with span("epoch", epoch):
        for step in steps(batches()):
            time.sleep(0.005)
PY
python3 train.py --make
mkdir other
OTHER=$PWD/other
sed -n '/^```sh$/,/^```$/p' "$TOP/docs/tutorial-benchmark.md" | sed 's/ *#.*//' |
	grep -v '^```' | grep . >commands
is 'six commands' "$(wc -l <commands)" 6
while read -r command; do
	check "$command" "$command </dev/null"
done <commands
check 'the benchmark reads as many bytes as the job' '"$IOREEL" run -q --json cold.json --data "$OTHER/train" >r.json &&
	python3 -c "import json; d = json.load(open(\"r.json\")); print(d[\"read_bytes\"]); assert d[\"read_bytes\"] == 2 * 24 * 20000"'
check 'its example' 'mkdir second && cd second && cp -r ../data . && "$TOP/examples/benchmark.sh" "$OTHER/second" python3 ../train.py >out &&
	cd .. && grep -q "^AU " second/out'
check 'every page it links to exists' '
	grep -o "](\([^):]*\))" "$TOP/docs/tutorial-benchmark.md" | tr -d "]()" |
	while read -r page; do
		[ -e "$TOP/docs/$page" ] || { echo "$page"; exit 1; }
	done'
finish
