#!/bin/bash
# SPDX-License-Identifier: MIT
# Counters instead of events: the same calls and bytes as the events, however
# the process ends, and a trace that does not grow with the calls.
. "$(dirname "$0")/../../lib/tap.sh"
unset LD_PRELOAD
P=$O/tests/shim/core/events_none
# Calls and bytes, per call and folder, on the set.
sums="select call, rtrim(path, replace(path, '/', '')) as folder, sum(calls),
	sum(bytes), sum(asked) from v_event where path like '%/set/%'
	group by call, folder order by call, folder"
total="select sum(calls), sum(bytes) from v_event where path like '%/set%' and call <> 'mkdir'"
size() { cat "$1"/*.log | wc -c; }
# The most intervals of counters: one a second, or more as its length is a
# guess.
renewals() { sql "$1" "select 1 + wall_ns / 400000000 from run"; }

"$IOREEL" record -q -o all -- "$P" 20 30
"$IOREEL" record -q --events none -o none -- "$P" 20 30
sql all "$sums" >all.sums
sql none "$sums" >none.sums
check 'six sums to compare' '[ "$(wc -l <all.sums)" = 6 ]'
check '--events none: calls and bytes of each call and folder' 'diff all.sums none.sums'
check 'and by size' 'diff <(sql all "select asked from v_event where call = '"'read'"' group by 1" | wc -l) <(echo 2)'
is 'sizes are means of their power of two, by the result' \
	"$(sql none "select bytes / calls, sum(calls), asked / calls from v_event
	   where call = 'read' and path like '%/set/%' group by 1 order by 1")" \
	"$(printf '904\t1800\t5000\n4096\t1800\t4096')"
is 'files of a folder share a name' \
	"$(sql none "select distinct path from v_event where path like '%/set/%'" |
		sed 's/.*set/set/')" 'set/*.bin'
is 'a child closes descriptors of its parent' \
	"$(sql none "select call, sum(calls) from v_event where path like '%/handed'
	   group by call" | tr '\t\n' ' ;')" 'close 8;open 4;'
is 'no event has an offset' "$(sql none "select count(offset) from v_event")" 0
check 'the report says that there are counters' '"$IOREEL" report none >r && grep -q "^counters, not events" r'
check 'it loads, and the report claims no access pattern' \
	'"$IOREEL" load none -o none.db && grep "^  read" r | grep -q " - "'

"$IOREEL" record -q --events none -o killed -- "$P" 20 30 kill
sql killed "$sums" >killed.sums
check 'SIGKILL: no call is missing' 'diff all.sums killed.sums'

"$IOREEL" record -q --events none -o long -- "$P" 20 3000
is 'a hundred times as many calls' "$(sql long "$total")" \
	"$(printf '%d\t%d' $((20 * (3 + 3 * 3000 * 6))) $((20 * 5000 + 20 * 3 * 3000 * 5100)))"
check 'need hardly more bytes of trace' '[ "$(size long)" -le $(((1 + $(renewals long)) * $(size none))) ]'
"$IOREEL" record -q --events none -o wide -- "$P" 20000 1
check 'a name without a directory is folded' \
	'"$IOREEL" report wide | grep -q "^counters" && ! "$IOREEL" report wide | grep -q damaged'
is 'more files than names' "$(sql wide "$total")" \
	"$(printf '%d\t%d' $((20000 * (3 + 3 * 6))) $((20000 * 5000 + 20000 * 3 * 5100)))"

"$IOREEL" record -q --events steps 3-5 -o steps -- "$P" 20 30
sql steps "$sums" >steps.sums
check '--events steps: nothing is missing' 'diff all.sums steps.sums'
is 'three steps with all their events' \
	"$(sql steps "select count(*) from v_event where call = 'pread' and offset = 7")" 60
is 'and with their spans' "$(sql steps "select group_concat(detail) from v_span
	where name = 'step' and detail between 3 and 5")" 3,4,5

# The size of the trace without job.json.
taken() { find "$1" -type f ! -name job.json -printf '%s\n' | awk '{ n += $1 } END { print n }'; }
"$IOREEL" record -q --max-size 1M -o budget -- "$P" 20 3000
is 'max_size_falls_back: no call or byte is missing' \
	"$(sql budget "$total")" "$(sql long "$total")"
check 'and the trace is no larger than --max-size' '[ "$(taken budget)" -le 1048576 ]'
check 'the report says when counting began' '"$IOREEL" report budget | grep -q "^events until .*, then counters"'
check 'events before that time' \
	'[ "$(sql budget "select count(*) from v_event where offset = 7")" -gt 1000 ]'
# Later processes, one after the other and at the same time: the same limit.
cat >later.sh <<END
for i in 1 2 3 4 5 6 7 8; do
	(cd \$(mktemp -d "$T/later.XXXXXX") && "$P" 20 300) &
	[ \$i -gt 4 ] && wait
done
wait
END
"$IOREEL" record -q --max-size 700K -o later -- sh later.sh
check 'many processes: no more than --max-size' '[ "$(taken later)" -le 716800 ]'
is 'and every call' "$(sql later "$total")" \
	"$(printf '%d\t%d' $((8 * 20 * (3 + 3 * 300 * 6))) $((8 * (20 * 5000 + 20 * 3 * 300 * 5100))))"
"$IOREEL" record -q --max-size 40K -o small -- "$P" 20 3000
check 'events without room are lost, and reported' \
	'[ "$(taken small)" -le 40960 ] && "$IOREEL" report small | grep -q "lost"'

status() { "$@" >out 2>err; echo $?; }
for bad in '--events some' '--events 5-3' '--max-size 0' '--max-size 5X' '--profile-steps 3'; do
	is "$bad is wrong usage" "$(status "$IOREEL" record $bad -- true)" 2
done
finish
