#!/bin/bash
# SPDX-License-Identifier: MIT
# Bytes of streams with unrecorded calls, and of pipes: the same with counters
# as with events and in the output of strace.
. "$(dirname "$0")/../../lib/tap.sh"
command -v strace >/dev/null || skip_all 'no strace'
P=$O/tests/shim/core/events_none_streams
sums="select case when path like 'pipe%' then 'pipe' else path end, call,
	sum(calls), sum(bytes) from v_event where path like '%/set/%' or
	path like 'pipe%' group by 1, 2 order by 1, 2"

for end in exit _exit; do
	for how in all none; do
		rm -rf set
		mkdir set
		seq 20000 >set/in
		"$IOREEL" record -q --events $how -o $how.$end -- \
			"$P" set $end >/dev/null
		"$IOREEL" sql $how.$end "$sums" --format tsv |
			grep -v fflush >$how.sums
	done
	check "$end: at least 15 sums to compare" \
		'[ "$(wc -l <all.sums)" -ge 15 ]'
	check "$end: the same bytes by events and by counters" \
		'diff all.sums none.sums'
	is "$end: bytes read by characters" \
		"$(awk '/\/in.*stdio_read/ { print $NF }' none.sums)" 50000
	rm -rf set
	mkdir set
	seq 20000 >set/in
	strace -ff -y -qq -o st.$end -e trace=read,write "$P" set $end \
		>/dev/null 2>&1
	cat st.$end.* | sed -nE 's/^write\([0-9]+<.*\/set\/([^>]*)>.* = ([0-9]+)$/\1 \2/p' |
		awk '{ n[$1] += $2 } END { for (i in n) print i, n[i] }' |
		sort >kernel
	awk '/write/ && !/^pipe/ { sub(/.*\//, "", $1); n[$1] += $NF }
		END { for (i in n) print i, n[i] }' none.sums | sort >ours
	check "$end: and by strace" \
		'[ "$(wc -l <kernel)" = 4 ] && diff kernel ours'
	cat st.$end.* | awk '/<pipe:/ { n[substr($1, 1, 4)] += $NF }
		END { print n["read"], n["writ"] }' >kernel
	is "$end: the same bytes of pipes" "$(awk '/^pipe/ { n[$2] += $NF }
		END { print n["read"], n["write"] }' none.sums)" "$(cat kernel)"
done
finish
