#!/bin/bash
# SPDX-License-Identifier: MIT
# Python processes lose no events, however they end: the calls of each are those
# of strace, and the job is unchanged.
. "$(dirname "$0")/../lib/tap.sh"
PY=/usr/bin/python3
[ -x "$PY" ] || PY=$(command -v python3) || skip_all 'no python3'
export PYTHONDONTWRITEBYTECODE=1 IOREEL_HOOKS=$TOP/preload/python
unset LD_PRELOAD
job=$TOP/tests/jobs/python_exits.py
count="$PY $TOP/tests/lib/strace_count.py"
columns=opens,reads,read_bytes,writes,write_bytes,closes
strace -qq -e trace=none true 2>/dev/null && strace=yes

fresh() { rm -rf DATA && mkdir DATA && "$PY" "$job" make DATA; }

recorded() {
	"$IOREEL" record -q -o "$1.reel" -- "$PY" "$job" "$1" DATA >rec.out 2>rec.err
	echo "status $?" >>rec.out
}

# guest CASE: the same output, status and files; the same calls as in strace.
guest() {
	fresh && "$PY" "$job" "$1" DATA >bare.out 2>bare.err
	echo "status $?" >>bare.out
	rm -rf bare.data && mv DATA bare.data
	fresh && recorded "$1"
	check "$1: the same output, status and files" \
		'diff bare.out rec.out && diff bare.err rec.err &&
		diff -r bare.data DATA'
	if [ -z "$strace" ]; then
		skip "$1: the calls of every process" 'no strace, or no ptrace'
		return
	fi
	"$IOREEL" sql "$1.reel" --format tsv \
		'SELECT pid, call, path, result, errno FROM v_event' >events
	$count events DATA $columns <events >got
	fresh && strace -ff -y -s 0 -o "s.$1" -e trace=%file,%desc,%process \
		"$PY" "$job" "$1" DATA >/dev/null 2>&1
	$count strace DATA $columns "s.$1".* >want
	is "$1: the calls of every process" "$(cat got)" "$(cat want)"
}

guest pool_sigterm_worker
guest os_exit_worker
guest kill9_worker
guest forkserver_worker

fresh && recorded daemon_threads_at_exit
is 'daemon_threads_at_exit: output and status' "$(cat rec.out rec.err)" \
	"$(printf 'the end\nstatus 0')"
reads=$("$IOREEL" sql daemon_threads_at_exit.reel --format tsv "
	SELECT count(*) FROM v_event WHERE call = 'pread'" | tail -1)
check 'daemon_threads_at_exit: every read up to the end' \
	'[ "$reads" -ge "$(cat DATA/done)" ]'
is 'no event is lost' "$(for r in *.reel; do "$IOREEL" sql "$r" --format tsv \
	'SELECT lost FROM run' | tail -1; done | sort -u)" 0
finish
