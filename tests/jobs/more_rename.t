#!/bin/sh
# SPDX-License-Identifier: MIT
# A temporary file that gets its name past the C library while it is open, as
# Rust's libraries do it (safetensors), is renamed in the trace; once, by the
# process that made it, and no other file is.
. "$(dirname "$0")/../tap.sh"
unset LD_PRELOAD
probe=$O/tests/jobs/more_rename

want="one.tmp	one
two.tmp	two
seen.tmp	seen
dir.tmp	dir
last.tmp	last"

renames() {
	"$IOREEL" sql "$1" --format tsv "SELECT substr(path, length('$PWD/') + 1),
		substr(path2, length('$PWD/') + 1) FROM v_event
		WHERE call LIKE 'rename%' AND errno = 0 ORDER BY start_ns" |
		tail -n +2
}

mkdir rec && (cd rec && "$probe" >../bare.out; echo "status $?" >>../bare.out)
mv rec bare
for how in '' --complete; do
	rm -rf rec rec.reel && mkdir rec && cd rec || exit 1
	"$IOREEL" record -q $how -o ../rec.reel -- "$probe" >../rec.out
	echo "status $?" >>../rec.out
	check "$how the same output, status and files" \
		'diff ../bare.out ../rec.out && diff -r ../bare .'
	is "$how every rename, once" "$(renames ../rec.reel)" "$want"
	cd ..
done
finish
