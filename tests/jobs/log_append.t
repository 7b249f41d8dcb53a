#!/bin/bash
# SPDX-License-Identifier: MIT
# Calls that a recorder may miss or misinterpret: logs that are appended
# line by line, dprintf, code without unwind tables under --stacks. The job
# is unchanged, and the recorded bytes are those in the files.
. "$(dirname "$0")/../lib/tap.sh"

unset LD_PRELOAD
host=$O/tests/jobs/log_append

# both WHAT [OPTION]: run it bare and recorded, in a folder each.
both() {
	local what=$1 run
	shift
	for run in bare traced; do
		rm -rf $run && mkdir $run && seq 1000 >$run/in
	done
	(cd bare && "$host" $what >../out.bare; echo "status $?" >>../out.bare)
	rm -rf $what.reel
	(cd traced && timeout 60 "$IOREEL" record -q "$@" -o ../$what.reel -- \
		"$host" $what >../out.traced; echo "status $?" >>../out.traced)
	is "$what $*: its output and status" "$(cat out.traced)" "$(cat out.bare)"
	is "$what $*: its files" "$(cd traced && md5sum *)" "$(cd bare && md5sum *)"
}

both append
is 'append: every line is written once, at the end' \
	"$(sql append.reel "SELECT sum(bytes), max(offset + bytes), count(*) = count(DISTINCT offset)
	FROM v_event WHERE path LIKE '%/log' AND call_group = 'write'")" \
	"$(stat -c '%s	%s' traced/log)	1"
is 'append: only one character is read' "$(sql append.reel \
	"SELECT sum(bytes) FROM v_event WHERE path LIKE '%/log' AND call_group = 'read'")" 1

both shared
is 'shared: a line that threads wrote to one stream is recorded once' "$(sql shared.reel \
	"SELECT sum(bytes) FROM v_event WHERE path LIKE '%/log' AND call_group = 'write'")" \
	"$(stat -c %s traced/log)"

both dprintf
is 'dprintf: its writes, and the one that failed' "$(sql dprintf.reel \
	"SELECT sum(bytes), count(*), sum(errno = 9) FROM v_event
	WHERE call = 'write' AND ifnull(path, '/out') LIKE '%/out'")" "$(stat -c %s traced/out)	11	1"

# told WHAT GROUP FILE: compare the bytes of the group with the size of the
# file.
told() {
	seq 5000 >scan.in
	rm -rf $1.reel
	"$IOREEL" record -q -o $1.reel -- "$host" $1 <scan.in >$1.out 2>$1.err
	is "$1: all bytes of $3 are recorded" "$(sql $1.reel "SELECT sum(bytes)
		FROM v_event WHERE call_group = '$2' AND path LIKE '%/$3'")" \
		"$(stat -c %s $3)"
}
told print write print.out
told flush write flush.out
told scan read scan.in
told scan write scan.err

# The unwinder must hold no descriptor, and never write to one of the program.
both jit --stacks
both nofile --stacks
check 'nofile: a call site with and without a file is one site' \
	'"$IOREEL" report --stacks nofile.reel | grep -q "4 .* read .* data "'
finish
