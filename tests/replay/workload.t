#!/bin/sh
# SPDX-License-Identifier: MIT
# ioreel workload and gen: faults by key, the schema, files that others read, files
# that do not depend on threads and ranks, a data set that is resumed or refused.
. "$(dirname "$0")/../lib/tap.sh"
python3 -c 'import json' 2>/dev/null || skip_all 'no python3'

w() { "$IOREEL" workload "$@"; }
cat >w.json <<'J'
{"schema": "ioreel-workload-1", "name": "t",
 "dataset": {"format": "npz", "files": 12, "folders": 3,
             "sample_bytes": {"quantiles": [1000, 20000, 90000]}},
 "pipeline": {"batch": 4}, "epochs": 2}
J
check 'a good workload' 'w check w.json | grep -q "no fault"'

# --- faults -------------------------------------------------------------------
# fault TITLE JSON LINE: exit 1, and a line of the output begins with LINE.
fault() {
	printf '%s' "$2" >bad.json
	check "$1" "w check bad.json 2>err; [ \$? = 1 ] && grep -q -- '^$3' err"
}
head='"schema": "ioreel-workload-1", "name": "t"'
fault '10^12 files' "{$head, \"dataset\": {\"files\": 1000000000000}}" \
	'dataset.files: 1000000000000 is more than 1000000000'
fault 'a level without compression' "{$head, \"dataset\": {\"compression_level\": 9}}" \
	'dataset.compression_level: dataset.compression is none'
fault 'a negative size' "{$head, \"dataset\": {\"sample_bytes\": -5}}" \
	'dataset.sample_bytes: -5 is less than 0'
fault 'a name that leads out' "{$head, \"dataset\": {\"prefix\": \"../x\"}}" \
	'dataset.prefix: not a name'
fault 'an unknown key' "{$head, \"dataset\": {\"record_length\": 1}}" \
	'dataset.record_length: no such key'
fault 'a word that is none' "{$head, \"pipeline\": {\"order\": \"random\"}}" \
	'pipeline.order: not one of sequential, shuffle, window'
fault 'a place in a list' "{$head, \"checkpoint\": {\"files\": [{}, {\"bytes\": -1}]}}" \
	'checkpoint.files\[1\].bytes: -1 is less than 0'
fault 'quantiles that fall' "{$head, \"compute\": {\"step_ns\": {\"quantiles\": [5, 3]}}}" \
	'compute.step_ns.quantiles: not in ascending order'
fault 'slices of a format without arrays' "{$head, \"dataset\": {\"sample_bytes\": 1}, \"access\": {\"slice_samples\": 8}}" \
	'access.slice_samples: only of hdf5'
fault 'probabilities' "{$head, \"dataset\": {\"sample_bytes\": 1}, \"access\": {\"chain\": [{\"bytes\": 1, \"next\": [0.5]}]}}" \
	'access.chain\[0\].next: the sum is 0.5'
fault 'a fraction of a file' "{$head, \"dataset\": {\"files\": 1.5}}" 'dataset.files: not an integer'
fault 'no size' "{$head}" 'dataset.sample_bytes: missing'
fault 'another schema' '{"schema": "x", "name": "t"}' 'schema: not'
fault 'too many samples' "{$head, \"dataset\": {\"files\": 1000000000, \"samples_per_file\": 1000000000, \"sample_bytes\": 1}}" \
	'dataset.samples_per_file: 1e+18 samples'
fault 'a list in the place of the workload' '[1]' 'the document: not an object'
fault 'one more than a seed can be' "{$head, \"pipeline\": {\"seed\": 9007199254740993}}" \
	'pipeline.seed: 9007199254740992 is more than 9007199254740991'
fault 'not JSON: NaN' "{$head, \"epochs\": NaN}" 'ioreel workload: .bad.json. is no JSON'
fault 'a key twice' "{$head, \"epochs\": 1, \"epochs\": 2}" 'ioreel workload: .bad.json. is no JSON'
printf '{%s, "dataset": {"files": -1, "folders": -1}, "epochs": -1}' "$head" >bad.json
is 'every fault has a line' "$(w check bad.json 2>&1 | wc -l)" 3

# --- set, keys, schema --------------------------------------------------------
check 'set changes one key' 'w set w.json pipeline.batch=8 >o.json &&
	[ "$(w set o.json pipeline.batch=4 | sed s/x/x/)" = "$(w set w.json name=t)" ]'
check 'set refuses a wrong key' '! w set w.json pipeline.bach=8 2>err && grep -q "no key" err'
check 'set refuses another schema' '! w set w.json schema=x 2>err && grep -q "schema: not" err'
check '1e3 is an integer' '[ "$(w set w.json epochs=1e3)" = "$(w set w.json epochs=1000)" ] && ! w set w.json epochs=1e-3 2>err'
check 'set refuses a wrong value' '! w set w.json pipeline.batch=0 2>err && grep -q "less than 1" err'
cat >schema.py <<'PY'
"""Every key of the table is in the schema, with its type and range, and no other."""
import json, subprocess, sys
ioreel, path = sys.argv[1:]
rows = subprocess.run([ioreel, "workload", "keys"], capture_output=True, text=True, check=True)
table = {r.split("\t")[0]: r.split("\t")[1:] for r in rows.stdout.splitlines()}
seen = {}
def walk(node, at):
    for name, value in node["properties"].items():
        key = at + name
        if value.get("type") == "object":
            walk(value, key + ".")
            continue
        seen[key] = value
        if "properties" in value.get("items", {}):
            walk(value["items"], key + "[].")
walk(json.load(open(path)), "")
assert set(seen) == set(table), set(seen) ^ set(table)
for key, (kind, limits, initial) in table.items():
    v = seen[key]
    if kind in ("integer", "number"):
        low, high = map(float, limits.split(" to "))
        assert (v["type"], v["minimum"], v["maximum"]) == (kind, low, high), key
        assert v["default"] == float(initial), key
    if kind == "word":
        assert "|".join(v["enum"]) == limits and v["default"] == initial, key
PY
# The readers of both epochs begin after a second, or only those of the first.
for once in false true; do
	printf '{"schema": "ioreel-workload-1", "name": "o", "epochs": 2, "dataset": {"files": 8, "sample_bytes": 4096}, "pipeline": {"readers": 1, "batch": 4, "start_ns": 1000000000, "start_once": %s}}' $once >once.json
	rm -rf once.data once.db && "$IOREEL" gen -q once.json once.data && "$IOREEL" run -q once.json --data once.data -o once.db >/dev/null
	is "start_once $once: fetches that wait for the start" "$(sql once.db "SELECT count(*) FROM v_span WHERE name = 'fetch' AND dur_ns >= 500000000")" $([ $once = true ] && echo 1 || echo 2)
done
# Readers that begin once read the next epoch during the evaluation, and each sample once.
for once in false true; do
	w set once.json pipeline.start_ns=0 pipeline.start_once=$once pipeline.prefetch=2 evaluation.files=4 \
		evaluation.every_epochs=1 evaluation.samples_per_file=1 evaluation.batch=4 \
		'evaluation.step_ns={"quantiles":[300000000,300000000]}' epochs=3 >ahead.json &&
		rm -rf ahead.data ahead.db && "$IOREEL" gen -q ahead.json ahead.data
	"$IOREEL" run -q ahead.json --data ahead.data -o ahead.db --json >ahead.out
	is "start_once $once: samples, and batches that began before their epoch" "$(python3 -c 'import json, sys
d = json.load(open("ahead.out"))
print([e["samples"] for e in d["epochs"]], len({e["checksum"] for e in d["epochs"]}))') $(sql ahead.db "
		WITH e AS (SELECT start_ns, row_number() OVER (ORDER BY start_ns) AS n FROM v_span WHERE name = 'epoch'),
		w AS (SELECT process_id FROM v_span WHERE name = 'preprocess'
			GROUP BY process_id ORDER BY count(*) DESC LIMIT 1)
		SELECT group_concat((SELECT count(*) FROM v_span s JOIN w USING (process_id)
			WHERE s.name = 'preprocess' AND s.start_ns < e.start_ns) - 2 * (n - 1)) FROM e WHERE n > 1")" \
		"[8, 8, 8] 1 $([ $once = true ] && echo 2,2 || echo 0,0)"
done
check 'start_once without readers is a fault' '! w set once.json pipeline.readers=0 pipeline.start_ns=0 >out 2>&1 && grep -q "pipeline.start_once: there are no readers" out'
"$IOREEL" workload keys | cut -f1 | sort >keys
sed -n 's/^\.\(It \)*Cm //p' "$TOP/man/ioreel-workload.5" | tr -s ' ,.' '\n\n.' |
	grep -xFf keys | sort -u >said
is 'the manual says what each key means' "$(comm -23 keys said)" ''
is 'and has no other' "$(sed -n 's/^\.It Cm //p' "$TOP/man/ioreel-workload.5" | tr -s ' ,' '\n\n' |
	grep -vxFf keys)" ''
sed -n '/^\.Bd -literal/,/^\.Ed/{/^\./!p}' "$TOP/man/ioreel-workload.5" >manual.json
check 'its example is a workload' '"$IOREEL" workload check manual.json'
check 'the schema has the same keys' 'python3 schema.py "$IOREEL" "$TOP/schemas/workload.schema.json"'
if python3 -c 'import jsonschema' 2>/dev/null; then
	check 'a workload fits the schema' 'w set w.json epochs=3 >o.json && python3 -c "
import json, jsonschema
jsonschema.Draft202012Validator(json.load(open(\"$TOP/schemas/workload.schema.json\"))).validate(
	json.load(open(\"o.json\")))"'
fi

for f in "$TOP"/workloads/*.json; do
	check "shipped: ${f##*/}" 'w check "$f"'
done
check 'a small unet3d has its shape' '"$IOREEL" gen -q --scale 1/5000 "$TOP/workloads/mlperf2-unet3d-h100.json" small &&
	"$IOREEL" run --scale 1/5000 "$TOP/workloads/mlperf2-unet3d-h100.json" --data small --json >r.json &&
	python3 -c "
import json; d = json.load(open(\"r.json\"))
assert d[\"samples\"] == 5 * 56 and d[\"steps\"] == 40, d[\"steps\"]
assert 0.8 < d[\"read_bytes\"] / (168 * 146600628 * 5 / 5000) < 1.2"'

# --- size ---------------------------------------------------------------------
# size TITLE WORKLOAD OPTIONS LINE: a line of "workload size" has these words.
size() {
	check "$1" 'w size "$TOP/workloads/'"$2.json\" $3"' >out 2>err && grep -qF -- "'"$4"'" out'
}
# 500 steps x 7 x 8 = 28,000; 5 x 2 x 256 GiB / 146,600,628 bytes = 18,750.1
size 'unet3d: by steps' mlperf3-unet3d-b200 '--accelerators 8 --hosts 2 --memory 256G' \
	'28,000 samples at least: 28,000 by steps of 8 accelerators, 18,751 by 256 GiB of memory on 2 hosts'
size 'and the key that makes it' mlperf3-unet3d-b200 '--accelerators 8 --hosts 2 --memory 256G' 'dataset.files=28000'
# 5 x 2 x 256 GiB / 322,957 bytes = 8,511,284.5
size 'retinanet: by memory' mlperf3-retinanet-b200 '--accelerators 8 --hosts 2 --memory 256G' 'dataset.files=8511285'
# 2.7488e12 / (1,251 x 114,660) = 19,163.6 files
size 'resnet50: files of many samples' mlperf2-resnet50-h100 '--accelerators 8 --hosts 2 --memory 256G' 'dataset.files=19164'
size 'cosmoflow' mlperf2-cosmoflow-h100 '--accelerators 8 --hosts 2 --memory 256G' '971,820 by 256 GiB'
size 'dlrm: enough' mlperf3-dlrm-b200 '--accelerators 8 --hosts 2 --memory 256G' 'large enough'
size 'flux' mlperf3-flux-b200 '--accelerators 8 --hosts 2 --memory 256G' 'dataset.files=4409'
# 14 bytes of each parameter; ZeRO 3: all ranks alike.
size 'llama3 8b' mlperf3-llama3-8b '' '112 GB of 8 ranks, 14.1 GB each; 10 are written: 1.12 TB'
size 'llama3 70b' mlperf3-llama3-70b '' '978 GB of 64 ranks, 15.3 GB each'
# ZeRO 1 on 8 x 32 x 2: 12 bytes of a half to each, 2 to the first of two; 3 or 4 layers
size 'llama3 405b' mlperf3-llama3-405b '' '5.68 TB of 512 ranks, 7.17 GB to 14.9 GB each'
size 'llama3 1t' mlperf3-llama3-1t '' '16.6 TB of 1024 ranks'
w set w.json dataset.files=100 dataset.samples_per_file=1 dataset.sample_bytes=30000 evaluation.files=20 \
	evaluation.samples_per_file=2 >e.json
w set e.json evaluation.sample_bytes=100000 >e2.json
is 'size: the files of the evaluation' "$(w size e.json | sed -n '/^evaluation/p' | tr -s ' ')" \
	'evaluation 20 files of 2 samples, 1.20 MB; 4.20 MB in all'
is 'size: samples of its own sizes' "$(w size e2.json | sed -n '/^[de][av]/p' | tr -s ' ')" \
	"$(printf 'data set 100 files of 1 sample, 3.00 MB\nevaluation 20 files of 2 samples, 4.00 MB; 7.00 MB in all')"
check 'an option of another verb is refused' 'w check w.json --memory 1G 2>err; [ $? = 2 ] && grep -q "only of size" err'
check 'missing words are named' 'w export w.json 2>err; [ $? = 2 ] && grep -q "export takes a workload and --as" err'

# --- gen ----------------------------------------------------------------------
check 'a data set' '"$IOREEL" gen w.json one && [ "$(find one -name "*.npz" | wc -l)" = 12 ]'
check 'in folders' '[ "$(find one/train -mindepth 1 -type d | wc -l)" = 3 ]'
check 'the same with one thread' '"$IOREEL" gen -j 1 w.json two && diff -r one two'
if [ -x "$O/ioreel-mpi" ]; then
	mpi="mpirun --allow-run-as-root --oversubscribe -n 3 $O/ioreel-mpi"
	check 'the same from 3 ranks' '$mpi gen -q w.json three && diff -r one three'
fi
check 'what is missing is made' 'rm one/train/000001/*; "$IOREEL" gen w.json one | grep -q "^one: 4 files.*; 8 were there" &&
	diff -r one two'
check 'a part of a file is made again' 'f=$(find one -name "*.npz" | head -1); mv "$f" "$f.part"; : >"$f.part.idx"
	"$IOREEL" gen -q w.json one && diff -r one two'
check 'another workload is refused, with the key' 'w set w.json dataset.seed=2 >o.json
	"$IOREEL" gen o.json one 2>err; [ $? = 2 ] && grep -q "seed" err && diff -r one two'
check 'a folder with other files is refused' 'mkdir full; echo >full/notes
	"$IOREEL" gen w.json full 2>err; [ $? = 2 ] && grep -q "not empty" err && [ "$(ls full)" = notes ]'
check 'too little space is said before' 'w set w.json dataset.sample_bytes=100000000000000 dataset.files=1000 dataset.folders=0 >o.json
	"$IOREEL" gen o.json big 2>err; [ $? = 1 ] && grep -q "needs .* PB in 1,000 files" err && [ ! -e big ]
	mkdir big && ! "$IOREEL" gen o.json big 2>err && [ -z "$(ls -A big)" ]'
# A full disk: the limit on the size of files stands for it.
check 'a failure, then the rest' 'w set w.json dataset.sample_bytes=200000 >o.json
	! (trap "" XFSZ; ulimit -f 100; "$IOREEL" gen o.json cut 2>err) && grep -q "cannot write" err &&
	[ -z "$(find cut -name "*.part*")" ] && "$IOREEL" gen -q o.json cut &&
	[ "$(find cut -name "*.npz" | wc -l)" = 12 ]'
# Space for the missing files is enough. The limit of a tmpfs, where one can be mounted.
mkdir fs
if unshare -m sh -c 'mount -t tmpfs -o size=4M,nr_inodes=200 tmpfs fs' 2>/dev/null; then
	within() { unshare -m sh -c "mount -t tmpfs -o size=4M,nr_inodes=200 tmpfs fs; $1"; }
	w set w.json dataset.format=raw dataset.folders=0 dataset.files=120 dataset.sample_bytes=20000 >f.json
	check 'the rest needs its own space alone' 'within "\"$IOREEL\" gen -q f.json fs/ds && rm fs/ds/train/*_0000001?_* && \"$IOREEL\" gen f.json fs/ds" | grep -q "10 files.*; 110 were there"'
	w set f.json dataset.files=300 dataset.sample_bytes=10 >f.json.300
	check 'too few inodes are said before' '! within "\"$IOREEL\" gen -q f.json.300 fs/ds" 2>err && grep -q "in 300 files, .fs/ds. has .* and 1[0-9][0-9] files free" err'
else
	skip 'the rest needs its own space alone' 'no mount'
	skip 'too few inodes are said before' 'no mount'
fi
# The first file that is whole shows that gen is at work; two more take their time.
w set w.json dataset.format=raw dataset.files=2000 dataset.folders=0 dataset.sample_bytes=1000000 >big.json
for signal in INT TERM; do
	check "SIG$signal ends gen in order" 'env --default-signal=INT "$IOREEL" gen -j 2 big.json long 2>err & pid=$!
		until ls long/train 2>/dev/null | grep -q "bin$"; do kill -0 $pid || break; done
		kill -'$signal' $pid; wait $pid; st=$?
		[ $st = $(if [ '$signal' = INT ]; then echo 130; else echo 143; fi) ] && grep -q "stopped by a signal after .* of 2,000 files" err &&
		[ -z "$(find long -name "*.part*")" ]; st=$?; rm -rf long; [ $st = 0 ]'
done
cat >sizes.py <<'PY'
"""Sizes of 1,000 samples follow the quantiles: KS at most max(0.003, 1 / files)."""
import glob, os
s = sorted(os.path.getsize(f) for f in glob.glob("ks/train/*"))
q = [1000, 20000, 90000]
def cdf(x):
    if x < q[0]: return 0
    for i in range(2):
        if x < q[i + 1]: return (i + (x - q[i]) / (q[i + 1] - q[i])) / 2
    return 1
ks = max(max(abs((i + 1) / len(s) - cdf(x)), abs(i / len(s) - cdf(x))) for i, x in enumerate(s))
print(ks)
assert ks <= 0.003, ks
PY
check 'sizes follow the quantiles' 'w set w.json dataset.format=raw dataset.files=1000 dataset.folders=0 >o.json
	"$IOREEL" gen -q o.json ks && python3 sizes.py'
check 'compressibility is kept' 'w set w.json dataset.format=raw dataset.files=1 dataset.folders=0 dataset.sample_bytes=4000000 dataset.compressibility=0.5 >o.json
	"$IOREEL" gen -q o.json half && n=$(gzip -c half/train/* | wc -c) && [ "$n" -gt 1900000 ] && [ "$n" -lt 2100000 ]'

# --- read back by NumPy -------------------------------------------------------
cat >numpy_read.py <<'PY'
import glob, sys
import numpy as np
numbers = []
for f in glob.glob(sys.argv[1] + "/train/**/*.np[yz]", recursive=True):
    a = np.load(f)
    if f.endswith("z"):
        numbers += list(a["y"])
        a = a["x"]
    rows = a if a.ndim == 2 else [a]
    first = [int.from_bytes(r[:8].tobytes(), "little") for r in rows]
    if not f.endswith("z"):
        numbers += first
    assert first == numbers[-len(first):]
assert sorted(numbers) == list(range(int(sys.argv[2]))), len(numbers)
PY
if python3 -c 'import numpy' 2>/dev/null; then
	for format in npz npy; do
		check "$format: NumPy reads every sample" 'rm -rf ds; w set w.json dataset.format=$format >o.json
			"$IOREEL" gen -q o.json ds && python3 numpy_read.py ds 12'
		check "$format: several samples of a file" 'rm -rf ds
			w set w.json dataset.format=$format dataset.sample_bytes=500 dataset.samples_per_file=7 >o.json
			"$IOREEL" gen -q o.json ds && python3 numpy_read.py ds 84'
	done
fi
finish
