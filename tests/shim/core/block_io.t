#!/bin/bash
# SPDX-License-Identifier: MIT
# Bytes that reads fetched from storage: compared with the counters of the
# kernel.
. "$(dirname "$0")/../../lib/tap.sh"
P=$O/tests/shim/core/block_io_reads
RUN=t.reel

mkdir bare traced
"$P" bare >bytes || skip_all 'the kernel counts nothing for this file system'
"$IOREEL" record -o t.reel -- "$P" traced >bytes 2>lines
# Bytes that were read ahead for a read that need not wait are recorded with the
# next read that waits, if there is one.
check 'bytes fetched: most of those that the kernel counts, and never more' \
	'n=$(q "select sum(fetched_bytes) from v_storage"); cat bytes; echo $n
	[ $((2 * n)) -ge "$(cat bytes)" ] && [ "$n" -le "$(cat bytes)" ]'
is 'by read, readv, small reads and in a thread; not of a cached file' \
	"$(q "select replace(path, rtrim(path, replace(path, '/', '')), '')
		from v_storage order by 1" | xargs)" 'pread read readv small'
check 'the report shows them' '"$IOREEL" report t.reel |
	grep -q "page-cache misses: .* MB read from storage in"'
check 'a job whose files are all cached: none' \
	'cat traced/cached >/dev/null
	"$IOREEL" record -o c.reel -- cat traced/cached >/dev/null 2>&1
	[ "$("$IOREEL" sql c.reel "select count(*) from v_storage" --format tsv |
		tail -n 1)" = 0 ] &&
	! "$IOREEL" report c.reel | grep "page-cache misses"'
# The pages of the window count as major faults. A read from the cache is slow where it
# shares its processor: most are not, and have no record.
head -c 64M /dev/zero >big && dd if=big of=/dev/null bs=64M 2>/dev/null
busy=
for i in $(seq $((4 * $(nproc)))); do
	timeout 60 sh -c "while :; do :; done" &
	busy="$busy $!"
done
slow=
for i in $(seq 20); do
	"$IOREEL" record -q -o slow$i.reel -- dd if=big of=/dev/null bs=64M 2>/dev/null
	slow=$("$IOREEL" sql slow$i.reel 'select arg2 from event where result = 67108864
		and dur_ns > 50000000
		and call_id = (select call_id from call where name = '"'read'"')' \
		--format tsv | tail -n +2)
	[ -z "$slow" ] || break
done
kill $busy
if [ -n "$slow" ]; then
	is 'a first slow read that fetched nothing has a record of it' "$slow" -1
else
	skip 'a first slow read that fetched nothing has a record of it' 'no read from the cache was slow'
fi
is 'a read that waited for a pipe is not looked up' "$(
	(sleep 1; echo late) |
		"$IOREEL" record -q -o p.reel -- dd of=/dev/null bs=16 count=1 2>/dev/null
	"$IOREEL" sql p.reel 'select result, dur_ns > 50000000, arg2 from event
		where call_id = (select call_id from call where name = '"'read'"')' \
		--format tsv | tail -n +2 | xargs)" '5 1 0'
check 'the replay evicts those files from the cache, and no others' \
	'"$IOREEL" replay t.reel -o r.db >out 2>&1; cat out
	"$IOREEL" sql r.db "select count(*) from v_storage
		where path like '"'%/cached'"'" --format tsv | tail -n 1 | grep -qx 0'

# A file that leaves the cache in the middle of the job, for an unseen reason.
head -c 1M /dev/urandom | tee kept gone | cat >last && sync kept gone last
"$IOREEL" record -q -o again.reel -- sh -c 'cat kept gone last
	env -u LD_PRELOAD dd if=gone iflag=nocache count=0 status=none
	cat kept gone last' >/dev/null 2>&1
storage_of() { # RUN: which file, and is it much of it?
	"$IOREEL" sql "$1" "SELECT substr(path, -4), fetched_bytes > 200000
		FROM v_storage" --format tsv | tail -n +2 | xargs
}
is 'a second read that fetched again' "$(storage_of again.reel)" 'gone 1'
# The bytes of a slow read of the replay are unknown after faults on mapped
# files. The kernel counts all ended processes.
kernel_fetched() { # COMMAND...: bytes, its children's too
	local me=$BASHPID
	local before=$(sed -n 's/^read_bytes: //p' /proc/$me/io)

	"$@" >out 2>&1
	echo $(($(sed -n 's/^read_bytes: //p' /proc/$me/io) - before))
}
n=$(kernel_fetched "$IOREEL" replay again.reel)
check 'the replay fetches it again' 'cat out; echo $n
	grep -q "in the page cache, except the data that [0-9]* read" out &&
	[ "$n" -ge 1000000 ]'
n=$(kernel_fetched "$IOREEL" replay --warm again.reel)
check 'or not, when the cache is to stay' 'cat out; echo $n
	grep -q "in the page cache$" out && [ "$n" -lt 1000000 ]'
finish
