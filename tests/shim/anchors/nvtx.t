#!/bin/bash
# SPDX-License-Identifier: MIT
# NVTX without edits: a program that has it finds the shim by the variable that
# record sets, and its ranges are spans. A user's own tool keeps its place.
. "$(dirname "$0")/../../lib/tap.sh"

unset LD_PRELOAD NVTX_INJECTION64_PATH
host=$O/tests/shim/anchors/nvtx_host
"$host" >bare; echo "status $?" >>bare
"$IOREEL" record -q -o t.reel -- "$host" >rec; echo "status $?" >>rec
is 'the same output' "$(cat rec)" "$(cat bare)"
is 'ranges by id: each once, in the order of their starts' "$(sql t.reel "
	SELECT name FROM v_span WHERE name NOT IN ('nvtx:outer')
	ORDER BY start_ns" | tr '\n' ' ')" \
	'nvtx:twin nvtx:twin nvtx:handed nvtx:plain nvtx:registered nvtx: '
is 'two of one name that overlap: the first ends first' "$(sql t.reel "
	SELECT t.start_ns < o.start_ns,
		t.start_ns + t.dur_ns < o.start_ns + o.dur_ns
	FROM v_span t, v_span o
	WHERE t.name = 'nvtx:twin' AND o.name = 'nvtx:outer'
	ORDER BY t.start_ns")" "1	1
0	0"
is 'one that another thread ends began where it began' "$(sql t.reel "
	SELECT h.start_ns > o.start_ns AND
		h.start_ns < t.start_ns + t.dur_ns,
		h.start_ns + h.dur_ns > o.start_ns + o.dur_ns, h.tid <> t.tid
	FROM v_span h, v_span t, v_span o WHERE h.name = 'nvtx:handed'
	AND t.name = 'nvtx:twin' AND o.name = 'nvtx:outer'
	ORDER BY t.start_ns LIMIT 1")" "1	1	1"
is 'they nest in nothing, and nothing in them' "$(sql t.reel "
	SELECT count(*) FROM span WHERE parent_id IS NOT NULL")" 0
is 'ranges that are pushed are as they were' "$(sql t.reel "
	SELECT count(*) FROM v_span WHERE name = 'nvtx:outer'
	AND dur_ns >= 20000000")" 1
"$IOREEL" record -q -o many.reel -- "$host" many
is 'more than the table holds: recorded or counted' "$(sql many.reel "
	SELECT (SELECT count(*) FROM v_span) + (SELECT sum(count) FROM loss)
	")" 6000
check 'and the table is free again afterwards' '[ "$(sql many.reel "
	SELECT count(*) FROM v_span")" = 2048 ]'

seen() { "$IOREEL" record -q "$@" -- sh -c 'echo "$NVTX_INJECTION64_PATH"'; }
is 'the variable names the shim' "$(seen -o a.reel)" \
	"$(realpath "$O/libioreel.so")"
is 'a tool of the user stays' \
	"$(NVTX_INJECTION64_PATH=/opt/tool.so seen -o b.reel)" /opt/tool.so
is 'an outer recording gives way' "$(NVTX_INJECTION64_PATH=/x/libioreel.so \
	seen -o c.reel)" "$(realpath "$O/libioreel.so")"
is '--no-hooks sets none' "$(seen -o d.reel --no-hooks)" ''
finish
