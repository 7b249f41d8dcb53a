#!/bin/sh
# SPDX-License-Identifier: MIT
# ioreel fit of checkpoints: the benchmark writes the bytes of the job, and keeps as
# many of them.
. "$(dirname "$0")/../lib/tap.sh"
command -v python3 >/dev/null || skip_all 'python3 is missing'

mkdir e
head -c 100000 /dev/urandom >e/0.npy
# key PATH: the value of a key.
key() { python3 -c "import json; print(json.load(open('job.json'))$1)"; }
# written RUN: the bytes of checkpoints.
written() { "$IOREEL" sql "$1" "SELECT sum(bytes) FROM v_event WHERE class = 'checkpoint' AND call_group = 'write'" | tail -n 1; }

cat >save.py <<'PY'
import ioreel
def save(name, n=100000):
    with ioreel.span("checkpoint"):
        with open(name, "wb") as f:
            f.write(b"x" * n)
PY
cat >saves.py <<'PY'
import os, sys, ioreel
from save import save
keep = int(sys.argv[1])
for step in ioreel.steps(range(24)):
    open("e/0.npy", "rb").read()
    if step % 4 == 3:
        save("step%d.ckpt" % step)
        if keep and step >= 4 * keep:
            os.unlink("step%d.ckpt" % (step - 4 * keep))
if sys.argv[2] == "end":
    save("final.ckpt", 40000)
PY

# One more file at the end is not in each checkpoint.
"$IOREEL" record -q -o end.reel -- python3 saves.py 0 end
check 'a save at the end: fit' '"$IOREEL" fit end.reel -o job.json 2>why'
is 'six checkpoints of one file' "$(key '["checkpoint"]["every_steps"]') $(python3 -c "
import json
print([f['bytes'] for f in json.load(open('job.json'))['checkpoint']['files']])")" '4 [100000]'
check 'it is said that the last file is left out' 'grep -q "^checkpoint.files  .*left out: 1 file of 40000 bytes in all, as .final.ckpt." why'
"$IOREEL" gen -q job.json end.d
check 'the benchmark runs' '"$IOREEL" run -q job.json --data end.d -o end.db >out'
is 'and writes what the job wrote besides it' "$(written end.db)" "$(($(written end.reel) - 40000))"

# The best model is not in each checkpoint.
cat >best.py <<'PY'
import ioreel
from save import save
for step in ioreel.steps(range(24)):
    open("e/0.npy", "rb").read()
    if step % 8 == 7:
        save("last.ckpt", 100000)
        if step != 15:
            save("best.ckpt", 150000)
PY
"$IOREEL" record -q -o best.reel -- python3 best.py
check 'a file of two checkpoints of three: fit' '"$IOREEL" fit best.reel -o job.json 2>why &&
	grep -q "^checkpoint.files\[1\].share .*2 of 3 checkpoints have it" why'
is 'its share' "$(key '["checkpoint"]["files"][0]["share"]') $(key '["checkpoint"]["files"][1]["share"]' | cut -c1-6)" '1.0 0.6666'
"$IOREEL" gen -q job.json best.d
"$IOREEL" run -q job.json --data best.d -o best.db >out
is 'the benchmark writes the bytes of the job' "$(written best.db)" "$(written best.reel)"

# The job removes older ones, and so does the benchmark: else it fills the storage.
"$IOREEL" record -q -o keep.reel -- python3 saves.py 2 no
check 'older checkpoints are removed: fit' '"$IOREEL" fit keep.reel -o job.json 2>why'
is 'how many stay' "$(key '["checkpoint"]["keep"]') $(ls step*.ckpt | wc -l)" '2 2'
"$IOREEL" gen -q job.json keep.d
check 'the benchmark runs' '"$IOREEL" run -q job.json --data keep.d --checkpoints kept -o keep.db >out'
is 'as many of the benchmark stay' "$(ls kept | wc -l) $(written keep.db)" "2 $(written keep.reel)"
check 'no read of a checkpoint is left out' '! grep -q "^checkpoint.reads " why'

# The job reads the checkpoint from which it resumes: the benchmark does not.
cat >resume.py <<'PY'
import ioreel
from save import save
with open("step23.ckpt", "rb") as f:
    f.read()
for step in ioreel.steps(range(4)):
    open("e/0.npy", "rb").read()
save("resumed.ckpt")
PY
"$IOREEL" record -q -o resume.reel -- python3 resume.py
check 'a job that resumes: fit' '"$IOREEL" fit resume.reel -o job.json 2>why'
check 'it is said that this read is left out' \
	'grep -q "^checkpoint.reads .*left out: the job read 100000 bytes of 1 checkpoint file, as to resume" why'
finish
