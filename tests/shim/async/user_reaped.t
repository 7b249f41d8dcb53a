#!/bin/bash
# SPDX-License-Identifier: MIT
# Completions without a call: the program reaps them from the ring of kernel aio
# itself, or a forked child uses its parent's ring of io_uring.
. "$(dirname "$0")/../../lib/tap.sh"
command -v strace >/dev/null || skip_all 'no strace'
P=$O/tests/shim/async/user_reaped
RUN=t.reel
head -c 300000 /dev/zero >data

if strace -qq -o st -e trace=io_submit "$P" data aio >bare; then
	"$IOREEL" record -o t.reel -- "$P" data aio >traced 2>lines
	is 'aio: output' "$(cat traced)" "$(cat bare)"
	is 'aio: operations reaped by the program and never reaped' "$(q "select
		sum(errno = 0), sum(coalesce(bytes, 0)), sum(errno <> 0)
		from v_event where call = 'async_read'" | tr '\t' ' ')" \
		"$(cat bare)"
	is 'aio: all that the kernel accepted' "$(q "select count(*) from v_event
		where call = 'async_read'")" \
		"$(awk '{ n += $NF } END { print n }' st)"
	is 'aio: operations not reaped are in progress' "$(q "select
		group_concat(distinct errno) from v_event
		where call = 'async_read' and errno <> 0")" 115
else
	skip 'aio' 'no kernel aio here'
fi
if "$P" data uring; then
	rm -rf t.reel
	"$IOREEL" record -o t.reel -- "$P" data uring 2>lines
	is "io_uring: the parent's read is recorded" "$(q "select count(*),
		sum(bytes) from v_event where call = 'async_read'")" "1	4096"
	# Counted by the child and by the parent, which finds them in its ring.
	check "io_uring: its child's reads are counted as lost" \
		'[ "$(q "select sum(count) from loss where reason = '"'limit'"'")" -ge 3 ]'
	check 'io_uring: record reports the loss' 'grep -q "events LOST" lines'
	check 'io_uring: report does too' \
		'"$IOREEL" report t.reel | grep -q "^incomplete.*lost (--losses"'
else
	skip 'io_uring' 'no io_uring here'
fi
finish
