#!/bin/bash
# SPDX-License-Identifier: MIT
# One shim for every MPI: the records of MPI-IO calls are those that the program
# computed, with Open MPI and with MPICH, however it is linked. A program without
# MPI finds none.
. "$(dirname "$0")/../../lib/tap.sh"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
src=$TOP/tests/shim/mpi/programs

"$O/tests/shim/mpi/mpi_host" >bare
"$IOREEL" record -q -o host.reel -- "$O/tests/shim/mpi/mpi_host" >traced
is 'a program without MPI: weak references and dlsym' "$(cat traced)" \
	"$(cat bare)"
is 'a program without MPI finds none' "$(cat traced)" \
	"$(printf 'weak 0 0\ndlsym 0\ndlerror 1\ndlsym 0')"
is 'no MPI symbol is exported' \
	"$(nm -D --defined-only "$O/libioreel.so" | grep -c 'P\?MPI_')" 0


# records NAME CMD...: run it on 2 ranks, bare and traced, and compare all output.
records() {
	run=$1
	shift
	mkdir -p "$run.bare" "$run.traced"
	(cd "$run.bare" && $mpirun 2 "$@" data say 2>err | sort >out
		echo "status ${PIPESTATUS[0]}" >>out)
	(cd "$run.traced" && timeout 300 "$IOREEL" record -q -o "$T/$run.reel" -- \
		$mpirun 2 "$@" data say 2>err | sort >out
		echo "status ${PIPESTATUS[0]}" >>out)
	is "$run: output and status" "$(cat "$run.traced/out")" \
		"$(cat "$run.bare/out")"
	is "$run: files" "$(cat "$run.traced/"say.*)" "$(cat "$run.bare/"say.*)"
	for rank in 0 1; do
		sql "$run.reel" "select c.name || ' ' || case when e.arg & 8 and c.call_group = 'write'
			then '-' else coalesce(e.offset, '-') end || ' ' ||
			coalesce(e.asked, '-') || ' ' || e.result || ' ' || e.errno
			from event e join call c using (call_id)
			join process p using (process_id)
			where c.layer = 'MPIIO' and c.call_group <> 'process'
			and p.rank = $rank order by e.start_ns" >got
		is "$run: records of rank $rank" "$(cat got)" \
			"$(cat "$run.traced/say.$rank")"
	done
}

# All ranks record a collective with the same id and number.
same_collectives() {
	is "$run: members record the same collectives" \
		"$(sql "$run.reel" "select count(*) || ' ' || group_concat(n, '') from (select count(*) n
			from event e join call c using (call_id)
			where c.name in ('MPI_Barrier', 'MPI_Allgather', 'MPI_Allreduce',
			'MPI_Bcast') group by c.name, e.arg, e.arg2 order by n)")" \
		'17 11112222222222222'
}

# One of two ranks is recorded: the shim exchanges no message between ranks.
half() {
	run=half-$mpi
	export ONLY=$T/$run.reel
	$mpirun 2 sh -c '
		[ "${PMI_RANK:-$OMPI_COMM_WORLD_RANK}" = 1 ] || exec "$@"
		exec "$IOREEL" record -q -o "$ONLY" -- "$@"' sh "$T/calls" data say \
		>out 2>err
	is "$mpi: one rank of two is recorded" "$? $(grep -c size out) $(sql "$run.reel" \
		"select group_concat(distinct rank) from process where rank >= 0")" \
		'0 2 1'
}

# Rank 1 in a time namespace 5,000 s ahead, with the boot id of another node.
nodes() {
	if ! unshare -m -T --monotonic 5000 --fork true 2>/dev/null; then
		skip "$mpi: clocks of two nodes" 'no time namespaces'
		return
	fi
	run=nodes-$mpi
	echo 11111111-2222-3333-4444-555555555555 >boot
	export BOOT=$T/boot
	IOREEL_MPI_CLOCK=1 timeout 300 "$IOREEL" record -q -o "$run.reel" -- \
		$mpirun 2 sh -c '
		[ "${PMI_RANK:-$OMPI_COMM_WORLD_RANK}" = 1 ] || exec "$@"
		exec unshare -m -T --monotonic 5000 --fork sh -c "
			mount --bind \"$BOOT\" /proc/sys/kernel/random/boot_id &&
			exec \"\$@\"" sh "$@"' sh "$T/calls" data say >out 2>err
	is "$mpi: two nodes, two ranks" "$(sql "$run.reel" \
		'select (select count(*) from host), ranks from run')" "$(printf '2\t2')"
	for log in "$run.reel"/*.log; do
		set -- $(od -A n -w48 -t d8 -j 376 -N 48 "$log")
		[ "$3" = 0 ] || echo $(($1 < -4900000000000 && $1 > -5100000000000)) \
			$(($2 < -4900000000000 && $2 > -5100000000000)) \
			$(($5 < 100000000000))
	done >measured
	is "$mpi: clock offsets are measured at init and finalize" \
		"$(cat measured)" '1 1 1'
	check "$mpi: ranks leave MPI_Init together" "[ $(sql "$run.reel" "select abs(max(e.start_ns +
		e.dur_ns) - min(e.start_ns + e.dur_ns)) from event e
		join call c using (call_id) where c.name = 'MPI_Init'") -lt 100000000000 ]"
}

for mpi in openmpi mpich; do
	case $mpi in
	openmpi) mpirun="timeout 300 mpirun.openmpi --oversubscribe -n" ;;
	mpich) mpirun="timeout 300 mpirun.mpich -n" ;;
	esac
	if ! command -v mpicc.$mpi >/dev/null ||
	   ! command -v mpirun.$mpi >/dev/null; then
		skip "$mpi" "no mpicc.$mpi, mpirun.$mpi"
		continue
	fi
	mpicc.$mpi -w -o calls "$src/calls.c" -pie -fPIE -Wl,-z,lazy
	records "$mpi" "$T/calls"
	same_collectives
	is "$mpi: two ranks" "$(sql "$run.reel" 'select ranks from run')" 2
	# Open MPI 5 has OMPIO only, which ignores ROMIO's hints.
	if mpirun.$mpi --version | grep -Eq 'Open MPI\) ([5-9]|1[0-9])'; then
		skip "$mpi: the hint" 'no ROMIO'
	else
		is "$mpi: the hint" "$(sql "$run.reel" "select count(*) from note where
			key = 'mpi_hint:romio_cb_write' and value like 'enable data'")" 1
	fi
	mpicc.$mpi -w -o calls "$src/calls.c" -Wl,-z,relro,-z,now
	records "$mpi-now" "$T/calls"
	mpicc.$mpi -w -o calls "$src/calls.c" -no-pie -fno-pic
	records "$mpi-nopie" "$T/calls"
	mpicc.$mpi -w -o plugin.so -DPLUGIN "$src/calls.c" -shared -fPIC
	if (cd "$T" && $mpirun 1 "$O/tests/shim/mpi/mpi_host" "$T/plugin.so" data say) \
	   2>&1 | grep -q 'no plugin'; then
		skip "$mpi: as a plugin" 'the plugin does not load, bare'
	else
		records "$mpi-plugin" "$O/tests/shim/mpi/mpi_host" "$T/plugin.so"
	fi
	half
	nodes
	if ! command -v mpif90.$mpi >/dev/null ||
	   ! mpif90.$mpi -w -o fortran "$src/fortran.f90" 2>/dev/null; then
		skip "$mpi: Fortran" "no mpif90.$mpi"
		continue
	fi
	run=fortran-$mpi
	timeout 300 "$IOREEL" record -q -o "$run.reel" -- \
		$mpirun 2 ./fortran "$T/fortran.bin" >/dev/null 2>&1
	is "$mpi: Fortran" "$(sql "$run.reel" "select call, count(*), sum(bytes), max(offset)
		from v_event where layer = 'MPIIO' and call_group in ('read', 'write')
		group by call")" \
		"$(printf 'MPI_File_read_at\t2\t4000\t4000\nMPI_File_write_at_all\t2\t8000\t4000')"
	# MPI's Fortran library calls PMPI_ names, which bypass a tool and the shim.
	mpicc.$mpi -w -o tool.so -shared -fPIC "$src/tool.c"
	run=tool-$mpi
	timeout 300 "$IOREEL" record -q -o "$run.reel" -- $mpirun 2 sh -c '
		LD_PRELOAD=$LD_PRELOAD:$0 exec "$@"' "$T/tool.so" ./fortran \
		"$T/fortran.bin" >/dev/null 2>&1
	check "$mpi: Fortran with a tool is recorded, or a note says that it is not" \
		"[ $(sql "$run.reel" "select 2 * (select count(distinct process_id) from note where
			key = 'mpi_not_recorded' and (value like '%fh%' or value like
			'%fort%')) + count(*) from v_event
			where call = 'MPI_File_write_at_all'") -ge 2 ]"
	is "$mpi: no such note without a tool" "$("$IOREEL" sql \
		"fortran-$mpi.reel" "select count(*) from note where
		key = 'mpi_not_recorded'" --format tsv | tail -n +2)" 0
done

# A library that is loaded at the address of an unloaded one is a new library.
# One of them has a SysV hash table, one has no separate code segment.
gcc -w -o reload "$src/reload.c" -ldl
gcc -w -DLIBRARY -shared -fPIC -o plain.so "$src/reload.c"
gcc -w -DLIBRARY -shared -fPIC -Wl,-z,noseparate-code -o joint.so "$src/reload.c"
gcc -w -DLIBRARY -shared -fPIC -Wl,--hash-style=sysv -o old.so "$src/reload.c"
run=reload
is 'libraries loaded and unloaded: bare' "$(./reload ./plain.so ./joint.so ./old.so |
	sort | uniq -c | xargs)" '9 0 0'
"$IOREEL" record -q -o reload.reel -- ./reload ./plain.so ./joint.so ./old.so >out
is 'libraries loaded and unloaded: traced' "$(sort out | uniq -c | xargs)" '9 0 0'
is 'libraries loaded and unloaded: calls' "$(sql "$run.reel" "select group_concat(call ||
	' ' || n) from (select call, count(*) n from v_event where layer = 'MPIIO'
	group by 1)")" 'MPI_Barrier 9,MPI_Init 9'

if command -v mpicc.openmpi >/dev/null && command -v mpicc.mpich >/dev/null; then
	mpicc.openmpi -w -o two "$src/two.c" -ldl
	mpicc.mpich -w -o two.so -DPLUGIN "$src/two.c" -shared -fPIC -Wl,-z,lazy
	run=two
	timeout 300 ./two "$T/two.so" >bare 2>&1
	rm -f program plugin
	timeout 300 "$IOREEL" record -q -o two.reel -- ./two "$T/two.so" \
		>traced 2>&1
	is 'mpi_two_libraries: in one process' "$(cat traced)" "$(cat bare)"
	is 'mpi_two_libraries: each object calls its own MPI' "$(cat traced)" \
		"$(printf 'program: Open  0\nplugin: MPICH 0')"
	is 'mpi_two_libraries: one is recorded, a note names the other' \
		"$(sql "$run.reel" "select (select group_concat(path) from v_event where
			call = 'MPI_File_open'), (select count(*) from note where
			key = 'mpi_not_recorded' and value like '%mpich%')" |
			sed 's,.*/,,')" "$(printf 'program\t1')"
else
	skip 'mpi_two_libraries' 'not both are installed'
fi
finish
