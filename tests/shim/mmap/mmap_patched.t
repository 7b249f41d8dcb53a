#!/bin/bash
# SPDX-License-Identifier: MIT
# Libraries that patch a jump over mmap(), ours or libc's, and make the call by
# syscall(), as UCX does in every MPI program: each call is recorded once.
. "$(dirname "$0")/../../lib/tap.sh"
P=$O/tests/shim/mmap/mmap_patched
RUN=t.reel

for where in found libc; do
	rm -rf t.reel
	head -c 65536 /dev/zero >data
	"$P" data $where >bare
	if [ $? = 77 ]; then
		skip "$where" 'not x86-64, or code cannot be made writable'
		continue
	fi
	"$IOREEL" record -q -o t.reel -- "$P" data $where >traced
	is "$where: status and hooks" "$? $(cat traced)" "0 $(cat bare)"
	is "$where: each call once" "$(q "select group_concat(c, ' ') from
		(select call || ' ' || errno c from v_event where path like '%/data'
		and call like 'm%' and call not like 'map%' order by start_ns)")" \
		'mmap 0 msync 0 madvise 0 mremap 0 munmap 0 mmap 22'
	is "$where: bytes touched" "$(q "select sum(bytes) from v_event
		where call = 'map_write'")" 16384
done
finish
