#!/bin/sh
# SPDX-License-Identifier: MIT
# ioreel gen, each format, plain and compressed: sizes follow their quantiles, a run that was
# killed is resumed, damaged files are made again, and 1, 2 and 4 ranks make the same bytes.
. "$(dirname "$0")/../lib/tap.sh"
python3 -c 'import json' 2>/dev/null || skip_all 'no python3'
mpi="mpirun --allow-run-as-root --oversubscribe"
cat >base.json <<'J'
{"schema": "ioreel-workload-1", "name": "t",
 "dataset": {"format": "raw", "files": 400,
             "sample_bytes": {"quantiles": [1000, 5000, 9000, 90000]}}, "epochs": 1}
J
# The sizes of samples as Python's own modules and the libraries see them; the largest
# distance of their distribution to the quantiles.
cat >distance.py <<'PY'
import bisect, glob, gzip, io, json, os, struct, sys, tarfile, zipfile
folder, format, gzipped = sys.argv[1], sys.argv[2], sys.argv[3] == "gzip"
q = json.load(open("base.json"))["dataset"]["sample_bytes"]["quantiles"]

def share(x):
    i = min(max(bisect.bisect(q, x), 1), len(q) - 1)
    return (i - 1 + min(max((x - q[i - 1]) / (q[i] - q[i - 1]), 0), 1)) / (len(q) - 1)

def distance(sizes):
    sizes = sorted(sizes)
    n = len(sizes)
    return max(max(abs(share(x) - i / n), abs(share(x) - (i + 1) / n)) for i, x in enumerate(sizes))

def npy(b):
    return len(b) - 10 - struct.unpack("<H", b[8:10])[0]

def sample(path):
    b = open(path, "rb").read()
    if b[:2] == b"\x1f\x8b":
        b = gzip.decompress(b)
    if format == "npy":
        return npy(b)
    if format == "npz":
        return npy(zipfile.ZipFile(io.BytesIO(b)).read("x.npy"))
    if format == "tfrecord":  # "size" is the last value of the record
        v = shift = 0
        for c in b[b.rindex(b"size") + 10:-4]:
            v |= (c & 127) << shift
            shift += 7
        return v
    if format == "tar":
        return tarfile.open(fileobj=io.BytesIO(b)).getmembers()[0].size
    if format == "safetensors":
        n = struct.unpack("<Q", b[:8])[0]
        return [v for k, v in json.loads(b[8:8 + n]).items() if k.startswith("sample")][0]["shape"][0]
    if format == "hdf5":
        import h5py
        with h5py.File(path) as f:
            return f["sample_00000000"].shape[0]
    if format == "parquet":
        import pyarrow.parquet as pq
        return len(pq.read_table(path)["data"][0].as_py())
    return len(b)

paths = [p for p in glob.glob(folder + "/train/*") if not p.endswith(".idx")]
assert len(paths) == 400, len(paths)
found = distance(map(sample, paths))
text = "%s: %.5f" % (format, found)
if gzipped and format not in ("hdf5",):  # sizes of the compressed files, between the same ends
    sizes = [os.path.getsize(p) for p in paths]
    most, least = max(map(sample, paths)), min(map(sample, paths))
    scale = (most - least) / (max(sizes) - min(sizes))
    packed = distance(least + (s - min(sizes)) * scale for s in sizes)
    text += ", compressed %.5f" % packed
    found = max(found, packed)
print("# distance of " + text)
assert found <= max(0.003, 1 / 400), found
PY
gen() { "$IOREEL" gen -q "$@"; }
for kind in raw indexed tfrecord npy npz hdf5 csv jpeg png tar parquet safetensors \
	tfrecord.gzip npz.gzip csv.gzip tar.gzip hdf5.gzip; do
	format=${kind%.gzip} how=plain
	set -- dataset.format=$format
	[ $kind = $format ] || { how=gzip; set -- "$@" dataset.compression=gzip dataset.compressibility=0.3; }
	rm -rf all few
	"$IOREEL" workload set base.json "$@" >w.json
	if ! gen w.json all 2>err && grep -q 'no format' err; then
		skip "$kind" 'a build without it'
		continue
	fi
	case $format in hdf5) module=h5py ;; parquet) module=pyarrow ;; *) module=json ;; esac
	if python3 -c "import $module" 2>/dev/null; then
		check "$kind: sizes follow the quantiles" "python3 distance.py all $format $how >distance"
		cat distance
	else
		skip "$kind: sizes follow the quantiles" "no $module"
	fi
	"$IOREEL" workload set w.json dataset.files=40 >few.json
	gen few.json few
	check "$kind: all files are there, and of their size" '"$IOREEL" gen few.json few | grep -q "^few: 0 files.* 40 were there$"'
	# Cut off, emptied, and, where the size is known, of one byte more.
	set -- $(ls few/train/* | grep -v idx)
	cp -r few damaged
	: >damaged/${1#few/}
	n=1
	case $kind in hdf5.gzip) ;; *) n=2; truncate -s 100 damaged/${2#few/} ;; esac
	case $kind in hdf5* | jpeg | png | parquet | safetensors) ;; *) n=3; echo >>damaged/${3#few/} ;; esac
	check "$kind: files of another size are made again" '"$IOREEL" gen few.json damaged >out &&
		grep -q "^damaged: $n files.* $((40 - n)) were there; made again, as their size was another: $n$" out && diff -r few damaged || { cat out; false; }'
	rm -rf damaged
	if command -v strace >/dev/null; then
		# At a rename in the middle: a file is complete, and has its first name.
		rm -rf killed
		strace -f -o s.txt -e trace=rename -e inject=rename:signal=SIGKILL:when=25 "$IOREEL" gen -q -j 1 few.json killed
		part=$(ls killed/train | grep -c part)
		n=$(ls killed/train | grep -vc 'part\|idx')
		check "$kind: killed in the middle, and resumed" '[ "$part" -ge 1 ] && [ "$n" -ge 5 ] && [ "$n" -lt 40 ] &&
			gen few.json killed && diff -r few killed'
	else
		skip "$kind: killed in the middle, and resumed" 'no strace'
	fi
	for n in 1 2 4; do
		[ -x "$O/ioreel-mpi" ] || continue
		check "$kind: the same bytes of $n ranks" 'rm -rf ranks; $mpi -n $n "$O/ioreel-mpi" gen -q few.json ranks 2>err && diff -r few ranks || { cat err; false; }'
	done
done
# Sizes of samples are not counted one by one before a data set that no file system holds is
# refused; and Ctrl-C ends the count of those that it may hold.
"$IOREEL" workload set base.json dataset.files=1000 dataset.samples_per_file=1000000000 >huge.json
check 'a data set of 21 PB is refused at once' '! timeout -s KILL 20 "$IOREEL" gen -q huge.json huge 2>err &&
	grep -q "needs at least .* PB in 1,000 files" err && [ ! -e huge ]'
"$IOREEL" workload set base.json dataset.files=1000000 dataset.samples_per_file=1000 \
	'dataset.sample_bytes={"quantiles": [0, 1]}' >many.json
# A shell without job control starts commands in the background with SIGINT ignored.
python3 - "$IOREEL" >stopped 2>&1 <<'PY'
import signal, subprocess, sys, time
p = subprocess.Popen([sys.argv[1], "gen", "-j", "1", "many.json", "many"], stderr=subprocess.PIPE, text=True)
while not int(open("/proc/%d/status" % p.pid).read().split("SigCgt:")[1].split()[0], 16) & 2:
    time.sleep(0.01)
time.sleep(0.5)
p.send_signal(signal.SIGINT)
try:
    print(p.communicate(timeout=10)[1].strip(), p.returncode)
except subprocess.TimeoutExpired:
    p.kill()
    print("it counts on")
PY
check 'Ctrl-C ends the count of the sizes' 'grep -q "stopped by a signal after .* 130$" stopped || { cat stopped; false; }'
# A file that is gone before it has its name, as where a second gen works in the same folder.
if command -v strace >/dev/null; then
	gen few.json lost
	path=$(ls lost/train/* | grep -v idx | head -1) # of the last format
	rm -rf lost
	strace -f -o s.txt -P "$path.part" -e trace=stat,newfstatat,statx -e inject=stat,newfstatat,statx:error=ENOENT \
		"$IOREEL" gen -q -j 1 few.json lost 2>err
	rc=$?
	check 'a file that is gone is a failure' '[ $rc = 1 ] && grep -q "cannot look at .*part" err'
else
	skip 'a file that is gone is a failure' 'no strace'
fi
rm few/train/$(ls few/train | grep -v idx | head -1) && mkdir few/train/$(ls killed/train | grep -v idx | head -1)
check 'a folder with the name of a file is none' '! "$IOREEL" gen -q few.json few 2>err && grep -q "is no file" err'
if [ -x "$O/ioreel-mpi" ]; then
	mkdir foreign
	echo x >foreign/mine
	check 'ranks agree on the exit status' 'for i in 1 2 3 4; do $mpi -n 3 "$O/ioreel-mpi" gen -q few.json foreign 2>err
		[ $? = 2 ] && grep -q "no data set of ioreel" err || { cat err; exit 1; }; done'
fi
mkdir held
check 'a second gen in the same folder is refused' '! flock held "$IOREEL" gen -q few.json held 2>err &&
	grep -q "another ioreel gen writes into .held" err && [ -z "$(ls -A held)" ] && gen few.json held && gen few.json held'
finish
