#!/bin/sh
# SPDX-License-Identifier: MIT
# Hostile and unusual input: damaged and growing traces, numbers on which two
# commands must agree, malicious names and arguments.
. "$(dirname "$0")/../lib/tap.sh"
trace=$TOP/tests/data/trace-1.0

one() { ioreel sql "$1" "$2" | tail -n 1; }

# --- damage is reported above the numbers ---------------------------------------

report_of() { ioreel report "$1" >"$1.out" && head -4 "$1.out"; }
damaged() {
	report_of "$1" | grep -q "^incomplete: .*the trace is damaged" &&
		grep -q "^damaged: .*$2" "$1.out" &&
		ioreel report --json "$1" | grep -q '"complete": false'
}
log=$(cd "$trace" && ls -S ./*.log | head -1)
for name in whole cut hole empty job; do
	cp -r "$trace" $name.reel && chmod -R u+w $name.reel
done
size=$(wc -c <"whole.reel/$log")
truncate -s $((size * 2 / 3)) "cut.reel/$log"
head -c 64 /dev/zero | tr '\0' '\377' |
	dd of="hole.reel/$log" bs=1 seek=$((size / 2)) conv=notrunc 2>/dev/null
: >"empty.reel/$log"
echo '{"command": [' >job.reel/job.json

check 'a whole trace is complete' 'report_of whole.reel | grep -q "^complete: " &&
	! grep -q "^damaged:" whole.reel.out &&
	ioreel report --json whole.reel | grep -q "\"complete\": true"'
check 'a truncated log is reported' 'damaged cut.reel "skipped in 1 place"'
check 'a log with a hole too' 'damaged hole.reel "skipped in [0-9]* place"'
check 'an empty log too' 'damaged empty.reel "1 file unreadable"'
check 'a job.json that is not JSON' 'damaged job.reel "1 file unreadable"'

# --- a job that still runs ----------------------------------------------------

mkfifo go
ioreel record -q -o live.reel -- sh -c 'cat /dev/null >f; read x <go' &
pid=$!
for i in 1 2 3 4 5 6 7 8 9 10; do
	[ -s live.reel/job.json ] && ls live.reel/*.log >/dev/null 2>&1 && break
	sleep 0.2
done
check 'a running job is reported, and marked as running' \
	'ioreel report live.reel | grep -q "^running: the command had not ended"'
echo on >go
wait $pid
check 'and not marked after its end' \
	'ioreel report live.reel >out && ! grep -q "^running" out'

if command -v python3 >/dev/null; then
	echo x >f
	ioreel record -q -o busy.reel -- python3 -c 'import os, time
fd, end = os.open("f", os.O_RDONLY), time.time() + 20
while not os.path.exists("stop") and time.time() < end:
	for i in range(1000):
		os.pread(fd, 1, 0)' &
	pid=$!
	# Long enough to be still running while it is loaded.
	for i in $(seq 100); do
		[ "$(cat busy.reel/*.log 2>/dev/null | wc -c)" -gt 2000000 ] &&
			break
		sleep 0.1
	done
	check 'records written during a load are not damage' '
		for i in 1 2 3; do ioreel report busy.reel || echo failed
		done >out 2>&1; ! grep -E "damaged|failed" out'
	: >stop
	wait $pid
else
	skip 'records written during a load are not damage' 'no python3'
fi

# --- two commands, one number -------------------------------------------------

cat >stream.c <<'C'
#include <stdio.h>
static int one_by_one(void)
{
	FILE *line = fopen("by_line", "w"), *at_once = fopen("at_once", "w");
	int i;

	setvbuf(line, NULL, _IOLBF, 0);
	setvbuf(stdout, NULL, _IOLBF, 0);
	setvbuf(at_once, NULL, _IONBF, 0);
	for (i = 0; i < 20; i++) {
		fprintf(line, "line %d\n", i);
		fprintf(at_once, "word %d", i);
		printf("out %d\n", i);
		if (i % 5)
			continue;
		fflush(line);
		fflush(at_once);
		fflush(stdout);
	}
	fclose(line);
	fclose(at_once);
	return 0;
}
int main(int argc, char **argv)
{
	FILE *f = fopen("lines", "w");
	int i;

	if (argc > 1)
		return one_by_one();
	for (i = 0; i < 3000; i++)
		fprintf(f, "line %d\n", i);
	fclose(f);
	f = fopen("lines", "r");
	while (getc(f) != EOF)
		;
	fclose(f);
	return 0;
}
C
if ${CC:-cc} -o stream stream.c 2>/dev/null; then
	ioreel record -o stream.reel -- ./stream 2>err
	want=$(wc -c <lines)
	is 'bytes of printf and getc in the report' \
		"$(one stream.reel 'SELECT read_bytes, write_bytes FROM v_summary')" \
		"$want	$want"
	is 'and in the summary of record' \
		"$(sed -n 's/.* events in [^;]*; //p' err)" \
		'28.9 kB read, 28.9 kB written in 1 file'
	is 'bytes without a time have no rate and no time per call' \
		"$(one stream.reel "SELECT count(*), max(call_mean_bytes_per_s),
			max(bytes) FROM v_bandwidth WHERE op = 'write'")" \
		"1		$want"
	check 'also in the printed report' 'ioreel report stream.reel >out &&
		grep -qE "^  write +[0-9]+ .* each +- +- " out'
	ioreel record -q -o line.reel -- ./stream lines of >out
	is 'lines that are written one by one are complete' \
		"$(one line.reel "SELECT sum(bytes) FROM v_event
			WHERE call_group = 'write'")" \
		"$(cat by_line at_once out | wc -c)"
else
	skip 'streams' 'no C compiler'
fi

head -c 100003 /dev/urandom >src
ioreel record -q -o none.reel --events none -- \
	sh -c 'dd if=src of=dst bs=1000; dd if=src of=dst bs=4099' 2>/dev/null
is 'bytes of calls that were only counted are exact in every table' \
	"$(one none.reel "SELECT (SELECT sum(bytes) FROM v_group
		WHERE call_group IN ('read', 'write')) - bytes
		FROM transfer_size WHERE op = 'all'")" 0
is 'and in the bins' "$(one none.reel "SELECT
	(SELECT sum(bytes) FROM v_transfer_size) - bytes,
	(SELECT sum(calls) FROM v_transfer_size) - calls,
	(SELECT sum(calls) FROM darshan_size) - calls
	FROM transfer_size WHERE op = 'all'")" "0	0	0"

ioreel load -q "$trace" -o run.db
if command -v python3 >/dev/null; then
	ioreel report --json run.db >run.json
	ioreel sql --format json run.db \
		'SELECT * FROM v_sequence ORDER BY op' >sequence.json
	check 'the JSON document and SQL agree to the last digit' 'python3 -c "
import json
assert json.load(open(\"run.json\"))[\"sequentiality\"] == \
	json.load(open(\"sequence.json\"))"'
else
	skip 'the document and SQL agree' 'no python3'
fi
ioreel record -q -o slow.reel -- sh -c 'cat /dev/null >f; sleep 1; cat f' >/dev/null
check 'a small share is not 0 %' \
	'ioreel report slow.reel >out && grep -q "^I/O takes" out &&
	! grep -qE "[ (]0(\.0)? %" out'

# --- names and input ----------------------------------------------------------

rlo=$(printf 'x\342\200\256gpj.exe') sep=$(printf 'a\342\200\250b')
echo 1 >"$rlo"
echo 1 >"$sep"
ioreel record -q -o names.reel -- cat "$rlo" "$sep" >/dev/null
check 'bidirectional control characters do not reach the terminal' \
	'ioreel report --files names.reel >out && grep -qF "x\\xe2\\x80\\xaegpj.exe" out &&
	grep -qF "a\\xe2\\x80\\xa8b" out'
is 'the name in the store is unchanged' \
	"$(one names.reel "SELECT path FROM v_file WHERE path LIKE '%exe'")" "$T/$rlo"
printf 1 >'c\nd' # no newline: two characters
printf 1 >"$(printf 'c\nd')"
ioreel record -q -o twins.reel -- cat 'c\nd' "$(printf 'c\nd')" >/dev/null
for way in 'report --files twins.reel' \
	'sql --format table twins.reel "SELECT path FROM v_file"'; do
	is "${way%% *}: two different names look different" \
		"$(eval "ioreel $way" | sed -n 's|^.*/\(c.*d\)$|\1|p' | sort)" \
		"$(printf '%s\n' 'c\\nd' 'c\nd' | sort)"
done
check 'nor in a message' '! ioreel load "no\\name" 2>err &&
	grep -qF "no\\\\name" err'
check 'a command to copy has its backslash once' '
	cp -r names.reel "back\\slash" && ioreel report "back\\slash" |
	grep -qF "ioreel sql '"'back\\slash'"'"'
check 'a run whose name begins with - is not an option there' '
	cp -r names.reel ./-n && ioreel report -- -n | grep -q "ioreel sql \./-n$"'
check 'SQL behind a NUL is not dropped silently' \
	'! printf "SELECT 1;\\0 SELECT 2;" | ioreel sql run.db >out 2>err &&
	[ ! -s out ] && grep -q "byte 9 is NUL" err'
check 'wrong: --stacks=-1, --stacks=2x' \
	'! ioreel record --stacks=-1 -- true 2>err && grep -q "stacks wants" err &&
	! ioreel record --stacks=2x -- true 2>err && grep -q "stacks wants" err'
check 'an option with an empty value, as from an unset variable' '
	! ioreel load "$trace" -o "" 2>err && grep -q "output wants RUN.db" err &&
	! ioreel replay "$trace" --root "" 2>err && grep -q "root wants DIR" err'
is 'SQL may begin with a comment' "$(one run.db '-- the answer
	SELECT 42')" 42
check 'a replay whose store cannot be written does not start' '
	for o in "$T" stream.c /no/such/x.db; do
		ioreel replay run.db -o "$o" 2>err
		grep -c "" err
		sed "s|.$o.:.*|O|" err
	done >out; [ "$(sort out | uniq -c | tr -s " \n" " ")" = \
		" 3 1 3 ioreel replay: cannot create store O " ]'
check 'no call site, no table of call sites' \
	'ioreel report --stacks run.db | grep -q "^No call sites"'

# A loader that outlives the hooks, like those of Grain.
if command -v python3 >/dev/null; then
	cat >late.py <<-'PY'
	import os, sys
	from ioreel import epochs
	class Loader:
	    pass
	os.late = Loader()
	os.late.dataset = Loader()
	sys.known = [epochs.Loader.of(os.late), epochs, os]
	PY
	is 'hooks are silent at the interpreter'"'"'s end' \
		"$(ioreel record -q -o late.reel -- python3 late.py 2>&1)" ''
else
	skip 'hooks are silent' 'no python3'
fi

# --- likeness with an empty run -------------------------------------------------

ioreel record -q -o empty_run.reel -- true
ioreel compare run.db empty_run.reel >out
check 'a run and an empty one have no likeness, with the right reason' \
	'grep -q "^likeness (cosine) -: one of the runs has only zeros" out &&
	ioreel compare --json run.db empty_run.reel | grep -q "\"cosine\": null"'
check 'nor have two empty ones' 'ioreel compare empty_run.reel empty_run.reel |
	grep -q "^likeness (cosine) -: no factor was measured"'
check 'an unused clock has no error' \
	'ioreel report empty_run.reel >out && ! grep -q "clock error" out'

# --- a full disk ------------------------------------------------------------------

cp run.db before.db
check 'a store that does not fit keeps the old one, with one error line' '
	! (trap "" XFSZ; ulimit -f 8; ioreel load -q "$trace" -o run.db) 2>err &&
	[ $(wc -l <err) = 1 ] && grep -q "cannot write store .run.db" err &&
	cmp run.db before.db && ! ls run.db.tmp.* 2>/dev/null'
finish
