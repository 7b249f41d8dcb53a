#!/bin/bash
# SPDX-License-Identifier: MIT
# What ioreel records against what strace saw of the same job: per process, the
# number of opens, reads, writes and their bytes, exactly. Of streams, whose
# reads libc makes inside itself, the bytes.
. "$(dirname "$0")/../tap.sh"

command -v strace >/dev/null || skip_all 'no strace'
strace -qq -e trace=none true 2>/dev/null || skip_all 'ptrace is not allowed'
PY=/usr/bin/python3
[ -x "$PY" ] || PY=$(command -v python3) || skip_all 'no python3'
export PYTHONDONTWRITEBYTECODE=1 IOREEL_HOOKS=$TOP/preload/python
unset LD_PRELOAD
count="$PY $TOP/tests/jobs/strace_count.py"
jobs=$TOP/tests/jobs/strace_jobs.py
probe=$O/tests/jobs/strace_probe
posix=opens,failed_opens,reads,read_bytes,writes,write_bytes,seeks,closes,stats
posix=$posix,failed_stats,names,syncs,truncates

# oracle WHAT COLUMNS PREPARE JOB...: DATA is a folder, made anew by PREPARE for
# both runs.
oracle() {
	local what=$1 columns=$2 prepare=$3 run
	shift 3
	for run in bare traced; do
		rm -rf DATA && mkdir DATA && $prepare || return
		if [ $run = bare ]; then
			strace -ff -y -s 0 -o "s.$what" -e trace=%file,%desc,%process \
				"$@" >out.bare 2>err.bare
		else
			"$IOREEL" record -q -o "$what.reel" -- "$@" \
				>out.traced 2>err.traced
		fi
		echo "status $?" >>out.$run
	done
	is "$what: output and status" "$(cat out.traced)" "$(cat out.bare)"
	"$IOREEL" sql "$what.reel" \
		'SELECT pid, call, path, result, errno FROM v_event' \
		--format tsv >events 2>err.sql || sed 's/^/# /' err.sql
	$count events DATA "$columns" <events >got
	$count strace DATA "$columns" s."$what".* >want
	check "$what: strace saw something" '[ $(wc -c <want) -gt 40 ]'
	is "$what: what every process did" "$(cat got)" "$(cat want)"
}

nothing() { :; }
make_files() { "$PY" "$jobs" make DATA; }

oracle posix "$posix" nothing "$probe" DATA
oracle stdio opens,read_bytes,write_bytes nothing "$probe" DATA stdio
oracle raw "$posix" nothing "$PY" "$jobs" raw DATA
oracle workers "$posix" make_files "$PY" "$jobs" workers DATA
oracle cat opens,failed_opens,reads,read_bytes,closes make_files \
	sh -c 'cat DATA/f00* | wc -c'
finish
