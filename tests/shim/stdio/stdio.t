#!/bin/bash
# SPDX-License-Identifier: MIT
# Streams: bytes of unwrapped calls (printf, getc) are recorded by the end, the
# offsets between them are right, and small transfers share records.
. "$(dirname "$0")/../../lib/tap.sh"
. "$TOP/tests/lib/probe.sh"

probe stdio_calls
after=$(sed -n 's/^ftell after it \([0-9]*\) .*/\1/p' traced/out)
first="open_id = (SELECT min(open_id) FROM v_event WHERE path LIKE '%/mixed' AND call = 'fopen' AND arg & 3 = 0)"
is 'mixed: every byte written, by any call' \
	"$(q "SELECT sum(bytes) FROM v_event WHERE path LIKE '%/mixed' AND call_group = 'write'")" \
	$((50 * (50 + 1 + 9 + 140 + 40)))
is 'mixed: offsets of fwrite between unwrapped calls' \
	"$(q "SELECT count(*), min(offset), max(offset) FROM v_event WHERE path LIKE '%/mixed' AND call = 'fwrite' AND bytes = 40 AND offset % 200 = 160" | tr '\t' ' ')" \
	'50 160 9960'
is 'mixed: every byte read, up to the last ftell' \
	"$(q "SELECT sum(bytes) FROM v_event WHERE $first AND call_group = 'read'")" \
	$((after + 6000))
is 'mixed: fgets after a seek, then the bytes read by getc' \
	"$(q "SELECT call, offset, bytes FROM v_event WHERE $first AND offset >= 4000 AND call_group = 'read' ORDER BY start_ns" | tr '\t\n' ' ;')" \
	'fgets 4000 50;stdio_read 4050 5950;fread 10000 0;'
is 'small: every call, few records' \
	"$(q "SELECT call, sum(calls), sum(bytes), count(*) < 100 FROM v_event WHERE path LIKE '%/small' AND call_group IN ('read', 'write') GROUP BY call ORDER BY call" | tr '\t\n' ' ;')" \
	'fread 4001 32012 1;fwrite 20000 160000 1;'
is 'small: no gap between records' \
	"$(q "SELECT count(*) FROM (SELECT offset, bytes, lag(offset + bytes, 1, 0) OVER (PARTITION BY call ORDER BY start_ns) AS expected FROM v_event WHERE path LIKE '%/small' AND call_group IN ('read', 'write')) WHERE offset <> expected")" 0
is 'small: sizes are those of the calls' \
	"$("$IOREEL" sql "$RUN" --format tsv "SELECT calls FROM transfer_bin WHERE op = 'write' AND size_bin = 3" | tail -1)" $((20000 + 50 + 1 + 1))
is 'freopen without a path is an open of the same file' \
	"$(q "SELECT count(*) FROM v_event WHERE path LIKE '%/mixed' AND call = 'freopen' AND errno = 0")" 1
is 'fprintf after freopen writes to the new file' \
	"$(q "SELECT call, offset, bytes FROM v_event WHERE path LIKE '%/again' AND call_group = 'write'" | tr '\t' ' ')" \
	'stdio_write 0 13'
is 'streams without a descriptor are not recorded' \
	"$(q "SELECT count(*) FROM v_event WHERE layer = 'STDIO' AND path IS NULL AND call NOT LIKE 'fopen'")" 0
is 'fflush(NULL): the bytes of fprintf before it' \
	"$(q "SELECT call, offset, bytes FROM v_event WHERE path LIKE '%/flushed' AND call_group = 'write'" | tr '\t\n' ' ;')" \
	'fwrite 0 3;stdio_write 3 20;fwrite 23 3;stdio_write 26 30;'
is 'standard output, recorded at exit' \
	"$(q "SELECT sum(bytes) FROM v_event WHERE path LIKE '%/traced/out' AND call_group = 'write'")" \
	"$(grep -v '^status' traced/out | wc -c)"
want='fgets 0 4;stdio_read 4 1;fgets 5 5;stdio_read 10 3;fread 13 1;'
want="${want}stdio_read 14 1;fread 15 4;fread 0 1;"
is 'bytes read but not returned: zeros in lines, parts of items, words' \
	"$(q "SELECT call, offset, bytes FROM v_event WHERE path LIKE '%/unreturned' AND call_group = 'read' ORDER BY start_ns" | tr '\t\n' ' ;')" \
	"$want$want"
is 'nothing lost' "$(lost)" 0

for i in 1 2 3; do
	"$IOREEL" record -q -o killed.reel -- "$O/tests/shim/stdio/stdio_killed" >count
	RUN=killed.reel
	more=$(q "SELECT sum(calls) - $(cat count) FROM v_event WHERE call = 'fread' AND bytes > 0")
	check "killed $i: every small read of $(cat count), $more more" '[ "$more" = 0 ] || [ "$more" = 1 ]'
	rm -rf killed.reel
done
finish
