# SPDX-License-Identifier: MIT
# Functions for the tests of MPI jobs. Source it after tap.sh.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# Without a network Open MPI sometimes prints a warning.
export OMPI_MCA_btl=^tcp
export PYTHONDONTWRITEBYTECODE=1 IOREEL_HOOKS=$TOP/preload/python
unset LD_PRELOAD
PY=/usr/bin/python3
[ -x "$PY" ] || PY=$(command -v python3) || skip_all 'no python3'
count="$PY $TOP/tests/lib/strace_count.py"
# Limit for a job that hangs. On a busy machine a bare mpirun of three
# ranks may take two minutes, as its processes wait for each other by turns.
patience=300
columns=opens,failed_opens,reads,read_bytes,writes,write_bytes,seeks,closes

# run_by openmpi|mpich RANKS: set the command that starts a job.
run_by() {
	case $1 in
	openmpi) echo "mpirun.openmpi --oversubscribe -n $2" ;;
	mpich) echo "mpirun.mpich -n $2" ;;
	esac
}

# beneath NAME CMD...: compare the calls on DATA's files with strace.
beneath() {
	local name=$1
	shift
	if ! strace -qq -e trace=none true 2>/dev/null; then
		skip "$name: calls beneath" 'no strace, or no ptrace'
		return
	fi
	rm -rf DATA && mkdir DATA
	timeout $patience strace -ff -y -s 0 -o "s.$name" \
		-e trace=%file,%desc,%process "$@" >out.bare 2>&1
	# a thread of libc executes aio by pread and pwrite
	sql "$name.reel" 'SELECT pid, call, path, result, errno FROM v_event' |
		sed 's/\tasync_\(read\|write\)\t/\tp\1\t/' >events
	sed -i '1i pid\tcall\tpath\tresult\terrno' events
	$count events DATA $columns <events >got
	$count strace DATA $columns s."$name".* >want
	check "$name: the output of strace is not empty" '[ $(wc -c <want) -gt 40 ]'
	is "$name: the calls of every process" "$(cat got)" "$(cat want)"
}

# moved NAME LEAST CMD...: the bytes that each rank prints ("0 wrote 10
# read 5") are those recorded for it in layer MPI-IO, except for calls of
# fewer bytes than LEAST, which are internal to a library.
moved() {
	local name=$1 least=$2
	shift 2
	rm -rf DATA "$name.reel" && mkdir DATA
	timeout $patience "$IOREEL" record -q -o "$name.reel" -- "$@" >out 2>err
	is "$name: the job succeeded" "$? $(grep -c ' wrote ' out)" "0 $ranks"
	is "$name: the bytes that each rank asked of MPI-IO" \
		"$(sql "$name.reel" "select rank || ' wrote ' || sum(iif(c.call_group =
			'write', e.result, 0)) || ' read ' || sum(iif(c.call_group =
			'read', e.result, 0)) from event e join call c using (call_id)
			join process p using (process_id) where layer = 'MPIIO' and
			call_group in ('read', 'write') and e.result >= $least
			group by rank order by rank")" "$(grep ' wrote ' out | sort -n)"
}
