#!/bin/sh
# SPDX-License-Identifier: MIT
# ioreel compare: the table, the number, the exit status, the document.
. "$(dirname "$0")/../lib/tap.sh"

mkdir data
for i in 1 2 3 4 5 6; do head -c $((i * 30000)) /dev/zero >data/f$i; done
ioreel record -o a.reel -- cat data/f1 data/f2 data/f3 >/dev/null 2>&1
ioreel record -o b.reel -- cat data/f1 data/f2 data/f3 >/dev/null 2>&1
ioreel record -o c.reel -- cat data/f4 data/f5 data/f6 >/dev/null 2>&1
ioreel record -o none.reel -- true >/dev/null 2>&1

check 'two runs of one job' 'ioreel compare a.reel b.reel >out'
check 'the title names both runs' 'head -1 out | grep -q "a.reel .*b.reel .*difference"'
check 'every factor is shown' 'grep -q "I/O time" out && grep -q "bytes read" out &&
	grep -q "transfer size, median" out && grep -q "consecutive" out'
check 'both runs read the same bytes' 'grep -qE "bytes read +180 kB +180 kB +0$" out'
check 'both runs made the same calls' 'grep -q "identical in 1 of 1 threads" out'
check 'there is a likeness' 'grep -qE "^likeness \(cosine\) [01]\.[0-9]{4} over" out'
check 'a warning about scale is printed' 'grep -q "does not see scale" out'
check 'a run is like itself' 'ioreel compare a.reel a.reel >out &&
	grep -q "^likeness (cosine) 1.0000 over .*no difference" out'

check 'other files are another sequence' 'ioreel compare a.reel c.reel >out &&
	grep -q "identical in 0 of 1 threads" out'
check 'a difference is (B - A) / A' 'grep -qE "bytes read +180 kB +450 kB +\+150.0 %" out &&
	ioreel compare c.reel a.reel >out2 && grep -qE "bytes read +450 kB +180 kB +-60.0 %" out2 &&
	ioreel compare a.reel b.reel >out2 &&
	grep -q "call counts differ by 0 %" out2'
# By noise a time or a rate may be the largest difference.
check 'the largest difference is the largest of the table' \
	'ioreel compare a.reel c.reel | tr -d , >out &&
	largest=$(sed -n "s/.*largest difference \([-+][0-9.e]*\) % (.*/\1/p" out) &&
	sed -n "s/^  .* \([-+][0-9.e]*\) %\$/\1/p" out | awk -v largest="$largest" "
		{ size = \$1 < 0 ? -\$1 : \$1; if (size > most) { most = size; of = \$1 } }
		END { exit !(NR > 3 && of == largest) }" || { cat out; false; }'
ioreel record -q -o w.reel -- dd if=data/f1 of=data/out bs=30000 2>/dev/null
check 'no difference is given where A is 0' 'ioreel compare a.reel w.reel >out &&
	grep -qE "bytes written +0 B +30.0 kB +-\$" out &&
	grep -q "only one run has bytes written" out || { cat out; false; }'
check 'the difference is -100 % where B is 0' 'ioreel compare w.reel a.reel >out &&
	grep -qE "bytes written +30.0 kB +0 B +-100.0 %\$" out || { cat out; false; }'

check '--min passes' 'ioreel compare --min 1 a.reel a.reel >/dev/null'
check '--min fails with 3 and a line' \
	'ioreel compare --min 0.9999999 a.reel c.reel >out 2>e; test $? = 3 &&
	test $(wc -l <e) = 1 && grep -q "is below" e && grep -q "^likeness" out'
check '--min fails where there is no likeness' \
	'ioreel compare --min 0 a.reel none.reel >out 2>e; test $? = 3 &&
	grep -q "^likeness (cosine) -" out && grep -q "no likeness" e'
check 'no likeness is no failure without --min' 'ioreel compare a.reel none.reel >out'

check 'a likeness over few factors comes with a warning' \
	'mkdir made && ioreel record -q -o few.reel -- touch made/a &&
	ioreel compare few.reel few.reel >out && grep -q "over [1-5] factor" out &&
	grep -q "^Few factors" out && ioreel compare a.reel a.reel >out &&
	! grep -q "^Few factors" out'
check 'an incomplete run is reported' \
	'cp -r a.reel gap.reel && truncate -s -20 gap.reel/*.log
	ioreel compare a.reel gap.reel >out &&
	grep -q "^gap.reel: incomplete: .*a damaged trace$" out &&
	! grep -q "^a.reel:.*incomplete" out'
check 'a run of counters is reported' \
	'ioreel record -q -o counted.reel --events none -- cat data/f1 >/dev/null;
	ioreel compare counted.reel a.reel >out &&
	grep -q "^counted.reel: incomplete: counters in place of events" out'
check 'the document says so too' 'ioreel compare --json a.reel gap.reel >out &&
	grep -q "\"complete_a\": true" out && grep -q "\"complete_b\": false" out'

check 'wrong usage is 2' 'ioreel compare a.reel 2>e; test $? = 2'
check '--min wants 0 to 1' 'ioreel compare --min 7 a.reel b.reel 2>e; test $? = 2'
check 'a file that is no run fails with 1' \
	'ioreel compare a.reel /nonexistent 2>e; test $? = 1 && grep -q nonexistent e'

if command -v python3 >/dev/null; then
	cat >look.py <<-'PY'
	import json, math, sys
	d = json.load(sys.stdin)
	f = {x['name']: x for x in d['factors']}
	assert set(d) >= {'cosine', 'max_abs_d', 'factors', 'same_sequence_share'}
	assert all(set(x) == {'name', 'unit', 'a', 'b', 'd', 'used'} for x in d['factors'])
	assert f['bytes read'] == {'name': 'bytes read', 'unit': 'B', 'a': 180000,
	                           'b': 450000, 'd': -0.6, 'used': True}
	assert f['bytes written']['used'] or f['bytes written']['a'] == 0
	used = [x for x in d['factors'] if x['used']]
	a = [x['a'] / max(x['a'], x['b']) for x in used]
	b = [x['b'] / max(x['a'], x['b']) for x in used]
	cos = sum(x * y for x, y in zip(a, b)) / math.sqrt(
	    sum(x * x for x in a) * sum(x * x for x in b))
	assert abs(d['cosine'] - cos) < 1e-4, (d['cosine'], cos)
	assert abs(d['max_abs_d'] - max(abs(x['d']) for x in d['factors']
	                                if x['d'] is not None)) < 1e-9
	assert d['same_sequence_share'] == 0
	PY
	check 'the cosine follows from the vector in the document' \
		'ioreel compare --json a.reel c.reel | python3 look.py'
	cat >explained.py <<-'PY'
	import json, math, sys
	d = json.load(sys.stdin)
	f = [x for x in d['factors'] if x['used']]
	def cosine(fs):
	    v = [(x['a'] / max(x['a'], x['b']), x['b'] / max(x['a'], x['b'])) for x in fs]
	    return sum(a * b for a, b in v) / math.sqrt(
	        sum(a * a for a, b in v) * sum(b * b for a, b in v))
	e = d['explanation']
	assert (e['a'], e['b']) == (d['a'], d['b'])
	differing = {x['name'] for x in d['factors'] if x['d']}
	assert {x['name'] for x in e['factors']} == differing, e['factors']
	gains = [x['gain'] for x in e['factors']]
	assert gains == sorted(gains, reverse=True)
	for x in e['factors']:
	    without = cosine([y for y in f if y['name'] != x['name']])
	    assert abs(x['cosine_without'] - without) < 1e-4, (x, without)
	    assert abs(x['gain'] - (without - d['cosine'])) < 1e-4, x
	    most = max(abs(y['d'] or 0) for y in d['factors'] if y['name'] != x['name'])
	    assert abs(x['max_abs_d_without'] - most) < 1e-9, (x, most)
	c = {x['name']: x for x in e['causes']}
	assert c['size of reads']['total_variation'] > 0, c
	assert 'class of file' not in c
	sizes = {x['name']: x for x in d['distributions']}['size of reads']
	assert 0 < sizes['ks'] <= 1 and sizes['w1'] > 0, sizes
	mean = max(sizes['mean_a'], sizes['mean_b'])
	assert abs(sizes['w1_over_mean'] - sizes['w1'] / mean) < 1e-9, sizes
	PY
	check 'the explanation follows from the vector' \
		'ioreel compare --json --explain a.reel c.reel >doc && python3 explained.py <doc'
	cat >matrix.py <<-'PY'
	import json, sys
	m = json.load(open(sys.argv[1]))
	names = [x['run'] for x in m['runs']]
	assert names == ['a.reel', 'b.reel', 'c.reel', 'none.reel'], names
	for i in range(4):
	    for k in range(4):
	        assert m['cosine'][i][k] == m['cosine'][k][i]
	    assert m['max_abs_d'][i][i] == 0
	    assert m['cosine'][i][3] is None
	pair = json.load(open(sys.argv[2]))
	assert m['cosine'][0][2] == pair['cosine']
	assert m['max_abs_d'][2][0] == pair['max_abs_d']
	PY
	check 'the matrix of more runs has the likeness of each two' \
		'ioreel compare --json a.reel b.reel c.reel none.reel >four &&
		python3 matrix.py four doc'
	check 'a missing cosine is null in the document' \
		'ioreel compare --json a.reel none.reel | grep -q "\"cosine\": null"'
else
	skip 'the document holds the vector' 'python3 is missing'
fi
check 'a matrix names its runs and both measures' \
	'ioreel compare a.reel b.reel c.reel >out && grep -q "^#3  c.reel$" out &&
	grep -q "^likeness (cosine) .*#1 .*#2 .*#3$" out && grep -q "^largest |d| " out &&
	test $(grep -c "^  #1 .*1.0000" out) = 1 && grep -q "does not see scale" out'
check '--min is of any two' \
	'ioreel compare --min 0.9999999 a.reel a.reel c.reel >out 2>e; test $? = 3'
check '--explain names the size that differs' 'ioreel record -q -o s.reel -- \
		dd if=data/f4 of=/dev/null bs=1000 2>/dev/null &&
	ioreel record -q -o t.reel -- dd if=data/f4 of=/dev/null bs=30000 2>/dev/null &&
	ioreel compare --explain s.reel t.reel >out &&
	grep -q "^Most likeness is lost by " out &&
	grep -q "size of reads differs by 100 %, most by reads of 512 B to 1 KiB: 100 % of" out ||
	{ cat out; false; }'
check '--explain of more runs is about the least alike' \
	'ioreel compare --explain a.reel b.reel none.reel >out &&
	grep -q "^The least alike pair: #[12] and #3" out'
check '--explain names no factor where there is no cosine' \
	'ioreel compare --explain a.reel none.reel >out && ! grep "lowers the cosine" out &&
	grep -q "^There is no cosine that a factor could lower" out'
check 'the distances are part of the answer' 'ioreel compare s.reel t.reel >out &&
	grep -qE "^  size of reads +1,000 B +29.3 KiB +1.000 +0.967$" out || { cat out; false; }'
mkdir probed
check '--class leaves the other files out' \
	'ioreel record -q -o p.reel -- sh -c "cat data/f1 data/f2 data/f3; echo a >probed/run.log;
		printf blat >probed/try; rm probed/try; echo warning >&2" >/dev/null 2>warnings &&
	ioreel compare a.reel p.reel >out && grep -qE "bytes written +0 B +14 B" out &&
	ioreel compare --class data,checkpoint a.reel p.reel >out &&
	grep -qE "bytes written +0 B +0 B +0$" out &&
	grep -qE "bytes read +180 kB +180 kB +0$" out && grep -qE "files +3 +3 +0$" out ||
	{ cat out; false; }'
check 'a class that is none is wrong usage' \
	'ioreel compare --class data,dta a.reel b.reel 2>e; test $? = 2 && grep -q "'"'dta'"' is no class" e'
# Two of three files are of class system: by default their calls are counted only.
for i in '' --all; do
	ioreel record -q $i -o proc$i.reel -- cat data/f1 /proc/cpuinfo /proc/version >/dev/null
	ioreel record -q $i -o many$i.reel -- sh -c 'dd if=data/f1 bs=10 of=data/copy; cat /proc/version' \
		>/dev/null 2>&1
done
lines() { ioreel compare "$@" >out && tr -s '\n ' ' ' <out >lines; }
lacking() {
	lines "$@" && grep "proc.reel was recorded without system files ([0-9]* calls, only counted); " lines >line &&
		grep -q "proc--all.reel has 12 calls on them, [67][0-9.]* % of its calls. .*--class data,checkpoint,log,pipe.* record --all" line
}
alike() { lines "$@" && ! grep "recorded without" lines; }
check 'a run whose system files were counted only is named' \
	'lacking proc.reel proc--all.reel && lacking proc--all.reel proc.reel || { cat out; false; }'
check 'that option leaves the line out' 'alike --class data,checkpoint,log,pipe proc.reel proc--all.reel'
check 'runs that both have them, or both counted them, have no such line' \
	'alike proc.reel many.reel && alike proc--all.reel many--all.reel && alike a.reel c.reel'
check 'less than 1 % of the calls is not worth a line' 'alike many.reel many--all.reel'
check 'the matrix has the line too' 'lacking a.reel proc--all.reel proc.reel || { cat out; false; }'
if command -v python3 >/dev/null; then
	cat >lacks.py <<-'PY'
	import json, sys
	load = lambda name: json.load(open(name))
	pair, swapped, same, many = map(load, sys.argv[1:])
	x = pair['lacks_a']
	assert (x['other'], x['classes'], x['other_calls']) == ('proc--all.reel', ['system'], 12), x
	assert x['counted_calls'] >= 10 and 0.5 < x['other_share'] < 0.8, x
	assert pair['lacks_b'] is None
	assert (swapped['lacks_a'], swapped['lacks_b']) == (None, x)
	assert (same['lacks_a'], same['lacks_b']) == (None, None)
	assert [r['lacks'] for r in many['runs']][1:] == [None, x], many['runs']
	PY
	check 'the documents have what a run lacks' \
		'ioreel compare --json proc.reel proc--all.reel >1 &&
		ioreel compare --json proc--all.reel proc.reel >2 &&
		ioreel compare --json proc.reel a.reel >3 &&
		ioreel compare --json a.reel proc--all.reel proc.reel >4 &&
		python3 lacks.py 1 2 3 4'
else
	skip 'the documents have what a run lacks' 'python3 is missing'
fi
echo '{"traceEvents":[{"ph":"X","name":"f","pid":1,"tid":1,"ts":1,"dur":2}]}' >profile.json
check 'a profile has no call sequence to differ' 'ioreel compare a.reel profile.json >out &&
	! grep -q "identical in" out'
# Steps of 100 us, of which the fetch takes the first argument and an operator the second.
loop() {
	echo '{"schemaVersion": 1, "traceEvents": ['
	for i in 0 1 2 3; do
		at=$((1000 + 100 * i))
		echo '{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#'$i'", "pid": 5, "tid": 5, "ts": '$at', "dur": 100},
		{"ph": "X", "cat": "user_annotation", "name": "enumerate(DataLoader)#_X", "pid": 5, "tid": 5, "ts": '$at', "dur": '$1'},
		{"ph": "X", "cat": "'$3'", "name": "mm", "pid": 5, "tid": 5, "ts": '$((at + $1))', "dur": '$2'},'
	done
	echo '{"ph": "M", "name": "process_name", "pid": 5, "tid": 5, "ts": 0}]}'
}
loop 60 30 cpu_op >slow.json
loop 10 30 cpu_op >fast.json
loop 10 30 kernel >gpu.json
check 'loops are compared by their waits' 'ioreel compare slow.json fast.json >out &&
	grep -q "^waiting for input 60 % and 10 % (-50.0 points); computing 30 % and 30 % (+0.0 points)" out &&
	grep -q "total time 0$" out'
check 'equal loops have the same ranks and steps: these are not named' '! grep -q "ranks\|of a rank" out'
grep -v '"ts": 13[0-9]*' fast.json >short.json
check 'the steps of loops are named where they differ' 'ioreel compare fast.json short.json | tr -s " \n" " " >out &&
	grep -q "; steps of a rank 4 and 3 " out && ! grep -q "workers of a rank" out'
cat >loaders.py <<'PY'
import ioreel, os, sys
ioreel.note("framework", "PyTorch 2.0")
read, write = os.pipe()
for i in range(int(sys.argv[1])):
    if not os.fork():
        ioreel.note("role", "worker")
        os.close(write)
        os.read(read, 1)
        os._exit(0)
for step in ioreel.steps(range(3)):
    pass
os.close(write)
PY
if python3 -c '' 2>/dev/null; then
	for n in 0 1 2; do
		ioreel record -q -o workers$n.reel -- python3 loaders.py $n
	done
	check 'so are loader workers, also where a job has none' '
		ioreel compare workers2.reel workers1.reel | tr -s " \n" " " >out &&
		grep -q "; loader workers of a rank 2 and 1 " out && ! grep -q "steps of" out &&
		ioreel compare workers0.reel workers2.reel | tr -s " \n" " " |
			grep -q "; loader workers of a rank 0 and 2 " &&
		ioreel compare --json workers0.reel workers2.reel |
			grep -q "\"workers_a\": 0"'
	check 'a replay has no workers that a hook marks' '
		ioreel replay workers2.reel -o workers.db >out 2>&1 && ioreel compare workers2.reel workers.db >out &&
		! grep -q "loader workers" out'
else
	skip 'so are loader workers, also where a job has none' 'python3 is missing'
	skip 'a replay has no workers that a hook marks' 'python3 is missing'
fi
check 'computation that is measured in two ways is not compared' 'ioreel compare slow.json gpu.json | tr -s " \n" " " >out &&
	grep -q "computing is not compared: it is compute spans and GPU kernels" out'
check 'a profile covers a part of its run' 'ioreel compare a.reel slow.json >out && grep -q "total time -$" out'
check 'the document has the waits' 'ioreel compare --json slow.json gpu.json | python3 -c "
import json, sys
d = json.load(sys.stdin)
assert abs(d[\"wait_share_a\"] - 0.6) < 1e-9 and abs(d[\"wait_share_b\"] - 0.1) < 1e-9, d
assert (d[\"compute_source_a\"], d[\"compute_source_b\"]) == (\"compute spans\", \"GPU kernels\"), d"'
check 'two runs without a factor have no largest difference' 'ioreel compare --json slow.json gpu.json >pair &&
	ioreel compare --json slow.json gpu.json a.reel >matrix && python3 -c "
import json
assert json.load(open(\"pair\"))[\"max_abs_d\"] is None
most = json.load(open(\"matrix\"))[\"max_abs_d\"]
assert most[0] == [None, None, None] and most[2] == [None, None, 0], most"'
check 'nor is their vector without a difference' \
	'ioreel compare --explain slow.json gpu.json >out && grep -qx "No run has a factor." out &&
	ioreel compare slow.json gpu.json a.reel >out && grep -q "^  #1 *- *- *-$" out'
{ echo start,end,call,path,offset,size && for i in 0 1 2 3 4 5; do
	echo "$i,$i.5,read,/d/f,$((i * 4096)),4096"; done; } >timed.csv
cut -d, -f1,3- timed.csv >untimed.csv
map=start=start,call=call,path=path,offset=offset,size=size
ioreel import -q untimed.csv --map $map -o untimed.db && ioreel import -q timed.csv --map $map,end=end -o timed.db
check 'a factor that one source does not tell has no difference' \
	'ioreel compare untimed.db timed.db >out && grep -q "; no difference; 3 factors known of one run only$" out &&
	ioreel compare --explain untimed.db timed.db >out && grep -qx "No factor differs." out &&
	ioreel compare untimed.db timed.db timed.db >out && grep -q "^  #1 *0.0000  0.0000  0.0000$" out &&
	ioreel compare --json untimed.db timed.db | python3 -c "
import json, sys
d = json.load(sys.stdin)
f = {x[\"name\"]: x[\"d\"] for x in d[\"factors\"]}
assert f[\"I/O time\"] is None and f[\"bandwidth per call, mean\"] is None and f[\"files\"] == 0, f
assert d[\"max_abs_d\"] == 0 and d[\"worst_factor\"] is None, d"'
check 'the manual shows every option' \
	'grep -qF "Fl -explain" "$TOP/man/ioreel-compare.1" && grep -qF "Fl -json" "$TOP/man/ioreel-compare.1" &&
	grep -qF "Fl -class" "$TOP/man/ioreel-compare.1" && grep -qF "Fl -min" "$TOP/man/ioreel-compare.1"'
finish
