#!/bin/bash
# SPDX-License-Identifier: MIT
# NVTX in an unmodified program: it loads the shim by the variable that record
# sets, and its ranges become spans. A tool that the user set is kept.
. "$(dirname "$0")/../../lib/tap.sh"

unset LD_PRELOAD NVTX_INJECTION64_PATH
host=$O/tests/shim/anchors/nvtx_host
"$host" >bare; echo "status $?" >>bare
"$IOREEL" record -q -o t.reel -- "$host" >rec; echo "status $?" >>rec
is 'the same output' "$(cat rec)" "$(cat bare)"
is 'ranges by id: each once, ordered by start' "$(sql t.reel "
	SELECT name FROM v_span WHERE name NOT IN ('nvtx:outer')
	ORDER BY start_ns" | tr '\n' ' ')" \
	'nvtx:same nvtx:same nvtx:crossed nvtx:plain nvtx:registered nvtx: '
is 'two of one name overlap: the first ends first' "$(sql t.reel "
	SELECT t.start_ns < o.start_ns,
		t.start_ns + t.dur_ns < o.start_ns + o.dur_ns
	FROM v_span t, v_span o
	WHERE t.name = 'nvtx:same' AND o.name = 'nvtx:outer'
	ORDER BY t.start_ns")" "1	1
0	0"
is 'a range that another thread ends keeps its start' "$(sql t.reel "
	SELECT h.start_ns > o.start_ns AND
		h.start_ns < t.start_ns + t.dur_ns,
		h.start_ns + h.dur_ns > o.start_ns + o.dur_ns, h.tid <> t.tid
	FROM v_span h, v_span t, v_span o WHERE h.name = 'nvtx:crossed'
	AND t.name = 'nvtx:same' AND o.name = 'nvtx:outer'
	ORDER BY t.start_ns LIMIT 1")" "1	1	1"
is 'ranges by id do not nest' "$(sql t.reel "
	SELECT count(*) FROM span WHERE parent_id IS NOT NULL")" 0
is 'pushed ranges are recorded too' "$(sql t.reel "
	SELECT count(*) FROM v_span WHERE name = 'nvtx:outer'
	AND dur_ns >= 20000000")" 1
"$IOREEL" record -q -o many.reel -- "$host" many
is 'more than the table holds: recorded or counted' "$(sql many.reel "
	SELECT (SELECT count(*) FROM v_span) + (SELECT sum(count) FROM loss)
	")" 6000
check 'the table is empty again afterwards' '[ "$(sql many.reel "
	SELECT count(*) FROM v_span")" = 2048 ]'

variable() { "$IOREEL" record -q "$@" -- sh -c 'echo "$NVTX_INJECTION64_PATH"'; }
is 'the variable names the shim' "$(variable -o a.reel)" \
	"$(realpath "$O/libioreel.so")"
is 'a tool of the user stays' \
	"$(NVTX_INJECTION64_PATH=/opt/tool.so variable -o b.reel)" /opt/tool.so
is 'the shim of an outer recording is replaced' \
	"$(NVTX_INJECTION64_PATH=/x/libioreel.so variable -o c.reel)" \
	"$(realpath "$O/libioreel.so")"
is '--no-hooks sets no variable' "$(variable -o d.reel --no-hooks)" ''
finish
