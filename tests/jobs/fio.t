#!/bin/bash
# SPDX-License-Identifier: MIT
# fio's engines, as processes and as threads: calls and bytes of each job are
# those that fio itself reports.
. "$(dirname "$0")/../lib/tap.sh"

command -v fio >/dev/null || skip_all 'no fio'
PY=/usr/bin/python3
[ -x "$PY" ] || PY=$(command -v python3) || skip_all 'no python3'
unset LD_PRELOAD

RUN=t.reel

# Print for each job: reads, bytes read, writes, bytes written, in any order.
totals() {
	"$PY" -c '
import json, sys
text = sys.stdin.read()
for job in json.loads(text[text.index("{"):])["jobs"]:
    assert job["error"] == 0
    print(*(job[op][key] for op in ("read", "write")
            for key in ("total_ios", "io_bytes")), sep="\t")' | sort
}

job() {
	fio --name=j --size=2m --bs=4k --numjobs=2 --iodepth=16 --randrepeat=1 \
		--filename_format='f.$jobnum' --output-format=json "$@"
}

recorded() {
	rm -rf t.reel
	"$IOREEL" record -q -o t.reel -- "$BASH" -c '
		fio --name=j --size=2m --bs=4k --numjobs=2 --iodepth=16 \
			--randrepeat=1 --filename_format="f.\$jobnum" \
			--output-format=json "$@"' - "$@" >out.json 2>err
	rc=$?
}

# engine WHAT LAYER OPTIONS...: compare its totals when recorded, if it runs
# bare.
engine() {
	local what=$1 layer=$2
	shift 2
	if ! job "$@" >bare.json 2>bare.err; then
		skip "$what: totals" "fio cannot: $(tail -1 bare.err)"
		return 1
	fi
	recorded "$@"
	is "$what: status" "$rc $(cat err)" "0 "
	totals <out.json >want
	q "SELECT sum(call_group = 'read'),
		sum(CASE call_group WHEN 'read' THEN bytes ELSE 0 END),
		sum(call_group = 'write'),
		sum(CASE call_group WHEN 'write' THEN bytes ELSE 0 END)
		FROM v_event WHERE layer = '$layer' AND path LIKE '%/f._'
		AND call_group IN ('read', 'write') GROUP BY tid" | sort >got
	is "$what: reads, writes and bytes of each job" "$(cat got)" "$(cat want)"
}

job --rw=write --create_only=1 >/dev/null 2>&1
for how in fork thread; do
	more=
	[ $how = fork ] || more=--thread
	engine "psync randrw, $how" POSIX --ioengine=psync --rw=randrw $more
	engine "libaio randread, $how" ASYNC --ioengine=libaio --rw=randread $more
	engine "libaio rw, $how" ASYNC --ioengine=libaio --rw=rw $more
	engine "posixaio randwrite, $how" ASYNC --ioengine=posixaio \
		--rw=randwrite $more
	engine "posixaio randrw, $how" ASYNC --ioengine=posixaio --rw=randrw $more
done

# Depth: the number of operations that libaio is to keep in flight.
if engine 'libaio, deep' ASYNC --ioengine=libaio --rw=randread --direct=1 --thread
then
	check 'libaio, deep: never more than 16 in flight' \
		'[ "$(q "SELECT max(arg2) <= 16 AND max(arg2) > 1 FROM event
			JOIN call USING (call_id) WHERE name = \"async_read\"")" = 1 ]'
else
	skip 'libaio, deep: never more than 16 in flight' 'no direct I/O here'
fi

# fio enters io_uring by its own system call instruction: the shim counts the
# unseen operations, and with IOREEL_COMPLETE=1 it records them.
if job --ioengine=io_uring --rw=randrw --thread >bare.json 2>bare.err; then
	recorded --ioengine=io_uring --rw=randrw --thread
	is 'io_uring: status' "$rc $(cat err)" "0 "
	is 'io_uring: every operation is recorded or counted as unseen' \
		"$(q "SELECT (SELECT count(*) FROM v_event
			WHERE call IN ('async_read', 'async_write')) +
			(SELECT coalesce(sum(value), 0) FROM note
			WHERE key = 'io_uring_unseen')")" 1024
	is 'io_uring: the view counts them over all rings' "$(q "SELECT uring_operations =
		(SELECT coalesce(sum(value), 0) FROM note WHERE key = 'io_uring_unseen') FROM v_unseen")" 1
	check 'io_uring: the report says how many are unseen' '[ "$(q "SELECT uring_operations = 0 FROM v_unseen")" = 1 ] ||
		"$IOREEL" report "$RUN" | tr -s "\n " " " | grep -q "operations of io_uring not recorded"'
	export IOREEL_COMPLETE=1
	engine 'io_uring randrw, all of it, thread' ASYNC --ioengine=io_uring \
		--rw=randrw --thread
	engine 'io_uring randrw, all of it, fork' ASYNC --ioengine=io_uring \
		--rw=randrw
	engine 'io_uring, registered files' ASYNC --ioengine=io_uring \
		--rw=randread --thread --registerfiles=1 --fixedbufs=1
	engine 'io_uring, batches of many sizes' ASYNC --ioengine=io_uring \
		--rw=randwrite --thread --bsrange=1k-64k \
		--iodepth_batch_submit=8 --iodepth_batch_complete_max=16
	unset IOREEL_COMPLETE
else
	skip 'io_uring' "fio cannot: $(tail -1 bare.err)"
fi

# Mappings: bytes, not calls; sequential passes touch each page once.
if job --ioengine=mmap --rw=read --thread >bare.json 2>bare.err; then
	recorded --ioengine=mmap --rw=read --thread
	is 'mmap: bytes of the pages' "$(q "SELECT sum(bytes) FROM v_event
		WHERE call = 'map_read' AND path LIKE '%/f._'")" 4194304
	is 'mmap: the advice on each file' "$(q "SELECT count(DISTINCT path)
		FROM v_event WHERE call = 'posix_madvise' AND arg = 2
		AND path LIKE '%/f._'")" 2
	sync f.* # so that no page is dirty before
	recorded --ioengine=mmap --rw=write --thread
	is 'mmap: bytes of the changed pages' "$(q "SELECT sum(bytes)
		FROM v_event WHERE call = 'map_write' AND path LIKE '%/f._'
		")" 4194304
else
	skip 'mmap' "fio cannot: $(tail -1 bare.err)"
fi
finish
