#!/bin/sh
# SPDX-License-Identifier: MIT
# Small runs by the rules of MLPerf Storage 3.0: all rules pass but those that say that
# the run is small. A data set passes as long as its scale leaves 500 steps.
. "$(dirname "$0")/../lib/tap.sh"
python3 -c 'import json' 2>/dev/null || skip_all 'no python3'
[ -d /dev/shm ] && [ -w /dev/shm ] && [ "$(stat -c %d .)" != "$(stat -c %d /dev/shm)" ] ||
	skip_all 'no second file system for the results'

w() { "$IOREEL" workload "$@"; }
# failing: the rules of r.json that fail, without those that judge the times of this
# machine.
failing() { python3 -c "
import json
print(*[r['rule'] for r in json.load(open('r.json'))['rules_judged']
        if not r['pass'] and r['rule'] not in ('spread', 'utilization')])"; }
# only RULES COMMAND: it exits with 3, and RULES fail alone. Bytes that a busy machine
# keeps in its page cache vary: a run is repeated.
only() {
	want=$1
	shift
	for try in 1 2 3; do
		"$@" >o 2>err
		status=$?
		sed -n '/^{/,/^}/p' o >r.json
		[ "$(failing)" != "$want" ] || break
	done
	cat err
	echo "failing: $(failing)"
	[ "$(failing)" = "$want" ] && [ $status = 3 ]
}

# unet3d with samples of 2 kB: 7,000 files, of which half are 500 steps of 7.
w set "$TOP/workloads/mlperf3-unet3d-b200.json" dataset.files=7000 dataset.sample_bytes=2000 compute.step_ns=8000000 epochs=1 >t.json
"$IOREEL" gen -q --scale 1/2 t.json ds
run() { "$IOREEL" run -q --json --data ds --results /dev/shm --rules mlperf-3.0 --scale 1/2 "$@" t.json; }
check 'a training: all but the scale and the given memory' 'only "scale memory" run --memory 1400000'
is 'its rules' "$(python3 -c "
import json
print(*[r['rule'] for r in json.load(open('r.json'))['rules_judged']])")" \
	'dataset-size runs seeds utilization spread file-systems scale memory'
"$IOREEL" gen -q --scale 499/1000 t.json ds.small
check 'a scale that leaves 499 steps' '"$IOREEL" run -q --json --data ds.small --results /dev/shm --rules mlperf-3.0 --scale 499/1000 --memory 1 --set compute.step_ns=0 t.json >r.json 2>err
	[ $? = 3 ] && python3 -c "
import json
v = {r[\"rule\"]: r for r in json.load(open(\"r.json\"))[\"rules_judged\"]}[\"dataset-size\"]
assert not v[\"pass\"] and (v[\"is\"], v[\"bound\"]) == (3493, 3500), v"'

cold=
[ "$(stat -f -c %T .)" != tmpfs ] || cold='checkpoint-cache '
if [ -x "$O/ioreel-mpi" ]; then
	mkdir ck # smaller checkpoints are read again by 5 % and more: the directory of torch.save()
	check 'checkpoints of 8 ranks: all but the scale' 'only "${cold}scale" mpirun --allow-run-as-root --oversubscribe -n 8 "$O/ioreel-mpi" run -q --json \
		--data ck --results /dev/shm --rules mlperf-3.0 --scale 1/5000 "$TOP/workloads/mlperf3-llama3-8b.json"'
else
	skip 'checkpoints of 8 ranks' 'no MPI'
fi
check 'a key-value cache: all but the scale' 'only scale "$IOREEL" run -q --json --data kv --results /dev/shm --rules mlperf-3.0 --scale 1/1000 \
	"$TOP/workloads/mlperf3-kvcache-8b-throughput.json"'
finish
