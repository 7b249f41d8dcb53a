#!/bin/sh
# SPDX-License-Identifier: MIT
# ioreel fit: reads that the reader of the format does not make become a chain, and the
# benchmark of that makes the same reads; files that are read as usual get none.
. "$(dirname "$0")/../lib/tap.sh"
python3 -c 'import json' 2>/dev/null || skip_all 'no python3'
command -v strace >/dev/null && strace -o s true 2>/dev/null || skip_all 'no strace'

# Read each file of FOLDER in a way of its own, twice.
cat >job.py <<'P'
import os, random, sys
folder, how = sys.argv[1:]
random.seed(5)
for epoch in range(2):
    for name in sorted(os.listdir(folder)):
        fd = os.open(os.path.join(folder, name), os.O_RDONLY)
        size, at = os.fstat(fd).st_size, 0
        if how == "pieces":  # of TensorFlow
            while os.pread(fd, 262144, at):
                at += 262144
        elif how == "large":  # the same file with another buffer
            while os.pread(fd, 1 << 20, at):
                at += 1 << 20
        elif how == "whole":
            os.read(fd, size + 1)
            os.read(fd, 1)
        elif how == "ends":  # as gzip: the end is read more than once
            while os.read(fd, 4096):
                pass
            os.read(fd, 4096)
        elif how == "head":  # a header, then blocks
            os.read(fd, 512)
            while os.read(fd, 1024):
                pass
        elif how == "jumps":  # a header, then records behind gaps, until all is read
            got = 0
            while got < size:
                n = random.choice((4096, 65536))
                at = at if at + n <= size else 0
                got += len(os.pread(fd, n, at))
                at += n + (8192 if n == 65536 else 0)
        elif how == "archive":  # as torch.load(): its end first, and parts of it twice
            for n, at in ((4096, 0), (4096, 0), (4096, size - 4096), (22, size - 22),
                          (4096, 8192), (4096, 0), (40000, 4096), (4096, 44096), (30000, 48192),
                          (4096, 78192), (4096, size - 4096)):
                os.pread(fd, n, at)
        elif how == "places":  # as torch.load() of tensors of several sizes
            for n, at in ((4096, 0), (22, size - 22), (4096, 0), (size - 5000, 4096),
                          (500 + size // 777 % 3, size - 800)):
                os.pread(fd, n, at)
        os.close(fd)
P
# recorded NAME SUFFIX BYTES HOW: data, a recording, and its workload NAME.json.
recorded() {
	mkdir -p "$1.d"
	for i in 0 1 2 3 4 5; do
		head -c $(($3 + i * 1000 * ($3 % 2))) /dev/urandom >"$1.d/part_$i.$2"
	done
	"$IOREEL" record -q -o "$1.reel" -- python3 job.py "$1.d" "$4" >"$1.out" 2>&1 &&
		"$IOREEL" fit "$1.reel" -o "$1.json" 2>"$1.why"
}
field() { python3 -c "import json; d = json.load(open('$1')); print(($2))"; }
# sizes TRACE: how many reads gave how many bytes, of files of the data.
sizes() {
	python3 - "$1" <<'P'
import collections, re, sys
n = collections.Counter(int(m[1]) for m in
                        (re.search(r"p?read(?:64)?\(\d+<[^>]*(?:part_\d|_of_\d)[^>]*>.* = (\d+)$", l) for l in open(sys.argv[1])) if m)
print(*("%d: %d" % p for p in sorted(n.items())), sep="\n")
P
}
# as_recorded NAME HOW: the sizes of the job's reads in a, those of the benchmark in b.
as_recorded() {
	strace -f -y -e trace=read,pread64 -o theirs python3 job.py "$1.d" "$2" && "$IOREEL" gen -q "$1.json" "$1.ds" &&
		strace -f -y -e trace=read,pread64 -o ours "$IOREEL" run -q "$1.json" --data "$1.ds" >/dev/null &&
		sizes theirs >a && sizes ours >b && [ -s a ]
}

check 'reads of TensorFlow: no chain' 'recorded usual tfrecord 1000000 pieces && [ "$(field usual.json "len(d[\"access\"][\"chain\"])")" = 0 ] && grep -q "^access.chain .*the reader of the format" usual.why'
check 'another buffer: a chain of it' 'recorded large tfrecord 3000000 large && [ "$(field large.json "[s[\"bytes\"] for s in d[\"access\"][\"chain\"]]")" = "[1048576, 0]" ]'
check 'no format, whole files of several sizes: a read and an end each' 'recorded whole bin 300001 whole && as_recorded whole whole && [ "$(grep "^0:" b)" = "0: 12" ] && [ "$(grep -c "^30[0-9]*: 2$" b)" = 6 ] && [ "$(grep -c "" b)" = 7 ]'
check 'files whose ends are read twice: the chain ends' 'recorded ends gz 40960 ends && as_recorded ends ends && [ "$(grep "^4096:" a)" = "$(grep "^4096:" b)" ]'
check 'a header and blocks of files of several sizes: a header each' 'recorded head bin 30001 head && as_recorded head head && cmp a b && [ "$(grep "^512:" b)" = "512: 12" ]'
check 'no format, jumps: sizes and strides as recorded' 'recorded jumps bin 2000000 jumps && as_recorded jumps jumps && python3 -c "
import json
chain = json.load(open(\"jumps.json\"))[\"access\"][\"chain\"]
found = {(s[\"bytes\"], s[\"stride\"]) for s in chain}
assert {(4096, 0), (65536, 0), (4096, 8192), (65536, 8192)} <= found, found
a, b = ({int(k): int(v) for k, v in (l.split(\": \") for l in open(f))} for f in \"ab\")
for n in 4096, 65536:
    assert abs(a[n] / sum(a.values()) - b[n] / sum(b.values())) < 0.1, (a, b)
assert abs(sum(b.values()) / sum(a.values()) - 1) < 0.15, (a, b)"'
check 'an archive: each file is read by the same reads, parts of it twice' 'recorded archive bin 84000 archive && as_recorded archive archive && cmp a b &&
	[ "$(field archive.json "round(d[\"access\"][\"chain_share\"] * 84000), d[\"dataset\"][\"sample_bytes\"]")" = "(102790, 84000)" ]'

mkdir places.d
for i in $(seq 10 69); do
	head -c $((20000 + i * 777)) /dev/urandom >places.d/part_$i.bin
done
check 'archives of many sizes: each is read by the same reads, to their ends' '"$IOREEL" record -q -o places.reel -- python3 job.py places.d places &&
	"$IOREEL" fit -q places.reel -o places.json && as_recorded places places && [ "$(field places.json "len(d[\"access\"][\"chain\"])")" = 5 ] &&
	grep -v "^50[0-9]:" a >a.large && grep -v "^50[0-9]:" b | cmp - a.large && [ "$(grep "^50[0-9]:" b)" = "501: 120" ]'
check 'their places are those of one sample' '! "$IOREEL" workload set places.json dataset.samples_per_file=2 >out 2>err &&
	grep -q "access.chain\[0\]: from and to_end are only of files of one sample" err'

# A header and a segment at a random place, of which one is shorter: the few bytes by which
# the mean of the others differs are no reason to read one more.
mkdir segments
for i in 0 1 2 3 4 5 6 7; do
	truncate -s $((300000 + 50000 * i)) segments/$i.wav
done
cat >segments.py <<'PY'
import os, random
import ioreel
random.seed(1)
for epoch in range(2):
    with ioreel.span("epoch", epoch):
        for step in range(20):
            with ioreel.span("step"):
                for i in random.sample(range(8), 8):
                    fd = os.open("segments/%d.wav" % i, os.O_RDONLY)
                    os.read(fd, 4096)
                    os.lseek(fd, random.randint(44, 230000), os.SEEK_SET)
                    os.read(fd, 57344 if epoch == step == i == 1 else 61440)
                    os.read(fd, 4096)
                    os.close(fd)
PY
"$IOREEL" record -q -o segments.reel -- python3 segments.py
check 'random segments: the benchmark reads their bytes, by as many reads' '"$IOREEL" fit -q segments.reel -o segments.json &&
	"$IOREEL" gen -q segments.json segments.d && "$IOREEL" run -q segments.json --data segments.d -o segments.db >out &&
	"$IOREEL" compare --json --class data segments.reel segments.db >compared && python3 -c "
import json
f = {x[\"name\"]: x for x in json.load(open(\"compared\"))[\"factors\"]}
for name in \"bytes read\", \"transfer size, mean\":
    assert abs(f[name][\"d\"]) < 0.1, (name, f[name])"'

# Lines of a file, each by an open of its own, behind one that finds where they are.
truncate -s 4000000 lines.bin
cat >lines.py <<'PY'
import os, random
import ioreel
random.seed(1)
with open("lines.bin", "rb", buffering=0) as f:
    while f.read(4096):
        pass
for epoch in range(2):
    order = random.sample(range(1000), 1000)
    with ioreel.span("epoch", epoch):
        for at in range(0, 1000, 20):
            with ioreel.span("step"):
                for i in order[at:at + 20]:
                    with open("lines.bin", "rb", buffering=0) as f:
                        f.seek(4000 * i)
                        f.read(4096)
PY
"$IOREEL" record -q -o lines.reel -- python3 lines.py
check 'lines behind a scan: the benchmark reads their bytes' '"$IOREEL" fit lines.reel -o lines.json 2>why &&
	"$IOREEL" gen -q lines.json lines.d && "$IOREEL" run --json -q lines.json --data lines.d >lines.out &&
	python3 -c "
import json
read = json.load(open(\"lines.out\"))[\"read_bytes\"]
assert 2000 * 4000 <= read <= 2000 * 4200, read"'
check 'the scan is said' 'grep -q "left out: 1 of 2001 opens, that read a file whole, 3[0-9.]* % of the bytes" why'
finish
