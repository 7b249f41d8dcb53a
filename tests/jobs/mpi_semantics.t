#!/bin/bash
# SPDX-License-Identifier: MIT
# Further features of MPI: halves of collectives, shared pointers, many
# requests, views, groups, threads, children, an abort; collectives
# in flight during other work, messages, and an MPI that cannot be recorded.
. "$(dirname "$0")/../lib/tap.sh"
. "$TOP/tests/jobs/mpi/jobs.sh"
src=$TOP/tests/jobs/mpi

# Load once for many queries.
q() {
	[ "$1.db" -nt "$1.reel" ] || "$IOREEL" load -o "$1.db" "$1.reel" 2>/dev/null
	"$IOREEL" sql "$1.db" "$2" --format tsv | tail -n +2
}

# said NAME WHO: compare the output of processes with their records; an offset
# at the shared pointer is known to MPI only.
said() {
	local name=$1 who=$2 said rank

	for said in SAY/$who.*; do
		rank=${said##*.}
		q "$name" "select c.name || ' ' || iif(e.arg & 8, '-',
			coalesce(e.offset, '-')) || ' ' || e.asked || ' ' || e.result
			from event e join call c using (call_id)
			join process p using (process_id) where c.layer = 'MPIIO' and
			c.call_group in ('read', 'write') and p.rank = $rank and
			(select count(*) from v_event o where o.process_id =
			e.process_id and o.path like '%/$said') > 0
			order by e.start_ns" >got
		[ $name = $mpi-threads ] && sort -o got got && sort -o $said $said
		is "$name: $who.$rank asked for" "$(cat got)" "$(cat $said)"
	done
}

# job NAME STATUS CMD...: record, report, replay.
job() {
	local name=$1 status=$2
	shift 2
	rm -rf DATA SAY "$name.reel" "$name.db" && mkdir DATA SAY
	timeout $patience "$@" >out 2>&1
	is "$name: its status is unchanged" $? $status
	check "$name: it has a report" \
		'q '"$name"' "SELECT 1" >/dev/null; "$IOREEL" report '"$name"'.db | grep -q "^complete: .* none lost"'
	said "$name" say
}

record() {
	job "$1" "$2" "$IOREEL" record -q -o "$1.reel" -- "${@:3}"
}

# The notes on messages and the like: the largest of each process, summed.
noted() {
	q "$1" "select key, sum(n) from (select key, process_id, max(0 + value) n
		from note where key in ('mpi_messages', 'mpi_one_sided',
		'mpi_collectives') group by 1, 2) group by 1"
}

nonblocking() {
	local name=$mpi-started

	mpicc.$mpi -w -o started "$src/started.c"
	rm -rf DATA && mkdir DATA
	timeout $patience "$IOREEL" record -q -o $name.reel -- \
		$(run_by $mpi 4) ./started DATA >out 2>&1
	is "$name: it succeeded" "$? $(grep -c ended out)" '0 4'
	is "$name: start and end have the same participants" \
		"$(q $name "select name, count(*), sum(n = members) from (select
			c.name, count(*) n, max(pos) / 2 members from event e
			join call c using (call_id) where c.name glob 'MPI_I[^n]*' or
			c.name = 'mpi_completed' group by 1, arg, arg2) group by 1")" \
		"$(printf 'MPI_I%s\n' 'allreduce	16	16' 'barrier	8	8' \
			'bcast	8	8' 'gather	8	8'
			printf 'mpi_completed\t40\t40')"
	is "$name: each ends once, after the last rank has begun it" \
		"$(q $name "select count(*) from (select e.process_id, e.arg, e.arg2,
			sum(c.name = 'mpi_completed') ends, sum(c.name like 'MPI_I%')
			starts from event e join call c using (call_id) where c.name
			like 'MPI_I%all%' or c.name = 'MPI_Ibarrier' or c.name =
			'mpi_completed' group by 1, 2, 3) where ends <> 1") $(q $name \
			"with m as (select arg, arg2, max(e.start_ns) last from event e
			join call c using (call_id) where c.name in ('MPI_Ibarrier',
			'MPI_Iallreduce') group by 1, 2) select count(*) from event e
			join call c using (call_id) join m using (arg, arg2)
			where c.name = 'mpi_completed' and e.start_ns + e.dur_ns < m.last")" '0 0'
	is "$name: messages are counted" "$(noted $name)" "mpi_messages	32"
	check "$name: and the report has them" \
		'"$IOREEL" report '$name'.reel | grep "^MPI: 32 point-to-point "'
}

# worlds NAME RANKS...: worlds are distinguished, with the calls of their ranks.
# RANKS is the number of ranks of each world, "3 2".
worlds() {
	local name=$1 n want=

	for n in $2; do want+=$(seq -s' ' 0 $((n - 1)))' '; done
	is "$name: each world has its ranks" "$(q $name "select group_concat(rank,
		' ') || ' ' from (select rank from v_world join note using
		(process_id) where key = 'mpi_world' order by world, rank)")" "$want"
	is "$name: and the table of ranks has a line for each" "$("$IOREEL" report \
		--ranks $name.db | sed -n '/^MPI-IO by/,/^$/p' |
		awk '$1 ~ /^[0-9]/ { printf "%s ", $2 }')" "$want"
	check "$name: the report says so" '"$IOREEL" report '$name'.db |
		grep "^worlds: MPI made '$(wc -w <<<"$2")', of '"${2// /, }"'"'
}

for mpi in openmpi mpich; do
	if ! command -v mpicc.$mpi >/dev/null ||
	   ! command -v mpirun.$mpi >/dev/null; then
		skip "$mpi" "no mpicc.$mpi, mpirun.$mpi"
		continue
	fi
	mpicc.$mpi -w -o more "$src/more.c" -lpthread
	record $mpi-many 0 $(run_by $mpi 4) ./more DATA SAY split shared \
		requests views groups forks
	is "$mpi-many: messages" "$(noted $mpi-many)" "mpi_messages	4"
	# the POSIX calls of the other cases depend on the timing of ranks
	n=3 && [ $mpi = mpich ] && n=8
	job $mpi-each 0 $(run_by $mpi $n) "$IOREEL" record -q -o $mpi-each.reel \
		-- ./more DATA SAY split requests groups forks
	beneath $mpi-each $(run_by $mpi $n) ./more DATA SAY split requests \
		groups forks
	check "$mpi-each: it can be replayed" 'timeout $patience "$IOREEL" replay \
		-o again.db '$mpi'-each.db'
	record $mpi-threads 0 $(run_by $mpi 2) ./more DATA SAY threads
	record $mpi-aborts 7 $(run_by $mpi 2) ./more DATA SAY aborts
	nonblocking
	rm -rf DATA SAY && mkdir DATA SAY
	timeout $patience "$IOREEL" record -q -o $mpi-two.reel -- sh -c "
		$(run_by $mpi 2) ./more DATA SAY groups
		$(run_by $mpi 3) ./more DATA SAY views
		$(run_by $mpi 3) ./more DATA SAY groups" >out 2>&1
	worlds $mpi-two '2 3 3'
done

# Children that MPI spawns need a network, at least loopback. Their
# launcher starts them, inside or outside the recording.
unset OMPI_MCA_btl
for mpi in openmpi mpich; do
	mkdir -p DATA SAY
	if ! command -v mpicc.$mpi >/dev/null || ! mpicc.$mpi -w -o more \
		"$src/more.c" -lpthread || ! timeout $patience \
		$(run_by $mpi 3) ./more DATA SAY spawn >/dev/null 2>&1; then
		skip "$mpi-spawn" 'MPI_Comm_spawn does not work here, bare'
		continue
	fi
	record $mpi-spawn 0 $(run_by $mpi 3) ./more DATA SAY spawn
	said $mpi-spawn spawned
	worlds $mpi-spawn '3 2'
	rm -rf DATA SAY spawn.reel && mkdir DATA SAY
	timeout $patience $(run_by $mpi 3) "$IOREEL" record -o spawn.reel -- \
		./more DATA SAY spawn >out 2>&1
	is "$mpi: children outside the recording are reported" \
		"$? $(grep -o '(2 started without LD_PRELOAD.*LAUNCHER' out) $(q \
		spawn "select value from note where key = 'untraced'")" '0 (2 started without LD_PRELOAD); try: --follow-env,'\
' or ioreel record -- LAUNCHER env ./more'
done

# A launcher's variable shows that it is a rank, its symbols that it contains
# MPI.
gcc -w -DLIBRARY -c -o tiny.o "$src/linked.c" && ar rcs libtiny.a tiny.o
for how in '' -rdynamic; do
	gcc -w $how -o "linked$how" "$src/linked.c" libtiny.a
	rm -rf linked.reel linked.db
	PMI_RANK=0 "$IOREEL" record -q -o linked.reel -- "./linked$how" f
	is "an MPI that is linked in$how is not recorded, and that is noted" "$? $(q \
		linked "select value from note where key = 'mpi_not_recorded'")" \
		"0 $(realpath "linked$how") (linked into the program)"
done
check 'and the report shows it' \
	'"$IOREEL" report linked.reel | grep "^MPI not seen: .*linked into"'
# Worlds of one that no launcher made, as importing mpi4py makes them.
printf '%s\n' '#include <mpi.h>' 'int main(int n, char **s) { MPI_Init(&n, &s); MPI_Finalize(); return 0; }' >alone.c
if command -v mpicc >/dev/null && mpicc -o alone alone.c 2>/dev/null; then
	# One after the other: two at a time fail where Open MPI makes one folder for both.
	"$IOREEL" record -q -o alone.reel -- sh -c './alone; ./alone' >/dev/null 2>&1
	is 'processes with a world of their own are no ranks' \
		"$(q alone "select (select count(*) from process where rank is not null),
			(select count(*) from note where key = 'mpi_world'),
			(select count(*) from v_event where call = 'MPI_Init')")" "0	0	2"
else
	skip 'processes with a world of their own are no ranks' 'no mpicc'
fi
"$IOREEL" record -q -o plain.reel -- env PMI_RANK=0 sh -c ': >f'
is 'without MPI there is no note' \
	"$(q plain "select count(*) from note where key like 'mpi%'")" 0
finish
