#!/bin/sh
# SPDX-License-Identifier: MIT
# JPEG and PNG: Pillow decodes every file, which says its sample and has its size;
# the checksum is that of raw for any readers; the calls are those of Pillow.
. "$(dirname "$0")/../lib/tap.sh"
python3 -c 'import json' 2>/dev/null || skip_all 'no python3'

w() { "$IOREEL" workload "$@"; }
cat >jpeg.json <<'J'
{"schema": "ioreel-workload-1", "name": "t",
 "dataset": {"format": "jpeg", "files": 60, "folders": 3,
             "sample_bytes": {"quantiles": [900, 5000, 150000]}},
 "pipeline": {"batch": 4, "order": "shuffle"}, "epochs": 2}
J
w set jpeg.json dataset.format=png >png.json
w set jpeg.json dataset.format=raw >raw.json
"$IOREEL" gen -q jpeg.json first 2>err
grep -q 'no format' err && skip_all 'a build without JPEG'
"$IOREEL" gen -q png.json second 2>err
grep -q 'no format' err && skip_all 'a build without PNG'

# field JSON EXPRESSION: of the result d.
field() { python3 -c "import json; d = json.load(open('$1')); print($2)"; }
mpi="mpirun --allow-run-as-root --oversubscribe"
"$IOREEL" gen -q raw.json ds.raw
"$IOREEL" run raw.json --data ds.raw --json >r.json
field r.json 'd["epochs"][0]["checksum"]' >>sums
(cd ds.raw && find train -type f -printf '%p %s\n' | sed 's/\.bin//' | sort) >sizes
for f in jpeg png; do
	check "$f: written" '"$IOREEL" gen -q $f.json ds.$f'
	check "$f: the same with one thread" '"$IOREEL" gen -q -j 1 $f.json again && diff -r ds.$f again; rc=$?; rm -r again; [ $rc = 0 ]'
	check "$f: files are as large as their samples" '(cd ds.$f && find train -type f -printf "%p %s\n" |
		sed "s/\.[a-z]* / /" | sort) | diff sizes -'
	for how in readers=0 readers=3 'readers=2 --set pipeline.unit=thread'; do
		"$IOREEL" run $f.json --data ds.$f --json --set pipeline.$how >r.json
		is "$f, $how: every sample" "$(field r.json '[e["samples"] for e in d["epochs"]]')" '[60, 60]'
		field r.json 'd["epochs"][1]["checksum"]' >>sums
	done
	[ -x "$O/ioreel-mpi" ] || continue
	$mpi -n 3 "$O/ioreel-mpi" run $f.json --data ds.$f --json >r.json 2>err
	is "$f, 3 ranks: every sample" "$(field r.json '[e["samples"] for e in d["epochs"]]')" '[60, 60]'
	field r.json 'd["epochs"][0]["checksum"]' >>sums
done
is 'one checksum, that of raw' "$(sort -u sums | wc -l)" 1

# --- faults -------------------------------------------------------------------
for f in jpeg png; do
	check "$f: several samples in a file are refused" 'w set $f.json dataset.samples_per_file=2 >o.json
		! "$IOREEL" gen -q o.json no.$f 2>err && grep -q "one sample: set dataset.samples_per_file to 1" err'
	check "$f: too small: the smallest, and said" 'w set $f.json dataset.sample_bytes=20 dataset.folders=0 >o.json
		"$IOREEL" gen -q o.json small.$f 2>err && [ "$(wc -l <err)" = 1 ] && grep -q "of 20 bytes cannot be made; the smallest has $(stat -c %s small.$f/train/*0_of*)" err &&
		"$IOREEL" run o.json --data small.$f --json >r.json && [ "$(field r.json "d[\"samples\"]")" = 120 ]'
	check "$f: null storage" '"$IOREEL" run $f.json --null --json >r.json && [ "$(field r.json "d[\"samples\"]")" = 120 ]'
	for bytes in 0 10 50 700; do
		check "$f cut to $bytes bytes" 'cp -r ds.$f bad && truncate -s $bytes bad/train/*/*3_of* &&
			! "$IOREEL" run $f.json --data bad 2>err; rc=$?; rm -r bad
			[ $rc = 0 ] && [ "$(wc -l <err)" = 1 ] && grep -q "damaged or shorter" err'
	done
	check "$f of noise where it was made" 'cp -r ds.$f bad && for i in bad/train/*/*3_of*; do
			head -c $(stat -c %s "$i") /dev/urandom >x; cat x >"$i"; done
		! "$IOREEL" run $f.json --data bad 2>err; rc=$?; rm -r bad; [ $rc = 0 ] && [ "$(wc -l <err)" = 1 ]'
done

# --- Pillow -------------------------------------------------------------------
if ! python3 -c 'import PIL.Image' 2>/dev/null; then
	tap_n=$((tap_n + 1)); echo "ok $tap_n # SKIP no Pillow"
	finish; exit
fi
cat >samples.py <<'PY'
"""Every image of a data set, decoded as torchvision's loader does."""
import glob, os, re, struct, sys, warnings
from PIL import Image
warnings.simplefilter("error")
numbers = []
for path in sorted(glob.glob(sys.argv[1] + "/train/**/*.*", recursive=True)):
    with open(path, "rb") as f:
        image = Image.open(f)
        rgb = image.convert("RGB")
    if image.format == "JPEG":
        own = [data for name, data in image.applist if name == "COM"][0]
    else:
        own = image.private_chunks[0][1]
    name = int(re.search(r"_(\d+)_of", path)[1])
    assert struct.unpack("<Q", own[:8])[0] == name, path
    pixels = rgb.resize((8, 8)).tobytes()
    assert len({pixels[i:i + 3] for i in range(0, 192, 3)}) > 4 or os.path.getsize(path) < 1500, path
    numbers.append(name)
assert sorted(numbers) == list(range(60)), numbers
PY
for f in jpeg png; do
	check "$f: Pillow decodes every sample" 'python3 samples.py ds.$f'
	check "$f, compressible: Pillow decodes every sample" 'w set $f.json dataset.compressibility=0.9 >o.json &&
		"$IOREEL" gen -q o.json flat.$f && python3 samples.py flat.$f'
done
cat >load.py <<'PY'
import sys
from PIL import Image
for _ in 0, 1:  # the first time imports modules in between
    Image.open(sys.argv[1]).load()
PY
calls() {
	awk '/sample_.*O_RDONLY/ { n = 0 } { line[n++] = $0 } END { for (i = 0; i < n; i++) print line[i] }' "$1" |
		sed '/^close(/q' | sed -E 's/"([^"\\]|\\.)*"(\.\.\.)?/""/g; s/\{.*\}/{}/; s/0x[0-9a-f]+/p/' |
		grep -E '^(read|pread64|lseek|ioctl|close|openat|fstat|newfstatat)\('
}
if ! command -v strace >/dev/null; then
	tap_n=$((tap_n + 1)); echo "ok $tap_n # SKIP no strace"
	finish; exit
fi
for f in jpeg png; do
	for bytes in 700 4096 4097 30000 65536 65538 70000 131072 300001; do
		w set $f.json dataset.files=1 dataset.folders=0 dataset.sample_bytes=$bytes pipeline.batch=1 epochs=1 >o.json
		rm -rf one; "$IOREEL" gen -q o.json one
		strace -o ours "$IOREEL" run -q o.json --data one >/dev/null
		strace -o theirs python3 load.py one/train/*
		calls ours >a; calls theirs >b
		check "$f of $bytes bytes: the calls of Pillow" 'cmp a b && [ -s a ] || { diff a b; false; }'
	done
done
finish
