#!/bin/sh
# SPDX-License-Identifier: MIT
# ioreel import of fio's I/O logs, versions 2 and 3, and of those that fio itself
# writes where it is installed.
. "$(dirname "$0")/../lib/tap.sh"
unset LD_PRELOAD

import() { rm -f s.db && "$IOREEL" import -q "$@" -o s.db; }
text() { python3 "$TOP/tests/cli/import_text.py" "$@"; }
refused() { ! import "$@" 2>err && [ "$(wc -l <err)" = 1 ] && [ ! -e s.db ]; }
tab=$(printf '\t')
events() {
	sql s.db 'SELECT start_ns, call, path, offset, asked, bytes FROM v_event
		ORDER BY start_ns, call' | tr "$tab" ' '
}

cat >v3.log <<-END
	fio version 3 iolog
	29 /d/a add
	239 /d/a open
	243 /d/a read 4096 65536
	30204 /d/a write 0 512
	30244 /d/a sync 262144 0
	30250 /d/a trim 0 4096
	30300 /d/a datasync
	70205 /d/a close
END
import v3.log
is 'version 3: operations at their times' "$(events)" '239000 open /d/a   
243000 pread /d/a 4096 65536 65536
30204000 pwrite /d/a 0 512 512
30244000 fsync /d/a   
30250000 fallocate /d/a 0  
30300000 fdatasync /d/a   
70205000 close /d/a   '
is 'durations are not known' "$(sql s.db 'SELECT reason, count, (SELECT max(dur_ns) FROM v_event)
	FROM loss' | tr "$tab" ' ')" 'no_duration 7 0'
"$IOREEL" report s.db >out
check 'the report says so' 'grep -q "How long the I/O takes is not known" out && ! grep -q NO-PROBLEM out'
# unknown REPORT.JSON: are all counts of errors and of reads at the end null, or 0?
cat >unknown.py <<-END
	import json, sys
	doc = json.load(open(sys.argv[1]))
	rows = [doc["totals"]] + [row for part in ("groups", "calls", "files", "processes") for row in doc[part]]
	print({row[key] for row in rows for key in ("errors", "eof_reads") if key in row})
END
"$IOREEL" report --json s.db >out.json
is 'errors and reads at the end are not known' "$(python3 unknown.py out.json)" '{None}'
is 'nor are messages, mappings, ranks, workers, and what a shim alone can know' "$(python3 -c '
import json
doc = json.load(open("out.json"))
print({doc["totals"][key] for key in ("messages", "message_bytes", "mapped_bytes")}
      | {row[key] for part, key in (("timeline", "messages"), ("files", "mapped_bytes"), ("sources", "ranks"))
         for row in doc[part]} | {doc["run"]["ranks"], doc["run"]["workers"], doc["unseen"]})')" '{None}'
is 'no process is named for a figure that is not known' "$(sql s.db 'SELECT count(*), count(mean), count(most_pid) FROM v_spread
	WHERE figure = '"'io_ns'" | tr "$tab" ' ')" '1 0 0'
echo '7 1795000000.000001 read(3</d/a>, "", 4096) = 4096 <0.000050>' >job.strace
"$IOREEL" report --json job.strace >out.json
is 'strace knows that there are none' "$(python3 unknown.py out.json)" '{0}'
cat >v2.log <<-END
	fio version 2 iolog
	/d/a add
	/d/a open
	/d/a read 0 4096
	/d/a wait 1500 0
	/d/a write 4096 8192
	/d/a wait 500 0
	/d/a close
END
import v2.log
is 'version 2: the times are its waits' "$(events)" '0 open /d/a   
0 pread /d/a 0 4096 4096
1500000 pwrite /d/a 4096 8192 8192
2000000 close /d/a   '
check 'every operation' 'text fio s.db v2.log'
{ printf '\n\r\n'; cat v2.log; } >blank.log && import blank.log
check 'behind empty lines, too' 'text fio s.db v2.log'
is 'an open file from its open to its close' "$(sql s.db 'SELECT open_ns, close_ns,
	(SELECT count(*) FROM event WHERE event.open_id = o.open_id) FROM open_file o' |
	tr "$tab" ' ')" '0 2000000 4'
"$IOREEL" report s.db >out
check 'waits are times, of no duration' 'head -n 3 out | tr "\n" " " | grep -q "the durations of all calls are" &&
	! grep -q "the times of" out && head -n 1 out | grep -q "2.00 ms"'
grep -v ' wait ' v2.log >untimed.log
import untimed.log
is 'a log without waits has no times' "$(sql s.db "SELECT reason, count FROM loss
	ORDER BY reason" | tr "\n$tab" '; ')" 'no_duration 4;no_time 4;'
"$IOREEL" report s.db >out
"$IOREEL" report --time s.db >time
check 'the completeness says so' 'head -n 3 out | tr "\n" " " | tr -s " " |
	grep -q "the times of all calls are not known; the durations of all calls are not known"'
check 'what needs times prints -' 'head -n 1 out | grep -q -e "1 process . -$" &&
	grep -q "No timeline" time && ! grep -q -E "[0-9] (ns|[kMG]?B/s)" out'
import v2.log v3.log
is 'two logs are two processes' "$(sql s.db 'SELECT count(*), (SELECT count(*) FROM v_file)
	FROM process' | tr "$tab" ' ')" '2 1'
cat v3.log v3.log >jobs.log
import jobs.log
is 'two jobs in one log are two processes, each from time 0' \
	"$(sql s.db "SELECT (SELECT count(*) FROM process), (SELECT count(*) FROM loss WHERE reason = 'not_understood'),
	count(*), count(DISTINCT start_ns), count(DISTINCT open_id) FROM v_event" | tr "$tab" ' ')" '2 0 14 7 2'
gzip -k v3.log
sed 's/$/\r/' v3.log >windows.log
for log in v3.log.gz windows.log; do
	import $log
	check "$log" 'text fio s.db v3.log'
done
if command -v zstd >/dev/null; then
	zstd -q v3.log
	import v3.log.zst
	check 'Zstandard' 'text fio s.db v3.log'
else
	skip 'Zstandard' 'there is no zstd'
fi

# --- damage -------------------------------------------------------------------
sed 's/read 4096 65536/read 4096/; s/add/frobnicate/' v3.log >bad.log
import bad.log
is 'lines that are no actions' "$(sql s.db "SELECT count FROM loss WHERE reason = 'not_understood'")" 2
: >empty
# NUL bytes, as a file system leaves them behind a crash.
{ head -5 v3.log && printf '\000\000' && tail -n +6 v3.log && head -c 64 /dev/zero; } >nul.log
import nul.log
is 'a line with NUL bytes is none either' "$(sql s.db "SELECT count FROM loss WHERE reason = 'not_understood'")" 2
check 'an empty file' 'refused --as fio empty'
echo 'fio version 4 iolog' >newer
check 'a newer version' 'refused newer'
check 'and where it is forced' 'refused --as fio newer && grep -q "line 1" err'
printf 'fio version 3 iolog\nhello\nworld\n' >foreign
check 'a foreign file' 'refused foreign && grep -q "line 2" err'
check 'cut, and with flipped bytes' 'text damage 3 v3.log --as fio'
check 'version 2, too' 'text damage 3 v2.log --as fio'
check 'compressed data cut, and flipped' 'text damage 3 v3.log.gz --as fio'

# --- fio's own ------------------------------------------------------------------
if ! command -v fio >/dev/null; then
	skip 'logs of fio' 'fio is not installed'
	finish
fi
fio --name=t --size=1m --bs=16k --rw=randrw --rate_iops=2000 --fsync=4 \
	--filename="$T/f1:$T/f2" --write_iolog=real.log >/dev/null
import real.log
check 'every operation of a log of fio' 'text fio s.db real.log'
is 'its bytes are those of the job' "$(sql s.db 'SELECT sum(bytes), count(DISTINCT path) FROM v_event
	WHERE bytes > 0' | tr "$tab" ' ')" '1048576 2'
# fio reads what the fixture of version 2 says, so that its grammar is fio's.
sed "s|/d/a|$T/f1|" v2.log >read.log
check 'fio replays the log of version 2' 'fio --name=r --read_iolog=read.log --ioengine=psync >fio.out'
finish
