#!/bin/bash
# SPDX-License-Identifier: MIT
# One "ioreel record" per rank and one trace directory, as mpirun, torchrun and
# srun start them. And the shim alone, if the command cannot be changed.
. "$(dirname "$0")/../lib/tap.sh"
unset LD_PRELOAD PYTHONPATH RANK WORLD_SIZE MASTER_ADDR MASTER_PORT
for v in $(env | sed -n 's/^\(OMPI_[A-Z_0-9]*\|PMI[X]*_[A-Z_0-9]*\|SLURM_[A-Z_]*\)=.*/\1/p'); do
	unset "$v"
done
head -c 10000 /dev/zero >data
cat >app.sh <<'SH'
cat data >/dev/null
[ -n "$1" ] && [ "$1" = "${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-$RANK}}" ] && exit 3
exit 0
SH
bytes="select count(distinct process_id), sum(bytes) from v_event
	where call = 'read' and path like '%/data'"
ranks='select group_concat(rank) from (select distinct rank from process
	where rank is not null order by rank)'

# try 'name' DIR COMMAND...: check the lines and the directory of four ranks.
try() {
	name=$1 dir=$2
	shift 2
	"$@" >out 2>err </dev/null
	is "$name: one summary" "$(grep -c '^ioreel: next: ' err)" 1
	check "$name: of four ranks" 'grep -q "^ioreel: 4 ranks, " err'
	is "$name: every byte of every rank" "$(sql "$dir" "$bytes")" \
		"$(printf '4\t40000')"
	is "$name: ranks" "$(sql "$dir" "$ranks")" 0,1,2,3
	check "$name: no other files remain" '! ls $dir | grep -Evq "\.log$|^job\.(json|counts)$" && ls $dir'
}
R="$IOREEL record"
if command -v mpirun.openmpi >/dev/null; then
	# As root Open MPI needs two variables to run.
	export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
	# If a rank fails, Open MPI 5 kills the others at once. On a busy machine
	# it kills ioreel before its summary, or drops the summary. Sometimes it
	# signals its own process group: timeout gives it one.
	M="timeout 60 mpirun.openmpi --oversubscribe -n 4"
	try 'Open MPI' ompi $M $R -o ompi -- sh app.sh
	for n in 1 2 3 4 5 6 7 8; do
		$M $R -o ompi -- touch ran >out 2>err
		grep -q 'not empty' err && break
	done
	check 'a second job cannot use the directory' '[ ! -e ran ] && grep -q "not empty" err'
	try 'Open MPI, the default name' app.reel $M $R -- sh app.sh
	try 'Open MPI, the next default name' app.2.reel $M $R -- sh app.sh
	for n in 1 2 3 4 5 6 7 8; do
		rm -rf bad
		$M $R -o bad -- sh app.sh 2 >out 2>err
		status=$?
		grep -q '^ioreel: next' err && break
	done
	is 'mpirun returns the status of a failed rank' $status 3
	if grep -q '^ioreel: next' err; then
		check 'it is named' \
			'grep -q "^ioreel: rank 2, sh, ended with status 3; 4 ranks" err'
		check 'in job.json too' 'grep -q "\"exit_status\": 3" bad/job.json'
	else
		skip 'a rank that fails is named' 'mpirun killed ioreel eight times'
	fi
	$R -q -o around -- $M sh app.sh
	is 'ioreel record around mpirun' "$(sql around "$bytes")" "$(printf '4\t40000')"
	is 'and its ranks' "$(sql around "$ranks")" 0,1,2,3
	unset OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM
else
	skip 'Open MPI' 'no mpirun.openmpi'
fi
if command -v mpirun.mpich >/dev/null; then
	try 'MPICH' mpich mpirun.mpich -n 4 $R -o mpich -- sh app.sh
	$R -q -o around2 -- mpirun.mpich -n 4 sh app.sh
	is 'ioreel record around MPICH' "$(sql around2 "$bytes")" "$(printf '4\t40000')"
else
	skip 'MPICH' 'no mpirun.mpich'
fi

cat >torch.sh <<'SH'
for RANK in 0 1 2 3; do
	RANK=$RANK WORLD_SIZE=4 LOCAL_WORLD_SIZE=4 TORCHELASTIC_RUN_ID=x1 \
	TORCHELASTIC_RESTART_COUNT=${N:-0} "$@" &
done
wait
SH
try 'torchrun' torch sh torch.sh $R -o torch -- sh app.sh
N=1 try 'torchrun, started again' torch.restart-1 sh torch.sh $R -o torch -- sh app.sh
cat >srun.sh <<'SH'
for r in 0 1 2 3; do
	PMI_RANK='' SLURM_PROCID=$r SLURM_STEP_NUM_TASKS=4 SLURM_JOB_ID=7 \
		SLURM_STEP_ID=0 RANK=$r "$@" &
done
wait
SH
try 'srun' srun sh srun.sh $R -o srun -- sh app.sh
SLURM_PROCID=0 SLURM_NTASKS=4 SLURM_JOB_ID=7 $R -o batch -- sh app.sh 2>err
check 'a batch script is not a rank' 'grep -q "^ioreel: [0-9]* process" err && [ ! -e batch/job.group ]'
# The recorder of one rank is killed: the others still complete the trace.
cat >killed.sh <<'SH'
for r in 0 1 2 3; do
	c="sh app.sh"
	[ $r = 1 ] && c="sh -c ':>begun; exec sleep 30'"
	eval "PMI_RANK=$r PMI_SIZE=4 \"\$@\" $c &"
	[ $r = 1 ] && k=$!
done
until [ -e begun ]; do sleep 0.02; done
kill -9 $k
wait
SH
$R -q -o alone -- true
(sh killed.sh $R -o killed --; PMI_RANK=9 true) >out 2>err
check 'a killed record does not keep the directory open' \
	'for i in 1 2 3 4 5; do [ ! -e killed/job.group ] && break; sleep 0.2; done
	 "$IOREEL" load killed -o killed.db'
# mpirun ends a rank that has joined the directory but not started the job.
if command -v strace >/dev/null && strace -qq -e trace=none true 2>/dev/null
then
	slow="strace -qq -o st -e trace=symlink -e inject=symlink:delay_exit=500000"
	PMI_RANK=1 PMI_SIZE=2 timeout 60 $slow $R -o early -- sh -c 'exec sleep 10' 2>err &
	until [ -L early/job.1.run ]; do sleep 0.02; done
	pid=$(readlink early/job.1.run)
	kill -TERM ${pid#* }
	wait $!
	PMI_RANK=0 PMI_SIZE=2 $R -o early -- sh -c 'exit 3' 2>err
	check 'a rank that is ended early is counted' \
		'grep -q "^ioreel: rank 1, sh, ended by signal 15; 2 ranks" err'
else
	skip 'a rank that is ended early is counted' 'no strace, or no ptrace'
fi

# --- the shim without "ioreel record" --------------------------------------
LD_PRELOAD=$O/libioreel.so IOREEL_DIR=$T/bare cat data data | cat >out
is 'LD_PRELOAD and IOREEL_DIR are enough' "$(sql bare "$bytes")" "$(printf '1\t20000')"
check 'the directory is private' '[ "$(stat -c %a bare)" = 700 ]'
check 'and loads' '"$IOREEL" load bare -o bare.db && "$IOREEL" report bare.db >report'
LD_PRELOAD=$O/libioreel.so IOREEL_DIR=$T/bare cat data | cat >out
is 'a second program joins it' "$(sql bare "$bytes")" "$(printf '2\t30000')"
LD_PRELOAD=$O/libioreel.so IOREEL_DIR=/proc/no cat data >out 2>err
check 'a directory that cannot be created does not harm the job' 'cmp out data && [ ! -s err ]'
finish
