# SPDX-License-Identifier: MIT
# The oracle: what ioreel records of a job against what strace saw of it, per
# process. Source it behind tests/lib/tap.sh; it skips all without strace.
#
#   oracle WHAT COLUMNS PREPARE JOB...
#
# PREPARE is a command that fills DATA, a folder that is made anew for both runs;
# COLUMNS are those of strace_count.py that are compared. What the job prints
# and how it ends must not differ either. $PY is a Python for its jobs.
command -v strace >/dev/null || skip_all 'no strace'
strace -qq -e trace=none true 2>/dev/null || skip_all 'ptrace is not allowed'
PY=/usr/bin/python3
[ -x "$PY" ] || PY=$(command -v python3) || skip_all 'no python3'
export PYTHONDONTWRITEBYTECODE=1 IOREEL_HOOKS=$TOP/preload/python
unset LD_PRELOAD

# Calls of every kind, for jobs that make them themselves.
posix=opens,failed_opens,reads,read_bytes,writes,write_bytes,seeks,closes,stats
posix=$posix,failed_stats,names,syncs,truncates
# For those that copy, and that open and look inside of libc, too.
copies=opens,failed_opens,reads,read_bytes,writes,write_bytes,copies_in
copies=$copies,copied_in_bytes,copies_out,copied_out_bytes,closes,names,links
copies=$copies,truncates
# For streams: their reads and writes are libc's.
bytes=opens,read_bytes,write_bytes,copied_in_bytes,copied_out_bytes,names,links

oracle_count() {
	"$PY" "$TOP/tests/lib/strace_count.py" "$@"
}

oracle() {
	local what=$1 columns=$2 prepare=$3 run
	shift 3
	if ! command -v "$1" >/dev/null; then
		skip "$what" "no $1"
		return
	fi
	for run in bare traced; do
		rm -rf DATA && mkdir DATA && $prepare || exit 1
		if [ $run = bare ]; then
			strace -ff -y -s 0 -o "s.$what" \
				-e trace=%file,%desc,%process \
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
	oracle_count events DATA "$columns" <events >got
	oracle_count strace DATA "$columns" s."$what".* >want
	check "$what: strace saw something" '[ $(wc -c <want) -gt 40 ]'
	is "$what: what every process did" "$(cat got)" "$(cat want)"
}
