# SPDX-License-Identifier: MIT
# Checks that hold for each format. Source it after tests/lib/tap.sh, with
# $format set, and $sets where the format is made in another way.
python3 -c 'import json' 2>/dev/null || skip_all 'no python3'

w() { "$IOREEL" workload "$@"; }
cat >base.json <<'J'
{"schema": "ioreel-workload-1", "name": "t",
 "dataset": {"format": "raw", "files": 10, "samples_per_file": 6,
             "sample_bytes": {"quantiles": [100, 5000, 90000]}},
 "pipeline": {"batch": 4, "order": "shuffle"}, "epochs": 3}
J
w set base.json dataset.format=$format ${sets-} >w.json

# field JSON EXPRESSION: of the result d.
field() { python3 -c "import json; d = json.load(open('$1')); print($2)"; }

# has MODULE VERSION: does Python have it, at the version (a prefix)?
has() {
	python3 -c "import sys, $1
sys.exit(sys.version_info[:2] != (3, 11) or not $1.__version__.startswith('$2'))" 2>/dev/null
}

# each_sample: with any readers and ranks, each sample is read once an epoch; one
# checksum, which is that of the raw format.
each_sample() {
	"$IOREEL" gen -q base.json ds.raw
	"$IOREEL" run base.json --data ds.raw --json >r.json
	field r.json 'd["epochs"][0]["checksum"]' >sums
	"$IOREEL" gen -q w.json ds
	check 'gen: the same with one thread' '"$IOREEL" gen -q -j 1 w.json ds1 && diff -r ds ds1'
	for how in readers=0 readers=3 'readers=2 --set pipeline.unit=thread' 'readers=3 --set pipeline.batch=7'; do
		"$IOREEL" run w.json --data ds --json --set pipeline.$how >r.json
		is "$how: every sample, three times" \
			"$(field r.json '[e["samples"] for e in d["epochs"]]')" '[60, 60, 60]'
		is "$how: in another order each epoch" \
			"$(field r.json 'len({e["order"] for e in d["epochs"]})')" 3
		field r.json '"\n".join({e["checksum"] for e in d["epochs"]})' >>sums
	done
	for n in 1 2 4; do
		[ -x "$O/ioreel-mpi" ] || continue
		mpirun --allow-run-as-root --oversubscribe -n $n "$O/ioreel-mpi" run w.json \
			--data ds --json >r.json 2>err
		is "$n ranks: every sample" \
			"$(field r.json '[e["samples"] for e in d["epochs"]]')" '[60, 60, 60]'
		field r.json '"\n".join({e["checksum"] for e in d["epochs"]})' >>sums
	done
	is 'one checksum, that of the raw format' "$(sort -u sums | wc -l)" 1
	check 'null storage: as many samples, and no call' 'strace -f -o s.txt "$IOREEL" run w.json --null --json >r.json &&
		[ "$(field r.json "d[\"samples\"]")" = 180 ] && ! grep sample_ s.txt'
}

# faults: a file that is cut, or of another workload, is one line and exit 1.
faults() {
	check 'a file is empty' 'cp -r ds cut && : >"$(ls cut/train/*_00000003_of_00000010.* | grep -v idx)"
		"$IOREEL" run w.json --data cut 2>err; [ $? = 1 ] && grep -q "00000003_of_.*shorter\|shorter.*00000003_of_" err && [ "$(grep -c "" err)" = 1 ]'
	check 'a file is cut in the middle' 'cp ds/train/* cut/train/ && f=$(ls cut/train/*_00000003_of_00000010.* | grep -v idx) &&
		truncate -s $(($(stat -c %s "$f") / 2)) "$f"
		"$IOREEL" run w.json --data cut 2>err; [ $? = 1 ] && grep -q "00000003_of_.*shorter\|shorter.*00000003_of_" err && [ "$(grep -c "" err)" = 1 ]'
	check 'a file has the samples of another' 'cp ds/train/* cut/train/ &&
		for f in cut/train/*_00000003_of_*; do cp "$f" "$(echo "$f" | sed s/00000003_of/00000004_of/)"; done
		"$IOREEL" run w.json --data cut 2>err; [ $? = 1 ] && grep -q "another workload\|not as it was made" err && [ "$(grep -c "" err)" = 1 ]'
}

# same_calls TITLE SET... -- SCRIPT: one file; ioreel makes the calls that the Python
# SCRIPT makes when it reads the file, its argument, for the second of two times: the
# first time imports modules in between.
same_calls() {
	title=$1
	shift
	set=
	while [ "$1" != -- ]; do
		set="$set $1"
		shift
	done
	rm -rf one
	w set w.json dataset.files=1 pipeline.batch=1 pipeline.order=sequential epochs=1 $set >one.json
	"$IOREEL" gen -q one.json one
	FILE=$(ls "$PWD"/one/train/* | grep -v idx)
	# A filter in the kernel: the imports of a large library are not slowed down.
	calls='--seccomp-bpf -e trace=%file,%desc'
	strace -f -y $calls -o ours "$IOREEL" run -q one.json --data one >/dev/null
	strace -f -y $calls -o theirs python3 "$2" "$FILE" >reader.out 2>&1
	python3 "$TOP/tests/replay/format_calls.py" ours 1 >a
	python3 "$TOP/tests/replay/format_calls.py" theirs 2 >b
	check "$title: the calls of the library" '[ -s a ] && cmp a b || { diff a b; tail -3 reader.out; false; }'
}
