#!/bin/sh
# SPDX-License-Identifier: MIT
# ioreel import of any CSV through --map, and of MLPerf's KV cache traces.
. "$(dirname "$0")/../lib/tap.sh"
unset LD_PRELOAD

import() { rm -f s.db && "$IOREEL" import -q "$@" -o s.db; }
text() { python3 "$TOP/tests/cli/import_text.py" "$@"; }
refused() { ! import "$@" 2>err && [ "$(wc -l <err)" = "${lines:-1}" ] && [ ! -e s.db ]; }
tab=$(printf '\t')
events() {
	sql s.db 'SELECT e.start_ns, e.dur_ns, e.call, e.path, e.offset, e.asked, e.bytes,
		e.result, p.rank, p.pid, t.tid FROM v_event e JOIN process p USING (process_id)
		JOIN thread t USING (thread_id) ORDER BY 1' | tr "$tab" '|'
}

cat >comma.csv <<-END
	ts,op,file,off,bytes,dur,r
	1.5,read,"/d/a,""b""",0,4096,0.25,0
	2.0,WRITE,/d/b,10,7,0.1,1
	2.1,pread64,/d/b,,12,,1
END
map='start=ts,call=op,path=file,offset=off,size=bytes,duration=dur,rank=r,pid=,tid='
want='0|250000000|read|/d/a,"b"|0|4096|4096|4096|0|0|0
500000000|100000000|write|/d/b|10|7|7|7|1|0|0
600000000|0|pread|/d/b||12|12|12|1|0|0'
import --as csv --map "$map" comma.csv
is 'columns by their names' "$(events)" "$want"
is 'the values without a column' "$(sql s.db 'SELECT value FROM source_missing' | tr '\n' ' ')" \
	'spans results hosts processes threads '
errors() { "$IOREEL" report --json s.db | python3 -c 'import json, sys
r = json.load(sys.stdin); print(r["totals"]["errors"], {row["errors"] for row in r["calls"] + r["files"]})'; }
is 'without results errors are not known' "$(errors)" 'None {None}'
import --map "$map,result=bytes" comma.csv
is 'with results no call failed' "$(errors)" '0 {0}'
import --map "$map" comma.csv
is 'an empty cell is unknown' "$(sql s.db 'SELECT reason, count FROM loss' | tr "$tab" ' ')" \
	'no_duration 1'
is 'the mean size is no whole number' "$("$IOREEL" compare --json s.db s.db | python3 -c 'import json, sys
print([round(f["a"], 3) for f in json.load(sys.stdin)["factors"] if f["name"] == "transfer size, mean"])')" '[1371.667]'
import --map 'start=#1,call=#2,path=#3,offset=#4,size=#5,duration=#6,rank=#7' comma.csv
is 'by number, --map alone, a header' "$(events)" "$want"
tail -n +2 comma.csv >rows.csv
import --map 'start=#1,call=#2,path=#3,offset=#4,size=#5,duration=#6,rank=#7' rows.csv
is 'by number without a header' "$(events)" "$want"
import --map 'start=ts,call=op,path=file,duration=dur' comma.csv
is 'reads of an unknown size are no end of a file' "$(sql s.db 'SELECT sum(eof_reads), sum(calls) FROM v_group' |
	tr "$tab" ' ')" '0 3'
"$IOREEL" report s.db >out
check 'the report says that sizes are not known' '
	grep -q "the sizes of all calls are not known" out && grep -qE "^  read +2 +- " out &&
	! grep -q "small" out'
is 'nor do the views and the document' "$(sql s.db 'SELECT group_concat(coalesce(bytes, "-")), (SELECT coalesce(read_bytes, "-")
	FROM v_summary) FROM v_group' | tr "$tab" ' ') $("$IOREEL" report --json s.db | python3 -c 'import json, sys
r = json.load(sys.stdin); print(r["totals"]["write_bytes"], [g["bytes"] for g in r["groups"]])')" '-,- - None [None, None]'
import --map "$map" comma.csv
is 'sizes of other calls of a run are enough' "$(sql s.db 'SELECT count(bytes), (SELECT read_bytes > 0 FROM v_summary) FROM v_group' |
	tr "$tab" ' ')" '2 1'
awk 'BEGIN { print "ts,op,file,bytes,r"; for (i = 0; i < 1100000; i++)
	printf "%d,read,/d/%d,1,%d\n", i, i, i % 2 }' >many.csv
import --map 'start=ts,call=op,path=file,size=bytes,rank=r' many.csv
is 'files of each process, more than a million' \
	"$(sql s.db 'SELECT count(*), min(files), max(files) FROM process_io' | tr "$tab" ' ')" '2 550000 550000'
rm many.csv
for cut in 4 6 10; do head -c -$cut comma.csv >cut.csv
	import --map "$map" cut.csv
	is "a file without its last $cut bytes" "$(sql s.db "SELECT calls, lost, (SELECT count FROM loss WHERE reason = 'not_understood')
		FROM run" | tr "$tab" ' ')" '2 1 1'
done
printf %s "$(cat comma.csv)" >unended.csv && import --map "$map" unended.csv
is 'a last row without the end of its line' "$(events)" "$want"
# Rows whose last cell is cut off, of a writer with a buffer or with a fixed number of
# decimals; and files that only have no end of their last line.
cat >last_cell.py <<'EOF2'
import subprocess, sys
def calls(text, mapped):
    with open('last.csv', 'w') as f:
        f.write(text)
    subprocess.run([sys.argv[1], 'import', '-q', '--map', mapped, 'last.csv', '-o', 'last.db'], check=True)
    out = subprocess.run([sys.argv[1], 'sql', 'last.db', """SELECT calls, (SELECT total(count) FROM loss
        WHERE reason = 'not_understood') FROM run"""], stdout=subprocess.PIPE, text=True).stdout.split('\n')
    subprocess.run(['rm', 'last.db'])
    return out[1].replace('.0', '').split('\t')
def check(name, got, rows, lost):
    if got != [str(rows), str(lost)]:
        print(name, got, rows, lost)
times = 'ts,op,size,dur\n' + ''.join('%d,read,4096,%.6f\n' % (i, 0.5 + i % 7 / 64) for i in range(100))
mapped = 'start=ts,call=op,size=size,duration=dur'
check('whole', calls(times[:-1], mapped), 100, 0)
for cut in range(2, 10):
    check('cut by %d' % cut, calls(times[:-cut], mapped), 99, 1)
sizes = 'ts,op,size\n' + ''.join('%d,read,%d\n' % (i, 100000 + i * 7919 % 900000) for i in range(2000))
ends = [at for at in range(4096, len(sizes), 4096) if ',' not in sizes[at - 5:at] and '\n' not in sizes[at - 1:at + 1]]
for at in ends[:3]:
    rows = sizes[:at].count('\n')
    check('a buffer of %d' % at, calls(sizes[:at], 'start=ts,call=op,size=size'), rows - 1, 1)
if not ends:
    print('no row is cut off at a buffer')
check('no buffer', calls(sizes[:-1], 'start=ts,call=op,size=size'), 2000, 0)
short = 'ts,op,size,dur\n' + ''.join('%d,read,4096,%s\n' % (i, (0.25, 0.375, 1)[i % 3]) for i in range(100))
check('decimals that vary', calls(short + '100,read,4096,0.5', mapped), 101, 0)
EOF2
is 'a cut last cell is no value, where that can be known' "$(python3 last_cell.py "$IOREEL")" ''
sed 's/$/\r/' comma.csv | gzip >windows.csv.gz
import --map "$map" windows.csv.gz
is 'compressed, lines of Windows' "$(events)" "$want"
python3 - <<-END
	import csv
	rows = list(csv.reader(open("comma.csv", newline="")))
	for name, mark in ("semicolon", ";"), ("tab", "\t"):
	    with open(name + ".csv", "w", newline="") as f:
	        csv.writer(f, delimiter=mark, quoting=csv.QUOTE_ALL).writerows(rows)
END
for name in semicolon tab; do
	import --map "$map" $name.csv
	is "separated by $name, all in quotes" "$(events)" "$want"
done
{ printf '\357\273\277'; cat semicolon.csv; } >mark.csv
import --map "$map" mark.csv
is 'a byte order mark' "$(events)" "$want"
sed '1!s/\([0-9]\)[.]\([0-9]\)/\1,\2/g' semicolon.csv >decimal.csv
import --map "$map" decimal.csv
is 'decimal commas between semicolons' "$(events)" "$want"
sed '/,,/!s/,\([^"]\)/, \1/g; s/,"/, "/' comma.csv >spaces.csv
grep -q ', "' spaces.csv && import --map "$map" spaces.csv
is 'spaces behind the separators' "$(events)" "$want"
printf 't , c , p\n1 , read , "x " \n2,write ,y z \r\n' >behind.csv
import --map 'start=t,call=c,path=p' behind.csv
is 'spaces in front of the separators' "$(sql s.db "SELECT call, '<' || path || '>' FROM v_event" | tr "$tab\n" ' ;')" \
	'read <x >;write <y z>;'
printf 't|c|p\n1|read|"a|b, c; d"\n' >bar.csv
import --map 'start=t,call=c,path=p' bar.csv
is 'vertical bars' "$(sql s.db 'SELECT call, path FROM v_event' | tr "$tab" ' ')" 'read a|b, c; d'
printf 'Start, us;"end ""t""";call;p;res;pid;tid;host\n1000;1250.5;read;"two\nlines";-13;7;8;n1\n2000;1999;read;x;1;7;8;n1\n3000;3001;read;y;100;7;9;n2\n' >odd.csv
import --map 'start:us="Start, us",end:us=#2,call=call,path=p,result=res,pid=pid,tid=tid,host=host' odd.csv
is 'units, an end, results, newlines in quotes, hosts' "$(events)" \
	'0|250500|read|two\nlines||||-1||7|8
2000000|1000|read|y||100|100|100||7|9'
is 'errno of a negative result' "$(sql s.db 'SELECT errno FROM event ORDER BY start_ns LIMIT 1')" 13
printf 't,c,p,res\n1,read,x,-1\n2,read,x,-5000\n3,read,x,7\n' >failed.csv
cp s.db odd.db && import --map 'start=t,call=c,path=p,result=res' failed.csv
is 'a failure without an errno' "$(sql s.db 'SELECT result, errno, coalesce(bytes, "-"), (SELECT errors FROM v_summary) FROM v_event
	ORDER BY start_ns' | tr "$tab\n" ' ;')" '-1 -1 - 2;-1 -1 - 2;7 0 7 2;'
mv odd.db s.db
is 'a row that ends before its start' "$(sql s.db 'SELECT reason, count FROM loss' | tr "$tab" ' ')" \
	'not_understood 1'
is 'hosts' "$(sql s.db 'SELECT name FROM host ORDER BY 1' | tr '\n' ' ')" 'n1 n2 '
printf 't,d,c\n1700000000000,1,read\n1700000000005,2,frob\n1700000000009,1,read\n' >unix.csv
import --map 'start:unix-ms=t,duration:ms=d,call=c' unix.csv
is 'times since 1970' "$(sql s.db 'SELECT start_real_ns, span_ns, lost FROM run' | tr "$tab" ' ')" \
	'1700000000000000000 10000000 1'
is 'calls of unknown names, reads without a size' \
	"$(sql s.db 'SELECT reason, count FROM loss ORDER BY 1' | tr "$tab\n" ' ,')" \
	'no_size 2,unknown call frob 1,'
printf 't,d,s,n,c\n1,2,step,4,\n1.5,0.5,fetch,4,\n3,1,my phase,,\n1.6,0.1,,,read\n' >spans.csv
import --map 'start=t,duration=d,span=s,detail=n,call=c' spans.csv
is 'spans and calls' "$(sql s.db 'SELECT name, detail, start_ns, dur_ns FROM v_span ORDER BY start_ns' |
	tr "$tab\n" ' ,')$(sql s.db 'SELECT events FROM run')" \
	'step 4 0 2000000000,fetch 4 500000000 500000000,my phase  2000000000 1000000000,1'
is 'spans have their kinds' "$(sql s.db 'SELECT number, fetch_ns FROM v_step' | tr "$tab" ' ')" '4 500000000'
check 'one step is no measure of the waits' '"$IOREEL" report s.db | grep -q "it has one step"'
printf '3,2,step,5,\n3.5,0.5,fetch,5,\n' | cat spans.csv - >steps.csv
import --map 'start=t,duration=d,span=s,detail=n,call=c' steps.csv
"$IOREEL" report s.db >out
check 'the report' 'grep -q INPUT-BOUND out'

# --- wrong maps -----------------------------------------------------------------
wrong() { lines=2 refused --map "$1" comma.csv && grep -q -- "$2" err; }
check 'no start' 'wrong call=op "start, or end"'
check 'no call' 'wrong start=ts "call or span"'
check 'an unknown field' 'wrong start=ts,what=op "no field .what"'
check 'an unknown unit' 'wrong start:min=ts "no unit .min"'
check 'a unit that is no time' 'wrong rank:s=r "no time"'
check 'no equals sign' 'wrong start "has no ="'
check 'a quote that is open' "wrong 'start=\"ts' 'not closed'"
check 'a column of number 0' 'wrong start=#0 "no column"'
check 'a column that is not there' 'refused --map start=no,call=op comma.csv && grep -q "line 1: no column .no" err'
check 'it shows those that are there' 'grep -q "(there are: .ts., " err'
printf 't,c\n2023-11-14T22:13:20Z,read\n' >iso.csv
check 'a date needs its unit' 'refused --map start=t,call=c iso.csv && grep -q "line 2: .*2023-11-14T22:13:20Z. is no number .*start:iso=" err'
printf 't,c\nsoon,read\n' >soon.csv
check 'a time that is none' 'refused --map start=t,call=c soon.csv && grep -q "line 2: .*.soon. is no time" err'
check 'a date that is none' 'sed s/11-14/13-14/ iso.csv >13.csv && refused --map start:iso=t,call=c 13.csv && grep -q "2023-13-14T22:13:20Z" err'
check 'a day that no month has' 'sed s/11-14/02-30/ iso.csv >30.csv && refused --map start:iso=t,call=c 30.csv && grep -q "2023-02-30T22:13:20Z" err'
printf 't,e,c\n2023-11-14 22:13:20.25,2023-11-14T23:13:21.5+01:00,read\n2023-11-14T20:13:22.000000001-0200,2023-11-14T22:13:23Z,write\n' >dates.csv
import --map 'start:iso=t,end:iso=e,call=c' dates.csv
is 'dates: fractions, zones' "$(sql s.db 'SELECT start_real_ns, start_ns, dur_ns FROM run, v_event' | tr "$tab\n" ' ;')" \
	'1700000000250000000 0 1250000000;1700000000250000000 1750000001 999999999;'
for n in '1.024,0' '1.024,5' 1.048.576 1,0x 1.0e 1.5e3,7 4k '4 096' 4,096; do
	printf 't;c;n;d\n1;read;%s;1\n' "$n" >half.csv
	check "a size that is $n" 'refused --map start=t,call=c,size=n half.csv &&
		grep -q "line 2: size is .$n., which is no whole number$" err'
	check "a rank that is $n" 'refused --map start=t,call=c,rank=n half.csv && grep -q "rank is" err'
done
printf 't;c;n;d\n1;read;8;1.000,5\n2;read;8;1\n3;read;1.024,5;1\n4;read;4096,00;1\n5;read;-;1\n6;read;1e3;1\n7;read;9;nan\n' >some.csv
import --map start=t,call=c,size=n,duration=d some.csv
is 'rows whose numbers are none are lines that are not understood' \
	"$(sql s.db 'SELECT start_ns / 1000000000, asked FROM v_event ORDER BY 1' | tr "$tab\n" ' ;')$(
	sql s.db 'SELECT reason, count FROM loss ORDER BY 1' | tr "$tab\n" ' ;')" \
	'0 8;2 4096;3 ;4 1000;5 9;no_duration 1;no_size 1;not_understood 2;'
printf '1;read;8;1.000,5\n2;read;8;1\n' >first.csv
import --map start=#1,call=#2,size=#3,duration=#4 first.csv
is 'a first row with a bad number is no header' "$(sql s.db 'SELECT reason, count FROM loss' | tr "$tab" ' ')" 'not_understood 1'
printf 't,e,c\n2,1,read\n' >back.csv
check 'a time that goes back' 'refused --map start=t,end=e,call=c back.csv && grep -q "line 2: no time in the columns of --map$" err'
printf 't,c\n' >none.csv
check 'a header without rows' 'refused --map start=t,call=c none.csv && grep -q "no row is behind the header" err'
printf 't,c\n1,frob\n2,frob\n' >frob.csv
check 'calls of unknown names only' 'refused --map start=t,call=c frob.csv && grep -q "no call has a name that is known (one is .frob.)" err'
check 'no map' 'lines=2 refused --as csv comma.csv && grep -q "needs --map" err'
check 'without --as no importer takes it' 'refused comma.csv && grep -q "in no format" err'

# --- damage ---------------------------------------------------------------------
: >empty.csv
check 'an empty file' 'refused --map "$map" empty.csv && grep -q empty.csv err'
check 'a foreign file' 'refused --map start=#1,call=#2 "$IOREEL"'
printf 'ts,op\n1,read\n2,"read' >open.csv
import --map start=ts,call=op open.csv
is 'a quote that is cut off' "$(sql s.db "SELECT events, count FROM run, loss
	WHERE reason = 'not_understood'" | tr "$tab" ' ')" '1 1'
python3 -c 'print("ts,op\n1,read\n2,\"" + ("x" * 70 + "\n") * 250000)' >endless.csv
check 'a quote that never ends' 'refused --map start=ts,call=op endless.csv && grep -q "line 3" err'
python3 -c 'print("ts,op" + ",x" * 5000 + "\n1,read" + ",y" * 5000)' >wide.csv
import --map start=ts,call=op wide.csv
is 'five thousand columns' "$(sql s.db 'SELECT events FROM run')" 1
check 'cut, and with flipped bytes' 'text damage 3 comma.csv --map "$map"'
check 'compressed data cut, and flipped' 'text damage 5 windows.csv.gz --map "$map"'

# --- KV cache -------------------------------------------------------------------
python3 - <<-'END'
	import csv, random
	random.seed(7)
	with open("kv.csv", "w", newline="") as f:
	    out = csv.writer(f)
	    out.writerow("Timestamp Operation Object_Size_Bytes Tier Key Phase".split())
	    at = 1732300000.0
	    for i in range(3000):
	        at += random.random() / 1000
	        out.writerow([f"{at:.6f}", random.choice(["Read", "Write"]),
	                      random.choice([131072, 262144, 5000000000]),
	                      f"Tier-{random.randrange(3)}",
	                      f"user, {random.randrange(50)}",
	                      random.choice(["Prefill", "Decode", "Evict"])])
END
import kv.csv
check 'every operation of a KV cache, and its sums' 'text kv s.db kv.csv'
{ printf '\n\r\n'; cat kv.csv; } >blank.csv && import blank.csv
check 'behind empty lines, too' 'text kv s.db kv.csv'
is 'the start of the run' "$(sql s.db 'SELECT start_real_ns / 1000000000 FROM run')" 1732300000
gzip -k kv.csv
import kv.csv.gz
check 'gzip' 'text kv s.db kv.csv'
if command -v zstd >/dev/null; then
	zstd -q kv.csv
	import kv.csv.zst
	check 'Zstandard' 'text kv s.db kv.csv'
	check 'Zstandard, cut and flipped' 'text damage 997 kv.csv.zst --as kv-trace'
else
	skip 'Zstandard' 'there is no zstd'
fi
"$IOREEL" report s.db >out
check 'the report of a KV cache' 'grep -q "How long the I/O takes is not known" out'
{ cat kv.csv; printf '1,Delete,1,Tier-0,k,Evict\r\n1,Read,-1,Tier-0,k,Evict\r\n'; } >bad.csv
import bad.csv
is 'rows that are no operations' "$(sql s.db "SELECT count FROM loss WHERE reason = 'not_understood'")" 2
head -1 kv.csv >head.csv
import head.csv
is 'a header alone is an empty trace' "$(sql s.db 'SELECT events FROM run')" 0
printf 'Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase\nx\ny\n' >foreign.csv
check 'a header and nothing of the format' 'refused foreign.csv && grep -q "line 2" err'
head -30 kv.csv >short.csv
check 'cut, and with flipped bytes' 'text damage 13 short.csv --as kv-trace'

# --- each sample as itself --------------------------------------------------------
if [ -z "$IOREEL_DATA" ]; then
	skip 'samples' 'IOREEL_DATA is not set'
	finish
fi
# A folder of samples and the format that their stores name.
sample() { # format files
	format=$1
	shift
	for f; do
		[ -e "$f" ] && import "$f" 2>err || continue
		is "$(basename "$f") is $format" "$(sql s.db 'SELECT DISTINCT format FROM source')" $format
	done
}
sample kineto "$IOREEL_DATA"/kineto/*.gz
sample dftracer "$IOREEL_DATA"/dftracer/*.gz
sample strace "$IOREEL_DATA"/strace/*.gz
sample timelogger "$IOREEL_DATA"/hepcnn/*_1024.csv.gz
sample darshan "$IOREEL_DATA"/darshan/[desp]*.darshan
sample darshan-text "$IOREEL_DATA"/darshan/[desp]*all.txt.gz "$IOREEL_DATA"/darshan/*.dxt.txt.gz
for f in "$IOREEL_DATA"/*.csv "$IOREEL_DATA"/similarity/* "$IOREEL_DATA"/tf/*.csv \
	"$IOREEL_DATA"/README.md "$IOREEL_DATA"/cosmictagger/*.csv*; do
	check "$(basename "$f") is of no format" 'refused "$f"'
done

# Reads ahead of a job that computes: they are in flight all the time, and no wait.
cat >ahead.csv <<-END
	ts,op,file,size,dur
	0,io_uring_submit,,,0.001
	0,async_read,/d/a,4096,0.5
	0.5,io_uring_submit,,,0.001
	0.5,async_read,/d/a,4096,0.5
END
import --map 'start=ts,call=op,path=file,size=size,duration=dur' ahead.csv
check 'operations in flight are no wait' '"$IOREEL" report s.db | tr -s " \n" " " >out &&
	grep -q "I/O is in flight for 1.00 s .* wait for it take 2.00 ms" out && ! grep -q IO-BOUND out'
finish
