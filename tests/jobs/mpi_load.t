#!/bin/bash
# SPDX-License-Identifier: MIT
# ioreel-mpi load: the bytes of a store do not depend on the number of ranks.
. "$(dirname "$0")/../lib/tap.sh"
. "$TOP/tests/jobs/mpi/jobs.sh"
GEN=$O/tests/data/gen_trace
MPI=$O/ioreel-mpi
[ -x "$MPI" ] || skip_all 'built without MPI'
command -v mpirun >/dev/null || skip_all 'no mpirun'
run() { timeout $patience mpirun --oversubscribe -n "$@"; }

"$GEN" -k mixed -p 6 -t 3 -n 20000 -w 2 -s 11 mixed.reel
"$GEN" -k loader -p 3 -n 150000 -s 13 loader.reel
for t in mixed loader; do
	"$IOREEL" load -q -j 1 $t.reel -o $t.one.db
	for ranks in 1 2 3 7; do
		run $ranks "$MPI" load -q $t.reel -o $t.$ranks.db 2>err
		check "$t: $ranks ranks give the store of one thread" \
			"cmp $t.one.db $t.$ranks.db"
	done
done
run 3 "$MPI" load -q -j 2 loader.reel -o both.db
check 'so do ranks with threads' 'cmp loader.one.db both.db'
"$MPI" load -q -j 2 loader.reel -o alone.db
check 'and one rank without mpirun' 'cmp loader.one.db alone.db'

run 3 "$MPI" load -q nowhere -o x.db >out 2>err
is 'a failure is one line, and ends all ranks' "$? $(grep -c '^ioreel-mpi load: ' err)" '1 1'
check 'without a store' '[ ! -e x.db ] && ! ls | grep -q "x.db.tmp"'
run 3 "$MPI" load loader.reel mixed.reel >out 2>err
is 'wrong usage, too' "$(grep -c '^ioreel-mpi load: ' err)" 1

# A rank that dies ends the others. mpirun sends SIGKILL one second after
# SIGTERM, and a slow disk holds a rank longer than that: here it waits.
"$GEN" -k loader -p 4 -n 1000000 -s 3 long.reel
run 3 --mca odls_base_sigkill_timeout 5 \
	"$MPI" load -q long.reel -o died.db >out 2>err & pid=$!
while ! ls died.db.tmp.* >/dev/null 2>&1 && kill -0 $pid 2>/dev/null; do
	sleep 0.01
done
last=0 # of the ranks: the first one removes the file, when it can
for rank in /proc/[0-9]*; do
	read -r name <"$rank/comm" && [ "$name" = ioreel-mpi ] &&
		grep -q died.db "$rank/cmdline" && [ ${rank#/proc/} -gt $last ] &&
		last=${rank#/proc/}
done 2>/dev/null
[ $last = 0 ] || kill -KILL $last
wait $pid
status=$?
check 'a rank that is killed ends all, without a store' \
	'[ $status != 0 ] && [ ! -e died.db ] && ! ls | grep -q "died.db.tmp"'
finish
