#!/bin/bash
# SPDX-License-Identifier: MIT
# MPI jobs: bytes of layer MPI-IO are those that the program asked for, POSIX
# calls below are those of strace, ranks are counted with every launcher.
. "$(dirname "$0")/../lib/tap.sh"
. "$TOP/tests/jobs/mpi/jobs.sh"
jobs=$TOP/tests/jobs/mpi_jobs.py

# job NAME WROTE READ CMD...: run two ranks; the program moves so many bytes.
job() {
	local name=$1 wrote=$2 read=$3
	shift 3
	rm -rf DATA && mkdir DATA
	timeout $patience "$IOREEL" record -q -o "$name.reel" -- "$@" >out 2>&1
	is "$name: the job succeeded" "$? $(sort -u out)" \
		"0 wrote $wrote read $read"
	is "$name: ranks" "$(sql "$name.reel" 'select ranks from run')" 2
	is "$name: bytes asked of MPI-IO, except for metadata of HDF5" \
		"$(sql "$name.reel" "select call_group, sum(bytes) from v_event
			where layer = 'MPIIO' and bytes >= 65536
			group by call_group order by 1")" \
		"$(printf 'read\t%d\nwrite\t%d' $((2 * read)) $((2 * wrote)))"
	is "$name: every file that MPI opened has POSIX bytes" \
		"$(sql "$name.reel" 'select op, bytes = posix_bytes from v_mpiio')" \
		"$(printf 'read\t1\nwrite\t1')"
	is "$name: nothing is counted twice" \
		"$(sql "$name.reel" "select sum(read_bytes), sum(write_bytes) from v_process")" \
		"$(sql "$name.reel" 'select read_bytes, write_bytes from v_summary')"
	is "$name: a collective write contains the writes of its process" \
		"$(sql "$name.reel" "select count(*) from v_event m where layer = 'MPIIO'
			and call_group = 'write' and not exists (select 1 from v_event p
			where p.layer = 'POSIX' and p.call_group = 'write' and
			p.thread_id = m.thread_id and p.path = m.path and
			p.start_ns >= m.start_ns and
			p.start_ns + p.dur_ns <= m.start_ns + m.dur_ns)")" \
		"$idle"
	check "$name: the report has a line on it" \
		'"$IOREEL" report '"$name"'.reel |
		grep "MPI-IO write .* collective; POSIX on their files: "'
	check "$name: and its JSON document is valid" '"$IOREEL" report --json '"$name"'.reel |
		"$PY" -c "import json, sys; assert len(json.load(sys.stdin)[\"mpiio\"]) == 2"'
	beneath "$name" "$@"
}

# Open MPI 5 may signal its process group if a rank fails: timeout makes one.
run='timeout 300 mpirun.openmpi --oversubscribe -n 2'
idle=0
if command -v mpirun.openmpi >/dev/null && "$PY" -c 'import mpi4py' 2>/dev/null
then
	job mpi4py 2097152 524288 $run "$PY" "$jobs" mpi4py DATA
	if $run "$PY" -c 'import h5py; assert h5py.get_config().mpi' 2>/dev/null; then
		job h5py 1048576 1048576 $run "$PY" "$jobs" h5py DATA
	else
		skip 'h5py' 'no h5py with MPI'
	fi
	rm -rf DATA && mkdir DATA
	timeout 300 mpirun.openmpi --oversubscribe -n 4 "$IOREEL" record -q -o each.reel -- \
		"$PY" "$jobs" mpi4py DATA >out 2>&1
	is 'record under mpirun: one directory, four ranks' \
		"$(sql "each.reel" 'select ranks, (select sum(bytes) from v_mpiio) from run')" \
		"$(printf '4\t10485760')"
else
	skip 'mpi4py' 'no mpirun.openmpi or no mpi4py'
fi

if command -v mpirun.mpich >/dev/null && command -v mpicc.mpich >/dev/null; then
	mpicc.mpich -w -o calls "$TOP/tests/shim/mpi/programs/calls.c"
	rm -rf DATA && mkdir DATA
	timeout $patience "$IOREEL" record -q -o mpich.reel -- \
		mpirun.mpich -n 2 ./calls DATA/data say >out 2>&1
	beneath mpich mpirun.mpich -n 2 ./calls DATA/data say
else
	skip 'MPICH: calls beneath' 'no mpicc.mpich, mpirun.mpich'
fi
finish
