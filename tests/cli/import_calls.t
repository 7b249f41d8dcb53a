#!/bin/sh
# SPDX-License-Identifier: MIT
# Calls that ioreel does not know keep their names, from a foreign log through the
# store, the report, compare, export and replay.
. "$(dirname "$0")/../lib/tap.sh"
unset LD_PRELOAD

# log FILE NAME...: DFTracer's, a write of 10 B, then each call once.
log() {
	out=$1 n=2
	shift
	{
		echo '['
		line 0 open64 1 '"ret":7,"flags":65,"mode":420'
		line 1 write 2 '"ret":10,"count":10,"fd":7'
		for call; do
			line "$n" "$call" $((n + 1)) '"ret":0,"fd":7'
			n=$((n + 1))
		done
	} >"$out"
}
line() {
	printf '{"id":"%s","name":"%s","cat":"POSIX","pid":"5","tid":"5",' "$1" "$2"
	printf '"ts":"16980803230000%s0","dur":"1","ph":"X",' "$3"
	printf '"args":{"hostname":"h","fname":"/data/f",%s}}\n' "$4"
}

log a.pfw flurb getxattr seekdir flurb
log b.pfw seekdir getxattr flurb flurb
check 'logs with unknown calls' 'ioreel import -q a.pfw -o a.db && ioreel import -q b.pfw -o b.db'
is 'v_event has their names, layer and group' \
	"$(sql a.db 'SELECT call, layer, call_group, errno FROM v_event ORDER BY start_ns' | tr '\t' ' ')" \
	"open POSIX open 0
write POSIX write 0
flurb POSIX other 0
getxattr POSIX other 0
seekdir POSIX dir 0
flurb POSIX other 0"
is 'the ids of equal names are equal' \
	"$(sql a.db 'SELECT name, call_id FROM call ORDER BY name')" \
	"$(sql b.db 'SELECT name, call_id FROM call ORDER BY name')"
is 'the report has a row of each' \
	"$(ioreel report --json a.db | python3 -c '
import json, sys
for c in json.load(sys.stdin)["calls"]:
    if c["layer"] == "POSIX": print(c["call"], c["calls"])' | sort | tr '\n' ' ')" \
	'flurb 2 getxattr 1 open 1 seekdir 1 write 1 '
is 'a call of no known purpose is in no sum' \
	"$(sql a.db 'SELECT meta_calls FROM v_summary')" 2
is 'compare pairs them by name' \
	"$(ioreel compare --json a.db b.db | python3 -c '
import json, sys
print(json.load(sys.stdin)["call_total_variation"])')" 0.0
for format in csv jsonl chrome; do
	check "export: $format" "ioreel export --as $format a.db -o a.$format && grep -q getxattr a.$format"
done
check 'an export is imported again' 'ioreel import -q a.chrome -o again.db'
is 'with the same calls' \
	"$(sql again.db 'SELECT call, calls FROM v_report_calls ORDER BY call')" \
	"$(sql a.db 'SELECT call, calls FROM v_report_calls ORDER BY call')"
check 'a replay makes the others' 'ioreel replay --afap a.db 2>replay.err >/dev/null; grep "calls are not replayed.*flurb" replay.err'

# More names than a store has ids for.
{
	echo '['
	i=0
	while [ $i -lt 1500 ]; do
		echo "{\"id\":$i,\"name\":\"c$i\",\"cat\":\"POSIX\",\"pid\":5,\"tid\":5,\"ts\":$((1698080323000000 + i)),\"dur\":1,\"ph\":\"X\",\"args\":{\"hhash\":\"h\"}}"
		i=$((i + 1))
	done
} >many.pfw
check 'more names than ids' 'ioreel import -q many.pfw -o many.db'
is 'the last ones are one call, "other"' \
	"$(sql many.db "SELECT count(*), (SELECT calls FROM v_report_calls WHERE call = 'other'), sum(calls) FROM v_report_calls" | tr '\t' ' ')" \
	'1024 477 1500'
finish
