#!/bin/bash
# SPDX-License-Identifier: MIT
# Processes that end our sight of them (seccomp, chroot, setuid, dlmopen) run as
# bare, and what is not recorded is said, by record and by report; a child that
# shares its parent's memory is not taken for it.
. "$(dirname "$0")/../../lib/tap.sh"
. "$TOP/tests/lib/probe.sh"
command -v strace >/dev/null || skip_all 'no strace'
P=$T/seccomp
cp "$O/tests/shim/exec/seccomp" "$O/libioreel.so" .
chmod 755 .

# as_bare HOW: output and end, traced; record's lines are in lines.
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
	is "$1: output and end" "$(cat traced)" "$(cat bare)"
}

as_bare loop
is 'loop: a filter that is refused ends nothing' "$(q "select count(*)
	from v_event where call = 'read' and path like '%/data'")" 11

for how in strict filter syscall one; do
	as_bare $how
	check "$how: the reads were made" 'grep -q ^10 bare'
	is "$how: what came before is there" \
		"$(q "select group_concat(call) from v_event")" open
	check "$how: record says what is not" \
		'grep -q "NOT TRACED (1 confined by seccomp" lines'
	check "$how: and the report" \
		'"$IOREEL" report t.reel | grep -q "^untraced: .*seccomp"'
done

if [ "$(id -u)" -eq 0 ]; then
	for how in chroot setuid; do
		as_bare $how
		(cd here && strace -qq -o ../st -e trace=openat,read,close \
			"$P" $how >/dev/null)
		# The calls after: one open, eleven reads, and the close.
		n=$(awk '/"data"/ { from = NR } { n = NR } END { print n - from }' st)
		check "$how: there is something to lose" '[ "$n" -ge 12 ]'
		check "$how: no event is both not there and not counted" \
			'[ $(($(lost) + $(q "select count(*) from v_event"))) -ge 12 ]'
		check "$how: record says so" 'grep -q "events\{0,1\} LOST" lines'
		check "$how: and the report" \
			'"$IOREEL" report t.reel | grep -q "^incomplete: .* lost"'
	done
else
	skip 'chroot, setuid' 'needs root'
fi

for how in clone clone_vfork; do
	as_bare $how
	(cd here && strace -ff -qq -o st -e trace=openat,pread64,close "$P" $how \
		>/dev/null)
	child=$(grep -l '"other"' here/st.*)
	is "$how: the parent's calls are its own" "$(q "select count(*),
		sum(bytes) from v_event where call = 'pread'")" "5000	220000"
	is "$how: the child's are nobody's" "$(q "select count(*) from v_event
		where path like '%/other'")" 0
	is "$how: and counted, as strace does" "$(lost)" \
		"$(grep -cE '^(openat|pread64|close)' "$child")"
	check "$how: record says so" 'grep -q "events LOST" lines'
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
		is 'dlmopen: the library is named' "$(q "select value from note
			where key = 'untraced'")" "namespace $T/libwork.so"
		check 'dlmopen: record says so' 'grep -q dlmopen lines'
	else
		skip 'dlmopen' 'a loader that keeps its namespaces to itself'
	fi
else
	skip 'dlmopen' "no $CC"
fi
finish
