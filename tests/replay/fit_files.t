#!/bin/sh
# SPDX-License-Identifier: MIT
# Which of the files that a job reads are its data set: not the weights that it
# starts from, nor an index.
. "$(dirname "$0")/../lib/tap.sh"
command -v python3 >/dev/null || skip_all 'python3 is missing'
IOREEL_HOOKS=$TOP/preload/python
export IOREEL_HOOKS

mkdir d
for i in 0 1 2 3 4 5 6 7; do
	head -c 30000 /dev/urandom >d/$i.raw
done
head -c 9000000 /dev/zero >weights.bin
head -c 500 /dev/zero >index.bin
cp weights.bin later.bin
# job NAME: record stdin as a Python script.
job() {
	cat >"$1.py"
	"$IOREEL" record -q -o "$1.reel" -- python3 "$1.py" &&
		"$IOREEL" fit -q "$1.reel" -o "$1.json"
}
# files NAME: files of the data set, and the largest sample.
files() {
	python3 -c "import json; d = json.load(open('$1.json'))['dataset']
q = d['sample_bytes']
print(d['files'], max(q['quantiles']) if isinstance(q, dict) else q)"
}

job tuned <<'PY'
import ioreel
def read(path):
    with open(path, "rb") as f:
        return f.read()
read("weights.bin"), read("index.bin")
for epoch in range(2):
    with ioreel.span("epoch", epoch):
        for step in ioreel.steps(range(8)):
            read("d/%d.raw" % step)
            if step == 3:
                with ioreel.span("restore"):
                    read("later.bin")
PY
is 'weights and an index that are read before the loop, or restored in it' \
	"$(files tuned)" '8 30000'

"$IOREEL" gen -q tuned.json tuned.data && "$IOREEL" run -q tuned.json --data tuned.data -o tuned.db >/dev/null
# compared OPTION...: the classes, and the least read in the job.
compared() { "$IOREEL" compare --json "$@" tuned.reel tuned.db | python3 -c "import json, sys
d = json.load(sys.stdin)
print(d['classes'], [f['a'] for f in d['factors'] if f['name'] == 'files'])"; }
is 'a job and its benchmark are compared by data and checkpoints' "$(compared)" "$(compared --class data,checkpoint)"
check 'compare says so' '"$IOREEL" compare tuned.reel tuned.db | grep -q "^Of a job and a benchmark"'
check 'or by all calls' '! "$IOREEL" compare --class all tuned.reel tuned.db | grep "^Of a job" &&
	compared --class all | grep "^None"'

# Another program, as a compiler, reads files of the same kind.
job compiled <<'PY'
import ioreel, subprocess
for step in ioreel.steps(range(8)):
    open("d/%d.raw" % step, "rb").read()
    if step == 2:
        subprocess.check_call(["/bin/sh", "-c", "cat weights.bin index.bin later.bin >/dev/null"])
PY
is 'what another program reads is no part of it' "$(files compiled)" '8 30000'

# Another thread reads ahead of the loop.
job ahead <<'PY'
import ioreel, threading, time
def read(path):
    with open(path, "rb") as f:
        return f.read()
def ahead():
    for i in range(8):
        read("d/%d.raw" % i)
        if i == 3:
            two.set()
        time.sleep(0.01)
two = threading.Event()
reader = threading.Thread(target=ahead)
read("weights.bin")
reader.start()
two.wait()
for step in ioreel.steps(range(8)):
    time.sleep(0.01)
reader.join()
PY
is 'files that another thread reads ahead belong to it' "$(files ahead)" '8 30000'

job cached <<'PY'
import ioreel
for i in range(8):
    with open("d/%d.raw" % i, "rb") as f:
        f.read()
for step in ioreel.steps(range(8)):
    pass
PY
is 'files that are all read before the loop' "$(files cached)" '8 30000'

# Features and labels in files of their own: a sample of the job is two of the benchmark.
mkdir pairs
for i in 0 1 2 3 4 5 6 7; do
	head -c 3128 /dev/urandom >pairs/y$i.npy
	cp d/$i.raw pairs/x$i.npy
done
job paired <<'PY'
import ioreel
for step in ioreel.steps(range(8)):
    for part in "xy":
        with open("pairs/%s%d.npy" % (part, step), "rb") as f:
            f.read()
PY
check 'samples of two sizes, as many of each: fit says so' \
	'grep -A2 "\"dataset.sample_bytes\"" paired.json | grep -q "samples of 2 sizes, as many of each.*it counts as 2"'

# A folder makes checkpoints of the files in it, which fit cannot take for data.
mkdir ckpt_data
cp d/*.raw ckpt_data
cat >folder.py <<'PY'
import ioreel, sys
for epoch in range(2):
    with ioreel.span("epoch", epoch):
        for step in ioreel.steps(range(8)):
            open("ckpt_data/%d.raw" % step, "rb").read()
            if len(sys.argv) > 1:
                open("train.log", "rb").read()
PY
echo started >train.log
# refused NAME ARG...: the words of fit on a recording of folder.py.
refused() {
	"$IOREEL" record -q -o $1.reel -- python3 folder.py $2
	"$IOREEL" fit -q $1.reel -o $1.json 2>&1
}
is 'files of another class are named' "$(refused folder)" \
	'ioreel fit: no file of the job was read as data: 8 files were read, which have the class checkpoint by their names'
is 'of two classes' "$(refused folder2 log)" \
	'ioreel fit: no file of the job was read as data: 9 files were read, which have the classes checkpoint (8), log (1) by their names'

for i in 0 1 2 3 4 5 6 7; do
	cp d/$i.raw ckpt_data/$i.jpg
done
job images <<'PY'
import ioreel
for step in ioreel.steps(range(8)):
    open("ckpt_data/%d.jpg" % step, "rb").read()
open("ckpt_data/plot.png", "wb").write(bytes(1000))
PY
is 'images that are only read are data in any folder' "$(files images)
$("$IOREEL" sql images.reel --format tsv "SELECT count(*) FROM v_file WHERE class = 'checkpoint' AND write_bytes > 0" | tail -1)" \
	'8 30000
1'

# Names of files are not part of the benchmark: fit says so where they are many.
cat >names.py <<'PY'
import ioreel, os, sys
def look():
    for name in os.listdir("d"):
        for i in range(20):
            os.stat("d/" + name)
marked, each = sys.argv[1] == "marked", sys.argv[2] == "each"
if not each:
    look()
for epoch in range(3):
    if marked:
        with ioreel.span("epoch", epoch):
            each and look()
            for step in ioreel.steps(range(8)):
                open("d/%d.raw" % step, "rb").read()
    else:
        each and epoch and look()
        for step in ioreel.steps(range(8)):
            open("d/%d.raw" % step, "rb").read()
PY
# left_out MARKED WHEN: the reason of fit on a recording of names.py.
left_out() {
	"$IOREEL" record -q -o $1.$2.reel -- python3 names.py $1 $2
	"$IOREEL" fit $1.$2.reel -o names.json 2>&1 | sed -n 's/^access .*left out: //p' | sed 's/, [0-9]* %.*//'
}
is 'names that are looked at in each epoch' "$(left_out marked each)" \
	'160 stat and 1 list calls per epoch on names of the data set'
is 'of epochs that are not marked: between them' "$(left_out plain each)" \
	'107 stat and 1 list calls per epoch on names of the data set'
is 'names that are looked at once, before the first epoch' "$(left_out marked once)$(left_out plain once)" ''

# One marked epoch: each file three times, one time after another or in any order.
for order in passes mixed; do
	job $order <<PY
import ioreel, random
random.seed(5)
def order(passes):
    return random.sample([i for i in range(8) for _ in range(passes)], 8 * passes)
def read(i):
    with open("d/%d.raw" % i, "rb") as f:
        f.read()
with ioreel.span("epoch", 0):
    for step in ioreel.steps(sum((order(1) for _ in range(3)), []) if "$order" == "passes" else order(3)):
        read(step)
PY
done
# epochs NAME: epochs, samples of a file, and how often an epoch reads them.
epochs() { python3 -c "import json; d = json.load(open('$1.json')); print(d['epochs'], d['dataset']['samples_per_file'], d['pipeline']['repeats'])"; }
is 'three passes over the files are three epochs' "$(epochs passes)" '3 1 1'
is 'files that are read whole again in any order repeat' "$(epochs mixed)" '1 1 3'

# Samples of several members, with headers of PAX, as webdataset writes them.
python3 - <<'PY'
import io, os, tarfile
os.mkdir("shards")
for shard in range(2):
    with tarfile.open("shards/%d.tar" % shard, "w", format=tarfile.PAX_FORMAT) as tar:
        for i in range(40):
            for suffix, size in ("jpg", 9000 + 100 * i), ("json", 300), ("cls", 1):
                member = tarfile.TarInfo("%03d.%s" % (i, suffix))
                member.size, member.mtime = size, 1.5
                tar.addfile(member, io.BytesIO(bytes(size)))
PY
job shards <<'PY'
import ioreel
for step in ioreel.steps(range(2)):
    with open("shards/%d.tar" % step, "rb") as f:
        f.read()
PY
"$IOREEL" gen -q shards.json shards.data
# bytes FOLDER: the sizes of the archives in it.
bytes() { find "$1" -name '*.tar' -printf '%s\n' | sort; }
is 'archives of samples of several members are as large' "$(bytes shards.data)" "$(bytes shards)"

# A segment of each recording at a random place behind its header, and the headers of
# pictures: the benchmark reads as much, not whole files.
mkdir segments headers
for i in $(seq 10 41); do
	head -c $((100000 + 1000 * i)) /dev/urandom | tee segments/$i.raw >headers/$i.jpg
done
for part in segments headers; do
	job $part <<PY
import ioreel, os, random
random.seed(4)
names = sorted(os.listdir("$part"))
for epoch in range(2):
    order = random.sample(names, len(names))
    with ioreel.span("epoch", epoch):
        for at in range(0, 32, 4):
            with ioreel.span("step"):
                with ioreel.span("fetch"), ioreel.span("preprocess"):
                    for name in order[at:at + 4]:
                        fd = os.open("$part/" + name, os.O_RDONLY)
                        os.read(fd, 4096)
                        if "$part" == "segments":
                            os.lseek(fd, random.randrange(20000, 80000), os.SEEK_SET)
                            os.read(fd, 4096)
                            os.read(fd, 16384)
                        os.close(fd)
PY
	"$IOREEL" gen -q $part.json $part.data
	"$IOREEL" run -q $part.json --data $part.data --json >run.json
	read_bytes() { python3 -c "import json; print(round(json.load(open('run.json'))['read_bytes'] / $1, 1))"; }
	case $part in segments) all=$((64 * 24576)) ;; *) all=$((64 * 4096)) ;; esac
	is "$part of files: the bytes that the job reads" "$(read_bytes $all)" 1.0
done

# One archive of many samples, opened once in an epoch by each of two readers.
head -c 4000000 /dev/urandom >archive.zip
job archive <<'PY'
import ioreel, os, random
random.seed(4)
for epoch in range(2):
    files = [os.open("archive.zip", os.O_RDONLY) for _ in range(2)]
    with ioreel.span("epoch", epoch):
        for step in range(20):
            with ioreel.span("step"):
                with ioreel.span("fetch"), ioreel.span("preprocess"):
                    for i in range(4):
                        os.pread(files[step % 2], random.randrange(20000, 60000), random.randrange(3900000))
    for fd in files:
        os.close(fd)
PY
steps() { python3 -c "import json; d = json.load(open('$1.json')); print(d['dataset']['files'] * d['dataset']['samples_per_file'] / d['pipeline']['batch'])"; }
is 'a file of which each step reads a part: its steps' "$(steps archive)" 20.0

mkdir -p z/c
printf '{"zarr_format": 3}' >z/zarr.json
for i in 0 1 2 3 4 5 6 7; do cp d/$i.raw z/c/0.$i; done
job described <<'PY'
def read(path):
    with open(path, "rb") as f:
        return f.read()
for epoch in range(2):
    for i in range(8):
        read("z/zarr.json"), read("z/c/0.%d" % i)
PY
is 'a small file that describes the others is no sample' "$(files described)" '8 30000'
job two_kinds <<'PY'
import ioreel
for epoch in range(2):
    for i in range(8):
        open("d/%d.raw" % i, "rb").read()
        if i % 4 == 0:
            open("z/c/0.%d" % i, "rb").read()
PY
is 'two kinds of files are' "$(files two_kinds)" '10 30000'

# Files of a format that the job reads at once, and decodes in memory.
mkdir p
for i in 0 1 2 3 4 5 6 7; do
	head -c $((300000 + i * 7777)) /dev/urandom >p/$i.parquet
	head -c 30000 /dev/urandom >p/small_$i.safetensors
done
for kind in 'whole p/%d.parquet' 'small p/small_%d.safetensors'; do
	set -- $kind
	job $1 <<PY
import ioreel
for epoch in range(2):
    with ioreel.span("epoch", epoch):
        for step in ioreel.steps(range(8)):
            open("$2" % step, "rb").read()
PY
done
is 'files that are read whole: the benchmark needs no format' \
	"$(python3 -c "import json; print(json.load(open('whole.json'))['dataset']['format'])")" raw
"$IOREEL" gen -q whole.json whole.data
"$IOREEL" run -q whole.json --data whole.data -o whole.db >out
"$IOREEL" compare --json --class data whole.reel whole.db >compared
check 'files that are read whole: their bytes, by reads of their sizes' 'python3 -c "
import json
f = {x[\"name\"]: x for x in json.load(open(\"compared\"))[\"factors\"]}
for name in \"bytes read\", \"transfer size, mean\", \"transfer size, min\", \"transfer size, max\":
    assert abs(f[name][\"d\"]) < 0.001, (name, f[name])"'
is 'small ones may be in a buffer of their reader' \
	"$(python3 -c "import json; print(json.load(open('small.json'))['dataset']['format'])")" safetensors
finish
