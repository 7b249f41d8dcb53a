#!/bin/sh
# SPDX-License-Identifier: MIT
# ioreel run: each sample once an epoch for any number of ranks and readers, in
# another order each epoch; the calls of the formats' own readers; times that add up.
. "$(dirname "$0")/../lib/tap.sh"
python3 -c 'import json' 2>/dev/null || skip_all 'no python3'

w() { "$IOREEL" workload "$@"; }
cat >w.json <<'J'
{"schema": "ioreel-workload-1", "name": "t",
 "dataset": {"format": "raw", "files": 10, "samples_per_file": 6,
             "sample_bytes": {"quantiles": [100, 5000, 90000]}},
 "pipeline": {"batch": 4, "order": "shuffle"}, "epochs": 3}
J
# field JSON EXPRESSION: of the result d.
field() { python3 -c "import json; d = json.load(open('$1')); print($2)"; }
mpi="mpirun --allow-run-as-root --oversubscribe"

for format in raw tfrecord npz; do
	w set w.json dataset.format=$format >$format.json
	"$IOREEL" gen -q $format.json ds.$format
	for how in readers=0 readers=3 'readers=2 --set pipeline.unit=thread' 'readers=3 --set pipeline.batch=7'; do
		"$IOREEL" run $format.json --data ds.$format --json --set pipeline.$how >r.json
		is "$format, $how: every sample, three times" \
			"$(field r.json '[e["samples"] for e in d["epochs"]]')" '[60, 60, 60]'
		is "$format, $how: the same samples" \
			"$(field r.json 'len({e["checksum"] for e in d["epochs"]})')" 1
		is "$format, $how: in another order" \
			"$(field r.json 'len({e["order"] for e in d["epochs"]})')" 3
		field r.json 'd["epochs"][0]["checksum"]' >>sums
	done
	[ -x "$O/ioreel-mpi" ] || continue
	for n in 1 2 4; do
		$mpi -n $n "$O/ioreel-mpi" run $format.json --data ds.$format --json >r.json 2>err
		is "$format, $n ranks: every sample" \
			"$(field r.json '[e["samples"] for e in d["epochs"]]')" '[60, 60, 60]'
		field r.json 'd["epochs"][0]["checksum"]' >>sums
	done
done
is 'one checksum for all formats, readers and ranks' "$(sort -u sums | wc -l)" 1

"$IOREEL" run raw.json --data ds.raw --json >r.json
check 'times add up to the wall time' '[ "$(field r.json "abs(sum(d[\"time\"].values()) - d[\"wall_s\"]) < 0.01 * d[\"wall_s\"]")" = True ]'
if [ -x "$O/ioreel-mpi" ]; then
	# The second rank has no batch and waits for none.
	$mpi -n 2 "$O/ioreel-mpi" run raw.json --data ds.raw --json --set pipeline.batch=60 --set epochs=1 \
		--set synchronise.kind=none --set compute.step_ns=400000000 >r2.json 2>err
	is 'the wall time of ranks is that of the longest' \
		"$(field r2.json '0.4 <= d["wall_s"] and d["time"]["compute_s"] < 0.3')" True
	w set tfrecord.json dataset.files=2 pipeline.drop_last=true pipeline.readers=2 epochs=1 >o.json &&
		"$IOREEL" gen -q o.json ds.two
	$mpi -n 2 "$O/ioreel-mpi" run o.json --data ds.two --json >r2.json 2>err
	is 'each rank has a file where there are as many' "$(field r2.json 'd["samples"]')" 8
	$mpi -n 3 "$O/ioreel-mpi" run -q raw.json --data ds.raw --set pipeline.batch=30 --set epochs=1 >out 2>err
	is 'ranks without a sample' "$(grep "^idle" out)" \
		'idle          1 of 3 ranks had no sample: too few batches or files for all of them'
	$mpi -n 2 "$O/ioreel-mpi" run -q raw.json --data ds.raw --set pipeline.batch=30 --set epochs=1 >out 2>err
	check 'none: they are not mentioned' 'grep -q "^samples" out && ! grep "^idle" out'
	# Open MPI 4 kills its ranks a second after the signal, Open MPI 5 after 250 ms,
	# and passes on nothing that they write meanwhile: hence the file.
	rm -f r2.json
	$mpi -n 2 sh -c '[ "$OMPI_COMM_WORLD_RANK" = 0 ] && exec >r2.json; exec "$0" "$@"' "$O/ioreel-mpi" run raw.json \
		--data ds.raw --json --set compute.step_ns=400000000 --set pipeline.batch=1 2>err & pid=$!
	i=0
	while [ ! -e r2.json ] && [ $i -lt 600 ]; do i=$((i + 1)); sleep 0.1; done
	sleep 3
	kill -INT $pid
	wait $pid
	is 'Ctrl-C of ranks with long steps: what was measured' "$(field r2.json '(d["complete"], d["steps"] > 0)')" '(False, True)'
else
	skip 'Ctrl-C of ranks with long steps: what was measured' 'no ioreel-mpi'
	skip 'the wall time of ranks is that of the longest' 'no ioreel-mpi'
	skip 'ranks without a sample' 'no ioreel-mpi'
	skip 'none: they are not mentioned' 'no ioreel-mpi'
	skip 'each rank has a file where there are as many' 'no ioreel-mpi'
fi
is 'bytes are counted at the calls' "$(field r.json 'd["read_bytes"]')" \
	"$(($(cat ds.raw/train/* | wc -c) * 3))"
check 'drop_last drops' '"$IOREEL" run raw.json --data ds.raw --json --set pipeline.batch=7 --set pipeline.drop_last=true >r.json
	[ "$(field r.json "d[\"samples\"]")" = 168 ]'
check 'drop_last that leaves no step is refused' '! "$IOREEL" run raw.json --data ds.raw --json --set pipeline.batch=61 --set pipeline.drop_last=true >r.json 2>err
	grep -q "^ioreel run: pipeline.drop_last: .* 60 samples" err && [ ! -s r.json ]'
check 'steps_per_epoch ends an epoch' '"$IOREEL" run raw.json --data ds.raw --json --set pipeline.readers=2 --set steps_per_epoch=3 >r.json
	[ "$(field r.json "(d[\"steps\"], d[\"samples\"])")" = "(9, 36)" ]'
check 'a sequential order is one' '"$IOREEL" run raw.json --data ds.raw --json --set pipeline.order=sequential >r.json
	[ "$(field r.json "len({e[\"order\"] for e in d[\"epochs\"]})")" = 1 ]'
# 60 samples in blocks of 7: eight of them are shuffled, and four samples come last.
w set raw.json dataset.sample_bytes=4096 pipeline.block=7 pipeline.batch=7 epochs=2 >blocks.json
"$IOREEL" gen -q blocks.json ds.blocks
"$IOREEL" run -q blocks.json --data ds.blocks -o blocks.db
cat >blocks.py <<'PY'
import subprocess
rows = subprocess.check_output(["ioreel", "sql", "blocks.db", "--format", "tsv",
    "SELECT path, offset FROM v_event WHERE call = 'pread' ORDER BY start_ns"], text=True)
rows = [r.split("\t") for r in rows.splitlines()[1:]]
# file 3 has samples 18 to 23
read = [int(p.split("sample_")[1][:8]) * 6 + int(o) // 4096 for p, o in rows]
epochs = read[:60], read[60:]
for epoch in epochs:
    assert sorted(epoch) == list(range(60)), epoch
    assert epoch[56:] == [56, 57, 58, 59], epoch
    blocks = [epoch[i:i + 7] for i in range(0, 56, 7)]
    assert all(b == list(range(b[0], b[0] + 7)) and b[0] % 7 == 0 for b in blocks), blocks
    assert epoch != list(range(60)), epoch
assert epochs[0] != epochs[1]
PY
check 'blocks of samples stay together in a shuffle' 'python3 blocks.py'
w set tfrecord.json dataset.files=3 dataset.samples_per_file=1 epochs=20 >o.json && "$IOREEL" gen -q o.json ds.short
for n in 0 1 2; do
	check "an epoch that begins with the last file of the one before, $n readers" \
		'"$IOREEL" run o.json --data ds.short --json --set pipeline.batch=1 --set pipeline.readers=$n >r.json && [ "$(field r.json "d[\"samples\"]")" = 60 ]'
done
check 'computation counts' '"$IOREEL" run raw.json --data ds.raw --json --set compute.step_ns=3000000 >r.json
	[ "$(field r.json "d[\"time\"][\"compute_s\"] >= 0.135 and d[\"au_percent\"] > 50")" = True ]'
check 'a wait for readers at the end of an epoch is none of our own' '"$IOREEL" run raw.json --data ds.raw --json --set epochs=1 \
		--set steps_per_epoch=1 --set pipeline.readers=1 --set preprocess.sample_ns=50000000 >r.json
	[ "$(field r.json "d[\"time\"][\"own_s\"] < d[\"time\"][\"decode_s\"] / 2")" = True ]'

# --- checkpoints --------------------------------------------------------------
w set raw.json checkpoint.every_steps=10 checkpoint.keep=2 \
	'checkpoint.files=[{"bytes": 100000, "write_bytes": 30000, "fsync": true, "rename": true}, {"owner": "shard", "bytes": 50, "count": 2}]' >c.json
check 'checkpoints: written, old ones removed' '"$IOREEL" run c.json --data ds.raw --checkpoints ck --json >r.json &&
	[ "$(ls ck | wc -l)" = 6 ] && [ -z "$(ls ck | grep part)" ] &&
	[ "$(field r.json "(d[\"write_bytes\"], d[\"write_calls\"])")" = "(400400, 24)" ]'
check 'checkpoints alone, read back' 'w set c.json epochs=0 checkpoint.every_steps=0 checkpoint.keep=0 checkpoint.writes=3 checkpoint.reads=3 >o.json
	"$IOREEL" run o.json --data ds.raw --checkpoints ck2 --json >r.json &&
	[ "$(field r.json "d[\"read_bytes\"] == d[\"write_bytes\"] == 300300")" = True ]'
check 'a pause between checkpoints is no time on storage' '"$IOREEL" run o.json --data ds.raw --checkpoints ck2 --json --set checkpoint.pause_ns=400000000 >r.json &&
	[ "$(field r.json "d[\"time\"][\"compute_s\"] >= 0.8 and d[\"time\"][\"storage_s\"] < d[\"wall_s\"] - 0.8")" = True ]'

# --- evaluation ---------------------------------------------------------------
check 'evaluation every second epoch' 'w set raw.json evaluation.files=3 evaluation.samples_per_file=2 evaluation.every_epochs=2 evaluation.batch=2 evaluation.step_ns=5000000 >o.json &&
	"$IOREEL" gen -q o.json ds.eval && [ "$(ls ds.eval/valid | wc -l)" = 3 ] &&
	(for n in 0 2; do "$IOREEL" run o.json --data ds.eval --json --set pipeline.readers=$n >r.json
	[ "$(field r.json "(d[\"samples\"], d[\"evaluation_s\"] > 0.015, abs(sum(d[\"time\"].values()) - d[\"wall_s\"]) < 0.01 * d[\"wall_s\"])")" = "(180, True, True)" ] &&
	[ "$(field r.json "d[\"read_bytes\"]")" = "$(($(cat ds.eval/train/* | wc -c) * 3 + $(cat ds.eval/valid/* | wc -c)))" ] || exit 1; done)'
check 'evaluation every 35 steps of 90' 'w set raw.json evaluation.files=3 evaluation.samples_per_file=2 evaluation.every_steps=35 pipeline.batch=2 evaluation.batch=2 evaluation.step_ns=30000000 >o.json &&
	(for n in 0 2; do rm -f eval.db; "$IOREEL" run o.json --data ds.eval --json --set pipeline.readers=$n -o eval.db >r.json
	[ "$(field r.json "(d[\"samples\"], d[\"evaluation_s\"] > 0.18, sum(e[\"wall_s\"] for e in d[\"epochs\"]) < d[\"wall_s\"] - 0.18)")" = "(180, True, True)" ] &&
	[ "$(field r.json "d[\"read_bytes\"]")" = "$(($(cat ds.eval/train/* | wc -c) * 3 + $(cat ds.eval/valid/* | wc -c) * 2))" ] &&
	[ "$("$IOREEL" sql --format tsv eval.db "SELECT group_concat((SELECT count(*) FROM v_span s WHERE s.name = '\''step'\'' AND s.start_ns < e.start_ns)) FROM v_span e WHERE name = '\''eval'\''" | tail -1)" = 35,70 ] || exit 1; done)'
check 'DLIO has no evaluation by steps' 'w set o.json dataset.format=npz >n.json && "$IOREEL" workload export n.json --as dlio >o.yaml && grep -q "^#.*evaluation.every_steps 35" o.yaml && grep -q "evaluation: True" o.yaml'

# --- faults -------------------------------------------------------------------
check 'the data set of another workload' 'w set raw.json dataset.seed=9 >o.json
	"$IOREEL" run o.json --data ds.raw 2>err; [ $? = 2 ] && grep -q "seed" err'
check 'no data set' '"$IOREEL" run raw.json --data . 2>err; [ $? = 2 ] && grep -q "no data set" err'
for readers in 0 2; do
	check "a file is gone, $readers readers" 'cp -r ds.raw gone && rm gone/train/*3_of*
		"$IOREEL" run raw.json --data gone --set pipeline.readers=$readers 2>err; rc=$?; rm -r gone
		[ $rc = 1 ] && grep -q "cannot open" err'
	check "a file is cut, $readers readers" 'cp -r ds.raw cut && : >cut/train/sample_00000003_of_00000010.bin
		"$IOREEL" run raw.json --data cut --set pipeline.readers=$readers 2>err; rc=$?; rm -r cut
		[ $rc = 1 ] && grep -q "shorter" err'
done
check 'a reader that is killed' '"$IOREEL" run raw.json --data ds.raw --set pipeline.readers=1 --set compute.step_ns=50000000 2>err & pid=$!
	sleep 1; kill -KILL $(children $pid); wait $pid; [ $? = 1 ] && grep -q "a reader was killed" err'
check 'Ctrl-C prints what was measured' '"$IOREEL" run raw.json --data ds.raw --json --set compute.step_ns=50000000 >r.json 2>err & pid=$!
	sleep 1; kill -TERM $pid; wait $pid; [ $? = 143 ] && [ "$(field r.json "d[\"complete\"]")" = False ] && [ "$(field r.json "d[\"steps\"] > 2")" = True ]'
check 'a wait that Ctrl-C ends is no step' '"$IOREEL" run raw.json --data ds.raw --json --set pipeline.readers=1 --set preprocess.sample_ns=20000000000 >r.json 2>err & pid=$!
	until [ -n "$(children $pid)" ]; do sleep 0.1; done; sleep 1; kill -TERM $pid; wait $pid; rc=$?
	[ $rc = 143 ] && [ "$(field r.json "(d[\"steps\"], d[\"epochs\"][0][\"steps\"], d[\"per_step\"])")" = "(0, 0, [])" ] || { echo "$rc"; cat r.json err; false; }'

# --- null storage -------------------------------------------------------------
check 'null storage makes no call on data' 'strace -f -e trace=read,pread64,openat -o s.txt "$IOREEL" run raw.json --null >o &&
	! grep -q sample_ s.txt' 
check 'and as many samples' '"$IOREEL" run raw.json --null --json >r.json && [ "$(field r.json "d[\"samples\"]")" = 180 ]'

# --- the calls of NumPy -------------------------------------------------------
cat >load.py <<'PY'
import sys
import numpy as np
a = np.load(sys.argv[1])
if sys.argv[1].endswith("z"):
    a["x"], a["y"]
    a.close()
PY
# calls FILE: the calls on data files from the last open on, without addresses.
# lseek() is shown by the position that it reaches: a security update of Python 3.11
# counts the place of the zip64 locator from the begin, and before it from the end.
calls() {
	awk '/sample_.*O_RDONLY/ { n = 0 } { line[n++] = $0 } END { for (i = 0; i < n; i++) print line[i] }' "$1" |
		sed -n '/sample_/,/close(3/p' | sed -E 's/^[0-9]+ +//; s/"[^"]*"(\.\.\.)?/""/; s/0x[0-9a-f]+/p/; s/^lseek\(.*\) +=/lseek() =/' |
		grep -E '^(read|pread64|lseek|ioctl|fcntl|close|openat)\('
}
# NumPy before 2.3 opens each member twice.
compared=
for python in python3 /usr/bin/python3; do
	opens=$("$python" -c 'import sys, numpy
assert sys.version_info[:2] == (3, 11)
print(2 if tuple(map(int, numpy.__version__.split(".")[:2])) < (2, 3) else 1)' 2>/dev/null) || continue
	command -v strace >/dev/null || continue
	case " $compared " in *" $opens "*) continue ;; esac
	compared="$compared $opens"
	for format in npz npy; do
		[ $format = npz ] && set access.member_opens=$opens || set --
		for bytes in 100 3000 5000 1000000; do
			rm -rf one; w set w.json dataset.format=$format dataset.files=1 dataset.samples_per_file=1 \
				dataset.sample_bytes=$bytes pipeline.batch=1 epochs=1 "$@" >o.json
			"$IOREEL" gen -q o.json one
			strace -o ours "$IOREEL" run -q o.json --data one >/dev/null
			# Twice: the first time imports modules in between.
			strace -o theirs "$python" -c "import sys; sys.argv[1:] = ['$(ls -d one/train/*)']
for _ in 0, 1: exec(open('load.py').read())"
			calls ours >a; calls theirs >b
			check "$format of $bytes bytes, $opens opens: the calls of np.load" 'cmp a b && [ -s a ] || { diff a b; false; }'
		done
	done
done
if command -v strace >/dev/null; then
	rm -rf one
	w set w.json dataset.format=npz dataset.files=1 dataset.samples_per_file=1 dataset.sample_bytes=5000 pipeline.batch=1 epochs=1 >o.json
	"$IOREEL" gen -q o.json one
	for end in true false; do
		strace -o ours "$IOREEL" run -q o.json --data one --set access.read_end=$end >/dev/null
		calls ours | grep -c '^read(.* = 0$'
	done >ends
	is 'reads of nothing in an archive by access.read_end' "$(tr '\n' ' ' <ends)" '1 0 '
fi
[ -n "$compared" ] || skip 'the calls of NumPy' 'no strace, or not Python 3.11 with NumPy'
check 'a folder that is missing is named as missing' '! "$IOREEL" run --data none w.json 2>err && grep -q "cannot open .none.: No such file" err'
check '--data and --null exclude each other' '"$IOREEL" run --data ds.raw --null w.json 2>err; [ $? = 2 ] && grep -q "exclude each other" err'
# Long times of readers do not keep Ctrl-C from the end of the run.
cat >stop.py <<'PY'
import json, signal, subprocess, sys, time
for keys in (["preprocess.sample_ns=90000000000"], ["pipeline.start_ns=90000000000"],
             ["preprocess.sample_ns=90000000000", "pipeline.unit=thread"],
             ["pipeline.start_ns=90000000000", "pipeline.unit=thread"],
             ["preprocess.sample_ns=90000000000", "pipeline.readers=0"],
             ["preprocess.sample_ns=90000000000", "preprocess.on=cpu"]):
    p = subprocess.Popen([sys.argv[1], "run", "-q", "raw.json", "--data", "ds.raw", "--json", "--set",
                          "pipeline.readers=2"] + [w for k in keys for w in ("--set", k)],
                         stdout=subprocess.PIPE, text=True)
    for _ in range(1000):  # until it handles the signal, then a moment for its readers
        if int(open("/proc/%d/status" % p.pid).read().split("SigCgt:")[1].split()[0], 16) & 2:
            break
        time.sleep(0.01)
    time.sleep(0.5)
    p.send_signal(signal.SIGINT)
    try:
        out = p.communicate(timeout=10)[0]
    except subprocess.TimeoutExpired:
        p.send_signal(signal.SIGINT)
        p.wait()
        sys.exit("no end: " + " ".join(keys))
    assert p.returncode == 130 and not json.loads(out)["complete"], (keys, p.returncode)
PY
check 'Ctrl-C ends readers that start or preprocess for long' 'python3 stop.py "$IOREEL" 2>err || { cat err; false; }'
finish
