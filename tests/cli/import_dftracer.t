#!/bin/sh
# SPDX-License-Identifier: MIT
# ioreel import: DFTracer's logs of three generations, by hand and real ones, whose
# calls a recount of their JSON must equal; damaged files.
. "$(dirname "$0")/../lib/tap.sh"
unset LD_PRELOAD

import() { rm -f s.db && "$IOREEL" import -q "$@" -o s.db; }

events() {
	sql s.db "SELECT c.name, coalesce(f.path, '-'), coalesce(e.fd, '-'),
		coalesce(e.offset, '-'), coalesce(e.asked, '-'), e.result, e.dur_ns
	FROM event e JOIN call c USING (call_id) LEFT JOIN file f USING (file_id)
	ORDER BY e.start_ns" | tr '\t' '|'
}

# Calls of the files by the JSON itself: name, count, bytes, time; a line that
# comes again is a copy of a buffer, made by fork.
cat >recount.py <<'EOF2'
import collections, gzip, json, sys
calls = {'open64': 'open', 'lseek64': 'lseek', '__xstat': 'stat', '__xstat64': 'stat',
         '__lxstat': 'lstat', '__fxstat64': 'fstat'}
seen, rows = set(), collections.defaultdict(lambda: [0, 0, 0])
for path in sys.argv[1:]:
    for line in (gzip.open if path.endswith('gz') else open)(path, 'rt'):
        line = line.strip().rstrip(',')
        if not line.startswith('{') or line in seen:
            continue
        seen.add(line)
        e = json.loads(line)
        if e['ph'] != 'X' or e['cat'] not in ('POSIX', 'STDIO'):
            continue
        name, args = calls.get(e['name'], e['name']), e['args']
        r = rows[name]
        r[0] += 1
        if name in ('read', 'write'):
            r[1] += max(int(args['ret']), 0)
        r[2] += int(e['dur']) * 1000
for name in sorted(rows):
    print(name, *rows[name])
EOF2
counts() {
	sql s.db "SELECT call, sum(calls), sum(coalesce(bytes, 0)), sum(dur_ns)
	FROM v_event GROUP BY call ORDER BY call" | tr '\t' ' '
}

# --- before 1.0: names in each event, numbers as strings ----------------------
cat >old.pfw <<'EOF2'
[
 {"id":"0","name":"open64","cat":"POSIX","pid":"0","tid":"11","ts":"1698080323000010","dur":"5","ph":"X","args":{"hostname":"n1","ret":7,"flags":66,"fname":"/d/a","mode":420}}
{"id":"1","name":"read","cat":"POSIX","pid":"0","tid":"11","ts":"1698080323000020","dur":"3","ph":"X","args":{"hostname":"n1","ret":"100","count":"400","fname":"/d/a","fd":7}}
{"id":"2","name":"lseek64","cat":"POSIX","pid":"0","tid":"11","ts":"1698080323000030","dur":"1","ph":"X","args":{"hostname":"n1","ret":"4096","whence":0,"offset":"4096","fname":"/d/a","fd":7}}
{"id":"3","name":"read","cat":"POSIX","pid":"0","tid":"11","ts":"1698080323000040","dur":"3","ph":"X","args":{"hostname":"n1","ret":"100","count":"400","fname":"/d/a","fd":7}}
{"id":"4","name":"write","cat":"POSIX","pid":"0","tid":"11","ts":"1698080323000050","dur":"3","ph":"X","args":{"hostname":"n1","ret":"50","count":"50","fname":"/d/a","fd":7}}
{"id":"0","name":"open64","cat":"POSIX","pid":"0","tid":"11","ts":"1698080323000010","dur":"5","ph":"X","args":{"hostname":"n1","ret":7,"flags":66,"fname":"/d/a","mode":420}}
{"id":"5","name":"read","cat":"POSIX","pid":"0","tid":"12","ts":"1698080323000060","dur":"3","ph":"X","args":{"hostname":"n1","ret":"-1","count":"400","fname":"/d/a","fd":7}}
{"id":"6","name":"read","cat":"POSIX","pid":"0","tid":"11","ts":"1698080323000070","dur":"3","ph":"X","args":{"hostname":"n1","ret":"10","count":"10","fname":"/d/a","fd":7}}
{"id":"7","name":"pread64","cat":"POSIX","pid":"0","tid":"11","ts":"1698080323000080","dur":"3","ph":"X","args":{"hostname":"n1","ret":"9","count":"10","offset":"77","fname":"/d/a","fd":7}}
{"id":"8","name":"fread","cat":"STDIO","pid":"0","tid":"11","ts":"1698080323000090","dur":"3","ph":"X","args":{"hostname":"n1","ret":"3","size":"8","count":"5","fname":"/d/b"}}
{"id":"9","name":"__fxstat64","cat":"POSIX","pid":"0","tid":"11","ts":"1698080323000095","dur":"2","ph":"X","args":{"hostname":"n1","fd":7,"fname":"/d/a"}}
{"id":"10","name":"flurb","cat":"POSIX","pid":"0","tid":"11","ts":"1698080323000098","dur":"2","ph":"X","args":{"hostname":"n1","fd":7,"fname":"/d/a"}}
{"id":"11","name":"C.f","cat":"mine","pid":"0","tid":"11","ts":"1698080323000005","dur":"90","ph":"X","args":{"hostname":"n1","step":3}}
EOF2
cat >want <<'EOF2'
open|/d/a|7|-|-|7|5000
read|/d/a|7|-|400|100|3000
lseek|/d/a|7|4096|-|4096|1000
read|/d/a|7|4096|400|100|3000
write|/d/a|7|4196|50|50|3000
read|/d/a|7|-|400|-1|3000
read|/d/a|7|-|10|10|3000
pread|/d/a|7|77|10|9|3000
fread|/d/b|-|-|40|24|3000
fstat|/d/a|7|-|-|0|2000
flurb|/d/a|7|-|-|0|2000
EOF2
check 'a log of before 1.0 that is not closed' 'import old.pfw'
events >got
check 'calls; offsets only after lseek, and not of a shared descriptor' 'diff want got'
is 'a result below zero is an error without an errno' "$(sql s.db "SELECT call, errno, bytes, (SELECT errors FROM v_summary),
	(SELECT sum(calls) FROM v_error) FROM v_event WHERE result < 0" | tr '\t' ' ')" 'read -1  1 1'
is 'a call that is unknown keeps its name; nothing is lost' \
	"$(sql s.db "SELECT name, layer, call_group, call_id >= 2048, (SELECT count(*) FROM loss)
	FROM call WHERE name = 'flurb'" | tr '\t' ' ')" 'flurb POSIX other 1 0'
is 'so is the copy that a fork makes of a buffer' \
	"$(sql s.db "SELECT value FROM note WHERE key = 'dftracer.copies'")" 1
is 'events of an application are spans' \
	"$(sql s.db 'SELECT name, detail, start_ns, dur_ns FROM v_span' | tr '\t' ' ')" 'mine:C.f 3 0 90000'
is 'host, process, threads, time' \
	"$(sql s.db 'SELECT h.name, p.pid, coalesce(p.rank, "-"), (SELECT count(*) FROM thread), (SELECT start_real_ns FROM run)
	FROM process p JOIN host h USING (host_id)' | tr '\t' ' ')" \
	'n1 0 - 2 1698080323000005000'

# Logs of two processes, one behind the other: of a process that is killed the array is
# not closed, and a compressed one is a member of gzip of its own.
process() { sed 's/"pid":"0"/"pid":"'$1'"/' old.pfw; }
process 1 >one.pfw
process 2 >two.pfw
for end in '' ']'; do
	{ cat one.pfw && echo "$end" && cat two.pfw && echo "$end"; } >both.pfw
	check "two logs in one file ${end:-without its end}" 'import both.pfw'
	is 'have the events of both' "$(sql s.db 'SELECT p.pid, count(*) FROM v_event JOIN process p USING (process_id)
		GROUP BY 1' | xargs)" '1 11 2 11'
done
gzip -c one.pfw >both.pfw.gz && gzip -c two.pfw >>both.pfw.gz
check 'two compressed ones' 'import both.pfw.gz && [ "$(sql s.db "SELECT count(*) FROM v_event")" = 22 ]'

# --- calls that failed -----------------------------------------------------------
awk 'BEGIN {
	print "["
	split("open:-1 read:-1 read:100 write:-1 close:-1 lseek:-1 mmap:-4096 fread:3", call, " ")
	for (i = 0; i < 80; i++) {
		split(call[i % 8 + 1], c, ":")
		printf("{\"id\":%d,\"name\":\"%s\",\"cat\":\"%s\",\"pid\":1,\"tid\":1,\"ts\":%d,\"dur\":100,\"ph\":\"X\",", i,
			c[1], c[1] == "fread" ? "STDIO" : "POSIX", 1000 + 1000 * i)
		printf("\"args\":{\"hostname\":\"h\",\"fname\":\"/d/a\",\"ret\":%s,\"count\":100,\"size\":1}}\n", c[2])
	}
}' </dev/null >failed.pfw
check 'calls that failed' 'import failed.pfw'
is 'they have no bytes, and an errno that is none' \
	"$(sql s.db "SELECT call, result, errno, sum(calls), coalesce(sum(bytes), '-') FROM v_event GROUP BY 1, 2, 3 ORDER BY 1, 2" | tr '\t\n' ' ;')" \
	'close -1 -1 10 -;fread 3 0 10 30;lseek -1 -1 10 -;mmap -4096 0 10 -;open -1 -1 10 -;read -1 -1 10 -;read 100 0 10 1000;write -1 -1 10 -;'
is 'they are errors of the calls and the file, which was never opened' \
	"$(sql s.db "SELECT (SELECT group_concat(call || ' ' || errno || ' ' || calls, ', ') FROM (SELECT * FROM v_error ORDER BY call)),
		opens, errors, reads, read_bytes FROM v_file WHERE path = '/d/a'" | tr '\t' ';')" \
	'close -1 10, lseek -1 10, open -1 10, read -1 10, write -1 10;0;50;30;1030'
check 'the report counts them, of a reason that is not known' '"$IOREEL" report s.db | tr -s " \n" " " | grep -q "50 of these calls failed.*close (errno not known)"'

# --- 1.0 and later: hashes, in two files ---------------------------------------
mkdir new
cat >new/a.pfw <<'EOF2'
[
{"id":0,"name":"read","cat":"POSIX","pid":100,"tid":100,"ts":1700000000000010,"dur":5,"ph":"X","args":{"hhash":"f00d","fhash":"12ab","ret":64,"count":128,"level":1,"p_idx":-1}}
{"id":1,"name":"thread_name","cat":"dftracer","pid":100,"tid":100,"ph":"M","args":{"name":"100"}}
{"id":2,"name":"FH","cat":"dftracer","pid":100,"tid":100,"ph":"M","args":{"name":"/x/late","value":"12ab"}}
{"id":3,"name":"write","cat":"POSIX","pid":100,"tid":100,"ts":1700000000000020,"dur":5,"ph":"X","args":{"hhash":"f00d","fhash":4711,"ret":8,"count":8}}
{"id":4,"name":"write","cat":"POSIX","pid":100,"tid":100,"ts":1700000000000030,"dur":5,"ph":"X","args":{"hhash":"f00d","fhash":"nobody","ret":8,"count":8}}
]
EOF2
cat >new/b.pfw <<'EOF2'
[
{"id":0,"name":"HH","cat":"dftracer","pid":101,"tid":101,"ph":"M","args":{"name":"node7","value":"f00d"}}
{"id":1,"name":"FH","cat":"dftracer","pid":101,"tid":101,"ph":"M","args":{"name":"/x/other","value":4711}}
{"id":2,"name":"read","cat":"POSIX","pid":101,"tid":101,"ts":1700000000000001,"dur":2,"ph":"X","args":{"hhash":"f00d","fhash":4711,"ret":1,"count":1}}
EOF2
gzip new/b.pfw
echo notes >new/README
check 'a folder of two logs, one compressed' 'import new'
cat >want <<'EOF2'
read|/x/other|-|-|1|1|2000
read|/x/late|-|-|128|64|5000
write|/x/other|-|-|8|8|5000
write|dftracer:nobody|-|-|8|8|5000
EOF2
events >got
check 'names that come after their use or in another file' 'diff want got'
is 'hosts, too' "$(sql s.db 'SELECT h.name, p.pid FROM process p JOIN host h USING (host_id) ORDER BY pid' | tr '\t\n' ' ;')" \
	'node7 100;node7 101;'
is 'both files are sources' "$(sql s.db "SELECT count(*) FROM source WHERE format = 'dftracer'")" 2

# --- steps: loops that dftracer's iter() records ---------------------------------
{
	echo '['
	i=0
	while [ $i -lt 4 ]; do
		t=$((1700000000000000 + i * 100))
		n=$((i + 1))
		echo '{"id":'$n'0,"name":"loop.iter","cat":"dlio_benchmark","pid":5,"tid":5,"ts":'$t',"dur":40,"ph":"X","args":{"hostname":"n","step":"'$n'"}}'
		echo '{"id":'$n'2,"name":"T.compute","cat":"ai_framework","pid":5,"tid":5,"ts":'$((t + 50))',"dur":30,"ph":"X","args":{"hostname":"n"}}'
		echo '{"id":'$n'1,"name":"loop.yield","cat":"dlio_benchmark","pid":5,"tid":5,"ts":'$((t + 41))',"dur":49,"ph":"X","args":{"hostname":"n","step":"'$n'"}}'
		i=$n
	done
} >loop.pfw
check 'a loop over batches' 'import loop.pfw'
is 'its steps' \
	"$(sql s.db 'SELECT number, start_ns, dur_ns, fetch_ns, compute_ns FROM v_step' | tr '\t\n' ' ;')" \
	'1 0 90000 40000 30000;2 100000 90000 40000 30000;3 200000 90000 40000 30000;4 300000 90000 40000 30000;'
# DLIO breaks out of its loop in the last turn of an epoch, whose fetch and body the
# loop's wrapper then does not record: the batch arrives after the computation before.
{
	sed '/"T.compute"/{p;s/"T.compute"/"T.trace_object"/;s/50,"dur":30/45,"dur":1/}' loop.pfw
	echo '{"id":91,"name":"T.trace_object","cat":"ai_framework","pid":5,"tid":5,"ts":1700000000000445,"dur":1,"ph":"X","args":{"hostname":"n"}}'
	echo '{"id":92,"name":"T.compute","cat":"ai_framework","pid":5,"tid":5,"ts":1700000000000450,"dur":30,"ph":"X","args":{"hostname":"n"}}'
} >left.pfw
check 'a loop that is left in its last turn' 'import left.pfw'
is 'its last step fetches from the end of the one before to its batch' \
	"$(sql s.db 'SELECT number, start_ns, dur_ns, fetch_ns, compute_ns FROM v_step WHERE number > 3' | tr '\t\n' ' ;')" \
	'4 300000 90000 40000 30000;5 390000 90000 55000 30000;'

# --- without DFTRACER_INC_METADATA calls have no arguments --------------------------
cat >bare.pfw <<'EOF2'
{"name":"CM","cat":"dftracer","type":1,"pid":7,"tid":7,"ph":4,"args":{"hhash":"a1","name":"time_metric","value":"US"}}
{"id":1,"name":"start","cat":"dftracer","type":1,"pid":7,"tid":7,"ts":1000,"dur":0,"ph":1}
{"id":2,"name":"open64","cat":"POSIX","type":3,"pid":7,"tid":7,"ts":1001,"dur":9,"ph":1}
{"id":3,"name":"read","cat":"POSIX","type":3,"pid":7,"tid":7,"ts":1020,"dur":9,"ph":1}
{"id":4,"name":"write","cat":"POSIX","type":3,"pid":7,"tid":7,"ts":1040,"dur":9,"ph":1}
EOF2
check 'a log of 2.2 without arguments' 'import bare.pfw'
check 'the report says that its bytes are not known' \
	'"$IOREEL" report s.db | tr -s " \n" " " | grep -q "; the sizes of 2 calls are not known"'
is 'nor are its files, errors and reads at the end' \
	"$(sql s.db "SELECT read_calls, coalesce(files, '-'), coalesce(errors, '-'),
		coalesce(eof_reads, '-') FROM v_summary" | tr '\t' ' ')$("$IOREEL" report s.db | grep -c '^  \(read\|write\) .* -$')" \
	'1 - - -2'

# --- a rename has two files --------------------------------------------------------
cat >renamed.pfw <<'EOF2'
{"name":"FH","cat":"dftracer","type":1,"pid":7,"tid":7,"ph":4,"args":{"hhash":"a1","name":"/d/x.tmp","value":"f1"}}
{"name":"FH","cat":"dftracer","type":1,"pid":7,"tid":7,"ph":4,"args":{"hhash":"a1","name":"/d/x","value":"f2"}}
{"id":1,"name":"rename","cat":"POSIX","type":3,"pid":7,"tid":7,"ts":1000,"dur":9,"ph":1,"args":{"hhash":"a1","newpath_hash":"f2","fhash":"f1"}}
EOF2
check 'a rename of 2.2' 'import renamed.pfw'
is 'its old and its new name' "$(sql s.db 'SELECT path, path2 FROM v_event' | tr '\t' ' ')" '/d/x.tmp /d/x'

# --- 2.0 and later: lines, phases as digits, no descriptors; times in another unit --
mkdir two
cat >two/a.pfw <<'EOF2'
{"name":"HH","cat":"dftracer","type":1,"pid":7,"tid":7,"ph":4,"args":{"hhash":"a1","name":"node9","value":"a1"}}
{"name":"CM","cat":"dftracer","type":1,"pid":7,"tid":7,"ph":4,"args":{"hhash":"a1","name":"time_metric","value":"NS"}}
{"name":"FH","cat":"dftracer","type":1,"pid":7,"tid":7,"ph":4,"args":{"hhash":"a1","name":"/d/x","value":"f1"}}
{"id":1,"name":"open64","cat":"POSIX","type":3,"pid":7,"tid":7,"ts":1795634595000000100,"dur":17,"ph":1,"args":{"hhash":"a1","flags":524288,"fhash":"f1"}}
{"id":2,"name":"read","cat":"POSIX","type":3,"pid":7,"tid":7,"ts":1795634595000000200,"dur":3,"ph":1,"args":{"hhash":"a1","ret":100,"count":400,"fhash":"f1"}}
{"id":3,"name":"read","cat":"POSIX","type":3,"pid":7,"tid":7,"ts":1795634595000000300,"dur":3,"ph":1,"args":{"hhash":"a1","ret":50,"count":400,"fhash":"f1"}}
{"id":13,"name":"open64","cat":"POSIX","type":3,"pid":7,"tid":7,"ts":1795634595000000310,"dur":1,"ph":1,"args":{"hhash":"a1","ret":-1,"fhash":"f1"}}
{"id":14,"name":"read","cat":"POSIX","type":3,"pid":7,"tid":7,"ts":1795634595000000320,"dur":3,"ph":1,"args":{"hhash":"a1","ret":10,"count":10,"fhash":"f1"}}
{"id":4,"name":"open64","cat":"POSIX","type":3,"pid":7,"tid":7,"ts":1795634595000000400,"dur":1,"ph":1,"args":{"hhash":"a1","flags":524288,"fhash":"f1"}}
{"id":5,"name":"read","cat":"POSIX","type":3,"pid":7,"tid":7,"ts":1795634595000000500,"dur":3,"ph":1,"args":{"hhash":"a1","ret":50,"count":400,"fhash":"f1"}}
{"id":6,"name":"close","cat":"POSIX","type":3,"pid":7,"tid":7,"ts":1795634595000000600,"dur":3,"ph":1,"args":{"hhash":"a1","ret":0,"fhash":"f1"}}
{"id":7,"name":"lseek64","cat":"POSIX","type":3,"pid":7,"tid":7,"ts":1795634595000000700,"dur":3,"ph":1,"args":{"hhash":"a1","ret":4096,"whence":0,"offset":4096,"fhash":"f1"}}
{"id":8,"name":"read","cat":"POSIX","type":3,"pid":7,"tid":7,"ts":1795634595000000800,"dur":3,"ph":1,"args":{"hhash":"a1","ret":8,"count":8,"fhash":"f1"}}
{"id":9,"name":"close","cat":"POSIX","type":3,"pid":7,"tid":7,"ts":1795634595000000900,"dur":3,"ph":1,"args":{"hhash":"a1","ret":0,"fhash":"f1"}}
{"id":10,"name":"open64","cat":"POSIX","type":3,"pid":7,"tid":7,"ts":1795634595000001000,"dur":17,"ph":1,"args":{"hhash":"a1","flags":1025,"fhash":"f1"}}
{"id":11,"name":"write","cat":"POSIX","type":3,"pid":7,"tid":7,"ts":1795634595000001100,"dur":2,"ph":1,"args":{"hhash":"a1","ret":5,"count":5,"fhash":"f1"}}
{"name":"mem","cat":"sys","type":7,"pid":7,"tid":7,"ts":1795634595000001150,"ph":2,"args":{"hhash":"a1","MemFree":5}}
{"name":"read","cat":"POSIX","type":3,"ts":1795634595000001200,"ph":3,"pid":7,"tid":7,"args":{"hhash":"a1","dur_sum":155,"ret_sum":245760,"dft_cnt":60}}
EOF2
# The error of the clock is the unit of the log, but DFTracer measures in us.
for unit in NS US MS SEC; do
	sed "s/\"NS\"/\"$unit\"/; s/\"ts\":1795634595/\"ts\":1/" two/a.pfw >unit.pfw
	import unit.pfw && sql s.db 'SELECT clock_error_ns FROM run'
done >got
is 'clock errors of the units' "$(tr '\n' ' ' <got)" '1000 1000 1000000 1000000000 '
cat >want <<'EOF2'
open|/d/x|-|-|-|0|17
read|/d/x|-|0|400|100|3
read|/d/x|-|100|400|50|3
open|/d/x|-|-|-|-1|1
read|/d/x|-|150|10|10|3
open|/d/x|-|-|-|0|1
read|/d/x|-|-|400|50|3
close|/d/x|-|-|-|0|3
lseek|/d/x|-|4096|-|4096|3
read|/d/x|-|4096|8|8|3
close|/d/x|-|-|-|0|3
open|/d/x|-|-|-|0|17
write|/d/x|-|-|5|5|2
EOF2
# DFTracer's generators of traces write no category into metadata.
mkdir made
cat >made/r.pfw <<'EOF2'
[
{"name":"HH","ph":4,"type":1,"args":{"hhash":"a1","name":"node9","value":"a1"}}
{"name":"FH","ph":4,"type":1,"args":{"hhash":"a1","name":"/d/x","value":"f1"}}
{"id":0,"name":"pread","cat":"POSIX","pid":3,"tid":4,"ts":1000005,"dur":15,"ph":1,"type":3,"args":{"hhash":"a1","fhash":"f1","ret":47,"count":47,"offset":5}}
{"id":1,"name":"conv","cat":"APP","pid":3,"tid":4,"ts":1000025,"dur":9,"ph":1,"type":0,"args":{"hhash":"a1","step":0}}
{"id":2,"name":"conv","cat":"APP","pid":3,"tid":4,"ts":1000035,"dur":8,"ph":1,"type":0,"args":{"hhash":"a1","step":1}}
{"id":3,"name":"onv","cat":"APPc","pid":3,"tid":4,"ts":1000045,"dur":8,"ph":1,"type":0,"args":{"hhash":"a1","step":1}}
EOF2
check 'a made log is found by its content' 'import made && events >out &&
	[ "$(cat out)" = "pread|/d/x|-|5|47|47|15000" ] &&
	[ "$(sql s.db "SELECT group_concat(name, \" \") FROM v_span")" = "APP:conv APP:conv APPc:onv" ]'
sed 's/"ph":4,"type":1/"ph":"M"/; s/"ph":1,"type":[03]/"ph":"X"/' made/r.pfw >r.pfw
check 'so is one of the generator before' 'import r.pfw && events >out &&
	[ "$(cat out)" = "pread|/d/x|-|5|47|47|15000" ]'

check 'a log of 2.2, in ns' 'import two'
events >got
check 'offsets of a file that is open once, not of one opened to append' 'diff want got'
is 'its clock, host and losses' \
	"$(sql s.db "SELECT start_real_ns, (SELECT name FROM host), (SELECT group_concat(reason || ' ' || lost) FROM
		(SELECT reason, sum(count) AS lost FROM loss GROUP BY reason ORDER BY reason)) FROM run" | tr '\t' ' ')" \
	'1795634595000000100 node9 only_sums 60,other_phases 1'
sed '/"ph":1/d' two/a.pfw >sums.pfw
check 'a log of sums alone is refused by that name' \
	'! "$IOREEL" import -q sums.pfw -o s.db 2>err && grep -q "sums.pfw.*sums of events only" err'
{
	echo '{"name":"HH","cat":"dftracer","type":1,"pid":5,"tid":5,"ph":4,"args":{"hhash":"a1","name":"n","value":"a1"}}'
	for i in 1 2 3; do
		t=$((1700000000000000 + i * 100))
		echo '{"id":'$i'1,"name":"compute","cat":"compute","type":6,"pid":5,"tid":5,"ts":'$((t + 50))',"dur":30,"ph":1,"args":{"hhash":"a1"}}'
		echo '{"id":'$i'2,"name":"fetch.iter","cat":"dataloader","type":6,"pid":5,"tid":5,"ts":'$t',"dur":40,"ph":1,"args":{"hhash":"a1","count":'$i'}}'
		echo '{"id":'$i'3,"name":"fetch.block","cat":"dataloader","type":6,"pid":5,"tid":5,"ts":'$((t + 41))',"dur":49,"ph":1,"args":{"hhash":"a1","count":'$i'}}'
	done
	echo '{"id":40,"name":"epoch.block","cat":"pipeline","type":6,"pid":5,"tid":5,"ts":1700000000000090,"dur":400,"ph":1,"args":{"hhash":"a1","count":1}}'
} >blocks.pfw
check 'loops of 2.x' 'import blocks.pfw'
is 'their steps, and the epoch around them' \
	"$(sql s.db 'SELECT epoch, number, dur_ns, fetch_ns, compute_ns FROM v_step' | tr '\t\n' ' ;')" \
	'1 1 90000 40000 30000;1 2 90000 40000 30000;1 3 90000 40000 30000;'

# --- damage ----------------------------------------------------------------------
refused() { # FILE PATTERN
	rm -f s.db
	! "$IOREEL" import -q --as dftracer "$1" -o s.db 2>err &&
		[ "$(wc -l <err)" = 1 ] && grep -q "$2" err && [ ! -e s.db ]
}
gzip -c old.pfw >whole.pfw.gz
head -c 300 whole.pfw.gz >cut.pfw.gz
check 'a compressed log that is cut off' 'refused cut.pfw.gz "cut.pfw.gz.*offset"'
head -c 1000 old.pfw >cut.pfw
check 'a log that ends inside an event' 'refused cut.pfw "cut.pfw.*offset"'
is 'which names the option that takes what is before' "$(grep -c 'try: ioreel import --partial$' err)" 1
check 'which does' 'import --partial cut.pfw &&
	[ "$(head -n -1 cut.pfw | grep -c POSIX)" = "$(sql s.db "SELECT count(*) FROM event")" ]'
is 'and says so' "$(sql s.db 'SELECT reason, unit, count FROM loss' | tr '\t' ' ')" 'partial files 1'
check 'in the report too' \
	'"$IOREEL" report s.db | tr -s " \n" " " | grep -q "what follows the damage in 1 file: figures are lower bounds"'
{ head -3 old.pfw && echo '}{no event' && tail -3 old.pfw; } >garbage.pfw
check 'a line of garbage' 'refused garbage.pfw "garbage.pfw.*offset"'
: >empty.pfw
check 'an empty file' 'refused empty.pfw empty.pfw'
{ head -3 old.pfw && sed -n 4p old.pfw | head -c 22 && echo && tail -3 old.pfw; } >half.pfw
check 'a line that is cut inside a string, with others behind it' 'refused half.pfw "half.pfw.*offset.*a string is cut off"'
# skips FILE EVENTS BYTES: --partial leaves out one line, and counts it
skips() {
	import --partial "$1"
	is "$1: --partial reads on at the next line" "$(sql s.db 'SELECT count(*) FROM event')" "$2"
	is "$1: what is left out has its file and offset" \
		"$(sql s.db 'SELECT reason, unit, count FROM v_loss ORDER BY unit' | tr '\t\n' ' ;')" \
		"damaged: offset $(head -3 old.pfw | wc -c) of $1 bytes $3;damaged places 1;"
}
skips garbage.pfw 4 11
skips half.pfw 4 23
check 'and the report says so' '"$IOREEL" report s.db >out &&
	grep -q "^incomplete: .*the trace is damaged" out &&
	grep -q "^damaged: 23 B of its logs skipped in 1 place (at offset $(head -3 old.pfw | wc -c) of half.pfw)" out'
gzip -c half.pfw >half.pfw.gz
check 'of a compressed log, too' 'import --partial half.pfw.gz &&
	[ "$(sql s.db "SELECT count(*) FROM event")" = 4 ]'
# Each line is cut in turn, and at each place: the line alone is lost, and it is said.
cat >cuts.py <<'EOF2'
import subprocess, sys
lines = open('old.pfw', 'rb').read().split(b'\n')
wrong = 0
for cut in range(1, len(lines[4]), 7):
    open('cut.pfw', 'wb').write(b'\n'.join(lines[:4] + [lines[4][:cut]] + lines[5:]))
    subprocess.run([sys.argv[1], 'import', '-q', '--partial', 'cut.pfw', '-o', 'cut.db'], check=True)
    got = subprocess.run([sys.argv[1], 'sql', 'cut.db', """SELECT (SELECT count(*) FROM event),
        (SELECT sum(count) FROM loss WHERE unit = 'places')"""],
        stdout=subprocess.PIPE, text=True).stdout.split('\n')[1]
    wrong += got != '%s\t1' % sys.argv[2]
print(wrong)
EOF2
import old.pfw
is 'a line cut at any place loses itself alone' \
	"$(python3 cuts.py "$IOREEL" $(($(sql s.db 'SELECT count(*) FROM event') - 1)))" 0
echo '[]' >none.pfw
check 'a log without events' 'refused none.pfw "no events"'
echo '[{"ph":"X","name":"a","ts":1,"dur":1,"pid":1,"tid":1}]' >chrome.json
check 'another trace of events is not taken for one' \
	'! import chrome.json 2>err || [ "$(sql s.db "SELECT format FROM source")" != dftracer ]'

if [ -x "$O/tests/fuzz/fuzz_import" ]; then
	check '300 damaged files of 2.2' '"$O/tests/fuzz/fuzz_import" 300 1 two/a.pfw'
else
	skip 'damaged files' 'no fuzz_import here'
fi

# --- real logs ---------------------------------------------------------------------
for name in test dlio-unet3d-test-trace; do
	f=${IOREEL_DATA:-/none}/dftracer/$name.pfw.gz
	if [ ! -e "$f" ]; then
		check "$name # SKIP no such file in IOREEL_DATA" true
		continue
	fi
	check "$name" 'import "$f"'
	python3 recount.py "$f" >want
	counts >got
	check "$name: count, bytes and time of each call equal the JSON's" 'diff want got'
done
if [ -e "$f" ]; then
	is 'no event is lost: spans, calls and copies are all' \
		"$(sql s.db "SELECT (SELECT sum(calls) FROM v_event) + (SELECT count(*) FROM v_span
			WHERE name NOT IN ('step', 'fetch'))
			+ (SELECT value FROM note WHERE key = 'dftracer.copies')")" \
		"$(gzip -dc "$f" | grep -c '{')"
	is 'the epochs of DLIO have a step each' \
		"$(sql s.db 'SELECT epoch, round(fetch_ns / 1e9, 3), round(compute_ns / 1e9, 3) FROM v_step' | tr '\t\n' ' ;')" \
		'1 16.179 1.361;2 11.948 1.361;3 5.209 1.361;4 4.741 1.361;5 4.706 1.362;'
	check 'and a verdict' '"$IOREEL" report s.db | grep -q INPUT-BOUND'
	is 'each read has an offset, that of the lseek before it' \
		"$(sql s.db "SELECT count(*) FROM v_event WHERE call = 'read' AND offset IS NULL")" 0
fi

# --- processes that logged their start ---------------------------------------
mkdir forked
cat >forked.py <<'PY'
import json
at = 1795752116000000
logs = {}
def line(pid, name, cat, ts, dur, **args):
    log = logs.setdefault(pid, [])
    log.append({"id": len(log), "name": name, "cat": cat, "type": 3, "pid": pid, "tid": pid,
                "ts": at + ts, "dur": dur, "ph": 1, "args": {"hhash": "h", **args}})
def text(pid, kind, name, value):
    logs.setdefault(pid, []).append({"name": kind, "cat": "dftracer", "type": 1, "pid": pid, "tid": pid,
                                     "ph": 4, "args": {"hhash": "h", "name": name, "value": value}})
for pid, parent, command in (10, 1, "c1"), (11, 10, "c1"), (12, 10, "c1"), (13, 10, "c2"), (14, 10, "c1"):
    text(pid, "HH", "n1", "h")
    text(pid, "SH", "python;train.py;-v" if command == "c1" else "python;other.py", command)
    text(pid, "FH", "/d/a", "f")
    text(pid, "FH", "/home/u", "w")
    line(pid, "start", "dftracer", 10 * (pid - 10), 0, ppid=parent, cmd_hash=command, exec_hash=command, cwd="w")
for step in range(10):
    line(10, "fetch.iter", "dataloader", 1000 + 10000 * step, 4000, count=step + 1)
    line(10, "compute", "compute", 5000 + 10000 * step, 5000)
for pid in 11, 12, 13:
    for i in range(20):
        line(pid, "read", "POSIX", 2000 + 4000 * i + pid, 1000, ret=100, count=100, fhash="f")
        line(pid, "FormatReader.preprocess", "reader", 3100 + 4000 * i + pid, 500)
line(14, "FormatReader.preprocess", "reader", 4000, 500)
for pid, log in logs.items():
    with open(f"forked/t-{pid}.pfw", "w") as f:
        f.writelines(json.dumps(e, separators=(",", ":")) + "\n" for e in log)
PY
python3 forked.py
import forked
is 'children that read during the fetches are loader workers: same command, any read' \
	"$(sql s.db "SELECT group_concat(pid || ' ' || coalesce(parent_id, '-') || ' ' || role || ' ' || cwd, ', ') FROM (SELECT * FROM process ORDER BY pid)")" \
	'10 - main /home/u, 11 1 worker /home/u, 12 1 worker /home/u, 13 1 child /home/u, 14 1 child /home/u'
is 'their command' "$(sql s.db "SELECT command FROM process WHERE pid = 11")" 'python train.py -v'
is 'samples that workers preprocess are no batches' \
	"$(sql s.db "SELECT group_concat(name || ' ' || n, ', ') FROM (SELECT name, count(*) n FROM v_span WHERE name LIKE 'preprocess%' GROUP BY 1)")" \
	'preprocess 21, preprocess_sample 40'
check 'the report sees them' '"$IOREEL" report s.db | tr -s " \n" " " >out && grep -q "1 rank, 2 loader workers" out &&
	grep -q "calls of I/O are 2[0-9] % of the time of the 2 loader workers" out && ! grep -q "no loader worker" out'
mkdir behind
sed 's/"cat":"dataloader","type":3,"pid":10,"tid":10/"cat":"dataloader","type":3,"pid":10,"tid":99/' \
	forked/t-10.pfw >behind/t-10.pfw
import behind
is 'a thread that only fetches prepares for the one that computes' \
	"$(sql s.db "SELECT (SELECT count(*) FROM span WHERE kind = 0 AND name = 'fetch') || ' ' || (SELECT count(*) FROM step)")" \
	'10 0'
check 'and no loop waits for it' '"$IOREEL" report s.db >out && ! grep -E "INPUT|fetch  " out'
finish
