#!/bin/sh
# SPDX-License-Identifier: MIT
# Defects that were measured in DLIO (argonne-lcf/dlio_benchmark, 2.0.0 to e1919d7):
# each is absent here. A title names the defect.
. "$(dirname "$0")/../lib/tap.sh"
python3 -c 'import json' 2>/dev/null || skip_all 'no python3'

w() { "$IOREEL" workload "$@"; }
field() { python3 -c "import json; d = json.load(open('$1')); print(($2))"; }
bytes_of() { find "$1" -name '*_of_*' -type f -exec cat {} + | wc -c; }
mpi="mpirun --allow-run-as-root --oversubscribe"
cat >w.json <<'J'
{"schema": "ioreel-workload-1", "name": "t",
 "dataset": {"format": "raw", "files": 10, "samples_per_file": 6, "sample_bytes": 9000},
 "pipeline": {"batch": 4}, "epochs": 3}
J
# made FOLDER SETTING...: its workload FOLDER.json and data set. False: this build
# has no such format.
made() {
	made_to=$1
	shift
	w set w.json "$@" >$made_to.json || return 1
	"$IOREEL" gen -q $made_to.json $made_to 2>$made_to.err
}
# with_format TITLE FORMAT SETTINGS COMMAND: the check, skipped without the format.
with_format() {
	rm -rf ds
	if made ds dataset.format=$2 $3; then
		check "$1" "$4"
	elif grep -q "no format" ds.err; then
		skip "$1" "this build has no format $2"
	else
		check "$1" 'cat ds.err; false'
	fi
}
strace_ok=
command -v strace >/dev/null && strace -o s true 2>/dev/null && strace_ok=1

# --- data set -----------------------------------------------------------------
printf 'dataset: {format: npz, num_files_train: 1000, record_length_bytes: 40000, record_length_bytes_stdev: 10000}\n' >n.yaml
check 'sizes have 0.71 of the standard deviation that was asked for' 'w import n.yaml -o n.json 2>/dev/null &&
	w set n.json dataset.format=raw >m.json && "$IOREEL" gen -q m.json norm && python3 -c "
import glob, os, statistics
s = [os.path.getsize(f) for f in glob.glob(\"norm/train/*\")]
assert len(s) == 1000 and abs(statistics.pstdev(s) / 10000 - 1) < 0.02, statistics.pstdev(s)
assert abs(statistics.mean(s) / 40000 - 1) < 0.01"'
with_format 'all samples of a file have one size' tfrecord 'dataset.sample_bytes={"quantiles":[100,5000,90000]} dataset.files=1 dataset.samples_per_file=50' \
	'python3 -c "
import glob, struct
b = open([f for f in glob.glob(\"ds/train/*\") if \"_of_\" in f and not f.endswith(\"idx\")][0], \"rb\").read()
sizes, at = set(), 0
while at < len(b):
    n = struct.unpack_from(\"<Q\", b, at)[0]
    sizes.add(n); at += n + 16
assert len(sizes) > 40, len(sizes)"'
with_format 'npz is stored although compression is set' npz 'dataset.compression=gzip dataset.compressibility=0.9 dataset.sample_bytes=262144' \
	'python3 -c "
import glob, zipfile
for p in glob.glob(\"ds/train/*_of_*\"):
    for m in zipfile.ZipFile(p).infolist():
        assert m.compress_type == zipfile.ZIP_DEFLATED and (m.file_size < 9999 or m.compress_size < m.file_size / 8), m"'
check 'DLIO'"'"'s own npz is imported as it is: stored' 'printf "dataset: {format: npz, compression: gzip}\n" >z.yaml && w import z.yaml 2>&1 >/dev/null | grep -q "dataset.compression: not imported"'
if python3 -c 'import h5py' 2>/dev/null; then
	with_format 'compression is set and not applied' hdf5 'dataset.compression=gzip dataset.compressibility=0.9 dataset.sample_bytes=262144 dataset.samples_per_file=1 dataset.chunk_bytes=65536' \
		'python3 -c "
import glob, h5py
for p in glob.glob(\"ds/train/*_of_*\"):
    with h5py.File(p) as f:
        found = []
        f.visititems(lambda n, o: found.append(o.compression) if isinstance(o, h5py.Dataset) else None)
        assert \"gzip\" in found, found"'
else
	skip 'compression is set and not applied' 'no h5py'
fi
check 'data differs each time it is made' 'made a1 epochs=3 && made a2 epochs=3 && diff -r a1 a2'
check 'data cannot be compressed, whatever the job had' 'made half dataset.compressibility=0.5 dataset.sample_bytes=400000 &&
	n=$(cat half/train/* | gzip -1 | wc -c) && all=$(bytes_of half) && [ $((n * 100 / all)) -lt 60 ]'
with_format 'the keys of chunks do nothing' hdf5 'dataset.sample_bytes=262144 dataset.samples_per_file=1 pipeline.batch=1' \
	'"$IOREEL" run -q --json ds.json --data ds >r1.json && made chunked dataset.format=hdf5 dataset.sample_bytes=262144 dataset.samples_per_file=1 pipeline.batch=1 dataset.chunk_bytes=16384 &&
	"$IOREEL" run -q --json chunked.json --data chunked >r2.json && [ "$(field r2.json "d[\"read_calls\"]")" -gt "$(field r1.json "d[\"read_calls\"] + 100")" ]'
with_format 'compression "none" breaks HDF5' hdf5 'dataset.compression=none' '"$IOREEL" run -q --json ds.json --data ds >r.json && [ "$(field r.json "d[\"samples\"]")" = 180 ]'

# --- reads --------------------------------------------------------------------
for format in raw npz tfrecord hdf5; do
	with_format "$format: a file is opened and read once for each of its samples" $format '' \
		'"$IOREEL" run -q --json ds.json --data ds >r.json && [ "$(field r.json "d[\"samples\"]")" = 180 ] &&
		[ "$(field r.json "d[\"read_bytes\"]")" -lt $(($(bytes_of ds) * 3 * 3 / 2)) ]'
done
with_format 'csv: the whole file is read for each sample' csv 'dataset.sample_bytes=20000' \
	'"$IOREEL" run -q --json ds.json --data ds >r.json && [ "$(field r.json "d[\"samples\"]")" = 180 ] &&
	[ "$(field r.json "d[\"read_bytes\"]")" -lt $(($(bytes_of ds) * 3 * 3 / 2)) ]'
printf 'dataset: {format: mmap_indexed_binary, num_files_train: 4, num_samples_per_file: 8, record_length_bytes: 50000}\n' >mm.yaml
check 'mapped files: no byte is read' 'w import mm.yaml -o mm.json 2>notes && grep -q "reads none of their data" notes &&
	if "$IOREEL" gen -q mm.json mm 2>err; then
		"$IOREEL" run -q --json mm.json --data mm >r.json && [ "$(field r.json "d[\"read_bytes\"] >= 4 * 8 * 50000")" = True ]
	else grep -q "no format" err; fi'

# --- order --------------------------------------------------------------------
made order dataset.samples_per_file=1 dataset.files=20 pipeline.order=shuffle pipeline.batch=2
check 'a shuffle has no effect' '"$IOREEL" run -q --json order.json --data order >r.json && "$IOREEL" run -q --json order.json --data order --set pipeline.order=sequential >s.json &&
	[ "$(field r.json "len({e[\"order\"] for e in d[\"epochs\"]} | {e[\"order\"] for e in json.load(open(\"s.json\"))[\"epochs\"]})")" = 4 ]'
check 'a sample is read twice, or never, in an epoch' '"$IOREEL" run -q --json order.json --data order --set pipeline.readers=3 >r.json &&
	[ "$(field r.json "[(e[\"samples\"], e[\"checksum\"]) for e in d[\"epochs\"]] == [(20, d[\"epochs\"][0][\"checksum\"])] * 3")" = True ] &&
	[ "$(field r.json "d[\"epochs\"][0][\"checksum\"] == json.load(open(\"s.json\"))[\"epochs\"][0][\"checksum\"]")" = True ]'
title='a rank reads the same samples in every epoch'
if [ -x "$O/ioreel-mpi" ] && [ -n "$strace_ok" ]; then
	check "$title" '$mpi -n 2 sh -c "exec strace -f -e trace=openat -o trace.\$OMPI_COMM_WORLD_RANK \"$O/ioreel-mpi\" run -q order.json --data order" >/dev/null 2>err
		python3 -c "
import re
epochs = {}
for rank in 0, 1:
    f = re.findall(r\"_(\d+)_of_\", open(\"trace.%d\" % rank).read())
    assert len(f) == 30, len(f)
    epochs[rank] = [frozenset(f[i:i + 10]) for i in (0, 10, 20)]
    assert len(set(epochs[rank])) == 3, \"the same part\"
assert all(len(a | b) == 20 for a, b in zip(*epochs.values())), \"not all\"" || { cat err; false; }'
else
	skip "$title" 'no MPI or no strace'
fi

# --- steps --------------------------------------------------------------------
check 'files are trimmed to none: exit 0 and a negative rate' 'made many dataset.files=64 dataset.samples_per_file=16 dataset.sample_bytes=100 pipeline.batch=8 epochs=1 &&
	"$IOREEL" run -q --json many.json --data many >r.json && [ "$(field r.json "d[\"steps\"], d[\"samples\"], d[\"samples_per_s\"] > 0")" = "(128, 1024, True)" ]'
check 'the last batch is dropped, and not said' '"$IOREEL" run -q --json w.json --data a1 --set pipeline.batch=7 >r.json && [ "$(field r.json "d[\"samples\"], d[\"steps\"]")" = "(180, 27)" ] &&
	"$IOREEL" run -q --json w.json --data a1 --set pipeline.batch=7 --set pipeline.drop_last=true >r.json && [ "$(field r.json "d[\"samples\"], d[\"steps\"]")" = "(168, 24)" ]'
check 'the rate leaves two steps out of the samples, not of the time' '"$IOREEL" run -q --json w.json --data a1 --set pipeline.batch=45 --set compute.step_ns=5000000 >r.json &&
	[ "$(field r.json "d[\"steps\"] == 6 and abs(d[\"samples_per_s\"] * d[\"wall_s\"] / 180 - 1) < 1e-6")" = True ]'

# --- figures ------------------------------------------------------------------
title='bytes are computed from the configuration, calls are not counted'
if [ -n "$strace_ok" ]; then
	check "$title" 'made sizes "dataset.sample_bytes={\"quantiles\":[10,20000,70000]}" && strace -f -y -e trace=read,pread64 -o s "$IOREEL" run -q --json sizes.json --data sizes >r.json &&
		python3 -c "
import json, re
d = json.load(open(\"r.json\"))
calls = [int(m) for m in re.findall(r\"p?read(?:64)?\(\d+<[^>]*_of_[^>]*>.* = (\d+)\n\", open(\"s\").read())]
assert (len(calls), sum(calls)) == (d[\"read_calls\"], d[\"read_bytes\"]), (len(calls), sum(calls), d[\"read_calls\"], d[\"read_bytes\"])"'
else
	skip "$title" 'no strace'
fi
check 'a rate in bytes where no file is read' '"$IOREEL" run -q --json w.json --null >r.json && [ "$(field r.json "d[\"read_bytes\"], d[\"read_calls\"], d[\"samples\"]")" = "(0, 0, 180)" ]'
check 'a data set in memory passes as fast storage' '"$IOREEL" run -q --json w.json --data a1 --set cache=warm >r.json && [ "$(field r.json "d[\"cache_share\"] > 0.99")" = True ] &&
	"$IOREEL" run -q w.json --data a1 --set cache=warm | grep -q "measured the memory"'
title='the barrier counts as storage'
if [ -x "$O/ioreel-mpi" ]; then
	check "$title" '$mpi -n 2 "$O/ioreel-mpi" run -q --json w.json --null --set compute.step_ns=2000000 >r.json 2>err &&
		[ "$(field r.json "d[\"time\"][\"barrier_s\"] > 0, d[\"time\"][\"storage_s\"] < d[\"time\"][\"barrier_s\"], d[\"au_percent\"] >= d[\"au_with_barrier_percent\"]")" = "(True, True, True)" ]'
else
	skip "$title" 'no MPI'
fi

# --- checkpoints, keys --------------------------------------------------------
printf 'model: {name: m, model_size: 2000000}\nworkflow: {train: False, checkpoint: True}\ncheckpoint: {fsync: True, num_checkpoints_write: 3, num_checkpoints_read: 3}\n' >c.yaml
check 'a checkpoint of another key has 10,240 bytes' 'w import c.yaml -o c.json 2>/dev/null && "$IOREEL" run -q --json c.json --data . --checkpoints ck >r.json &&
	[ "$(field r.json "d[\"write_bytes\"], d[\"read_bytes\"]")" = "(6000000, 6000000)" ] && [ "$(cat ck/* | wc -c)" = 6000000 ]'
if [ -n "$strace_ok" ]; then
	check 'fsync is set and never made' 'strace -f -e trace=fsync,fdatasync -o s "$IOREEL" run -q c.json --data . --checkpoints ck >/dev/null && [ "$(grep -c "^[0-9 ]*f.*sync(.*= 0" s)" = 3 ]'
else
	skip 'fsync is set and never made' 'no strace'
fi
check 'an unknown key is ignored' 'printf "%s" "{\"schema\": \"ioreel-workload-1\", \"name\": \"t\", \"dataset\": {\"sample_bytes\": 1, \"record_length\": 5}}" >bad.json
	w check bad.json 2>err; [ $? = 1 ] && grep -q "dataset.record_length: no such key" err'
finish
