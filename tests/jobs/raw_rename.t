#!/bin/sh
# SPDX-License-Identifier: MIT
# A temporary file that is renamed by a raw system call while it is open, as in
# Rust libraries (safetensors), is renamed in the trace: once, by the
# process that created it, and no other file is.
. "$(dirname "$0")/../lib/tap.sh"
unset LD_PRELOAD
probe=$O/tests/jobs/raw_rename

want="one.tmp	one
two.tmp	two
seen.tmp	seen
other.tmp	same.tmp
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

# Each of 2,000 files has 6,000 names, one after the other.
if [ -n "$IOREEL_ASAN" ]; then
	skip 'a directory renamed again and again takes no memory' 'ASan reserves too much'
elif command -v python3 >/dev/null; then
	"$IOREEL" record -q --no-hooks -o again.reel -- python3 -c '
import os
os.mkdir("d0")
for i in range(2000):
    with open("d0/f%d" % i, "wb") as f:
        f.write(b"x")
for i in range(6000):
    os.rename("d%d" % i, "d%d" % (i + 1))'
	check 'a directory renamed again and again takes no memory' \
		'(ulimit -v 500000; "$IOREEL" load -q again.reel -o again.db)'
else
	skip 'a directory renamed again and again takes no memory' 'no python3'
fi
finish
