#!/bin/sh
# SPDX-License-Identifier: MIT
# ioreel import of the text of darshan-parser and darshan-dxt-parser: a log made by
# hand; with IOREEL_DATA real texts beside the native log of the same job.
. "$(dirname "$0")/../lib/tap.sh"
unset LD_PRELOAD

import() { rm -f s.db && "$IOREEL" import -q "$@" -o s.db; }
text() { python3 "$TOP/tests/cli/import_text.py" "$@"; }
refused() { ! import "$@" 2>err && [ "$(wc -l <err)" = 1 ] && [ ! -e s.db ]; }
tab=$(printf '\t')

header() {
	cat <<-END
	# darshan log version: 3.21
	# exe: /usr/bin/train --fast
	# start_time: 1600000000
	# end_time: 1600000003
	# nprocs: 2
	# run time: 4.0000

	# log file regions
	# POSIX module: $1 bytes (compressed), ver=4

	# mounted file systems (mount point and fs type)
	END
}
{
	header 99
	cat <<-END
	#<module>	<rank>	<record id>	<counter name>	<value>	<file name>
	POSIX	0	17446744073709551615	POSIX_OPENS	7	/d/a b	/d	nfs
	POSIX	0	17446744073709551615	POSIX_STATS	-1	/d/a b	/d	nfs
	POSIX	0	17446744073709551615	POSIX_F_READ_TIME	0.250000	/d/a b	/d	nfs
	POSIX	1	17446744073709551615	POSIX_OPENS	8	/d/a b	/d	nfs
	LUSTRE	-1	5	LUSTRE_COMP1_POOL_NAME	123	/d/t	abs	/d	lustre
	BG/Q	-1	6	BGQ_CSJOBID	3	darshan-bgq-record	UNKNOWN	UNKNOWN
	total_POSIX_OPENS: 15
	# *WARNING*: The STDIO module contains incomplete data!
	END
} >job.txt
{
	header 99
	cat <<-END
	# DXT_POSIX module data
	# DXT, file_id: 17446744073709551615, file_name: /d/a b
	# DXT, rank: 1, hostname: node7
	# DXT, number of threads: 1
	# DXT, write_count: 1, read_count: 2
	# DXT, mnt_pt: /d, fs_type: nfs
	# Module    Rank  Wt/Rd  Segment          Offset          Length    Start(s)      End(s)   Pthread-ID
	 X_POSIX       1  write        0              10             100      0.5000      0.7500   [213] [7]  1234
	 X_POSIX       1   read        0               0            4096      1.0000      1.5000   N/A
	 X_POSIX       1   read        1            4096               0      2.0000      2.1250   N/A
	# DXT_MPIIO module data
	# DXT, file_id: 9, file_name: (null)
	# DXT, rank: 0, hostname: node7
	# DXT, write_count: 1, read_count: 0
	# Module    Rank  Wt/Rd  Segment          Length    Start(s)      End(s)
	 X_MPIIO       0  write        0            8192      0.1000      0.2000
	END
} >dxt.txt

import job.txt
is 'counters with their types' "$(sql s.db 'SELECT module, rank, record, path, name,
	typeof(value), value FROM v_counter' | tr "$tab" '|')" \
	'POSIX|0|17446744073709551615|/d/a b|POSIX_OPENS|integer|7
POSIX|0|17446744073709551615|/d/a b|POSIX_STATS|integer|-1
POSIX|0|17446744073709551615|/d/a b|POSIX_F_READ_TIME|real|0.25
POSIX|1|17446744073709551615|/d/a b|POSIX_OPENS|integer|8
LUSTRE|-1|5|/d/t\tabs|LUSTRE_COMP1_POOL_NAME|text|123
BG/Q|-1|6||BGQ_CSJOBID|integer|3'
is 'the job' "$(sql s.db 'SELECT name, command, ranks, wall_ns, start_real_ns,
	clock_error_ns, events FROM run' | tr "$tab" ' ')" \
	'train /usr/bin/train --fast 2 4000000000 1600000000000000000 1000000000 0'
is 'a module with records left out' "$(sql s.db 'SELECT reason FROM loss')" \
	'darshan STDIO: records left out'
import dxt.txt
is 'segments' "$(sql s.db 'SELECT e.start_ns, dur_ns, rank, tid, call, path, offset, bytes
	FROM v_event e JOIN process USING (process_id) ORDER BY 1' | tr "$tab" ' ')" \
	'100000000 100000000 0 0 MPI_File_write_at darshan:9  8192
500000000 250000000 1 1234 write /d/a b 10 100
1000000000 500000000 1 0 read /d/a b 0 4096
2000000000 125000000 1 0 read /d/a b 4096 0'
import dxt.txt job.txt
is 'both texts are one job' "$(sql s.db 'SELECT (SELECT count(*) FROM process),
	(SELECT count(*) FROM source), (SELECT count(*) FROM v_counter), events, ranks
	FROM run' | tr "$tab" ' ')" '2 2 6 4 2'

# DXT_MPIIO does not say which calls are collective: the counters do.
mpiio() { sql s.db "SELECT op, calls, collective_calls FROM v_mpiio" | tr "$tab" ' '; }
import dxt.txt
is 'segments alone: the collective calls are not known' "$(mpiio)" 'write 1 '
is 'nor are opens and other calls, which no segment is' "$("$IOREEL" report --json s.db | python3 -c 'import json, sys
r = json.load(sys.stdin)
print(r["totals"]["meta_calls"], {row[key] for part, keys in {"layers": ["meta_calls"], "processes": ["meta_calls"],
    "classes": ["opens", "meta_ns"], "files": ["opens", "meta_calls", "meta_ns"], "timeline": ["meta_calls", "meta_ns"]}.items()
    for row in r[part] for key in keys}, [s["mean"] for s in r["spread"] if s["figure"] in ("sum_ns", "meta_calls")])')" \
	'None {None} [437500000.0, None]'
check 'nor does the report give a share' \
	'"$IOREEL" report s.db >out && grep -q "MPI-IO write 8.19 kB in 1 call$" out'
if python3 -c 'import jsonschema' 2>err; then
	check 'the document fits the schema' "\"$IOREEL\" report --json s.db >out.json && python3 -c 'import json, jsonschema
jsonschema.validate(json.load(open(\"out.json\")), json.load(open(\"$TOP/schemas/report.schema.json\")))'"
fi
# Without the calls below MPI-IO the totals have its bytes, and nothing was checked.
sed '/^# DXT_POSIX/,/^# DXT_MPIIO/{/^# DXT_MPIIO/!d}' dxt.txt >above.txt
figures() {
	"$IOREEL" report --json s.db >out.json && python3 -c 'import json
r = json.load(open("out.json"))
print([r["totals"][x] for x in ("read_bytes", "write_calls", "write_bytes", "files", "io_ns")],
      [(x["layer"], x["in_total"]) for x in r["layers"]], r["spread"], r["darshan_performance"],
      [x["code"] for x in r["advice"]])'
}
import above.txt
is 'MPI-IO alone is the lowest layer' "$(figures)" \
	"[0, 1, 8192, None, None] [('MPIIO', 1)] [] [] []"
check 'the verdict says that the calls below are not known' '"$IOREEL" report s.db >out &&
	grep -q "only calls of MPI-IO moved" out && ! grep -q "did no I/O" out'
printf 'POSIX\t0\t9\tPOSIX_%s\t%s\t/d/m\t/d\tnfs\n' WRITES 2 BYTES_WRITTEN 8000 \
	F_WRITE_TIME 0.5 >below.txt
sed '/^POSIX/d; /^LUSTRE/d; /^BG/d' job.txt | cat - below.txt >counted.txt
import counted.txt above.txt
is 'counters of the layer below are the totals' "$(sql s.db 'SELECT write_calls,
	s.write_bytes, in_total FROM v_summary s, v_layer' | tr "$tab" ' ')" '2 8000 0'
for n in 1 2; do
	{
		cat job.txt
		printf 'MPI-IO\t0\t9\tMPIIO_%s\t%s\t/d/m\t/d\tnfs\n' INDEP_WRITES 0 \
			COLL_WRITES $n COLL_READS -1
	} >mpiio.txt
	import mpiio.txt dxt.txt
	mpiio
done >got
is 'by counters of as many calls' "$(cat got)" 'write 1 1
write 1 '
# OMPIO wrote with pwritev(), which Darshan 3.2 did not count: POSIX has opens alone.
counters() {
	header 99
	printf '%s\t0\t%s\t%s\t%s\t/d/%s\t/d\tnfs\n' "$@"
}
counters MPI-IO 9 MPIIO_COLL_OPENS 4 c MPI-IO 9 MPIIO_COLL_WRITES 8 c \
	MPI-IO 9 MPIIO_BYTES_WRITTEN 8000 c MPI-IO 9 MPIIO_INDEP_READS 2 c \
	MPI-IO 9 MPIIO_BYTES_READ 600 c POSIX 9 POSIX_OPENS 8 c POSIX 9 POSIX_READS 1 c \
	POSIX 9 POSIX_WRITES 0 c POSIX 9 POSIX_BYTES_READ 500 c \
	POSIX 9 POSIX_BYTES_WRITTEN 0 c MPI-IO 7 MPIIO_COLL_WRITES 3 b \
	MPI-IO 7 MPIIO_BYTES_WRITTEN 30 b POSIX 7 POSIX_WRITES 1 b \
	POSIX 7 POSIX_BYTES_WRITTEN 30 b >ompio.txt
import ompio.txt
is 'the writes of MPI-IO count where POSIX has opens alone, its reads do not' \
	"$(sql s.db 'SELECT files, read_calls, write_calls, meta_calls, read_bytes,
		write_bytes FROM v_summary' | tr "$tab" ' ')" '2 1 9 8 500 8030'
is 'in the file, too' "$(sql s.db "SELECT opens, reads, writes, write_bytes FROM v_counter_file
	WHERE path = '/d/c'" | tr "$tab" ' ')" '8 1 8 8000'
# Versions of Darshan wrote times below 0.
counters STDIO 1 STDIO_WRITES 74 o STDIO 1 STDIO_F_WRITE_TIME -2662.7 o \
	POSIX 2 POSIX_WRITES 1 p POSIX 2 POSIX_F_WRITE_TIME 0.25 p \
	POSIX 3 POSIX_WRITES 1 q POSIX 3 POSIX_F_WRITE_TIME -0.000001 q >below0.txt
import below0.txt
is 'a time below 0 is not known, but for the error of overlapping calls' \
	"$(sql s.db 'SELECT module, writes, write_ns FROM v_report_counters' | tr "$tab" ' ')" \
	'POSIX 2 249999000
STDIO 74 '
sed 's/run time: .*/run time: 1.0000/' below0.txt >second.txt
import second.txt
check 'no share of a run of a second, the error of its times' '"$IOREEL" report s.db >out &&
	tr "\n" " " <out | grep -q "Calls of POSIX take 125 ms; their share of the run is not known: times"'
counters STDIO 1 STDIO_WRITES 74 o >streams.txt
import streams.txt
check 'no heading of sizes, which streams do not have' '"$IOREEL" report s.db >out && grep -q "^  STDIO " out &&
	! grep -q "bins of Darshan" out'
counters POSIX 4 POSIX_READS 3 p POSIX 4 POSIX_SIZE_READ_0_100 3 p >sized.txt
import sized.txt
check 'one of sizes that POSIX has' '"$IOREEL" report s.db | grep -q "bins of Darshan"'
counters POSIX 4 POSIX_OPENS 3 pipe POSIX 4 POSIX_STATS 1 pipe \
	POSIX 4 POSIX_F_META_TIME 6 pipe >pipe.txt
import pipe.txt
check 'opens of seconds may wait for processes' '"$IOREEL" report s.db >out &&
	tr -s "\n " " " <out | grep -q "metadata 100 %, 1.50 s for each open and stat: .* named pipes" &&
	! grep -q "larger files" out'
sed 's/module: 99/module: 98/' dxt.txt >other.txt
import job.txt dxt.txt other.txt
is 'text of another log has processes of its own' \
	"$(sql s.db 'SELECT count(*), (SELECT events FROM run) FROM process' | tr "$tab" ' ')" '4 8'
cp job.txt job2.txt
cp dxt.txt dxt2.txt
import job.txt job2.txt dxt.txt dxt2.txt
is 'two logs with one header' "$(sql s.db 'SELECT count(*) FROM process')" 4
cat job.txt dxt.txt >both.txt
import both.txt
is 'two texts in one file' "$(sql s.db 'SELECT (SELECT count(*) FROM process), events FROM run' |
	tr "$tab" ' ')" '2 4'
tr -d '\r' <both.txt | sed 's/$/\r/' | gzip >both.gz
import both.gz
is 'compressed, lines of Windows' "$(sql s.db 'SELECT count(*), min(path) FROM v_counter' |
	tr "$tab" ' ')" '6 /d/a b'
if command -v zstd >/dev/null; then
	zstd -q both.txt
	check 'Zstandard' 'import both.txt.zst'
else
	skip 'Zstandard' 'there is no zstd'
fi

# --- damage -------------------------------------------------------------------
sed '/X_POSIX.*read *1 /d' dxt.txt >short.txt
import short.txt
is 'a segment without a line is a loss' "$(sql s.db 'SELECT reason, count FROM loss' |
	tr "$tab" ' ')" 'segments without a line 1'
sed 's/OPENS	7/OPENS/; s/^POSIX	1/POSIX	one/' job.txt >bad.txt
import bad.txt
is 'lines that are no counters' "$(sql s.db "SELECT count FROM loss WHERE reason = 'not_understood'")" 2
{ header 1; echo 'total_POSIX_OPENS: 3'; } >total.txt
check 'totals alone are refused' 'refused total.txt && grep -q "totals of darshan-parser" err'
header 1 | sed /nprocs/d >noranks.txt
check 'a header that is not complete' 'refused noranks.txt && grep -q "line 10" err'
: >empty.txt
cat >norecord.txt <<'EOF2'
# darshan log version: 3.41
# exe: a.out
# uid: 1
# jobid: 1
# start_time: 1734633380
# end_time: 1734633515
# nprocs: 1
# run time: 135.2759
# mount entry:	/	overlay

# no DXT module data available for this Darshan log.
 X_POSIX       0  write        7               7               1      5.4024      5.4024   N/A
EOF2
import norecord.txt >out 2>&1
check 'a segment without a record is no crash' '[ $? -le 1 ]'
check 'an empty file' 'refused --as darshan-text empty.txt && grep -q empty.txt err'
echo hello >foreign.txt
check 'a foreign file' 'refused --as darshan-text foreign.txt && grep -q "line 1" err'
check 'cut, and with flipped bytes' 'text damage 61 both.txt'
check 'compressed data cut, and flipped' 'text damage 37 both.gz'

# --- real texts ----------------------------------------------------------------
data=$IOREEL_DATA/darshan
if [ -z "$IOREEL_DATA" ] || [ ! -d "$data" ]; then
	skip 'real texts' 'IOREEL_DATA is not set'
	finish
fi
for parser in "$data"/*.parser-all.txt.gz; do
	name=$(basename "$parser" .parser-all.txt.gz)
	dxt=$data/$name.dxt.txt.gz
	[ -e "$dxt" ] || dxt=
	"$IOREEL" import -q "$data/$name.darshan" -o native.db
	import "$parser" $dxt
	check "$name: counters and segments are those of the log" 'text darshan native.db s.db'
	"$IOREEL" report s.db >out
	check "$name: the report" '[ $name = empty_log ] || grep -q "^Darshan.s counters" out'
	rm -f native.db
	for kind in total perf; do
		[ ! -e "$data/$name.$kind.txt.gz" ] || [ $name = empty_log ] ||
			check "$name: $kind is refused" 'refused "$data/$name.$kind.txt.gz"'
	done
done
finish
