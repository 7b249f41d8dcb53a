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

# --- wrong usage, and what it leaves -------------------------------------------
refused() { # TITLE MESSAGE OPTION...
	title=$1 message=$2
	shift 2
	s "$@" >out 2>err
	status=$?
	check "$title" '[ $status != 0 ] && grep -qF "$message" err && [ ! -s out ] || { cat err; false; }'
}
rm -rf d
refused 'a value out of range' 'pipeline.batch: 0 is less than 1' --set pipeline.batch=1,0
check 'no data set is made before all points are checked' '! ls -d d/data-*'
refused 'a value twice' "has the value '1' twice" --set pipeline.batch=1,2,1
refused 'a key twice' "'pipeline.batch' is set twice" --set pipeline.batch=1,2 --set pipeline.batch=3,4
refused 'a chart that cannot be written' "cannot write '/no/x.svg'" --set pipeline.batch=1,2 --svg /no/x.svg
check 'is known before the first run' '! ls -d d/data-*'
refused 'a metric that is no number' "no number 'time'" --set pipeline.batch=1,2 --repeat 1 --metric time
refused 'a run that fails is named' 'the run with access.api=mpiio failed' --set access.api=mpiio --repeat 1
refused 'a launcher that is missing' "cannot run 'no-mpirun'" --set pipeline.batch=1 --launch 'no-mpirun -n 2'
check 'a number within an object' 's --set compute.step_ns=1000000,200000000 --repeat 3 --metric time.compute_s >o && grep -q "^winner: compute.step_ns=1000000$" o'
check 'smaller percentiles win' 's --set pipeline.batch=1 --repeat 2 --metric read_latency.p99_us >o && grep -q "one point" o'
check 'one run has no interval' 's --set pipeline.batch=1,2 --repeat 1 | grep -q "^no winner: an interval needs two runs$"'
check 'runs before one that fails are kept' '! s --set access.direct=false,true --set dataset.format=safetensors --repeat 1 --csv f.csv >o 2>err &&
	grep -q "the run with access.direct=true" err && [ "$(grep -c "^false,safetensors,1,[0-9]" f.csv)" = 1 ] && ! grep -q "^true" f.csv'
check 'a data set that lost a file is made again' 's --set pipeline.batch=1 --repeat 1 >/dev/null && f=$(ls d/data-000/train/* | head -1) && rm "$f" &&
	s --set pipeline.batch=1 --repeat 1 >/dev/null && [ -e "$f" ]'
mkdir -p d2/data-000 && echo mine >d2/data-000/file
check 'a folder of something else is left alone' '"$IOREEL" sweep -q w.json --data d2 --set pipeline.batch=1 --repeat 1 && [ "$(cat d2/data-000/file)" = mine ]'

# --- Ctrl-C ---------------------------------------------------------------------
python3 - "$IOREEL" <<'PY' >int.status
import signal, subprocess, sys, time
p = subprocess.Popen([sys.argv[1], "sweep", "-q", "w.json", "--data", "d", "--set",
                      "compute.step_ns=100000000,100000001", "--repeat", "100", "--csv", "int.csv"],
                     stdout=open("int.out", "w"), stderr=open("int.err", "w"))
children = f"/proc/{p.pid}/task/{p.pid}/children"
seen = set()
while len(seen) < 4 and p.poll() is None: # the fourth run has begun
    seen.update(open(children).read().split())
    time.sleep(0.01)
p.send_signal(signal.SIGINT)
print(p.wait())
PY
is 'Ctrl-C: status' "$(cat int.status)" 130
check 'Ctrl-C: the runs until then are printed' 'n=$(sed -n "s/.*stopped by a signal after \([0-9]*\) runs/\1/p" int.err) &&
	[ "$n" -ge 3 ] && [ $(($(wc -l <int.csv) - 1)) = $n ] && grep -q "^100000001 " int.out'
check 'Ctrl-C: no run is left' '! grep -lz "^--json" /proc/[0-9]*/cmdline 2>/dev/null | xargs -r grep -lz "d/point-" 2>/dev/null | grep -q .'

# --- ranks ----------------------------------------------------------------------
mpi="mpirun --allow-run-as-root --oversubscribe"
if [ -x "$O/ioreel-mpi" ] && $mpi -n 2 true 2>/dev/null; then
	check 'sweep itself is no rank' '$mpi -n 2 "$IOREEL" sweep w.json --data ranks --set pipeline.batch=1,2 >o 2>err; [ $? = 2 ] &&
		[ "$(grep -c "start sweep once, not on each rank: --launch" err)" = 1 ] && [ ! -e ranks ]'
	check 'a single rank may' '$mpi -n 1 "$IOREEL" sweep w.json --data d --set pipeline.batch=1 --repeat 1 >o 2>err && grep -q "^1 " o'
	check 'ranks of MPI' 's --set pipeline.batch=1 --repeat 1 --metric ranks --launch "$mpi -n 2" >o && grep -q "^1 .* 2  " o'
else
	skip 'ranks of MPI' 'no mpirun'
fi

# --- the chart ------------------------------------------------------------------
s --set dataset.sample_bytes=4096,65536 --set name=long,longer --set pipeline.batch=1,2,3,4 --repeat 2 --svg g.svg >/dev/null
check 'the chart has units, a legend and bars' 'python3 -c "
import xml.dom.minidom as m
d = m.parse(\"g.svg\")
text = [t.firstChild.data for t in d.getElementsByTagName(\"text\")]
assert text[0] == \"samples/s\" and \"2 runs\" in text[1], text
for t in (\"4 KiB\", \"64 KiB\", \"dataset.sample_bytes\", \"pipeline.batch\", \"name\", \"longer\"):
    assert t in text, (t, text)
assert len(d.getElementsByTagName(\"polyline\")) == 8
assert len(d.getElementsByTagName(\"circle\")) == 16
"'
finish
