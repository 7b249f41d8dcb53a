#!/bin/sh
# SPDX-License-Identifier: MIT
# Exports of Nsight Systems: files made by hand, hostile ones, and a real one beside
# SQL on it.
. "$(dirname "$0")/../lib/tap.sh"
unset LD_PRELOAD
HERE=$TOP/tests/cli
mkdir tmp && export TMPDIR=$PWD/tmp # other tests have files in the common one

import() { rm -f s.db && "$IOREEL" import -q "$@" -o s.db; }
rows() { sql s.db "$1" | tr '\t\n' ' ;'; }
python3 "$HERE/nsys_make.py" .

check 'an export' 'import small.sqlite'
is 'steps, fetches, kernels, copies, ranges: names, times from the first' \
	"$(rows "SELECT name, CASE name WHEN 'step' THEN detail END, start_ns, dur_ns, pid, tid FROM v_span
		ORDER BY start_ns, dur_ns DESC")" \
	'step 7 0 1000 77 5;fetch  0 400 77 5;nvtx:my range  450 10 77 6;kernel  500 200 77 -20000000007;kernel  600 200 77 -20000000007;memcpy  900 50 77 -20000000007;step 8 1000 1000 77 5;'
is 'fetch and computation of the steps' "$(rows 'SELECT number, fetch_ns, compute_ns FROM v_step')" '7 400 350;8  ;'
is 'the own names of kernels and copies' \
	"$(rows "SELECT DISTINCT module, record FROM v_span JOIN counter_record ON record_id = detail WHERE v_span.name IN ('kernel', 'memcpy') ORDER BY 1")" \
	'CUPTI_ACTIVITY_KIND_KERNEL void gemm<float>(int);CUPTI_ACTIVITY_KIND_MEMCPY Memcpy Host-to-Device;'
is 'operators are counted by name, without their numbers' \
	"$(rows "SELECT name, value FROM v_counter WHERE record = 'aten::add' ORDER BY 1")" 'COUNT 2;TIME_NS 30;'
is 'a call without a path is counted, and said' \
	"$(rows 'SELECT reason, unit, count FROM loss ORDER BY 1')$(rows "SELECT module, value FROM v_counter WHERE record = 'read' AND name = 'COUNT'")" \
	'no_end events 1;no_path calls 1;OSRT_API 1;'
is 'a trace on the system clock starts at its value' "$(rows 'SELECT start_real_ns FROM run')" '1719853884000001000;'
is 'the program' "$(rows 'SELECT p.command FROM process p')" 'python3;'
import old.sqlite
is 'without globalPid, the process of a kernel is that of its launch' \
	"$(rows "SELECT pid, start_ns, dur_ns FROM v_span WHERE name = 'kernel' ORDER BY 2")" '77 500 200;78 600 200;0 610 10;'
is 'an empty text is none' "$(rows "SELECT detail FROM v_span WHERE name = 'step'")" '7;8;'
is 'an end of 0 is none' "$(rows "SELECT reason, count FROM loss WHERE unit = 'events'")" 'no_end 1;'
import graphs.sqlite
is 'CUDA graphs are computation' "$(rows 'SELECT number, compute_ns FROM v_step')" '7 490;8 310;'
is 'their names, and that of a fill' \
	"$(rows "SELECT record, value FROM v_counter WHERE name = 'COUNT' AND record IN ('CUDA graph 3', 'Memset') ORDER BY 1")" \
	'CUDA graph 3 2;Memset 1;'
import relative.sqlite
is 'else times count from the start of the session' "$(rows 'SELECT start_real_ns FROM run')" '1719853884000006000;'
import unknown.sqlite
is 'the time of the day may be unknown' "$(rows 'SELECT start_real_ns IS NULL FROM run')" '1;'
import files.sqlite
is 'accesses to files are events' \
	"$(rows 'SELECT call, start_ns, dur_ns, path, coalesce(asked, 0), result, coalesce(offset, 0) FROM v_event ORDER BY 2')" \
	'open 5 3 /data/a.bin 0 0 0;read 10 10 /data/a.bin 100 100 0;fread 22 2 /data/a.bin 28 28 0;'
is 'an access without a file is lost' "$(rows "SELECT reason, count FROM loss WHERE unit = 'calls'")" 'unknown call 1;'
import small.sqlite && cp s.db first.db
is 'gzip is undone, the same file gives the same bytes' \
	"$(mkdir -p d && gzip -c small.sqlite >d/small.sqlite && (cd d && import small.sqlite) && cmp s.db d/s.db && echo same)" same
check 'no temporary file remains' '! ls "${TMPDIR:-/tmp}"/ioreel.?????? 2>/dev/null'
before=$(cksum <small.sqlite)
import small.sqlite
is 'the file is not written to' "$(cksum <small.sqlite) $(ls small.sqlite*)" "$before small.sqlite"

# --- hostile files ------------------------------------------------------------
# refused TITLE FILE PATTERN: one line, exit status 1, no store, not even a half one.
refused() {
	local rc
	"$IOREEL" import -q $4 "$2" -o no.db 2>err
	rc=$?
	check "refused: $1" "[ $rc = 1 ] && [ \$(wc -l <err) = 1 ] && grep -q -- '$2.*$3' err && ! ls no.db* 2>/dev/null"
}
refused 'a truncated file' cut.sqlite 'offset.*cut off (512 bytes'
refused 'damaged pages' damaged.sqlite damaged "--as nsys"
gzip -c small.sqlite | head -c 900 >cut.sqlite.gz
refused 'a truncated gzip' cut.sqlite.gz offset
import view.sqlite
is 'a view in the place of a table is not run' "$(rows "SELECT count(*) FROM v_counter WHERE module = 'OSRT_API'")" '0;'
refused 'a virtual table' virtual.sqlite 'virtual table NVTX_EVENTS'
refused 'a function in the schema' function.sqlite 'table StringIds'
refused 'SQLite of another program' foreign.sqlite 'without events of Nsight Systems' "--as nsys"
head -c 60 small.sqlite >head.sqlite
"$IOREEL" import -q --as nsys head.sqlite -o no.db 2>err
is 'refused: half a head' "$?$(grep -c 'offset 0' err)$(ls no.db* 2>/dev/null)" 11
"$IOREEL" import -q s.db -o no.db 2>err
is 'a store of ours is no such file' "$?$(grep -c 'no format' err)" 11
import texts.sqlite
is 'impossible values are counted' "$(rows "SELECT count FROM loss WHERE reason = 'not_understood'")" '2;'
if [ -x "$O/tests/fuzz/fuzz_import" ]; then
	check '200 damaged files' '"$O/tests/fuzz/fuzz_import" 200 1 files.sqlite'
fi

# --- a real file --------------------------------------------------------------
if [ -d "$IOREEL_DATA/nsys" ]; then
	import "$IOREEL_DATA/nsys/mfu_2gpu_before.sqlite.gz"
	gzip -dc "$IOREEL_DATA/nsys/mfu_2gpu_before.sqlite.gz" >raw.sqlite
	# union TABLE BEGIN END PROCESS: by process, the length of the union
	union() {
		echo "WITH a AS (SELECT $4 AS p, $2 AS s, $3 AS e FROM $1),
			b AS (SELECT p, s, e, max(e) OVER (PARTITION BY p ORDER BY s, e
				ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS far FROM a)
			SELECT p, sum(max(0, e - max(s, coalesce(far, s)))), count(*) FROM b GROUP BY p ORDER BY p"
	}
	python3 -c 'import sqlite3, sys
for r in sqlite3.connect("raw.sqlite").execute(sys.argv[1]): print(*r, sep="\t")' \
		"$(union CUPTI_ACTIVITY_KIND_KERNEL start end 'globalPid >> 24 & 0xffffff')" >want
	sql s.db "$(union "(SELECT * FROM v_span WHERE name = 'kernel')" start_ns 'start_ns + dur_ns' pid)" >got
	check "the union of the kernels of each process: $(tr '\t\n' ' ;' <want)" '[ -s want ] && cmp want got'
	is 'the report has the mean of both: no steps are marked' \
		"$("$IOREEL" report s.db | grep -o 'Kernels run on the GPU [0-9]* ms')" \
		"$(sql s.db "SELECT printf('Kernels run on the GPU %.0f ms', avg(ns) / 1e6) FROM
			(SELECT union_ns(start_ns, dur_ns) AS ns FROM v_span WHERE name = 'kernel' GROUP BY process_id)")"
	is 'kernels, copies and fills' \
		"$(rows "SELECT name, count(*), sum(dur_ns) FROM v_span WHERE name IN ('kernel', 'memcpy') GROUP BY 1")" \
		"$(python3 -c 'import sqlite3
for r in sqlite3.connect("raw.sqlite").execute("""
	SELECT "kernel", count(*), sum(end - start) FROM CUPTI_ACTIVITY_KIND_KERNEL UNION ALL
	SELECT "memcpy", count(*), sum(d) FROM (SELECT end - start AS d FROM CUPTI_ACTIVITY_KIND_MEMCPY
		UNION ALL SELECT end - start FROM CUPTI_ACTIVITY_KIND_MEMSET)"""): print(*r, end=";")')"
else
	skip 'a real export' 'IOREEL_DATA has none'
fi
# An SQLite file of another program has no application id either.
for tables in 1 200; do
	python3 - $tables <<-'END'
		import sqlite3, sys
		db = sqlite3.connect("app%s.sqlite" % sys.argv[1])
		for i in range(int(sys.argv[1])):
		    db.execute("CREATE TABLE readings_of_station_%d (at, degrees)" % i)
		db.commit()
	END
	check "a database of another program, of $tables tables" \
		'! "$IOREEL" import app$tables.sqlite -o no.db 2>err && [ ! -e no.db ] &&
			[ "$(wc -l <err)" = 1 ] && grep -q "in no format that ioreel imports" err'
done
finish
