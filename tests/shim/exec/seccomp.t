#!/bin/bash
# SPDX-License-Identifier: MIT
# Processes that end their recording (seccomp, chroot, setuid, dlmopen) run as
# bare, and record and report show the gap. A child that shares its parent's
# memory is not mistaken for it.
. "$(dirname "$0")/../../lib/tap.sh"
. "$TOP/tests/lib/probe.sh"
command -v strace >/dev/null || skip_all 'no strace'
P=$T/seccomp
cp "$O/tests/shim/exec/seccomp" "$O/libioreel.so" .
chmod 755 .

# as_bare HOW: compare output and status; the messages of record are in lines.
as_bare() {
	rm -rf here t.reel
	mkdir here
	chmod 777 here
	head -c 1000 /dev/zero >here/data
	head -c 10000 /dev/zero >here/other
	(cd here && "$P" "$1"; echo "status $?") >bare 2>&1
	(cd here && "$IOREEL" record -o ../t.reel -- "$P" "$1" 2>../all
		echo "status $?") >traced
	grep -v '^ioreel: ' all >>traced
	grep '^ioreel: ' all >lines
	RUN=t.reel
	is "$1: output and status" "$(cat traced)" "$(cat bare)"
}

as_bare loop
is 'loop: recording continues after a refused filter' "$(q "select count(*)
	from v_event where call = 'read' and path like '%/data'")" 11

for how in strict filter syscall one; do
	as_bare $how
	check "$how: the reads were made" 'grep -q ^10 bare'
	is "$how: events before the filter are recorded" \
		"$(q "select group_concat(call) from v_event")" open
	check "$how: record reports the gap" \
		'grep -q "NOT TRACED (1 confined by seccomp" lines'
	check "$how: report does too" \
		'"$IOREEL" report t.reel | grep -q "^untraced: .*seccomp"'
done

if [ "$(id -u)" -eq 0 ]; then
	for how in chroot setuid; do
		as_bare $how
		(cd here && strace -qq -o ../st -e trace=openat,read,close \
			"$P" $how >/dev/null)
		# The calls after: one open, eleven reads, and the close.
		n=$(awk '/"data"/ { from = NR } { n = NR } END { print n - from }' st)
		check "$how: strace has calls after it" '[ "$n" -ge 12 ]'
		check "$how: they are recorded, though its process cannot write them" \
			'[ "$(q "select count(*) from v_event")" -ge 12 ]'
		is "$how: nothing is lost" "$(lost)" 0
		is "$how: the recorder has moved them to the log" \
			"$(ls t.reel | grep -c windows)" 0
		check "$how: record and report say so" 'grep -q "nothing lost" lines &&
			"$IOREEL" report t.reel | grep -q "^complete: .* none lost"'
	done
else
	skip 'chroot, setuid' 'needs root'
fi

for how in clone clone_vfork; do
	as_bare $how
	(cd here && strace -ff -qq -o st -e trace=openat,pread64,close "$P" $how \
		>/dev/null)
	child=$(grep -l '"other"' here/st.*)
	is "$how: the parent has its own calls only" "$(q "select count(*),
		sum(bytes) from v_event where call = 'pread'")" "5000	220000"
	is "$how: the child's calls are not recorded" "$(q "select count(*) from v_event
		where path like '%/other'")" 0
	is "$how: the child's calls are counted, as in strace" "$(lost)" \
		"$(grep -cE '^(openat|pread64|close)' "$child")"
	check "$how: record reports the loss" 'grep -q "events LOST" lines'
done

cat >lib.c <<'C'
#include <fcntl.h>
#include <unistd.h>
int work(void)
{
	char b[100];
	return (int)read(open("data", O_RDONLY), b, sizeof(b));
}
C
if $CC -shared -fPIC -o libwork.so lib.c 2>/dev/null; then
	as_bare "$T/libwork.so"
	if grep -q '^100' bare && ldd --version 2>&1 |
		awk 'NR == 1 { exit !($NF >= 2.35) }'; then
		is 'dlmopen: a note names the library' "$(q "select value from note
			where key = 'untraced'")" "namespace $T/libwork.so"
		check 'dlmopen: record reports it' 'grep -q dlmopen lines'
	else
		skip 'dlmopen' 'the loader does not list its namespaces'
	fi
else
	skip 'dlmopen' "no $CC"
fi
finish
