#!/bin/bash
# SPDX-License-Identifier: MIT
# Offsets and paths of every read and write, compared with a program that
# queries the kernel before each; descriptors that shells share with commands;
# the time of day.
. "$(dirname "$0")/../lib/tap.sh"

unset LD_PRELOAD
probe=$O/tests/jobs/offsets_probe

for what in exec append big paths; do
	mkdir $what && cd $what || exit 1
	seq 20000 | head -c 100000 >a
	"$IOREEL" record -q -o ../$what.reel --exclude '*/oracle.*' -- "$probe" $what "$T/oracle.$what"
	cd ..
	"$IOREEL" load -q $what.reel -o $what.db
	for f in oracle.$what.*; do
		echo "pid ${f##*.}"
		cat "$f"
	done >want
	for f in oracle.$what.*; do
		echo "pid ${f##*.}"
		sql $what.db "SELECT call, substr(path, length('$T/$what/') + 1),
			offset, bytes FROM v_event WHERE pid = ${f##*.} AND
			call_group IN ('read', 'write') ORDER BY start_ns"
	done >got
	is "$what: each read and write has the kernel's offset" \
		"$(cat got)" "$(cat want)"
done
is 'exec: two files, each opened once' \
	"$(sql exec.db "SELECT count(*), count(DISTINCT open_id) FROM v_event
	WHERE offset IS NOT NULL AND call_group IN ('read', 'write')")" "18	2"

# The commands of a script share their output: no two write at one offset, and
# together they fill the file.
head -c 1000 /dev/zero >x; head -c 77 /dev/zero >y
# (dd reads and writes; cat may copy inside the kernel.)
cat >script <<'EOF'
put() { dd bs=100 status=none; }
exec >out 2>&1
put <x; put <y; (put <x; put <y >&2); cat x | put
{ head -c 10; head -c 5; } <x | put
put <y >>out2; cat x y | put >>out2
EOF
"$IOREEL" record -q -o script.reel -- bash script
for f in out out2; do
	is "$f: the writes of all commands are consecutive" "$(sql script.reel \
		"SELECT count(DISTINCT offset) = count(*),
		max(offset + bytes), sum(bytes)
		FROM v_event WHERE path = '$T/$f' AND call_group = 'write'")" \
		"1	$(stat -c %s $f)	$(stat -c %s $f)"
done

before=$(date +%s)
"$IOREEL" record -q -o when.reel -- cat x >/dev/null
at=$(sql when.reel 'SELECT start_real_ns / 1000000000 FROM run')
check 'the time of day of the first event' \
	'[ "$at" -ge $before ] && [ "$at" -le $(date +%s) ]'

# Code files count once, whether a process recorded other files or not.
"$IOREEL" record -o code.reel -- sh -c '/bin/true; cat x; cat /etc/passwd' \
	>/dev/null 2>err
is 'record and report count the same code files' \
	"$(sql code.reel 'SELECT code_opens FROM v_summary')" \
	"$(grep -o '[0-9]* opens* of code' err | grep -o '[0-9]*' || echo 0)"

if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	chmod 755 "$T"
	chmod 700 code.reel
	run="setpriv --reuid=65534 --regid=65534 --clear-groups"
	for verb in report sql load; do
		check "$verb: the trace of another user is denied, not unknown" \
			'! $run "$IOREEL" '$verb' code.reel 2>err &&
			grep -q "Permission denied" err && [ $(wc -l <err) = 1 ]'
	done
fi
finish
