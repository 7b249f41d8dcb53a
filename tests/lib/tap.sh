# SPDX-License-Identifier: MIT
# TAP for the shell tests. Source it: . tests/lib/tap.sh; end with: finish
# Each test runs in a new directory $T, which is removed at the end.
# $IOREEL is the program, $O the build folder, $TOP the source tree.
TOP=$(cd "$(dirname "$0")" && pwd)
until [ -e "$TOP/tests/lib/tap.sh" ]; do TOP=${TOP%/*}; done
O=${O:-build}
case $O in /*) ;; *) O=$TOP/$O ;; esac
IOREEL=${IOREEL:-$O/ioreel}
PATH=$O:$PATH
export TOP O IOREEL PATH
export LC_ALL=C.UTF-8
# Independent of the caller: rights of new files, and descriptor 0 is open.
umask 022
true 2>/dev/null 9<&0 || exec </dev/null
if [ ! -x "$IOREEL" ]; then
	echo "Bail out! $IOREEL is not built"
	exit 1
fi
tap_n=0
tap_bad=0
T=$(mktemp -d "${TMPDIR:-/tmp}/ioreel-test.XXXXXX")
trap 'rm -rf "$T"' EXIT
trap 'exit 130' INT TERM
cd "$T" || exit 1

# The sanitizer cannot look for leaks under ptrace, and MPI has some of its own.
if [ -n "${IOREEL_ASAN:-}" ]; then
	mkdir .no_leaks
	for tap_p in strace mpirun mpirun.openmpi mpirun.mpich; do
		command -v $tap_p >/dev/null && ln -s "$TOP/tests/lib/no_leaks.sh" .no_leaks/$tap_p
	done
	PATH=$T/.no_leaks:$PATH
fi

# check TITLE COMMAND: ok if the shell command succeeds.
check() {
	tap_n=$((tap_n + 1))
	if eval "$2" >"$T/.tap.out" 2>&1; then
		echo "ok $tap_n - $1"
	else
		echo "not ok $tap_n - $1"
		echo "# command: $2" | head -c 2000
		echo
		sed 's/^/# /' "$T/.tap.out" | head -40
		tap_bad=1
	fi
}

# is TITLE GOT WANT: ok if the strings are equal.
is() {
	tap_n=$((tap_n + 1))
	if [ "$2" = "$3" ]; then
		echo "ok $tap_n - $1"
	else
		echo "not ok $tap_n - $1"
		printf '%s\n' "$2" | sed 's/^/# got:  /' | head -40
		printf '%s\n' "$3" | sed 's/^/# want: /' | head -40
		tap_bad=1
	fi
}

# sql RUN QUERY: the rows as TSV, without header. q QUERY: the same for $RUN.
sql() { "$IOREEL" sql --format tsv "$@" | tail -n +2; }
q() { sql "$RUN" "$1"; }

skip_all() {
	echo "1..0 # SKIP $1"
	exit 0
}

# skip TITLE REASON
skip() {
	tap_n=$((tap_n + 1))
	echo "ok $tap_n - $1 # SKIP $2"
}

# children PID [NAME]: pids of its children, or of those with that name. Read from
# /proc, since a small system has no ps.
children() {
	for tap_stat in /proc/[0-9]*/stat; do
		sed -n "s/^\([0-9]*\) (${2:-.*}) [A-Za-z] $1 .*/\1/p" "$tap_stat" 2>/dev/null
	done
}

finish() {
	echo "1..$tap_n"
	exit $tap_bad
}
