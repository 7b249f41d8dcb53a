#!/bin/sh
# SPDX-License-Identifier: MIT
# Every real sample is taken by the importer of its own format, by content alone.
. "$(dirname "$0")/../lib/tap.sh"
unset LD_PRELOAD

# format FILE: the name of the importer that takes it
format() {
	rm -f s.db
	"$IOREEL" import -q "$1" -o s.db 2>/dev/null && sql s.db 'SELECT format FROM source'
}
# all FORMAT FILE...
all() {
	local want=$1 f wrong=
	shift
	for f; do
		cp "$f" sample # the name must not tell
		[ "$(format sample)" = "$want" ] || wrong="$wrong $(basename "$f")"
	done
	is "$want: $# files" "$wrong" ''
}
if [ -d "$IOREEL_DATA" ]; then
	all darshan "$IOREEL_DATA"/darshan/*.darshan
	all dftracer "$IOREEL_DATA"/dftracer/test.pfw.gz
	all kineto "$IOREEL_DATA"/kineto/rank*.gz "$IOREEL_DATA"/kineto/sampled*.gz
	all strace "$IOREEL_DATA"/strace/*.gz
	all xplane "$IOREEL_DATA"/tf/*.pb.gz
	all nsys "$IOREEL_DATA"/nsys/*.gz
else
	skip 'samples of all formats' 'IOREEL_DATA is not set'
fi

# refused TEXT WANT: a file of TEXT is refused in one line that names WANT to try
refused() {
	printf -- "$1" >unknown && rm -f unknown.db
	check "refused, with a hint: $2" "! \"$IOREEL\" import unknown 2>err && [ \$(wc -l <err) = 1 ] && [ ! -e unknown.db ] &&
		grep -q -- 'imports: it is .*; try: .*$2' err"
}
printf 'Epoch 1: loss 0.3\nsaved\n{"traceEvents": [{"name": "a", "ph": "X", "ts": 1, "dur": 2, "pid": 1, "tid": 1}]}\n' >mixed
check 'refused, with a hint: lines in front of a trace' '! "$IOREEL" import mixed -o s.db 2>err && [ $(wc -l <err) = 1 ] &&
	grep -q "its first lines: it is of chrome from line 3 on; try: tail -n +3 FILE" err'
is 'the hint works' "$(tail -n +3 mixed >behind && format behind)" chrome
refused '%% time     seconds  usecs/call     calls    errors syscall\n------ ---\n' 'strace -f -y -ttt -T'
refused 'FIT Profiler Report\n\n-----\n|  Action  |  Mean duration (s)|  Num calls|\n' PyTorchProfiler
refused 'FIT Profiler Report\nProfile stats for: [Strategy]S.x\n  7 function calls in 0.1 s\n' PyTorchProfiler
refused 'FIT Profiler Report\nProfile stats for: records\n' 'pt.trace.json files that it writes'
refused '----\n  Name   Self CPU %%   Self CPU   # of Calls\n----\n' export_chrome_trace
refused '   7 function calls in 0.001 seconds\n\n ncalls  tottime  percall  cumtime\n' 'ioreel record'
refused '0, 1563806, 1, 65536, 0\n12, 3045353, 0, 65536, 0\n' write_iolog
refused '{\n  "fio version" : "fio-3.33",\n  "jobs" : []\n}\n' write_iolog
refused 's: (g=0): rw=write, bs=(R) 4096B-4096B, ioengine=psync, iodepth=1\nfio-3.33\n' write_iolog
refused '  8,0    3        1     0.000000000   697  G   W 223490 + 8 [kjournald]\n' 'ioreel record'
refused '\007tae\001\000\000\000' 'ioreel record'
refused 'ts,op,path\r\n1,read,"/a, b"\r\n' '--map start=COLUMN'
refused 'ts;op;path\n1,5;read;/a\n' '--map start=COLUMN'
refused "$(printf %0257d 0)ustar\\00000" 'its files, unpacked'
refused 'PK\003\004more' 'its files, unpacked'
refused '\377\376t\000s\000' 'iconv -f UTF-16'
refused 'Linux 6.1.0 (vm) \t11/30/26 \t_x86_64_\t(2 CPU)\n\n09:06:17  DEV  tps\n09:06:18  vda  7.00\n' 'ioreel record'
refused '   0.082 ( 0.023 ms): cat/7 read(fd: 3, buf: 0x7f, count: 832)  = 832\n' 'strace -f -y -ttt -T'
refused 'PERFILE2\150\000\000\000' 'strace -f -y -ttt -T'
refused '{"$schema":"https://www.speedscope.app/file-format-schema.json","profiles":[]}\n' 'ioreel record'
refused '{\n "schema": "1.1.1-chakra.0.0.4", "nodes": [{"id": 2, "name": "[pytorch|profiler|execution_trace|thread]"}]}\n' \
	export_chrome_trace
refused 'Time (%%),Total Time (ns),Instances,Avg (ns),Name\n60.0,6000000,100,60000.0,k\n' 'nsys export --type sqlite'
refused 'PAR1\025\004\025' 'a CSV of its rows'
refused '2.06\000\000\000\000\067\065\144\000\000\000\000\000more' 'Darshan 3'
refused '1.24\000\000\000\000\000\000\000\000\000\144\065\067more' 'Darshan 3'
refused '\012\002\032\000\012\007\030\001\120\001\042\001a\012\004\100\005\120\001' 'traceconv json FILE'
refused 'Attaching 2 probes...\n123 read 4096\n' 'a CSV with --map'
refused '{"sysstat": {\n\t"hosts": [\n' 'ioreel record'
refused '14 templated_functions_MULTI_TIME\n# Name Calls Subrs Excl Incl ProfileCalls #\n' tau_trace2json
refused '{"Type":48,"TraceProcessEvent":{"startNs":"12","endNs":"13"}}\n' 'nsys export --type sqlite'
refused '{\n"data": [\n[1]\n],\n"columns": [ "path" ],\n"column_metadata": [ {} ],\n"nodes": [ {} ]\n}' cali2traceevent
refused '__rec=node,id=12,attr=10,data=1,parent=3\n' cali2traceevent
refused '\030\000\000\000\000\000\000\000\243\177\113\042\011\000\000\032\015brain.Event:2' plugins/profile
refused "$(printf 'anchor.xml%%0247d' 0)ustar\\00000" 'ioreel record'
refused '\003BOTF2\000\003\002\003\002\000\000\000\020\000' 'ioreel record'
for suffix in nsys-rep qdrep qdstrm; do
	printf '\001\002\003' >job.$suffix
	check "refused by its name: .$suffix" "! \"$IOREEL\" import -q job.$suffix 2>err && grep -q 'job.$suffix.*: it is .*; try: ' err"
done
printf '\012\002\032\000\012\007\030\001\100\001\042\001a' >unknown
check 'messages of another kind are no trace of Perfetto' '! "$IOREEL" import unknown 2>err && ! grep -q try err'
printf 'A text, as any.\nIt has words, and commas.\n' >unknown
printf '{"a": 1, "b": 2, "c": 3}\n{"a": 2, "b": 3, "c": 4}\n' >lines
check 'lines of JSON are no CSV' '! "$IOREEL" import lines 2>err && ! grep -q try err'
check 'a text is none of them' '! "$IOREEL" import unknown 2>err && ! grep -q try err'
printf '%% time     seconds  usecs/call     calls    errors syscall\n' >sums
check 'the same where it is given as a RUN' '! "$IOREEL" report sums 2>err && [ $(wc -l <err) = 1 ] &&
	grep -q "^ioreel report: .sums. is in no format .*; try: strace -f" err'

mkdir folder && cp sums folder && : >folder/empty
for command in import report; do
	check "and in a folder: $command" "! \"$IOREEL\" $command folder 2>err && [ \$(wc -l <err) = 1 ] &&
		grep -q \"^ioreel $command: .folder/sums. is in no format .*; try: strace -f\" err"
done

# missing SAMPLE...: --list, report and JSON agree on the values that formats lack
missing() {
	check 'the same missing values everywhere' '
		python3 "$TOP/tests/cli/import_missing.py" $samples >seen'
	sed 's/^/# /' seen
}
if ! python3 -c 'import json' 2>/dev/null; then
	skip 'the same missing values everywhere' 'no python3'
elif [ -d "$IOREEL_DATA" ]; then
	samples=$(ls -d "$IOREEL_DATA"/*/* "$TOP"/tests/data/*)
	missing
else
	skip 'the same missing values everywhere' 'IOREEL_DATA is not set'
fi
finish
