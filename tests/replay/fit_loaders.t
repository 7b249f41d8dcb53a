#!/bin/sh
# SPDX-License-Identifier: MIT
# ioreel fit of a step that takes a batch of each of two loaders, as of a zip: its
# samples are those of both.
. "$(dirname "$0")/../lib/tap.sh"
command -v python3 >/dev/null || skip_all 'python3 is missing'

# key PATH: the value of a key.
key() { python3 -c "import json; print(json.load(open('job.json'))$1)"; }
mkdir a b
for i in 0 1 2 3; do
	for k in 0 1 2 3 4 5 6 7 8 9; do
		head -c 20000 /dev/urandom >a/$i$k.bin
		[ $i -ge 2 ] || head -c 50000 /dev/urandom >b/$i$k.bin
	done
done
cat >zip.py <<'PY'
import os, time, ioreel
def loader(folder, n):
    files = sorted(os.listdir(folder))
    for at in range(0, len(files), n):
        with ioreel.span("preprocess"):
            for name in files[at:at + n]:
                open(folder + "/" + name, "rb").read()
        yield at
for epoch in range(2):
    with ioreel.span("epoch", epoch):
        a, b = loader("a", 4), loader("b", 2)
        for step in range(10):
            with ioreel.span("step", step):
                for each in a, b:
                    with ioreel.span("fetch"):
                        next(each)
                time.sleep(0.002)
PY
"$IOREEL" record -q -o zip.reel -- python3 zip.py
check 'fit' '"$IOREEL" fit zip.reel -o job.json 2>why'
is 'a batch has the samples of both' "$(key '["pipeline"]["batch"]') $(key '["steps_per_epoch"]')" '6 0'
check 'it is said that a step takes two' 'grep -q "^pipeline.batch .*a step takes 2 of them" why'
"$IOREEL" gen -q job.json d
check 'the benchmark reads the bytes of the job' '"$IOREEL" run -q job.json --data d -o run.db >out &&
	[ "$("$IOREEL" sql run.db "SELECT sum(bytes) FROM v_event WHERE call_group = '\''read'\''" | tail -n 1)" = $((2 * (40 * 20000 + 20 * 50000))) ]'

# Batches that grow from epoch to epoch: the benchmark reads each file in each of them.
cat >grow.py <<'PY'
import os, ioreel
files = sorted(os.listdir("a"))
for epoch, n in enumerate((2, 8, 8)):
    with ioreel.span("epoch", epoch):
        for step in range(len(files) // n):
            with ioreel.span("step", step):
                with ioreel.span("fetch"), ioreel.span("preprocess"):
                    for name in files[step * n:step * n + n]:
                        open("a/" + name, "rb").read()
PY
"$IOREEL" record -q -o grow.reel -- python3 grow.py
rm -rf d
check 'batches of several sizes: fit' '"$IOREEL" fit grow.reel -o job.json 2>why'
is 'their mean' "$(key '["pipeline"]["batch"]') $(key '["steps_per_epoch"]')" '4 0'
check 'their sizes are said' 'grep -q "^pipeline.batch .* the mean of the 2 to 8 files" why'
"$IOREEL" gen -q job.json d
check 'the benchmark reads as much' '"$IOREEL" run -q job.json --data d -o grow.db >out &&
	[ "$("$IOREEL" sql grow.db "SELECT sum(bytes) FROM v_event WHERE call_group = '\''read'\''" | tail -n 1)" = $((3 * 40 * 20000)) ]'
# An epoch draws files with replacement, more than there are.
cat >draw.py <<'PY'
import os, random, ioreel
random.seed(3)
files = sorted(os.listdir("a"))
for epoch in range(2):
    with ioreel.span("epoch", epoch):
        for step in range(25):
            with ioreel.span("step", step):
                with ioreel.span("fetch"), ioreel.span("preprocess"):
                    for name in random.choices(files, k=4):
                        open("a/" + name, "rb").read()
PY
"$IOREEL" record -q -o draw.reel -- python3 draw.py
rm -rf d
check 'files that are drawn with replacement: fit' '"$IOREEL" fit draw.reel -o job.json 2>why'
is 'the data set repeats within an epoch' "$(key '["pipeline"]["repeats"]') $(key '["steps_per_epoch"]')" '3 25'
"$IOREEL" gen -q job.json d
check 'the benchmark reads as much as the job' '"$IOREEL" run -q job.json --data d -o draw.db >out &&
	[ "$("$IOREEL" sql draw.db "SELECT sum(bytes) FROM v_event WHERE call_group = '\''read'\''" | tail -n 1)" = $((2 * 25 * 4 * 20000)) ]'
finish
