#!/bin/bash
# SPDX-License-Identifier: MIT
# MPI in different programs: in format libraries, from Fortran, loaded at run
# time, with edge cases of MPI-IO, beside another tool. Each rank prints what it
# asked for; strace shows the calls below.
. "$(dirname "$0")/../lib/tap.sh"
. "$TOP/tests/jobs/mpi/jobs.sh"
src=$TOP/tests/jobs/mpi
ranks=2

# by_name LIBRARY: through dlsym(), with every way to open the library.
by_name() {
	local how

	gcc -o by_name "$src/by_name.c" -ldl
	for how in lazy global deep; do
		moved "$mpi-dlsym-$how" 1 $run ./by_name DATA "$1" $how
		is "$mpi-dlsym-$how: the rest of its calls" \
			"$(sql "$mpi-dlsym-$how.reel" "select group_concat(call) from (select
			distinct call from v_event where layer = 'MPIIO' and call_group
			not in ('read', 'write') order by 1)")" \
			'MPI_Barrier,MPI_File_close,MPI_File_open,MPI_Finalize,MPI_Init'
	done
	moved "$mpi-ctypes" 1 $run "$PY" "$src/by_ctypes.py" DATA "$1"
}

fortran() {
	local binding

	for binding in f08 mpif; do
		if ! mpif90.$mpi -w -o $binding "$src/$binding.f90" 2>/dev/null
		then
			skip "$mpi-$binding" "no mpif90.$mpi for it"
			continue
		fi
		moved "$mpi-$binding" 1 $run ./$binding DATA
	done
}

# Another tool, loaded before or after: both record all, and the job is
# unchanged.
tools() {
	local order how preload

	mpicc.$mpi -w -o calls "$TOP/tests/shim/mpi/programs/calls.c"
	for how in '' -DNEXT; do
		mpicc.$mpi -w -shared -fPIC $how -o tool.so "$src/tool.c" -ldl
		for order in bare before after alone; do
			preload=$T/tool.so
			[ $order = after ] && preload=$O/libioreel.so:$preload
			[ $order = before ] && preload+=:$O/libioreel.so
			[ $order = alone ] && preload=$O/libioreel.so
			rm -rf tool.reel
			set -- $run env LD_PRELOAD="$preload" ./calls data say
			[ $order = bare ] ||
				set -- "$IOREEL" record -q -o tool.reel -- "$@"
			timeout $patience "$@" 2>&1 | sort >out.$order
			[ $order = bare ] || sql "tool.reel" "select rank, call_id, count(*),
				sum(result) from event join process using (process_id)
				join call using (call_id) where layer = 'MPIIO'
				group by 1, 2" >seen.$order
		done
		is "$mpi: a tool$how, before us" "$(cat out.before)" \
			"$(cat out.bare)"
		is "$mpi: a tool$how, after us" "$(cat out.after)" \
			"$(cat out.bare)"
		check "$mpi: it counted calls" 'grep "tool saw 2 1 12" out.bare'
		is "$mpi: the recording is the same as without it" \
			"$(cat seen.before seen.after)" \
			"$(cat seen.alone seen.alone)"
	done
}

formats() {
	if mpicc.$mpi -w -o hdf5 "$src/hdf5.c" -I/usr/include/hdf5/$mpi \
		-L"/usr/lib/$(gcc -print-multiarch)/hdf5/$mpi" -lhdf5 2>/dev/null
	then
		moved "$mpi-hdf5" 65536 $run ./hdf5 DATA
		beneath "$mpi-hdf5" $run ./hdf5 DATA
	else
		skip "$mpi-hdf5" "no HDF5 with $mpi"
	fi
}

# Without MPI_COMM_WORLD, which must not be queried.
sessions() {
	if ! mpicc.$mpi -w -o sessions "$src/sessions.c" 2>/dev/null ||
	   ! timeout $patience $run ./sessions >bare 2>&1; then
		skip "$mpi-sessions" 'this MPI has no working sessions'
		return
	fi
	timeout $patience "$IOREEL" record -q -o sessions.reel -- $run ./sessions \
		>out 2>&1
	is "$mpi-sessions: the same" "$? $(sort out)" "0 $(sort bare)"
	is "$mpi-sessions: its collectives" "$(sql "sessions.reel" "select call, count(*)
		from v_event where layer = 'MPIIO' group by 1")" \
		"$(printf 'MPI_Allreduce\t2\nMPI_Barrier\t2')"
}

for mpi in openmpi mpich; do
	if ! command -v mpicc.$mpi >/dev/null ||
	   ! command -v mpirun.$mpi >/dev/null; then
		skip "$mpi" "no mpicc.$mpi, mpirun.$mpi"
		continue
	fi
	run=$(run_by $mpi $ranks)
	mpicc.$mpi -w -o edges "$src/edges.c"
	mpicc.$mpi -w -o blocks "$src/blocks.c"
	ranks=4
	moved "$mpi-edges" 1 $(run_by $mpi $ranks) ./edges DATA shared
	beneath "$mpi-edges" $(run_by $mpi $ranks) ./edges DATA shared
	is "$mpi: sequences of calls are those of the POSIX calls" \
		"$(sql "$mpi-edges.reel" 'select sum(calls) from thread_sequence')" \
		"$(sql "$mpi-edges.reel" "select sum(calls) from v_call where not message
			and layer <> 'MPIIO' and call_group <> 'queue' and
			call not in ('map_read', 'map_write')")"
	ranks=2
	if [ $mpi = openmpi ] && ompi_info 2>/dev/null | grep -q romio321; then
		run+=' --mca io romio321'
		moved romio-edges 1 $run ./edges DATA shared
		beneath romio-edges $run ./edges DATA shared
		run=$(run_by $mpi $ranks)
	fi
	moved "$mpi-blocks" 1 $run ./blocks DATA collective shared
	moved "$mpi-blocks-own" 1 $run ./blocks DATA independent private
	beneath "$mpi-blocks-own" $run ./blocks DATA independent private
	"$IOREEL" record --events none -q -o none.reel -- \
		$run ./blocks DATA collective shared >out 2>&1
	is "$mpi: counters only: unknown figures are not printed" \
		"$("$IOREEL" report none.reel | grep -c 'MPI-IO.*collective$')" 2
	library=$(ldd blocks | awk '$1 ~ /^libmpi(ch)?\.so/ { print $3 }')
	by_name "$library"
	fortran
	formats
	tools
	sessions
done
finish
