#!/bin/bash
# SPDX-License-Identifier: MIT
# ioreel-mpi replay without mpirun is one rank: it ends and leaves no process;
# after a signal it removes the sandbox.
. "$(dirname "$0")/../lib/tap.sh"
. "$TOP/tests/lib/replay.sh"
[ -x "$O/ioreel-mpi" ] || skip_all 'no Open MPI'
unset OMPI_COMM_WORLD_RANK OMPI_COMM_WORLD_SIZE PMIX_RANK PMIX_SIZE \
	PMI_RANK PMI_SIZE PMI_FD PMI_PORT PALS_RANKID

"$IOREEL" record -q -o job.reel sh -c 'cat /etc/passwd >out'
"$IOREEL" replay job.reel --plan job.plan 2>err
timeout -k 1 60 "$O/ioreel-mpi" replay job.plan box >out 2>err
is 'it succeeds' "$?" 0
check 'every call gives the recorded result' 'cat out err; all_same out'
check 'it removes the sandbox' '[ ! -e box ]'

# All processes that it starts inherit this variable.
marked() {
	grep -lz "^REPLAY_MARK=$T\$" /proc/[0-9]*/environ 2>/dev/null | wc -l
}
REPLAY_MARK=$T timeout -k 1 60 "$O/ioreel-mpi" replay job.plan box >out 2>err
is 'no process is left' "$(marked)" 0

# A shell that calls exec() leaves its own child to the replay.
sh -c 'sleep 300 & echo $! >other; exec "$0" replay job.plan box' "$O/ioreel-mpi" \
	>out 2>err &
pid=$!
for ((i = 0; i < 600; i++)); do
	kill -0 $pid 2>/dev/null || break
	sleep 0.1
done
check 'it does not wait for a child that it did not start' '! kill -0 $pid 2>/dev/null'
kill "$(cat other)"

"$IOREEL" record -q -o long.reel sh -c 'cat /etc/passwd; sleep 8; echo' >out
"$IOREEL" replay long.reel --plan long.plan 2>err
for sig in INT TERM HUP; do
	REPLAY_MARK=$T env --default-signal "$O/ioreel-mpi" replay long.plan box >out 2>err &
	pid=$!
	for ((i = 0; i < 600; i++)); do
		[ "$(marked)" -gt 1 ] && break
		sleep 0.1
	done
	kill -$sig $pid
	for ((i = 0; i < 300; i++)); do
		kill -0 $pid 2>/dev/null || break
		sleep 0.1
	done
	wait $pid
	is "SIG$sig: exit status 128 + n" "$?" $((128 + $(kill -l $sig)))
	is "SIG$sig: one line on stderr" "$(cat err)" 'ioreel-mpi replay: interrupted'
	is "SIG$sig: no process and no sandbox is left" \
		"$(marked) $(ls -d box 2>/dev/null)" '0 '
done

# wrong LINE ARGS...: exit status 2, LINE, and a line of usage.
wrong() {
	line=$1
	shift
	"$O/ioreel-mpi" "$@" >out 2>err
	is "wrong usage: ioreel-mpi $*" "$? $(cat out)$(sed 's/^usage: .*/usage/' err)" \
		"2 ioreel-mpi$line
usage"
}
wrong " replay: 'fast' is not think, timed or afap" replay job.plan box fast
wrong " replay: 'more' is one word too many" replay job.plan box afap more
wrong ' replay: no root given' replay job.plan
wrong ' replay: no plan given' replay
wrong " replay: unknown option '--afap'" replay job.plan box --afap
wrong ": unknown command 'reply'; did you mean 'replay'?" reply job.plan box
check 'ioreel-mpi lists its verbs' '"$O/ioreel-mpi" >out && grep -q "^  replay " out'
check 'its --help shows the usage' '"$O/ioreel-mpi" replay --help >out &&
	grep -Fqx "usage: ioreel-mpi replay PLAN ROOT [think|timed|afap]" out'
finish
