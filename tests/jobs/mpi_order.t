#!/bin/bash
# SPDX-License-Identifier: MIT
# The order that collectives enforce in the job is kept in a replay as fast as
# possible, without any other dependency.
. "$(dirname "$0")/../lib/tap.sh"
. "$TOP/tests/jobs/mpi/jobs.sh"

mkdir in
for i in $(seq 0 199); do head -c 40960 /dev/urandom >in/data.$i; done

# order DB: 1 if the second group began after the end of the first.
order() {
	local first=data second=rank

	[ ${how#i} = gather ] && first=rank second=data
	"$IOREEL" sql "$1" "select (select min(start_ns) from v_event where path
		like '%/$second.%') > (select max(start_ns + dur_ns) from v_event
		where path like '%/$first.%')" --format tsv | tail -n +2
}

for mpi in openmpi mpich; do
	if ! command -v mpicc.$mpi >/dev/null ||
	   ! command -v mpirun.$mpi >/dev/null; then
		skip "$mpi" "no mpicc.$mpi, mpirun.$mpi"
		continue
	fi
	mpicc.$mpi -w -o order "$TOP/tests/jobs/mpi/order.c"
	case $mpi in
	openmpi) hows='bcast allreduce ibarrier igather' ;;
	mpich) hows='barrier gather ibcast iallreduce' ;;
	esac
	for how in $hows; do
		rm -rf job.reel out again.db && mkdir out
		timeout $patience "$IOREEL" record -q -o job.reel -- \
			$(run_by $mpi 3) ./order in out $how >log 2>&1
		is "$mpi, $how: recorded in order" "$? $(order job.reel)" '0 1'
		timeout $patience "$IOREEL" replay --afap -o again.db job.reel >log 2>&1
		is "$mpi, $how: replayed in order" "$(order again.db)" 1
		check "$mpi, $how: it is printed" \
			'grep "ranks wait for each other in 1 collective" log'
	done
done
finish
