# SPDX-License-Identifier: MIT
# For tests of the verdict, after tap.sh: jobs whose bottleneck is known, their reports.
python=$(python3 -c 'import sys; print(sys.executable)' 2>/dev/null) ||
	skip_all 'no python3'

cat >job.py <<'PY'
import ioreel, os, time
def compute(s):
    end = time.monotonic() + s
    while time.monotonic() < end:
        pass
def batches(n, s):
    for i in range(n):
        time.sleep(s)
        yield i
PY
# record NAME COMMAND: its report is NAME.out, in one line NAME.words.
record() {
	name=$1
	shift
	ioreel record -q -o $name.reel -- "$@" >$name.copy 2>$name.err
	ioreel report $name.reel >$name.out && ioreel report --json $name.reel >$name.json
	tr -s '\n ' '  ' <$name.out >$name.words
}
# job NAME: the program is on stdin.
job() {
	{ cat job.py; cat; } >$1.py
	record $1 "$python" $1.py
}

cat >said.py <<'PY'
"""The first code and the words of the first line; no other line denies them."""
import json, sys
name, code, words = sys.argv[1:]
d = json.load(open(name + ".json"))
codes = [a["code"] for a in d["advice"]]
assert codes[0] == code, d["advice"]
assert codes == ["NO-PROBLEM"] or "NO-PROBLEM" not in codes, codes
assert words in d["verdict"], d["verdict"]
assert d["verdict"] in open(name + ".words").read(), d["verdict"]
PY
