# SPDX-License-Identifier: MIT
# Replays a recorded job and checks its calls. Source it after tap.sh. All of it
# leaves the output of the last replay in ./out and ./err.
unset LD_PRELOAD

# all_same FILE: the output of a replay says that every call gave the recorded
# result.
all_same() {
	grep -Eq '; ([0-9,]+) of \1 calls gave' "$1"
}

# same_sequences FILE: it says that every thread made the recorded calls, in the
# recorded order.
same_sequences() {
	grep -Eq 'identical in ([0-9]+) of \1 threads' "$1"
}

# replays RUN MODE [OPTION...]: a replay in MODE succeeds, and every call gives
# the recorded result.
replays() {
	replay_run=$1 replay_mode=$2
	shift 2
	timeout 300 "$IOREEL" replay "$replay_run" --$replay_mode "$@" \
		>out 2>err
	replay_rc=$?
	check "$replay_run, --$replay_mode: every call gives the recorded result" \
		'[ $replay_rc = 0 ] && all_same out ||
		{ echo "exit status $replay_rc"; cat out err; false; }'
}

# differences JOB...: record the job in work/, as job.reel, and replay it as
# fast as possible. Prints the calls that gave another result, or nothing. The
# exit status of the job is in ./rc, its output in ./said.
differences() {
	rm -rf job.reel
	(cd work && "$IOREEL" record -q -o ../job.reel "$@" >../said 2>&1)
	echo $? >rc
	timeout 300 "$IOREEL" replay job.reel --afap >out 2>err || cat err
	grep '^  thread' out
	all_same out || cat out
}
