#!/bin/sh
# SPDX-License-Identifier: MIT
# ioreel import: the forms in which people have files. Compression, bytes behind the
# data, standard input, mixed folders, odd names; and outputs named "-".
. "$(dirname "$0")/../lib/tap.sh"

import() { rm -f s.db && "$IOREEL" import -q "$@" -o s.db; }
# refused PATTERN FILE: one line that matches it, and no store
refused() {
	rm -f s.db
	! "$IOREEL" import -q "$2" -o s.db 2>err && [ "$(wc -l <err)" = 1 ] && grep -q "$1" err && [ ! -e s.db ]
}
events() { sql s.db 'SELECT sum(calls), sum(bytes), min(start_ns), max(start_ns) FROM v_event'; }
losses() { sql s.db 'SELECT reason, unit, count FROM v_loss ORDER BY reason' | tr '\t\n' ' ;'; }

awk 'BEGIN {
	print "["
	for (i = 0; i < 20000; i++)
		printf("{\"id\":%d,\"name\":\"read\",\"cat\":\"POSIX\",\"pid\":1,\"tid\":1,\"ts\":%d,\"dur\":%d,\"ph\":\"X\",\"args\":{\"hostname\":\"n\",\"ret\":%d,\"count\":4096,\"fname\":\"/d/%d\"}}\n",
			i, 1700000000000000 + 10 * i, i % 10, (i * 7919) % 4096, (i * 31) % 977)
}' >log.pfw
import log.pfw
events >want

# --- compression ------------------------------------------------------------------
for tool in gzip bzip2 zstd; do
	if ! command -v $tool >/dev/null; then
		skip "$tool is undone" "no $tool"
		continue
	fi
	$tool -c log.pfw >log.$tool 2>/dev/null
	import log.$tool
	events >got
	check "$tool is undone" 'diff want got && [ -z "$(losses)" ]'
	head -c $(($(wc -c <log.$tool) / 2)) log.$tool >cut.$tool
	check "$tool: half of the file" 'refused "cut.$tool.*offset.*cut off" cut.$tool'
	[ $tool != gzip ] && continue
	gzip -dc cut.gzip 2>/dev/null | sed '$d' >before.pfw
	import before.pfw
	events >before
	import --partial cut.gzip
	events >got
	check 'of which --partial takes the whole lines' \
		'diff before got && [ "$(losses)" = "partial files 1;" ]'
done
if command -v pzstd >/dev/null; then
	pzstd -q -p 4 log.pfw -o log.pzstd
	import log.pzstd
	events >got
	check 'frames of zstd without data, of pzstd, are no data' 'diff want got && [ -z "$(losses)" ]'
else
	skip 'frames of pzstd' 'no pzstd'
fi
printf '\375\067\172\130\132\000more' >log.xz
check 'a compression that is not read is named, with the way out' 'refused "log.xz.*by xz.*xz -dk" log.xz'

gzip -c log.pfw >log.gz
head -3000 log.pfw | gzip -c >parts.gz
tail -n +3001 log.pfw | gzip -c >>parts.gz
import parts.gz
events >got
check 'members of gzip one after the other' 'diff want got && [ -z "$(losses)" ]'
for zeros in 1 512 300000; do
	{ cat parts.gz && head -c $zeros /dev/zero; } >padded.gz
	import padded.gz
	events >got
	check "$zeros zeros behind them" 'diff want got && [ -z "$(losses)" ]'
done
{ cat parts.gz && printf 'garbage'; } >trailing.gz
import trailing.gz
events >got
check 'other bytes behind them are left out' 'diff want got'
is 'and are a loss' "$(losses)" 'trailing_bytes bytes 7;'
check 'which the report says at its head' '"$IOREEL" report s.db | grep -q "^ignored: 7 B behind the compressed data"'
check 'that the report names' '"$IOREEL" report --losses s.db | grep -q "^ *7  bytes .*trailing_bytes"'
{ cat parts.gz && head -c 300000 /dev/zero && printf 'x%0300000d' 0; } >trailing.gz
import trailing.gz
events >got
check 'many of them, behind zeros' 'diff want got'
is 'all are counted' "$(losses)" 'trailing_bytes bytes 300001;'
if [ -e log.bzip2 ]; then
	{ cat log.bzip2 log.bzip2 && printf 'garbage'; } >trailing.bz2
	import trailing.bz2
	is 'bzip2, too: two streams of one log, of which the second is copies' "$(losses)" 'trailing_bytes bytes 7;'
	events >got
	check 'no event counts twice' 'diff want got'
fi
head -c 10 log.gz >head.gz
check 'a file that is only the head of gzip' 'refused "head.gz.*offset 10.*cut off" head.gz'
gzip -c </dev/null >nothing.gz
check 'a compressed file of nothing' 'refused "nothing.gz.*is empty" nothing.gz'

check 'what is cut off is incomplete' '"$IOREEL" import -q --partial cut.gzip -o cut.db && "$IOREEL" report cut.db >out &&
	grep -q "^incomplete: .*the trace is damaged" out && grep -q "^left out: what follows the damage in 1 file" out &&
	"$IOREEL" report --json cut.db | grep -q "\"complete\": false"'

# A changed byte within deflated data: zlib goes on with wrong bytes.
python3 -c "
with open('log.gz', 'rb') as f:
    log = bytearray(f.read())
log[len(log) // 2] ^= 1
with open('changed.gz', 'wb') as f:
    f.write(log)
"
check 'a changed byte is refused' 'refused "changed.gz.*damaged at offset.*try: ioreel import --partial$" changed.gz'
import --partial changed.gz
is 'with --partial, the file is unreliable' "$(losses | tr ';' '\n' | grep unreliable)" 'unreliable files 1'
check 'which the report says' '"$IOREEL" report s.db >out && grep -q "^incomplete: " out &&
	grep -q "^unreliable: .* 1 file " out && ! grep -q "lower bounds" out'

# Five members of each tool, the third one damaged: --partial loses that member, and
# the lines that begin or end in it.
cat >members.py <<'EOF2'
import bz2, gzip, random, shutil, subprocess
with open('log.pfw', 'rb') as f:
    log = f.read()
def split(whole_lines):
    at = [len(log) * i // 5 for i in range(6)]
    if whole_lines:
        at = [0] + [log.index(b'\n', x) + 1 for x in at[1:5]] + [len(log)]
    return [log[a:b] for a, b in zip(at, at[1:])]
def zstd(part):
    return subprocess.run(['zstd', '-c'], input=part, stdout=subprocess.PIPE, check=True).stdout
tools = {'gz': lambda part: gzip.compress(part, 6, mtime=0), 'bz2': bz2.compress}
if shutil.which('zstd'):
    tools['zst'] = zstd
random.seed(1)
for name, parts in ('lines', split(True)), ('bytes', split(False)):
    for tool, pack in tools.items():
        packed = [pack(p) for p in parts]
        third = packed[2]
        half = len(third) // 2
        noise = bytes(random.randrange(256) for _ in range(200))
        for damage, bad in (('cut', third[:half]), ('noise', third[:half] + noise + third[half + 200:]),
                            ('sum', third[:-8] + bytes([third[-8] ^ 1]) + third[-7:]), ('head', b'x' + third[1:])):
            with open('%s.%s.%s' % (name, damage, tool), 'wb') as f:
                f.write(b''.join(packed[:2] + [bad] + packed[3:]))
            with open('%s.%s.%s.place' % (name, damage, tool), 'w') as f:
                f.write('damaged: compressed offset %d of %s.%s.%s bytes %d\n' % (
                    sum(map(len, packed[:2])), name, damage, tool, len(bad)))
    before, behind = b''.join(parts[:2]), b''.join(parts[3:])
    with open(name + '.kept', 'wb') as f:
        f.write(before[:before.rindex(b'\n') + 1] + behind[0 if name == 'lines' else behind.index(b'\n') + 1:])
EOF2
python3 members.py
: >wrong
for name in lines bytes; do
	import $name.kept
	events >kept
	for f in $name.*.gz $name.*.bz2 $name.*.zst; do
		[ -e "$f" ] || continue
		refused "$f.*damaged at offset.*try: ioreel import --partial$" "$f" || echo "$f: $(cat err)" >>wrong
		import --partial "$f"
		events >got
		diff kept got >>wrong
		losses | tr ';' '\n' | grep compressed | diff "$f.place" - >>wrong
	done
done
is 'five members, of which one is damaged: the others are read' "$(cat wrong)" ''
check 'the report has the compressed offset' '"$IOREEL" report s.db >out &&
	grep -q "^damaged: .* of its logs skipped" out && grep -q "compressed offset" out'
{ printf 'ts,op,bytes\n' && awk 'BEGIN { for (i = 0; i < 20000; i++) printf("%d,read,%d\n", i, 1000000 + i * 7919 % 1000003) }'; } >rows.csv
python3 -c "
import gzip
with open('rows.csv', 'rb') as f:
    rows = f.read()
at = [0, 100000, 200000, len(rows)]
packed = [gzip.compress(rows[a:b], mtime=0) for a, b in zip(at, at[1:])]
packed[1] = packed[1][:len(packed[1]) // 2]
with open('rows.csv.gz', 'wb') as f:
    f.write(b''.join(packed))
"
pairs() { sql s.db 'SELECT start_ns, asked FROM v_event' | sort; }
import --map start=ts,call=op,size=bytes rows.csv
pairs >all
import --partial --map start=ts,call=op,size=bytes rows.csv.gz
pairs >got
check 'lines of text that the damage cuts are no rows' '[ -z "$(comm -13 all got)" ] && [ "$(wc -l <got)" -gt 10000 ]'

# Damage of the compressed bytes themselves, of two members each.
head -200 log.pfw >short.pfw
for tool in gzip bzip2 zstd; do
	if [ ! -x "$O/tests/fuzz/fuzz_import" ] || ! command -v $tool >/dev/null; then
		skip "damaged files of $tool" "no fuzz_import here, or no $tool"
		continue
	fi
	{ $tool -c short.pfw && $tool -c short.pfw && head -c 100 /dev/zero; } >two.$tool 2>/dev/null
	check "200 damaged files of $tool" '"$O/tests/fuzz/fuzz_import" 200 1 two.$tool'
done

# --- text with a byte order mark, as editors of Windows write it --------------------
mark=$(printf '\357\273\277')
printf '{"schemaVersion": 1, "traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 1}]}' >text.kineto
printf '7 1700000000.000000 close(3) = 0 <0.000005>\n7 1700000001.000000 close(4) = 0 <0.000005>\n' >text.strace
printf 'fio version 3 iolog\n0 /d add\n1 /d open\n2 /d read 0 4096\n3 /d close\n' >text.fio
printf 'Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase\n1.5,Read,4096,Tier-2,k,Decode\n' >text.kv-trace
printf 'epoch,rank,component,start_s,dur_s\n0,0,read,1,0.5\n' >text.timelogger
cp log.pfw text.dftracer
all() { sql s.db 'SELECT (SELECT format FROM source), (SELECT count(*) FROM event), (SELECT count(*) FROM v_span)'; }
for f in text.*; do
	import "$f"
	all >want_all
	{ printf %s "$mark" && cat "$f"; } >marked
	import marked
	all >got_all
	check "${f#text.}: as without it" "[ \$(cut -f1 want_all | tail -1) = ${f#text.} ] && diff want_all got_all && ! losses | grep -q lines"
done

printf '\377\376t\000s\000\012\000' >wide.csv
check 'text in UTF-16 is named, also with --map' '! "$IOREEL" import --map start=ts wide.csv -o no.db 2>err &&
	grep -q "wide.csv.*UTF-16; try: iconv" err && [ ! -e no.db ]'

# --- standard input ------------------------------------------------------------------
cat log.gz | import -
events >got
check 'a pipe as -' 'diff want got'
is 'is the source /dev/stdin' "$(sql s.db 'SELECT file, format FROM source' | tr '\t' ' ')" '/dev/stdin dftracer'
import - <log.gz
events >got
check 'a file as standard input' 'diff want got'
fails_with() { # STATUS PATTERN COMMAND...
	local status=$1 pattern=$2
	shift 2
	"$@" >out 2>err
	[ $? = "$status" ] && grep -q "$pattern" err
}
check 'standard input has no name for the store' 'fails_with 2 "give -o" "$IOREEL" import - <log.gz'
check 'an empty standard input' '! "$IOREEL" import - -o s2.db </dev/null 2>err && grep -q "is empty" err && [ ! -e s2.db ]'
mkdir tmp
cat log.gz | TMPDIR=$PWD/tmp import -
is 'no temporary file is left' "$(ls -A tmp)" ''
check 'a folder for temporary files that is not there' \
	'! cat log.gz | TMPDIR=/none/such "$IOREEL" import - -o s2.db 2>err && grep -q /none/such err && [ ! -e s2.db ]'

# --- outputs ----------------------------------------------------------------------------
check 'a store does not go to standard output' \
	'fails_with 2 "standard output" "$IOREEL" import log.pfw -o - && [ ! -s out ] && [ ! -e ./- ]'
"$IOREEL" export --as csv s.db >want.csv 2>/dev/null
check 'a text does' '"$IOREEL" export --as csv s.db -o - 2>/dev/null | cmp want.csv - && [ ! -e ./- ]'

# --- folders and names --------------------------------------------------------------------
mkdir mixed
gzip -c log.pfw >mixed/a.pfw.gz
echo notes >mixed/README
echo '7 1700000000.000000 close(3) = 0 <0.000005>' >mixed/z.strace
gzip -c </dev/null >mixed/b.pfw.gz
: >mixed/c.pfw
mkdir mixed/sub
import mixed
events >got
check 'a folder of a log, notes, empty files, a folder and another format' 'diff want got'
is 'the file of the other format is a loss' "$(losses)" 'other_format files 1;'
check 'which the report says at its head, too' \
	'"$IOREEL" report s.db | grep -q "^left out: 1 file of another format in the folder"'
mkdir killed
gzip -c log.pfw >killed/b-fork.pfw.gz
: >killed/a-preload.pfw.gz
: >killed/c-preload.pfw.gz
: >killed/notes
import killed
is 'empty files in a folder with the suffix of its logs are a loss' "$(losses)" 'empty files 2;'
"$IOREEL" report s.db >out
check 'which the report says, too' 'grep -q "^left out: 2 empty files$" out &&
	! { grep -q NO-PROBLEM out && ! tr -s "\n " " " <out | grep -q "empty file may be the log"; }'
: >0empty.pfw
import 0empty.pfw log.gz
events >got
check 'an empty log before another one' 'diff want got'
is 'the empty log is a loss' "$(losses)" 'empty files 1;'
check 'which the report says' '"$IOREEL" report s.db | grep -q "^left out: 1 empty file$"'
check 'empty logs alone' '! "$IOREEL" import 0empty.pfw mixed/c.pfw -o s2.db 2>err &&
	grep -q "0empty.pfw. is empty" err && [ ! -e s2.db ]'

# --- files of several runs -----------------------------------------------------------------
# process PID SECOND...: a read of one second at each of them
process() {
	local pid=$1
	shift
	printf '{"id":1,"name":"read","cat":"POSIX","pid":'$pid',"tid":'$pid',"ts":17000%05d000000,"dur":1000000,"ph":"X","args":{"hostname":"n","ret":8,"count":8,"fname":"/d/a"}}\n' "$@"
}
process 1 0 9 >first.pfw
process 2 10 15 >touching.pfw
process 3 71 80 >apart.pfw
process 4 2000 >far.pfw
apart() { "$IOREEL" report s.db | tr '\n' ' ' | sed 's/  */ /g' | grep -o 'apart: .* apart,'; }
import first.pfw touching.pfw
is 'processes of two files, one after the other, are a run' "$(apart)" ''
import first.pfw apart.pfw
is 'with a time between them, they may be two' "$(apart)" 'apart: the processes of these sources live in 2 groups, 61.0 s apart,'
import first.pfw touching.pfw apart.pfw far.pfw
is 'or three' "$(apart)" 'apart: the processes of these sources live in 3 groups, at most 1,919 s apart,'
is 'in the JSON, too' "$("$IOREEL" report --json s.db | tr -d ' \n' | grep -o '"apart_groups":[0-9]*,"apart_ns":[0-9]*')" \
	'"apart_groups":3,"apart_ns":1919000000000'
cat first.pfw apart.pfw >both.pfw
import both.pfw
is 'one file is one recording' "$(apart)" ''
name="odd
name  of a	folder"
mkdir "$name"
cp log.gz "$name/a  b
c.gz"
import "$name"
events >got
check 'names with newlines, spaces and tabs' 'diff want got'
head -c 100 log.gz >"$name/a  b
c.gz"
check 'in an error they are one line' 'refused "odd.*folder" "$name"'
mkdir ranks
i=0
while [ $i -lt 300 ]; do
	printf '{"id":1,"name":"read","cat":"POSIX","pid":%d,"tid":%d,"ts":%d,"dur":5,"ph":"X","args":{"hostname":"n%d","ret":8,"count":8,"fname":"/d/a"}}\n' \
		$i $i $((1700000000000000 + i)) $((i % 7)) | gzip -c >ranks/$i.pfw.gz
	i=$((i + 1))
done
check 'a folder of a log for each of 300 processes' 'import ranks'
is 'is one job' "$(sql s.db 'SELECT (SELECT count(*) FROM process), (SELECT count(*) FROM host),
	(SELECT count(*) FROM source), sum(calls), sum(bytes) FROM v_event' | tr '\t' ' ')" '300 7 300 300 2400'
finish
