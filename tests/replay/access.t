#!/bin/sh
# SPDX-License-Identifier: MIT
# The keys of access: a chain of reads, MPI-IO alone and together, O_DIRECT, the size
# of a transfer. The calls are those that the keys ask for, and each sample is read
# once an epoch.
. "$(dirname "$0")/../lib/tap.sh"
python3 -c 'import json' 2>/dev/null || skip_all 'no python3'

w() { "$IOREEL" workload "$@"; }
cat >base.json <<'J'
{"schema": "ioreel-workload-1", "name": "t",
 "dataset": {"format": "raw", "files": 10, "samples_per_file": 6,
             "sample_bytes": {"quantiles": [100, 5000, 90000]}},
 "pipeline": {"batch": 4, "order": "shuffle"}, "epochs": 2}
J
field() { python3 -c "import json; d = json.load(open('$1')); print(($2))"; }
mpi="mpirun --allow-run-as-root --oversubscribe"
strace_ok=
command -v strace >/dev/null && strace -o s true 2>/dev/null && strace_ok=1
direct_ok=
dd if=/dev/zero of=block bs=4096 count=1 2>/dev/null
dd if=block of=/dev/null bs=4096 iflag=direct 2>/dev/null && [ "$(stat -f -c %T .)" != tmpfs ] && direct_ok=1
"$IOREEL" gen -q base.json ds.raw
"$IOREEL" run -q base.json --data ds.raw --json >r.json
SUM=$(field r.json 'd["epochs"][0]["checksum"]')
BYTES=$(cat ds.raw/train/* | wc -c)

# made FORMAT: its data set and workload. False: this build has no such format.
made() {
	w set base.json dataset.format=$1 >$1.json
	[ -e ds.$1 ] || "$IOREEL" gen -q $1.json ds.$1 2>gen.err
}
# each_sample JSON: each sample, twice; the checksum is that of the raw format.
each_sample() {
	[ "$(field $1 '[(e["samples"], e["checksum"]) for e in d["epochs"]]')" = "[(60, '$SUM'), (60, '$SUM')]" ]
}
# calls: "SIZE OFFSET" of each pread64 of a file of the data set in s.txt; the other
# calls that read such a file by their names.
cat >calls.py <<'P'
import re
for line in open("s.txt"):
    m = re.match(r"(?:\d+ +)?(\w+)\(\d+<[^>]*_of_[^>]*>(.*)", line)
    if m and m[1] == "pread64":
        print(*re.search(r", (\d+), (\d+)\) = \d+", line).groups())
    elif m and m[1] in ("read", "readv", "preadv"):
        print(m[1])
P
traced() { strace -f -y -e trace=read,readv,pread64,preadv,mmap -o s.txt "$@" >/dev/null; }

# --- O_DIRECT, transfer size --------------------------------------------------
for format in raw indexed tfrecord npy npz hdf5 csv tar parquet; do
	made $format || {
		skip "$format" 'this build has no such format'
		continue
	}
	check "$format: access.transfer_bytes splits the reads" 'for n in 0 2; do
			"$IOREEL" run -q $format.json --data ds.$format --json --set access.transfer_bytes=5000 --set pipeline.readers=$n >r.json && each_sample r.json || exit 1; done
		[ -z "$strace_ok" ] || { strace -f -y -e trace=read,pread64 -o s.txt "$IOREEL" run -q $format.json --data ds.$format --set access.transfer_bytes=5000 >/dev/null &&
		python3 -c "
import re
asked = [int(re.search(r\", (\d+)(?:, \d+)?\) = \d+\", l)[1]) for l in open(\"s.txt\") if \"_of_\" in l]
assert asked and max(asked) == 5000, max(asked)"; }'
	[ -n "$direct_ok" ] || {
		skip "$format: access.direct" 'no O_DIRECT here'
		continue
	}
	check "$format: access.direct, each sample" 'for how in readers=0 readers=2 "readers=2 --set pipeline.unit=thread" "readers=0 --set access.transfer_bytes=8192"; do
			"$IOREEL" run -q $format.json --data ds.$format --json --set access.direct=true --set pipeline.$how >r.json && each_sample r.json || exit 1; done'
	[ -n "$strace_ok" ] || continue
	check "$format: access.direct: every read is of whole blocks" 'traced "$IOREEL" run -q $format.json --data ds.$format --set access.direct=true --set access.transfer_bytes=8192 &&
		python3 calls.py >calls && [ -s calls ] && python3 -c "
for line in open(\"calls\"):
    size, offset = map(int, line.split())
    assert size % 4096 == 0 and offset % 4096 == 0 and 0 < size <= 8192, line"'
done
check 'jpeg, png: access.direct' 'for format in jpeg png; do
		w set base.json dataset.format=$format dataset.samples_per_file=1 dataset.sample_bytes=20000 >$format.json
		"$IOREEL" gen -q $format.json ds.$format 2>err || { grep -q "no format" err; continue; }
		[ -n "$direct_ok" ] || continue
		"$IOREEL" run -q $format.json --data ds.$format --json --set access.direct=true >r.json &&
		[ "$(field r.json "[e[\"samples\"] for e in d[\"epochs\"]]")" = "[10, 10]" ] || exit 1; done'
if [ -n "$direct_ok" ] && [ -n "$strace_ok" ]; then
	check 'raw, access.direct: the block around each sample' 'w set base.json dataset.sample_bytes=10000 dataset.files=1 pipeline.order=sequential epochs=1 >one.json &&
		"$IOREEL" gen -q one.json one && traced "$IOREEL" run -q one.json --data one --set access.direct=true && python3 calls.py >calls &&
		printf "12288 0\n12288 8192\n16384 16384\n12288 28672\n16384 36864\n12288 49152\n" | cmp - calls'
fi
# refused TITLE KEY FORMAT SETTING...: exit 2, and one line that begins with the key.
refused() {
	title=$1
	key=$2
	to=$3
	shift 3
	made $to || { skip "$title" 'this build has no such format'; return; }
	for s; do set -- "$@" --set "$s"; shift; done
	"$IOREEL" run -q $to.json --data ds.$to "$@" >/dev/null 2>err
	is "$title" "$? $(sed -n "1s/^ioreel run: \([a-z_.]*\): .*/\1/p" err)" "2 $key"
}
refused 'mapped files: no O_DIRECT' access.direct safetensors access.direct=true
refused 'mapped files: no transfer size' access.transfer_bytes safetensors access.transfer_bytes=8192
refused 'a transfer that is smaller than the buffer of the reader' access.transfer_bytes npz access.transfer_bytes=1000
check 'a transfer that is no block of O_DIRECT' 'w set base.json access.direct=true access.transfer_bytes=6144 2>err; [ $? = 1 ] && grep -q "access.transfer_bytes: 6144 is no multiple of 4096" err'
if [ "$(stat -f -c %T /dev/shm 2>/dev/null)" = tmpfs ] && shm=$(mktemp -d /dev/shm/ioreel-test.XXXXXX); then
	cp -r ds.raw "$shm/ds"
	check 'tmpfs has no O_DIRECT' '"$IOREEL" run -q raw.json --data "$shm/ds" --set access.direct=true 2>err; [ $? = 2 ] && grep -q "^ioreel run: access.direct: .*without O_DIRECT" err'
	rm -rf "$shm"
else
	skip 'tmpfs has no O_DIRECT' 'no tmpfs'
fi

# --- a chain ------------------------------------------------------------------
chain='access.chain=[{"bytes": 1000, "stride": 0, "next": [0.5, 0.5, 0]}, {"bytes": 5000, "stride": -2000, "next": [0.2, 0.3, 0.5]}, {"bytes": 0, "next": [1, 0, 0]}]'
for format in raw tfrecord; do
	made $format
	for n in 0 3; do
		check "$format, $n readers: a chain, each sample" '"$IOREEL" run -q $format.json --data ds.$format --json --set "$chain" --set pipeline.readers=$n >r.json && each_sample r.json &&
			[ "$(field r.json "2 * $BYTES <= d[\"read_bytes\"] < 2.5 * $BYTES")" = True ]'
	done
done
if [ -n "$strace_ok" ]; then
	w set base.json "$chain" pipeline.order=sequential epochs=2 dataset.files=1 dataset.samples_per_file=400 dataset.sample_bytes=1000 >c.json
	"$IOREEL" gen -q c.json c
	run_chain() { traced "$IOREEL" run -q c.json --data c "$@" && python3 calls.py; }
	check 'a chain: sizes, strides and shares of its states' 'run_chain >calls && python3 -c "
calls = [tuple(map(int, l.split())) for l in open(\"calls\")]
size, end, was, pairs = 400000, None, None, {}
for n, at in calls:
    assert at + n <= size or (n, at) == (1, size), (n, at)
    state = {1000: 0, 5000: 1, 1: 2}.get(n)
    if at == 0 and was is None or state is None: # the first, and one cut at the end
        end, was = at + n, state
        continue
    if state != 2 and end is not None:
        stride = (at - end) % size
        assert stride == {0: 0, 1: size - 2000}[state] or at == 0, (n, at, end)
    if was is not None:
        pairs.setdefault(was, []).append(state)
    was = state
    end = end if state == 2 else at + n
share = lambda a, b: pairs[a].count(b) / len(pairs[a])
assert len(calls) > 300 and 2 not in pairs[0] and set(pairs[2]) == {0}
assert abs(share(0, 1) - 0.5) < 0.12 and abs(share(1, 2) - 0.5) < 0.12, (share(0, 1), share(1, 2))"'
	check 'a chain: the same for the same seed, another in each epoch' 'run_chain >calls && run_chain | cmp - calls && ! run_chain --set pipeline.seed=7 | cmp - calls &&
		[ "$(head -n 200 calls | cksum)" != "$(tail -n 200 calls | cksum)" ] &&
		at=$(awk "\$2 == 0 { n = NR } END { print n }" calls) && [ "$at" -gt 1 ] && head -n 50 calls >a && tail -n +"$at" calls | head -n 50 >b && ! cmp a b'
	check 'a chain: access.transfer_bytes splits its reads' 'run_chain --set access.transfer_bytes=2048 >calls && awk "\$1 > 2048 { bad = 1 } END { exit bad }" calls &&
		grep -q "^2048 " calls && grep -q "^904 " calls'
fi
check 'a chain that would not end' 'w set base.json "access.chain=[{\"bytes\": 5, \"next\": [0.5, 0.5]}, {\"bytes\": 0, \"next\": [0, 1]}]" 2>err; [ $? = 1 ] && grep -q "access.chain\[1\]: it and the states after it read no bytes" err'
check 'a chain in an empty file' 'cp -r ds.raw empty && : >empty/train/sample_00000003_of_00000010.bin
	"$IOREEL" run -q raw.json --data empty --set "$chain" 2>err; [ $? = 1 ] && grep -q "shorter than it was made" err && [ "$(grep -c "" err)" = 1 ]'

# The headers of a tar are read with its samples: the job's reader goes to the end.
w set base.json dataset.format=tar dataset.files=2 dataset.samples_per_file=40 dataset.sample_bytes=3000 epochs=1 pipeline.order=sequential \
	'access.chain=[{"bytes": 10240, "stride": 0, "next": [1]}]' >tar.json
"$IOREEL" gen -q tar.json tar.data
check 'a chain without a seek reads the whole file' '"$IOREEL" run -q tar.json --data tar.data --json >r.json'
is 'as many bytes as the files have' "$(field r.json 'd["read_bytes"]')" "$(cat tar.data/train/*.tar | wc -c)"

# --- MPI-IO -------------------------------------------------------------------
check 'MPI-IO without MPI' '"$IOREEL" run -q raw.json --data ds.raw --set access.api=mpiio 2>err; [ $? = 2 ] && grep -q "^ioreel run: access.api: .*ioreel-mpi run" err'
[ -x "$O/ioreel-mpi" ] || finish
# ranks N FORMAT SETTING...: a run; it must not hang.
ranks() {
	n=$1
	to=$2
	shift 2
	for s; do set -- "$@" --set "$s"; shift; done
	timeout -k 5 120 $mpi -n $n "$O/ioreel-mpi" run -q $to.json --data ds.$to --json "$@" >r.json 2>err || { cat err; false; }
}
for n in 1 2 4; do
	for format in raw $([ $n = 2 ] && echo indexed npy hdf5); do
		made $format || continue
		check "$n ranks, $format: independent reads" 'ranks $n $format access.api=mpiio && each_sample r.json'
		check "$n ranks, $format: collective reads" 'ranks $n $format access.api=mpiio access.collective=true && each_sample r.json'
	done
	check "$n ranks: independent reads of threads" 'ranks $n raw access.api=mpiio pipeline.readers=2 pipeline.unit=thread && each_sample r.json'
	check "$n ranks: unequal shares and parts do not hang" 'ranks $n raw access.api=mpiio access.collective=true pipeline.batch=7 access.transfer_bytes=3000 && each_sample r.json &&
		[ "$(field r.json "d[\"read_bytes\"]")" = $((2 * BYTES)) ]'
done
if [ -n "$strace_ok" ]; then
	check 'independent reads: the size and place of each sample' 'w set base.json dataset.files=2 dataset.sample_bytes=100000 pipeline.batch=3 pipeline.order=sequential epochs=1 >two.json && "$IOREEL" gen -q two.json two &&
		$mpi -n 2 sh -c "exec strace -f -y -e trace=read,readv,pread64,preadv -o calls.\$OMPI_COMM_WORLD_RANK \"$O/ioreel-mpi\" run -q two.json --data two --set access.api=mpiio" >/dev/null 2>err
		for rank in 0 1; do cp calls.$rank s.txt && python3 calls.py; done >calls &&
		for first in 0 300000; do for file in 1 2; do for i in 0 1 2; do echo 100000 $((first + i * 100000)); done; done; done | cmp - calls'
fi
check 'a collective read has as many calls on each rank' 'ranks 2 raw access.api=mpiio && alone=$(field r.json "d[\"read_calls\"]") && ranks 2 raw access.api=mpiio access.collective=true &&
	[ "$alone" = 120 ] && [ "$(field r.json "d[\"read_calls\"] % 2, 120 < d[\"read_calls\"] <= 240")" = "(0, True)" ]'
check 'collective, one shared file in order: one call a rank and sample' 'w set base.json dataset.files=1 dataset.samples_per_file=64 pipeline.order=sequential epochs=1 >shared.json &&
	"$IOREEL" gen -q shared.json ds.shared && ranks 4 shared access.api=mpiio access.collective=true && [ "$(field r.json "d[\"read_calls\"], d[\"samples\"]")" = "(64, 64)" ]'
check 'collective: the evaluation, and an epoch that ends early' 'w set base.json evaluation.files=3 evaluation.samples_per_file=3 evaluation.every_epochs=1 evaluation.batch=2 >eval.json && "$IOREEL" gen -q eval.json ds.eval &&
	ranks 4 eval access.api=mpiio access.collective=true steps_per_epoch=2 && [ "$(field r.json "d[\"samples\"]")" = 64 ]'
for how in access.collective=false access.collective=true; do
	cp -r ds.raw ds.cut
	cp base.json cut.json
	: >ds.cut/train/sample_00000003_of_00000010.bin
	check "$how: a file is cut" '! timeout -k 5 60 $mpi -n 1 "$O/ioreel-mpi" run -q cut.json --data ds.cut --set access.api=mpiio --set $how 2>err && grep -q "shorter than it was made" err'
	rm ds.cut/train/sample_00000003_of_00000010.bin
	check "$how: a file is gone" '! timeout -k 5 60 $mpi -n 1 "$O/ioreel-mpi" run -q cut.json --data ds.cut --set access.api=mpiio --set $how 2>err && grep -q "cannot open .*_00000003_of" err'
	rm -r ds.cut
done
check 'collective, 4 ranks: a file is cut, and all ranks end' 'cp -r ds.raw ds.cut && : >ds.cut/train/sample_00000003_of_00000010.bin
	timeout -k 5 60 $mpi -n 4 "$O/ioreel-mpi" run -q cut.json --data ds.cut --set access.api=mpiio --set access.collective=true 2>err; rc=$?
	[ $rc != 0 ] && [ $rc != 124 ] && grep -q "shorter than it was made" err'
# unfit KEY SETTING...: with MPI, exit 2 and the key.
unfit() {
	key=$1
	shift
	title="MPI-IO: $*"
	for s; do set -- "$@" --set "$s"; shift; done
	$mpi -n 1 "$O/ioreel-mpi" run -q base.json --null --set access.api=mpiio "$@" >/dev/null 2>err
	check "$title is refused" 'grep -q "^ioreel-mpi run: $key: " err'
}
unfit access.api dataset.format=tfrecord
unfit access.direct access.direct=true
unfit access.chain "$chain"
unfit access.api pipeline.readers=2
unfit access.collective access.collective=true pipeline.readers=2 pipeline.unit=thread
finish
