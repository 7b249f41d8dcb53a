#!/bin/bash
# SPDX-License-Identifier: MIT
# A standard output that only unwrapped calls write: every byte is recorded,
# however the process ends and also if another process writes the file.
. "$(dirname "$0")/../../lib/tap.sh"
unset LD_PRELOAD
host=$O/tests/shim/stdio/stream_unwrapped

for kind in bytes wide; do
	for how in exit fflush fclose _exit quick_exit fork vfork system popen; do
		"$host" $kind $how >bare
		"$IOREEL" record -q -o "$kind.$how" -- "$host" $kind $how >out
		check "$kind, $how: the file is the same" 'cmp bare out'
		is "$kind, $how: every byte is recorded" "$("$IOREEL" sql \
			"$kind.$how" "SELECT sum(bytes) FROM v_event
				WHERE path LIKE '%/out'" --format tsv |
			tail -n 1)" "$(stat -c %s out)"
	done
done
finish
