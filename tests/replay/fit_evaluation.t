#!/bin/sh
# SPDX-License-Identifier: MIT
# ioreel fit of evaluations whose files are larger than those of the training: the
# benchmark makes and reads files of both sizes.
. "$(dirname "$0")/../lib/tap.sh"
command -v python3 >/dev/null || skip_all 'python3 is missing'

# key FILE PATH: the value of a key.
key() { python3 -c "import json; print(json.load(open('$1'))$2)"; }
mkdir train valid alike both
for i in 0 1 2 3 4 5 6 7 8 9; do
	head -c 20000 /dev/urandom >train/1$i.bin
	head -c 20000 /dev/urandom >train/2$i.bin
	head -c $((80000 + 1000 * i)) /dev/urandom >valid/$i.bin
	head -c 20000 /dev/urandom >alike/$i.bin
	[ $i -lt 5 ] && ln train/1$i.bin both/1$i.bin || cp alike/$i.bin both/$i.bin
done
cat >job.py <<'PY'
import os, sys, ioreel
def read(folder, names):
    for name in names:
        open(folder + "/" + name, "rb").read()
train, test = sorted(os.listdir("train")), sorted(os.listdir(sys.argv[1]))
test = ["../train/" + name if name in train else name for name in test]
for epoch in range(2):
    with ioreel.span("epoch", epoch):
        for i in range(5):
            with ioreel.span("step", i):
                with ioreel.span("fetch"):
                    read("train", train[4 * i:4 * i + 4])
    with ioreel.span("eval", epoch):
        for i in range(5):
            with ioreel.span("fetch"):
                read(sys.argv[1], test[2 * i:2 * i + 2])
PY
for how in valid alike both; do # both: five of them are of the training
	rm -rf job.reel
	"$IOREEL" record -q -o job.reel -- python3 job.py $how
	check "$how: fit" '"$IOREEL" fit job.reel -o $how.json 2>why && ioreel workload check $how.json'
	is "$how: the files" "$(key $how.json '["evaluation"]["files"]') $(key $how.json '["dataset"]["sample_bytes"]')" '10 20000'
	"$IOREEL" gen -q $how.json $how.d
	check "$how: the benchmark reads the bytes of the job" '"$IOREEL" run -q $how.json --data $how.d -o run.db >out &&
		"$IOREEL" compare --json --class data job.reel run.db >compared && python3 -c "
import json
f = {x[\"name\"]: x for x in json.load(open(\"compared\"))[\"factors\"]}
for name in (\"bytes read\", \"files\")[:1 if \"$how\" == \"both\" else 2]:
    assert abs(f[name][\"d\"]) < 0.001, f[name]"'
done
# Evaluations within epochs, the first one before the training.
cat >steps.py <<'PY'
import os, ioreel
def read(folder, names):
    for name in names:
        open(folder + "/" + name, "rb").read()
train, test = sorted(os.listdir("train")), sorted(os.listdir("alike"))
def evaluate():
    with ioreel.span("eval"):
        for i in range(5):
            with ioreel.span("fetch"):
                read("alike", test[2 * i:2 * i + 2])
evaluate()
step = 0
for epoch in range(3):
    with ioreel.span("epoch", epoch):
        for i in range(10):
            with ioreel.span("step", step):
                with ioreel.span("fetch"):
                    read("train", train[2 * i:2 * i + 2])
            step += 1
            if step % 7 == 0:
                evaluate()
PY
"$IOREEL" record -q -o steps.reel -- python3 steps.py
check 'evaluations each seven steps: fit' '"$IOREEL" fit steps.reel -o steps.json 2>why && ioreel workload check steps.json'
is 'evaluations each seven steps' "$(key steps.json '["evaluation"]["every_steps"]') $(key steps.json '["evaluation"]["every_epochs"]') $(key steps.json '["evaluation"]["files"]')" '7 0 10'
"$IOREEL" gen -q steps.json steps.d
check 'the benchmark reads the bytes of the job without the evaluation before it' '
	"$IOREEL" run -q steps.json --data steps.d --json >out &&
	[ "$(key out "[\"read_bytes\"]")" = $((3 * 20 * 20000 + 4 * 10 * 20000)) ]'

check 'sizes alike need no key' '[ "$(grep -c "\"sample_bytes\"" alike.json)" = 1 ]'
check 'other sizes are another data set' '! "$IOREEL" run -q alike.json --data alike.d --set evaluation.sample_bytes=30000 2>err >out &&
	grep -q "the data set of another workload: .evaluation_sample_bytes. differs" err'
is 'the disk has the larger files' "$(cat valid.d/valid/* | wc -c)" "$(cat valid/* | wc -c)"
# Evaluations may read more, in files of another format: those are not the data set.
mkdir formats
for i in 0 1 2 3 4 5 6 7; do head -c 8000 /dev/urandom >formats/$i.png; done
head -c 400000 /dev/urandom >formats/test.bin
cat >formats.py <<'PY'
import ioreel
for epoch in range(2):
    with ioreel.span("epoch", epoch):
        for i in ioreel.steps(range(8)):
            open("formats/%d.png" % i, "rb").read()
    with ioreel.span("eval", epoch):
        open("formats/test.bin", "rb").read()
PY
"$IOREEL" record -q -o formats.reel -- python3 formats.py
check 'an evaluation of another format: fit' '"$IOREEL" fit formats.reel -o formats.json 2>why'
check 'the data set is that of the training' 'grep -q "\"format\": \"png\"" formats.json && grep -q "no file of the format of the training" why'
finish
