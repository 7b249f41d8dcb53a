#!/bin/sh
# SPDX-License-Identifier: MIT
# The tables of the report: each call is in the row with its name, a section prints
# its first rows, no row is empty.
. "$(dirname "$0")/../lib/tap.sh"
PYTHON=$(python3 -c 'import sys; print(sys.executable)') || skip_all 'no python3'

# --- What moved ---------------------------------------------------------------
cat >job.py <<'PY'
import fcntl, mmap, os, sys

for name in sys.argv[1:]:
    if name == "names":
        open("a", "w").write("x")
        os.rename("a", "b"); os.link("b", "c"); os.symlink("b", "l")
        for n in "bcl":
            os.unlink(n)
    elif name == "files":
        os.mkdir("d"); os.rmdir("d"); os.mkfifo("p")
        fd = os.open("t", os.O_CREAT | os.O_RDWR)
        os.ftruncate(fd, 8192); os.posix_fallocate(fd, 0, 4096); os.chdir(".")
    elif name == "list":
        os.listdir("."); list(os.scandir("."))
    elif name == "map":
        fd = os.open("m", os.O_CREAT | os.O_RDWR); os.write(fd, b"x" * 8192)
        m = mmap.mmap(fd, 8192); m[0]; m.madvise(mmap.MADV_WILLNEED); m.close()
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_WILLNEED)
    elif name == "seek":
        fd = os.open("s", os.O_CREAT | os.O_RDWR); os.lseek(fd, 10, 0)
        fcntl.flock(fd, fcntl.LOCK_EX); os.dup(fd); os.fsync(fd)
        os.access("s", os.R_OK); os.stat("s")
PY
cat >rows.py <<'PY'
import json, re, subprocess, sys
text = subprocess.run(["ioreel", "report", sys.argv[1]], check=True, capture_output=True, text=True).stdout
calls = [c for c in json.loads(subprocess.run(["ioreel", "report", "--json", sys.argv[1]], check=True,
         capture_output=True, text=True).stdout)["calls"]
         if not c["message"] and c["layer"] != "MPIIO" and c["call_group"] != "queue"]
table = text[text.index("What moved"):].split("\n\n")[0].split("\n")[1:]
shown = {m[1].strip(): int(m[2].replace(",", "")) for m in
         (re.match(r"  (\S.{0,13}\S) +([0-9,]+)  ", row + "  ") for row in table) if m}
covers = {
    "read": "read", "write": "write", "open, close": "open close", "stat, seek, dup": "stat seek dup",
    "list": "dir", "sync, flush": "sync",
    "unlink, rename": ["unlink", "unlinkat", "remove", "shm_unlink", "rename", "renameat", "renameat2",
                       "link", "linkat", "symlink", "symlinkat"],
    "map, advise": ["mmap", "munmap", "mremap", "madvise", "posix_fadvise", "readahead"],
    "mkdir, truncate": ["mkdir", "mkdirat", "rmdir", "mkfifo", "mkfifoat", "mknod", "mknodat", "truncate",
                        "ftruncate", "fallocate", "posix_fallocate", "chdir", "fchdir"]}
want = {}
for c in calls:
    row = [r for r, of in covers.items() if (c["call"] in of if isinstance(of, list) else
                                             c["call_group"] in of.split())]
    assert len(row) == 1, (c["call"], row)
    if c["call"] not in ("map_read", "map_write"):
        want[row[0]] = want.get(row[0], 0) + c["calls"]
want.update({r: 0 for r in shown if r not in want and r in ("read", "write")})
if shown != want:
    print(text, "shown", shown, "want", want)
sys.exit(shown != want)
PY
for job in names files list map seek 'names files list map seek'; do
	name=$(echo "$job" | tr ' ' -)
	mkdir "$name"
	(cd "$name" && ioreel record -q -o "../$name.reel" -- "$PYTHON" ../job.py $job)
	check "$name: each call is in the row that names it" 'python3 rows.py "$name.reel"'
done
check 'removed names are not in the row of listings' \
	'ioreel report names.reel | grep -qE "^  unlink, rename +6 " &&
	! ioreel report names.reel | grep -q "rename, list"'
check '100 columns' '! ioreel report names-files-list-map-seek.reel |
	LC_ALL=C tr -d "\200-\277" | grep -qE "^.{101}"'

# --- the first rows -----------------------------------------------------------
mkdir many
i=0; while [ $i -lt 53 ]; do echo $i >many/f$i; i=$((i + 1)); done
ioreel record -q -o many.reel -- cat many/f* >/dev/null
rows() { ioreel report "$@" >out; grep -cE "^ .*/many/f[0-9]+$" out; }
n=$(sql many.reel "SELECT count(*) FROM v_file")
is '--files shows 20' "$(ioreel report --files many.reel | sed '1,2d;$d' | wc -l)" 20
is '--files prints how many more there are' "$(ioreel report --files many.reel | tail -1)" "  and $((n - 20)) more (--top N, --top all)"
is '--top 5' "$(ioreel report --files --top 5 many.reel | sed '1,2d;$d' | wc -l)" 5
is '--files is sorted by time' "$(ioreel report --files --top 5 many.reel | sed '1,2d;$d')" \
	"$(ioreel report --files many.reel | sed '1,2d;$d' | head -5)"
for all in 0 all; do
	is "--top $all: every one" "$(rows --files --top $all many.reel)" 53
	check 'and no line on more' '! grep -q " more" out'
done
check '--top of all rows: no line on more' \
	'ioreel report --files --top $n many.reel >out && ! grep -q " more" out'
for bad in -1 x 3x 99999999999999999999; do
	check "--top $bad is wrong usage" \
		'ioreel report --files --top='$bad' many.reel 2>err; [ $? = 2 ] && grep -q "top wants" err'
done
for options in '' '--files' '--files --top 3'; do
	is "the document is not cut: $options" "$(ioreel report --json $options many.reel |
		python3 -c 'import json, sys; print(len(json.load(sys.stdin)["files"]))')" "$n"
done
"$O/tests/data/gen_trace" -k mixed -p 30 -t 1 -n 300 -s 4 -w 1 steps.reel
for section in steps ranks losses; do
	ioreel report --$section --top all steps.reel >all
	ioreel report --$section steps.reel >out
	check "--$section: no table of more than 20 rows, and the rest counted" '
		left=$(sed -n "s/^  and \([0-9,]*\) more .*/\1/p" out | tr -d , | paste -sd+)
		cut=$(grep -c "^  and .* more " out)
		[ $(($(wc -l <all) - $(wc -l <out))) = $((${left:-0} - cut)) ] &&
		{ [ $(wc -l <all) -lt 23 ] || [ $cut -gt 0 ]; } || { cat out all; false; }'
done

# --- no empty rows ------------------------------------------------------------
cat >slow.py <<'PY'
import os, time
open("first", "w").write("x")
r, w = os.pipe()
end = time.monotonic() + 3.2
while time.monotonic() < end:
    os.write(w, b"x"); os.read(r, 1); time.sleep(0.05)
open("last", "w").write("x")
PY
ioreel record -q -o slow.reel -- "$PYTHON" slow.py
want=$(sql slow.reel "SELECT count(*) FROM v_timeline WHERE reads + writes + meta_calls + read_ns + write_ns + meta_ns")
check 'a second of messages alone has no row in --time' \
	'[ '$want' -lt $(sql slow.reel "SELECT count(*) FROM v_timeline") ]'
is 'each other one has' "$(ioreel report --time --top all slow.reel | tail -n +2 | wc -l)" "$want"
cat >sizes.py <<'PY'
import os
fd = os.open("sizes", os.O_CREAT | os.O_RDWR)
for i in range(2000):
    os.write(fd, b"x" * 65536)
for n in 1, 10, 100, 300:
    os.write(fd, b"x" * n)
os.lseek(fd, 0, 0)
for i in range(2000):
    os.read(fd, 65536)
for n in 1, 10, 100, 300:
    os.read(fd, n)
PY
ioreel record -q -o sizes.reel -- "$PYTHON" sizes.py
check 'sizes that are 0 % of calls, bytes and time share one row' \
	'ioreel report sizes.reel | sed -n "/^Read sizes/,/^\$/p" >out &&
	! grep -v "other sizes" out | grep -qE " 0 % +0 %\$" &&
	[ $(grep -c "other sizes" out) = 1 ] || { cat out; false; }'
finish
