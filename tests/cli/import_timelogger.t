#!/bin/sh
# SPDX-License-Identifier: MIT
# ioreel import of TimeLogger's phases: texts made by hand as its program prints
# them; with IOREEL_DATA the published runs of HEPCNNB.
. "$(dirname "$0")/../lib/tap.sh"
unset LD_PRELOAD

import() { rm -f s.db && "$IOREEL" import -q "$@" -o s.db; }
text() { python3 "$TOP/tests/cli/import_text.py" "$@"; }
refused() { ! import "$@" 2>err && [ "$(wc -l <err)" = 1 ] && [ ! -e s.db ]; }
tab=$(printf '\t')
spans() {
	sql s.db 'SELECT s.start_ns, s.dur_ns, s.name, s.detail, p.rank, p.pid, s.tid
		FROM v_span s JOIN process p USING (process_id) ORDER BY 1, 2 DESC, 3' | tr "$tab" ' '
}
want='0 600000000 epoch 0 0 77 4711
0 500000000 training 0 0 77 4711
100000000 250000 fetch 0 0 77 4711
125000000 100000 load 0 0 77 4711
125000000 9500 read 0 0 77 4711
500000000 100000000 training 1 0 77 4711
600000000 250000000 checkpoint 1200 0 77 4711
700000000 1000000 a, b  0 77 4711'

# The standard output of a job, with other lines.
print_log() { # epoch description start end taken
	echo "TIME LOGGER OUTPUT Epoch: $1 Rank: 0 fn $2 Start Time: $3 End Time: $4 Time Taken: $5" \
		"For Excel:$1, 0, fn, $2, $3, $4, $5, 77, <_MainThread(MainThread, started 4711)>"
}
write_log() {
	printf "'TIME LOGGER OUTPUT','Epoch: $1', 'Rank: 0','fn','','$2','Start Time: $3','End Time: $4', 'Time Taken: $5','For Excel:$1,0,fn,$2,$3,$4,$5,77,<Thread(Thread-1, started daemon 4711)>'"
}
phases() {
	$1 0 'Training Iteration' 1530239823.5 1530239824.0 0.5
	$1 0 'Call to Next Batch' 1530239823.6 1530239823.6 0.00025
	$1 0 'Load File' 1530239823.625 1530239823.625 0.0001
	$1 0 'HDF5 File Read' 1530239823.625 1530239823.625 9.5e-06
	$1 0 'Training Iteration' 1530239824.0 1530239824.1 0.1
	$1 1200 'Checkpoint Listener' 1530239824.1 1530239824.35 0.25
	$1 -1 'a, b' 1530239824.2 1530239824.201 0.001
}
{ echo 'starting'; phases print_log; echo 'done'; } >job.out
import job.out
is 'standard output' "$(spans)" "$want"
is 'the job' "$(sql s.db 'SELECT name, ranks, start_real_ns, events FROM run' | tr "$tab" ' ')" \
	'job 1 1530239823500000000 0'
phases write_log >0
import 0
is 'its own file, without newlines' "$(spans)" "$want"
{
	echo 'Epoch, Rank, Action Name, Action Description, Start Time, End Time, Time Taken, Process ID, Current Thread'
	phases print_log | sed 's/.*For Excel://'
} >script.csv
gzip -c script.csv >script.csv.gz
import script.csv.gz
is 'the CSV of its script, compressed' "$(spans)" "$want"
mkdir job
for rank in 0 1 2; do
	phases print_log | sed "s/Excel:\([-0-9]*\), 0/Excel:\1, $rank/" >job/$rank
done
import job
is 'a folder of ranks' "$(sql s.db "SELECT count(*), (SELECT ranks FROM run),
	(SELECT count(*) FROM v_step) FROM process" | tr "$tab" ' ')" '3 3 6'
is 'steps have an epoch and waits' \
	"$(sql s.db 'SELECT number, epoch, fetch_ns FROM v_step WHERE rank = 1' | tr "$tab\n" ' ,')" \
	'0 0 250000,1 0 ,'
"$IOREEL" report s.db >out
check 'the report' 'grep -q "^job · 3 ranks" out && ! grep -q "checked:.*opens" out'
cat >hepcnn.csv <<-END
	epoch,rank,component,start_s,dur_s
	-1,-1,parse_args,0.00,0.5
	0,1,train_iter,1.00,2.000001
	0,1,read,1.00,0.25
	0,one,read,1.00,0.25
	0,1,read,1.00,-0.25
END
import hepcnn.csv
is 'the CSV of HEPCNNB' "$(spans)" '0 500000000 parse_args   0 0
1000000000 2000001000 epoch 0 1 0 0
1000000000 2000001000 training 0 1 0 0
1000000000 250000000 read 0 1 0 0'
is 'lines that are no phase' "$(sql s.db 'SELECT count FROM loss')" 2

# --- damage -------------------------------------------------------------------
: >empty
check 'an empty file' 'refused --as timelogger empty'
echo 'nothing here' >foreign
check 'a foreign file' 'refused --as timelogger foreign && grep -q "line 1" err'
head -1 hepcnn.csv >head.csv
check 'a header alone' 'refused head.csv && grep -q "no phase" err'
check 'cut, and with flipped bytes' 'text damage 97 0 --as timelogger'
check 'the CSV, too' 'text damage 7 hepcnn.csv --as timelogger'
check 'compressed data cut, and flipped' 'text damage 11 script.csv.gz --as timelogger'

# --- real runs ------------------------------------------------------------------
data=$IOREEL_DATA/hepcnn
if [ -z "$IOREEL_DATA" ] || [ ! -d "$data" ]; then
	skip 'published shares' 'IOREEL_DATA is not set'
	finish
fi
for run in 64:3.60 128:3.08 1024:1.44; do
	log=$data/hepcnn_${run%:*}.csv.gz
	import "$log"
	check "${run%:*} nodes: sums by rank, phase and epoch, and numbers of steps" 'text hepcnn s.db "$log"'
	is "${run%:*} nodes: the published share of reading" "$(text hepcnn s.db "$log")" "${run#*:}"
	is "${run%:*} nodes: the same by SQL" "$(sql s.db "SELECT printf('%.2f', 100.0 *
		sum(dur_ns) FILTER (WHERE name = 'read') / sum(dur_ns) FILTER (WHERE name = 'training'))
		FROM v_span")" "${run#*:}"
done
finish
