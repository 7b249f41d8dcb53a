# SPDX-License-Identifier: MIT
# The oracle: compares ioreel's records of a job with strace's, per process.
# Source it after tests/lib/tap.sh; without strace it skips all tests.
#
#   oracle NAME COLUMNS PREPARE JOB...
#
# PREPARE is a command that fills DATA, a directory created anew for both runs;
# COLUMNS are the columns of strace_count.py to compare. Output and status of the
# job must be equal too. $PY is a Python for jobs.
command -v strace >/dev/null || skip_all 'no strace'
strace -qq -e trace=none true 2>/dev/null || skip_all 'ptrace is not allowed'
PY=/usr/bin/python3
[ -x "$PY" ] || PY=$(command -v python3) || skip_all 'no python3'
export PYTHONDONTWRITEBYTECODE=1 IOREEL_HOOKS=$TOP/preload/python
unset LD_PRELOAD

# Calls of every kind, for jobs that make them directly.
posix=opens,failed_opens,reads,read_bytes,writes,write_bytes,seeks,closes,stats
posix=$posix,failed_stats,names,syncs,truncates
# For jobs that copy, whose opens and stats are partly libc's.
copies=opens,failed_opens,reads,read_bytes,writes,write_bytes,copies_in
copies=$copies,copied_in_bytes,copies_out,copied_out_bytes,closes,names,links
copies=$copies,truncates
# For jobs with streams, whose reads and writes are libc's.
bytes=opens,read_bytes,write_bytes,copied_in_bytes,copied_out_bytes,names,links

oracle_count() {
	"$PY" "$TOP/tests/lib/strace_count.py" "$@"
}

oracle() {
	local name=$1 columns=$2 prepare=$3 run
	shift 3
	if ! command -v "$1" >/dev/null; then
		skip "$name" "no $1"
		return
	fi
	for run in bare traced; do
		rm -rf DATA && mkdir DATA && $prepare || exit 1
		if [ $run = bare ]; then
			strace -ff -y -s 0 -o "s.$name" \
				-e trace=%file,%desc,%process \
				"$@" >out.bare 2>err.bare
		else
			"$IOREEL" record -q -o "$name.reel" -- "$@" \
				>out.traced 2>err.traced
		fi
		echo "status $?" >>out.$run
	done
	is "$name: output and status" "$(cat out.traced)" "$(cat out.bare)"
	"$IOREEL" sql "$name.reel" \
		'SELECT pid, call, path, result, errno FROM v_event' \
		--format tsv >events 2>err.sql || sed 's/^/# /' err.sql
	oracle_count events DATA "$columns" <events >got
	oracle_count strace DATA "$columns" s."$name".* >want
	check "$name: strace has calls" '[ $(wc -c <want) -gt 40 ]'
	is "$name: calls of every process" "$(cat got)" "$(cat want)"
}
