#!/bin/bash
# SPDX-License-Identifier: MIT
# The calls of PyTorch jobs on their files, counted by strace and
# by ioreel: data loader workers with all kinds of exits, and torch.save, which
# writes through a C++ stream.
. "$(dirname "$0")/../lib/tap.sh"
. "$TOP/tests/jobs/torch.sh"
strace -qq -e trace=none true 2>/dev/null || skip_all 'no strace, or no ptrace'
count="$python $TOP/tests/lib/strace_count.py"
columns=opens,reads,read_bytes,writes,write_bytes,closes
mkdir all && mv data all/data

# oracle CASE [COLUMNS]
oracle() {
	local columns=${2:-$columns} run
	for run in strace ioreel; do
		rm -f all/*.pt
		if [ $run = strace ]; then
			set -- "$1" strace -ff -y -s 0 -o "$T/s.$1" \
				-e trace=%file,%desc,%process
		else
			set -- "$1" "$IOREEL" record -q -o "$T/$1.reel" --
		fi
		(cd all && "${@:2}" "$python" "$T/job.py" "$T/all/data" "$1") \
			>"out.$run" 2>"err.$run"
		echo "status $?" >>"out.$run"
	done
	is "$1: output and status" "$(cat out.ioreel)" "$(cat out.strace)"
	"$IOREEL" sql "$1.reel" --format tsv \
		'SELECT pid, call, path, result, errno FROM v_event' >events
	$count events all "$columns" <events >got
	$count strace all "$columns" "s.$1".* >want
	rm "s.$1".*
	check "$1: the output of strace is not empty" '[ $(wc -c <want) -gt 40 ]'
	is "$1: the calls of every process" "$(cat got)" "$(cat want)"
}

oracle alone
oracle workers
oracle spawned
oracle forkserver
oracle persistent
oracle loads
# The loader detects the dead worker at varying moments and ends the job: the
# files that it opens for its message differ between runs.
oracle worker_killed reads,read_bytes
oracle worker_leaves reads,read_bytes
finish
