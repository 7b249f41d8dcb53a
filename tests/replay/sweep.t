#!/bin/sh
# SPDX-License-Identifier: MIT
# ioreel sweep: every point as often as asked, intervals after Student's t, a winner
# only when intervals part, one data set for all points that share it.
. "$(dirname "$0")/../lib/tap.sh"
python3 -c 'import json' 2>/dev/null || skip_all 'no python3'
cat >w.json <<'J'
{"schema": "ioreel-workload-1", "name": "t",
 "dataset": {"format": "raw", "files": 4, "sample_bytes": 5000}}
J
s() { "$IOREEL" sweep -q w.json --data d "$@"; }
check 'a grid' 's --set pipeline.batch=1,2 --set compute.step_ns=1000000,20000000 --repeat 3 --csv c.csv --svg c.svg >o &&
	[ "$(wc -l <c.csv)" = 13 ] && [ "$(cut -d, -f1,2 c.csv | sort | uniq -c | grep -c " 3 ")" = 4 ]'
is 'one data set for all' "$(ls -d d/data-* | wc -l)" 1
check 'means and intervals' 'python3 -c "
import csv, statistics as st
rows = {}
for r in csv.DictReader(open(\"c.csv\")):
    rows.setdefault((r[\"pipeline.batch\"], r[\"compute.step_ns\"]), []).append(float(r[\"samples_per_s\"]))
for line in open(\"o\").read().splitlines()[1:5]:
    a, b, mean, half, n = line.split()
    v = rows[a, b]
    assert abs(float(mean) - st.mean(v)) < 1e-3 * st.mean(v), line
    want = 4.303 * st.stdev(v) / len(v) ** 0.5
    assert abs(float(half) - want) < 6e-3 * want, (line, want)
"'
check 'the SVG is well formed' 'python3 -c "
import xml.dom.minidom as m; d = m.parse(\"c.svg\")
assert len(d.getElementsByTagName(\"polyline\")) == 2"'
check 'a winner whose interval lies apart' 's --set compute.step_ns=20000000,200000000 --repeat 3 | grep -q "^winner: compute.step_ns=20000000$"'
check 'none between equals' 's --set name=a,b,c,d --repeat 2 --set compute.step_ns=1000000 | grep -q "^no winner"'
check 'the smaller time wins' 's --set compute.step_ns=20000000,200000000 --repeat 3 --metric wall_s | grep -q "^winner: compute.step_ns=20000000$"'
check 'another data set for another size' 's --set dataset.sample_bytes=5000,6000 --repeat 1 >o && [ "$(ls -d d/data-* | wc -l)" = 2 ] &&
	grep -q "no winner" o'
check 'a wrong key' '! s --set pipeline.bach=1,2 2>err && grep -q "no key" err'
check 'a wrong metric' '! s --set pipeline.batch=1,2 --metric speed 2>err && grep -q "no number .speed" err'
check 'too many points' '! s --set "pipeline.batch=$(seq -s, 1 1001)" 2>err && grep -q "more than 1000 points" err'
finish
