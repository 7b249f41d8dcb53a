#!/bin/sh
# SPDX-License-Identifier: MIT
# gen, run, replay and sweep of ioreel, started on each rank of a launcher: each rank would do
# all of the work. One line says so; a single rank and a batch script of Slurm are no ranks.
. "$(dirname "$0")/../lib/tap.sh"
unset OMPI_COMM_WORLD_RANK OMPI_COMM_WORLD_SIZE PMI_RANK PMI_SIZE PMIX_RANK PMIX_SIZE \
	SLURM_STEP_ID SLURM_STEP_NUM_TASKS SLURM_PROCID WORLD_SIZE RANK
cat >w.json <<'J'
{"schema": "ioreel-workload-1", "name": "t", "epochs": 1,
 "dataset": {"format": "raw", "files": 4, "sample_bytes": {"quantiles": [1000]}}}
J
"$IOREEL" gen -q w.json d
"$IOREEL" record -q -o job.reel cat /etc/passwd >/dev/null

# refuses LINE VARIABLES ARGS...: of three ranks the first fails with LINE, the second is silent.
refuses() {
	line=$1 launch=$2
	shift 2
	env $launch "$IOREEL" "$@" >out 2>err
	is "$1, the first rank of $launch" "$? $(cat out)$(sed 's/^usage: .*/usage/' err)" "2 $line
usage"
	env $launch OMPI_COMM_WORLD_RANK=1 PMI_RANK=1 PMIX_RANK=1 SLURM_PROCID=1 "$IOREEL" "$@" >out 2>err
	is "$1, the second rank of $launch" "$? $(cat out err)" '0 '
}
does='each of 3 ranks would do all of the work'
for launch in OMPI_COMM_WORLD_SIZE PMI_SIZE PMIX_SIZE; do
	refuses "ioreel run: $does ($launch=3): start mpirun -n N ioreel-mpi run" $launch=3 run w.json --data d
done
refuses "ioreel run: $does (SLURM_STEP_NUM_TASKS=3): start mpirun -n N ioreel-mpi run" \
	'SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=3' run w.json --null
refuses "ioreel gen: $does (PMI_SIZE=3): start mpirun -n N ioreel-mpi gen" PMI_SIZE=3 gen w.json new
check 'gen makes nothing' '[ ! -e new ]'
refuses "ioreel replay: $does (PMI_SIZE=3): start it once with --plan FILE, and then mpirun -n N ioreel-mpi replay FILE DIR" \
	PMI_SIZE=3 replay job.reel
refuses "ioreel sweep: $does (PMI_SIZE=3): start sweep once, not on each rank: --launch \"mpirun -n N\" starts the ranks of each run" \
	PMI_SIZE=3 sweep w.json --data s --set pipeline.batch=1
for launch in OMPI_COMM_WORLD_SIZE=1 'SLURM_NTASKS=3 SLURM_PROCID=0 SLURM_JOB_ID=1' SLURM_STEP_NUM_TASKS=3 \
	'OMPI_COMM_WORLD_SIZE=1 SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=3' 'WORLD_SIZE=3 RANK=0'; do
	check "one process: $launch" 'env $launch "$IOREEL" run -q w.json --data d && env $launch "$IOREEL" gen -q w.json d &&
		env $launch "$IOREEL" replay job.reel'
done
check 'the help is printed on each rank' 'PMI_SIZE=3 "$IOREEL" run --help | grep -q "^usage:"'

mpi="mpirun --allow-run-as-root --oversubscribe"
if [ -x "$O/ioreel-mpi" ] && $mpi -n 2 true 2>/dev/null; then
	for verb in "run w.json --data d" "gen w.json new" "replay job.reel"; do
		check "ranks of mpirun: $verb" '! timeout 120 $mpi -n 3 "$IOREEL" $verb >out 2>err &&
			[ "$(grep -c "each of 3 ranks would do all" err)" = 1 ] && [ ! -s out ] && [ ! -e new ]'
	done
	check 'ioreel-mpi runs on them' 'timeout 120 $mpi -n 3 "$O/ioreel-mpi" gen -q w.json d &&
		timeout 120 $mpi -n 3 "$O/ioreel-mpi" run -q w.json --data d'
else
	skip 'ranks of mpirun' 'no mpirun'
fi
finish
