#!/bin/sh
# SPDX-License-Identifier: MIT
# ioreel import of Darshan's logs: small ones made here in each format, byte order
# and compression; damaged ones; with IOREEL_DATA real ones beside the text of
# Darshan's own tools.
. "$(dirname "$0")/../lib/tap.sh"
unset LD_PRELOAD
export IOREEL

import() { rm -f s.db && "$IOREEL" import -q "$@" -o s.db; }
make_log() { python3 "$TOP/tests/cli/darshan_log.py" "$@"; }
text() { python3 "$TOP/tests/cli/darshan_text.py" "$@"; }
c() { sql s.db "SELECT value FROM v_counter WHERE name = '$1'
	AND ${2:-record = '9223372036854775813'}"; }
json() { python3 -c 'import json, sys; d = json.load(open("out.json"))
print(eval(sys.argv[1]))' "$1"; }

# --- made here --------------------------------------------------------------
tab=$(printf '\t')
events="500000000 250000000 write /d/a 0 10
1000000000 500000000 read /d/a 0 4096
2000000000 125000000 read /d/a 4096 0"
for version in 3.00 3.10 3.41; do
	for order in little big; do
		for method in zlib bzip2 none; do
			log=$version.$order.$method
			make_log $version $order $method >$log
			import $log
			{
				sql s.db 'SELECT start_ns, dur_ns, call, path,
					offset, bytes FROM v_event ORDER BY 1'
				sql s.db 'SELECT module, record, rank, path, name,
					value FROM v_counter'
			} >got.$log
			is "$log: the segments" \
				"$(head -3 got.$log | tr "$tab" ' ')" "$events"
			check "$log: as the others" \
				"cmp got.$log got.$version.little.zlib"
		done
	done
done
is 'integers of the newest record, in its order' \
	"$(echo $(c POSIX_OPENS; c POSIX_DUPS; c POSIX_ACCESS4_COUNT; c POSIX_SLOWEST_RANK_BYTES))" \
	'1000 1002 1064 1068'
is 'reals' "$(echo $(c POSIX_F_OPEN_START_TIMESTAMP; c POSIX_F_VARIANCE_RANK_BYTES))" '0.25 16.25'
is 'not monitored stays -1' "$(c POSIX_STATS)" -1
is 'a record without a path' "$(c POSIX_OPENS "record = '99' AND path IS NULL")" 0
is 'ranks' "$(sql s.db 'SELECT rank FROM process ORDER BY 1' | tr '\n' ' ')" '0 1 '
is 'the job' "$(sql s.db 'SELECT name, command, ranks, wall_ns, start_real_ns FROM run' |
	tr "$tab" ' ')" 'train /usr/bin/train --fast 2 3500000000 1600000000500000000'
is 'the host of DXT' "$(sql s.db 'SELECT name, (SELECT host FROM run) FROM host' | tr "$tab" ' ')" \
	'node7 node7'
import 3.10.little.zlib
is 'integers of an older record' \
	"$(echo $(c POSIX_OPENS; c POSIX_READS; c POSIX_DUPS; c POSIX_RENAMED_FROM; c POSIX_SLOWEST_RANK_BYTES))" \
	'1000 1001 -1 0 1063'
is 'an older log has whole seconds' \
	"$(sql s.db 'SELECT wall_ns, clock_error_ns FROM run' | tr "$tab" ' ')" '4000000000 1000000000'

# --- the report -------------------------------------------------------------
import 3.41.big.bzip2
"$IOREEL" report --json s.db >out.json
is 'sources of the document' \
	"$(json '[(s["file"], s["format"], s["ranks"], s["events"], s["counters"] > 100, s["missing"][0]) for s in d["sources"]]')" \
	"[('3.41.big.bzip2', 'darshan', 2, 3, True, 'single calls outside DXT')]"
is 'the error of its clock is not known' "$(json 'd["completeness"]["clock_error_ns"]')" None
is 'sums leave out -1, and ranks beside a shared record' \
	"$(json '[(c["module"], c["records"], c["opens"], c["stats"], c["reads"], c["meta_ns"]) for c in d["counters"]]')" \
	"[('POSIX', 3, 1010, 10, 1013, 12750000000), ('STDIO', 1, 1, None, 3, 500000000)]"
is 'the bins of POSIX' "$(json '[(b["reads"], b["writes"]) for b in d["counter_bins"]][::9]')" \
	'[(1039, 1049), (1048, 1058)]'
"$IOREEL" report s.db >out
check 'the head names what the format lacks, and claims no clock' \
	'grep -q "^imported: 3 events; clock error -" out &&
	grep -q "^source: 3.41.big.bzip2 (darshan): without single calls outside DXT;" out'
check 'their table' 'grep -q "POSIX *1,010 *10 *1,013 *1,014" out && grep -q "1K-10K *1,041 *1,051" out &&
	grep -q "STDIO *1 *- *3 *4 " out && grep -q "summed over ranks" out'
check 'advice names what was checked' 'grep -q IO-BOUND out || grep -q "segments of DXT" out'
make_log 3.41 little zlib partial=512 module=12 >partial.darshan
import partial.darshan
"$IOREEL" report s.db >out
check 'a partial log: the report says so' 'grep -q ^incomplete out && grep -q "left out: records of 2 modules" out'
is 'and its losses' "$(sql s.db 'SELECT reason FROM loss ORDER BY 1' | tr '\n' ,)" \
	'MDHIM,darshan STDIO: records left out,'
make_log 3.41 big none newer=9 module=40 >newer.darshan
import newer.darshan
is 'modules of newer versions, and new ones, are left out, the others are read' \
	"$(sql s.db 'SELECT group_concat(DISTINCT module), (SELECT group_concat(reason) FROM loss) FROM v_counter' | tr "$tab" ' ')" \
	'POSIX STDIO,module 40'
check 'the document says so' '"$IOREEL" report --json s.db | grep -q "\"complete\": false"'

# --- counters alone -----------------------------------------------------------
make_log 3.41 little zlib dxt=no nprocs=4 >counters.darshan
import counters.darshan
"$IOREEL" report s.db >out
is 'the time in calls of the ranks is judged' "$(grep -o '^Calls of POSIX take [0-9.]* s of' out; grep -o IO-BOUND out)" \
	"$(sql s.db "SELECT printf('Calls of POSIX take %.2f s of', sum(value) / 4) FROM v_counter WHERE module = 'POSIX'
		AND name IN ('POSIX_F_READ_TIME', 'POSIX_F_WRITE_TIME', 'POSIX_F_META_TIME') AND NOT (record = '12' AND rank <> -1)")
IO-BOUND"
"$IOREEL" report --json s.db >out.json
is 'totals are sums of counters' "$(json '[d["totals"][k] for k in ("files", "read_calls", "write_calls", "errors", "eof_reads", "io_ns")]')" \
	'[2, 1016, 1018, None, None, None]'
is 'bytes, too' "$(json '[d["totals"][k] for k in ("read_bytes", "write_bytes")]')" \
	"$(sql s.db "SELECT '[' || sum(value) FILTER (WHERE name GLOB '*READ') || ', ' || sum(value) FILTER (WHERE name GLOB '*WRITTEN') || ']'
		FROM v_counter WHERE (name GLOB '*_BYTES_READ' OR name GLOB '*_BYTES_WRITTEN') AND NOT (record = '12' AND rank <> -1)")"
is 'calls of a rank are not known, and not 0' "$(json '[(p["reads"], p["read_bytes"], p["sum_ns"]) for p in d["processes"]][0]')" '(None, None, None)'
is 'the files are those of the counters' "$(json '[(f["path"], f["shared"], f["opens"], f["reads"], f["errors"]) for f in d["files"]]')" \
	"[('/d/a', 0, 1000, 1003, None), ('/d/b', 1, 10, 10, None), ('<STDOUT>', 0, 1, 3, None)]"
"$IOREEL" compare --json s.db s.db >out.json
is 'two logs of counters are compared by bytes, mean size, order, files' \
	"$(json '[f["name"] for f in d["factors"] if f["a"] is not None], d["call_total_variation"]')" \
	"(['bytes read', 'bytes written', 'transfer size, mean', 'sequential', 'consecutive', 'files'], None)"

# --- DAOS ----------------------------------------------------------------------
for log in big.none little.zlib; do
	make_log 3.41 "${log%.*}" "${log#*.}" daos=yes dxt=no >"$log"
	import "$log"
	is "$log: counters of DFS and DAOS" "$(sql s.db "SELECT path, name, value FROM v_counter
		WHERE name IN ('DFS_OPENS', 'DFS_SLOWEST_RANK_BYTES', 'DFS_F_SLOWEST_RANK_TIME',
		'DAOS_OBJ_OPENS', 'DAOS_KV_GETS', 'DAOS_ARRAY_CHUNK_SIZE', 'DAOS_F_META_TIME')" | tr "$tab\n" ' ,')" \
		'/d/a DFS_OPENS 101,/d/a DFS_SLOWEST_RANK_BYTES 152,/d/a DFS_F_SLOWEST_RANK_TIME 0.125,'\
'5.6 DAOS_OBJ_OPENS 201,5.6 DAOS_KV_GETS 219,5.6 DAOS_ARRAY_CHUNK_SIZE 260,5.6 DAOS_F_META_TIME 0.25,'
done
is 'their calls, those without a wait once' "$(sql s.db "SELECT module, opens, stats, reads, writes, read_bytes, write_bytes
	FROM v_report_counters WHERE module GLOB 'D*'" | tr "$tab\n" ' ,')" \
	'DFS 203 114 211 215 115 116,DAOS 629 215 632 635 225 226,'
is 'in the totals DAOS, which is below DFS, does not count again' \
	"$(sql s.db "SELECT module, max(in_total) FROM v_counter_figure WHERE module GLOB 'D*' GROUP BY 1" | tr "$tab\n" ' ,')" \
	'DAOS 0,DFS 1,'
is 'their bins' "$(sql s.db "SELECT module, min(reads), max(writes) FROM v_report_counter_bins
	WHERE module GLOB 'D*' GROUP BY 1" | tr "$tab\n" ' ,')" 'DAOS 230 249,DFS 120 139,'

# --- ids of records, half of which exceed 2^63 ---------------------------------
for version in 1 2; do
	make_log 3.41 big none h5d=$version dxt=no >ids
	import ids
	sql s.db "SELECT name, value FROM v_counter WHERE name = 'H5D_SLOWEST_RANK_BYTES' OR name LIKE '%_REC_ID'
		OR name = 'POSIX_RENAMED_FROM' AND path = '/d/a'"
done | tr "$tab" ' ' >got
printf '%s\n' 'POSIX_RENAMED_FROM 9223372036854775813' 'H5D_SLOWEST_RANK_BYTES 93' 'H5D_FILE_REC_ID 0' \
	'POSIX_RENAMED_FROM 9223372036854775813' 'H5D_SLOWEST_RANK_BYTES 93' 'H5D_FILE_REC_ID 9223372036854775813' >want
check 'ids that counters hold have no sign; of an older record 0' 'diff want got'

# --- several logs of one job -------------------------------------------------
mkdir job
make_log 3.41 little zlib start=1600000010 rank=2 nprocs=4 >job/b.darshan
make_log 3.41 big bzip2 nprocs=4 >job/a.darshan
echo note >job/README
import job
is 'one run' "$(sql s.db 'SELECT ranks, start_real_ns, wall_ns, events FROM run' | tr "$tab" ' ')" \
	'4 1600000000500000000 13500000000 6'
is 'its logs' "$(sql s.db 'SELECT source_id, file FROM source' | tr "$tab\n" ' ,')" \
	'1 job/a.darshan,2 job/b.darshan,'
check 'the report says once what their format lacks' '"$IOREEL" report s.db >out &&
	grep -q "^source: job/a.darshan and 1 other (darshan): without" out && [ "$(grep -c ^source out)" = 1 ]'
is 'ranks of both' "$(sql s.db 'SELECT rank FROM process ORDER BY 1' | tr '\n' ' ')" '0 1 2 3 '
is 'times of both, from the first start' \
	"$(sql s.db 'SELECT start_ns FROM v_event WHERE call = '"'write'"' ORDER BY 1' | tr '\n' ' ')" \
	'500000000 10500000000 '

check 'logs of one job id: no word of jobs' '! grep -q ^jobs out'
make_log 3.41 little zlib start=1600000012 rank=3 nprocs=4 job=4243 >job/c.darshan
import job
check 'logs of several job ids: the report says that they are taken for one run' '"$IOREEL" report s.db |
	tr -s "\n " " " | grep -q "jobs: the logs have 2 job ids and are taken for one run" &&
	"$IOREEL" report --json s.db | grep -q "\"job_ids\": 2"'

# --- damage -----------------------------------------------------------------
for log in 3.00.big.bzip2 3.41.little.zlib 3.41.little.none; do
	check "$log: cut, and with flipped bytes" "text damage $log 61"
done
: >empty.darshan
check 'an empty file is refused' '! import empty.darshan 2>err && [ $(wc -l <err) = 1 ] && [ ! -e s.db ]'
sed 's/3\.41/3.99/' 3.41.little.zlib >newer.darshan
check 'a newer format is refused' '! import newer.darshan 2>err && grep -q "3.99" err && [ ! -e s.db ]'

# --- real logs ---------------------------------------------------------------
data=$IOREEL_DATA/darshan
if [ -z "$IOREEL_DATA" ] || [ ! -d "$data" ]; then
	for title in counters segments recounted damage cosmictagger 'four logs'; do
		check "$title # SKIP IOREEL_DATA is not set" true
	done
	finish
fi
for log in "$data"/*.darshan; do
	name=$(basename "$log" .darshan)
	import "$log"
	check "$name: every counter as darshan-parser prints it" \
		'text counters s.db "$data/$name.parser-all.txt.gz"'
	[ -e "$data/$name.dxt.txt.gz" ] || continue
	check "$name: every segment as darshan-dxt-parser prints it" \
		'text segments s.db "$data/$name.dxt.txt.gz"'
	# This log disagrees with itself: its own segments have one more.
	want=
	[ $name != nonmpi_dxt ] || want='POSIX_CONSEC_READS //798211322 0 counter 2 DXT 3'
	is "$name: counters follow from the segments" "$(text recount s.db | grep -v recounted)" "$want"
	"$IOREEL" report s.db >out
	check "$name: the report" '! grep -q shim out && ! grep -q "checked: opens" out'
done
import "$data/partial_data_stdio.darshan"
"$IOREEL" report s.db >out
check 'counters alone: the time in calls' 'grep -q "^Calls of STDIO take .*Darshan.s counters" out'
check 'a partial log is incomplete' 'grep -q ^incomplete out'
import "$data/empty_log.darshan"
"$IOREEL" report s.db >out
check 'an empty log' 'grep -q "Nothing is known" out && ! grep -q NO-PROBLEM out'

# The segments of eight ranks together take 105 s; those of a rank take 16.2 s in
# the mean. DXT has no segment of STDIO.
cosmic=$IOREEL_DATA/cosmictagger/cosmic_p8.darshan
"$IOREEL" report $cosmic >out
check 'with DXT: the time of the counters, not the union of all ranks' \
	'grep -q "^Calls of POSIX take 16.5 s of the run.s 988 s: 1.7 %" out && ! grep -q BOUND out'
check 'with DXT: what STDIO moved' 'grep -q "^  STDIO write 1.00 GB in 1,968 calls, in the counters only" out'
check 'nonmpi_dxt: cut, and with flipped bytes' 'text damage "$data/nonmpi_dxt.darshan" 997'

tar xzf "$data/dfanalyzer-four-logs-one-job.tar.gz"
mkdir four
mv *_python_*.darshan four
n=0
for log in four/*; do
	n=$((n + 1))
	"$IOREEL" import -q "$log" -o one$n.db
done
import four
check 'four logs of one job: one run with the counters of all' 'text same one1.db one2.db one3.db one4.db s.db'
is 'four sources' "$(sql s.db 'SELECT count(*), (SELECT count(*) FROM run) FROM source' | tr "$tab" ' ')" '4 1'

rm -f s.db
check 'logs of two jobs, years apart, are no run' '
	! "$IOREEL" import -q "$data/dlio_2110365.darshan" "$data/imbalanced_io.darshan" -o s.db 2>err &&
	grep -q "the logs are of different jobs, 3116902 and" err && [ "$(wc -l <err)" = 1 ] && [ ! -e s.db ]'

import "$IOREEL_DATA/cosmictagger/cosmic_p8.darshan"
is 'cosmictagger: the figures of VaniDL' "$(text vanidl s.db)" \
	'313872 events, 21 files, 46.40 s by VaniDL, 16.12 s true, mean 5170, median 2529'
is 'cosmictagger: counters follow from the segments' "$(text recount s.db)" \
	'1676 counters of 174 records recounted'
finish
